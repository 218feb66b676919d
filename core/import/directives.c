/* Directives:
 *
 *   # aotscope: storage base f32[10]           memory of ten f32, called base
 *   # aotscope: input L_x_ = base[0:6]         the input is a view of it (slices, one a dimension)
 *   # aotscope: same L_y_ = L_x_             two inputs are the very same tensor
 *   # aotscope: op mine::scale(Tensor x, float by) -> Tensor    schema of a custom operator
 *   # aotscope: requires_grad L_w_
 *   # aotscope: hint s77=5
 *   # aotscope: set activation_memory_budget=0.5
 *
 * Inputs become input descriptions whose source is the parameter's name (a storage is one too, its
 * source is "storage NAME"); storages are numbered in order of appearance; settings go into the
 * unit's configuration as if the log had recorded them. */
#include "import/directives.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ir/graph.h"

enum { MAX_DIMS = 16 };

const char *aot_directive_of(const char *s, size_t n, size_t *len)
{
    static const char mark[] = "# aotscope:";
    size_t i = 0;
    while (i < n && isspace((unsigned char)s[i])) {
        i++;
    }
    if (n - i < sizeof mark - 1 || memcmp(s + i, mark, sizeof mark - 1) != 0) {
        return NULL;
    }
    i += sizeof mark - 1;
    while (i < n && isspace((unsigned char)s[i])) {
        i++;
    }
    while (n > i && isspace((unsigned char)s[n - 1])) {
        n--;
    }
    *len = n - i;
    return s + i;
}

static const char *blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    return p;
}

/* A name (letters, digits, _ . [ ] ' for sources such as L['x']) copied to buf. */
static const char *word(const char *p, char *buf, size_t size, const char *stop)
{
    size_t n = 0;
    p = blanks(p);
    while (*p != '\0' && *p != ' ' && *p != '\t' && strchr(stop, *p) == NULL && n + 1 < size) {
        buf[n++] = *p++;
    }
    buf[n] = '\0';
    return blanks(p);
}

static aot_input_desc *input_of(aot_unit *u, const char *name)
{
    for (size_t i = 0; i < u->inputs.n; i++) {
        if (strcmp(u->inputs.d[i].source, name) == 0) {
            return &u->inputs.d[i];
        }
    }
    aot_input_desc d = {.dtype = "", .device = "", .size = "[]", .stride = "[]", .describer = 0,
                        .tensor = (int)u->inputs.n, .storage = -1, .storage_bytes = -1,
                        .is_leaf = true};
    d.source = aot_arena_strndup(u->arena, name, strlen(name));
    aot_vec_push(&u->inputs, d);
    return &u->inputs.d[u->inputs.n - 1];
}

/* Dimensions of a storage: kept as an input description named "storage NAME". */
static aot_input_desc *storage_of(aot_unit *u, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "storage %.120s", name);
    for (size_t i = 0; i < u->inputs.n; i++) {
        if (strcmp(u->inputs.d[i].source, full) == 0) {
            return &u->inputs.d[i];
        }
    }
    return NULL;
}

static int read_dims(const char *p, int64_t dims[MAX_DIMS])
{
    int n = 0;
    char *end;
    p = blanks(p);
    while (*p != ']' && *p != '\0' && n < MAX_DIMS) {
        dims[n] = strtoll(p, &end, 10);
        if (end == p || dims[n] < 0 || dims[n] > (int64_t)1 << 40) {
            return -1;
        }
        n++;
        p = blanks(end);
        p = *p == ',' ? blanks(p + 1) : p;
    }
    return *p == ']' ? n : -1;
}

static const char *dims_text(aot_arena *a, const int64_t *dims, int n)
{
    aot_sb sb = {0};
    aot_sb_addc(&sb, '[');
    for (int i = 0; i < n; i++) {
        aot_sb_addz(&sb, i > 0 ? ", " : "");
        aot_sb_add_i64(&sb, dims[i]);
    }
    aot_sb_addc(&sb, ']');
    const char *text = aot_arena_strndup(a, sb.d, sb.n);
    aot_sb_free(&sb);
    return text;
}

