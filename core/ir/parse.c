/* PyTorch's readable text -> graph.
 *
 *   class GraphModule(torch.nn.Module):
 *       def forward(self, x: "f32[4][1]cpu"):
 *           # File: model.py:3 in f, code: return x.sin() + 1
 *           sin: "f32[4][1]cpu" = torch.ops.aten.sin.default(x);  x = None
 *           return (sin,)
 *
 * One pass, line by line; a statement is a small recursive descent with bounded nesting. Both layouts
 * are read: one-line signatures (TORCH_LOGS) and expanded ones with descriptors (TORCH_TRACE).
 * Mirrors: the printer, torch/fx/graph.py:_gen_python_code. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pyops.h"
#include "ir/text.h"

enum { MAX_NEST = 64, MAX_MODULE_NEST = 64 };

typedef struct module {
    aot_graph *g;
    size_t indent;
} module;

/* What a name stands for in the module that is being read. */
typedef struct binding {
    uint32_t scope, node;
} binding;

typedef struct parser {
    aot_ctx *c;
    aot_graph *g; /* the module being read */
    const char *p, *end, *line_start;
    uint32_t line, scope;
    int nest;
    aot_err *err;
    module stack[MAX_MODULE_NEST];
    int depth;
    AOT_VEC(binding) names;        /* by aot_str */
    AOT_VEC(uint32_t) src_of_text; /* by aot_str; within the current scope */
    AOT_VEC(uint32_t) src_scope;
    AOT_VEC(aot_arg) stack_args; /* items of containers that are still open */
    uint32_t src;
    bool frees_unused; /* a value that nobody reads was freed on its own line */
} parser;

static aot_status fail(parser *ps, const char *expected)
{
    const char *p = ps->p < ps->end ? ps->p : ps->end;
    size_t n = 0;
    while (n < 40 && p + n < ps->end && p[n] != '\n') {
        n++;
    }
    aot_pos at = {ps->line, (uint32_t)(p - ps->line_start) + 1};
    if (n == 0) {
        return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at, "expected %s, found the end of the line", expected);
    }
    return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at, "expected %s, found '%.*s'", expected, (int)n, p);
}

/* ---- scanning ---------------------------------------------------------------------------- */

static bool at_line_end(const parser *ps)
{
    return ps->p >= ps->end || *ps->p == '\n' || *ps->p == '\r';
}

static void blanks(parser *ps)
{
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\t')) {
        ps->p++;
    }
}

static void next_line(parser *ps)
{
    const char *nl = ps->p < ps->end ? memchr(ps->p, '\n', (size_t)(ps->end - ps->p)) : NULL;
    ps->p = nl != NULL ? nl + 1 : ps->end;
    ps->line_start = ps->p;
    ps->line++;
}

static bool looking_at(const parser *ps, const char *tok)
{
    size_t n = strlen(tok);
    return (size_t)(ps->end - ps->p) >= n && memcmp(ps->p, tok, n) == 0;
}

static bool take(parser *ps, const char *tok)
{
    if (!looking_at(ps, tok)) {
        return false;
    }
    ps->p += strlen(tok);
    return true;
}

static bool ident_char(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || (unsigned char)ch >= 128;
}

static size_t ident_len(const parser *ps, const char *p)
{
    const char *q = p;
    if (q < ps->end && isdigit((unsigned char)*q)) {
        return 0;
    }
    while (q < ps->end && ident_char(*q)) {
        q++;
    }
    return (size_t)(q - p);
}

/* Length of a dotted path; a part may be <lambda> or <locals>, as Python's qualified names have. */
static size_t path_len(const parser *ps, const char *p)
{
    const char *q = p;
    for (;;) {
        size_t n = ident_len(ps, q);
        if (n == 0 && q > p && q < ps->end && *q == '<') {
            const char *close = memchr(q, '>', (size_t)(ps->end - q));
            n = close != NULL && close - q < 64 ? (size_t)(close + 1 - q) : 0;
        }
        if (n == 0) {
            return q > p ? (size_t)(q - 1 - p) : 0;
        }
        q += n;
        if (q >= ps->end || *q != '.') {
            return (size_t)(q - p);
        }
        q++;
    }
}

/* From an opening bracket to just after its match, strings respected; NULL if it does not close on
 * this line. */
