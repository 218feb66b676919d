/* aotscope mutation INPUT: which inputs a unit writes, where and why there; what shares memory; and
 * inputs that the backward reads after they were overwritten. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lint/lint.h"
#include "runtime/mutation.h"
#include "tui/tell_units.h"
#include "viewers/format.h"

/* What is told of a unit. */
typedef struct told {
    aot_mutations m;
    const aot_graph *graph; /* forward or inference; NULL: not there */
    const aot_partition *p; /* NULL: no backward */
    aot_findings found;     /* of the rule read-after-mutation */
} told;

/* Writes of the graph into its inputs: copy_, set_, resize_storage_bytes_ of a placeholder. */
static bool writes_input(const aot_graph *g, const aot_node *n, aot_node_id *input)
{
    const aot_arg *a = aot_node_args(g, n);
    bool writes = n->kind == AOT_CALL_FUNCTION && n->op != AOT_OP_UNKNOWN && n->n_args > 0 &&
                  (aot_node_op(n)->flags & AOT_OPF_MUTATES) != 0 && a->kind == AOT_ARG_NODE &&
                  aot_node_at(g, a->u.node)->kind == AOT_PLACEHOLDER;
    *input = writes ? a->u.node : AOT_NO_NODE;
    return writes;
}

static void find_all(told *x, aot_model *m, size_t unit, const aot_runtime *r)
{
    bool joint = aot_model_stage(m, unit, AOT_STAGE_JOINT).origin != AOT_ORIGIN_MISSING;
    aot_stage s = joint ? AOT_STAGE_FORWARD : AOT_STAGE_INFERENCE;
    aot_findings all = {0};
    aot_mutations_of(&x->m, r);
    if (aot_model_graph(m, unit, s, &x->graph, NULL) != AOT_OK) {
        x->graph = NULL;
    }
    if (joint && aot_model_partition(m, unit, &x->p, NULL) == AOT_OK) {
        aot_lint(&all, x->p);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (strcmp(all.d[i].rule->name, "read-after-mutation") == 0) {
            aot_vec_push(&x->found, all.d[i]);
        }
    }
    aot_vec_free(&all);
}

/* ---- memory that inputs share ------------------------------------------------------------------
 */

/* The bytes of its storage that an input covers; false if its layout is not known. */
static bool bytes_of(const aot_input_desc *d, int64_t *from, int64_t *to)
{
    aot_dtype t = d->dtype != NULL ? aot_dtype_of_torch(d->dtype, strlen(d->dtype)) : AOT_NO_DTYPE;
    json_t *size = d->size != NULL ? json_loads(d->size, 0, NULL) : NULL;
    json_t *stride = d->stride != NULL ? json_loads(d->stride, 0, NULL) : NULL;
    bool known = t != AOT_NO_DTYPE && json_is_array(size) && json_is_array(stride) &&
                 json_array_size(size) == json_array_size(stride);
    int64_t last = d->offset, item = known ? aot_dtype_get(t)->bytes : 0;
    for (size_t i = 0; known && i < json_array_size(size); i++) {
        json_t *n = json_array_get(size, i), *step = json_array_get(stride, i);
        known = json_is_integer(n) && json_is_integer(step) && json_integer_value(n) > 0;
        last += (json_integer_value(n) - 1) * json_integer_value(step);
    }
    *from = d->offset * item;
    *to = (last + 1) * item;
    json_decref(size);
    json_decref(stride);
    return known;
}

static bool shares(const aot_unit *u, size_t i)
{
    const aot_input_desc *d = &u->inputs.d[i];
    bool found = false;
    for (size_t k = 0; k < u->inputs.n && d->source != NULL && d->is_view && !found; k++) {
        const aot_input_desc *o = &u->inputs.d[k];
        found = k != i && o->source != NULL && o->describer == d->describer &&
                o->storage == d->storage && d->storage >= 0;
    }
    return found;
}

/* "L['x']: bytes 0 to 24 of 40 of its storage", for input i of those that share one; NULL: alone.
 */
