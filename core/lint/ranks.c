/* Units of one compile id on several ranks. A unit is compared stage by stage by structure; where
 * that finds changes, a walk over both graphs in step tells whether only sizes are others, as they
 * are when ranks are given shards of different length. */
#include "lint/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

const char *aot_rank_verdict_name(aot_rank_verdict v)
{
    static const char *const names[] = {"same", "other sizes", "differs", "unknown"};
    return names[v];
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct member {
    const char *label, *rank;
    int number;   /* of the rank; -1 */
    size_t index; /* of the rank among all */
    size_t times; /* how often the rank had the label before */
    size_t place; /* of the first unit of the rank, as given */
    size_t unit;
} member;

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *x, const void *y)
{
    const member *a = x, *b = y;
    int c = (a->number > b->number) - (a->number < b->number);
    c = c != 0 ? c : compare_sizes(a->place, b->place); // inputs without one: as they were given
    c = c != 0 ? c : strverscmp(a->label, b->label);
    return c != 0 ? c : compare_sizes(a->unit, b->unit);
}

static int by_group(const void *x, const void *y)
{
    const member *a = x, *b = y;
    int c = strverscmp(a->label, b->label);
    c = c != 0 ? c : compare_sizes(a->times, b->times);
    return c != 0 ? c : compare_sizes(a->index, b->index);
}

static member member_of(aot_ranks *r, const aot_model *m, size_t unit)
{
    char label[96];
    const aot_unit *u = aot_model_unit(m, unit);
    aot_unit_key key = u->key;
    member out = {.number = key.rank, .unit = unit};
    out.rank = key.rank >= 0 ? aot_arena_printf(r->arena, "rank %d", key.rank) : u->input;
    key.rank = -1;
    out.label = aot_arena_printf(r->arena, "%s", aot_unit_label(&key, label, sizeof label));
    return out;
}

/* Numbers ranks, and the units of a rank that have the same label. */
static void find_ranks(aot_ranks *r, member *all, size_t n)
{
    qsort(all, n, sizeof *all, by_rank);
    for (size_t i = 0; i < n; i++) {
        bool same_rank = i > 0 && strcmp(all[i].rank, all[i - 1].rank) == 0;
        if (!same_rank) {
            aot_vec_push(&r->ranks, all[i].rank);
        }
        all[i].index = r->ranks.n - 1;
        all[i].times =
            same_rank && strcmp(all[i].label, all[i - 1].label) == 0 ? all[i - 1].times + 1 : 0;
    }
}

/* One group of sorted members: a row for each rank, the first that has the unit in front. */
static void add_group(aot_ranks *r, const aot_model *m, const member *all, size_t n)
{
    aot_rank_group g = {all[0].label, aot_model_unit(m, all[0].unit)->title, r->units.n, 0};
    aot_rank_unit none = {.unit = AOT_RANK_MISSING, .stage = AOT_N_STAGES, .saved_bytes = -1};
    for (size_t i = 0; i < n; i++) {
        none.rank = all[i].index;
        aot_vec_push(&r->units, none);
        r->units.d[r->units.n - 1].unit = all[i].unit;
        r->units.d[r->units.n - 1].first = i == 0;
    }
    for (size_t rank = 0, i = 0; rank < r->ranks.n; rank++) {
        if (i < n && all[i].index == rank) {
            i++;
        } else {
            none.rank = rank;
            aot_vec_push(&r->units, none);
        }
    }
    g.end = r->units.n;
    g.title = g.title != NULL ? g.title : "";
    aot_vec_push(&r->groups, g);
}

