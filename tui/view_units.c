/* The units of the input, one a line, and below them what the selected one holds: its stages, each
 * recorded, derived or missing with the reason. Node counts and saved bytes need graphs and
 * partitions; they are found for visible lines while no key is waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/profile.h"
#include "session/derive.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/format.h"

/* What is found out about a unit when there is time. */
typedef struct unit_facts {
    bool known, has_part;
    uint32_t n_nodes, n_saved;
    int64_t saved_bytes;
    double seconds;    /* of the compile, as profile tells them; < 0: not known */
    unsigned version;  /* of the unit, when they were found */
    const char *path;  /* aot_unit_path's, or what is there instead */
    char trouble[512]; /* why there is no partition; "" if there is one or none is expected */
} unit_facts;

enum {
    N_COLUMNS = 8,
    PATH_COLS = 9,
    NODES_COLS = 7,
    BYTES_COLS = 10,
    TIME_COLS = 8,
    NOTE_COLS = 7,
    EDIT_COLS = 9
};

typedef struct units_view {
    aot_view *v;
    aot_list list;
    unit_facts *facts;
    int title_cols, label_cols, number_cols; /* measured */
    bool any_time, any_note;
    int title_now, time_now; /* in the width of the screen; 0: no such column */
    aot_lines detail;
    size_t detail_of;   /* what the detail lines are about; SIZE_MAX: nothing */
    int detail_cols;
    bool detail_known;
    unsigned detail_version;
} units_view;

static const char *const columns[] = {"order in the input", "nodes", "saved bytes", "function",
                                      "compile time", NULL};

static units_view *state(aot_view *v)
{
    return v->state;
}

static const aot_unit *unit_at(const units_view *uv, size_t i)
{
    return aot_model_unit(aot_app_model(uv->v->app), i);
}

static const char *label(const aot_unit *u, char *buf, size_t size)
{
    return aot_unit_label(&u->key, buf, size);
}

/* ---- facts ---- */

static void find_facts(units_view *uv, size_t i)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_DYNAMO};
    aot_model *m = aot_app_model(uv->v->app);
    unit_facts *f = &uv->facts[i];
    *f = (unit_facts){.known = true, .version = aot_model_version(m, i)};
    const aot_unit *u = aot_model_unit(m, i);
    f->seconds = aot_profile_unit_seconds(u);
    f->path = aot_unit_path(u);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        const aot_graph *g;
        aot_err err = {0};
        if (aot_model_stage(m, i, order[k]).origin == AOT_ORIGIN_MISSING) {
            continue;
        }
        f->path = *f->path ? f->path : aot_stage_get(order[k])->name;
        if (aot_model_graph(m, i, order[k], &g, &err) == AOT_OK) {
            f->n_nodes = (uint32_t)g->nodes.n;
        } else {
            snprintf(f->trouble, sizeof f->trouble, "%s", err.msg);
        }
        if (order[k] == AOT_STAGE_JOINT && f->n_nodes) {
            const aot_partition *p;
            aot_err why = {0};
            if (aot_model_partition(m, i, &p, &why) == AOT_OK) {
                f->has_part = true;
                f->n_saved = p->n_saved + p->n_saved_sym;
                f->saved_bytes = aot_saved_tensor_bytes(p);
            } else {
                snprintf(f->trouble, sizeof f->trouble, "%s", why.msg);
            }
        }
        break;
    }
    f->path = *f->path ? f->path : "no graph";
}

/* Known, and of the edits that are in force now. */
static bool is_known(const units_view *uv, size_t i)
{
    const unit_facts *f = &uv->facts[i];
    return f->known && f->version == aot_model_version(aot_app_model(uv->v->app), i);
}

/* ---- rows ---- */

static int field(aot_canvas *c, int y, int x, int end, int cols, aot_style style, const char *text,
                 bool right)
{
    int room = end - x < cols ? end - x : cols;
    if (room > 0 && right) {
        aot_canvas_field_right(c, y, x, room, style, text);
    } else if (room > 0) {
        aot_canvas_field(c, y, x, room, style, text);
    }
    return x + cols + 2;
}

/* "<lambda> units_corner.py:143" in few columns: "<lambda> units_c…:143", as the line is what tells
 * units of one file apart. */
