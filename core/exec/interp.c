/* The walk over a graph: arguments are prepared as a plan, once for a body that is run again; then
 * each node is resolved, run, kept until its last use. Iterative; a subgraph's walk is a call of
 * its own. */
#include "exec/interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/hop.h"
#include "exec/internal.h"
#include "ir/text.h"

aot_exec *aot_exec_new(void)
{
    aot_exec *x = aot_xcalloc(1, sizeof *x);
    x->arena = aot_arena_new();
    x->scratch = aot_arena_new();
    x->live.blocks = aot_blocks_new();
    x->node = AOT_NO_NODE;
    return x;
}

/* Those of bodies, or all. */
static void drop_plans(aot_exec *x, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < x->plans.n; i++) {
        if (all || x->plans.d[i].of_body) {
            aot_arena_free(x->plans.d[i].arena);
        } else {
            x->plans.d[n++] = x->plans.d[i];
        }
    }
    x->plans.n = n;
}

void aot_exec_free(aot_exec *x)
{
    if (x == NULL) {
        return;
    }
    for (size_t i = 0; i < x->expansions.n; i++) {
        free(x->expansions.d[i].key);
    }
    aot_vec_free(&x->expansions);
    drop_plans(x, true);
    aot_vec_free(&x->plans);
    aot_vec_free(&x->owned);
    aot_ctx_free(x->ctx);
    aot_arena_free(x->scratch);
    aot_arena_free(x->arena);
    free(x->choices);
    aot_blocks_free(x->live.blocks);
    free(x);
}

aot_live_bytes *aot_exec_live(aot_exec *x)
{
    return &x->live;
}

aot_generator *aot_exec_generator(aot_exec *x)
{
    return &x->generator;
}

void aot_exec_set_double(aot_exec *x, bool on)
{
    x->in_double = on;
}

void aot_exec_set_unthreaded(aot_exec *x, bool on)
{
    x->unthreaded = on;
    x->n_unthreaded = 0;
}

unsigned aot_exec_n_unthreaded(const aot_exec *x)
{
    return x->n_unthreaded;
}

aot_dtype aot_exec_dtype(const aot_exec *x, aot_dtype stated)
{
    return x->in_double ? aot_double_of(stated) : stated;
}

/* ---- the plan -------------------------------------------------------------------------------- */

typedef struct step {
    bool is_op;          /* has a schema */
    unsigned n;          /* arguments, in the schema's order */
    aot_xval *args;
    aot_meta_id *expected; /* by number: metas move while the context grows */
    unsigned n_expected;
    aot_node_id *dies;   /* values whose last use this is */
    unsigned n_dies;
} step;

typedef enum keep { KEEP_NOT, KEEP_EXPANSION, KEEP_BODY } keep;

typedef struct walk {
    aot_exec *x;
    const aot_graph *g;
    keep keep;    /* the plan */
    step *steps;  /* while it is planned */
    const step *plan;
    aot_xval *env;
    aot_arena *a; /* what is planned is in it, then what the walk needs */
} walk;

static aot_xval name_value(walk *w, aot_str s)
{
    const char *text = aot_text(w->g->ctx, s);
    aot_dtype d = aot_dtype_of_torch(text, strlen(text));
    if (d != AOT_NO_DTYPE) {
        return aot_xv_dtype(aot_exec_dtype(w->x, d));
    }
    return (aot_xval){.kind = AOT_X_STR, .u.text = text};
}

/* (1+2j), (-0-1e-05j), 2j */
static aot_xval complex_value(const char *s)
{
    aot_xval v = {.kind = AOT_X_COMPLEX};
    char *end;
    s += *s == '(';
    double first = strtod(s, &end);
    if (*end == 'j') {
        v.u.z[1] = first;
        return v;
    }
    v.u.z[0] = first;
    v.u.z[1] = strtod(end, &end);
    return v;
}

static aot_xval planned(walk *w, const aot_arg *a)
{
    switch (a->kind) {
    case AOT_ARG_NODE: return (aot_xval){.kind = AOT_X_NODE, .u.node = a->u.node};
    case AOT_ARG_INT: return aot_xv_int(a->u.i);
    case AOT_ARG_BOOL: return aot_xv_bool(a->u.i != 0);
    case AOT_ARG_FLOAT: return aot_xv_real(a->u.f);
    case AOT_ARG_COMPLEX: return complex_value(aot_text(w->g->ctx, a->u.s));
    case AOT_ARG_NAME: return name_value(w, a->u.s);
    case AOT_ARG_STR:
    case AOT_ARG_RAW: return (aot_xval){.kind = AOT_X_STR, .u.text = aot_text(w->g->ctx, a->u.s)};
    case AOT_ARG_LIST:
    case AOT_ARG_TUPLE: {
        aot_xval *items = AOT_NEW_ARRAY(w->a, aot_xval, a->n + 1);
        for (uint32_t i = 0; i < a->n; i++) {
            items[i] = planned(w, aot_arg_items(w->g, a) + i);
        }
        return aot_xv_list(a->n, items);
    }
    default: return aot_xv_none();
    }
}

