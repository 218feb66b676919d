/* Help texts, all made from the same tables: commands and their options, settings, stages, keys. */
#ifndef AOT_TUI_HELP_H
#define AOT_TUI_HELP_H

#include "base/str.h"
#include "pipeline/config.h"
#include "pipeline/stage.h"
#include "tui/cmd.h"

/* The page of `aotscope help NAME` and `aotscope NAME --help`. */
void aot_help_command(aot_sb *out, const aot_cmd *cmd, bool color);
/* The list of commands: `aotscope help`. */
void aot_help_overview(aot_sb *out, bool color);
/* Settings of --set: `aotscope help settings`; stages: `aotscope help stages`. */
void aot_help_settings(aot_sb *out, bool color);
const char *aot_help_range_word(const aot_config_row *r); /* before the range of a setting */
/* Parts of a page: a title, a row of two columns, a setting, a stage. */
#define AOT_HELP_SETTINGS_TITLE "Settings (--set NAME=VALUE, values as Python writes them)"
void aot_help_heading(aot_sb *out, const char *title, bool color);
void aot_help_entry(aot_sb *out, const char *left, const char *right, size_t column);
void aot_help_setting(aot_sb *out, const aot_config_row *r);
void aot_help_stage(aot_sb *out, const aot_stage_info *i);
/* Rows of any table that are called so, else those whose name holds the word (words.def, settings,
 * stages, rungs, bans, findings, wrappers, ...); false: none. */
bool aot_help_term(aot_sb *out, const char *word, bool color);
void aot_help_stages(aot_sb *out, bool color);
void aot_help_formats(aot_sb *out, bool color); /* what `export` shows, and how it writes */
void aot_help_selection(aot_sb *out, bool color); /* what --filter and policies take */
/* Key table of the terminal interface: `aotscope help keys`. */
void aot_help_keys(aot_sb *out, bool color);

void aot_help_man(aot_sb *out);      /* man page, roff */
void aot_help_keys_markdown(aot_sb *out); /* docs/keys.md */
void aot_help_markdown(aot_sb *out); /* the same as Markdown: docs/commands.md */
/* shell: bash, zsh or fish; false if it is none of these. */
bool aot_help_completion(aot_sb *out, const char *shell);

#endif
