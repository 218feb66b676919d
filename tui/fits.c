/* Does a unit fit? Its peak at 41 budgets, the highest budget whose peak is within the limit, and
 * what that budget no longer saves. The peak is not monotone in the budget (what is recomputed
 * lives in the backward), so each budget is walked. */
#include "tui/fits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/allocator.h"
#include "ir/text.h"
#include "session/cutter.h"
#include "session/walker.h"
#include "tui/cmd.h"
#include "tui/out_format.h"
#include "viewers/format.h"
#include "viewers/table.h"

typedef struct fitter {
    const aot_fit_ask *ask;
    aot_cutter *cutter;
    aot_walker *walker;
} fitter;

static void find_peaks(fitter *k, aot_fit_point *point, const aot_partition *p)
{
    aot_memory m;
    aot_walker_memory(k->walker, &m, p);
    point->forward_peak = m.forward.peak;
    point->backward_peak = m.backward.peak;
    if (k->ask->reserved) {
        aot_reserved forward, backward;
        aot_allocator_replay(&forward, &backward, &m);
        point->forward_peak = forward.reserved_peak;
        point->backward_peak = backward.reserved_peak;
    }
    point->fits = point->forward_peak <= k->ask->limit && point->backward_peak <= k->ask->limit;
    aot_memory_free(&m);
}

static aot_status cut_at(aot_partition **out, aot_fit_point *point, fitter *k,
                         const aot_config *config, aot_err *err)
{
    aot_partition *p;
    *point = (aot_fit_point){.budget = config->activation_memory_budget, .rung = "not cut"};
    AOT_TRY(aot_cutter_cut(k->cutter, &p, config, err));
    find_peaks(k, point, p);
    point->saved_bytes = p->saved_bytes;
    point->tensor_bytes = aot_saved_tensor_bytes(p);
    point->n_symbols = p->n_saved_sym;
    point->recompute_flops = p->recompute_flops;
    point->rung = p->rung;
    *out = p;
    return AOT_OK;
}

typedef struct flip {
    const char *name;
    int64_t bytes;
} flip;

static int by_bytes(const void *a, const void *b)
{
    const flip *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : strcmp(x->name, y->name);
}

/* What the partition saves, a mark for each node of its graph. The graph is the same at every
 * budget. */
static uint8_t *saved_in(const aot_partition *p)
{
    uint8_t *marks = aot_xcalloc(p->cut->nodes.n + 1, 1);
    for (uint32_t i = 0; i < p->n_saved; i++) {
        marks[p->saved[i]] = 1;
    }
    return marks;
}

/* [name, bytes] of what p saves and the other does not, or the other way round; largest first. */
static json_t *find_flips(const aot_partition *p, const uint8_t *other, bool newly)
{
    flip *all = aot_xcalloc(p->cut->nodes.n + 1, sizeof *all);
    uint8_t *mine = saved_in(p);
    size_t n = 0;
    json_t *list = json_array();
    for (aot_node_id i = 0; i < p->cut->nodes.n; i++) {
        if (mine[i] != other[i] && (mine[i] != 0) == newly) {
            all[n++] = (flip){aot_node_name(p->cut, i), p->nodes[i].bytes};
        }
    }
    free(mine);
    qsort(all, n, sizeof *all, by_bytes);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_pack("[s, I]", all[i].name, (json_int_t)all[i].bytes));
    }
    free(all);
    return list;
}

/* One budget after the other, from 1 down. now: saved as configured. */
static void cut_all(aot_fit *f, fitter *k, const aot_config *config, const uint8_t *now)
{
    uint8_t *before = NULL;
    for (int i = 0; i < AOT_FIT_POINTS; i++) {
        aot_config c = *config;
        aot_err ignored = {0};
        aot_partition *then;
        aot_fit_point *x = &f->points[i];
        c.activation_memory_budget = (double)(AOT_FIT_POINTS - 1 - i) / (AOT_FIT_POINTS - 1);
        if (cut_at(&then, x, k, &c, &ignored) == AOT_OK) {
            if (x->fits && f->best < 0) {
                f->best = i;
                f->flips = find_flips(then, now, false);
            }
            x->newly_saved = before != NULL ? find_flips(then, before, true) : NULL;
            x->no_longer_saved = before != NULL ? find_flips(then, before, false) : NULL;
            free(before);
            before = saved_in(then);
            aot_partition_release(then);
        }
        aot_cmd_progress(NULL, "budgets", (uint64_t)i + 1, AOT_FIT_POINTS);
    }
    free(before);
    aot_cmd_progress_end();
}

