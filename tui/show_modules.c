/* show --modules: the user's modules as they nest, in the order in which the graph runs through
 * them. */
#include <stdio.h>
#include <stdlib.h>

#include "partition/select.h"
#include "tui/show_filter.h"
#include "viewers/format.h"
#include "viewers/module_folds.h"
#include "viewers/table.h"

static void print_table(const aot_module_folds *f, const aot_filtered *how)
{
    static const char *const titles[] = {"module", "nodes", "saved", "saved bytes"};
    aot_table *t = aot_table_new();
    aot_sb out = {0};
    for (int i = 0; i < 4; i++) {
        aot_table_column(t, titles[i], i > 0 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (size_t i = 0; i < f->folds.n; i++) {
        const aot_module_fold *m = &f->folds.d[i];
        aot_table_row(t);
        aot_table_cellf(t, "%*s%s", how->csv ? 0 : 2 * (int)m->depth, "", m->path);
        aot_table_cellf(t, "%u", m->n_nodes);
        aot_table_cellf(t, "%u", m->n_saved);
        if (how->csv) {
            aot_table_cellf(t, "%lld", (long long)m->saved_bytes);
        } else {
            aot_table_bytes(t, m->saved_bytes);
        }
    }
    aot_table_print(&out, t, (how->csv ? AOT_TABLE_CSV : 0) | (how->head ? 0 : AOT_TABLE_NO_HEAD),
                    0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

static json_t *to_json(const aot_module_folds *f, const aot_graph *g, size_t unit)
{
    json_t *modules = json_array();
    for (size_t i = 0; i < f->folds.n; i++) {
        const aot_module_fold *m = &f->folds.d[i];
        json_array_append_new(
            modules, json_pack("{s:s, s:i, s:s, s:s, s:i, s:i, s:I}", "path", m->path, "depth",
                               (int)m->depth, "first", aot_node_name(g, m->first), "last",
                               aot_node_name(g, m->last), "nodes", (int)m->n_nodes, "saved",
                               (int)m->n_saved, "saved_bytes", (json_int_t)m->saved_bytes));
    }
    return json_pack("{s:i, s:o}", "unit", (int)unit, "modules", modules);
}

aot_status aot_show_modules(aot_model *m, size_t unit, aot_stage stage, const aot_filtered *how,
                            aot_err *err)
{
    const aot_graph *g = NULL;
    const aot_partition *p = NULL;
    AOT_TRY(aot_show_graph(m, unit, stage, false, &g, &p, err));
    aot_arena *a = aot_arena_new();
    aot_module_folds f;
    aot_node_id *cut = aot_view_map(g, p);
    aot_module_folds_find(&f, g, p, cut, aot_unit_modules(aot_model_unit(m, unit), g, p, a));
    free(cut);
    if (how->units != NULL) {
        json_array_append_new(how->units, to_json(&f, g, unit));
    } else {
        if (how->several && !how->csv) {
            printf("# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
        }
        print_table(&f, how);
    }
    aot_module_folds_free(&f);
    aot_arena_free(a);
    return AOT_OK;
}
