/* The ladder of the memory budget: up to three cuts with fewer and fewer bans, the first that fits;
 * else a knapsack. A cut that nothing has changed for is not made again: a moved budget finds all
 * three there.
 * Mirrors: partitioners.py:choose_saved_values_set. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"
#include "partition/knapsack.h"

/* All that a cut depends on besides its options and the front. */
typedef struct key {
    const aot_graph *g;
    uint8_t recompute_views, free_parameters, custom, collectives;
    long max_dist;
} key;

enum { N_RUNGS = AOT_N_CUTS };

struct part_memo {
    key key;
    uint8_t *policy;   /* of key.g; NULL: nothing is kept */
    int64_t *weight;
    uint8_t *sinks; /* NULL: not asked for yet */
    uint32_t n;
    part_cut cuts[N_RUNGS];
    part_cut_options options[N_RUNGS];
    bool done[N_RUNGS];
    aot_arena *arena[N_RUNGS];
    aot_knapsack_memo *knapsack;
};

part_memo *part_memo_new(void)
{
    part_memo *m = aot_xcalloc(1, sizeof *m);
    m->knapsack = aot_knapsack_memo_new();
    return m;
}

static void forget_cut(part_memo *m, int i)
{
    part_cut_free(&m->cuts[i]);
    aot_arena_free(m->arena[i]);
    m->cuts[i] = (part_cut){0};
    m->arena[i] = NULL;
    m->done[i] = false;
}

static void forget(part_memo *m)
{
    for (int i = 0; i < N_RUNGS; i++) {
        forget_cut(m, i);
    }
    free(m->policy);
    free(m->weight);
    free(m->sinks);
    m->policy = m->sinks = NULL;
    m->weight = NULL;
}

void part_memo_free(part_memo *m)
{
    if (m != NULL) {
        forget(m);
        aot_knapsack_memo_free(m->knapsack);
        free(m);
    }
}

aot_knapsack_memo *part_memo_knapsack(part_memo *m)
{
    return m != NULL ? m->knapsack : NULL;
}

const uint8_t *part_memo_sinks(const part *p)
{
    part_memo *m = p->memo;
    if (m->sinks == NULL) {
        m->sinks =
            part_network_sinks(&(part_network){.g = p->g, .weight = p->weight, .sink = p->sink});
    }
    return m->sinks;
}

size_t part_memo_bytes(const part_memo *m)
{
    size_t n = m->policy != NULL
                   ? m->n * (sizeof *m->policy + sizeof *m->weight + 2 * sizeof *m->sinks)
                   : 0;
    for (int i = 0; i < N_RUNGS; i++) {
        n += m->arena[i] != NULL ? aot_arena_bytes(m->arena[i]) : 0;
        n += m->cuts[i].saved.cap * sizeof *m->cuts[i].saved.d;
    }
    return n + aot_knapsack_memo_bytes(m->knapsack);
}

/* Forgets the cuts if anything that they depend on is another. */
static void follow(part_memo *m, const part *p)
{
    const aot_config *f = p->config;
    uint32_t n = (uint32_t)p->g->nodes.n;
    key k;
    memset(&k, 0, sizeof k);
    k.g = p->g;
    k.recompute_views = f->recompute_views;
    k.free_parameters = f->treat_parameters_as_free_to_save;
    k.custom = f->is_non_builtin_to_include;
    k.collectives = f->unsafe_allow_optimization_of_collectives;
    k.max_dist = f->max_dist_from_bw;
    if (m->policy != NULL && memcmp(&m->key, &k, sizeof k) == 0 &&
        memcmp(m->policy, p->m.policy, n) == 0 &&
        memcmp(m->weight, p->weight, n * sizeof *p->weight) == 0) {
        return;
    }
    forget(m);
    m->key = k;
    m->n = n;
    m->policy = aot_xmalloc(n + 1);
    m->weight = aot_xmalloc((n + 1) * sizeof *m->weight);
    memcpy(m->policy, p->m.policy, n);
    memcpy(m->weight, p->weight, n * sizeof *p->weight);
}

static bool same_options(const part_cut_options *a, const part_cut_options *b)
{
    return a->used_far_apart == b->used_far_apart &&
           a->long_fusible_chains == b->long_fusible_chains &&
           a->materialized_backward == b->materialized_backward &&
           a->not_in_allowlist == b->not_in_allowlist && a->reduction == b->reduction;
}

