/* Fuzz target: .pt2 archives. What begins as a zip is read as one; anything else is taken for the
 * JSON of a program and put into an archive, since a mutated archive fails at its checksums. */
#include "fuzz_import.h"

#include "../zip_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n >= 4 && memcmp(data, "PK\3\4", 4) == 0) {
        fuzz_import("fuzz.pt2", data, n);
        return 0;
    }
    zip_member members[] = {
        {"fuzz/models/model.json", n > 0 ? (const char *)data : "", n},
        {"fuzz/data/weights/model_weights_config.json", n > 0 ? (const char *)data : "", n},
    };
    aot_sb zip = {0};
    zip_write(&zip, members, 2);
    fuzz_import("fuzz.pt2", (const uint8_t *)zip.d, zip.n);
    aot_sb_free(&zip);
    return 0;
}
