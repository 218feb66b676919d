/* Attention written by hand: 144 patterns made from the rows of attention.def, tried in order.
 *
 * A row is traced with example types into a pattern once a run, and its replacement with the real
 * types where it matches. Whether the CPU's flash kernel takes the place, or scores computed by
 * hand again, follows from these types.
 * Mirrors: torch/_inductor/fx_passes/fuse_attention.py. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "joint/attention.h"
#include "joint/internal.h"

typedef enum check {
    CHECK_NONE,
    CHECK_PARAMS,
    CHECK_SCALE_div,
    CHECK_SCALE_mul,
    CHECK_SCALE_div_no_cuda,
    CHECK_PARAMS_no_cuda
} check;

static const struct attention_row {
    int number;
    const char *inputs, *search, *replace;
    check check;
} rows[] = {
#define ATTENTION(number, inputs, search, replace, check)                                          \
    {number, inputs, search, replace, CHECK_##check},
#define EXAMPLE(number, types, when)
#include "joint/attention.def"
#undef ATTENTION
#undef EXAMPLE
};

enum { EXAMPLE_BOTH, EXAMPLE_HALF };

static const struct attention_example {
    int number;
    const char *types;
    int when;
} examples[] = {
#define ATTENTION(number, inputs, search, replace, check)
#define EXAMPLE(number, types, when) {number, types, EXAMPLE_##when},
#include "joint/attention.def"
#undef ATTENTION
#undef EXAMPLE
};

enum {
    N_ROWS = sizeof rows / sizeof rows[0],
    N_EXAMPLES = sizeof examples / sizeof examples[0],
    MAX_INPUTS = 8
};

/* A number that stands for dropout_p while a pattern is traced. */
static const double dropout_mark = 0.113377;

/* ---- inputs --------------------------------------------------------------------------------- */

/* Words of a list apart by blanks; copied into buf. */
static unsigned split(const char *list, char *buf, size_t size, const char *out[MAX_INPUTS])
{
    unsigned n = 0;
    assert(strlen(list) < size);
    (void)size;
    strcpy(buf, list);
    for (char *p = buf; *p != '\0' && n < MAX_INPUTS; n++) {
        out[n] = p;
        while (*p != '\0' && *p != ' ') {
            p++;
        }
        if (*p == ' ') {
            *p++ = '\0';
        }
    }
    return n;
}

/* The type that a letter of an EXAMPLE row stands for. */
static aot_meta_id example_type(aot_ctx *c, const char *word, aot_dtype d)
{
    static const struct {
        const char *name;
        unsigned n;
        int sizes[4];
    } kinds[] = {
        {"g1", 4, {1, 4, 8, 16}}, {"g3", 3, {1024, 128, 128}},
        {"g", 4, {2, 4, 8, 16}},  {"b", 4, {1, 1, 8, 8}},
        {"m1", 4, {1, 1, 1, 4}},  {"m2", 2, {2, 4}},
        {"m", 4, {2, 1, 1, 4}},   {"c", 0, {0}},
    };
    size_t k = 0;
    while (!aot_starts_with(word, kinds[k].name)) {
        k++;
    }
    switch (word[strlen(kinds[k].name)]) {
    case 'f':
        d = AOT_F32;
        break;
    case 't':
        d = AOT_B8;
        break;
    default:
        break;
    }
    aot_dim sizes[4];
    for (unsigned i = 0; i < kinds[k].n; i++) {
        sizes[i] = (aot_dim){.value = kinds[k].sizes[i]};
    }
    aot_fake t = aot_fake_new(d, kinds[k].n, sizes, aot_intern_z(c->strs, "cpu"));
    return aot_fake_meta(c, &t);
}

static const struct attention_row *row_of(int number)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].number == number) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool is_dropout(const char *name)
{
    return strcmp(name, "dropout_p") == 0;
}

/* ---- from a trace to a pattern --------------------------------------------------------------- */

typedef struct conversion {
    const trace *t;
    pattern *out;
    int *call_of; /* by node; -1 */
    const char *const *names;
} conversion;

static int convert_node(conversion *v, uint32_t id);

static bool is_number(const aot_arg *a)
{
    return a->kind == AOT_ARG_INT || a->kind == AOT_ARG_FLOAT;
}

static pat_arg convert_placeholder(const conversion *v, uint32_t id)
{
    aot_ctx *c = v->t->f.c;
    for (size_t i = 0; i < v->t->inputs.n; i++) {
        if (v->t->inputs.d[i] == id) {
            return (pat_arg){.kind = PAT_KEY, .at = aot_intern_z(c->strs, v->names[i])};
        }
    }
    return (pat_arg){.kind = PAT_KEY, .at = aot_intern_z(c->strs, "tangents_1")};
}

