/* The tracer: dispatches operator calls as PyTorch does under make_fx, and writes the graph of each
 * level as it goes. One call passes down these levels:
 *
 *     composite   expanded into smaller calls, which start again at the top       (DECOMP cell)
 *     autograd    a grad_fn is made for it if an input requires grad               (VJP cell)
 *       -> written to AOT_LEVEL_ATEN and AOT_LEVEL_TRACED
 *     functional  in-place becomes out-of-place, views are replayed
 *       -> written to AOT_LEVEL_FUNCTIONAL
 *     decomposed  by the table of the backend                                      (DECOMP cell)
 *     emitted     its type is found                                                (META cell)
 *       -> written to AOT_LEVEL_JOINT
 *
 * So all graphs come from one walk, and a node knows the node of the level above that it was made
 * for. Mirrors the dispatcher's order Autograd, ADInplaceOrView, FunctionalTensorMode,
 * ProxyTorchDispatchMode (torch/_functorch/_aot_autograd/graph_capture_wrappers.py,
 * torch/fx/experimental/proxy_tensor.py).
 *
 * Errors: a call that fails leaves through longjmp to the driver (aot_tracer_run), so that rules
 * are straight-line code. All memory of a trace is in its arena; rules hold no heap memory.
 *
 * Rules (core/grad, core/decomp, core/lower) use this header only. */
#ifndef AOT_TRACE_TRACE_H
#define AOT_TRACE_TRACE_H

#include "ir/symalg.h"
#include "ops/op_ids.h"
#include "ops/schema.h"
#include "rules/fake.h"

typedef enum aot_level {
    AOT_LEVEL_ATEN,       /* the forward as dispatched: stage aten */
    AOT_LEVEL_TRACED,     /* with the backward: stage joint_traced */
    AOT_LEVEL_FUNCTIONAL, /* stage joint_functional */
    AOT_LEVEL_JOINT,      /* stage joint, inference or export */
    AOT_N_LEVELS
} aot_level;

typedef struct aot_tracer aot_tracer;
typedef struct aot_tensor aot_tensor; /* internals: trace/internal.h */

/* ---- values -------------------------------------------------------------------------------- */

/* What an operator or a torch-level function takes and gives. */
typedef enum aot_value_kind {
    AOT_V_NONE,
    AOT_V_TENSOR,
    AOT_V_INT,     /* u.dim; symbolic if u.dim.expr != 0 */
    AOT_V_FLOAT,   /* u.f; a symbolic one if name, its expression, is not 0 */
    AOT_V_BOOL,    /* u.dim.value; a symbolic truth value if u.dim.expr != 0 */
    AOT_V_COMPLEX, /* u.z */
    AOT_V_STR,     /* u.s */
    AOT_V_DTYPE,   /* u.dim.value: aot_dtype */
    AOT_V_DEVICE,  /* u.s: "cpu", "cuda:0" */
    AOT_V_NAME,    /* u.s: torch.contiguous_format, torch.strided and other dotted names */
    AOT_V_RAW,     /* u.s: text that is passed on as it is */
    AOT_V_LIST,    /* u.items, n */
    AOT_V_TUPLE,   /* torch.Size too */
    AOT_V_DICT,    /* key, value, key, value ...; n is even */
    AOT_V_SLICE,   /* n = 3: start, stop, step */
    AOT_V_ELLIPSIS,
    AOT_V_GRAPH    /* u.graph: the body of a higher-order operator; s: its attribute name */
} aot_value_kind;

typedef struct aot_value {
    uint8_t kind;
    uint32_t n;
    aot_str name; /* AOT_V_GRAPH: attribute; AOT_V_FLOAT: expression */
    union {
        aot_tensor *t;
        aot_dim dim;
        double f;
        double z[2];
        aot_str s;
        const struct aot_value *items;
        const aot_graph *graph;
    } u;
} aot_value;

/* A list of sizes or dims, for building arguments. */
typedef struct aot_dims {
    const aot_dim *d;
    unsigned n;
} aot_dims;

