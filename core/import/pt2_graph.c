/* Graph of the JSON schema -> graph of the IR, subgraphs included.
 *
 *   {"target": "torch.ops.aten.max.dim", "inputs": [...], "outputs": [{"as_tensor": {"name":
 * "getitem"}}, ...], ...}
 *   ->  max_1 = torch.ops.aten.max.dim(x, 1)
 *       getitem: "f32[4]" = max_1[0]
 *
 * The archive keeps no getitem nodes: they follow from the outputs. Outputs that nobody took are
 * called NODE_unused_I there; the program that was saved had no node for them, and print(ep) did
 * not show one, so none is made (torch.export.load makes them).
 * Subgraphs are queued, so that the names of one graph are in scope at a time.
 * Mirrors: torch/_export/serde/serialize.py:deserialize_graph, deserialize_node,
 * deserialize_outputs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pt2.h"
#include "ops/schema.h"

/* ---- names --------------------------------------------------------------------------------- */

aot_pt2_binding *aot_pt2_bind(aot_pt2_program *p, aot_str name)
{
    while (p->bindings.n <= name) {
        aot_vec_push(&p->bindings, ((aot_pt2_binding){0}));
    }
    aot_pt2_binding *b = &p->bindings.d[name];
    if (b->scope != p->scope) {
        *b = (aot_pt2_binding){.scope = p->scope, .node = AOT_NO_NODE};
    }
    return b;
}

aot_pt2_top *aot_pt2_top_of(aot_pt2_program *p, const char *name)
{
    aot_str s = aot_intern(p->ctx->strs, name, strlen(name));
    while (p->tops.n <= s) {
        aot_vec_push(&p->tops, ((aot_pt2_top){.node = AOT_NO_NODE}));
    }
    return &p->tops.d[s];
}

bool aot_pt2_value(aot_pt2_program *p, const char *name, const char *field, aot_arg *out)
{
    aot_str s = aot_intern_find(p->ctx->strs, name, strlen(name));
    *out = (aot_arg){.kind = AOT_ARG_NODE};
    out->u.node = s != 0 ? aot_pt2_bind(p, s)->node : AOT_NO_NODE;
    return out->u.node != AOT_NO_NODE ||
           aot_pt2_fail(p, field, "no input or node before makes the value '%.80s'", name);
}

/* name NULL: FX would make one from the target. */
aot_node_id aot_pt2_add(aot_pt2_program *p, aot_node *n, const char *name)
{
    if (!aot_pt2_is_identifier(name)) {
        aot_pt2_fail(p, "name", "'%.80s' cannot be the name of a value", name);
        return AOT_NO_NODE;
    }
    aot_str own = aot_intern(p->ctx->strs, name, strlen(name));
    aot_str unique = aot_namespace_create(p->names, name, strlen(name));
    own =
        n->kind == AOT_GET_ATTR ? unique : own; // modules may be taken twice, values have one name
    const char *text = aot_text(p->ctx, own);
    // the printer's namespace: "input" and "list" are taken by Python, so it prints input_1
    n->name = aot_namespace_create(p->printed, text, strlen(text));
    aot_pt2_binding *b = aot_pt2_bind(p, own);
    if (b->node != AOT_NO_NODE) {
        aot_pt2_fail(p, "name", "two values are called '%.80s'", name);
        return AOT_NO_NODE;
    }
    n->meta = b->meta;
    b->node = aot_graph_add(p->g, n);
    uint32_t id = b->node;
    if (p->depth == 0) {
        aot_pt2_top_of(p, name)->node = id;
    }
    return id;
}

/* FX's own name for a node without one: from the last part of the target. */
static const char *made_name(aot_pt2_program *p, const char *target)
{
    const char *from = target;
    int dots = 0;
    for (const char *c = target + strlen(target); c > target && dots < 2; c--) {
        dots += c[-1] == '.';
        from = c[-1] == '.' && dots <= 2 ? c : from;
    }
    char *s = aot_arena_strndup(p->arena, from, strlen(from));
    for (char *c = s; *c != '\0'; c++) {
        *c = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
    }
    aot_str name = aot_namespace_create(p->names, s, strlen(s));
    return aot_text(p->ctx, name);
}

/* ---- types --------------------------------------------------------------------------------- */

typedef aot_meta_id meta_fn(aot_pt2_program *p, aot_slice v, const char *field);

