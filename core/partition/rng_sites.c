/* Random sites of a graph, and how two graphs' order of drawing differs.
 *
 *     rand = aten.rand(..., device='cpu')               moves cpu: order 1
 *     run_and_save_rng_state(aten.native_dropout, ...)  moves cpu: order 2, state 0
 *     prims.inductor_random([4], seed, 'rand')          moves nothing
 *
 * Not every call of a random operator draws: attention without dropout does not, dropout out of
 * training does not, and nothing is drawn for an empty tensor. */
#include "partition/rng_sites.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_ids.h"
#include "ops/schema.h"

static const struct {
    const char *name, *sentence;
} kinds[] =
    {
#define RNG_KIND(id, name, sentence) {name, sentence},
#define RNG_USE(id, name, sentence)
#include "partition/rng_kinds.def"
#undef RNG_KIND
#undef RNG_USE
},
  uses[] = {
#define RNG_KIND(id, name, sentence)
#define RNG_USE(id, name, sentence) {name, sentence},
#include "partition/rng_kinds.def"
#undef RNG_KIND
#undef RNG_USE
};

const char *aot_rng_kind_name(aot_rng_kind k)
{
    return kinds[k].name;
}

const char *aot_rng_kind_sentence(aot_rng_kind k)
{
    return kinds[k].sentence;
}

const char *aot_rng_use_name(aot_rng_use u)
{
    return uses[u].name;
}

const char *aot_rng_use_sentence(aot_rng_use u)
{
    return uses[u].sentence;
}

/* ---- one call ---------------------------------------------------------------------------------
 */

/* A call of a random operator: itself, or what a wrapper runs. */
typedef struct call {
    const aot_graph *g;
    const aot_node *n;
    aot_op_id op;
    uint32_t skip; /* arguments of the wrapper before the operator's own */
    aot_rng_use use;
} call;

/* The argument of that name, by keyword or position; NULL if it is left out. */
static const aot_arg *argument(const call *c, const char *name, aot_schema *s)
{
    const aot_arg *kw = aot_node_kwarg(c->g, c->n, name);
    for (uint32_t i = 0; kw == NULL && i < s->n_args; i++) {
        const aot_span *is = &s->args[i].name;
        if (is->n == strlen(name) && memcmp(is->s, name, is->n) == 0 && !s->args[i].kwarg_only &&
            i + c->skip < c->n->n_args) {
            return &aot_node_args(c->g, c->n)[i + c->skip];
        }
    }
    return kw;
}

static bool is_number(const aot_arg *a, double v)
{
    return a != NULL && ((a->kind == AOT_ARG_FLOAT && a->u.f == v) ||
                         (a->kind == AOT_ARG_INT && (double)a->u.i == v));
}

static bool is_false(const aot_arg *a)
{
    return a != NULL && a->kind == AOT_ARG_BOOL && a->u.i == 0;
}

/* Whether an argument that is left out is 0. */
static bool is_zero_by_default(const aot_schema *s, const char *name)
{
    char number[16] = "";
    const aot_schema_arg *a = aot_schema_arg_find(s, name);
    if (a != NULL && a->def.n > 0 && a->def.n < sizeof number) {
        memcpy(number, a->def.s, a->def.n);
    }
    return number[0] != '\0' && strtod(number, NULL) == 0;
}

/* Attention and RNNs draw for their dropout; dropout draws in training. The composite forms look at
 * the probability first, native_dropout does not. */
static bool draws_nothing(const call *c)
{
    const aot_op_info *op = aot_op(c->op);
    const aot_meta *m = aot_meta_get(c->g->ctx, c->n->meta);
    if (m->val == AOT_VAL_TENSOR && aot_meta_numel(c->g->ctx, c->n->meta) == 0) {
        return true;
    }
    aot_arena *a = aot_arena_new();
    aot_schema s;
    bool nothing = false;
    if (op->schema != NULL && aot_schema_parse(&s, a, op->schema, NULL) == AOT_OK) {
        const aot_arg *dropout = argument(c, "dropout_p", &s), *rnn = argument(c, "dropout", &s);
        const aot_arg *p = argument(c, "p", &s);
        bool composite = (op->flags & AOT_OPF_COMPOSITE_IMPLICIT) != 0 &&
                         aot_schema_arg_find(&s, "train") != NULL;
        nothing = is_false(argument(c, "train", &s)) || is_false(argument(c, "training", &s)) ||
                  is_number(dropout, 0) || is_number(rnn, 0) ||
                  (dropout == NULL && is_zero_by_default(&s, "dropout_p")) ||
                  (composite && (is_number(p, 0) || is_number(p, 1)));
    }
    aot_arena_free(a);
    return nothing;
}

