/* torch.gradient where tensors say at which coordinates the values were taken.
 * Mirrors aten/src/ATen/native/ReduceOps.cpp:gradient_helper. Operands are computed from the right
 * to the left, as the compiler of PyTorch's releases orders them. */
#include "decomp/decomp.h"

static aot_tensor *piece(aot_tracer *t, aot_tensor *x, int64_t dim, int64_t from, int64_t to)
{
    return AOT(t, aten_slice_Tensor, x, dim, from, to == 0 ? aot_v_none() : aot_v_int(to));
}

static aot_tensor *at(aot_tracer *t, aot_tensor *step, int64_t i)
{
    return AOT(t, aten_select_int, step, 0, i);
}

/* The sum of three ranges of x, each times its weight. */
static aot_tensor *weighted(aot_tracer *t, aot_tensor *const *weight, aot_tensor *x, int64_t dim,
                            const int64_t (*range)[2])
{
    aot_tensor *part[3];
    for (unsigned i = 3; i-- > 0;) {
        part[i] = MUL(weight[i], piece(t, x, dim, range[i][0], range[i][1]));
    }
    aot_tensor *sum = ADD(part[0], part[1]);
    return ADD(sum, part[2]);
}

/* The inner values, by steps to the left and to the right. */
static aot_tensor *inner(aot_tracer *t, aot_tensor *x, aot_tensor *step, int64_t dim)
{
    static const int64_t range[3][2] = {{0, -2}, {1, -1}, {2, 0}};
    aot_tensor *left = piece(t, step, 0, 0, -1), *right = piece(t, step, 0, 1, 0), *w[3], *x2;
    int64_t shape[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_ndim(x);
    for (unsigned i = 0; i < n; i++) {
        shape[i] = i == dim ? -1 : 1;
    }
    x2 = ADD(left, right);
    x2 = MUL(left, x2);
    w[0] = DIV(NEG(right), x2);
    w[0] = AOT(t, aten_reshape, w[0], aot_v_ints(t, n, shape));
    x2 = MUL(left, right);
    w[1] = SUB(right, left);
    w[1] = DIV(w[1], x2);
    w[1] = AOT(t, aten_reshape, w[1], aot_v_ints(t, n, shape));
    x2 = ADD(left, right);
    x2 = MUL(right, x2);
    w[2] = DIV(left, x2);
    w[2] = AOT(t, aten_reshape, w[2], aot_v_ints(t, n, shape));
    return weighted(t, w, x, dim, range);
}

static aot_tensor *end_of_order_1(aot_tracer *t, aot_tensor *x, aot_tensor *step, int64_t dim,
                                  bool last)
{
    aot_tensor *h = at(t, step, last ? -1 : 0);
    aot_tensor *first = last ? piece(t, x, dim, -2, -1) : piece(t, x, dim, 0, 1);
    aot_tensor *second = last ? piece(t, x, dim, -1, 0) : piece(t, x, dim, 1, 2);
    second = SUB(second, first);
    return DIV(second, h);
}

/* step[i] + step[j] */
static aot_tensor *both(aot_tracer *t, aot_tensor *step, int64_t i, int64_t j)
{
    aot_tensor *b = at(t, step, j), *a = at(t, step, i);
    return ADD(a, b);
}

/* 2 * step[i] + step[j] */
static aot_tensor *twice(aot_tracer *t, aot_tensor *step, int64_t i, int64_t j)
{
    aot_tensor *b = at(t, step, j);
    aot_tensor *a = AOT(t, aten_mul_Scalar, at(t, step, i), 2);
    return ADD(a, b);
}

/* step[i] * (step[j] + step[k]) */
static aot_tensor *times_both(aot_tracer *t, aot_tensor *step, int64_t i, int64_t j, int64_t k)
{
    aot_tensor *sum = both(t, step, j, k);
    return MUL(at(t, step, i), sum);
}

static aot_tensor *product(aot_tracer *t, aot_tensor *step, int64_t i, int64_t j)
{
    aot_tensor *b = at(t, step, j), *a = at(t, step, i);
    return MUL(a, b);
}

static aot_tensor *first_of_order_2(aot_tracer *t, aot_tensor *x, aot_tensor *step, int64_t dim)
{
    static const int64_t range[3][2] = {{0, 1}, {1, 2}, {2, 3}};
    aot_tensor *w[3], *below = times_both(t, step, 0, 0, 1);
    w[0] = NEG(twice(t, step, 0, 1));
    w[0] = DIV(w[0], below);
    below = product(t, step, 0, 1);
    w[1] = both(t, step, 0, 1);
    w[1] = DIV(w[1], below);
    below = times_both(t, step, 1, 0, 1);
    w[2] = NEG(at(t, step, 0));
    w[2] = DIV(w[2], below);
    return weighted(t, w, x, dim, range);
}

static aot_tensor *last_of_order_2(aot_tracer *t, aot_tensor *x, aot_tensor *step, int64_t dim)
{
    static const int64_t range[3][2] = {{-3, -2}, {-2, -1}, {-1, 0}};
    aot_tensor *w[3], *below = times_both(t, step, -2, -1, -2);
    w[0] = DIV(at(t, step, -1), below);
    below = product(t, step, -1, -2);
    w[1] = NEG(both(t, step, -1, -2));
    w[1] = DIV(w[1], below);
    below = times_both(t, step, -1, -1, -2);
    w[2] = twice(t, step, -1, -2);
    w[2] = DIV(w[2], below);
    return weighted(t, w, x, dim, range);
}

static aot_tensor *along(aot_tracer *t, aot_tensor *x, aot_tensor *coordinates, int64_t dim,
                         int64_t order)
{
    aot_tensor *step = AOT(t, aten_diff, coordinates, 1, 0), *all[3];
    all[1] = inner(t, x, step, dim);
    all[0] = order == 1 ? end_of_order_1(t, x, step, dim, false)
                        : first_of_order_2(t, x, step, dim);
    all[2] = order == 1 ? end_of_order_1(t, x, step, dim, true) : last_of_order_2(t, x, step, dim);
    return AOT(t, aten_cat, aot_v_tensors(t, 3, all), dim);
}

/* gradient.tensorarray, gradient.tensorarrayint (self, spacing, dim, edge_order) */
bool composite_gradient_at(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0), *out[AOT_FAKE_MAX_NDIM], *const *coordinates;
    unsigned n = aot_x_tensors(k, 1, &coordinates), ndim = aot_ndim(x);
    aot_value dim = k->args[2];
    for (unsigned i = 0; i < n && i < AOT_FAKE_MAX_NDIM; i++) {
        int64_t d = dim.kind == AOT_V_NONE ? (int64_t)i
                    : aot_v_is_list(dim)   ? dim.u.items[i < dim.n ? i : 0].u.dim.value
                                           : dim.u.dim.value;
        d = (int64_t)aot_wrap_dim(k->t, d, ndim);
        out[i] = along(k->t, x, coordinates[i], d, aot_x_int(k, 3, 1));
    }
    return aot_x_give_value(k, aot_v_tensors(k->t, n < AOT_FAKE_MAX_NDIM ? n : 0, out));
}