static void fit_title(aot_sb *out, const char *title, int cols, bool ascii)
{
    const char *line = strrchr(title, ':');
    int tail = line ? aot_text_width(line) : 0;
    if (aot_text_width(title) <= cols || tail == 0 || tail > cols / 2) {
        aot_text_fit(out, title, cols, ascii);
        return;
    }
    aot_sb head = {0};
    aot_sb_add(&head, title, (size_t)(line - title));
    aot_text_fit(out, aot_sb_text(&head), cols - tail - 1, ascii);
    if (aot_text_width(aot_sb_text(&head)) <= cols - tail - 1) {
        aot_sb_addz(out, ascii ? "~" : "…");
    }
    aot_sb_addz(out, line);
    aot_sb_free(&head);
}

static void draw_columns(const units_view *uv, aot_canvas *c, int y, int x, int cols,
                         const char *const text[N_COLUMNS], const aot_style style[N_COLUMNS])
{
    int end = x + cols;
    x = field(c, y, x, end, uv->number_cols, style[0], text[0], true);
    x = field(c, y, x, end, uv->label_cols, style[1], text[1], false);
    x = field(c, y, x, end, uv->title_now, style[2], text[2], false);
    x = field(c, y, x, end, PATH_COLS, style[3], text[3], false);
    x = field(c, y, x, end, NODES_COLS, style[4], text[4], true);
    x = field(c, y, x, end, BYTES_COLS, style[5], text[5], true);
    x = uv->time_now ? field(c, y, x, end, uv->time_now, style[6], text[6], true) : x;
    field(c, y, x, end, end - x, style[7], text[7], false);
}

/* What is unusual about a unit, what the reader did to it first. */
static void add_note(const units_view *uv, size_t row, aot_sb *out)
{
    const aot_unit *u = unit_at(uv, row);
    const unit_facts *f = &uv->facts[row];
    size_t edits = aot_model_n_edits(aot_app_model(uv->v->app), row);
    if (edits) {
        aot_sb_addf(out, "%zu edit%s", edits, edits == 1 ? "" : "s");
    }
    if (*f->trouble) {
        aot_sb_addf(out, "%s%s", out->n ? ", " : "", f->trouble);
        return;
    }
    if (u->cache && f->known) {
        aot_sb_addf(out, "%scache %s", out->n ? ", " : "", u->cache);
    }
    if (u->notes.n && f->known) {
        aot_sb_addf(out, "%s%zu note%s", out->n ? ", " : "", u->notes.n,
                    u->notes.n == 1 ? "" : "s");
    }
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    static const aot_style styles[N_COLUMNS] = {
        AOT_STYLE_DIM,   AOT_STYLE_SOURCE, AOT_STYLE_NAME,  AOT_STYLE_TYPE,
        AOT_STYLE_BYTES, AOT_STYLE_BYTES,  AOT_STYLE_BYTES, AOT_STYLE_REASON};
    const units_view *uv = arg;
    const aot_unit *u = unit_at(uv, row);
    const unit_facts *f = &uv->facts[row];
    char number[16], name[64], nodes[32] = "…", bytes[32] = "…", time[32] = "-";
    aot_sb title = {0}, note = {0};
    snprintf(number, sizeof number, "%zu", row);
    if (f->known) {
        aot_format_count(nodes, sizeof nodes, f->n_nodes);
        aot_format_bytes(bytes, sizeof bytes, f->saved_bytes);
    }
    add_note(uv, row, &note);
    if (f->known && f->seconds >= 0) {
        aot_format_duration(time, sizeof time, f->seconds);
    }
    fit_title(&title, u->title && *u->title ? u->title : "-", uv->title_now, c->ascii);
    const char *text[N_COLUMNS] = {number,
                                   label(u, name, sizeof name),
                                   aot_sb_text(&title),
                                   f->known ? f->path : "",
                                   nodes,
                                   f->known && !f->has_part ? "-" : bytes,
                                   time,
                                   aot_sb_text(&note)};
    draw_columns(uv, c, y, x, cols, text, styles);
    aot_sb_free(&title);
    aot_sb_free(&note);
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    const units_view *uv = arg;
    const aot_unit *u = unit_at(uv, row);
    char name[64];
    aot_sb_addf(out, "%s %s %s %s %s", label(u, name, sizeof name), u->title ? u->title : "",
                aot_base_name(u->input), u->backend ? u->backend : "", u->cache ? u->cache : "");
    if (uv->facts[row].known) {
        aot_sb_addf(out, " %s", uv->facts[row].path);
    }
}