void aot_ranks_init(aot_ranks *out, aot_model *m)
{
    size_t n = aot_model_n_units(m);
    member *all = aot_xcalloc(n + 1, sizeof *all);
    AOT_VEC(size_t) places = {0}; // of the first unit of each rank
    *out = (aot_ranks){.arena = aot_arena_new()};
    for (size_t i = 0; i < n; i++) {
        all[i] = member_of(out, m, i);
        all[i].place = i;
        for (size_t k = 0; k < places.n && all[i].place == i; k++) {
            all[i].place = strcmp(all[places.d[k]].rank, all[i].rank) == 0 ? places.d[k] : i;
        }
        if (all[i].place == i) {
            aot_vec_push(&places, i);
        }
    }
    aot_vec_free(&places);
    find_ranks(out, all, n);
    qsort(all, n, sizeof *all, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(all[end].label, all[i].label) == 0 &&
                          all[end].times == all[i].times;
             end++) {
        }
        add_group(out, m, all + i, end - i);
    }
    free(all);
}

void aot_ranks_free(aot_ranks *r)
{
    aot_vec_free(&r->ranks);
    aot_vec_free(&r->groups);
    aot_vec_free(&r->units);
    aot_arena_free(r->arena);
    *r = (aot_ranks){0};
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct operands {
    AOT_VEC(aot_node_id) ids;
} operands;

static void add_operand(void *arg, aot_node_id id)
{
    operands *o = arg;
    aot_vec_push(&o->ids, id);
}

/* Constants but for numbers, which are sizes or depend on them. */
static bool same_words(const aot_graph *a, const aot_arg *x, const aot_graph *b, const aot_arg *y,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool name = x[i].kind == AOT_ARG_STR || x[i].kind == AOT_ARG_NAME;
        if (x[i].kind != y[i].kind || (x[i].kind == AOT_ARG_BOOL && x[i].u.i != y[i].u.i) ||
            (name && strcmp(aot_text(a->ctx, x[i].u.s), aot_text(b->ctx, y[i].u.s)) != 0)) {
            return false;
        }
    }
    return true;
}

static bool same_constants(const aot_graph *a, const aot_node *m, const aot_graph *b,
                           const aot_node *n)
{
    return m->n_args == n->n_args && m->n_kwargs == n->n_kwargs &&
           same_words(a, aot_node_args(a, m), b, aot_node_args(b, n), m->n_args) &&
           same_words(a, aot_node_kwargs(a, m), b, aot_node_kwargs(b, n), 2u * m->n_kwargs);
}

/* The same operators on the same operands, node by node; types and sizes count for nothing. */
static bool same_program(const aot_graph *a, const aot_graph *b)
{
    operands x = {0}, y = {0};
    bool same = a->nodes.n == b->nodes.n;
    for (aot_node_id i = 0; same && i < a->nodes.n; i++) {
        const aot_node *m = aot_node_at(a, i), *n = aot_node_at(b, i);
        x.ids.n = y.ids.n = 0;
        aot_node_each_input(a, m, add_operand, &x);
        aot_node_each_input(b, n, add_operand, &y);
        same = m->kind == n->kind && x.ids.n == y.ids.n &&
               (m->kind == AOT_PLACEHOLDER || m->kind == AOT_OUTPUT ||
                (strcmp(aot_node_target(a, i), aot_node_target(b, i)) == 0 &&
                 same_constants(a, m, b, n))) &&
               (x.ids.n == 0 || memcmp(x.ids.d, y.ids.d, x.ids.n * sizeof *x.ids.d) == 0);
    }
    aot_vec_free(&x.ids);
    aot_vec_free(&y.ids);
    return same;
}

static bool has(aot_model *m, size_t unit, aot_stage s, bool recorded)
{
    aot_origin o = aot_model_stage(m, unit, s).origin;
    return recorded ? o == AOT_ORIGIN_RECORDED : o != AOT_ORIGIN_MISSING;
}

/* Modules that were cut here follow from the joint graph and the saved set; recorded ones may
 * not. */
static const struct {
    aot_stage stage;
    bool recorded;
} compared[] = {{AOT_STAGE_DYNAMO, false}, {AOT_STAGE_JOINT, false},  {AOT_STAGE_INFERENCE, false},
                {AOT_STAGE_EXPORT, false}, {AOT_STAGE_FORWARD, true}, {AOT_STAGE_BACKWARD, true}};

