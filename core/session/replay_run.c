/* Runs the two graphs of a unit as AOTDispatchAutograd does: what the forward returns behind the
 * user's outputs goes to the backward, symbols first. Or calls the unit through all of its
 * wrappers, on the inputs of the user's function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "exec/clones.h"
#include "exec/values.h"
#include "session/replay_internal.h"
#include "session/seeded_values.h"

/* ---- inputs
 * ---------------------------------------------------------------------------------------- */

static aot_dtype dtype_of(const aot_meta *m)
{
    return (aot_dtype)m->dtype;
}

/* A size at the symbols' values of this call: those of their hints where nothing else was recorded.
 */
static int64_t size_of(const aot_graph *g, const aot_dim *d, int64_t if_none)
{
    const char *expr = d->expr != 0 ? aot_text(g->ctx, d->expr) : NULL;
    int64_t n = expr != NULL ? aot_sym_eval(g->ctx, expr, strlen(expr)) : d->value;
    return n == AOT_HINT_NONE ? if_none : n;
}

/* Strides as the graph states them. */
static aot_status array_of_type(aot_xval *out, const aot_graph *g, const aot_meta *m,
                                const char *name, aot_live_bytes *live, aot_err *err)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    aot_err why = {0};
    if (m->ndim > AOT_ARRAY_MAX_NDIM) {
        return AOT_FAIL(err, AOT_E_UNSUPPORTED, "%s has %u dimensions", name, m->ndim);
    }
    for (unsigned i = 0; i < m->ndim; i++) {
        size[i] = size_of(g, &aot_meta_sizes(g->ctx, m)[i], 1);
    }
    aot_status s = aot_array_possible(live, dtype_of(m), m->ndim, size, NULL, &why);
    if (s == AOT_OK) {
        aot_strides_contiguous(stride, m->ndim, size);
        for (unsigned i = 0; i < m->ndim && m->has_stride; i++) {
            stride[i] = size_of(g, &aot_meta_strides(g->ctx, m)[i], stride[i]);
        }
        s = aot_array_possible(live, dtype_of(m), m->ndim, size, stride, &why);
    }
    if (s != AOT_OK) {
        return AOT_FAIL(err, s, "no values are made up for %s: %s", name, why.msg);
    }
    *out = aot_xv_array(aot_array_new_strided(live, dtype_of(m), m->ndim, size, stride));
    return AOT_OK;
}

static void make_up(aot_array *x, aot_generator *g, bool pivots)
{
    aot_dtype d = (aot_dtype)x->dtype;
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    bool whole = aot_dtype_class(d) == AOT_CLASS_INT;
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    for (int64_t i = 0; i < n; i++) {
        double v = pivots  ? (double)aot_pivot_at(x, i)
                   : whole ? (double)(aot_generator_u32(g) & 1)
                           : aot_uniform_f32(g);
        aot_store_real(&v, d, aot_array_data(flat) + i * bytes, bytes, 1);
    }
    if (n > 0) {
        aot_array_assign(x, flat);
    }
    aot_array_unref(flat);
}

static aot_status input_value(aot_replay_unit *u, aot_xval *out, const aot_graph *g, aot_node_id id,
                              bool pivots, aot_live_bytes *live, aot_err *err)
{
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, id)->meta);
    const char *name = aot_node_name(g, id);
    const json_t *given = json_object_get(json_object_get(u->ask.values, "inputs"), name);
    if (given != NULL) {
        char key[200];
        snprintf(key, sizeof key, "inputs.%s", name);
        return aot_value_of_json(out, given, u->ask.file, key, err);
    }
    if (m->val == AOT_VAL_SYM) {
        *out = aot_xv_int(size_of(g, &m->sym, 1));
        return AOT_OK;
    }
    if (m->val != AOT_VAL_TENSOR) {
        *out = aot_xv_none();
        return AOT_OK;
    }
    AOT_TRY(array_of_type(out, g, m, name, live, err));
    aot_generator gen;
    aot_generator_seed(&gen, u->ask.seed ^ aot_hash64(name, strlen(name)));
    if (!ru_recorded_input(u, g, name, out->u.array)) {
        if (aot_starts_with(name, "tangents_")) {
            aot_array_fill(out->u.array, 1);
        } else {
            make_up(out->u.array, &gen, pivots);
        }
    }
    return AOT_OK;
}

static aot_status make_inputs(aot_replay_unit *u, aot_xval *in, unsigned *n, const aot_graph *g,
                              aot_live_bytes *live, aot_err *err)
{
    aot_status s = AOT_OK;
    int64_t *bounds = aot_integer_bounds(g);
    for (aot_node_id id = 0; id < g->nodes.n && s == AOT_OK; id++) {
        if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
            s = input_value(u, &in[*n], g, id, bounds[*n] == AOT_PIVOTS, live, err);
            *n += s == AOT_OK;
        }
    }
    free(bounds);
    return s;
}

/* ---- running
 * --------------------------------------------------------------------------------------- */

static bool is_symbol(const aot_xval *v)
{
    return v->kind == AOT_X_INT || v->kind == AOT_X_REAL || v->kind == AOT_X_BOOL;
}

