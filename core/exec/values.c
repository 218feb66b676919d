/* Values to and from JSON. */
#include "exec/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/real_json.h"
#include "exec/element.h"

typedef struct reader {
    const char *file, *key;
    aot_err *err;
} reader;

aot_status aot_values_read(json_t **out, const char *file, aot_err *err)
{
    json_error_t e;
    json_t *j = json_load_file(file, JSON_REJECT_DUPLICATES, &e);
    if (j == NULL) {
        bool missing = json_error_code(&e) == json_error_cannot_open_file;
        aot_status s = missing ? AOT_FAIL(err, AOT_E_IO, "cannot be read: %s", e.text)
                               : AOT_FAIL_POS(err, AOT_E_PARSE,
                                              ((aot_pos){(uint32_t)e.line, (uint32_t)e.column}),
                                              "not JSON: %s", e.text);
        aot_err_in_file(err, file);
        return s;
    }
    *out = j;
    return AOT_OK;
}

static aot_status fault(const reader *r, const char *fmt, ...) AOT_PRINTF(2, 3);
static aot_status fault(const reader *r, const char *fmt, ...)
{
    char msg[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    aot_status s = AOT_FAIL(r->err, AOT_E_PARSE, "%s: %s", r->key, msg);
    aot_err_in_file(r->err, r->file);
    return s;
}

static aot_status read_dims(const reader *r, const json_t *j, const char *field, unsigned *n,
                            int64_t *out)
{
    const json_t *list = json_object_get(j, field), *item;
    size_t i;
    if (!json_is_array(list) || json_array_size(list) > AOT_ARRAY_MAX_NDIM) {
        return fault(r, "%s must be a list of at most %d integers", field, AOT_ARRAY_MAX_NDIM);
    }
    json_array_foreach(list, i, item)
    {
        out[i] = json_integer_value(item);
        if (!json_is_integer(item) || out[i] < 0 || out[i] > INT32_MAX) {
            return fault(r, "%s[%zu] must be an integer from 0 on", field, i);
        }
    }
    *n = (unsigned)json_array_size(list);
    return AOT_OK;
}

static bool number_of(const json_t *j, double *f, int64_t *i)
{
    char *end = NULL;
    *f = json_is_string(j)    ? strtod(json_string_value(j), &end)
         : json_is_boolean(j) ? json_is_true(j)
                              : json_number_value(j);
    *i = json_is_integer(j) ? json_integer_value(j) : json_is_boolean(j) ? json_is_true(j) : 0;
    return json_is_string(j) ? *end == '\0' && end != json_string_value(j) && !isfinite(*f)
                             : json_is_number(j) || json_is_boolean(j);
}

/* Elements in row-major order into x, which is contiguous. */
static aot_status read_data(const reader *r, const json_t *data, aot_array *x)
{
    aot_dtype d = (aot_dtype)x->dtype;
    int64_t n = aot_array_numel(x), per = aot_dtype_class(d) == AOT_CLASS_COMPLEX ? 2 : 1,
            bytes = aot_array_item_bytes(x);
    if (!json_is_array(data) || (int64_t)json_array_size(data) != n * per) {
        return fault(r,
                     "data must be a list of %" PRId64 " numbers (shape has %" PRId64
                     " elements%s), not %zu",
                     n * per, n, per == 2 ? ", each a pair" : "", json_array_size(data));
    }
    for (int64_t i = 0; i < n; i++) {
        double f[2] = {0};
        int64_t v = 0;
        const json_t *item = NULL;
        for (int64_t c = 0; c < per; c++) {
            item = json_array_get(data, (size_t)(i * per + c));
            if (!number_of(item, &f[c], &v)) {
                return fault(
                    r,
                    "data[%" PRId64
                    "] is no number; NaN and infinities are written \"nan\", \"inf\", \"-inf\"",
                    i * per + c);
            }
        }
        char *p = aot_array_data(x) + i * bytes;
        if (per == 2) {
            aot_complex z = CMPLX(f[0], f[1]);
            aot_store_complex(&z, d, p, 0, 1);
        } else if (json_is_integer(item) || json_is_boolean(item)) {
            aot_store_int(&v, d, p, 0, 1);
        } else {
            aot_store_real(&f[0], d, p, 0, 1);
        }
        bool whole = aot_dtype_class(d) == AOT_CLASS_INT;
        bool holds = json_is_integer(item) || json_is_boolean(item) ? aot_get_int(d, p) == v
                                                                    : aot_get_real(d, p) == f[0];
        if (whole && !holds) {
            return fault(r, "data[%" PRId64 "] = %.17g is no number of its dtype", i * per, f[0]);
        }
    }
    return AOT_OK;
}

enum { MOST_BYTES = 1 << 30 }; // of a value with its gaps; a few numbers could ask for all memory

static aot_status read_array(const reader *r, const json_t *j, aot_array **out)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    unsigned ndim, n_strides;
    char name[64];
    const char *text = json_string_value(json_object_get(j, "dtype"));
    snprintf(name, sizeof name, "torch.%s", text == NULL ? "" : text);
    aot_dtype d = aot_dtype_of_torch(name, strlen(name));
    if (d == AOT_NO_DTYPE) {
        return fault(r, "dtype must be one of PyTorch's, such as \"float32\", not %s%s%s",
                     text == NULL ? "missing" : "\"", text == NULL ? "" : text,
                     text == NULL ? "" : "\"");
    }
    AOT_TRY(read_dims(r, j, "shape", &ndim, size));
    aot_strides_contiguous(stride, ndim, size);
    double elements = 1;
    for (unsigned i = 0; i < ndim; i++) {
        elements *= (double)size[i];
    }
    if (elements * aot_dtype_get(d)->bytes > MOST_BYTES) {
        return fault(r, "shape has %.3g elements, too many for a values file", elements);
    }
    if (json_object_get(j, "stride") != NULL) {
        AOT_TRY(read_dims(r, j, "stride", &n_strides, stride));
        if (n_strides != ndim) {
            return fault(r, "stride has %u numbers, shape has %u", n_strides, ndim);
        }
    }
    int64_t bytes = aot_extent(ndim, size, stride) * aot_dtype_get(d)->bytes;
    if (bytes > MOST_BYTES) {
        return fault(
            r, "stride reaches over %" PRId64 " bytes; the storage of a value has at most %d MiB",
            bytes, MOST_BYTES >> 20);
    }
    aot_array *flat = aot_array_new(NULL, d, ndim, size);
    aot_status s = read_data(r, json_object_get(j, "data"), flat);
    if (s == AOT_OK) {
        *out = aot_array_new_strided(NULL, d, ndim, size, stride);
        aot_array_assign(*out, flat);
    }
    aot_array_unref(flat);
    return s;
}

