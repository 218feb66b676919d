/* Sizes that are symbols: which node holds one, and arithmetic on them, written where Python or C++
 * does it. In the forward an operation is written at once, whether or not its result is used; in
 * the backward PyTorch only notes how the result is made, and writes it when a node needs it.
 * Mirrors torch/fx/experimental/proxy_tensor.py (symnode_tracker, thunkify, _compute_proxy). */
#include <string.h>

#include "trace/internal.h"

static sym_entry *sym_of(aot_tracer *t, aot_str expr)
{
    level_graph *lg = &t->level[0]; // one table serves all levels
    while (lg->syms.n <= expr) {
        aot_vec_push(&lg->syms, NULL);
    }
    if (lg->syms.d[expr] == NULL) {
        sym_entry *e = tr_alloc(t, 1, sizeof *e);
        for (int l = 0; l < AOT_N_LEVELS; l++) {
            e->node[l] = e->once[l] = AOT_NO_NODE;
        }
        lg->syms.d[expr] = e;
    }
    return lg->syms.d[expr];
}

void tr_sym_of_node(aot_tracer *t, aot_level l, aot_dim d, aot_node_id id)
{
    if (d.expr != 0) {
        sym_entry *e = sym_of(t, d.expr);
        if (e->node[l] == AOT_NO_NODE && e->tensor[l] == NULL) {
            e->node[l] = id;
        }
    }
}

/* What the forward makes has sizes of its own, whatever the tangents' are called. */
static bool gives_way(const aot_tracer *t, aot_level l, const aot_tensor *x)
{
    const aot_node *n = &t->level[l].g->nodes.d[x->node[l]];
    return !t->in_backward && n->kind == AOT_PLACEHOLDER &&
           strncmp(aot_text(t->c, n->name), "tangents_", strlen("tangents_")) == 0;
}

void tr_sym_of_dims(aot_tracer *t, aot_level l, aot_tensor *x, const aot_dim *d, bool stride)
{
    for (unsigned i = 0; i < x->type->ndim; i++) {
        if (d[i].expr != 0) {
            sym_entry *e = sym_of(t, d[i].expr);
            if (e->node[l] == AOT_NO_NODE &&
                (e->tensor[l] == NULL || gives_way(t, l, e->tensor[l]))) {
                e->tensor[l] = x;
                e->dim[l] = (uint8_t)i;
                e->is_stride[l] = stride;
            }
        }
    }
}

/* The operands of the outermost operation of an expression as sympy prints it. */
typedef struct split {
    char op; /* of the table below; 0: none was found */
    const char *left, *right;
    size_t n_left, n_right;
} split;

static split split_at(const char *s, size_t n, const char *mark, char op)
{
    size_t len = strlen(mark);
    int depth = 0;
    for (size_t i = n; i-- > 1;) { // from the right: left-associative
        depth += (s[i] == ')') - (s[i] == '(');
        if (depth == 0 && i + len < n && memcmp(s + i, mark, len) == 0) {
            return (split){op, s, s + i + len, i, n - i - len};
        }
    }
    return (split){0};
}

static bool is_wrapped(const char *s, size_t n)
{
    if (n < 2 || s[0] != '(' || s[n - 1] != ')') {
        return false;
    }
    int depth = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        depth += (s[i] == '(') - (s[i] == ')');
        if (depth == 0) {
            return false;
        }
    }
    return true;
}

static split split_expr(const char *s, size_t n)
{
    static const struct {
        const char *mark, op;
    } table[] = {{" + ", '+'}, {" - ", '-'}, {"//", '/'}, {"*", '*'}};
    while (is_wrapped(s, n)) {
        s++;
        n -= 2;
    }
    if (n > 5 && memcmp(s, "Mod(", 4) == 0 && is_wrapped(s + 3, n - 3)) {
        return split_at(s + 4, n - 5, ", ", '%');
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        split r = split_at(s, n, table[i].mark, table[i].op);
        if (r.op != 0) {
            return r;
        }
    }
    return (split){0};
}

