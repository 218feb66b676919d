/* Numbers that only the program's graph knows: elements of tensors (item), symbolic floats and
 * truth values. They are symbols by the expression that the Dynamo graph states for the node being
 * run, and arithmetic on them is written where Python does it.
 * Mirrors torch/fx/experimental/proxy_tensor.py (SymFloat, SymBool), sym_node.py. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* Sym(zf3 * 2.0), Sym(u0), Sym(0.5): what the annotation says. */
static bool stated_number(aot_tracer *t, aot_value *number, aot_meta_id *meta)
{
    if (t->at_graph == NULL || t->at_node == AOT_NO_NODE) {
        return false;
    }
    *meta = aot_node_at(t->at_graph, t->at_node)->meta;
    const aot_meta *m = aot_meta_get(t->c, *meta);
    if (m->val != AOT_VAL_SYM) {
        return false;
    }
    const char *text = aot_text(t->c, m->text) + strlen("Sym(");
    size_t n = strlen(text) - 1;
    char *end;
    double plain = strtod(text, &end);
    if (m->sym_kind == AOT_SYM_FLOAT) {
        *number = aot_v_float(plain);
        number->name = end == text + n ? 0 : aot_intern(t->c->strs, text, n);
        return true;
    }
    *number = aot_v_dim(m->sym);
    number->kind = m->sym_kind == AOT_SYM_BOOL ? AOT_V_BOOL : AOT_V_INT;
    return true;
}

/* Elements of tensors that the graph states as symbols of inputs (a number that the program was
 * given): how many there are, and how many of them before the node being run. */
static unsigned count_backed_items(const aot_tracer *t, unsigned *before)
{
    unsigned n = 0;
    for (aot_node_id id = 0; id < t->at_graph->nodes.n; id++) {
        const aot_node *node = aot_node_at(t->at_graph, id);
        const aot_meta *m = aot_meta_get(t->c, node->meta);
        if (id == t->at_node) {
            *before = n;
        }
        n += node->kind == AOT_CALL_METHOD && m->val == AOT_VAL_SYM && m->sym_kind == AOT_SYM_INT &&
             m->sym.expr != 0 && *aot_text(t->c, m->sym.expr) == 's' &&
             strcmp(aot_text(t->c, node->target), "item") == 0;
    }
    return n;
}

aot_value tr_item(aot_tracer *t, aot_meta_id *meta)
{
    aot_value number = tr_stated_number(t, meta);
    bool backed = number.kind == AOT_V_INT && number.u.dim.expr != 0 &&
                  *aot_text(t->c, number.u.dim.expr) == 's';
    // AOTAutograd does not know the input: the symbol is fresh, after those of its first run
    if (backed) {
        unsigned before = 0, all = count_backed_items(t, &before);
        const char *text = aot_arena_printf(t->a, "Sym(u%u)", all + before);
        *meta = aot_ctx_meta(t->c, text, strlen(text));
        number.u.dim.expr = aot_intern(t->c->strs, text + 4, strlen(text) - 5);
    }
    return number;
}

aot_value tr_stated_number(aot_tracer *t, aot_meta_id *meta)
{
    aot_value number;
    if (!stated_number(t, &number, meta)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "no number is stated for the element of a tensor");
    }
    return number;
}

/* The node at each level that is written. */
static void emit(aot_tracer *t, const char *target, unsigned n, const aot_value *args,
                 aot_meta_id meta, aot_value result)
{
    aot_node node = {.kind = AOT_CALL_FUNCTION,
                     .target = aot_intern_z(t->c->strs, target),
                     .op = aot_op_find(target, strlen(target)),
                     .meta = meta};
    for (int l = t->options.dry ? AOT_LEVEL_JOINT : AOT_LEVEL_ATEN; l < AOT_N_LEVELS; l++) {
        if (l != AOT_LEVEL_ATEN || !t->in_backward) {
            const char *name = strrchr(target, '.') + 1;
            tr_bind(t, (aot_level)l, tr_emit(t, (aot_level)l, node, name, n, args), result);
        }
    }
}

/* An operand of float arithmetic: integers become floats, symbolic ones by sym_float. */
static aot_value as_float(aot_tracer *t, aot_value v)
{
    if (v.kind != AOT_V_INT) {
        return v;
    }
    if (v.u.dim.expr == 0) {
        return aot_v_float((double)v.u.dim.value);
    }
    aot_value f = aot_v_float((double)v.u.dim.value);
    f.name = aot_intern_z(t->c->strs,
                          aot_arena_printf(t->a, "ToFloat(%s)", aot_text(t->c, v.u.dim.expr)));
    const char *text = aot_arena_printf(t->a, "Sym(%s)", aot_text(t->c, f.name));
    emit(t, "torch.sym_float", 1, &v, aot_ctx_meta(t->c, text, strlen(text)), f);
    return f;
}

aot_value aot_trace_number(aot_tracer *t, const char *target, unsigned n, const aot_value *args)
{
    aot_value result;
    aot_meta_id meta;
    if (!stated_number(t, &result, &meta)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s: no symbolic number is stated for its result",
                       target);
    }
    bool converts = result.kind == AOT_V_FLOAT && strcmp(target, "torch.sym_float") != 0;
    aot_value *all = tr_alloc(t, n + 1, sizeof *all);
    for (unsigned i = 0; i < n; i++) {
        all[i] = converts ? as_float(t, args[i]) : args[i];
    }
    if (aot_v_is_symbol(result)) {
        emit(t, target, n, all, meta, result);
    }
    return result;
}
