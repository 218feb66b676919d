/* At which memory budgets a value is saved. The verdict need not rise with the budget (a knapsack
 * may take other items for more room), so a grid is cut first, then the places between are
 * bisected.
 *
 *     0 ... 425 recomputed | 426 ... 1000 saved */
#include "partition/explain.h"
#include "partition/partitioner.h"

enum { ALL = 1000, GRID = 25, STEPS = ALL / GRID };

typedef struct ladder {
    aot_partitioner *pr;
    const aot_config *config;
    const char *name;
} ladder;

typedef struct end {
    int at; /* thousandths */
    aot_verdict verdict;
    bool failed;
} end;

static end end_at(const ladder *k, int at)
{
    aot_config c = *k->config;
    aot_partition *p = NULL;
    aot_err ignored = {0};
    end e = {.at = at, .verdict = AOT_V_DEAD};
    c.activation_memory_budget = (double)at / ALL;
    e.failed = aot_partitioner_solve(k->pr, &p, &c, NULL, 0, &ignored) != AOT_OK;
    if (!e.failed) {
        aot_node_id id = aot_graph_find(p->cut, k->name);
        e.verdict = id == AOT_NO_NODE ? AOT_V_DEAD : (aot_verdict)p->nodes[id].verdict;
    }
    aot_partition_release(p);
    return e;
}

static bool differ(end a, end b)
{
    return a.verdict != b.verdict || a.failed != b.failed;
}

static void add(aot_explain *x, end e)
{
    aot_budget_range *last = x->budgets.n > 0 ? &x->budgets.d[x->budgets.n - 1] : NULL;
    if (last != NULL && last->verdict == e.verdict && last->failed == e.failed) {
        last->to = e.at;
    } else {
        aot_vec_push(&x->budgets, ((aot_budget_range){e.at, e.at, e.verdict, e.failed}));
    }
}

/* Adds what lies between two ends that were cut: each place where neighbours in thousandths
 * differ. */
static void add_between(aot_explain *x, const ladder *k, end lo, end hi)
{
    end todo[16] = {hi}; // one for each halving of the grid's step
    int n = 1;
    while (n > 0) {
        end next = todo[n - 1];
        if (next.at - lo.at > 1 && differ(lo, next)) {
            todo[n++] = end_at(k, (lo.at + next.at) / 2);
            continue;
        }
        add(x, next);
        lo = next;
        n--;
    }
}

void aot_explain_budgets(aot_explain *x, const aot_partition_in *in, const aot_config *config)
{
    ladder k = {aot_partitioner_new(in), config, aot_node_name(x->p->cut, x->id)};
    end before = end_at(&k, 0);
    x->budgets.n = 0;
    add(x, before);
    for (int i = 1; i <= STEPS; i++) {
        end next = end_at(&k, i * GRID);
        add_between(x, &k, before, next);
        before = next;
    }
    aot_partitioner_free(k.pr);
}