static inline aot_value aot_v_none(void)
{
    return (aot_value){.kind = AOT_V_NONE};
}
/* NULL is the undefined tensor, None. */
static inline aot_value aot_v_tensor(aot_tensor *t)
{
    return (aot_value){.kind = t == NULL ? AOT_V_NONE : AOT_V_TENSOR, .u.t = t};
}
static inline aot_value aot_v_int(int64_t v)
{
    return (aot_value){.kind = AOT_V_INT, .u.dim = {.value = v}};
}
static inline aot_value aot_v_dim(aot_dim d)
{
    return (aot_value){.kind = AOT_V_INT, .u.dim = d};
}
static inline aot_value aot_v_float(double v)
{
    return (aot_value){.kind = AOT_V_FLOAT, .u.f = v};
}
static inline aot_value aot_v_bool(bool v)
{
    return (aot_value){.kind = AOT_V_BOOL, .u.dim = {.value = v}};
}
static inline aot_value aot_v_dtype(aot_dtype d) /* AOT_NO_DTYPE: None */
{
    return (aot_value){.kind = d == AOT_NO_DTYPE ? AOT_V_NONE : AOT_V_DTYPE,
                       .u.dim = {.value = (int64_t)d}};
}
static inline aot_value aot_v_device(aot_str s) /* 0: None */
{
    return (aot_value){.kind = s == 0 ? AOT_V_NONE : AOT_V_DEVICE, .u.s = s};
}
static inline aot_value aot_v_same(aot_value v)
{
    return v;
}
aot_value aot_v_str(aot_tracer *t, const char *s);
aot_value aot_v_name(aot_tracer *t, const char *dotted); /* "torch.channels_last" */
aot_value aot_v_memory_format(aot_tracer *t, aot_memory_format f);
/* Copies the items into the trace's arena. */
aot_value aot_v_list(aot_tracer *t, unsigned n, const aot_value *items);
aot_value aot_v_tuple(aot_tracer *t, unsigned n, const aot_value *items);
aot_value aot_v_dims(aot_tracer *t, aot_dims d);
aot_value aot_v_ints(aot_tracer *t, unsigned n, const int64_t *v);
aot_value aot_v_tensors(aot_tracer *t, unsigned n, aot_tensor *const *v); /* NULL items: None */
static inline bool aot_v_is_list(aot_value v)
{
    return v.kind == AOT_V_LIST || v.kind == AOT_V_TUPLE;
}
static inline bool aot_v_is_number(aot_value v)
{
    return v.kind == AOT_V_INT || v.kind == AOT_V_FLOAT || v.kind == AOT_V_BOOL ||
           v.kind == AOT_V_COMPLEX;
}

/* ---- tensors ------------------------------------------------------------------------------- */

const aot_fake *aot_type_of(const aot_tensor *x); /* sizes, strides, dtype, device */
static inline unsigned aot_ndim(const aot_tensor *x)
{
    return aot_type_of(x)->ndim;
}
static inline aot_dtype aot_dtype_of(const aot_tensor *x)
{
    return (aot_dtype)aot_type_of(x)->dtype;
}
static inline aot_str aot_device_of(const aot_tensor *x)
{
    return aot_type_of(x)->device;
}
aot_dim aot_size(const aot_tensor *x, int64_t dim); /* negative counts from the end; 1 if 0-dim */
static inline aot_dims aot_sizes(const aot_tensor *x) /* lives as long as the trace */
{
    return (aot_dims){aot_type_of(x)->size, aot_type_of(x)->ndim};
}
static inline aot_dims aot_strides(const aot_tensor *x)
{
    return (aot_dims){aot_type_of(x)->stride, aot_type_of(x)->ndim};
}
aot_dim aot_numel(aot_tracer *t, const aot_tensor *x);
bool aot_requires_grad(const aot_tensor *x); /* NULL: false */
bool aot_is_contiguous(const aot_tensor *x);
bool aot_is_complex(const aot_tensor *x);
bool aot_is_conj(const aot_tensor *x); /* lazily conjugated: a view by _conj */
bool aot_is_neg(const aot_tensor *x);  /* lazily negated: a view by _neg_view */
bool aot_is_float(const aot_tensor *x); /* floating point, complex not included */
/* A Python number that was made a tensor; it does not take part in type promotion. */
bool aot_is_wrapped_number(const aot_tensor *x);
/* Wraps dim into 0 .. ndim-1 (ndim 0 counts as 1); out of range is PyTorch's error. */
unsigned aot_wrap_dim(aot_tracer *t, int64_t dim, unsigned ndim);

