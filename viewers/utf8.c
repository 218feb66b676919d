/* UTF-8 as columns: decoding, widths, cutting, spelling in ASCII, making text safe for a terminal.
 * Widths come from a table of ranges and not from the locale, so that output is the same
 * everywhere; broken bytes and control characters decode to U+FFFD. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

#include "viewers/canvas.h"

typedef struct range {
    uint32_t first, last;
} range;

static const range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static const range wide[] = {
    {0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe},
    {0x2614, 0x2615}, {0x2648, 0x2653}, {0x26a1, 0x26a1}, {0x26bd, 0x26be}, {0x2705, 0x2705},
    {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2757, 0x2757},
    {0x2795, 0x2797}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2e80, 0x303e}, {0x3041, 0x33ff},
    {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3},
    {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f004, 0x1f004},
    {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f900, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

static bool in_ranges(const range *r, size_t n, uint32_t ch)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ch > r[mid].last) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n && ch >= r[lo].first;
}

uint32_t aot_utf8_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    if (p[0] == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        (*s)++;
        return p[0];
    }
    int extra = p[0] >= 0xf0 && p[0] < 0xf5 ? 3 : p[0] >= 0xe0 && p[0] < 0xf0 ? 2
              : p[0] >= 0xc2 && p[0] < 0xe0 ? 1 : 0;
    uint32_t ch = extra == 3 ? p[0] & 7u : extra == 2 ? p[0] & 15u : p[0] & 31u;
    for (int i = 1; i <= extra; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            extra = 0;
            break;
        }
        ch = ch << 6 | (p[i] & 0x3fu);
    }
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    if (extra == 0 || ch < least[extra] || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000)) {
        (*s)++;
        return 0xfffd;
    }
    *s += extra + 1;
    return ch;
}

void aot_utf8_add(aot_sb *out, uint32_t ch)
{
    char b[4];
    size_t n = 0;
    if (ch < 0x80) {
        b[n++] = (char)ch;
    } else if (ch < 0x800) {
        b[n++] = (char)(0xc0 | ch >> 6);
        b[n++] = (char)(0x80 | (ch & 0x3f));
    } else if (ch < 0x10000) {
        b[n++] = (char)(0xe0 | ch >> 12);
        b[n++] = (char)(0x80 | (ch >> 6 & 0x3f));
        b[n++] = (char)(0x80 | (ch & 0x3f));
    } else {
        b[n++] = (char)(0xf0 | ch >> 18);
        b[n++] = (char)(0x80 | (ch >> 12 & 0x3f));
        b[n++] = (char)(0x80 | (ch >> 6 & 0x3f));
        b[n++] = (char)(0x80 | (ch & 0x3f));
    }
    aot_sb_add(out, b, n);
}

int aot_char_width(uint32_t ch)
{
    if (ch < 0x300) {
        return 1;
    }
    if (in_ranges(combining, sizeof combining / sizeof *combining, ch)) {
        return 0;
    }
    return in_ranges(wide, sizeof wide / sizeof *wide, ch) ? 2 : 1;
}

int aot_text_width(const char *s)
{
    int w = 0;
    for (uint32_t ch; (ch = aot_utf8_next(&s)) != 0;) {
        w += aot_char_width(ch);
    }
    return w;
}

int aot_text_fit(aot_sb *out, const char *s, int cols, bool ascii)
{
    if (cols <= 0) {
        return 0;
    }
    // `keep` is the longest beginning that leaves a column for the sign of cutting
    const char *keep = s, *p = s;
    int w = 0, keep_w = 0;
    for (;;) {
        const char *at = p;
        uint32_t ch = aot_utf8_next(&p);
        if (ch == 0) {
            aot_sb_add(out, s, (size_t)(at - s));
            return w;
        }
        w += aot_char_width(ch);
        if (w > cols) {
            break;
        }
        if (w <= cols - 1) {
            keep = p;
            keep_w = w;
        }
    }
    aot_sb_add(out, s, (size_t)(keep - s));
    aot_sb_addz(out, ascii ? "~" : "…");
    return keep_w + 1;
}

static const struct {
    const char *utf8, *ascii;
} spellings[] = {
    {"…", "~"},  {"×", "x"},     {"·", "-"},  {"⁰", "^0"},  {"¹", "^1"}, {"²", "^2"}, {"³", "^3"},
    {"⁴", "^4"}, {"⁵", "^5"},    {"⁶", "^6"}, {"⁷", "^7"},  {"⁸", "^8"}, {"⁹", "^9"}, {"µ", "u"},
    {"→", "->"}, {"←", "<-"},    {"↑", "^"},  {"↓", "v"},   {"─", "-"},  {"│", "|"},  {"┌", "+"},
    {"┐", "+"},  {"└", "+"},     {"┘", "+"},  {"├", "+"},   {"┤", "+"},  {"┬", "+"},  {"┴", "+"},
    {"┼", "+"},  {"▸", ">"},     {"◂", "<"},  {"∞", "inf"}, {"≤", "<="}, {"≥", ">="}, {"–", "-"},
    {"—", "-"},  {"⏎", "Enter"}, {"█", "#"},  {"▏", "|"},   {"•", "*"},
};

void aot_text_to_ascii(aot_sb *out, const char *s)
{
    while (*s) {
        const char *at = s;
        uint32_t ch = aot_utf8_next(&s);
        if (ch < 0x80) {
            aot_sb_addc(out, (char)ch);
            continue;
        }
        const char *as = aot_char_width(ch) == 0 ? "" : "?";
        size_t n = (size_t)(s - at);
        for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
            if (strlen(spellings[i].utf8) == n && memcmp(spellings[i].utf8, at, n) == 0) {
                as = spellings[i].ascii;
                break;
            }
        }
        // powers of two digits: one ^ for both
        bool again = as[0] == '^' && out->n >= 2 && out->d[out->n - 2] == '^';
        aot_sb_addz(out, again && as[1] ? as + 1 : as);
    }
}

void aot_text_safe(aot_sb *out, const char *s, size_t n)
{
    char *copy = aot_xstrndup(s, n); // ends at the first 0 byte, as every text here
    const char *p = copy;
    for (uint32_t ch; (ch = aot_utf8_next(&p)) != 0;) {
        bool control = ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || (ch >= 0x202a && ch <= 0x202e) ||
                       (ch & 0xfffe) == 0xfffe; // no characters; XML forbids two of them
        aot_utf8_add(out, ch == '\t' ? ' ' : control ? 0xfffd : ch);
    }
    free(copy);
}

bool aot_locale_is_utf8(void)
{
    static const char *const vars[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *v = getenv(vars[i]);
        if (v && *v) {
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
        }
    }
    return false;
}
