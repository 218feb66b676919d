/* Gradients against finite differences, in double.
 *
 * With tangents t the gradient g of L = <t, outputs> must satisfy <g, d> = dL along any direction
 * d: first one direction over all inputs. Only where that fails the inputs are halved, and the
 * elements of those that are left, to say which: what is wrong by a share of <|g|, |d|> is wrong by
 * that share in a half, too. Where both halves are right it was a bend that the whole step led
 * across. For complex values <a, b> is the real part of the sum of conj(a) b, as PyTorch's
 * convention of gradients has it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/kernel.h"
#include "exec/verify_internal.h"
#include "ops/schema.h"

typedef struct grads {
    verify *v;
    aot_exec *x;
    aot_xval *outer;     /* in double */
    aot_xval *tangents;
    aot_xval *direction; /* by outer input; None: not moved */
    aot_run_out call;    /* in double */
    aot_run_out moved;   /* the same call from inputs moved a little; n_outer 0: not run yet */
    bool same_draws;     /* the call drew the same numbers in double */
    /* by node of aten that stops gradients: its value where nothing is moved; NULL */
    aot_xval *held;
    bool is_written;     /* such a value is written later, or a write is where gradients stop */
    unsigned n_runs;     /* of the loss */
    double worst_off;    /* share by which a gradient is off that rounding explains */
    aot_err *err;
} grads;

/* Of the user's inputs. */
typedef struct range {
    int64_t first, end;
} range;

static bool is_complex(const aot_array *x)
{
    return aot_dtype_class((aot_dtype)x->dtype) == AOT_CLASS_COMPLEX;
}

/* Elements as doubles, real and imaginary parts one behind the other. */
static aot_array *flat_as(const aot_array *x, const aot_array *shape, bool complex)
{
    aot_dtype d = complex ? AOT_C128 : AOT_F64;
    if (x->ndim == shape->ndim && memcmp(x->size, shape->size, x->ndim * sizeof *x->size) == 0) {
        return aot_array_flat(x, d);
    }
    aot_array *y = aot_array_new(NULL, d, shape->ndim, shape->size);
    aot_array_assign(y, x);
    return y;
}

static double dot(const aot_array *a, const aot_array *b, double *scale)
{
    bool complex = is_complex(a) || is_complex(b);
    aot_array *x = flat_as(a, a, complex), *y = flat_as(b, a, complex);
    const double *p = (const void *)aot_array_data(x), *q = (const void *)aot_array_data(y);
    double sum = 0, width = complex ? 2 : 1;
    for (int64_t i = 0, n = aot_array_numel(x) * (int64_t)width; i < n; i++) {
        double term = p[i] * q[i]; // re(conj(a) b) is the sum over both parts
        sum += term;
        *scale += fabs(term);
    }
    aot_array_unref(x);
    aot_array_unref(y);
    return sum;
}

/* x += h * d, element by element of a plain array (or of a view of one). */
static void move(aot_array *x, const aot_array *d, double h)
{
    bool complex = is_complex(x);
    aot_array *sum = flat_as(x, x, complex), *step = flat_as(d, x, complex),
              *own = aot_array_new(NULL, complex ? AOT_C128 : AOT_F64, x->ndim, x->size);
    const double *p = (const void *)aot_array_data(sum), *q = (const void *)aot_array_data(step);
    double *to = (void *)aot_array_data(own);
    for (int64_t i = 0, n = aot_array_numel(x) * (complex ? 2 : 1); i < n; i++) {
        to[i] = p[i] + h * q[i];
    }
    aot_array_assign(x, own);
    aot_array_unref(sum);
    aot_array_unref(step);
    aot_array_unref(own);
}

/* ---- where gradients stop -------------------------------------------------------------------- */

/* No gradient goes through a detach or what is computed under no_grad: a finite difference sees it
 * no more if that value stays as it is where nothing is moved. A write cannot be held so. */
