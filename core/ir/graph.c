/* Graphs: appending nodes and arguments, links between producers and users, FX's naming rule. */
#include "ir/graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *aot_node_kind_name(aot_node_kind k)
{
    static const char *const names[] = {"placeholder", "get_attr", "call_function",
                                        "call_method", "call_module", "output"};
    return names[k];
}

static const char *const policies[] = {"", "MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE",
                                       "PREFER_RECOMPUTE"};

const char *aot_policy_name(aot_policy p)
{
    return policies[p];
}

aot_policy aot_policy_of(const char *s, size_t n)
{
    for (int i = 1; i < 5; i++) {
        if (strlen(policies[i]) == n && memcmp(policies[i], s, n) == 0) {
            return (aot_policy)i;
        }
    }
    return AOT_POLICY_NONE;
}

aot_graph *aot_graph_new(aot_ctx *c)
{
    aot_graph *g = aot_xcalloc(1, sizeof *g);
    g->ctx = c;
    aot_vec_push(&c->graphs, g);
    aot_vec_push(&g->srcs, ((aot_src){.ac_graph_id = -1}));
    return g;
}

aot_graph *aot_graph_like(const aot_graph *g)
{
    aot_graph *r = aot_graph_new(g->ctx);
    r->class_name = g->class_name;
    r->attr_name = g->attr_name;
    r->layout = g->layout;
    r->srcs.n = 0;
    aot_vec_grow(&r->srcs, g->srcs.n);
    memcpy(r->srcs.d, g->srcs.d, g->srcs.n * sizeof *g->srcs.d);
    r->srcs.n = g->srcs.n;
    for (size_t i = 0; i < g->out_descs.n; i++) {
        aot_vec_push(&r->out_descs, g->out_descs.d[i]);
    }
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        aot_vec_push(&r->subgraphs, g->subgraphs.d[i]);
    }
    aot_vec_grow(&r->nodes, g->nodes.n);
    aot_vec_grow(&r->args, g->args.n);
    return r;
}

uint32_t aot_graph_add_args(aot_graph *g, const aot_arg *items, uint32_t n)
{
    uint32_t first = (uint32_t)g->args.n;
    if (n != 0) {
        aot_vec_grow(&g->args, n);
        memcpy(g->args.d + first, items, n * sizeof *items);
        g->args.n += n;
    }
    return first;
}

aot_node_id aot_graph_add(aot_graph *g, const aot_node *n)
{
    aot_vec_push(&g->nodes, *n);
    if (n->kind == AOT_CALL_FUNCTION && n->op == AOT_OP_UNKNOWN) {
        g->n_opaque++;
    }
    return (aot_node_id)(g->nodes.n - 1);
}

static bool has_items(uint8_t kind)
{
    return kind >= AOT_ARG_LIST;
}

/* Containers are copied breadth first: items of one container stay together and come after it. */
uint32_t aot_graph_copy_args(aot_graph *g, const aot_graph *from, uint32_t first, uint32_t n,
                             const aot_node_id *map)
{
    uint32_t out = (uint32_t)g->args.n;
    if (n == 0) {
        return out;
    }
    aot_vec_grow(&g->args, n);
    memcpy(g->args.d + out, from->args.d + first, n * sizeof(aot_arg));
    g->args.n += n;
    for (uint32_t i = out; i < g->args.n; i++) {
        aot_arg a = g->args.d[i];
        if (a.kind == AOT_ARG_NODE) {
            g->args.d[i].u.node = map[a.u.node];
        } else if (has_items(a.kind) && a.n != 0) {
            uint32_t at = (uint32_t)g->args.n;
            aot_vec_grow(&g->args, a.n);
            memcpy(g->args.d + at, from->args.d + a.u.first, a.n * sizeof(aot_arg));
            g->args.n += a.n;
            g->args.d[i].u.first = at;
        }
    }
    return out;
}

aot_node_id aot_graph_copy_node(aot_graph *g, const aot_graph *from, aot_node_id id,
                                const aot_node_id *map)
{
    aot_node n = from->nodes.d[id];
    n.args = aot_graph_copy_args(g, from, n.args, n.n_args, map);
    n.kwargs = aot_graph_copy_args(g, from, n.kwargs, (uint32_t)n.n_kwargs * 2, map);
    return aot_graph_add(g, &n);
}

