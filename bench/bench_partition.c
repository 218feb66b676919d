/* Times the partitioner: on captured units beside PyTorch's own seconds, and on generated graphs of
 * 1,000 to 1,000,000 nodes. Prints ratios and growth; judges nothing.
 *
 *   bench_partition [--nodes MAX] [UNIT_DIR...]     UNIT_DIR holds trace.log[.gz] and
 * oracle.json */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "import/unit.h"
#include "ir/text.h"
#include "partition/partition.h"
#include "session/model.h"

typedef struct result {
    const char *dir;
    json_t *oracle;
    int next;
    double *ratios;
    size_t *n_ratios;
} result;

/* Median seconds of parsing and of partitioning one text, over several runs. */
static bool measure(const aot_unit *u, const char *text, size_t n, double *parse_s, double *cut_s,
                    size_t *nodes)
{
    enum { RUNS = 7 };
    double parse[RUNS], cut[RUNS];
    for (int k = 0; k < RUNS; k++) {
        aot_err err = {0};
        aot_ctx *c = u != NULL ? aot_unit_new_ctx(u) : aot_ctx_new();
        aot_graph *g;
        aot_partition *p;
        aot_partition_in in = {.n_forward_outputs = -1, .n_static_inputs = -1};
        aot_config config;
        aot_config_init(&config);
        double t0 = now();
        aot_status s = aot_parse_graph(&g, c, text, n, 1, &err);
        double t1 = now();
        in.joint = g;
        if (s == AOT_OK && u != NULL) {
            aot_partition_inputs(&in, u, g);
        }
        double t2 = now();
        s = s == AOT_OK ? aot_partition_run(&p, &in, &config, &err) : s;
        double t3 = now();
        if (s != AOT_OK) {
            fprintf(stderr, "  %s\n", err.msg);
            aot_ctx_free(c);
            return false;
        }
        parse[k] = t1 - t0;
        cut[k] = t3 - t2;
        *nodes = g->nodes.n;
        aot_ctx_free(c);
    }
    *parse_s = median(parse, RUNS);
    *cut_s = median(cut, RUNS);
    return true;
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    result *r = arg;
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_JOINT);
    (void)err;
    if (rec != NULL && rec->text != NULL) {
        json_t *g = json_array_get(json_object_get(r->oracle, "graphs"), (size_t)r->next++);
        json_t *v = json_array_get(json_object_get(g, "variants"), 0);
        double theirs = json_number_value(json_object_get(v, "seconds")), parse_s, cut_s;
        size_t nodes;
        if (theirs > 0 && measure(u, rec->text, rec->len, &parse_s, &cut_s, &nodes)) {
            double ratio = theirs / cut_s;
            const char *name = strrchr(r->dir, '/');
            printf("%-36s %7zu nodes  PyTorch %8.4f s  parse %8.3f ms  partition %8.3f ms  %7.0f "
                   "times\n",
                   name != NULL ? name + 1 : r->dir, nodes, theirs, parse_s * 1e3, cut_s * 1e3,
                   ratio);
            r->ratios[(*r->n_ratios)++] = ratio;
        }
    }
    aot_unit_free(u);
    return AOT_OK;
}

static void bench_unit(const char *dir, double *ratios, size_t *n_ratios)
{
    result r = {.dir = dir, .oracle = load_oracle(dir), .ratios = ratios, .n_ratios = n_ratios};
    aot_import_sink sink = {.arg = &r, .on_unit = on_unit};
    if (r.oracle != NULL) {
        import_log(dir, &sink);
    }
    json_decref(r.oracle);
}

/* Layers of linear, gelu and a residual add, forward and backward; `kind` 1 drops the matrix
 * products: one long chain of cheap operators. */
