/* The graph IR, as FX has it: nodes in program order, arguments of every kind, types, source lines.
 *
 * A graph is built by appending and then only read. A pass reads one graph and appends to a new
 * one; nothing is moved or unlinked, so ids are array indices and walks are linear.
 *
 * Ownership: an aot_ctx owns everything (strings, types, graphs) of one unit and frees it at once.
 * Mirrors torch/fx/node.py, torch/fx/graph.py. */
#ifndef AOT_IR_GRAPH_H
#define AOT_IR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "ops/optab.h"

/* ---- element types --------------------------------------------------------------------- */

typedef enum aot_dtype {
#define DTYPE(id, abbr, torch, bytes, kind) AOT_##id,
#include "ir/dtype.def"
#undef DTYPE
    AOT_N_DTYPES,
    AOT_NO_DTYPE = 255
} aot_dtype;

typedef struct aot_dtype_info {
    const char *abbr, *torch_name; /* "f32", "torch.float32" */
    uint8_t bytes;
    char kind; /* see dtype.def */
} aot_dtype_info;

const aot_dtype_info *aot_dtype_get(aot_dtype d);
aot_dtype aot_dtype_of_abbr(const char *s, size_t n);  /* "f32"; AOT_NO_DTYPE if unknown */
aot_dtype aot_dtype_of_torch(const char *s, size_t n); /* "torch.float32" */

/* ---- types of values ------------------------------------------------------------------- */

enum { AOT_HINT_NONE = INT64_MIN }; /* no hint known */
enum { AOT_HINT_ASSUMED = 4096 };    /* what sizes without a hint count as; PyTorch's fallback */

/* One size or stride: a number, or an expression of symbols with its value at the hints. */
typedef struct aot_dim {
    int64_t value; /* AOT_HINT_NONE if the expression has no known value */
    aot_str expr;  /* as printed ("16*s77"); 0 = plain number */
} aot_dim;

typedef enum aot_val {
    AOT_VAL_NONE,   /* nothing printed: tuple, module, number, unknown */
    AOT_VAL_TENSOR,
    AOT_VAL_SYM     /* SymInt, SymFloat or SymBool */
} aot_val;

typedef enum aot_sym { AOT_SYM_INT, AOT_SYM_FLOAT, AOT_SYM_BOOL } aot_sym;

/* One printed annotation. Equal texts share one aot_meta. */
typedef struct aot_meta {
    aot_str text;    /* f32[4, 8][8, 1]cpu: what stands between the quotes */
    aot_str device;  /* "cpu", "cuda:0"; 0 if not printed */
    aot_str wrapper; /* "TwoTensor" if a subclass is printed; else 0 */
    aot_dim sym;     /* AOT_VAL_SYM: its expression and hint */
    uint32_t dims;   /* first of ndim sizes in ctx->dims, followed by ndim strides if has_stride */
    uint8_t val;     /* aot_val */
    uint8_t dtype;   /* aot_dtype */
    uint8_t sym_kind; /* aot_sym */
    uint8_t ndim;
    bool has_stride;
} aot_meta;

typedef uint32_t aot_meta_id; /* index into ctx->metas; 0 = AOT_VAL_NONE */

/* ---- arguments ------------------------------------------------------------------------- */

typedef enum aot_arg_kind {
    AOT_ARG_NONE,  /* None */
    AOT_ARG_NODE,  /* u.node */
    AOT_ARG_INT,   /* u.i */
    AOT_ARG_FLOAT, /* u.f, inf and nan included */
    AOT_ARG_BOOL,  /* u.i */
    AOT_ARG_STR,   /* u.s: the text without quotes, escapes as written */
    AOT_ARG_NAME,  /* u.s: dotted name: torch.float32, torch.ops.aten.mm.default, inf is FLOAT */
    AOT_ARG_COMPLEX, /* u.s: as written: (1+2j) */
    AOT_ARG_RAW,   /* u.s: balanced text kept whole: device(type='cpu') */
    AOT_ARG_LIST,  /* n items from u.first */
    AOT_ARG_TUPLE,
    AOT_ARG_DICT,  /* n items: key, value, key, value ... (n is even) */
    AOT_ARG_SLICE, /* n = 3: start, stop, step */
    AOT_ARG_CALL   /* n items: a NAME, then its positional arguments (named tuples) */
} aot_arg_kind;

