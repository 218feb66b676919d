/* Fuzz target: graph text, through the text importer and through the parser. What the parser takes
 * must print; what was printed is read again. */
#include "fuzz_import.h"

static void print(aot_sb *out, const char *text, size_t n)
{
    aot_ctx *c = aot_ctx_new();
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_status st = aot_parse_graph(&g, c, text, n, 1, &err);
    if (st == AOT_OK) {
        aot_print_graph(out, g, AOT_PRINT_PLAIN);
    } else if (err.msg[0] == '\0') {
        abort(); // an error must say something
    }
    aot_ctx_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    aot_sb once = {0}, twice = {0};
    fuzz_import("fuzz.txt", data, n);
    if (n == 0 || memchr(data, 0, n) == NULL) {
        print(&once, (const char *)data, n);
        if (once.n > 0) {
            print(&twice, once.d, once.n);
        }
    }
    aot_sb_free(&once);
    aot_sb_free(&twice);
    return 0;
}
