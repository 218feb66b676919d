/* Reader of operator schemas: one pass with one character of look-ahead.
 *
 *     split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
 *     name  overload  type alias  name                 default           return: list, aliases self
 *
 * A type is a word (or Dict(...), a tuple) followed by any of: ? (may be None), [] or [2] (list),
 * (a!) (alias set). A ? before [] makes the items optional, after it the list.
 *
 * Mirrors: torch/csrc/jit/frontend/function_schema_parser.cpp:parseSchema. */
#include "ops/schema.h"

#include <ctype.h>
#include <string.h>

#include "base/vec.h"

typedef struct reader {
    const char *text, *at;
    aot_err *err;
} reader;

typedef AOT_VEC(aot_schema_arg) arg_vec;

const char *aot_type_name(aot_type t)
{
    static const char *const text[AOT_N_TYPES] = {
        [AOT_TYPE_OTHER] = "?",
#define TYPE(id, name) [AOT_TYPE_##id] = name,
#include "ops/types.def"
#undef TYPE
    };
    return text[t];
}

static aot_type type_of_word(aot_span w)
{
    for (aot_type t = AOT_TYPE_OTHER + 1; t < AOT_N_TYPES; t++) {
        if (strlen(aot_type_name(t)) == w.n && memcmp(aot_type_name(t), w.s, w.n) == 0) {
            return t;
        }
    }
    return AOT_TYPE_OTHER;
}

static aot_status expected(reader *r, const char *what)
{
    aot_pos at = {1, (uint32_t)(r->at - r->text) + 1};
    return AOT_FAIL_POS(r->err, AOT_E_PARSE, at, "schema: expected %s, found '%.20s' in %.200s",
                        what, r->at, r->text);
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ') {
        r->at++;
    }
}

