/* Opening inputs for commands, finding units by number or label, JSON out. */
#include "tui/open_model.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "ir/text.h"
#include "session/check.h"
#include "session/hints.h"
#include "session/redact.h"
#include "session/session.h"

/* Options that are settings of their own name. */
static const char *const own_settings[] = {"backend", "path",  "decompose", "keep",
                                           "opaque",  "times", "hint"};
enum { N_OWN = sizeof own_settings / sizeof *own_settings };

/* NAME=VALUE of an option; several values become one list. Nothing if it is not given. */
static void add_own(aot_sb *text, const aot_args *a, const char *name)
{
    const char *value;
    for (size_t i = 0; (value = aot_args_nth(a, name, i)) != NULL; i++) {
        aot_sb_addf(text, i == 0 ? "%s=%s" : ",%.0s%s", name, value[0] != '\0' ? value : "True");
    }
}

const char **aot_cmd_settings(const aot_args *a, size_t *n)
{
    aot_sb text[N_OWN] = {{0}};
    size_t n_bytes = 0;
    for (int i = 0; i < N_OWN; i++) {
        add_own(&text[i], a, own_settings[i]);
        n_bytes += text[i].n + 1;
    }
    const char **settings = aot_xcalloc(1, (a->n_opts + N_OWN + 1) * sizeof *settings + n_bytes);
    char *at = (char *)(settings + a->n_opts + N_OWN + 1);
    *n = 0;
    for (const char *s; (s = aot_args_nth(a, "set", *n)) != NULL; ++*n) {
        settings[*n] = s;
    }
    for (int i = 0; i < N_OWN; i++) {
        if (text[i].n != 0) {
            settings[(*n)++] = memcpy(at, text[i].d, text[i].n + 1);
            at += text[i].n + 1;
        }
        aot_sb_free(&text[i]);
    }
    return settings;
}

aot_status aot_cmd_check_settings(const aot_args *a, aot_err *err)
{
    size_t n;
    const char **settings = aot_cmd_settings(a, &n);
    aot_status s = aot_settings_check(settings, n, err);
    free(settings);
    return s;
}

/* The text of --hint; NULL: none. */
static const char *hint_of(const char *const *settings, size_t n)
{
    const char *hint = NULL;
    for (size_t i = 0; i < n; i++) {
        hint = strncmp(settings[i], "hint=", 5) == 0 ? settings[i] + 5 : hint;
    }
    return hint;
}

static void warn_of_hint(const char *where, const char *name, size_t n, const aot_sb *has)
{
    aot_cmd_note("aotscope: --hint %.*s: %s has no such symbol%s%.400s\n", (int)(n < 60 ? n : 60),
                 name, where, has->n > 0 ? "; there are: " : ", nor any other",
                 has->n > 0 ? has->d : "");
}

/* Of a unit that is read as it passes: one without symbols says nothing of another. */
static void warn_of_unit_hints(const aot_unit *u, const char *hint)
{
    char label[96];
    size_t n;
    aot_sb has = {0};
    aot_hints_list(&has, u);
    for (size_t i = 0; has.n > 0 && hint != NULL && aot_hints_name(hint, i, &n) != NULL; i++) {
        const char *name = aot_hints_name(hint, i, &n);
        if (!aot_hints_knows(u, name, n)) {
            warn_of_hint(aot_unit_label(&u->key, label, sizeof label), name, n, &has);
        }
    }
    aot_sb_free(&has);
}

/* A symbol that is in no unit of all. */
static void warn_of_hints(const aot_model *m, const char *hint)
{
    const char *name;
    size_t n;
    for (size_t i = 0; hint != NULL && (name = aot_hints_name(hint, i, &n)) != NULL; i++) {
        bool known = false;
        for (size_t k = 0; k < aot_model_n_units(m); k++) {
            known = known || aot_hints_knows(aot_model_unit(m, k), name, n);
        }
        if (!known) {
            aot_sb has = {0};
            for (size_t k = 0; k < aot_model_n_units(m) && has.n < 400; k++) {
                aot_hints_list(&has, aot_model_unit(m, k));
            }
            warn_of_hint("the input", name, n, &has);
            aot_sb_free(&has);
        }
    }
}

aot_status aot_cmd_unit_config(aot_config *out, const aot_args *a, const aot_unit *u, aot_err *err)
{
    size_t n;
    const char **settings = aot_cmd_settings(a, &n);
    aot_status s = aot_unit_config(out, u, settings, n, err);
    if (s == AOT_OK) {
        warn_of_unit_hints(u, hint_of(settings, n));
    }
    free(settings);
    return s;
}

