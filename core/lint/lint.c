/* The rules of findings.def. Each walks the graph that was cut, or the modules made of it; values
 * have the same names in all of them. */
#include "lint/lint.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_ids.h"
#include "partition/rng_sites.h"
#include "session/saved.h"

typedef struct lint {
    const aot_partition *p;
    const aot_graph *g; /* p->cut */
    aot_findings *out;
    const aot_finding_rule *rule;
    aot_node_id *by_name; /* node of g by aot_str */
    size_t n_names;
} lint;

#define FINDING(fn, name, level, title, remedy) static void lint_##fn(lint *l);
#include "lint/findings.def"
#undef FINDING

static const struct {
    aot_finding_rule rule;
    void (*run)(lint *l);
} rules[] = {
#define FINDING(fn, name, level, title, remedy)                                                    \
    {{name, title, remedy, AOT_FINDING_##level}, lint_##fn},
#include "lint/findings.def"
#undef FINDING
};

enum { N_RULES = sizeof rules / sizeof *rules };

unsigned aot_finding_rule_count(void)
{
    return N_RULES;
}

const aot_finding_rule *aot_finding_rule_at(unsigned i)
{
    return &rules[i].rule;
}

const char *aot_finding_level_name(aot_finding_level l)
{
    static const char *const names[] = {"note", "warning", "error"};
    return names[l];
}

static void found(lint *l, aot_node_id node, int64_t bytes, const char *message)
{
    aot_finding f = {l->rule, node, message, bytes};
    aot_vec_push(l->out, f);
}

static const char *name_of(const lint *l, aot_node_id id)
{
    return aot_node_name(l->g, id);
}

/* The value of g with the name that a node of a module has; AOT_NO_NODE if there is none. */
static aot_node_id in_cut(const lint *l, const aot_node *n)
{
    return n->name < l->n_names ? l->by_name[n->name] : AOT_NO_NODE;
}

static bool is_op(const aot_node *n, aot_op_id op)
{
    return n->kind == AOT_CALL_FUNCTION && n->op == op;
}

/* ---- wrong numbers -----------------------------------------------------------------------------
 */

static void lint_random_redrawn(lint *l)
{
    aot_rng r;
    aot_rng_of(&r, l->p);
    for (size_t i = 0; i < r.values.n; i++) {
        const aot_rng_value *v = &r.values.d[i];
        if (v->fate == AOT_RNG_REDRAWN) {
            found(l, v->node, 0,
                  aot_arena_printf(l->g->ctx->arena,
                                   "%s (%s) is drawn again in the backward with another state",
                                   name_of(l, v->node), r.cut.d[i].op));
        }
    }
    aot_rng_free(&r);
}

/* The primals that a copy_ at the forward's end overwrites. */
static uint8_t *overwritten_inputs(const lint *l)
{
    uint8_t *written = aot_xcalloc(l->g->nodes.n + 1, 1);
    const aot_graph *fw = l->p->forward;
    for (aot_node_id i = 0; i < fw->nodes.n; i++) {
        const aot_node *n = aot_node_at(fw, i);
        const aot_arg *a = aot_node_args(fw, n);
        if (is_op(n, AOT_OP_aten_copy_) && n->n_args != 0 && a[0].kind == AOT_ARG_NODE &&
            aot_node_at(fw, a[0].u.node)->kind == AOT_PLACEHOLDER) {
            aot_node_id id = in_cut(l, aot_node_at(fw, a[0].u.node));
            if (id != AOT_NO_NODE) {
                written[id] = 1;
            }
        }
    }
    return written;
}

static void lint_read_after_mutation(lint *l)
{
    uint8_t *written = overwritten_inputs(l);
    for (uint32_t i = 0; i < l->p->n_saved; i++) {
        aot_node_id id = l->p->saved[i], primal = aot_node_primal(l->g, id);
        if (primal != AOT_NO_NODE && written[primal]) {
            const char *via =
                id == primal ? ""
                             : aot_arena_printf(l->g->ctx->arena, " through %s", name_of(l, id));
            found(l, primal, l->p->nodes[id].bytes,
                  aot_arena_printf(
                      l->g->ctx->arena,
                      "%s is saved for the backward%s, and the forward ends by overwriting it",
                      name_of(l, primal), via));
        }
    }
    free(written);
}

/* ---- tags -------------------------------------------------------------------------------------
 */

static void lint_save_tag_overruled(lint *l)
{
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        if ((n->policy == AOT_POLICY_MUST_SAVE || n->policy == AOT_POLICY_PREFER_SAVE) &&
            l->p->nodes[i].verdict == AOT_V_RECOMPUTED && !aot_is_getitem(l->g, n)) {
            found(l, i, l->p->nodes[i].bytes,
                  aot_arena_printf(l->g->ctx->arena, "%s is tagged %s and recomputed",
                                   name_of(l, i), aot_policy_name((aot_policy)n->policy)));
        }
    }
}

static int32_t region_of(const lint *l, aot_node_id id)
{
    const aot_node *n = aot_node_at(l->g, id);
    return n->policy == AOT_POLICY_NONE ? -1 : l->g->srcs.d[n->src].ac_graph_id;
}

/* The region of the nodes around an untagged one, if it stands between nodes of one region; else
 * -1. */
static int32_t region_around(const lint *l, aot_node_id id)
{
    const aot_graph *g = l->g;
    int32_t above = -1, below = -1;
    for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1] && above < 0; k++) {
        above = region_of(l, g->in[k]);
    }
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1] && below < 0; k++) {
        below = region_of(l, g->user[k]);
    }
    return above == below ? above : -1;
}

