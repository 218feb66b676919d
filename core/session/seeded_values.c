/* Values from a seed. Integers are the difficulty: where they are positions in another tensor they
 * must be within it, so the graph is read for the operators that take them (exec/index_uses.def),
 * through views and casts. */
#include "session/seeded_values.h"

#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/splitmix.h"
#include "session/run_values_internal.h"

typedef enum use_dim { DIM_FIRST, DIM_CLASS, DIM_ARG, DIM_ITEM, DIM_FLAT, DIM_PIVOT } use_dim;

typedef struct index_use {
    aot_op_id op;
    uint8_t at, into;
    use_dim dim;
} index_use;

static const index_use uses[] = {
#define INDEX_USE(op, at, into, dim) {AOT_OP_##op, at, into, DIM_##dim},
#include "exec/index_uses.def"
#undef INDEX_USE
};

/* ---- bounds of integers ---------------------------------------------------------------------- */

typedef struct bounds {
    const aot_graph *g;
    int *from;      /* by node: the placeholder that it is made of alone, counted from 0; -1 */
    int64_t *most;  /* by placeholder: integers are below; 0: nothing says so; AOT_PIVOTS */
} bounds;

typedef struct only_input {
    const bounds *b;
    int from;
    unsigned n;
} only_input;

static void note_input(void *arg, aot_node_id id)
{
    only_input *o = arg;
    const aot_meta *m = aot_meta_get(o->b->g->ctx, aot_node_at(o->b->g, id)->meta);
    if (m->val == AOT_VAL_TENSOR) {
        o->from = o->b->from[id];
        o->n++;
    }
}

static int64_t size_into(const bounds *b, const aot_node *n, const index_use *use, unsigned item)
{
    const aot_arg *args = aot_node_args(b->g, n), *into = &args[use->into];
    if (into->kind != AOT_ARG_NODE) {
        return 0;
    }
    aot_meta_id id = aot_node_at(b->g, into->u.node)->meta;
    const aot_meta *m = aot_meta_get(b->g->ctx, id);
    int64_t dim = use->dim == DIM_ARG ? (args[1].kind == AOT_ARG_INT ? args[1].u.i : 0)
                  : use->dim == DIM_CLASS ? (m->ndim > 1)
                  : use->dim == DIM_ITEM ? (int64_t)item
                                         : 0;
    dim = dim < 0 ? dim + m->ndim : dim;
    if (use->dim == DIM_PIVOT) {
        return AOT_PIVOTS;
    }
    if (use->dim == DIM_FLAT) {
        return aot_meta_numel(b->g->ctx, id);
    }
    return m->val == AOT_VAL_TENSOR && dim >= 0 && dim < m->ndim
               ? aot_meta_sizes(b->g->ctx, m)[dim].value
               : 0;
}

static void bound_by(bounds *b, const aot_arg *position, int64_t size)
{
    int from = position->kind == AOT_ARG_NODE ? b->from[position->u.node] : -1;
    if (from >= 0 && (size > 0 || size == AOT_PIVOTS) &&
        (b->most[from] == 0 || size < b->most[from])) {
        b->most[from] = size;
    }
}

static void bounds_of_call(bounds *b, const aot_node *n)
{
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
        const index_use *use = &uses[k];
        if (n->op != use->op || n->n_args <= use->at || n->n_args <= use->into) {
            continue;
        }
        const aot_arg *at = &aot_node_args(b->g, n)[use->at];
        for (unsigned i = 0; use->dim == DIM_ITEM && i < at->n && at->kind == AOT_ARG_LIST; i++) {
            bound_by(b, &aot_arg_items(b->g, at)[i], size_into(b, n, use, i));
        }
        if (use->dim != DIM_ITEM) {
            bound_by(b, at, size_into(b, n, use, 0));
        }
    }
}

int64_t *aot_integer_bounds(const aot_graph *g)
{
    bounds b = {g, aot_xcalloc(g->nodes.n + 1, sizeof *b.from),
                aot_xcalloc(g->nodes.n + 1, sizeof *b.most)};
    int next = 0;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        only_input in = {&b, -1, 0};
        if (n->kind == AOT_PLACEHOLDER) {
            b.from[id] = next++;
            continue;
        }
        aot_node_each_input(g, n, note_input, &in);
        b.from[id] = in.n == 1 ? in.from : -1;
        bounds_of_call(&b, n);
    }
    free(b.from);
    return b.most;
}

