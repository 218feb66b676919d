/* Live memory of a unit in words, rows and charts. */
#include "tui/memory_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tui/out_format.h"
#include "viewers/format.h"

static const char *const side_names[] = {"forward", "backward"};

static const aot_graph *graph_of(const aot_memory_unit *u, aot_mem_side side)
{
    return side == AOT_SIDE_FORWARD ? u->p->forward : u->p->backward;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static aot_status read_by(aot_memory_ask *out, const char *text, aot_err *err)
{
    while (*text != '\0') {
        char name[32];
        size_t n = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < 31 ? n : 31), text);
        aot_mem_by by = aot_mem_by_find(name);
        if (by == AOT_N_MEM_BY) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "--by '%s': there are kind, line, op, region and module", name);
        }
        out->by_set[by] = out->any_by = true;
        text += n + (text[n] == ',');
    }
    return AOT_OK;
}

/* Whether saved values are held until the backward returns; `absent` if nothing is asked for. */
static aot_status read_hold(bool *out, const aot_args *a, bool absent, aot_err *err)
{
    bool hold = aot_args_has(a, "hold-saved") || aot_args_has(a, "donated");
    bool free_them = aot_args_has(a, "free-saved");
    if (hold && free_them) {
        return AOT_FAIL(err, AOT_E_USAGE, "--free-saved frees all, --%s does not: give one of them",
                        aot_args_has(a, "donated") ? "donated" : "hold-saved");
    }
    *out = hold || (absent && !free_them);
    return AOT_OK;
}

aot_status aot_memory_ask_read(aot_memory_ask *out, const aot_args *a, bool hold, aot_err *err)
{
    const char *by, *top = aot_args_get(a, "top"), *allocator = aot_args_get(a, "allocator");
    *out = (aot_memory_ask){.top = 10};
    for (size_t i = 0; (by = aot_args_nth(a, "by", i)) != NULL; i++) {
        AOT_TRY(read_by(out, by, err));
    }
    if (top != NULL) {
        int64_t n;
        if (!aot_int_read(&n, top, 0, 1000000)) {
            return AOT_FAIL(err, AOT_E_USAGE, "--top takes a number, 0 for all, not '%s'", top);
        }
        out->top = (unsigned)n;
    }
    if (allocator != NULL && strcmp(allocator, "cuda") != 0 && strcmp(allocator, "none") != 0) {
        return AOT_FAIL(err, AOT_E_USAGE, "--allocator takes none or cuda, not '%s'", allocator);
    }
    out->allocator = allocator != NULL && strcmp(allocator, "cuda") == 0;
    out->timeline = aot_args_has(a, "timeline");
    out->plot = !aot_args_has(a, "no-plot");
    out->no_fold = aot_args_has(a, "no-fold");
    out->walk = (aot_memory_options){.reuse_in_place = aot_args_has(a, "in-place-reuse"),
                                     .free_donated = aot_args_has(a, "donated"),
                                     .round_to = out->allocator ? aot_allocator_round(1) : 0,
                                     .first_calls = aot_args_has(a, "first-calls")};
    return read_hold(&out->walk.hold_saved, a, hold, err);
}

/* The i-th way to group that is asked for: kind and line where none is; AOT_N_MEM_BY after the
 * last. */
static aot_mem_by asked(const aot_memory_ask *ask, int i)
{
    for (int by = 0; by < AOT_N_MEM_BY; by++) {
        bool on = ask->any_by ? ask->by_set[by] : by == AOT_MEM_BY_KIND || by == AOT_MEM_BY_LINE;
        if (on && i-- == 0) {
            return (aot_mem_by)by;
        }
    }
    return AOT_N_MEM_BY;
}

static void make_groups(aot_memgroups *g, const aot_memory_ask *ask, const aot_memory_unit *u,
                        aot_mem_side side, aot_mem_by by)
{
    // regions are told apart by their numbers
    bool fold = !ask->no_fold && by != AOT_MEM_BY_REGION;
    aot_memgroups_make(g, u->p, u->m, side, by, u->modules, fold);
}

