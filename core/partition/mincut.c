/* Choosing what to save: the flow network of a joint graph, cut, and the ladder of budgets.
 *
 *   source --inf--> X_in   X must not be recomputed (a ban, with its reason)
 *   X_in --weight--> X_out saving X costs its bytes x 1.1^distance, doubled if it need not exist
 *   X_out --inf--> Y_in    Y uses X
 *   X_in --inf--> sink     X is computed in the backward, or is to be recomputed
 *   X_out --inf--> sink    the backward needs X's value
 *
 * Mirrors: partitioners.py:solve_min_cut, choose_saved_values_set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/flow.h"
#include "partition/internal.h"
#include "rules/sizes.h"

enum { FAR = 1000000000, SOURCE = 0, SINK = 1 };

static uint32_t vertex_in(aot_node_id id)
{
    return 2 + 2 * id;
}

static uint32_t vertex_out(aot_node_id id)
{
    return 3 + 2 * id;
}

typedef struct cutter {
    part *p;
    const part_cut_options *o;
    const uint8_t *dont_ban;
    aot_flow *flow;
    aot_node_info *info; /* facts of this cut */
    uint8_t *banned;
    uint8_t *seen;  /* vertices that some edge mentions */
    uint32_t *mark; /* stamps of materialized_in_backward */
    uint32_t now;
    double nearness[101]; /* 1.1 ** d: what is near the backward is dearer to save */
    AOT_VEC(aot_node_id) todo;
} cutter;

static void edge(cutter *c, uint32_t u, uint32_t v, int64_t capacity)
{
    c->seen[u] = c->seen[v] = 1;
    aot_flow_edge(c->flow, u, v, capacity);
}

static bool is_sym_float(const part *p, aot_node_id id)
{
    const aot_meta *m = aot_meta_get(p->ctx, aot_node_at(p->g, id)->meta);
    return m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_FLOAT;
}

static void ban_if_allowed(void *arg, aot_node_id id, aot_ban reason)
{
    cutter *c = arg;
    part *p = c->p;
    c->info[id].ban_asked = (uint8_t)reason;
    if (part_is_view(p, id)) {
        return;
    }
    // collectives are never recomputed, whatever the budget asks for
    if (c->dont_ban != NULL && c->dont_ban[id] &&
        (p->config->unsafe_allow_optimization_of_collectives || (p->m.part[id] & PART_IS_COLLECTIVE) == 0)) {
        return;
    }
    if (part_must_recompute(p->m.policy[id]) || is_sym_float(p, id)) {
        return;
    }
    if (!c->banned[id]) {
        edge(c, SOURCE, vertex_in(id), AOT_FLOW_INF);
    }
    c->banned[id] = 1;
    c->info[id].ban = (uint8_t)reason;
}

/* Must the backward have this value in memory: is it, or a view of it, used there unfusibly? */
static bool materialized_in_backward(cutter *c, aot_node_id id)
{
    const part *p = c->p;
    const aot_graph *g = p->g;
    if (part_is_view(p, id)) {
        return false;
    }
    c->now++;
    c->todo.n = 0;
    aot_vec_push(&c->todo, id);
    while (c->todo.n != 0) {
        aot_node_id cur = c->todo.d[--c->todo.n];
        for (uint32_t k = g->user_off[cur]; k < g->user_off[cur + 1]; k++) {
            aot_node_id u = g->user[k];
            if (!p->required_fw[u] && !part_fusible(p, cur, u)) {
                return true;
            }
            if (part_is_view(p, u) && c->mark[u] != c->now) {
                c->mark[u] = c->now;
                aot_vec_push(&c->todo, u);
            }
        }
    }
    return false;
}

static bool is_small_result(const part *p, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const aot_arg *a = aot_node_args(p->g, n);
    int64_t in = 0, out = aot_node_bytes(p->g, id);
    for (uint32_t i = 0; i < n->n_args; i++) {
        if (a[i].kind == AOT_ARG_NODE) {
            in += aot_node_bytes(p->g, a[i].u.node);
        }
    }
    return out * 4 < in;
}

