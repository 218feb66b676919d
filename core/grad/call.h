/* Formulas that are one call of one operator, as tables: what goes where.
 *
 *     GRAD_CALL(vjp_avg_pool2d, SETS(0), aten_avg_pool2d_backward, G(0), A(0), A(1), A(2))
 *
 * defines a rule: the operator is called with the gradient of output 0 and arguments 0, 1 and 2,
 * and its results are the gradients of the arguments that SETS lists. Nothing is called if none of
 * these needs a gradient, or if the first gradient that the call reads is undefined.
 *
 * The keys of an entry in derivatives.yaml run in alphabetical order: a rule with several calls
 * does `other` before `self`, `source` after `self`. */
#ifndef AOT_GRAD_CALL_H
#define AOT_GRAD_CALL_H

#include "trace/trace.h"

/* Items of a call; the low byte says which. */
enum {
    AOT_CALL_GRAD = 1 << 8,       /* gradient of an output */
    AOT_CALL_CONTIGUOUS = 2 << 8, /* the same, made contiguous */
    AOT_CALL_ARG = 3 << 8,        /* argument */
    AOT_CALL_OUT = 4 << 8,        /* saved output */
    /* sizes of a tensor argument; [0] if it is None, as PyTorch has it */
    AOT_CALL_SIZES = 5 << 8,
    AOT_CALL_INT = 6 << 8,        /* the number itself */
    AOT_CALL_NONE = 7 << 8,
    AOT_CALL_MASK = 8 << 8,       /* which arguments of SETS need a gradient, a list of bools */
    AOT_CALL_ONES = 9 << 8,       /* as many ones as the list argument has items */
    AOT_CALL_ZEROS = 10 << 8      /* the same with zeros */
};
#define G(i) (AOT_CALL_GRAD | (i))
#define GC(i) (AOT_CALL_CONTIGUOUS | (i))
#define A(i) (AOT_CALL_ARG | (i))
#define R(i) (AOT_CALL_OUT | (i))
#define SIZES(i) (AOT_CALL_SIZES | (i))
#define INT(i) (AOT_CALL_INT | (i))
#define NIL AOT_CALL_NONE
#define MASK AOT_CALL_MASK
#define ONES(i) (AOT_CALL_ONES | (i))
#define ZEROS(i) (AOT_CALL_ZEROS | (i))

typedef struct aot_grad_sets {
    uint8_t n, d[7]; /* arguments */
} aot_grad_sets;

typedef struct aot_grad_call {
    aot_op_id op;
    aot_grad_sets sets;
    unsigned n;
    const uint16_t *items;
} aot_grad_call;

void aot_grad_run(aot_vjp *b, const aot_grad_call *call);

#define SETS(...) ((aot_grad_sets){sizeof((uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}})
#define GRAD_CALL(name, sets, op, ...)                                                            \
    void name(aot_vjp *b)                                                                         \
    {                                                                                             \
        GRAD_RUN(b, sets, op, __VA_ARGS__);                                                       \
    }
/* The same inside a rule: GRAD_RUN(b, SETS(1), op, items). */
#define GRAD_RUN(b, sets, op, ...)                                                                \
    aot_grad_run(b, &(const aot_grad_call){AOT_OP_##op, sets,                                     \
                                           sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t),  \
                                           (const uint16_t[]){__VA_ARGS__}})

#endif
