/* The frame of the command line: the list of commands, parsing by a command's option table, and the
 * few ways to say what went wrong. A mistyped name is answered with the nearest one (edit distance
 * with transpositions, at most a third of its length). */
#include "tui/cmd.h"
#include "partition/edits.h"
#include "tui/diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "viewers/canvas.h"

static const aot_cmd *const commands[] = {
#define CMD(name) &cmd_##name,
#include "tui/commands.def"
#undef CMD
};

static const aot_option help_option = {"help", 'h', NULL, false, "Print this help."};

size_t aot_cmd_count(void)
{
    return sizeof commands / sizeof *commands;
}

const aot_cmd *aot_cmd_at(size_t i)
{
    return commands[i];
}

const aot_cmd *aot_cmd_find(const char *name)
{
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

enum { NAME_MAX_LEN = 40 };

/* Edit distance counting insertions, deletions, changes and swaps of neighbours. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];
    if (n > NAME_MAX_LEN || m > NAME_MAX_LEN) {
        return NAME_MAX_LEN;
    }
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best) {
                best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[n][m];
}

/* How far a mistyped name may be from a real one to be taken for it. */
static bool is_near(size_t dist, const char *typed)
{
    return dist <= (strlen(typed) + 2) / 3;
}

const aot_cmd *aot_cmd_near(const char *name)
{
    const aot_cmd *best = NULL;
    size_t best_dist = NAME_MAX_LEN;
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        size_t d = distance(name, commands[i]->name);
        if (d < best_dist) {
            best_dist = d;
            best = commands[i];
        }
    }
    return is_near(best_dist, name) ? best : NULL;
}

static const char *near_option(const aot_cmd *cmd, const char *name)
{
    size_t best_dist = distance(name, help_option.name);
    const char *best = help_option.name;
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        // what is abbreviated is meant, however short
        size_t d = strncmp(name, o->name, strlen(name)) == 0 ? 0 : distance(name, o->name);
        if (d < best_dist) {
            best_dist = d;
            best = o->name;
        }
    }
    return is_near(best_dist, name) ? best : NULL;
}

static const aot_option *find_long(const aot_cmd *cmd, const char *name, size_t n)
{
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0) {
            return o;
        }
    }
    return n == 4 && memcmp(name, "help", 4) == 0 ? &help_option : NULL;
}

static const aot_option *find_letter(const aot_cmd *cmd, char letter)
{
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        if (o->letter != 0 && o->letter == letter) {
            return o;
        }
    }
    return letter == 'h' ? &help_option : NULL;
}

/* A value that would be dropped without a word is an error; a switch given twice says nothing
 * new. */
static aot_status add_option(aot_args *a, const aot_option *o, const char *value, aot_err *err)
{
    if (o->arg != NULL && !o->repeats && aot_args_has(a, o->name)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--%s is given twice: '%s' and '%s'", o->name,
                        aot_args_get(a, o->name), value);
    }
    bool file = o->arg != NULL && strcmp(o->arg, "FILE") == 0;
    if (value != NULL && *value == '\0' &&
        (file || (o->arg != NULL && strcmp(o->arg, "DIR") == 0))) {
        return AOT_FAIL(err, AOT_E_USAGE, "--%s has an empty value: it needs the name of a %s",
                        o->name, file ? "file" : "folder");
    }
    a->opts = aot_xrealloc(a->opts, (a->n_opts + 1) * sizeof *a->opts);
    a->opts[a->n_opts].name = o->name;
    a->opts[a->n_opts].value = value;
    a->n_opts++;
    return AOT_OK;
}

