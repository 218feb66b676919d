/* aotscope rng INPUT: who draws random numbers, from which generator, in which order, and whether
 * the backward sees the forward's numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/rng_stages.h"
#include "tui/tell_units.h"
#include "viewers/format.h"
#include "viewers/table.h"

/* What is told of a unit. */
typedef struct told {
    const aot_partition *p;          /* NULL: the unit has no backward */
    aot_rng rng;                     /* of p */
    aot_rng_sites forward, backward; /* of the modules that ran, where they are recorded; or of the
                                        inference graph */
    aot_rng_stage stages[AOT_N_STAGES];
    size_t n_stages;
    aot_rng_eager eager;
    const char *eager_text;
    const aot_unit *u;
    bool no_joint;                   /* forward and backward are recorded, what was cut is not */
    unsigned n_redrawn;
    aot_arena *arena;
} told;

/* ---- text -------------------------------------------------------------------------------------
 */

static void print_table(aot_table *t, const char *title, unsigned flags)
{
    aot_sb out = {0};
    if (aot_table_n_rows(t) > 0) {
        printf("\n%s\n", title);
        aot_table_print(&out, t, flags, 0, 0);
        fputs(aot_sb_text(&out), stdout);
    }
    aot_sb_free(&out);
    aot_table_free(t);
}

static const char *generator_text(const aot_rng_site *s, char *buf, size_t size)
{
    bool philox = s->kind == AOT_RNG_SEED || s->kind == AOT_RNG_OFFSET;
    snprintf(buf, size, "%s%s", s->generator, philox ? ", Philox by seed" : "");
    return buf;
}

/* The draw of the forward before which a state was taken; 0: none of its sites saves that one. */
static unsigned draw_of_state(const told *x, unsigned state)
{
    for (size_t i = 0; i < x->forward.n; i++) {
        if (x->forward.d[i].use == AOT_RNG_SAVES && x->forward.d[i].state == state) {
            return x->forward.d[i].order;
        }
    }
    return 0;
}

/* A state is told by the draw that it stands before, as draws are counted from 1 and states from
 * 0. */
static void use_cell(aot_table *t, const told *x, const aot_rng_site *s)
{
    const char *use = aot_rng_use_name((aot_rng_use)s->use);
    bool stateful = s->use == AOT_RNG_SAVES || s->use == AOT_RNG_RESTORES;
    unsigned draw = stateful ? draw_of_state(x, s->state) : 0;
    if (draw > 0) {
        aot_table_cellf(t, "%s the state before the forward's draw %u", use, draw);
    } else {
        aot_table_cellf(t, stateful ? "%s state %u" : "%s", use, s->state);
    }
}

static void site_rows(aot_table *t, const told *x, const char *graph, const aot_rng_sites *sites)
{
    char buf[300];
    const aot_graph *of = NULL;
    const char *const *modules = NULL;
    for (size_t i = 0; i < sites->n; i++) {
        const aot_rng_site *s = &sites->d[i];
        if (s->g != of) {
            of = s->g;
            modules = aot_unit_modules(x->u, of, x->p, x->arena);
        }
        const char *module = modules != NULL ? modules[s->node] : NULL;
        aot_table_row(t);
        aot_table_cellf(t, "  %s", graph);
        aot_table_cell(t, generator_text(s, buf, sizeof buf));
        aot_table_cellf(t, s->order > 0 ? "%u" : "%.0u", s->order);
        aot_table_cell(t, aot_node_name(s->g, s->node));
        aot_table_cell(t, s->op);
        use_cell(t, x, s);
        aot_table_cell(t, aot_format_source(buf, sizeof buf, s->g, s->node));
        aot_table_cell(t, module != NULL ? module : "");
    }
}

