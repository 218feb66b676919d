/* Walks a module in order with a count of holders for each storage: a value holds the storages of
 * its tensors, a view those of its base, a tuple all of its elements'.
 * Mirrors: torch/fx/interpreter.py:Interpreter.run, boxed_run. */
#include "exec/memsim.h"

#include <stdlib.h>
#include <string.h>

#include "rules/sizes.h"

enum { RNG_STATE_BYTES = 5056 }; /* of the CPU generator */

typedef struct storage {
    int64_t bytes;
    uint32_t holders; /* living values, and one for a caller that keeps it */
} storage;

typedef struct value {
    uint32_t first, n; /* range of sim.held */
} value;

typedef struct sim {
    const aot_graph *g;
    AOT_VEC(storage) storages;
    AOT_VEC(uint32_t) held; /* storage ids */
    value *values;          /* by node */
    int64_t *offset;        /* by node: first element within the storage, where views tell it */
    uint32_t *last_use;     /* by node: 1 + last user; 0 = none */
    int64_t live;
} sim;

static uint32_t new_storage(sim *s, int64_t bytes)
{
    aot_vec_push(&s->storages, ((storage){bytes, 0}));
    return (uint32_t)s->storages.n - 1;
}

static void hold(sim *s, uint32_t id)
{
    if (s->storages.d[id].holders++ == 0) {
        s->live += s->storages.d[id].bytes;
    }
}

static void let_go(sim *s, uint32_t id)
{
    if (--s->storages.d[id].holders == 0) {
        s->live -= s->storages.d[id].bytes;
    }
}

static void drop_value(sim *s, aot_node_id id)
{
    for (uint32_t k = 0; k < s->values[id].n; k++) {
        let_go(s, s->held.d[s->values[id].first + k]);
    }
    s->values[id].n = 0;
}

/* Bytes from the first to the last element: what empty_strided allocates. */
static int64_t storage_bytes(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    int64_t last = 0;
    if (m->val != AOT_VAL_TENSOR) {
        return 0;
    }
    if (!m->has_stride) {
        return aot_meta_bytes(c, id);
    }
    for (unsigned i = 0; i < m->ndim; i++) {
        int64_t size = aot_meta_sizes(c, m)[i].value, stride = aot_meta_strides(c, m)[i].value;
        size = size == AOT_HINT_NONE ? 4096 : size;
        stride = stride == AOT_HINT_NONE ? 4096 : stride;
        if (size == 0) {
            return 0;
        }
        last += (size - 1) * stride;
    }
    return (last + 1) * aot_dtype_get(m->dtype)->bytes;
}

static bool is_alias(const aot_node *n)
{
    const aot_op_info *op = aot_node_op(n);
    const char *arrow = op->schema != NULL ? strstr(op->schema, "->") : NULL;
    return n->kind == AOT_CALL_FUNCTION &&
           ((op->flags & AOT_OPF_ALIASES) != 0 || strcmp(op->name, "aten._unsafe_view.default") == 0 ||
            ((op->flags & AOT_OPF_MUTATES) != 0 && arrow != NULL && strchr(arrow, '!') != NULL));
}

static aot_node_id first_input(const aot_graph *g, aot_node_id id)
{
    return g->in_off[id] < g->in_off[id + 1] ? g->in[g->in_off[id]] : AOT_NO_NODE;
}

