/* The backward of a trace: entries of the tape from the last to the first, as the autograd engine
 * takes them. A gradient gets the dtype of the value that it belongs to, right after it is made.
 * Mirrors: tools/autograd/derivatives.yaml, torch/csrc/autograd/engine.cpp:validate_outputs,
 * torch/_decomp/decompositions.py (_softmax_backward_data, native_dropout_backward). */
#include <stdlib.h>
#include <string.h>

#include "joint/trace_internal.h"

typedef struct grads {
    uint32_t to[3], value[3]; /* inputs in autograd's order */
    unsigned n;
} grads;

static void give(grads *g, uint32_t to, uint32_t value)
{
    g->to[g->n] = to;
    g->value[g->n++] = value;
}

static bool wants(const trace *t, uint32_t x)
{
    return x != AOT_NO_NODE && t->rg.d[x] != 0;
}

static uint32_t like_view(trace *t, uint32_t g, uint32_t of)
{
    aot_fake a = trace_type(t, of);
    return trace_reshape(t, g, a.size, a.ndim);
}

static uint32_t swap_last(trace *t, uint32_t x)
{
    static const unsigned perm[3] = {0, 2, 1};
    return trace_permute(t, x, perm, 3);
}

static void bmm(trace *t, const trace_entry *e, uint32_t g, grads *out)
{
    uint32_t b = wants(t, e->b) ? trace_bmm(t, swap_last(t, e->a), g) : AOT_NO_NODE;
    uint32_t a = wants(t, e->a) ? trace_bmm(t, g, swap_last(t, e->b)) : AOT_NO_NODE;
    give(out, e->a, a);
    give(out, e->b, b);
}

/* out * (g - sum(out * g)), written as a fused multiply-add; in f32 for halves. */
static uint32_t softmax(trace *t, const trace_entry *e, uint32_t g)
{
    aot_dtype d = (aot_dtype)trace_type(t, e->out).dtype;
    bool half = d == AOT_F16 || d == AOT_BF16;
    aot_fake type = trace_type(t, g);
    if (!aot_fake_is_contiguous(&type)) {
        fx_kwarg format = {"memory_format", fx_a_name(&t->f, "torch.contiguous_format")};
        aot_arg arg = fx_a_node(g);
        g = trace_emit(t, "aten.clone.default", &arg, 1, &format, 1);
    }
    g = half ? trace_to(t, g, AOT_F32) : g;
    uint32_t y = half ? trace_to(t, e->out, AOT_F32) : e->out;
    uint32_t gy = trace_call2(t, "aten.mul.Tensor", g, fx_a_node(y));
    aot_arg last = fx_a_int(-1);
    aot_arg args[3] = {fx_a_node(gy), fx_a_list(&t->f, &last, 1), fx_a_bool(true)};
    uint32_t sum = trace_emit(t, "aten.sum.dim_IntList", args, 3, NULL, 0);
    aot_arg fma[3] = {fx_a_node(trace_call1(t, "aten.neg.default", y)), fx_a_node(sum),
                      fx_a_node(gy)};
    uint32_t r = trace_emit(t, "prims.fma.default", fma, 3, NULL, 0);
    return half ? trace_to(t, r, (aot_dtype)trace_type(t, e->a).dtype) : r;
}

static uint32_t dropout(trace *t, const trace_entry *e, uint32_t g)
{
    uint32_t mask = trace_to(t, e->mask, (aot_dtype)trace_type(t, g).dtype);
    uint32_t scale = trace_call2(t, "aten.mul.Tensor", mask, fx_a_float(e->by.number));
    return trace_call2(t, "aten.mul.Tensor", g, fx_a_node(scale));
}

static uint32_t zero_like(trace *t, uint32_t g)
{
    aot_fake a = trace_type(t, g);
    return trace_scalar(t, 0.0, false, (aot_dtype)a.dtype, a.device, true);
}

static uint32_t choose(trace *t, uint32_t mask, uint32_t x, uint32_t y)
{
    aot_arg args[3] = {fx_a_node(mask), fx_a_node(x), fx_a_node(y)};
    return trace_emit(t, "aten.where.self", args, 3, NULL, 0);
}

static void permuted(trace *t, const trace_entry *e, uint32_t g, grads *out)
{
    unsigned back[AOT_FAKE_MAX_NDIM], n = trace_type(t, e->a).ndim;
    for (unsigned i = 0; i < n; i++) {
        back[e->perm[i]] = i;
    }
    give(out, e->a, trace_permute(t, g, back, n));
}

