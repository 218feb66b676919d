/* Where the values of the user's program are among those of the graph: a tensor subclass takes a
 * place for each of its inner tensors, and for each symbolic size of its own.
 * Mirrors: torch/_functorch/_aot_autograd/subclass_utils.py:create_subclass_meta. */
#include "base/vec.h"
#include "capture/internal.h"

/* NULL for what is no tensor. */
typedef AOT_VEC(const aot_tensor *) tensors;

static int n_symbols(const aot_tensor *x)
{
    const aot_fake *f = aot_type_of(x);
    int n = 0;
    for (unsigned d = 0; d < f->ndim; d++) {
        n += (f->size[d].expr != 0) + (f->stride[d].expr != 0);
    }
    return n;
}

static aot_value_places slots_of(const tensors *v, bool count_symbols, aot_arena *arena, bool *any)
{
    aot_value_places s = {AOT_NEW_ARRAY(arena, aot_value_place, v->n + 1), (int)v->n};
    int at = 0;
    for (size_t i = 0; i < v->n; i++) {
        unsigned n_parts = 0;
        if (v->d[i] != NULL) {
            aot_trace_parts(v->d[i], &n_parts);
        }
        int n = n_parts == 0 ? 0 : (int)n_parts + (count_symbols ? n_symbols(v->d[i]) : 0);
        s.of[i] = (aot_value_place){at, n};
        at += n == 0 ? 1 : n;
        *any |= n != 0;
    }
    return s;
}

static const aot_tensor *tensor_of(aot_value v)
{
    return v.kind == AOT_V_TENSOR ? v.u.t : NULL;
}

/* What the forward returns beside the outputs depends on whether it is compiled for training. */
static aot_value_places returned(const forward_run *r, const aot_fw_metadata *m,
                                 aot_tensor *const *bases, unsigned n_bases, bool train,
                                 aot_arena *arena, bool *any)
{
    tensors v = {0};
    for (unsigned i = 0; i < r->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (train || !m->keep_input_mutations ? x->mutation == AOT_MUTATED_OUT_GRAPH
                                              : x->mutates_metadata) {
            aot_vec_push(&v, r->in_tensor[i]);
        }
    }
    for (unsigned i = 0; i < r->n_outputs; i++) {
        aot_vec_push(&v, tensor_of(r->outputs[i]));
    }
    for (unsigned i = 0; train && i < n_bases; i++) {
        aot_vec_push(&v, bases[i]);
    }
    aot_value_places s = slots_of(&v, true, arena, any);
    aot_vec_free(&v);
    return s;
}

static aot_value_places inputs_of(const forward_run *r, aot_arena *arena, bool *any)
{
    tensors v = {0};
    for (unsigned i = 0; i < r->n_inputs; i++) {
        aot_vec_push(&v, r->in_tensor[i]);
    }
    aot_value_places s = slots_of(&v, true, arena, any);
    aot_vec_free(&v);
    return s;
}

static aot_value_places tangents_of(const forward_run *r, const aot_fw_metadata *m,
                             aot_tensor *const *bases, unsigned n_bases, aot_arena *arena)
{
    tensors v = {0};
    bool any = false;
    for (unsigned i = 0; i < r->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        if (x->mutation == AOT_MUTATED_OUT_GRAPH && x->mutates_data && x->requires_grad) {
            aot_vec_push(&v, NULL); // plain, whatever the input is
        }
    }
    for (unsigned i = 0; i < r->n_outputs; i++) {
        if (cap_takes_tangent(&m->outputs[i])) {
            aot_vec_push(&v, tensor_of(r->outputs[i]));
        }
    }
    for (unsigned i = 0; i < n_bases; i++) {
        aot_vec_push(&v, bases[i]);
    }
    aot_value_places s = slots_of(&v, false, arena, &any);
    aot_vec_free(&v);
    return s;
}

/* Where duplicates were dropped or views merged: PyTorch numbers the tangents of mutated inputs 0
 * each and leaves the others at the places that they had. */
static void renumber(aot_value_places *s, const aot_fw_metadata *m, int n_outer_mutated)
{
    int n_mutated = 0;
    for (int i = 0; i < m->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        n_mutated += x->mutation == AOT_MUTATED_OUT_GRAPH && x->mutates_data && x->requires_grad;
    }
    int gone = n_outer_mutated > n_mutated ? n_outer_mutated - n_mutated : 0;
    for (int i = 0; i < s->n; i++) {
        s->of[i].start = i < n_mutated ? 0 : s->of[i].start + gone;
    }
}

void cap_find_slots(const input_plan *p, const forward_run *r, aot_arena *arena,
                    aot_tensor *const *bases, unsigned n_bases, analysis *a)
{
    aot_fw_metadata *m = &a->meta;
    bool train = false, any = false;
    for (unsigned i = 0; i < p->n_inner; i++) {
        train |= p->inner[i].requires_grad;
    }
    m->subclass_in = inputs_of(r, arena, &any);
    m->subclass_out = returned(r, m, bases, n_bases, train, arena, &any);
    m->subclass_tangent = tangents_of(r, m, bases, n_bases, arena);
    if (any && train && !a->output_requires_grad) { // analyzed again, for inference
        m->subclass_out = returned(r, m, bases, n_bases, false, arena, &any);
    }
    if (p->rewritten) {
        m->subclass_in = m->subclass_out = (aot_value_places){NULL, 0};
        renumber(&m->subclass_tangent, m, p->n_outer_mutated);
    }
}
