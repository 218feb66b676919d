/* Takes the engine's graph apart by node calls, and finds the units whose backwards are in it.
 *
 * Which unit aotK is: the one whose backward has the same operators under the same names (a view
 * becomes a reshape on the way). Units with the same backward, identical layers, are told apart by
 * order only: K graphs were compiled before. */
#include "session/engine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "session/derive.h"

static const char backward_name[] = "CompiledFunctionBackward";

/* ---- names ----------------------------------------------------------------------------------- */

const char *aot_engine_own_name(const char *name, int64_t *aot_id, int64_t *run)
{
    char *end;
    if (strncmp(name, "aot", 3) != 0 || !isdigit((unsigned char)name[3])) {
        return NULL;
    }
    *aot_id = strtol(name + 3, &end, 10);
    *run = 0;
    if (end[0] == '_' && isdigit((unsigned char)end[1])) {
        *run = strtol(end + 1, &end, 10);
    }
    return end[0] == '_' && end[1] != '\0' ? end + 1 : NULL;
}

/* "PowBackward0 (NodeCall 2)" -> 2, its name and, of a unit's backward, K. -1 for other comments.
 */
static int64_t node_call(aot_ctx *c, const char *code, const char **name, int64_t *aot_id)
{
    const char *at = strstr(code, " (NodeCall ");
    if (at == NULL) {
        return -1;
    }
    *name = aot_arena_strndup(c->arena, code, (size_t)(at - code));
    *aot_id = -1;
    size_t n = sizeof backward_name - 1;
    if (strncmp(*name, backward_name, n) == 0 && isdigit((unsigned char)(*name)[n])) {
        *aot_id = strtol(*name + n, NULL, 10);
        *name = backward_name;
    }
    long call = strtol(at + sizeof " (NodeCall " - 1, NULL, 10);
    return call >= 0 && call < 1 << 24 ? call : -1;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static aot_engine_call *call_at(aot_engine *e, int64_t i)
{
    while ((int64_t)e->calls.n <= i) {
        aot_engine_call none = {.name = "", .aot_id = -1, .run = -1, .unit = -1};
        aot_vec_push(&e->calls, none);
    }
    return &e->calls.d[i];
}

/* First the calls that comments name, so that values of backwards find theirs. */
static void read_calls(aot_engine *e)
{
    const aot_graph *g = e->graph;
    for (size_t i = 1; i < g->srcs.n; i++) {
        const char *name = NULL;
        int64_t aot_id = -1;
        const aot_src *s = &g->srcs.d[i];
        int64_t call =
            s->code != 0 ? node_call(e->ctx, aot_text(e->ctx, s->code), &name, &aot_id) : -1;
        if (call >= 0 && (size_t)call <= g->nodes.n) { // there are no more calls than values
            aot_engine_call *c = call_at(e, call);
            c->name = name;
            c->aot_id = aot_id;
        }
    }
    for (size_t i = 0; i < e->calls.n; i++) {
        for (size_t k = 0; k < i && e->calls.d[i].aot_id >= 0; k++) {
            e->calls.d[i].run += e->calls.d[k].aot_id == e->calls.d[i].aot_id;
        }
        e->calls.d[i].run += e->calls.d[i].aot_id >= 0;
    }
}

static int64_t call_of(const aot_engine *e, const aot_node *n)
{
    int64_t aot_id, run, at = -1;
    const char *name;
    if (aot_engine_own_name(aot_text(e->ctx, n->name), &aot_id, &run) != NULL) {
        for (size_t i = 0; i < e->calls.n; i++) {
            if (e->calls.d[i].aot_id == aot_id && e->calls.d[i].run == run) {
                return (int64_t)i;
            }
        }
    }
    if (n->src != 0 && e->graph->srcs.d[n->src].code != 0) {
        at = node_call(e->ctx, aot_text(e->ctx, e->graph->srcs.d[n->src].code), &name, &aot_id);
    }
    return at < (int64_t)e->calls.n ? at : -1;
}

static void read_parts(aot_engine *e)
{
    const aot_graph *g = e->graph;
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
            continue;
        }
        int64_t call = call_of(e, n);
        if (e->parts.n == 0 || e->parts.d[e->parts.n - 1].call != call) {
            aot_engine_part p = {.call = call, .first = i};
            aot_vec_push(&e->parts, p);
        }
        e->parts.d[e->parts.n - 1].last = i;
        if (call >= 0) {
            e->calls.d[call].n_nodes++;
        }
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool same_operator(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (strcmp(a, "torch.ops.aten.view.default") == 0 &&
                                 strcmp(b, "torch.ops.aten.reshape.default") == 0);
}

/* Node by name, for graphs that are asked often. */
typedef struct names {
    const aot_graph *g;
    aot_node_id *of; /* by aot_str */
    size_t n;
} names;

static names names_new(const aot_graph *g)
{
    names t = {.g = g};
    for (size_t i = 0; i < g->nodes.n; i++) {
        t.n = g->nodes.d[i].name >= t.n ? g->nodes.d[i].name + 1 : t.n;
    }
    t.of = aot_xmalloc((t.n + 1) * sizeof *t.of);
    for (size_t i = 0; i < t.n; i++) {
        t.of[i] = AOT_NO_NODE;
    }
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        t.of[g->nodes.d[i].name] = i;
    }
    return t;
}

