/* One cut after the other of one unit, by one partitioner. The joint graph is parsed into a context
 * of its own; ids are those of the same text, and so the same as elsewhere. */
#include "session/budget_curve.h"

#include <string.h>

#include "base/arena.h"
#include "ir/text.h"
#include "partition/partitioner.h"
#include "session/derive.h"
#include "session/walker.h"

struct aot_budget_curve {
    const aot_unit *u;
    const aot_partition *now;
    aot_config config;
    aot_record joint;     /* text of the joint graph */
    aot_sb text;          /* of a derived one */
    aot_walker *walker;   /* NULL: the joint graph was not recorded */
    aot_ctx *ctx;
    const aot_graph *graph; /* parsed, in ctx */
    aot_partitioner *again; /* of graph after the passes before the cut; NULL: not made yet */
    aot_partition *last;  /* of it; NULL */
    aot_arena *arena;     /* of the points */
    size_t n_words;
    AOT_VEC(aot_budget_point) points; /* by budget */
};

aot_status aot_budget_curve_new(aot_budget_curve **out, aot_model *m, size_t unit, aot_err *err)
{
    const aot_partition *now;
    const aot_graph *joint;
    aot_config config;
    AOT_TRY(aot_model_partition(m, unit, &now, err));
    AOT_TRY(aot_model_config(m, unit, &config, err));
    AOT_TRY(aot_model_graph(m, unit, AOT_STAGE_JOINT, &joint, err));
    aot_budget_curve *c = aot_xcalloc(1, sizeof *c);
    c->u = aot_model_unit(m, unit);
    c->now = now;
    c->config = config;
    c->arena = aot_arena_new();
    c->n_words = now->cut->nodes.n / 64 + 1;
    const aot_record *r = aot_unit_stage(c->u, AOT_STAGE_JOINT);
    if (r != NULL && !aot_unit_traced_otherwise(c->u, &config)) {
        c->joint = *r;
        c->walker = aot_walker_new(c->u, r, NULL);
    } else {
        aot_print_graph(&c->text, joint, AOT_PRINT_PLAIN);
        c->joint.text = aot_sb_text(&c->text);
        c->joint.len = c->text.n;
        c->joint.stage = AOT_STAGE_JOINT;
    }
    *out = c;
    return AOT_OK;
}

void aot_budget_curve_free(aot_budget_curve *c)
{
    if (c != NULL) {
        aot_walker_free(c->walker);
        aot_partition_release(c->last);
        aot_partitioner_free(c->again);
        aot_ctx_free(c->ctx);
        aot_sb_free(&c->text);
        aot_vec_free(&c->points);
        aot_arena_free(c->arena);
        free(c);
    }
}

const aot_partition *aot_budget_curve_now(const aot_budget_curve *c)
{
    return c->now;
}

bool aot_budget_curve_renew(aot_budget_curve *c, aot_model *m, size_t unit)
{
    const aot_partition *now;
    aot_err err = {0};
    if (aot_model_partition(m, unit, &now, &err) != AOT_OK ||
        now->cut->nodes.n / 64 + 1 != c->n_words) {
        return false;
    }
    c->now = now;
    return true;
}

size_t aot_budget_curve_count(const aot_budget_curve *c)
{
    return c->points.n;
}

const aot_budget_point *aot_budget_curve_point(const aot_budget_curve *c, size_t i)
{
    return &c->points.d[i];
}

