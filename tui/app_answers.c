/* Answers that are sentences or files, by commands: whether the unit fits a device (:fits, as
 * memory --fits) and the stage without what is the user's (:redact, as show --redact); and what a
 * search of a pane found. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/text.h"
#include "tui/app.h"
#include "tui/fits.h"
#include "viewers/format.h"

static int64_t peak_of(const aot_fit_point *p)
{
    return p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
}

static void say_fit(aot_app *app, const aot_fit *f, const char *limit)
{
    char now[32], then[32], flops[32];
    aot_format_bytes(now, sizeof now, peak_of(&f->now));
    if (f->now.fits) {
        aot_app_say(app, "It fits %s: its peak is %s at budget %.3g", limit, now, f->now.budget);
    } else if (f->best < 0) {
        aot_app_say(app, "It does not fit %s at any of %d budgets: its peak is %s at budget %.3g",
                    limit, AOT_FIT_POINTS, now, f->now.budget);
    } else {
        const aot_fit_point *p = &f->points[f->best];
        aot_app_say(app,
                    "It does not fit %s: its peak is %s at budget %.3g; budget %.3g fits, with a "
                    "peak of %s "
                    "and %s of recompute (b turns it)",
                    limit, now, f->now.budget, p->budget,
                    aot_format_bytes(then, sizeof then, peak_of(p)),
                    aot_format_flops(flops, sizeof flops, p->recompute_flops));
    }
}

/* Cuts at many budgets: a large unit takes seconds. */
static void fits_now(aot_app *app, void *arg)
{
    char *limit = arg;
    aot_model *m = aot_app_model(app);
    size_t unit = aot_app_top(app)->unit;
    aot_fit_ask ask = {0};
    aot_err err = {0};
    aot_fit f;
    if (aot_bytes_parse(&ask.limit, limit) &&
        aot_fits_of_model(&f, m, unit, &ask, &err) == AOT_OK) {
        say_fit(app, &f, limit);
        aot_fit_free(&f);
    } else {
        aot_app_fail(app, &err);
    }
    free(limit);
}

bool aot_fits_command(aot_app *app, const char *arg)
{
    size_t unit = aot_app_top(app)->unit;
    int64_t limit;
    if (unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
        return false;
    }
    if (!aot_bytes_parse(&limit, arg)) {
        aot_app_say(app, "'%s' is no size: 24GiB, 500MB or bytes", arg);
        return false;
    }
    if (aot_model_stage(aot_app_model(app), unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_MISSING) {
        aot_app_say(app, "This unit has no joint graph: there is no cut to fit");
        return false;
    }
    aot_app_later(app, "Cutting at every budget ...", fits_now, aot_xstrdup(arg));
    return true;
}

/* The same inputs once more, redacted as they are read: units keep their numbers. */
static aot_status open_redacted(aot_model **out, aot_model *m, aot_err *err)
{
    AOT_VEC(const char *) inputs = {0};
    aot_model_options opt = {.redact = true};
    for (size_t i = 0; i < aot_model_n_files(m); i++) {
        const aot_model_file *f = aot_model_file_at(m, i);
        const char *path = f->session != NULL ? f->session : f->path;
        if (strcmp(path, "-") == 0) {
            aot_vec_free(&inputs);
            return AOT_FAIL(err, AOT_E_USAGE,
                            "standard input was read once: 'show --redact' of the same");
        }
        if (inputs.n == 0 || strcmp(inputs.d[inputs.n - 1], path) != 0) {
            aot_vec_push(&inputs, path);
        }
    }
    aot_status st = aot_model_open(out, inputs.d, inputs.n, &opt, err);
    if (st == AOT_OK && aot_model_n_units(*out) != aot_model_n_units(m)) {
        aot_model_free(*out);
        st = AOT_FAIL(err, AOT_E_IO, "the input has changed since it was opened");
    }
    aot_vec_free(&inputs);
    return st;
}

bool aot_redact_command(aot_app *app, const char *path)
{
    aot_view *v = aot_app_top(app);
    aot_model *m = NULL;
    const aot_graph *g;
    aot_err err = {0};
    if (v->unit == AOT_NO_UNIT || v->stage >= AOT_N_STAGES) {
        aot_app_say(app, "Open a unit first (Enter), then a stage");
        return false;
    }
    // what the screen shows, under its settings and edits; by the names that the whole input gets
    aot_sb text = {0}, redacted = {0};
    aot_status st = aot_model_graph(aot_app_model(app), v->unit, v->stage, &g, &err);
    st = st == AOT_OK ? open_redacted(&m, aot_app_model(app), &err) : st;
    if (st == AOT_OK) {
        aot_print_graph(&text, g, AOT_PRINT_PLAIN);
        st = aot_model_redact_text(&redacted, m, v->stage, aot_sb_text(&text), text.n, &err);
    }
    if (st == AOT_OK) {
        err = (aot_err){0}; // opening names its input in it
        st = aot_file_write(path, aot_sb_text(&redacted), redacted.n, &err);
    }
    aot_sb_free(&text);
    aot_sb_free(&redacted);
    aot_model_free(m);
    if (st == AOT_OK) {
        aot_app_say(app, "%s without source lines, paths and your names is in %s",
                    aot_stage_get(v->stage)->name, path);
    } else {
        aot_app_fail(app, &err);
    }
    return st == AOT_OK;
}

/* Whether a list has a match; its scan is ended for that. */
static bool has_match(aot_list *l)
{
    while (l->n_matches == 0 && aot_list_work(l, AOT_SLICE_NS)) {
    }
    return l->n_matches > 0;
}

void aot_app_searched(aot_app *app, const char *text, const aot_err *err)
{
    aot_view *v = aot_app_top(app);
    aot_list *l = aot_app_list(app);
    const char *name = NULL, *pane = v->ops->pane ? v->ops->pane(v) : NULL;
    aot_list *all = v->ops->main_list ? v->ops->main_list(v, &name) : NULL;
    aot_err ignored = {0};
    if (err->code != AOT_OK) {
        aot_app_fail(app, err);
        return;
    }
    if (!l || !all || l == all || !*text || has_match(l)) {
        return;
    }
    // the pane's title is for what was found: that nothing was is said once
    bool dropped = aot_list_search(l, "", AOT_NO_ROW, &ignored) == AOT_OK;
    uint32_t row = aot_list_row(all);
    if (dropped && aot_list_search(all, text, AOT_NO_ROW, &ignored) == AOT_OK && has_match(all)) {
        uint32_t match = aot_list_row(all);
        aot_list_select(all, row);
        v->ops->focus_main(v);
        aot_list_select(all, match);
        aot_app_say(app, "No match for %s in the pane %s: found in the %s", text, pane, name);
        return;
    }
    if (aot_list_search(all, "", row, &ignored) == AOT_OK) {
        aot_app_say(app, "No match for %s, neither in the pane %s nor in the %s", text, pane, name);
    }
}