/* The operations: as rules name them, as Python does, as FX calls the node. */
static const struct {
    const char op, *target;
    aot_dim (*fn)(aot_ctx *, aot_dim, aot_dim);
} operations[] = {{'+', "operator.add", aot_dim_add},  {'-', "operator.sub", aot_dim_sub},
                  {'*', "operator.mul", aot_dim_mul},  {'/', "operator.floordiv", aot_dim_floordiv},
                  {'%', "operator.mod", aot_dim_mod},  {'>', "torch.sym_max", aot_dim_max},
                  {'<', "torch.sym_min", aot_dim_min}, {'~', "operator.neg", NULL}};

static unsigned operation_of(char op)
{
    unsigned i = 0;
    while (operations[i].op != op) {
        i++;
    }
    return i;
}

static aot_meta_id meta_of(aot_tracer *t, aot_str expr)
{
    aot_sb text = {0};
    aot_sb_addf(&text, "Sym(%s)", aot_text(t->c, expr));
    aot_meta_id m = aot_ctx_meta(t->c, text.d, text.n);
    aot_sb_free(&text);
    return m;
}

static aot_node_id emit_operation(aot_tracer *t, aot_level l, char op, aot_dim a, aot_dim b,
                                  aot_dim result)
{
    const char *target = operations[operation_of(op)].target;
    aot_value parts[2] = {aot_v_dim(a), aot_v_dim(b)};
    aot_node n = {.kind = AOT_CALL_FUNCTION,
                  .target = aot_intern_z(t->c->strs, target),
                  .op = aot_op_find(target, strlen(target))};
    n.meta = meta_of(t, result.expr);
    return tr_emit(t, l, n, strchr(target, '.') + 1, op == '~' ? 1 : 2, parts);
}

/* A symbol that no value holds yet, nor is known to be computed: from its parts. */
static aot_node_id emit_expr(aot_tracer *t, aot_level l, aot_dim d)
{
    const char *s = aot_text(t->c, d.expr);
    size_t n = strlen(s);
    split r = split_expr(s, n);
    if (r.op == 0 && n > 1 && s[0] == '-') {
        aot_dim x = aot_dim_parse(t->c, s + 1, n - 1);
        return emit_operation(t, l, '~', x, x, d);
    }
    if (r.op == 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "no value in the graph holds the symbol %s", s);
    }
    aot_dim left = aot_dim_parse(t->c, r.left, r.n_left);
    aot_dim right = aot_dim_parse(t->c, r.right, r.n_right);
    bool swap = r.op == '*' && left.expr == 0; // sympy puts the number first
    return emit_operation(t, l, r.op, swap ? right : left, swap ? left : right, d);
}

static aot_node_id sym_node(aot_tracer *t, aot_level l, aot_dim d)
{
    sym_entry *e = sym_of(t, d.expr);
    if (e->node[l] == AOT_NO_NODE && e->op != 0) {
        e->node[l] = emit_operation(t, l, e->op, e->a, e->b, d);
    } else if (e->node[l] == AOT_NO_NODE && e->tensor[l] != NULL) {
        aot_value args[2] = {aot_v_tensor(e->tensor[l]), aot_v_int(e->dim[l])};
        aot_op_id op = e->is_stride[l] ? AOT_OP_aten_sym_stride_int : AOT_OP_aten_sym_size_int;
        aot_node n = {.kind = AOT_CALL_FUNCTION, .target = tr_op(t, op)->target, .op = op};
        n.meta = meta_of(t, d.expr);
        e->is_read[l] = true;
        e->node[l] = tr_emit(t, l, n, e->is_stride[l] ? "sym_stride_int" : "sym_size_int", 2, args);
    } else if (e->node[l] == AOT_NO_NODE) {
        e->node[l] = emit_expr(t, l, d);
    }
    return e->node[l];
}

