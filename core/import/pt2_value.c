/* Types of values: TensorMeta and symbolic numbers as the annotations that a graph's text has.
 *
 *   {"dtype": 7, "sizes": [{"as_int": 4}, {"as_expr": {"expr_str": "Symbol('s0')", "hint": ..}}],
 * ..}
 *   -> f32[4, s0][s0, 1]cpu
 *
 * On the way the hints of symbols are collected: a size that is a symbol alone says its own; one
 * that is an expression of one symbol ("4*_h" was 16) is solved for it at the end, as long as it
 * is linear.
 * Mirrors: torch/_export/serde/serialize.py:deserialize_tensor_meta, deserialize_sym_int. */
#include <stdlib.h>
#include <string.h>

#include "import/pt2.h"

typedef enum family { SCALAR_TYPES, LAYOUTS, MEMORY_FORMATS } family;

static const char *name_of(family f, int64_t number)
{
    static const struct {
        family family;
        int number;
        const char *name;
    } rows[] = {
#define SCALAR_TYPE(number, name) {SCALAR_TYPES, number, name},
#define LAYOUT(number, name) {LAYOUTS, number, name},
#define MEMORY_FORMAT(number, name) {MEMORY_FORMATS, number, name},
#include "import/pt2_types.def"
#undef SCALAR_TYPE
#undef LAYOUT
#undef MEMORY_FORMAT
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].family == f && rows[i].number == number) {
            return rows[i].name;
        }
    }
    return NULL;
}

const char *aot_pt2_dtype_name(int64_t scalar_type)
{
    return name_of(SCALAR_TYPES, scalar_type);
}

const char *aot_pt2_layout_name(int64_t layout)
{
    return name_of(LAYOUTS, layout);
}

const char *aot_pt2_memory_format_name(int64_t format)
{
    return name_of(MEMORY_FORMATS, format);
}

const char *aot_pt2_device(aot_pt2_program *p, aot_slice device)
{
    const char *type = aot_json_text(p->arena, aot_json_get(device, "type"));
    aot_slice index = aot_json_get(device, "index");
    if (type == NULL || index.s == NULL || aot_slice_is(index, "null")) {
        return type != NULL ? type : "";
    }
    return aot_arena_printf(p->arena, "%s:%lld", type, (long long)aot_json_int(index, 0));
}

/* ---- symbols ------------------------------------------------------------------------------- */

static aot_pt2_symbol *symbol_of(aot_pt2_program *p, const char *name, size_t n)
{
    aot_str s = aot_intern(p->ctx->strs, name, n);
    while (p->symbol_of.n <= s) {
        aot_vec_push(&p->symbol_of, 0);
    }
    if (p->symbol_of.d[s] == 0) {
        aot_pt2_symbol v = {.name = aot_arena_strndup(p->arena, name, n)};
        aot_vec_push(&p->symbols, v);
        p->symbol_of.d[s] = (uint32_t)p->symbols.n;
    }
    return &p->symbols.d[p->symbol_of.d[s] - 1];
}

static void add_symbol(void *arg, const char *name, size_t n)
{
    symbol_of(arg, name, n);
}

static void learn(aot_pt2_program *p, const char *text, bool is_symbol, aot_slice hint)
{
    aot_slice value = aot_json_get(hint, "as_int");
    int64_t v = aot_json_int(value, AOT_HINT_NONE);
    aot_sym_each(text, strlen(text), add_symbol, p);
    if (v == AOT_HINT_NONE) {
        return;
    }
    if (is_symbol) {
        aot_pt2_symbol *s = symbol_of(p, text, strlen(text));
        s->hint = v;
        s->has_hint = true;
    } else if (p->equations.n < 4096) {
        aot_pt2_equation e = {aot_arena_strndup(p->arena, text, strlen(text)), v};
        aot_vec_push(&p->equations, e);
    }
}

typedef struct unknowns {
    aot_pt2_program *p;
    uint32_t found; /* 1 + index of the unknown symbol */
    unsigned n;
} unknowns;

static void count_unknown(void *arg, const char *name, size_t n)
{
    unknowns *u = arg;
    uint32_t i = (uint32_t)(symbol_of(u->p, name, n) - u->p->symbols.d);
    if (!u->p->symbols.d[i].has_hint) {
        u->n += u->found != i + 1;
        u->found = i + 1;
    }
}

/* a*s + b = value: b and a from two points, and the answer is checked. */
static bool solve_linear(aot_pt2_program *p, aot_pt2_symbol *s, const aot_pt2_equation *e)
{
    int64_t at[3], slope, rest;
    size_t n = strlen(e->expr);
    for (int i = 1; i <= 2; i++) {
        aot_ctx_set_hint(p->ctx, s->name, i);
        at[i] = aot_sym_eval(p->ctx, e->expr, n);
    }
    if (at[1] == AOT_HINT_NONE || at[2] == AOT_HINT_NONE ||
        __builtin_sub_overflow(at[2], at[1], &slope) || slope == 0 ||
        __builtin_sub_overflow(e->value, at[1], &rest) || rest == INT64_MIN || rest % slope != 0 ||
        __builtin_add_overflow(rest / slope, 1, &s->hint)) {
        return false;
    }
    aot_ctx_set_hint(p->ctx, s->name, s->hint);
    s->has_hint = aot_sym_eval(p->ctx, e->expr, n) == e->value;
    return s->has_hint;
}

