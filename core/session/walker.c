/* Walks partitions of one unit; remembers the calls of the recorded one. */
#include "session/walker.h"

#include <stdlib.h>
#include <string.h>

#include "session/derive.h"
#include "session/model.h"

static const double HALF = 0.5;

struct aot_walker {
    const aot_unit *u;
    const aot_record *joint;
    aot_memory_options opt;
    aot_config recorded;
    bool may_repeat;       /* a call's bytes can depend on calls before */
    /* after the recorded partition, and after budget 0.5; NULL until asked for */
    aot_fake_calls *calls[2];
};

/* Whether the graph has one of the operators that keep more memory than their result needs. The
 * joint graph's text tells for all that is cut from it. */
static bool has_such_calls(const aot_record *r)
{
    static const char *const names[] = {"aten.copy.default", "_scatter.default", "_scatter.int"};
    for (size_t i = 0; r->text != NULL && i < sizeof names / sizeof *names; i++) {
        if (strstr(r->text, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

aot_walker *aot_walker_new(const aot_unit *u, const aot_record *joint,
                           const aot_memory_options *opt)
{
    aot_walker *w = aot_xcalloc(1, sizeof *w);
    w->u = u;
    w->joint = joint;
    w->opt = opt != NULL ? *opt : (aot_memory_options){0};
    w->opt.calls = NULL;
    w->may_repeat = !w->opt.first_calls && has_such_calls(joint);
    aot_unit_recorded_config(&w->recorded, u);
    return w;
}

void aot_walker_free(aot_walker *w)
{
    if (w != NULL) {
        aot_fake_calls_free(w->calls[0]);
        aot_fake_calls_free(w->calls[1]);
        free(w);
    }
}

static bool same_settings(const aot_config *a, const aot_config *b)
{
    bool same = true;
    aot_sb x = {0}, y = {0};
    for (size_t i = 0; same && i < aot_config_count(); i++) {
        aot_sb_clear(&x);
        aot_sb_clear(&y);
        aot_config_print(&x, a, aot_config_row_at(i));
        aot_config_print(&y, b, aot_config_row_at(i));
        same = strcmp(aot_sb_text(&x), aot_sb_text(&y)) == 0;
    }
    aot_sb_free(&x);
    aot_sb_free(&y);
    return same;
}

/* Adds the calls of a partition under these settings. What cannot be cut calls nothing. */
static void learn(aot_walker *w, aot_fake_calls *calls, const aot_config *config)
{
    aot_ctx *ctx = aot_unit_new_ctx(w->u);
    const aot_graph *joint;
    aot_partition *p;
    aot_memory m;
    if (aot_record_parse(&joint, ctx, w->u, w->joint, NULL) == AOT_OK &&
        aot_derive_partition(&p, w->u, joint, config, NULL, NULL) == AOT_OK) {
        aot_memory_options opt = w->opt;
        opt.calls = calls;
        aot_memory_of_partition(&m, p, &opt);
        aot_memory_free(&m);
    }
    aot_ctx_free(ctx);
}

static const aot_fake_calls *calls_before(aot_walker *w, const aot_config *config)
{
    if (w->calls[0] == NULL) {
        w->calls[0] = aot_fake_calls_new();
        learn(w, w->calls[0], &w->recorded);
    }
    if (!(config->activation_memory_budget < HALF)) {
        return w->calls[0];
    }
    if (w->calls[1] == NULL) {
        aot_config half = w->recorded;
        half.activation_memory_budget = HALF;
        w->calls[1] = aot_fake_calls_copy(w->calls[0]);
        learn(w, w->calls[1], &half);
    }
    return w->calls[1];
}

void aot_walker_memory(aot_walker *w, aot_memory *out, const aot_partition *p)
{
    aot_memory_options opt = w->opt;
    if (w->may_repeat && !same_settings(&w->recorded, &p->config)) {
        opt.calls = aot_fake_calls_copy(calls_before(w, &p->config));
    }
    aot_memory_of_partition(out, p, &opt);
    aot_fake_calls_free(opt.calls);
}
