/* Commands after ':' - those with an argument are rows of the table at the end, every action is one
 * by its name, and a number goes to that line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tui/app.h"
#include "tui/edit.h"
#include "tui/view_diff.h"
#include "tui/view_groups.h"
#include "tui/view_replay.h"
#include "tui/view_marks.h"
#include "viewers/theme.h"

/* The unit on top; says so if there is none. */
static bool has_unit(aot_app *app)
{
    if (aot_app_top(app)->unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
        return false;
    }
    return true;
}

static bool do_goto(aot_app *app, const char *arg)
{
    if (!has_unit(app)) {
        return false;
    }
    aot_app_goto(app, aot_app_top(app)->unit, aot_app_top(app)->stage, arg);
    return true;
}

static bool do_stage(aot_app *app, const char *arg)
{
    aot_stage s = aot_stage_find(arg);
    if (s == AOT_N_STAGES) {
        aot_app_say(app, "There is no stage '%s': Tab lists them", arg);
        return false;
    }
    if (has_unit(app)) {
        aot_app_goto(app, aot_app_top(app)->unit, s, NULL);
    }
    return true;
}

static bool do_unit(aot_app *app, const char *arg)
{
    int64_t n;
    size_t n_units = aot_model_n_units(aot_app_model(app));
    if (!aot_int_read(&n, arg, 0, (int64_t)n_units - 1)) {
        if (n_units > 1) {
            aot_app_say(app, "Units are numbered 0 to %zu", n_units - 1);
        } else {
            aot_app_say(app, n_units ? "The only unit is number 0" : "There is no unit");
        }
        return false;
    }
    aot_stage s = aot_app_top(app)->stage;
    aot_app_goto(app, n, s, NULL);
    return true;
}

static bool do_search(aot_app *app, const char *arg)
{
    aot_list *l = aot_app_list(app);
    aot_err err = {0};
    aot_status st = l ? aot_list_search(l, arg, aot_list_row(l), &err) : AOT_OK;
    aot_app_searched(app, arg, &err);
    return st == AOT_OK;
}

static bool do_filter(aot_app *app, const char *arg)
{
    aot_list *l = aot_app_list(app);
    aot_err err = {0};
    if (l && aot_list_filter(l, arg, &err) != AOT_OK) {
        aot_app_fail(app, &err);
        return false;
    }
    return true;
}

static bool do_sort(aot_app *app, const char *arg)
{
    aot_list *l = aot_app_list(app);
    for (int i = 0; l && l->ops->columns && l->ops->columns[i]; i++) {
        if (aot_starts_with(l->ops->columns[i], arg)) {
            for (int guard = 0; l->column != i && guard < 16; guard++) {
                aot_list_act(l, AOT_ACT_SORT_NEXT);
            }
            return true;
        }
    }
    aot_app_say(app, "There is no column '%s' here: Tab lists them", arg);
    return false;
}

static bool write_file(aot_app *app, const char *path, const aot_sb *text)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(aot_sb_text(text), 1, text->n, f) == text->n;
    if (f) {
        ok = fclose(f) == 0 && ok;
    }
    if (!ok) {
        aot_app_say(app, "%s: %m", path);
    }
    return ok;
}

static bool do_export_screen(aot_app *app, const char *arg)
{
    int cursor;
    aot_sb text = {0}, title = {0}, right = {0};
    aot_err err = {0};
    aot_view *v = aot_app_top(app);
    v->ops->title(v, &title, &right);
    if (aot_canvas_write(&text, aot_app_draw(app, &cursor), arg, aot_sb_text(&title), &err) !=
        AOT_OK) {
        aot_app_fail(app, &err);
    } else if (write_file(app, arg, &text)) {
        aot_app_say(app, "This screen is in %s", arg);
    }
    aot_sb_free(&text);
    aot_sb_free(&title);
    aot_sb_free(&right);
    return err.code == AOT_OK;
}

static bool do_theme(aot_app *app, const char *arg)
{
    aot_err err = {0};
    if (aot_theme_use(arg, &err) != AOT_OK) {
        aot_app_fail(app, &err);
        return false;
    }
    aot_app_restyle(app);
    aot_app_say(app, "Theme %s: %s", arg, aot_theme_get(aot_theme_now())->sentence);
    return true;
}

static bool do_help(aot_app *app, const char *arg)
{
    if (aot_app_top(app)->ops != &view_help_ops &&
        !aot_app_push(app, &view_help_ops, AOT_NO_UNIT, AOT_N_STAGES)) {
        return false;
    }
    aot_help_view_find(aot_app_top(app), arg);
    return true;
}

/* ---- edits ---- */

static bool do_edit(aot_app *app, const char *word, const char *arg)
{
    aot_sb line = {0};
    aot_sb_addf(&line, "%s %s", word, arg);
    bool ok = has_unit(app) && aot_edit(app, aot_app_top(app)->unit, aot_sb_text(&line));
    aot_sb_free(&line);
    return ok;
}