/* The first point at or above a budget. */
static size_t place_of(const aot_budget_curve *c, int at)
{
    size_t low = 0, high = c->points.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->points.d[middle].at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const aot_budget_point *aot_budget_curve_find(const aot_budget_curve *c, int at)
{
    size_t i = place_of(c, at);
    return i < c->points.n && c->points.d[i].at == at ? &c->points.d[i] : NULL;
}

bool aot_budget_same_saved(const aot_budget_curve *c, const aot_budget_point *a,
                           const aot_budget_point *b)
{
    return a->failed == b->failed &&
           (a->failed || memcmp(a->saved, b->saved, c->n_words * sizeof *a->saved) == 0);
}

const aot_budget_point *aot_budget_curve_next(const aot_budget_curve *c, int at, int dir)
{
    size_t i = place_of(c, at);
    const aot_budget_point *here = aot_budget_curve_find(c, at);
    while (here != NULL) {
        if (dir < 0 ? i == 0 : i + 1 >= c->points.n) {
            break;
        }
        i = dir < 0 ? i - 1 : i + 1;
        if (!aot_budget_same_saved(c, here, &c->points.d[i])) {
            return &c->points.d[i];
        }
    }
    return NULL;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static aot_status parse(aot_budget_curve *c, aot_err *err)
{
    aot_ctx_free(c->ctx); // of a try that failed
    c->ctx = aot_unit_new_ctx(c->u);
    return aot_record_parse(&c->graph, c->ctx, c->u, &c->joint, err);
}

/* What does not depend on the budget is found once. */
static aot_status solve(aot_budget_curve *c, const aot_partition **out, const aot_config *config,
                        aot_err *err)
{
    if (c->again == NULL) {
        AOT_TRY(parse(c, err));
        AOT_TRY(aot_derive_partitioner(&c->again, c->u, c->graph, config, NULL, err));
    }
    aot_partition_release(c->last);
    c->last = NULL;
    AOT_TRY(aot_partitioner_solve(c->again, &c->last, config, NULL, 0, err));
    *out = c->last;
    return AOT_OK;
}

static aot_status partition_at(aot_budget_curve *c, const aot_partition **out, int at, aot_err *err)
{
    aot_config config = c->config;
    config.activation_memory_budget = (double)at / AOT_BUDGET_STEPS;
    return solve(c, out, &config, err);
}

static void add_ids(aot_budget_point *x, const aot_node_id *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        x->saved[ids[i] / 64] |= (uint64_t)1 << (ids[i] % 64);
    }
}

static void fill(aot_budget_curve *c, aot_budget_point *x, const aot_partition *p)
{
    aot_memory m;
    x->rung = p->rung;
    x->saved_bytes = aot_saved_tensor_bytes(p);
    x->new_bytes = p->saved_new_bytes;
    x->n_saved = p->n_saved + p->n_saved_sym;
    x->recompute_flops = p->recompute_flops;
    x->saved = AOT_NEW_ARRAY(c->arena, uint64_t, c->n_words);
    add_ids(x, p->saved, p->n_saved);
    add_ids(x, p->saved_sym, p->n_saved_sym);
    if (c->walker != NULL) {
        aot_walker_memory(c->walker, &m, p);
    } else {
        aot_memory_of_partition(&m, p, NULL);
    }
    x->forward_peak = m.forward.peak;
    x->backward_peak = m.backward.peak;
    aot_memory_free(&m);
}

void aot_budget_curve_cut(aot_budget_curve *c, int at)
{
    const aot_partition *p;
    aot_err err = {0};
    at = at < 0 ? 0 : at > AOT_BUDGET_STEPS ? AOT_BUDGET_STEPS : at;
    if (aot_budget_curve_find(c, at) != NULL) {
        return;
    }
    aot_budget_point x = {.at = at};
    if (partition_at(c, &p, at, &err) != AOT_OK) {
        x.failed = true;
        x.failure = aot_arena_printf(c->arena, "%s", err.msg);
    } else if (p->cut->nodes.n / 64 + 1 != c->n_words) {
        x.failed = true; // ids would mean other nodes
        x.failure = "the graph that is cut is another one at this budget";
    } else {
        fill(c, &x, p);
    }
    size_t i = place_of(c, at);
    aot_vec_push(&c->points, x);
    memmove(&c->points.d[i + 1], &c->points.d[i], (c->points.n - 1 - i) * sizeof x);
    c->points.d[i] = x;
}

bool aot_budget_curve_step(aot_budget_curve *c, int gap)
{
    int best = 0, at = -1;
    if (aot_budget_curve_find(c, 0) == NULL || aot_budget_curve_find(c, AOT_BUDGET_STEPS) == NULL) {
        at = aot_budget_curve_find(c, AOT_BUDGET_STEPS) == NULL ? AOT_BUDGET_STEPS : 0;
    }
    for (size_t i = 0; at < 0 && i + 1 < c->points.n; i++) {
        const aot_budget_point *a = &c->points.d[i], *b = a + 1;
        int wide = b->at - a->at;
        if (wide > gap && wide > best && !aot_budget_same_saved(c, a, b)) {
            best = wide;
        }
    }
    for (size_t i = 0; at < 0 && best > 0 && i + 1 < c->points.n; i++) {
        const aot_budget_point *a = &c->points.d[i], *b = a + 1;
        if (b->at - a->at == best && !aot_budget_same_saved(c, a, b)) {
            at = (a->at + b->at) / 2;
        }
    }
    if (at < 0) {
        return false;
    }
    aot_budget_curve_cut(c, at);
    return true;
}
