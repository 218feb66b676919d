/* The life of a trace, its facts about operators, and the dispatch of a call through the levels. */
#include "trace/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/autocast.h"
#include "trace/internal.h"

aot_tracer *aot_tracer_new(aot_ctx *c, const aot_trace_options *o)
{
    aot_tracer *t = aot_xcalloc(1, sizeof *t);
    t->c = c;
    t->a = aot_arena_new();
    t->options = *o;
    t->grad_enabled = true;
    t->at_node = AOT_NO_NODE;
    t->functional_parent = t->traced_parent = AOT_NO_NODE;
    t->src.ac_graph_id = -1;
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        t->level[l].g = aot_graph_new(c);
        t->level[l].names = aot_namespace_new(c);
    }
    return t;
}

void aot_tracer_free(aot_tracer *t)
{
    if (t == NULL) {
        return;
    }
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_namespace_free(t->level[l].names);
        aot_namespace_free(t->real_names[l]);
        aot_vec_free(&t->level[l].origins);
        aot_vec_free(&t->level[l].syms);
    }
    for (size_t i = 0; i < t->heap.n; i++) {
        free(*(void **)t->heap.d[i]);
    }
    aot_vec_free(&t->heap);
    aot_vec_free(&t->fakes);
    aot_vec_free(&t->attrs);
    aot_vec_free(&t->customs);
    aot_vec_free(&t->autocast);
    aot_vec_free(&t->layers);
    aot_vec_free(&t->subgraphs);
    aot_vec_free(&t->attributes);
    aot_arena_free(t->a);
    free(t);
}

aot_status aot_tracer_run(aot_tracer *t, void (*fn)(aot_tracer *t, void *arg), void *arg,
                          aot_err *err)
{
    jmp_buf here, *outer = t->leave;
    aot_err *outer_err = t->err;
    t->leave = &here;
    t->err = err;
    t->status = AOT_OK;
    if (setjmp(here) == 0) {
        fn(t, arg);
    }
    t->leave = outer;
    t->err = outer_err;
    return t->status;
}

void aot_trace_fail(aot_tracer *t, aot_status code, const char *fmt, ...)
{
    char msg[320], at[256] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    if (t->at_graph != NULL && t->at_node != AOT_NO_NODE) {
        const aot_node *n = aot_node_at(t->at_graph, t->at_node);
        snprintf(at, sizeof at, "%.60s (%.80s)", aot_text(t->c, n->name),
                 aot_text(t->c, n->target));
    }
    if (t->src.file != 0) {
        size_t len = strlen(at);
        snprintf(at + len, sizeof at - len, "%s%.90s:%u", len != 0 ? " at " : "",
                 aot_text(t->c, t->src.file), t->src.line);
    }
    t->status = AOT_FAIL(t->err, code, "%s%s%s%s", at, at[0] != '\0' ? ": " : "",
                         t->in_backward ? "in its backward: " : "", msg);
    longjmp(*t->leave, 1);
}

void aot_tracer_at(aot_tracer *t, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    t->at_graph = g;
    t->at_node = id;
    if (n->src != 0) {
        t->src = g->srcs.d[n->src];
    }
}

bool aot_grad_enabled(const aot_tracer *t)
{
    return t->grad_enabled;
}

bool aot_set_grad_enabled(aot_tracer *t, bool on)
{
    bool was = t->grad_enabled;
    t->grad_enabled = on;
    return was;
}

bool aot_has_core_decomps(const aot_tracer *t)
{
    return t->options.core_decompose && !t->options.decompose;
}

bool aot_trace_opaque(const aot_tracer *t)
{
    return t->options.opaque;
}

bool aot_in_decomp(const aot_tracer *t)
{
    return t->mode == MODE_DECOMP;
}

/* ---- facts about operators ------------------------------------------------------------------ */

const char *tr_op_text(aot_tracer *t, aot_op_id op)
{
    return op >= AOT_N_OPS ? aot_text(t->c, t->customs.d[op - AOT_N_OPS]->target)
                           : aot_op(op)->name;
}

