/* The sections of the HTML report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/lint.h"
#include "session/saved.h"
#include "viewers/chart_pen.h"
#include "viewers/html.h"
#include "viewers/report.h"
#include "viewers/unit_charts.h"

enum { MAX_ROWS = 2000, MAX_SWEEP = 60000 }; /* of a table; nodes of a unit whose budgets are cut */

/* ---- colours ------------------------------------------------------------------------------------
 */

// One rule; scope: "" for the media query, else the selector of the theme.
static void rule(aot_sb *out, const char *scope, const char *what, const char *attribute,
                 const char *from, const char *to)
{
    aot_sb_addf(out, "%s%s [%s=\"%s\"]{%s:%s}\n", scope, what, attribute, from, attribute, to);
}

static void dark_rules(aot_sb *out, const char *scope)
{
    const aot_palette *dark = aot_palette_find("dark");
    for (unsigned c = 0; c < AOT_N_CLASSES; c++) {
        const aot_class_info *i = aot_class_get(c);
        rule(out, scope, " .diagram", "fill", i->light, i->dark);
    }
    aot_picture_recolor_css(out, scope, rule);
    for (int i = 0; i < AOT_N_INKS; i++) {
        aot_sb_addf(out, "%s .aot-chart .f%d{fill:%s}\n%s .aot-chart .l%d{stroke:%s}\n", scope, i,
                    dark->ink[i], scope, i, dark->ink[i]);
    }
    aot_sb_addf(out, "%s .aot-chart .e{stroke:%s}\n", scope, dark->ink[AOT_INK_PAPER]);
}

void aot_report_dark_css(aot_sb *out)
{
    dark_rules(out, ":root[data-theme=dark]");
    aot_sb_addz(out, "@media (prefers-color-scheme: dark){\n");
    dark_rules(out, ":root:not([data-theme=light])");
    // pictures have the paper of the page
    aot_sb_addz(out, "}\n:root .diagram #aotscope>polygon,:root .diagram #a_aotscope>a>polygon,"
                     "main .chart .aot-chart>rect.f0.f0{fill:transparent}\n");
}

/* ---- pictures -----------------------------------------------------------------------------------
 */

static const aot_viewer *diagram_viewer(const aot_draw_in *in)
{
    return aot_viewer_find(in->part ? "partition" : in->infinite ? "mincut" : "graph");
}

void aot_report_diagram(aot_report *r)
{
    aot_export_job *j = r->job;
    aot_sb svg = {0}, notes = {0};
    aot_err err = {0};
    bool fell_back = false;
    aot_draw_options opt = *j->opt;
    opt.color = "light"; // the style sheet has the dark colours
    opt.max_nodes = opt.max_nodes ? opt.max_nodes : j->format->max_nodes;
    aot_status s =
        aot_export(&svg, &notes, &fell_back, diagram_viewer(j->in), j->in, "svg", &opt, &err);
    const char *begin = strstr(aot_sb_text(&svg), "<svg");
    if (s != AOT_OK || fell_back || !begin) {
        aot_report_note(r, s != AOT_OK ? err.msg : "The diagram could not be laid out in time.");
    } else {
        aot_sb_addz(
            j->out,
            "<div class=\"tools\" role=\"group\" aria-label=\"Diagram\" hidden>"
            "<button type=\"button\" data-zoom=\"in\">Zoom in</button>"
            "<button type=\"button\" data-zoom=\"out\">Zoom out</button>"
            "<button type=\"button\" data-zoom=\"fit\">Whole</button>"
            "<button type=\"button\" data-zoom=\"one\">1:1</button>"
            "<label>Find <input type=\"search\" id=\"find\" placeholder=\"name of a value\" "
            "/></label>"
            "<output id=\"found\"></output></div>\n"
            "<p class=\"hint\" hidden>Drag or use the arrow keys to move, + and - to zoom, 0 for "
            "the "
            "whole; a click on a box shows what it is.</p>\n"
            "<div class=\"diagram\" tabindex=\"0\" role=\"region\" aria-label=\"Diagram\">\n");
        aot_sb_addz(j->out, begin);
        aot_sb_addz(
            j->out,
            "</div>\n<pre class=\"about\" id=\"about\" aria-live=\"polite\" hidden></pre>\n");
    }
    aot_sb_addz(j->notes, aot_sb_text(&notes));
    aot_sb_free(&svg);
    aot_sb_free(&notes);
}

