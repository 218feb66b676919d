/* Constant folding of tensors that hold one value throughout, and what follows from it: x + 0,
 * x - 0, x * 1 and x / 1 become x.
 *
 * The graph is run on values of one element: constructors give theirs, views pass it on,
 * element-wise operators compute. A folded value is kept only where some of its users are not
 * folded themselves, and not if two folded values share memory.
 * Mirrors: torch/_inductor/fx_passes/joint_graph.py (constant_fold_uniform_value, remove_no_ops,
 * remove_redundant_views), torch/_inductor/constant_folding.py. */
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"
#include "joint/value.h"

typedef struct folder {
    joint *j;
    fx *f;
    value *env;          /* by node */
    uint32_t *last_use;  /* by node: the last user that is not the output */
    uint32_t *n_folded;  /* by node: uses by folded nodes, repeats counted */
    uint8_t *folded;     /* by node: has a replacement */
    value *replacement;  /* by node */
    AOT_VEC(uint32_t) order; /* folded nodes, oldest first; AOT_NO_NODE where one has left again */
    uint32_t *place;     /* by node: index in order */
    uint32_t next_storage;
} folder;

/* ---- values of nodes ------------------------------------------------------------------------ */

static bool is_unknowable(const fx *f, uint32_t id)
{
    const aot_node *n = fx_node(f, id);
    if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN) {
        return true;
    }
    const aot_op_info *op = aot_op(n->op);
    return (op->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0 ||
           (op->flags & AOT_OPF_HIGHER_ORDER) != 0 ||
           strcmp(op->packet, "aten._efficientzerotensor") == 0;
}

typedef struct input_scan {
    const folder *d;
    bool unknown, symbol;
} input_scan;

static void scan_input(void *arg, aot_node_id id)
{
    input_scan *s = arg;
    s->unknown |= s->d->env[id].kind == VALUE_UNKNOWN;
    s->symbol |= s->d->env[id].kind == VALUE_SYMBOL;
}

static value value_of_arg(const folder *d, const aot_arg *a)
{
    switch (a->kind) {
    case AOT_ARG_NODE:
        return d->env[a->u.node];
    case AOT_ARG_INT:
    case AOT_ARG_BOOL:
        return (value){.kind = VALUE_NUMBER, .i = a->u.i, .is_bool = a->kind == AOT_ARG_BOOL};
    case AOT_ARG_FLOAT:
        return (value){.kind = VALUE_NUMBER, .is_float = true, .f = a->u.f};
    default:
        return (value){.kind = VALUE_OTHER};
    }
}

static aot_dtype dtype_of_arg(const fx *f, const aot_arg *a)
{
    const char *s = a != NULL && a->kind == AOT_ARG_NAME ? aot_text(f->c, a->u.s) : "";
    return aot_dtype_of_torch(s, strlen(s));
}

