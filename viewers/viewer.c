/* The viewers' table, and the way from a graph to bytes of a picture: draw, fold, cut out, lay out. */
#include "viewers/viewer.h"

#include <stdio.h>
#include <string.h>

static const aot_viewer viewers[] = {
#define VIEWER(name, draws, draw, json, sentence) {#name, draws, draw, json, sentence},
#include "viewers/viewers.def"
#undef VIEWER
};

enum { FOLD_FROM = 60, MAX_NODES = 400, HOPS = 3 };
#define TIME_LIMIT 20.0

size_t aot_viewer_count(void)
{
    return sizeof viewers / sizeof *viewers;
}

const aot_viewer *aot_viewer_at(size_t i)
{
    return &viewers[i];
}

const aot_viewer *aot_viewer_find(const char *name)
{
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        if (strcmp(viewers[i].name, name) == 0) {
            return &viewers[i];
        }
    }
    return NULL;
}

static bool one_of(const char *s, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(s, *list) == 0) {
            return true;
        }
    }
    return false;
}

// Makes the picture small enough to be read.
static aot_status reduce(aot_picture *pic, const aot_draw_options *opt, aot_err *err)
{
    uint32_t limit = opt->max_nodes ? opt->max_nodes : MAX_NODES;
    if (opt->around) {
        // before folding: the node asked for must not be a copy that is folded away
        if (!aot_picture_around(pic, opt->around, opt->hops > 0 ? opt->hops : HOPS, limit)) {
            return AOT_FAIL(err, AOT_E_USAGE, "--around: no node is called '%s'", opt->around);
        }
        return AOT_OK;
    }
    if (!opt->no_fold && pic->nodes.n > FOLD_FROM) {
        aot_picture_fold(pic);
    }
    if (!opt->no_fold && pic->nodes.n > limit && !pic->network) {
        aot_picture_group(pic);
    }
    if (pic->nodes.n > limit) {
        aot_picture_around(pic, NULL, -1, limit);
        aot_picture_notice(pic, "choose with --around NODE --hops K, or raise --max-nodes");
    }
    return AOT_OK;
}

static void write_json(aot_sb *out, const aot_viewer *v, const aot_draw_in *in)
{
    json_t *root = v->json(in);
    char *text = json_dumps(root, JSON_INDENT(1));
    if (text) {
        aot_sb_addz(out, text);
        aot_sb_addc(out, '\n');
    }
    free(text);
    json_decref(root);
}

aot_status aot_export(aot_sb *out, aot_sb *notes, bool *fell_back, const aot_viewer *v,
                      const aot_draw_in *in, const char *format, const aot_draw_options *opt,
                      aot_err *err)
{
    static const char *const formats[] = {"svg", "pdf", "png", "dot", "json", NULL};
    static const char *const colors[] = {"light", "dark", "mono", NULL};
    *fell_back = false;
    if (!one_of(format, formats)) {
        return AOT_FAIL(err, AOT_E_USAGE, "format '%s': expected svg, pdf, png, dot or json", format);
    }
    if (opt->color && !one_of(opt->color, colors)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--color '%s': expected light, dark or mono", opt->color);
    }
    bool chain = v->draw == aot_draw_mincut && in->infinite && in->graph;
    if (strcmp(v->draws, "graph") == 0 ? !in->graph : !in->part && !chain) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "'%s' needs a %s", v->name, v->draws);
    }
    if (strcmp(format, "json") == 0) {
        write_json(out, v, in);
        return AOT_OK;
    }
    aot_picture *pic = aot_picture_new();
    v->draw(pic, in);
    aot_status s = reduce(pic, opt, err);
    for (size_t i = 0; i < pic->notices.n; i++) {
        aot_sb_addf(notes, "%s\n", pic->notices.d[i]);
    }
    if (s == AOT_OK && strcmp(format, "dot") == 0) {
        aot_picture_dot(out, pic, opt->color);
    } else if (s == AOT_OK) {
        aot_sb why = {0};
        double limit = opt->time_limit > 0 ? opt->time_limit : TIME_LIMIT;
        if (!aot_picture_render(out, pic, opt->color, format, limit, &why)) {
            aot_sb_addf(notes, "%s: DOT is written instead\n", aot_sb_text(&why));
            aot_picture_dot(out, pic, opt->color);
            *fell_back = true;
        }
        aot_sb_free(&why);
    }
    aot_picture_free(pic);
    return s;
}
