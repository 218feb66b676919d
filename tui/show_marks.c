/* What readers marked and noted, as a table, CSV and JSON: the batch form of the view of marks. */
#include "tui/show_marks.h"

#include <stdio.h>

#include "session/marks.h"
#include "tui/cmd.h"
#include "viewers/table.h"

static aot_marks *open_marks(aot_model *m)
{
    char side[4096];
    aot_err err = {0};
    aot_marks *k = aot_marks_open(m, aot_marks_side_path(side, sizeof side) ? side : NULL, &err);
    if (err.code != AOT_OK) {
        aot_cmd_note("aotscope: %s: %s\n", err.file, err.msg);
    }
    return k;
}

void aot_marks_print(aot_model *m, bool csv)
{
    static const char *const titles[] = {"unit", "label", "stage", "node", "mark", "made", "note"};
    aot_marks *k = open_marks(m);
    size_t n = aot_marks_count(k);
    aot_table *t = aot_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], AOT_LEFT, 0);
    }
    for (size_t i = 0; i < n; i++) {
        const aot_mark *mark = aot_marks_at(k, i);
        char label[96], letter[2] = {mark->letter, 0};
        aot_table_row(t);
        aot_table_cellf(t, "%zu", mark->unit);
        aot_table_cell(t, aot_unit_label(&aot_model_unit(m, mark->unit)->key, label, sizeof label));
        aot_table_cell(t, aot_stage_get(mark->stage)->name);
        aot_table_cell(t, mark->node);
        aot_table_cell(t, letter);
        aot_table_cell(t, mark->made);
        aot_table_cell(t, mark->text);
    }
    if (n > 0 || csv) {
        aot_sb out = {0};
        aot_table_print(&out, t, csv ? AOT_TABLE_CSV : 0, 0, 0);
        fputs(aot_sb_text(&out), stdout);
        aot_sb_free(&out);
    } else {
        fputs("nothing is marked; in the interface m marks a node, M notes a sentence about it\n",
              stderr);
    }
    aot_table_free(t);
    aot_marks_close(k);
}

json_t *aot_marks_json(aot_model *m)
{
    json_t *list = json_array();
    aot_marks *k = open_marks(m);
    size_t n = aot_marks_count(k);
    for (size_t i = 0; i < n; i++) {
        const aot_mark *mark = aot_marks_at(k, i);
        char label[96], letter[2] = {mark->letter, 0};
        json_t *j = json_pack(
            "{s:i, s:s, s:s, s:s, s:s}", "unit", (int)mark->unit, "label",
            aot_unit_label(&aot_model_unit(m, mark->unit)->key, label, sizeof label), "stage",
            aot_stage_get(mark->stage)->name, "node", mark->node, "made", mark->made);
        json_object_set_new(j, "mark", mark->letter ? json_string(letter) : json_null());
        json_object_set_new(j, "note", mark->letter ? json_null() : json_string(mark->text));
        json_array_append_new(list, j);
    }
    aot_marks_close(k);
    return list;
}
