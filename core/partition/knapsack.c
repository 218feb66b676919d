/* The solvers of the memory budget.
 *
 * dp: best[j] = most runtime with j units of memory, items one by one; a bit for each (item, j)
 * remembers whether the item changed best[j], which is all that walking back needs.
 * hirschberg: halves of the items get their best rows, the best split of the capacity goes to each,
 * and so on; no bits are kept. dynamic: dp at the knee of what dp gives for smaller budgets. The
 * integer program is in knapsack_ilp.c.
 * Mirrors: torch/_functorch/_activation_checkpointing/knapsack.py and
 * knapsack_evaluator.py:get_knee_point_memory_budget. */
#include "partition/knapsack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/arena.h"
#include "base/progress.h"
#include "base/vec.h"
#include "partition/knapsack_ilp.h"
#include "partition/steps.h"

enum { UNITS = 10000 };

/* Python's round(): halves to even. */
static int64_t units(double share)
{
    return (int64_t)rint(share * UNITS);
}

int64_t aot_knapsack_units(double memory)
{
    return units(memory);
}

typedef struct ranked {
    double ratio;
    uint32_t index;
} ranked;

static int by_ratio(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->ratio != y->ratio) {
        return x->ratio > y->ratio ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static aot_status greedy(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                         aot_err *err)
{
    (void)m;
    ranked *r = aot_xcalloc(k->n, sizeof *r);
    double total = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        if (k->memory[i] == 0) {
            free(r);
            return AOT_FAIL(
                err, AOT_E_RANGE,
                "greedy: item %u takes no memory (PyTorch stops with a division by zero)", i);
        }
        r[i] = (ranked){k->runtime[i] / k->memory[i], i};
    }
    qsort(r, k->n, sizeof *r, by_ratio);
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t item = r[i].index;
        if (total + k->memory[item] <= k->max_memory) {
            total += k->memory[item];
            out->runtime += k->runtime[item];
            out->saved[out->n_saved++] = item;
        } else {
            out->recomputed[out->n_recomputed++] = item;
        }
    }
    free(r);
    return AOT_OK;
}

/* next[j]: the most with one more item of m units, from best[j] without it; in bits (may be NULL)
 * whether they differ. From j on, n of them, at most 8. */
static void add_few(float *next, const float *best, int64_t j, int64_t n, int64_t m, float runtime,
                    uint8_t *bits)
{
    unsigned byte = 0;
    for (int64_t k = 0; k < n; k++) {
        float with = j + k >= m ? best[j + k - m] + runtime : 0;
        // an item without memory is always taken; else the better of both
        bool better = m == 0 || (j + k >= m && with > best[j + k]);
        next[j + k] = better ? with : best[j + k];
        byte |= (unsigned)(next[j + k] != best[j + k]) << k;
    }
    if (bits != NULL) {
        bits[j / 8] = (uint8_t)byte;
    }
}

#ifdef __SSE2__
static unsigned add_four(float *next, const float *best, int64_t j, int64_t m, __m128 runtime)
{
    __m128 old = _mm_loadu_ps(best + j), with = _mm_add_ps(_mm_loadu_ps(best + j - m), runtime);
    __m128 now = m == 0 ? with : _mm_max_ps(old, with);
    _mm_storeu_ps(next + j, now);
    return (unsigned)_mm_movemask_ps(_mm_cmpneq_ps(now, old));
}
#endif

static void add_item(float *next, const float *best, int64_t size, int64_t m, float runtime,
                     uint8_t *bits)
{
    int64_t j = m < size ? m / 8 * 8 : size / 8 * 8; // below, nothing changes
    memcpy(next, best, (size_t)j * sizeof *next);
    if (bits != NULL) {
        memset(bits, 0, (size_t)j / 8);
    }
    if (j < size && m % 8 != 0) {
        add_few(next, best, j, size - j < 8 ? size - j : 8, m, runtime, bits);
        j += 8;
    }
#ifdef __SSE2__
    for (; j + 8 <= size; j += 8) {
        __m128 r = _mm_set1_ps(runtime);
        unsigned low = add_four(next, best, j, m, r), high = add_four(next, best, j + 4, m, r);
        if (bits != NULL) {
            bits[j / 8] = (uint8_t)(low | high << 4);
        }
    }
#endif
    for (; j < size; j += 8) {
        add_few(next, best, j, size - j < 8 ? size - j : 8, m, runtime, bits);
    }
}

/* Units of the first `n` items together, at most max: above that a row is the same everywhere. */
typedef struct dp_row {
    size_t at; /* first byte in changed */
    int64_t top;
} dp_row;

/* The answers for every capacity up to `max` units: best[j], and what walking back from j needs.
 * Items without a whole unit at the end of the list move no j: they are added at the walk's own
 * j. */
