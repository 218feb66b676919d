/* Facts about single nodes that the partitioner asks for, and storage groups.
 * Mirrors: torch/_functorch/_aot_autograd/utils.py (_is_primal ...),
 * torch/_library/utils.py:is_impure, torch/_functorch/partitioners.py (_must_be_in_forward ...). */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

static bool placeholder_has(const aot_graph *g, const aot_node *n, const char *word)
{
    return n->kind == AOT_PLACEHOLDER && strstr(aot_text(g->ctx, n->target), word) != NULL;
}

bool part_is_tangent(const aot_graph *g, const aot_node *n)
{
    return placeholder_has(g, n, "tangents");
}

bool part_is_fwd_seed(const aot_graph *g, const aot_node *n)
{
    return placeholder_has(g, n, "fwd_seed") || placeholder_has(g, n, "fwd_base_offset");
}

bool part_is_bwd_seed(const aot_graph *g, const aot_node *n)
{
    return placeholder_has(g, n, "bwd_seed") || placeholder_has(g, n, "bwd_base_offset");
}

bool part_is_primal(const aot_graph *g, const aot_node *n)
{
    return n->kind == AOT_PLACEHOLDER && !part_is_tangent(g, n) && !part_is_fwd_seed(g, n) &&
           !part_is_bwd_seed(g, n);
}

bool part_is_sym(const aot_graph *g, const aot_node *n)
{
    return aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_SYM;
}

bool part_is_tensor(const aot_graph *g, const aot_node *n)
{
    return aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_TENSOR;
}

bool part_must_recompute(uint8_t policy)
{
    return policy == AOT_POLICY_MUST_RECOMPUTE || policy == AOT_POLICY_PREFER_RECOMPUTE;
}

bool part_target_is(const aot_graph *g, const aot_node *n, const char *target)
{
    return n->kind == AOT_CALL_FUNCTION && strcmp(aot_text(g->ctx, n->target), target) == 0;
}

bool part_is_seeded(const aot_graph *g, const aot_node *n)
{
    (void)g;
    return n->kind == AOT_CALL_FUNCTION &&
           (aot_node_op(n)->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
}

bool part_is_impure(const aot_graph *g, const aot_node *n, bool impure_random)
{
    if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
        return true;
    }
    if (n->kind != AOT_CALL_FUNCTION) {
        return false;
    }
    if ((aot_node_op(n)->flags & (AOT_OPF_MUTATES | AOT_OPF_SIDE_EFFECT)) != 0) {
        return true;
    }
    return impure_random && part_is_seeded(g, n);
}

/* set, enter, exit, seed as a word, or a trailing underscore: Inductor's sign of a mutation for
 * callables without a schema (torch/_inductor/pattern_matcher.py:is_mutation_op). */
static bool name_mutates(const char *t)
{
    static const char *const words[] = {"set", "enter", "exit", "seed"};
    const char *last = strrchr(t, '.');
    const char *s = last != NULL ? last + 1 : t;
    size_t n = strlen(s);
    if (n > 1 && s[n - 1] == '_' && s[n - 2] != '_') {
        return true;
    }
    for (size_t w = 0; w < 4; w++) {
        size_t len = strlen(words[w]);
        for (const char *q = strstr(s, words[w]); q != NULL; q = strstr(q + 1, words[w])) {
            bool left = q == s || (q[-1] == '_' && (q - s < 2 || q[-2] != '_'));
            bool right = q[len] == '\0' || (q[len] == '_' && q[len + 1] != '_');
            if (left && right) {
                return true;
            }
        }
    }
    return false;
}

