/* Choosing among text, JSON, CSV and pictures; writing the answer. */
#include "tui/out_format.h"

#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "viewers/chart_text.h"
#include "viewers/table.h"

/* The word of a comma-separated list that text is, whatever its case; NULL if it is none of it. */
static const char *listed(const char *formats, const char *text)
{
    static const char *const all[] = {"text", "json", "csv", "svg", "pdf", "png"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *at = strstr(formats, all[i]);
        if (at != NULL && strcasecmp(text, all[i]) == 0) {
            return all[i];
        }
    }
    return NULL;
}

aot_status aot_out_format(const char **out, const aot_args *a, const char *formats, aot_err *err)
{
    const char *format = aot_args_get(a, "format"), *path = aot_args_get(a, "output");
    bool to_file = path != NULL && strcmp(path, "-") != 0;
    if (format != NULL) {
        *out = listed(formats, format);
        return *out != NULL ? AOT_OK
                            : AOT_FAIL(err, AOT_E_USAGE, "--format '%s': this command can do %s",
                                       format, formats);
    }
    const char *slash = to_file ? strrchr(path, '/') : NULL;
    const char *dot = to_file ? strrchr(slash != NULL ? slash : path, '.') : NULL;
    *out = dot != NULL ? listed(formats, dot + 1) : NULL;
    *out = *out != NULL ? *out : to_file ? "json" : "text";
    return AOT_OK;
}

aot_status aot_out_write(const aot_args *a, const char *format, const aot_sb *data, aot_err *err)
{
    const char *path = aot_args_get(a, "output");
    bool binary = strcmp(format, "png") == 0 || strcmp(format, "pdf") == 0;
    if (binary && (path == NULL || strcmp(path, "-") == 0) && isatty(STDOUT_FILENO)) {
        return AOT_FAIL(err, AOT_E_USAGE, "%s is not for a terminal: give -o FILE", format);
    }
    AOT_TRY(aot_file_not_input(path, a->inputs, a->n_inputs, err));
    return aot_file_write(path, aot_sb_text(data), data->n, err);
}

aot_status aot_out_charts(const aot_args *a, const char *format, const aot_chart *const *charts,
                          size_t n, aot_err *err)
{
    aot_sb data = {0};
    aot_chart_options opt = {.color = aot_args_get(a, "color")};
    aot_status s = aot_charts_render(&data, charts, n, format, &opt, err);
    if (s == AOT_OK) {
        s = aot_out_write(a, format, &data, err);
    }
    aot_sb_free(&data);
    return s;
}

void aot_out_plot(aot_sb *out, const aot_chart *c, int rows)
{
    struct winsize w;
    bool ascii = !aot_locale_is_utf8();
    int cols = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col != 0
                   ? w.ws_col
                   : 80;
    aot_canvas canvas;
    cols = cols < 60 ? 60 : cols > 120 ? 120 : cols;
    aot_canvas_init(&canvas, rows, cols, ascii);
    aot_chart_text(c, &canvas, 0, 0, rows, cols, aot_chart_glyphs_for(ascii), NULL);
    aot_canvas_text(out, &canvas);
    aot_canvas_free(&canvas);
}

unsigned aot_out_table_flags(void)
{
    return aot_locale_is_utf8() ? 0 : AOT_TABLE_ASCII;
}
