/* Kernels of higher-order operators (hops.def): graphs run inside of the running call, operators
 * called by name, the generator's state taken and set. Mirrors torch/_higher_order_ops,
 * torch/_prims/rng_prims.py. */
#include "exec/hop.h"

#include <string.h>

typedef aot_xval hop_fn(hop_call *h);

AOT_NORETURN static void fail(const hop_call *h, const char *what)
{
    ex_fail(h->x, AOT_E_UNSUPPORTED, "%s: %s", aot_op(h->op)->name, what);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const aot_xval *arg(const hop_call *h, unsigned i)
{
    if (i >= h->n) {
        fail(h, "an argument is missing");
    }
    return &h->args[i];
}

static const aot_graph *graph_arg(const hop_call *h, unsigned i)
{
    if (arg(h, i)->kind != AOT_X_GRAPH) {
        fail(h, "its graph is not in the input");
    }
    return arg(h, i)->u.graph;
}

static const aot_xval *list_arg(const hop_call *h, unsigned i, unsigned *n)
{
    const aot_xval *v = arg(h, i);
    if (v->kind != AOT_X_LIST) {
        fail(h, "an argument is no list");
    }
    *n = v->n;
    return v->u.items;
}

static bool is_true(const hop_call *h, const aot_xval *v)
{
    if (v->kind == AOT_X_LIST && v->n == 1) {
        v = &v->u.items[0];
    }
    if (v->kind == AOT_X_ARRAY && aot_array_numel(v->u.array) == 1) {
        return aot_get_real((aot_dtype)v->u.array->dtype, aot_array_data(v->u.array)) != 0;
    }
    if (v->kind != AOT_X_BOOL && v->kind != AOT_X_INT) {
        fail(h, "the condition is neither true nor false");
    }
    return v->u.i != 0;
}

static aot_xval run_graph(const hop_call *h, const aot_graph *g, unsigned n, const aot_xval *inputs)
{
    h->x->depth++;
    aot_xval v = ex_body(h->x, g, n, inputs);
    h->x->depth--;
    return v;
}

static aot_xval *joined(const hop_call *h, unsigned n, const aot_xval *a, unsigned m,
                        const aot_xval *b)
{
    aot_xval *all = AOT_NEW_ARRAY(h->x->scratch, aot_xval, n + m + 1);
    if (n > 0) {
        memcpy(all, a, n * sizeof *a);
    }
    if (m > 0) {
        memcpy(all + n, b, m * sizeof *b);
    }
    return all;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* cond(pred, true_graph, false_graph, operands) */
static aot_xval hop_cond(hop_call *h)
{
    unsigned n;
    const aot_xval *operands = list_arg(h, 3, &n);
    return run_graph(h, graph_arg(h, is_true(h, arg(h, 0)) ? 1 : 2), n, operands);
}

/* while_loop(cond_graph, body_graph, carried, additional) */
static aot_xval hop_while_loop(hop_call *h)
{
    enum { MOST_ROUNDS = 1000000 };
    unsigned n, n_more;
    const aot_xval *start = list_arg(h, 2, &n), *more = list_arg(h, 3, &n_more);
    aot_xval carried = aot_xv_list(n, joined(h, n, start, 0, NULL));
    for (unsigned round = 0;; round++) {
        const aot_xval *in = joined(h, carried.n, carried.u.items, n_more, more);
        aot_xval go_on = run_graph(h, graph_arg(h, 0), carried.n + n_more, in);
        if (!is_true(h, &go_on)) {
            return carried;
        }
        if (round == MOST_ROUNDS) {
            fail(h, "it has not ended after a million rounds");
        }
        carried = run_graph(h, graph_arg(h, 1), carried.n + n_more, in);
    }
}

static aot_xval row_of(const hop_call *h, const aot_xval *v, int64_t i)
{
    if (v->kind != AOT_X_ARRAY || v->u.array->ndim == 0) {
        fail(h, "what it goes over has no rows");
    }
    const aot_array *x = v->u.array;
    return aot_xv_array(
        ex_own(h->x, aot_array_view(x, (aot_dtype)x->dtype, x->ndim - 1u, x->size + 1,
                                    x->stride + 1, x->offset + i * x->stride[0])));
}

static int64_t rows_of(const hop_call *h, unsigned n, const aot_xval *v)
{
    if (n == 0 || v[0].kind != AOT_X_ARRAY || v[0].u.array->ndim == 0 ||
        v[0].u.array->size[0] == 0) {
        fail(h, "what it goes over has no rows");
    }
    return v[0].u.array->size[0];
}

/* Row i of each stack; the stacks are made with the first. */
static void put_rows(const hop_call *h, aot_xval *stacks, unsigned n, const aot_xval *rows,
                     int64_t i, int64_t n_rows)
{
    for (unsigned k = 0; k < n; k++) {
        if (rows[k].kind != AOT_X_ARRAY) {
            continue; // None: no gradient
        }
        const aot_array *row = rows[k].u.array;
        if (i == 0) {
            int64_t size[AOT_ARRAY_MAX_NDIM] = {n_rows};
            if (row->ndim + 1u > AOT_ARRAY_MAX_NDIM) {
                fail(h, "too many dimensions");
            }
            memcpy(size + 1, row->size, row->ndim * sizeof *size);
            stacks[k] = aot_xv_array(ex_own(
                h->x, aot_array_new(&h->x->live, (aot_dtype)row->dtype, row->ndim + 1u, size)));
        }
        aot_xval to = row_of(h, &stacks[k], i);
        if (aot_array_numel(row) > 0) {
            aot_array_assign(to.u.array, row);
        }
    }
}

/* map_impl(graph, xs, pos_args): a list of stacked results. */
static aot_xval hop_map(hop_call *h)
{
    unsigned n, n_more, n_out = 0;
    const aot_xval *xs = list_arg(h, 1, &n), *more = list_arg(h, 2, &n_more);
    aot_xval *stacks = NULL, *in = joined(h, n, xs, n_more, more);
    int64_t rows = rows_of(h, n, xs);
    for (int64_t i = 0; i < rows; i++) {
        for (unsigned k = 0; k < n; k++) {
            in[k] = row_of(h, &xs[k], i);
        }
        aot_xval out = run_graph(h, graph_arg(h, 0), n + n_more, in);
        n_out = out.n;
        stacks = stacks != NULL ? stacks : AOT_NEW_ARRAY(h->x->scratch, aot_xval, n_out + 1);
        put_rows(h, stacks, n_out, out.u.items, i, rows);
    }
    return aot_xv_list(n_out, stacks);
}

/* scan(combine_graph, init, xs, additional): what is carried, then the stacked results. */
static aot_xval hop_scan(hop_call *h)
{
    unsigned n_init, n, n_more, n_out = 0;
    const aot_xval *init = list_arg(h, 1, &n_init), *xs = list_arg(h, 2, &n),
                   *more = list_arg(h, 3, &n_more);
    aot_xval *stacks = NULL, *in = AOT_NEW_ARRAY(h->x->scratch, aot_xval, n_init + n + n_more + 1);
    int64_t rows = rows_of(h, n, xs);
    memcpy(in, joined(h, n_init, init, 0, NULL), (n_init + 1) * sizeof *in);
    memcpy(in + n_init + n, joined(h, n_more, more, 0, NULL), n_more * sizeof *in);
    for (int64_t i = 0; i < rows; i++) {
        for (unsigned k = 0; k < n; k++) {
            in[n_init + k] = row_of(h, &xs[k], i);
        }
        aot_xval out = run_graph(h, graph_arg(h, 0), n_init + n + n_more, in);
        if (out.n < n_init) {
            fail(h, "its graph gives fewer values than it carries");
        }
        n_out = out.n - n_init;
        stacks = stacks != NULL ? stacks : AOT_NEW_ARRAY(h->x->scratch, aot_xval, n_out + 1);
        memcpy(in, out.u.items, n_init * sizeof *in);
        put_rows(h, stacks, n_out, out.u.items + n_init, i, rows);
    }
    return aot_xv_list(n_init + n_out, joined(h, n_init, in, n_out, stacks));
}

/* associative_scan(combine_graph, xs, additional): each row is the one before combined with its
 * own. */
static aot_xval hop_associative_scan(hop_call *h)
{
    unsigned n, n_more;
    const aot_xval *xs = list_arg(h, 1, &n), *more = list_arg(h, 2, &n_more);
    aot_xval *stacks = AOT_NEW_ARRAY(h->x->scratch, aot_xval, n + 1),
             *in = AOT_NEW_ARRAY(h->x->scratch, aot_xval, 2 * n + n_more + 1);
    int64_t rows = rows_of(h, n, xs);
    memcpy(in + 2 * n, joined(h, n_more, more, 0, NULL), n_more * sizeof *in);
    for (int64_t i = 0; i < rows; i++) {
        for (unsigned k = 0; k < n; k++) {
            in[n + k] = row_of(h, &xs[k], i);
        }
        aot_xval row = i == 0 ? aot_xv_list(n, joined(h, n, in + n, 0, NULL))
                              : run_graph(h, graph_arg(h, 0), 2 * n + n_more, in);
        if (row.n != n) {
            fail(h, "its graph does not give as many values as it combines");
        }
        put_rows(h, stacks, n, row.u.items, i, rows);
        memcpy(in, row.u.items, n * sizeof *in);
    }
    return aot_xv_list(n, stacks);
}

/* invoke_subgraph(graph, identifier, *operands) */
static aot_xval hop_invoke_subgraph(hop_call *h)
{
    return run_graph(h, graph_arg(h, 0), h->n > 2 ? h->n - 2 : 0, h->args + 2);
}

static aot_xval wrapped(hop_call *h, unsigned at)
{
    return run_graph(h, graph_arg(h, at), h->n - at - 1, h->args + at + 1);
}

static aot_xval hop_wrap(hop_call *h)
{
    return wrapped(h, 0);
}

/* A graph and the list of what it takes, behind `at` other arguments. */
static aot_xval listed(hop_call *h, unsigned at)
{
    unsigned n;
    const aot_xval *operands = list_arg(h, at + 1, &n);
    return run_graph(h, graph_arg(h, at), n, operands);
}

static aot_xval hop_listed(hop_call *h) // (graph, operands, ...)
{
    return listed(h, 0);
}

static aot_xval hop_given(hop_call *h) // what is marked for export goes through
{
    return aot_xv_list(h->n, joined(h, h->n, h->args, 0, NULL));
}

static aot_xval hop_wrap_behind_1(hop_call *h) // (enabled, graph, *operands)
{
    return wrapped(h, 1);
}

static aot_xval hop_wrap_behind_4(hop_call *h) // (device, dtype, enabled, cache, graph, *operands)
{
    return wrapped(h, 4);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* The operator named by argument `at` on the arguments behind it. */
static aot_xval call_operator(hop_call *h, unsigned at)
{
    const aot_xval *name = arg(h, at);
    aot_op_id op =
        name->kind == AOT_X_STR ? aot_op_find(name->u.text, strlen(name->u.text)) : AOT_OP_UNKNOWN;
    if (op == AOT_OP_UNKNOWN) {
        fail(h, "the operator inside is not known");
    }
    if ((aot_op(op)->flags & AOT_OPF_HIGHER_ORDER) != 0) {
        hop_call inner = *h;
        inner.op = op;
        inner.n = h->n - at - 1;
        inner.args = h->args + at + 1;
        return ex_hop(&inner);
    }
    const exec_op *f = ex_op(h->x, op);
    unsigned given = h->n - at - 1, n = given > f->schema.n_args ? given : f->schema.n_args;
    aot_xval *args = AOT_NEW_ARRAY(h->x->scratch, aot_xval, n + 1);
    memcpy(args, f->defaults, f->schema.n_args * sizeof *args);
    if (given > 0) {
        memcpy(args, h->args + at + 1, given * sizeof *args);
    }
    for (unsigned k = 0; k < h->n_kw; k++) {
        const aot_schema_arg *a = aot_schema_arg_find(&f->schema, h->keys[k]);
        if (a != NULL) {
            args[a - f->schema.args] = h->kw[k];
        }
    }
    return ex_run(h->x, &(exec_call){.op = op, .n = n, .args = args});
}

/* (op, dtype, *args): computed in that dtype. */
static aot_xval hop_out_dtype(hop_call *h)
{
    if (arg(h, 1)->kind != AOT_X_DTYPE || arg(h, 0)->kind != AOT_X_STR) {
        fail(h, "it names no operator and dtype");
    }
    aot_kern kern = {.x = h->x, .op = h->op};
    aot_xval *args = joined(h, h->n, h->args, 0, NULL);
    args[1] = args[0]; // the operator, its arguments behind it
    for (unsigned i = 2; i < h->n; i++) {
        if (args[i].kind == AOT_X_ARRAY) {
            args[i] = aot_xv_array(k_cast(&kern, args[i].u.array, (aot_dtype)h->args[1].u.i));
        }
    }
    hop_call inner = *h;
    inner.args = args;
    return call_operator(&inner, 1);
}

static aot_array *new_state(const hop_call *h)
{
    int64_t size = AOT_GENERATOR_STATE_BYTES;
    aot_array *s = ex_own(h->x, aot_array_new(&h->x->live, AOT_U8, 1, &size));
    aot_generator_get_state(&h->x->generator, (uint8_t *)aot_array_data(s));
    return s;
}

/* (op, *args) -> (state before, result) */
static aot_xval hop_run_and_save_rng_state(hop_call *h)
{
    aot_xval *out = AOT_NEW_ARRAY(h->x->scratch, aot_xval, 2);
    out[0] = aot_xv_array(new_state(h));
    out[1] = call_operator(h, 0);
    return aot_xv_list(2, out);
}

/* (state, op, *args): the generator itself goes on as if nothing had been drawn. */
static aot_xval hop_run_with_rng_state(hop_call *h)
{
    const aot_xval *state = arg(h, 0);
    aot_generator kept = h->x->generator;
    if (state->kind != AOT_X_ARRAY || state->u.array->dtype != AOT_U8 ||
        !aot_array_is_contiguous(state->u.array) ||
        aot_array_numel(state->u.array) != AOT_GENERATOR_STATE_BYTES) {
        fail(h, "its state is none of the CPU generator");
    }
    if (h->x->unthreaded) {
        h->x->n_unthreaded++;
        return call_operator(h, 1);
    }
    if (!aot_generator_set_state(&h->x->generator,
                                 (const uint8_t *)aot_array_data(state->u.array))) {
        fail(h, "its state is none of the CPU generator");
    }
    aot_xval out = call_operator(h, 1);
    h->x->generator = kept;
    return out;
}

/* (token, op, *args) -> (token, results): the order of nodes is the order of effects. */
static aot_xval hop_with_effects(hop_call *h)
{
    aot_xval token = *arg(h, 0), r = call_operator(h, 1);
    return r.kind == AOT_X_LIST ? aot_xv_list(1 + r.n, joined(h, 1, &token, r.n, r.u.items))
                                : aot_xv_list(2, joined(h, 1, &token, 1, &r));
}

/* What it would print goes nowhere: it is run several times over. */
static aot_xval hop_print(hop_call *h)
{
    (void)h;
    return aot_xv_none();
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    aot_op_id op;
    hop_fn *fn;
    const char *why;
} hops[] = {
#define HOP(op, fn) {AOT_OP_##op, fn, ""},
#define NO_HOP(op, reason) {AOT_OP_##op, NULL, reason},
#include "ops/hops.def"
#undef HOP
#undef NO_HOP
};

aot_xval ex_hop(hop_call *h)
{
    enum { DEEPEST = 64, N_HOPS = sizeof hops / sizeof *hops };
    size_t i = 0;
    while (i < N_HOPS && hops[i].op != h->op) {
        i++;
    }
    if (i == N_HOPS || hops[i].fn == NULL) {
        fail(h, i == N_HOPS ? "the interpreter does not know it" : hops[i].why);
    }
    if (h->x->depth > DEEPEST) {
        fail(h, "graphs within graphs, too deep");
    }
    return hops[i].fn(h);
}