static const char *balanced(const parser *ps, const char *p)
{
    int depth = 0;
    for (; p < ps->end && *p != '\n'; p++) {
        if (*p == '\'' || *p == '"') {
            char quote = *p++;
            while (p < ps->end && *p != '\n' && *p != quote) {
                p += *p == '\\' ? 2 : 1;
            }
            if (p >= ps->end || *p != quote) {
                return NULL;
            }
        } else if (*p == '(' || *p == '[' || *p == '{') {
            depth++;
        } else if (*p == ')' || *p == ']' || *p == '}') {
            if (--depth == 0) {
                return p + 1;
            }
        }
    }
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------- */

static binding *binding_of(parser *ps, aot_str s)
{
    while (ps->names.n <= s) {
        aot_vec_push(&ps->names, ((binding){0, 0}));
    }
    return &ps->names.d[s];
}

static void bind(parser *ps, aot_str s, aot_node_id id)
{
    *binding_of(ps, s) = (binding){ps->scope, id};
}

static aot_node_id lookup(const parser *ps, const char *s, size_t n)
{
    aot_str id = aot_intern_find(ps->c->strs, s, n);
    return id != 0 && id < ps->names.n && ps->names.d[id].scope == ps->scope ? ps->names.d[id].node : AOT_NO_NODE;
}

/* ---- values ------------------------------------------------------------------------------ */

static aot_status parse_value(parser *ps, aot_arg *out);

static aot_status parse_string(parser *ps, aot_arg *out)
{
    char quote = *ps->p;
    const char *start = ps->p + 1, *q = start;
    while (q < ps->end && *q != '\n' && *q != quote) {
        q += *q == '\\' && q + 1 < ps->end ? 2 : 1;
    }
    if (q >= ps->end || *q != quote) {
        return fail(ps, "a string that ends on its line");
    }
    *out = (aot_arg){.kind = AOT_ARG_STR, .quote = (uint8_t)quote};
    out->u.s = aot_intern(ps->c->strs, start, (size_t)(q - start));
    ps->p = q + 1;
    return AOT_OK;
}

static aot_arg raw_arg(parser *ps, aot_arg_kind kind, const char *from)
{
    aot_arg a = {.kind = (uint8_t)kind};
    a.u.s = aot_intern(ps->c->strs, from, (size_t)(ps->p - from));
    return a;
}

static aot_status parse_number(parser *ps, aot_arg *out)
{
    const char *start = ps->p, *q = start;
    bool is_float = false;
    q += *q == '-' || *q == '+';
    if ((size_t)(ps->end - q) >= 3 && memcmp(q, "inf", 3) == 0) {
        ps->p = q + 3;
        *out = (aot_arg){.kind = AOT_ARG_FLOAT};
        out->u.f = *start == '-' ? -(double)INFINITY : (double)INFINITY;
        return AOT_OK;
    }
    while (q < ps->end && (isdigit((unsigned char)*q) || *q == '.' || *q == 'e' || *q == 'E' ||
                           ((*q == '-' || *q == '+') && (q[-1] == 'e' || q[-1] == 'E')))) {
        is_float |= !isdigit((unsigned char)*q);
        q++;
    }
    ps->p = q;
    if (q < ps->end && *q == 'j') {
        ps->p++;
        *out = raw_arg(ps, AOT_ARG_COMPLEX, start);
        return AOT_OK;
    }
    char buf[64];
    size_t n = (size_t)(q - start);
    if (n == 0 || n >= sizeof buf || (n == 1 && !isdigit((unsigned char)*start))) {
        if (n < sizeof buf) {
            ps->p = start;
            return fail(ps, "a number");
        }
        *out = raw_arg(ps, AOT_ARG_RAW, start); // an integer of many digits
        return AOT_OK;
    }
    memcpy(buf, start, n);
    buf[n] = '\0';
    errno = 0;
    char *stop;
    *out = (aot_arg){.kind = is_float ? AOT_ARG_FLOAT : AOT_ARG_INT};
    if (is_float) {
        out->u.f = strtod(buf, &stop);
    } else {
        out->u.i = strtoll(buf, &stop, 10);
        if (errno == ERANGE) {
            *out = raw_arg(ps, AOT_ARG_RAW, start);
            return AOT_OK;
        }
    }
    return *stop == '\0' ? AOT_OK : (ps->p = start, fail(ps, "a number"));
}

/* Items up to close. They are gathered on a stack and moved to the graph's pool when complete, so
 * that the items of one container lie together. */
static aot_status parse_items(parser *ps, char close, aot_arg *out, bool *trailing_comma)
{
    size_t base = ps->stack_args.n;
    bool dict = out->kind == AOT_ARG_DICT;
    *trailing_comma = false;
    for (;;) {
        blanks(ps);
        if (ps->p < ps->end && *ps->p == close) {
            break;
        }
        aot_arg item;
        AOT_TRY(parse_value(ps, &item));
        aot_vec_push(&ps->stack_args, item);
        *trailing_comma = false;
        if (dict) {
            blanks(ps);
            if (!take(ps, ":")) {
                return fail(ps, "':' in a dict");
            }
            blanks(ps);
            AOT_TRY(parse_value(ps, &item));
            aot_vec_push(&ps->stack_args, item);
        }
        blanks(ps);
        if (take(ps, ",")) {
            *trailing_comma = true;
        } else if (ps->p >= ps->end || *ps->p != close) {
            return fail(ps, close == ')' ? "',' or ')'" : close == ']' ? "',' or ']'" : "',' or '}'");
        }
    }
    ps->p++;
    out->n += (uint32_t)(ps->stack_args.n - base);
    uint32_t first = aot_graph_add_args(ps->g, ps->stack_args.d + base, (uint32_t)(ps->stack_args.n - base));
    out->u.first = first;
    ps->stack_args.n = base;
    return AOT_OK;
}

static aot_status parse_paren(parser *ps, aot_arg *out)
{
    const char *start = ps->p;
    // a complex number: (1+2j), (-0-1e-05j), (nan+infj)
    const char *q = start + 1;
    while (q < ps->end && (isalnum((unsigned char)*q) || *q == '.' || *q == '+' || *q == '-')) {
        q++;
    }
    if (q < ps->end && *q == ')' && q[-1] == 'j' && q - start > 2) {
        ps->p = q + 1;
        *out = raw_arg(ps, AOT_ARG_COMPLEX, start);
        return AOT_OK;
    }
    bool comma;
    ps->p++;
    *out = (aot_arg){.kind = AOT_ARG_TUPLE};
    AOT_TRY(parse_items(ps, ')', out, &comma));
    if (out->n == 1 && !comma) {
        *out = ps->g->args.d[out->u.first]; // plain brackets around one value
    }
    return AOT_OK;
}

/* name(...): slice, a named tuple of values, or text that is kept whole. */
static aot_status parse_call_value(parser *ps, aot_arg *out, const char *start, size_t n)
{
    const char *open = start + n, *close = balanced(ps, open);
    if (close == NULL) {
        return fail(ps, "a bracket that closes on its line");
    }
    bool comma, keywords = false;
    for (const char *q = open; q < close; q++) {
        keywords |= *q == '=' && q[1] != '=';
    }
    if (keywords || (n == 6 && memcmp(start, "device", 6) == 0)) {
        ps->p = close;
        *out = raw_arg(ps, AOT_ARG_RAW, start);
        return AOT_OK;
    }
    *out = (aot_arg){.kind = AOT_ARG_SLICE};
    aot_arg name = {.kind = AOT_ARG_NAME};
    name.u.s = aot_intern(ps->c->strs, start, n);
    ps->p = open + 1;
    if (n == 5 && memcmp(start, "slice", 5) == 0) {
        return parse_items(ps, ')', out, &comma);
    }
    out->kind = AOT_ARG_CALL;
    size_t base = ps->stack_args.n;
    aot_arg inner = {.kind = AOT_ARG_TUPLE};
    AOT_TRY(parse_items(ps, ')', &inner, &comma));
    aot_vec_push(&ps->stack_args, name);
    for (uint32_t i = 0; i < inner.n; i++) {
        aot_vec_push(&ps->stack_args, ps->g->args.d[inner.u.first + i]);
    }
    out->n = inner.n + 1;
    out->quote = comma;
    out->u.first = aot_graph_add_args(ps->g, ps->stack_args.d + base, out->n);
    ps->stack_args.n = base;
    return AOT_OK;
}

static aot_status parse_word(parser *ps, aot_arg *out)
{
    const char *start = ps->p;
    size_t n = path_len(ps, start);
    if (n == 0) {
        return fail(ps, "a value");
    }
    if (start + n < ps->end && start[n] == '(') {
        return parse_call_value(ps, out, start, n);
    }
    ps->p = start + n;
    aot_node_id id = lookup(ps, start, n);
    if (id != AOT_NO_NODE) {
        *out = (aot_arg){.kind = AOT_ARG_NODE};
        out->u.node = id;
        return AOT_OK;
    }
    static const struct {
        const char *word;
        aot_arg value;
    } words[] = {
        {"None", {.kind = AOT_ARG_NONE}},
        {"True", {.kind = AOT_ARG_BOOL, .u.i = 1}},
        {"False", {.kind = AOT_ARG_BOOL, .u.i = 0}},
        {"inf", {.kind = AOT_ARG_FLOAT, .u.f = (double)INFINITY}},
        {"nan", {.kind = AOT_ARG_FLOAT, .u.f = (double)NAN}},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (strlen(words[k].word) == n && memcmp(words[k].word, start, n) == 0) {
            *out = words[k].value;
            return AOT_OK;
        }
    }
    *out = raw_arg(ps, AOT_ARG_NAME, start);
    return AOT_OK;
}

static aot_status parse_value_inner(parser *ps, aot_arg *out)
{
    bool comma;
    char ch = ps->p < ps->end ? *ps->p : '\0';
    if (ch == '\'' || ch == '"') {
        return parse_string(ps, out);
    }
    if (ch == '[' || ch == '{') {
        ps->p++;
        *out = (aot_arg){.kind = ch == '[' ? AOT_ARG_LIST : AOT_ARG_DICT};
        return parse_items(ps, ch == '[' ? ']' : '}', out, &comma);
    }
    if (ch == '(') {
        return parse_paren(ps, out);
    }
    if (isdigit((unsigned char)ch) || ch == '-' || ch == '.') {
        if (take(ps, "...")) {
            *out = raw_arg(ps, AOT_ARG_NAME, ps->p - 3);
            return AOT_OK;
        }
        return parse_number(ps, out);
    }
    if (ch == '<') { // repr of an object: <function f at 0x..>, <OutputType.x: 1>
        const char *start = ps->p;
        int depth = 0;
        for (; !at_line_end(ps); ps->p++) {
            depth += (*ps->p == '<') - (*ps->p == '>');
            if (depth == 0) {
                ps->p++;
                *out = raw_arg(ps, AOT_ARG_RAW, start);
                return AOT_OK;
            }
        }
        ps->p = start;
        return fail(ps, "a value");
    }
    return parse_word(ps, out);
}

static aot_status parse_value(parser *ps, aot_arg *out)
{
    if (ps->nest >= MAX_NEST) {
        return fail(ps, "at most 64 levels of brackets");
    }
    ps->nest++;
    aot_status s = parse_value_inner(ps, out);
    ps->nest--;
    return s;
}

/* ---- statements -------------------------------------------------------------------------- */

/* name[: "type"] = ; the type's text is kept, with its blanks if it is not a quoted one. */
static aot_status parse_assign(parser *ps, aot_node *n)
{
    size_t len = ident_len(ps, ps->p);
    if (len == 0) {
        return fail(ps, "a statement");
    }
    n->name = aot_intern(ps->c->strs, ps->p, len);
    ps->p += len;
    if (looking_at(ps, ": \"") || looking_at(ps, " : \"")) {
        ps->p = memchr(ps->p, '"', (size_t)(ps->end - ps->p));
        const char *start = ++ps->p;
        while (!at_line_end(ps) && *ps->p != '"') {
            ps->p++;
        }
        if (at_line_end(ps)) {
            return fail(ps, "'\"' after the type");
        }
        n->meta = aot_ctx_meta(ps->c, start, (size_t)(ps->p - start));
        ps->p++;
    } else if (looking_at(ps, " : ")) {
        const char *start = ps->p;
        for (int depth = 0; !at_line_end(ps) && !looking_at(ps, " = "); ps->p++) {
            if (depth == 0 && (*ps->p == ',' || *ps->p == ')')) {
                break; // a parameter among others
            }
            depth += (*ps->p == '[' || *ps->p == '(') - (*ps->p == ']' || *ps->p == ')');
        }
        n->meta = aot_ctx_meta(ps->c, start, (size_t)(ps->p - start));
    }
    return AOT_OK;
}

static void set_args(parser *ps, aot_node *n, const aot_arg *a, uint16_t count)
{
    n->args = aot_graph_add_args(ps->g, a, count);
    n->n_args = count;
}

static void set_function(parser *ps, aot_node *n, const char *target)
{
    n->kind = AOT_CALL_FUNCTION;
    n->target = aot_intern_z(ps->c->strs, target);
    n->op = aot_ctx_op(ps->c, n->target);
}

/* (a, b, k = v): positional arguments, then keyword ones. first: receiver of a method, or NULL. */
static aot_status parse_call_args(parser *ps, aot_node *n, const aot_arg *first)
{
    size_t base = ps->stack_args.n;
    AOT_VEC(aot_arg) kw = {0};
    aot_status status = AOT_OK;
    if (first != NULL) {
        aot_vec_push(&ps->stack_args, *first);
    }
    ps->p++;
    while (!take(ps, ")")) {
        aot_arg v, key = {.kind = AOT_ARG_NAME};
        size_t len = ident_len(ps, ps->p);
        bool keyword = len != 0 && ps->p + len + 3 < ps->end && memcmp(ps->p + len, " = ", 3) == 0;
        if (keyword) {
            key.u.s = aot_intern(ps->c->strs, ps->p, len);
            ps->p += len + 3;
        }
        status = parse_value(ps, &v);
        if (status == AOT_OK && keyword) {
            aot_vec_push(&kw, key);
            aot_vec_push(&kw, v);
        } else if (status == AOT_OK) {
            aot_vec_push(&ps->stack_args, v);
        }
        if (status == AOT_OK && !take(ps, ", ") && !looking_at(ps, ")")) {
            status = fail(ps, "',' or ')' after an argument");
        }
        if (status != AOT_OK) {
            break;
        }
    }
    size_t n_args = ps->stack_args.n - base;
    if (status == AOT_OK && (n_args > UINT16_MAX || kw.n / 2 > UINT16_MAX)) {
        status = fail(ps, "at most 65,535 arguments");
    }
    if (status == AOT_OK) {
        set_args(ps, n, ps->stack_args.d + base, (uint16_t)n_args);
        n->kwargs = aot_graph_add_args(ps->g, kw.d, (uint32_t)kw.n);
        n->n_kwargs = (uint16_t)(kw.n / 2);
    }
    ps->stack_args.n = base;
    aot_vec_free(&kw);
    return status;
}

/* self.a.b, getattr(self.layers, "0").weight ...: the dotted target goes to path. False (and
 * nothing consumed) if this is no path from self. */
static bool parse_self_path(parser *ps, aot_sb *path, int depth)
{
    const char *start = ps->p;
    if (depth < MAX_NEST && take(ps, "getattr(")) {
        if (!parse_self_path(ps, path, depth + 1) || !take(ps, ", \"")) {
            ps->p = start;
            return false;
        }
        const char *q = memchr(ps->p, '"', (size_t)(ps->end - ps->p));
        if (q == NULL || q + 1 >= ps->end || q[1] != ')') {
            ps->p = start;
            return false;
        }
        aot_sb_addf(path, "%s%.*s", path->n != 0 ? "." : "", (int)(q - ps->p), ps->p);
        ps->p = q + 2;
    } else if (!take(ps, "self")) {
        return false;
    }
    while (ps->p < ps->end && *ps->p == '.') {
        size_t n = ident_len(ps, ps->p + 1);
        if (n == 0) {
            break;
        }
        aot_sb_addf(path, "%s%.*s", path->n != 0 ? "." : "", (int)n, ps->p + 1);
        ps->p += n + 1;
    }
    return true;
}

/* After the left operand: " + b", "[i]" or nothing. */
static aot_status parse_operator(parser *ps, aot_node *n, const aot_arg *left)
{
    size_t count;
    const aot_pyop *ops = aot_pyops(&count);
    aot_arg a[2] = {*left};
    for (size_t i = 0; i < count; i++) {
        if (ops[i].operands == 2 && !ops[i].inplace && take(ps, ops[i].between)) {
            char target[64];
            AOT_TRY(parse_value(ps, &a[1]));
            if (!take(ps, ops[i].after)) {
                return fail(ps, "']'");
            }
            snprintf(target, sizeof target, "operator.%s", ops[i].name);
            set_args(ps, n, a, 2);
            set_function(ps, n, target);
            return AOT_OK;
        }
    }
    return fail(ps, "an operator");
}

/* -x, ~x, +x of a value (a negative number is a number). */
static bool parse_unary(parser *ps, aot_node *n, aot_status *status)
{
    size_t count;
    const aot_pyop *ops = aot_pyops(&count);
    for (size_t i = 0; i < count; i++) {
        if (ops[i].operands == 1 && *ps->p == ops[i].before[0] && ps->p + 1 < ps->end && ident_char(ps->p[1]) &&
            !isdigit((unsigned char)ps->p[1]) && !looking_at(ps, "-inf")) {
            char target[64];
            aot_arg a;
            ps->p++;
            *status = parse_value(ps, &a);
            snprintf(target, sizeof target, "operator.%s", ops[i].name);
            set_args(ps, n, &a, 1);
            set_function(ps, n, target);
            return true;
        }
    }
    return false;
}

/* x.method(...), x.attribute, or an operator on x. */
static aot_status parse_on_value(parser *ps, aot_node *n, const aot_arg *x)
{
    if (ps->p < ps->end && *ps->p == '.') {
        size_t len = ident_len(ps, ps->p + 1);
        const char *name = ps->p + 1;
        if (len == 0) {
            return fail(ps, "a method or attribute");
        }
        ps->p = name + len;
        if (looking_at(ps, "(")) {
            n->kind = AOT_CALL_METHOD;
            n->target = aot_intern(ps->c->strs, name, len);
            return parse_call_args(ps, n, x);
        }
        aot_arg a[2] = {*x, {.kind = AOT_ARG_STR, .quote = '\''}};
        a[1].u.s = aot_intern(ps->c->strs, name, len);
        set_args(ps, n, a, 2);
        set_function(ps, n, "getattr");
        return AOT_OK;
    }
    return parse_operator(ps, n, x);
}

static aot_status parse_rhs(parser *ps, aot_node *n)
{
    aot_status status = AOT_OK;
    aot_sb path = {0};
    const char *start = ps->p;
    if ((looking_at(ps, "self") || looking_at(ps, "getattr(")) && parse_self_path(ps, &path, 0) && path.n != 0) {
        n->kind = looking_at(ps, "(") ? AOT_CALL_MODULE : AOT_GET_ATTR;
        n->target = aot_intern(ps->c->strs, path.d, path.n);
        aot_sb_free(&path);
        return n->kind == AOT_CALL_MODULE ? parse_call_args(ps, n, NULL) : AOT_OK;
    }
    aot_sb_free(&path);
    ps->p = start;
    size_t head = ident_len(ps, start), len = path_len(ps, start);
    aot_node_id value = head != 0 ? lookup(ps, start, head) : AOT_NO_NODE;
    if (value == AOT_NO_NODE && len != 0 && start + len < ps->end && start[len] == '(') {
        n->kind = AOT_CALL_FUNCTION;
        n->target = aot_intern(ps->c->strs, start, len);
        n->op = aot_ctx_op(ps->c, n->target);
        ps->p = start + len;
        return parse_call_args(ps, n, NULL);
    }
    if (at_line_end(ps)) {
        return fail(ps, "a value after '='");
    }
    if (parse_unary(ps, n, &status)) {
        return status;
    }
    aot_arg x;
    if (value != AOT_NO_NODE) {
        x = (aot_arg){.kind = AOT_ARG_NODE};
        x.u.node = value;
        ps->p = start + head;
    } else {
        AOT_TRY(parse_value(ps, &x));
    }
    return parse_on_value(ps, n, &x);
}

/* Names are unique in a module; FX never gives one twice. */
static aot_status add_node(parser *ps, aot_node *n)
{
    if (n->kind != AOT_OUTPUT && binding_of(ps, n->name)->scope == ps->scope) {
        aot_pos at = {ps->line, 0};
        return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at, "expected a new name, found '%s' a second time",
                            aot_text(ps->c, n->name));
    }
    n->src = n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT ? 0 : ps->src;
    n->policy = ps->g->srcs.d[n->src].policy;
    aot_node_id id = aot_graph_add(ps->g, n);
    bind(ps, n->name, id);
    return AOT_OK;
}

