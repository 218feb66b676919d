/* A pushdown automaton over the text: the stack holds one bit a level (object or list), so hostile
 * nesting cannot exhaust the C stack and the place of the first fault is exact. */
#include "import/json_check.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { MAX_LEVELS = 512 };

typedef struct check {
    const char *s, *p, *end, *expected;
    unsigned depth;
    uint8_t is_object[MAX_LEVELS];
} check;

static void blanks(check *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r')) {
        c->p++;
    }
}

static bool wants(check *c, const char *what)
{
    c->expected = what;
    return false;
}

static bool escape(check *c)
{
    if (++c->p >= c->end) {
        return wants(c, "the rest of an escape");
    }
    if (*c->p == 'u') {
        for (int i = 0; i < 4; i++) {
            if (++c->p >= c->end || !isxdigit((unsigned char)*c->p)) {
                return wants(c, "four hexadecimal digits");
            }
        }
    } else if (strchr("\"\\/bfnrt", *c->p) == NULL || *c->p == '\0') {
        return wants(c, "an escape");
    }
    c->p++;
    return true;
}

static bool string(check *c)
{
    if (c->p >= c->end || *c->p != '"') {
        return wants(c, "a string");
    }
    c->p++;
    while (c->p < c->end && *c->p != '"') {
        if ((unsigned char)*c->p < 0x20) {
            return wants(c, "no control character in a string");
        }
        if (*c->p != '\\') {
            c->p++;
        } else if (!escape(c)) {
            return false;
        }
    }
    if (c->p >= c->end) {
        return wants(c, "the end of a string");
    }
    c->p++;
    return true;
}

static size_t digits(check *c)
{
    const char *from = c->p;
    while (c->p < c->end && isdigit((unsigned char)*c->p)) {
        c->p++;
    }
    return (size_t)(c->p - from);
}

static bool number(check *c)
{
    c->p += *c->p == '-';
    const char *first = c->p;
    size_t n = digits(c);
    if (n == 0 || (n > 1 && *first == '0')) {
        return wants(c, "a value");
    }
    if (c->p < c->end && *c->p == '.') {
        c->p++;
        if (digits(c) == 0) {
            return wants(c, "digits");
        }
    }
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
        c->p++;
        c->p += c->p < c->end && (*c->p == '+' || *c->p == '-');
        if (digits(c) == 0) {
            return wants(c, "an exponent");
        }
    }
    return true;
}

static bool word(check *c)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) >= n && memcmp(c->p, words[i], n) == 0) {
            c->p += n;
            return true;
        }
    }
    return wants(c, "a value");
}

/* "key": of an object. */
static bool key(check *c)
{
    blanks(c);
    if (!string(c)) {
        return false;
    }
    blanks(c);
    if (c->p >= c->end || *c->p != ':') {
        return wants(c, "':'");
    }
    c->p++;
    return true;
}

/* A scalar, or the opening of a container; *whole: a value is complete. */
static bool open_value(check *c, bool *whole)
{
    blanks(c);
    if (c->p >= c->end) {
        return wants(c, "a value");
    }
    char ch = *c->p;
    *whole = true;
    if (ch != '{' && ch != '[') {
        return ch == '"'                                 ? string(c)
               : ch == '-' || isdigit((unsigned char)ch) ? number(c)
                                                         : word(c);
    }
    if (c->depth == MAX_LEVELS) {
        return wants(c, "at most 512 levels");
    }
    c->p++;
    blanks(c);
    if (c->p < c->end && *c->p == (ch == '{' ? '}' : ']')) {
        c->p++;
        return true;
    }
    c->is_object[c->depth++] = ch == '{';
    *whole = false;
    return ch != '{' || key(c);
}

/* What follows a complete value: closings, then a comma; *more: another value comes. */
static bool close_values(check *c, bool *more)
{
    *more = false;
    while (c->depth > 0) {
        bool object = c->is_object[c->depth - 1];
        blanks(c);
        if (c->p < c->end && *c->p == ',') {
            c->p++;
            *more = true;
            return !object || key(c);
        }
        if (c->p >= c->end || *c->p != (object ? '}' : ']')) {
            return wants(c, object ? "',' or '}'" : "',' or ']'");
        }
        c->p++;
        c->depth--;
    }
    return true;
}

bool aot_json_check(const char *s, size_t n, size_t *at, const char **expected)
{
    check c = {.s = s, .p = s, .end = s + n};
    bool ok = true, whole = false, more = true;
    while (ok && more) {
        ok = open_value(&c, &whole);
        if (ok && whole) {
            ok = close_values(&c, &more);
        }
    }
    if (ok) {
        blanks(&c);
        ok = c.p == c.end || wants(&c, "the end of the text");
    }
    *at = (size_t)(c.p - s);
    *expected = c.expected;
    return ok;
}