/* Operators that rules name. To add one: a row. */
static const struct {
    const char *name;
    uint32_t bit;
} by_name[] = {
    {"aten.copy_.default", PART_IS_COPY},
    {"aten.lift_fresh.default", PART_IS_LIFT_FRESH},
    {"aten.lift_fresh_copy.default", PART_IS_LIFT_FRESH},
    {"aten._unsafe_view.default", PART_IS_ALIAS}, // declares no alias, but shares memory
    {"operator.getitem", PART_IS_GETITEM},
    {"higher_order.auto_functionalized", PART_IS_AUTO_FUNCTIONALIZED},
    {"higher_order.triton_kernel_wrapper_functional", PART_IS_TRITON},
    {"higher_order.with_effects", PART_IS_EFFECTS},
    {"_c10d_functional.wait_tensor.default", PART_IS_WAIT},
};

static uint32_t class_of_row(const aot_op_info *op)
{
    uint32_t c = op->part;
    bool mutable = (op->flags & AOT_OPF_MUTATES) != 0;
    const char *arrow = mutable && op->schema != NULL ? strstr(op->schema, "->") : NULL;
    c |= mutable ? PART_IS_MUTABLE : 0;
    c |= (op->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0 ? PART_IS_SEEDED : 0;
    c |= strcmp(op->packet, "aten.cat") == 0 ? PART_IS_CAT : 0;
    c |= strcmp(op->packet, "aten.empty") == 0 ? PART_IS_EMPTY : 0;
    c |= aot_starts_with(op->name, "_c10d_functional.") ? PART_IS_COLLECTIVE : 0;
    // a view; and what in-place operators return is what they wrote to
    c |= (op->flags & AOT_OPF_ALIASES) != 0 || (arrow != NULL && strchr(arrow, '!') != NULL)
             ? PART_IS_ALIAS
             : 0;
    bool schemaless = (op->flags & (AOT_OPF_PYTHON | AOT_OPF_HIGHER_ORDER)) != 0;
    if (schemaless ? strstr(op->name, "auto_functionalized") == NULL && name_mutates(op->name)
                   : mutable) {
        c |= PART_IS_MUTATION;
    }
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
        c |= strcmp(op->name, by_name[i].name) == 0 ? by_name[i].bit : 0;
    }
    return c | PART_IS_KNOWN;
}

uint32_t part_class_of(part *p, const aot_node *n)
{
    if (n->kind != AOT_CALL_FUNCTION) {
        return 0;
    }
    if (n->op != AOT_OP_UNKNOWN) {
        if (p->class_of_op[n->op] == 0) {
            p->class_of_op[n->op] = class_of_row(aot_node_op(n));
        }
        return p->class_of_op[n->op];
    }
    // an overload that the table lacks still belongs to its packet
    const char *t = aot_text(p->ctx, n->target);
    const char *dot = strrchr(t, '.');
    if (!aot_starts_with(t, "torch.ops.") || dot == NULL || dot < t + 10) {
        return name_mutates(t) ? PART_IS_MUTATION : 0;
    }
    return aot_op_packet_part(t + 10, (size_t)(dot - t - 10)) |
           (aot_starts_with(t, "torch.ops._c10d_functional.") ? PART_IS_COLLECTIVE : 0);
}

bool part_is_custom(const part *p, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const char *t = aot_text(p->ctx, n->target);
    return n->kind == AOT_CALL_FUNCTION && n->op == AOT_OP_UNKNOWN &&
           aot_starts_with(t, "torch.ops.") && !aot_starts_with(t, "torch.ops.higher_order.");
}

bool part_is_view(const part *p, aot_node_id id)
{
    return (p->m.part[id] & AOT_PART_VIEW) != 0;
}

bool part_must_be_in_forward(const part *p, aot_node_id id)
{
    if (p->m.must_side[id] != 0) {
        return p->m.must_side[id] == PART_MUST_FW;
    }
    return !p->m.backward_made[id] && (p->m.part[id] & PART_IS_MUTABLE) != 0;
}

bool part_must_be_in_backward(const part *p, aot_node_id id)
{
    if (p->m.must_side[id] != 0) {
        return p->m.must_side[id] == PART_MUST_BW;
    }
    return p->m.backward_made[id] && (p->m.part[id] & PART_IS_MUTABLE) != 0;
}

/* ---- storages ------------------------------------------------------------------------------ */

