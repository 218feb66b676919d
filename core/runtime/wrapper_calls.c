/* RuntimeWrapper and the autograd.Function: what they do before, around and after the compiled
 * graphs.
 *
 * Mirrors: torch/_functorch/_aot_autograd/runtime_wrappers.py:_create_runtime_wrapper and
 * AOTDispatchAutograd.post_compile. */
#include "runtime/internal.h"
#include "runtime/mutation.h"


static const char *dims_text(uint64_t dims, aot_arena *a)
{
    aot_sb b = {0};
    for (int d = 0; d < 64; d++) {
        if ((dims >> d & 1) != 0) {
            aot_sb_addf(&b, "%s%d", b.n > 0 ? ", " : "", d);
        }
    }
    const char *text = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

/* ---- RuntimeWrapper -------------------------------------------------------------------------- */

static void before_the_call(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    for (int i = 0; i < m->n_inputs && m->keep_input_mutations; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (x->mutation == AOT_MUTATED_IN_GRAPH && !x->mutations_hidden_from_autograd) {
            rt_line(u, "raises the version of %s: the graph writes it, and autograd is to know",
                    rt_input(r, i));
        }
    }
    for (int i = 0; i < m->n_detached; i++) {
        rt_line(u, "detaches %s: it has a grad_fn, but gets no gradient",
                rt_input(r, m->detached[i]));
    }
    rt_line(u, rt_is_autograd(r) ? "runs the autograd function with gradients enabled"
                                 : "runs the graph with gradients disabled");
}

static void write_back(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    int k = 0;
    for (int i = 0; i < m->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (x->mutation != AOT_MUTATED_OUT_GRAPH) {
            continue;
        }
        const char *from = aot_arena_printf(r->arena, "output %d of the graph", k++),
                   *to = rt_input(r, i);
        if (x->mutates_storage_metadata) {
            rt_line(u, "gives %s the storage of %s (set_)", to, from);
            continue;
        }
        if (x->mutates_metadata) {
            rt_line(u, "gives %s the sizes, strides and offset of %s (as_strided_)", to, from);
        }
        if (x->mutates_data) {
            bool hidden = aot_copies_back_detached(r->calling, i);
            rt_line(u, "copies %s back into %s%s, since %s", from, to,
                    hidden ? ", detached," : "",
                    hidden ? "it was mutated where autograd does not see it" : "it was mutated");
        }
    }
}

static void make_again(const aot_runtime *r, aot_wrapper_use *u, int i)
{
    const aot_fw_metadata *m = &r->calling->meta;
    const aot_output_info *o = &m->outputs[i];
    const char *how = o->replays_views ? "by its views" : "by as_strided";
    switch (o->type) {
    case AOT_OUT_IS_INPUT:
        rt_line(u, "returns %s itself as output %d", rt_input(r, o->base_idx), i);
        break;
    case AOT_OUT_ALIAS_OF_INPUT:
        rt_line(u, "makes output %d again as a view of %s, %s", i, rt_input(r, o->base_idx), how);
        break;
    case AOT_OUT_ALIAS_OF_INTERMEDIATE:
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT:
        rt_line(
            u,
            "makes output %d again as a view of base %d of intermediates, output %d of the graph",
            i, o->base_idx, m->n_mutated_returned + m->n_outputs + o->base_idx);
        break;
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT:
        rt_line(u, "makes output %d again as a view of output %d", i, o->base_idx);
        break;
    default: break;
    }
}

void rt_runtime_wrapper(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    before_the_call(r, u);
    write_back(r, u);
    for (int i = 0; i < m->n_outputs; i++) {
        make_again(r, u, i);
    }
    if (m->n_intermediate_bases > 0 && rt_is_autograd(r)) {
        int first = m->n_mutated_returned + m->n_outputs;
        rt_line(u, "drops %s of the graph, bases of intermediates",
                rt_range(r->arena, "output", first, m->n_intermediate_bases));
    }
    for (int i = 0; i < m->n_outputs; i++) {
        if (m->outputs[i].dynamic_dims != 0) {
            uint64_t dims = m->outputs[i].dynamic_dims;
            rt_line(u, "marks dimension%s %s of output %d as dynamic",
                    (dims & (dims - 1)) != 0 ? "s" : "",
                    dims_text(m->outputs[i].dynamic_dims, r->arena), i);
        }
    }
    if (m->grad_enabled_mutation >= 0) {
        rt_line(u, "leaves gradients %s, as the forward does",
                m->grad_enabled_mutation != 0 ? "enabled" : "disabled");
    }
}

/* ---- the autograd.Function ------------------------------------------------------------------- */

static void saved_values(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    if (!m->is_cut) {
        return;
    }
    /* tokens are dropped further in, the inner tensors of subclasses are put together there */
    int first = m->n_forward_returns + m->is_rng_op_functionalized;
    int n = m->n_tensors_saved, n_sym = m->n_symints_saved;
    if (n > 0) {
        rt_line(u,
                "saves %d tensor%s with save_for_backward, %s of what the forward returns; views "
                "are detached first",
                n, n == 1 ? "" : "s", rt_range(r->arena, "value", first, n));
    }
    if (n_sym > 0) {
        rt_line(u, "keeps %d symbolic size%s on ctx, the last of what the forward returns", n_sym,
                n_sym == 1 ? "" : "s");
    }
    if (m->n_graphsafe_rng_states > 0) {
        rt_line(u,
                "passes %d generator state%s to the forward, and those of the same call to the "
                "backward",
                m->n_graphsafe_rng_states, m->n_graphsafe_rng_states == 1 ? "" : "s");
    }
}

static void returned_values(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    for (int i = 0; i < m->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (x->mutation == AOT_MUTATED_OUT_GRAPH && x->mutates_metadata && !x->mutates_data) {
            rt_line(u, "hides the new value of %s from autograd: it only gives sizes and strides",
                    rt_input(r, i));
        }
    }
    for (int i = 0; i < m->n_outputs; i++) {
        const aot_output_info *o = &m->outputs[i];
        if (o->type == AOT_OUT_UNSAFE_VIEW_ALIAS) {
            rt_line(
                u,
                "passes output %d through _unsafe_view: autograd is not to see that it is a view",
                i);
        }
        if (aot_output_is_aliased(o)) {
            rt_line(u, "hides output %d from autograd: it is made again outside", i);
        } else if (!o->requires_grad && o->is_tensor) {
            rt_line(u, "marks output %d as not differentiable", i);
        }
    }
}

/* The backward's gradients, by input. */
static void gradients(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    aot_sb with = {0};
    for (int i = 0; i < m->n_with_gradient; i++) {
        aot_sb_addf(&with, "%s%s", with.n > 0 ? ", " : "", rt_input(r, m->with_gradient[i]));
    }
    if (m->n_traced_tangents > 0) {
        rt_line(
            u, "in the backward, takes %d gradient%s in, made of the memory format that was traced",
            m->n_traced_tangents, m->n_traced_tangents == 1 ? "" : "s");
    }
    if (with.n > 0) {
        rt_line(u, "in the backward, gives gradients to %.300s", aot_sb_text(&with));
    }
    if (m->n_donated > 0) {
        rt_line(u, "lets the backward overwrite %d saved tensor%s: retain_graph=True and "
                   "create_graph=True are refused",
                m->n_donated, m->n_donated == 1 ? "" : "s");
    }
    aot_sb_free(&with);
}

void rt_autograd_function(const aot_runtime *r, aot_wrapper_use *u)
{
    saved_values(r, u);
    returned_values(r, u);
    gradients(r, u);
}
