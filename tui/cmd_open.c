/* aotscope INPUT...: the terminal interface; without a terminal, a summary of the input and the batch
 * commands that show the rest. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "session/model.h"
#include "tui/cmd.h"

int aot_tui_run(const aot_args *a); /* tui/app.c */

enum { MAX_LISTED = 40 };

/* A word as a shell takes it. */
static void add_word(aot_sb *out, const char *s)
{
    if (s[0] != '\0' && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-./+:@%,=") == strlen(s)) {
        aot_sb_addz(out, s);
        return;
    }
    aot_sb_addc(out, '\'');
    for (; *s != '\0'; s++) {
        if (*s == '\'') {
            aot_sb_addz(out, "'\\''");
        } else {
            aot_sb_addc(out, *s);
        }
    }
    aot_sb_addc(out, '\'');
}

static void print_commands(const aot_args *a)
{
    static const struct {
        const char *cmd, *rest, *does;
    } rows[] = {
        {"info", "", "what the input holds and lacks"},
        {"show", "", "text of a stage, the saved values"},
        {"check", "", "derive recorded graphs again and compare"},
        {"partition", " -o DIR", "forward and backward, with the reasons"},
        {"export", " --what partition -f svg", "a picture of the cut"},
        {"import", " -o S.aots", "keep it all in a session"},
    };
    aot_sb in = {0}, line = {0};
    for (size_t i = 0; i < a->n_inputs; i++) {
        aot_sb_addc(&in, ' ');
        add_word(&in, a->inputs[i]);
    }
    puts("\nThere is no terminal to browse in. For scripts and pipes:");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        aot_sb_clear(&line);
        aot_sb_addf(&line, "  aotscope %s%s%s", rows[i].cmd, aot_sb_text(&in), rows[i].rest);
        printf("%-56s # %s\n", aot_sb_text(&line), rows[i].does);
    }
    aot_sb_free(&in);
    aot_sb_free(&line);
}

static void print_units(aot_model *m)
{
    size_t n = aot_model_n_units(m), n_notes = aot_model_n_notes(m);
    printf("%zu unit%s", n, n == 1 ? "" : "s");
    if (n_notes > 0) {
        printf(", %zu note%s", n_notes, n_notes == 1 ? "" : "s");
    }
    putchar('\n');
    for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
        printf("  %s\n", aot_model_unit_line(m, i));
    }
    if (n > MAX_LISTED) {
        printf("  ... and %zu more\n", n - MAX_LISTED);
    }
}

static int summary(const aot_args *a)
{
    aot_err err = {0};
    aot_model *m = NULL;
    const char **settings = aot_xcalloc(a->n_opts + 1, sizeof *settings);
    aot_model_options opt = {.settings = settings, .progress = aot_cmd_progress};
    while (aot_args_nth(a, "set", opt.n_settings) != NULL) {
        settings[opt.n_settings] = aot_args_nth(a, "set", opt.n_settings);
        opt.n_settings++;
    }
    aot_status st = aot_model_open(&m, a->inputs, a->n_inputs, &opt, &err);
    free(settings);
    if (st != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_cmd_progress_end();
    for (size_t i = 0; i < a->n_inputs; i++) {
        printf("%s%s", strcmp(a->inputs[i], "-") == 0 ? "standard input" : a->inputs[i],
               i + 1 < a->n_inputs ? ", " : ": ");
    }
    print_units(m);
    print_commands(a);
    aot_model_free(m);
    return AOT_EXIT_SAME;
}

static int run(const aot_args *a)
{
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (terminal || aot_args_has(a, "script")) {
        return aot_tui_run(a);
    }
    return summary(a);
}

static const aot_option options[] = {
    {"set", 0, "NAME=VALUE", true, "A setting in place of the recorded one; see SETTINGS."},
    {"script", 0, "FILE", false, "Take keys from a file and print screens; needs no terminal."},
    {0},
};

const aot_cmd cmd_open = {
    .name = "open",
    .synopsis = "INPUT... [--set NAME=VALUE]...",
    .summary = "Browse an input in the terminal (the word `open` may be left out)",
    .doc = "Lists the units of the input; from there to the stages of a unit, to a graph, to a node. "
           "`?` shows the keys.\n\n"
           "Where standard input or output is no terminal, prints a summary of the input and the "
           "commands that show the rest.",
    .examples = "aotscope train.log\n"
                "aotscope logs/ --set activation_memory_budget=0.5\n"
                "python train.py 2>&1 | aotscope -\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
