/* Turns a partition into rows that a person reads.
 *
 * The users of a saved value are read from the backward graph, where it is a placeholder of the
 * same name; that graph's nodes are looked up by name once. Aliases of primals are found by
 * following the first argument through view operators (those whose schema says so) down to a
 * placeholder. */
#include "session/saved.h"

#include "exec/generator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *aot_bytes_text(int64_t bytes, char *buf, size_t size)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        snprintf(buf, size, "%" PRId64 " B", bytes);
        return buf;
    }
    double v = (double)bytes / 1024;
    size_t k = 0;
    while (v >= 1023.95 && k < 3) {
        v /= 1024;
        k++;
    }
    snprintf(buf, size, k == 0 ? "%.1f %s" : "%.2f %s", v, unit[k]);
    return buf;
}

static void print_dims(aot_sb *out, const aot_ctx *c, const aot_dim *d, unsigned n)
{
    aot_sb_addc(out, '[');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0) {
            aot_sb_addz(out, ", ");
        }
        if (d[i].expr != 0) {
            aot_sb_addz(out, aot_text(c, d[i].expr));
        } else {
            aot_sb_add_i64(out, d[i].value);
        }
    }
    aot_sb_addc(out, ']');
}

void aot_print_sizes(aot_sb *out, const aot_ctx *c, const aot_meta *m)
{
    if (m->val == AOT_VAL_TENSOR) {
        print_dims(out, c, aot_meta_sizes(c, m), m->ndim);
    }
}

void aot_print_strides(aot_sb *out, const aot_ctx *c, const aot_meta *m)
{
    if (m->val == AOT_VAL_TENSOR && m->has_stride) {
        print_dims(out, c, aot_meta_strides(c, m), m->ndim);
    }
}

void aot_print_op_short(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    const char *t = aot_text(g->ctx, n->target);
    if (n->kind != AOT_CALL_FUNCTION) {
        aot_sb_addz(out, n->kind == AOT_PLACEHOLDER ? "input" : t);
        return;
    }
    if (!aot_starts_with(t, "torch.ops.")) {
        const char *dot = strrchr(t, '.');
        aot_sb_addz(out, dot != NULL ? dot + 1 : t);
        return;
    }
    const char *name = strchr(t + strlen("torch.ops."), '.'); /* after the namespace */
    name = name != NULL ? name + 1 : t;
    const char *end = strchr(name, '.');
    aot_sb_add(out, name, end != NULL ? (size_t)(end - name) : strlen(name));
}

aot_node_id aot_node_primal(const aot_graph *g, aot_node_id id)
{
    for (uint32_t steps = 0; steps <= g->nodes.n; steps++) {
        const aot_node *n = aot_node_at(g, id);
        if (n->kind == AOT_PLACEHOLDER) {
            bool tangent = strstr(aot_text(g->ctx, n->target), "tangents") != NULL;
            return tangent ? AOT_NO_NODE : id;
        }
        bool follows = n->kind == AOT_CALL_FUNCTION && n->n_args > 0 &&
                       (aot_is_getitem(g, n) || (aot_node_op(n)->flags & AOT_OPF_ALIASES) != 0);
        if (!follows || aot_node_args(g, n)[0].kind != AOT_ARG_NODE) {
            return AOT_NO_NODE;
        }
        aot_node_id next = aot_node_args(g, n)[0].u.node;
        /* getitem takes memory over only from a view that has several results (split, unbind) */
        if (aot_is_getitem(g, n) &&
            (aot_node_op(aot_node_at(g, next))->flags & AOT_OPF_ALIASES) == 0) {
            return AOT_NO_NODE;
        }
        id = next;
    }
    return AOT_NO_NODE;
}

/* A saved value that may itself be recomputed: then what it is made from may not (the tuple of a
 * getitem, the base of a view), or would cost more. */
static const char *source_of_ban(const aot_partition *p, aot_node_id id, aot_arena *a)
{
    const aot_graph *g = p->cut;
    bool view = !aot_is_getitem(g, aot_node_at(g, id));
    for (uint32_t steps = 0; steps <= g->nodes.n; steps++) {
        const aot_node *n = aot_node_at(g, id);
        bool follows = aot_is_getitem(g, n) || (aot_node_op(n)->flags & AOT_OPF_ALIASES) != 0;
        if (!follows || n->n_args == 0 || aot_node_args(g, n)[0].kind != AOT_ARG_NODE) {
            break;
        }
        id = aot_node_args(g, n)[0].u.node;
        if (aot_ban_that_held(p, id) != AOT_BAN_NONE &&
            aot_node_at(g, id)->kind != AOT_PLACEHOLDER) {
            return aot_arena_printf(a, view ? "view of %s, which cannot be recomputed: %s"
                                            : "%s cannot be recomputed: %s",
                                    aot_node_name(g, id),
                                    aot_ban_text(aot_ban_that_held(p, id)));
        }
    }
    return "cheaper to keep than the values that recomputing it would need";
}