static void add_chart(aot_report *r, aot_chart *c)
{
    aot_chart_options opt = {.width = 1200, .height = 400, .color = "light"};
    aot_sb svg = {0};
    aot_err err = {0};
    aot_status s = aot_charts_render(&svg, (const aot_chart *const *)&c, 1, "svg", &opt, &err);
    const char *begin = strstr(aot_sb_text(&svg), "<svg");
    if (s == AOT_OK && begin) {
        aot_sb_addz(r->job->out,
                    "<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"Chart\">\n");
        aot_sb_addz(r->job->out, begin);
        aot_sb_addz(r->job->out, "</div>\n");
    } else {
        aot_report_note(r, err.msg);
    }
    aot_sb_free(&svg);
    aot_chart_free(c);
}

void aot_report_memory(aot_report *r)
{
    add_chart(r, aot_chart_of_memory(r->job->in->part, NULL));
}

void aot_report_budgets(aot_report *r)
{
    aot_draw_in in = *r->job->in;
    aot_chart *c;
    aot_err err = {0};
    in.label = "";
    if (in.part->n_nodes > MAX_SWEEP) {
        aot_report_note(r,
                        "Not cut at other budgets, as the unit is large: aotscope sweep does it.");
    } else if (aot_make_pareto_chart(&c, &in, &err) == AOT_OK) {
        add_chart(r, c);
    } else {
        aot_report_note(r, err.msg);
    }
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static void cut_note(aot_report *r, size_t n, const char *what)
{
    char text[160];
    if (n > MAX_ROWS) {
        snprintf(text, sizeof text, "The first %d of %zu %s are shown.", MAX_ROWS, n, what);
        aot_report_note(r, text);
        aot_sb_addf(r->job->notes, "%s\n", text);
    }
}

static int64_t own_bytes(const aot_saved_row *r)
{
    return r->own_bytes;
}

// The most memory of their own first; what is cut off is small.
static int by_own_bytes(const void *x, const void *y)
{
    const aot_saved_row *a = *(aot_saved_row *const *)x, *b = *(aot_saved_row *const *)y;
    if (own_bytes(a) != own_bytes(b)) {
        return own_bytes(a) < own_bytes(b) ? 1 : -1;
    }
    return (a > b) - (a < b);
}

/* Columns that would be empty for this unit are left out. */
typedef struct saved_columns {
    bool policy, module, source;
} saved_columns;

static const char *module_of(const aot_draw_in *in, aot_node_id node)
{
    const char *m = in->modules ? aot_draw_module(in, node) : NULL;
    return m ? m : "";
}

static saved_columns columns_of(const aot_draw_in *in, const aot_saved_row *rows, size_t n)
{
    saved_columns c = {0};
    char source[300];
    for (size_t i = 0; i < n; i++) {
        c.policy |= in->part->nodes[rows[i].node].policy != AOT_POLICY_NONE;
        c.module |= module_of(in, rows[i].node)[0] != 0;
        c.source |= aot_format_source(source, sizeof source, in->part->cut, rows[i].node)[0] != 0;
    }
    return c;
}

static void saved_row(aot_sb *out, const aot_draw_in *in, const aot_saved_row *row, size_t nth,
                      saved_columns c)
{
    const aot_partition *p = in->part;
    char source[300];
    aot_html_row(out, row->name);
    aot_html_number(out, 'n', (int64_t)nth);
    aot_html_number(out, 'b', row->bytes);
    aot_html_number(out, 'b', own_bytes(row));
    aot_html_cell(out, 'c', row->name);
    aot_html_cell(out, 'c', row->type);
    aot_html_cell(out, 'c', row->op);
    if (c.policy) {
        aot_html_cell(out, 't', aot_policy_name(p->nodes[row->node].policy));
    }
    if (c.module) {
        aot_html_cell(out, 'w', module_of(in, row->node));
    }
    if (c.source) {
        aot_html_cell(out, 'c', aot_format_source(source, sizeof source, p->cut, row->node));
    }
    aot_html_cell(out, 'p', row->reason);
    aot_html_cell(out, 'w', row->used_by);
    aot_html_row_end(out);
}

void aot_report_saved(aot_report *r)
{
    const aot_draw_in *in = r->job->in;
    const aot_partition *p = in->part;
    aot_sb *out = r->job->out;
    aot_arena *arena = aot_arena_new();
    aot_saved_row *rows;
    size_t n = aot_saved_rows(&rows, p, arena), n_columns = 0;
    const aot_saved_row **order = aot_xcalloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = &rows[i];
    }
    saved_columns has = columns_of(in, rows, n);
    qsort(order, n, sizeof *order, by_own_bytes);
    const struct {
        aot_html_column column;
        bool shown;
    } all[] = {{{"#", 'n'}, true},          {{"bytes", 'b'}, true},
               {{"its own", 'b'}, true},    {{"name", 'c'}, true},
               {{"type", 'c'}, true},       {{"operator", 'c'}, true},
               {{"policy", 't'}, has.policy}, {{"module", 'w'}, has.module},
               {{"source", 'c'}, has.source}, {{"why", 'p'}, true},
               {{"used by", 'w'}, true}};
    aot_html_column columns[sizeof all / sizeof *all];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].shown) {
            columns[n_columns++] = all[i].column;
        }
    }
    cut_note(r, n, "saved values");
    aot_html_table(out, "saved", "Saved values", columns, n_columns, n > 10);
    for (size_t i = 0; i < n && i < MAX_ROWS; i++) {
        saved_row(out, in, order[i], (size_t)(order[i] - rows) + 1, has);
    }
    aot_html_table_end(out);
    free(order);
    aot_arena_free(arena);
}

