/* A trace as its driver sees it: inputs in, graphs of all levels out. Rules use trace.h. */
#ifndef AOT_TRACE_TRACER_H
#define AOT_TRACE_TRACER_H

#include "trace/trace.h"

/* What a person chose for an operator, whatever the table says. */
typedef enum aot_op_choice {
    AOT_CHOICE_TABLE,
    AOT_CHOICE_DECOMPOSE,
    AOT_CHOICE_KEEP
} aot_op_choice;

typedef struct aot_trace_options {
    bool decompose;   /* use Inductor's decomposition table */
    bool fallback_random; /* of Inductor's table, without the random operators */
    bool core_decompose; /* use the core ATen table */
    const uint8_t *choice; /* aot_op_choice of each operator; NULL: the table alone */
    bool export_path; /* composites are kept (all, or those chosen where core_decompose) */
    bool opaque;      /* believe a recorded type where an operator has no META rule */
    const char *const *schemas; /* of custom operators: "ns::name(Tensor x) -> Tensor" */
    unsigned n_schemas;
    bool dry;         /* only the types are wanted: levels above JOINT are not written */
} aot_trace_options;

/* The trace's graphs belong to c; everything else is freed with the tracer. */
aot_tracer *aot_tracer_new(aot_ctx *c, const aot_trace_options *o);
void aot_tracer_free(aot_tracer *t); /* NULL is fine */
/* Runs fn; what it fails with is returned and described in *err. */
AOT_NODISCARD aot_status aot_tracer_run(aot_tracer *t, void (*fn)(aot_tracer *t, void *arg),
                                        void *arg, aot_err *err);

/* A placeholder at each level. Outer tensor with storage of its own; leaf if requires_grad. */
aot_tensor *aot_trace_input_tensor(aot_tracer *t, const char *name, aot_meta_id meta,
                                   bool requires_grad, const char *desc);
aot_value aot_trace_input_symbol(aot_tracer *t, const char *name, aot_meta_id meta,
                                 const char *desc);
/* A number or text that an exported program takes and has written into its operators: no type, no
 * users. */
aot_value aot_trace_input_constant(aot_tracer *t, const char *name, const char *desc);
/* Output node of a level; tensors are synced inner ones at FUNCTIONAL and JOINT. */
void aot_trace_output(aot_tracer *t, aot_level l, aot_value v);

/* torch.autograd.grad(outs, inputs, grad_outputs=tangents, allow_unused=True): gradients of inputs,
 * NULL where unused. Mirrors torch/csrc/autograd/engine.cpp in the order of what is called. */
void aot_trace_backward(aot_tracer *t, unsigned n_out, aot_tensor *const *outs,
                        aot_tensor *const *tangents, unsigned n_in, aot_tensor *const *inputs,
                        aot_tensor **grads);

/* Says what the last tensor of aot_tracer_constant holds: its numbers, row-major, with blanks
 * between. */
void aot_tracer_constant_is(aot_tracer *t, const char *numbers);

/* Effect tokens: the inner tensor that stands for all effects so far; NULL if there were none. */
void aot_trace_set_token(aot_tracer *t, aot_tensor *token);
aot_tensor *aot_trace_token(const aot_tracer *t);
aot_meta_id aot_trace_token_type(aot_tracer *t);

/* Tensor subclasses (trace/subclasses.def). Attributes of the one that a type names: their number,
 * 0 if it is none that is known. */
unsigned aot_trace_subclass(const aot_ctx *c, aot_meta_id meta, const char *const **attrs);
aot_meta_id aot_trace_inner_type(aot_tracer *t, aot_meta_id meta); /* of its inner tensors */
aot_tensor *aot_trace_wrap(aot_tracer *t, aot_str name, aot_tensor *const *parts,
                           bool requires_grad);
aot_meta_id aot_trace_meta(const aot_tensor *x); /* its printed type */
aot_tensor *const *aot_trace_parts(const aot_tensor *x, unsigned *n); /* n = 0: a plain tensor */

/* Facts that the analysis of inputs and outputs asks for. */
void aot_trace_sync(aot_tracer *t, aot_tensor *x);
aot_tensor *aot_trace_inner(aot_tensor *x); /* the functional value, synced or not */
const void *aot_trace_storage(const aot_tensor *x);
unsigned aot_trace_mutations(const aot_tensor *x);         /* of its storage */
unsigned aot_trace_mutations_no_grad(const aot_tensor *x); /* of these, under no_grad */
bool aot_trace_metadata_mutated(const aot_tensor *x);
aot_tensor *aot_trace_view_base(const aot_tensor *x); /* autograd's _base; NULL */
bool aot_trace_is_multi_view(const aot_tensor *x);
bool aot_trace_has_grad_fn(aot_tracer *t,
                           aot_tensor *x); /* makes it anew where a base was written */
/* As aot_trace_dim, of a value that nothing else is to find: it is that of the next use alone.
 * What is not used then is forgotten. */
aot_dim aot_trace_once(aot_tracer *t, char op, aot_dim a, aot_dim b);
void aot_trace_forget(aot_tracer *t, aot_dim d);
/* A copy_ of an inner value into an input, written to the functional levels. follows: what is
 * returned of the input from here on is the copy_; else the input itself, as in a joint graph. */
void aot_trace_copy_back(aot_tracer *t, aot_tensor *input_inner, aot_tensor *value_inner,
                         bool follows);

/* The finished graph of a level, dead nodes removed at the functional levels. */
aot_graph *aot_trace_graph(aot_tracer *t, aot_level l);
/* Of a finished graph's node: the rule that made it ("decomposition of aten.gelu.default"; ""
 * none), and the node of the finished graph one level up that it was made for (AOT_NO_NODE). */
const char *aot_trace_rule_of(const aot_tracer *t, aot_level l, aot_node_id id);
aot_node_id aot_trace_parent_of(const aot_tracer *t, aot_level l, aot_node_id id);
/* Of a node of AOT_LEVEL_TRACED: the node of AOT_LEVEL_ATEN that is the same call; AOT_NO_NODE. */
aot_node_id aot_trace_aten_of(const aot_tracer *t, aot_node_id id);
/* Whether the user had disabled gradients where it was made; not so in the forward of a
 * torch.autograd.Function. */
bool aot_trace_without_grad(const aot_tracer *t, aot_level l, aot_node_id id);
/* What is traced next is such a forward, or no longer. */
void aot_trace_in_function(aot_tracer *t, bool on);
/* An input made for a value like another, such as a tangent: it is lazily conjugated or negated if
 * that one is. */
void aot_mark_like(aot_tensor *x, const aot_tensor *like);

#endif
