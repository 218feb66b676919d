/* Operators of the tracer, as Inductor's decompositions leave them.
 * Mirrors: aten/src/ATen/native/LinearAlgebra.cpp:matmul, TensorShape.cpp:reshape,
 * torch/_decomp/decompositions.py (softmax, native_dropout, _safe_softmax). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "joint/trace_internal.h"

static bool wants_grad(const trace *t, uint32_t x)
{
    return x != AOT_NO_NODE && x < t->rg.n && t->rg.d[x] != 0;
}

static uint32_t record(trace *t, trace_entry e)
{
    if (t->st == AOT_OK && t->grad &&
        (wants_grad(t, e.a) || wants_grad(t, e.b) ||
         (e.op == TRACE_FLASH && wants_grad(t, e.more)))) {
        t->rg.d[e.out] = 1;
        aot_vec_push(&t->tape, e);
    }
    return e.out;
}

static uint32_t record1(trace *t, trace_op op, uint32_t out, uint32_t a)
{
    return record(t, (trace_entry){.op = op, .out = out, .a = a, .b = AOT_NO_NODE});
}

/* ---- views ---------------------------------------------------------------------------------- */

uint32_t trace_permute(trace *t, uint32_t x, const unsigned *perm, unsigned n)
{
    aot_dim dims[AOT_FAKE_MAX_NDIM];
    trace_entry e = {.op = TRACE_PERMUTE, .a = x, .b = AOT_NO_NODE};
    for (unsigned i = 0; i < n; i++) {
        dims[i] = (aot_dim){.value = perm[i]};
        e.perm[i] = perm[i];
    }
    e.out = trace_call2(t, "aten.permute.default", x, trace_sizes(t, dims, n));
    return record(t, e);
}

uint32_t trace_transpose(trace *t, uint32_t x, int64_t i, int64_t j)
{
    aot_fake a = trace_type(t, x);
    unsigned perm[AOT_FAKE_MAX_NDIM], p = aot_fake_dim(&a, i), q = aot_fake_dim(&a, j);
    if (p >= a.ndim || q >= a.ndim) {
        trace_fail(t, AOT_E_SHAPE, "transpose: no such dimension");
        return AOT_NO_NODE;
    }
    for (unsigned k = 0; k < a.ndim; k++) {
        perm[k] = k == p ? q : k == q ? p : k;
    }
    return trace_permute(t, x, perm, a.ndim);
}

uint32_t trace_expand(trace *t, uint32_t x, const aot_dim *sizes, unsigned n)
{
    return record1(t, TRACE_EXPAND,
                   trace_call2(t, "aten.expand.default", x, trace_sizes(t, sizes, n)), x);
}

/* -1 among sizes becomes what is left over. */
static void fill_sizes(trace *t, uint32_t x, const aot_dim *sizes, unsigned n, aot_dim *out)
{
    aot_fake a = trace_type(t, x);
    int64_t all = aot_fake_numel(t->f.c, &a).value, known = 1;
    for (unsigned i = 0; i < n; i++) {
        known *= sizes[i].value == -1 ? 1 : sizes[i].value;
    }
    for (unsigned i = 0; i < n; i++) {
        out[i] = sizes[i];
        if (sizes[i].value == -1 && sizes[i].expr == 0) {
            out[i].value = known != 0 ? all / known : 0;
        }
    }
}

uint32_t trace_view(trace *t, uint32_t x, const aot_dim *sizes, unsigned n)
{
    aot_dim full[AOT_FAKE_MAX_NDIM];
    fill_sizes(t, x, sizes, n, full);
    return record1(t, TRACE_VIEW, trace_call2(t, "aten.view.default", x, trace_sizes(t, full, n)),
                   x);
}

/* Whether memory can be seen with other sizes: runs of dimensions that are contiguous among
 * themselves must be split into runs of new ones. Mirrors ATen/TensorUtils.cpp:computeStride. */
