/* The recorded joint or forward-only graph against the one that is traced from the Dynamo graph: the
 * same structure, names of intermediate values aside. */
#include "ir/compare.h"
#include "ir/text.h"
#include "session/check.h"
#include "session/derive.h"

#include <string.h>

static const char *node_text(const aot_graph *g, aot_node_id id, aot_arena *a)
{
    aot_sb b = {0};
    if (id != AOT_NO_NODE) {
        aot_print_node(&b, g, id);
    }
    const char *text = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

static const aot_record *traced_record(const aot_unit *u)
{
    const aot_record *joint = aot_unit_stage(u, AOT_STAGE_JOINT);
    return joint != NULL && joint->text != NULL ? joint : aot_unit_stage(u, AOT_STAGE_INFERENCE);
}

static void compare_stage(aot_check_result *r, const aot_graph *recorded, const aot_graph *derived,
                          aot_arena *a)
{
    aot_graph_difference at;
    if (derived == NULL) {
        r->verdict = AOT_CHECK_DIFFERS;
        r->recorded = aot_stage_get(r->stage)->name;
        r->derived = "the other path was taken";
        return;
    }
    r->verdict = AOT_CHECK_SAME;
    if (!aot_graph_same_structure(recorded, derived, &at)) {
        r->verdict = AOT_CHECK_DIFFERS;
        r->recorded = node_text(at.ga, at.a, a);
        r->derived = node_text(at.gb, at.b, a);
    }
}

/* Traces under one setting of the backend and compares; r->verdict says what came of it. */
static void check_under(aot_check_result *r, const aot_unit *u, const aot_record *dyn,
                        const aot_record *rec, const aot_config *config, aot_arena *a)
{
    aot_ctx *c = aot_unit_new_ctx(u);
    const aot_graph *dynamo, *recorded, *graphs[AOT_N_STAGES] = {NULL};
    aot_err err = {0};
    aot_status s = aot_record_parse(&dynamo, c, u, dyn, &err);
    s = s == AOT_OK ? aot_record_parse(&recorded, c, u, rec, &err) : s;
    s = s == AOT_OK ? aot_derive_capture(graphs, u, dynamo, config, NULL, NULL, &err) : s;
    *r = (aot_check_result){.stage = rec->stage, .verdict = AOT_CHECK_LEFT_OUT};
    if (s == AOT_OK) {
        compare_stage(r, recorded, graphs[rec->stage], a);
        r->line = 1;
        r->input_line = rec->line;
    } else {
        r->verdict = s == AOT_E_UNSUPPORTED ? AOT_CHECK_LEFT_OUT : AOT_CHECK_ERROR;
        r->reason = aot_arena_strndup(a, err.msg, strlen(err.msg));
    }
    aot_ctx_free(c);
}

bool aot_check_trace(aot_check_result *r, const aot_unit *u, const aot_config *config,
                     aot_arena *a)
{
    static const char *const backends[] = {"aot_eager", "decomp"};
    const aot_record *rec = traced_record(u), *dyn = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    if (rec == NULL || rec->text == NULL || dyn == NULL || dyn->text == NULL) {
        return false;
    }
    check_under(r, u, dyn, rec, config, a);
    bool unsaid = strcmp(config->backend, "auto") == 0; // a log need not say which backend it was
    for (int i = 0; unsaid && r->verdict != AOT_CHECK_SAME && i < 2; i++) {
        aot_config other = *config;
        aot_check_result again;
        memcpy(other.backend, backends[i], strlen(backends[i]) + 1);
        check_under(&again, u, dyn, rec, &other, a);
        *r = again.verdict == AOT_CHECK_SAME ? again : *r;
    }
    return true;
}
