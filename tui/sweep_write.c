/* Sweeps as a table for people, as CSV, and as charts: bytes saved against flops computed again, and
 * bytes against the budget. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/open_model.h"
#include "tui/out_format.h"
#include "tui/sweep.h"
#include "viewers/format.h"
#include "viewers/table.h"

/* ---- text ------------------------------------------------------------------------------------- */

/* "+ mm_1 32.0 KiB, + add, - sin and 3 more": what is newly saved, then what no longer is. */
static void flips_words(aot_sb *out, const aot_pareto_point *p)
{
    enum { MOST = 3 };
    uint32_t n = p->n_newly_saved + p->n_no_longer_saved;
    char bytes[32];
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        bool new = i < p->n_newly_saved;
        const aot_pareto_value *v = new ? &p->newly_saved[i] : &p->no_longer_saved[i - p->n_newly_saved];
        aot_sb_addf(out, "%s%s%s %s", i > 0 ? ", " : "", new ? "+" : "-", v->name,
                    aot_format_bytes(bytes, sizeof bytes, v->bytes));
    }
    if (n > MOST) {
        aot_sb_addf(out, " and %u more", n - MOST);
    }
}

static void text_row(aot_table *t, const aot_pareto_point *p, double last, bool many_solvers)
{
    char range[64];
    char flops[64];
    aot_sb flips = {0};
    if (last > p->budget) {
        snprintf(range, sizeof range, "%.4g to %.4g", p->budget, last);
    } else {
        snprintf(range, sizeof range, "%.4g", p->budget);
    }
    aot_table_row(t);
    aot_table_cellf(t, "%s %s", p->error == NULL && !p->dominated ? "*" : " ", range);
    if (many_solvers) {
        aot_table_cell(t, p->solver);
    }
    if (p->error != NULL) {
        for (int i = 0; i < 5; i++) {
            aot_table_cell(t, "");
        }
        aot_table_cell(t, "not cut");
        aot_table_cell(t, p->error);
        return;
    }
    aot_table_bytes(t, p->saved_bytes);
    aot_table_cellf(t, "%u", p->n_saved);
    aot_table_bytes(t, p->forward_peak);
    aot_table_bytes(t, p->backward_peak);
    aot_table_cell(t, aot_chart_value(flops, sizeof flops, AOT_CHART_FLOPS, p->recompute_flops));
    aot_table_cell(t, p->rung);
    flips_words(&flips, p);
    aot_table_cell(t, aot_sb_text(&flips));
    aot_sb_free(&flips);
}

static void text_unit(aot_sb *out, const aot_sweep *s, const aot_sweep_unit *u)
{
    static const char *const titles[] = {"saved", "values", "forward peak", "backward peak", "again", "decided by",
                                         "against the row above"};
    aot_table *t = aot_table_new();
    const aot_pareto_point *p = u->pareto->points.d;
    size_t n = u->pareto->points.n;
    aot_table_column(t, "  budget", AOT_LEFT, 0);
    if (s->solvers.n > 1) {
        aot_table_column(t, "solver", AOT_LEFT, 0);
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 5 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && p[k].same_as_before; k++) {
        }
        text_row(t, &p[i], p[k - 1].budget, s->solvers.n > 1);
    }
    aot_sb_addf(out, "# unit %d %s %s: %zu points, configured budget %g\n", u->number, u->label, u->title, n,
                u->budget_now);
    aot_table_print(out, t, aot_out_table_flags(), 0, 0);
    aot_table_free(t);
}

/* ---- CSV -------------------------------------------------------------------------------------- */

static void names_cell(aot_table *t, const aot_pareto_value *v, uint32_t n)
{
    aot_sb b = {0};
    for (uint32_t i = 0; i < n; i++) {
        aot_sb_addf(&b, "%s%s", i > 0 ? " " : "", v[i].name);
    }
    aot_table_cell(t, aot_sb_text(&b));
    aot_sb_free(&b);
}