static void print_sites(const told *x)
{
    static const char *const titles[] = {"  graph",  "generator", "n",      "value",
                                         "operator", "use",       "source", "module"};
    aot_table *t = aot_table_new();
    for (int i = 0; i < 8; i++) {
        aot_table_column(t, titles[i], i == 2 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    site_rows(t, x, x->p != NULL || x->no_joint ? "forward" : "inference", &x->forward);
    site_rows(t, x, "backward", &x->backward);
    print_table(t,
                "Sites in the order in which they run (n: the draw's number, counted from 1 in "
                "each graph and for each "
                "generator)",
                0);
}

static const char *drawn_at(aot_arena *a, const char *graph, const aot_rng_sites *s, int i)
{
    const aot_rng_site *x = &s->d[i];
    const char *name = aot_node_name(x->g, x->node);
    return x->order > 0 ? aot_arena_printf(a, "%s: %s, its draw %u of %s", graph, name, x->order,
                                           x->generator)
                        : aot_arena_printf(a, "%s: %s", graph, name);
}

/* The two sites of a value, and the state that each consumes. */
static const char *fate_text(const told *x, const aot_rng_value *v)
{
    const char *f =
        v->forward >= 0 ? drawn_at(x->arena, "forward", &x->rng.forward, v->forward) : "";
    const char *b =
        v->backward >= 0 ? drawn_at(x->arena, "backward", &x->rng.backward, v->backward) : "";
    switch (v->fate) {
    case AOT_RNG_REDRAWN:
        return aot_arena_printf(x->arena, "%s; %s: another state, other numbers", f, b);
    case AOT_RNG_THREADED:
        return aot_arena_printf(x->arena,
                                "%s; %s with the state before that draw: the same numbers", f, b);
    case AOT_RNG_BY_SEED:
        return aot_arena_printf(x->arena, "%s; %s from the same seed: the same numbers", f, b);
    default:
        return f[0] != '\0' ? f : b[0] != '\0' ? b : "in neither module";
    }
}

static void print_values(const told *x)
{
    aot_table *t = aot_table_new();
    for (int i = 0; i < 3; i++) {
        aot_table_column(t, "", AOT_LEFT, 0);
    }
    for (size_t i = 0; i < x->rng.values.n; i++) {
        const aot_rng_value *v = &x->rng.values.d[i];
        if (v->fate == AOT_RNG_ONCE) {
            continue;
        }
        aot_table_row(t);
        aot_table_cellf(t, "  %s",
                        v->fate == AOT_RNG_REDRAWN ? "error: redrawn" : aot_rng_fate_name(v->fate));
        aot_table_cell(t, aot_node_name(x->p->cut, v->node));
        aot_table_cell(t, fate_text(x, v));
    }
    print_table(t, "Values that both modules draw", AOT_TABLE_NO_HEAD);
}

/* Without the graph that was cut: a node of the forward that the backward has under its name, and
 * that takes the generator as it is there. */
static bool drawn_anew(const told *x, const aot_rng_site *b)
{
    const char *name = aot_node_name(b->g, b->node);
    for (size_t i = 0; b->use == AOT_RNG_DRAWS && i < x->forward.n; i++) {
        const aot_rng_site *f = &x->forward.d[i];
        if (f->order > 0 && strcmp(aot_node_name(f->g, f->node), name) == 0) {
            return true;
        }
    }
    return false;
}

static void print_no_joint(const told *x)
{
    printf("\nWithout a joint graph values are told apart by their names in forward and "
           "backward\n");
    for (size_t i = 0; i < x->backward.n; i++) {
        const aot_rng_site *b = &x->backward.d[i];
        if (drawn_anew(x, b)) {
            printf("  error: redrawn  %s: the backward draws it again, with another state\n",
                   aot_node_name(b->g, b->node));
        }
    }
}

static const char *order_text(const told *x, const aot_rng_stage *s)
{
    const char *before = s->before != AOT_N_STAGES ? aot_stage_get(s->before)->name : "";
    return s->before == AOT_N_STAGES  ? ""
           : s->order == AOT_RNG_SAME ? aot_arena_printf(x->arena, "as in %s", before)
           : s->order == AOT_RNG_REORDERED
               ? aot_arena_printf(x->arena, "another order: %s", s->text)
               : s->text;
}

static void print_stages(const told *x)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "", AOT_LEFT, 0);
    aot_table_column(t, "", AOT_RIGHT, 0);
    aot_table_column(t, "", AOT_LEFT, 0);
    for (size_t i = 0; i < x->n_stages; i++) {
        const aot_rng_stage *s = &x->stages[i];
        bool both = s->stage == AOT_STAGE_FORWARD;
        aot_table_row(t);
        aot_table_cellf(t, "  %s", both ? "forward, backward" : aot_stage_get(s->stage)->name);
        aot_table_cellf(t, "%u draw%s", s->n_draws, s->n_draws == 1 ? "" : "s");
        aot_table_cell(t, order_text(x, s));
    }
    print_table(t, "Order by stage", AOT_TABLE_NO_HEAD);
}

