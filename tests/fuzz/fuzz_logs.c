/* Fuzz target: TORCH_LOGS output. A first line makes the sniffer choose that importer. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char head[] = "TRACED GRAPH\n";
    uint8_t *copy = malloc(sizeof head - 1 + n);
    memcpy(copy, head, sizeof head - 1);
    if (n > 0) {
        memcpy(copy + sizeof head - 1, data, n);
    }
    fuzz_import("fuzz.stderr", copy, sizeof head - 1 + n);
    free(copy);
    return 0;
}