static bool is_view(const aot_op_info *op)
{
    static const char *const packets[] = {
        "aten.squeeze", "aten.unsqueeze",         "aten.alias",  "aten.view",       "aten.slice",
        "aten.t",       "prims.broadcast_in_dim", "aten.expand", "aten.as_strided", "aten.permute"};
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        if (strcmp(op->packet, packets[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Operands of an element-wise call; memory_format and the like do not count. */
static value_call operands(const folder *d, uint32_t id)
{
    const fx *f = d->f;
    const aot_node *n = fx_node(f, id);
    value_call c = {.c = f->c, .op = aot_op(n->op), .dtype_arg = AOT_NO_DTYPE};
    for (unsigned i = 0; i < n->n_args && i < 8; i++) {
        const aot_arg *a = fx_args(f, id) + i;
        c.arg[c.n++] = value_of_arg(d, a);
        aot_dtype t = dtype_of_arg(f, a);
        c.dtype_arg = c.dtype_arg == AOT_NO_DTYPE ? t : c.dtype_arg;
    }
    const aot_arg *alpha = aot_node_kwarg(f->g, n, "alpha"),
                  *mode = aot_node_kwarg(f->g, n, "rounding_mode");
    aot_dtype t = dtype_of_arg(f, aot_node_kwarg(f->g, n, "dtype"));
    c.dtype_arg = c.dtype_arg == AOT_NO_DTYPE ? t : c.dtype_arg;
    c.alpha = alpha != NULL ? value_of_arg(d, alpha) : (value){.kind = VALUE_UNKNOWN};
    c.rounding = mode != NULL && mode->kind == AOT_ARG_STR ? aot_text(f->c, mode->u.s) : NULL;
    return c;
}

static bool is_computable(const value_call *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        bool complex = c->arg[i].kind == VALUE_TENSOR &&
                       aot_dtype_get((aot_dtype)c->arg[i].dtype)->kind == 'c';
        if (complex || c->arg[i].kind == VALUE_SYMBOL || c->arg[i].kind == VALUE_UNKNOWN) {
            return false;
        }
    }
    return true;
}

static value fresh(folder *d, value v)
{
    v.storage = ++d->next_storage;
    return v;
}

static value full_value(folder *d, uint32_t id)
{
    aot_dtype t = dtype_of_arg(d->f, aot_node_kwarg(d->f->g, fx_node(d->f, id), "dtype"));
    value v = value_of_arg(d, fx_args(d->f, id) + 1);
    if (v.kind != VALUE_NUMBER) {
        return (value){.kind = VALUE_UNKNOWN};
    }
    if (t == AOT_NO_DTYPE) {
        t = v.is_float ? AOT_F32 : v.is_bool ? AOT_B8 : AOT_I64;
    }
    return aot_dtype_get(t)->kind == 'c' ? (value){.kind = VALUE_UNKNOWN}
                                         : fresh(d, value_as(&v, t));
}

/* What a node whose inputs are all known gives. */
static value deduce(folder *d, uint32_t id)
{
    const value unknown = {.kind = VALUE_UNKNOWN};
    const fx *f = d->f;
    const aot_node *n = fx_node(f, id);
    const aot_op_info *op = aot_op(n->op);
    if (fx_is(f, id, "aten.full.default") && n->n_args == 2) {
        return full_value(d, id);
    }
    uint32_t first = fx_arg_node(f, id, 0);
    if (fx_is(f, id, "aten.lift_fresh_copy.default") && first != AOT_NO_NODE) {
        return fresh(d, d->env[first]);
    }
    if (fx_is(f, id, "aten.view.dtype")) {
        value v;
        aot_dtype t = dtype_of_arg(f, n->n_args > 1 ? fx_args(f, id) + 1 : NULL);
        bool ok = first != AOT_NO_NODE && d->env[first].kind == VALUE_TENSOR && t != AOT_NO_DTYPE &&
                  value_reinterpret(&v, &d->env[first], t);
        v.storage = ok ? d->env[first].storage : 0;
        return ok ? v : unknown;
    }
    if (is_view(op) && first != AOT_NO_NODE) {
        return d->env[first];
    }
    if (aot_meta_get(f->c, n->meta)->val == AOT_VAL_SYM) {
        return (value){.kind = VALUE_SYMBOL};
    }
    if ((op->tags & AOT_TAG_POINTWISE) == 0 && strcmp(op->packet, "aten.scalar_tensor") != 0) {
        return unknown;
    }
    value_call c = operands(d, id);
    value v;
    if (!is_computable(&c)) {
        return unknown;
    }
    if (!value_compute(&v, &c)) {
        joint_note(d->j, id, "constant folding has no rule that computes %s", op->name);
        return unknown;
    }
    return fresh(d, v);
}

/* ---- which values are kept ------------------------------------------------------------------- */

static void keep(folder *d, uint32_t id, value v)
{
    if (!d->folded[id]) {
        d->place[id] = (uint32_t)d->order.n;
        aot_vec_push(&d->order, id);
    }
    d->folded[id] = 1;
    d->replacement[id] = v;
}

typedef struct use_scan {
    folder *d;
    uint32_t user;
} use_scan;

static void count_folded_use(void *arg, aot_node_id id)
{
    use_scan *s = arg;
    s->d->n_folded[id]++;
}

/* An input whose last use this is, and all of whose users are folded, need not be kept. */
static void drop_if_done(void *arg, aot_node_id id)
{
    use_scan *s = arg;
    folder *d = s->d;
    if (d->last_use[id] == s->user && d->folded[id] && d->n_folded[id] == fx_n_users(d->f, id)) {
        d->folded[id] = 0;
        d->order.d[d->place[id]] = AOT_NO_NODE;
    }
}

static void run_node(folder *d, uint32_t id)
{
    fx *f = d->f;
    const aot_node *n = fx_node(f, id);
    input_scan in = {.d = d};
    aot_node_each_input(f->g, n, scan_input, &in);
    if (in.unknown || is_unknowable(f, id)) {
        return;
    }
    value v = deduce(d, id);
    d->env[id] = v;
    if (v.kind != VALUE_TENSOR || strcmp(aot_text(f->c, joint_type(f, id).device), "meta") == 0) {
        return;
    }
    keep(d, id, v);
    use_scan s = {d, id};
    aot_node_each_input(f->g, n, count_folded_use, &s);
    aot_node_each_input(f->g, n, drop_if_done, &s);
}

/* mul(x, 0) with an integer 0 is 0, whatever x is. */
static void fold_zero_products(folder *d, const char *target)
{
    const fx *f = d->f;
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        if (!fx_is(f, i, target) || joint_type(f, i).val != AOT_VAL_TENSOR) {
            continue;
        }
        bool zero = false;
        for (unsigned k = 0; k < fx_node(f, i)->n_args; k++) {
            const aot_arg *a = fx_args(f, i) + k;
            zero |= (a->kind == AOT_ARG_INT || a->kind == AOT_ARG_BOOL) && a->u.i == 0;
        }
        aot_dtype t = (aot_dtype)joint_type(f, i).dtype;
        if (zero && aot_dtype_get(t)->kind != 'c') {
            value none = {.kind = VALUE_NUMBER};
            keep(d, i, fresh(d, value_as(&none, t)));
        }
    }
}

typedef struct last_scan {
    folder *d;
    uint32_t user;
} last_scan;

static void see_last(void *arg, aot_node_id id)
{
    last_scan *s = arg;
    if (s->d->last_use[id] == AOT_NO_NODE) {
        s->d->last_use[id] = s->user;
    }
}

static void find_last_uses(folder *d)
{
    const fx *f = d->f;
    memset(d->last_use, 0xff, f->g->nodes.n * sizeof *d->last_use);
    for (uint32_t i = f->tail; i != AOT_NO_NODE; i = f->l.d[i].prev) {
        if (fx_node(f, i)->kind != AOT_OUTPUT) {
            last_scan s = {d, i};
            aot_node_each_input(f->g, fx_node(f, i), see_last, &s);
        }
    }
}

/* A tensor attribute of one element, if its value is known. */
static value attribute_value(folder *d, uint32_t id)
{
    const aot_arg *a = aot_ctx_constant(d->f->c, fx_node(d->f, id)->target);
    aot_fake t = joint_type(d->f, id);
    bool one = t.val == AOT_VAL_TENSOR;
    for (unsigned i = 0; i < t.ndim; i++) {
        one &= aot_dim_is(t.size[i], 1);
    }
    if (!one || aot_dtype_get((aot_dtype)t.dtype)->kind == 'c') {
        return (value){.kind = VALUE_UNKNOWN};
    }
    if (a == NULL) {
        joint_note(d->j, id, "the value of %s is in no text: what follows from it is not folded",
                   aot_node_target(d->f->g, id));
        return (value){.kind = VALUE_UNKNOWN};
    }
    value v = value_of_arg(d, a);
    return fresh(d, value_as(&v, (aot_dtype)t.dtype));
}

static void run(folder *d)
{
    const fx *f = d->f;
    fold_zero_products(d, "aten.mul.Tensor");
    fold_zero_products(d, "aten.mul.Scalar");
    find_last_uses(d);
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        const aot_node *n = fx_node(f, i);
        if (n->kind == AOT_PLACEHOLDER) {
            const aot_meta *m = aot_meta_get(f->c, n->meta);
            d->env[i].kind =
                m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_INT ? VALUE_SYMBOL : VALUE_UNKNOWN;
        } else if (n->kind == AOT_CALL_FUNCTION) {
            run_node(d, i);
        } else if (n->kind == AOT_GET_ATTR && n->subgraph == 0) {
            d->env[i] = attribute_value(d, i);
        }
    }
}

/* ---- replacing ------------------------------------------------------------------------------ */

/* The first node whose value is a symbolic size of this expression. */
static uint32_t symbol_node(const fx *f, aot_dim dim)
{
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = fx_next(f, i)) {
        const aot_meta *m = aot_meta_get(f->c, fx_node(f, i)->meta);
        if (m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_INT && aot_dim_same(m->sym, dim)) {
            return i;
        }
    }
    return AOT_NO_NODE;
}

