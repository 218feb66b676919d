/* The run behind a replay: an observer makes a frame of each node that was not seen before; values
 * that the backward computes again are kept from the forward and compared. */
#include "exec/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "exec/replay_internal.h"
#include "ops/op_ids.h"

enum { KEPT = 4, FIRST_HORIZON = 256, MAX_COUNTED = 1 << 24, MAX_IN_BODIES = 1 << 16 };
#define MAX_KEPT_BYTES ((int64_t)1 << 30)

aot_replay *aot_replay_new(const aot_replay_source *s)
{
    aot_replay *r = aot_xcalloc(1, sizeof *r);
    r->s = *s;
    r->arena = aot_arena_new();
    r->at = AOT_REPLAY_NONE;
    for (int side = 0; side < AOT_REPLAY_N_SIDES; side++) {
        size_t n = s->graph[side] != NULL ? s->graph[side]->nodes.n : 0;
        r->frame_of[side] = aot_xcalloc(n + 1, sizeof **r->frame_of);
    }
    size_t n = s->graph[AOT_REPLAY_FORWARD]->nodes.n;
    r->keeps = aot_xcalloc(n + 1, sizeof *r->keeps);
    r->n_kept = KEPT * n;
    r->kept = aot_xcalloc(r->n_kept + 1, sizeof *r->kept);
    const aot_graph *b = s->graph[AOT_REPLAY_BACKWARD];
    for (aot_node_id id = 0; b != NULL && s->first != NULL && id < b->nodes.n; id++) {
        if (s->first[id] != AOT_NO_NODE) {
            r->keeps[s->first[id]] = true;
        }
    }
    return r;
}

static void drop_kept(aot_replay *r)
{
    for (size_t i = 0; i < r->n_kept; i++) { // the graph may be gone
        aot_array_unref(r->kept[i]);
        r->kept[i] = NULL;
    }
    r->kept_bytes = 0;
}

void aot_replay_free(aot_replay *r)
{
    if (r == NULL) {
        return;
    }
    while (r->breaks.n > 0) {
        aot_replay_unbreak(r, r->breaks.n - 1);
    }
    drop_kept(r);
    replay_place_end(&r->place);
    aot_vec_free(&r->breaks);
    aot_vec_free(&r->frames);
    free(r->kept);
    free(r->keeps);
    free(r->frame_of[AOT_REPLAY_FORWARD]);
    free(r->frame_of[AOT_REPLAY_BACKWARD]);
    aot_arena_free(r->arena);
    free(r);
}

/* ---- values
 * --------------------------------------------------------------------------------------- */

/* The tensors of a value, in order. */
static unsigned arrays_of(const aot_xval *v, aot_array **out, unsigned room)
{
    unsigned n = 0;
    const aot_xval *items = v->kind == AOT_X_LIST ? v->u.items : v;
    unsigned n_items = v->kind == AOT_X_LIST ? v->n : 1;
    for (unsigned i = 0; i < n_items && n < room; i++) {
        if (items[i].kind == AOT_X_LIST) { // (state, (value, mask))
            n += arrays_of(&items[i], out + n, room - n);
        } else if (items[i].kind == AOT_X_ARRAY) {
            out[n++] = items[i].u.array;
        }
    }
    return n;
}

static void keep_for_backward(aot_replay *r, aot_node_id id, aot_array *const *values, unsigned n)
{
    unsigned from = n > KEPT ? n - KEPT : 0; // the last ones: a saved state stands first
    for (unsigned i = from; i < n; i++) {
        int64_t bytes = aot_array_numel(values[i]) * aot_array_item_bytes(values[i]);
        if (r->kept_bytes + bytes <= MAX_KEPT_BYTES) {
            r->kept[KEPT * id + (n - 1 - i)] = aot_array_copy(values[i]);
            r->kept_bytes += bytes;
        }
    }
}

/* Values are aligned at their ends: run_and_save_rng_state gives its state before them. */
static void compare_with_forward(const aot_replay *r, aot_replay_diff *out, aot_node_id id,
                                 unsigned from_end, const aot_array *x)
{
    aot_node_id first = r->s.first != NULL ? r->s.first[id] : AOT_NO_NODE;
    const aot_array *was =
        first != AOT_NO_NODE && from_end < KEPT ? r->kept[KEPT * first + from_end] : NULL;
    if (was == NULL || was->dtype != x->dtype || aot_array_numel(was) != aot_array_numel(x)) {
        return;
    }
    aot_array *is = aot_array_flat(x, (aot_dtype)x->dtype);
    out->with = "forward";
    aot_value_compare(&out->d, (aot_dtype)x->dtype, aot_array_data(was), aot_array_data(is),
                      aot_array_numel(x));
    aot_array_unref(is);
}

