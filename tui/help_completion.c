/* Completion scripts of bash, zsh and fish, from the command and settings tables. All three
 * complete the command first, then its options, the values of those that take known ones (stages,
 * formats, settings), and files for everything else. */
#include <string.h>

#include "pipeline/config.h"
#include "pipeline/stage.h"
#include "tui/help.h"
#include "viewers/viewer.h"

/* Text inside single quotes of a shell; brackets and colons are escaped too for zsh. */
static void quoted(aot_sb *out, const char *s, bool zsh)
{
    for (; *s != '\0'; s++) {
        if (*s == '\'') {
            aot_sb_addz(out, "'\\''");
        } else {
            if (zsh && strchr("[]:\\", *s) != NULL) {
                aot_sb_addc(out, '\\');
            }
            aot_sb_addc(out, *s);
        }
    }
}

static void command_names(aot_sb *out)
{
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        aot_sb_addf(out, "%s%s", i > 0 ? " " : "", aot_cmd_at(i)->name);
    }
}

static void settings(aot_sb *out)
{
    for (size_t i = 0; i < aot_config_count(); i++) {
        aot_sb_addf(out, "%s%s=", i > 0 ? " " : "", aot_config_row_at(i)->name);
    }
}

/* The values of a setting: "True False", or its choices; "" for numbers. */
static const char *setting_values(const aot_config_row *r)
{
    return r->type == 'B' ? "True False" : r->type == 'S' ? r->range : "";
}

/* Adds the words that an option takes; false if they are not known (files, numbers). */
static bool option_values(aot_sb *out, const aot_option *o)
{
    static const struct {
        const char *name, *words;
    } fixed[] = {
        {"color", "light dark mono"},
        {"completion", "bash zsh fish"},
    };
    size_t n = out->n;
    if (o->arg == NULL) {
        return false;
    }
    if (strcmp(o->name, "stage") == 0) {
        for (int s = 0; s < AOT_N_STAGES; s++) {
            aot_sb_addf(out, "%s%s", s > 0 ? " " : "", aot_stage_get((aot_stage)s)->name);
        }
    } else if (strcmp(o->name, "what") == 0) {
        for (size_t i = 0; i < aot_viewer_count(); i++) {
            aot_sb_addf(out, "%s%s", i > 0 ? " " : "", aot_viewer_at(i)->name);
        }
    } else if (strcmp(o->name, "format") == 0 && strcmp(o->arg, "FORMAT") == 0) {
        for (size_t i = 0; i < aot_n_formats(); i++) {
            aot_sb_addf(out, "%s%s", i > 0 ? " " : "", aot_format_at(i)->name);
        }
    } else if (strncmp(o->name, "solver", 6) == 0) {
        aot_sb_addz(out, setting_values(aot_config_find("activation_memory_budget_solver")));
    } else if (strcmp(o->arg, "json") == 0) {
        aot_sb_addz(out, o->arg);
    } else {
        for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
            if (strcmp(o->name, fixed[i].name) == 0) {
                aot_sb_addz(out, fixed[i].words);
            }
        }
    }
    return out->n > n;
}

/* Cases "show--stage | show-s) values='dynamo aten'", and those of settings, "=cse)". */
static void bash_values(aot_sb *out)
{
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        const aot_cmd *c = aot_cmd_at(i);
        for (const aot_option *o = c->options; o != NULL && o->name != NULL; o++) {
            aot_sb values = {0};
            if (option_values(&values, o)) {
                aot_sb_addf(out, "    %s--%s", c->name, o->name);
                if (o->letter != 0) {
                    aot_sb_addf(out, " | %s-%c", c->name, o->letter);
                }
                aot_sb_addf(out, ") values='%s' ;;\n", aot_sb_text(&values));
            }
            aot_sb_free(&values);
        }
    }
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        if (setting_values(r)[0] != '\0') {
            aot_sb_addf(out, "    *=%s) values='%s' ;;\n", r->name, setting_values(r));
        }
    }
}

static void bash(aot_sb *out)
{
    aot_sb_addz(out, "# Made by `aotscope help --completion bash`; do not edit.\n"
                     "_aotscope()\n{\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
                     "words= values= key\n"
                     "    COMPREPLY=()\n"
                     "    # bash takes NAME=VALUE apart at the sign\n"
                     "    if [[ $cur == = ]]; then\n        cur=\n        key==$prev\n"
                     "    elif [[ $prev == = ]]; then\n        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                     "        key==$prev\n    elif [[ $cur == *=* ]]; then\n"
                     "        key==${cur%%=*}\n    fi\n"
                     "    if [[ $prev == --set && -z $key || $prev$key == --set=--set ]]; then\n"
                     "        compopt -o nospace 2>/dev/null\n"
                     "        COMPREPLY=($(compgen -W '");
    settings(out);
    aot_sb_addz(out, "' -- \"$cur\"))\n        return\n    fi\n"
                     "    [[ $prev == -* && $prev != --set ]] && key=$prev\n"
                     "    case ${COMP_WORDS[1]}$key in\n");
    bash_values(out);
    aot_sb_addz(
        out,
        "    esac\n    if [[ -n $values ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$values\" -- \"${cur#*=}\"))\n        return\n    fi\n"
        "    if ((COMP_CWORD == 1)); then\n        words='");
    command_names(out);
    aot_sb_addz(out, " --help --version'\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") "
                     "$(compgen -f -- \"$cur\"))\n        return\n    fi\n"
                     "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        const aot_cmd *c = aot_cmd_at(i);
        aot_sb_addf(out, "    %s) words='--help", c->name);
        for (const aot_option *o = c->options; o != NULL && o->name != NULL; o++) {
            aot_sb_addf(out, " --%s", o->name);
        }
        if (strcmp(c->name, "help") == 0) {
            aot_sb_addz(out, " settings stages formats selection keys ");
            command_names(out);
        }
        aot_sb_addz(out, "' ;;\n");
    }
    aot_sb_addz(out, "    esac\n"
                     "    if [[ $cur == -* || ${COMP_WORDS[1]} == help ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    else\n"
                     "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
                     "complete -o filenames -F _aotscope aotscope\n");
}

