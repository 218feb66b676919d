/* A partition as a timeline in the JSON of Chrome's tracing, which ui.perfetto.dev opens: one slice
 * for each node, forward and backward in lanes of their own, a counter of live bytes, an arrow from
 * each saved value to each of its uses. Time is steps: one millisecond is one node. */
#include <stdlib.h>
#include <string.h>

#include "exec/memsim.h"
#include "ir/text.h"
#include "viewers/links.h"
#include "viewers/viewer.h"

enum { STEP = 1000, PID = 1, FORWARD = 1, BACKWARD = 2 }; /* microseconds; ids of lanes */

typedef struct trace {
    aot_sb *out;
    bool any;
} trace;

static void emit(trace *t, json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    if (text) {
        aot_sb_addz(t->out, t->any ? ",\n" : "\n");
        aot_sb_addz(t->out, text);
        t->any = true;
    }
    free(text);
    json_decref(event);
}

static void emit_name(trace *t, const char *what, int tid, json_t *name)
{
    emit(t, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "ph", "M", "name", what, "pid", PID, "tid",
                      tid, "args", "name", name));
}

static void emit_live(trace *t, int64_t step, int64_t bytes)
{
    emit(t, json_pack("{s:s, s:s, s:i, s:i, s:I, s:{s:I}}", "ph", "C", "name", "live bytes", "pid",
                      PID, "tid", 0, "ts", (json_int_t)(step * STEP), "args", "bytes",
                      (json_int_t)bytes));
}

static json_t *args_of(const aot_graph *g, aot_node_id id, const aot_partition *p, aot_node_id cut)
{
    char buf[256];
    aot_sb text = {0};
    json_t *args = json_object();
    aot_print_node(&text, g, id);
    json_object_set_new(args, "statement", aot_json_safe(aot_sb_text(&text)));
    aot_sb_free(&text);
    json_object_set_new(args, "op", aot_json_safe(aot_format_op(buf, sizeof buf, g, id)));
    json_object_set_new(
        args, "type",
        aot_json_safe(aot_text(g->ctx, aot_meta_get(g->ctx, aot_node_at(g, id)->meta)->text)));
    json_object_set_new(args, "bytes", json_integer(aot_memory_of(g, id, p, cut)));
    json_object_set_new(args, "source", aot_json_safe(aot_format_source(buf, sizeof buf, g, id)));
    if (cut != AOT_NO_NODE) {
        json_object_set_new(args, "verdict", json_string(aot_verdict_words(p, cut)));
        json_object_set_new(args, "reason",
                            aot_json_safe(aot_reason_words(buf, sizeof buf, p, cut)));
    }
    return args;
}

static void emit_side(trace *t, const aot_graph *g, const aot_partition *p, int tid, int64_t first)
{
    aot_node_id *map = aot_view_map(g, p);
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        aot_class cls = aot_class_of(g, i, p, map[i]);
        emit(t, json_pack("{s:s, s:o, s:s, s:i, s:i, s:I, s:i, s:o}", "ph", "X", "name",
                          aot_json_safe(aot_node_name(g, i)), "cat", aot_class_get(cls)->name,
                          "pid", PID, "tid", tid, "ts", (json_int_t)((first + i) * STEP), "dur",
                          STEP, "args", args_of(g, i, p, map[i])));
    }
    free(map);
}

static void emit_memory(trace *t, const aot_graph *g, const aot_memory_side *m, int64_t first,
                        int tid)
{
    emit_live(t, first, m->inputs);
    for (size_t i = 0; i < m->live.n; i++) {
        emit_live(t, first + m->live.d[i].node, m->live.d[i].bytes);
    }
    if (g->nodes.n > 0) {
        emit_live(t, first + (int64_t)g->nodes.n - 1, m->end);
    }
    if (m->peak_node != AOT_NO_NODE) {
        char size[32], *name;
        aot_sb b = {0};
        aot_sb_addf(&b, "peak %s", aot_format_bytes(size, sizeof size, m->peak));
        name = b.d;
        emit(t,
             json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:{s:I, s:o}}", "ph", "i", "name", name, "s",
                       "t", "pid", PID, "tid", tid, "ts",
                       (json_int_t)((first + m->peak_node) * STEP), "args", "bytes",
                       (json_int_t)m->peak, "node", aot_json_safe(aot_node_name(g, m->peak_node))));
        aot_sb_free(&b);
    }
}

// Both ends of an arrow must lie within the slices they bind to: half way through the step.
static void emit_flow(trace *t, const char *ph, const char *name, int64_t id, int tid, int64_t step)
{
    json_t *e = json_pack("{s:s, s:o, s:s, s:I, s:i, s:i, s:I}", "ph", ph, "name",
                          aot_json_safe(name), "cat", "saved", "id", (json_int_t)id, "pid", PID,
                          "tid", tid, "ts", (json_int_t)(step * STEP + STEP / 2));
    if (*ph == 'f') {
        json_object_set_new(e, "bp", json_string("e")); // the slice around it, not the next one
    }
    emit(t, e);
}

static void emit_flows(trace *t, const aot_picture *pic, const aot_links *l)
{
    int64_t id = 0;
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        for (uint32_t k = l->out_off[i]; x->zone == AOT_ZONE_BOUNDARY && k < l->out_off[i + 1];
             k++) {
            uint32_t to = pic->edges.d[l->out[k]].to;
            if (l->step[to] >= 0) {
                id++;
                emit_flow(t, "s", x->name, id, FORWARD, l->step[i]);
                emit_flow(t, "f", x->name, id, BACKWARD, l->step[to]);
            }
        }
    }
}

aot_status aot_write_chrome_trace(aot_export_job *j, aot_err *err)
{
    const aot_partition *p = j->in->part;
    aot_picture *pic;
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_links l = aot_links_open(pic, p);
    aot_memory m;
    trace t = {.out = j->out};
    int64_t half = (int64_t)p->forward->nodes.n;
    aot_memory_of_partition(&m, p, NULL);
    aot_sb_addz(j->out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":\"aotscope/1\","
                        "\"time\":\"1 ms is one step\"},\"traceEvents\":[");
    emit_name(&t, "process_name", 0, aot_json_safe(j->in->label ? j->in->label : "aotscope"));
    emit_name(&t, "thread_name", FORWARD, json_string("forward"));
    emit_name(&t, "thread_name", BACKWARD, json_string("backward"));
    emit_side(&t, p->forward, p, FORWARD, 0);
    emit_side(&t, p->backward, p, BACKWARD, half);
    emit_memory(&t, p->forward, &m.forward, 0, FORWARD);
    emit_memory(&t, p->backward, &m.backward, half, BACKWARD);
    emit_flows(&t, pic, &l);
    aot_sb_addz(j->out, "\n]}\n");
    aot_memory_free(&m);
    aot_links_close(&l);
    aot_picture_free(pic);
    return AOT_OK;
}
