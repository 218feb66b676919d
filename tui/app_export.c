/* :export of the interface: what is on the screen's unit and stage, as the command `export` writes
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tui/app.h"
#include "tui/export_in.h"

/* Notices in one line each without what is advice for the command line. */
static void add_notices(aot_sb *out, const aot_sb *notes)
{
    for (const char *p = aot_sb_text(notes); *p;) {
        size_t n = strcspn(p, "\n");
        char *line = aot_xstrndup(p, n), *option = strstr(line, " (--");
        if (option) {
            *option = 0;
        }
        if (*line && (option || !strstr(line, "--"))) {
            aot_sb_addf(out, "%s%s", out->n ? "; " : ": ", line);
        }
        free(line);
        p += n + (p[n] == '\n');
    }
}

static void export_to(aot_app *app, const aot_viewer *viewer, const char *path)
{
    aot_view *v = aot_app_top(app);
    aot_model *m = aot_app_model(app);
    char title[512];
    aot_err err = {0};
    aot_draw_in in = {0};
    if (aot_export_in(&in, m, v->unit, viewer, v->stage, &err) != AOT_OK) {
        aot_app_fail(app, &err);
        return;
    }
    in.label = aot_export_title(title, sizeof title, aot_model_unit(m, v->unit));
    aot_draw_options opt = {.time_limit = 10};
    const aot_format *format = aot_format_of_path(path); // known: aot_app_export has looked
    const char *node = v->ops == &view_graph_ops ? aot_graph_view_node(v) : NULL;
    const aot_graph *g = in.graph ? in.graph : in.part->cut;
    if (g->nodes.n > 2000 && node &&
        format->max_nodes > 0) { // the whole would be neither drawn nor read
        opt.around = node;
    }
    aot_sb out = {0}, notes = {0};
    bool fell_back = false;
    if (aot_export(&out, &notes, &fell_back, viewer, &in, format->name, &opt, &err) != AOT_OK) {
        aot_app_fail(app, &err);
    } else if (aot_file_write(path, aot_sb_text(&out), out.n, &err) != AOT_OK) {
        aot_app_fail(app, &err);
    } else {
        aot_sb said = {0};
        add_notices(&said, &notes);
        aot_app_say(app, "%s is written%s%s", path, fell_back ? ", as DOT" : "",
                    aot_sb_text(&said));
        aot_sb_free(&said);
    }
    aot_sb_free(&out);
    aot_sb_free(&notes);
}

typedef struct export_job {
    const aot_viewer *viewer;
    char *path;
} export_job;

static void export_now(aot_app *app, void *arg)
{
    export_job *job = arg;
    aot_app_say(app, "%s", "");
    export_to(app, job->viewer, job->path);
    free(job->path);
    free(job);
}

bool aot_app_export(aot_app *app, const char *arg)
{
    size_t n = strcspn(arg, " ");
    char *what = aot_xstrndup(arg, n);
    const char *path = arg + n + strspn(arg + n, " ");
    const aot_viewer *viewer = aot_viewer_find(what);
    const aot_format *format = aot_format_of_path(path);
    aot_sb words = {0};
    bool ok = viewer && *path;
    if (!ok) {
        aot_viewer_names(&words);
        aot_app_say(app, "Expected: export WHAT FILE, with %s for WHAT", aot_sb_text(&words));
    } else if (aot_app_top(app)->unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
    } else if (aot_app_top(app)->stage >= AOT_N_STAGES) {
        aot_app_say(app, "Open a stage first");
    } else if (!format || !(format->takes & viewer->kind)) {
        aot_format_names(&words, viewer->kind, true);
        aot_app_say(app, "%s: the name should end in %s", path, aot_sb_text(&words));
    } else {
        export_job *job = aot_xcalloc(1, sizeof *job);
        *job = (export_job){viewer, aot_xstrdup(path)};
        aot_app_later(app, "Drawing ...", export_now, job);
    }
    aot_sb_free(&words);
    free(what);
    return ok;
}