/* storage base f32[10] */
static bool storage(aot_unit *u, const char *p, char *why, size_t size)
{
    char name[128], type[32];
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], total = 1;
    p = word(p, name, sizeof name, "");
    p = word(p, type, sizeof type, "[");
    aot_dtype dtype = aot_dtype_of_abbr(type, strlen(type));
    int n = *p == '[' ? read_dims(p + 1, dims) : -1;
    if (name[0] == '\0' || dtype == AOT_NO_DTYPE || n < 0) {
        snprintf(why, size, "expected: storage NAME DTYPE[SIZES], as in: storage base f32[10]");
        return false;
    }
    for (int i = n - 1; i >= 0; i--) {
        strides[i] = total;
        if (dims[i] > 0 && total > ((int64_t)1 << 50) / dims[i]) {
            snprintf(why, size, "the storage %.80s is too big", name);
            return false;
        }
        total *= dims[i];
    }
    int id = 0;
    for (size_t i = 0; i < u->inputs.n; i++) {
        id = u->inputs.d[i].storage >= id ? u->inputs.d[i].storage + 1 : id;
    }
    char full[160];
    snprintf(full, sizeof full, "storage %.120s", name);
    aot_input_desc *d = input_of(u, full);
    const aot_dtype_info *info = aot_dtype_get(dtype);
    d->dtype = info->torch_name;
    d->storage = id;
    d->storage_bytes = total * info->bytes;
    d->size = dims_text(u->arena, dims, n);
    d->stride = dims_text(u->arena, strides, n);
    return true;
}

/* One slice "a:b", "a:b:s", "i" or ":" of a dimension of length len. */
static const char *read_slice(const char *p, int64_t len, int64_t *from, int64_t *count,
                              int64_t *step)
{
    char *end;
    int64_t to = len;
    bool range = false;
    *from = 0;
    *step = 1;
    p = blanks(p);
    if (*p != ':') {
        *from = strtoll(p, &end, 10);
        if (end == p) {
            return NULL;
        }
        p = blanks(end);
    }
    if (*p == ':') {
        range = true;
        p = blanks(p + 1);
        if (isdigit((unsigned char)*p) || *p == '-') {
            to = strtoll(p, &end, 10);
            p = blanks(end);
        }
        if (*p == ':') {
            *step = strtoll(p + 1, &end, 10);
            p = blanks(end);
        }
    }
    *from += *from < 0 ? len : 0;
    to += to < 0 ? len : 0;
    to = to > len ? len : to;
    if (*from < 0 || *from > len || *step < 1 || (!range && *from >= len)) {
        return NULL;
    }
    *count = range ? (to > *from ? (to - *from + *step - 1) / *step : 0) : -1;
    return p;
}

/* input L_x_ = base[0:6] */
static bool input(aot_unit *u, const char *p, char *why, size_t size)
{
    char name[128], base[128];
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], offset = 0, out[MAX_DIMS], out_strides[MAX_DIMS];
    int n_out = 0, k = 0;
    p = word(p, name, sizeof name, "=");
    if (name[0] == '\0' || *p != '=') {
        snprintf(why, size, "expected: input NAME = STORAGE[SLICES], as: input L_x_ = base[0:6]");
        return false;
    }
    p = word(p + 1, base, sizeof base, "[");
    aot_input_desc *s = storage_of(u, base);
    if (s == NULL) {
        snprintf(why, size, "no storage %.80s was declared before", base);
        return false;
    }
    int n = read_dims(s->size + 1, dims);
    read_dims(s->stride + 1, strides);
    if (*p == '[') {
        p++;
        for (; k < n; k++) {
            int64_t from, count, step;
            p = read_slice(p, dims[k], &from, &count, &step);
            if (p == NULL) {
                break;
            }
            offset += from * strides[k];
            if (count >= 0) {
                out[n_out] = count;
                out_strides[n_out++] = strides[k] * step;
            }
            if (*p != ',') {
                k++;
                break;
            }
            p++;
        }
        if (p == NULL || *p != ']') {
            snprintf(why, size, "the slices of %.80s do not fit %.80s%.80s", name, base, s->size);
            return false;
        }
    }
    for (; k < n; k++) {
        out[n_out] = dims[k];
        out_strides[n_out++] = strides[k];
    }
    aot_input_desc storage = *s; // s may move
    aot_input_desc *d = input_of(u, name);
    d->dtype = storage.dtype;
    d->storage = storage.storage;
    d->storage_bytes = storage.storage_bytes;
    d->offset = offset;
    d->size = dims_text(u->arena, out, n_out);
    d->stride = dims_text(u->arena, out_strides, n_out);
    d->is_view = true;
    return true;
}