/* ---- rows of the timeline -------------------------------------------------------------------- */

typedef struct changes {
    int64_t *born, *freed; /* by row: made by the node, freed after it */
} changes;

static changes changes_of(const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    changes c = {aot_xcalloc(s->live.n + 1, sizeof *c.born),
                 aot_xcalloc(s->live.n + 1, sizeof *c.freed)};
    aot_memory_changes(s, c.born, c.freed);
    return c;
}

static void timeline_table(aot_sb *out, const aot_memory_unit *u, aot_mem_side side)
{
    static const char *const titles[] = {"live",   "allocated", "freed after",
                                         "  node", "operator",  "line"};
    const aot_memory_side *s = aot_memory_get(u->m, side);
    const aot_graph *g = graph_of(u, side);
    changes c = changes_of(u, side);
    aot_table *t = aot_table_new();
    char text[512];
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 3 ? AOT_RIGHT : AOT_LEFT, i == 4 ? 40 : 0);
    }
    for (uint32_t r = 0; r < s->live.n; r++) {
        aot_node_id id = s->live.d[r].node;
        aot_table_row(t);
        aot_table_bytes(t, s->live.d[r].bytes);
        for (int k = 0; k < 2; k++) {
            int64_t bytes = k == 0 ? c.born[r] : c.freed[r];
            if (bytes != 0) {
                aot_table_cellf(t, "%c%s", k == 0 ? '+' : '-',
                                aot_format_bytes(text, sizeof text, bytes));
            } else {
                aot_table_cell(t, "");
            }
        }
        aot_table_cellf(t, "%s %s", r == s->peak_row ? ">" : " ", aot_node_name(g, id));
        aot_table_cell(t, aot_format_op(text, sizeof text, g, id));
        aot_table_cell(t, aot_format_source(text, sizeof text, g, id));
    }
    aot_table_print(out, t, aot_out_table_flags(), 0, 0);
    aot_table_free(t);
    free(c.born);
    free(c.freed);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void group_row(aot_table *t, const aot_memory_unit *u, aot_mem_side side,
                      const aot_memgroup *g, aot_mem_by by)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    const aot_mem_block *b = g->largest != UINT32_MAX ? &s->blocks.d[g->largest] : NULL;
    aot_table_row(t);
    aot_table_bytes(t, g->peak_bytes);
    aot_table_cellf(t, "%.0f%%",
                    s->peak != 0 ? 100.0 * (double)g->peak_bytes / (double)s->peak : 0.0);
    aot_table_cellf(t, "%u", g->n_blocks);
    aot_table_bytes(t, g->most_bytes);
    if (g->n_same > 1) {
        aot_table_cellf(t, "%s (%u)", g->key, g->n_same);
    } else {
        aot_table_cell(t, g->key);
    }
    aot_table_cellf(t, "%s to %s", aot_node_name(graph_of(u, side), s->live.d[g->first_row].node),
                    aot_node_name(graph_of(u, side), s->live.d[g->last_row].node));
    if (b != NULL && by != AOT_MEM_BY_KIND && g->detail[0] == '\0') {
        aot_table_cellf(t, "largest: %s",
                        aot_node_name(aot_mem_block_graph(u->p, side, b), b->node));
    } else {
        aot_table_cell(t, g->detail);
    }
}

static void rest_row(aot_table *t, const aot_memgroups *g, uint32_t from)
{
    int64_t peak = 0;
    uint32_t n = 0;
    for (uint32_t i = from; i < g->n; i++) {
        peak = aot_sum(peak, g->d[i].peak_bytes);
        n += g->d[i].n_blocks;
    }
    aot_table_row(t);
    aot_table_bytes(t, peak);
    aot_table_cellf(t, "%.0f%%",
                    g->side->peak != 0 ? 100.0 * (double)peak / (double)g->side->peak : 0.0);
    aot_table_cellf(t, "%u", n);
    aot_table_cell(t, "");
    aot_table_cellf(t, "%u more (--top 0)", g->n - from);
}

