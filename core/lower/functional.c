/* torch.functional and other Python functions over operators: split, einsum, norm, meshgrid ...
 * Mirrors torch/functional.py, torch/_tensor.py. */
#include "lower/internal.h"

/* f(x, y, z), f([x, y, z]): the tensors as one list. */
static aot_value tensors_of(const aot_pycall *k)
{
    if (k->n == 1 && aot_v_is_list(k->args[0])) {
        return k->args[0];
    }
    return aot_v_list(k->t, k->n, k->args);
}

static aot_value call(const aot_pycall *k, const char *packet, unsigned n, const aot_value *args)
{
    aot_pycall c = {.t = k->t, .target = k->target, .n = n, .args = args};
    return aot_lower_packet(&c, packet);
}

/* broadcast_tensors, block_diag, cartesian_prod, chain_matmul: any number of tensors */
aot_value lower_variadic(const aot_pycall *k)
{
    char packet[64];
    aot_value list = tensors_of(k);
    snprintf(packet, sizeof packet, "aten.%s", strrchr(k->target, '.') + 1);
    return call(k, packet, 1, &list);
}

/* atleast_1d(x) gives a tensor, of several a tuple */
aot_value lower_atleast(const aot_pycall *k)
{
    char packet[64];
    if (k->n != 1 || k->args[0].kind != AOT_V_TENSOR) {
        return lower_variadic(k);
    }
    snprintf(packet, sizeof packet, "aten.%s", strrchr(k->target, '.') + 1);
    return call(k, packet, 1, k->args);
}

/* split(x, size or sizes, dim) */
aot_value lower_split(const aot_pycall *k)
{
    const aot_value *size = aot_l_arg(k, 1, k->is_method ? "split_size" : "split_size_or_sections");
    if (size == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "split without a size");
    }
    aot_value x = aot_v_tensor(aot_l_need_tensor(k, 0, "tensor")),
              dim = aot_v_dim(aot_l_dim(k, 2, "dim", 0));
    return aot_v_is_list(*size) ? AOT_V(k->t, aten_split_with_sizes, x, *size, dim)
                                : AOT_V(k->t, aten_split_Tensor, x, *size, dim);
}

/* [0, 1, Ellipsis] as letters of an equation: capitals come first. */
static void add_subscripts(aot_tracer *t, aot_sb *b, aot_value list)
{
    for (unsigned i = 0; i < list.n; i++) {
        aot_value v = list.u.items[i];
        int64_t at = v.kind == AOT_V_INT ? v.u.dim.value : -1;
        if (v.kind == AOT_V_ELLIPSIS) {
            aot_sb_addz(b, "...");
        } else if (at < 0 || at >= 52) {
            aot_sb_free(b);
            aot_trace_fail(t, AOT_E_RANGE, "einsum: a subscript is not within 0 to 51");
        } else {
            aot_sb_addf(b, "%c", (int)(at < 26 ? 'A' + at : 'a' + at - 26));
        }
    }
}

/* einsum(x, [0, 1], y, [1, 2], [0, 2]): subscripts after each operand, those of the output last. */
static aot_value einsum_of_lists(const aot_pycall *k)
{
    aot_value *operands = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_value, k->n / 2 + 1);
    aot_sb b = {0};
    for (unsigned i = 0; i + 1 < k->n; i += 2) {
        operands[i / 2] = k->args[i];
        aot_sb_addz(&b, i != 0 ? "," : "");
        add_subscripts(k->t, &b, k->args[i + 1]);
    }
    if (k->n % 2 == 1) {
        aot_sb_addz(&b, "->");
        add_subscripts(k->t, &b, k->args[k->n - 1]);
    }
    aot_value equation = aot_v_str(k->t, b.d);
    aot_sb_free(&b);
    return AOT_V(k->t, aten_einsum, equation, aot_v_list(k->t, k->n / 2, operands));
}

