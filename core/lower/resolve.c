/* Which overload a call means: the first of its packet, in the parser's order, that takes the
 * arguments.
 * Mirrors torch/csrc/utils/python_arg_parser.cpp. */
#include "lower/internal.h"

#include <stdlib.h>

#include "ops/op_ids.h"

/* ---- do the arguments fit -------------------------------------------------------------------- */

/* torch/csrc/utils/python_arg_parser.cpp:should_allow_numbers_as_tensors. */
static bool takes_numbers_as_tensors(const char *packet)
{
    static const char *const names[] = {
        "add",      "sub",         "mul",          "div",       "divide",       "multiply",
        "subtract", "true_divide", "floor_divide", "add_",      "sub_",         "mul_",
        "div_",     "divide_",     "multiply_",    "subtract_", "true_divide_", "floor_divide_"};
    const char *name = strrchr(packet, '.');
    name = name != NULL ? name + 1 : packet;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* A tensor that may stand for a number. */
static bool is_number_tensor(aot_value v, bool integral)
{
    if (v.kind != AOT_V_TENSOR || aot_ndim(v.u.t) != 0 || aot_requires_grad(v.u.t)) {
        return false;
    }
    char kind = aot_dtype_get(aot_dtype_of(v.u.t))->kind;
    return !integral || kind == 'i' || kind == 'u' || kind == 'b';
}

static bool is_int(aot_value v)
{
    return v.kind == AOT_V_INT || is_number_tensor(v, true);
}

static bool item_fits(aot_tracer *t, aot_value v, const aot_schema_arg *a, bool numbers)
{
    switch (a->kind) {
    case AOT_TYPE_TENSOR:
        return v.kind == AOT_V_TENSOR || (numbers && aot_v_is_number(v)) ||
               (v.kind == AOT_V_NONE && a->item_optional);
    case AOT_TYPE_SCALAR:
        return aot_v_is_number(v) || is_number_tensor(v, false);
    case AOT_TYPE_FLOAT:
    case AOT_TYPE_SYM_FLOAT:
    case AOT_TYPE_COMPLEX:
        return (aot_v_is_number(v) && (v.kind != AOT_V_COMPLEX || a->kind == AOT_TYPE_COMPLEX)) ||
               is_number_tensor(v, false);
    case AOT_TYPE_INT:
    case AOT_TYPE_SYM_INT:
        return is_int(v);
    case AOT_TYPE_BOOL:
    case AOT_TYPE_SYM_BOOL:
        return v.kind == AOT_V_BOOL;
    case AOT_TYPE_STR:
    case AOT_TYPE_DIMNAME:
        return v.kind == AOT_V_STR;
    case AOT_TYPE_SCALAR_TYPE:
        return aot_l_dtype_of(t, v) != AOT_NO_DTYPE;
    case AOT_TYPE_DEVICE:
        return aot_l_device_of(t, v) != 0;
    case AOT_TYPE_LAYOUT:
    case AOT_TYPE_MEMORY_FORMAT:
    case AOT_TYPE_QSCHEME:
        return v.kind == AOT_V_NAME;
    default:
        return v.kind == AOT_V_RAW || v.kind == AOT_V_NAME;
    }
}

static bool fits(aot_tracer *t, aot_value v, const aot_schema_arg *a, bool numbers)
{
    if (v.kind == AOT_V_NONE && (a->optional || (a->kind == AOT_TYPE_TENSOR && a->item_optional))) {
        return true;
    }
    if (!a->is_list) {
        return item_fits(t, v, a, numbers);
    }
    if (!aot_v_is_list(v)) { /* one number for int[1], int[2], float[2]; one name */
        return a->list_size > 0 && a->kind != AOT_TYPE_TENSOR && item_fits(t, v, a, false);
    }
    for (unsigned i = 0; i < v.n; i++) {
        bool number = a->kind != AOT_TYPE_SCALAR || v.u.items[i].kind != AOT_V_TENSOR;
        if (!number || !item_fits(t, v.u.items[i], a, false)) { // tensors are no list of numbers
            return false;
        }
    }
    return true;
}

/* One attempt: value of each argument of the schema; kind AOT_V_RAW with n = 1 marks a default. */
typedef struct attempt {
    const aot_pycall *k;
    const aot_overload *o;
    bool binding, numbers;
    aot_value *arg;
    bool *given;
} attempt;

static bool span_is(aot_span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

/* Names that NumPy's users write (python_arg_parser.cpp:numpy_compatibility_arg_names). */
static bool is_name_of(const attempt *a, const aot_schema_arg *arg, const char *name)
{
    static const char *const compat[][2] = {{"dim", "axis"},    {"keepdim", "keepdims"},
                                            {"input", "x"},     {"input", "a"},
                                            {"input", "x1"},    {"other", "x2"}};
    if (!a->binding || a->k->is_method) {
        if (span_is(arg->name, name)) {
            return true;
        }
    }
    if (!a->binding) {
        return false;
    }
    const char *own = span_is(arg->name, "self") && !a->k->is_method ? "input" : NULL;
    if (own != NULL ? strcmp(own, name) == 0 : span_is(arg->name, name)) {
        return true;
    }
    for (unsigned i = 0; i < sizeof compat / sizeof *compat; i++) {
        if (strcmp(compat[i][1], name) == 0 &&
            (own != NULL ? strcmp(own, compat[i][0]) == 0 : span_is(arg->name, compat[i][0]))) {
            return true;
        }
    }
    return false;
}

static int index_of(const attempt *a, const char *name)
{
    for (unsigned i = 0; i < a->o->schema->n_args; i++) {
        if (is_name_of(a, &a->o->schema->args[i], name)) {
            return (int)i;
        }
    }
    return -1;
}

static unsigned self_of(const aot_schema *s)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        if (span_is(s->args[i].name, "self")) {
            return i;
        }
    }
    return 0;
}