/* Sizes as arguments; false if a symbol has no node, or one that is computed from the value
 * itself. */
static bool size_args(const fx *f, uint32_t id, const aot_fake *t, aot_arg *out)
{
    for (unsigned i = 0; i < t->ndim; i++) {
        if (t->size[i].expr == 0) {
            out[i] = fx_a_int(t->size[i].value);
            continue;
        }
        uint32_t s = symbol_node(f, t->size[i]);
        if (s == AOT_NO_NODE) {
            return false;
        }
        for (unsigned k = 0; k < fx_node(f, s)->n_args; k++) {
            if (fx_arg_node(f, s, k) == id) {
                return false;
            }
        }
        out[i] = fx_a_node(s);
    }
    return true;
}

static bool is_kept(const folder *d, const uint32_t *n_storage, uint32_t id)
{
    aot_fake t = joint_type(d->f, id);
    bool odd = t.dtype == AOT_U8 || t.dtype == AOT_U16 || t.dtype == AOT_U32 || t.dtype == AOT_U64;
    return t.val == AOT_VAL_TENSOR && aot_fake_is_contiguous(&t) && !odd &&
           n_storage[d->replacement[id].storage] <= 1;
}

static void mark(joint *j, uint32_t id, const aot_arg *a)
{
    bool number = a->kind == AOT_ARG_INT || a->kind == AOT_ARG_BOOL || a->kind == AOT_ARG_FLOAT;
    double v = !number ? 2 : a->kind == AOT_ARG_FLOAT ? a->u.f : (double)a->u.i;
    if (id >= j->n_marks) {
        size_t n = 2 * (size_t)id + 64;
        j->zero = aot_xrealloc(j->zero, n);
        j->one = aot_xrealloc(j->one, n);
        memset(j->zero + j->n_marks, 0, n - j->n_marks);
        memset(j->one + j->n_marks, 0, n - j->n_marks);
        j->n_marks = n;
    }
    j->zero[id] = v == 0;
    j->one[id] = v == 1;
}

