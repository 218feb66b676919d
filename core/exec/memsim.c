/* Walks a module in order with a count of holders for each storage: a value holds the storages of
 * its tensors, a view those of its base, a tuple all of its elements'.
 * Mirrors: torch/fx/interpreter.py:Interpreter.run, boxed_run. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "exec/memsim_internal.h"

static const struct {
    const char *name, *sentence;
} kinds[AOT_N_MEM_KINDS] = {
#define MEM_KIND(id, name, sentence) {name, sentence},
#include "exec/mem_kinds.def"
#undef MEM_KIND
};

const char *aot_mem_kind_name(aot_mem_kind k)
{
    return kinds[k].name;
}

const char *aot_mem_kind_sentence(aot_mem_kind k)
{
    return kinds[k].sentence;
}

uint32_t aot_sim_new_storage(aot_sim *s, int64_t bytes)
{
    int64_t to = s->opt->round_to;
    bytes = to > 0 ? (bytes + to - 1) / to * to : bytes;
    aot_sim_storage new = {
        .bytes = bytes, .node = s->at, .in_forward = s->is_forward, .block = AOT_NO_BLOCK};
    aot_vec_push(&s->storages, new);
    return (uint32_t)s->storages.n - 1;
}

void aot_sim_hold(aot_sim *s, uint32_t id)
{
    aot_sim_storage *x = &s->storages.d[id];
    if (x->holders++ != 0) {
        return;
    }
    s->live += x->bytes;
    if (x->bytes != 0) {
        aot_mem_block b = {.node = x->node,
                           .in_forward = x->in_forward,
                           .storage = id,
                           .bytes = x->bytes,
                           .born = (uint32_t)s->side->live.n,
                           .died = UINT32_MAX};
        x->block = (uint32_t)s->side->blocks.n;
        aot_vec_push(&s->side->blocks, b);
    }
}

static void let_go(aot_sim *s, uint32_t id)
{
    aot_sim_storage *x = &s->storages.d[id];
    if (--x->holders != 0) {
        return;
    }
    s->live -= x->bytes;
    if (x->block != AOT_NO_BLOCK) {
        aot_mem_block *b = &s->side->blocks.d[x->block];
        b->died = (uint32_t)s->side->live.n - 1;
        b->bytes = s->side->live.n == 0 ? 0 : b->bytes; // reused before the first row
        x->block = AOT_NO_BLOCK;
    }
}

static void drop_value(aot_sim *s, aot_node_id id)
{
    for (uint32_t k = 0; k < s->values[id].n; k++) {
        let_go(s, s->held.d[s->values[id].first + k]);
    }
    s->values[id].n = 0;
}

static void hold_value(aot_sim *s, aot_node_id id)
{
    for (uint32_t k = 0; k < s->values[id].n; k++) {
        aot_sim_hold(s, s->held.d[s->values[id].first + k]);
    }
}

static void see_use(void *arg, aot_node_id id)
{
    uint32_t **last = arg;
    last[0][id] = last[1][0];
}

static void find_last_uses(aot_sim *s)
{
    uint32_t self = 0;
    uint32_t *arg[2] = {s->last_use, &self};
    for (uint32_t i = 0; i < s->g->nodes.n; i++) {
        self = i + 1;
        aot_node_each_input(s->g, aot_node_at(s->g, i), see_use, arg);
    }
}

static void sim_begin(aot_sim *s, aot_graph *g, aot_memory_side *side,
                      const aot_memory_options *opt, bool is_forward)
{
    aot_graph_link_once(g);
    *s = (aot_sim){.g = g, .side = side, .opt = opt, .is_forward = is_forward, .at = AOT_NO_NODE,
                   .values = aot_xcalloc(g->nodes.n + 1, sizeof(aot_sim_value)),
                   .offset = aot_xcalloc(g->nodes.n + 1, sizeof(int64_t)),
                   .last_use = aot_xcalloc(g->nodes.n + 1, sizeof(uint32_t))};
    find_last_uses(s);
}

static void sim_end(aot_sim *s)
{
    aot_vec_free(&s->storages);
    aot_vec_free(&s->held);
    free(s->values);
    free(s->offset);
    free(s->last_use);
}

/* An input that dies here and whose memory nobody else holds leaves before a pointwise result of
 * its size is counted: the result takes its memory. */