/* What follows a statement: ";  a = b = None", which printing makes anew. */
static aot_status end_statement(parser *ps)
{
    blanks(ps);
    if (!at_line_end(ps) && *ps->p != ';' && *ps->p != '#') {
        return fail(ps, "the end of the statement");
    }
    if (!at_line_end(ps) && *ps->p == ';' && ps->g->nodes.n != 0) {
        // is the value itself freed at once? Older printers never did that
        const aot_node *n = &ps->g->nodes.d[ps->g->nodes.n - 1];
        size_t len = aot_str_len(ps->c->strs, n->name);
        const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
        const char *end = nl != NULL ? nl : ps->end;
        while (end > ps->p && (end[-1] == ' ' || end[-1] == '\r')) {
            end--;
        }
        ps->frees_unused |= (size_t)(end - ps->p) > len + 8 && memcmp(end - 7, " = None", 7) == 0 &&
                            memcmp(end - 7 - len, aot_text(ps->c, n->name), len) == 0 && end[-8 - (ptrdiff_t)len] == ' ';
    }
    next_line(ps);
    return AOT_OK;
}

/* a += b;  x: "type" = a   and   a[i] = v;  setitem = a */
static aot_status parse_inplace(parser *ps, const aot_pyop *op, aot_arg *a, uint16_t n_args)
{
    aot_node n = {0};
    char target[64];
    AOT_TRY(parse_value(ps, &a[n_args - 1]));
    if (!take(ps, ";  ")) {
        return fail(ps, "';' and the name of the result");
    }
    AOT_TRY(parse_assign(ps, &n));
    if (!take(ps, " = ")) {
        return fail(ps, "'='");
    }
    aot_arg again;
    AOT_TRY(parse_value(ps, &again));
    snprintf(target, sizeof target, "operator.%s", op != NULL ? op->name : "setitem");
    set_args(ps, &n, a, n_args);
    set_function(ps, &n, target);
    AOT_TRY(add_node(ps, &n));
    return end_statement(ps);
}