static void print_text(const told *x, size_t unit, const char *line)
{
    printf("# unit %zu %s\n", unit, line);
    print_sites(x);
    print_values(x);
    if (x->no_joint) {
        print_no_joint(x);
    }
    print_stages(x);
    printf("\nEager's numbers from the same seed: %s, %s\n",
           x->eager == AOT_RNG_EAGER_SAME      ? "yes"
           : x->eager == AOT_RNG_EAGER_FORWARD ? "in the forward alone"
           : x->eager == AOT_RNG_EAGER_OTHER ? "no"
                                             : "not known",
           x->eager_text);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *site_json(const aot_rng_site *s, const char *graph)
{
    const aot_src *src = &s->g->srcs.d[aot_node_at(s->g, s->node)->src];
    json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "graph", graph, "node",
                          aot_node_name(s->g, s->node), "operator", s->op, "generator",
                          s->generator, "kind", aot_rng_kind_name((aot_rng_kind)s->kind), "use",
                          aot_rng_use_name((aot_rng_use)s->use));
    bool state = s->use == AOT_RNG_SAVES || s->use == AOT_RNG_RESTORES || s->use == AOT_RNG_HANDED;
    json_object_set_new(j, "order", s->order > 0 ? json_integer(s->order) : json_null());
    json_object_set_new(j, "state", state ? json_integer(s->state) : json_null());
    if (src->file != 0) {
        json_object_set_new(j, "file", json_string(aot_text(s->g->ctx, src->file)));
        json_object_set_new(j, "line", json_integer(src->line));
    }
    return j;
}

static json_t *sites_json(const told *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->forward.n; i++) {
        json_array_append_new(list,
                              site_json(&x->forward.d[i], x->p != NULL ? "forward" : "inference"));
    }
    for (size_t i = 0; i < x->backward.n; i++) {
        json_array_append_new(list, site_json(&x->backward.d[i], "backward"));
    }
    return list;
}

static json_t *place_json(const aot_rng_sites *s, int i)
{
    return i < 0 ? json_null() : json_string(aot_node_name(s->d[i].g, s->d[i].node));
}

static json_t *values_json(const told *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->rng.values.n; i++) {
        const aot_rng_value *v = &x->rng.values.d[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:b, s:s, s:o, s:o}", "name", aot_node_name(x->p->cut, v->node),
                      "fate", aot_rng_fate_name(v->fate), "threaded", v->fate == AOT_RNG_THREADED,
                      "text", fate_text(x, v), "forward", place_json(&x->rng.forward, v->forward),
                      "backward", place_json(&x->rng.backward, v->backward)));
    }
    return list;
}

