/* Marks and notes: what a reader keeps about nodes. Those of a session are in its file; those of a
 * log, and of a session that cannot be written, are in a file of the reader ("the side file"),
 * found again when the same input is opened. */
#ifndef AOT_SESSION_MARKS_H
#define AOT_SESSION_MARKS_H

#include "session/model.h"

typedef struct aot_mark {
    size_t unit;       /* of the model */
    aot_stage stage;
    const char *node;
    char letter;       /* a mark; 0: a note */
    const char *text;  /* of a note; "" for a mark */
    const char *made;  /* "2026-11-30 02:10:11", UTC */
} aot_mark;

typedef struct aot_marks aot_marks;

/* Reads what is kept about a model's units; borrows m. side: path of the side file, NULL: none,
 * what cannot go into a session is then forgotten at the end. A file that is damaged counts as
 * empty: *err says what is wrong with it (the marks are there all the same). */
aot_marks *aot_marks_open(aot_model *m, const char *side, aot_err *err);
void aot_marks_close(aot_marks *k); /* NULL is fine */
/* $XDG_DATA_HOME/aotscope/marks.sqlite, else below ~/.local/share; false if neither is known. */
bool aot_marks_side_path(char *buf, size_t size);

size_t aot_marks_count(aot_marks *k); /* looks up the units of all: cost by their number */
const aot_mark *aot_marks_at(const aot_marks *k,
                             size_t i); /* below the count; borrowed until the next change */
/* The note of a node; NULL. The letter of its mark; 0. Stages do not matter: names mean the
 * same. */
const char *aot_marks_note_of(aot_marks *k, size_t unit, const char *node);
char aot_marks_letter_of(aot_marks *k, size_t unit, const char *node);
const aot_mark *aot_marks_find(aot_marks *k, char letter); /* NULL */

/* Sets a mark: a letter is at one place of all units at a time. */
AOT_NODISCARD aot_status aot_marks_set(aot_marks *k, size_t unit, aot_stage s, const char *node,
                                       char letter, aot_err *err);
/* Writes the note of a node, in place of the one it has; "" removes it. */
AOT_NODISCARD aot_status aot_marks_note(aot_marks *k, size_t unit, aot_stage s, const char *node,
                                        const char *text, aot_err *err);
/* Where the last change went, in words: "in S.aots", "in ~/.../marks.sqlite, as train.log is no
 * session: ...". Both functions above succeed also where nothing can be written: this says so
 * then. */
const char *aot_marks_where(const aot_marks *k);

#endif