static bool read_metas(aot_pt2_program *p, aot_slice dict, const char *what, meta_fn *fn)
{
    aot_json_iter it;
    aot_slice key, v;
    aot_json_begin(&it, dict);
    while (p->status == AOT_OK && aot_json_next(&it, &key, &v)) {
        const char *name = aot_json_text(p->arena, (aot_slice){key.s - 1, key.n + 2});
        snprintf(p->at, sizeof p->at, "%s['%.60s']", what, name);
        aot_meta_id m = fn(p, v, "");
        aot_pt2_bind(p, aot_intern(p->ctx->strs, name, strlen(name)))->meta = m;
        if (p->depth == 0) {
            aot_pt2_top_of(p, name)->type = v;
        }
    }
    return p->status == AOT_OK;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* The name of an input that is a constant stands in the signature only. */
static const char *constant_name(aot_pt2_program *p, aot_slice spec, size_t i)
{
    const char *name =
        aot_json_text(p->arena, aot_json_get(aot_json_get(spec, "constant_input"), "name"));
    return name != NULL && name[0] != '\0' ? name : aot_arena_printf(p->arena, "arg%zu", i);
}

/* spec: what the signature says of it; s NULL in subgraphs. */
static bool read_input(aot_pt2_program *p, aot_slice v, aot_slice spec, size_t i)
{
    aot_slice kind, value;
    const char *name = NULL;
    if (!aot_pt2_union(p, v, "", &kind, &value)) {
        return false;
    }
    if (aot_slice_is(kind, "as_tensor") || aot_slice_is(kind, "as_custom_obj")) {
        name = aot_pt2_string(p, aot_json_get(value, "name"), "name");
    } else if (strncmp(kind.s, "as_sym_", 7) == 0) {
        name = aot_pt2_string(p, aot_json_get(value, "as_name"), "as_name");
    } else {
        name = constant_name(p, spec, i);
    }
    if (p->status != AOT_OK) {
        return false;
    }
    aot_node n = {.kind = AOT_PLACEHOLDER};
    n.target = aot_intern(p->ctx->strs, name, strlen(name));
    return aot_pt2_add(p, &n, name) != AOT_NO_NODE;
}

/* ---- calls --------------------------------------------------------------------------------- */

static bool is_higher_order(const char *target)
{
    return aot_starts_with(target, "torch.ops.higher_order.");
}

/* "_operator.add" -> "operator.add"; math.trunc -> math_trunc, FX's name for a global; "#ns:op" of
 * a registered extension -> ns.op. NULL if the text cannot be a target. */
static const char *target_of(aot_pt2_program *p, const char *text)
{
    char *s = aot_arena_strndup(p->arena, text, strlen(text));
    if (aot_starts_with(s, "_operator.")) {
        s++;
    } else if (aot_starts_with(s, "math.")) {
        s[4] = '_';
    } else if (s[0] == '#') {
        s++;
        for (char *c = s; *c != '\0'; c++) {
            *c = *c == ':' ? '.' : *c;
        }
    }
    bool start = true;
    for (const char *c = s; *c != '\0'; c++) {
        bool word =
            isalpha((unsigned char)*c) || *c == '_' || (!start && isdigit((unsigned char)*c));
        if (!word && (start || *c != '.')) {
            return NULL;
        }
        start = *c == '.';
    }
    return start ? NULL : s;
}

static bool is_keyword(const char *name)
{
    static const char *const words[] = {
        "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
        "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
        "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
        "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(name, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What the schema says of an argument whose kind the archive does not tell (before PyTorch 2.7). */
static bool positional_by_schema(aot_pt2_program *p, aot_op_id op, const char *name)
{
    const char *text = aot_op(op)->schema;
    aot_schema s;
    if (text == NULL || aot_schema_parse(&s, p->arena, text, NULL) != AOT_OK) {
        return true;
    }
    const aot_schema_arg *a = aot_schema_arg_find(&s, name);
    return a == NULL || (a->def.n == 0 && !a->kwarg_only);
}

static bool is_positional(aot_pt2_program *p, const aot_node *n, const char *target,
                          const char *name, int64_t kind)
{
    if (is_higher_order(target)) {
        return name[0] == '\0';
    }
    if (kind == 1 || name[0] == '\0' || is_keyword(name)) {
        return true; // a keyword of the language cannot be written as an argument's name
    }
    return kind != 2 && positional_by_schema(p, n->op, name);
}

/* Whether print(ep) showed this argument of a higher-order operator as a tuple. */
static bool is_tuple(const char *target, size_t position)
{
    static const struct {
        const char *op;
        size_t position;
    } rows[] = {
#define TUPLE_ARGUMENT(op, position) {op, position},
#define LIST_RETURN(op)
#include "import/pt2_tuples.def"
#undef TUPLE_ARGUMENT
#undef LIST_RETURN
    };
    const char *op = target + strlen("torch.ops.higher_order.");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].position == position && strcmp(rows[i].op, op) == 0) {
            return true;
        }
    }
    return false;
}