/* The most checkpoint regions of which something lives at once, inputs aside. */
static void regions_at_once(aot_sb *out, const aot_memgroups *g, const aot_graph *graph)
{
    size_t n_rows = g->side->live.n;
    uint32_t most = 0, at = 0, *count = aot_xcalloc(n_rows + 1, sizeof *count);
    int64_t *rows = aot_xcalloc(n_rows + 1, sizeof *rows);
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->d[i].key[0] == '(') {
            continue;
        }
        aot_memgroups_over_time(rows, g, i);
        for (size_t r = 0; r < n_rows; r++) {
            count[r] += rows[r] > 0;
        }
    }
    for (uint32_t r = 0; r < n_rows; r++) {
        at = count[r] > most ? r : at;
        most = count[r] > most ? count[r] : most;
    }
    if (most > 0) {
        aot_sb_addf(out, "memory of %u checkpoint region%s lives at once, first at %s\n", most,
                    most == 1 ? "" : "s", aot_node_name(graph, g->side->live.d[at].node));
    }
    free(count);
    free(rows);
}

static void groups_table(aot_sb *out, const aot_memory_ask *ask, const aot_memory_unit *u,
                         aot_mem_side side, aot_mem_by by)
{
    aot_memgroups g;
    aot_table *t = aot_table_new();
    char by_title[32];
    make_groups(&g, ask, u, side, by);
    snprintf(by_title, sizeof by_title, "by %s", aot_mem_by_name(by));
    const char *titles[] = {"at the peak",    "", "storages", "most at once", by_title,
                            "lives from, to", ""};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 4 ? AOT_RIGHT : AOT_LEFT, i == 6 ? 60 : 0);
    }
    for (uint32_t i = 0; i < g.n; i++) {
        if (ask->top != 0 && i == ask->top && g.n > ask->top) {
            rest_row(t, &g, i);
            break;
        }
        group_row(t, u, side, &g.d[i], by);
    }
    aot_table_print(out, t, aot_out_table_flags(), 0, 0);
    if (by == AOT_MEM_BY_REGION) {
        regions_at_once(out, &g, graph_of(u, side));
    }
    aot_table_free(t);
    aot_memgroups_free(&g);
}

/* The side's bytes over its nodes, as one line. */
static void plot(aot_sb *out, const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    char title[64];
    snprintf(title, sizeof title, "live bytes of the %s", side_names[side]);
    aot_chart *c = aot_chart_new(title, NULL);
    aot_chart_axes(c, "node", AOT_CHART_INDEX, "live", AOT_CHART_BYTES);
    uint32_t series = aot_chart_series_new(c, "live", AOT_CHART_AREA);
    for (size_t r = 0; r < s->live.n; r++) {
        aot_chart_point(c, series, (double)r, (double)s->live.d[r].bytes, NULL);
    }
    aot_out_plot(out, c, 12);
    aot_chart_free(c);
}

static void print_side(aot_sb *out, const aot_memory_ask *ask, const aot_memory_unit *u,
                       aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    const aot_graph *g = graph_of(u, side);
    const aot_reserved *r = side == AOT_SIDE_FORWARD ? &u->forward : &u->backward;
    char peak[32], before[32], end[32], source[512], more[32];
    aot_sb_addf(out, "\n%s: %s at the peak", side_names[side],
                aot_format_bytes(peak, sizeof peak, s->peak));
    if (s->peak_node != AOT_NO_NODE) {
        aot_format_source(source, sizeof source, g, s->peak_node);
        aot_sb_addf(out, ", at %s (%u of %zu%s%s)", aot_node_name(g, s->peak_node), s->peak_row + 1,
                    s->live.n, source[0] != '\0' ? ", " : "", source);
    }
    aot_sb_addf(out, "; %s before the first node, %s at the end\n",
                aot_format_bytes(before, sizeof before, s->inputs),
                aot_format_bytes(end, sizeof end, s->end));
    if (side == AOT_SIDE_BACKWARD && u->other->backward.peak != s->peak) {
        aot_sb_addf(out, ask->walk.hold_saved ? "%s if saved values are freed at their last use\n"
                                              : "%s if saved values are held until it returns "
                                                "(retain_graph=True, --hold-saved)\n",
                    aot_format_bytes(peak, sizeof peak, u->other->backward.peak));
    }
    if (ask->allocator) {
        aot_sb_addf(out, "the allocator holds %s at most, %s of it in use at once; segments: %u\n",
                    aot_format_bytes(peak, sizeof peak, r->reserved_peak),
                    aot_format_bytes(more, sizeof more, r->allocated_peak), r->n_segments);
    }
    if (s->live.n == 0) {
        return;
    }
    if (ask->plot) {
        plot(out, u, side);
    }
    if (ask->timeline) {
        timeline_table(out, u, side);
    }
    aot_mem_by by;
    for (int i = 0; (by = asked(ask, i)) != AOT_N_MEM_BY; i++) {
        aot_sb_addz(out, i > 0 || ask->timeline ? "\n" : "");
        groups_table(out, ask, u, side, by);
    }
}

