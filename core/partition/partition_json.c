/* k.partition.json: the partition as the command line's contract has it. */
#include <jansson.h>

#include "base/number.h"
#include "partition/partition.h"

static json_t *names(const aot_partition *p, const aot_node_id *ids, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(a, json_string(aot_node_name(p->cut, ids[i])));
    }
    return a;
}

static json_t *node_json(const aot_node_info *x)
{
    json_t *o = json_object();
    json_object_set_new(o, "bytes", json_integer(x->bytes));
    if (x->weight >= 0) {
        json_object_set_new(o, "weight",
                            x->weight == AOT_WEIGHT_INF ? json_string("inf")
                                                        : json_integer(x->weight));
    }
    json_object_set_new(o, "ban",
                        x->ban != AOT_BAN_NONE ? json_string(aot_ban_text(x->ban)) : json_null());
    json_object_set_new(o, "sink", x->sink == AOT_SINK_IN    ? json_string("in")
                                   : x->sink == AOT_SINK_OUT ? json_string("out")
                                                             : json_null());
    json_object_set_new(o, "verdict", json_string(aot_verdict_name(x->verdict)));
    return o;
}

static json_t *knapsack_json(const aot_partition *p)
{
    json_t *items = json_array();
    for (uint32_t i = 0; i < p->n_items; i++) {
        const aot_budget_item *x = &p->items[i];
        json_array_append_new(items, json_pack("{s:s, s:f, s:f, s:b}", "node",
                                               aot_node_name(p->cut, x->node), "memory", x->memory,
                                               "runtime", x->runtime, "saved", (int)x->saved));
    }
    return json_pack("{s:s, s:f, s:f, s:b, s:o}", "solver",
                     p->config.activation_memory_budget_solver, "capacity",
                     p->config.activation_memory_budget, "saved_memory", p->items_saved,
                     "over_capacity", (int)p->over_capacity, "items", items);
}

json_t *aot_partition_json(const aot_partition *p, int unit)
{
    json_t *o = json_object(), *nodes = json_object();
    json_object_set_new(o, "format", json_string("aotscope/1"));
    json_object_set_new(o, "unit", json_integer(unit));
    json_object_set_new(o, "saved", names(p, p->saved, p->n_saved));
    json_object_set_new(o, "saved_sym", names(p, p->saved_sym, p->n_saved_sym));
    json_object_set_new(o, "cut_value",
                        p->cut_values[0] >= 0 ? json_integer(p->cut_values[0]) : json_null());
    json_object_set_new(o, "rung", json_string(p->rung));
    json_object_set_new(o, "saved_bytes", json_integer(p->saved_bytes));
    json_object_set_new(o, "recompute_flops", json_integer(aot_int_of_real(p->recompute_flops)));
    if (p->recompute_ms >= 0) {
        json_object_set_new(o, "recompute_ms", json_real(p->recompute_ms));
    }
    json_object_set_new(o, "knapsack", p->items != NULL ? knapsack_json(p) : json_null());
    json_object_set_new(o, "network",
                        json_pack("{s:I, s:I}", "vertices", (json_int_t)p->n_vertices, "edges",
                                  (json_int_t)p->n_edges));
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (aot_node_at(p->cut, i)->kind != AOT_OUTPUT) {
            json_object_set_new(nodes, aot_node_name(p->cut, i), node_json(&p->nodes[i]));
        }
    }
    json_object_set_new(o, "nodes", nodes);
    return o;
}
