/* Runs the two graphs of a unit as AOTDispatchAutograd does: what the forward returns behind the user's
 * outputs goes to the backward, symbols first. The generator starts where the recorded call did. */
#include "session/replay_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "exec/interp.h"
#include "exec/values.h"
#include "import/md5.h"
#include "partition/rng_sites.h"
#include "partition/select.h"

typedef struct recorded_node {
    const aot_drawn *first; /* of the node's outputs; NULL: it was not recorded */
    size_t n;
} recorded_node;

typedef struct side_facts {
    const aot_graph *g;
    const aot_run_call *call;
    recorded_node *drawn; /* by node */
    const uint8_t *state; /* of the generator when the call began; NULL */
    bool recorded;
    aot_select_on on;
} side_facts;

typedef struct symbol_value {
    const char *name;
    int64_t value;
} symbol_value;

struct aot_replay_unit {
    aot_model *m;
    size_t unit;
    aot_replay_ask ask;
    aot_arena *arena;
    side_facts side[AOT_REPLAY_N_SIDES];
    const aot_partition *p;
    const aot_calls *calls;
    aot_node_id *first;
    bool *fresh;   /* by node of the backward: the forward has no value of that name */
    int n_outputs; /* of the user, of the forward */
    aot_replay *replay;
    size_t n_made_up;
    AOT_VEC(symbol_value) symbols; /* of the recorded call */
};

/* ---- inputs ---------------------------------------------------------------------------------------- */

static aot_dtype dtype_of(const aot_meta *m)
{
    return (aot_dtype)m->dtype;
}

/* A size at the symbols' values of this call: those of their hints where nothing else was recorded. */
static int64_t size_of(const aot_graph *g, const aot_dim *d, int64_t if_none)
{
    const char *expr = d->expr != 0 ? aot_text(g->ctx, d->expr) : NULL;
    int64_t n = expr != NULL ? aot_sym_eval(g->ctx, expr, strlen(expr)) : d->value;
    return n == AOT_HINT_NONE ? if_none : n;
}

/* Strides as the graph states them. */
static aot_array *array_of_type(const aot_graph *g, const aot_meta *m, aot_live_bytes *live)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < m->ndim; i++) {
        size[i] = size_of(g, &aot_meta_sizes(g->ctx, m)[i], 1);
    }
    aot_strides_contiguous(stride, m->ndim, size);
    for (unsigned i = 0; i < m->ndim && m->has_stride; i++) {
        stride[i] = size_of(g, &aot_meta_strides(g->ctx, m)[i], stride[i]);
    }
    return aot_array_new_strided(live, dtype_of(m), m->ndim, size, stride);
}

static void make_up(aot_array *x, aot_generator *g)
{
    aot_dtype d = (aot_dtype)x->dtype;
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    bool whole = aot_dtype_class(d) == AOT_CLASS_INT;
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    for (int64_t i = 0; i < n; i++) {
        double v = whole ? (double)(aot_generator_u32(g) & 1) : aot_uniform_f32(g);
        aot_store_real(&v, d, aot_array_data(flat) + i * bytes, bytes, 1);
    }
    if (n > 0) {
        aot_array_assign(x, flat);
    }
    aot_array_unref(flat);
}

static aot_status input_value(aot_replay_unit *u, aot_xval *out, const aot_graph *g, aot_node_id id, aot_live_bytes *live,
                              aot_err *err)
{
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, id)->meta);
    const char *name = aot_node_name(g, id);
    const json_t *given = json_object_get(json_object_get(u->ask.values, "inputs"), name);
    if (given != NULL) {
        char key[200];
        snprintf(key, sizeof key, "inputs.%s", name);
        return aot_value_of_json(out, given, u->ask.file, key, err);
    }
    u->n_made_up++;
    if (m->val == AOT_VAL_SYM) {
        *out = aot_xv_int(size_of(g, &m->sym, 1));
        return AOT_OK;
    }
    if (m->val != AOT_VAL_TENSOR) {
        *out = aot_xv_none();
        return AOT_OK;
    }
    if (m->ndim > AOT_ARRAY_MAX_NDIM) {
        return AOT_FAIL(err, AOT_E_UNSUPPORTED, "%s has %u dimensions", name, m->ndim);
    }
    aot_array *x = array_of_type(g, m, live);
    aot_generator gen;
    aot_generator_seed(&gen, u->ask.seed ^ aot_hash64(name, strlen(name)));
    if (aot_starts_with(name, "tangents_")) {
        aot_array_fill(x, 1);
    } else {
        make_up(x, &gen);
    }
    *out = aot_xv_array(x);
    return AOT_OK;
}

