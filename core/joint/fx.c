/* The changeable graph: list, users, names, arguments.
 *
 * Nodes live in an aot_graph that only grows; links beside it say where they stand. A node owns its
 * arguments, so a use is replaced in place. */
#include "joint/fx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rules/fake.h"

enum { KEY_GAP = 1 << 20 };

/* ---- list ----------------------------------------------------------------------------------- */

static void number(fx *f)
{
    uint64_t key = KEY_GAP;
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = f->l.d[i].next, key += KEY_GAP) {
        f->l.d[i].key = key;
    }
}

static void place(fx *f, uint32_t id, uint32_t before)
{
    fx_link *l = f->l.d;
    uint32_t prev = before == AOT_NO_NODE ? f->tail : l[before].prev;
    l[id].prev = prev;
    l[id].next = before;
    *(prev == AOT_NO_NODE ? &f->head : &l[prev].next) = id;
    *(before == AOT_NO_NODE ? &f->tail : &l[before].prev) = id;
    uint64_t low = prev == AOT_NO_NODE ? 0 : l[prev].key;
    uint64_t high = before == AOT_NO_NODE ? low + 2 * (uint64_t)KEY_GAP : l[before].key;
    l[id].key = low + (high - low) / 2;
    if (l[id].key == low) {
        number(f);
    }
}

static void take_out(fx *f, uint32_t id)
{
    fx_link *l = f->l.d;
    *(l[id].prev == AOT_NO_NODE ? &f->head : &l[l[id].prev].next) = l[id].next;
    *(l[id].next == AOT_NO_NODE ? &f->tail : &l[l[id].next].prev) = l[id].prev;
}

/* ---- users ---------------------------------------------------------------------------------- */

static void add_use(fx *f, uint32_t of, uint32_t user)
{
    fx_link *l = &f->l.d[of];
    aot_vec_push(&f->pool, ((fx_use){user, 0}));
    uint32_t e = (uint32_t)f->pool.n - 1;
    if (l->user_head == 0) {
        l->user_head = e;
    } else {
        f->pool.d[l->user_tail].next = e;
    }
    l->user_tail = e;
    l->n_users++;
}

static void drop_use(fx *f, uint32_t of, uint32_t user)
{
    fx_link *l = &f->l.d[of];
    for (uint32_t e = l->user_head, prev = 0; e != 0; prev = e, e = f->pool.d[e].next) {
        if (f->pool.d[e].user == user) {
            *(prev == 0 ? &l->user_head : &f->pool.d[prev].next) = f->pool.d[e].next;
            if (l->user_tail == e) {
                l->user_tail = prev;
            }
            l->n_users--;
            return;
        }
    }
}

typedef struct input_walk {
    fx *f;
    uint32_t user;
    void (*each)(fx *, uint32_t of, uint32_t user);
} input_walk;

static void visit_input(void *arg, aot_node_id id)
{
    input_walk *w = arg;
    if (w->f->stamp.d[id] != w->f->stamp_now) {
        w->f->stamp.d[id] = w->f->stamp_now;
        w->each(w->f, id, w->user);
    }
}