/* einsum(equation, x, y ...) or einsum(equation, [x, y ...]) */
aot_value lower_einsum(const aot_pycall *k)
{
    if (k->n >= 2 && k->args[0].kind == AOT_V_TENSOR && aot_v_is_list(k->args[1])) {
        return einsum_of_lists(k);
    }
    if (k->n < 2 || k->args[0].kind != AOT_V_STR) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "einsum without an equation");
    }
    aot_value list = k->n == 2 && aot_v_is_list(k->args[1])
                         ? k->args[1]
                         : aot_v_list(k->t, k->n - 1, k->args + 1);
    return AOT_V(k->t, aten_einsum, k->args[0], list);
}

/* norm(x, p, dim, keepdim, out, dtype): a vector norm unless p is "nuc" */
aot_value lower_norm(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    const aot_value *p = aot_l_arg(k, 1, "p"), *d = aot_l_arg(k, 2, "dim");
    aot_value dim = d != NULL ? *d : aot_v_none(),
              keep = aot_v_bool(aot_l_bool(k, 3, "keepdim", false));
    aot_value dtype = aot_v_dtype(aot_l_dtype(k, k->is_method ? 4 : 5, "dtype", AOT_NO_DTYPE));
    dim = dim.kind == AOT_V_INT ? aot_v_list(k->t, 1, d) : dim;
    bool text = p == NULL || p->kind == AOT_V_STR;
    if (text && aot_l_str_is(k, 1, "p", "fro", "fro") && (dim.kind == AOT_V_NONE || dim.n <= 2)) {
        return AOT_V(k->t, aten_linalg_vector_norm, x, 2, dim, keep, dtype);
    }
    if (!text) {
        aot_value ord = p->kind == AOT_V_NONE ? aot_v_float(2) : *p;
        return AOT_V(k->t, aten_linalg_vector_norm, x, ord, dim, keep, dtype);
    }
    if (dim.kind == AOT_V_NONE) {
        int64_t all[AOT_FAKE_MAX_NDIM];
        for (unsigned i = 0; i < aot_ndim(x); i++) {
            all[i] = i;
        }
        dim = aot_v_ints(k->t, aot_ndim(x), all);
    }
    return AOT_V(k->t, aten_linalg_matrix_norm_str_ord, x, *p, dim, keep, dtype);
}

/* meshgrid(x, y ..., indexing) */
aot_value lower_meshgrid(const aot_pycall *k)
{
    aot_value list = tensors_of(k);
    const aot_value *indexing = aot_l_arg(k, UINT32_MAX, "indexing");
    return indexing == NULL || indexing->kind == AOT_V_NONE
               ? AOT_V(k->t, aten_meshgrid, list)
               : AOT_V(k->t, aten_meshgrid_indexing, list, *indexing);
}

/* tensordot(a, b, dims): a number of dimensions, or a list for each */
aot_value lower_tensordot(const aot_pycall *k)
{
    const aot_value *d = aot_l_arg(k, 2, "dims");
    aot_value args[4] = {aot_v_tensor(aot_l_need_tensor(k, 0, "a")),
                         aot_v_tensor(aot_l_need_tensor(k, 1, "b"))};
    if (d != NULL && aot_v_is_list(*d) && d->n == 2) {
        args[2] = d->u.items[0];
        args[3] = d->u.items[1];
    } else {
        int64_t n = d != NULL ? d->u.dim.value : 2, last[AOT_FAKE_MAX_NDIM],
                first[AOT_FAKE_MAX_NDIM];
        if (n < 0 || n > AOT_FAKE_MAX_NDIM) {
            aot_trace_fail(k->t, AOT_E_RANGE, "tensordot expects dims >= 0");
        }
        for (int64_t i = 0; i < n; i++) {
            last[i] = i - n;
            first[i] = i;
        }
        args[2] = aot_v_ints(k->t, (unsigned)n, last);
        args[3] = aot_v_ints(k->t, (unsigned)n, first);
    }
    return aot_call_op(k->t, AOT_OP_aten_tensordot, 4, args);
}

