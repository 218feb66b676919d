/* JSON by slices: strings are skipped with memchr, objects and lists by counting brackets, so a
 * stack trace of 10 KB in a header costs little more than reading it. Depth needs no recursion.
 * Brackets are counted, not matched by kind: enough to find where a damaged header breaks. */
#include "import/json_scan.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) {
        p++;
    }
    return p;
}

/* p at the opening quote; returns what follows the closing one, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
    const char *start = ++p;
    while (p < end) {
        p = memchr(p, '"', (size_t)(end - p));
        if (p == NULL) {
            return NULL;
        }
        const char *back = p;
        while (back > start && back[-1] == '\\') {
            back--;
        }
        p++;
        if ((p - 1 - back) % 2 == 0) {
            return p;
        }
    }
    return NULL;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '-' || c == '+' || c == '.';
}

static const char *skip_nested(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        char c = *p;
        if (c == '"') {
            p = skip_string(p, end);
            if (p == NULL) {
                return NULL;
            }
            continue;
        }
        p++;
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0) {
                return p;
            }
        } else if (!is_word(c) && c != ',' && c != ':' && c != ' ' && c != '\n' && c != '\t' &&
                   c != '\r') {
            return NULL;
        }
    }
    return NULL;
}

const char *aot_json_skip(const char *p, const char *end)
{
    if (p >= end) {
        return NULL;
    }
    if (*p == '"') {
        return skip_string(p, end);
    }
    if (*p == '{' || *p == '[') {
        return skip_nested(p, end);
    }
    const char *start = p;
    while (p < end && is_word(*p)) {
        p++;
    }
    return p > start ? p : NULL;
}

bool aot_json_valid(const char *s, size_t n)
{
    const char *end = s + n;
    const char *p = aot_json_skip(skip_blank(s, end), end);
    return p != NULL && skip_blank(p, end) == end;
}

void aot_json_begin(aot_json_iter *it, aot_slice value)
{
    *it = (aot_json_iter){.first = true};
    if (value.s != NULL && value.n > 0 && (value.s[0] == '{' || value.s[0] == '[')) {
        it->object = value.s[0] == '{';
        it->p = value.s + 1;
        it->end = value.s + value.n;
    }
}

static bool bad(aot_json_iter *it)
{
    it->bad = true;
    it->p = it->end;
    return false;
}

bool aot_json_next(aot_json_iter *it, aot_slice *key, aot_slice *value)
{
    if (it->p == NULL || it->bad) {
        return false;
    }
    const char *p = skip_blank(it->p, it->end);
    if (p < it->end && *p == (it->object ? '}' : ']')) {
        it->p = p;
        return false;
    }
    if (!it->first) {
        if (p >= it->end || *p != ',') {
            return bad(it);
        }
        p = skip_blank(p + 1, it->end);
    }
    it->first = false;
    *key = (aot_slice){"", 0};
    if (it->object) {
        const char *after = p < it->end && *p == '"' ? skip_string(p, it->end) : NULL;
        if (after == NULL) {
            return bad(it);
        }
        *key = (aot_slice){p + 1, (size_t)(after - p) - 2};
        p = skip_blank(after, it->end);
        if (p >= it->end || *p != ':') {
            return bad(it);
        }
        p = skip_blank(p + 1, it->end);
    }
    const char *after = aot_json_skip(p, it->end);
    if (after == NULL) {
        return bad(it);
    }
    *value = (aot_slice){p, (size_t)(after - p)};
    it->p = after;
    return true;
}

aot_slice aot_json_get(aot_slice object, const char *key)
{
    aot_json_iter it;
    aot_slice k, v;
    aot_json_begin(&it, object);
    while (it.object && aot_json_next(&it, &k, &v)) {
        if (aot_slice_is(k, key)) {
            return v;
        }
    }
    return (aot_slice){NULL, 0};
}

static int hex4(const char *p, const char *end)
{
    int v = 0;
    for (int i = 0; i < 4; i++, p++) {
        if (p >= end) {
            return -1;
        }
        char c = *p;
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) {
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

static char *put_utf8(char *o, uint32_t c)
{
    if (c < 0x80) {
        *o++ = (char)c;
    } else if (c < 0x800) {
        *o++ = (char)(0xc0 | c >> 6);
        *o++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *o++ = (char)(0xe0 | c >> 12);
        *o++ = (char)(0x80 | (c >> 6 & 63));
        *o++ = (char)(0x80 | (c & 63));
    } else {
        *o++ = (char)(0xf0 | c >> 18);
        *o++ = (char)(0x80 | (c >> 12 & 63));
        *o++ = (char)(0x80 | (c >> 6 & 63));
        *o++ = (char)(0x80 | (c & 63));
    }
    return o;
}

/* p after "\u"; reads one code point (a pair of surrogates if there is one), moves *p past it. */
static uint32_t unicode_escape(const char **p, const char *end)
{
    int hi = hex4(*p, end);
    if (hi < 0) {
        return '?'; // one byte: the output may not outgrow the input
    }
    *p += 4;
    if (hi >= 0xd800 && hi < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        int lo = hex4(*p + 2, end);
        if (lo >= 0xdc00 && lo < 0xe000) {
            *p += 6;
            return 0x10000u + (((uint32_t)hi - 0xd800u) << 10) + ((uint32_t)lo - 0xdc00u);
        }
    }
    return hi == 0 || (hi >= 0xd800 && hi < 0xe000) ? 0xfffd : (uint32_t)hi;
}

