/* ViewAndMutationMeta as text: Python's repr of nested dataclasses.
 *
 *   ViewAndMutationMeta(input_info=[InputAliasInfo(is_leaf=True, ...), ...], ..., tokens={}, ...)
 *
 * A repr is walked as "name=value" fields separated by commas at bracket depth 0; quotes are
 * honoured, so stack traces inside do no harm. Fields are looked up by name, unknown ones passed
 * over, missing ones keep their defaults: versions differ in both.
 * Mirrors: torch/_functorch/_aot_autograd/schemas.py (ViewAndMutationMeta, InputAliasInfo) and
 * utils.py:_check_if_mutation_can_be_in_graph. */
#include "import/fw_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

typedef struct span {
    const char *s;
    size_t n;
} span;

static bool span_is(span a, const char *z)
{
    return strlen(z) == a.n && memcmp(a.s, z, a.n) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static span trim(span a)
{
    while (a.n > 0 && is_space(a.s[0])) {
        a.s++;
        a.n--;
    }
    while (a.n > 0 && is_space(a.s[a.n - 1])) {
        a.n--;
    }
    return a;
}

/* Characters that mean something between the items of a repr. */
static const unsigned char special[256] = {
    ['\''] = 1, ['"'] = 1, ['('] = 2, ['['] = 2, ['{'] = 2,
    [')'] = 3,  [']'] = 3, ['}'] = 3, [','] = 4,
};

/* Where the item that starts at i ends: at a comma of depth 0, at the bracket that closes the
 * surrounding one, or at the end of the text. */
static size_t item_end(span a, size_t i)
{
    size_t depth = 0;
    for (; i < a.n; i++) {
        unsigned char c = (unsigned char)a.s[i];
        switch (special[c]) {
        case 0:
            break;
        case 1:
            for (i++; i < a.n && (unsigned char)a.s[i] != c; i++) {
                i += a.s[i] == '\\';
            }
            break;
        case 2:
            depth++;
            break;
        case 3:
            if (depth-- == 0) {
                return i;
            }
            break;
        default:
            if (depth == 0) {
                return i;
            }
        }
    }
    return a.n;
}

/* Next item of a comma-separated list; *pos starts at 0. */
static bool next_item(span list, size_t *pos, span *item)
{
    if (*pos >= list.n) {
        return false;
    }
    size_t end = item_end(list, *pos);
    *item = trim((span){list.s + *pos, end - *pos});
    bool closed = end < list.n && list.s[end] != ',';
    *pos = closed ? list.n : end + 1;
    return item->n > 0;
}

/* What stands between the brackets of "Name(...)", "[...]"; the closing one may be lost. */
static span inside(span a)
{
    a = trim(a);
    for (size_t i = 0; i < a.n; i++) {
        if (a.s[i] == '(' || a.s[i] == '[' || a.s[i] == '{') {
            span in = {a.s + i + 1, a.n - i - 1};
            if (in.n > 0 && strchr(")]}", in.s[in.n - 1]) != NULL) {
                in.n--;
            }
            return in;
        }
        if (a.s[i] == '=' || a.s[i] == ',') {
            break;
        }
    }
    return (span){a.s, 0};
}

static bool next_field(span list, size_t *pos, span *name, span *value)
{
    span item;
    if (!next_item(list, pos, &item)) {
        return false;
    }
    const char *eq = memchr(item.s, '=', item.n);
    if (eq == NULL) {
        *name = (span){item.s, 0};
        *value = item;
    } else {
        *name = trim((span){item.s, (size_t)(eq - item.s)});
        *value = trim((span){eq + 1, item.n - (size_t)(eq - item.s) - 1});
    }
    return true;
}

static int count_items(span list)
{
    size_t pos = 0;
    span item;
    int n = 0;
    list = inside(list);
    while (next_item(list, &pos, &item)) {
        n++;
    }
    return n;
}

static int to_int(span a, int otherwise)
{
    char buf[16], *end;
    if (a.n == 0 || a.n >= sizeof buf) {
        return otherwise;
    }
    memcpy(buf, a.s, a.n);
    buf[a.n] = '\0';
    long v = strtol(buf, &end, 10);
    return *end == '\0' && v >= -1 && v <= 1 << 30 ? (int)v : otherwise;
}

/* Integers of "[0, 2]"; -1 and NULL for None. */
static int int_list(aot_arena *a, span value, int **out)
{
    *out = NULL;
    if (span_is(value, "None")) {
        return -1;
    }
    int n = count_items(value), k = 0;
    *out = AOT_NEW_ARRAY(a, int, (size_t)n);
    size_t pos = 0;
    span item, list = inside(value);
    while (k < n && next_item(list, &pos, &item)) {
        (*out)[k++] = to_int(item, -1);
    }
    return k;
}

/* "<OutputType.non_alias: 1>" or "OutputType.non_alias" */
static aot_output_type output_type(span v)
{
    const char *dot = memchr(v.s, '.', v.n);
    if (dot == NULL) {
        return AOT_OUT_UNKNOWN;
    }
    span name = {dot + 1, 0};
    while (name.s + name.n < v.s + v.n && strchr(": >", name.s[name.n]) == NULL) {
        name.n++;
    }
    for (int i = 1; i <= AOT_OUT_CUSTOM_FUNCTION_VIEW; i++) {
        if (span_is(name, aot_output_type_name((aot_output_type)i))) {
            return (aot_output_type)i;
        }
    }
    return AOT_OUT_UNKNOWN;
}

static void read_input(aot_input_info *in, span text)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
#define INPUT_FIELD(name, sentence) {#name, offsetof(aot_input_info, name)},
#include "capture/input_fields.def"
#undef INPUT_FIELD
    };
    size_t pos = 0;
    span name, value, list = inside(text);
    while (next_field(list, &pos, &name, &value)) {
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            if (span_is(name, fields[i].name)) {
                *(bool *)((char *)in + fields[i].offset) = span_is(value, "True");
            }
        }
    }
    in->mutation = aot_input_mutation(in);
}