/* True (with *status) if the line mutates a value. */
static bool try_inplace(parser *ps, aot_status *status)
{
    const char *start = ps->p;
    size_t len = ident_len(ps, start), count;
    const aot_pyop *ops = aot_pyops(&count);
    aot_arg a[3];
    if (len == 0 || lookup(ps, start, len) == AOT_NO_NODE) {
        return false;
    }
    a[0] = (aot_arg){.kind = AOT_ARG_NODE};
    a[0].u.node = lookup(ps, start, len);
    ps->p = start + len;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].inplace && take(ps, ops[i].between)) {
            *status = parse_inplace(ps, &ops[i], a, 2);
            return true;
        }
    }
    if (take(ps, "[")) {
        *status = parse_value(ps, &a[1]);
        if (*status == AOT_OK && take(ps, "] = ")) {
            *status = parse_inplace(ps, NULL, a, 3);
        } else if (*status == AOT_OK) {
            *status = fail(ps, "'] = '");
        }
        return true;
    }
    ps->p = start;
    return false;
}

static aot_status parse_statement(parser *ps)
{
    aot_status status;
    aot_node n = {0};
    if (try_inplace(ps, &status)) {
        return status;
    }
    AOT_TRY(parse_assign(ps, &n));
    if (!take(ps, " = ")) {
        return fail(ps, "'='");
    }
    size_t len = ident_len(ps, ps->p);
    const char *after = ps->p + len;
    if (len != 0 && (after >= ps->end || *after == '\n' || *after == '\r' || *after == ';')) {
        // l_x_ = L_x_: the value's own name for a placeholder
        aot_node_id id = lookup(ps, ps->p, len);
        if (id != AOT_NO_NODE && aot_node_at(ps->g, id)->kind == AOT_PLACEHOLDER) {
            aot_node_at(ps->g, id)->name = n.name;
            bind(ps, n.name, id);
            ps->p = after;
            return end_statement(ps);
        }
        if (after < ps->end && *after == ';' && id == AOT_NO_NODE) {
            return fail(ps, "a value that was defined before");
        }
    }
    AOT_TRY(parse_rhs(ps, &n));
    AOT_TRY(add_node(ps, &n));
    return end_statement(ps);
}

