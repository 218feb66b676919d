/* Arguments of nodes: one row a kind of schema.py:Argument.
 *
 *   {"as_tensor": {"name": "x"}}            x
 *   {"as_sym_ints": [{"as_name": "n"}, {"as_int": 2}]}   [n, 2]
 *   {"as_graph": {"name": "true_graph_0", "graph": ...}} a get_attr node; the graph is built later
 *
 * Mirrors: torch/_export/serde/serialize.py:deserialize_input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pt2.h"

enum { MAX_NEST = 64, MAX_MODULE_DEPTH = 60 };

typedef bool convert_fn(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out);

static bool no_value(aot_pt2_program *p, const char *field, aot_slice v, const char *what)
{
    return aot_pt2_fail(p, field, "expected %s, found %.*s", what, (int)(v.n < 60 ? v.n : 60), v.s);
}

static void set_text(aot_pt2_program *p, aot_arg *out, aot_arg_kind kind, const char *s, size_t n)
{
    *out = (aot_arg){.kind = (uint8_t)kind};
    out->u.s = aot_intern(p->ctx->strs, s, n);
}

/* ---- scalars ------------------------------------------------------------------------------- */

static bool none(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    (void)p, (void)v, (void)field;
    *out = (aot_arg){.kind = AOT_ARG_NONE};
    return true;
}

static bool integer(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    int64_t i = aot_json_int(v, AOT_HINT_NONE);
    *out = (aot_arg){.kind = AOT_ARG_INT};
    out->u.i = i;
    if (i == AOT_HINT_NONE && (v.s[0] == '-' || (v.s[0] >= '0' && v.s[0] <= '9'))) {
        set_text(p, out, AOT_ARG_RAW, v.s, v.n); // Python's integers have no end
    } else if (i == AOT_HINT_NONE) {
        return no_value(p, field, v, "an integer");
    }
    return true;
}

static bool real(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    char *end;
    const char *text = aot_json_text(p->arena, v);
    *out = (aot_arg){.kind = AOT_ARG_FLOAT};
    out->u.f = text != NULL ? strtod(text, &end) : 0; // "Infinity", "NaN" are strings
    return (text != NULL && end > text && *end == '\0') || no_value(p, field, v, "a number");
}

static bool boolean(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    *out = (aot_arg){.kind = AOT_ARG_BOOL};
    out->u.i = aot_json_true(v);
    return v.s[0] == 't' || v.s[0] == 'f' || no_value(p, field, v, "true or false");
}

static bool text(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    if (v.s[0] != '"') {
        return no_value(p, field, v, "a string");
    }
    const char *s = aot_json_text(p->arena, v);
    aot_sb b = {0};
    char quote = aot_py_repr(&b, s, strlen(s));
    set_text(p, out, AOT_ARG_STR, aot_sb_text(&b), b.n);
    out->quote = (uint8_t)quote;
    aot_sb_free(&b);
    return true;
}

static bool complex_number(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_arg re, im;
    aot_slice a = aot_json_get(v, "real"), b = aot_json_get(v, "imag");
    if (a.s == NULL || b.s == NULL) {
        return no_value(p, field, v, "real and imag");
    }
    if (!real(p, a, field, &re) || !real(p, b, field, &im)) {
        return false;
    }
    aot_sb t = {0};
    aot_py_repr_complex(&t, re.u.f, im.u.f);
    set_text(p, out, AOT_ARG_COMPLEX, t.d, t.n);
    aot_sb_free(&t);
    return true;
}

static bool named(aot_pt2_program *p, aot_slice v, const char *field, const char *name,
                  const char *what, aot_arg *out)
{
    if (name == NULL) {
        return no_value(p, field, v, what);
    }
    set_text(p, out, AOT_ARG_NAME, name, strlen(name));
    return true;
}

static bool scalar_type(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    return named(p, v, field, aot_pt2_dtype_name(aot_json_int(v, -1)),
                 "a ScalarType of schema 8.17", out);
}

static bool memory_format(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    return named(p, v, field, aot_pt2_memory_format_name(aot_json_int(v, -1)), "a MemoryFormat",
                 out);
}

static bool layout(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    return named(p, v, field, aot_pt2_layout_name(aot_json_int(v, -1)), "a Layout", out);
}

static bool device(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_slice type = aot_json_get(v, "type"), index = aot_json_get(v, "index");
    const char *name = aot_pt2_string(p, type, field);
    if (p->status != AOT_OK || !aot_pt2_is_identifier(name)) {
        return no_value(p, field, v, "a device");
    }
    bool numbered = index.s != NULL && !aot_slice_is(index, "null");
    char *t = numbered ? aot_arena_printf(p->arena, "device(type='%s', index=%lld)", name,
                                          (long long)aot_json_int(index, 0))
                       : aot_arena_printf(p->arena, "device(type='%s')", name);
    set_text(p, out, AOT_ARG_RAW, t, strlen(t));
    return true;
}

