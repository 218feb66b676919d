/* What values that are read and values that are made up share. */
#ifndef AOT_SESSION_RUN_VALUES_INTERNAL_H
#define AOT_SESSION_RUN_VALUES_INTERNAL_H

#include "session/run_values.h"

/* Inputs that share memory in the unit get one storage, each at its offset; the very same tensor is
 * one array. */
void rv_share_memory(const aot_runnable *r, aot_xval *outer);
/* Numbers that are not given: sizes of what is, or what the unit was traced with. The place of one
 * that nothing tells, or -1. */
int rv_fill_symbols(const aot_runnable *r, const aot_unit *u, aot_xval *outer);

/* Where the k-th input of RuntimeWrapper starts among those of the graph, tokens apart: a tensor
 * subclass takes a place for each inner tensor. */
int rv_place_of(const aot_fw_metadata *m, int k);
/* The type of the graph's input at that place; NULL: there is none. */
const aot_meta *rv_input_type(const aot_runnable *r, int place);

#endif
