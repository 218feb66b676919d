/* What became of each random value of the graph that was cut: the site in the forward, the site in
 * the backward, and whether both see the same state.
 *
 * A site that is not wrapped keeps its name in the modules. Where the state is threaded, wrappers
 * stand in its place; they are in the order of the cut graph, so the k-th value whose name is gone
 * is the k-th state. */
#include <stdlib.h>
#include <string.h>

#include "partition/rng_sites.h"

const char *aot_rng_fate_name(aot_rng_fate f)
{
    static const char *const names[] = {"once", "threaded", "by seed", "redrawn"};
    return names[f];
}

static bool is_wrapped(const aot_rng_site *s)
{
    return s->use == AOT_RNG_SAVES || s->use == AOT_RNG_RESTORES || s->use == AOT_RNG_HANDED;
}

/* The sites of a module by the name of their call and their place in it. */
typedef struct site_index {
    const aot_graph *g;
    int *first; /* by name: index of the call's first site; -1 */
    size_t n_names;
} site_index;

static site_index index_of(const aot_rng_sites *s, const aot_graph *g)
{
    site_index x = {.g = g, .n_names = aot_strtab_count(g->ctx->strs)};
    x.first = aot_xmalloc((x.n_names + 1) * sizeof *x.first);
    memset(x.first, 0xff, (x.n_names + 1) * sizeof *x.first);
    for (size_t i = s->n; i-- > 0;) {
        if (!is_wrapped(&s->d[i])) {
            x.first[aot_node_at(g, s->d[i].call)->name] = (int)i;
        }
    }
    return x;
}

/* The k-th site of the call that has the name of a call of the cut graph. */
static int find(const site_index *x, const aot_rng_sites *s, const aot_graph *cut, aot_node_id call,
                int k)
{
    aot_str name = aot_node_at(cut, call)->name;
    int at = name < x->n_names ? x->first[name] : -1;
    bool there = at >= 0 && (size_t)(at + k) < s->n && s->d[at].call == s->d[at + k].call;
    return there ? at + k : AOT_RNG_NOT_THERE;
}

/* The next wrapper of the forward; its states are in the order of the cut graph. */
static int next_wrapped(const aot_rng_sites *s, size_t *from)
{
    while (*from < s->n && !is_wrapped(&s->d[*from])) {
        ++*from;
    }
    return *from < s->n ? (int)(*from)++ : AOT_RNG_NOT_THERE;
}

/* The wrappers of the backward by the number of their state: restored ones and handed ones apart.
 */
typedef struct by_state {
    int *restores, *handed;
    size_t n;
} by_state;

static by_state states_of(const aot_rng_sites *s)
{
    by_state x = {.n = s->n};
    x.restores = aot_xmalloc((s->n + 1) * sizeof *x.restores);
    x.handed = aot_xmalloc((s->n + 1) * sizeof *x.handed);
    memset(x.restores, 0xff, (s->n + 1) * sizeof *x.restores);
    memset(x.handed, 0xff, (s->n + 1) * sizeof *x.handed);
    for (size_t i = 0; i < s->n; i++) {
        const aot_rng_site *w = &s->d[i];
        if (is_wrapped(w) && w->state < s->n) {
            (w->use == AOT_RNG_HANDED ? x.handed : x.restores)[w->state] = (int)i;
        }
    }
    return x;
}

static int with_state(const by_state *x, const aot_rng_site *f)
{
    const int *of = f->use == AOT_RNG_HANDED ? x->handed : x->restores;
    return f->state < x->n ? of[f->state] : AOT_RNG_NOT_THERE;
}

static aot_rng_fate fate_of(const aot_rng *r, const aot_rng_value *v)
{
    if (v->forward < 0 || v->backward < 0) {
        return AOT_RNG_ONCE;
    }
    const aot_rng_site *f = &r->forward.d[v->forward], *b = &r->backward.d[v->backward];
    return is_wrapped(f)                ? AOT_RNG_THREADED
           : f->use == AOT_RNG_COMPUTES ? AOT_RNG_BY_SEED
           : b->use == AOT_RNG_NOTHING  ? AOT_RNG_ONCE
                                        : AOT_RNG_REDRAWN;
}

void aot_rng_of(aot_rng *r, const aot_partition *p)
{
    *r = (aot_rng){0};
    aot_rng_find(&r->cut, p->cut);
    aot_rng_find(&r->forward, p->forward);
    aot_rng_find(&r->backward, p->backward);
    site_index fw = index_of(&r->forward, p->forward), bw = index_of(&r->backward, p->backward);
    by_state states = states_of(&r->backward);
    size_t next_fw = 0;
    int k = 0; // place among the sites of one call
    for (size_t i = 0; i < r->cut.n; i++) {
        const aot_rng_site *s = &r->cut.d[i];
        k = i > 0 && r->cut.d[i - 1].call == s->call ? k + 1 : 0;
        aot_rng_value v = {.node = s->call};
        v.forward = find(&fw, &r->forward, p->cut, s->call, k);
        v.backward = find(&bw, &r->backward, p->cut, s->call, k);
        bool gone =
            v.forward < 0 && v.backward < 0 && p->nodes[s->call].verdict == AOT_V_RECOMPUTED;
        if (gone) {
            v.forward = next_wrapped(&r->forward, &next_fw);
            v.backward = v.forward < 0 ? v.forward : with_state(&states, &r->forward.d[v.forward]);
        }
        v.fate = fate_of(r, &v);
        r->n_redrawn += v.fate == AOT_RNG_REDRAWN;
        aot_vec_push(&r->values, v);
    }
    free(states.restores);
    free(states.handed);
    free(fw.first);
    free(bw.first);
}

void aot_rng_free(aot_rng *r)
{
    aot_vec_free(&r->cut);
    aot_vec_free(&r->forward);
    aot_vec_free(&r->backward);
    aot_vec_free(&r->values);
}
