/* einsum: operands aligned to the output's dimensions, then contracted pair by pair with bmm.
 * Mirrors aten/src/ATen/native/Linear.cpp (einsum, sumproduct_pair). */
#include <ctype.h>
#include <string.h>

#include "trace/trace.h"

enum { ELLIPSIS = 52, N_LABELS = 52, MAX_OPS = 32 };

typedef struct labels {
    uint8_t d[AOT_FAKE_MAX_NDIM + 1];
    unsigned n;
} labels;

typedef struct einsum {
    aot_tracer *t;
    unsigned n_ops;
    aot_tensor *op[MAX_OPS];
    labels of[MAX_OPS];
    unsigned count[N_LABELS]; /* how often a label stands in the operands */
    int at[N_LABELS];         /* its dimension in the aligned shape; -1 */
    unsigned ell_ndim, ell_at; /* dimensions that ... covers, their first place */
    unsigned n_out, n_dims;    /* of the aligned shape: output dimensions come first */
    unsigned wide[2 * AOT_FAKE_MAX_NDIM]; /* operands whose size is not 1, by dimension */
} einsum;

static int label_of(const einsum *e, char c)
{
    if (!isalpha((unsigned char)c)) {
        aot_trace_fail(e->t, AOT_E_SHAPE, "einsum: '%c' is no subscript", c);
    }
    return isupper((unsigned char)c) ? c - 'A' : c - 'a' + 26;
}

static void read_operands(einsum *e, const char *lhs, size_t n)
{
    unsigned op = 0;
    for (size_t i = 0; i < n; i++) {
        if (lhs[i] == ' ') {
            continue;
        }
        if (lhs[i] == ',') {
            op++;
            continue;
        }
        if (op >= e->n_ops || e->of[op].n > AOT_FAKE_MAX_NDIM) {
            aot_trace_fail(e->t, AOT_E_SHAPE, "einsum: more subscripts than operands");
        }
        labels *l = &e->of[op];
        if (lhs[i] == '.') {
            l->d[l->n++] = ELLIPSIS;
            i += 2;
        } else {
            l->d[l->n++] = (uint8_t)label_of(e, lhs[i]);
        }
    }
}

static void count_labels(einsum *e)
{
    for (unsigned i = 0; i < e->n_ops; i++) {
        bool dots = memchr(e->of[i].d, ELLIPSIS, e->of[i].n) != NULL;
        unsigned ndim = aot_ndim(e->op[i]), n = e->of[i].n - dots;
        for (unsigned j = 0; j < e->of[i].n; j++) {
            if (e->of[i].d[j] != ELLIPSIS) {
                e->count[e->of[i].d[j]]++;
            }
        }
        if (dots ? ndim < n : ndim != n) {
            aot_trace_fail(e->t, AOT_E_SHAPE, "einsum: %u subscripts for a tensor of %u dimensions",
                           n, ndim);
        }
        if (dots && ndim - n > e->ell_ndim) {
            e->ell_ndim = ndim - n;
        }
    }
}

/* Which dimension each label has: those of the output, then those that are summed. */
static void place_labels(einsum *e, const char *rhs)
{
    unsigned next = 0;
    bool dots = false;
    for (int l = 0; l < N_LABELS; l++) {
        e->at[l] = -1;
    }
    if (rhs == NULL) { /* implicit output: ... and the labels seen once */
        dots = true;
        next = e->ell_ndim;
        for (int l = 0; l < N_LABELS; l++) {
            if (e->count[l] == 1) {
                e->at[l] = (int)next++;
            }
        }
    }
    for (; rhs != NULL && *rhs != '\0'; rhs++) {
        if (*rhs == '.') {
            e->ell_at = next;
            next += e->ell_ndim;
            dots = true;
            rhs += 2;
        } else if (*rhs != ' ') {
            e->at[label_of(e, *rhs)] = (int)next++;
        }
    }
    e->n_out = next;
    if (!dots) {
        e->ell_at = next;
        next += e->ell_ndim;
    }
    for (int l = 0; l < N_LABELS; l++) {
        if (e->count[l] > 0 && e->at[l] < 0) {
            e->at[l] = (int)next++;
        }
    }
    if (next > AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(e->t, AOT_E_SHAPE, "einsum: more than %d dimensions", AOT_FAKE_MAX_NDIM);
    }
    e->n_dims = next;
}

/* One operand with all dimensions in their places; missing ones have size 1, repeated labels are
 * diagonals. */