static aot_node_id names_find(const names *t, const char *name)
{
    aot_str s = aot_intern_find(t->g->ctx->strs, name, strlen(name));
    return s != 0 && s < t->n ? t->of[s] : AOT_NO_NODE;
}

/* How many operators of a unit's backward the call has under their names, and of how many. */
static void compare(const names *engine, const aot_engine_call *c, const aot_graph *b,
                    uint32_t *same, uint32_t *all)
{
    aot_sb name = {0};
    *same = *all = 0;
    for (aot_node_id i = 0; i < b->nodes.n; i++) {
        const aot_node *n = aot_node_at(b, i);
        if (n->kind == AOT_OUTPUT || n->kind == AOT_PLACEHOLDER) {
            continue;
        }
        aot_sb_clear(&name);
        aot_sb_addf(&name, "aot%lld", (long long)c->aot_id);
        if (c->run > 0) {
            aot_sb_addf(&name, "_%lld", (long long)c->run);
        }
        aot_sb_addf(&name, "_%s", aot_node_name(b, i));
        aot_node_id at = names_find(engine, aot_sb_text(&name));
        ++*all;
        *same += at != AOT_NO_NODE &&
                 same_operator(aot_node_target(b, i), aot_node_target(engine->g, at));
    }
    aot_sb_free(&name);
}

/* The call before this one that runs the same backward; NULL. */
static const aot_engine_call *earlier(const aot_engine *e, size_t call)
{
    for (size_t i = 0; i < call; i++) {
        if (e->calls.d[i].aot_id == e->calls.d[call].aot_id && e->calls.d[i].unit >= 0) {
            return &e->calls.d[i];
        }
    }
    return NULL;
}

static const aot_graph *backward_of(aot_model *m, size_t unit)
{
    const aot_graph *g = NULL;
    bool has = aot_unit_stage(aot_model_unit(m, unit), AOT_STAGE_BACKWARD) != NULL;
    return has && aot_model_graph(m, unit, AOT_STAGE_BACKWARD, &g, NULL) == AOT_OK ? g : NULL;
}

/* Whether another backward was found to be that unit's. */
static bool is_taken(const aot_engine *e, const aot_engine_call *by, size_t unit)
{
    for (size_t i = 0; i < e->calls.n; i++) {
        if (e->calls.d[i].unit == (int64_t)unit && e->calls.d[i].aot_id != by->aot_id) {
            return true;
        }
    }
    return false;
}

