/* The recorded joint or forward-only graph against the one that is traced from the Dynamo graph:
 * the same structure, names of intermediate values aside; and the recorded metadata against the
 * derived. */
#include "import/fw_metadata.h"
#include "ir/compare.h"
#include "ir/text.h"
#include "runtime/cut.h"
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

/* The line of the text, from 1, on which the node stands; 1 if it is not found. */
static uint32_t line_of_node(const char *text, const aot_graph *g, aot_node_id id)
{
    bool output = id == AOT_NO_NODE || aot_node_at(g, id)->kind == AOT_OUTPUT;
    const char *name = output ? "return" : aot_text(g->ctx, aot_node_at(g, id)->name);
    size_t n = strlen(name);
    uint32_t line = 1, found = 1;
    for (const char *p = text; p != NULL; line++) {
        const char *s = p + strspn(p, " \t");
        if (strncmp(s, name, n) == 0 && strchr(": ", s[n]) != NULL) {
            found = line;
            if (!output) { // of returns it is the last: those of submodules come first
                break;
            }
        }
        p = strchr(p, '\n');
        p = p != NULL ? p + 1 : NULL;
    }
    return found;
}

/* One unit at work. */
typedef struct traced {
    const aot_unit *u;
    const aot_record *rec;
    const aot_graph *dynamo, *recorded;
    const aot_config *config;
    aot_arena *a;
} traced;

/* What differs is left out where that is no fault. */
static void judge(aot_check_result *r, const traced *t)
{
    const char *known = aot_check_known(t->u, r->stage, t->recorded, t->dynamo, t->a);
    r->verdict = known != NULL ? AOT_CHECK_LEFT_OUT : AOT_CHECK_DIFFERS;
    r->reason = known != NULL ? known : aot_check_other_rules(t->u, t->recorded, t->a);
}

/* Whether a path was asked for; what was recorded took its own. */
static bool path_is_set(const aot_config *config)
{
    return strcmp(config->path, "auto") != 0;
}

static void compare_stage(aot_check_result *r, const traced *t, const aot_graph *derived)
{
    aot_graph_difference at;
    r->verdict = AOT_CHECK_SAME;
    if (derived == NULL && path_is_set(t->config)) {
        r->verdict = AOT_CHECK_LEFT_OUT;
        r->reason = aot_arena_printf(t->a, "path = %s was asked for: the recorded one is another",
                                     t->config->path);
    } else if (derived == NULL) {
        r->recorded = aot_stage_get(r->stage)->name;
        r->derived = "the other path was taken";
        r->line = 1;
        judge(r, t);
    } else if (!aot_graph_same_structure(t->recorded, derived, &at)) {
        r->recorded = node_text(at.ga, at.a, t->a);
        r->derived = node_text(at.gb, at.b, t->a);
        r->line = line_of_node(t->rec->text, at.ga, at.a);
        judge(r, t);
    }
    r->input_line = r->line > 0 && t->rec->line > 0 ? t->rec->line + r->line - 1 : 0;
}

/* ---- the metadata ---------------------------------------------------------------------------- */

typedef struct differences {
    aot_sb recorded, derived;
    unsigned n;
} differences;

enum { FIELDS_NAMED = 8 };

static void on_difference(void *arg, const char *field, const char *recorded, const char *derived)
{
    differences *d = arg;
    if (d->n++ < FIELDS_NAMED) {
        const char *sep = d->n > 1 ? "; " : "";
        aot_sb_addf(&d->recorded, "%s%s = %s", sep, field, recorded);
        aot_sb_addf(&d->derived, "%s%s = %s", sep, field, derived);
    }
}

/* Adds what the cut tells: through Inductor's joint-graph passes where something says that they
 * ran. */
static void add_cut(aot_fw_metadata *m, const aot_unit *u, const aot_graph *joint,
                    const aot_config *config)
{
    aot_partition *p = NULL;
    aot_config c = *config;
    if (joint == NULL || aot_derive_partition(&p, u, joint, &c, NULL, NULL) != AOT_OK) {
        return;
    }
    aot_arena *a = joint->ctx->arena;
    if (strcmp(c.backend, "inductor_joint") != 0 &&
        aot_check_passes_between(u, p->cut, c.backend, a) != NULL) {
        memcpy(c.backend, "inductor_joint", sizeof "inductor_joint");
        if (aot_derive_partition(&p, u, joint, &c, NULL, NULL) != AOT_OK) {
            return;
        }
    }
    aot_metadata_cut(m, p, a);
}