static aot_tensor *align(einsum *e, unsigned i)
{
    aot_tracer *t = e->t;
    aot_tensor *x = e->op[i];
    int64_t order[AOT_FAKE_MAX_NDIM], dim = 0;
    unsigned ndim = aot_ndim(x);
    for (unsigned d = 0; d < e->n_dims; d++) {
        order[d] = -1;
    }
    for (unsigned j = 0; j < e->of[i].n; j++) {
        uint8_t l = e->of[i].d[j];
        if (l == ELLIPSIS) {
            for (unsigned d = e->ell_ndim - (ndim - (e->of[i].n - 1)); d < e->ell_ndim; d++) {
                e->wide[e->ell_at + d] += !aot_dim_is(aot_size(x, dim), 1);
                order[e->ell_at + d] = dim++;
            }
        } else if (order[e->at[l]] < 0) {
            e->wide[e->at[l]] += !aot_dim_is(aot_size(x, dim), 1);
            order[e->at[l]] = dim++;
        } else {
            int64_t first = order[e->at[l]];
            x = AOT(t, aten_diagonal, x, 0, first, dim);
            x = AOT(t, aten_movedim_int, x, -1, first);
        }
    }
    for (unsigned d = 0; d < e->n_dims; d++) {
        if (order[d] < 0) {
            x = AOT(t, aten_unsqueeze, x, dim);
            order[d] = dim++;
        }
    }
    return AOT(t, aten_permute, x, aot_v_ints(t, e->n_dims, order));
}

/* ---- one contraction ------------------------------------------------------------------------- */

typedef struct dim_list {
    int64_t d[AOT_FAKE_MAX_NDIM];
    unsigned n;
    aot_dim size; /* product of the sizes */
} dim_list;

static void add_dim(aot_tracer *t, dim_list *l, unsigned dim, aot_dim size)
{
    l->d[l->n++] = dim;
    l->size = aot_trace_dim(t, '*', l->size, size);
}

static aot_value joined(aot_tracer *t, const dim_list *a, const dim_list *b, const dim_list *c,
                        const dim_list *d)
{
    const dim_list *lists[4] = {a, b, c, d};
    int64_t all[4 * AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    for (int i = 0; i < 4; i++) {
        for (unsigned j = 0; j < lists[i]->n; j++) {
            all[n++] = lists[i]->d[j];
        }
    }
    return aot_v_ints(t, n, all);
}

static aot_tensor *sum_keep(aot_tracer *t, aot_tensor *x, const dim_list *dims)
{
    return dims->n == 0 ? x
                        : AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, dims->n, dims->d), true);
}

/* The product of two aligned operands, summed over `sum`, whose dimensions stay with size 1: those
 * in both are a batch, those in one of them rows or columns of a bmm. */
