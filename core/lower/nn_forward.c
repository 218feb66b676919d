/* Functions of torch.nn.functional that check their arguments and pass them on to one operator, in
 * another order: the rows FORWARD of nn.def. And the helpers of the others.
 *
 *     F.dropout(x, 0.3, inplace=True)  ->  aten.dropout_(x, 0.3, True)
 *
 * Mirrors: torch/nn/functional.py, torch/nn/_reduction.py */
#include "lower/nn.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct forward_row {
    const char *target, *parameters;
    aot_op_id op, inplace;
    const char *args;
} forward_row;

static const forward_row rows[] = {
#define LOWER(target, fn)
#define FORWARD(target, parameters, op, inplace_op, args)                                          \
    {target, parameters, AOT_OP_##op, AOT_OP_##inplace_op, args},
#include "lower/nn.def"
#undef LOWER
};

const char *nn_name(const aot_pycall *k)
{
    const char *dot = strrchr(k->target, '.');
    return dot != NULL ? dot + 1 : k->target;
}

bool nn_is(const aot_pycall *k, const char *name)
{
    const char *of = nn_name(k);
    of += *of == '_' && *name != '_';
    size_t n = strlen(name);
    return strncmp(of, name, n) == 0 && (of[n] == '\0' || strcmp(of + n, "_with_indices") == 0);
}

aot_value nn_arg(const aot_pycall *k, unsigned pos, const char *name)
{
    const aot_value *v = aot_l_arg(k, pos, name);
    return v != NULL ? *v : aot_v_none();
}

aot_value nn_arg_or(const aot_pycall *k, unsigned pos, const char *name, aot_value def)
{
    aot_value v = nn_arg(k, pos, name);
    return v.kind != AOT_V_NONE ? v : def;
}

static const aot_value *legacy(const aot_pycall *k, int pos, const char *name)
{
    const aot_value *v = pos < 0 ? NULL : aot_l_arg(k, (unsigned)pos, name);
    return v != NULL && v->kind != AOT_V_NONE ? v : NULL;
}

int nn_reduction(const aot_pycall *k, int size_average, int reduce, unsigned reduction)
{
    const aot_value *average = legacy(k, size_average, "size_average");
    const aot_value *reduced = legacy(k, reduce, "reduce");
    if (average != NULL || reduced != NULL) {
        bool is_average = average == NULL || average->u.dim.value != 0;
        bool is_reduced = reduced == NULL || reduced->u.dim.value != 0;
        return !is_reduced ? 0 : is_average ? 1 : 2;
    }
    static const char *const names[] = {"none", "mean", "sum"};
    for (int i = 0; i < 3; i++) {
        if (aot_l_str_is(k, reduction, "reduction", "mean", names[i])) {
            return i;
        }
    }
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: this reduction is not a valid value", nn_name(k));
}

aot_tensor *nn_reduce(aot_tracer *t, aot_tensor *x, int reduction)
{
    return reduction == 1   ? AOT(t, aten_mean, x)
           : reduction == 2 ? AOT(t, aten_sum, x)
                            : x;
}

aot_dims nn_broadcast_sizes(aot_tracer *t, aot_dims a, aot_dims b)
{
    unsigned n = a.n > b.n ? a.n : b.n;
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        aot_dim x = i < a.n ? a.d[a.n - 1 - i] : aot_dim_of(1);
        aot_dim y = i < b.n ? b.d[b.n - 1 - i] : aot_dim_of(1);
        d[n - 1 - i] = aot_dim_is(x, 1) ? y : x;
    }
    return (aot_dims){d, n};
}

void nn_broadcast(aot_tracer *t, aot_tensor **a, aot_tensor **b)
{
    aot_value both = aot_v_tensors(t, 2, (aot_tensor *const[]){*a, *b});
    aot_value r = AOT_V(t, aten_broadcast_tensors, both);
    *a = aot_v_item(r, 0);
    *b = aot_v_item(r, 1);
}

