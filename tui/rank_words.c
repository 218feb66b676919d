/* The comparison of ranks in words. Of the unit that is the measure the figures alone are said. */
#include "tui/rank_words.h"

#include "viewers/format.h"

char rank_sign(const aot_rank_unit *u)
{
    static const char signs[] = {'=', '~', '!', '?'};
    return u->unit == AOT_RANK_MISSING ? '-' : u->first ? ' ' : signs[aot_rank_unit_verdict(u)];
}

aot_style rank_style(aot_rank_verdict v)
{
    static const aot_style styles[] = {AOT_STYLE_NORMAL, AOT_STYLE_SOURCE, AOT_STYLE_ERROR,
                                       AOT_STYLE_DIM};
    return styles[v];
}

void rank_graph_words(aot_sb *out, const aot_rank_unit *u)
{
    if (u->unit == AOT_RANK_MISSING) {
        aot_sb_addz(out, "not on this rank");
    } else if (u->first) {
        aot_sb_addz(out, "the measure");
    } else if (u->graph == AOT_RANK_SIZES) {
        aot_sb_addf(out, "other sizes (%s)", aot_stage_get(u->stage)->name);
    } else if (u->graph == AOT_RANK_DIFFERS) {
        static const char *const signs[] = {"", " ~%u", " -%u", " +%u"};
        aot_sb_addf(out, "%s differs:", aot_stage_get(u->stage)->name);
        for (int k = AOT_EDIT_CHANGED; k <= AOT_EDIT_ADDED; k++) {
            if (u->counts.n[k] > 0) {
                aot_sb_addf(out, signs[k], u->counts.n[k]);
            }
        }
    } else {
        aot_sb_addz(out, aot_rank_verdict_name(u->graph));
    }
}

/* "5 and 1 symbol, 6.5 KiB". */
static void count_words(aot_sb *out, const aot_rank_unit *u, const char *bytes)
{
    aot_sb_addf(out, "%u", u->n_saved);
    if (u->n_saved_sym > 0) {
        aot_sb_addf(out, " and %u symbol%s", u->n_saved_sym, u->n_saved_sym == 1 ? "" : "s");
    }
    aot_sb_addf(out, ", %s", bytes);
}

void rank_saved_words(aot_sb *out, const aot_rank_unit *u)
{
    char bytes[32];
    if (u->unit == AOT_RANK_MISSING) {
        return;
    }
    if (u->saved_bytes < 0) {
        aot_sb_addz(out, "no partition");
        return;
    }
    aot_format_bytes(bytes, sizeof bytes, u->saved_bytes);
    if (u->first || u->saved == AOT_RANK_UNKNOWN) {
        count_words(out, u, bytes);
    } else if (u->saved_less + u->saved_more > 0) {
        aot_sb_addf(out, "differs: -%u +%u, %s", u->saved_less, u->saved_more, bytes);
    } else if (u->saved == AOT_RANK_DIFFERS) {
        count_words(out, u, bytes); // the measure has no partition
    } else {
        aot_sb_addf(out, "%s, %s", u->saved == AOT_RANK_SIZES ? "other sizes" : "same", bytes);
    }
}

void rank_collective_words(aot_sb *out, const aot_rank_unit *u)
{
    if (u->unit == AOT_RANK_MISSING) {
        return;
    }
    if (u->collectives == AOT_RANK_DIFFERS) {
        aot_sb_addf(out, "number %zu is %s, not %s", u->place, u->ours ? u->ours : "none",
                    u->theirs ? u->theirs : "none");
    } else if (u->n_collectives == 0 || u->first) {
        aot_sb_addf(out, "%zu", u->n_collectives);
    } else {
        aot_sb_addf(out, "%zu in the same order%s", u->n_collectives,
                    u->collectives == AOT_RANK_SIZES ? ", other sizes" : "");
    }
}
