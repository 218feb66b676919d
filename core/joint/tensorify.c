/* Numbers that are not known become tensors before the cut, so that no float has to be saved.
 *
 * Where mul, add and the like take a symbolic float, its expression is written as operators on
 * tensors of no dimensions: item() of a float tensor gives the tensor back (as f64), a symbol
 * scalar_tensor, a product mul. An expression is written once, where it is met first. What has no
 * tensor form (a true division of integers) stays.
 * Mirrors: torch/fx/passes/_tensorify_python_scalars.py:tensorify_python_scalars and
 * torch/utils/_sympy/reference.py:TensorReferenceAnalysis. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "joint/fx.h"
#include "ops/op_ids.h"
#include "ops/schema.h"

enum { MAX_KNOWN = 4096, MAX_DEPTH = 32, MAX_ARGS = 16 };

typedef struct known {
    aot_span text; /* the expression */
    uint32_t node;
} known;

typedef struct tensorify {
    fx f;
    AOT_VEC(known) numbers; /* nodes that are symbolic numbers */
    AOT_VEC(known) tensors; /* expressions written as tensors */
    bool failed;            /* the expression at hand has no tensor form */
} tensorify;

static const aot_meta *meta_of(const fx *f, uint32_t id)
{
    return aot_meta_get(f->c, fx_node(f, id)->meta);
}

/* "Sym(s69*s87)" -> s69*s87 */
static aot_span expression_of(const fx *f, uint32_t id)
{
    const char *text = aot_text(f->c, meta_of(f, id)->text);
    size_t n = strlen(text);
    return n > 5 && strncmp(text, "Sym(", 4) == 0 ? (aot_span){text + 4, n - 5} : (aot_span){"", 0};
}

static bool is_float_number(const fx *f, uint32_t id)
{
    const aot_meta *m = meta_of(f, id);
    return m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_FLOAT;
}

static uint32_t lookup(const known *d, size_t n, aot_span text)
{
    for (size_t i = 0; i < n; i++) {
        if (d[i].text.n == text.n && memcmp(d[i].text.s, text.s, text.n) == 0) {
            return d[i].node;
        }
    }
    return AOT_NO_NODE;
}

static uint32_t call(tensorify *t, const char *op, const aot_arg *args, uint32_t n,
                     const fx_kwarg *kw, uint32_t n_kw)
{
    uint32_t id = fx_call(&t->f, op, args, n, kw, n_kw);
    aot_op_id own = fx_node(&t->f, id)->op;
    aot_err err = {0};
    if (own == AOT_OP_aten_true_divide_Tensor) { // a composite: its type is that of div
        fx_node(&t->f, id)->op = AOT_OP_aten_div_Tensor;
    }
    t->failed |= fx_infer(&t->f, id, &err) != AOT_OK;
    fx_node(&t->f, id)->op = own;
    return id;
}

