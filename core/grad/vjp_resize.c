/* Gradients of padding, resampling and grids. */
#include "grad/call.h"
#include "grad/steps.h"

/* ---- padding --------------------------------------------------------------------------------- */

/* constant_pad_nd(self, pad, value): the padding is cut off by negative padding. */
void vjp_constant_pad_nd(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_dims pad = aot_vjp_dims(b, 1);
    aot_dim cut[2 * AOT_GRAD_MAX_DIMS];

    for (unsigned i = 0; i < pad.n && i < 2 * AOT_GRAD_MAX_DIMS; i++) {
        cut[i] = aot_trace_dim(t, '~', pad.d[i], pad.d[i]);
    }
    aot_vjp_set(b, 0,
                AOT(t, aten_constant_pad_nd, aot_vjp_grad(b, 0), ((aot_dims){cut, pad.n}), 0));
}

/* Padding that repeats values has a backward operator, whose gradient is the padding itself. */
#define PAD(name)                                                                                 \
    GRAD_CALL(vjp_##name, SETS(0), aten_##name##_backward, G(0), A(0), A(1))                      \
    void vjp_##name##_backward(aot_vjp *b)                                                        \
    {                                                                                             \
        GRAD_RUN(b, SETS(0), aten_##name, G(0), A(2));                                            \
        if (aot_vjp_needs(b, 1)) {                                                                \
            aot_vjp_set(b, 1, aot_grad_zeros_of(aot_vjp_tracer(b), aot_vjp_in(b, 1)));            \
        }                                                                                         \
    }

PAD(reflection_pad1d)
PAD(reflection_pad2d)
PAD(reflection_pad3d)
PAD(replication_pad1d)
PAD(replication_pad2d)
PAD(replication_pad3d)

/* ---- resampling ------------------------------------------------------------------------------ */

/* name(self, output_size, rest...) and name_backward(grad, output_size, input_size, rest...) */
#define UPSAMPLE(name, op, back, rest, rest_back)                                                 \
    GRAD_CALL(vjp_##name, SETS(0), back, G(0), A(1), SIZES(0), UPSAMPLE_ITEMS rest)               \
    GRAD_CALL(vjp_##name##_backward, SETS(0), op, G(0), A(1), UPSAMPLE_ITEMS rest_back)
#define UPSAMPLE_ITEMS(...) __VA_ARGS__

UPSAMPLE(upsample_linear1d, aten_upsample_linear1d, aten_upsample_linear1d_backward, (A(2), A(3)),
         (A(3), A(4)))
UPSAMPLE(upsample_bilinear2d, aten_upsample_bilinear2d, aten_upsample_bilinear2d_backward,
         (A(2), A(3), A(4)), (A(3), A(4), A(5)))
UPSAMPLE(upsample_bilinear2d_aa, aten__upsample_bilinear2d_aa,
         aten__upsample_bilinear2d_aa_backward, (A(2), A(3), A(4)), (A(3), A(4), A(5)))
UPSAMPLE(upsample_bicubic2d, aten_upsample_bicubic2d, aten_upsample_bicubic2d_backward,
         (A(2), A(3), A(4)), (A(3), A(4), A(5)))
UPSAMPLE(upsample_bicubic2d_aa, aten__upsample_bicubic2d_aa, aten__upsample_bicubic2d_aa_backward,
         (A(2), A(3), A(4)), (A(3), A(4), A(5)))
UPSAMPLE(upsample_trilinear3d, aten_upsample_trilinear3d, aten_upsample_trilinear3d_backward,
         (A(2), A(3), A(4), A(5)), (A(3), A(4), A(5), A(6)))
UPSAMPLE(upsample_nearest1d, aten_upsample_nearest1d, aten_upsample_nearest1d_backward, (A(2)),
         (A(3)))
UPSAMPLE(upsample_nearest2d, aten_upsample_nearest2d, aten_upsample_nearest2d_backward,
         (A(2), A(3)), (A(3), A(4)))
UPSAMPLE(upsample_nearest3d, aten_upsample_nearest3d, aten_upsample_nearest3d_backward,
         (A(2), A(3), A(4)), (A(3), A(4), A(5)))
UPSAMPLE(upsample_nearest_exact1d, aten__upsample_nearest_exact1d,
         aten__upsample_nearest_exact1d_backward, (A(2)), (A(3)))
UPSAMPLE(upsample_nearest_exact2d, aten__upsample_nearest_exact2d,
         aten__upsample_nearest_exact2d_backward, (A(2), A(3)), (A(3), A(4)))
UPSAMPLE(upsample_nearest_exact3d, aten__upsample_nearest_exact3d,
         aten__upsample_nearest_exact3d_backward, (A(2), A(3), A(4)), (A(3), A(4), A(5)))

/* ---- rearranging, grids ---------------------------------------------------------------------- */

GRAD_CALL(vjp_pixel_shuffle, SETS(0), aten_pixel_unshuffle, G(0), A(1))
GRAD_CALL(vjp_pixel_unshuffle, SETS(0), aten_pixel_shuffle, G(0), A(1))

void vjp_channel_shuffle(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0);
    aot_dim n = aot_trace_dim(t, '/', aot_size(grad, 1), aot_vjp_dim(b, 1, 1));

    aot_vjp_set(b, 0, AOT(t, aten_channel_shuffle, grad, n));
}

GRAD_CALL(vjp_grid_sampler_2d, SETS(0, 1), aten_grid_sampler_2d_backward, G(0), A(0), A(1), A(2),
          A(3), A(4), MASK)
GRAD_CALL(vjp_grid_sampler_3d, SETS(0, 1), aten_grid_sampler_3d_backward, G(0), A(0), A(1), A(2),
          A(3), A(4), MASK)
GRAD_CALL(vjp_cudnn_affine_grid_generator, SETS(0), aten_cudnn_affine_grid_generator_backward, G(0),
          A(1), A(2), A(3), A(4))
GRAD_CALL(vjp_cudnn_grid_sampler, SETS(0, 1), aten_cudnn_grid_sampler_backward, A(0), A(1), G(0))

GRAD_CALL(vjp_affine_grid, SETS(0), aten_affine_grid_generator_backward, G(0), A(1), A(2))
