/* What is found once for a joint graph, under any settings: the cleaned graph, who needs what, and
 * the facts that weights and bans are made of.
 * Mirrors: the parts of partitioners.py:solve_min_cut that read nodes only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"
#include "rules/flops.h"
#include "rules/sizes.h"

/* Computed from parameters and buffers alone: the same in every step. */
static bool from_static_only(const part *p, const uint8_t *before, uint32_t i)
{
    const aot_graph *g = p->g;
    const aot_node *n = aot_node_at(g, i);
    if (n->kind != AOT_CALL_FUNCTION || (p->m.part[i] & PART_IS_SEEDED) != 0 ||
        g->in_off[i] == g->in_off[i + 1]) {
        return p->is_static[i];
    }
    for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
        if (!before[g->in[k]]) {
            return false;
        }
    }
    return true;
}

typedef struct search {
    const part *p;
    const part_static *st;
    uint32_t *mark; /* stamps */
    uint32_t now;
    part_ids todo;
} search;

/* Must the backward have this value in memory: is it, or a view of it, used there unfusibly? */
static bool materialized_in_backward(search *s, aot_node_id id)
{
    const part *p = s->p;
    const aot_graph *g = p->g;
    if (part_is_view(p, id)) {
        return false;
    }
    s->now++;
    s->todo.n = 0;
    aot_vec_push(&s->todo, id);
    while (s->todo.n != 0) {
        aot_node_id cur = s->todo.d[--s->todo.n];
        for (uint32_t k = g->user_off[cur]; k < g->user_off[cur + 1]; k++) {
            aot_node_id u = g->user[k];
            if (!p->required_fw[u] && !s->st->fusible[k]) {
                return true;
            }
            if (part_is_view(p, u) && s->mark[u] != s->now) {
                s->mark[u] = s->now;
                aot_vec_push(&s->todo, u);
            }
        }
    }
    return false;
}

static bool is_small_result(const part *p, const int64_t *bytes, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const aot_arg *a = aot_node_args(p->g, n);
    int64_t in = 0;
    for (uint32_t i = 0; i < n->n_args; i++) {
        if (a[i].kind == AOT_ARG_NODE) {
            in += bytes[a[i].u.node];
        }
    }
    return bytes[id] * 4 < in;
}

static bool is_loose(const part *p, const part_static *st, aot_node_id id)
{
    const aot_graph *g = p->g;
    if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
        return true;
    }
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        if (!st->fusible[k]) {
            return true;
        }
    }
    return false;
}

static uint8_t bits_of(search *s, aot_node_id id)
{
    const part *p = s->p;
    const aot_node *n = aot_node_at(p->g, id);
    const aot_meta *m = aot_meta_get(p->ctx, n->meta);
    uint8_t b = 0;
    b |= m->val == AOT_VAL_TENSOR ? PART_WEIGHED : 0;
    b |= m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_FLOAT ? PART_SYM_FLOAT : 0;
    b |= is_loose(p, s->st, id) ? PART_LOOSE : 0;
    b |= part_is_primal(p->g, n) ? PART_PRIMAL : 0;
    b |= part_is_fwd_seed(p->g, n) ? PART_SEED : 0;
    if (n->kind == AOT_CALL_FUNCTION && (p->m.part[id] & PART_IS_GETITEM) == 0) {
        b |= PART_CALL;
        if (p->required_fw[id]) { // nobody asks for the others
            b |= materialized_in_backward(s, id) ? PART_BW_LOOSE : 0;
            b |= is_small_result(p, s->st->bytes, id) ? PART_SMALL : 0;
        }
    }
    return b;
}

/* Weight that no setting changes; what is near the backward is dearer to save. */
static int64_t weight_of(const part *p, const part_static *st, const double nearness[101],
                         aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const aot_meta *m = aot_meta_get(p->ctx, n->meta);
    if (m->val == AOT_VAL_SYM) {
        return m->sym_kind == AOT_SYM_FLOAT ? 4 : 1;
    }
    if (m->val != AOT_VAL_TENSOR) {
        // an input without a type is an object that is passed along; anything else is a tuple
        return n->kind == AOT_PLACEHOLDER ? 0 : AOT_WEIGHT_INF;
    }
    int64_t d = p->dist[id] > 100 ? 100 : p->dist[id] < 1 ? 1 : p->dist[id];
    double w = trunc((double)st->bytes[id] * nearness[d]);
    w = (st->bits[id] & PART_LOOSE) != 0 ? w : w * 2;
    return w < 4e18 ? (int64_t)w : (int64_t)4e18;
}

static void find_names(const part *p, part_static *st)
{
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        aot_str name = aot_node_at(g, i)->name;
        st->n_names = name >= st->n_names ? name + 1 : st->n_names;
    }
    st->of_name = AOT_NEW_ARRAY(p->keep, uint32_t, st->n_names);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        st->of_name[aot_node_at(g, i)->name] = i + 1;
    }
}

/* What only a cut asks for. */
static void cut_facts(part *p, part_static *st)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    double nearness[101];
    for (int d = 0; d <= 100; d++) {
        nearness[d] = pow(1.1, d);
    }
    st->fusible = AOT_NEW_ARRAY(p->keep, uint8_t, g->user_off[n] + 1);
    st->bits = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    st->heavy = AOT_NEW_ARRAY(p->keep, int64_t, n + 1);
    st->node_of_order = AOT_NEW_ARRAY(p->keep, aot_node_id, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (p->fw_order[i] >= 0) {
            st->node_of_order[p->fw_order[i]] = i;
        }
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            st->fusible[k] = part_fusible(p, i, g->user[k]);
        }
    }
    search s = {.p = p, .st = st, .mark = aot_xcalloc(n + 1, sizeof *s.mark)};
    for (uint32_t i = 0; i < n; i++) {
        st->bits[i] = bits_of(&s, i);
        st->heavy[i] = weight_of(p, st, nearness, i);
    }
    aot_vec_free(&s.todo);
    free(s.mark);
    part_find_far(p, st, p->keep);
}

aot_status part_front(part *p, bool by_default)
{
    part_meta_init(p);
    part_mark_backward(p);
    if (!by_default) {
        part_clean(p);
    }
    uint32_t n = (uint32_t)p->g->nodes.n;
    part_static *st = AOT_NEW(p->keep, part_static);
    AOT_TRY(part_classify(p));
    st->bytes = AOT_NEW_ARRAY(p->keep, int64_t, n + 1);
    st->flops = AOT_NEW_ARRAY(p->keep, double, n + 1);
    st->from_static = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        st->bytes[i] = aot_node_bytes(p->g, i);
        st->flops[i] = aot_node_flops(p->g, i);
        st->from_static[i] = from_static_only(p, st->from_static, i);
        st->needs_bw |= p->required_bw[i] != 0;
    }
    st->storage = part_storages(p);
    find_names(p, st);
    if (!by_default && st->needs_bw) {
        part_distances(p);
        cut_facts(p, st);
    }
    p->st = st;
    return AOT_OK;
}
