/* Dead code elimination and common subexpressions, before the cut.
 *
 * CSE keeps what PyTorch keeps apart: random operators, aten.empty, and every value that shares
 * memory with an output (two equal outputs are two tensors). PyTorch looks a node up by a Python
 * hash of its operator and arguments, and a node whose hash is taken by a different one is neither
 * merged nor entered; hash(-1) == hash(-2) makes that visible (unsqueeze(x, -1), unsqueeze(x, -2)),
 * so hashes collide here exactly where Python's do.
 * Mirrors: torch/fx/graph.py:eliminate_dead_code,
 * torch/_functorch/compile_utils.py:fx_graph_cse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "partition/internal.h"

void part_meta_init(part *p)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    p->m = (part_meta){.policy = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1),
                       .ac_graph_id = AOT_NEW_ARRAY(p->keep, int32_t, n + 1),
                       .backward_made = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1),
                       .must_side = AOT_NEW_ARRAY(p->keep, uint8_t, n + 1),
                       .part = AOT_NEW_ARRAY(p->keep, uint32_t, n + 1)};
    for (uint32_t i = 0; i < n; i++) {
        const aot_node *x = aot_node_at(g, i);
        p->m.policy[i] = x->policy;
        p->m.ac_graph_id[i] = g->srcs.d[x->src].ac_graph_id;
        p->m.part[i] = part_class_of(p, x);
    }
}

/* Goes on with a smaller graph: map[old] is the new id or AOT_NO_NODE. */
static void replace_graph(part *p, aot_graph *to, const aot_node_id *map, const uint8_t *live)
{
    part_meta old = p->m;
    uint32_t n_old = (uint32_t)p->g->nodes.n;
    aot_graph_link(to);
    p->g = to;
    part_meta_init(p);
    for (uint32_t i = n_old; i-- > 0;) { // backwards: the first of merged nodes wins
        if (live[i]) {
            p->m.backward_made[map[i]] = old.backward_made[i];
            p->m.must_side[map[i]] = old.must_side[i];
        }
    }
}

/* live[i] = 1 for nodes that have an effect, or whose value one of these reads. */
static bool mark_live(const aot_graph *g, bool impure_random, uint8_t *live)
{
    bool dead = false;
    for (uint32_t i = (uint32_t)g->nodes.n; i-- > 0;) {
        live[i] |= part_is_impure(g, aot_node_at(g, i), impure_random);
        dead |= !live[i];
        for (uint32_t k = g->in_off[i]; live[i] && k < g->in_off[i + 1]; k++) {
            live[g->in[k]] = 1;
        }
    }
    return dead;
}

static aot_graph *copy_live(const aot_graph *g, const uint8_t *live, aot_node_id *map)
{
    aot_graph *r = aot_graph_like(g);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (live[i]) {
            map[i] = aot_graph_copy_node(r, g, i, map);
        }
    }
    return r;
}

/* Submodules of higher-order operators are cleaned too; they nest a few levels. */
static void clean_subgraphs(aot_graph *g, bool impure_random)
{
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        aot_graph *sub = g->subgraphs.d[i];
        aot_graph_link_once(sub);
        uint8_t *live = aot_xcalloc(sub->nodes.n, 1);
        if (mark_live(sub, impure_random, live)) {
            aot_node_id *map = aot_xcalloc(sub->nodes.n, sizeof *map);
            g->subgraphs.d[i] = copy_live(sub, live, map);
            free(map);
        }
        free(live);
        clean_subgraphs(g->subgraphs.d[i], impure_random);
    }
}

/* ---- CSE ------------------------------------------------------------------------------------ */

typedef struct entry {
    uint64_t hash;
    aot_node_id node; /* holds the key, and is what equal ones become */
    uint32_t region;
} entry;

typedef struct cse {
    part *p;
    const aot_graph *g;
    const uint8_t *live;
    aot_node_id *rep; /* what a node becomes: itself, or an equal node before it */
    entry *table;
    uint32_t mask, n_merged;
    uint32_t *storage;
    uint8_t *output_storage;
} cse;

/* Python's hash of an integer: modulo 2^61 - 1, sign kept, -1 becomes -2. */
static uint64_t python_int_hash(int64_t v)
{
    const uint64_t m = (UINT64_C(1) << 61) - 1;
    uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    int64_t h = (int64_t)(a % m);
    h = v < 0 ? -h : h;
    return (uint64_t)(h == -1 ? -2 : h);
}

static uint64_t leaf_hash(const cse *c, const aot_arg *a)
{
    uint64_t v;
    switch (a->kind) {
    case AOT_ARG_NODE:
        v = c->rep[a->u.node];
        break;
    case AOT_ARG_INT:
    case AOT_ARG_BOOL:
        v = python_int_hash(a->u.i);
        break;
    case AOT_ARG_FLOAT:
        if (a->u.f == floor(a->u.f) && fabs(a->u.f) < 9e18) {
            v = python_int_hash((int64_t)a->u.f);
        } else {
            memcpy(&v, &a->u.f, sizeof v);
        }
        break;
    case AOT_ARG_NONE:
        v = 0;
        break;
    default:
        v = a->u.s;
        break;
    }
    return aot_hash_mix(a->kind, v);
}

/* Leaves only: PyTorch does not hash how they are nested. */
static uint64_t hash_leaves(const cse *c, const aot_arg *a, uint32_t n, uint64_t h)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind == AOT_ARG_LIST || a[i].kind == AOT_ARG_TUPLE) {
            h = hash_leaves(c, aot_arg_items(c->g, &a[i]), a[i].n, h);
        } else if (a[i].kind == AOT_ARG_DICT) {
            const aot_arg *items = aot_arg_items(c->g, &a[i]);
            for (uint32_t k = 1; k < a[i].n; k += 2) {
                h = hash_leaves(c, &items[k], 1, h);
            }
        } else if (a[i].kind == AOT_ARG_SLICE || a[i].kind == AOT_ARG_CALL) {
            h = hash_leaves(c, aot_arg_items(c->g, &a[i]), a[i].n, aot_hash_mix(h, a[i].kind));
        } else {
            h = aot_hash_mix(h, leaf_hash(c, &a[i]));
        }
    }
    return h;
}