typedef struct dp_table {
    float *best;      /* of the first n_rows items */
    uint8_t *changed; /* a row of bits an item, as far as its top */
    dp_row *rows;
    uint32_t n_rows;
    size_t bytes; /* of changed and rows */
} dp_table;

/* Adds an item to *best as far as the new top; from there on both rows are what they are at their
 * tops. */
static int64_t raise_row(float **best, float **next, int64_t top, int64_t max, int64_t m,
                         float runtime, uint8_t *bits)
{
    int64_t now = top + m < max ? top + m : max;
    for (int64_t j = top + 1; j <= now; j++) {
        (*best)[j] = (*best)[top];
    }
    add_item(*next, *best, now + 1, m, runtime, bits);
    float *other = *best;
    *best = *next;
    *next = other;
    return now;
}

static void dp_rows(dp_table *t, const aot_knapsack *k, int64_t max)
{
    size_t at = 0;
    int64_t top = 0;
    t->n_rows = k->n;
    while (t->n_rows != 0 && units(k->memory[t->n_rows - 1]) == 0) {
        t->n_rows--;
    }
    t->rows = aot_xmalloc(((size_t)t->n_rows + 1) * sizeof *t->rows);
    for (uint32_t i = 0; i < t->n_rows; i++) {
        int64_t m = units(k->memory[i]);
        top = top + m < max ? top + m : max;
        t->rows[i] = (dp_row){at, top};
        at += (size_t)(top + 8) / 8;
    }
    t->changed = aot_xmalloc(at + 1);
    t->bytes = at + t->n_rows * sizeof *t->rows;
}

static dp_table dp_fill(const aot_knapsack *k, int64_t max)
{
    dp_table t = {0};
    size_t size = (size_t)max + 1;
    float *best = aot_xcalloc(size, sizeof *best), *next = aot_xcalloc(size, sizeof *next);
    int64_t top = 0;
    dp_rows(&t, k, max);
    bool goes_on = true;
    for (uint32_t i = 0; i < t.n_rows && goes_on; i++) {
        top = raise_row(&best, &next, top, max, units(k->memory[i]), (float)k->runtime[i],
                        t.changed + t.rows[i].at);
        goes_on = aot_progress_at(PART_AT_KNAPSACK);
    }
    if (!goes_on) { // nobody will believe it, but it will be walked
        memset(t.changed, 0, t.bytes - t.n_rows * sizeof *t.rows);
    }
    for (int64_t j = top + 1; j <= max; j++) {
        best[j] = best[top];
    }
    t.best = best;
    free(next);
    return t;
}

static void dp_free(dp_table *t)
{
    free(t->changed);
    free(t->rows);
    free(t->best);
}

static void take_or_leave(aot_knapsack_choice *out, uint32_t i, bool taken)
{
    if (taken) {
        out->saved[out->n_saved++] = i;
    } else {
        out->recomputed[out->n_recomputed++] = i;
    }
}

static void reverse(uint32_t *v, uint32_t n)
{
    for (uint32_t a = 0, b = n; a + 1 < b; a++) {
        uint32_t item = v[--b];
        v[b] = v[a];
        v[a] = item;
    }
}

/* Items at the end that take no whole unit, and what they add to the best at j. */
static float walk_weightless(aot_knapsack_choice *out, const aot_knapsack *k, const dp_table *t,
                             float best)
{
    for (uint32_t i = t->n_rows; i < k->n; i++) {
        float with = best + (float)k->runtime[i];
        take_or_leave(out, i, with != best); // a time too small for a float changes nothing
        best = with;
    }
    reverse(out->saved, out->n_saved);
    reverse(out->recomputed, out->n_recomputed);
    return best;
}

static void dp_walk_back(aot_knapsack_choice *out, const aot_knapsack *k, const dp_table *t,
                         int64_t j)
{
    out->n_saved = out->n_recomputed = 0;
    out->runtime = (double)walk_weightless(out, k, t, t->best[j]);
    for (uint32_t i = t->n_rows; i-- > 0;) {
        const dp_row *r = &t->rows[i];
        int64_t bit = j < r->top ? j : r->top;
        bool taken = (t->changed[r->at + (size_t)bit / 8] >> bit % 8 & 1) != 0;
        take_or_leave(out, i, taken);
        j -= taken ? units(k->memory[i]) : 0;
    }
    reverse(out->saved, out->n_saved);
}

/* dp's table of the items that were asked for last. */
struct aot_knapsack_memo {
    double *memory, *runtime;
    uint32_t n;
    int64_t max; /* units */
    dp_table table;
};

aot_knapsack_memo *aot_knapsack_memo_new(void)
{
    return aot_xcalloc(1, sizeof(aot_knapsack_memo));
}

static void forget(aot_knapsack_memo *m)
{
    free(m->memory);
    free(m->runtime);
    dp_free(&m->table);
    *m = (aot_knapsack_memo){0};
}