aot_status aot_fits_unit(aot_fit *out, const aot_unit *u, const aot_record *joint,
                         const aot_config *config, const aot_fit_ask *ask, aot_err *err)
{
    aot_fit f = {.best = -1};
    fitter k = {.ask = ask,
                .cutter = aot_cutter_new(u, joint),
                .walker = aot_walker_new(u, joint, &ask->walk)};
    aot_partition *now = NULL;
    aot_status s = cut_at(&now, &f.now, &k, config, err);
    if (s == AOT_OK) {
        uint8_t *saved_now = saved_in(now);
        cut_all(&f, &k, config, saved_now);
        free(saved_now);
        *out = f;
    }
    aot_partition_release(now);
    aot_walker_free(k.walker);
    aot_cutter_free(k.cutter);
    return s;
}

aot_status aot_fits_of_model(aot_fit *out, aot_model *m, size_t unit, const aot_fit_ask *ask,
                             aot_err *err)
{
    const aot_unit *u = aot_model_unit(m, unit);
    const aot_record *recorded = aot_unit_stage(u, AOT_STAGE_JOINT);
    const aot_graph *joint;
    aot_config config;
    AOT_TRY(aot_model_config(m, unit, &config, err));
    if (recorded != NULL && recorded->text != NULL) {
        return aot_fits_unit(out, u, recorded, &config, ask, err);
    }
    AOT_TRY(aot_model_graph(m, unit, AOT_STAGE_JOINT, &joint, err));
    aot_sb text = {0};
    aot_print_graph(&text, joint, 0);
    aot_record derived = {.name = "joint",
                          .text = aot_sb_text(&text),
                          .len = text.n,
                          .line = 1,
                          .stage = AOT_STAGE_JOINT};
    aot_status s = aot_fits_unit(out, u, &derived, &config, ask, err);
    aot_sb_free(&text);
    return s;
}

void aot_fit_free(aot_fit *f)
{
    for (int i = 0; i < AOT_FIT_POINTS; i++) {
        json_decref(f->points[i].newly_saved);
        json_decref(f->points[i].no_longer_saved);
    }
    json_decref(f->flips);
}

static json_t *point_json(const aot_fit_point *x)
{
    json_t *o =
        json_pack("{s:f, s:b, s:I, s:I, s:I, s:f, s:s}", "budget", x->budget, "fits", (int)x->fits,
                  "forward_peak", (json_int_t)x->forward_peak, "backward_peak",
                  (json_int_t)x->backward_peak, "saved_bytes", (json_int_t)x->saved_bytes,
                  "recompute_flops", x->recompute_flops, "rung", x->rung);
    json_object_set_new(o, "tensor_bytes", json_integer(x->tensor_bytes));
    json_object_set_new(o, "saved_symbols", json_integer(x->n_symbols));
    if (x->newly_saved != NULL) {
        json_object_set(o, "newly_saved", x->newly_saved);
        json_object_set(o, "no_longer_saved", x->no_longer_saved);
    }
    return o;
}

json_t *aot_fit_json(const aot_fit *f)
{
    json_t *points = json_array();
    for (int i = 0; i < AOT_FIT_POINTS; i++) {
        json_array_append_new(points, point_json(&f->points[i]));
    }
    json_t *o = json_pack("{s:o, s:o}", "now", point_json(&f->now), "points", points);
    json_object_set_new(o, "best", f->best >= 0 ? point_json(&f->points[f->best]) : json_null());
    json_object_set(o, "no_longer_saved", f->flips != NULL ? f->flips : json_null());
    return o;
}

/* "-gelu 32.0 KiB, +t_3 16.0 KiB and 3 more": what is no longer saved first, as the budget
 * falls. */
static void flip_words(aot_sb *out, const aot_fit_point *x)
{
    enum { MOST = 2 };
    size_t gone = json_array_size(x->no_longer_saved), n = gone + json_array_size(x->newly_saved);
    char bytes[32];
    for (size_t i = 0; i < n && i < MOST; i++) {
        json_t *v = i < gone ? json_array_get(x->no_longer_saved, i)
                             : json_array_get(x->newly_saved, i - gone);
        aot_sb_addf(
            out, "%s%s%s %s", i > 0 ? ", " : "", i < gone ? "-" : "+",
            json_string_value(json_array_get(v, 0)),
            aot_format_bytes(bytes, sizeof bytes, json_integer_value(json_array_get(v, 1))));
    }
    if (n > MOST) {
        aot_sb_addf(out, " and %zu more", n - MOST);
    }
}

