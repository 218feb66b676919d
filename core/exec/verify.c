/* The three runs and what is compared. Values of forward and backward are kept by name; the joint
 * graph's are compared as they are made. */
#include "exec/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/kernel.h"
#include "exec/splitmix.h"
#include "exec/verify_internal.h"
#include "ir/reads.h"

static const char *const kinds[] = {
#define VERIFY(id, name, sentence) name,
#include "exec/verify_kinds.def"
#undef VERIFY
};

const char *aot_verify_kind_name(aot_verify_kind k)
{
    return kinds[k];
}

/* ---- words ----------------------------------------------------------------------------------- */

unsigned vf_n_outer(const verify *v)
{
    return (unsigned)v->in->calling->n_outer;
}

static const char *text_of(verify *v, const char *fmt, va_list ap)
{
    char buf[600];
    vsnprintf(buf, sizeof buf, fmt, ap);
    return aot_arena_strndup(v->out->arena, buf, strlen(buf));
}

const char *vf_text(verify *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = text_of(v, fmt, ap);
    va_end(ap);
    return text;
}

void vf_note(verify *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    aot_vec_push(&v->out->notes, text_of(v, fmt, ap));
    va_end(ap);
}

void vf_finding(verify *v, aot_verify_kind kind, const char *stage, const char *name,
                uint32_t order, const aot_ulps *diff, const char *fmt, ...)
{
    va_list ap;
    aot_sb b = {0};
    va_start(ap, fmt);
    aot_sb_addz(&b, text_of(v, fmt, ap));
    va_end(ap);
    if (diff != NULL) {
        aot_sb_addz(&b, ": ");
        aot_ulps_print(&b, diff);
    }
    const aot_ulps none = {.what = "value"};
    aot_vec_push(
        &v->out->findings,
        ((aot_verify_finding){(uint8_t)kind, stage, name, order, diff != NULL ? *diff : none,
                              aot_arena_strndup(v->out->arena, b.d, b.n)}));
    aot_sb_free(&b);
}

void vf_progress(const verify *v, const char *what, uint64_t done, uint64_t total)
{
    if (v->in->progress != NULL) {
        v->in->progress(v->in->progress_arg, what, done, total);
    }
}

static int by_order(const void *a, const void *b)
{
    const aot_verify_finding *f = a, *g = b;
    return f->order != g->order ? (f->order < g->order ? -1 : 1) : (int)f->kind - (int)g->kind;
}

void vf_fill_normal(aot_array *x, uint64_t *state)
{
    enum { MOST = 512 };
    aot_dtype d = (aot_dtype)x->dtype;
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    bool complex = aot_dtype_class(d) == AOT_CLASS_COMPLEX;
    for (int64_t i = 0, k; i < n; i += k) {
        double re[MOST];
        aot_complex z[MOST];
        for (k = 0; k < MOST && i + k < n; k++) {
            re[k] = aot_splitmix_normal(state);
            z[k] = complex ? CMPLX(re[k], aot_splitmix_normal(state)) : 0;
        }
        if (complex) {
            aot_store_complex(z, d, aot_array_data(flat) + i * bytes, bytes, k);
        } else {
            aot_store_real(re, d, aot_array_data(flat) + i * bytes, bytes, k);
        }
    }
    aot_array_assign(x, flat);
    aot_array_unref(flat);
}

/* ---- one graph in one piece ------------------------------------------------------------------ */

/* Tangents as the backward was given them; one that it does not take is zeros. */
static aot_xval joint_tangent(const verify *v, const aot_graph *g, const aot_node *n)
{
    const vf_slot *s = &v->backward[n->name];
    const aot_meta *m = aot_meta_get(g->ctx, n->meta);
    int64_t size[AOT_ARRAY_MAX_NDIM];
    if (s->there || m->val != AOT_VAL_TENSOR) {
        return aot_xv_keep(s->value);
    }
    for (unsigned i = 0; i < m->ndim; i++) {
        size[i] = aot_meta_sizes(g->ctx, m)[i].value;
    }
    return aot_xv_array(aot_array_new(NULL, (aot_dtype)m->dtype, m->ndim, size));
}

/* Where autograd is to see the writes, the graph writes a copy of the input and returns it before
 * the outputs: eager writes the input itself, and its views are the input's. */