/* same L_y_ = L_x_ */
static bool same(aot_unit *u, const char *p, char *why, size_t size)
{
    char name[128], of[128];
    p = word(p, name, sizeof name, "=");
    if (*p == '=') {
        word(p + 1, of, sizeof of, "");
    }
    if (name[0] == '\0' || *p != '=' || of[0] == '\0') {
        snprintf(why, size, "expected: same NAME = NAME, as in: same L_y_ = L_x_");
        return false;
    }
    aot_input_desc first = *input_of(u, of);
    aot_input_desc *d = input_of(u, name);
    const char *source = d->source;
    *d = first;
    d->source = source;
    return true;
}

/* op SCHEMA: kept as a record, which sessions keep too */
static bool op(aot_unit *u, const char *p, char *why, size_t size)
{
    p = blanks(p);
    if (strstr(p, "::") == NULL || strstr(p, "->") == NULL) {
        snprintf(why, size,
                 "expected: op NS::NAME(ARGUMENTS) -> RETURNS, as in: op mine::scale(Tensor x, "
                 "float by) -> Tensor");
        return false;
    }
    aot_record r = {.name = "aotscope_op_schema", .stage = AOT_N_STAGES, .is_artifact = true};
    r.len = strlen(p);
    r.text = aot_arena_strndup(u->arena, p, r.len);
    aot_vec_push(&u->records, r);
    return true;
}

/* hint s77=5 */
static bool hint(aot_unit *u, const char *p, char *why, size_t size)
{
    char name[64], *end;
    p = word(p, name, sizeof name, "=");
    const char *digits = *p == '=' ? blanks(p + 1) : p;
    aot_symbol s = {.source = "", .range = "", .has_hint = true};
    s.hint = strtoll(digits, &end, 10);
    if (name[0] == '\0' || *p != '=' || end == digits || *blanks(end) != '\0') {
        snprintf(why, size, "expected: hint SYMBOL=INTEGER, as in: hint s77=5");
        return false;
    }
    s.name = aot_arena_strndup(u->arena, name, strlen(name));
    aot_vec_push(&u->symbols, s);
    return true;
}

/* set K=V, V as Python writes it */
static bool set(aot_unit *u, const char *p, char *why, size_t size)
{
    char name[96], *end;
    p = word(p, name, sizeof name, "=");
    if (name[0] == '\0' || *p != '=') {
        snprintf(why, size, "expected: set NAME=VALUE, as in: set activation_memory_budget=0.5");
        return false;
    }
    const char *v = blanks(p + 1);
    json_t *value;
    long long i = strtoll(v, &end, 10);
    if (strcmp(v, "True") == 0 || strcmp(v, "False") == 0) {
        value = json_boolean(v[0] == 'T');
    } else if (strcmp(v, "None") == 0) {
        value = json_null();
    } else if (end != v && *end == '\0') {
        value = json_integer(i);
    } else {
        double x = strtod(v, &end);
        value = end != v && *end == '\0' ? json_real(x) : NULL; // NULL too for inf and nan
        if (value == NULL) {
            size_t n = strlen(v);
            bool quoted = n >= 2 && (v[0] == '\'' || v[0] == '"') && v[n - 1] == v[0];
            value = json_stringn(quoted ? v + 1 : v, quoted ? n - 2 : n);
        }
    }
    if (u->config == NULL) {
        u->config = json_object();
    }
    if (value == NULL || json_object_set_new(u->config, name, value) != 0) {
        snprintf(why, size, "the value of %.80s cannot be read", name);
        return false;
    }
    return true;
}

bool aot_directive_apply(aot_unit *u, const char *text, char *why, size_t size)
{
    char verb[32];
    const char *p = word(text, verb, sizeof verb, "");
    if (strcmp(verb, "storage") == 0) {
        return storage(u, p, why, size);
    }
    if (strcmp(verb, "input") == 0) {
        return input(u, p, why, size);
    }
    if (strcmp(verb, "same") == 0) {
        return same(u, p, why, size);
    }
    if (strcmp(verb, "op") == 0) {
        return op(u, p, why, size);
    }
    if (strcmp(verb, "hint") == 0) {
        return hint(u, p, why, size);
    }
    if (strcmp(verb, "set") == 0) {
        return set(u, p, why, size);
    }
    if (strcmp(verb, "requires_grad") == 0) {
        char name[128];
        p = word(p, name, sizeof name, ",");
        bool any = name[0] != '\0';
        while (name[0] != '\0') { // several names may follow
            input_of(u, name)->requires_grad = true;
            p = word(*p == ',' ? p + 1 : p, name, sizeof name, ",");
        }
        snprintf(why, size, "expected: requires_grad NAME");
        return any;
    }
    snprintf(why, size,
             "%.30s is not known; known are input, storage, same, op, requires_grad, hint, set",
             verb);
    return false;
}