/* ---- comments ---------------------------------------------------------------------------- */

static void source_facts(aot_ctx *c, aot_src *s, const char *p, const char *end)
{
#define FIND(from, text) ((const char *)memmem((from), (size_t)(end - (from)), text, sizeof(text) - 1))
    const char *ac = FIND(p, "ac_graph_id: "), *file = FIND(p, "File: "), *rec = FIND(p, "recompute: ");
    s->is_backward = FIND(p, "Backward of forward node: ") != NULL;
    if (ac != NULL && (file == NULL || ac < file)) {
        char *after;
        char num[16] = "";
        size_t n = (size_t)(end - ac - 13) < sizeof num - 1 ? (size_t)(end - ac - 13) : sizeof num - 1;
        memcpy(num, ac + 13, n);
        s->ac_graph_id = (int32_t)strtol(num, &after, 10);
        const char *q = ac + 13 + (after - num);
        if ((size_t)(end - q) > 3 && memcmp(q, " - ", 3) == 0) {
            rec = q - 8;
        }
    }
    if (rec != NULL && (file == NULL || rec < file)) {
        const char *word = rec + 11, *q = word;
        while (q < end && (isupper((unsigned char)*q) || *q == '_')) {
            q++;
        }
        s->policy = (uint8_t)aot_policy_of(word, (size_t)(q - word));
    }
    if (file == NULL) {
        return;
    }
    file += 6;
    const char *code = FIND(file, ", code: ");
    const char *in = FIND(file, " in ");
    const char *stop = in != NULL ? in : code != NULL ? code : end, *colon = stop;
    while (colon > file && colon[-1] != ':') {
        colon--;
    }
    s->file = aot_intern(c->strs, file, (size_t)((colon > file ? colon - 1 : stop) - file));
    for (const char *q = colon; colon > file && q < stop && isdigit((unsigned char)*q); q++) {
        s->line = s->line * 10 + (uint32_t)(*q - '0');
    }
    if (in != NULL) {
        const char *fn_end = code != NULL && code > in ? code : end;
        s->func = aot_intern(c->strs, in + 4, (size_t)(fn_end - in - 4));
    }
    if (code != NULL) {
        s->code = aot_intern(c->strs, code + 8, (size_t)(end - code - 8));
    }
#undef FIND
}