static void write_input(aot_array *to, const aot_array *from, aot_xval *outputs, unsigned n)
{
    const aot_storage *copy = from->storage;
    int64_t shift = to->offset - from->offset;
    if (from->storage == to->storage) {
        return;
    }
    to->ndim = from->ndim;
    memcpy(to->size, from->size, sizeof to->size);
    if (to->ndim != from->ndim || aot_array_numel(to) != aot_array_numel(from)) {
        memcpy(to->stride, from->stride, sizeof to->stride);
    }
    aot_array_assign(to, from);
    for (unsigned i = 0; i < n; i++) {
        const aot_array *x = outputs[i].kind == AOT_X_ARRAY ? outputs[i].u.array : NULL;
        if (x == NULL || x->storage != copy) {
            continue;
        }
        aot_array *view =
            aot_array_view(to, (aot_dtype)x->dtype, x->ndim, x->size, x->stride, x->offset + shift);
        if (aot_array_fits(view)) {
            aot_xv_drop(&outputs[i]);
            outputs[i] = aot_xv_array(view);
        } else {
            aot_array_unref(view);
        }
    }
}

static void take_mutated(const verify *v, const aot_xval *args, aot_xval *out, unsigned *n)
{
    const aot_fw_metadata *m = &v->in->calling->meta;
    unsigned first = (unsigned)m->n_mutated_returned < *n ? (unsigned)m->n_mutated_returned : *n,
             k = 0;
    bool flat = m->subclass_in.n == 0 || m->n_inputs == m->subclass_in.n;
    // the program writes its inputs itself and returns the user's outputs
    if (v->in->calling->path == AOT_PATH_EXPORT) {
        return;
    }
    for (int i = 0; i < m->n_inputs && k < first && flat; i++) {
        if (m->inputs[i].mutation != AOT_MUTATED_OUT_GRAPH) {
            continue;
        }
        const aot_xval *to = &args[i + m->n_tokens], *from = &out[k++];
        if (to->kind == AOT_X_ARRAY && from->kind == AOT_X_ARRAY) {
            write_input(to->u.array, from->u.array, out + first, *n - first);
        }
    }
    for (unsigned i = 0; i < first; i++) {
        aot_xv_drop(&out[i]);
    }
    *n -= first;
    memmove(out, out + first, *n * sizeof *out);
}

aot_status vf_run_graph(verify *v, aot_exec *x, bool joint, aot_xval *outer,
                        const aot_exec_options *o, aot_xval **out, unsigned *n, aot_err *err)
{
    const aot_verify_in *in = v->in;
    const aot_graph *g = joint ? in->joint : in->aten;
    aot_run_in call = {
        .calling = in->calling, .graph = in->joint, .outer = outer, .names = in->names};
    aot_xval *args = NULL, *given = aot_xcalloc(g->nodes.n + 1, sizeof *given);
    unsigned n_args = 0, at = 0;
    aot_status s = aot_run_args(&args, &n_args, &call, err);
    // of the aten graph, nobody reads tangents
    for (aot_node_id id = 0; s == AOT_OK && id < g->nodes.n; id++) {
        const aot_node *node = aot_node_at(g, id);
        if (node->kind == AOT_PLACEHOLDER) {
            given[at] = at < n_args ? aot_xv_keep(args[at])
                        : joint     ? joint_tangent(v, g, node)
                                    : aot_xv_none();
            at++;
        }
    }
    aot_generator_seed(aot_exec_generator(x), in->seed);
    s = s == AOT_OK ? aot_exec_run(out, n, x, g, at, given, o, err) : s;
    if (s == AOT_OK && !joint) {
        take_mutated(v, args, *out, n);
    }
    aot_free_values(given, at);
    aot_free_values(args, n_args);
    return s;
}

/* ---- eager ----------------------------------------------------------------------------------- */

bool vf_same_state(const aot_generator *a, const aot_generator *b)
{
    uint8_t p[AOT_GENERATOR_STATE_BYTES], q[AOT_GENERATOR_STATE_BYTES];
    aot_generator_get_state(a, p);
    aot_generator_get_state(b, q);
    return memcmp(p, q, sizeof p) == 0;
}

static bool see_eager(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                      const aot_live_bytes *live)
{
    verify *v = arg;
    (void)live;
    vf_progress(v, "eager", id, g->nodes.n);
    vf_keep_value(v->eager, g, id, value, 0, true);
    return true;
}

