/* Outputs of operators along a dimension: values with indices, variance with mean, sorting, pieces.
 */
#include "rules/outs.h"

/* t without dimension dim, or with size 1 there. */
static void reduce_dim(aot_out_type *t, int64_t dim, bool keepdim)
{
    unsigned d = aot_outs_dim(dim, t->ndim);
    if (d == t->ndim) { /* a scalar reduces to itself */
        return;
    }
    if (keepdim) {
        t->sizes[d] = 1;
        return;
    }
    for (unsigned i = d; i + 1 < t->ndim; i++) {
        t->sizes[i] = t->sizes[i + 1];
    }
    t->ndim--;
}

static void push_with_indices(aot_outs *o, aot_out_type t)
{
    aot_outs_push(o, t);
    aot_outs_push_as(o, t, AOT_I64);
}

/* (self, dim, keepdim): values and indices. */
void outs_max_dim(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "self", &t)) {
        reduce_dim(&t, aot_outs_int(o, 1, "dim", -1), aot_outs_bool(o, 2, "keepdim", false));
        push_with_indices(o, t);
    }
}

void outs_kthvalue(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "self", &t)) {
        reduce_dim(&t, aot_outs_int(o, 2, "dim", -1), aot_outs_bool(o, 3, "keepdim", false));
        push_with_indices(o, t);
    }
}

void outs_topk(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    unsigned d = aot_outs_dim(aot_outs_int(o, 2, "dim", -1), t.ndim);
    if (d < t.ndim) {
        t.sizes[d] = aot_outs_int(o, 1, "k", AOT_HINT_NONE);
    }
    push_with_indices(o, t);
}

/* Values and indices of the input's own size: sort, cummax, cummin. */
void outs_sort(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "self", &t)) {
        push_with_indices(o, t);
    }
}

void outs_aminmax(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    const aot_arg *dim = aot_node_kwarg(o->g, o->n, "dim");
    bool keepdim = aot_outs_bool(o, ~0u >> 1, "keepdim", false);
    if (dim && dim->kind != AOT_ARG_NONE) {
        reduce_dim(&t, aot_outs_number(o, dim), keepdim);
    } else {
        for (unsigned i = 0; i < t.ndim; i++) {
            t.sizes[i] = 1;
        }
        t.ndim = keepdim ? t.ndim : 0;
    }
    aot_outs_push(o, t);
    aot_outs_push(o, t);
}

/* The type of abs(): variance is real. */
static aot_dtype real_of(aot_dtype d)
{
    return d == AOT_C128 ? AOT_F64 : d == AOT_C64 ? AOT_F32 : d == AOT_C32 ? AOT_F16 : d;
}

/* (self, dim?, *, correction, keepdim): variance and mean. */
void outs_var_mean(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    const aot_arg *dims = aot_outs_arg(o, 1, "dim");
    bool all =
        !dims || ((dims->kind == AOT_ARG_LIST || dims->kind == AOT_ARG_TUPLE) && dims->n == 0);
    bool gone[AOT_OUT_MAX_NDIM] = {false};
    unsigned n = all                                                         ? t.ndim
                 : dims->kind == AOT_ARG_LIST || dims->kind == AOT_ARG_TUPLE ? dims->n
                                                                             : 1;
    for (unsigned i = 0; i < n; i++) {
        unsigned d = all ? i : aot_outs_dim(aot_outs_item(o, dims, i, AOT_HINT_NONE), t.ndim);
        if (d < t.ndim) {
            gone[d] = true;
        }
    }
    bool keepdim = aot_outs_bool(o, ~0u >> 1, "keepdim", false);
    unsigned kept = 0;
    for (unsigned i = 0; i < t.ndim; i++) {
        if (!gone[i] || keepdim) {
            t.sizes[kept++] = gone[i] ? 1 : t.sizes[i];
        }
    }
    t.ndim = (uint8_t)kept;
    aot_outs_push_as(o, t, real_of(t.dtype));
    aot_outs_push(o, t);
}

void outs_frexp(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "self", &t)) {
        aot_outs_push(o, t);
        aot_outs_push_as(o, t, AOT_I32);
    }
}

void outs_prepare_softmax_online(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "a", &t)) {
        reduce_dim(&t, aot_outs_int(o, 1, "dim", -1), true);
        aot_outs_push(o, t);
        aot_outs_push(o, t);
    }
}

/* ---- pieces -------------------------------------------------------------------------------- */

enum { MAX_PIECES = 1 << 16 }; /* more than any program has; a broken log may claim more */

void outs_split(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    unsigned d = aot_outs_dim(aot_outs_int(o, 2, "dim", 0), t.ndim);
    int64_t piece = aot_outs_int(o, 1, "split_size", AOT_HINT_NONE);
    int64_t rest = d < t.ndim ? t.sizes[d] : AOT_HINT_NONE;
    if (rest == AOT_HINT_NONE || piece == AOT_HINT_NONE || piece <= 0 ||
        rest / piece > MAX_PIECES) {
        return;
    }
    do {
        t.sizes[d] = rest < piece ? rest : piece;
        aot_outs_push(o, t);
        rest -= piece;
    } while (rest > 0);
}

