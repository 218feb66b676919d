/* Symbolic sizes without a hint. PyTorch always has one for a backed symbol; a log need not tell it
 * (TORCH_LOGS without dynamic). Figures then stand on AOT_HINT_ASSUMED, one value a symbol, and say
 * so.
 *
 * Mirrors: torch/fx/experimental/symbolic_shapes.py:size_hint (fallback). Differs: PyTorch falls
 * back for an expression with unbacked symbols only; the same is done here, backed ones are assumed
 * by symbol. */
#include "session/hints.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

#define MOST_HINT (INT64_C(1) << 40)

typedef struct pair {
    const char *name;
    size_t n;
    int64_t value;
} pair;

/* The next NAME=NUMBER; false at the end, or with *bad where it is none. */
static bool next_pair(const char **at, pair *p, bool *bad)
{
    const char *s = *at + strspn(*at, ", ");
    if (*s == '\0') {
        return false;
    }
    p->name = s;
    while (isalnum((unsigned char)*s) || *s == '_') {
        s++;
    }
    p->n = (size_t)(s - p->name);
    char *end = NULL;
    errno = 0;
    p->value = *s == '=' && isdigit((unsigned char)s[1]) ? strtoll(s + 1, &end, 10) : -1;
    *bad = p->n == 0 || isdigit((unsigned char)p->name[0]) || p->value < 0 || errno != 0 ||
           (*end != '\0' && *end != ',' && *end != ' ');
    *at = end;
    return !*bad;
}

/* A size beyond MOST_HINT is no tensor's, and products of sizes must stay within 64 bits. */
static aot_status check_pairs(const char *text, aot_err *err)
{
    pair p, q;
    bool bad = false, none = false;
    for (const char *at = text; next_pair(&at, &p, &bad);) {
        if (p.value > MOST_HINT) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "hint: %.*s = %lld is larger than any tensor's size; at most 2^40",
                            (int)(p.n < 60 ? p.n : 60), p.name, (long long)p.value);
        }
        for (const char *rest = at; next_pair(&rest, &q, &none);) {
            if (p.n == q.n && memcmp(p.name, q.name, p.n) == 0 && p.value != q.value) {
                return AOT_FAIL(err, AOT_E_USAGE, "hint: %.*s is given twice, as %lld and %lld",
                                (int)(p.n < 60 ? p.n : 60), p.name, (long long)p.value,
                                (long long)q.value);
            }
        }
    }
    return AOT_OK;
}

static void forget_taken(aot_unit *u)
{
    size_t n = 0;
    for (size_t i = 0; i < u->symbols.n; i++) {
        aot_symbol s = u->symbols.d[i];
        if (s.taken == AOT_HINT_ADDED) {
            continue;
        }
        s.has_hint = s.taken == AOT_HINT_AS_TOLD ? s.has_hint : s.taken == AOT_HINT_REPLACED;
        s.hint = s.taken == AOT_HINT_AS_TOLD ? s.hint : s.told;
        s.taken = AOT_HINT_AS_TOLD;
        u->symbols.d[n++] = s;
    }
    u->symbols.n = n;
}

static void take(aot_unit *u, const pair *p)
{
    aot_symbol *s = NULL;
    for (size_t i = 0; i < u->symbols.n && s == NULL; i++) {
        const char *name = u->symbols.d[i].name;
        s = name != NULL && strlen(name) == p->n && memcmp(name, p->name, p->n) == 0
                ? &u->symbols.d[i]
                : NULL;
    }
    if (s == NULL) {
        aot_symbol fresh = {.name = aot_arena_strndup(u->arena, p->name, p->n),
                            .source = "",
                            .range = "",
                            .taken = AOT_HINT_ADDED};
        aot_vec_push(&u->symbols, fresh);
        s = &u->symbols.d[u->symbols.n - 1];
    } else if (s->taken == AOT_HINT_AS_TOLD) {
        s->told = s->hint;
        s->taken = s->has_hint ? AOT_HINT_REPLACED : AOT_HINT_FILLED;
    }
    s->hint = p->value;
    s->has_hint = true;
}

aot_status aot_hints_take(aot_unit *u, const char *text, aot_err *err)
{
    pair p;
    bool bad = false;
    for (const char *at = text; next_pair(&at, &p, &bad);) {
    }
    AOT_TRY(check_pairs(text, err));
    if (bad) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "hint: '%.60s' is not NAME=NUMBER,NAME=NUMBER, as in s77=6", text);
    }
    if (u != NULL) {
        forget_taken(u);
        for (const char *at = text; next_pair(&at, &p, &bad);) {
            take(u, &p);
        }
    }
    return AOT_OK;
}

