/* The list widget. Positions are places on the screen's list, rows are the owner's numbers;
 * `shown` maps positions to rows when a filter or a sort is on, else they are the same.
 *
 * A frame asks the owner for the visible rows only. Search and filter look at every row once, in
 * slices of a few milliseconds (aot_list_work), so that a key is answered within a frame however
 * long the list is: matches and rows come in while the scan runs. */
#include "tui/listview.h"

#include <string.h>
#include <time.h>

uint64_t aot_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- rows and positions ---- */

void aot_list_init(aot_list *l, const aot_list_ops *ops, void *arg)
{
    *l = (aot_list){.ops = ops, .arg = arg, .height = 1, .keep_row = AOT_NO_ROW};
}

void aot_list_done(aot_list *l)
{
    aot_pattern_drop(&l->filter);
    aot_pattern_drop(&l->search);
    aot_vec_free(&l->shown);
    free(l->matches);
    free(l->sorted);
    aot_sb_free(&l->scratch);
    *l = (aot_list){0};
}

size_t aot_list_n_shown(const aot_list *l)
{
    return l->mapped ? l->shown.n : l->n;
}

static uint32_t row_at(const aot_list *l, size_t pos)
{
    return l->mapped ? l->shown.d[pos] : (uint32_t)pos;
}

uint32_t aot_list_row_at(const aot_list *l, size_t pos)
{
    return row_at(l, pos);
}

static bool is_head(const aot_list *l, size_t row)
{
    return l->ops->is_head && l->ops->is_head(l->arg, row);
}

uint32_t aot_list_row(const aot_list *l)
{
    return l->cursor < aot_list_n_shown(l) ? row_at(l, l->cursor) : AOT_NO_ROW;
}

/* Moves the cursor off a head, first in direction dir, then the other way. */
static void leave_head(aot_list *l, int dir)
{
    size_t n = aot_list_n_shown(l);
    if (n == 0) {
        l->cursor = 0;
        return;
    }
    if (l->cursor >= n) {
        l->cursor = n - 1;
    }
    for (int turn = 0; turn < 2; turn++, dir = -dir) {
        size_t pos = l->cursor;
        while (is_head(l, row_at(l, pos))) {
            if (dir < 0 ? pos == 0 : pos + 1 >= n) {
                break;
            }
            pos = dir < 0 ? pos - 1 : pos + 1;
        }
        if (!is_head(l, row_at(l, pos))) {
            l->cursor = pos;
            return;
        }
    }
}

/* Whether a search goes through rows, folded ones too, in place of positions. */
static bool by_rows(const aot_list *l)
{
    return l->mapped && l->ops->reveal && !l->filter.text && l->column == 0 && !l->descending;
}

/* Places that a search goes through. */
static size_t n_places(const aot_list *l)
{
    return by_rows(l) ? l->n : aot_list_n_shown(l);
}

static size_t place_at(const aot_list *l, size_t pos)
{
    return by_rows(l) && pos < aot_list_n_shown(l) ? row_at(l, pos) : pos;
}

static uint32_t row_of_place(const aot_list *l, size_t place)
{
    return by_rows(l) ? (uint32_t)place : row_at(l, place);
}

static void start_scan(aot_list *l)
{
    size_t n = n_places(l), at = place_at(l, l->cursor);
    free(l->matches);
    l->matches = l->search.text ? aot_xcalloc(n / 64 + 1, sizeof *l->matches) : NULL;
    l->searched = l->n_matches = 0;
    l->jump_from = SIZE_MAX;
    l->search_from = at < n ? at : 0;
}

/* Position of a row in what is shown, n if it is not there: halving where rows stand in their
 * order. */
static size_t position_of(const aot_list *l, size_t row)
{
    size_t n = l->shown.n, low = 0, high = n;
    if (l->column > 0 || l->descending) {
        for (low = 0; low < n && l->shown.d[low] != row; low++) {
        }
        return low;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->shown.d[mid] < row) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < n && l->shown.d[low] == row ? low : n;
}

