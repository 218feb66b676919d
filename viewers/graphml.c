/* GraphML for networkx, Gephi and yEd: flat, as both ignore nested graphs, with what is known of
 * each node and line as typed attributes. In a flow network an infinite capacity is left out, as
 * networkx expects: networkx.minimum_cut(g, "source", "sink") gives the cut. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "viewers/html.h"
#include "viewers/viewer.h"

/* KEY(name, of: node or edge, type) */
#define KEYS(KEY)                                                                                  \
    KEY(name, node, string)                                                                        \
    KEY(op, node, string)                                                                          \
    KEY(kind, node, string)                                                                        \
    KEY(class, node, string)                                                                       \
    KEY(zone, node, string)                                                                        \
    KEY(type, node, string)                                                                        \
    KEY(bytes, node, long)                                                                         \
    KEY(weight, node, long)                                                                        \
    KEY(verdict, node, string)                                                                     \
    KEY(ban, node, string)                                                                         \
    KEY(policy, node, string)                                                                      \
    KEY(reason, node, string)                                                                      \
    KEY(file, node, string)                                                                        \
    KEY(line, node, int)                                                                           \
    KEY(function, node, string)                                                                    \
    KEY(code, node, string)                                                                        \
    KEY(module, node, string)                                                                      \
    KEY(region, node, int)                                                                         \
    KEY(statement, node, string)                                                                   \
    KEY(side, node, string)                                                                        \
    KEY(line_kind, edge, string)                                                                   \
    KEY(saved_bytes, edge, long)                                                                   \
    KEY(capacity, edge, long)                                                                      \
    KEY(infinite, edge, boolean)                                                                   \
    KEY(cut, edge, boolean)                                                                        \
    KEY(cause, edge, string)

static void data(aot_sb *out, const char *key, const char *text)
{
    if (text && *text) {
        aot_sb_addf(out, "<data key=\"%s\">", key);
        aot_html_text(out, text);
        aot_sb_addz(out, "</data>");
    }
}

static void number(aot_sb *out, const char *key, int64_t n)
{
    aot_sb_addf(out, "<data key=\"%s\">%lld</data>", key, (long long)n);
}

static void add_source(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    const aot_src *s = &g->srcs.d[n->src];
    if (s->file) {
        data(out, "file", aot_text(g->ctx, s->file));
        number(out, "line", s->line);
        data(out, "function", aot_text(g->ctx, s->func));
        data(out, "code", aot_text(g->ctx, s->code));
    }
    if (s->ac_graph_id >= 0) {
        number(out, "region", s->ac_graph_id);
    }
}

static void add_decision(aot_sb *out, const aot_partition *p, aot_node_id cut)
{
    const aot_node_info *info = &p->nodes[cut];
    char buf[256];
    if (info->weight >= 0 && info->weight != AOT_WEIGHT_INF) {
        number(out, "weight", info->weight);
    }
    data(out, "verdict", aot_verdict_name(info->verdict));
    data(out, "ban", aot_ban_text(info->ban));
    data(out, "policy", info->policy ? aot_policy_name(info->policy) : "");
    data(out, "reason", aot_reason_words(buf, sizeof buf, p, cut));
}

static void add_node(aot_sb *out, const aot_picture *pic, const aot_pic_node *x,
                     const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    static const char *const zones[AOT_N_ZONES] = {"", "forward", "saved", "backward"};
    char buf[256];
    aot_sb_addz(out, "<node id=\"");
    aot_html_text(out, x->key);
    aot_sb_addz(out, "\">");
    data(out, "name", x->name);
    data(out, pic->network ? "side" : "class", pic->network ? x->css : aot_class_get(x->cls)->name);
    data(out, "zone", zones[x->zone]);
    if (x->graph && x->nth < 0) {
        const aot_graph *g = x->graph;
        const aot_node *n = aot_node_at(g, x->node);
        aot_sb text = {0};
        data(out, "op", aot_format_op(buf, sizeof buf, g, x->node));
        data(out, "kind", aot_node_kind_name(n->kind));
        data(out, "type", aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text));
        number(out, "bytes", x->bytes);
        if (p && x->cut != AOT_NO_NODE) {
            add_decision(out, p, x->cut);
        }
        data(out, "module", aot_draw_module(in, x->cut));
        add_source(out, g, n);
        aot_print_node(&text, g, x->node);
        data(out, "statement", aot_sb_text(&text));
        aot_sb_free(&text);
    }
    aot_sb_addz(out, "</node>\n");
}

static void add_edge(aot_sb *out, const aot_picture *pic, const aot_pic_edge *e)
{
    static const char *const kinds[AOT_N_LINES] = {[AOT_LINE_DATA] = "data",
                                                   [AOT_LINE_ALIAS] = "alias",
                                                   [AOT_LINE_SAVED] = "saved",
                                                   [AOT_LINE_NEXT] = "next",
                                                   [AOT_LINE_CAPACITY] = "capacity",
                                                   [AOT_LINE_INFINITE] = "infinite",
                                                   [AOT_LINE_CUT] = "cut"};
    bool infinite = e->bytes == AOT_WEIGHT_INF;
    aot_sb_addz(out, "<edge source=\"");
    aot_html_text(out, pic->nodes.d[e->from].key);
    aot_sb_addz(out, "\" target=\"");
    aot_html_text(out, pic->nodes.d[e->to].key);
    aot_sb_addz(out, "\">");
    data(out, "line_kind", kinds[e->line]);
    if (pic->network) {
        data(out, infinite ? "infinite" : "cut",
             infinite || e->line == AOT_LINE_CUT ? "true" : "false");
        if (!infinite) {
            number(out, "capacity", e->bytes);
        }
        data(out, "cause", e->tooltip);
    } else if (e->line == AOT_LINE_SAVED && e->bytes > 0) {
        number(out, "saved_bytes", e->bytes);
    }
    aot_sb_addz(out, "</edge>\n");
}

aot_status aot_write_graphml(aot_export_job *j, aot_err *err)
{
    aot_picture *pic;
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_sb *out = j->out;
    aot_sb_addz(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
#define KEY(name, of, type)                                                                        \
    aot_sb_addz(out, "<key id=\"" #name "\" for=\"" #of "\" attr.name=\"" #name                    \
                     "\" attr.type=\"" #type "\"/>\n");
    KEYS(KEY)
#undef KEY
    aot_sb_addz(out, "<graph id=\"aotscope\" edgedefault=\"directed\">\n<desc>");
    aot_html_text(out, j->in->label ? j->in->label : "");
    aot_sb_addz(out, "</desc>\n");
    for (size_t i = 0; i < pic->nodes.n; i++) {
        add_node(out, pic, &pic->nodes.d[i], j->in);
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        add_edge(out, pic, &pic->edges.d[i]);
    }
    aot_sb_addz(out, "</graph>\n</graphml>\n");
    aot_picture_free(pic);
    return AOT_OK;
}
