/* Helpers of the META rules of views, indexing and copies: see meta_shape.h. */
#include "rules/meta_shape.h"

void aot_meta_push_view(aot_call *k, aot_fake *t)
{
    if (aot_op(k->n->op)->tags & AOT_TAG_VIEW_COPY) {
        aot_fake_set_contiguous(k->c, t);
    }
    aot_call_push(k, t);
}

aot_status aot_meta_bad_dim(aot_call *k, int64_t dim, unsigned ndim)
{
    return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: dimension %lld is out of range for %u dimensions",
                    call_name(k), (long long)dim, ndim);
}

aot_status aot_meta_need_dim(aot_call *k, const aot_fake *t, unsigned pos, const char *name,
                             int64_t def, unsigned *out)
{
    int64_t d = aot_call_int(k, pos, name, def).value;
    *out = aot_fake_dim(t, d);
    return *out < t->ndim || (t->ndim == 0 && (d == 0 || d == -1))
               ? AOT_OK
               : aot_meta_bad_dim(k, d, t->ndim);
}

aot_status aot_meta_room(aot_call *k, unsigned ndim)
{
    if (ndim > AOT_FAKE_MAX_NDIM) {
        return AOT_FAIL(k->err, AOT_E_UNSUPPORTED, "%s: %u dimensions; at most %d are known here",
                        call_name(k), ndim, AOT_FAKE_MAX_NDIM);
    }
    return AOT_OK;
}

void aot_meta_insert_dim(aot_fake *t, unsigned at, aot_dim size, aot_dim stride)
{
    for (unsigned i = t->ndim; i > at; i--) {
        t->size[i] = t->size[i - 1];
        t->stride[i] = t->stride[i - 1];
    }
    t->size[at] = size;
    t->stride[at] = stride;
    t->ndim++;
}

void aot_meta_remove_dim(aot_fake *t, unsigned at)
{
    for (unsigned i = at; i + 1 < t->ndim; i++) {
        t->size[i] = t->size[i + 1];
        t->stride[i] = t->stride[i + 1];
    }
    t->ndim--;
}