/* The cut of a rung, made now or before. */
static aot_status cut_of_rung(part *p, int rung, const part_cut_options *o, const part_cut **out)
{
    part_memo *m = p->memo;
    if (!m->done[rung] || !same_options(&m->options[rung], o)) {
        forget_cut(m, rung);
        m->arena[rung] = aot_arena_new();
        aot_status status = part_solve(p, o, NULL, &m->cuts[rung], m->arena[rung]);
        if (status != AOT_OK) {
            forget_cut(m, rung);
            return status;
        }
        if (rung == 0) {
            part_measure_network(p, &m->cuts[rung]);
        }
        m->options[rung] = *o;
        m->done[rung] = true;
    }
    *out = &m->cuts[rung];
    p->out->cut_values[rung] = m->cuts[rung].value;
    return AOT_OK;
}

double part_gigabytes(const part *p, const aot_node_id *ids, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)p->st->bytes[ids[i]];
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

/* The memo may forget the cut before the partition goes, so its bans are copied. */
void part_take_cut(part *p, part_ids *saved, const part_cut *c)
{
    aot_partition *out = p->out;
    if (out->cut_ban == NULL) {
        out->cut_ban = aot_arena_alloc(p->result, out->n_nodes + 1);
        out->cut_edge = aot_arena_alloc(p->result, out->n_nodes + 1);
    }
    memcpy(out->cut_ban, c->ban, out->n_nodes);
    memset(out->cut_edge, 0, out->n_nodes);
    saved->n = 0;
    aot_vec_grow(saved, c->saved.n);
    for (size_t i = 0; i < c->saved.n; i++) {
        saved->d[saved->n++] = c->saved.d[i];
        out->cut_edge[c->saved.d[i]] = 1;
    }
}

/* The first cut is what is told of the nodes. */
static void record(part *p, const part_cut *c)
{
    for (uint32_t i = 0; i < p->out->n_nodes; i++) {
        aot_node_info *to = &p->out->nodes[i];
        to->weight = p->weight[i];
        to->ban = c->ban[i];
        to->ban_asked = c->ban_asked[i];
        to->sink = p->sink[i];
        to->materialized = p->loose[i];
    }
    p->out->n_vertices = c->n_vertices;
    p->out->n_edges = c->n_edges;
}

/* A later rung fits if its share of the range between inputs and default is below the budget. */
static bool fits(const part *p, const part_cut *c, double low, double range)
{
    return (part_gigabytes(p, c->saved.d, c->saved.n) - low) / range <
           p->config->activation_memory_budget;
}

static part_cut_options options_of(const aot_config *f)
{
    return f->aggressive_recomputation
               ? (part_cut_options){.reduction = f->ban_recompute_reductions}
               : (part_cut_options){.used_far_apart = f->ban_recompute_used_far_apart,
                                    .long_fusible_chains = f->ban_recompute_long_fusible_chains,
                                    .materialized_backward = f->ban_recompute_materialized_backward,
                                    .not_in_allowlist = f->ban_recompute_not_in_allowlist,
                                    .reduction = f->ban_recompute_reductions};
}

aot_status part_choose_saved(part *p, part_ids *saved)
{
    double budget = p->config->activation_memory_budget;
    part_cut_options o = options_of(p->config);
    const part_cut *c;
    if (!(budget >= 0 && budget <= 1)) {
        return AOT_FAIL(p->err, AOT_E_RANGE, "activation_memory_budget is %g: 0 to 1 is possible",
                        budget);
    }
    if (budget == 0) {
        part_save_inputs(p, saved);
        p->out->rung = aot_rung_text(AOT_RUNG_INPUTS);
        return AOT_OK;
    }
    part_weigh(p);
    follow(p->memo, p);
    AOT_TRY(cut_of_rung(p, 0, &o, &c));
    record(p, c);
    part_take_cut(p, saved, c);
    p->out->decided_by = 0;
    p->out->rung = aot_rung_text(AOT_RUNG_ONE_CUT);
    if (budget == 1) {
        return AOT_OK;
    }
    double low = part_gigabytes(p, p->inputs, p->n_inputs),
           high = part_gigabytes(p, saved->d, saved->n);
    if (high <= low) {
        p->out->rung = aot_rung_text(AOT_RUNG_SMALLER);
        return AOT_OK;
    }
    o.used_far_apart = o.long_fusible_chains = o.materialized_backward = false;
    AOT_TRY(cut_of_rung(p, 1, &o, &c));
    if (fits(p, c, low, high - low)) {
        part_take_cut(p, saved, c);
        p->out->decided_by = 1;
        p->out->rung = aot_rung_text(AOT_RUNG_SECOND);
        return AOT_OK;
    }
    o.not_in_allowlist = false;
    AOT_TRY(cut_of_rung(p, 2, &o, &c));
    if (fits(p, c, low, high - low)) {
        part_take_cut(p, saved, c);
        p->out->decided_by = 2;
        p->out->rung = aot_rung_text(AOT_RUNG_THIRD);
        return AOT_OK;
    }
    p->out->decided_by = -1;
    return part_spend_budget(p, &o, c->ban, high - low, saved);
}
