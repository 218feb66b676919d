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

static int by_order(const void *a, const void *b)
{
    const aot_verify_finding *f = a, *g = b;
    return f->order != g->order ? (f->order < g->order ? -1 : 1) : (int)f->kind - (int)g->kind;
}

void vf_fill_normal(aot_array *x, uint64_t *state)
{
    aot_dtype d = (aot_dtype)x->dtype;
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    for (int64_t i = 0; i < n; i++) {
        aot_complex z = aot_splitmix_normal(state);
        z = aot_dtype_class(d) == AOT_CLASS_COMPLEX ? CMPLX(creal(z), aot_splitmix_normal(state))
                                                    : z;
        aot_store_complex(&z, d, aot_array_data(flat) + i * bytes, 0, 1);
    }
    aot_array_assign(x, flat);
    aot_array_unref(flat);
}

/* ---- what is kept of a run ------------------------------------------------------------------- */

static bool is_of(const aot_xval *v, const aot_storage *s)
{
    return v->kind == AOT_X_ARRAY && v->u.array->storage == s;
}

static bool is_of_inputs(const aot_xval *outer, unsigned n, const aot_storage *s)
{
    for (unsigned i = 0; i < n; i++) {
        bool inside = is_of(&outer[i], s);
        for (unsigned k = 0; outer[i].kind == AOT_X_LIST && k < outer[i].n; k++) {
            inside |= is_of(&outer[i].u.items[k], s);
        }
        if (inside) {
            return true;
        }
    }
    return false;
}

/* Memory that is written again is copied: inputs; and all of it where the graph writes in place. */
static void keep_value(vf_slot *slots, const aot_graph *g, aot_node_id id, const aot_xval *value,
                       uint32_t order, bool copy)
{
    const aot_node *n = aot_node_at(g, id);
    vf_slot *s = &slots[n->name];
    aot_xv_drop(&s->value);
    s->value = copy ? aot_copy_value(value) : aot_xv_keep(*value);
    s->target = n->target;
    s->order = order;
    s->there = true;
    s->is_input = n->kind == AOT_PLACEHOLDER;
}

static bool see_eager(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                      const aot_live_bytes *live)
{
    verify *v = arg;
    (void)live;
    keep_value(v->eager, g, id, value, 0, true);
    return true;
}

/* "sin (torch.ops.aten.sin.default)"; of an item also whose it is. */
static const char *described(verify *v, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    const aot_arg *args = aot_node_args(g, n);
    if (aot_is_getitem(g, n) && n->n_args == 2 && args[0].kind == AOT_ARG_NODE &&
        args[1].kind == AOT_ARG_INT) {
        return vf_text(v, "%s (item %lld of %s, %s)", aot_node_name(g, id), (long long)args[1].u.i,
                       aot_node_name(g, args[0].u.node), aot_node_target(g, args[0].u.node));
    }
    return n->kind == AOT_PLACEHOLDER
               ? aot_node_name(g, id)
               : vf_text(v, "%s (%s)", aot_node_name(g, id), aot_node_target(g, id));
}

static void free_slots(vf_slot *s, uint32_t n)
{
    for (uint32_t i = 0; s != NULL && i < n; i++) {
        aot_xv_drop(&s[i].value);
    }
    free(s);
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool is_backward(const verify *v, const aot_graph *g)
{
    return v->in->cut != NULL && g == v->in->cut->backward;
}

static void before_call(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id)
{
    verify *v = arg;
    (void)id;
    if (is_backward(v, g) && !v->saw_backward) {
        v->saw_backward = true;
        v->behind_forward = *aot_exec_generator(x);
    }
}

static const uint8_t *needed_in_backward(verify *v)
{
    v->needed = v->needed != NULL ? v->needed : aot_needed_nodes(v->in->cut->backward);
    return v->needed;
}

/* Results that nobody takes of what is computed again may differ: new running statistics, written
 * once too often. */
static void compare_taken(const verify *v, aot_ulps *u, const aot_graph *g, aot_node_id id,
                          const aot_xval *value, const aot_xval *was)
{
    if (value->kind != AOT_X_LIST || was->kind != AOT_X_LIST || value->n != was->n) {
        aot_ulps_compare(u, value, was, v->in->tolerance);
        return;
    }
    *u = (aot_ulps){.what = "value"};
    for (unsigned i = 0; i < value->n && !u->differs; i++) {
        if (aot_result_is_needed(g, v->needed, id, i)) {
            aot_ulps_compare(u, &value->u.items[i], &was->u.items[i], v->in->tolerance);
        }
    }
}

static bool see_call(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                     const aot_live_bytes *live)
{
    verify *v = arg;
    const aot_node *n = aot_node_at(g, id);
    bool back = is_backward(v, g);
    bool copy = value->kind == AOT_X_ARRAY &&
                is_of_inputs(v->call_outer, vf_n_outer(v), value->u.array->storage);
    (void)live;
    keep_value(back ? v->backward : v->forward, g, id, value, ++v->order, copy);
    const vf_slot *f = &v->forward[n->name];
    bool again =
        back && n->kind != AOT_PLACEHOLDER && f->there && !f->is_input && f->target == n->target;
    if (again && needed_in_backward(v)[id]) {
        aot_ulps u;
        compare_taken(v, &u, g, id, value, &f->value);
        v->out->n_recomputed++;
        if (u.differs) {
            vf_finding(v, AOT_VERIFY_RECOMPUTED, "backward", aot_node_name(g, id), v->order, &u,
                       "%s, computed again in the backward, is not what the forward computed",
                       described(v, g, id));
        }
    }
    return true;
}

/* Normal numbers in the shape of an output; of a tensor subclass, of its inner tensors. */
static aot_xval tangent_of(const aot_xval *out, uint64_t *state)
{
    if (out->kind == AOT_X_LIST) {
        aot_xval *items = aot_xcalloc(out->n + 1u, sizeof *items);
        for (unsigned i = 0; i < out->n; i++) {
            items[i] = tangent_of(&out->u.items[i], state);
        }
        aot_xval list = aot_xv_keep(aot_xv_list(out->n, items));
        aot_free_values(items, out->n);
        return list;
    }
    if (out->kind != AOT_X_ARRAY) {
        return aot_xv_none();
    }
    const aot_array *o = out->u.array;
    aot_array *t = aot_array_new(NULL, (aot_dtype)o->dtype, o->ndim, o->size);
    vf_fill_normal(t, state);
    return aot_xv_array(t);
}

static void flatten_outputs(verify *v)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v->call.n_outputs; i++) {
        n += v->call.outputs[i].kind == AOT_X_LIST ? v->call.outputs[i].n : 1;
    }
    v->flat = aot_xcalloc(n + 1u, sizeof *v->flat);
    v->flat_names = aot_xcalloc(n + 1u, sizeof *v->flat_names);
    for (unsigned i = 0; i < v->call.n_outputs; i++) {
        const aot_xval *o = &v->call.outputs[i];
        bool list = o->kind == AOT_X_LIST;
        for (unsigned k = 0; k < (list ? o->n : 1); k++) {
            v->flat[v->n_flat] = aot_xv_keep(list ? o->u.items[k] : *o);
            v->flat_names[v->n_flat++] =
                list ? vf_text(v, "output %u (inner tensor %u)", i, k) : vf_text(v, "output %u", i);
        }
    }
}

