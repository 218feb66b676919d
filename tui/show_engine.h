/* A backward of Compiled Autograd as text and JSON, for `show --engine`. */
#ifndef AOT_TUI_SHOW_ENGINE_H
#define AOT_TUI_SHOW_ENGINE_H

#include <jansson.h>

#include "session/engine.h"

/* The node calls, then the graph's parts in order. */
void aot_engine_print(const aot_engine *e, aot_model *m);
json_t *aot_engine_json(const aot_engine *e, aot_model *m);

#endif
