/* Choosing what to save by a minimum cut: weights, bans, the cut.
 *
 *   source --inf--> X_in   X must not be recomputed (a ban, with its reason)
 *   X_in --weight--> X_out saving X costs its bytes x 1.1^distance, doubled if it need not exist
 *   X_out --inf--> Y_in    Y uses X
 *   X_in --inf--> sink     X is computed in the backward, or is to be recomputed
 *   X_out --inf--> sink    the backward needs X's value
 *
 * Mirrors: partitioners.py:solve_min_cut. */
#include <stdlib.h>
#include <string.h>

#include "partition/flow.h"
#include "partition/internal.h"

static int64_t node_weight(const part *p, aot_node_id id)
{
    if ((p->st->bits[id] & PART_WEIGHED) == 0) {
        return p->st->heavy[id];
    }
    if (p->config->treat_parameters_as_free_to_save && p->is_static[id]) {
        return 0;
    }
    if (p->config->recompute_views && part_is_view(p, id)) {
        return AOT_WEIGHT_INF;
    }
    p->loose[id] = (p->st->bits[id] & PART_LOOSE) != 0;
    return p->st->heavy[id];
}

static void weigh(part *p, aot_node_id id)
{
    p->weight[id] = -1;
    if (aot_node_at(p->g, id)->kind == AOT_OUTPUT) {
        return;
    }
    if (p->required_bw[id]) {
        bool made = p->tangents_closure[id];
        p->sink[id] = made ? AOT_SINK_IN : AOT_SINK_OUT;
        if (made) {
            return;
        }
    }
    if (part_must_recompute(p->m.policy[id])) {
        p->sink[id] = AOT_SINK_IN;
        return;
    }
    p->weight[id] = node_weight(p, id);
}

void part_weigh(part *p)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    p->weight = aot_arena_alloc(p->scratch, n * sizeof *p->weight);
    p->sink = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    p->loose = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        weigh(p, i);
    }
    for (uint32_t i = 0; i < p->n_tags; i++) { // weights to try
        aot_str name = p->tags[i].name;
        uint32_t id = name < p->st->n_names ? p->st->of_name[name] : 0;
        if (id != 0 && p->weight[id - 1] >= 0 && p->tags[i].weight >= 0) {
            p->weight[id - 1] = p->tags[i].weight;
            p->loose[id - 1] = 0;
        }
    }
}

/* ---- bans ------------------------------------------------------------------------------------ */

typedef struct banner {
    part *p;
    const part_cut_options *o;
    const uint8_t *dont_ban;
    part_cut *c;
} banner;

static void ban_if_allowed(void *arg, aot_node_id id, aot_ban reason)
{
    banner *b = arg;
    part *p = b->p;
    b->c->ban_asked[id] = (uint8_t)reason;
    if (part_is_view(p, id)) {
        return;
    }
    // collectives are never recomputed, whatever the budget asks for
    if (b->dont_ban != NULL && b->dont_ban[id] &&
        (p->config->unsafe_allow_optimization_of_collectives ||
         (p->m.part[id] & PART_IS_COLLECTIVE) == 0)) {
        return;
    }
    if (part_must_recompute(p->m.policy[id]) || (p->st->bits[id] & PART_SYM_FLOAT) != 0) {
        return;
    }
    b->c->ban[id] = (uint8_t)reason;
}

static aot_ban ban_reason(const banner *b, aot_node_id id)
{
    const part *p = b->p;
    uint32_t cls = p->m.part[id];
    uint8_t bits = p->st->bits[id];
    if ((bits & PART_CALL) == 0) {
        return AOT_BAN_NONE;
    }
    if (p->m.policy[id] == AOT_POLICY_MUST_SAVE) {
        return AOT_BAN_MUST_SAVE;
    }
    if ((p->config->recompute_views && (cls & AOT_PART_VIEW) != 0) ||
        (cls & PART_IS_LIFT_FRESH) != 0) {
        return AOT_BAN_NONE;
    }
    if (b->o->not_in_allowlist) {
        if ((cls & AOT_PART_RECOMPUTABLE) == 0) {
            return AOT_BAN_NOT_ALLOWED;
        }
    } else if ((cls & AOT_PART_RANDOM) != 0) {
        return AOT_BAN_RANDOM;
    } else if ((cls & AOT_PART_COMPUTE_INTENSIVE) != 0) {
        return AOT_BAN_COMPUTE;
    } else if (p->config->is_non_builtin_to_include && part_is_custom(p, id)) {
        return AOT_BAN_NON_BUILTIN;
    }
    if (b->o->materialized_backward && (bits & PART_BW_LOOSE) != 0) {
        return AOT_BAN_MATERIALIZED;
    }
    if (p->dist[id] < 1000 && p->dist[id] > p->config->max_dist_from_bw) {
        return AOT_BAN_TOO_FAR;
    }
    return b->o->reduction && (bits & PART_SMALL) != 0 ? AOT_BAN_REDUCTION : AOT_BAN_NONE;
}

