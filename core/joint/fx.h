/* A graph that can be changed, as FX's can: nodes are put before or after others, uses are
 * replaced, nodes are erased. Made from an aot_graph and turned into one again; nodes keep their
 * ids meanwhile, so what is known by id stays known.
 *
 * Order is a linked list with sparse keys, so "earlier than" is one comparison. Users of a node are
 * kept in FX's order: a user whose arguments change goes to the end of the list of each of its
 * inputs.
 * Mirrors: torch/fx/graph.py:Graph, torch/fx/node.py:Node. */
#ifndef AOT_JOINT_FX_H
#define AOT_JOINT_FX_H

#include "ir/graph.h"
#include "joint/joint.h"

typedef struct fx_link {
    uint32_t prev, next;        /* AOT_NO_NODE at the ends */
    uint64_t key;               /* grows along the list */
    uint32_t user_head, user_tail, n_users; /* entries of fx->pool */
    bool erased;
    bool made;                  /* by a rewrite */
} fx_link;

typedef struct fx_use {
    uint32_t user, next;
} fx_use;

typedef struct fx {
    aot_ctx *c;
    aot_graph *g;               /* nodes by id, in the order in which they were made */
    AOT_VEC(fx_link) l;
    AOT_VEC(fx_use) pool;
    AOT_VEC(uint32_t) stamp;    /* scratch: last visit of a node */
    uint32_t stamp_now;
    uint32_t head, tail;
    uint32_t before;            /* new nodes go before this one; AOT_NO_NODE: to the end */
    aot_namespace *ns;          /* NULL: nodes have no names (traces) */
    aot_joint_log *log;         /* NULL: nothing is told */
    const char *pass, *rule;    /* who changes the graph now */
} fx;

void fx_init(fx *f, aot_ctx *c);                    /* empty, without names */
void fx_init_from(fx *f, const aot_graph *g);       /* a copy, with FX's names in use */
void fx_free(fx *f);                                /* f->g stays with its ctx */
/* The graph in list order, erased nodes left out. Belongs to the ctx. */
aot_graph *fx_finish(const fx *f, const aot_graph *like);

static inline aot_node *fx_node(const fx *f, uint32_t id)
{
    return &f->g->nodes.d[id];
}
static inline const aot_arg *fx_args(const fx *f, uint32_t id)
{
    return f->g->args.d + f->g->nodes.d[id].args;
}
static inline bool fx_earlier(const fx *f, uint32_t a, uint32_t b)
{
    return f->l.d[a].key < f->l.d[b].key;
}
static inline uint32_t fx_n_users(const fx *f, uint32_t id)
{
    return f->l.d[id].n_users;
}
static inline uint32_t fx_next(const fx *f, uint32_t id)
{
    return f->l.d[id].next;
}
bool fx_is(const fx *f, uint32_t id, const char *target); /* call_function of "aten.mul.Tensor" */
/* Node of argument i; AOT_NO_NODE if it is none. */
uint32_t fx_arg_node(const fx *f, uint32_t id, unsigned i);
uint32_t fx_output(const fx *f);

/* ---- arguments ------------------------------------------------------------------------------ */
static inline aot_arg fx_a_node(uint32_t id)
{
    return (aot_arg){.kind = AOT_ARG_NODE, .u.node = id};
}
static inline aot_arg fx_a_int(int64_t i)
{
    return (aot_arg){.kind = AOT_ARG_INT, .u.i = i};
}
static inline aot_arg fx_a_float(double v)
{
    return (aot_arg){.kind = AOT_ARG_FLOAT, .u.f = v};
}
static inline aot_arg fx_a_bool(bool b)
{
    return (aot_arg){.kind = AOT_ARG_BOOL, .u.i = b};
}
aot_arg fx_a_name(const fx *f, const char *dotted);
aot_arg fx_a_dtype(const fx *f, aot_dtype d);
aot_arg fx_a_device(const fx *f, aot_str device); /* device(type='cuda', index=0) */
aot_arg fx_a_str(const fx *f, const char *s);
aot_arg fx_a_list(fx *f, const aot_arg *items, uint32_t n);

typedef struct fx_kwarg {
    const char *name;
    aot_arg value;
} fx_kwarg;

/* ---- changes -------------------------------------------------------------------------------- */
/* A call of "aten.mul.Tensor" before f->before, named by FX's rule. Its type is not set. */
uint32_t fx_call(fx *f, const char *target, const aot_arg *args, uint32_t n_args,
                 const fx_kwarg *kwargs, uint32_t n_kwargs);
/* The same for a node of another graph of the ctx, arguments sent through map. */
uint32_t fx_call_like(fx *f, const aot_graph *from, uint32_t id, const aot_arg *map);
/* A placeholder of a trace. */
uint32_t fx_placeholder(fx *f, aot_meta_id meta);
void fx_set_output(fx *f, const aot_arg *outs, uint32_t n);
static inline void fx_insert_before(fx *f, uint32_t id)
{
    f->before = id;
}
static inline void fx_insert_after(fx *f, uint32_t id)
{
    f->before = f->l.d[id].next;
}
/* Every use of old becomes one of now; skip_made: uses by nodes of rewrites at or after `since`
 * (ids) stay. Mirrors Node.replace_all_uses_with. */
void fx_replace_uses(fx *f, uint32_t old, uint32_t now, uint32_t since);
/* Takes a node that has no users out of the graph. */
void fx_erase(fx *f, uint32_t id);
/* What a node's meta takes over from another: type, source, tags (Node.meta.update). */
void fx_update_meta(fx *f, uint32_t to, uint32_t from);
/* Nodes without users and effects go, from the end. Mirrors Graph.eliminate_dead_code. */
void fx_eliminate_dead(fx *f);
/* Mirrors torch/_inductor/pattern_matcher.py:stable_topological_sort. */
void fx_sort(fx *f);
/* Type of a node by its META rule; outputs of a tuple are told by fx_infer_output. */
AOT_NODISCARD aot_status fx_infer(fx *f, uint32_t id, aot_err *err);

/* Users in order: for (uint32_t u = fx_first_use(f, id); u != 0; u = f->pool.d[u].next) */
static inline uint32_t fx_first_use(const fx *f, uint32_t id)
{
    return f->l.d[id].user_head;
}
static inline uint32_t fx_user(const fx *f, uint32_t use)
{
    return f->pool.d[use].user;
}

#endif
