/* Graph signature and range constraints: as print(ep) shows them, as the record graph_signature,
 * and as the unit's inputs and symbols.
 *
 *   {"buffer": {"arg": {"name": "b_k"}, "buffer_name": "k", "persistent": true}}
 *   ->  b_k: BUFFER target='k' persistent=True
 *
 * Mirrors: torch/export/graph_signature.py, torch/_export/serde/serialize.py:deserialize_signature.
 */
#include <stdlib.h>
#include <string.h>

#include "import/pt2.h"

typedef struct spec_kind {
    const char *key, *kind, *target;
} spec_kind;

#define ROW(key, kind, target) {key, kind, target},
#define NOTHING(key, kind, target)

static const spec_kind input_kinds[] = {
#define INPUT_SPEC ROW
#define OUTPUT_SPEC NOTHING
#include "import/pt2_specs.def"
#undef INPUT_SPEC
#undef OUTPUT_SPEC
};
static const spec_kind output_kinds[] = {
#define INPUT_SPEC NOTHING
#define OUTPUT_SPEC ROW
#include "import/pt2_specs.def"
#undef INPUT_SPEC
#undef OUTPUT_SPEC
};

/* One InputSpec or OutputSpec. */
typedef struct spec {
    const spec_kind *kind;
    const char *name;     /* "" for a constant output */
    const char *target;   /* NULL */
    aot_slice persistent; /* s NULL unless a buffer */
    aot_slice value;      /* of a constant; s NULL */
} spec;

static const char *argument_name(aot_pt2_program *p, aot_slice arg, aot_slice *constant)
{
    aot_json_iter it;
    aot_slice kind, value, name = aot_json_get(arg, "name");
    if (name.s != NULL) { // TensorArgument and the like, not a union
        return aot_json_text(p->arena, name);
    }
    aot_json_begin(&it, arg);
    if (!aot_json_next(&it, &kind, &value)) {
        return "";
    }
    name = aot_json_get(value, "name");
    name = name.s != NULL ? name : aot_json_get(value, "as_name");
    const char *text = name.s != NULL && name.s[0] == '"' ? aot_json_text(p->arena, name) : NULL;
    if (text == NULL) {
        *constant = arg;
    }
    return text != NULL ? text : "";
}

static bool read_spec(aot_pt2_program *p, aot_slice v, const spec_kind *kinds, size_t n_kinds,
                      const char *field, spec *out)
{
    aot_slice kind, value;
    *out = (spec){.name = ""};
    if (!aot_pt2_union(p, v, field, &kind, &value)) {
        return false;
    }
    for (size_t i = 0; i < n_kinds; i++) {
        if (aot_slice_is(kind, kinds[i].key)) {
            out->kind = &kinds[i];
        }
    }
    if (out->kind == NULL) {
        return aot_pt2_fail(p, field, "'%.*s' is not a kind of schema %d.%d",
                            (int)(kind.n < 60 ? kind.n : 60), kind.s, AOT_PT2_SCHEMA_MAJOR,
                            AOT_PT2_SCHEMA_MINOR);
    }
    aot_slice arg = aot_json_get(value, "arg"), name = aot_json_get(value, "name");
    if (arg.s != NULL) {
        out->name = argument_name(p, arg, &out->value);
    } else if (name.s != NULL && name.s[0] == '"') {
        out->name = aot_json_text(p->arena, name);
        out->value = aot_json_get(value, "value");
    } else {
        return aot_pt2_fail(p, field, "arg is missing");
    }
    if (out->kind->target != NULL) {
        out->target = aot_pt2_string(p, aot_json_get(value, out->kind->target), out->kind->target);
    }
    if (strcmp(out->kind->key, "buffer") == 0) {
        out->persistent = aot_json_get(value, "persistent");
    }
    return p->status == AOT_OK;
}

typedef void spec_fn(aot_pt2_program *p, void *arg, const spec *s);

