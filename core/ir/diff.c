/* Matching two graphs, as patience diff matches lines.
 *
 * A node has two hashes: `own` of its target, constants and type, `deep` of that and its operands'
 * deep hashes. Nodes whose deep hash is alone in both graphs are the same computation from the
 * inputs on: the longest run of them in both orders holds the match. A change in one node changes
 * the deep hash of all below it, so stretches between anchors are matched by `own`, first where
 * that is unique, then by the shortest edit script. What is left is matched by `form`, the target
 * and the operands' forms without types and constants (the same program at another size), then by
 * the target alone. Whether a matched pair is the same is decided at the end, from the match of its
 * operands. Inputs and attributes start it all: they hash by name, and those of b whose name a does
 * not have by the name of the one of a that they stand for. */
#include "ir/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
    MOST_EDITS = 3000,      /* of the shortest edit script; its memory grows with the square */
    OUTSIDE = INT32_MIN / 2 /* of a diagonal that left the stretch */
};

typedef struct side {
    const aot_graph *g;
    uint32_t n;
    uint64_t *name; /* what a node is called by: of inputs their name, else the target */
    uint64_t *own, *deep, *form;
} side;

typedef struct pair {
    uint32_t a, b;
} pair;

typedef struct differ {
    side a, b;
    aot_node_id *match; /* by node of a */
    pair *renamed; /* inputs and attributes of other names */
    uint32_t n_renamed;
} differ;

/* ---- hashes ------------------------------------------------------------------------------------
 */

static uint64_t hash_text(const aot_graph *g, aot_str s)
{
    return aot_hash64(aot_text(g->ctx, s), aot_str_len(g->ctx->strs, s));
}

/* deep: the operands' deep hashes, NULL for `own`. */
static uint64_t hash_args(const aot_graph *g, const aot_arg *a, uint32_t n, const uint64_t *deep,
                          uint64_t h)
{
    for (uint32_t i = 0; i < n; i++) {
        h = aot_hash_mix(h, (uint64_t)a[i].kind << 32 | a[i].n);
        switch ((aot_arg_kind)a[i].kind) {
        case AOT_ARG_NONE:
            break;
        case AOT_ARG_NODE:
            h = aot_hash_mix(h, deep != NULL ? deep[a[i].u.node] : 1);
            break;
        case AOT_ARG_INT:
        case AOT_ARG_BOOL:
            h = aot_hash_mix(h, (uint64_t)a[i].u.i);
            break;
        case AOT_ARG_FLOAT:
            h = aot_hash_mix(h, aot_hash64(&a[i].u.f, sizeof a[i].u.f));
            break;
        case AOT_ARG_STR:
        case AOT_ARG_NAME:
        case AOT_ARG_COMPLEX:
        case AOT_ARG_RAW:
            h = aot_hash_mix(h, hash_text(g, a[i].u.s));
            break;
        default:
            h = hash_args(g, aot_arg_items(g, &a[i]), a[i].n, deep, h);
            break;
        }
    }
    return h;
}

/* Operands alone: where they stand and what form they have. */
static uint64_t hash_forms(const aot_graph *g, const aot_arg *a, uint32_t n, const uint64_t *form,
                           uint64_t h)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind == AOT_ARG_NODE) {
            h = aot_hash_mix(h, form[a[i].u.node] + i);
        } else if (a[i].kind >= AOT_ARG_LIST) {
            h = hash_forms(g, aot_arg_items(g, &a[i]), a[i].n, form, h);
        }
    }
    return h;
}

static uint64_t hash_name(const aot_graph *g, const aot_node *n)
{
    return n->kind == AOT_OUTPUT ? 0
                                 : hash_text(g, n->kind == AOT_PLACEHOLDER ? n->name : n->target);
}

static uint64_t hash_node(const aot_graph *g, const aot_node *n, uint64_t name,
                          const uint64_t *deep)
{
    uint64_t h = aot_hash_mix(n->kind, deep != NULL);
    h = aot_hash_mix(h, name);
    h = aot_hash_mix(h, hash_text(g, aot_meta_get(g->ctx, n->meta)->text));
    h = hash_args(g, aot_node_args(g, n), n->n_args, deep, h);
    return hash_args(g, aot_node_kwargs(g, n), 2u * n->n_kwargs, deep, h);
}