const aot_arg *aot_node_kwarg(const aot_graph *g, const aot_node *n, const char *key)
{
    const aot_arg *kw = aot_node_kwargs(g, n);
    for (unsigned i = 0; i < n->n_kwargs; i++) {
        if (strcmp(aot_text(g->ctx, kw[2 * i].u.s), key) == 0) {
            return &kw[2 * i + 1];
        }
    }
    return NULL;
}

aot_node_id aot_graph_output(const aot_graph *g)
{
    return g->nodes.n != 0 && g->nodes.d[g->nodes.n - 1].kind == AOT_OUTPUT
               ? (aot_node_id)(g->nodes.n - 1)
               : AOT_NO_NODE;
}

aot_node_id aot_graph_find(const aot_graph *g, const char *name)
{
    aot_str s = aot_intern_find(g->ctx->strs, name, strlen(name));
    for (uint32_t i = 0; s != 0 && i < g->nodes.n; i++) {
        if (g->nodes.d[i].name == s) {
            return i;
        }
    }
    return AOT_NO_NODE;
}

/* Arguments nest a few levels in practice; the parser bounds them (see MAX_NEST in parse.c). */
static void each_in(const aot_graph *g, const aot_arg *a, uint32_t n,
                    void (*fn)(void *, aot_node_id), void *arg)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind == AOT_ARG_NODE) {
            fn(arg, a[i].u.node);
        } else if (has_items(a[i].kind)) {
            each_in(g, g->args.d + a[i].u.first, a[i].n, fn, arg);
        }
    }
}

void aot_node_each_input(const aot_graph *g, const aot_node *n, void (*fn)(void *, aot_node_id),
                         void *arg)
{
    each_in(g, aot_node_args(g, n), n->n_args, fn, arg);
    each_in(g, aot_node_kwargs(g, n), (uint32_t)n->n_kwargs * 2, fn, arg);
}

typedef struct link_state {
    uint32_t *seen; /* last node + 1 that took this input */
    uint32_t self;
    AOT_VEC(uint32_t) in;
} link_state;

static void link_input(void *arg, aot_node_id id)
{
    link_state *s = arg;
    if (s->seen[id] != s->self + 1) {
        s->seen[id] = s->self + 1;
        aot_vec_push(&s->in, id);
    }
}

bool aot_node_is_collective(const aot_graph *g, aot_node_id id)
{
    const char *t = aot_node_target(g, id);
    return aot_node_at(g, id)->kind == AOT_CALL_FUNCTION &&
           (strstr(t, "c10d_functional.") || strstr(t, "_c10d.") || strstr(t, ".c10d."));
}

void aot_graph_link(aot_graph *g)
{
    uint32_t n = (uint32_t)g->nodes.n;
    link_state s = {.seen = aot_xcalloc(n, sizeof(uint32_t))};
    free(g->in_off);
    free(g->in);
    free(g->user_off);
    free(g->user);
    g->in_off = aot_xcalloc(n + 1, sizeof(uint32_t));
    g->user_off = aot_xcalloc(n + 2, sizeof(uint32_t));
    for (s.self = 0; s.self < n; s.self++) {
        g->in_off[s.self] = (uint32_t)s.in.n;
        aot_node_each_input(g, &g->nodes.d[s.self], link_input, &s);
    }
    g->in_off[n] = (uint32_t)s.in.n;
    g->in = s.in.d != NULL ? s.in.d : aot_xcalloc(1, sizeof(uint32_t));
    for (uint32_t i = 0; i < g->in_off[n]; i++) {
        g->user_off[g->in[i] + 2]++;
    }
    for (uint32_t i = 2; i < n + 2; i++) {
        g->user_off[i] += g->user_off[i - 1];
    }
    g->user = aot_xcalloc(g->in_off[n], sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            g->user[g->user_off[g->in[k] + 1]++] = i;
        }
    }
    free(s.seen);
}

void aot_graph_link_once(const aot_graph *g)
{
    if (g->user_off == NULL) {
        // users are an index of the graph, no part of what it says
        aot_graph_link((aot_graph *)(uintptr_t)g);
    }
}

/* ---- names ------------------------------------------------------------------------------- */

enum name_state { NAME_USED = 1, NAME_LOOKED_UP = 2, NAME_RESERVED = 4 };

struct aot_namespace {
    aot_ctx *c;
    AOT_VEC(uint8_t) used;      /* by aot_str: name_state */
    AOT_VEC(int64_t) base_count; /* by aot_str; -1 = absent */
};

