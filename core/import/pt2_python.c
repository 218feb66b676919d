/* How Python prints the texts and values that a graph's text holds: strings, complex numbers,
 * annotations; and the comment above a node, which names the innermost frame of its stack trace.
 * Mirrors: repr(), torch/fx/graph.py:_parse_stack_trace and append_stacktrace_summary. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/json_check.h"
#include "import/pt2.h"
#include "ir/text.h"

char aot_py_repr(aot_sb *out, const char *s, size_t n)
{
    char quote = memchr(s, '\'', n) != NULL && memchr(s, '"', n) == NULL ? '"' : '\'';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\\' || c == (unsigned char)quote) {
            aot_sb_addf(out, "\\%c", c);
        } else if (c == '\n') {
            aot_sb_addz(out, "\\n");
        } else if (c == '\r') {
            aot_sb_addz(out, "\\r");
        } else if (c == '\t') {
            aot_sb_addz(out, "\\t");
        } else if (c < 0x20 || c == 0x7f) {
            aot_sb_addf(out, "\\x%02x", c);
        } else {
            aot_sb_addc(out, (char)c);
        }
    }
    return quote;
}

static void quoted(aot_sb *out, const char *s, size_t n)
{
    aot_sb inner = {0};
    char quote = aot_py_repr(&inner, s, n);
    aot_sb_addf(out, "%c%s%c", quote, aot_sb_text(&inner), quote);
    aot_sb_free(&inner);
}

void aot_py_repr_json(aot_sb *out, aot_arena *scratch, aot_slice v, unsigned depth)
{
    aot_json_iter it;
    aot_slice key, item;
    bool first = true;
    if (v.s[0] == '{' || v.s[0] == '[') {
        aot_sb_addc(out, v.s[0]);
        aot_json_begin(&it, v);
        while (depth < 64 && aot_json_next(&it, &key, &item)) {
            aot_sb_addz(out, first ? "" : ", ");
            first = false;
            if (it.object) {
                aot_slice whole = {key.s - 1, key.n + 2};
                const char *text = aot_json_text(scratch, whole);
                quoted(out, text, strlen(text));
                aot_sb_addz(out, ": ");
            }
            aot_py_repr_json(out, scratch, item, depth + 1);
        }
        aot_sb_addc(out, v.s[0] == '{' ? '}' : ']');
    } else if (v.s[0] == '"') {
        const char *text = aot_json_text(scratch, v);
        quoted(out, text, strlen(text));
    } else if (v.s[0] == 't' || v.s[0] == 'f' || v.s[0] == 'n') {
        aot_sb_addz(out, v.s[0] == 't' ? "True" : v.s[0] == 'f' ? "False" : "None");
    } else if (memchr(v.s, '.', v.n) != NULL || memchr(v.s, 'e', v.n) != NULL ||
               memchr(v.s, 'E', v.n) != NULL) {
        aot_print_float(out, aot_json_double(v, 0));
    } else {
        aot_sb_add(out, v.s, v.n);
    }
}

/* A part of a complex number: as a float, but whole numbers have no ".0". */
static void part(aot_sb *out, double v, bool sign)
{
    aot_sb one = {0};
    aot_print_float(&one, v);
    if (aot_ends_with(one.d, ".0")) {
        one.n -= 2;
    }
    if (sign && one.d[0] != '-') {
        aot_sb_addc(out, '+');
    }
    aot_sb_add(out, one.d, one.n);
    aot_sb_free(&one);
}

void aot_py_repr_complex(aot_sb *out, double re, double im)
{
    if (re == 0 && !signbit(re)) {
        part(out, im, false);
        aot_sb_addc(out, 'j');
        return;
    }
    aot_sb_addc(out, '(');
    part(out, re, false);
    part(out, im, true);
    aot_sb_addz(out, "j)");
}

/* ---- comments ------------------------------------------------------------------------------ */

static void strip(const char **s, size_t *n)
{
    while (*n > 0 && isspace((unsigned char)**s)) {
        (*s)++;
        (*n)--;
    }
    while (*n > 0 && isspace((unsigned char)(*s)[*n - 1])) {
        (*n)--;
    }
}