static void take_storages_of(sim *s, aot_node_id id, aot_node_id from)
{
    s->values[id] = (value){(uint32_t)s->held.n, s->values[from].n};
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
static void make_tuple(sim *s, aot_node_id id)
{
    aot_out_type outs[32];
    unsigned n = aot_node_outputs(s->g, id, outs, 32);
    n = n < 32 ? n : 32;
    s->values[id] = (value){(uint32_t)s->held.n, n};
    for (unsigned i = 0; i < n; i++) {
        int64_t bytes = aot_out_bytes(&outs[i]);
        bool tensor = outs[i].val == AOT_VAL_TENSOR;
        for (uint32_t k = s->g->user_off[id]; k < s->g->user_off[id + 1]; k++) {
            const aot_node *u = aot_node_at(s->g, s->g->user[k]);
            const aot_arg *a = aot_node_args(s->g, u);
            if (aot_is_getitem(s->g, u) && u->n_args == 2 && a[1].kind == AOT_ARG_INT && a[1].u.i == (int64_t)i && u->meta != 0) {
                bytes = storage_bytes(s->g->ctx, u->meta);
            }
        }
        aot_vec_push(&s->held, new_storage(s, tensor ? bytes : 0));
    }
}

/* (state, result or tuple of results): the results are known through the getitem that takes them. */
static void make_saved_state(sim *s, aot_node_id id)
{
    aot_out_type outs[32];
    unsigned n = 0;
    uint32_t first = (uint32_t)s->held.n;
    aot_vec_push(&s->held, new_storage(s, RNG_STATE_BYTES));
    for (uint32_t k = s->g->user_off[id]; k < s->g->user_off[id + 1]; k++) {
        const aot_node *u = aot_node_at(s->g, s->g->user[k]);
        if (aot_is_getitem(s->g, u) && u->n_args == 2 && aot_node_args(s->g, u)[1].u.i == 1) {
            n = aot_node_outputs(s->g, s->g->user[k], outs, 32);
        }
    }
    for (unsigned i = 0; i < n && i < 32; i++) {
        aot_vec_push(&s->held, new_storage(s, outs[i].val == AOT_VAL_TENSOR ? aot_out_bytes(&outs[i]) : 0));
    }
    s->values[id] = (value){first, (uint32_t)s->held.n - first};
}

static void make_element(sim *s, aot_node_id id, aot_node_id tuple)
{
    const aot_arg *a = aot_node_args(s->g, aot_node_at(s->g, id));
    value t = s->values[tuple];
    int64_t i = a[1].kind == AOT_ARG_INT ? a[1].u.i : -1;
    i = i < 0 ? i + t.n : i;
    if (is_alias(aot_node_at(s->g, tuple)) && t.n == 1) {
        i = 0; // split, unbind: all elements lie in the base
    }
    if (aot_node_at(s->g, id)->meta == 0 && i == 1 && t.n > 1 && saves_rng_state(aot_node_at(s->g, tuple))) {
        // (state, (outputs of the operator))
        s->values[id] = (value){(uint32_t)s->held.n, t.n - 1};
        for (uint32_t k = 1; k < t.n; k++) {
            uint32_t st = s->held.d[t.first + k];
            aot_vec_push(&s->held, st);
        }
        return;
    }
    s->values[id] = (value){(uint32_t)s->held.n, i >= 0 && i < t.n ? 1 : 0};
    if (s->values[id].n == 1) {
        uint32_t st = s->held.d[t.first + (uint32_t)i];
        aot_vec_push(&s->held, st);
    } else if (aot_node_at(s->g, id)->meta != 0) {
        s->values[id].n = 1;
        aot_vec_push(&s->held, new_storage(s, storage_bytes(s->g->ctx, aot_node_at(s->g, id)->meta)));
    }
}

static int64_t int_arg(const aot_graph *g, const aot_node *n, unsigned i, int64_t def)
{
    const aot_arg *a = aot_node_args(g, n);
    return i < n->n_args && a[i].kind == AOT_ARG_INT ? a[i].u.i : def;
}

/* Elements that slice and select skip; other views keep their base's start. */
static int64_t view_offset(const sim *s, aot_node_id id, aot_node_id from)
{
    const aot_node *n = aot_node_at(s->g, id);
    const aot_meta *m = aot_meta_get(s->g->ctx, aot_node_at(s->g, from)->meta);
    const char *name = aot_node_op(n)->name;
    bool select = strcmp(name, "aten.select.int") == 0;
    int64_t base = s->offset[from], dim = int_arg(s->g, n, 1, 0), at = int_arg(s->g, n, 2, 0);
    if (strcmp(name, "aten.as_strided.default") == 0) {
        return int_arg(s->g, n, 3, base);
    }
    if ((!select && strcmp(name, "aten.slice.Tensor") != 0) || m->val != AOT_VAL_TENSOR || !m->has_stride) {
        return base;
    }
    dim += dim < 0 ? m->ndim : 0;
    if (dim < 0 || dim >= m->ndim) {
        return base;
    }
    int64_t size = aot_meta_sizes(s->g->ctx, m)[dim].value, stride = aot_meta_strides(s->g->ctx, m)[dim].value;
    if (size == AOT_HINT_NONE || stride == AOT_HINT_NONE) {
        return base;
    }
    at += at < 0 ? size : 0;
    at = at < 0 ? 0 : at > size ? size : at;
    return base + at * stride;
}

/* slice_scatter and its kin copy their first argument with its strides and what lies before it. */
static int64_t lead_bytes(const sim *s, const aot_node *n, aot_node_id from)
{
    static const char *const scatters[] = {"aten.slice_scatter", "aten.select_scatter", "aten.diagonal_scatter",
                                           "aten.as_strided_scatter"};
    for (size_t i = 0; from != AOT_NO_NODE && i < sizeof scatters / sizeof *scatters; i++) {
        if (strcmp(aot_node_op(n)->packet, scatters[i]) == 0) {
            aot_dtype d = (aot_dtype)aot_meta_get(s->g->ctx, n->meta)->dtype;
            return s->offset[from] * aot_dtype_get(d)->bytes;
        }
    }
    return 0;
}

/* A constant of the module: its type is that of the copy made of it; the module keeps it. */
static void make_constant(sim *s, aot_node_id id)
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
    s->values[id] = (value){(uint32_t)s->held.n, 1};
    aot_vec_push(&s->held, new_storage(s, storage_bytes(s->g->ctx, m)));
    hold(s, s->held.d[s->values[id].first]);
}

