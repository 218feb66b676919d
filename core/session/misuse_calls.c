/* Calls in another order than forward, backward; and what an input may be that it was not. */
#include <stdlib.h>

#include "exec/clones.h"
#include "exec/kernel.h"
#include "session/misuse_internal.h"

/* Forwards and backwards on one set of inputs. */
typedef struct calls {
    misuse *m;
    aot_xval *outer;
    aot_run_in in;
    aot_run_out out[2];
    aot_wrapped *call[2];
    aot_xval *tangents;
    unsigned n_tangents;
    aot_err err; /* of what is tried */
} calls;

static void start(calls *c, misuse *m)
{
    *c = (calls){.m = m, .outer = aot_clone_values(m->in->outer, m->n_outer, false)};
    c->in = misuse_call(m, c->outer);
    aot_generator_seed(aot_exec_generator(m->v.x), m->in->seed);
}

static void finish(calls *c)
{
    for (unsigned i = 0; i < 2; i++) {
        aot_wrapped_free(c->call[i]);
        aot_run_free(&c->out[i]);
    }
    aot_free_values(c->tangents, c->n_tangents);
    aot_free_values(c->outer, c->m->n_outer);
}

/* Tangents are normal numbers, of the first call's outputs. */
static void make_tangents(calls *c)
{
    uint64_t state = c->m->in->seed ^ 0x7a6e;
    c->tangents = aot_xcalloc(c->out[0].n_outputs + 1u, sizeof *c->tangents);
    for (unsigned i = 0; i < c->out[0].n_outputs; i++) {
        const aot_xval *o = &c->out[0].outputs[i];
        if (c->in.calling->meta.outputs[i].requires_grad && o->kind == AOT_X_ARRAY) {
            aot_array *t = aot_array_new(NULL, (aot_dtype)o->u.array->dtype, o->u.array->ndim,
                                         o->u.array->size);
            vf_fill_normal(t, &state);
            c->tangents[c->n_tangents++] = aot_xv_array(t);
        }
    }
    c->in.tangents = c->tangents;
    c->in.n_tangents = c->n_tangents;
}

static aot_status forward(calls *c, unsigned i)
{
    aot_status s = aot_wrapped_forward(&c->call[i], &c->out[i], c->m->v.x, &c->in, &c->err);
    if (s == AOT_OK && c->tangents == NULL) {
        make_tangents(c);
    }
    return s;
}

static aot_status backward(calls *c, unsigned i, bool retain)
{
    return aot_wrapped_backward(c->call[i], retain, &c->err);
}

static bool has_backward(const misuse *m)
{
    return m->in->r->cut != NULL;
}

static const char no_backward[] = "no backward";

/* ---- two forwards before a backward ---------------------------------------------------------- */

static void tell_held(misuse *m, const calls *c)
{
    aot_held_bytes a = aot_wrapped_held(c->call[0]), b = aot_wrapped_held(c->call[1]);
    vf_note(&m->v,
            "held until the backwards: %lld B of saved values by the first call, %lld B by the "
            "second, %lld B together; %lld B of what is saved are the inputs' own",
            (long long)a.own, (long long)b.own, (long long)(a.own + b.own), (long long)a.of_inputs);
}

static void compare_gradients(misuse *m, const calls *got, const calls *expected)
{
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < m->n_outer; i++) {
            const aot_xval *g = &got->out[k].grads[i];
            m->v.out->n_gradients += g->kind != AOT_X_NONE;
            misuse_compare(m, AOT_VERIFY_GRADIENT,
                           vf_text(&m->v, "the gradient of %s, call %u", m->in->r->sources[i], k),
                           g, &expected->out[k].grads[i]);
        }
    }
}

/* What one call after the other gives; false: it cannot be said. */
static bool in_order(calls *c, misuse *m)
{
    start(c, m);
    c->in.trace = NULL;
    return forward(c, 0) == AOT_OK && backward(c, 0, false) == AOT_OK && forward(c, 1) == AOT_OK &&
           backward(c, 1, false) == AOT_OK;
}

aot_status misuse_TWO_FORWARDS(misuse *m)
{
    calls c, ordered = {.m = m};
    if (!has_backward(m)) {
        return misuse_nothing(m, no_backward);
    }
    start(&c, m);
    aot_status s = forward(&c, 0);
    s = s == AOT_OK ? forward(&c, 1) : s;
    if (s == AOT_OK) {
        tell_held(m, &c);
        s = backward(&c, 0, false);
        s = s == AOT_OK ? backward(&c, 1, false) : s;
    }
    aot_generator behind = *aot_exec_generator(m->v.x);
    if (s == AOT_OK && in_order(&ordered, m) &&
        vf_same_state(&behind, aot_exec_generator(m->v.x))) {
        compare_gradients(m, &c, &ordered);
    }
    finish(&ordered);
    s = misuse_caught(m, s, &c.err);
    finish(&c);
    return s;
}