static bool take(attempt *a, unsigned i, aot_value v)
{
    if (a->given[i] || !fits(a->k->t, v, &a->o->schema->args[i], a->numbers)) {
        return false;
    }
    a->arg[i] = v;
    a->given[i] = true;
    return true;
}

/* x.view(2, 3): the only positional argument is a list of ints and takes them all. */
static bool take_varargs(attempt *a, unsigned first, unsigned n_left)
{
    const aot_schema_arg *arg = &a->o->schema->args[first];
    unsigned max = a->o->schema->n_positional - (a->k->is_method ? 1 : 0);
    if (!a->binding || max != 1 || !arg->is_list || n_left == 0 ||
        (arg->kind != AOT_TYPE_INT && arg->kind != AOT_TYPE_SYM_INT)) {
        return false;
    }
    const aot_value *v = a->k->args + a->k->n - n_left;
    return !aot_v_is_list(v[0]) && take(a, first, aot_v_list(a->k->t, n_left, v));
}

static bool take_positional(attempt *a)
{
    const aot_schema *s = a->o->schema;
    const aot_pycall *k = a->k;
    unsigned next = 0, i = 0;
    if (k->is_method && k->n > 0) {
        unsigned self = self_of(s);
        if (self >= s->n_args || !take(a, self, k->args[0])) {
            return false;
        }
        i = 1;
    }
    for (; i < k->n; i++) {
        while (next < s->n_positional && a->given[next]) {
            next++;
        }
        if (next >= s->n_positional) {
            return false;
        }
        if (take_varargs(a, next, k->n - i)) {
            return true;
        }
        if (!take(a, next, k->args[i])) {
            return false;
        }
    }
    return true;
}

static bool is_options(const aot_schema *s)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < s->n_args; i++) {
        seen += span_is(s->args[i].name, "layout") || span_is(s->args[i].name, "device") ||
                span_is(s->args[i].name, "pin_memory") || span_is(s->args[i].name, "dtype");
    }
    return seen == 4;
}

static bool take_keywords(attempt *a)
{
    for (unsigned i = 0; i < a->k->n_kw; i++) {
        const char *name = aot_text(aot_tracer_ctx(a->k->t), a->k->kw_names[i]);
        int at = index_of(a, name);
        if (at < 0 && a->binding && is_options(a->o->schema) &&
            (strcmp(name, "requires_grad") == 0 || strcmp(name, "names") == 0)) {
            continue;
        }
        if (at < 0 || !take(a, (unsigned)at, a->k->kw[i])) {
            return false;
        }
    }
    return true;
}

