/* Property of the META rules: for every ATen call of every recorded graph whose operator has a
 * rule, the rule gives the type that PyTorch printed. One TAP line a file, counts by operator at
 * the end.
 *
 *   test_meta [FILE-OR-FOLDER...]    default: $AOT_FIXTURES
 *
 * Outputs of a call with several are compared through the getitems that take them. */
#include <dirent.h>
#include <sys/stat.h>

#include "golden/files.h"
#include "import/unit.h"
#include "ir/text.h"
#include "rules/fake.h"
#include "session/model.h"

enum { MAX_SHOWN = 4 }; /* differences that are printed of one operator */

static const struct {
    const char *op, *ours, *theirs, *reason;
} known[] = {
#define KNOWN(op, ours, theirs, reason) {op, ours, theirs, reason},
#include "meta_known.def"
#undef KNOWN
    {"", "", "", ""},
};

static int n_tests, n_failed;
static struct tally {
    unsigned ok, total, shown;
} * tallies; /* by row */
static unsigned long n_calls, n_without_rule, n_known;

typedef struct file {
    const char *path;
    unsigned calls, bad;
} file;

static bool is_known(const char *op, const char *ours, const char *theirs)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].op, op) == 0 && strcmp(known[i].ours, ours) == 0 &&
            strcmp(known[i].theirs, theirs) == 0) {
            return true;
        }
    }
    return false;
}

static void report(file *f, const aot_graph *g, aot_node_id id, const char *ours,
                   const char *theirs)
{
    const aot_op_info *op = aot_node_op(aot_node_at(g, id));
    struct tally *t = &tallies[aot_node_at(g, id)->op];
    if (is_known(op->name, ours, theirs)) {
        n_known++;
        return;
    }
    t->ok--;
    f->bad++;
    if (t->shown++ < MAX_SHOWN) {
        aot_sb b = {0};
        aot_print_node(&b, g, id);
        printf("# %s: %s: rule says %s, recorded is %s: %s\n", f->path, op->name, ours, theirs,
               aot_sb_text(&b));
        aot_sb_free(&b);
    }
}

/* Compares output i; false if it was different (which is then reported). */
static bool same_type(file *f, const aot_graph *g, aot_node_id call, const aot_fake *got,
                      aot_meta_id want)
{
    const char *theirs = aot_text(g->ctx, aot_meta_get(g->ctx, want)->text);
    if (*theirs == '\0') {
        return true; // nothing was printed
    }
    aot_meta_id ours = got != NULL ? aot_fake_meta(g->ctx, got) : 0;
    const aot_meta *m = aot_meta_get(g->ctx, want);
    if (got != NULL && got->val == AOT_VAL_TENSOR && m->val == AOT_VAL_TENSOR && !m->has_stride) {
        // a graph printed without strides and devices: what is printed counts
        ours = aot_ctx_tensor_meta(g->ctx, got->dtype, got->size, NULL, got->ndim, m->device);
    }
    if (ours == want) {
        return true;
    }
    report(f, g, call, got != NULL ? aot_text(g->ctx, aot_meta_get(g->ctx, ours)->text) : "(none)",
           theirs);
    return false;
}

static void check_call(file *f, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    struct aot_call call;
    aot_err err = {0};
    aot_status s = aot_fake_run(&call, g->ctx, g, id, &err);
    if (s == AOT_E_UNSUPPORTED) {
        n_without_rule++;
        aot_call_free(&call);
        return;
    }
    tallies[n->op].total++;
    tallies[n->op].ok++;
    n_calls++;
    f->calls++;
    if (s != AOT_OK) {
        report(f, g, id, err.msg, aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text));
    } else if (call.outs.n == 1 && !call.is_list) {
        same_type(f, g, id, &call.outs.d[0], n->meta);
    } else {
        for (uint32_t u = g->user_off[id]; u < g->user_off[id + 1]; u++) {
            const aot_node *user = aot_node_at(g, g->user[u]);
            const aot_arg *a = aot_node_args(g, user);
            if (!aot_is_getitem(g, user) || user->n_args != 2 || a[0].kind != AOT_ARG_NODE ||
                a[0].u.node != id || a[1].kind != AOT_ARG_INT) {
                continue;
            }
            int64_t i = a[1].u.i < 0 ? a[1].u.i + (int64_t)call.outs.n : a[1].u.i;
            bool inside = i >= 0 && (size_t)i < call.outs.n;
            if (!same_type(f, g, id, inside ? &call.outs.d[i] : NULL, user->meta)) {
                break;
            }
        }
    }
    aot_call_free(&call);
}

static void check_graph(file *f, aot_graph *g)
{
    aot_graph_link(g);
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN || aot_is_getitem(g, n)) {
            continue;
        }
        check_call(f, g, i);
    }
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        check_graph(f, g->subgraphs.d[i]);
    }
}

static bool is_aten_stage(aot_stage s)
{
    return s == AOT_STAGE_JOINT || s == AOT_STAGE_FORWARD || s == AOT_STAGE_BACKWARD ||
           s == AOT_STAGE_INFERENCE;
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    file *f = arg;
    (void)err;
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        aot_graph *g;
        aot_err ignored = {0}; // texts that do not parse are the round trip's matter
        if (!is_aten_stage(r->stage) || r->text == NULL) {
            continue;
        }
        aot_ctx *c = aot_unit_new_ctx(u);
        if (aot_parse_graph(&g, c, r->text, r->len, (uint32_t)r->line, &ignored) == AOT_OK) {
            check_graph(f, g);
        }
        aot_ctx_free(c);
    }
    aot_unit_free(u);
    return AOT_OK;
}

static void check_file(const char *path)
{
    file f = {.path = path};
    aot_err err = {0};
    aot_import_sink sink = {.arg = &f, .on_unit = on_unit};
    if (aot_import(path, &sink, NULL, &err) != AOT_OK || f.calls == 0) {
        return; // holds no graphs
    }
    n_failed += f.bad != 0;
    printf("%sok %d - %s: %u of %u calls have the recorded type\n", f.bad == 0 ? "" : "not ",
           ++n_tests, path, f.calls - f.bad, f.calls);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk(const char *path)
{
    struct stat st;
    struct dirent **names;
    if (stat(path, &st) != 0) {
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        check_file(path);
        return;
    }
    int n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char child[4096];
        snprintf(child, sizeof child, "%s/%s", path, name);
        if (name[0] != '.' && strcmp(name, "damaged") != 0 && strcmp(name, "fuzz") != 0 &&
            strstr(name, ".json") == NULL &&
            strstr(name, ".tsv") == NULL) {
            walk(child);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
}

int main(int argc, char **argv)
{
    const char *fixtures = getenv("AOT_FIXTURES");
    tallies = aot_xcalloc(aot_op_count(), sizeof *tallies);
    for (int i = 1; i < argc; i++) {
        walk(argv[i]);
    }
    if (argc == 1) {
        walk(fixtures != NULL ? fixtures : "fixtures");
    }
    for (size_t i = 0; i < aot_op_count(); i++) {
        if (tallies[i].ok != tallies[i].total) {
            printf("# %s: %u/%u\n", aot_op((aot_op_id)i)->name, tallies[i].ok, tallies[i].total);
        }
    }
    printf("# %lu calls compared, %lu known to differ, %lu without a rule\n", n_calls, n_known,
           n_without_rule);
    if (n_tests == 0) {
        printf("not ok 1 - no call was compared\n");
        n_tests = n_failed = 1;
    }
    printf("1..%d\n", n_tests);
    free(tallies);
    return n_failed != 0;
}
