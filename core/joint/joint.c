/* The run of all joint-graph passes, and the pass of the pipeline. */
#include "joint/joint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "joint/internal.h"
#include "partition/partition.h"
#include "pipeline/pass.h"

static const struct {
    const char *name;
    joint_pass_fn *run;
    const char *sentence;
} passes[] = {
#define JOINT_PASS(name, fn, sentence) {#name, fn, sentence},
#include "joint/joint_passes.def"
#undef JOINT_PASS
};

enum { N_PASSES = sizeof passes / sizeof passes[0] };

size_t aot_joint_pass_count(void)
{
    return N_PASSES;
}

const char *aot_joint_pass_name(size_t i)
{
    return passes[i].name;
}

const char *aot_joint_pass_sentence(size_t i)
{
    return passes[i].sentence;
}

const char *aot_joint_what_name(aot_joint_what w)
{
    static const char *const names[] = {"made", "removed", "replaced", "note"};
    return names[w];
}

void joint_note(joint *j, uint32_t node, const char *fmt, ...)
{
    if (j == NULL || j->f.log == NULL) {
        return;
    }
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    aot_vec_push(j->f.log,
                 ((aot_joint_rewrite){.pass = j->f.pass,
                                      .rule = j->f.rule != NULL ? j->f.rule : j->f.pass,
                                      .what = AOT_JOINT_NOTE,
                                      .node = node != AOT_NO_NODE ? fx_node(&j->f, node)->name : 0,
                                      .text = aot_arena_printf(j->f.c->arena, "%s", text)}));
}

aot_status aot_joint_run(aot_graph **out, const aot_joint_in *in, const aot_config *config,
                         aot_joint_log *log, aot_err *err)
{
    joint j = {.config = config, .in = in};
    fx_init_from(&j.f, aot_joint_tensorify(in->joint));
    j.f.log = log;
    aot_status s = AOT_OK;
    for (size_t i = 0; i < N_PASSES && s == AOT_OK; i++) {
        j.f.pass = passes[i].name;
        s = passes[i].run(&j, err);
    }
    if (s == AOT_OK) {
        if (j.count != 0) {
            fx_sort(&j.f);
        }
        *out = fx_finish(&j.f, in->joint);
    }
    joint_attention_free(&j);
    free(j.zero);
    free(j.one);
    fx_free(&j.f);
    return s;
}

aot_status pass_joint_passes(aot_pass_ctx *p, aot_err *err)
{
    aot_graph *g = NULL;
    aot_joint_log log = {0};
    const aot_graph *joint = p->graphs[AOT_STAGE_JOINT];
    aot_joint_in in = {.joint = joint};
    if (p->partition_in != NULL) {
        in.primal_storage = p->partition_in->primal_storage;
        in.n_primal_storage = p->partition_in->n_primal_storage;
    }
    AOT_TRY(aot_joint_run(&g, &in, p->config, &log, err));
    aot_pass_set_graph(p, AOT_STAGE_JOINT_PASSES, g);
    const aot_observer *o = p->observer;
    for (size_t i = 0; o != NULL && o->on_note != NULL && i < log.n; i++) {
        if (log.d[i].what == AOT_JOINT_NOTE) {
            o->on_note(o->arg, "joint_passes", joint, AOT_NO_NODE, log.d[i].text);
        }
    }
    aot_vec_free(&log);
    return AOT_OK;
}
