/* Edits of a unit: what follows from what a line changes is forgotten, and made when asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "session/hints.h"
#include "session/model_internal.h"

/* Forgets what follows from the joint graph; passes: the partitioner too, for what is cut is
 * another graph; retraced: and what the joint graph follows from. */
static void forget_derived(slot *s, bool passes, bool retraced)
{
    static const aot_err none = {0};
    s->version++;
    s->before_stands = !passes && !retraced;
    aot_partition_release(s->partition_before);
    s->partition_before = s->partition;
    s->partition = NULL;
    s->partition_err = none;
    s->partition_tried = false;
    s->runtime = NULL;
    s->runtime_err = none;
    s->runtime_tried = false;
    for (int i = AOT_STAGE_FORWARD; i < AOT_N_STAGES; i++) { // these graphs are the partition's
        s->compared[i][0] = s->compared[i][1] = NULL;
    }
    if (passes || retraced) {
        memset(s->compared, 0, sizeof s->compared);
        s->graph_version++;
        aot_partitioner_free(s->partitioner);
        s->partitioner = NULL;
        s->graphs[AOT_STAGE_JOINT_PASSES] = NULL;
    }
    if (!retraced) {
        return;
    }
    aot_ctx_free(s->before);
    s->before = s->ctx;
    s->ctx = NULL;
    s->assumed_of = 0;
    s->assumed_sought = false;
    memset(s->graphs, 0, sizeof s->graphs);
    memset(s->captured, 0, sizeof s->captured);
    memset(s->errs, 0, sizeof s->errs);
    s->calling = NULL;
    s->capture_err = none;
    s->capture_tried = false;
}

/* The i-th line of the policy in a unit's list: the last ones are the policy's. */
static aot_unit_edit *policy_line(aot_model *m, size_t unit, size_t i)
{
    aot_unit_edits *e = aot_model_slot(m, unit)->edits;
    return &e->d[e->n - m->policy.n + i];
}

/* A line that matched nothing in `missed` units, first in unit `first`: an error if it matched in
 * none. */
static aot_status judge_line(aot_model *m, size_t i, bool matched, size_t missed, size_t first,
                             aot_err *err)
{
    aot_unit_edit *e = policy_line(m, first, i);
    if (!matched) {
        const aot_partition *p;
        free(e->fate);
        e->fate = NULL;
        forget_derived(aot_model_slot(m, first), true, false);
        aot_status s = aot_model_partition(m, first, &p, err);
        return s == AOT_E_USAGE ? s : AOT_OK; // another error is the unit's own
    }
    char label[96], more[64] = "";
    if (missed > 1) {
        snprintf(more, sizeof more, " and %zu more of %zu", missed - 1, m->slots.n);
    }
    aot_import_note note = {
        .kind = "policy", .line = e->at, .file = aot_arena_printf(m->arena, "%s", e->file)};
    note.text =
        aot_arena_printf(m->arena, "'%.120s' matches nothing in unit %zu %s%s", e->line, first,
                         aot_unit_label(&aot_model_unit(m, first)->key, label, sizeof label), more);
    aot_vec_push(&m->notes, note);
    return AOT_OK;
}

aot_status aot_model_try_policy(aot_model *m, aot_err *err)
{
    if (m->slots.n < 2 || !aot_edits_tag_any(&m->policy)) {
        return AOT_OK;
    }
    for (size_t k = 0; k < m->slots.n; k++) {
        const aot_partition *p;
        aot_status s = aot_model_partition(m, k, &p, NULL);
        (void)s; // a unit that cannot be cut says so where it is asked for
    }
    for (size_t i = 0; i < m->policy.n; i++) {
        bool matched = false;
        size_t missed = 0, first = 0;
        for (size_t k = 0; k < m->slots.n && m->policy.d[i].kind != AOT_UNIT_EDIT_SET; k++) {
            const aot_edit_fate *f = policy_line(m, k, i)->fate;
            matched |= f->matched;
            first = f->missed && missed == 0 ? k : first;
            missed += f->missed;
        }
        if (missed > 0) {
            AOT_TRY(judge_line(m, i, matched, missed, first, err));
        }
    }
    return AOT_OK;
}

/* Settings that the capture reads. */
static bool traces_alike(const aot_config *a, const aot_config *b)
{
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->path, b->path) == 0 &&
           strcmp(a->decompose, b->decompose) == 0 && strcmp(a->keep, b->keep) == 0 &&
           a->opaque == b->opaque && a->fallback_random == b->fallback_random &&
           strcmp(a->hint, b->hint) == 0 &&
           a->keep_inference_input_mutations == b->keep_inference_input_mutations;
}

/* After a change of the edits; was: the settings before it. */
static void follow_edits(aot_model *m, size_t unit, const aot_config *was)
{
    aot_config now;
    bool known = aot_model_config(m, unit, &now, NULL) == AOT_OK;
    if (known && strcmp(was->hint, now.hint) != 0) {
        aot_status st = aot_hints_take(aot_model_slot(m, unit)->unit, now.hint, NULL);
        (void)st; // aot_model_config checked them
    }
    /* the joint-graph passes read this one */
    bool passes = !known || was->fallback_random != now.fallback_random;
    forget_derived(aot_model_slot(m, unit), passes, !known || !traces_alike(was, &now));
}

