/* From a unit and a file of values to what the interpreter is called with. */
#include "session/run_values_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/values.h"
#include "runtime/cut.h"
#include "session/derive.h"

/* ---- the unit -------------------------------------------------------------------------------- */

static aot_node_id node_of(const aot_graph *dynamo, const char *name)
{
    for (aot_node_id id = 0; id < dynamo->nodes.n; id++) {
        const aot_node *n = aot_node_at(dynamo, id);
        bool mine = n->kind == AOT_PLACEHOLDER
                        ? strcmp(aot_node_name(dynamo, id), name) == 0
                        : n->kind == AOT_GET_ATTR && strcmp(aot_node_target(dynamo, id), name) == 0;
        if (mine) {
            return id;
        }
    }
    return AOT_NO_NODE;
}

static const char *symbol_source(const aot_unit *u, const aot_graph *g, aot_node_id id)
{
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, id)->meta);
    for (size_t i = 0; i < u->symbols.n && m->val == AOT_VAL_SYM; i++) {
        if (strcmp(u->symbols.d[i].name, aot_text(g->ctx, m->sym.expr)) == 0) {
            return u->symbols.d[i].source;
        }
    }
    return NULL;
}

static void find_sources(aot_runnable *r, const aot_unit *u, const aot_graph *dynamo,
                         const aot_capture_input *inputs)
{
    const aot_calling *c = &r->capture.calling;
    aot_arena *a = r->ctx->arena;
    r->sources = AOT_NEW_ARRAY(a, const char *, (size_t)c->n_outer + 1);
    r->dynamo = dynamo;
    r->nodes = AOT_NEW_ARRAY(a, aot_node_id, (size_t)c->n_outer + 1);
    r->known = AOT_NEW_ARRAY(a, const aot_capture_input *, (size_t)c->n_outer + 1);
    for (int i = 0; i < c->n_outer; i++) {
        const char *name = c->outer[i].name;
        aot_node_id id = node_of(dynamo, name);
        const char *source =
            aot_input_source(u, id != AOT_NO_NODE ? aot_node_target(dynamo, id) : name);
        source = source != NULL || id == AOT_NO_NODE ? source : symbol_source(u, dynamo, id);
        r->sources[i] = source != NULL      ? source
                        : id != AOT_NO_NODE ? aot_node_target(dynamo, id)
                                            : name;
        r->known[i] = id != AOT_NO_NODE ? &inputs[id] : NULL;
        r->nodes[i] = id;
    }
}

static void find_placeholders(aot_runnable *r)
{
    r->placeholders = AOT_NEW_ARRAY(r->ctx->arena, aot_node_id, r->graph->nodes.n + 1);
    for (aot_node_id id = 0; id < r->graph->nodes.n; id++) {
        if (aot_node_at(r->graph, id)->kind == AOT_PLACEHOLDER) {
            r->placeholders[r->n_placeholders++] = id;
        }
    }
}

static void find_stops(aot_runnable *r)
{
    const aot_graph *g = r->capture.graph[AOT_LEVEL_ATEN];
    if (g == NULL) {
        return;
    }
    r->stops = AOT_NEW_ARRAY(r->ctx->arena, bool, g->nodes.n + 1);
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        r->stops[id] = aot_node_at(g, id)->kind == AOT_CALL_FUNCTION &&
                       (aot_node_at(g, id)->op == AOT_OP_aten_detach ||
                        aot_trace_without_grad(r->capture.tracer, AOT_LEVEL_ATEN, id));
    }
}

/* Calls that passed all levels as they were. Names say nothing: each level counts its own. */
static void find_calls(aot_runnable *r)
{
    const aot_tracer *t = r->capture.tracer;
    const aot_graph *aten = r->capture.graph[AOT_LEVEL_ATEN], *g = r->graph;
    if (aten == NULL || r->joint != g) {
        return;
    }
    r->of_aten = AOT_NEW_ARRAY(r->ctx->arena, aot_node_id, g->nodes.n + 1);
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        aot_node_id at = id;
        bool same =
            aot_node_at(g, id)->kind == AOT_CALL_FUNCTION && !aot_is_getitem(g, aot_node_at(g, id));
        for (int l = AOT_LEVEL_JOINT; l > AOT_LEVEL_ATEN && same; l--) {
            at = l == AOT_LEVEL_TRACED ? aot_trace_aten_of(t, at)
                                       : aot_trace_parent_of(t, (aot_level)l, at);
            same = at != AOT_NO_NODE &&
                   aot_node_at(r->capture.graph[l - 1], at)->target == aot_node_at(g, id)->target;
        }
        r->of_aten[id] = same ? at : AOT_NO_NODE;
    }
}

