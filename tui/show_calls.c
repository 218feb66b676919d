/* The calls of a unit as text and JSON.
 *
 *   forward 0  1.20 ms  saved 3 values, 112 B  peak 184 B cpu (counted)  cpu generator moved on
 *     draws native_dropout[1]  aten.native_dropout.default  bool[2, 4]  94f1c02a  0 1 1 0 ..
 *   backward 0 of forward 0  ..
 *     draws native_dropout[1]  ..
 *       OTHER numbers than native_dropout of the forward, first at element 1: true, then false */
#include "tui/show_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/format.h"

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static const aot_run_call *call_of_id(const aot_calls *c, int64_t id)
{
    for (size_t i = 0; i < c->calls.n; i++) {
        if (c->calls.d[i].id == id) {
            return &c->calls.d[i];
        }
    }
    return NULL;
}

static void print_memory(const aot_run_call *call)
{
    char bytes[32];
    for (size_t i = 0; i < call->memory.n; i++) {
        const aot_call_memory *m = &call->memory.d[i];
        printf("  peak %s %s (%s)", aot_format_bytes(bytes, sizeof bytes, m->peak_bytes), m->device,
               m->source);
    }
}

static void print_generators(const aot_run_call *call)
{
    for (size_t i = 0; i < call->generators.n; i++) {
        const aot_generator_use *g = &call->generators.d[i];
        if (g->before != g->after) {
            printf("  %s generator moved on", g->device);
        }
    }
}

/* First element at which two samples differ, with both texts; NULL where they do not. */
static char *first_difference(const char *a, const char *b)
{
    char *text = NULL;
    json_t *x = json_loads(a, JSON_DECODE_ANY, NULL), *y = json_loads(b, JSON_DECODE_ANY, NULL);
    for (size_t i = 0; i < json_array_size(x) && text == NULL; i++) {
        if (!json_equal(json_array_get(x, i), json_array_get(y, i))) {
            char *was = json_dumps(json_array_get(x, i), JSON_ENCODE_ANY);
            char *is = json_dumps(json_array_get(y, i), JSON_ENCODE_ANY);
            aot_sb s = {0};
            aot_sb_addf(&s, "first at element %zu: %s, then %s", i, was,
                        is != NULL ? is : "nothing");
            text = s.d;
            free(was);
            free(is);
        }
    }
    json_decref(x);
    json_decref(y);
    return text;
}

static bool differs(const aot_drawn *d)
{
    return d->first != NULL && strcmp(d->first->hash, d->hash) != 0;
}

/* The first elements of a sample, short; numbers to four digits. */
static void print_sample(const char *sample)
{
    enum { SHOWN = 8 };
    json_t *x = json_loads(sample, JSON_DECODE_ANY, NULL);
    for (size_t i = 0; i < json_array_size(x) && i < SHOWN; i++) {
        const json_t *v = json_array_get(x, i);
        printf("%s", i > 0 ? " " : "  ");
        if (json_is_real(v)) {
            printf("%.4g", json_real_value(v));
        } else if (json_is_boolean(v)) {
            fputs(json_is_true(v) ? "1" : "0", stdout);
        } else {
            char *text = json_dumps(v, JSON_ENCODE_ANY);
            fputs(text != NULL ? text : "?", stdout);
            free(text);
        }
    }
    puts(json_array_size(x) > SHOWN ? " .." : "");
    json_decref(x);
}

static void print_drawn(const aot_drawn *d)
{
    printf("    draws %s", d->node);
    if (d->output > 0) {
        printf("[%u]", d->output);
    }
    printf("  %s  %s%s  %.8s", d->op, d->dtype, d->shape, d->hash);
    print_sample(d->sample);
    if (differs(d)) {
        char *where = first_difference(d->first->sample, d->sample);
        printf("      OTHER numbers than %s of the forward%s%s\n", d->of, where != NULL ? ", " : "",
               where != NULL ? where : " (after the first elements)");
        free(where);
    } else if (d->first != NULL) {
        printf("      the numbers of %s of the forward\n", d->of);
    } else if (d->of != NULL) {
        printf("      %s of a forward that was not recorded is drawn again\n", d->of);
    }
}

static void print_call(const aot_calls *c, const aot_run_call *call)
{
    char buf[32];
    const aot_run_call *forward = call_of_id(c, call->forward);
    printf("  %s %" PRIu64, call->side, call->n);
    if (forward != NULL) {
        printf(" of forward %" PRIu64, forward->n);
    }
    printf("  %s", aot_format_duration(buf, sizeof buf, call->seconds));
    if (call->n_saved > 0) {
        printf("  saved %" PRId64 " value%s, %s", call->n_saved, plural((uint64_t)call->n_saved),
               aot_format_bytes(buf, sizeof buf, call->saved_bytes));
    }
    print_memory(call);
    print_generators(call);
    puts("");
    if (call->error != NULL) {
        printf("    ended with %s\n", call->error);
    }
    for (size_t i = 0; i < call->random.n; i++) {
        print_drawn(&call->random.d[i]);
    }
}

