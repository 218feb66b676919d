/* The two runs: one to see what the forward mutates and returns, one that writes the graphs. */
#include "capture/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "capture/internal.h"
#include "lower/lower.h"

typedef struct job {
    const aot_capture_in *in;
    input_plan plan;
    analysis found;
    const char **out_desc; /* descriptors of the outputs, once traced */
    aot_arena *arena; /* of the tracer that is kept */
    bool merged;
    bool no_grad; /* the caller has disabled gradients */
} job;

const char *aot_capture_path_name(aot_capture_path p)
{
    static const char *const names[] = {"auto", "autograd", "inference", "export"};
    return names[p];
}

/* ---- the forward ----------------------------------------------------------------------------- */

/* Dynamo returns a flat tuple. */
static void run_forward(aot_tracer *t, const job *j, forward_run *r, const aot_value *inputs)
{
    const input_plan *p = &j->plan;
    aot_set_grad_enabled(t, !j->no_grad);
    const aot_value *args = cap_outer_args(t, p, inputs);
    for (unsigned i = 0; i < p->n_attrs; i++) {
        aot_tracer_set_attr(t, p->outer[i].name, args[i].u.t);
    }
    aot_value out = aot_interpret(t, j->in->dynamo, p->n_outer - p->n_attrs, args + p->n_attrs);
    if (aot_v_is_list(out)) {
        r->n_outputs = out.n;
        r->outputs = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, out.n + 1);
        memcpy(r->outputs, out.u.items, out.n * sizeof *r->outputs);
    } else {
        r->n_outputs = 1;
        r->outputs = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, 1);
        r->outputs[0] = out;
    }
}

static void analyze(aot_tracer *t, void *arg)
{
    job *j = arg;
    forward_run r = {0};
    cap_make_inputs(t, &j->plan, &r, true);
    run_forward(t, j, &r, r.inputs);
    cap_analyze(t, j->in, &j->plan, &r, !j->no_grad, j->in->dynamo->ctx->arena, &j->found);
    j->plan.token |= aot_trace_token(t) != NULL;
}

/* ---- what goes out --------------------------------------------------------------------------- */

/* Outputs of the graph at each level, with their descriptors. */
typedef struct results {
    aot_value *value; /* outer tensors */
    const char **desc;
    bool *tangent; /* a gradient comes in for it */
    unsigned n;
} results;

static void add_result(results *r, aot_value v, const char *desc, bool tangent)
{
    r->value[r->n] = v;
    r->desc[r->n] = desc;
    r->tangent[r->n++] = tangent;
}

static results results_new(aot_tracer *t, unsigned most)
{
    aot_arena *a = aot_tracer_arena(t);
    return (results){AOT_NEW_ARRAY(a, aot_value, most + 1),
                     AOT_NEW_ARRAY(a, const char *, most + 1), AOT_NEW_ARRAY(a, bool, most + 1), 0};
}

/* Mutated inputs, user outputs, bases of intermediates. */
static void forward_results(aot_tracer *t, const job *j, const forward_run *r,
                            aot_tensor *const *args, bool with_bases, results *out)
{
    aot_arena *a = aot_tracer_arena(t);
    const aot_fw_metadata *m = &j->found.meta;
    bool export = j->in->path == AOT_PATH_EXPORT;
    for (unsigned i = 0; i < r->n_inputs; i++) {
        if (m->inputs[i].mutation == AOT_MUTATED_OUT_GRAPH) {
            add_result(out, aot_v_tensor(args[i]),
                       export ? cap_export_mutation(&j->plan.inner[i], a)
                              : aot_arena_printf(a, "InputMutationAOTOutput(mutated_input=%s)",
                                                 j->plan.inner[i].desc),
                       m->inputs[i].mutates_data && m->inputs[i].requires_grad);
        }
    }
    for (unsigned i = 0; i < r->n_outputs; i++) {
        add_result(out, r->outputs[i],
                   export ? "USER_OUTPUT" : aot_arena_printf(a, "PlainAOTOutput(idx=%u)", i),
                   cap_takes_tangent(&m->outputs[i]));
    }
    for (unsigned i = 0; with_bases && i < r->n_outputs; i++) {
        if (m->outputs[i].type == AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT) {
            add_result(out, aot_v_tensor(aot_trace_view_base(r->outputs[i].u.t)),
                       aot_arena_printf(
                           a, "IntermediateBaseAOTOutput(base_of=PlainAOTOutput(idx=%u))", i),
                       true);
        }
    }
}