bool aot_list_select(aot_list *l, size_t row)
{
    size_t n = aot_list_n_shown(l), pos = l->mapped ? position_of(l, row) : row;
    if (pos >= n) {
        return false;
    }
    l->cursor = pos;
    leave_head(l, +1);
    return true;
}

/* ---- filter and sort ---- */

/* Whether row a may stand before row b. */
static bool in_order(const aot_list *l, uint32_t a, uint32_t b)
{
    int c = l->ops->compare(l->arg, l->column, a, b);
    return l->descending ? c > 0 || (c == 0 && a < b) : c < 0 || (c == 0 && a < b);
}

/* Merges the runs [from, mid) and [mid, end) into l->sorted. */
static void merge(aot_list *l, size_t from, size_t mid, size_t end)
{
    const uint32_t *d = l->shown.d;
    size_t i = from, j = mid;
    for (size_t k = from; k < end; k++) {
        bool left = i < mid && (j >= end || in_order(l, d[i], d[j]));
        l->sorted[k] = left ? d[i++] : d[j++];
    }
}

/* Merges one pair of runs; at the end of a pass the runs are twice as wide. */
static void sort_step(aot_list *l)
{
    size_t n = l->shown.n, from = l->sort_at;
    size_t mid = from + l->sort_width < n ? from + l->sort_width : n;
    size_t end = mid + l->sort_width < n ? mid + l->sort_width : n;
    merge(l, from, mid, end);
    l->sort_at = end;
    if (end == n) {
        memcpy(l->shown.d, l->sorted, n * sizeof *l->sorted);
        l->sort_at = 0;
        l->sort_width = l->sort_width * 2 < n ? l->sort_width * 2 : 0;
    }
}

/* When the order stands: the cursor back on its row. */
static void finish_order(aot_list *l)
{
    if (l->keep_row != AOT_NO_ROW && !aot_list_select(l, l->keep_row)) {
        l->cursor = 0;
    }
    l->keep_row = AOT_NO_ROW;
    leave_head(l, +1);
    start_scan(l);
}

/* After the filter has seen all rows: the order. */
static void finish_filter(aot_list *l)
{
    if (l->column > 0 && l->shown.n > 1) {
        free(l->sorted);
        l->sorted = aot_xcalloc(l->shown.n, sizeof *l->sorted);
        l->sort_width = 1;
        l->sort_at = 0;
        return;
    }
    if (l->column == 0 && l->descending) {
        for (size_t i = 0, j = l->shown.n; i + 1 < j; i++) {
            uint32_t t = l->shown.d[i];
            l->shown.d[i] = l->shown.d[--j];
            l->shown.d[j] = t;
        }
    }
    finish_order(l);
}

/* Starts showing rows anew, under filter and order, the cursor on row (AOT_NO_ROW: the first). */
static void remap(aot_list *l, uint32_t row)
{
    l->shown.n = l->n_kept = 0;
    l->head = AOT_NO_ROW;
    l->mapped = l->filter.text != NULL || l->column > 0 || l->descending ||
                (l->ops->hides_any && l->ops->hides_any(l->arg));
    l->keep_row = row;
    l->pending = 0;
    l->filtered = l->sort_width = 0;
    if (!l->mapped) {
        l->filtered = l->n;
        l->keep_row = AOT_NO_ROW;
        l->cursor = row != AOT_NO_ROW && row < l->n ? row : 0;
        leave_head(l, +1);
        start_scan(l);
        return;
    }
    l->cursor = 0;
    start_scan(l);
    aot_list_work(l, AOT_SLICE_NS);
}

void aot_list_reset(aot_list *l, size_t n, size_t row)
{
    l->n = n;
    l->top = 0;
    remap(l, row < n ? (uint32_t)row : AOT_NO_ROW);
}

