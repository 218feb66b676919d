/* The solvers of the memory budget.
 *
 * dp: best[j] = most runtime with j units of memory, items one by one; a bit for each (item, j)
 * remembers whether the item changed best[j], which is all that walking back needs.
 * hirschberg: halves of the items get their best rows, the best split of the capacity goes to each,
 * and so on; no bits are kept.
 * Mirrors: torch/_functorch/_activation_checkpointing/knapsack.py. */
#include "partition/knapsack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

enum { UNITS = 10000 };

/* Python's round(): halves to even. */
static int64_t units(double share)
{
    return (int64_t)rint(share * UNITS);
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

static aot_status greedy(aot_knapsack_choice *out, const aot_knapsack *k, aot_err *err)
{
    ranked *r = aot_xcalloc(k->n, sizeof *r);
    double total = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        if (k->memory[i] == 0) {
            free(r);
            return AOT_FAIL(err, AOT_E_RANGE, "greedy: item %u takes no memory (PyTorch stops with a division by zero)", i);
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

/* best[j] after one more item of m units; changed (may be NULL) gets a bit for each j. */
static void add_item(float *best, int64_t size, int64_t m, float runtime, uint8_t *changed)
{
    if (m >= size) {
        return;
    }
    for (int64_t j = size - 1; j >= m; j--) {
        float with = best[j - m] + runtime;
        // an item without memory is always taken; else the better of both
        bool better = m == 0 ? with != best[j] : with > best[j];
        if (better) {
            best[j] = with;
            if (changed != NULL) {
                changed[j / 8] |= (uint8_t)(1 << j % 8);
            }
        }
    }
}

static void dp(aot_knapsack_choice *out, const aot_knapsack *k)
{
    int64_t size = units(k->max_memory) + 1;
    size_t row = (size_t)(size + 7) / 8;
    float *best = aot_xcalloc((size_t)size, sizeof *best);
    uint8_t *changed = aot_xcalloc((size_t)k->n + 1, row);
    for (uint32_t i = 0; i < k->n; i++) {
        add_item(best, size, units(k->memory[i]), (float)k->runtime[i], changed + i * row);
    }
    int64_t j = size - 1;
    out->runtime = (double)best[j];
    for (uint32_t i = k->n; i-- > 0;) {
        if ((changed[i * row + (size_t)j / 8] >> j % 8 & 1) != 0) {
            out->saved[out->n_saved++] = i;
            j -= units(k->memory[i]);
        } else {
            out->recomputed[out->n_recomputed++] = i;
        }
    }
    for (uint32_t a = 0, b = out->n_saved; a + 1 < b; a++) {
        uint32_t t = out->saved[--b];
        out->saved[b] = out->saved[a];
        out->saved[a] = t;
    }
    free(changed);
    free(best);
}

typedef struct segment {
    uint32_t start, end;
    int64_t capacity;
} segment;

static void best_row(float *row, int64_t size, const aot_knapsack *k, uint32_t start, uint32_t end)
{
    memset(row, 0, (size_t)size * sizeof *row);
    for (uint32_t i = start; i < end; i++) {
        add_item(row, size, units(k->memory[i]), (float)k->runtime[i], NULL);
    }
}

static int64_t clamp(int64_t v, int64_t max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

static void hirschberg(aot_knapsack_choice *out, const aot_knapsack *k)
{
    int64_t max = units(k->max_memory);
    float *left = aot_xcalloc((size_t)max + 1, sizeof *left), *right = aot_xcalloc((size_t)max + 1, sizeof *right);
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
        best_row(left, size, k, middle, s.end);
        best_row(right, size, k, s.start, middle);
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
    free(right);
}

bool aot_knapsack_known(const char *solver)
{
    return strcmp(solver, "greedy") == 0 || strcmp(solver, "dp") == 0 ||
           strcmp(solver, "dp_knapsack_sliding_hirschberg") == 0;
}

aot_status aot_knapsack_solve(aot_knapsack_choice *out, const aot_knapsack *k, const char *solver, aot_err *err)
{
    if (!aot_knapsack_known(solver)) {
        return AOT_FAIL(err, AOT_E_UNSUPPORTED,
                        "knapsack solver '%s' is not built yet; greedy, dp and dp_knapsack_sliding_hirschberg are", solver);
    }
    if (!(k->max_memory >= 0 && k->max_memory <= 1000)) {
        return AOT_FAIL(err, AOT_E_RANGE, "max_memory is %g: 0 to 1000 is possible", k->max_memory);
    }
    out->n_saved = out->n_recomputed = 0;
    out->runtime = 0;
    if (strcmp(solver, "greedy") == 0) {
        return greedy(out, k, err);
    }
    if (strcmp(solver, "dp") == 0) {
        dp(out, k);
    } else {
        hirschberg(out, k);
    }
    return AOT_OK;
}