/* ---- calls --------------------------------------------------------------------------------- */

/* Calls an operator with arguments in the schema's order (keyword-only ones too, in their place).
 * Fewer than the schema has: defaults. Numbers are converted to what the schema says: an int for a
 * float, bool, dtype or one-item list is taken as such, trailing defaults are not printed, keyword
 * arguments are printed by name. Returns a tensor, symbol, number, list or tuple. */
aot_value aot_call_op(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
/* The tensor of a result: the first one of a tuple; NULL if it is None. */
aot_tensor *aot_v_first(aot_value v);
/* Item i of a tuple or list as a tensor; NULL if None. */
aot_tensor *aot_v_item(aot_value v, unsigned i);

/* AOT(t, aten_mul_Tensor, x, y): the tensor that the call gives. Arguments may be aot_tensor *,
 * aot_value, aot_dim, aot_dims (a list of ints), int, int64_t, double, const aot_tensor *.
 * true, false and dtypes are ints in C and are converted by the schema. AOT_NONE skips one.
 * AOT_V(...) is the same and gives the aot_value. */
#define AOT(t, op, ...) aot_v_first(AOT_V(t, op, __VA_ARGS__))
#define AOT_V(t, op, ...)                                                                       \
    aot_call_op((t), AOT_OP_##op, AOT_COUNT_(__VA_ARGS__),                                       \
                (const aot_value[]){AOT_CAT_(AOT_MAP_, AOT_COUNT_(__VA_ARGS__))(t, __VA_ARGS__)})
#define AOT_NONE aot_v_none()

static inline aot_value aot_v_of_dims_(aot_tracer *t, aot_dims d)
{
    return aot_v_dims(t, d);
}
static inline aot_value aot_v_of_tensor_(aot_tracer *t, aot_tensor *x)
{
    (void)t;
    return aot_v_tensor(x);
}
static inline aot_value aot_v_of_int_(aot_tracer *t, int64_t v)
{
    (void)t;
    return aot_v_int(v);
}
static inline aot_value aot_v_of_bool_(aot_tracer *t, bool v)
{
    (void)t;
    return aot_v_bool(v);
}
static inline aot_value aot_v_of_float_(aot_tracer *t, double v)
{
    (void)t;
    return aot_v_float(v);
}
static inline aot_value aot_v_of_dim_(aot_tracer *t, aot_dim v)
{
    (void)t;
    return aot_v_dim(v);
}
static inline aot_value aot_v_of_value_(aot_tracer *t, aot_value v)
{
    (void)t;
    return v;
}
/* clang-format off */
#define AOT_TO_V_(t, x)                                                                          \
    _Generic((x), aot_tensor *: aot_v_of_tensor_, aot_value: aot_v_of_value_,                     \
             aot_dims: aot_v_of_dims_, aot_dim: aot_v_of_dim_, bool: aot_v_of_bool_,              \
             double: aot_v_of_float_, default: aot_v_of_int_)(t, x)
#define AOT_MAP_1(t, a) AOT_TO_V_(t, a)
#define AOT_MAP_2(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_1(t, __VA_ARGS__)
#define AOT_MAP_3(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_2(t, __VA_ARGS__)
#define AOT_MAP_4(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_3(t, __VA_ARGS__)
#define AOT_MAP_5(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_4(t, __VA_ARGS__)
#define AOT_MAP_6(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_5(t, __VA_ARGS__)
#define AOT_MAP_7(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_6(t, __VA_ARGS__)
#define AOT_MAP_8(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_7(t, __VA_ARGS__)
#define AOT_MAP_9(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_8(t, __VA_ARGS__)
#define AOT_MAP_10(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_9(t, __VA_ARGS__)
#define AOT_MAP_11(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_10(t, __VA_ARGS__)
#define AOT_MAP_12(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_11(t, __VA_ARGS__)
#define AOT_MAP_13(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_12(t, __VA_ARGS__)
#define AOT_MAP_14(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_13(t, __VA_ARGS__)
#define AOT_MAP_15(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_14(t, __VA_ARGS__)
#define AOT_MAP_16(t, a, ...) AOT_TO_V_(t, a), AOT_MAP_15(t, __VA_ARGS__)
#define AOT_COUNT_(...) \
    AOT_COUNT_N_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define AOT_COUNT_N_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, N, ...) N
