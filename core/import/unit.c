/* Looking at a unit: its records, its label, and why a stage is not there. */
#include "import/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

aot_unit *aot_unit_new(void)
{
    aot_unit *u = aot_xcalloc(1, sizeof *u);
    u->arena = aot_arena_new();
    u->key = (aot_unit_key){-1, -1, -1, -1, -1, 0};
    u->input = u->title = u->torch_version = u->backend = "";
    u->aot_id = u->n_static_inputs = u->n_forward_outputs = -1;
    u->seconds = -1;
    return u;
}

void aot_unit_free(aot_unit *u)
{
    if (u == NULL) {
        return;
    }
    aot_vec_free(&u->records);
    aot_vec_free(&u->inputs);
    aot_vec_free(&u->symbols);
    aot_vec_free(&u->notes);
    aot_vec_free(&u->set);
    json_decref(u->config);
    aot_arena_free(u->arena);
    free(u);
}

/* "forward model.py:12": the line is the first operator's, and another attempt may begin
 * elsewhere. Of an attempt that was given up the log may name no function at all. */
static bool same_function(const char *a, const char *b)
{
    const char *end = strrchr(a, ':');
    size_t n = end != NULL ? (size_t)(end - a) + 1 : strlen(a) + 1;
    return a[0] == '\0' || b[0] == '\0' || strncmp(a, b, n) == 0;
}

bool aot_unit_other_attempt(const aot_unit *u, const aot_unit *other)
{
    const aot_unit_key *a = &u->key, *b = &other->key;
    return a->frame >= 0 && a->rank == b->rank && a->frame == b->frame &&
           a->compile == b->compile && a->compiled_autograd_id == b->compiled_autograd_id &&
           a->attempt != b->attempt && same_function(u->title, other->title);
}

bool aot_unit_was_restarted(const aot_unit *u, const aot_unit *later)
{
    return aot_unit_other_attempt(u, later) && u->key.attempt < later->key.attempt &&
           aot_unit_stage(u, AOT_STAGE_FORWARD) == NULL;
}

bool aot_unit_was_given_up(const aot_unit *u, const aot_unit *later)
{
    return aot_unit_was_restarted(u, later) && aot_unit_stage(u, AOT_STAGE_JOINT) != NULL;
}

const aot_record *aot_unit_stage(const aot_unit *u, aot_stage s)
{
    for (size_t i = 0; i < u->records.n; i++) {
        if (u->records.d[i].stage == s && s != AOT_N_STAGES) {
            return &u->records.d[i];
        }
    }
    return NULL;
}

const aot_record *aot_unit_record(const aot_unit *u, const char *name)
{
    for (size_t i = 0; i < u->records.n; i++) {
        if (strcmp(u->records.d[i].name, name) == 0) {
            return &u->records.d[i];
        }
    }
    return NULL;
}

const char *aot_unit_label(const aot_unit_key *k, char *buf, size_t size)
{
    char id[64] = "", attempt[16] = "", split[24] = "", rank[24] = "";
    if (k->compiled_autograd_id >= 0 && k->frame >= 0) {
        snprintf(id, sizeof id, "!%d/%d/%d", k->compiled_autograd_id, k->frame, k->compile);
    } else if (k->compiled_autograd_id >= 0) {
        snprintf(id, sizeof id, "!%d", k->compiled_autograd_id);
    } else if (k->frame >= 0) {
        snprintf(id, sizeof id, "%d/%d", k->frame, k->compile);
    } else {
        snprintf(id, sizeof id, "-");
    }
    if (k->attempt > 0) {
        snprintf(attempt, sizeof attempt, "_%d", k->attempt);
    }
    if (k->split > 0) {
        snprintf(split, sizeof split, " graph %d", k->split + 1);
    }
    if (k->rank >= 0) {
        snprintf(rank, sizeof rank, " rank %d", k->rank);
    }
    snprintf(buf, size, "[%s%s]%s%s", id, attempt, split, rank);
    return buf;
}

static bool ended_with_error(const aot_unit *u)
{
    return aot_unit_record(u, "dynamo_error") != NULL ||
           aot_unit_record(u, "fx_interpreter_error") != NULL;
}

const char *aot_unit_missing_reason(const aot_unit *u, aot_stage s)
{
    bool inference = aot_unit_stage(u, AOT_STAGE_INFERENCE) != NULL;
    bool autograd = aot_unit_stage(u, AOT_STAGE_JOINT) != NULL ||
                    aot_unit_stage(u, AOT_STAGE_FORWARD) != NULL ||
                    aot_unit_stage(u, AOT_STAGE_BACKWARD) != NULL;
    bool export = aot_unit_stage(u, AOT_STAGE_EXPORT) != NULL;
    const aot_stage_info *info = aot_stage_get(s);
    if (s == AOT_STAGE_EXPORT) {
        return "the unit does not come from torch.export";
    }
    bool forward_only = s == AOT_STAGE_DYNAMO || s == AOT_STAGE_ATEN || s == AOT_STAGE_RUNTIME;
    if (inference && !forward_only) {
        return "the unit was compiled for inference: no output needed a gradient, so there is "
               "neither joint graph nor backward";
    }
    if (info->log_name == NULL) {
        return info->how_to_get;
    }
    if (export) {
        return "the unit comes from torch.export, which logs the exported program only";
    }
    if (s == AOT_STAGE_DYNAMO && u->key.split > 0) {
        return "this is a further graph of one compile; the Dynamo graph stands with the first";
    }
    if (s == AOT_STAGE_INFERENCE && autograd) {
        return "the unit was compiled with a backward: see joint, forward and backward";
    }
    if (u->cache != NULL && strcmp(u->cache, "hit") == 0) {
        return "compiled from cache, which does not log it: run again with "
               "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1";
    }
    if (ended_with_error(u)) {
        return "the compile ended with an error before this stage";
    }
    switch (s) {
    case AOT_STAGE_DYNAMO:
        return "not in the input: run with TORCH_TRACE=DIR, or with graph_code in TORCH_LOGS";
    case AOT_STAGE_JOINT:
        return "not in the input: run with TORCH_TRACE=DIR (2.8 or later), or with "
               "aot_joint_graph in TORCH_LOGS";
    default:
        return autograd ? "not in the input: run with TORCH_TRACE=DIR, or with aot_graphs in "
                          "TORCH_LOGS"
                        : "no AOTAutograd graph was logged: the backend does not use AOTAutograd "
                          "(backend=\"eager\"), or the compile ended first; otherwise run with "
                          "TORCH_TRACE=DIR, or with aot_graphs in TORCH_LOGS";
    }
}
