/* Opens a unit to be replayed: the graphs that are run, which nodes of the backward the forward has
 * run before, selections of nodes. */
#include "session/replay_unit.h"

#include <stdlib.h>
#include <string.h>

#include "partition/rng_sites.h"
#include "session/derive.h"
#include "session/replay_internal.h"

/* ---- selections
 * --------------------------------------------------------------------------------------- */

static void *select_nodes(void *arg, const char *text, aot_err *err)
{
    aot_select *s = aot_xcalloc(1, sizeof *s);
    (void)arg;
    if (aot_select_parse(s, text, err) != AOT_OK) {
        free(s);
        return NULL;
    }
    return s;
}

static bool selected(void *arg, const void *selection, aot_replay_side side, const aot_graph *g,
                     aot_node_id id)
{
    aot_replay_unit *u = arg;
    side_facts *f = &u->side[side];
    if (g != f->g) { // of a body: by what the node itself says
        aot_select_on on = {0};
        aot_select_begin(&on, g, NULL, NULL);
        bool is = aot_select_match(selection, &on, id);
        aot_select_end(&on);
        return is;
    }
    if (f->on.g == NULL) {
        aot_select_begin(&f->on, f->g, u->p, NULL);
    }
    return aot_select_match(selection, &f->on, id);
}

static void select_free(void *selection)
{
    aot_select_free(selection);
    free(selection);
}

/* ---- opening
 * ------------------------------------------------------------------------------------------ */

typedef struct name_of {
    const char *name;
    aot_node_id id;
} name_of;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const name_of *)a)->name, ((const name_of *)b)->name);
}

/* Of each node of the backward that the forward has, too, the forward's: by name, as they are of
 * one joint graph; random ones whose state is handed over, by the number of the state. */
static void pair_nodes(aot_replay_unit *u)
{
    const aot_graph *f = u->side[AOT_REPLAY_FORWARD].g, *b = u->side[AOT_REPLAY_BACKWARD].g;
    name_of *names = aot_xcalloc(f->nodes.n + 1, sizeof *names);
    aot_rng_sites fs = {0}, bs = {0};
    u->first = AOT_NEW_ARRAY(u->arena, aot_node_id, b->nodes.n + 1);
    for (aot_node_id id = 0; id < f->nodes.n; id++) {
        names[id] = (name_of){aot_node_name(f, id), id};
    }
    qsort(names, f->nodes.n, sizeof *names, by_name);
    for (aot_node_id id = 0; id < b->nodes.n; id++) {
        name_of key = {aot_node_name(b, id), 0};
        bool computes = aot_node_at(b, id)->kind == AOT_CALL_FUNCTION;
        const name_of *hit = bsearch(&key, names, f->nodes.n, sizeof *names, by_name);
        bool same = computes && hit != NULL && aot_node_at(f, hit->id)->kind == AOT_CALL_FUNCTION;
        u->first[id] = same ? hit->id : AOT_NO_NODE;
    }
    aot_rng_find(&fs, f);
    aot_rng_find(&bs, b);
    for (size_t i = 0; i < bs.n; i++) {
        for (size_t k = 0; k < fs.n && bs.d[i].use == AOT_RNG_RESTORES; k++) {
            if (fs.d[k].use == AOT_RNG_SAVES && fs.d[k].state == bs.d[i].state) {
                u->first[bs.d[i].call] = fs.d[k].call;
            }
        }
    }
    aot_vec_free(&fs);
    aot_vec_free(&bs);
    free(names);
}

static aot_status take_graph(aot_replay_unit *u, aot_replay_side side, aot_stage stage,
                             aot_err *err)
{
    AOT_TRY(aot_model_graph(u->m, u->unit, stage, &u->side[side].g, err));
    u->side[side].recorded = aot_model_stage(u->m, u->unit, stage).origin == AOT_ORIGIN_RECORDED;
    return AOT_OK;
}

/* Traced anew from the Dynamo graph, under the settings in force: that is what the wrappers are
 * known of. */
