/* Gradients of convolution's gradients (_convolution_double_backward), and of folds. */
#include "grad/call.h"
#include "grad/steps.h"

/* The geometry as the calls of one double backward take it. */
typedef struct geometry {
    aot_value stride, padding, dilation, output_padding;
    bool transposed;
    aot_dim groups;
} geometry;

static aot_tensor *convolve(aot_tracer *t, aot_tensor *x, aot_tensor *w, const geometry *g)
{
    return AOT(t, aten_convolution, x, w, AOT_NONE, g->stride, g->padding, g->dilation,
               aot_v_bool(g->transposed), g->output_padding, g->groups);
}

/* The gradient of the bias's gradient reaches every place of its channel. */
static aot_tensor *over_channels(aot_tracer *t, aot_tensor *ggb, const aot_tensor *grad_output)
{
    aot_dim size[AOT_GRAD_MAX_DIMS];
    unsigned n = aot_ndim(grad_output);
    aot_tensor *x;

    for (unsigned i = 0; i < n && i < AOT_GRAD_MAX_DIMS; i++) {
        size[i] = i == 1 ? aot_size(ggb, 0) : aot_dim_of(1);
    }
    x = AOT(t, aten_view, AOT(t, aten_contiguous, ggb), ((aot_dims){size, n}));
    return AOT(t, aten_expand, x, aot_sizes(grad_output));
}

static aot_tensor *cut_to(aot_tracer *t, aot_tensor *x, const aot_tensor *like)
{
    for (unsigned i = 2; i < aot_ndim(like); i++) {
        if (aot_size(x, i).value > aot_size(like, i).value) {
            x = aot_grad_narrow(t, x, i, aot_dim_of(0), aot_size(like, i));
        }
    }
    return x;
}

/* One group's share of the first dimension. */
static aot_tensor *share(aot_tracer *t, aot_tensor *x, int64_t i, aot_dim groups)
{
    aot_ctx *c = aot_tracer_ctx(t);
    aot_dim n = aot_dim_floordiv(c, aot_size(x, 0), groups);

    return aot_grad_narrow(t, x, 0, aot_dim_mul(c, n, aot_dim_of(i)), n);
}

/* The weight's gradient: a convolution of the two others with batch and channels exchanged. */
static aot_tensor *weight_grad(aot_tracer *t, geometry g, aot_tensor *grad_output, aot_tensor *ggi,
                               const aot_tensor *weight)
{
    aot_tensor *part[64], *x, *got, *go;
    aot_value stride = g.stride;
    int64_t n = g.groups.value < 64 ? g.groups.value : 64;
    bool transposed = g.transposed;

    go = AOT(t, aten_transpose_int, grad_output, 0, 1);
    x = AOT(t, aten_transpose_int, ggi, 0, 1);
    g.stride = g.dilation;
    g.dilation = stride;
    g.transposed = false;
    g.groups = aot_dim_of(1);
    for (int64_t i = 0; i < n; i++) {
        aot_tensor *xi = n == 1 ? x : share(t, x, i, aot_dim_of(n));
        aot_tensor *gi = n == 1 ? go : share(t, go, i, aot_dim_of(n));
        part[i] = transposed ? convolve(t, gi, xi, &g) : convolve(t, xi, gi, &g);
    }
    got = n == 1 ? part[0] : AOT(t, aten_cat, aot_v_tensors(t, (unsigned)n, part), 1);
    return cut_to(t, AOT(t, aten_transpose_int, got, 0, 1), weight);
}

/* What output_padding makes the transposed convolution give the input's size. */
static aot_value padding_to(aot_vjp *b, const geometry *g, const aot_tensor *grad_output,
                            const aot_tensor *weight, const aot_tensor *input)
{
    aot_ctx *c = aot_tracer_ctx(aot_vjp_tracer(b));
    aot_dims stride = aot_vjp_dims(b, 4), padding = aot_vjp_dims(b, 5);
    aot_dims dilation = aot_vjp_dims(b, 6), old = aot_vjp_dims(b, 8);
    aot_dim out[AOT_GRAD_MAX_DIMS], one = aot_dim_of(1);

    (void)g;
    for (unsigned i = 0; i < old.n && i < AOT_GRAD_MAX_DIMS; i++) {
        aot_dim kernel =
            aot_dim_mul(c, aot_dim_sub(c, aot_size(weight, 2 + i), one), dilation.d[i]);
        aot_dim steps =
            aot_dim_mul(c, stride.d[i], aot_dim_sub(c, aot_size(grad_output, 2 + i), one));
        aot_dim cut = aot_dim_mul(c, aot_dim_of(2), padding.d[i]);
        aot_dim size = aot_dim_add(c, aot_dim_sub(c, aot_dim_add(c, kernel, steps), cut), one);
        aot_dim want = aot_size(input, 2 + i);
        out[i] = aot_dim_eq(size, want) ? old.d[i] : aot_dim_sub(c, want, size);
    }
    return aot_v_dims(aot_vjp_tracer(b), (aot_dims){out, old.n});
}

static aot_tensor *input_grad(aot_vjp *b, geometry g, aot_tensor *ggw)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *go = aot_vjp_in(b, 0), *input = aot_vjp_in(b, 1), *weight = aot_vjp_in(b, 2);

    g.transposed = !g.transposed;
    if (g.transposed) {
        g.output_padding = padding_to(b, &g, go, weight, input);
        return convolve(t, go, ggw, &g);
    }
    return cut_to(t, convolve(t, go, ggw, &g), input);
}

/* Gradients of (grad_input, grad_weight, grad_bias) come in; the arguments are (grad_output, input,
 * weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask). */
void vjp_convolution_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *ggi = aot_vjp_grad(b, 0), *ggw = aot_vjp_grad(b, 1), *ggb = aot_vjp_grad(b, 2);
    aot_tensor *go = aot_vjp_in(b, 0), *input = aot_vjp_in(b, 1), *weight = aot_vjp_in(b, 2);
    aot_tensor *ggo = NULL;
    geometry g = {aot_vjp_arg(b, 4), aot_vjp_arg(b, 5),  aot_vjp_arg(b, 6),
                  aot_vjp_arg(b, 8), aot_vjp_bool(b, 7), aot_vjp_dim(b, 9, 1)};

    if (aot_vjp_needs(b, 0)) {
        ggo = ggi == NULL ? NULL : convolve(t, ggi, weight, &g);
        ggo = aot_grad_plus(t, ggo, ggw == NULL ? NULL : convolve(t, input, ggw, &g));
        ggo = aot_grad_plus(t, ggo, ggb == NULL ? NULL : over_channels(t, ggb, go));
        aot_vjp_set(b, 0, ggo);
    }
    if (aot_vjp_needs(b, 2) && ggi != NULL) {
        aot_vjp_set(b, 2, weight_grad(t, g, go, ggi, weight));
    }
    if (aot_vjp_needs(b, 1) && ggw != NULL) {
        aot_vjp_set(b, 1, input_grad(b, g, ggw));
    }
}

GRAD_CALL(vjp_col2im, SETS(0), aten_im2col, G(0), A(2), A(3), A(4), A(5))

void vjp_im2col(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 0), *grad = aot_vjp_grad(b, 0);
    aot_dim size[2] = {aot_size(x, -2), aot_size(x, -1)};

    if (grad != NULL) {
        aot_vjp_set(b, 0, AOT(t, aten_col2im, grad, ((aot_dims){size, 2}), aot_vjp_arg(b, 1),
                              aot_vjp_arg(b, 2), aot_vjp_arg(b, 3), aot_vjp_arg(b, 4)));
    }
}