static uint64_t hash_node(const cse *c, const aot_node *n)
{
    uint64_t h = aot_hash_mix(n->target, 17);
    h = hash_leaves(c, aot_node_args(c->g, n), n->n_args, h);
    h = aot_hash_mix(h, 91);
    const aot_arg *kw = aot_node_kwargs(c->g, n);
    for (uint32_t i = 0; i < n->n_kwargs; i++) {
        h = hash_leaves(c, &kw[2 * i + 1], 1, h);
    }
    return h;
}

static bool equal_args(const cse *c, const aot_arg *a, const aot_arg *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind) {
            return false;
        }
        switch (a[i].kind) {
        case AOT_ARG_NONE:
            break;
        case AOT_ARG_NODE:
            if (c->rep[a[i].u.node] != c->rep[b[i].u.node]) {
                return false;
            }
            break;
        case AOT_ARG_INT:
        case AOT_ARG_BOOL:
            if (a[i].u.i != b[i].u.i) {
                return false;
            }
            break;
        case AOT_ARG_FLOAT: // 0.0 equals -0.0, nan equals nothing
            if (!(a[i].u.f == b[i].u.f)) {
                return false;
            }
            break;
        case AOT_ARG_STR:
        case AOT_ARG_NAME:
        case AOT_ARG_COMPLEX:
        case AOT_ARG_RAW:
            if (a[i].u.s != b[i].u.s) {
                return false;
            }
            break;
        default:
            if (a[i].n != b[i].n ||
                !equal_args(c, aot_arg_items(c->g, &a[i]), aot_arg_items(c->g, &b[i]), a[i].n)) {
                return false;
            }
            break;
        }
    }
    return true;
}

static bool equal_nodes(const cse *c, const aot_node *a, const aot_node *b)
{
    return a->target == b->target && a->n_args == b->n_args && a->n_kwargs == b->n_kwargs &&
           equal_args(c, aot_node_args(c->g, a), aot_node_args(c->g, b), a->n_args) &&
           equal_args(c, aot_node_kwargs(c->g, a), aot_node_kwargs(c->g, b),
                      (uint32_t)a->n_kwargs * 2);
}

static bool kept_apart(const cse *c, uint32_t i)
{
    const aot_node *n = aot_node_at(c->g, i);
    if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT || n->kind == AOT_GET_ATTR) {
        return true;
    }
    if ((c->p->m.part[i] & (AOT_PART_CSE_RANDOM | PART_IS_EMPTY)) != 0) {
        return true;
    }
    return part_is_tensor(c->g, n) && c->output_storage[c->storage[i]];
}

static void merge_or_enter(cse *c, uint32_t i, uint32_t region)
{
    const aot_node *n = aot_node_at(c->g, i);
    uint64_t h = hash_node(c, n);
    uint32_t k = (uint32_t)(h >> 20) & c->mask;
    while (c->table[k].hash != 0 && c->table[k].hash != (h | 1)) {
        k = (k + 1) & c->mask;
    }
    entry *e = &c->table[k];
    bool overwrite = e->hash == 0;
    if (e->hash != 0 && equal_nodes(c, n, aot_node_at(c->g, e->node))) {
        if (e->region == region) {
            c->rep[i] = e->node;
            c->n_merged++;
            return;
        }
        overwrite = true; // a mutation lies between: later ones equal this node
    }
    if (overwrite) {
        *e = (entry){h | 1, i, region};
    }
}

static void find_equal(cse *c)
{
    part *p = c->p;
    uint32_t n = (uint32_t)p->g->nodes.n, size = 16, n_out, region = 0;
    while (size < n * 2) {
        size *= 2;
    }
    c->mask = size - 1;
    c->table = AOT_NEW_ARRAY(p->scratch, entry, size);
    c->storage = part_storages(p);
    c->output_storage = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    const aot_arg *outs = part_outputs(p->g, &n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        if (outs[i].kind == AOT_ARG_NODE &&
            part_is_tensor(p->g, aot_node_at(p->g, outs[i].u.node))) {
            c->output_storage[c->storage[outs[i].u.node]] = 1;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (c->live[i]) {
            region += (p->m.part[i] & PART_IS_MUTATION) != 0;
            if (!kept_apart(c, i)) {
                merge_or_enter(c, i, region);
            }
        }
    }
}

void part_clean(part *p)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    uint8_t *live = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    aot_node_id *map = AOT_NEW_ARRAY(p->scratch, aot_node_id, n + 1);
    bool dead = mark_live(p->g, p->config->fallback_random, live);
    clean_subgraphs((aot_graph *)(uintptr_t)p->g, p->config->fallback_random);
    cse c = {.p = p, .g = p->g, .live = live, .rep = AOT_NEW_ARRAY(p->scratch, aot_node_id, n + 1)};
    for (uint32_t i = 0; i < n; i++) {
        c.rep[i] = i;
    }
    if (p->config->cse) {
        find_equal(&c);
    }
    if (!dead && c.n_merged == 0) {
        return;
    }
    aot_graph *r = aot_graph_like(p->g);
    for (uint32_t i = 0; i < n; i++) {
        if (live[i]) {
            map[i] = c.rep[i] == i ? aot_graph_copy_node(r, p->g, i, map) : map[c.rep[i]];
        }
    }
    replace_graph(p, r, map, live);
}
