/* Whether XML, SVG or HTML that closes its void elements is well formed. After cmocka.h. */
#ifndef AOT_TEST_MARKUP_H
#define AOT_TEST_MARKUP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Tags nest, attributes are quoted, entities are closed: enough to catch what escaping can get
// wrong.
static inline void assert_well_formed(const char *p)
{
    char open[64][32];
    int depth = 0;
    for (; *p; p++) {
        if (*p == '&') {
            size_t n = strspn(p + 1, "#abcdefghijklmnopqrstuvwxyzABCDEF0123456789");
            assert_true(n > 0 && p[n + 1] == ';');
        }
        if (*p != '<') {
            continue;
        }
        if (strncmp(p, "<!--", 4) == 0) {
            p = strstr(p, "-->") + 2;
            continue;
        }
        bool close = p[1] == '/';
        const char *name = p + (close ? 2 : 1);
        size_t n = strcspn(name, " \n/>");
        char quote = 0;
        for (p = name; quote || *p != '>'; p++) {
            assert_true(*p != 0 && *p != '<');
            quote = quote == *p ? 0 : !quote && (*p == '"' || *p == '\'') ? *p : quote;
        }
        bool raw = !close && ((n == 6 && memcmp(name, "script", n) == 0) ||
                              (n == 5 && memcmp(name, "style", n) == 0));
        if (raw) { // its text is no markup, up to its end
            p = strstr(p, n == 6 ? "</script>" : "</style>");
            assert_non_null(p);
            p += n + 2;
        } else if (close) {
            assert_true(depth > 0 && strlen(open[depth - 1]) == n);
            assert_memory_equal(open[--depth], name, n);
        } else if (p[-1] != '/') {
            assert_true(depth < 64 && n < 32);
            snprintf(open[depth++], 32, "%.*s", (int)n, name);
        }
    }
    assert_int_equal(depth, 0);
}

#endif