static aot_ban ban_reason(cutter *c, aot_node_id id)
{
    const part *p = c->p;
    const aot_node *n = aot_node_at(p->g, id);
    uint32_t cls = p->m.part[id];
    if (n->kind != AOT_CALL_FUNCTION || (cls & PART_IS_GETITEM) != 0) {
        return AOT_BAN_NONE;
    }
    if (p->m.policy[id] == AOT_POLICY_MUST_SAVE) {
        return AOT_BAN_MUST_SAVE;
    }
    if ((p->config->recompute_views && (cls & AOT_PART_VIEW) != 0) || (cls & PART_IS_LIFT_FRESH) != 0) {
        return AOT_BAN_NONE;
    }
    if (c->o->not_in_allowlist) {
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
    if (c->o->materialized_backward && materialized_in_backward(c, id)) {
        return AOT_BAN_MATERIALIZED;
    }
    if (p->dist[id] < 1000 && p->dist[id] > p->config->max_dist_from_bw) {
        return AOT_BAN_TOO_FAR;
    }
    return c->o->reduction && is_small_result(p, id) ? AOT_BAN_REDUCTION : AOT_BAN_NONE;
}

static int64_t tensor_weight(cutter *c, aot_node_id id)
{
    const part *p = c->p;
    if (p->config->treat_parameters_as_free_to_save && p->is_static[id]) {
        return 0;
    }
    if (p->config->recompute_views && part_is_view(p, id)) {
        return AOT_WEIGHT_INF;
    }
    int64_t d = p->dist[id] > 100 ? 100 : p->dist[id] < 1 ? 1 : p->dist[id];
    double w = trunc((double)c->info[id].bytes * c->nearness[d]);
    c->info[id].materialized = part_is_materialized(p, id);
    w = c->info[id].materialized ? w : w * 2;
    return w < 4e18 ? (int64_t)w : (int64_t)4e18;
}

static int64_t node_weight(cutter *c, aot_node_id id)
{
    const part *p = c->p;
    const aot_node *n = aot_node_at(p->g, id);
    const aot_meta *m = aot_meta_get(p->ctx, n->meta);
    if (m->val == AOT_VAL_SYM) {
        return m->sym_kind == AOT_SYM_FLOAT ? 4 : 1;
    }
    if (m->val != AOT_VAL_TENSOR) {
        // an input without a type is an object that is passed along; anything else is a tuple
        return n->kind == AOT_PLACEHOLDER ? 0 : AOT_WEIGHT_INF;
    }
    return tensor_weight(c, id);
}

static void add_node(cutter *c, aot_node_id id)
{
    part *p = c->p;
    const aot_graph *g = p->g;
    const aot_node *n = aot_node_at(g, id);
    aot_node_info *info = &c->info[id];
    if (p->required_bw[id]) {
        bool made = p->tangents_closure[id];
        edge(c, made ? vertex_in(id) : vertex_out(id), SINK, AOT_FLOW_INF);
        info->sink = made ? AOT_SINK_IN : AOT_SINK_OUT;
        if (made) {
            return;
        }
    }
    if (part_must_recompute(p->m.policy[id])) {
        edge(c, vertex_in(id), SINK, AOT_FLOW_INF);
        info->sink = AOT_SINK_IN;
        return;
    }
    if (part_is_primal(g, n)) {
        ban_if_allowed(c, id, AOT_BAN_PRIMAL);
    } else if (part_is_fwd_seed(g, n)) {
        ban_if_allowed(c, id, AOT_BAN_RNG_SEED);
    }
    aot_ban reason = p->required_fw[id] ? ban_reason(c, id) : AOT_BAN_NONE;
    if (reason != AOT_BAN_NONE) {
        ban_if_allowed(c, id, reason);
    }
    const aot_what_if *w = part_what_if(p, n);
    info->weight = w != NULL && w->weight >= 0 ? w->weight : node_weight(c, id);
    edge(c, vertex_in(id), vertex_out(id), info->weight == AOT_WEIGHT_INF ? AOT_FLOW_INF : info->weight);
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        edge(c, vertex_out(id), vertex_in(g->user[k]), AOT_FLOW_INF);
    }
}

static void build(cutter *c)
{
    part *p = c->p;
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        c->info[i].weight = -1;
        if (aot_node_at(g, i)->kind != AOT_OUTPUT) {
            add_node(c, i);
        }
    }
    if (c->o->used_far_apart) {
        part_ban_used_far_apart(p, c->banned, ban_if_allowed, c);
    }
    if (c->o->long_fusible_chains) {
        part_ban_long_chains(p, c->banned, ban_if_allowed, c);
    }
}

static aot_status cut(cutter *c, bool record, part_ids *saved)
{
    part *p = c->p;
    uint32_t n = (uint32_t)p->g->nodes.n, n_vertices = 2 * n + 2, n_path = 0;
    uint8_t *side = aot_xcalloc(n_vertices, 1);
    uint32_t *path = aot_xcalloc(n_vertices, sizeof *path);
    int64_t value = 0;
    aot_err flow_err = {0};
    aot_status status = aot_flow_min_cut(c->flow, SOURCE, SINK, &value, side, path, &n_path, &flow_err);
    if (status == AOT_E_UNBOUNDED) {
        status = part_explain_unbounded(p, path, n_path);
    } else if (status != AOT_OK) {
        status = AOT_FAIL(p->err, status, "%s", flow_err.msg);
    }
    for (uint32_t i = 0; status == AOT_OK && i < n; i++) {
        if (c->info[i].weight >= 0 && !side[vertex_in(i)] && side[vertex_out(i)]) {
            aot_vec_push(saved, i);
        }
    }
    if (status == AOT_OK && record) {
        p->out->cut_value = value;
    }
    free(side);
    free(path);
    return status;
}

