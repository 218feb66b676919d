/* aotscope ranks INPUT...: whether all ranks compiled the same. The view is view_ranks.c. */
#include <stdio.h>
#include <string.h>

#include "lint/ranks.h"
#include "tui/open_model.h"
#include "tui/rank_words.h"
#include "viewers/table.h"

static void print_group(const aot_ranks *r, const aot_rank_group *g)
{
    static const char *const titles[] = {"", "", "graphs", "saved", "collectives"};
    aot_table *t = aot_table_new();
    aot_sb text = {0};
    printf("# %s %s\n", g->label, g->title);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], AOT_LEFT, 0);
    }
    for (size_t i = g->begin; i < g->end; i++) {
        const aot_rank_unit *u = &r->units.d[i];
        static void (*const words[])(aot_sb *, const aot_rank_unit *) = {
            rank_graph_words, rank_saved_words, rank_collective_words};
        aot_table_row(t);
        aot_table_cellf(t, "  %c", rank_sign(u));
        aot_table_cell(t, r->ranks.d[u->rank]);
        for (size_t k = 0; k < 3; k++) {
            aot_sb_clear(&text);
            words[k](&text, u);
            aot_table_cell(t, aot_sb_text(&text));
        }
    }
    aot_sb_clear(&text);
    aot_table_print(&text, t, 0, aot_colors_for(1), 0);
    fputs(aot_sb_text(&text), stdout);
    aot_sb_free(&text);
    aot_table_free(t);
}

static json_t *unit_json(const aot_ranks *r, const aot_rank_unit *u)
{
    json_t *o = json_pack("{s:s}", "rank", r->ranks.d[u->rank]);
    if (u->unit == AOT_RANK_MISSING) {
        json_object_set_new(o, "unit", json_null());
        return o;
    }
    json_object_set_new(o, "unit", json_integer((json_int_t)u->unit));
    json_object_set_new(o, "saved", json_integer(u->n_saved));
    json_object_set_new(o, "saved_sym", json_integer(u->n_saved_sym));
    json_object_set_new(o, "saved_bytes",
                        u->saved_bytes < 0 ? json_null() : json_integer(u->saved_bytes));
    json_object_set_new(o, "collectives", json_integer((json_int_t)u->n_collectives));
    if (u->first) {
        return o;
    }
    json_t *c = json_pack("{s:s, s:s, s:s}", "graph", aot_rank_verdict_name(u->graph), "saved",
                          aot_rank_verdict_name(u->saved), "collectives",
                          aot_rank_verdict_name(u->collectives));
    if (u->stage != AOT_N_STAGES) {
        json_object_set_new(c, "stage", json_string(aot_stage_get(u->stage)->name));
    }
    if (u->saved == AOT_RANK_DIFFERS) {
        json_object_set_new(c, "saved_less", json_integer(u->saved_less));
        json_object_set_new(c, "saved_more", json_integer(u->saved_more));
    }
    if (u->place > 0) {
        json_object_set_new(c, "place", json_integer((json_int_t)u->place));
        json_object_set_new(c, "theirs", u->theirs ? json_string(u->theirs) : json_null());
        json_object_set_new(c, "ours", u->ours ? json_string(u->ours) : json_null());
    }
    json_object_set_new(o, "compared", c);
    return o;
}

static void print_json(const aot_ranks *r)
{
    json_t *o = aot_cmd_json(), *ranks = json_array(), *groups = json_array();
    for (size_t i = 0; i < r->ranks.n; i++) {
        json_array_append_new(ranks, json_string(r->ranks.d[i]));
    }
    for (size_t i = 0; i < r->groups.n; i++) {
        const aot_rank_group *g = &r->groups.d[i];
        json_t *units = json_array();
        for (size_t k = g->begin; k < g->end; k++) {
            json_array_append_new(units, unit_json(r, &r->units.d[k]));
        }
        json_array_append_new(groups, json_pack("{s:s, s:s, s:o}", "label", g->label, "title",
                                                g->title, "units", units));
    }
    json_object_set_new(o, "ranks", ranks);
    json_object_set_new(o, "groups", groups);
    aot_cmd_print_json(o);
}

static void print_text(const aot_ranks *r, const unsigned n[4])
{
    for (size_t i = 0; i < r->groups.n; i++) {
        print_group(r, &r->groups.d[i]);
    }
    printf("%zu ranks, %zu unit%s; beside the measure %u the same, %u of other sizes, %u differ, "
           "%u unknown\n", r->ranks.n, r->groups.n, r->groups.n == 1 ? "" : "s", n[AOT_RANK_SAME],
           n[AOT_RANK_SIZES], n[AOT_RANK_DIFFERS], n[AOT_RANK_UNKNOWN]);
}

static int run(const aot_args *a)
{
    aot_model *m = NULL;
    aot_ranks r = {0};
    aot_err err = {0};
    unsigned n[4] = {0};
    if (aot_cmd_check_settings(a, &err) != AOT_OK || aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_ranks_init(&r, m);
    if (r.ranks.n < 2) {
        (void)AOT_FAIL(&err, AOT_E_USAGE,
                       "the input holds one rank only: give the folder of all ranks' "
                       "logs, or the log of each");
        aot_ranks_free(&r);
        aot_model_free(m);
        return aot_cmd_fail(&err);
    }
    while (aot_ranks_step(&r, m)) {
    }
    for (size_t i = 0; i < r.units.n; i++) {
        n[aot_rank_unit_verdict(&r.units.d[i])] += !r.units.d[i].first;
    }
    if (aot_args_has(a, "json")) {
        print_json(&r);
    } else {
        print_text(&r, n);
    }
    aot_ranks_free(&r);
    aot_model_free(m);
    return n[AOT_RANK_DIFFERS] > 0 ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_ranks = {
    .name = "ranks",
    .synopsis = "INPUT... [--set NAME=VALUE]... [--json]",
    .summary = "Whether all ranks have the same graphs, saved values and collectives in order",
    .doc =
        "Each unit of the first rank that has it is the measure for the other ranks' unit of its "
        "compile id. Graphs are matched by structure; where operators and operands are the same "
        "and "
        "only sizes are others, as with shards of different length, that is said and is no "
        "difference. Logs that tell no rank are compared file by file. "
        "Exit code 1 where graphs, saved sets or collectives differ, or a rank lacks a unit.",
    .examples = "aotscope ranks trace_folder\n"
                "aotscope ranks rank0.log rank1.log --json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