void aot_report_findings(aot_report *r)
{
    const aot_partition *p = r->job->in->part;
    aot_sb *out = r->job->out;
    aot_findings all = {0};
    char source[300];
    aot_lint(&all, p);
    if (all.n == 0) {
        aot_report_note(r, "Nothing was found.");
        return;
    }
    bool bytes = false, sources = false;
    for (size_t i = 0; i < all.n; i++) {
        bytes |= all.d[i].bytes > 0;
        sources |= aot_format_source(source, sizeof source, p->cut, all.d[i].node)[0] != 0;
    }
    aot_html_column columns[7] = {{"level", 't'}, {"rule", 't'}, {"what", 'p'}};
    size_t n = 3;
    columns[n] = (aot_html_column){"bytes", 'b'};
    n += bytes;
    columns[n++] = (aot_html_column){"value", 'c'};
    columns[n] = (aot_html_column){"source", 'c'};
    n += sources;
    columns[n++] = (aot_html_column){"remedy", 'p'};
    cut_note(r, all.n, "findings");
    aot_html_table(out, "found-list", "Findings", columns, n, all.n > 10);
    for (size_t i = 0; i < all.n && i < MAX_ROWS; i++) {
        const aot_finding *f = &all.d[i];
        const char *name = aot_node_name(p->cut, f->node);
        aot_html_row(out, name);
        aot_html_cell(out, 't', aot_finding_level_name(f->rule->level));
        aot_html_cell(out, 't', f->rule->name);
        aot_html_cell(out, 'p', f->message);
        if (f->bytes > 0) {
            aot_html_number(out, 'b', f->bytes);
        } else if (bytes) {
            aot_html_cell(out, 'b', "");
        }
        aot_html_cell(out, 'c', name);
        if (sources) {
            aot_html_cell(out, 'c', aot_format_source(source, sizeof source, p->cut, f->node));
        }
        aot_html_cell(out, 'p', f->rule->remedy);
        aot_html_row_end(out);
    }
    aot_html_table_end(out);
    aot_vec_free(&all);
}

typedef struct line_sum {
    const aot_src *src;
    aot_node_id first; /* a node of it */
    uint32_t nodes, saved, again;
    int64_t bytes; /* saved, without what shares memory with an input or a value before */
} line_sum;

static bool same_place(const line_sum *a, const line_sum *b)
{
    return a->src->file == b->src->file && a->src->line == b->src->line;
}

