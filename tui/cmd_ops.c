/* aotscope ops: the operator table as a person asks it. Without arguments the families and what is
 * missing in each; with a name one operator in full; with a pattern the operators that match. Asks
 * ops/optab.h and ops/schema.h, and exec/run_unit.h for what wrappers do not do; docs/tables.md is
 * `aotscope ops --markdown`. */
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "exec/run_unit.h"
#include "ops/optab.h"
#include "ops/schema.h"
#include "tui/cmd.h"
#include "viewers/table.h"

typedef AOT_VEC(aot_op_id) op_vec;

static void add_word(void *arg, const char *word)
{
    aot_sb *b = arg;
    if (b->n > 0) {
        aot_sb_addz(b, " ");
    }
    aot_sb_addz(b, word);
}

static void print_table(const aot_table *t, unsigned flags)
{
    aot_sb out = {0};
    aot_table_print(&out, t, flags, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
}

/* ---- choosing rows -------------------------------------------------------------------------- */

static bool matches(const char *pattern, const aot_op_info *o)
{
    if (strpbrk(pattern, "*?[") != NULL) {
        return fnmatch(pattern, o->name, 0) == 0 || fnmatch(pattern, o->packet, 0) == 0;
    }
    const char *dot = strchr(o->packet, '.');
    return strcmp(pattern, o->packet) == 0 || (dot && strcmp(pattern, dot + 1) == 0);
}

static void collect(op_vec *v, const char *pattern, bool (*fits)(const char *, const aot_op_info *))
{
    for (size_t i = 1; i < aot_op_count(); i++) {
        if (!pattern || fits(pattern, aot_op((aot_op_id)i))) {
            aot_vec_push(v, (aot_op_id)i);
        }
    }
}

static bool holds(const char *part, const aot_op_info *o)
{
    return strstr(o->name, part) != NULL;
}

/* Rows for what was typed: the row itself, the packet's rows, a pattern's, else those with the word
 * in their names. */
static aot_status choose(op_vec *v, const char *typed, aot_err *err)
{
    if (typed && aot_starts_with(typed, "torch.ops.")) {
        typed += sizeof "torch.ops." - 1;
    }
    aot_op_id id = typed ? aot_op_find(typed, strlen(typed)) : AOT_OP_UNKNOWN;
    if (id != AOT_OP_UNKNOWN) {
        aot_vec_push(v, id);
        return AOT_OK;
    }
    collect(v, typed, matches);
    if (v->n == 0) {
        collect(v, typed, holds);
    }
    if (v->n == 0) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "no operator matches '%s'; patterns are as in a shell: 'aten.*pool*'",
                        typed);
    }
    return AOT_OK;
}

/* ---- the families --------------------------------------------------------------------------- */

static size_t count_gaps(aot_op_id first, aot_op_id end, aot_rule r, aot_gap g)
{
    size_t n = 0;
    for (aot_op_id i = first; i < end; i++) {
        n += aot_op_gap(i, r) == g;
    }
    return n;
}

static void add_family_row(aot_table *t, const char *name, const char *title, aot_op_id first,
                           aot_op_id end)
{
    size_t used = 0;
    for (aot_op_id i = first; i < end; i++) {
        used += aot_op_models(i) > 0;
    }
    aot_table_row(t);
    aot_table_cell(t, name);
    aot_table_cell(t, title);
    aot_table_count(t, end - first);
    aot_table_count(t, (int64_t)used);
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        aot_table_count(t, (int64_t)count_gaps(first, end, r, AOT_GAP_written));
        aot_table_count(t, (int64_t)count_gaps(first, end, r, AOT_GAP_todo));
    }
}

static void print_families(unsigned flags)
{
    aot_table *t = aot_table_new();
    aot_sb title = {0};
    aot_table_column(t, "family", AOT_LEFT, 0);
    aot_table_column(t, "what", AOT_LEFT, 0);
    aot_table_column(t, "rows", AOT_RIGHT, 0);
    aot_table_column(t, "in models", AOT_RIGHT, 0);
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        aot_table_column(t, aot_rule_name(r), AOT_RIGHT, 0);
        aot_table_column(t, "todo", AOT_RIGHT, 0);
    }
    for (size_t f = 0; f < aot_family_count(); f++) {
        aot_op_id first, end;
        aot_family_rows(f, &first, &end);
        add_family_row(t, aot_family_name(f), aot_family_title(f), first, end);
    }
    add_family_row(t, "all", "", 1, (aot_op_id)aot_op_count());
    print_table(t, flags);
    aot_table_free(t);
    aot_sb_free(&title);
}

