/* Times re-solving: a graph is read and classified once, then cut again after one change. On
 * captured units beside PyTorch's own seconds for the same settings, and on generated graphs of
 * 10,000 to 300,000 nodes, with the memory that stays. Prints ratios; judges nothing.
 *
 *   bench_resolve [--nodes MAX] [UNIT_DIR...]     UNIT_DIR holds trace.log[.gz] and oracle.json */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "base/memory.h"
#include "import/unit.h"
#include "ir/text.h"
#include "partition/partitioner.h"
#include "session/model.h"

enum { RUNS = 9 };

/* ---- changes: each solve differs from the one before in this alone --------------------------- */

typedef struct change {
    const char *what;
    double budget; /* of all its solves, unless it is the budget that changes */
    void (*apply)(aot_config *c, aot_what_if *w, int k);
} change;

static void change_budget(aot_config *c, aot_what_if *w, int k)
{
    (void)w;
    c->activation_memory_budget = 0.3 + 0.03 * k;
}

static void change_tag(aot_config *c, aot_what_if *w, int k)
{
    (void)c;
    w->sets_policy = true;
    w->policy = k % 2 != 0 ? AOT_POLICY_MUST_SAVE : AOT_POLICY_MUST_RECOMPUTE;
}

static void change_weight(aot_config *c, aot_what_if *w, int k)
{
    (void)c;
    w->weight = 1000 + k;
}

static void change_ban(aot_config *c, aot_what_if *w, int k)
{
    (void)w;
    c->ban_recompute_materialized_backward = k % 2 != 0;
}

