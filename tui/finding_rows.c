/* Rows of the findings view: those of lint, and what of random numbers, mutations and aliases is no
 * fault but good to know. Texts are copied: an edit of the unit frees what they were read from. */
#include "tui/finding_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lint/lint.h"
#include "partition/rng_sites.h"
#include "runtime/mutation.h"
#include "viewers/format.h"

typedef struct job {
    finding_rows *out;
    aot_model *m;
    size_t unit;
    aot_arena *a;
} job;

static const struct {
    const char *one, *several;
    aot_style style;
} kinds[N_FINDING_KINDS] = {
    {"error", "errors", AOT_STYLE_ERROR},     {"warning", "warnings", AOT_STYLE_NOTICE},
    {"note", "notes", AOT_STYLE_DIM},         {"random", "random", AOT_STYLE_RANDOM},
    {"mutation", "mutations", AOT_STYLE_MUTATION}, {"alias", "aliases", AOT_STYLE_DIM},
};

const char *finding_kind_name(finding_kind k, bool several)
{
    return several ? kinds[k].several : kinds[k].one;
}

aot_style finding_kind_style(finding_kind k)
{
    return kinds[k].style;
}

static const char *copy(job *j, const char *text)
{
    return aot_arena_strndup(j->a, text, strlen(text));
}

static void place(job *j, finding_row *r, const aot_graph *g, aot_node_id node, aot_stage stage)
{
    char buf[300];
    const aot_src *src = &g->srcs.d[aot_node_at(g, node)->src];
    r->node = copy(j, aot_node_name(g, node));
    r->stage = stage;
    r->source = copy(j, aot_format_source(buf, sizeof buf, g, node));
    r->file = copy(j, aot_text(g->ctx, src->file));
    r->line = src->line;
}

static finding_row row_of(finding_kind kind)
{
    return (finding_row){.kind = kind,
                         .rule = "",
                         .title = "",
                         .remedy = "",
                         .stage = AOT_N_STAGES,
                         .source = "",
                         .file = ""};
}

/* ---- lint ---- */

static int worst_first(const void *x, const void *y)
{
    const aot_finding *a = x, *b = y;
    if (a->rule->level != b->rule->level) {
        return (int)b->rule->level - (int)a->rule->level;
    }
    return a->rule != b->rule ? (a->rule > b->rule) - (a->rule < b->rule)
                              : (a->node > b->node) - (a->node < b->node);
}

static aot_status add_findings(job *j, aot_err *err)
{
    const aot_partition *p = NULL;
    aot_findings all = {0};
    aot_status st = aot_lint_unit(&all, &p, j->m, j->unit, j->a, err);
    if (all.n > 1) {
        qsort(all.d, all.n, sizeof *all.d, worst_first);
    }
    for (size_t i = 0; i < all.n; i++) {
        const aot_finding *f = &all.d[i];
        finding_row r = row_of(f->rule->level == AOT_FINDING_ERROR     ? FINDING_ERROR
                               : f->rule->level == AOT_FINDING_WARNING ? FINDING_WARNING
                                                                       : FINDING_NOTE);
        r.message = copy(j, f->message);
        r.rule = f->rule->name;
        r.title = f->rule->title;
        r.remedy = f->rule->remedy;
        r.bytes = f->bytes;
        if (p && f->node != AOT_NO_NODE) {
            place(j, &r, p->cut, f->node, AOT_STAGE_JOINT_CSE);
        }
        aot_vec_push(j->out, r);
    }
    aot_vec_free(&all);
    return st;
}

/* ---- random sites ---- */

static void add_sites(job *j, aot_stage stage)
{
    const aot_graph *g = NULL;
    aot_rng_sites sites = {0};
    if (aot_model_stage(j->m, j->unit, stage).origin == AOT_ORIGIN_MISSING ||
        aot_model_graph(j->m, j->unit, stage, &g, NULL) != AOT_OK) {
        return;
    }
    aot_rng_find(&sites, g);
    for (size_t i = 0; i < sites.n; i++) {
        const aot_rng_site *s = &sites.d[i];
        finding_row r = row_of(FINDING_RANDOM);
        const char *nth = s->order > 0 ? aot_arena_printf(j->a, ", draw %u", s->order) : "";
        r.message = aot_arena_printf(j->a, "%s: %s %s, generator %s%s", aot_stage_get(stage)->name,
                                     aot_node_name(s->g, s->node),
                                     aot_rng_use_name((aot_rng_use)s->use), s->generator, nth);
        r.rule = copy(j, s->op);
        r.title = aot_arena_printf(j->a, "It %s.", aot_rng_use_sentence((aot_rng_use)s->use));
        r.remedy = aot_rng_kind_sentence((aot_rng_kind)s->kind);
        place(j, &r, g, s->call, stage);
        aot_vec_push(j->out, r);
    }
    aot_vec_free(&sites);
}

/* ---- mutations and aliases ---- */

static void add_mutations(job *j)
{
    const aot_runtime *run = NULL;
    aot_mutations all;
    if (aot_model_stage(j->m, j->unit, AOT_STAGE_RUNTIME).origin == AOT_ORIGIN_MISSING ||
        aot_model_runtime(j->m, j->unit, &run, NULL) != AOT_OK) {
        return;
    }
    aot_mutations_of(&all, run);
    for (unsigned i = 0; i < all.n_inputs; i++) {
        const aot_mutated_input *k = &all.inputs[i];
        finding_row r = row_of(FINDING_MUTATION);
        bool in_graph = k->where == AOT_MUTATED_IN_GRAPH;
        r.message = aot_arena_printf(j->a, "%s: %s, %s", k->name, k->what,
                                     in_graph ? "in the graph" : "by the runtime wrapper");
        r.title = copy(j, k->how);
        r.remedy = aot_arena_printf(j->a, "Since %s.", k->condition);
        r.stage = AOT_STAGE_RUNTIME;
        aot_vec_push(j->out, r);
    }
    for (unsigned i = 0; i < all.n_shared; i++) {
        finding_row r = row_of(FINDING_ALIAS);
        r.message = copy(j, all.shared[i]);
        r.stage = AOT_STAGE_RUNTIME;
        aot_vec_push(j->out, r);
    }
    for (unsigned i = 0; i < all.n_outputs; i++) {
        const aot_aliased_output *o = &all.outputs[i];
        finding_row r = row_of(FINDING_ALIAS);
        r.message = aot_arena_printf(j->a, "output %d shares memory with %s", o->output, o->base);
        r.rule = copy(j, o->type);
        r.title = copy(j, o->how);
        r.stage = AOT_STAGE_RUNTIME;
        aot_vec_push(j->out, r);
    }
}

aot_status finding_rows_of(finding_rows *out, aot_model *m, size_t unit, aot_arena *a, aot_err *err)
{
    job j = {out, m, unit, a};
    aot_status st = add_findings(&j, err);
    if (aot_model_stage(m, unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_MISSING) {
        add_sites(&j, AOT_STAGE_INFERENCE);
    } else if (st == AOT_OK) {
        add_sites(&j, AOT_STAGE_FORWARD);
        add_sites(&j, AOT_STAGE_BACKWARD);
    }
    add_mutations(&j);
    return st;
}