#define EDIT(id, word, arg, doc) \
    static bool do_edit_##id(aot_app *app, const char *text) { return do_edit(app, word, text); }
#include "partition/edit_kinds.def"
#undef EDIT

/* ---- table, running, completing ---- */

const aot_app_command aot_app_commands[] = {
    {"goto", "NODE", "Select a node of this stage by its name", do_goto, aot_offer_nodes},
    {"stage", "NAME", "Show a stage of this unit", do_stage, aot_offer_stages},
    {"unit", "N", "Show unit N, counted from 0", do_unit, aot_offer_units},
    {"diff", "[UNIT] STAGE", "What changed from that stage to this one", aot_diff_command,
     aot_offer_stages},
    {"search", "RE", "As /", do_search, NULL},
    {"filter", "SELECTION", "As f: terms apart by blanks, ! negates one; a text elsewhere",
     do_filter, aot_offer_selection},
    {"sort", "COLUMN", "Sort the list by a column", do_sort, aot_offer_columns},
    {"export", "WHAT FILE",
     "Write it in the format that the ending names, as the command export does", aot_app_export,
     aot_offer_viewers},
    {"fits", "SIZE", "Whether the unit fits 24GiB, 500MB or bytes, and at which budget it would",
     aot_fits_command, NULL},
    {"redact", "FILE",
     "This stage, as recorded, as text without source lines, paths and your names",
     aot_redact_command, NULL},
    {"export-screen", "FILE", "Save this screen as .txt, .ansi, .html or .svg", do_export_screen,
     NULL},
#define EDIT(id, word, arg, doc) {word, arg, doc, do_edit_##id, aot_offer_edit_##id},
#include "partition/edit_kinds.def"
#undef EDIT
    {"by", "KEY", "Saved bytes in groups: by line, op, region, reason, type or module",
     aot_groups_command, aot_offer_groups},
    {"break", "WHAT",
     "Stop a replay there, too: nan, inf, diff, draws, bytes>8MiB, or a selection of nodes",
     aot_replay_break_command, NULL},
    {"note", "TEXT", "Keep a note about this node, in the session; - removes it", aot_note_here,
     NULL},
    {"theme", "NAME", "Other colours", do_theme, aot_offer_themes},
    {"help", "WORD", "What a key, action, command, setting, stage or letter means", do_help,
     aot_offer_everything},
    {NULL, NULL, NULL, NULL, NULL},
};

const aot_app_command *aot_app_command_find(const char *word)
{
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        if (strcmp(c->name, word) == 0) {
            return c;
        }
    }
    return NULL;
}

/* The command or action that fits a wrong word best. */
static void say_unknown(aot_app *app, const char *word)
{
    const char *best = NULL;
    int least = 4;
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        int rank = prompt_rank(c->name, word);
        if (rank >= 0 && rank < least) {
            least = rank;
            best = c->name;
        }
    }
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        int rank = prompt_rank(aot_action_name((aot_action)a), word);
        if (rank >= 0 && rank < least) {
            least = rank;
            best = aot_action_name((aot_action)a);
        }
    }
    if (best) {
        aot_app_say(app, "There is no command '%s'; '%s'? Tab completes, ? explains", word, best);
    } else {
        aot_app_say(app, "There is no command '%s'; Tab lists them, ? explains", word);
    }
}

static void goto_line(aot_list *l, unsigned long line)
{
    if (l && line > 0) {
        aot_list_act(l, AOT_ACT_FIRST);
        size_t shown = aot_list_n_shown(l);
        aot_list_select(l, l->mapped && line <= shown ? l->shown.d[line - 1]
                           : line <= l->n             ? line - 1
                           : l->n                     ? l->n - 1
                                                      : 0);
    }
}

void aot_app_run_command(aot_app *app, const char *text)
{
    text += strspn(text, " ");
    size_t n = strcspn(text, " ");
    char *word = aot_xstrndup(text, n);
    char *arg = aot_xstrdup(text + n + strspn(text + n, " "));
    for (size_t k = strlen(arg); k > 0 && arg[k - 1] == ' '; k--) {
        arg[k - 1] = 0;
    }
    const aot_app_command *c = aot_app_command_find(word);
    aot_action a = aot_action_find(word);
    int64_t line;
    if (aot_int_read(&line, word, 0, INT64_MAX)) {
        goto_line(aot_app_list(app), (unsigned long)line);
    } else if (c && *arg) {
        c->run(app, arg);
    } else if (a != AOT_ACT_NONE && !*arg) {
        aot_app_do(app, a);
    } else if (a != AOT_ACT_NONE) {
        aot_app_say(app, "%s takes no argument", word);
    } else if (c) {
        aot_app_say(app, "%s needs an argument: %s", c->name, c->arg);
    } else if (*word) {
        say_unknown(app, word);
    }
    free(word);
    free(arg);
}