static int compare(void *arg, int column, size_t a, size_t b)
{
    units_view *uv = arg;
    const aot_unit *ua = unit_at(uv, a), *ub = unit_at(uv, b);
    if (column == 3) { // lines as numbers
        return strverscmp(ua->title ? ua->title : "", ub->title ? ub->title : "");
    }
    if (!is_known(uv, a)) {
        find_facts(uv, a);
    }
    if (!is_known(uv, b)) {
        find_facts(uv, b);
    }
    const unit_facts *fa = &uv->facts[a], *fb = &uv->facts[b];
    if (column == 4) {
        return (fa->seconds < fb->seconds) - (fa->seconds > fb->seconds);
    }
    int64_t x = column == 1 ? fb->n_nodes : fb->saved_bytes;
    int64_t y = column == 1 ? fa->n_nodes : fa->saved_bytes;
    return (x > y) - (x < y);
}

static const aot_list_ops list_ops = {
    .draw = draw_row, .text = text_of_row, .columns = columns, .compare = compare};

/* ---- view ---- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    units_view *uv = state(v);
    aot_model *m = aot_app_model(v->app);
    size_t n = aot_model_n_units(m);
    char name[64];
    uv->v = v;
    uv->facts = aot_xcalloc(n + 1, sizeof *uv->facts);
    uv->label_cols = 4;
    uv->title_cols = 8;
    char last[24];
    int digits = snprintf(last, sizeof last, "%zu", n ? n - 1 : 0);
    uv->number_cols = digits < 2 ? 2 : digits;
    uv->detail_of = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const aot_unit *u = aot_model_unit(m, i);
        int w = aot_text_width(label(u, name, sizeof name));
        uv->label_cols = w > uv->label_cols ? w : uv->label_cols;
        w = aot_text_width(u->title ? u->title : "");
        uv->title_cols = w > uv->title_cols ? w : uv->title_cols;
        uv->any_time = uv->any_time || u->seconds >= 0;
        uv->any_note = uv->any_note || u->notes.n > 0 || u->cache;
    }
    aot_list_init(&uv->list, &list_ops, uv);
    uv->list.keep_cursor = true;
    aot_list_reset(&uv->list, n, 0);
    aot_lines_init(&uv->detail, 20);
    return AOT_OK;
}

static void done(aot_view *v)
{
    units_view *uv = state(v);
    aot_list_done(&uv->list);
    aot_lines_done(&uv->detail);
    free(uv->facts);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_model *m = aot_app_model(v->app);
    size_t n = aot_model_n_units(m), notes = aot_model_n_notes(m);
    if (n > 0) {
        const char *input = aot_model_unit(m, 0)->input;
        aot_sb_addf(left, "%s%s · ", aot_base_name(input),
                    strcmp(input, aot_model_unit(m, n - 1)->input) != 0 ? " and others" : "");
    }
    aot_sb_addf(left, "%zu unit%s", n, n == 1 ? "" : "s");
    const aot_list *l = &state(v)->list;
    aot_list_status(l, right);
    if (l->column > 0 || l->descending) {
        aot_sb_addf(right, "%sby %s%s", right->n ? "  " : "", columns[l->column],
                    l->descending ? ", reversed" : "");
    }
    if (notes && right->n == 0) {
        aot_sb_addf(right, "%zu import note%s: !", notes, notes == 1 ? "" : "s");
    }
}

/* Stages that are there, then those that are not, together where the reason is the same. */
static void add_stages(units_view *uv, size_t unit, int cols)
{
    aot_model *m = aot_app_model(uv->v->app);
    aot_lines *l = &uv->detail;
    bool ascii = aot_app_ascii(uv->v->app), told[AOT_N_STAGES] = {false};
    char label[64];
    const char *reasons[AOT_N_STAGES];
    aot_stage_status all[AOT_N_STAGES];
    for (int s = 0; s < AOT_N_STAGES; s++) {
        all[s] = aot_model_stage(m, unit, (aot_stage)s);
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *info = aot_stage_get((aot_stage)s);
        aot_stage_status st = all[s];
        reasons[s] = st.reason && *st.reason ? st.reason : info->how_to_get;
        told[s] = !aot_stage_belongs(all, (aot_stage)s);
        if (st.origin != AOT_ORIGIN_MISSING) {
            bool recorded = st.origin == AOT_ORIGIN_RECORDED;
            told[s] = true;
            const char *sign = recorded ? (ascii ? "*" : "●") : (ascii ? "+" : "○");
            snprintf(label, sizeof label, "%s %s", sign, info->name);
            aot_sb text = {0};
            aot_sb_addf(&text, "%s  %s", recorded ? "recorded" : "derived ", info->sentence);
            aot_lines_pair(l, 0, label, AOT_STYLE_NORMAL, aot_sb_text(&text));
            aot_sb_free(&text);
        }
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        aot_sb text = {0};
        for (int k = s; k < AOT_N_STAGES && !told[s]; k++) {
            if (!told[k] && strcmp(reasons[k], reasons[s]) == 0) {
                aot_sb_addf(&text, "%s%s", text.n ? ", " : "", aot_stage_get((aot_stage)k)->name);
                told[k] = k != s;
            }
        }
        if (!told[s]) {
            aot_sb_addf(&text, ": %s", reasons[s]);
            aot_lines_pair(l, cols, ascii ? "- missing" : "· missing", AOT_STYLE_DIM,
                           aot_sb_text(&text));
        }
        aot_sb_free(&text);
    }
}