static void backward_of(trace *t, const trace_entry *e, uint32_t g, grads *out)
{
    switch (e->op) {
    case TRACE_PERMUTE:
        permuted(t, e, g, out);
        break;
    case TRACE_VIEW:
        give(out, e->a, like_view(t, g, e->a));
        break;
    case TRACE_BMM:
        bmm(t, e, g, out);
        break;
    case TRACE_MUL:
        give(out, e->a, trace_mul(t, g, &e->by));
        break;
    case TRACE_MUL_SCALAR:
        give(out, e->a, trace_mul_scalar(t, g, e->by.number));
        break;
    case TRACE_DIV:
        give(out, e->a, trace_div(t, g, &e->by));
        break;
    case TRACE_TO:
        give(out, e->a, trace_to(t, g, (aot_dtype)trace_type(t, e->a).dtype));
        break;
    case TRACE_SOFTMAX:
        give(out, e->a, softmax(t, e, g));
        break;
    case TRACE_DROPOUT:
        give(out, e->a, dropout(t, e, g));
        break;
    case TRACE_MASKED_FILL: {
        uint32_t zero = zero_like(t, g);
        give(out, e->a, choose(t, e->mask, zero, g));
        break;
    }
    case TRACE_WHERE:
        give(out, e->a, wants(t, e->a) ? choose(t, e->mask, g, zero_like(t, g)) : AOT_NO_NODE);
        give(out, e->b, wants(t, e->b) ? choose(t, e->mask, zero_like(t, g), g) : AOT_NO_NODE);
        break;
    case TRACE_UNSQUEEZE:
        give(out, e->a, trace_squeeze(t, g, (int64_t)e->by.number));
        break;
    case TRACE_SQUEEZE:
        give(out, e->a, trace_unsqueeze(t, g, (int64_t)e->by.number));
        break;
    case TRACE_FLASH: {
        uint32_t d[3] = {AOT_NO_NODE, AOT_NO_NODE, AOT_NO_NODE};
        trace_flash_backward(t, &t->flashes.d[e->mask], g, d);
        give(out, e->a, d[0]);
        give(out, e->b, d[1]);
        give(out, e->more, d[2]);
        break;
    }
    case TRACE_EXPAND: // sizes must agree: see take
    case TRACE_CLONE:
    case TRACE_ADD:
        give(out, e->a, g);
        give(out, e->b, g);
        break;
    }
}

static bool same_sizes(const aot_fake *a, const aot_fake *b)
{
    bool same = a->ndim == b->ndim;
    for (unsigned i = 0; i < a->ndim && same; i++) {
        same = aot_dim_same(a->size[i], b->size[i]);
    }
    return same;
}

/* Adds what an entry gave to what its inputs have. */
static void take(trace *t, grads *g, uint32_t *sum)
{
    for (unsigned i = 0; i < g->n; i++) {
        if (!wants(t, g->to[i]) || g->value[i] == AOT_NO_NODE) {
            g->value[i] = AOT_NO_NODE;
            continue;
        }
        aot_fake a = trace_type(t, g->to[i]), b = trace_type(t, g->value[i]);
        if (!same_sizes(&a, &b)) {
            trace_fail(t, AOT_E_UNSUPPORTED,
                       "a gradient would have to be summed to the size of its input");
        }
        g->value[i] = trace_to(t, g->value[i], (aot_dtype)a.dtype);
    }
    for (unsigned i = 0; i < g->n; i++) {
        if (g->value[i] != AOT_NO_NODE) {
            uint32_t *s = &sum[g->to[i]];
            *s = *s == AOT_NO_NODE ? g->value[i] : trace_add(t, *s, g->value[i]);
        }
    }
}

uint32_t *trace_backward(trace *t, uint32_t of, uint32_t tangent)
{
    size_t n = t->f.g->nodes.n;
    uint32_t *sum = aot_xmalloc(n * sizeof *sum);
    memset(sum, 0xff, n * sizeof *sum);
    sum[of] = tangent;
    t->grad = false; // what follows is not differentiated
    for (size_t i = t->tape.n; i-- > 0 && t->st == AOT_OK;) {
        trace_entry e = t->tape.d[i];
        if (sum[e.out] != AOT_NO_NODE) {
            grads g = {.n = 0};
            backward_of(t, &e, sum[e.out], &g);
            take(t, &g, sum);
        }
    }
    t->grad = true;
    return sum;
}
