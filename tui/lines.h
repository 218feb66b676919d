/* Lines of styled text with an optional label column and a link: what the node pane, help,
 * settings, notes and text views show through a list. */
#ifndef AOT_TUI_LINES_H
#define AOT_TUI_LINES_H

#include "tui/listview.h"
#include "viewers/canvas.h"

#define AOT_NO_LINK UINT32_MAX

typedef struct aot_line {
    const char *label, *text;
    aot_style label_style, style;
    bool labelled; /* the text starts behind the label column */
    uint32_t link; /* what Enter goes to; AOT_NO_LINK if nothing */
} aot_line;

typedef struct aot_lines {
    AOT_VEC(aot_line) rows;
    aot_arena *arena; /* texts of the lines */
    aot_sb taken;     /* those of aot_lines_take */
    int label_cols;
    aot_list list;
} aot_lines;

void aot_lines_init(aot_lines *l, int label_cols);
void aot_lines_done(aot_lines *l);
/* Drops all lines; call aot_lines_end when the new ones are there. */
void aot_lines_clear(aot_lines *l);
/* Shows the lines; row: where the cursor goes. */
void aot_lines_end(aot_lines *l, size_t row);

void aot_lines_add(aot_lines *l, aot_style style, const char *text);
void aot_lines_addf(aot_lines *l, aot_style style, const char *fmt, ...) AOT_PRINTF(3, 4);
/* A labelled line, its text wrapped at blanks to cols columns (0: not wrapped). */
void aot_lines_pair(aot_lines *l, int cols, const char *label, aot_style style, const char *text);
/* A line that Enter follows; label NULL: the text starts at the left, "": under the other texts. */
void aot_lines_link(aot_lines *l, uint32_t link, const char *label, aot_style style,
                    const char *text);
/* The same without a label, folded to cols columns; what goes on below is indented, and Enter
 * follows it too. */
void aot_lines_link_fold(aot_lines *l, int cols, int indent, uint32_t link, aot_style style,
                         const char *text);
/* One line for each line of a text, which is taken over; comments get their own style. */
void aot_lines_take(aot_lines *l, aot_sb *text);
/* Plain text wrapped to cols. */
void aot_lines_wrap(aot_lines *l, int cols, aot_style style, const char *text);
uint32_t aot_lines_link_at(const aot_lines *l); /* under the cursor */
/* A text alone in a field, as why there is nothing to show. Rows that it took. */
int aot_lines_draw_text(aot_canvas *c, int y, int x, int rows, int cols, aot_style style,
                        const char *text);

#endif