void aot_knapsack_memo_free(aot_knapsack_memo *m)
{
    if (m != NULL) {
        forget(m);
        free(m);
    }
}

size_t aot_knapsack_memo_bytes(const aot_knapsack_memo *m)
{
    return m->memory != NULL
               ? m->n * 2 * sizeof(double) + m->table.bytes + (size_t)m->max * sizeof(float)
               : 0;
}

/* The table of these items for capacities up to max: what is there, or a new one. It is filled for
 * every capacity at once, so that the next budget finds it. */
static const dp_table *table_of(aot_knapsack_memo *m, const aot_knapsack *k, int64_t max)
{
    size_t bytes = k->n * sizeof *k->memory;
    if (m->memory == NULL || m->n != k->n || m->max < max ||
        memcmp(m->memory, k->memory, bytes) != 0 || memcmp(m->runtime, k->runtime, bytes) != 0) {
        forget(m);
        m->n = k->n;
        m->max = max > UNITS ? max : UNITS;
        m->memory = aot_xmalloc(bytes);
        m->runtime = aot_xmalloc(bytes);
        memcpy(m->memory, k->memory, bytes);
        memcpy(m->runtime, k->runtime, bytes);
        m->table = dp_fill(k, m->max);
    }
    return &m->table;
}

static aot_status dp(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                     aot_err *err)
{
    (void)err;
    int64_t max = units(k->max_memory);
    if (m != NULL) {
        dp_walk_back(out, k, table_of(m, k, max), max);
        return AOT_OK;
    }
    dp_table t = dp_fill(k, max);
    dp_walk_back(out, k, &t, max);
    dp_free(&t);
    return AOT_OK;
}

/* ---- the knee: of 100 budgets up to the given one, the one whose answer is nearest to no memory
 * and no recomputation, both scaled to their ranges; the first of equals.
 * ---------------------------- */

enum { KNEE_BUDGETS = 100 };
static const double knee_least = 0.001;

static double knee_budget(const aot_knapsack *k, int i)
{
    return knee_least + i * (k->max_memory - knee_least) / (KNEE_BUDGETS - 1);
}

static double sum_of(const double *of, const uint32_t *items, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += of[items != NULL ? items[i] : i];
    }
    return sum;
}

/* Scales to 0 .. 1; false if all are the same. */
static bool scale(double v[KNEE_BUDGETS])
{
    double least = v[0], most = v[0];
    for (int i = 1; i < KNEE_BUDGETS; i++) {
        least = fmin(least, v[i]);
        most = fmax(most, v[i]);
    }
    double range = most - least;
    for (int i = 0; i < KNEE_BUDGETS && range != 0; i++) {
        v[i] = (v[i] - least) / range;
    }
    return range != 0;
}

static aot_status dynamic(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                          aot_err *err)
{
    double total_memory = sum_of(k->memory, NULL, k->n),
           total_runtime = sum_of(k->runtime, NULL, k->n);
    if (total_memory == 0 || total_runtime == 0) {
        return AOT_FAIL(err, AOT_E_RANGE,
                        "dynamic_memory_budget_dp: the items take no %s (PyTorch "
                        "stops with a division by zero)",
                        total_memory == 0 ? "memory" : "runtime");
    }
    double runtime[KNEE_BUDGETS], memory[KNEE_BUDGETS];
    aot_knapsack_memo own = {0}, *at = m != NULL ? m : &own;
    const dp_table *t = table_of(at, k, units(fmax(k->max_memory, knee_least)));
    for (int i = 0; i < KNEE_BUDGETS; i++) {
        dp_walk_back(out, k, t, units(knee_budget(k, i)));
        runtime[i] = sum_of(k->runtime, out->recomputed, out->n_recomputed) / total_runtime;
        memory[i] = sum_of(k->memory, out->saved, out->n_saved) / total_memory;
    }
    double budget = k->max_memory, nearest = 0;
    bool differ = scale(runtime), both = scale(memory) && differ;
    for (int i = 0; i < KNEE_BUDGETS && both; i++) {
        double far = sqrt(runtime[i] * runtime[i] + memory[i] * memory[i]);
        if (i == 0 || far < nearest) {
            nearest = far;
            budget = knee_budget(k, i);
        }
    }
    dp_walk_back(out, k, t, units(budget));
    forget(&own);
    return AOT_OK;
}

typedef struct segment {
    uint32_t start, end;
    int64_t capacity;
} segment;

