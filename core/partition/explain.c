/* Explaining one value: facts of its cut, and what single changes would do to it.
 *
 * The limit of its weight needs no search. Let V be the cut's value and w the weight. If the value
 * is not saved, a cut with weight 0 has value V0, the cheapest that saves it costs V0 + w, and it
 * wins while w < V - V0. If it is saved, a cut with infinite weight has value V1, the cheapest that
 * does not save it, so saving wins while w < w + V1 - V. */
#include "partition/explain.h"

#include "partition/partitioner.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "partition/explain_path.h"
#include "partition/explain_trials.h"

void aot_explain_free(aot_explain *x)
{
    if (x->trials != NULL) {
        aot_partition_release(x->trials->p);
        aot_partitioner_free(x->trials->pr);
        aot_vec_free(&x->trials->found);
        free(x->trials);
    }
    aot_vec_free(&x->saved_above);
    aot_vec_free(&x->readers);
    aot_vec_free(&x->changes);
    aot_vec_free(&x->path);
    aot_vec_free(&x->around);
    aot_vec_free(&x->source);
    aot_vec_free(&x->budgets);
}

/* "mm, mm_1, mm_2": values whose name begins as the given one does. */
static aot_status no_such_value(const aot_graph *g, const char *name, aot_err *err)
{
    aot_sb near = {0};
    size_t stem = strcspn(name, "0123456789");
    while (stem > 1 && name[stem - 1] == '_') {
        stem--;
    }
    for (aot_node_id i = 0, n = 0; i < g->nodes.n && n < 6 && stem > 0; i++) {
        if (strncmp(aot_node_name(g, i), name, stem) == 0) {
            aot_sb_addf(&near, "%s%s", n++ != 0 ? ", " : "", aot_node_name(g, i));
        }
    }
    aot_status s = AOT_FAIL(err, AOT_E_USAGE, "no value '%s' in the graph that is cut%s%s", name,
                            near.n != 0 ? "; there are " : " (show --stage joint_cse prints it)",
                            aot_sb_text(&near));
    aot_sb_free(&near);
    return s;
}

/* ---- neighbours --------------------------------------------------------------------------------
 */

/* From a recomputed value upwards to what the forward keeps. */
static void collect_saved_above(aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    uint8_t *seen = aot_xcalloc(g->nodes.n + 1, 1);
    AOT_VEC(aot_node_id) todo = {0};
    aot_vec_push(&todo, x->id);
    while (todo.n != 0) {
        aot_node_id i = todo.d[--todo.n];
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            aot_node_id in = g->in[k];
            if (seen[in]) {
                continue;
            }
            seen[in] = 1;
            if (x->p->nodes[in].verdict == AOT_V_SAVED) {
                aot_vec_push(&x->saved_above, in);
            } else {
                aot_vec_push(&todo, in);
            }
        }
    }
    aot_vec_free(&todo);
    free(seen);
}

static void collect_readers(aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    for (uint32_t k = g->user_off[x->id]; k < g->user_off[x->id + 1]; k++) {
        aot_node_id u = g->user[k];
        if (aot_node_at(g, u)->kind != AOT_OUTPUT && !x->p->nodes[u].required_fw) {
            aot_vec_push(&x->readers, u);
        }
    }
}

/* ---- changes -----------------------------------------------------------------------------------
 */

/* With another tag or weight on the value; NULL if that cannot be cut. */
static aot_partition *cut_with(const explain_trials *t, aot_what_if w, const aot_config *config,
                               aot_err *err)
{
    aot_partition *p = NULL;
    w.name = t->name;
    return aot_partitioner_solve(t->pr, &p, config, &w, 1, err) == AOT_OK ? p : NULL;
}

/* AOT_V_DEAD if the value is no more. */
static aot_verdict verdict_of(const aot_partition *p, const char *name)
{
    aot_node_id i = aot_graph_find(p->cut, name);
    return i == AOT_NO_NODE ? AOT_V_DEAD : (aot_verdict)p->nodes[i].verdict;
}

