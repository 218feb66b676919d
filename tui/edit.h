/* Edits in the interface: one line of text each (partition/edits.h), from keys and commands alike. Each
 * says what it did to the saved bytes, or why not. */
#ifndef AOT_TUI_EDIT_H
#define AOT_TUI_EDIT_H

#include "tui/app.h"

/* "save op:mm" for a unit. False if it was refused, which was said. */
bool aot_edit(aot_app *app, size_t unit, const char *line);
void aot_edit_undo(aot_app *app, size_t unit);
void aot_edit_redo(aot_app *app, size_t unit);
/* Undoes or redoes until n edits are in force. */
void aot_edit_go(aot_app *app, size_t unit, size_t n);

/* The line at the foot where a budget is typed: it is in force while one types, + and - move it. */
void aot_budget_open(aot_app *app);
void aot_budget_follow(aot_app *app, const char *text);
void aot_budget_step(aot_app *app, int by); /* by 0.05 */
void aot_budget_end(aot_app *app, bool keep);

#endif
