/* Runs passes in the order of passes.def and reports to the observer.
 *
 * A stage that is wanted names the pass that makes it; what that pass needs names the one before,
 * so the passes to run are found by walking the table backwards once and run by walking it
 * forwards. */
#include "pipeline/pass.h"

#include <string.h>
#include <time.h>

#define NEEDS(stage) (1u << AOT_STAGE_##stage)
#define MAKES(stage) (1u << AOT_STAGE_##stage)
static const aot_pass_info passes[] = {
#define PASS(name, fn, needs, makes, backend, sentence)                                            \
    {#name, fn, needs, makes, backend, sentence},
#include "pipeline/passes.def"
#undef PASS
};

enum { N_PASSES = sizeof passes / sizeof passes[0] };

size_t aot_pass_count(void)
{
    return N_PASSES;
}

const aot_pass_info *aot_pass_get(size_t i)
{
    return &passes[i];
}

void aot_pass_set_graph(aot_pass_ctx *p, aot_stage s, const aot_graph *g)
{
    p->graphs[s] = g;
}

static unsigned stages_there(const aot_pass_ctx *p)
{
    unsigned there = 0;
    for (int s = 0; s < AOT_N_STAGES; s++) {
        there |= p->graphs[s] != NULL ? 1u << s : 0;
    }
    return there;
}

/* Nodes of the last of these stages. */
static uint32_t count_nodes(const aot_pass_ctx *p, unsigned stages)
{
    uint32_t n = 0;
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if ((stages & 1u << s) != 0 && p->graphs[s] != NULL) {
            n = (uint32_t)p->graphs[s]->nodes.n;
        }
    }
    return n;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Hands what the pass made to the observer, after the clock has stopped. */
static void report_results(const aot_pass_ctx *p, const aot_pass_ctx *before)
{
    const aot_observer *o = p->observer;
    for (int s = 0; s < AOT_N_STAGES && o != NULL && o->on_graph != NULL; s++) {
        if (p->graphs[s] != before->graphs[s]) {
            o->on_graph(o->arg, (unsigned)s, p->graphs[s]);
        }
    }
    if (o != NULL && o->on_partition != NULL && p->partition != before->partition) {
        o->on_partition(o->arg, p->partition);
    }
}

static aot_status run_one(aot_pass_ctx *p, const aot_pass_info *pass, aot_err *err)
{
    const aot_observer *o = p->observer;
    if (o != NULL && o->on_pass_begin != NULL) {
        o->on_pass_begin(o->arg, pass->name);
    }
    aot_err own = {0};
    const aot_pass_ctx before = *p;
    double start = now_seconds();
    aot_status st = pass->run(p, &own);
    aot_pass_report report = {.n_nodes_in = count_nodes(p, pass->needs),
                              .n_nodes_out = count_nodes(p, pass->makes),
                              .seconds = now_seconds() - start,
                              .err = st == AOT_OK ? NULL : &own};
    report_results(p, &before);
    if (o != NULL && o->on_pass_end != NULL) {
        o->on_pass_end(o->arg, pass->name, &report);
    }
    if (st != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = own;
    }
    return st;
}

/* A pass of this run's backend, between what a later pass needs and that pass. */
static bool slips_in(const aot_pass_ctx *p, const aot_pass_info *pass, unsigned there,
                     unsigned needed)
{
    return pass->backend != NULL && strcmp(pass->backend, p->config->backend) == 0 && needed != 0 &&
           (pass->needs & needed) == pass->needs && (pass->makes & there) == 0;
}

aot_status aot_pass_run_to(aot_pass_ctx *p, aot_stage goal, aot_err *err)
{
    bool wanted_pass[N_PASSES] = {false};
    unsigned there = stages_there(p), wanted = (1u << goal) & ~there, needed = 0;
    for (size_t i = N_PASSES; i-- > 0;) {
        if ((passes[i].makes & wanted) != 0 || slips_in(p, &passes[i], there, needed)) {
            wanted_pass[i] = true;
            needed |= passes[i].needs;
            wanted = (wanted & ~passes[i].makes) | (passes[i].needs & ~there);
        }
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if ((wanted & 1u << s) != 0) {
            const aot_stage_info *info = aot_stage_get((aot_stage)s);
            return AOT_FAIL(err, AOT_E_PIPELINE, "stage %s is missing: %s", info->name,
                            info->how_to_get);
        }
    }
    for (size_t i = 0; i < N_PASSES; i++) {
        if (wanted_pass[i]) {
            AOT_TRY(run_one(p, &passes[i], err));
        }
    }
    return AOT_OK;
}