#define AOT_CAT_(a, b) AOT_CAT_AGAIN_(a, b)
#define AOT_CAT_AGAIN_(a, b) a##b
/* clang-format on */

/* Leaves the trace with an error; *err names the node that was being traced and its source line. */
AOT_NORETURN void aot_trace_fail(aot_tracer *t, aot_status code, const char *fmt, ...)
    AOT_PRINTF(3, 4);

/* The context, for arithmetic on sizes (ir/symalg.h) and strings; and memory that lives as long as
 * the trace. */
aot_ctx *aot_tracer_ctx(aot_tracer *t);
aot_arena *aot_tracer_arena(aot_tracer *t);
/* Values of sizes are compared at their hints, as guards do. Unknown ones are not equal. */
static inline bool aot_dim_eq(aot_dim a, aot_dim b)
{
    return aot_dim_equal_hint(a, b);
}

static inline bool aot_dims_eq(aot_dims a, aot_dims b)
{
    bool same = a.n == b.n;
    for (unsigned i = 0; same && i < a.n; i++) {
        same = aot_dim_eq(a.d[i], b.d[i]);
    }
    return same;
}

/* torch.is_grad_enabled(); set returns what it was. */
bool aot_grad_enabled(const aot_tracer *t);
bool aot_set_grad_enabled(aot_tracer *t, bool on);
/* Whether that table is the core ATen one rather than Inductor's. */
bool aot_has_core_decomps(const aot_tracer *t);
/* True while a decomposition of the table runs: calls are below autograd and functionalization. */
bool aot_in_decomp(const aot_tracer *t);

/* The schema of an operator and the defaults of its arguments (None where there is none), kept for
 * the trace; NULL for Python and higher-order operators. defaults may be NULL. */
const aot_schema *aot_op_schema(aot_tracer *t, aot_op_id op, const aot_value **defaults);
/* Says which node of a torch-level graph is run: its comment and policy go to what is emitted. */
void aot_tracer_at(aot_tracer *t, const aot_graph *g, aot_node_id id);
/* torch.autocast(device_type, dtype, enabled): entered and left. */
void aot_autocast_push(aot_tracer *t, aot_str device_type, aot_dtype dtype, bool enabled);
void aot_autocast_pop(aot_tracer *t);
/* What the innermost state casts to; AOT_NO_DTYPE if it is off for that device type. */
aot_dtype aot_autocast_dtype(const aot_tracer *t, const char *device_type);

/* The tensor that a get_attr node of a Dynamo graph reads. */
aot_value aot_tracer_attr(aot_tracer *t, const aot_graph *g, aot_node_id id);
void aot_tracer_set_attr(aot_tracer *t, aot_str name, aot_tensor *x); /* get_attrs give x */
/* A constant of the program, torch.tensor(3.0): a new _tensor_constantN read by get_attr, not
 * dispatched. */