char *aot_calls_line(const aot_calls *c)
{
    aot_sb s = {0};
    aot_sb_addf(&s, "%zu call%s recorded", c->calls.n, plural(c->calls.n));
    if (c->n_redrawn > 0) {
        aot_sb_addf(&s, ", %" PRIu64 " random value%s drawn again in a backward: ", c->n_redrawn,
                    plural(c->n_redrawn));
        if (c->n_differ == 0) {
            aot_sb_addz(&s, "the same numbers");
        } else {
            aot_sb_addf(&s, "%" PRIu64 " with OTHER numbers", c->n_differ);
        }
    }
    aot_sb_text(&s);
    return s.d;
}

void aot_calls_print(const aot_calls *c)
{
    for (size_t i = 0; i < c->compiled.n; i++) {
        const aot_compiled *k = &c->compiled.d[i];
        printf("%s%s by %s: %" PRIu64 " call%s", i > 0 ? "; " : "", k->side, k->compiler,
               k->n_calls, plural(k->n_calls));
    }
    char *line = aot_calls_line(c);
    printf("\n%s\n", line);
    free(line);
    for (size_t i = 0; i < c->calls.n; i++) {
        print_call(c, &c->calls.d[i]);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A text that is JSON itself, as the value it is. */
static json_t *parsed(const char *text)
{
    json_t *j = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return j != NULL ? j : json_null();
}

static json_t *drawn_json(const aot_drawn *d)
{
    json_t *j = json_pack("{s:s, s:s, s:s?, s:i, s:i, s:s, s:s, s:o, s:s, s:o}", "node", d->node,
                          "op", d->op, "of", d->of, "idx", (int)d->idx, "output", (int)d->output,
                          "device", d->device, "dtype", d->dtype, "shape", parsed(d->shape), "hash",
                          d->hash, "sample", parsed(d->sample));
    json_object_set_new(j, "same_as_forward",
                        d->first != NULL ? json_boolean(!differs(d)) : json_null());
    return j;
}

static json_t *saved_json(const aot_saved_tensor *t)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:I}", "name", t->name, "dtype", t->dtype, "shape",
                     parsed(t->shape), "stride", parsed(t->stride), "bytes", (json_int_t)t->bytes);
}

static json_t *call_json(const aot_calls *c, const aot_run_call *call)
{
    const aot_run_call *forward = call_of_id(c, call->forward);
    json_t *j = json_pack("{s:I, s:s, s:I, s:f, s:f, s:b, s:I, s:s?}", "call", (json_int_t)call->id,
                          "side", call->side, "n", (json_int_t)call->n, "started", call->started,
                          "seconds", call->seconds, "observed", (int)call->observed, "saved_bytes",
                          (json_int_t)call->saved_bytes, "error", call->error);
    json_object_set_new(j, "forward",
                        forward != NULL ? json_integer((json_int_t)forward->id) : json_null());
    json_t *random = json_array(), *saved = json_array(), *memory = json_array(),
           *moved = json_array();
    for (size_t i = 0; i < call->random.n; i++) {
        json_array_append_new(random, drawn_json(&call->random.d[i]));
    }
    for (size_t i = 0; i < call->saved.n; i++) {
        json_array_append_new(saved, saved_json(&call->saved.d[i]));
    }
    for (size_t i = 0; i < call->memory.n; i++) {
        const aot_call_memory *m = &call->memory.d[i];
        json_array_append_new(
            memory, json_pack("{s:s, s:s, s:I, s:I, s:I}", "device", m->device, "source", m->source,
                              "before_bytes", (json_int_t)m->before_bytes, "after_bytes",
                              (json_int_t)m->after_bytes, "peak_bytes", (json_int_t)m->peak_bytes));
    }
    for (size_t i = 0; i < call->generators.n; i++) {
        const aot_generator_use *g = &call->generators.d[i];
        if (g->before != g->after) {
            json_array_append_new(moved, json_string(g->device));
        }
    }
    json_object_set_new(j, "random", random);
    json_object_set_new(j, "saved", saved);
    json_object_set_new(j, "memory", memory);
    json_object_set_new(j, "generators_moved", moved);
    return j;
}

json_t *aot_calls_json(const aot_calls *c)
{
    json_t *calls = json_array(), *compiled = json_array();
    for (size_t i = 0; i < c->calls.n; i++) {
        json_array_append_new(calls, call_json(c, &c->calls.d[i]));
    }
    for (size_t i = 0; i < c->compiled.n; i++) {
        const aot_compiled *k = &c->compiled.d[i];
        json_array_append_new(compiled, json_pack("{s:s, s:s, s:I}", "side", k->side, "compiler",
                                                  k->compiler, "n_calls", (json_int_t)k->n_calls));
    }
    return json_pack("{s:o, s:o, s:I, s:I}", "compiled", compiled, "calls", calls, "redrawn",
                     (json_int_t)c->n_redrawn, "redrawn_differ", (json_int_t)c->n_differ);
}
