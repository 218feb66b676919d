/* Symbols that the backward's inputs mention must be bound by saved symbols of their own.
 * Mirrors: the second half of partitioners.py:_extract_fwd_bwd_modules,
 * symbolic_shapes.py:is_symbol_binding_fx_node, find_symbol_binding_fx_nodes, free_symbols. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

typedef struct symbols {
    const part *p;
    AOT_VEC(aot_str) names; /* of the value at hand */
    uint8_t *bound;         /* by aot_str */
    aot_node_id *binder;    /* by aot_str: 1 + node */
    size_t n_strs;
} symbols;

static void see_symbol(void *arg, const char *s, size_t n)
{
    symbols *y = arg;
    aot_vec_push(&y->names, aot_intern(y->p->ctx->strs, s, n));
}

/* The symbol that a node defines; 0 if it defines none
 * (symbolic_shapes.py:is_symbol_binding_fx_node). */
static aot_str binds(const part *p, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const aot_meta *m = aot_meta_get(p->ctx, n->meta);
    if (m->val != AOT_VAL_SYM || m->sym_kind != AOT_SYM_INT || m->sym.expr == 0) {
        return 0;
    }
    const char *s = aot_text(p->ctx, m->sym.expr);
    size_t len = strlen(s);
    bool unbacked = s[0] == 'u';
    bool plain = len > 1 && (s[0] == 's' || s[0] == 'u') && strspn(s + 1, "0123456789") == len - 1;
    return plain && (n->kind == AOT_PLACEHOLDER || unbacked) ? m->sym.expr : 0;
}

static int compare_text(const void *a, const void *b, void *ctx)
{
    return strcmp(aot_text(ctx, *(const aot_str *)a), aot_text(ctx, *(const aot_str *)b));
}

static void value_symbols(symbols *y, aot_node_id id)
{
    const aot_ctx *c = y->p->ctx;
    const aot_meta *m = aot_meta_get(c, aot_node_at(y->p->g, id)->meta);
    y->names.n = 0;
    unsigned n = m->val == AOT_VAL_TENSOR ? m->ndim * (m->has_stride ? 2u : 1u) : 0;
    for (unsigned k = 0; k < n; k++) {
        aot_str e = aot_meta_sizes(c, m)[k].expr;
        if (e != 0) {
            aot_sym_each(aot_text(c, e), aot_str_len(c->strs, e), see_symbol, y);
        }
    }
    if (m->val == AOT_VAL_SYM && m->sym.expr != 0) {
        aot_sym_each(aot_text(c, m->sym.expr), aot_str_len(c->strs, m->sym.expr), see_symbol, y);
    }
    if (y->names.n < 2) {
        return;
    }
    qsort_r(y->names.d, y->names.n, sizeof *y->names.d, compare_text, y->p->ctx);
}

static void bind_value(symbols *y, aot_node_id id, part_ids *binding)
{
    value_symbols(y, id);
    for (size_t k = 0; k < y->names.n; k++) {
        aot_str s = y->names.d[k];
        if (s < y->n_strs && !y->bound[s]) {
            y->bound[s] = 1;
            if (y->binder[s] != 0) {
                aot_vec_push(binding, y->binder[s] - 1);
            }
        }
    }
}

/* Every symbol that a backward input mentions must be bound by a saved symbol of its own; binding
 * symbols come first. */
void part_complete_symbols(const part *p, const part_ids *saved, part_ids *sym)
{
    symbols y = {.p = p};
    part_ids binding = {0}, derived = {0};
    bool symbolic = sym->n != 0;
    for (size_t i = 0; i < p->ctx->dims.n && !symbolic; i++) {
        symbolic = p->ctx->dims.d[i].expr != 0;
    }
    if (!symbolic) {
        return;
    }
    // intern first: the tables below are indexed by string
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        value_symbols(&y, i);
    }
    y.n_strs = aot_strtab_count(p->ctx->strs);
    y.bound = aot_xcalloc(y.n_strs, 1);
    y.binder = aot_xcalloc(y.n_strs, sizeof *y.binder);
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        aot_str s = binds(p, i);
        if (s != 0 && y.binder[s] == 0) {
            y.binder[s] = i + 1;
        }
    }
    for (size_t i = 0; i < sym->n; i++) {
        aot_str s = binds(p, sym->d[i]);
        if (s != 0) {
            y.bound[s] = 1;
            aot_vec_push(&binding, sym->d[i]);
        } else {
            aot_vec_push(&derived, sym->d[i]);
        }
    }
    for (size_t i = 0; i < derived.n; i++) {
        bind_value(&y, derived.d[i], &binding);
    }
    for (size_t i = 0; i < saved->n; i++) {
        bind_value(&y, saved->d[i], &binding);
    }
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (part_is_tangent(p->g, aot_node_at(p->g, i))) {
            bind_value(&y, i, &binding);
        }
    }
    sym->n = 0;
    for (size_t i = 0; i < binding.n + derived.n; i++) {
        aot_vec_push(sym, i < binding.n ? binding.d[i] : derived.d[i - binding.n]);
    }
    aot_vec_free(&binding);
    aot_vec_free(&derived);
    aot_vec_free(&y.names);
    free(y.bound);
    free(y.binder);
}
