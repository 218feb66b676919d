/* show --saved: the values that the forward saves for the backward, a line each, in groups, as CSV
 * or JSON. */
#include "tui/show_saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/select.h"
#include "session/saved.h"
#include "tui/open_model.h"
#include "tui/saved_by.h"
#include "viewers/format.h"
#include "viewers/table.h"

static const char *short_source(const aot_saved_row *r, char *buf, size_t size)
{
    const char *slash = strrchr(r->file, '/');
    if (r->file[0] == 0) {
        buf[0] = 0;
    } else {
        snprintf(buf, size, "%s:%u", slash != NULL ? slash + 1 : r->file, r->line);
    }
    return buf;
}

void aot_show_warn_passes(aot_model *m, size_t unit, const aot_partition *p)
{
    if (aot_model_stage(m, unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED) {
        aot_cmd_warn_passes(aot_model_unit(m, unit), unit, p->cut, p->config.backend);
    }
}

static json_t *rows_json(const aot_partition *p, const aot_saved_row *rows, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const aot_saved_row *r = &rows[i];
        json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:b}", "name", r->name,
                              "type", r->type, "dtype", r->dtype, "shape", r->shape, "bytes",
                              (json_int_t)r->bytes, "op", r->op, "reason", r->reason, "used_by",
                              r->used_by, "symbol", (int)r->is_symbol);
        if (r->file[0] != 0) {
            json_object_set_new(j, "file", json_string(r->file));
            json_object_set_new(j, "line", json_integer(r->line));
            json_object_set_new(j, "code", json_string(r->code));
        }
        json_object_set_new(j, "own_bytes", json_integer((json_int_t)r->own_bytes));
        if (r->primal != AOT_NO_NODE) {
            json_object_set_new(j, "alias_of", json_string(aot_node_name(p->cut, r->primal)));
        }
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *saved_json(const aot_partition *p, const aot_saved_row *rows, size_t n, aot_arena *a)
{
    aot_saved_row *states;
    size_t n_states = aot_generator_rows(&states, p, a);
    json_int_t bytes = 0;
    for (size_t i = 0; i < n_states; i++) {
        bytes += states[i].bytes;
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:s}", "saved", rows_json(p, rows, n),
                     "generator_states", rows_json(p, states, n_states), "generator_state_bytes",
                     bytes, "saved_bytes",
                     (json_int_t)p->saved_bytes, "saved_new_bytes", (json_int_t)p->saved_new_bytes,
                     "rung", p->rung);
}

/* Whether a size is known when it runs only; PyTorch weighs it as AOT_HINT_ASSUMED. */
static bool is_unbacked(const aot_graph *g, aot_node_id id)
{
    const aot_meta *m = aot_meta_get(g->ctx, g->nodes.d[id].meta);
    bool assumed = false;
    for (unsigned i = 0; m->val == AOT_VAL_TENSOR && i < m->ndim; i++) {
        assumed |= aot_dim_assumed(g->ctx, &aot_meta_sizes(g->ctx, m)[i]) == AOT_HINT_NONE;
    }
    return assumed;
}

static void print_unbacked(const aot_partition *p, const aot_saved_row *rows, size_t n)
{
    size_t assumed = 0;
    for (size_t i = 0; i < n; i++) {
        assumed += is_unbacked(p->cut, rows[i].node);
    }
    if (assumed > 0) {
        printf("%zu of them with sizes that only a run tells; PyTorch's partitioner takes each as "
               "%d\n",
               assumed, AOT_HINT_ASSUMED);
    }
}

static void print_saved_totals(const aot_partition *p, size_t n, aot_arena *a)
{
    char all[64], fresh[32], states[64];
    aot_saved_row *rows;
    size_t n_states = aot_generator_rows(&rows, p, a);
    size_t n_tensors = n - p->n_saved_sym;
    printf(
        "saved: %zu value%s, %s; without what shares memory with an input or a value before it: %s",
        n_tensors, n_tensors == 1 ? "" : "s", aot_saved_text(p, all, sizeof all),
        aot_format_bytes(fresh, sizeof fresh, p->saved_new_bytes));
    aot_generator_text(rows, n_states, states, sizeof states);
    printf("%s%s  (%s)\n", n_states > 0 ? "; and " : "", states, p->rung);
}

