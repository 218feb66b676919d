/* Python operators in FX text: one table for the printer and the parser. */
#ifndef AOT_IR_PYOPS_H
#define AOT_IR_PYOPS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct aot_pyop {
    const char *name; /* "add": target "operator.add" */
    int operands;
    const char *before, *between, *after; /* inplace: between = " += " */
    bool inplace;
} aot_pyop;

const aot_pyop *aot_pyops(size_t *n);
/* By target "operator.add"; NULL if FX does not print it as an operator. */
const aot_pyop *aot_pyop_of_target(const char *target);

#endif