static side side_of(const aot_graph *g)
{
    side s = {.g = g, .n = (uint32_t)g->nodes.n};
    s.name = aot_xcalloc(s.n + 1, sizeof *s.name);
    s.own = aot_xcalloc(s.n + 1, sizeof *s.own);
    s.deep = aot_xcalloc(s.n + 1, sizeof *s.deep);
    s.form = aot_xcalloc(s.n + 1, sizeof *s.form);
    for (uint32_t i = 0; i < s.n; i++) {
        s.name[i] = hash_name(g, aot_node_at(g, i));
    }
    return s;
}

/* Inputs of one name at other sizes are one: with the same element type and as many dimensions. The
 * names of primals are numbers, so with one more on one side they mean others. */
static uint64_t hash_kind(const aot_graph *g, const aot_node *n)
{
    const aot_meta *m = aot_meta_get(g->ctx, n->meta);
    return n->kind == AOT_PLACEHOLDER ? aot_hash_mix((uint64_t)m->val << 32 | m->dtype, m->ndim)
                                      : 0;
}

static void hash_nodes(side *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const aot_node *n = aot_node_at(s->g, i);
        s->own[i] = hash_node(s->g, n, s->name[i], NULL);
        s->deep[i] = hash_node(s->g, n, s->name[i], s->deep);
        bool item = aot_is_getitem(s->g, n); // which of several results is no matter of size
        uint64_t h = item ? hash_args(s->g, aot_node_args(s->g, n), n->n_args, NULL, s->name[i])
                          : s->name[i];
        s->form[i] = hash_forms(s->g, aot_node_args(s->g, n), n->n_args, s->form,
                                aot_hash_mix(n->kind + hash_kind(s->g, n), h));
        s->form[i] =
            hash_forms(s->g, aot_node_kwargs(s->g, n), 2u * n->n_kwargs, s->form, s->form[i]);
    }
}

static void free_side(side *s)
{
    free(s->name);
    free(s->own);
    free(s->deep);
    free(s->form);
}

/* ---- anchors -----------------------------------------------------------------------------------
 */

typedef struct entry {
    uint64_t hash;
    uint32_t index;
    uint8_t side;
} entry;

static int by_hash(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return a->side != b->side ? a->side - b->side : (a->index > b->index) - (a->index < b->index);
}

static int by_a(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return (p->a > q->a) - (p->a < q->a);
}

typedef struct stretch {
    uint32_t a, a_end, b, b_end;
} stretch;

/* Pairs of nodes whose hash is alone on both sides of a stretch, in the order of a. */
static uint32_t unique_pairs(pair *out, const uint64_t *ha, const uint64_t *hb, stretch s)
{
    uint32_t n = 0, found = 0;
    entry *all = aot_xcalloc((size_t)(s.a_end - s.a) + (s.b_end - s.b) + 1, sizeof *all);
    for (uint32_t i = s.a; i < s.a_end; i++) {
        all[n++] = (entry){ha[i], i, 0};
    }
    for (uint32_t i = s.b; i < s.b_end; i++) {
        all[n++] = (entry){hb[i], i, 1};
    }
    qsort(all, n, sizeof *all, by_hash);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && all[end].hash == all[i].hash; end++) {
        }
        if (end - i == 2 && all[i].side == 0 && all[i + 1].side == 1) {
            out[found++] = (pair){all[i].index, all[i + 1].index};
        }
    }
    free(all);
    qsort(out, found, sizeof *out, by_a);
    return found;
}

/* Keeps the longest run of pairs that rises in b too (patience sorting); returns its length. */
static uint32_t longest_rising(pair *p, uint32_t n)
{
    uint32_t *pile = aot_xcalloc(n + 1, sizeof *pile), *below = aot_xcalloc(n + 1, sizeof *below),
             n_piles = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t low = 0, high = n_piles;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (p[pile[middle]].b < p[i].b) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        below[i] = low > 0 ? pile[low - 1] : UINT32_MAX;
        pile[low] = i;
        n_piles += low == n_piles;
    }
    pair *run = aot_xcalloc(n_piles + 1, sizeof *run);
    for (uint32_t k = n_piles, i = n_piles > 0 ? pile[n_piles - 1] : 0; k-- > 0; i = below[i]) {
        run[k] = p[i];
    }
    memcpy(p, run, n_piles * sizeof *run);
    free(run);
    free(pile);
    free(below);
    return n_piles;
}

