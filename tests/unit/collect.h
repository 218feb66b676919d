/* A sink for tests: keeps the units, counts notes and loose records. */
#ifndef AOT_TESTS_COLLECT_H
#define AOT_TESTS_COLLECT_H

#include "fixture.h"
#include "import/unit.h"

typedef struct collected {
    AOT_VEC(aot_unit *) units;
    AOT_VEC(char *) notes; /* "kind:line: text" */
    size_t n_loose, n_progress;
    aot_import_stats stats;
    aot_err err;
    aot_status status;
    aot_status stop_with; /* what on_unit answers */
} collected;

static inline aot_status collect_unit(void *arg, aot_unit *u, aot_err *err)
{
    collected *c = arg;
    (void)err;
    aot_vec_push(&c->units, u);
    return c->stop_with;
}

static inline void collect_note(void *arg, const aot_import_note *n)
{
    collected *c = arg;
    char buf[900];
    snprintf(buf, sizeof buf, "%s:%llu: %s", n->kind, (unsigned long long)n->line, n->text);
    aot_vec_push(&c->notes, aot_xstrdup(buf));
}

static inline void collect_loose(void *arg, const aot_unit_key *key, const aot_record *r)
{
    (void)key;
    (void)r;
    ((collected *)arg)->n_loose++;
}

static inline void collect_progress(void *arg, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    ((collected *)arg)->n_progress++;
}

static inline aot_import_sink collect_sink(collected *c)
{
    return (aot_import_sink){c, collect_unit, collect_note, collect_loose, collect_progress};
}

static inline void collect_file(collected *c, const char *name)
{
    *c = (collected){0};
    aot_import_sink sink = collect_sink(c);
    c->status = aot_import(fixture(name), &sink, &c->stats, &c->err);
}

static inline void collect_text(collected *c, const char *text, size_t n)
{
    *c = (collected){0};
    aot_import_sink sink = collect_sink(c);
    c->status = aot_import_bytes("text", text, n, &sink, &c->stats, &c->err);
}

static inline void collect_free(collected *c)
{
    for (size_t i = 0; i < c->units.n; i++) {
        aot_unit_free(c->units.d[i]);
    }
    for (size_t i = 0; i < c->notes.n; i++) {
        free(c->notes.d[i]);
    }
    aot_vec_free(&c->units);
    aot_vec_free(&c->notes);
}

/* First note that contains the text; NULL. */
static inline const char *find_note(const collected *c, const char *what)
{
    for (size_t i = 0; i < c->notes.n; i++) {
        if (strstr(c->notes.d[i], what) != NULL) {
            return c->notes.d[i];
        }
    }
    return NULL;
}

static inline const aot_import_note *find_unit_note(const aot_unit *u, const char *kind)
{
    for (size_t i = 0; i < u->notes.n; i++) {
        if (strcmp(u->notes.d[i].kind, kind) == 0) {
            return &u->notes.d[i];
        }
    }
    return NULL;
}

/* Stages of a unit as letters: d joint=j f b i e. */
static inline const char *stages(const aot_unit *u)
{
    static char buf[AOT_N_STAGES + 1];
    static const struct {
        aot_stage s;
        char c;
    } letters[] = {{AOT_STAGE_DYNAMO, 'd'},   {AOT_STAGE_JOINT, 'j'},     {AOT_STAGE_FORWARD, 'f'},
                   {AOT_STAGE_BACKWARD, 'b'}, {AOT_STAGE_INFERENCE, 'i'}, {AOT_STAGE_EXPORT, 'e'}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (aot_unit_stage(u, letters[i].s) != NULL) {
            buf[n++] = letters[i].c;
        }
    }
    buf[n] = '\0';
    return buf;
}

static inline const char *label(const aot_unit *u)
{
    static char buf[80];
    return aot_unit_label(&u->key, buf, sizeof buf);
}

#endif