typedef struct aot_arg {
    uint8_t kind;
    uint8_t quote; /* STR: ' or " */
    uint32_t n;
    union {
        uint32_t node;
        uint32_t first; /* index into graph->args */
        aot_str s;
        int64_t i;
        double f;
    } u;
} aot_arg;

/* ---- source lines and checkpoint regions ------------------------------------------------- */

typedef enum aot_policy { /* torch.utils.checkpoint.CheckpointPolicy; 0 = no tag */
    AOT_POLICY_NONE,
    AOT_POLICY_MUST_SAVE,
    AOT_POLICY_PREFER_SAVE,
    AOT_POLICY_MUST_RECOMPUTE,
    AOT_POLICY_PREFER_RECOMPUTE
} aot_policy;

const char *aot_policy_name(aot_policy p); /* "MUST_SAVE"; "" for none */
aot_policy aot_policy_of(const char *s, size_t n);

/* The comment above a node; nodes under one comment share it. */
typedef struct aot_src {
    aot_str text;     /* whole comment after "# ", as printed */
    aot_str file;     /* 0 if none was found */
    aot_str func, code;
    uint32_t line;
    int32_t ac_graph_id; /* checkpoint region; -1 = none */
    bool is_backward;    /* "Backward of forward node:" (PyTorch 2.15) */
    uint8_t policy;      /* aot_policy */
} aot_src;

/* ---- nodes ----------------------------------------------------------------------------- */

typedef enum aot_node_kind {
    AOT_PLACEHOLDER,
    AOT_GET_ATTR,
    AOT_CALL_FUNCTION,
    AOT_CALL_METHOD, /* args[0] is the receiver */
    AOT_CALL_MODULE,
    AOT_OUTPUT /* args[0] is what is returned */
} aot_node_kind;

const char *aot_node_kind_name(aot_node_kind k); /* "call_function" */

typedef uint32_t aot_node_id; /* index into graph->nodes */
#define AOT_NO_NODE UINT32_MAX

typedef struct aot_node {
    uint8_t kind;      /* aot_node_kind */
    uint8_t policy;    /* aot_policy; starts as the comment's */
    aot_op_id op;      /* row of the operator table, if it has one */
    aot_str name;      /* the value's name, unique in the graph */
    /* "torch.ops.aten.mm.default", "operator.add", "sin" (method), attribute or placeholder name */
    aot_str target;
    uint32_t args;     /* first of n_args in graph->args */
    uint32_t kwargs;   /* first of n_kwargs pairs: NAME arg, value, NAME arg, value ... */
    uint16_t n_args, n_kwargs; /* n_kwargs counts pairs */
    aot_meta_id meta;
    uint32_t src;      /* index into graph->srcs; 0 = no comment seen */
    aot_str desc;      /* placeholder: PlainAOTInput(idx=0); else 0 */
    uint32_t subgraph; /* get_attr of a submodule: 1 + index into graph->subgraphs; else 0 */
} aot_node;

/* How the text is laid out; printing keeps it. */
typedef struct aot_layout {
    bool expanded;        /* one parameter a line, descriptors shown (TORCH_TRACE) */
    bool bindings;        /* pytree: tree_flatten_spec line, parameters are in_args */
    bool out_spec;        /* return pytree.tree_unflatten(..., self._out_spec) */
    bool has_out_descs;   /* outputs stand one a line with their descriptors */
    bool keeps_unused;    /* values that nobody reads are not freed (before PyTorch 2.6) */
    aot_str in_args;      /* "primals, tangents" if bindings */
    aot_str flatten_spec; /* what stands inside tree_flatten_spec(...) */
} aot_layout;

typedef struct aot_ctx aot_ctx;
typedef struct aot_graph aot_graph;

struct aot_graph {
    aot_ctx *ctx;
    aot_str class_name; /* "GraphModule", "<lambda>", "inner_f" */
    aot_str attr_name;  /* name as a submodule; 0 at the top */
    AOT_VEC(aot_node) nodes;
    AOT_VEC(aot_arg) args;
    AOT_VEC(aot_src) srcs;          /* [0] is the empty one */
    AOT_VEC(aot_str) out_descs;     /* one an output, in flat order; empty if none */
    AOT_VEC(aot_graph *) subgraphs; /* in order of appearance */
    aot_layout layout;
    uint32_t n_opaque; /* call_function nodes whose operator is not in the table */
    /* filled by aot_graph_link; NULL before. Distinct, in argument order / in program order. */
    uint32_t *in_off, *in, *user_off, *user;
};

