/* Edits of a unit. Views that show the unit are told before (they remember what was, to show what
 * flips) and see afterwards by the model's version that what they show is old. */
#include "tui/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/progress.h"
#include "session/kept_edits.h"
#include "viewers/format.h"

static int64_t saved_bytes(aot_app *app, size_t unit, aot_err *err)
{
    const aot_partition *p = NULL;
    return aot_model_partition(aot_app_model(app), unit, &p, err) == AOT_OK
               ? aot_saved_tensor_bytes(p)
               : -1;
}

static void before_edit(aot_app *app, size_t unit)
{
    aot_view *v;
    for (size_t i = 0; (v = aot_app_view(app, i)) != NULL; i++) {
        if (v->ops == &view_graph_ops && v->unit == unit) {
            aot_graph_view_before_edit(v);
        }
    }
}

enum { MAX_NAMED = 3 };

/* " (3 nodes match: gelu, gelu_1, gelu_2)" for a selection, which may mean more than was thought
 * of; nothing for a setting, and for one value by its name. To be asked before the edit. */
static void what_matches(aot_app *app, size_t unit, const char *line, aot_sb *out)
{
    const aot_partition *p = NULL;
    aot_unit_edits one = {0};
    aot_select_on on;
    aot_sb names = {0};
    uint32_t n = 0;
    aot_model *m = aot_app_model(app);
    if (aot_edits_add(&one, line, NULL, 0, NULL) != AOT_OK || one.d[0].kind == AOT_UNIT_EDIT_SET ||
        aot_model_partition(m, unit, &p, NULL) != AOT_OK) {
        aot_edits_free(&one);
        return;
    }
    const aot_select *s = &one.d[0].select;
    aot_arena *a = aot_arena_new();
    aot_select_begin(&on, p->cut, p,
                     s->needs_modules ? aot_unit_modules(aot_model_unit(m, unit), p->cut, p, a)
                                      : NULL);
    for (aot_node_id i = 0; i < p->cut->nodes.n; i++) {
        bool tagged =
            aot_node_at(p->cut, i)->kind == AOT_CALL_FUNCTION && !p->nodes[i].backward_made;
        if (tagged && aot_select_match(s, &on, i)) {
            if (n++ < MAX_NAMED) {
                aot_sb_addf(&names, "%s%s", names.n ? ", " : "", aot_node_name(p->cut, i));
            }
        }
    }
    if (!aot_starts_with(one.d[0].arg, "node:") || strpbrk(one.d[0].arg, "* ") != NULL) {
        aot_sb_addf(out, " (%u node%s match%s: %s%s)", n, n == 1 ? "" : "s", n == 1 ? "es" : "",
                    aot_sb_text(&names), n > MAX_NAMED ? " ..." : "");
    }
    aot_select_end(&on);
    aot_arena_free(a);
    aot_sb_free(&names);
    aot_edits_free(&one);
}

/* "saved 1.20 MiB (+32.0 KiB)", or what is wrong with the unit now. */
static void say_effect(aot_app *app, size_t unit, const char *what, int64_t before)
{
    char all[32], change[40];
    aot_err err = {0};
    int64_t now = saved_bytes(app, unit, &err);
    if (now < 0) {
        aot_app_say(app, "%s: %s; z takes it back", what, err.msg);
    } else if (before < 0) {
        aot_app_say(app, "%s: saved %s", what, aot_format_bytes(all, sizeof all, now));
    } else {
        aot_app_say(app, "%s: saved %s (%s)", what, aot_format_bytes(all, sizeof all, now),
                    aot_format_change(change, sizeof change, now - before));
    }
}

/* Into the session, where there is one; what is not kept is said when aotscope is left. */
static void keep_edits(aot_app *app, size_t unit)
{
    aot_kept_edits_write(aot_app_model(app), unit, NULL);
}

/* What is advice for the command line becomes that for the interface. */
static void refuse(aot_app *app, aot_err *err)
{
    char *advice = strstr(err->msg, "; `aotscope ");
    if (advice) {
        snprintf(advice, sizeof err->msg - (size_t)(advice - err->msg),
                 ", so nothing is changed; f in the list of nodes tries a selection");
    }
    aot_app_fail(app, err);
}

bool aot_edit_quiet(aot_app *app, size_t unit, const char *line)
{
    aot_err err = {0};
    before_edit(app, unit);
    if (aot_model_edit(aot_app_model(app), unit, line, &err) != AOT_OK) {
        refuse(app, &err);
        return false;
    }
    keep_edits(app, unit);
    return true;
}

bool aot_edit(aot_app *app, size_t unit, const char *line)
{
    aot_err none = {0};
    aot_sb what = {0};
    int64_t before = saved_bytes(app, unit, &none);
    aot_sb_addz(&what, line);
    what_matches(app, unit, line, &what);
    bool ok = aot_edit_quiet(app, unit, line);
    if (ok && saved_bytes(app, unit, &none) < 0 && aot_progress_stopped()) {
        aot_model_take_back(aot_app_model(app), unit);
        keep_edits(app, unit);
        aot_app_say(app, "Stopped, so nothing is changed: %s", line);
        ok = false;
    } else if (ok) {
        say_effect(app, unit, aot_sb_text(&what), before);
    }
    aot_sb_free(&what);
    return ok;
}

