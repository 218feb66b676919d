/* Operators that give back what they are given.
 *
 * A result of its own memory must stay if dropping it would make an output share memory with an
 * input or with another output: the caller could tell. A view may go.
 * Mirrors: torch/_inductor/fx_passes/post_grad.py:remove_noop_ops and its registry of
 * conditions. */
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"

typedef bool cond_fn(const fx *f, uint32_t id);

bool joint_dim(const fx *f, const aot_arg *a, aot_dim *out)
{
    if (a == NULL) {
        return false;
    }
    if (a->kind == AOT_ARG_INT) {
        *out = (aot_dim){.value = a->u.i};
        return true;
    }
    if (a->kind == AOT_ARG_NODE) {
        const aot_meta *m = aot_meta_get(f->c, fx_node(f, a->u.node)->meta);
        if (m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_INT) {
            *out = m->sym;
            return true;
        }
    }
    return false;
}

/* Argument by position or name; NULL if absent or None. */
static const aot_arg *argument(const fx *f, uint32_t id, unsigned pos, const char *name)
{
    const aot_node *n = fx_node(f, id);
    const aot_arg *a = pos < n->n_args ? fx_args(f, id) + pos : aot_node_kwarg(f->g, n, name);
    return a != NULL && a->kind != AOT_ARG_NONE ? a : NULL;
}

static bool int_is(const aot_arg *a, int64_t value, bool if_absent)
{
    return a == NULL ? if_absent : a->kind == AOT_ARG_INT && a->u.i == value;
}

static bool always(const fx *f, uint32_t id)
{
    (void)f;
    (void)id;
    return true;
}

static bool of_integers(const fx *f, uint32_t id)
{
    char kind = aot_dtype_get((aot_dtype)joint_type(f, id).dtype)->kind;
    return kind == 'i' || kind == 'u';
}

static bool all_items(const fx *f, uint32_t id, unsigned pos, const char *name, int64_t value)
{
    const aot_arg *a = argument(f, id, pos, name);
    for (uint32_t i = 0; a != NULL && a->kind == AOT_ARG_LIST && i < a->n; i++) {
        if (!int_is(&f->g->args.d[a->u.first + i], value, false)) {
            return false;
        }
    }
    return a != NULL;
}

static bool all_ones(const fx *f, uint32_t id)
{
    return all_items(f, id, 1, "repeats", 1);
}

static bool all_zeros(const fx *f, uint32_t id)
{
    return all_items(f, id, 1, "pad", 0);
}

static bool to_the_first(const fx *f, uint32_t id)
{
    return int_is(argument(f, id, 1, "exponent"), 1, false);
}

static bool of_one(const fx *f, uint32_t id)
{
    const aot_arg *a = argument(f, id, 0, "tensors");
    return a != NULL && a->kind == AOT_ARG_LIST && a->n == 1;
}

static bool same_sizes(const fx *f, uint32_t id)
{
    const aot_arg *a = argument(f, id, 1, "size");
    uint32_t src = fx_arg_node(f, id, 0);
    aot_fake t = joint_type(f, src);
    if (a == NULL || a->kind != AOT_ARG_LIST || a->n != t.ndim) {
        return false;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        aot_dim d;
        if (!joint_dim(f, &f->g->args.d[a->u.first + i], &d) || !aot_dim_same(d, t.size[i])) {
            return false;
        }
    }
    return true;
}

/* From the start to the end of a dimension: end is that size or more. */
static bool to_the_end(const fx *f, const aot_arg *end, uint32_t self, const aot_arg *dim)
{
    aot_fake t = joint_type(f, self);
    unsigned d = aot_fake_dim(&t, dim != NULL && dim->kind == AOT_ARG_INT ? dim->u.i : 0);
    aot_dim e;
    if (!joint_dim(f, end, &e) || d >= t.ndim) {
        return false;
    }
    return aot_dim_same(e, t.size[d]) ||
           (e.expr == 0 &&
            (e.value == INT64_MAX || (t.size[d].expr == 0 && e.value >= t.size[d].value)));
}

