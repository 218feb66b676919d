/* AOTConfig of a unit, field by field: as recorded, as set, or as Dynamo always has it.
 * Mirrors torch/_functorch/_aot_autograd/schemas.py:AOTConfig. */
#ifndef AOT_RUNTIME_AOTCONFIG_H
#define AOT_RUNTIME_AOTCONFIG_H

#include "capture/capture.h"
#include "pipeline/config.h"

/* What the fields are made of. */
typedef struct aot_config_of {
    const aot_config *config;
    const aot_calling *calling;
    const char *backend; /* that compiled it; "" unknown */
    const char *cache;   /* NULL: not used */
    const char *const *sources; /* L['x'] of each described input */
    unsigned n_sources, n_symbols;
    int aot_id;
    bool decompose;
} aot_config_of;

typedef struct aot_config_field {
    /* setting NULL: there is none, for the reason in sentence */
    const char *name, *setting, *sentence;
} aot_config_field;

size_t aot_config_field_count(void);
const aot_config_field *aot_config_field_at(size_t i);
/* The value as text; static or in a. */
const char *aot_config_field_value(size_t i, const aot_config_of *c, aot_arena *a);

#endif
