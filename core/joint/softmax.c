/* scale(x) - max(scale(x)) becomes scale(x - max(x)): the scaling is computed once, so two ways of
 * rounding it cannot differ.
 * Mirrors: torch/_inductor/fx_passes/joint_graph.py:mul_softmax_pattern, div_softmax_pattern. */
#include <string.h>

#include "joint/internal.h"

static bool is_number(const aot_arg *a)
{
    return a->kind == AOT_ARG_INT || a->kind == AOT_ARG_FLOAT;
}

static double number(const aot_arg *a)
{
    return a->kind == AOT_ARG_INT ? (double)a->u.i : a->u.f;
}

/* The scale must be the same along the reduced dimensions. */
static bool is_broadcast(const fx *f, const match *m)
{
    const aot_arg *other = match_get(m, f->c, "other"), *dim = match_get(m, f->c, "dim");
    uint32_t inp = match_get_node(m, f->c, "inp");
    if (is_number(other)) {
        return true;
    }
    if (inp == AOT_NO_NODE || other->kind != AOT_ARG_NODE) {
        return false;
    }
    aot_fake x = joint_type(f, inp), o = joint_type(f, other->u.node);
    if (o.val == AOT_VAL_SYM) {
        return o.sym_kind != AOT_SYM_BOOL;
    }
    if (x.val != AOT_VAL_TENSOR || o.val != AOT_VAL_TENSOR || x.ndim < o.ndim) {
        return false;
    }
    uint32_t n = dim->kind == AOT_ARG_LIST ? dim->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        const aot_arg *a = dim->kind == AOT_ARG_LIST ? &f->g->args.d[dim->u.first + i] : dim;
        int64_t d = a->u.i < 0 ? a->u.i + x.ndim : a->u.i, at = d - (int64_t)(x.ndim - o.ndim);
        if (d < 0 || d >= x.ndim || (at >= 0 && !aot_dim_is(o.size[at], 1))) {
            return false;
        }
    }
    return true;
}

/* Copies a captured argument of numbers into a trace. */
static aot_arg copy_numbers(trace *t, const fx *f, const aot_arg *a)
{
    return a->kind == AOT_ARG_LIST ? fx_a_list(&t->f, f->g->args.d + a->u.first, a->n) : *a;
}

static uint32_t binary(trace *t, const char *op, uint32_t a, uint32_t b)
{
    return trace_call2(t, op, a, fx_a_node(b));
}

/* The sign of a tensor of scales: where(other >= 0, 1, -1). */
static uint32_t sign_of(trace *t, uint32_t other, uint32_t like)
{
    aot_fake x = trace_type(t, like);
    aot_arg number_one = fx_a_int(1);
    fx_kwarg kw[3] = {{"dtype", fx_a_dtype(&t->f, (aot_dtype)x.dtype)},
                      {"device", fx_a_device(&t->f, x.device)},
                      {"pin_memory", fx_a_bool(false)}};
    uint32_t one = trace_emit(t, "aten.scalar_tensor.default", &number_one, 1, kw, 3);
    uint32_t positive = trace_call2(t, "aten.ge.Scalar", other, fx_a_int(0));
    return trace_where(t, positive, one, trace_call1(t, "aten.neg.default", one));
}

static uint32_t rescaled(trace *t, const fx *f, const match *m, const char *op, uint32_t x,
                         uint32_t other)
{
    const aot_arg *number_arg = match_get(m, f->c, "other");
    aot_arg sign = fx_a_int(is_number(number_arg) && number(number_arg) < 0 ? -1 : 1), scale;
    if (is_number(number_arg)) {
        scale = number_arg->kind == AOT_ARG_INT ? fx_a_int(sign.u.i * number_arg->u.i)
                                                : fx_a_float((double)sign.u.i * number_arg->u.f);
    } else {
        sign = fx_a_node(sign_of(t, other, x));
        scale = (aot_arg){.kind = AOT_ARG_NONE};
    }
    x = trace_call2(t, "aten.mul.Tensor", x, sign);
    aot_arg args[3] = {fx_a_node(x), copy_numbers(t, f, match_get(m, f->c, "dim")),
                       *match_get(m, f->c, "keepdim")};
    uint32_t top = trace_emit(t, "aten.amax.default", args, 3, NULL, 0);
    uint32_t below = binary(t, "aten.sub.Tensor", x, top);
    if (scale.kind == AOT_ARG_NONE) {
        scale = fx_a_node(binary(t, "aten.mul.Tensor", sign.u.node, other));
    }
    return trace_call2(t, op, below, scale);
}

static void rewrite(joint *j, fx *f, const match *m, const char *op)
{
    uint32_t inp = match_get_node(m, f->c, "inp");
    const aot_arg other = *match_get(m, f->c, "other"), *dtype = match_get(m, f->c, "dtype");
    aot_arg args[2] = {fx_a_node(inp), other};
    trace t;
    trace_begin(&t, f->c, false);
    uint32_t x = trace_placeholder(&t, fx_node(f, inp)->meta, false), o = AOT_NO_NODE;
    if (other.kind == AOT_ARG_NODE) {
        o = trace_placeholder(&t, fx_node(f, other.u.node)->meta, false);
        if (trace_type(&t, o).val != AOT_VAL_TENSOR) {
            trace_fail(&t, AOT_E_UNSUPPORTED, "a symbolic scale");
        }
    }
    if (dtype != NULL && dtype->kind == AOT_ARG_NAME) {
        const char *s = aot_text(f->c, dtype->u.s);
        x = trace_to(&t, x, aot_dtype_of_torch(s, strlen(s)));
    }
    uint32_t out = rescaled(&t, f, m, op, x, o);
    trace_end(&t, &out, 1, NULL, 0);
    if (t.st == AOT_OK) {
        joint_replace(f, m, &t, args);
    } else {
        joint_note(j, m->outs.d[0], "the scaling cannot be moved behind the maximum: %s",
                   t.err.msg);
    }
    trace_free(&t);
}

static void check_and_rewrite(joint *j, fx *f, const match *m, const char *op)
{
    if (match_get_node(m, f->c, "inp") != AOT_NO_NODE && is_broadcast(f, m)) {
        rewrite(j, f, m, op);
    } else {
        j->count--; // the check belongs to the pattern: it did not match
    }
}

void joint_mul_softmax(joint *j, fx *f, const match *m)
{
    check_and_rewrite(j, f, m, "aten.mul.Tensor");
}

void joint_div_softmax(joint *j, fx *f, const match *m)
{
    check_and_rewrite(j, f, m, "aten.div.Tensor");
}
