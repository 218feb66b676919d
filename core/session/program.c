/* A model of one unit, with the stages that a compiler asks for made at once. */
#include "session/program.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static aot_status need(aot_program *p, aot_stage stage, const aot_graph **out, aot_err *err)
{
    AOT_TRY(aot_model_graph(p->model, p->index, stage, out, err));
    aot_graph_link_once(*out); /* a compiler asks for users */
    return AOT_OK;
}

/* The joint graph where there is one to be had; else the graph without a backward. */
static aot_status make_graphs(aot_program *p, aot_err *err)
{
    aot_err no_joint = {0}, no_inference = {0};
    if (need(p, AOT_STAGE_JOINT, &p->joint, &no_joint) == AOT_OK) {
        AOT_TRY(aot_model_partition(p->model, p->index, &p->partition, err));
        AOT_TRY(need(p, AOT_STAGE_FORWARD, &p->forward, err));
        return need(p, AOT_STAGE_BACKWARD, &p->backward, err);
    }
    if (need(p, AOT_STAGE_INFERENCE, &p->forward, &no_inference) == AOT_OK ||
        need(p, AOT_STAGE_EXPORT, &p->forward, NULL) == AOT_OK) {
        return AOT_OK;
    }
    if (err != NULL && err->code == AOT_OK) {
        *err = aot_unit_stage(p->unit, AOT_STAGE_DYNAMO) != NULL ? no_inference : no_joint;
    }
    return no_joint.code;
}

static aot_status open_program(aot_program **out, const char *name, const aot_model_options *o,
                               size_t unit, aot_err *err)
{
    aot_program *p = aot_xcalloc(1, sizeof *p);
    aot_status st = aot_model_open(&p->model, &name, 1, o, err);
    if (st == AOT_OK && unit >= aot_model_n_units(p->model)) {
        st = AOT_FAIL(err, AOT_E_RANGE, "there is no unit %zu: the input has %zu, counted from 0",
                      unit, aot_model_n_units(p->model));
    }
    if (st == AOT_OK) {
        p->index = unit;
        p->unit = aot_model_unit(p->model, unit);
        st = make_graphs(p, err);
    }
    if (st == AOT_OK && aot_model_runtime(p->model, unit, &p->runtime, NULL) != AOT_OK) {
        p->runtime = NULL;
    }
    if (st != AOT_OK) {
        aot_program_free(p);
        return st;
    }
    *out = p;
    return AOT_OK;
}

aot_status aot_program_of_text(aot_program **out, const char *name, const char *text, size_t n,
                               const char *const *settings, size_t n_settings, aot_err *err)
{
    aot_model_options o = {
        .settings = settings, .n_settings = n_settings, .text = text, .n_text = n};
    return open_program(out, name, &o, 0, err);
}

aot_status aot_program_of_file(aot_program **out, const char *path, size_t unit,
                               const char *const *settings, size_t n_settings, aot_err *err)
{
    aot_model_options o = {.settings = settings, .n_settings = n_settings};
    return open_program(out, path, &o, unit, err);
}

void aot_program_free(aot_program *p)
{
    if (p == NULL) {
        return;
    }
    aot_model_free(p->model);
    free(p);
}

aot_status aot_program_compile(const aot_program *p, const aot_compiler *c, aot_err *err)
{
    AOT_TRY(c->compile(c->arg, p, p->backward != NULL ? "forward" : "inference", p->forward, err));
    return p->backward != NULL ? c->compile(c->arg, p, "backward", p->backward, err) : AOT_OK;
}

static json_t *saved_json(const aot_partition *q)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < q->n_saved + q->n_saved_sym; i++) {
        aot_node_id id = i < q->n_saved ? q->saved[i] : q->saved_sym[i - q->n_saved];
        const aot_meta *m = aot_meta_get(q->cut->ctx, aot_node_at(q->cut, id)->meta);
        json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", aot_node_name(q->cut, id),
                                              "type", aot_text(q->cut->ctx, m->text), "bytes",
                                              (json_int_t)q->nodes[id].bytes));
    }
    return list;
}

char *aot_program_metadata(const aot_program *p)
{
    json_t *j = json_object();
    if (p->partition != NULL) {
        json_object_set_new(j, "forward_outputs", json_integer(p->partition->n_forward_outputs));
        json_object_set_new(j, "saved", saved_json(p->partition));
        json_object_set_new(j, "saved_bytes", json_integer(p->partition->saved_bytes));
    }
    json_object_set_new(j, "runtime",
                        p->runtime != NULL ? aot_runtime_json(p->runtime) : json_null());
    char *text = json_dumps(j, JSON_INDENT(1));
    json_decref(j);
    return text;
}

aot_status aot_program_run(aot_run_out *out, aot_exec *x, const aot_program *p, aot_xval *outer,
                           const aot_xval *tangents, unsigned n_tangents, aot_err *err)
{
    if (p->runtime == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "nothing says how the unit is called: give its Dynamo graph");
    }
    aot_run_in in = {.calling = p->runtime->calling,
                     .graph = p->joint != NULL ? p->joint : p->forward,
                     .cut = p->partition,
                     .outer = outer,
                     .tangents = tangents,
                     .n_tangents = n_tangents};
    return aot_run_unit(out, x, &in, err);
}