static aot_status make_inputs(aot_replay_unit *u, aot_xval *in, unsigned *n, const aot_graph *g, aot_live_bytes *live,
                              aot_err *err)
{
    aot_status s = AOT_OK;
    u->n_made_up = 0;
    for (aot_node_id id = 0; id < g->nodes.n && s == AOT_OK; id++) {
        if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
            s = input_value(u, &in[*n], g, id, live, err);
            *n += s == AOT_OK;
        }
    }
    return s;
}

/* ---- running --------------------------------------------------------------------------------------- */

static bool is_symbol(const aot_xval *v)
{
    return v->kind == AOT_X_INT || v->kind == AOT_X_REAL || v->kind == AOT_X_BOOL;
}

/* Symbols, saved values, then gradients of 1. The forward returns the symbols last. */
static aot_status backward_inputs(aot_replay_unit *u, aot_xval *in, unsigned *n, const aot_xval *returned,
                                  unsigned n_returned, aot_live_bytes *live, aot_err *err)
{
    const aot_graph *g = u->side[AOT_REPLAY_BACKWARD].g;
    unsigned first = (unsigned)u->n_outputs, n_sym = 0, at = 0;
    while (n_returned > first + n_sym && is_symbol(&returned[n_returned - 1 - n_sym])) {
        n_sym++;
    }
    unsigned n_saved = n_returned > first ? n_returned - first - n_sym : 0;
    aot_status s = AOT_OK;
    for (aot_node_id id = 0; id < g->nodes.n && s == AOT_OK; id++) {
        if (aot_node_at(g, id)->kind != AOT_PLACEHOLDER) {
            continue;
        }
        if (at < n_sym + n_saved) {
            in[at] = aot_xv_keep(returned[at < n_sym ? first + n_saved + at : first + at - n_sym]);
        } else {
            s = input_value(u, &in[at], g, id, live, err);
        }
        at += s == AOT_OK;
    }
    *n = at;
    return s;
}

static void drop_all(aot_xval *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        aot_xv_drop(&v[i]);
    }
    free(v);
}

/* What the forward's frame does not hold by its name (tangents, saved generator states) is freed at its
 * last use: once the graph has taken its inputs, it alone holds them. */
typedef struct handed_over {
    const aot_exec_options *o;
    const bool *fresh; /* by node */
    aot_xval *in;
    unsigned n;
    bool done;
} handed_over;

static void before_node(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id)
{
    handed_over *h = arg;
    unsigned at = 0;
    h->o->before(h->o->arg, x, g, id);
    if (h->done || aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
        return;
    }
    h->done = true;
    for (aot_node_id i = 0; i < id && at < h->n; i++) {
        if (aot_node_at(g, i)->kind == AOT_PLACEHOLDER) {
            if (h->fresh[i]) {
                aot_xv_drop(&h->in[at]);
            }
            at++;
        }
    }
}

static bool after_node(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *v, const aot_live_bytes *live)
{
    const handed_over *h = arg;
    return h->o->observer(h->o->arg, g, id, v, live);
}

static aot_status run_backward(aot_replay_unit *u, aot_exec *x, aot_xval *returned, unsigned n_returned,
                               const aot_exec_options *o, aot_err *err)
{
    const aot_graph *g = u->side[AOT_REPLAY_BACKWARD].g;
    aot_xval *in = aot_xcalloc(g->nodes.n + 1, sizeof *in), *out = NULL;
    unsigned n = 0, n_out = 0;
    aot_status s = backward_inputs(u, in, &n, returned, n_returned, aot_exec_live(x), err);
    for (unsigned i = 0; i < n_returned; i++) { // saved values belong to the backward, outputs are dropped
        aot_xv_drop(&returned[i]);
    }
    handed_over h = {o, u->fresh, in, n, false};
    if (s == AOT_OK) {
        aot_exec_options mine = {.observer = after_node, .before = before_node, .inputs = o->inputs, .arg = &h};
        s = aot_exec_run(&out, &n_out, x, g, n, in, &mine, err);
    }
    drop_all(in, n);
    drop_all(out, n_out);
    return s;
}

/* Hints of the symbols become the recorded call's values, and back again. */
static void swap_symbols(aot_replay_unit *u)
{
    aot_ctx *c = u->side[AOT_REPLAY_FORWARD].g->ctx;
    for (size_t i = 0; i < u->symbols.n; i++) {
        symbol_value *s = &u->symbols.d[i];
        int64_t was = aot_ctx_hint(c, s->name, strlen(s->name));
        aot_ctx_set_hint(c, s->name, s->value);
        s->value = was;
    }
}

