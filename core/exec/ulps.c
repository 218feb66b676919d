/* Comparison of values. Units of the last place are counted as steps between neighbouring numbers
 * of the dtype: the bits of a float, as sign and magnitude, are in the order of the numbers. */
#include "exec/ulps.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

aot_tolerance aot_tolerance_of(aot_dtype d)
{
    switch (d) {
    case AOT_F64: case AOT_C128: return (aot_tolerance){1e-7, 1e-7};
    case AOT_F32: case AOT_C64: return (aot_tolerance){1.3e-6, 1e-5};
    case AOT_F16: return (aot_tolerance){1e-3, 1e-5};
    case AOT_BF16: return (aot_tolerance){1.6e-2, 1e-5};
    default:
        return aot_dtype_class(d) == AOT_CLASS_REAL ? (aot_tolerance){0.125, 1e-3}
                                                    : (aot_tolerance){0, 0};
    }
}

/* The place of a float in the order of all floats of its width. */
static int64_t place_of(const char *p, unsigned bytes)
{
    uint64_t u = 0;
    memcpy(&u, p, bytes); // the machine is little-endian, as the formats of files are
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    return (u & sign) != 0 ? -(int64_t)(u & (sign - 1)) : (int64_t)u;
}

static uint64_t steps(const char *p, const char *q, unsigned bytes)
{
    int64_t a = place_of(p, bytes), b = place_of(q, bytes);
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

typedef struct walk {
    aot_ulps *u;
    const aot_array *shape;
    aot_tolerance t;
    double worst; /* largest difference so far, of those beyond the tolerance first */
    bool worst_is_beyond;
} walk;

static void note_worst(walk *w, int64_t i, double a, double b, double diff, bool beyond)
{
    aot_ulps *u = w->u;
    if (beyond == w->worst_is_beyond ? !(diff > w->worst) : w->worst_is_beyond) {
        return;
    }
    w->worst = diff;
    w->worst_is_beyond = beyond;
    u->a = a;
    u->b = b;
    for (unsigned d = w->shape->ndim; d-- > 0;) {
        u->index[d] = i % w->shape->size[d];
        i /= w->shape->size[d];
    }
}

/* Over zero neither steps nor ratios say anything. */
static bool same_side(double a, double b)
{
    return (a > 0 && b > 0) || (a < 0 && b < 0);
}

/* One number of each, of element i. */
static void compare_numbers(walk *w, int64_t i, double a, double b)
{
    aot_ulps *u = w->u;
    if (a == b || (a != a && b != b)) {
        return;
    }
    double diff = fabs(a - b), rel = diff / fabs(b);
    bool beyond = !(diff <= w->t.abs + w->t.rel * fabs(b)) || isinf(a) != isinf(b);
    diff = diff == diff ? diff : INFINITY;
    u->n_unequal++;
    u->n_beyond += beyond;
    u->max_abs = fmax(u->max_abs, diff);
    u->max_rel = same_side(a, b) && isfinite(rel) ? fmax(u->max_rel, rel) : u->max_rel;
    note_worst(w, i, a, b, diff, beyond);
}

static void compare_arrays(walk *w, const aot_array *a, const aot_array *b)
{
    aot_dtype d = (aot_dtype)a->dtype;
    unsigned bytes = (unsigned)aot_array_item_bytes(a);
    aot_class c = aot_dtype_class(d);
    enum { BLOCK = 256 }; // most are the same: passed over together
    for (int64_t i = 0; i < w->u->n; i++) {
        int64_t rest = w->u->n - i, k = rest < BLOCK ? rest : BLOCK;
        if (i % BLOCK == 0 &&
            memcmp(aot_array_data(a) + i * bytes, aot_array_data(b) + i * bytes,
                   (size_t)(k * bytes)) == 0) {
            i += k - 1;
            continue;
        }
        const char *p = aot_array_data(a) + i * bytes, *q = aot_array_data(b) + i * bytes;
        if (memcmp(p, q, bytes) == 0) {
            continue;
        }
        if (c == AOT_CLASS_INT) {
            int64_t x = aot_get_int(d, p), y = aot_get_int(d, q);
            compare_numbers(w, i, (double)x, (double)y);
            continue;
        }
        unsigned parts = c == AOT_CLASS_COMPLEX ? 2 : 1, part = bytes / parts;
        aot_complex x, y;
        aot_load_complex(&x, d, p, 0, 1);
        aot_load_complex(&y, d, q, 0, 1);
        for (unsigned k = 0; k < parts; k++) {
            double f = k == 0 ? creal(x) : cimag(x), g = k == 0 ? creal(y) : cimag(y);
            if (same_side(f, g)) {
                uint64_t n = steps(p + k * part, q + k * part, part);
                w->u->max_ulps = n > w->u->max_ulps ? n : w->u->max_ulps;
            }
            compare_numbers(w, i, f, g);
        }
    }
}

static void compare_tensors(aot_ulps *u, const aot_array *a, const aot_array *b,
                            const aot_tolerance *t)
{
    u->n = aot_array_numel(a);
    u->ndim = a->ndim;
    u->what = a->dtype != b->dtype ? "dtype" : "shape";
    u->differs = a->dtype != b->dtype || a->ndim != b->ndim ||
                 memcmp(a->size, b->size, a->ndim * sizeof *a->size) != 0;
    if (u->differs) {
        return;
    }
    u->what = "value";
    bool exact = aot_dtype_class((aot_dtype)a->dtype) == AOT_CLASS_INT;
    walk w = {u, a, t != NULL && !exact ? *t : aot_tolerance_of((aot_dtype)a->dtype), -1, false};
    aot_array *x = aot_array_flat(a, (aot_dtype)a->dtype),
              *y = aot_array_flat(b, (aot_dtype)b->dtype);
    compare_arrays(&w, x, y);
    aot_array_unref(x);
    aot_array_unref(y);
    u->differs = u->n_beyond > 0;
}

static double number_of(const aot_xval *v)
{
    return v->kind == AOT_X_REAL ? v->u.f : (double)v->u.i;
}

static void compare_items(aot_ulps *u, const aot_xval *a, const aot_xval *b, const aot_tolerance *t)
{
    u->differs = a->n != b->n;
    u->what = "shape";
    for (uint32_t i = 0; i < a->n && !u->differs; i++) {
        aot_ulps item;
        aot_ulps_compare(&item, &a->u.items[i], &b->u.items[i], t);
        if (item.differs || item.max_ulps >= u->max_ulps) {
            *u = item;
        }
    }
}

void aot_ulps_compare(aot_ulps *u, const aot_xval *a, const aot_xval *b, const aot_tolerance *t)
{
    *u = (aot_ulps){.what = "kind"};
    if (a->kind != b->kind) {
        u->differs = true;
        return;
    }
    switch (a->kind) {
    case AOT_X_ARRAY: compare_tensors(u, a->u.array, b->u.array, t); break;
    case AOT_X_LIST: compare_items(u, a, b, t); break;
    case AOT_X_INT: case AOT_X_BOOL: case AOT_X_REAL:
        *u = (aot_ulps){.what = "value", .n = 1, .a = number_of(a), .b = number_of(b)};
        u->differs = !(u->a == u->b || (u->a != u->a && u->b != u->b));
        u->n_unequal = u->n_beyond = u->differs;
        u->max_abs = u->differs ? fabs(u->a - u->b) : 0;
        u->max_rel = u->differs && same_side(u->a, u->b) ? u->max_abs / fabs(u->b) : 0;
        break;
    default: break; // None, names and texts come from the graph
    }
}

void aot_ulps_print(aot_sb *out, const aot_ulps *u)
{
    if (strcmp(u->what, "value") != 0) {
        aot_sb_addf(out, "another %s", u->what);
        return;
    }
    if (u->n_unequal == 0) {
        aot_sb_addz(out, "the same");
        return;
    }
    aot_sb_addf(out, "%" PRId64 " of %" PRId64 " element%s differ%s, most at [",
                u->n_beyond > 0 ? u->n_beyond : u->n_unequal, u->n, u->n == 1 ? "" : "s",
                u->n == 1 ? "s" : "");
    for (unsigned i = 0; i < u->ndim; i++) {
        aot_sb_addf(out, "%s%" PRId64, i > 0 ? ", " : "", u->index[i]);
    }
    aot_sb_addf(out, "]: %.9g and %.9g (", u->a, u->b);
    if (u->max_ulps > 0) {
        aot_sb_addf(out, "up to %" PRIu64 " ulp%s, ", u->max_ulps, u->max_ulps == 1 ? "" : "s");
    }
    aot_sb_addf(out, "abs %.3g", u->max_abs);
    if (u->max_rel > 0) {
        aot_sb_addf(out, ", rel %.3g", u->max_rel);
    }
    aot_sb_addc(out, ')');
}