static bool take(reader *r, const char *what)
{
    skip_blanks(r);
    size_t n = strlen(what);
    if (strncmp(r->at, what, n) != 0) {
        return false;
    }
    r->at += n;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A word, with dots inside if dots are allowed; n = 0 if there is none. */
static aot_span word(reader *r, bool dots)
{
    skip_blanks(r);
    const char *s = r->at;
    while (is_word(*r->at) || (dots && *r->at == '.' && is_word(r->at[1]))) {
        r->at++;
    }
    return (aot_span){s, (uint32_t)(r->at - s)};
}

/* Steps over a balanced group that starts here; strings inside may hold anything. */
static bool skip_group(reader *r)
{
    int depth = 0;
    do {
        char c = *r->at;
        if (c == '\0') {
            return false;
        }
        if (c == '"' || c == '\'') {
            for (r->at++; *r->at != c; r->at++) {
                r->at += r->at[0] == '\\' && r->at[1] != '\0';
                if (*r->at == '\0') {
                    return false;
                }
            }
        }
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        r->at++;
    } while (depth > 0);
    return true;
}

static bool is_word_text(aot_span w, const char *text)
{
    return strlen(text) == w.n && memcmp(w.s, text, w.n) == 0;
}

/* The element: a word, a tuple, or a generic with its parameters. */
static aot_status read_element(reader *r, aot_schema_arg *a)
{
    if (*r->at == '(') {
        return skip_group(r) ? AOT_OK : expected(r, "')'");
    }
    aot_span w = word(r, true);
    if (w.n == 0) {
        return expected(r, "a type");
    }
    a->kind = type_of_word(w);
    static const char *const generic[] = {"Dict", "Future", "RRef", "Await", "Optional", "Union"};
    for (size_t i = 0; i < sizeof generic / sizeof generic[0]; i++) {
        if (*r->at == '(' && is_word_text(w, generic[i]) && !skip_group(r)) {
            return expected(r, "')'");
        }
    }
    return AOT_OK;
}

static aot_status read_alias(reader *r, aot_schema_arg *a)
{
    const char *s = ++r->at;
    while (*r->at != ')' && *r->at != '\0') {
        a->is_write |= *r->at == '!';
        r->at++;
    }
    if (*r->at == '\0') {
        return expected(r, "')' after an alias set");
    }
    a->alias = (aot_span){s, (uint32_t)(r->at - s)};
    r->at++;
    return AOT_OK;
}

static aot_status read_list(reader *r, aot_schema_arg *a)
{
    if (a->is_list) { /* a list of lists: only TorchScript has it */
        a->kind = AOT_TYPE_OTHER;
    }
    a->item_optional = a->optional;
    a->optional = false;
    a->is_list = true;
    for (r->at++; isdigit((unsigned char)*r->at); r->at++) {
        a->list_size = a->list_size * 10 + (*r->at - '0');
    }
    return take(r, "]") ? AOT_OK : expected(r, "']'");
}

static aot_status read_type(reader *r, aot_schema_arg *a)
{
    skip_blanks(r);
    const char *s = r->at;
    AOT_TRY(read_element(r, a));
    for (;;) {
        if (*r->at == '?') {
            a->optional = true;
            r->at++;
        } else if (*r->at == '[') {
            AOT_TRY(read_list(r, a));
        } else if (*r->at == '(') {
            AOT_TRY(read_alias(r, a));
        } else {
            break;
        }
    }
    a->type = (aot_span){s, (uint32_t)(r->at - s)};
    return AOT_OK;
}

static aot_status read_default(reader *r, aot_schema_arg *a)
{
    const char *s = r->at;
    while (*r->at != ',' && *r->at != ')') {
        if (!skip_group(r)) { /* one character, or a whole bracket or string */
            return expected(r, "a default value");
        }
    }
    a->def = (aot_span){s, (uint32_t)(r->at - s)};
    return a->def.n > 0 ? AOT_OK : expected(r, "a default value");
}

/* Arguments up to and with the closing parenthesis. */
static aot_status read_args(reader *r, aot_schema *out, arg_vec *v)
{
    bool kwarg_only = false;
    if (take(r, ")")) {
        return AOT_OK;
    }
    for (;;) {
        if (take(r, "...")) {
            out->varargs = true;
        } else if (take(r, "*")) {
            kwarg_only = true;
        } else {
            aot_schema_arg a = {.kwarg_only = kwarg_only};
            AOT_TRY(read_type(r, &a));
            a.name = word(r, false);
            if (a.name.n == 0) {
                return expected(r, "an argument's name");
            }
            if (take(r, "=")) {
                AOT_TRY(read_default(r, &a));
            }
            out->n_positional += !kwarg_only;
            aot_vec_push(v, a);
        }
        if (take(r, ")")) {
            return AOT_OK;
        }
        if (!take(r, ",")) {
            return expected(r, "',' or ')'");
        }
    }
}

static aot_status read_return(reader *r, arg_vec *v)
{
    aot_schema_arg a = {0};
    AOT_TRY(read_type(r, &a));
    a.name = word(r, false);
    aot_vec_push(v, a);
    return AOT_OK;
}

static aot_status read_returns(reader *r, aot_schema *out, arg_vec *v)
{
    if (!take(r, "->")) {
        return expected(r, "'->'");
    }
    if (take(r, "...")) {
        return AOT_OK;
    }
    out->returns_tuple = take(r, "(");
    if (!out->returns_tuple) {
        return read_return(r, v);
    }
    if (take(r, ")")) {
        return AOT_OK;
    }
    do {
        AOT_TRY(read_return(r, v));
    } while (take(r, ","));
    return take(r, ")") ? AOT_OK : expected(r, "',' or ')'");
}

static aot_status read_schema(reader *r, aot_schema *out, arg_vec *args, arg_vec *returns)
{
    out->name = word(r, false);
    if (out->name.n == 0) {
        return expected(r, "an operator's name");
    }
    if (*r->at == '.') {
        r->at++;
        out->overload = word(r, false);
    }
    if (!take(r, "(")) {
        return expected(r, "'('");
    }
    AOT_TRY(read_args(r, out, args));
    AOT_TRY(read_returns(r, out, returns));
    skip_blanks(r);
    return *r->at == '\0' ? AOT_OK : expected(r, "the end");
}

static aot_schema_arg *keep(aot_arena *a, const arg_vec *v)
{
    aot_schema_arg *p = AOT_NEW_ARRAY(a, aot_schema_arg, v->n);
    if (v->n > 0) {
        memcpy(p, v->d, v->n * sizeof *p);
    }
    return p;
}

aot_status aot_schema_parse(aot_schema *out, aot_arena *a, const char *text, aot_err *err)
{
    aot_schema s = {0};
    arg_vec args = {0}, returns = {0};
    reader r = {text, text, err};
    aot_status status = read_schema(&r, &s, &args, &returns);
    if (status == AOT_OK) {
        s.args = keep(a, &args);
        s.returns = keep(a, &returns);
        s.n_args = (uint32_t)args.n;
        s.n_returns = (uint32_t)returns.n;
        *out = s;
    }
    aot_vec_free(&args);
    aot_vec_free(&returns);
    return status;
}

/* Whether s[0..end) has an alias group "(a...)" with, or without, an exclamation mark. A group that
 * follows a word at once is an alias set, unless the word is a generic's name. */
static bool has_alias(const char *s, const char *end, bool written)
{
    for (const char *p = s; p < end; p++) {
        if (*p == '"') { /* a default's text */
            for (p++; p < end && *p != '"'; p++) {
                p += *p == '\\';
            }
        }
        if (*p != '(' || p == s || p[-1] == ' ' || p[-1] == '(') {
            continue;
        }
        const char *close = memchr(p, ')', (size_t)(end - p));
        if (!close || memchr(p, ',', (size_t)(close - p))) {
            continue;
        }
        if ((memchr(p, '!', (size_t)(close - p)) != NULL) == written) {
            return true;
        }
    }
    return false;
}

void aot_schema_effects(const char *text, bool *writes, bool *aliases)
{
    *writes = *aliases = false;
    const char *open = strchr(text, '('), *arrow = NULL;
    for (const char *p = open ? strstr(open, ") -> ") : NULL; p; p = strstr(p + 1, ") -> ")) {
        arrow = p + 1; /* the last one: alias sets hold arrows too, but no ") -> " */
    }
    if (!arrow) {
        return;
    }
    *writes = has_alias(open + 1, arrow, true);
    *aliases = has_alias(arrow + 4, arrow + strlen(arrow), false);
}

const aot_schema_arg *aot_schema_arg_find(const aot_schema *s, const char *name)
{
    size_t n = strlen(name);
    for (uint32_t i = 0; i < s->n_args; i++) {
        if (s->args[i].name.n == n && memcmp(s->args[i].name.s, name, n) == 0) {
            return &s->args[i];
        }
    }
    return NULL;
}