static bool whole_slice(const fx *f, uint32_t id)
{
    const aot_arg *start = argument(f, id, 2, "start"), *end = argument(f, id, 3, "end");
    return start != NULL && end != NULL && int_is(start, 0, false) &&
           int_is(argument(f, id, 4, "step"), 1, true) &&
           to_the_end(f, end, fx_arg_node(f, id, 0), argument(f, id, 1, "dim"));
}

static bool whole_slice_scatter(const fx *f, uint32_t id)
{
    uint32_t self = fx_arg_node(f, id, 0), src = fx_arg_node(f, id, 1);
    if (self == AOT_NO_NODE || src == AOT_NO_NODE) {
        return false;
    }
    aot_fake a = joint_type(f, self), b = joint_type(f, src);
    for (unsigned i = 0; i < a.ndim; i++) {
        if (a.ndim != b.ndim || !aot_dim_same(a.size[i], b.size[i])) {
            return false;
        }
    }
    const aot_arg *end = argument(f, id, 4, "end");
    return int_is(argument(f, id, 3, "start"), 0, true) &&
           int_is(argument(f, id, 5, "step"), 1, true) &&
           (end == NULL || to_the_end(f, end, self, argument(f, id, 2, "dim")));
}

static const struct {
    const char *op;
    unsigned pos;
    cond_fn *cond;
} rows[] = {
#define NOOP(op, pos, cond) {op, pos, cond},
#include "joint/noop.def"
#undef NOOP
};

/* Same size, strides, dtype, device. */
static bool same_type(const fx *f, uint32_t a, uint32_t b)
{
    aot_fake x = joint_type(f, a), y = joint_type(f, b);
    if (x.val != AOT_VAL_TENSOR || y.val != AOT_VAL_TENSOR || x.dtype != y.dtype ||
        x.ndim != y.ndim || x.device != y.device) {
        return false;
    }
    for (unsigned i = 0; i < x.ndim; i++) {
        if (!aot_dim_same(x.size[i], y.size[i]) || !aot_dim_same(x.stride[i], y.stride[i])) {
            return false;
        }
    }
    return true;
}

/* ---- storages ------------------------------------------------------------------------------- */

static bool shares_memory(const fx *f, uint32_t id)
{
    const aot_op_info *op = aot_op(fx_node(f, id)->op);
    const char *arrow =
        (op->flags & AOT_OPF_MUTATES) != 0 && op->schema != NULL ? strstr(op->schema, "->") : NULL;
    return (op->flags & AOT_OPF_ALIASES) != 0 || (arrow != NULL && strchr(arrow, '!') != NULL) ||
           fx_is(f, id, "aten._unsafe_view.default");
}

enum { CONJUGATE = 1, NEGATIVE = 2 };

/* Storage group of each node's value, named by the first node that has it. lazy: by node, whether
 * the value is still to be conjugated or negated when read. */
static uint32_t *storages(const fx *f, const int *given, int n_given, uint8_t *lazy)
{
    uint32_t *s = aot_xcalloc(f->g->nodes.n + 1, sizeof *s);
    AOT_VEC(uint32_t) inputs = {0};
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        const aot_node *n = fx_node(f, i);
        s[i] = i;
        if (n->kind == AOT_PLACEHOLDER) {
            for (size_t k = 0; given != NULL && k < inputs.n; k++) {
                if ((int)inputs.n < n_given && (int)k < n_given && given[k] >= 0 &&
                    given[k] == given[inputs.n]) {
                    s[i] = s[inputs.d[k]];
                }
            }
            aot_vec_push(&inputs, i);
        }
        uint32_t from = fx_arg_node(f, i, 0);
        if (n->kind != AOT_CALL_FUNCTION || from == AOT_NO_NODE) {
            continue;
        }
        if (shares_memory(f, i) || (aot_is_getitem(f->g, n) && shares_memory(f, from))) {
            s[i] = s[from];
            lazy[i] = lazy[from] ^ (fx_is(f, i, "aten._conj.default")       ? CONJUGATE
                                    : fx_is(f, i, "aten._neg_view.default") ? NEGATIVE
                                                                            : 0);
        }
    }
    aot_vec_free(&inputs);
    return s;
}

