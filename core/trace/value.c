/* Values, tensors and what rules read of them. */
#include <string.h>

#include "trace/internal.h"

void *tr_alloc(aot_tracer *t, size_t n, size_t size)
{
    return aot_arena_calloc(t->a, n, size);
}

aot_ctx *aot_tracer_ctx(aot_tracer *t)
{
    return t->c;
}

aot_arena *aot_tracer_arena(aot_tracer *t)
{
    return t->a;
}

/* ---- making values ------------------------------------------------------------------------ */

aot_value aot_v_str(aot_tracer *t, const char *s)
{
    return (aot_value){.kind = AOT_V_STR, .u.s = aot_intern_z(t->c->strs, s)};
}

aot_value aot_v_name(aot_tracer *t, const char *dotted)
{
    return (aot_value){.kind = AOT_V_NAME, .u.s = aot_intern_z(t->c->strs, dotted)};
}

aot_value aot_v_memory_format(aot_tracer *t, aot_memory_format f)
{
    static const char *const names[] = {"torch.contiguous_format", "torch.channels_last",
                                        "torch.channels_last_3d", "torch.preserve_format"};
    return aot_v_name(t, names[f]);
}

static aot_value items_value(aot_tracer *t, aot_value_kind kind, unsigned n,
                             const aot_value *items)
{
    aot_value *copy = tr_alloc(t, n == 0 ? 1 : n, sizeof *copy);
    if (n != 0) {
        memcpy(copy, items, n * sizeof *copy);
    }
    return (aot_value){.kind = (uint8_t)kind, .n = n, .u.items = copy};
}

aot_value aot_v_list(aot_tracer *t, unsigned n, const aot_value *items)
{
    return items_value(t, AOT_V_LIST, n, items);
}

aot_value aot_v_tuple(aot_tracer *t, unsigned n, const aot_value *items)
{
    return items_value(t, AOT_V_TUPLE, n, items);
}

aot_value aot_v_dims(aot_tracer *t, aot_dims d)
{
    aot_value *items = tr_alloc(t, d.n + 1, sizeof *items);
    for (unsigned i = 0; i < d.n; i++) {
        items[i] = aot_v_dim(d.d[i]);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = d.n, .u.items = items};
}

aot_value aot_v_ints(aot_tracer *t, unsigned n, const int64_t *v)
{
    aot_value *items = tr_alloc(t, n + 1, sizeof *items);
    for (unsigned i = 0; i < n; i++) {
        items[i] = aot_v_int(v[i]);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = n, .u.items = items};
}

aot_value aot_v_tensors(aot_tracer *t, unsigned n, aot_tensor *const *v)
{
    aot_value *items = tr_alloc(t, n + 1, sizeof *items);
    for (unsigned i = 0; i < n; i++) {
        items[i] = aot_v_tensor(v[i]);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = n, .u.items = items};
}

aot_tensor *aot_v_item(aot_value v, unsigned i)
{
    if (!aot_v_is_list(v)) {
        return i == 0 && v.kind == AOT_V_TENSOR ? v.u.t : NULL;
    }
    return i < v.n && v.u.items[i].kind == AOT_V_TENSOR ? v.u.items[i].u.t : NULL;
}

aot_tensor *aot_v_first(aot_value v)
{
    return aot_v_item(v, 0);
}

/* Values nest as Python literals do, a few levels. */
void tr_each_tensor(aot_value v, void (*fn)(void *, aot_tensor *), void *arg)
{
    if (v.kind == AOT_V_TENSOR) {
        fn(arg, v.u.t);
    } else if (aot_v_is_list(v) || v.kind == AOT_V_DICT || v.kind == AOT_V_SLICE) {
        for (unsigned i = 0; i < v.n; i++) {
            tr_each_tensor(v.u.items[i], fn, arg);
        }
    }
}

aot_value tr_map_tensors(aot_tracer *t, aot_value v, aot_tensor *(*fn)(void *, aot_tensor *),
                         void *arg)
{
    if (v.kind == AOT_V_TENSOR) {
        return aot_v_tensor(fn(arg, v.u.t));
    }
    if (!aot_v_is_list(v) && v.kind != AOT_V_DICT && v.kind != AOT_V_SLICE) {
        return v;
    }
    aot_value *items = tr_alloc(t, v.n + 1, sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = tr_map_tensors(t, v.u.items[i], fn, arg);
    }
    v.u.items = items;
    return v;
}

