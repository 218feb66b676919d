/* Filters of the graph view: the selection language (partition/select.h) over the nodes of the
 * stage that is shown, and over the saved values. What a selection needs to know of a graph is made
 * when the first row is asked about, and again when the graph is another one. */
#include <stdio.h>
#include <string.h>

#include "tui/graph_view.h"
#include "viewers/format.h"

void graph_end_filters(graph_view *gv)
{
    aot_select_end(&gv->on);
    aot_select_end(&gv->saved_on);
    gv->on = gv->saved_on = (aot_select_on){0};
    aot_arena_free(gv->modules);
    gv->modules = NULL;
}

static void begin(graph_view *gv, aot_select_on *on, const aot_select *s, const aot_graph *g,
                  const aot_partition *p)
{
    const char *const *modules = NULL;
    if (s->needs_modules) {
        const aot_unit *u = aot_model_unit(aot_app_model(gv->v->app), gv->v->unit);
        gv->modules = gv->modules ? gv->modules : aot_arena_new();
        modules = aot_unit_modules(u, g, graph_partition(gv), gv->modules);
    }
    aot_select_end(on);
    aot_select_begin(on, g, p, modules);
}

static aot_status set(graph_view *gv, aot_select *s, const char *text, aot_err *err)
{
    aot_select now = {0};
    AOT_TRY(aot_select_parse(&now, text, err));
    if (now.needs_partition && !graph_partition(gv)) {
        aot_select_free(&now);
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.200s' asks what a partition tells, and there is none: %s", text,
                        gv->part_err.msg);
    }
    aot_select_free(s);
    *s = now;
    graph_end_filters(gv);
    return AOT_OK;
}

aot_status graph_nodes_select(void *arg, const char *text, aot_err *err)
{
    graph_view *gv = arg;
    return set(gv, &gv->filter, text, err);
}

bool graph_nodes_selects(void *arg, size_t row)
{
    graph_view *gv = arg;
    const graph_stage *st = graph_now(gv);
    // terms about the cut hold for nodes of the same name in any stage
    const aot_partition *p = gv->filter.needs_partition ? graph_partition(gv) : st->p;
    if (gv->on.g != st->g || gv->on.p != p) {
        begin(gv, &gv->on, &gv->filter, st->g, p);
    }
    return aot_select_match(&gv->filter, &gv->on, aot_listing_row_at(st->listing, row).node);
}

aot_status graph_saved_select(void *arg, const char *text, aot_err *err)
{
    graph_view *gv = arg;
    return set(gv, &gv->saved_filter, text, err);
}

bool graph_saved_selects(void *arg, size_t row)
{
    graph_view *gv = arg;
    if (gv->saved_on.g != gv->part->cut || gv->saved_on.p != gv->part) {
        begin(gv, &gv->saved_on, &gv->saved_filter, gv->part->cut, gv->part);
    }
    return aot_select_match(&gv->saved_filter, &gv->saved_on, graph_saved_node(gv, row));
}

void aot_graph_view_offer(aot_view *v, const char *mark, prompt_words *words)
{
    graph_view *gv = v->state;
    const aot_graph *g = graph_now(gv)->g;
    aot_node_id id = graph_node_now(gv);
    char text[512], word[600];
    if (!g || id == AOT_NO_NODE) {
        return;
    }
    snprintf(word, sizeof word, "%snode:%s", mark, aot_node_name(g, id));
    prompt_add_word(words, word, "the node under the cursor");
    snprintf(word, sizeof word, "%sop:%s", mark, aot_format_op(text, sizeof text, g, id));
    prompt_add_word(words, word, "its operator");
    if (*aot_format_source(text, sizeof text, g, id)) {
        snprintf(word, sizeof word, "%sline:%s", mark, text);
        prompt_add_word(words, word, "its source line");
    }
    int32_t region = g->srcs.d[aot_node_at(g, id)->src].ac_graph_id;
    if (region >= 0) {
        snprintf(word, sizeof word, "%sregion:%d", mark, (int)region);
        prompt_add_word(words, word, "its checkpoint region");
    }
}
