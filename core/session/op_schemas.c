/* Schemas of custom operators: what a unit states of them, and what its recorded graphs show. */
#include "session/derive.h"

#include <stdlib.h>
#include <string.h>

/* One recorded use of a custom operator, as text, and where it belongs in the Dynamo graph. */
enum { MAX_ARGS = 32 };
typedef struct use {
    const char *record;          /* the text of the whole graph */
    /* of the arguments that are read, then of those that are written */
    aot_span name[MAX_ARGS];
    aot_span value[MAX_ARGS];
    unsigned n_read, n_written;
} use;

static aot_span trimmed(const char *s, size_t n)
{
    while (n != 0 && (s[n - 1] == ' ' || s[n - 1] == ',')) {
        n--;
    }
    return (aot_span){s, n};
}

/* The end of the value that begins at p: the next comma outside of brackets and quotes, or end. */
static const char *value_end(const char *p, const char *end)
{
    int depth = 0;
    char quote = 0;
    for (; p < end; p++) {
        if (quote != 0) {
            quote = *p == quote ? 0 : quote;
        } else if (*p == '\'' || *p == '"') {
            quote = *p;
        } else if (strchr("([{", *p) != NULL) {
            depth++;
        } else if (strchr(")]}", *p) != NULL && depth-- == 0) {
            return p;
        } else if (*p == ',' && depth == 0) {
            return p;
        }
    }
    return end;
}

/* The k-th item of "[primals_2, primals_3]". */
static aot_span item_of(aot_span list, long k)
{
    const char *p = list.n > 1 ? list.s + 1 : list.s, *end = list.s + (list.n > 0 ? list.n - 1 : 0);
    for (; k > 0 && p < end; k--) {
        p = value_end(p, end);
        p += p < end;
    }
    while (p < end && *p == ' ') {
        p++;
    }
    return trimmed(p, (size_t)(value_end(p, end) - p));
}

static bool read_use(use *u, const char *p, const char *end)
{
    static const char base[] = "_base_index", bases[] = "_all_bases";
    aot_span all = {"", 0};
    aot_span index[MAX_ARGS], name[MAX_ARGS];
    for (; p < end && u->n_read + u->n_written < MAX_ARGS; p += p < end) {
        while (p < end && *p == ' ') {
            p++;
        }
        const char *stop = value_end(p, end), *eq = memmem(p, (size_t)(stop - p), " = ", 3);
        if (stop < end && *stop != ',') {
            end = stop;
        }
        if (eq == NULL) {
            p = stop;
            continue;
        }
        aot_span key = {p, (size_t)(eq - p)}, value = trimmed(eq + 3, (size_t)(stop - eq - 3));
        if (key.s[0] != '_') {
            u->name[u->n_read] = key;
            u->value[u->n_read++] = value;
        } else if (key.n == sizeof bases - 1 && memcmp(key.s, bases, key.n) == 0) {
            all = value;
        } else if (key.n > sizeof base &&
                   memcmp(key.s + key.n - strlen(base), base, strlen(base)) == 0) {
            name[u->n_written] = (aot_span){key.s + 1, key.n - 1 - strlen(base)};
            index[u->n_written++] = value;
        }
        p = stop;
    }
    for (unsigned i = 0; i < u->n_written && u->n_read + i < MAX_ARGS; i++) {
        u->name[u->n_read + i] = name[i];
        u->value[u->n_read + i] = item_of(all, strtol(index[i].s, NULL, 10));
    }
    return u->n_written != 0 && u->n_read + u->n_written <= MAX_ARGS;
}

/* The type that the recorded graph gives a value: "f32[4, 3][3, 1]cpu"; n 0: it is no value. */
static aot_span type_in(const char *record, aot_span value)
{
    for (const char *p = record; (p = memmem(p, strlen(p), value.s, value.n)) != NULL;
         p += value.n) {
        if (value.n != 0 && p > record && (p[-1] == ' ' || p[-1] == '\t') &&
            strncmp(p + value.n, ": \"", 3) == 0) {
            const char *type = p + value.n + 3, *quote = strchr(type, '"');
            return quote != NULL ? (aot_span){type, (size_t)(quote - type)} : (aot_span){"", 0};
        }
    }
    return (aot_span){"", 0};
}