int rv_place_of(const aot_fw_metadata *m, int k)
{
    return k < m->subclass_in.n ? m->subclass_in.of[k].start : k;
}

const aot_meta *rv_input_type(const aot_runnable *r, int place)
{
    int at = place + r->capture.calling.meta.n_tokens;
    return at < r->n_placeholders
               ? aot_meta_get(r->ctx, aot_node_at(r->graph, r->placeholders[at])->meta)
               : NULL;
}

static const aot_capture_in *changed(const aot_capture_in *in, const aot_graph *g,
                                     aot_change_inputs *change, void *arg)
{
    aot_capture_in *own = AOT_NEW_ARRAY(g->ctx->arena, aot_capture_in, 1);
    aot_capture_input *inputs = AOT_NEW_ARRAY(g->ctx->arena, aot_capture_input, g->nodes.n + 1);
    memcpy(inputs, in->inputs, g->nodes.n * sizeof *inputs);
    change(arg, inputs);
    *own = *in;
    own->inputs = inputs;
    return own;
}

aot_status aot_runnable_make(aot_runnable *out, const aot_unit *u, const aot_record *dynamo,
                             const aot_config *config, aot_err *err)
{
    return aot_runnable_make_as(out, u, dynamo, config, NULL, NULL, err);
}

aot_status aot_runnable_make_as(aot_runnable *out, const aot_unit *u, const aot_record *dynamo,
                                const aot_config *config, aot_change_inputs *change, void *arg,
                                aot_err *err)
{
    const aot_graph *g;
    *out = (aot_runnable){.ctx = aot_unit_new_ctx(u), .debug_assert = config->debug_assert};
    AOT_TRY(aot_record_parse(&g, out->ctx, u, dynamo, err));
    const aot_capture_in *in = aot_unit_capture_in(u, g, config);
    in = change != NULL ? changed(in, g, change, arg) : in;
    AOT_TRY(aot_capture_run(&out->capture, in, err));
    out->graph = out->capture.graph[AOT_LEVEL_JOINT];
    find_placeholders(out);
    find_stops(out);
    find_sources(out, u, g, in->inputs);
    out->joint = out->graph;
    if (out->capture.calling.path == AOT_PATH_AUTOGRAD) {
        AOT_TRY(aot_derive_cut(&out->cut, &out->joint, u, out->graph, config, err));
        aot_metadata_cut(&out->capture.calling.meta, out->cut, out->ctx->arena);
    }
    find_calls(out);
    return AOT_OK;
}

