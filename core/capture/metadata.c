/* ViewAndMutationMeta field by field: printing, JSON, comparison, and the indices that PyTorch
 * computes from what is stored.
 *
 * A field is a row of metadata.def; its value is made anew each time from the few facts of the
 * struct.
 * Mirrors: torch/_functorch/_aot_autograd/schemas.py:ViewAndMutationMeta.__post_init__ and its
 * slices. */
#include "capture/metadata.h"

#include <stdio.h>
#include <string.h>

typedef enum value_kind { V_NONE, V_INT, V_BOOL, V_INTS, V_TEXTS, V_SLICE } value_kind;

typedef struct value {
    value_kind kind;
    int64_t n; /* the number; of lists, their length; of slices, the start */
    const int *ints;
    const char *const *texts;
    int64_t stop; /* 0: None */
} value;

/* ---- makers of values, used by metadata.def -------------------------------------------------- */

#define INT(x) ((value){.kind = V_INT, .n = (x)})
#define BOOL(x) ((value){.kind = V_BOOL, .n = (x)})
#define INTS(list, count) ((value){.kind = V_INTS, .n = (count) > 0 ? (count) : 0, .ints = (list)})
#define TEXTS(list, count) ((value){.kind = V_TEXTS, .n = (count), .texts = (list)})
#define INT_OR_NONE(x) ((x) < 0 ? (value){.kind = V_NONE} : INT(x))
#define BOOL_OR_NONE(x) ((x) < 0 ? (value){.kind = V_NONE} : BOOL(x))
#define INTS_OR_NONE(list, count) ((count) < 0 ? (value){.kind = V_NONE} : INTS(list, count))
#define COUNT(v) INT((v).n)

static bool returned(const aot_input_info *x)
{
    return x->mutation == AOT_MUTATED_OUT_GRAPH;
}

static bool written_inside(const aot_input_info *x)
{
    return x->mutation == AOT_MUTATED_IN_GRAPH;
}

static bool written_inside_seen(const aot_input_info *x)
{
    return written_inside(x) && !x->mutations_hidden_from_autograd;
}

static bool of_input(const aot_output_info *o)
{
    return o->type == AOT_OUT_ALIAS_OF_INPUT || o->type == AOT_OUT_IS_INPUT;
}

static bool of_intermediate(const aot_output_info *o)
{
    return o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE ||
           o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT ||
           o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT;
}

bool aot_output_is_aliased(const aot_output_info *o)
{
    return of_input(o) || of_intermediate(o);
}

static bool not_aliased(const aot_output_info *o)
{
    return !aot_output_is_aliased(o);
}

static bool unsafe_view(const aot_output_info *o)
{
    return o->type == AOT_OUT_UNSAFE_VIEW_ALIAS;
}

static bool dynamic(const aot_output_info *o)
{
    return o->dynamic_dims != 0;
}

static value inputs_where(const aot_fw_metadata *m, aot_arena *a,
                          bool (*test)(const aot_input_info *))
{
    int *at = AOT_NEW_ARRAY(a, int, (size_t)m->n_inputs + 1), n = 0;
    for (int i = 0; i < m->n_inputs; i++) {
        if (test(&m->inputs[i])) {
            at[n++] = i;
        }
    }
    return INTS(at, n);
}

static value outputs_where(const aot_fw_metadata *m, aot_arena *a,
                           bool (*test)(const aot_output_info *))
{
    int *at = AOT_NEW_ARRAY(a, int, (size_t)m->n_outputs + 1), n = 0;
    for (int i = 0; i < m->n_outputs; i++) {
        if (test(&m->outputs[i])) {
            at[n++] = i;
        }
    }
    return INTS(at, n);
}

static value tangents(const aot_fw_metadata *m, aot_arena *a, bool descs)
{
    int n = m->n_traced_tangents > 0 && m->tangents != NULL ? m->n_traced_tangents : 0;
    const char **texts = AOT_NEW_ARRAY(a, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        texts[i] = descs ? m->tangents[i].desc : m->tangents[i].size;
    }
    return TEXTS(texts, n);
}

