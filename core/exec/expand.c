/* An operator run by its decomposition: the tracer writes the smaller operators for arguments of
 * these types, once, and the interpreter runs that graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/internal.h"
#include "trace/tracer.h"

typedef struct expand_job {
    aot_exec *x;
    aot_op_id op;
    unsigned n;
    const aot_xval *args;
    aot_tensor **inputs, **before; /* as they came in: their functional values */
    unsigned n_inputs;
} expand_job;

static aot_value traced_value(aot_tracer *t, expand_job *j, const aot_xval *v);

static aot_value traced_input(aot_tracer *t, expand_job *j, const aot_array *x)
{
    aot_dim size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    char name[24];
    for (unsigned i = 0; i < x->ndim; i++) {
        size[i] = aot_dim_of(x->size[i]);
        stride[i] = aot_dim_of(x->stride[i]);
    }
    aot_ctx *c = aot_tracer_ctx(t);
    aot_meta_id m = aot_ctx_tensor_meta(c, (aot_dtype)x->dtype, size, stride, x->ndim,
                                        aot_intern_z(c->strs, "cpu"));
    snprintf(name, sizeof name, "arg%u_1", j->n_inputs);
    aot_tensor *in = aot_trace_input_tensor(t, name, m, false, "");
    j->inputs[j->n_inputs] = in;
    j->before[j->n_inputs++] = aot_trace_inner(in);
    return aot_v_tensor(in);
}

static aot_value traced_text(aot_tracer *t, const char *s)
{
    static const char device[] = "device(type='cpu'";
    if (strncmp(s, device, sizeof device - 1) == 0) {
        return aot_v_device(aot_intern_z(aot_tracer_ctx(t)->strs, "cpu"));
    }
    return strncmp(s, "torch.", 6) == 0 ? aot_v_name(t, s) : aot_v_str(t, s);
}

static aot_value traced_value(aot_tracer *t, expand_job *j, const aot_xval *v)
{
    switch (v->kind) {
    case AOT_X_ARRAY: return traced_input(t, j, v->u.array);
    case AOT_X_INT: return aot_v_int(v->u.i);
    case AOT_X_BOOL: return aot_v_bool(v->u.i != 0);
    case AOT_X_REAL: return aot_v_float(v->u.f);
    case AOT_X_COMPLEX: return (aot_value){.kind = AOT_V_COMPLEX, .u.z = {v->u.z[0], v->u.z[1]}};
    case AOT_X_DTYPE: return aot_v_dtype((aot_dtype)v->u.i);
    case AOT_X_STR: return traced_text(t, v->u.text);
    case AOT_X_LIST: {
        aot_value *items = aot_arena_calloc(aot_tracer_arena(t), v->n + 1, sizeof *items);
        for (uint32_t i = 0; i < v->n; i++) {
            items[i] = traced_value(t, j, &v->u.items[i]);
        }
        return aot_v_list(t, v->n, items);
    }
    default: return aot_v_none();
    }
}

static aot_value synced(aot_tracer *t, aot_value v)
{
    if (v.kind == AOT_V_TENSOR) {
        aot_trace_sync(t, v.u.t);
        return aot_v_tensor(aot_trace_inner(v.u.t));
    }
    if (!aot_v_is_list(v)) {
        return v;
    }
    aot_value *items = aot_arena_calloc(aot_tracer_arena(t), v.n + 1, sizeof *items);
    for (uint32_t i = 0; i < v.n; i++) {
        items[i] = synced(t, v.u.items[i]);
    }
    return aot_v_list(t, v.n, items);
}

/* What a smaller operator wrote, as batch_norm's the running mean, is written into the argument. */
static void write_back(aot_tracer *t, const expand_job *j)
{
    for (unsigned i = 0; i < j->n_inputs; i++) {
        aot_trace_sync(t, j->inputs[i]);
        aot_tensor *now = aot_trace_inner(j->inputs[i]);
        if (now != j->before[i]) {
            aot_trace_copy_back(t, j->before[i], now, true);
        }
    }
}

static unsigned count_arrays(const aot_xval *v)
{
    unsigned n = v->kind == AOT_X_ARRAY;
    for (uint32_t i = 0; v->kind == AOT_X_LIST && i < v->n; i++) {
        n += count_arrays(&v->u.items[i]);
    }
    return n;
}

