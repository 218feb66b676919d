/* Which nodes the forward needs, which the backward, and how far each lies from the backward.
 * Mirrors: partitioners.py:classify_nodes and the dist_from_bw loop of
 * min_cut_rematerialization_partition. */
#include "partition/internal.h"

enum { FAR = 1000000000 };

static void collect_inputs(part *p)
{
    const aot_graph *g = p->g;
    p->inputs = AOT_NEW_ARRAY(p->keep, aot_node_id, g->nodes.n + 1);
    for (int seeds = 0; seeds < 2; seeds++) {
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            const aot_node *n = aot_node_at(g, i);
            if (seeds ? part_is_fwd_seed(g, n) : part_is_primal(g, n)) {
                p->inputs[p->n_inputs++] = i;
            }
        }
    }
    for (int k = 0; k < p->in->n_static_inputs; k++) {
        int i = p->in->static_inputs[k];
        if (i >= 0 && (uint32_t)i < p->n_inputs &&
            part_is_primal(g, aot_node_at(g, p->inputs[i]))) {
            p->is_static[p->inputs[i]] = 1;
        }
    }
}

static void mark_backward_needs(part *p)
{
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (part_is_tangent(g, n) || part_must_be_in_backward(p, i)) {
            p->required_bw[i] = 1;
        }
        for (uint32_t k = g->user_off[i]; p->required_bw[i] && k < g->user_off[i + 1]; k++) {
            p->required_bw[g->user[k]] = 1;
        }
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        p->tangents_closure[i] = p->required_bw[i];
    }
}

aot_status part_classify(part *p)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n, n_out;
    p->required_fw = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    p->required_bw = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    p->tangents_closure = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    p->is_static = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    p->fw_order = AOT_NEW_ARRAY(p->keep, int32_t, n + 1);
    p->n_inputs = 0;
    collect_inputs(p);
    mark_backward_needs(p);
    const aot_arg *outs = part_outputs(g, &n_out);
    for (uint32_t i = (uint32_t)p->n_fw_out; i < n_out; i++) {
        if (outs[i].kind == AOT_ARG_NODE) {
            p->required_bw[outs[i].u.node] = 1;
        }
    }
    part_plan fw;
    part_ids inputs = {.d = p->inputs, .n = p->n_inputs};
    AOT_TRY(part_plan_make(p, &fw, &inputs, outs, NULL, (uint32_t)p->n_fw_out, PART_FORWARD, NULL));
    for (uint32_t i = 0; i < n; i++) {
        p->required_fw[i] = fw.state[i] != PART_ABSENT;
    }
    part_plan_free(&fw);
    int32_t order = 0;
    for (uint32_t i = 0; i < n; i++) {
        p->fw_order[i] = p->required_fw[i] ? order++ : -1;
    }
    return AOT_OK;
}

void part_distances(part *p)
{
    const aot_graph *g = p->g;
    p->dist = AOT_NEW_ARRAY(p->keep, int64_t, g->nodes.n + 1);
    for (uint32_t i = (uint32_t)g->nodes.n; i-- > 0;) {
        if (aot_node_at(g, i)->kind != AOT_OUTPUT && !p->required_fw[i]) {
            continue; // 0: in the backward already
        }
        p->dist[i] = FAR;
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            int64_t d = p->dist[g->user[k]] + 1;
            p->dist[i] = d < p->dist[i] ? d : p->dist[i];
        }
    }
}
