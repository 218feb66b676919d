/* What a forward mutates, and what its outputs alias. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/internal.h"
#include "rules/meta_shared.h"

/* ---- inputs --------------------------------------------------------------------------------- */

static aot_input_info input_info(const aot_capture_in *in, const inner_input *known,
                                 const aot_tensor *x)
{
    aot_input_info info = {.is_leaf = known->is_leaf,
                           .keep_input_mutations = in->keep_inference_input_mutations,
                           .mutations_hidden_from_autograd = true};
    if (x == NULL) {
        info.is_leaf = info.mutations_hidden_from_autograd = false;
        return info;
    }
    unsigned n = aot_trace_mutations(x);
    info.mutates_data = n != 0;
    info.mutates_metadata = aot_trace_metadata_mutated(x);
    info.mutations_hidden_from_autograd = n == 0;
    info.mutations_under_no_grad_or_inference_mode = n != 0 && aot_trace_mutations_no_grad(x) == n;
    info.requires_grad = aot_requires_grad(x);
    info.mutation = aot_input_mutation(&info);
    return info;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static aot_tensor *tensor_of(aot_value v)
{
    return v.kind == AOT_V_TENSOR ? v.u.t : NULL;
}

/* How many outputs share the storage of output i, and how many of these come from one view call
 * with several results. */
static void count_aliases(const forward_run *r, const aot_tensor *x, unsigned *n, unsigned *multi)
{
    *n = *multi = 0;
    for (unsigned i = 0; i < r->n_outputs; i++) {
        const aot_tensor *o = tensor_of(r->outputs[i]);
        if (o != NULL && aot_trace_storage(o) == aot_trace_storage(x)) {
            ++*n;
            *multi += aot_trace_is_multi_view(o);
        }
    }
}

static int input_with_storage(const forward_run *r, const aot_tensor *x)
{
    for (unsigned i = r->n_inputs; i-- > 0;) {
        if (r->in_tensor[i] != NULL &&
            aot_trace_storage(r->in_tensor[i]) == aot_trace_storage(x)) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_input(const forward_run *r, const aot_tensor *x)
{
    for (unsigned i = 0; i < r->n_inputs; i++) {
        if (r->in_tensor[i] == x) {
            return true;
        }
    }
    return false;
}

static int output_that_is(const forward_run *r, const aot_tensor *x)
{
    for (unsigned i = r->n_outputs; x != NULL && i-- > 0;) {
        if (tensor_of(r->outputs[i]) == x) {
            return (int)i;
        }
    }
    return -1;
}

static bool same_type(const aot_tensor *a, const aot_tensor *b)
{
    const aot_fake *x = aot_type_of(a), *y = aot_type_of(b);
    bool same = x->ndim == y->ndim;
    for (unsigned i = 0; same && i < x->ndim; i++) {
        same = aot_dim_same(x->size[i], y->size[i]) && aot_dim_same(x->stride[i], y->stride[i]);
    }
    return same;
}

/* Another output of the same memory and layout that requires grad: (out, out.detach()). */
static int twin_with_grad(const forward_run *r, const aot_tensor *x)
{
    for (unsigned i = 0; i < r->n_outputs; i++) {
        const aot_tensor *o = tensor_of(r->outputs[i]);
        if (o != NULL && o != x && aot_trace_storage(o) == aot_trace_storage(x) &&
            aot_requires_grad(o) && same_type(o, x)) {
            return (int)i;
        }
    }
    return -1;
}

typedef struct bases {
    AOT_VEC(aot_tensor *) of;
    AOT_VEC(unsigned) output; /* for which it was saved */
} bases;

static int base_index(const bases *b, const aot_tensor *x)
{
    for (size_t i = 0; i < b->of.n; i++) {
        if (b->of.d[i] == x) {
            return (int)i;
        }
    }
    return -1;
}

static uint64_t dynamic_dims(const aot_tensor *x)
{
    const aot_fake *f = aot_type_of(x);
    uint64_t dims = 0;
    for (unsigned d = 0; d < f->ndim && d < 64; d++) {
        dims |= f->size[d].expr != 0 ? (uint64_t)1 << d : 0;
    }
    return dims;
}

/* Whether the wrapper has the views to make the output again from its base. */
static bool replays_views(const aot_tensor *x, const aot_output_info *o, const aot_fw_metadata *m)
{
    unsigned n_parts;
    aot_trace_parts(x, &n_parts);
    bool of_input = o->type == AOT_OUT_ALIAS_OF_INPUT && !m->inputs[o->base_idx].mutates_metadata;
    return n_parts == 0 &&
           (of_input || (aot_output_is_aliased(o) && o->type != AOT_OUT_IS_INPUT &&
                         o->type != AOT_OUT_ALIAS_OF_INPUT));
}

/* How output i relates to inputs and other outputs. */
static aot_output_info output_alias(aot_tracer *t, const forward_run *r, unsigned i, bases *b)
{
    aot_tensor *x = tensor_of(r->outputs[i]);
    aot_output_info info = {.type = AOT_OUT_NON_ALIAS,
                            .base_idx = -1,
                            .requires_grad = aot_requires_grad(x),
                            .is_tensor = x != NULL};
    if (x == NULL) {
        return info;
    }
    unsigned n, multi;
    count_aliases(r, x, &n, &multi);
    bool has_fn = aot_trace_has_grad_fn(t, x);
    info.requires_grad = aot_requires_grad(x);
    int input = input_with_storage(r, x);
    aot_tensor *base = aot_trace_view_base(x);
    if (input >= 0) {
        info.base_idx = input;
        info.type = has_fn && n == multi ? AOT_OUT_NON_ALIAS
                    : is_input(r, x)     ? AOT_OUT_IS_INPUT
                                         : AOT_OUT_ALIAS_OF_INPUT;
        return info;
    }
    if (base != NULL && aot_requires_grad(x) && aot_requires_grad(base)) {
        if (n == 1 || n - multi <= 1) {
            info.type = AOT_OUT_UNSAFE_VIEW_ALIAS;
            return info;
        }
        int existing = output_that_is(r, base);
        if (existing >= 0) {
            info.type = AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT;
            info.base_idx = existing;
            return info;
        }
        info.base_idx = base_index(b, base);
        info.type = AOT_OUT_ALIAS_OF_INTERMEDIATE;
        if (info.base_idx < 0) {
            info.type = AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT;
            info.base_idx = (int)b->of.n;
            aot_vec_push(&b->of, base);
            aot_vec_push(&b->output, i);
        }
        return info;
    }
    int twin = n > 1 && !aot_requires_grad(x) ? twin_with_grad(r, x) : -1;
    if (twin >= 0) {
        info.type = AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT;
        info.base_idx = output_that_is(r, tensor_of(r->outputs[twin]));
    }
    return info;
}

static aot_output_info output_info(aot_tracer *t, const forward_run *r, unsigned i, bases *b,
                                   const aot_fw_metadata *m)
{
    aot_output_info o = output_alias(t, r, i, b);
    const aot_tensor *x = tensor_of(r->outputs[i]);
    if (x != NULL) {
        o.dynamic_dims = dynamic_dims(x);
        o.replays_views = replays_views(x, &o, m);
    }
    return o;
}

/* ---- tangents -------------------------------------------------------------------------------- */

typedef struct tangents {
    aot_meta_id *meta;
    const char **desc;
    aot_tangent_info *info;
    unsigned n;
} tangents;

/* As PyTorch guesses it: the output's sizes in the memory format that its strides suggest. */
static aot_meta_id tangent_type(aot_tracer *t, const aot_tensor *x, bool plain_tensor)
{
    aot_fake f = *aot_type_of(x);
    aot_ctx *c = aot_tracer_ctx(t);
    aot_memory_format want = aot_fake_suggest(&f);
    bool has =
        want == AOT_MF_CONTIGUOUS ? aot_fake_is_contiguous(&f) : aot_fake_is_format(&f, want);
    /* What has the format keeps its strides; those of empty tensors are made anew. */
    if (!has || aot_dim_is(aot_fake_numel(c, &f), 0)) {
        aot_fake_set_format(c, &f, want);
    }
    aot_meta_id plain = aot_fake_meta(c, &f);
    aot_str wrapper = aot_meta_get(c, aot_trace_meta(x))->wrapper;
    if (wrapper == 0 || plain_tensor) {
        return plain;
    }
    aot_sb text = {0};
    aot_sb_addf(&text, "%s(%s)", aot_text(c, wrapper), aot_text(c, aot_meta_get(c, plain)->text));
    aot_meta_id m = aot_ctx_meta(c, text.d, text.n);
    aot_sb_free(&text);
    return m;
}

/* "(8, s77)", as Python writes sizes. */
static const char *sizes_text(aot_tracer *t, aot_arena *a, const aot_tensor *x)
{
    const aot_fake *f = aot_type_of(x);
    aot_sb b = {0};
    for (unsigned d = 0; d < f->ndim; d++) {
        aot_sb_addz(&b, d > 0 ? ", " : "");
        if (f->size[d].expr != 0) {
            aot_sb_addz(&b, aot_text(aot_tracer_ctx(t), f->size[d].expr));
        } else {
            aot_sb_addf(&b, "%lld", (long long)f->size[d].value);
        }
    }
    const char *text = aot_arena_printf(a, f->ndim == 1 ? "(%s,)" : "(%s)", aot_sb_text(&b));
    aot_sb_free(&b);
    return text;
}

/* PyTorch expects zeros for a mutated input, which are a plain tensor even where the input is of a
 * subclass. */
static void add_tangent(aot_tracer *t, aot_arena *a, tangents *to, const aot_tensor *x,
                        const char *of, bool of_mutation)
{
    to->info[to->n].size = sizes_text(t, a, x);
    to->info[to->n].desc = aot_arena_printf(a, "TangentAOTInput(output=%s)", of);
    to->meta[to->n] = tangent_type(t, x, of_mutation);
    to->desc[to->n++] = aot_arena_printf(a, "TangentAOTInput(output=%s)", of);
}

bool cap_takes_tangent(const aot_output_info *o)
{
    return o->is_tensor && o->requires_grad &&
           (o->type == AOT_OUT_NON_ALIAS || o->type == AOT_OUT_UNSAFE_VIEW_ALIAS ||
            o->type == AOT_OUT_CUSTOM_FUNCTION_VIEW);
}

static void find_tangents(aot_tracer *t, const input_plan *p, const forward_run *r,
                          aot_arena *arena, const bases *b, analysis *a)
{
    size_t most = (size_t)r->n_inputs + r->n_outputs + b->of.n + 1;
    tangents to = {AOT_NEW_ARRAY(arena, aot_meta_id, most),
                   AOT_NEW_ARRAY(arena, const char *, most),
                   AOT_NEW_ARRAY(arena, aot_tangent_info, most), 0};
    for (unsigned i = 0; i < r->n_inputs; i++) {
        const aot_input_info *info = &a->meta.inputs[i];
        if (info->mutation == AOT_MUTATED_OUT_GRAPH && info->mutates_data && info->requires_grad) {
            add_tangent(t, arena, &to, r->in_tensor[i],
                        aot_arena_printf(
                            arena, "InputMutationAOTOutput(mutated_input=%s)",
                            p->inner[i].desc),
                        true);
        }
    }
    for (unsigned i = 0; i < r->n_outputs; i++) {
        if (cap_takes_tangent(&a->meta.outputs[i])) {
            add_tangent(t, arena, &to, tensor_of(r->outputs[i]),
                        aot_arena_printf(arena, "PlainAOTOutput(idx=%u)", i), false);
        }
    }
    for (size_t i = 0; i < b->of.n; i++) {
        add_tangent(t, arena, &to, b->of.d[i],
                    aot_arena_printf(arena,
                                     "IntermediateBaseAOTOutput(base_of=PlainAOTOutput(idx=%u))",
                                     b->output.d[i]),
                    false);
    }
    a->tangent_meta = to.meta;
    a->tangent_desc = to.desc;
    a->meta.tangents = to.info;
    a->meta.n_traced_tangents = (int)to.n;
}

void cap_analyze(aot_tracer *t, const aot_capture_in *in, const input_plan *p,
                 const forward_run *r, bool grad_before, aot_arena *arena, analysis *a)
{
    bases b = {0};
    aot_fw_metadata *m = &a->meta;
    m->keep_input_mutations = in->keep_inference_input_mutations;
    m->n_inputs = r->n_inputs;
    m->n_outputs = r->n_outputs;
    m->inputs = AOT_NEW_ARRAY(arena, aot_input_info, r->n_inputs + 1);
    m->outputs = AOT_NEW_ARRAY(arena, aot_output_info, r->n_outputs + 1);
    for (unsigned i = 0; i < r->n_inputs; i++) {
        m->inputs[i] = input_info(in, &p->inner[i], r->in_tensor[i]);
        m->n_mutated_returned += m->inputs[i].mutation == AOT_MUTATED_OUT_GRAPH;
        a->output_requires_grad |= m->inputs[i].requires_grad && m->inputs[i].mutates_data &&
                                   !m->inputs[i].mutations_under_no_grad_or_inference_mode &&
                                   !m->inputs[i].mutations_hidden_from_autograd;
    }
    for (unsigned i = 0; i < r->n_outputs; i++) {
        aot_output_info o = output_info(t, r, i, &b, m);
        m->outputs[i] = o;
        bool of_input = o.type == AOT_OUT_ALIAS_OF_INPUT || o.type == AOT_OUT_IS_INPUT;
        a->output_requires_grad |=
            o.requires_grad && !(of_input && m->inputs[o.base_idx].requires_grad);
    }
    m->n_intermediate_bases = (int)b.of.n;
    m->grad_enabled_mutation =
        aot_grad_enabled(t) == grad_before || p->rewritten ? -1 : (int)aot_grad_enabled(t);
    m->deterministic = m->n_symints_saved = m->n_saved_no_vc = m->n_opaque_saved = -1;
    m->n_donated = m->graphsafe_rng_index = -1;
    m->absent = (uint64_t)1 << AOT_META_deterministic; // a mode outside of the graph
    m->n_tokens = aot_trace_token(t) != NULL && !p->rewritten;
    m->n_forward_returns = m->n_mutated_returned + m->n_outputs + m->n_intermediate_bases;
    find_tangents(t, p, r, arena, &b, a);
    cap_find_slots(p, r, arena, b.of.d, (unsigned)b.of.n, a);
    aot_vec_free(&b.of);
    aot_vec_free(&b.output);
}