static void make_value(sim *s, aot_node_id id)
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
        s->values[id] = (value){(uint32_t)s->held.n, 1};
        int64_t lead = lead_bytes(s, n, from), bytes = storage_bytes(s->g->ctx, n->meta) + lead;
        // the functional copy clones all of the memory that its first argument lies in
        bool whole = strcmp(aot_node_op(n)->packet, "aten.copy") == 0 && from != AOT_NO_NODE && s->values[from].n == 1;
        bytes = whole ? s->storages.d[s->held.d[s->values[from].first]].bytes : bytes;
        aot_vec_push(&s->held, new_storage(s, bytes));
        s->offset[id] = lead != 0 || whole ? s->offset[from] : 0;
    } else if (n->kind == AOT_CALL_FUNCTION && aot_meta_get(s->g->ctx, n->meta)->val == AOT_VAL_NONE) {
        if (saves_rng_state(n)) {
            make_saved_state(s, id);
        } else {
            make_tuple(s, id);
        }
    }
}

static void hold_value(sim *s, aot_node_id id)
{
    for (uint32_t k = 0; k < s->values[id].n; k++) {
        hold(s, s->held.d[s->values[id].first + k]);
    }
}

static void see_use(void *arg, aot_node_id id)
{
    uint32_t **last = arg;
    last[0][id] = last[1][0];
}

static void find_last_uses(sim *s)
{
    uint32_t self = 0;
    uint32_t *arg[2] = {s->last_use, &self};
    for (uint32_t i = 0; i < s->g->nodes.n; i++) {
        self = i + 1;
        aot_node_each_input(s->g, aot_node_at(s->g, i), see_use, arg);
    }
}

static void sim_begin(sim *s, aot_graph *g)
{
    if (g->user_off == NULL) {
        aot_graph_link(g);
    }
    *s = (sim){.g = g, .values = aot_xcalloc(g->nodes.n + 1, sizeof(value)),
               .offset = aot_xcalloc(g->nodes.n + 1, sizeof(int64_t)),
               .last_use = aot_xcalloc(g->nodes.n + 1, sizeof(uint32_t))};
    find_last_uses(s);
}

static void sim_end(sim *s)
{
    aot_vec_free(&s->storages);
    aot_vec_free(&s->held);
    free(s->values);
    free(s->offset);
    free(s->last_use);
}

/* Runs all that computes; the output's values stay held, everything else at its last use is dropped. */
static void run(sim *s, aot_memory_side *out)
{
    out->inputs = s->live;
    out->peak_node = AOT_NO_NODE;
    for (uint32_t i = 0; i < s->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(s->g, i);
        if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
            continue;
        }
        make_value(s, i);
        hold_value(s, i);
        aot_vec_push(&out->live, ((aot_live){i, s->live}));
        if (out->peak_node == AOT_NO_NODE || s->live > out->peak) {
            out->peak = s->live;
            out->peak_node = i;
        }
        for (uint32_t k = s->g->in_off[i]; k < s->g->in_off[i + 1]; k++) {
            if (s->last_use[s->g->in[k]] == i + 1) {
                drop_value(s, s->g->in[k]);
            }
        }
    }
    out->end = s->live;
}

static void place_input(sim *s, aot_node_id id, uint32_t st)
{
    s->values[id] = (value){(uint32_t)s->held.n, 1};
    aot_vec_push(&s->held, st);
    hold(s, st);
}

