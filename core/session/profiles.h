/* Compile times of all compiles of an input: of its units, and of those that made no graph. */
#ifndef AOT_SESSION_PROFILES_H
#define AOT_SESSION_PROFILES_H

#include "import/profile.h"

typedef struct aot_compile_profile {
    const char *label, *title, *input;
    int64_t unit;         /* -1: the compile made no graph, or beside */
    bool beside;          /* steps of no compile: worker threads, which run while others wait */
    const char *why_none; /* why there are no times; NULL if there are */
    aot_profile *profile;
} aot_compile_profile;

typedef struct aot_profiles {
    aot_arena *arena;
    AOT_VEC(aot_compile_profile) compiles; /* units in order, then those without */
    AOT_VEC(aot_unit_key) keys;
} aot_profiles;

/* Reads logs, folders, sessions. Errors: as aot_import. */
AOT_NODISCARD aot_status aot_profiles_read(aot_profiles **out, const char *const *inputs,
                                           size_t n_inputs, aot_err *err);
void aot_profiles_free(aot_profiles *p); /* NULL is fine */

#endif
