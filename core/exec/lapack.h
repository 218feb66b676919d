/* The routines of LAPACK that kernels call, as Fortran has them: all arguments by address, matrices
 * column by column. */
#ifndef AOT_EXEC_LAPACK_H
#define AOT_EXEC_LAPACK_H

#include "exec/element.h"

typedef int aot_int; /* LAPACK's INTEGER */

#define LAPACK_BOTH(X)                                                                             \
    X(getrf, (const aot_int *m, const aot_int *n, SCALAR *a, const aot_int *lda, aot_int *pivots,  \
              aot_int *info))                                                                      \
    X(getrs,                                                                                       \
      (const char *trans, const aot_int *n, const aot_int *nrhs, const SCALAR *a,                  \
       const aot_int *lda, const aot_int *pivots, SCALAR *b, const aot_int *ldb, aot_int *info))   \
    X(potrf, (const char *uplo, const aot_int *n, SCALAR *a, const aot_int *lda, aot_int *info))   \
    X(potrs, (const char *uplo, const aot_int *n, const aot_int *nrhs, const SCALAR *a,            \
              const aot_int *lda, SCALAR *b, const aot_int *ldb, aot_int *info))                   \
    X(potri, (const char *uplo, const aot_int *n, SCALAR *a, const aot_int *lda, aot_int *info))   \
    X(trtrs, (const char *uplo, const char *trans, const char *diag, const aot_int *n,             \
              const aot_int *nrhs, const SCALAR *a, const aot_int *lda, SCALAR *b,                 \
              const aot_int *ldb, aot_int *info))                                                  \
    X(geqrf, (const aot_int *m, const aot_int *n, SCALAR *a, const aot_int *lda, SCALAR *tau,      \
              SCALAR *work, const aot_int *lwork, aot_int *info))

#define SCALAR double
#define X(name, args) void d##name##_ args;
LAPACK_BOTH(X)
#undef X
#undef SCALAR
#define SCALAR aot_complex
#define X(name, args) void z##name##_ args;
LAPACK_BOTH(X)
#undef X
#undef SCALAR

void dorgqr_(const aot_int *m, const aot_int *n, const aot_int *k, double *a, const aot_int *lda,
             const double *tau, double *work, const aot_int *lwork, aot_int *info);
void zungqr_(const aot_int *m, const aot_int *n, const aot_int *k, aot_complex *a,
             const aot_int *lda, const aot_complex *tau, aot_complex *work, const aot_int *lwork,
             aot_int *info);
void dormqr_(const char *side, const char *trans, const aot_int *m, const aot_int *n,
             const aot_int *k, const double *a, const aot_int *lda, const double *tau, double *c,
             const aot_int *ldc, double *work, const aot_int *lwork, aot_int *info);
void dsytrf_(const char *uplo, const aot_int *n, double *a, const aot_int *lda, aot_int *pivots,
             double *work, const aot_int *lwork, aot_int *info);
void dsytrs_(const char *uplo, const aot_int *n, const aot_int *nrhs, const double *a,
             const aot_int *lda, const aot_int *pivots, double *b, const aot_int *ldb,
             aot_int *info);
void dgesdd_(const char *jobz, const aot_int *m, const aot_int *n, double *a, const aot_int *lda,
             double *s, double *u, const aot_int *ldu, double *vt, const aot_int *ldvt,
             double *work, const aot_int *lwork, aot_int *iwork, aot_int *info);
void zgesdd_(const char *jobz, const aot_int *m, const aot_int *n, aot_complex *a,
             const aot_int *lda, double *s, aot_complex *u, const aot_int *ldu, aot_complex *vt,
             const aot_int *ldvt, aot_complex *work, const aot_int *lwork, double *rwork,
             aot_int *iwork, aot_int *info);
void dsyevd_(const char *jobz, const char *uplo, const aot_int *n, double *a, const aot_int *lda,
             double *w, double *work, const aot_int *lwork, aot_int *iwork, const aot_int *liwork,
             aot_int *info);
void zheevd_(const char *jobz, const char *uplo, const aot_int *n, aot_complex *a,
             const aot_int *lda, double *w, aot_complex *work, const aot_int *lwork, double *rwork,
             const aot_int *lrwork, aot_int *iwork, const aot_int *liwork, aot_int *info);
void dgeev_(const char *jobvl, const char *jobvr, const aot_int *n, double *a, const aot_int *lda,
            double *wr, double *wi, double *vl, const aot_int *ldvl, double *vr,
            const aot_int *ldvr, double *work, const aot_int *lwork, aot_int *info);
void zgeev_(const char *jobvl, const char *jobvr, const aot_int *n, aot_complex *a,
            const aot_int *lda, aot_complex *w, aot_complex *vl, const aot_int *ldvl,
            aot_complex *vr, const aot_int *ldvr, aot_complex *work, const aot_int *lwork,
            double *rwork, aot_int *info);

#endif
