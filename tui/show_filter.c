/* Prints the nodes that a selection means: name, operator, type, bytes, verdict, source line. */
#include "tui/show_filter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "partition/select.h"
#include "viewers/format.h"
#include "viewers/node_tags.h"
#include "viewers/repeats.h"
#include "viewers/table.h"

typedef struct found {
    const aot_graph *g;
    const aot_partition *p; /* NULL: none */
    aot_node_id *cut;       /* as aot_view_map; NULL without a partition */
    AOT_VEC(aot_node_id) ids;
    aot_repeats repeats;    /* of NULL: not folded */
    uint32_t n_hidden;      /* nodes of copies */
    const char *const *modules; /* by node; NULL: not known or not asked for */
} found;

static const aot_node_info *info_of(const found *f, aot_node_id id)
{
    aot_node_id cut = f->cut != NULL ? f->cut[id] : AOT_NO_NODE;
    return cut != AOT_NO_NODE ? &f->p->nodes[cut] : NULL;
}

static const char *verdict_of(const found *f, aot_node_id id)
{
    const aot_node_info *i = info_of(f, id);
    return i != NULL ? aot_verdict_name((aot_verdict)i->verdict) : "";
}

/* Whether any of the nodes is tagged: then there is a column. */
static bool any_tag(const found *f)
{
    aot_sb tags = {0};
    for (size_t i = 0; i < f->ids.n && tags.n == 0; i++) {
        aot_node_tags_asked(&tags, f->g, f->ids.d[i], info_of(f, f->ids.d[i]));
    }
    bool any = tags.n > 0;
    aot_sb_free(&tags);
    return any;
}

static json_t *tags_json(const found *f, aot_node_id id)
{
    json_t *tags = json_object();
    char value[64];
    for (int t = 0; t < AOT_N_NODE_TAGS; t++) {
        aot_node_tag_value(value, sizeof value, (aot_node_tag)t, f->g, id, info_of(f, id));
        if (*value) {
            json_object_set_new(tags, aot_node_tag_name((aot_node_tag)t), json_string(value));
        }
    }
    return tags;
}

static int64_t bytes_of(const found *f, aot_node_id id)
{
    const aot_node_info *i = info_of(f, id);
    return i != NULL ? i->bytes : aot_meta_bytes(f->g->ctx, aot_node_at(f->g, id)->meta);
}

/* The repeat that a node begins; NULL: none. */
static const aot_fold *fold_at(const found *f, aot_node_id id)
{
    int32_t k = f->repeats.of != NULL ? f->repeats.of[id] : 0;
    return k > 0 && f->repeats.folds.d[k - 1].first == id ? &f->repeats.folds.d[k - 1] : NULL;
}

static void print_table(const found *f, const aot_filtered *how)
{
    aot_table *t = aot_table_new();
    aot_sb out = {0};
    char op[160], type[200], source[512];
    int64_t sum = 0;
    static const char *const titles[] = {"name", "operator", "type", "bytes", "verdict", "source"};
    bool tagged = any_tag(f);
    for (int i = 0; i < 6; i++) {
        aot_table_column(t, titles[i], i == 3 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    if (tagged) {
        aot_table_column(t, "tags", AOT_LEFT, 0);
    }
    if (f->repeats.of != NULL) {
        aot_table_column(t, "repeats", AOT_LEFT, 0);
    }
    for (size_t i = 0; i < f->ids.n; i++) {
        aot_node_id id = f->ids.d[i];
        aot_table_row(t);
        aot_table_cell(t, aot_node_name(f->g, id));
        aot_table_cell(t, aot_format_op(op, sizeof op, f->g, id));
        aot_table_cell(t,
                       aot_format_type(type, sizeof type, f->g->ctx, aot_node_at(f->g, id)->meta));
        if (how->csv) {
            aot_table_cellf(t, "%lld", (long long)bytes_of(f, id));
        } else {
            aot_table_bytes(t, bytes_of(f, id));
        }
        aot_table_cell(t, verdict_of(f, id));
        aot_table_cell(t, aot_format_source(source, sizeof source, f->g, id));
        if (tagged) {
            aot_sb tags = {0};
            aot_node_tags_asked(&tags, f->g, id, info_of(f, id));
            aot_table_cell(t, aot_sb_text(&tags));
            aot_sb_free(&tags);
        }
        const aot_fold *fold = fold_at(f, id);
        if (fold != NULL) {
            aot_table_cellf(t, "%u nodes x %u", fold->length, fold->times);
        } else if (f->repeats.of != NULL) {
            aot_table_cell(t, "");
        }
        sum = aot_sum(sum, bytes_of(f, id));
    }
    aot_table_print(&out, t, (how->csv ? AOT_TABLE_CSV : 0) | (how->head ? 0 : AOT_TABLE_NO_HEAD),
                    0, 0);
    fputs(aot_sb_text(&out), stdout);
    if (!how->csv) {
        printf("%zu of %zu nodes, %s\n", f->ids.n, f->g->nodes.n,
               aot_format_bytes(op, sizeof op, sum));
    }
    if (!how->csv && f->repeats.of != NULL) {
        printf("%zu repeat%s: %u nodes are folded away\n", f->repeats.folds.n,
               f->repeats.folds.n == 1 ? "" : "s", f->n_hidden);
    }
    aot_sb_free(&out);
    aot_table_free(t);
}

static json_t *to_json(const found *f, size_t unit, const char *filter)
{
    json_t *nodes = json_array();
    char op[160], type[200], source[512];
    for (size_t i = 0; i < f->ids.n; i++) {
        aot_node_id id = f->ids.d[i];
        json_array_append_new(
            nodes,
            json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s?, s:o}", "name",
                      aot_node_name(f->g, id), "op", aot_format_op(op, sizeof op, f->g, id), "type",
                      aot_format_type(type, sizeof type, f->g->ctx, aot_node_at(f->g, id)->meta),
                      "bytes", (json_int_t)bytes_of(f, id), "verdict", verdict_of(f, id), "source",
                      aot_format_source(source, sizeof source, f->g, id), "module",
                      f->modules != NULL ? f->modules[id] : NULL, "tags", tags_json(f, id)));
    }
    json_t *j = json_pack("{s:i, s:s?, s:o}", "unit", (int)unit, "filter", filter, "nodes", nodes);
    json_t *folds = f->repeats.of != NULL ? json_array() : NULL;
    for (size_t i = 0; folds != NULL && i < f->repeats.folds.n; i++) {
        const aot_fold *r = &f->repeats.folds.d[i];
        json_array_append_new(folds, json_pack("{s:s, s:s, s:i, s:i}", "first",
                                               aot_node_name(f->g, r->first), "last",
                                               aot_node_name(f->g, r->last), "nodes",
                                               (int)r->length, "times", (int)r->times));
    }
    if (folds != NULL) {
        json_object_set_new(j, "repeats", folds);
    }
    return j;
}

