/* Commands that step through a replay, a line each, as a debugger takes them. */
#ifndef AOT_TUI_REPLAY_SCRIPT_H
#define AOT_TUI_REPLAY_SCRIPT_H

#include "session/replay_unit.h"

/* What a command shows. */
typedef struct aot_replay_teller {
    void *arg;
    void (*frame)(void *arg, const aot_replay_unit *u, size_t frame);
    void (*note)(void *arg, const char *text); /* one line or more, each with its end */
} aot_replay_teller;

/* Does one command; blank lines and # comments do nothing. *quit: no more are to be done.
 * Errors: E_USAGE (unknown command, wrong argument, no such node), of breaks. */
AOT_NODISCARD aot_status aot_replay_do(aot_replay_unit *u, const char *line,
                                       const aot_replay_teller *t, bool *quit, aot_err *err);

#endif
