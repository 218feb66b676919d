/* Re-derives forward and backward from the recorded joint graph and finds the first difference.
 *
 * Two texts are the same if their normal forms are: "   x: \"f32[2]\" = ...;  y = None  " keeps its
 * text and loses its trailing blanks; "# File: ..." lines and blank lines go. Line numbers of what is
 * kept are remembered, so that a difference is shown where the person finds it in the log. */
#include "session/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

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
                                       "torch.ops.higher_order.graphsafe_run_", "torch._prims.rng_prims.",
                                       "torch.ops.rngprims.", "torch.ops.aten.sym_", "operator.", "torch.sym_", NULL};
    return !aot_starts_with(target, "torch.ops.") || starts_with_any(target, list);
}

/* First operator of the recorded graph that the joint graph does not use. NULL if there is none, or
 * the text cannot be read. */
static const char *foreign_operator(const aot_record *rec, const aot_graph *joint, aot_arena *a)
{
    aot_ctx *c = aot_ctx_new();
    aot_graph *g = NULL;
    const char *found = NULL;
    if (aot_parse_graph(&g, c, rec->text, rec->len, 1, NULL) == AOT_OK) {
        /* targets of the joint graph, marked in the strings of the recorded one */
        uint8_t *known = aot_xcalloc(aot_strtab_count(c->strs) + 1, 1);
        for (size_t i = 0; i < joint->nodes.n; i++) {
            const char *t = aot_node_target(joint, (aot_node_id)i);
            known[aot_intern_find(c->strs, t, strlen(t))] = 1;
        }
        for (size_t i = 0; i < g->nodes.n && found == NULL; i++) {
            const aot_node *n = aot_node_at(g, (aot_node_id)i);
            const char *t = aot_text(c, n->target);
            if (n->kind == AOT_CALL_FUNCTION && !known[n->target] && !made_by_partitioner(t)) {
                found = aot_arena_strndup(a, t, strlen(t));
            }
        }
        free(known);
    }
    aot_ctx_free(c);
    return found;
}

const char *aot_check_passes_between(const aot_unit *u, const aot_graph *joint, aot_arena *a)
{
    static const char *const signs[] = {"fx_graph_cache_", "inductor_", "before_joint_graph", "after_joint_graph",
                                        "before_post_grad_graph", "after_post_grad_graph", "fx_graph_runnable",
                                        "fx_graph_transformed", "before_pre_grad_graph", NULL};
    for (size_t i = 0; i < u->records.n; i++) {
        if (starts_with_any(u->records.d[i].name, signs)) {
            return aot_arena_printf(a, "compiled by Inductor (record %s): its joint-graph passes ran "
                                    "between the recorded joint graph and the cut", u->records.d[i].name);
        }
    }
    if (u->backend != NULL && strcmp(u->backend, "inductor") == 0) {
        return "compiled by Inductor: its joint-graph passes ran between the recorded joint graph and "
               "the cut";
    }
    for (int s = AOT_STAGE_FORWARD; s <= AOT_STAGE_BACKWARD && joint != NULL; s++) {
        const aot_record *rec = aot_unit_stage(u, (aot_stage)s);
        const char *op = rec != NULL && rec->text != NULL ? foreign_operator(rec, joint, a) : NULL;
        if (op != NULL) {
            return aot_arena_printf(a, "passes ran between the recorded joint graph and the cut: "
                                    "the %s graph uses %s, the joint graph does not",
                                    aot_stage_get((aot_stage)s)->name, op);
        }
    }
    return NULL;
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

static bool other_version(const aot_unit *u)
{
    const char *v = u->torch_version != NULL ? u->torch_version : "";
    return v[0] != 0 && !(aot_starts_with(v, "2.11") && !(v[4] >= '0' && v[4] <= '9'));
}

size_t aot_check_unit(aot_check_result out[AOT_CHECK_MAX], const aot_unit *u,
                      const aot_partition *partition, const aot_err *part_err, aot_arena *a)
{
    size_t n = 0;
    bool asked = false;
    const char *between = NULL;
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
            continue;
        }
        if (!asked) {
            between = aot_check_passes_between(u, partition != NULL ? partition->cut : NULL, a);
            asked = true;
        }
        if (between != NULL) {
            r->reason = between;
        } else if (partition == NULL) {
            r->verdict = AOT_CHECK_ERROR;
            r->reason = aot_arena_strndup(a, part_err->msg, strlen(part_err->msg));
        } else {
            compare(r, rec, s == AOT_STAGE_FORWARD ? partition->forward : partition->backward, a);
            if (r->verdict == AOT_CHECK_DIFFERS && other_version(u)) {
                r->reason = aot_arena_printf(a, "written by PyTorch %s; aotscope follows the rules of "
                                             "2.11, which differ", u->torch_version);
            }
        }
    }
    return n;
}
