/* Types of operators on lists of tensors: item by item as the operator on one tensor.
 * Mirrors aten/src/ATen/native/ForeachOpsKernels.cpp (slow paths, which fake tensors take). */
#include <string.h>

#include "rules/fake_internal.h"
#include "rules/meta_shared.h"

/* Operators whose result on integers is floating point. */
static bool gives_floats(const char *packet)
{
    static const char *const names[] = {"acos", "asin", "atan", "cos",  "cosh", "div",     "erf",
                                        "erfc", "exp",  "expm1", "lgamma", "log", "log10", "log1p",
                                        "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh",
                                        "sqrt", "tan", "tanh", NULL};
    const char *name = strstr(packet, "_foreach_");
    name = name != NULL ? name + strlen("_foreach_") : packet;
    for (unsigned i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static aot_dtype number_type(const aot_call *k, unsigned pos, unsigned item)
{
    const aot_arg *a = aot_call_arg(k, pos, "");
    if (a != NULL && (a->kind == AOT_ARG_LIST || a->kind == AOT_ARG_TUPLE)) {
        a = item < a->n ? aot_arg_items(k->g, a) + item : NULL;
    }
    return a == NULL                    ? AOT_NO_DTYPE
           : a->kind == AOT_ARG_FLOAT   ? AOT_F32
           : a->kind == AOT_ARG_COMPLEX ? AOT_C64
           : a->kind == AOT_ARG_INT     ? AOT_I64
           : a->kind == AOT_ARG_BOOL    ? AOT_B8
                                        : AOT_NO_DTYPE;
}

/* A tensor that holds a number for each item: _foreach_addcmul.Tensor. */
static bool is_numbers(const aot_call *k, unsigned pos)
{
    const char *name = aot_node_op(k->n)->name;
    return pos == 3 && strstr(name, "_foreach_addc") != NULL && strstr(name, ".Tensor") != NULL;
}

/* All tensors at place i of the lists, and tensors that stand for each place. */
aot_status meta_foreach(aot_call *k)
{
    unsigned n = aot_call_n_items(k, 0, "self");
    if (strstr(aot_node_op(k->n)->name, "ScalarAndTensor") != NULL) { // a number to their powers
        n = aot_call_n_items(k, 1, "exponent");
    }
    const char *packet = aot_node_op(k->n)->packet;
    aot_promote kind = gives_floats(packet) ? AOT_PROMOTE_INT_TO_FLOAT : AOT_PROMOTE_DEFAULT;
    k->is_list = true;
    for (unsigned i = 0; i < n; i++) {
        aot_fake in[4], out;
        unsigned n_in = 0;
        aot_dtype number = AOT_NO_DTYPE;
        for (unsigned pos = 0; pos < k->n->n_args && n_in < 4; pos++) {
            if (is_numbers(k, pos)) {
                continue;
            }
            if (aot_call_tensor_item(k, pos, "", i, &in[n_in]) ||
                aot_call_tensor(k, pos, "", &in[n_in])) {
                n_in++;
            } else if (number == AOT_NO_DTYPE) {
                number = number_type(k, pos, i);
            }
        }
        if (n_in == 0) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: item %u is no tensor", packet, i);
        }
        AOT_TRY(aot_fake_elementwise(k, in, n_in, aot_mixed_dtype(in, n_in, number, kind), &out));
        aot_call_push(k, &out);
    }
    return AOT_OK;
}

/* One result a tensor of self: a number, or the tensor's own type. */
static aot_status each_of_self(aot_call *k, bool number)
{
    unsigned n = aot_call_n_items(k, 0, "self");
    k->is_list = true;
    for (unsigned i = 0; i < n; i++) {
        aot_fake t;
        if (!aot_call_tensor_item(k, 0, "self", i, &t)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "item %u of self is no tensor", i);
        }
        if (number) {
            aot_push_scalar(k, &t, aot_dtype_real((aot_dtype)t.dtype));
        } else {
            aot_call_push(k, &t);
        }
    }
    return AOT_OK;
}

aot_status meta_foreach_norm(aot_call *k)
{
    return each_of_self(k, true);
}

/* Whatever the other arguments are. */
aot_status meta_foreach_like(aot_call *k)
{
    return each_of_self(k, false);
}

/* _chunk_cat(tensors, dim, num_chunks): each tensor padded and cut into chunks along dim, a chunk
 * laid out flat; equal chunks are joined. */
aot_status meta_chunk_cat(aot_call *k)
{
    aot_fake first, t;
    unsigned n = aot_call_n_items(k, 0, "tensors");
    aot_dim chunks = aot_call_int(k, 2, "num_chunks", 1), width = aot_dim_of(0);
    if (!aot_call_tensor_item(k, 0, "tensors", 0, &first)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "_chunk_cat expects a list of tensors");
    }
    unsigned d = aot_fake_dim(&first, aot_call_int(k, 1, "dim", 0).value);
    for (unsigned i = 0; i < n; i++) {
        if (!aot_call_tensor_item(k, 0, "tensors", i, &t) || d >= t.ndim) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "_chunk_cat: tensor %u has no such dimension", i);
        }
        aot_dim up = aot_dim_add(k->c, t.size[d], aot_dim_sub(k->c, chunks, aot_dim_of(1)));
        aot_dim chunk = aot_dim_floordiv(k->c, up, chunks);
        for (unsigned j = d + 1; j < t.ndim; j++) {
            chunk = aot_dim_mul(k->c, chunk, t.size[j]);
        }
        width = aot_dim_add(k->c, width, chunk);
    }
    aot_dim size[AOT_FAKE_MAX_NDIM + 2];
    memcpy(size, first.size, d * sizeof *size);
    size[d] = chunks;
    size[d + 1] = width;
    if (d + 2 > AOT_FAKE_MAX_NDIM) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "_chunk_cat: %u dimensions", d + 2);
    }
    t = aot_fake_make(k, (aot_dtype)first.dtype, d + 2, size, first.device);
    aot_call_push(k, &t);
    return AOT_OK;
}