static void replace_by_full(folder *d, uint32_t id)
{
    fx *f = d->f;
    aot_fake t = joint_type(f, id);
    aot_arg sizes[AOT_FAKE_MAX_NDIM], value_arg = value_item(&d->replacement[id]);
    if (fx_is(f, id, "aten.full.default") && fx_node(f, id)->n_args == 2) {
        value_arg = fx_args(f, id)[1];
    }
    if (!size_args(f, id, &t, sizes)) {
        return;
    }
    aot_arg args[2] = {fx_a_list(f, sizes, t.ndim), value_arg};
    fx_kwarg kw[4] = {{"dtype", fx_a_dtype(f, (aot_dtype)t.dtype)},
                      {"layout", fx_a_name(f, "torch.strided")},
                      {"device", fx_a_device(f, t.device)},
                      {"pin_memory", fx_a_bool(false)}};
    fx_insert_after(f, id);
    uint32_t now = fx_call(f, "aten.full.default", args, 2, kw, 4);
    fx_update_meta(f, now, id);
    fx_replace_uses(f, id, now, AOT_NO_NODE);
    fx_erase(f, id);
    mark(d->j, now, &value_arg);
}

static void replace_all(folder *d)
{
    uint32_t *n_storage = aot_xcalloc(d->next_storage + 2, sizeof *n_storage);
    for (size_t i = 0; i < d->order.n; i++) {
        if (d->order.d[i] != AOT_NO_NODE) {
            n_storage[d->replacement[d->order.d[i]].storage]++;
        }
    }
    for (size_t i = 0; i < d->order.n; i++) {
        if (d->order.d[i] != AOT_NO_NODE && is_kept(d, n_storage, d->order.d[i])) {
            replace_by_full(d, d->order.d[i]);
        }
    }
    free(n_storage);
}

