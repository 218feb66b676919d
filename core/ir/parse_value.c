/* Scanning and values: names, numbers, strings, lists, dicts, slices and what is kept whole.
 * Nesting is bounded; the items of one container end up side by side in the graph's pool.
 * Mirrors: torch/fx/graph.py:_get_repr. */
#include "ir/parse_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

aot_status ps_fail(parser *ps, const char *expected)
{
    const char *p = ps->p < ps->end ? ps->p : ps->end;
    size_t n = 0;
    while (n < 40 && p + n < ps->end && p[n] != '\n') {
        n++;
    }
    aot_pos at = {ps->line, (uint32_t)(p - ps->line_start) + 1};
    if (n == 0) {
        return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at, "expected %s, found the end of the line",
                            expected);
    }
    return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at, "expected %s, found '%.*s'", expected, (int)n, p);
}

/* ---- scanning ---------------------------------------------------------------------------- */

bool ps_at_line_end(const parser *ps)
{
    return ps->p >= ps->end || *ps->p == '\n' || *ps->p == '\r';
}

void ps_blanks(parser *ps)
{
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\t')) {
        ps->p++;
    }
}

void ps_next_line(parser *ps)
{
    const char *nl = ps->p < ps->end ? memchr(ps->p, '\n', (size_t)(ps->end - ps->p)) : NULL;
    ps->p = nl != NULL ? nl + 1 : ps->end;
    ps->line_start = ps->p;
    ps->line++;
}

bool ps_looking_at(const parser *ps, const char *tok)
{
    size_t n = strlen(tok);
    return (size_t)(ps->end - ps->p) >= n && memcmp(ps->p, tok, n) == 0;
}

bool ps_take(parser *ps, const char *tok)
{
    if (!ps_looking_at(ps, tok)) {
        return false;
    }
    ps->p += strlen(tok);
    return true;
}

bool ps_ident_char(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || (unsigned char)ch >= 128;
}

size_t ps_ident_len(const parser *ps, const char *p)
{
    const char *q = p;
    if (q < ps->end && isdigit((unsigned char)*q)) {
        return 0;
    }
    while (q < ps->end && ps_ident_char(*q)) {
        q++;
    }
    return (size_t)(q - p);
}

/* Length of a dotted path; a part may be <lambda> or <locals>, as Python's qualified names have. */
size_t ps_path_len(const parser *ps, const char *p)
{
    const char *q = p;
    for (;;) {
        size_t n = ps_ident_len(ps, q);
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
const char *ps_balanced(const parser *ps, const char *p)
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

binding *ps_binding_of(parser *ps, aot_str s)
{
    while (ps->names.n <= s) {
        aot_vec_push(&ps->names, ((binding){0, 0}));
    }
    return &ps->names.d[s];
}

void ps_bind(parser *ps, aot_str s, aot_node_id id)
{
    *ps_binding_of(ps, s) = (binding){ps->scope, id};
}

aot_node_id ps_lookup(const parser *ps, const char *s, size_t n)
{
    aot_str id = aot_intern_find(ps->c->strs, s, n);
    return id != 0 && id < ps->names.n && ps->names.d[id].scope == ps->scope ? ps->names.d[id].node
                                                                             : AOT_NO_NODE;
}

/* ---- values ------------------------------------------------------------------------------ */

static aot_status parse_string(parser *ps, aot_arg *out)
{
    char quote = *ps->p;
    const char *start = ps->p + 1, *q = start;
    while (q < ps->end && *q != '\n' && *q != quote) {
        q += *q == '\\' && q + 1 < ps->end ? 2 : 1;
    }
    if (q >= ps->end || *q != quote) {
        return ps_fail(ps, "a string that ends on its line");
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
            return ps_fail(ps, "a number");
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
    return *stop == '\0' ? AOT_OK : (ps->p = start, ps_fail(ps, "a number"));
}

/* Items up to close. They are gathered on a stack and moved to the graph's pool when complete, so
 * that the items of one container lie together. */
static aot_status parse_items(parser *ps, char close, aot_arg *out, bool *trailing_comma)
{
    size_t base = ps->stack_args.n;
    bool dict = out->kind == AOT_ARG_DICT;
    *trailing_comma = false;
    for (;;) {
        ps_blanks(ps);
        if (ps->p < ps->end && *ps->p == close) {
            break;
        }
        aot_arg item;
        AOT_TRY(ps_parse_value(ps, &item));
        aot_vec_push(&ps->stack_args, item);
        *trailing_comma = false;
        if (dict) {
            ps_blanks(ps);
            if (!ps_take(ps, ":")) {
                return ps_fail(ps, "':' in a dict");
            }
            ps_blanks(ps);
            AOT_TRY(ps_parse_value(ps, &item));
            aot_vec_push(&ps->stack_args, item);
        }
        ps_blanks(ps);
        if (ps_take(ps, ",")) {
            *trailing_comma = true;
        } else if (ps->p >= ps->end || *ps->p != close) {
            return ps_fail(ps, close == ')'   ? "',' or ')'"
                               : close == ']' ? "',' or ']'"
                                              : "',' or '}'");
        }
    }
    ps->p++;
    out->n += (uint32_t)(ps->stack_args.n - base);
    uint32_t first =
        aot_graph_add_args(ps->g, ps->stack_args.d + base, (uint32_t)(ps->stack_args.n - base));
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
    const char *open = start + n, *close = ps_balanced(ps, open);
    if (close == NULL) {
        return ps_fail(ps, "a bracket that closes on its line");
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
    size_t n = ps_path_len(ps, start);
    if (n == 0) {
        return ps_fail(ps, "a value");
    }
    if (start + n < ps->end && start[n] == '(') {
        return parse_call_value(ps, out, start, n);
    }
    ps->p = start + n;
    aot_node_id id = ps_lookup(ps, start, n);
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
        if (ps_take(ps, "...")) {
            *out = raw_arg(ps, AOT_ARG_NAME, ps->p - 3);
            return AOT_OK;
        }
        return parse_number(ps, out);
    }
    if (ch == '<') { // repr of an object: <function f at 0x..>, <OutputType.x: 1>
        const char *start = ps->p;
        int depth = 0;
        for (; !ps_at_line_end(ps); ps->p++) {
            depth += (*ps->p == '<') - (*ps->p == '>');
            if (depth == 0) {
                ps->p++;
                *out = raw_arg(ps, AOT_ARG_RAW, start);
                return AOT_OK;
            }
        }
        ps->p = start;
        return ps_fail(ps, "a value");
    }
    return parse_word(ps, out);
}

aot_status ps_parse_value(parser *ps, aot_arg *out)
{
    if (ps->nest >= MAX_NEST) {
        return ps_fail(ps, "at most 64 levels of brackets");
    }
    ps->nest++;
    aot_status s = parse_value_inner(ps, out);
    ps->nest--;
    return s;
}
