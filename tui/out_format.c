/* Choosing among text, JSON, CSV and pictures; writing the answer. */
#include "tui/out_format.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"

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
                            : AOT_FAIL(err, AOT_E_USAGE, "--format '%s': this command can do %s", format, formats);
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

aot_status aot_out_charts(const aot_args *a, const char *format, const aot_chart *const *charts, size_t n,
                          aot_err *err)
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
