/* Flop formulas by packet, in a table.
 * Mirrors: torch/utils/flop_counter.py. Differs: jagged (nested) attention is counted by its dense
 * sizes. */
#include "rules/flops.h"

#include <string.h>

typedef struct shape {
    unsigned n;
    double d[16];
} shape;

/* Shape of the i-th argument; false if it is no tensor. */
static bool arg_shape(const aot_graph *g, const aot_node *n, unsigned i, shape *out)
{
    if (i >= n->n_args || aot_node_args(g, n)[i].kind != AOT_ARG_NODE) {
        return false;
    }
    const aot_node *x = aot_node_at(g, aot_node_args(g, n)[i].u.node);
    const aot_meta *m = aot_meta_get(g->ctx, x->meta);
    if (m->val != AOT_VAL_TENSOR || m->ndim > 16) {
        return false;
    }
    out->n = m->ndim;
    for (unsigned k = 0; k < m->ndim; k++) {
        out->d[k] = (double)aot_dim_size(g->ctx, &aot_meta_sizes(g->ctx, m)[k]);
    }
    return true;
}

static double matmul(const aot_graph *g, const aot_node *n, unsigned first)
{
    shape a, b;
    if (!arg_shape(g, n, first, &a) || !arg_shape(g, n, first + 1, &b) || a.n < 2 || b.n != a.n) {
        return 0;
    }
    double batch = a.n == 3 ? a.d[0] : 1;
    return batch * a.d[a.n - 2] * b.d[b.n - 1] * 2 * a.d[a.n - 1];
}

static double flops_mm(const aot_graph *g, const aot_node *n)
{
    return matmul(g, n, 0);
}

static double flops_addmm(const aot_graph *g, const aot_node *n)
{
    return matmul(g, n, 1);
}

static double flops_convolution(const aot_graph *g, const aot_node *n)
{
    shape x, w;
    const aot_meta *m = aot_meta_get(g->ctx, n->meta);
    if (!arg_shape(g, n, 0, &x) || !arg_shape(g, n, 1, &w) || m->val != AOT_VAL_TENSOR ||
        m->ndim > 16) {
        return 0;
    }
    const aot_arg *args = aot_node_args(g, n);
    bool transposed = n->n_args > 6 && args[6].kind == AOT_ARG_BOOL && args[6].u.i != 0;
    double f = 2 * x.d[0];
    for (unsigned k = 0; k < w.n; k++) {
        f *= w.d[k];
    }
    for (unsigned k = 2; k < x.n && k < m->ndim; k++) {
        f *= transposed ? x.d[k] : (double)aot_dim_size(g->ctx, &aot_meta_sizes(g->ctx, m)[k]);
    }
    return f;
}

static double flops_attention(const aot_graph *g, const aot_node *n)
{
    shape q, k, v;
    if (!arg_shape(g, n, 0, &q) || !arg_shape(g, n, 1, &k) || !arg_shape(g, n, 2, &v) || q.n != 4 ||
        k.n != 4 || v.n != 4) {
        return 0;
    }
    double heads = q.d[0] * q.d[1];
    return heads * q.d[2] * k.d[2] * 2 * q.d[3] + heads * q.d[2] * v.d[3] * 2 * k.d[2];
}

/* To add a formula: a row. */
static const struct {
    const char *packet;
    double (*flops)(const aot_graph *g, const aot_node *n);
} formulas[] = {
    {"aten.mm", flops_mm},
    {"aten._scaled_mm", flops_mm},
    {"aten.bmm", flops_mm},
    {"aten.addmm", flops_addmm},
    {"aten.baddbmm", flops_addmm},
    {"aten.convolution", flops_convolution},
    {"aten._convolution", flops_convolution},
    {"aten.cudnn_convolution", flops_convolution},
    {"aten._slow_conv2d_forward", flops_convolution},
    {"aten.convolution_overrideable", flops_convolution},
    {"aten._scaled_dot_product_efficient_attention", flops_attention},
    {"aten._scaled_dot_product_flash_attention", flops_attention},
    {"aten._scaled_dot_product_cudnn_attention", flops_attention},
    {"aten._flash_attention_forward", flops_attention},
    {"aten._efficient_attention_forward", flops_attention},
};

double aot_node_flops(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN) {
        return 0;
    }
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (strcmp(formulas[i].packet, aot_node_op(n)->packet) == 0) {
            return formulas[i].flops(g, n);
        }
    }
    return 0;
}