static aot_status run_eager(verify *v, aot_err *err)
{
    aot_exec_options o = {.observer = see_eager, .arg = v, .inputs = true};
    v->eager_outer = aot_clone_values(v->in->outer, vf_n_outer(v), false);
    AOT_TRY(vf_run_graph(v, v->x, false, v->eager_outer, &o, &v->eager_outputs, &v->n_eager_outputs,
                         err));
    v->same_draws = vf_same_state(aot_exec_generator(v->x), &v->behind_forward);
    if (!v->same_draws) {
        vf_note(v, "outputs are not compared with eager's: the decompositions draw other random "
                   "numbers from the same seed");
    }
    return AOT_OK;
}

/* ---- the joint graph ------------------------------------------------------------------------- */

static void compare_slot(verify *v, const aot_graph *g, aot_node_id id, const aot_xval *value,
                         const vf_slot *s, bool back)
{
    const aot_node *n = aot_node_at(g, id);
    bool saved = back && s->is_input, same = vf_same_maker(s, g, id);
    aot_ulps u;
    if (!s->there || (!same && !saved && n->kind != AOT_PLACEHOLDER)) {
        return;
    }
    if (back && !saved && v->forward[n->name].there && !v->forward[n->name].is_input) {
        return; // compared with the forward's
    }
    aot_node_id in_backward =
        saved ? aot_graph_find(v->in->cut->backward, aot_node_name(g, id)) : AOT_NO_NODE;
    if (in_backward != AOT_NO_NODE && !vf_needed_in_backward(v)[in_backward]) {
        return;
    }
    aot_ulps_compare(&u, &s->value, value, v->in->tolerance);
    v->out->n_nodes++;
    v->out->max_ulps = !u.differs && u.max_ulps > v->out->max_ulps ? u.max_ulps : v->out->max_ulps;
    if (u.differs) {
        const char *stage = back ? "backward" : "forward", *name = aot_node_name(g, id);
        vf_finding(v, saved ? AOT_VERIFY_SAVED : AOT_VERIFY_NODE, stage, name, s->order, &u,
                   saved  ? "%s, which the backward is given, is not the value of the joint graph"
                   : back ? "%s of the backward is not the joint graph's"
                          : "%s of the forward is not the joint graph's",
                   vf_described(v, g, id));
    }
}

static bool see_joint(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                      const aot_live_bytes *live)
{
    verify *v = arg;
    const aot_node *n = aot_node_at(g, id);
    aot_node_id above = v->in->of_aten != NULL ? v->in->of_aten[id] : AOT_NO_NODE;
    const vf_slot *e =
        above != AOT_NO_NODE ? &v->eager[aot_node_at(v->in->aten, above)->name] : NULL;
    (void)live;
    vf_progress(v, "joint graph", id, g->nodes.n);
    compare_slot(v, g, id, value, &v->forward[n->name], false);
    compare_slot(v, g, id, value, &v->backward[n->name], true);
    if (v->eager_node == NULL && e != NULL && e->there) {
        aot_ulps_compare(&v->eager_diff, &e->value, value, v->in->tolerance);
        v->eager_node = v->eager_diff.differs ? aot_node_name(g, id) : NULL;
    }
    return true;
}

static aot_status run_joint(verify *v, aot_err *err)
{
    aot_xval *outer = aot_clone_values(v->in->outer, vf_n_outer(v), false), *out = NULL;
    aot_exec_options o = {.observer = see_joint, .arg = v, .inputs = true};
    unsigned n_out = 0;
    aot_status s = vf_run_graph(v, v->x, true, outer, &o, &out, &n_out, err);
    aot_free_values(out, n_out);
    aot_free_values(outer, vf_n_outer(v));
    return s;
}

/* ---- against eager --------------------------------------------------------------------------- */

static const char *where_eager_differs(verify *v)
{
    aot_sb b = {0};
    if (v->eager_node == NULL) {
        return "";
    }
    aot_sb_addf(&b, "; the joint graph first differs from eager at %s: ", v->eager_node);
    aot_ulps_print(&b, &v->eager_diff);
    const char *text = aot_arena_strndup(v->out->arena, b.d, b.n);
    aot_sb_free(&b);
    return text;
}

