/* "# aotscope: ..." lines of plain graph text: facts that logs carry by themselves. */
#ifndef AOT_IMPORT_DIRECTIVES_H
#define AOT_IMPORT_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include "import/unit.h"

/* What follows "# aotscope:" in a line (blanks taken off); NULL if the line is none. */
const char *aot_directive_of(const char *s, size_t n, size_t *len);
/* Applies one to a unit. A directive that is not understood: false, and why says what is wrong. */
bool aot_directive_apply(aot_unit *u, const char *text, char *why, size_t why_size);

#endif
