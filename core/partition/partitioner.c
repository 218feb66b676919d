/* The partitioner as an object: facts of the joint graph by what they depend on, the tags of edits,
 * and the memory of each answer.
 *
 *   front   cleaned graph, classes, weights and other facts: one for each of cse, fallback_random
 *           and the default partitioner, made when first asked for
 *   memo    the ladder's cuts and the knapsack's table, until something they depend on changes
 *   answer  an arena and two graphs of its own
 *
 * Mirrors: partitioners.py:min_cut_rematerialization_partition, which starts anew each time. */
#include "partition/partitioner.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "partition/edits.h"
#include "partition/internal.h"
#include "partition/times.h"

enum { N_FRONTS = 8 };

typedef struct front {
    aot_arena *arena; /* NULL: not made */
    part p;
    aot_status status;
    aot_err err;
} front;

struct aot_partitioner {
    aot_partition_in in;
    front fronts[N_FRONTS];
    part_memo *memo;
    aot_times *times; /* as read last; NULL: none */
    char *times_of;   /* the file */
    aot_arena *of_tags; /* tags of the edits as they were found last */
    char *tags_for;     /* the lines that they are of; NULL: none were found */
    size_t n_tags_for;  /* how many */
    aot_config tags_config;
    aot_what_if *tags;
    uint32_t n_tags;
};

/* A partition with what it owns. */
typedef struct answer {
    aot_partition p; /* first */
    aot_arena *arena;
} answer;

aot_partitioner *aot_partitioner_new(const aot_partition_in *in)
{
    aot_partitioner *pr = aot_xcalloc(1, sizeof *pr);
    pr->in = *in;
    pr->memo = part_memo_new();
    return pr;
}

static void forget_tags(aot_partitioner *pr)
{
    aot_arena_free(pr->of_tags);
    free(pr->tags_for);
    pr->of_tags = NULL;
    pr->tags_for = NULL;
    pr->tags = NULL;
    pr->n_tags = 0;
}

void aot_partitioner_free(aot_partitioner *pr)
{
    if (pr == NULL) {
        return;
    }
    for (int i = 0; i < N_FRONTS; i++) {
        aot_arena_free(pr->fronts[i].arena);
    }
    part_memo_free(pr->memo);
    aot_times_free(pr->times);
    free(pr->times_of);
    forget_tags(pr);
    free(pr);
}

void aot_partitioner_set_edits(aot_partitioner *pr, const aot_unit_edits *edits)
{
    pr->in.edits = edits;
}

size_t aot_partitioner_bytes(const aot_partitioner *pr)
{
    size_t n = part_memo_bytes(pr->memo);
    for (int i = 0; i < N_FRONTS; i++) {
        n += pr->fronts[i].arena != NULL ? aot_arena_bytes(pr->fronts[i].arena) : 0;
    }
    return n + (pr->of_tags != NULL ? aot_arena_bytes(pr->of_tags) : 0);
}

/* ---- fronts ---------------------------------------------------------------------------------- */

static bool asks_default(const aot_config *c)
{
    return strcmp(c->partitioner, "default_partition") == 0;
}

/* gm.code writes annotations of inputs at most. */
static bool has_types(const aot_graph *g)
{
    bool calls = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        calls |= n->kind == AOT_CALL_FUNCTION;
        if (n->meta != 0) {
            return true;
        }
    }
    return !calls;
}

static void make_front(front *f, const aot_partition_in *in, const aot_config *config)
{
    aot_graph *joint = (aot_graph *)(uintptr_t)in->joint;
    uint32_t n_out;
    f->arena = aot_arena_new();
    aot_arena *scratch = aot_arena_new();
    aot_graph_link_once(joint);
    part_outputs(joint, &n_out);
    part p = {.ctx = joint->ctx,
              .config = config,
              .in = in,
              .scratch = scratch,
              .keep = f->arena,
              .g = joint};
    p.err = &f->err;
    p.n_fw_out =
        in->n_forward_outputs >= 0 ? in->n_forward_outputs : part_count_forward_outputs(joint);
    if (p.n_fw_out < 0 || (uint32_t)p.n_fw_out > n_out) {
        f->status = AOT_FAIL(
            &f->err, AOT_E_GRAPH,
            "not a joint graph: it returns %u values, fewer than its inputs that need a gradient",
            n_out);
    } else if (!has_types(joint)) {
        f->status = AOT_FAIL(&f->err, AOT_E_GRAPH,
                             "the graph has no types, so no value has bytes: it is the text of "
                             "gm.code; print it with gm.print_readable() instead");
    } else {
        p.class_of_op = AOT_NEW_ARRAY(f->arena, uint32_t, aot_op_count());
        f->status = part_front(&p, asks_default(config));
    }
    aot_arena_free(scratch);
    p.config = NULL; // each solve has its own
    p.scratch = NULL;
    p.err = NULL;
    f->p = p;
}

