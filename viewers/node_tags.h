/* Tags of a node: what node.meta holds for the partitioner, by PyTorch's names. */
#ifndef AOT_VIEWERS_NODE_TAGS_H
#define AOT_VIEWERS_NODE_TAGS_H

#include "partition/partition.h"

typedef enum aot_node_tag {
#define TAG(name, doc) AOT_NODE_TAG_##name,
#include "viewers/node_tags.def"
#undef TAG
    AOT_N_NODE_TAGS
} aot_node_tag;

const char *aot_node_tag_name(aot_node_tag t);
/* Its value for a node of g; cut: what is known of it as a node of the graph that is cut, NULL:
 * nothing. "" if it has none. Returns buf. */
const char *aot_node_tag_value(char *buf, size_t size, aot_node_tag t, const aot_graph *g,
                               aot_node_id id, const aot_node_info *cut);
/* "recompute=MUST_SAVE ac_graph_id=6": what somebody asked for; the side is left out, as every node
 * has one. */
void aot_node_tags_asked(aot_sb *out, const aot_graph *g, aot_node_id id, const aot_node_info *cut);

#endif
