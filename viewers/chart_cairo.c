/* Charts as PDF and PNG, by cairo, and the choice among the formats. */
#include <cairo-pdf.h>
#include <cairo.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/chart_pen.h"

enum { PNG_SCALE = 2, MAX_PIXELS = 32000 }; /* cairo's surfaces end at 32,767 */

typedef struct paper {
    aot_pen pen;
    cairo_t *cr;
    const aot_palette *look;
} paper;

static void set_ink(const paper *s, int ink, double alpha)
{
    unsigned long rgb = strtoul(s->look->ink[ink] + 1, NULL, 16);
    cairo_set_source_rgba(s->cr, (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                          (double)(rgb & 255) / 255, alpha);
}

static void path(const paper *s, const aot_pt *pts, size_t n)
{
    cairo_new_path(s->cr);
    for (size_t i = 0; i < n; i++) {
        cairo_line_to(s->cr, pts[i].x, pts[i].y);
    }
}

static void begin(aot_pen *p, const aot_chart *c, double y)
{
    paper *s = (paper *)p;
    (void)c;
    cairo_save(s->cr);
    cairo_translate(s->cr, 0, y);
}

static void end(aot_pen *p)
{
    cairo_restore(((paper *)p)->cr);
}

static void line(aot_pen *p, const aot_pt *pts, size_t n, int ink, double width, int dash)
{
    static const double dashes[4][4] = {{0}, {7, 4}, {2, 3}, {9, 3, 2, 3}};
    static const int lengths[4] = {0, 2, 2, 4};
    paper *s = (paper *)p;
    path(s, pts, n);
    set_ink(s, ink, 1);
    cairo_set_line_width(s->cr, width);
    cairo_set_dash(s->cr, dashes[dash & 3], lengths[dash & 3], 0);
    cairo_stroke(s->cr);
}

static void fill(aot_pen *p, const aot_pt *pts, size_t n, int ink, double alpha)
{
    paper *s = (paper *)p;
    path(s, pts, n);
    cairo_close_path(s->cr);
    set_ink(s, ink, alpha);
    cairo_fill(s->cr);
}

static void shape(aot_pen *p, const aot_pt *pts, size_t n, int ink, const char *tip)
{
    paper *s = (paper *)p;
    (void)tip;
    path(s, pts, n);
    cairo_close_path(s->cr);
    set_ink(s, ink, 1);
    cairo_fill_preserve(s->cr);
    set_ink(s, AOT_INK_PAPER, 1);
    cairo_set_line_width(s->cr, 1);
    cairo_set_dash(s->cr, NULL, 0, 0);
    cairo_stroke(s->cr);
}

static void text(aot_pen *p, double x, double y, double size, aot_anchor anchor, bool bold,
                 bool turned, int ink, const char *words)
{
    paper *s = (paper *)p;
    cairo_text_extents_t box;
    cairo_save(s->cr);
    cairo_select_font_face(s->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(s->cr, size);
    cairo_text_extents(s->cr, words, &box);
    cairo_translate(s->cr, x, y);
    if (turned) {
        cairo_rotate(s->cr, -1.5707963267948966);
    }
    double left = anchor == AOT_ANCHOR_END      ? -box.x_advance
                  : anchor == AOT_ANCHOR_MIDDLE ? -box.x_advance / 2
                                                : 0;
    cairo_move_to(s->cr, left, 0);
    if (ink == AOT_INK_MARK) { // stands on top of lines
        cairo_text_path(s->cr, words);
        set_ink(s, AOT_INK_PAPER, 1);
        cairo_set_line_width(s->cr, 4);
        cairo_set_dash(s->cr, NULL, 0, 0);
        cairo_stroke(s->cr);
        cairo_move_to(s->cr, left, 0);
    }
    set_ink(s, ink, 1);
    cairo_show_text(s->cr, words);
    cairo_restore(s->cr);
}

static cairo_status_t append(void *out, const unsigned char *data, unsigned n)
{
    aot_sb_add(out, (const char *)data, n);
    return CAIRO_STATUS_SUCCESS;
}

static void background(const paper *s)
{
    set_ink(s, AOT_INK_PAPER, 1);
    cairo_paint(s->cr);
}

static void draw_all(paper *s, const aot_chart *const *charts, size_t n, bool pages, double width,
                     double height)
{
    background(s);
    for (size_t i = 0; i < n; i++) {
        if (pages && i > 0) {
            cairo_show_page(s->cr);
            background(s);
        }
        begin(&s->pen, charts[i], pages ? 0 : height * (double)i);
        aot_chart_draw(charts[i], &s->pen, width, height);
        end(&s->pen);
    }
}

aot_status aot_chart_cairo(aot_sb *out, const aot_chart *const *charts, size_t n, bool pdf,
                           double width, double height, const aot_palette *palette, aot_err *err)
{
    double total = height * (double)n;
    double scale = total * PNG_SCALE > MAX_PIXELS || width * PNG_SCALE > MAX_PIXELS ? 1 : PNG_SCALE;
    if (!pdf && (total > MAX_PIXELS || width > MAX_PIXELS)) {
        return AOT_FAIL(err, AOT_E_RANGE,
                        "%zu charts make a PNG of %.0f by %.0f pixels, and %d is the most: "
                        "take pdf or svg, or one unit",
                        n, width, total, MAX_PIXELS);
    }
    aot_sb bytes = {0};
    cairo_surface_t *surface =
        pdf ? cairo_pdf_surface_create_for_stream(append, &bytes, width, height)
            : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * scale),
                                         (int)(total * scale));
    paper s = {
        .pen = {begin, end, line, fill, shape, text}, .cr = cairo_create(surface), .look = palette};
    if (!pdf) {
        cairo_scale(s.cr, scale, scale);
    }
    draw_all(&s, charts, n, pdf, width, height);
    cairo_status_t drawn = cairo_status(s.cr), written;
    if (pdf) {
        cairo_show_page(s.cr);
        cairo_surface_finish(surface);
        written = cairo_surface_status(surface);
    } else {
        written = cairo_surface_write_to_png_stream(surface, append, &bytes);
    }
    cairo_destroy(s.cr);
    cairo_surface_destroy(surface);
    drawn = drawn != CAIRO_STATUS_SUCCESS ? drawn : written;
    if (drawn == CAIRO_STATUS_SUCCESS) {
        aot_sb_add(out, bytes.d, bytes.n);
    } else {
        AOT_FAIL(err, AOT_E_IO, "cairo cannot draw the chart: %s", cairo_status_to_string(drawn));
    }
    aot_sb_free(&bytes);
    return drawn == CAIRO_STATUS_SUCCESS ? AOT_OK : AOT_E_IO;
}

/* ---- formats --------------------------------------------------------------------------------- */

bool aot_chart_format_known(const char *format)
{
    return strcmp(format, "svg") == 0 || strcmp(format, "pdf") == 0 || strcmp(format, "png") == 0;
}

aot_status aot_charts_render(aot_sb *out, const aot_chart *const *charts, size_t n,
                             const char *format, const aot_chart_options *opt, aot_err *err)
{
    const char *color = opt != NULL && opt->color != NULL ? opt->color : "auto";
    double width = opt != NULL && opt->width > 0 ? opt->width : 900;
    double height = opt != NULL && opt->height > 0 ? opt->height : 440;
    const aot_palette *look = aot_palette_find(color);
    if (!aot_chart_format_known(format)) {
        return AOT_FAIL(err, AOT_E_USAGE, "a chart cannot be made as '%s': take svg, pdf or png",
                        format);
    }
    if (look == NULL) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "no colours are called '%s': take light, dark, mono or auto", color);
    }
    if (strcmp(format, "svg") == 0) {
        aot_chart_svg(out, charts, n, width, height, look, strcmp(color, "auto") == 0);
        return AOT_OK;
    }
    return aot_chart_cairo(out, charts, n, strcmp(format, "pdf") == 0, width, height, look, err);
}
