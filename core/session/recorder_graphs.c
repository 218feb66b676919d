/* Graphs, checks and partitions in a session: the observer of the pass runner.
 *
 * A graph is written as text, with its operators and its random sites; a partition, as one row a
 * node of the graph that was cut. */
#include <math.h>

#include "ir/compare.h"
#include "ir/text.h"
#include "partition/rng_sites.h"
#include "session/derive.h"
#include "session/recorder_internal.h"
#include "session/saved.h"

#include <stdlib.h>

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Remembers the operators of a graph. */
static void add_operators(aot_recorder *r, const aot_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, (aot_node_id)i);
        const aot_op_info *op = aot_node_op(n);
        if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN || r->op_done[n->op]) {
            continue;
        }
        r->op_done[n->op] = 1;
        sqlite3_stmt *q = aot_rec_take(r, S_OP);
        aot_rec_bind_text_always(q, 1, op->name);
        aot_rec_bind_text(q, 2, op->schema);
        aot_rec_bind_text(q, 3, op->doc);
        sqlite3_bind_int64(q, 4, op->tags);
        sqlite3_bind_int64(q, 5, op->part);
        sqlite3_bind_int64(q, 6, op->flags);
        sqlite3_bind_int(q, 7, (op->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0);
        aot_rec_run(r, S_OP);
    }
}

static void add_random_sites(aot_recorder *r, const char *stage, const char *origin,
                             const aot_graph *g)
{
    aot_rng_sites sites = {0};
    aot_rng_find(&sites, g);
    for (size_t i = 0; i < sites.n; i++) {
        const aot_rng_site *s = &sites.d[i];
        const aot_src *src = &s->g->srcs.d[aot_node_at(s->g, s->node)->src];
        sqlite3_stmt *q = aot_rec_take(r, S_RNG);
        aot_rec_bind_unit(q, 1, r->unit);
        aot_rec_bind_text(q, 2, stage);
        aot_rec_bind_text(q, 3, origin);
        sqlite3_bind_int(q, 4, (int)i);
        aot_rec_bind_text_always(q, 5, aot_node_name(s->g, s->node));
        aot_rec_bind_text_always(q, 6, s->op);
        aot_rec_bind_text(q, 7, aot_text(s->g->ctx, src->file));
        aot_rec_bind_line(q, 8, src->line);
        aot_rec_bind_text(q, 9, s->generator);
        aot_rec_bind_text(q, 10, aot_rng_kind_name((aot_rng_kind)s->kind));
        aot_rec_bind_text(q, 11, aot_rng_use_name((aot_rng_use)s->use));
        aot_rec_bind_line(q, 12, s->order);
        aot_rec_run(r, S_RNG);
    }
    aot_vec_free(&sites);
}

static void add_stage_graph(aot_recorder *r, aot_stage stage, const char *origin,
                            sqlite3_int64 record, sqlite3_int64 text, const aot_graph *g,
                            const char *error, const char *same_as)
{
    sqlite3_stmt *q = aot_rec_take(r, S_STAGE_GRAPH);
    aot_rec_bind_unit(q, 1, r->unit);
    aot_rec_bind_text(q, 2, aot_stage_get(stage)->name);
    aot_rec_bind_text(q, 3, origin);
    aot_rec_bind_id(q, 4, record);
    aot_rec_bind_id(q, 5, record > 0 ? 0 : r->pass_run);
    aot_rec_bind_id(q, 6, text);
    if (g != NULL) {
        sqlite3_bind_int64(q, 7, (sqlite3_int64)g->nodes.n);
        sqlite3_bind_int64(q, 8, g->n_opaque);
    }
    aot_rec_bind_text(q, 10, error);
    aot_rec_bind_text(q, 11, same_as);
    aot_rec_run(r, S_STAGE_GRAPH);
    if (g != NULL) {
        add_operators(r, g);
        add_random_sites(r, aot_stage_get(stage)->name, origin, g);
    }
}

void aot_recorder_graph(aot_recorder *r, const aot_record *rec, const aot_graph *g,
                        const aot_err *err)
{
    sqlite3_int64 record = 0;
    if (r->current != NULL && rec >= r->current->records.d &&
        rec < r->current->records.d + r->n_records) {
        record = r->record_of[rec - r->current->records.d];
    }
    char msg[900] = "";
    if (err != NULL && err->code != AOT_OK) {
        aot_err_text(err, msg, sizeof msg);
    }
    add_stage_graph(r, rec->stage, "recorded", record, aot_rec_text_id(r, rec->text, rec->len), g,
                    msg, NULL);
    if (rec->stage == AOT_STAGE_JOINT && r->stages[AOT_STAGE_JOINT] == NULL) {
        r->stages[AOT_STAGE_JOINT] = g; // the one that stays in memory
    }
}