/* ---- one operator --------------------------------------------------------------------------- */

static void print_words(const char *label, const aot_sb *words)
{
    printf("  %-11s %s\n", label, words->n > 0 ? aot_sb_text(words) : "-");
}

static void print_args(const char *schema)
{
    aot_arena *a = aot_arena_new();
    aot_schema s;
    if (aot_schema_parse(&s, a, schema, NULL) == AOT_OK) {
        for (uint32_t i = 0; i < s.n_args + s.n_returns; i++) {
            bool is_arg = i < s.n_args;
            const aot_schema_arg *x = is_arg ? &s.args[i] : &s.returns[i - s.n_args];
            printf("  %-11s %-20.*s %.*s",
                   i == 0 && is_arg ? "arguments"
                   : i == s.n_args  ? "returns"
                                    : "",
                   (int)x->name.n, x->name.s, (int)x->type.n, x->type.s);
            if (x->def.n > 0) {
                printf(" = %.*s", (int)x->def.n, x->def.s);
            }
            printf("%s%s%s\n", is_arg && x->kwarg_only ? ", by name only" : "",
                   x->is_write ? ", written" : "",
                   !is_arg && x->alias.n > 0 && !x->is_write ? ", an alias" : "");
        }
    }
    aot_arena_free(a);
}

static void print_rules(aot_op_id id)
{
    aot_op_id f = aot_op_functional(id);
    if (f != AOT_OP_UNKNOWN) {
        printf("  %-11s %s has the rules\n", "form of", aot_op(f)->name);
        return;
    }
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        aot_gap g = aot_op_gap(id, r);
        if (g == AOT_GAP_written) {
            printf("  %-11s %s\n", aot_rule_name(r), aot_op_rule(id, r));
        } else {
            printf("  %-11s none: %s. %s\n", aot_rule_name(r), aot_gap_name(g),
                   aot_gap_sentence(g));
        }
    }
}

static void print_op(aot_op_id id)
{
    const aot_op_info *o = aot_op(id);
    aot_sb words = {0};
    printf("%s\n", o->name);
    if (o->doc) {
        printf("  %s\n", o->doc);
    }
    if (o->schema) {
        printf("  %-11s %s\n", "schema", o->schema);
        print_args(o->schema);
    }
    printf("  %-11s %s (%s)\n", "family", aot_family_name(aot_op_family(id)),
           aot_family_title(aot_op_family(id)));
    aot_op_each_tag(o->tags, add_word, &words);
    print_words("tags", &words);
    aot_sb_clear(&words);
    aot_op_each_part(o->part, add_word, &words);
    print_words("partitioner", &words);
    aot_sb_clear(&words);
    aot_op_each_flag(o->flags, add_word, &words);
    print_words("flags", &words);
    printf("  %-11s %u\n", "in models", aot_op_models(id));
    print_rules(id);
    aot_sb_free(&words);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void print_list(const op_vec *v, unsigned flags)
{
    aot_table *t = aot_table_new();
    aot_sb words = {0};
    aot_table_column(t, "operator", AOT_LEFT, 0);
    aot_table_column(t, "in models", AOT_RIGHT, 0);
    aot_table_column(t, "partitioner", AOT_LEFT, 0);
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        aot_table_column(t, aot_rule_name(r), AOT_LEFT, 0);
    }
    for (size_t i = 0; i < v->n; i++) {
        aot_op_id id = v->d[i];
        aot_sb_clear(&words);
        aot_op_each_part(aot_op(id)->part, add_word, &words);
        aot_table_row(t);
        aot_table_cell(t, aot_op(id)->name);
        aot_table_cellf(t, "%u", aot_op_models(id));
        aot_table_cell(t, aot_sb_text(&words));
        for (aot_rule r = 0; r < AOT_N_RULES; r++) {
            aot_table_cell(t, aot_op_rule(id, r) ? aot_op_rule(id, r)
                                                 : aot_gap_name(aot_op_gap(id, r)));
        }
    }
    print_table(t, flags);
    aot_table_free(t);
    aot_sb_free(&words);
}

/* ---- gaps ----------------------------------------------------------------------------------- */

static bool has_gap(aot_op_id id, aot_gap g)
{
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        if (aot_op_gap(id, r) == g) {
            return true;
        }
    }
    return false;
}