/* ---- the shortest edit script -------------------------------------------------------------------
 */

/* From the end back along the furthest points of each number of edits: matches the diagonals. */
static void trace_back(differ *d, stretch s, int32_t *const *rows, int edits)
{
    int x = (int)(s.a_end - s.a), y = (int)(s.b_end - s.b);
    for (int e = edits; e > 0; e--) {
        const int32_t *v = rows[e - 1] + e - 1; // row of e-1 edits, indexed by diagonal
        int k = x - y;
        bool down = k == -e || (k != e && v[k - 1] < v[k + 1]);
        int from_k = down ? k + 1 : k - 1, from_x = v[from_k], from_y = from_x - from_k;
        int start_x = down ? from_x : from_x + 1;
        while (x > start_x) {
            x--;
            y--;
            d->match[s.a + (uint32_t)x] = s.b + (uint32_t)y;
        }
        x = from_x;
        y = from_y;
    }
    while (x > 0 && y > 0) {
        x--;
        y--;
        d->match[s.a + (uint32_t)x] = s.b + (uint32_t)y;
    }
}

/* Myers' greedy search. Gives up beyond MOST_EDITS: then nothing in the stretch is matched. */
static void edit_script(differ *d, stretch s)
{
    int n = (int)(s.a_end - s.a), m = (int)(s.b_end - s.b), done = -1;
    int32_t **rows = aot_xcalloc(MOST_EDITS + 1, sizeof *rows);
    int e = 0;
    for (; e <= MOST_EDITS && e <= n + m && done < 0; e++) {
        rows[e] = aot_xcalloc((size_t)(2 * e + 1), sizeof **rows);
        int32_t *v = rows[e] + e;
        const int32_t *before = e > 0 ? rows[e - 1] + e - 1 : NULL;
        for (int k = -e; k <= e && done < 0; k += 2) {
            int x = 0;
            if (e > 0) {
                bool down = k == -e || (k != e && before[k - 1] < before[k + 1]);
                x = down ? before[k + 1] : before[k - 1] + 1;
            }
            int y = x - k;
            if (x < 0 || x > n || y > m) {
                v[k] = OUTSIDE;
                continue;
            }
            while (x < n && y < m && d->a.own[s.a + (uint32_t)x] == d->b.own[s.b + (uint32_t)y]) {
                x++;
                y++;
            }
            v[k] = x;
            done = x == n && y == m ? e : done;
        }
    }
    if (done >= 0) {
        trace_back(d, s, rows, done);
    }
    while (e-- > 0) {
        free(rows[e]);
    }
    free(rows);
}

/* ---- names -------------------------------------------------------------------------------------
 */