static void print_saved_csv(const aot_unit *u, size_t unit, const char *label,
                            const aot_saved_row *rows, size_t n, bool head)
{
    aot_table *t = aot_table_new();
    static const char *const titles[] = {"unit",  "label",   "function", "position", "name",
                                         "dtype", "shape",   "bytes",    "op",       "file",
                                         "line",  "used_by", "reason",   "own_bytes"};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        aot_table_column(t, titles[i], AOT_LEFT, 0);
    }
    for (size_t i = 0; i < n; i++) {
        const aot_saved_row *r = &rows[i];
        aot_table_row(t);
        aot_table_cellf(t, "%zu", unit);
        aot_table_cell(t, label);
        aot_table_cell(t, u->title);
        aot_table_cellf(t, "%u", r->place);
        aot_table_cell(t, r->name);
        aot_table_cell(t, r->dtype);
        aot_table_cell(t, r->shape);
        aot_table_cellf(t, "%" PRId64, r->bytes);
        aot_table_cell(t, r->op);
        aot_table_cell(t, r->file);
        if (r->line > 0) {
            aot_table_cellf(t, "%u", r->line);
        } else {
            aot_table_cell(t, "");
        }
        aot_table_cell(t, r->used_by);
        aot_table_cell(t, r->reason);
        aot_table_cellf(t, "%" PRId64, r->own_bytes);
    }
    aot_sb out = {0};
    aot_table_print(&out, t, AOT_TABLE_CSV | (head ? 0 : AOT_TABLE_NO_HEAD), 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

static void add_saved_lines(aot_table *t, const aot_saved_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const aot_saved_row *r = &rows[i];
        char source[300];
        aot_table_row(t);
        aot_table_cell(t, r->name);
        aot_table_bytes(t, r->bytes);
        aot_table_cell(t, r->type);
        aot_table_cell(t, r->reason);
        aot_table_cell(t, short_source(r, source, sizeof source));
        aot_table_cell(t, r->used_by);
    }
}

static void print_saved_lines(const aot_partition *p, const aot_saved_row *rows, size_t n,
                              aot_arena *a)
{
    aot_saved_row *states;
    size_t n_states = aot_generator_rows(&states, p, a);
    aot_table *t = aot_table_new();
    static const char *const titles[] = {"name", "bytes", "type", "reason", "source", "used by"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i == 1 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    add_saved_lines(t, rows, n);
    add_saved_lines(t, states, n_states);
    aot_sb out = {0};
    bool any = n + n_states > 0;
    aot_table_print(&out, t, any ? 0 : AOT_TABLE_NO_HEAD, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
    print_saved_totals(p, n, a);
    print_unbacked(p, rows, n);
}

void aot_show_unit_head(aot_model *m, size_t unit)
{
    printf("# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
}

static aot_status show_saved_groups(const aot_unit *u, const aot_partition *p,
                                    const aot_saved_row *rows, size_t n, const char *label,
                                    aot_show_want *w, aot_arena *a, aot_err *err)
{
    aot_saved_group *groups;
    const char *const *modules = aot_unit_modules(u, p->cut, p, a);
    int n_groups = aot_saved_groups(&groups, p, rows, n, w->by, modules, !w->no_fold, a);
    if (n_groups < 0) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "--by takes line, op, region, reason, type or module, not '%s'", w->by);
    }
    if (w->json) {
        json_t *list = aot_saved_groups_json(groups, (size_t)n_groups);
        json_array_append_new(w->units, json_pack("{s:s, s:o}", "label", label, "saved_by", list));
    } else {
        aot_saved_groups_print(groups, (size_t)n_groups, w->csv);
        if (!w->csv) {
            print_saved_totals(p, n, a);
        }
    }
    return AOT_OK;
}

aot_status aot_show_saved(aot_model *m, size_t unit, aot_show_want *w, bool first, aot_err *err)
{
    const aot_partition *p = NULL;
    AOT_TRY(aot_model_partition(m, unit, &p, err));
    aot_show_warn_passes(m, unit, p);
    aot_cmd_warn_assumed_of(m, unit);
    aot_arena *a = aot_arena_new();
    aot_saved_row *rows = NULL;
    size_t n = aot_saved_rows(&rows, p, a);
    char label[96];
    aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label);
    if (w->several && !w->json && !w->csv) {
        aot_show_unit_head(m, unit);
    }
    aot_status s = AOT_OK;
    if (w->sort != NULL && !aot_saved_sort(rows, n, p, w->sort)) {
        s = AOT_FAIL(err, AOT_E_USAGE,
                     "--sort takes bytes, name, line, op, region, uses or reason, not '%s'",
                     w->sort);
    } else if (w->by != NULL) {
        s = show_saved_groups(aot_model_unit(m, unit), p, rows, n, label, w, a, err);
    } else if (w->json) {
        json_t *j = saved_json(p, rows, n, a);
        json_object_set_new(j, "unit", json_integer((json_int_t)unit));
        json_object_set_new(j, "label", json_string(label));
        json_array_append_new(w->units, j);
    } else if (w->csv) {
        print_saved_csv(aot_model_unit(m, unit), unit, label, rows, n, first);
    } else {
        print_saved_lines(p, rows, n, a);
    }
    aot_arena_free(a);
    return s;
}
