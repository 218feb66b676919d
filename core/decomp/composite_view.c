/* Views that are made of other views: reshape, flatten, movedim, narrow ...
 * Mirrors the composite kernels of aten/src/ATen/native/TensorShape.cpp. */
#include <string.h>

#include "trace/trace.h"
#include "trace/tracer.h"

/* ---- reshape --------------------------------------------------------------------------------- */

/* The sizes with -1 replaced by what is left of the elements. */
static aot_dims without_minus_one(aot_tracer *t, aot_dims shape, aot_dim numel)
{
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, shape.n + 1), rest = aot_dim_of(1);
    int at = -1;
    for (unsigned i = 0; i < shape.n; i++) {
        d[i] = shape.d[i];
        if (aot_dim_is(d[i], -1)) {
            at = (int)i;
        } else {
            rest = aot_trace_dim(t, '*', rest, d[i]);
        }
    }
    if (at >= 0) {
        d[at] = rest.value == 0 ? aot_dim_of(0) : aot_trace_once(t, '/', numel, rest);
    }
    return (aot_dims){d, shape.n};
}

/* Whether x can be seen in that shape without a copy. Mirrors TensorUtils.cpp:computeStride: groups
 * of dimensions that lie behind each other without gaps are split among the new dimensions. */
static bool is_viewable(aot_tracer *t, const aot_tensor *x, aot_dims shape)
{
    aot_ctx *c = aot_tracer_ctx(t);
    aot_dims size = aot_sizes(x), stride = aot_strides(x);
    int view_dim = (int)shape.n - 1;
    aot_dim group = aot_dim_of(1), viewed = aot_dim_of(1);
    if (aot_numel(t, x).value == 0 || size.n == 0) {
        return true;
    }
    aot_dim base = stride.d[size.n - 1];
    for (int i = (int)size.n - 1; i >= 0; i--) {
        group = aot_dim_mul(c, group, size.d[i]);
        bool ends = i == 0 || (size.d[i - 1].value != 1 &&
                               !aot_dim_eq(stride.d[i - 1], aot_dim_mul(c, group, base)));
        if (!ends) {
            continue;
        }
        while (view_dim >= 0 &&
               (viewed.value < group.value || aot_dim_is(shape.d[view_dim], 1))) {
            viewed = aot_dim_mul(c, viewed, shape.d[view_dim]);
            view_dim--;
        }
        if (!aot_dim_eq(viewed, group)) {
            return false;
        }
        if (i > 0) {
            base = stride.d[i - 1];
            group = viewed = aot_dim_of(1);
        }
    }
    return view_dim == -1;
}

/* numel() as an operation of each size: a fresh tensor does not know it. */
static aot_dim counted(aot_tracer *t, const aot_tensor *x)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        n = aot_trace_once(t, '*', n, aot_size(x, (int)i));
    }
    return n;
}

bool composite_reshape(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_is_contiguous(x)) {
        return aot_x_give(k, AOT(t, aten_view, x, k->args[1]));
    }
    aot_dims asked = aot_x_dims(k, 1);
    aot_dim numel = counted(t, x);
    aot_dims shape = without_minus_one(t, asked, numel);
    if (!is_viewable(t, x, shape)) {
        x = AOT(t, aten_clone, x, aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
        x = AOT(t, aten__unsafe_view, x, shape);
    } else {
        x = AOT(t, aten_view, x, shape);
    }
    aot_trace_forget(t, numel);
    for (unsigned i = 0; i < shape.n; i++) {
        aot_trace_forget(t, shape.d[i]);
    }
    return aot_x_give(k, x);
}

/* reshape_as, view_as, expand_as */
bool composite_as_other(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten_view_as     ? (aot_op_id)AOT_OP_aten_view
                   : k->op == AOT_OP_aten_expand_as ? (aot_op_id)AOT_OP_aten_expand
                                                    : (aot_op_id)AOT_OP_aten_reshape;
    aot_value args[2] = {k->args[0], aot_v_dims(k->t, aot_sizes(aot_x_tensor(k, 1)))};
    return aot_x_give_value(k, aot_call_op(k->t, op, 2, args));
}