uint32_t *part_storages(const part *p)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n, primal = 0;
    uint32_t *s = AOT_NEW_ARRAY(p->keep, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const aot_node *x = aot_node_at(g, i);
        s[i] = i;
        if (part_is_primal(g, x)) {
            // primals that share memory point at the first of them
            for (uint32_t k = 0, q = 0; p->in->primal_storage != NULL && k < i; k++) {
                if (!part_is_primal(g, aot_node_at(g, k))) {
                    continue;
                }
                if ((int)primal < p->in->n_primal_storage && (int)q < p->in->n_primal_storage &&
                    p->in->primal_storage[primal] >= 0 &&
                    p->in->primal_storage[q] == p->in->primal_storage[primal]) {
                    s[i] = s[k];
                    break;
                }
                q++;
            }
            primal++;
            continue;
        }
        if (x->kind != AOT_CALL_FUNCTION || x->n_args == 0 || g->in_off[i] == g->in_off[i + 1]) {
            continue;
        }
        uint32_t first = g->in[g->in_off[i]];
        if ((p->m.part[i] & PART_IS_ALIAS) != 0) {
            s[i] = s[first];
        } else if ((p->m.part[i] & PART_IS_GETITEM) != 0) {
            // an element of split, unbind ... shares memory; one of another operator is its own
            s[i] = (p->m.part[first] & PART_IS_ALIAS) != 0 ? s[first] : i;
        }
    }
    return s;
}

/* ---- outputs ------------------------------------------------------------------------------- */

const aot_arg *part_outputs(const aot_graph *g, uint32_t *n)
{
    aot_node_id out = aot_graph_output(g);
    *n = 0;
    if (out == AOT_NO_NODE || aot_node_at(g, out)->n_args == 0) {
        return NULL;
    }
    const aot_arg *ret = aot_node_args(g, aot_node_at(g, out));
    if (ret->kind != AOT_ARG_LIST && ret->kind != AOT_ARG_TUPLE) {
        *n = 1;
        return ret;
    }
    *n = ret->n;
    return aot_arg_items(g, ret);
}

/* Effect tokens are threaded through the forward's inputs and outputs and have no gradient. */
static bool is_token_input(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    if (n->desc != 0) {
        return aot_starts_with(aot_text(g->ctx, n->desc), "ForwardToken");
    }
    uint32_t users = g->user_off[id + 1] - g->user_off[id];
    const aot_node *u = users == 1 ? aot_node_at(g, g->user[g->user_off[id]]) : NULL;
    return u != NULL && part_target_is(g, u, "torch.ops.higher_order.with_effects") &&
           u->n_args != 0 && aot_node_args(g, u)->kind == AOT_ARG_NODE &&
           aot_node_args(g, u)->u.node == id;
}

/* What a descriptor says: a gradient (of a subclass: of an inner tensor), or None in its place. */
static bool is_gradient(const char *desc)
{
    return strstr(desc, "GradAOTOutput(") != NULL || strcmp(desc, "None") == 0 ||
           aot_starts_with(desc, "BackwardToken");
}

uint32_t part_count_tokens(const aot_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        n += part_is_primal(g, aot_node_at(g, i)) && is_token_input(g, i);
    }
    return n;
}

int part_count_forward_outputs(const aot_graph *g)
{
    uint32_t n_out, grads = 0;
    part_outputs(g, &n_out);
    if (n_out != 0 && g->out_descs.n == n_out) {
        for (uint32_t i = 0; i < n_out; i++) {
            grads += is_gradient(aot_text(g->ctx, g->out_descs.d[i]));
        }
        return (int)(n_out - grads);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        grads += part_is_primal(g, aot_node_at(g, i)) && !is_token_input(g, i);
    }
    for (uint32_t i = 0; i < g->out_descs.n; i++) {
        grads += aot_starts_with(aot_text(g->ctx, g->out_descs.d[i]), "BackwardToken");
    }
    return grads <= n_out ? (int)(n_out - grads) : -1;
}