static bool is_viewable(const aot_fake *a, const aot_dim *sizes, unsigned n)
{
    int view = (int)n - 1;
    int64_t run = 1, viewed = 1, base = a->ndim != 0 ? a->stride[a->ndim - 1].value : 1;
    for (unsigned d = a->ndim; d-- > 0;) {
        run *= a->size[d].value;
        bool ends = d == 0 || (a->size[d - 1].value != 1 && a->stride[d - 1].value != run * base);
        if (!ends) {
            continue;
        }
        while (view >= 0 && (viewed < run || sizes[view].value == 1)) {
            viewed *= sizes[view--].value;
        }
        if (viewed != run) {
            return false;
        }
        run = viewed = 1;
        base = d > 0 ? a->stride[d - 1].value : base;
    }
    return view == -1;
}

uint32_t trace_reshape(trace *t, uint32_t x, const aot_dim *sizes, unsigned n)
{
    aot_dim full[AOT_FAKE_MAX_NDIM];
    aot_fake a = trace_type(t, x);
    fill_sizes(t, x, sizes, n, full);
    if (t->st == AOT_OK && !is_viewable(&a, full, n)) {
        fx_kwarg format = {"memory_format", fx_a_name(&t->f, "torch.contiguous_format")};
        aot_arg arg = fx_a_node(x);
        x = record1(t, TRACE_CLONE, trace_emit(t, "aten.clone.default", &arg, 1, &format, 1), x);
    }
    return trace_view(t, x, full, n);
}

uint32_t trace_unsqueeze(trace *t, uint32_t x, int64_t dim)
{
    trace_entry e = {.op = TRACE_UNSQUEEZE, .a = x, .b = AOT_NO_NODE, .by = trace_int(dim)};
    e.out = trace_call2(t, "aten.unsqueeze.default", x, fx_a_int(dim));
    return record(t, e);
}

uint32_t trace_squeeze(trace *t, uint32_t x, int64_t dim)
{
    trace_entry e = {.op = TRACE_SQUEEZE, .a = x, .b = AOT_NO_NODE, .by = trace_int(dim)};
    e.out = trace_call2(t, "aten.squeeze.dim", x, fx_a_int(dim));
    return record(t, e);
}

/* ---- products ------------------------------------------------------------------------------- */

uint32_t trace_bmm(trace *t, uint32_t a, uint32_t b)
{
    uint32_t out = trace_call2(t, "aten.bmm.default", a, fx_a_node(b));
    return record(t, (trace_entry){.op = TRACE_BMM, .out = out, .a = a, .b = b});
}

uint32_t trace_matmul(trace *t, uint32_t a, uint32_t b)
{
    aot_fake x = trace_type(t, a), y = trace_type(t, b);
    unsigned n = x.ndim;
    if (t->st != AOT_OK || n < 3 || n != y.ndim) {
        trace_fail(t, AOT_E_UNSUPPORTED, "matmul of other than two batches of matrices");
        return AOT_NO_NODE;
    }
    aot_dim ea[AOT_FAKE_MAX_NDIM], eb[AOT_FAKE_MAX_NDIM], out[AOT_FAKE_MAX_NDIM],
        batch = {.value = 1};
    for (unsigned i = 0; i + 2 < n; i++) {
        out[i] = aot_dim_is(x.size[i], 1) ? y.size[i] : x.size[i];
        ea[i] = eb[i] = out[i];
        batch = aot_dim_mul(t->f.c, batch, out[i]);
    }
    memcpy(ea + n - 2, x.size + n - 2, 2 * sizeof *ea);
    memcpy(eb + n - 2, y.size + n - 2, 2 * sizeof *eb);
    out[n - 2] = x.size[n - 2];
    out[n - 1] = y.size[n - 1];
    aot_dim va[3] = {batch, ea[n - 2], ea[n - 1]}, vb[3] = {batch, eb[n - 2], eb[n - 1]};
    uint32_t p = trace_reshape(t, trace_expand(t, a, ea, n), va, 3);
    uint32_t q = trace_reshape(t, trace_expand(t, b, eb, n), vb, 3);
    return trace_view(t, trace_bmm(t, p, q), out, n);
}