static void reuse_input(aot_sim *s, aot_node_id id)
{
    if ((aot_node_op(aot_node_at(s->g, id))->tags & AOT_TAG_POINTWISE) == 0 ||
        s->values[id].n != 1) {
        return;
    }
    const aot_sim_storage *result = &s->storages.d[s->held.d[s->values[id].first]];
    for (uint32_t k = s->g->in_off[id]; result->holders == 0 && k < s->g->in_off[id + 1]; k++) {
        aot_node_id in = s->g->in[k];
        const aot_sim_storage *x =
            s->values[in].n == 1 ? &s->storages.d[s->held.d[s->values[in].first]] : NULL;
        if (x != NULL && s->last_use[in] == id + 1 && x->holders == 1 &&
            x->bytes == result->bytes) {
            drop_value(s, in);
            return;
        }
    }
}

static int64_t live_bytes(const aot_sim *s)
{
    return s->live > INT64_MAX ? INT64_MAX : (int64_t)s->live;
}

/* Runs all that computes; the output's values stay held, everything else at its last use is
 * dropped. */
static void run(aot_sim *s)
{
    aot_memory_side *out = s->side;
    out->inputs = live_bytes(s);
    out->peak_node = AOT_NO_NODE;
    for (uint32_t i = 0; i < s->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(s->g, i);
        if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
            continue;
        }
        s->at = i;
        aot_sim_make_value(s, i);
        if (s->opt->reuse_in_place) {
            reuse_input(s, i);
        }
        hold_value(s, i);
        aot_vec_push(&out->live, ((aot_live){i, live_bytes(s)}));
        if (out->peak_node == AOT_NO_NODE || live_bytes(s) > out->peak) {
            out->peak = live_bytes(s);
            out->peak_node = i;
            out->peak_row = (uint32_t)out->live.n - 1;
        }
        for (uint32_t k = s->g->in_off[i]; k < s->g->in_off[i + 1]; k++) {
            if (s->last_use[s->g->in[k]] == i + 1) {
                drop_value(s, s->g->in[k]);
            }
        }
    }
    out->end = live_bytes(s);
}

static void place_input(aot_sim *s, aot_node_id id, uint32_t st)
{
    s->values[id] = (aot_sim_value){(uint32_t)s->held.n, 1};
    aot_vec_push(&s->held, st);
    aot_sim_hold(s, st);
}

static const aot_arg *returned(const aot_graph *g, uint32_t *n)
{
    aot_node_id out = aot_graph_output(g);
    const aot_arg *a = out != AOT_NO_NODE && aot_node_at(g, out)->n_args != 0
                           ? aot_node_args(g, aot_node_at(g, out))
                           : NULL;
    *n = a != NULL && (a->kind == AOT_ARG_TUPLE || a->kind == AOT_ARG_LIST) ? a->n : 0;
    return *n != 0 ? aot_arg_items(g, a) : NULL;
}

/* What the backward is handed under a name: the storage in the forward's numbering; -1 unknown. */
typedef struct handover {
    int64_t *storage; /* by aot_str */
    uint8_t *is_primal, *in_forward;
    int64_t *offset;     /* by aot_str: where the value begins in it */
    uint8_t *is_freed; /* by position among the backward's inputs */
    size_t n;
} handover;

static void hand_over(const aot_sim *fw, int n_forward_outputs, handover *h)
{
    uint32_t n_out;
    const aot_arg *outs = returned(fw->g, &n_out);
    h->n = aot_strtab_count(fw->g->ctx->strs);
    h->storage = aot_xcalloc(h->n, sizeof *h->storage);
    h->is_primal = aot_xcalloc(h->n, 1);
    h->in_forward = aot_xcalloc(h->n, 1);
    h->offset = aot_xcalloc(h->n, sizeof *h->offset);
    memset(h->storage, 0xff, h->n * sizeof *h->storage);
    for (uint32_t i = 0; i < n_out; i++) {
        const aot_arg *a = &outs[i];
        if ((int)i >= n_forward_outputs && a->kind == AOT_ARG_NODE &&
            fw->values[a->u.node].n == 1) {
            aot_str name = aot_node_at(fw->g, a->u.node)->name;
            h->storage[name] = fw->held.d[fw->values[a->u.node].first];
            h->offset[name] = fw->offset[a->u.node];
        }
    }
    for (uint32_t i = 0; i < fw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(fw->g, i);
        h->in_forward[n->name] = n->kind != AOT_PLACEHOLDER && n->kind != AOT_OUTPUT;
        if (n->kind == AOT_PLACEHOLDER && fw->values[i].first < fw->held.n &&
            aot_meta_get(fw->g->ctx, n->meta)->val == AOT_VAL_TENSOR) {
            h->is_primal[n->name] = 1;
            h->storage[n->name] = fw->held.d[fw->values[i].first];
        }
    }
}

