/* Aligned columns for the command line and the terminal. Text is UTF-8; widths count columns, so
 * wide characters line up. */
#ifndef AOT_VIEWERS_TABLE_H
#define AOT_VIEWERS_TABLE_H

#include "base/str.h"
#include "viewers/canvas.h"

typedef struct aot_table aot_table;

typedef enum aot_align { AOT_LEFT, AOT_RIGHT } aot_align;

aot_table *aot_table_new(void);
void aot_table_free(aot_table *t);
/* Adds a column. max_cols: cut longer cells with "…"; 0 = never. Columns come before rows. */
void aot_table_column(aot_table *t, const char *title, aot_align align, int max_cols);
/* Starts a row; then one cell call for each column, in order (missing ones stay empty). */
void aot_table_row(aot_table *t);
void aot_table_cell(aot_table *t, const char *text);
void aot_table_cellf(aot_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void aot_table_bytes(aot_table *t, int64_t bytes);  /* "32.0 KiB" */
void aot_table_count(aot_table *t, int64_t n);      /* "87,228" */
void aot_table_style(aot_table *t, aot_style style); /* of the cell added last */
size_t aot_table_n_rows(const aot_table *t);

enum {
    AOT_TABLE_ASCII = 1 << 0,   /* no UTF-8 */
    AOT_TABLE_NO_HEAD = 1 << 1, /* without the titles */
    AOT_TABLE_MARKDOWN = 1 << 2, /* | a | b | */
    AOT_TABLE_CSV = 1 << 3
};
/* colors as aot_colors_for; width: the last column is cut to fit (0 = never). */
void aot_table_print(aot_sb *out, const aot_table *t, unsigned flags, int colors, int width);

#endif
