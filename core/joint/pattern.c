/* Patterns as text: reading, printing, comparing. The notation is described in match.h. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "joint/match.h"

typedef struct binding {
    const char *name;
    size_t len;
    pat_arg value;
} binding;

typedef struct reader {
    const char *p;
    pattern *out;
    aot_ctx *c;
    AOT_VEC(binding) names;
} reader;

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->p)) {
        r->p++;
    }
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (*r->p != c) {
        return false;
    }
    r->p++;
    return true;
}

static size_t word(reader *r)
{
    skip_blanks(r);
    size_t n = 0;
    while (isalnum((unsigned char)r->p[n]) || r->p[n] == '_' || r->p[n] == '.') {
        n++;
    }
    return n;
}

/* Appends arguments as one run; their own items come before it. */
static uint32_t add_run(pattern *p, const pat_arg *items, const aot_str *keys, size_t n)
{
    uint32_t first = (uint32_t)p->args.n;
    for (size_t i = 0; i < n; i++) {
        aot_vec_push(&p->args, items[i]);
        aot_vec_push(&p->keys, keys[i]);
    }
    return first;
}

typedef struct run {
    AOT_VEC(pat_arg) items;
    AOT_VEC(aot_str) keys;
} run;

static pat_arg read_value(reader *r);

/* Items up to the closing bracket; "name=value" sets the key. */
static void read_run(reader *r, char close, run *out)
{
    while (!take(r, close)) {
        const char *at = r->p;
        size_t n = word(r);
        aot_str key = 0;
        const char *start = r->p;
        r->p += n;
        if (n != 0 && take(r, '=')) {
            key = aot_intern(r->c->strs, start, n);
        } else {
            r->p = at;
        }
        aot_vec_push(&out->items, read_value(r));
        aot_vec_push(&out->keys, key);
        take(r, ',');
    }
}

static pat_arg read_call(reader *r, const char *op, size_t n)
{
    pat_call c = {.users = 1};
    c.packet = n > 2 && op[n - 1] == '.' && take(r, '*');
    c.op = aot_arena_strndup(r->c->arena, op, c.packet ? n - 1 : n);
    if (take(r, '~')) {
        c.users = PAT_MANY;
    } else if (take(r, '^')) {
        c.users = (int)strtol(r->p, (char **)(uintptr_t)&r->p, 10);
    }
    bool open = take(r, '(');
    assert(open);
    (void)open;
    run args = {0};
    read_run(r, ')', &args);
    while (c.n_args < args.keys.n && args.keys.d[c.n_args] == 0) {
        c.n_args++;
    }
    c.n_kwargs = (uint32_t)args.keys.n - c.n_args;
    for (size_t i = 0; i < args.items.n; i++) {
        c.lists |= args.items.d[i].kind == PAT_LIST;
    }
    c.args = add_run(r->out, args.items.d, args.keys.d, args.items.n);
    c.kwargs = c.args + c.n_args;
    aot_vec_push(&r->out->calls, c);
    aot_vec_free(&args.items);
    aot_vec_free(&args.keys);
    return (pat_arg){.kind = PAT_CALL, .at = (uint32_t)r->out->calls.n - 1};
}

static pat_arg constant(reader *r, const char *s, size_t n)
{
    pat_arg a = {.kind = PAT_CONST};
    if (n == 4 && memcmp(s, "True", 4) == 0) {
        a.value = fx_a_bool(true);
    } else if (n == 5 && memcmp(s, "False", 5) == 0) {
        a.value = fx_a_bool(false);
    } else if (n == 4 && memcmp(s, "None", 4) == 0) {
        a.value = (aot_arg){.kind = AOT_ARG_NONE};
    } else if (isdigit((unsigned char)s[0])) {
        a.value = fx_a_int(strtoll(s, NULL, 10));
    } else {
        a.value = (aot_arg){.kind = AOT_ARG_NAME, .u.s = aot_intern(r->c->strs, s, n)};
    }
    return a;
}

static pat_arg read_value(reader *r)
{
    if (take(r, '*')) {
        return (pat_arg){.kind = PAT_ANY};
    }
    if (take(r, '$')) {
        size_t n = word(r);
        pat_arg a = {.kind = PAT_KEY, .at = aot_intern(r->c->strs, r->p, n)};
        r->p += n;
        return a;
    }
    if (take(r, '[')) {
        run items = {0};
        read_run(r, ']', &items);
        pat_arg a = {.kind = PAT_LIST, .n = (uint32_t)items.items.n};
        a.at = add_run(r->out, items.items.d, items.keys.d, items.items.n);
        aot_vec_free(&items.items);
        aot_vec_free(&items.keys);
        return a;
    }
    size_t n = word(r);
    const char *s = r->p;
    r->p += n;
    assert(n != 0);
    for (size_t i = 0; i < r->names.n; i++) {
        if (r->names.d[i].len == n && memcmp(r->names.d[i].name, s, n) == 0) {
            return r->names.d[i].value;
        }
    }
    skip_blanks(r);
    bool call = *r->p == '(' || *r->p == '~' || *r->p == '^' || (s[n - 1] == '.' && *r->p == '*');
    return call ? read_call(r, s, n) : constant(r, s, n);
}