static aot_status run_both(aot_replay_unit *u, aot_exec *x, const aot_exec_options *o, aot_err *err)
{
    const aot_graph *g = u->side[AOT_REPLAY_FORWARD].g;
    aot_xval *in = aot_xcalloc(g->nodes.n + 1, sizeof *in), *returned = NULL;
    unsigned n = 0, n_returned = 0;
    aot_generator_seed(aot_exec_generator(x), u->ask.seed);
    aot_status s = make_inputs(u, in, &n, g, aot_exec_live(x), err);
    if (s == AOT_OK) {
        s = aot_exec_run(&returned, &n_returned, x, g, n, in, o, err);
    }
    if (s == AOT_OK && n_returned > 0 && u->side[AOT_REPLAY_BACKWARD].g != NULL) {
        s = run_backward(u, x, returned, n_returned, o, err);
    }
    drop_all(in, n);
    drop_all(returned, n_returned);
    return s;
}

static aot_status run_unit(void *arg, aot_exec *x, const aot_exec_options *o, aot_err *err)
{
    swap_symbols(arg);
    aot_status s = run_both(arg, x, o, err);
    swap_symbols(arg);
    return s;
}

/* ---- what was recorded -------------------------------------------------------------------------------- */

static void start(void *arg, aot_replay_side side, aot_generator *g)
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
static void compare_drawn(aot_replay_unit *u, aot_replay_diff *out, const aot_drawn *d, const aot_array *x)
{
    aot_array *c = aot_value_copy(x);
    int64_t n = aot_array_numel(c), bytes = n * aot_array_item_bytes(c);
    const void *was = NULL;
    size_t n_was = 0;
    char md5[33];
    if (d->n_bytes != bytes) { // sizes of that call are not known
        aot_array_unref(c);
        return;
    }
    out->with = "recorded";
    out->d = (aot_value_diff){.of = n, .first = -1};
    aot_md5_hex(aot_array_data(c), (size_t)bytes, md5);
    if (d->value > 0 && aot_model_blob(u->m, u->unit, d->value, &was, &n_was, u->arena, NULL) == AOT_OK &&
        n_was == (size_t)bytes) {
        aot_value_compare(&out->d, (aot_dtype)x->dtype, was, aot_array_data(c), n);
    } else if (strcmp(md5, d->hash) != 0) {
        out->d.n = -1;
    }
    aot_array_unref(c);
}

static void recorded(void *arg, aot_replay_diff *out, aot_replay_side side, aot_node_id id, unsigned value,
                     const aot_array *x)
{
    aot_replay_unit *u = arg;
    const side_facts *f = &u->side[side];
    unsigned skipped = is_saving(f->g, id) ? 1 : 0; // the state that it gives first
    if (f->drawn == NULL || f->drawn[id].first == NULL || value < skipped || !by_generator_alone(f->g, id, x)) {
        return;
    }
    for (size_t i = 0; i < f->drawn[id].n; i++) {
        const aot_drawn *d = &f->drawn[id].first[i];
        if (d->output == value - skipped &&
            strcmp(d->dtype, aot_dtype_get((aot_dtype)x->dtype)->torch_name + strlen("torch.")) == 0) {
            compare_drawn(u, out, d, x);
        }
    }
}

static void index_drawn(aot_replay_unit *u, side_facts *f)
{
    f->drawn = AOT_NEW_ARRAY(u->arena, recorded_node, f->g->nodes.n + 1);
    for (size_t i = 0; i < f->call->random.n; i++) {
        const aot_drawn *d = &f->call->random.d[i];
        aot_node_id id = aot_graph_find(f->g, d->node);
        if (id != AOT_NO_NODE && f->drawn[id].n++ == 0) {
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
            return AOT_FAIL(err, AOT_E_SESSION, "the recorded state of the cpu generator is no state of %d bytes",
                            AOT_GENERATOR_STATE_BYTES);
        }
        f->state = bytes;
    }
    return AOT_OK;
}

