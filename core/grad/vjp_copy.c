/* Copies, conversions, joining, repetition. */
#include "grad/grad.h"

/* ---- joining --------------------------------------------------------------------------------- */

/* The gradient of a real part of a complex whole. */
static aot_tensor *real_of(aot_tracer *t, aot_tensor *g, aot_tensor **real)
{
    *real = *real == NULL ? AOT(t, aten_real, g) : *real;
    return *real;
}

static bool is_legacy_empty(const aot_tensor *x)
{
    return aot_ndim(x) == 1 && aot_dim_is(aot_size(x, 0), 0);
}

void vjp_cat(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0), *real = NULL;
    unsigned n = aot_vjp_n_items(b, 0);
    aot_dim at = {0};

    if (g == NULL) {
        return;
    }
    unsigned dim = aot_wrap_dim(t, aot_vjp_int(b, 1, 0), aot_ndim(g));
    for (unsigned i = 0; i < n; i++) {
        aot_tensor *x = aot_vjp_in_item(b, 0, i);
        bool drops = aot_is_complex(g) && !aot_is_complex(x);
        aot_tensor *from = drops ? real_of(t, g, &real) : g;
        if (is_legacy_empty(x)) {
            aot_vjp_set_item(b, 0, i, aot_grad_zeros(t, (aot_dims){&(aot_dim){0}, 1},
                                                     aot_type_of(from)));
            continue;
        }
        aot_dim size = aot_size(x, dim);
        aot_vjp_set_item(b, 0, i, aot_grad_narrow(t, from, dim, at, size));
        at = aot_trace_dim(t, '+', at, size);
    }
}

void vjp_stack(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0);
    unsigned n = aot_vjp_n_items(b, 0);

    for (unsigned i = 0; g != NULL && i < n; i++) {
        aot_tensor *part = AOT(t, aten_select_int, g, aot_vjp_arg(b, 1), (int64_t)i);
        aot_tensor *x = aot_vjp_in_item(b, 0, i);
        aot_vjp_set_item(b, 0, i, aot_grad_to_real(t, aot_dtype_of(x), part));
    }
}

void vjp_block_diag(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0), *real = NULL;
    unsigned n = aot_vjp_n_items(b, 0);
    aot_dim row = {0}, column = {0};

    for (unsigned i = 0; g != NULL && i < n; i++) {
        aot_tensor *x = aot_vjp_in_item(b, 0, i), *part = g;
        unsigned ndim = aot_ndim(x);
        aot_dim rows = ndim == 2 ? aot_size(x, 0) : aot_dim_of(1);
        aot_dim columns = ndim == 0 ? aot_dim_of(1) : aot_size(x, -1);
        if (aot_is_complex(g) && !aot_is_complex(x)) {
            part = real_of(t, g, &real);
        }
        part = aot_grad_narrow(t, part, 0, row, rows);
        part = aot_grad_narrow(t, part, 1, column, columns);
        for (unsigned d = ndim; d < 2; d++) { // of the rows, a leading 1 stays: it is summed away
            part = AOT(t, aten_squeeze_dim, part, -1);
        }
        aot_vjp_set_item(b, 0, i, part);
        row = aot_trace_dim(t, '+', row, rows);
        column = aot_trace_dim(t, '+', column, columns);
    }
}

/* ---- copies and conversions ------------------------------------------------------------------ */

/* grad.to(options of x) */
static aot_tensor *to_options(aot_tracer *t, aot_tensor *g, const aot_tensor *x)
{
    aot_dtype d = aot_dtype_of(x);

    g = aot_grad_to_real(t, d, g);
    if (aot_dtype_of(g) == d && aot_device_of(g) == aot_device_of(x)) {
        return g;
    }
    return AOT(t, aten__to_copy, g, aot_v_dtype(d), aot_v_name(t, "torch.strided"),
               aot_v_device(aot_device_of(x)));
}

GRAD_UNARY(vjp_to_copy, to_options(t, g, x))

static aot_tensor *copy_self(const aot_each *e)
{
    return AOT(e->t, aten_zeros_like, e->g, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
               aot_v_memory_format(e->t, AOT_MF_CONTIGUOUS));
}

static aot_tensor *copy_src(const aot_each *e)
{
    return to_options(e->t, e->g, aot_each_in(e, 1));
}

