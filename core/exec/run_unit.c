/* A call: through the wrappers, the compiled forward, and back through the wrappers. */
#include "exec/run_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/ulps.h"
#include "exec/wrap.h"

static const struct {
    aot_status (*before)(aot_wrapped *c), (*behind)(aot_wrapped *c);
} wrappers[] = {
#define WRAPPER(id, name, paths, function, sentence) {wr_before_##function, wr_behind_##function},
#include "runtime/wrappers.def"
#undef WRAPPER
};

static const aot_wrapper_gap_info gaps[] = {
#define WRAPPER_GAP(id, wrapper, what, reason) {AOT_WRAPPER_##wrapper, what, reason},
#include "exec/wrapper_gaps.def"
#undef WRAPPER_GAP
};

const aot_wrapper_gap_info *aot_wrapper_gap_get(aot_wrapper_gap g)
{
    return &gaps[g];
}

aot_status wr_gap(const aot_wrapped *c, aot_wrapper_gap g)
{
    return AOT_FAIL(c->err, AOT_E_UNSUPPORTED, "%s: %s: not run, since %s",
                    aot_wrapper_get(gaps[g].wrapper)->name, gaps[g].what, gaps[g].reason);
}

bool wr_makes(const aot_wrapped *c, aot_fault f)
{
    return c->in->fault == f;
}