static bool returns_list(const char *target)
{
    static const char *const rows[] = {
#define TUPLE_ARGUMENT(op, position)
#define LIST_RETURN(op) op,
#include "import/pt2_tuples.def"
#undef TUPLE_ARGUMENT
#undef LIST_RETURN
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && is_higher_order(target); i++) {
        if (strcmp(rows[i], target + strlen("torch.ops.higher_order.")) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_args(aot_pt2_program *p, aot_slice inputs, const char *target, aot_node *n)
{
    aot_json_iter it;
    aot_slice key, v, arg;
    AOT_VEC(aot_arg) args = {0};
    AOT_VEC(aot_arg) kw = {0};
    size_t first_job = p->jobs.n;
    aot_json_begin(&it, inputs);
    for (size_t i = 0; p->status == AOT_OK && aot_json_next(&it, &key, &v); i++) {
        char field[48];
        snprintf(field, sizeof field, "inputs[%zu]", i);
        aot_slice name_slice = aot_json_get(v, "name");
        const char *name = aot_pt2_string(p, name_slice, field);
        aot_arg a;
        if (p->status != AOT_OK || !aot_pt2_field(p, v, "arg", '{', &arg) ||
            !aot_pt2_arg(p, arg, field, &a)) {
            break;
        }
        if (is_positional(p, n, target, name, aot_json_int(aot_json_get(v, "kind"), 0))) {
            if (a.kind == AOT_ARG_LIST && is_higher_order(target) && is_tuple(target, args.n)) {
                a.kind = AOT_ARG_TUPLE;
            }
            aot_vec_push(&args, a);
        } else if (!aot_pt2_is_identifier(name)) {
            aot_pt2_fail(p, field, "'%.80s' cannot be the name of an argument", name);
        } else {
            aot_arg k = {.kind = AOT_ARG_NAME};
            k.u.s = aot_intern(p->ctx->strs, name, strlen(name));
            aot_vec_push(&kw, k);
            aot_vec_push(&kw, a);
        }
    }
    if (args.n > UINT16_MAX || kw.n / 2 > UINT16_MAX) {
        aot_pt2_fail(p, "inputs", "more than 65,535 arguments");
    }
    for (size_t i = first_job; i < p->jobs.n; i++) {
        p->jobs.d[i].list_output = returns_list(target);
    }
    n->n_args = (uint16_t)args.n;
    n->n_kwargs = (uint16_t)(kw.n / 2);
    n->args = aot_graph_add_args(p->g, args.d, (uint32_t)args.n);
    n->kwargs = aot_graph_add_args(p->g, kw.d, (uint32_t)kw.n);
    aot_vec_free(&args);
    aot_vec_free(&kw);
    return p->status == AOT_OK;
}

/* ---- outputs ------------------------------------------------------------------------------- */

/* The name an output gives a value; NULL if it gives none. */
static const char *output_name(aot_pt2_program *p, aot_slice value)
{
    aot_slice name = aot_json_get(value, "name");
    name = name.s != NULL ? name : aot_json_get(value, "as_name"); // of symbolic numbers
    return name.s != NULL && name.s[0] == '"' ? aot_json_text(p->arena, name) : NULL;
}

static bool is_unused(const char *name, size_t index)
{
    char tail[40];
    snprintf(tail, sizeof tail, "_unused_%zu", index);
    return aot_ends_with(name, tail);
}

static aot_node_id add_getitem(aot_pt2_program *p, aot_node_id of, size_t index, const char *name)
{
    aot_arg a[2] = {{.kind = AOT_ARG_NODE}, {.kind = AOT_ARG_INT}};
    a[0].u.node = of;
    a[1].u.i = (int64_t)index;
    aot_node n = {.kind = AOT_CALL_FUNCTION, .op = AOT_OP_GETITEM, .src = p->src, .n_args = 2};
    n.target = aot_intern_z(p->ctx->strs, "operator.getitem");
    n.args = aot_graph_add_args(p->g, a, 2);
    return aot_pt2_add(p, &n, name != NULL ? name : made_name(p, "getitem"));
}

/* getitem nodes of a list of TensorArguments or Arguments; lists within lists get one of their own.
 */
static bool add_getitems(aot_pt2_program *p, aot_node_id of, aot_slice list, bool bare,
                         unsigned depth)
{
    aot_json_iter it;
    aot_slice key, v, kind = {"as_tensor", 9}, value;
    aot_json_begin(&it, list);
    for (size_t i = 0; p->status == AOT_OK && aot_json_next(&it, &key, &v); i++) {
        value = v;
        if (!bare && !aot_pt2_union(p, v, "outputs", &kind, &value)) {
            return false;
        }
        if (value.s[0] == '[' && depth < 8) {
            aot_node_id inner = add_getitem(p, of, i, NULL);
            if (inner == AOT_NO_NODE || !add_getitems(p, inner, value, true, depth + 1)) {
                return false;
            }
            continue;
        }
        const char *name = output_name(p, value);
        if (name != NULL && !is_unused(name, i)) {
            add_getitem(p, of, i, name);
        } else if (name == NULL && !aot_slice_is(kind, "as_none")) {
            aot_pt2_fail(p, "outputs", "output %zu has no name: %.*s", i,
                         (int)(v.n < 60 ? v.n : 60), v.s);
        }
    }
    return p->status == AOT_OK;
}

typedef struct outputs {
    aot_slice list;      /* what the getitems are of */
    bool bare, getitems; /* bare: TensorArguments, not Arguments */
    const char *name;    /* of the node itself, from a single output; NULL */
} outputs;

static bool read_outputs(aot_pt2_program *p, aot_slice node, const char *target, outputs *o)
{
    aot_json_iter it;
    aot_slice key, v[2] = {{NULL, 0}, {NULL, 0}}, kind, value;
    size_t n = 0;
    if (!aot_pt2_field(p, node, "outputs", '[', &o->list)) {
        return false;
    }
    aot_json_begin(&it, o->list);
    while (n < 2 && aot_json_next(&it, &key, &v[n])) {
        n++;
    }
    o->getitems = n > 1;
    if (n != 1) {
        return true;
    }
    if (!aot_pt2_union(p, v[0], "outputs[0]", &kind, &value)) {
        return false;
    }
    aot_slice single = aot_json_get(node, "is_hop_single_tensor_return");
    bool tuple_of_one = is_higher_order(target) && aot_slice_is(single, "false");
    if (value.s[0] == '[') {
        o->list = value;
        o->bare = o->getitems = true;
    } else if (aot_slice_is(kind, "as_none")) {
        o->getitems = false;
    } else if (tuple_of_one) {
        o->getitems = true;
    } else {
        o->name = output_name(p, value);
    }
    return true;
}

static void set_comment(aot_pt2_program *p, aot_slice node)
{
    const char *text = aot_pt2_comment(p, aot_json_get(node, "metadata"));
    if (p->comment == NULL || strcmp(p->comment, text) != 0) {
        aot_src s = {.text = aot_intern(p->ctx->strs, text, strlen(text)), .ac_graph_id = -1};
        aot_vec_push(&p->g->srcs, s);
        p->src = (uint32_t)(p->g->srcs.n - 1);
        p->comment = aot_text(p->ctx, s.text);
    }
}

static bool read_node(aot_pt2_program *p, aot_slice node)
{
    aot_slice target_slice, inputs;
    outputs o = {0};
    if (!aot_pt2_field(p, node, "target", '"', &target_slice) ||
        !aot_pt2_field(p, node, "inputs", '[', &inputs)) {
        return false;
    }
    const char *written = aot_json_text(p->arena, target_slice), *target = target_of(p, written);
    if (target == NULL) {
        return aot_pt2_fail(p, "target", "'%.100s' cannot be called", written);
    }
    set_comment(p, node);
    aot_node n = {.kind = AOT_CALL_FUNCTION, .src = p->src};
    n.target = aot_intern(p->ctx->strs, target, strlen(target));
    n.op = aot_ctx_op(p->ctx, n.target);
    if (!read_args(p, inputs, target, &n) || !read_outputs(p, node, target, &o)) {
        return false;
    }
    const char *name = aot_json_text(p->arena, aot_json_get(node, "name"));
    // where both are given PyTorch takes the output's name for the node
    name = o.name != NULL ? o.name : name != NULL && name[0] != '\0' ? name : made_name(p, target);
    aot_node_id id = aot_pt2_add(p, &n, name);
    return id != AOT_NO_NODE && (!o.getitems || add_getitems(p, id, o.list, o.bare, 0));
}

/* ---- the graph ----------------------------------------------------------------------------- */

static bool read_return(aot_pt2_program *p, aot_slice list, bool single, bool as_list)
{
    aot_json_iter it;
    aot_slice key, v;
    size_t base = p->stack.n;
    aot_arg ret = {.kind = as_list ? AOT_ARG_LIST : AOT_ARG_TUPLE};
    aot_json_begin(&it, list);
    for (size_t i = 0; aot_json_next(&it, &key, &v); i++) {
        aot_arg a;
        char field[48];
        snprintf(field, sizeof field, "outputs[%zu]", i);
        p->at[0] = '\0';
        if (!aot_pt2_arg(p, v, field, &a)) {
            return false;
        }
        aot_vec_push(&p->stack, a);
    }
    size_t n = p->stack.n - base;
    if (single && n != 1) {
        return aot_pt2_fail(p, "outputs",
                            "is_single_tensor_return is set, but there are %zu outputs", n);
    }
    if (single) {
        ret = p->stack.d[base];
    } else {
        ret.n = (uint32_t)n;
        ret.u.first = aot_graph_add_args(p->g, p->stack.d + base, (uint32_t)n);
    }
    p->stack.n = base;
    aot_node out = {.kind = AOT_OUTPUT, .n_args = 1};
    out.name = out.target = aot_intern_z(p->ctx->strs, "output");
    out.args = aot_graph_add_args(p->g, &ret, 1);
    aot_graph_add(p->g, &out);
    return true;
}

static bool read_types(aot_pt2_program *p, aot_slice json)
{
    return read_metas(p, aot_json_get(json, "tensor_values"), "tensor_values", aot_pt2_tensor) &&
           read_metas(p, aot_json_get(json, "sym_int_values"), "sym_int_values", aot_pt2_sym) &&
           read_metas(p, aot_json_get(json, "sym_float_values"), "sym_float_values", aot_pt2_sym) &&
           read_metas(p, aot_json_get(json, "sym_bool_values"), "sym_bool_values", aot_pt2_sym);
}

static bool build(aot_pt2_program *p, const aot_pt2_job *job)
{
    aot_slice inputs, outputs, nodes, key, v;
    aot_json_iter it, specs;
    p->g = job->g;
    p->depth = job->depth;
    p->scope++;
    p->comment = NULL;
    p->src = 0;
    p->at[0] = '\0';
    if (!aot_pt2_field(p, job->json, "inputs", '[', &inputs) ||
        !aot_pt2_field(p, job->json, "outputs", '[', &outputs) ||
        !aot_pt2_field(p, job->json, "nodes", '[', &nodes) || !read_types(p, job->json)) {
        return false;
    }
    aot_json_begin(&it, inputs);
    aot_json_begin(&specs, p->depth == 0 ? p->input_specs : (aot_slice){NULL, 0});
    for (size_t i = 0; aot_json_next(&it, &key, &v); i++) {
        aot_slice spec = {NULL, 0};
        snprintf(p->at, sizeof p->at, "inputs[%zu]", i);
        aot_json_next(&specs, &key, &spec);
        if (!read_input(p, v, spec, i)) {
            return false;
        }
    }
    aot_json_begin(&it, nodes);
    for (size_t i = 0; aot_json_next(&it, &key, &v); i++) {
        snprintf(p->at, sizeof p->at, "nodes[%zu]", i);
        if (!read_node(p, v)) {
            return false;
        }
    }
    bool single = aot_json_true(aot_json_get(job->json, "is_single_tensor_return"));
    return read_return(p, outputs, single, job->list_output);
}

aot_graph *aot_pt2_graph(aot_pt2_program *p, aot_slice graph)
{
    aot_graph *top = aot_graph_new(p->ctx);
    top->class_name = aot_intern_z(p->ctx->strs, "GraphModule");
    aot_pt2_job first = {.json = graph, .g = top};
    aot_vec_push(&p->jobs, first);
    for (size_t i = 0; i < p->jobs.n && p->status == AOT_OK; i++) {
        aot_pt2_job job = p->jobs.d[i];
        p->names = aot_namespace_new(p->ctx);
        p->printed = aot_namespace_new(p->ctx);
        build(p, &job);
        aot_namespace_free(p->names);
        aot_namespace_free(p->printed);
    }
    p->at[0] = '\0';
    return p->status == AOT_OK ? top : NULL;
}

void aot_pt2_graph_plain(aot_pt2_program *p)
{
    for (size_t i = 0; i < p->jobs.n; i++) {
        aot_graph *g = p->jobs.d[i].g;
        for (size_t k = 0; k < g->nodes.n; k++) {
            aot_meta_id m = g->nodes.d[k].meta;
            if (m < p->plain_of.n && p->plain_of.d[m] != 0) {
                g->nodes.d[k].meta = p->plain_of.d[m];
            }
        }
    }
}
