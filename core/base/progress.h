/* What a long step of this thread is at, for one who watches from another thread and may ask it to
 * stop.
 *
 *     aot_progress_begin("reading", "joint", n_bytes);
 *     while (...) { if (!aot_progress_at(done)) { stop } }
 *     aot_progress_end();
 *
 * Where nobody watches these calls do nothing. Steps do not nest: the one that begins is what is
 * told of. */
#ifndef AOT_BASE_PROGRESS_H
#define AOT_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct aot_progress {
    /* static texts; what NULL: between steps; of may be NULL */
    _Atomic(const char *) what, of;
    _Atomic uint64_t done, total;        /* in the step's own unit; total 0: not known */
    atomic_bool may_stop, stop;          /* the step asks; the watcher sets, the next step clears */
    atomic_uint begun;                   /* steps so far */
    /* for tests: the next step that can be stopped is, at its start */
    bool stop_next;
} aot_progress;

/* Steps of this thread are told to p from now on; NULL: to nobody. p is borrowed. */
void aot_progress_watch(aot_progress *p);

void aot_progress_begin(const char *what, const char *of, uint64_t total);
/* How far it is; false: it should fail, for it was asked to stop. */
bool aot_progress_at(uint64_t done);
/* Whether the step that was last was stopped so. */
bool aot_progress_stopped(void);
void aot_progress_end(void);

#endif
