/* The terminal. screen.c is the only file that knows curses. */
#ifndef AOT_TUI_SCREEN_H
#define AOT_TUI_SCREEN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/progress.h"
#include "tui/keymap.h"
#include "viewers/canvas.h"

/* Whether screen_open has a chance; sets err if not. */
bool screen_possible(aot_err *err);
/* Takes the terminal over. E_USAGE if there is none that can be drawn on; the message says why. */
AOT_NODISCARD aot_status screen_open(bool mouse, aot_err *err);
void screen_close(void); /* gives it back; may be called twice */
void screen_restyle(void); /* after a change of theme; nothing if no screen is open */
void screen_size(int *rows, int *cols);
/* Shows the canvas; only what changed is sent. cursor_row < 0: no cursor. */
void screen_show(const aot_canvas *c, int cursor_row, int cursor_col);
/* Sends everything at the next show. */
void screen_redraw(void);
/* Next key; waits for at most ms milliseconds (-1: for ever). AOT_KEY_NONE: none came.
 * AOT_KEY_RESIZE after a change of size. */
aot_key screen_key(int ms);
/* The last AOT_KEY_MOUSE: wheel -1 up, 1 down, 0 a click. */
typedef struct screen_mouse {
    int row, col, wheel;
    bool twice;
} screen_mouse;
screen_mouse screen_last_mouse(void);
/* From here to screen_close a thread tells in the last row what p is at, whenever the program has
 * computed for a twentieth of a second: between screen_busy(true) and screen_busy(false). Keys that
 * come meanwhile wait for screen_key; Esc asks a step that can be stopped to stop. A signal to end
 * ends the program even then. */
void screen_watch(aot_progress *p);
void screen_busy(bool busy);
enum { AOT_SCREEN_ENDED = 2 }; /* exit code of that */
bool screen_wants_end(void); /* SIGTERM, SIGINT or SIGHUP came */
void screen_suspend(void);   /* stops the job; returns when it is continued */
/* Runs a program on the terminal (argv as execvp takes it); its exit code, -1 if it did not
 * start. */
int screen_run(const char *const *argv);
/* Hands text to the terminal's clipboard (OSC 52). False if this terminal would print it
 * instead. */
bool screen_copy(const char *text);

#endif