/* {"inner": [...]}: a tensor subclass. */
static aot_status read_inner(const reader *r, const json_t *list, aot_xval *out)
{
    unsigned n = (unsigned)json_array_size(list), k = 0;
    aot_xval *items = aot_xcalloc(n + 1u, sizeof *items);
    aot_status s =
        n > 0 ? AOT_OK : fault(r, "inner must be a list of the subclass's inner tensors");
    for (; s == AOT_OK && k < n; k++) {
        aot_array *x = NULL;
        s = read_array(r, json_array_get(list, k), &x);
        items[k] = aot_xv_array(x);
    }
    *out = s == AOT_OK ? aot_xv_keep(aot_xv_list(n, items)) : aot_xv_none();
    for (unsigned i = 0; i < n; i++) {
        aot_xv_drop(&items[i]);
    }
    free(items);
    return s;
}

/* A misspelled "strides" must not pass for a value without one. */
static aot_status check_keys(const reader *r, const json_t *j)
{
    static const char *const known[] = {"dtype",   "shape",   "stride", "data",         "inner",
                                        "same_as", "view_of", "offset", "requires_grad"};
    const char *key;
    const json_t *item;
    json_object_foreach((json_t *)(uintptr_t)j, key, item)
    {
        bool is = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            is |= strcmp(known[i], key) == 0;
        }
        if (!is) {
            return fault(r,
                         "there is no key \"%.60s\": a value has dtype, shape, stride and data, or "
                         "inner, same_as, view_of, offset",
                         key);
        }
    }
    return AOT_OK;
}

