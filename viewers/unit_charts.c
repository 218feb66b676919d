/* From what the library knows of a unit to charts. Which way they are drawn is chart.h's. */
#include "viewers/unit_charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memgroup.h"
#include "ir/text.h"
#include "session/unit_pareto.h"
#include "viewers/format.h"
#include "viewers/viewer.h"

/* ---- memory ------------------------------------------------------------------------------------
 */

/* One kind's bytes in each row of a side; false: it has none. out has an entry for each row. */
static bool bytes_of_kind(int64_t *out, const aot_memgroups *g, const char *kind)
{
    for (uint32_t i = 0; i < g->n; i++) {
        if (strcmp(g->d[i].key, kind) == 0) {
            aot_memgroups_over_time(out, g, i);
            return g->d[i].most_bytes != 0;
        }
    }
    memset(out, 0, g->side->live.n * sizeof *out);
    return false;
}

static void add_side(aot_chart *c, uint32_t series, const aot_graph *g, const aot_memory_side *s,
                     const int64_t *bytes, double first)
{
    for (size_t r = 0; r < s->live.n; r++) {
        aot_chart_point(c, series, first + (double)r, (double)bytes[r],
                        aot_node_name(g, s->live.d[r].node));
    }
}

static void mark_peak(aot_chart *c, const char *which, const aot_graph *g, const aot_memory_side *s,
                      double first)
{
    char size[32];
    if (s->peak_node == AOT_NO_NODE) {
        return;
    }
    aot_sb label = {0};
    aot_sb_addf(&label, "%s peak: %s, %s", which, aot_format_bytes(size, sizeof size, s->peak),
                aot_node_name(g, s->peak_node));
    aot_chart_mark_at(c, AOT_CHART_AT_XY, first + s->peak_row, (double)s->peak,
                      aot_sb_text(&label));
    aot_sb_free(&label);
}

aot_chart *aot_chart_of_memory(const aot_partition *p, const char *label)
{
    aot_memory m;
    aot_memory_of_partition(&m, p, NULL);
    aot_chart *c = aot_chart_new("Live bytes, step by step", label);
    double half = (double)m.forward.live.n;
    aot_memgroups forward, backward;
    aot_memgroups_make(&forward, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_KIND, NULL, false);
    aot_memgroups_make(&backward, p, &m, AOT_SIDE_BACKWARD, AOT_MEM_BY_KIND, NULL, false);
    int64_t *fw = aot_xcalloc(m.forward.live.n + 1, sizeof *fw);
    int64_t *bw = aot_xcalloc(m.backward.live.n + 1, sizeof *bw);
    aot_chart_axes(c, "step: the forward, then the backward", AOT_CHART_INDEX, "live",
                   AOT_CHART_BYTES);
    for (int k = 0; k < AOT_N_MEM_KINDS; k++) {
        const char *kind = aot_mem_kind_name((aot_mem_kind)k);
        bool any = bytes_of_kind(fw, &forward, kind);
        any |= bytes_of_kind(bw, &backward, kind);
        if (any) {
            uint32_t s = aot_chart_series_new(c, kind, AOT_CHART_AREA);
            add_side(c, s, p->forward, &m.forward, fw, 0);
            add_side(c, s, p->backward, &m.backward, bw, half);
        }
    }
    if (half > 0 && m.backward.live.n > 0) {
        aot_chart_mark_at(c, AOT_CHART_AT_X, half, 0, "backward");
    }
    mark_peak(c, "forward", p->forward, &m.forward, 0);
    mark_peak(c, "backward", p->backward, &m.backward, half);
    free(fw);
    free(bw);
    aot_memgroups_free(&forward);
    aot_memgroups_free(&backward);
    aot_memory_free(&m);
    return c;
}

/* ---- budgets -----------------------------------------------------------------------------------
 */

static int by_bytes(const void *x, const void *y)
{
    const aot_pareto_point *a = *(aot_pareto_point *const *)x, *b = *(aot_pareto_point *const *)y;
    if (a->new_bytes != b->new_bytes) {
        return a->new_bytes < b->new_bytes ? -1 : 1;
    }
    return (a->recompute_flops > b->recompute_flops) - (a->recompute_flops < b->recompute_flops);
}

/* The points of one solver, fewest new bytes first, those of the same bytes and cost once. */
static size_t distinct_of(const aot_pareto_point **out, const aot_pareto *x, const char *solver)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < x->points.n; i++) {
        const aot_pareto_point *p = &x->points.d[i];
        if (strcmp(p->solver, solver) == 0 && p->error == NULL) {
            out[n++] = p;
        }
    }
    qsort(out, n, sizeof *out, by_bytes);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_bytes(&out[i], &out[kept - 1]) != 0) {
            out[kept++] = out[i];
        }
    }
    return kept;
}

