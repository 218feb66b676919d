/* Help on the terminal: pages wrapped at 80 columns from the tables of commands, settings, stages
 * and keys. A command's doc is paragraphs apart by blank lines; a line that starts with a blank
 * stays as it is written. */
#include "tui/help.h"

#include <string.h>

#include "partition/edits.h"
#include "pipeline/config.h"
#include "pipeline/stage.h"
#include "tui/keymap.h"
#include "viewers/viewer.h"

enum { WIDTH = 80, OPTION_COLUMN = 26 };

void aot_help_heading(aot_sb *out, const char *title, bool color)
{
    aot_sb_addf(out, color ? "\033[1m%s\033[0m\n" : "%s\n", title);
}

/* Adds the words of text from column on, wrapped; further lines start at column indent. */
static void wrap(aot_sb *out, const char *text, size_t n, size_t column, size_t indent)
{
    const char *end = text + n;
    bool first = true;
    while (text < end) {
        size_t len = 0;
        while (text < end && (*text == ' ' || *text == '\n')) {
            text++;
        }
        while (text + len < end && text[len] != ' ' && text[len] != '\n') {
            len++;
        }
        if (len == 0) {
            break;
        }
        if (!first && column + 1 + len > WIDTH) {
            aot_sb_addc(out, '\n');
            aot_sb_pad(out, ' ', indent);
            column = indent;
        } else if (!first) {
            aot_sb_addc(out, ' ');
            column++;
        }
        aot_sb_add(out, text, len);
        column += len;
        text += len;
        first = false;
    }
    aot_sb_addc(out, '\n');
}

/* One entry of a two-column list. */
void aot_help_entry(aot_sb *out, const char *left, const char *right, size_t column)
{
    size_t n = strlen(left) + 2;
    aot_sb_addf(out, "  %s", left);
    if (n + 2 > column) {
        aot_sb_addc(out, '\n');
        n = 0;
    }
    aot_sb_pad(out, ' ', column - n);
    wrap(out, right, strlen(right), column, column);
}

/* Paragraphs, each wrapped; lines that start with a blank are kept. */
static void paragraphs(aot_sb *out, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (n == 0 || text[0] == ' ') {
            aot_sb_add(out, text, n);
            aot_sb_addc(out, '\n');
        } else {
            while (text[n] == '\n' && text[n + 1] != '\n' && text[n + 1] != ' ' &&
                   text[n + 1] != '\0') {
                n += 1 + strcspn(text + n + 1, "\n");
            }
            wrap(out, text, n, 0, 0);
        }
        text += n + (text[n] == '\n');
    }
}

static void option_entry(aot_sb *out, const aot_option *o)
{
    aot_sb left = {0};
    if (o->letter != 0) {
        aot_sb_addf(&left, "-%c, ", o->letter);
    } else {
        aot_sb_addz(&left, "    ");
    }
    aot_sb_addf(&left, "--%s", o->name);
    if (o->arg != NULL) {
        aot_sb_addf(&left, " %s", o->arg);
    }
    aot_help_entry(out, aot_sb_text(&left), o->doc, OPTION_COLUMN);
    aot_sb_free(&left);
}

void aot_help_command(aot_sb *out, const aot_cmd *cmd, bool color)
{
    static const aot_option help = {"help", 'h', NULL, false, "Print this help."};
    aot_help_heading(out, "Usage", color);
    aot_sb_addf(out, "  aotscope %s %s\n\n", cmd->name, cmd->synopsis);
    aot_sb_addf(out, "%s.\n\n", cmd->summary);
    if (cmd->doc != NULL && cmd->doc[0] != '\0') {
        paragraphs(out, cmd->doc);
        aot_sb_addc(out, '\n');
    }
    aot_help_heading(out, "Options", color);
    for (const aot_option *o = cmd->options; o != NULL && o->name != NULL; o++) {
        option_entry(out, o);
    }
    option_entry(out, &help);
    if (cmd->examples != NULL) {
        aot_sb_addc(out, '\n');
        aot_help_heading(out, "Examples", color);
        for (const char *p = cmd->examples; *p != '\0';) {
            size_t n = strcspn(p, "\n");
            if (n > 0) {
                aot_sb_addf(out, "  %.*s\n", (int)n, p);
            }
            p += n + (p[n] == '\n');
        }
    }
}

void aot_help_overview(aot_sb *out, bool color)
{
    static const char intro[] =
        "Shows what AOTAutograd of PyTorch does to a compiled graph: its stages, what is saved for "
        "the backward and why. INPUT is a TORCH_TRACE or TORCH_LOGS log, a folder of rank logs, a "
        ".pt2 archive (torch.export.save), a session, a graph text, or - for standard input.";
    aot_help_heading(out, "Usage", color);
    aot_sb_addz(out, "  aotscope INPUT...            browse in the terminal\n"
                     "  aotscope COMMAND [ARG]...    one job, for scripts and pipes\n\n");
    wrap(out, intro, strlen(intro), 0, 0);
    aot_sb_addc(out, '\n');
    aot_help_heading(out, "Commands", color);
    for (size_t i = 0; i < aot_cmd_count(); i++) {
        aot_help_entry(out, aot_cmd_at(i)->name, aot_cmd_at(i)->summary, 14);
    }
    aot_sb_addc(out, '\n');
    aot_help_heading(out, "More", color);
    aot_help_entry(out, "aotscope help COMMAND", "options and examples of a command", 29);
    aot_help_entry(out, "aotscope help settings", "what --set takes", 29);
    aot_help_entry(out, "aotscope help stages", "the stages of a unit", 29);
    aot_help_entry(out, "aotscope help formats", "what export writes, and as what", 29);
    aot_help_entry(out, "aotscope help selection", "what --filter and policies take", 29);
    aot_help_entry(out, "aotscope help keys", "keys of the terminal interface", 29);
    aot_help_entry(out, "aotscope help WORD", "a word, rung, ban, finding, wrapper", 29);
    aot_help_entry(out, "aotscope --version", "the version", 29);
    aot_sb_addz(out, "\nExit codes: 0 done or same, 1 differs or findings, 2 error.\n");
}

