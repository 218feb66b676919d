/* What is to be said of an explained value, in words: for the command and the view. */
#ifndef AOT_TUI_EXPLAIN_WORDS_H
#define AOT_TUI_EXPLAIN_WORDS_H

#include "base/str.h"
#include "partition/explain.h"

/* The ban with PyTorch's own reason and the rule, or what overrules it, or that there is none. */
void explain_ban_words(aot_sb *out, const aot_explain *x);
/* Why the backward needs the value, or makes it; "" if neither. */
const char *explain_sink_words(const aot_explain *x);
/* Which weight would change the verdict; nothing if none would. */
void explain_limit_words(aot_sb *out, const aot_explain *x);
/* Whether a change leads to another verdict. */
bool explain_flips(const aot_explain *x, const aot_change *c);
/* The line of partition/edits.h that makes a change last: "save node:mm". */
void explain_edit_line(aot_sb *out, const aot_explain *x, const aot_change *c);

#endif