/* What a tensor attribute of one element holds: "_tensor_constant0" and a number. */
typedef struct aot_constant {
    aot_str attr;
    aot_arg value;
} aot_constant;

/* Everything of one unit. */
struct aot_ctx {
    aot_arena *arena;
    aot_strtab *strs;
    AOT_VEC(aot_meta) metas;     /* [0] is AOT_VAL_NONE */
    AOT_VEC(aot_dim) dims;
    AOT_VEC(aot_graph *) graphs; /* owned */
    AOT_VEC(aot_meta_id) meta_of_text; /* by aot_str */
    aot_meta_id *tensor_slots;         /* hash table of types made from parts; 0: free */
    uint32_t n_tensor_slots, n_tensor_metas;
    AOT_VEC(aot_op_id) op_of_text;     /* by aot_str; see aot_ctx_op */
    AOT_VEC(uint8_t) op_known;
    AOT_VEC(int64_t) hint_of_symbol; /* by aot_str; AOT_HINT_NONE if none */
    AOT_VEC(aot_constant) constants; /* values of tensor attributes, where known */
};

aot_ctx *aot_ctx_new(void);
void aot_ctx_free(aot_ctx *c); /* NULL is fine */
/* Says what a symbol ("s77") was when traced. To be set before graphs are parsed. */
void aot_ctx_set_hint(aot_ctx *c, const char *symbol, int64_t value);
/* Says what a tensor attribute holds; texts name it only. */
void aot_ctx_set_constant(aot_ctx *c, const char *attr, aot_arg value);
const aot_arg *aot_ctx_constant(const aot_ctx *c, aot_str attr); /* NULL: not known */
int64_t aot_ctx_hint(const aot_ctx *c, const char *symbol, size_t n);
aot_op_id aot_ctx_op(aot_ctx *c, aot_str target); /* cached aot_op_find */
/* Parses an annotation such as "f32[4, s0][s0, 1]cuda:0" or "Sym(s0)"; never fails (an annotation
 * that is not understood is kept as text with AOT_VAL_NONE). */
aot_meta_id aot_ctx_meta(aot_ctx *c, const char *text, size_t n);
/* Makes an annotation text from parts and returns its meta. strides may be NULL; device 0. */
aot_meta_id aot_ctx_tensor_meta(aot_ctx *c, aot_dtype dtype, const aot_dim *sizes,
                                const aot_dim *strides, unsigned ndim, aot_str device);
/* Value of a symbolic expression at the hints; AOT_HINT_NONE if it has an unhinted symbol or a
 * function that is not known. Mirrors symbolic_shapes.py:size_hint. */
int64_t aot_sym_eval(const aot_ctx *c, const char *expr, size_t n);
/* Whether a symbol ("s77") had a value when it was traced, told or not; unbacked ones (u0) have
 * none. */
bool aot_symbol_is_backed(const char *name, size_t n);
/* The size for weights and sums: the value; else that of the expression with AOT_HINT_ASSUMED for
 * each backed symbol without a hint; AOT_HINT_NONE if it has unbacked ones. */
int64_t aot_dim_assumed(const aot_ctx *c, const aot_dim *d);
/* The same; AOT_HINT_ASSUMED for an expression with unbacked symbols, as PyTorch's fallback. */
int64_t aot_dim_size(const aot_ctx *c, const aot_dim *d);
/* Calls fn for each distinct symbol name in the expression, in order of appearance. */
void aot_sym_each(const char *expr, size_t n, void (*fn)(void *, const char *, size_t), void *arg);

static inline const char *aot_text(const aot_ctx *c, aot_str s)
{
    return aot_str_text(c->strs, s);
}
static inline const aot_meta *aot_meta_get(const aot_ctx *c, aot_meta_id m)
{
    return &c->metas.d[m];
}
static inline const aot_dim *aot_meta_sizes(const aot_ctx *c, const aot_meta *m)
{
    return c->dims.d + m->dims;
}
static inline const aot_dim *aot_meta_strides(const aot_ctx *c,
                                              const aot_meta *m) /* if has_stride */
{
    return c->dims.d + m->dims + m->ndim;
}
/* Elements at the hints, sizes without one as aot_dim_size has them. */
int64_t aot_meta_numel(const aot_ctx *c, aot_meta_id m);
/* Bytes of a tensor (numel * item size), 1 for a symbol, 0 for AOT_VAL_NONE.
 * Mirrors partitioners.py:_size_of without tuples (see rules/sizes.h for those). */
