/* Whether Inductor's joint-graph passes ran on a unit although no record says that Inductor
 * compiled it (a backend of the user's that calls them): the recorded joint graph was cut only
 * after them.
 *
 * Operators are counted in the texts first: the cut puts every node into forward, backward or both,
 * so counts that fit need no more. Else the joint graph is cut, and what was recorded decides. */
#include <string.h>

#include "session/check.h"
#include "session/derive.h"

typedef AOT_VEC(int32_t) counts;

static const char *text_of(const aot_unit *u, aot_stage s)
{
    const aot_record *r = aot_unit_stage(u, s);
    return r != NULL ? r->text : NULL;
}

/* Adds `by` to the count of each operator in a text. */
static void count_ops(counts *v, aot_strtab *names, const char *text, int by)
{
    static const char *const spaces[] = {"torch.ops.aten.", "torch.ops.prims."};
    for (int k = 0; k < 2; k++) {
        for (const char *p = text; (p = strstr(p, spaces[k])) != NULL;) {
            size_t n = strcspn(p, "(,) ");
            aot_str s = aot_intern(names, p, n);
            while (v->n <= s) {
                aot_vec_push(v, 0);
            }
            v->d[s] += by;
            p += n;
        }
    }
}

/* Whether forward and backward together have less of an operator than the joint graph, or one that
 * it has not. More of it is what recomputing does. */
static bool counts_differ(const char *joint, const char *forward, const char *backward)
{
    aot_strtab *names = aot_strtab_new();
    counts in_joint = {0}, cut = {0};
    count_ops(&in_joint, names, joint, 1);
    count_ops(&cut, names, forward, 1);
    count_ops(&cut, names, backward, 1);
    bool differ = cut.n > in_joint.n; // numbered after those of the joint graph
    for (size_t i = 0; i < in_joint.n && !differ; i++) {
        differ = in_joint.d[i] > (i < cut.n ? cut.d[i] : 0);
    }
    aot_vec_free(&in_joint);
    aot_vec_free(&cut);
    aot_strtab_free(names);
    return differ;
}

/* Whether what was recorded follows from the joint graph through the passes, and not without
 * them. */
static bool follows_through_passes(const aot_unit *u)
{
    aot_config config;
    aot_ctx *c = aot_unit_new_ctx(u);
    aot_arena *a = aot_arena_new();
    const aot_graph *joint = NULL;
    aot_partition *p = NULL;
    aot_check_result r[AOT_CHECK_MAX];
    bool yes = false;
    aot_unit_recorded_config(&config, u);
    config.fallback_random |= aot_unit_keeps_random(u);
    if (aot_record_parse(&joint, c, u, aot_unit_stage(u, AOT_STAGE_JOINT), NULL) == AOT_OK &&
        aot_derive_partition(&p, u, joint, &config, NULL, NULL) == AOT_OK) {
        size_t n = aot_check_unit(r, u, p, NULL, a);
        yes = n > 0;
        for (size_t i = 0; i < n; i++) {
            yes &= r[i].verdict == AOT_CHECK_SAME && r[i].through_passes;
        }
    }
    aot_arena_free(a);
    aot_ctx_free(c);
    return yes;
}

void aot_unit_find_backend(aot_unit *u)
{
    const char *joint = text_of(u, AOT_STAGE_JOINT), *fw = text_of(u, AOT_STAGE_FORWARD);
    const char *bw = text_of(u, AOT_STAGE_BACKWARD);
    aot_config none;
    aot_config_init(&none);
    if ((u->backend != NULL && u->backend[0] != '\0') || aot_unit_is_inductors(u) ||
        joint == NULL || fw == NULL || bw == NULL ||
        !aot_unit_decomposes(u, &none)) { // the backend's table is Inductor's
        return;
    }
    if (counts_differ(joint, fw, bw) && follows_through_passes(u)) {
        u->backend = "inductor_joint";
    }
}