/* "0", or "1:3" for a subclass of two inner tensors. */
static value slots(const aot_fw_metadata *m, aot_arena *a, const aot_value_places *s)
{
    (void)m;
    const char **texts = AOT_NEW_ARRAY(a, const char *, (size_t)s->n + 1);
    for (int i = 0; i < s->n; i++) {
        const aot_value_place *x = &s->of[i];
        texts[i] = x->n == 0 ? aot_arena_printf(a, "%d", x->start)
                             : aot_arena_printf(a, "%d:%d", x->start, x->start + x->n);
    }
    return TEXTS(texts, s->n);
}

static int at_least_0(int n)
{
    return n > 0 ? n : 0;
}

/* n values that stand before the last `after` ones. */
static value tail_slice(const aot_fw_metadata *m, int n, int after)
{
    (void)m;
    n = at_least_0(n);
    after = at_least_0(after);
    return n == 0 ? (value){.kind = V_SLICE, .n = 0, .stop = 0, .ints = &(const int){0}}
                  : (value){.kind = V_SLICE, .n = -n - after, .stop = -after};
}

static value saved_slice(const aot_fw_metadata *m, bool checked, bool unchecked)
{
    int no_vc = at_least_0(m->n_saved_no_vc);
    int last = at_least_0(m->n_opaque_saved) + at_least_0(m->n_symints_saved);
    int first = m->n_forward_returns + m->is_rng_op_functionalized;
    if (!checked) {
        return tail_slice(m, no_vc, last);
    }
    return (value){.kind = V_SLICE, .n = first, .stop = -(last + (unchecked ? 0 : no_vc))};
}

/* ---- the table ------------------------------------------------------------------------------- */

#define META(name, class, expression, sentence)                                                    \
    static value get_##name(const aot_fw_metadata *m, aot_arena *a)                                \
    {                                                                                              \
        (void)a;                                                                                   \
        return expression;                                                                         \
    }
#include "capture/metadata.def"
#undef META

