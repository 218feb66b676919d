/* A unit's settings and edits as what a training script takes, and as a policy file.
 *
 * A checkpoint policy is asked for each operator as it is dispatched, before it is functionalized
 * and decomposed: rules are in the operators of stage aten, which is traced for it. Those whose
 * calls are all tagged alike are told by name, others by the number of the call. What no edit tags
 * is PREFER_SAVE, which leaves it to the partitioner. What cannot be said so is told: in a comment
 * and to the person. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/select.h"
#include "session/derive.h"
#include "session/dispatch.h"
#include "viewers/viewer.h"

typedef struct call {
    const char *op; /* "aten.mm.default" */
    uint32_t node; /* calls of one operator are numbered in this order */
    uint8_t policy;
    bool mixed; /* nodes made of it were tagged differently: it has no policy */
} call;

typedef struct calls {
    AOT_VEC(call) v;
    aot_sb said; /* what rules cannot say, one a line */
    bool any;
} calls;

static int by_op(const void *a, const void *b)
{
    const call *x = a, *y = b;
    int c = strcmp(x->op, y->op);
    return c != 0 ? c : x->node < y->node ? -1 : x->node > y->node;
}

/* A forward call of the joint graph that is there to be tagged. */
typedef struct member {
    aot_node_id joint;
    uint8_t policy;
} member;

typedef AOT_VEC(member) members;

static bool is_operator(const char *target)
{
    return strncmp(target, "torch.ops.", 10) == 0;
}

/* Forward calls of operators with their tags. One that was merged into another, or dropped, has
 * none. */
static void find_members(members *out, const aot_graph *g, const aot_partition *p)
{
    aot_select_on on;
    aot_select_begin(&on, g, p, NULL);
    uint32_t end = 0; // of the forward: what was merged away tells no side of its own
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        aot_node_id at = on.cut != NULL ? on.cut[i] : i;
        end = at != AOT_NO_NODE && !p->nodes[at].backward_made ? i : end;
    }
    for (uint32_t i = 0; i <= end && i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        aot_node_id at = on.cut != NULL ? on.cut[i] : i;
        bool backward =
            at != AOT_NO_NODE ? p->nodes[at].backward_made : g->srcs.d[n->src].is_backward;
        if (n->kind == AOT_CALL_FUNCTION && !backward && is_operator(aot_node_target(g, i))) {
            member m = {i, at != AOT_NO_NODE ? p->nodes[at].policy : AOT_POLICY_NONE};
            aot_vec_push(out, m);
        }
    }
    aot_select_end(&on);
}

/* Nodes that Inductor's passes made are of no call. */
static void say_made_by_passes(calls *out, const aot_graph *g, const aot_partition *p)
{
    aot_select_on on;
    if (p->cut == g) {
        return;
    }
    bool *there = aot_xcalloc(p->cut->nodes.n + 1, sizeof *there);
    aot_select_begin(&on, g, p, NULL);
    for (uint32_t i = 0; on.cut != NULL && i < g->nodes.n; i++) {
        if (on.cut[i] != AOT_NO_NODE) {
            there[on.cut[i]] = true;
        }
    }
    for (uint32_t i = 0; on.cut != NULL && i < p->cut->nodes.n; i++) {
        if (!there[i] && p->nodes[i].policy != AOT_POLICY_NONE && !p->nodes[i].backward_made) {
            const char *name = aot_node_name(p->cut, i);
            aot_sb_addf(&out->said,
                        "%s: no policy sees it, Inductor's joint-graph passes make it\n", name);
        }
    }
    aot_select_end(&on);
    free(there);
}

/* Where nothing tells the calls as dispatched, those of the joint graph stand for them. */
static void collect_joint(calls *out, const aot_graph *g, const members *m, const char *why)
{
    for (size_t i = 0; i < m->n; i++) {
        call c = {aot_node_target(g, m->d[i].joint) + 10, m->d[i].joint, m->d[i].policy, false};
        out->any |= c.policy != AOT_POLICY_NONE;
        aot_vec_push(&out->v, c);
    }
    aot_sb_addf(&out->said,
                "rules are in the joint graph's operators (%s); a policy sees them as dispatched, "
                "before they are functionalized and decomposed: print op in policy() and adapt "
                "RULES\n",
                why);
}