static aot_status front_of(aot_partitioner *pr, const aot_config *config, front **out, aot_err *err)
{
    front *f = &pr->fronts[(config->cse ? 1 : 0) + (config->fallback_random ? 2 : 0) +
                           (asks_default(config) ? 4 : 0)];
    if (f->arena == NULL) {
        make_front(f, &pr->in, config);
    }
    if (f->status != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = f->err;
    }
    *out = f;
    return f->status;
}

/* ---- one cut --------------------------------------------------------------------------------- */

/* Graphs that the context got since then, two apart. */
static void free_graphs(aot_ctx *c, size_t since, const aot_graph *a, const aot_graph *b)
{
    for (size_t i = c->graphs.n; i-- > since;) {
        if (c->graphs.d[i] != a && c->graphs.d[i] != b) {
            aot_graph_free(c->graphs.d[i]);
        }
    }
}

/* The tags as if a checkpoint's policy function had set them. */
static void set_policies(part *p)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    uint8_t *policy = aot_arena_alloc(p->scratch, n + 1);
    memcpy(policy, p->m.policy, n + 1);
    for (uint32_t i = 0; i < p->n_tags; i++) {
        aot_str name = p->tags[i].name;
        uint32_t id = name < p->st->n_names ? p->st->of_name[name] : 0;
        if (id != 0 && p->tags[i].sets_policy) {
            policy[id - 1] = p->tags[i].policy;
        }
    }
    p->m.policy = policy;
}

/* The file of measured times that the configuration names, read once. */
static aot_status times_of(aot_partitioner *pr, const aot_config *config, const aot_graph *g,
                           const double *flops, const aot_times **out, aot_err *err)
{
    *out = NULL;
    if (config->times[0] == '\0') {
        return AOT_OK;
    }
    if (pr->times_of == NULL || strcmp(pr->times_of, config->times) != 0) {
        aot_times *t;
        AOT_TRY(aot_times_read(&t, config->times, g, flops, err));
        aot_times_free(pr->times);
        free(pr->times_of);
        pr->times = t;
        pr->times_of = aot_xstrdup(config->times);
    }
    *out = pr->times;
    return AOT_OK;
}

/* Into *out, whose arrays go to `result` and whose graphs to the context. */
static aot_status cut(aot_partitioner *pr, aot_partition *out, aot_arena *result,
                      const aot_config *config, const aot_what_if *tags, uint32_t n_tags,
                      aot_err *err)
{
    front *f;
    AOT_TRY(front_of(pr, config, &f, err));
    aot_ctx *c = f->p.ctx;
    size_t n_graphs = c->graphs.n;
    part p = f->p;
    AOT_TRY(times_of(pr, config, p.g, p.st->flops, &p.times, err));
    p.in = &pr->in;
    p.config = config;
    p.result = result;
    p.scratch = p.keep = aot_arena_new();
    p.memo = pr->memo;
    p.tags = tags;
    p.n_tags = n_tags;
    p.out = out;
    p.err = err;
    set_policies(&p);
    aot_status status = part_cut_in_two(&p, asks_default(config));
    bool done = status == AOT_OK;
    free_graphs(c, n_graphs, done ? out->forward : NULL, done ? out->backward : NULL);
    aot_arena_free(p.scratch);
    return status;
}

static aot_status solve_tagged(aot_partitioner *pr, aot_partition **out, const aot_config *config,
                               const aot_what_if *tags, uint32_t n_tags, aot_err *err)
{
    aot_arena *a = aot_arena_new();
    answer *x = AOT_NEW(a, answer);
    x->arena = a;
    aot_status status = cut(pr, &x->p, a, config, tags, n_tags, err);
    if (status != AOT_OK) {
        aot_arena_free(a);
        return status;
    }
    *out = &x->p;
    return AOT_OK;
}