static void filter_row(aot_list *l, size_t row)
{
    bool ordered = l->column > 0 || l->descending; // heads say nothing there
    if (is_head(l, row)) {
        l->head = (uint32_t)row;
        return;
    }
    if (l->ops->hides && l->ops->hides(l->arg, row)) {
        return;
    }
    if (l->filter.text && l->ops->selects) {
        if (!l->ops->selects(l->arg, row)) {
            return;
        }
    } else if (l->filter.text) {
        aot_sb_clear(&l->scratch);
        l->ops->text(l->arg, row, &l->scratch);
        if (!aot_pattern_hits(&l->filter, aot_sb_text(&l->scratch))) {
            return;
        }
    }
    bool alone = l->ops->stands_alone && l->ops->stands_alone(l->arg, row);
    if (!ordered && !alone && l->head != AOT_NO_ROW) {
        aot_vec_push(&l->shown, l->head);
        l->head = AOT_NO_ROW; // once
    }
    l->n_kept++;
    aot_vec_push(&l->shown, (uint32_t)row);
}

/* ---- search ---- */

static bool matches(const aot_list *l, size_t place)
{
    return l->matches && place < n_places(l) && (l->matches[place / 64] >> (place % 64) & 1);
}

bool aot_list_is_match(const aot_list *l, size_t pos)
{
    return pos < aot_list_n_shown(l) && matches(l, place_at(l, pos));
}

/* Whether the scan has looked at a place. */
static bool was_searched(const aot_list *l, size_t place)
{
    size_t n = n_places(l);
    size_t k = place >= l->search_from ? place - l->search_from : place + n - l->search_from;
    return k < l->searched;
}

/* Puts the cursor on a match; one that is folded away is shown first. */
static void jump(aot_list *l, size_t place)
{
    uint32_t row = row_of_place(l, place);
    bool folded = by_rows(l) && l->ops->stands_alone && l->ops->stands_alone(l->arg, row);
    if (!by_rows(l)) {
        l->cursor = place;
    } else if (folded || !aot_list_select(l, row)) {
        l->ops->reveal(l->arg, row);
        remap(l, row);
    }
}

/* Does a jump that waits, if the scan has come far enough to know where it goes. */
static void try_jump(aot_list *l)
{
    size_t n = n_places(l), from = place_at(l, l->cursor);
    if (!l->pending) {
        return;
    }
    if (l->jump_from != from) {
        l->jump_from = from;
        l->jump_seen = 0;
    }
    for (; l->jump_seen < n; l->jump_seen++) {
        size_t k = l->jump_seen + 1;
        size_t place = (l->pending > 0 ? from + k : from + n - k) % n;
        if (!was_searched(l, place)) {
            return;
        }
        if (matches(l, place)) {
            l->wrapped = l->pending > 0 ? place <= from : place >= from;
            l->pending = 0;
            jump(l, place);
            break;
        }
    }
    l->pending = 0;
}

/* A head that matches counts for the row under it, where the cursor can go. */
static void search_row(aot_list *l)
{
    size_t n = n_places(l), place = l->search_from + l->searched++;
    place = place >= n ? place - n : place;
    aot_sb_clear(&l->scratch);
    l->ops->text(l->arg, row_of_place(l, place), &l->scratch);
    if (!aot_pattern_hits(&l->search, aot_sb_text(&l->scratch))) {
        return;
    }
    place += is_head(l, row_of_place(l, place));
    if (place < n && !matches(l, place)) {
        l->matches[place / 64] |= (uint64_t)1 << (place % 64);
        l->n_matches++;
    }
}

/* Whether a scan is not at its end. */
static bool scans(const aot_list *l)
{
    return l->filtered < l->n || l->sort_width > 0 || (l->matches && l->searched < n_places(l));
}

bool aot_list_work(aot_list *l, uint64_t ns)
{
    uint64_t end = aot_now_ns() + ns;
    for (unsigned k = 0; l->filtered < l->n; k++) {
        if (k % 64 == 63 && aot_now_ns() > end) {
            return true;
        }
        filter_row(l, l->filtered++);
        if (l->filtered == l->n) {
            finish_filter(l);
        }
    }
    for (unsigned k = 0; l->sort_width > 0; k++) {
        if ((k % 64 == 63 || l->sort_width > 256) && aot_now_ns() > end) {
            return true;
        }
        sort_step(l);
        if (l->sort_width == 0) {
            finish_order(l);
        }
    }
    for (unsigned k = 0, n = (unsigned)n_places(l); l->matches && l->searched < n; k++) {
        if (k % 64 == 63 && aot_now_ns() > end) {
            try_jump(l);
            return true;
        }
        search_row(l);
    }
    try_jump(l);
    return scans(l);
}