aot_value lower_cdist(const aot_pycall *k)
{
    static const char *const modes[] = {"use_mm_for_euclid_dist_if_necessary",
                                        "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"};
    aot_value mode = aot_v_none();
    for (int i = 1; i < 3; i++) {
        if (aot_l_str_is(k, 3, "compute_mode", modes[0], modes[i])) {
            mode = aot_v_int(i);
        }
    }
    return AOT_V(k->t, aten_cdist, aot_l_need_tensor(k, 0, "x1"), aot_l_need_tensor(k, 1, "x2"),
                 aot_l_float(k, 2, "p", 2), mode);
}

/* unravel_index(indices, shape): quotients and remainders by constants */
aot_value lower_unravel_index(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "indices");
    aot_dims shape = aot_l_dims(k, 1, "shape");
    aot_value *size = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, shape.n + 1);
    aot_value *step = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, shape.n + 1);
    int64_t n = 1;
    for (unsigned i = shape.n; i-- > 0;) {
        size[i] = aot_v_dim(shape.d[i]);
        step[i] = aot_v_int(n);
        n *= shape.d[i].value;
    }
    x = AOT(t, aten_unsqueeze, x, -1);
    aot_tensor *steps = aot_l_constant(t, aot_v_list(t, shape.n, step), AOT_I64, aot_device_of(x));
    x = AOT(t, aten_floor_divide, x, steps);
    aot_tensor *sizes = aot_l_constant(t, aot_v_list(t, shape.n, size), AOT_I64, aot_device_of(x));
    x = AOT(t, aten_remainder_Tensor, x, sizes);
    return AOT_V(t, aten_unbind_int, x, -1);
}

/* stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
 * return_complex): centred by padding */
aot_value lower_stft(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, k->is_method ? "self" : "input");
    static const char *const names[] = {"hop_length", "win_length", "window",
                                        "normalized", "onesided",   "return_complex"};
    static const unsigned places[] = {2, 3, 4, 7, 8, 9};
    aot_dim n_fft = aot_l_dim(k, 1, "n_fft", 0);
    if (aot_l_bool(k, 5, "center", true)) {
        unsigned n = aot_ndim(x), extra = 3 - n;
        aot_dim shape[3];
        int64_t pad[2] = {n_fft.value / 2, n_fft.value / 2};
        const aot_value *mode = aot_l_arg(k, 6, "pad_mode");
        for (unsigned i = 0; i < 3; i++) {
            shape[i] = i < extra ? aot_dim_of(1) : aot_size(x, i - extra);
        }
        x = AOT(t, aten_view, x, ((aot_dims){shape, 3}));
        x = AOT(t, aten_pad, x, aot_v_ints(t, 2, pad),
                mode != NULL ? *mode : aot_v_str(t, "reflect"));
        x = AOT(t, aten_view, x, ((aot_dims){aot_sizes(x).d + extra, n}));
    }
    aot_value args[8] = {aot_v_tensor(x), aot_v_dim(n_fft)};
    for (unsigned i = 0; i < 6; i++) {
        const aot_value *v = aot_l_arg(k, places[i], names[i]);
        args[2 + i] = v != NULL ? *v : aot_v_none();
    }
    return aot_call_op(t, AOT_OP_aten_stft, 8, args);
}

/* torch.lu(A, pivot, get_infos) */
aot_value lower_lu(const aot_pycall *k)
{
    bool infos = aot_l_bool(k, 2, "get_infos", false);
    aot_value r = AOT_V(k->t, aten__lu_with_info, aot_l_need_tensor(k, 0, "A"),
                        aot_l_bool(k, 1, "pivot", true), !infos);
    return infos ? r : aot_v_tuple(k->t, 2, r.u.items);
}

/* ---- numbers where tensors are meant --------------------------------------------------------- */

/* torch.div(512, 256, rounding_mode='trunc') and its kind: of two numbers it is a number, whose
 * value a trace knows. */
