/* Element-wise operators: the dtype of mixed operands, broadcasting, and the strides of the result.
 *
 * Dtypes rank by category (bool, int, float, complex); within the winning category, tensors with
 * dimensions decide before tensors without, and Python numbers decide only where there is neither.
 * Mirrors torch/_prims_common:elementwise_dtypes, compute_elementwise_output_strides (which follow
 * aten/src/ATen/TensorIterator.cpp), torch/_subclasses/fake_impls.py:make_fast_binary_impl. */
#include <string.h>

#include "rules/fake.h"
#include "rules/fake_internal.h"

enum { MAX_OPERANDS = 16 };

/* ---- dtypes --------------------------------------------------------------------------------- */

/* 0 bool, 1 integer, 2 float, 3 complex. */
static int category(aot_dtype d)
{
    switch (aot_dtype_get(d)->kind) {
    case 'b':
        return 0;
    case 'f':
        return 2;
    case 'c':
        return 3;
    default:
        return 1;
    }
}

static bool is_f8(aot_dtype d)
{
    return d >= AOT_F8E4M3FN && d <= AOT_F8E8M0FNU;
}

static aot_dtype complex_of(aot_dtype d)
{
    return d == AOT_F64 ? AOT_C128 : d == AOT_F16 ? AOT_C32 : AOT_C64;
}

static aot_dtype promote_ints(aot_dtype a, aot_dtype b)
{
    bool ua = aot_dtype_get(a)->kind == 'u', ub = aot_dtype_get(b)->kind == 'u';
    unsigned na = aot_dtype_get(a)->bytes, nb = aot_dtype_get(b)->bytes;
    if (ua == ub) {
        return na >= nb ? a : b;
    }
    // a signed type that holds both; u8 with i8 is i16
    unsigned un = ua ? na : nb, sn = ua ? nb : na, bytes = sn > un ? sn : 2 * un;
    return bytes <= 2 ? AOT_I16 : bytes == 4 ? AOT_I32 : AOT_I64;
}

aot_dtype aot_promote_types(aot_dtype a, aot_dtype b)
{
    if (a == b || b == AOT_NO_DTYPE) {
        return a;
    }
    if (a == AOT_NO_DTYPE) {
        return b;
    }
    int ca = category(a), cb = category(b);
    if (ca != cb) {
        aot_dtype hi = ca > cb ? a : b, lo = ca > cb ? b : a;
        if (category(hi) == 3 && category(lo) == 2) {
            return aot_promote_types(hi, complex_of(lo));
        }
        return hi;
    }
    switch (ca) {
    case 1:
        return promote_ints(a, b);
    case 2:
        if (is_f8(a) || is_f8(b)) {
            return is_f8(a) && is_f8(b) ? AOT_F32 : is_f8(a) ? b : a;
        }
        if (aot_dtype_get(a)->bytes == aot_dtype_get(b)->bytes) {
            return AOT_F32; // f16 with bf16
        }
        // fall through
    default:
        return aot_dtype_get(a)->bytes > aot_dtype_get(b)->bytes ? a : b;
    }
}

/* What the operands of one call say about its dtype. */
typedef struct mix {
    int top; /* highest category of tensors and numbers */
    const aot_fake *in;
    unsigned n;
} mix;

static aot_dtype highest(const mix *m, int lo, int hi, bool as_complex)
{
    aot_dtype zero = AOT_NO_DTYPE, more = AOT_NO_DTYPE;
    for (unsigned i = 0; i < m->n; i++) {
        aot_dtype d = m->in[i].dtype;
        int cat = category(d);
        if (cat < lo || cat > hi) {
            continue;
        }
        d = as_complex && cat == 2 ? complex_of(d) : d;
        if (m->in[i].ndim == 0) {
            zero = aot_promote_types(zero, d);
        } else {
            more = aot_promote_types(more, d);
        }
    }
    return more != AOT_NO_DTYPE ? more : zero;
}

static aot_dtype real_of(aot_dtype d)
{
    return d == AOT_C128 ? AOT_F64 : d == AOT_C32 ? AOT_F16 : d == AOT_C64 ? AOT_F32 : d;
}