aot_tensor *aot_tracer_constant(aot_tracer *t, const aot_fake *type);
/* Calls an operator that is not in the table (torch.ops.mine.scale[.overload]), or a function that
 * nothing is known of (only if aot_trace_opaque). Its results have the types that the Dynamo graph
 * states. */
aot_value aot_trace_custom(aot_tracer *t, const char *target, unsigned n, const aot_value *args,
                           unsigned n_kw, const aot_str *kw_names, const aot_value *kw);
/* Whether recorded types are believed where a rule is missing. */
bool aot_trace_opaque(const aot_tracer *t);
/* A Python operator or function on numbers whose result the Dynamo graph states as a symbolic float
 * or truth value; it is written where Python calls it. target: "operator.mul", "torch.sym_sqrt". */
aot_value aot_trace_number(aot_tracer *t, const char *target, unsigned n, const aot_value *args);
/* a OP b on sizes as Python and C++ compute it while they trace: nodes are written for symbols.
 * op: + - * / (floor) % > (the larger one) < (the smaller one) ~ (minus a). */
aot_dim aot_trace_dim(aot_tracer *t, char op, aot_dim a, aot_dim b);
aot_dim aot_trace_sum(aot_tracer *t, aot_value items); /* torch.sym_sum of integers */
static inline bool aot_v_is_symbol(aot_value v)
{
    return (v.kind == AOT_V_FLOAT && v.name != 0) ||
           ((v.kind == AOT_V_INT || v.kind == AOT_V_BOOL) && v.u.dim.expr != 0);
}
/* Lowering's own memory; NULL when a trace begins. */
void **aot_tracer_lower_slot(aot_tracer *t);

/* ---- rules that expand a call: composites and decompositions (DECOMP cell) ------------------- */

typedef struct aot_expand {
    aot_tracer *t;
    aot_op_id op;
    unsigned n;            /* arguments of the schema */
    const aot_value *args; /* all of them, defaults filled in */
    aot_value result;      /* to be set */
} aot_expand;

/* Sets k->result and returns true, or returns false: the call is not expanded (NotImplemented).
 * For an operator that is CompositeImplicit the rule says what PyTorch's C++ or Python kernel
 * calls; for others, what the table's decomposition (torch/_decomp, torch/_refs, torch/_inductor/
 * decomposition.py) calls. One row, one rule: `aot_in_decomp` tells where it runs, if it
 * matters. */
typedef bool aot_expand_fn(aot_expand *k);

aot_tensor *aot_x_tensor(const aot_expand *k, unsigned pos); /* NULL if None */
unsigned aot_x_tensors(const aot_expand *k, unsigned pos,
                       aot_tensor *const **out); /* a list; count */
aot_dim aot_x_dim(const aot_expand *k, unsigned pos, int64_t if_none);
int64_t aot_x_int(const aot_expand *k, unsigned pos, int64_t if_none); /* at its hint */
double aot_x_float(const aot_expand *k, unsigned pos, double if_none);
bool aot_x_bool(const aot_expand *k, unsigned pos); /* None: false */
aot_dims aot_x_dims(const aot_expand *k, unsigned pos); /* n = 0 if None or empty */
aot_dtype aot_x_dtype(const aot_expand *k, unsigned pos); /* AOT_NO_DTYPE if None */
bool aot_x_is_none(const aot_expand *k, unsigned pos);
bool aot_x_str_is(const aot_expand *k, unsigned pos, const char *text);
/* Return these; for `return aot_x_give(k, x);` */
bool aot_x_give(aot_expand *k, aot_tensor *x);
bool aot_x_give_value(aot_expand *k, aot_value v);
bool aot_x_give_tuple(aot_expand *k, unsigned n, aot_tensor *const *x);

/* ---- rules of gradients (VJP cell) ----------------------------------------------------------- */

