/* Arguments of an ATen call, for META rules: by position or keyword, else the schema's default.
 *
 * A default is looked up in the schema's text only when the argument is absent, so that a rule need
 * not repeat what the schema says; the rule's own default is the last resort.
 * Mirrors torch/fx/operator_schemas.py:normalize_function in what counts as given. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rules/fake.h"

static const aot_arg *given(const aot_call *k, unsigned pos, const char *name)
{
    return pos < k->n->n_args ? aot_node_args(k->g, k->n) + pos : aot_node_kwarg(k->g, k->n, name);
}

const aot_arg *aot_call_arg(const aot_call *k, unsigned pos, const char *name)
{
    const aot_arg *a = given(k, pos, name);
    return a != NULL && a->kind != AOT_ARG_NONE ? a : NULL;
}

/* Text of the schema's default ("1", "[0, 0]"); *n = 0 if the argument is given or has none. */
static const char *schema_default(const aot_call *k, unsigned pos, const char *name, size_t *n)
{
    const char *p = aot_node_op(k->n)->schema, *open = p != NULL ? strchr(p, '(') : NULL;
    size_t len = strlen(name);
    *n = 0;
    if (open == NULL || given(k, pos, name) != NULL) {
        return "";
    }
    for (p = open + 1; (p = strstr(p, name)) != NULL; p += len) {
        if (p[-1] == ' ' && p[len] == '=') {
            const char *start = p + len + 1, *q = start;
            for (int depth = 0; *q != '\0' && !(depth == 0 && (*q == ',' || *q == ')')); q++) {
                depth += (*q == '[') - (*q == ']');
            }
            *n = (size_t)(q - start);
            return start;
        }
    }
    return "";
}

static aot_meta_id meta_of(const aot_call *k, const aot_arg *a)
{
    return a->kind == AOT_ARG_NODE ? aot_node_at(k->g, a->u.node)->meta : 0;
}

static bool tensor_of(const aot_call *k, const aot_arg *a, aot_fake *out)
{
    aot_meta_id m = a != NULL ? meta_of(k, a) : 0;
    if (aot_meta_get(k->c, m)->val != AOT_VAL_TENSOR) {
        return false;
    }
    *out = aot_fake_of_meta(k->c, m);
    return out->val == AOT_VAL_TENSOR;
}

/* A number or a symbol; false if it is neither. */
static bool dim_of(const aot_call *k, const aot_arg *a, aot_dim *out)
{
    if (a->kind == AOT_ARG_INT || a->kind == AOT_ARG_BOOL) {
        *out = aot_dim_of(a->u.i);
        return true;
    }
    if (a->kind == AOT_ARG_FLOAT && a->u.f >= -9e18 && a->u.f <= 9e18) {
        *out = aot_dim_of((int64_t)a->u.f);
        return true;
    }
    const aot_meta *m = aot_meta_get(k->c, meta_of(k, a));
    if (m->val == AOT_VAL_SYM) {
        *out = m->sym;
        return true;
    }
    return false;
}

bool aot_call_tensor(const aot_call *k, unsigned pos, const char *name, aot_fake *out)
{
    return tensor_of(k, aot_call_arg(k, pos, name), out);
}

static bool is_list(const aot_arg *a)
{
    return a->kind == AOT_ARG_LIST || a->kind == AOT_ARG_TUPLE;
}

/* Item i of a default such as "[0, 1]" or "0"; returns how many items there are. */
static unsigned default_items(const char *s, size_t n, unsigned i, int64_t *out)
{
    unsigned count = 0;
    const char *p = s, *end = s + n;
    while (p < end) {
        if (isdigit((unsigned char)*p) || *p == '-') {
            char *after;
            int64_t v = strtoll(p, &after, 10);
            if (count++ == i && out != NULL) {
                *out = v;
            }
            p = after > p ? after : p + 1;
        } else if (isalpha((unsigned char)*p)) { /* None, True: no numbers */
            return 0;
        } else {
            p++;
        }
    }
    return count;
}

unsigned aot_call_n_items(const aot_call *k, unsigned pos, const char *name)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a != NULL) {
        return is_list(a) ? a->n : 1;
    }
    size_t n;
    const char *s = schema_default(k, pos, name, &n);
    return default_items(s, n, 0, NULL);
}

/* Item i; what is no list stands for each of its items. */
static const aot_arg *item_of(const aot_call *k, unsigned pos, const char *name, unsigned i)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a == NULL || !is_list(a)) {
        return a;
    }
    return i < a->n ? aot_arg_items(k->g, a) + i : NULL;
}

bool aot_call_tensor_item(const aot_call *k, unsigned pos, const char *name, unsigned i,
                          aot_fake *out)
{
    return tensor_of(k, item_of(k, pos, name, i), out);
}

