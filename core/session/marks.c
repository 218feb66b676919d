/* Keeps marks and notes in table `mark` of sessions, or of the side file, which has only this
 * table. Rows are read once, at the start; each change is written at once, by a connection of its
 * own, so that the session stays open for reading only.
 *
 * A row belongs to a unit by the file it came from and its label. In the side file, which serves
 * all inputs, the file is named with its whole path, and a unit of a session by that of the session
 * too. Which unit that is, is looked up when somebody asks: a session may hold thousands. */
#include "session/marks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "session/reader_tables.h"
#include "session/session.h"

typedef struct unit_name {
    const char *label; /* NULL: not asked yet */
    const char *input, *side_input; /* side_input NULL: standard input */
    /* the log behind a session: what was marked there is meant too */
    const char *log;
    const char *session;            /* NULL: a log */
} unit_name;

typedef struct row {
    aot_mark mark;              /* unit SIZE_MAX: not looked up */
    const char *input, *label;
    const char *session;        /* the file it was read from; NULL: the side file */
} row;

struct aot_marks {
    aot_model *m;
    aot_arena *arena;
    unit_name *names;
    size_t n_names;
    char *side;
    AOT_VEC(row) rows;
    aot_sb where;
};

/* ---- names of units ---- */

static const char *whole_path(aot_arena *a, const char *path)
{
    char buf[PATH_MAX];
    return aot_arena_printf(a, "%s", realpath(path, buf) != NULL ? buf : path);
}

static const unit_name *name_of(aot_marks *k, size_t i)
{
    unit_name *n = &k->names[i];
    if (n->label == NULL) {
        char label[96];
        const aot_unit *u = aot_model_unit(k->m, i);
        const char *input = u->input != NULL ? u->input : "";
        n->label = aot_arena_printf(k->arena, "%s", aot_unit_label(&u->key, label, sizeof label));
        n->input = aot_arena_printf(k->arena, "%s", input);
        n->session = aot_model_unit_session(k->m, i);
        if (n->session != NULL) {
            n->side_input =
                aot_arena_printf(k->arena, "%s: %s", whole_path(k->arena, n->session), input);
            n->log = whole_path(k->arena, input);
        } else if (strcmp(input, "-") != 0) {
            n->side_input = whole_path(k->arena, input);
        }
    }
    return n;
}

static bool is_about(aot_marks *k, const row *r, size_t unit)
{
    if (r->mark.unit != SIZE_MAX) {
        return r->mark.unit == unit;
    }
    const unit_name *n = name_of(k, unit);
    bool file;
    if (r->session != NULL) {
        file = n->session != NULL && strcmp(n->session, r->session) == 0 &&
               strcmp(n->input, r->input) == 0;
    } else {
        file = (n->side_input != NULL && strcmp(n->side_input, r->input) == 0) ||
               (n->log != NULL && strcmp(n->log, r->input) == 0);
    }
    return file && strcmp(n->label, r->label) == 0;
}

/* Looks up the unit of every row; rows of other inputs are dropped. */
static void look_up(aot_marks *k)
{
    size_t to = 0;
    for (size_t i = 0; i < k->rows.n; i++) {
        row r = k->rows.d[i];
        for (size_t u = 0; u < k->n_names && r.mark.unit == SIZE_MAX; u++) {
            r.mark.unit = is_about(k, &r, u) ? u : SIZE_MAX;
        }
        if (r.mark.unit != SIZE_MAX) {
            k->rows.d[to++] = r;
        }
    }
    k->rows.n = to;
}

/* ---- reading ---- */

static void read_row(aot_marks *k, const char *session, sqlite3_stmt *q)
{
    aot_stage s = aot_stage_find(aot_reader_column(q, 2));
    if (s == AOT_N_STAGES) {
        return; // of another aotscope
    }
    const char *text[7];
    for (int i = 0; i < 7; i++) {
        text[i] = aot_arena_printf(k->arena, "%s", aot_reader_column(q, i));
    }
    row r = {{SIZE_MAX, s, text[3], text[4][0], text[5], text[6]}, text[0], text[1], session};
    aot_vec_push(&k->rows, r);
}

static int read_rows(aot_marks *k, sqlite3 *db, const char *session)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT input, label, stage, node, letter, text, made FROM mark "
                                "ORDER BY id",
                                -1, &q, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            read_row(k, session, q);
        }
    }
    sqlite3_finalize(q);
    return rc;
}

