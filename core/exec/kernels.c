/* The table of kernels. */
#include "exec/kernel.h"

static aot_kern_fn *const kernels[AOT_N_OPS] = {
#define KERNEL(op, fn) [AOT_OP_##op] = fn,
#include "ops/kernels.def"
#undef KERNEL
};

aot_kern_fn *aot_kernel_of(aot_op_id op)
{
    return kernels[op < AOT_N_OPS ? op : AOT_OP_UNKNOWN];
}
