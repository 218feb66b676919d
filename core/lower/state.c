/* Calls that change how the trace goes on, or do nothing to it: grad mode, autocast, logging,
 * checks. */
#include "lower/internal.h"

aot_value lower_nothing(const aot_pycall *k)
{
    (void)k;
    return aot_v_none();
}

/* torch._C._set_grad_enabled(False) */
aot_value lower_set_grad_enabled(const aot_pycall *k)
{
    aot_set_grad_enabled(k->t, aot_l_bool(k, 0, "mode", true));
    return aot_v_none();
}

/* torch.amp.autocast_mode._enter_autocast('cpu', torch.bfloat16, True, None) */
aot_value lower_enter_autocast(const aot_pycall *k)
{
    const aot_value *device = aot_l_arg(k, 0, "device_type");
    if (device == NULL || device->kind != AOT_V_STR) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "autocast without a device");
    }
    aot_dtype lower = aot_l_is_str(k->t, device->u.s, "cuda") ? AOT_F16 : AOT_BF16;
    aot_autocast_push(k->t, device->u.s, aot_l_dtype(k, 1, "dtype", lower),
                      aot_l_bool(k, 2, "enabled", true));
    return aot_v_none();
}

aot_value lower_exit_autocast(const aot_pycall *k)
{
    aot_autocast_pop(k->t);
    return aot_v_none();
}

/* torch.autograd.grad_mode._enter_inference_mode(True): gives the grad mode for the exit to
 * restore */
aot_value lower_enter_inference_mode(const aot_pycall *k)
{
    bool on = aot_l_bool(k, 0, "mode", true);
    bool was = aot_grad_enabled(k->t);
    if (on) {
        (void)aot_set_grad_enabled(k->t, false);
    }
    return aot_v_bool(was);
}

aot_value lower_exit_inference_mode(const aot_pycall *k)
{
    (void)aot_set_grad_enabled(k->t, aot_l_bool(k, 0, "mode", true));
    return aot_v_none();
}
