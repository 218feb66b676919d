/* Re-derives forward and backward from the recorded joint graph and finds the first difference.
 *
 * Two texts are the same if their normal forms are: "   x: \"f32[2]\" = ...;  y = None  " keeps its
 * text and loses its trailing blanks; "# File: ..." lines and blank lines go. Line numbers of what
 * is kept are remembered, so that a difference is shown where the person finds it in the log. */
#include "session/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "session/derive.h"

static const char *const verdict_names[] = {
    [AOT_CHECK_SAME] = "same",
    [AOT_CHECK_DIFFERS] = "differs",
    [AOT_CHECK_LEFT_OUT] = "left out",
    [AOT_CHECK_ERROR] = "error",
};

const char *aot_check_verdict_name(aot_check_verdict v)
{
    return verdict_names[v];
}

/* ---- normal form ---------------------------------------------------------------------------- */

/* Length of  "u8[s12][1]  at s (with its quote before, up to the closing bracket), 0 if none. */
static size_t rng_state_type(const char *s, const char *end)
{
    static const char head[] = "\"u8[s", tail[] = "][1]";
    size_t n_head = sizeof head - 1, n_tail = sizeof tail - 1;
    if ((size_t)(end - s) < n_head || memcmp(s, head, n_head) != 0) {
        return 0;
    }
    const char *p = s + n_head;
    while (p < end && isdigit((unsigned char)*p)) {
        p++;
    }
    if (p == s + n_head || (size_t)(end - p) < n_tail || memcmp(p, tail, n_tail) != 0) {
        return 0;
    }
    return (size_t)(p - s) + n_tail;
}

static void add_line(aot_sb *out, const char *s, const char *end)
{
    const char *from = s;
    for (const char *p = memchr(s, '"', (size_t)(end - s)); p != NULL;
         p = memchr(p, '"', (size_t)(end - p))) {
        size_t n = rng_state_type(p, end);
        if (n > 0) {
            aot_sb_add(out, from, (size_t)(p - from));
            aot_sb_addz(out, "\"u8[rng_state][1]");
            from = p + n;
            p += n;
        } else {
            p++;
        }
    }
    aot_sb_add(out, from, (size_t)(end - from));
    aot_sb_addc(out, '\n');
}

size_t aot_normal_text(aot_sb *out, const char *text, size_t n, uint32_t **line_of)
{
    AOT_VEC(uint32_t) lines = {0};
    size_t n_lines = 0;
    uint32_t number = 0;
    const char *end = text + n;
    for (const char *p = text; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *next = nl != NULL ? nl + 1 : end, *stop = nl != NULL ? nl : end;
        number++;
        while (stop > p && isspace((unsigned char)stop[-1])) {
            stop--;
        }
        const char *first = p;
        while (first < stop && isspace((unsigned char)*first)) {
            first++;
        }
        if (first < stop && *first != '#') {
            add_line(out, p, stop);
            if (line_of != NULL) {
                aot_vec_push(&lines, number);
            }
            n_lines++;
        }
        p = next;
    }
    if (line_of != NULL) {
        *line_of = lines.d;
    }
    return n_lines;
}

/* ---- what passes ran in between -------------------------------------------------------------- */

static bool starts_with_any(const char *name, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (aot_starts_with(name, list[i])) {
            return true;
        }
    }
    return false;
}

/* Names that only the partitioner makes: they are no sign of another pass. */
static bool made_by_partitioner(const char *target)
{
    static const char *const list[] = {"torch.ops.higher_order.run_",
                                       "torch.ops.higher_order.graphsafe_run_",
                                       "torch._prims.rng_prims.",
                                       "torch.ops.rngprims.",
                                       "torch.ops.aten.sym_",
                                       "operator.",
                                       "torch.sym_",
                                       NULL};
    return !aot_starts_with(target, "torch.ops.") || starts_with_any(target, list);
}

/* Uses of each target, by its number in c->strs. Grown as strings are added. */
typedef AOT_VEC(int32_t) counts;

static int32_t *count_of(counts *v, aot_str target)
{
    while (v->n <= target) {
        aot_vec_push(v, 0);
    }
    return &v->d[target];
}

