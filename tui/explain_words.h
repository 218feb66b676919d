/* What is to be said of an explained value, in words: for the command and the view. */
#ifndef AOT_TUI_EXPLAIN_WORDS_H
#define AOT_TUI_EXPLAIN_WORDS_H

#include <jansson.h>

#include "base/str.h"
#include "partition/explain.h"

/* The ban with PyTorch's own reason and the rule, or what overrules it, or that there is none. */
void explain_ban_words(aot_sb *out, const aot_explain *x);
/* Why the backward needs the value, or makes it; "" if neither. */
const char *explain_sink_words(const aot_explain *x);
/* Which weight would change the verdict; nothing if none would. */
/* "first cut 36,044, second cut 27,033 (decides)": weight of each cut that was made, in all. */
void explain_cut_words(aot_sb *out, const aot_partition *p);
/* The same three numbers, null where a cut was not made. */
json_t *explain_cuts_json(const aot_partition *p);
void explain_limit_words(aot_sb *out, const aot_explain *x);
/* "primals_1 in -> out", "source -> mm". */
void explain_edge_words(aot_sb *out, const aot_explain *x, const aot_net_edge *e);
/* "inf", "39,649", "39,649, cut". */
void explain_capacity_words(aot_sb *out, const aot_net_edge *e);
/* Which cut edges hold the value, in one sentence; or why none does. */
void explain_around_words(aot_sb *out, const aot_explain *x);
/* "mm <- t, made at model.py:12: y = x @ w" for a value without a line of its own; "" for others
 * and for inputs. */
void explain_source_words(aot_sb *out, const aot_explain *x);
/* The value among the knapsack's items, or why it is none of them; "" at a budget of 1. */
void explain_item_words(aot_sb *out, const aot_explain *x);
/* Rows of the items' table: the first ones and the value's own. */
enum { EXPLAIN_ITEMS = 8 };
bool explain_shows_item(const aot_explain *x, uint32_t item);
/* The least change of weight and of tag that flips it, from what to what; "" if there is none. */
void explain_flip_weight_words(aot_sb *out, const aot_explain *x);
void explain_flip_change_words(aot_sb *out, const aot_explain *x);
/* "saved at 0.426 to 1; recomputed at 0 to 0.425": the verdict at each memory budget; "" if it was
 * not asked. */
void explain_budget_words(aot_sb *out, const aot_explain *x);
/* Whether a change leads to another verdict. */
bool explain_flips(const aot_explain *x, const aot_change *c);
/* The line of partition/edits.h that makes a change last: "save node:mm". */
void explain_edit_line(aot_sb *out, const aot_explain *x, const aot_change *c);

#endif
