/* Limits of regular expressions, in one pass over the text. */
#include "base/regexp.h"

#include <stdlib.h>
#include <string.h>

/* The byte after a bracket expression that begins at p; a ] that comes first is a member of it. */
static const char *skip_bracket(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    p += *p == ']';
    while (*p != '\0' && *p != ']') {
        const char *end = NULL;
        if (p[0] == '[' && p[1] != '\0' && strchr(".:=", p[1]) != NULL) {
            const char close[] = {p[1], ']', '\0'};
            end = strstr(p + 2, close);
        }
        p = end != NULL ? end + 2 : p + 1;
    }
    return p + (*p == ']');
}

/* How often {N}, {N,} or {N,M} at *p writes its operand; 0 if that is none of them. */
static double take_interval(const char **p)
{
    char *end;
    double low = strtod(*p + 1, &end), high = low;
    if (end == *p + 1 && *end != ',') {
        return 0;
    }
    if (*end == ',') {
        const char *second = end + 1;
        high = *second == '}' ? low + 1 : strtod(second, &end);
        end = *second == '}' ? (char *)(size_t)second : end;
    }
    if (*end != '}') {
        return 0;
    }
    *p = end + 1;
    return high > low ? high : low > 1 ? low : 1;
}

/* Depth and the signs that are written out: what is before in each open group, and its last
 * operand. */
static void measure(const char *p, size_t *depth, double *signs)
{
    double sum[AOT_REGEXP_DEPTH + 2] = {0}, last = 0, times;
    size_t level = 0;
    *depth = 0;
    while (*p != '\0' && level <= AOT_REGEXP_DEPTH) {
        if (*p == '(') {
            sum[level++] += last;
            *depth = level > *depth ? level : *depth;
            sum[level] = last = 0;
            p++;
        } else if (*p == ')' && level > 0) {
            last += sum[level--] + 1;
            p++;
        } else if (*p == '{' && (times = take_interval(&p)) > 0) {
            last *= times;
        } else if (*p == '+') { // a+ is compiled as aa*
            last *= 2;
            p++;
        } else {
            sum[level] += last;
            last = 1;
            p = *p == '[' ? skip_bracket(p) : p + (*p == '\\' && p[1] != '\0' ? 2 : 1);
        }
    }
    *signs = last;
    for (size_t i = 0; i <= level; i++) {
        *signs += sum[i];
    }
}

aot_status aot_regexp_compile(regex_t *out, const char *text, bool ignore_case, aot_err *err)
{
    size_t n = strlen(text), depth;
    double signs;
    char why[120];
    if (n > AOT_REGEXP_BYTES) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.40s...': a regular expression has at most %d bytes, not %zu", text,
                        AOT_REGEXP_BYTES, n);
    }
    measure(text, &depth, &signs);
    if (depth > AOT_REGEXP_DEPTH) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.40s...': a regular expression has at most %d parentheses in each other",
                        text, AOT_REGEXP_DEPTH);
    }
    if (signs > AOT_REGEXP_SIGNS) {
        return AOT_FAIL(
            err, AOT_E_USAGE,
            "'%.80s': with its + and {N,M} written out it has %.4g signs, more than %d; "
            "write * or smaller numbers",
            text, signs, AOT_REGEXP_SIGNS);
    }
    int rc = regcomp(out, text, REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0));
    if (rc != 0) {
        size_t sign = strcspn(text, "*+?()[]{}\\|");
        regerror(rc, out, why, sizeof why);
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.80s' is no regular expression (%s); write \\%c for the sign itself",
                        text, why, text[sign] != '\0' ? text[sign] : '*');
    }
    return AOT_OK;
}
