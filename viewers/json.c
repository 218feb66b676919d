/* Graphs and partitions as JSON ("format": "aotscope/1"): everything that the pictures show, for
 * programs. Nodes are in program order. */
#include <string.h>

#include "ir/text.h"
#include "viewers/viewer.h"

// Text of a log may hold anything; jansson takes only valid UTF-8.
json_t *aot_json_safe(const char *text)
{
    aot_sb b = {0};
    aot_text_safe(&b, text, strlen(text));
    json_t *s = json_string(aot_sb_text(&b));
    aot_sb_free(&b);
    return s ? s : json_string("");
}

json_t *aot_json_head(const aot_draw_in *in, const char *kind)
{
    json_t *o =
        json_pack("{s:s, s:s, s:i}", "format", "aotscope/1", "kind", kind, "unit", in->unit);
    json_object_set_new(o, "label", aot_json_safe(in->label ? in->label : ""));
    return o;
}

static void add_name(void *arg, aot_node_id id)
{
    void **a = arg;
    json_array_append_new(a[0], aot_json_safe(aot_node_name(a[1], id)));
}

static json_t *source_of(const aot_graph *g, const aot_node *n)
{
    const aot_src *s = &g->srcs.d[n->src];
    if (!s->file) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "file", aot_json_safe(aot_text(g->ctx, s->file)));
    json_object_set_new(o, "line", json_integer(s->line));
    json_object_set_new(o, "function", aot_json_safe(aot_text(g->ctx, s->func)));
    json_object_set_new(o, "code", aot_json_safe(aot_text(g->ctx, s->code)));
    if (s->ac_graph_id >= 0) {
        json_object_set_new(o, "ac_graph_id", json_integer(s->ac_graph_id));
    }
    return o;
}

static void add_decision(json_t *o, const aot_partition *p, aot_node_id cut)
{
    const aot_node_info *info = &p->nodes[cut];
    char buf[256];
    json_object_set_new(o, "bytes", json_integer(info->bytes));
    json_object_set_new(o, "weight", info->weight < 0 ? json_null()
                                   : info->weight == AOT_WEIGHT_INF ? json_string("inf")
                                                                    : json_integer(info->weight));
    json_object_set_new(o, "ban", info->ban ? json_string(aot_ban_text(info->ban)) : json_null());
    json_object_set_new(o, "sink", info->sink == AOT_SINK_NONE ? json_null()
                                 : json_string(info->sink == AOT_SINK_IN ? "in" : "out"));
    json_object_set_new(o, "verdict", json_string(aot_verdict_name(info->verdict)));
    json_object_set_new(o, "policy",
                        info->policy ? json_string(aot_policy_name(info->policy)) : json_null());
    json_object_set_new(o, "reason", aot_json_safe(aot_reason_words(buf, sizeof buf, p, cut)));
    json_object_set_new(o, "side", json_string(info->backward_made ? "backward" : "forward"));
}

static json_t *node_json(const aot_graph *g, aot_node_id id, const aot_partition *p,
                         aot_node_id cut, char side)
{
    const aot_node *n = aot_node_at(g, id);
    char buf[256];
    json_t *o = json_object(), *inputs = json_array(), *users = json_array();
    json_object_set_new(o, "name", aot_json_safe(aot_node_name(g, id)));
    json_object_set_new(o, "kind", json_string(aot_node_kind_name(n->kind)));
    json_object_set_new(o, "op", aot_json_safe(aot_format_op(buf, sizeof buf, g, id)));
    void *to[2] = {inputs, (void *)(uintptr_t)g};
    aot_node_each_input(g, n, add_name, to);
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        json_array_append_new(users, aot_json_safe(aot_node_name(g, g->user[k])));
    }
    json_object_set_new(o, "args", inputs);
    json_object_set_new(o, "users", users);
    aot_sb text = {0};
    aot_print_node(&text, g, id);
    json_object_set_new(o, "text", aot_json_safe(aot_sb_text(&text)));
    aot_sb_free(&text);
    json_object_set_new(o, "type",
                        aot_json_safe(aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text)));
    json_object_set_new(o, "bytes", json_integer(aot_meta_bytes(g->ctx, n->meta)));
    json_object_set_new(o, "source", source_of(g, n));
    if (p && cut != AOT_NO_NODE) {
        add_decision(o, p, cut);
    }
    if (side) {
        json_object_set_new(o, "side", json_string(side == 'B' ? "backward" : "forward"));
    }
    json_object_set_new(o, "class", json_string(aot_class_get(aot_class_of(g, id, p, cut))->name));
    return o;
}

/* Writes an object whose last key is "nodes", one node a line. They are made one by one, so that a
 * graph of a million nodes never stands in memory as JSON. Frees head. */
