/* The list widget of every view: cursor, paging, search, filter and sort over rows that somebody
 * else owns. A frame costs the visible rows only; scans over all rows run in slices. */
#ifndef AOT_TUI_LISTVIEW_H
#define AOT_TUI_LISTVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "tui/keymap.h"
#include "tui/pattern.h"
#include "viewers/canvas.h"

/* What the owner of the rows tells. arg is the list's own. */
typedef struct aot_list_ops {
    void (*draw)(void *arg, aot_canvas *c, int y, int x, int cols, size_t row);
    /* Appends what search and filter look at. */
    void (*text)(void *arg, size_t row, aot_sb *out);
    /* A head cannot be selected: a search goes to the row under it, a filter keeps it if a row
     * under it is kept. NULL: no heads. */
    bool (*is_head)(void *arg, size_t row);
    /* Whether a row is folded away, and whether any is; NULL: never. */
    bool (*hides)(void *arg, size_t row);
    bool (*hides_any)(void *arg);
    /* Shows a row that is folded away, as a search found it. NULL: a search looks at what is
     * shown. */
    void (*reveal)(void *arg, size_t row);
    /* Whether a row needs no head above it. NULL: none does. */
    bool (*stands_alone)(void *arg, size_t row);
    /* A filter of the owner's own language: takes it over (or refuses it), then says which rows it
     * keeps. NULL: a filter is a pattern over the rows' texts. */
    aot_status (*select)(void *arg, const char *text, aot_err *err);
    bool (*selects)(void *arg, size_t row);
    /* Names of the sort columns; columns[0] is the order of the rows themselves. NULL: not
     * sorted. */
    const char *const *columns;
    int (*compare)(void *arg, int column, size_t a, size_t b);
} aot_list_ops;

enum {
    AOT_NO_ROW = UINT32_MAX,
    AOT_SLICE_NS = 3000000 /* a scan's share of a frame */
};

typedef struct aot_list {
    const aot_list_ops *ops;
    void *arg;
    size_t n;              /* rows of the owner */
    size_t cursor, top;    /* positions among what is shown */
    int height, y, x, cols; /* where it was drawn last */
    int shift;             /* columns scrolled to the right */
    /* What is shown: all rows if !mapped, else those of shown. */
    AOT_VEC(uint32_t) shown;
    bool mapped;
    aot_pattern filter;
    size_t filtered;       /* rows looked at; n when done */
    size_t n_kept;         /* of those, shown ones that are no heads */
    uint32_t head;         /* head seen last and not yet shown */
    bool keep_cursor;      /* mark the cursor's row even without focus */
    uint32_t keep_row;     /* row to hold the cursor on while a filter runs */
    int column;            /* sort column */
    bool descending;
    size_t sort_width, sort_at; /* merge sort: runs of this width are in order; 0: not sorting */
    uint32_t *sorted;      /* where runs are merged to */
    /* Matches among positions, or among rows where some are folded away; scanned from search_from
     * round to it again. */
    aot_pattern search;
    uint64_t *matches;
    size_t search_from, searched, n_matches;
    int pending;           /* +1/-1: a jump that waits for the scan; 0 none */
    bool wrapped;          /* the last jump went round */
    /* of a jump that waits: where it began, places that do not match */
    size_t jump_from, jump_seen;
    aot_sb scratch;
} aot_list;

void aot_list_init(aot_list *l, const aot_list_ops *ops, void *arg);
void aot_list_done(aot_list *l);
/* The rows are others now: n of them; filter and sort are applied again, the cursor goes to row. */
void aot_list_reset(aot_list *l, size_t n, size_t row);

/* Row under the cursor; AOT_NO_ROW if nothing is shown. */
uint32_t aot_list_row(const aot_list *l);
size_t aot_list_n_shown(const aot_list *l);
uint32_t aot_list_row_at(const aot_list *l, size_t pos); /* pos below aot_list_n_shown */
/* Puts the cursor on a row (a head: on the row under it). False if the filter hides it. */
bool aot_list_select(aot_list *l, size_t row);
/* Moving, sorting, next and previous match. False if the action is not the list's. */
bool aot_list_act(aot_list *l, aot_action a);
/* A click at canvas position; true if it hit a row, which is then selected. */
bool aot_list_click(aot_list *l, int y, int x);

/* Sets what is looked for; "" drops it. E_PARSE: what is wrong with the expression.
 * start: row to search from. */
AOT_NODISCARD aot_status aot_list_search(aot_list *l, const char *pattern, size_t start,
                                         aot_err *err);
AOT_NODISCARD aot_status aot_list_filter(aot_list *l, const char *pattern, aot_err *err);
bool aot_list_is_match(const aot_list *l, size_t pos);
/* Appends "match 3/17", "no match", "filter gelu: 12 of 487" ...; nothing if neither is on. */
void aot_list_status(const aot_list *l, aot_sb *out);
/* Works on scans for at most ns nanoseconds; true if something is left to do. */
bool aot_list_work(aot_list *l, uint64_t ns);

/* Draws the visible rows into a field; focused: the cursor is drawn in full. */
void aot_list_draw(aot_list *l, aot_canvas *c, int y, int x, int rows, int cols, bool focused);

uint64_t aot_now_ns(void);

#endif