static void each_spec(aot_pt2_program *p, aot_slice signature, bool inputs, spec_fn *fn, void *arg)
{
    aot_json_iter it;
    aot_slice key, v, list;
    const char *field = inputs ? "input_specs" : "output_specs";
    snprintf(p->at, sizeof p->at, "graph_module.signature");
    if (!aot_pt2_field(p, signature, field, '[', &list)) {
        return;
    }
    aot_json_begin(&it, list);
    for (size_t i = 0; p->status == AOT_OK && aot_json_next(&it, &key, &v); i++) {
        spec s;
        char at[48];
        snprintf(at, sizeof at, "%s[%zu]", field, i);
        if (inputs ? read_spec(p, v, input_kinds, sizeof input_kinds / sizeof *input_kinds, at, &s)
                   : read_spec(p, v, output_kinds, sizeof output_kinds / sizeof *output_kinds, at,
                               &s)) {
            fn(p, arg, &s);
        }
    }
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_spec(aot_pt2_program *p, void *arg, const spec *s)
{
    aot_sb *out = arg;
    (void)p;
    aot_sb_addf(out, "    %s: %s", s->name, s->kind->kind);
    if (s->target != NULL) {
        aot_sb_addf(out, " target='%s'", s->target);
    }
    if (s->persistent.s != NULL) {
        aot_sb_addf(out, " persistent=%s", aot_json_true(s->persistent) ? "True" : "False");
    }
    aot_sb_addc(out, '\n');
}

static void print_bound(aot_sb *out, aot_slice v, const char *infinite)
{
    if (v.s == NULL || aot_slice_is(v, "null")) {
        aot_sb_addz(out, infinite);
    } else {
        aot_sb_add(out, v.s, v.n);
    }
}

/* 2, int_oo. Symbols of floats are called zf0, zuf0; their infinities are sympy's own. */
static void print_range(aot_sb *out, aot_slice range, const char *symbol)
{
    bool real = symbol[0] == 'z';
    print_bound(out, aot_json_get(range, "min_val"), real ? "-oo" : "-int_oo");
    aot_sb_addz(out, ", ");
    print_bound(out, aot_json_get(range, "max_val"), real ? "oo" : "int_oo");
}

void aot_pt2_signature_text(aot_pt2_program *p, aot_sb *out, aot_slice signature, aot_slice ranges)
{
    aot_json_iter it;
    aot_slice key, v;
    bool first = true;
    aot_sb_addz(out, "Graph signature: \n    # inputs\n");
    each_spec(p, signature, true, print_spec, out);
    aot_sb_addz(out, "    \n    # outputs\n");
    each_spec(p, signature, false, print_spec, out);
    aot_sb_addz(out, "    \nRange constraints: {");
    aot_json_begin(&it, ranges);
    while (aot_json_next(&it, &key, &v)) {
        aot_sb_addf(out, "%s%.*s: VR[", first ? "" : ", ", (int)key.n, key.s);
        print_range(out, v, key.s);
        aot_sb_addc(out, ']');
        first = false;
    }
    aot_sb_addz(out, "}\n");
}

/* ---- record -------------------------------------------------------------------------------- */

typedef struct rows {
    json_t *list;
    const aot_graph *g;
} rows;

static json_t *json_of(aot_slice v)
{
    return v.s != NULL ? json_loadb(v.s, v.n, JSON_DECODE_ANY, NULL) : NULL;
}

static void add_row(aot_pt2_program *p, void *arg, const spec *s)
{
    rows *r = arg;
    json_t *j = json_pack("{s:s, s:s}", "name", s->name, "kind", s->kind->kind);
    if (s->target != NULL) {
        json_object_set_new(j, "target", json_string(s->target));
    }
    if (s->persistent.s != NULL) {
        json_object_set_new(j, "persistent", json_boolean(aot_json_true(s->persistent)));
    }
    if (s->value.s != NULL) {
        json_t *value = json_of(s->value);
        json_object_set_new(j, "value", value != NULL ? value : json_null());
    }
    aot_node_id id = aot_pt2_top_of(p, s->name)->node;
    if (id != AOT_NO_NODE && r->g->nodes.d[id].meta != 0) {
        aot_meta_id m = r->g->nodes.d[id].meta;
        json_object_set_new(j, "type",
                            json_string(aot_text(p->ctx, aot_meta_get(p->ctx, m)->text)));
    }
    const aot_pt2_payload *w =
        s->target != NULL ? aot_pt2_payload_of(p->payloads, s->target) : NULL;
    if (w != NULL && s->kind >= input_kinds &&
        s->kind < input_kinds + sizeof input_kinds / sizeof *input_kinds) {
        json_object_set_new(j, "member", json_string(w->member));
        json_object_set_new(j, "bytes",
                            w->bytes >= 0 ? json_integer((json_int_t)w->bytes) : json_null());
        json_object_set_new(j, "pickled", json_boolean(w->use_pickle));
    }
    if (r->list != NULL) {
        json_array_append_new(r->list, j);
    }
}

/* Calling convention of the module that was exported. */
static void add_calls(json_t *out, aot_pt2_program *p)
{
    aot_slice calls = aot_json_get(aot_json_get(p->json, "graph_module"), "module_call_graph");
    aot_json_iter it;
    aot_slice key, entry, sig = {NULL, 0};
    aot_json_begin(&it, calls);
    if (aot_json_next(&it, &key, &entry)) { // the first entry is the root
        sig = aot_json_get(entry, "signature");
    }
    static const char *const keys[] = {"in_spec", "out_spec", "forward_arg_names"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *v = json_of(aot_json_get(sig, keys[i]));
        if (v != NULL) {
            json_object_set_new(out, keys[i], v);
        }
    }
}

static json_t *ranges_json(aot_slice ranges)
{
    json_t *out = json_object();
    aot_json_iter it;
    aot_slice key, v;
    aot_json_begin(&it, ranges);
    while (aot_json_next(&it, &key, &v)) {
        json_t *lo = json_of(aot_json_get(v, "min_val")), *hi = json_of(aot_json_get(v, "max_val"));
        json_object_setn_new(
            out, key.s, key.n,
            json_pack("[o, o]", lo != NULL ? lo : json_null(), hi != NULL ? hi : json_null()));
    }
    return out;
}

json_t *aot_pt2_signature_json(aot_pt2_program *p, aot_slice signature, aot_slice ranges,
                               const aot_graph *g)
{
    rows in = {json_array(), g}, out = {json_array(), g};
    static const char *const copied[] = {"torch_version", "opset_version", "verifiers",
                                         "guards_code"};
    each_spec(p, signature, true, add_row, &in);
    each_spec(p, signature, false, add_row, &out);
    json_t *j = json_pack("{s:s, s:s, s:[i, i], s:o, s:o}", "format", "aotscope/1", "model",
                          p->model, "schema_version", (int)p->major, (int)p->minor, "inputs",
                          in.list, "outputs", out.list);
    json_object_set_new(j, "range_constraints", ranges_json(ranges));
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *v = json_of(aot_json_get(p->json, copied[i]));
        if (v != NULL) {
            json_object_set_new(j, copied[i], v);
        }
    }
    add_calls(j, p);
    return j;
}

