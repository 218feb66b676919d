/* In which form a command answers, and where the answer goes. */
#ifndef AOT_TUI_OUT_FORMAT_H
#define AOT_TUI_OUT_FORMAT_H

#include "base/str.h"
#include "tui/cmd.h"
#include "viewers/chart.h"

/* --format, else the ending of --output, else JSON into a file and text to standard output.
 * formats: what the command can do, comma-separated ("text,json,csv,svg,pdf,png"). *out is static
 * or borrowed from a. Errors: E_USAGE with what there is. */
AOT_NODISCARD aot_status aot_out_format(const char **out, const aot_args *a, const char *formats,
                                        aot_err *err);
/* Writes to --output, or standard output (never binary to a terminal). Inputs are not written
 * over. */
AOT_NODISCARD aot_status aot_out_write(const aot_args *a, const char *format, const aot_sb *data,
                                       aot_err *err);
/* Rows of an option table. */
#define AOT_OPTION_OUTPUT                                                                          \
    {"output", 'o', "FILE", false, "Where it goes; standard output if absent or '-'."}
#define AOT_OPTION_COLOR                                                                           \
    {"color", 0, "SCHEME", false,                                                                  \
     "Colours of a chart: light, dark, mono, or auto (follows the reader's light or dark in SVG)."}
/* Draws charts in the format and colours asked for, and writes them. */
AOT_NODISCARD aot_status aot_out_charts(const aot_args *a, const char *format,
                                        const aot_chart *const *charts, size_t n, aot_err *err);

/* Appends a chart as characters, for standard output: as wide as the terminal, within 60 and 120
 * columns (80 in a pipe), `rows` high. */
void aot_out_plot(aot_sb *out, const aot_chart *c, int rows);
/* Flags of a table for people: ASCII where the locale is not UTF-8. */
unsigned aot_out_table_flags(void);

#endif