/* Which input "primals_3" or "arg2_1" is, from 0; -1: none. */
static long input_number(aot_span v)
{
    if (v.n > 8 && memcmp(v.s, "primals_", 8) == 0) {
        return strtol(v.s + 8, NULL, 10) - 1;
    }
    return v.n > 3 && memcmp(v.s, "arg", 3) == 0 ? strtol(v.s + 3, NULL, 10) : -1;
}

static long placeholder_number(const aot_graph *g, aot_node_id id)
{
    long k = 0;
    for (aot_node_id i = 0; i < id; i++) {
        k += aot_node_at(g, i)->kind == AOT_PLACEHOLDER;
    }
    return aot_node_at(g, id)->kind == AOT_PLACEHOLDER ? k : -1;
}

/* How well an argument of the Dynamo call agrees with one that was recorded; < 0: it cannot be
 * that. */
static int agreement(const aot_graph *g, const aot_arg *a, const use *u, unsigned k)
{
    aot_span type = type_in(u->record, u->value[k]);
    if (a->kind != AOT_ARG_NODE) {
        return k >= u->n_read || type.n != 0 ? -1 : 0;
    }
    const char *own = aot_text(g->ctx, aot_meta_get(g->ctx, aot_node_at(g, a->u.node)->meta)->text);
    if (type.n != 0 && *own != '\0' &&
        (strlen(own) != type.n || memcmp(own, type.s, type.n) != 0)) {
        // of what is written the base was recorded, the call may take a view
        return k < u->n_read ? -1 : 0;
    }
    long input = input_number(u->value[k]);
    return input >= 0 && input == placeholder_number(g, a->u.node) ? 2 : 1;
}

static const aot_node *first_call(const aot_graph *g, aot_span op)
{
    for (size_t i = 0; g != NULL && i < g->nodes.n; i++) {
        const char *target = aot_text(g->ctx, g->nodes.d[i].target);
        if (aot_starts_with(target, "torch.ops.") && strncmp(target + 10, op.s, op.n) == 0 &&
            (target[10 + op.n] == '\0' || target[10 + op.n] == '.')) {
            return &g->nodes.d[i];
        }
    }
    return NULL;
}

/* Read and written arguments keep their order; where the written ones stand among the others, the
 * call in the Dynamo graph tells: written[i] for each argument of the schema. By the best sum of
 * agreements. */
static void place_written(bool written[MAX_ARGS], const use *u, const aot_graph *dynamo,
                          aot_span op)
{
    int best[MAX_ARGS + 1][MAX_ARGS + 1];
    bool from_written[MAX_ARGS + 1][MAX_ARGS + 1];
    const aot_node *call = first_call(dynamo, op);
    unsigned n = u->n_read + u->n_written, n_args = call != NULL ? call->n_args : 0;
    memset(from_written, 0, sizeof from_written);
    for (unsigned w = 0; w <= u->n_written; w++) {
        for (unsigned r = 0; r <= u->n_read; r++) {
            // arguments placed so far; the last of them is one more read or written
            unsigned i = r + w;
            int by_read = -1000, by_written = -1000;
            const aot_arg *a =
                i != 0 && i - 1 < n_args ? aot_node_args(dynamo, call) + i - 1 : NULL;
            if (r != 0) {
                int k = a != NULL ? agreement(dynamo, a, u, r - 1) : 0;
                by_read = best[w][r - 1] + (k < 0 ? -100 : k);
            }
            if (w != 0) {
                int k = a != NULL ? agreement(dynamo, a, u, u->n_read + w - 1) : 0;
                by_written = best[w - 1][r] + (k < 0 ? -100 : k);
            }
            from_written[w][r] = w != 0 && (r == 0 || by_written > by_read);
            best[w][r] = i == 0 ? 0 : from_written[w][r] ? by_written : by_read;
        }
    }
    for (unsigned i = n, r = u->n_read, w = u->n_written; i-- > 0;) {
        written[i] = from_written[w][r];
        w -= written[i];
        r -= !written[i];
    }
}

/* auto_functionalized_v2(torch.ops.NS.NAME.default, a = 2.0, _x_base_index = 0, _all_bases = [..])
 * names the arguments that are read and those that are written. What it returns is for the Dynamo
 * graph to say. NULL if the text is something else. */
