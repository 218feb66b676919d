/* Functions on numbers and symbolic sizes: torch.sym_max, math.sqrt, int, len.
 * Mirrors torch/__init__.py (sym_*), torch/fx/experimental/sym_node.py. */
#include "lower/internal.h"

#include <math.h>

static aot_value number_arg(const aot_pycall *k, unsigned i)
{
    if (i >= k->n || !aot_v_is_number(k->args[i])) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s of a %s", k->target,
                       i < k->n ? aot_l_kind_name(k->args[i]) : "nothing");
    }
    return k->args[i];
}

static bool is_int(aot_value v)
{
    return v.kind == AOT_V_INT || v.kind == AOT_V_BOOL;
}

static double real(aot_value v)
{
    return v.kind == AOT_V_FLOAT ? v.u.f : (double)v.u.dim.value;
}

/* torch.sym_max, torch.sym_min, max, min */
aot_value lower_sym_extreme(const aot_pycall *k)
{
    const char *name = strrchr(k->target, '_') != NULL ? strrchr(k->target, '_') + 1 : k->target;
    bool largest = strcmp(name, "max") == 0;
    aot_pycall c = *k;
    if (k->n == 1 && aot_v_is_list(k->args[0])) {
        c.n = k->args[0].n;
        c.args = k->args[0].u.items;
    }
    aot_value best = number_arg(&c, 0);
    for (unsigned i = 1; i < c.n; i++) {
        aot_value v = number_arg(&c, i);
        if (is_int(best) && is_int(v)) {
            best = aot_v_dim(aot_trace_dim(k->t, largest ? '>' : '<', best.u.dim, v.u.dim));
        } else if (largest ? real(v) > real(best) : real(v) < real(best)) {
            best = v;
        }
    }
    return best;
}

/* torch.sym_sum([a, b ...]), sum([...]) */
aot_value lower_sym_sum(const aot_pycall *k)
{
    aot_value all =
        k->n > 0 && aot_v_is_list(k->args[0]) ? k->args[0] : aot_v_list(k->t, k->n, k->args);
    for (unsigned i = 0; i < all.n; i++) {
        if (!is_int(all.u.items[i])) {
            aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s of a %s", k->target,
                           aot_l_kind_name(all.u.items[i]));
        }
    }
    return aot_v_dim(aot_trace_sum(k->t, all));
}

/* torch.sym_not(b) */
aot_value lower_sym_not(const aot_pycall *k)
{
    return aot_v_bool(number_arg(k, 0).u.dim.value == 0);
}

/* torch.sym_ite(b, x, y) */
aot_value lower_sym_ite(const aot_pycall *k)
{
    number_arg(k, 2);
    return number_arg(k, 0).u.dim.value != 0 ? k->args[1] : k->args[2];
}

/* int(x), torch.sym_int(x), math.trunc(x); of a tensor its item */
aot_value lower_int(const aot_pycall *k)
{
    if (k->n > 0 && k->args[0].kind == AOT_V_TENSOR) {
        return AOT_V(k->t, aten_item, k->args[0].u.t);
    }
    aot_value v = number_arg(k, 0);
    return v.kind == AOT_V_FLOAT ? aot_v_int((int64_t)v.u.f) : aot_v_dim(v.u.dim);
}

/* float(x), torch.sym_float(x) */
aot_value lower_float(const aot_pycall *k)
{
    if (k->n > 0 && k->args[0].kind == AOT_V_TENSOR) {
        return AOT_V(k->t, aten_item, k->args[0].u.t);
    }
    return aot_v_float(real(number_arg(k, 0)));
}

aot_value lower_bool(const aot_pycall *k)
{
    aot_value v = number_arg(k, 0);
    return aot_v_bool(v.kind == AOT_V_FLOAT ? v.u.f != 0 : v.u.dim.value != 0);
}

aot_value lower_len(const aot_pycall *k)
{
    if (k->n == 1 && k->args[0].kind == AOT_V_TENSOR) {
        return aot_v_dim(aot_size(k->args[0].u.t, 0));
    }
    if (k->n != 1 || !aot_v_is_list(k->args[0])) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "len of what is no list");
    }
    return aot_v_int(k->args[0].n);
}

/* math.sqrt and its kind: the name behind the last dot or torch.sym_ */
aot_value lower_math(const aot_pycall *k)
{
    static const struct {
        const char *name;
        double (*fn)(double);
        bool whole;
    } fns[] = {
        {"acos", acos, false}, {"asin", asin, false}, {"atan", atan, false}, {"ceil", ceil, true},
        {"cos", cos, false},   {"cosh", cosh, false}, {"exp", exp, false},   {"floor", floor, true},
        {"log", log, false},   {"log2", log2, false}, {"sin", sin, false},   {"sinh", sinh, false},
        {"sqrt", sqrt, false}, {"tan", tan, false},   {"tanh", tanh, false},
    };
    const char *name = strrchr(k->target, '.') != NULL ? strrchr(k->target, '.') + 1 : k->target;
    name = strrchr(name, '_') != NULL ? strrchr(name, '_') + 1 : name;
    aot_value v = number_arg(k, 0);
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        if (strcmp(fns[i].name, name) == 0) {
            if (fns[i].whole) {
                return is_int(v) ? v : aot_v_int((int64_t)fns[i].fn(v.u.f));
            }
            return aot_v_float(fns[i].fn(real(v)));
        }
    }
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s is not known", k->target);
}