/* Calls of stage aten take the tags of what they became. */
static void collect_aten(calls *out, const aot_graph *g, const members *m, const aot_dispatch *d)
{
    uint32_t n = d->aten->nodes.n;
    size_t *at = aot_xcalloc(n + 1, sizeof *at); // place in v + 1
    for (aot_node_id i = 0; i < n; i++) {
        const char *t = aot_node_target(d->aten, i);
        if (aot_node_at(d->aten, i)->kind == AOT_CALL_FUNCTION && is_operator(t) &&
            strcmp(t, "torch.ops.aten.detach.default") != 0) { // which a policy is not asked about
            call c = {t + 10, i, AOT_POLICY_NONE, false};
            aot_vec_push(&out->v, c);
            at[i] = out->v.n;
        }
    }
    for (int pass = 0; pass < 2; pass++) { // tags, then who was not tagged
        for (size_t i = 0; i < m->n; i++) {
            aot_node_id of = d->of[m->d[i].joint];
            call *c = of < n && at[of] != 0 ? &out->v.d[at[of] - 1] : NULL;
            uint8_t policy = m->d[i].policy;
            const char *name = aot_node_name(g, m->d[i].joint);
            if (c == NULL && policy != AOT_POLICY_NONE && pass == 0) {
                aot_sb_addf(&out->said, "%s: no policy sees it, no call as dispatched is it\n",
                            name);
            } else if (c != NULL && policy != AOT_POLICY_NONE && pass == 0) {
                c->mixed |= c->policy != AOT_POLICY_NONE && c->policy != policy;
                c->policy = policy;
                out->any = true;
            } else if (c != NULL && policy != c->policy && pass == 1) {
                aot_sb_addf(&out->said,
                            c->mixed ? "%s: not tagged: %s is one call to a policy, and parts of "
                                       "it were tagged differently\n"
                                     : "%s: tagged too: %s is one call to a policy\n",
                            name, c->op);
            }
        }
    }
    for (size_t i = 0; i < out->v.n; i++) {
        out->v.d[i].policy = out->v.d[i].mixed ? AOT_POLICY_NONE : out->v.d[i].policy;
    }
    free(at);
}

static bool writes(const aot_graph *aten)
{
    for (aot_node_id i = 0; i < aten->nodes.n; i++) {
        const aot_node *n = aot_node_at(aten, i);
        if (n->kind == AOT_CALL_FUNCTION && (aot_op(n->op)->flags & AOT_OPF_MUTATES) != 0) {
            return true;
        }
    }
    return false;
}

static void collect(calls *out, const aot_graph *g, const aot_partition *p, const aot_unit *u,
                    const aot_config *config)
{
    members m = {0};
    aot_dispatch d;
    aot_err why = {0};
    aot_ctx *c = aot_unit_new_ctx(u);
    find_members(&m, g, p);
    say_made_by_passes(out, g, p);
    if (aot_dispatch_find(&d, c, u, g, config, &why) != AOT_OK) {
        collect_joint(out, g, &m, why.msg);
    } else {
        collect_aten(out, g, &m, &d);
        if (writes(d.aten)) {
            aot_sb_addz(&out->said, "operators write in place here: PyTorch warns that a "
                                    "selectively checkpointed region should have none\n");
        }
        aot_sb_addz(&out->said,
                    d.has_checkpoints
                        ? "the unit has checkpointed regions: give context_fn=contexts to their "
                          "checkpoint(); each numbers its own calls, RULES those of the unit\n"
                        : "no checkpoint wraps this unit: compile checkpointed(MODULE) in place of "
                          "the MODULE that was compiled, or RULES are never asked\n");
    }
    for (size_t i = 0; i < out->v.n; i++) { // the graph goes
        out->v.d[i].op = aot_xstrdup(out->v.d[i].op);
    }
    if (out->v.n != 0) {
        qsort(out->v.d, out->v.n, sizeof *out->v.d, by_op);
    }
    aot_vec_free(&m);
    aot_ctx_free(c);
}