static void lint_region_untagged(lint *l)
{
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        if (n->kind != AOT_CALL_FUNCTION || n->policy != AOT_POLICY_NONE ||
            l->p->nodes[i].backward_made) {
            continue;
        }
        int32_t region = region_around(l, i);
        if (region >= 0) {
            found(l, i, l->p->nodes[i].bytes,
                  aot_arena_printf(l->g->ctx->arena, "%s stands inside region %d without a tag: %s",
                                   name_of(l, i), region,
                                   aot_verdict_name((aot_verdict)l->p->nodes[i].verdict)));
        }
    }
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static void lint_weight_copy_saved(lint *l)
{
    char text[32];
    for (uint32_t i = 0; i < l->p->n_saved; i++) {
        aot_node_id id = l->p->saved[i];
        if (l->p->nodes[id].is_static && aot_node_primal(l->g, id) == AOT_NO_NODE) {
            found(l, id, l->p->nodes[id].bytes,
                  aot_arena_printf(l->g->ctx->arena,
                                   "%s, %s, is made of parameters alone and saved", name_of(l, id),
                                   aot_bytes_text(l->p->nodes[id].bytes, text, sizeof text)));
        }
    }
}

static void lint_alias_counted(lint *l)
{
    char text[32];
    for (uint32_t i = 0; i < l->p->n_saved; i++) {
        aot_node_id id = l->p->saved[i], primal = aot_node_primal(l->g, id);
        if (primal != AOT_NO_NODE && primal != id) {
            found(l, id, l->p->nodes[id].bytes,
                  aot_arena_printf(l->g->ctx->arena, "%s, counted with %s, is a view of %s",
                                   name_of(l, id),
                                   aot_bytes_text(l->p->nodes[id].bytes, text, sizeof text),
                                   name_of(l, primal)));
        }
    }
}

static bool is_scatter(const aot_node *n)
{
    return is_op(n, AOT_OP_aten_slice_scatter) || is_op(n, AOT_OP_aten_select_scatter);
}

/* The link that a scatter writes over; AOT_NO_NODE at a chain's start. */
static aot_node_id link_above(const lint *l, aot_node_id id)
{
    const aot_arg *a = aot_node_args(l->g, aot_node_at(l->g, id));
    bool linked = a[0].kind == AOT_ARG_NODE && is_scatter(aot_node_at(l->g, a[0].u.node));
    return linked ? a[0].u.node : AOT_NO_NODE;
}