const char *aot_help_range_word(const aot_config_row *r)
{
    return r->type == 'S'                         ? "one of"
           : r->type == 'L' && r->range[0] == 'o' ? "a list of"
           : r->type == 'L'                       ? "value"
                                                  : "range";
}

void aot_help_setting(aot_sb *out, const aot_config_row *r)
{
    aot_sb_addf(out, "  %s=%s\n      ", r->name, r->def_text);
    wrap(out, r->doc, strlen(r->doc), 6, 6);
    if (r->range[0] != '\0') {
        aot_sb_addz(out, "      ");
        aot_sb text = {0};
        aot_sb_addf(&text, "%s: %s", aot_help_range_word(r), r->range);
        wrap(out, aot_sb_text(&text), text.n, 6, 6);
        aot_sb_free(&text);
    }
}

void aot_help_settings(aot_sb *out, bool color)
{
    aot_help_heading(out, AOT_HELP_SETTINGS_TITLE, color);
    for (size_t i = 0; i < aot_config_count(); i++) {
        aot_help_setting(out, aot_config_row_at(i));
    }
}

void aot_help_stage(aot_sb *out, const aot_stage_info *i)
{
    aot_help_entry(out, i->name, i->sentence, 20);
    aot_sb_pad(out, ' ', 20);
    wrap(out, i->how_to_get, strlen(i->how_to_get), 20, 20);
}

void aot_help_stages(aot_sb *out, bool color)
{
    aot_help_heading(out, "Stages of a unit, in pipeline order", color);
    for (int s = 0; s < AOT_N_STAGES; s++) {
        aot_help_stage(out, aot_stage_get((aot_stage)s));
    }
}

void aot_help_formats(aot_sb *out, bool color)
{
    aot_help_heading(out, "What export shows (--what)", color);
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        aot_help_entry(out, aot_viewer_at(i)->name, aot_viewer_at(i)->sentence, 20);
    }
    aot_sb_addc(out, '\n');
    aot_help_heading(out, "Formats (--format, or the ending of -o)", color);
    for (size_t i = 0; i < aot_n_formats(); i++) {
        const aot_format *f = aot_format_at(i);
        aot_sb text = {0};
        aot_sb_addf(&text, "%s %s", f->endings, f->sentence);
        aot_help_entry(out, f->name, aot_sb_text(&text), 20);
        aot_sb_free(&text);
    }
}

void aot_help_selection(aot_sb *out, bool color)
{
    static const char how[] = "Terms stand apart by blanks and all must hold; ! in front negates "
                              "one. Any other word is a regular "
                              "expression that the name or operator must contain (small letters "
                              "fit capitals). Commas give alternatives; "
                              "\"...\" keeps blanks and makes a word of the list a plain text. "
                              "Numbers may end in K, M, G, T (1024) or KB, "
                              "MB (1000). So `save mul` means mul, mul_1 and every other product, "
                              "`save node:mul` the one value of that "
                              "name; the interface says how many nodes match.";
    aot_help_heading(out, "Selections (show --filter, policies)", color);
    wrap(out, how, sizeof how - 1, 0, 0);
    for (size_t i = 0; i < aot_select_count(); i++) {
        aot_select_row r = aot_select_row_at(i);
        aot_sb left = {0};
        aot_sb_addf(&left, "%s%s%s", r.name,
                    r.kind == AOT_SELECT_TEXT ? ":" : r.kind == AOT_SELECT_NUMBER ? ">N <N =N" : "",
                    r.kind == AOT_SELECT_TEXT ? r.arg : "");
        aot_help_entry(out, aot_sb_text(&left), r.doc, 20);
        aot_sb_free(&left);
    }
    aot_help_heading(out, "\nLines of a policy (--policy FILE; # begins a comment)", color);
    for (int k = 0; k < AOT_N_UNIT_EDIT_KINDS; k++) {
        const aot_unit_edit_row *r = aot_unit_edit_kind_get((aot_unit_edit_kind)k);
        aot_sb left = {0};
        aot_sb_addf(&left, "%s %s", r->word, r->arg);
        aot_help_entry(out, aot_sb_text(&left), r->doc, 24);
        aot_sb_free(&left);
    }
}

void aot_help_keys(aot_sb *out, bool color)
{
    aot_keymap *map = aot_keymap_new();
    const char *group = "";
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        char keys[160];
        aot_sb left = {0};
        if (strcmp(group, aot_action_group((aot_action)a)) != 0) {
            if (group[0] != '\0') {
                aot_sb_addc(out, '\n');
            }
            group = aot_action_group((aot_action)a);
            aot_help_heading(out, group, color);
        }
        aot_keymap_all(map, (aot_action)a, keys, sizeof keys);
        aot_sb_addf(&left, "%-14s %s", aot_action_name((aot_action)a), keys);
        aot_help_entry(out, aot_sb_text(&left), aot_action_doc((aot_action)a), 40);
        aot_sb_free(&left);
    }
    aot_keymap_free(map);
    aot_sb_addz(out, "\nEvery action can be given by name after ':'. Other keys: put `bind MAP KEY "
                     "ACTION` lines\ninto $XDG_CONFIG_HOME/aotscope/keys.\n");
}
