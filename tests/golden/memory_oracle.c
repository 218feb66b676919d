/* Live bytes node by node against what PyTorch's interpreter held, for units with memory.json.
 * One TAP line a unit and setting. */
#include <dirent.h>
#include <jansson.h>

#include "golden/files.h"
#include "import/unit.h"
#include "ir/text.h"
#include "partition/partition.h"
#include "session/derive.h"
#include "session/model.h"
#include "session/walker.h"

static int n_tests, n_failed;

static bool same_number(json_t *want, const char *key, int64_t got, const char *side)
{
    int64_t w = json_integer_value(json_object_get(want, key));
    if (w != got) {
        printf("# %s %s: want %lld got %lld\n", side, key, (long long)w, (long long)got);
    }
    return w == got;
}

static bool same_side(json_t *want, const aot_graph *g, const aot_memory_side *s, const char *side)
{
    bool same = same_number(want, "inputs", s->inputs, side) &&
                same_number(want, "peak", s->peak, side) && same_number(want, "end", s->end, side);
    json_t *live = json_object_get(want, "live"), *v;
    size_t i;
    json_array_foreach(live, i, v) {
        const char *name = json_string_value(json_array_get(v, 0));
        int64_t bytes = json_integer_value(json_array_get(v, 1));
        if (i >= s->live.n || strcmp(aot_node_name(g, s->live.d[i].node), name) != 0 ||
            s->live.d[i].bytes != bytes) {
            printf("# %s after %s: want %lld got %lld\n", side, name, (long long)bytes,
                   i < s->live.n ? (long long)s->live.d[i].bytes : -1);
            return false;
        }
    }
    return same;
}

typedef struct unit {
    const char *name;
    json_t *want;
    size_t next;
} unit;

static bool one_setting(const aot_unit *log, const aot_record *r, json_t *setting)
{
    aot_config c;
    aot_err err = {0};
    aot_graph *joint;
    aot_partition *p;
    aot_partition_in in = {0};
    json_t *budget =
        json_object_get(json_object_get(setting, "config"), "activation_memory_budget");
    aot_ctx *ctx = aot_unit_new_ctx(log);
    aot_unit_recorded_config(&c, log);
    c.activation_memory_budget =
        budget != NULL ? json_number_value(budget) : c.activation_memory_budget;
    aot_status s = aot_parse_graph(&joint, ctx, r->text, r->len, 1, &err);
    if (s == AOT_OK) {
        aot_partition_inputs(&in, log, joint);
        s = aot_partition_run(&p, &in, &c, &err);
    }
    bool same = s == AOT_OK;
    if (same) {
        aot_memory m;
        aot_walker *w = aot_walker_new(log, r, &(aot_memory_options){.hold_saved = true});
        aot_walker_memory(w, &m, p);
        aot_walker_free(w);
        same = same_side(json_object_get(setting, "forward"), p->forward, &m.forward, "forward");
        same &=
            same_side(json_object_get(setting, "backward"), p->backward, &m.backward, "backward");
        aot_memory_free(&m);
    } else {
        printf("# %s\n", err.msg);
    }
    aot_ctx_free(ctx);
    return same;
}

static aot_status on_unit(void *arg, aot_unit *log, aot_err *err)
{
    unit *u = arg;
    const aot_record *r = aot_unit_stage(log, AOT_STAGE_JOINT);
    (void)err;
    if (r != NULL && r->text != NULL) {
        json_t *settings = json_object_get(json_array_get(u->want, u->next++), "settings"), *v;
        size_t i;
        json_array_foreach(settings, i, v) {
            if (json_object_get(v, "error") == NULL) {
                bool ok = one_setting(log, r, v);
                n_failed += !ok;
                printf("%sok %d - %s, setting %zu: live bytes\n", ok ? "" : "not ", ++n_tests,
                       u->name, i);
            }
        }
    }
    aot_unit_free(log);
    return AOT_OK;
}

int main(void)
{
    char dir[2048], path[8192];
    const char *fixtures = getenv("AOT_FIXTURES");
    struct dirent **names;
    snprintf(dir, sizeof dir, "%s/oracle", fixtures != NULL ? fixtures : "fixtures");
    int n = scandir(dir, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        json_error_t je;
        aot_err err = {0};
        snprintf(path, sizeof path, "%s/%s/memory.json", dir, names[i]->d_name);
        unit u = {.name = names[i]->d_name, .want = json_load_file(path, 0, &je)};
        aot_import_sink sink = {.arg = &u, .on_unit = on_unit};
        snprintf(path, sizeof path, "%s/%s/trace.log.gz", dir, names[i]->d_name);
        if (u.want != NULL && aot_import(path, &sink, NULL, &err) != AOT_OK) {
            printf("not ok %d - %s: %s\n", ++n_tests, u.name, err.msg);
            n_failed++;
        }
        json_decref(u.want);
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
    if (n_tests == 0) {
        printf("not ok 1 - no unit with memory.json found\n");
        n_tests = n_failed = 1;
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