static aot_dtype mixed_dtype(const mix *m, aot_promote kind)
{
    aot_dtype d;
    if (kind == AOT_PROMOTE_ALWAYS_BOOL) {
        return AOT_B8;
    }
    switch (m->top) {
    case 0:
        d = AOT_B8;
        break;
    case 1:
        d = highest(m, 1, 1, false);
        d = d == AOT_NO_DTYPE ? AOT_I64 : d;
        break;
    case 2:
        d = highest(m, 2, 2, false);
        d = d == AOT_NO_DTYPE ? AOT_F32 : d;
        break;
    default:
        d = highest(m, 2, 3, true);
        d = d == AOT_NO_DTYPE ? AOT_C64 : d;
    }
    switch (kind) {
    case AOT_PROMOTE_INT_TO_FLOAT:
        return category(d) < 2 ? AOT_F32 : d;
    case AOT_PROMOTE_COMPLEX_TO_FLOAT:
        return real_of(d);
    case AOT_PROMOTE_BOOL_TO_LONG:
        return d == AOT_B8 ? AOT_I64 : d;
    default:
        return d;
    }
}

aot_dtype aot_mixed_dtype(const aot_fake *in, unsigned n, aot_dtype number, aot_promote kind)
{
    mix m = {.in = in, .n = n, .top = number != AOT_NO_DTYPE ? category(number) : 0};
    for (unsigned i = 0; i < n; i++) {
        m.top = category(in[i].dtype) > m.top ? category(in[i].dtype) : m.top;
    }
    return mixed_dtype(&m, kind);
}

/* ---- strides -------------------------------------------------------------------------------- */

/* -1: dimension a is inside b; 1: it is outside; 0: no tensor tells. */
static int compare_dims(const aot_fake *t, const aot_fake *in, unsigned n, unsigned a, unsigned b)
{
    for (unsigned i = 0; i < n; i++) {
        aot_dim sa = in[i].stride[a], sb = in[i].stride[b];
        if (aot_dim_is_at_hint(sa, 0) || aot_dim_is_at_hint(sb, 0)) {
            continue;
        }
        if (aot_dim_equal_hint(sa, sb)) {
            if (aot_dim_ge(t->size[b], t->size[a])) {
                continue;
            }
            return 1;
        }
        if (aot_dim_ge(sb, sa)) {
            return -1;
        }
        if (aot_dim_ge(sa, sb)) {
            return 1;
        }
    }
    return 0;
}

/* Sorts the dimensions by the strides of n tensors; inner[0] is the innermost. */
static void order_dims(const aot_fake *t, const aot_fake *in, unsigned n, unsigned *inner)
{
    for (unsigned i = 0; i < t->ndim; i++) {
        inner[i] = t->ndim - 1 - i;
    }
    for (unsigned i = 1; i < t->ndim; i++) {
        unsigned at = i;
        for (unsigned j = i; j-- > 0;) {
            int order = compare_dims(t, in, n, inner[j], inner[at]);
            if (order < 0) {
                break;
            }
            if (order > 0) {
                unsigned swap = inner[j];
                inner[j] = inner[at];
                inner[at] = swap;
                at = j;
            }
        }
    }
}

void aot_fake_set_ordered(aot_ctx *c, aot_fake *t, const aot_fake *in, unsigned n)
{
    unsigned inner[AOT_FAKE_MAX_NDIM];
    order_dims(t, in, n, inner);
    aot_dim step = aot_dim_of(1);
    for (unsigned i = 0; i < t->ndim; i++) {
        aot_dim size = t->size[inner[i]];
        t->stride[inner[i]] = step;
        if (i + 1 < t->ndim) {
            if (size.expr != 0 || size.value < 1) {
                size = aot_dim_max(c, size, aot_dim_of(1)); // what may be zero counts as one
            }
            step = aot_dim_mul(c, step, size);
        }
    }
}

void aot_fake_set_permuted(aot_ctx *c, aot_fake *t, const aot_fake *in, unsigned n)
{
    bool contiguous = true, last = true;
    for (unsigned i = 0; i < n; i++) {
        contiguous = contiguous && aot_fake_is_contiguous(&in[i]);
        last = last && aot_fake_is_format(&in[i], AOT_MF_CHANNELS_LAST);
    }
    if (t->ndim < 2 || (contiguous && !last)) {
        aot_fake_set_contiguous(c, t);
    } else if (last && !contiguous) {
        aot_fake_set_format(c, t, AOT_MF_CHANNELS_LAST);
    } else {
        aot_fake_set_ordered(c, t, in, n);
    }
}

