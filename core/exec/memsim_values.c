/* Which storages the value of a node lies in: its own, those of what it is a view of, an element's
 * of a tuple. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "exec/memsim_internal.h"
#include "rules/sizes.h"

/* What rounding and an offset may still be added to; no memory has as much. */
#define MOST_STORAGE (INT64_MAX / 64)

/* Bytes from the first to the last element: what empty_strided allocates. */
int64_t aot_sim_storage_bytes(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    int64_t last = 0, reach;
    if (m->val != AOT_VAL_TENSOR) {
        return 0;
    }
    if (!m->has_stride) {
        return aot_meta_bytes(c, id);
    }
    for (unsigned i = 0; i < m->ndim; i++) {
        int64_t size = aot_dim_size(c, &aot_meta_sizes(c, m)[i]);
        int64_t stride = aot_dim_size(c, &aot_meta_strides(c, m)[i]);
        if (size == 0) {
            return 0;
        }
        if (__builtin_mul_overflow(size - 1, stride, &reach)) {
            return MOST_STORAGE;
        }
        last = aot_sum(last, reach);
    }
    int64_t per = aot_dtype_get(m->dtype)->bytes;
    return last >= MOST_STORAGE / per ? MOST_STORAGE : (last + 1) * per;
}

/* Results that lie in their argument though the schema does not say so. */
static bool is_unsafe_view(const aot_op_info *op)
{
    static const char *const unsafe[] = {"aten._unsafe_view", "aten.unsafe_split",
                                         "aten.unsafe_split_with_sizes", "aten.unsafe_chunk"};
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        if (strcmp(op->packet, unsafe[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_alias(const aot_node *n)
{
    const aot_op_info *op = aot_node_op(n);
    const char *arrow = op->schema != NULL ? strstr(op->schema, "->") : NULL;
    return n->kind == AOT_CALL_FUNCTION &&
           ((op->flags & AOT_OPF_ALIASES) != 0 || is_unsafe_view(op) ||
            ((op->flags & AOT_OPF_MUTATES) != 0 && arrow != NULL && strchr(arrow, '!') != NULL));
}

static aot_node_id first_input(const aot_graph *g, aot_node_id id)
{
    return g->in_off[id] < g->in_off[id + 1] ? g->in[g->in_off[id]] : AOT_NO_NODE;
}

static void take_storages_of(aot_sim *s, aot_node_id id, aot_node_id from)
{
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, s->values[from].n};
    for (uint32_t k = 0; k < s->values[id].n; k++) {
        uint32_t st = s->held.d[s->values[from].first + k];
        aot_vec_push(&s->held, st);
    }
}

static bool saves_rng_state(const aot_node *n)
{
    return strcmp(aot_node_op(n)->name, "higher_order.run_and_save_rng_state") == 0;
}

/* Storages of the elements of a tuple; elements that a getitem takes have its printed size. */
static void make_tuple(aot_sim *s, aot_node_id id)
{
    aot_out_type outs[32];
    unsigned n = aot_node_outputs(s->g, id, outs, 32);
    n = n < 32 ? n : 32;
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, n};
    for (unsigned i = 0; i < n; i++) {
        int64_t bytes = aot_out_bytes(&outs[i]);
        bool tensor = outs[i].val == AOT_VAL_TENSOR;
        for (uint32_t k = s->g->user_off[id]; k < s->g->user_off[id + 1]; k++) {
            const aot_node *u = aot_node_at(s->g, s->g->user[k]);
            const aot_arg *a = aot_node_args(s->g, u);
            if (aot_is_getitem(s->g, u) && u->n_args == 2 && a[1].kind == AOT_ARG_INT &&
                a[1].u.i == (int64_t)i && u->meta != 0) {
                bytes = aot_sim_storage_bytes(s->g->ctx, u->meta);
            }
        }
        aot_vec_push(&s->held, aot_sim_new_storage(s, tensor ? bytes : 0));
    }
}

/* (state, result or tuple of results): the results are known through the getitem that takes
 * them. */
static void make_saved_state(aot_sim *s, aot_node_id id)
{
    aot_out_type outs[32];
    unsigned n = 0;
    uint32_t first = (uint32_t)s->held.n;
    aot_vec_push(&s->held, aot_sim_new_storage(s, AOT_RNG_STATE_BYTES));
    for (uint32_t k = s->g->user_off[id]; k < s->g->user_off[id + 1]; k++) {
        const aot_node *u = aot_node_at(s->g, s->g->user[k]);
        if (aot_is_getitem(s->g, u) && u->n_args == 2 && aot_node_args(s->g, u)[1].u.i == 1) {
            n = aot_node_outputs(s->g, s->g->user[k], outs, 32);
        }
    }
    for (unsigned i = 0; i < n && i < 32; i++) {
        aot_vec_push(&s->held, aot_sim_new_storage(
                                   s, outs[i].val == AOT_VAL_TENSOR ? aot_out_bytes(&outs[i]) : 0));
    }
    s->values[id] = (aot_sim_value){first, (uint32_t)s->held.n - first};
}

static void make_element(aot_sim *s, aot_node_id id, aot_node_id tuple)
{
    const aot_arg *a = aot_node_args(s->g, aot_node_at(s->g, id));
    aot_sim_value t = s->values[tuple];
    int64_t i = a[1].kind == AOT_ARG_INT ? a[1].u.i : -1;
    i = i < 0 ? i + t.n : i;
    if (is_alias(aot_node_at(s->g, tuple)) && t.n == 1) {
        i = 0; // split, unbind: all elements lie in the base
    }
    if (aot_node_at(s->g, id)->meta == 0 && i == 1 && t.n > 1 &&
        saves_rng_state(aot_node_at(s->g, tuple))) {
        // (state, (outputs of the operator))
        s->values[id] = (aot_sim_value){(uint32_t)s->held.n, t.n - 1};
        for (uint32_t k = 1; k < t.n; k++) {
            uint32_t st = s->held.d[t.first + k];
            aot_vec_push(&s->held, st);
        }
        return;
    }
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, i >= 0 && i < t.n ? 1 : 0};
    if (s->values[id].n == 1) {
        uint32_t st = s->held.d[t.first + (uint32_t)i];
        aot_vec_push(&s->held, st);
    } else if (aot_node_at(s->g, id)->meta != 0) {
        s->values[id].n = 1;
        aot_vec_push(&s->held, aot_sim_new_storage(s, aot_sim_storage_bytes(
                                                          s->g->ctx, aot_node_at(s->g, id)->meta)));
    }
}

static int64_t int_arg(const aot_graph *g, const aot_node *n, unsigned i, int64_t def)
{
    const aot_arg *a = aot_node_args(g, n);
    return i < n->n_args && a[i].kind == AOT_ARG_INT ? a[i].u.i : def;
}

/* Elements that slice and select skip; other views keep their base's start. */
static int64_t view_offset(const aot_sim *s, aot_node_id id, aot_node_id from)
{
    const aot_node *n = aot_node_at(s->g, id);
    const aot_meta *m = aot_meta_get(s->g->ctx, aot_node_at(s->g, from)->meta);
    const char *name = aot_node_op(n)->name;
    bool select = strcmp(name, "aten.select.int") == 0;
    int64_t base = s->offset[from], dim = int_arg(s->g, n, 1, 0), at = int_arg(s->g, n, 2, 0);
    if (strcmp(name, "aten.as_strided.default") == 0) {
        return int_arg(s->g, n, 3, base);
    }
    if ((!select && strcmp(name, "aten.slice.Tensor") != 0) || m->val != AOT_VAL_TENSOR ||
        !m->has_stride) {
        return base;
    }
    dim += dim < 0 ? m->ndim : 0;
    if (dim < 0 || dim >= m->ndim) {
        return base;
    }
    int64_t size = aot_meta_sizes(s->g->ctx, m)[dim].value,
            stride = aot_meta_strides(s->g->ctx, m)[dim].value;
    if (size == AOT_HINT_NONE || stride == AOT_HINT_NONE) {
        return base;
    }
    at += at < 0 ? size : 0;
    at = at < 0 ? 0 : at > size ? size : at;
    return __builtin_mul_overflow(at, stride, &at) ? base : aot_sum(base, at);
}

/* slice_scatter and its kin copy their first argument with its strides and what lies before it. */
static bool is_scatter(const aot_node *n)
{
    static const char *const scatters[] = {"aten.slice_scatter", "aten.select_scatter",
                                           "aten.diagonal_scatter", "aten.as_strided_scatter"};
    for (size_t i = 0; i < sizeof scatters / sizeof *scatters; i++) {
        if (strcmp(aot_node_op(n)->packet, scatters[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A tensor of its own: as large as from its first to its last element, but for calls that keep
 * more. */
static void make_tensor(aot_sim *s, aot_node_id id, aot_node_id from)
{
    const aot_node *n = aot_node_at(s->g, id);
    int64_t bytes = aot_sim_storage_bytes(s->g->ctx, n->meta);
    // the functional copy clones all of the memory that its first argument lies in
    bool whole = strcmp(aot_node_op(n)->packet, "aten.copy") == 0 && from != AOT_NO_NODE &&
                 s->values[from].n == 1;
    bool scatter = from != AOT_NO_NODE && is_scatter(n);
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, 1};
    s->offset[id] = 0;
    if ((whole || scatter) && !aot_fake_call_repeats(s, id)) {
        aot_dtype d = (aot_dtype)aot_meta_get(s->g->ctx, n->meta)->dtype;
        int64_t reach;
        reach = __builtin_mul_overflow(s->offset[from], aot_dtype_get(d)->bytes, &reach)
                    ? MOST_STORAGE
                    : reach;
        bytes = whole ? s->storages.d[s->held.d[s->values[from].first]].bytes
                      : aot_sum(bytes, reach < MOST_STORAGE ? reach : MOST_STORAGE);
        s->offset[id] = s->offset[from];
    }
    aot_vec_push(&s->held, aot_sim_new_storage(s, bytes));
}

/* A constant of the module: its type is that of the copy made of it; the module keeps it. */
static void make_constant(aot_sim *s, aot_node_id id)
{
    const aot_node *n = aot_node_at(s->g, id);
    aot_meta_id m = n->meta;
    for (uint32_t k = s->g->user_off[id]; m == 0 && k < s->g->user_off[id + 1]; k++) {
        const aot_node *u = aot_node_at(s->g, s->g->user[k]);
        m = strncmp(aot_node_op(u)->packet, "aten.lift_fresh", 15) == 0 ? u->meta : 0;
    }
    if (n->subgraph != 0 || aot_meta_get(s->g->ctx, m)->val != AOT_VAL_TENSOR) {
        return;
    }
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, 1};
    aot_vec_push(&s->held, aot_sim_new_storage(s, aot_sim_storage_bytes(s->g->ctx, m)));
    aot_sim_hold(s, s->held.d[s->values[id].first]);
}

void aot_sim_make_value(aot_sim *s, aot_node_id id)
{
    const aot_node *n = aot_node_at(s->g, id);
    aot_node_id from = first_input(s->g, id);
    if (n->kind == AOT_GET_ATTR) {
        make_constant(s, id);
        return;
    }
    if (aot_is_getitem(s->g, n) && from != AOT_NO_NODE && n->n_args == 2) {
        make_element(s, id, from);
    } else if (is_alias(n) && from != AOT_NO_NODE) {
        take_storages_of(s, id, from);
        s->offset[id] = view_offset(s, id, from);
    } else if (aot_meta_get(s->g->ctx, n->meta)->val == AOT_VAL_TENSOR) {
        make_tensor(s, id, from);
    } else if (n->kind == AOT_CALL_FUNCTION &&
               aot_meta_get(s->g->ctx, n->meta)->val == AOT_VAL_NONE) {
        if (saves_rng_state(n)) {
            make_saved_state(s, id);
        } else {
            make_tuple(s, id);
        }
    }
}
