/* Settings of the pipeline, as one struct made from config.def. */
#ifndef AOT_PIPELINE_CONFIG_H
#define AOT_PIPELINE_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

typedef bool aot_config_B;
typedef long aot_config_I;
typedef double aot_config_F;
typedef char aot_config_S[48];
typedef char aot_config_L[512]; /* operators with commas between, as given */

typedef struct aot_config {
#define CONFIG(field, name, type, def, range, doc) aot_config_##type field;
#include "pipeline/config.def"
#undef CONFIG
} aot_config;

typedef struct aot_config_row {
    const char *name, *range, *doc, *def_text;
    char type; /* 'B', 'I', 'F', 'S', 'L' */
    size_t offset;
} aot_config_row;

size_t aot_config_count(void);
const aot_config_row *aot_config_row_at(size_t i);
/* NULL if there is no such setting. */
const aot_config_row *aot_config_find(const char *name);

void aot_config_init(aot_config *c); /* PyTorch 2.11's defaults */
/* "name=value", value as Python writes it (True, 0.5, dp). E_USAGE names the setting, the value and
 * the range; an unknown name lists near ones. */
AOT_NODISCARD aot_status aot_config_set(aot_config *c, const char *assignment, aot_err *err);
/* Takes what it knows from a torch._functorch.config dump (a JSON object); the rest is ignored. */
void aot_config_from_json(aot_config *c, const json_t *dump);
/* Value of a row as Python writes it. */
void aot_config_print(aot_sb *out, const aot_config *c, const aot_config_row *row);

#endif