static const char *schema_of_use(const char *record, const char *p, const aot_graph *dynamo,
                                 aot_arena *a)
{
    static const char ops[] = "torch.ops.";
    const char *end = strchr(p, '\n'), *open = strstr(p, ops);
    if (end == NULL || open == NULL || open > end) {
        return NULL;
    }
    open += strlen(ops);
    const char *comma = strchr(open, ','), *dot = strchr(open, '.');
    use u = {.record = record};
    if (comma == NULL || comma > end || dot == NULL || dot > comma ||
        !read_use(&u, comma + 1, end)) {
        return NULL;
    }
    const char *stop =
        comma - open > 8 && strncmp(comma - 8, ".default", 8) == 0 ? comma - 8 : comma;
    bool written[MAX_ARGS];
    aot_sb args = {0};
    place_written(written, &u, dynamo, (aot_span){open, (size_t)(stop - open)});
    for (unsigned i = 0, r = 0, w = 0; i < u.n_read + u.n_written; i++) {
        aot_span name = u.name[written[i] ? u.n_read + w : r];
        if (written[i]) {
            aot_sb_addf(&args, "%sTensor(%c!) %.*s", i != 0 ? ", " : "", 'a' + (int)(w % 26),
                        (int)name.n, name.s);
        } else {
            aot_sb_addf(&args, "%sAny %.*s", i != 0 ? ", " : "", (int)name.n, name.s);
        }
        w += written[i];
        r += !written[i];
    }
    const char *schema = aot_arena_printf(a, "%.*s::%.*s(%s) -> Any", (int)(dot - open), open,
                                          (int)(stop - dot - 1), dot + 1, aot_sb_text(&args));
    aot_sb_free(&args);
    return schema;
}

static void learn_schemas(const aot_unit *u, aot_stage s, const aot_graph *dynamo, aot_arena *a,
                          const char **list, unsigned *n, unsigned most)
{
    static const char use[] = "auto_functionalized_v2(";
    const aot_record *r = aot_unit_stage(u, s);
    const char *p = r != NULL ? r->text : NULL;
    while (p != NULL && *n < most && (p = strstr(p, use)) != NULL) {
        p += strlen(use);
        const char *schema = schema_of_use(r->text, p, dynamo, a);
        if (schema != NULL) {
            list[(*n)++] = schema;
        }
    }
}

/* ---- calls with keywords --------------------------------------------------------------------- */

/* A recorded call: how many arguments go by position, and the names of the others. */
typedef struct seen_call {
    unsigned n_positional, n_named;
    aot_span name[MAX_ARGS];
} seen_call;

static bool seen_call_of(seen_call *c, const char *record, const char *op)
{
    size_t n = strlen(op);
    const char *p = record, *end;
    while ((p = strstr(p, op)) != NULL &&
           (p[n] != '.' || p < record + 2 || memcmp(p - 2, "= ", 2) != 0)) {
        p += n; // a longer name, or the user's own line in a comment
    }
    p = p != NULL ? strchr(p, '(') : NULL;
    end = p != NULL ? strchr(p, '\n') : NULL;
    *c = (seen_call){0};
    for (p = p != NULL ? p + 1 : NULL; p != NULL && end != NULL && p < end;) {
        while (*p == ' ') {
            p++;
        }
        const char *stop = value_end(p, end), *eq = memmem(p, (size_t)(stop - p), " = ", 3);
        if (eq != NULL && c->n_named < MAX_ARGS && *p != '[' && *p != '(') {
            c->name[c->n_named++] = (aot_span){p, (size_t)(eq - p)};
        } else if (stop > p) {
            c->n_positional++;
        }
        if (*stop != ',') {
            return stop < end;
        }
        p = stop + 1;
    }
    return false;
}

static bool is_named(const seen_call *c, const char *name)
{
    for (unsigned i = 0; i < c->n_named; i++) {
        if (strlen(name) == c->name[i].n && memcmp(name, c->name[i].s, c->name[i].n) == 0) {
            return true;
        }
    }
    return false;
}

/* A number or None that a call may leave out again, as schemas write it; NULL: it is something
 * else. */
