/* What PyTorch 2.11 did with each captured unit, compared with what we do: saved values in order,
 * ban reason and weight of every node, forward and backward text. One TAP line a setting.
 *
 *   partition_oracle [DIR]    DIR/UNIT/{trace.log.gz, oracle.json, G.V<i>.{fw,bw}.txt.gz}
 *
 * PyTorch's ilp ends where HiGHS does among equally good answers; ours follows it in items
 * alike. */
#include <dirent.h>
#include <jansson.h>

#include "golden/files.h"
#include "import/unit.h"
#include "ir/text.h"
#include "joint/joint.h"
#include "partition/partition.h"
#include "session/model.h"

static int n_tests, n_failed;

typedef struct unit {
    const char *dir, *name;
    json_t *oracle;
    size_t next;
    bool passes; /* Inductor's joint-graph passes ran: their result stands in a file of its own */
} unit;

static void result(bool ok, const char *unit_name, size_t graph, const char *setting,
                   const char *what)
{
    n_failed += !ok;
    printf("%sok %d - %s graph %zu, %s: %s\n", ok ? "" : "not ", ++n_tests, unit_name, graph,
           setting, what);
}

/* Applies the setting of a variant; its label. False if it cannot be set. */
static bool apply(json_t *variant, aot_config *c, aot_sb *label)
{
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(variant, "config"), key, v) {
        aot_sb a = {0};
        aot_err err = {0};
        if (json_is_string(v)) {
            aot_sb_addf(&a, "%s=%s", key, json_string_value(v));
        } else if (json_is_boolean(v)) {
            aot_sb_addf(&a, "%s=%s", key, json_is_true(v) ? "True" : "False");
        } else {
            aot_sb_addf(&a, "%s=%.17g", key, json_number_value(v));
        }
        if (aot_config_set(c, a.d, &err) != AOT_OK) {
            printf("# %s\n", err.msg);
            aot_sb_free(&a);
            return false;
        }
        aot_sb_addf(label, "%s%s", label->n != 0 ? "," : "", a.d);
        aot_sb_free(&a);
    }
    if (label->n == 0) {
        aot_sb_addz(label, "default");
    }
    return true;
}

static bool same_names(const aot_partition *p, const aot_node_id *ids, uint32_t n, json_t *want)
{
    bool same = json_array_size(want) == n;
    for (uint32_t i = 0; i < n && same; i++) {
        const char *w = json_string_value(json_array_get(want, i));
        same = strcmp(w, aot_node_name(p->cut, ids[i])) == 0;
        if (!same) {
            printf("# saved value %u: want %s got %s\n", i, w, aot_node_name(p->cut, ids[i]));
        }
    }
    return same;
}

static bool same_ban(const aot_node_info *x, json_t *want, const char *name)
{
    const char *got = aot_ban_text(x->ban), *w = json_string_value(json_object_get(want, "ban"));
    if (w != NULL) {
        w += strncmp(w, "cannot recompute", 16) == 0 ? 16 : 0;
        w += strncmp(w, ": ", 2) == 0 ? 2 : 0;
        bool unnamed = *w == '\0' && (x->ban == AOT_BAN_FAR_APART || x->ban == AOT_BAN_LONG_CHAIN);
        if (unnamed || (got != NULL && strcmp(got, w) == 0)) {
            return true;
        }
    } else if (got == NULL) {
        return true;
    }
    printf("# %s: ban: want %s got %s\n", name, w != NULL ? w : "none", got != NULL ? got : "none");
    return false;
}

static bool same_reasons(const aot_partition *p, json_t *nodes)
{
    bool same = true;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const char *name = aot_node_name(p->cut, i);
        json_t *want = json_object_get(nodes, name), *w = json_object_get(want, "weight");
        if (want == NULL) {
            continue;
        }
        const aot_node_info *x = &p->nodes[i];
        same &= same_ban(x, want, name);
        if (w != NULL) {
            bool inf = json_is_string(w);
            if (inf != (x->weight == AOT_WEIGHT_INF) ||
                (!inf && (double)x->weight != json_number_value(w))) {
                printf("# %s: weight: want %.17g got %lld\n", name, json_number_value(w),
                       (long long)x->weight);
                same = false;
            }
        }
        const char *sink = json_string_value(json_object_get(want, "sink"));
        const char *got = x->sink == AOT_SINK_IN ? "in" : x->sink == AOT_SINK_OUT ? "out" : NULL;
        if ((sink == NULL) != (got == NULL) || (sink != NULL && strcmp(sink, got) != 0)) {
            printf("# %s: sink: want %s got %s\n", name, sink != NULL ? sink : "none",
                   got != NULL ? got : "none");
            same = false;
        }
    }
    return same;
}

/* True if there is no kept text, too. */
static bool same_side(const unit *u, size_t k, long variant, const char *side, const aot_graph *g)
{
    char path[8192];
    aot_sb want = {0}, got = {0};
    snprintf(path, sizeof path, "%s/%s/%zu.V%ld.%s.txt.gz", u->dir, u->name, k, variant, side);
    bool same = true;
    if (read_whole(path, &want)) {
        aot_print_graph(&got, g, AOT_PRINT_PLAIN);
        same = same_normal(aot_sb_text(&want), aot_sb_text(&got));
    }
    aot_sb_free(&want);
    aot_sb_free(&got);
    return same;
}