void outs_split_with_sizes(aot_outs *o)
{
    aot_out_type t;
    const aot_arg *sizes = aot_outs_arg(o, 1, "split_sizes");
    if (!aot_outs_tensor(o, 0, "self", &t) || !sizes ||
        (sizes->kind != AOT_ARG_LIST && sizes->kind != AOT_ARG_TUPLE)) {
        return;
    }
    unsigned d = aot_outs_dim(aot_outs_int(o, 2, "dim", 0), t.ndim);
    for (unsigned i = 0; d < t.ndim && i < sizes->n; i++) {
        t.sizes[d] = aot_outs_item(o, sizes, i, AOT_HINT_NONE);
        aot_outs_push(o, t);
    }
}

void outs_unbind(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    int64_t dim = aot_outs_int(o, 1, "dim", 0);
    unsigned d = aot_outs_dim(dim, t.ndim);
    int64_t n = d < t.ndim ? t.sizes[d] : AOT_HINT_NONE;
    reduce_dim(&t, dim, false);
    for (int64_t i = 0; n != AOT_HINT_NONE && n <= MAX_PIECES && i < n; i++) {
        aot_outs_push(o, t);
    }
}

void outs_unsafe_chunk(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    unsigned d = aot_outs_dim(aot_outs_int(o, 2, "dim", 0), t.ndim);
    int64_t rest = d < t.ndim ? t.sizes[d] : AOT_HINT_NONE;
    int64_t piece = aot_ceil_div_size(rest, aot_outs_int(o, 1, "chunks", AOT_HINT_NONE));
    for (; rest > 0 && piece > 0 && rest / piece <= MAX_PIECES; rest -= piece) {
        t.sizes[d] = rest < piece ? rest : piece;
        aot_outs_push(o, t);
    }
}

/* Each like the tensor of a list argument: _foreach_ operators with one list of results. */
void outs_foreach(aot_outs *o)
{
    aot_out_type t;
    const aot_arg *list = aot_outs_arg(o, 0, "self");
    bool is_list = list && (list->kind == AOT_ARG_LIST || list->kind == AOT_ARG_TUPLE);
    if (!is_list) { // a number to the powers of a list
        list = aot_outs_arg(o, 1, "exponent");
        is_list = list && (list->kind == AOT_ARG_LIST || list->kind == AOT_ARG_TUPLE);
    }
    for (unsigned i = 0; is_list && i < list->n; i++) {
        if (aot_outs_tensor_arg(o, aot_arg_items(o->g, list) + i, &t)) {
            aot_outs_push(o, t);
        } else {
            aot_outs_push_none(o);
        }
    }
}

/* One number for each tensor of the list: _foreach_norm, _foreach_max. */
void outs_foreach_scalar(aot_outs *o)
{
    outs_foreach(o);
    for (size_t i = 0; i < o->outs.n; i++) {
        o->outs.d[i].ndim = 0;
        o->outs.d[i].numel = 1;
    }
}

/* ---- counting ------------------------------------------------------------------------------ */

/* out, inverse and counts; how many values there are is known at run time only. */
static void push_unique(aot_outs *o, bool inverse, bool counts, bool has_counts)
{
    aot_out_type t;
    int64_t some = AOT_HINT_NONE, none = 0;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    aot_outs_push(o, aot_outs_type(t.dtype, 1, &some));
    if (inverse) {
        aot_outs_push_as(o, t, AOT_I64);
    } else {
        aot_outs_push(o, aot_outs_type(AOT_I64, 1, &none));
    }
    if (has_counts) {
        aot_outs_push(o, aot_outs_type(AOT_I64, 1, counts ? &some : &none));
    }
}

void outs_unique2(aot_outs *o)
{
    push_unique(o, aot_outs_bool(o, 2, "return_inverse", false),
                aot_outs_bool(o, 3, "return_counts", false), true);
}

void outs_unique_consecutive(aot_outs *o)
{
    push_unique(o, aot_outs_bool(o, 1, "return_inverse", false),
                aot_outs_bool(o, 2, "return_counts", false), true);
}

/* Values along one dimension: the inverse has that dimension's length. */
void outs_unique_dim(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    unsigned d = aot_outs_dim(aot_outs_int(o, 1, "dim", 0), t.ndim);
    int64_t length = d < t.ndim ? t.sizes[d] : 1, some = AOT_HINT_NONE, none = 0;
    if (d < t.ndim) {
        t.sizes[d] = AOT_HINT_NONE;
    }
    aot_outs_push(o, t);
    bool sorted =
        aot_op(o->n->op)->name[sizeof "aten.unique_dim" - 1] == '.'; /* not _consecutive */
    unsigned at = sorted ? 3 : 2;
    bool inverse = aot_outs_bool(o, at, "return_inverse", false);
    bool counts = aot_outs_bool(o, at + 1, "return_counts", false);
    aot_outs_push(o, aot_outs_type(AOT_I64, 1, inverse ? &length : &none));
    aot_outs_push(o, aot_outs_type(AOT_I64, 1, counts ? &some : &none));
}

void outs_histogram(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    int64_t bins = aot_outs_int(o, 1, "bins", 100), edges = aot_add_size(bins, 1);
    aot_outs_push(o, aot_outs_type(t.dtype, 1, &bins));
    aot_outs_push(o, aot_outs_type(t.dtype, 1, &edges));
}

/* The same with the edges given. */
void outs_histogram_edges(aot_outs *o)
{
    aot_out_type t, bins;
    if (aot_outs_tensor(o, 0, "self", &t) && aot_outs_tensor(o, 1, "bins", &bins) &&
        bins.ndim == 1) {
        int64_t n = aot_add_size(bins.sizes[0], -1);
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &n));
        aot_outs_push(o, aot_outs_type(t.dtype, 1, bins.sizes));
    }
}