/* ---- element-wise --------------------------------------------------------------------------- */

static uint32_t scaled(trace *t, trace_op op, const char *target, uint32_t x, const trace_value *by)
{
    trace_entry e = {.op = op, .a = x, .b = AOT_NO_NODE, .by = *by};
    e.out = trace_call2(t, target, x, trace_arg(by));
    return record(t, e);
}

uint32_t trace_mul(trace *t, uint32_t x, const trace_value *by)
{
    return scaled(t, TRACE_MUL, "aten.mul.Tensor", x, by);
}

uint32_t trace_mul_scalar(trace *t, uint32_t x, double by)
{
    trace_value v = trace_float(by);
    return scaled(t, TRACE_MUL_SCALAR, "aten.mul.Scalar", x, &v);
}

uint32_t trace_div(trace *t, uint32_t x, const trace_value *by)
{
    return scaled(t, TRACE_DIV, "aten.div.Tensor", x, by);
}

uint32_t trace_add(trace *t, uint32_t x, uint32_t y)
{
    uint32_t out = trace_call2(t, "aten.add.Tensor", x, fx_a_node(y));
    return record(t, (trace_entry){.op = TRACE_ADD, .out = out, .a = x, .b = y});
}

uint32_t trace_to(trace *t, uint32_t x, aot_dtype d)
{
    if (t->st != AOT_OK || trace_type(t, x).dtype == d) {
        return x;
    }
    return record1(t, TRACE_TO,
                   trace_call2(t, "prims.convert_element_type.default", x, fx_a_dtype(&t->f, d)),
                   x);
}

uint32_t trace_full(trace *t, double value, uint32_t like)
{
    aot_fake a = trace_type(t, like);
    aot_arg args[2] = {fx_a_list(&t->f, NULL, 0), fx_a_float(value)};
    fx_kwarg kw[3] = {{"dtype", fx_a_dtype(&t->f, (aot_dtype)a.dtype)},
                      {"device", fx_a_device(&t->f, a.device)},
                      {"pin_memory", fx_a_bool(false)}};
    return trace_emit(t, "aten.full.default", args, 2, kw, 3);
}

uint32_t trace_scalar(trace *t, double value, bool is_int, aot_dtype d, aot_str device, bool layout)
{
    aot_arg arg = is_int ? fx_a_int((int64_t)value) : fx_a_float(value);
    fx_kwarg kw[3] = {{"dtype", fx_a_dtype(&t->f, d)}};
    uint32_t n = 1;
    if (layout) {
        kw[n++] = (fx_kwarg){"layout", fx_a_name(&t->f, "torch.strided")};
    }
    kw[n++] = (fx_kwarg){"device", fx_a_device(&t->f, device)};
    return trace_emit(t, "aten.scalar_tensor.default", &arg, 1, kw, n);
}

static uint32_t where(trace *t, uint32_t mask, uint32_t x, uint32_t y)
{
    aot_arg args[3] = {fx_a_node(mask), fx_a_node(x), fx_a_node(y)};
    return trace_emit(t, "aten.where.self", args, 3, NULL, 0);
}

uint32_t trace_where(trace *t, uint32_t mask, uint32_t x, uint32_t y)
{
    uint32_t out = where(t, mask, x, y);
    return record(t, (trace_entry){.op = TRACE_WHERE, .out = out, .a = x, .b = y, .mask = mask});
}

uint32_t trace_masked_fill(trace *t, uint32_t x, uint32_t mask, uint32_t value)
{
    uint32_t out = where(t, mask, value, x);
    return record(
        t,
        (trace_entry){.op = TRACE_MASKED_FILL, .out = out, .a = x, .b = AOT_NO_NODE, .mask = mask});
}

/* ---- softmax, dropout ----------------------------------------------------------------------- */

