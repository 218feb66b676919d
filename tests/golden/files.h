/* Small helpers of the golden tests: whole files, plain or .gz, and the normal form of graph
 * texts. */
#ifndef AOT_TESTS_GOLDEN_FILES_H
#define AOT_TESTS_GOLDEN_FILES_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/str.h"

/* False if the file cannot be read. */
static inline bool read_whole(const char *path, aot_sb *out)
{
    gzFile f = gzopen(path, "rb");
    char buf[65536];
    int n;
    if (f == NULL) {
        return false;
    }
    while ((n = gzread(f, buf, sizeof buf)) > 0) {
        aot_sb_add(out, buf, (size_t)n);
    }
    gzclose(f);
    return n == 0;
}

/* The length of a saved generator state is a symbol with an arbitrary number. */
static inline void add_without_rng_symbol(aot_sb *out, const char *p, size_t n)
{
    const char *end = p + n, *q;
    while ((q = memmem(p, (size_t)(end - p), "\"u8[s", 5)) != NULL) {
        const char *d = q + 5;
        while (d < end && isdigit((unsigned char)*d)) {
            d++;
        }
        aot_sb_add(out, p, (size_t)(q + 4 - p));
        if (d > q + 5 && (size_t)(end - d) >= 4 && memcmp(d, "][1]", 4) == 0) {
            aot_sb_addz(out, "rng_state");
        } else {
            aot_sb_add(out, q + 4, (size_t)(d - q - 4));
        }
        p = d;
    }
    aot_sb_add(out, p, (size_t)(end - p));
}

/* Without comment lines, blank lines and trailing blanks: what "the same text" means. */
static inline void normal_form(const char *text, aot_sb *out)
{
    while (*text != '\0') {
        const char *nl = strchr(text, '\n');
        size_t n = nl != NULL ? (size_t)(nl - text) : strlen(text), m = n, i = 0;
        while (m > 0 && isspace((unsigned char)text[m - 1])) {
            m--;
        }
        while (i < m && isspace((unsigned char)text[i])) {
            i++;
        }
        if (i < m && text[i] != '#') {
            add_without_rng_symbol(out, text, m);
            aot_sb_addc(out, '\n');
        }
        text += n + (nl != NULL);
    }
}

/* Prints the first differing pair of lines as TAP comments; true if equal. */
static inline bool same_normal(const char *want, const char *got)
{
    aot_sb a = {0}, b = {0};
    normal_form(want, &a);
    normal_form(got, &b);
    bool same = strcmp(aot_sb_text(&a), aot_sb_text(&b)) == 0;
    if (!same) {
        const char *p = aot_sb_text(&a), *q = aot_sb_text(&b);
        for (;;) {
            size_t n = strcspn(p, "\n"), m = strcspn(q, "\n");
            if (n != m || memcmp(p, q, n) != 0 || *p == '\0') {
                printf("# want %.*s\n# got  %.*s\n", (int)(n < 300 ? n : 300), p,
                       (int)(m < 300 ? m : 300), q);
                break;
            }
            p += n + (p[n] != '\0');
            q += m + (q[m] != '\0');
        }
    }
    aot_sb_free(&a);
    aot_sb_free(&b);
    return same;
}

#endif
