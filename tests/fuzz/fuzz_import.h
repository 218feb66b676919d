/* What the fuzz targets share: a sink that looks at everything a unit holds and frees it. */
#ifndef AOT_TESTS_FUZZ_IMPORT_H
#define AOT_TESTS_FUZZ_IMPORT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/unit.h"
#include "ir/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void fuzz_touch(const char *s, size_t n)
{
    if (s != NULL && strlen(s) < n) {
        abort(); // a NUL inside a text that is said to be clean
    }
}

static inline aot_status fuzz_unit(void *arg, aot_unit *u, aot_err *err)
{
    char label[80];
    (void)arg;
    (void)err;
    aot_unit_label(&u->key, label, sizeof label);
    for (size_t i = 0; i < u->records.n; i++) {
        fuzz_touch(u->records.d[i].text, u->records.d[i].len);
        fuzz_touch(u->records.d[i].name, 0);
    }
    for (size_t i = 0; i < u->inputs.n; i++) {
        const aot_input_desc *d = &u->inputs.d[i];
        if (d->source == NULL || d->dtype == NULL || d->device == NULL || d->size == NULL ||
            d->stride == NULL) {
            abort();
        }
    }
    for (size_t i = 0; i < u->symbols.n; i++) {
        if (u->symbols.d[i].name == NULL || u->symbols.d[i].source == NULL) {
            abort();
        }
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (aot_unit_stage(u, (aot_stage)s) == NULL &&
            aot_unit_missing_reason(u, (aot_stage)s) == NULL) {
            abort();
        }
    }
    aot_unit_free(u);
    return AOT_OK;
}

static inline void fuzz_note(void *arg, const aot_import_note *n)
{
    (void)arg;
    fuzz_touch(n->text, 0);
    fuzz_touch(n->kind, 0);
}

static inline void fuzz_loose(void *arg, const aot_unit_key *key, const aot_record *r)
{
    (void)arg;
    (void)key;
    fuzz_touch(r->text, r->len);
}

static inline void fuzz_import(const char *name, const uint8_t *data, size_t n)
{
    aot_import_sink sink = {.on_unit = fuzz_unit, .on_note = fuzz_note, .on_loose = fuzz_loose};
    aot_import_stats stats;
    aot_err err = {0};
    aot_status st = aot_import_bytes(name, (const char *)data, n, &sink, &stats, &err);
    if (st != AOT_OK && err.msg[0] == '\0') {
        abort(); // an error must say something
    }
}

#endif