static aot_value synced(aot_tracer *t, aot_value v)
{
    if (v.kind != AOT_V_TENSOR) {
        return v;
    }
    aot_trace_sync(t, v.u.t);
    return aot_v_tensor(aot_trace_inner(v.u.t));
}

/* Values of the inputs at one time: one each, and of a subclass those of its inner tensors. */
typedef struct snapshot {
    aot_tensor *whole, *part[2];
} snapshot;

static snapshot *take_snapshot(aot_tracer *t, const forward_run *r)
{
    snapshot *s = AOT_NEW_ARRAY(aot_tracer_arena(t), snapshot, r->n_inputs + 1);
    for (unsigned i = 0; i < r->n_inputs; i++) {
        unsigned n = 0;
        aot_tensor *x = r->in_tensor[i], *const *parts = x != NULL ? aot_trace_parts(x, &n) : NULL;
        s[i].whole = x != NULL ? aot_trace_inner(x) : NULL;
        for (unsigned k = 0; k < n; k++) {
            s[i].part[k] = aot_trace_inner(parts[k]);
        }
    }
    return s;
}

/* Copies of new values into the inputs whose mutation stays in the graph. */
static void copy_back(aot_tracer *t, const job *j, const forward_run *r, const snapshot *before,
                      const snapshot *after, bool joint)
{
    for (unsigned i = 0; i < r->n_inputs; i++) {
        if (j->found.meta.inputs[i].mutation != AOT_MUTATED_IN_GRAPH) {
            continue;
        }
        for (unsigned k = 0; k < 2 && before[i].part[k] != NULL; k++) {
            if (before[i].part[k] != after[i].part[k]) {
                aot_trace_copy_back(t, before[i].part[k], after[i].part[k], !joint);
            }
        }
        if (before[i].part[0] == NULL && before[i].whole != after[i].whole) {
            aot_trace_copy_back(t, before[i].whole, after[i].whole, !joint);
        }
    }
}

static void sync_inputs(aot_tracer *t, const forward_run *r)
{
    for (unsigned i = 0; i < r->n_inputs; i++) {
        if (r->in_tensor[i] != NULL) {
            aot_trace_sync(t, r->in_tensor[i]);
        }
    }
}

/* Tensor subclasses leave as their inner tensors. *n_forward counts those of the forward. */
static results flattened(aot_tracer *t, const results *in, unsigned *n_forward)
{
    results out = results_new(t, 2 * in->n);
    unsigned n_first = *n_forward;
    for (unsigned i = 0; i < in->n; i++) {
        const char *const *attrs;
        unsigned n = 0;
        aot_tensor *const *parts =
            in->value[i].kind == AOT_V_TENSOR ? aot_trace_parts(in->value[i].u.t, &n) : NULL;
        *n_forward += i < n_first && n > 1 ? n - 1 : 0;
        if (n == 0) {
            add_result(&out, in->value[i], in->desc[i], in->tangent[i]);
            continue;
        }
        aot_trace_subclass(aot_tracer_ctx(t), aot_trace_meta(in->value[i].u.t), &attrs);
        for (unsigned k = 0; k < n; k++) {
            add_result(&out, aot_v_tensor(parts[k]),
                       aot_arena_printf(aot_tracer_arena(t),
                                        "SubclassGetAttrAOTOutput(base=%s, attr='%s')",
                                        in->desc[i], attrs[k]),
                       in->tangent[i]);
        }
    }
    return out;
}

static aot_value with_token(aot_tracer *t, unsigned n, const aot_value *v)
{
    aot_value *all = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, n + 2);
    all[0] = aot_v_tensor(aot_trace_token(t));
    memcpy(all + 1, v, n * sizeof *all);
    return aot_v_list(t, n + 1, all);
}

/* The program as exported returns what the user returns: that inputs are written stands in it. */
static unsigned outputs_from(const job *j, aot_level l)
{
    return l == AOT_LEVEL_ATEN && j->in->path == AOT_PATH_EXPORT
               ? (unsigned)j->found.meta.n_mutated_returned
               : 0;
}

