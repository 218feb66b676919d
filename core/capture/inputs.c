/* The calling convention: which inputs the graph has for those of the user's function. The very
 * same tensor given twice is one input; inputs that overlap in memory and are written come from one
 * synthetic base.
 * Mirrors torch/_functorch/_aot_autograd/runtime_wrappers.py:AOTDedupeWrapper,
 * AOTSyntheticBaseWrapper and merge_view_inputs,
 * torch/_functorch/_aot_autograd/input_output_analysis.py:compute_overlapping_tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/internal.h"

static const aot_fake *fake_of(aot_arena *a, const aot_ctx *c, aot_meta_id m)
{
    aot_fake *f = AOT_NEW(a, aot_fake);
    *f = aot_fake_of_meta(c, m);
    return f;
}

static void add_input(input_plan *p, const aot_capture_in *in, aot_node_id id, aot_arena *a,
                      const char *desc)
{
    const aot_graph *g = in->dynamo;
    const aot_node *n = aot_node_at(g, id);
    const aot_capture_input *x = &in->inputs[id];
    unsigned i = p->n_outer++;
    p->outer[i] = (outer_input){.meta = n->meta,
                                .name = n->kind == AOT_GET_ATTR ? n->target : n->name,
                                .desc = desc,
                                .inner = i,
                                .same_as = -1,
                                .type = fake_of(a, g->ctx, n->meta),
                                .known = x};
    p->inner[p->n_inner++] = (inner_input){.meta = n->meta,
                                           .requires_grad = x->requires_grad,
                                           .is_leaf = x->is_leaf,
                                           .desc = desc};
}

/* The module's tensors that the graph reads are inputs before the others: parameters, then buffers,
 * each in the order of the graph. */
static void add_attributes(input_plan *p, const aot_capture_in *in, aot_arena *a, bool parameters)
{
    const aot_graph *g = in->dynamo;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        bool seen = n->kind != AOT_GET_ATTR || in->inputs[id].is_parameter != parameters ||
                    aot_meta_get(g->ctx, n->meta)->val != AOT_VAL_TENSOR;
        for (unsigned i = 0; i < p->n_outer && !seen; i++) {
            seen = p->outer[i].name == n->target;
        }
        if (!seen) {
            add_input(p, in, id, a,
                      aot_arena_printf(a, "%sAOTInput(target='%s')",
                                       parameters ? "Param" : "Buffer",
                                       aot_text(g->ctx, n->target)));
        }
    }
}

/* Numbers and texts of an exported program's call: no type, and no node reads them. */
static void find_constants(input_plan *p, const aot_graph *g, aot_arena *a)
{
    uint8_t *read = AOT_NEW_ARRAY(a, uint8_t, g->nodes.n + 1);
    for (size_t i = 0; i < g->args.n; i++) {
        if (g->args.d[i].kind == AOT_ARG_NODE) {
            read[g->args.d[i].u.node] = 1;
        }
    }
    unsigned k = p->n_attrs;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        if (n->kind == AOT_PLACEHOLDER) {
            p->inner[k++].is_constant = n->meta == 0 && !read[id];
        }
    }
}

void cap_plan_identity(input_plan *p, const aot_capture_in *in, aot_arena *a)
{
    const aot_graph *g = in->dynamo;
    p->outer = AOT_NEW_ARRAY(a, outer_input, g->nodes.n + 1);
    p->inner = AOT_NEW_ARRAY(a, inner_input, g->nodes.n + 1);
    p->n_outer = p->n_inner = 0;
    add_attributes(p, in, a, true);
    add_attributes(p, in, a, false);
    p->n_attrs = p->n_outer;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
            add_input(p, in, id, a,
                      aot_arena_printf(a, "PlainAOTInput(idx=%u)", p->n_outer - p->n_attrs));
        }
    }
    if (in->from_export) {
        find_constants(p, g, a);
    }
}

/* ---- the same tensor twice ------------------------------------------------------------------- */