/* A comment holds for every node until the next one; it is printed only when it changes. */
static void parse_comment(parser *ps)
{
    const char *p = ps->p + 1, *end = p;
    while (end < ps->end && *end != '\n') {
        end++;
    }
    while (p < end && *p == ' ') {
        p++;
    }
    const char *stop = end;
    while (stop > p && isspace((unsigned char)stop[-1])) {
        stop--;
    }
    bool directive = (size_t)(stop - p) >= 9 && memcmp(p, "aotscope:", 9) == 0;
    aot_str text = directive ? 0 : aot_intern(ps->c->strs, p, (size_t)(stop - p));
    next_line(ps);
    if (text == 0) {
        return;
    }
    while (ps->src_of_text.n <= text) {
        aot_vec_push(&ps->src_of_text, 0);
        aot_vec_push(&ps->src_scope, 0);
    }
    if (ps->src_scope.d[text] != ps->scope) {
        aot_src s = {.text = text, .ac_graph_id = -1};
        const char *t = aot_text(ps->c, text);
        source_facts(ps->c, &s, t, t + aot_str_len(ps->c->strs, text));
        aot_vec_push(&ps->g->srcs, s);
        ps->src_scope.d[text] = ps->scope;
        ps->src_of_text.d[text] = (uint32_t)(ps->g->srcs.n - 1);
    }
    ps->src = ps->src_of_text.d[text];
}

/* "  # PlainAOTInput(idx=0)" at the end of a line; 0 if there is none. */
static aot_str take_descriptor(parser *ps)
{
    blanks(ps);
    if (ps->p >= ps->end || *ps->p != '#') {
        return 0;
    }
    ps->p++;
    blanks(ps);
    const char *start = ps->p, *stop;
    while (!at_line_end(ps)) {
        ps->p++;
    }
    for (stop = ps->p; stop > start && stop[-1] == ' '; stop--) {
    }
    return aot_intern(ps->c->strs, start, (size_t)(stop - start));
}

/* ---- signature and output ----------------------------------------------------------------- */

/* One parameter: target[: "type"][ = default]. In a binding line of a pytree too. */
static aot_status parse_parameter(parser *ps, aot_node *n)
{
    *n = (aot_node){.kind = AOT_PLACEHOLDER};
    const char *start = ps->p;
    while (ps->p < ps->end && *ps->p == '*') {
        ps->p++;
    }
    size_t stars = (size_t)(ps->p - start);
    AOT_TRY(parse_assign(ps, n));
    n->target = n->name;
    if (stars != 0) {
        n->target = aot_intern(ps->c->strs, start, stars + aot_str_len(ps->c->strs, n->name));
    }
    if (take(ps, " = ")) {
        aot_arg v;
        AOT_TRY(parse_value(ps, &v));
        set_args(ps, n, &v, 1);
    }
    return AOT_OK;
}

typedef struct params {
    AOT_VEC(aot_node) v;
} params;

static aot_status parse_def_line(parser *ps, params *out)
{
    aot_node n;
    bool first = true;
    while (!take(ps, ")")) {
        if (!first && !take(ps, ", ") && !take(ps, ",")) {
            return fail(ps, "',' or ')' after a parameter");
        }
        if (first && take(ps, "self")) {
            first = false;
            continue;
        }
        first = false;
        AOT_TRY(parse_parameter(ps, &n));
        aot_vec_push(&out->v, n);
    }
    return AOT_OK;
}

static aot_status parse_def_expanded(parser *ps, params *out)
{
    aot_node n;
    for (;;) {
        next_line(ps);
        blanks(ps);
        if (ps->p >= ps->end) {
            return fail(ps, "')' after the parameters");
        }
        if (take(ps, ")")) {
            return AOT_OK;
        }
        if (take(ps, "self,") || at_line_end(ps)) {
            continue;
        }
        AOT_TRY(parse_parameter(ps, &n));
        if (!take(ps, ",")) {
            return fail(ps, "',' after a parameter");
        }
        n.desc = take_descriptor(ps);
        aot_vec_push(&out->v, n);
    }
}