static void read_inputs(aot_fw_metadata *m, aot_arena *a, span value)
{
    m->n_inputs = count_items(value);
    m->inputs = AOT_NEW_ARRAY(a, aot_input_info, (size_t)m->n_inputs);
    size_t pos = 0;
    span item, list = inside(value);
    for (int i = 0; i < m->n_inputs && next_item(list, &pos, &item); i++) {
        m->inputs[i].keep_input_mutations = m->keep_input_mutations;
        read_input(&m->inputs[i], item);
        m->n_mutated_returned += m->inputs[i].mutation == AOT_MUTATED_OUT_GRAPH;
    }
}

/* "{0, 1}" as bits; 0 for None and "set()". */
static uint64_t dims_of(span value)
{
    uint64_t dims = 0;
    size_t pos = 0;
    span item, list = inside(value);
    while (next_item(list, &pos, &item)) {
        int d = to_int(item, -1);
        dims |= d >= 0 && d < 64 ? (uint64_t)1 << d : 0;
    }
    return dims;
}

static void read_outputs(aot_fw_metadata *m, aot_arena *a, span value)
{
    m->n_outputs = count_items(value);
    m->outputs = AOT_NEW_ARRAY(a, aot_output_info, (size_t)m->n_outputs);
    size_t pos = 0;
    span item, list = inside(value);
    for (int i = 0; i < m->n_outputs && next_item(list, &pos, &item); i++) {
        aot_output_info *o = &m->outputs[i];
        o->base_idx = -1;
        size_t at = 0;
        span name, v, fields = inside(item);
        while (next_field(fields, &at, &name, &v)) {
            if (span_is(name, "output_type")) {
                o->type = output_type(v);
            } else if (span_is(name, "base_idx")) {
                o->base_idx = to_int(v, -1);
            } else if (span_is(name, "requires_grad")) {
                o->requires_grad = span_is(v, "True");
            } else if (span_is(name, "raw_type")) {
                o->is_tensor = memmem(v.s, v.n, "Tensor", 6) != NULL;
            } else if (span_is(name, "dynamic_dims")) {
                o->dynamic_dims = dims_of(v);
            } else if (span_is(name, "view_meta_sequence")) {
                o->replays_views = !span_is(v, "None");
            }
        }
    }
}