/* Keyword arguments go to their places in the schema. */
static void plan_call(walk *w, step *s, const aot_node *n)
{
    const exec_op *f = ex_op(w->x, n->op);
    const aot_schema *sc = &f->schema;
    unsigned room = n->n_args > sc->n_args ? n->n_args : sc->n_args;
    s->is_op = true;
    s->n = room;
    s->args = AOT_NEW_ARRAY(w->a, aot_xval, room + 1);
    memcpy(s->args, f->defaults, sc->n_args * sizeof *s->args);
    for (unsigned i = 0; i < n->n_args; i++) {
        s->args[i] = planned(w, aot_node_args(w->g, n) + i);
    }
    const aot_arg *kw = aot_node_kwargs(w->g, n);
    for (unsigned i = 0; i < n->n_kwargs; i++) {
        const char *key = aot_text(w->g->ctx, kw[2 * i].u.s);
        const aot_schema_arg *a = aot_schema_arg_find(sc, key);
        if (a != NULL) {
            s->args[a - sc->args] = planned(w, &kw[2 * i + 1]);
        }
    }
}

/* What the graph states of results: the node's own type, or those of the getitems that take
 * them. */
static void plan_expected(walk *w, aot_node_id id)
{
    step *s = &w->steps[id];
    const aot_node *n = aot_node_at(w->g, id);
    if (!s->is_op || n->meta == 0) {
        return;
    }
    s->n_expected = 1;
    s->expected = AOT_NEW_ARRAY(w->a, aot_meta_id, 1);
    s->expected[0] = n->meta;
}

static void plan_item(walk *w, const aot_node *n)
{
    const aot_arg *a = aot_node_args(w->g, n);
    step *s = n->n_args == 2 && a[0].kind == AOT_ARG_NODE ? &w->steps[a[0].u.node] : NULL;
    if (s == NULL || !s->is_op || a[1].kind != AOT_ARG_INT || a[1].u.i < 0 || a[1].u.i >= 64) {
        return;
    }
    if (s->n_expected <= (unsigned)a[1].u.i) {
        aot_meta_id *more = AOT_NEW_ARRAY(w->a, aot_meta_id, 64);
        if (s->n_expected > 0) {
            memcpy(more, s->expected, s->n_expected * sizeof *more);
        }
        s->expected = s->n_expected <= 1 ? more : s->expected;
        s->n_expected = (unsigned)a[1].u.i + 1;
    }
    s->expected[a[1].u.i] = n->meta;
}

typedef struct last_use {
    aot_node_id *of; /* by node: its last user */
    aot_node_id user;
} last_use;

static void note_use(void *arg, aot_node_id id)
{
    last_use *l = arg;
    l->of[id] = l->user;
}

/* A value that nobody reads dies at once. */
static void plan_ends(walk *w)
{
    uint32_t n = (uint32_t)w->g->nodes.n;
    last_use l = {.of = AOT_NEW_ARRAY(w->a, aot_node_id, n + 1)};
    for (aot_node_id id = 0; id < n; id++) {
        l.of[id] = id;
        l.user = id;
        aot_node_each_input(w->g, aot_node_at(w->g, id), note_use, &l);
    }
    for (aot_node_id id = 0; id < n; id++) {
        w->steps[l.of[id]].n_dies++;
    }
    for (aot_node_id id = 0; id < n; id++) {
        step *s = &w->steps[id];
        s->dies = AOT_NEW_ARRAY(w->a, aot_node_id, s->n_dies + 1);
        s->n_dies = 0;
    }
    for (aot_node_id id = 0; id < n; id++) {
        step *s = &w->steps[l.of[id]];
        s->dies[s->n_dies++] = id;
    }
}

