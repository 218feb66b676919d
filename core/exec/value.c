/* Values that outlive a call. */
#include "exec/value.h"

#include <stdlib.h>

aot_xval aot_xv_keep(aot_xval v)
{
    if (v.kind == AOT_X_ARRAY) {
        aot_array_ref(v.u.array);
    } else if (v.kind == AOT_X_LIST) { // nests as deep as an operator's result: lists of arrays
        aot_xval *items = aot_xcalloc(v.n + 1, sizeof *items);
        for (uint32_t i = 0; i < v.n; i++) {
            items[i] = aot_xv_keep(v.u.items[i]);
        }
        v.u.items = items;
    }
    return v;
}

void aot_xv_drop(aot_xval *v)
{
    if (v->kind == AOT_X_ARRAY) {
        aot_array_unref(v->u.array);
    } else if (v->kind == AOT_X_LIST) {
        for (uint32_t i = 0; i < v->n; i++) {
            aot_xv_drop(&v->u.items[i]);
        }
        free(v->u.items);
    }
    *v = aot_xv_none();
}
