/* Many budgets of one graph. Bisection keeps a stack of intervals whose ends differ; an interval is
 * done when it is narrower than the step, or its ends give the same answer.
 * Mirrors: partitioners.py (visualize_memory_budget_pareto). */
#include "partition/pareto.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const aot_pareto_ask *ask;
    aot_pareto *out;
    aot_err first; /* of the points that failed */
    uint64_t done, total;
} work;

static void read_saved(work *w, aot_pareto_point *x, const aot_partition *p)
{
    x->saved = AOT_NEW_ARRAY(w->out->arena, aot_pareto_value, p->n_saved + 1);
    for (uint32_t i = 0; i < p->n_saved; i++) {
        const char *name = aot_node_name(p->cut, p->saved[i]);
        int64_t bytes = p->nodes[p->saved[i]].bytes;
        x->saved[x->n_saved++] =
            (aot_pareto_value){aot_arena_strndup(w->out->arena, name, strlen(name)), bytes};
        x->saved_bytes = aot_sum(x->saved_bytes, bytes);
    }
}

static uint32_t cut_at(work *w, double budget, const char *solver)
{
    const aot_partition *p = NULL;
    aot_pareto_peaks peaks = {0};
    aot_err err = {0};
    aot_pareto_point x = {.budget = budget, .solver = solver};
    if (w->ask->cut(w->ask->arg, &p, &peaks, budget, solver, &err) == AOT_OK) {
        x.rung = p->rung;
        x.new_bytes = p->saved_new_bytes;
        x.recompute_flops = p->recompute_flops;
        x.forward_peak = peaks.forward;
        x.backward_peak = peaks.backward;
        read_saved(w, &x, p);
    } else {
        x.error = aot_arena_strndup(w->out->arena, err.msg, strlen(err.msg));
        w->first = w->first.code == AOT_OK ? err : w->first;
    }
    w->done++;
    if (w->ask->progress != NULL) {
        w->ask->progress(w->ask->progress_arg, w->done, w->total > w->done ? w->total : w->done);
    }
    aot_vec_push(&w->out->points, x);
    return (uint32_t)w->out->points.n - 1;
}

static bool same_answer(const aot_pareto_point *a, const aot_pareto_point *b)
{
    if ((a->error != NULL) != (b->error != NULL) || a->n_saved != b->n_saved ||
        a->recompute_flops != b->recompute_flops || a->saved_bytes != b->saved_bytes) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_saved; i++) {
        if (strcmp(a->saved[i].name, b->saved[i].name) != 0) {
            return false;
        }
    }
    return true;
}

static void bisect(work *w, const char *solver)
{
    typedef struct interval {
        uint32_t lo, hi;
    } interval;
    AOT_VEC(interval) todo = {0};
    bool all = w->ask->from == 0 && w->ask->to == 0;
    double step = w->ask->step > 0 ? w->ask->step : 1e-3;
    uint32_t lo = cut_at(w, w->ask->from, solver), hi = cut_at(w, all ? 1 : w->ask->to, solver);
    aot_vec_push(&todo, ((interval){lo, hi}));
    while (todo.n != 0) {
        interval x = todo.d[--todo.n];
        const aot_pareto_point *p = w->out->points.d;
        if (p[x.hi].budget - p[x.lo].budget < step || same_answer(&p[x.lo], &p[x.hi])) {
            continue;
        }
        uint32_t mid = cut_at(w, (p[x.lo].budget + p[x.hi].budget) / 2, solver);
        aot_vec_push(&todo, ((interval){x.lo, mid}));
        aot_vec_push(&todo, ((interval){mid, x.hi}));
    }
    aot_vec_free(&todo);
}

bool aot_pareto_same_row(const aot_pareto_point *a, const aot_pareto_point *b)
{
    bool same_rung =
        a->rung == b->rung || (a->rung != NULL && b->rung != NULL && strcmp(a->rung, b->rung) == 0);
    return a->solver == b->solver && same_rung && same_answer(a, b);
}

