/* Help texts, all made from the same tables: commands and their options, settings, stages, keys. */
#ifndef AOT_TUI_HELP_H
#define AOT_TUI_HELP_H

#include "base/str.h"
#include "pipeline/config.h"
#include "tui/cmd.h"

/* The page of `aotscope help NAME` and `aotscope NAME --help`. */
void aot_help_command(aot_sb *out, const aot_cmd *cmd, bool color);
/* The list of commands: `aotscope help`. */
void aot_help_overview(aot_sb *out, bool color);
/* Settings of --set: `aotscope help settings`; stages: `aotscope help stages`. */
void aot_help_settings(aot_sb *out, bool color);
const char *aot_help_range_word(const aot_config_row *r); /* before the range of a setting */
/* The settings, stages and things to export that are called so, else those whose name holds the
 * word; false: none. */
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