/* ---- x + 0, x * 1 --------------------------------------------------------------------------- */

static bool is_marked(const joint *j, const uint8_t *marks, uint32_t id)
{
    return id != AOT_NO_NODE && id < j->n_marks && marks[id] != 0;
}

static bool same_shape_and_device(const aot_fake *a, const aot_fake *b)
{
    bool same = a->val == AOT_VAL_TENSOR && b->val == AOT_VAL_TENSOR && a->ndim == b->ndim &&
                a->device == b->device;
    for (unsigned i = 0; same && i < a->ndim; i++) {
        same = aot_dim_same(a->size[i], b->size[i]);
    }
    return same;
}

/* The call becomes its other operand, converted if only the dtype differs. */
static void become_operand(joint *j, uint32_t id, unsigned operand)
{
    fx *f = &j->f;
    uint32_t other = fx_arg_node(f, id, operand);
    if (fx_arg_node(f, id, 0) == AOT_NO_NODE || fx_arg_node(f, id, 1) == AOT_NO_NODE) {
        return;
    }
    aot_fake t = joint_type(f, id), o = joint_type(f, other);
    if (!same_shape_and_device(&t, &o)) {
        return;
    }
    if (t.dtype != o.dtype) {
        aot_arg args[2] = {fx_a_node(other), fx_a_dtype(f, (aot_dtype)t.dtype)};
        fx_insert_after(f, id);
        other = fx_call(f, "prims.convert_element_type.default", args, 2, NULL, 0);
    }
    fx_replace_uses(f, id, other, AOT_NO_NODE);
    fx_update_meta(f, other, id);
    fx_erase(f, id);
}

static double alpha_of(const fx *f, uint32_t id)
{
    const aot_arg *a = aot_node_kwarg(f->g, fx_node(f, id), "alpha");
    if (a == NULL) {
        return 1;
    }
    return a->kind == AOT_ARG_FLOAT ? a->u.f : a->kind == AOT_ARG_INT ? (double)a->u.i : 0;
}

static void no_op(joint *j, uint32_t id)
{
    const fx *f = &j->f;
    uint32_t a = fx_arg_node(f, id, 0), b = fx_arg_node(f, id, 1);
    bool plain = alpha_of(f, id) == 1;
    j->f.rule = "remove_no_ops";
    if (fx_is(f, id, "aten.add.Tensor") && plain &&
        (is_marked(j, j->zero, a) || is_marked(j, j->zero, b))) {
        become_operand(j, id, is_marked(j, j->zero, a) ? 1 : 0);
    } else if (fx_is(f, id, "aten.sub.Tensor") && plain && is_marked(j, j->zero, b)) {
        become_operand(j, id, 0);
    } else if (fx_is(f, id, "aten.mul.Tensor") &&
               (is_marked(j, j->one, a) || is_marked(j, j->one, b))) {
        become_operand(j, id, is_marked(j, j->one, a) ? 1 : 0);
    } else if (fx_is(f, id, "aten.div.Tensor") && is_marked(j, j->one, b)) {
        become_operand(j, id, 0);
    }
    j->f.rule = NULL;
}