/* ---- backwards ------------------------------------------------------------------------------- */

aot_status misuse_BACKWARD_TWICE(misuse *m)
{
    calls c;
    if (!has_backward(m)) {
        return misuse_nothing(m, no_backward);
    }
    start(&c, m);
    aot_status s = forward(&c, 0);
    s = s == AOT_OK ? backward(&c, 0, false) : s;
    s = s == AOT_OK ? backward(&c, 0, false) : s;
    s = misuse_caught(m, s, &c.err);
    finish(&c);
    return s;
}

aot_status misuse_RETAIN_GRAPH(misuse *m)
{
    calls c;
    if (!has_backward(m)) {
        return misuse_nothing(m, no_backward);
    }
    start(&c, m);
    aot_status s = forward(&c, 0);
    s = s == AOT_OK ? backward(&c, 0, false) : s;
    s = s == AOT_OK ? forward(&c, 1) : s;
    s = s == AOT_OK ? backward(&c, 1, true) : s;
    s = s == AOT_OK ? backward(&c, 1, false) : s;
    s = misuse_caught(m, s, &c.err);
    finish(&c);
    return s;
}

/* ---- what is saved is written ---------------------------------------------------------------- */

static int input_of(const calls *c, const aot_storage *s)
{
    for (unsigned i = 0; i < c->m->n_outer; i++) {
        if (c->outer[i].kind == AOT_X_ARRAY && c->outer[i].u.array->storage == s) {
            return (int)i;
        }
    }
    return -1;
}

/* The first input that is saved, as it is or through a view; -1. */
static int saved_input(const calls *c)
{
    unsigned n;
    const aot_xval *v = aot_wrapped_saved(c->call[0], &n);
    int found = -1;
    for (unsigned i = 0; i < n && found < 0; i++) {
        found = v[i].kind == AOT_X_ARRAY ? input_of(c, v[i].u.array->storage) : -1;
    }
    return found;
}

aot_status misuse_WRITTEN_SAVED(misuse *m)
{
    calls c;
    if (!has_backward(m)) {
        return misuse_nothing(m, no_backward);
    }
    start(&c, m);
    aot_status s = forward(&c, 0);
    int i = s == AOT_OK ? saved_input(&c) : -1;
    if (i >= 0) {
        vf_note(&m->v, "%s is filled with zeros behind the forward", m->in->r->sources[i]);
        aot_array_fill(c.outer[i].u.array, 0);
        c.outer[i].u.array->storage->version++;
        s = backward(&c, 0, false);
    }
    s = s == AOT_OK && i < 0 ? misuse_nothing(m, "no input that is saved")
                             : misuse_caught(m, s, &c.err);
    finish(&c);
    return s;
}

/* ---- requires_grad --------------------------------------------------------------------------- */

static int without_gradient(const misuse *m)
{
    const aot_calling *how = &m->in->r->capture.calling;
    for (int i = 0; i < how->n_outer; i++) {
        const aot_xval *v = &m->in->outer[i];
        if (how->outer[i].is_tensor && !how->outer[i].requires_grad && v->kind == AOT_X_ARRAY &&
            aot_dtype_class((aot_dtype)v->u.array->dtype) != AOT_CLASS_INT) {
            return i;
        }
    }
    return -1;
}

aot_status misuse_REQUIRES_GRAD(misuse *m)
{
    const aot_calling *how = &m->in->r->capture.calling;
    int at = without_gradient(m);
    calls c;
    if (at < 0 || !has_backward(m)) {
        return misuse_nothing(m, has_backward(m) ? "no input of floats that requires no grad"
                                                 : no_backward);
    }
    bool *wants = aot_xcalloc(m->n_outer + 1u, sizeof *wants);
    for (int i = 0; i < how->n_outer; i++) {
        wants[i] = how->outer[i].requires_grad || i == at;
    }
    start(&c, m);
    c.in.requires_grad = wants;
    vf_note(&m->v, "%s requires grad", m->in->r->sources[at]);
    aot_status s = forward(&c, 0);
    s = s == AOT_OK ? backward(&c, 0, false) : s;
    s = misuse_caught(m, s, &c.err);
    if (s == AOT_OK && m->v.out->findings.n == 0) {
        vf_finding(&m->v, AOT_VERIFY_GRADIENT, "call", m->in->r->sources[at], 1, NULL,
                   "%s gets no gradient: the unit was compiled for one that does not require grad",
                   m->in->r->sources[at]);
    }
    finish(&c);
    free(wants);
    return s;
}