static void write_outputs(aot_tracer *t, const job *j, const forward_run *r, const results *out,
                          unsigned n_forward, const snapshot *before)
{
    const aot_fw_metadata *m = &j->found.meta;
    aot_arena *a = aot_tracer_arena(t);
    aot_value *inner = AOT_NEW_ARRAY(a, aot_value, out->n + 1);
    for (unsigned i = 0; i < out->n; i++) {
        inner[i] = synced(t, out->value[i]);
        /* PyTorch counts these from the first output, mutated inputs among them */
        if (i < r->n_outputs && m->outputs[i].type == AOT_OUT_IS_INPUT &&
            m->inputs[m->outputs[i].base_idx].mutation == AOT_MUTATED_IN_GRAPH) {
            inner[i] = aot_v_tensor(before[m->outputs[i].base_idx].whole);
        }
    }
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        bool below = l >= AOT_LEVEL_FUNCTIONAL;
        unsigned n = l == AOT_LEVEL_ATEN ? n_forward : out->n; /* no gradients in the forward */
        unsigned first = outputs_from(j, (aot_level)l);
        const aot_value *v = (below ? inner : out->value) + first;
        n -= first;
        aot_trace_output(t, (aot_level)l,
                         below && j->plan.token ? with_token(t, n, v) : aot_v_list(t, n, v));
    }
}

/* ---- the joint graph ------------------------------------------------------------------------- */

/* Mutated inputs that take part in autograd: the graph works on a copy. */
static aot_tensor *fresh_input(aot_tracer *t, const aot_input_info *info, aot_tensor *x)
{
    if (x == NULL || info->mutation != AOT_MUTATED_OUT_GRAPH) {
        return x;
    }
    if (info->requires_grad && info->mutates_data) {
        return AOT(t, aten_clone, x);
    }
    return info->mutates_metadata ? AOT(t, aten_view, x, aot_sizes(x)) : x;
}

typedef struct backward {
    aot_tensor **outs, **tangents, **primals, **grads;
    unsigned n_outs, n_primals;
} backward;

static void needed_outputs(aot_tracer *t, const results *fw, aot_tensor *const *tangents,
                           backward *b)
{
    for (unsigned i = 0, k = 0; i < fw->n; i++) {
        if (!fw->tangent[i]) {
            continue;
        }
        aot_tensor *x = fw->value[i].u.t, *tangent = tangents[k++];
        aot_mark_like(tangent, x);
        if (aot_requires_grad(x)) {
            b->outs[b->n_outs] = aot_dims_eq(aot_sizes(x), aot_sizes(tangent))
                                     ? x
                                     : AOT(t, aten_view, x, aot_sizes(tangent));
            b->tangents[b->n_outs++] = tangent;
        }
    }
}

static backward backward_new(aot_tracer *t, unsigned n_outs, unsigned n_in)
{
    aot_arena *a = aot_tracer_arena(t);
    return (backward){AOT_NEW_ARRAY(a, aot_tensor *, n_outs + 1),
                      AOT_NEW_ARRAY(a, aot_tensor *, n_outs + 1),
                      AOT_NEW_ARRAY(a, aot_tensor *, n_in + 1),
                      AOT_NEW_ARRAY(a, aot_tensor *, n_in + 1), 0, 0};
}