void aot_partition_release(aot_partition *p)
{
    if (p != NULL) {
        aot_graph_free(p->forward);
        aot_graph_free(p->backward);
        aot_arena_free(((answer *)p)->arena);
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* What is known of the nodes before any cut: enough for selections that ask for no verdict. */
static aot_partition *uncut(const front *f, aot_arena *a)
{
    const part *p = &f->p;
    aot_partition *x = AOT_NEW(a, aot_partition);
    x->cut = (aot_graph *)(uintptr_t)p->g;
    x->n_nodes = (uint32_t)p->g->nodes.n;
    x->nodes = AOT_NEW_ARRAY(a, aot_node_info, x->n_nodes);
    for (uint32_t i = 0; i < x->n_nodes; i++) {
        x->nodes[i].bytes = p->st->bytes[i];
        x->nodes[i].policy = p->m.policy[i];
        x->nodes[i].backward_made = p->m.backward_made[i] || p->m.must_side[i] == PART_MUST_BW;
    }
    return x;
}

/* The first `found` edits that tag are in pr->tags already. */
static aot_status find_tags(aot_partitioner *pr, const front *f, size_t found,
                            const aot_config *config, aot_arena *scratch, aot_err *err)
{
    const aot_unit_edits *e = pr->in.edits;
    aot_arena *a = pr->of_tags;
    const char *const *modules = NULL;
    aot_partition *before = uncut(f, scratch);
    if (aot_edits_need_modules(e) && pr->in.param_paths != NULL) {
        modules = aot_select_modules(f->p.g, pr->in.param_paths, pr->in.n_param_paths, scratch);
    }
    for (size_t i = 0, k = 0; i < e->n; i++) {
        if (e->d[i].kind == AOT_UNIT_EDIT_SET || k++ < found) {
            continue;
        }
        aot_partition *now = NULL;
        if (e->d[i].select.needs_partition) {
            AOT_TRY(solve_tagged(pr, &now, config, pr->tags, pr->n_tags, err));
        }
        aot_status s = part_tag_edit(&pr->tags, &pr->n_tags, &e->d[i], now != NULL ? now : before,
                                     modules, a, err);
        aot_partition_release(now);
        AOT_TRY(s);
    }
    return AOT_OK;
}

/* The lines that tag nodes, as one text, and their number. */
static char *lines_of(const aot_unit_edits *e, size_t *n)
{
    aot_sb text = {0};
    *n = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (e->d[i].kind != AOT_UNIT_EDIT_SET) {
            aot_sb_addf(&text, "%s\n", e->d[i].line);
            ++*n;
        }
    }
    char *lines = aot_xstrdup(aot_sb_text(&text));
    aot_sb_free(&text);
    return lines;
}

/* pr->tags are those of the edits under this configuration. */
static aot_status follow_edits(aot_partitioner *pr, const aot_config *config, aot_err *err)
{
    front *f;
    if (!aot_edits_tag_any(pr->in.edits)) {
        forget_tags(pr);
        return AOT_OK;
    }
    AOT_TRY(front_of(pr, config, &f, err));
    size_t n, found = pr->n_tags_for;
    char *lines = lines_of(pr->in.edits, &n);
    bool alike = pr->tags_for != NULL && memcmp(config, &pr->tags_config, sizeof *config) == 0;
    if (alike && strcmp(lines, pr->tags_for) == 0) {
        free(lines);
        return AOT_OK;
    }
    if (!alike || !aot_starts_with(lines, pr->tags_for)) { // else lines were added
        found = 0;
        forget_tags(pr);
        pr->of_tags = aot_arena_new();
    }
    aot_arena *scratch = aot_arena_new();
    aot_status status = find_tags(pr, f, found, config, scratch, err);
    aot_arena_free(scratch);
    if (status != AOT_OK) {
        free(lines);
        forget_tags(pr);
        return status;
    }
    free(pr->tags_for);
    pr->tags_for = lines;
    pr->n_tags_for = n;
    memcpy(&pr->tags_config, config, sizeof *config);
    return AOT_OK;
}

/* Those of the edits, under in->what_if, under these. *a is freed by the caller. */
static aot_status all_tags(aot_partitioner *pr, const aot_config *config, const aot_what_if *tags,
                           uint32_t n, aot_what_if **all, uint32_t *n_all, aot_arena *a,
                           aot_err *err)
{
    AOT_TRY(follow_edits(pr, config, err));
    *all = NULL;
    *n_all = 0;
    part_merge_tags(all, n_all, pr->tags, pr->n_tags, a);
    part_merge_tags(all, n_all, pr->in.what_if, pr->in.n_what_if, a);
    part_merge_tags(all, n_all, tags, n, a);
    return AOT_OK;
}

aot_status aot_partitioner_solve(aot_partitioner *pr, aot_partition **out, const aot_config *config,
                                 const aot_what_if *tags, uint32_t n_tags, aot_err *err)
{
    aot_arena *a = aot_arena_new();
    aot_what_if *all;
    uint32_t n_all;
    aot_progress_begin("solving", NULL, PART_AT_END);
    aot_status status = all_tags(pr, config, tags, n_tags, &all, &n_all, a, err);
    if (status == AOT_OK) {
        status = solve_tagged(pr, out, config, all, n_all, err);
    }
    aot_progress_end();
    aot_arena_free(a);
    return status;
}

aot_status aot_partition_run(aot_partition **out, const aot_partition_in *in,
                             const aot_config *config, aot_err *err)
{
    aot_partitioner *pr = aot_partitioner_new(in);
    aot_arena *a = aot_arena_new();
    aot_what_if *all;
    uint32_t n_all;
    aot_progress_begin("solving", NULL, PART_AT_END);
    aot_status status = all_tags(pr, config, NULL, 0, &all, &n_all, a, err);
    if (status == AOT_OK) {
        aot_arena *of_ctx = in->joint->ctx->arena;
        aot_partition *p = AOT_NEW(of_ctx, aot_partition);
        status = cut(pr, p, of_ctx, config, all, n_all, err);
        *out = status == AOT_OK ? p : *out;
    }
    aot_progress_end();
    aot_arena_free(a);
    aot_partitioner_free(pr);
    return status;
}