static void best_row(float *row, float *other, int64_t size, const aot_knapsack *k, uint32_t start,
                     uint32_t end)
{
    float *best = row, *next = other;
    int64_t top = 0;
    best[0] = 0;
    for (uint32_t i = start; i < end; i++) {
        top =
            raise_row(&best, &next, top, size - 1, units(k->memory[i]), (float)k->runtime[i], NULL);
    }
    if (best != row) {
        memcpy(row, best, ((size_t)top + 1) * sizeof *row);
    }
    for (int64_t j = top + 1; j < size; j++) {
        row[j] = row[top];
    }
}

static int64_t clamp(int64_t v, int64_t max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

static aot_status hirschberg(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                             aot_err *err)
{
    (void)err;
    (void)m;
    int64_t max = units(k->max_memory);
    float *left = aot_xcalloc((size_t)max + 1, sizeof *left),
          *other = aot_xcalloc((size_t)max + 1, sizeof *other),
          *right = aot_xcalloc((size_t)max + 1, sizeof *right);
    uint8_t *kept = aot_xcalloc(k->n + 1, 1);
    AOT_VEC(segment) stack = {0};
    if (k->n != 0) {
        aot_vec_push(&stack, ((segment){0, k->n, max}));
    }
    while (stack.n != 0) {
        segment s = stack.d[--stack.n];
        if (s.end - s.start == 1) {
            kept[s.start] = units(k->memory[s.start]) <= s.capacity && k->runtime[s.start] > 0;
            continue;
        }
        uint32_t middle = s.start + (s.end - s.start) / 2;
        int64_t size = s.capacity + 1, split = 0;
        if (!aot_progress_at(PART_AT_KNAPSACK)) {
            break; // nobody will believe it
        }
        best_row(left, other, size, k, middle, s.end);
        best_row(right, other, size, k, s.start, middle);
        for (int64_t j = 0; j < size; j++) {
            left[j] += right[size - 1 - j];
            split = left[j] > left[split] ? j : split;
        }
        // PyTorch gives the second half what is left of capacity + 1
        if (middle > s.start) {
            aot_vec_push(&stack, ((segment){s.start, middle, clamp(size - split, max)}));
        }
        if (s.end > middle) {
            aot_vec_push(&stack, ((segment){middle, s.end, clamp(split, max)}));
        }
    }
    for (uint32_t i = 0; i < k->n; i++) {
        if (kept[i]) {
            out->saved[out->n_saved++] = i;
            out->runtime += k->runtime[i];
        }
    }
    for (uint32_t i = k->n; i-- > 0;) {
        if (!kept[i]) {
            out->recomputed[out->n_recomputed++] = i;
        }
    }
    aot_vec_free(&stack);
    free(kept);
    free(left);
    free(other);
    free(right);
    return AOT_OK;
}

static aot_status ilp(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                      aot_err *err)
{
    (void)m;
    return knapsack_ilp(out, k, err);
}

static const struct {
    const char *name;
    aot_status (*solve)(aot_knapsack_memo *m, aot_knapsack_choice *out, const aot_knapsack *k,
                        aot_err *err);
} solvers[] = {
    {"dp", dp},
    {"greedy", greedy},
    {"ilp", ilp},
    {"dp_knapsack_sliding_hirschberg", hirschberg},
    {"dynamic_memory_budget_dp", dynamic},
};

enum { N_SOLVERS = sizeof solvers / sizeof *solvers };

const char *aot_knapsack_name(unsigned i)
{
    return i < N_SOLVERS ? solvers[i].name : NULL;
}

/* A table that was not filled is not kept. */
static aot_status stopped(aot_knapsack_memo *memo, aot_err *err)
{
    if (memo != NULL) {
        forget(memo);
    }
    return AOT_FAIL(err, AOT_E_PIPELINE, "solving was stopped");
}

aot_status aot_knapsack_solve(aot_knapsack_choice *out, const aot_knapsack *k, const char *solver,
                              aot_err *err)
{
    return aot_knapsack_solve_with(NULL, out, k, solver, err);
}

aot_status aot_knapsack_solve_with(aot_knapsack_memo *memo, aot_knapsack_choice *out,
                                   const aot_knapsack *k, const char *solver, aot_err *err)
{
    if (!(k->max_memory >= 0 && k->max_memory <= 1000)) {
        return AOT_FAIL(err, AOT_E_RANGE, "max_memory is %g: 0 to 1000 is possible", k->max_memory);
    }
    out->n_saved = out->n_recomputed = 0;
    out->runtime = 0;
    for (unsigned i = 0; i < N_SOLVERS; i++) {
        if (strcmp(solvers[i].name, solver) == 0) {
            AOT_TRY(solvers[i].solve(memo, out, k, err));
            return aot_progress_stopped() ? stopped(memo, err) : AOT_OK;
        }
    }
    return AOT_FAIL(err, AOT_E_UNSUPPORTED,
                    "there is no knapsack solver '%s'; dp, greedy, ilp, "
                    "dp_knapsack_sliding_hirschberg and dynamic_memory_budget_dp are",
                    solver);
}
