/* The place of a session that is to be written: where it really is, who else writes it, and what
 * earlier writers left beside it. */
#ifndef AOT_SESSION_PLACE_H
#define AOT_SESSION_PLACE_H

#include "base/err.h"

typedef struct aot_place {
    char *file; /* the file itself: path with symbolic links followed */
    char *lock; /* file beside it that is locked while we write */
    int lock_fd;
} aot_place;

/* Locks the place and clears what writers that no longer run left beside it.
 * Errors: E_IO (no ordinary file can be there), E_SESSION (another import is writing it). */
AOT_NODISCARD aot_status aot_place_take(aot_place *p, const char *path, aot_err *err);
void aot_place_release(aot_place *p); /* all zero is fine */

/* Why a session cannot be at path ("is a folder", "is a pipe or a device"); NULL if it can. */
const char *aot_place_refuses(const char *path);
/* Who has a session that is not complete: the lock tells, where its writer takes one. */
typedef enum aot_place_writer {
    AOT_PLACE_WRITER_UNKNOWN,
    AOT_PLACE_WRITER_RUNS,
    AOT_PLACE_WRITER_STOPPED
} aot_place_writer;
aot_place_writer aot_place_writer_of(const char *file);
/* True if SQLite left a file beside this one that says that a writer was stopped. */
bool aot_place_has_rest(const char *file);
/* Removes what SQLite keeps beside the file: -wal, -shm, -journal. */
void aot_place_remove_rest(const char *file);
/* The file and its rest. */
void aot_place_remove(const char *file);

/* Where a signal ends the program, the file `temp` of this place, its rest and the lock are
 * removed; NULL: no more. The handler is for whoever may set one: it ends the program by the
 * signal. */
void aot_place_remove_at_end(const aot_place *p, const char *temp);
void aot_place_on_signal(int sig);

#endif