/* "cpu" of device(type='cpu'), "cuda:0" of device(type='cuda', index=0) and of "cuda:0". */
static const char *device_text(const aot_graph *g, const aot_arg *a)
{
    const char *s = aot_text(g->ctx, a->u.s), *type = strstr(s, "type='");
    if (a->kind == AOT_ARG_STR) {
        return s;
    }
    if (a->kind != AOT_ARG_RAW || type == NULL) {
        return "";
    }
    type += strlen("type='");
    const char *index = strstr(type, "index=");
    int n = (int)strcspn(type, "'");
    return index == NULL ? aot_arena_printf(g->ctx->arena, "%.*s", n, type)
                         : aot_arena_printf(g->ctx->arena, "%.*s:%d", n, type, atoi(index + 6));
}

/* The device that it draws on: asked for, of its value, of its first tensor. */
static const char *device_of(const call *c)
{
    const aot_ctx *x = c->g->ctx;
    const aot_arg *asked = aot_node_kwarg(c->g, c->n, "device");
    const char *d = asked != NULL ? device_text(c->g, asked) : "";
    if (d[0] == '\0') {
        d = aot_text(x, aot_meta_get(x, c->n->meta)->device);
    }
    const aot_arg *a = aot_node_args(c->g, c->n);
    for (uint32_t i = c->skip; i < c->n->n_args && d[0] == '\0'; i++) {
        if (a[i].kind == AOT_ARG_NODE) {
            d = aot_text(x, aot_meta_get(x, aot_node_at(c->g, a[i].u.node)->meta)->device);
        } else if (a[i].kind == AOT_ARG_RAW) {
            d = device_text(c->g, &a[i]);
        }
    }
    return d[0] != '\0' ? d : "?";
}

