/* Torch-level calls of a Dynamo graph (functions, methods, Python operators) as operator calls.
 *
 * A target is looked up in the tables functions.def and methods.def; what has no row there is taken
 * as the operator of the same name and its overload is resolved from the schemas, as PyTorch's
 * generated Python bindings do (torch/csrc/utils/python_arg_parser.cpp).
 *
 * To add a function: write aot_lower_fn lower_NAME in lower/FAMILY.c, add a row. */
#ifndef AOT_LOWER_LOWER_H
#define AOT_LOWER_LOWER_H

#include "trace/trace.h"

/* One call as Python sees it. */
typedef struct aot_pycall {
    aot_tracer *t;
    const char *target;      /* "torch.nn.functional.gelu", "operator.add", "view" (method) */
    bool is_method;          /* args[0] is the receiver */
    unsigned n;
    const aot_value *args;
    unsigned n_kw;
    const aot_str *kw_names; /* interned in the tracer's ctx */
    const aot_value *kw;
} aot_pycall;

typedef aot_value aot_lower_fn(const aot_pycall *k);

/* Runs any call: table row, else operator by name. An unknown target is E_UNSUPPORTED and says
 * what it is. */
aot_value aot_lower_call(const aot_pycall *k);
/* Calls the overload of packet ("aten::mul", "prims::iota") that takes these arguments. */
aot_value aot_lower_packet(const aot_pycall *k, const char *packet);

/* The argument at a position or of that name; NULL if absent (a given None is a value). */
const aot_value *aot_l_arg(const aot_pycall *k, unsigned pos, const char *name);
aot_tensor *aot_l_tensor(const aot_pycall *k, unsigned pos,
                         const char *name); /* NULL: None or absent */
aot_tensor *aot_l_need_tensor(const aot_pycall *k, unsigned pos, const char *name); /* never NULL */
aot_dim aot_l_dim(const aot_pycall *k, unsigned pos, const char *name, int64_t def);
double aot_l_float(const aot_pycall *k, unsigned pos, const char *name, double def);
bool aot_l_bool(const aot_pycall *k, unsigned pos, const char *name, bool def);
bool aot_l_str_is(const aot_pycall *k, unsigned pos, const char *name, const char *def,
                  const char *text);
aot_dims aot_l_dims(const aot_pycall *k, unsigned pos, const char *name); /* an int is one item */
aot_dtype aot_l_dtype(const aot_pycall *k, unsigned pos, const char *name, aot_dtype def);
bool aot_l_given(const aot_pycall *k, unsigned pos, const char *name); /* present and not None */

/* Runs a graph on values: one for each placeholder, in order. Gives what its output node returns.
 * Each call made while a node runs carries the node's source comment and policy. */
aot_value aot_interpret(aot_tracer *t, const aot_graph *g, unsigned n, const aot_value *inputs);

#define LOWER(target, fn) aot_lower_fn fn;
#include "lower/functions.def"
#include "lower/methods.def"
#undef LOWER

#endif