static int by_models(const void *a, const void *b)
{
    aot_op_id x = *(const aot_op_id *)a, y = *(const aot_op_id *)b;
    unsigned mx = aot_op_models(x), my = aot_op_models(y);
    return mx != my ? (mx < my) - (mx > my) : (x > y) - (x < y);
}

static void print_reasons(const op_vec *v, unsigned flags)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "rule", AOT_LEFT, 0);
    for (aot_gap g = AOT_GAP_written; g < AOT_N_GAPS; g++) {
        aot_table_column(t, aot_gap_name(g), AOT_RIGHT, 0);
    }
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        aot_table_row(t);
        aot_table_cell(t, aot_rule_name(r));
        for (aot_gap g = AOT_GAP_written; g < AOT_N_GAPS; g++) {
            int64_t n = 0;
            for (size_t i = 0; i < v->n; i++) {
                n += aot_op_gap(v->d[i], r) == g;
            }
            aot_table_count(t, n);
        }
    }
    print_table(t, flags);
    aot_table_free(t);
}

static void print_gaps(const op_vec *v, aot_gap g, unsigned flags)
{
    op_vec missing = {0};
    aot_table *t = aot_table_new();
    aot_sb words = {0};
    print_reasons(v, flags);
    for (size_t i = 0; i < v->n; i++) {
        if (has_gap(v->d[i], g)) {
            aot_vec_push(&missing, v->d[i]);
        }
    }
    if (missing.n > 0) {
        qsort(missing.d, missing.n, sizeof *missing.d, by_models);
    }
    aot_table_column(t, aot_gap_name(g), AOT_LEFT, 0);
    aot_table_column(t, "in models", AOT_RIGHT, 0);
    aot_table_column(t, "rules", AOT_LEFT, 0);
    for (size_t i = 0; i < missing.n; i++) {
        aot_sb_clear(&words);
        for (aot_rule r = 0; r < AOT_N_RULES; r++) {
            if (aot_op_gap(missing.d[i], r) == g) {
                add_word(&words, aot_rule_name(r));
            }
        }
        aot_table_row(t);
        aot_table_cell(t, aot_op(missing.d[i])->name);
        aot_table_cellf(t, "%u", aot_op_models(missing.d[i]));
        aot_table_cell(t, aot_sb_text(&words));
    }
    putchar('\n');
    print_table(t, flags);
    aot_table_free(t);
    aot_sb_free(&words);
    aot_vec_free(&missing);
}

/* What runs units does not run. */
static void print_wrapper_gaps(unsigned flags)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "wrapper", AOT_LEFT, 0);
    aot_table_column(t, "what exec does not do", AOT_LEFT, 0);
    aot_table_column(t, "reason", AOT_LEFT, 0);
    for (unsigned g = 0; g < AOT_N_WRAPPER_GAPS; g++) {
        const aot_wrapper_gap_info *x = aot_wrapper_gap_get((aot_wrapper_gap)g);
        aot_table_row(t);
        aot_table_cell(t, aot_wrapper_get(x->wrapper)->name);
        aot_table_cell(t, x->what);
        aot_table_cell(t, x->reason);
    }
    putchar('\n');
    print_table(t, flags);
    aot_table_free(t);
}

/* ---- Markdown and JSON ---------------------------------------------------------------------- */

static void print_markdown(void)
{
    op_vec all = {0};
    collect(&all, NULL, NULL);
    puts("# Operators\n\n"
         "Made by `aotscope ops --markdown`. The rows stand in `core/ops/*.def`; `aotscope ops "
         "NAME` shows "
         "one.\nA column *todo* counts the rows whose rule of the kind before it is still to be "
         "written.\n");
    print_families(AOT_TABLE_MARKDOWN);
    puts("\n## Rules and the reasons for their absence\n");
    print_reasons(&all, AOT_TABLE_MARKDOWN);
    putchar('\n');
    for (aot_gap g = AOT_GAP_written; g < AOT_N_GAPS; g++) {
        printf("- %s: %s\n", aot_gap_name(g), aot_gap_sentence(g));
    }
    aot_vec_free(&all);
}

static void add_json_word(void *arg, const char *word)
{
    json_array_append_new(arg, json_string(word));
}

static json_t *text_or_null(const char *s)
{
    return s ? json_string(s) : json_null();
}

