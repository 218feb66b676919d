/* The diff view, as commands and other views open it. */
#ifndef AOT_TUI_VIEW_DIFF_H
#define AOT_TUI_VIEW_DIFF_H

#include "tui/view.h"

typedef struct aot_diff_side {
    size_t unit;
    aot_stage stage;
} aot_diff_side;

/* Shows what changed from one stage to another; the right one is where the view stands. In an open
 * diff view on top the left side is replaced. */
void aot_diff_open(aot_app *app, aot_diff_side left, aot_diff_side right);
/* "STAGE", "UNIT" or "UNIT STAGE": the left side for the unit and stage on top. False: no such
 * thing, and that was said. */
bool aot_diff_command(aot_app *app, const char *arg);

#endif
