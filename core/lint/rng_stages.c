/* The order of drawing, stage by stage. Decompositions change what is drawn (native_dropout becomes
 * rand_like), Inductor's passes from what (Philox by a seed), and the cut what is drawn twice. */
#include "lint/rng_stages.h"

static bool stage_sites(aot_rng_sites *out, aot_model *m, size_t unit, aot_stage s)
{
    const aot_graph *g = NULL;
    bool there = s != AOT_STAGE_RUNTIME &&
                 aot_model_stage(m, unit, s).origin != AOT_ORIGIN_MISSING &&
                 aot_model_graph(m, unit, s, &g, NULL) == AOT_OK;
    if (there) {
        aot_rng_find(out, g);
    }
    return there;
}

static unsigned count_draws(const aot_rng_sites *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += s->d[i].use != AOT_RNG_NOTHING && s->d[i].use != AOT_RNG_RESTORES;
    }
    return n;
}

/* What the backward draws with the forward's state is the same draw. */
static void add_backward(aot_rng_sites *out, aot_model *m, size_t unit)
{
    aot_rng_sites bw = {0};
    stage_sites(&bw, m, unit, AOT_STAGE_BACKWARD);
    for (size_t i = 0; i < bw.n; i++) {
        if (bw.d[i].use == AOT_RNG_DRAWS) {
            aot_vec_push(out, bw.d[i]);
        }
    }
    aot_vec_free(&bw);
}

static bool has_joint(aot_model *m, size_t unit)
{
    return aot_model_stage(m, unit, AOT_STAGE_JOINT).origin != AOT_ORIGIN_MISSING;
}

size_t aot_rng_stages(aot_rng_stage out[AOT_N_STAGES], aot_model *m, size_t unit, aot_arena *a)
{
    aot_rng_sites before = {0};
    aot_stage last = AOT_N_STAGES;
    size_t n = 0;
    bool joint = has_joint(m, unit);
    for (int i = AOT_STAGE_ATEN; i < AOT_N_STAGES; i++) {
        aot_stage s = (aot_stage)i;
        aot_rng_sites now = {0};
        bool other_path = joint && (s == AOT_STAGE_INFERENCE || s == AOT_STAGE_EXPORT);
        if (s == AOT_STAGE_BACKWARD || other_path || !stage_sites(&now, m, unit, s)) {
            continue;
        }
        if (s == AOT_STAGE_FORWARD) {
            add_backward(&now, m, unit);
        }
        aot_rng_stage *r = &out[n];
        *r = (aot_rng_stage){.stage = s, .n_draws = count_draws(&now), .before = last, .text = ""};
        if (last != AOT_N_STAGES) {
            r->order = aot_rng_compare(&r->text, &before, &now, a);
        }
        n += r->n_draws > 0 || r->text[0] != '\0';
        aot_vec_free(&before);
        before = now;
        last = s;
    }
    aot_vec_free(&before);
    return n;
}

const char *aot_rng_eager_name(aot_rng_eager e)
{
    static const char *const names[] = {"same", "forward", "other", "unknown"};
    return names[e];
}

static bool has_kind(const aot_rng_sites *s, aot_rng_kind k)
{
    bool has = false;
    for (size_t i = 0; i < s->n; i++) {
        has |= s->d[i].kind == k && s->d[i].use != AOT_RNG_NOTHING;
    }
    return has;
}

static aot_rng_eager compare_with_eager(const char **text, const aot_rng_sites *eager,
                                        const aot_rng_sites *now, aot_arena *a)
{
    const char *differs;
    if (has_kind(now, AOT_RNG_SEED) || has_kind(now, AOT_RNG_OFFSET)) {
        *text = "they are Philox by a seed that the graph draws, whatever eager's seed is";
        return AOT_RNG_EAGER_OTHER;
    }
    switch (aot_rng_compare(&differs, eager, now, a)) {
    case AOT_RNG_SAME:
        *text = "the same operators draw from the same generators in the same order";
        return AOT_RNG_EAGER_SAME;
    case AOT_RNG_REORDERED:
        *text = aot_arena_printf(a, "the order is another one: %s", differs);
        return AOT_RNG_EAGER_OTHER;
    default:
        *text = differs;
        return AOT_RNG_EAGER_OTHER;
    }
}

/* Same draws in the forward: are they all that the backward uses? */
static aot_rng_eager check_backward(const char **text, aot_model *m, size_t unit, aot_arena *a)
{
    const aot_partition *p;
    aot_rng_eager e = AOT_RNG_EAGER_SAME;
    aot_rng r;
    if (aot_model_partition(m, unit, &p, NULL) != AOT_OK) {
        return e;
    }
    aot_rng_of(&r, p);
    for (size_t i = 0; i < r.values.n && e == AOT_RNG_EAGER_SAME; i++) {
        if (r.values.d[i].fate == AOT_RNG_REDRAWN) {
            e = AOT_RNG_EAGER_FORWARD;
            *text = aot_arena_printf(
                a,
                "the backward draws %s again with another state, where eager uses the first draw",
                aot_node_name(p->cut, r.values.d[i].node));
        }
    }
    aot_rng_free(&r);
    return e;
}

aot_rng_eager aot_rng_against_eager(const char **text, aot_model *m, size_t unit, aot_arena *a)
{
    aot_rng_sites eager = {0}, now = {0};
    aot_stage s = has_joint(m, unit) ? AOT_STAGE_FORWARD : AOT_STAGE_INFERENCE;
    aot_rng_eager e = AOT_RNG_EAGER_UNKNOWN;
    const aot_graph *g = NULL;
    aot_err err = {0};
    if (aot_model_graph(m, unit, AOT_STAGE_ATEN, &g, &err) != AOT_OK) {
        *text = aot_arena_printf(a, "%s", err.msg);
    } else if (stage_sites(&now, m, unit, s)) {
        aot_rng_find(&eager, g);
        e = compare_with_eager(text, &eager, &now, a);
        e = e == AOT_RNG_EAGER_SAME && s == AOT_STAGE_FORWARD ? check_backward(text, m, unit, a)
                                                              : e;
    } else {
        *text = "the unit has no forward";
    }
    aot_vec_free(&eager);
    aot_vec_free(&now);
    return e;
}