/* Numbers, lists of numbers, dtypes and devices depend on the example: they match anything. */
static pat_arg convert_arg(conversion *v, const aot_arg *a)
{
    const fx *f = &v->t->f;
    switch (a->kind) {
    case AOT_ARG_NODE:
        if (fx_node(f, a->u.node)->kind == AOT_PLACEHOLDER) {
            return convert_placeholder(v, a->u.node);
        }
        return (pat_arg){.kind = PAT_CALL, .at = (uint32_t)convert_node(v, a->u.node)};
    case AOT_ARG_FLOAT:
        if (a->u.f == dropout_mark) {
            return (pat_arg){.kind = PAT_KEY, .at = aot_intern_z(f->c->strs, "dropout_p")};
        }
        return (pat_arg){.kind = PAT_ANY};
    case AOT_ARG_INT:
    case AOT_ARG_RAW:
        return (pat_arg){.kind = PAT_ANY};
    case AOT_ARG_NAME: {
        const char *s = aot_text(f->c, a->u.s);
        bool dtype = aot_dtype_of_torch(s, strlen(s)) != AOT_NO_DTYPE;
        return dtype ? (pat_arg){.kind = PAT_ANY} : (pat_arg){.kind = PAT_CONST, .value = *a};
    }
    case AOT_ARG_LIST:
        return (pat_arg){.kind = a->n != 0 && is_number(&f->g->args.d[a->u.first]) ? PAT_ANY
                                                                                   : PAT_LIST};
    default:
        return (pat_arg){.kind = PAT_CONST, .value = *a};
    }
}

static int convert_node(conversion *v, uint32_t id)
{
    const fx *f = &v->t->f;
    if (v->call_of[id] >= 0) {
        return v->call_of[id];
    }
    aot_node n = *fx_node(f, id);
    pat_call c = {.op = aot_op(n.op)->name,
                  .users = (int)fx_n_users(f, id),
                  .n_args = n.n_args,
                  .n_kwargs = n.n_kwargs};
    AOT_VEC(pat_arg) args = {0};
    for (uint32_t i = 0; i < (uint32_t)n.n_args + n.n_kwargs; i++) {
        uint32_t at = i < n.n_args ? n.args + i : n.kwargs + 2 * (i - n.n_args) + 1;
        aot_vec_push(&args, convert_arg(v, &f->g->args.d[at]));
        c.lists |= args.d[i].kind == PAT_LIST;
    }
    c.args = (uint32_t)v->out->args.n;
    c.kwargs = c.args + c.n_args;
    for (uint32_t i = 0; i < args.n; i++) {
        aot_vec_push(&v->out->args, args.d[i]);
        aot_vec_push(&v->out->keys,
                     i < n.n_args ? 0 : f->g->args.d[n.kwargs + 2 * (i - n.n_args)].u.s);
    }
    aot_vec_free(&args);
    aot_vec_push(&v->out->calls, c);
    v->call_of[id] = (int)v->out->calls.n - 1;
    return v->call_of[id];
}

static void pattern_of_trace(pattern *out, const trace *t, const char *name,
                             const char *const *names)
{
    *out = (pattern){.name = name};
    conversion v = {.t = t, .out = out, .names = names};
    v.call_of = aot_xmalloc((t->f.g->nodes.n + 1) * sizeof *v.call_of);
    memset(v.call_of, 0xff, (t->f.g->nodes.n + 1) * sizeof *v.call_of);
    for (size_t i = 0; i < t->outs.n; i++) {
        int call = t->outs.d[i] == AOT_NO_NODE ? PAT_NO_CALL : convert_node(&v, t->outs.d[i]);
        aot_vec_push(&out->outs, call);
        if (call != PAT_NO_CALL) {
            out->calls.d[call].is_output = true;
        }
    }
    free(v.call_of);
}

/* ---- the set -------------------------------------------------------------------------------- */

struct attention_set {
    AOT_VEC(attention_pattern) p;
};

static char *name_of(aot_ctx *c, const struct attention_example *e, const struct attention_row *row,
                     aot_dtype d, bool train)
{
    bool f32_mask = e->when == EXAMPLE_HALF;
    return aot_arena_printf(c->arena, "_sfdp_pattern_%d%s%s%s_%s", row->number,
                            d == AOT_F32 ? "" : "_half", f32_mask ? "_mask_fp32" : "",
                            aot_starts_with(e->types, "g1") ? "_bs1" : "",
                            train ? "training" : "inference");
}