static void count_targets(counts *v, const aot_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.d[i].kind == AOT_CALL_FUNCTION) {
            ++*count_of(v, g->nodes.d[i].target);
        }
    }
}

static bool uses(const aot_graph *g, const char *target)
{
    aot_str t = aot_intern_find(g->ctx->strs, target, strlen(target));
    for (size_t i = 0; t != 0 && i < g->nodes.n; i++) {
        if (g->nodes.d[i].target == t) {
            return true;
        }
    }
    return false;
}

/* The partition puts every node of the graph that is cut into forward, backward or both, and adds
 * none but a few of its own. So an operator that the recorded graphs have and the joint graph has
 * not, or that occurs less often in them than in the cut graph, is the work of another pass. Random
 * operators are not counted: the partition wraps them. */
static const char *sign_in_graphs(const aot_unit *u, const aot_graph *cut, aot_arena *a)
{
    aot_ctx *c = aot_ctx_new();
    counts recorded = {0}, ours = {0};
    const char *sign = NULL;
    bool both = true;
    for (int s = AOT_STAGE_FORWARD; s <= AOT_STAGE_BACKWARD; s++) {
        const aot_record *rec = aot_unit_stage(u, (aot_stage)s);
        aot_graph *g = NULL;
        if (rec == NULL || rec->text == NULL ||
            aot_parse_graph(&g, c, rec->text, rec->len, 1, NULL) != AOT_OK) {
            both = false;
        } else {
            count_targets(&recorded, g);
        }
    }
    for (size_t i = 0; i < cut->nodes.n; i++) {
        const aot_node *n = aot_node_at(cut, (aot_node_id)i);
        if (n->kind == AOT_CALL_FUNCTION) {
            const char *t = aot_node_target(cut, (aot_node_id)i);
            bool random = (aot_node_op(n)->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
            *count_of(&ours, aot_intern_z(c->strs, t)) += random ? 0 : 1;
            *count_of(&recorded, aot_intern_z(c->strs, t)) += 0;
        }
    }
    for (aot_str t = 1; t < recorded.n && sign == NULL; t++) {
        int32_t have = recorded.d[t], want = *count_of(&ours, t);
        const char *name = aot_str_text(c->strs, t);
        if (have > 0 && want == 0 && !made_by_partitioner(name) && !uses(cut, name)) {
            sign =
                aot_arena_printf(a, "the recorded graphs use %s, the joint graph does not", name);
        } else if (both && have < want && !made_by_partitioner(name)) {
            sign = aot_arena_printf(
                a, "the joint graph uses %s %d times, forward and backward together %d times", name,
                want, have);
        }
    }
    aot_vec_free(&recorded);
    aot_vec_free(&ours);
    aot_ctx_free(c);
    return sign;
}

/* Records that only Inductor writes. */
static const char *sign_in_records(const aot_unit *u, aot_arena *a)
{
    static const char *const signs[] = {"fx_graph_cache_",        "inductor_",
                                        "before_joint_graph",     "after_joint_graph",
                                        "before_post_grad_graph", "fx_graph_runnable",
                                        "after_post_grad_graph",  "fx_graph_transformed",
                                        "before_pre_grad_graph",  NULL};
    for (size_t i = 0; i < u->records.n; i++) {
        if (starts_with_any(u->records.d[i].name, signs)) {
            return aot_arena_printf(a,
                                    "compiled by Inductor (record %s): its joint-graph passes ran "
                                    "between the recorded joint graph and the cut",
                                    u->records.d[i].name);
        }
    }
    if (u->backend != NULL && strcmp(u->backend, "inductor") == 0) {
        return "compiled by Inductor: its joint-graph passes ran between the recorded joint graph "
               "and the cut";
    }
    return NULL;
}

static bool has_joint_passes(const char *backend)
{
    return backend != NULL && strcmp(backend, "inductor_joint") == 0;
}

bool aot_unit_is_inductors(const aot_unit *u)
{
    aot_arena *a = aot_arena_new();
    bool yes = sign_in_records(u, a) != NULL;
    aot_arena_free(a);
    return yes;
}

const char *aot_check_passes_between(const aot_unit *u, const aot_graph *cut, const char *backend,
                                     aot_arena *a)
{
    bool joint_passes = has_joint_passes(backend);
    const char *sign = joint_passes ? NULL : sign_in_records(u, a);
    if (sign != NULL || cut == NULL) {
        return sign;
    }
    sign = sign_in_graphs(u, cut, a);
    return sign == NULL
               ? NULL
               : aot_arena_printf(a,
                                  "passes ran between the recorded joint graph and the "
                                  "cut (%s): %s",
                                  joint_passes ? "others than Inductor's joint-graph passes"
                                               : "Inductor's joint-graph passes?",
                                  sign);
}

/* ---- the check ------------------------------------------------------------------------------- */

static const char *line_text(const char *p, const char *end, aot_arena *a)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    const char *stop = nl != NULL ? nl : end;
    while (p < stop && isspace((unsigned char)*p)) {
        p++;
    }
    return aot_arena_strndup(a, p, (size_t)(stop - p));
}

