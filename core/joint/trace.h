/* A small tracer: what AOTAutograd makes of a few lines of tensor code, as a graph without names.
 * Patterns and replacements are written as such lines; a pattern is traced with example types, a
 * replacement with the types of the place where it goes. Only the operators that these lines use
 * are known here; each is emitted as Inductor's decompositions leave it.
 * Mirrors: torch/_inductor/pattern_matcher.py:fwd_only, joint_fwd_bwd. */
#ifndef AOT_JOINT_TRACE_H
#define AOT_JOINT_TRACE_H

#include "joint/fx.h"
#include "rules/fake.h"

typedef enum trace_op { /* what autograd sees: one entry of the tape */
    TRACE_PERMUTE, TRACE_EXPAND, TRACE_VIEW, TRACE_CLONE, TRACE_BMM, TRACE_MUL, TRACE_MUL_SCALAR,
    TRACE_DIV, TRACE_ADD, TRACE_TO, TRACE_SOFTMAX, TRACE_DROPOUT, TRACE_MASKED_FILL, TRACE_WHERE,
    TRACE_UNSQUEEZE, TRACE_SQUEEZE, TRACE_FLASH
} trace_op;

/* A value of the lines: a node, a number, a type, or nothing. */
typedef enum trace_kind {
    TRACE_NONE,
    TRACE_NODE,
    TRACE_NUMBER,
    TRACE_DTYPE,
    TRACE_LIST
} trace_kind;

typedef struct trace_value {
    uint8_t kind; /* trace_kind */
    bool is_int;
    aot_dtype dtype;
    uint32_t node;
    double number;
    uint32_t n; /* LIST: n values from t->items */
    uint32_t first;
} trace_value;

typedef struct trace_entry {
    trace_op op;
    uint32_t out, a, b; /* b: second operand; AOT_NO_NODE */
    trace_value by;     /* the number or node that it was scaled by, or filled with */
    uint32_t mask, more; /* DROPOUT, MASKED_FILL, WHERE: mask; FLASH: value, then see flash */
    unsigned perm[AOT_FAKE_MAX_NDIM];
} trace_entry;

typedef struct trace_flash { /* of the last attention call */
    uint32_t q, k, v, mask, out, logsumexp;
    bool has_scale;
    double scale;
} trace_flash;

typedef struct trace {
    fx f;
    aot_status st; /* the first failure; everything after it does nothing */
    aot_err err;
    bool grad;     /* with a backward */
    AOT_VEC(uint8_t) rg; /* by node: a gradient is wanted */
    AOT_VEC(trace_entry) tape;
    AOT_VEC(trace_value) items;
    AOT_VEC(trace_flash) flashes;
    AOT_VEC(uint32_t) inputs, tangents;
    AOT_VEC(uint32_t) outs; /* forward outputs, then gradients; AOT_NO_NODE: none */
} trace;

typedef struct trace_input {
    const char *name;
    trace_value value; /* NUMBER; or NODE, whose node is ignored */
    aot_meta_id meta;  /* of a NODE */
    bool grad;
} trace_input;

/* Traces text over inputs. t->st tells whether it could; free with trace_free. */
void trace_text(trace *t, aot_ctx *c, const char *text, const trace_input *in, unsigned n_in,
                bool grad);
/* By hand: trace_begin, calls, trace_end. */
void trace_begin(trace *t, aot_ctx *c, bool grad);
uint32_t trace_placeholder(trace *t, aot_meta_id meta, bool grad);
/* Backward of outs[0], then what PyTorch does to a traced graph: no-ops and dead nodes leave. */
void trace_end(trace *t, const uint32_t *outs, unsigned n_outs, const uint32_t *wrt,
               unsigned n_wrt);
void trace_free(trace *t);
void trace_fail(trace *t, aot_status code, const char *fmt, ...) AOT_PRINTF(3, 4);

/* ---- values ---- */
static inline trace_value trace_node(uint32_t id)
{
    return (trace_value){.kind = TRACE_NODE, .node = id};
}
static inline trace_value trace_float(double v)
{
    return (trace_value){.kind = TRACE_NUMBER, .number = v};
}
static inline trace_value trace_int(int64_t v)
{
    return (trace_value){.kind = TRACE_NUMBER, .number = (double)v, .is_int = true};
}
aot_arg trace_arg(const trace_value *v);
aot_fake trace_type(const trace *t, uint32_t id);

/* ---- calls: each emits nodes and, if a gradient is wanted, an entry of the tape ---- */
uint32_t trace_emit(trace *t, const char *target, const aot_arg *args, uint32_t n_args,
                    const fx_kwarg *kwargs, uint32_t n_kwargs);
uint32_t trace_call1(trace *t, const char *target, uint32_t a);
uint32_t trace_call2(trace *t, const char *target, uint32_t a, aot_arg b);
aot_arg trace_sizes(trace *t, const aot_dim *sizes, unsigned n); /* a list of ints */
uint32_t trace_permute(trace *t, uint32_t x, const unsigned *perm, unsigned n);
uint32_t trace_transpose(trace *t, uint32_t x, int64_t i, int64_t j);
uint32_t trace_expand(trace *t, uint32_t x, const aot_dim *sizes, unsigned n);
uint32_t trace_view(trace *t, uint32_t x, const aot_dim *sizes, unsigned n);
uint32_t trace_reshape(trace *t, uint32_t x, const aot_dim *sizes, unsigned n);
uint32_t trace_bmm(trace *t, uint32_t a, uint32_t b);
uint32_t trace_matmul(trace *t, uint32_t a, uint32_t b);
uint32_t trace_mul(trace *t, uint32_t x, const trace_value *by);
uint32_t trace_mul_scalar(trace *t, uint32_t x, double by);
uint32_t trace_div(trace *t, uint32_t x, const trace_value *by);
uint32_t trace_add(trace *t, uint32_t x, uint32_t y);
uint32_t trace_to(trace *t, uint32_t x, aot_dtype d);
uint32_t trace_softmax(trace *t, uint32_t x);
uint32_t trace_safe_softmax(trace *t, uint32_t x);
uint32_t trace_dropout(trace *t, uint32_t x, double p);
uint32_t trace_full(trace *t, double value, uint32_t like);
uint32_t trace_scalar(trace *t, double value, bool is_int, aot_dtype d, aot_str device,
                      bool layout);
uint32_t trace_masked_fill(trace *t, uint32_t x, uint32_t mask, uint32_t value);
uint32_t trace_where(trace *t, uint32_t mask, uint32_t x, uint32_t y);
uint32_t trace_unsqueeze(trace *t, uint32_t x, int64_t dim);
uint32_t trace_squeeze(trace *t, uint32_t x, int64_t dim);
/* scaled_dot_product_attention on CPU: flash attention, or the same by hand. mask: AOT_NO_NODE. */
uint32_t trace_attention(trace *t, uint32_t q, uint32_t k, uint32_t v, uint32_t mask,
                         double dropout, const trace_value *scale);
/* The backward, from the tape: gradient of `of` for each node; AOT_NO_NODE where there is none. */
uint32_t *trace_backward(trace *t, uint32_t of, uint32_t tangent);

#endif