static bool writes(const aot_graph *g, aot_node_id id)
{
    bool w = false, aliases;
    aot_op_id op = aot_node_at(g, id)->op;
    if (aot_node_at(g, id)->kind == AOT_CALL_FUNCTION && aot_op(op)->schema != NULL) {
        aot_schema_effects(aot_op(op)->schema, &w, &aliases);
    }
    return w;
}

static bool hold(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                 const aot_live_bytes *live)
{
    grads *v = arg;
    (void)live;
    if (g != v->v->in->aten) {
        return true;
    }
    bool stops = v->v->in->stops[id];
    if (writes(g, id)) {
        const aot_arg *args = aot_node_args(g, aot_node_at(g, id));
        bool of_held = aot_node_at(g, id)->n_args > 0 && args[0].kind == AOT_ARG_NODE &&
                       v->v->in->stops[args[0].u.node];
        v->is_written |= stops || of_held;
    } else if (stops && value->kind == AOT_X_ARRAY) {
        aot_xv_drop(&v->held[id]);
        v->held[id] = aot_copy_value(value);
    }
    return true;
}

static void put_held(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id, aot_xval *value)
{
    grads *v = arg;
    (void)x;
    if (g == v->v->in->aten && v->held[id].kind == AOT_X_ARRAY) {
        aot_xv_drop(value);
        *value = aot_copy_value(&v->held[id]);
    }
}

/* L where the inputs in the range are moved by h along the direction. */
static aot_status loss(grads *g, double h, range in_range, double *out)
{
    verify *v = g->v;
    unsigned n = vf_n_outer(v), n_out = 0, k = 0;
    aot_xval *outer = aot_clone_values(g->outer, n, false), *values = NULL;
    aot_run_out call = {0};
    bool eager = v->in->aten != NULL && v->same_draws;
    for (unsigned i = 0; i < n; i++) {
        if (g->direction[i].kind == AOT_X_ARRAY && i >= in_range.first && i < in_range.end) {
            move(outer[i].u.array, g->direction[i].u.array, h);
        }
    }
    vf_progress(v, "finite differences", ++g->n_runs, 0);
    aot_status s;
    if (eager) {
        aot_exec_options o = {.arg = g};
        if (h == 0 && v->in->stops != NULL) {
            o.observer = hold;
        } else if (v->in->stops != NULL && !g->is_written) {
            o.replace = put_held;
        }
        s = vf_run_graph(v, g->x, false, outer, &o, &values, &n_out, g->err);
    } else {
        aot_run_in in = {
            .calling = v->in->calling, .graph = v->in->joint, .cut = v->in->cut, .outer = outer};
        aot_generator_seed(aot_exec_generator(g->x), v->in->seed);
        s = aot_run_unit(&call, g->x, &in, g->err);
    }
    const aot_xval *got = eager ? values : call.outputs;
    *out = 0;
    for (unsigned i = 0; s == AOT_OK && i < (eager ? n_out : call.n_outputs) && k < v->n_tangents;
         i++) {
        if (v->in->calling->meta.outputs[i].requires_grad && got[i].kind == AOT_X_ARRAY) {
            double scale = 0;
            *out += dot(g->tangents[k++].u.array, got[i].u.array, &scale);
        }
    }
    aot_free_values(values, n_out);
    aot_run_free(&call);
    aot_free_values(outer, n);
    return s;
}

typedef struct slope {
    double by_gradient, by_difference, deviation; /* relative to the sum of |g_i d_i| */
} slope;

enum { N_STEPS = 5 };
static const double steps[N_STEPS] = {1e-5, 1e-6, 1e-4, 1e-8, 1e-9};
static const double MOST_DEVIATION = 1e-4;

/* The best of a few steps: too long a step bends, too short a one rounds. Of thousands of sorted
 * numbers some change places within all but the shortest. */