int64_t aot_pivot_at(const aot_array *x, int64_t i)
{
    return x->ndim == 0 ? 1 : i % x->size[x->ndim - 1] + 1;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void fill(aot_array *x, int64_t below, bool positive, uint64_t *state)
{
    aot_dtype d = (aot_dtype)x->dtype;
    aot_class c = aot_dtype_class(d);
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    double scale = x->ndim >= 2 && x->size[0] > 0
                       ? 1 / sqrt((double)(n / x->size[0] > 0 ? n / x->size[0] : 1))
                       : 1;
    for (int64_t i = 0, k; i < n; i += k) {
        enum { MOST = 512 };
        char *p = aot_array_data(flat) + i * bytes;
        int64_t whole[MOST];
        aot_complex z[MOST];
        for (k = 0; k < MOST && i + k < n; k++) {
            if (c == AOT_CLASS_INT) {
                whole[k] = below == AOT_PIVOTS
                               ? aot_pivot_at(x, i + k)
                               : (int64_t)(aot_splitmix_uniform(state) *
                                           (double)(d == AOT_B8 || below <= 0 ? 2 : below));
                continue;
            }
            double re =
                positive ? 0.5 + aot_splitmix_uniform(state) : aot_splitmix_normal(state) * scale;
            z[k] = CMPLX(re, c == AOT_CLASS_COMPLEX ? aot_splitmix_normal(state) * scale : 0);
        }
        if (c == AOT_CLASS_INT) {
            aot_store_int(whole, d, p, bytes, k);
        } else {
            aot_store_complex(z, d, p, bytes, k);
        }
    }
    if (n > 0) {
        aot_array_assign(x, flat);
    }
    aot_array_unref(flat);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Dynamo's own words for the input first: a view that was merged into a base has no others. */
static const aot_meta *type_of(const aot_runnable *r, int i)
{
    const aot_outer_input *o = &r->capture.calling.outer[i];
    aot_node_id id = r->nodes[i];
    const aot_meta *m =
        id != AOT_NO_NODE ? aot_meta_get(r->ctx, aot_node_at(r->dynamo, id)->meta) : NULL;
    if (m != NULL && m->val == AOT_VAL_TENSOR && m->has_stride) {
        return m;
    }
    const aot_meta *own =
        o->is_view ? NULL : rv_input_type(r, rv_place_of(&r->capture.calling.meta, o->inner));
    return own != NULL ? own : m;
}

typedef struct making {
    const aot_runnable *r;
    int64_t below; /* of integers */
    bool positive;
    uint64_t state;
    aot_live_bytes *made; /* bytes of the values so far */
    aot_err *err;
} making;

static aot_status make_array(aot_xval *out, making *k, int i, const aot_meta *m)
{
    const aot_runnable *r = k->r;
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    if (m == NULL || m->val != AOT_VAL_TENSOR || m->ndim > AOT_ARRAY_MAX_NDIM || m->wrapper != 0) {
        return AOT_FAIL(
            k->err, AOT_E_UNSUPPORTED, "no values are made up for input %s: %s", r->sources[i],
            m != NULL && m->wrapper != 0 ? "it is a tensor subclass whose code is not known"
                                         : "its type is not known");
    }
    for (unsigned d = 0; d < m->ndim; d++) {
        size[d] = aot_meta_sizes(r->ctx, m)[d].value;
        if (size[d] == AOT_HINT_NONE) {
            return AOT_FAIL(k->err, AOT_E_UNSUPPORTED,
                            "no values are made up for input %s: a size of it is not known",
                            r->sources[i]);
        }
    }
    aot_err why = {0};
    aot_status s = aot_array_possible(k->made, (aot_dtype)m->dtype, m->ndim, size, NULL, &why);
    if (s == AOT_OK) {
        aot_strides_contiguous(stride, m->ndim, size);
        for (unsigned d = 0; d < m->ndim && m->has_stride; d++) {
            int64_t step = aot_meta_strides(r->ctx, m)[d].value;
            stride[d] = step != AOT_HINT_NONE ? step : stride[d];
        }
        s = aot_array_possible(k->made, (aot_dtype)m->dtype, m->ndim, size, stride, &why);
    }
    if (s != AOT_OK) {
        return AOT_FAIL(k->err, s, "no values are made up for input %s: %s", r->sources[i],
                        why.msg);
    }
    aot_array *x = aot_array_new_strided(NULL, (aot_dtype)m->dtype, m->ndim, size, stride);
    k->made->now += x->storage->bytes;
    fill(x, k->below, k->positive, &k->state);
    *out = aot_xv_array(x);
    return AOT_OK;
}

/* Of a tensor subclass: its inner tensors, which the graph takes. */
static aot_status make_input(aot_xval *out, making *k, int i)
{
    const aot_fw_metadata *meta = &k->r->capture.calling.meta;
    int inner = k->r->capture.calling.outer[i].inner;
    unsigned n = inner < meta->subclass_in.n ? (unsigned)meta->subclass_in.of[inner].n : 0;
    if (n == 0) {
        return make_array(out, k, i, type_of(k->r, i));
    }
    aot_xval *items = aot_xcalloc(n, sizeof *items);
    aot_status s = AOT_OK;
    for (unsigned part = 0; part < n && s == AOT_OK; part++) {
        s = make_array(&items[part], k, i,
                       rv_input_type(k->r, rv_place_of(meta, inner) + (int)part));
    }
    *out = aot_xv_keep(aot_xv_list(n, items));
    aot_free_values(items, n);
    return s;
}

aot_status aot_seeded_values(aot_xval **outer, const aot_runnable *r, const aot_unit *u,
                             uint64_t seed, bool positive, aot_err *err)
{
    const aot_calling *c = &r->capture.calling;
    const aot_graph *aten = r->capture.graph[AOT_LEVEL_ATEN];
    int64_t *below = aot_integer_bounds(aten != NULL ? aten : r->graph);
    aot_status s = AOT_OK;
    aot_live_bytes made = {0};
    *outer = aot_xcalloc((size_t)c->n_outer + 1, sizeof **outer);
    for (int i = 0; i < c->n_outer && s == AOT_OK; i++) {
        making k = {.r = r, .positive = positive, .made = &made, .err = err};
        // an input's numbers do not hang on the others
        k.state = seed * 0x100000001b3 + (uint64_t)i;
        k.below = below[rv_place_of(&c->meta, c->outer[i].inner) + c->meta.n_tokens];
        if (c->outer[i].is_tensor) {
            s = make_input(&(*outer)[i], &k, i);
        }
    }
    free(below);
    int unknown = s == AOT_OK ? rv_fill_symbols(r, u, *outer) : -1;
    if (unknown >= 0) {
        s = AOT_FAIL(err, AOT_E_UNSUPPORTED,
                     "no value is made up for input %s: what it was when traced is not known",
                     r->sources[unknown]);
    }
    if (s == AOT_OK) {
        rv_share_memory(r, *outer);
    }
    return s;
}