enum { IN_STORAGE = 1, OUT_STORAGE = 2 };

/* Which groups inputs and outputs are in. */
static uint8_t *boundary(const fx *f, const uint32_t *storage)
{
    uint8_t *b = aot_xcalloc(f->g->nodes.n + 1, 1);
    uint32_t out = fx_output(f);
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        if (fx_node(f, i)->kind == AOT_PLACEHOLDER) {
            b[storage[i]] |= IN_STORAGE;
        }
    }
    if (out != AOT_NO_NODE && fx_node(f, out)->n_args != 0) {
        const aot_arg *a = fx_args(f, out);
        uint32_t n = a->kind >= AOT_ARG_LIST ? a->n : 1;
        const aot_arg *items = a->kind >= AOT_ARG_LIST ? f->g->args.d + a->u.first : a;
        for (uint32_t i = 0; i < n; i++) {
            if (items[i].kind == AOT_ARG_NODE) {
                b[storage[items[i].u.node]] |= OUT_STORAGE;
            }
        }
    }
    return b;
}

/* An output node that returns one value and no list. */
static bool is_bare_output(const fx *f, uint32_t id)
{
    uint32_t out = fx_output(f);
    return out != AOT_NO_NODE && fx_arg_node(f, out, 0) == id;
}

static bool may_go(const fx *f, uint32_t id, uint32_t src, const uint32_t *storage,
                   const uint8_t *edge)
{
    bool view = storage[id] == storage[src];
    if (!view && (edge[storage[id]] & OUT_STORAGE) != 0 && edge[storage[src]] != 0) {
        return false;
    }
    return !(view && is_bare_output(f, id) &&
             (fx_node(f, src)->kind == AOT_PLACEHOLDER || is_bare_output(f, src)));
}

/* The argument that an operator gives back, whatever it is. */
static const aot_arg *source_of(const fx *f, uint32_t id, size_t row)
{
    const aot_node *n = fx_node(f, id);
    const aot_arg *a = rows[row].pos < n->n_args ? fx_args(f, id) + rows[row].pos : NULL;
    if (a != NULL && rows[row].cond == of_one) {
        a = a->kind == AOT_ARG_LIST && a->n != 0 ? f->g->args.d + a->u.first : NULL;
    }
    return a;
}

void joint_remove_noops(fx *f, const int *given, int n_given)
{
    enum { N_ROWS = sizeof rows / sizeof rows[0] };
    aot_op_id ops[N_ROWS];
    for (size_t r = 0; r < N_ROWS; r++) {
        ops[r] = aot_op_find(rows[r].op, strlen(rows[r].op));
    }
    uint8_t *lazy = aot_xcalloc(f->g->nodes.n + 1, 1);
    uint32_t *storage = storages(f, given, n_given, lazy);
    uint8_t *edge = boundary(f, storage);
    for (uint32_t i = f->head, next; i != AOT_NO_NODE; i = next) {
        next = fx_next(f, i);
        const aot_node *n = fx_node(f, i);
        size_t r = 0;
        while (r < N_ROWS && (n->kind != AOT_CALL_FUNCTION || ops[r] != n->op)) {
            r++;
        }
        const aot_arg *src = r < N_ROWS ? source_of(f, i, r) : NULL;
        if (src == NULL || src->kind != AOT_ARG_NODE || !may_go(f, i, src->u.node, storage, edge) ||
            lazy[i] != lazy[src->u.node] || !same_type(f, i, src->u.node) || !rows[r].cond(f, i)) {
            continue;
        }
        f->rule = aot_op(n->op)->name;
        fx_replace_uses(f, i, src->u.node, AOT_NO_NODE);
        fx_erase(f, i);
    }
    f->rule = NULL;
    free(lazy);
    free(storage);
    free(edge);
}

aot_status joint_noop_pass(joint *j, aot_err *err)
{
    (void)err;
    joint_remove_noops(&j->f, j->in->primal_storage, j->in->n_primal_storage);
    return AOT_OK;
}
