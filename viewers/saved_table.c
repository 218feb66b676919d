/* The saved values as rows: CSV for spreadsheets, Markdown for reviews, JSON. */
#include "session/saved.h"

#include <stdlib.h>
#include <string.h>

#include "viewers/viewer.h"

typedef struct saved_rows {
    aot_arena *arena;
    aot_saved_row *rows;
    size_t n;
} saved_rows;

static saved_rows open_rows(const aot_partition *p)
{
    saved_rows r = {.arena = aot_arena_new()};
    r.n = aot_saved_rows(&r.rows, p, r.arena);
    return r;
}

void aot_table_saved(aot_table *t, const aot_draw_in *in, bool plain)
{
    static const char *const titles[] = {"#",      "Memory", "Own",    "Type",   "Policy", "Name",
                                         "Module", "Target", "Source", "Reason", "Used by"};
    const aot_partition *p = in->part;
    saved_rows r = open_rows(p);
    char source[300];
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 3 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (size_t i = 0; i < r.n; i++) {
        const aot_saved_row *row = &r.rows[i];
        aot_table_row(t);
        aot_table_cellf(t, "%zu", i + 1);
        for (int k = 0; k < 2; k++) {
            if (plain) {
                aot_table_cellf(t, "%lld", (long long)(k ? row->own_bytes : row->bytes));
            } else {
                aot_table_bytes(t, k ? row->own_bytes : row->bytes);
            }
        }
        aot_table_cell(t, row->type);
        aot_table_cell(t, aot_policy_name(p->nodes[row->node].policy));
        aot_table_cell(t, row->name);
        aot_table_cell(t, aot_draw_module(in, row->node));
        aot_table_cell(t, row->op);
        aot_table_cell(t, aot_format_source(source, sizeof source, p->cut, row->node));
        aot_table_cell(t, row->reason);
        aot_table_cell(t, row->used_by);
    }
    aot_arena_free(r.arena);
}

void aot_json_saved(aot_sb *out, const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    saved_rows r = open_rows(p);
    json_t *root = aot_json_head(in, "saved"), *list = json_array();
    for (size_t i = 0; i < r.n; i++) {
        const aot_saved_row *row = &r.rows[i];
        json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:I, s:b}", "name", aot_json_safe(row->name),
                              "type", aot_json_safe(row->type), "op", aot_json_safe(row->op),
                              "bytes", (json_int_t)row->bytes, "own_bytes",
                              (json_int_t)row->own_bytes, "symbol",
                              (int)row->is_symbol);
        json_object_set_new(o, "policy",
                            aot_json_safe(aot_policy_name(p->nodes[row->node].policy)));
        json_object_set_new(o, "module", aot_json_safe(aot_draw_module(in, row->node)));
        json_object_set_new(o, "file", aot_json_safe(row->file));
        json_object_set_new(o, "line", json_integer(row->line));
        json_object_set_new(o, "code", aot_json_safe(row->code));
        json_object_set_new(o, "reason", aot_json_safe(row->reason));
        json_object_set_new(o, "used_by", aot_json_safe(row->used_by));
        json_array_append_new(list, o);
    }
    json_object_set_new(root, "saved", list);
    json_object_set_new(root, "saved_bytes", json_integer(p->saved_bytes));
    json_object_set_new(root, "saved_new_bytes", json_integer(p->saved_new_bytes));
    aot_arena_free(r.arena);
    aot_json_write(out, root, true);
}