static void add_pattern(attention_set *s, aot_ctx *c, const struct attention_example *e,
                        aot_dtype d, bool train)
{
    const struct attention_row *row = row_of(e->number);
    char name_buf[128], type_buf[64];
    const char *names[MAX_INPUTS], *types[MAX_INPUTS];
    unsigned n = split(row->inputs, name_buf, sizeof name_buf, names),
             n_types = split(e->types, type_buf, sizeof type_buf, types);
    trace_input in[MAX_INPUTS];
    for (unsigned i = 0; i < n; i++) {
        in[i] = (trace_input){.name = names[i], .value = trace_float(train ? dropout_mark : 0.0)};
        if (!is_dropout(names[i])) {
            assert(i < n_types);
            in[i].value = trace_node(AOT_NO_NODE);
            in[i].meta = example_type(c, types[i], d);
            in[i].grad = types[i][0] == 'g';
        }
    }
    (void)n_types;
    attention_pattern p = {
        .row = (int)(row - rows), .train = train, .name = name_of(c, e, row, d, train)};
    for (unsigned i = 0; i < n; i++) {
        p.grads |= in[i].grad ? 1u << i : 0;
    }
    trace t;
    trace_text(&t, c, row->search, in, n, train);
    assert(t.st == AOT_OK); // a test traces them all
    if (t.st == AOT_OK) {
        pattern_of_trace(&p.pat, &t, p.name, names);
        for (size_t i = 0; i < s->p.n && !p.duplicate; i++) {
            p.duplicate = !s->p.d[i].duplicate && pattern_same(&s->p.d[i].pat, &p.pat);
        }
        aot_vec_push(&s->p, p);
    }
    trace_free(&t);
}

attention_set *attention_set_new(aot_ctx *c)
{
    attention_set *s = aot_xcalloc(1, sizeof *s);
    for (int half = 0; half < 2; half++) {
        for (size_t i = 0; i < N_EXAMPLES; i++) {
            if (examples[i].when == EXAMPLE_BOTH || half) {
                add_pattern(s, c, &examples[i], half ? AOT_F16 : AOT_F32, true);
                add_pattern(s, c, &examples[i], half ? AOT_F16 : AOT_F32, false);
            }
        }
    }
    return s;
}

void attention_set_free(attention_set *s)
{
    for (size_t i = 0; s != NULL && i < s->p.n; i++) {
        pattern_free(&s->p.d[i].pat);
    }
    if (s != NULL) {
        aot_vec_free(&s->p);
        free(s);
    }
}

void joint_attention_free(joint *j)
{
    attention_set_free(j->attention);
    j->attention = NULL;
}

/* ---- checks --------------------------------------------------------------------------------- */

static bool is_cuda(const fx *f, uint32_t id)
{
    return aot_starts_with(aot_text(f->c, joint_type(f, id).device), "cuda");
}

/* The first matched call of an operator; AOT_NO_NODE. */
static uint32_t first_call(const fx *f, const match *m, const char *target)
{
    for (size_t i = 0; i < m->nodes.n; i++) {
        if (fx_is(f, m->nodes.d[i], target)) {
            return m->nodes.d[i];
        }
    }
    return AOT_NO_NODE;
}

static bool mask_fits(const fx *f, const match *m, const aot_fake *query)
{
    uint32_t add = first_call(f, m, "aten.add.Tensor");
    if (add == AOT_NO_NODE) {
        return true;
    }
    uint32_t mask = fx_arg_node(f, add, 1);
    aot_fake t = mask != AOT_NO_NODE ? joint_type(f, mask) : (aot_fake){0};
    return t.val == AOT_VAL_TENSOR &&
           (t.dtype == query->dtype || t.dtype == AOT_B8 || t.dtype == AOT_F32) &&
           t.device == query->device && t.ndim != 0;
}

static bool params_fit(const fx *f, const match *m)
{
    uint32_t q = match_get_node(m, f->c, "query"), k = match_get_node(m, f->c, "key"),
             v = match_get_node(m, f->c, "value");
    if (q == AOT_NO_NODE || k == AOT_NO_NODE || v == AOT_NO_NODE) {
        return false;
    }
    aot_fake x = joint_type(f, q), y = joint_type(f, k), z = joint_type(f, v);
    if (x.val != AOT_VAL_TENSOR || x.dtype != y.dtype || x.dtype != z.dtype ||
        x.device != y.device || x.device != z.device) {
        return false;
    }
    // CUDA's fused kernels compute f32 in tf32, which is off unless asked for
    return !(is_cuda(f, q) && x.dtype == AOT_F32) && mask_fits(f, m, &x);
}

static bool scaled_by_number(const fx *f, const match *m, const char *target)
{
    uint32_t call = first_call(f, m, target);
    const aot_arg *a =
        call != AOT_NO_NODE && fx_node(f, call)->n_args > 1 ? fx_args(f, call) + 1 : NULL;
    return a != NULL && is_number(a);
}