/* ---- which symbols there are ----------------------------------------------------------------- */

const char *aot_hints_name(const char *text, size_t i, size_t *n)
{
    pair p;
    bool bad = false;
    for (const char *at = text; next_pair(&at, &p, &bad);) {
        if (i-- == 0) {
            *n = p.n;
            return p.name;
        }
    }
    return NULL;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool text_has(const aot_record *r, const char *name, size_t n)
{
    const char *s = r->text, *end = r->text != NULL ? s + r->len : NULL;
    while (s != NULL && (s = memmem(s, (size_t)(end - s), name, n)) != NULL) {
        bool whole = (s == r->text || !is_word(s[-1])) && (s + n == end || !is_word(s[n]));
        if (whole) {
            return true;
        }
        s += n;
    }
    return false;
}

bool aot_hints_knows(const aot_unit *u, const char *name, size_t n)
{
    for (size_t i = 0; i < u->symbols.n; i++) {
        const aot_symbol *s = &u->symbols.d[i];
        if (s->taken != AOT_HINT_ADDED && s->name != NULL && strlen(s->name) == n &&
            memcmp(s->name, name, n) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < u->records.n; i++) {
        if (text_has(&u->records.d[i], name, n)) {
            return true;
        }
    }
    return false;
}

static void add_name(aot_sb *out, const char *name, size_t n)
{
    aot_record so_far = {.text = out->d, .len = out->n};
    if (!text_has(&so_far, name, n)) {
        aot_sb_addf(out, "%s%.*s", out->n > 0 ? ", " : "", (int)n, name);
    }
}

void aot_hints_list(aot_sb *out, const aot_unit *u)
{
    for (size_t i = 0; i < u->symbols.n; i++) {
        if (u->symbols.d[i].taken != AOT_HINT_ADDED && u->symbols.d[i].name != NULL) {
            add_name(out, u->symbols.d[i].name, strlen(u->symbols.d[i].name));
        }
    }
    for (size_t i = 0; i < u->records.n; i++) { // placeholders: s77: "Sym(s77)"
        const aot_record *r = &u->records.d[i];
        const char *s = r->text, *end = r->text != NULL ? s + r->len : NULL;
        while (s != NULL && (s = memmem(s, (size_t)(end - s), "Sym(", 4)) != NULL) {
            size_t n = 0;
            for (s += 4; s + n < end && is_word(s[n]); n++) {
            }
            if (n > 1 && s + n < end && s[n] == ')' && !isdigit((unsigned char)s[0])) {
                add_name(out, s, n);
            }
        }
    }
}

/* ---- what is assumed ------------------------------------------------------------------------- */

typedef struct finder {
    const aot_ctx *c;
    AOT_VEC(char *) names; /* each once */
} finder;

static void see(void *arg, const char *name, size_t n)
{
    finder *f = arg;
    if (!aot_symbol_is_backed(name, n) || aot_ctx_hint(f->c, name, n) != AOT_HINT_NONE) {
        return;
    }
    for (size_t i = 0; i < f->names.n; i++) {
        if (strlen(f->names.d[i]) == n && memcmp(f->names.d[i], name, n) == 0) {
            return;
        }
    }
    aot_vec_push(&f->names, aot_xstrndup(name, n));
}

const char *aot_assumed_text(const aot_ctx *c, aot_arena *a)
{
    finder f = {.c = c};
    for (size_t i = 0; i < c->dims.n; i++) {
        const aot_dim *d = &c->dims.d[i];
        if (d->expr != 0 && d->value == AOT_HINT_NONE) {
            aot_sym_each(aot_text(c, d->expr), aot_str_len(c->strs, d->expr), see, &f);
        }
    }
    aot_sb names = {0};
    for (size_t i = 0; i < f.names.n; i++) {
        aot_sb_addf(&names, "%s%s", i > 0 ? ", " : "", f.names.d[i]);
    }
    const char *text =
        f.names.n == 0
            ? NULL
            : aot_arena_printf(a, "assumed: %s = %d (the log states no hint); --hint %s=6 sets it",
                               aot_sb_text(&names), AOT_HINT_ASSUMED, f.names.d[0]);
    for (size_t i = 0; i < f.names.n; i++) {
        free(f.names.d[i]);
    }
    aot_vec_free(&f.names);
    aot_sb_free(&names);
    return text;
}