/* Of equal neighbours in budget the first stays, and the last, which says how far the answer and
 * the rung that gave it hold. */
static void drop_repeats(aot_pareto *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->points.n; i++) {
        aot_pareto_point *p = out->points.d;
        bool inner = i + 1 < out->points.n && kept > 0 &&
                     aot_pareto_same_row(&p[i], &p[kept - 1]) &&
                     aot_pareto_same_row(&p[i], &p[i + 1]);
        if (!inner) {
            p[kept++] = p[i];
        }
    }
    out->points.n = kept;
}

/* ---- what flips ------------------------------------------------------------------------------ */

static int by_name(const void *x, const void *y)
{
    return strcmp(((const aot_pareto_value *)x)->name, ((const aot_pareto_value *)y)->name);
}

static int by_bytes(const void *x, const void *y)
{
    const aot_pareto_value *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes) : by_name(x, y);
}

/* Values of a that b has not, largest first. */
static uint32_t missing_from(aot_pareto_value **out, aot_arena *arena, const aot_pareto_point *a,
                             const aot_pareto_point *b)
{
    aot_pareto_value *sorted = aot_xmalloc((b->n_saved + 1) * sizeof *sorted);
    uint32_t n = 0;
    if (b->n_saved != 0) {
        memcpy(sorted, b->saved, b->n_saved * sizeof *sorted);
    }
    qsort(sorted, b->n_saved, sizeof *sorted, by_name);
    *out = AOT_NEW_ARRAY(arena, aot_pareto_value, a->n_saved + 1);
    for (uint32_t i = 0; i < a->n_saved; i++) {
        if (bsearch(&a->saved[i], sorted, b->n_saved, sizeof *sorted, by_name) == NULL) {
            (*out)[n++] = a->saved[i];
        }
    }
    free(sorted);
    qsort(*out, n, sizeof **out, by_bytes);
    return n;
}

static void find_flips(aot_pareto *out)
{
    for (size_t i = 0; i < out->points.n; i++) {
        aot_pareto_point *x = &out->points.d[i];
        const aot_pareto_point *before = x - 1;
        x->n_newly_saved = x->n_no_longer_saved = 0;
        x->same_as_before = false;
        if (i == 0 || before->solver != x->solver || before->error != NULL || x->error != NULL) {
            continue;
        }
        x->n_newly_saved = missing_from(&x->newly_saved, out->arena, x, before);
        x->n_no_longer_saved = missing_from(&x->no_longer_saved, out->arena, before, x);
        x->same_as_before = same_answer(x, before);
    }
}

typedef struct placing {
    aot_pareto_point *p;
    int64_t bytes;
} placing;

static int by_cost(const void *x, const void *y)
{
    const placing *a = x, *b = y;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? -1 : 1;
    }
    return (a->p->recompute_flops > b->p->recompute_flops) -
           (a->p->recompute_flops < b->p->recompute_flops);
}

/* In order of bytes, a point is on the front while nothing before it costs as little. */
static void find_dominated(aot_pareto *out, bool by_new)
{
    placing *all = aot_xcalloc(out->points.n + 1, sizeof *all);
    size_t n = 0;
    double least = INFINITY;
    int64_t at = -1;
    for (size_t i = 0; i < out->points.n; i++) {
        aot_pareto_point *p = &out->points.d[i];
        if (p->error == NULL) {
            all[n++] = (placing){p, by_new ? p->new_bytes : p->saved_bytes};
        }
    }
    qsort(all, n, sizeof *all, by_cost);
    for (size_t i = 0; i < n; i++) {
        double cost = all[i].p->recompute_flops;
        bool equal = cost == least && all[i].bytes == at;
        *(by_new ? &all[i].p->dominated_new : &all[i].p->dominated) = !equal && cost >= least;
        if (cost < least) {
            least = cost;
            at = all[i].bytes;
        }
    }
    free(all);
}

/* ---- putting together ------------------------------------------------------------------------ */

