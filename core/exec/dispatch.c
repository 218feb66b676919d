/* How an operator is run: by its kernel; by the functional form, whose results are written into the
 * arguments; by its decomposition. And what it is known by: schema and defaults, read once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/internal.h"
#include "trace/trace.h"

void ex_fail(aot_exec *x, aot_status code, const char *fmt, ...)
{
    char msg[360], at[128] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    if (x->graph != NULL && x->node != AOT_NO_NODE) {
        snprintf(at, sizeof at, "node %.60s: ", aot_node_name(x->graph, x->node));
    }
    x->status = AOT_FAIL(x->err, code, "%s%s", at, msg);
    longjmp(*x->leave, 1);
}

aot_array *ex_own(aot_exec *x, aot_array *a)
{
    aot_vec_push(&x->owned, a);
    return a;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* A default as the schema writes it: 1, [0, 0], None, True, "mean", Mean, contiguous_format. */
static aot_xval default_value(aot_exec *x, const char *s, uint32_t n)
{
    char *text = aot_arena_strndup(x->arena, s, n), *end;
    if (n == 0 || strcmp(text, "None") == 0) {
        return aot_xv_none();
    }
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        return aot_xv_bool(text[0] == 'T');
    }
    if (strcmp(text, "Mean") == 0 || strcmp(text, "Sum") == 0) {
        return aot_xv_int(text[0] == 'M' ? 1 : 2);
    }
    if (text[0] == '[') {
        aot_xval *items = AOT_NEW_ARRAY(x->arena, aot_xval, n + 1);
        unsigned k = 0;
        for (char *p = text + 1; *p != '\0' && *p != ']'; p++) {
            char *stop = p + strcspn(p, ",]");
            while (*p == ' ') {
                p++;
            }
            items[k++] = default_value(x, p, (uint32_t)(stop - p));
            p = *stop == ',' ? stop : stop - 1;
        }
        return aot_xv_list(k, items);
    }
    long long i = strtoll(text, &end, 10);
    if (*end == '\0') {
        return aot_xv_int(i);
    }
    double f = strtod(text, &end);
    if (*end == '\0') {
        return aot_xv_real(f);
    }
    if (text[0] == '"') {
        text[n - 1] = '\0';
        text++;
    }
    return (aot_xval){.kind = AOT_X_STR, .u.text = text};
}

const exec_op *ex_op(aot_exec *x, aot_op_id op)
{
    if (x->ops[op] != NULL) {
        return x->ops[op];
    }
    exec_op *f = AOT_NEW(x->arena, exec_op);
    const aot_op_info *info = aot_op(op);
    if (info->schema == NULL ||
        aot_schema_parse(&f->schema, x->arena, info->schema, NULL) != AOT_OK) {
        ex_fail(x, AOT_E_UNSUPPORTED, "%s has no schema, and the interpreter does not know it",
                info->name);
    }
    f->defaults = AOT_NEW_ARRAY(x->arena, aot_xval, f->schema.n_args + 1);
    for (uint32_t i = 0; i < f->schema.n_args; i++) {
        f->defaults[i] = default_value(x, f->schema.args[i].def.s, f->schema.args[i].def.n);
    }
    f->is_list = f->schema.n_returns != 1 || f->schema.returns[0].is_list;
    return x->ops[op] = f;
}

/* ---- operators that write -------------------------------------------------------------------- */