aot_status aot_model_edit(aot_model *m, size_t unit, const char *line, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    aot_config was, now;
    const aot_partition *p;
    aot_err mine = {0};
    AOT_TRY(aot_model_config(m, unit, &was, err));
    if (s->edits->n == 0 && s->partition != NULL) {
        s->plain_bytes = aot_saved_tensor_bytes(s->partition);
        s->plain_tried = true;
    }
    AOT_TRY(aot_edits_add(s->edits, line, NULL, 0, err));
    if (aot_model_config(m, unit, &now, &mine) != AOT_OK) {
        aot_edits_drop(s->edits);
        return aot_model_take_err(&mine, err);
    }
    follow_edits(m, unit, &was);
    bool tags = s->edits->d[s->edits->n - 1].kind != AOT_UNIT_EDIT_SET;
    aot_status st = tags ? aot_model_partition(m, unit, &p, &mine) : AOT_OK;
    if (st == AOT_E_USAGE || (st != AOT_OK && aot_progress_stopped())) { // as if never asked
        aot_model_take_back(m, unit);
        return aot_model_take_err(&mine, err);
    }
    return AOT_OK;
}

void aot_model_take_back(aot_model *m, size_t unit)
{
    static const aot_err none = {0};
    slot *s = aot_model_slot(m, unit);
    if (!s->before_stands) { // another graph was cut then
        (void)aot_model_undo(m, unit);
        return;
    }
    aot_edits_drop(s->edits);
    aot_partition_release(s->partition);
    s->partition = s->partition_before;
    s->partition_before = NULL;
    s->partition_tried = s->partition != NULL;
    s->partition_err = none;
}

aot_status aot_model_restore_edits(aot_model *m, size_t unit, const char *const *lines, size_t n,
                                   size_t n_in_force, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    aot_config was;
    size_t before = s->edits->n;
    AOT_TRY(aot_model_config(m, unit, &was, err));
    for (size_t i = 0; i < n; i++) {
        aot_status st = aot_edits_add(s->edits, lines[i], NULL, 0, err);
        if (st != AOT_OK) {
            while (s->edits->n > before) {
                aot_edits_drop(s->edits);
            }
            return st;
        }
    }
    while (s->edits->n > n_in_force && aot_edits_undo(s->edits)) {
    }
    follow_edits(m, unit, &was);
    return AOT_OK;
}

/* The list counts as empty meanwhile; nothing of the slot is made anew but the partitioner's
 * caches. */
static int64_t bytes_without(aot_model *m, size_t unit)
{
    slot *s = aot_model_slot(m, unit);
    const aot_partition *now = NULL;
    aot_partition *p = NULL;
    aot_config config, plain;
    size_t n = s->edits->n;
    bool known = aot_model_partition(m, unit, &now, NULL) == AOT_OK || s->partitioner != NULL;
    if (n == 0) {
        return now != NULL ? aot_saved_tensor_bytes(now) : -1;
    }
    if (!known || aot_model_config(m, unit, &config, NULL) != AOT_OK) {
        return -1;
    }
    s->edits->n = 0;
    bool same = aot_model_config(m, unit, &plain, NULL) == AOT_OK &&
                traces_alike(&config, &plain);
    bool cut = same && aot_partitioner_solve(s->partitioner, &p, &plain, NULL, 0, NULL) == AOT_OK;
    s->edits->n = n;
    int64_t bytes = cut ? aot_saved_tensor_bytes(p) : -1;
    aot_partition_release(cut ? p : NULL);
    return bytes;
}

int64_t aot_model_unedited_bytes(aot_model *m, size_t unit)
{
    slot *s = aot_model_slot(m, unit);
    if (!s->plain_tried) {
        s->plain_bytes = bytes_without(m, unit);
        // what was traced otherwise is known once it is undone
        s->plain_tried = s->plain_bytes >= 0;
    }
    return s->plain_tried ? s->plain_bytes : -1;
}

bool aot_model_undo(aot_model *m, size_t unit)
{
    slot *s = aot_model_slot(m, unit);
    aot_config was;
    bool known = aot_model_config(m, unit, &was, NULL) == AOT_OK, any = aot_edits_undo(s->edits);
    if (any && known) {
        follow_edits(m, unit, &was);
    }
    return any;
}

bool aot_model_redo(aot_model *m, size_t unit)
{
    slot *s = aot_model_slot(m, unit);
    aot_config was;
    bool known = aot_model_config(m, unit, &was, NULL) == AOT_OK, any = aot_edits_redo(s->edits);
    if (any && known) {
        follow_edits(m, unit, &was);
    }
    return any;
}

size_t aot_model_n_edits(const aot_model *m, size_t unit)
{
    return aot_model_slot(m, unit)->edits->n;
}

size_t aot_model_n_undone(const aot_model *m, size_t unit)
{
    const aot_unit_edits *e = aot_model_slot(m, unit)->edits;
    return e->n_all - e->n;
}

const aot_unit_edit *aot_model_edit_at(const aot_model *m, size_t unit, size_t i)
{
    return &aot_model_slot(m, unit)->edits->d[i];
}

unsigned aot_model_graph_version(const aot_model *m, size_t unit)
{
    return m->slots.d[unit].graph_version;
}

unsigned aot_model_version(const aot_model *m, size_t unit)
{
    return m->slots.d[unit].version;
}
