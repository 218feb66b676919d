/* Commands that run units: which Dynamo graphs of an input. */
#include <limits.h>
#include <stdlib.h>

#include "base/number.h"
#include "tui/open_model.h"

typedef struct walk {
    aot_dynamo_fn *fn;
    void *arg;
    bool one;
    int only, next; /* --unit, -1: absent; counted from 0 */
    aot_status st;
    aot_err *err;
} walk;

static void on_unit(void *arg, const aot_unit *u)
{
    walk *w = arg;
    aot_stage source = aot_unit_source(u);
    for (size_t i = 0; i < u->records.n && source != AOT_N_STAGES; i++) {
        const aot_record *rec = &u->records.d[i];
        if (rec->stage != source) {
            continue;
        }
        int k = w->next++;
        bool mine = w->only >= 0 ? k == w->only : !w->one || k == 0;
        if (mine && w->st == AOT_OK) {
            w->st = w->fn(w->arg, u, rec, k, w->err);
        }
    }
}

static aot_status check_found(const walk *w, const char *input)
{
    aot_status s = AOT_OK;
    if (w->next == 0) {
        s = AOT_FAIL(w->err, AOT_E_PIPELINE, "no Dynamo graph in it: %s",
                     aot_stage_get(AOT_STAGE_DYNAMO)->how_to_get);
    } else if (w->only >= w->next) {
        s = AOT_FAIL(w->err, AOT_E_USAGE, "--unit %d: there are %d Dynamo graphs, counted from 0",
                     w->only, w->next);
    } else if (w->one && w->only < 0 && w->next > 1) {
        s = AOT_FAIL(w->err, AOT_E_USAGE,
                     "it holds %d Dynamo graphs: say which one with --unit 0 to --unit %d", w->next,
                     w->next - 1);
    }
    if (s != AOT_OK) {
        aot_err_in_file(w->err, input);
    }
    return s;
}

aot_status aot_cmd_each_dynamo(const aot_args *a, bool one, aot_dynamo_fn *fn, void *arg,
                               aot_err *err)
{
    const char *unit = aot_args_get(a, "unit");
    walk w = {.fn = fn,
              .arg = arg,
              .one = one,
              .only = -1,
              .err = err};
    int64_t n = -1;
    if (unit != NULL && !aot_int_read(&n, unit, 0, INT_MAX)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--unit takes a number from 0 on, not '%s'", unit);
    }
    w.only = (int)n;
    AOT_TRY(aot_cmd_each_unit(a, a->inputs[0], on_unit, &w, err));
    AOT_TRY(w.st);
    return check_found(&w, a->inputs[0]);
}