static void compare(aot_check_result *r, const aot_record *rec, const aot_graph *g, aot_arena *a)
{
    aot_sb printed = {0}, want = {0}, got = {0};
    uint32_t *line_of = NULL;
    aot_print_graph(&printed, g, AOT_PRINT_PLAIN);
    size_t n_lines = aot_normal_text(&want, rec->text, rec->len, &line_of);
    aot_normal_text(&got, aot_sb_text(&printed), printed.n, NULL);
    r->verdict = AOT_CHECK_SAME;
    r->recorded = r->derived = NULL;
    r->line = 0;
    r->input_line = 0;
    if (want.n != got.n || (want.n > 0 && memcmp(want.d, got.d, want.n) != 0)) {
        r->verdict = AOT_CHECK_DIFFERS;
        size_t at = 0, start = 0, line = 0;
        while (at < want.n && at < got.n && want.d[at] == got.d[at]) {
            if (want.d[at++] == '\n') {
                start = at;
                line++;
            }
        }
        r->recorded = start < want.n ? line_text(want.d + start, want.d + want.n, a) : "";
        r->derived = start < got.n ? line_text(got.d + start, got.d + got.n, a) : "";
        r->line = n_lines == 0 ? 0 : line < n_lines ? line_of[line] : line_of[n_lines - 1];
        r->input_line = rec->line != 0 && r->line != 0 ? rec->line + r->line - 1 : 0;
    }
    free(line_of);
    aot_sb_free(&printed);
    aot_sb_free(&want);
    aot_sb_free(&got);
}

/* The same unit through Inductor's joint-graph passes, made when first needed. */
typedef struct through {
    aot_ctx *ctx;
    const aot_partition *p; /* NULL: it cannot be derived */
    char note[512];         /* the first thing that the passes left as it is; "" if nothing */
    /* what stands between the recorded joint graph and the cut; NULL: nothing known */
    bool asked;
    const char *between;
} through;

static void keep_first_note(void *arg, const char *kind, const aot_graph *g, aot_node_id node,
                            const char *text)
{
    through *t = arg;
    (void)g;
    (void)node;
    if (t->note[0] == 0 && strcmp(kind, "joint_passes") == 0) {
        snprintf(t->note, sizeof t->note, "%s", text);
    }
}

static void derive_through(through *t, const aot_unit *u, const aot_config *config)
{
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_JOINT);
    if (t->ctx != NULL || rec == NULL) {
        return;
    }
    aot_config c = *config;
    aot_partition *p = NULL;
    const aot_graph *joint = NULL;
    aot_observer o = {.arg = t, .on_note = keep_first_note};
    snprintf(c.backend, sizeof c.backend, "inductor_joint");
    t->ctx = aot_unit_new_ctx(u);
    if (aot_record_parse(&joint, t->ctx, u, rec, NULL) == AOT_OK &&
        aot_derive_partition(&p, u, joint, &c, &o, NULL) == AOT_OK) {
        t->p = p;
    }
}

static const char through_passes[] = "through Inductor's joint-graph passes";

/* What stands between the recorded graph and the derived one, which went through Inductor's
 * joint-graph passes; NULL: nothing that is known of, so it is a difference. */
