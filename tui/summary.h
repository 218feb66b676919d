/* The units of an input as a table, for `show --units`, `info` and the summary without a terminal.
 */
#ifndef AOT_TUI_SUMMARY_H
#define AOT_TUI_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

#include "session/model.h"
#include "tui/cmd.h"

/* One row a unit: number, label, function, path, nodes, saved bytes, notes. */
void aot_units_print(FILE *f, aot_model *m, bool csv);
/* The same as a JSON array. */
json_t *aot_units_json(aot_model *m);

/* What `aotscope INPUT` prints where there is no terminal: the units and the commands to use next.
 * a: the command line, for the inputs. Returns an exit code. */
int aot_summary_print(FILE *f, aot_model *m, const aot_args *a);

#endif
