/* What a program's compiled graphs did when they ran, for `show --calls` and `info`. */
#ifndef AOT_TUI_SHOW_CALLS_H
#define AOT_TUI_SHOW_CALLS_H

#include <jansson.h>

#include "session/calls.h"

/* One line a call, with its random nodes, saved values and memory below it. */
void aot_calls_print(const aot_calls *c);
json_t *aot_calls_json(const aot_calls *c);
/* "12 calls recorded, 2 random values drawn again, 2 with other numbers"; the caller frees it. */
char *aot_calls_line(const aot_calls *c);

#endif