static void compare_metadata(aot_check_result *r, const traced *t, const aot_calling *calling)
{
    const aot_unit *u = t->u;
    aot_arena *a = t->a;
    aot_fw_metadata recorded, derived = calling->meta;
    differences d = {0};
    *r = (aot_check_result){.stage = AOT_STAGE_RUNTIME, .verdict = AOT_CHECK_SAME};
    if (!aot_fw_metadata_parse(&recorded, a, u->fw_metadata, strlen(u->fw_metadata))) {
        r->verdict = AOT_CHECK_LEFT_OUT;
        r->reason = "the recorded ViewAndMutationMeta cannot be read";
        return;
    }
    // what is cut is the recorded graph, as for the forward
    add_cut(&derived, u, t->rec->stage == AOT_STAGE_JOINT ? t->recorded : NULL, t->config);
    aot_meta_compare(&recorded, &derived, on_difference, &d);
    if (d.n > 0) {
        const aot_record *rec = aot_unit_record(u, "aot_forward_graph_fw_metadata");
        judge(r, t);
        r->line = 1;
        r->input_line = rec != NULL ? rec->line : 0;
        r->recorded = aot_arena_strndup(a, aot_sb_text(&d.recorded), d.recorded.n);
        r->derived = aot_arena_strndup(a, aot_sb_text(&d.derived), d.derived.n);
    }
    aot_sb_free(&d.recorded);
    aot_sb_free(&d.derived);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Traces under one setting of the backend and compares; out[0].verdict says what came of it. */
static size_t check_under(aot_check_result out[AOT_CHECK_TRACE_MAX], const aot_unit *u,
                          const aot_record *dyn, const aot_record *rec, const aot_config *config,
                          aot_arena *a)
{
    aot_ctx *c = aot_unit_new_ctx(u);
    traced t = {.u = u, .rec = rec, .config = config, .a = a};
    const aot_graph *graphs[AOT_N_STAGES] = {NULL};
    const aot_calling *calling = NULL;
    aot_err err = {0};
    aot_check_result *r = &out[0];
    size_t n = 1;
    *r = (aot_check_result){.stage = rec->stage, .verdict = AOT_CHECK_LEFT_OUT};
    aot_status s = aot_record_parse(&t.dynamo, c, u, dyn, &err);
    s = s == AOT_OK ? aot_record_parse(&t.recorded, c, u, rec, &err) : s;
    bool unread = s != AOT_OK;
    s = s == AOT_OK ? aot_derive_capture(graphs, u, t.dynamo, config, NULL, &calling, &err) : s;
    if (s == AOT_OK) {
        compare_stage(r, &t, graphs[rec->stage]);
        if (u->fw_metadata != NULL && (graphs[rec->stage] != NULL || !path_is_set(config))) {
            compare_metadata(&out[n++], &t, calling);
        }
    } else {
        r->verdict = unread || s == AOT_E_UNSUPPORTED ? AOT_CHECK_LEFT_OUT : AOT_CHECK_ERROR;
        r->reason = aot_arena_strndup(a, err.msg, strlen(err.msg));
    }
    aot_ctx_free(c);
    return n;
}

size_t aot_check_trace(aot_check_result out[AOT_CHECK_TRACE_MAX], const aot_unit *u,
                       const aot_config *config, aot_arena *a)
{
    static const char *const backends[] = {"aot_eager", "decomp"};
    const aot_record *rec = traced_record(u), *dyn = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    if (rec == NULL || rec->text == NULL || dyn == NULL || dyn->text == NULL) {
        return 0;
    }
    size_t n = check_under(out, u, dyn, rec, config, a);
    bool unsaid = strcmp(config->backend, "auto") == 0; // a log need not say which backend it was
    for (int i = 0; unsaid && out[0].verdict != AOT_CHECK_SAME && i < 2; i++) {
        aot_config other = *config;
        aot_check_result again[AOT_CHECK_TRACE_MAX];
        memcpy(other.backend, backends[i], strlen(backends[i]) + 1);
        size_t n_again = check_under(again, u, dyn, rec, &other, a);
        if (again[0].verdict == AOT_CHECK_SAME) {
            memcpy(out, again, sizeof again);
            n = n_again;
        }
    }
    return n;
}
