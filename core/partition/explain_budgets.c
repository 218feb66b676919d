/* At which memory budgets a value is saved. The verdict need not rise with the budget (a knapsack
 * may take other items for more room), so a grid is cut first, then the places between are
 * bisected.
 *
 *     0 ... 425 recomputed | 426 ... 1000 saved */
#include "partition/explain_trials.h"

#include "base/progress.h"

enum { ALL = 1000, GRID = 25 };

/* False: it was stopped. */
static bool end_at(const explain_trials *t, int at, budget_end *out)
{
    aot_config c = t->config;
    aot_partition *p = NULL;
    aot_err ignored = {0};
    budget_end e = {.at = at, .verdict = AOT_V_DEAD};
    c.activation_memory_budget = (double)at / ALL;
    e.failed = aot_partitioner_solve(t->pr, &p, &c, NULL, 0, &ignored) != AOT_OK;
    if (e.failed && aot_progress_stopped()) {
        return false;
    }
    if (!e.failed) {
        aot_node_id id = aot_graph_find(p->cut, aot_text(p->cut->ctx, t->name));
        e.verdict = id == AOT_NO_NODE ? AOT_V_DEAD : (aot_verdict)p->nodes[id].verdict;
    }
    aot_partition_release(p);
    *out = e;
    return true;
}

static bool differ(budget_end a, budget_end b)
{
    return a.verdict != b.verdict || a.failed != b.failed;
}

static void take(explain_trials *t, budget_end e)
{
    aot_budget_range *last = t->found.n > 0 ? &t->found.d[t->found.n - 1] : NULL;
    if (last != NULL && last->verdict == e.verdict && last->failed == e.failed) {
        last->to = e.at;
    } else {
        aot_vec_push(&t->found, ((aot_budget_range){e.at, e.at, e.verdict, e.failed}));
    }
    t->low = e;
    t->begun = true;
}

/* What was cut above `low` is taken, as far as nothing is to be found between. */
static void take_known(explain_trials *t)
{
    while (t->n_above > 0) {
        budget_end next = t->above[t->n_above - 1];
        if (next.at - t->low.at > 1 && differ(t->low, next)) {
            return;
        }
        take(t, next);
        t->n_above--;
    }
}

bool aot_explain_budgets_step(aot_explain *x)
{
    explain_trials *t = x->trials;
    budget_end e;
    if (x->budgets.n > 0) {
        return false;
    }
    int at = !t->begun        ? 0
             : t->n_above > 0 ? (t->low.at + t->above[t->n_above - 1].at) / 2
                              : t->low.at + GRID;
    if (!end_at(t, at, &e)) {
        return false;
    }
    if (!t->begun) {
        take(t, e);
        return true;
    }
    t->above[t->n_above++] = e;
    take_known(t);
    if (t->n_above > 0 || t->low.at < ALL) {
        return true;
    }
    x->budgets.d = t->found.d; // its now
    x->budgets.n = t->found.n;
    x->budgets.cap = t->found.cap;
    t->found.d = NULL;
    t->found.n = t->found.cap = 0;
    return false;
}

void aot_explain_budgets(aot_explain *x)
{
    while (aot_explain_budgets_step(x)) {
    }
}