GRAD_EACH(vjp_copy_, {0, copy_self}, {1, copy_src})

static aot_tensor *fill_value(const aot_each *e)
{
    return AOT(e->t, aten_sum, e->g);
}

static aot_tensor *fill_self(const aot_each *e)
{
    return aot_grad_zeros_like(e->t, e->g);
}

GRAD_EACH(vjp_fill, {0, fill_self}, {1, fill_value})

/* ---- turning and repeating ------------------------------------------------------------------- */

GRAD_UNARY(vjp_flip, AOT(t, aten_flip, g, aot_vjp_dims(e->b, 1)))
GRAD_UNARY(vjp_rot90, AOT(t, aten_rot90, g, -aot_vjp_int(e->b, 1, 1), aot_vjp_dims(e->b, 2)))

/* Rolls back, the last first. */
static aot_tensor *roll_self(const aot_each *e)
{
    aot_dims shifts = aot_vjp_dims(e->b, 1), dims = aot_vjp_dims(e->b, 2);
    aot_dim back[AOT_FAKE_MAX_NDIM], over[AOT_FAKE_MAX_NDIM];

    for (unsigned i = 0; i < shifts.n && i < AOT_FAKE_MAX_NDIM; i++) {
        back[i] = aot_trace_dim(e->t, '~', shifts.d[shifts.n - 1 - i], shifts.d[shifts.n - 1 - i]);
    }
    for (unsigned i = 0; i < dims.n && i < AOT_FAKE_MAX_NDIM; i++) {
        over[i] = dims.d[dims.n - 1 - i];
    }
    return AOT(e->t, aten_roll, e->g, ((aot_dims){back, shifts.n}), ((aot_dims){over, dims.n}));
}

GRAD_EACH(vjp_roll, {0, roll_self})

/* The repeats become dimensions of their own, which are summed. */
static aot_tensor *repeat_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *g = e->g;
    aot_dims repeats = aot_vjp_dims(e->b, 1);
    unsigned ndim = aot_ndim(x), leading = repeats.n - ndim, n = 0, n_sums = 0;
    aot_dim sizes[2 * AOT_FAKE_MAX_NDIM];
    int64_t sums[AOT_FAKE_MAX_NDIM];

    for (unsigned i = 0; i < repeats.n; i++) {
        if (aot_dim_eq(repeats.d[i], aot_dim_of(0))) {
            return aot_grad_zeros(t, aot_sizes(x), aot_type_of(g));
        }
    }
    if (leading != 0) {
        int64_t first[AOT_FAKE_MAX_NDIM];
        for (unsigned i = 0; i < leading; i++) {
            first[i] = i;
        }
        g = AOT(t, aten_sum_dim_IntList, g, aot_v_ints(t, leading, first), false);
    }
    for (unsigned i = 0; i < ndim; i++) {
        aot_dim r = repeats.d[leading + i];
        if (!aot_dim_eq(r, aot_dim_of(1))) {
            sums[n_sums++] = n;
            sizes[n++] = r;
        }
        sizes[n++] = aot_size(x, i);
    }
    if (n_sums == 0) {
        return g;
    }
    g = AOT(t, aten_reshape, g, ((aot_dims){sizes, n}));
    return AOT(t, aten_sum_dim_IntList, g, aot_v_ints(t, n_sums, sums), false);
}

GRAD_EACH(vjp_repeat, {0, repeat_self})

/* ---- complex numbers ------------------------------------------------------------------------- */

static aot_tensor *complex_real(const aot_each *e)
{
    return AOT(e->t, aten_real, e->g);
}

static aot_tensor *complex_imag(const aot_each *e)
{
    return AOT(e->t, aten_imag, e->g);
}

GRAD_EACH(vjp_complex, {1, complex_imag}, {0, complex_real})

void vjp_polar(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0), *r = aot_vjp_out(b, 0);

    if (g == NULL) {
        return;
    }
    aot_tensor *gc = g_conj(t, g), *d;
    d = g_mul(t, gc, AOT(t, aten_sgn, r));
    aot_vjp_set(b, 0, AOT(t, aten_real, d));
    d = AOT(t, aten_mul_Scalar, r, ((aot_value){.kind = AOT_V_COMPLEX, .u.z = {0, 1}}));
    d = g_mul(t, gc, d);
    aot_vjp_set(b, 1, AOT(t, aten_real, d));
}