static void trace_joint(aot_tracer *t, void *arg)
{
    job *j = arg;
    const aot_fw_metadata *m = &j->found.meta;
    aot_arena *a = aot_tracer_arena(t);
    forward_run r = {0};
    cap_make_inputs(t, &j->plan, &r, true);
    aot_tensor **tangents = AOT_NEW_ARRAY(a, aot_tensor *, m->n_traced_tangents + 1);
    for (int i = 0, n = 0; i < m->n_traced_tangents; i++) {
        unsigned k = (unsigned)n;
        tangents[i] = cap_input(t, "tangents", &k, j->found.tangent_meta[i], false,
                                j->found.tangent_desc[i]);
        n = (int)k;
    }
    const snapshot *before = take_snapshot(t, &r);
    aot_tensor **args = AOT_NEW_ARRAY(a, aot_tensor *, r.n_inputs + 1);
    aot_value *given = AOT_NEW_ARRAY(a, aot_value, r.n_inputs + 1);
    for (unsigned i = 0; i < r.n_inputs; i++) {
        args[i] = fresh_input(t, &m->inputs[i], r.in_tensor[i]);
        given[i] = args[i] != NULL ? aot_v_tensor(args[i]) : r.inputs[i];
    }
    run_forward(t, j, &r, given);
    results out = results_new(t, 2 * r.n_inputs + 2 * r.n_outputs + m->n_intermediate_bases);
    forward_results(t, j, &r, args, true, &out);
    for (unsigned i = 0; i < r.n_inputs; i++) {
        if (args[i] != NULL) {
            aot_trace_sync(t, args[i]);
        }
    }
    sync_inputs(t, &r);
    const snapshot *after = take_snapshot(t, &r);
    backward b = backward_new(t, out.n, r.n_inputs);
    needed_outputs(t, &out, tangents, &b);
    for (unsigned i = 0; i < r.n_inputs; i++) {
        if (aot_requires_grad(r.in_tensor[i])) {
            b.primals[b.n_primals++] = r.in_tensor[i];
        }
    }
    aot_trace_backward(t, b.n_outs, b.outs, b.tangents, b.n_primals, b.primals, b.grads);
    unsigned k = 0, n_forward = out.n;
    for (unsigned i = 0; i < r.n_inputs; i++) {
        bool wants = aot_requires_grad(r.in_tensor[i]);
        aot_tensor *grad = wants ? b.grads[k++] : NULL;
        add_result(&out, aot_v_tensor(grad),
                   wants ? aot_arena_printf(a, "GradAOTOutput(grad_of=%s)", j->plan.inner[i].desc)
                         : "None",
                   false);
    }
    copy_back(t, j, &r, before, after, true);
    out = flattened(t, &out, &n_forward);
    write_outputs(t, j, &r, &out, n_forward, before);
    j->out_desc = out.desc;
}

static void trace_inference(aot_tracer *t, void *arg)
{
    job *j = arg;
    forward_run r = {0};
    cap_make_inputs(t, &j->plan, &r, false);
    const snapshot *before = take_snapshot(t, &r);
    run_forward(t, j, &r, r.inputs);
    results out = results_new(t, r.n_inputs + r.n_outputs);
    forward_results(t, j, &r, r.in_tensor, false, &out);
    sync_inputs(t, &r);
    copy_back(t, j, &r, before, take_snapshot(t, &r), false);
    unsigned n_forward = out.n;
    out = flattened(t, &out, &n_forward);
    write_outputs(t, j, &r, &out, n_forward, before);
    j->out_desc = out.desc;
}

/* ---- layout of the text ---------------------------------------------------------------------- */

static void finish_graphs(aot_capture *out, const job *j, bool joint)
{
    aot_ctx *c = aot_tracer_ctx(out->tracer);
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_graph *g = aot_trace_graph(out->tracer, (aot_level)l);
        g->class_name = aot_intern_z(c->strs, joint                         ? "inner_f"
                                              : j->in->path == AOT_PATH_EXPORT ? "GraphModule"
                                                                               : "<lambda>");
        g->layout.expanded = true;
        g->layout.bindings = g->layout.out_spec = joint;
        if (joint) {
            g->layout.in_args = aot_intern_z(c->strs, "primals, tangents");
            g->layout.flatten_spec = aot_intern_z(c->strs, "[primals, tangents], self._in_spec");
        }
        g->layout.has_out_descs = true;
        const aot_node *o = aot_node_at(g, aot_graph_output(g));
        const aot_arg *list = aot_node_args(g, o);
        if (!joint) {
            g->args.d[o->args].kind = AOT_ARG_TUPLE;
        }
        unsigned tokens = j->plan.token && l >= AOT_LEVEL_FUNCTIONAL ? 1 : 0;
        for (unsigned i = 0; i < list->n; i++) {
            const char *desc = i < tokens ? "ForwardTokenAOTOutput(idx=0)"
                                          : j->out_desc[i - tokens + outputs_from(j, (aot_level)l)];
            aot_vec_push(&g->out_descs, aot_intern_z(c->strs, desc));
        }
        out->graph[l] = g;
    }
}

static aot_capture_path choose(const aot_capture_in *in, const analysis *a, const char **reason)
{
    if (in->path != AOT_PATH_AUTO) {
        *reason = "asked for";
        return in->path;
    }
    if (!a->needs_autograd) {
        *reason = "no input requires grad";
        return AOT_PATH_INFERENCE;
    }
    if (!a->output_requires_grad) {
        *reason =
            "inputs require grad, but no output does and no input that requires grad is mutated";
        return AOT_PATH_INFERENCE;
    }
    *reason = "an input and an output (or a mutated input) require grad";
    return AOT_PATH_AUTOGRAD;
}

