/* Lines of tensor code, read and traced in one go.
 *
 *     k = key.permute(0, 2, 1, 3); (query @ k.transpose(-2, -1) / scale).softmax() @ value, k
 *
 * As in Python: statements apart by semicolons, the last one gives the outputs; @, * and / bind
 * alike and tighter than +; x.f(y) is f(x, y); arguments may be named. Numbers are computed, not
 * traced. A text that is not well formed is our own bug. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "joint/trace.h"

enum { MAX_ARGS = 8, MAX_NAMES = 32 };

typedef struct named {
    const char *name;
    size_t n;
    trace_value value;
} named;

typedef struct reader {
    trace *t;
    const char *p;
    named names[MAX_NAMES];
    unsigned n_names;
} reader;

typedef struct call {
    trace_value arg[MAX_ARGS];
    unsigned n;
    named key[MAX_ARGS];
    unsigned n_keys;
} call;

typedef trace_value text_fn(trace *t, const call *c);

/* ---- functions ------------------------------------------------------------------------------ */

static trace_value key(const call *c, const char *name)
{
    for (unsigned i = 0; i < c->n_keys; i++) {
        if (strlen(name) == c->key[i].n && memcmp(c->key[i].name, name, c->key[i].n) == 0) {
            return c->key[i].value;
        }
    }
    return (trace_value){.kind = TRACE_NONE};
}

/* Arguments from i on as sizes. */
static unsigned sizes(const call *c, unsigned i, aot_dim *out)
{
    unsigned n = 0;
    for (; i < c->n; i++) {
        out[n++] = (aot_dim){.value = (int64_t)c->arg[i].number};
    }
    return n;
}

static trace_value fn_transpose(trace *t, const call *c)
{
    return trace_node(
        trace_transpose(t, c->arg[0].node, (int64_t)c->arg[1].number, (int64_t)c->arg[2].number));
}

static trace_value fn_permute(trace *t, const call *c)
{
    unsigned perm[MAX_ARGS];
    for (unsigned i = 1; i < c->n; i++) {
        perm[i - 1] = (unsigned)c->arg[i].number;
    }
    return trace_node(trace_permute(t, c->arg[0].node, perm, c->n - 1));
}

static trace_value fn_view(trace *t, const call *c)
{
    aot_dim d[MAX_ARGS];
    return trace_node(trace_view(t, c->arg[0].node, d, sizes(c, 1, d)));
}

static trace_value fn_reshape(trace *t, const call *c)
{
    aot_dim d[MAX_ARGS];
    return trace_node(trace_reshape(t, c->arg[0].node, d, sizes(c, 1, d)));
}

static trace_value fn_expand(trace *t, const call *c)
{
    aot_dim d[MAX_ARGS];
    return trace_node(trace_expand(t, c->arg[0].node, d, sizes(c, 1, d)));
}

static trace_value fn_expand_as(trace *t, const call *c)
{
    aot_fake a = trace_type(t, c->arg[1].node);
    return trace_node(trace_expand(t, c->arg[0].node, a.size, a.ndim));
}

static trace_value fn_unsqueeze(trace *t, const call *c)
{
    return trace_node(trace_unsqueeze(t, c->arg[0].node, (int64_t)c->arg[1].number));
}

static trace_value fn_squeeze(trace *t, const call *c)
{
    return trace_node(trace_squeeze(t, c->arg[0].node, (int64_t)c->arg[1].number));
}

static trace_value fn_bmm(trace *t, const call *c)
{
    return trace_node(trace_bmm(t, c->arg[0].node, c->arg[1].node));
}

static trace_value fn_softmax(trace *t, const call *c)
{
    return trace_node(trace_softmax(t, c->arg[0].node));
}

static trace_value fn_dropout(trace *t, const call *c)
{
    return trace_node(trace_dropout(t, c->arg[0].node, c->arg[1].number));
}

static trace_value fn_float(trace *t, const call *c)
{
    return trace_node(trace_to(t, c->arg[0].node, AOT_F32));
}

static trace_value fn_half(trace *t, const call *c)
{
    return trace_node(trace_to(t, c->arg[0].node, AOT_F16));
}

static trace_value fn_type_as(trace *t, const call *c)
{
    return trace_node(trace_to(t, c->arg[0].node, (aot_dtype)trace_type(t, c->arg[1].node).dtype));
}

static trace_value fn_eq(trace *t, const call *c)
{
    return trace_node(trace_call2(t, "aten.eq.Scalar", c->arg[0].node, trace_arg(&c->arg[1])));
}