static aot_status slope_of(grads *g, range of, slope *out)
{
    double scale = 0, sum = 0;
    for (unsigned i = 0; i < vf_n_outer(g->v); i++) {
        if (g->direction[i].kind == AOT_X_ARRAY && i >= of.first && i < of.end &&
            g->call.grads[i].kind == AOT_X_ARRAY) {
            sum += dot(g->call.grads[i].u.array, g->direction[i].u.array, &scale);
        }
    }
    out->deviation = INFINITY;
    for (unsigned k = 0; k < N_STEPS && !(out->deviation <= MOST_DEVIATION); k++) {
        double up, down;
        AOT_TRY(loss(g, steps[k], of, &up));
        AOT_TRY(loss(g, -steps[k], of, &down));
        double slope = (up - down) / (2 * steps[k]), most = fmax(scale, fabs(slope));
        double deviation = most > 1e-9 * (1 + fabs(up)) ? fabs(slope - sum) / most : 0;
        if (!(deviation >= out->deviation)) {
            out->deviation = deviation;
            out->by_gradient = sum;
            out->by_difference = slope;
        }
    }
    return AOT_OK;
}

/* Ranges still to be halved, the first on top. */
typedef struct halves {
    range at[64];
    unsigned n;
} halves;

static void halve(halves *h, range r)
{
    int64_t middle = r.first + (r.end - r.first) / 2;
    h->at[h->n++] = (range){middle, r.end};
    h->at[h->n++] = (range){r.first, middle};
}

/* Runs of the loss after which no more elements are looked for. */
enum { MOST_RUNS = 2000 };

static void note_element(aot_ulps *u, const aot_array *d, int64_t k, const slope *sl)
{
    double diff = fabs(sl->by_gradient - sl->by_difference);
    u->n_beyond = ++u->n_unequal;
    if (!(diff > u->max_abs)) {
        return;
    }
    u->max_abs = diff;
    u->max_rel = diff / fabs(sl->by_difference);
    u->a = sl->by_gradient;
    u->b = sl->by_difference;
    for (unsigned j = d->ndim; j-- > 0;) {
        u->index[j] = k % d->size[j];
        k /= d->size[j];
    }
}

/* The direction of a range of elements; of one alone a step of 1. */
static aot_array *part_of(const aot_array *d, range r)
{
    aot_array *part = aot_array_new(NULL, (aot_dtype)d->dtype, d->ndim, d->size);
    int64_t bytes = aot_array_item_bytes(d);
    double one = 1;
    if (r.end - r.first == 1) {
        aot_store_real(&one, (aot_dtype)d->dtype, aot_array_data(part) + r.first * bytes, 0, 1);
    } else {
        memcpy(aot_array_data(part) + r.first * bytes, aot_array_data(d) + r.first * bytes,
               (size_t)((r.end - r.first) * bytes));
    }
    return part;
}

/* Elements of a gradient that are off, and the one that is furthest. u->n: how many were looked at,
 * alone or among others that are right together. */
static aot_status find_elements(grads *g, unsigned i, aot_ulps *u)
{
    aot_array *d = g->direction[i].u.array;
    halves h = {.n = 1, .at = {{0, aot_array_numel(d)}}};
    aot_status s = AOT_OK;
    *u = (aot_ulps){.what = "value", .ndim = d->ndim};
    while (h.n > 0 && s == AOT_OK && g->n_runs < MOST_RUNS) {
        range r = h.at[--h.n];
        slope sl;
        g->direction[i] = aot_xv_array(part_of(d, r));
        s = slope_of(g, (range){i, i + 1}, &sl);
        aot_xv_drop(&g->direction[i]);
        if (s != AOT_OK) {
            break;
        }
        if (!(sl.deviation <= MOST_DEVIATION) && r.end - r.first > 1) {
            halve(&h, r);
            continue;
        }
        u->n += r.end - r.first;
        if (!(sl.deviation <= MOST_DEVIATION) && sl.by_difference == sl.by_difference) {
            note_element(u, d, r.first, &sl);
        }
    }
    g->direction[i] = aot_xv_array(d);
    u->differs = u->n_beyond > 0;
    return s;
}