// Comments of one line in their order, so that the first one's code is shown.
static int by_place(const void *x, const void *y)
{
    const line_sum *a = x, *b = y;
    if (!same_place(a, b)) {
        bool less = a->src->file != b->src->file ? a->src->file < b->src->file
                                                 : a->src->line < b->src->line;
        return less ? -1 : 1;
    }
    return (a->src > b->src) - (a->src < b->src);
}

static int by_weight(const void *x, const void *y)
{
    const line_sum *a = x, *b = y;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return a->first != b->first ? (a->first > b->first) - (a->first < b->first) : 0;
}

// Sums by comment, then by file and line; the most bytes first.
static size_t sum_lines(line_sum **out, const aot_graph *g, const aot_partition *p)
{
    line_sum *l = aot_xcalloc(g->srcs.n + 1, sizeof *l);
    size_t kept = 0;
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        line_sum *s = &l[aot_node_at(g, i)->src];
        s->first = s->nodes == 0 ? i : s->first;
        s->nodes++;
        if (p && g == p->cut) {
            bool saved = p->nodes[i].verdict == AOT_V_SAVED;
            s->saved += saved;
            s->again += p->nodes[i].verdict == AOT_V_RECOMPUTED;
        }
    }
    for (uint32_t i = 0; p && g == p->cut && i < p->n_saved; i++) {
        l[aot_node_at(g, p->saved[i])->src].bytes += p->saved_own[i];
    }
    for (size_t i = 0; i < g->srcs.n; i++) {
        l[i].src = &g->srcs.d[i];
        if (l[i].nodes > 0 && l[i].src->file) {
            l[kept++] = l[i];
        }
    }
    qsort(l, kept, sizeof *l, by_place);
    size_t n = 0;
    for (size_t i = 0; i < kept; i++) {
        if (n > 0 && same_place(&l[n - 1], &l[i])) {
            l[n - 1].nodes += l[i].nodes;
            l[n - 1].saved += l[i].saved;
            l[n - 1].again += l[i].again;
            l[n - 1].bytes += l[i].bytes;
            l[n - 1].first = l[i].first < l[n - 1].first ? l[i].first : l[n - 1].first;
        } else {
            l[n++] = l[i];
        }
    }
    qsort(l, n, sizeof *l, by_weight);
    *out = l;
    return n;
}

void aot_report_lines(aot_report *r)
{
    static const aot_html_column columns[] = {
        {"source", 'c'}, {"code", 'w'},         {"nodes", 'n'},
        {"saved", 'b'},  {"values saved", 'n'}, {"values computed again", 'n'}};
    const aot_partition *p = r->job->in->part;
    const aot_graph *g = p ? p->cut : r->job->in->graph;
    aot_sb *out = r->job->out;
    line_sum *lines;
    char source[300];
    size_t n = sum_lines(&lines, g, p);
    if (n == 0) {
        aot_report_note(r, "The graph names no source line.");
        free(lines);
        return;
    }
    cut_note(r, n, "source lines");
    aot_html_table(out, "line-list", "Source lines", columns, p ? 6 : 3, n > 10);
    for (size_t i = 0; i < n && i < MAX_ROWS; i++) {
        const line_sum *l = &lines[i];
        aot_html_row(out, aot_node_name(g, l->first));
        aot_html_cell(out, 'c', aot_format_source(source, sizeof source, g, l->first));
        aot_html_cell(out, 'w', aot_text(g->ctx, l->src->code));
        aot_html_number(out, 'n', l->nodes);
        if (p) {
            aot_html_number(out, 'b', l->bytes);
            aot_html_number(out, 'n', l->saved);
            aot_html_number(out, 'n', l->again);
        }
        aot_html_row_end(out);
    }
    aot_html_table_end(out);
    free(lines);
}