static trace_value fn_where(trace *t, const call *c)
{
    return trace_node(trace_where(t, c->arg[0].node, c->arg[1].node, c->arg[2].node));
}

static trace_value fn_masked_fill(trace *t, const call *c)
{
    return trace_node(trace_masked_fill(t, c->arg[0].node, c->arg[1].node, c->arg[2].node));
}

/* full(value, like): no dimensions, dtype and device of like. */
static trace_value fn_full(trace *t, const call *c)
{
    return trace_node(trace_full(t, c->arg[0].number, c->arg[1].node));
}

/* lowest(like): the least finite number of its dtype. */
static trace_value fn_lowest(trace *t, const call *c)
{
    switch ((aot_dtype)trace_type(t, c->arg[0].node).dtype) {
    case AOT_F16:
        return trace_float(-65504.0);
    case AOT_BF16:
        return trace_float(-3.3895313892515355e+38);
    case AOT_F64:
        return trace_float(-1.7976931348623157e+308);
    default:
        return trace_float(-3.4028234663852886e+38);
    }
}

static trace_value fn_size(trace *t, const call *c)
{
    aot_fake a = trace_type(t, c->arg[0].node);
    unsigned d = aot_fake_dim(&a, (int64_t)c->arg[1].number);
    if (d >= a.ndim || a.size[d].expr != 0) {
        trace_fail(t, AOT_E_UNSUPPORTED, "symbolic sizes are not written into replacements");
        return trace_int(1);
    }
    return trace_int(a.size[d].value);
}

static trace_value fn_sqrt(trace *t, const call *c)
{
    (void)t;
    return trace_float(sqrt(c->arg[0].number));
}

static trace_value fn_attention(trace *t, const call *c)
{
    trace_value mask = key(c, "mask"), dropout = key(c, "dropout"), scale = key(c, "scale");
    return trace_node(trace_attention(t, c->arg[0].node, c->arg[1].node, c->arg[2].node,
                                      mask.kind == TRACE_NODE ? mask.node : AOT_NO_NODE,
                                      dropout.kind == TRACE_NUMBER ? dropout.number : 0.0, &scale));
}

static const struct {
    const char *name;
    text_fn *fn;
} functions[] = {
    {"transpose", fn_transpose},
    {"permute", fn_permute},
    {"view", fn_view},
    {"reshape", fn_reshape},
    {"expand", fn_expand},
    {"expand_as", fn_expand_as},
    {"unsqueeze", fn_unsqueeze},
    {"squeeze", fn_squeeze},
    {"bmm", fn_bmm},
    {"softmax", fn_softmax},
    {"dropout", fn_dropout},
    {"float", fn_float},
    {"half", fn_half},
    {"type_as", fn_type_as},
    {"eq", fn_eq},
    {"where", fn_where},
    {"masked_fill", fn_masked_fill},
    {"full", fn_full},
    {"lowest", fn_lowest},
    {"size", fn_size},
    {"sqrt", fn_sqrt},
    {"attention", fn_attention},
};

/* ---- reading -------------------------------------------------------------------------------- */

static char peek(reader *r)
{
    while (isspace((unsigned char)*r->p)) {
        r->p++;
    }
    return *r->p;
}

static bool take(reader *r, char c)
{
    if (peek(r) != c) {
        return false;
    }
    r->p++;
    return true;
}

static size_t word(reader *r)
{
    size_t n = 0;
    peek(r);
    while (isalnum((unsigned char)r->p[n]) || r->p[n] == '_') {
        n++;
    }
    return n;
}

static trace_value expression(reader *r);

static void read_args(reader *r, call *c)
{
    while (!take(r, ')')) {
        const char *at = r->p;
        named k = {.n = word(r)};
        k.name = r->p;
        r->p += k.n;
        if (k.n != 0 && take(r, '=')) {
            assert(c->n_keys < MAX_ARGS);
            k.value = expression(r);
            c->key[c->n_keys++] = k;
        } else {
            r->p = at;
            assert(c->n < MAX_ARGS);
            c->arg[c->n++] = expression(r);
        }
        take(r, ',');
    }
}

static trace_value apply(reader *r, const char *name, size_t n, call *c)
{
    read_args(r, c);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strlen(functions[i].name) == n && memcmp(functions[i].name, name, n) == 0) {
            return r->t->st == AOT_OK ? functions[i].fn(r->t, c) : trace_node(AOT_NO_NODE);
        }
    }
    assert(!"function of a pattern's text");
    return (trace_value){.kind = TRACE_NONE};
}