/* ---- tensors ------------------------------------------------------------------------------ */

const aot_fake *tr_fake(aot_tracer *t, aot_meta_id meta)
{
    while (t->fakes.n <= meta) {
        aot_vec_push(&t->fakes, NULL);
    }
    if (t->fakes.d[meta] == NULL) {
        aot_fake *f = tr_alloc(t, 1, sizeof *f);
        *f = aot_fake_of_meta(t->c, meta);
        t->fakes.d[meta] = f;
    }
    return t->fakes.d[meta];
}

aot_tensor *tr_tensor_new(aot_tracer *t, aot_meta_id meta)
{
    aot_tensor *x = tr_alloc(t, 1, sizeof *x);
    x->meta = meta;
    x->type = tr_fake(t, meta);
    x->input = -1;
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        x->node[l] = AOT_NO_NODE;
    }
    return x;
}

const aot_fake *aot_type_of(const aot_tensor *x)
{
    return x->type;
}

aot_dim aot_size(const aot_tensor *x, int64_t dim)
{
    unsigned d = aot_fake_dim(x->type, dim);
    return d < x->type->ndim ? x->type->size[d] : aot_dim_of(1);
}

aot_dim aot_numel(aot_tracer *t, const aot_tensor *x)
{
    return aot_fake_numel(t->c, x->type);
}

bool aot_requires_grad(const aot_tensor *x)
{
    return x != NULL && x->requires_grad;
}

bool aot_is_contiguous(const aot_tensor *x)
{
    return aot_fake_is_contiguous(x->type);
}

bool aot_is_complex(const aot_tensor *x)
{
    return aot_dtype_get((aot_dtype)x->type->dtype)->kind == 'c';
}

bool aot_is_float(const aot_tensor *x)
{
    return aot_dtype_get((aot_dtype)x->type->dtype)->kind == 'f';
}

bool aot_is_wrapped_number(const aot_tensor *x)
{
    return x->wrapped_number;
}

unsigned aot_wrap_dim(aot_tracer *t, int64_t dim, unsigned ndim)
{
    int64_t n = ndim == 0 ? 1 : ndim, d = dim < 0 ? dim + n : dim;
    if (d < 0 || d >= n) {
        aot_trace_fail(t, AOT_E_SHAPE,
                       "Dimension out of range (expected to be in range of [%lld, %lld], but got "
                       "%lld)",
                       (long long)-n, (long long)(n - 1), (long long)dim);
    }
    return (unsigned)d;
}

/* ---- arguments of a call that is expanded ---------------------------------------------------- */

static const aot_value *argument(unsigned n, const aot_value *args, unsigned pos)
{
    static const aot_value none = {.kind = AOT_V_NONE};
    return pos < n ? &args[pos] : &none;
}

static aot_tensor *tensor_of(const aot_value *v)
{
    return v->kind == AOT_V_TENSOR ? v->u.t : NULL;
}

static aot_dim dim_of(const aot_value *v, int64_t if_none)
{
    switch (v->kind) {
    case AOT_V_INT:
    case AOT_V_BOOL:
    case AOT_V_DTYPE: return v->u.dim;
    case AOT_V_FLOAT: return aot_dim_of((int64_t)v->u.f);
    default: return aot_dim_of(if_none);
    }
}

static double float_of(const aot_value *v, double if_none)
{
    switch (v->kind) {
    case AOT_V_FLOAT: return v->u.f;
    case AOT_V_INT:
    case AOT_V_BOOL: return (double)v->u.dim.value;
    case AOT_V_COMPLEX: return v->u.z[0];
    default: return if_none;
    }
}

static aot_dims dims_of(aot_tracer *t, const aot_value *v)
{
    if (v->kind == AOT_V_INT) {
        return (aot_dims){&v->u.dim, 1};
    }
    if (!aot_v_is_list(*v)) {
        return (aot_dims){NULL, 0};
    }
    aot_dim *d = tr_alloc(t, v->n + 1, sizeof *d);
    for (unsigned i = 0; i < v->n; i++) {
        d[i] = dim_of(&v->u.items[i], 0);
    }
    return (aot_dims){d, v->n};
}

