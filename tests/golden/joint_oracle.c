/* Joint graphs before and after Inductor's passes, as PyTorch 2.11 had them: ours are the same, and
 * every node that is new or gone is in the log. One TAP line a graph.
 *
 *   joint_oracle [FILE.json.gz...]    default: all of $AOT_FIXTURES/joint
 *
 * A file is a list of {"name", "before", "after"}, and "fallback_random" or "constants" where the
 * text does not say it. */
#include <dirent.h>
#include <jansson.h>

#include "golden/files.h"
#include "ir/text.h"
#include "joint/joint.h"

static int n_tests, n_failed;

/* Whether the log has a row of that kind for the node. */
static bool is_logged(const aot_joint_log *log, aot_joint_what what, aot_str node)
{
    for (size_t i = 0; i < log->n; i++) {
        if (log->d[i].what == what && log->d[i].node == node) {
            return true;
        }
    }
    return false;
}

static bool has_node(const aot_graph *g, aot_str name)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.d[i].name == name) {
            return true;
        }
    }
    return false;
}

/* Nodes of a that b has not, without a row in the log. */
static unsigned unexplained(const aot_graph *a, const aot_graph *b, const aot_joint_log *log,
                            aot_joint_what what)
{
    unsigned n = 0;
    for (size_t i = 0; i < a->nodes.n; i++) {
        aot_str name = a->nodes.d[i].name;
        if (name != 0 && !has_node(b, name) && !is_logged(log, what, name)) {
            printf("# %s is %s, and nothing says by what\n", aot_text(a->ctx, name),
                   what == AOT_JOINT_MADE ? "new" : "gone");
            n++;
        }
    }
    return n;
}

static void set_constants(aot_ctx *c, json_t *constants)
{
    const char *key;
    json_t *v;
    json_object_foreach (constants, key, v) {
        aot_arg a = json_is_integer(v)
                        ? (aot_arg){.kind = AOT_ARG_INT, .u.i = json_integer_value(v)}
                        : (aot_arg){.kind = AOT_ARG_FLOAT, .u.f = json_real_value(v)};
        aot_ctx_set_constant(c, key, a);
    }
}

static bool check_graph(json_t *e)
{
    const char *before = json_string_value(json_object_get(e, "before"));
    const char *after = json_string_value(json_object_get(e, "after"));
    aot_ctx *c = aot_ctx_new();
    aot_graph *g, *out = NULL;
    aot_err err = {0};
    aot_config config;
    aot_joint_log log = {0};
    aot_sb text = {0};
    aot_config_init(&config);
    config.fallback_random = json_is_true(json_object_get(e, "fallback_random"));
    set_constants(c, json_object_get(e, "constants"));
    aot_status s = aot_parse_graph(&g, c, before, strlen(before), 1, &err);
    if (s == AOT_OK) {
        s = aot_joint_run(&out, &(aot_joint_in){.joint = g}, &config, &log, &err);
    }
    bool ok = s == AOT_OK;
    if (!ok) {
        printf("# %s\n", err.msg);
    } else {
        aot_print_graph(&text, out, AOT_PRINT_PLAIN);
        ok = same_normal(after, aot_sb_text(&text));
        ok &= unexplained(out, g, &log, AOT_JOINT_MADE) == 0;
        ok &= unexplained(g, out, &log, AOT_JOINT_REMOVED) == 0;
    }
    aot_sb_free(&text);
    aot_vec_free(&log);
    aot_ctx_free(c);
    return ok;
}

static void check_file(const char *path)
{
    aot_sb raw = {0};
    json_error_t error;
    size_t i;
    json_t *e, *list = read_whole(path, &raw) ? json_loads(aot_sb_text(&raw), 0, &error) : NULL;
    aot_sb_free(&raw);
    if (!json_is_array(list) || json_array_size(list) == 0) {
        n_failed++;
        printf("not ok %d - %s can be read\n", ++n_tests, path);
    }
    json_array_foreach (list, i, e) {
        bool ok = check_graph(e);
        n_failed += !ok;
        printf("%sok %d - %s\n", ok ? "" : "not ", ++n_tests,
               json_string_value(json_object_get(e, "name")));
    }
    json_decref(list);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void check_folder(const char *path)
{
    struct dirent **names;
    int n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char child[8192];
        snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.') {
            check_file(child);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        check_file(argv[i]);
    }
    if (argc == 1) {
        const char *fixtures = getenv("AOT_FIXTURES");
        char path[4096];
        snprintf(path, sizeof path, "%s/joint", fixtures != NULL ? fixtures : "fixtures");
        check_folder(path);
    }
    if (n_tests == 0) {
        printf("not ok 1 - no input found\n");
        n_tests = n_failed = 1;
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