static bool is_complete(const attempt *a)
{
    for (unsigned i = 0; i < a->o->schema->n_args; i++) {
        if (!a->given[i] && a->o->schema->args[i].def.n == 0) {
            return false;
        }
    }
    return true;
}

static bool try_overload(attempt *a)
{
    unsigned n = a->o->schema->n_args;
    a->arg = AOT_NEW_ARRAY(aot_tracer_arena(a->k->t), aot_value, n + 1);
    a->given = AOT_NEW_ARRAY(aot_tracer_arena(a->k->t), bool, n + 1);
    return take_positional(a) && take_keywords(a) && is_complete(a);
}

/* ---- the call -------------------------------------------------------------------------------- */

static aot_value number_of(aot_tracer *t, aot_tensor *x)
{
    return AOT_V(t, aten_item, x);
}

/* A value as the schema's type wants it: dtypes, devices, numbers of tensors. */
static aot_value convert(aot_tracer *t, aot_value v, const aot_schema_arg *a)
{
    if (a->is_list && aot_v_is_list(v)) {
        aot_value *items = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, v.n);
        aot_schema_arg one = *a;
        one.is_list = false;
        for (unsigned i = 0; i < v.n; i++) {
            items[i] = convert(t, v.u.items[i], &one);
        }
        return aot_v_list(t, v.n, items);
    }
    switch (a->kind) {
    case AOT_TYPE_SCALAR_TYPE:
        return v.kind == AOT_V_NAME ? aot_v_dtype(aot_l_dtype_of(t, v)) : v;
    case AOT_TYPE_DEVICE:
        return v.kind == AOT_V_NONE ? v : aot_v_device(aot_l_device_of(t, v));
    case AOT_TYPE_SCALAR:
    case AOT_TYPE_FLOAT:
    case AOT_TYPE_INT:
    case AOT_TYPE_SYM_INT:
        return v.kind == AOT_V_TENSOR ? number_of(t, v.u.t) : v;
    default:
        return v;
    }
}

/* torch.zeros(...) puts itself on the CPU; x.new_zeros and torch.zeros_like follow x. None of them
 * leaves pin_memory open. */
static void fill_options(attempt *a)
{
    const aot_schema *s = a->o->schema;
    if (!a->binding || !is_options(s)) {
        return;
    }
    bool like = (s->name.n > 4 && memcmp(s->name.s, "new_", 4) == 0) ||
                (s->name.n > 5 && memcmp(s->name.s + s->name.n - 5, "_like", 5) == 0);
    for (unsigned i = 0; i < s->n_args; i++) {
        bool none = !a->given[i] || a->arg[i].kind == AOT_V_NONE;
        if (none && span_is(s->args[i].name, "pin_memory")) {
            take(a, i, aot_v_bool(false));
            a->arg[i] = aot_v_bool(false);
            a->given[i] = true;
        } else if (none && !like && span_is(s->args[i].name, "device")) {
            a->arg[i] = aot_v_device(aot_intern_z(aot_tracer_ctx(a->k->t)->strs, "cpu"));
            a->given[i] = true;
        }
    }
}

static aot_value run(attempt *a)
{
    const aot_schema *s = a->o->schema;
    unsigned n = 0;
    fill_options(a);
    for (unsigned i = 0; i < s->n_args; i++) {
        a->arg[i] = a->given[i] ? convert(a->k->t, a->arg[i], &s->args[i])
                                : a->o->defaults[i];
        n = a->given[i] ? i + 1 : n;
    }
    return aot_call_op(a->k->t, a->o->op, n, a->arg);
}

/* "(Tensor, int, dim = int)" of a call. */
static const char *signature_of(const aot_pycall *k)
{
    aot_sb b = {0};
    aot_sb_addc(&b, '(');
    for (unsigned i = 0; i < k->n + k->n_kw; i++) {
        aot_value v = i < k->n ? k->args[i] : k->kw[i - k->n];
        aot_sb_addz(&b, i > 0 ? ", " : "");
        if (i >= k->n) {
            aot_sb_addf(&b, "%s = ", aot_text(aot_tracer_ctx(k->t), k->kw_names[i - k->n]));
        }
        aot_sb_addz(&b, aot_l_kind_name(v));
        if (aot_v_is_list(v) && v.n > 0) {
            aot_sb_addf(&b, " of %s", aot_l_kind_name(v.u.items[0]));
        }
    }
    aot_sb_addc(&b, ')');
    const char *text = aot_arena_strndup(aot_tracer_arena(k->t), b.d, b.n);
    aot_sb_free(&b);
    return text;
}