/* A saved value that is the memory of another by views: that one's storage lives on. AOT_NO_NODE:
 * none. */
static aot_node_id saved_view_of(const aot_partition *p, aot_node_id id)
{
    enum { MOST = 64 }; // views of views; the rest is not looked for
    const aot_graph *g = p->cut;
    aot_node_id todo[MOST];
    unsigned n = 1, at = 0;
    for (todo[0] = id; at < n; at++) {
        for (uint32_t k = 0; k < aot_n_users(g, todo[at]); k++) {
            aot_node_id u = g->user[g->user_off[todo[at]] + k];
            const aot_node *x = aot_node_at(g, u);
            const aot_arg *first = x->n_args > 0 ? aot_node_args(g, x) : NULL;
            bool aliases = x->kind == AOT_CALL_FUNCTION && first != NULL &&
                           first->kind == AOT_ARG_NODE && first->u.node == todo[at] &&
                           !p->nodes[u].backward_made &&
                           ((aot_node_op(x)->flags & AOT_OPF_ALIASES) != 0 ||
                            (aot_is_getitem(g, x) && todo[at] != id));
            if (aliases && p->nodes[u].verdict == AOT_V_SAVED) {
                return u;
            }
            if (aliases && n < MOST) {
                todo[n++] = u;
            }
        }
    }
    return AOT_NO_NODE;
}

const char *aot_ban_overruled(const aot_partition *p, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->cut, id);
    bool view = n->kind == AOT_CALL_FUNCTION && (aot_node_op(n)->flags & AOT_OPF_ALIASES) != 0;
    uint8_t tag = p->nodes[id].policy;
    return tag == AOT_POLICY_MUST_RECOMPUTE || tag == AOT_POLICY_PREFER_RECOMPUTE
               ? "the tag overrules it"
           : view && p->nodes[id].verdict == AOT_V_SAVED
               ? "a view is exempt; it is saved since what it is made from is dearer"
           : view && tag == AOT_POLICY_MUST_SAVE
               ? "a view is exempt: no tag keeps one from being made again, so the cut may take "
                 "its base"
           : view ? "a view is exempt: making it again costs nothing"
           : p->config.activation_memory_budget <= 0
               ? "budget 0 lifts it: inputs alone are saved, and no ban or tag holds"
           : p->config.activation_memory_budget < 1 ? "the budget lifts it: its knapsack chose"
                                                    : "a setting lifts it";
}

const char *aot_saved_text(const aot_partition *p, char *buf, size_t size)
{
    char bytes[32];
    aot_bytes_text(aot_saved_tensor_bytes(p), bytes, sizeof bytes);
    if (p->n_saved_sym == 0) {
        snprintf(buf, size, "%s", bytes);
    } else {
        snprintf(buf, size, "%s and %u symbol%s", bytes, p->n_saved_sym,
                 p->n_saved_sym == 1 ? "" : "s");
    }
    return buf;
}

const char *aot_node_reason(const aot_partition *p, aot_node_id id, aot_arena *a)
{
    const aot_node *n = aot_node_at(p->cut, id);
    const aot_node_info *i = &p->nodes[id];
    aot_ban held = aot_ban_that_held(p, id);
    const char *ban = held != AOT_BAN_NONE ? aot_ban_text(held) : NULL;
    switch ((aot_verdict)i->verdict) {
    case AOT_V_SAVED:
        if (n->kind == AOT_PLACEHOLDER) {
            return i->is_static ? "a parameter or buffer: it stays alive anyway"
                                : "an input of the unit";
        }
        if (aot_meta_get(p->cut->ctx, n->meta)->val == AOT_VAL_SYM) {
            return "a size that the backward needs";
        }
        aot_node_id primal = aot_node_primal(p->cut, id);
        if (primal != AOT_NO_NODE) { /* as the terminal says it */
            return aot_arena_printf(a, "view of %s", aot_node_name(p->cut, primal));
        }
        if (p->used_default_partition) {
            return "the backward uses it, and default_partition recomputes nothing";
        }
        if (ban != NULL) {
            return aot_arena_printf(a, "cannot be recomputed: %s", ban);
        }
        return source_of_ban(p, id, a);
    case AOT_V_RECOMPUTED:
        if (p->config.activation_memory_budget <= 0) {
            return "budget 0 saves inputs alone and overrules every tag; a higher "
                   "activation_memory_budget keeps more";
        }
        return i->weight == AOT_WEIGHT_INF ? "cannot be saved: recomputed in the backward"
                                           : "cheaper to recompute than to keep";
    case AOT_V_FORWARD_ONLY: {
        aot_node_id view = saved_view_of(p, id);
        return view == AOT_NO_NODE
                   ? "the backward does not need it"
                   : aot_arena_printf(
                         a, "the backward needs its memory through the view %s, which is saved",
                         aot_node_name(p->cut, view));
    }
    case AOT_V_BACKWARD_ONLY:
        return "made from tangents";
    case AOT_V_DEAD:
        return "nothing uses it";
    }
    return "";
}