static void find_bans(banner *b)
{
    part *p = b->p;
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (p->weight[i] < 0) {
            continue; // the backward makes it, or it is to be recomputed
        }
        if ((p->st->bits[i] & PART_PRIMAL) != 0) {
            ban_if_allowed(b, i, AOT_BAN_PRIMAL);
        } else if ((p->st->bits[i] & PART_SEED) != 0) {
            ban_if_allowed(b, i, AOT_BAN_RNG_SEED);
        }
        aot_ban reason = p->required_fw[i] ? ban_reason(b, i) : AOT_BAN_NONE;
        if (reason != AOT_BAN_NONE) {
            ban_if_allowed(b, i, reason);
        }
    }
    for (uint32_t i = 0; b->o->used_far_apart && i < p->st->n_far; i++) {
        if (!b->c->ban[p->st->far[i]]) {
            ban_if_allowed(b, p->st->far[i], AOT_BAN_FAR_APART);
        }
    }
    if (b->o->long_fusible_chains) {
        part_ban_long_chains(p, b->c->ban, ban_if_allowed, b);
    }
}

/* ---- the cut --------------------------------------------------------------------------------- */

/* Bans that PyTorch adds when all nodes are in. */
static bool is_late(uint8_t ban)
{
    return ban == AOT_BAN_FAR_APART || ban == AOT_BAN_LONG_CHAIN;
}

/* The network as PyTorch builds it, edge by edge. */
static aot_flow *build_network(const part *p, const part_cut *c)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    aot_flow *f = aot_flow_new(2 * n + 2, g->in_off[n] + 3 * n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in = 2 + 2 * i, out = 3 + 2 * i;
        if (p->sink[i] != AOT_SINK_NONE) {
            aot_flow_edge(f, p->sink[i] == AOT_SINK_IN ? in : out, 1, AOT_FLOW_INF);
        }
        if (c->ban[i] && !is_late(c->ban[i])) {
            aot_flow_edge(f, 0, in, AOT_FLOW_INF);
        }
        if (p->weight[i] < 0) {
            continue;
        }
        aot_flow_edge(f, in, out, p->weight[i] == AOT_WEIGHT_INF ? AOT_FLOW_INF : p->weight[i]);
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            aot_flow_edge(f, out, 2 + 2 * g->user[k], AOT_FLOW_INF);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_late(c->ban[i])) {
            aot_flow_edge(f, 0, 2 + 2 * i, AOT_FLOW_INF);
        }
    }
    return f;
}

/* The chain of an infinite cut: found on the whole network, as PyTorch finds it. */
static aot_status explain_unbounded(part *p, const part_cut *c)
{
    uint32_t n = 2 * (uint32_t)p->g->nodes.n + 2, n_path = 0;
    uint8_t *side = aot_xcalloc(n, 1);
    uint32_t *path = aot_xcalloc(n, sizeof *path);
    aot_flow *f = build_network(p, c);
    aot_err none = {0};
    int64_t value;
    aot_status status = aot_flow_min_cut(f, 0, 1, &value, side, path, &n_path, &none);
    status = part_explain_unbounded(p, path, status == AOT_E_UNBOUNDED ? n_path : 0, c->ban);
    aot_flow_free(f);
    free(side);
    free(path);
    return status;
}

/* Vertices and edges of the network; a vertex counts if an edge has it. */
void part_measure_network(const part *p, part_cut *c)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    bool source = false, sink = false;
    uint8_t *seen = aot_xcalloc(2 * n + 2, 1);
    for (uint32_t i = 0; i < n; i++) {
        source |= c->ban[i] != 0;
        sink |= p->sink[i] != AOT_SINK_NONE;
        c->n_edges += (p->sink[i] != AOT_SINK_NONE) + (c->ban[i] != 0);
        seen[2 * i] |= c->ban[i] != 0 || p->sink[i] == AOT_SINK_IN || p->weight[i] >= 0;
        seen[2 * i + 1] |= p->sink[i] == AOT_SINK_OUT || p->weight[i] >= 0;
        for (uint32_t k = g->user_off[i]; p->weight[i] >= 0 && k < g->user_off[i + 1]; k++) {
            seen[2 * g->user[k]] = 1;
        }
        c->n_edges += p->weight[i] >= 0 ? 1 + g->user_off[i + 1] - g->user_off[i] : 0;
    }
    c->n_vertices = (uint32_t)source + sink;
    for (uint32_t v = 0; v < 2 * n; v++) {
        c->n_vertices += seen[v];
    }
    free(seen);
}

aot_status part_solve(part *p, const part_cut_options *o, const uint8_t *dont_ban, part_cut *out,
                      aot_arena *a)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    part_ids saved = {0};
    part_cut c = {.ban = AOT_NEW_ARRAY(a, uint8_t, n + 1),
                  .ban_asked = AOT_NEW_ARRAY(a, uint8_t, n + 1)};
    banner b = {.p = p, .o = o, .dont_ban = dont_ban, .c = &c};
    AOT_TRY(part_goes_on(p, dont_ban != NULL ? PART_AT_FOURTH_CUT : PART_AT_CUT));
    find_bans(&b);
    part_network x = {.g = p->g,
                      .weight = p->weight,
                      .banned = c.ban,
                      .sink = p->sink,
                      .sinks = part_memo_sinks(p)};
    aot_status status = part_network_cut(&x, &c.value, &saved, p->err);
    if (status == AOT_E_UNBOUNDED) {
        status = explain_unbounded(p, &c);
    }
    if (status != AOT_OK) {
        aot_vec_free(&saved);
        return status;
    }
    c.saved.d = saved.d;
    c.saved.n = saved.n;
    c.saved.cap = saved.cap;
    *out = c;
    return AOT_OK;
}

void part_cut_free(part_cut *c)
{
    aot_vec_free(&c->saved);
}