aot_pareto *aot_pareto_new(void)
{
    aot_pareto *x = aot_xcalloc(1, sizeof *x);
    x->arena = aot_arena_new();
    return x;
}

static const char *copy_text(aot_pareto *x, const char *text)
{
    return text != NULL ? aot_arena_strndup(x->arena, text, strlen(text)) : NULL;
}

void aot_pareto_add(aot_pareto *x, const aot_pareto_point *p, const char *const *solvers,
                    size_t n_solvers)
{
    aot_pareto_point c = {.budget = p->budget,
                          .n_saved = p->n_saved,
                          .saved_bytes = p->saved_bytes,
                          .new_bytes = p->new_bytes,
                          .recompute_flops = p->recompute_flops,
                          .forward_peak = p->forward_peak,
                          .backward_peak = p->backward_peak};
    c.rung = copy_text(x, p->rung);
    c.error = copy_text(x, p->error);
    for (size_t i = 0; i < n_solvers; i++) {
        c.solver = strcmp(solvers[i], p->solver) == 0 ? solvers[i] : c.solver;
    }
    c.saved = AOT_NEW_ARRAY(x->arena, aot_pareto_value, p->n_saved + 1);
    for (uint32_t i = 0; i < p->n_saved; i++) {
        c.saved[i] = (aot_pareto_value){copy_text(x, p->saved[i].name), p->saved[i].bytes};
    }
    aot_vec_push(&x->points, c);
}

typedef struct placed {
    aot_pareto_point p;
    size_t solver, was;
} placed;

static int by_place(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    if (a->solver != b->solver) {
        return a->solver < b->solver ? -1 : 1;
    }
    if (a->p.budget != b->p.budget) {
        return a->p.budget < b->p.budget ? -1 : 1;
    }
    return (a->was > b->was) - (a->was < b->was);
}

void aot_pareto_finish(aot_pareto *x, const char *const *solvers, size_t n_solvers, bool bisected)
{
    placed *all = aot_xcalloc(x->points.n + 1, sizeof *all);
    size_t n = x->points.n;
    for (size_t i = 0; i < n; i++) {
        all[i] = (placed){x->points.d[i], n_solvers, i};
        for (size_t s = 0; s < n_solvers; s++) {
            all[i].solver = all[i].p.solver == solvers[s] ? s : all[i].solver;
        }
    }
    qsort(all, n, sizeof *all, by_place);
    x->points.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i].solver != all[i - 1].solver ||
            all[i].p.budget != all[i - 1].p.budget) {
            x->points.d[x->points.n++] = all[i].p;
        }
    }
    free(all);
    if (bisected) {
        drop_repeats(x);
    }
    find_flips(x);
    find_dominated(x, false);
    find_dominated(x, true);
}

aot_status aot_pareto_make(aot_pareto **out, const aot_pareto_ask *ask, aot_err *err)
{
    aot_pareto *x = aot_pareto_new();
    work w = {.ask = ask, .out = x, .total = ask->n_solvers * ask->n_budgets};
    bool any = false;
    for (size_t s = 0; s < ask->n_solvers; s++) {
        if (ask->budgets == NULL) {
            bisect(&w, ask->solvers[s]);
            continue;
        }
        for (size_t i = 0; i < ask->n_budgets; i++) {
            cut_at(&w, ask->budgets[i], ask->solvers[s]);
        }
    }
    for (size_t i = 0; i < x->points.n; i++) {
        any |= x->points.d[i].error == NULL;
    }
    if (!any && w.first.code != AOT_OK) {
        aot_pareto_free(x);
        if (err != NULL && err->code == AOT_OK) {
            *err = w.first;
        }
        return w.first.code;
    }
    aot_pareto_finish(x, ask->solvers, ask->n_solvers, ask->budgets == NULL);
    *out = x;
    return AOT_OK;
}

void aot_pareto_free(aot_pareto *x)
{
    if (x != NULL) {
        aot_vec_free(&x->points);
        aot_arena_free(x->arena);
        free(x);
    }
}
