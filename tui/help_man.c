/* The man page (roff) and the command reference (Markdown), from the same tables as --help. They
 * are kept in docs/ and made anew by `make docs`; a test compares. */
#include <string.h>

#include "pipeline/config.h"
#include "pipeline/stage.h"
#include "tui/app.h"
#include "tui/help.h"
#include "tui/keymap.h"
#include "viewers/theme.h"
#include "viewers/viewer.h"

/* A character of more than one byte as roff spells it; returns how many bytes it took. */
static size_t roff_unicode(aot_sb *out, const char *s, size_t n)
{
    unsigned char first = (unsigned char)s[0];
    size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned long c = first & (0xffu >> (len + 1));
    for (size_t i = 1; i < len && i < n; i++) {
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    }
    aot_sb_addf(out, "\\[u%04lX]", c);
    return len;
}

/* Text with roff's own characters escaped. */
static void roff(aot_sb *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool line_start = i == 0 || s[i - 1] == '\n';
        if (line_start && (s[i] == '.' || s[i] == '\'')) {
            aot_sb_addz(out, "\\&");
        }
        if (s[i] == '\\') {
            aot_sb_addz(out, "\\e");
        } else if (s[i] == '-') {
            aot_sb_addz(out, "\\-");
        } else if (s[i] == '"') {
            aot_sb_addz(out, "\\(dq"); // would end a macro's argument
        } else if ((unsigned char)s[i] >= 0xc0) {
            i += roff_unicode(out, s + i, n - i) - 1;
        } else {
            aot_sb_addc(out, s[i]);
        }
    }
}

static void roff_z(aot_sb *out, const char *s)
{
    roff(out, s, strlen(s));
}

/* Paragraphs of a doc; lines that start with a blank become a literal block. */
static void roff_paragraphs(aot_sb *out, const char *text)
{
    bool literal = false;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        bool keep = text[0] == ' ';
        if (keep != literal && n > 0) {
            aot_sb_addz(out, keep ? ".nf\n" : ".fi\n");
            literal = keep;
        }
        if (n == 0) {
            aot_sb_addz(out, ".sp\n");
        } else {
            roff(out, text, n);
            aot_sb_addc(out, '\n');
        }
        text += n + (text[n] == '\n');
    }
    if (literal) {
        aot_sb_addz(out, ".fi\n");
    }
}

static void roff_item(aot_sb *out, const char *term, const char *text)
{
    aot_sb_addz(out, ".TP\n.B \"");
    roff_z(out, term);
    aot_sb_addz(out, "\"\n");
    roff_z(out, text);
    aot_sb_addc(out, '\n');
}

/* "-o, --output FILE" into text. */
static void option_term(aot_sb *text, const aot_option *o)
{
    if (o->letter != 0) {
        aot_sb_addf(text, "-%c, ", o->letter);
    }
    aot_sb_addf(text, "--%s", o->name);
    if (o->arg != NULL) {
        aot_sb_addf(text, " %s", o->arg);
    }
}

static void roff_command(aot_sb *out, const aot_cmd *cmd)
{
    aot_sb term = {0};
    aot_sb_addz(out, ".SS ");
    roff_z(out, cmd->name);
    aot_sb_addz(out, "\n.B aotscope ");
    roff_z(out, cmd->name);
    aot_sb_addz(out, "\n");
    roff_z(out, cmd->synopsis);
    aot_sb_addz(out, "\n.sp\n");
    roff_z(out, cmd->summary);
    aot_sb_addz(out, ".\n");
    if (cmd->doc != NULL && cmd->doc[0] != '\0') {
        aot_sb_addz(out, ".sp\n");
        roff_paragraphs(out, cmd->doc);
    }
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        aot_sb_clear(&term);
        option_term(&term, o);
        roff_item(out, aot_sb_text(&term), o->doc);
    }
    if (cmd->examples != NULL) {
        aot_sb_addz(out, ".PP\nExamples:\n.sp\n.RS\n.nf\n");
        roff_z(out, cmd->examples);
        aot_sb_addz(out, ".fi\n.RE\n");
    }
    aot_sb_free(&term);
}

static void roff_settings(aot_sb *out)
{
    aot_sb_addz(out, ".SH SETTINGS\nWhat\n.B \\-\\-set NAME=VALUE\ntakes, with values as Python "
                     "writes them. For a log the recorded configuration is the default.\n");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb text = {0};
        aot_sb_addf(&text, "%s Default %s", r->doc, r->def_text);
        if (r->range[0] != '\0') {
            aot_sb_addf(&text, "; %s: %s", aot_help_range_word(r), r->range);
        }
        aot_sb_addc(&text, '.');
        roff_item(out, r->name, aot_sb_text(&text));
        aot_sb_free(&text);
    }
}

