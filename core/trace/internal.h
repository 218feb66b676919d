/* Between the files of the tracer: tensors, grad_fns, the state of a trace. Rules do not need
 * it. */
#ifndef AOT_TRACE_INTERNAL_H
#define AOT_TRACE_INTERNAL_H

#include <setjmp.h>

#include "base/vec.h"
#include "ops/schema.h"
#include "trace/hop.h"
#include "trace/layer.h"
#include "trace/tracer.h"

/* ---- operators ------------------------------------------------------------------------------ */

/* What the tracer needs of a row, read from its schema once. */
typedef struct op_facts {
    aot_schema schema;
    aot_value *defaults;   /* an AOT_V_RAW of "?" where the schema has none */
    aot_str target, name;  /* "torch.ops.aten.mm.default", "mm" */
    aot_op_id functional;  /* of an operator that writes its arguments; AOT_OP_UNKNOWN: none */
    bool is_view;          /* a return aliases an argument that is not written */
    bool is_inplace_view;  /* t_, squeeze_: changes sizes of self */
    bool writes;           /* some argument is written */
    bool composite;        /* CompositeImplicit */
    bool returns_list;     /* one return, of type Tensor[] */
    bool has_effects;     /* ordered by tokens */
    bool has_names;       /* of a custom operator: its schema is known */
    const char *rule_kind; /* of the last expansion, and its text for the nodes that it makes */
    aot_str rule;
} op_facts;

const op_facts *tr_op(aot_tracer *t, aot_op_id op);

/* ---- storage and views as functionalization sees them ---------------------------------------- */

/* One view operation: the call with the viewed tensor as its first argument. */
typedef struct view_step {
    aot_op_id op;
    unsigned n;
    const aot_value *args; /* args[0] is replaced by what is viewed */
    unsigned out;          /* which of several outputs */
} view_step;

typedef struct view_chain {
    const view_step *d;
    unsigned n;
} view_chain;

typedef struct func_update {
    aot_tensor *value; /* inner */
    view_chain chain;
} func_update;

/* What all aliases share. Mirrors aten/src/ATen/FunctionalStorageImpl.h. */
typedef struct func_storage {
    aot_tensor *base; /* inner: the value of the whole, as far as updates are applied */
    AOT_VEC(func_update) updates;
    unsigned generation;
    unsigned n_mutations, n_no_grad; /* all, and those under no_grad */
    unsigned id;
    bool metadata_changed;
} func_storage;

/* Writes to any alias count here. Mirrors torch's VariableVersion. */
typedef struct version_counter {
    unsigned n;
} version_counter;

struct aot_tensor {
    const aot_fake *type;
    aot_meta_id meta;
    aot_node_id node[AOT_N_LEVELS]; /* AOT_NO_NODE where it has none */
    bool wrapped_number;
    bool base_conj, base_neg; /* the chain begins at a lazily conjugated, negated tensor */
    aot_value number; /* that it is, if wrapped */
    /* An outer tensor wraps an inner one; inner tensors have no inner. */
    aot_tensor *inner;
    func_storage *storage;
    unsigned generation;
    view_chain chain; /* from the storage's base */
    bool metadata_mutated;
    struct aot_tensor **part; /* of a tensor subclass: its inner tensors; NULL */
    int input; /* number of the graph input that it is; -1 */
    /* A tensor of a vmap or grad layer has a value of the layers below and nothing of the above. */
    aot_tensor *value;
    unsigned layer; /* 0: none */
    unsigned layer_serial; /* another layer may have that place later */
    int bdim;       /* of the value; -1: a grad layer's */
    /* autograd */
    bool requires_grad;
    struct grad_fn *grad_fn;
    unsigned out_nr;
    struct grad_fn *accumulator; /* of a leaf */
    aot_tensor *base;            /* of a differentiable view; NULL */
    view_chain diff_chain;       /* from base */
    version_counter *version;
    unsigned attr_version;       /* of grad_fn, if a view */
    bool multi_view;             /* one of several outputs of a view operator */
};

/* ---- autograd -------------------------------------------------------------------------------- */

typedef struct grad_edge {
    struct grad_fn *fn; /* NULL: no gradient is wanted */
    unsigned nr;
} grad_edge;

typedef enum grad_kind { GRAD_OP, GRAD_LEAF, GRAD_COPY_SLICES, GRAD_CUSTOM } grad_kind;

