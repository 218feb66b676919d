/* Dynamo graphs traced to joint and forward-only graphs, against those that PyTorch made of them:
 * the same structure, names of intermediate values aside. One TAP line a log of fixtures/oracle
 * (one program each) and fixtures/trace (many small programs each). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/check.h"
#include "session/derive.h"

static const struct {
    const char *unit, *reason;
} known[] = {
#define KNOWN(unit, reason) {unit, reason},
#include "golden/trace_known.def"
#undef KNOWN
};

typedef struct tally {
    const char *name;
    int n, n_same;
} tally;

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    tally *t = arg;
    aot_arena *a = aot_arena_new();
    aot_check_result results[AOT_CHECK_TRACE_MAX];
    aot_config config;
    size_t n = 0;
    if (aot_unit_config(&config, u, NULL, 0, err) == AOT_OK) {
        n = aot_check_trace(results, u, &config, a);
    }
    for (size_t i = 0; i < n; i++) { // the graph, then the metadata
        const aot_check_result *r = &results[i];
        t->n++;
        t->n_same += r->verdict == AOT_CHECK_SAME;
        if (r->verdict == AOT_CHECK_DIFFERS) {
            printf("# %s: want %s\n# got %s\n", t->name, r->recorded, r->derived);
        } else if (r->verdict != AOT_CHECK_SAME) {
            printf("# %s: %s\n", t->name, r->reason);
        }
    }
    aot_arena_free(a);
    aot_unit_free(u);
    return AOT_OK;
}

static const char *known_reason(const char *unit)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].unit, unit) == 0) {
            return known[i].reason;
        }
    }
    return NULL;
}

/* The units of one folder of fixtures; returns how many failed. */
static int run_folder(const char *folder, int *n_tests)
{
    char dir[2048], path[8192];
    const char *fixtures = getenv("AOT_FIXTURES");
    struct dirent **names;
    int n_failed = 0;
    snprintf(dir, sizeof dir, "%s/%s", fixtures != NULL ? fixtures : "fixtures", folder);
    int n = scandir(dir, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        tally t = {.name = names[i]->d_name};
        aot_err err = {0};
        aot_import_sink sink = {.arg = &t, .on_unit = on_unit};
        snprintf(path, sizeof path, "%s/%s/trace.log.gz", dir, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && aot_import(path, &sink, NULL, &err) == AOT_OK &&
            t.n != 0) {
            const char *reason = known_reason(t.name);
            bool ok = (t.n_same == t.n) == (reason == NULL);
            n_failed += !ok;
            printf("%sok %d - %s: %d of %d traced as PyTorch did%s%s\n", ok ? "" : "not ",
                   ++*n_tests, t.name, t.n_same, t.n, reason != NULL ? "; known: " : "",
                   reason != NULL ? reason : "");
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
    return n_failed;
}

int main(void)
{
    static const char *const folders[] = {"oracle", "trace"};
    int n_tests = 0, n_failed = 0;
    for (int i = 0; i < 2; i++) {
        int before = n_tests;
        n_failed += run_folder(folders[i], &n_tests);
        if (n_tests == before) {
            printf("not ok %d - no unit found in %s\n", ++n_tests, folders[i]);
            n_failed++;
        }
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