static json_t *op_json(aot_op_id id)
{
    const aot_op_info *o = aot_op(id);
    aot_op_id f = aot_op_functional(id);
    json_t *tags = json_array(), *part = json_array(), *flags = json_array(),
           *rules = json_object();
    aot_op_each_tag(o->tags, add_json_word, tags);
    aot_op_each_part(o->part, add_json_word, part);
    aot_op_each_flag(o->flags, add_json_word, flags);
    for (aot_rule r = 0; r < AOT_N_RULES; r++) {
        json_object_set_new(rules, aot_rule_name(r),
                            json_pack("{s:o, s:s}", "function", text_or_null(aot_op_rule(id, r)),
                                      "state", aot_gap_name(aot_op_gap(id, r))));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:o}", "name", o->name,
                     "packet", o->packet, "schema", text_or_null(o->schema), "doc",
                     text_or_null(o->doc), "family", aot_family_name(aot_op_family(id)), "tags",
                     tags, "partitioner", part, "flags", flags, "functional",
                     text_or_null(f == AOT_OP_UNKNOWN ? NULL : aot_op(f)->name), "models",
                     (int)aot_op_models(id), "rules", rules);
}

static void print_json(const op_vec *v)
{
    json_t *ops = json_array();
    for (size_t i = 0; i < v->n; i++) {
        json_array_append_new(ops, op_json(v->d[i]));
    }
    json_t *all = json_pack("{s:s, s:o}", "format", "aotscope/1", "operators", ops);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* ---- the command ---------------------------------------------------------------------------- */

static aot_status reason_of(const char *name, aot_gap *g, aot_err *err)
{
    aot_sb known = {0};
    for (aot_gap i = AOT_GAP_written; i < AOT_N_GAPS; i++) {
        if (strcmp(name, aot_gap_name(i)) == 0) {
            *g = i;
            aot_sb_free(&known);
            return AOT_OK;
        }
        add_word(&known, aot_gap_name(i));
    }
    aot_status st =
        AOT_FAIL(err, AOT_E_USAGE, "--reason '%s' is none of: %s", name, aot_sb_text(&known));
    aot_sb_free(&known);
    return st;
}

static aot_status show(const aot_args *a, op_vec *v, aot_err *err)
{
    const char *typed = a->n_inputs > 0 ? a->inputs[0] : NULL;
    AOT_TRY(choose(v, typed, err));
    if (aot_args_has(a, "json")) {
        print_json(v);
    } else if (aot_args_has(a, "gaps") || aot_args_has(a, "reason")) {
        aot_gap g = AOT_GAP_todo;
        if (aot_args_has(a, "reason")) {
            AOT_TRY(reason_of(aot_args_get(a, "reason"), &g, err));
        }
        unsigned flags = aot_args_has(a, "markdown") ? AOT_TABLE_MARKDOWN : 0;
        print_gaps(v, g, flags);
        if (typed == NULL && g == AOT_GAP_todo) {
            print_wrapper_gaps(flags);
        }
    } else if (aot_args_has(a, "markdown") && !typed) {
        print_markdown();
    } else if (!typed) {
        print_families(0);
    } else if (v->n == 1) {
        print_op(v->d[0]);
    } else {
        print_list(v, aot_args_has(a, "markdown") ? AOT_TABLE_MARKDOWN : 0);
    }
    return AOT_OK;
}

static int run(const aot_args *a)
{
    op_vec v = {0};
    aot_err err = {0};
    aot_status st = show(a, &v, &err);
    aot_vec_free(&v);
    return st == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&err);
}

static const aot_option options[] = {
    {"gaps", 0, NULL, false,
     "Count the rules by state, then list the operators that miss one, the most used first."},
    {"reason", 0, "REASON", false,
     "With --gaps: list another state than todo (primitive, composite, written, ...)."},
    {"markdown", 0, NULL, false, "Print Markdown; without a name, the summary in docs/tables.md."},
    {"json", 0, NULL, false, "Print JSON."},
    {0},
};

const aot_cmd cmd_ops = {
    .name = "ops",
    .synopsis = "[NAME|PATTERN] [--gaps] [--reason REASON] [--markdown] [--json]",
    .summary = "The operator table: schemas, classes, rules and what is missing",
    .doc = "Without a name, counts the operators by family. With the name of one (aten.mul.Tensor, "
           "with or "
           "without torch.ops.) shows its schema, tags, partitioner classes and rules; with a "
           "packet (aten.mul, "
           "mul), a shell pattern or a part of a name lists those that match.\n\n"
           "A rule that is absent has a reason: todo is missing, the others need none.",
    .examples = "aotscope ops aten.mul.Tensor\n"
                "aotscope ops 'aten.*pool*'\n"
                "aotscope ops --gaps\n",
    .options = options,
    .min_inputs = 0,
    .max_inputs = 1,
    .run = run,
};
