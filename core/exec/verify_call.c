/* The call through the wrappers, watched: values of forward and backward are kept by name, and what
 * the backward computes again is compared with what the forward computed. */
#include <stdlib.h>

#include "exec/clones.h"
#include "exec/kernel.h"
#include "exec/verify_internal.h"
#include "ir/reads.h"

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

/* The operator that made a value: of an item the one that it is of. A generator's state that a
 * random operator was saved with is the wrapper's own; all else of it is the operator's inside.
 * Graphs that were split may use a name again for such a state, so that a name alone says
 * little. */
static aot_str maker_of(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    int64_t item = -1;
    while (aot_is_getitem(g, n) && n->n_args == 2) {
        const aot_arg *a = aot_node_args(g, n);
        if (a[0].kind != AOT_ARG_NODE || a[1].kind != AOT_ARG_INT) {
            return n->target;
        }
        item = a[1].u.i;
        n = aot_node_at(g, a[0].u.node);
    }
    bool wraps = n->op == AOT_OP_higher_order_run_and_save_rng_state ||
                 n->op == AOT_OP_higher_order_run_with_rng_state ||
                 n->op == AOT_OP_higher_order_graphsafe_run_with_rng_state;
    if (!wraps || (item == 0 && n->op == AOT_OP_higher_order_run_and_save_rng_state)) {
        return n->target;
    }
    for (uint32_t i = 0; i < n->n_args; i++) {
        const aot_arg *a = &aot_node_args(g, n)[i];
        if (a->kind == AOT_ARG_NAME) {
            return a->u.s;
        }
    }
    return n->target;
}

bool vf_same_maker(const vf_slot *s, const aot_graph *g, aot_node_id id)
{
    return s->target == aot_node_at(g, id)->target && s->maker == maker_of(g, id);
}

/* Memory that is written again is copied: inputs; and all of it where the graph writes in place. */
void vf_keep_value(vf_slot *slots, const aot_graph *g, aot_node_id id, const aot_xval *value,
                   uint32_t order, bool copy)
{
    const aot_node *n = aot_node_at(g, id);
    vf_slot *s = &slots[n->name];
    aot_xv_drop(&s->value);
    s->value = copy ? aot_copy_value(value) : aot_xv_keep(*value);
    s->target = n->target;
    s->maker = maker_of(g, id);
    s->order = order;
    s->there = true;
    s->is_input = n->kind == AOT_PLACEHOLDER;
}

/* "sin (torch.ops.aten.sin.default)"; of an item also whose it is. */
const char *vf_described(verify *v, const aot_graph *g, aot_node_id id)
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

const uint8_t *vf_needed_in_backward(verify *v)
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
    vf_progress(v, back ? "backward" : "forward", id, g->nodes.n);
    vf_keep_value(back ? v->backward : v->forward, g, id, value, ++v->order, copy);
    const vf_slot *f = &v->forward[n->name];
    bool again = back && n->kind != AOT_PLACEHOLDER && f->there && !f->is_input &&
                 vf_same_maker(f, g, id);
    if (again && vf_needed_in_backward(v)[id]) {
        aot_ulps u;
        compare_taken(v, &u, g, id, value, &f->value);
        v->out->n_recomputed++;
        if (u.differs) {
            vf_finding(v, AOT_VERIFY_RECOMPUTED, "backward", aot_node_name(g, id), v->order, &u,
                       "%s, computed again in the backward, is not what the forward computed",
                       vf_described(v, g, id));
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

aot_status vf_run_call(verify *v, aot_err *err)
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