static aot_status name_elements(grads *g, unsigned i, const slope *along)
{
    verify *v = g->v;
    aot_ulps u;
    AOT_TRY(find_elements(g, i, &u));
    if (u.differs) {
        vf_finding(v, AOT_VERIFY_GRADIENT, "call", v->in->names[i], UINT32_MAX - 1, &u,
                   "the gradient of %s is not the finite difference of eager: along one direction "
                   "%.9g, not %.9g; of its elements",
                   v->in->names[i], along->by_gradient, along->by_difference);
    } else if (u.n < aot_array_numel(g->direction[i].u.array)) {
        vf_finding(v, AOT_VERIFY_GRADIENT, "call", v->in->names[i], UINT32_MAX - 1, NULL,
                   "the gradient of %s is not the finite difference of eager: along one direction "
                   "%.9g, not %.9g; which of its elements differ was not found in %u runs",
                   v->in->names[i], along->by_gradient, along->by_difference, g->n_runs);
    }
    return AOT_OK;
}

/* The inputs that are off, in order. */
static aot_status name_inputs(grads *g)
{
    halves h = {.n = 1, .at = {{0, vf_n_outer(g->v)}}};
    while (h.n > 0) {
        range r = h.at[--h.n];
        bool moved = false;
        for (int64_t i = r.first; i < r.end; i++) {
            moved |= g->direction[i].kind == AOT_X_ARRAY;
        }
        slope sl;
        if (!moved) {
            continue;
        }
        AOT_TRY(slope_of(g, r, &sl));
        if (sl.deviation <= MOST_DEVIATION) {
            continue;
        }
        if (r.end - r.first > 1) {
            halve(&h, r);
        } else {
            AOT_TRY(name_elements(g, (unsigned)r.first, &sl));
        }
    }
    return AOT_OK;
}

/* ---- precision ------------------------------------------------------------------------------- */

static bool has_half(const aot_graph *g)
{
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, id)->meta);
        if (m->val == AOT_VAL_TENSOR && aot_dtype_class((aot_dtype)m->dtype) == AOT_CLASS_REAL &&
            aot_dtype_get((aot_dtype)m->dtype)->bytes < 4) {
            return true;
        }
    }
    return false;
}

static double largest(const aot_array *x)
{
    double most = 0;
    unsigned parts = is_complex(x) ? 2 : 1;
    aot_array *flat = flat_as(x, x, parts == 2);
    const double *p = (const void *)aot_array_data(flat);
    for (int64_t i = 0, n = aot_array_numel(x); i < n; i++) {
        const double *z = p + i * parts;
        double size = parts == 2 ? hypot(z[0], z[1]) : fabs(z[0]);
        most = size > most ? size : most;
    }
    aot_array_unref(flat);
    return most;
}

/* |a - b| / |b|, of all elements together. */
static double distance(const aot_array *a, const aot_array *b)
{
    double scale = 0, aa = dot(a, a, &scale), ab = dot(a, b, &scale), bb = dot(b, b, &scale);
    return bb > 0 ? sqrt(fmax(aa - 2 * ab + bb, 0) / bb) : INFINITY;
}

static aot_status call_in_double(grads *g, aot_run_out *out, aot_xval *outer)
{
    verify *v = g->v;
    aot_run_in in = {.calling = v->in->calling,
                     .graph = v->in->joint,
                     .cut = v->in->cut,
                     .outer = outer,
                     .tangents = g->tangents,
                     .n_tangents = v->n_tangents,
                     .fault = v->in->fault};
    aot_generator_seed(aot_exec_generator(g->x), v->in->seed);
    return aot_run_unit(out, g->x, &in, g->err);
}