static void compare_results(verify *v)
{
    for (unsigned i = 0; i < v->n_flat && i < v->n_eager_outputs && v->same_draws; i++) {
        aot_ulps u;
        const char *name = v->flat_names[i];
        aot_ulps_compare(&u, &v->flat[i], &v->eager_outputs[i], v->in->tolerance);
        v->out->n_outputs++;
        if (u.differs) {
            vf_finding(v, AOT_VERIFY_OUTPUT, "call", name, UINT32_MAX - 4, &u,
                       "%s is not eager's%s", name, where_eager_differs(v));
        }
    }
    for (unsigned i = 0; i < vf_n_outer(v) && v->same_draws; i++) {
        aot_ulps u;
        aot_ulps_compare(&u, &v->call_outer[i], &v->eager_outer[i], v->in->tolerance);
        if (u.differs) {
            vf_finding(v, AOT_VERIFY_MUTATION, "call", v->in->names[i], UINT32_MAX - 3, &u,
                       "%s behind the call is not what eager leaves in it%s", v->in->names[i],
                       where_eager_differs(v));
        }
    }
}

static bool together(const aot_xval *a, const aot_xval *b)
{
    return a->kind == AOT_X_ARRAY && b->kind == AOT_X_ARRAY &&
           a->u.array->storage == b->u.array->storage && a->u.array->storage->bytes > 0;
}

/* Outputs against inputs and earlier outputs: the same pairs share memory. */
static void compare_aliases(verify *v)
{
    unsigned n_out = v->n_flat < v->n_eager_outputs ? v->n_flat : v->n_eager_outputs;
    for (unsigned i = 0; i < n_out; i++) {
        const char *name = v->flat_names[i];
        for (unsigned k = 0; k < vf_n_outer(v) + i; k++) {
            bool input = k < vf_n_outer(v);
            unsigned at = input ? k : k - vf_n_outer(v);
            bool here = together(&v->flat[i], input ? &v->call_outer[at] : &v->flat[at]);
            bool there =
                together(&v->eager_outputs[i], input ? &v->eager_outer[at] : &v->eager_outputs[at]);
            if (here != there) {
                vf_finding(
                    v, AOT_VERIFY_ALIAS, "call", name, UINT32_MAX - 2, NULL,
                    "%s %s memory with %s, in eager it %s", name, here ? "shares" : "shares no",
                    input ? v->in->names[at] : v->flat_names[at], there ? "does" : "does not");
            }
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void free_slots(vf_slot *s, uint32_t n)
{
    for (uint32_t i = 0; s != NULL && i < n; i++) {
        aot_xv_drop(&s[i].value);
    }
    free(s);
}

static aot_status verify_all(verify *v, aot_err *err)
{
    AOT_TRY(vf_run_call(v, err));
    if (v->in->aten != NULL) {
        AOT_TRY(run_eager(v, err));
    } else {
        vf_note(v, "nothing is compared with eager: there is no Dynamo graph");
    }
    AOT_TRY(run_joint(v, err));
    compare_results(v);
    compare_aliases(v);
    if (v->call.has_backward) {
        vf_gradients(v);
    }
    if (v->out->findings.n > 1) {
        qsort(v->out->findings.d, v->out->findings.n, sizeof *v->out->findings.d, by_order);
    }
    return AOT_OK;
}

aot_status aot_verify(aot_verify_out *out, const aot_verify_in *in, aot_err *err)
{
    verify v = {.in = in,
                .out = out,
                .x = aot_exec_new(),
                .n_names = aot_strtab_count(in->joint->ctx->strs)};
    *out = (aot_verify_out){.arena = aot_arena_new()};
    v.eager = aot_xcalloc(v.n_names + 1, sizeof *v.eager);
    v.forward = aot_xcalloc(v.n_names + 1, sizeof *v.forward);
    v.backward = aot_xcalloc(v.n_names + 1, sizeof *v.backward);
    aot_status s = verify_all(&v, err);
    free_slots(v.eager, v.n_names);
    free_slots(v.forward, v.n_names);
    free_slots(v.backward, v.n_names);
    free(v.needed);
    aot_free_values(v.flat, v.n_flat);
    free(v.flat_names);
    aot_run_free(&v.call);
    aot_free_values(v.call_outer, vf_n_outer(&v));
    aot_free_values(v.eager_outer, vf_n_outer(&v));
    aot_free_values(v.eager_outputs, v.n_eager_outputs);
    aot_free_values(v.tangents, v.n_tangents);
    aot_exec_free(v.x);
    return s;
}

void aot_verify_free(aot_verify_out *v)
{
    aot_vec_free(&v->findings);
    aot_vec_free(&v->notes);
    aot_arena_free(v->arena);
    *v = (aot_verify_out){0};
}
