/* Versions of saved tensors: what a formula reads must be as it was when it was saved.
 *
 * Which arguments a formula reads its rule does not say; it is seen when a call of it takes one.
 * Calls that only look at sizes are no reading. Mirrors
 * torch/csrc/autograd/saved_variable.cpp:SavedVariable::unpack. */
#include "trace/internal.h"

#include <string.h>

AOT_NORETURN static void refuse(aot_tracer *t, const grad_fn *fn, const char *what,
                                unsigned version, unsigned saved)
{
    aot_trace_fail(t, AOT_E_GRAPH,
                   "the gradient of %s reads %s, which was written in place since (version %u, "
                   "saved at %u): PyTorch refuses this "
                   "(one of the variables needed for gradient computation has been modified by an "
                   "inplace operation); "
                   "clone it before it is written",
                   tr_op_text(t, fn->op), what, version, saved);
}

static bool looks_at_sizes_only(aot_op_id op)
{
    const char *name = op < AOT_N_OPS ? aot_op(op)->name : "";
    const char *dot = strchr(name, '.');
    size_t n = strcspn(dot != NULL ? dot + 1 : name, ".");
    return dot != NULL && (strncmp(dot + 1, "new_", 4) == 0 ||
                           (n > 5 && strncmp(dot + 1 + n - 5, "_like", 5) == 0) ||
                           (aot_op(op)->tags & AOT_TAG_INPLACE_VIEW) != 0);
}

void tr_check_versions(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const grad_fn *fn = t->reading;
    if (fn == NULL || fn->arg_version == NULL || t->depth != 0) {
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        const aot_tensor *x = args[i].kind == AOT_V_TENSOR ? args[i].u.t : NULL;
        for (unsigned k = 0; x != NULL && x->version != NULL && k < fn->n_args; k++) {
            if (fn->args[k].kind == AOT_V_TENSOR && fn->args[k].u.t == x &&
                x->version->n != fn->arg_version[k] && !looks_at_sizes_only(op)) {
                refuse(t, fn, aot_arena_printf(t->a, "its argument %u", k), x->version->n,
                       fn->arg_version[k]);
            }
        }
    }
}

void tr_check_saved_out(aot_tracer *t, const grad_fn *fn, unsigned i)
{
    const aot_tensor *x = aot_v_item(fn->result, i);
    if (fn->out_version != NULL && t->depth == 0 && x != NULL && x->version != NULL &&
        x->version->n != fn->out_version[i]) {
        refuse(t, fn, "its result", x->version->n, fn->out_version[i]);
    }
}