static void begin_backward(aot_sim *bw, const aot_sim *fw, const handover *h)
{
    uint32_t position = 0;
    // the forward's storages keep their numbers, and nobody holds them yet
    for (size_t i = 0; i < fw->storages.n; i++) {
        aot_sim_storage x = fw->storages.d[i];
        x.holders = 0;
        x.block = AOT_NO_BLOCK;
        aot_vec_push(&bw->storages, x);
    }
    for (uint32_t i = 0; i < fw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(fw->g, i);
        if (n->kind == AOT_PLACEHOLDER && h->is_primal[n->name]) {
            aot_sim_hold(bw, (uint32_t)h->storage[n->name]); // the caller's
        }
    }
    for (uint32_t i = 0; i < bw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(bw->g, i);
        bool freed = n->kind == AOT_PLACEHOLDER && h->is_freed[position];
        position += n->kind == AOT_PLACEHOLDER;
        if (n->kind != AOT_PLACEHOLDER ||
            aot_meta_get(bw->g->ctx, n->meta)->val != AOT_VAL_TENSOR) {
            continue;
        }
        int64_t st = n->name < h->n ? h->storage[n->name] : -1;
        bool state = st < 0 && strncmp(aot_node_name(bw->g, i), "rng_state_output_", 17) == 0;
        bw->at = i;
        if (st < 0) {
            st = aot_sim_new_storage(bw, state ? AOT_RNG_STATE_BYTES
                                               : aot_sim_storage_bytes(bw->g->ctx, n->meta));
            bw->storages.d[st].kind = 1 + (state ? AOT_MEM_SAVED : AOT_MEM_TANGENT);
        }
        place_input(bw, i, (uint32_t)st);
        bw->offset[i] = n->name < h->n ? h->offset[n->name] : 0;
        if (st < (int64_t)fw->storages.n && !freed) {
            // saved: the forward's frame holds it until the backward returns
            aot_sim_hold(bw, (uint32_t)st);
        }
    }
}

/* ---- what blocks are for --------------------------------------------------------------------- */

/* Storages of what a module returns, from output `first` on, are of that kind unless another is
 * known. */
static void returned_kind(aot_sim *s, uint32_t first, uint32_t end, aot_mem_kind kind)
{
    uint32_t n;
    const aot_arg *outs = returned(s->g, &n);
    for (uint32_t i = first; i < end && i < n; i++) {
        const aot_sim_value *v = outs[i].kind == AOT_ARG_NODE ? &s->values[outs[i].u.node] : NULL;
        for (uint32_t k = 0; v != NULL && k < v->n; k++) {
            aot_sim_storage *x = &s->storages.d[s->held.d[v->first + k]];
            x->kind = x->kind != 0 ? x->kind : (uint8_t)(1 + kind);
        }
    }
}

/* recomputed: by name, what the forward computed too; NULL in the forward. */
static void name_kinds(aot_sim *s, const handover *h)
{
    for (size_t i = 0; i < s->side->blocks.n; i++) {
        aot_mem_block *b = &s->side->blocks.d[i];
        const aot_sim_storage *x = &s->storages.d[b->storage];
        aot_str name = h != NULL && !b->in_forward ? aot_node_at(s->g, b->node)->name : 0;
        b->kind = x->kind != 0                              ? (uint8_t)(x->kind - 1)
                  : h != NULL && name < h->n && h->in_forward[name] ? AOT_MEM_RECOMPUTED
                                                                    : AOT_MEM_TEMPORARY;
    }
}

typedef struct known {
    const uint8_t *is_static; /* by aot_str of a primal */
    uint8_t *is_freed;        /* by position among the backward's inputs */
} known;