static const char *why_not_through(const aot_unit *u, const through *t, aot_arena *a)
{
    const char *why = t->note[0] != 0 ? t->note : aot_check_other_rules(u, t->p->cut, a);
    return why != NULL ? why : aot_check_passes_between(u, t->p->cut, "inductor_joint", a);
}

/* Reads the recorded graphs for signs, and so is asked once a unit. */
static const char *between(through *t, const aot_unit *u, const aot_partition *p, aot_arena *a)
{
    if (!t->asked) {
        t->asked = true;
        t->between = aot_check_passes_between(u, p->cut, p->config.backend, a);
    }
    return t->between;
}

/* A graph that differs from what the joint graph gives, compared with what it gives through the
 * joint-graph passes. False: no sign that they ran. */
static bool compare_through(aot_check_result *r, const aot_unit *u, const aot_record *rec,
                            const aot_partition *p, through *t, aot_arena *a)
{
    bool tried = has_joint_passes(p->config.backend);
    if (!tried && between(t, u, p, a) == NULL) {
        return false;
    }
    derive_through(t, u, &p->config);
    if (t->p == NULL) {
        return false;
    }
    compare(r, rec, r->stage == AOT_STAGE_FORWARD ? t->p->forward : t->p->backward, a);
    r->reason = through_passes;
    r->through_passes = true;
    if (r->verdict == AOT_CHECK_DIFFERS) {
        const char *why = why_not_through(u, t, a);
        if (why == NULL) {
            r->reason = NULL;
            return true;
        }
        r->verdict = AOT_CHECK_LEFT_OUT;
        r->reason = aot_arena_printf(a, "%s line %u differs; %s", through_passes, r->line, why);
    }
    return true;
}

/* One recorded graph of a unit whose partition is there. */
static void check_one(aot_check_result *r, const aot_unit *u, const aot_record *rec,
                      const aot_partition *p, through *t, aot_arena *a)
{
    compare(r, rec, r->stage == AOT_STAGE_FORWARD ? p->forward : p->backward, a);
    if (r->verdict == AOT_CHECK_SAME) {
        r->reason = has_joint_passes(p->config.backend) ? through_passes : NULL;
    } else if (!compare_through(r, u, rec, p, t, a)) {
        r->reason = between(t, u, p, a);
        if (r->reason == NULL) {
            r->reason = aot_check_known(u, r->stage, p->cut, NULL, a);
        }
        r->verdict = r->reason != NULL ? AOT_CHECK_LEFT_OUT : AOT_CHECK_DIFFERS;
        if (r->reason == NULL) {
            r->reason = aot_check_other_rules(u, p->cut, a);
        }
    }
}

size_t aot_check_unit(aot_check_result out[AOT_CHECK_MAX], const aot_unit *u,
                      const aot_partition *partition, const aot_err *part_err, aot_arena *a)
{
    size_t n = 0;
    through t = {.ctx = NULL};
    for (int s = AOT_STAGE_FORWARD; s <= AOT_STAGE_BACKWARD; s++) {
        const aot_record *rec = aot_unit_stage(u, (aot_stage)s);
        if (rec == NULL || rec->text == NULL) {
            continue;
        }
        aot_check_result *r = &out[n++];
        *r = (aot_check_result){.stage = (aot_stage)s, .verdict = AOT_CHECK_LEFT_OUT};
        if (partition == NULL && part_err == NULL) {
            r->reason = aot_arena_printf(a, "the joint graph is not there to derive it from: %s",
                                         aot_unit_missing_reason(u, AOT_STAGE_JOINT));
        } else if (partition == NULL && sign_in_records(u, a) != NULL) {
            r->reason = aot_arena_printf(a, "%s: %s", sign_in_records(u, a), part_err->msg);
        } else if (partition == NULL) {
            r->verdict = AOT_CHECK_ERROR;
            r->reason = aot_arena_strndup(a, part_err->msg, strlen(part_err->msg));
        } else {
            check_one(r, u, rec, partition, &t, a);
        }
    }
    aot_ctx_free(t.ctx);
    return n;
}
