/* Model Explorer's JSON: the graph, heat maps of its nodes, and an overlay of the saved values'
 * edges. Nodes have the keys of the picture, so that the three files fit together. The collection
 * is {label, graphs: [{id, nodes: [{id, label, namespace, attrs, incomingEdges, outputsMetadata,
 * style}], groupNodeAttributes}]}. Nodes are written one by one: a graph of a million nodes never
 * stands in memory as JSON. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "session/saved.h"
#include "viewers/links.h"
#include "viewers/viewer.h"

static void add_attr(json_t *attrs, const char *key, json_t *value)
{
    json_array_append_new(attrs, json_pack("{s:s, s:o}", "key", key, "value", value));
}

static void add_text(json_t *attrs, const char *key, const char *text)
{
    if (text && *text) {
        add_attr(attrs, key, aot_json_safe(text));
    }
}

// Values of this kind are links in Model Explorer's side panel.
static void add_links(json_t *attrs, const char *key, json_t *ids)
{
    if (json_array_size(ids) > 0) {
        add_attr(attrs, key, json_pack("{s:s, s:o}", "type", "node_ids", "nodeIds", ids));
    } else {
        json_decref(ids);
    }
}

static void append_id(json_t *ids, const aot_picture *pic, uint32_t i)
{
    if (i != UINT32_MAX) {
        json_array_append_new(ids, aot_json_safe(pic->nodes.d[i].key));
    }
}

static json_t *ids_of(const aot_picture *pic, const uint32_t *edges, uint32_t first, uint32_t end,
                      bool producers)
{
    json_t *ids = json_array();
    for (uint32_t k = first; k < end; k++) {
        const aot_pic_edge *e = &pic->edges.d[edges[k]];
        append_id(ids, pic, producers ? e->from : e->to);
    }
    return ids;
}

// A component of a namespace must not hold its separator.
static void add_component(aot_sb *out, const char *text)
{
    aot_sb safe = {0};
    aot_text_safe(&safe, text, strlen(text));
    aot_sb_addz(out, out->n > 0 && safe.n > 0 ? "/" : "");
    for (const char *p = aot_sb_text(&safe); *p; p++) {
        aot_sb_addc(out, *p == '/' ? '\\' : *p);
    }
    aot_sb_free(&safe);
}

// "layers.0.fc" -> "layers/0/fc"
static void add_module(aot_sb *out, const char *module)
{
    while (*module) {
        size_t n = strcspn(module, ".");
        char *part = aot_xstrndup(module, n);
        add_component(out, part);
        free(part);
        module += n + (module[n] == '.');
    }
}

// "forward/layers/0/fc/model.py:12": side, module, source line; the function where no module is
// known.
static json_t *namespace_of(const aot_picture *pic, const aot_pic_node *x, const aot_draw_in *in)
{
    static const char *const zones[AOT_N_ZONES] = {"", "forward", "saved for the backward",
                                                   "backward"};
    aot_sb b = {0};
    add_component(&b, zones[x->zone]);
    if (x->graph && x->zone != AOT_ZONE_BOUNDARY && x->nth < 0 && !pic->network) {
        const aot_src *s = &x->graph->srcs.d[aot_node_at(x->graph, x->node)->src];
        const char *module = aot_draw_module(in, x->cut);
        add_module(&b, module);
        add_component(&b, *module ? "" : aot_text(x->graph->ctx, s->func));
        add_component(&b, x->source);
    }
    json_t *text = aot_json_safe(aot_sb_text(&b));
    aot_sb_free(&b);
    return text;
}

static void add_decision(json_t *attrs, const aot_partition *p, aot_node_id cut)
{
    char buf[256];
    const aot_node_info *info = &p->nodes[cut];
    add_text(attrs, "verdict", aot_verdict_words(p, cut));
    add_text(attrs, "reason", aot_reason_words(buf, sizeof buf, p, cut));
    add_text(attrs, "weight", aot_weight_words(buf, sizeof buf, p, cut));
    add_text(attrs, "banned from recomputation", aot_ban_text(info->ban));
    add_text(attrs, "policy", info->policy ? aot_policy_name(info->policy) : "");
}

static json_t *attrs_of(const aot_picture *pic, const aot_links *l, uint32_t i,
                        const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    const aot_pic_node *x = &pic->nodes.d[i];
    json_t *attrs = json_array(), *twin = json_array(), *kept = json_array();
    char buf[256];
    add_text(attrs, "class", aot_class_get(x->cls)->name);
    if (x->graph && x->nth < 0) {
        const aot_graph *g = x->graph;
        const aot_node *n = aot_node_at(g, x->node);
        aot_sb text = {0};
        add_text(attrs, "op", aot_format_op(buf, sizeof buf, g, x->node));
        add_text(attrs, "type", aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text));
        add_text(attrs, "memory", aot_format_bytes(buf, sizeof buf, x->bytes));
        if (p && x->cut != AOT_NO_NODE) {
            add_decision(attrs, p, x->cut);
        }
        add_text(attrs, "module", aot_draw_module(in, x->cut));
        add_text(attrs, "source", x->source);
        add_text(attrs, "code", aot_text(g->ctx, g->srcs.d[n->src].code));
        aot_print_node(&text, g, x->node);
        add_text(attrs, "statement", aot_sb_text(&text));
        aot_sb_free(&text);
    }
    add_links(attrs, "producers", ids_of(pic, l->in, l->in_off[i], l->in_off[i + 1], true));
    add_links(attrs, "consumers", ids_of(pic, l->out, l->out_off[i], l->out_off[i + 1], false));
    if (x->cut != AOT_NO_NODE && x->nth < 0 && l->forward) {
        bool back = x->zone == AOT_ZONE_BACKWARD;
        append_id(twin, pic, back ? l->forward[x->cut] : l->backward[x->cut]);
        append_id(kept, pic, l->saved[x->cut] == i ? UINT32_MAX : l->saved[x->cut]);
    }
    add_links(attrs, x->zone == AOT_ZONE_BACKWARD ? "recomputes" : "recomputed as", twin);
    add_links(attrs, "saved as", kept);
    return attrs;
}

static json_t *outputs_of(const aot_pic_node *x)
{
    const aot_graph *g = x->graph;
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, x->node)->meta);
    json_t *attrs = json_array();
    char buf[256];
    add_text(attrs, "tensor_name", x->name);
    add_text(attrs, "tensor_shape",
             aot_format_type(buf, sizeof buf, g->ctx, aot_node_at(g, x->node)->meta));
    add_text(attrs, "device", aot_text(g->ctx, m->device));
    add_text(attrs, "bytes", aot_format_count(buf, sizeof buf, x->bytes));
    return json_pack("[{s:s, s:o}]", "id", "0", "attrs", attrs);
}

static json_t *node_json(const aot_picture *pic, const aot_links *l, uint32_t i,
                         const aot_draw_in *in)
{
    const aot_pic_node *x = &pic->nodes.d[i];
    json_t *edges = json_array();
    for (uint32_t k = l->in_off[i]; k < l->in_off[i + 1]; k++) {
        char nth[16];
        snprintf(nth, sizeof nth, "%u", k - l->in_off[i]);
        json_array_append_new(
            edges, json_pack("{s:o, s:s, s:s}", "sourceNodeId",
                             aot_json_safe(pic->nodes.d[pic->edges.d[l->in[k]].from].key),
                             "sourceNodeOutputId", "0", "targetNodeInputId", nth));
    }
    json_t *o =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:{s:s, s:s}}", "id", aot_json_safe(x->key), "label",
                  aot_json_safe(x->name), "namespace", namespace_of(pic, x, in), "attrs",
                  attrs_of(pic, l, i, in), "incomingEdges", edges, "style", "backgroundColor",
                  aot_class_get(x->cls)->light, "borderColor", aot_class_get(x->cls)->border);
    if (x->graph && x->nth < 0) {
        json_object_set_new(o, "outputsMetadata", outputs_of(x));
    }
    return o;
}

static json_t *graph_facts(const aot_draw_in *in)
{
    json_t *facts = json_object();
    const aot_partition *p = in->part;
    char buf[64];
    if (p) {
        json_object_set_new(facts, "saved",
                            aot_json_safe(aot_saved_text(p, buf, sizeof buf)));
        json_object_set_new(facts, "saved besides the inputs",
                            aot_json_safe(aot_format_bytes(buf, sizeof buf, p->saved_new_bytes)));
        snprintf(buf, sizeof buf, "%u", p->n_saved);
        json_object_set_new(facts, "saved values", json_string(buf));
        snprintf(buf, sizeof buf, "%.10g", p->config.activation_memory_budget);
        json_object_set_new(facts, "memory budget", json_string(buf));
        json_object_set_new(facts, "rung", json_string(p->rung ? p->rung : ""));
    }
    return facts;
}

static void add_json(aot_sb *out, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    aot_sb_addz(out, text ? text : "null");
    free(text);
    json_decref(value);
}

/* Submodules of higher-order operators become graphs of their own, which the nodes that name them
 * lead to. The list grows while it is worked off. */
