/* Gradients of normalisation. */
#include "grad/call.h"
#include "rules/meta_shared.h"

GRAD_CALL(vjp_native_layer_norm, SETS(0, 2, 3), aten_native_layer_norm_backward, G(0), A(0), A(1),
          R(1), R(2), A(2), A(3), MASK)
/* (input, weight, bias, running_mean, running_var, training, momentum, eps) */
GRAD_CALL(vjp_native_batch_norm, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0), A(0), A(1),
          A(3), A(4), R(1), R(2), A(5), A(7), MASK)
GRAD_CALL(vjp_native_batch_norm_no_stats, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0),
          A(0), A(1), NIL, NIL, R(1), R(2), A(3), A(5), MASK)
GRAD_CALL(vjp_native_batch_norm_no_training, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0),
          A(0), A(1), A(3), A(4), R(1), R(2), INT(0), A(6), MASK)
GRAD_CALL(vjp_batch_norm_with_update, SETS(0, 1, 2), aten_batch_norm_backward, G(0), A(0), A(1),
          A(3), A(4), R(1), R(2), INT(1), A(6), MASK, R(3))
GRAD_CALL(vjp_batch_norm_no_update, SETS(0, 1, 2), aten_batch_norm_backward, G(0), A(0), A(1), A(3),
          A(4), R(1), R(2), INT(0), A(6), MASK, R(3))
GRAD_CALL(vjp_weight_norm_interface, SETS(0, 1), aten__weight_norm_interface_backward, GC(0), A(0),
          A(1), R(1), A(2))

/* x in the layout that `like` suggests. */
static aot_tensor *laid_out(aot_tracer *t, aot_tensor *x, const aot_tensor *like)
{
    aot_memory_format f = aot_fake_suggest(aot_type_of(like));

    return AOT(t, aten_contiguous, x, aot_v_memory_format(t, f));
}

/* (input, weight, bias, N, C, HxW, group, eps) */
void vjp_native_group_norm(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 0), *grad = aot_vjp_grad(b, 0);
    aot_value mask[3], got;

    if (aot_vjp_grad(b, 1) != NULL || aot_vjp_grad(b, 2) != NULL) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "native_group_norm: gradients of its mean and rstd have no rule yet");
    }
    if (grad == NULL) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        mask[i] = aot_v_bool(aot_vjp_needs(b, i));
    }
    grad = laid_out(t, grad, x);
    x = laid_out(t, x, x);
    got = AOT_V(t, aten_native_group_norm_backward, grad, x, aot_vjp_out(b, 1), aot_vjp_out(b, 2),
                aot_vjp_arg(b, 1), aot_vjp_arg(b, 3), aot_vjp_arg(b, 4), aot_vjp_arg(b, 5),
                aot_vjp_arg(b, 6), aot_v_list(t, 3, mask));
    for (unsigned i = 0; i < 3; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(got, i));
        }
    }
}