static const char *as_default(const aot_arg *a, aot_arena *arena)
{
    return a->kind == AOT_ARG_NONE    ? "None"
           : a->kind == AOT_ARG_BOOL  ? (a->u.i != 0 ? "True" : "False")
           : a->kind == AOT_ARG_INT   ? aot_arena_printf(arena, "%lld", (long long)a->u.i)
           : a->kind == AOT_ARG_FLOAT ? aot_arena_printf(arena, "%.17g", a->u.f)
                                      : NULL;
}

/* The schema of a call with keywords: those that were recorded by name are by name only; those that
 * were not took the next places, in their order; one that was recorded in neither way is the
 * default. */
static const char *schema_of_call(const aot_graph *g, const aot_node *n, const char *record,
                                  aot_arena *a)
{
    const char *op = aot_text(g->ctx, n->target), *name = op + strlen("torch.ops."),
               *dot = strchr(name, '.');
    const aot_arg *kw = aot_node_kwargs(g, n);
    seen_call c;
    if (dot == NULL || strchr(dot + 1, '.') != NULL || !seen_call_of(&c, record, op) ||
        c.n_positional < n->n_args) {
        return NULL;
    }
    aot_sb args = {0}, named = {0};
    unsigned left = c.n_positional - n->n_args;
    bool known = true;
    for (unsigned i = 0; i < n->n_args; i++) {
        aot_sb_addf(&args, "%sAny arg%u", i != 0 ? ", " : "", i);
    }
    for (unsigned i = 0; i < n->n_kwargs; i++) {
        const char *key = aot_text(g->ctx, kw[2 * i].u.s);
        const char *def = is_named(&c, key) || left != 0 ? "" : as_default(&kw[2 * i + 1], a);
        known = known && def != NULL;
        if (!is_named(&c, key) && left != 0) {
            aot_sb_addf(&args, "%sAny %s", args.n != 0 ? ", " : "", key);
            left--;
        } else if (def != NULL) {
            aot_sb_addf(&named, ", Any %s%s%s", key, *def != '\0' ? "=" : "", def);
        }
    }
    const char *schema = NULL;
    if (known && left == 0) {
        schema = aot_arena_printf(
            a, "%.*s::%s(%s%s%s) -> Any", (int)(dot - name), name, dot + 1, aot_sb_text(&args),
            named.n != 0 ? (args.n != 0 ? ", *" : "*") : "", aot_sb_text(&named));
    }
    aot_sb_free(&args);
    aot_sb_free(&named);
    return schema;
}

static void learn_calls(const aot_unit *u, const aot_graph *g, aot_arena *a, const char **list,
                        unsigned *n, unsigned most)
{
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    r = r != NULL ? r : aot_unit_stage(u, AOT_STAGE_INFERENCE);
    for (size_t i = 0; g != NULL && r != NULL && r->text != NULL && i < g->nodes.n && *n < most;
         i++) {
        const aot_node *x = &g->nodes.d[i];
        bool custom = x->kind == AOT_CALL_FUNCTION && x->op == AOT_OP_UNKNOWN && x->n_kwargs != 0 &&
                      aot_starts_with(aot_text(g->ctx, x->target), "torch.ops.") &&
                      !aot_starts_with(aot_text(g->ctx, x->target), "torch.ops.higher_order.");
        const char *schema = custom ? schema_of_call(g, x, r->text, a) : NULL;
        if (schema != NULL) {
            list[(*n)++] = schema;
        }
    }
}

enum { MAX_LEARNED = 64 };

/* Custom operators' schemas: those that are stated, then what the recorded graphs show of mutating
 * ones and of calls with keywords. */
const char *const *aot_unit_op_schemas(const aot_unit *u, const aot_graph *dynamo, aot_arena *a,
                                       unsigned *n)
{
    const char **list = AOT_NEW_ARRAY(a, const char *, u->records.n + 2 * MAX_LEARNED + 1);
    *n = 0;
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        if (strcmp(r->name, "aotscope_op_schema") == 0 && r->text != NULL) {
            list[(*n)++] = r->text;
        }
    }
    learn_schemas(u, AOT_STAGE_JOINT, dynamo, a, list, n, *n + MAX_LEARNED / 2);
    learn_schemas(u, AOT_STAGE_INFERENCE, dynamo, a, list, n, *n + MAX_LEARNED / 2);
    learn_calls(u, dynamo, a, list, n, *n + MAX_LEARNED);
    return list;
}
