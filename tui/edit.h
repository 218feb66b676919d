/* Edits in the interface: one line of text each (partition/edits.h), from keys and commands alike.
 * Each says what it did to the saved bytes, or why not. */
#ifndef AOT_TUI_EDIT_H
#define AOT_TUI_EDIT_H

#include "tui/app.h"

/* "save op:mm" for a unit. False if it was refused, which was said. */
bool aot_edit(aot_app *app, size_t unit, const char *line);
/* The same without a word of what it did. */
bool aot_edit_quiet(aot_app *app, size_t unit, const char *line);
void aot_edit_undo(aot_app *app, size_t unit);
void aot_edit_redo(aot_app *app, size_t unit);
/* Undoes or redoes until n edits are in force. */
void aot_edit_go(aot_app *app, size_t unit, size_t n);
/* Before leaving: says that edits would be lost, and how to keep them. False if there are none. */
bool aot_edit_would_lose(aot_app *app);
/* "(+32.0 KiB)" against the unit without edits, behind a blank; nothing where it has none, saves
 * the same or that is not known. */
void aot_edit_delta(aot_app *app, size_t unit, aot_sb *out);

/* The line at the foot where a budget is typed: it is in force while one types, + and - move it. */
void aot_budget_open(aot_app *app);
void aot_budget_follow(aot_app *app, const char *text);
void aot_budget_step(aot_app *app, int by); /* by 0.05 */
void aot_budget_end(aot_app *app, bool keep);

#endif