/* What AOTAutograd compiled in that process before the unit, as far as the input tells. */
static int64_t compiled_before(aot_model *m, size_t unit)
{
    int64_t n = 0;
    for (size_t u = 0; u < unit; u++) {
        const aot_unit *other = aot_model_unit(m, u);
        n += other->key.rank == aot_model_unit(m, unit)->key.rank &&
             (aot_unit_stage(other, AOT_STAGE_FORWARD) != NULL ||
              aot_unit_stage(other, AOT_STAGE_JOINT) != NULL ||
              aot_unit_stage(other, AOT_STAGE_INFERENCE) != NULL);
    }
    return n;
}

/* Gives a call the unit that fits best. Of several that fit equally: first (by_count) the one
 * before which as many graphs were compiled as its id says, then the first that is left. */
static void find_unit(aot_engine *e, aot_model *m, size_t self, size_t call, const names *engine,
                      bool by_count, int32_t *score)
{
    aot_engine_call *c = &e->calls.d[call];
    int32_t best = 0;
    size_t n_best = 0;
    for (size_t u = 0; u < self; u++) { // what it runs was compiled before
        bool same_rank = aot_model_unit(m, u)->key.rank == aot_model_unit(m, self)->key.rank;
        const aot_graph *b = same_rank ? backward_of(m, u) : NULL;
        uint32_t same = 0, all = 0;
        if (b != NULL) {
            compare(engine, c, b, &same, &all);
        }
        score[u] = 2 * (int32_t)same - (int32_t)all; // what is there less what is not
        n_best = score[u] > best ? 1 : n_best + (score[u] == best && best > 0);
        best = score[u] > best ? score[u] : best;
    }
    const aot_engine_call *before = earlier(e, call);
    c->is_certain = n_best == 1;
    c->unit = before != NULL ? before->unit : -1;
    for (size_t u = 0; u < self && c->unit < 0 && best > 0; u++) {
        int id = aot_model_unit(m, u)->aot_id;
        if (score[u] == best && !is_taken(e, c, u) &&
            (id >= 0 ? id == c->aot_id : !by_count || compiled_before(m, u) == c->aot_id)) {
            c->unit = (int64_t)u;
        }
    }
    if (c->unit >= 0) {
        compare(engine, c, backward_of(m, (size_t)c->unit), &c->n_same, &c->n_backward);
    }
}

/* The call with the smallest id of those that have no unit and are not done. */
static size_t next_call(const aot_engine *e, const bool *done)
{
    size_t next = e->calls.n;
    for (size_t i = 0; i < e->calls.n; i++) {
        const aot_engine_call *c = &e->calls.d[i];
        if (!done[i] && c->aot_id >= 0 && c->unit < 0 &&
            (next == e->calls.n || c->aot_id < e->calls.d[next].aot_id)) {
            next = i;
        }
    }
    return next;
}