static void compare_graphs(aot_rank_unit *u, aot_model *m, size_t first)
{
    unsigned n = 0;
    u->graph = AOT_RANK_SAME;
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        aot_stage s = compared[i].stage;
        const aot_graph *a, *b;
        aot_err err = {0};
        if (!has(m, first, s, compared[i].recorded) || !has(m, u->unit, s, compared[i].recorded) ||
            aot_model_graph(m, first, s, &a, &err) != AOT_OK ||
            aot_model_graph(m, u->unit, s, &b, &err) != AOT_OK) {
            continue;
        }
        aot_edits edits = {0};
        aot_diff_counts counts = aot_graph_diff(&edits, a, b);
        aot_vec_free(&edits);
        aot_rank_verdict v = aot_diff_is_same(&counts) ? AOT_RANK_SAME
                             : same_program(a, b)      ? AOT_RANK_SIZES
                                                       : AOT_RANK_DIFFERS;
        n++;
        if (v > u->graph) {
            u->graph = v;
            u->stage = s;
            u->counts = counts;
        }
    }
    if (n == 0) {
        u->graph = AOT_RANK_UNKNOWN;
    }
}

/* ---- saved sets ------------------------------------------------------------------------------ */

static bool is_saved(const aot_partition *p, aot_node_id id)
{
    return id != AOT_NO_NODE && p->nodes[id].verdict == AOT_V_SAVED;
}

static void count_saved(aot_rank_unit *u, const aot_partition *p, const aot_partition *q)
{
    if (same_program(p->cut, q->cut)) {
        for (aot_node_id i = 0; i < p->cut->nodes.n; i++) {
            u->saved_less += is_saved(p, i) && !is_saved(q, i);
            u->saved_more += is_saved(q, i) && !is_saved(p, i);
        }
        return;
    }
    aot_edits edits = {0};
    aot_graph_diff(&edits, p->cut, q->cut);
    for (size_t i = 0; i < edits.n; i++) {
        bool l = is_saved(p, edits.d[i].a), r = is_saved(q, edits.d[i].b);
        u->saved_less += l && !r;
        u->saved_more += r && !l;
    }
    aot_vec_free(&edits);
}

static bool partition_of(aot_model *m, size_t unit, const aot_partition **p)
{
    aot_err err = {0};
    return has(m, unit, AOT_STAGE_JOINT, false) && aot_model_partition(m, unit, p, &err) == AOT_OK;
}

static void compare_saved(aot_rank_unit *u, aot_model *m, size_t first)
{
    const aot_partition *p, *q;
    bool here = partition_of(m, u->unit, &q), there = partition_of(m, first, &p);
    if (here) {
        u->n_saved = q->n_saved;
        u->n_saved_sym = q->n_saved_sym;
        u->saved_bytes = q->saved_bytes;
    }
    u->saved = AOT_RANK_UNKNOWN;
    if (here && there) {
        count_saved(u, p, q);
        u->saved = u->saved_less + u->saved_more > 0       ? AOT_RANK_DIFFERS
                   : p->saved_bytes != q->saved_bytes ? AOT_RANK_SIZES
                                                      : AOT_RANK_SAME;
    } else if (here != there) {
        u->saved = AOT_RANK_DIFFERS;
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

typedef struct call {
    const char *what; /* operator and constants: "all_reduce('sum', '0')" */
    const char *type; /* of the result */
} call;

typedef AOT_VEC(call) calls;

/* One that is waited for has been listed where it was begun. */
static bool is_wait(const char *target)
{
    return strstr(target, ".wait_tensor") != NULL;
}

static void add_calls(calls *out, const aot_graph *g, aot_arena *a)
{
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (!aot_node_is_collective(g, i) || is_wait(aot_node_target(g, i))) {
            continue;
        }
        aot_sb text = {0};
        const char *name = aot_node_target(g, i), *dot = strstr(name, "c10d");
        dot = dot != NULL ? strchr(dot, '.') : NULL;
        name = dot != NULL ? dot + 1 : name;
        size_t len = strcspn(name, ".");
        aot_sb_add(&text, name, len);
        aot_sb_addc(&text, '(');
        const aot_arg *args = aot_node_args(g, n);
        for (uint32_t k = 0, shown = 0; k < n->n_args; k++) {
            if (args[k].kind != AOT_ARG_NODE && args[k].kind != AOT_ARG_LIST) {
                aot_sb_addz(&text, shown++ > 0 ? ", " : "");
                aot_print_arg(&text, g, &args[k]);
            }
        }
        aot_sb_addc(&text, ')');
        call c = {aot_arena_printf(a, "%s", aot_sb_text(&text)),
                  aot_arena_printf(a, "%s", aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text))};
        aot_vec_push(out, c);
        aot_sb_free(&text);
    }
}

