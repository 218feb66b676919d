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

/* Bytes of each kind in each row of a side: out[kind * rows + row]. A block counts from its birth
 * to its death: its bytes are added where it is born and taken off after it died. */
static int64_t *bytes_of_kinds(const aot_memory_side *s)
{
    size_t rows = s->live.n;
    int64_t *out = aot_xcalloc(AOT_N_MEM_KINDS * (rows + 1) + 1, sizeof *out);
    for (size_t i = 0; i < s->blocks.n; i++) {
        const aot_mem_block *b = &s->blocks.d[i];
        int64_t *kind = out + b->kind * (rows + 1);
        size_t end = b->died == UINT32_MAX || b->died >= rows ? rows : (size_t)b->died + 1;
        kind[b->born < rows ? b->born : rows] += b->bytes;
        kind[end] -= b->bytes;
    }
    for (size_t k = 0; k < AOT_N_MEM_KINDS; k++) {
        int64_t *kind = out + k * (rows + 1);
        for (size_t r = 1; r <= rows; r++) {
            kind[r] += kind[r - 1];
        }
    }
    return out;
}

static bool has_any(const int64_t *bytes, size_t rows, unsigned kind)
{
    for (size_t r = 0; r < rows; r++) {
        if (bytes[kind * (rows + 1) + r] != 0) {
            return true;
        }
    }
    return false;
}

static void add_side(aot_chart *c, uint32_t series, const aot_graph *g, const aot_memory_side *s,
                     const int64_t *bytes, unsigned kind, double first)
{
    for (size_t r = 0; r < s->live.n; r++) {
        int64_t now = bytes[kind * (s->live.n + 1) + r];
        aot_chart_point(c, series, first + (double)r, (double)now,
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
    int64_t *fw = bytes_of_kinds(&m.forward), *bw = bytes_of_kinds(&m.backward);
    aot_chart_axes(c, "step: the forward, then the backward", AOT_CHART_INDEX, "live",
                   AOT_CHART_BYTES);
    for (unsigned k = 0; k < AOT_N_MEM_KINDS; k++) {
        if (has_any(fw, m.forward.live.n, k) || has_any(bw, m.backward.live.n, k)) {
            uint32_t s =
                aot_chart_series_new(c, aot_mem_kind_name((aot_mem_kind)k), AOT_CHART_AREA);
            add_side(c, s, p->forward, &m.forward, fw, k, 0);
            add_side(c, s, p->backward, &m.backward, bw, k, half);
        }
    }
    if (half > 0 && m.backward.live.n > 0) {
        aot_chart_mark_at(c, AOT_CHART_AT_X, half, 0, "backward");
    }
    mark_peak(c, "forward", p->forward, &m.forward, 0);
    mark_peak(c, "backward", p->backward, &m.backward, half);
    free(fw);
    free(bw);
    aot_memory_free(&m);
    return c;
}

/* ---- budgets -----------------------------------------------------------------------------------
 */

static int by_bytes(const void *x, const void *y)
{
    const aot_pareto_point *a = *(aot_pareto_point *const *)x, *b = *(aot_pareto_point *const *)y;
    if (a->saved_bytes != b->saved_bytes) {
        return a->saved_bytes < b->saved_bytes ? -1 : 1;
    }
    return (a->recompute_flops < b->recompute_flops) - (a->recompute_flops > b->recompute_flops);
}

/* The points of one solver that differ from the one before, fewest bytes first. */
static size_t distinct_of(aot_pareto_point **out, const aot_pareto *x, const char *solver)
{
    size_t n = 0;
    for (size_t i = 0; i < x->points.n; i++) {
        aot_pareto_point *p = &x->points.d[i];
        if (strcmp(p->solver, solver) == 0 && p->error == NULL && !p->same_as_before) {
            out[n++] = p;
        }
    }
    qsort(out, n, sizeof *out, by_bytes);
    return n;
}

static void add_budget(aot_chart *c, uint32_t series, const aot_pareto_point *p)
{
    char bytes[32], flops[64], peak[32];
    int64_t most = p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
    aot_sb tip = {0};
    aot_sb_addf(&tip, "budget %.4g: %s saved, %s again, peak %s, by %s", p->budget,
                aot_format_bytes(bytes, sizeof bytes, p->saved_bytes),
                aot_chart_value(flops, sizeof flops, AOT_CHART_FLOPS, p->recompute_flops),
                aot_format_bytes(peak, sizeof peak, most), p->rung ? p->rung : "");
    aot_chart_point(c, series, (double)p->saved_bytes, p->recompute_flops, aot_sb_text(&tip));
    aot_sb_free(&tip);
}

static void mark_now(aot_chart *c, const aot_pareto *x, double budget_now)
{
    for (size_t i = 0; i < x->points.n; i++) {
        const aot_pareto_point *p = &x->points.d[i];
        if (p->error == NULL && fabs(p->budget - budget_now) < 1e-9) {
            char label[64];
            snprintf(label, sizeof label, "budget %.4g, in force", budget_now);
            aot_chart_mark_at(c, AOT_CHART_AT_XY, (double)p->saved_bytes, p->recompute_flops,
                              label);
            return;
        }
    }
}

aot_chart *aot_chart_of_pareto(const aot_pareto *x, const char *label, double budget_now)
{
    aot_chart *c =
        aot_chart_new("Memory budgets: what is saved against what is computed again", label);
    aot_pareto_point **distinct = aot_xcalloc(x->points.n + 1, sizeof *distinct);
    const char *solver = "";
    aot_chart_axes(c, "saved for the backward", AOT_CHART_BYTES, "computed again", AOT_CHART_FLOPS);
    for (size_t i = 0; i < x->points.n; i++) { // points stand by solver
        if (strcmp(x->points.d[i].solver, solver) != 0) {
            solver = x->points.d[i].solver;
            size_t n = distinct_of(distinct, x, solver);
            uint32_t s = aot_chart_series_new(c, solver, AOT_CHART_MARKED);
            for (size_t k = 0; k < n; k++) {
                add_budget(c, s, distinct[k]);
            }
        }
    }
    mark_now(c, x, budget_now);
    free(distinct);
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
    // each budget is cut from a text, so that one cut's memory can be let go of before the next
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