static aot_value scalar_default(aot_tracer *t, const aot_schema_arg *a, const char *s, size_t n)
{
    char *end;
    if (n == 4 && memcmp(s, "None", 4) == 0) {
        return aot_v_none();
    }
    if (n == 4 && memcmp(s, "True", 4) == 0) {
        return aot_v_bool(true);
    }
    if (n == 5 && memcmp(s, "False", 5) == 0) {
        return aot_v_bool(false);
    }
    if (s[0] == '"' || s[0] == '\'') {
        return (aot_value){.kind = AOT_V_STR, .u.s = aot_intern(t->c->strs, s + 1, n - 2)};
    }
    char *text = aot_arena_strndup(t->a, s, n);
    if (a->kind == AOT_TYPE_MEMORY_FORMAT || a->kind == AOT_TYPE_LAYOUT) {
        return aot_v_name(t, aot_arena_printf(t->a, "torch.%s", text));
    }
    if (a->kind == AOT_TYPE_SCALAR_TYPE) {
        aot_dtype d = aot_dtype_of_torch(text, n);
        // a number is that of c10::ScalarType
        return aot_v_dtype(strcmp(text, "4") == 0       ? AOT_I64
                           : strcmp(text, "float") == 0 ? AOT_F32
                                                        : d);
    }
    long long i = strtoll(text, &end, 10);
    if (*end == '\0') {
        bool is_float = a->kind == AOT_TYPE_FLOAT;
        return is_float ? aot_v_float((double)i) : aot_v_int(i);
    }
    double f = strtod(text, &end);
    return *end == '\0' ? aot_v_float(f) : (aot_value){.kind = AOT_V_RAW, .u.s = 0};
}

static aot_value default_of(aot_tracer *t, const aot_schema_arg *a)
{
    const char *s = a->def.s;
    size_t n = a->def.n;
    if (n == 0) {
        return aot_v_none();
    }
    if (s[0] != '[') {
        aot_value v = scalar_default(t, a, s, n);
        if (a->is_list && aot_v_is_number(v)) {
            unsigned count = a->list_size > 0 ? (unsigned)a->list_size : 1;
            aot_value *items = tr_alloc(t, count, sizeof *items);
            for (unsigned i = 0; i < count; i++) {
                items[i] = v;
            }
            return aot_v_list(t, count, items);
        }
        return v;
    }
    aot_value items[16];
    unsigned count = 0;
    for (const char *p = s + 1; p < s + n - 1 && count < 16;) {
        const char *q = p;
        while (q < s + n - 1 && *q != ',') {
            q++;
        }
        while (p < q && *p == ' ') {
            p++;
        }
        if (q > p) {
            items[count++] = scalar_default(t, a, p, (size_t)(q - p));
        }
        p = q + 1;
    }
    return aot_v_list(t, count, items);
}

/* The functional row of a mutable one: FUNCTIONAL cell, else NAME_functional as PyTorch generates
 * for what writes some arguments and returns others. */
static aot_op_id functional_of(aot_op_id op)
{
    const aot_op_info *o = aot_op(op);
    char name[160];
    const char *overload = o->name + strlen(o->packet);
    snprintf(name, sizeof name, "%s_functional%s", o->packet, overload);
    aot_op_id f = aot_op_find(name, strlen(name));
    return f != AOT_OP_UNKNOWN ? f : aot_op_functional(op);
}

void tr_op_defaults(aot_tracer *t, op_facts *f)
{
    f->defaults = tr_alloc(t, f->schema.n_args + 1, sizeof *f->defaults);
    for (unsigned i = 0; i < f->schema.n_args; i++) {
        f->defaults[i] = default_of(t, &f->schema.args[i]);
    }
}

const op_facts *tr_op(aot_tracer *t, aot_op_id op)
{
    if (op >= AOT_N_OPS) {
        return t->customs.d[op - AOT_N_OPS];
    }
    if (t->facts[op] != NULL) {
        return t->facts[op];
    }
    const aot_op_info *o = aot_op(op);
    op_facts *f = tr_alloc(t, 1, sizeof *f);
    aot_err err = {0};
    if (o->schema == NULL || aot_schema_parse(&f->schema, t->a, o->schema, &err) != AOT_OK) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s has no schema to be called by", o->name);
    }
    tr_op_defaults(t, f);
    f->target = aot_intern_z(t->c->strs, aot_arena_printf(t->a, "torch.ops.%s%s", o->name,
                                                          strcmp(o->name, o->packet) == 0
                                                              ? ".default"
                                                              : ""));
    const char *dot = strchr(o->packet, '.'), *name = dot != NULL ? dot + 1 : o->packet;
    bool magic = aot_starts_with(name, "__") && aot_ends_with(name, "__") && strlen(name) > 4;
    f->name =
        magic ? aot_intern(t->c->strs, name + 2, strlen(name) - 4) : aot_intern_z(t->c->strs, name);
    f->writes = (o->flags & AOT_OPF_MUTATES) != 0;
    f->is_view = !f->writes && (o->flags & AOT_OPF_ALIASES) != 0;
    f->is_inplace_view = (o->tags & AOT_TAG_INPLACE_VIEW) != 0;
    f->has_effects = (o->flags & AOT_OPF_EFFECTFUL) != 0;
    f->composite = (o->flags & AOT_OPF_COMPOSITE_IMPLICIT) != 0;
    f->functional = f->writes ? functional_of(op) : AOT_OP_UNKNOWN;
    f->returns_list = f->schema.n_returns == 1 && f->schema.returns[0].is_list;
    t->facts[op] = f;
    return f;
}

