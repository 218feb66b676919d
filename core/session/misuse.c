/* The table of misuses and what they share. */
#include "session/misuse_internal.h"

#include <string.h>

static const aot_misuse_info infos[] = {
    {"", "", "", ""}, // AOT_NO_MISUSE
#define MISUSE_INPUTS(id, name, sentence, dynamo, aot) {name, sentence, dynamo, aot},
#define MISUSE_CALLS(id, name, sentence, dynamo, aot) {name, sentence, dynamo, aot},
#include "session/misuses.def"
#undef MISUSE_INPUTS
#undef MISUSE_CALLS
};

static aot_status (*const tries[])(misuse *m) = {
    NULL,
#define MISUSE_INPUTS(id, name, sentence, dynamo, aot) misuse_##id,
#define MISUSE_CALLS(id, name, sentence, dynamo, aot) misuse_##id,
#include "session/misuses.def"
#undef MISUSE_INPUTS
#undef MISUSE_CALLS
};

const aot_misuse_info *aot_misuse_get(aot_misuse m)
{
    return &infos[m];
}

aot_misuse aot_misuse_find(const char *name)
{
    for (unsigned m = AOT_NO_MISUSE + 1; m < AOT_N_MISUSES; m++) {
        if (strcmp(infos[m].name, name) == 0) {
            return (aot_misuse)m;
        }
    }
    return AOT_NO_MISUSE;
}

aot_status misuse_nothing(const misuse *m, const char *lacks)
{
    return AOT_FAIL(m->err, AOT_E_USAGE, "--misuse %s: the unit has %s", infos[m->kind].name,
                    lacks);
}

aot_status misuse_caught(misuse *m, aot_status s, const aot_err *e)
{
    if (s == AOT_E_USAGE) {
        vf_finding(&m->v, AOT_VERIFY_CHECK, "call", infos[m->kind].name, 0, NULL, "%s", e->msg);
        return AOT_OK;
    }
    if (s != AOT_OK && m->err != NULL) {
        *m->err = *e;
    }
    return s;
}

aot_run_in misuse_call(const misuse *m, aot_xval *outer)
{
    const aot_runnable *r = m->in->r;
    return (aot_run_in){.calling = &r->capture.calling,
                        .graph = r->joint,
                        .cut = r->cut,
                        .outer = outer,
                        .names = r->sources,
                        .debug_assert = r->debug_assert,
                        .trace = m->in->trace};
}

void misuse_compare(misuse *m, aot_verify_kind kind, const char *name, const aot_xval *got,
                    const aot_xval *expected)
{
    aot_ulps u;
    aot_ulps_compare(&u, got, expected, NULL);
    if (u.differs) {
        vf_finding(&m->v, kind, "call", name, 1, &u, "%s is not what %s", name,
                   kind == AOT_VERIFY_GRADIENT ? "one call after the other gives"
                                               : "compiling again gives");
    }
}

aot_status aot_misuse_try(aot_verify_out *out, const aot_misuse_in *in, aot_misuse kind,
                          aot_err *err)
{
    const aot_runnable *r = in->r;
    const aot_verify_in facts = {.calling = &r->capture.calling,
                                 .joint = r->joint,
                                 .cut = r->cut,
                                 .names = r->sources,
                                 .seed = in->seed};
    *out = (aot_verify_out){.arena = aot_arena_new()};
    misuse m = {
        .in = in, .kind = kind, .n_outer = (unsigned)r->capture.calling.n_outer, .err = err};
    m.v = (verify){.in = &facts, .out = out, .x = aot_exec_new()};
    aot_status s = tries[kind](&m);
    vf_note(&m.v, "Dynamo: %s", infos[kind].dynamo);
    vf_note(&m.v, "AOTAutograd: %s", infos[kind].aot);
    aot_exec_free(m.v.x);
    return s;
}
