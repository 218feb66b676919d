/* aotscope export INPUT: a graph, a partition, its flow network or saved values, in the formats of
 * viewers/formats.def. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/path.h"
#include "tui/export_in.h"
#include "tui/open_model.h"
#include "viewers/viewer.h"

static const aot_option options[] = {
    {"what", 'w', "WHAT", false,
     "What is shown (`help formats`); without it the partition, else the graph."},
    {"format", 'f', "FORMAT", false,
     "How it is written (`help formats`); without it by the ending of -o, else svg."},
    {"output", 'o', "FILE", false, "Where to write; without it, or with -, standard output."},
    {"unit", 'u', "N|LABEL", false,
     "The unit, by number or label; without it the first that can be drawn."},
    {"stage", 's', "STAGE", false,
     "The stage of --what graph; without it the joint, else the inference graph."},
    {"around", 0, "NODE", false, "Only what is near this node."},
    {"hops", 0, "K", false, "How many lines away --around goes (3)."},
    {"no-fold", 0, NULL, false,
     "Draw every repeat and every value; no boxes that stand for several."},
    {"max-nodes", 0, "N", false,
     "Boxes at most (400 in pictures, 120 in mermaid); a notice tells what was left out."},
    {"time-limit", 0, "SECONDS", false,
     "Time for laying out (20); after it DOT is written instead."},
    {"color", 0, "SCHEME", false, "light, dark or mono."},
    AOT_OPTIONS_INPUT,
    {0},
};

// A number of at least `least`; the default if the option was not given.
static aot_status number(double *out, const aot_args *a, const char *name, double least, double def,
                         aot_err *err)
{
    const char *text = aot_args_get(a, name);
    *out = def;
    if (text && !aot_real_read(out, text, least, 1e9)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--%s '%s': expected a number from %g", name, text,
                        least);
    }
    return AOT_OK;
}

static aot_status read_options(aot_draw_options *opt, const aot_args *a, aot_err *err)
{
    double hops, max, limit;
    AOT_TRY(number(&hops, a, "hops", 1, 0, err));
    AOT_TRY(number(&max, a, "max-nodes", 1, 0, err));
    AOT_TRY(number(&limit, a, "time-limit", 0.001, 0, err));
    *opt = (aot_draw_options){.around = aot_args_get(a, "around"),
                              .hops = (int)hops,
                              .no_fold = aot_args_has(a, "no-fold"),
                              .max_nodes = (uint32_t)max,
                              .time_limit = limit,
                              .color = aot_args_get(a, "color")};
    if (opt->hops && !opt->around) {
        return AOT_FAIL(err, AOT_E_USAGE, "--hops needs --around NODE");
    }
    return AOT_OK;
}

// --format, else the ending of -o. An ending that names no format would promise what the
// file is not.
static aot_status find_format(const aot_format **out, const aot_args *a, aot_err *err)
{
    const char *f = aot_args_get(a, "format"), *o = aot_args_get(a, "output");
    const char *name = o ? aot_file_name(o) : NULL;
    const char *dot = name ? strrchr(name, '.') : NULL;
    *out = f               ? aot_format_find(f)
           : dot && dot[1] ? aot_format_of_path(name)
                           : aot_format_find("svg");
    aot_sb words = {0};
    aot_status s = AOT_OK;
    aot_format_names(&words, AOT_SHOWS_ANY, f == NULL);
    if (!*out && f) {
        s = AOT_FAIL(err, AOT_E_USAGE, "-f %s: expected %s", f, aot_sb_text(&words));
    } else if (!*out) {
        s = AOT_FAIL(err, AOT_E_USAGE,
                     "-o %s: the name should end in %s, or -f should name the format", o,
                     aot_sb_text(&words));
    }
    aot_sb_free(&words);
    return s;
}

/* ---- what to draw ---------------------------------------------------------------------------- */