static void generate(aot_sb *b, int n_nodes, int kind)
{
    int layers = n_nodes / (kind == 0 ? 12 : 6);
    aot_sb_addz(
        b, "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n        ");
    aot_sb_addz(b, "primals_1: \"f32[64, 64][64, 1]cpu\"; ");
    for (int i = 0; i < layers && kind == 0; i++) {
        aot_sb_addf(b, "primals_%d: \"f32[64, 64][64, 1]cpu\"; ", i + 2);
    }
    aot_sb_addz(b, "tangents_1: \"f32[64, 64][64, 1]cpu\"; \n\n        primals_1, ");
    for (int i = 0; i < layers && kind == 0; i++) {
        aot_sb_addf(b, "primals_%d, ", i + 2);
    }
    aot_sb_addz(b,
                "tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n");
#define T "\"f32[64, 64][64, 1]cpu\""
    for (int i = 0; i < layers; i++) {
        char x[32];
        snprintf(x, sizeof x, i == 0 ? "primals_1" : "add_%d", i - 1);
        if (kind == 0) {
            aot_sb_addf(b, "        mm_%d: " T " = torch.ops.aten.mm.default(%s, primals_%d)\n", i,
                        x, i + 2);
            aot_sb_addf(b, "        gelu_%d: " T " = torch.ops.aten.gelu.default(mm_%d)\n", i, i);
        } else {
            aot_sb_addf(b, "        mm_%d: " T " = torch.ops.aten.sin.default(%s)\n", i, x);
            aot_sb_addf(b, "        gelu_%d: " T " = torch.ops.aten.gelu.default(mm_%d)\n", i, i);
        }
        aot_sb_addf(b, "        add_%d: " T " = torch.ops.aten.add.Tensor(gelu_%d, %s)\n", i, i, x);
    }
    for (int i = layers - 1; i >= 0; i--) {
        char g[32], x[32];
        snprintf(g, sizeof g, i == layers - 1 ? "tangents_1" : "add_b%d", i + 1);
        snprintf(x, sizeof x, i == 0 ? "primals_1" : "add_%d", i - 1);
        aot_sb_addf(b, "        gb_%d: " T " = torch.ops.aten.gelu_backward.default(%s, mm_%d)\n",
                    i, g, i);
        if (kind == 0) {
            aot_sb_addf(b, "        t_%d: " T " = torch.ops.aten.t.default(primals_%d)\n", i,
                        i + 2);
            aot_sb_addf(b, "        mx_%d: " T " = torch.ops.aten.mm.default(gb_%d, t_%d)\n", i, i,
                        i);
            aot_sb_addf(b, "        tx_%d: " T " = torch.ops.aten.t.default(%s)\n", i, x);
            aot_sb_addf(b, "        mw_%d: " T " = torch.ops.aten.mm.default(tx_%d, gb_%d)\n", i, i,
                        i);
        } else {
            aot_sb_addf(b, "        c_%d: " T " = torch.ops.aten.cos.default(%s)\n", i, x);
            aot_sb_addf(b, "        mx_%d: " T " = torch.ops.aten.mul.Tensor(gb_%d, c_%d)\n", i, i,
                        i);
        }
        aot_sb_addf(b, "        add_b%d: " T " = torch.ops.aten.add.Tensor(%s, mx_%d)\n", i, g, i);
    }
    aot_sb_addf(b, "        return pytree.tree_unflatten([add_%d, add_b0", layers - 1);
    for (int i = 0; i < layers && kind == 0; i++) {
        aot_sb_addf(b, ", mw_%d", i);
    }
    aot_sb_addz(b, "], self._out_spec)\n");
#undef T
}

static void bench_growth(int max)
{
    static const char *const kinds[] = {"transformer-like layers", "one fusible chain"};
    for (int kind = 0; kind < 2; kind++) {
        double before = 0, nodes_before = 0;
        printf("\ngenerated: %s\n", kinds[kind]);
        for (int n = 1000; n <= max; n *= 10) {
            aot_sb text = {0};
            double parse_s, cut_s;
            size_t nodes;
            generate(&text, n, kind);
            if (measure(NULL, text.d, text.n, &parse_s, &cut_s, &nodes)) {
                printf("%9zu nodes  parse %9.3f ms  partition %9.3f ms  %6.0f ns a node", nodes,
                       parse_s * 1e3, cut_s * 1e3, cut_s * 1e9 / (double)nodes);
                if (before > 0) {
                    printf("  growth %5.2f for %5.2f times the nodes", cut_s / before,
                           (double)nodes / nodes_before);
                }
                printf("\n");
                before = cut_s;
                nodes_before = (double)nodes;
            }
            aot_sb_free(&text);
        }
    }
}

int main(int argc, char **argv)
{
    int max = 1000000, first = 1;
    if (argc > 2 && strcmp(argv[1], "--nodes") == 0) {
        max = atoi(argv[2]);
        first = 3;
    }
    double *ratios = aot_xcalloc((size_t)argc * 64 + 1, sizeof *ratios);
    size_t n = 0;
    for (int i = first; i < argc; i++) {
        bench_unit(argv[i], ratios, &n);
    }
    if (n != 0) {
        printf("\n%zu graphs: median %.0f times as fast as PyTorch\n", n, median(ratios, n));
    }
    free(ratios);
    bench_growth(max);
    return 0;
}
