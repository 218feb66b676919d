/* A step writes, its watcher reads: relaxed atomics, for a figure that is a moment old does no
 * harm. */
#include "base/progress.h"

#include <stddef.h>

static _Thread_local aot_progress *watched;

void aot_progress_watch(aot_progress *p)
{
    watched = p;
}

void aot_progress_begin(const char *what, const char *of, uint64_t total)
{
    if (watched != NULL) {
        atomic_store(&watched->done, 0);
        atomic_store(&watched->total, total);
        atomic_store(&watched->may_stop, false);
        atomic_store(&watched->stop, watched->stop_next && total > 0);
        watched->stop_next = watched->stop_next && total == 0;
        atomic_store(&watched->of, of);
        atomic_store(&watched->what, what);
        atomic_fetch_add(&watched->begun, 1);
    }
}

bool aot_progress_at(uint64_t done)
{
    if (watched == NULL) {
        return true;
    }
    atomic_store_explicit(&watched->done, done, memory_order_relaxed);
    atomic_store_explicit(&watched->may_stop, true, memory_order_relaxed);
    return !atomic_load_explicit(&watched->stop, memory_order_relaxed);
}

bool aot_progress_stopped(void)
{
    return watched != NULL && atomic_load(&watched->stop);
}

void aot_progress_end(void)
{
    if (watched != NULL) {
        atomic_store(&watched->what, NULL);
    }
}