/* Calls each(input, user) once for each distinct input. */
static void each_input_once(fx *f, uint32_t user, void (*each)(fx *, uint32_t, uint32_t))
{
    input_walk w = {f, user, each};
    f->stamp_now++;
    aot_node_each_input(f->g, fx_node(f, user), visit_input, &w);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* "sum.dim_IntList" reads sum_dim_int_list. Mirrors torch/fx/graph.py:_snake_case. */
static aot_str name_for(fx *f, const char *target)
{
    if (f->ns == NULL) {
        return 0;
    }
    const char *s = strchr(target, '.');
    s = s != NULL ? s + 1 : target;
    aot_sb b = {0};
    for (const char *p = s; *p != '\0'; p++) {
        if (isupper((unsigned char)*p) && p > s && islower((unsigned char)p[-1])) {
            aot_sb_addc(&b, '_');
        }
        aot_sb_addc(&b, (char)tolower((unsigned char)*p));
    }
    aot_str name = aot_namespace_create(f->ns, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return name;
}

static void tell(const fx *f, aot_joint_what what, uint32_t node, uint32_t other)
{
    if (f->log != NULL) {
        aot_str o = other != AOT_NO_NODE ? fx_node(f, other)->name : 0;
        aot_vec_push(f->log, ((aot_joint_rewrite){.pass = f->pass,
                                                  .rule = f->rule != NULL ? f->rule : f->pass,
                                                  .what = what,
                                                  .node = fx_node(f, node)->name,
                                                  .other = o}));
    }
}

/* ---- making and unmaking -------------------------------------------------------------------- */

void fx_init(fx *f, aot_ctx *c)
{
    *f = (fx){.c = c, .g = aot_graph_new(c), .head = AOT_NO_NODE, .tail = AOT_NO_NODE,
              .before = AOT_NO_NODE};
    aot_vec_push(&f->pool, ((fx_use){0, 0})); // entry 0 means none
}

/* Links of the node appended last. */
static uint32_t enter(fx *f, uint32_t before)
{
    uint32_t id = (uint32_t)f->g->nodes.n - 1;
    aot_vec_push(&f->l, ((fx_link){0}));
    aot_vec_push(&f->stamp, 0);
    place(f, id, before);
    each_input_once(f, id, add_use);
    return id;
}

void fx_init_from(fx *f, const aot_graph *g)
{
    *f = (fx){.c = g->ctx, .g = aot_graph_like(g), .head = AOT_NO_NODE, .tail = AOT_NO_NODE,
              .before = AOT_NO_NODE, .ns = aot_namespace_new(g->ctx)};
    aot_vec_push(&f->pool, ((fx_use){0, 0}));
    aot_node_id *same = aot_xcalloc(g->nodes.n + 1, sizeof *same);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        same[i] = i;
        aot_graph_copy_node(f->g, g, i, same);
        enter(f, AOT_NO_NODE);
        const char *name = aot_node_name(g, i);
        aot_namespace_create(f->ns, name, strlen(name));
    }
    free(same);
}

void fx_free(fx *f)
{
    aot_vec_free(&f->l);
    aot_vec_free(&f->pool);
    aot_vec_free(&f->stamp);
    aot_namespace_free(f->ns);
    *f = (fx){0};
}

aot_graph *fx_finish(const fx *f, const aot_graph *like)
{
    aot_graph *g = aot_graph_like(like);
    g->srcs.n = 0;
    aot_vec_grow(&g->srcs, f->g->srcs.n);
    memcpy(g->srcs.d, f->g->srcs.d, f->g->srcs.n * sizeof *g->srcs.d);
    g->srcs.n = f->g->srcs.n;
    aot_node_id *map = aot_xcalloc(f->g->nodes.n + 1, sizeof *map);
    for (uint32_t i = f->head; i != AOT_NO_NODE; i = f->l.d[i].next) {
        map[i] = aot_graph_copy_node(g, f->g, i, map);
    }
    free(map);
    return g;
}

static aot_str intern_target(const fx *f, const char *target)
{
    aot_sb b = {0};
    if (!aot_starts_with(target, "operator.")) {
        aot_sb_addz(&b, "torch.ops.");
    }
    aot_sb_addz(&b, target);
    aot_str s = aot_intern(f->c->strs, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return s;
}

uint32_t fx_call(fx *f, const char *target, const aot_arg *args, uint32_t n_args,
                 const fx_kwarg *kwargs, uint32_t n_kwargs)
{
    aot_node n = {.kind = AOT_CALL_FUNCTION, .target = intern_target(f, target)};
    n.op = aot_ctx_op(f->c, n.target);
    n.name = name_for(f, target);
    n.args = aot_graph_add_args(f->g, args, n_args);
    n.n_args = (uint16_t)n_args;
    n.kwargs = (uint32_t)f->g->args.n;
    n.n_kwargs = (uint16_t)n_kwargs;
    for (uint32_t i = 0; i < n_kwargs; i++) {
        aot_arg pair[2] = {{.kind = AOT_ARG_NAME, .u.s = aot_intern_z(f->c->strs, kwargs[i].name)},
                           kwargs[i].value};
        aot_graph_add_args(f->g, pair, 2);
    }
    aot_graph_add(f->g, &n);
    uint32_t id = enter(f, f->before);
    f->l.d[id].made = true;
    tell(f, AOT_JOINT_MADE, id, AOT_NO_NODE);
    return id;
}

/* Copies arguments; a NODE becomes map[node], which may be any kind of argument. */
static uint32_t map_args(aot_graph *g, const aot_graph *from, uint32_t first, uint32_t n,
                         const aot_arg *map)
{
    uint32_t out = (uint32_t)g->args.n;
    aot_graph_add_args(g, from->args.d + first, n);
    for (uint32_t i = out; i < g->args.n; i++) {
        aot_arg a = g->args.d[i];
        if (a.kind == AOT_ARG_NODE) {
            g->args.d[i] = map[a.u.node];
        } else if (a.kind >= AOT_ARG_LIST && a.n != 0) {
            uint32_t at = aot_graph_add_args(g, from->args.d + a.u.first, a.n);
            g->args.d[i].u.first = at;
        }
    }
    return out;
}

uint32_t fx_call_like(fx *f, const aot_graph *from, uint32_t id, const aot_arg *map)
{
    aot_node n = from->nodes.d[id];
    const char *t = aot_text(f->c, n.target);
    n.name = name_for(f, aot_starts_with(t, "torch.ops.") ? t + 10 : t);
    n.args = map_args(f->g, from, n.args, n.n_args, map);
    n.kwargs = map_args(f->g, from, n.kwargs, (uint32_t)n.n_kwargs * 2, map);
    aot_graph_add(f->g, &n);
    uint32_t made = enter(f, f->before);
    f->l.d[made].made = true;
    tell(f, AOT_JOINT_MADE, made, AOT_NO_NODE);
    return made;
}

uint32_t fx_placeholder(fx *f, aot_meta_id meta)
{
    aot_graph_add(f->g, &(aot_node){.kind = AOT_PLACEHOLDER, .meta = meta});
    return enter(f, f->before);
}

void fx_set_output(fx *f, const aot_arg *outs, uint32_t n)
{
    aot_arg list = fx_a_list(f, outs, n);
    aot_node o = {.kind = AOT_OUTPUT, .n_args = 1, .args = aot_graph_add_args(f->g, &list, 1)};
    aot_graph_add(f->g, &o);
    enter(f, AOT_NO_NODE);
}

static void replace_in(aot_graph *g, uint32_t first, uint32_t n, uint32_t old, uint32_t now)
{
    for (uint32_t i = 0; i < n; i++) {
        aot_arg *a = &g->args.d[first + i];
        if (a->kind == AOT_ARG_NODE && a->u.node == old) {
            a->u.node = now;
        } else if (a->kind >= AOT_ARG_LIST) {
            replace_in(g, a->u.first, a->n, old, now); // nesting is bounded by the parser
        }
    }
}

void fx_replace_uses(fx *f, uint32_t old, uint32_t now, uint32_t since)
{
    AOT_VEC(uint32_t) users = {0};
    for (uint32_t u = fx_first_use(f, old); u != 0; u = f->pool.d[u].next) {
        if (fx_user(f, u) < since) {
            aot_vec_push(&users, fx_user(f, u));
        }
    }
    for (size_t i = 0; i < users.n; i++) {
        uint32_t user = users.d[i];
        const aot_node *n = fx_node(f, user);
        each_input_once(f, user, drop_use);
        replace_in(f->g, n->args, n->n_args, old, now);
        replace_in(f->g, n->kwargs, (uint32_t)n->n_kwargs * 2, old, now);
        each_input_once(f, user, add_use);
    }
    if (users.n != 0) {
        tell(f, AOT_JOINT_REPLACED, old, now);
    }
    aot_vec_free(&users);
}

void fx_erase(fx *f, uint32_t id)
{
    tell(f, AOT_JOINT_REMOVED, id, AOT_NO_NODE);
    if (f->before == id) {
        f->before = f->l.d[id].next;
    }
    take_out(f, id);
    f->l.d[id].erased = true;
    each_input_once(f, id, drop_use);
}

void fx_update_meta(fx *f, uint32_t to, uint32_t from)
{
    aot_node *t = fx_node(f, to);
    const aot_node *s = fx_node(f, from);
    t->meta = s->meta;
    t->src = s->src != 0 ? s->src : t->src;
    t->policy = s->policy != 0 ? s->policy : t->policy;
}

/* ---- queries -------------------------------------------------------------------------------- */

bool fx_is(const fx *f, uint32_t id, const char *target)
{
    const aot_node *n = fx_node(f, id);
    return n->kind == AOT_CALL_FUNCTION && n->op != AOT_OP_UNKNOWN &&
           strcmp(aot_op(n->op)->name, target) == 0;
}

uint32_t fx_arg_node(const fx *f, uint32_t id, unsigned i)
{
    const aot_node *n = fx_node(f, id);
    return i < n->n_args && fx_args(f, id)[i].kind == AOT_ARG_NODE ? fx_args(f, id)[i].u.node
                                                                   : AOT_NO_NODE;
}

uint32_t fx_output(const fx *f)
{
    return f->tail != AOT_NO_NODE && fx_node(f, f->tail)->kind == AOT_OUTPUT ? f->tail
                                                                             : AOT_NO_NODE;
}

/* ---- arguments ------------------------------------------------------------------------------ */

aot_arg fx_a_name(const fx *f, const char *dotted)
{
    return (aot_arg){.kind = AOT_ARG_NAME, .u.s = aot_intern_z(f->c->strs, dotted)};
}

aot_arg fx_a_dtype(const fx *f, aot_dtype d)
{
    return fx_a_name(f, aot_dtype_get(d)->torch_name);
}

aot_arg fx_a_device(const fx *f, aot_str device)
{
    const char *s = aot_text(f->c, device), *colon = strchr(s, ':');
    aot_sb b = {0};
    aot_sb_addf(&b, "device(type='%.*s'", (int)(colon != NULL ? (size_t)(colon - s) : strlen(s)),
                s);
    if (colon != NULL) {
        aot_sb_addf(&b, ", index=%s", colon + 1);
    }
    aot_sb_addc(&b, ')');
    aot_arg a = {.kind = AOT_ARG_RAW, .u.s = aot_intern(f->c->strs, b.d, b.n)};
    aot_sb_free(&b);
    return a;
}

aot_arg fx_a_str(const fx *f, const char *s)
{
    return (aot_arg){.kind = AOT_ARG_STR, .quote = '\'', .u.s = aot_intern_z(f->c->strs, s)};
}

aot_arg fx_a_list(fx *f, const aot_arg *items, uint32_t n)
{
    return (aot_arg){.kind = AOT_ARG_LIST, .n = n, .u.first = aot_graph_add_args(f->g, items, n)};
}

/* ---- whole graph ---------------------------------------------------------------------------- */

static bool is_impure(const aot_node *n)
{
    if (n->kind != AOT_CALL_FUNCTION) {
        return n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT;
    }
    const aot_op_info *op = aot_op(n->op);
    return (op->flags & (AOT_OPF_MUTATES | AOT_OPF_SIDE_EFFECT)) != 0 ||
           (op->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
}

void fx_eliminate_dead(fx *f)
{
    for (uint32_t i = f->tail, prev; i != AOT_NO_NODE; i = prev) {
        prev = f->l.d[i].prev;
        if (fx_n_users(f, i) == 0 && !is_impure(fx_node(f, i))) {
            fx_erase(f, i);
        }
    }
}

typedef struct sort_walk {
    const uint8_t *ready;
    uint32_t last; /* last input that is not ready */
} sort_walk;

static void see_waiting(void *arg, aot_node_id id)
{
    sort_walk *w = arg;
    if (!w->ready[id]) {
        w->last = id;
    }
}

/* Nodes are taken from a stack; one whose inputs are not all there waits for the last of them, and
 * comes back right after it. */
void fx_sort(fx *f)
{
    size_t n = f->g->nodes.n;
    AOT_VEC(uint32_t) pending = {0}, order = {0};
    uint8_t *ready = aot_xcalloc(n + 1, 1);
    /* waiting lists: newest first, so that pushing them in order restores reversed order */
    uint32_t *wait_head = aot_xcalloc(n + 1, sizeof *wait_head),
             *wait_next = aot_xcalloc(n + 1, sizeof *wait_next);
    for (uint32_t i = f->tail; i != AOT_NO_NODE; i = f->l.d[i].prev) {
        aot_vec_push(&pending, i);
    }
    while (pending.n != 0) {
        uint32_t id = pending.d[--pending.n];
        sort_walk w = {ready, AOT_NO_NODE};
        aot_node_each_input(f->g, fx_node(f, id), see_waiting, &w);
        if (w.last != AOT_NO_NODE) {
            wait_next[id] = wait_head[w.last];
            wait_head[w.last] = id + 1;
            continue;
        }
        ready[id] = 1;
        aot_vec_push(&order, id);
        for (uint32_t k = wait_head[id]; k != 0; k = wait_next[k - 1]) {
            aot_vec_push(&pending, k - 1);
        }
        wait_head[id] = 0;
    }
    f->head = f->tail = AOT_NO_NODE;
    for (size_t i = 0; i < order.n; i++) {
        place(f, order.d[i], AOT_NO_NODE);
    }
    free(ready);
    free(wait_head);
    free(wait_next);
    aot_vec_free(&pending);
    aot_vec_free(&order);
}

aot_status fx_infer(fx *f, uint32_t id, aot_err *err)
{
    struct aot_call call;
    aot_status s = aot_fake_run(&call, f->c, f->g, id, err);
    if (s == AOT_OK && call.outs.n == 1 && !call.is_list) {
        fx_node(f, id)->meta = aot_fake_meta(f->c, &call.outs.d[0]);
    }
    aot_call_free(&call);
    return s;
}