aot_status aot_value_of_json(aot_xval *out, const json_t *j, const char *file, const char *key,
                             aot_err *err)
{
    reader r = {file, key, err};
    AOT_TRY(check_keys(&r, j));
    aot_array *x = NULL;
    double f;
    int64_t i;
    if (json_object_get(j, "inner") != NULL) {
        return read_inner(&r, json_object_get(j, "inner"), out);
    }
    if (json_is_object(j)) {
        AOT_TRY(read_array(&r, j, &x));
        *out = aot_xv_array(x);
        return AOT_OK;
    }
    if (!number_of(j, &f, &i)) {
        return fault(&r, "must be a number or {\"dtype\", \"shape\", \"data\"}");
    }
    *out = json_is_boolean(j)   ? aot_xv_bool(i != 0)
           : json_is_integer(j) ? aot_xv_int(i)
                                : aot_xv_real(f);
    return AOT_OK;
}

aot_status aot_view_of_json(aot_xval *out, const aot_array *of, const json_t *j, const char *file,
                            const char *key, aot_err *err)
{
    reader r = {file, key, err};
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    unsigned ndim, n_strides;
    AOT_TRY(check_keys(&r, j));
    json_int_t offset = json_integer_value(json_object_get(j, "offset"));
    AOT_TRY(read_dims(&r, j, "shape", &ndim, size));
    aot_strides_contiguous(stride, ndim, size);
    if (json_object_get(j, "stride") != NULL) {
        AOT_TRY(read_dims(&r, j, "stride", &n_strides, stride));
        if (n_strides != ndim) {
            return fault(&r, "stride has %u numbers, shape has %u", n_strides, ndim);
        }
    }
    aot_array *v = offset < 0 || offset > INT32_MAX
                       ? NULL
                       : aot_array_view(of, (aot_dtype)of->dtype, ndim, size, stride, offset);
    if (v == NULL || !aot_array_fits(v)) {
        aot_array_unref(v);
        return fault(&r,
                     "the view reaches beyond the %" PRId64 " elements of the memory that it is of",
                     of->storage->bytes / aot_array_item_bytes(of));
    }
    *out = aot_xv_array(v);
    return AOT_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

json_t *aot_real_json(double x)
{
    return x != x     ? json_string("nan")
           : isinf(x) ? json_string(x > 0 ? "inf" : "-inf")
                      : json_real(x);
}

static json_t *dims_json(unsigned n, const int64_t *v)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) {
        json_array_append_new(list, json_integer(v[i]));
    }
    return list;
}

static json_t *data_json(const aot_array *x)
{
    aot_dtype d = (aot_dtype)x->dtype;
    aot_class c = aot_dtype_class(d);
    json_t *list = json_array();
    aot_array *flat = aot_array_new(NULL, d, x->ndim, x->size);
    aot_array_assign(flat, x);
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    for (int64_t i = 0; i < n; i++) {
        const char *p = aot_array_data(flat) + i * bytes;
        if (c == AOT_CLASS_COMPLEX) {
            aot_complex z;
            aot_load_complex(&z, d, p, 0, 1);
            json_array_append_new(list, aot_real_json(creal(z)));
            json_array_append_new(list, aot_real_json(cimag(z)));
        } else if (c == AOT_CLASS_INT) {
            int64_t v = aot_get_int(d, p);
            json_array_append_new(list,
                                  d == AOT_B8 ? json_boolean(v)
                                  : d == AOT_U64 && v < 0
                                      ? json_real((double)(uint64_t)v) // beyond Jansson's integers
                                      : json_integer(v));
        } else {
            json_array_append_new(list, aot_real_json(aot_get_real(d, p)));
        }
    }
    aot_array_unref(flat);
    return list;
}

static json_t *array_json(const aot_array *x)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "dtype",
                     aot_dtype_get((aot_dtype)x->dtype)->torch_name + strlen("torch."), "shape",
                     dims_json(x->ndim, x->size), "stride", dims_json(x->ndim, x->stride), "data",
                     data_json(x));
}

json_t *aot_value_json(const aot_xval *v)
{
    json_t *list;
    switch (v->kind) {
    case AOT_X_INT: return json_integer(v->u.i);
    case AOT_X_BOOL: return json_boolean(v->u.i != 0);
    case AOT_X_REAL: return aot_real_json(v->u.f);
    case AOT_X_ARRAY: return array_json(v->u.array);
    case AOT_X_LIST:
        list = json_array();
        for (unsigned i = 0; i < v->n; i++) {
            const aot_xval *item = &v->u.items[i];
            json_array_append_new(list, item->kind == AOT_X_ARRAY ? array_json(item->u.array)
                                                                  : json_null());
        }
        return json_pack("{s:o}", "inner", list);
    default: return json_null();
    }
}