aot_dim aot_call_item(const aot_call *k, unsigned pos, const char *name, unsigned i, int64_t def)
{
    const aot_arg *a = item_of(k, pos, name, i);
    aot_dim d = aot_dim_of(def);
    if (a != NULL) {
        dim_of(k, a, &d);
        return d;
    }
    size_t n;
    const char *s = schema_default(k, pos, name, &n);
    // one number is the default of every item: int[2] stride=1
    default_items(s, n, n > 0 && s[0] == '[' ? i : 0, &d.value);
    return d;
}

aot_dim aot_call_int(const aot_call *k, unsigned pos, const char *name, int64_t def)
{
    return aot_call_item(k, pos, name, 0, def);
}

bool aot_call_bool(const aot_call *k, unsigned pos, const char *name, bool def)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a != NULL) {
        return a->kind == AOT_ARG_BOOL || a->kind == AOT_ARG_INT ? a->u.i != 0 : def;
    }
    size_t n;
    const char *s = schema_default(k, pos, name, &n);
    return n == 4 && memcmp(s, "True", 4) == 0    ? true
           : n == 5 && memcmp(s, "False", 5) == 0 ? false
                                                  : def;
}

aot_dtype aot_call_dtype(const aot_call *k, unsigned pos, const char *name, aot_dtype def)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a == NULL || a->kind != AOT_ARG_NAME) {
        return def;
    }
    aot_dtype d = aot_dtype_of_torch(aot_text(k->c, a->u.s), aot_str_len(k->c->strs, a->u.s));
    return d != AOT_NO_DTYPE ? d : def;
}

/* "cuda" means the current device, which is the first. */
static aot_str device_named(aot_ctx *c, const char *type, size_t n, const char *index,
                            size_t n_index)
{
    char buf[64];
    bool one = (n == 3 && memcmp(type, "cpu", 3) == 0) || (n == 4 && memcmp(type, "meta", 4) == 0);
    if (one || n + n_index + 2 > sizeof buf) {
        return aot_intern(c->strs, type, n);
    }
    memcpy(buf, type, n);
    buf[n] = ':';
    memcpy(buf + n + 1, n_index > 0 ? index : "0", n_index > 0 ? n_index : 1);
    return aot_intern(c->strs, buf, n + 1 + (n_index > 0 ? n_index : 1));
}

aot_str aot_call_device(const aot_call *k, unsigned pos, const char *name, aot_str def)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a == NULL || (a->kind != AOT_ARG_RAW && a->kind != AOT_ARG_STR)) {
        return def;
    }
    const char *s = aot_text(k->c, a->u.s);
    if (a->kind == AOT_ARG_STR) {
        size_t n = strcspn(s, ":");
        const char *index = s[n] == ':' ? s + n + 1 : "";
        return device_named(k->c, s, n, index, strlen(index));
    }
    const char *type = strstr(s, "type="), *index = strstr(s, "index=");
    if (type == NULL) {
        return def;
    }
    type += 6; // the quote too
    size_t n = strcspn(type, "'\"");
    return device_named(k->c, type, n, index != NULL ? index + 6 : "",
                        index != NULL ? strspn(index + 6, "0123456789") : 0);
}

aot_memory_format aot_call_memory_format(const aot_call *k, unsigned pos, const char *name,
                                         aot_memory_format def)
{
    static const char *const names[] = {
        [AOT_MF_CONTIGUOUS] = "torch.contiguous_format",
        [AOT_MF_CHANNELS_LAST] = "torch.channels_last",
        [AOT_MF_CHANNELS_LAST_3D] = "torch.channels_last_3d",
        [AOT_MF_PRESERVE] = "torch.preserve_format",
    };
    const aot_arg *a = aot_call_arg(k, pos, name);
    for (unsigned i = 0; a != NULL && a->kind == AOT_ARG_NAME && i < 4; i++) {
        if (strcmp(aot_text(k->c, a->u.s), names[i]) == 0) {
            return (aot_memory_format)i;
        }
    }
    return def;
}

aot_dtype aot_call_scalar_dtype(const aot_call *k, unsigned pos, const char *name)
{
    static const aot_dtype of_sym[] = {
        [AOT_SYM_INT] = AOT_I64, [AOT_SYM_FLOAT] = AOT_F32, [AOT_SYM_BOOL] = AOT_B8};
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (a == NULL) {
        return AOT_NO_DTYPE;
    }
    switch (a->kind) {
    case AOT_ARG_BOOL:
        return AOT_B8;
    case AOT_ARG_INT:
        return AOT_I64;
    case AOT_ARG_FLOAT:
        return AOT_F32;
    case AOT_ARG_COMPLEX:
        return AOT_C64;
    case AOT_ARG_NODE: {
        const aot_meta *m = aot_meta_get(k->c, meta_of(k, a));
        return m->val == AOT_VAL_SYM ? of_sym[m->sym_kind] : AOT_NO_DTYPE;
    }
    default:
        return AOT_NO_DTYPE;
    }
}
