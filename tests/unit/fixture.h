/* Small helpers for tests that read fixtures and write files. */
#ifndef AOT_TESTS_FIXTURE_H
#define AOT_TESTS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Path of a fixture; valid until the next four calls. */
static inline const char *fixture(const char *name)
{
    static char paths[4][512];
    static unsigned k;
    const char *dir = getenv("AOT_FIXTURES");
    char *p = paths[k++ % 4];
    snprintf(p, sizeof paths[0], "%s/%s", dir != NULL ? dir : "fixtures", name);
    return p;
}

/* A fresh directory for the test; its name lives as long as the program. */
static inline const char *scratch_dir(void)
{
    static char dir[256];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/aotscope-test-XXXXXX", tmp != NULL ? tmp : "/var/tmp");
    if (mkdtemp(dir) == NULL) {
        fail_msg("no scratch directory at %s", dir);
    }
    return dir;
}

static inline void write_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static inline char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *d = malloc(*n + 1);
    assert_int_equal(fread(d, 1, *n, f), *n);
    d[*n] = 0;
    fclose(f);
    return d;
}

#endif
