/* The tracer's state: emitting, beginning and ending a trace. */
#include "joint/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"

void trace_fail(trace *t, aot_status code, const char *fmt, ...)
{
    if (t->st != AOT_OK) {
        return;
    }
    char msg[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    t->st = AOT_FAIL(&t->err, code, "%s", msg);
}

aot_arg trace_arg(const trace_value *v)
{
    switch (v->kind) {
    case TRACE_NODE:
        return fx_a_node(v->node);
    case TRACE_NUMBER:
        return v->is_int ? fx_a_int((int64_t)v->number) : fx_a_float(v->number);
    default:
        return (aot_arg){.kind = AOT_ARG_NONE};
    }
}

aot_fake trace_type(const trace *t, uint32_t id)
{
    return id == AOT_NO_NODE ? (aot_fake){0} : joint_type(&t->f, id);
}

uint32_t trace_emit(trace *t, const char *target, const aot_arg *args, uint32_t n_args,
                    const fx_kwarg *kwargs, uint32_t n_kwargs)
{
    if (t->st != AOT_OK) {
        return AOT_NO_NODE;
    }
    uint32_t id = fx_call(&t->f, target, args, n_args, kwargs, n_kwargs);
    aot_vec_push(&t->rg, 0);
    t->st = fx_infer(&t->f, id, &t->err);
    return t->st == AOT_OK ? id : AOT_NO_NODE;
}

uint32_t trace_call1(trace *t, const char *target, uint32_t a)
{
    aot_arg arg = fx_a_node(a);
    return trace_emit(t, target, &arg, 1, NULL, 0);
}

uint32_t trace_call2(trace *t, const char *target, uint32_t a, aot_arg b)
{
    aot_arg args[2] = {fx_a_node(a), b};
    return trace_emit(t, target, args, 2, NULL, 0);
}

aot_arg trace_sizes(trace *t, const aot_dim *sizes, unsigned n)
{
    aot_arg items[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        if (sizes[i].expr != 0) {
            trace_fail(t, AOT_E_UNSUPPORTED, "symbolic sizes are not written into replacements");
        }
        items[i] = fx_a_int(sizes[i].value);
    }
    return fx_a_list(&t->f, items, n);
}

void trace_begin(trace *t, aot_ctx *c, bool grad)
{
    *t = (trace){.grad = grad};
    fx_init(&t->f, c);
}

uint32_t trace_placeholder(trace *t, aot_meta_id meta, bool grad)
{
    uint32_t id = fx_placeholder(&t->f, meta);
    aot_vec_push(&t->rg, grad && t->grad);
    return id;
}

static void clean(trace *t)
{
    joint_remove_noops(&t->f, NULL, 0);
    if (t->grad) {
        joint_early_patterns(&t->f);
    }
    fx_eliminate_dead(&t->f);
}

void trace_end(trace *t, const uint32_t *outs, unsigned n_outs, const uint32_t *wrt, unsigned n_wrt)
{
    AOT_VEC(aot_arg) returned = {0};
    for (unsigned i = 0; i < n_outs; i++) {
        aot_vec_push(&returned, fx_a_node(outs[i]));
    }
    if (t->st == AOT_OK && t->grad) {
        // a tangent has the type of its output; it is an input, so it stands with the inputs
        uint32_t first = t->f.head;
        while (first != AOT_NO_NODE && fx_node(&t->f, first)->kind == AOT_PLACEHOLDER) {
            first = fx_next(&t->f, first);
        }
        fx_insert_before(&t->f, first);
        aot_vec_push(&t->tangents, trace_placeholder(t, fx_node(&t->f, outs[0])->meta, false));
        t->f.before = AOT_NO_NODE;
        uint32_t *grads = trace_backward(t, outs[0], t->tangents.d[0]);
        for (unsigned i = 0; i < n_wrt; i++) {
            uint32_t g = wrt[i] != AOT_NO_NODE ? grads[wrt[i]] : AOT_NO_NODE;
            aot_vec_push(&returned,
                         g != AOT_NO_NODE ? fx_a_node(g) : (aot_arg){.kind = AOT_ARG_NONE});
        }
        free(grads);
    }
    if (t->st == AOT_OK) {
        fx_set_output(&t->f, returned.d, (uint32_t)returned.n);
        clean(t);
        const aot_arg *list = fx_args(&t->f, fx_output(&t->f));
        for (uint32_t i = 0; i < list->n; i++) {
            const aot_arg *a = &t->f.g->args.d[list->u.first + i];
            aot_vec_push(&t->outs, a->kind == AOT_ARG_NODE ? a->u.node : AOT_NO_NODE);
        }
    }
    aot_vec_free(&returned);
}

void trace_free(trace *t)
{
    fx_free(&t->f);
    aot_vec_free(&t->rg);
    aot_vec_free(&t->tape);
    aot_vec_free(&t->items);
    aot_vec_free(&t->flashes);
    aot_vec_free(&t->inputs);
    aot_vec_free(&t->tangents);
    aot_vec_free(&t->outs);
}