static void run_forward(aot_sim *fw, const known *k)
{
    const aot_graph *g = fw->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind == AOT_PLACEHOLDER && aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_TENSOR) {
            bool fixed = k->is_static[n->name];
            fw->at = i;
            place_input(fw, i, aot_sim_new_storage(fw, aot_sim_storage_bytes(g->ctx, n->meta)));
            fw->storages.d[fw->storages.n - 1].kind =
                1 + (fixed ? AOT_MEM_PARAMETER : AOT_MEM_INPUT);
            aot_sim_hold(fw, fw->held.d[fw->values[i].first]); // the caller's
        }
    }
    run(fw);
}

static void simulate(aot_memory *out, aot_graph *forward, aot_graph *backward,
                     int n_forward_outputs, const aot_memory_options *opt, const known *k)
{
    aot_sim fw, bw;
    handover h = {.is_freed = k->is_freed};
    aot_memory_options mine = *opt;
    aot_fake_calls *fresh = opt->calls == NULL && !opt->first_calls ? aot_fake_calls_new() : NULL;
    mine.calls = opt->first_calls ? NULL : opt->calls != NULL ? opt->calls : fresh;
    opt = &mine;
    *out = (aot_memory){0};
    sim_begin(&fw, forward, &out->forward, opt, true);
    run_forward(&fw, k);
    returned_kind(&fw, (uint32_t)n_forward_outputs, UINT32_MAX, AOT_MEM_SAVED);
    returned_kind(&fw, 0, (uint32_t)n_forward_outputs, AOT_MEM_OUTPUT);
    name_kinds(&fw, NULL);
    hand_over(&fw, n_forward_outputs, &h);
    sim_begin(&bw, backward, &out->backward, opt, false);
    begin_backward(&bw, &fw, &h);
    run(&bw);
    returned_kind(&bw, 0, UINT32_MAX, AOT_MEM_GRADIENT);
    name_kinds(&bw, &h);
    free(h.storage);
    free(h.is_primal);
    free(h.in_forward);
    free(h.offset);
    aot_fake_calls_free(fresh);
    sim_end(&fw);
    sim_end(&bw);
}

void aot_memory_of_partition(aot_memory *out, const aot_partition *p, const aot_memory_options *opt)
{
    aot_memory_options none = {0};
    uint8_t *is_static = aot_xcalloc(aot_strtab_count(p->cut->ctx->strs) + 1, 1);
    uint8_t *is_freed = aot_xcalloc(p->backward->nodes.n + 1, 1);
    opt = opt != NULL ? opt : &none;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const aot_node *n = aot_node_at(p->cut, i);
        is_static[n->name] = n->kind == AOT_PLACEHOLDER && p->nodes[i].is_static;
    }
    // primals are held by the caller besides
    memset(is_freed, !opt->hold_saved, p->backward->nodes.n);
    for (int i = 0; opt->free_donated && i < p->n_donated; i++) {
        if ((size_t)p->donated[i] < p->backward->nodes.n) {
            is_freed[p->donated[i]] = 1;
        }
    }
    simulate(out, p->forward, p->backward, p->n_forward_outputs, opt,
             &(known){is_static, is_freed});
    free(is_static);
    free(is_freed);
}

void aot_memory_changes(const aot_memory_side *s, int64_t *allocated, int64_t *freed)
{
    for (size_t r = 0; r < s->live.n; r++) {
        freed[r] = 0;
    }
    for (size_t i = 0; i < s->blocks.n; i++) {
        if (s->blocks.d[i].died < s->live.n) {
            int64_t *f = &freed[s->blocks.d[i].died];
            *f = aot_sum(*f, s->blocks.d[i].bytes);
        }
    }
    for (size_t r = 0; r < s->live.n; r++) {
        int64_t before = r == 0 ? s->inputs : s->live.d[r - 1].bytes - freed[r - 1];
        allocated[r] = s->live.d[r].bytes - before;
    }
}

static void free_side(aot_memory_side *s)
{
    aot_vec_free(&s->live);
    aot_vec_free(&s->blocks);
}

void aot_memory_free(aot_memory *m)
{
    free_side(&m->forward);
    free_side(&m->backward);
}
