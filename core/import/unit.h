/* What an importer delivers: units. A unit is one compiled graph: the records of one compile id and
 * attempt on one rank that belong together, as texts, with the facts read from them.
 *
 * Units are delivered when they are complete (another compile starts on the same rank, or the input
 * ends), so memory is bounded by the units that are open. */
#ifndef AOT_IMPORT_UNIT_H
#define AOT_IMPORT_UNIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "pipeline/stage.h"

typedef struct aot_unit_key {
    int rank;                /* -1 if the input does not say */
    int compiled_autograd_id; /* -1 if none: "!0/1/0" */
    int frame, compile, attempt; /* -1 if unknown */
    int split;               /* 0; 1, 2 .. for further AOT graphs under one compile id */
} aot_unit_key;

/* One record of a log. */
typedef struct aot_record {
    const char *name;    /* "aot_joint_graph"; for artifacts the artifact's name */
    const char *text;    /* payload without the leading tabs; NULL if the record has none */
    size_t len;
    const char *meta;    /* the header's own object as JSON text; NULL if empty */
    uint64_t line;       /* of the payload's first line in the input; 0 unknown */
    uint32_t n_missing;  /* 1 if a payload was announced and is not there */
    bool is_artifact, is_json;
    aot_stage stage;     /* AOT_N_STAGES if it is not a graph of a stage */
} aot_record;

/* An input as described by describe_tensor, describe_storage and describe_source. */
typedef struct aot_input_desc {
    const char *source; /* L['x'] */
    const char *dtype;  /* torch.float32 */
    const char *device; /* cpu, cuda:0 */
    int describer, tensor, storage; /* ids; storage equal = memory shared */
    int64_t storage_bytes; /* -1 unknown */
    int64_t offset;     /* storage offset in elements */
    const char *size, *stride; /* as JSON arrays */
    bool requires_grad, is_leaf, is_parameter, is_view;
} aot_input_desc;

typedef struct aot_symbol {
    const char *name, *source, *range; /* s77, L['x'].size()[0], [2, int_oo] */
    int64_t hint;
    bool has_hint;
    int64_t told; /* the input's hint, where the reader's stands in its place */
    /* session/hints.h */
    enum { AOT_HINT_AS_TOLD, AOT_HINT_REPLACED, AOT_HINT_FILLED, AOT_HINT_ADDED } taken;
} aot_symbol;

typedef struct aot_import_note {
    const char *file;
    uint64_t line;      /* 0 unknown */
    const char *kind;   /* "damage", "skipped", "missing", "checksum", "info" */
    const char *text;
} aot_import_note;

typedef struct aot_unit {
    aot_arena *arena; /* owns everything below */
    aot_unit_key key;
    uint32_t index;     /* order in the input, from 0 */
    const char *input;  /* file it came from */
    const char *title;  /* user's function if known: "forward model.py:12"; else "" */
    const char *torch_version; /* of the writer, "" unknown */
    int aot_id;         /* from "aot_config id:"; -1 unknown */
    AOT_VEC(aot_record) records;
    AOT_VEC(aot_input_desc) inputs;
    AOT_VEC(aot_symbol) symbols;
    AOT_VEC(aot_import_note) notes;
    json_t *config;       /* torch._functorch.config dump; NULL if not logged */
    /* of a session: "name=value" that it was made with on top of config */
    AOT_VEC(const char *) set;
    /* what is changed about it (partition/edits.h); borrowed; NULL: nothing */
    const struct aot_unit_edits *edits;
    const char *fw_metadata; /* ViewAndMutationMeta text; NULL if not logged */
    int *static_inputs;   /* static_input_indices of fw_metadata */
    int n_static_inputs;  /* -1 if not known */
    int n_forward_outputs; /* read from fw_metadata; -1 if not known */
    const char *cache;    /* "hit", "miss", "bypass" or NULL */
    double seconds;       /* of the compile, from compilation_metrics; < 0 unknown */
    const char *backend;  /* best knowledge: "aot_eager", "inductor", "" */
    /* PyTorch compiled again, in a later attempt, before it cut this joint graph */
    bool given_up;
} aot_unit;

aot_unit *aot_unit_new(void); /* empty: every fact unknown; for readers of sessions too */
void aot_unit_free(aot_unit *u);
/* Whether both are attempts at one compile: the same function under the same number (a recorder
 * numbers all frames 0/0). */
bool aot_unit_other_attempt(const aot_unit *u, const aot_unit *other);
/* Whether later is the attempt after u, which did not finish: it has no forward. */
bool aot_unit_was_restarted(const aot_unit *u, const aot_unit *later);
/* The same of a u that has a joint graph: a float that cannot stay symbolic makes PyTorch start
 * again so. */
bool aot_unit_was_given_up(const aot_unit *u, const aot_unit *later);
/* Whether a frame is of PyTorch's own Python code, which a title does not name where another one
 * does. */
bool aot_unit_is_torch_file(const char *path);
/* First record of a stage; NULL if the unit has none. */
const aot_record *aot_unit_stage(const aot_unit *u, aot_stage s);
/* First record by name; NULL. */
const aot_record *aot_unit_record(const aot_unit *u, const char *name);
/* "[1/0_2] rank 0"-like label into buf; returns buf. */
const char *aot_unit_label(const aot_unit_key *k, char *buf, size_t size);
/* Why the unit lacks a stage ("compiled from cache", "not logged"), one sentence. */
const char *aot_unit_missing_reason(const aot_unit *u, aot_stage s);

/* Counts over a whole input. */
typedef struct aot_import_stats {
    uint64_t bytes, lines, records, graphs, skipped_records, damaged_records, payload_mismatches;
    uint32_t units, files;
} aot_import_stats;

typedef struct aot_import_sink {
    void *arg;
    /* Takes the unit (free it with aot_unit_free). A status other than AOT_OK stops the import. */
    aot_status (*on_unit)(void *arg, aot_unit *u, aot_err *err);
    void (*on_note)(void *arg, const aot_import_note *n); /* notes of no unit; may be NULL */
    /* A record that belongs to no unit or came after its unit was delivered (backward metrics,
     * chromium events); may be NULL. key may be NULL. */
    void (*on_loose)(void *arg, const aot_unit_key *key, const aot_record *r);
    /* bytes; total 0 = unknown; may be NULL */
    void (*on_progress)(void *arg, uint64_t done, uint64_t total);
} aot_import_sink;

/* Reads a log, a graph text, a .gz of these, a folder of rank logs, or "-" (standard input); the
 * kind is found from the content. Damage is noted and passed over; only an input that cannot be
 * opened, or holds nothing known, is an error. stats may be NULL. */
AOT_NODISCARD aot_status aot_import(const char *path, const aot_import_sink *sink,
                                    aot_import_stats *stats, aot_err *err);
/* The same for bytes in memory (tests, fuzzing); name stands in notes. */
AOT_NODISCARD aot_status aot_import_bytes(const char *name, const char *data, size_t n,
                                          const aot_import_sink *sink, aot_import_stats *stats,
                                          aot_err *err);

#endif