static void lint_scatter_chain(lint *l)
{
    uint32_t *length = aot_xcalloc(l->g->nodes.n + 1, sizeof *length);
    uint8_t *inner = aot_xcalloc(l->g->nodes.n + 1, 1);
    char text[32];
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        if (is_scatter(aot_node_at(l->g, i)) && aot_node_at(l->g, i)->n_args > 0) {
            aot_node_id above = link_above(l, i);
            length[i] = 1 + (above != AOT_NO_NODE ? length[above] : 0);
            inner[above != AOT_NO_NODE ? above : l->g->nodes.n] = 1;
        }
    }
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        if (length[i] > 1 && !inner[i]) {
            int64_t bytes = l->p->nodes[i].bytes * length[i];
            found(l, i, bytes,
                  aot_arena_printf(l->g->ctx->arena, "%u copies of a whole tensor, %s, end in %s",
                                   length[i], aot_bytes_text(bytes, text, sizeof text),
                                   name_of(l, i)));
        }
    }
    free(length);
    free(inner);
}

/* The output of the forward that a tangent belongs to, by its descriptor; AOT_NO_NODE if not said.
 */
static aot_node_id output_of_tangent(const lint *l, const aot_node *tangent)
{
    static const char mark[] = "TangentAOTInput(output=";
    const aot_graph *g = l->g;
    const char *desc = aot_text(g->ctx, tangent->desc);
    const aot_node *out = g->nodes.n != 0 ? aot_node_at(g, (aot_node_id)g->nodes.n - 1) : NULL;
    if (strncmp(desc, mark, strlen(mark)) != 0 || out == NULL || out->kind != AOT_OUTPUT) {
        return AOT_NO_NODE;
    }
    const char *of = desc + strlen(mark);
    size_t n = strlen(of) - 1; // without the closing parenthesis
    const aot_arg *list = aot_node_args(g, out);
    for (size_t i = 0; i < g->out_descs.n && list->kind >= AOT_ARG_LIST && i < list->n; i++) {
        const char *is = aot_text(g->ctx, g->out_descs.d[i]);
        const aot_arg *a = &aot_arg_items(g, list)[i];
        if (strlen(is) == n && memcmp(is, of, n) == 0) {
            return a->kind == AOT_ARG_NODE ? a->u.node : AOT_NO_NODE;
        }
    }
    return AOT_NO_NODE;
}

static bool same_strides(const aot_ctx *c, const aot_meta *a, const aot_meta *b)
{
    bool known = a->val == AOT_VAL_TENSOR && b->val == AOT_VAL_TENSOR && a->has_stride &&
                 b->has_stride && a->ndim == b->ndim;
    for (unsigned i = 0; known && i < a->ndim; i++) {
        if (aot_meta_sizes(c, a)[i].value > 1 &&
            aot_meta_strides(c, a)[i].value != aot_meta_strides(c, b)[i].value) {
            return false;
        }
    }
    return true;
}

static void lint_tangent_strides(lint *l)
{
    const aot_ctx *c = l->g->ctx;
    char text[32];
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        aot_node_id out =
            n->kind == AOT_PLACEHOLDER && n->desc != 0 ? output_of_tangent(l, n) : AOT_NO_NODE;
        if (out == AOT_NO_NODE) {
            continue;
        }
        const aot_meta *want = aot_meta_get(c, n->meta),
                       *is = aot_meta_get(c, aot_node_at(l->g, out)->meta);
        if (!same_strides(c, want, is)) {
            found(l, i, l->p->nodes[i].bytes,
                  aot_arena_printf(l->g->ctx->arena,
                                   "%s is expected as %s, output %s is %s: a copy of %s",
                                   name_of(l, i), aot_text(c, want->text), name_of(l, out),
                                   aot_text(c, is->text),
                                   aot_bytes_text(l->p->nodes[i].bytes, text, sizeof text)));
        }
    }
}

void aot_lint(aot_findings *out, const aot_partition *p)
{
    lint l = {.p = p, .g = p->cut, .out = out};
    l.n_names = aot_strtab_count(p->cut->ctx->strs);
    l.by_name = aot_xmalloc((l.n_names + 1) * sizeof *l.by_name);
    memset(l.by_name, 0xff, (l.n_names + 1) * sizeof *l.by_name);
    for (aot_node_id i = 0; i < p->cut->nodes.n; i++) {
        l.by_name[aot_node_at(p->cut, i)->name] = i;
    }
    for (unsigned i = 0; i < N_RULES; i++) {
        l.rule = &rules[i].rule;
        rules[i].run(&l);
    }
    free(l.by_name);
}