static void write_nodes(aot_sb *out, json_t *head, const aot_graph *g, const aot_draw_in *in,
                        char side)
{
    const aot_partition *p = in->part;
    if (!g->user_off) {
        aot_graph_link((aot_graph *)(uintptr_t)g); // fills caches only
    }
    aot_node_id *map = aot_view_map(g, p);
    aot_json_write(out, head, true);
    out->n -= strlen("\n}\n"); // the object goes on
    aot_sb_addz(out, ",\n \"nodes\": [");
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        aot_node_id cut = map ? map[i] : AOT_NO_NODE;
        json_t *o = node_json(g, i, p, cut, side);
        const char *module = aot_draw_module(in, cut);
        if (*module) {
            json_object_set_new(o, "module", aot_json_safe(module));
        }
        aot_sb_addz(out, i ? ",\n  " : "\n  ");
        aot_json_write(out, o, false);
        out->n--; // the line end
    }
    aot_sb_addz(out, "\n ]\n}\n");
    free(map);
}

void aot_json_graph(aot_sb *out, const aot_draw_in *in)
{
    json_t *root = aot_json_head(in, "graph");
    json_object_set_new(root, "stage", json_string(in->stage ? in->stage : ""));
    write_nodes(out, root, in->graph, in, in->side);
}

static json_t *names_of(const aot_graph *g, const aot_node_id *ids, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(a, aot_json_safe(aot_node_name(g, ids[i])));
    }
    return a;
}

static json_t *order_of(const aot_graph *g)
{
    json_t *a = json_array();
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        json_array_append_new(a, aot_json_safe(aot_node_name(g, i)));
    }
    return a;
}

void aot_json_partition(aot_sb *out, const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    json_t *root = aot_json_head(in, "partition"), *settings = json_object();
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *row = aot_config_row_at(i);
        aot_sb value = {0};
        aot_config_print(&value, &p->config, row);
        json_object_set_new(settings, row->name, aot_json_safe(aot_sb_text(&value)));
        aot_sb_free(&value);
    }
    json_object_set_new(root, "settings", settings);
    json_object_set_new(root, "rung", json_string(p->rung ? p->rung : ""));
    json_object_set_new(root, "saved", names_of(p->cut, p->saved, p->n_saved));
    json_object_set_new(root, "saved_sym", names_of(p->cut, p->saved_sym, p->n_saved_sym));
    json_object_set_new(root, "saved_bytes", json_integer(p->saved_bytes));
    json_object_set_new(root, "saved_new_bytes", json_integer(p->saved_new_bytes));
    json_object_set_new(root, "cut_value",
                        p->cut_values[0] < 0 ? json_null() : json_integer(p->cut_values[0]));
    json_object_set_new(root, "forward", order_of(p->forward));
    json_object_set_new(root, "backward", order_of(p->backward));
    write_nodes(out, root, p->cut, in, 0);
}

static json_t *axis_json(const aot_chart_axis *a)
{
    static const char *const units[] = {"number", "index", "bytes", "flops"};
    return json_pack("{s:o, s:s}", "label", aot_json_safe(a->label), "unit", units[a->unit]);
}

json_t *aot_json_chart(const aot_draw_in *in, const char *kind, const aot_chart *c)
{
    json_t *root = aot_json_head(in, kind), *list = json_array(), *marks = json_array();
    for (size_t i = 0; i < c->series.n; i++) {
        const aot_chart_series *s = &c->series.d[i];
        json_t *points = json_array();
        for (size_t k = 0; k < s->points.n; k++) {
            const aot_chart_xy *p = &s->points.d[k];
            json_array_append_new(
                points, json_pack("[f, f, o]", p->x, p->y, aot_json_safe(p->tip ? p->tip : "")));
        }
        json_array_append_new(
            list, json_pack("{s:o, s:o}", "name", aot_json_safe(s->name), "points", points));
    }
    for (size_t i = 0; i < c->marks.n; i++) {
        const aot_chart_mark *m = &c->marks.d[i];
        json_array_append_new(marks, json_pack("{s:f, s:f, s:o}", "x", m->x, "y", m->y, "label",
                                               aot_json_safe(m->label ? m->label : "")));
    }
    json_object_set_new(root, "title", aot_json_safe(c->title));
    json_object_set_new(root, "x", axis_json(&c->x));
    json_object_set_new(root, "y", axis_json(&c->y));
    json_object_set_new(root, "series", list);
    json_object_set_new(root, "marks", marks);
    return root;
}

void aot_json_write(aot_sb *out, json_t *root, bool indent)
{
    char *text = json_dumps(root, indent ? JSON_INDENT(1) : JSON_COMPACT);
    if (text) {
        aot_sb_addz(out, text);
        aot_sb_addc(out, '\n');
    }
    free(text);
    json_decref(root);
}