static int by_value(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static uint64_t *sorted_names(const side *s, aot_node_kind kind, uint32_t *n)
{
    uint64_t *names = aot_xcalloc(s->n + 1, sizeof *names);
    for (uint32_t i = *n = 0; i < s->n; i++) {
        if (aot_node_at(s->g, i)->kind == kind) {
            names[(*n)++] = s->name[i];
        }
    }
    qsort(names, *n, sizeof *names, by_value);
    return names;
}

/* Nodes of a kind whose name the other side does not have: their types and ids. */
static uint32_t strangers(const side *s, const side *other, aot_node_kind kind, uint64_t *types,
                          uint32_t *ids)
{
    uint32_t n = 0, n_theirs;
    uint64_t *theirs = sorted_names(other, kind, &n_theirs);
    for (uint32_t i = 0; i < s->n; i++) {
        const aot_node *x = aot_node_at(s->g, i);
        if (x->kind == kind &&
            bsearch(&s->name[i], theirs, n_theirs, sizeof *theirs, by_value) == NULL) {
            types[n] = hash_text(s->g, aot_meta_get(s->g->ctx, x->meta)->text);
            ids[n++] = i;
        }
    }
    free(theirs);
    return n;
}

/* Gives nodes of b the names of those of a that they stand for: in their order, by type. */
static void rename_kind(differ *d, aot_node_kind kind)
{
    differ t = {0};
    uint32_t *ia = aot_xcalloc(d->a.n + 1, sizeof *ia), *ib = aot_xcalloc(d->b.n + 1, sizeof *ib);
    t.a.own = aot_xcalloc(d->a.n + 1, sizeof *t.a.own);
    t.b.own = aot_xcalloc(d->b.n + 1, sizeof *t.b.own);
    uint32_t na = strangers(&d->a, &d->b, kind, t.a.own, ia),
             nb = strangers(&d->b, &d->a, kind, t.b.own, ib);
    t.match = aot_xmalloc((na + 1) * sizeof *t.match);
    memset(t.match, 0xff, (na + 1) * sizeof *t.match);
    if (na != 0 && nb != 0) {
        edit_script(&t, (stretch){0, na, 0, nb});
    }
    for (uint32_t i = 0; i < na; i++) {
        if (t.match[i] != AOT_NO_NODE) {
            d->renamed[d->n_renamed++] = (pair){ia[i], ib[t.match[i]]};
        }
    }
    free(t.match);
    free(t.a.own);
    free(t.b.own);
    free(ia);
    free(ib);
}

typedef struct renaming {
    uint64_t from, to;
} renaming;

static int by_from(const void *x, const void *y)
{
    const renaming *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

static void match_names(differ *d)
{
    d->renamed = aot_xcalloc(d->a.n + 1, sizeof *d->renamed);
    rename_kind(d, AOT_PLACEHOLDER);
    rename_kind(d, AOT_GET_ATTR);
    renaming *all = aot_xcalloc(d->n_renamed + 1, sizeof *all);
    for (uint32_t i = 0; i < d->n_renamed; i++) {
        const pair *p = &d->renamed[i];
        all[i] = (renaming){d->b.name[p->b], d->a.name[p->a]};
    }
    qsort(all, d->n_renamed, sizeof *all, by_from);
    for (uint32_t i = 0; i < d->b.n && d->n_renamed != 0; i++) {
        aot_node_kind kind = (aot_node_kind)aot_node_at(d->b.g, i)->kind;
        renaming key = {d->b.name[i], 0}, *found = NULL;
        if (kind == AOT_PLACEHOLDER || kind == AOT_GET_ATTR) {
            found = bsearch(&key, all, d->n_renamed, sizeof *all, by_from);
        }
        d->b.name[i] = found != NULL ? found->to : d->b.name[i];
    }
    free(all);
}

/* ---- the match ---------------------------------------------------------------------------------
 */

typedef void (*stretch_fn)(differ *d, stretch s);

/* Matches the anchors of a stretch by one kind of hash and calls fn for what lies between them. */
static void match_by(differ *d, const uint64_t *ha, const uint64_t *hb, stretch s, stretch_fn fn)
{
    uint32_t most = s.a_end - s.a < s.b_end - s.b ? s.a_end - s.a : s.b_end - s.b;
    pair *p = aot_xcalloc(most + 1, sizeof *p);
    uint32_t n = longest_rising(p, unique_pairs(p, ha, hb, s));
    for (uint32_t i = 0; i <= n; i++) {
        stretch between = {i > 0 ? p[i - 1].a + 1 : s.a, i < n ? p[i].a : s.a_end,
                           i > 0 ? p[i - 1].b + 1 : s.b, i < n ? p[i].b : s.b_end};
        if (i < n) {
            d->match[p[i].a] = p[i].b;
        }
        if (between.a < between.a_end && between.b < between.b_end) {
            fn(d, between);
        }
    }
    free(p);
}

static void match_by_own(differ *d, stretch s)
{
    match_by(d, d->a.own, d->b.own, s, edit_script);
}

/* ---- edits -------------------------------------------------------------------------------------
 */

typedef struct operands {
    aot_node_id *ids;
    uint32_t n;
} operands;

static void add_operand(void *arg, aot_node_id id)
{
    operands *o = arg;
    o->ids[o->n++] = id;
}

static bool same_operands(const differ *d, aot_node_id i, aot_node_id j, operands scratch[2])
{
    scratch[0].n = scratch[1].n = 0;
    aot_node_each_input(d->a.g, aot_node_at(d->a.g, i), add_operand, &scratch[0]);
    aot_node_each_input(d->b.g, aot_node_at(d->b.g, j), add_operand, &scratch[1]);
    if (scratch[0].n != scratch[1].n) {
        return false;
    }
    for (uint32_t k = 0; k < scratch[0].n; k++) {
        if (d->match[scratch[0].ids[k]] != scratch[1].ids[k]) {
            return false;
        }
    }
    return true;
}

static bool same_target(const differ *d, aot_node_id i, aot_node_id j)
{
    const aot_node *x = aot_node_at(d->a.g, i), *y = aot_node_at(d->b.g, j);
    return x->kind == y->kind && x->kind != AOT_PLACEHOLDER &&
           strcmp(aot_node_target(d->a.g, i), aot_node_target(d->b.g, j)) == 0;
}

/* Between two matches: of the removed and added ones, equal targets in order are one changed node.
 */
static void pair_targets(differ *d, stretch s)
{
    for (uint32_t i = s.a, j = s.b; i < s.a_end; i++) {
        for (uint32_t k = j; k < s.b_end; k++) {
            if (same_target(d, i, k)) {
                d->match[i] = k;
                j = k + 1;
                break;
            }
        }
    }
}

static void match_by_form(differ *d, stretch s)
{
    match_by(d, d->a.form, d->b.form, s, pair_targets);
}

static void pair_all_targets(differ *d)
{
    stretch s = {0};
    for (uint32_t i = 0; i <= d->a.n; i++) {
        uint32_t j = i < d->a.n ? d->match[i] : d->b.n;
        if (j == AOT_NO_NODE) {
            continue;
        }
        s.a_end = i;
        s.b_end = j;
        if (s.b_end - s.b <= MOST_EDITS && s.a_end - s.a <= MOST_EDITS) {
            match_by_form(d, s);
        }
        s = (stretch){i + 1, 0, j + 1, 0};
    }
}

static void push(aot_edits *out, aot_diff_counts *c, aot_edit_kind kind, aot_node_id a,
                 aot_node_id b)
{
    aot_vec_push(out, ((aot_edit){(uint8_t)kind, a, b}));
    c->n[kind]++;
}

static aot_diff_counts write_edits(const differ *d, aot_edits *out)
{
    aot_diff_counts c = {0};
    uint32_t j = 0;
    operands scratch[2] = {{aot_xcalloc(d->a.g->args.n + 1, sizeof(aot_node_id)), 0},
                           {aot_xcalloc(d->b.g->args.n + 1, sizeof(aot_node_id)), 0}};
    for (uint32_t i = 0; i < d->a.n; i++) {
        aot_node_id m = d->match[i];
        if (m == AOT_NO_NODE) {
            push(out, &c, AOT_EDIT_REMOVED, i, AOT_NO_NODE);
            continue;
        }
        for (; j < m; j++) {
            push(out, &c, AOT_EDIT_ADDED, AOT_NO_NODE, j);
        }
        bool same = d->a.own[i] == d->b.own[m] && same_operands(d, i, m, scratch);
        push(out, &c, same ? AOT_EDIT_SAME : AOT_EDIT_CHANGED, i, m);
        j = m + 1;
    }
    for (; j < d->b.n; j++) {
        push(out, &c, AOT_EDIT_ADDED, AOT_NO_NODE, j);
    }
    free(scratch[0].ids);
    free(scratch[1].ids);
    return c;
}

aot_diff_counts aot_graph_diff(aot_edits *out, const aot_graph *a, const aot_graph *b)
{
    differ d = {.a = side_of(a), .b = side_of(b)};
    match_names(&d);
    hash_nodes(&d.a);
    hash_nodes(&d.b);
    d.match = aot_xmalloc((d.a.n + 1) * sizeof *d.match);
    memset(d.match, 0xff, (d.a.n + 1) * sizeof *d.match);
    match_by(&d, d.a.deep, d.b.deep, (stretch){0, d.a.n, 0, d.b.n}, match_by_own);
    pair_all_targets(&d);
    aot_diff_counts c = write_edits(&d, out);
    for (uint32_t i = 0; i < d.n_renamed; i++) {
        c.renamed += d.match[d.renamed[i].a] == d.renamed[i].b;
    }
    free(d.match);
    free(d.renamed);
    free_side(&d.a);
    free_side(&d.b);
    return c;
}