aot_status aot_list_search(aot_list *l, const char *pattern, size_t start, aot_err *err)
{
    if (*pattern) {
        AOT_TRY(aot_pattern_make(&l->search, pattern, false, err));
    } else {
        aot_pattern_drop(&l->search);
    }
    if (start != AOT_NO_ROW) {
        aot_list_select(l, start);
    }
    l->wrapped = false;
    l->pending = 0;
    start_scan(l);
    if (l->search.text && l->n > 0) {
        // the row itself counts as the first match ahead
        if (aot_list_n_shown(l) > 0 && !is_head(l, row_at(l, l->cursor))) {
            search_row(l);
        }
        l->pending = aot_list_is_match(l, l->cursor) ? 0 : 1;
        aot_list_work(l, AOT_SLICE_NS);
    }
    return AOT_OK;
}

aot_status aot_list_filter(aot_list *l, const char *pattern, aot_err *err)
{
    uint32_t row = aot_list_row(l);
    if (*pattern && strcmp(pattern, "!") != 0 && l->ops->select) {
        AOT_TRY(l->ops->select(l->arg, pattern, err));
        aot_pattern_drop(&l->filter);
        l->filter.text = aot_xstrdup(pattern);
    } else if (*pattern && strcmp(pattern, "!") != 0) {
        AOT_TRY(aot_pattern_make(&l->filter, pattern, true, err));
    } else if (l->filter.text) {
        aot_pattern_drop(&l->filter);
    } else {
        return AOT_OK;
    }
    remap(l, row);
    return AOT_OK;
}

/* Number of the match under the cursor, or of the last one before it. */
static size_t match_number(const aot_list *l)
{
    size_t at = place_at(l, l->cursor), k = 0, word = at / 64, bit = at % 64;
    for (size_t i = 0; i < word; i++) {
        k += (size_t)__builtin_popcountll(l->matches[i]);
    }
    uint64_t low = bit == 63 ? ~(uint64_t)0 : ((uint64_t)1 << (bit + 1)) - 1;
    return k + (size_t)__builtin_popcountll(l->matches[word] & low);
}

void aot_list_status(const aot_list *l, aot_sb *out)
{
    if (l->filter.text) {
        aot_sb_addf(out, "filter %s%s: %zu%s", l->filter.inverse ? "!" : "", l->filter.text,
                    l->n_kept, l->filtered < l->n ? "…" : "");
    }
    if (l->search.text) {
        bool going = l->searched < n_places(l);
        aot_sb_addz(out, out->n ? "  " : "");
        if (l->n_matches == 0) {
            aot_sb_addf(out, going ? "searching %s…" : "no match for %s", l->search.text);
        } else {
            aot_sb_addf(out, "match %zu/%zu%s%s", match_number(l), l->n_matches, going ? "…" : "",
                        l->wrapped ? " (went round)" : "");
        }
    }
}

/* ---- moving ---- */

static void move(aot_list *l, long by)
{
    size_t n = aot_list_n_shown(l);
    if (n == 0) {
        return;
    }
    size_t was = l->cursor;
    long to = (long)l->cursor + by;
    l->cursor = to < 0 ? 0 : to >= (long)n ? n - 1 : (size_t)to;
    leave_head(l, by < 0 ? -1 : +1);
    if (by < 0 && l->cursor > was) {
        l->cursor = was;
    }
}

static void sort_by(aot_list *l, int column)
{
    l->column = column;
    remap(l, aot_list_row(l));
}

static int n_columns(const aot_list *l)
{
    int n = 0;
    while (l->ops->columns && l->ops->columns[n]) {
        n++;
    }
    return n;
}

