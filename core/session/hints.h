/* Values of symbolic sizes: set by the reader where the input tells none, assumed where nobody
 * does. */
#ifndef AOT_SESSION_HINTS_H
#define AOT_SESSION_HINTS_H

#include "import/unit.h"
#include "ir/graph.h"

/* Takes the values of the setting hint ("s77=6,s35=10") for the unit's symbols, in place of those
 * that an earlier call took; "" goes back to what the input tells. Contexts made from then on have
 * them.
 * Errors: E_USAGE (nothing is changed). u NULL: only the check. */
AOT_NODISCARD aot_status aot_hints_take(aot_unit *u, const char *text, aot_err *err);

/* Name i of such a text, of *n bytes and not ended; NULL behind the last, or where the text is
 * malformed. */
const char *aot_hints_name(const char *text, size_t i, size_t *n);
/* Whether the input tells of a symbol of that name in the unit, or a graph of the unit has it. */
bool aot_hints_knows(const aot_unit *u, const char *name, size_t n);
/* Appends the unit's symbols that are sizes of inputs: "s77, s27". */
void aot_hints_list(aot_sb *out, const aot_unit *u);

/* "assumed: s77 = 4096 (the log states no hint); --hint s77=6 sets it" of the sizes of all graphs
 * in the context; NULL if every backed symbol in them has a value. Belongs to a. */
const char *aot_assumed_text(const aot_ctx *c, aot_arena *a);

#endif