void aot_recorder_missing(aot_recorder *r, aot_stage s, const char *reason)
{
    sqlite3_stmt *q = aot_rec_take(r, S_MISSING);
    aot_rec_bind_unit(q, 1, r->unit);
    aot_rec_bind_text(q, 2, aot_stage_get(s)->name);
    aot_rec_bind_text_always(q, 3, reason);
    aot_rec_run(r, S_MISSING);
}

void aot_recorder_check(aot_recorder *r, const aot_check_result *c)
{
    sqlite3_stmt *q = aot_rec_take(r, S_CHECK);
    aot_rec_bind_unit(q, 1, r->unit);
    aot_rec_bind_text(q, 2, aot_stage_get(c->stage)->name);
    aot_rec_bind_text(q, 3, aot_check_verdict_name(c->verdict));
    aot_rec_bind_text(q, 4, c->reason);
    aot_rec_bind_line(q, 5, c->input_line != 0 ? c->input_line : c->line);
    aot_rec_bind_text(q, 6, c->recorded);
    aot_rec_bind_text(q, 7, c->derived);
    aot_rec_run(r, S_CHECK);
}

void aot_recorder_partition_note(aot_recorder *r, const char *text)
{
    sqlite3_stmt *q = aot_rec_take(r, S_PART_NOTE);
    aot_rec_bind_text(q, 1, text);
    aot_rec_bind_unit(q, 2, r->unit);
    aot_rec_run(r, S_PART_NOTE);
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void on_pass_begin(void *arg, const char *pass)
{
    aot_recorder *r = arg;
    aot_recorder_begin(r);
    sqlite3_stmt *q = aot_rec_take(r, S_RUN);
    aot_rec_bind_unit(q, 1, r->unit);
    aot_rec_bind_text_always(q, 2, pass);
    aot_rec_run(r, S_RUN);
    r->pass_run = sqlite3_last_insert_rowid(r->db);
}

static void on_pass_end(void *arg, const char *pass, const aot_pass_report *report)
{
    (void)pass;
    aot_recorder *r = arg;
    sqlite3_stmt *q = aot_rec_take(r, S_RUN_END);
    sqlite3_bind_int64(q, 1, report->n_nodes_in);
    sqlite3_bind_int64(q, 2, report->n_nodes_out);
    sqlite3_bind_double(q, 3, report->seconds);
    aot_rec_bind_text(q, 4, report->err != NULL ? report->err->msg : NULL);
    aot_rec_bind_id(q, 5, r->pass_run);
    aot_rec_run(r, S_RUN_END);
    aot_recorder_commit(r);
    r->pass_run = 0;
}

/* The stage before, if the step to this one changed nothing. */
static const char *unchanged_from(aot_recorder *r, aot_stage s, const aot_graph *g)
{
    aot_stage before = aot_stage_before(s);
    while (before != AOT_N_STAGES && r->stages[before] == NULL) {
        before = aot_stage_before(before);
    }
    bool same = before != AOT_N_STAGES && aot_graph_same_structure(r->stages[before], g, NULL);
    r->n_unchanged[s] += same;
    return same ? aot_stage_get(before)->name : NULL;
}

uint32_t aot_recorder_unchanged(const aot_recorder *r, aot_stage s)
{
    return r->n_unchanged[s];
}

static void on_graph(void *arg, unsigned stage, const aot_graph *g)
{
    aot_recorder *r = arg;
    aot_sb b = {0};
    r->stages[stage] = g;
    aot_print_graph(&b, g, AOT_PRINT_PLAIN);
    add_stage_graph(r, (aot_stage)stage, "derived", 0, aot_rec_text_id(r, aot_sb_text(&b), b.n), g,
                    NULL, unchanged_from(r, (aot_stage)stage, g));
    aot_sb_free(&b);
}

static void add_wrapper(aot_recorder *r, unsigned idx, const aot_wrapper_use *u)
{
    aot_sb does = {0};
    for (unsigned i = 0; i < u->n_does; i++) {
        aot_sb_addf(&does, "%s%s", i > 0 ? "\n" : "", u->does[i]);
    }
    sqlite3_stmt *q = aot_rec_take(r, S_WRAPPER);
    aot_rec_bind_unit(q, 1, r->unit);
    sqlite3_bind_int64(q, 2, idx);
    aot_rec_bind_text_always(q, 3, u->info->name);
    sqlite3_bind_int(q, 4, u->n_does > 0);
    aot_rec_bind_text_always(q, 5, u->n_does > 0 ? aot_sb_text(&does) : u->idle);
    aot_rec_run(r, S_WRAPPER);
    aot_sb_free(&does);
}

void aot_recorder_runtime(aot_recorder *r, const aot_runtime *runtime)
{
    aot_sb b = {0};
    aot_runtime_print(&b, runtime);
    add_stage_graph(r, AOT_STAGE_RUNTIME, "derived", 0, aot_rec_text_id(r, aot_sb_text(&b), b.n),
                    NULL, NULL, NULL);
    for (unsigned i = 0; i < runtime->n_uses; i++) {
        add_wrapper(r, i, &runtime->uses[i]);
    }
    sqlite3_stmt *q = aot_rec_take(r, S_PATH);
    aot_rec_bind_text_always(q, 1, aot_capture_path_name(runtime->calling->path));
    aot_rec_bind_text(q, 2, runtime->calling->path_reason);
    aot_rec_bind_unit(q, 3, r->unit);
    aot_rec_run(r, S_PATH);
    aot_sb_free(&b);
}

static void bind_weight(sqlite3_stmt *q, int i, int64_t weight)
{
    if (weight == AOT_WEIGHT_INF) {
        sqlite3_bind_double(q, i, INFINITY);
    } else if (weight >= 0) {
        sqlite3_bind_int64(q, i, weight);
    } else {
        sqlite3_bind_null(q, i);
    }
}

/* Columns 7 to 10: type, sizes, strides and device. b: a buffer. */
static void bind_value(sqlite3_stmt *q, const aot_ctx *c, const aot_meta *m, aot_sb *b)
{
    if (m->val == AOT_VAL_TENSOR) {
        aot_rec_bind_text(
            q, 7, m->dtype < AOT_N_DTYPES ? aot_dtype_get((aot_dtype)m->dtype)->abbr : NULL);
        aot_sb_clear(b);
        aot_print_sizes(b, c, m);
        aot_rec_bind_text(q, 8, aot_sb_text(b));
        aot_sb_clear(b);
        aot_print_strides(b, c, m);
        aot_rec_bind_text(q, 9, aot_sb_text(b));
        aot_rec_bind_text(q, 10, aot_text(c, m->device));
    } else if (m->val == AOT_VAL_SYM) {
        aot_rec_bind_text(q, 7, aot_text(c, m->text));
    }
}

static void add_node(aot_recorder *r, const aot_partition *p, aot_node_id id,
                     const aot_saved_row *saved, int position, aot_arena *a, aot_sb *b)
{
    static const char *const sinks[] = {NULL, "in", "out"};
    const aot_graph *g = p->cut;
    const aot_ctx *c = g->ctx;
    const aot_node *n = aot_node_at(g, id);
    const aot_node_info *i = &p->nodes[id];
    const aot_src *src = &g->srcs.d[n->src];
    sqlite3_stmt *q = aot_rec_take(r, S_NODE);
    aot_rec_bind_unit(q, 1, r->unit);
    sqlite3_bind_int64(q, 2, id);
    aot_rec_bind_text_always(q, 3, aot_text(c, n->name));
    aot_rec_bind_text_always(q, 4, aot_node_kind_name((aot_node_kind)n->kind));
    aot_rec_bind_text(
        q, 5, n->kind == AOT_OUTPUT || n->kind == AOT_PLACEHOLDER ? NULL : aot_text(c, n->target));
    if (n->kind != AOT_PLACEHOLDER) {
        aot_sb_clear(b);
        aot_print_node(b, g, id);
        aot_rec_bind_text(q, 6, aot_sb_text(b));
    }
    bind_value(q, c, aot_meta_get(c, n->meta), b);
    sqlite3_bind_int64(q, 11, i->bytes);
    bind_weight(q, 12, i->weight);
    aot_rec_bind_text(q, 13, i->ban != AOT_BAN_NONE ? aot_ban_text((aot_ban)i->ban) : NULL);
    aot_rec_bind_text(q, 14,
                      i->ban_asked != AOT_BAN_NONE ? aot_ban_text((aot_ban)i->ban_asked) : NULL);
    aot_rec_bind_text(q, 15, i->sink <= AOT_SINK_OUT ? sinks[i->sink] : NULL);
    aot_rec_bind_text_always(
        q, 16, n->kind == AOT_OUTPUT ? "output" : aot_verdict_name((aot_verdict)i->verdict));
    aot_rec_bind_text(q, 17, n->kind == AOT_OUTPUT ? NULL : aot_node_reason(p, id, a));
    aot_rec_bind_text(q, 18, aot_policy_name((aot_policy)i->policy));
    if (src->ac_graph_id >= 0) {
        sqlite3_bind_int(q, 19, src->ac_graph_id);
    }
    sqlite3_bind_int64(q, 20, i->dist);
    sqlite3_bind_int(q, 21, i->fw_order);
    const bool flags[] = {i->required_fw, i->required_bw, i->backward_made, i->materialized,
                          i->is_static};
    for (int k = 0; k < 5; k++) {
        sqlite3_bind_int(q, 22 + k, flags[k]);
    }
    if (saved != NULL) {
        sqlite3_bind_int(q, 27, position);
        sqlite3_bind_int(q, 28, saved->is_symbol);
        aot_rec_bind_text(q, 29,
                          saved->primal != AOT_NO_NODE ? aot_node_name(g, saved->primal) : NULL);
        aot_rec_bind_text(q, 30, saved->used_by);
    }
    aot_rec_bind_text(q, 31, aot_text(c, src->file));
    aot_rec_bind_line(q, 32, src->line);
    aot_rec_bind_text(q, 33, aot_text(c, src->func));
    aot_rec_bind_text(q, 34, aot_text(c, src->code));
    aot_rec_run(r, S_NODE);
}

static void on_partition(void *arg, const struct aot_partition *p)
{
    aot_recorder *r = arg;
    aot_arena *a = aot_arena_new();
    aot_saved_row *rows = NULL;
    size_t n_rows = aot_saved_rows(&rows, p, a);
    uint32_t *row_of = aot_xcalloc((size_t)p->n_nodes + 1, sizeof *row_of); /* 1 + row */
    for (size_t i = 0; i < n_rows; i++) {
        row_of[rows[i].node] = (uint32_t)i + 1;
    }
    aot_sb b = {0};
    for (uint32_t id = 0; id < p->n_nodes; id++) {
        uint32_t k = row_of[id];
        add_node(r, p, id, k > 0 ? &rows[k - 1] : NULL, (int)k - 1, a, &b);
    }
    sqlite3_stmt *q = aot_rec_take(r, S_PARTITION);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)n_rows);
    sqlite3_bind_int64(q, 2, p->saved_bytes);
    sqlite3_bind_int64(q, 3, p->saved_new_bytes);
    if (p->cut_values[0] >= 0) {
        sqlite3_bind_int64(q, 4, p->cut_values[0]);
    }
    aot_rec_bind_text(q, 5, p->rung);
    sqlite3_bind_int64(q, 6, p->n_vertices);
    sqlite3_bind_int64(q, 7, p->n_edges);
    sqlite3_bind_int64(q, 8, p->n_nodes);
    aot_rec_bind_unit(q, 9, r->unit);
    aot_rec_run(r, S_PARTITION);
    aot_sb_free(&b);
    free(row_of);
    if (p->forward != NULL && p->backward != NULL) {
        aot_rec_memory(r, p);
    }
    aot_arena_free(a);
}

