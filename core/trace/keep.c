/* The export path: composites that are kept, and the graph above their expansion.
 *
 * torch.export dispatches before autograd, so its graph holds composites as the user called them;
 * run_decompositions keeps those that are functional by their schema unless a table has them:
 *     AOT_LEVEL_ATEN     linear, reshape       as called
 *     AOT_LEVEL_JOINT    linear, view          reshape may alias, so it is expanded
 * The type of a kept call is that of its expansion, which is traced and thrown away.
 *
 * Mirrors torch/_export/utils.py:_is_preservable_cia_op, torch/export/exported_program.py:
 * _override_composite_implicit_decomp, torch/_subclasses/functional_tensor.py:
 * FunctionalTensorMode.__torch_dispatch__. */
#include "trace/internal.h"

static bool returns_tensors(const aot_schema *s)
{
    for (unsigned i = 0; i < s->n_returns; i++) {
        if (s->returns[i].kind != AOT_TYPE_TENSOR) {
            return false;
        }
    }
    return s->n_returns != 0;
}

bool tr_keeps(aot_tracer *t, aot_op_id op)
{
    unsigned choice = t->options.choice != NULL ? t->options.choice[op] : AOT_CHOICE_TABLE;
    const aot_op_info *o = aot_op(op);
    if (!t->options.export_path || choice == AOT_CHOICE_DECOMPOSE ||
        (t->options.core_decompose && choice != AOT_CHOICE_KEEP)) {
        return false;
    }
    return (o->flags & AOT_OPF_COMPOSITE_IMPLICIT) != 0 &&
           (o->flags & (AOT_OPF_MUTATES | AOT_OPF_ALIASES)) == 0 &&
           (o->tags & AOT_TAG_MAYBE_ALIASING_OR_MUTATING) == 0 &&
           aot_trace_rules_of(op)->expand != NULL && returns_tensors(&tr_op(t, op)->schema);
}

static void sync_one(void *arg, aot_tensor *x)
{
    if (x->storage != NULL) {
        tr_sync(arg, x);
    }
}

/* Forgets nodes from `from` on, and what symbols were read from them. */
static void forget(aot_tracer *t, const size_t from[AOT_N_LEVELS])
{
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        t->level[l].g->nodes.n = from[l];
        t->level[l].origins.n = from[l];
    }
    for (size_t i = 0; i < t->level[0].syms.n; i++) {
        sym_entry *e = t->level[0].syms.d[i];
        for (int l = 0; e != NULL && l < AOT_N_LEVELS; l++) {
            if (e->node[l] != AOT_NO_NODE && e->node[l] >= from[l]) {
                e->node[l] = AOT_NO_NODE;
            }
            if (e->tensor[l] != NULL && e->tensor[l]->node[l] >= from[l]) {
                e->tensor[l] = NULL;
            }
        }
    }
}

/* Types that the expansion of a call gives. */
static const aot_meta_id *probe(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args,
                                unsigned *n_types)
{
    size_t from[AOT_N_LEVELS];
    aot_value out = aot_v_none();
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        from[l] = t->level[l].g->nodes.n;
        t->real_names[l] = t->level[l].names;
        t->level[l].names = aot_namespace_new(t->c);
    }
    bool was = aot_set_grad_enabled(t, false);
    t->below_aten++;
    bool done = tr_expand(t, op, n, args, "composite", &out);
    t->below_aten--;
    aot_set_grad_enabled(t, was);
    forget(t, from);
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_namespace_free(t->level[l].names);
        t->level[l].names = t->real_names[l];
        t->real_names[l] = NULL;
    }
    *n_types = !done ? 0 : aot_v_is_list(out) ? out.n : 1;
    aot_meta_id *types = tr_alloc(t, *n_types + 1, sizeof *types);
    for (unsigned i = 0; i < *n_types; i++) {
        aot_tensor *x = aot_v_item(out, i);
        if (x == NULL) {
            *n_types = 0;
            return NULL;
        }
        types[i] = x->meta;
    }
    return *n_types != 0 ? types : NULL;
}

bool tr_keep(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, aot_value *out)
{
    unsigned n_types;
    for (unsigned i = 0; i < n; i++) {
        tr_each_tensor(args[i], sync_one, t); // in the graph, not in what is thrown away
    }
    if (t->probing) {
        return false; // only the type of the outermost one is wanted
    }
    t->probing = true;
    const aot_meta_id *types = probe(t, op, n, args, &n_types);
    t->probing = false;
    if (types == NULL) {
        return false;
    }
    t->believed = types;
    t->n_believed = n_types;
    t->believed_op = op;
    *out = tr_autograd(t, op, n, args);
    t->believed = NULL;
    t->believed_op = AOT_OP_UNKNOWN;
    return true;
}

bool tr_expand_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, aot_value *out)
{
    if (!t->options.export_path || t->mode != MODE_TOP) {
        return tr_expand(t, op, n, args, "composite", out);
    }
    bool writes = !t->options.dry && !t->probing && t->below_aten == 0;
    aot_node_id id = AOT_NO_NODE;
    if (writes) {
        id = tr_emit_call(t, AOT_LEVEL_ATEN, op, n, args);
    }
    t->below_aten++;
    bool done = tr_expand(t, op, n, args, "composite", out);
    t->below_aten--;
    /* Tensor.contiguous() of what is contiguous does not reach the dispatcher */
    bool nothing = done && op == AOT_OP_aten_contiguous && out->u.t == args[0].u.t;
    if (writes && done && !nothing) {
        tr_bind(t, AOT_LEVEL_ATEN, id, *out);
    } else if (writes) {
        t->level[AOT_LEVEL_ATEN].g->nodes.n--;
        t->level[AOT_LEVEL_ATEN].origins.n--;
    }
    return done;
}
