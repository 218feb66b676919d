/* Gradients of functional collectives (torch/distributed/_functional_collectives.py registers
 * them): a sum's gradient is a sum, gathering and scattering are each other's. */
#include <string.h>
#include <strings.h>

#include "grad/call.h"

static aot_tensor *waited(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, _c10d_functional_wait_tensor, x);
}

/* Only sums have a gradient. The operator's name is passed on in small letters. */
static aot_value only_sum(aot_vjp *b, unsigned pos, const char *name)
{
    aot_tracer *t = aot_vjp_tracer(b);
    const char *how = aot_text(aot_tracer_ctx(t), aot_vjp_arg(b, pos).u.s);

    if (strcasecmp(how, "sum") != 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "%s backward only supports 'sum' reduction, got '%s'", name, how);
    }
    return aot_v_str(t, "sum");
}

void vjp_wait_tensor(aot_vjp *b)
{
    aot_vjp_set(b, 0, aot_vjp_grad(b, 0));
}

void vjp_all_reduce(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value how = only_sum(b, 1, "all_reduce");
    aot_tensor *grad = AOT(t, aten_contiguous, aot_vjp_grad(b, 0));

    grad = AOT(t, _c10d_functional_all_reduce, grad, how, aot_vjp_arg(b, 2));
    aot_vjp_set(b, 0, waited(t, grad));
}

/* all_gather_into_tensor(input, group_size, group_name) */
void vjp_all_gather(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = AOT(t, aten_contiguous, aot_vjp_grad(b, 0));

    grad = AOT(t, _c10d_functional_reduce_scatter_tensor, grad, aot_v_str(t, "sum"),
               aot_vjp_arg(b, 1), aot_vjp_arg(b, 2));
    aot_vjp_set(b, 0, waited(t, grad));
}

/* reduce_scatter_tensor(input, reduce_op, group_size, group_name) */
void vjp_reduce_scatter(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad;

    only_sum(b, 1, "reduce_scatter_tensor");
    grad = AOT(t, aten_contiguous, aot_vjp_grad(b, 0));
    grad = AOT(t, _c10d_functional_all_gather_into_tensor, grad, aot_vjp_arg(b, 2),
               aot_vjp_arg(b, 3));
    aot_vjp_set(b, 0, waited(t, grad));
}

/* all_to_all_single(input, output_split_sizes, input_split_sizes, group_name) */
void vjp_all_to_all_single(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = AOT(t, aten_contiguous, aot_vjp_grad(b, 0));

    grad = AOT(t, _c10d_functional_all_to_all_single, grad, aot_vjp_arg(b, 2), aot_vjp_arg(b, 1),
               aot_vjp_arg(b, 3));
    aot_vjp_set(b, 0, waited(t, grad));
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum { MAX_TENSORS = 256 };

static aot_value contiguous_grads(aot_vjp *b, unsigned *n)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g[MAX_TENSORS];

    *n = aot_vjp_n_items(b, 0);
    if (*n > MAX_TENSORS) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a coalesced collective of more than %d tensors",
                       MAX_TENSORS);
    }
    for (unsigned i = 0; i < *n; i++) {
        g[i] = AOT(t, aten_contiguous, aot_vjp_grad(b, i));
    }
    return aot_v_tensors(t, *n, g);
}

static void set_waited(aot_vjp *b, aot_value grads, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        aot_vjp_set_item(b, 0, i, waited(aot_vjp_tracer(b), aot_v_item(grads, i)));
    }
}

void vjp_all_reduce_coalesced(aot_vjp *b)
{
    unsigned n;
    aot_value how = only_sum(b, 1, "all_reduce_coalesced"), g = contiguous_grads(b, &n);

    set_waited(b,
               AOT_V(aot_vjp_tracer(b), _c10d_functional_all_reduce_coalesced, g, how,
                     aot_vjp_arg(b, 2)),
               n);
}

void vjp_all_gather_coalesced(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    unsigned n;
    aot_value g = contiguous_grads(b, &n);

    set_waited(b,
               AOT_V(t, _c10d_functional_reduce_scatter_tensor_coalesced, g, aot_v_str(t, "sum"),
                     aot_vjp_arg(b, 1), aot_vjp_arg(b, 2)),
               n);
}

void vjp_reduce_scatter_coalesced(aot_vjp *b)
{
    unsigned n;
    aot_value g;

    only_sum(b, 1, "reduce_scatter_tensor_coalesced");
    g = contiguous_grads(b, &n);
    set_waited(b,
               AOT_V(aot_vjp_tracer(b), _c10d_functional_all_gather_into_tensor_coalesced, g,
                     aot_vjp_arg(b, 2), aot_vjp_arg(b, 3)),
               n);
}
