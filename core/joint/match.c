/* Matching, from the first output down, then each further output from what is matched already.
 *
 * Captures are kept as a stack: what a part captured is dropped when the part fails. Two captures
 * of one name that differ end the whole attempt, as an exception does in PyTorch. */
#include "joint/match.h"

#include <stdlib.h>
#include <string.h>

enum { UNSEEN = UINT32_MAX, FAILED = UINT32_MAX - 1 };

typedef enum outcome { MATCHES, FAILS, CONTRADICTS } outcome;

typedef struct attempt {
    const pattern *p;
    fx *f;
    uint32_t *node_of; /* by call: node, UNSEEN or FAILED */
    match *m;
} attempt;

static bool number_of(const aot_arg *a, double *v)
{
    switch (a->kind) {
    case AOT_ARG_INT:
    case AOT_ARG_BOOL:
        *v = (double)a->u.i;
        return true;
    case AOT_ARG_FLOAT:
        *v = a->u.f;
        return true;
    default:
        return false;
    }
}

bool fx_arg_equal(const aot_graph *g, const aot_arg *a, const aot_arg *b)
{
    double x, y;
    if (number_of(a, &x) && number_of(b, &y)) {
        return a->kind == AOT_ARG_FLOAT || b->kind == AOT_ARG_FLOAT ? x == y : a->u.i == b->u.i;
    }
    bool list = a->kind >= AOT_ARG_LIST, other_list = b->kind >= AOT_ARG_LIST;
    if (list && other_list) {
        if (a->n != b->n) {
            return false;
        }
        for (uint32_t i = 0; i < a->n; i++) {
            if (!fx_arg_equal(g, &g->args.d[a->u.first + i], &g->args.d[b->u.first + i])) {
                return false;
            }
        }
        return true;
    }
    if (a->kind != b->kind) {
        return false;
    }
    return a->kind == AOT_ARG_NONE ||
           (a->kind == AOT_ARG_NODE ? a->u.node == b->u.node : a->u.s == b->u.s);
}

static outcome match_call(attempt *t, uint32_t call, uint32_t node);

static outcome match_arg(attempt *t, const pat_arg *p, const aot_arg *a, bool lists)
{
    const aot_graph *g = t->f->g;
    if (p->kind == PAT_LIST) {
        if ((a->kind != AOT_ARG_LIST && a->kind != AOT_ARG_TUPLE) || a->n != p->n) {
            return FAILS;
        }
        for (uint32_t i = 0; i < p->n; i++) {
            aot_arg item = g->args.d[a->u.first + i];
            outcome o = match_arg(t, &t->p->args.d[p->at + i], &item, true);
            if (o != MATCHES) {
                return o;
            }
        }
        return MATCHES;
    }
    if (lists && a->kind >= AOT_ARG_LIST) {
        return FAILS;
    }
    switch (p->kind) {
    case PAT_ANY:
        return MATCHES;
    case PAT_KEY:
        aot_vec_push(&t->m->keys, ((match_key){p->at, *a}));
        return MATCHES;
    case PAT_CALL:
        return a->kind == AOT_ARG_NODE ? match_call(t, p->at, a->u.node) : FAILS;
    default:
        return a->kind != AOT_ARG_NODE && fx_arg_equal(g, a, &p->value) ? MATCHES : FAILS;
    }
}

/* Names captured from `at` on against those between `from` and `at`. */
static bool agrees(const attempt *t, size_t from, size_t at)
{
    const match_key *k = t->m->keys.d;
    for (size_t i = at; i < t->m->keys.n; i++) {
        for (size_t q = from; q < at; q++) {
            if (k[i].name == k[q].name && !fx_arg_equal(t->f->g, &k[i].value, &k[q].value)) {
                return false;
            }
        }
    }
    return true;
}

static outcome match_and_merge(attempt *t, const pat_arg *p, const aot_arg *a, bool lists,
                               size_t from)
{
    size_t at = t->m->keys.n;
    outcome o = match_arg(t, p, a, lists);
    return o == MATCHES && !agrees(t, from, at) ? CONTRADICTS : o;
}

static bool is_operator(const pat_call *c, aot_op_id op)
{
    return op != AOT_OP_UNKNOWN &&
           strcmp(c->packet ? aot_op(op)->packet : aot_op(op)->name, c->op) == 0;
}

static bool could_be(const attempt *t, const pat_call *c, uint32_t node)
{
    const aot_node *n = fx_node(t->f, node);
    return n->kind == AOT_CALL_FUNCTION && is_operator(c, n->op);
}

static outcome match_call_now(attempt *t, const pat_call *c, uint32_t node)
{
    static const aot_arg none = {.kind = AOT_ARG_NONE};
    const aot_graph *g = t->f->g;
    const aot_node *n = fx_node(t->f, node);
    if (!could_be(t, c, node) || n->n_args != c->n_args) {
        return FAILS;
    }
    if (!c->is_output && c->users != PAT_MANY && fx_n_users(t->f, node) != (uint32_t)c->users) {
        return FAILS;
    }
    size_t from = t->m->keys.n;
    for (uint32_t i = 0; i < c->n_args; i++) {
        aot_arg a = g->args.d[n->args + i];
        outcome o = match_and_merge(t, &t->p->args.d[c->args + i], &a, c->lists, from);
        if (o != MATCHES) {
            return o;
        }
    }
    for (uint32_t i = 0; i < c->n_kwargs; i++) {
        const aot_arg *a = aot_node_kwarg(g, n, aot_text(t->f->c, t->p->keys.d[c->kwargs + i]));
        if (a == NULL && n->n_kwargs >= c->n_kwargs) {
            return FAILS;
        }
        aot_arg value = a != NULL ? *a : none; // with too few, defaults count: None for all we name
        outcome o = match_and_merge(t, &t->p->args.d[c->kwargs + i], &value, c->lists, from);
        if (o != MATCHES) {
            return o;
        }
    }
    aot_vec_push(&t->m->nodes, node);
    return MATCHES;
}