/* Each number of the inputs moved by about this share of it. */
static aot_status call_moved(grads *g, double share)
{
    unsigned n = vf_n_outer(g->v);
    uint64_t state = g->v->in->seed ^ 0x6d6f7665;
    aot_xval *outer = aot_clone_values(g->outer, n, false);
    for (unsigned i = 0; i < n; i++) {
        aot_array *x = outer[i].kind == AOT_X_ARRAY ? outer[i].u.array : NULL;
        if (x == NULL || aot_dtype_class((aot_dtype)x->dtype) != AOT_CLASS_REAL) {
            continue;
        }
        aot_array *step = aot_array_new(NULL, AOT_F64, x->ndim, x->size),
                  *was = flat_as(x, x, false);
        vf_fill_normal(step, &state);
        double *d = (void *)aot_array_data(step);
        const double *p = (const void *)aot_array_data(was);
        for (int64_t k = 0, m = aot_array_numel(x); k < m; k++) {
            d[k] *= p[k];
        }
        move(x, step, share);
        aot_array_unref(step);
        aot_array_unref(was);
    }
    aot_status s = call_in_double(g, &g->moved, outer);
    aot_free_values(outer, n);
    return s;
}

/* Whether rounding explains how far a gradient is from the one in double: where a number is rounded
 * to the other side of a bend (of a ReLU, of a maximum) single elements change by much, and where
 * a norm is taken of two or three numbers all of them do. So the gradient may be as far off as it
 * is in double from inputs that are moved by some of the dtype's rounding. */
static bool is_rounding(grads *g, unsigned i, bool half)
{
    const aot_array *a = g->v->call.grads[i].u.array, *b = g->call.grads[i].u.array;
    double off = distance(a, b);
    if (off <= (half ? 0.2 : 1e-2)) {
        return true;
    }
    if (g->moved.n_outer == 0 && call_moved(g, half ? 1e-2 : 1e-5) != AOT_OK) {
        return false;
    }
    const aot_xval *m = &g->moved.grads[i];
    bool explained = m->kind == AOT_X_ARRAY && off <= 4 * distance(m->u.array, b);
    if (explained && off > g->worst_off) {
        g->worst_off = off;
    }
    return explained;
}