static void read_file(aot_marks *k, const char *path, const char *session, aot_err *err)
{
    sqlite3 *db = aot_reader_read(path, "mark", err);
    if (db != NULL && read_rows(k, db, session) != SQLITE_DONE) {
        aot_status ignored =
            AOT_FAIL(err, AOT_E_SESSION, "marks cannot be read: %s", sqlite3_errmsg(db));
        (void)ignored;
        aot_err_in_file(err, path);
    }
    sqlite3_close(db);
}

aot_marks *aot_marks_open(aot_model *m, const char *side, aot_err *err)
{
    aot_marks *k = aot_xcalloc(1, sizeof *k);
    const char *last = NULL;
    k->m = m;
    k->arena = aot_arena_new();
    k->side = side != NULL ? aot_xstrdup(side) : NULL;
    k->n_names = aot_model_n_units(m);
    k->names = aot_xcalloc(k->n_names + 1, sizeof *k->names);
    for (size_t i = 0; i < k->n_names; i++) { // units of one session follow each other
        const char *session = aot_model_unit_session(m, i);
        if (session != NULL && session != last) {
            read_file(k, session, session, err);
        }
        last = session;
    }
    if (side != NULL) {
        read_file(k, side, NULL, err);
    }
    return k;
}

void aot_marks_close(aot_marks *k)
{
    if (k != NULL) {
        aot_vec_free(&k->rows);
        aot_sb_free(&k->where);
        aot_arena_free(k->arena);
        free(k->names);
        free(k->side);
        free(k);
    }
}

bool aot_marks_side_path(char *buf, size_t size)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (xdg != NULL && xdg[0] == '/') {
        return snprintf(buf, size, "%s/aotscope/marks.sqlite", xdg) < (int)size;
    }
    return home != NULL && home[0] != '\0' &&
           snprintf(buf, size, "%s/.local/share/aotscope/marks.sqlite", home) < (int)size;
}

/* ---- asking ---- */

size_t aot_marks_count(aot_marks *k)
{
    look_up(k);
    return k->rows.n;
}

const aot_mark *aot_marks_at(const aot_marks *k, size_t i)
{
    return &k->rows.d[i].mark;
}

static const aot_mark *find(aot_marks *k, size_t unit, const char *node, bool letter)
{
    for (size_t i = k->rows.n; i-- > 0;) {
        const aot_mark *m = &k->rows.d[i].mark;
        if ((m->letter != 0) == letter && strcmp(m->node, node) == 0 &&
            is_about(k, &k->rows.d[i], unit)) {
            return m;
        }
    }
    return NULL;
}

const char *aot_marks_note_of(aot_marks *k, size_t unit, const char *node)
{
    const aot_mark *m = find(k, unit, node, false);
    return m != NULL ? m->text : NULL;
}

char aot_marks_letter_of(aot_marks *k, size_t unit, const char *node)
{
    const aot_mark *m = find(k, unit, node, true);
    return m != NULL ? m->letter : 0;
}

const aot_mark *aot_marks_find(aot_marks *k, char letter)
{
    look_up(k);
    for (size_t i = k->rows.n; i-- > 0 && letter != 0;) {
        if (k->rows.d[i].mark.letter == letter) {
            return &k->rows.d[i].mark;
        }
    }
    return NULL;
}

/* ---- writing ---- */

static bool run_bound(sqlite3 *db, const char *sql, const char *input, const char *label,
                      const aot_mark *m)
{
    sqlite3_stmt *q = NULL;
    char letter[2] = {m->letter, 0};
    bool ok = sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK;
    if (ok) {
        const char *values[] = {input,
                                label,
                                aot_stage_get(m->stage)->name,
                                m->node,
                                m->letter != 0 ? letter : NULL,
                                m->letter != 0 ? NULL : m->text,
                                m->made};
        for (int i = 0; i < sqlite3_bind_parameter_count(q); i++) {
            sqlite3_bind_text(q, i + 1, values[i], -1, SQLITE_TRANSIENT);
        }
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return ok;
}

/* Puts a mark into a file; letters of the input that are the same, or the node's old note, give
 * way. */
static bool write_row(const char *path, const char *input, const char *label, const aot_mark *m,
                      bool create, aot_sb *why)
{
    sqlite3 *db = aot_reader_begin(path, "mark", create, why);
    if (db == NULL) {
        return false;
    }
    bool ok = run_bound(
        db,
        m->letter != 0 ? "DELETE FROM mark WHERE letter = ?5 AND input = ?1"
                       : "DELETE FROM mark WHERE letter IS NULL AND input = ?1 AND label = ?2 AND "
                         "node = ?4",
        input, label, m);
    if (ok && (m->letter != 0 || m->text[0] != '\0')) {
        ok = run_bound(db,
                       "INSERT INTO mark (input, label, stage, node, letter, text, made) VALUES "
                       "(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                       input, label, m);
    }
    return aot_reader_end(db, ok, why);
}

static void make_folder(const char *file)
{
    char *path = aot_xstrdup(file);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); // it may be there
        *slash = '/';
    }
    free(path);
}