static outcome match_call(attempt *t, uint32_t call, uint32_t node)
{
    if (t->node_of[call] != UNSEEN) {
        return t->node_of[call] == node ? MATCHES : FAILS;
    }
    outcome o = match_call_now(t, &t->p->calls.d[call], node);
    t->node_of[call] = o == MATCHES ? node : FAILED;
    return o;
}

/* ---- further outputs ------------------------------------------------------------------------ */

typedef AOT_VEC(uint32_t) ids;

/* Nodes that the call might be: users of what its inputs are or might be. */
static void candidates(const attempt *t, uint32_t call, ids *searched, ids *out)
{
    if (t->node_of[call] != UNSEEN) {
        if (t->node_of[call] != FAILED) {
            aot_vec_push(out, t->node_of[call]);
        }
        return;
    }
    const pat_call *c = &t->p->calls.d[call];
    for (uint32_t i = 0; i < c->n_args + c->n_kwargs; i++) {
        const pat_arg *a = &t->p->args.d[i < c->n_args ? c->args + i : c->kwargs + i - c->n_args];
        if (a->kind != PAT_CALL) {
            continue;
        }
        ids from = {0};
        candidates(t, a->at, searched, &from);
        for (size_t k = 0; k < from.n; k++) {
            for (uint32_t u = fx_first_use(t->f, from.d[k]); u != 0; u = t->f->pool.d[u].next) {
                uint32_t user = fx_user(t->f, u);
                bool seen = false;
                for (size_t s = 0; s < searched->n && !seen; s++) {
                    seen = searched->d[s] == user;
                }
                if (!seen && could_be(t, c, user)) {
                    aot_vec_push(out, user);
                    aot_vec_push(searched, user);
                }
            }
        }
        aot_vec_free(&from);
    }
}

static outcome match_further(attempt *t, uint32_t call)
{
    ids searched = {0}, found = {0};
    size_t n_calls = t->p->calls.n, n_keys = t->m->keys.n, n_nodes = t->m->nodes.n;
    uint32_t *prior = aot_xmalloc(n_calls * sizeof *prior);
    memcpy(prior, t->node_of, n_calls * sizeof *prior);
    candidates(t, call, &searched, &found);
    outcome o = FAILS;
    for (size_t i = 0; i < found.n && o == FAILS; i++) {
        o = match_call(t, call, found.d[i]);
        if (o == FAILS) {
            memcpy(t->node_of, prior, n_calls * sizeof *prior);
            t->m->keys.n = n_keys;
            t->m->nodes.n = n_nodes;
        }
    }
    if (o == MATCHES && !agrees(t, 0, n_keys)) {
        o = CONTRADICTS;
    }
    free(prior);
    aot_vec_free(&searched);
    aot_vec_free(&found);
    return o;
}

bool pattern_match(match *out, const pattern *p, fx *f, uint32_t node)
{
    *out = (match){.pat = p};
    attempt t = {.p = p, .f = f, .m = out};
    t.node_of = aot_xmalloc((p->calls.n + 1) * sizeof *t.node_of);
    for (size_t i = 0; i < p->calls.n; i++) {
        t.node_of[i] = UNSEEN;
    }
    outcome o = match_call(&t, (uint32_t)p->outs.d[0], node);
    for (size_t i = 1; i < p->outs.n && o == MATCHES; i++) {
        if (p->outs.d[i] != PAT_NO_CALL) {
            o = match_further(&t, (uint32_t)p->outs.d[i]);
        }
    }
    for (size_t i = 0; i < p->outs.n && o == MATCHES; i++) {
        aot_vec_push(&out->outs,
                     p->outs.d[i] == PAT_NO_CALL ? AOT_NO_NODE : t.node_of[p->outs.d[i]]);
    }
    free(t.node_of);
    return o == MATCHES;
}

void match_free(match *m)
{
    aot_vec_free(&m->nodes);
    aot_vec_free(&m->keys);
    aot_vec_free(&m->outs);
}

const aot_arg *match_get(const match *m, const aot_ctx *c, const char *name)
{
    aot_str s = aot_intern_find(c->strs, name, strlen(name));
    for (size_t i = 0; i < m->keys.n; i++) {
        if (m->keys.d[i].name == s) {
            return &m->keys.d[i].value;
        }
    }
    return NULL;
}

uint32_t match_get_node(const match *m, const aot_ctx *c, const char *name)
{
    const aot_arg *a = match_get(m, c, name);
    return a != NULL && a->kind == AOT_ARG_NODE ? a->u.node : AOT_NO_NODE;
}

void match_erase(const match *m, fx *f)
{
    for (size_t i = m->nodes.n; i-- > 0;) {
        if (!f->l.d[m->nodes.d[i]].erased && fx_n_users(f, m->nodes.d[i]) == 0) {
            fx_erase(f, m->nodes.d[i]);
        }
    }
}

bool pattern_starts_with(const pattern *p, aot_op_id op)
{
    return is_operator(&p->calls.d[p->outs.d[0]], op);
}
