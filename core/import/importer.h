/* Between import.c, which opens inputs and sniffs them, and the importers. */
#ifndef AOT_IMPORT_IMPORTER_H
#define AOT_IMPORT_IMPORTER_H

#include "base/str.h"
#include "import/assemble.h"
#include "import/stream.h"
#include "import/unit.h"

/* One input being read. */
typedef struct aot_import_run {
    aot_stream *in;
    const char *file;
    int file_rank;      /* from the file's name; -1 */
    const aot_import_sink *sink;
    aot_import_stats *stats;
    aot_assembler *units;
    uint64_t next_progress, bytes_before, total_before;
} aot_import_run;

typedef struct aot_importer {
    const char *name, *sentence;
    bool (*sniff)(const char *data, size_t n); /* of the first bytes */
    aot_status (*read)(aot_import_run *run, aot_err *err);
} aot_importer;

/* Next line, with progress and counts. */
bool aot_import_line(aot_import_run *run, aot_line *line);
/* Notes that the input is cut off if its last line has no end. */
void aot_import_check_end(aot_import_run *run, const aot_line *last);
/* Makes a text safe for screens and sessions: bytes that are no UTF-8, and control characters but
 * for tabs and line ends, become U+FFFD. Returns how many were replaced; out is untouched if
 * none. */
size_t aot_import_clean(aot_sb *out, const char *s, size_t n);
/* Rank in a file name ("..._rank_3_abc.log"); -1. */
int aot_import_rank_of_name(const char *path);

/* The stage of a graph text without a heading; previous: of the graph before it (AOT_N_STAGES:
 * none), since a backward looks like a joint graph. */
aot_stage aot_import_stage_of_text(const char *s, size_t n, aot_stage previous);

/* Calls fn for each line of a block of bytes until it returns true; true if it did. */
bool aot_import_any_line(const char *data, size_t n, bool (*fn)(const char *s, size_t n));

/* Parses "V1129 14:44:12.811000 25371 torch/x.py:276] "; returns its length, 0 if the line does not
 * start so. pid and place (a slice of s) may be NULL. */
size_t aot_import_glog(const char *s, size_t n, uint64_t *pid, const char **place,
                       size_t *place_len);
/* Length of launchers' prefixes: "[rank3]:", "[default0]:", "3: " before a log line. rank is set
 * if they say one. */
size_t aot_import_launcher(const char *s, size_t n, int *rank);

#define IMPORTER(name, sniff, read, sentence)               \
    bool sniff(const char *data, size_t n);                 \
    aot_status read(aot_import_run *run, aot_err *err);
#include "import/importers.def"
#undef IMPORTER

#endif