static void zsh(aot_sb *out)
{
    aot_sb_addz(out, "#compdef aotscope\n# Made by `aotscope help --completion zsh`; do not edit.\n"
                     "_aotscope_settings() {\n    local -A values\n    values=(");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb_addf(out, "%s '%s' ", r->name, setting_values(r));
    }
    aot_sb_addz(out,
                ")\n    if [[ $PREFIX == *=* ]]; then\n        local name=${PREFIX%%=*}\n"
                "        compset -P '*='\n        compadd -- ${=values[$name]}\n        return\n"
                "    fi\n    compadd -S '' -- ");
    settings(out);
    aot_sb_addz(out, "\n}\n_aotscope() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        aot_sb_addf(out, "        '%s:", aot_cmd_at(i)->name);
        quoted(out, aot_cmd_at(i)->summary, true);
        aot_sb_addz(out, "'\n");
    }
    aot_sb_addz(out, "    )\n    if ((CURRENT == 2)); then\n"
                     "        _describe command commands\n        _files\n        return\n    fi\n"
                     "    case $words[2] in\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        const aot_cmd *c = aot_cmd_at(i);
        aot_sb_addf(out,
                    "    %s) shift words; ((CURRENT--)); _arguments '--help[Print this help.]'",
                    c->name);
        for (const aot_option *o = c->options; o != NULL && o->name != NULL; o++) {
            aot_sb_addf(out, " \\\n        '%s--%s%s[", o->repeats ? "*" : "", o->name,
                        o->arg != NULL ? "=" : "");
            quoted(out, o->doc, true);
            aot_sb_addc(out, ']');
            aot_sb values = {0};
            if (option_values(&values, o)) {
                aot_sb_addf(out, ":%s:(%s)", o->arg, aot_sb_text(&values));
            } else if (o->arg != NULL) {
                aot_sb_addf(out, ":%s:%s", o->arg,
                            strcmp(o->name, "set") == 0 ? "_aotscope_settings" : "_files");
            }
            aot_sb_free(&values);
            aot_sb_addc(out, '\'');
        }
        if (strcmp(c->name, "help") == 0) {
            aot_sb_addz(out, " \\\n        '*:topic:(settings stages formats selection keys ");
            command_names(out);
            aot_sb_addz(out, ")'");
        } else {
            aot_sb_addz(out, " \\\n        '*:input:_files'");
        }
        aot_sb_addz(out, " ;;\n");
    }
    aot_sb_addz(out, "    *) _files ;;\n    esac\n}\n_aotscope \"$@\"\n");
}

/* fish has no notion of a value after "=": whole words. */
static void fish_setting_values(aot_sb *out)
{
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        for (const char *v = setting_values(r); *v != '\0';) {
            size_t n = strcspn(v, " ");
            aot_sb_addf(out, " %s=%.*s", r->name, (int)n, v);
            v += n + strspn(v + n, " ");
        }
    }
}

static void fish(aot_sb *out)
{
    aot_sb_addz(out, "# Made by `aotscope help --completion fish`; do not edit.\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        const aot_cmd *c = aot_cmd_at(i);
        aot_sb_addf(out, "complete -c aotscope -n __fish_use_subcommand -a %s -d '", c->name);
        quoted(out, c->summary, false);
        aot_sb_addz(out, "'\n");
        for (const aot_option *o = c->options; o != NULL && o->name != NULL; o++) {
            aot_sb_addf(out, "complete -c aotscope -n '__fish_seen_subcommand_from %s' -l %s",
                        c->name, o->name);
            if (o->letter != 0) {
                aot_sb_addf(out, " -s %c", o->letter);
            }
            aot_sb values = {0};
            if (strcmp(o->name, "set") == 0) {
                aot_sb_addz(out, " -x -a '");
                settings(out);
                fish_setting_values(out);
                aot_sb_addc(out, '\'');
            } else if (option_values(&values, o)) {
                aot_sb_addf(out, " -x -a '%s'", aot_sb_text(&values));
            } else if (o->arg != NULL) {
                aot_sb_addz(out, " -r");
            }
            aot_sb_free(&values);
            aot_sb_addz(out, " -d '");
            quoted(out, o->doc, false);
            aot_sb_addz(out, "'\n");
        }
    }
    aot_sb_addz(out, "complete -c aotscope -n '__fish_seen_subcommand_from help' -f -a '"
                     "settings stages formats selection keys ");
    command_names(out);
    aot_sb_addz(out, "'\n");
}

bool aot_help_completion(aot_sb *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        bash(out);
    } else if (strcmp(shell, "zsh") == 0) {
        zsh(out);
    } else if (strcmp(shell, "fish") == 0) {
        fish(out);
    } else {
        return false;
    }
    return true;
}
