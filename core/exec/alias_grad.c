/* A view's gradient belongs to its base: element by element it is added where the view looks.
 *
 * The gradient of a base is kept in a storage that mirrors the base's, so that a view of the one
 * has the same offset and strides in the other. */
#include "exec/alias_grad.h"

#include "exec/iter.h"
#include "exec/kernel.h"

static void add_loop(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    aot_dtype d = *(const aot_dtype *)arg;
    for (int64_t i = 0; i < n; i++) {
        aot_complex a, b;
        aot_load_complex(&a, d, ptr[0] + i * stride[0], 0, 1);
        aot_load_complex(&b, d, ptr[1] + i * stride[1], 0, 1);
        a += b;
        aot_store_complex(&a, d, ptr[0] + i * stride[0], 0, 1);
    }
}

static void add_into(aot_array *to, const aot_array *from)
{
    aot_iter it;
    aot_dtype d = (aot_dtype)to->dtype;
    aot_iter_begin(&it, from->ndim, from->size);
    aot_iter_add(&it, to);
    aot_iter_add(&it, from);
    aot_iter_run_in_order(&it, add_loop, &d);
}

/* An array like base in a storage of the same size. */
static aot_array *mirror(aot_live_bytes *live, const aot_array *base)
{
    int64_t n = base->storage->bytes / aot_array_item_bytes(base);
    aot_array *all = aot_array_new(live, (aot_dtype)base->dtype, 1, &n);
    aot_array *x = aot_array_view(all, (aot_dtype)base->dtype, base->ndim, base->size, base->stride,
                                  base->offset);
    aot_array_unref(all);
    return x;
}

void aot_add_view_gradient(aot_array **sum, aot_live_bytes *live, const aot_array *grad,
                           const aot_array *view, const aot_array *base)
{
    if (*sum == NULL) {
        *sum = mirror(live, base);
    }
    aot_array *cast = aot_array_new(live, (aot_dtype)view->dtype, view->ndim, view->size);
    aot_array *to = aot_array_view(*sum, (aot_dtype)view->dtype, view->ndim, view->size,
                                   view->stride, view->offset);
    aot_array_assign(cast, grad);
    if (aot_array_fits(to)) {
        add_into(to, cast);
    }
    aot_array_unref(to);
    aot_array_unref(cast);
}

aot_array *aot_view_of_gradient(aot_live_bytes *live, const aot_array *grad, const aot_array *base,
                                const aot_array *view)
{
    aot_array *all = mirror(live, base),
              *out = aot_array_new(live, (aot_dtype)view->dtype, view->ndim, view->size);
    aot_array *part = aot_array_view(all, (aot_dtype)view->dtype, view->ndim, view->size,
                                     view->stride, view->offset);
    aot_array_assign(all, grad);
    aot_array_assign(out, part);
    aot_array_unref(part);
    aot_array_unref(all);
    return out;
}

aot_array *aot_sum_of_gradients(aot_live_bytes *live, const aot_array *a, const aot_array *b)
{
    aot_array *out = aot_array_new(live, (aot_dtype)a->dtype, a->ndim, a->size);
    aot_array_assign(out, a);
    if (b != NULL) {
        add_into(out, b);
    }
    return out;
}