static void remove_no_ops(joint *j)
{
    static const char *const targets[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                          "aten.div.Tensor"};
    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        for (uint32_t i = j->f.head, next; i != AOT_NO_NODE; i = next) {
            next = fx_next(&j->f, i);
            if (fx_is(&j->f, i, targets[t]) && fx_node(&j->f, i)->n_args == 2) {
                no_op(j, i);
            }
        }
    }
}

/* ---- the same bytes seen as another dtype ---------------------------------------------------- */

typedef struct alias {
    uint32_t node, group;
    aot_dtype dtype;
} alias;

/* view(x, dtype) of one x and its views: the first of each dtype stands for all; unused ones go. */
static void remove_redundant_views(joint *j)
{
    fx *f = &j->f;
    AOT_VEC(alias) views = {0};
    uint32_t n_groups = 0;
    f->rule = "remove_redundant_views";
    for (uint32_t i = f->head, next; i != AOT_NO_NODE; i = next) {
        next = fx_next(f, i);
        uint32_t src = fx_arg_node(f, i, 0), group = AOT_NO_NODE, same = AOT_NO_NODE;
        if (!fx_is(f, i, "aten.view.dtype") || src == AOT_NO_NODE || fx_node(f, i)->n_args < 2) {
            continue;
        }
        aot_dtype to = dtype_of_arg(f, fx_args(f, i) + 1);
        for (size_t k = 0; k < views.n; k++) {
            group = views.d[k].node == src ? views.d[k].group : group;
        }
        if (group == AOT_NO_NODE) {
            group = n_groups++;
            aot_vec_push(&views, ((alias){src, group, (aot_dtype)joint_type(f, src).dtype}));
        }
        for (size_t k = 0; k < views.n && same == AOT_NO_NODE; k++) {
            same =
                views.d[k].group == group && views.d[k].dtype == to ? views.d[k].node : AOT_NO_NODE;
        }
        if (same != AOT_NO_NODE && !f->l.d[same].erased) {
            fx_replace_uses(f, i, same, AOT_NO_NODE);
            fx_update_meta(f, same, i);
            fx_erase(f, i);
        } else {
            aot_vec_push(&views, ((alias){i, group, to}));
        }
    }
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < views.n; k++) {
            uint32_t v = views.d[k].node;
            if (!f->l.d[v].erased && fx_is(f, v, "aten.view.dtype") && fx_n_users(f, v) == 0) {
                fx_erase(f, v);
                again = true;
            }
        }
    }
    f->rule = NULL;
    aot_vec_free(&views);
}

aot_status joint_fold_pass(joint *j, aot_err *err)
{
    (void)err;
    size_t n = j->f.g->nodes.n + 1;
    folder d = {.j = j, .f = &j->f,
                .env = aot_xcalloc(n, sizeof(value)),
                .last_use = aot_xcalloc(n, sizeof(uint32_t)),
                .n_folded = aot_xcalloc(n, sizeof(uint32_t)),
                .folded = aot_xcalloc(n, 1),
                .place = aot_xcalloc(n, sizeof(uint32_t)),
                .replacement = aot_xcalloc(n, sizeof(value))};
    run(&d);
    replace_all(&d);
    free(d.env);
    free(d.last_use);
    free(d.n_folded);
    free(d.folded);
    free(d.place);
    free(d.replacement);
    aot_vec_free(&d.order);
    remove_no_ops(j);
    remove_redundant_views(j);
    return AOT_OK;
}
