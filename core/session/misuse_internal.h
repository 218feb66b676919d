/* Between the files of misuse. */
#ifndef AOT_SESSION_MISUSE_INTERNAL_H
#define AOT_SESSION_MISUSE_INTERNAL_H

#include "exec/verify_internal.h"
#include "session/misuse.h"

typedef struct misuse {
    const aot_misuse_in *in;
    aot_misuse kind;
    verify v; /* for findings and notes */
    unsigned n_outer;
    aot_err *err;
} misuse;

#define MISUSE_INPUTS(id, name, sentence, dynamo, aot) aot_status misuse_##id(misuse *m);
#define MISUSE_CALLS(id, name, sentence, dynamo, aot) aot_status misuse_##id(misuse *m);
#include "session/misuses.def"
#undef MISUSE_INPUTS
#undef MISUSE_CALLS

aot_status misuse_nothing(const misuse *m,
                          const char *lacks); /* the error that there is nothing to try it with */
/* A call that a wrapper or autograd refused: E_USAGE becomes a finding, any other error stays
 * one. */
aot_status misuse_caught(misuse *m, aot_status s, const aot_err *e);
/* The unit as the call takes it. */
aot_run_in misuse_call(const misuse *m, aot_xval *outer);
/* Findings where values of two runs differ. */
void misuse_compare(misuse *m, aot_verify_kind kind, const char *name, const aot_xval *got,
                    const aot_xval *expected);

#endif
