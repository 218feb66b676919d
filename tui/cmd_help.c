/* aotscope help: pages made from the tables, for people and for the documentation. */
#include <stdio.h>
#include <string.h>

#include "tui/cmd.h"
#include "tui/diagnosis.h"
#include "tui/help.h"

static int print(aot_sb *text)
{
    fputs(aot_sb_text(text), stdout);
    aot_sb_free(text);
    return AOT_EXIT_SAME;
}

static int topic(const char *name)
{
    static const struct {
        const char *name;
        void (*page)(aot_sb *out, bool color);
    } topics[] = {{"settings", aot_help_settings},
                  {"stages", aot_help_stages},
                  {"formats", aot_help_formats},
                  {"selection", aot_help_selection},
                  {"keys", aot_help_keys},
                  {"diagnosis", aot_help_diagnosis}};
    aot_sb out = {0};
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        if (strcmp(topics[i].name, name) == 0) {
            topics[i].page(&out, aot_cmd_color(stdout));
            return print(&out);
        }
    }
    const aot_cmd *cmd = aot_cmd_find(name);
    if (cmd != NULL) {
        aot_help_command(&out, cmd, aot_cmd_color(stdout));
        return print(&out);
    }
    if (aot_help_term(&out, name, aot_cmd_color(stdout))) {
        return print(&out);
    }
    const aot_cmd *near = aot_cmd_near(name);
    if (near != NULL) {
        return aot_cmd_usage(NULL,
                             "there is no command, setting, stage or term '%s'; did you mean '%s'?",
                             name, near->name);
    }
    return aot_cmd_usage(
        NULL,
        "there is no command, setting, stage or term '%s'; `aotscope help settings` lists settings",
        name);
}

static int run(const aot_args *a)
{
    aot_sb out = {0};
    if (aot_args_has(a, "man")) {
        aot_help_man(&out);
        return print(&out);
    }
    if (aot_args_has(a, "markdown") && a->n_inputs > 0 && strcmp(a->inputs[0], "diagnosis") == 0) {
        aot_help_diagnosis_markdown(&out);
        return print(&out);
    }
    if (aot_args_has(a, "markdown") && a->n_inputs > 0 && strcmp(a->inputs[0], "keys") == 0) {
        aot_help_keys_markdown(&out);
        return print(&out);
    }
    if (aot_args_has(a, "markdown")) {
        aot_help_markdown(&out);
        return print(&out);
    }
    const char *shell = aot_args_get(a, "completion");
    if (shell != NULL) {
        if (!aot_help_completion(&out, shell)) {
            return aot_cmd_usage(a->cmd, "--completion takes bash, zsh or fish, not '%s'", shell);
        }
        return print(&out);
    }
    if (a->n_inputs > 0) {
        return topic(a->inputs[0]);
    }
    aot_help_overview(&out, aot_cmd_color(stdout));
    return print(&out);
}

static const aot_option options[] = {
    {"man", 0, NULL, false, "Print the man page (roff)."},
    {"markdown", 0, NULL, false,
     "Print the reference, or the topics diagnosis and keys, as Markdown."},
    {"completion", 0, "SHELL", false, "Print the completion of bash, zsh or fish."},
    {0},
};

const aot_cmd cmd_help = {
    .name = "help",
    .synopsis =
        "[COMMAND | SETTING | STAGE | WORD | settings | stages | formats | selection | keys | "
        "diagnosis]",
    .summary = "Help on a command or a topic",
    .doc = "Without an argument, lists the commands. The man page, docs/commands.md and the shell "
           "completions are made by the options.",
    .examples = "aotscope help partition\n"
                "aotscope help settings\n"
                "aotscope help --man | man -l -\n",
    .options = options,
    .min_inputs = 0,
    .max_inputs = 1,
    .run = run,
};
