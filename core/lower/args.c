/* Arguments of a Python call: by position or name, converted. */
#include "lower/internal.h"

#include <math.h>
#include <stdlib.h>

const aot_value *aot_l_arg(const aot_pycall *k, unsigned pos, const char *name)
{
    if (pos < k->n) {
        return &k->args[pos];
    }
    for (unsigned i = 0; name != NULL && i < k->n_kw; i++) {
        if (strcmp(aot_text(aot_tracer_ctx(k->t), k->kw_names[i]), name) == 0) {
            return &k->kw[i];
        }
    }
    return NULL;
}

bool aot_l_given(const aot_pycall *k, unsigned pos, const char *name)
{
    const aot_value *v = aot_l_arg(k, pos, name);
    return v != NULL && v->kind != AOT_V_NONE;
}

const char *aot_l_kind_name(aot_value v)
{
    static const char *const names[] = {
        [AOT_V_NONE] = "None",    [AOT_V_TENSOR] = "Tensor", [AOT_V_INT] = "int",
        [AOT_V_FLOAT] = "float",  [AOT_V_BOOL] = "bool",     [AOT_V_COMPLEX] = "complex",
        [AOT_V_STR] = "str",      [AOT_V_DTYPE] = "dtype",   [AOT_V_DEVICE] = "device",
        [AOT_V_NAME] = "name",    [AOT_V_RAW] = "object",    [AOT_V_LIST] = "list",
        [AOT_V_TUPLE] = "tuple",  [AOT_V_DICT] = "dict",     [AOT_V_SLICE] = "slice",
        [AOT_V_ELLIPSIS] = "...", [AOT_V_GRAPH] = "graph",
    };
    return v.kind < sizeof names / sizeof *names ? names[v.kind] : "?";
}

static AOT_NORETURN void fail_kind(const aot_pycall *k, const char *name, const char *wanted,
                                   aot_value got)
{
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: argument '%s' is a %s where a %s is wanted",
                   k->target, name != NULL ? name : "?", aot_l_kind_name(got), wanted);
}

aot_tensor *aot_l_tensor(const aot_pycall *k, unsigned pos, const char *name)
{
    if (!aot_l_given(k, pos, name)) {
        return NULL;
    }
    aot_value v = *aot_l_arg(k, pos, name);
    if (v.kind != AOT_V_TENSOR) {
        fail_kind(k, name, "Tensor", v);
    }
    return v.u.t;
}

aot_tensor *aot_l_need_tensor(const aot_pycall *k, unsigned pos, const char *name)
{
    aot_tensor *x = aot_l_tensor(k, pos, name);
    if (x == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: argument '%s' is missing", k->target,
                       name != NULL ? name : "self");
    }
    return x;
}

aot_dim aot_l_dim(const aot_pycall *k, unsigned pos, const char *name, int64_t def)
{
    if (!aot_l_given(k, pos, name)) {
        return aot_dim_of(def);
    }
    aot_value v = *aot_l_arg(k, pos, name);
    if (v.kind == AOT_V_FLOAT && v.u.f == floor(v.u.f)) {
        return aot_dim_of((int64_t)v.u.f);
    }
    if (v.kind != AOT_V_INT && v.kind != AOT_V_BOOL) {
        fail_kind(k, name, "int", v);
    }
    return v.u.dim;
}

double aot_l_float(const aot_pycall *k, unsigned pos, const char *name, double def)
{
    if (!aot_l_given(k, pos, name)) {
        return def;
    }
    aot_value v = *aot_l_arg(k, pos, name);
    if (v.kind == AOT_V_INT || v.kind == AOT_V_BOOL) {
        return (double)v.u.dim.value;
    }
    if (v.kind != AOT_V_FLOAT) {
        fail_kind(k, name, "float", v);
    }
    return v.u.f;
}

bool aot_l_bool(const aot_pycall *k, unsigned pos, const char *name, bool def)
{
    if (!aot_l_given(k, pos, name)) {
        return def;
    }
    aot_value v = *aot_l_arg(k, pos, name);
    if (v.kind != AOT_V_BOOL && v.kind != AOT_V_INT) {
        fail_kind(k, name, "bool", v);
    }
    return v.u.dim.value != 0;
}