static void on_note(void *arg, const char *kind, const aot_graph *g, aot_node_id node,
                    const char *text)
{
    aot_recorder *r = arg;
    aot_sb b = {0};
    if (g != NULL && node != AOT_NO_NODE) {
        aot_sb_addf(&b, "%s: ", aot_node_name(g, node));
    }
    aot_sb_addz(&b, text);
    aot_import_note n = {.kind = kind, .text = aot_sb_text(&b)};
    aot_rec_add_note(r, r->unit, &n);
    aot_sb_free(&b);
}

static void on_edit(void *arg, const char *rule, unsigned stage, const aot_graph *g,
                    aot_node_id node, const aot_graph *to, aot_node_id replacement)
{
    aot_recorder *r = arg;
    sqlite3_stmt *q = aot_rec_take(r, S_EDIT);
    aot_rec_bind_id(q, 1, r->pass_run);
    aot_rec_bind_text(q, 2, node != AOT_NO_NODE ? aot_node_name(g, node) : NULL);
    aot_rec_bind_text(q, 3, replacement != AOT_NO_NODE ? aot_node_name(to, replacement) : NULL);
    aot_rec_bind_text(q, 4, rule);
    aot_rec_bind_text(q, 5, aot_stage_get((aot_stage)stage)->name);
    aot_rec_bind_unit(q, 6, r->unit);
    aot_rec_run(r, S_EDIT);
}

aot_observer aot_rec_observer(aot_recorder *r)
{
    return (aot_observer){.arg = r,
                          .on_pass_begin = on_pass_begin,
                          .on_pass_end = on_pass_end,
                          .on_graph = on_graph,
                          .on_partition = on_partition,
                          .on_note = on_note,
                          .on_edit = on_edit};
}