/* One forward to look at; what is found is in j->found. */
static aot_status scout_once(job *j, aot_err *err)
{
    aot_trace_options dry = j->in->trace;
    dry.dry = true;
    j->found = (analysis){0};
    aot_tracer *t = aot_tracer_new(j->in->dynamo->ctx, &dry);
    aot_status s = aot_tracer_run(t, analyze, j, err);
    aot_tracer_free(t);
    for (unsigned i = 0; s == AOT_OK && i < j->plan.n_inner; i++) {
        j->found.needs_autograd |= j->plan.inner[i].requires_grad;
    }
    return s;
}

static aot_status scout(job *j, aot_err *err)
{
    AOT_TRY(scout_once(j, err));
    if (j->in->was_inference && !j->no_grad && j->found.needs_autograd &&
        j->found.output_requires_grad) {
        j->no_grad = true;
        return scout_once(j, err);
    }
    return AOT_OK;
}

static void merge_inputs(aot_tracer *t, void *arg)
{
    job *j = arg;
    bool inference = !j->found.needs_autograd || !j->found.output_requires_grad;
    j->merged = cap_plan_bases(t, &j->plan, j->found.meta.inputs, inference);
}

/* What callers are told of the inputs, beside the metadata. */
static void describe_inputs(aot_calling *c, job *j)
{
    aot_arena *a = j->in->dynamo->ctx->arena;
    const input_plan *p = &j->plan;
    aot_fw_metadata *m = &j->found.meta;
    c->outer = AOT_NEW_ARRAY(a, aot_outer_input, p->n_outer + 1);
    c->n_outer = (int)p->n_outer;
    c->n_attrs = (int)p->n_attrs;
    m->static_inputs = AOT_NEW_ARRAY(a, int, p->n_outer + 1);
    for (unsigned i = 0; i < p->n_outer; i++) {
        const outer_input *x = &p->outer[i];
        c->outer[i] = (aot_outer_input){.name = aot_text(j->in->dynamo->ctx, x->name),
                                        .inner = (int)x->inner,
                                        .same_as = x->same_as,
                                        .is_tensor = x->type->val == AOT_VAL_TENSOR,
                                        .requires_grad = x->known->requires_grad,
                                        .duplicate = x->duplicate,
                                        .is_view = x->is_view};
        if ((x->known->is_static || i < p->n_attrs) && !p->rewritten) {
            m->static_inputs[m->n_static_inputs++] = (int)i;
        }
    }
    m->grad_mode_unknown = !j->found.needs_autograd && !j->no_grad;
    c->meta = *m;
}

static aot_status capture(aot_capture *out, job *j, aot_err *err)
{
    out->tracer = aot_tracer_new(j->in->dynamo->ctx, &j->in->trace);
    j->arena = aot_tracer_arena(out->tracer);
    bool export = j->in->path == AOT_PATH_EXPORT;
    cap_plan_identity(&j->plan, j->in, j->arena);
    if (export) {
        cap_plan_export(&j->plan, j->in, j->arena);
    }
    AOT_TRY(scout(j, err));
    if (!export && cap_plan_dedupe(&j->plan, j->found.meta.inputs, j->arena)) {
        out->calling.deduped = true;
        AOT_TRY(scout(j, err));
    }
    // twins and overlaps together are refused by neither
    if (!export && j->plan.n_inner == j->plan.n_outer) {
        AOT_TRY(aot_tracer_run(out->tracer, merge_inputs, j, err));
    }
    if (j->merged) {
        out->calling.synthetic_base = true;
        AOT_TRY(scout(j, err));
    }
    out->calling.path = choose(j->in, &j->found, &out->calling.path_reason);
    bool joint = out->calling.path == AOT_PATH_AUTOGRAD;
    j->found.meta.is_train = joint;
    AOT_TRY(aot_tracer_run(out->tracer, joint ? trace_joint : trace_inference, j, err));
    finish_graphs(out, j, joint);
    describe_inputs(&out->calling, j);
    return AOT_OK;
}

aot_status aot_capture_run(aot_capture *out, const aot_capture_in *in, aot_err *err)
{
    *out = (aot_capture){0};
    job j = {.in = in};
    aot_status s = capture(out, &j, err);
    if (s != AOT_OK) {
        aot_capture_free(out);
    }
    return s;
}

void aot_capture_free(aot_capture *c)
{
    aot_tracer_free(c->tracer);
    c->tracer = NULL;
}