/* What a session holds of the unit's checks: those that are the same on one line. */
static void add_checks(units_view *uv, uint32_t row, int cols)
{
    aot_arena *a = aot_arena_new();
    aot_check_result r[AOT_N_STAGES];
    size_t n = aot_model_checks(aot_app_model(uv->v->app), row, r, a);
    aot_sb same = {0};
    for (size_t i = 0; i < n; i++) {
        if (r[i].verdict == AOT_CHECK_SAME) {
            aot_sb_addf(&same, "%s%s", same.n > 0 ? ", " : "", aot_stage_get(r[i].stage)->name);
        }
    }
    if (same.n > 0) {
        aot_lines_pair(&uv->detail, cols, "  derived same", AOT_STYLE_NORMAL, aot_sb_text(&same));
    }
    for (size_t i = 0; i < n; i++) {
        if (r[i].verdict != AOT_CHECK_SAME) {
            const char *why = r[i].reason != NULL ? r[i].reason : r[i].recorded;
            const char *text = aot_arena_printf(a, "%s: %s%s%s", aot_stage_get(r[i].stage)->name,
                                                aot_check_verdict_name(r[i].verdict),
                                                why != NULL ? ", " : "", why != NULL ? why : "");
            aot_lines_pair(&uv->detail, cols, "  check", AOT_STYLE_NOTICE, text);
        }
    }
    aot_sb_free(&same);
    aot_arena_free(a);
}

static void fill_detail(units_view *uv, int cols)
{
    uint32_t row = aot_list_row(&uv->list);
    if (row == AOT_NO_ROW) {
        return;
    }
    const unit_facts *f = &uv->facts[row];
    if (uv->detail_of == row && uv->detail_cols == cols && uv->detail_known == f->known &&
        uv->detail_version == aot_model_version(aot_app_model(uv->v->app), row)) {
        return;
    }
    uv->detail_of = row;
    uv->detail_cols = cols;
    uv->detail_known = f->known;
    uv->detail_version = aot_model_version(aot_app_model(uv->v->app), row);
    const aot_unit *u = unit_at(uv, row);
    aot_lines *l = &uv->detail;
    char buf[64];
    aot_lines_clear(l);
    add_stages(uv, row, cols);
    if (*f->trouble) {
        aot_lines_pair(l, cols, "  trouble", AOT_STYLE_NOTICE, f->trouble);
    }
    add_checks(uv, row, cols);
    if (u->torch_version && *u->torch_version) {
        aot_lines_pair(l, 0, "  written by", AOT_STYLE_NORMAL, u->torch_version);
    }
    if (f->known && f->seconds >= 0) {
        aot_lines_pair(l, 0, "  compile time", AOT_STYLE_NORMAL,
                       aot_format_duration(buf, sizeof buf, f->seconds));
    }
    aot_lines_end(l, 0);
}

static void draw_empty(aot_canvas *c, int y)
{
    static const char *const text[] = {
        "This input holds no compiled graph.",
        "",
        "A log that does: run the program with",
        "    TORCH_TRACE=some_folder python train.py",
        "and open some_folder; or keep the stderr of",
        "    TORCH_LOGS=graph_code,aot_joint_graph,aot_graphs python train.py",
        "",
        "! shows what the import noted, q leaves.",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        aot_canvas_put(c, y + 2 + (int)i, 3, i == 0 ? AOT_STYLE_NOTICE : AOT_STYLE_NORMAL, text[i]);
    }
}

