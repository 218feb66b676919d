/* Where a replay stops. A condition of values holds where it begins: at the node whose inputs do
 * not have it, not at all that follows from it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "exec/replay_internal.h"

static const aot_break_info infos[] = {
#define BREAK(id, name, arg, finding, sentence) {name, arg, sentence, finding},
#include "exec/breaks.def"
#undef BREAK
};

const aot_break_info *aot_break_get(aot_break_kind k)
{
    return &infos[k];
}

/* ---- conditions
 * ------------------------------------------------------------------------------------ */

typedef bool condition(const aot_replay_frame *f);

static bool has_nan(const aot_replay_frame *f)
{
    for (unsigned i = 0; i < f->n_values; i++) {
        if (f->values[i].stats.n_nan > 0) {
            return true;
        }
    }
    return false;
}

static bool has_inf(const aot_replay_frame *f)
{
    for (unsigned i = 0; i < f->n_values; i++) {
        if (f->values[i].stats.n_inf > 0) {
            return true;
        }
    }
    return false;
}

bool aot_replay_differs(const aot_replay_frame *f)
{
    for (unsigned i = 0; i < f->n_values; i++) {
        const aot_replay_value *v = &f->values[i];
        if ((v->forward.with != NULL && v->forward.d.n != 0) ||
            (v->recorded.with != NULL && v->recorded.d.n != 0)) {
            return true;
        }
    }
    return false;
}

typedef struct asking {
    const aot_replay *r;
    const uint32_t *frame_of;
    condition *holds;
    bool found;
} asking;

static void ask_input(void *arg, aot_node_id id)
{
    asking *a = arg;
    uint32_t f = a->frame_of[id];
    a->found = a->found || (f > 0 && a->holds(&a->r->frames.d[f - 1]));
}

static const uint32_t *frames_of(const aot_replay *r, const aot_replay_frame *f)
{
    for (size_t i = 0; i < r->place.bodies.n; i++) {
        if (r->place.bodies.d[i].g == f->graph) {
            return r->place.bodies.d[i].frame_of;
        }
    }
    return r->frame_of[f->side];
}

/* Of a node that runs a body: the body was told node by node. */
static bool in_its_body(const aot_replay *r, size_t frame, condition *holds)
{
    const aot_replay_frame *f = &r->frames.d[frame], *last = frame > 0 ? f - 1 : NULL;
    size_t n = strlen(f->name);
    bool inside = last != NULL && last->graph != f->graph && strncmp(last->name, f->name, n) == 0 &&
                  last->name[n] == '/';
    for (size_t i = frame; inside && i-- > 0;) {
        const aot_replay_frame *b = &r->frames.d[i];
        if (strncmp(b->name, f->name, n) != 0 || b->name[n] != '/') {
            return false;
        }
        if (holds(b)) {
            return true;
        }
    }
    return false;
}

static bool begins(const aot_replay *r, size_t frame, condition *holds)
{
    const aot_replay_frame *f = &r->frames.d[frame];
    const aot_graph *g = f->graph;
    asking a = {r, frames_of(r, f), holds, false};
    if (!holds(f)) {
        return false;
    }
    if (f->is_input && g != r->s.graph[f->side]) {
        return false; // it began outside
    }
    if (f->is_input) { // of the backward: what the forward saved has begun there
        return f->side == AOT_REPLAY_FORWARD ||
               aot_starts_with(aot_node_name(g, f->node), "tangents_");
    }
    aot_node_each_input(g, aot_node_at(g, f->node), ask_input, &a);
    return !a.found && !in_its_body(r, frame, holds);
}

static bool holds_BYTES(const aot_replay *r, const replay_break *b, size_t i)
{
    return r->frames.d[i].live_bytes > b->bytes &&
           (i == 0 || r->frames.d[i - 1].live_bytes <= b->bytes);
}

static bool holds_DIFF(const aot_replay *r, const replay_break *b, size_t i)
{
    (void)b;
    return begins(r, i, aot_replay_differs);
}

/* An infinity among the arguments as written: masks are filled with -inf on purpose. */
static bool writes_inf(const aot_graph *g, const aot_node *n)
{
    AOT_VEC(aot_arg) todo = {0};
    bool found = false;
    for (uint32_t i = 0; i < n->n_args; i++) {
        aot_vec_push(&todo, aot_node_args(g, n)[i]);
    }
    for (uint32_t i = 0; i < n->n_kwargs * 2u; i++) {
        aot_vec_push(&todo, aot_node_kwargs(g, n)[i]);
    }
    while (todo.n > 0 && !found) {
        aot_arg a = todo.d[--todo.n];
        found = a.kind == AOT_ARG_FLOAT && isinf(a.u.f);
        bool many = a.kind == AOT_ARG_LIST || a.kind == AOT_ARG_TUPLE;
        for (uint32_t i = 0; many && i < a.n; i++) {
            aot_vec_push(&todo, aot_arg_items(g, &a)[i]);
        }
    }
    aot_vec_free(&todo);
    return found;
}

static bool holds_INF(const aot_replay *r, const replay_break *b, size_t i)
{
    const aot_replay_frame *f = &r->frames.d[i];
    (void)b;
    return begins(r, i, has_inf) &&
           (f->is_input || !writes_inf(f->graph, aot_node_at(f->graph, f->node)));
}

static bool holds_NAN(const aot_replay *r, const replay_break *b, size_t i)
{
    (void)b;
    return begins(r, i, has_nan);
}