static void plan(walk *w)
{
    uint32_t n = (uint32_t)w->g->nodes.n;
    w->steps = AOT_NEW_ARRAY(w->a, step, n + 1);
    for (aot_node_id id = 0; id < n; id++) {
        const aot_node *node = aot_node_at(w->g, id);
        step *s = &w->steps[id];
        w->x->node = id;
        if (node->kind == AOT_CALL_FUNCTION && node->op != AOT_OP_UNKNOWN &&
            aot_node_op(node)->schema != NULL) {
            plan_call(w, s, node);
            plan_expected(w, id);
            continue;
        }
        s->n = node->n_args;
        s->args = AOT_NEW_ARRAY(w->a, aot_xval, s->n + 1);
        for (unsigned i = 0; i < s->n; i++) {
            s->args[i] = planned(w, aot_node_args(w->g, node) + i);
        }
        if (aot_is_getitem(w->g, node)) {
            plan_item(w, node);
        }
    }
    plan_ends(w);
}

/* The kept plan of the graph, or a new one; and room for its values. */
static void start(walk *w)
{
    for (size_t i = 0; i < w->x->plans.n && w->keep != KEEP_NOT && w->plan == NULL; i++) {
        const exec_plan *p = &w->x->plans.d[i];
        w->plan = p->graph == w->g && p->in_double == w->x->in_double ? p->steps : NULL;
    }
    if (w->plan == NULL) {
        plan(w);
        w->plan = w->steps;
        if (w->keep != KEEP_NOT) {
            exec_plan p = {w->g, w->x->in_double, w->keep == KEEP_BODY, w->plan, w->a};
            aot_vec_push(&w->x->plans, p);
            w->a = aot_arena_new();
        }
    }
    w->env = AOT_NEW_ARRAY(w->a, aot_xval, w->g->nodes.n + 1);
}

/* ---- running --------------------------------------------------------------------------------- */

static aot_xval resolved(walk *w, const aot_xval *v)
{
    if (v->kind == AOT_X_NODE) {
        return w->env[v->u.node];
    }
    if (v->kind != AOT_X_LIST) {
        return *v;
    }
    aot_xval *items = aot_arena_alloc(w->x->scratch, (v->n + 1) * sizeof *items);
    for (uint32_t i = 0; i < v->n; i++) {
        items[i] = resolved(w, &v->u.items[i]);
    }
    return aot_xv_list(v->n, items);
}

static aot_xval item_of(walk *w, const aot_xval *args, unsigned n)
{
    int64_t i = n == 2 && args[1].kind == AOT_X_INT ? args[1].u.i : -1;
    if (n == 2 && args[0].kind == AOT_X_LIST && i >= 0 && i < args[0].n) {
        return args[0].u.items[i];
    }
    ex_fail(w->x, AOT_E_GRAPH, "getitem: there is no such item");
}

/* Numbers with blanks between, row-major; a lone one fills. */
static void fill_from_text(aot_array *x, const char *text)
{
    aot_dtype d = (aot_dtype)x->dtype;
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    for (int64_t i = 0; i < n; i++) {
        char *end, *p = aot_array_data(x) + i * bytes;
        int64_t whole = strtoll(text, &end, 10);
        if (aot_dtype_class(d) == AOT_CLASS_INT && (*end == ' ' || *end == '\0')) {
            aot_store_int(&whole, d, p, 0, 1);
            text = end;
            continue;
        }
        double v[2] = {strtod(text, &end), 0};
        text = end;
        if (aot_dtype_class(d) == AOT_CLASS_COMPLEX) {
            v[1] = strtod(text, &end);
            text = end;
        }
        aot_complex z = CMPLX(v[0], v[1]);
        aot_store_complex(&z, d, p, 0, 1);
    }
}

/* A tensor constant of the program: its value, where the unit says it. */
static aot_xval attribute(walk *w, const aot_node *n)
{
    const aot_arg *v = aot_ctx_constant(w->g->ctx, n->target);
    const aot_meta *m = aot_meta_get(w->g->ctx, n->meta);
    if (v == NULL || m->val != AOT_VAL_TENSOR) {
        ex_fail(w->x, AOT_E_UNSUPPORTED, "the value of %s is not in the input",
                aot_text(w->g->ctx, n->target));
    }
    int64_t size[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < m->ndim && i < AOT_ARRAY_MAX_NDIM; i++) {
        size[i] = aot_meta_sizes(w->g->ctx, m)[i].value;
    }
    aot_err why = {0};
    aot_status s = aot_array_possible(&w->x->live, (aot_dtype)m->dtype, m->ndim, size, NULL, &why);
    if (s != AOT_OK) {
        ex_fail(w->x, s, "%s: %s", aot_text(w->g->ctx, n->target), why.msg);
    }
    aot_array *x = ex_own(
        w->x, aot_array_new(&w->x->live, aot_exec_dtype(w->x, (aot_dtype)m->dtype), m->ndim, size));
    if (v->kind == AOT_ARG_RAW) {
        fill_from_text(x, aot_text(w->g->ctx, v->u.s));
    } else {
        aot_array_fill(x, v->kind == AOT_ARG_FLOAT ? v->u.f : (double)v->u.i);
    }
    return aot_xv_array(x);
}

