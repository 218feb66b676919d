/* Operators that are run for what they do or say rather than for values: collectives of a group of
 * one rank, checks that a graph makes of itself.
 *
 * Differs: the values of other ranks are in no log, so a collective sees this rank alone; one that
 * states more ranks is refused. Mirrors: torch/csrc/distributed/c10d/Functional.cpp,
 * aten/src/ATen/native/TensorCompare.cpp (_assert_async). */
#include "exec/kernel.h"

/* ---- collectives ----------------------------------------------------------------------------- */

static void check_ranks(aot_kern *k, unsigned pos)
{
    long long n = (long long)k_int(k, pos, 1);
    if (n != 1) {
        k_fail(k, AOT_E_UNSUPPORTED,
               "a group of %lld ranks: what the others hold is in no log, so only a group of one "
               "is run",
               n);
    }
}

static aot_array *copied(aot_kern *k, aot_array *x)
{
    return K1(k, aten_clone, x);
}

/* Whatever is reduced or sent, of one rank it is the input. */
void kern_collective(aot_kern *k)
{
    k_give(k, copied(k, k_need(k, 0)));
}

void kern_all_gather(aot_kern *k) // input, group_size, group
{
    check_ranks(k, 1);
    kern_collective(k);
}

void kern_reduce_scatter(aot_kern *k) // input, reduce_op, group_size, group
{
    check_ranks(k, 2);
    kern_collective(k);
}

static void each_copied(aot_kern *k)
{
    aot_array **in;
    unsigned n = k_list(k, 0, &in);
    k_give_list(k);
    for (unsigned i = 0; i < n; i++) {
        k_give(k, copied(k, in[i]));
    }
}

void kern_collectives(aot_kern *k)
{
    each_copied(k);
}

void kern_all_gather_each(aot_kern *k)
{
    check_ranks(k, 1);
    each_copied(k);
}

void kern_reduce_scatter_each(aot_kern *k)
{
    check_ranks(k, 2);
    each_copied(k);
}

/* input, output_split_sizes, input_split_sizes, group */
void kern_all_to_all(aot_kern *k)
{
    unsigned n_out, n_in;
    const int64_t *out = k_ints(k, 1, &n_out), *in = k_ints(k, 2, &n_in);
    if (n_out > 1 || n_in > 1 || (n_out == 1 && n_in == 1 && out[0] != in[0])) {
        k_fail(
            k, AOT_E_UNSUPPORTED,
            "pieces for %u ranks: what the others hold is in no log, so only a group of one is run",
            n_out > n_in ? n_out : n_in);
    }
    kern_collective(k);
}

/* The collective has ended where the next node runs. */
void kern_wait(aot_kern *k)
{
    k_give(k, k_need(k, 0));
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check(aot_kern *k, bool has_text)
{
    const aot_xval *text = k_arg(k, 1);
    if (k_real(k, 0, 1) == 0) {
        k_fail(k, AOT_E_RANGE, "what the graph asserts does not hold: %.160s",
               has_text && text->kind == AOT_X_STR ? text->u.text : "(no message)");
    }
}

void kern_assert(aot_kern *k) // self
{
    check(k, false);
    k_give_none(k);
}

void kern_assert_text(aot_kern *k) // self, message
{
    check(k, true);
    k_give_none(k);
}

void kern_assert_token(aot_kern *k) // self, message, token
{
    check(k, true);
    k_give(k, k_need(k, 2));
}

/* Bounds of a symbolic number that hold, or the tracer would not have come so far. */
void kern_stated(aot_kern *k)
{
    k_give_none(k);
}

void kern_stated_token(aot_kern *k) // size, min, max, token
{
    k_give(k, k_need(k, 3));
}

void kern_make_token(aot_kern *k)
{
    k_give(k, k_new(k, AOT_F32, 1, (const int64_t[]){0}));
}

/* The number in a tensor of one element. */
void kern_number(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    aot_dtype d = (aot_dtype)x->dtype;
    if (aot_array_numel(x) != 1) {
        k_fail(k, AOT_E_SHAPE, "a tensor of %lld elements is no number",
               (long long)aot_array_numel(x));
    }
    aot_complex z = k_complex(k, 0, 0);
    aot_xval v = {.kind = AOT_X_COMPLEX, .u.z = {creal(z), cimag(z)}};
    v = aot_dtype_class(d) == AOT_CLASS_REAL  ? aot_xv_real(k_real(k, 0, 0))
        : aot_dtype_class(d) == AOT_CLASS_INT ? aot_xv_int(k_int(k, 0, 0))
                                              : v;
    k_give_value(k, d == AOT_B8 ? aot_xv_bool(v.u.i != 0) : v);
}

/* ---- sizes of a traced graph ----------------------------------------------------------------- */

void kern_sym_numel(aot_kern *k)
{
    k_give_value(k, aot_xv_int(aot_array_numel(k_need(k, 0))));
}

/* Size or stride of one dimension, which a number alone has not. */
static void give_of_dim(aot_kern *k, bool stride)
{
    const aot_array *x = k_need(k, 0);
    if (x->ndim == 0) {
        k_fail(k, AOT_E_SHAPE, "a tensor without dimensions has none to ask for");
    }
    unsigned d = k_dim(k, 1, x->ndim);
    k_give_value(k, aot_xv_int(stride ? x->stride[d] : x->size[d]));
}

void kern_sym_size(aot_kern *k)
{
    give_of_dim(k, false);
}

void kern_sym_stride(aot_kern *k)
{
    give_of_dim(k, true);
}

void kern_sym_storage_offset(aot_kern *k)
{
    k_give_value(k, aot_xv_int(k_need(k, 0)->offset));
}
