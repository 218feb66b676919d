/* Types of tensors made from sizes, and of tensors made like another.
 * Without a dtype, a number's type decides for full and arange; the others make float32.
 * Mirrors: aten/src/ATen/native/TensorFactories.cpp, torch/_refs/__init__.py:arange, empty_like,
 * torch/_inductor/inductor_prims.py. */
#include <math.h>

#include "rules/fake.h"
#include "rules/fake_internal.h"

enum { KEYWORD = UINT32_MAX }; /* no position */

static aot_status no_tensor(aot_call *k, const char *name)
{
    return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %s is no tensor", aot_text(k->c, k->n->name), name);
}

/* Pushes a contiguous tensor of the sizes in argument pos; dtype and device are keywords. */
static aot_status push_sized(aot_call *k, unsigned pos, const char *name, aot_dtype dtype,
                             aot_str device)
{
    aot_dim size[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_call_n_items(k, pos, name);
    if (n > AOT_FAKE_MAX_NDIM) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %u dimensions", aot_text(k->c, k->n->name), n);
    }
    for (unsigned i = 0; i < n; i++) {
        size[i] = aot_call_item(k, pos, name, i, 0);
    }
    dtype = aot_call_dtype(k, KEYWORD, "dtype", dtype);
    device = aot_call_device(k, KEYWORD, "device", device);
    aot_fake t = aot_fake_new(dtype, n, size, device);
    aot_memory_format f = aot_call_memory_format(k, KEYWORD, "memory_format", AOT_MF_CONTIGUOUS);
    if (f == AOT_MF_CHANNELS_LAST || f == AOT_MF_CHANNELS_LAST_3D) {
        aot_fake_set_format(k->c, &t, f);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

static aot_str cpu(aot_call *k)
{
    return aot_intern_z(k->c->strs, "cpu");
}

/* zeros, ones, empty, rand, randn: (size). */
aot_status meta_of_size(aot_call *k)
{
    return push_sized(k, 0, "size", AOT_F32, cpu(k));
}

/* prims::normal(shape, *, mean, std, dtype, device) */
aot_status meta_prims_normal(aot_call *k)
{
    return push_sized(k, 0, "shape", AOT_F32, cpu(k));
}

/* normal.float_float(mean, std, size) */
aot_status meta_normal(aot_call *k)
{
    return push_sized(k, 2, "size", AOT_F32, cpu(k));
}

/* full(size, fill_value) */
aot_status meta_full(aot_call *k)
{
    aot_dtype d = aot_call_scalar_dtype(k, 1, "fill_value");
    return push_sized(k, 0, "size", d != AOT_NO_DTYPE ? d : AOT_F32, cpu(k));
}

/* randint(high, size), randint.low(low, high, size) */
aot_status meta_randint(aot_call *k)
{
    return push_sized(k, k->n->n_args == 3 ? 2 : 1, "size", AOT_I64, cpu(k));
}

static aot_status push_shape(aot_call *k, const aot_dim *size, unsigned n, aot_dtype dtype,
                             aot_str device)
{
    aot_fake t = aot_fake_new(aot_call_dtype(k, KEYWORD, "dtype", dtype), n, size,
                              aot_call_device(k, KEYWORD, "device", device));
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_scalar_tensor(aot_call *k)
{
    return push_shape(k, NULL, 0, AOT_F32, cpu(k));
}

/* prims.iota(length, *, start, step, dtype, device, ...) */
aot_status meta_iota(aot_call *k)
{
    aot_dim n = aot_call_int(k, 0, "length", 0);
    return push_shape(k, &n, 1, AOT_I64, cpu(k));
}

/* randperm(n) */
aot_status meta_randperm(aot_call *k)
{
    aot_dim n = aot_call_int(k, 0, "n", 0);
    return push_shape(k, &n, 1, AOT_I64, cpu(k));
}

/* hann_window(window_length) and the other windows */
aot_status meta_window(aot_call *k)
{
    aot_dim n = aot_call_int(k, 0, "window_length", 0);
    return push_shape(k, &n, 1, AOT_F32, cpu(k));
}

/* eye(n), eye.m(n, m) */
aot_status meta_eye(aot_call *k)
{
    aot_dim size[2] = {aot_call_int(k, 0, "n", 0), aot_call_int(k, 0, "n", 0)};
    if (aot_call_arg(k, 1, "m") != NULL) {
        size[1] = aot_call_int(k, 1, "m", 0);
    }
    return push_shape(k, size, 2, AOT_F32, cpu(k));
}

/* linspace, logspace (start, end, steps), whose ends may be tensors */
aot_status meta_linspace(aot_call *k)
{
    aot_dim n = aot_call_int(k, 2, "steps", 0);
    return push_shape(k, &n, 1, AOT_F32, cpu(k));
}

static double float_of(const aot_arg *a, double def)
{
    return a == NULL ? def : a->kind == AOT_ARG_FLOAT ? a->u.f : (double)a->u.i;
}

/* arange(end), arange.start(start, end), arange.start_step(start, end, step) */
aot_status meta_arange(aot_call *k)
{
    const char *names[] = {"start", "end", "step"};
    unsigned first = k->n->n_args == 1 ? 0 : 1; // position of end
    unsigned pos[3] = {first == 0 ? KEYWORD : 0, first, first + 1};
    bool floats = false;
    for (unsigned i = 0; i < 3; i++) {
        floats = floats || aot_call_scalar_dtype(k, pos[i], names[i]) == AOT_F32;
    }
    aot_dim n;
    if (floats) {
        double start = float_of(aot_call_arg(k, pos[0], "start"), 0);
        double end = float_of(aot_call_arg(k, pos[1], "end"), 0);
        double step = float_of(aot_call_arg(k, pos[2], "step"), 1);
        double count = step != 0 ? ceil((end - start) / step) : 0;
        n = aot_dim_of(count > 0 && count < 9e18 ? (int64_t)count : 0);
    } else {
        aot_dim start = aot_call_int(k, pos[0], "start", 0),
                end = aot_call_int(k, pos[1], "end", 0);
        aot_dim step = aot_call_int(k, pos[2], "step", 1);
        n = aot_dim_sub(k->c, end, start);
        if (!aot_dim_is(step, 1)) { // rounded up
            n = aot_dim_add(k->c, n, aot_dim_sub(k->c, step, aot_dim_of(step.value < 0 ? -1 : 1)));
            n = aot_dim_floordiv(k->c, n, step);
        }
    }
    return push_shape(k, &n, 1, floats ? AOT_F32 : AOT_I64, cpu(k));
}

/* range(start, end), range.step(start, end, step): the end is included */
aot_status meta_range(aot_call *k)
{
    double start = float_of(aot_call_arg(k, 0, "start"), 0);
    double end = float_of(aot_call_arg(k, 1, "end"), 0);
    double step = float_of(aot_call_arg(k, 2, "step"), 1);
    double count = step != 0 ? floor((end - start) / step) + 1 : 0;
    aot_dim n = aot_dim_of(count > 0 && count < 9e18 ? (int64_t)count : 0);
    return push_shape(k, &n, 1, AOT_F32, cpu(k));
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* How many of the elements of a matrix are on the diagonal or below it. */
static int64_t below_diagonal(int64_t rows, int64_t columns, int64_t diagonal)
{
    if (rows == 0 || columns == 0) {
        return 0;
    }
    int64_t any = clamp(rows + diagonal, 0, rows); /* rows with an element */
    int64_t whole = clamp(rows - columns + diagonal + 1, 0, any); /* rows with all of them */
    int64_t slanted = any - whole, first = clamp(diagonal + 1, 1, columns);
    return whole * columns + slanted * first + slanted * (slanted - 1) / 2;
}

static aot_status push_indices(aot_call *k, bool upper)
{
    int64_t rows = aot_call_int(k, 0, "row", 0).value, cols = aot_call_int(k, 1, "col", 0).value;
    int64_t diagonal = aot_call_int(k, 2, "offset", 0).value;
    int64_t n = upper ? rows * cols - below_diagonal(rows, cols, diagonal - 1)
                      : below_diagonal(rows, cols, diagonal);
    aot_dim size[2] = {aot_dim_of(2), aot_dim_of(n)};
    return push_shape(k, size, 2, AOT_I64, cpu(k));
}

aot_status meta_tril_indices(aot_call *k)
{
    return push_indices(k, false);
}

aot_status meta_triu_indices(aot_call *k)
{
    return push_indices(k, true);
}

/* empty_permuted(size, physical_layout): the dimensions from the outermost in memory */
aot_status meta_empty_permuted(aot_call *k)
{
    AOT_TRY(push_sized(k, 0, "size", AOT_F32, cpu(k)));
    aot_fake *t = &k->outs.d[k->outs.n - 1];
    aot_dim stride = aot_dim_of(1);
    for (unsigned i = t->ndim; i-- > 0;) {
        int64_t d = aot_call_item(k, 1, "physical_layout", i, i).value;
        if (d < 0 || d >= t->ndim) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "empty_permuted: dimension %lld is out of range",
                            (long long)d);
        }
        t->stride[d] = stride;
        stride = aot_dim_mul(k->c, stride, t->size[d]);
    }
    return AOT_OK;
}

/* empty_strided(size, stride), and new_empty_strided(self, size, stride) from position 1 */
static aot_status push_strided(aot_call *k, unsigned pos, aot_dtype dtype, aot_str device)
{
    AOT_TRY(push_sized(k, pos, "size", dtype, device));
    aot_fake *t = &k->outs.d[k->outs.n - 1];
    for (unsigned i = 0; i < t->ndim; i++) {
        t->stride[i] = aot_call_item(k, pos + 1, "stride", i, 0);
    }
    return AOT_OK;
}

aot_status meta_empty_strided(aot_call *k)
{
    return push_strided(k, 0, AOT_F32, cpu(k));
}

/* ---- from another tensor ------------------------------------------------------------------------
 */

/* new_zeros, new_ones, new_empty, new_full: (self, size). */
aot_status meta_new_of_size(aot_call *k)
{
    aot_fake self;
    if (!aot_call_tensor(k, 0, "self", &self)) {
        return no_tensor(k, "self");
    }
    return push_sized(k, 1, "size", self.dtype, self.device);
}

aot_status meta_new_empty_strided(aot_call *k)
{
    aot_fake self;
    if (!aot_call_tensor(k, 0, "self", &self)) {
        return no_tensor(k, "self");
    }
    return push_strided(k, 1, self.dtype, self.device);
}

/* zeros_like, full_like, rand_like, bernoulli ...: (self), the layout kept unless a format is
 * asked. */
aot_status meta_like(aot_call *k)
{
    aot_fake self;
    if (!aot_call_tensor(k, 0, "self", &self)) {
        return no_tensor(k, "self");
    }
    aot_fake t = self;
    aot_memory_format f = aot_call_memory_format(k, KEYWORD, "memory_format", AOT_MF_PRESERVE);
    t.dtype = (uint8_t)aot_call_dtype(k, KEYWORD, "dtype", self.dtype);
    t.device = aot_call_device(k, KEYWORD, "device", self.device);
    if (f == AOT_MF_PRESERVE) {
        aot_fake_set_permuted(k->c, &t, &self, 1);
    } else {
        aot_fake_set_format(k->c, &t, f);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

/* (self, num_samples): rows of numbers of columns */
aot_status meta_multinomial(aot_call *k)
{
    aot_fake self;
    if (!aot_call_tensor(k, 0, "self", &self) || self.ndim == 0) {
        return no_tensor(k, "self");
    }
    aot_dim size[2] = {self.size[0], aot_call_int(k, 1, "num_samples", 1)};
    aot_fake t = aot_fake_new(AOT_I64, self.ndim == 1 ? 1 : 2, self.ndim == 1 ? size + 1 : size,
                              self.device);
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- Inductor's random numbers
 * ------------------------------------------------------------------- */

/* inductor_seeds(count, device) */
aot_status meta_inductor_seeds(aot_call *k)
{
    aot_dim n = aot_call_int(k, 0, "count", 0);
    aot_fake t = aot_fake_new(AOT_I64, 1, &n, aot_call_device(k, 1, "device", cpu(k)));
    aot_call_push(k, &t);
    return AOT_OK;
}

/* inductor_seed(device), inductor_lookup_seed(seeds, index) */
aot_status meta_inductor_seed(aot_call *k)
{
    aot_fake seeds = {.device = aot_call_device(k, 0, "device", cpu(k))};
    aot_str device = aot_call_tensor(k, 0, "seeds", &seeds)
                         ? seeds.device
                         : aot_call_device(k, 0, "device", cpu(k));
    aot_fake t = aot_fake_new(AOT_I64, 0, NULL, device);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* inductor_random(size, seed, mode), inductor_randint(low, high, size, seed) */
aot_status meta_inductor_random(aot_call *k)
{
    aot_fake seed;
    bool ints = k->n->n_args >= 4;
    if (!aot_call_tensor(k, ints ? 3 : 1, "seed", &seed)) {
        return no_tensor(k, "seed");
    }
    return push_sized(k, ints ? 2 : 0, "size", ints ? AOT_I64 : AOT_F32, seed.device);
}
