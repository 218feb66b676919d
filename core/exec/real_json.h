/* Reals as JSON, for what includes no array. */
#ifndef AOT_EXEC_REAL_JSON_H
#define AOT_EXEC_REAL_JSON_H

#include <jansson.h>

/* A number; "nan", "inf", "-inf", which JSON has no numbers for. Never NULL. */
json_t *aot_real_json(double x);

#endif