/* Writes a mark where it can be written, and says where that is. */
static void keep(aot_marks *k, const aot_mark *m)
{
    const unit_name *n = name_of(k, m->unit);
    aot_sb why = {0};
    aot_sb_clear(&k->where);
    if (n->session != NULL && write_row(n->session, n->input, n->label, m, false, &why)) {
        aot_sb_addf(&k->where, "kept in %s", n->session);
        aot_sb_free(&why);
        return;
    }
    aot_sb reason = {0};
    if (n->session != NULL) {
        aot_sb_addf(&reason, "%s cannot be written (%s; chmod u+w lets it take them)",
                    aot_file_name(n->session), aot_sb_text(&why));
    } else {
        aot_sb_addf(&reason, "%s is no session (aotscope import -o S.aots makes one)",
                    strcmp(n->input, "-") == 0 ? "standard input" : aot_file_name(n->input));
    }
    aot_sb_clear(&why);
    if (n->side_input != NULL && k->side != NULL) {
        make_folder(k->side);
        if (write_row(k->side, n->side_input, n->label, m, true, &why)) {
            aot_sb_addf(&k->where, "kept in %s: %s", k->side, aot_sb_text(&reason));
        }
    }
    if (k->where.n == 0) {
        aot_sb_addf(&k->where, "kept until aotscope ends: %s%s%s", aot_sb_text(&reason),
                    why.n != 0 ? "; " : "", aot_sb_text(&why));
    }
    aot_sb_free(&why);
    aot_sb_free(&reason);
}

/* Takes out of the list what the new one stands for. */
static void replace(aot_marks *k, const aot_mark *m)
{
    size_t to = 0;
    for (size_t i = 0; i < k->rows.n; i++) {
        const row *old = &k->rows.d[i];
        bool same = m->letter != 0
                        ? old->mark.letter == m->letter
                        : old->mark.letter == 0 && strcmp(old->mark.node, m->node) == 0 &&
                              is_about(k, old, m->unit);
        if (!same) {
            k->rows.d[to++] = *old;
        }
    }
    k->rows.n = to;
    if (m->letter != 0 || m->text[0] != '\0') {
        aot_vec_push(&k->rows, ((row){.mark = *m}));
    }
}

static aot_status change(aot_marks *k, size_t unit, aot_stage s, const char *node, char letter,
                         const char *text, aot_err *err)
{
    if (unit >= k->n_names || s >= AOT_N_STAGES || node == NULL || node[0] == '\0') {
        return AOT_FAIL(err, AOT_E_USAGE, "marks and notes are about nodes: there is none here");
    }
    look_up(k); // rows of other inputs do not give way
    char made[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(made, sizeof made, "%Y-%m-%d %H:%M:%S", gmtime_r(&now, &tm));
    aot_mark m = {.unit = unit,
                  .stage = s,
                  .node = aot_arena_printf(k->arena, "%s", node),
                  .letter = letter,
                  .text = aot_arena_printf(k->arena, "%s", text),
                  .made = aot_arena_printf(k->arena, "%s", made)};
    keep(k, &m);
    replace(k, &m);
    return AOT_OK;
}

aot_status aot_marks_set(aot_marks *k, size_t unit, aot_stage s, const char *node, char letter,
                         aot_err *err)
{
    if (letter < '!' || letter > '~') {
        return AOT_FAIL(err, AOT_E_USAGE, "a mark is named by one letter, digit or sign");
    }
    return change(k, unit, s, node, letter, "", err);
}

aot_status aot_marks_note(aot_marks *k, size_t unit, aot_stage s, const char *node,
                          const char *text, aot_err *err)
{
    return change(k, unit, s, node, 0, text, err);
}

const char *aot_marks_where(const aot_marks *k)
{
    return aot_sb_text(&k->where);
}
