/* Gradients of convolutions. */
#include "grad/call.h"

GRAD_CALL(vjp_convolution, SETS(0, 1, 2), aten_convolution_backward, G(0), A(0), A(1), SIZES(2),
          A(3), A(4), A(5), A(6), A(7), A(8), MASK)
GRAD_CALL(vjp_convolution_overrideable, SETS(0, 1, 2), aten_convolution_backward_overrideable,
          G(0), A(0), A(1), A(3), A(4), A(5), A(6), A(7), A(8), MASK)
/* (self, weight, bias, padding, stride, dilation, groups, ...) of the backends. */
GRAD_CALL(vjp_backend_convolution, SETS(0, 1, 2), aten_convolution_backward, G(0), A(0), A(1),
          SIZES(2), A(4), A(3), A(5), INT(0), ZEROS(3), A(6), MASK)
GRAD_CALL(vjp_miopen_convolution_transpose, SETS(0, 1, 2), aten_convolution_backward, G(0), A(0),
          A(1), SIZES(2), A(5), A(3), A(6), INT(1), A(4), A(7), MASK)
GRAD_CALL(vjp_nnpack_convolution, SETS(0, 1, 2), aten_convolution_backward, G(0), A(0), A(1),
          SIZES(2), A(4), A(3), ONES(3), INT(0), ZEROS(3), INT(1), MASK)
GRAD_CALL(vjp_mps_convolution, SETS(0, 1, 2), aten_mps_convolution_backward, A(0), G(0), A(1),
          A(3), A(4), A(5), A(6), MASK)
GRAD_CALL(vjp_mps_convolution_transpose, SETS(0, 1), aten_mps_convolution_transpose_backward, A(0),
          G(0), A(1), A(2), A(3), A(4), A(5), A(6), MASK)
/* (self, weight, kernel_size, bias, stride, padding, ...) of the slow kernels. */
GRAD_CALL(vjp_conv_depthwise, SETS(0, 1, 3), aten_convolution_backward, GC(0), A(0), A(1), SIZES(3),
          A(4), A(5), A(6), INT(0), ZEROS(5), INT(1), MASK)
GRAD_CALL(vjp_slow_conv2d, SETS(0, 1, 3), aten__slow_conv2d_backward_output_mask, G(0), A(0), A(1),
          A(2), A(4), A(5), MASK)
GRAD_CALL(vjp_slow_conv3d, SETS(0, 1, 3), aten_convolution_backward, G(0), A(0), A(1), SIZES(3),
          A(4), A(5), ONES(5), INT(0), ZEROS(5), INT(1), MASK)
GRAD_CALL(vjp_slow_conv_dilated, SETS(0, 1, 3), aten_convolution_backward, G(0), A(0), A(1),
          SIZES(3), A(4), A(5), A(6), INT(0), ZEROS(5), INT(1), MASK)
GRAD_CALL(vjp_slow_conv_transpose, SETS(0, 1, 3), aten_convolution_backward, G(0), A(0), A(1),
          SIZES(3), A(4), A(5), A(7), INT(1), A(6), INT(1), MASK)
GRAD_CALL(vjp_conv_tbc, SETS(0, 1, 2), aten_conv_tbc_backward, G(0), A(0), A(1), A(2), A(3))