static bool any_edit(const units_view *uv)
{
    size_t i = 0, n = uv->list.n;
    while (i < n && aot_model_n_edits(aot_app_model(uv->v->app), i) == 0) {
        i++;
    }
    return i < n;
}

/* Functions get what the other columns leave; the time is shown where they still fit. */
static void fit_columns(units_view *uv, int cols)
{
    int room =
        cols - 1 - (uv->number_cols + uv->label_cols + PATH_COLS + NODES_COLS + BYTES_COLS + 6 * 2);
    bool edits = any_edit(uv);
    room -= uv->any_note && edits ? NOTE_COLS + EDIT_COLS : uv->any_note || edits ? NOTE_COLS : 0;
    bool time = uv->any_time && (room - TIME_COLS - 2 >= uv->title_cols || cols >= 100);
    uv->time_now = time ? TIME_COLS : 0;
    room -= time ? TIME_COLS + 2 : 0;
    uv->title_now = room < 8 ? 8 : uv->title_cols < room ? uv->title_cols : room;
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    static const char *const heads[N_COLUMNS] = {"#", "unit", "function", "path",
                                                 "nodes", "saved", "time", ""};
    static const aot_style dim[N_COLUMNS] = {AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM,
                                             AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM,
                                             AOT_STYLE_DIM, AOT_STYLE_DIM};
    units_view *uv = state(v);
    if (aot_model_n_units(aot_app_model(v->app)) == 0) {
        draw_empty(c, y);
        return;
    }
    fit_columns(uv, c->cols);
    int low = rows >= 16 ? 14 : 0, n = (int)uv->list.n;
    if (low && rows - low < n + 2) {
        low = rows / 2 > 14 ? 14 : rows / 2;
    }
    draw_columns(uv, c, y, 1, c->cols - 1, heads, dim);
    aot_list_draw(&uv->list, c, y + 1, 0, rows - low - 1, c->cols, true);
    if (aot_list_n_shown(&uv->list) == 0 && uv->list.filtered >= uv->list.n) {
        aot_canvas_put(c, y + 2, 2, AOT_STYLE_NOTICE, "No unit matches the filter; Esc drops it.");
    }
    if (low) {
        fill_detail(uv, c->cols - 2);
        aot_sb sb = {0};
        uint32_t row = aot_list_row(&uv->list);
        aot_canvas_hline(c, y + rows - low, 0, c->cols, AOT_STYLE_BORDER);
        if (row != AOT_NO_ROW) {
            char name[64];
            const aot_unit *u = unit_at(uv, row);
            aot_sb_addf(&sb, " %s %s: Enter opens it ", label(u, name, sizeof name),
                        u->title ? u->title : "");
            aot_canvas_put(c, y + rows - low, 2, AOT_STYLE_BOLD, aot_sb_text(&sb));
            aot_list_draw(&uv->detail.list, c, y + rows - low + 1, 0, low - 1, c->cols, false);
        }
        aot_sb_free(&sb);
    }
}

/* Facts of one visible unit; the selected one first. */
static bool work(aot_view *v)
{
    units_view *uv = state(v);
    bool more = aot_list_work(&uv->list, AOT_SLICE_NS);
    uint32_t now = aot_list_row(&uv->list);
    if (now != AOT_NO_ROW && !is_known(uv, now)) {
        find_facts(uv, now);
        return true;
    }
    size_t n = aot_list_n_shown(&uv->list);
    for (size_t i = uv->list.top; i < n && i < uv->list.top + (size_t)uv->list.height; i++) {
        size_t row = uv->list.mapped ? uv->list.shown.d[i] : i;
        if (!is_known(uv, row)) {
            find_facts(uv, row);
            return true;
        }
    }
    return more;
}

static bool act(aot_view *v, aot_action a)
{
    uint32_t row = aot_list_row(&state(v)->list);
    if (a == AOT_ACT_OPEN && row != AOT_NO_ROW) {
        aot_app_push(v->app, &view_graph_ops, row, AOT_N_STAGES);
        return true;
    }
    return false;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "unit", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "open", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_SORT_PREV, AOT_ACT_SORT_NEXT, "sort", false},
    {AOT_ACT_NOTES, AOT_ACT_NONE, "notes", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "quit", true},
    {AOT_ACT_COMMAND, AOT_ACT_NONE, "command", false},
    {0},
};

const aot_view_ops view_units_ops = {
    .what = "units",
    .state_size = sizeof(units_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .work = work,
    .done = done,
    .hints = hints,
};