static uint32_t converted(tensorify *t, uint32_t id, aot_dtype d)
{
    aot_arg args[2] = {fx_a_node(id), fx_a_dtype(&t->f, d)};
    return call(t, "prims.convert_element_type.default", args, 2, NULL, 0);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static aot_span trim(const char *s, const char *end)
{
    while (s < end && *s == ' ') {
        s++;
    }
    while (end > s && end[-1] == ' ') {
        end--;
    }
    return (aot_span){s, (size_t)(end - s)};
}

/* Parts of a text between an operator outside of brackets; how many, at most MAX_ARGS. */
static unsigned split(aot_span e, const char *by, aot_span part[MAX_ARGS])
{
    const char *end = e.s + e.n, *from = e.s;
    size_t n_by = strlen(by);
    unsigned n = 0;
    int depth = 0;
    for (const char *p = e.s; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        bool at = depth == 0 && (size_t)(end - p) >= n_by && memcmp(p, by, n_by) == 0;
        bool power = *by == '*' && ((p + 1 < end && p[1] == '*') || (p > e.s && p[-1] == '*'));
        if (at && !power && n + 1 < MAX_ARGS) {
            part[n++] = trim(from, p);
            from = p + n_by;
            p += n_by - 1;
        }
    }
    part[n++] = trim(from, end);
    return n;
}

/* The inside of brackets around all of a text: "(a + b)". */
static bool unbracket(aot_span *e)
{
    int depth = 0;
    if (e->n < 2 || e->s[0] != '(' || e->s[e->n - 1] != ')') {
        return false;
    }
    for (size_t i = 0; i + 1 < e->n; i++) {
        depth += (e->s[i] == '(') - (e->s[i] == ')');
        if (depth == 0) {
            return false;
        }
    }
    *e = trim(e->s + 1, e->s + e->n - 1);
    return true;
}

static bool is_name(aot_span e)
{
    for (size_t i = 0; i < e.n; i++) {
        if (!isalnum((unsigned char)e.s[i]) && e.s[i] != '_') {
            return false;
        }
    }
    return e.n != 0 && !isdigit((unsigned char)e.s[0]);
}

static bool is_number(aot_span e, bool *integer)
{
    char text[64], *end;
    if (e.n == 0 || e.n >= sizeof text || !(isdigit((unsigned char)e.s[0]) || e.s[0] == '-')) {
        return false;
    }
    memcpy(text, e.s, e.n);
    text[e.n] = '\0';
    (void)strtod(text, &end);
    *integer = strpbrk(text, ".eE") == NULL;
    return *end == '\0';
}

static uint32_t number_of(tensorify *t, aot_span e, bool integer)
{
    char text[64];
    memcpy(text, e.s, e.n);
    text[e.n] = '\0';
    aot_arg v = integer ? fx_a_int(strtoll(text, NULL, 10)) : fx_a_float(strtod(text, NULL));
    fx_kwarg kw = {"dtype", fx_a_dtype(&t->f, integer ? AOT_I64 : AOT_F64)};
    return call(t, "aten.scalar_tensor.default", &v, 1, &kw, 1);
}

/* Sums begin with their number, as sympy keeps them. */
static void number_first(aot_span *part, unsigned n)
{
    bool integer;
    if (n > 1 && is_number(part[n - 1], &integer)) {
        aot_span number = part[n - 1];
        memmove(part + 1, part, (n - 1) * sizeof *part);
        part[0] = number;
    }
}

static uint32_t tensor_of(tensorify *t, aot_span e, int depth);

static uint32_t fold(tensorify *t, const char *op, const aot_span *part, unsigned n, int depth)
{
    uint32_t got[MAX_ARGS];
    for (unsigned i = 0; i < n; i++) {
        got[i] = tensor_of(t, part[i], depth);
    }
    for (unsigned i = 1; i < n && !t->failed; i++) {
        aot_arg args[2] = {fx_a_node(got[0]), fx_a_node(got[i])};
        got[0] = call(t, op, args, 2, NULL, 0);
    }
    return got[0];
}

/* NAME(a, b) */
static uint32_t function_of(tensorify *t, aot_span name, aot_span inside, int depth)
{
    static const struct {
        const char *name, *op;
    } functions[] = {
        {"FloatTrueDiv", "aten.true_divide.Tensor"},
        {"Max", "aten.maximum.default"},
        {"Min", "aten.minimum.default"},
    };
    aot_span part[MAX_ARGS];
    unsigned n = split(inside, ",", part);
    if (name.n == 7 && memcmp(name.s, "ToFloat", 7) == 0 && n == 1) {
        uint32_t x = tensor_of(t, part[0], depth);
        return t->failed ? x : converted(t, x, AOT_F64);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) == name.n && memcmp(functions[i].name, name.s, name.n) == 0 &&
            n > 1) {
            return fold(t, functions[i].op, part, n, depth);
        }
    }
    // its arguments are written before it is seen to have no form
    for (unsigned i = 0; i < n && !t->failed; i++) {
        (void)tensor_of(t, part[i], depth);
    }
    t->failed = true;
    return AOT_NO_NODE;
}

static uint32_t write_expression(tensorify *t, aot_span e, int depth)
{
    aot_span part[MAX_ARGS];
    bool integer;
    if (is_number(e, &integer)) {
        return number_of(t, e, integer);
    }
    if (is_name(e)) {
        uint32_t id = lookup(t->numbers.d, t->numbers.n, e);
        t->failed |= id == AOT_NO_NODE;
        aot_arg arg = fx_a_node(id);
        return t->failed ? id : call(t, "aten.scalar_tensor.default", &arg, 1, NULL, 0);
    }
    unsigned n = split(e, " + ", part);
    if (n > 1) {
        number_first(part, n);
        return fold(t, "aten.add.Tensor", part, n, depth);
    }
    n = split(e, "*", part);
    if (n > 1) {
        return fold(t, "aten.mul.Tensor", part, n, depth);
    }
    const char *open = memchr(e.s, '(', e.n);
    if (open != NULL && open > e.s && e.s[e.n - 1] == ')' &&
        is_name((aot_span){e.s, (size_t)(open - e.s)})) {
        return function_of(t, (aot_span){e.s, (size_t)(open - e.s)}, trim(open + 1, e.s + e.n - 1),
                           depth);
    }
    t->failed = true;
    return AOT_NO_NODE;
}