static const char *range_text(const aot_unit *u, size_t i, char *buf, size_t size)
{
    const aot_input_desc *d = &u->inputs.d[i];
    int64_t from, to;
    if (!shares(u, i) || !bytes_of(d, &from, &to)) {
        return NULL;
    }
    snprintf(buf, size, "%s: bytes %" PRId64 " to %" PRId64 " of %" PRId64 " of storage %d",
             d->source, from, to, d->storage_bytes, d->storage);
    return buf;
}

/* ---- text -------------------------------------------------------------------------------------
 */

/* Autograd's graphs end in copy_ without a source: then that of the value that is written. */
static const char *source_of_write(char *buf, size_t size, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    aot_format_source(buf, size, g, id);
    for (unsigned at = 1;
         buf[0] == '\0' && n->n_args > at && aot_node_args(g, n)[at].kind == AOT_ARG_NODE; at = 0) {
        id = aot_node_args(g, n)[at].u.node;
        n = aot_node_at(g, id);
        aot_format_source(buf, size, g, id);
    }
    return buf;
}

static void print_writes(const aot_graph *g)
{
    char source[300];
    bool head = false;
    for (aot_node_id i = 0; g != NULL && i < g->nodes.n; i++) {
        aot_node_id input;
        if (writes_input(g, aot_node_at(g, i), &input)) {
            printf("%s  %s writes %s  %s\n", head ? "" : "\nWrites in the graph\n",
                   aot_node_name(g, i), aot_node_name(g, input),
                   source_of_write(source, sizeof source, g, i));
            head = true;
        }
    }
}

static void print_text(const told *x, const aot_unit *u, size_t unit, const char *line)
{
    printf("# unit %zu %s\n", unit, line);
    for (unsigned i = 0; i < x->m.n_inputs; i++) {
        const aot_mutated_input *k = &x->m.inputs[i];
        printf("%s  %s: %s\n    %s: %s\n    since %s\n", i == 0 ? "\nMutated inputs\n" : "",
               k->name, k->what,
               k->where == AOT_MUTATED_IN_GRAPH ? "in the graph" : "by the runtime wrapper", k->how,
               k->condition);
    }
    print_writes(x->graph);
    for (unsigned i = 0; i < x->m.n_shared; i++) {
        printf("%s  %s\n", i == 0 ? "\nInputs that share memory\n" : "", x->m.shared[i]);
    }
    for (size_t i = 0; i < u->inputs.n; i++) {
        char buf[400];
        const char *range = range_text(u, i, buf, sizeof buf);
        if (range != NULL) {
            printf("  %s\n", range);
        }
    }
    for (unsigned i = 0; i < x->m.n_outputs; i++) {
        const aot_aliased_output *o = &x->m.outputs[i];
        printf("%s  output %d shares memory with %s: %s [%s]\n",
               i == 0 ? "\nOutputs that share memory\n" : "", o->output, o->base, o->how, o->type);
    }
    for (size_t i = 0; i < x->found.n; i++) {
        char source[300];
        const aot_finding *f = &x->found.d[i];
        printf("%s  error: %s [%s]  %s\n", i == 0 ? "\nRead after the mutation\n" : "", f->message,
               f->rule->name, aot_format_source(source, sizeof source, x->p->cut, f->node));
    }
    putchar('\n');
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *inputs_json(const aot_mutations *m)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < m->n_inputs; i++) {
        const aot_mutated_input *k = &m->inputs[i];
        json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "input", k->input, "name", k->name,
                              "mutates", k->what, "where",
                              k->where == AOT_MUTATED_IN_GRAPH ? "graph" : "wrapper", "how", k->how,
                              "condition", k->condition);
        json_object_set_new(j, "output", k->output >= 0 ? json_integer(k->output) : json_null());
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *writes_json(const aot_graph *g)
{
    json_t *list = json_array();
    for (aot_node_id i = 0; g != NULL && i < g->nodes.n; i++) {
        aot_node_id input;
        if (writes_input(g, aot_node_at(g, i), &input)) {
            json_array_append_new(list, json_pack("{s:s, s:s}", "node", aot_node_name(g, i),
                                                  "input", aot_node_name(g, input)));
        }
    }
    return list;
}