static void add_symbol(aot_replay_unit *u, const aot_graph *g, aot_str expr, int64_t value)
{
    const char *name = expr != 0 ? aot_text(g->ctx, expr) : NULL;
    bool plain = name != NULL && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
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
        const aot_meta *m = id != AOT_NO_NODE ? aot_meta_get(g->ctx, aot_node_at(g, id)->meta) : NULL;
        json_t *shape = m != NULL ? json_loads(t->shape, JSON_DECODE_ANY, NULL) : NULL;
        if (m != NULL && m->val == AOT_VAL_SYM && json_is_string(shape)) {
            add_symbol(u, g, m->sym.expr, strtoll(json_string_value(shape), NULL, 10));
        }
        for (unsigned k = 0; m != NULL && m->val == AOT_VAL_TENSOR && k < m->ndim && k < json_array_size(shape); k++) {
            add_symbol(u, g, aot_meta_sizes(g->ctx, m)[k].expr, json_integer_value(json_array_get(shape, k)));
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
static aot_status choose_call(aot_replay_unit *u, aot_err *err)
{
    const aot_run_call *any = NULL, *best = NULL;
    AOT_TRY(aot_model_calls(u->m, u->unit, &u->calls, err));
    for (size_t i = 0; u->calls != NULL && i < u->calls->calls.n; i++) {
        const aot_run_call *c = &u->calls->calls.d[i];
        if (strcmp(c->side, "backward") == 0 || (u->ask.call >= 0 && c->n != (uint64_t)u->ask.call)) {
            continue;
        }
        any = any == NULL ? c : any;
        best = best == NULL && backward_of(u->calls, c) != NULL ? c : best;
    }
    best = best != NULL ? best : any;
    if (best == NULL) {
        return u->ask.call < 0 ? AOT_OK
                               : AOT_FAIL(err, AOT_E_RANGE, "no forward call %lld was recorded of the unit: show --calls lists them",
                                          (long long)u->ask.call);
    }
    u->side[AOT_REPLAY_FORWARD].call = best;
    u->side[AOT_REPLAY_BACKWARD].call = u->side[AOT_REPLAY_BACKWARD].g != NULL ? backward_of(u->calls, best) : NULL;
    take_symbols(u);
    for (int k = 0; k < AOT_REPLAY_N_SIDES; k++) {
        if (u->side[k].call != NULL) {
            index_drawn(u, &u->side[k]);
            AOT_TRY(read_state(u, &u->side[k], err));
        }
    }
    return AOT_OK;
}

/* ---- selections --------------------------------------------------------------------------------------- */

static void *select_nodes(void *arg, const char *text, aot_err *err)
{
    aot_select *s = aot_xcalloc(1, sizeof *s);
    (void)arg;
    if (aot_select_parse(s, text, err) != AOT_OK) {
        free(s);
        return NULL;
    }
    return s;
}

static bool selected(void *arg, const void *selection, aot_replay_side side, aot_node_id id)
{
    aot_replay_unit *u = arg;
    side_facts *f = &u->side[side];
    if (f->on.g == NULL) {
        aot_select_begin(&f->on, f->g, u->p, NULL);
    }
    return aot_select_match(selection, &f->on, id);
}

static void select_free(void *selection)
{
    aot_select_free(selection);
    free(selection);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

typedef struct name_of {
    const char *name;
    aot_node_id id;
} name_of;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const name_of *)a)->name, ((const name_of *)b)->name);
}

/* Of each node of the backward that the forward has, too, the forward's: by name, as they are of one joint
 * graph; random ones whose state is handed over, by the number of the state. */
static void pair_nodes(aot_replay_unit *u)
{
    const aot_graph *f = u->side[AOT_REPLAY_FORWARD].g, *b = u->side[AOT_REPLAY_BACKWARD].g;
    name_of *names = aot_xcalloc(f->nodes.n + 1, sizeof *names);
    aot_rng_sites fs = {0}, bs = {0};
    u->first = AOT_NEW_ARRAY(u->arena, aot_node_id, b->nodes.n + 1);
    u->fresh = AOT_NEW_ARRAY(u->arena, bool, b->nodes.n + 1);
    for (aot_node_id id = 0; id < f->nodes.n; id++) {
        names[id] = (name_of){aot_node_name(f, id), id};
    }
    qsort(names, f->nodes.n, sizeof *names, by_name);
    for (aot_node_id id = 0; id < b->nodes.n; id++) {
        name_of key = {aot_node_name(b, id), 0};
        bool computes = aot_node_at(b, id)->kind == AOT_CALL_FUNCTION;
        const name_of *hit = bsearch(&key, names, f->nodes.n, sizeof *names, by_name);
        bool same = computes && hit != NULL && aot_node_at(f, hit->id)->kind == AOT_CALL_FUNCTION;
        u->fresh[id] = hit == NULL;
        u->first[id] = same ? hit->id : AOT_NO_NODE;
    }
    aot_rng_find(&fs, f);
    aot_rng_find(&bs, b);
    for (size_t i = 0; i < bs.n; i++) {
        for (size_t k = 0; k < fs.n && bs.d[i].use == AOT_RNG_RESTORES; k++) {
            if (fs.d[k].use == AOT_RNG_SAVES && fs.d[k].state == bs.d[i].state) {
                u->first[bs.d[i].call] = fs.d[k].call;
            }
        }
    }
    aot_vec_free(&fs);
    aot_vec_free(&bs);
    free(names);
}