int64_t aot_meta_bytes(const aot_ctx *c, aot_meta_id m);

/* ---- building and reading graphs ----------------------------------------------------------- */

aot_graph *aot_graph_new(aot_ctx *c); /* owned by c */
/* Frees one graph before its context is; its submodules stay. Cost: that of finding it among
 * c's. */
void aot_graph_free(aot_graph *g);
/* A graph without nodes that has the name, layout, comments and submodules of another. */
aot_graph *aot_graph_like(const aot_graph *g);
static inline aot_node *aot_node_at(const aot_graph *g, aot_node_id id)
{
    return &g->nodes.d[id];
}
static inline const char *aot_node_name(const aot_graph *g, aot_node_id id)
{
    return aot_str_text(g->ctx->strs, g->nodes.d[id].name);
}
static inline const char *aot_node_target(const aot_graph *g, aot_node_id id)
{
    return aot_str_text(g->ctx->strs, g->nodes.d[id].target);
}
static inline const aot_arg *aot_node_args(const aot_graph *g, const aot_node *n)
{
    return g->args.d + n->args;
}
static inline const aot_arg *aot_node_kwargs(const aot_graph *g, const aot_node *n)
{
    return g->args.d + n->kwargs;
}
static inline const aot_arg *aot_arg_items(const aot_graph *g,
                                           const aot_arg *a) /* LIST, TUPLE, ... */
{
    return g->args.d + a->u.first;
}
/* The keyword argument of that name, or NULL. */
const aot_arg *aot_node_kwarg(const aot_graph *g, const aot_node *n, const char *key);
/* The output node's id (the last node); AOT_NO_NODE if the graph has none. */
aot_node_id aot_graph_output(const aot_graph *g);
aot_node_id aot_graph_find(const aot_graph *g,
                           const char *name); /* linear; AOT_NO_NODE if absent */

/* Appends a node; args and kwargs are copied from items that are already in g->args
 * (use aot_graph_add_args). Returns its id. */
aot_node_id aot_graph_add(aot_graph *g, const aot_node *n);
uint32_t aot_graph_add_args(aot_graph *g, const aot_arg *items,
                            uint32_t n); /* index of the first */
/* Deep copy of n arguments of `from` into g, node ids sent through map (map[id] in g). */
uint32_t aot_graph_copy_args(aot_graph *g, const aot_graph *from, uint32_t first, uint32_t n,
                             const aot_node_id *map);
/* Copies a node of another graph of the same ctx, arguments sent through map. The name is kept:
 * use aot_namespace to make it unique. */
aot_node_id aot_graph_copy_node(aot_graph *g, const aot_graph *from, aot_node_id id,
                                const aot_node_id *map);

/* Calls fn for each node among the arguments (nested ones too), in FX's order, repeats included. */
void aot_node_each_input(const aot_graph *g, const aot_node *n, void (*fn)(void *, aot_node_id),
                         void *arg);
/* Talks to other ranks: an operator of c10d. */
bool aot_node_is_collective(const aot_graph *g, aot_node_id id);
/* Fills in_off .. user; call again after appending. Inputs of node i: in[in_off[i] ..
 * in_off[i+1]). */
void aot_graph_link(aot_graph *g);
/* The same of a graph that was not linked yet: those of a cut are linked when somebody asks for
 * users. */
void aot_graph_link_once(const aot_graph *g);
static inline uint32_t aot_n_users(const aot_graph *g, aot_node_id id)
{
    return g->user_off[id + 1] - g->user_off[id];
}

/* FX's rules for names (torch/fx/graph.py:_Namespace.create_name). */
typedef struct aot_namespace aot_namespace;
aot_namespace *aot_namespace_new(aot_ctx *c);
void aot_namespace_free(aot_namespace *ns);
aot_str aot_namespace_create(aot_namespace *ns, const char *candidate, size_t n);

static inline bool aot_is_getitem(const aot_graph *g, const aot_node *n);
static inline const aot_op_info *aot_node_op(const aot_node *n)
{
    return aot_op(n->op);
}
/* operator.getitem(x, i) */
static inline bool aot_is_getitem(const aot_graph *g, const aot_node *n)
{
    (void)g;
    return n->kind == AOT_CALL_FUNCTION && n->op == AOT_OP_GETITEM;
}

#endif