bool wr_runs(const aot_wrapped *c, aot_wrapper w)
{
    if (w == AOT_WRAPPER_DEBUG_ASSERT && !c->in->debug_assert) {
        return false;
    }
    aot_capture_path path = c->in->cut != NULL ? AOT_PATH_AUTOGRAD : AOT_PATH_INFERENCE;
    return (aot_wrapper_get(w)->paths >> path & 1) != 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

aot_xval *wr_new_list(unsigned n)
{
    return aot_xcalloc(n + 1u, sizeof(aot_xval));
}

void wr_set_args(aot_wrapped *c, aot_xval *args, unsigned n)
{
    aot_free_values(c->args, c->n_args);
    c->args = args;
    c->n_args = n;
}

void wr_set_returned(aot_wrapped *c, aot_xval *values, unsigned n)
{
    aot_free_values(c->returned, c->n_returned);
    c->returned = values;
    c->n_returned = n;
}

/* ---- the trace ------------------------------------------------------------------------------- */

static bool is_traced(const aot_wrapped *c)
{
    return c->in->trace != NULL;
}

static aot_arena *trace_arena(const aot_wrapped *c)
{
    aot_wrapper_trace *t = c->in->trace;
    if (t->arena == NULL) {
        t->arena = aot_arena_new();
    }
    return t->arena;
}

const char *wr_text(const aot_wrapped *c, const char *fmt, ...)
{
    char buf[500];
    va_list ap;
    if (!is_traced(c)) {
        return "";
    }
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    return aot_arena_strndup(trace_arena(c), buf, strlen(buf));
}

const char *wr_type(const aot_wrapped *c, const aot_xval *v)
{
    aot_sb b = {0};
    if (!is_traced(c)) {
        return "";
    }
    aot_value_type_print(&b, v);
    const char *text = aot_arena_strndup(trace_arena(c), aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

const char *wr_outer_named(const aot_wrapped *c, int outer)
{
    return c->in->names != NULL ? c->in->names[outer] : c->in->calling->outer[outer].name;
}

const char *wr_outer(const aot_wrapped *c, int outer)
{
    return is_traced(c) ? wr_outer_named(c, outer) : "";
}

const char *wr_input_named(const aot_wrapped *c, int inner)
{
    const aot_calling *how = c->in->calling;
    aot_sb b = {0};
    bool base = false;
    for (int i = 0; i < how->n_outer; i++) {
        if (how->outer[i].inner == inner && !how->outer[i].duplicate &&
            (b.n == 0 || how->outer[i].is_view)) {
            aot_sb_addf(&b, "%s%s", b.n > 0 ? " and " : "", wr_outer_named(c, i));
            base |= how->outer[i].is_view;
        }
    }
    const char *text = aot_arena_printf(c->in->graph->ctx->arena, "%s%s",
                                        base ? "the base of " : "", aot_sb_text(&b));
    aot_sb_free(&b);
    return text;
}

const char *wr_input(const aot_wrapped *c, int inner)
{
    return is_traced(c) ? wr_input_named(c, inner) : "";
}

static int64_t bytes_of(const aot_xval *v)
{
    int64_t sum = 0;
    for (unsigned i = 0; v->kind == AOT_X_LIST && i < v->n; i++) {
        sum += bytes_of(&v->u.items[i]);
    }
    return v->kind == AOT_X_ARRAY ? aot_array_numel(v->u.array) * aot_array_item_bytes(v->u.array)
                                  : sum;
}

void wr_note(aot_wrapped *c, aot_wrapper_event_kind kind, const aot_xval *value, const char *went,
             const char *what, ...)
{
    char buf[500];
    va_list ap;
    if (!is_traced(c)) {
        return;
    }
    va_start(ap, what);
    vsnprintf(buf, sizeof buf, what, ap);
    va_end(ap);
    aot_wrapper_trace_add(c->in->trace,
                          &(aot_wrapper_event){.kind = (uint8_t)kind,
                                               .wrapper = (uint8_t)c->at,
                                               .backward = c->backward,
                                               .call = c->number,
                                               .what = buf,
                                               .came = value != NULL ? wr_type(c, value) : "",
                                               .went = went,
                                               .bytes = value != NULL ? bytes_of(value) : 0});
}

/* "3 values: f32[4], f32[4], 7" */
static void note_list(aot_wrapped *c, aot_wrapper_event_kind kind, const aot_xval *v, unsigned n)
{
    enum { MOST = 8 };
    aot_sb b = {0};
    if (!is_traced(c)) {
        return;
    }
    for (unsigned i = 0; i < n && i < MOST; i++) {
        aot_sb_addz(&b, i > 0 ? ", " : "");
        aot_value_type_print(&b, &v[i]);
    }
    if (n > MOST) {
        aot_sb_addf(&b, " and %u more", n - MOST);
    }
    wr_note(c, kind, NULL, wr_text(c, "%s", aot_sb_text(&b)), "%u value%s", n, n == 1 ? "" : "s");
    aot_sb_free(&b);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static void find_placeholders(aot_wrapped *c)
{
    const aot_graph *g = c->in->graph;
    c->placeholders = aot_xcalloc(g->nodes.n + 1, sizeof *c->placeholders);
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
            c->placeholders[c->n_placeholders++] = id;
        }
    }
}

/* The forward may take fewer inputs than the joint graph, by the same names; seed and offset it
 * takes last. */
aot_xval *wr_graph_inputs(const aot_wrapped *c, const aot_graph *g, unsigned *n)
{
    const aot_graph *joint = c->in->graph;
    aot_xval *given = wr_new_list(g->nodes.n);
    bool seeded = c->m->is_rng_op_functionalized && c->n_args >= 2;
    unsigned n_named = c->n_args - (seeded ? 2 : 0), k = 0, seeds = 0;
    *n = 0;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        if (aot_node_at(g, id)->kind != AOT_PLACEHOLDER) {
            continue;
        }
        unsigned at = k;
        while (at < n_named && at < c->n_placeholders &&
               aot_node_at(joint, c->placeholders[at])->name != aot_node_at(g, id)->name) {
            at++;
        }
        if (at < n_named) {
            given[(*n)++] = c->args[at];
            k = at + 1;
        } else if (seeded && seeds < 2) {
            given[(*n)++] = c->args[n_named + seeds++];
        }
    }
    return given;
}

static aot_status run_forward(aot_wrapped *c)
{
    const aot_graph *g = c->in->cut != NULL ? c->in->cut->forward : c->in->graph;
    unsigned n = 0;
    aot_xval *given = wr_graph_inputs(c, g, &n), *kept = NULL;
    if (wr_makes(c, AOT_FAULT_LOST_COPY)) {
        kept = aot_clone_values(given, n, false);
    }
    aot_status s =
        aot_exec_run(&c->returned, &c->n_returned, c->x, g, n, given, c->in->options, c->err);
    for (unsigned i = 0; kept != NULL && i < n; i++) { // what the graph itself wrote is lost
        aot_ulps u;
        aot_ulps_compare(&u, &given[i], &kept[i], NULL);
        if (given[i].kind == AOT_X_ARRAY && u.n_unequal > 0) {
            aot_array_assign(given[i].u.array, kept[i].u.array);
            c->out->made_fault = true;
        }
    }
    for (unsigned i = 0; i < c->n_inner; i++) {
        bool written =
            c->m->inputs[i].mutation == AOT_MUTATED_IN_GRAPH && c->inner[i].kind == AOT_X_ARRAY;
        if (written) {
            c->inner[i].u.array->storage->version++; // before anything is saved
        }
    }
    wr_note(c, AOT_EVENT_RUN, NULL,
            wr_text(c, "%u value%s", c->n_returned, c->n_returned == 1 ? "" : "s"),
            "the %s graph, %u value%s in", c->in->cut != NULL ? "forward" : "inference", n,
            n == 1 ? "" : "s");
    aot_free_values(kept, n);
    free(given);
    c->n_forward = c->in->cut != NULL && (unsigned)c->in->cut->n_forward_outputs < c->n_returned
                       ? (unsigned)c->in->cut->n_forward_outputs
                       : c->n_returned;
    return s;
}

/* ---- the call -------------------------------------------------------------------------------- */

static aot_wrapped *new_call(aot_exec *x, aot_run_out *out, const aot_run_in *in, aot_err *err)
{
    aot_wrapped *c = aot_xcalloc(1, sizeof *c);
    *c = (aot_wrapped){.x = x, .in = in, .m = &in->calling->meta, .out = out, .err = err};
    c->number = in->trace != NULL ? in->trace->n_calls++ : 0;
    find_placeholders(c);
    unsigned n = (unsigned)in->calling->n_outer;
    aot_xval *args = wr_new_list(n);
    for (unsigned i = 0; i < n; i++) {
        args[i] = aot_xv_keep(in->outer[i]);
    }
    wr_set_args(c, args, n);
    return c;
}

static aot_status go_in(aot_wrapped *c)
{
    for (unsigned w = 0; w < AOT_N_WRAPPERS; w++) {
        if (wr_runs(c, (aot_wrapper)w)) {
            c->at = (aot_wrapper)w;
            note_list(c, AOT_EVENT_TAKE, c->args, c->n_args);
            AOT_TRY(wrappers[w].before(c));
        }
    }
    return AOT_OK;
}

static aot_status go_out(aot_wrapped *c)
{
    for (unsigned w = AOT_N_WRAPPERS; w-- > 0;) {
        if (wr_runs(c, (aot_wrapper)w)) {
            c->at = (aot_wrapper)w;
            AOT_TRY(wrappers[w].behind(c));
            bool outer = w <= AOT_WRAPPER_RUNTIME; // from here on out what the program gets
            note_list(c, AOT_EVENT_GIVE, outer ? c->out->outputs : c->returned,
                      outer                      ? c->out->n_outputs
                      : w == AOT_WRAPPER_AUTOGRAD ? c->n_forward
                                                 : c->n_returned);
        }
    }
    return AOT_OK;
}

static void note_mutated(aot_wrapped *c)
{
    const aot_calling *how = c->in->calling;
    for (int i = 0; i < how->n_outer; i++) {
        const aot_input_info *x = &c->m->inputs[how->outer[i].inner];
        c->out->mutated[i] = how->outer[i].is_tensor && (x->mutates_data || x->mutates_metadata);
    }
}

aot_status aot_wrapped_forward(aot_wrapped **call, aot_run_out *out, aot_exec *x,
                               const aot_run_in *in, aot_err *err)
{
    unsigned n = (unsigned)in->calling->n_outer;
    *out = (aot_run_out){.n_outer = n,
                         .grads = aot_xcalloc(n + 1u, sizeof *out->grads),
                         .mutated = aot_xcalloc(n + 1u, sizeof *out->mutated)};
    aot_wrapped *c = *call = new_call(x, out, in, err);
    AOT_TRY(go_in(c));
    AOT_TRY(run_forward(c));
    if (c->n_returned > 0) {
        AOT_TRY(go_out(c));
        note_mutated(c);
    }
    return AOT_OK;
}

aot_status aot_wrapped_backward(aot_wrapped *c, bool retain, aot_err *err)
{
    c->err = err;
    c->backward = true;
    c->at = AOT_WRAPPER_AUTOGRAD;
    return wr_backward(c, retain);
}

void aot_wrapped_free(aot_wrapped *c)
{
    if (c == NULL) {
        return;
    }
    for (unsigned i = 0; c->extra != NULL && i < c->n_inner; i++) {
        aot_array_unref(c->extra[i]);
    }
    aot_free_values(c->args, c->n_args);
    aot_free_values(c->inner, c->n_inner);
    aot_free_values(c->returned, c->n_returned);
    free(c->extra);
    free(c->versions);
    free(c->outer_of);
    free(c->placeholders);
    free(c);
}

const aot_xval *aot_wrapped_saved(const aot_wrapped *c, unsigned *n)
{
    *n = c->freed || c->in->cut == NULL ? 0 : c->n_returned - c->n_forward;
    return c->returned + c->n_forward;
}

static int by_address(const void *a, const void *b)
{
    const aot_storage *const *p = a, *const *q = b;
    return *p < *q ? -1 : *p > *q;
}

/* Storages of the arrays among values, each once. The caller frees the list. */
static const aot_storage **storages_of(const aot_xval *v, unsigned n, size_t *n_out)
{
    const aot_storage **s = aot_xcalloc(n + 1u, sizeof *s);
    size_t all = 0, once = 0;
    for (unsigned i = 0; i < n; i++) {
        if (v[i].kind == AOT_X_ARRAY) {
            s[all++] = v[i].u.array->storage;
        }
    }
    qsort(s, all, sizeof *s, by_address);
    for (size_t i = 0; i < all; i++) {
        if (i == 0 || s[i] != s[i - 1]) {
            s[once++] = s[i];
        }
    }
    *n_out = once;
    return s;
}

aot_held_bytes aot_wrapped_held(const aot_wrapped *c)
{
    unsigned n;
    size_t n_saved, n_inputs;
    const aot_xval *v = aot_wrapped_saved(c, &n);
    const aot_storage **saved = storages_of(v, n, &n_saved),
                      **inputs = storages_of(c->inner, c->n_inner, &n_inputs);
    aot_held_bytes h = {.n = n};
    for (size_t i = 0; i < n_saved; i++) {
        bool input = bsearch(&saved[i], inputs, n_inputs, sizeof *inputs, by_address) != NULL;
        *(input ? &h.of_inputs : &h.own) += saved[i]->bytes;
    }
    free(saved);
    free(inputs);
    return h;
}

aot_status aot_run_args(aot_xval **args, unsigned *n, const aot_run_in *in, aot_err *err)
{
    aot_run_out out = {0};
    aot_exec *x = aot_exec_new();
    aot_wrapped *c = new_call(x, &out, in, err);
    aot_status s = go_in(c);
    if (s == AOT_OK) {
        *args = c->args;
        *n = c->n_args;
        c->args = NULL;
        c->n_args = 0;
    }
    aot_wrapped_free(c);
    aot_exec_free(x);
    return s;
}

aot_status aot_run_unit(aot_run_out *out, aot_exec *x, const aot_run_in *in, aot_err *err)
{
    aot_wrapped *c = NULL;
    aot_status s = aot_wrapped_forward(&c, out, x, in, err);
    if (s == AOT_OK && c->n_returned > 0 && in->tangents != NULL) {
        s = aot_wrapped_backward(c, false, err);
    }
    aot_wrapped_free(c);
    return s;
}

void aot_run_free(aot_run_out *r)
{
    aot_free_values(r->outputs, r->n_outputs);
    aot_free_values(r->grads, r->n_outer);
    free(r->mutated);
    *r = (aot_run_out){0};
}