static aot_status take_graph(aot_replay_unit *u, aot_replay_side side, aot_stage stage, aot_err *err)
{
    AOT_TRY(aot_model_graph(u->m, u->unit, stage, &u->side[side].g, err));
    u->side[side].recorded = aot_model_stage(u->m, u->unit, stage).origin == AOT_ORIGIN_RECORDED;
    return AOT_OK;
}

/* Forward and backward where the unit has a joint graph; else the graph without gradients. */
static aot_status take_graphs(aot_replay_unit *u, aot_err *err)
{
    aot_err no_cut = {0};
    if (aot_model_partition(u->m, u->unit, &u->p, &no_cut) == AOT_OK) {
        AOT_TRY(take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_FORWARD, err));
        AOT_TRY(take_graph(u, AOT_REPLAY_BACKWARD, AOT_STAGE_BACKWARD, err));
        u->n_outputs = u->p->n_forward_outputs;
        pair_nodes(u);
        return AOT_OK;
    }
    u->p = NULL;
    if (take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_INFERENCE, NULL) == AOT_OK ||
        take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_EXPORT, NULL) == AOT_OK) {
        return AOT_OK;
    }
    if (err != NULL) {
        *err = no_cut;
    }
    return no_cut.code;
}

aot_status aot_replay_open(aot_replay_unit **out, aot_model *m, size_t unit, const aot_replay_ask *ask, aot_err *err)
{
    aot_replay_unit *u = aot_xcalloc(1, sizeof *u);
    u->m = m;
    u->unit = unit;
    u->ask = *ask;
    u->arena = aot_arena_new();
    aot_status s = take_graphs(u, err);
    s = s == AOT_OK ? choose_call(u, err) : s;
    if (s != AOT_OK) {
        aot_replay_close(u);
        return s;
    }
    aot_replay_source source = {.graph = {u->side[AOT_REPLAY_FORWARD].g, u->side[AOT_REPLAY_BACKWARD].g},
                                .first = u->first, .run = run_unit, .start = start, .recorded = recorded,
                                .select = select_nodes, .selected = selected, .select_free = select_free, .arg = u};
    u->replay = aot_replay_new(&source);
    *out = u;
    return AOT_OK;
}

void aot_replay_close(aot_replay_unit *u)
{
    if (u == NULL) {
        return;
    }
    aot_replay_free(u->replay);
    for (int k = 0; k < AOT_REPLAY_N_SIDES; k++) {
        if (u->side[k].on.g != NULL) {
            aot_select_end(&u->side[k].on);
        }
    }
    aot_vec_free(&u->symbols);
    aot_arena_free(u->arena);
    free(u);
}

aot_replay *aot_replay_of(aot_replay_unit *u)
{
    return u->replay;
}

const aot_graph *aot_replay_unit_graph(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].g;
}

const aot_partition *aot_replay_unit_partition(const aot_replay_unit *u)
{
    return u->p;
}

const aot_run_call *aot_replay_unit_call(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].call;
}

bool aot_replay_unit_recorded(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].recorded;
}

const aot_drawn *aot_replay_unit_drawn(const aot_replay_unit *u, aot_replay_side side, aot_node_id id, uint64_t *state)
{
    const side_facts *f = &u->side[side];
    const aot_drawn *d = f->drawn != NULL ? f->drawn[id].first : NULL;
    const void *bytes;
    size_t n;
    *state = 0;
    if (d != NULL && aot_model_blob(u->m, u->unit, d->before, &bytes, &n, u->arena, NULL) == AOT_OK) {
        *state = aot_hash64(bytes, n);
    }
    return d;
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
    if (after == NULL || n != AOT_GENERATOR_STATE_BYTES || u->side[AOT_REPLAY_BACKWARD].state == NULL ||
        !aot_generator_set_state(&from, after) || !aot_generator_set_state(&to, u->side[AOT_REPLAY_BACKWARD].state)) {
        return 0;
    }
    return aot_rng_distance(&from, &to);
}

size_t aot_replay_unit_n_made_up(const aot_replay_unit *u)
{
    return u->n_made_up;
}