void aot_flips_words(aot_sb *out, const aot_pareto_point *p)
{
    enum { MOST = 3 };
    uint32_t n = p->n_newly_saved + p->n_no_longer_saved;
    char bytes[32];
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        bool new = i < p->n_newly_saved;
        const aot_pareto_value *v =
            new ? &p->newly_saved[i] : &p->no_longer_saved[i - p->n_newly_saved];
        aot_sb_addf(out, "%s%s%s %s", i > 0 ? ", " : "", new ? "+" : "-", v->name,
                    aot_format_bytes(bytes, sizeof bytes, v->bytes));
    }
    if (n > MOST) {
        aot_sb_addf(out, " and %u more", n - MOST);
    }
}

static int64_t peak_of(const aot_pareto_point *p)
{
    return p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
}

static void add_budget(aot_chart *c, uint32_t series, const aot_pareto_point *p)
{
    char bytes[32], fresh[32], flops[64], peak[32];
    aot_sb tip = {0};
    aot_sb_addf(&tip, "budget %.4g: %s saved, %s of it new, recompute %s, peak %s, by %s",
                p->budget, aot_format_bytes(bytes, sizeof bytes, p->saved_bytes),
                aot_format_bytes(fresh, sizeof fresh, p->new_bytes),
                aot_format_flops(flops, sizeof flops, p->recompute_flops),
                aot_format_bytes(peak, sizeof peak, peak_of(p)), p->rung != NULL ? p->rung : "");
    if (p->n_newly_saved + p->n_no_longer_saved != 0) {
        aot_sb_addz(&tip, "; ");
        aot_flips_words(&tip, p);
    }
    aot_chart_point(c, series, (double)p->new_bytes, p->recompute_flops, aot_sb_text(&tip));
    aot_sb_free(&tip);
}

static void mark_now(aot_chart *c, const aot_pareto *x, double budget_now)
{
    for (size_t i = 0; i < x->points.n; i++) {
        const aot_pareto_point *p = &x->points.d[i];
        if (p->error == NULL && fabs(p->budget - budget_now) < 1e-9) {
            char label[64];
            snprintf(label, sizeof label, "budget %.4g, in force", budget_now);
            aot_chart_mark_at(c, AOT_CHART_AT_XY, (double)p->new_bytes, p->recompute_flops,
                              label);
            return;
        }
    }
}

/* The next solver after the points up to *at, which stand by solver; NULL: no more. */
static const char *next_solver(const aot_pareto *x, size_t *at)
{
    const char *before = *at > 0 ? x->points.d[*at - 1].solver : "";
    while (*at < x->points.n && strcmp(x->points.d[*at].solver, before) == 0) {
        (*at)++;
    }
    return *at < x->points.n ? x->points.d[(*at)++].solver : NULL;
}

static bool same_points(const aot_chart_series *a, const aot_chart_series *b)
{
    bool same = a->shape == b->shape && a->points.n == b->points.n;
    for (size_t i = 0; same && i < a->points.n; i++) {
        same = a->points.d[i].x == b->points.d[i].x && a->points.d[i].y == b->points.d[i].y;
    }
    return same;
}

/* Takes the last series away if it has no points, or if one of another solver before it has the
 * same: then that one gets the solver's name too. */
static void end_series(aot_chart *c, const char *solver)
{
    aot_chart_series *last = &c->series.d[c->series.n - 1];
    bool drop = last->points.n == 0;
    for (size_t k = 0; !drop && k + 1 < c->series.n; k++) {
        aot_chart_series *old = &c->series.d[k];
        if (same_points(old, last)) {
            old->name = aot_arena_printf(c->arena, "%s, %s", old->name, solver);
            drop = true;
        }
    }
    if (drop) {
        aot_vec_free(&last->points);
        c->series.n--;
    }
}

/* The solver's points that none of its own beats (front), or the others. points: by bytes, then
 * cost. */
static void add_curve(aot_chart *c, const aot_pareto_point *const *points, size_t n,
                      const char *solver, bool front)
{
    char name[160];
    double least = INFINITY;
    snprintf(name, sizeof name, front ? "%s" : "no gain: %s", solver);
    uint32_t s = aot_chart_series_new(c, name, front ? AOT_CHART_MARKED : AOT_CHART_POINTS);
    for (size_t k = 0; k < n; k++) {
        if ((points[k]->recompute_flops < least) == front) {
            add_budget(c, s, points[k]);
        }
        least = fmin(least, points[k]->recompute_flops);
    }
    end_series(c, solver);
}

