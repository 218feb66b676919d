/* Pieces of HTML. Every text goes through aot_html_text; nothing else may come from a log. */
#ifndef AOT_VIEWERS_HTML_H
#define AOT_VIEWERS_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Appends text that is safe between tags and in quoted attributes, of XML too: control characters
 * are replaced, as XML 1.0 has none. */
void aot_html_text(aot_sb *out, const char *text);

typedef struct aot_html_column {
    const char *title;
    /* 't' a few words, 'p' sentences, 'n' number, 'b' bytes, 'c' code in one line, 'w' code that
     * wraps */
    char kind;
} aot_html_column;

/* A table that report.js sorts and, with a filter box, filters. Ends with aot_html_table_end. */
void aot_html_table(aot_sb *out, const char *id, const char *caption,
                    const aot_html_column *columns, size_t n, bool filter);
/* key: node that the row is about, for the link into the diagram; NULL if none. */
void aot_html_row(aot_sb *out, const char *key);
void aot_html_cell(aot_sb *out, char kind, const char *text);
void aot_html_number(aot_sb *out, char kind, int64_t value);
void aot_html_row_end(aot_sb *out);
void aot_html_table_end(aot_sb *out);

#endif