static void describe_values(aot_replay *r, aot_replay_frame *f, aot_array *const *values,
                            unsigned n)
{
    f->values = AOT_NEW_ARRAY(r->arena, aot_replay_value, n + 1);
    f->n_values = n;
    for (unsigned i = 0; i < n; i++) {
        aot_replay_value *v = &f->values[i];
        aot_value_stats_of(&v->stats, values[i]);
        if (f->graph != r->s.graph[f->side]) {
            continue;
        }
        if (f->side == AOT_REPLAY_BACKWARD && !f->is_input) {
            compare_with_forward(r, &v->forward, f->node, n - 1 - i, values[i]);
        }
        if (r->s.recorded != NULL) {
            r->s.recorded(r->s.arg, &v->recorded, (aot_replay_side)f->side, f->node, i, values[i]);
        }
    }
}

/* ---- the generator
 * -------------------------------------------------------------------------------- */

static aot_rng_mark mark_of(const aot_generator *g)
{
    uint8_t state[AOT_GENERATOR_STATE_BYTES];
    aot_generator_get_state(g, state);
    return (aot_rng_mark){.hash = aot_hash64(state, sizeof state), .position = g->next};
}

static bool same_place(const aot_generator *a, const aot_generator *b)
{
    return a->left == b->left && a->next == b->next && memcmp(a->mt, b->mt, sizeof a->mt) == 0;
}

int64_t aot_rng_distance(const aot_generator *from, const aot_generator *to)
{
    aot_generator g = *from;
    for (int64_t n = 0; n <= MAX_COUNTED; n++) {
        if (same_place(&g, to)) {
            return n;
        }
        aot_generator_u32(&g);
    }
    return -1;
}

/* ---- running
 * --------------------------------------------------------------------------------------- */

static bool is_side(const aot_replay *r, const aot_graph *g)
{
    return g == r->s.graph[AOT_REPLAY_FORWARD] || g == r->s.graph[AOT_REPLAY_BACKWARD];
}

static void before_node(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id)
{
    aot_replay *r = arg;
    if (is_side(r, g)) {
        r->side = g == r->s.graph[AOT_REPLAY_BACKWARD] ? AOT_REPLAY_BACKWARD : AOT_REPLAY_FORWARD;
    }
    if (!r->started[r->side]) {
        r->started[r->side] = true;
        if (r->s.start != NULL) {
            r->s.start(r->s.arg, r->side, aot_exec_generator(x));
        }
    }
    bool news = r->i == r->frames.n; // a frame is made of it
    replay_place_before(&r->place, g, id, news ? aot_exec_generator(x) : NULL);
}

static void make_frame(aot_replay *r, const aot_graph *g, aot_node_id id, const aot_generator *was,
                       const aot_xval *value, aot_array *const *values, unsigned n)
{
    const aot_generator *now = aot_exec_generator(r->x);
    aot_replay_frame f = {.side = (uint8_t)r->side,
                          .node = id,
                          .graph = g,
                          .number = NAN,
                          .live_bytes = aot_exec_live(r->x)->now,
                          .n_drawn = 0};
    f.restores = aot_node_at(g, id)->op == AOT_OP_higher_order_run_with_rng_state;
    f.is_input = aot_node_at(g, id)->kind == AOT_PLACEHOLDER;
    f.name = is_side(r, g) ? aot_node_name(g, id) : replay_place_name(&r->place, r->arena);
    describe_values(r, &f, values, n);
    if (value->kind == AOT_X_INT || value->kind == AOT_X_BOOL || value->kind == AOT_X_REAL) {
        f.number = value->kind == AOT_X_REAL ? value->u.f : (double)value->u.i;
    }
    f.draws = memcmp(now, was, sizeof *now) != 0;
    if (f.draws) {
        f.before = mark_of(was);
        f.after = mark_of(now);
        f.n_drawn = aot_rng_distance(was, now);
    }
    r->peak[r->side] = f.live_bytes > r->peak[r->side] ? f.live_bytes : r->peak[r->side];
    aot_vec_push(&r->frames, f);
    uint32_t *frame_of = is_side(r, g) ? r->frame_of[r->side] : replay_body_frames(&r->place, g);
    frame_of[id] = (uint32_t)r->frames.n;
}

static bool after_node(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                       const aot_live_bytes *live)
{
    enum { MAX_VALUES = 1024 };
    aot_replay *r = arg;
    aot_array *values[MAX_VALUES];
    unsigned n = arrays_of(value, values, MAX_VALUES);
    const aot_generator *was = replay_place_after(&r->place, g);
    (void)live;
    if (!is_side(r, g) && r->n_in_bodies++ >= MAX_IN_BODIES) {
        return true; // of a loop that long
    }
    if (g == r->s.graph[AOT_REPLAY_FORWARD] && r->keeps[id]) {
        keep_for_backward(r, id, values, n);
    }
    if (r->i == r->frames.n) {
        make_frame(r, g, id, was, value, values, n);
    }
    return ++r->i < r->horizon;
}

