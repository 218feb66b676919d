/* The table of wrappers, names of inputs, the stage as text and JSON; and the wrappers that change
 * how the graphs are called. */
#include "runtime/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ON_AUTOGRAD (1u << AOT_PATH_AUTOGRAD)
#define ON_INFERENCE (1u << AOT_PATH_INFERENCE)
static const aot_wrapper_info wrappers[] = {
#define WRAPPER(id, name, paths, function, sentence) {name, sentence, paths, rt_##function},
#include "runtime/wrappers.def"
#undef WRAPPER
};

const aot_wrapper_info *aot_wrapper_get(aot_wrapper w)
{
    return &wrappers[w];
}

/* ---- words ----------------------------------------------------------------------------------- */

void rt_line(aot_wrapper_use *u, const char *fmt, ...)
{
    va_list ap;
    char buf[400];
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if ((u->n_does & (u->n_does - 1)) == 0) { // 0, or as many as there is room for
        const char **more = AOT_NEW_ARRAY(u->arena, const char *, 2 * (size_t)u->n_does + 1);
        if (u->n_does > 0) {
            memcpy(more, u->does, u->n_does * sizeof *more);
        }
        u->does = more;
    }
    u->does[u->n_does++] = aot_arena_strndup(u->arena, buf, strlen(buf));
}

bool rt_is_autograd(const aot_runtime *r)
{
    return r->calling->path == AOT_PATH_AUTOGRAD;
}

const char *rt_outer(const aot_runtime *r, int outer)
{
    const aot_calling *c = r->calling;
    return c->outer == NULL || outer >= c->n_outer
               ? aot_arena_printf(r->arena, "input %d", outer)
               : aot_arena_printf(r->arena, "input %d (%s)", outer, c->outer[outer].name);
}

const char *rt_input(const aot_runtime *r, int inner)
{
    const aot_calling *c = r->calling;
    aot_sb b = {0};
    int n = 0;
    for (int i = 0; c->outer != NULL && i < c->n_outer; i++) {
        if (c->outer[i].inner == inner && !c->outer[i].duplicate) {
            aot_sb_addf(&b, "%s%s", n++ > 0 ? " and " : "", rt_outer(r, i));
        }
    }
    const char *text = n == 0   ? aot_arena_printf(r->arena, "input %d", inner)
                       : n == 1 ? aot_arena_printf(r->arena, "%s", aot_sb_text(&b))
                                : aot_arena_printf(r->arena, "the base of %s", aot_sb_text(&b));
    aot_sb_free(&b);
    return text;
}

const char *rt_range(aot_arena *a, const char *word, int first, int n)
{
    return n == 1 ? aot_arena_printf(a, "%s %d", word, first)
                  : aot_arena_printf(a, "%ss %d to %d", word, first, first + n - 1);
}

/* ---- the stage ------------------------------------------------------------------------------- */

void aot_runtime_describe(aot_runtime *r)
{
    for (int w = 0; w < AOT_N_WRAPPERS; w++) {
        if ((wrappers[w].paths >> r->calling->path & 1) != 0) {
            aot_wrapper_use *u = &r->uses[r->n_uses++];
            *u = (aot_wrapper_use){.info = &wrappers[w], .arena = r->arena, .idle = ""};
            wrappers[w].describe(r, u);
        }
    }
}

static void print_metadata(aot_sb *out, const aot_fw_metadata *m)
{
    static const char *const heads[] = {"traced", "known once it is cut", "computed from these",
                                        "computed once it is cut"};
    static const aot_meta_class order[] = {AOT_META_TRACED, AOT_META_CUT, AOT_META_COMPUTED,
                                           AOT_META_AFTER_CUT};
    aot_sb_addz(out, "\nViewAndMutationMeta\n");
    for (size_t c = 0; c < sizeof order / sizeof *order; c++) {
        const char *head = heads[order[c]];
        for (int f = 0; f < AOT_N_META_FIELDS; f++) {
            const aot_meta_info *info = aot_meta_info_of((aot_meta_field)f);
            if (info->class == order[c] && aot_meta_is_known(m, (aot_meta_field)f)) {
                if (head != NULL) {
                    aot_sb_addf(out, "  %s\n", head);
                    head = NULL;
                }
                aot_sb_addf(out, "    %s = ", info->name);
                aot_meta_print(out, m, (aot_meta_field)f);
                aot_sb_addc(out, '\n');
            }
        }
    }
}