/* ---- inputs and symbols -------------------------------------------------------------------- */

typedef struct described {
    aot_unit *u;
    const aot_graph *g;
    AOT_VEC(int) statics;
    int index;
} described;

static const char *keep(aot_unit *u, const char *s)
{
    return aot_arena_strndup(u->arena, s, strlen(s));
}

/* Sizes at the hints; an expression without a value is kept as a text. */
static const char *dims_json(const aot_pt2_program *p, aot_unit *u, const aot_dim *d, unsigned n)
{
    aot_sb b = {0};
    aot_sb_addc(&b, '[');
    for (unsigned i = 0; i < n; i++) {
        const char *expr = aot_text(p->ctx, d[i].expr);
        int64_t v = d[i].expr != 0 ? aot_sym_eval(p->ctx, expr, strlen(expr)) : d[i].value;
        aot_sb_addz(&b, i > 0 ? ", " : "");
        if (v != AOT_HINT_NONE) {
            aot_sb_add_i64(&b, v);
        } else {
            aot_sb_addf(&b, "\"%s\"", expr);
        }
    }
    aot_sb_addc(&b, ']');
    const char *text = keep(u, b.d);
    aot_sb_free(&b);
    return text;
}

/* The unit's symbol of that name; NULL. */
static aot_symbol *unit_symbol(const aot_pt2_program *p, aot_unit *u, aot_str name)
{
    uint32_t i = name < p->symbol_of.n ? p->symbol_of.d[name] : 0;
    return i != 0 ? &u->symbols.d[i - 1] : NULL;
}