bool aot_l_str_is(const aot_pycall *k, unsigned pos, const char *name, const char *def,
                  const char *text)
{
    if (!aot_l_given(k, pos, name)) {
        return def != NULL && strcmp(def, text) == 0;
    }
    aot_value v = *aot_l_arg(k, pos, name);
    return v.kind == AOT_V_STR && strcmp(aot_text(aot_tracer_ctx(k->t), v.u.s), text) == 0;
}

aot_dims aot_l_dims(const aot_pycall *k, unsigned pos, const char *name)
{
    if (!aot_l_given(k, pos, name)) {
        return (aot_dims){0};
    }
    aot_value v = *aot_l_arg(k, pos, name);
    unsigned n = aot_v_is_list(v) ? v.n : 1;
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        aot_value item = aot_v_is_list(v) ? v.u.items[i] : v;
        if (item.kind != AOT_V_INT && item.kind != AOT_V_BOOL) {
            fail_kind(k, name, "list of ints", item);
        }
        d[i] = item.u.dim;
    }
    return (aot_dims){d, n};
}

aot_dtype aot_l_dtype_of(aot_tracer *t, aot_value v)
{
    static const struct {
        const char *name;
        aot_dtype dtype;
    } types[] = {{"float", AOT_F64}, {"int", AOT_I64}, {"bool", AOT_B8}, {"complex", AOT_C128}};
    if (v.kind == AOT_V_DTYPE) {
        return (aot_dtype)v.u.dim.value;
    }
    for (unsigned i = 0; v.kind == AOT_V_NAME && i < sizeof types / sizeof *types; i++) {
        if (aot_l_is_str(t, v.u.s, types[i].name)) {
            return types[i].dtype;
        }
    }
    return AOT_NO_DTYPE;
}

aot_dtype aot_l_dtype(const aot_pycall *k, unsigned pos, const char *name, aot_dtype def)
{
    if (!aot_l_given(k, pos, name)) {
        return def;
    }
    aot_dtype d = aot_l_dtype_of(k->t, *aot_l_arg(k, pos, name));
    if (d == AOT_NO_DTYPE) {
        fail_kind(k, name, "dtype", *aot_l_arg(k, pos, name));
    }
    return d;
}

aot_str aot_l_device_of(aot_tracer *t, aot_value v)
{
    if (v.kind == AOT_V_DEVICE) {
        return v.u.s;
    }
    if (v.kind == AOT_V_STR) {
        const char *s = aot_text(aot_tracer_ctx(t), v.u.s);
        size_t n = strcspn(s, ":");
        static const char *const known[] = {"cpu", "cuda", "meta", "mps", "xpu", "hpu", "xla"};
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
            if (strlen(known[i]) == n && memcmp(known[i], s, n) == 0) {
                return strcmp(s, "cuda") == 0 ? aot_intern_z(aot_tracer_ctx(t)->strs, "cuda:0")
                                              : v.u.s;
            }
        }
    }
    if (v.kind == AOT_V_INT && v.u.dim.expr == 0) {
        const char *s = aot_arena_printf(aot_tracer_arena(t), "cuda:%d", (int)v.u.dim.value);
        return aot_intern_z(aot_tracer_ctx(t)->strs, s);
    }
    return 0;
}

/* ---- calls made from calls ------------------------------------------------------------------- */

aot_pycall aot_l_with(const aot_pycall *k, const char *target, unsigned n, const aot_value *args)
{
    aot_pycall c = *k;
    c.target = target;
    c.n = n;
    c.args = args;
    return c;
}

aot_pycall aot_l_without(const aot_pycall *k, const char *name)
{
    aot_pycall c = *k;
    aot_str *names = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_str, k->n_kw + 1);
    aot_value *kw = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_value, k->n_kw + 1);
    c.n_kw = 0;
    for (unsigned i = 0; i < k->n_kw; i++) {
        if (strcmp(aot_text(aot_tracer_ctx(k->t), k->kw_names[i]), name) != 0) {
            names[c.n_kw] = k->kw_names[i];
            kw[c.n_kw++] = k->kw[i];
        }
    }
    c.kw_names = names;
    c.kw = kw;
    return c;
}

aot_value aot_l_method(aot_tracer *t, const char *name, unsigned n, const aot_value *args)
{
    return aot_lower_call(
        &(aot_pycall){.t = t, .target = name, .is_method = true, .n = n, .args = args});
}

aot_value aot_l_function(aot_tracer *t, const char *target, unsigned n, const aot_value *args)
{
    return aot_lower_call(&(aot_pycall){.t = t, .target = target, .n = n, .args = args});
}