/* Rules take what the schema requires as given; a damaged graph may hold something else there. */
static AOT_NORETURN void fail_no_tensor(const aot_expand *k, const aot_schema_arg *a)
{
    aot_trace_fail(k->t, AOT_E_SHAPE, "%s: a Tensor is wanted as '%.*s'", aot_op(k->op)->name,
                   (int)a->name.n, a->name.s);
}

static const aot_schema_arg *schema_arg(const aot_expand *k, unsigned pos)
{
    const op_facts *f = tr_op(k->t, k->op);
    return pos < f->schema.n_args ? &f->schema.args[pos] : NULL;
}

aot_tensor *aot_x_tensor(const aot_expand *k, unsigned pos)
{
    aot_tensor *x = tensor_of(argument(k->n, k->args, pos));
    if (x == NULL) {
        const aot_schema_arg *a = schema_arg(k, pos);
        if (a != NULL && a->kind == AOT_TYPE_TENSOR && !a->optional && !a->is_list) {
            fail_no_tensor(k, a);
        }
    }
    return x;
}

unsigned aot_x_tensors(const aot_expand *k, unsigned pos, aot_tensor *const **out)
{
    const aot_value *v = argument(k->n, k->args, pos);
    unsigned n = aot_v_is_list(*v) ? v->n : 0;
    aot_tensor **list = tr_alloc(k->t, n + 1, sizeof(aot_tensor *));
    for (unsigned i = 0; i < n; i++) {
        list[i] = tensor_of(&v->u.items[i]);
        const aot_schema_arg *a = list[i] == NULL ? schema_arg(k, pos) : NULL;
        if (a != NULL && a->kind == AOT_TYPE_TENSOR && !a->item_optional) {
            fail_no_tensor(k, a);
        }
    }
    *out = list;
    return n;
}

aot_dim aot_x_dim(const aot_expand *k, unsigned pos, int64_t if_none)
{
    return dim_of(argument(k->n, k->args, pos), if_none);
}

int64_t aot_x_int(const aot_expand *k, unsigned pos, int64_t if_none)
{
    return aot_x_dim(k, pos, if_none).value;
}

double aot_x_float(const aot_expand *k, unsigned pos, double if_none)
{
    return float_of(argument(k->n, k->args, pos), if_none);
}

bool aot_x_bool(const aot_expand *k, unsigned pos)
{
    return dim_of(argument(k->n, k->args, pos), 0).value != 0;
}

aot_dims aot_x_dims(const aot_expand *k, unsigned pos)
{
    return dims_of(k->t, argument(k->n, k->args, pos));
}

aot_dtype aot_x_dtype(const aot_expand *k, unsigned pos)
{
    const aot_value *v = argument(k->n, k->args, pos);
    return v->kind == AOT_V_DTYPE ? (aot_dtype)v->u.dim.value : AOT_NO_DTYPE;
}

bool aot_x_is_none(const aot_expand *k, unsigned pos)
{
    return argument(k->n, k->args, pos)->kind == AOT_V_NONE;
}

bool aot_x_str_is(const aot_expand *k, unsigned pos, const char *text)
{
    const aot_value *v = argument(k->n, k->args, pos);
    return (v->kind == AOT_V_STR || v->kind == AOT_V_NAME) &&
           strcmp(aot_text(k->t->c, v->u.s), text) == 0;
}

bool aot_x_give_value(aot_expand *k, aot_value v)
{
    k->result = v;
    return true;
}

bool aot_x_give(aot_expand *k, aot_tensor *x)
{
    return aot_x_give_value(k, aot_v_tensor(x));
}

bool aot_x_give_tuple(aot_expand *k, unsigned n, aot_tensor *const *x)
{
    aot_value v = aot_v_tensors(k->t, n, x);
    v.kind = AOT_V_TUPLE;
    return aot_x_give_value(k, v);
}

/* ---- what a gradient's rule reads and sets --------------------------------------------------- */

aot_tracer *aot_vjp_tracer(const aot_vjp *b)
{
    return b->t;
}

aot_tensor *aot_vjp_grad(const aot_vjp *b, unsigned output)
{
    return output < b->fn->n_out ? b->grads[output] : NULL;
}

static bool edge_is_wanted(const grad_fn *fn, unsigned e)
{
    return fn->edges[e].fn != NULL && fn->edges[e].fn->needed;
}

bool aot_vjp_needs(const aot_vjp *b, unsigned pos)
{
    const grad_fn *fn = b->fn;
    for (unsigned e = fn->edge_of[pos]; pos < fn->n_args && e < fn->edge_of[pos + 1]; e++) {
        if (edge_is_wanted(fn, e)) {
            return true;
        }
    }
    return false;
}

