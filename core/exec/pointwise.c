/* The engine of element-wise kernels: blocks of elements of one class, and how dtypes promote. */
#include <string.h>

#include "exec/kernel.h"

typedef union block {
    double real[AOT_BLOCK];
    int64_t integer[AOT_BLOCK];
    aot_complex complex[AOT_BLOCK];
} block;

typedef struct job {
    aot_block_fn *fn;
    const void *arg;
    aot_dtype out, as;
    aot_class out_class, class;
    unsigned n;
    aot_dtype in[AOT_ITER_MAX];
    bool rounds[AOT_ITER_MAX]; /* is brought to a narrower dtype first */
    aot_dtype round_to[AOT_ITER_MAX];
} job;

static void load(block *b, const job *j, unsigned k, const char *p, int64_t stride, int64_t n)
{
    if (j->class == AOT_CLASS_COMPLEX) {
        aot_load_complex(b->complex, j->in[k], p, stride, n);
    } else if (j->class == AOT_CLASS_INT) {
        aot_load_int(b->integer, j->in[k], p, stride, n);
        if (j->rounds[k]) { // to fewer bits, or without a sign
            char room[8 * AOT_BLOCK];
            int64_t bytes = aot_dtype_get(j->as)->bytes;
            aot_store_int(b->integer, j->as, room, bytes, n);
            aot_load_int(b->integer, j->as, room, bytes, n);
        }
    } else {
        aot_load_real(b->real, j->in[k], p, stride, n);
        for (int64_t i = 0; i < n && j->rounds[k]; i++) {
            b->real[i] = aot_round_to(j->round_to[k], b->real[i]);
        }
    }
}

static void run_blocks(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    const job *j = arg;
    block in[AOT_ITER_MAX - 1], out;
    void *blocks[AOT_ITER_MAX];
    for (unsigned k = 0; k < j->n; k++) {
        blocks[k] = &in[k];
    }
    for (int64_t at = 0; at < n; at += AOT_BLOCK) {
        int64_t m = n - at < AOT_BLOCK ? n - at : AOT_BLOCK;
        for (unsigned k = 0; k < j->n; k++) {
            load(&in[k], j, k, ptr[k + 1] + at * stride[k + 1], stride[k + 1], m);
        }
        j->fn(j->arg, &out, blocks, m);
        char *to = ptr[0] + at * stride[0];
        if (j->out_class == AOT_CLASS_COMPLEX) {
            aot_store_complex(out.complex, j->out, to, stride[0], m);
        } else if (j->out_class == AOT_CLASS_INT) {
            aot_store_int(out.integer, j->out, to, stride[0], m);
        } else {
            aot_store_real(out.real, j->out, to, stride[0], m);
        }
    }
}

/* A number or 0-dim operand keeps the precision that PyTorch computes in; others the dtype
 * itself. */
static bool must_round(const aot_array *x, aot_dtype as, aot_dtype *to)
{
    *to = x->ndim == 0 ? aot_opmath(as) : as;
    if (aot_dtype_class(as) == AOT_CLASS_INT) {
        return x->dtype != as && aot_dtype_class((aot_dtype)x->dtype) == AOT_CLASS_INT &&
               aot_array_item_bytes(x) >= aot_dtype_get(as)->bytes;
    }
    return aot_dtype_class(as) == AOT_CLASS_REAL && x->dtype != as && *to != AOT_F64 &&
           aot_array_item_bytes(x) >= aot_dtype_get(*to)->bytes;
}

static void run_job(aot_kern *k, aot_loop_fn *loop, aot_array *out, aot_class out_class,
                    aot_dtype as, unsigned n, aot_array *const *in, aot_block_fn *fn,
                    const void *arg)
{
    job j = {.fn = fn, .arg = arg, .out = (aot_dtype)out->dtype, .as = as, .out_class = out_class,
             .class = aot_dtype_class(as), .n = n};
    aot_iter it;
    (void)k;
    aot_iter_begin(&it, out->ndim, out->size);
    aot_iter_add(&it, out);
    for (unsigned i = 0; i < n; i++) {
        aot_iter_add(&it, in[i]);
        j.in[i] = (aot_dtype)in[i]->dtype;
        j.rounds[i] = must_round(in[i], as, &j.round_to[i]);
    }
    aot_iter_run(&it, loop, &j);
}

void k_pointwise(aot_kern *k, aot_array *out, aot_class out_class, aot_dtype as, unsigned n,
                 aot_array *const *in, aot_block_fn *fn, const void *arg)
{
    run_job(k, run_blocks, out, out_class, as, n, in, fn, arg);
}

/* ---- in floats ------------------------------------------------------------------------------- */

static const float *load_f32(float *room, const job *j, unsigned k, const char *p, int64_t stride,
                             int64_t n)
{
    aot_dtype d = j->in[k];
    if (d == AOT_F32 && stride == (int64_t)sizeof(float)) {
        return (const float *)(const void *)p;
    }
    if (aot_fits_float(d) && !j->rounds[k]) {
        aot_load_float(room, d, p, stride, n);
        return room;
    }
    block b;
    load(&b, j, k, p, stride, n);
    for (int64_t i = 0; i < n; i++) {
        room[i] = (float)b.real[i];
    }
    return room;
}