/* Runs from the start, as far as the horizon. */
static void run(aot_replay *r)
{
    aot_exec *x = aot_exec_new();
    aot_exec_options o = {.observer = after_node,
                          .arg = r,
                          .before = before_node,
                          .inputs = true,
                          .bodies = r->s.bodies};
    aot_err err = {0};
    r->i = 0;
    r->n_in_bodies = 0;
    r->place.levels.n = 0;
    r->x = x;
    memset(r->started, 0, sizeof r->started);
    aot_status s = r->s.run(r->s.arg, x, &o, &err);
    if (s != AOT_OK || r->i < r->horizon) {
        r->complete = true;
        r->err = err;
    }
    drop_kept(r);
    aot_exec_free(x);
}

bool aot_replay_reach(aot_replay *r, size_t i)
{
    while (i >= r->frames.n && !r->complete) {
        size_t twice = 2 * r->frames.n;
        r->horizon = twice < FIRST_HORIZON ? FIRST_HORIZON : twice;
        r->horizon = i >= r->horizon ? i + 1 : r->horizon;
        run(r);
    }
    return i < r->frames.n;
}

bool aot_replay_complete(const aot_replay *r, const aot_err **err)
{
    if (err != NULL) {
        *err = &r->err;
    }
    return r->complete;
}

/* ---- frames
 * ---------------------------------------------------------------------------------------- */

size_t aot_replay_n(const aot_replay *r)
{
    return r->frames.n;
}

const aot_replay_frame *aot_replay_frame_at(const aot_replay *r, size_t i)
{
    return &r->frames.d[i];
}

int64_t aot_replay_peak(const aot_replay *r, aot_replay_side side)
{
    return r->peak[side];
}

const char *aot_replay_name(const aot_replay *r, const aot_replay_frame *f)
{
    (void)r;
    return f->name;
}

size_t aot_replay_find(const aot_replay *r, aot_replay_side side, const char *name)
{
    const aot_graph *g = r->s.graph[side];
    aot_node_id id = g != NULL ? aot_graph_find(g, name) : AOT_NO_NODE;
    uint32_t f = id != AOT_NO_NODE ? r->frame_of[side][id] : 0;
    for (size_t i = 0; strchr(name, '/') != NULL && f == 0 && i < r->frames.n; i++) { // of a body
        f = r->frames.d[i].side == side && strcmp(r->frames.d[i].name, name) == 0 ? (uint32_t)i + 1
                                                                                  : 0;
    }
    return f > 0 ? f - 1 : AOT_REPLAY_NONE;
}

/* ---- moving
 * ---------------------------------------------------------------------------------------- */

size_t aot_replay_at(const aot_replay *r)
{
    return r->at;
}

bool aot_replay_go(aot_replay *r, size_t i)
{
    if (i != AOT_REPLAY_NONE && !aot_replay_reach(r, i)) {
        return false;
    }
    r->at = i;
    return true;
}

/* The nearest frame after (before) `at` that is no input; AOT_REPLAY_NONE if there is none. */
static size_t neighbour(aot_replay *r, size_t at, bool back)
{
    for (;;) {
        if (back && (at == AOT_REPLAY_NONE || at == 0)) {
            return AOT_REPLAY_NONE;
        }
        at = back ? at - 1 : at + 1; // NONE + 1 is 0
        if (!aot_replay_reach(r, at)) {
            return AOT_REPLAY_NONE;
        }
        if (!r->frames.d[at].is_input) {
            return at;
        }
    }
}

bool aot_replay_step(aot_replay *r, int64_t n)
{
    for (int64_t i = 0; i < (n < 0 ? -n : n); i++) {
        size_t to = neighbour(r, r->at, n < 0);
        if (to == AOT_REPLAY_NONE) {
            r->at = n < 0 ? to : r->at;
            return false;
        }
        r->at = to;
    }
    return true;
}

bool aot_replay_next(aot_replay *r)
{
    size_t from = r->at;
    while (aot_replay_step(r, 1)) {
        const aot_replay_frame *a = from != AOT_REPLAY_NONE ? &r->frames.d[from] : NULL,
                               *b = &r->frames.d[r->at];
        if (a == NULL || a->side != b->side || a->graph != b->graph ||
            aot_node_at(a->graph, a->node)->src != aot_node_at(b->graph, b->node)->src) {
            return true;
        }
    }
    return false;
}

bool aot_replay_continue(aot_replay *r)
{
    for (size_t i = r->at + 1; aot_replay_reach(r, i); i++) {
        if (aot_replay_stops(r, i)) {
            r->at = i;
            return true;
        }
    }
    r->at = r->frames.n > 0 ? r->frames.n - 1 : AOT_REPLAY_NONE;
    return false;
}
