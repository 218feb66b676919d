/* Bar, hints and message around a view. */
#ifndef AOT_TUI_FRAME_H
#define AOT_TUI_FRAME_H

#include "tui/view.h"

/* The key maps of a view: its pane's, its own, then NULL. */
void frame_maps(aot_view *v, const char *maps[3]);
/* Row 0: the view's title. */
void frame_draw_bar(aot_view *v, aot_canvas *c);
/* The last row: keys and what they do, as many as fit. */
void frame_draw_hints(aot_view *v, aot_canvas *c);
/* A sentence in the last row, and in those above it if it is long. */
void frame_draw_message(const char *text, aot_style style, aot_canvas *c);

#endif