static bool same_but_out(const aot_schema *base, const aot_schema *out)
{
    unsigned j = 0;
    for (unsigned i = 0; i < out->n_args; i++) {
        const aot_schema_arg *o = &out->args[i];
        if (aot_l_is_out(o)) {
            continue;
        }
        while (j < base->n_args && (span_is(base->args[j].name, "layout") ||
                                    span_is(base->args[j].name, "device") ||
                                    span_is(base->args[j].name, "pin_memory") ||
                                    span_is(base->args[j].name, "dtype")) &&
               !(o->name.n == base->args[j].name.n &&
                 memcmp(o->name.s, base->args[j].name.s, o->name.n) == 0)) {
            j++; /* out= brings its own dtype and device */
        }
        if (j >= base->n_args || base->args[j].kind != o->kind ||
            base->args[j].is_list != o->is_list || base->args[j].name.n != o->name.n ||
            memcmp(base->args[j].name.s, o->name.s, o->name.n) != 0) {
            return false;
        }
        j++;
    }
    return true;
}

/* f(..., out = y) or out = (y, z): the out= form of the overload that takes the rest. */
static aot_value run_with_out(attempt *a, const aot_packet *p, aot_value out)
{
    for (unsigned i = 0; i < p->n; i++) {
        const aot_overload *o = &p->overloads[i];
        if (!o->takes_out || !same_but_out(a->o->schema, o->schema)) {
            continue;
        }
        const aot_schema *s = o->schema;
        aot_value *arg = AOT_NEW_ARRAY(aot_tracer_arena(a->k->t), aot_value, s->n_args + 1);
        unsigned n_out = 0;
        for (unsigned j = 0; j < s->n_args; j++) {
            if (aot_l_is_out(&s->args[j])) {
                arg[j] = aot_v_is_list(out) && !s->args[j].is_list && n_out < out.n
                             ? out.u.items[n_out]
                             : out;
                n_out++;
                continue;
            }
            for (unsigned b = 0; b < a->o->schema->n_args; b++) {
                const aot_schema_arg *x = &a->o->schema->args[b];
                if (x->name.n == s->args[j].name.n &&
                    memcmp(x->name.s, s->args[j].name.s, x->name.n) == 0) {
                    arg[j] = a->given[b] ? convert(a->k->t, a->arg[b], x)
                                         : a->o->defaults[b];
                }
            }
        }
        return aot_call_op(a->k->t, o->op, s->n_args, arg);
    }
    aot_trace_fail(a->k->t, AOT_E_UNSUPPORTED, "%s has no out= form", a->k->target);
}

aot_value aot_l_resolve(const aot_pycall *k, const aot_packet *p, bool binding)
{
    aot_value out = aot_v_none();
    aot_pycall plain = *k;
    if (binding && aot_l_given(k, UINT32_MAX, "out")) {
        out = *aot_l_arg(k, UINT32_MAX, "out");
    }
    if (binding && k->n_kw > 0) {
        plain = aot_l_without(k, "out");
    }
    for (unsigned i = 0; i < p->n; i++) {
        const aot_overload *o = &p->overloads[i];
        attempt a = {.k = &plain, .o = o, .binding = binding,
                     .numbers = takes_numbers_as_tensors(p->name)};
        if ((binding && (!o->bound || o->takes_out)) || !try_overload(&a)) {
            continue;
        }
        return out.kind != AOT_V_NONE ? run_with_out(&a, p, out) : run(&a);
    }
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: no overload of %s takes %s", k->target, p->name,
                   signature_of(k));
}

aot_value aot_l_overload(const aot_pycall *k, aot_op_id op)
{
    aot_overload o = {.op = op, .bound = true};
    o.schema = aot_op_schema(k->t, op, &o.defaults);
    attempt a = {.k = k, .o = &o, .numbers = true};
    if (o.schema == NULL) {
        return aot_call_op(k->t, op, k->n, k->args);
    }
    if (!try_overload(&a)) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s does not take %s", aot_op(op)->name,
                       signature_of(k));
    }
    return run(&a);
}
