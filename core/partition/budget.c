/* The last rung of the budget ladder. Values that the third cut bans are the items of a knapsack:
 * memory as a share of the range between inputs and default, runtime from the estimator; what the
 * solver does not keep loses its ban, and a fourth cut decides.
 * Mirrors: the end of partitioners.py:choose_saved_values_set, estimate_runtime. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"
#include "partition/knapsack.h"
#include "partition/times.h"

enum { FAR = 1000000000 };

typedef struct item {
    aot_node_id id;
    int64_t bytes;
} item;

/* Larger ones first; equal ones stay in graph order. */
static int by_bytes(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

typedef struct items {
    AOT_VEC(item) v;
    part_ids must_save;
} items;

/* Banned values that may be recomputed: those the backward needs, in memory that is not an input's.
 * PyTorch compares storages, and values without one (tuples, symbols) all count as the same. */
static void collect(const part *p, const uint8_t *banned, items *out)
{
    const aot_graph *g = p->g;
    const uint32_t *storage = p->st->storage;
    uint8_t *of_input = AOT_NEW_ARRAY(p->scratch, uint8_t, g->nodes.n + 1);
    bool none_is_input = false;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        bool tensor = part_is_tensor(g, aot_node_at(g, p->inputs[i]));
        of_input[storage[p->inputs[i]]] |= tensor;
        none_is_input |= !tensor;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (!banned[i] || p->dist[i] >= FAR) {
            continue;
        }
        bool shared =
            part_is_tensor(g, aot_node_at(g, i)) ? of_input[storage[i]] != 0 : none_is_input;
        if (shared && !(p->config->is_non_builtin_to_include && part_is_custom(p, i))) {
            continue;
        }
        if (p->m.policy[i] == AOT_POLICY_MUST_SAVE) {
            aot_vec_push(&out->must_save, i);
        } else {
            aot_vec_push(&out->v, ((item){i, p->st->bytes[i]}));
        }
    }
    bool sorted = true; // as equal layers are
    for (size_t i = 1; i < out->v.n && sorted; i++) {
        sorted = out->v.d[i - 1].bytes >= out->v.d[i].bytes;
    }
    if (!sorted) {
        qsort(out->v.d, out->v.n, sizeof *out->v.d, by_bytes);
    }
}

static double runtime_of(const part *p, aot_node_id id)
{
    if (p->times != NULL) {
        return aot_times_of(p->times, p->g, id, p->st->flops[id]);
    }
    if (strcmp(p->config->activation_memory_budget_runtime_estimator, "testing") == 0) {
        return 1;
    }
    double flops = p->st->flops[id];
    return flops > 1 ? flops : 1;
}

/* The items as the solver saw them. dp counts whole 1/10000 of the range, and so does hirschberg,
 * which may end above the budget. */
static void record_items(part *p, const items *x, const aot_knapsack *k, const uint8_t *dont_ban)
{
    aot_partition *out = p->out;
    int64_t units = 0;
    out->items = AOT_NEW_ARRAY(p->result, aot_budget_item, k->n);
    out->n_items = k->n;
    for (uint32_t i = 0; i < k->n; i++) {
        aot_node_id id = x->v.d[i].id;
        out->items[i] = (aot_budget_item){id, k->memory[i], k->runtime[i], !dont_ban[id]};
        out->items_saved += dont_ban[id] ? 0 : k->memory[i];
        units += dont_ban[id] ? 0 : aot_knapsack_units(k->memory[i]);
    }
    out->over_capacity =
        units > aot_knapsack_units(k->max_memory) &&
        strcmp(p->config->activation_memory_budget_solver, "dp_knapsack_sliding_hirschberg") == 0;
}

static aot_status solve(part *p, const items *x, double range, uint8_t *dont_ban)
{
    uint32_t n = (uint32_t)x->v.n;
    double *memory = AOT_NEW_ARRAY(p->scratch, double, n),
           *runtime = AOT_NEW_ARRAY(p->scratch, double, n);
    aot_knapsack k = {memory, runtime, n, p->config->activation_memory_budget};
    aot_knapsack_choice c = {.saved = AOT_NEW_ARRAY(p->scratch, uint32_t, n),
                             .recomputed = AOT_NEW_ARRAY(p->scratch, uint32_t, n)};
    for (uint32_t i = 0; i < n; i++) {
        memory[i] = (double)x->v.d[i].bytes / 1e9 / range;
        runtime[i] = runtime_of(p, x->v.d[i].id);
    }
    AOT_TRY(aot_knapsack_solve_with(part_memo_knapsack(p->memo), &c, &k,
                                    p->config->activation_memory_budget_solver, p->err));
    for (uint32_t i = 0; i < c.n_recomputed; i++) {
        dont_ban[x->v.d[c.recomputed[i]].id] = 1;
    }
    record_items(p, x, &k, dont_ban);
    return AOT_OK;
}

aot_status part_spend_budget(part *p, const part_cut_options *o, const uint8_t *banned,
                             double range, part_ids *saved)
{
    items x = {0};
    aot_status status = AOT_OK;
    collect(p, banned, &x);
    if (x.v.n == 0) {
        part_save_inputs(p, saved);
        p->out->cut_ban = p->out->cut_edge = NULL;
        for (size_t i = 0; i < x.must_save.n; i++) {
            aot_vec_push(saved, x.must_save.d[i]);
        }
        p->out->rung = aot_rung_text(AOT_RUNG_MUST_SAVE);
    } else {
        uint8_t *dont_ban = AOT_NEW_ARRAY(p->scratch, uint8_t, p->g->nodes.n + 1);
        p->out->rung = aot_rung_text(AOT_RUNG_KNAPSACK);
        status = solve(p, &x, range, dont_ban);
        saved->n = 0;
        if (status == AOT_OK) {
            part_cut c = {0};
            status = part_solve(p, o, dont_ban, &c, p->scratch);
            if (status == AOT_OK) {
                part_take_cut(p, saved, &c);
            }
            part_cut_free(&c);
        }
    }
    aot_vec_free(&x.v);
    aot_vec_free(&x.must_save);
    return status;
}
