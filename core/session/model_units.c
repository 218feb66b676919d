/* Units, and what is known of them without a graph: settings, checks, recorded calls; files and
 * notes; the one line that tells of a unit. */
#include <stdio.h>
#include <string.h>

#include "session/model_internal.h"
#include "session/hints.h"
#include "session/saved.h"

size_t aot_model_n_units(const aot_model *m)
{
    return m->slots.n;
}

/* The lines of the policy; of a session those that it was made with. */
static void begin_edits(const aot_model *m, slot *s)
{
    s->edits = aot_xcalloc(1, sizeof *s->edits);
    s->unit->edits = s->edits;
    for (size_t i = 0; i < s->unit->notes.n && s->source >= 0 && !m->as_recorded; i++) {
        const aot_import_note *n = &s->unit->notes.d[i];
        if (strcmp(n->kind, "edit") == 0) {
            aot_status st = aot_edits_add(s->edits, n->text, NULL, 0, NULL);
            (void)st; /* a line of another version is passed over */
        }
    }
    aot_edits_may_miss(s->edits); /* when the session was made they matched somewhere */
    aot_status st = aot_edits_copy(s->edits, &m->policy, NULL);
    (void)st; /* they were parsed before */
    if (m->slots.n > 1) {
        aot_edits_may_miss(s->edits);
    }
    s->n_opened = s->edits->n;
}

slot *aot_model_slot(const aot_model *m, size_t i)
{
    slot *s = &m->slots.d[i];
    if (s->unit == NULL) {
        aot_err err = {0};
        if (aot_query_unit(m->sources.d[s->source].queries, s->id, &s->unit, &err) != AOT_OK) {
            s->unit = aot_unit_new();
            aot_arena *a = s->unit->arena;
            aot_import_note note = {.kind = "damage",
                                    .text = aot_arena_strndup(a, err.msg, strlen(err.msg))};
            note.file = aot_arena_strndup(a, err.file, strlen(err.file));
            aot_vec_push(&s->unit->notes, note);
        }
        s->unit->set.n = m->as_recorded ? 0 : s->unit->set.n;
        if (m->redactor != NULL) {
            aot_redact_unit(m->redactor, s->unit);
        }
    }
    if (s->edits == NULL) {
        aot_config config;
        begin_edits(m, s);
        aot_status st = aot_unit_prepare(&config, s->unit, m->settings, m->n_settings, NULL);
        (void)st; /* who asks for its configuration is told */
    }
    return s;
}

const aot_unit *aot_model_unit(const aot_model *m, size_t unit)
{
    return aot_model_slot(m, unit)->unit;
}

bool aot_model_given_up(aot_model *m, size_t unit)
{
    aot_unit *u = aot_model_slot(m, unit)->unit;
    u->given_up = unit + 1 < m->slots.n && aot_unit_was_given_up(u, aot_model_unit(m, unit + 1));
    return u->given_up;
}

const char *aot_model_unit_session(const aot_model *m, size_t unit)
{
    const slot *s = &m->slots.d[unit];
    return s->source < 0 ? NULL : aot_session_path(m->sources.d[s->source].session);
}

size_t aot_model_checks(const aot_model *m, size_t unit, aot_check_result out[AOT_N_STAGES],
                        aot_arena *a)
{
    const slot *s = &m->slots.d[unit];
    return s->source < 0 || m->redactor != NULL
               ? 0
               : aot_query_checks(m->sources.d[s->source].queries, s->id, out, a);
}

aot_status aot_model_calls(aot_model *m, size_t unit, const aot_calls **out, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    if (s->calls == NULL && s->run > 0) {
        AOT_TRY(aot_calls_read(&s->calls, m->sources.d[s->run - 1].queries,
                               s->source < 0 ? -1 : s->id,
                               s->source < 0 ? aot_unit_graph(s->unit) : -1, err));
    }
    *out = s->calls != NULL && s->calls->compiled.n > 0 ? s->calls : NULL;
    return AOT_OK;
}

aot_status aot_model_blob(aot_model *m, size_t unit, int64_t blob, const void **data, size_t *n,
                          aot_arena *a, aot_err *err)
{
    const slot *s = aot_model_slot(m, unit);
    if (s->run == 0) {
        return AOT_FAIL(err, AOT_E_SESSION, "no run was recorded of this unit");
    }
    return aot_calls_blob(data, n, m->sources.d[s->run - 1].queries, blob, a, err);
}