static const char *keep(aot_arena *a, span s)
{
    return aot_arena_strndup(a, s.s, s.n);
}

/* The "name=" field of a repr; empty if it has none. */
static span field_of(span repr, const char *want)
{
    size_t pos = 0;
    span name, value, fields = inside(repr);
    while (next_field(fields, &pos, &name, &value)) {
        if (span_is(name, want)) {
            return value;
        }
    }
    return (span){repr.s, 0};
}

/* Both lists of tangents: FakeTensor(..., size=(8, 8)) and TangentAOTInput(...). */
static void read_tangents(aot_fw_metadata *m, aot_arena *a, span value, bool descs)
{
    int n = count_items(value);
    if (m->tangents == NULL || m->n_traced_tangents < n) {
        m->tangents = AOT_NEW_ARRAY(a, aot_tangent_info, (size_t)n + 1);
        m->n_traced_tangents = n;
    }
    size_t pos = 0;
    span item, list = inside(value);
    for (int i = 0; i < n && next_item(list, &pos, &item); i++) {
        if (descs) {
            m->tangents[i].desc = keep(a, item);
        } else { // of a subclass: the first inner tensor's
            span size = field_of(item, "size"), first, rest = inside(item);
            for (size_t at = 0; size.n == 0 && next_item(rest, &at, &first) && rest.n > 0;) {
                size = field_of(first, "size");
            }
            m->tangents[i].size = keep(a, size);
        }
    }
}

static void read_slots(aot_value_places *s, aot_arena *a, span value)
{
    s->n = count_items(value);
    s->of = AOT_NEW_ARRAY(a, aot_value_place, (size_t)s->n + 1);
    size_t pos = 0;
    span item, list = inside(value);
    for (int i = 0; i < s->n && next_item(list, &pos, &item); i++) {
        span start = field_of(item, "flat_tensor_start_idx");
        if (start.n > 0) {
            s->of[i] = (aot_value_place){to_int(start, 0), to_int(field_of(item, "arg_count"), 0)};
        } else { // before 2.6 a plain tensor was its index
            span at = field_of(item, "unwrapped_idx");
            s->of[i] = (aot_value_place){to_int(at.n > 0 ? at : item, 0), 0};
        }
    }
}

static int bool_or_none(span v)
{
    return span_is(v, "True") ? 1 : span_is(v, "False") ? 0 : -1;
}

static void read_list(aot_fw_metadata *m, aot_arena *a, aot_meta_field f, span value)
{
    switch (f) {
    case AOT_META_traced_tangents: read_tangents(m, a, value, false); break;
    case AOT_META_traced_tangents_descs: read_tangents(m, a, value, true); break;
    case AOT_META_subclass_inp_meta: read_slots(&m->subclass_in, a, value); break;
    case AOT_META_subclass_fw_graph_out_meta: read_slots(&m->subclass_out, a, value); break;
    case AOT_META_subclass_tangent_meta: read_slots(&m->subclass_tangent, a, value); break;
    case AOT_META_static_input_indices:
        m->n_static_inputs = int_list(a, value, &m->static_inputs);
        break;
    case AOT_META_bw_donated_idxs: m->n_donated = int_list(a, value, &m->donated); break;
    case AOT_META_indices_of_inputs_that_requires_grad_with_mutations_in_bw:
        m->n_mutated_in_bw = int_list(a, value, &m->mutated_in_bw);
        break;
    default: break;
    }
}