static aot_status take_wrapped(aot_replay_unit *u, aot_err *err)
{
    const aot_unit *unit = aot_model_unit(u->m, u->unit);
    aot_stage from = aot_unit_source(unit);
    aot_config config;
    if (from == AOT_N_STAGES) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "nothing says how the unit is called: %s",
                        aot_stage_get(AOT_STAGE_DYNAMO)->how_to_get);
    }
    AOT_TRY(aot_model_config(u->m, u->unit, &config, err));
    AOT_TRY(aot_runnable_make(&u->wrapped, unit, aot_unit_stage(unit, from), &config, err));
    u->p = u->wrapped.cut;
    u->side[AOT_REPLAY_FORWARD].g = u->p != NULL ? u->p->forward : u->wrapped.graph;
    u->side[AOT_REPLAY_BACKWARD].g = u->p != NULL ? u->p->backward : NULL;
    if (u->p != NULL) {
        pair_nodes(u);
    }
    return AOT_OK;
}

/* Forward and backward where the unit has a joint graph; else the graph without gradients. */
static aot_status take_graphs(aot_replay_unit *u, aot_err *err)
{
    aot_err no_cut = {0};
    if (aot_model_partition(u->m, u->unit, &u->p, &no_cut) == AOT_OK) {
        AOT_TRY(take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_FORWARD, err));
        AOT_TRY(take_graph(u, AOT_REPLAY_BACKWARD, AOT_STAGE_BACKWARD, err));
        u->n_outputs = u->p->n_forward_outputs;
        pair_nodes(u);
        return AOT_OK;
    }
    u->p = NULL;
    if (take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_INFERENCE, NULL) == AOT_OK ||
        take_graph(u, AOT_REPLAY_FORWARD, AOT_STAGE_EXPORT, NULL) == AOT_OK) {
        return AOT_OK;
    }
    if (err != NULL) {
        *err = no_cut;
    }
    return no_cut.code;
}

aot_status aot_replay_open(aot_replay_unit **out, aot_model *m, size_t unit,
                           const aot_replay_ask *ask, aot_err *err)
{
    aot_replay_unit *u = aot_xcalloc(1, sizeof *u);
    u->m = m;
    u->unit = unit;
    u->ask = *ask;
    u->arena = aot_arena_new();
    aot_status s = ask->wrapped ? take_wrapped(u, err) : take_graphs(u, err);
    s = s == AOT_OK ? ru_choose_call(u, err) : s;
    if (s != AOT_OK) {
        aot_replay_close(u);
        return s;
    }
    aot_replay_source source = {
        .graph = {u->side[AOT_REPLAY_FORWARD].g, u->side[AOT_REPLAY_BACKWARD].g},
        .first = u->first,
        .run = ru_run,
        .start = ru_start,
        .recorded = ru_recorded,
        .select = select_nodes,
        .selected = selected,
        .select_free = select_free,
        .bodies = ask->bodies,
        .arg = u};
    u->replay = aot_replay_new(&source);
    *out = u;
    return AOT_OK;
}

void aot_replay_close(aot_replay_unit *u)
{
    if (u == NULL) {
        return;
    }
    aot_replay_free(u->replay);
    for (int k = 0; k < AOT_REPLAY_N_SIDES; k++) {
        if (u->side[k].on.g != NULL) {
            aot_select_end(&u->side[k].on);
        }
    }
    aot_vec_free(&u->symbols);
    aot_sb_free(&u->notes);
    if (u->ask.wrapped) {
        aot_runnable_free(&u->wrapped);
    }
    aot_arena_free(u->arena);
    free(u);
}

const aot_sb *aot_replay_unit_notes(const aot_replay_unit *u)
{
    return &u->notes;
}

aot_replay *aot_replay_of(aot_replay_unit *u)
{
    return u->replay;
}

const aot_graph *aot_replay_unit_graph(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].g;
}

const aot_partition *aot_replay_unit_partition(const aot_replay_unit *u)
{
    return u->p;
}

const aot_run_call *aot_replay_unit_call(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].call;
}

bool aot_replay_unit_recorded(const aot_replay_unit *u, aot_replay_side side)
{
    return u->side[side].recorded;
}