static void add_change(aot_explain *x, const char *what, const aot_partition *p, const aot_err *err)
{
    aot_ctx *c = x->p->cut->ctx;
    aot_change r = {.what = what};
    if (p != NULL) {
        r.verdict = verdict_of(p, aot_node_name(x->p->cut, x->id));
        r.saved_bytes = aot_saved_tensor_bytes(p);
        r.recompute_flops = p->recompute_flops;
    } else {
        r.failed = true;
        r.failure = aot_arena_strndup(c->arena, err->msg, strlen(err->msg));
    }
    aot_vec_push(&x->changes, r);
}

static const struct {
    uint8_t policy;
    const char *what;
} tags[] = {{AOT_POLICY_NONE, "no tag"}, // the least first
            {AOT_POLICY_MUST_SAVE, "tag MUST_SAVE"},
            {AOT_POLICY_MUST_RECOMPUTE, "tag MUST_RECOMPUTE"}};
static const char *const switches[] = {"ban_recompute_used_far_apart",
                                       "ban_recompute_long_fusible_chains",
                                       "ban_recompute_materialized_backward",
                                       "ban_recompute_not_in_allowlist",
                                       "ban_recompute_reductions",
                                       "recompute_views",
                                       "treat_parameters_as_free_to_save",
                                       "aggressive_recomputation"};
enum { N_TAGS = sizeof tags / sizeof *tags, N_SWITCHES = sizeof switches / sizeof *switches };

/* Nothing is kept of one that was stopped. */
static void keep_change(aot_explain *x, const char *what, aot_partition *p, const aot_err *err)
{
    if (p != NULL || !aot_progress_stopped()) {
        add_change(x, what, p, err);
    }
    aot_partition_release(p);
}

static void try_tag(aot_explain *x, const explain_trials *t, int i)
{
    if (tags[i].policy != x->p->nodes[x->id].policy) {
        aot_err err = {0};
        aot_what_if w = {.weight = -1, .sets_policy = true, .policy = tags[i].policy};
        aot_partition *p = cut_with(t, w, &t->config, &err);
        keep_change(x, tags[i].what, p, &err);
    }
}

static void try_setting(aot_explain *x, const explain_trials *t, int i)
{
    aot_ctx *c = x->p->cut->ctx;
    const aot_config_row *row = aot_config_find(switches[i]);
    bool was = *(const bool *)((const char *)&t->config + row->offset);
    const char *what = aot_arena_printf(c->arena, "%s=%s", row->name, was ? "False" : "True");
    aot_config config = t->config;
    aot_err err = {0};
    aot_partition *p = NULL;
    if (aot_config_set(&config, what, &err) != AOT_OK ||
        aot_partitioner_solve(t->pr, &p, &config, NULL, 0, &err) != AOT_OK) {
        p = NULL;
    }
    keep_change(x, what, p, &err);
}

/* ---- the limit of the weight
 * --------------------------------------------------------------------- */

static void find_limit(aot_explain *x, const explain_trials *t)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_err err = {0};
    bool saved = n->verdict == AOT_V_SAVED;
    int rung = x->p->decided_by;
    x->weight_limit = -1;
    if (rung < 0 || n->weight < 0 || n->weight == AOT_WEIGHT_INF) {
        return;
    }
    aot_what_if w = {.weight = saved ? AOT_WEIGHT_INF : 0};
    aot_partition *p = cut_with(t, w, &t->config, &err);
    if (p == NULL) {
        return; /* no other value can take its place */
    }
    if (p->decided_by == rung) {
        int64_t then = p->cut_values[rung], now = x->p->cut_values[rung];
        x->weight_limit = saved ? n->weight + then - now : now - then;
    }
    aot_partition_release(p);
}

/* The first weight with another verdict, from the limit on: at a tie the cut nearest to the
 * backward is taken, so the limit itself may do. */