/* What a session that was not finished holds must not pass for all there was, nor a policy as
 * followed where a line of it matches nothing. */
static void warn_of_notes(const aot_model *m)
{
    for (size_t i = 0; i < aot_model_n_notes(m); i++) {
        const aot_import_note *n = aot_model_note(m, i);
        if (n->kind != NULL && strcmp(n->kind, "incomplete") == 0) {
            aot_cmd_note("aotscope: %s: %s\n", n->file, n->text);
        } else if (n->kind != NULL && strcmp(n->kind, "policy") == 0) {
            aot_cmd_note("aotscope: %s:%" PRIu64 ": %s\n", n->file, (uint64_t)n->line, n->text);
        }
    }
}

static aot_status open_inputs(aot_model **out, const aot_args *a, const char *const *inputs,
                              size_t n, bool as_recorded, aot_err *err)
{
    aot_model_options opt = {.progress = aot_cmd_progress, .as_recorded = as_recorded,
                             .edits = a->edits, .redact = aot_args_has(a, "redact")};
    const char **settings = aot_cmd_settings(a, &opt.n_settings);
    opt.settings = settings;
    aot_status st = aot_model_open(out, inputs, n, &opt, err);
    aot_cmd_progress_end();
    if (st == AOT_OK) {
        warn_of_notes(*out);
        warn_of_hints(*out, hint_of(settings, opt.n_settings));
    }
    free(settings);
    return st;
}

aot_status aot_cmd_open(aot_model **out, const aot_args *a, aot_err *err)
{
    return open_inputs(out, a, a->inputs, a->n_inputs, false, err);
}

aot_status aot_cmd_open_one(aot_model **out, const aot_args *a, const char *input, aot_err *err)
{
    return open_inputs(out, a, &input, 1, false, err);
}

aot_status aot_cmd_open_recorded(aot_model **out, const aot_args *a, const char *input,
                                 aot_err *err)
{
    return open_inputs(out, a, &input, 1, true, err);
}

const char *aot_cmd_shown_input(const aot_args *a, size_t i, char *buf, size_t size)
{
    if (!aot_args_has(a, "redact")) {
        return a->inputs[i];
    }
    snprintf(buf, size, "input_%zu", i + 1);
    return buf;
}

typedef struct visitor {
    void (*visit)(void *arg, const aot_unit *u);
    void *arg;
    const aot_args *a;
    aot_redactor *redactor; /* NULL: nothing is redacted */
    aot_unit *held;         /* the last one: whether it was given up the next one tells */
} visitor;

static aot_status visit_held(visitor *v, aot_err *err)
{
    aot_unit *u = v->held;
    aot_config config;
    size_t n;
    if (u == NULL) {
        return AOT_OK;
    }
    v->held = NULL;
    u->edits = v->a->edits;
    if (v->redactor != NULL) {
        aot_redact_unit(v->redactor, u);
    }
    const char **settings = aot_cmd_settings(v->a, &n);
    aot_status st = aot_unit_prepare(&config, u, settings, n, err);
    free(settings);
    if (st == AOT_OK) {
        v->visit(v->arg, u);
    }
    aot_unit_free(u);
    return st;
}

static aot_status visit_unit(void *arg, aot_unit *u, aot_err *err)
{
    visitor *v = arg;
    if (v->held != NULL) {
        v->held->given_up = aot_unit_was_given_up(v->held, u);
    }
    aot_status st = visit_held(v, err);
    v->held = u;
    return st;
}

aot_status aot_cmd_each_unit(const aot_args *a, const char *input,
                             void (*visit)(void *arg, const aot_unit *u), void *arg, aot_err *err)
{
    /* whether a line of a policy matches in any unit is known when all are there */
    bool all_first = a->edits != NULL && aot_edits_tag_any(a->edits);
    if (!all_first && (strcmp(input, "-") == 0 || !aot_session_sniff(input))) {
        visitor v = {visit, arg, a, aot_args_has(a, "redact") ? aot_redactor_new() : NULL, NULL};
        aot_import_sink sink = {.arg = &v, .on_unit = visit_unit};
        aot_status st = aot_import(input, &sink, NULL, err);
        if (st == AOT_OK) {
            st = visit_held(&v, err);
        }
        aot_unit_free(v.held);
        aot_redactor_free(v.redactor);
        return st;
    }
    aot_model *m = NULL;
    AOT_TRY(aot_cmd_open_one(&m, a, input, err));
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        (void)aot_model_given_up(m, i);
        visit(arg, aot_model_unit(m, i));
    }
    aot_model_free(m);
    return AOT_OK;
}