static void read_field(aot_fw_metadata *m, aot_arena *a, span name, span value)
{
    if (span_is(name, "output_info")) {
        read_outputs(m, a, value);
        return;
    }
    if (span_is(name, "static_parameter_indices")) { // the name before 2.5
        name = (span){"static_input_indices", strlen("static_input_indices")};
    }
    aot_meta_field f = aot_meta_find(name.s, name.n);
    if (f == AOT_N_META_FIELDS) {
        return;
    }
    m->absent &= ~((uint64_t)1 << f);
    switch (f) {
    case AOT_META_num_intermediate_bases: m->n_intermediate_bases = to_int(value, 0); break;
    case AOT_META_tokens: m->n_tokens = count_items(value); break;
    case AOT_META_num_backward_tokens: m->n_bw_tokens = to_int(value, 0); break;
    case AOT_META_num_symints_saved_for_bw:
        m->n_symints_saved = to_int(value, -1);
        m->is_cut = true;
        break;
    case AOT_META_num_tensors_saved_with_no_vc_check: m->n_saved_no_vc = to_int(value, -1); break;
    case AOT_META_num_opaque_objects_saved_for_bw: m->n_opaque_saved = to_int(value, -1); break;
    case AOT_META_num_graphsafe_rng_states: m->n_graphsafe_rng_states = to_int(value, 0); break;
    case AOT_META_graphsafe_rng_state_index: m->graphsafe_rng_index = to_int(value, -1); break;
    case AOT_META_is_train: m->is_train = span_is(value, "True"); break;
    case AOT_META_grad_enabled_mutation: m->grad_enabled_mutation = bool_or_none(value); break;
    case AOT_META_deterministic: m->deterministic = bool_or_none(value); break;
    default: read_list(m, a, f, value);
    }
}

/* What PyTorch computes is known where all of what it is computed from was read. */
static uint64_t unread(void)
{
    uint64_t bits = 0;
    for (int f = 0; f < AOT_N_META_FIELDS; f++) {
        aot_meta_class c = aot_meta_info_of((aot_meta_field)f)->class;
        bits |= c == AOT_META_TRACED || c == AOT_META_CUT ? (uint64_t)1 << f : 0;
    }
    const aot_meta_field unknowable[] = {AOT_META_indices_of_inps_to_detach,
                                         AOT_META_dynamic_saved_tensors_idxs,
                                         AOT_META_is_rng_op_functionalized,
                                         AOT_META_num_outputs_rng_offset};
    for (size_t i = 0; i < sizeof unknowable / sizeof *unknowable; i++) {
        bits |= (uint64_t)1 << unknowable[i];
    }
    return bits;
}

bool aot_fw_metadata_parse(aot_fw_metadata *out, aot_arena *a, const char *text, size_t n)
{
    static const char head[] = "ViewAndMutationMeta(";
    const char *p = n > 0 ? memmem(text, n, head, sizeof head - 1) : NULL;
    *out = (aot_fw_metadata){.n_symints_saved = -1,
                             .n_saved_no_vc = -1,
                             .n_opaque_saved = -1,
                             .n_traced_tangents = -1,
                             .n_static_inputs = -1,
                             .n_donated = -1,
                             .grad_enabled_mutation = -1,
                             .deterministic = -1,
                             .graphsafe_rng_index = -1,
                             .absent = unread()};
    if (p == NULL) {
        return false;
    }
    p += sizeof head - 1;
    span body = {p, n - (size_t)(p - text)}, name, value, inputs = {NULL, 0};
    size_t pos = 0;
    while (next_field(body, &pos, &name, &value)) {
        if (span_is(name, "input_info")) {
            inputs = value;
        } else if (span_is(name, "keep_input_mutations")) {
            out->keep_input_mutations = span_is(value, "True");
            out->absent &= ~((uint64_t)1 << AOT_META_keep_input_mutations);
        } else {
            read_field(out, a, name, value);
        }
    }
    if (inputs.s != NULL) { // after keep_input_mutations, which older versions state only once
        read_inputs(out, a, inputs);
    }
    out->n_forward_returns = out->n_mutated_returned + out->n_outputs + out->n_intermediate_bases;
    return true;
}

bool aot_fw_metadata_keeps(bool *keeps, const char *text, size_t n)
{
    static const char head[] = "ViewAndMutationMeta(";
    const char *p = n > 0 ? memmem(text, n, head, sizeof head - 1) : NULL;
    span name, value;
    size_t pos = 0;
    bool said = false;
    p = p != NULL ? p + sizeof head - 1 : text + n;
    span body = {p, n - (size_t)(p - text)};
    while (!said && next_field(body, &pos, &name, &value)) {
        said = span_is(name, "keep_input_mutations");
        *keeps = said ? span_is(value, "True") : *keeps;
    }
    return said;
}