static void find(found *f, const aot_select *s, bool all)
{
    aot_select_on on;
    aot_select_begin(&on, f->g, f->p, f->modules);
    for (uint32_t i = 0; i < f->g->nodes.n; i++) {
        bool copy = f->repeats.of != NULL && f->repeats.of[i] < 0;
        if (!copy && (all || aot_select_match(s, &on, i))) {
            aot_vec_push(&f->ids, i);
        }
    }
    aot_select_end(&on);
}

aot_status aot_show_graph(aot_model *m, size_t unit, aot_stage stage, bool needs_partition,
                          const aot_graph **g, const aot_partition **p, aot_err *err)
{
    aot_err none = {0};
    aot_status st = aot_model_partition(m, unit, p, &none);
    if (st == AOT_E_USAGE ||
        (st != AOT_OK && needs_partition)) { /* the policy, or terms without an answer */
        *err = none;
        return st;
    }
    if (stage == AOT_N_STAGES && st == AOT_OK) {
        *g = (*p)->cut;
        return st;
    }
    st = aot_model_graph(m, unit, stage != AOT_N_STAGES ? stage : AOT_STAGE_JOINT, g, err);
    bool other = st != AOT_OK && stage == AOT_N_STAGES;
    return other && aot_model_graph(m, unit, AOT_STAGE_INFERENCE, g, NULL) == AOT_OK ? AOT_OK : st;
}

aot_status aot_show_filtered(aot_model *m, size_t unit, aot_stage stage, const aot_filtered *how,
                             aot_err *err)
{
    found f = {0};
    aot_select s = {0};
    if (how->filter != NULL) {
        AOT_TRY(aot_select_parse(&s, how->filter, err));
    }
    aot_arena *a = aot_arena_new();
    aot_status st = aot_show_graph(m, unit, stage, s.needs_partition, &f.g, &f.p, err);
    if (st == AOT_OK) {
        f.cut = aot_view_map(f.g, f.p);
        if (how->fold) {
            f.n_hidden =
                aot_repeats_find(&f.repeats, f.g, f.p != NULL && f.g == f.p->cut ? f.p : NULL);
        }
        if (s.needs_modules || how->units != NULL) {
            f.modules = aot_unit_modules(aot_model_unit(m, unit), f.g, f.p, a);
        }
        find(&f, &s, how->filter == NULL);
        if (f.ids.n == 0 && how->filter != NULL) {
            st = AOT_FAIL(err, AOT_E_RANGE, "--filter '%.160s' matches no node of the %zu",
                          how->filter, f.g->nodes.n);
        }
    }
    if (st == AOT_OK && how->units != NULL) {
        json_array_append_new(how->units, to_json(&f, unit, how->filter));
    } else if (st == AOT_OK) {
        if (how->several && !how->csv) {
            printf("# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
        }
        print_table(&f, how);
    }
    free(f.cut);
    aot_vec_free(&f.ids);
    aot_repeats_free(&f.repeats);
    aot_select_free(&s);
    aot_arena_free(a);
    return st;
}