static void find_units(aot_engine *e, aot_model *m, size_t self)
{
    int32_t *score = aot_xcalloc(self + 1, sizeof *score);
    names engine = names_new(e->graph);
    bool *done = aot_xcalloc(e->calls.n + 1, sizeof *done);
    for (int round = 0; round < 2; round++) {
        memset(done, 0, e->calls.n);
        for (size_t i; (i = next_call(e, done)) < e->calls.n;) {
            done[i] = true;
            find_unit(e, m, self, i, &engine, round == 0, score);
        }
    }
    free(done);
    free(engine.of);
    free(score);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* The value of a backward behind a gradient: itself, or an operand of a sum of several. */
static aot_node_id backward_value(const aot_engine *e, aot_node_id id)
{
    const aot_graph *g = e->graph;
    int64_t aot_id, run;
    for (int step = 0; step < 64 && id != AOT_NO_NODE; step++) {
        const aot_node *n = aot_node_at(g, id);
        if (aot_engine_own_name(aot_node_name(g, id), &aot_id, &run) != NULL) {
            return id;
        }
        const aot_arg *args = aot_node_args(g, n);
        bool sum = strcmp(aot_node_target(g, id), "torch.add") == 0;
        id = sum && n->n_args > 0 && args[0].kind == AOT_ARG_NODE ? args[0].u.node : AOT_NO_NODE;
    }
    return AOT_NO_NODE;
}

/* Which of the values that a backward returns this is; -1. */
static int64_t returned_at(const aot_graph *b, const char *name)
{
    aot_node_id out = aot_graph_output(b);
    const aot_arg *list = out != AOT_NO_NODE ? aot_node_args(b, aot_node_at(b, out)) : NULL;
    if (list == NULL || (list->kind != AOT_ARG_TUPLE && list->kind != AOT_ARG_LIST)) {
        return -1;
    }
    for (uint32_t k = 0; k < list->n; k++) {
        const aot_arg *a = &aot_arg_items(b, list)[k];
        if (a->kind == AOT_ARG_NODE && strcmp(aot_node_name(b, a->u.node), name) == 0) {
            return k;
        }
    }
    return -1;
}

/* The parameter whose gradient the value is: gradients are returned in the order of the primals. */
static const char *parameter_of(const aot_engine *e, aot_model *m, aot_node_id value)
{
    int64_t aot_id = -1, run = -1;
    const char *own = aot_engine_own_name(aot_node_name(e->graph, value), &aot_id, &run);
    for (size_t i = 0; i < e->calls.n; i++) {
        const aot_engine_call *c = &e->calls.d[i];
        if (c->aot_id != aot_id || c->run != run || c->unit < 0) {
            continue;
        }
        const aot_graph *joint = NULL;
        uint32_t n = 0;
        if (aot_model_graph(m, (size_t)c->unit, AOT_STAGE_JOINT, &joint, NULL) != AOT_OK) {
            return NULL;
        }
        const char *const *paths =
            aot_unit_param_paths(aot_model_unit(m, (size_t)c->unit), joint, &n);
        int64_t at = returned_at(backward_of(m, (size_t)c->unit), own);
        return paths != NULL && at >= 0 && at < n ? paths[at] : NULL;
    }
    return NULL;
}

static void find_gradients(aot_engine *e, aot_model *m)
{
    const aot_graph *g = e->graph;
    for (size_t i = 0; i < e->parts.n; i++) {
        aot_engine_part *p = &e->parts.d[i];
        const aot_node *n = aot_node_at(g, p->first);
        const aot_arg *args = aot_node_args(g, n);
        bool accumulates = strstr(aot_node_target(g, p->first), "accumulate_grad") != NULL;
        if (accumulates && n->n_args >= 2 && args[1].kind == AOT_ARG_NODE) {
            aot_node_id value = backward_value(e, args[1].u.node);
            p->gradient_of = value != AOT_NO_NODE ? parameter_of(e, m, value) : NULL;
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

aot_status aot_engine_read(aot_engine **out, aot_model *m, size_t unit, aot_err *err)
{
    const aot_record *r = aot_unit_record(aot_model_unit(m, unit), "compiled_autograd_graph");
    if (r == NULL || r->text == NULL) {
        return AOT_FAIL(
            err, AOT_E_PIPELINE,
            "the unit is no backward of Compiled Autograd: it has no compiled_autograd_graph");
    }
    aot_engine *e = aot_xcalloc(1, sizeof *e);
    aot_graph *g = NULL;
    e->ctx = aot_ctx_new();
    aot_status st = aot_parse_graph(&g, e->ctx, r->text, r->len, (uint32_t)r->line, err);
    if (st != AOT_OK) {
        aot_engine_free(e);
        return st;
    }
    e->graph = g;
    read_calls(e);
    read_parts(e);
    find_units(e, m, unit);
    find_gradients(e, m);
    *out = e;
    return AOT_OK;
}

void aot_engine_free(aot_engine *e)
{
    if (e == NULL) {
        return;
    }
    aot_vec_free(&e->calls);
    aot_vec_free(&e->parts);
    aot_ctx_free(e->ctx);
    free(e);
}