static int place_of(const aot_schema *s, aot_span name)
{
    for (uint32_t i = 0; i < s->n_args; i++) {
        if (s->args[i].name.n == name.n && memcmp(s->args[i].name.s, name.s, name.n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Sizes and strides of self become those of its view. */
static void become(aot_array *self, const aot_array *view)
{
    self->ndim = view->ndim;
    self->offset = view->offset;
    memcpy(self->size, view->size, sizeof self->size);
    memcpy(self->stride, view->stride, sizeof self->stride);
}

static void write_result(aot_exec *x, const exec_call *c, aot_array *to, aot_array *from)
{
    unsigned ndim = from->ndim;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, from->size, sizeof size);
    if ((aot_op(c->op)->tags & AOT_TAG_INPLACE_VIEW) != 0) {
        become(to, from);
        return;
    }
    if (!aot_broadcast(&ndim, size, to->ndim, to->size) || ndim != to->ndim ||
        memcmp(size, to->size, ndim * sizeof *size) != 0) {
        ex_fail(x, AOT_E_SHAPE, "%s: the result does not fit into what it is written to",
                aot_op(c->op)->name);
    }
    aot_array_assign(to, from);
}

/* Of lists, item by item. */
static void write_value(aot_exec *x, const exec_call *c, const aot_xval *to, const aot_xval *from)
{
    bool lists = to->kind == AOT_X_LIST && from->kind == AOT_X_LIST;
    if (to->kind == AOT_X_ARRAY && from->kind == AOT_X_ARRAY) {
        write_result(x, c, to->u.array, from->u.array);
    }
    for (unsigned i = 0; lists && i < to->n && i < from->n; i++) {
        if (to->u.items[i].kind == AOT_X_ARRAY && from->u.items[i].kind == AOT_X_ARRAY) {
            write_result(x, c, to->u.items[i].u.array, from->u.items[i].u.array);
        }
    }
}

/* How many results an operator has that are no argument of it, where it also writes some: batch
 * normalization. */
static unsigned own_results(const exec_op *mine, const exec_op *other, const aot_xval *r)
{
    unsigned n_written = 0;
    for (uint32_t i = 0; i < mine->schema.n_args; i++) {
        n_written += mine->schema.args[i].is_write;
    }
    return r->kind == AOT_X_LIST && r->n == other->schema.n_returns &&
                   r->n == mine->schema.n_returns + n_written
               ? mine->schema.n_returns
               : 0;
}

static void write_all(aot_exec *x, const exec_call *c, const exec_op *mine, const aot_xval *from,
                      unsigned n)
{
    unsigned k = 0;
    for (uint32_t i = 0; i < mine->schema.n_args && k < n; i++) {
        if (!mine->schema.args[i].is_write) {
            continue;
        }
        if (i < c->n) {
            write_value(x, c, &c->args[i], &from[k]);
        }
        k++;
    }
}

static aot_xval run_functional(aot_exec *x, const exec_call *c, aot_op_id functional)
{
    const exec_op *mine = ex_op(x, c->op), *other = ex_op(x, functional);
    aot_xval *args = AOT_NEW_ARRAY(x->scratch, aot_xval, other->schema.n_args + 1);
    for (uint32_t i = 0; i < other->schema.n_args; i++) {
        int from = place_of(&mine->schema, other->schema.args[i].name);
        args[i] = from >= 0 && (unsigned)from < c->n ? c->args[from] : other->defaults[i];
    }
    aot_xval r = ex_run(x, &(exec_call){.op = functional, .n = other->schema.n_args, .args = args});
    aot_xval *out = AOT_NEW_ARRAY(x->scratch, aot_xval, mine->schema.n_args + 1);
    unsigned n = 0, own = own_results(mine, other, &r);
    if (own > 0) { // results of its own come first, then what is written
        write_all(x, c, mine, r.u.items + own, r.n - own);
        return aot_xv_list(own, r.u.items);
    }
    for (uint32_t i = 0; i < mine->schema.n_args; i++) {
        aot_xval to = i < c->n ? c->args[i] : aot_xv_none();
        if (!mine->schema.args[i].is_write || (to.kind != AOT_X_ARRAY && to.kind != AOT_X_LIST)) {
            continue;
        }
        bool one_list = to.kind == AOT_X_LIST && other->schema.n_returns == 1;
        aot_xval from = r.kind == AOT_X_LIST && !one_list && n < r.n ? r.u.items[n] : r;
        write_value(x, c, &to, &from);
        out[n++] = to;
    }
    return n == 1 ? out[0] : aot_xv_list(n, out);
}

/* ---- the way --------------------------------------------------------------------------------- */

aot_exec_way aot_exec_way_of(aot_op_id op)
{
    aot_op_id functional = aot_op_functional(op);
    if (aot_kernel_of(op) != NULL) {
        return AOT_EXEC_KERNEL;
    }
    if (functional != AOT_OP_UNKNOWN) {
        return aot_exec_way_of(functional) == AOT_EXEC_NONE ? AOT_EXEC_NONE : AOT_EXEC_FUNCTIONAL;
    }
    return aot_trace_rules_of(op)->expand != NULL ? AOT_EXEC_DECOMPOSED : AOT_EXEC_NONE;
}

static aot_xval run_kernel(aot_exec *x, const exec_call *c, aot_kern_fn *fn)
{
    aot_kern k = {.x = x, .op = c->op, .facts = ex_op(x, c->op), .n_args = c->n, .args = c->args,
                  .expected = c->expected, .n_expected = c->n_expected, .expected_ctx = c->ctx};
    fn(&k);
    if (k.as_list || k.facts->is_list || k.n_given != 1) {
        return aot_xv_list(k.n_given, k.given);
    }
    return k.given[0];
}

aot_xval ex_run(aot_exec *x, const exec_call *c)
{
    switch (aot_exec_way_of(c->op)) {
    case AOT_EXEC_KERNEL: return run_kernel(x, c, aot_kernel_of(c->op));
    case AOT_EXEC_FUNCTIONAL: return run_functional(x, c, aot_op_functional(c->op));
    case AOT_EXEC_DECOMPOSED: return ex_decomposed(x, c->op, c->n, c->args);
    default:
        ex_fail(x, AOT_E_UNSUPPORTED,
                "%s has no kernel and no decomposition: it cannot be run (aotscope ops --gaps "
                "lists such operators; "
                "--until runs the graph up to a node)",
                aot_op(c->op)->name);
    }
}