bool composite_flatten(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned ndim = aot_ndim(x), n = 0;
    unsigned first = aot_wrap_dim(t, aot_x_int(k, 1, 0), ndim);
    unsigned last = aot_wrap_dim(t, aot_x_int(k, 2, -1), ndim);
    aot_dim shape[AOT_FAKE_MAX_NDIM + 1], slab = aot_dim_of(1);
    if (first > last) {
        aot_trace_fail(t, AOT_E_RANGE, "flatten: start_dim comes after end_dim");
    }
    if (ndim == 0) {
        return aot_x_give(k,
                          AOT(t, aten_reshape, x, aot_v_list(t, 1, (aot_value[]){aot_v_int(1)})));
    }
    if (first == last) {
        return aot_x_give(k, x);
    }
    for (unsigned i = first; i <= last; i++) {
        slab = aot_trace_dim(t, '*', slab, aot_size(x, i));
    }
    for (unsigned i = 0; i < ndim; i++) {
        if (i <= first || i > last) {
            shape[n++] = i == first ? slab : aot_size(x, i);
        }
    }
    return aot_x_give(k, AOT(t, aten_reshape, x, ((aot_dims){shape, n})));
}

/* unflatten.int(self, dim, sizes) */
bool composite_unflatten(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned ndim = aot_ndim(x), dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), ndim), n = 0;
    aot_dims sizes = without_minus_one(t, aot_x_dims(k, 2), aot_size(x, dim));
    aot_dim shape[2 * AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < ndim; i++) {
        if (i != dim) {
            shape[n++] = aot_size(x, i);
            continue;
        }
        for (unsigned j = 0; j < sizes.n && n < AOT_FAKE_MAX_NDIM; j++) {
            shape[n++] = sizes.d[j];
        }
    }
    return aot_x_give(k, AOT(t, aten_view, x, ((aot_dims){shape, n})));
}

/* ravel: contiguous, then flat */
bool composite_ravel(aot_expand *k)
{
    aot_tensor *x = AOT(k->t, aten_contiguous, aot_x_tensor(k, 0));
    int64_t flat = -1;
    return aot_x_give(k, AOT(k->t, aten_view, x, aot_v_ints(k->t, 1, &flat)));
}

bool composite_contiguous(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_value format = k->args[1];
    const char *name = format.kind == AOT_V_NAME ? aot_text(aot_tracer_ctx(k->t), format.u.s) : "";
    aot_memory_format f = AOT_MF_CONTIGUOUS;
    if (aot_ends_with(name, "channels_last")) {
        f = AOT_MF_CHANNELS_LAST;
    } else if (aot_ends_with(name, "channels_last_3d")) {
        f = AOT_MF_CHANNELS_LAST_3D;
    }
    if (aot_fake_is_format(aot_type_of(x), f)) {
        return aot_x_give(k, x);
    }
    return aot_x_give(k, AOT(k->t, aten_clone, x, aot_v_memory_format(k->t, f)));
}

/* ---- dimensions moved ------------------------------------------------------------------------ */

/* x.T: dimensions in reverse */
bool composite_numpy_T(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t order[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_ndim(x);
    for (unsigned i = 0; i < n; i++) {
        order[i] = n - 1 - i;
    }
    return aot_x_give(k, AOT(k->t, aten_permute, x, aot_v_ints(k->t, n, order)));
}

/* x.mT, x.H, x.mH: the last two exchanged, conjugated if H and complex */
bool composite_matrix_T(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    bool conj = k->op != AOT_OP_aten_mT && aot_is_complex(x);
    if (k->op == AOT_OP_aten_matrix_H && aot_ndim(x) == 0) {
        return aot_x_give(k, conj ? AOT(k->t, aten__conj, x) : x);
    }
    if (aot_ndim(x) < 2) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "%s needs a tensor of two or more dimensions",
                       aot_op(k->op)->name);
    }
    x = AOT(k->t, aten_transpose_int, x, -2, -1);
    return aot_x_give(k, conj ? AOT(k->t, aten__conj, x) : x);
}

