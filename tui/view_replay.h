/* The view that runs a unit node by node, as the command :break reaches it. */
#ifndef AOT_TUI_VIEW_REPLAY_H
#define AOT_TUI_VIEW_REPLAY_H

#include "tui/app.h"

/* ":break WHAT" in the view of a replay; false: it is not shown, or WHAT is none, and that was
 * said. */
bool aot_replay_break_command(aot_app *app, const char *arg);

#endif