static const aot_arg *returned(const aot_graph *g, uint32_t *n)
{
    aot_node_id out = aot_graph_output(g);
    const aot_arg *a = out != AOT_NO_NODE && aot_node_at(g, out)->n_args != 0 ? aot_node_args(g, aot_node_at(g, out)) : NULL;
    *n = a != NULL && (a->kind == AOT_ARG_TUPLE || a->kind == AOT_ARG_LIST) ? a->n : 0;
    return *n != 0 ? aot_arg_items(g, a) : NULL;
}

/* What the backward is handed under a name: the storage in the forward's numbering; -1 unknown. */
typedef struct handover {
    int64_t *storage; /* by aot_str */
    uint8_t *is_primal;
    size_t n;
} handover;

static void hand_over(const sim *fw, int n_forward_outputs, handover *h)
{
    uint32_t n_out;
    const aot_arg *outs = returned(fw->g, &n_out);
    h->n = aot_strtab_count(fw->g->ctx->strs);
    h->storage = aot_xcalloc(h->n, sizeof *h->storage);
    h->is_primal = aot_xcalloc(h->n, 1);
    memset(h->storage, 0xff, h->n * sizeof *h->storage);
    for (uint32_t i = 0; i < n_out; i++) {
        const aot_arg *a = &outs[i];
        if ((int)i >= n_forward_outputs && a->kind == AOT_ARG_NODE && fw->values[a->u.node].n == 1) {
            h->storage[aot_node_at(fw->g, a->u.node)->name] = fw->held.d[fw->values[a->u.node].first];
        }
    }
    for (uint32_t i = 0; i < fw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(fw->g, i);
        if (n->kind == AOT_PLACEHOLDER && fw->values[i].first < fw->held.n &&
            aot_meta_get(fw->g->ctx, n->meta)->val == AOT_VAL_TENSOR) {
            h->is_primal[n->name] = 1;
            h->storage[n->name] = fw->held.d[fw->values[i].first];
        }
    }
}

static void begin_backward(sim *bw, const sim *fw, const handover *h)
{
    // the forward's storages keep their numbers, and nobody holds them yet
    for (size_t i = 0; i < fw->storages.n; i++) {
        new_storage(bw, fw->storages.d[i].bytes);
    }
    for (uint32_t i = 0; i < fw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(fw->g, i);
        if (n->kind == AOT_PLACEHOLDER && h->is_primal[n->name]) {
            hold(bw, (uint32_t)h->storage[n->name]); // the caller's
        }
    }
    for (uint32_t i = 0; i < bw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(bw->g, i);
        if (n->kind != AOT_PLACEHOLDER || aot_meta_get(bw->g->ctx, n->meta)->val != AOT_VAL_TENSOR) {
            continue;
        }
        int64_t st = n->name < h->n ? h->storage[n->name] : -1;
        bool state = st < 0 && strncmp(aot_node_name(bw->g, i), "rng_state_output_", 17) == 0;
        if (st < 0) {
            st = new_storage(bw, state ? RNG_STATE_BYTES : storage_bytes(bw->g->ctx, n->meta));
        }
        place_input(bw, i, (uint32_t)st);
        if (st < (int64_t)fw->storages.n) {
            hold(bw, (uint32_t)st); // saved: the forward's frame holds it until the backward returns
        }
    }
}

void aot_memory_simulate(aot_memory *out, aot_graph *forward, aot_graph *backward, int n_forward_outputs)
{
    sim fw, bw;
    handover h;
    *out = (aot_memory){0};
    sim_begin(&fw, forward);
    for (uint32_t i = 0; i < forward->nodes.n; i++) {
        const aot_node *n = aot_node_at(forward, i);
        if (n->kind == AOT_PLACEHOLDER && aot_meta_get(forward->ctx, n->meta)->val == AOT_VAL_TENSOR) {
            place_input(&fw, i, new_storage(&fw, storage_bytes(forward->ctx, n->meta)));
            hold(&fw, fw.held.d[fw.values[i].first]); // the caller's
        }
    }
    run(&fw, &out->forward);
    hand_over(&fw, n_forward_outputs, &h);
    sim_begin(&bw, backward);
    begin_backward(&bw, &fw, &h);
    run(&bw, &out->backward);
    free(h.storage);
    free(h.is_primal);
    sim_end(&fw);
    sim_end(&bw);
}

void aot_memory_free(aot_memory *m)
{
    aot_vec_free(&m->forward.live);
    aot_vec_free(&m->backward.live);
}