/* Gradients for the outputs that want one, of the outputs' shapes. */
static aot_status make_tangents(verify *v, aot_err *err)
{
    const aot_fw_metadata *m = &v->in->calling->meta;
    const aot_verify_in *in = v->in;
    aot_xval *outer = aot_clone_values(in->outer, vf_n_outer(v), false);
    aot_run_in call = {.calling = in->calling, .graph = in->joint, .cut = in->cut, .outer = outer};
    aot_run_out out;
    uint64_t state = in->seed ^ 0x7a6e;
    aot_generator_seed(aot_exec_generator(v->x), in->seed);
    aot_status s = aot_run_unit(&out, v->x, &call, err);
    v->tangents = aot_xcalloc(out.n_outputs + 1u, sizeof *v->tangents);
    for (unsigned i = 0; s == AOT_OK && i < out.n_outputs; i++) {
        bool tensor = out.outputs[i].kind == AOT_X_ARRAY || out.outputs[i].kind == AOT_X_LIST;
        if (!m->outputs[i].requires_grad || !tensor) {
            continue;
        }
        v->tangents[v->n_tangents++] = tangent_of(&out.outputs[i], &state);
    }
    aot_run_free(&out);
    aot_free_values(outer, vf_n_outer(v));
    return s;
}

static aot_status run_call(verify *v, aot_err *err)
{
    const aot_verify_in *in = v->in;
    aot_exec_options o = {.observer = see_call, .arg = v, .before = before_call, .inputs = true};
    AOT_TRY(make_tangents(v, err));
    v->call_outer = aot_clone_values(in->outer, vf_n_outer(v), false);
    aot_run_in call = {.calling = in->calling,
                       .graph = in->joint,
                       .cut = in->cut,
                       .outer = v->call_outer,
                       .names = in->names,
                       .tangents = in->cut != NULL ? v->tangents : NULL,
                       .n_tangents = v->n_tangents,
                       .options = &o,
                       .fault = in->fault,
                       .debug_assert = in->debug_assert,
                       .trace = in->trace};
    aot_generator_seed(aot_exec_generator(v->x), in->seed);
    AOT_TRY(aot_run_unit(&v->call, v->x, &call, err));
    flatten_outputs(v);
    v->behind_call = *aot_exec_generator(v->x);
    v->behind_forward = v->saw_backward ? v->behind_forward : v->behind_call;
    if (in->fault != AOT_NO_FAULT && !v->call.made_fault) {
        return AOT_FAIL(err, AOT_E_USAGE, "--fault %s: the unit has nothing that it would break",
                        aot_fault_get(in->fault)->name);
    }
    return AOT_OK;
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
    bool saved = back && s->is_input, same = s->target == n->target;
    aot_ulps u;
    if (!s->there || (!same && !saved && n->kind != AOT_PLACEHOLDER)) {
        return;
    }
    if (back && !saved && v->forward[n->name].there && !v->forward[n->name].is_input) {
        return; // compared with the forward's
    }
    aot_node_id in_backward =
        saved ? aot_graph_find(v->in->cut->backward, aot_node_name(g, id)) : AOT_NO_NODE;
    if (in_backward != AOT_NO_NODE && !needed_in_backward(v)[in_backward]) {
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
                   described(v, g, id));
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

static aot_status verify_all(verify *v, aot_err *err)
{
    AOT_TRY(run_call(v, err));
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