const aot_schema *aot_op_schema(aot_tracer *t, aot_op_id op, const aot_value **defaults)
{
    if (op < AOT_N_OPS && aot_op(op)->schema == NULL) {
        return NULL;
    }
    const op_facts *f = tr_op(t, op);
    if (defaults != NULL) {
        *defaults = f->defaults;
    }
    return &f->schema;
}

/* ---- arguments by the schema ----------------------------------------------------------------- */

static aot_value convert_one(aot_tracer *t, const aot_schema_arg *a, aot_value v)
{
    switch (a->kind) {
    case AOT_TYPE_FLOAT:
        return v.kind == AOT_V_INT && v.u.dim.expr == 0 ? aot_v_float((double)v.u.dim.value) : v;
    case AOT_TYPE_BOOL:
        return v.kind == AOT_V_INT ? (aot_value){.kind = AOT_V_BOOL, .u.dim = v.u.dim} : v;
    case AOT_TYPE_INT:
    case AOT_TYPE_SYM_INT:
        return v.kind == AOT_V_BOOL ? aot_v_dim(v.u.dim)
               : v.kind == AOT_V_FLOAT ? aot_v_int((int64_t)v.u.f)
                                       : v;
    case AOT_TYPE_SCALAR_TYPE:
        return v.kind == AOT_V_INT ? aot_v_dtype((aot_dtype)v.u.dim.value) : v;
    case AOT_TYPE_DEVICE:
        return v.kind == AOT_V_STR ? aot_v_device(v.u.s) : v;
    case AOT_TYPE_LAYOUT:
        return v.kind == AOT_V_STR
                   ? aot_v_name(t, aot_arena_printf(t->a, "torch.%s", aot_text(t->c, v.u.s)))
                   : v;
    default: return v;
    }
}

static aot_value convert(aot_tracer *t, const aot_schema_arg *a, aot_value v)
{
    if (v.kind == AOT_V_TENSOR && v.u.t->wrapped_number) {
        return v.u.t->number;
    }
    if (v.kind == AOT_V_NONE || !a->is_list) {
        return convert_one(t, a, v);
    }
    if (!aot_v_is_list(v)) {
        unsigned n = a->list_size > 0 && a->kind != AOT_TYPE_TENSOR ? (unsigned)a->list_size : 1;
        aot_value *items = tr_alloc(t, n, sizeof *items);
        for (unsigned i = 0; i < n; i++) {
            items[i] = convert_one(t, a, v);
        }
        return (aot_value){.kind = AOT_V_LIST, .n = n, .u.items = items};
    }
    bool same = v.kind == AOT_V_LIST;
    for (unsigned i = 0; i < v.n && same; i++) {
        same = convert_one(t, a, v.u.items[i]).kind == v.u.items[i].kind;
    }
    if (same) {
        return v;
    }
    aot_value *items = tr_alloc(t, v.n + 1, sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = convert_one(t, a, v.u.items[i]);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = v.n, .u.items = items};
}

