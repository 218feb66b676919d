/* Fuzz target: a graph text through every stage that follows from it: tracing, joint passes, the
 * cut, the runtime wrappers. Damaged graphs give errors that say something. */
#include <stdio.h>
#include <unistd.h>

#include "fuzz_import.h"
#include "session/model.h"

static void check(aot_status st, const aot_err *err)
{
    if (st != AOT_OK && err->msg[0] == '\0') {
        abort(); // an error must say something
    }
}

static void ask(aot_model *m, size_t unit)
{
    const aot_partition *p;
    const aot_runtime *r;
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_graph *g;
        aot_err err = {0};
        check(s == AOT_STAGE_RUNTIME ? aot_model_runtime(m, unit, &r, &err)
                                     : aot_model_graph(m, unit, (aot_stage)s, &g, &err),
              &err);
    }
    aot_err err = {0};
    check(aot_model_partition(m, unit, &p, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[] = "/tmp/fuzz_stages.XXXXXX.txt";
    int fd = mkstemps(path, 4);
    if (fd < 0) {
        return 0;
    }
    bool written = write(fd, data, n) == (ssize_t)n;
    close(fd);
    const char *const inputs[] = {path};
    aot_model *m = NULL;
    aot_err err = {0};
    aot_status st = written ? aot_model_open(&m, inputs, 1, &(aot_model_options){0}, &err) : AOT_OK;
    check(st, &err);
    for (size_t i = 0; m != NULL && i < aot_model_n_units(m); i++) {
        ask(m, i);
    }
    aot_model_free(m);
    unlink(path);
    return 0;
}
