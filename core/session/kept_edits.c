/* Keeps edits in table `kept_edit`: all lines of a unit in order, with those that it was opened
 * with, so that it is seen whether they still are what the later ones build on. Each change is
 * written at once. A row belongs to a unit by input and label, as a mark does. */
#include "session/kept_edits.h"

#include <stdlib.h>
#include <string.h>

#include "session/model_internal.h"
#include "session/reader_tables.h"

static const char table[] = "kept_edit";

typedef struct unit_lines {
    aot_arena *arena;
    AOT_VEC(const char *) lines;
    size_t n_in_force;
} unit_lines;

static const char *input_of(const slot *s)
{
    return s->unit->input != NULL ? s->unit->input : "";
}

static void bind_unit(sqlite3_stmt *q, const slot *s)
{
    char label[96];
    sqlite3_bind_text(q, 1, input_of(s), -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 2, aot_unit_label(&s->unit->key, label, sizeof label), -1,
                      SQLITE_TRANSIENT);
}

/* ---- reading ---- */

static int read_lines(unit_lines *out, sqlite3_stmt *q, const slot *s)
{
    int rc;
    out->lines.n = out->n_in_force = 0;
    sqlite3_reset(q);
    bind_unit(q, s);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        aot_vec_push(&out->lines, aot_arena_printf(out->arena, "%s", aot_reader_column(q, 0)));
        out->n_in_force += sqlite3_column_int(q, 1) != 0;
    }
    return rc;
}

/* Whether the lines begin with those that the unit was opened with. */
static bool builds_on(const unit_lines *kept, const aot_unit_edits *opened)
{
    bool same = kept->lines.n >= opened->n_all;
    for (size_t i = 0; same && i < opened->n_all; i++) {
        same = strcmp(kept->lines.d[i], opened->d[i].line) == 0;
    }
    return same;
}

static bool restore_unit(aot_model *m, size_t unit, const unit_lines *kept)
{
    slot *s = aot_model_slot(m, unit);
    size_t n = s->edits->n;
    aot_err err = {0};
    if (kept->lines.n == 0 || !builds_on(kept, s->edits) ||
        (kept->lines.n == n && kept->n_in_force == n)) {
        return false;
    }
    if (aot_model_restore_edits(m, unit, kept->lines.d + n, kept->lines.n - n, kept->n_in_force,
                                &err) != AOT_OK) {
        return false; // of another version: they stay in the file until something else is edited
    }
    s->kept_version = s->version;
    return true;
}

/* Units are looked up only where somebody edited: a session may hold thousands. */
static bool holds_any(sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    bool any =
        sqlite3_prepare_v2(db, "SELECT 1 FROM kept_edit LIMIT 1", -1, &q, NULL) != SQLITE_OK ||
        sqlite3_step(q) != SQLITE_DONE;
    sqlite3_finalize(q);
    return any;
}

/* The units of one session, from `from` on; returns the first behind them. */
static size_t restore_session(aot_model *m, size_t from, size_t *n_units, aot_err *err)
{
    const char *path = aot_model_unit_session(m, from);
    size_t end = from, n = aot_model_n_units(m);
    while (end < n && m->slots.d[end].source == m->slots.d[from].source) {
        end++;
    }
    sqlite3 *db = path != NULL ? aot_reader_read(path, table, err) : NULL;
    sqlite3_stmt *q = NULL;
    unit_lines kept = {.arena = aot_arena_new()};
    int rc = db == NULL
                 ? SQLITE_DONE
                 : sqlite3_prepare_v2(db,
                                      "SELECT line, in_force FROM kept_edit WHERE input = ? AND "
                                      "label = ? ORDER BY idx",
                                      -1, &q, NULL);
    bool any = db != NULL && holds_any(db);
    for (size_t u = from; u < end && any && (rc == SQLITE_OK || rc == SQLITE_DONE); u++) {
        rc = read_lines(&kept, q, aot_model_slot(m, u));
        *n_units += rc == SQLITE_DONE && restore_unit(m, u, &kept);
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE) {
        aot_status ignored =
            AOT_FAIL(err, AOT_E_SESSION, "edits cannot be read: %s", sqlite3_errmsg(db));
        (void)ignored;
        aot_err_in_file(err, path);
    }
    sqlite3_finalize(q);
    sqlite3_close(db);
    aot_vec_free(&kept.lines);
    aot_arena_free(kept.arena);
    return end;
}

aot_status aot_kept_edits_restore(aot_model *m, size_t *n_units, aot_err *err)
{
    size_t count = 0;
    aot_err mine = {0};
    for (size_t u = 0; u < aot_model_n_units(m);) {
        u = m->slots.d[u].source < 0 || m->redactor != NULL ? u + 1
                                                            : restore_session(m, u, &count, &mine);
    }
    if (n_units != NULL) {
        *n_units = count;
    }
    return mine.code == AOT_OK ? AOT_OK : aot_model_take_err(&mine, err);
}

/* ---- writing ---- */

static bool write_rows(sqlite3 *db, const slot *s)
{
    sqlite3_stmt *q = NULL;
    bool ok = sqlite3_prepare_v2(db, "DELETE FROM kept_edit WHERE input = ? AND label = ?", -1, &q,
                                 NULL) == SQLITE_OK;
    if (ok) {
        bind_unit(q, s);
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    ok = ok && sqlite3_prepare_v2(db,
                                  "INSERT INTO kept_edit (input, label, idx, line, in_force, made) "
                                  "VALUES (?, ?, ?, ?, ?, datetime('now'))",
                                  -1, &q, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < s->edits->n_all; i++) {
        sqlite3_reset(q);
        bind_unit(q, s);
        sqlite3_bind_int64(q, 3, (sqlite3_int64)i);
        sqlite3_bind_text(q, 4, s->edits->d[i].line, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int(q, 5, i < s->edits->n);
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return ok;
}

bool aot_kept_edits_write(aot_model *m, size_t unit, aot_sb *why)
{
    slot *s = aot_model_slot(m, unit);
    const char *path = aot_model_unit_session(m, unit);
    aot_sb reason = {0};
    bool kept = false;
    if (path == NULL || m->redactor != NULL) {
        aot_sb_addz(&reason, path == NULL ? "it is no session (aotscope import -o S.aots makes one)"
                                          : "names are redacted");
    } else {
        sqlite3 *db = aot_reader_begin(path, table, false, &reason);
        kept = db != NULL && aot_reader_end(db, write_rows(db, s), &reason);
    }
    s->kept_version = kept ? s->version : s->kept_version;
    if (why != NULL) {
        aot_sb_addz(why, aot_sb_text(&reason));
    }
    aot_sb_free(&reason);
    return kept;
}

size_t aot_kept_edits_lost(const aot_model *m, size_t *n_units)
{
    size_t lost = 0;
    *n_units = 0;
    for (size_t u = 0; u < m->slots.n; u++) {
        const slot *s = &m->slots.d[u];
        if (s->edits != NULL && s->version != s->kept_version && s->edits->n > s->n_opened) {
            lost += s->edits->n - s->n_opened;
            ++*n_units;
        }
    }
    return lost;
}
