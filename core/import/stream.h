/* Input bytes as lines: a file, standard input or memory, plain or gzip, in bounded memory. */
#ifndef AOT_IMPORT_STREAM_H
#define AOT_IMPORT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

typedef struct aot_stream aot_stream;

typedef struct aot_line {
    const char *s;   /* without the line end; not 0-terminated; valid until the next call */
    size_t n;
    uint64_t number; /* from 1 */
    bool cr;         /* the line ended with CR LF (the CR is not counted in n) */
    bool ended;      /* a line end was seen; false only on a last line that has none */
    bool cut;        /* longer than AOT_LINE_MAX: the rest was passed over */
} aot_line;

enum { AOT_LINE_MAX = 256 << 20 };
#define AOT_SPOOL_MAX ((uint64_t)16 << 30)

/* path "-" is standard input. Errors: E_IO. */
AOT_NODISCARD aot_status aot_stream_open(aot_stream **out, const char *path, aot_err *err);
/* data is borrowed and must outlive the stream. */
aot_stream *aot_stream_of_bytes(const char *data, size_t n);
void aot_stream_free(aot_stream *s); /* NULL is fine */

/* The first bytes (decompressed) without reading them: up to want of them; returns how many. */
size_t aot_stream_peek(aot_stream *s, const char **data, size_t want);
/* False at the end of the input. */
bool aot_stream_line(aot_stream *s, aot_line *line);
/* The whole input for formats that are read by position: *file, the caller's to close, or the bytes
 * *mem with *file NULL. What cannot be read by position (a pipe, a .gz) is unpacked into a
 * temporary file of at most AOT_SPOOL_MAX bytes. No line can be read afterwards. Errors: E_IO. */
AOT_NODISCARD aot_status aot_stream_seekable(aot_stream *s, FILE **file, const char **mem,
                                             size_t *n, aot_err *err);
/* What is wrong with the input as a whole (read error, damaged .gz); NULL if nothing. */
const char *aot_stream_trouble(const aot_stream *s);
uint64_t aot_stream_done(const aot_stream *s);  /* bytes taken, compressed ones if it is a .gz */
uint64_t aot_stream_total(const aot_stream *s); /* 0 if not known */
uint64_t aot_stream_bytes(const aot_stream *s); /* bytes of the lines handed out so far */

#endif