/* "aten.mm.default": True, or the numbers of its calls, under the policy. */
static void add_operator(aot_sb *out, const call *c, size_t n, aot_policy policy)
{
    size_t n_tagged = 0;
    for (size_t i = 0; i < n; i++) {
        n_tagged += c[i].policy == policy;
    }
    if (n_tagged == 0) {
        return;
    }
    aot_sb_addf(out, "    (torch.ops.%s, ", c->op);
    if (n_tagged == n) {
        aot_sb_addz(out, "None");
    } else {
        aot_sb_addz(out, "{");
        for (size_t i = 0, k = 0; i < n; i++) {
            if (c[i].policy == policy) {
                aot_sb_addf(out, "%s%zu", k++ != 0 ? ", " : "", i);
            }
        }
        aot_sb_addz(out, "}");
    }
    aot_sb_addf(out, ", CheckpointPolicy.%s),\n", aot_policy_name(policy));
}

static void add_rules(aot_sb *out, const calls *x)
{
    aot_sb_addz(out, "# Operator, numbers of its calls in the region (None: all), what is to "
                     "become of them.\nRULES = [\n");
    for (size_t i = 0, n; i < x->v.n; i += n) {
        for (n = 1; i + n < x->v.n && strcmp(x->v.d[i].op, x->v.d[i + n].op) == 0; n++) {
        }
        for (int policy = AOT_POLICY_NONE + 1; policy <= AOT_POLICY_PREFER_RECOMPUTE; policy++) {
            add_operator(out, &x->v.d[i], n, (aot_policy)policy);
        }
    }
    aot_sb_addz(out, "]\n");
}

static const char contexts[] =
    "\n\ndef contexts():\n"
    "    \"\"\"For checkpoint(..., use_reentrant=False, context_fn=contexts).\"\"\"\n"
    "    seen = {False: {}, True: {}}\n\n"
    "    def policy(ctx, op, *args, **kwargs):\n"
    "        counts = seen[ctx.is_recompute]\n"
    "        number = counts[op] = counts.get(op, -1) + 1\n"
    "        for rule, calls, what in RULES:\n"
    "            if op == rule and (calls is None or number in calls):\n"
    "                return what\n"
    "        return CheckpointPolicy.PREFER_SAVE  # the partitioner decides\n\n"
    "    return create_selective_checkpoint_contexts(policy)\n\n\n"
    "def checkpointed(region):\n"
    "    \"\"\"The module or function with the policy around it; compile what calls it.\"\"\"\n"
    "    return lambda *args, **kwargs: checkpoint(\n"
    "        region, *args, use_reentrant=False, context_fn=contexts, **kwargs)\n";