typedef struct subgraph {
    const aot_graph *graph;
    char *id;
} subgraph;
typedef AOT_VEC(subgraph) subgraph_list;

// The id of the submodule that a node names; NULL if it names none.
static const char *subgraph_of(subgraph_list *list, const aot_pic_node *x, const char *parent)
{
    if (!x->graph || x->nth >= 0 || aot_node_at(x->graph, x->node)->subgraph == 0) {
        return NULL;
    }
    const aot_graph *g = x->graph->subgraphs.d[aot_node_at(x->graph, x->node)->subgraph - 1];
    for (size_t i = 0; i < list->n; i++) {
        if (list->d[i].graph == g) {
            return list->d[i].id;
        }
    }
    aot_sb id = {0};
    aot_sb_addf(&id, "%s/%s", parent, x->name);
    subgraph s = {g, aot_xstrdup(aot_sb_text(&id))};
    aot_sb_free(&id);
    aot_vec_push(list, s);
    return s.id;
}

static void write_graph(aot_export_job *j, const aot_picture *pic, const aot_draw_in *in,
                        const char *id, subgraph_list *list)
{
    aot_links l = aot_links_open(pic, in->part);
    aot_sb *out = j->out;
    aot_sb_addz(out, "{\"id\":");
    add_json(out, aot_json_safe(id));
    aot_sb_addz(out, ",\"groupNodeAttributes\":{\"\":");
    add_json(out, graph_facts(in));
    aot_sb_addz(out, "},\"nodes\":[");
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        json_t *node = node_json(pic, &l, i, in);
        const char *sub = subgraph_of(list, &pic->nodes.d[i], id);
        if (sub) {
            json_object_set_new(node, "subgraphIds", json_pack("[o]", aot_json_safe(sub)));
        }
        aot_sb_addz(out, i ? ",\n" : "\n");
        add_json(out, node);
    }
    aot_sb_addz(out, "\n]}");
    aot_links_close(&l);
}