aot_arg tr_sym_arg(aot_tracer *t, aot_level l, aot_dim d)
{
    if (d.expr != 0 && sym_of(t, d.expr)->once[l] != AOT_NO_NODE) {
        aot_node_id id = sym_of(t, d.expr)->once[l];
        sym_of(t, d.expr)->once[l] = AOT_NO_NODE;
        return (aot_arg){.kind = AOT_ARG_NODE, .u.node = id};
    }
    if (d.expr != 0 && l == AOT_LEVEL_JOINT) {
        sym_of(t, d.expr)->is_incidental = false;
    }
    return d.expr == 0 ? (aot_arg){.kind = AOT_ARG_INT, .u.i = d.value}
                       : (aot_arg){.kind = AOT_ARG_NODE, .u.node = sym_node(t, l, d)};
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Whether symbols are written as they are computed, and at which levels. */
static bool writes_at(const aot_tracer *t, int l)
{
    return !t->in_backward && !(t->options.dry && l != AOT_LEVEL_JOINT);
}

/* Which node holds a value from now on: the first computation, which goes before a size that was
 * read from a tensor. Inputs stay what they are. */
static void hold(sym_entry *e, aot_level l, aot_node_id id)
{
    if (e->node[l] == AOT_NO_NODE || e->is_read[l]) {
        e->node[l] = id;
        e->is_read[l] = false;
    }
}

static void note_operation(aot_tracer *t, char op, aot_dim a, aot_dim b, aot_dim result)
{
    sym_entry *e = sym_of(t, result.expr);
    if (t->in_backward && e->is_incidental) { // each result is a symbol of its own
        e->node[AOT_LEVEL_JOINT] = AOT_NO_NODE;
        e->is_incidental = false;
    }
    if (t->in_backward && e->op == 0) {
        e->op = op;
        e->a = a;
        e->b = b;
    }
    for (int l = AOT_LEVEL_ATEN; l < AOT_N_LEVELS; l++) {
        if (writes_at(t, l)) {
            aot_node_id id = emit_operation(t, (aot_level)l, op, a, b, result);
            hold(e, (aot_level)l, id);
        }
    }
}

aot_dim aot_trace_dim(aot_tracer *t, char op, aot_dim a, aot_dim b)
{
    unsigned i = operation_of(op);
    aot_dim result = op == '~' ? aot_dim_neg(t->c, a) : operations[i].fn(t->c, a, b);
    bool symbolic = a.expr != 0 || (op != '~' && b.expr != 0);
    bool by_one = op == '*' && (aot_dim_is(a, 1) || aot_dim_is(b, 1)); // PyTorch skips it
    if (symbolic && result.expr != 0 && !by_one) {
        note_operation(t, op, a, b, result);
    }
    return result;
}

aot_dim aot_trace_once(aot_tracer *t, char op, aot_dim a, aot_dim b)
{
    aot_dim result = operations[operation_of(op)].fn(t->c, a, b);
    bool by_one = op == '*' && (aot_dim_is(a, 1) || aot_dim_is(b, 1));
    if (t->in_backward || by_one || (a.expr == 0 && b.expr == 0) || result.expr == 0) {
        return aot_trace_dim(t, op, a, b);
    }
    for (int l = AOT_LEVEL_ATEN; l < AOT_N_LEVELS; l++) {
        if (writes_at(t, l)) {
            aot_node_id id = emit_operation(t, (aot_level)l, op, a, b, result);
            sym_of(t, result.expr)->once[l] = id;
        }
    }
    return result;
}

void aot_trace_forget(aot_tracer *t, aot_dim d)
{
    for (int l = 0; d.expr != 0 && l < AOT_N_LEVELS; l++) {
        sym_of(t, d.expr)->once[l] = AOT_NO_NODE;
    }
}

aot_dim aot_trace_sum(aot_tracer *t, aot_value items)
{
    static const char target[] = "torch.sym_sum";
    aot_dim sum = aot_dim_of(0);
    for (unsigned i = 0; i < items.n; i++) {
        sum = aot_dim_add(t->c, sum, items.u.items[i].u.dim);
    }
    if (sum.expr == 0) {
        return sum;
    }
    sym_entry *e = sym_of(t, sum.expr);
    aot_value tuple = aot_v_tuple(t, items.n, items.u.items);
    aot_node n = {.kind = AOT_CALL_FUNCTION,
                  .target = aot_intern_z(t->c->strs, target),
                  .op = aot_op_find(target, strlen(target)),
                  .meta = meta_of(t, sum.expr)};
    for (int l = AOT_LEVEL_ATEN; l < AOT_N_LEVELS; l++) {
        if (writes_at(t, l)) {
            aot_node_id id = tr_emit(t, (aot_level)l, n, "sym_sum", 1, &tuple);
            hold(e, (aot_level)l, id);
        }
    }
    return sum;
}

/* ---- bytes of storages ----------------------------------------------------------------------- */

/* A node that dead code elimination removes: what stays of it is that its name is taken. */
static void name_dead(aot_tracer *t, const char *name)
{
    aot_namespace_create(t->level[AOT_LEVEL_JOINT].names, name, strlen(name));
}

/* A symbol is read from the tensor where nothing computed it before; of an input it is read though
 * the input holds it, for naught. */
static void read_size(aot_tracer *t, aot_dim d, const char *name)
{
    sym_entry *e = sym_of(t, d.expr);
    if (e->node[AOT_LEVEL_JOINT] == AOT_NO_NODE) {
        sym_node(t, AOT_LEVEL_JOINT, d);
        e->is_incidental = true;
    } else if (!e->was_measured &&
               t->level[AOT_LEVEL_JOINT].g->nodes.d[e->node[AOT_LEVEL_JOINT]].kind ==
                   AOT_PLACEHOLDER) {
        name_dead(t, name);
    }
    e->was_measured = true;
}

void tr_sym_storage(aot_tracer *t, const aot_tensor *x)
{
    const aot_fake *type = x->type;
    bool symbolic = false;
    if (t->in_backward) { // only noted there, and never asked for
        return;
    }
    for (unsigned i = 0; i < type->ndim; i++) {
        bool by_one = aot_dim_is(type->stride[i], 1), sized = type->size[i].expr != 0;
        if (sized) {
            read_size(t, type->size[i], "sym_size_int");
            name_dead(t, "eq");
            name_dead(t, "sub");
        }
        if (type->stride[i].expr != 0) {
            read_size(t, type->stride[i], "sym_stride_int");
        }
        bool term = sized || type->stride[i].expr != 0;
        if (term && !by_one) {
            name_dead(t, "mul");
        }
        symbolic |= term;
        if (symbolic) {
            name_dead(t, "add");
        }
    }
    if (symbolic) {
        name_dead(t, "add"); // the offset
        if (aot_dtype_get(type->dtype)->bytes != 1) {
            name_dead(t, "mul");
        }
    }
}

/* ---- symbols of data ------------------------------------------------------------------------- */

static bool is_unbacked(const char *s)
{
    return s[0] == 'u' && s[1] != '\0' && s[1 + strspn(s + 1, "0123456789")] == '\0';
}

/* The symbol of data that the program's graph states for the node being run; 0. */
static aot_str stated_unbacked(const aot_tracer *t)
{
    if (t->at_graph == NULL || t->at_node == AOT_NO_NODE) {
        return 0;
    }
    const aot_meta *m = aot_meta_get(t->c, aot_node_at(t->at_graph, t->at_node)->meta);
    for (unsigned i = 0; m->val == AOT_VAL_TENSOR && i < m->ndim; i++) {
        aot_str expr = aot_meta_sizes(t->c, m)[i].expr;
        if (expr != 0 && is_unbacked(aot_text(t->c, expr))) {
            return expr;
        }
    }
    return 0;
}

/* Each run of an operator makes a fresh symbol; PyTorch then calls it as the program's graph does
 * (rebind_unbacked). */
void tr_rebind(aot_tracer *t, aot_call *k)
{
    aot_str stated = k->unbacked ? stated_unbacked(t) : 0;
    for (size_t o = 0; stated != 0 && o < k->outs.n; o++) {
        aot_fake *f = &k->outs.d[o];
        for (unsigned i = 0; i < f->ndim; i++) {
            if (f->size[i].expr != 0 && is_unbacked(aot_text(t->c, f->size[i].expr))) {
                f->size[i].expr = stated;
            }
            if (f->stride[i].expr != 0 && is_unbacked(aot_text(t->c, f->stride[i].expr))) {
                f->stride[i].expr = stated;
            }
        }
    }
}