/* ---- names of a graph, sorted, for look-ups ------------------------------------------------ */

typedef struct name_at {
    aot_str name;
    aot_node_id id;
} name_at;

static int by_name(const void *pa, const void *pb)
{
    const name_at *a = pa, *b = pb;
    return a->name < b->name ? -1 : a->name > b->name;
}

static name_at *placeholders_by_name(const aot_graph *g, size_t *n_out)
{
    AOT_VEC(name_at) v = {0};
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.d[i].kind == AOT_PLACEHOLDER) {
            aot_vec_push(&v, ((name_at){g->nodes.d[i].name, (aot_node_id)i}));
        }
    }
    if (v.n > 0) {
        qsort(v.d, v.n, sizeof *v.d, by_name);
    }
    *n_out = v.n;
    return v.d;
}

static const char *users_text(const aot_graph *bw, aot_node_id id, aot_arena *a)
{
    enum { SHOWN = 4 };
    aot_sb b = {0};
    uint32_t n = aot_n_users(bw, id);
    for (uint32_t k = 0; k < n && k < SHOWN; k++) {
        aot_sb_addf(&b, "%s%s", k > 0 ? ", " : "",
                    aot_node_name(bw, bw->user[bw->user_off[id] + k]));
    }
    if (n > SHOWN) {
        aot_sb_addf(&b, ", +%u", n - SHOWN);
    }
    const char *t = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return t;
}

static void fill_row(aot_saved_row *r, const aot_partition *p, aot_node_id id, aot_arena *a)
{
    const aot_graph *g = p->cut;
    const aot_ctx *c = g->ctx;
    const aot_node *n = aot_node_at(g, id);
    const aot_meta *m = aot_meta_get(c, n->meta);
    const aot_src *src = &g->srcs.d[n->src];
    aot_sb b = {0};
    r->node = id;
    r->name = aot_text(c, n->name);
    r->bytes = p->nodes[id].bytes;
    r->primal = m->val == AOT_VAL_TENSOR ? aot_node_primal(g, id) : AOT_NO_NODE;
    r->dtype = m->val == AOT_VAL_TENSOR && m->dtype < AOT_N_DTYPES
                   ? aot_dtype_get((aot_dtype)m->dtype)->abbr
               : m->val == AOT_VAL_SYM ? "Sym"
                                       : "";
    aot_print_sizes(&b, c, m);
    r->shape = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    r->type = m->val == AOT_VAL_TENSOR ? aot_arena_printf(a, "%s%s", r->dtype, r->shape)
                                       : aot_text(c, m->text);
    aot_sb_clear(&b);
    aot_print_op_short(&b, g, n);
    r->op = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    r->file = aot_text(c, src->file);
    r->func = aot_text(c, src->func);
    r->code = aot_text(c, src->code);
    r->line = src->line;
    r->reason = aot_node_reason(p, id, a);
    r->used_by = "";
}

size_t aot_saved_rows(aot_saved_row **out, const aot_partition *p, aot_arena *a)
{
    size_t n = (size_t)p->n_saved + p->n_saved_sym;
    aot_saved_row *rows = AOT_NEW_ARRAY(a, aot_saved_row, n);
    for (size_t i = 0; i < n; i++) {
        bool sym = i >= p->n_saved;
        fill_row(&rows[i], p, sym ? p->saved_sym[i - p->n_saved] : p->saved[i], a);
        rows[i].is_symbol = sym;
        rows[i].own_bytes = sym ? 0 : p->saved_own[i];
        rows[i].place = (uint32_t)i;
    }
    if (p->backward != NULL) {
        aot_graph_link_once(p->backward);
        size_t n_names = 0;
        name_at *names = placeholders_by_name(p->backward, &n_names);
        for (size_t i = 0; i < n && n_names > 0; i++) {
            name_at key = {aot_node_at(p->cut, rows[i].node)->name, 0};
            name_at *at = bsearch(&key, names, n_names, sizeof *names, by_name);
            if (at != NULL) {
                rows[i].used_by = users_text(p->backward, at->id, a);
            }
        }
        free(names);
    }
    *out = rows;
    return n;
}

/* ---- states of generators ------------------------------------------------------------------ */