static uint32_t reduced(trace *t, const char *target, uint32_t x)
{
    aot_arg last = fx_a_int(-1);
    aot_arg args[3] = {fx_a_node(x), fx_a_list(&t->f, &last, 1), fx_a_bool(true)};
    return trace_emit(t, target, args, 3, NULL, 0);
}

/* Over the last dimension, in f32 for halves; nothing is recorded. */
static uint32_t softmax(trace *t, uint32_t x)
{
    aot_dtype d = (aot_dtype)trace_type(t, x).dtype;
    bool half = d == AOT_F16 || d == AOT_BF16;
    bool grad = t->grad;
    t->grad = false;
    x = half ? trace_to(t, x, AOT_F32) : x;
    uint32_t top = reduced(t, "aten.amax.default", x);
    uint32_t e =
        trace_call1(t, "aten.exp.default", trace_call2(t, "aten.sub.Tensor", x, fx_a_node(top)));
    uint32_t sum = reduced(t, "aten.sum.dim_IntList", e);
    uint32_t out = trace_call2(t, "aten.div.Tensor", e, fx_a_node(sum));
    out = half ? trace_to(t, out, d) : out;
    t->grad = grad;
    return out;
}

uint32_t trace_softmax(trace *t, uint32_t x)
{
    return record1(t, TRACE_SOFTMAX, softmax(t, x), x);
}

/* Rows that are -inf throughout give zeros. */
uint32_t trace_safe_softmax(trace *t, uint32_t x)
{
    aot_fake a = trace_type(t, x);
    uint32_t out = softmax(t, x);
    uint32_t masked = trace_call2(t, "aten.eq.Scalar", x, fx_a_float(-INFINITY));
    uint32_t kept = trace_call1(t, "aten.logical_not.default", masked);
    aot_arg args[3] = {fx_a_node(kept), fx_a_int(-1), fx_a_bool(true)};
    uint32_t any = trace_emit(t, "aten.any.dim", args, 3, NULL, 0);
    uint32_t none = trace_call1(t, "aten.logical_not.default", any);
    aot_arg full[2] = {trace_sizes(t, a.size, a.ndim), fx_a_int(0)};
    fx_kwarg kw[4] = {{"dtype", fx_a_dtype(&t->f, (aot_dtype)a.dtype)},
                      {"layout", fx_a_name(&t->f, "torch.strided")},
                      {"device", fx_a_device(&t->f, a.device)},
                      {"pin_memory", fx_a_bool(false)}};
    uint32_t zeros = trace_emit(t, "aten.full.default", full, 2, kw, 4);
    return record1(t, TRACE_SOFTMAX, where(t, none, zeros, out), x);
}

uint32_t trace_dropout(trace *t, uint32_t x, double p)
{
    if (p == 0 || t->st != AOT_OK) {
        return x;
    }
    aot_fake a = trace_type(t, x);
    aot_arg sizes = trace_sizes(t, a.size, a.ndim);
    fx_kwarg kw[3] = {{"dtype", fx_a_dtype(&t->f, (aot_dtype)a.dtype)},
                      {"device", fx_a_device(&t->f, a.device)},
                      {"pin_memory", fx_a_bool(false)}};
    uint32_t rand = trace_emit(t, "aten.rand.default", &sizes, 1, kw, 3);
    uint32_t keep = trace_call2(t, "aten.gt.Scalar", rand, fx_a_float(p));
    trace_entry e = {.op = TRACE_DROPOUT,
                     .a = x,
                     .b = AOT_NO_NODE,
                     .mask = keep,
                     .by = trace_float(1.0 / (1.0 - p))};
    uint32_t kept = trace_call2(t, "aten.mul.Tensor", keep, fx_a_node(x));
    e.out = trace_call2(t, "aten.mul.Tensor", kept, fx_a_float(e.by.number));
    return record(t, e);
}

/* ---- attention ------------------------------------------------------------------------------ */

/* The conditions of the CPU's flash kernel.
 * Mirrors: aten/src/ATen/native/transformers/sdp_utils_cpp.cpp:use_flash_attention_cpp. */
