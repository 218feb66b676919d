/* Explanations in words. */
#include "tui/explain_words.h"

#include <string.h>

#include "viewers/format.h"

void explain_ban_words(aot_sb *out, const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    if (n->ban != AOT_BAN_NONE) {
        const char *text = aot_ban_text((aot_ban)n->ban);
        aot_sb_addf(out, "%s: %s", text != NULL ? text : "", aot_ban_sentence((aot_ban)n->ban));
    } else if (n->ban_asked != AOT_BAN_NONE) {
        aot_sb_addf(out, "%s, but a view, a tag or the budget overrules it", aot_ban_text((aot_ban)n->ban_asked));
    } else {
        aot_sb_addf(out, "none: %s", n->required_fw ? "it may be recomputed" : "it is no part of the forward");
    }
}

const char *explain_sink_words(const aot_explain *x)
{
    uint8_t sink = x->p->nodes[x->id].sink;
    return sink == AOT_SINK_NONE ? ""
           : sink == AOT_SINK_IN ? "made in the backward, or to be recomputed"
                                 : "the backward needs its value";
}

void explain_limit_words(aot_sb *out, const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    char limit[32], weight[32];
    if (x->weight_limit == 0) {
        aot_sb_addz(out, "it would not be saved even if it were free");
    } else if (x->weight_limit > 0 && x->weight_limit == n->weight) {
        aot_sb_addf(out, "a tie: at %s another cut costs as much; the one nearest to the backward is taken",
                    aot_format_count(limit, sizeof limit, x->weight_limit));
    } else if (x->weight_limit > 0) {
        aot_sb_addf(out, "saved while it is below %s; it is %s",
                    aot_format_count(limit, sizeof limit, x->weight_limit),
                    aot_format_count(weight, sizeof weight, n->weight));
    } else if (strcmp(x->p->rung, "one cut") == 0 && n->verdict == AOT_V_SAVED) {
        aot_sb_addz(out, "no other value can take its place, whatever its weight");
    }
}

bool explain_flips(const aot_explain *x, const aot_change *c)
{
    return !c->failed && c->verdict != x->p->nodes[x->id].verdict;
}

void explain_edit_line(aot_sb *out, const aot_explain *x, const aot_change *c)
{
    const char *name = aot_node_name(x->p->cut, x->id);
    if (strcmp(c->what, "tag MUST_SAVE") == 0) {
        aot_sb_addf(out, "save node:%s", name);
    } else if (strcmp(c->what, "tag MUST_RECOMPUTE") == 0) {
        aot_sb_addf(out, "recompute node:%s", name);
    } else if (strcmp(c->what, "no tag") == 0) {
        aot_sb_addf(out, "clear node:%s", name);
    } else {
        aot_sb_addf(out, "set %s", c->what);
    }
}
