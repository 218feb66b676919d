/* Saved bytes in groups: by source line, operator, region, reason, type or module, the largest
 * first. The same as `aotscope show --saved --by KEY`. Enter opens a group; on one of its values it
 * goes to the node. */
#include "tui/view_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/lines.h"
#include "partition/select.h"
#include "tui/saved_by.h"
#include "viewers/format.h"

typedef struct groups_view {
    aot_lines lines;
    char key[16];
    char *open;             /* group whose values are shown; NULL: none */
    AOT_VEC(char *) groups; /* their keys, in order: link i of a line is group i */
    AOT_VEC(char *) values; /* names of the open group's: link GROUPS + i */
    unsigned version; /* of the unit, when the lines were made */
    bool made;
} groups_view;

enum { GROUPS = 1 << 24 };

static groups_view *state(aot_view *v)
{
    return v->state;
}

static void drop_texts(groups_view *s)
{
    while (s->groups.n > 0) {
        free(s->groups.d[--s->groups.n]);
    }
    while (s->values.n > 0) {
        free(s->values.d[--s->values.n]);
    }
}

static void add_group(groups_view *s, const aot_saved_group *g)
{
    aot_lines *l = &s->lines;
    char all[32], own[32];
    aot_sb text = {0};
    aot_format_bytes(all, sizeof all, g->bytes);
    aot_format_bytes(own, sizeof own, g->fresh);
    aot_sb_addf(&text, "%10s  %10s  %6u  %s%s%s", all, own, g->n, g->key, *g->detail ? "   " : "",
                g->detail);
    aot_lines_link(l, (uint32_t)s->groups.n, NULL, AOT_STYLE_NORMAL, aot_sb_text(&text));
    aot_vec_push(&s->groups, aot_xstrdup(g->key));
    aot_sb_free(&text);
}

static void add_values(groups_view *s, const aot_partition *p, const aot_saved_row *rows, size_t n,
                       const char *const *modules, aot_arena *a)
{
    char bytes[32], own[32];
    for (size_t i = 0; i < n; i++) {
        if (strcmp(aot_saved_group_of(p, &rows[i], s->key, modules, a), s->open) == 0) {
            aot_format_bytes(bytes, sizeof bytes, rows[i].bytes);
            aot_format_bytes(own, sizeof own, rows[i].own_bytes);
            const char *line = aot_arena_printf(a, "%10s  %10s  %6s    %s  %s", bytes, own, "",
                                                rows[i].name, rows[i].type);
            aot_lines_link(&s->lines, GROUPS + (uint32_t)s->values.n, NULL, AOT_STYLE_NAME, line);
            aot_vec_push(&s->values, aot_xstrdup(rows[i].name));
        }
    }
}

static void fill(aot_view *v)
{
    groups_view *s = state(v);
    aot_model *m = aot_app_model(v->app);
    const aot_partition *p = NULL;
    aot_err err = {0};
    s->version = aot_model_version(m, v->unit);
    s->made = true;
    aot_lines_clear(&s->lines);
    drop_texts(s);
    size_t row = 0;
    if (aot_model_partition(m, v->unit, &p, &err) == AOT_OK) {
        aot_arena *a = aot_arena_new();
        aot_saved_row *rows = NULL;
        aot_saved_group *groups = NULL;
        size_t n = aot_saved_rows(&rows, p, a);
        const char *const *modules = aot_unit_modules(aot_model_unit(m, v->unit), p->cut, p, a);
        int n_groups = aot_saved_groups(&groups, p, rows, n, s->key, modules, false, a);
        for (int i = 0; i < n_groups; i++) {
            bool open = s->open != NULL && strcmp(s->open, groups[i].key) == 0;
            row = open ? s->lines.rows.n : row;
            add_group(s, &groups[i]);
            if (open) {
                add_values(s, p, rows, n, modules, a);
            }
        }
        aot_arena_free(a);
    } else {
        aot_lines_add(&s->lines, AOT_STYLE_NOTICE, err.msg);
    }
    aot_lines_end(&s->lines, row);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines_init(&state(v)->lines, 0);
    snprintf(state(v)->key, sizeof state(v)->key, "%s", aot_saved_key(0));
    return AOT_OK;
}

static void done(aot_view *v)
{
    groups_view *s = state(v);
    aot_lines_done(&s->lines);
    drop_texts(s);
    aot_vec_free(&s->groups);
    aot_vec_free(&s->values);
    free(s->open);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addf(left, "unit %zu · saved by %s · %zu groups", v->unit, state(v)->key,
                state(v)->groups.n);
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    groups_view *s = state(v);
    if (!s->made || s->version != aot_model_version(aot_app_model(v->app), v->unit)) {
        fill(v);
    }
    aot_canvas_putf(c, y, 1, AOT_STYLE_DIM, "%10s  %10s  %6s  by %s", "saved", "of its own",
                    "values", s->key);
    aot_list_draw(&s->lines.list, c, y + 1, 0, rows - 1, c->cols, true);
}

static bool act(aot_view *v, aot_action a)
{
    groups_view *s = state(v);
    if (a != AOT_ACT_OPEN) {
        return false;
    }
    uint32_t link = aot_lines_link_at(&s->lines);
    if (link == AOT_NO_LINK) {
        return true;
    }
    if (link >= GROUPS) {
        char *name = aot_xstrdup(s->values.d[link - GROUPS]);
        aot_app_goto(v->app, v->unit, AOT_STAGE_JOINT_CSE, name); // frees s
        free(name);
        return true;
    }
    const char *group = s->groups.d[link];
    char *open = s->open != NULL && strcmp(s->open, group) == 0 ? NULL : aot_xstrdup(group);
    uint32_t at = link;
    free(s->open);
    s->open = open;
    fill(v);
    for (uint32_t i = 0; i < s->lines.rows.n; i++) { // closed: the cursor stays on the group
        if (s->lines.rows.d[i].link == at) {
            aot_list_select(&s->lines.list, i);
        }
    }
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

bool aot_groups_command(aot_app *app, const char *arg)
{
    bool known = false;
    for (size_t i = 0; aot_saved_key(i); i++) {
        known |= strcmp(aot_saved_key(i), arg) == 0;
    }
    size_t unit = aot_app_top(app)->unit;
    if (!known || unit == AOT_NO_UNIT) {
        aot_app_say(app,
                    known ? "Open a unit first (Enter)"
                          : "Nothing is grouped by '%s': Tab lists what is",
                    arg);
        return false;
    }
    if (aot_app_top(app)->ops != &view_groups_ops &&
        !aot_app_push(app, &view_groups_ops, unit, aot_app_top(app)->stage)) {
        return false;
    }
    groups_view *s = state(aot_app_top(app));
    snprintf(s->key, sizeof s->key, "%s", arg);
    s->made = false;
    free(s->open);
    s->open = NULL;
    return true;
}

void aot_offer_groups(aot_app *app, const char *arg, prompt_words *words)
{
    (void)app;
    (void)arg;
    for (size_t i = 0; aot_saved_key(i); i++) {
        prompt_add_word(words, aot_saved_key(i), "");
    }
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "group", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "its values, then the node", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_groups_ops = {
    .what = "groups",
    .state_size = sizeof(groups_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