char *aot_json_text(aot_arena *a, aot_slice v)
{
    if (v.s == NULL || aot_slice_is(v, "null")) {
        return NULL;
    }
    if (v.n < 2 || v.s[0] != '"') {
        return aot_text_disarm(aot_arena_strndup(a, v.s, v.n));
    }
    const char *p = v.s + 1, *end = v.s + v.n - 1;
    if (memchr(p, '\\', (size_t)(end - p)) == NULL) {
        return aot_text_disarm(aot_arena_strndup(a, p, (size_t)(end - p)));
    }
    char *out = aot_arena_alloc(a, v.n + 1), *o = out; // an escape never grows when decoded
    while (p < end) {
        if (*p != '\\' || p + 1 >= end) {
            *o++ = *p++;
            continue;
        }
        char c = p[1];
        p += 2;
        switch (c) {
        case 'n': *o++ = '\n'; break;
        case 't': *o++ = '\t'; break;
        case 'r': *o++ = '\r'; break;
        case 'b': *o++ = '\b'; break;
        case 'f': *o++ = '\f'; break;
        case 'u': o = put_utf8(o, unicode_escape(&p, end)); break;
        default: *o++ = c; break;
        }
    }
    *o = '\0';
    return aot_text_disarm(out);
}

/* The digits of a number, quotes taken off, as a 0-terminated text. */
static bool number_text(aot_slice v, char *buf, size_t size)
{
    if (v.s == NULL || v.n == 0) {
        return false;
    }
    if (v.s[0] == '"') {
        v.s++;
        v.n -= v.n >= 2 ? 2 : 1;
    }
    if (v.n == 0 || v.n >= size) {
        return false;
    }
    memcpy(buf, v.s, v.n);
    buf[v.n] = '\0';
    return true;
}

int64_t aot_json_int(aot_slice v, int64_t otherwise)
{
    char buf[32], *end;
    if (!number_text(v, buf, sizeof buf)) {
        return otherwise;
    }
    errno = 0;
    long long x = strtoll(buf, &end, 10);
    return *end == '\0' && errno == 0 ? (int64_t)x : otherwise;
}

double aot_json_double(aot_slice v, double otherwise)
{
    char buf[64], *end;
    if (!number_text(v, buf, sizeof buf)) {
        return otherwise;
    }
    double x = strtod(buf, &end);
    return *end == '\0' ? x : otherwise;
}

bool aot_json_true(aot_slice v)
{
    return v.s != NULL && aot_slice_is(v, "true");
}