static json_t *told_json(const told *x, const aot_unit *u, size_t unit, const char *label)
{
    json_t *outputs = json_array(), *shared = json_array(), *found = json_array();
    for (unsigned i = 0; i < x->m.n_outputs; i++) {
        const aot_aliased_output *o = &x->m.outputs[i];
        json_array_append_new(outputs, json_pack("{s:i, s:s, s:s, s:s}", "output", o->output,
                                                 "type", o->type, "base", o->base, "how", o->how));
    }
    for (unsigned i = 0; i < x->m.n_shared; i++) {
        json_array_append_new(shared, json_string(x->m.shared[i]));
    }
    for (size_t i = 0; i < u->inputs.n; i++) {
        char buf[400];
        const char *range = range_text(u, i, buf, sizeof buf);
        if (range != NULL) {
            json_array_append_new(shared, json_string(range));
        }
    }
    for (size_t i = 0; i < x->found.n; i++) {
        const aot_finding *f = &x->found.d[i];
        json_array_append_new(found,
                              json_pack("{s:s, s:s, s:s, s:s}", "rule", f->rule->name, "level",
                                        aot_finding_level_name(f->rule->level), "node",
                                        aot_node_name(x->p->cut, f->node), "message", f->message));
    }
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "unit", (int)unit, "label", label,
                     "mutated", inputs_json(&x->m), "writes", writes_json(x->graph),
                     "shared_inputs", shared, "aliased_outputs", outputs, "findings", found);
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool is_empty(const told *x)
{
    aot_node_id input;
    bool empty = x->m.n_inputs + x->m.n_outputs + x->m.n_shared == 0 && x->found.n == 0;
    for (aot_node_id i = 0; empty && x->graph != NULL && i < x->graph->nodes.n; i++) {
        empty = !writes_input(x->graph, aot_node_at(x->graph, i), &input);
    }
    return empty;
}

/* ---- exported programs ------------------------------------------------------------------------
 */

/* What a program returns first is written by its caller: BUFFER_MUTATION target='k'. */
static bool exported_write(char *target, size_t size, const aot_graph *g, uint32_t k,
                           const char **kind)
{
    static const char *const kinds[][2] = {{"BUFFER_MUTATION ", "buffer"},
                                           {"PARAMETER_MUTATION ", "parameter"},
                                           {"USER_INPUT_MUTATION ", "input"}};
    const char *desc = aot_text(g->ctx, g->out_descs.d[k]), *from = strchr(desc, '\'');
    for (size_t i = 0; from != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(desc, kinds[i][0], strlen(kinds[i][0])) == 0) {
            snprintf(target, size, "%.*s", (int)strcspn(from + 1, "'"), from + 1);
            *kind = kinds[i][1];
            return true;
        }
    }
    return false;
}

static const char *output_name(const aot_graph *g, uint32_t k)
{
    const aot_node *out = g->nodes.n > 0 ? aot_node_at(g, (aot_node_id)g->nodes.n - 1) : NULL;
    const aot_arg *all = out != NULL && out->n_args > 0 ? aot_node_args(g, out) : NULL;
    bool flat = all != NULL && (all->kind == AOT_ARG_TUPLE || all->kind == AOT_ARG_LIST);
    const aot_arg *item = flat && k < all->n ? &g->args.d[all->u.first + k] : NULL;
    return item != NULL && item->kind == AOT_ARG_NODE ? aot_node_name(g, item->u.node) : "?";
}

