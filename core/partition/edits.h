/* What a person changes about a unit, as lines of text:
 *
 *     set activation_memory_budget=0.4
 *     save op:mm line:model.py:12
 *     recompute gelu bytes>1M
 *     clear node:relu_3
 *
 * A policy file is such lines; '#' begins a comment, empty lines are passed over. They hold in
 * order: a later line goes over an earlier one. Selections (select.h) are of forward operators of
 * the graph that is cut; what they say of saved, banned ... values is seen under all settings and
 * the lines above. */
#ifndef AOT_PARTITION_EDITS_H
#define AOT_PARTITION_EDITS_H

#include "partition/select.h"

typedef enum aot_unit_edit_kind {
#define EDIT(id, word, arg, doc) AOT_UNIT_EDIT_##id,
#include "partition/edit_kinds.def"
#undef EDIT
    AOT_N_UNIT_EDIT_KINDS
} aot_unit_edit_kind;

typedef struct aot_unit_edit_row {
    const char *word, *arg, *doc;
} aot_unit_edit_row;
const aot_unit_edit_row *aot_unit_edit_kind_get(aot_unit_edit_kind k);

/* What became of a line in the graphs that it was tried on. */
typedef struct aot_edit_fate {
    bool matched, missed;
} aot_edit_fate;

typedef struct aot_unit_edit {
    aot_unit_edit_kind kind;
    char *line;        /* the whole line, blanks around it dropped */
    const char *arg;   /* in line: what stands behind the word */
    aot_select select; /* of all kinds but SET */
    char *file;        /* the policy file that it comes from; NULL */
    uint32_t at;       /* its line there */
    /* NULL: where it matches nothing, that is an error; else it is kept here */
    aot_edit_fate *fate;
} aot_unit_edit;

/* d[0 .. n) are in force, d[n .. n_all) were undone. All zero is an empty list. */
typedef struct aot_unit_edits {
    aot_unit_edit *d;
    size_t n, n_all, cap;
} aot_unit_edits;

/* Appends a line; what was undone is forgotten. file may be NULL.
 * Errors: E_USAGE (file and line where there is a file; no such kind, setting, value or term). */
AOT_NODISCARD aot_status aot_edits_add(aot_unit_edits *e, const char *line, const char *file,
                                       uint32_t at, aot_err *err);
/* Appends the lines of a policy file ("-": standard input). Errors: E_IO, E_USAGE; then none is. */
AOT_NODISCARD aot_status aot_edits_read(aot_unit_edits *e, const char *path, aot_err *err);
/* The same of a text; name stands in errors. */
AOT_NODISCARD aot_status aot_edits_parse(aot_unit_edits *e, const char *text, const char *name,
                                         aot_err *err);
/* Lines of one policy for several units: where one matches nothing it is passed over, which
 * d[i].fate says. */
void aot_edits_may_miss(aot_unit_edits *e);
/* Appends the lines of another list that are in force; from may be NULL. What became of them is not
 * copied. */
AOT_NODISCARD aot_status aot_edits_copy(aot_unit_edits *e, const aot_unit_edits *from,
                                        aot_err *err);
void aot_edits_drop(
    aot_unit_edits *e); /* the last line in force, and all undone ones, as if never added */
bool aot_edits_undo(aot_unit_edits *e); /* false: there is nothing to undo */
bool aot_edits_redo(aot_unit_edits *e);
void aot_edits_free(aot_unit_edits *e); /* all zero is fine */

/* Applies the settings. Errors: none that aot_edits_add has not found. */
AOT_NODISCARD aot_status aot_edits_configure(const aot_unit_edits *e, aot_config *config,
                                             aot_err *err);
/* Whether a line names values or modules. */
bool aot_edits_tag_any(const aot_unit_edits *e);
bool aot_edits_need_modules(const aot_unit_edits *e);
#endif
