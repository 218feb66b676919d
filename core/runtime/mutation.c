/* Mutated inputs and aliased outputs, read from the metadata of a call. */
#include "runtime/mutation.h"

#include "runtime/internal.h"

bool aot_copies_back_detached(const aot_calling *c, int input)
{
    const aot_input_info *x = &c->meta.inputs[input];
    bool came = c->outer == NULL && x->requires_grad;
    for (int i = 0; c->outer != NULL && i < c->n_outer; i++) {
        came |= c->outer[i].inner == input && c->outer[i].requires_grad;
    }
    return x->is_leaf && came;
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

static const char *condition_of(const aot_input_info *x)
{
#define MUTATION(place, condition, sentence)                                                       \
    if (x->mutation == AOT_MUTATED_##place && (condition)) {                                       \
        return sentence;                                                                           \
    }
#include "runtime/mutation.def"
#undef MUTATION
    return "";
}

static const char *what_of(const aot_input_info *x)
{
    bool all = x->mutates_data && x->mutates_metadata;
    return x->mutates_storage_metadata           ? "its storage"
           : x->mutation_inductor_storage_resize ? "the size of its storage"
           : all                                 ? "its elements, and its sizes, strides or offset"
           : x->mutates_metadata                 ? "its sizes, strides or offset"
                                                 : "its elements";
}

static const char *how_of(const aot_input_info *x, bool detached, int output, aot_arena *a)
{
    if (x->mutation == AOT_MUTATED_IN_GRAPH) {
        return x->mutates_storage_metadata           ? "set_ in the graph"
               : x->mutation_inductor_storage_resize ? "resize_storage_bytes_ in the graph"
                                                     : "copy_ at the end of the graph";
    }
    const char *by = x->mutates_storage_metadata               ? "given its storage (set_)"
                     : x->mutates_metadata && !x->mutates_data ? "given its sizes (as_strided_)"
                     : x->mutates_metadata && detached
                         ? "given its sizes (as_strided_), then it is copied back, detached"
                     : x->mutates_metadata ? "given its sizes (as_strided_), then it is copied back"
                     : detached            ? "copied back, detached"
                                           : "copied back";
    return aot_arena_printf(a, "output %d of the graph, %s by RuntimeWrapper", output, by);
}

static void mutated_inputs(aot_mutations *out, const aot_runtime *r)
{
    const aot_fw_metadata *m = &r->calling->meta;
    int returned = 0;
    out->inputs = AOT_NEW_ARRAY(r->arena, aot_mutated_input, (size_t)m->n_inputs + 1);
    for (int i = 0; i < m->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (x->mutation != AOT_NOT_MUTATED) {
            int output = x->mutation == AOT_MUTATED_OUT_GRAPH ? returned++ : -1;
            out->inputs[out->n_inputs++] = (aot_mutated_input){
                .input = i,
                .name = rt_input(r, i),
                .what = what_of(x),
                .where = x->mutation,
                .condition = condition_of(x),
                .how = how_of(x, aot_copies_back_detached(r->calling, i), output, r->arena),
                .output = output};
        }
    }
}

static void shared_inputs(aot_mutations *out, const aot_runtime *r)
{
    const aot_calling *c = r->calling;
    int n = c->outer != NULL ? c->n_outer : 0;
    out->shared = AOT_NEW_ARRAY(r->arena, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        const aot_outer_input *x = &c->outer[i];
        if (x->same_as >= 0) {
            out->shared[out->n_shared++] = aot_arena_printf(
                r->arena, "%s is the same tensor as %s%s", rt_outer(r, i), rt_outer(r, x->same_as),
                x->duplicate ? ": passed once (AOTDedupeWrapper)"
                             : ": neither is mutated, the graph takes both");
        } else if (x->is_view) {
            out->shared[out->n_shared++] = aot_arena_printf(
                r->arena, "%s is made in the graph as a view of input %d, the synthetic base",
                rt_outer(r, i), x->inner);
        }
    }
}

/* ---- outputs ----------------------------------------------------------------------------------
 */

static const char *base_of(const aot_runtime *r, const aot_output_info *o)
{
    const aot_fw_metadata *m = &r->calling->meta;
    switch (o->type) {
    case AOT_OUT_IS_INPUT:
    case AOT_OUT_ALIAS_OF_INPUT:
        return rt_input(r, o->base_idx);
    case AOT_OUT_ALIAS_OF_INTERMEDIATE:
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT:
        return aot_arena_printf(r->arena, "base %d of intermediates, output %d of the graph",
                                o->base_idx, m->n_mutated_returned + m->n_outputs + o->base_idx);
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT:
        return aot_arena_printf(r->arena, "output %d", o->base_idx);
    default:
        return "an intermediate that nothing else returns";
    }
}

static const char *way_of(const aot_output_info *o)
{
    return o->type == AOT_OUT_IS_INPUT ? "the input itself is returned"
           : !aot_output_is_aliased(o) ? "returned as it is, by _unsafe_view"
           : o->replays_views          ? "made again outside of the graph by its views"
                                       : "made again outside of the graph by as_strided";
}

static void aliased_outputs(aot_mutations *out, const aot_runtime *r)
{
    const aot_fw_metadata *m = &r->calling->meta;
    out->outputs = AOT_NEW_ARRAY(r->arena, aot_aliased_output, (size_t)m->n_outputs + 1);
    for (int i = 0; i < m->n_outputs; i++) {
        const aot_output_info *o = &m->outputs[i];
        if (aot_output_is_aliased(o) || o->type == AOT_OUT_UNSAFE_VIEW_ALIAS) {
            out->outputs[out->n_outputs++] =
                (aot_aliased_output){.output = i,
                                     .type = aot_output_type_name(o->type),
                                     .base = base_of(r, o),
                                     .how = way_of(o)};
        }
    }
}

void aot_mutations_of(aot_mutations *out, const aot_runtime *r)
{
    *out = (aot_mutations){0};
    mutated_inputs(out, r);
    shared_inputs(out, r);
    aliased_outputs(out, r);
}