typedef struct grad_fn {
    grad_kind kind;
    aot_op_id op;
    aot_vjp_fn *rule;
    unsigned n_args;
    const aot_value *args;    /* saved arguments, defaults filled in */
    unsigned *edge_of;        /* per argument: its first edge; n_args + 1 entries */
    grad_edge *edges;
    unsigned n_edges;
    unsigned n_out;
    const aot_fake **out_type; /* NULL: not differentiable */
    aot_meta_id *out_meta;
    aot_tensor **saved_out;    /* detached; NULL: not saved */
    unsigned *arg_version, *out_version; /* of tensors when they were saved; NULL: not checked */
    aot_value result;          /* types of all outputs: not differentiable ones too */
    uint64_t seq;
    aot_src src;
    /* GRAD_COPY_SLICES */
    struct grad_fn *inner;
    const aot_fake *base_type, *view_type;
    view_chain chain;
    /* GRAD_CUSTOM: a higher-order operator's backward */
    void *custom;
    /* GRAD_LEAF */
    aot_tensor *leaf;
    int capture; /* place among the wanted inputs; -1 */
    unsigned capture_nr;
    /* while the engine runs */
    unsigned run, n_deps;
    bool needed;
    aot_tensor **buffer;
} grad_fn;

/* Fails where a call of a running formula reads a saved tensor that has been written since. */
void tr_check_versions(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
void tr_check_saved_out(aot_tracer *t, const grad_fn *fn, unsigned i);

struct aot_vjp {
    aot_tracer *t;
    grad_fn *fn;
    aot_tensor **grads;     /* of the outputs */
    aot_tensor **out;       /* by edge */
    aot_tensor **unpacked;  /* saved results */
};

/* ---- the trace ------------------------------------------------------------------------------- */

typedef struct sym_entry {
    aot_node_id node[AOT_N_LEVELS];
    aot_tensor *tensor[AOT_N_LEVELS]; /* where it can be read from: sym_size.int(tensor, dim) */
    uint8_t dim[AOT_N_LEVELS];
    bool is_stride[AOT_N_LEVELS];
    bool is_read[AOT_N_LEVELS]; /* the node reads it from the tensor */
    aot_node_id once[AOT_N_LEVELS]; /* the value of the next use alone; AOT_NO_NODE */
    bool was_measured;          /* asked for by a storage of a symbol's bytes */
    bool is_incidental;         /* the node was made for nothing else */
    char op; /* how the backward would compute it, from a and b; 0: not known */
    aot_dim a, b;
} sym_entry;

typedef struct origin {
    aot_str rule;       /* what made the node: "composite linear", "gradient of mul" ... */
    aot_node_id parent; /* node of the level above; AOT_NO_NODE */
    aot_node_id aten;   /* of AOT_LEVEL_TRACED: the same call there; AOT_NO_NODE */
    bool without_grad;  /* the user had disabled gradients */
} origin;

typedef struct level_graph {
    aot_graph *g;
    aot_namespace *names;
    AOT_VEC(origin) origins; /* by node */
    AOT_VEC(sym_entry *) syms; /* by aot_str of the expression */
    aot_str src_text;        /* of the last node's comment */
    uint32_t src;
    /* once finished: which nodes stayed, and where */
    aot_graph *finished;
    uint8_t *live;
    aot_node_id *map;
} level_graph;

typedef struct autocast_state {
    aot_str device_type; /* "cpu" */
    aot_dtype dtype;
    bool enabled;
} autocast_state;

typedef struct layer {
    aot_layer_kind kind;
    unsigned serial;
    aot_dim batch;
    aot_randomness randomness;
    bool was_grad; /* grad mode where it was entered */
} layer;

/* How many attributes of subgraphs begin with a prefix. */
typedef struct attribute_count {
    aot_str prefix;
    unsigned n;
} attribute_count;

/* Where the next call enters. */
typedef enum tracer_mode {
    MODE_TOP,        /* autograd and all below */
    MODE_FUNCTIONAL, /* below functionalization: recorded there, then decomposed */
    MODE_DECOMP      /* within a decomposition */
} tracer_mode;

struct aot_tracer {
    aot_ctx *c;
    aot_arena *a;
    aot_trace_options options;
    level_graph level[AOT_N_LEVELS];
    op_facts *facts[AOT_N_OPS];
    AOT_VEC(op_facts *) customs; /* ids from AOT_N_OPS on */
    aot_tensor *token;           /* inner: of the last effect; NULL before the first */
    AOT_VEC(const aot_fake *) fakes; /* by aot_meta_id */
    /* in_function: a forward of torch.autograd.Function */
    bool grad_enabled, in_backward, in_function;
    tracer_mode mode;
    aot_str rule;               /* why the next nodes are made */
    /* types that the next call gives; NULL: by META, by the Dynamo graph */
    const aot_meta_id *believed;
    unsigned n_believed;
    aot_op_id believed_op;      /* whose; AOT_OP_UNKNOWN: a custom operator's */
    bool probing;               /* what is traced is thrown away */
    unsigned below_aten;        /* expansions around: AOT_LEVEL_ATEN has the outermost composite */
    aot_namespace *real_names[AOT_N_LEVELS]; /* while probing */
    aot_node_id functional_parent, traced_parent;
    const grad_fn *reading;     /* whose formula is run; NULL */
    aot_src src;                /* of the node being run */
    const aot_graph *at_graph;
    aot_node_id at_node;
    uint64_t next_seq;
    unsigned next_storage, next_constant, engine_run;
    void *lower_slot, *hop_slot;
    AOT_VEC(aot_tensor *) attrs; /* get_attrs that were read, by aot_str of the attribute */
    AOT_VEC(autocast_state) autocast;
    AOT_VEC(layer) layers;
    unsigned depth; /* how many of the layers a call passes through */
    unsigned n_layers_pushed;
    AOT_VEC(const aot_subgraph *) subgraphs;
    AOT_VEC(attribute_count) attributes;
    aot_region region;
    int32_t n_regions;
    aot_str region_plain, region_text; /* the comment of the last node in a region */
    AOT_VEC(void *) heap;       /* freed with the trace */
    aot_err *err;
    jmp_buf *leave;
    aot_status status;
};

/* tracer.c */
/* The row's DECOMP cell; false if it has none or does not take the call. */
bool tr_expand(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, const char *what,
               aot_value *out);
void tr_op_defaults(aot_tracer *t, op_facts *f);

/* subclass.c: whether an argument is a tensor subclass; a call on each inner tensor. */
bool tr_has_parts(unsigned n, const aot_value *args);
aot_value tr_each_part(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args,
                       aot_value (*call)(aot_tracer *, aot_op_id, unsigned, const aot_value *));

/* custom.c */
/* --opaque: a node that stands for the gradient of an operator without a rule. */
void tr_opaque_gradient(aot_tracer *t, grad_fn *fn, aot_tensor *const *grads, aot_tensor **out);
/* Whether the type that the Dynamo graph states is that of this operator's result. */
bool tr_may_believe(const aot_tracer *t, aot_op_id op);
/* What nodes are marked by: "believed type of aten.foo.default". */
aot_str tr_believed(aot_tracer *t, const char *what, const char *op);
aot_value tr_stated_types(aot_tracer *t);

/* number.c: what the node being run is stated to be; *meta as stated. */
aot_value tr_stated_number(aot_tracer *t, aot_meta_id *meta);
aot_value tr_item(aot_tracer *t, aot_meta_id *meta); /* of the element of a tensor */

/* custom.c */
aot_value tr_auto_functionalize(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
aot_value tr_effect(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);

/* keep.c: the export path. */
bool tr_keeps(aot_tracer *t, aot_op_id op); /* whether a composite stays as it is */
bool tr_keep(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, aot_value *out);
/* Expands a composite; AOT_LEVEL_ATEN gets the call itself. False: it has no expansion. */
bool tr_expand_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args,
                     aot_value *out);

/* value.c */
aot_tensor *tr_tensor_new(aot_tracer *t, aot_meta_id meta);
const aot_fake *tr_fake(aot_tracer *t, aot_meta_id meta);
void *tr_alloc(aot_tracer *t, size_t n, size_t size); /* zeroed */
/* Calls fn for each tensor in a value, in order. */
void tr_each_tensor(aot_value v, void (*fn)(void *, aot_tensor *), void *arg);
/* The value with each tensor replaced by fn's. */
aot_value tr_map_tensors(aot_tracer *t, aot_value v, aot_tensor *(*fn)(void *, aot_tensor *),
                         void *arg);

/* emit.c */
aot_node_id tr_emit_call(aot_tracer *t, aot_level l, aot_op_id op, unsigned n,
                         const aot_value *args);
aot_node_id tr_emit(aot_tracer *t, aot_level l, aot_node n, const char *name, unsigned n_args,
                    const aot_value *args);
/* The same; the last n_kw of args are keyword arguments. */
aot_node_id tr_emit_kw(aot_tracer *t, aot_level l, aot_node n, const char *name, unsigned n_args,
                       const aot_value *args, unsigned n_kw, const char *const *kw_names);
/* Gives the tensors of a result their nodes at a level; makes getitem nodes for several. */
void tr_bind(aot_tracer *t, aot_level l, aot_node_id id, aot_value result);
void tr_bind_tensor(aot_tracer *t, aot_level l, aot_node_id id, aot_tensor *x);
/* Emits at the level of inner tensors: node, META, results. */
aot_value tr_emit_inner(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
const char *tr_op_text(aot_tracer *t, aot_op_id op); /* "aten.mm.default" */

/* symbol.c: the nodes of symbols. Those of a tensor's sizes or strides can be read from it. */
void tr_sym_of_node(aot_tracer *t, aot_level l, aot_dim d, aot_node_id id);
void tr_sym_of_dims(aot_tracer *t, aot_level l, aot_tensor *x, const aot_dim *d, bool stride);
aot_arg tr_sym_arg(aot_tracer *t, aot_level l, aot_dim d);
/* What a fresh functional tensor asks of its sizes: the bytes of its storage, offset + 1 + sum of
 * stride * (size - 1), times those of an item. Mirrors c10's computeStorageNbytes for symbols,
 * where a wrapper subclass is made: in the forward each step is a node, of which the sizes may
 * stay. */
void tr_sym_storage(aot_tracer *t, const aot_tensor *x);
void tr_rebind(aot_tracer *t, aot_call *k); /* symbols of data as the Dynamo graph calls them */

/* functional.c */
aot_value tr_functional(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
/* A call on inner tensors, recorded at FUNCTIONAL. */
aot_value tr_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
aot_value tr_decompose(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
/* A lazily conjugated or negated tensor must be cloned for this operator. */
bool tr_must_resolve(aot_op_id op, const aot_tensor *x);
void tr_sync(aot_tracer *t, aot_tensor *x); /* brings the inner value up to date */
void tr_commit(aot_tracer *t, aot_tensor *x, aot_tensor *value); /* x's new value */
aot_tensor *tr_wrap(aot_tracer *t,
                    aot_tensor *inner); /* a fresh outer tensor with its own storage */

/* view_inverse.c: what base becomes when its view has become value. All inner. */
aot_tensor *tr_view_inverse(aot_tracer *t, const view_step *v, aot_tensor *base, aot_tensor *value);
/* Runs a view step on x; inner or outer as the tracer stands. */
aot_tensor *tr_view_apply(aot_tracer *t, const view_step *v, aot_tensor *x);

/* autograd.c */
aot_value tr_autograd(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);
grad_fn *tr_grad_fn(aot_tracer *t, aot_tensor *x); /* NULL if it needs no gradient */
/* The order in which results are saved and read back: by their names in the schema, as
 * tools/autograd sorts them. Gives how many. */
unsigned *tr_saved_order(aot_tracer *t, const grad_fn *fn, unsigned *n);
grad_edge tr_gradient_edge(aot_tracer *t, aot_tensor *x);
grad_fn *tr_grad_fn_new(aot_tracer *t, grad_kind kind, unsigned n_edges, unsigned n_out);
void tr_set_history(aot_tracer *t, aot_tensor *x, grad_fn *fn, unsigned out_nr);

/* layer.c */
bool tr_in_vmap(const aot_tracer *t); /* the next call is seen by a vmap layer */
/* Tensors of grad layers that were left give way to what they wrap. */
aot_value *tr_alive(aot_tracer *t, unsigned n, const aot_value *args);
aot_value tr_vmap(aot_tracer *t, const op_facts *f, aot_op_id op, const aot_value *args);
aot_value *tr_grad_wrappers(aot_tracer *t, unsigned n, const aot_value *args);
/* A call of a grad layer, passed on to the next one. */
aot_value tr_grad_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args);

/* engine.c */
void tr_apply(aot_tracer *t, grad_fn *fn, aot_tensor **grads, aot_tensor **out);

#endif
