/* Prints the engine's graph by node calls:
 *
 *   call  node                      values  what it is
 *      3  CompiledFunctionBackward1     15  the backward of unit 1 [0/1] forward a.py:10, all 10
 * operators 4  CompiledFunctionBackward1     15  the same, run again
 *
 * and below, since the graph holds them in another order, its parts one after another. */
#include "tui/show_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viewers/table.h"

static const char *short_name(const char *name)
{
    static const char engine[] = "torch::autograd::";
    return strncmp(name, engine, sizeof engine - 1) == 0 ? name + sizeof engine - 1 : name;
}

static void unit_words(aot_sb *out, aot_model *m, int64_t unit)
{
    char label[96];
    const aot_unit *u = aot_model_unit(m, (size_t)unit);
    aot_sb_addf(out, "unit %" PRId64 " %s %s", unit, aot_unit_label(&u->key, label, sizeof label),
                u->title);
}

static void call_words(aot_sb *out, aot_model *m, const aot_engine_call *c)
{
    if (c->aot_id < 0) {
        return;
    }
    if (c->unit < 0) {
        aot_sb_addz(out, "a backward of AOTAutograd whose unit is not in the input");
        return;
    }
    aot_sb_addz(out, "backward of ");
    unit_words(out, m, c->unit);
    if (c->run > 0) {
        aot_sb_addf(out, ", run %" PRId64, c->run + 1);
    }
    if (c->n_same == c->n_backward) {
        aot_sb_addf(out, ": all its %u operators", c->n_backward);
    } else {
        aot_sb_addf(out, ": %u of its %u operators as they were", c->n_same, c->n_backward);
    }
    if (!c->is_certain) {
        aot_sb_addz(out, " (others have the same backward: by order of compilation)");
    }
}

static void print_calls(const aot_engine *e, aot_model *m)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "call", AOT_RIGHT, 0);
    aot_table_column(t, "node", AOT_LEFT, 0);
    aot_table_column(t, "values", AOT_RIGHT, 0);
    aot_table_column(t, "what it is", AOT_LEFT, 0);
    for (size_t i = 0; i < e->calls.n; i++) {
        const aot_engine_call *c = &e->calls.d[i];
        aot_sb words = {0};
        call_words(&words, m, c);
        aot_table_row(t);
        aot_table_cellf(t, "%zu", i);
        if (c->aot_id >= 0) {
            aot_table_cellf(t, "%s%" PRId64, c->name, c->aot_id);
        } else {
            aot_table_cell(t, c->name[0] != '\0' ? short_name(c->name) : "(not in the graph)");
        }
        aot_table_cellf(t, "%u", c->n_nodes);
        aot_table_cell(t, aot_sb_text(&words));
        aot_sb_free(&words);
    }
    aot_sb out = {0};
    aot_table_print(&out, t, 0, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

/* The name that a person knows: the unit's own, without aotK_. */
static const char *known_name(const aot_engine *e, aot_node_id id)
{
    int64_t aot_id, run;
    const char *name = aot_node_name(e->graph, id), *own = aot_engine_own_name(name, &aot_id, &run);
    return own != NULL ? own : name;
}

static void print_part(const aot_engine *e, const aot_engine_part *p)
{
    aot_sb s = {0};
    if (p->call < 0) {
        aot_sb_addz(&s, "   -  inputs");
    } else {
        const aot_engine_call *c = &e->calls.d[p->call];
        aot_sb_addf(&s, "%4" PRId64 "  %s", p->call, short_name(c->name));
        if (c->aot_id >= 0) {
            aot_sb_addf(&s, "%" PRId64, c->aot_id);
        }
    }
    aot_sb_addf(&s, "  %s", known_name(e, p->first));
    if (p->last != p->first) {
        aot_sb_addf(&s, " .. %s", known_name(e, p->last));
    }
    if (p->gradient_of != NULL) {
        aot_sb_addf(&s, "  gradient of %s", p->gradient_of);
    }
    puts(aot_sb_text(&s));
    aot_sb_free(&s);
}

void aot_engine_print(const aot_engine *e, aot_model *m)
{
    size_t n_backwards = 0, n_found = 0;
    for (size_t i = 0; i < e->calls.n; i++) {
        n_backwards += e->calls.d[i].aot_id >= 0;
        n_found += e->calls.d[i].unit >= 0;
    }
    printf("engine graph of Compiled Autograd: %zu values, %zu node calls, %zu of them backwards "
           "of units "
           "(%zu found)\n\n",
           e->graph->nodes.n, e->calls.n, n_backwards, n_found);
    print_calls(e, m);
    puts("\nIn the graph's order");
    for (size_t i = 0; i < e->parts.n; i++) {
        print_part(e, &e->parts.d[i]);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *call_json(const aot_engine_call *c, aot_model *m, size_t i)
{
    json_t *j =
        json_pack("{s:i, s:s, s:i}", "call", (int)i, "name", c->name, "values", (int)c->n_nodes);
    if (c->aot_id >= 0) {
        char label[96];
        json_object_set_new(j, "aot_id", json_integer(c->aot_id));
        json_object_set_new(j, "run", json_integer(c->run));
        json_object_set_new(j, "unit", c->unit >= 0 ? json_integer(c->unit) : json_null());
        if (c->unit >= 0) {
            const aot_unit *u = aot_model_unit(m, (size_t)c->unit);
            json_object_set_new(j, "unit_label",
                                json_string(aot_unit_label(&u->key, label, sizeof label)));
        }
        json_object_set_new(j, "certain", json_boolean(c->is_certain));
        json_object_set_new(j, "operators", json_integer(c->n_backward));
        json_object_set_new(j, "same_operators", json_integer(c->n_same));
    }
    return j;
}

json_t *aot_engine_json(const aot_engine *e, aot_model *m)
{
    json_t *calls = json_array(), *parts = json_array();
    for (size_t i = 0; i < e->calls.n; i++) {
        json_array_append_new(calls, call_json(&e->calls.d[i], m, i));
    }
    for (size_t i = 0; i < e->parts.n; i++) {
        const aot_engine_part *p = &e->parts.d[i];
        json_t *call = p->call >= 0 ? json_integer(p->call) : json_null();
        json_array_append_new(parts, json_pack("{s:o, s:s, s:s, s:s?}", "call", call, "first",
                                               aot_node_name(e->graph, p->first), "last",
                                               aot_node_name(e->graph, p->last), "gradient_of",
                                               p->gradient_of));
    }
    return json_pack("{s:o, s:o}", "calls", calls, "parts", parts);
}
