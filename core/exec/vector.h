/* What makes vector instructions of plain loops. Included last by the files whose loops are worth
 * it.
 *
 * AOT_CLONES before a function: it is compiled for wider vectors too, and the machine's chosen at
 * run time where the system can (configure looks). No clone fuses a product with a sum, so all give
 * the same bits. */
#ifndef AOT_EXEC_VECTOR_H
#define AOT_EXEC_VECTOR_H

#if defined __clang__
#pragma clang fp contract(off)
#elif defined __GNUC__ && defined __OPTIMIZE__
/* At -O2 gcc leaves loops of unknown length alone, and those whose comparisons could trap or
 * functions set errno: nobody looks at either. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic", "no-trapping-math",              \
                     "no-math-errno")
#endif

#if defined AOT_HAVE_CLONES && !defined __clang__ // which wants it on the declaration, too
#define AOT_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define AOT_CLONES
#endif

#endif