static bool flash_takes(const aot_fake *q, const aot_fake *k, const aot_fake *v,
                        const aot_fake *mask, double dropout)
{
    aot_dtype d = (aot_dtype)q->dtype;
    if (dropout > 0 || q->ndim != 4 || k->ndim != 4 || v->ndim != 4 ||
        !(d == AOT_F32 || d == AOT_F64 || d == AOT_F16 || d == AOT_BF16)) {
        return false;
    }
    const aot_fake *all[3] = {q, k, v};
    for (unsigned i = 0; i < 3; i++) {
        const aot_fake *x = all[i];
        if (!aot_dim_equal_hint(x->size[0], q->size[0]) ||
            !aot_dim_equal_hint(x->size[1], q->size[1]) ||
            !aot_dim_equal_hint(x->size[3], q->size[3]) || x->size[2].value == 0 ||
            x->stride[3].value != 1) {
            return false;
        }
    }
    if (mask == NULL) {
        return true;
    }
    aot_dim want[4] = {q->size[0], q->size[1], q->size[2], k->size[2]};
    if ((mask->ndim != 2 && mask->ndim != 4) || mask->stride[mask->ndim - 1].value != 1) {
        return false;
    }
    for (unsigned i = 0; i < mask->ndim; i++) {
        aot_dim w = want[4 - mask->ndim + i];
        if (!aot_dim_is(mask->size[i], 1) && !aot_dim_equal_hint(mask->size[i], w)) {
            return false;
        }
    }
    return true;
}

/* True means "attend": 0 there and -inf elsewhere. */
static uint32_t additive_mask(trace *t, uint32_t mask, aot_dtype d)
{
    aot_fake m = trace_type(t, mask);
    if (mask == AOT_NO_NODE || m.dtype != AOT_B8) {
        return mask;
    }
    uint32_t low = trace_scalar(t, -INFINITY, false, d, m.device, false);
    uint32_t zero = trace_scalar(t, 0.0, false, d, m.device, true);
    return where(t, mask, zero, low);
}

/* operator.getitem of a node whose outputs are in call. */
static uint32_t element(trace *t, uint32_t of, const struct aot_call *call, uint32_t i)
{
    aot_arg args[2] = {fx_a_node(of), fx_a_int(i)};
    uint32_t id = fx_call(&t->f, "operator.getitem", args, 2, NULL, 0);
    aot_vec_push(&t->rg, 0);
    if (i < call->outs.n) {
        fx_node(&t->f, id)->meta = aot_fake_meta(t->f.c, &call->outs.d[i]);
    }
    return id;
}

void trace_tuple_call(trace *t, const char *target, const aot_arg *args, uint32_t n_args,
                      const fx_kwarg *kw, uint32_t n_kw, uint32_t *outs, uint32_t n)
{
    if (t->st != AOT_OK) {
        return;
    }
    uint32_t id = fx_call(&t->f, target, args, n_args, kw, n_kw);
    aot_vec_push(&t->rg, 0);
    struct aot_call call;
    t->st = aot_fake_run(&call, t->f.c, t->f.g, id, &t->err);
    for (uint32_t i = 0; i < n && t->st == AOT_OK; i++) {
        outs[i] = element(t, id, &call, i);
    }
    aot_call_free(&call);
}

static uint32_t flash_kwargs(const trace_flash *x, fx_kwarg kw[2])
{
    uint32_t n = 0;
    if (x->mask != AOT_NO_NODE) {
        kw[n++] = (fx_kwarg){"attn_mask", fx_a_node(x->mask)};
    }
    if (x->has_scale) {
        kw[n++] = (fx_kwarg){"scale", fx_a_float(x->scale)};
    }
    return n;
}

