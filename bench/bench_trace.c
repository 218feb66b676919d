/* Times the capture of Dynamo graphs (both runs: the one that looks and the one that writes every
 * level) beside the seconds that PyTorch's compile of the unit took, where the log has them. Prints
 * times and ratios; judges nothing.
 *
 *   bench_trace LOG... */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "capture/capture.h"
#include "session/derive.h"

/* The best of some runs; < 0 if it cannot be traced. */
static double best_of(const aot_unit *u, const aot_record *rec, size_t *nodes)
{
    enum { RUNS = 5 };
    double best = -1;
    for (int k = 0; k < RUNS; k++) {
        aot_err err = {0};
        aot_config config;
        aot_capture c = {0};
        const aot_graph *dynamo;
        aot_ctx *ctx = aot_unit_new_ctx(u);
        aot_status s = aot_unit_config(&config, u, NULL, 0, &err);
        s = s == AOT_OK ? aot_record_parse(&dynamo, ctx, u, rec, &err) : s;
        double start = now();
        s = s == AOT_OK ? aot_capture_run(&c, aot_unit_capture_in(u, dynamo, &config), &err) : s;
        double seconds = now() - start;
        if (s == AOT_OK) {
            *nodes = c.graph[AOT_LEVEL_JOINT]->nodes.n;
            best = best < 0 || seconds < best ? seconds : best;
        } else if (k == 0) {
            fprintf(stderr, "%s: %s\n", u->input, err.msg);
        }
        aot_capture_free(&c);
        aot_ctx_free(ctx);
    }
    return best;
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    (void)arg;
    (void)err;
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    size_t nodes = 0;
    double s = rec != NULL && rec->text != NULL ? best_of(u, rec, &nodes) : -1;
    if (s > 0) {
        printf("%-60s %7zu nodes  %8.3f ms  %6.2f us a node", u->input, nodes, s * 1e3,
               s * 1e6 / (double)nodes);
        if (u->seconds > 0) {
            printf("  PyTorch's compile %.3f s, %.0f times", u->seconds, u->seconds / s);
        }
        putchar('\n');
    }
    aot_unit_free(u);
    return AOT_OK;
}

int main(int argc, char **argv)
{
    aot_import_sink sink = {.on_unit = on_unit};
    for (int i = 1; i < argc; i++) {
        aot_err err = {0};
        if (aot_import(argv[i], &sink, NULL, &err) != AOT_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], err.msg);
        }
    }
    return 0;
}