static aot_value *complete(aot_tracer *t, const op_facts *f, aot_op_id op, unsigned n,
                           const aot_value *args)
{
    unsigned want = f->schema.n_args;
    aot_value *out = tr_alloc(t, want + 1, sizeof *out);
    if (n > want && !f->schema.varargs) {
        aot_trace_fail(t, AOT_E_SHAPE, "%s takes %u arguments, %u given", aot_op(op)->name, want,
                       n);
    }
    for (unsigned i = 0; i < want; i++) {
        const aot_schema_arg *a = &f->schema.args[i];
        out[i] = i < n ? convert(t, a, args[i]) : f->defaults[i];
        if (out[i].kind == AOT_V_NONE && i < n && !a->optional && a->def.n != 0 &&
            f->defaults[i].kind != AOT_V_NONE) {
            out[i] = f->defaults[i]; /* AOT_NONE in the middle of a call stands for the default */
        }
    }
    for (unsigned i = 0; t->options.export_path && i < want; i++) {
        aot_span name = f->schema.args[i].name; // torch.export traces with cuDNN switched off
        if (name.n >= 12 && memcmp(name.s, "cudnn_enable", 12) == 0) {
            out[i] = aot_v_bool(false);
        }
    }
    return out;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* "decomposition of aten.gelu.default": made once for an operator, which mostly has one kind. */
static aot_str rule_text(aot_tracer *t, aot_op_id op, const char *what)
{
    tr_op(t, op);
    op_facts *f = t->facts[op];
    if (f->rule_kind != what) {
        f->rule_kind = what;
        f->rule = aot_intern_z(t->c->strs, aot_arena_printf(t->a, "%s %s", what, aot_op(op)->name));
    }
    return f->rule;
}

bool tr_expand(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, const char *what,
               aot_value *out)
{
    aot_expand_fn *rule = aot_trace_rules_of(op)->expand;
    aot_expand k = {.t = t, .op = op, .n = n, .args = args};
    aot_str was = t->rule;
    if (rule == NULL) {
        return false;
    }
    t->rule = rule_text(t, op, what);
    bool done = rule(&k);
    t->rule = was;
    *out = k.result;
    return done;
}

static bool in_table(const aot_tracer *t, aot_op_id op)
{
    uint32_t flags = aot_op(op)->flags;
    unsigned choice = t->options.choice != NULL && op < AOT_N_OPS ? t->options.choice[op] : 0;
    if (choice != AOT_CHOICE_TABLE) {
        return choice == AOT_CHOICE_DECOMPOSE;
    }
    bool kept = t->options.fallback_random && (flags & AOT_OPF_RANDOM_DECOMP) != 0;
    return (t->options.decompose && (flags & AOT_OPF_INDUCTOR_DECOMP) != 0 && !kept) ||
           (t->options.core_decompose && (flags & AOT_OPF_CORE_DECOMP) != 0);
}

/* Below autograd and functionalization: the table of the backend, else the node itself. */
aot_value tr_decompose(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    aot_value out = aot_v_none();
    tracer_mode was = t->mode;
    t->mode = MODE_DECOMP;
    bool done = in_table(t, op) && tr_expand(t, op, n, args, "decomposition of", &out);
    if (!done) {
        out = tr_emit_inner(t, op, n, args);
    }
    t->mode = was;
    return out;
}

/* A call with all its arguments, below autocast. */
static aot_value dispatch(aot_tracer *t, const op_facts *f, aot_op_id op, const aot_value *all)
{
    unsigned count = f->schema.n_args;
    aot_value out;
    bool above = t->mode == MODE_TOP && (aot_op(op)->flags & AOT_OPF_AUTOGRAD_DECOMP) != 0;
    bool kept = t->believed != NULL && t->believed_op == op;
    if (f->composite && !kept && t->mode == MODE_TOP && tr_keeps(t, op) &&
        tr_keep(t, op, count, all, &out)) {
        return out;
    }
    if ((f->composite || above) && !kept && tr_expand_below(t, op, count, all, &out)) {
        return out;
    }
    switch (t->mode) {
    case MODE_TOP: return tr_autograd(t, op, count, all);
    case MODE_FUNCTIONAL: return tr_below(t, op, count, all);
    default: return tr_decompose(t, op, count, all);
    }
}

aot_value aot_call_op(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    const aot_value *all = complete(t, f, op, n, args);
    if (t->mode == MODE_TOP && t->depth == 0 && t->layers.cap != 0) {
        all = tr_alive(t, f->schema.n_args, all);
    }
    if (t->mode == MODE_TOP && tr_in_vmap(t)) {
        return tr_vmap(t, f, op, all);
    }
    size_t states = t->mode == MODE_TOP ? t->autocast.n : 0;
    if (states == 0) {
        return dispatch(t, f, op, all);
    }
    aot_value *cast = tr_alloc(t, f->schema.n_args + 1, sizeof *cast);
    if (!aot_autocast_args(t, op, f->schema.n_args, all, cast)) {
        return dispatch(t, f, op, all);
    }
    t->autocast.n = 0; /* what the operator calls is not cast again */
    aot_value out = dispatch(t, f, op, cast);
    t->autocast.n = states;
    return out;
}

/* ---- autocast -------------------------------------------------------------------------------- */

void aot_autocast_push(aot_tracer *t, aot_str device_type, aot_dtype dtype, bool enabled)
{
    aot_vec_push(&t->autocast, ((autocast_state){device_type, dtype, enabled}));
}

void aot_autocast_pop(aot_tracer *t)
{
    if (t->autocast.n != 0) {
        t->autocast.n--;
    }
}

/* The innermost state of a device type; AOT_NO_DTYPE if autocast is off for it. */
aot_dtype aot_autocast_dtype(const aot_tracer *t, const char *device_type)
{
    for (size_t i = t->autocast.n; i-- > 0;) {
        const autocast_state *s = &t->autocast.d[i];
        if (strcmp(aot_text(t->c, s->device_type), device_type) == 0) {
            return s->enabled ? s->dtype : AOT_NO_DTYPE;
        }
    }
    return AOT_NO_DTYPE;
}
