/* What each runtime wrapper did in a call: one event for each thing, in the order in which it
 * happened, so outermost wrapper first on the way in and innermost first on the way out. */
#ifndef AOT_EXEC_WRAPPER_TRACE_H
#define AOT_EXEC_WRAPPER_TRACE_H

#include <jansson.h>

#include "exec/value.h"
#include "runtime/wrappers.h"

typedef enum aot_wrapper_event_kind { /* wrapper_events.def */
#define WRAPPER_EVENT(id, name, sentence) AOT_EVENT_##id,
#include "exec/wrapper_events.def"
#undef WRAPPER_EVENT
    AOT_N_WRAPPER_EVENTS
} aot_wrapper_event_kind;
const char *aot_wrapper_event_name(aot_wrapper_event_kind k);     /* "copy back" */
const char *aot_wrapper_event_sentence(aot_wrapper_event_kind k);

typedef struct aot_wrapper_event {
    uint8_t kind, wrapper; /* aot_wrapper_event_kind, aot_wrapper */
    bool backward;
    unsigned call;         /* counted from 0 */
    const char *what;      /* the value: "L['x']", "output 0", "saved 2" */
    const char *came, *went; /* its type and what became of it; "" */
    int64_t bytes;         /* of it; 0: no tensor */
} aot_wrapper_event;

typedef struct aot_wrapper_trace {
    aot_arena *arena;
    AOT_VEC(aot_wrapper_event) events;
    unsigned n_calls;
} aot_wrapper_trace;

/* All zero is empty. Free with aot_wrapper_trace_free. */
void aot_wrapper_trace_free(aot_wrapper_trace *t);
/* Adds an event; texts are copied. */
void aot_wrapper_trace_add(aot_wrapper_trace *t, const aot_wrapper_event *e);
/* "f32[4, 3]", with strides where they are not those of a contiguous array; "None", "7", "(f32[4],
 * f32[4])". */
void aot_value_type_print(aot_sb *out, const aot_xval *v);
/* A line for each event behind its wrapper, indented by `indent`. */
void aot_wrapper_trace_print(aot_sb *out, const aot_wrapper_trace *t, unsigned indent);
/* [{"call", "side", "wrapper", "event", "what", "came", "went", "bytes"}] */
json_t *aot_wrapper_trace_json(const aot_wrapper_trace *t);

#endif
