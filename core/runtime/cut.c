/* The numbers that PyTorch reads off the forward and backward modules: how many sizes and tensors
 * are saved, which of them may be overwritten, which inputs are detached.
 *
 * Mirrors: torch/_functorch/_aot_autograd/graph_compile.py:_aot_stage2a_partition. */
#include "runtime/cut.h"

#include <string.h>

#include "ir/text.h"
#include "rules/fake.h"

static const aot_arg *returned(const aot_graph *g, uint32_t *n)
{
    aot_node_id id = aot_graph_output(g);
    *n = 0;
    if (id == AOT_NO_NODE || aot_node_at(g, id)->n_args == 0) {
        return NULL;
    }
    const aot_arg *ret = aot_node_args(g, aot_node_at(g, id));
    bool list = ret->kind == AOT_ARG_LIST || ret->kind == AOT_ARG_TUPLE;
    *n = list ? ret->n : 1;
    return list ? aot_arg_items(g, ret) : ret;
}

static const aot_meta *value_of(const aot_graph *g, const aot_arg *x)
{
    return x->kind == AOT_ARG_NODE ? aot_meta_get(g->ctx, aot_node_at(g, x->u.node)->meta) : NULL;
}

/* "0: {1, 2}" for the saved value at place `at`; NULL if no size of it is symbolic. */
static const char *dynamic_text(const aot_graph *g, aot_node_id id, uint32_t at, aot_arena *a)
{
    aot_fake f = aot_fake_of_meta(g->ctx, aot_node_at(g, id)->meta);
    aot_sb b = {0};
    for (unsigned d = 0; d < f.ndim; d++) {
        if (f.size[d].expr != 0) {
            aot_sb_addf(&b, "%s%u", b.n > 0 ? ", " : "", d);
        }
    }
    const char *text = b.n > 0 ? aot_arena_printf(a, "%u: {%s}", at, aot_sb_text(&b)) : NULL;
    aot_sb_free(&b);
    return text;
}

static void read_forward(aot_fw_metadata *m, const aot_partition *p, aot_arena *a)
{
    const aot_graph *g = p->forward;
    uint32_t n, first = (uint32_t)p->n_forward_outputs;
    const aot_arg *ret = returned(g, &n);
    m->n_symints_saved = m->n_saved_no_vc = m->n_opaque_saved = m->n_tensors_saved = 0;
    m->dynamic_saved = AOT_NEW_ARRAY(a, const char *, n + 1);
    for (uint32_t i = first; i < n; i++) {
        const aot_meta *v = value_of(g, &ret[i]);
        bool symbol = v != NULL && v->val == AOT_VAL_SYM;
        m->n_symints_saved += symbol;
        m->n_tensors_saved += !symbol;
        const char *dims = v != NULL && v->val == AOT_VAL_TENSOR
                               ? dynamic_text(g, ret[i].u.node, i - first, a)
                               : NULL;
        if (dims != NULL) {
            m->dynamic_saved[m->n_dynamic_saved++] = dims;
        }
    }
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        m->n_graphsafe_rng_states += aot_node_at(g, id)->kind == AOT_PLACEHOLDER &&
                                     strstr(aot_node_name(g, id), "fwd_rng_state") != NULL;
    }
}

/* An input with a grad_fn that gets no gradient is detached before the call, or autograd would walk
 * on from it. PyTorch does not do so where there are subclasses. */
static void read_backward(aot_fw_metadata *m, const aot_partition *p, aot_arena *a)
{
    uint32_t n;
    const aot_arg *ret = returned(p->backward, &n);
    m->detached = AOT_NEW_ARRAY(a, int, (size_t)m->n_inputs + 1);
    m->with_gradient = AOT_NEW_ARRAY(a, int, (size_t)m->n_inputs + 1);
    bool subclass = false;
    const aot_value_places *lists[] = {&m->subclass_in, &m->subclass_out, &m->subclass_tangent};
    for (int l = 0; l < 3; l++) {
        for (int i = 0; i < lists[l]->n; i++) {
            subclass |= lists[l]->of[i].n != 0;
        }
    }
    for (int i = 0; i < m->n_inputs && (uint32_t)i < n; i++) {
        const aot_input_info *x = &m->inputs[i];
        int at = m->subclass_in.n > i ? m->subclass_in.of[i].start : i;
        if ((uint32_t)at < n && ret[at].kind != AOT_ARG_NONE) {
            m->with_gradient[m->n_with_gradient++] = i;
        }
        if (subclass) {
            continue;
        }
        bool set_inside = x->mutation == AOT_MUTATED_IN_GRAPH && x->mutates_storage_metadata;
        if (ret[i].kind == AOT_ARG_NONE && x->requires_grad && !x->is_leaf && !set_inside) {
            m->detached[m->n_detached++] = i;
        }
    }
}

void aot_metadata_cut(aot_fw_metadata *m, const aot_partition *p, aot_arena *a)
{
    m->is_cut = true;
    m->n_dynamic_saved = m->n_detached = m->n_with_gradient = m->n_graphsafe_rng_states = 0;
    read_forward(m, p, a);
    read_backward(m, p, a);
    m->donated = p->donated;
    m->n_donated = p->config.donated_buffer ? p->n_donated : -1;
}
