/* Applying patterns to a graph, and putting a traced replacement where a match is.
 * Mirrors: torch/_inductor/pattern_matcher.py (PatternMatcherPass.apply, replace_with_graph). */
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"

typedef struct row {
    joint_group group;
    const char *name;
    joint_handler *handler;
    const char *text;
} row;

static const row rows[] = {
#define GRAPH_PATTERN(group, name, handler, text) {group, #name, handler, text},
#include "joint/graph_patterns.def"
#undef GRAPH_PATTERN
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- what may be matched -------------------------------------------------------------------- */

static bool is_unsupported(const fx *f, uint32_t id, bool is_output)
{
    const aot_meta *m = aot_meta_get(f->c, fx_node(f, id)->meta);
    if (m->val != AOT_VAL_TENSOR) {
        return false;
    }
    bool complex = aot_dtype_get((aot_dtype)m->dtype)->kind == 'c';
    if (complex && is_output &&
        (fx_is(f, id, "aten.view.dtype") || fx_is(f, id, "prims.convert_element_type.default"))) {
        return false;
    }
    return complex || m->dtype == AOT_F8E8M0FNU || strcmp(aot_text(f->c, m->device), "meta") == 0;
}

typedef struct input_check {
    const fx *f;
    bool bad;
} input_check;

static void check_input(void *arg, aot_node_id id)
{
    input_check *c = arg;
    c->bad |= is_unsupported(c->f, id, false);
}

/* Complex values and the meta device are left alone.
 * Mirrors torch/_inductor/lowering.py:fallback_node_due_to_unsupported_type. */
static bool is_left_alone(const fx *f, uint32_t id)
{
    if (fx_is(f, id, "aten.view_as_complex.default") ||
        fx_is(f, id, "aten.lift_fresh_copy.default")) {
        return false;
    }
    input_check c = {f, is_unsupported(f, id, true)};
    aot_node_each_input(f->g, fx_node(f, id), check_input, &c);
    return c.bad;
}

/* Number of writes before each node: a match must not reach across one. */
static uint32_t *write_regions(const fx *f)
{
    uint32_t *r = aot_xcalloc(f->g->nodes.n + 1, sizeof *r), region = 0;
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        region += fx_node(f, i)->kind == AOT_CALL_FUNCTION &&
                  (aot_op(fx_node(f, i)->op)->flags & AOT_OPF_MUTATES) != 0;
        r[i] = region;
    }
    return r;
}

/* A node made since then is where the one before it is. */
static uint32_t region_of(const fx *f, const uint32_t *regions, size_t n_known, uint32_t id)
{
    while (id >= n_known && f->l.d[id].prev != AOT_NO_NODE) {
        id = f->l.d[id].prev;
    }
    return id < n_known ? regions[id] : 0;
}

static bool in_one_region(const fx *f, const match *m, const uint32_t *regions, size_t n_known)
{
    uint32_t first = region_of(f, regions, n_known, m->nodes.d[0]);
    for (size_t i = 1; i < m->nodes.n; i++) {
        if (region_of(f, regions, n_known, m->nodes.d[i]) != first) {
            return false;
        }
    }
    return true;
}

/* ---- applying ------------------------------------------------------------------------------- */

typedef struct applying {
    joint *j;
    fx *f;
    pattern patterns[N_ROWS]; /* without calls: of another group */
    uint32_t *regions;
    size_t n_known;
    uint32_t count;
} applying;

static void try_rows(applying *a, joint_group group, uint32_t node)
{
    for (size_t r = 0; r < N_ROWS && !a->f->l.d[node].erased; r++) {
        if (rows[r].group != group ||
            !pattern_starts_with(&a->patterns[r], fx_node(a->f, node)->op)) {
            continue;
        }
        match m;
        if (pattern_match(&m, &a->patterns[r], a->f, node) &&
            in_one_region(a->f, &m, a->regions, a->n_known)) {
            a->count++;
            a->f->rule = rows[r].name;
            fx_insert_before(a->f, node);
            rows[r].handler(a->j, a->f, &m);
            a->f->rule = NULL;
        }
        match_free(&m);
    }
}

static uint32_t count_calls(const fx *f, const char *target)
{
    uint32_t n = 0;
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        n += fx_is(f, i, target);
    }
    return n;
}

static bool is_root(const applying *a, joint_group group, aot_op_id op)
{
    for (size_t r = 0; r < N_ROWS; r++) {
        if ((rows[r].group == group ||
             (group == JOINT_PATTERNS && rows[r].group == JOINT_RANDPERM)) &&
            pattern_starts_with(&a->patterns[r], op)) {
            return true;
        }
    }
    return false;
}