static void roff_formats(aot_sb *out)
{
    aot_sb_addz(out, ".SH EXPORT\nWhat\n.B export \\-\\-what\nshows:\n");
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        roff_item(out, aot_viewer_at(i)->name, aot_viewer_at(i)->sentence);
    }
    aot_sb_addz(out, ".PP\nThe formats that it writes, and the endings that choose them:\n");
    for (size_t i = 0; i < aot_n_formats(); i++) {
        const aot_format *f = aot_format_at(i);
        aot_sb term = {0};
        aot_sb_addf(&term, "%s (%s)", f->name, f->endings);
        roff_item(out, aot_sb_text(&term), f->sentence);
        aot_sb_free(&term);
    }
}

static void roff_interface(aot_sb *out)
{
    aot_sb_addz(out, ".SH STAGES\n");
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *i = aot_stage_get((aot_stage)s);
        aot_sb text = {0};
        aot_sb_addf(&text, "%s If it is missing: %s.", i->sentence, i->how_to_get);
        roff_item(out, i->name, aot_sb_text(&text));
        aot_sb_free(&text);
    }
    aot_sb_addz(out, ".SH THEMES\n");
    for (int t = 0; t < AOT_N_THEMES; t++) {
        roff_item(out, aot_theme_get((aot_theme)t)->name, aot_theme_get((aot_theme)t)->sentence);
    }
    aot_sb_addz(out, ".SH COMMANDS AFTER :\nEvery action of\n.B KEYS\nby its name, and:\n");
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        char head[80];
        snprintf(head, sizeof head, "%s %s", c->name, c->arg);
        roff_item(out, head, c->doc);
    }
    aot_sb_addz(out, ".SH KEYS\nEvery action can also be given by name after\n.BR : .\n");
    aot_keymap *map = aot_keymap_new();
    const char *group = "";
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        char keys[160];
        if (strcmp(group, aot_action_group((aot_action)a)) != 0) {
            group = aot_action_group((aot_action)a);
            aot_sb_addz(out, ".SS ");
            roff_z(out, group);
            aot_sb_addc(out, '\n');
        }
        aot_sb term = {0};
        aot_keymap_all(map, (aot_action)a, keys, sizeof keys);
        aot_sb_addf(&term, "%s%s:%s", keys, keys[0] != '\0' ? "  " : "",
                    aot_action_name((aot_action)a));
        roff_item(out, aot_sb_text(&term), aot_action_doc((aot_action)a));
        aot_sb_free(&term);
    }
    aot_keymap_free(map);
}

void aot_help_man(aot_sb *out)
{
    aot_sb_addf(out, ".\\\" Made by `aotscope help --man`; do not edit.\n"
                     ".TH AOTSCOPE 1 \"\" \"aotscope %s\" \"User Commands\"\n",
                PACKAGE_VERSION);
    aot_sb_addz(out,
                ".SH NAME\naotscope \\- see what AOTAutograd does to compiled PyTorch graphs\n"
                ".SH SYNOPSIS\n.B aotscope\n.IR INPUT ...\n.br\n.B aotscope\n.I COMMAND\n"
                ".RI [ ARG ]...\n.SH DESCRIPTION\n"
                "Reads logs of torch.compile, keeps each intermediate graph, and shows what is "
                "saved for the backward and why. Needs no Python and no PyTorch.\n.PP\n.I INPUT\n"
                "is a TORCH_TRACE log, the output of a run with TORCH_LOGS, a folder of rank "
                "logs, a .pt2 archive (torch.export.save), a session, a graph text, or\n.B "
                "\\-\nfor standard input; a .gz of these "
                "too. The kind is found from the content.\n.PP\n"
                "Without a command the input is opened in the terminal; where there is no "
                "terminal a summary is printed.\n.SH COMMANDS\nEach takes\n.BR \\-h ,\n"
                ".BR \\-\\-help .\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        roff_command(out, aot_cmd_at(i));
    }
    roff_settings(out);
    roff_formats(out);
    roff_interface(out);
    aot_sb_addz(out,
                ".SH EXIT STATUS\n.TP\n.B 0\nDone, or the same.\n.TP\n.B 1\nSomething differs, or "
                "there are findings.\n.TP\n.B 2\nError: the message is on standard error, with "
                "file, line and column where they are known.\n");
    aot_sb_addz(
        out,
        ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, no colour is used.\n"
        ".TP\n.B TERM\nThe terminal;\n.B dumb\nmeans no colour.\n.TP\n.B EDITOR\n"
        "What opens a source line.\n.TP\n.B AOTSCOPE_THEME\nThe theme of colours; see\n.BR THEMES "
        ".\n"
        ".TP\n.B XDG_CONFIG_HOME\nWhere\n.I aotscope/keys\n"
        "is looked for.\n.TP\n.B XDG_DATA_HOME\nWhere\n.I aotscope/history\nis kept: lines of the "
        "prompts.\n");
    aot_sb_addz(out, ".SH FILES\n.TP\n.I $XDG_CONFIG_HOME/aotscope/keys\nKeys of the user: lines\n"
                     ".B bind MAP KEY ACTION\nread after the built\\-in ones.\n");
}

