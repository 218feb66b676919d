/* Inputs that alias each other in another way than the unit was compiled for. What comes out is
 * compared with the unit traced again for these inputs, which is what a guard would have led to. */
#include <stdlib.h>

#include "exec/clones.h"
#include "session/misuse_internal.h"
#include "session/run_values_internal.h"

enum { NEW_ID = 1 << 24 }; // of tensors and storages that the log does not know

/* What is changed of what is known of the inputs. */
typedef struct change {
    const aot_runnable *r;
    int a, b;           /* inputs of the user's function; b is changed */
    aot_capture_input to_a, to_b;
} change;

static void apply(void *arg, aot_capture_input *inputs)
{
    const change *c = arg;
    inputs[c->r->nodes[c->a]] = c->to_a;
    inputs[c->r->nodes[c->b]] = c->to_b;
}

static const aot_outer_input *outer_of(const misuse *m, int i)
{
    return &m->in->r->capture.calling.outer[i];
}

static bool is_mutated(const misuse *m, int i)
{
    return m->in->r->capture.calling.meta.inputs[outer_of(m, i)->inner].mutates_data;
}

static bool is_alone(const misuse *m, int i)
{
    const aot_capture_input *k = m->in->r->known[i];
    return k != NULL && m->in->outer[i].kind == AOT_X_ARRAY && !outer_of(m, i)->is_view &&
           !outer_of(m, i)->duplicate && outer_of(m, i)->same_as < 0;
}

static bool same_type(const aot_array *a, const aot_array *b)
{
    bool same = a->dtype == b->dtype && a->ndim == b->ndim;
    for (unsigned i = 0; same && i < a->ndim; i++) {
        same = a->size[i] == b->size[i] && (a->size[i] == 1 || a->stride[i] == b->stride[i]);
    }
    return same;
}

/* Two inputs with memory of their own that could be one, or overlap; one of them mutated if there
 * are such. */