static uint32_t flash(trace *t, uint32_t q, uint32_t k, uint32_t v, uint32_t mask,
                      const trace_value *scale)
{
    trace_flash x = {.q = q,
                     .k = k,
                     .v = v,
                     .mask = mask,
                     .has_scale = scale->kind == TRACE_NUMBER,
                     .scale = scale->number};
    aot_arg args[3] = {fx_a_node(q), fx_a_node(k), fx_a_node(v)};
    fx_kwarg kw[2];
    uint32_t outs[2] = {AOT_NO_NODE, AOT_NO_NODE}, n = flash_kwargs(&x, kw);
    trace_tuple_call(t, "aten._scaled_dot_product_flash_attention_for_cpu.default", args, 3, kw, n,
                     outs, 2);
    x.out = outs[0];
    x.logsumexp = outs[1];
    aot_vec_push(&t->flashes, x);
    return record(t, (trace_entry){.op = TRACE_FLASH, .out = outs[0], .a = q, .b = k, .more = v,
                                   .mask = (uint32_t)t->flashes.n - 1});
}

void trace_flash_backward(trace *t, const trace_flash *x, uint32_t grad, uint32_t outs[3])
{
    aot_arg args[8] = {fx_a_node(grad), fx_a_node(x->q),   fx_a_node(x->k),
                       fx_a_node(x->v), fx_a_node(x->out), fx_a_node(x->logsumexp),
                       fx_a_float(0.0), fx_a_bool(false)};
    fx_kwarg kw[2];
    uint32_t n = flash_kwargs(x, kw);
    trace_tuple_call(t, "aten._scaled_dot_product_flash_attention_for_cpu_backward.default", args,
                     8, kw, n, outs, 3);
}

/* Scores by hand: queries and keys each take the root of the scale. Halves are computed in f32. */
static uint32_t by_hand(trace *t, uint32_t q, uint32_t k, uint32_t v, uint32_t mask, double dropout,
                        const trace_value *scale)
{
    aot_fake x = trace_type(t, q);
    aot_dtype d = (aot_dtype)x.dtype;
    bool half = d == AOT_F16 || d == AOT_BF16;
    if (x.ndim == 0 || (scale->kind != TRACE_NUMBER && x.size[x.ndim - 1].expr != 0)) {
        trace_fail(t, AOT_E_UNSUPPORTED, "attention's scale depends on a symbolic size");
        return AOT_NO_NODE;
    }
    double s =
        scale->kind == TRACE_NUMBER ? scale->number : 1.0 / sqrt((double)x.size[x.ndim - 1].value);
    double root = sqrt(fabs(s));
    q = half ? trace_to(t, q, AOT_F32) : q;
    k = half ? trace_to(t, k, AOT_F32) : k;
    v = half ? trace_to(t, v, AOT_F32) : v;
    q = trace_mul_scalar(t, q, s < 0 ? 0.0 - root : root);
    k = trace_mul_scalar(t, trace_transpose(t, k, -2, -1), root);
    uint32_t a = trace_matmul(t, q, k);
    a = mask != AOT_NO_NODE ? trace_add(t, a, mask) : a;
    a = trace_dropout(t, trace_safe_softmax(t, a), dropout);
    a = trace_matmul(t, a, v);
    return half ? trace_to(t, a, d) : a;
}

uint32_t trace_attention(trace *t, uint32_t q, uint32_t k, uint32_t v, uint32_t mask,
                         double dropout, const trace_value *scale)
{
    aot_fake x = trace_type(t, q), y = trace_type(t, k), z = trace_type(t, v);
    if (t->st != AOT_OK) {
        return AOT_NO_NODE;
    }
    if (!aot_starts_with(aot_text(t->f.c, x.device), "cpu")) {
        trace_fail(t, AOT_E_UNSUPPORTED, "which attention kernel %s would take is not known",
                   aot_text(t->f.c, x.device));
        return AOT_NO_NODE;
    }
    mask = additive_mask(t, mask, (aot_dtype)x.dtype);
    aot_fake m = trace_type(t, mask);
    return flash_takes(&x, &y, &z, mask != AOT_NO_NODE ? &m : NULL, dropout)
               ? flash(t, q, k, v, mask, scale)
               : by_hand(t, q, k, v, mask, dropout, scale);
}