static aot_status parse_def(parser *ps)
{
    params ps_out = {0};
    aot_layout *l = &ps->g->layout;
    aot_status status;
    l->expanded = at_line_end(ps);
    status = l->expanded ? parse_def_expanded(ps, &ps_out) : parse_def_line(ps, &ps_out);
    while (status == AOT_OK && !at_line_end(ps) && *ps->p != ':') {
        ps->p++; // a return annotation
    }
    if (status == AOT_OK && !take(ps, ":")) {
        status = fail(ps, "':' after the signature");
    }
    for (size_t i = 0; status == AOT_OK && i < ps_out.v.n; i++) {
        status = add_node(ps, &ps_out.v.d[i]);
    }
    if (status == AOT_OK) {
        next_line(ps);
    }
    aot_vec_free(&ps_out.v);
    return status;
}

/* The parameters turn out to be trees: what was taken for placeholders are their names. */
static void switch_to_bindings(parser *ps)
{
    aot_sb names = {0};
    aot_graph *g = ps->g;
    if (g->layout.bindings) {
        return;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_sb_addf(&names, "%s%s", i != 0 ? ", " : "", aot_text(ps->c, g->nodes.d[i].target));
    }
    g->layout.bindings = true;
    g->layout.in_args = aot_intern(ps->c->strs, aot_sb_text(&names), names.n);
    g->nodes.n = 0;
    ps->scope++;
    aot_sb_free(&names);
}

/* primals_1: "f32[4]"; primals_2: "..."; (one line) or primals_1: "..."  # descriptor (one each). */
static aot_status parse_binding_line(parser *ps)
{
    aot_node n;
    switch_to_bindings(ps);
    for (;;) {
        AOT_TRY(parse_parameter(ps, &n));
        bool more = take(ps, ";");
        blanks(ps);
        n.desc = more ? 0 : take_descriptor(ps);
        AOT_TRY(add_node(ps, &n));
        if (!more || at_line_end(ps)) {
            break;
        }
    }
    if (!at_line_end(ps)) {
        return fail(ps, "the end of the line");
    }
    next_line(ps);
    return AOT_OK;
}

/* a, b, = fx_pytree.tree_flatten_spec(...): gives the order, and the values without a type. */
static aot_status parse_flatten_line(parser *ps, const char *call)
{
    switch_to_bindings(ps);
    aot_graph *g = ps->g;
    AOT_VEC(aot_node) order = {0};
    aot_status status = AOT_OK;
    while (ps->p < call) {
        size_t n = ident_len(ps, ps->p);
        if (n == 0 || ps->p[n] != ',') {
            status = fail(ps, "a name and ','");
            break;
        }
        aot_node_id id = lookup(ps, ps->p, n);
        aot_node node = {.kind = AOT_PLACEHOLDER};
        node.name = node.target = aot_intern(ps->c->strs, ps->p, n);
        aot_vec_push(&order, id != AOT_NO_NODE && id < g->nodes.n ? g->nodes.d[id] : node);
        ps->p += n + 1;
        blanks(ps);
        if (take(ps, "= ")) {
            break;
        }
    }
    const char *open = memchr(ps->p, '(', (size_t)(ps->end - ps->p));
    const char *close = open != NULL ? balanced(ps, open) : NULL;
    if (status == AOT_OK && close == NULL) {
        status = fail(ps, "tree_flatten_spec(...)");
    }
    if (status == AOT_OK) {
        g->layout.flatten_spec = aot_intern(ps->c->strs, open + 1, (size_t)(close - open - 2));
        g->nodes.n = 0;
        ps->scope++;
        for (size_t i = 0; i < order.n && status == AOT_OK; i++) {
            status = add_node(ps, &order.d[i]);
        }
        next_line(ps);
    }
    aot_vec_free(&order);
    return status;
}

/* One value a line with its descriptor, up to the closing bracket. */
static aot_status parse_described_output(parser *ps, aot_arg *out, char close)
{
    size_t base = ps->stack_args.n;
    for (;;) {
        next_line(ps);
        blanks(ps);
        if (ps->p >= ps->end) {
            return fail(ps, "the end of the returned values");
        }
        if (*ps->p == close) {
            ps->p++;
            break;
        }
        if (at_line_end(ps)) {
            continue;
        }
        aot_arg v;
        AOT_TRY(parse_value(ps, &v));
        aot_vec_push(&ps->stack_args, v);
        if (!take(ps, ",")) {
            return fail(ps, "',' after a returned value");
        }
        aot_str desc = take_descriptor(ps);
        aot_vec_push(&ps->g->out_descs, desc);
    }
    *out = (aot_arg){.kind = close == ')' ? AOT_ARG_TUPLE : AOT_ARG_LIST};
    out->n = (uint32_t)(ps->stack_args.n - base);
    out->u.first = aot_graph_add_args(ps->g, ps->stack_args.d + base, out->n);
    ps->stack_args.n = base;
    ps->g->layout.has_out_descs = true;
    return AOT_OK;
}

static aot_status parse_return(parser *ps)
{
    aot_graph *g = ps->g;
    aot_arg v;
    aot_node n = {.kind = AOT_OUTPUT};
    n.name = n.target = aot_intern_z(ps->c->strs, "output");
    g->layout.out_spec = take(ps, "pytree.tree_unflatten(");
    char open = ps->p < ps->end ? *ps->p : '\0';
    if ((open == '(' || open == '[') && ps->p + 1 < ps->end && (ps->p[1] == '\n' || ps->p[1] == '\r')) {
        ps->p++;
        AOT_TRY(parse_described_output(ps, &v, open == '(' ? ')' : ']'));
    } else {
        AOT_TRY(parse_value(ps, &v));
    }
    if (g->layout.out_spec && !take(ps, ", self._out_spec)")) {
        return fail(ps, "', self._out_spec)'");
    }
    set_args(ps, &n, &v, 1);
    AOT_TRY(add_node(ps, &n));
    return end_statement(ps);
}

/* ---- modules ----------------------------------------------------------------------------- */

