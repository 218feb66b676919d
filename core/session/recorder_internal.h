/* Shared by the two halves of the recorder: recorder.c (units) and recorder_graphs.c (graphs,
 * passes). */
#ifndef AOT_SESSION_RECORDER_INTERNAL_H
#define AOT_SESSION_RECORDER_INTERNAL_H

#include "session/recorder.h"

/* The statements of recorder.c's table sql. */
typedef enum stmt_id {
    S_TEXT,
    S_TEXT_FIND,
    S_FILE,
    S_FILE_END,
    S_UNIT,
    S_RECORD,
    S_INPUT,
    S_SYMBOL,
    S_NOTE,
    S_CONFIG,
    S_STAGE_GRAPH,
    S_MISSING,
    S_NODE,
    S_RNG,
    S_OP,
    S_RUN,
    S_RUN_END,
    S_PARTITION,
    S_PART_NOTE,
    S_CHECK,
    S_UNIT_OF,
    S_EDIT,
    S_WRAPPER,
    S_PATH,
    S_MEMORY,
    N_STMTS
} stmt_id;

struct aot_recorder {
    aot_session *session;
    sqlite3 *db;
    sqlite3_stmt *stmt[N_STMTS];
    aot_observer observer;
    aot_err err; /* first trouble */
    sqlite3_int64 file, pass_run, n_units;
    sqlite3_int64 unit;      /* the current one; -1 before the first */
    int64_t *record_of;      /* session ids of the unit's records, by index */
    const aot_unit *current; /* the unit that record_of belongs to; compared, never read later */
    size_t n_records;
    const aot_graph *stages[AOT_N_STAGES]; /* of the unit, as long as its context lives */
    uint32_t n_unchanged[AOT_N_STAGES];
    uint8_t *op_done; /* by aot_op_id */
    uint32_t n_batch;
    AOT_VEC(int64_t) called; /* graph, unit, graph, unit .. of the recording that is being copied */
};

/* The statement, reset, to be bound; then aot_rec_run. */
sqlite3_stmt *aot_rec_take(aot_recorder *r, stmt_id id);
void aot_rec_run(aot_recorder *r, stmt_id id);
void aot_rec_exec(aot_recorder *r, const char *statement);
/* NULL and "" are both stored as NULL: nothing known. */
void aot_rec_bind_text(sqlite3_stmt *s, int i, const char *t);
void aot_rec_bind_text_always(sqlite3_stmt *s, int i, const char *t);
/* 0 is none. */
void aot_rec_bind_id(sqlite3_stmt *s, int i, sqlite3_int64 id);
/* Units count from 0, as commands list them; -1 is none. */
void aot_rec_bind_unit(sqlite3_stmt *s, int i, sqlite3_int64 unit);
void aot_rec_bind_line(sqlite3_stmt *s, int i, uint64_t line);
/* Id of the text, storing it if it is new; 0 for NULL. */
sqlite3_int64 aot_rec_text_id(aot_recorder *r, const char *text, size_t n);
void aot_rec_add_note(aot_recorder *r, sqlite3_int64 unit, const aot_import_note *n);
/* Rows of mem_event (recorder_memory.c). */
void aot_rec_memory(aot_recorder *r, const aot_partition *p);
/* What listens to passes (recorder_graphs.c). */
aot_observer aot_rec_observer(aot_recorder *r);

#endif