static int by_tensor(const void *a, const void *b)
{
    const outer_input *x = *(const outer_input *const *)a, *y = *(const outer_input *const *)b;
    const aot_capture_input *p = x->known, *q = y->known;
    if (p->tensor != q->tensor) {
        return p->tensor < q->tensor ? -1 : 1;
    }
    if (p->storage != q->storage) {
        return p->storage < q->storage ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* For each input the first one that is the very same tensor; -1: itself, or no tensor. */
static int *first_same(const input_plan *p, aot_arena *a)
{
    const outer_input **sorted = AOT_NEW_ARRAY(a, const outer_input *, p->n_outer + 1);
    int *first = AOT_NEW_ARRAY(a, int, p->n_outer + 1);
    for (unsigned i = 0; i < p->n_outer; i++) {
        sorted[i] = &p->outer[i];
        first[i] = -1;
    }
    qsort(sorted, p->n_outer, sizeof *sorted, by_tensor);
    for (unsigned i = 0, head = 0; i < p->n_outer; i++) {
        const aot_capture_input *x = sorted[i]->known, *y = sorted[head]->known;
        if (x->tensor != y->tensor || x->storage != y->storage) {
            head = i;
        } else if (i != head && x->tensor >= 0) {
            first[sorted[i] - p->outer] = (int)(sorted[head] - p->outer);
        }
    }
    return first;
}

/* Strategy 1: no mutated input has a twin, so twins may be told apart as they are. Strategy 2: one
 * input for all twins. */
bool cap_plan_dedupe(input_plan *p, const aot_input_info *info, aot_arena *a)
{
    bool mutated = false, any = false;
    const int *first = first_same(p, a);
    for (unsigned i = 0; i < p->n_outer; i++) {
        int k = p->outer[i].same_as = first[i];
        any |= k >= 0;
        mutated |= k >= 0 && (info[i].mutates_data || info[k].mutates_data ||
                              info[i].mutates_metadata || info[k].mutates_metadata);
    }
    if (!any || !mutated) {
        return false;
    }
    inner_input *inner = AOT_NEW_ARRAY(a, inner_input, p->n_outer + 1);
    unsigned n = 0;
    p->rewritten = true;
    for (unsigned i = 0; i < p->n_outer; i++) {
        int k = first[i];
        p->n_outer_mutated += info[i].mutates_data;
        if (k >= 0) {
            p->outer[i].inner = p->outer[k].inner;
            p->outer[i].duplicate = true;
        } else {
            inner[n] = p->inner[p->outer[i].inner];
            p->outer[i].inner = n++;
        }
    }
    p->inner = inner;
    p->n_inner = n;
    return true;
}

/* ---- synthetic bases ------------------------------------------------------------------------- */

static bool is_tensor(const outer_input *x)
{
    return x->type->val == AOT_VAL_TENSOR;
}

/* Elements from the first to the last that a tensor touches, at the hints. */
static int64_t extent(const aot_fake *t)
{
    int64_t last = 0;
    for (unsigned i = 0; i < t->ndim; i++) {
        if (t->size[i].value == 0) {
            return 0;
        }
        last += (t->size[i].value - 1) * t->stride[i].value;
    }
    return last + 1;
}

/* Whether two views of one memory can touch the same element: their extents meet, and, where both
 * are two-dimensional blocks of one row length, so do their columns.
 * Mirrors input_output_analysis.py:tensors_definitely_do_not_overlap. */
static bool overlap(const outer_input *x, const outer_input *y)
{
    const outer_input *lo = x->known->offset <= y->known->offset ? x : y, *hi = lo == x ? y : x;
    const aot_fake *a = lo->type, *b = hi->type;
    int64_t first = lo->known->offset, second = hi->known->offset;
    if (extent(a) == 0 || extent(b) == 0) {
        return false;
    }
    if (first == second) {
        return true;
    }
    bool flat = aot_fake_is_contiguous(a) && aot_fake_is_contiguous(b);
    if (first + extent(a) <= second) {
        return false;
    }
    if (!flat && a->ndim == 2 && b->ndim == 2 && a->stride[1].value == 1 &&
        b->stride[1].value == 1 && a->stride[0].value == b->stride[0].value &&
        a->stride[0].value > 0) {
        int64_t row = a->stride[0].value, apart = second - first, column = apart % row;
        if (column == 0) {
            return true;
        }
        return !(column >= a->size[1].value && column + b->size[1].value <= row);
    }
    return true;
}

static int by_storage(const void *a, const void *b)
{
    const outer_input *x = *(const outer_input *const *)a, *y = *(const outer_input *const *)b;
    if (x->known->storage != y->known->storage) {
        return x->known->storage < y->known->storage ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* The inputs that share memory: for each the first of its group and the one after it; -1: none, or
 * no tensor with memory of its own name. */
typedef struct sharing {
    int *first, *next;
} sharing;

static sharing find_sharing(const input_plan *p, aot_arena *a)
{
    sharing s = {AOT_NEW_ARRAY(a, int, p->n_outer + 1), AOT_NEW_ARRAY(a, int, p->n_outer + 1)};
    const outer_input **sorted = AOT_NEW_ARRAY(a, const outer_input *, p->n_outer + 1);
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_outer; i++) {
        const outer_input *x = &p->outer[i];
        s.first[i] = s.next[i] = -1;
        if (is_tensor(x) && !x->duplicate && x->known->storage >= 0) {
            sorted[n++] = x;
        }
    }
    qsort(sorted, n, sizeof *sorted, by_storage);
    for (unsigned k = 0; k < n; k++) {
        bool same = k > 0 && sorted[k]->known->storage == sorted[k - 1]->known->storage;
        int i = (int)(sorted[k] - p->outer), before = same ? (int)(sorted[k - 1] - p->outer) : -1;
        s.first[i] = same ? s.first[before] : i;
        if (same) {
            s.next[before] = i;
        }
    }
    return s;
}

/* Whether one of a group is written and two of it touch. */
static bool must_merge(const input_plan *p, const aot_input_info *info, const sharing *s, int first)
{
    bool mutated = false, touching = false;
    for (int k = first; k >= 0; k = s->next[k]) {
        mutated |= info[k].mutates_data;
    }
    for (int k = first; k >= 0 && mutated && !touching; k = s->next[k]) {
        for (int j = s->next[k]; j >= 0 && !touching; j = s->next[j]) {
            touching = overlap(&p->outer[k], &p->outer[j]);
        }
    }
    return touching;
}

static void check_views(aot_tracer *t, const input_plan *p, unsigned i, bool inference)
{
    const outer_input *x = &p->outer[i];
    for (unsigned k = 0; k < p->n_outer; k++) {
        const outer_input *y = &p->outer[k];
        if (!is_tensor(y) || y->known->storage != x->known->storage) {
            continue;
        }
        if (y->type->dtype != x->type->dtype) {
            aot_trace_fail(t, AOT_E_UNSUPPORTED,
                           "aot_autograd() does not yet handle input mutations on views with "
                           "different dtypes (inputs %s and %s)",
                           aot_text(aot_tracer_ctx(t), x->name),
                           aot_text(aot_tracer_ctx(t), y->name));
        }
        if (!inference && k != i && !x->known->is_view && !y->known->is_view) {
            aot_trace_fail(t, AOT_E_UNSUPPORTED,
                           "aot_autograd() does not yet handle non-differentiable view input "
                           "mutations (inputs %s and %s share memory and have no common base)",
                           aot_text(aot_tracer_ctx(t), x->name),
                           aot_text(aot_tracer_ctx(t), y->name));
        }
    }
}

/* The base of a group: the tensor that they are views of, else the memory as one dimension. */
static inner_input base_input(aot_tracer *t, const input_plan *p, unsigned i)
{
    const outer_input *x = &p->outer[i];
    aot_arena *a = aot_tracer_arena(t);
    inner_input b = {.is_leaf = x->known->is_leaf};
    for (unsigned k = i; k < p->n_outer; k++) {
        const outer_input *y = &p->outer[k];
        if (is_tensor(y) && y->known->storage == x->known->storage) {
            b.requires_grad |= y->known->requires_grad;
            if (b.meta == 0 && y->known->is_view && y->known->base != 0) {
                b.meta = y->known->base;
                b.desc = aot_arena_printf(a, "ViewBaseAOTInput(base_of=%s)", y->desc);
            }
        }
    }
    if (b.meta == 0) {
        unsigned bytes = aot_dtype_get((aot_dtype)x->type->dtype)->bytes;
        aot_dim n = aot_dim_of(x->known->storage_bytes / (bytes != 0 ? bytes : 1)), one = {1, 0};
        b.meta = aot_ctx_tensor_meta(aot_tracer_ctx(t), (aot_dtype)x->type->dtype, &n, &one, 1,
                                     x->type->device);
        b.desc = aot_arena_printf(a, "SyntheticBaseAOTInput(base_of=%s)", x->desc);
    }
    return b;
}

bool cap_plan_bases(aot_tracer *t, input_plan *p, const aot_input_info *info, bool inference)
{
    aot_arena *a = aot_tracer_arena(t);
    inner_input *inner = AOT_NEW_ARRAY(a, inner_input, p->n_outer + 1);
    int *base = AOT_NEW_ARRAY(a, int, p->n_outer + 1);
    sharing shared = find_sharing(p, a);
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_outer; i++) {
        base[i] = -1;
        if (shared.first[i] >= 0 && shared.first[i] < (int)i) {
            base[i] = base[shared.first[i]];
        } else if (shared.first[i] >= 0 && must_merge(p, info, &shared, (int)i)) {
            check_views(t, p, i, inference);
            inner[n] = base_input(t, p, i);
            base[i] = (int)n++;
        }
    }
    if (n == 0) {
        return false;
    }
    p->rewritten = true;
    unsigned *moved = AOT_NEW_ARRAY(a, unsigned, p->n_inner + 1);
    uint8_t *done = AOT_NEW_ARRAY(a, uint8_t, p->n_inner + 1);
    for (unsigned i = 0; i < p->n_outer; i++) {
        outer_input *x = &p->outer[i];
        if (base[i] >= 0) {
            x->inner = (unsigned)base[i];
            x->is_view = true;
            continue;
        }
        unsigned old = x->inner;
        if (!done[old]) {
            done[old] = 1;
            moved[old] = n;
            inner[n++] = p->inner[old];
        }
        x->inner = moved[old];
    }
    p->inner = inner;
    p->n_inner = n;
    return true;
}

/* ---- inputs of a run ------------------------------------------------------------------------- */

static const char *input_name(char name[32], const char *format, unsigned i)
{
    if (format == NULL) {
        snprintf(name, 32, "arg%u_1", i);
    } else {
        snprintf(name, 32, "%.16s_%u", format, i + 1);
    }
    return name;
}

aot_tensor *cap_input(aot_tracer *t, const char *format, unsigned *n, aot_meta_id meta,
                      bool requires_grad, const char *desc)
{
    char name[32];
    const char *const *attrs;
    aot_ctx *c = aot_tracer_ctx(t);
    unsigned n_parts = aot_trace_subclass(c, meta, &attrs);
    if (n_parts == 0) {
        return aot_trace_input_tensor(t, input_name(name, format, (*n)++), meta, requires_grad,
                                      desc);
    }
    aot_tensor *parts[2];
    for (unsigned i = 0; i < n_parts; i++) {
        const char *own = aot_arena_printf(aot_tracer_arena(t),
                                           "SubclassGetAttrAOTInput(base=%s, attr='%s')", desc,
                                           attrs[i]);
        parts[i] = aot_trace_input_tensor(t, input_name(name, format, (*n)++),
                                          aot_trace_inner_type(t, meta), false, own);
    }
    return aot_trace_wrap(t, aot_meta_get(c, meta)->wrapper, parts, requires_grad);
}

void cap_make_inputs(aot_tracer *t, const input_plan *p, forward_run *r, bool primals)
{
    aot_arena *a = aot_tracer_arena(t);
    aot_ctx *c = aot_tracer_ctx(t);
    r->n_inputs = p->n_inner;
    r->inputs = AOT_NEW_ARRAY(a, aot_value, p->n_inner + 1);
    r->in_tensor = AOT_NEW_ARRAY(a, aot_tensor *, p->n_inner + 1);
    unsigned n = 0; /* placeholders so far */
    const char *format = primals ? "primals" : NULL;
    char name[32];
    if (p->token) {
        aot_trace_set_token(t, aot_trace_inner(aot_trace_input_tensor(
                                   t, input_name(name, format, n++), aot_trace_token_type(t),
                                   false, "ForwardTokenAOTInput(idx=0)")));
    }
    for (unsigned i = 0; i < p->n_inner; i++) {
        const inner_input *x = &p->inner[i];
        if (aot_meta_get(c, x->meta)->val == AOT_VAL_TENSOR) {
            r->in_tensor[i] =
                x->name != NULL
                    ? aot_trace_input_tensor(t, x->name, x->meta, x->requires_grad, x->desc)
                    : cap_input(t, format, &n, x->meta, x->requires_grad, x->desc);
            r->inputs[i] = aot_v_tensor(r->in_tensor[i]);
        } else if (aot_meta_get(c, x->meta)->val == AOT_VAL_SYM) {
            r->inputs[i] = aot_trace_input_symbol(
                t, x->name != NULL ? x->name : input_name(name, format, n++), x->meta, x->desc);
        } else if (x->is_constant && x->name != NULL) {
            r->inputs[i] = aot_trace_input_constant(t, x->name, x->desc);
        } else {
            aot_trace_fail(t, AOT_E_UNSUPPORTED, "input %u (%s) has no type that is known", i,
                           x->desc);
        }
    }
}

aot_value *cap_outer_args(aot_tracer *t, const input_plan *p, const aot_value *inner)
{
    aot_value *args = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, p->n_outer + 1);
    for (unsigned i = 0; i < p->n_outer; i++) {
        const outer_input *x = &p->outer[i];
        args[i] = inner[x->inner];
        if (x->is_view) {
            aot_dims size = {x->type->size, x->type->ndim},
                     stride = {x->type->stride, x->type->ndim};
            args[i] = AOT_V(t, aten_as_strided, inner[x->inner], size, stride, x->known->offset);
        }
    }
    return args;
}
