/* Decompositions of attention: torch/_decomp/decompositions.py. */
#include "decomp/decomp.h"

static aot_tensor *permuted(aot_tracer *t, aot_tensor *x, int64_t a, int64_t b, int64_t c)
{
    return AOT(t, aten_permute, x, aot_v_ints(t, 4, (int64_t[]){a, b, c, 3}));
}

/* The core table's: the formula, its output laid out as the kernel does ([L, N, H, E] in
 * memory). */
bool decomp_sdpa_flash_for_cpu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *query = aot_x_tensor(k, 0), *key = aot_x_tensor(k, 1), *out[2];
    bool grouped = !aot_dim_eq(aot_size(query, 1), aot_size(key, 1));
    if (aot_x_float(k, 3, 0.0) != 0) {
        aot_trace_fail(t, AOT_E_SHAPE, "dropout probability must be zero, got %g",
                       aot_x_float(k, 3, 0.0));
    }
    aot_value both = AOT_V(t, aten__scaled_dot_product_attention_math, query, key, k->args[2],
                           k->args[5], k->args[3], k->args[4], AOT_NONE, k->args[6], grouped);
    out[0] = permuted(t, aot_v_item(both, 0), 2, 0, 1);
    out[0] = AOT(t, aten_contiguous, out[0], aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    out[0] = permuted(t, out[0], 1, 2, 0);
    out[1] = aot_v_item(both, 1);
    return aot_x_give_tuple(k, 2, out);
}
