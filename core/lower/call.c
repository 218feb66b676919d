/* From a target as FX prints it to what runs it: a row of functions.def or methods.def, else the
 * operator of the same name. */
#include "lower/internal.h"

#include <stdlib.h>

typedef struct lower_row {
    const char *target;
    aot_lower_fn *fn;
} lower_row;

#define LOWER(target, fn) {target, fn},
static const lower_row functions[] = {
#include "lower/functions.def"
};
static const lower_row methods[] = {
#include "lower/methods.def"
};
#undef LOWER

static int by_target(const void *key, const void *row)
{
    return strcmp(key, ((const lower_row *)row)->target);
}

/* Rows are sorted by byte. */
static aot_lower_fn *find(const lower_row *rows, size_t n, const char *target)
{
    const lower_row *r = bsearch(target, rows, n, sizeof *rows, by_target);
    return r != NULL ? r->fn : NULL;
}

/* Python modules whose functions are bindings of operators: what stands before the name gives way
 * to what is put before it. */
static const struct {
    const char *prefix, *packet;
} modules[] = {
    {"torch._C._VariableFunctions.", "aten."},
    {"torch._C._fft.", "aten."},
    {"torch._C._linalg.", "aten."},
    {"torch._C._nested.", "aten."},
    {"torch._C._nn.", "aten."},
    {"torch._C._sparse.", "aten."},
    {"torch._C._special.", "aten."},
    {"torch._VF.", "aten."},
    {"torch.fft.", "aten.fft_"},
    {"torch.functional.", "aten."},
    {"torch.linalg.", "aten.linalg_"},
    {"torch.nn.functional.", "aten."},
    {"torch.special.", "aten.special_"},
    {"torch.", "aten."},
};

static const aot_packet *packet_of(const aot_pycall *k)
{
    char name[160];
    if (k->is_method) {
        snprintf(name, sizeof name, "aten.%s", k->target);
        return aot_l_packet(k->t, name);
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (aot_starts_with(k->target, modules[i].prefix)) {
            const char *rest = k->target + strlen(modules[i].prefix);
            if (strchr(rest, '.') != NULL) {
                return NULL;
            }
            snprintf(name, sizeof name, "%s%s", modules[i].packet, rest);
            return aot_l_packet(k->t, name);
        }
    }
    return NULL;
}

/* torch.ops.NS.NAME[.OVERLOAD] */
static bool call_ops(const aot_pycall *k, aot_value *result)
{
    if (!aot_starts_with(k->target, "torch.ops.")) {
        return false;
    }
    const char *name = k->target + strlen("torch.ops.");
    aot_op_id op = aot_op_find(name, strlen(name));
    if (op != AOT_OP_UNKNOWN) {
        *result = aot_l_overload(k, op);
        return true;
    }
    const aot_packet *p = aot_l_packet(k->t, name);
    if (p == NULL) {
        return false;
    }
    *result = aot_l_resolve(k, p, false);
    return true;
}

aot_value aot_lower_packet(const aot_pycall *k, const char *packet)
{
    const aot_packet *p = aot_l_packet(k->t, packet);
    if (p == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: there is no operator %s", k->target, packet);
    }
    return aot_l_resolve(k, p, true);
}

/* torch.Tensor.view(x, 4) is x.view(4). */
static aot_value call_tensor_method(const aot_pycall *k, const char *name)
{
    aot_pycall m = *k;
    m.target = name;
    m.is_method = true;
    return aot_lower_call(&m);
}

/* Nothing is known of it but the type of its result, if the graph states one. */
static aot_value call_unknown(const aot_pycall *k)
{
    if (!aot_trace_opaque(k->t)) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED,
                       "%s%s is not known: no row in %s and no operator of that name; --opaque "
                       "believes the recorded type",
                       k->is_method ? "method ." : "", k->target,
                       k->is_method ? "methods.def" : "functions.def");
    }
    const char *target =
        k->is_method ? aot_arena_printf(aot_tracer_arena(k->t), "torch.Tensor.%s", k->target)
                     : k->target;
    return aot_trace_custom(k->t, target, k->n, k->args, k->n_kw, k->kw_names, k->kw);
}

aot_value aot_lower_call(const aot_pycall *k)
{
    static const char *const classes[] = {"torch.Tensor.", "torch._C.TensorBase.",
                                          "torch._tensor.Tensor."};
    aot_value result;
    aot_lower_fn *fn = k->is_method
                           ? find(methods, sizeof methods / sizeof *methods, k->target)
                           : find(functions, sizeof functions / sizeof *functions, k->target);
    if (fn != NULL) {
        return fn(k);
    }
    for (size_t i = 0; !k->is_method && i < sizeof classes / sizeof *classes; i++) {
        if (aot_starts_with(k->target, classes[i])) {
            return call_tensor_method(k, k->target + strlen(classes[i]));
        }
    }
    if (aot_l_operator(k, k->target, &result) || call_ops(k, &result)) {
        return result;
    }
    const aot_packet *p = packet_of(k);
    if (p == NULL && !k->is_method && aot_starts_with(k->target, "torch.ops.") &&
        !aot_starts_with(k->target, "torch.ops.higher_order.")) {
        return aot_trace_custom(k->t, k->target, k->n, k->args, k->n_kw, k->kw_names, k->kw);
    }
    if (p == NULL) {
        return call_unknown(k);
    }
    return aot_l_resolve(k, p, true);
}
