/* Does a unit fit? Its peak at 41 budgets, the highest budget whose peak is within the limit, and
 * what that budget no longer saves. The peak is not monotone in the budget (what is recomputed
 * lives in the backward), so each budget is walked. */
#include "tui/fits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/allocator.h"
#include "session/cutter.h"
#include "session/model.h"
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

static aot_status cut_at(aot_partition **out, aot_fit_point *point, fitter *k, const aot_config *config,
                         aot_err *err)
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

static json_t *find_flips(const aot_partition *now, const aot_partition *then)
{
    flip *all = aot_xcalloc(now->n_saved + 1, sizeof *all);
    size_t n = 0;
    json_t *list = json_array();
    aot_node_id *map = aot_view_map(now->cut, then);
    for (uint32_t i = 0; i < now->n_saved; i++) {
        aot_node_id id = now->saved[i], other = map[id];
        if (other == AOT_NO_NODE || then->nodes[other].verdict != AOT_V_SAVED) {
            all[n++] = (flip){aot_node_name(now->cut, id), now->nodes[id].bytes};
        }
    }
    free(map);
    qsort(all, n, sizeof *all, by_bytes);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_pack("[s, I]", all[i].name, (json_int_t)all[i].bytes));
    }
    free(all);
    return list;
}

aot_status aot_fits_unit(aot_fit *out, const aot_unit *u, const aot_record *joint,
                         const aot_config *config, const aot_fit_ask *ask, aot_err *err)
{
    aot_fit f = {.best = -1};
    fitter k = {.ask = ask, .cutter = aot_cutter_new(u, joint), .walker = aot_walker_new(u, joint, &ask->walk)};
    aot_partition *now = NULL, *then;
    aot_status s = cut_at(&now, &f.now, &k, config, err);
    for (int i = 0; s == AOT_OK && i < AOT_FIT_POINTS; i++) {
        aot_config c = *config;
        aot_err ignored = {0};
        c.activation_memory_budget = (double)(AOT_FIT_POINTS - 1 - i) / (AOT_FIT_POINTS - 1);
        if (cut_at(&then, &f.points[i], &k, &c, &ignored) == AOT_OK) {
            if (f.points[i].fits && f.best < 0) {
                f.best = i;
                f.flips = find_flips(now, then);
            }
            aot_partition_release(then);
        }
        aot_cmd_progress(NULL, "budgets", (uint64_t)i + 1, AOT_FIT_POINTS);
    }
    aot_cmd_progress_end();
    aot_partition_release(now);
    aot_walker_free(k.walker);
    aot_cutter_free(k.cutter);
    if (s == AOT_OK) {
        *out = f;
    }
    return s;
}

void aot_fit_free(aot_fit *f)
{
    json_decref(f->flips);
}

static json_t *point_json(const aot_fit_point *x)
{
    return json_pack("{s:f, s:b, s:I, s:I, s:I, s:f, s:s}", "budget", x->budget, "fits",
                     (int)x->fits, "forward_peak", (json_int_t)x->forward_peak, "backward_peak",
                     (json_int_t)x->backward_peak, "saved_bytes", (json_int_t)x->saved_bytes,
                     "recompute_flops", x->recompute_flops, "rung", x->rung);
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
}

static bool same_point(const aot_fit_point *a, const aot_fit_point *b)
{
    return a->forward_peak == b->forward_peak && a->backward_peak == b->backward_peak &&
           a->saved_bytes == b->saved_bytes && a->recompute_flops == b->recompute_flops &&
           strcmp(a->rung, b->rung) == 0;
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

void aot_fit_print(aot_sb *out, const aot_fit *f, int64_t limit)
{
    static const char *const titles[] = {"  budget",    "",          "forward", "backward", "saved",
                                         "recompute", "decided by"};
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
        aot_sb_addf(out, "  does not fit %s at any budget\n", bytes);
    }
}