static void compare(const unit *u, size_t k, const aot_unit *log, const char *text, size_t n,
                    json_t *graph, json_t *variant)
{
    aot_config config;
    aot_sb label = {0};
    aot_err err = {0};
    aot_config_init(&config);
    if (json_object_get(variant, "saved") == NULL || !apply(variant, &config, &label)) {
        aot_sb_free(&label); // PyTorch itself could not, or the setting is another's
        return;
    }
    aot_ctx *c = aot_unit_new_ctx(log);
    aot_graph *joint = NULL;
    aot_partition *p = NULL;
    aot_partition_in in = {0};
    int statics[4096], n_statics = 0;
    json_t *indices = json_object_get(graph, "static_lifetime_input_indices"), *v;
    size_t i;
    json_array_foreach(indices, i, v) {
        if (n_statics < 4096) {
            statics[n_statics++] = (int)json_integer_value(v);
        }
    }
    aot_status s = aot_parse_graph(&joint, c, text, n, 1, &err);
    if (s == AOT_OK) {
        aot_partition_inputs(&in, log, joint);
        in.joint = aot_joint_tensorify(joint);
        in.static_inputs = statics;
        in.n_static_inputs = n_statics;
        s = aot_partition_run(&p, &in, &config, &err);
    }
    if (s != AOT_OK) {
        printf("# %s\n", err.msg);
        result(false, u->name, k, label.d, "is cut");
    } else {
        long number = (long)json_integer_value(json_object_get(variant, "i"));
        result(p->n_forward_outputs ==
                   json_integer_value(json_object_get(graph, "num_fwd_outputs")),
               u->name, k, label.d, "number of forward outputs");
        result(
            same_names(p, p->saved, p->n_saved, json_object_get(variant, "saved")) &&
                same_names(p, p->saved_sym, p->n_saved_sym, json_object_get(variant, "saved_sym")),
            u->name, k, label.d, "saved values");
        result(same_side(u, k, number, "fw", p->forward) &&
                   same_side(u, k, number, "bw", p->backward),
               u->name, k, label.d, "forward and backward text");
        if (number == 0 && json_object_get(graph, "nodes") != NULL) {
            result(same_reasons(p, json_object_get(graph, "nodes")), u->name, k, label.d,
                   "reasons and weights");
        }
    }
    aot_ctx_free(c);
    aot_sb_free(&label);
}

static aot_status on_unit(void *arg, aot_unit *log, aot_err *err)
{
    unit *u = arg;
    const aot_record *r = aot_unit_stage(log, AOT_STAGE_JOINT);
    (void)err;
    if (r != NULL && r->text != NULL) {
        size_t k = u->next++, i;
        json_t *graph = json_array_get(json_object_get(u->oracle, "graphs"), k), *v;
        aot_sb after = {0};
        char path[8192];
        snprintf(path, sizeof path, "%s/%s/%zu.joint_after_passes.txt", u->dir, u->name, k);
        bool passes = read_whole(path, &after) && after.n != 0;
        json_array_foreach(json_object_get(graph, "variants"), i, v) {
            compare(u, k, log, passes ? after.d : r->text, passes ? after.n : r->len, graph, v);
        }
        aot_sb_free(&after);
    }
    aot_unit_free(log);
    return AOT_OK;
}

static void run_unit(const char *dir, const char *name)
{
    char path[8192];
    json_error_t je;
    aot_err err = {0};
    snprintf(path, sizeof path, "%s/%s/oracle.json", dir, name);
    unit u = {.dir = dir, .name = name, .oracle = json_load_file(path, 0, &je)};
    if (u.oracle == NULL) {
        return;
    }
    aot_import_sink sink = {.arg = &u, .on_unit = on_unit};
    snprintf(path, sizeof path, "%s/%s/trace.log.gz", dir, name);
    FILE *f = fopen(path, "rb");
    if (f != NULL) {
        fclose(f);
    } else {
        snprintf(path, sizeof path, "%s/%s/trace.log", dir, name);
    }
    if (aot_import(path, &sink, NULL, &err) != AOT_OK) {
        printf("# %s\n", err.msg);
        result(false, name, 0, "all", "is imported");
    }
    result(u.next == json_array_size(json_object_get(u.oracle, "graphs")), name, u.next, "all",
           "every graph was found");
    json_decref(u.oracle);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
    char dir[2048];
    const char *fixtures = getenv("AOT_FIXTURES");
    struct dirent **names;
    snprintf(dir, sizeof dir, "%s%s", argc > 1 ? argv[1] : fixtures != NULL ? fixtures : "fixtures",
             argc > 1 ? "" : "/oracle");
    int n = scandir(dir, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            run_unit(dir, names[i]->d_name);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
    if (n_tests == 0) {
        printf("not ok 1 - no unit found in %s\n", dir);
        n_tests = n_failed = 1;
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