/* Those that a step runs in order: of the forward and the backward, else of the only graph. */
static bool find_calls(calls *out, aot_model *m, size_t unit, aot_arena *a)
{
    static const aot_stage runs[] = {AOT_STAGE_FORWARD, AOT_STAGE_BACKWARD, AOT_STAGE_INFERENCE,
                                     AOT_STAGE_EXPORT, AOT_STAGE_JOINT, AOT_STAGE_DYNAMO};
    bool found = false;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const aot_graph *g;
        aot_err err = {0};
        bool part = runs[i] == AOT_STAGE_BACKWARD && found;
        if ((!found || part) && has(m, unit, runs[i], false) &&
            aot_model_graph(m, unit, runs[i], &g, &err) == AOT_OK) {
            add_calls(out, g, a);
            found = true;
        }
    }
    return found;
}

static void compare_collectives(aot_ranks *r, aot_rank_unit *u, aot_model *m, size_t first)
{
    calls a = {0}, b = {0};
    bool there = find_calls(&a, m, first, r->arena), here = find_calls(&b, m, u->unit, r->arena);
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    bool sizes = false;
    while (i < n && strcmp(a.d[i].what, b.d[i].what) == 0) {
        sizes = sizes || strcmp(a.d[i].type, b.d[i].type) != 0;
        i++;
    }
    u->n_collectives = b.n;
    u->collectives = !here || !there ? AOT_RANK_UNKNOWN : sizes ? AOT_RANK_SIZES : AOT_RANK_SAME;
    if (here && there && (i < a.n || i < b.n)) {
        u->collectives = AOT_RANK_DIFFERS;
        u->place = i + 1;
        u->theirs = i < a.n ? a.d[i].what : NULL;
        u->ours = i < b.n ? b.d[i].what : NULL;
    }
    aot_vec_free(&a);
    aot_vec_free(&b);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const aot_rank_group *group_of(const aot_ranks *r, size_t i)
{
    size_t low = 0, high = r->groups.n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (r->groups.d[middle].begin <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &r->groups.d[low];
}

bool aot_ranks_step(aot_ranks *r, aot_model *m)
{
    if (r->next >= r->units.n) {
        return false;
    }
    aot_rank_unit *u = &r->units.d[r->next];
    size_t first = r->units.d[group_of(r, r->next)->begin].unit;
    r->next++;
    u->compared = true;
    if (u->unit != AOT_RANK_MISSING) {
        compare_graphs(u, m, first);
        compare_saved(u, m, first);
        compare_collectives(r, u, m, first);
    }
    return true;
}

aot_rank_verdict aot_rank_unit_verdict(const aot_rank_unit *u)
{
    if (u->unit == AOT_RANK_MISSING) {
        return AOT_RANK_DIFFERS;
    }
    const aot_rank_verdict all[] = {u->graph, u->saved, u->collectives};
    aot_rank_verdict worst = AOT_RANK_SAME;
    bool known = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        known = known || all[i] != AOT_RANK_UNKNOWN;
        worst = all[i] != AOT_RANK_UNKNOWN && all[i] > worst ? all[i] : worst;
    }
    return known ? worst : AOT_RANK_UNKNOWN;
}