static bool passes_check(const fx *f, const match *m, check c)
{
    uint32_t q = match_get_node(m, f->c, "query");
    switch (c) {
    case CHECK_NONE:
        return true;
    case CHECK_PARAMS:
        return params_fit(f, m);
    case CHECK_PARAMS_no_cuda:
        return !(q != AOT_NO_NODE && is_cuda(f, q)) && params_fit(f, m);
    case CHECK_SCALE_div_no_cuda:
        return !(q != AOT_NO_NODE && is_cuda(f, q)) && scaled_by_number(f, m, "aten.div.Tensor") &&
               params_fit(f, m);
    case CHECK_SCALE_div:
        return scaled_by_number(f, m, "aten.div.Tensor") && params_fit(f, m);
    case CHECK_SCALE_mul:
        return scaled_by_number(f, m, "aten.mul.Tensor") && params_fit(f, m);
    }
    return false;
}

/* ---- replacing ------------------------------------------------------------------------------ */

static trace_value captured_value(const aot_arg *a)
{
    return a->kind == AOT_ARG_NODE    ? trace_node(a->u.node)
           : a->kind == AOT_ARG_FLOAT ? trace_float(a->u.f)
                                      : trace_int(a->u.i);
}

/* False: a captured argument is neither a tensor nor a number, or an integer that wants a
 * gradient. */
static bool replacement_inputs(const fx *f, const match *m, const attention_pattern *p,
                               const char *const *names, unsigned n, trace_input *in, aot_arg *args,
                               unsigned *n_args)
{
    *n_args = 0;
    for (unsigned i = 0; i < n; i++) {
        in[i] = (trace_input){
            .name = names[i], .value = trace_float(0.0), .grad = (p->grads & 1u << i) != 0};
        const aot_arg *a = match_get(m, f->c, names[i]);
        if (a == NULL && is_dropout(names[i]) && !p->train) {
            continue;
        }
        if (a == NULL || (a->kind != AOT_ARG_NODE && !is_number(a))) {
            return false;
        }
        in[i].value = captured_value(a);
        if (a->kind == AOT_ARG_NODE) {
            in[i].meta = fx_node(f, a->u.node)->meta;
            char kind = aot_dtype_get((aot_dtype)joint_type(f, a->u.node).dtype)->kind;
            if (in[i].grad && (kind == 'i' || kind == 'u')) {
                return false;
            }
            args[(*n_args)++] = *a;
        }
    }
    const aot_arg *tangent = match_get(m, f->c, "tangents_1");
    if (p->train) {
        args[(*n_args)++] = tangent != NULL ? *tangent : (aot_arg){.kind = AOT_ARG_NONE};
    }
    return true;
}

static bool replace(joint *j, const match *m, const attention_pattern *p)
{
    fx *f = &j->f;
    const struct attention_row *row = &rows[p->row];
    char buf[128];
    const char *names[MAX_INPUTS];
    trace_input in[MAX_INPUTS];
    aot_arg args[MAX_INPUTS + 1];
    unsigned n = split(row->inputs, buf, sizeof buf, names), n_args;
    if (!passes_check(f, m, row->check) ||
        !replacement_inputs(f, m, p, names, n, in, args, &n_args)) {
        return false;
    }
    trace t;
    trace_text(&t, f->c, row->replace, in, n, p->train);
    bool ok = t.st == AOT_OK;
    if (ok) {
        f->rule = p->name;
        joint_replace(f, m, &t, args);
        f->rule = NULL;
    } else {
        joint_note(j, m->outs.d[0], "%s is there, but its replacement is not: %s", p->name,
                   t.err.msg);
    }
    trace_free(&t);
    return ok;
}

bool joint_attention_root(const fx *f, uint32_t node)
{
    return fx_is(f, node, "aten.view.default") || fx_is(f, node, "aten.bmm.default");
}

bool joint_try_attention(joint *j, uint32_t node)
{
    bool done = false;
    if (!joint_attention_root(&j->f, node)) {
        return false;
    }
    if (j->attention == NULL) {
        j->attention = attention_set_new(j->f.c);
    }
    for (size_t i = 0; i < j->attention->p.n && !j->f.l.d[node].erased; i++) {
        const attention_pattern *p = &j->attention->p.d[i];
        if (p->duplicate || !pattern_starts_with(&p->pat, fx_node(&j->f, node)->op)) {
            continue;
        }
        match m;
        if (pattern_match(&m, &p->pat, &j->f, node)) {
            done |= replace(j, &m, p);
        }
        match_free(&m);
    }
    return done;
}