bool aot_cmd_unit_is(const aot_unit *u, size_t unit, const char *only)
{
    char label[96], number[32];
    snprintf(number, sizeof number, "%zu", unit);
    aot_unit_label(&u->key, label, sizeof label);
    size_t n = only != NULL ? strlen(only) : 0;
    return only == NULL || strcmp(only, number) == 0 || strcmp(only, label) == 0 ||
           (label[0] == '[' && n != 0 && strncmp(label + 1, only, n) == 0 &&
            strcmp(label + 1 + n, "]") == 0);
}

aot_status aot_cmd_no_joint(const char *input, const char *why, aot_err *err)
{
    why = why != NULL ? why : aot_stage_get(AOT_STAGE_JOINT)->how_to_get;
    aot_status st = AOT_FAIL(err, AOT_E_PIPELINE, "no joint graph in it: %s", why);
    aot_err_in_file(err, input);
    return st;
}

void aot_cmd_warn_passes(const aot_unit *u, size_t unit, const aot_graph *cut, const char *backend)
{
    aot_arena *a = aot_arena_new();
    const char *why = aot_check_passes_between(u, cut, backend, a);
    char label[96];
    if (why != NULL) {
        aot_cmd_note("aotscope: unit %zu %s: not the graphs that ran, only what the recorded joint "
                     "graph gives: %s%s\n",
                     unit, aot_unit_label(&u->key, label, sizeof label), why,
                     strcmp(backend, "inductor_joint") != 0
                         ? "; --set backend=inductor_joint runs them"
                         : "");
    }
    aot_arena_free(a);
}

static void say_assumed(const aot_unit *u, size_t unit, const char *text)
{
    char label[96];
    if (text != NULL) {
        aot_cmd_note("aotscope: unit %zu %s: %s\n", unit,
                     aot_unit_label(&u->key, label, sizeof label), text);
    }
}

void aot_cmd_warn_assumed(const aot_unit *u, size_t unit, const aot_ctx *c)
{
    aot_arena *a = aot_arena_new();
    say_assumed(u, unit, aot_assumed_text(c, a));
    aot_arena_free(a);
}

void aot_cmd_warn_assumed_of(aot_model *m, size_t unit)
{
    say_assumed(aot_model_unit(m, unit), unit, aot_model_assumed(m, unit));
}

void aot_cmd_warn_assumed_in(const aot_unit *u, size_t unit, const aot_record *r)
{
    if (r->text == NULL || memmem(r->text, r->len, "Sym(", 4) == NULL) {
        return; // no symbol is an input
    }
    aot_ctx *c = aot_unit_new_ctx(u);
    const aot_graph *g = NULL;
    if (aot_record_parse(&g, c, u, r, NULL) == AOT_OK) {
        aot_cmd_warn_assumed(u, unit, c);
    }
    aot_ctx_free(c);
}

static bool is_number(const char *s)
{
    return s[0] != 0 && strspn(s, "0123456789") == strlen(s);
}

/* The label, its part in brackets, or that part and what follows: "0/1 rank 1" is "[0/1] rank 1". A
 * prefix ends where a part of the number does: "!0" of "[!0/1/0]". */
typedef enum label_match { WHOLE, NUMBER, PREFIX, N_LABEL_MATCHES } label_match;

static bool label_matches(const char *label, const char *which, label_match how)
{
    const char *w = which[0] == '[' ? which + 1 : which, *l = label[0] == '[' ? label + 1 : label;
    for (;;) {
        w += *w == ']';
        if (*w == 0) {
            break;
        }
        l += *l == ']';
        if (*w++ != *l++) {
            return false;
        }
    }
    bool whole = *l == 0 || strcmp(l, "]") == 0;
    return whole || (how >= NUMBER && *l == ']') || (how == PREFIX && (*l == '/' || *l == '_'));
}