static bool find_pair(const misuse *m, bool whole, change *c)
{
    const aot_xval *v = m->in->outer;
    for (int mutated = 1; mutated >= 0; mutated--) {
        for (int b = 1; b < (int)m->n_outer; b++) {
            for (int a = 0; a < b && is_alone(m, b); a++) {
                bool fits =
                    is_alone(m, a) &&
                    m->in->r->known[a]->requires_grad == m->in->r->known[b]->requires_grad &&
                    (whole ? same_type(v[a].u.array, v[b].u.array)
                           : v[a].u.array->dtype == v[b].u.array->dtype) &&
                    aot_array_numel(v[b].u.array) > 0 &&
                    (!mutated || is_mutated(m, a) || is_mutated(m, b));
                if (fits) {
                    *c = (change){m->in->r, a, b, *m->in->r->known[a], *m->in->r->known[b]};
                    return true;
                }
            }
        }
    }
    return false;
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Each with memory of its own, then shared as `again` knows them. */
static aot_xval *given_to(const misuse *m, const aot_runnable *again)
{
    aot_xval *outer = aot_xcalloc(m->n_outer + 1u, sizeof *outer);
    for (unsigned i = 0; i < m->n_outer; i++) {
        aot_xval *one = aot_clone_values(&m->in->outer[i], 1, false);
        outer[i] = one[0];
        free(one);
    }
    rv_share_memory(again, outer);
    return outer;
}

static aot_status run_again(misuse *m, const aot_runnable *again, aot_xval *outer, aot_xval **out,
                            unsigned *n)
{
    const aot_verify_in in = {.calling = &again->capture.calling,
                              .aten = again->capture.graph[AOT_LEVEL_ATEN],
                              .joint = again->joint,
                              .names = again->sources,
                              .seed = m->in->seed};
    verify v = {.in = &in, .out = m->v.out, .x = m->v.x};
    return vf_run_graph(&v, m->v.x, false, outer, NULL, out, n, m->err);
}

static void compare(misuse *m, const aot_run_out *got, const aot_xval *outer,
                    const aot_xval *outputs, unsigned n, const aot_xval *expected)
{
    for (unsigned i = 0; i < got->n_outputs && i < n; i++) {
        m->v.out->n_outputs++;
        misuse_compare(m, AOT_VERIFY_OUTPUT, vf_text(&m->v, "output %u", i), &got->outputs[i],
                       &outputs[i]);
    }
    for (unsigned i = 0; i < m->n_outer; i++) {
        misuse_compare(m, AOT_VERIFY_MUTATION, m->in->r->sources[i], &outer[i], &expected[i]);
    }
}

static aot_status run_changed(misuse *m, change *c)
{
    aot_runnable again = {0};
    aot_run_out out = {0};
    aot_xval *outer = NULL, *expected = NULL, *outputs = NULL;
    aot_err own = {0};
    unsigned n = 0;
    aot_status s =
        aot_runnable_make_as(&again, m->in->unit, m->in->dynamo, m->in->config, apply, c, m->err);
    if (s == AOT_OK) {
        outer = given_to(m, &again);
        expected = aot_clone_values(outer, m->n_outer, false);
        aot_run_in in = misuse_call(m, outer);
        aot_generator_seed(aot_exec_generator(m->v.x), m->in->seed);
        s = misuse_caught(m, aot_run_unit(&out, m->v.x, &in, &own), &own);
    }
    if (s == AOT_OK && m->v.out->findings.n == 0) {
        s = run_again(m, &again, expected, &outputs, &n);
        compare(m, &out, outer, outputs, s == AOT_OK ? n : 0, s == AOT_OK ? expected : outer);
    }
    aot_run_free(&out);
    aot_free_values(outputs, n);
    aot_free_values(outer, m->n_outer);
    aot_free_values(expected, m->n_outer);
    aot_runnable_free(&again);
    return s;
}

static const char *name_of(const misuse *m, int i)
{
    return m->in->r->sources[i];
}

/* ---- the changes ----------------------------------------------------------------------------- */

aot_status misuse_SAME_TENSOR(misuse *m)
{
    change c;
    if (!find_pair(m, true, &c)) {
        return misuse_nothing(m, "no two tensors of one type that could be one");
    }
    c.to_a.tensor = c.to_a.storage = NEW_ID;
    c.to_b = c.to_a;
    vf_note(&m->v, "%s is given the tensor of %s", name_of(m, c.b), name_of(m, c.a));
    return run_changed(m, &c);
}

aot_status misuse_OVERLAP(misuse *m)
{
    change c;
    if (!find_pair(m, false, &c)) {
        return misuse_nothing(m, "no two tensors of one dtype that could overlap");
    }
    const aot_array *a = m->in->outer[c.a].u.array, *b = m->in->outer[c.b].u.array;
    int64_t extent_a = aot_extent(a->ndim, a->size, a->stride),
            extent_b = aot_extent(b->ndim, b->size, b->stride);
    int64_t shift = extent_a / 2, all = extent_a > shift + extent_b ? extent_a : shift + extent_b;
    c.to_a.storage = c.to_b.storage = NEW_ID;
    c.to_a.base = c.to_b.base = 0; // none that autograd knows
    c.to_a.storage_bytes = c.to_b.storage_bytes = all * aot_array_item_bytes(a);
    c.to_a.tensor = NEW_ID;
    c.to_b.tensor = NEW_ID + 1;
    c.to_a.offset = 0;
    c.to_b.offset = shift;
    vf_note(&m->v, "%s starts at element %lld of the memory of %s", name_of(m, c.b),
            (long long)shift, name_of(m, c.a));
    return run_changed(m, &c);
}

aot_status misuse_TWO_TENSORS(misuse *m)
{
    for (int i = 0; i < (int)m->n_outer; i++) {
        int k = outer_of(m, i)->same_as;
        if (k < 0 || m->in->r->known[i] == NULL) {
            continue;
        }
        change c = {m->in->r, k, i, *m->in->r->known[k], *m->in->r->known[i]};
        c.to_b.tensor = c.to_b.storage = NEW_ID;
        vf_note(&m->v, "%s is given a copy of %s, the tensor that it was", name_of(m, i),
                name_of(m, k));
        return run_changed(m, &c);
    }
    return misuse_nothing(
        m, "no input that is the same tensor as another (Dynamo makes one input of duplicates)");
}

/* A view that is not the first of its base, and the first. */
static bool find_view(const misuse *m, change *c)
{
    for (int b = 1; b < (int)m->n_outer; b++) {
        for (int a = 0; a < b && outer_of(m, b)->is_view && m->in->r->known[b] != NULL; a++) {
            if (outer_of(m, a)->is_view && outer_of(m, a)->inner == outer_of(m, b)->inner &&
                m->in->r->known[a] != NULL) {
                *c = (change){m->in->r, a, b, *m->in->r->known[a], *m->in->r->known[b]};
                return true;
            }
        }
    }
    return false;
}

aot_status misuse_APART(misuse *m)
{
    change c;
    if (!find_view(m, &c)) {
        return misuse_nothing(m, "no inputs that were merged into a base");
    }
    c.to_b.storage = -1;
    c.to_b.tensor = NEW_ID;
    c.to_b.is_view = false;
    c.to_b.base = 0;
    vf_note(&m->v, "%s is given memory of its own, no longer that of %s", name_of(m, c.b),
            name_of(m, c.a));
    return run_changed(m, &c);
}

aot_status misuse_OTHER_VIEWS(misuse *m)
{
    change c;
    if (!find_view(m, &c)) {
        return misuse_nothing(m, "no inputs that were merged into a base");
    }
    const aot_array *b = m->in->outer[c.b].u.array;
    int64_t extent = aot_extent(b->ndim, b->size, b->stride),
            room = b->storage->bytes / aot_array_item_bytes(b);
    int64_t offset = c.to_b.offset > 0 ? c.to_b.offset - 1 : c.to_b.offset + 1;
    if (offset + extent > room) {
        return misuse_nothing(m, "no place in the base for another view");
    }
    vf_note(&m->v, "%s starts at element %lld of the base, not at %lld", name_of(m, c.b),
            (long long)offset, (long long)c.to_b.offset);
    c.to_b.offset = offset;
    return run_changed(m, &c);
}
