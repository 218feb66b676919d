/* Between the files of core/lower; rules of functions and methods may use it, other folders not. */
#ifndef AOT_LOWER_INTERNAL_H
#define AOT_LOWER_INTERNAL_H

#include <stdio.h>
#include <string.h>

#include "lower/lower.h"

/* ---- overloads (resolve.c) ------------------------------------------------------------------- */

typedef struct aot_overload {
    aot_op_id op;
    const aot_schema *schema;
    const aot_value *defaults; /* of its arguments */
    const char *signature; /* as Python's parser shows it: what overloads are sorted by */
    bool bound;   /* Python's generated bindings have it: torch.add has no add.Scalar */
    bool takes_out;
} aot_overload;

/* The overloads of one packet, those first that PyTorch's argument parser tries first. */
typedef struct aot_packet {
    const char *name; /* "aten::add" */
    unsigned n;
    aot_overload *overloads;
} aot_packet;

/* Tensor(a!) out: where the result goes. */
static inline bool aot_l_is_out(const aot_schema_arg *a)
{
    return a->is_write && a->kwarg_only;
}
/* NULL if no operator is called that; "aten::add" or "aten.add". Kept for the trace. */
const aot_packet *aot_l_packet(aot_tracer *t, const char *name);
/* Calls the overload that takes the arguments. binding: called by Python's torch.X, x.X(), which
 * name self "input" and fill in device and pin_memory; else torch.ops.NS.NAME. */
aot_value aot_l_resolve(const aot_pycall *k, const aot_packet *p, bool binding);
/* Calls exactly this overload, as torch.ops.aten.add.Tensor(...). */
aot_value aot_l_overload(const aot_pycall *k, aot_op_id op);

/* ---- arguments (args.c) ---------------------------------------------------------------------- */

/* The same call with other arguments, other names are kept: a copy to be changed. */
aot_pycall aot_l_with(const aot_pycall *k, const char *target, unsigned n, const aot_value *args);
/* The call without keyword `name`. */
aot_pycall aot_l_without(const aot_pycall *k, const char *name);
/* A method's or function's call with plain positional arguments: x.NAME(args), torch.NAME(args). */
aot_value aot_l_method(aot_tracer *t, const char *name, unsigned n, const aot_value *args);
aot_value aot_l_function(aot_tracer *t, const char *target, unsigned n, const aot_value *args);
/* "Tensor", "int", "tuple" ...: for messages. */
const char *aot_l_kind_name(aot_value v);
/* "cpu" of a device, a string or an index; 0 if it is none of these. */
aot_str aot_l_device_of(aot_tracer *t, aot_value v);
/* dtype of torch.float32 or Python's float, int, bool, complex; AOT_NO_DTYPE. */
aot_dtype aot_l_dtype_of(aot_tracer *t, aot_value v);
static inline bool aot_l_is_str(aot_tracer *t, aot_str s, const char *text)
{
    return s != 0 && s == aot_intern_find(aot_tracer_ctx(t)->strs, text, strlen(text));
}

/* ---- constants (factory.c) ------------------------------------------------------------------- */

/* torch.tensor(data, dtype): a constant and its lift_fresh_copy. data: a number or nested lists. */
aot_tensor *aot_l_constant(aot_tracer *t, aot_value data, aot_dtype dtype, aot_str device);
/* The dtype that torch.tensor gives to data. */
aot_dtype aot_l_data_dtype(aot_tracer *t, aot_value data);

/* ---- attributes and indexing ----------------------------------------------------------------- */

aot_value aot_l_attribute(aot_tracer *t, aot_value of, const char *name); /* x.shape */
aot_value aot_l_getitem(aot_tracer *t, aot_value x, aot_value index);
void aot_l_setitem(aot_tracer *t, aot_value x, aot_value index, aot_value v);
/* operator.NAME and x.__NAME__: false if there is no such operator. */
bool aot_l_operator(const aot_pycall *k, const char *name, aot_value *result);

#endif