static bool holds_RANDOM(const aot_replay *r, const replay_break *b, size_t i)
{
    (void)b;
    return r->frames.d[i].draws || r->frames.d[i].restores;
}

static bool holds_SELECT(const aot_replay *r, const replay_break *b, size_t i)
{
    const aot_replay_frame *f = &r->frames.d[i];
    return !f->is_input &&
           (strcmp(b->text, f->name) == 0 ||
            r->s.selected(r->s.arg, b->selection, (aot_replay_side)f->side, f->graph, f->node));
}

bool aot_replay_holds(const aot_replay *r, size_t i, size_t frame)
{
    static bool (*const holds[])(const aot_replay *, const replay_break *, size_t) = {
#define BREAK(id, name, arg, finding, sentence) holds_##id,
#include "exec/breaks.def"
#undef BREAK
    };
    const replay_break *b = &r->breaks.d[i];
    return holds[b->kind](r, b, frame);
}

bool aot_replay_stops(const aot_replay *r, size_t frame)
{
    for (size_t i = 0; i < r->breaks.n; i++) {
        if (aot_replay_holds(r, i, frame)) {
            return true;
        }
    }
    return false;
}

/* ---- the list
 * -------------------------------------------------------------------------------------- */

/* Whether it could ever stop there, in a graph or in the bodies that its operators run: inputs are
 * given, not run. "cond/true_graph_0/add" ends in the name of the body's node. */
static bool selects_any(const aot_replay *r, const void *selection, const char *text)
{
    AOT_VEC(const aot_graph *) todo = {0};
    const char *slash = strrchr(text, '/');
    bool found = false;
    for (int side = 0; side < AOT_REPLAY_N_SIDES && !found; side++) {
        todo.n = 0;
        if (r->s.graph[side] != NULL) {
            aot_vec_push(&todo, r->s.graph[side]);
        }
        for (size_t k = 0; k < todo.n && !found; k++) {
            const aot_graph *g = todo.d[k];
            for (uint32_t i = 0; i < g->nodes.n && !found; i++) {
                found = aot_node_at(g, i)->kind != AOT_PLACEHOLDER &&
                        ((k > 0 && slash != NULL && strcmp(slash + 1, aot_node_name(g, i)) == 0) ||
                         r->s.selected(r->s.arg, selection, (aot_replay_side)side, g, i));
            }
            for (size_t i = 0; i < g->subgraphs.n; i++) {
                aot_vec_push(&todo, g->subgraphs.d[i]);
            }
        }
    }
    aot_vec_free(&todo);
    return found;
}

static aot_status selects_none(const char *text, aot_err *err)
{
    aot_sb kinds = {0};
    for (int k = 0; k < AOT_BREAK_SELECT; k++) {
        aot_sb_addf(&kinds, "%s%s, ", infos[k].name, infos[k].arg != NULL ? infos[k].arg : "");
    }
    aot_status s = AOT_FAIL(
        err, AOT_E_RANGE,
        "break %.80s: no node that is run is selected by it; there are %sor a selection such "
        "as op:mm, node:NAME",
        text, aot_sb_text(&kinds));
    aot_sb_free(&kinds);
    return s;
}

aot_status aot_replay_break(aot_replay *r, const char *text, aot_err *err)
{
    replay_break b = {.kind = AOT_BREAK_SELECT};
    for (int k = 0; k < AOT_BREAK_SELECT; k++) {
        bool takes = infos[k].arg != NULL;
        if (takes ? aot_starts_with(text, infos[k].name) : strcmp(text, infos[k].name) == 0) {
            b.kind = (aot_break_kind)k;
        }
    }
    const char *arg = b.kind == AOT_BREAK_BYTES ? text + strlen(infos[AOT_BREAK_BYTES].name) : NULL;
    if (arg != NULL && !aot_bytes_parse(&b.bytes, arg)) {
        return AOT_FAIL(err, AOT_E_USAGE, "break %s: '%s' is no size; say 4096, 8MiB, 1.5GB", text,
                        arg);
    }
    if (b.kind == AOT_BREAK_SELECT) {
        if (r->s.select == NULL) {
            return AOT_FAIL(err, AOT_E_USAGE, "break %s: there is nothing to stop at", text);
        }
        b.selection = r->s.select(r->s.arg, text, err);
        if (b.selection == NULL) {
            return err != NULL ? err->code : AOT_E_USAGE;
        }
        if (!selects_any(r, b.selection, text)) {
            r->s.select_free(b.selection);
            return selects_none(text, err);
        }
    }
    b.text = aot_xstrdup(text);
    aot_vec_push(&r->breaks, b);
    return AOT_OK;
}

void aot_replay_unbreak(aot_replay *r, size_t i)
{
    replay_break *b = &r->breaks.d[i];
    if (b->selection != NULL) {
        r->s.select_free(b->selection);
    }
    free(b->text);
    memmove(b, b + 1, (r->breaks.n - i - 1) * sizeof *b);
    r->breaks.n--;
}

size_t aot_replay_n_breaks(const aot_replay *r)
{
    return r->breaks.n;
}

const char *aot_replay_break_text(const aot_replay *r, size_t i)
{
    return r->breaks.d[i].text;
}

aot_break_kind aot_replay_break_kind(const aot_replay *r, size_t i)
{
    return r->breaks.d[i].kind;
}