static void find_flip_weight(aot_explain *x, const explain_trials *t)
{
    bool saved = x->p->nodes[x->id].verdict == AOT_V_SAVED;
    for (int i = 0; i < 2 && x->weight_limit > 0 && x->flip_weight < 0; i++) {
        aot_err err = {0};
        aot_what_if w = {.weight = x->weight_limit + (saved ? i : -i)};
        aot_partition *p = cut_with(t, w, &t->config, &err);
        if (p != NULL &&
            verdict_of(p, aot_node_name(x->p->cut, x->id)) != x->p->nodes[x->id].verdict) {
            x->flip_weight = w.weight;
            x->flip_verdict = verdict_of(p, aot_node_name(x->p->cut, x->id));
        }
        aot_partition_release(p);
    }
    if (x->p->decided_by > 0 && x->flip_weight < 0 && x->weight_limit > 0) {
        x->weight_limit = -1; // with that weight another cut of the ladder would decide
    }
}

/* Tags were tried first, so a tag goes before a setting. */
static void find_flip_change(aot_explain *x)
{
    for (size_t i = 0; i < x->changes.n && x->flip_change == AOT_NO_CHANGE; i++) {
        const aot_change *c = &x->changes.d[i];
        if (!c->failed && c->verdict != x->p->nodes[x->id].verdict) {
            x->flip_change = (int)i;
        }
    }
}

static void find_item(aot_explain *x)
{
    x->item = UINT32_MAX;
    for (uint32_t i = 0; i < x->p->n_items; i++) {
        if (x->p->items[i].node == x->id) {
            x->item = i;
        }
    }
}

/* What follows from the cut alone. */
static void find_facts(aot_explain *x)
{
    const aot_partition *p = x->p;
    const aot_node_info *n = &p->nodes[x->id];
    x->near = n->dist > 100 ? 100 : n->dist < 1 ? 1 : n->dist;
    x->weighed = n->weight > 0 && n->weight != AOT_WEIGHT_INF &&
                 aot_meta_get(p->cut->ctx, aot_node_at(p->cut, x->id)->meta)->val == AOT_VAL_TENSOR;
    aot_graph_link_once(p->cut);
    if (n->verdict == AOT_V_RECOMPUTED) {
        collect_saved_above(x);
    }
    collect_readers(x);
    explain_find_path(x);
    explain_find_source(x);
    find_item(x);
}

aot_status aot_explain_start(aot_explain *out, const aot_partition_in *in, const aot_config *config,
                             const char *name, aot_err *err)
{
    aot_explain x = {.weight_limit = -1, .flip_weight = -1, .flip_change = AOT_NO_CHANGE};
    explain_trials *t = aot_xcalloc(1, sizeof *t);
    x.trials = t;
    t->pr = aot_partitioner_new(in);
    t->config = *config;
    aot_status status = aot_partitioner_solve(t->pr, &t->p, config, NULL, 0, err);
    if (status == AOT_OK) {
        x.p = t->p;
        x.id = aot_graph_find(x.p->cut, name);
        status = x.id == AOT_NO_NODE ? no_such_value(x.p->cut, name, err) : AOT_OK;
    }
    if (status != AOT_OK) {
        aot_explain_free(&x);
        return status;
    }
    t->name = aot_node_at(x.p->cut, x.id)->name;
    find_facts(&x);
    *out = x;
    return AOT_OK;
}

bool aot_explain_step(aot_explain *x)
{
    explain_trials *t = x->trials;
    aot_verdict v = (aot_verdict)x->p->nodes[x->id].verdict;
    bool changes = v == AOT_V_SAVED || v == AOT_V_RECOMPUTED || v == AOT_V_FORWARD_ONLY;
    int last = changes ? 1 + N_TAGS + N_SWITCHES : 1;
    if (t->next >= last) {
        return false;
    }
    if (t->next == 0) {
        find_limit(x, t);
        find_flip_weight(x, t);
    } else if (t->next <= N_TAGS) {
        try_tag(x, t, t->next - 1);
    } else {
        try_setting(x, t, t->next - 1 - N_TAGS);
    }
    if (aot_progress_stopped()) {
        return false;
    }
    if (++t->next == last) {
        find_flip_change(x);
    }
    return t->next < last;
}

aot_status aot_explain_node(aot_explain *out, const aot_partition_in *in, const aot_config *config,
                            const char *name, aot_err *err)
{
    AOT_TRY(aot_explain_start(out, in, config, name, err));
    while (aot_explain_step(out)) {
    }
    return AOT_OK;
}