void aot_pt2_solve(aot_pt2_program *p)
{
    for (size_t i = 0; i < p->symbols.n; i++) {
        if (p->symbols.d[i].has_hint) {
            aot_ctx_set_hint(p->ctx, p->symbols.d[i].name, p->symbols.d[i].hint);
        }
    }
    bool again = true;
    for (int round = 0; again && round < 64; round++) { // every round finds a symbol
        again = false;
        for (size_t i = 0; i < p->equations.n; i++) {
            unknowns u = {.p = p};
            aot_sym_each(p->equations.d[i].expr, strlen(p->equations.d[i].expr), count_unknown, &u);
            if (u.n == 1) {
                aot_pt2_symbol *s = &p->symbols.d[u.found - 1];
                again |= solve_linear(p, s, &p->equations.d[i]);
                if (!s->has_hint) {
                    aot_ctx_set_hint(p->ctx, s->name, AOT_HINT_NONE);
                }
            }
        }
    }
}

/* {"expr_str": ..., "hint": ...} */
static bool expression(aot_pt2_program *p, aot_sb *out, aot_slice expr, const char *field)
{
    aot_slice s = aot_json_get(expr, "expr_str");
    if (s.s == NULL || s.s[0] != '"') {
        return aot_pt2_fail(p, field, "expr_str is missing");
    }
    const char *srepr = aot_json_text(p->arena, s);
    aot_sb text = {0};
    bool is_symbol;
    if (!aot_pt2_sympy(&text, srepr, strlen(srepr), &is_symbol) ||
        strpbrk(aot_sb_text(&text), "\"\n\r") != NULL) {
        aot_sb_free(&text);
        return aot_pt2_fail(p, field, "the expression %.120s is not understood", srepr);
    }
    learn(p, aot_sb_text(&text), is_symbol, aot_json_get(expr, "hint"));
    aot_sb_add(out, text.d, text.n);
    aot_sb_free(&text);
    return true;
}

bool aot_pt2_dim(aot_pt2_program *p, aot_sb *out, aot_slice dim, const char *field)
{
    aot_slice kind, value;
    if (!aot_pt2_union(p, dim, field, &kind, &value)) {
        return false;
    }
    if (aot_slice_is(kind, "as_expr")) {
        return expression(p, out, value, field);
    }
    int64_t v = aot_json_int(value, AOT_HINT_NONE);
    if (!aot_slice_is(kind, "as_int") || v == AOT_HINT_NONE) {
        return aot_pt2_fail(p, field, "a size is neither a number nor an expression: %.*s",
                            (int)(dim.n < 60 ? dim.n : 60), dim.s);
    }
    aot_sb_add_i64(out, v);
    return true;
}

aot_meta_id aot_pt2_sym(aot_pt2_program *p, aot_slice sym, const char *field)
{
    aot_slice kind, value;
    aot_sb text = {0};
    aot_meta_id m = 0;
    if (!aot_pt2_union(p, sym, field, &kind, &value) || !aot_slice_is(kind, "as_expr")) {
        return 0; // a plain number prints no type
    }
    aot_sb_addz(&text, "Sym(");
    if (expression(p, &text, value, field)) {
        aot_sb_addc(&text, ')');
        m = aot_ctx_meta(p->ctx, text.d, text.n);
    }
    aot_sb_free(&text);
    return m;
}

/* ---- tensors ------------------------------------------------------------------------------- */

static bool dims(aot_pt2_program *p, aot_sb *out, aot_slice list, const char *field)
{
    aot_json_iter it;
    aot_slice key, dim;
    bool first = true;
    aot_sb_addc(out, '[');
    aot_json_begin(&it, list);
    while (aot_json_next(&it, &key, &dim)) {
        aot_sb_addz(out, first ? "" : ", ");
        first = false;
        if (!aot_pt2_dim(p, out, dim, field)) {
            return false;
        }
    }
    aot_sb_addc(out, ']');
    return true;
}

/* Sparse compressed tensors print no type. */
static bool prints_type(aot_slice layout)
{
    const char *name = aot_pt2_layout_name(aot_json_int(layout, 7));
    return name == NULL ||
           (strcmp(name, "torch.sparse_csr") != 0 && strcmp(name, "torch.sparse_csc") != 0);
}

aot_meta_id aot_pt2_tensor(aot_pt2_program *p, aot_slice meta, const char *field)
{
    aot_slice dtype, sizes, strides, device;
    if (!aot_pt2_field(p, meta, "dtype", '0', &dtype) ||
        !aot_pt2_field(p, meta, "sizes", '[', &sizes) ||
        !aot_pt2_field(p, meta, "strides", '[', &strides) ||
        !aot_pt2_field(p, meta, "device", '{', &device)) {
        return 0;
    }
    const char *name = aot_pt2_dtype_name(aot_json_int(dtype, -1));
    aot_dtype d = name != NULL ? aot_dtype_of_torch(name, strlen(name)) : AOT_NO_DTYPE;
    if (d == AOT_NO_DTYPE) {
        aot_pt2_fail(p, field, "the element type %.*s is not known (ScalarType of schema 8.17)",
                     (int)(dtype.n < 20 ? dtype.n : 20), dtype.s);
        return 0;
    }
    aot_sb text = {0};
    aot_meta_id m = 0;
    aot_sb_addz(&text, aot_dtype_get(d)->abbr);
    if (dims(p, &text, sizes, field) && prints_type(aot_json_get(meta, "layout"))) {
        aot_meta_id plain = aot_ctx_meta(p->ctx, text.d, text.n);
        if (dims(p, &text, strides, field)) {
            aot_sb_addz(&text, aot_pt2_device(p, device));
            m = aot_ctx_meta(p->ctx, text.d, text.n);
            while (p->plain_of.n <= m) {
                aot_vec_push(&p->plain_of, 0);
            }
            p->plain_of.d[m] = plain;
        }
    }
    aot_sb_free(&text);
    return m;
}