void aot_runnable_free(aot_runnable *r)
{
    aot_capture_free(&r->capture);
    aot_ctx_free(r->ctx);
    *r = (aot_runnable){0};
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct reading {
    const aot_runnable *r;
    const json_t *inputs;
    const char *file;
    aot_xval *outer;
    aot_sb *notes;
    aot_err *err;
} reading;

/* Sizes of the graph's own input, where it says them as numbers. Another dtype is run as it is:
 * each operator takes what it is given. */
static aot_status check_input(const reading *d, unsigned i)
{
    const aot_outer_input *o = &d->r->capture.calling.outer[i];
    const aot_ctx *c = d->r->ctx;
    const aot_array *x = d->outer[i].u.array;
    const aot_meta *m =
        o->is_view ? NULL : rv_input_type(d->r, rv_place_of(&d->r->capture.calling.meta, o->inner));
    if (m == NULL || m->val != AOT_VAL_TENSOR) {
        return AOT_OK;
    }
    bool fits = m->ndim == x->ndim;
    for (unsigned j = 0; fits && j < m->ndim; j++) {
        const aot_dim *s = aot_meta_sizes(c, m) + j;
        fits = s->expr != 0 || s->value == x->size[j];
    }
    if (!fits) {
        aot_status s =
            AOT_FAIL(d->err, AOT_E_SHAPE,
                     "inputs.%s: the unit was compiled for %s; give a value of that shape",
                     d->r->sources[i], aot_text(c, m->text));
        aot_err_in_file(d->err, d->file);
        return s;
    }
    if (m->dtype != x->dtype) {
        aot_sb_addf(d->notes,
                    "%s: inputs.%s is %s, the unit was compiled for %s: run as given, where "
                    "PyTorch would compile again\n",
                    d->file, d->r->sources[i], aot_dtype_get((aot_dtype)x->dtype)->torch_name,
                    aot_text(c, m->text));
    }
    return AOT_OK;
}

/* L['x'].size()[0]: the size of a tensor that is given. */
static bool size_of_given(const aot_runnable *r, const aot_xval *outer, const char *source,
                          int64_t *out)
{
    const char *dot = strstr(source, ".size()[");
    unsigned dim = dot != NULL ? (unsigned)strtoul(dot + strlen(".size()["), NULL, 10) : 0;
    for (int i = 0; dot != NULL && i < r->capture.calling.n_outer; i++) {
        const char *s = r->sources[i];
        if (strlen(s) == (size_t)(dot - source) &&
            strncmp(s, source, (size_t)(dot - source)) == 0 && outer[i].kind == AOT_X_ARRAY &&
            dim < outer[i].u.array->ndim) {
            *out = outer[i].u.array->size[dim];
            return true;
        }
    }
    return false;
}

static aot_status no_value(const reading *d, unsigned i)
{
    aot_status s =
        AOT_FAIL(d->err, AOT_E_PARSE,
                 "inputs has no %s: every input of the unit needs a value there", d->r->sources[i]);
    aot_err_in_file(d->err, d->file);
    return s;
}

/* Of {"same_as": SOURCE} and {"view_of": SOURCE, ...} that source; NULL: a value of its own. */
static const char *alias_of(const json_t *j)
{
    const char *same = json_string_value(json_object_get(j, "same_as"));
    return same != NULL ? same : json_string_value(json_object_get(j, "view_of"));
}

static int input_of_source(const aot_runnable *r, const char *source)
{
    for (int i = 0; i < r->capture.calling.n_outer; i++) {
        if (strcmp(r->sources[i], source) == 0) {
            return i;
        }
    }
    return -1;
}

/* Inputs that share memory as the values file says, whatever the unit was compiled for. */
static aot_status read_alias(reading *d, unsigned i, const json_t *j)
{
    const char *source = d->r->sources[i], *of = alias_of(j);
    int k = input_of_source(d->r, of);
    char key[200];
    snprintf(key, sizeof key, "inputs.%s", source);
    if (k < 0 || alias_of(json_object_get(d->inputs, of)) != NULL ||
        d->outer[k].kind != AOT_X_ARRAY) {
        aot_status s =
            AOT_FAIL(d->err, AOT_E_PARSE, "%s: %s is no input with a value of its own", key, of);
        aot_err_in_file(d->err, d->file);
        return s;
    }
    bool same = json_object_get(j, "same_as") != NULL;
    if (same) {
        d->outer[i] = aot_xv_keep(d->outer[k]);
    } else {
        AOT_TRY(aot_view_of_json(&d->outer[i], d->outer[k].u.array, j, d->file, key, d->err));
    }
    const aot_capture_input *a = d->r->known[i], *b = d->r->known[k];
    bool shared = a != NULL && b != NULL && a->storage >= 0 && a->storage == b->storage;
    if (same ? d->r->capture.calling.outer[i].same_as != k : !shared) {
        aot_sb_addf(d->notes, "%s: %s %s %s, the unit was compiled for two tensors with memory of "
                "their own: %s; run as given\n",
                d->file, key, same ? "is the same tensor as" : "is a view of", of,
                same ? "Dynamo would compile again (Duplicate tensors found)"
                     : "no guard of PyTorch looks at it where sizes are fixed");
    }
    return check_input(d, i);
}

static aot_status read_input(reading *d, unsigned i)
{
    const char *source = d->r->sources[i];
    const json_t *j = json_object_get(d->inputs, source);
    char key[200];
    snprintf(key, sizeof key, "inputs.%s", source);
    if (j == NULL) {
        return d->r->capture.calling.outer[i].is_tensor ? no_value(d, i) : AOT_OK;
    }
    if (alias_of(j) != NULL) {
        return AOT_OK; // when all others are there
    }
    AOT_TRY(aot_value_of_json(&d->outer[i], j, d->file, key, d->err));
    return d->outer[i].kind == AOT_X_ARRAY ? check_input(d, i) : AOT_OK;
}

int rv_fill_symbols(const aot_runnable *r, const aot_unit *u, aot_xval *outer)
{
    const aot_calling *c = &r->capture.calling;
    for (int i = 0; i < c->n_outer; i++) {
        int64_t v;
        if (outer[i].kind != AOT_X_NONE || c->outer[i].is_tensor) {
            continue;
        }
        if (size_of_given(r, outer, r->sources[i], &v)) {
            outer[i] = aot_xv_int(v);
            continue;
        }
        for (size_t k = 0; k < u->symbols.n; k++) {
            const aot_symbol *s = &u->symbols.d[k];
            if (s->has_hint && s->source != NULL && strcmp(s->source, r->sources[i]) == 0) {
                outer[i] = aot_xv_int(s->hint);
            }
        }
        if (outer[i].kind == AOT_X_NONE) {
            return i;
        }
    }
    return -1;
}

/* An input that others share memory with holds the whole storage. */
static void widen(const aot_runnable *r, aot_xval *outer)
{
    const aot_calling *c = &r->capture.calling;
    for (int i = 0; i < c->n_outer; i++) {
        const aot_capture_input *a = r->known[i];
        bool shared = false;
        for (int k = 0; k < c->n_outer && a != NULL && a->storage >= 0; k++) {
            shared |= k != i && r->known[k] != NULL && r->known[k]->storage == a->storage;
        }
        aot_array *x = outer[i].kind == AOT_X_ARRAY ? outer[i].u.array : NULL;
        if (!shared || x == NULL || a->storage_bytes <= 0) {
            continue;
        }
        int64_t n = a->storage_bytes / aot_array_item_bytes(x), one = 1;
        aot_array *all = aot_array_new_strided(NULL, (aot_dtype)x->dtype, 1, &n, &one);
        aot_array *v =
            aot_array_view(all, (aot_dtype)x->dtype, x->ndim, x->size, x->stride, a->offset);
        if (aot_array_fits(v)) {
            aot_array_assign(v, x);
            aot_xv_drop(&outer[i]);
            outer[i] = aot_xv_array(v);
        } else {
            aot_array_unref(v);
        }
        aot_array_unref(all);
    }
}

void rv_share_memory(const aot_runnable *r, aot_xval *outer)
{
    widen(r, outer);
    const aot_calling *c = &r->capture.calling;
    for (int i = 0; i < c->n_outer; i++) {
        const aot_capture_input *a = r->known[i];
        int same = c->outer[i].same_as;
        if (same >= 0 && outer[same].kind == AOT_X_ARRAY) {
            aot_xv_drop(&outer[i]);
            outer[i] = aot_xv_keep(outer[same]);
            continue;
        }
        if (a == NULL || a->storage < 0 || outer[i].kind != AOT_X_ARRAY) {
            continue;
        }
        for (int k = 0; k < i; k++) {
            const aot_capture_input *b = r->known[k];
            if (b == NULL || b->storage != a->storage || outer[k].kind != AOT_X_ARRAY) {
                continue;
            }
            aot_array *x = outer[i].u.array, *first = outer[k].u.array;
            aot_array *v =
                aot_array_view(first, (aot_dtype)x->dtype, x->ndim, x->size, x->stride, a->offset);
            if (!aot_array_fits(v)) {
                aot_array_unref(v);
                continue;
            }
            aot_array_assign(v, x);
            aot_xv_drop(&outer[i]);
            outer[i] = aot_xv_array(v);
            break;
        }
    }
}

static aot_status read_tangents(aot_xval **out, unsigned *n, const json_t *values, const char *file,
                                aot_err *err)
{
    const json_t *list = json_object_get(values, "tangents"), *item;
    size_t i;
    *n = (unsigned)json_array_size(list);
    *out = aot_xcalloc(*n + 1u, sizeof **out);
    if (list != NULL && !json_is_array(list) && !json_is_null(list)) {
        aot_status s = AOT_FAIL(
            err, AOT_E_PARSE,
            "tangents must be a list, one value (or null) for each output that requires grad");
        aot_err_in_file(err, file);
        return s;
    }
    json_array_foreach(list, i, item)
    {
        char key[40];
        snprintf(key, sizeof key, "tangents[%zu]", i);
        if (!json_is_null(item)) {
            AOT_TRY(aot_value_of_json(&(*out)[i], item, file, key, err));
        }
    }
    return AOT_OK;
}

/* "format" is in what other commands write. */
static aot_status check_top(const json_t *values, const char *file, aot_err *err)
{
    const char *key;
    const json_t *item;
    json_object_foreach((json_t *)(uintptr_t)values, key, item)
    {
        if (strcmp(key, "inputs") != 0 && strcmp(key, "tangents") != 0 &&
            strcmp(key, "format") != 0) {
            aot_status s =
                AOT_FAIL(err, AOT_E_PARSE,
                         "there is no key \"%.60s\": values are given as {\"inputs\": {SOURCE: "
                         "{...}}, \"tangents\": [...]}",
                         key);
            aot_err_in_file(err, file);
            return s;
        }
    }
    return AOT_OK;
}

static aot_status check_keys(const reading *d)
{
    const char *key;
    const json_t *item;
    json_object_foreach((json_t *)(uintptr_t)d->inputs, key, item)
    {
        bool known = false;
        for (int i = 0; i < d->r->capture.calling.n_outer && !known; i++) {
            known = strcmp(d->r->sources[i], key) == 0;
        }
        if (!known) {
            aot_sb_addf(d->notes, "%s: inputs.%s is no input of the graph, its value is not used\n",
                    d->file, key);
        }
    }
    return AOT_OK;
}

aot_status aot_run_values(aot_xval **outer, aot_xval **tangents, unsigned *n_tangents,
                          aot_sb *notes, const aot_runnable *r, const aot_unit *u,
                          const json_t *values, const char *file, aot_err *err)
{
    const aot_calling *c = &r->capture.calling;
    reading d = {r, json_object_get(values, "inputs"), file,
                 aot_xcalloc((size_t)c->n_outer + 1, sizeof *d.outer), notes, err};
    *outer = d.outer;
    AOT_TRY(check_top(values, file, err));
    AOT_TRY(read_tangents(tangents, n_tangents, values, file, err));
    if (!json_is_object(d.inputs)) {
        aot_status s =
            AOT_FAIL(err, AOT_E_PARSE,
                     "there is no object \"inputs\": {SOURCE: {\"dtype\", \"shape\", \"data\"}}");
        aot_err_in_file(err, file);
        return s;
    }
    for (int i = 0; i < c->n_outer; i++) {
        AOT_TRY(read_input(&d, (unsigned)i));
    }
    int unknown = rv_fill_symbols(r, u, d.outer);
    if (unknown >= 0) {
        return no_value(&d, (unsigned)unknown);
    }
    rv_share_memory(r, d.outer);
    for (int i = 0; i < c->n_outer; i++) {
        const json_t *j = json_object_get(d.inputs, r->sources[i]);
        if (alias_of(j) != NULL) {
            AOT_TRY(read_alias(&d, (unsigned)i, j));
        }
    }
    return check_keys(&d);
}

/* ---- results --------------------------------------------------------------------------------- */

json_t *aot_run_json(const aot_runnable *r, const aot_run_out *out, const aot_xval *outer)
{
    json_t *outputs = json_array(), *grads = json_object(), *mutated = json_object();
    for (unsigned i = 0; i < out->n_outputs; i++) {
        json_array_append_new(outputs, aot_value_json(&out->outputs[i]));
    }
    for (unsigned i = 0; i < out->n_outer; i++) {
        const aot_outer_input *o = &r->capture.calling.outer[i];
        if (o->is_tensor && o->requires_grad) {
            json_object_set_new(grads, r->sources[i], aot_value_json(&out->grads[i]));
        }
        if (out->mutated[i]) {
            json_object_set_new(mutated, r->sources[i], aot_value_json(&outer[i]));
        }
    }
    return json_pack("{s:o, s:o, s:o}", "outputs", outputs, "grads", grads, "mutated", mutated);
}
