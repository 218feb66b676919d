/* Between the wrappers and the mistakes that are made on purpose. */
#ifndef AOT_EXEC_FAULT_H
#define AOT_EXEC_FAULT_H

#include "exec/run_unit.h"

/* By returned value of the forward: whether it is computed from one of the placeholders for which
 * of[k] holds, counted from 0; a placeholder itself is not. The caller frees it. Cost: linear. */
bool *aot_fault_depends(const aot_graph *forward, const bool *of, unsigned n_returned);

#endif
