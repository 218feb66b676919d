/* What a running program recorded of a unit's call: where its generator stood, what its random
 * nodes gave, the sizes of its inputs. The numbers of the replay are compared with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "import/md5.h"
#include "session/replay_internal.h"

/* ---- what was recorded
 * -------------------------------------------------------------------------------- */

void ru_start(void *arg, aot_replay_side side, aot_generator *g)
{
    const aot_replay_unit *u = arg;
    if (u->side[side].state != NULL) {
        bool is_one = aot_generator_set_state(g, u->side[side].state);
        (void)is_one; // checked when it was read
    }
}

/* Whether a node's value follows from the generator alone: no input's values go into it. */
static bool by_generator_alone(const aot_graph *g, aot_node_id id, const aot_array *x)
{
    const aot_node *n = aot_node_at(g, id);
    bool takes = false;
    for (unsigned i = 0; i < n->n_args; i++) {
        takes |= aot_node_args(g, n)[i].kind == AOT_ARG_NODE;
    }
    return !takes || x->dtype == AOT_B8 || strstr(aot_node_target(g, id), "_like.") != NULL;
}

static bool is_saving(const aot_graph *g, aot_node_id id)
{
    return strstr(aot_node_target(g, id), "run_and_save_rng_state") != NULL;
}

/* By all elements where they were kept, else by their hash and the first ones. */
static void compare_drawn(aot_replay_unit *u, aot_replay_diff *out, const aot_drawn *d,
                          const aot_array *x)
{
    int64_t n = aot_array_numel(x), bytes = n * aot_array_item_bytes(x);
    const void *was = NULL;
    size_t n_was = 0;
    char md5[33];
    if (d->n_bytes != bytes) { // sizes of that call are not known
        return;
    }
    aot_array *c = aot_array_flat(x, (aot_dtype)x->dtype);
    out->with = "recorded";
    out->d = (aot_value_diff){.of = n, .first = -1};
    aot_md5_hex(aot_array_data(c), (size_t)bytes, md5);
    if (d->value > 0 &&
        aot_model_blob(u->m, u->unit, d->value, &was, &n_was, u->arena, NULL) == AOT_OK &&
        n_was == (size_t)bytes) {
        aot_value_compare(&out->d, (aot_dtype)x->dtype, was, aot_array_data(c), n);
    } else if (strcmp(md5, d->hash) != 0) {
        out->d.n = -1;
    }
    aot_array_unref(c);
}

void ru_recorded(void *arg, aot_replay_diff *out, aot_replay_side side, aot_node_id id,
                 unsigned value, const aot_array *x)
{
    aot_replay_unit *u = arg;
    const side_facts *f = &u->side[side];
    unsigned skipped = is_saving(f->g, id) ? 1 : 0; // the state that it gives first
    if (f->drawn == NULL || f->drawn[id].first == NULL || value < skipped ||
        !by_generator_alone(f->g, id, x)) {
        return;
    }
    for (size_t i = 0; i < f->drawn[id].n; i++) {
        const aot_drawn *d = &f->drawn[id].first[i];
        if (d->output == value - skipped &&
            strcmp(d->dtype, aot_dtype_get((aot_dtype)x->dtype)->torch_name + strlen("torch.")) ==
                0) {
            compare_drawn(u, out, d, x);
        }
    }
}

/* "cond/native_dropout": drawn in the body that cond runs. */
static void index_inside(side_facts *f, const aot_drawn *d, const char *slash)
{
    char name[200];
    snprintf(name, sizeof name, "%.*s", (int)(slash - d->node), d->node);
    aot_node_id id = aot_graph_find(f->g, name);
    if (id != AOT_NO_NODE) {
        recorded_node *n = &f->drawn[id];
        n->inside[0] = n->inside[0] != NULL ? n->inside[0] : d;
        n->inside[1] = d;
    }
}

static void index_drawn(aot_replay_unit *u, side_facts *f)
{
    f->drawn = AOT_NEW_ARRAY(u->arena, recorded_node, f->g->nodes.n + 1);
    for (size_t i = 0; i < f->call->random.n; i++) {
        const aot_drawn *d = &f->call->random.d[i];
        const char *slash = strchr(d->node, '/');
        aot_node_id id = slash == NULL ? aot_graph_find(f->g, d->node) : AOT_NO_NODE;
        if (slash != NULL) {
            index_inside(f, d, slash);
        } else if (id != AOT_NO_NODE && f->drawn[id].n++ == 0) {
            f->drawn[id].first = d;
        }
    }
}