bool aot_list_act(aot_list *l, aot_action a)
{
    int page = l->height > 1 ? l->height - 1 : 1, columns = n_columns(l);
    switch (a) {
    case AOT_ACT_UP: move(l, -1); return true;
    case AOT_ACT_DOWN: move(l, 1); return true;
    case AOT_ACT_PAGE_UP: move(l, -page); return true;
    case AOT_ACT_PAGE_DOWN: move(l, page); return true;
    case AOT_ACT_HALF_UP: move(l, -(page + 1) / 2); return true;
    case AOT_ACT_HALF_DOWN: move(l, (page + 1) / 2); return true;
    case AOT_ACT_FIRST: move(l, -(long)aot_list_n_shown(l)); return true;
    case AOT_ACT_LAST: move(l, (long)aot_list_n_shown(l)); return true;
    case AOT_ACT_SCROLL_LEFT: l->shift = l->shift > 8 ? l->shift - 8 : 0; return true;
    case AOT_ACT_SCROLL_RIGHT: l->shift += 8; return true;
    case AOT_ACT_SEARCH_NEXT:
    case AOT_ACT_SEARCH_PREV:
        if (l->search.text) {
            l->wrapped = false;
            l->pending = a == AOT_ACT_SEARCH_NEXT ? 1 : -1;
            l->jump_from = SIZE_MAX;
            aot_list_work(l, AOT_SLICE_NS);
        }
        return true;
    case AOT_ACT_SORT_NEXT:
    case AOT_ACT_SORT_PREV:
        if (columns > 1) {
            sort_by(l, (l->column + (a == AOT_ACT_SORT_NEXT ? 1 : columns - 1)) % columns);
        }
        return columns > 1;
    case AOT_ACT_INVERT:
        if (columns > 0) {
            l->descending = !l->descending;
            sort_by(l, l->column);
        }
        return columns > 0;
    default: return false;
    }
}

bool aot_list_click(aot_list *l, int y, int x)
{
    size_t pos = l->top + (size_t)(y - l->y);
    if (y < l->y || y >= l->y + l->height || x < l->x || x >= l->x + l->cols ||
        pos >= aot_list_n_shown(l)) {
        return false;
    }
    l->cursor = pos;
    leave_head(l, +1);
    return true;
}

/* ---- drawing ---- */

/* Keeps the cursor in sight, with the head above it if that is next. */
static void scroll(aot_list *l)
{
    size_t n = aot_list_n_shown(l), h = (size_t)l->height;
    size_t want = l->cursor;
    while (want > 0 && l->cursor - want < 2 && is_head(l, row_at(l, want - 1))) {
        want--;
    }
    if (want < l->top) {
        l->top = want;
    }
    if (l->cursor >= l->top + h) {
        l->top = l->cursor - h + 1;
    }
    if (l->top + h > n) {
        l->top = n > h ? n - h : 0;
    }
}

void aot_list_draw(aot_list *l, aot_canvas *c, int y, int x, int rows, int cols, bool focused)
{
    l->y = y;
    l->x = x;
    l->cols = cols;
    l->height = rows > 0 ? rows : 1;
    size_t n = aot_list_n_shown(l);
    if (rows <= 0 || cols <= 0 || n == 0) {
        return;
    }
    scroll(l);
    for (int i = 0; i < rows && l->top + (size_t)i < n; i++) {
        size_t pos = l->top + (size_t)i;
        bool here = pos == l->cursor && !is_head(l, row_at(l, pos));
        l->ops->draw(l->arg, c, y + i, x + 1, cols - 1, row_at(l, pos));
        if (here && focused) {
            aot_canvas_restyle(c, y + i, x, cols, AOT_STYLE_CURSOR);
        }
        if (aot_list_is_match(l, pos)) {
            aot_canvas_put(c, y + i, x, AOT_STYLE_MATCH, "*");
        }
        if (here && (focused || l->keep_cursor)) {
            aot_canvas_put(c, y + i, x, focused ? AOT_STYLE_CURSOR : AOT_STYLE_BOLD,
                           c->ascii ? ">" : "▸");
        }
    }
}