/* The tensor of an expression: written before, or now. */
static uint32_t tensor_of(tensorify *t, aot_span e, int depth)
{
    while (unbracket(&e)) {
    }
    uint32_t id = lookup(t->tensors.d, t->tensors.n, e);
    t->failed |= depth == 0 || t->tensors.n >= MAX_KNOWN;
    if (id != AOT_NO_NODE || t->failed) {
        return id;
    }
    id = write_expression(t, e, depth - 1);
    if (!t->failed) {
        aot_vec_push(&t->tensors, ((known){e, id}));
    }
    return id;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The operator of tensors in place of one that takes numbers too; NULL: none. */
static const char *tensor_form(const fx *f, uint32_t id)
{
    static const char *const forms[][2] = {
        {"aten.mul.Tensor", "aten.mul.Tensor"}, {"aten.add.Tensor", "aten.add.Tensor"},
        {"aten.sub.Tensor", "aten.sub.Tensor"}, {"aten.div.Tensor", "aten.div.Tensor"},
        {"aten.gt.Scalar", "aten.gt.Tensor"},   {"aten.lt.Scalar", "aten.lt.Tensor"},
        {"aten.ge.Scalar", "aten.ge.Tensor"},   {"aten.le.Scalar", "aten.le.Tensor"},
        {"aten.eq.Scalar", "aten.eq.Tensor"},   {"aten.ne.Scalar", "aten.ne.Tensor"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (fx_is(f, id, forms[i][0])) {
            return forms[i][1];
        }
    }
    return NULL;
}

static aot_dtype computed_in(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d;
}

static void rewrite(tensorify *t, uint32_t id, const char *op)
{
    fx *f = &t->f;
    aot_dtype own = (aot_dtype)meta_of(f, id)->dtype, d = computed_in(own);
    aot_arg args[MAX_ARGS];
    unsigned n = fx_node(f, id)->n_args;
    bool any = false;
    t->failed = n > MAX_ARGS;
    for (unsigned i = 0; i < n && !t->failed; i++) {
        args[i] = fx_args(f, id)[i];
        if (args[i].kind != AOT_ARG_NODE || !is_float_number(f, args[i].u.node)) {
            continue;
        }
        any = true;
        uint32_t x = tensor_of(t, expression_of(f, args[i].u.node), MAX_DEPTH);
        if (!t->failed) {
            x = d != AOT_B8 && meta_of(f, x)->dtype != d ? converted(t, x, d) : x;
            args[i] = fx_a_node(x);
        }
    }
    if (!any || t->failed) {
        return;
    }
    uint32_t now = call(t, op, args, n, NULL, 0);
    now = own != d ? converted(t, now, own) : now;
    fx_node(f, now)->meta = fx_node(f, id)->meta;
    fx_replace_uses(f, id, now, UINT32_MAX);
    fx_erase(f, id);
}

static void see(tensorify *t, uint32_t id)
{
    fx *f = &t->f;
    aot_span e = expression_of(f, id);
    if (e.n == 0 || meta_of(f, id)->val != AOT_VAL_SYM) {
        return;
    }
    if (lookup(t->numbers.d, t->numbers.n, e) == AOT_NO_NODE && t->numbers.n < MAX_KNOWN) {
        aot_vec_push(&t->numbers, ((known){e, id}));
    }
    uint32_t from = fx_arg_node(f, id, 0);
    if (fx_is(f, id, "aten._local_scalar_dense.default") && is_float_number(f, id) &&
        from != AOT_NO_NODE) {
        aot_vec_push(&t->tensors, ((known){e, converted(t, from, AOT_F64)}));
    }
}

static bool takes_floats(const aot_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_meta *m = aot_meta_get(g->ctx, g->nodes.d[i].meta);
        if (m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_FLOAT &&
            g->nodes.d[i].kind != AOT_PLACEHOLDER) {
            return true;
        }
    }
    return false;
}

const aot_graph *aot_joint_tensorify(const aot_graph *joint)
{
    if (!takes_floats(joint)) {
        return joint;
    }
    tensorify t = {0};
    fx *f = &t.f;
    fx_init_from(f, joint);
    uint32_t first = f->head;
    while (first != AOT_NO_NODE && fx_node(f, first)->kind == AOT_PLACEHOLDER) {
        first = fx_next(f, first);
    }
    for (uint32_t i = f->head, next; i != AOT_NO_NODE && i != f->tail; i = next) {
        next = fx_next(f, i);
        fx_insert_before(f, fx_node(f, i)->kind == AOT_PLACEHOLDER ? first : next);
        see(&t, i);
        const char *op = tensor_form(f, i);
        if (op != NULL) {
            rewrite(&t, i, op);
        }
    }
    fx_eliminate_dead(f);
    const aot_graph *out = fx_finish(f, joint);
    aot_vec_free(&t.numbers);
    aot_vec_free(&t.tensors);
    fx_free(f);
    return out;
}