static void csv_row(aot_table *t, const aot_sweep_unit *u, const aot_pareto_point *p)
{
    int64_t peak = p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
    const int64_t numbers[] = {p->n_saved, p->saved_bytes, (int64_t)p->recompute_flops, p->forward_peak,
                               p->backward_peak, peak};
    aot_table_row(t);
    aot_table_cellf(t, "%d", u->number);
    aot_table_cell(t, u->label);
    aot_table_cell(t, p->solver);
    aot_table_cellf(t, "%.10g", p->budget);
    aot_table_cell(t, p->rung != NULL ? p->rung : "");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (p->error != NULL) {
            aot_table_cell(t, "");
        } else {
            aot_table_cellf(t, "%lld", (long long)numbers[i]);
        }
    }
    aot_table_cell(t, p->error != NULL ? "" : p->dominated ? "0" : "1");
    names_cell(t, p->newly_saved, p->n_newly_saved);
    names_cell(t, p->no_longer_saved, p->n_no_longer_saved);
    aot_table_cell(t, p->error != NULL ? p->error : "");
}

static void csv(aot_sb *out, const aot_sweep *s)
{
    static const char *const titles[] = {"unit", "label", "solver", "budget", "rung", "saved_values", "saved_bytes",
                                         "recompute_flops", "forward_peak", "backward_peak", "peak_bytes", "on_front",
                                         "newly_saved", "no_longer_saved", "error"};
    aot_table *t = aot_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], AOT_LEFT, 0);
    }
    for (size_t i = 0; i < s->units.n; i++) {
        for (size_t k = 0; k < s->units.d[i].pareto->points.n; k++) {
            csv_row(t, &s->units.d[i], &s->units.d[i].pareto->points.d[k]);
        }
    }
    aot_table_print(out, t, AOT_TABLE_CSV, 0, 0);
    aot_table_free(t);
}

/* ---- charts ----------------------------------------------------------------------------------- */

static void add_point(aot_chart *c, uint32_t series, double x, double y, const aot_pareto_point *p)
{
    aot_sb tip = {0};
    char bytes[32], flops[64];
    aot_sb_addf(&tip, "budget %.4g: %s saved, %s again", p->budget,
                aot_format_bytes(bytes, sizeof bytes, p->saved_bytes),
                aot_chart_value(flops, sizeof flops, AOT_CHART_FLOPS, p->recompute_flops));
    if (p->n_newly_saved + p->n_no_longer_saved != 0) {
        aot_sb_addz(&tip, "; ");
        flips_words(&tip, p);
    }
    aot_chart_point(c, series, x, y, aot_sb_text(&tip));
    aot_sb_free(&tip);
}

static int by_bytes(const void *x, const void *y)
{
    const aot_pareto_point *a = *(aot_pareto_point *const *)x, *b = *(aot_pareto_point *const *)y;
    if (a->saved_bytes != b->saved_bytes) {
        return a->saved_bytes < b->saved_bytes ? -1 : 1;
    }
    return (a->recompute_flops < b->recompute_flops) - (a->recompute_flops > b->recompute_flops);
}

/* Points of one solver that were cut, fewest bytes first; repeats left out. */
static size_t distinct_points(aot_pareto_point **out, const aot_sweep_unit *u, const char *solver)
{
    size_t n = 0;
    for (size_t k = 0; k < u->pareto->points.n; k++) {
        aot_pareto_point *p = &u->pareto->points.d[k];
        if (p->solver == solver && p->error == NULL && !p->same_as_before) {
            out[n++] = p;
        }
    }
    qsort(out, n, sizeof *out, by_bytes);
    return n;
}

static const char *subtitle(const aot_sweep_unit *u, char *buf, size_t size)
{
    snprintf(buf, size, "unit %d %s %s", u->number, u->label, u->title);
    return buf;
}

static aot_chart *front_chart(const aot_sweep *s, const aot_sweep_unit *u)
{
    char about[512], label[64];
    aot_chart *c = aot_chart_new("What saving less costs", subtitle(u, about, sizeof about));
    aot_pareto_point **mine = aot_xcalloc(u->pareto->points.n + 1, sizeof *mine);
    const aot_pareto_point *now = NULL;
    aot_chart_axes(c, "saved for the backward", AOT_CHART_BYTES, "computed a second time", AOT_CHART_FLOPS);
    for (size_t i = 0; i < s->solvers.n; i++) {
        uint32_t series = aot_chart_series_new(c, s->solvers.d[i], AOT_CHART_MARKED);
        size_t n = distinct_points(mine, u, s->solvers.d[i]);
        for (size_t k = 0; k < n; k++) {
            add_point(c, series, (double)mine[k]->saved_bytes, mine[k]->recompute_flops, mine[k]);
        }
    }
    for (size_t k = 0; k < u->pareto->points.n; k++) {
        const aot_pareto_point *p = &u->pareto->points.d[k];
        now = p->budget == u->budget_now && p->error == NULL && now == NULL ? p : now;
    }
    if (now != NULL) {
        snprintf(label, sizeof label, "budget %.4g, as configured", now->budget);
        aot_chart_mark_at(c, AOT_CHART_AT_XY, (double)now->saved_bytes, now->recompute_flops, label);
    }
    free(mine);
    return c;
}

