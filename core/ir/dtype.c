/* Element types: the table and its look-ups. */
#include <string.h>

#include "ir/graph.h"

static const aot_dtype_info dtypes[AOT_N_DTYPES] = {
#define DTYPE(id, abbr, torch, bytes, kind) [AOT_##id] = {abbr, torch, bytes, kind},
#include "ir/dtype.def"
#undef DTYPE
};

const aot_dtype_info *aot_dtype_get(aot_dtype d)
{
    static const aot_dtype_info none = {"?", "?", 0, '?'};
    return d < AOT_N_DTYPES ? &dtypes[d] : &none;
}

aot_dtype aot_dtype_of_abbr(const char *s, size_t n)
{
    for (int i = 0; i < AOT_N_DTYPES; i++) {
        if (strlen(dtypes[i].abbr) == n && memcmp(dtypes[i].abbr, s, n) == 0) {
            return (aot_dtype)i;
        }
    }
    return AOT_NO_DTYPE;
}

aot_dtype aot_dtype_of_torch(const char *s, size_t n)
{
    for (int i = 0; i < AOT_N_DTYPES; i++) {
        if (strlen(dtypes[i].torch_name) == n && memcmp(dtypes[i].torch_name, s, n) == 0) {
            return (aot_dtype)i;
        }
    }
    return AOT_NO_DTYPE;
}