aot_namespace *aot_namespace_new(aot_ctx *c)
{
    aot_namespace *ns = aot_xcalloc(1, sizeof *ns);
    ns->c = c;
    return ns;
}

void aot_namespace_free(aot_namespace *ns)
{
    if (ns != NULL) {
        aot_vec_free(&ns->used);
        aot_vec_free(&ns->base_count);
        free(ns);
    }
}

/* Python keywords and builtins, and the names FX adds: none may be shadowed. Sorted. */
static const char *const reserved[] = {
#define NAME(x) x,
#include "ir/reserved.def"
#undef NAME
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that must not be shadowed; looked up once. The name has room. */
static bool is_reserved(aot_namespace *ns, aot_str name, const char *text)
{
    uint8_t *state = &ns->used.d[name];
    if ((*state & NAME_LOOKED_UP) == 0) {
        bool found = bsearch(&text, reserved, sizeof reserved / sizeof *reserved,
                             sizeof *reserved, compare_names) != NULL;
        *state |= (uint8_t)(NAME_LOOKED_UP | (found ? NAME_RESERVED : 0));
    }
    return (*state & NAME_RESERVED) != 0;
}

static void ns_room(aot_namespace *ns, aot_str s)
{
    while (ns->used.n <= s) {
        aot_vec_push(&ns->used, 0);
        aot_vec_push(&ns->base_count, -1);
    }
}

/* Splits "add_12" into base length 3 and number 12; -1 if there is no number. */
static int64_t split_number(const char *s, size_t n, size_t *base)
{
    size_t i = n;
    while (i > 0 && isdigit((unsigned char)s[i - 1])) {
        i--;
    }
    *base = n;
    if (i == n || i < 2 || s[i - 1] != '_' || n - i > 17) {
        return -1;
    }
    *base = i - 1;
    return strtoll(s + i, NULL, 10);
}

/* A candidate as Python takes it: each run of other characters is one '_', no digit comes first.
 * `out` has room for n + NAME_ROOM characters. */
enum { NAME_ROOM = 32 };

static size_t python_name(char *out, const char *candidate, size_t n)
{
    size_t len = 0;
    bool in_bad = false;
    if (n > 0 && isdigit((unsigned char)candidate[0])) {
        out[len++] = '_';
    }
    for (size_t i = 0; i < n; i++) {
        bool ok = isalnum((unsigned char)candidate[i]) || candidate[i] == '_';
        if (ok || !in_bad) {
            out[len++] = ok ? candidate[i] : '_';
        }
        in_bad = !ok;
    }
    if (len == 0) {
        len = strlen(strcpy(out, "_unnamed"));
    }
    out[len] = '\0';
    return len;
}

/* base_NUM, written over what stands behind the base. */
static aot_str numbered(aot_namespace *ns, char *name, size_t base_len, int64_t num)
{
    char digits[24];
    size_t n = 0, len = base_len;
    do {
        digits[n++] = (char)('0' + num % 10);
        num /= 10;
    } while (num != 0);
    name[len++] = '_';
    while (n > 0) {
        name[len++] = digits[--n];
    }
    name[len] = '\0';
    aot_str s = aot_intern(ns->c->strs, name, len);
    ns_room(ns, s);
    return s;
}

aot_str aot_namespace_create(aot_namespace *ns, const char *candidate, size_t n)
{
    char small[256], *b = n + NAME_ROOM <= sizeof small ? small : aot_xcalloc(1, n + NAME_ROOM);
    size_t len = python_name(b, candidate, n), base_len;
    int64_t num = split_number(b, len, &base_len);
    aot_str name = aot_intern(ns->c->strs, b, len);
    aot_str base = base_len == len ? name : aot_intern(ns->c->strs, b, base_len);
    ns_room(ns, name > base ? name : base);
    if (num < 0 || (ns->used.d[name] & NAME_USED) != 0) {
        num = ns->base_count.d[name] >= 0 ? ns->base_count.d[name] : 0;
        if (is_reserved(ns, name, b)) {
            name = numbered(ns, b, base_len, ++num);
        }
    }
    while ((ns->used.d[name] & NAME_USED) != 0) {
        name = numbered(ns, b, base_len, ++num);
    }
    ns->used.d[name] |= NAME_USED;
    ns->base_count.d[base] = num;
    if (b != small) {
        free(b);
    }
    return name;
}