void aot_vjp_set_item(aot_vjp *b, unsigned pos, unsigned i, aot_tensor *grad)
{
    unsigned e = b->fn->edge_of[pos] + i;
    if (e < b->fn->edge_of[pos + 1]) {
        b->out[e] = grad;
    }
}

void aot_vjp_set(aot_vjp *b, unsigned pos, aot_tensor *grad)
{
    aot_vjp_set_item(b, pos, 0, grad);
}

aot_value aot_vjp_arg(const aot_vjp *b, unsigned pos)
{
    return *argument(b->fn->n_args, b->fn->args, pos);
}

/* A number where the schema has a tensor: on its way back to a call it is that number again. */
static aot_tensor *wrapped_number(const aot_vjp *b, unsigned pos, aot_value v)
{
    bool named = b->fn->op >= AOT_N_OPS || aot_op(b->fn->op)->schema != NULL;
    const op_facts *f = b->fn->custom == NULL && named ? tr_op(b->t, b->fn->op) : NULL;
    if (f == NULL || pos >= f->schema.n_args || f->schema.args[pos].kind != AOT_TYPE_TENSOR) {
        return NULL;
    }
    aot_dtype d = v.kind == AOT_V_BOOL      ? AOT_B8
                  : v.kind == AOT_V_INT     ? AOT_I64
                  : v.kind == AOT_V_COMPLEX ? AOT_C128
                                            : AOT_F64;
    aot_fake type = aot_fake_new(d, 0, NULL, aot_intern_z(b->t->c->strs, "cpu"));
    aot_tensor *x = tr_tensor_new(b->t, aot_fake_meta(b->t->c, &type));
    x->wrapped_number = true;
    x->number = v;
    return x;
}

aot_tensor *aot_vjp_in(const aot_vjp *b, unsigned pos)
{
    const aot_value *v = argument(b->fn->n_args, b->fn->args, pos);
    return v != NULL && aot_v_is_number(*v) ? wrapped_number(b, pos, *v) : tensor_of(v);
}

unsigned aot_vjp_n_items(const aot_vjp *b, unsigned pos)
{
    const aot_value *v = argument(b->fn->n_args, b->fn->args, pos);
    return aot_v_is_list(*v) ? v->n : 0;
}

aot_tensor *aot_vjp_in_item(const aot_vjp *b, unsigned pos, unsigned i)
{
    return i < aot_vjp_n_items(b, pos)
               ? tensor_of(&argument(b->fn->n_args, b->fn->args, pos)->u.items[i])
               : NULL;
}

aot_tensor *aot_vjp_out(const aot_vjp *b, unsigned output)
{
    aot_tensor *x = output < b->fn->n_out ? b->unpacked[output] : NULL;
    if (x == NULL) {
        aot_trace_fail(b->t, AOT_E_GRAPH,
                       "gradient of %s reads output %u, which its row does not save",
                       tr_op_text(b->t, b->fn->op), output);
    }
    return x;
}

const aot_fake *aot_vjp_out_type(const aot_vjp *b, unsigned output)
{
    aot_tensor *x = aot_v_item(b->fn->result, output);
    return x != NULL ? x->type : NULL;
}

aot_dim aot_vjp_dim(const aot_vjp *b, unsigned pos, int64_t if_none)
{
    return dim_of(argument(b->fn->n_args, b->fn->args, pos), if_none);
}

int64_t aot_vjp_int(const aot_vjp *b, unsigned pos, int64_t if_none)
{
    return aot_vjp_dim(b, pos, if_none).value;
}

double aot_vjp_float(const aot_vjp *b, unsigned pos, double if_none)
{
    return float_of(argument(b->fn->n_args, b->fn->args, pos), if_none);
}

bool aot_vjp_bool(const aot_vjp *b, unsigned pos)
{
    return aot_vjp_dim(b, pos, 0).value != 0;
}

aot_dims aot_vjp_dims(const aot_vjp *b, unsigned pos)
{
    return dims_of(b->t, argument(b->fn->n_args, b->fn->args, pos));
}

bool aot_vjp_is_none(const aot_vjp *b, unsigned pos)
{
    return argument(b->fn->n_args, b->fn->args, pos)->kind == AOT_V_NONE;
}