aot_chart *aot_chart_of_pareto(const aot_pareto *x, const char *label, double budget_now)
{
    aot_chart *c = aot_chart_new("What saving less costs", label);
    const aot_pareto_point **points = aot_xcalloc(x->points.n + 1, sizeof *points);
    const char *solver;
    aot_chart_axes(c, "saved for the backward, inputs apart", AOT_CHART_BYTES, "recompute",
                   AOT_CHART_FLOPS);
    for (int front = 1; front >= 0; front--) {
        for (size_t at = 0; (solver = next_solver(x, &at)) != NULL;) {
            size_t n = distinct_of(points, x, solver);
            add_curve(c, points, n, solver, front);
        }
    }
    mark_now(c, x, budget_now);
    free(points);
    return c;
}

enum bytes_of { SAVED, NEW, PEAK };

static void add_steps(aot_chart *c, const aot_pareto *x, const char *solver, enum bytes_of which)
{
    static const char *const what[] = {"saved", "of it new", "highest live bytes"};
    char name[128];
    bool many = strcmp(x->points.d[0].solver, x->points.d[x->points.n - 1].solver) != 0;
    snprintf(name, sizeof name, many ? "%s: %s" : "%s", what[which], solver);
    uint32_t series = aot_chart_series_new(c, name, AOT_CHART_STEP);
    for (size_t k = 0; k < x->points.n; k++) {
        const aot_pareto_point *p = &x->points.d[k];
        if (strcmp(p->solver, solver) == 0 && p->error == NULL) {
            int64_t bytes = which == SAVED ? p->saved_bytes
                            : which == NEW ? p->new_bytes
                                           : peak_of(p);
            aot_chart_point(c, series, p->budget, (double)bytes, NULL);
        }
    }
    if (many) {
        end_series(c, solver);
    }
}

aot_chart *aot_chart_of_budgets(const aot_pareto *x, const char *label, double budget_now)
{
    char now[64];
    const char *solver;
    aot_chart *c = aot_chart_new("Bytes at each memory budget", label);
    aot_chart_axes(c, "activation_memory_budget", AOT_CHART_NUMBER, "bytes", AOT_CHART_BYTES);
    for (int which = SAVED; which <= PEAK; which++) {
        for (size_t at = 0; (solver = next_solver(x, &at)) != NULL;) {
            add_steps(c, x, solver, (enum bytes_of)which);
        }
    }
    snprintf(now, sizeof now, "in force: %.4g", budget_now);
    aot_chart_mark_at(c, AOT_CHART_AT_X, budget_now, 0, now);
    return c;
}

/* ---- viewers -----------------------------------------------------------------------------------
 */

aot_status aot_make_memory_chart(aot_chart **out, const aot_draw_in *in, aot_err *err)
{
    (void)err;
    *out = aot_chart_of_memory(in->part, in->label);
    return AOT_OK;
}

aot_status aot_make_pareto_chart(aot_chart **out, const aot_draw_in *in, aot_err *err)
{
    enum { POINTS = 41, LARGE = 5000 }; // nodes: each point is a cut
    double budgets[POINTS];
    const aot_graph *joint;
    aot_config config;
    aot_pareto *x;
    aot_sb text = {0};
    aot_memory_options walk = {0};
    if (!in->model) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "budgets are cut from an opened input only");
    }
    AOT_TRY(aot_model_config(in->model, (size_t)in->unit, &config, err));
    AOT_TRY(aot_model_graph(in->model, (size_t)in->unit, AOT_STAGE_JOINT, &joint, err));
    int n = joint->nodes.n > LARGE ? POINTS / 2 + 1 : POINTS;
    for (int i = 0; i < n; i++) {
        budgets[i] = i / (double)(n - 1);
    }
    const char *solver = config.activation_memory_budget_solver;
    aot_pareto_ask ask = {
        .solvers = &solver, .n_solvers = 1, .budgets = budgets, .n_budgets = (size_t)n};
    // parsed anew, as a partitioner interns names in the graph's context, and the model keeps its
    // own
    aot_print_graph(&text, joint, 0);
    aot_record record = {.name = "joint",
                         .text = aot_sb_text(&text),
                         .len = text.n,
                         .line = 1,
                         .stage = AOT_STAGE_JOINT};
    aot_status s = aot_unit_pareto(&x, aot_model_unit(in->model, (size_t)in->unit), &record,
                                   &config, &ask, &walk, err);
    if (s == AOT_OK) {
        *out = aot_chart_of_pareto(x, in->label, config.activation_memory_budget);
        aot_pareto_free(x);
    }
    aot_sb_free(&text);
    return s;
}
