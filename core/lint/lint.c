/* The rules of findings.def. Each walks the graph that was cut, or the modules made of it; values
 * have the same names in all of them. */
#include "lint/internal.h"

#include <stdlib.h>
#include <string.h>

#include "exec/memsim.h"
#include "ir/reads.h"
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
#define UNIT_FINDING(fn, name, level, title, remedy)
#include "lint/findings.def"
#undef FINDING
#undef UNIT_FINDING

static const struct {
    aot_finding_rule rule;
    void (*run)(lint *l);           /* NULL: a rule of the unit */
    void (*run_unit)(unit_lint *l); /* NULL: a rule of the partition */
} rules[] = {
#define FINDING(fn, name, level, title, remedy)                                                    \
    {{name, title, remedy, AOT_FINDING_##level}, lint_##fn, NULL},
#define UNIT_FINDING(fn, name, level, title, remedy)                                               \
    {{name, title, remedy, AOT_FINDING_##level}, NULL, lint_unit_##fn},
#include "lint/findings.def"
#undef FINDING
#undef UNIT_FINDING
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
    uint8_t *written = overwritten_inputs(l), *needed = aot_needed_nodes(l->p->backward);
    for (uint32_t i = 0; i < l->p->n_saved; i++) {
        aot_node_id id = l->p->saved[i], primal = aot_node_primal(l->g, id);
        if (primal == AOT_NO_NODE || !written[primal]) {
            continue; // few are left, each of which is looked for
        }
        aot_node_id taken = aot_graph_find(l->p->backward, name_of(l, id));
        // not so a batch norm's running statistics: computed again in training, it does not read
        // them
        if (taken == AOT_NO_NODE || needed[taken]) {
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
    free(needed);
    free(written);
}

/* ---- tags -------------------------------------------------------------------------------------
 */

static void lint_save_tag_overruled(lint *l)
{
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        uint8_t policy = l->p->nodes[i].asked;
        if ((policy == AOT_POLICY_MUST_SAVE || policy == AOT_POLICY_PREFER_SAVE) &&
            l->p->nodes[i].verdict == AOT_V_RECOMPUTED && !aot_is_getitem(l->g, n)) {
            bool view = n->kind == AOT_CALL_FUNCTION &&
                        (aot_node_op(n)->flags & AOT_OPF_ALIASES) != 0;
            found(
                l, i, l->p->nodes[i].bytes,
                aot_arena_printf(l->g->ctx->arena, "%s is tagged %s and recomputed%s",
                                 name_of(l, i), aot_policy_name((aot_policy)policy),
                                 !view || l->p->config.activation_memory_budget <= 0
                                     ? ""
                                     : ": it is a view, which no tag keeps from being made again"));
        }
    }
}

static int32_t region_of(const lint *l, aot_node_id id)
{
    const aot_node *n = aot_node_at(l->g, id);
    return n->policy == AOT_POLICY_NONE ? -1 : l->g->srcs.d[n->src].ac_graph_id;
}

/* The region that untagged forward nodes stand in: the nearest tagged values above them and below
 * them, through untagged ones (an autograd.Function leaves a whole run of nodes without tags), are
 * of the same one. -1: none. Belongs to the caller. */
static int32_t *regions_around(const lint *l)
{
    const aot_graph *g = l->g;
    size_t n = g->nodes.n;
    int32_t *around = aot_xmalloc((n + 1) * sizeof *around),
            *below = aot_xmalloc((n + 1) * sizeof *below);
    for (aot_node_id i = 0; i < n; i++) {
        around[i] = region_of(l, i);
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1] && around[i] < 0; k++) {
            around[i] = around[g->in[k]];
        }
    }
    for (aot_node_id i = (aot_node_id)n; i-- > 0;) {
        below[i] = region_of(l, i);
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1] && below[i] < 0; k++) {
            below[i] = l->p->nodes[g->user[k]].backward_made ? -1 : below[g->user[k]];
        }
        around[i] = around[i] == below[i] ? around[i] : -1;
    }
    free(below);
    return around;
}

static void lint_region_untagged(lint *l)
{
    int32_t *around = regions_around(l);
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        if (n->kind == AOT_CALL_FUNCTION && n->policy == AOT_POLICY_NONE &&
            !l->p->nodes[i].backward_made && around[i] >= 0) {
            found(l, i, l->p->nodes[i].bytes,
                  aot_arena_printf(l->g->ctx->arena, "%s stands inside region %d without a tag: %s",
                                   name_of(l, i), around[i],
                                   aot_verdict_name((aot_verdict)l->p->nodes[i].verdict)));
        }
    }
    free(around);
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

/* The value that each output descriptor stands at, by its id as a text. The caller frees it. */
static aot_node_id *outputs_by_descriptor(const lint *l)
{
    const aot_graph *g = l->g;
    const aot_node *out = g->nodes.n != 0 ? aot_node_at(g, (aot_node_id)g->nodes.n - 1) : NULL;
    aot_node_id *of = aot_xmalloc((l->n_names + 1) * sizeof *of);
    memset(of, 0xff, (l->n_names + 1) * sizeof *of);
    if (out == NULL || out->kind != AOT_OUTPUT || aot_node_args(g, out)->kind < AOT_ARG_LIST) {
        return of;
    }
    const aot_arg *list = aot_node_args(g, out), *items = aot_arg_items(g, list);
    for (uint32_t i = list->n < g->out_descs.n ? list->n : (uint32_t)g->out_descs.n; i-- > 0;) {
        if (items[i].kind == AOT_ARG_NODE && g->out_descs.d[i] < l->n_names) {
            of[g->out_descs.d[i]] = items[i].u.node; // the first of equal ones stays
        }
    }
    return of;
}

/* The output of the forward that a tangent belongs to; AOT_NO_NODE if its descriptor does not
 * say. */
static aot_node_id output_of_tangent(const lint *l, const aot_node *tangent, const aot_node_id *of)
{
    static const char mark[] = "TangentAOTInput(output=";
    const char *desc = aot_text(l->g->ctx, tangent->desc);
    if (strncmp(desc, mark, strlen(mark)) != 0) {
        return AOT_NO_NODE;
    }
    desc += strlen(mark);
    aot_str id = aot_intern_find(l->g->ctx->strs, desc, strlen(desc) - 1); // without ')'
    return id != 0 && id < l->n_names ? of[id] : AOT_NO_NODE;
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
    aot_node_id *of = outputs_by_descriptor(l);
    for (aot_node_id i = 0; i < l->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(l->g, i);
        aot_node_id out =
            n->kind == AOT_PLACEHOLDER && n->desc != 0 ? output_of_tangent(l, n, of) : AOT_NO_NODE;
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
    free(of);
}

/* ---- regions --------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Recomputed values of the backward that live at its peak, by region. */
static void lint_regions_together(lint *l)
{
    aot_memory m;
    aot_memory_of_partition(&m, l->p, NULL);
    const aot_memory_side *b = &m.backward;
    AOT_VEC(int32_t) regions = {0};
    int64_t bytes = 0;
    for (size_t i = 0; i < b->blocks.n && b->peak_node != AOT_NO_NODE; i++) {
        const aot_mem_block *x = &b->blocks.d[i];
        bool lives = x->born <= b->peak_row && x->died >= b->peak_row;
        if (!lives || x->in_forward || x->kind != AOT_MEM_RECOMPUTED) {
            continue;
        }
        const aot_node *n = aot_node_at(l->p->backward, x->node);
        int32_t region = l->p->backward->srcs.d[n->src].ac_graph_id;
        if (region >= 0) {
            bytes += x->bytes;
            aot_vec_push(&regions, region);
        }
    }
    size_t n = regions.n > 0;
    if (regions.n > 0) {
        qsort(regions.d, regions.n, sizeof *regions.d, by_number);
    }
    for (size_t i = 1; i < regions.n; i++) {
        n += regions.d[i] != regions.d[i - 1];
    }
    if (n > 1) {
        char some[32], all[32];
        aot_node_id peak = in_cut(l, aot_node_at(l->p->backward, b->peak_node));
        found(
            l, peak, bytes,
            aot_arena_printf(l->g->ctx->arena,
                             "at the backward's peak (%s) recomputed values of %zu regions live at "
                             "once: %s of %s",
                             aot_node_name(l->p->backward, b->peak_node), n,
                             aot_bytes_text(bytes, some, sizeof some),
                             aot_bytes_text(b->peak, all, sizeof all)));
    }
    aot_vec_free(&regions);
    aot_memory_free(&m);
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
        if (rules[i].run != NULL) {
            rules[i].run(&l);
        }
    }
    free(l.by_name);
}

void lint_unit_rules(unit_lint *l)
{
    for (unsigned i = 0; i < N_RULES; i++) {
        l->rule = &rules[i].rule;
        if (rules[i].run_unit != NULL) {
            rules[i].run_unit(l);
        }
    }
}