size_t aot_model_n_files(const aot_model *m)
{
    return m->files.n;
}

const aot_model_file *aot_model_file_at(const aot_model *m, size_t i)
{
    return &m->files.d[i];
}

size_t aot_model_n_notes(const aot_model *m)
{
    return m->notes.n;
}

const aot_import_note *aot_model_note(const aot_model *m, size_t i)
{
    return &m->notes.d[i];
}

aot_status aot_model_config(aot_model *m, size_t unit, aot_config *out, aot_err *err)
{
    return aot_unit_config(out, aot_model_slot(m, unit)->unit, m->settings, m->n_settings, err);
}

aot_status aot_model_redact_text(aot_sb *out, const aot_model *m, aot_stage stage, const char *text,
                                 size_t n, aot_err *err)
{
    aot_record rec = {
        .name = aot_stage_get(stage)->name, .text = text, .len = n, .line = 1, .stage = stage};
    aot_arena *a = aot_arena_new();
    aot_status s = AOT_OK;
    aot_redact_record(m->redactor, &rec, a);
    if (rec.text != NULL) {
        aot_sb_add(out, rec.text, rec.len);
    } else {
        s = AOT_FAIL(err, AOT_E_GRAPH, "%s cannot be redacted: its text is not read in full",
                     rec.name);
    }
    aot_arena_free(a);
    return s;
}

/* ---- attempts -------------------------------------------------------------------------------- */

size_t aot_model_restarted_as(const aot_model *m, size_t unit)
{
    enum { NEAR = 256 }; // attempts follow each other; frames that are compiled in between are few
    const aot_unit *u = aot_model_slot(m, unit)->unit;
    for (size_t i = unit + 1; u->key.frame >= 0 && i < m->slots.n && i - unit <= NEAR; i++) {
        const aot_unit *next = aot_model_slot(m, i)->unit;
        if (strcmp(u->input, next->input) == 0 && aot_unit_other_attempt(u, next)) {
            // an earlier one: another run in the same log
            return aot_unit_was_restarted(u, next) ? i : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

const char *aot_model_restart_words(const aot_model *m, size_t unit, char *buf, size_t size)
{
    size_t next = aot_model_restarted_as(m, unit);
    char label[96];
    buf[0] = '\0';
    if (next != SIZE_MAX) {
        snprintf(buf, size, "abandoned: restarted as %s",
                 aot_unit_label(&aot_model_slot(m, next)->unit->key, label, sizeof label));
    }
    return buf;
}

/* ---- the one line ---------------------------------------------------------------------------- */

/* Nodes of the graph that tells most of the unit. */
static size_t main_graph_nodes(aot_model *m, size_t unit)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_BACKWARD, AOT_STAGE_DYNAMO};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const aot_graph *g = NULL;
        if (aot_unit_stage_status(aot_model_slot(m, unit)->unit, order[i]).origin ==
                AOT_ORIGIN_RECORDED &&
            aot_model_graph(m, unit, order[i], &g, NULL) == AOT_OK) {
            return g->nodes.n;
        }
    }
    return 0;
}

const char *aot_model_unit_line(aot_model *m, size_t unit)
{
    const aot_unit *u = aot_model_slot(m, unit)->unit;
    char buf[160];
    aot_sb_clear(&m->line);
    aot_sb_addz(&m->line, aot_unit_label(&u->key, buf, sizeof buf));
    if (u->title != NULL && u->title[0] != 0) {
        aot_sb_addf(&m->line, " %s", u->title);
    }
    const char *path = aot_unit_path(u);
    if (path[0] != 0) {
        aot_sb_addf(&m->line, " · %s", path);
    }
    size_t n = main_graph_nodes(m, unit);
    if (n > 0) {
        aot_sb_addf(&m->line, " · %zu nodes", n);
    }
    const aot_partition *p = NULL;
    if (aot_unit_stage(u, AOT_STAGE_JOINT) != NULL &&
        aot_model_partition(m, unit, &p, NULL) == AOT_OK) {
        aot_sb_addf(&m->line, " · saved %s", aot_saved_text(p, buf, sizeof buf));
    } else if (u->cache != NULL && strcmp(u->cache, "hit") == 0) {
        aot_sb_addz(&m->line, " · from cache");
    }
    if (*aot_model_restart_words(m, unit, buf, sizeof buf) != '\0') {
        aot_sb_addf(&m->line, " · %s", buf);
    }
    return aot_sb_text(&m->line);
}