static void print_values(aot_sb *out, const aot_runtime *r)
{
    const aot_fw_metadata *m = &r->calling->meta;
    aot_sb_addz(out, "\ninputs of the graph\n");
    for (int i = 0; i < m->n_inputs; i++) {
        const aot_input_info *x = &m->inputs[i];
        const char *sep = ":";
        aot_sb_addf(out, "  %s", rt_input(r, i));
#define INPUT_FIELD(name, sentence)                                                                \
    if (x->name && strcmp(#name, "keep_input_mutations") != 0) {                                   \
        aot_sb_addf(out, "%s %s", sep, #name);                                                     \
        sep = ",";                                                                                 \
    }
#include "capture/input_fields.def"
#undef INPUT_FIELD
        aot_sb_addf(out, "%s %s\n", sep, aot_mutation_name(x->mutation));
    }
    aot_sb_addz(out, "\noutputs\n");
    for (int i = 0; i < m->n_outputs; i++) {
        const aot_output_info *o = &m->outputs[i];
        aot_sb_addf(out, "  output %d: %s", i, aot_output_type_name(o->type));
        if (o->base_idx >= 0) {
            aot_sb_addf(out, " (base_idx %d)", o->base_idx);
        }
        aot_sb_addf(out, ", %s%s\n", aot_output_type_sentence(o->type),
                    o->requires_grad ? ", requires grad" : "");
    }
}

void aot_runtime_print(aot_sb *out, const aot_runtime *r)
{
    aot_sb_addf(out, "path: %s (%s)\n\nwrappers in call order, outermost first\n",
                aot_capture_path_name(r->calling->path), r->calling->path_reason);
    if (r->n_uses == 0) {
        aot_sb_addz(out, "  none: an exported graph is called as it is\n");
    }
    for (unsigned i = 0; i < r->n_uses; i++) {
        const aot_wrapper_use *u = &r->uses[i];
        aot_sb_addf(out, "  %s", u->info->name);
        if (u->n_does == 0) {
            aot_sb_addf(out, ": does nothing here%s%s\n", u->idle[0] != 0 ? ", " : "", u->idle);
            continue;
        }
        aot_sb_addc(out, '\n');
        for (unsigned k = 0; k < u->n_does; k++) {
            aot_sb_addf(out, "    %s\n", u->does[k]);
        }
    }
    print_values(out, r);
    print_metadata(out, &r->calling->meta);
    aot_sb_addz(out, "\nAOTConfig\n");
    for (size_t i = 0; i < aot_config_field_count(); i++) {
        const aot_config_field *f = aot_config_field_at(i);
        aot_sb_addf(out, "  %s = %s", f->name, aot_config_field_value(i, &r->of, r->arena));
        aot_sb_addf(out, f->setting != NULL ? "  (--set %s)\n" : "  (no setting: %s)\n",
                    f->setting != NULL ? f->setting : f->sentence);
    }
}

json_t *aot_runtime_json(const aot_runtime *r)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < r->n_uses; i++) {
        const aot_wrapper_use *u = &r->uses[i];
        json_t *does = json_array();
        for (unsigned k = 0; k < u->n_does; k++) {
            json_array_append_new(does, json_string(u->does[k]));
        }
        json_t *j = json_pack("{s:s, s:s, s:b, s:o}", "name", u->info->name, "sentence",
                              u->info->sentence, "works", u->n_does > 0, "does", does);
        if (u->n_does == 0) {
            json_object_set_new(j, "idle", json_string(u->idle));
        }
        json_array_append_new(list, j);
    }
    json_t *config = json_object();
    for (size_t i = 0; i < aot_config_field_count(); i++) {
        json_object_set_new(config, aot_config_field_at(i)->name,
                            json_string(aot_config_field_value(i, &r->of, r->arena)));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "path", aot_capture_path_name(r->calling->path),
                     "reason", r->calling->path_reason, "wrappers", list, "metadata",
                     aot_meta_json(&r->calling->meta), "aot_config", config);
}

/* ---- wrappers that change the inputs --------------------------------------------------------- */

static const char unknown_inputs[] = "as far as is known: the Dynamo graph is not in this input";

