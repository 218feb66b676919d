/* Where the time of a compile went, read from what PyTorch logs of it: chromium events (a begin and
 * an end for each step) and, where there are none, the totals of compilation_metrics. */
#ifndef AOT_IMPORT_PROFILE_H
#define AOT_IMPORT_PROFILE_H

#include "import/unit.h"

typedef enum aot_phase {
#define PHASE(id, title, sentence) AOT_PHASE_##id,
#include "import/phases.def"
    AOT_N_PHASES
} aot_phase;

typedef struct aot_phase_info {
    const char *title, *sentence;
} aot_phase_info;
const aot_phase_info *aot_phase_get(aot_phase p);

/* One step. */
typedef struct aot_time_span {
    const char *name;
    aot_phase phase;
    double start, seconds; /* seconds; start: since the first span of its compile */
    double self;           /* without the spans inside */
    int parent;            /* index; -1 */
    unsigned depth;
    bool open;             /* its end is not in the log: it ends with the span around it */
} aot_time_span;

typedef enum aot_profile_source {
    AOT_PROFILE_NONE,
    AOT_PROFILE_EVENTS,  /* chromium events */
    AOT_PROFILE_METRICS  /* compilation_metrics: no spans, and partition is part of aot trace */
} aot_profile_source;

typedef struct aot_profile {
    aot_arena *arena;
    aot_profile_source source;
    AOT_VEC(aot_time_span) spans; /* in order of their starts */
    AOT_VEC(const char *) cache; /* autograd_cache_miss, fx_graph_cache_hit, .. in order */
    double seconds[AOT_N_PHASES], total;
    /* below: while it is filled */
    AOT_VEC(int) stack;
    double first, last; /* microseconds */
    double metrics[AOT_N_PHASES];
    bool has_metrics;
} aot_profile;

aot_profile *aot_profile_new(void);
void aot_profile_free(aot_profile *p); /* NULL is fine */
/* Takes what a record tells of times; others are passed over. */
void aot_profile_add(aot_profile *p, const aot_record *r);
/* Whether a record tells of times at all. */
bool aot_profile_takes(const aot_record *r);
/* Seconds that a unit's records tell of its compile; -1: none do. Of a log, the model adds to the
 * records the times of a backward that was compiled later; in a session they are beside it. */
double aot_profile_unit_seconds(const aot_unit *u);
/* Ends what is open and adds up. */
void aot_profile_finish(aot_profile *p);

#endif