/* Gradients as computed beside those in double: rounding, and no more. */
static void compare_precision(grads *g)
{
    verify *v = g->v;
    // of all: where terms cancel, one may be zero
    bool half = has_half(v->in->joint);
    double rel = half ? 0.2 : 2e-3, most = 0;
    for (unsigned i = 0; i < vf_n_outer(v); i++) {
        const aot_xval *b = &g->call.grads[i];
        most = b->kind == AOT_X_ARRAY ? fmax(most, largest(b->u.array)) : most;
    }
    for (unsigned i = 0; i < vf_n_outer(v); i++) {
        const aot_xval *a = &v->call.grads[i], *b = &g->call.grads[i];
        aot_ulps u;
        if (a->kind != AOT_X_ARRAY || b->kind != AOT_X_ARRAY) {
            continue;
        }
        aot_array *wide = aot_array_flat(a->u.array, (aot_dtype)b->u.array->dtype);
        aot_xval w = aot_xv_array(wide);
        aot_tolerance t = {0, rel * largest(b->u.array) + rel / 20 * most + 1e-6};
        aot_ulps_compare(&u, &w, b, &t);
        aot_array_unref(wide);
        u.max_ulps = 0; // of double
        if (u.differs && !is_rounding(g, i, half)) {
            vf_finding(
                v, AOT_VERIFY_PRECISION, "call", v->in->names[i], UINT32_MAX, &u,
                "the gradient of %s is further from the one in double than rounding explains",
                v->in->names[i]);
        }
    }
    if (g->worst_off > 0) {
        vf_note(v, "gradients are up to %.2g%% from those in double; inputs moved by a share of %g "
                   "move them as far: these inputs are near bends, or norms of few numbers",
                100 * g->worst_off, half ? 1e-2 : 1e-5);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool make_directions(grads *g)
{
    verify *v = g->v;
    uint64_t state = v->in->seed ^ 0x646972;
    bool any = false;
    g->direction = aot_xcalloc(vf_n_outer(v) + 1, sizeof *g->direction);
    for (unsigned i = 0; i < vf_n_outer(v); i++) {
        const aot_outer_input *o = &v->in->calling->outer[i];
        if (!o->is_tensor || o->duplicate || !o->requires_grad || g->outer[i].kind != AOT_X_ARRAY ||
            aot_dtype_class((aot_dtype)g->outer[i].u.array->dtype) == AOT_CLASS_INT) {
            continue;
        }
        const aot_array *x = g->outer[i].u.array;
        aot_array *d = aot_array_new(NULL, (aot_dtype)x->dtype, x->ndim, x->size);
        vf_fill_normal(d, &state);
        g->direction[i] = aot_xv_array(d);
        any = true;
    }
    return any;
}

static aot_status compare_slopes(grads *g)
{
    slope all;
    double at;
    AOT_TRY(loss(g, 0, (range){0, 0}, &at));
    if (!isfinite(at)) {
        g->v->out->not_finite = true;
        vf_note(g->v, "gradients are not compared with finite differences: outputs hold NaN or "
                      "infinities for these inputs");
        return AOT_OK;
    }
    for (unsigned i = 0; i < vf_n_outer(g->v); i++) {
        g->v->out->n_gradients += g->direction[i].kind == AOT_X_ARRAY;
    }
    AOT_TRY(slope_of(g, (range){0, vf_n_outer(g->v)}, &all));
    if (all.deviation <= MOST_DEVIATION) {
        g->v->out->max_fd = all.deviation;
        if (g->same_draws) {
            compare_precision(g);
        }
        return AOT_OK;
    }
    const char *why = g->is_written ? "a value is written where autograd does not see it (detach, "
                                      "no_grad)"
                                    : vf_own_gradient(g->v->in);
    if (why != NULL) {
        vf_note(g->v,
                "gradients are not compared with finite differences, which are others (along one "
                "direction %.9g, not %.9g): %s",
                all.by_difference, all.by_gradient, why);
        g->v->out->n_gradients = 0;
        return AOT_OK;
    }
    return name_inputs(g);
}

static bool has_subclass(const verify *v)
{
    bool any = false;
    for (unsigned i = 0; i < vf_n_outer(v); i++) {
        any |= v->in->outer[i].kind == AOT_X_LIST || v->call.grads[i].kind == AOT_X_LIST;
    }
    return any;
}

void vf_gradients(verify *v)
{
    unsigned n = vf_n_outer(v);
    if (has_subclass(v)) {
        vf_note(v, "gradients are not compared with finite differences: a tensor subclass has them "
                   "one by one");
        return;
    }
    aot_err own = {0};
    grads g = {.v = v, .x = aot_exec_new(), .err = &own};
    unsigned n_held = v->in->stops != NULL ? v->in->aten->nodes.n : 0;
    g.held = aot_xcalloc(n_held + 1u, sizeof *g.held);
    aot_exec_set_double(g.x, true);
    g.outer = aot_clone_values(v->in->outer, n, true);
    g.tangents = aot_clone_values(v->tangents, v->n_tangents, true);
    bool any = make_directions(&g);
    aot_xval *outer = aot_clone_values(g.outer, n, false);
    aot_status s = any ? call_in_double(&g, &g.call, outer) : AOT_OK;
    g.same_draws = vf_same_state(aot_exec_generator(g.x), &v->behind_call);
    s = s == AOT_OK && any ? compare_slopes(&g) : s;
    if (s != AOT_OK) {
        vf_note(v, "gradients are not compared with finite differences: in double, %.300s",
                own.msg);
    }
    aot_free_values(outer, n);
    aot_free_values(g.outer, n);
    aot_free_values(g.tangents, v->n_tangents);
    aot_free_values(g.direction, n);
    aot_free_values(g.held, n_held);
    aot_run_free(&g.call);
    aot_run_free(&g.moved);
    aot_exec_free(g.x);
}