/* --name, --name=value, --name value. Moves *i past a value that stands apart. */
static aot_status parse_long(aot_args *a, int argc, char **argv, int *i, aot_err *err)
{
    const char *name = argv[*i] + 2;
    const char *eq = strchr(name, '=');
    size_t n = eq != NULL ? (size_t)(eq - name) : strlen(name);
    const aot_option *o = find_long(a->cmd, name, n);
    if (o == NULL) {
        char typed[NAME_MAX_LEN + 1];
        snprintf(typed, sizeof typed, "%.*s", (int)(n < sizeof typed ? n : sizeof typed - 1), name);
        const char *near = near_option(a->cmd, typed);
        if (near != NULL) {
            return AOT_FAIL(err, AOT_E_USAGE, "there is no option --%s; did you mean --%s?", typed,
                            near);
        }
        return AOT_FAIL(err, AOT_E_USAGE, "there is no option --%s", typed);
    }
    if (o->arg == NULL && eq != NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "--%s takes no value, '%s' was given", o->name, eq + 1);
    }
    if (o->arg != NULL && eq == NULL && *i + 1 >= argc) {
        return AOT_FAIL(err, AOT_E_USAGE, "--%s needs a value: %s", o->name, o->arg);
    }
    const char *value = NULL;
    if (o->arg != NULL) {
        value = eq != NULL ? eq + 1 : argv[++*i];
    }
    return add_option(a, o, value, err);
}

/* -x, -xy (two switches), -oFILE, -o FILE. */
static aot_status parse_letters(aot_args *a, int argc, char **argv, int *i, aot_err *err)
{
    for (const char *p = argv[*i] + 1; *p != '\0'; p++) {
        const aot_option *o = find_letter(a->cmd, *p);
        if (o == NULL) {
            return AOT_FAIL(err, AOT_E_USAGE, "there is no option -%c", *p);
        }
        if (o->arg == NULL) {
            AOT_TRY(add_option(a, o, NULL, err));
            continue;
        }
        if (p[1] == '\0' && *i + 1 >= argc) {
            return AOT_FAIL(err, AOT_E_USAGE, "-%c needs a value: %s", *p, o->arg);
        }
        return add_option(a, o, p[1] != '\0' ? p + 1 : argv[++*i], err);
    }
    return AOT_OK;
}

static aot_status check_inputs(const aot_args *a, aot_err *err)
{
    const aot_cmd *cmd = a->cmd;
    if (a->n_inputs < (size_t)cmd->min_inputs) {
        return a->n_inputs == 0 && cmd->min_inputs == 1
                   ? AOT_FAIL(err, AOT_E_USAGE, "an input is missing")
                   : AOT_FAIL(err, AOT_E_USAGE, "an argument is missing of %.*s...",
                              (int)strcspn(cmd->synopsis, "["), cmd->synopsis);
    }
    if (cmd->max_inputs >= 0 && a->n_inputs > (size_t)cmd->max_inputs) {
        return AOT_FAIL(err, AOT_E_USAGE, "'%s' is one argument too many",
                        a->inputs[cmd->max_inputs]);
    }
    return AOT_OK;
}

/* The lines of each --policy, in order. */
static aot_status read_policies(aot_args *a, aot_err *err)
{
    const char *path;
    for (size_t i = 0; (path = aot_args_nth(a, "policy", i)) != NULL; i++) {
        a->edits = a->edits != NULL ? a->edits : aot_xcalloc(1, sizeof *a->edits);
        AOT_TRY(aot_edits_read(a->edits, path, err));
    }
    return AOT_OK;
}

aot_status aot_args_parse(aot_args *out, const aot_cmd *cmd, int argc, char **argv, aot_err *err)
{
    aot_args a = {.cmd = cmd};
    a.inputs = aot_xcalloc((size_t)argc + 1, sizeof *a.inputs);
    bool options_end = false;
    aot_status st = AOT_OK;
    for (int i = 0; i < argc && st == AOT_OK; i++) {
        const char *s = argv[i];
        if (options_end || s[0] != '-' || s[1] == '\0') {
            a.inputs[a.n_inputs++] = s; // "-" is standard input
        } else if (strcmp(s, "--") == 0) {
            options_end = true;
        } else if (s[1] == '-') {
            st = parse_long(&a, argc, argv, &i, err);
        } else {
            st = parse_letters(&a, argc, argv, &i, err);
        }
    }
    if (st == AOT_OK && !aot_args_has(&a, "help")) {
        st = check_inputs(&a, err);
        st = st == AOT_OK ? read_policies(&a, err) : st;
    }
    if (st != AOT_OK) {
        aot_args_free(&a);
        return st;
    }
    *out = a;
    return AOT_OK;
}