uint32_t joint_apply(joint *j, fx *f, joint_group group)
{
    applying a = {.j = j, .f = f, .regions = write_regions(f), .n_known = f->g->nodes.n};
    bool main_group = group == JOINT_PATTERNS;
    bool attention = main_group && count_calls(f, "aten.bmm.default") >= 2;
    for (size_t r = 0; r < N_ROWS; r++) {
        if (rows[r].group == group || (main_group && rows[r].group == JOINT_RANDPERM)) {
            pattern_parse(&a.patterns[r], f->c, rows[r].name, rows[r].text);
        } else {
            a.patterns[r] = (pattern){.name = NULL};
        }
    }
    AOT_VEC(uint32_t) nodes = {0};
    for (uint32_t i = f->tail; i != AOT_NO_NODE; i = f->l.d[i].prev) {
        if (fx_node(f, i)->kind == AOT_CALL_FUNCTION &&
            (is_root(&a, group, fx_node(f, i)->op) || (attention && joint_attention_root(f, i)))) {
            aot_vec_push(&nodes, i);
        }
    }
    for (size_t i = 0; i < nodes.n; i++) {
        uint32_t id = nodes.d[i];
        if (f->l.d[id].erased || is_left_alone(f, id)) {
            continue;
        }
        try_rows(&a, group, id);
        if (attention && !f->l.d[id].erased) {
            a.count += joint_try_attention(j, id) ? 1 : 0;
        }
        if (main_group && !f->l.d[id].erased) {
            try_rows(&a, JOINT_RANDPERM, id);
        }
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        pattern_free(&a.patterns[r]);
    }
    aot_vec_free(&nodes);
    free(a.regions);
    return a.count;
}

void joint_early_patterns(fx *f)
{
    joint_apply(NULL, f, JOINT_EARLY);
}

aot_status joint_early_pass(joint *j, aot_err *err)
{
    (void)err;
    j->count += joint_apply(j, &j->f, JOINT_EARLY);
    return AOT_OK;
}

aot_status joint_patterns_pass(joint *j, aot_err *err)
{
    (void)err;
    j->count += joint_apply(j, &j->f, JOINT_PATTERNS);
    return AOT_OK;
}

aot_status joint_softmax_pass(joint *j, aot_err *err)
{
    (void)err;
    j->count += joint_apply(j, &j->f, JOINT_SOFTMAX);
    return AOT_OK;
}

/* ---- replacing ------------------------------------------------------------------------------ */

static uint32_t first_output(const fx *f, const match *m)
{
    uint32_t first = AOT_NO_NODE;
    for (size_t i = 0; i < m->outs.n; i++) {
        uint32_t o = m->outs.d[i];
        if (o != AOT_NO_NODE && (first == AOT_NO_NODE || fx_earlier(f, o, first))) {
            first = o;
        }
    }
    return first;
}

typedef struct tag_walk {
    fx *f;
    uint32_t since;
    AOT_VEC(uint32_t) todo;
} tag_walk;

static void push_made(void *arg, aot_node_id id)
{
    tag_walk *w = arg;
    if (id >= w->since) {
        aot_vec_push(&w->todo, id);
    }
}

/* Checkpoint tags of what was replaced go to all new nodes that the output is made of. */
static void spread_tags(fx *f, uint32_t now, uint32_t old, uint32_t since)
{
    aot_node o = *fx_node(f, old);
    if (o.policy == 0 && f->g->srcs.d[o.src].ac_graph_id < 0) {
        return;
    }
    tag_walk w = {.f = f, .since = since};
    uint8_t *seen = aot_xcalloc(f->g->nodes.n + 1, 1);
    push_made(&w, now);
    while (w.todo.n != 0) {
        uint32_t id = w.todo.d[--w.todo.n];
        if (!seen[id]) {
            seen[id] = 1;
            fx_node(f, id)->policy = o.policy;
            fx_node(f, id)->src = o.src;
            aot_node_each_input(f->g, fx_node(f, id), push_made, &w);
        }
    }
    free(seen);
    aot_vec_free(&w.todo);
}

void joint_replace(fx *f, const match *m, const trace *t, const aot_arg *args)
{
    const aot_graph *from = t->f.g;
    uint32_t since = (uint32_t)f->g->nodes.n;
    aot_arg *map = aot_xcalloc(from->nodes.n + 1, sizeof *map);
    aot_node model = m->nodes.n == 1 ? *fx_node(f, m->nodes.d[0]) : (aot_node){0};
    uint32_t n_in = 0;
    fx_insert_before(f, first_output(f, m));
    for (uint32_t i = t->f.head; i != AOT_NO_NODE; i = fx_next(&t->f, i)) {
        const aot_node *n = fx_node(&t->f, i);
        if (n->kind == AOT_PLACEHOLDER) {
            map[i] = args[n_in++];
        } else if (n->kind == AOT_CALL_FUNCTION) {
            uint32_t id = fx_call_like(f, from, i, map);
            fx_node(f, id)->src = model.src;
            fx_node(f, id)->policy = model.policy;
            map[i] = fx_a_node(id);
        }
    }
    for (size_t i = 0; i < m->outs.n && i < t->outs.n; i++) {
        uint32_t old = m->outs.d[i];
        if (old == AOT_NO_NODE || t->outs.d[i] == AOT_NO_NODE ||
            map[t->outs.d[i]].kind != AOT_ARG_NODE) {
            continue;
        }
        uint32_t now = map[t->outs.d[i]].u.node;
        spread_tags(f, now, old, since);
        fx_replace_uses(f, old, now, since);
        if (fx_n_users(f, old) == 0) {
            fx_erase(f, old);
        }
    }
    match_erase(m, f);
    free(map);
}
