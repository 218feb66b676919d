/* Parts of the TORCH_TRACE importer. */
#ifndef AOT_IMPORT_TRACE_H
#define AOT_IMPORT_TRACE_H

#include "base/str.h"
#include "import/assemble.h"
#include "import/json_scan.h"

typedef enum aot_record_do { /* see records.def */
    AOT_DO_GRAPH,
    AOT_DO_START,
    AOT_DO_FACT,
    AOT_DO_KEEP,
    AOT_DO_META,
    AOT_DO_DROP
} aot_record_do;

typedef struct aot_record_kind {
    const char *name;
    aot_stage stage;
    aot_record_do what;
} aot_record_kind;

/* NULL if the name is not in records.def. */
const aot_record_kind *aot_record_kind_find(const char *name, size_t n);

/* Interned strings of each process, and storage sizes of the describer at work. */
typedef struct aot_trace_strings {
    int rank;
    AOT_VEC(char *) text; /* by id; NULL = not seen */
} aot_trace_strings;

typedef struct aot_trace_storage {
    int rank, describer, id;
    int64_t bytes;
} aot_trace_storage;

typedef struct aot_trace_facts {
    AOT_VEC(aot_trace_strings) strings;
    AOT_VEC(aot_trace_storage) storages;
} aot_trace_facts;

void aot_trace_facts_free(aot_trace_facts *f);
bool aot_trace_is_string(const aot_slice *name); /* "str", "string_table": of no unit */
/* Reads a FACT record into the unit (NULL for strings). */
void aot_trace_fact(aot_trace_facts *f, aot_unit *u, int rank, aot_slice name, aot_slice meta);
/* dynamo_start: the user's function is the innermost frame. */
void aot_trace_start(aot_trace_facts *f, aot_unit *u, int rank, aot_slice meta);
/* torch_version artifact or compilation_metrics: the writer's version. */
void aot_trace_version(aot_assembler *units, const aot_record *r);

/* Takes the first module text out of a longer text ("ExportedProgram:" ...), indentation removed.
 * Returns its line in the text (from 1), 0 if there is none. (block.c) */
uint64_t aot_text_extract_class(aot_sb *out, const char *text, size_t n);


#endif