aot_status aot_write_model_explorer(aot_export_job *j, aot_err *err)
{
    aot_picture *pic;
    subgraph_list list = {0};
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_sb_addz(j->out, "{\"label\":");
    add_json(j->out, aot_json_safe(j->in->label ? j->in->label : "aotscope"));
    aot_sb_addz(j->out, ",\"graphs\":[");
    write_graph(j, pic, j->in, j->viewer->name, &list);
    aot_picture_free(pic);
    for (size_t i = 0; i < list.n; i++) {
        aot_draw_in in = {.graph = list.d[i].graph, .stage = list.d[i].id, .whole = true};
        pic = aot_picture_new();
        aot_draw_graph(pic, &in);
        aot_sb_addz(j->out, ",\n");
        write_graph(j, pic, &in, list.d[i].id, &list);
        aot_picture_free(pic);
    }
    aot_sb_addz(j->out, "]}\n");
    for (size_t i = 0; i < list.n; i++) {
        free(list.d[i].id);
    }
    aot_vec_free(&list);
    return AOT_OK;
}

/* ---- heat maps and overlay --------------------------------------------------------------------
 */

aot_status aot_write_node_data(aot_export_job *j, aot_err *err)
{
    bool lifetime = strcmp(j->format->name, "me-lifetime") == 0, first = true;
    aot_picture *pic;
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_links l = aot_links_open(pic, j->in->part);
    int64_t *last = lifetime ? aot_links_last_use(&l, pic) : NULL;
    aot_sb_addf(j->out, "{\"%s\":{\"results\":{", j->viewer->name);
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        int64_t value = lifetime ? last[i] - l.step[i] : x->bytes;
        if (x->graph && x->nth < 0 && (!lifetime || last[i] >= 0)) {
            aot_sb_addz(j->out, first ? "\n" : ",\n");
            add_json(j->out, aot_json_safe(x->key));
            aot_sb_addf(j->out, ":{\"value\":%lld}", (long long)value);
            first = false;
        }
    }
    aot_sb_addz(j->out, "\n},\"gradient\":[{\"stop\":0,\"bgColor\":\"#ffffff\"},"
                        "{\"stop\":1,\"bgColor\":\"#d55e00\"}]}}\n");
    free(last);
    aot_links_close(&l);
    aot_picture_free(pic);
    return AOT_OK;
}

aot_status aot_write_edge_overlay(aot_export_job *j, aot_err *err)
{
    aot_picture *pic;
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_links l = aot_links_open(pic, j->in->part);
    bool first = true;
    char size[32];
    aot_sb_addz(j->out,
                "{\"type\":\"edge_overlays\",\"name\":\"saved for the backward\",\"overlays\":["
                "{\"name\":\"saved values\",\"edgeColor\":\"#c77f00\",\"edgeWidth\":3,\"edges\":[");
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        for (uint32_t k = l.out_off[i]; x->zone == AOT_ZONE_BOUNDARY && k < l.out_off[i + 1]; k++) {
            for (uint32_t h = l.in_off[i]; h < l.in_off[i + 1]; h++) {
                aot_sb_addz(j->out, first ? "\n" : ",\n");
                first = false;
                aot_format_bytes(size, sizeof size, x->bytes);
                add_json(j->out,
                         json_pack("{s:o, s:o, s:s}", "sourceNodeId",
                                   aot_json_safe(pic->nodes.d[pic->edges.d[l.in[h]].from].key),
                                   "targetNodeId",
                                   aot_json_safe(pic->nodes.d[pic->edges.d[l.out[k]].to].key),
                                   "label", size));
            }
        }
    }
    aot_sb_addz(j->out, "\n]}]}\n");
    aot_links_close(&l);
    aot_picture_free(pic);
    return AOT_OK;
}
