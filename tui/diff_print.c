/* Two graphs as text, as a patch shows files. */
#include "tui/diff_print.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/text.h"
#include "viewers/table.h"

enum { CONTEXT = 3 }; /* unchanged nodes around a change */

const char *aot_diff_node_line(aot_sb *b, const aot_graph *g, aot_node_id id)
{
    aot_sb_clear(b);
    if (id != AOT_NO_NODE) {
        aot_print_node(b, g, id);
    }
    return aot_sb_text(b);
}

/* Which edits are printed: changes and what stands around them. */
static uint8_t *near_changes(const aot_compared *c)
{
    uint8_t *near = aot_xcalloc(c->edits.n + 1, 1);
    for (size_t i = 0; i < c->edits.n; i++) {
        if (c->edits.d[i].kind == AOT_EDIT_SAME) {
            continue;
        }
        size_t from = i > CONTEXT ? i - CONTEXT : 0;
        for (size_t k = from; k < c->edits.n && k <= i + CONTEXT; k++) {
            near[k] = 1;
        }
    }
    return near;
}

void aot_diff_print_unified(const aot_compared *c)
{
    uint8_t *near = near_changes(c);
    aot_sb a = {0}, b = {0};
    for (size_t i = 0; i < c->edits.n; i++) {
        const aot_edit *e = &c->edits.d[i];
        if (!near[i]) {
            continue;
        }
        if (i > 0 && !near[i - 1]) {
            puts("  ...");
        }
        const char *x = aot_diff_node_line(&a, c->a, e->a), *y = aot_diff_node_line(&b, c->b, e->b);
        if (e->kind == AOT_EDIT_SAME) {
            printf("   %s\n", x);
        }
        if (e->kind == AOT_EDIT_CHANGED || e->kind == AOT_EDIT_REMOVED) {
            printf(" - %s\n", x);
        }
        if (e->kind == AOT_EDIT_CHANGED || e->kind == AOT_EDIT_ADDED) {
            printf(" + %s\n", y);
        }
    }
    aot_sb_free(&a);
    aot_sb_free(&b);
    free(near);
}

/* Bytes of the next piece of a text, no wider than `width` and not in the middle of a character. */
static size_t piece(const char *text, int width)
{
    size_t n = 0;
    for (int cols = 0; text[n] != '\0' && cols < width; cols++) {
        for (n++; (text[n] & 0xc0) == 0x80; n++) {
        }
    }
    return n;
}

/* One edit: what differs is shown to its end, in as many lines as it takes; what is the same is
 * cut. */
static void side_rows(aot_table *t, const char *left, const char *mark, const char *right,
                      int width)
{
    bool same = mark[0] == ' ', more = true;
    for (bool first = true; first || (more && !same); first = false) {
        size_t l = piece(left, width), r = piece(right, width);
        aot_table_row(t);
        aot_table_cellf(t, "%.*s", (int)l, left);
        aot_table_cell(t, first ? mark : "");
        aot_table_cellf(t, "%.*s", (int)r, right);
        left += l;
        right += r;
        more = *left != '\0' || *right != '\0';
    }
}

void aot_diff_print_sides(const aot_compared *c, int width)
{
    static const char *const marks[] = {" ", "|", "<", ">"};
    uint8_t *near = near_changes(c);
    aot_sb left = {0}, right = {0}, out = {0};
    aot_table *t = aot_table_new();
    aot_table_column(t, "left", AOT_LEFT, width);
    aot_table_column(t, "", AOT_LEFT, 0);
    aot_table_column(t, "right", AOT_LEFT, width);
    for (size_t i = 0; i < c->edits.n; i++) {
        const aot_edit *e = &c->edits.d[i];
        if (near[i]) {
            side_rows(t, aot_diff_node_line(&left, c->a, e->a), marks[e->kind],
                      aot_diff_node_line(&right, c->b, e->b), width);
        }
    }
    aot_table_print(&out, t, AOT_TABLE_NO_HEAD, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_sb_free(&left);
    aot_sb_free(&right);
    aot_table_free(t);
    free(near);
}
