/* What the measurements share: a clock, a median, a captured unit beside what PyTorch did with
 * it. */
#ifndef AOT_BENCH_BENCH_H
#define AOT_BENCH_BENCH_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "import/unit.h"

/* Seconds of this thread; not wall time: other work on the machine does not count. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts v; 0 of none. */
static inline double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, compare_doubles);
    return n == 0 ? 0 : n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What PyTorch did with a captured unit, DIR/oracle.json; NULL if it cannot be read. The
 * caller's. */
static inline json_t *load_oracle(const char *dir)
{
    char path[4096];
    json_error_t je;
    snprintf(path, sizeof path, "%s/oracle.json", dir);
    return json_load_file(path, 0, &je);
}

/* Hands the graphs of DIR/trace.log[.gz] to the sink; says on stderr what cannot be read. */
static inline void import_log(const char *dir, const aot_import_sink *sink)
{
    char path[4096];
    aot_err err = {0};
    snprintf(path, sizeof path, "%s/trace.log", dir);
    if (access(path, R_OK) != 0) {
        snprintf(path, sizeof path, "%s/trace.log.gz", dir);
    }
    if (aot_import(path, sink, NULL, &err) != AOT_OK) {
        fprintf(stderr, "%s: %s\n", path, err.msg);
    }
}

#endif
