/* Findings of a unit as a whole: joint graphs that cannot be cut, numbers that are not eager's. */
#include <string.h>

#include "lint/internal.h"
#include "lint/rng_stages.h"

static void found(unit_lint *l, const char *message)
{
    aot_finding f = {l->rule, AOT_NO_NODE, message, 0};
    aot_vec_push(l->out, f);
}

static void refused(unit_lint *l, aot_status code)
{
    if (l->why->code == code) {
        found(l, aot_arena_strndup(l->arena, l->why->msg, strlen(l->why->msg)));
    }
}

void lint_unit_unbounded_cut(unit_lint *l)
{
    refused(l, AOT_E_UNBOUNDED);
}

void lint_unit_invalid_graph(unit_lint *l)
{
    refused(l, AOT_E_GRAPH);
}

void lint_unit_random_not_eager(unit_lint *l)
{
    const char *text;
    aot_rng_sites sites = {0};
    if (l->p != NULL) {
        aot_rng_find(&sites, l->p->cut);
    }
    if (sites.n > 0 &&
        aot_rng_against_eager(&text, l->m, l->unit, l->arena) == AOT_RNG_EAGER_OTHER) {
        found(l, aot_arena_printf(l->arena, "other random numbers than eager's: %s", text));
    }
    aot_vec_free(&sites);
}

/* ---- the unit ---------------------------------------------------------------------------------
 */

aot_status aot_lint_unit(aot_findings *out, const aot_partition **p, aot_model *m, size_t unit,
                         aot_arena *a, aot_err *err)
{
    aot_err why = {0};
    *p = NULL;
    bool joint = aot_model_stage(m, unit, AOT_STAGE_JOINT).origin != AOT_ORIGIN_MISSING;
    if (joint && aot_model_partition(m, unit, p, &why) != AOT_OK) {
        *p = NULL;
        if (why.code != AOT_E_UNBOUNDED && why.code != AOT_E_GRAPH) {
            if (err != NULL && err->code == AOT_OK) {
                *err = why;
            }
            return why.code;
        }
    }
    if (*p != NULL) {
        aot_lint(out, *p);
    }
    unit_lint l = {.m = m, .unit = unit, .p = *p, .why = &why, .out = out, .arena = a};
    lint_unit_rules(&l);
    return AOT_OK;
}