bool aot_edit_would_lose(aot_app *app)
{
    size_t units, n = aot_kept_edits_lost(aot_app_model(app), &units);
    if (n > 0) {
        aot_app_say(
            app,
            "%zu edit%s of %zu unit%s would be lost: ':export report FILE.policy' writes a unit's "
            "for --policy, a session ('aotscope import -o S.aots') keeps them. Again to leave",
            n, n == 1 ? "" : "s", units, units == 1 ? "" : "s");
    }
    return n > 0;
}

void aot_edit_delta(aot_app *app, size_t unit, aot_sb *out)
{
    char change[64];
    aot_err none = {0};
    aot_model *m = aot_app_model(app);
    if (aot_model_n_edits(m, unit) == 0) {
        return;
    }
    int64_t now = saved_bytes(app, unit, &none),
            plain = now < 0 ? -1 : aot_model_unedited_bytes(m, unit);
    if (plain >= 0 && plain != now) {
        aot_sb_addf(out, " (%s)", aot_format_change(change, sizeof change, now - plain));
    }
}

static void step(aot_app *app, size_t unit, bool back)
{
    aot_model *m = aot_app_model(app);
    aot_err none = {0};
    char what[300];
    size_t n = aot_model_n_edits(m, unit);
    if (back ? n == 0 : aot_model_n_undone(m, unit) == 0) {
        aot_app_say(app, back ? "There is nothing to undo" : "There is nothing to redo");
        return;
    }
    int64_t before = saved_bytes(app, unit, &none);
    snprintf(what, sizeof what, "%s: %s", back ? "undone" : "redone",
             aot_model_edit_at(m, unit, back ? n - 1 : n)->line);
    before_edit(app, unit);
    if (back) {
        aot_model_undo(m, unit);
    } else {
        aot_model_redo(m, unit);
    }
    keep_edits(app, unit);
    say_effect(app, unit, what, before);
}

void aot_edit_undo(aot_app *app, size_t unit)
{
    step(app, unit, true);
}

void aot_edit_redo(aot_app *app, size_t unit)
{
    step(app, unit, false);
}

void aot_edit_go(aot_app *app, size_t unit, size_t n)
{
    aot_model *m = aot_app_model(app);
    aot_err none = {0};
    int64_t before = saved_bytes(app, unit, &none);
    char what[64];
    before_edit(app, unit);
    while (aot_model_n_edits(m, unit) > n && aot_model_undo(m, unit)) {
    }
    while (aot_model_n_edits(m, unit) < n && aot_model_redo(m, unit)) {
    }
    keep_edits(app, unit);
    snprintf(what, sizeof what, "%zu edit%s in force", n, n == 1 ? "" : "s");
    say_effect(app, unit, what, before);
}

/* ---- the budget ---- */

static const char setting[] = "set activation_memory_budget=";

void aot_budget_open(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    aot_config config;
    aot_err err = {0};
    char text[32] = "";
    if (v->unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
    } else if (aot_model_config(aot_app_model(app), v->unit, &config, &err) != AOT_OK) {
        aot_app_fail(app, &err);
    } else {
        aot_budget *b = aot_app_budget(app);
        snprintf(text, sizeof text, "%g", config.activation_memory_budget);
        *b = (aot_budget){.unit = v->unit, .was = config.activation_memory_budget};
        before_edit(app, v->unit);
        prompt_open(aot_app_prompt(app), PROMPT_BUDGET, "");
    }
}

/* Takes back what was typed before. */
static void take_back(aot_app *app, aot_budget *b)
{
    if (b->applied) {
        aot_model_undo(aot_app_model(app), b->unit);
        b->applied = false;
    }
}

static double budget_of(const char *text)
{
    double v;
    return aot_real_read(&v, text, 0, 1) ? v : -1;
}

void aot_budget_follow(aot_app *app, const char *text)
{
    aot_budget *b = aot_app_budget(app);
    aot_err err = {0};
    double v = budget_of(text);
    if (v < 0) {
        return; // not finished
    }
    take_back(app, b);
    char line[96];
    snprintf(line, sizeof line, "%s%s", setting, text);
    if (v != b->was) {
        b->applied = aot_model_edit(aot_app_model(app), b->unit, line, &err) == AOT_OK;
    }
}

void aot_budget_step(aot_app *app, int by)
{
    aot_budget *b = aot_app_budget(app);
    double v = budget_of(aot_sb_text(&aot_app_prompt(app)->text));
    char text[32];
    v = (v < 0 ? b->was : v) + 0.05 * by;
    v = v < 0.001 ? 0 : v > 1 ? 1 : v;
    snprintf(text, sizeof text, "%.2f", v);
    prompt_open(aot_app_prompt(app), PROMPT_BUDGET, text);
    aot_budget_follow(app, text);
}

void aot_budget_end(aot_app *app, bool keep)
{
    aot_budget *b = aot_app_budget(app);
    const char *text = aot_sb_text(&aot_app_prompt(app)->text);
    char what[64];
    if (!keep) {
        take_back(app, b);
        return;
    }
    if (*text && budget_of(text) < 0) {
        aot_app_say(
            app, "A budget is a number from 0 (save inputs only) to 1 (the default cut), not '%s'",
            text);
        take_back(app, b);
        return;
    }
    keep_edits(app, b->unit);
    snprintf(what, sizeof what, "budget %s", *text ? text : "unchanged");
    say_effect(app, b->unit, what, -1);
}