// What is shown if --what does not say: the first that the format takes and the unit has.
static size_t candidates(const aot_viewer *out[], const aot_format *f, const char *what,
                         const char *stage)
{
    size_t n = 0;
    if (what || stage) {
        out[n++] = aot_viewer_find(what ? what : "graph");
        return n;
    }
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        const aot_viewer *v = aot_viewer_at(i);
        bool usual = v->kind & (AOT_SHOWS_PARTITION | AOT_SHOWS_GRAPH);
        if (v->kind & f->takes && (usual || n == 0)) {
            out[n++] = v;
        }
    }
    return n;
}

// The unit asked for, or the first that has what the viewer needs.
static aot_status choose(aot_draw_in *in, aot_model *m, const aot_args *a, const aot_format *f,
                         const aot_viewer **v, aot_err *err)
{
    const char *which = aot_args_get(a, "unit"), *stage = aot_args_get(a, "stage");
    size_t first = 0, end = aot_model_n_units(m);
    const aot_viewer *list[16];
    size_t n = candidates(list, f, aot_args_get(a, "what"), stage);
    if (stage && aot_stage_find(stage) == AOT_N_STAGES) {
        return AOT_FAIL(err, AOT_E_USAGE, "there is no stage '%s'", stage);
    }
    if (end == 0) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "the input holds no compiled graph");
    }
    if (which) {
        AOT_TRY(aot_cmd_find_unit(&first, m, which, err));
        end = first + 1;
    }
    aot_status s = AOT_E_PIPELINE;
    for (size_t k = 0; k < n; k++) {
        *v = list[k];
        *in = (aot_draw_in){0};
        for (size_t i = first; i < end; i++) {
            aot_err own = {0};
            aot_stage at = stage ? aot_stage_find(stage) : aot_export_stage(m, i);
            s = aot_export_in(in, m, i, *v, at, &own);
            if (s != AOT_OK && err && (k == 0 && i == first)) {
                *err = own; // the first unit's trouble is the one to tell
            }
            if (s != AOT_E_PIPELINE) {
                if (s != AOT_OK && err) {
                    *err = own;
                }
                return s;
            }
        }
    }
    return s;
}

// Before anything is read: whether --what is known, and the format can hold it.
static aot_status check_what(const aot_args *a, const aot_format *f, aot_err *err)
{
    const char *what = aot_args_get(a, "what");
    const aot_viewer *v = aot_viewer_find(what ? what : aot_args_get(a, "stage") ? "graph" : "");
    aot_sb words = {0};
    aot_status s = AOT_OK;
    if (what && !v) {
        aot_viewer_names(&words);
        s = AOT_FAIL(err, AOT_E_USAGE, "--what '%s': expected %s", what, aot_sb_text(&words));
    } else if (v && !(v->kind & f->takes)) {
        aot_format_names(&words, v->kind, false);
        s = AOT_FAIL(err, AOT_E_USAGE, "%s cannot be written as %s: expected %s", v->name, f->name,
                     aot_sb_text(&words));
    }
    aot_sb_free(&words);
    return s;
}

/* ---- writing --------------------------------------------------------------------------------- */

// "a.svg" -> "a.dot": where DOT goes if there is no picture.
static char *dot_name(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
    aot_sb b = {0};
    aot_sb_add(&b, path, n);
    aot_sb_addz(&b, ".dot");
    char *s = aot_xstrdup(aot_sb_text(&b));
    aot_sb_free(&b);
    return s;
}