// How many edits of which kind are in force; not their lines, which may hold names that were
// redacted.
static void edits_note(aot_report *r)
{
    const aot_draw_in *in = r->job->in;
    size_t n = in->model ? aot_model_n_edits(in->model, (size_t)in->unit) : 0;
    aot_sb text = {0};
    for (size_t i = 0; i < n; i++) {
        const aot_unit_edit *e = aot_model_edit_at(in->model, (size_t)in->unit, i);
        aot_sb_addf(&text, "%s%s",
                    i ? ", " : "This unit is changed by: ", aot_unit_edit_kind_get(e->kind)->word);
    }
    if (n > 0) {
        aot_report_note(r, aot_sb_text(&text));
    }
    aot_sb_free(&text);
}

void aot_report_settings(aot_report *r)
{
    static const aot_html_column columns[] = {
        {"setting", 'c'}, {"value", 'c'}, {"default", 'c'}, {"what it does", 'p'}};
    const aot_draw_in *in = r->job->in;
    aot_sb *out = r->job->out;
    aot_config now, usual;
    aot_err err = {0};
    aot_config_init(&usual);
    if (in->part) {
        now = in->part->config;
    } else if (!in->model || aot_model_config(in->model, (size_t)in->unit, &now, &err) != AOT_OK) {
        now = usual;
    }
    edits_note(r);
    aot_html_table(out, "setting-list", "Settings", columns, sizeof columns / sizeof *columns,
                   true);
    for (int changed = 1; changed >= 0; changed--) { // what is not as usual comes first
        for (size_t i = 0; i < aot_config_count(); i++) {
            const aot_config_row *row = aot_config_row_at(i);
            aot_sb value = {0}, def = {0};
            aot_config_print(&value, &now, row);
            aot_config_print(&def, &usual, row);
            bool differs = strcmp(aot_sb_text(&value), aot_sb_text(&def)) != 0;
            if (differs == (changed == 1)) {
                aot_sb_addz(out, differs ? "<tr class=\"changed\">" : "<tr>");
                aot_html_cell(out, 'c', row->name);
                aot_html_cell(out, 'c', aot_sb_text(&value));
                aot_html_cell(out, 'c', aot_sb_text(&def));
                aot_html_cell(out, 'p', row->doc);
                aot_html_row_end(out);
            }
            aot_sb_free(&value);
            aot_sb_free(&def);
        }
    }
    aot_html_table_end(out);
}

void aot_report_stages(aot_report *r)
{
    static const char *const origins[] = {"not there", "recorded", "derived"};
    static const aot_html_column columns[] = {{"stage", 't'},
                                              {"where from", 'p'},
                                              {"nodes", 'n'},
                                              {"changed", 't'},
                                              {"what it holds", 'p'}};
    const aot_draw_in *in = r->job->in;
    aot_sb *out = r->job->out;
    if (!in->model) {
        aot_report_note(r, "The stages are known of an opened input only.");
        return;
    }
    aot_html_table(out, "stage-list", "Stages", columns, sizeof columns / sizeof *columns, false);
    for (int s = 0; s < AOT_N_STAGES; s++) {
        aot_stage_status st = aot_model_stage(in->model, (size_t)in->unit, (aot_stage)s);
        const aot_graph *g;
        aot_err err = {0};
        // what was recorded is read, to count it; nothing is derived for this table alone
        if (st.origin == AOT_ORIGIN_RECORDED && s != AOT_STAGE_RUNTIME &&
            aot_model_graph(in->model, (size_t)in->unit, (aot_stage)s, &g, &err) == AOT_OK) {
            st = aot_model_stage(in->model, (size_t)in->unit, (aot_stage)s);
        }
        aot_sb from = {0};
        aot_sb_addf(&from, "%s%s%s", origins[st.origin], st.reason && *st.reason ? ": " : "",
                    st.reason ? st.reason : "");
        aot_html_row(out, NULL);
        aot_html_cell(out, 't', aot_stage_get((aot_stage)s)->name);
        aot_html_cell(out, 'p', aot_sb_text(&from));
        if (st.n_nodes > 0) {
            aot_html_number(out, 'n', st.n_nodes);
        } else {
            aot_html_cell(out, 'n', "");
        }
        aot_html_cell(out, 't', st.same_as ? "nothing" : "");
        aot_html_cell(out, 'p', aot_stage_get((aot_stage)s)->sentence);
        aot_html_row_end(out);
        aot_sb_free(&from);
    }
    aot_html_table_end(out);
}