/* Names of torch._functorch.config, not those that are ours or Inductor's. */
static bool is_functorchs(const aot_config_row *r)
{
    static const char *const others[] = {"partitioner",
                                         "backend",
                                         "path",
                                         "decompose",
                                         "keep",
                                         "opaque",
                                         "times",
                                         "fallback_random",
                                         "keep_inference_input_mutations"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(r->name, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* Assignments of what differs from PyTorch's defaults. */
static void add_settings(aot_sb *out, const aot_config *c)
{
    aot_config defaults;
    size_t n = 0;
    aot_config_init(&defaults);
    aot_sb_addz(out, "def configure():\n    \"\"\"Before anything is compiled.\"\"\"\n");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb value = {0}, def = {0};
        aot_config_print(&value, c, r);
        aot_config_print(&def, &defaults, r);
        if (is_functorchs(r) && strcmp(aot_sb_text(&value), aot_sb_text(&def)) != 0) {
            const char *quote = r->type == 'S' ? "\"" : "";
            aot_sb_addf(out, "    torch._functorch.config.%s = %s%s%s\n", r->name, quote,
                        aot_sb_text(&value), quote);
            n++;
        }
        aot_sb_free(&value);
        aot_sb_free(&def);
    }
    if (n == 0) {
        aot_sb_addz(out, "    # all settings are PyTorch's defaults\n");
    }
}

static void add_lines(aot_sb *out, aot_model *m, size_t unit, const char *before)
{
    for (size_t i = 0; i < aot_model_n_edits(m, unit); i++) {
        aot_sb_addf(out, "%s%s\n", before, aot_model_edit_at(m, unit, i)->line);
    }
}

static void add_said(aot_sb *out, const calls *x)
{
    const char *p = aot_sb_text(&x->said);
    aot_sb_addz(out, *p != '\0' ? "\n" : "");
    for (size_t n; *p != '\0'; p += n + 1) {
        n = strcspn(p, "\n");
        aot_sb_addf(out, "%.*s\n", (int)n, p);
    }
}

static void calls_free(calls *x)
{
    for (size_t i = 0; i < x->v.n; i++) {
        free((char *)(uintptr_t)x->v.d[i].op);
    }
    aot_vec_free(&x->v);
    aot_sb_free(&x->said);
}

static aot_status write_script(aot_export_job *j, const aot_config *config, aot_err *err)
{
    size_t unit = (size_t)j->in->unit;
    calls x = {0};
    const aot_partition *p;
    AOT_TRY(aot_model_partition(j->in->model, unit, &p, err));
    if (aot_edits_tag_any(aot_model_unit(j->in->model, unit)->edits)) {
        const aot_graph *joint;
        AOT_TRY(aot_model_graph(j->in->model, unit, AOT_STAGE_JOINT, &joint, err));
        collect(&x, joint, p, aot_model_unit(j->in->model, unit), config);
        aot_sb_addz(j->notes, aot_sb_text(&x.said));
    }
    aot_sb_addz(
        j->out,
        "\"\"\"Settings and checkpoint policy of a unit, as they were tried in aotscope.\n\n");
    aot_sb_addf(j->out, "%s\n\n", j->in->label != NULL ? j->in->label : "");
    add_lines(j->out, j->in->model, unit, "    ");
    add_said(j->out, &x);
    aot_sb_addz(j->out, "\"\"\"\nimport torch\nimport torch._functorch.config\n");
    aot_sb_addz(j->out,
                x.any
                    ? "from torch.utils.checkpoint import (CheckpointPolicy, checkpoint,\n"
                      "                                    create_selective_checkpoint_contexts)\n"
                    : "");
    aot_sb_addz(j->out, "\n\n");
    add_settings(j->out, config);
    if (x.any) {
        aot_sb_addz(j->out, "\n\n");
        add_rules(j->out, &x);
        aot_sb_addz(j->out, contexts);
    }
    calls_free(&x);
    return AOT_OK;
}

static aot_status unit_config(aot_config *out, const aot_export_job *j, aot_err *err)
{
    return j->in->model == NULL
               ? AOT_FAIL(err, AOT_E_PIPELINE, "settings and edits are those of an opened input")
               : aot_model_config(j->in->model, (size_t)j->in->unit, out, err);
}

aot_status aot_write_script(aot_export_job *j, aot_err *err)
{
    aot_config config;
    AOT_TRY(unit_config(&config, j, err));
    return write_script(j, &config, err);
}

aot_status aot_write_policy(aot_export_job *j, aot_err *err)
{
    size_t unit = (size_t)j->in->unit;
    aot_config config, recorded;
    AOT_TRY(unit_config(&config, j, err));
    aot_config_init(&recorded);
    const aot_unit *u = aot_model_unit(j->in->model, unit);
    if (u->config != NULL) {
        aot_config_from_json(&recorded, u->config);
    }
    const char *label = j->in->label != NULL ? j->in->label : "";
    aot_sb_addz(j->out, "# ");
    // a line break in a file's name would begin a line of the policy
    aot_text_safe(j->out, label, strlen(label));
    aot_sb_addz(j->out,
                "\n# what differs from the recorded settings, and the edits; --policy takes it\n");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb value = {0}, was = {0};
        aot_config_print(&value, &config, r);
        aot_config_print(&was, &recorded, r);
        if (is_functorchs(r) && strcmp(aot_sb_text(&value), aot_sb_text(&was)) != 0) {
            aot_sb_addf(j->out, "set %s=%s\n", r->name, aot_sb_text(&value));
        }
        aot_sb_free(&value);
        aot_sb_free(&was);
    }
    for (size_t i = 0; i < aot_model_n_edits(j->in->model, unit); i++) {
        const aot_unit_edit *e = aot_model_edit_at(j->in->model, unit, i);
        if (e->kind != AOT_UNIT_EDIT_SET) {
            aot_sb_addf(j->out, "%s\n", e->line);
        }
    }
    return AOT_OK;
}
