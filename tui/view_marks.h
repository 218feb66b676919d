/* Marks and notes as keys and commands set them. All of them say what they did, or why not. */
#ifndef AOT_TUI_VIEW_MARKS_H
#define AOT_TUI_VIEW_MARKS_H

#include "session/marks.h"
#include "tui/app.h"

void aot_mark_here(aot_app *app, aot_key letter);
void aot_mark_jump(aot_app *app, aot_key letter);
/* The note of the node under the cursor; "-" removes it. */
bool aot_note_here(aot_app *app, const char *text);
const char *aot_note_now(aot_app *app); /* "" if there is none */

#endif