static trace_value primary(reader *r)
{
    if (take(r, '(')) {
        trace_value v = expression(r);
        take(r, ')');
        return v;
    }
    char c = peek(r);
    if (isdigit((unsigned char)c) || c == '-') {
        char *end;
        double v = strtod(r->p, &end);
        bool is_int = memchr(r->p, '.', (size_t)(end - r->p)) == NULL && isfinite(v);
        r->p = end;
        return is_int ? trace_int((int64_t)v) : trace_float(v);
    }
    size_t n = word(r);
    const char *name = r->p;
    assert(n != 0);
    r->p += n;
    if (take(r, '(')) {
        call args = {.n = 0};
        return apply(r, name, n, &args);
    }
    for (unsigned i = 0; i < r->n_names; i++) {
        if (r->names[i].n == n && memcmp(r->names[i].name, name, n) == 0) {
            return r->names[i].value;
        }
    }
    assert(!"name in a pattern's text");
    return (trace_value){.kind = TRACE_NONE};
}

static trace_value postfix(reader *r)
{
    trace_value v = primary(r);
    while (take(r, '.')) {
        size_t n = word(r);
        const char *name = r->p;
        r->p += n;
        take(r, '(');
        call args = {.arg = {v}, .n = 1};
        v = apply(r, name, n, &args);
    }
    return v;
}

static trace_value combine(trace *t, char op, const trace_value *a, const trace_value *b)
{
    if (a->kind == TRACE_NUMBER && b->kind == TRACE_NUMBER) {
        double v = op == '*'   ? a->number * b->number
                   : op == '/' ? a->number / b->number
                               : a->number + b->number;
        return op == '/' || !a->is_int || !b->is_int ? trace_float(v) : trace_int((int64_t)v);
    }
    if (t->st != AOT_OK) {
        return trace_node(AOT_NO_NODE);
    }
    switch (op) {
    case '@':
        return trace_node(trace_matmul(t, a->node, b->node));
    case '*':
        return trace_node(trace_mul(t, a->node, b));
    case '/':
        return trace_node(trace_div(t, a->node, b));
    default:
        return trace_node(trace_add(t, a->node, b->node));
    }
}

static trace_value product(reader *r)
{
    trace_value v = postfix(r);
    for (char op = peek(r); op == '@' || op == '*' || op == '/'; op = peek(r)) {
        r->p++;
        trace_value w = postfix(r);
        v = combine(r->t, op, &v, &w);
    }
    return v;
}

static trace_value expression(reader *r)
{
    trace_value v = product(r);
    while (take(r, '+')) {
        trace_value w = product(r);
        v = combine(r->t, '+', &v, &w);
    }
    return v;
}

static void name(reader *r, const char *s, size_t n, trace_value v)
{
    for (unsigned i = 0; i < r->n_names; i++) {
        if (r->names[i].n == n && memcmp(r->names[i].name, s, n) == 0) {
            r->names[i].value = v;
            return;
        }
    }
    assert(r->n_names < MAX_NAMES);
    r->names[r->n_names++] = (named){s, n, v};
}

/* name = expression; false if none stands here. */
static bool statement(reader *r)
{
    const char *at = r->p;
    size_t n = word(r);
    const char *s = r->p;
    r->p += n;
    if (n == 0 || !take(r, '=')) {
        r->p = at;
        return false;
    }
    trace_value v = expression(r);
    name(r, s, n, v);
    take(r, ';');
    return true;
}

void trace_text(trace *t, aot_ctx *c, const char *text, const trace_input *in, unsigned n_in,
                bool grad)
{
    trace_begin(t, c, grad);
    reader r = {.t = t, .p = text};
    for (unsigned i = 0; i < n_in; i++) {
        trace_value v = in[i].value;
        if (v.kind == TRACE_NODE) {
            v.node = trace_placeholder(t, in[i].meta, in[i].grad);
        }
        aot_vec_push(&t->inputs, v.kind == TRACE_NODE ? v.node : AOT_NO_NODE);
        name(&r, in[i].name, strlen(in[i].name), v);
    }
    while (statement(&r)) {
    }
    uint32_t outs[MAX_ARGS], n = 0;
    do {
        outs[n++] = expression(&r).node;
    } while (take(&r, ',') && n < MAX_ARGS);
    AOT_VEC(uint32_t) wrt = {0};
    for (unsigned i = 0; i < n_in; i++) {
        aot_vec_push(&wrt, in[i].grad ? t->inputs.d[i] : AOT_NO_NODE);
    }
    trace_end(t, outs, n, wrt.d, n_in);
    aot_vec_free(&wrt);
}