void aot_fake_physical_order(const aot_fake *t, unsigned *outer)
{
    bool contiguous = aot_fake_is_contiguous(t), last = aot_fake_is_format(t, AOT_MF_CHANNELS_LAST);
    bool sorts = contiguous == last && t->ndim > 1;
    unsigned inner[AOT_FAKE_MAX_NDIM];
    if (sorts) {
        order_dims(t, t, 1, inner);
    }
    for (unsigned i = 0; i < t->ndim; i++) {
        outer[i] = sorts ? inner[t->ndim - 1 - i] : i;
        if (last && !contiguous && i > 0) { // N, spatial dimensions, C
            outer[i] = i + 1 < t->ndim ? i + 1 : 1;
        }
    }
}

/* Broadcasts b's sizes into t's. */
static aot_status broadcast(aot_call *k, aot_fake *t, const aot_fake *b)
{
    unsigned ndim = t->ndim > b->ndim ? t->ndim : b->ndim;
    aot_dim size[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < ndim; i++) { // from the back
        aot_dim x = i < t->ndim ? t->size[t->ndim - 1 - i] : aot_dim_of(1);
        aot_dim y = i < b->ndim ? b->size[b->ndim - 1 - i] : aot_dim_of(1);
        bool known = x.value != AOT_HINT_NONE && y.value != AOT_HINT_NONE;
        if (aot_dim_is_at_hint(x, 1)) {
            x = y;
        } else if (!aot_dim_is_at_hint(y, 1) && known && x.value != y.value) {
            return AOT_FAIL(
                k->err, AOT_E_SHAPE,
                "%s: the size of tensor a (%lld) must match the size of tensor b (%lld) "
                "at non-singleton dimension %u",
                aot_text(k->c, k->n->name), (long long)x.value, (long long)y.value, ndim - 1 - i);
        } else if (y.expr == 0 && !aot_dim_is_at_hint(y, 1)) {
            x = y; // a guard made the symbol this number
        }
        size[ndim - 1 - i] = x;
    }
    t->ndim = (uint8_t)ndim;
    memcpy(t->size, size, ndim * sizeof *size);
    return AOT_OK;
}

/* in's strides at the sizes of t: 0 where it repeats. */
static aot_fake expanded(const aot_fake *in, const aot_fake *t)
{
    aot_fake e = *t;
    unsigned lead = (unsigned)(t->ndim - in->ndim);
    for (unsigned i = t->ndim; i-- > 0;) {
        bool one = i < lead || aot_dim_is_at_hint(in->size[i - lead], 1);
        e.stride[i] = i < lead ? aot_dim_of(0) : in->stride[i - lead];
        if (one && !aot_dim_is_at_hint(t->size[i], 1)) {
            e.stride[i] = aot_dim_of(0);
        }
    }
    return e;
}

static bool is_on_cpu(const aot_call *k, const aot_fake *t)
{
    return strcmp(aot_text(k->c, t->device), "cpu") == 0;
}

static void set_strides(aot_call *k, aot_fake *out, const aot_fake *in, unsigned n)
{
    aot_fake e[MAX_OPERANDS];
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++) {
        if (in[i].ndim > 0 || !is_on_cpu(k, &in[i])) {
            e[m++] = expanded(&in[i], out);
        }
    }
    if (m == 0 || out->ndim < 2) {
        aot_fake_set_contiguous(k->c, out);
        return;
    }
    aot_fake_set_permuted(k->c, out, e, m);
}

static bool is_symbolic(const aot_fake *t)
{
    for (unsigned i = 0; i < t->ndim; i++) {
        if (t->size[i].expr != 0 || t->stride[i].expr != 0) {
            return true;
        }
    }
    return false;
}

/* With symbolic sizes, add, sub, mul and div of tensors have a short cut of their own: contiguous
 * operands, not yet broadcast, give a contiguous result. */
static bool short_cut(aot_call *k, aot_fake *out, const aot_fake *in, unsigned n)
{
    static const char *const names[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                        "aten.div.Tensor"};
    bool has = false, whole = false, symbolic = false, contiguous = true, last = true;
    for (unsigned i = 0; i < 4; i++) {
        has = has || strcmp(aot_node_op(k->n)->name, names[i]) == 0;
    }
    for (unsigned i = 0; i < n; i++) {
        symbolic = symbolic || is_symbolic(&in[i]);
    }
    has = has && symbolic;
    for (unsigned i = 0; has && i < n; i++) {
        bool same = in[i].ndim == out->ndim;
        for (unsigned d = 0; same && d < out->ndim; d++) {
            same = aot_dim_equal_hint(in[i].size[d], out->size[d]);
        }
        whole = whole || same;
        contiguous = contiguous && aot_fake_is_contiguous(&in[i]);
        last = last && aot_fake_is_format(&in[i], AOT_MF_CHANNELS_LAST);
    }
    if (!has || !whole || !(contiguous || last)) {
        return false;
    }
    aot_fake_set_format(k->c, out, contiguous ? AOT_MF_CONTIGUOUS : AOT_MF_CHANNELS_LAST);
    return true;
}

