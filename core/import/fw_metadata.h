/* What is needed of a ViewAndMutationMeta text (artifact aot_forward_graph_fw_metadata, or the
 * "aot_config id" line of TORCH_LOGS), for every version's spelling of it. */
#ifndef AOT_IMPORT_FW_METADATA_H
#define AOT_IMPORT_FW_METADATA_H

#include <stddef.h>

#include "base/arena.h"
#include "capture/metadata.h"

/* Reads the first ViewAndMutationMeta(...) in the text. False if there is none; a text that breaks
 * off gives what was read. Arrays are in a. */
bool aot_fw_metadata_parse(aot_fw_metadata *out, aot_arena *a, const char *text, size_t n);
/* Its keep_input_mutations alone, which is what the backend asked for as
 * keep_inference_input_mutations. False: not said, *keeps stays. */
bool aot_fw_metadata_keeps(bool *keeps, const char *text, size_t n);

#endif