aot_dims nn_dims(aot_tracer *t, aot_value v, unsigned n)
{
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        if (!aot_v_is_list(v)) {
            d[i] = v.u.dim;
        } else if (i < v.n || v.n == 1) {
            d[i] = v.u.items[i < v.n ? i : 0].u.dim;
        }
    }
    return (aot_dims){d, n};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The next item of "a, b=1, c"; false at the end. */
static bool next_item(const char **at, const char **item, size_t *n)
{
    const char *s = *at;
    s += strspn(s, ", ");
    if (*s == '\0') {
        return false;
    }
    *item = s;
    *n = strcspn(s, ",");
    *at = s + *n;
    return true;
}

static aot_value literal(aot_tracer *t, const char *s, size_t n)
{
    if (n == 4 && memcmp(s, "None", n) == 0) {
        return aot_v_none();
    }
    if (n == 4 && memcmp(s, "True", n) == 0) {
        return aot_v_bool(true);
    }
    if (n == 5 && memcmp(s, "False", n) == 0) {
        return aot_v_bool(false);
    }
    if (*s == '\'') {
        return aot_v_str(t, aot_arena_strndup(aot_tracer_arena(t), s + 1, n - 2));
    }
    if (memchr(s, '.', n) != NULL || memchr(s, 'e', n) != NULL) {
        return aot_v_float(strtod(s, NULL));
    }
    return aot_v_int(strtoll(s, NULL, 10));
}

/* The position of a parameter and the text of its default (NULL: none); -1 if there is none. */
static int parameter(const forward_row *r, const char *name, size_t n, const char **def,
                     size_t *n_def)
{
    const char *at = r->parameters, *item;
    size_t len;
    for (int pos = 0; next_item(&at, &item, &len); pos++) {
        const char *eq = memchr(item, '=', len);
        size_t n_name = eq != NULL ? (size_t)(eq - item) : len;
        if (n_name == n && memcmp(item, name, n) == 0) {
            *def = eq != NULL ? eq + 1 : NULL;
            *n_def = eq != NULL ? len - n_name - 1 : 0;
            return pos;
        }
    }
    return -1;
}

/* A given None means the default, as align_corners=None does. */
static aot_value row_arg(const aot_pycall *k, const forward_row *r, const char *name, size_t n)
{
    const char *def;
    size_t n_def;
    int pos = parameter(r, name, n, &def, &n_def);
    if (pos < 0) {
        return literal(k->t, name, n);
    }
    if (n == strlen("reduction") && memcmp(name, "reduction", n) == 0) {
        const char *ignored;
        size_t n_ignored;
        int average = parameter(r, "size_average", strlen("size_average"), &ignored, &n_ignored);
        int reduce = parameter(r, "reduce", strlen("reduce"), &ignored, &n_ignored);
        return aot_v_int(nn_reduction(k, average, reduce, (unsigned)pos));
    }
    const char *text = aot_arena_strndup(aot_tracer_arena(k->t), name, n);
    const aot_value *v = aot_l_arg(k, (unsigned)pos, text);
    if (v != NULL && (v->kind != AOT_V_NONE || def == NULL)) {
        return *v;
    }
    if (def == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: argument '%s' is missing", k->target, text);
    }
    return literal(k->t, def, n_def);
}

static bool is_inplace(const aot_pycall *k, const forward_row *r)
{
    const char *def;
    size_t n_def;
    int pos = parameter(r, "inplace", strlen("inplace"), &def, &n_def);
    return pos >= 0 && aot_l_bool(k, (unsigned)pos, "inplace", false);
}

aot_value lower_forward(const aot_pycall *k)
{
    const forward_row *r = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r == NULL; i++) {
        r = strcmp(rows[i].target, k->target) == 0 ? &rows[i] : NULL;
    }
    if (r == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s has no row", k->target);
    }
    aot_value args[16];
    unsigned n = 0;
    const char *at = r->args, *item;
    size_t len;
    while (n < 16 && next_item(&at, &item, &len)) {
        args[n++] = row_arg(k, r, item, len);
    }
    return aot_call_op(k->t, is_inplace(k, r) ? r->inplace : r->op, n, args);
}
