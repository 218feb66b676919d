/* Times the interpreter: what a node costs beside its arithmetic, and graphs that products,
 * convolutions and row-wise loops dominate. Prints the least CPU time of the runs, and with a table
 * of PyTorch's the ratio; judges nothing. Run it on one thread (OPENBLAS_NUM_THREADS=1). `print`
 * writes the graphs, which are Python that PyTorch runs as it is: eager.py times them there.
 * eager.tsv is its table as it was recorded beside the figures that we state; on another machine
 * make it anew, or go without.
 *
 *   bench_exec [RUNS] [CASE|all] [EAGER.tsv]
 *   bench_exec print | python3 bench/eager.py > EAGER.tsv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "exec/clones.h"
#include "exec/interp.h"
#include "ir/text.h"

typedef struct bench_case {
    const char *name;
    const char *params, *body, *result;
} bench_case;

static const bench_case cases[] = {
#define CASE(name, params, body, result) {name, params, body, result},
#include "bench/bench_exec.def"
#undef CASE
};

#define GRAPH                                                                                      \
    "class GraphModule(torch.nn.Module):\n    def forward(self, %s):\n        %s\n        return " \
    "(%s,)\n"

static aot_graph *parsed(aot_ctx *ctx, const char *params, const char *body, const char *result)
{
    aot_sb b = {0};
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_sb_addf(&b, GRAPH, params, body, result);
    if (aot_parse_graph(&g, ctx, b.d, b.n, 1, &err) != AOT_OK) {
        fprintf(stderr, "bench_exec: %s\n", err.msg);
        exit(1);
    }
    aot_sb_free(&b);
    return g;
}

/* Inputs of the types that the placeholders state; small values that repeat. */
static unsigned make_inputs(const aot_graph *g, aot_xval *in, unsigned room)
{
    unsigned n = 0;
    for (aot_node_id id = 0; id < g->nodes.n && n < room; id++) {
        const aot_node *node = aot_node_at(g, id);
        if (node->kind != AOT_PLACEHOLDER) {
            continue;
        }
        const aot_meta *m = aot_meta_get(g->ctx, node->meta);
        int64_t size[AOT_ARRAY_MAX_NDIM];
        for (unsigned i = 0; i < m->ndim; i++) {
            size[i] = aot_meta_sizes(g->ctx, m)[i].value;
        }
        aot_array *x = aot_array_new(NULL, (aot_dtype)m->dtype, m->ndim, size);
        int64_t bytes = aot_array_item_bytes(x);
        for (int64_t i = 0; i < aot_array_numel(x); i++) {
            double v = (double)((i * 37 + 11) % 101) / 101 - 0.5;
            aot_store_real(&v, (aot_dtype)m->dtype, aot_array_data(x) + i * bytes, 0, 1);
        }
        in[n++] = aot_xv_array(x);
    }
    return n;
}

static double run_once(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *in)
{
    aot_xval *out;
    unsigned n_out;
    aot_err err = {0};
    double start = now();
    aot_status s = aot_exec_run(&out, &n_out, x, g, n, in, NULL, &err);
    double seconds = now() - start;
    if (s != AOT_OK) {
        fprintf(stderr, "bench_exec: %s\n", err.msg);
        exit(1);
    }
    aot_free_values(out, n_out);
    return seconds;
}

/* The least of some runs after one that warms up: what else the machine does can only add to it. */
static double timed(const aot_graph *g, int runs)
{
    aot_xval in[16];
    aot_exec *x = aot_exec_new();
    unsigned n = make_inputs(g, in, 16);
    double least = run_once(x, g, n, in);
    for (int i = 0; i < runs; i++) {
        double seconds = run_once(x, g, n, in);
        least = seconds < least ? seconds : least;
    }
    for (unsigned i = 0; i < n; i++) {
        aot_xv_drop(&in[i]);
    }
    aot_exec_free(x);
    return least;
}

/* PyTorch's seconds for a case, from a table of "name TAB seconds"; 0 where it has none. */
static double eager_seconds(const char *file, const char *name)
{
    char line[256];
    double seconds = 0;
    FILE *f = file == NULL ? NULL : fopen(file, "r");
    if (file != NULL && f == NULL) {
        fprintf(stderr, "bench_exec: %s cannot be read\n", file);
        exit(1);
    }
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *tab = strchr(line, '\t');
        if (tab != NULL && strlen(name) == (size_t)(tab - line) &&
            memcmp(line, name, strlen(name)) == 0) {
            seconds = strtod(tab + 1, NULL);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return seconds;
}

static void run_case(const bench_case *c, int runs, const char *eager)
{
    aot_ctx *ctx = aot_ctx_new();
    double s = timed(parsed(ctx, c->params, c->body, c->result), runs),
           e = eager_seconds(eager, c->name);
    printf("%-22s %10.3f ms", c->name, s * 1e3);
    if (e > 0) {
        printf("  PyTorch %10.3f ms  %5.2f times", e * 1e3, s / e);
    }
    printf("\n");
    fflush(stdout);
    aot_ctx_free(ctx);
}

/* A chain of operators on one element each: all that is left is what a node costs. */
static void overhead(int runs, const char *what, const char *params, const char *format)
{
    enum { NODES = 100000 };
    aot_sb b = {0};
    aot_ctx *ctx = aot_ctx_new();
    char result[24];
    aot_sb_addz(&b, "a0 = torch.ops.aten.neg.default(x)\n");
    for (int i = 1; i < NODES; i++) {
        aot_sb_addf(&b, format, i, i - 1, i - 1);
    }
    snprintf(result, sizeof result, "a%d", NODES - 1);
    double s = timed(parsed(ctx, params, b.d, result), runs);
    printf("%-22s %10.3f ms %8.3f us a node\n", what, s * 1e3, s * 1e6 / NODES);
    aot_sb_free(&b);
    aot_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 7;
    const char *only = argc > 2 && strcmp(argv[2], "all") != 0 ? argv[2] : NULL,
               *eager = argc > 3 ? argv[3] : NULL;
    runs = runs < 1 ? 1 : runs;
    for (size_t i = 0;
         i < sizeof cases / sizeof *cases && argc > 1 && strcmp(argv[1], "print") == 0; i++) {
        printf("# %s\n" GRAPH "\n", cases[i].name, cases[i].params, cases[i].body, cases[i].result);
    }
    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        return 0;
    }
    if (only == NULL || strcmp(only, "overhead") == 0) {
        overhead(
            runs, "100,000 additions", "x: \"f32[1][1]cpu\"",
            "        a%d: \"f32[1][1]cpu\" = torch.ops.aten.add.Tensor(a%d, x);  a%d = None\n");
        overhead(runs, "100,000 of a number", "x: \"f32[2, 3][3, 1]cpu\"",
                 "        a%d: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.mul.Tensor(a%d, 0.5);  a%d "
                 "= None\n");
        overhead(runs, "100,000 views", "x: \"f32[2, 3][3, 1]cpu\"",
                 "        a%d: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.view.default(a%d, [2, 3]);  "
                 "a%d = None\n");
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (only == NULL || strcmp(only, cases[i].name) == 0) {
            run_case(&cases[i], runs, eager);
        }
    }
    return 0;
}