bool composite_movedim(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims from = aot_x_dims(k, 1), to = aot_x_dims(k, 2);
    unsigned n = aot_ndim(x), next = 0;
    int64_t order[AOT_FAKE_MAX_NDIM];
    bool moved[AOT_FAKE_MAX_NDIM] = {false}, placed[AOT_FAKE_MAX_NDIM] = {false};
    for (unsigned i = 0; i < from.n && i < to.n; i++) {
        unsigned a = aot_wrap_dim(t, from.d[i].value, n), b = aot_wrap_dim(t, to.d[i].value, n);
        order[b] = a;
        moved[a] = placed[b] = true;
    }
    if (n == 0) {
        return aot_x_give(k, AOT(t, aten_alias, x));
    }
    for (unsigned i = 0; i < n; i++) {
        if (!placed[i]) {
            while (moved[next]) {
                next++;
            }
            order[i] = next++;
        }
    }
    return aot_x_give(k, AOT(t, aten_permute, x, aot_v_ints(t, n, order)));
}

bool composite_movedim_int(aot_expand *k)
{
    aot_value args[3] = {k->args[0], aot_v_list(k->t, 1, &k->args[1]),
                         aot_v_list(k->t, 1, &k->args[2])};
    return aot_x_give_value(k, aot_call_op(k->t, AOT_OP_aten_movedim_intlist, 3, args));
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* narrow(self, dim, start, length); start may be a tensor */
bool composite_narrow(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_value at = k->args[2];
    if (at.kind == AOT_V_TENSOR) {
        at = AOT_V(t, aten_item, at.u.t);
    }
    aot_dim start = at.u.dim, length = aot_x_dim(k, 3, 0);
    aot_dim size = aot_size(x, aot_x_int(k, 1, 0));
    if (start.value < 0) {
        start = aot_trace_dim(t, '+', start, size);
    }
    if (length.value < 0 || start.value > size.value - length.value) {
        aot_trace_fail(t, AOT_E_RANGE,
                       "narrow: start (%lld) + length (%lld) exceeds dimension size (%lld)",
                       (long long)start.value, (long long)length.value, (long long)size.value);
    }
    return aot_x_give(k, AOT(t, aten_slice_Tensor, x, k->args[1], start,
                             aot_trace_dim(t, '+', start, length), 1));
}

/* chunk(self, chunks, dim) and unsafe_chunk: split into pieces of equal size */
static void check_pieces(aot_tracer *t, aot_op_id op, int64_t n)
{
    enum { MOST = 1000000 }; /* more would only fill the memory */
    if (n < 1 || n > MOST) {
        aot_trace_fail(t, AOT_E_SHAPE, "%s: %lld pieces; from 1 to %d are possible",
                       aot_op(op)->name, (long long)n, MOST);
    }
}

bool composite_chunk(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t chunks = aot_x_int(k, 1, 1);
    check_pieces(t, k->op, chunks);
    aot_dim size = aot_size(x, aot_x_int(k, 2, 0));
    aot_dim piece =
        aot_trace_dim(t, '-', aot_trace_dim(t, '+', size, aot_dim_of(chunks)), aot_dim_of(1));
    piece = aot_trace_dim(t, '/', piece, aot_dim_of(chunks));
    bool unsafe = k->op == AOT_OP_aten_unsafe_chunk;
    if (piece.value == 0 && size.value == 0) { /* as many empty ones */
        aot_value *sizes = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, (size_t)chunks + 1);
        for (int64_t i = 0; i < chunks; i++) {
            sizes[i] = aot_v_dim(i + 1 < chunks ? piece : size);
        }
        aot_value args[3] = {k->args[0], aot_v_list(t, (unsigned)chunks, sizes), k->args[2]};
        return aot_x_give_value(k, aot_call_op(t, unsafe ? AOT_OP_aten_unsafe_split_with_sizes
                                                         : AOT_OP_aten_split_with_sizes, 3, args));
    }
    aot_value args[3] = {k->args[0], aot_v_dim(piece), k->args[2]};
    return aot_x_give_value(k, aot_call_op(t, unsafe ? AOT_OP_aten_unsafe_split_Tensor
                                                     : AOT_OP_aten_split_Tensor, 3, args));
}

