/* From records to units: which record belongs to which unit, when a unit is complete, in which
 * order units are handed out. Shared by all importers. */
#ifndef AOT_IMPORT_ASSEMBLE_H
#define AOT_IMPORT_ASSEMBLE_H

#include "import/unit.h"

typedef struct aot_assembler aot_assembler;

/* A unit that is still open, or waits for late records. */
typedef struct aot_slot {
    aot_unit *u;
    uint64_t stream;      /* process the records come from */
    uint64_t line;        /* of its first record */
    size_t bytes;         /* held by its records */
    bool started;         /* dynamo_start was seen */
    bool headings;        /* graphs were named by headings, which call inference graphs forward */
    bool fork;            /* inputs and symbols to be copied from the unit it was split from */
    uint32_t n_mismatches; /* payloads that differ from their sums */
    uint64_t mismatch_line;
    const char *mismatch_name;
} aot_slot;

/* What kind of record asks for a unit. */
typedef enum aot_join {
    AOT_JOIN_ANY,   /* belongs to the newest unit of that key; opens one if the key has ids */
    AOT_JOIN_FACT,  /* the same, and opens one even without ids */
    AOT_JOIN_START, /* a compile begins: what has content under the same key is another unit */
    AOT_JOIN_META,  /* ViewAndMutationMeta: one a unit */
    AOT_JOIN_GRAPH  /* the graph of a stage: one a unit */
} aot_join;

/* counter: index of the next unit, shared by the files of one import. */
aot_assembler *aot_assembler_new(const char *file, const aot_import_sink *sink,
                                 aot_import_stats *stats, uint32_t *counter);
void aot_assembler_free(aot_assembler *as); /* units not handed out are freed */

/* The slot a record belongs to, opened if need be; NULL if it belongs to no unit. aot_id: from a
 * heading "Joint graph 3"; -1 if not known. */
aot_slot *aot_assemble_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *key,
                            aot_join how, aot_stage stage, int aot_id, uint64_t line);
/* Adds a record (texts are copied into the unit). slot NULL: handed out as loose at once. */
void aot_assemble_record(aot_assembler *as, aot_slot *slot, const aot_unit_key *key,
                         const aot_record *r);
void aot_assemble_note(aot_assembler *as, aot_slot *slot, uint64_t line, const char *kind,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Hands out units that are complete and no longer waited for; with all, every one. */
AOT_NODISCARD aot_status aot_assemble_deliver(aot_assembler *as, bool all, aot_err *err);
/* Writer's version, for units that open from now on and those that have none yet. */
void aot_assemble_version(aot_assembler *as, const char *version);

/* Completes a unit from its records: configuration, metadata, cache, title, stage of a graph that
 * old versions called forward. (unit_finish.c) */
void aot_unit_finish(aot_slot *slot);

#endif