static aot_xval run_hop(walk *w, const aot_node *n, unsigned n_args, const aot_xval *args)
{
    const aot_arg *kw = aot_node_kwargs(w->g, n);
    const char **keys = AOT_NEW_ARRAY(w->x->scratch, const char *, n->n_kwargs + 1u);
    aot_xval *values = AOT_NEW_ARRAY(w->x->scratch, aot_xval, n->n_kwargs + 1u);
    for (unsigned i = 0; i < n->n_kwargs; i++) {
        aot_xval v = planned(w, &kw[2 * i + 1]);
        keys[i] = aot_text(w->g->ctx, kw[2 * i].u.s);
        values[i] = resolved(w, &v);
    }
    hop_call h = {w->x, n->op, n_args, args, n->n_kwargs, keys, values};
    return ex_hop(&h);
}

static aot_xval run_node(walk *w, aot_node_id id)
{
    const aot_node *n = aot_node_at(w->g, id);
    const step *s = &w->plan[id];
    if (n->kind == AOT_GET_ATTR) {
        return n->subgraph == 0
                   ? attribute(w, n)
                   : (aot_xval){.kind = AOT_X_GRAPH, .u.graph = w->g->subgraphs.d[n->subgraph - 1]};
    }
    if (n->kind != AOT_CALL_FUNCTION) {
        ex_fail(w->x, AOT_E_UNSUPPORTED,
                "%s %s: the interpreter runs operators, not torch-level calls",
                aot_node_kind_name((aot_node_kind)n->kind), aot_text(w->g->ctx, n->target));
    }
    aot_xval *args = aot_arena_alloc(w->x->scratch, (s->n + 1) * sizeof *args), out;
    for (unsigned i = 0; i < s->n; i++) {
        args[i] = resolved(w, &s->args[i]);
    }
    if (s->is_op) {
        return ex_run(w->x, &(exec_call){n->op, s->n, args, s->expected, s->n_expected, w->g->ctx});
    }
    if (aot_is_getitem(w->g, n)) {
        return item_of(w, args, s->n);
    }
    if (n->op != AOT_OP_UNKNOWN && (aot_node_op(n)->flags & AOT_OPF_HIGHER_ORDER) != 0) {
        return run_hop(w, n, s->n, args);
    }
    if (!ex_python(w->x, aot_text(w->g->ctx, n->target), s->n, args, &out)) {
        ex_fail(w->x, AOT_E_UNSUPPORTED, "%s is not known to the interpreter",
                aot_text(w->g->ctx, n->target));
    }
    return out;
}

/* Gives back what the running call made, above a mark. */
static void release(aot_exec *x, size_t mark)
{
    while (x->owned.n > mark) {
        aot_array_unref(x->owned.d[--x->owned.n]);
    }
}

static void bury(walk *w, aot_node_id id)
{
    const step *s = &w->plan[id];
    for (unsigned i = 0; i < s->n_dies; i++) {
        aot_xv_drop(&w->env[s->dies[i]]);
    }
}

static void take_output(walk *w, aot_node_id id, aot_xval **out, unsigned *n_out)
{
    const step *s = &w->plan[id];
    aot_xval v = s->n > 0 ? resolved(w, &s->args[0]) : aot_xv_none();
    bool list = v.kind == AOT_X_LIST;
    *n_out = list ? v.n : 1;
    *out = aot_xcalloc(*n_out + 1u, sizeof **out);
    for (unsigned i = 0; i < *n_out; i++) {
        (*out)[i] = aot_xv_keep(list ? v.u.items[i] : v);
    }
}