/* s77: L['x'].size()[0] of the first input with that size. */
static void name_sources(const aot_pt2_program *p, aot_unit *u, const char *source,
                         const aot_meta *m)
{
    const aot_dim *d = aot_meta_sizes(p->ctx, m);
    for (unsigned i = 0; i < m->ndim; i++) {
        aot_symbol *s = d[i].expr != 0 ? unit_symbol(p, u, d[i].expr) : NULL;
        if (s != NULL && s->source[0] == '\0') {
            s->source = aot_arena_printf(u->arena, "%s.size()[%u]", source, i);
        }
    }
}

static int64_t offset_of(aot_slice meta)
{
    aot_slice v = aot_json_get(aot_json_get(meta, "storage_offset"), "as_int");
    return aot_json_int(v, 0);
}

static void describe(aot_pt2_program *p, void *arg, const spec *s)
{
    described *w = arg;
    aot_unit *u = w->u;
    bool is_state = s->target != NULL && strcmp(s->kind->key, "custom_obj") != 0;
    int index = w->index++;
    const aot_pt2_top *top = aot_pt2_top_of(p, s->name);
    const aot_meta *m =
        top->node != AOT_NO_NODE ? aot_meta_get(p->ctx, w->g->nodes.d[top->node].meta) : NULL;
    if (is_state) {
        aot_vec_push(&w->statics, index);
    }
    if (m == NULL || m->val != AOT_VAL_TENSOR) {
        return;
    }
    const aot_pt2_payload *payload = is_state ? aot_pt2_payload_of(p->payloads, s->target) : NULL;
    aot_input_desc d = {
        .describer = 0, .tensor = index, .storage = -1, .storage_bytes = -1, .is_leaf = true};
    d.source = is_state ? keep(u, s->target) : aot_arena_printf(u->arena, "L['%s']", s->name);
    d.dtype = aot_dtype_get(m->dtype)->torch_name;
    d.device = keep(u, aot_text(p->ctx, m->device));
    d.size = dims_json(p, u, aot_meta_sizes(p->ctx, m), m->ndim);
    d.stride = m->has_stride ? dims_json(p, u, aot_meta_strides(p->ctx, m), m->ndim) : "[]";
    d.requires_grad = aot_json_true(aot_json_get(top->type, "requires_grad"));
    d.is_parameter = strcmp(s->kind->key, "parameter") == 0;
    d.offset = offset_of(payload != NULL && payload->meta.s != NULL ? payload->meta : top->type);
    if (payload != NULL) {
        d.storage = payload->storage;
        d.storage_bytes = payload->bytes;
    }
    aot_vec_push(&u->inputs, d);
    name_sources(p, u, d.source, m);
}

static void add_symbols(aot_pt2_program *p, aot_unit *u, aot_slice ranges)
{
    aot_json_iter it;
    aot_slice key, range;
    for (size_t i = 0; i < p->symbols.n; i++) {
        const aot_pt2_symbol *from = &p->symbols.d[i];
        aot_symbol s = {.name = keep(u, from->name),
                        .source = "",
                        .range = "",
                        .hint = from->hint,
                        .has_hint = from->has_hint};
        aot_vec_push(&u->symbols, s);
    }
    aot_json_begin(&it, ranges);
    while (aot_json_next(&it, &key, &range)) {
        aot_symbol *s = unit_symbol(p, u, aot_intern_find(p->ctx->strs, key.s, key.n));
        if (s != NULL && s->range[0] == '\0') {
            aot_sb b = {0};
            aot_sb_addc(&b, '[');
            print_range(&b, range, s->name);
            aot_sb_addc(&b, ']');
            s->range = keep(u, b.d);
            aot_sb_free(&b);
        }
    }
}

void aot_pt2_describe(aot_pt2_program *p, aot_unit *u, aot_slice signature, aot_slice ranges,
                      const aot_graph *g)
{
    described w = {.u = u, .g = g};
    aot_pt2_solve(p);
    add_symbols(p, u, ranges);
    each_spec(p, signature, true, describe, &w);
    u->n_static_inputs = (int)w.statics.n;
    u->static_inputs = AOT_NEW_ARRAY(u->arena, int, w.statics.n + 1);
    if (w.statics.n > 0) {
        memcpy(u->static_inputs, w.statics.d, w.statics.n * sizeof(int));
    }
    aot_vec_free(&w.statics);
}