static bool is_seeded(aot_op_id op)
{
    return op != AOT_OP_UNKNOWN && (aot_op(op)->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
}

/* What a wrapper of a random operator runs; false if the node is none. */
static bool unwrap(call *c)
{
    const aot_arg *a = aot_node_args(c->g, c->n);
    uint32_t at = 0;
    switch (c->n->op) {
    case AOT_OP_higher_order_run_and_save_rng_state:
        c->use = AOT_RNG_SAVES;
        break;
    case AOT_OP_higher_order_graphsafe_run_with_rng_state:
        c->use = AOT_RNG_HANDED;
        break;
    case AOT_OP_higher_order_run_with_rng_state:
        c->use = AOT_RNG_RESTORES;
        at = 1;
        break;
    default:
        return false;
    }
    if (c->n->n_args <= at || a[at].kind != AOT_ARG_NAME) {
        return false;
    }
    c->op = aot_ctx_op(c->g->ctx, a[at].u.s);
    c->skip = at + 1;
    return true;
}

bool aot_rng_is_computed(aot_op_id op)
{
    return op == AOT_OP_prims_inductor_random || op == AOT_OP_prims_inductor_randint ||
           op == AOT_OP_rngprims_philox_rand;
}

static aot_rng_kind kind_of(const call *c)
{
    if (aot_rng_is_computed(c->op)) {
        return c->op == AOT_OP_rngprims_philox_rand ? AOT_RNG_OFFSET : AOT_RNG_SEED;
    }
    const aot_arg *own = aot_node_kwarg(c->g, c->n, "generator");
    bool given = (own != NULL && own->kind != AOT_ARG_NONE) || c->use == AOT_RNG_HANDED;
    return given ? AOT_RNG_GIVEN : AOT_RNG_DEFAULT;
}

static bool is_random(call *c)
{
    c->op = c->n->op;
    c->use = AOT_RNG_DRAWS;
    if (c->n->kind != AOT_CALL_FUNCTION) {
        return false;
    }
    if (unwrap(c)) {
        return true;
    }
    bool seeds = c->op == AOT_OP_prims_inductor_seed || c->op == AOT_OP_prims_inductor_seeds;
    bool numbers = kind_of(c) == AOT_RNG_SEED || kind_of(c) == AOT_RNG_OFFSET;
    c->use = numbers ? AOT_RNG_COMPUTES : AOT_RNG_DRAWS;
    return numbers || seeds || is_seeded(c->op);
}

/* ---- the graph --------------------------------------------------------------------------------
 */

typedef struct stream {
    const char *generator;
    uint32_t n;
} stream;

typedef struct level { /* a graph at work, and where it goes on */
    const aot_graph *g;
    aot_node_id next;
} level;

typedef struct finder {
    aot_rng_sites *out;
    AOT_VEC(stream) streams;
    AOT_VEC(level) levels;
    AOT_VEC(level) inner; /* submodules of the call at work, to be entered in order */
    uint32_t n_saved;
} finder;

static uint32_t next_of(finder *f, const char *generator)
{
    for (size_t i = 0; i < f->streams.n; i++) {
        if (strcmp(f->streams.d[i].generator, generator) == 0) {
            return ++f->streams.d[i].n;
        }
    }
    aot_vec_push(&f->streams, ((stream){generator, 1}));
    return 1;
}

static const char *generator_of(const call *c, aot_rng_kind k)
{
    const aot_arg *state = aot_node_kwarg(c->g, c->n, "rng_state");
    if (c->use == AOT_RNG_HANDED && state != NULL && state->kind == AOT_ARG_NODE) {
        return aot_node_name(c->g, state->u.node);
    }
    return k == AOT_RNG_GIVEN ? "generator" : device_of(c);
}

/* N of the input that a wrapper takes its state from: rng_state_output_N, fwd_rng_state_N. */
static uint32_t state_number(const call *c)
{
    const aot_arg *state = c->use == AOT_RNG_RESTORES ? aot_node_args(c->g, c->n)
                           : c->use == AOT_RNG_HANDED ? aot_node_kwarg(c->g, c->n, "rng_state")
                                                      : NULL;
    const char *name =
        state != NULL && state->kind == AOT_ARG_NODE ? aot_node_name(c->g, state->u.node) : "";
    const char *number = strrchr(name, '_');
    return number != NULL ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
}

static void add_site(finder *f, const call *c, aot_node_id id, aot_node_id top)
{
    aot_rng_kind k = kind_of(c);
    aot_rng_use use = draws_nothing(c) ? AOT_RNG_NOTHING : c->use;
    aot_rng_site s = {.g = c->g, .node = id, .call = top, .kind = (uint8_t)k, .use = (uint8_t)use};
    s.op = c->op != AOT_OP_UNKNOWN ? aot_op(c->op)->packet : aot_node_target(c->g, id);
    s.generator = generator_of(c, k);
    bool moves = use == AOT_RNG_DRAWS || use == AOT_RNG_SAVES;
    s.order = use == AOT_RNG_HANDED ? 1 : moves ? next_of(f, s.generator) : 0;
    s.state = c->use == AOT_RNG_SAVES ? f->n_saved++ : state_number(c);
    aot_vec_push(f->out, s);
}

/* Submodules that a call runs: arguments that are attributes of the graph. */
static void enter_submodules(finder *f, const aot_graph *g, const aot_node *n)
{
    const aot_arg *a = aot_node_args(g, n);
    f->inner.n = 0;
    for (uint32_t i = 0; i < n->n_args && n->kind == AOT_CALL_FUNCTION; i++) {
        uint32_t sub = a[i].kind == AOT_ARG_NODE ? aot_node_at(g, a[i].u.node)->subgraph : 0;
        if (sub != 0) {
            aot_vec_push(&f->inner, ((level){g->subgraphs.d[sub - 1], 0}));
        }
    }
    for (size_t i = f->inner.n; i-- > 0;) {
        aot_vec_push(&f->levels, f->inner.d[i]);
    }
}

void aot_rng_find(aot_rng_sites *out, const aot_graph *g)
{
    finder f = {.out = out};
    aot_node_id top = 0;
    aot_vec_push(&f.levels, ((level){g, 0}));
    while (f.levels.n > 0) {
        level *l = &f.levels.d[f.levels.n - 1];
        if (l->next >= l->g->nodes.n) {
            f.levels.n--;
            continue;
        }
        aot_node_id id = l->next++;
        call c = {.g = l->g, .n = aot_node_at(l->g, id)};
        top = l->g == g ? id : top;
        if (is_random(&c)) {
            add_site(&f, &c, id, top);
        }
        enter_submodules(&f, c.g, c.n);
    }
    aot_vec_free(&f.streams);
    aot_vec_free(&f.levels);
    aot_vec_free(&f.inner);
}

/* ---- two orders -------------------------------------------------------------------------------
 */

static bool counts(const aot_rng_site *s)
{
    return s->use != AOT_RNG_NOTHING && s->use != AOT_RNG_RESTORES;
}

/* Length of the operator's name without what tells that it writes its input, or that it is made to
 * write none: bernoulli_ and bernoulli, normal_ and normal_functional draw the same numbers. */
static int drawing_length(const char *op)
{
    static const char functional[] = "_functional";
    size_t n = strlen(op), more = sizeof functional - 1;
    if (n > more && strcmp(op + n - more, functional) == 0) {
        n -= more;
    } else if (n > 1 && op[n - 1] == '_') {
        n--;
    }
    return (int)n;
}

/* "aten.rand by seed": what has to agree. */
static const char *draw_text(const aot_rng_site *s, aot_arena *a)
{
    const char *from =
        s->kind == AOT_RNG_DEFAULT || s->use == AOT_RNG_HANDED ? "" : aot_rng_kind_name(s->kind);
    return aot_arena_printf(a, "%.*s%s%s", drawing_length(s->op), s->op,
                            from[0] != '\0' ? " by " : "", from);
}

static size_t draws_of(const char ***out, const aot_rng_sites *s, aot_arena *a)
{
    size_t n = 0;
    *out = AOT_NEW_ARRAY(a, const char *, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        if (counts(&s->d[i])) {
            (*out)[n++] = draw_text(&s->d[i], a);
        }
    }
    return n;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void add_difference(aot_sb *out, const char *text, int count)
{
    aot_sb_addf(out, "%s%s", out->n > 0 ? ", " : "", text);
    if (count > 1) {
        aot_sb_addf(out, " (%d)", count);
    }
}

/* What only one of two sorted lists has, each with its count. */
static void only_in(aot_sb *out, const char **x, size_t nx, const char **y, size_t ny)
{
    for (size_t i = 0, k = 0; i < nx;) {
        const char *text = x[i];
        int more = 0;
        for (; i < nx && strcmp(x[i], text) == 0; i++) {
            more++;
        }
        while (k < ny && strcmp(y[k], text) < 0) {
            k++;
        }
        for (; k < ny && strcmp(y[k], text) == 0; k++) {
            more--;
        }
        if (more > 0) {
            add_difference(out, text, more);
        }
    }
}

static const char *changed_text(const char **x, size_t nx, const char **y, size_t ny, aot_arena *a)
{
    aot_sb gone = {0}, came = {0};
    only_in(&gone, x, nx, y, ny);
    only_in(&came, y, ny, x, nx);
    const char *text =
        gone.n == 0 && came.n == 0 ? NULL
        : gone.n == 0              ? aot_arena_printf(a, "%s drawn besides", aot_sb_text(&came))
        : came.n == 0              ? aot_arena_printf(a, "%s no longer drawn", aot_sb_text(&gone))
                      : aot_arena_printf(a, "%s became %s", aot_sb_text(&gone), aot_sb_text(&came));
    aot_sb_free(&gone);
    aot_sb_free(&came);
    return text;
}

aot_rng_order aot_rng_compare(const char **text, const aot_rng_sites *before,
                              const aot_rng_sites *after, aot_arena *a)
{
    const char **x, **y;
    size_t nx = draws_of(&x, before, a), ny = draws_of(&y, after, a), i = 0;
    while (i < nx && i < ny && strcmp(x[i], y[i]) == 0) {
        i++;
    }
    *text = "";
    if (i == nx && i == ny) {
        return AOT_RNG_SAME;
    }
    const char *moved =
        i < nx && i < ny ? aot_arena_printf(a, "draw %zu is %s, was %s", i + 1, y[i], x[i]) : "";
    qsort(x, nx, sizeof *x, by_text);
    qsort(y, ny, sizeof *y, by_text);
    const char *changed = changed_text(x, nx, y, ny, a);
    *text = changed != NULL ? changed : moved;
    return changed != NULL ? AOT_RNG_OTHER : AOT_RNG_REORDERED;
}