static aot_status read_state(aot_replay_unit *u, side_facts *f, aot_err *err)
{
    for (size_t i = 0; i < f->call->generators.n; i++) {
        const aot_generator_use *use = &f->call->generators.d[i];
        const void *bytes;
        size_t n;
        aot_generator g;
        if (strcmp(use->device, "cpu") != 0) {
            continue;
        }
        AOT_TRY(aot_model_blob(u->m, u->unit, use->before, &bytes, &n, u->arena, err));
        if (n != AOT_GENERATOR_STATE_BYTES || !aot_generator_set_state(&g, bytes)) {
            return AOT_FAIL(err, AOT_E_SESSION,
                            "the recorded state of the cpu generator is no state of %d bytes",
                            AOT_GENERATOR_STATE_BYTES);
        }
        f->state = bytes;
    }
    return AOT_OK;
}

static void add_symbol(aot_replay_unit *u, const aot_graph *g, aot_str expr, int64_t value)
{
    const char *name = expr != 0 ? aot_text(g->ctx, expr) : NULL;
    bool plain =
        name != NULL && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
    for (size_t i = 0; plain && i < u->symbols.n; i++) {
        plain = strcmp(u->symbols.d[i].name, name) != 0;
    }
    if (plain) {
        symbol_value s = {name, value};
        aot_vec_push(&u->symbols, s);
    }
}

/* The sizes of the call, as far as inputs were saved: a number, or the shape of a tensor. */
static void take_symbols(aot_replay_unit *u)
{
    const aot_graph *g = u->side[AOT_REPLAY_FORWARD].g;
    const aot_run_call *c = u->side[AOT_REPLAY_FORWARD].call;
    for (size_t i = 0; i < c->saved.n; i++) {
        const aot_saved_tensor *t = &c->saved.d[i];
        aot_node_id id = aot_graph_find(g, t->name);
        const aot_meta *m =
            id != AOT_NO_NODE ? aot_meta_get(g->ctx, aot_node_at(g, id)->meta) : NULL;
        json_t *shape = m != NULL ? json_loads(t->shape, JSON_DECODE_ANY, NULL) : NULL;
        if (m != NULL && m->val == AOT_VAL_SYM && json_is_string(shape)) {
            add_symbol(u, g, m->sym.expr, strtoll(json_string_value(shape), NULL, 10));
        }
        for (unsigned k = 0;
             m != NULL && m->val == AOT_VAL_TENSOR && k < m->ndim && k < json_array_size(shape);
             k++) {
            add_symbol(u, g, aot_meta_sizes(g->ctx, m)[k].expr,
                       json_integer_value(json_array_get(shape, k)));
        }
        json_decref(shape);
    }
}

static const aot_run_call *backward_of(const aot_calls *c, const aot_run_call *forward)
{
    for (size_t i = 0; i < c->calls.n; i++) {
        if (c->calls.d[i].forward == forward->id && strcmp(c->calls.d[i].side, "backward") == 0) {
            return &c->calls.d[i];
        }
    }
    return NULL;
}

/* The call that is replayed, and its backward. */
aot_status ru_choose_call(aot_replay_unit *u, aot_err *err)
{
    const aot_run_call *any = NULL, *best = NULL;
    AOT_TRY(aot_model_calls(u->m, u->unit, &u->calls, err));
    for (size_t i = 0; u->calls != NULL && i < u->calls->calls.n; i++) {
        const aot_run_call *c = &u->calls->calls.d[i];
        if (strcmp(c->side, "backward") == 0 ||
            (u->ask.call >= 0 && c->n != (uint64_t)u->ask.call)) {
            continue;
        }
        any = any == NULL ? c : any;
        best = best == NULL && backward_of(u->calls, c) != NULL ? c : best;
    }
    best = best != NULL ? best : any;
    if (best == NULL) {
        return u->ask.call < 0
                   ? AOT_OK
                   : AOT_FAIL(
                         err, AOT_E_RANGE,
                         "no forward call %lld was recorded of the unit: show --calls lists them",
                         (long long)u->ask.call);
    }
    u->side[AOT_REPLAY_FORWARD].call = best;
    u->side[AOT_REPLAY_BACKWARD].call =
        u->side[AOT_REPLAY_BACKWARD].g != NULL ? backward_of(u->calls, best) : NULL;
    take_symbols(u);
    for (int k = 0; k < AOT_REPLAY_N_SIDES; k++) {
        if (u->side[k].call != NULL) {
            index_drawn(u, &u->side[k]);
            AOT_TRY(read_state(u, &u->side[k], err));
        }
    }
    return AOT_OK;
}

static bool state_of(const aot_replay_unit *u, int64_t blob, aot_generator *g, uint64_t *hash)
{
    const void *bytes;
    size_t n;
    if (aot_model_blob(u->m, u->unit, blob, &bytes, &n, u->arena, NULL) != AOT_OK ||
        n != AOT_GENERATOR_STATE_BYTES || !aot_generator_set_state(g, bytes)) {
        return false;
    }
    *hash = aot_hash64(bytes, n);
    return true;
}