/* torch.ops.aten.sin.default as an argument. */
static bool op_name(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    const char *s = aot_pt2_string(p, v, field);
    for (const char *c = s; *c != '\0'; c++) {
        if (*c != '.' && *c != '_' && !(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') &&
            !(*c >= 'A' && *c <= 'Z')) {
            return text(p, v, field, out);
        }
    }
    return p->status == AOT_OK && named(p, v, field, s[0] != '\0' ? s : NULL, "an operator", out);
}

/* ---- values -------------------------------------------------------------------------------- */

static bool tensor(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    const char *name = aot_pt2_string(p, aot_json_get(v, "name"), field);
    return p->status == AOT_OK && aot_pt2_value(p, name, field, out);
}

static bool optional_tensor(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_slice kind, value;
    if (!aot_pt2_union(p, v, field, &kind, &value)) {
        return false;
    }
    return aot_slice_is(kind, "as_none") ? none(p, value, field, out)
                                         : tensor(p, value, field, out);
}

/* SymIntArgument and the like: a value, or a plain number. */
static bool symbolic(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_slice kind, value;
    if (!aot_pt2_union(p, v, field, &kind, &value)) {
        return false;
    }
    if (aot_slice_is(kind, "as_name")) {
        const char *name = aot_pt2_string(p, value, field);
        return p->status == AOT_OK && aot_pt2_value(p, name, field, out);
    }
    return aot_slice_is(kind, "as_int")     ? integer(p, value, field, out)
           : aot_slice_is(kind, "as_float") ? real(p, value, field, out)
           : aot_slice_is(kind, "as_bool")  ? boolean(p, value, field, out)
                                            : no_value(p, field, v, "as_name or a number");
}

/* An input if it was lifted, else a name: its state is in the archive as a pickle. */
static bool custom_object(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    const char *name = aot_pt2_string(p, aot_json_get(v, "name"), field);
    if (p->status != AOT_OK) {
        return false;
    }
    aot_str s = aot_intern(p->ctx->strs, name, strlen(name));
    aot_pt2_binding *b = aot_pt2_bind(p, s);
    if (b->node != AOT_NO_NODE) {
        return tensor(p, v, field, out);
    }
    return aot_pt2_is_identifier(name) ? named(p, v, field, name, "", out)
                                       : no_value(p, field, v, "the name of a custom object");
}

/* The submodule of that name in p->g, 1 + its index; 0. */
static uint32_t submodule(const aot_pt2_program *p, aot_str name)
{
    for (size_t i = 0; i < p->g->subgraphs.n; i++) {
        if (p->g->subgraphs.d[i]->attr_name == name) {
            return (uint32_t)i + 1;
        }
    }
    return 0;
}

static bool subgraph(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_slice json = aot_json_get(v, "graph");
    const char *name = aot_pt2_string(p, aot_json_get(v, "name"), field);
    if (p->status != AOT_OK) {
        return false;
    }
    if (json.s == NULL || json.s[0] != '{' || !aot_pt2_is_identifier(name)) {
        return no_value(p, field, v, "a name and a graph");
    }
    if (p->depth >= MAX_MODULE_DEPTH) {
        return aot_pt2_fail(p, field, "graphs nest deeper than %d levels", MAX_MODULE_DEPTH);
    }
    aot_str s = aot_intern(p->ctx->strs, name, strlen(name));
    uint32_t index = submodule(p, s);
    if (index == 0) { // the same name again is the same module
        aot_pt2_job job = {.json = json, .g = aot_graph_new(p->ctx), .depth = p->depth + 1};
        job.g->attr_name = job.g->class_name = s;
        aot_vec_push(&p->g->subgraphs, job.g);
        aot_vec_push(&p->jobs, job);
        index = (uint32_t)p->g->subgraphs.n;
    }
    aot_node n = {.kind = AOT_GET_ATTR, .target = s, .src = p->src, .subgraph = index};
    aot_node_id id = aot_pt2_add(p, &n, name);
    *out = (aot_arg){.kind = AOT_ARG_NODE};
    out->u.node = id;
    return id != AOT_NO_NODE;
}

/* ---- containers ---------------------------------------------------------------------------- */

static bool close_items(aot_pt2_program *p, size_t base, aot_arg_kind kind, aot_arg *out)
{
    uint32_t n = (uint32_t)(p->stack.n - base);
    *out = (aot_arg){.kind = (uint8_t)kind, .n = n};
    out->u.first = aot_graph_add_args(p->g, p->stack.d + base, n);
    p->stack.n = base;
    return true;
}

static bool list_of(aot_pt2_program *p, aot_slice v, const char *field, convert_fn *item,
                    aot_arg_kind kind, aot_arg *out)
{
    aot_json_iter it;
    aot_slice key, value;
    size_t base = p->stack.n;
    if (v.s[0] != '[') {
        return no_value(p, field, v, "a list");
    }
    aot_json_begin(&it, v);
    while (aot_json_next(&it, &key, &value)) {
        aot_arg a;
        if (!item(p, value, field, &a)) {
            return false;
        }
        aot_vec_push(&p->stack, a);
    }
    return close_items(p, base, kind, out);
}

static bool int_tuple(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    return list_of(p, v, field, integer, AOT_ARG_TUPLE, out);
}

static bool tensor_list(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    return list_of(p, v, field, tensor, AOT_ARG_LIST, out);
}

static bool dict(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_json_iter it;
    aot_slice key, value;
    size_t base = p->stack.n;
    bool ok = v.s[0] == '{' || no_value(p, field, v, "an object");
    ok = ok && (p->nest < MAX_NEST ||
                aot_pt2_fail(p, field, "arguments nest deeper than %d levels", MAX_NEST));
    p->nest++;
    aot_json_begin(&it, v);
    while (ok && aot_json_next(&it, &key, &value)) {
        aot_arg a[2];
        ok = text(p, (aot_slice){key.s - 1, key.n + 2}, field, &a[0]) &&
             aot_pt2_arg(p, value, field, &a[1]);
        if (ok) {
            aot_vec_push(&p->stack, a[0]);
            aot_vec_push(&p->stack, a[1]);
        }
    }
    p->nest--;
    return ok && close_items(p, base, AOT_ARG_DICT, out);
}

static const struct {
    const char *kind;
    convert_fn *convert;
    bool list;
} kinds[] = {
    {"as_tensor", tensor, false},
    {"as_int", integer, false},
    {"as_ints", integer, true},
    {"as_tensors", tensor, true},
    {"as_float", real, false},
    {"as_bool", boolean, false},
    {"as_none", none, false},
    {"as_sym_int", symbolic, false},
    {"as_sym_ints", symbolic, true},
    {"as_string", text, false},
    {"as_scalar_type", scalar_type, false},
    {"as_device", device, false},
    {"as_layout", layout, false},
    {"as_memory_format", memory_format, false},
    {"as_floats", real, true},
    {"as_bools", boolean, true},
    {"as_strings", text, true},
    {"as_sym_float", symbolic, false},
    {"as_sym_floats", symbolic, true},
    {"as_sym_bool", symbolic, false},
    {"as_sym_bools", symbolic, true},
    {"as_optional_tensor", optional_tensor, false},
    {"as_optional_tensors", optional_tensor, true},
    {"as_nested_tensors", tensor_list, true},
    {"as_int_lists", int_tuple, true},
    {"as_complex", complex_number, false},
    {"as_graph", subgraph, false},
    {"as_custom_obj", custom_object, false},
    {"as_operator", op_name, false},
    {"as_string_to_argument", dict, false},
};

/* A kind of a later schema: kept as a text, so that the rest can be read. */
static bool unknown_kind(aot_pt2_program *p, aot_slice kind, const char *field, aot_slice v,
                         aot_arg *out)
{
    int n = (int)(kind.n < 60 ? kind.n : 60);
    if (p->minor <= AOT_PT2_SCHEMA_MINOR) {
        return aot_pt2_fail(p, field, "the kind of argument '%.*s' is not in schema %d.%d", n,
                            kind.s, AOT_PT2_SCHEMA_MAJOR, AOT_PT2_SCHEMA_MINOR);
    }
    aot_pt2_note(p, "damage",
                 "%s: %s.%s: '%.*s' is a kind of argument of schema %u.%u, newer than %d.%d: shown "
                 "as a text",
                 p->member, p->at, field, n, kind.s, p->major, p->minor, AOT_PT2_SCHEMA_MAJOR,
                 AOT_PT2_SCHEMA_MINOR);
    aot_sb b = {0};
    char quote = aot_py_repr(&b, v.s, v.n < 200 ? v.n : 200);
    set_text(p, out, AOT_ARG_STR, aot_sb_text(&b), b.n);
    out->quote = (uint8_t)quote;
    aot_sb_free(&b);
    return true;
}

bool aot_pt2_arg(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out)
{
    aot_slice kind, value;
    if (!aot_pt2_union(p, v, field, &kind, &value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (aot_slice_is(kind, kinds[i].kind)) {
            return kinds[i].list ? list_of(p, value, field, kinds[i].convert, AOT_ARG_LIST, out)
                                 : kinds[i].convert(p, value, field, out);
        }
    }
    return unknown_kind(p, kind, field, v, out);
}