static aot_tensor *part(aot_tracer *t, aot_tensor *x, unsigned dim, aot_dim from, aot_dim to)
{
    return AOT(t, aten_slice_Tensor, x, (int64_t)dim, from, to);
}

/* tensor_split.sections: the first pieces are one longer */
static bool split_sections(aot_expand *k, aot_tensor *x, unsigned dim, int64_t sections)
{
    aot_tensor **out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, (size_t)sections + 1);
    int64_t size = aot_size(x, dim).value, min = size / sections, longer = size % sections, at = 0;
    for (int64_t i = 0; i < sections; i++) {
        int64_t n = min + (i < longer);
        out[i] = part(k->t, x, dim, aot_dim_of(at), aot_dim_of(at + n));
        at += n;
    }
    return aot_x_give_value(k, aot_v_tensors(k->t, (unsigned)sections, out));
}

static bool split_indices(aot_expand *k, aot_tensor *x, unsigned dim, aot_dims at)
{
    aot_tensor **out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, at.n + 2);
    aot_dim from = aot_dim_of(0);
    for (unsigned i = 0; i < at.n; i++) {
        out[i] = part(k->t, x, dim, from, at.d[i]);
        from = at.d[i];
    }
    out[at.n] = part(k->t, x, dim, from, aot_size(x, dim));
    return aot_x_give_value(k, aot_v_tensors(k->t, at.n + 1, out));
}

/* tensor_split(self, n or [indices], dim); hsplit, vsplit, dsplit choose the dimension */
bool composite_tensor_split(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t dim = 0;
    switch (k->op) {
    case AOT_OP_aten_hsplit_int:
    case AOT_OP_aten_hsplit_array:
        dim = aot_ndim(x) == 1 ? 0 : 1;
        break;
    case AOT_OP_aten_vsplit_int:
    case AOT_OP_aten_vsplit_array:
        break;
    case AOT_OP_aten_dsplit_int:
    case AOT_OP_aten_dsplit_array:
        dim = 2;
        break;
    default:
        dim = aot_wrap_dim(k->t, aot_x_int(k, 2, 0), aot_ndim(x));
    }
    if (!aot_v_is_list(k->args[1])) {
        check_pieces(k->t, k->op, aot_x_int(k, 1, 1));
    }
    return aot_v_is_list(k->args[1]) ? split_indices(k, x, (unsigned)dim, aot_x_dims(k, 1))
                                     : split_sections(k, x, (unsigned)dim, aot_x_int(k, 1, 1));
}

/* ---- more dimensions ------------------------------------------------------------------------- */

static aot_tensor *at_least(aot_tracer *t, aot_tensor *x, unsigned n)
{
    static const int64_t ones[3] = {1, 1, 1};
    unsigned ndim = aot_ndim(x);
    if (ndim >= n) {
        return x;
    }
    if (ndim == 0) {
        return AOT(t, aten_reshape, x, aot_v_ints(t, n, ones));
    }
    x = ndim == 1 ? AOT(t, aten_unsqueeze, x, 0) : x;
    return n == 3 ? AOT(t, aten_unsqueeze, x, -1) : x;
}