bool aot_replay_unit_drawn(const aot_replay_unit *u, aot_replay_side side, aot_node_id id,
                           aot_replay_drawn *out)
{
    const side_facts *f = &u->side[side];
    const recorded_node *r = f->drawn != NULL ? &f->drawn[id] : NULL;
    const aot_drawn *d = r == NULL ? NULL : r->first != NULL ? r->first : r->inside[0];
    const aot_drawn *last = r != NULL && r->first == NULL ? r->inside[1] : d;
    aot_generator from, to;
    uint64_t after;
    if (d == NULL || strcmp(d->device, "cpu") != 0 ||
        !state_of(u, d->before, &from, &out->before) || !state_of(u, last->after, &to, &after)) {
        return false;
    }
    out->n = aot_rng_distance(&from, &to);
    return true;
}

int64_t aot_replay_unit_drawn_between(aot_replay_unit *u)
{
    const aot_run_call *f = u->side[AOT_REPLAY_FORWARD].call;
    const void *after = NULL;
    size_t n = 0;
    aot_generator from, to;
    for (size_t i = 0; f != NULL && i < f->generators.n; i++) {
        const aot_generator_use *use = &f->generators.d[i];
        if (strcmp(use->device, "cpu") == 0 &&
            aot_model_blob(u->m, u->unit, use->after, &after, &n, u->arena, NULL) != AOT_OK) {
            after = NULL;
        }
    }
    if (after == NULL || n != AOT_GENERATOR_STATE_BYTES ||
        u->side[AOT_REPLAY_BACKWARD].state == NULL || !aot_generator_set_state(&from, after) ||
        !aot_generator_set_state(&to, u->side[AOT_REPLAY_BACKWARD].state)) {
        return 0;
    }
    return aot_rng_distance(&from, &to);
}

/* ---- inputs ---- */

static const aot_given *given_of(const aot_replay_unit *u, const aot_graph *g, const char *name)
{
    const aot_run_call *call =
        u->side[g == u->side[AOT_REPLAY_BACKWARD].g ? AOT_REPLAY_BACKWARD : AOT_REPLAY_FORWARD]
            .call;
    for (size_t i = 0; call != NULL && i < call->inputs.n; i++) {
        if (strcmp(call->inputs.d[i].name, name) == 0 && call->inputs.d[i].value != 0) {
            return &call->inputs.d[i];
        }
    }
    return NULL;
}

bool ru_recorded_input(aot_replay_unit *u, const aot_graph *g, const char *name, aot_array *x)
{
    const aot_given *in = given_of(u, g, name);
    int64_t bytes = aot_array_numel(x) * aot_array_item_bytes(x);
    const void *data;
    size_t n;
    if (in == NULL || in->n_bytes != bytes ||
        aot_model_blob(u->m, u->unit, in->value, &data, &n, u->arena, NULL) != AOT_OK ||
        n != (size_t)bytes) {
        return false;
    }
    aot_array *flat = aot_array_new(NULL, (aot_dtype)x->dtype, x->ndim, x->size);
    memcpy(aot_array_data(flat), data, n);
    if (n > 0) {
        aot_array_assign(x, flat);
    }
    aot_array_unref(flat);
    return true;
}

static void count_input(aot_replay_inputs *c, const aot_replay_unit *u, const aot_graph *g,
                        aot_node_id id)
{
    const char *name = aot_node_name(g, id);
    if (aot_meta_get(g->ctx, aot_node_at(g, id)->meta)->val != AOT_VAL_TENSOR) {
        return;
    }
    c->n++;
    if (json_object_get(json_object_get(u->ask.values, "inputs"), name) != NULL) {
        c->n_given++;
    } else if (given_of(u, g, name) != NULL) {
        c->n_recorded++;
    } else {
        c->n_made_up++;
    }
}

aot_replay_inputs aot_replay_unit_inputs(const aot_replay_unit *u)
{
    const aot_graph *g = u->side[AOT_REPLAY_FORWARD].g, *b = u->side[AOT_REPLAY_BACKWARD].g;
    aot_replay_inputs c = {.of_recorder = u->calls != NULL && u->calls->calls.n > 0};
    if (u->ask.wrapped) {
        c.n = (unsigned)u->wrapped.capture.calling.n_outer;
        *(u->ask.values != NULL ? &c.n_given : &c.n_made_up) = c.n;
        return c;
    }
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
            count_input(&c, u, g, id);
        }
    }
    // of the backward, what the forward does not hand over
    for (aot_node_id id = 0; b != NULL && id < b->nodes.n; id++) {
        if (aot_node_at(b, id)->kind == AOT_PLACEHOLDER &&
            aot_starts_with(aot_node_name(b, id), "tangents_")) {
            count_input(&c, u, b, id);
        }
    }
    return c;
}
