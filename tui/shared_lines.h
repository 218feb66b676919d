/* Lines that several units share, said once with the units' names. */
#ifndef AOT_TUI_SHARED_LINES_H
#define AOT_TUI_SHARED_LINES_H

#include <jansson.h>

#include "session/model.h"

typedef struct aot_shared_line {
    char *text;
    AOT_VEC(size_t) units;
} aot_shared_line;

typedef AOT_VEC(aot_shared_line) aot_shared_lines;

/* Adds a unit to the line of that text, which is copied. */
void aot_shared_add(aot_shared_lines *v, const char *text, size_t unit);
void aot_shared_free(aot_shared_lines *v);
void aot_shared_print(const aot_model *m, const aot_shared_lines *v);
json_t *aot_shared_json(const aot_shared_lines *v);
/* "3 [0/0]": labels alone may repeat. */
void aot_print_unit_name(const aot_model *m, size_t unit);

#endif