/* atleast_1d, 2d, 3d of a tensor or of each of a list */
bool composite_at_least(aot_expand *k)
{
    unsigned n = aot_op(k->op)->packet[strlen("aten.atleast_")] - '0';
    if (k->args[0].kind == AOT_V_TENSOR) {
        return aot_x_give(k, at_least(k->t, aot_x_tensor(k, 0), n));
    }
    aot_tensor *const *in;
    unsigned count = aot_x_tensors(k, 0, &in);
    aot_tensor **out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, count + 1);
    for (unsigned i = 0; i < count; i++) {
        out[i] = at_least(k->t, in[i], n);
    }
    return aot_x_give_value(k, aot_v_tensors(k->t, count, out));
}

/* broadcast_tensors: those that are smaller are expanded */
bool composite_broadcast_tensors(aot_expand *k)
{
    aot_tensor *const *in;
    unsigned count = aot_x_tensors(k, 0, &in), ndim = 0;
    aot_tensor **out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, count + 1);
    aot_dim size[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < count; i++) {
        ndim = aot_ndim(in[i]) > ndim ? aot_ndim(in[i]) : ndim;
    }
    for (unsigned d = 0; d < ndim; d++) {
        size[d] = aot_dim_of(1);
        for (unsigned i = 0; i < count; i++) {
            unsigned lead = ndim - aot_ndim(in[i]);
            if (d >= lead && !aot_dim_is(aot_size(in[i], d - lead), 1)) {
                size[d] = aot_size(in[i], d - lead);
            }
        }
    }
    for (unsigned i = 0; i < count; i++) {
        bool same = aot_ndim(in[i]) == ndim;
        for (unsigned d = 0; same && d < ndim; d++) {
            same = aot_dim_eq(aot_size(in[i], d), size[d]);
        }
        out[i] = same ? in[i] : AOT(k->t, aten_expand, in[i], ((aot_dims){size, ndim}));
    }
    return aot_x_give_value(k, aot_v_tensors(k->t, count, out));
}

/* ---- diagonals, complex parts ---------------------------------------------------------------- */

bool composite_diag(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    return aot_x_give(k, aot_ndim(x) == 1 ? AOT(k->t, aten_diag_embed, x, k->args[1])
                                          : AOT(k->t, aten_diagonal_copy, x, k->args[1]));
}

bool composite_diagflat(aot_expand *k)
{
    int64_t flat = -1;
    aot_tensor *x = AOT(k->t, aten_contiguous, aot_x_tensor(k, 0));
    x = AOT(k->t, aten_view, x, aot_v_ints(k->t, 1, &flat));
    return aot_x_give(k, AOT(k->t, aten_diag, x, k->args[1]));
}

/* real, imag: a column of the view as numbers */
bool composite_complex_part(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t part_at = k->op == AOT_OP_aten_imag;
    if (!aot_is_complex(x)) {
        if (part_at) {
            aot_trace_fail(k->t, AOT_E_SHAPE,
                           "imag is not implemented for tensors with non-complex dtypes");
        }
        return aot_x_give(k, x);
    }
    bool conj = aot_is_conj(x);
    aot_tensor *both = AOT(k->t, aten_view_as_real, conj ? AOT(k->t, aten__conj, x) : x);
    both = conj && part_at ? AOT(k->t, aten__neg_view, both) : both;
    return aot_x_give(k, AOT(k->t, aten_select_int, both, (int64_t)aot_ndim(x), part_at));
}

bool composite_conj(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    if (!aot_is_complex(x)) {
        return aot_x_give(k, x);
    }
    return aot_x_give(k, k->op == AOT_OP_aten_conj ? AOT(k->t, aten__conj, x)
                                                   : AOT(k->t, aten__conj_physical, x));
}

bool composite_resolve(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    bool marked = k->op == AOT_OP_aten_resolve_conj ? aot_is_conj(x) : aot_is_neg(x);
    return aot_x_give(k, marked ? AOT(k->t, aten_clone, x) : x);
}

/* positive; item of views */
bool composite_itself(aot_expand *k)
{
    return aot_x_give_value(k, k->args[0]);
}