aot_value lower_of_numbers(const aot_pycall *k)
{
    const char *name = strrchr(k->target, '.') + 1;
    char target[40];
    aot_value r;
    if (k->n < 2 || !aot_v_is_number(k->args[0]) || !aot_v_is_number(k->args[1])) {
        snprintf(target, sizeof target, "aten.%s", name);
        return aot_lower_packet(k, target);
    }
    bool trunc = aot_l_str_is(k, UINT32_MAX, "rounding_mode", NULL, "trunc");
    bool floor = aot_l_str_is(k, UINT32_MAX, "rounding_mode", NULL, "floor");
    snprintf(target, sizeof target, "operator.%s",
             strcmp(name, "div") != 0 ? name : trunc || floor ? "floordiv" : "truediv");
    aot_pycall c = aot_l_with(k, target, 2, k->args);
    c.n_kw = 0;
    if (!aot_l_operator(&c, target, &r)) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s of two numbers", k->target);
    }
    if (trunc && r.kind == AOT_V_INT && r.u.dim.expr == 0 && r.u.dim.value < 0 &&
        k->args[0].u.dim.value % k->args[1].u.dim.value != 0) {
        r.u.dim.value++;
    }
    return r;
}

/* NumPy's functions as Dynamo wraps them: torch__dynamo_utils_wrapped_sqrt(128). A number becomes
 * an array, integers are worked on in double precision. */
aot_value lower_wrapped_ufunc(const aot_pycall *k)
{
    const char *name = k->target + strlen("torch__dynamo_utils_wrapped_");
    aot_value v = k->n > 0 ? k->args[0] : aot_v_none();
    if (aot_v_is_number(v)) {
        aot_dtype d = v.kind == AOT_V_FLOAT ? AOT_F64 : aot_l_data_dtype(k->t, v);
        v = aot_v_tensor(
            aot_l_constant(k->t, v, d, aot_intern_z(aot_tracer_ctx(k->t)->strs, "cpu")));
    }
    if (k->n != 1 || v.kind != AOT_V_TENSOR) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s of a %s", k->target, aot_l_kind_name(v));
    }
    char kind = aot_dtype_get(aot_dtype_of(v.u.t))->kind;
    if (kind != 'f' && kind != 'c') {
        v = AOT_V(k->t, aten_to_dtype, v.u.t, aot_v_dtype(AOT_F64));
    }
    return aot_l_method(k->t, name, 1, &v);
}

/* torch._segment_reduce */
aot_value lower_segment_reduce(const aot_pycall *k)
{
    return aot_lower_packet(k, "aten.segment_reduce");
}

/* ---- second names ---------------------------------------------------------------------------- */

/* In-place methods that are composite: the method that they call. */
aot_value lower_method_alias(const aot_pycall *k)
{
    static const char *const names[][2] = {
        {"absolute_", "abs_"},       {"arccos_", "acos_"},     {"arccosh_", "acosh_"},
        {"arcsin_", "asin_"},        {"arcsinh_", "asinh_"},   {"arctan2_", "atan2_"},
        {"arctan_", "atan_"},        {"arctanh_", "atanh_"},   {"clip_", "clamp_"},
        {"divide_", "div_"},         {"fix_", "trunc_"},       {"greater_", "gt_"},
        {"greater_equal_", "ge_"},   {"less_", "lt_"},         {"less_equal_", "le_"},
        {"multiply_", "mul_"},    {"negative_", "neg_"},
        {"not_equal_", "ne_"},       {"subtract_", "sub_"},    {"swapaxes_", "transpose_"},
        {"swapdims_", "transpose_"}, {"true_divide_", "div_"},
    };
    aot_pycall c = *k;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i][0], k->target) == 0) {
            c.target = names[i][1];
            return aot_lower_call(&c);
        }
    }
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "method .%s has no second name", k->target);
}

aot_value lower_method_square_(const aot_pycall *k)
{
    return AOT_V(k->t, aten_pow__Scalar, aot_l_need_tensor(k, 0, "self"), 2);
}

/* x.requires_grad_() on an intermediate is not dispatched. */
aot_value lower_method_itself(const aot_pycall *k)
{
    return aot_v_tensor(aot_l_need_tensor(k, 0, "self"));
}