aot_status aot_fake_elementwise(aot_call *k, const aot_fake *in, unsigned n, aot_dtype dtype,
                                aot_fake *out)
{
    if (n == 0 || n > MAX_OPERANDS) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %u operands", aot_text(k->c, k->n->name), n);
    }
    *out = (aot_fake){.val = AOT_VAL_TENSOR, .dtype = (uint8_t)dtype, .device = in[0].device};
    for (unsigned i = 0; i < n; i++) {
        AOT_TRY(broadcast(k, out, &in[i]));
        if (is_on_cpu(k, out)) { // numbers on the host go where the others are
            out->device = in[i].device;
        }
    }
    if (!short_cut(k, out, in, n)) {
        set_strides(k, out, in, n);
    }
    return AOT_OK;
}

/* ---- the common rule --------------------------------------------------------------------------
 */

/* Keywords that scale or choose, and do not take part in promotion. */
static bool is_operand_key(const char *key)
{
    static const char *const others[] = {"alpha",       "beta",      "value",
                                         "dtype",       "decimals",  "rounding_mode",
                                         "approximate", "generator", "out"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(key, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

static void add_operand(aot_call *k, unsigned pos, const char *key, aot_fake *in, mix *m)
{
    aot_dtype d;
    if (m->n < MAX_OPERANDS && aot_call_tensor(k, pos, key, &in[m->n])) {
        d = in[m->n++].dtype;
    } else {
        d = aot_call_scalar_dtype(k, pos, key);
    }
    if (d != AOT_NO_DTYPE && category(d) > m->top) {
        m->top = category(d);
    }
}

/* Half precision is computed in single precision. */
static aot_dtype computed_in(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d == AOT_C32 ? AOT_C64 : d;
}

/* An operand that is converted first becomes dense by that. */
static void convert(aot_call *k, aot_fake *in, unsigned n, aot_dtype to)
{
    for (unsigned i = 0; i < n; i++) {
        if (in[i].dtype != to && !aot_fake_is_dense(&in[i])) {
            aot_fake was = in[i];
            aot_fake_set_permuted(k->c, &in[i], &was, 1);
        }
    }
}

aot_status aot_meta_elementwise_order(aot_call *k, aot_promote kind, bool last_first)
{
    aot_fake in[MAX_OPERANDS], out;
    mix m = {.in = in};
    const char *schema = aot_node_op(k->n)->schema;
    bool has_alpha = schema != NULL && strstr(schema, "Scalar alpha") != NULL;
    for (unsigned i = 0; i < k->n->n_args; i++) {
        if (i < 2 || !has_alpha ||
            strstr(schema, "_backward") != NULL) { // add.Scalar's alpha has a place
            add_operand(k, i, "", in, &m);
        }
    }
    const aot_arg *kw = aot_node_kwargs(k->g, k->n);
    for (unsigned i = 0; i < k->n->n_kwargs; i++) {
        const char *key = aot_text(k->c, kw[2 * i].u.s);
        if (is_operand_key(key)) {
            add_operand(k, UINT32_MAX, key, in, &m);
        }
    }
    for (unsigned i = 0; last_first && i < m.n / 2; i++) {
        aot_fake swap = in[i];
        in[i] = in[m.n - 1 - i];
        in[m.n - 1 - i] = swap;
    }
    if (last_first && m.n > 0) { // the condition that is made of it is a value of its own
        aot_fake was = in[0];
        aot_fake_set_permuted(k->c, &in[0], &was, 1);
    }
    aot_dtype d = mixed_dtype(&m, kind);
    aot_promote computed = kind == AOT_PROMOTE_ALWAYS_BOOL || kind == AOT_PROMOTE_COMPLEX_TO_FLOAT
                               ? AOT_PROMOTE_DEFAULT
                               : kind;
    if (kind != AOT_PROMOTE_NO_OPMATH) {
        convert(k, in, m.n, computed_in(mixed_dtype(&m, computed)));
    }
    AOT_TRY(aot_fake_elementwise(k, in, m.n, d, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

aot_status aot_meta_elementwise(aot_call *k, aot_promote kind)
{
    return aot_meta_elementwise_order(k, kind, false);
}
