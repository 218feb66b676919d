/* An infinite cut in words: which value is asked for twice over, by whom, and what would resolve
 * it.
 *
 * The path runs from source to sink over infinite edges: its first edge says that a value must not
 * be recomputed, its last that the backward needs (or recomputes) one, and those between that
 * nothing on the way can be saved instead.
 * Mirrors: the message built in partitioners.py:solve_min_cut; the text is ours. */
#include <string.h>

#include "partition/internal.h"

static aot_node_id node_of(uint32_t vertex)
{
    return (vertex - 2) / 2;
}

static const char *policy_words(const part *p, aot_node_id id)
{
    const char *name = aot_policy_name(p->m.policy[id]);
    return name[0] != '\0' ? name : "no policy";
}

static void why_not_recomputed(const part *p, aot_node_id id, aot_ban ban, aot_sb *out)
{
    const aot_node *n = aot_node_at(p->g, id);
    if (part_is_primal(p->g, n)) {
        aot_sb_addf(out, "%s is an input and cannot be recomputed", aot_text(p->ctx, n->name));
    } else if (p->m.policy[id] == AOT_POLICY_MUST_SAVE) {
        aot_sb_addf(out, "%s is marked MUST_SAVE and must not be recomputed",
                    aot_text(p->ctx, n->name));
    } else {
        const aot_op_info *op = aot_node_op(n);
        aot_sb_addf(out, "%s (%s) must not be recomputed", aot_text(p->ctx, n->name),
                    n->op != AOT_OP_UNKNOWN ? op->packet : aot_text(p->ctx, n->target));
        if (ban != AOT_BAN_NONE) {
            aot_sb_addf(out, ": %s", aot_ban_text(ban));
        }
    }
}

static bool unsaved_view(const part *p, aot_node_id id)
{
    return p->config->recompute_views && part_is_view(p, id);
}

static void why_not_saved(const part *p, aot_node_id id, aot_sb *out)
{
    const aot_node *n = aot_node_at(p->g, id);
    if (unsaved_view(p, id)) {
        aot_sb_addf(out, "; %s is a view and recompute_views forbids saving it",
                    aot_text(p->ctx, n->name));
    } else {
        aot_sb_addf(out, "; %s is no tensor and cannot be saved", aot_text(p->ctx, n->name));
    }
}

static void why_needed(const part *p, aot_node_id id, bool out_side, aot_sb *out)
{
    const char *name = aot_node_name(p->g, id);
    if (part_must_recompute(p->m.policy[id]) && !out_side) {
        aot_sb_addf(out, "; %s is marked %s and must be recomputed", name, policy_words(p, id));
    } else if (out_side) {
        aot_sb_addf(out, "; the backward returns %s", name);
    } else {
        aot_sb_addf(out, "; %s is computed in the backward", name);
    }
}

aot_status part_explain_unbounded(const part *p, const uint32_t *path, uint32_t n_path,
                                  const uint8_t *ban)
{
    aot_sb text = {0};
    aot_node_id view = AOT_NO_NODE;
    if (n_path < 3) {
        return AOT_FAIL(p->err, AOT_E_UNBOUNDED, "the cut is infinite, and no chain was found");
    }
    aot_node_id first = node_of(path[1]), last = node_of(path[n_path - 2]);
    bool last_out = (path[n_path - 2] & 1) != 0;
    aot_sb_addz(&text, "infinite cut: ");
    why_not_recomputed(p, first, (aot_ban)ban[first], &text);
    for (uint32_t i = 1; i + 2 < n_path; i++) {
        if (node_of(path[i]) == node_of(path[i + 1])) {
            why_not_saved(p, node_of(path[i]), &text);
            view = unsaved_view(p, node_of(path[i])) ? node_of(path[i]) : view;
        } else {
            aot_sb_addf(&text, "; %s uses %s", aot_node_name(p->g, node_of(path[i + 1])),
                        aot_node_name(p->g, node_of(path[i])));
        }
    }
    why_needed(p, last, last_out, &text);
    // the smallest change: drop one of the two demands
    aot_sb_addz(&text, ". Remedy: ");
    if (view != AOT_NO_NODE) {
        aot_sb_addf(&text, "set recompute_views=False, so that %s can be saved",
                    aot_node_name(p->g, view));
    } else if (p->m.policy[first] == AOT_POLICY_MUST_SAVE &&
               part_must_recompute(p->m.policy[last])) {
        aot_sb_addf(&text, "change the policy of %s or of %s (%s)", aot_node_name(p->g, first),
                    aot_node_name(p->g, last), policy_words(p, last));
    } else if (!last_out && part_must_recompute(p->m.policy[last])) {
        aot_sb_addf(&text, "clear %s on %s", policy_words(p, last), aot_node_name(p->g, last));
    } else {
        aot_sb_addf(
            &text, "let %s be recomputed (drop its ban), or save a tensor between %s and %s",
            aot_node_name(p->g, first), aot_node_name(p->g, first), aot_node_name(p->g, last));
    }
    aot_status s = AOT_FAIL(p->err, AOT_E_UNBOUNDED, "%s", text.d);
    aot_sb_free(&text);
    return s;
}
