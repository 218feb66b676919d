/* Numbers that a person typed: strtoll and its kin take blanks, an empty text and what follows
 * for granted, and say of a number that is too large the largest. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Digits follow at once, or behind a sign. */
static bool begins_number(const char *s)
{
    s += *s == '-' || *s == '+';
    return isdigit((unsigned char)*s);
}

bool aot_int_read(int64_t *out, const char *text, int64_t least, int64_t most)
{
    char *end;
    if (text == NULL || !begins_number(text)) {
        return false;
    }
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || v < least || v > most) {
        return false;
    }
    *out = v;
    return true;
}

bool aot_real_read(double *out, const char *text, double least, double most)
{
    char *end;
    if (text == NULL || *text == '\0' || isspace((unsigned char)*text)) {
        return false;
    }
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v) || v < least || v > most) {
        return false;
    }
    *out = v;
    return true;
}

bool aot_seed_read(uint64_t *out, const char *text)
{
    char *end;
    int64_t below;
    if (text == NULL || !begins_number(text)) {
        return false;
    }
    if (*text == '-') {
        bool ok = aot_int_read(&below, text, INT64_MIN, -1) || aot_int_read(&below, text, 0, 0);
        *out = ok ? (uint64_t)below : *out;
        return ok;
    }
    bool hex = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
    errno = 0;
    unsigned long long v = strtoull(text, &end, hex ? 16 : 10);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *out = v;
    return true;
}

int64_t aot_sum(int64_t a, int64_t b)
{
    int64_t n;
    return !__builtin_add_overflow(a, b, &n) ? n : b > 0 ? INT64_MAX : INT64_MIN;
}

int64_t aot_int_of_real(double v)
{
    return isnan(v) ? 0 : v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}