static json_t *stages_json(const told *x)
{
    static const char *const orders[] = {"same", "reordered", "other"};
    json_t *list = json_array();
    for (size_t i = 0; i < x->n_stages; i++) {
        const aot_rng_stage *s = &x->stages[i];
        json_t *j = json_pack("{s:s, s:i, s:s}", "stage", aot_stage_get(s->stage)->name, "draws",
                              (int)s->n_draws, "text", s->text);
        if (s->before != AOT_N_STAGES) {
            json_object_set_new(j, "before", json_string(aot_stage_get(s->before)->name));
            json_object_set_new(j, "order", json_string(orders[s->order]));
        }
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *told_json(const told *x, size_t unit, const char *label)
{
    return json_pack("{s:i, s:s, s:i, s:o, s:o, s:o, s:{s:s, s:s}}", "unit", (int)unit, "label",
                     label, "redrawn", (int)x->n_redrawn, "sites", sites_json(x), "values",
                     values_json(x), "stages", stages_json(x), "eager", "numbers",
                     aot_rng_eager_name(x->eager), "text", x->eager_text);
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool add_sites(aot_rng_sites *out, aot_model *m, size_t unit, aot_stage s)
{
    const aot_graph *g = NULL;
    bool there = aot_model_stage(m, unit, s).origin != AOT_ORIGIN_MISSING &&
                 aot_model_graph(m, unit, s, &g, NULL) == AOT_OK;
    if (there) {
        aot_rng_find(out, g);
    }
    return there;
}

static aot_status find_sites(told *x, aot_model *m, size_t unit, aot_err *err)
{
    if (aot_model_stage(m, unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_MISSING) {
        x->no_joint = add_sites(&x->forward, m, unit, AOT_STAGE_FORWARD);
        x->no_joint |= add_sites(&x->backward, m, unit, AOT_STAGE_BACKWARD);
        if (!x->no_joint) {
            add_sites(&x->forward, m, unit, AOT_STAGE_INFERENCE);
        }
        for (size_t i = 0; i < x->backward.n; i++) {
            x->n_redrawn += drawn_anew(x, &x->backward.d[i]);
        }
        return AOT_OK;
    }
    AOT_TRY(aot_model_partition(m, unit, &x->p, err));
    aot_rng_of(&x->rng, x->p);
    x->n_redrawn = x->rng.n_redrawn;
    add_sites(&x->forward, m, unit, AOT_STAGE_FORWARD);
    add_sites(&x->backward, m, unit, AOT_STAGE_BACKWARD);
    if (x->rng.cut.n > 0) {
        aot_cmd_warn_passes(aot_model_unit(m, unit), unit, x->p->cut, x->p->config.backend);
    }
    return AOT_OK;
}

static void tell_unit(aot_telling *j, aot_model *m, size_t unit)
{
    char label[96];
    const aot_unit *u = aot_model_unit(m, unit);
    told x = {.u = u, .arena = aot_arena_new(), .eager_text = ""};
    aot_err err = {0};
    if (find_sites(&x, m, unit, &err) != AOT_OK) {
        aot_err_in_file(&err, u->input);
        aot_cmd_fail(&err);
        j->n_failed++;
    } else if (x.forward.n + x.backward.n + x.rng.cut.n > 0) {
        j->n_with++;
        j->n_wrong += x.n_redrawn;
        x.n_stages = aot_rng_stages(x.stages, m, unit, x.arena);
        x.eager = aot_rng_against_eager(&x.eager_text, m, unit, x.arena);
        if (j->list != NULL) {
            aot_unit_label(&u->key, label, sizeof label);
            json_array_append_new(j->list, told_json(&x, unit, label));
        } else {
            print_text(&x, unit, aot_model_unit_line(m, unit));
        }
    }
    aot_rng_free(&x.rng);
    aot_vec_free(&x.forward);
    aot_vec_free(&x.backward);
    aot_arena_free(x.arena);
}

static void total(const aot_telling *t)
{
    printf("%s%zu unit%s, %zu of them random: %u value%s drawn again with another state\n",
           t->n_with > 0 ? "\n" : "", t->n_units, t->n_units == 1 ? "" : "s", t->n_with, t->n_wrong,
           t->n_wrong == 1 ? "" : "s");
}

static int run(const aot_args *a)
{
    static const aot_telling_ops ops = {tell_unit, total, "redrawn"};
    return aot_cmd_tell_units(a, &ops);
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false, "One unit; else all that draw."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_rng = {
    .name = "rng",
    .synopsis = "INPUT... [--unit N|LABEL] [--set NAME=VALUE]... [--json]",
    .summary = "Random operators: generator, order, and whether the backward draws other numbers",
    .doc =
        "Each place that draws random numbers in the forward and the backward, in the order in "
        "which "
        "they run, with its generator and how often that was moved by then. A value that both draw "
        "must get the same state, or gradients are wrong: by run_and_save_rng_state and "
        "run_with_rng_state, by generators that are handed over, or by Inductor's seed. Then how "
        "the "
        "order changes from stage to stage, and whether the same seed gives eager's numbers. Exit "
        "code 1 if a value is drawn again with another state.",
    .examples = "aotscope rng train.log\n"
                "aotscope rng train.log --set activation_memory_budget=0.5\n"
                "aotscope rng train.log --json | jq '.units[].eager'\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
