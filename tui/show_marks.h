/* Marks and notes for commands: `show --marks`, and how many there are for `info`. */
#ifndef AOT_TUI_SHOW_MARKS_H
#define AOT_TUI_SHOW_MARKS_H

#include <jansson.h>

#include "session/model.h"

/* Prints all marks and notes of the model's units as a table, or as CSV. */
void aot_marks_print(aot_model *m, bool csv);
json_t *aot_marks_json(aot_model *m); /* a list */

#endif