void aot_args_free(aot_args *a)
{
    free(a->inputs);
    free(a->opts);
    if (a->edits != NULL) {
        aot_edits_free(a->edits);
        free(a->edits);
    }
    *a = (aot_args){0};
}

const char *aot_args_get(const aot_args *a, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < a->n_opts; i++) {
        if (strcmp(a->opts[i].name, name) == 0) {
            value = a->opts[i].value != NULL ? a->opts[i].value : "";
        }
    }
    return value;
}

bool aot_args_has(const aot_args *a, const char *name)
{
    return aot_args_get(a, name) != NULL;
}

const char *aot_args_nth(const aot_args *a, const char *name, size_t i)
{
    for (size_t k = 0; k < a->n_opts; k++) {
        if (strcmp(a->opts[k].name, name) == 0 && i-- == 0) {
            return a->opts[k].value != NULL ? a->opts[k].value : "";
        }
    }
    return NULL;
}

/* What input is quoted in a message must not steer the terminal. Line breaks stay. */
static void print_safe(const char *text)
{
    aot_sb safe = {0};
    for (size_t n; *text != '\0'; text += n) {
        n = strcspn(text, "\n");
        aot_text_safe(&safe, text, n);
        if (text[n] == '\n') {
            aot_sb_addc(&safe, '\n');
            n++;
        }
    }
    fputs(aot_sb_text(&safe), stderr);
    aot_sb_free(&safe);
}

void aot_cmd_note(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n >= 0) {
        print_safe(text);
        free(text);
    }
}

void aot_cmd_notes(const aot_sb *lines)
{
    for (const char *p = aot_sb_text(lines); *p != '\0';) {
        int n = (int)strcspn(p, "\n");
        aot_cmd_note("aotscope: %.*s\n", n, p);
        p += n + (p[n] == '\n');
    }
}

int aot_cmd_fail(const aot_err *err)
{
    static char last[sizeof err->file + sizeof err->msg + 32];
    char text[sizeof last];
    aot_cmd_progress_end();
    fflush(stdout); // so that what was printed stands before the error
    aot_err_text(err, text, sizeof text);
    if (strcmp(text, last) == 0) { // what is wrong with an option is wrong for every unit
        return AOT_EXIT_ERROR;
    }
    snprintf(last, sizeof last, "%s", text);
    fputs("aotscope: ", stderr);
    print_safe(text);
    fputc('\n', stderr);
    const aot_diagnosis *d = aot_diagnosis_of(err->msg);
    if (d != NULL) {
        fprintf(stderr, "  likely cause: %s\n  see: %s\n", d->cause, d->command);
    }
    return AOT_EXIT_ERROR;
}

int aot_cmd_usage(const aot_cmd *cmd, const char *fmt, ...)
{
    char text[1000]; // a long quotation is cut
    va_list ap;
    aot_cmd_progress_end();
    fflush(stdout);
    fputs("aotscope: ", stderr);
    if (cmd != NULL) {
        fprintf(stderr, "%s: ", cmd->name);
    }
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_safe(text);
    fputs(n >= (int)sizeof text ? "..." : "", stderr);
    fprintf(stderr, "\nTry 'aotscope help%s%s'.\n", cmd != NULL ? " " : "",
            cmd != NULL ? cmd->name : "");
    return AOT_EXIT_ERROR;
}

bool aot_cmd_color(FILE *f)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0') {
        return false;
    }
    return isatty(fileno(f)) && term != NULL && strcmp(term, "dumb") != 0;
}