static void print_point(aot_table *t, const char *mark, const aot_fit_point *x)
{
    aot_table_row(t);
    aot_table_cellf(t, "  %s%.3f", mark, x->budget);
    aot_table_cell(t, x->fits ? "fits" : "does not fit");
    aot_table_bytes(t, x->forward_peak);
    aot_table_bytes(t, x->backward_peak);
    char bytes[32], flops[32];
    aot_format_bytes(bytes, sizeof bytes, x->tensor_bytes);
    if (x->n_symbols != 0) {
        aot_table_cellf(t, "%s and %u symbol%s", bytes, x->n_symbols, x->n_symbols == 1 ? "" : "s");
    } else {
        aot_table_cell(t, bytes);
    }
    aot_table_cell(t, aot_format_flops(flops, sizeof flops, x->recompute_flops));
    aot_table_cell(t, x->rung);
    aot_sb flips = {0};
    flip_words(&flips, x);
    aot_table_cell(t, aot_sb_text(&flips));
    aot_sb_free(&flips);
}

/* a comes after b: they are the same row. */
static bool same_point(const aot_fit_point *a, const aot_fit_point *b)
{
    return a->forward_peak == b->forward_peak && a->backward_peak == b->backward_peak &&
           a->saved_bytes == b->saved_bytes && a->recompute_flops == b->recompute_flops &&
           strcmp(a->rung, b->rung) == 0 &&
           json_array_size(a->newly_saved) + json_array_size(a->no_longer_saved) == 0;
}

static void print_flips(aot_sb *out, const aot_fit *f)
{
    enum { MOST = 10 };
    size_t n = json_array_size(f->flips);
    char bytes[32];
    for (size_t i = 0; i < n && i < MOST; i++) {
        json_t *x = json_array_get(f->flips, i);
        aot_sb_addf(out, "  no longer saved  %s  %s\n", json_string_value(json_array_get(x, 0)),
               aot_format_bytes(bytes, sizeof bytes, json_integer_value(json_array_get(x, 1))));
    }
    if (n > MOST) {
        aot_sb_addf(out, "  and %zu more\n", n - MOST);
    }
}

/* Of the points the one with the least peak; of equals the highest budget. */
static const aot_fit_point *least_peak(const aot_fit *f)
{
    const aot_fit_point *least = NULL;
    int64_t peak = 0;
    for (int i = 0; i < AOT_FIT_POINTS; i++) {
        const aot_fit_point *x = &f->points[i];
        int64_t own = x->forward_peak > x->backward_peak ? x->forward_peak : x->backward_peak;
        if (least == NULL || own < peak || (own == peak && x->budget > least->budget)) {
            least = x;
            peak = own;
        }
    }
    return least;
}

void aot_fit_print(aot_sb *out, const aot_fit *f, int64_t limit)
{
    static const char *const titles[] = {"  budget",    "",          "forward", "backward", "saved",
                                         "recompute", "decided by", "against the row above"};
    char bytes[32], flops[32];
    aot_table *t = aot_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i >= 2 && i <= 5 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (int i = 0; i < AOT_FIT_POINTS; i++) { // of equal neighbours the first
        if (i == 0 || i == f->best || !same_point(&f->points[i], &f->points[i - 1])) {
            print_point(t, i == f->best ? "> " : "  ", &f->points[i]);
        }
    }
    aot_table_print(out, t, aot_out_table_flags(), 0, 0);
    aot_table_free(t);
    aot_format_bytes(bytes, sizeof bytes, limit);
    if (f->now.fits) {
        aot_sb_addf(out, "  fits %s at its budget of %g\n", bytes, f->now.budget);
    } else if (f->best >= 0) {
        aot_sb_addf(out, "  does not fit %s at its budget of %g; fits at %g, recompute %s\n", bytes,
               f->now.budget, f->points[f->best].budget,
               aot_format_flops(flops, sizeof flops, f->points[f->best].recompute_flops));
        print_flips(out, f);
    } else {
        const aot_fit_point *x = least_peak(f);
        int64_t peak = x->forward_peak > x->backward_peak ? x->forward_peak : x->backward_peak;
        char least[32], more[32];
        aot_format_bytes(least, sizeof least, peak);
        aot_format_bytes(more, sizeof more, peak - limit);
        aot_sb_addf(out,
                    "  does not fit %s at any of %d budgets; the least peak is %s, at %g: %s more. "
                    "Budgets between them: aotscope sweep INPUT --pareto\n",
                    bytes, AOT_FIT_POINTS, least, x->budget, more);
    }
}
