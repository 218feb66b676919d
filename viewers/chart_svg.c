/* Charts as SVG text: real text elements, a class for each ink, and, where wanted, a style sheet
 * that follows the reader's light or dark. The attributes alone give the light picture, for readers
 * that know no style sheets. */
#include <string.h>

#include "viewers/chart_pen.h"
#include "viewers/html.h"

typedef struct svg {
    aot_pen pen;
    aot_sb *out;
    const aot_palette *look;
} svg;

static void points(aot_sb *out, const aot_pt *pts, size_t n, bool close)
{
    aot_sb_addz(out, " d=\"M");
    for (size_t i = 0; i < n; i++) {
        aot_sb_addf(out, "%s%.1f %.1f", i == 0 ? "" : "L", pts[i].x, pts[i].y);
    }
    aot_sb_addz(out, close ? "Z\"" : "\"");
}

static void begin(aot_pen *p, const aot_chart *c, double y)
{
    svg *s = (svg *)p;
    aot_sb_addf(s->out, "<g transform=\"translate(0,%.0f)\" role=\"img\"><title>", y);
    aot_html_text(s->out, c->title);
    aot_sb_addz(s->out, "</title>\n");
}

static void end(aot_pen *p)
{
    aot_sb_addz(((svg *)p)->out, "</g>\n");
}

static void line(aot_pen *p, const aot_pt *pts, size_t n, int ink, double width, int dash)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"7 4\"",
                                         " stroke-dasharray=\"2 3\"",
                                         " stroke-dasharray=\"9 3 2 3\""};
    svg *s = (svg *)p;
    aot_sb_addz(s->out, "<path");
    points(s->out, pts, n, false);
    aot_sb_addf(s->out, " class=\"l%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n", ink,
                s->look->ink[ink], width, dashes[dash & 3]);
}

static void fill(aot_pen *p, const aot_pt *pts, size_t n, int ink, double alpha)
{
    svg *s = (svg *)p;
    aot_sb_addz(s->out, "<path");
    points(s->out, pts, n, true);
    aot_sb_addf(s->out, " class=\"f%d\" fill=\"%s\" fill-opacity=\"%g\"/>\n", ink,
                s->look->ink[ink], alpha);
}

static void shape(aot_pen *p, const aot_pt *pts, size_t n, int ink, const char *tip)
{
    svg *s = (svg *)p;
    aot_sb_addz(s->out, "<path");
    points(s->out, pts, n, true);
    aot_sb_addf(s->out, " class=\"f%d e\" fill=\"%s\" stroke=\"%s\"", ink, s->look->ink[ink],
                s->look->ink[AOT_INK_PAPER]);
    if (tip == NULL) {
        aot_sb_addz(s->out, "/>\n");
        return;
    }
    aot_sb_addz(s->out, "><title>");
    aot_html_text(s->out, tip);
    aot_sb_addz(s->out, "</title></path>\n");
}

static void text(aot_pen *p, double x, double y, double size, aot_anchor anchor, bool bold,
                 bool turned, int ink, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    svg *s = (svg *)p;
    aot_sb_addf(s->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\"", x, y,
                size, anchors[anchor]);
    if (bold) {
        aot_sb_addz(s->out, " font-weight=\"bold\"");
    }
    if (ink == AOT_INK_MARK) { // stands on top of lines
        aot_sb_addf(s->out, " paint-order=\"stroke\" stroke=\"%s\" stroke-width=\"4\"",
                    s->look->ink[AOT_INK_PAPER]);
    }
    if (turned) {
        aot_sb_addf(s->out, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    }
    aot_sb_addf(s->out, " class=\"f%d%s\" fill=\"%s\">", ink, ink == AOT_INK_MARK ? " e" : "",
                s->look->ink[ink]);
    aot_html_text(s->out, words);
    aot_sb_addz(s->out, "</text>\n");
}

/* What the attributes say in light, said again for dark. */
static void style(aot_sb *out)
{
    const aot_palette *dark = aot_palette_find("dark");
    aot_sb_addz(out, "<style>@media (prefers-color-scheme: dark){");
    for (int i = 0; i < AOT_N_INKS; i++) {
        aot_sb_addf(out, ".aot-chart .f%d{fill:%s}.aot-chart .l%d{stroke:%s}", i, dark->ink[i], i,
                    dark->ink[i]);
    }
    aot_sb_addf(out, ".aot-chart .e{stroke:%s}}</style>\n", dark->ink[AOT_INK_PAPER]);
}

void aot_chart_svg(aot_sb *out, const aot_chart *const *charts, size_t n, double width,
                   double height, const aot_palette *palette, bool follows_reader)
{
    svg s = {.pen = {begin, end, line, fill, shape, text}, .out = out, .look = palette};
    double total = height * (double)n;
    aot_sb_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"aot-chart\" width=\"%.0f\" "
        "height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, 'DejaVu Sans', Arial, sans-serif\">\n",
        width, total, width, total);
    if (follows_reader) {
        style(out);
    }
    aot_sb_addf(out, "<rect width=\"100%%\" height=\"100%%\" class=\"f%d\" fill=\"%s\"/>\n",
                AOT_INK_PAPER, palette->ink[AOT_INK_PAPER]);
    for (size_t i = 0; i < n; i++) {
        begin(&s.pen, charts[i], height * (double)i);
        aot_chart_draw(charts[i], &s.pen, width, height);
        end(&s.pen);
    }
    aot_sb_addz(out, "</svg>\n");
}