static void tell_exported(aot_telling *j, aot_model *m, size_t unit)
{
    char label[96], target[256];
    const char *kind;
    const aot_graph *g = NULL;
    aot_err err = {0};
    json_t *list = json_array();
    if (aot_model_graph(m, unit, AOT_STAGE_INFERENCE, &g, &err) != AOT_OK) {
        aot_err_in_file(&err, aot_model_unit(m, unit)->input);
        aot_cmd_fail(&err);
        j->n_failed++;
    }
    for (uint32_t k = 0; g != NULL && k < g->out_descs.n; k++) {
        if (!exported_write(target, sizeof target, g, k, &kind)) {
            continue;
        }
        if (j->list == NULL) {
            if (json_array_size(list) == 0) {
                printf("# unit %zu %s\n\nMutated by the caller, from what the program returns\n",
                       unit, aot_model_unit_line(m, unit));
            }
            printf("  %s %s: output %u, %s\n", kind, target, k, output_name(g, k));
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:s}", "kind", kind, "target",
                                              target, "where", "caller", "output", (int)k, "value",
                                              output_name(g, k)));
    }
    j->n_with += json_array_size(list) > 0;
    if (j->list == NULL && json_array_size(list) > 0) {
        printf("\n");
    } else if (j->list != NULL && json_array_size(list) > 0) {
        aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label);
        json_array_append_new(j->list, json_pack("{s:i, s:s, s:O}", "unit", (int)unit, "label",
                                                 label, "exported", list));
    }
    json_decref(list);
}

static void tell_unit(aot_telling *j, aot_model *m, size_t unit)
{
    char label[96];
    const aot_unit *u = aot_model_unit(m, unit);
    const aot_runtime *r = NULL;
    told x = {0};
    aot_err err = {0};
    aot_stage_status runtime = aot_model_stage(m, unit, AOT_STAGE_RUNTIME);
    if (runtime.origin == AOT_ORIGIN_MISSING) {
        if (aot_unit_source(u) == AOT_STAGE_EXPORT) {
            tell_exported(j, m, unit);
            return;
        }
        aot_cmd_note("aotscope: unit %zu %s: not looked at: %s\n", unit,
                     aot_unit_label(&u->key, label, sizeof label), runtime.reason);
        return;
    }
    if (aot_model_runtime(m, unit, &r, &err) != AOT_OK) {
        aot_err_in_file(&err, u->input);
        aot_cmd_fail(&err);
        j->n_failed++;
        return;
    }
    find_all(&x, m, unit, r);
    if (!is_empty(&x)) {
        j->n_with++;
        j->n_wrong += (unsigned)x.found.n;
        if (j->list != NULL) {
            aot_unit_label(&u->key, label, sizeof label);
            json_array_append_new(j->list, told_json(&x, u, unit, label));
        } else {
            print_text(&x, u, unit, aot_model_unit_line(m, unit));
        }
    }
    aot_vec_free(&x.found);
}

static void total(const aot_telling *t)
{
    printf("%zu unit%s, %zu of them with mutations or aliases: %u input%s read after the "
           "mutation\n",
           t->n_units, t->n_units == 1 ? "" : "s", t->n_with, t->n_wrong,
           t->n_wrong == 1 ? "" : "s");
}

static int run(const aot_args *a)
{
    static const aot_telling_ops ops = {tell_unit, total, "read_after_mutation"};
    return aot_cmd_tell_units(a, &ops);
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false, "One unit; else all that mutate or alias."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_mutation = {
    .name = "mutation",
    .synopsis = "INPUT... [--unit N|LABEL] [--set NAME=VALUE]... [--json]",
    .summary = "Mutated inputs, where they are written and why there; what shares memory",
    .doc =
        "Each input that a unit mutates: by copy_ in the graph or by the runtime wrapper after it, "
        "and the condition that decided which. Inputs that are one tensor or share memory, outputs "
        "that are views of inputs or intermediates, and how the caller gets them. An input that "
        "the "
        "backward reads, and that the forward has overwritten by then, gives wrong gradients: exit "
        "code 1. Of an exported program: what its caller writes, and from which output.",
    .examples = "aotscope mutation train.log\n"
                "aotscope mutation train.log --unit 0/1 --json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
