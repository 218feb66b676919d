/* What a cut adds to the metadata of a captured unit. */
#ifndef AOT_RUNTIME_CUT_H
#define AOT_RUNTIME_CUT_H

#include "capture/capture.h"
#include "partition/partition.h"

/* Fills the fields of class CUT and what PyTorch computes from them. Arrays belong to a. */
void aot_metadata_cut(aot_fw_metadata *m, const aot_partition *p, aot_arena *a);

#endif