static void walk_nodes(walk *w, unsigned n, const aot_xval *inputs, const aot_exec_options *o,
                       aot_xval **out, unsigned *n_out)
{
    unsigned next = 0;
    start(w);
    for (aot_node_id id = 0; id < w->g->nodes.n; id++) {
        const aot_node *node = aot_node_at(w->g, id);
        aot_arena_mark mark = aot_arena_get_mark(w->x->scratch);
        size_t owned = w->x->owned.n;
        w->x->node = id;
        if (node->kind == AOT_OUTPUT) {
            take_output(w, id, out, n_out);
            return;
        }
        if (o != NULL && o->before != NULL) {
            o->before(o->arg, w->x, w->g, id);
        }
        if (node->kind == AOT_PLACEHOLDER) {
            if (next >= n) {
                ex_fail(w->x, AOT_E_GRAPH, "the graph takes more inputs than the %u given", n);
            }
            w->env[id] = aot_xv_keep(inputs[next]);
            if (o != NULL && o->taken != NULL) {
                aot_xv_drop(&o->taken[next]);
            }
            next++;
        } else {
            w->env[id] = aot_xv_keep(run_node(w, id));
            release(w->x, owned);
            aot_arena_reset(w->x->scratch, mark);
            if (o != NULL && o->replace != NULL) {
                o->replace(o->arg, w->x, w->g, id, &w->env[id]);
            }
        }
        bool seen =
            o != NULL && o->observer != NULL && (node->kind != AOT_PLACEHOLDER || o->inputs);
        if (seen && !o->observer(o->arg, w->g, id, &w->env[id], &w->x->live)) {
            w->x->stopped = true;
            return;
        }
        bury(w, id);
        if (o != NULL && o->until != NULL && strcmp(o->until, aot_node_name(w->g, id)) == 0) {
            return;
        }
    }
}

static void walk_end(walk *w)
{
    for (aot_node_id id = 0; w->env != NULL && id < w->g->nodes.n; id++) {
        aot_xv_drop(&w->env[id]);
    }
    aot_arena_free(w->a);
}

aot_status aot_exec_run(aot_xval **out, unsigned *n_out, aot_exec *x, const aot_graph *g,
                        unsigned n, const aot_xval *inputs, const aot_exec_options *o, aot_err *err)
{
    walk *w = aot_xcalloc(1, sizeof *w);
    jmp_buf here;
    *w = (walk){.x = x, .g = g, .a = aot_arena_new()};
    x->leave = &here;
    x->err = err;
    x->graph = g;
    x->status = AOT_OK;
    x->stopped = false;
    x->bodies = o != NULL && o->bodies ? *o : (aot_exec_options){0};
    x->bodies.until = NULL; // names a node of g
    x->bodies.replace = NULL;
    *out = NULL;
    *n_out = 0;
    if (o != NULL && o->until != NULL && aot_graph_find(g, o->until) == AOT_NO_NODE) {
        x->status = AOT_FAIL(err, AOT_E_USAGE, "the graph has no node %s", o->until);
    } else if (setjmp(here) == 0) {
        walk_nodes(w, n, inputs, o, out, n_out);
    }
    release(x, 0);
    drop_plans(x, false);
    aot_arena_free(x->scratch);
    x->scratch = aot_arena_new();
    walk_end(w);
    free(w);
    x->leave = NULL;
    x->node = AOT_NO_NODE;
    return x->status;
}

/* Values on the heap as a list of the running call, which owns their arrays. */
static aot_xval owned_list(aot_exec *x, unsigned n, aot_xval *values)
{
    aot_xval *items = AOT_NEW_ARRAY(x->scratch, aot_xval, n + 1);
    for (unsigned i = 0; i < n; i++) {
        items[i] = values[i];
        if (items[i].kind == AOT_X_ARRAY) {
            ex_own(x, items[i].u.array);
        }
    }
    free(values);
    return aot_xv_list(n, items);
}

/* The results are owned by the running call, as those of a kernel are. */
static aot_xval run_inside(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *inputs,
                           const aot_exec_options *o, keep keep)
{
    walk *w = aot_xcalloc(1, sizeof *w);
    jmp_buf here, *outer = x->leave;
    const aot_graph *graph = x->graph;
    aot_node_id node = x->node;
    aot_xval *out = NULL;
    unsigned n_out = 0;
    *w = (walk){.x = x, .g = g, .keep = keep, .a = aot_arena_new()};
    x->leave = &here;
    x->graph = NULL; // messages name the node that is expanded
    if (setjmp(here) == 0) {
        walk_nodes(w, n, inputs, o, &out, &n_out);
    }
    walk_end(w);
    free(w);
    x->leave = outer;
    x->graph = graph;
    x->node = node;
    if (x->status != AOT_OK || x->stopped) {
        longjmp(*outer, 1);
    }
    aot_xval list = owned_list(x, n_out, out);
    for (unsigned i = 0; i < list.n; i++) {
        if (list.u.items[i].kind == AOT_X_LIST) { // edges of a histogram
            list.u.items[i] = owned_list(x, list.u.items[i].n, list.u.items[i].u.items);
        }
    }
    return list;
}

aot_xval ex_graph(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *inputs)
{
    return run_inside(x, g, n, inputs, NULL, KEEP_EXPANSION);
}

aot_xval ex_body(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *inputs)
{
    return run_inside(x, g, n, inputs, &x->bodies, KEEP_BODY);
}