static aot_status deliver(const aot_args *a, const char *format, const aot_sb *data, bool fell_back,
                          aot_err *err)
{
    const char *path = aot_args_get(a, "output");
    if (!path || strcmp(path, "-") == 0) {
        bool binary = !fell_back && (strcmp(format, "png") == 0 || strcmp(format, "pdf") == 0);
        if (binary && isatty(STDOUT_FILENO)) {
            return AOT_FAIL(err, AOT_E_USAGE, "%s is not for a terminal: give -o FILE", format);
        }
        bool ok = fwrite(aot_sb_text(data), 1, data->n, stdout) == data->n && fflush(stdout) == 0;
        return ok ? AOT_OK : AOT_FAIL(err, AOT_E_IO, "standard output: %s", strerror(errno));
    }
    AOT_TRY(aot_file_not_input(path, a->inputs, a->n_inputs, err));
    if (!fell_back) {
        return aot_file_write(path, aot_sb_text(data), data->n, err);
    }
    char *other = dot_name(path);
    aot_status s = aot_file_write(other, aot_sb_text(data), data->n, err);
    if (s == AOT_OK) {
        aot_cmd_note("aotscope: wrote %s, not %s\n", other, path);
    }
    free(other);
    return s;
}

static void print_notes(const aot_sb *notes)
{
    const char *p = aot_sb_text(notes);
    while (*p) {
        size_t n = strcspn(p, "\n");
        aot_cmd_note("aotscope: %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    aot_model *m = NULL;
    aot_draw_options opt;
    aot_draw_in in = {0};
    const aot_viewer *v = NULL;
    char title[512];
    aot_sb data = {0}, notes = {0};
    bool fell_back = false;
    const aot_format *format = NULL;
    if (find_format(&format, a, &err) != AOT_OK || check_what(a, format, &err) != AOT_OK ||
        read_options(&opt, a, &err) != AOT_OK || aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_cmd_progress_end();
    aot_status s = choose(&in, m, a, format, &v, &err);
    if (s == AOT_OK) {
        in.label = aot_export_title(title, sizeof title, aot_model_unit(m, (size_t)in.unit));
        s = aot_export(&data, &notes, &fell_back, v, &in, format->name, &opt, &err);
        print_notes(&notes);
    }
    if (s == AOT_OK) {
        aot_cmd_warn_assumed_of(m, (size_t)in.unit);
        s = deliver(a, format->name, &data, fell_back, &err);
    }
    aot_sb_free(&data);
    aot_sb_free(&notes);
    aot_model_free(m);
    return s != AOT_OK ? aot_cmd_fail(&err) : fell_back ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

const aot_cmd cmd_export = {
    .name = "export",
    .synopsis = "INPUT... [--what WHAT] [--unit N|LABEL] [-f FORMAT] [-o FILE]",
    .summary = "Write a graph, a partition, its flow network or saved values as a picture or data",
    .doc =
        "partition: the forward on the left, the backward on the right, the saved values between "
        "them "
        "with their bytes on thick lines; what is recomputed stands on both sides. graph: one "
        "stage. "
        "mincut: the flow network with its capacities, infinite ones in red, and the edges that "
        "were "
        "cut; if the cut is infinite, the chain that makes it so.\n\n"
        "Fill and letter tell what a value is, the frame what a checkpoint policy asks for; each "
        "box "
        "holds its statement, source line and reason as a tooltip, and carries id and class for "
        "style "
        "sheets. saved: the saved values, for csv and markdown. In big graphs repeated layers are "
        "folded (\"× 12\"), then each source line becomes "
        "one box, then only the surroundings of the largest saved value are drawn; a notice in the "
        "picture and on standard error says so.\n\n"
        "If laying out takes longer than --time-limit, DOT is written in place of the picture, "
        "with "
        "the ending .dot, and the exit code is 1.",
    .examples = "aotscope export train.log -o partition.svg\n"
                "aotscope export train.log --unit 0/1 --what mincut -f pdf -o cut.pdf\n"
                "aotscope export train.log --around addmm_3 --hops 2 -o near.svg\n"
                "aotscope export train.log --what graph --stage dynamo -f json\n"
                "aotscope export train.log -o step.trace.json   # for ui.perfetto.dev\n"
                "aotscope export train.log -o saved.csv\n"
                "aotscope export train.log -f mermaid --around addmm_3\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
