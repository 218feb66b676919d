/* Storages are copied once each, whole, so that offsets and strides stay. */
#include "exec/clones.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

aot_dtype aot_double_of(aot_dtype d)
{
    aot_class c = aot_dtype_class(d);
    return c == AOT_CLASS_REAL ? AOT_F64 : c == AOT_CLASS_COMPLEX ? AOT_C128 : d;
}

typedef struct copied {
    const aot_storage *from;
    aot_array *all; /* the copy, as one row */
} copied;

typedef AOT_VEC(copied) copies;

static aot_array *copy_of_storage(copies *done, const aot_array *x, aot_dtype d)
{
    for (size_t i = 0; i < done->n; i++) {
        if (done->d[i].from == x->storage) {
            return done->d[i].all;
        }
    }
    int64_t n = x->storage->bytes / aot_array_item_bytes(x), one = 1;
    aot_array *from = aot_array_view(x, (aot_dtype)x->dtype, 1, &n, &one, 0),
              *all = aot_array_new(NULL, d, 1, &n);
    if (n > 0) {
        aot_array_assign(all, from);
    }
    aot_array_unref(from);
    aot_vec_push(done, ((copied){x->storage, all}));
    return all;
}

/* Of a tensor subclass: the list of its inner tensors. */
static aot_xval clone_list(const aot_xval *v, bool in_double)
{
    aot_xval *items = aot_clone_values(v->u.items, v->n, in_double),
             out = aot_xv_keep(aot_xv_list(v->n, items));
    aot_free_values(items, v->n);
    return out;
}

aot_xval *aot_clone_values(const aot_xval *v, unsigned n, bool in_double)
{
    aot_xval *out = aot_xcalloc(n + 1u, sizeof *out);
    copies done = {0};
    for (unsigned i = 0; i < n; i++) {
        if (v[i].kind != AOT_X_ARRAY) {
            out[i] = v[i].kind == AOT_X_LIST ? clone_list(&v[i], in_double) : aot_xv_keep(v[i]);
            continue;
        }
        const aot_array *x = v[i].u.array;
        // the very same array stays one
        for (unsigned k = 0; k < i && out[i].kind == AOT_X_NONE; k++) {
            if (v[k].kind == AOT_X_ARRAY && v[k].u.array == x) {
                out[i] = aot_xv_keep(out[k]);
            }
        }
        if (out[i].kind == AOT_X_NONE) {
            aot_dtype d = in_double ? aot_double_of((aot_dtype)x->dtype) : (aot_dtype)x->dtype;
            const aot_array *all = copy_of_storage(&done, x, d);
            out[i] = aot_xv_array(aot_array_view(all, d, x->ndim, x->size, x->stride, x->offset));
        }
    }
    for (size_t i = 0; i < done.n; i++) {
        aot_array_unref(done.d[i].all);
    }
    aot_vec_free(&done);
    return out;
}

void aot_free_values(aot_xval *v, unsigned n)
{
    for (unsigned i = 0; v != NULL && i < n; i++) {
        aot_xv_drop(&v[i]);
    }
    free(v);
}

aot_xval aot_copy_value(const aot_xval *v)
{
    return v->kind == AOT_X_ARRAY ? aot_xv_array(aot_array_copy(v->u.array)) : aot_xv_keep(*v);
}