static void markdown_command(aot_sb *out, const aot_cmd *cmd)
{
    aot_sb_addf(out, "\n## %s\n\n`aotscope %s %s`\n\n%s.\n", cmd->name, cmd->name, cmd->synopsis,
                cmd->summary);
    if (cmd->doc != NULL && cmd->doc[0] != '\0') {
        size_t n = strlen(cmd->doc);
        aot_sb_addf(out, "\n%s%s", cmd->doc, cmd->doc[n - 1] == '\n' ? "" : "\n");
    }
    if (cmd->options != NULL && cmd->options[0].name != NULL) {
        aot_sb_addz(out, "\n| option | |\n|---|---|\n");
    }
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        aot_sb_addz(out, "| `");
        option_term(out, o);
        aot_sb_addf(out, "` | %s |\n", o->doc);
    }
    if (cmd->examples != NULL) {
        size_t n = strlen(cmd->examples);
        aot_sb_addf(out, "\n```sh\n%s%s```\n", cmd->examples,
                    n > 0 && cmd->examples[n - 1] == '\n' ? "" : "\n");
    }
}

void aot_help_markdown(aot_sb *out)
{
    aot_sb_addz(out, "# Commands\n\nMade by `aotscope help --markdown`; do not edit.\n"
                     "Exit codes: 0 done or same, 1 differs or findings, 2 error.\n");
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        markdown_command(out, aot_cmd_at(i));
    }
    aot_sb_addz(out, "\n## Settings\n\n| `--set` | default | choices | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb_addf(out, "| `%s` | `%s` | %s | %s |\n", r->name, r->def_text, r->range, r->doc);
    }
    aot_sb_addz(out, "\n## Stages\n\n| stage | what it holds | how to get it |\n|---|---|---|\n");
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *i = aot_stage_get((aot_stage)s);
        aot_sb_addf(out, "| `%s` | %s | %s |\n", i->name, i->sentence, i->how_to_get);
    }
    aot_sb_addz(out, "\n## Export\n\n| `--what` | |\n|---|---|\n");
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        aot_sb_addf(out, "| `%s` | %s |\n", aot_viewer_at(i)->name, aot_viewer_at(i)->sentence);
    }
    aot_sb_addz(out, "\n| `--format` | ending of `-o` | |\n|---|---|---|\n");
    for (size_t i = 0; i < aot_n_formats(); i++) {
        const aot_format *f = aot_format_at(i);
        aot_sb_addf(out, "| `%s` | `%s` | %s |\n", f->name, f->endings, f->sentence);
    }
}

const aot_view_row aot_view_rows[] = {
#define VIEW(id, title, ops, opened_by, doc, twin) {title, opened_by, doc, twin},
#include "tui/views.def"
#undef VIEW
    {NULL, NULL, NULL, NULL},
};

/* Keys as code, apart by blanks; `|` would end the cell. */
static void markdown_keys(aot_sb *out, const char *keys)
{
    while (*keys != '\0') {
        size_t n = strcspn(keys, " ");
        const char *tick = memchr(keys, '`', n) != NULL ? "``" : "`";
        if (n > 0) {
            aot_sb_addz(out, tick);
            for (size_t i = 0; i < n; i++) {
                aot_sb_addf(out, keys[i] == '|' ? "\\%c" : "%c", keys[i]);
            }
            aot_sb_addf(out, "%s ", tick);
        }
        keys += n + strspn(keys + n, " ");
    }
}

void aot_help_keys_markdown(aot_sb *out)
{
    aot_keymap *map = aot_keymap_new();
    const char *group = "";
    aot_sb_addz(out, "# Keys\n\nMade from `tui/actions.def`, `tui/keys.default` and "
                     "`tui/commands.c` by `make docs`; "
                     "`aotscope help keys` prints the same, and `?` shows those of the view. Every "
                     "action can be "
                     "given by name after `:`. Other keys: `bind MAP KEY ACTION` lines in "
                     "`$XDG_CONFIG_HOME/aotscope/keys`.\n");
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        char keys[160];
        if (strcmp(group, aot_action_group((aot_action)a)) != 0) {
            group = aot_action_group((aot_action)a);
            aot_sb_addf(out, "\n## %s\n\n| key | action | |\n|---|---|---|\n", group);
        }
        aot_keymap_all(map, (aot_action)a, keys, sizeof keys);
        aot_sb_addz(out, "| ");
        markdown_keys(out, keys);
        aot_sb_addf(out, "| `%s` | %s |\n", aot_action_name((aot_action)a),
                    aot_action_doc((aot_action)a));
    }
    aot_sb_addz(out, "\n## Views\n\nEach prints without a terminal, too.\n\n"
                     "| view | opened by | | the same as a command |\n|---|---|---|---|\n");
    for (const aot_view_row *v = aot_view_rows; v->title; v++) {
        aot_sb_addf(out,
                    *v->opened_by ? "| %s | `:%s` | %s | `aotscope %s` |\n"
                                  : "| %s | %s | %s | `aotscope %s` |\n",
                    v->title, v->opened_by, v->doc, v->twin);
    }
    aot_sb_addz(out, "\n## Commands after :\n\n| command | |\n|---|---|\n");
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        aot_sb_addf(out, "| `%s %s` | %s |\n", c->name, c->arg, c->doc);
    }
    aot_keymap_free(map);
}