/* File "PATH", line N, in NAME -> File: PATH:N in NAME. The path is as long as can be. */
static bool frame(aot_sb *out, const char *s, size_t n)
{
    static const char mark[] = "\", line ";
    if (n < 6 || memcmp(s, "File \"", 6) != 0) {
        return false;
    }
    for (const char *p = s + n; p > s + 7; p--) {
        const char *q = p + sizeof mark - 1, *digits = q;
        if ((size_t)(s + n - p) < sizeof mark || memcmp(p, mark, sizeof mark - 1) != 0) {
            continue;
        }
        while (q < s + n && isdigit((unsigned char)*q)) {
            q++;
        }
        size_t n_digits = (size_t)(q - digits);
        if (n_digits > 0 && s + n - q > 5 && memcmp(q, ", in ", 5) == 0) {
            aot_sb_addz(out, "File: ");
            aot_sb_add(out, s + 6, (size_t)(p - s - 6));
            aot_sb_addc(out, ':');
            aot_sb_add(out, digits, n_digits);
            aot_sb_addz(out, " in ");
            aot_sb_add(out, q + 5, (size_t)(s + n - q - 5));
            return true;
        }
    }
    return false;
}

/* The last frame of a stack trace and its line of code; false if there is none. */
static bool summary(aot_sb *out, const char *trace)
{
    const char *s = trace;
    size_t n = strlen(trace);
    strip(&s, &n);
    const char *next = NULL, *line_end = s + n; // lines from the last to the first
    size_t next_n = 0;
    while (line_end >= s && n > 0) {
        const char *start = line_end;
        while (start > s && start[-1] != '\n') {
            start--;
        }
        const char *line = start;
        size_t line_n = (size_t)(line_end - start);
        strip(&line, &line_n);
        if (next != NULL && frame(out, line, line_n)) {
            aot_sb_addz(out, ", code: ");
            aot_sb_add(out, next, next_n);
            return true;
        }
        next = line;
        next_n = line_n;
        if (start == s) {
            break;
        }
        line_end = start - 1;
    }
    return false;
}

/* {'pp_stage': 0}: values whose text is long are cut, as PyTorch cuts them. */
static void annotation(aot_sb *out, aot_arena *scratch, const char *custom)
{
    size_t at;
    const char *expected;
    aot_slice v = {custom, strlen(custom)}, key, item;
    aot_json_iter it;
    bool first = true;
    if (!aot_json_check(v.s, v.n, &at, &expected) || v.s[0] != '{') {
        return;
    }
    aot_json_begin(&it, v);
    while (aot_json_next(&it, &key, &item)) {
        aot_sb text = {0};
        const char *name = aot_json_text(scratch, (aot_slice){key.s - 1, key.n + 2});
        aot_sb_addz(out, first ? "Annotation: {" : ", ");
        first = false;
        quoted(out, name, strlen(name));
        aot_sb_addz(out, ": ");
        const char *str = item.s[0] == '"' ? aot_json_text(scratch, item) : NULL;
        if (str == NULL) {
            aot_py_repr_json(&text, scratch, item, 0);
            str = aot_sb_text(&text);
        }
        size_t cut = 0, chars = 0; // characters, not bytes
        for (const char *c = str; *c != '\0'; c++) {
            if (((unsigned char)*c & 0xc0) != 0x80 && chars++ == 40) {
                cut = (size_t)(c - str);
            }
        }
        if (chars > 40) {
            char *shorter = aot_arena_printf(scratch, "%.*s...", (int)cut, str);
            quoted(out, shorter, strlen(shorter));
        } else {
            aot_py_repr_json(out, scratch, item, 0);
        }
        aot_sb_free(&text);
    }
    aot_sb_addz(out, first ? "" : "} ");
}

const char *aot_pt2_comment(aot_pt2_program *p, aot_slice metadata)
{
    aot_sb out = {0};
    const char *custom = aot_json_text(p->arena, aot_json_get(metadata, "custom"));
    const char *trace = aot_json_text(p->arena, aot_json_get(metadata, "stack_trace"));
    if (custom != NULL) {
        annotation(&out, p->arena, custom);
    }
    if (trace == NULL || !summary(&out, trace)) {
        aot_sb_addz(&out, "No stacktrace found for following nodes");
    }
    for (size_t i = 0; i < out.n; i++) {
        out.d[i] = out.d[i] == '\n' || out.d[i] == '\r' ? ' ' : out.d[i];
    }
    const char *text = aot_arena_strndup(p->arena, out.d, out.n);
    aot_sb_free(&out);
    return text;
}
