/* Collectives with a gradient: torch.ops._c10d_functional_autograd.NAME is _c10d_functional.NAME
 * whose gradient is the collective that undoes it, awaited.
 *
 * Mirrors: torch/csrc/distributed/c10d/Functional.cpp (AllGatherIntoTensor, ReduceScatterTensor,
 * AllToAllSingle) */
#include "lower/internal.h"
#include "trace/hop.h"

typedef struct collective {
    const aot_value *args;
    aot_op_id op;
} collective;

static void vjp_autograd_collective(aot_vjp *b)
{
    const collective *c = aot_vjp_custom(b);
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad_or_zeros(b, 0);
    switch (c->op) {
    case AOT_OP__c10d_functional_all_gather_into_tensor:
        grad = AOT(t, _c10d_functional_reduce_scatter_tensor, grad, aot_v_str(t, "sum"), c->args[1],
                   c->args[2]);
        break;
    case AOT_OP__c10d_functional_reduce_scatter_tensor:
        grad = AOT(t, _c10d_functional_all_gather_into_tensor, grad, c->args[2], c->args[3]);
        break;
    default:
        grad = AOT(t, _c10d_functional_all_to_all_single, grad, c->args[2], c->args[1], c->args[3]);
        break;
    }
    aot_vjp_set(b, 0, AOT(t, _c10d_functional_wait_tensor, grad));
}

aot_value lower_autograd_collective(const aot_pycall *k)
{
    static const struct {
        const char *name;
        aot_op_id op;
        unsigned n;
    } known[] = {
        {"all_gather_into_tensor", AOT_OP__c10d_functional_all_gather_into_tensor, 3},
        {"all_to_all_single", AOT_OP__c10d_functional_all_to_all_single, 4},
        {"reduce_scatter_tensor", AOT_OP__c10d_functional_reduce_scatter_tensor, 4},
    };
    const char *dot = strrchr(k->target, '.'), *name = dot != NULL ? dot + 1 : k->target;
    unsigned i = 0;
    while (i < 2 && strcmp(known[i].name, name) != 0) {
        i++;
    }
    if (k->n != known[i].n) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: %u arguments by position are expected",
                       k->target, known[i].n);
    }
    collective *c = AOT_NEW(aot_tracer_arena(k->t), collective);
    *c = (collective){aot_v_tuple(k->t, k->n, k->args).u.items, known[i].op};
    bool grad = aot_set_grad_enabled(k->t, false);
    aot_tensor *out = aot_v_first(aot_call_op(k->t, c->op, k->n, k->args));
    (void)aot_set_grad_enabled(k->t, grad);
    aot_trace_custom_grad(k->t, c->op, vjp_autograd_collective, c, 1, k->args, 1, &out);
    return aot_v_tensor(out);
}