static const change changes[] = {
    {"budget", 0, change_budget},           {"tag", 1, change_tag},
    {"weight", 1, change_weight},           {"ban", 1, change_ban},
    {"tag at budget 0.5", 0.5, change_tag}, {"ban at budget 0.5", 0.5, change_ban},
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

/* The value that tags and weights are tried on: a forward call in the middle. */
static aot_str middle(const aot_graph *g)
{
    size_t i = g->nodes.n / 4;
    while (i + 1 < g->nodes.n && g->nodes.d[i].kind != AOT_CALL_FUNCTION) {
        i++;
    }
    return g->nodes.d[i].name;
}

static bool solve(aot_partitioner *pr, const aot_config *c, const aot_what_if *w, double *seconds)
{
    aot_err err = {0};
    aot_partition *p = NULL;
    bool tries = w->sets_policy || w->weight >= 0;
    double t0 = now();
    aot_status s = aot_partitioner_solve(pr, &p, c, tries ? w : NULL, tries, &err);
    *seconds = now() - t0;
    if (s != AOT_OK) {
        fprintf(stderr, "  %s\n", err.msg);
        return false;
    }
    aot_partition_release(p);
    return true;
}

/* Median seconds of a re-solve after this change; < 0: it cannot be cut. */
static double time_change(aot_partitioner *pr, const aot_graph *g, const change *x)
{
    double seconds[RUNS];
    for (int k = -1; k < RUNS; k++) { // the first makes what is kept
        aot_config c;
        aot_what_if w = {.name = middle(g), .weight = -1};
        aot_config_init(&c);
        c.activation_memory_budget = x->budget != 0 ? x->budget : 0.27;
        if (k >= 0) {
            x->apply(&c, &w, k);
        }
        if (!solve(pr, &c, &w, &seconds[k < 0 ? 0 : k])) {
            return -1;
        }
    }
    return median(seconds, RUNS);
}

/* ---- generated graphs: layers of linear, gelu and a residual add, forward and backward ------- */

static void generate(aot_sb *b, int n_nodes)
{
    int layers = n_nodes / 10;
#define T ": \"f32[64, 64][64, 1]cpu\""
    aot_sb_addz(
        b, "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n        ");
    for (int i = 0; i <= layers; i++) {
        aot_sb_addf(b, "primals_%d" T "; ", i + 1);
    }
    aot_sb_addz(b, "tangents_1" T "; \n\n        ");
    for (int i = 0; i <= layers; i++) {
        aot_sb_addf(b, "primals_%d, ", i + 1);
    }
    aot_sb_addz(b,
                "tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n");
    for (int i = 0; i < layers; i++) {
        char x[32];
        snprintf(x, sizeof x, i == 0 ? "primals_1" : "add_%d", i - 1);
        aot_sb_addf(b, "        mm_%d" T " = torch.ops.aten.mm.default(%s, primals_%d)\n", i, x,
                    i + 2);
        aot_sb_addf(b, "        gelu_%d" T " = torch.ops.aten.gelu.default(mm_%d)\n", i, i);
        aot_sb_addf(b, "        add_%d" T " = torch.ops.aten.add.Tensor(gelu_%d, %s)\n", i, i, x);
    }
    for (int i = layers - 1; i >= 0; i--) {
        char g[32], x[32];
        snprintf(g, sizeof g, i == layers - 1 ? "tangents_1" : "add_b%d", i + 1);
        snprintf(x, sizeof x, i == 0 ? "primals_1" : "add_%d", i - 1);
        aot_sb_addf(b, "        gb_%d" T " = torch.ops.aten.gelu_backward.default(%s, mm_%d)\n", i,
                    g, i);
        aot_sb_addf(b, "        t_%d" T " = torch.ops.aten.t.default(primals_%d)\n", i, i + 2);
        aot_sb_addf(b, "        mx_%d" T " = torch.ops.aten.mm.default(gb_%d, t_%d)\n", i, i, i);
        aot_sb_addf(b, "        tx_%d" T " = torch.ops.aten.t.default(%s)\n", i, x);
        aot_sb_addf(b, "        mw_%d" T " = torch.ops.aten.mm.default(tx_%d, gb_%d)\n", i, i, i);
        aot_sb_addf(b, "        add_b%d" T " = torch.ops.aten.add.Tensor(%s, mx_%d)\n", i, g, i);
    }
    aot_sb_addf(b, "        return pytree.tree_unflatten([add_%d, add_b0", layers - 1);
    for (int i = 0; i < layers; i++) {
        aot_sb_addf(b, ", mw_%d", i);
    }
    aot_sb_addz(b, "], self._out_spec)\n");
#undef T
}

static void bench_generated(int n)
{
    aot_sb text = {0};
    aot_err err = {0};
    aot_ctx *c = aot_ctx_new();
    aot_graph *g;
    generate(&text, n);
    if (aot_parse_graph(&g, c, text.d, text.n, 1, &err) != AOT_OK) {
        fprintf(stderr, "%s\n", err.msg);
    } else {
        aot_partition_in in = {.joint = g, .n_forward_outputs = -1, .n_static_inputs = -1};
        aot_partitioner *pr = aot_partitioner_new(&in);
        aot_config config;
        aot_what_if none = {.weight = -1};
        double first;
        aot_config_init(&config);
        if (solve(pr, &config, &none, &first)) {
            printf("%8zu nodes  first %9.3f ms;", g->nodes.n, first * 1e3);
            for (int i = 0; i < N_CHANGES; i++) {
                printf("  %s %8.3f ms", changes[i].what, time_change(pr, g, &changes[i]) * 1e3);
            }
            printf("; kept %.0f bytes a node\n",
                   (double)aot_partitioner_bytes(pr) / (double)g->nodes.n);
        }
        aot_partitioner_free(pr);
    }
    aot_ctx_free(c);
    aot_sb_free(&text);
}

/* ---- captured units -------------------------------------------------------------------------- */

typedef struct result {
    const char *dir;
    json_t *oracle;
    int next;
    double *ratios;
    size_t n_ratios;
} result;

static bool configure(aot_config *c, const json_t *settings)
{
    const char *key;
    json_t *value;
    aot_config_init(c);
    json_object_foreach((json_t *)(uintptr_t)settings, key, value) {
        char set[200], *text = json_dumps(value, JSON_ENCODE_ANY);
        aot_err err = {0};
        snprintf(set, sizeof set, "%s=%s", key,
                 json_is_true(value)     ? "True"
                 : json_is_false(value)  ? "False"
                 : json_is_string(value) ? json_string_value(value)
                                         : text);
        free(text);
        if (aot_config_find(key) == NULL || aot_config_set(c, set, &err) != AOT_OK) {
            return false;
        }
    }
    return true;
}

/* Every variant after the default one, as PyTorch did it and as re-solved from the default. */
static void bench_variants(result *r, aot_partitioner *pr, const json_t *variants)
{
    aot_config base, c;
    aot_what_if none = {.weight = -1};
    double ours, ignored, total = 0, theirs_total = 0;
    int n = 0;
    aot_config_init(&base);
    for (size_t i = 1; i < json_array_size(variants); i++) {
        json_t *v = json_array_get(variants, i);
        double theirs = json_number_value(json_object_get(v, "seconds"));
        if (theirs <= 0 || !configure(&c, json_object_get(v, "config")) ||
            strcmp(c.partitioner, "min_cut") != 0 || !solve(pr, &base, &none, &ignored) ||
            !solve(pr, &c, &none, &ours)) {
            continue;
        }
        r->ratios[r->n_ratios++] = theirs / ours;
        total += ours;
        theirs_total += theirs;
        n++;
    }
    if (n != 0) {
        const char *name = strrchr(r->dir, '/');
        printf("%-32s %3d settings  PyTorch %8.4f s  re-solved %8.3f ms  %7.0f times\n",
               name != NULL ? name + 1 : r->dir, n, theirs_total / n, total / n * 1e3,
               theirs_total / total);
    }
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    result *r = arg;
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_JOINT);
    (void)err;
    if (rec != NULL && rec->text != NULL) {
        json_t *g = json_array_get(json_object_get(r->oracle, "graphs"), (size_t)r->next++);
        aot_ctx *c = aot_unit_new_ctx(u);
        aot_graph *joint;
        aot_err bad = {0};
        if (aot_parse_graph(&joint, c, rec->text, rec->len, 1, &bad) == AOT_OK) {
            aot_partition_in in;
            aot_partition_inputs(&in, u, joint);
            aot_partitioner *pr = aot_partitioner_new(&in);
            bench_variants(r, pr, json_object_get(g, "variants"));
            aot_partitioner_free(pr);
        }
        aot_ctx_free(c);
    }
    aot_unit_free(u);
    return AOT_OK;
}

static void bench_unit(result *r, const char *dir)
{
    r->dir = dir;
    r->next = 0;
    r->oracle = load_oracle(dir);
    aot_import_sink sink = {.arg = r, .on_unit = on_unit};
    if (r->oracle != NULL) {
        import_log(dir, &sink);
    }
    json_decref(r->oracle);
}

int main(int argc, char **argv)
{
    int max = 300000, first = 1;
    aot_keep_freed_memory(); // as the program does
    if (argc > 2 && strcmp(argv[1], "--nodes") == 0) {
        max = atoi(argv[2]);
        first = 3;
    }
    result r = {.ratios = aot_xcalloc((size_t)argc * 256 + 1, sizeof *r.ratios)};
    for (int i = first; i < argc; i++) {
        bench_unit(&r, argv[i]);
    }
    if (r.n_ratios != 0) {
        printf("\n%zu settings: median %.0f times as fast as PyTorch\n\n", r.n_ratios,
               median(r.ratios, r.n_ratios));
    }
    free(r.ratios);
    static const int sizes[] = {10000, 100000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] <= max) {
            bench_generated(sizes[i]);
        }
    }
    return 0;
}