static void store_f32(const float *in, aot_dtype d, char *p, int64_t stride, int64_t n)
{
    block b;
    if (aot_fits_float(d)) {
        aot_store_float(in, d, p, stride, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        b.real[i] = in[i];
    }
    aot_store_real(b.real, d, p, stride, n);
}

static void run_f32(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    enum { MANY = 4 * AOT_BLOCK };
    const job *j = arg;
    float in[AOT_ITER_MAX - 1][AOT_BLOCK], out[AOT_BLOCK];
    void *blocks[AOT_ITER_MAX];
    bool direct = j->out_class == AOT_CLASS_INT
                      ? stride[0] == 1
                      : j->out == AOT_F32 && stride[0] == (int64_t)sizeof(float);
    bool whole = direct;
    for (unsigned k = 0; k < j->n; k++) {
        whole &= j->in[k] == AOT_F32 && stride[k + 1] == (int64_t)sizeof(float);
    }
    int64_t step = whole ? MANY : AOT_BLOCK;
    for (int64_t at = 0; at < n; at += step) {
        int64_t m = n - at < step ? n - at : step;
        for (unsigned k = 0; k < j->n; k++) {
            bool same = stride[k + 1] == 0 && at > 0; // one number for all: the block has it
            blocks[k] = same ? blocks[k]
                             : (void *)(uintptr_t)load_f32(
                                   in[k], j, k, ptr[k + 1] + at * stride[k + 1], stride[k + 1], m);
        }
        char *to = ptr[0] + at * stride[0];
        j->fn(j->arg, direct ? (void *)to : out, blocks, m);
        if (!direct && j->out_class == AOT_CLASS_INT) {
            for (int64_t i = 0; i < m; i++) {
                to[i * stride[0]] = ((const char *)out)[i];
            }
        } else if (!direct) {
            store_f32(out, j->out, to, stride[0], m);
        }
    }
}

void k_pointwise_f32(aot_kern *k, aot_array *out, aot_dtype as, unsigned n, aot_array *const *in,
                     aot_block_fn *fn, const void *arg)
{
    run_job(k, run_f32, out, out->dtype == AOT_B8 ? AOT_CLASS_INT : AOT_CLASS_REAL, as, n, in, fn,
            arg);
}

aot_array *k_broadcast_out(aot_kern *k, aot_dtype d, unsigned n, aot_array *const *in)
{
    unsigned ndim = 0;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        if (!aot_broadcast(&ndim, size, in[i]->ndim, in[i]->size)) {
            k_fail(k, AOT_E_SHAPE, "sizes of the operands cannot be broadcast");
        }
    }
    return k_out_empty(k, 0, d, ndim, size);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

aot_dtype k_to_float(aot_dtype d)
{
    return aot_dtype_class(d) == AOT_CLASS_INT ? AOT_F32 : d;
}

aot_dtype k_real_of(aot_dtype d)
{
    return d == AOT_C128 ? AOT_F64 : d == AOT_C64 ? AOT_F32 : d == AOT_C32 ? AOT_F16 : d;
}

aot_dtype k_complex_of(aot_dtype d)
{
    return d == AOT_F64                              ? AOT_C128
           : d == AOT_F16                            ? AOT_C32
           : aot_dtype_class(d) == AOT_CLASS_COMPLEX ? d
                                                     : AOT_C64;
}

static aot_dtype number_dtype(const aot_xval *v)
{
    return v->kind == AOT_X_COMPLEX ? AOT_C64
           : v->kind == AOT_X_REAL  ? AOT_F32
           : v->kind == AOT_X_INT   ? AOT_I64
                                    : AOT_B8;
}

aot_dtype k_promote(aot_kern *k, uint32_t positions)
{
    aot_fake in[AOT_ITER_MAX];
    unsigned n = 0;
    aot_dtype number = AOT_NO_DTYPE, same = AOT_NO_DTYPE;
    bool all_same = true;
    for (unsigned i = 0; positions >> i != 0; i++) {
        const aot_xval *v = k_arg(k, i);
        if ((positions >> i & 1) == 0 || v->kind == AOT_X_NONE) {
            continue;
        }
        if (v->kind == AOT_X_ARRAY && n < AOT_ITER_MAX) {
            in[n].val = AOT_VAL_TENSOR;
            in[n].dtype = v->u.array->dtype;
            in[n].ndim = v->u.array->ndim;
            all_same &= n == 0 || in[n].dtype == same;
            same = (aot_dtype)in[n++].dtype;
        } else if (v->kind != AOT_X_ARRAY) {
            number = aot_promote_types(number, number_dtype(v));
        }
    }
    return n > 0 && all_same && number == AOT_NO_DTYPE
               ? same
               : aot_mixed_dtype(in, n, number, AOT_PROMOTE_DEFAULT);
}