void pattern_parse(pattern *out, aot_ctx *c, const char *name, const char *text)
{
    *out = (pattern){.name = name};
    reader r = {.p = text, .out = out, .c = c};
    for (;;) {
        const char *at = r.p;
        size_t n = word(&r);
        binding b = {.name = r.p, .len = n};
        r.p += n;
        if (n == 0 || !take(&r, '=')) {
            r.p = at;
            break;
        }
        b.value = read_value(&r);
        aot_vec_push(&r.names, b);
        take(&r, ';');
    }
    do {
        pat_arg v = read_value(&r);
        aot_vec_push(&out->outs, v.kind == PAT_CALL ? (int)v.at : PAT_NO_CALL);
        if (v.kind == PAT_CALL) {
            out->calls.d[v.at].is_output = true;
        }
    } while (take(&r, ','));
    aot_vec_free(&r.names);
}

void pattern_free(pattern *p)
{
    aot_vec_free(&p->calls);
    aot_vec_free(&p->args);
    aot_vec_free(&p->keys);
    aot_vec_free(&p->outs);
}

/* ---- printing, comparing --------------------------------------------------------------------- */

static void print_value(aot_sb *out, const pattern *p, const pat_arg *a, const aot_ctx *c)
{
    static const aot_graph no_graph;
    switch (a->kind) {
    case PAT_ANY:
        aot_sb_addc(out, '*');
        break;
    case PAT_KEY:
        aot_sb_addf(out, "$%s", aot_text(c, a->at));
        break;
    case PAT_CALL:
        aot_sb_addf(out, "%%%u", a->at);
        break;
    case PAT_LIST:
        aot_sb_addc(out, '[');
        for (uint32_t i = 0; i < a->n; i++) {
            aot_sb_addz(out, i != 0 ? ", " : "");
            print_value(out, p, &p->args.d[a->at + i], c);
        }
        aot_sb_addc(out, ']');
        break;
    default: {
        aot_graph g = no_graph;
        g.ctx = (aot_ctx *)(uintptr_t)c;
        aot_print_arg(out, &g, &a->value);
    }
    }
}

static void print_call(aot_sb *out, const pattern *p, uint32_t i, const aot_ctx *c)
{
    const pat_call *x = &p->calls.d[i];
    aot_sb_addf(out, "%%%u = %s%s(", i, x->op, x->packet ? ".*" : "");
    for (uint32_t k = 0; k < x->n_args + x->n_kwargs; k++) {
        uint32_t at = k < x->n_args ? x->args + k : x->kwargs + k - x->n_args;
        aot_sb_addz(out, k != 0 ? ", " : "");
        if (k >= x->n_args) {
            aot_sb_addf(out, "%s=", aot_text(c, p->keys.d[at]));
        }
        print_value(out, p, &p->args.d[at], c);
    }
    aot_sb_addf(out, ") users=%d\n", x->users);
}

void pattern_print(aot_sb *out, const pattern *p, const aot_ctx *c)
{
    for (uint32_t i = 0; i < p->calls.n; i++) {
        print_call(out, p, i, c);
    }
    aot_sb_addz(out, "return ");
    for (size_t i = 0; i < p->outs.n; i++) {
        aot_sb_addz(out, i != 0 ? ", " : "");
        if (p->outs.d[i] == PAT_NO_CALL) {
            aot_sb_addz(out, "None");
        } else {
            aot_sb_addf(out, "%%%d", p->outs.d[i]);
        }
    }
    aot_sb_addc(out, '\n');
}

static bool same_arg(const pat_arg *a, const pat_arg *b)
{
    return a->kind == b->kind && a->at == b->at && a->n == b->n &&
           (a->kind != PAT_CONST || fx_arg_equal(NULL, &a->value, &b->value));
}

bool pattern_same(const pattern *a, const pattern *b)
{
    if (a->calls.n != b->calls.n || a->args.n != b->args.n || a->outs.n != b->outs.n) {
        return false;
    }
    bool same = memcmp(a->outs.d, b->outs.d, a->outs.n * sizeof *a->outs.d) == 0;
    for (size_t i = 0; i < a->calls.n && same; i++) {
        const pat_call *x = &a->calls.d[i], *y = &b->calls.d[i];
        same = strcmp(x->op, y->op) == 0 && x->packet == y->packet && x->users == y->users &&
               x->args == y->args && x->n_args == y->n_args && x->kwargs == y->kwargs &&
               x->n_kwargs == y->n_kwargs;
    }
    for (size_t i = 0; i < a->args.n && same; i++) {
        same = a->keys.d[i] == b->keys.d[i] && same_arg(&a->args.d[i], &b->args.d[i]);
    }
    return same;
}