static void record_cut(cutter *c)
{
    part *p = c->p;
    uint32_t n = (uint32_t)p->g->nodes.n;
    for (uint32_t v = 0; v < 2 * n + 2; v++) {
        p->out->n_vertices += c->seen[v];
    }
    p->out->n_edges = aot_flow_n_edges(c->flow);
    for (uint32_t i = 0; i < n; i++) {
        aot_node_info *to = &p->out->nodes[i], *from = &c->info[i];
        to->weight = from->weight;
        to->ban = from->ban;
        to->ban_asked = from->ban_asked;
        to->sink = from->sink;
        to->materialized = from->materialized;
    }
}

aot_status part_solve(part *p, const part_cut_options *o, const uint8_t *dont_ban, bool record, part_ids *saved)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    cutter c = {.p = p, .o = o, .dont_ban = dont_ban};
    c.flow = aot_flow_new(2 * n + 2, p->g->in_off[n] + 2 * n);
    c.info = aot_xmalloc(n * sizeof *c.info);
    memcpy(c.info, p->out->nodes, n * sizeof *c.info); // bytes are known
    for (uint32_t i = 0; i < n; i++) {
        c.info[i].ban = c.info[i].ban_asked = c.info[i].sink = 0;
    }
    c.banned = p->banned;
    memset(c.banned, 0, n);
    c.seen = aot_xcalloc(2 * n + 2, 1);
    c.mark = aot_xcalloc(n, sizeof *c.mark);
    for (int d = 0; d <= 100; d++) {
        c.nearness[d] = pow(1.1, d);
    }
    build(&c);
    if (record) {
        record_cut(&c);
    }
    aot_status status = cut(&c, record, saved);
    aot_flow_free(c.flow);
    aot_vec_free(&c.todo);
    free(c.info);
    free(c.seen);
    free(c.mark);
    return status;
}

/* ---- the ladder ------------------------------------------------------------------------------- */

double part_gigabytes(const part *p, const aot_node_id *ids, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)p->out->nodes[ids[i]].bytes;
    }
    return sum / 1e9;
}

void part_save_inputs(const part *p, part_ids *saved)
{
    saved->n = 0;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        aot_vec_push(saved, p->inputs[i]);
    }
}

/* A later rung: fits if its share of the range between inputs and default is below the budget. */
static aot_status try_rung(part *p, const part_cut_options *o, double low, double range, part_ids *saved, bool *fits)
{
    part_ids ids = {0};
    aot_status status = part_solve(p, o, NULL, false, &ids);
    *fits = status == AOT_OK && (part_gigabytes(p, ids.d, ids.n) - low) / range < p->config->activation_memory_budget;
    if (*fits) {
        saved->n = 0;
        for (size_t i = 0; i < ids.n; i++) {
            aot_vec_push(saved, ids.d[i]);
        }
    }
    aot_vec_free(&ids);
    return status;
}

aot_status part_choose_saved(part *p, part_ids *saved)
{
    const aot_config *f = p->config;
    double budget = f->activation_memory_budget;
    part_cut_options o = {.used_far_apart = f->ban_recompute_used_far_apart,
                          .long_fusible_chains = f->ban_recompute_long_fusible_chains,
                          .materialized_backward = f->ban_recompute_materialized_backward,
                          .not_in_allowlist = f->ban_recompute_not_in_allowlist,
                          .reduction = f->ban_recompute_reductions};
    if (!(budget >= 0 && budget <= 1)) {
        return AOT_FAIL(p->err, AOT_E_RANGE, "activation_memory_budget is %g: 0 to 1 is possible", budget);
    }
    if (f->aggressive_recomputation) {
        o = (part_cut_options){.reduction = o.reduction};
    }
    if (budget == 0) {
        part_save_inputs(p, saved);
        p->out->rung = "inputs only";
        return AOT_OK;
    }
    AOT_TRY(part_solve(p, &o, NULL, true, saved));
    p->out->rung = "one cut";
    if (budget == 1) {
        return AOT_OK;
    }
    double low = part_gigabytes(p, p->inputs, p->n_inputs), high = part_gigabytes(p, saved->d, saved->n);
    bool fits;
    if (high <= low) {
        p->out->rung = "one cut: smaller than the inputs";
        return AOT_OK;
    }
    o.used_far_apart = o.long_fusible_chains = o.materialized_backward = false;
    AOT_TRY(try_rung(p, &o, low, high - low, saved, &fits));
    if (fits) {
        p->out->rung = "second cut: fusion heuristics off";
        return AOT_OK;
    }
    o.not_in_allowlist = false;
    AOT_TRY(try_rung(p, &o, low, high - low, saved, &fits));
    if (fits) {
        p->out->rung = "third cut: allowlist off";
        return AOT_OK;
    }
    return part_spend_budget(p, &o, high - low, saved);
}