/* One run of a grad_fn in the backward. A rule reads the gradients of the outputs and sets those of
 * the inputs that need one, in the order and with the calls of PyTorch's formula
 * (tools/autograd/derivatives.yaml and FunctionsManual.cpp as shown by what it traces).
 * Broadcasting is undone and dtypes are cast back by the engine, as validate_outputs does. The
 * SAVES cell of the row says which outputs the formula reads (RESULT, RESULT1 ... RESULT7) and
 * whether it reads self, which in-place forms must clone: SELF, or SELF_FOR_1 and SELF_FOR_2 where
 * only the gradient of that argument reads it. The GRADS cell of an operator with several outputs
 * says which of them have a gradient; without it only the first one has (output_differentiability
 * in derivatives.yaml). */
typedef struct aot_vjp aot_vjp;
typedef void aot_vjp_fn(aot_vjp *b);

aot_tracer *aot_vjp_tracer(const aot_vjp *b);
aot_tensor *aot_vjp_grad(const aot_vjp *b, unsigned output); /* NULL: undefined */
bool aot_vjp_needs(const aot_vjp *b,
                   unsigned pos); /* a gradient of the argument is wanted; lists: of any item */
void aot_vjp_set(aot_vjp *b, unsigned pos, aot_tensor *grad); /* NULL: undefined */
void aot_vjp_set_item(aot_vjp *b, unsigned pos, unsigned i, aot_tensor *grad);
aot_value aot_vjp_arg(const aot_vjp *b, unsigned pos); /* any argument, defaults filled in */
aot_tensor *aot_vjp_in(const aot_vjp *b, unsigned pos); /* a tensor argument; NULL if None */
unsigned aot_vjp_n_items(const aot_vjp *b, unsigned pos); /* of a list argument */
aot_tensor *aot_vjp_in_item(const aot_vjp *b, unsigned pos, unsigned i);
aot_tensor *aot_vjp_out(const aot_vjp *b,
                        unsigned output); /* a saved result; its row says SAVES(RESULT) */
const aot_fake *aot_vjp_out_type(const aot_vjp *b, unsigned output); /* of any output */
/* Numbers of arguments, as aot_x_*. */
aot_dim aot_vjp_dim(const aot_vjp *b, unsigned pos, int64_t if_none);
int64_t aot_vjp_int(const aot_vjp *b, unsigned pos, int64_t if_none);
double aot_vjp_float(const aot_vjp *b, unsigned pos, double if_none);
bool aot_vjp_bool(const aot_vjp *b, unsigned pos);
aot_dims aot_vjp_dims(const aot_vjp *b, unsigned pos);
bool aot_vjp_is_none(const aot_vjp *b, unsigned pos);

/* ---- prototypes of all rules that rows name -------------------------------------------------- */

#define OP(id, text, cells) cells
#define VJP(fn) aot_vjp_fn fn;
#define DECOMP(fn) aot_expand_fn fn;
#include "ops/op_cells.h"

/* Bits of the SAVES and GRADS cells. */
enum {
    AOT_SAVES_SELF = 1 << 0, /* argument 0 */
    AOT_SAVES_RESULT = 1 << 1,
    AOT_SAVES_RESULT1 = 1 << 2,
    AOT_SAVES_RESULT2 = 1 << 3,
    AOT_SAVES_RESULT3 = 1 << 4,
    AOT_SAVES_RESULT4 = 1 << 5,
    AOT_SAVES_RESULT5 = 1 << 6,
    AOT_SAVES_RESULT6 = 1 << 7,
    AOT_SAVES_RESULT7 = 1 << 8,
    AOT_SAVES_SELF_FOR_1 = 1 << 9, /* argument 0, if argument 1 needs a gradient */
    AOT_SAVES_SELF_FOR_2 = 1 << 10,
    AOT_SAVES_N_RESULTS = 8
};

typedef struct aot_trace_rules {
    aot_vjp_fn *vjp;
    aot_expand_fn *expand;
    uint16_t saves, grads;
} aot_trace_rules;

const aot_trace_rules *aot_trace_rules_of(aot_op_id id); /* never NULL */

#endif