static aot_tensor *pair(aot_tracer *t, aot_tensor *left, aot_tensor *right, const dim_list *sum)
{
    dim_list both = {.size = aot_dim_of(1)}, rows = both, columns = both, summed = both;
    int64_t back[AOT_FAKE_MAX_NDIM];
    aot_dim out[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_ndim(left), at = 0;
    if (sum->n == 0) {
        return AOT(t, aten_mul_Tensor, left, right);
    }
    for (unsigned i = 0, s = 0; i < n; i++) {
        bool l = !aot_dim_is(aot_size(left, i), 1), r = !aot_dim_is(aot_size(right, i), 1);
        if (s < sum->n && sum->d[s] == i) {
            s++;
            dim_list one = {.d = {i}, .n = 1};
            if (l && r) {
                summed.size = aot_trace_dim(t, '*', summed.size, aot_size(left, i));
            } else if (l) {
                left = sum_keep(t, left, &one);
            } else if (r) {
                right = sum_keep(t, right, &one);
            }
        } else if (l && r) {
            add_dim(t, &both, i, aot_size(left, i));
        } else if (l) {
            add_dim(t, &rows, i, aot_size(left, i));
        } else {
            add_dim(t, &columns, i, aot_size(right, i));
        }
    }
    if (rows.n > 0 && columns.n > 0 && columns.d[columns.n - 1] < rows.d[0]) {
        aot_tensor *x = left;
        dim_list d = rows;
        left = right;
        right = x;
        rows = columns;
        columns = d;
    }
    const dim_list *order[4] = {&both, &rows, sum, &columns};
    for (int i = 0; i < 4; i++) {
        for (unsigned j = 0; j < order[i]->n; j++) {
            unsigned d = order[i]->d[j];
            out[at] = order[i] == sum ? aot_dim_of(1) : aot_size(i == 3 ? right : left, d);
            back[d] = at++;
        }
    }
    aot_dim lsize[3] = {both.size, rows.size, summed.size};
    aot_dim rsize[3] = {both.size, summed.size, columns.size};
    left = AOT(t, aten_permute, left, joined(t, &both, &rows, sum, &columns));
    left = AOT(t, aten_reshape, left, ((aot_dims){lsize, 3}));
    right = AOT(t, aten_permute, right, joined(t, &both, sum, &columns, &rows));
    right = AOT(t, aten_reshape, right, ((aot_dims){rsize, 3}));
    aot_tensor *x = AOT(t, aten_bmm, left, right);
    x = AOT(t, aten_view, x, ((aot_dims){out, at}));
    return AOT(t, aten_permute, x, aot_v_ints(t, at, back));
}

/* Contracts two operands over what no other operand has. */
static aot_tensor *contract(einsum *e, aot_tensor *a, aot_tensor *b)
{
    dim_list sum = {.size = aot_dim_of(1)}, of_a = sum, of_b = sum;
    for (unsigned d = e->n_out; d < e->n_dims; d++) {
        bool wide_a = !aot_dim_is(aot_size(a, d), 1), wide_b = !aot_dim_is(aot_size(b, d), 1);
        if (wide_a && wide_b) {
            if (--e->wide[d] == 1) {
                sum.d[sum.n++] = d;
                e->wide[d] = 0;
            }
        } else if (e->wide[d] == 1 && (wide_a || wide_b)) {
            dim_list *l = wide_a ? &of_a : &of_b;
            l->d[l->n++] = d;
            e->wide[d] = 0;
        }
    }
    a = sum_keep(e->t, a, &of_a);
    b = sum_keep(e->t, b, &of_b);
    return pair(e->t, a, b, &sum);
}

/* Takes the operands two by two: the first two without a path, as it says with one. */
static void contract_all(einsum *e, aot_dims path)
{
    unsigned at = 0;
    while (e->n_ops > 1) {
        unsigned i = 0, j = 1;
        if (path.n >= at + 2) {
            i = (unsigned)path.d[at++].value;
            j = (unsigned)path.d[at++].value;
        }
        if (j < i) {
            unsigned k = i;
            i = j;
            j = k;
        }
        if (i == j || j >= e->n_ops) {
            aot_trace_fail(e->t, AOT_E_SHAPE, "einsum: the path does not fit the operands");
        }
        aot_tensor *a = e->op[i], *b = e->op[j];
        memmove(e->op + j, e->op + j + 1, (e->n_ops - j - 1) * sizeof *e->op);
        memmove(e->op + i, e->op + i + 1, (e->n_ops - i - 2) * sizeof *e->op);
        e->n_ops -= 2;
        aot_tensor *x = contract(e, a, b);
        if (path.n == 0) {
            memmove(e->op + 1, e->op, e->n_ops * sizeof *e->op);
            e->op[0] = x;
        } else {
            e->op[e->n_ops] = x;
        }
        e->n_ops++;
    }
}

bool composite_einsum(aot_expand *k)
{
    einsum *e = AOT_NEW(aot_tracer_arena(k->t), einsum);
    aot_tensor *const *in;
    const char *text = aot_text(aot_tracer_ctx(k->t), k->args[0].u.s), *arrow = strstr(text, "->");
    e->t = k->t;
    e->n_ops = aot_x_tensors(k, 1, &in);
    if (e->n_ops == 0 || e->n_ops > MAX_OPS) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "einsum of %u operands", e->n_ops);
    }
    memcpy(e->op, in, e->n_ops * sizeof *e->op);
    unsigned n = e->n_ops;
    read_operands(e, text, arrow != NULL ? (size_t)(arrow - text) : strlen(text));
    count_labels(e);
    place_labels(e, arrow != NULL ? arrow + 2 : NULL);
    for (unsigned i = 0; i < n; i++) {
        e->op[i] = align(e, i);
    }
    contract_all(e, aot_x_dims(k, 2));
    aot_tensor *x = e->op[0];
    if (e->n_dims == e->n_out) {
        return aot_x_give(k, x);
    }
    if (n > 1) {
        aot_dims kept = {aot_sizes(x).d, e->n_out};
        return aot_x_give(k, AOT(k->t, aten_view, x, kept));
    }
    dim_list rest = {.n = 0};
    for (unsigned d = e->n_out; d < e->n_dims; d++) {
        rest.d[rest.n++] = d;
    }
    return aot_x_give(k, AOT(k->t, aten_sum_dim_IntList, x, aot_v_ints(k->t, rest.n, rest.d)));
}
