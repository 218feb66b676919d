/* Tags of a node, one function a row of node_tags.def. */
#include "viewers/node_tags.h"

#include <stdio.h>

typedef void tag_fn(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                    const aot_node_info *cut);

static void tag_recompute(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                          const aot_node_info *cut)
{
    aot_policy policy = (aot_policy)(cut != NULL ? cut->policy : aot_node_at(g, id)->policy);
    if (policy != AOT_POLICY_NONE) {
        snprintf(buf, size, "%s", aot_policy_name(policy));
    }
}

static void tag_ac_graph_id(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                            const aot_node_info *cut)
{
    (void)cut;
    int32_t region = g->srcs.d[aot_node_at(g, id)->src].ac_graph_id;
    if (region >= 0) {
        snprintf(buf, size, "%d", (int)region);
    }
}

static void tag_partitioner_tag(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                                const aot_node_info *cut)
{
    aot_node_kind kind = (aot_node_kind)aot_node_at(g, id)->kind;
    if (cut != NULL && kind != AOT_PLACEHOLDER && kind != AOT_OUTPUT) {
        snprintf(buf, size, "%s", cut->backward_made ? "is_backward" : "is_forward");
    }
}

static const struct {
    const char *name;
    tag_fn *value;
} rows[] = {
#define TAG(name, doc) {#name, tag_##name},
#include "viewers/node_tags.def"
#undef TAG
};

const char *aot_node_tag_name(aot_node_tag t)
{
    return rows[t].name;
}

const char *aot_node_tag_value(char *buf, size_t size, aot_node_tag t, const aot_graph *g,
                               aot_node_id id, const aot_node_info *cut)
{
    buf[0] = '\0';
    rows[t].value(buf, size, g, id, cut);
    return buf;
}

void aot_node_tags_asked(aot_sb *out, const aot_graph *g, aot_node_id id, const aot_node_info *cut)
{
    for (int t = 0; t < AOT_N_NODE_TAGS; t++) {
        char value[64];
        aot_node_tag_value(value, sizeof value, (aot_node_tag)t, g, id, cut);
        if (*value && t != AOT_NODE_TAG_partitioner_tag) {
            aot_sb_addf(out, "%s%s=%s", out->n ? " " : "", rows[t].name, value);
        }
    }
}