static aot_status several(const aot_unit_list *all, const aot_model *m, const char *which,
                          aot_err *err)
{
    aot_sb found = {0};
    char label[96];
    for (size_t i = 0; i < all->n; i++) {
        aot_sb_addf(&found, "%s%zu = %s", i > 0 ? ", " : "", all->d[i],
                    aot_unit_label(&aot_model_unit(m, all->d[i])->key, label, sizeof label));
    }
    aot_status st = AOT_FAIL(err, AOT_E_USAGE, "'%s' means %zu units (%.300s); give the number",
                             which, all->n, aot_sb_text(&found));
    aot_sb_free(&found);
    return st;
}

aot_status aot_cmd_find_units(aot_unit_list *out, const aot_model *m, const char *which,
                              aot_err *err)
{
    size_t n = aot_model_n_units(m);
    char label[96];
    if (is_number(which)) {
        int64_t k;
        if (n == 0 || !aot_int_read(&k, which, 0, (int64_t)n - 1)) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "there is no unit %s: the input has %zu, counted from 0", which, n);
        }
        aot_vec_push(out, (size_t)k);
        return AOT_OK;
    }
    for (int how = WHOLE; how < N_LABEL_MATCHES && out->n == 0 && which[0] != '\0'; how++) {
        for (size_t i = 0; i < n; i++) {
            aot_unit_label(&aot_model_unit(m, i)->key, label, sizeof label);
            if (label_matches(label, which, (label_match)how)) {
                aot_vec_push(out, i);
            }
        }
        if (how != PREFIX && out->n > 1) { // of one name: a label is not guessed
            return several(out, m, which, err);
        }
    }
    return out->n != 0
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_USAGE,
                          "no unit is called '%s'; `aotscope show INPUT --units` lists them",
                          which);
}

aot_status aot_cmd_find_unit(size_t *out, const aot_model *m, const char *which, aot_err *err)
{
    aot_unit_list all = {0};
    aot_status st = aot_cmd_find_units(&all, m, which, err);
    if (st == AOT_OK && all.n > 1) {
        st = several(&all, m, which, err);
    }
    *out = st == AOT_OK ? all.d[0] : *out;
    aot_vec_free(&all);
    return st;
}

aot_status aot_cmd_open_units(aot_model **out, size_t *first, size_t *end, const aot_args *a,
                              aot_err *err)
{
    const char *which = aot_args_get(a, "unit");
    AOT_TRY(aot_cmd_open(out, a, err));
    *first = 0;
    *end = aot_model_n_units(*out);
    if (which != NULL) {
        AOT_TRY(aot_cmd_find_unit(first, *out, which, err));
        *end = *first + 1;
    }
    return AOT_OK;
}

json_t *aot_cmd_json(void)
{
    return json_pack("{s:s}", "format", "aotscope/1");
}

aot_status aot_cmd_write_json(const aot_args *a, const json_t *j, aot_err *err)
{
    const char *path = aot_args_get(a, "output");
    AOT_TRY(aot_file_not_input(path, a->inputs, a->n_inputs, err));
    char *text = json_dumps(j, JSON_INDENT(1));
    aot_status s = aot_file_write(path, text, strlen(text), err);
    free(text);
    return s;
}

void aot_cmd_print_json(json_t *j)
{
    json_dumpf(j, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(j);
}

aot_status aot_cmd_write_text(const aot_args *a, const char *dir, int k, const char *what,
                              const char *text, size_t n, aot_err *err)
{
    aot_sb path = {0};
    aot_sb_addf(&path, "%s/%d.%s", dir, k, what);
    aot_status s = aot_file_not_input(path.d, a->inputs, a->n_inputs, err);
    if (s == AOT_OK) {
        s = aot_file_write(path.d, text, n, err);
    }
    aot_sb_free(&path);
    return s;
}

aot_status aot_cmd_write_graph(const aot_args *a, const char *dir, int k, const char *what,
                               const aot_graph *g, aot_err *err)
{
    aot_sb text = {0};
    aot_print_graph(&text, g, AOT_PRINT_PLAIN);
    aot_status s = aot_cmd_write_text(a, dir, k, what, aot_sb_text(&text), text.n, err);
    aot_sb_free(&text);
    return s;
}

bool aot_cmd_is_cut(const aot_unit *u, size_t unit)
{
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    char label[96];
    if (r == NULL || r->text == NULL) {
        return false;
    }
    if (u->given_up) {
        aot_cmd_note(
            "unit %zu %s: PyTorch compiled it again before it cut this joint graph: left out\n",
            unit, aot_unit_label(&u->key, label, sizeof label));
    }
    return !u->given_up;
}
