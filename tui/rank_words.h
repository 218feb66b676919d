/* What a rank has of a unit, in words: for the command and the view. */
#ifndef AOT_TUI_RANK_WORDS_H
#define AOT_TUI_RANK_WORDS_H

#include "base/str.h"
#include "lint/ranks.h"
#include "viewers/canvas.h"

/* '=' the same, '~' other sizes, '!' differs, '-' not there, '?' unknown; ' ' of the measure
 * itself. */
char rank_sign(const aot_rank_unit *u);
aot_style rank_style(aot_rank_verdict v);
/* A few words each, appended: "joint differs: ~2 -1", "same, 6.5 KiB", "2 in the same order". */
void rank_graph_words(aot_sb *out, const aot_rank_unit *u);
void rank_saved_words(aot_sb *out, const aot_rank_unit *u);
void rank_collective_words(aot_sb *out, const aot_rank_unit *u);

#endif