/* Symbols, saved values, then gradients of 1. The forward returns the symbols last. */
static aot_status backward_inputs(aot_replay_unit *u, aot_xval *in, unsigned *n,
                                  const aot_xval *returned, unsigned n_returned,
                                  aot_live_bytes *live, aot_err *err)
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
            s = input_value(u, &in[at], g, id, false, live, err);
        }
        at += s == AOT_OK;
    }
    *n = at;
    return s;
}

static aot_status run_backward(aot_replay_unit *u, aot_exec *x, aot_xval *returned,
                               unsigned n_returned, const aot_exec_options *o, aot_err *err)
{
    const aot_graph *g = u->side[AOT_REPLAY_BACKWARD].g;
    aot_xval *in = aot_xcalloc(g->nodes.n + 1, sizeof *in), *out = NULL;
    unsigned n = 0, n_out = 0;
    aot_status s = backward_inputs(u, in, &n, returned, n_returned, aot_exec_live(x), err);
    for (unsigned i = 0; i < n_returned;
         i++) { // saved values belong to the backward, outputs are dropped
        aot_xv_drop(&returned[i]);
    }
    if (s == AOT_OK) {
        aot_exec_options mine = *o;
        mine.taken = in;
        s = aot_exec_run(&out, &n_out, x, g, n, in, &mine, err);
    }
    aot_free_values(in, n);
    aot_free_values(out, n_out);
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
    aot_free_values(in, n);
    aot_free_values(returned, n_returned);
    return s;
}

/* ---- through the wrappers
 * ----------------------------------------------------------------------------- */

/* Gradients of 1 for the outputs that require grad, in order, of the types that the forward states.
 */
static aot_status ones(aot_xval **out, unsigned *n, const aot_replay_unit *u, aot_err *err)
{
    const aot_fw_metadata *m = &u->wrapped.capture.calling.meta;
    const aot_graph *g = u->side[AOT_REPLAY_FORWARD].g;
    const aot_arg *list = aot_node_args(g, aot_node_at(g, aot_graph_output(g)));
    const aot_arg *outs =
        list->kind == AOT_ARG_LIST || list->kind == AOT_ARG_TUPLE ? aot_arg_items(g, list) : list;
    unsigned n_outs = outs == list ? 1 : list->n;
    aot_xval *v = *out = aot_xcalloc((size_t)m->n_outputs + 1, sizeof *v);
    *n = 0;
    for (int i = 0; i < m->n_outputs; i++) {
        unsigned at = (unsigned)(m->n_mutated_returned + i);
        if (!m->outputs[i].requires_grad || at >= n_outs) {
            continue;
        }
        const aot_meta *t = outs[at].kind == AOT_ARG_NODE
                                ? aot_meta_get(g->ctx, aot_node_at(g, outs[at].u.node)->meta)
                                : NULL;
        if (t != NULL && t->val == AOT_VAL_TENSOR && t->ndim <= AOT_ARRAY_MAX_NDIM) {
            AOT_TRY(array_of_type(&v[*n], g, t, aot_node_name(g, outs[at].u.node), NULL, err));
            aot_array_fill(v[*n].u.array, 1);
        }
        ++*n;
    }
    return AOT_OK;
}

/* The user's inputs count among the live bytes, each storage once. */
static void count_inputs(const aot_xval *outer, int n, aot_live_bytes *live)
{
    for (int i = 0; i < n; i++) {
        aot_storage *s = outer[i].kind == AOT_X_ARRAY ? outer[i].u.array->storage : NULL;
        if (s != NULL && s->live == NULL) {
            s->live = live;
            live->now += s->bytes;
            live->peak = live->now > live->peak ? live->now : live->peak;
        }
    }
}

static aot_status run_wrapped(aot_replay_unit *u, aot_exec *x, const aot_exec_options *o,
                              aot_err *err)
{
    const aot_runnable *r = &u->wrapped;
    const aot_unit *unit = aot_model_unit(u->m, u->unit);
    int n_outer = r->capture.calling.n_outer;
    aot_xval *outer = NULL, *tangents = NULL;
    unsigned n_tangents = 0;
    aot_run_out out = {0};
    aot_generator_seed(aot_exec_generator(x), u->ask.seed);
    u->notes.n = 0; // of each run the same
    aot_status s = u->ask.values != NULL
                       ? aot_run_values(&outer, &tangents, &n_tangents, &u->notes, r, unit,
                                        u->ask.values, u->ask.file, err)
                       : aot_seeded_values(&outer, r, unit, u->ask.seed, false, err);
    if (s == AOT_OK && n_tangents == 0) {
        free(tangents);
        s = ones(&tangents, &n_tangents, u, err);
    }
    if (s == AOT_OK) {
        count_inputs(outer, n_outer, aot_exec_live(x));
        aot_run_in in = {.calling = &r->capture.calling,
                         .graph = r->graph,
                         .cut = r->cut,
                         .outer = outer,
                         .tangents = tangents,
                         .n_tangents = n_tangents,
                         .options = o};
        s = aot_run_unit(&out, x, &in, err);
    }
    aot_run_free(&out);
    aot_free_values(outer, (unsigned)n_outer);
    aot_free_values(tangents, n_tangents);
    return s;
}

aot_status ru_run(void *arg, aot_exec *x, const aot_exec_options *o, aot_err *err)
{
    aot_replay_unit *u = arg;
    swap_symbols(u);
    aot_status s = u->ask.wrapped ? run_wrapped(u, x, o, err) : run_both(u, x, o, err);
    swap_symbols(u);
    return s;
}