/* Its printed size is a symbol's; the CUDA generator's is a seed and an offset. */
static int64_t state_bytes(const aot_graph *fw, aot_node_id wrapper)
{
    enum { CUDA_STATE_BYTES = 16 };
    bool cuda = false;
    for (uint32_t k = fw->in_off[wrapper]; k < fw->in_off[wrapper + 1]; k++) {
        const aot_meta *m = aot_meta_get(fw->ctx, aot_node_at(fw, fw->in[k])->meta);
        cuda |= aot_starts_with(aot_text(fw->ctx, m->device), "cuda");
    }
    return cuda ? CUDA_STATE_BYTES : AOT_GENERATOR_STATE_BYTES;
}

/* The state that a getitem takes from run_and_save_rng_state; its line is that of what is drawn. */
static void fill_state(aot_saved_row *r, const aot_graph *fw, aot_node_id id, aot_arena *a)
{
    const aot_node *n = aot_node_at(fw, id);
    const aot_src *src = &fw->srcs.d[n->src];
    const char *op = "";
    *r = (aot_saved_row){
        .node = id, .primal = AOT_NO_NODE, .name = aot_node_name(fw, id), .dtype = "u8"};
    r->op = "getitem";
    if (aot_is_getitem(fw, n) && aot_node_args(fw, n)[0].kind == AOT_ARG_NODE) {
        aot_node_id run = aot_node_args(fw, n)[0].u.node;
        const aot_node *wrapper = aot_node_at(fw, run);
        r->bytes = state_bytes(fw, run);
        if (wrapper->n_args > 0 && aot_node_args(fw, wrapper)[0].kind == AOT_ARG_NAME) {
            op = aot_text(fw->ctx, aot_node_args(fw, wrapper)[0].u.s);
            op = aot_starts_with(op, "torch.ops.") ? op + strlen("torch.ops.") : op;
        }
        for (uint32_t k = 0; k < aot_n_users(fw, run) && src->file == 0; k++) {
            src = &fw->srcs.d[aot_node_at(fw, fw->user[fw->user_off[run] + k])->src];
        }
    }
    r->own_bytes = r->bytes;
    r->shape = aot_arena_printf(a, "[%" PRId64 "]", r->bytes);
    r->type = aot_arena_printf(a, "u8%s", r->shape);
    r->file = aot_text(fw->ctx, src->file);
    r->func = aot_text(fw->ctx, src->func);
    r->code = aot_text(fw->ctx, src->code);
    r->line = src->line;
    r->reason = aot_arena_printf(a, "state of the generator: the backward draws %s again", op);
    r->used_by = "";
}

/* The backward's placeholders rng_state_output_N stand in the order of the forward's outputs. */
static void find_state_users(aot_saved_row *rows, size_t n, const aot_partition *p, aot_arena *a)
{
    const aot_graph *bw = p->backward;
    size_t at = 0;
    for (aot_node_id i = 0; bw != NULL && i < bw->nodes.n && at < n; i++) {
        if (bw->nodes.d[i].kind == AOT_PLACEHOLDER &&
            aot_starts_with(aot_text(bw->ctx, bw->nodes.d[i].target), "rng_state_output_")) {
            rows[at++].used_by = users_text(bw, i, a);
        }
    }
}

size_t aot_generator_rows(aot_saved_row **out, const aot_partition *p, aot_arena *a)
{
    *out = NULL;
    if (p->forward == NULL || p->forward->nodes.n == 0) {
        return 0;
    }
    const aot_graph *fw = p->forward;
    const aot_node *last = aot_node_at(fw, (aot_node_id)fw->nodes.n - 1);
    const aot_arg *values = last->n_args > 0 ? aot_node_args(fw, last) : NULL;
    size_t before = (size_t)p->n_forward_outputs + p->n_saved, other = before + p->n_saved_sym;
    if (last->kind != AOT_OUTPUT || values == NULL || values->n <= other) {
        return 0;
    }
    aot_graph_link_once(fw);
    if (p->backward != NULL) {
        aot_graph_link_once(p->backward);
    }
    size_t n = 0, most = values->n - other;
    aot_saved_row *rows = AOT_NEW_ARRAY(a, aot_saved_row, most);
    for (size_t i = 0; i < most; i++) { // between the tensors and the symbols
        const aot_arg *x = &fw->args.d[values->u.first + before + i];
        if (x->kind == AOT_ARG_NODE) {
            fill_state(&rows[n], fw, x->u.node, a);
            rows[n].place = (uint32_t)n;
            n++;
        }
    }
    find_state_users(rows, n, p, a);
    *out = rows;
    return n;
}

const char *aot_generator_text(const aot_saved_row *rows, size_t n, char *buf, size_t size)
{
    char bytes[32];
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += rows[i].bytes;
    }
    snprintf(buf, size, "%zu generator state%s, %s", n, n == 1 ? "" : "s",
             aot_bytes_text(sum, bytes, sizeof bytes));
    if (n == 0) {
        buf[0] = '\0';
    }
    return buf;
}
