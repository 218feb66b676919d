/* Fuzz target: TORCH_TRACE logs. Input that the sniffer would not take for one is given a header
 * first, so that the trace importer always runs. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char head[] =
        "V1129 14:44:12.811000 25371 torch/x.py:1] {\"dynamo_start\": {}, \"frame_id\": 0, "
        "\"frame_compile_id\": 0, \"attempt\": 0}\n";
    fuzz_import("fuzz.log", data, n);
    uint8_t *copy = malloc(sizeof head - 1 + n);
    memcpy(copy, head, sizeof head - 1);
    if (n > 0) {
        memcpy(copy + sizeof head - 1, data, n);
    }
    fuzz_import("trace_rank_1.log", copy, sizeof head - 1 + n);
    free(copy);
    return 0;
}
