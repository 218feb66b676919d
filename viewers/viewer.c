/* The tables of viewers and formats, and the way from a graph to bytes: draw, fold, cut out, write.
 */
#include "viewers/viewer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"

static const aot_viewer viewers[] = {
#define PICTURE(name, needs, kind, draw, json, sentence)                                           \
    {#name, needs, AOT_SHOWS_##kind, draw, NULL, NULL, json, sentence},
#define TABLE(name, needs, kind, fill, json, sentence)                                             \
    {#name, needs, AOT_SHOWS_##kind, NULL, fill, NULL, json, sentence},
#define CHART(name, needs, kind, make, sentence)                                                   \
    {#name, needs, AOT_SHOWS_##kind, NULL, NULL, make, NULL, sentence},
#define REPORT(name, needs, kind, sentence)                                                        \
    {#name, needs, AOT_SHOWS_##kind, NULL, NULL, NULL, NULL, sentence},
#include "viewers/viewers.def"
};

static const aot_format formats[] = {
#define FORMAT(name, endings, takes, max_nodes, writer, sentence)                                  \
    {name, endings, takes, max_nodes, writer, sentence},
#include "viewers/formats.def"
#undef FORMAT
};

enum { FOLD_FROM = 60, HOPS = 3 };
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

// "a, b or c": the i-th of n words.
static void add_word(aot_sb *out, size_t i, size_t n, const char *word, size_t len)
{
    aot_sb_addz(out, i == 0 ? "" : i + 1 == n ? " or " : ", ");
    aot_sb_add(out, word, len);
}

void aot_viewer_names(aot_sb *out)
{
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        add_word(out, i, aot_viewer_count(), viewers[i].name, strlen(viewers[i].name));
    }
}

size_t aot_n_formats(void)
{
    return sizeof formats / sizeof *formats;
}

const aot_format *aot_format_at(size_t i)
{
    return &formats[i];
}

const aot_format *aot_format_find(const char *name)
{
    for (size_t i = 0; i < aot_n_formats(); i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

// The length of the longest of a format's endings that the name has; 0.
static size_t ending_of(const aot_format *f, const char *name)
{
    size_t len = strlen(name), best = 0;
    for (const char *e = f->endings; *e;) {
        size_t n = strcspn(e, " ");
        if (n < len && n > best && strncasecmp(name + len - n, e, n) == 0) {
            best = n;
        }
        e += n + (e[n] == ' ');
    }
    return best;
}

const aot_format *aot_format_of_path(const char *path)
{
    const char *name = aot_file_name(path);
    const aot_format *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < aot_n_formats(); i++) {
        size_t n = ending_of(&formats[i], name);
        if (n > most) {
            most = n;
            best = &formats[i];
        }
    }
    return best;
}

void aot_format_names(aot_sb *out, unsigned kinds, bool endings)
{
    size_t n = 0, i = 0;
    for (size_t k = 0; k < aot_n_formats(); k++) {
        n += (formats[k].takes & kinds) != 0;
    }
    for (size_t k = 0; k < aot_n_formats(); k++) {
        const aot_format *f = &formats[k];
        if (f->takes & kinds) {
            const char *word = endings ? f->endings : f->name;
            add_word(out, i++, n, word, strcspn(word, " "));
        }
    }
}

/* ---- pictures -----------------------------------------------------------------------------------
 */

// Makes the picture small enough to be read.
static aot_status reduce(aot_picture *pic, const aot_export_job *j, aot_err *err)
{
    const aot_draw_options *opt = j->opt;
    uint32_t limit = opt->max_nodes ? opt->max_nodes : j->format->max_nodes;
    if (opt->around) {
        // before folding: the node asked for must not be a copy that is folded away
        if (!aot_picture_around(pic, opt->around, opt->hops > 0 ? opt->hops : HOPS, limit)) {
            return AOT_FAIL(err, AOT_E_USAGE, "--around: no node is called '%s'", opt->around);
        }
        return AOT_OK;
    }
    if (limit == 0) {
        return AOT_OK;
    }
    uint32_t fold_from = limit < FOLD_FROM ? limit : FOLD_FROM;
    if (!opt->no_fold && pic->nodes.n > fold_from) {
        aot_picture_fold(pic);
    }
    if (!opt->no_fold && pic->nodes.n > limit && !pic->network) {
        aot_picture_group(pic, limit);
    }
    if (pic->nodes.n > limit) {
        aot_picture_around(pic, NULL, -1, limit);
        aot_picture_notice(pic, "choose with --around NODE --hops K, or raise --max-nodes");
    }
    return AOT_OK;
}

aot_status aot_export_picture(aot_picture **out, aot_export_job *j, aot_err *err)
{
    aot_picture *pic = aot_picture_new();
    aot_draw_in in = *j->in;
    // of a neighbourhood in the network both vertices of a value can be shown
    in.whole = in.whole || j->format->max_nodes == 0 || j->opt->around;
    j->viewer->draw(pic, &in);
    for (size_t i = 0; i < pic->nodes.n; i++) {
        aot_pic_node *x = &pic->nodes.d[i];
        x->module = aot_picture_text(pic, aot_draw_module(&in, x->cut));
    }
    aot_status s = reduce(pic, j, err);
    for (size_t i = 0; i < pic->notices.n; i++) {
        aot_sb_addf(j->notes, "%s\n", pic->notices.d[i]);
    }
    if (s != AOT_OK) {
        aot_picture_free(pic);
        return s;
    }
    *out = pic;
    return AOT_OK;
}

static aot_status draw_chart(aot_export_job *j, aot_err *err)
{
    aot_chart_options opt = {.color = j->opt->color};
    aot_chart *c;
    AOT_TRY(j->viewer->chart(&c, j->in, err));
    aot_status s =
        aot_charts_render(j->out, (const aot_chart *const *)&c, 1, j->format->name, &opt, err);
    aot_chart_free(c);
    return s;
}

aot_status aot_write_picture(aot_export_job *j, aot_err *err)
{
    const char *format = j->format->name, *color = j->opt->color;
    aot_picture *pic;
    if (j->viewer->chart) {
        return draw_chart(j, err);
    }
    AOT_TRY(aot_export_picture(&pic, j, err));
    if (strcmp(format, "dot") == 0) {
        aot_picture_dot(j->out, pic, color);
    } else {
        aot_sb why = {0};
        double limit = j->opt->time_limit > 0 ? j->opt->time_limit : TIME_LIMIT;
        if (!aot_picture_render(j->out, pic, color, format, limit, &why)) {
            aot_sb_addf(j->notes, "%s: DOT is written instead\n", aot_sb_text(&why));
            aot_picture_dot(j->out, pic, color);
            j->fell_back = true;
        }
        aot_sb_free(&why);
    }
    aot_picture_free(pic);
    return AOT_OK;
}

/* ---- everything else ------------------------------------------------------------------------- */

aot_status aot_write_json(aot_export_job *j, aot_err *err)
{
    if (j->viewer->chart) {
        aot_chart *c;
        AOT_TRY(j->viewer->chart(&c, j->in, err));
        aot_json_write(j->out, aot_json_chart(j->in, j->viewer->name, c), true);
        aot_chart_free(c);
    } else {
        j->viewer->json(j->out, j->in);
    }
    return AOT_OK;
}

// A row for each point of a chart.
static void chart_table(aot_table *t, const aot_chart *c)
{
    const char *const titles[] = {"series", c->x.label, c->y.label, "what"};
    for (size_t i = 0; i < 4; i++) {
        aot_table_column(t, titles[i], i % 3 == 0 ? AOT_LEFT : AOT_RIGHT, 0);
    }
    for (size_t s = 0; s < c->series.n; s++) {
        for (size_t i = 0; i < c->series.d[s].points.n; i++) {
            const aot_chart_xy *p = &c->series.d[s].points.d[i];
            aot_table_row(t);
            aot_table_cell(t, c->series.d[s].name);
            aot_table_cellf(t, "%.17g", p->x);
            aot_table_cellf(t, "%.17g", p->y);
            aot_table_cell(t, p->tip ? p->tip : "");
        }
    }
}

aot_status aot_write_table(aot_export_job *j, aot_err *err)
{
    bool csv = strcmp(j->format->name, "csv") == 0;
    aot_chart *c = NULL;
    if (j->viewer->chart) {
        AOT_TRY(j->viewer->chart(&c, j->in, err));
    }
    aot_table *t = aot_table_new();
    if (c) {
        chart_table(t, c);
    } else {
        j->viewer->table(t, j->in, csv);
    }
    aot_chart_free(c);
    aot_table_print(j->out, t, csv ? AOT_TABLE_CSV : AOT_TABLE_MARKDOWN, 0, 0);
    aot_table_free(t);
    return AOT_OK;
}

static aot_status check(const aot_format *f, const aot_viewer *v, const char *format,
                        const aot_draw_in *in, const aot_draw_options *opt, aot_err *err)
{
    static const char *const colors[] = {"light", "dark", "mono"};
    bool known = opt->color == NULL;
    for (size_t i = 0; i < 3; i++) {
        known = known || strcmp(opt->color, colors[i]) == 0;
    }
    if (!f || !(f->takes & v->kind)) {
        aot_sb names = {0};
        aot_format_names(&names, f ? v->kind : AOT_SHOWS_ANY, false);
        aot_status s = AOT_FAIL(err, AOT_E_USAGE, "format '%s'%s%s: expected %s", format,
                                f ? " cannot hold " : "", f ? v->name : "", aot_sb_text(&names));
        aot_sb_free(&names);
        return s;
    }
    if (!known) {
        return AOT_FAIL(err, AOT_E_USAGE, "--color '%s': expected light, dark or mono", opt->color);
    }
    bool chain = v->draw == aot_draw_mincut && in->infinite && in->graph;
    bool any = strcmp(v->draws, "partition") != 0;
    if (any ? !in->graph : !in->part && !chain) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "'%s' needs a %s", v->name, v->draws);
    }
    return AOT_OK;
}

// cairo writes the time of day into a PDF; equal inputs are to give equal bytes. The date keeps its
// length, so that the places of the file's objects stay.
static void forget_time(aot_sb *out)
{
    static const char key[] = "/CreationDate (D:", date[] = "20000101000000";
    size_t n = sizeof key - 1 + sizeof date - 1;
    for (size_t i = 0; i + n <= out->n; i++) {
        if (out->d[i] == '/' && memcmp(out->d + i, key, sizeof key - 1) == 0) {
            memcpy(out->d + i + sizeof key - 1, date, sizeof date - 1);
        }
    }
}

aot_status aot_export(aot_sb *out, aot_sb *notes, bool *fell_back, const aot_viewer *v,
                      const aot_draw_in *in, const char *format, const aot_draw_options *opt,
                      aot_err *err)
{
    aot_export_job j = {.viewer = v,
                        .format = aot_format_find(format),
                        .in = in,
                        .opt = opt,
                        .out = out,
                        .notes = notes};
    *fell_back = false;
    AOT_TRY(check(j.format, v, format, in, opt, err));
    aot_status s = j.format->write(&j, err);
    if (s == AOT_OK && strcmp(format, "pdf") == 0) {
        forget_time(out);
    }
    *fell_back = j.fell_back;
    return s;
}