static void trace_it(aot_tracer *t, void *arg)
{
    expand_job *j = arg;
    unsigned most = 0;
    for (unsigned i = 0; i < j->n; i++) {
        most += count_arrays(&j->args[i]);
    }
    j->inputs = aot_arena_calloc(aot_tracer_arena(t), most + 1, sizeof(aot_tensor *));
    j->before = aot_arena_calloc(aot_tracer_arena(t), most + 1, sizeof(aot_tensor *));
    aot_value *args = aot_arena_calloc(aot_tracer_arena(t), j->n + 1, sizeof *args);
    for (unsigned i = 0; i < j->n; i++) {
        args[i] = traced_value(t, j, &j->args[i]);
    }
    aot_set_grad_enabled(t, false);
    aot_value out = synced(t, aot_call_op(t, j->op, j->n, args));
    write_back(t, j);
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_trace_output(t, (aot_level)l,
                         l < AOT_LEVEL_FUNCTIONAL ? aot_v_none()
                         : aot_v_is_list(out)     ? out
                                                  : aot_v_list(t, 1, &out));
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void key_of(aot_sb *b, const aot_xval *v)
{
    switch (v->kind) {
    case AOT_X_ARRAY:
        aot_sb_addf(b, "t%d", v->u.array->dtype);
        for (unsigned i = 0; i < v->u.array->ndim; i++) {
            aot_sb_addf(b, ",%lld:%lld", (long long)v->u.array->size[i],
                        (long long)v->u.array->stride[i]);
        }
        break;
    case AOT_X_INT:
    case AOT_X_BOOL:
    case AOT_X_DTYPE:
        aot_sb_addf(b, "%d=%lld", v->kind, (long long)v->u.i);
        break;
    case AOT_X_REAL: aot_sb_addf(b, "r%.17g", v->u.f); break;
    case AOT_X_COMPLEX: aot_sb_addf(b, "z%.17g,%.17g", v->u.z[0], v->u.z[1]); break;
    case AOT_X_STR: aot_sb_addz(b, v->u.text); break;
    case AOT_X_LIST:
        aot_sb_addc(b, '[');
        for (uint32_t i = 0; i < v->n; i++) {
            key_of(b, &v->u.items[i]);
            aot_sb_addc(b, ';');
        }
        break;
    default: break;
    }
    aot_sb_addc(b, '|');
}

static void collect_arrays(const aot_xval *v, aot_xval *out, unsigned *n)
{
    if (v->kind == AOT_X_ARRAY) {
        out[(*n)++] = *v;
    }
    for (uint32_t i = 0; v->kind == AOT_X_LIST && i < v->n; i++) {
        collect_arrays(&v->u.items[i], out, n);
    }
}

static const uint8_t *choices(aot_exec *x)
{
    if (x->choices == NULL) {
        x->choices = aot_xcalloc(AOT_N_OPS, 1);
        for (aot_op_id op = 1; op < AOT_N_OPS; op++) {
            x->choices[op] =
                aot_exec_way_of(op) == AOT_EXEC_DECOMPOSED ? AOT_CHOICE_DECOMPOSE : AOT_CHOICE_KEEP;
        }
    }
    return x->choices;
}

static const aot_graph *trace_expansion(aot_exec *x, expand_job *j)
{
    x->ctx = x->ctx != NULL ? x->ctx : aot_ctx_new();
    aot_trace_options o = {.choice = choices(x)};
    aot_tracer *t = aot_tracer_new(x->ctx, &o);
    aot_err err = {0};
    aot_status s = aot_tracer_run(t, trace_it, j, &err);
    const aot_graph *g = s == AOT_OK ? aot_trace_graph(t, AOT_LEVEL_JOINT) : NULL;
    aot_tracer_free(t);
    if (s != AOT_OK) {
        ex_fail(x, s, "%s has no kernel, and its decomposition cannot be traced: %.240s",
                aot_op(j->op)->name, err.msg);
    }
    return g;
}

aot_xval ex_decomposed(aot_exec *x, aot_op_id op, unsigned n, const aot_xval *args)
{
    enum { DEEPEST = 16 };
    expand_job j = {.x = x, .op = op, .n = n, .args = args};
    aot_sb key = {0};
    unsigned n_in = 0;
    aot_sb_addf(&key, "%u|", op);
    for (unsigned i = 0; i < n; i++) {
        key_of(&key, &args[i]);
        n_in += count_arrays(&args[i]);
    }
    const char *text = aot_arena_strndup(x->scratch, key.d, key.n);
    aot_sb_free(&key);
    if (x->depth > DEEPEST) {
        ex_fail(x, AOT_E_UNSUPPORTED, "%s is decomposed into itself", aot_op(op)->name);
    }
    const aot_graph *g = NULL;
    for (size_t i = 0; i < x->expansions.n && g == NULL; i++) {
        g = strcmp(x->expansions.d[i].key, text) == 0 ? x->expansions.d[i].graph : NULL;
    }
    if (g == NULL) {
        g = trace_expansion(x, &j);
        aot_vec_push(&x->expansions,
                     ((exec_expansion){aot_xstrdup(text), (aot_graph *)(uintptr_t)g, n_in}));
    }
    aot_xval *inputs = AOT_NEW_ARRAY(x->scratch, aot_xval, n_in + 1);
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        collect_arrays(&args[i], inputs, &k);
    }
    x->depth++;
    aot_xval v = ex_graph(x, g, k, inputs);
    x->depth--;
    return v.n == 1 && !ex_op(x, op)->is_list ? v.u.items[0] : v;
}