static void budget_series(aot_chart *c, const aot_sweep_unit *u, const char *solver, const char *name, bool peak)
{
    uint32_t series = aot_chart_series_new(c, name, AOT_CHART_STEP);
    for (size_t k = 0; k < u->pareto->points.n; k++) {
        const aot_pareto_point *p = &u->pareto->points.d[k];
        int64_t most = p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
        if (p->solver == solver && p->error == NULL) {
            aot_chart_point(c, series, p->budget, (double)(peak ? most : p->saved_bytes), NULL);
        }
    }
}

static aot_chart *budget_chart(const aot_sweep *s, const aot_sweep_unit *u)
{
    char about[512], name[128];
    aot_chart *c = aot_chart_new("Bytes at each memory budget", subtitle(u, about, sizeof about));
    aot_chart_axes(c, "activation_memory_budget", AOT_CHART_NUMBER, "bytes", AOT_CHART_BYTES);
    for (size_t i = 0; i < s->solvers.n; i++) {
        const char *solver = s->solvers.d[i];
        snprintf(name, sizeof name, s->solvers.n > 1 ? "saved, %s" : "saved", solver);
        budget_series(c, u, solver, name, false);
        snprintf(name, sizeof name, s->solvers.n > 1 ? "highest live bytes, %s" : "highest live bytes", solver);
        budget_series(c, u, solver, name, true);
    }
    snprintf(name, sizeof name, "configured: %.4g", u->budget_now);
    aot_chart_mark_at(c, AOT_CHART_AT_X, u->budget_now, 0, name);
    return c;
}

/* Points that differ: fewer than three make no curve. */
static bool is_worth_a_plot(const aot_sweep_unit *u)
{
    size_t n = 0;
    for (size_t k = 0; k < u->pareto->points.n; k++) {
        n += !u->pareto->points.d[k].same_as_before && u->pareto->points.d[k].error == NULL;
    }
    return n >= 3;
}

static void text(aot_sb *out, const aot_sweep *s, bool plots)
{
    for (size_t i = 0; i < s->units.n; i++) {
        text_unit(out, s, &s->units.d[i]);
        if (plots && is_worth_a_plot(&s->units.d[i])) {
            aot_chart *c = front_chart(s, &s->units.d[i]);
            aot_out_plot(out, c, 16);
            aot_chart_free(c);
        }
    }
    aot_sb_addz(out, "* nothing saves as little and computes as little again; \"again\" is what is computed a "
                     "second time, + newly saved, - no longer.\n");
}

static aot_status charts(const aot_sweep *s, const aot_args *a, const char *format, aot_err *err)
{
    size_t n = 2 * s->units.n;
    aot_chart **all = aot_xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < s->units.n; i++) {
        all[2 * i] = front_chart(s, &s->units.d[i]);
        all[2 * i + 1] = budget_chart(s, &s->units.d[i]);
    }
    aot_status st = aot_out_charts(a, format, (const aot_chart *const *)all, n, err);
    for (size_t i = 0; i < n; i++) {
        aot_chart_free(all[i]);
    }
    free(all);
    return st;
}

aot_status aot_sweep_write(const aot_sweep *s, const aot_args *a, const char *format, aot_err *err)
{
    aot_sb out = {0};
    if (strcmp(format, "json") == 0) {
        json_t *j = aot_sweep_json(s);
        aot_status st = aot_cmd_write_json(a, j, err);
        json_decref(j);
        return st;
    }
    if (aot_chart_format_known(format)) {
        return charts(s, a, format, err);
    }
    if (strcmp(format, "csv") == 0) {
        csv(&out, s);
    } else {
        text(&out, s, !aot_args_has(a, "no-plot"));
    }
    aot_status st = aot_out_write(a, format, &out, err);
    aot_sb_free(&out);
    return st;
}