static aot_status begin_module(parser *ps, size_t indent)
{
    const char *open = memchr(ps->p, '(', (size_t)(ps->end - ps->p));
    const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
    ps->p += 6;
    if (open == NULL || (nl != NULL && open > nl)) {
        return fail(ps, "class NAME(torch.nn.Module):");
    }
    while (ps->depth > 0 && ps->stack[ps->depth - 1].indent >= indent) {
        ps->depth--;
    }
    if (ps->depth == MAX_MODULE_NEST) {
        return fail(ps, "at most 64 levels of modules");
    }
    aot_graph *g = aot_graph_new(ps->c);
    g->class_name = aot_intern(ps->c->strs, ps->p, (size_t)(open - ps->p));
    if (ps->depth > 0) {
        aot_graph *parent = ps->stack[ps->depth - 1].g;
        g->attr_name = g->class_name;
        aot_vec_push(&parent->subgraphs, g);
    }
    ps->stack[ps->depth++] = (module){g, indent};
    ps->g = g;
    ps->scope++;
    ps->src = 0;
    next_line(ps);
    return AOT_OK;
}

/* Values that nobody reads, and no line that freed one: an older printer. */
static void note_older_printer(const parser *ps, aot_graph *g)
{
    uint8_t *read = aot_xcalloc(g->nodes.n + 1, 1);
    for (size_t i = 0; i < g->args.n; i++) {
        if (g->args.d[i].kind == AOT_ARG_NODE) {
            read[g->args.d[i].u.node] = 1;
        }
    }
    for (size_t i = 0; i < g->nodes.n && !ps->frees_unused; i++) {
        uint8_t kind = g->nodes.d[i].kind;
        g->layout.keeps_unused |= !read[i] && kind != AOT_PLACEHOLDER && kind != AOT_OUTPUT;
    }
    free(read);
}

/* get_attr nodes that name a submodule learn which one. */
static void link_subgraphs(aot_ctx *c, aot_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_node *n = &g->nodes.d[i];
        for (size_t k = 0; n->kind == AOT_GET_ATTR && k < g->subgraphs.n; k++) {
            if (g->subgraphs.d[k]->attr_name == n->target) {
                n->subgraph = (uint32_t)k + 1;
                break;
            }
        }
    }
    (void)c;
}

static bool is_binding_line(const parser *ps)
{
    size_t n = ident_len(ps, ps->p);
    const char *q = ps->p + n;
    if (n == 0 || (size_t)(ps->end - q) < 4 || memcmp(q, ": \"", 3) != 0) {
        return false;
    }
    q = memchr(q + 3, '"', (size_t)(ps->end - q - 3));
    return q != NULL && (q + 1 >= ps->end || q[1] == '\n' || q[1] == '\r' || q[1] == ';' ||
                         ((size_t)(ps->end - q) > 3 && q[1] == ' ' && q[2] == ' ' && q[3] == '#'));
}

static aot_status parse_line(parser *ps, bool *stop)
{
    const char *line = ps->p;
    blanks(ps);
    size_t indent = (size_t)(ps->p - line);
    if (at_line_end(ps)) {
        next_line(ps);
        return AOT_OK;
    }
    if (looking_at(ps, "class ")) {
        if (ps->depth > 0 && indent <= ps->stack[0].indent) {
            *stop = true; // another graph: not ours
            return AOT_OK;
        }
        return begin_module(ps, indent);
    }
    if (ps->depth > 0 && indent <= ps->stack[0].indent && *ps->p != '#' && !looking_at(ps, "def forward(")) {
        *stop = true; // what follows the graph: "Graph signature:", other output
        return AOT_OK;
    }
    if (ps->g == NULL) {
        if (looking_at(ps, "ExportedProgram:")) {
            next_line(ps);
            return AOT_OK;
        }
        if (!looking_at(ps, "def forward(")) {
            return fail(ps, "class NAME(torch.nn.Module): or def forward(");
        }
        ps->g = aot_graph_new(ps->c);
        ps->g->class_name = aot_intern_z(ps->c->strs, "GraphModule");
        ps->stack[ps->depth++] = (module){ps->g, indent};
        ps->scope++;
    }
    if (*ps->p == '#') {
        parse_comment(ps);
        return AOT_OK;
    }
    if (take(ps, "def forward(")) {
        return parse_def(ps);
    }
    if (take(ps, "return ")) {
        return parse_return(ps);
    }
    if (take(ps, "pass")) {
        return end_statement(ps);
    }
    const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
    size_t rest = (size_t)((nl != NULL ? nl : ps->end) - ps->p);
    const char *call = memmem(ps->p, rest, ", = ", 4);
    if (call != NULL && memmem(ps->p, rest, "tree_flatten_spec(", 18) != NULL) {
        return parse_flatten_line(ps, call + 1);
    }
    return is_binding_line(ps) ? parse_binding_line(ps) : parse_statement(ps);
}

aot_status aot_parse_graph(aot_graph **out, aot_ctx *c, const char *text, size_t n, uint32_t first_line,
                           aot_err *err)
{
    parser *ps = aot_xcalloc(1, sizeof *ps);
    size_t first_graph = c->graphs.n;
    bool stop = false;
    aot_status status = AOT_OK;
    *ps = (parser){.c = c, .p = text, .end = text + n, .line_start = text, .err = err};
    ps->line = first_line != 0 ? first_line : 1;
    aot_vec_grow(&ps->stack_args, 16);
    while (status == AOT_OK && !stop && ps->p < ps->end) {
        status = parse_line(ps, &stop);
    }
    if (status == AOT_OK && c->graphs.n == first_graph) {
        status = fail(ps, "a graph");
    }
    for (size_t i = first_graph; status == AOT_OK && i < c->graphs.n; i++) {
        link_subgraphs(c, c->graphs.d[i]);
        note_older_printer(ps, c->graphs.d[i]);
        if (aot_graph_output(c->graphs.d[i]) == AOT_NO_NODE) {
            status = AOT_FAIL_POS(err, AOT_E_PARSE, ((aot_pos){ps->line, 0}),
                                  "class %s: expected a return statement, found the end of the graph",
                                  aot_text(c, c->graphs.d[i]->class_name));
        }
    }
    if (status == AOT_OK) {
        *out = c->graphs.d[first_graph];
    }
    aot_vec_free(&ps->names);
    aot_vec_free(&ps->src_of_text);
    aot_vec_free(&ps->src_scope);
    aot_vec_free(&ps->stack_args);
    free(ps);
    return status;
}
