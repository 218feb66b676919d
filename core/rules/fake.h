/* Fake tensors: what META rules compute with. A rule reads the arguments of one ATen call as types
 * and appends the type of each output: sizes, strides, dtype, device, with symbols.
 * Mirrors torch/_subclasses/fake_tensor.py and the meta kernels (torch/_meta_registrations.py,
 * torch/_refs, torch/_prims_common). */
#ifndef AOT_RULES_FAKE_H
#define AOT_RULES_FAKE_H

#include "ir/graph.h"
#include "ir/symalg.h"
#include "rules/rules.h"

enum { AOT_FAKE_MAX_NDIM = 16 };

typedef enum aot_memory_format {
    AOT_MF_CONTIGUOUS, AOT_MF_CHANNELS_LAST, AOT_MF_CHANNELS_LAST_3D, AOT_MF_PRESERVE
} aot_memory_format;

/* The type of one value. Strides are in elements. */
typedef struct aot_fake {
    uint8_t val;   /* aot_val: tensor, symbol, or none */
    uint8_t dtype; /* aot_dtype, if a tensor */
    uint8_t ndim;
    uint8_t sym_kind; /* aot_sym, if a symbol */
    aot_str device; /* "cpu", "cuda:0" */
    aot_dim sym;    /* if a symbol */
    aot_dim size[AOT_FAKE_MAX_NDIM], stride[AOT_FAKE_MAX_NDIM];
} aot_fake;

/* One call: the node whose arguments are read and the outputs appended so far. */
struct aot_call {
    aot_ctx *c;
    const aot_graph *g;
    const aot_node *n;
    AOT_VEC(aot_fake) outs;
    bool is_list;  /* the outputs are one list or tuple, even if there is one */
    bool unbacked; /* the result's size depends on data: a rule makes fresh symbols u0, u1 ... */
    aot_err *err;
};

/* Runs the META rule of a node. Types of arguments come from their printed metas.
 * *n_outs = 0 and AOT_E_UNSUPPORTED if the row has no rule (message: the operator and, as PyTorch
 * says it, that it lacks a fake implementation). Free with aot_call_free. */
AOT_NODISCARD aot_status aot_fake_run(struct aot_call *call, aot_ctx *c, const aot_graph *g,
                                      aot_node_id id, aot_err *err);
void aot_call_free(struct aot_call *call);
/* The annotation as PyTorch prints it ("f32[4, s0][s0, 1]cpu", "Sym(s0)"). */
aot_meta_id aot_fake_meta(aot_ctx *c, const aot_fake *t);
/* The other way round; a type printed without strides gets contiguous ones. */
aot_fake aot_fake_of_meta(const aot_ctx *c, aot_meta_id m);

/* ---- arguments, by the schema's position and name; defaults of the schema count ------------- */
const aot_arg *aot_call_arg(const struct aot_call *k, unsigned pos,
                            const char *name); /* NULL: absent or None */
bool aot_call_tensor(const struct aot_call *k, unsigned pos, const char *name, aot_fake *out);
unsigned aot_call_n_items(const struct aot_call *k, unsigned pos,
                          const char *name); /* of a list; 0 if absent */
bool aot_call_tensor_item(const struct aot_call *k, unsigned pos, const char *name, unsigned i,
                          aot_fake *out);
aot_dim aot_call_int(const struct aot_call *k, unsigned pos, const char *name, int64_t def);
aot_dim aot_call_item(const struct aot_call *k, unsigned pos, const char *name, unsigned i,
                      int64_t def);
bool aot_call_bool(const struct aot_call *k, unsigned pos, const char *name, bool def);
aot_dtype aot_call_dtype(const struct aot_call *k, unsigned pos, const char *name, aot_dtype def);
aot_str aot_call_device(const struct aot_call *k, unsigned pos, const char *name, aot_str def);
aot_memory_format aot_call_memory_format(const struct aot_call *k, unsigned pos, const char *name,
                                         aot_memory_format def);
/* A Python number's type: bool, int, float (default dtype f32), complex; AOT_NO_DTYPE if it is
 * none. */
aot_dtype aot_call_scalar_dtype(const struct aot_call *k, unsigned pos, const char *name);

/* ---- results -------------------------------------------------------------------------------- */
void aot_call_push(struct aot_call *k, const aot_fake *t);
void aot_call_push_none(struct aot_call *k);
aot_fake aot_fake_new(aot_dtype d, unsigned ndim, const aot_dim *sizes,
                      aot_str device); /* contiguous */
void aot_fake_set_contiguous(aot_ctx *c, aot_fake *t);
void aot_fake_set_format(aot_ctx *c, aot_fake *t,
                         aot_memory_format f); /* PRESERVE is not allowed */
bool aot_fake_is_contiguous(const aot_fake *t);
bool aot_fake_is_format(const aot_fake *t, aot_memory_format f);
bool aot_fake_is_dense(const aot_fake *t); /* non-overlapping and dense */
/* Strides of element-wise results of n tensors of t's size: dense, in the order of their strides;
 * what is contiguous, or in channels-last order, stays so, whatever strides dimensions of one
 * element have. */
void aot_fake_set_permuted(aot_ctx *c, aot_fake *t, const aot_fake *in, unsigned n);
/* The dimensions from the outermost in memory to the innermost. */
void aot_fake_physical_order(const aot_fake *t, unsigned *outer);
/* Strides of empty_like / clone with preserve_format: dense ones are kept, else order by stride. */
void aot_fake_set_like(aot_ctx *c, aot_fake *t, const aot_fake *like);
unsigned aot_fake_dim(const aot_fake *t, int64_t dim); /* from the front; ndim if out of range */
aot_dim aot_fake_numel(aot_ctx *c, const aot_fake *t);

/* ---- element-wise operators ------------------------------------------------------------------ */
typedef enum aot_promote { /* torch/_prims_common:ELEMENTWISE_TYPE_PROMOTION_KIND */
    AOT_PROMOTE_DEFAULT, AOT_PROMOTE_NO_OPMATH, AOT_PROMOTE_INT_TO_FLOAT, AOT_PROMOTE_ALWAYS_BOOL,
    AOT_PROMOTE_COMPLEX_TO_FLOAT, AOT_PROMOTE_BOOL_TO_LONG
} aot_promote;
/* dtype of mixed operands: tensors with dimensions before those without, before Python numbers. */
aot_dtype aot_promote_types(aot_dtype a, aot_dtype b);
/* dtype of n tensors and a Python number's type (AOT_NO_DTYPE: no number). */
aot_dtype aot_mixed_dtype(const aot_fake *in, unsigned n, aot_dtype number, aot_promote kind);
/* Broadcasts n tensors (sizes by value equality; a mismatch is E_SHAPE) and gives the result the
 * strides that TensorIterator does. dtype is the caller's. */
AOT_NODISCARD aot_status aot_fake_elementwise(struct aot_call *k, const aot_fake *in, unsigned n,
                                              aot_dtype dtype, aot_fake *out);
/* The common rule: all tensor arguments and numbers of the call, promoted and broadcast, pushed. */
AOT_NODISCARD aot_status aot_meta_elementwise(struct aot_call *k, aot_promote kind);

#endif