void aot_memory_print(aot_sb *out, const aot_memory_ask *ask, const aot_memory_unit *u)
{
    aot_sb_addf(out, "# unit %d %s %s: budget %g\n", u->number, u->label, u->title,
                u->p->config.activation_memory_budget);
    print_side(out, ask, u, AOT_SIDE_FORWARD);
    print_side(out, ask, u, AOT_SIDE_BACKWARD);
    aot_sb_addc(out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *groups_json(const aot_memory_ask *ask, const aot_memory_unit *u, aot_mem_side side,
                           aot_mem_by by)
{
    aot_memgroups g;
    json_t *list = json_array();
    make_groups(&g, ask, u, side, by);
    int64_t *rows = aot_xcalloc(g.side->live.n + 1, sizeof *rows);
    for (uint32_t i = 0; i < g.n; i++) {
        const aot_memgroup *x = &g.d[i];
        json_t *o =
            json_pack("{s:s, s:s, s:I, s:I, s:i, s:i, s:i, s:i}", "key", x->key, "detail",
                      x->detail, "peak_bytes", (json_int_t)x->peak_bytes, "most_bytes",
                      (json_int_t)x->most_bytes, "storages", (int)x->n_blocks, "folded",
                      (int)x->n_same, "first_row", (int)x->first_row, "last_row", (int)x->last_row);
        if (ask->timeline) {
            json_t *over = json_array();
            aot_memgroups_over_time(rows, &g, i);
            for (size_t r = 0; r < g.side->live.n; r++) {
                json_array_append_new(over, json_integer(rows[r]));
            }
            json_object_set_new(o, "over_time", over);
        }
        json_array_append_new(list, o);
    }
    free(rows);
    aot_memgroups_free(&g);
    return list;
}

static void timeline_json(json_t *o, const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    changes c = changes_of(u, side);
    json_t *list = json_array();
    for (size_t r = 0; r < s->live.n; r++) {
        json_array_append_new(list,
                              json_pack("[I, I]", (json_int_t)c.born[r], (json_int_t)c.freed[r]));
    }
    json_object_set_new(o, "allocated_and_freed", list);
    free(c.born);
    free(c.freed);
}

static json_t *side_json(const aot_memory_ask *ask, const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    const aot_graph *g = graph_of(u, side);
    json_t *live = json_array();
    for (size_t i = 0; i < s->live.n; i++) {
        json_array_append_new(live, json_pack("[s, I]", aot_node_name(g, s->live.d[i].node),
                                              (json_int_t)s->live.d[i].bytes));
    }
    json_t *o =
        json_pack("{s:I, s:I}", "inputs", (json_int_t)s->inputs, "peak", (json_int_t)s->peak);
    json_object_set_new(o, "peak_node",
                        s->peak_node != AOT_NO_NODE ? json_string(aot_node_name(g, s->peak_node))
                                                    : json_null());
    json_object_set_new(o, "live", live);
    json_object_set_new(o, "end", json_integer(s->end));
    if (ask->timeline) {
        timeline_json(o, u, side);
    }
    if (ask->any_by) {
        json_t *groups = json_object();
        aot_mem_by by;
        for (int i = 0; (by = asked(ask, i)) != AOT_N_MEM_BY; i++) {
            json_object_set_new(groups, aot_mem_by_name(by), groups_json(ask, u, side, by));
        }
        json_object_set_new(o, "groups", groups);
    }
    if (ask->allocator) {
        const aot_reserved *r = side == AOT_SIDE_FORWARD ? &u->forward : &u->backward;
        json_object_set_new(o, "allocator",
                            json_pack("{s:I, s:I, s:I, s:i}", "allocated_peak",
                                      (json_int_t)r->allocated_peak, "reserved_peak",
                                      (json_int_t)r->reserved_peak, "reserved_end",
                                      (json_int_t)r->reserved_end, "segments", (int)r->n_segments));
    }
    return o;
}

json_t *aot_memory_json(const aot_memory_ask *ask, const aot_memory_unit *u)
{
    const aot_memory_side *s = &u->other->backward;
    bool held = ask->walk.hold_saved;
    json_t *other = json_pack("{s:I, s:I, s:I}", "inputs", (json_int_t)s->inputs, "peak",
                              (json_int_t)s->peak, "end", (json_int_t)s->end);
    return json_pack("{s:i, s:o, s:o, s:s, s:o}", "unit", u->number, "forward",
                     side_json(ask, u, AOT_SIDE_FORWARD), "backward",
                     side_json(ask, u, AOT_SIDE_BACKWARD), "saved_values",
                     held ? "held until the backward returns" : "freed at their last use",
                     held ? "backward_if_freed" : "backward_if_held", other);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

aot_table *aot_memory_csv_new(const aot_memory_ask *ask)
{
    static const char *const rows[] = {
        "unit",        "side",  "row", "node", "op", "live_bytes", "allocated_bytes",
        "freed_bytes", "source"};
    static const char *const groups[] = {"unit",       "side",       "by",       "key",   "detail",
                                         "peak_bytes", "most_bytes", "storages", "folded"};
    aot_table *t = aot_table_new();
    for (size_t i = 0; i < 9; i++) {
        aot_table_column(t, ask->any_by ? groups[i] : rows[i], AOT_LEFT, 0);
    }
    return t;
}

static void csv_groups(aot_table *t, const aot_memory_ask *ask, const aot_memory_unit *u,
                       aot_mem_side side)
{
    aot_mem_by by;
    for (int i = 0; (by = asked(ask, i)) != AOT_N_MEM_BY; i++) {
        aot_memgroups g;
        make_groups(&g, ask, u, side, by);
        for (uint32_t k = 0; k < g.n; k++) {
            const aot_memgroup *x = &g.d[k];
            aot_table_row(t);
            aot_table_cellf(t, "%d", u->number);
            aot_table_cell(t, side_names[side]);
            aot_table_cell(t, aot_mem_by_name(by));
            aot_table_cell(t, x->key);
            aot_table_cell(t, x->detail);
            aot_table_cellf(t, "%lld", (long long)x->peak_bytes);
            aot_table_cellf(t, "%lld", (long long)x->most_bytes);
            aot_table_cellf(t, "%u", x->n_blocks);
            aot_table_cellf(t, "%u", x->n_same);
        }
        aot_memgroups_free(&g);
    }
}

static void csv_rows(aot_table *t, const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    const aot_graph *g = graph_of(u, side);
    changes c = changes_of(u, side);
    char text[512];
    for (uint32_t r = 0; r < s->live.n; r++) {
        aot_node_id id = s->live.d[r].node;
        aot_table_row(t);
        aot_table_cellf(t, "%d", u->number);
        aot_table_cell(t, side_names[side]);
        aot_table_cellf(t, "%u", r);
        aot_table_cell(t, aot_node_name(g, id));
        aot_table_cell(t, aot_format_op(text, sizeof text, g, id));
        aot_table_cellf(t, "%lld", (long long)s->live.d[r].bytes);
        aot_table_cellf(t, "%lld", (long long)c.born[r]);
        aot_table_cellf(t, "%lld", (long long)c.freed[r]);
        aot_table_cell(t, aot_format_source(text, sizeof text, g, id));
    }
    free(c.born);
    free(c.freed);
}

void aot_memory_csv(aot_table *t, const aot_memory_ask *ask, const aot_memory_unit *u)
{
    for (int side = 0; side < 2; side++) {
        if (ask->any_by) {
            csv_groups(t, ask, u, (aot_mem_side)side);
        } else {
            csv_rows(t, u, (aot_mem_side)side);
        }
    }
}

/* ---- charts ---------------------------------------------------------------------------------- */

/* Areas beyond the palette are one: "12 others". */
enum { MOST_AREAS = 7 };

/* One area; the last value holds until the end of its row. */
static void add_area(aot_chart *c, const char *name, const int64_t *rows, size_t n_rows)
{
    uint32_t series = aot_chart_series_new(c, name, AOT_CHART_AREA);
    for (size_t r = 0; r <= n_rows && n_rows != 0; r++) {
        aot_chart_point(c, series, (double)r, (double)rows[r < n_rows ? r : n_rows - 1], NULL);
    }
}

/* All kinds in the table's order: the same colours in every chart. */
static void add_kinds(aot_chart *c, const aot_memgroups *g)
{
    int64_t *rows = aot_xcalloc(g->side->live.n + 1, sizeof *rows);
    for (int kind = 0; kind < AOT_N_MEM_KINDS; kind++) {
        const char *name = aot_mem_kind_name((aot_mem_kind)kind);
        memset(rows, 0, g->side->live.n * sizeof *rows);
        for (uint32_t i = 0; i < g->n; i++) {
            if (strcmp(g->d[i].key, name) == 0) {
                aot_memgroups_over_time(rows, g, i);
            }
        }
        add_area(c, name, rows, g->side->live.n);
    }
    free(rows);
}

static void add_areas(aot_chart *c, const aot_memgroups *g)
{
    size_t n_rows = g->side->live.n;
    int64_t *rows = aot_xcalloc(n_rows + 1, sizeof *rows),
            *rest = aot_xcalloc(n_rows + 1, sizeof *rest);
    char name[256];
    for (uint32_t i = 0; i < g->n; i++) {
        bool own = i < MOST_AREAS || g->n == MOST_AREAS + 1;
        aot_memgroups_over_time(rows, g, i);
        for (size_t r = 0; !own && r < n_rows; r++) {
            rest[r] += rows[r];
        }
        if (own) {
            snprintf(name, sizeof name, g->d[i].n_same > 1 ? "%s (%u)" : "%s", g->d[i].key,
                     g->d[i].n_same);
            add_area(c, name, rows, n_rows);
        }
    }
    if (g->n > MOST_AREAS + 1) {
        snprintf(name, sizeof name, "%u others", g->n - MOST_AREAS);
        add_area(c, name, rest, n_rows);
    }
    free(rows);
    free(rest);
}

aot_chart *aot_memory_chart(const aot_memory_ask *ask, const aot_memory_unit *u, aot_mem_side side)
{
    const aot_memory_side *s = aot_memory_get(u->m, side);
    char title[128], about[512], peak[32];
    aot_memgroups g;
    aot_mem_by by = asked(ask, 0);
    snprintf(title, sizeof title, "Live bytes of the %s by %s", side_names[side],
             aot_mem_by_name(by));
    snprintf(about, sizeof about, "unit %d %s %s", u->number, u->label, u->title);
    aot_chart *c = aot_chart_new(title, about);
    aot_chart_axes(c, "node", AOT_CHART_INDEX, "live bytes", AOT_CHART_BYTES);
    make_groups(&g, ask, u, side, by);
    if (by == AOT_MEM_BY_KIND) {
        add_kinds(c, &g);
    } else {
        add_areas(c, &g);
    }
    aot_memgroups_free(&g);
    if (s->peak_node != AOT_NO_NODE) {
        snprintf(about, sizeof about, "%s at %s", aot_format_bytes(peak, sizeof peak, s->peak),
                 aot_node_name(graph_of(u, side), s->peak_node));
        aot_chart_mark_at(c, AOT_CHART_AT_X, s->peak_row, 0, about);
    }
    return c;
}