void rt_dedupe(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_calling *c = r->calling;
    u->idle = c->outer == NULL
                  ? unknown_inputs
                  : "the graph is given no tensor twice (Dynamo makes one input of duplicates)";
    for (int i = 0; i < c->n_outer; i++) {
        if (c->outer[i].same_as < 0) {
            continue;
        }
        u->idle =
            "the tensors that are given twice are not mutated: the graph takes each as its own";
        if (c->outer[i].duplicate) {
            rt_line(u, "drops %s: it is the same tensor as %s, and one of them is mutated",
                    rt_outer(r, i), rt_outer(r, c->outer[i].same_as));
        }
    }
    if (u->n_does > 0) {
        rt_line(u, "raises an error where a later call does not give the same tensors twice");
    }
}

void rt_synthetic_base(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_calling *c = r->calling;
    u->idle = c->outer == NULL ? unknown_inputs
                               : "no inputs that overlap in memory with one of them mutated";
    for (int b = 0; b < c->meta.n_inputs && c->outer != NULL; b++) {
        bool is_base = false;
        for (int i = 0; i < c->n_outer; i++) {
            is_base |= c->outer[i].is_view && c->outer[i].inner == b;
        }
        if (is_base) {
            rt_line(
                u, "passes %s as one input, input %d of the graph, which makes them again as views",
                rt_input(r, b), b);
        }
    }
}

void rt_debug_assert(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    u->idle = "torch._functorch.config.debug_assert is False";
    if (!r->of.config->debug_assert) {
        return;
    }
    u->idle = "every input requires grad";
    for (int i = 0; i < m->n_inputs; i++) {
        if (!m->inputs[i].requires_grad) {
            rt_line(u, "raises an error if %s requires grad", rt_input(r, i));
        }
    }
}

/* ---- wrappers around the compiled forward ---------------------------------------------------- */

void rt_fakified_out(const aot_runtime *r, aot_wrapper_use *u)
{
    (void)r;
    u->idle = "only DDPOptimizer asks for fake outputs";
}

void rt_functionalized_rng(const aot_runtime *r, aot_wrapper_use *u)
{
    u->idle = "functionalize_rng_ops is False";
    if (r->functionalize_rng) {
        rt_line(u, "passes the generator's seed and offset after the other inputs");
        rt_line(u, "moves the generator to the offset that output %d gives",
                r->calling->meta.n_forward_returns);
    }
}

static void subclasses_of(const aot_runtime *r, aot_wrapper_use *u)
{
    const aot_fw_metadata *m = &r->calling->meta;
    for (int i = 0; i < m->subclass_in.n; i++) {
        const aot_value_place *x = &m->subclass_in.of[i];
        if (x->n > 0) {
            rt_line(u, "takes %s apart into %s of the graph", rt_input(r, i),
                    rt_range(r->arena, "input", x->start, x->n));
        }
    }
    for (int i = 0; i < m->subclass_out.n; i++) {
        const aot_value_place *x = &m->subclass_out.of[i];
        int out = i - m->n_mutated_returned;
        if (x->n > 0 && out < 0) {
            rt_line(u, "puts %s of the graph together into the new value of a mutated input",
                    rt_range(r->arena, "output", x->start, x->n));
        } else if (x->n > 0) {
            rt_line(u, "puts %s of the graph together into output %d",
                    rt_range(r->arena, "output", x->start, x->n), out);
        }
    }
    for (int i = 0; i < m->subclass_tangent.n; i++) {
        const aot_value_place *x = &m->subclass_tangent.of[i];
        if (x->n > 0) {
            rt_line(u, "in the backward, takes tangent %d apart into %s", i,
                    rt_range(r->arena, "tangent", x->start, x->n));
        }
    }
}

void rt_subclass(const aot_runtime *r, aot_wrapper_use *u)
{
    u->idle = "no input and no output is a tensor subclass";
    subclasses_of(r, u);
}

void rt_effect_tokens(const aot_runtime *r, aot_wrapper_use *u)
{
    int n = r->calling->meta.n_tokens;
    u->idle = "no operator has side effects";
    if (n > 0) {
        rt_line(u, "passes %s (None) before the inputs", n == 1 ? "a token" : "tokens");
        rt_line(u, "drops %s, which %s", rt_range(r->arena, "output", 0, n),
                n == 1 ? "is that token" : "are these tokens");
    }
}
