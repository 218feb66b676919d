/* Sweeps as a table for people, as CSV, and as charts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/open_model.h"
#include "tui/out_format.h"
#include "tui/sweep.h"
#include "viewers/format.h"
#include "viewers/table.h"
#include "viewers/unit_charts.h"

/* ---- text ------------------------------------------------------------------------------------ */

/* What a table tells in place of all points: what is decided alike and differs by less than a
 * hundredth in saved bytes and recomputation from the first of a row is in that row, told by its
 * last point on the front. */
typedef struct rows {
    aot_pareto *of;   /* a point a row, compared with the row above */
    AOT_VEC(double) last; /* budget of its last point */
    AOT_VEC(bool) front;
} rows;

static bool is_near(const aot_pareto_point *a, const aot_pareto_point *b)
{
    double bytes = (double)a->saved_bytes - (double)b->saved_bytes;
    return a->solver == b->solver && a->error == NULL && b->error == NULL &&
           strcmp(a->rung, b->rung) == 0 && fabs(bytes) < 0.01 * (double)a->saved_bytes &&
           fabs(a->recompute_flops - b->recompute_flops) <= 0.01 * a->recompute_flops;
}

static rows rows_of(const aot_sweep *s, const aot_pareto *x, bool all)
{
    rows r = {.of = aot_pareto_new()};
    const aot_pareto_point *p = x->points.d;
    for (size_t i = 0, k, told; i < x->points.n; i = k) {
        for (k = i + 1, told = i; k < x->points.n; k++) {
            if (!aot_pareto_same_row(&p[k - 1], &p[k])) {
                if (all || !is_near(&p[i], &p[k])) {
                    break;
                }
                told = !p[k].dominated_new || p[told].dominated_new ? k : told;
            }
        }
        aot_pareto_add(r.of, &p[told], s->solvers.d, s->solvers.n);
        aot_vec_push(&r.last, p[k - 1].budget);
        aot_vec_push(&r.front, p[told].error == NULL && !p[told].dominated_new);
        r.of->points.d[r.of->points.n - 1].budget = p[i].budget;
    }
    aot_pareto_finish(r.of, s->solvers.d, s->solvers.n, false);
    return r;
}

static void text_row(aot_table *t, const aot_pareto_point *p, double last, bool front,
                     bool many_solvers)
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
    aot_table_cellf(t, "%s %s", front ? "*" : " ", range);
    if (many_solvers) {
        aot_table_cell(t, p->solver);
    }
    if (p->error != NULL) {
        for (int i = 0; i < 6; i++) {
            aot_table_cell(t, "");
        }
        aot_table_cell(t, "not cut");
        aot_table_cell(t, p->error);
        return;
    }
    aot_table_bytes(t, p->saved_bytes);
    aot_table_bytes(t, p->new_bytes);
    aot_table_cellf(t, "%u", p->n_saved);
    aot_table_bytes(t, p->forward_peak);
    aot_table_bytes(t, p->backward_peak);
    aot_table_cell(t, aot_format_flops(flops, sizeof flops, p->recompute_flops));
    aot_table_cell(t, p->rung);
    aot_flips_words(&flips, p);
    aot_table_cell(t, aot_sb_text(&flips));
    aot_sb_free(&flips);
}

static void text_unit(aot_sb *out, const aot_sweep *s, const aot_sweep_unit *u, bool all)
{
    static const char *const titles[] = {
        "saved",         "of it new", "values",     "forward peak",
        "backward peak", "recompute", "decided by", "against the row above"};
    aot_table *t = aot_table_new();
    size_t n = u->pareto->points.n, n_all = 0;
    rows r = rows_of(s, u->pareto, all || !s->bisected);
    aot_table_column(t, "  budget", AOT_LEFT, 0);
    if (s->solvers.n > 1) {
        aot_table_column(t, "solver", AOT_LEFT, 0);
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 6 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (size_t i = 0; i < r.of->points.n; i++) {
        text_row(t, &r.of->points.d[i], r.last.d[i], r.front.d[i], s->solvers.n > 1);
    }
    for (size_t i = 0; i < n; i++) {
        const aot_pareto_point *p = &u->pareto->points.d[i];
        n_all += i == 0 || !aot_pareto_same_row(p - 1, p);
    }
    aot_sb_addf(out, "# unit %d %s %s: %zu point%s, configured budget %g\n", u->number, u->label,
                u->title, n, n == 1 ? "" : "s", u->budget_now);
    if (n_all > r.of->points.n) {
        aot_sb_addf(out, "# %zu rows for %zu: what changes saved bytes and recompute by less than "
                         "1 %% has none of its own; --all shows each\n", r.of->points.n, n_all);
    }
    aot_table_print(out, t, aot_out_table_flags(), 0, 0);
    aot_table_free(t);
    aot_pareto_free(r.of);
    aot_vec_free(&r.last);
    aot_vec_free(&r.front);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

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
    const int64_t numbers[] = {p->n_saved,      p->saved_bytes,   (int64_t)p->recompute_flops,
                               p->forward_peak, p->backward_peak, peak};
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
    if (p->error != NULL) {
        aot_table_cell(t, "");
    } else {
        aot_table_cellf(t, "%lld", (long long)p->new_bytes);
    }
    aot_table_cell(t, p->error != NULL ? "" : p->dominated_new ? "0" : "1");
}

static void csv(aot_sb *out, const aot_sweep *s)
{
    static const char *const titles[] = {
        "unit",         "label",       "solver",          "budget",          "rung",
        "saved_values", "saved_bytes", "recompute_flops", "forward_peak",    "backward_peak",
        "peak_bytes",   "on_front",    "newly_saved",     "no_longer_saved", "error",
        "new_bytes",    "on_new_front"};
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

/* ---- charts ---------------------------------------------------------------------------------- */

static aot_chart *chart_of(const aot_sweep_unit *u,
                           aot_chart *(*of)(const aot_pareto *, const char *, double))
{
    char about[512];
    snprintf(about, sizeof about, "unit %d %s %s", u->number, u->label, u->title);
    return of(u->pareto, about, u->budget_now);
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

static void text(aot_sb *out, const aot_sweep *s, bool all, bool plots)
{
    aot_sb_addz(out, "# * on the front: nothing keeps as few new bytes and recomputes as little; "
                     "\"of it new\" leaves out what inputs hold anyway; + newly saved, - no "
                     "longer\n");
    for (size_t i = 0; i < s->units.n; i++) {
        text_unit(out, s, &s->units.d[i], all);
        if (plots && is_worth_a_plot(&s->units.d[i])) {
            aot_chart *c = chart_of(&s->units.d[i], aot_chart_of_pareto);
            aot_out_plot(out, c, 16);
            aot_chart_free(c);
        }
    }
}

static aot_status charts(const aot_sweep *s, const aot_args *a, const char *format, aot_err *err)
{
    size_t n = 2 * s->units.n;
    aot_chart **all = aot_xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < s->units.n; i++) {
        all[2 * i] = chart_of(&s->units.d[i], aot_chart_of_pareto);
        all[2 * i + 1] = chart_of(&s->units.d[i], aot_chart_of_budgets);
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
        text(&out, s, aot_args_has(a, "all"), !aot_args_has(a, "no-plot"));
    }
    aot_status st = aot_out_write(a, format, &out, err);
    aot_sb_free(&out);
    return st;
}