static const struct {
    aot_meta_info info;
    value (*get)(const aot_fw_metadata *m, aot_arena *a);
} fields[] = {
#define META(name, class, expression, sentence)                                                    \
    {{#name, sentence, AOT_META_##class}, get_##name},
#include "capture/metadata.def"
#undef META
};

const aot_meta_info *aot_meta_info_of(aot_meta_field f)
{
    return &fields[f].info;
}

aot_meta_field aot_meta_find(const char *name, size_t n)
{
    for (int f = 0; f < AOT_N_META_FIELDS; f++) {
        if (strlen(fields[f].info.name) == n && memcmp(fields[f].info.name, name, n) == 0) {
            return (aot_meta_field)f;
        }
    }
    return AOT_N_META_FIELDS;
}

bool aot_meta_is_known(const aot_fw_metadata *m, aot_meta_field f)
{
    aot_meta_class c = fields[f].info.class;
    bool cut = c == AOT_META_CUT || c == AOT_META_AFTER_CUT;
    bool none = c == AOT_META_CUT && !m->is_train; // nothing is saved: None
    return (m->absent >> f & 1) == 0 && (!cut || m->is_cut || none);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_value(aot_sb *out, const value *v)
{
    switch (v->kind) {
    case V_NONE: aot_sb_addz(out, "None"); break;
    case V_INT: aot_sb_addf(out, "%lld", (long long)v->n); break;
    case V_BOOL: aot_sb_addz(out, v->n != 0 ? "True" : "False"); break;
    case V_INTS:
    case V_TEXTS:
        aot_sb_addc(out, '[');
        for (int64_t i = 0; i < v->n; i++) {
            aot_sb_addz(out, i > 0 ? ", " : "");
            if (v->kind == V_INTS) {
                aot_sb_addf(out, "%d", v->ints[i]);
            } else {
                aot_sb_addz(out, v->texts[i]);
            }
        }
        aot_sb_addc(out, ']');
        break;
    case V_SLICE:
        aot_sb_addf(out, "slice(%lld, ", (long long)v->n);
        if (v->stop != 0 || v->ints != NULL) { // an empty one is slice(0, 0)
            aot_sb_addf(out, "%lld, None)", (long long)v->stop);
        } else {
            aot_sb_addz(out, "None, None)");
        }
        break;
    }
}

void aot_meta_print(aot_sb *out, const aot_fw_metadata *m, aot_meta_field f)
{
    aot_arena *a = aot_arena_new();
    value v = fields[f].get(m, a);
    print_value(out, &v);
    aot_arena_free(a);
}

static json_t *value_json(const value *v)
{
    json_t *list = NULL;
    switch (v->kind) {
    case V_NONE: return json_null();
    case V_INT: return json_integer(v->n);
    case V_BOOL: return json_boolean(v->n != 0);
    case V_SLICE:
        return json_pack("[I, o]", (json_int_t)v->n,
                         v->stop != 0 || v->ints != NULL ? json_integer(v->stop) : json_null());
    default: break;
    }
    list = json_array();
    for (int64_t i = 0; i < v->n; i++) {
        json_array_append_new(list, v->kind == V_INTS ? json_integer(v->ints[i])
                                                      : json_string(v->texts[i]));
    }
    return list;
}

static json_t *input_json(const aot_input_info *x)
{
    json_t *o = json_object();
#define INPUT_FIELD(name, sentence) json_object_set_new(o, #name, json_boolean(x->name));
#include "capture/input_fields.def"
#undef INPUT_FIELD
    json_object_set_new(o, "mutation_type", json_string(aot_mutation_name(x->mutation)));
    return o;
}

static json_t *dims_json(uint64_t dims)
{
    json_t *list = json_array();
    for (int d = 0; d < 64; d++) {
        if ((dims >> d & 1) != 0) {
            json_array_append_new(list, json_integer(d));
        }
    }
    return list;
}

static json_t *output_json(const aot_output_info *x)
{
    return json_pack("{s:s, s:b, s:o, s:b, s:o, s:b}", "output_type", aot_output_type_name(x->type),
                     "requires_grad", x->requires_grad, "base_idx",
                     x->base_idx < 0 ? json_null() : json_integer(x->base_idx), "is_tensor",
                     x->is_tensor, "dynamic_dims",
                     x->is_tensor ? dims_json(x->dynamic_dims) : json_null(),
                     "replays_views", x->replays_views);
}

json_t *aot_meta_json(const aot_fw_metadata *m)
{
    json_t *o = json_object(), *in = json_array(), *out = json_array();
    aot_arena *a = aot_arena_new();
    for (int i = 0; i < m->n_inputs; i++) {
        json_array_append_new(in, input_json(&m->inputs[i]));
    }
    for (int i = 0; i < m->n_outputs; i++) {
        json_array_append_new(out, output_json(&m->outputs[i]));
    }
    json_object_set_new(o, "input_info", in);
    json_object_set_new(o, "output_info", out);
    for (int f = 0; f < AOT_N_META_FIELDS; f++) {
        if (aot_meta_is_known(m, (aot_meta_field)f)) {
            value v = fields[f].get(m, a);
            json_object_set_new(o, fields[f].info.name, value_json(&v));
        }
    }
    aot_arena_free(a);
    return o;
}

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct report {
    aot_meta_differs_fn *differs;
    void *arg;
} report;

static void compare_bool(const report *r, const char *list, int i, const char *name, bool recorded,
                         bool derived)
{
    if (recorded != derived) {
        char field[96];
        snprintf(field, sizeof field, "%s[%d].%s", list, i, name);
        r->differs(r->arg, field, recorded ? "True" : "False", derived ? "True" : "False");
    }
}

static void compare_input(const report *r, int i, const aot_input_info *x, aot_input_info derived,
                          bool grad_mode_unknown)
{
    const aot_input_info *y = &derived;
    if (grad_mode_unknown && x->mutates_data && !x->requires_grad) { // of no consequence then
        derived.mutations_under_no_grad_or_inference_mode =
            x->mutations_under_no_grad_or_inference_mode;
    }
#define INPUT_FIELD(name, sentence) compare_bool(r, "input_info", i, #name, x->name, y->name);
#include "capture/input_fields.def"
#undef INPUT_FIELD
    if (x->mutation != y->mutation) {
        char field[96];
        snprintf(field, sizeof field, "input_info[%d].mutation_type", i);
        r->differs(r->arg, field, aot_mutation_name(x->mutation), aot_mutation_name(y->mutation));
    }
}

static void compare_output(const report *r, int i, const aot_output_info *x,
                           const aot_output_info *y)
{
    char field[96], a[24], b[24];
    if (x->type != y->type) {
        snprintf(field, sizeof field, "output_info[%d].output_type", i);
        r->differs(r->arg, field, aot_output_type_name(x->type), aot_output_type_name(y->type));
    }
    if (x->base_idx != y->base_idx) {
        snprintf(field, sizeof field, "output_info[%d].base_idx", i);
        snprintf(a, sizeof a, "%d", x->base_idx);
        snprintf(b, sizeof b, "%d", y->base_idx);
        r->differs(r->arg, field, x->base_idx < 0 ? "None" : a, y->base_idx < 0 ? "None" : b);
    }
    if (x->dynamic_dims != y->dynamic_dims) {
        snprintf(field, sizeof field, "output_info[%d].dynamic_dims", i);
        snprintf(a, sizeof a, "bits 0x%llx", (unsigned long long)x->dynamic_dims);
        snprintf(b, sizeof b, "bits 0x%llx", (unsigned long long)y->dynamic_dims);
        r->differs(r->arg, field, a, b);
    }
    compare_bool(r, "output_info", i, "requires_grad", x->requires_grad, y->requires_grad);
    compare_bool(r, "output_info", i, "is_tensor", x->is_tensor, y->is_tensor);
    compare_bool(r, "output_info", i, "view_meta_sequence is there", x->replays_views,
                 y->replays_views);
}

static bool same_length(const report *r, const char *field, int recorded, int derived)
{
    char a[24], b[24];
    if (recorded != derived) {
        snprintf(a, sizeof a, "%d", recorded);
        snprintf(b, sizeof b, "%d", derived);
        r->differs(r->arg, field, a, b);
    }
    return recorded == derived;
}

void aot_meta_compare(const aot_fw_metadata *recorded, const aot_fw_metadata *derived,
                      aot_meta_differs_fn *differs, void *arg)
{
    report r = {differs, arg};
    if (same_length(&r, "len(input_info)", recorded->n_inputs, derived->n_inputs)) {
        for (int i = 0; i < recorded->n_inputs; i++) {
            compare_input(&r, i, &recorded->inputs[i], derived->inputs[i],
                          derived->grad_mode_unknown);
        }
    }
    if (same_length(&r, "len(output_info)", recorded->n_outputs, derived->n_outputs)) {
        for (int i = 0; i < recorded->n_outputs; i++) {
            compare_output(&r, i, &recorded->outputs[i], &derived->outputs[i]);
        }
    }
    for (int f = 0; f < AOT_N_META_FIELDS; f++) {
        aot_sb x = {0}, y = {0};
        if (aot_meta_is_known(recorded, (aot_meta_field)f) &&
            aot_meta_is_known(derived, (aot_meta_field)f)) {
            aot_meta_print(&x, recorded, (aot_meta_field)f);
            aot_meta_print(&y, derived, (aot_meta_field)f);
            if (strcmp(aot_sb_text(&x), aot_sb_text(&y)) != 0) {
                differs(arg, fields[f].info.name, aot_sb_text(&x), aot_sb_text(&y));
            }
        }
        aot_sb_free(&x);
        aot_sb_free(&y);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *sentence;
} output_types[] = {
    {"unknown", "not known"},
#define OUTPUT_TYPE(id, name, sentence) {name, sentence},
#include "capture/output_types.def"
#undef OUTPUT_TYPE
};

const char *aot_output_type_name(aot_output_type t)
{
    return output_types[t].name;
}

const char *aot_output_type_sentence(aot_output_type t)
{
    return output_types[t].sentence;
}

const char *aot_mutation_name(aot_mutation m)
{
    static const char *const names[] = {"NOT_MUTATED", "MUTATED_IN_GRAPH", "MUTATED_OUT_GRAPH"};
    return names[m];
}

aot_mutation aot_input_mutation(const aot_input_info *in)
{
    if (!in->mutates_data && !in->mutates_metadata && !in->mutation_inductor_storage_resize) {
        return AOT_NOT_MUTATED;
    }
    bool writes = in->mutates_data || in->mutates_storage_metadata ||
                  in->mutation_inductor_storage_resize;
    bool harmless = (!in->mutates_metadata && !in->requires_grad) ||
                    in->mutations_hidden_from_autograd ||
                    in->mutations_under_no_grad_or_inference_mode;
    return in->keep_input_mutations && writes && harmless ? AOT_MUTATED_IN_GRAPH
                                                          : AOT_MUTATED_OUT_GRAPH;
}
