/* Which module of the user's each node is in.
 *
 * Forward: from the parameters that it reads. Backward: that of the forward node that it is the
 * backward of. The text does not name that node, but autograd's engine runs strictly against the
 * order of the forward, and a backward node stands under the source line of its forward node: so
 * one walk through the backward moves a place in the forward towards its begin. Where several
 * forward nodes are of one line, the forward value that a backward node reads tells which.
 * Mirrors: torch/_functorch/_aot_autograd/utils.py:_copy_metadata_to_bw_nodes_in_subgraph. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"
#include "partition/select.h"

/* Length of the longest path that holds both. */
static size_t common_path(const char *a, const char *b)
{
    size_t n = 0, whole = 0;
    for (; a[n] != '\0' && a[n] == b[n]; n++) {
        whole = a[n] == '.' ? n : whole;
    }
    bool ends = (a[n] == '\0' || a[n] == '.') && (b[n] == '\0' || b[n] == '.');
    return ends ? n : whole;
}

/* "layers.0.fc" of layers.0.fc.weight. */
static const char *module_of(const char *param, aot_arena *a)
{
    const char *dot = strrchr(param, '.');
    return dot != NULL ? aot_arena_strndup(a, param, (size_t)(dot - param)) : "";
}

/* The module whose parameter a node reads, itself or through what is made of parameters alone. */
static const char *read_module(const aot_graph *g, uint32_t i, const char *const *own,
                               const uint8_t *of_params)
{
    const char *found = NULL;
    for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
        uint32_t in = g->in[k];
        found = of_params[in] && own[in] != NULL ? own[in] : found;
    }
    return found;
}

const char *aot_module_words(const char *path)
{
    return path == NULL ? "(in no module)" : path[0] == '\0' ? "(the outermost module)" : path;
}

/* Views and items of what has a module are in it. */
static void follow_views(const aot_graph *g, const char **own, const uint8_t *on_tangent,
                         uint32_t border)
{
    for (uint32_t i = 0; i < border; i++) {
        const aot_node *x = aot_node_at(g, i);
        const aot_arg *first = x->n_args > 0 ? aot_node_args(g, x) : NULL;
        if (own[i] == NULL && !on_tangent[i] && x->kind == AOT_CALL_FUNCTION && first != NULL &&
            first->kind == AOT_ARG_NODE &&
            (aot_is_getitem(g, x) || (aot_node_op(x)->flags & AOT_OPF_ALIASES) != 0)) {
            own[i] = own[first->u.node];
        }
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

enum { MAX_STEPS = 16 }; // readers of one value that are looked at: keeps the walk linear

typedef struct on_line {
    aot_str file;
    uint32_t line;
    aot_node_id node;
} on_line;

typedef struct way {
    const aot_graph *g;
    on_line *lines; // forward nodes by line, then by place
    uint32_t n_lines;
    uint32_t border;   // the forward's nodes are before it
    aot_node_id place; // the backward has come to; AOT_NO_NODE if there is no forward
} way;

static on_line line_of(const aot_graph *g, aot_node_id i)
{
    const aot_src *s = &g->srcs.d[aot_node_at(g, i)->src];
    return (on_line){s->file, s->line, i};
}

static int by_line(const void *x, const void *y)
{
    const on_line *a = x, *b = y;
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static bool same_line(on_line a, on_line b)
{
    return a.file == b.file && a.line == b.line;
}

/* The last forward node of that line that is not behind it; AOT_NO_NODE if there is none. */
static aot_node_id before(const way *w, on_line at)
{
    uint32_t lo = 0, hi = w->n_lines;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (by_line(&w->lines[mid], &at) <= 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo > 0 && same_line(w->lines[lo - 1], at) ? w->lines[lo - 1].node : AOT_NO_NODE;
}

/* The last forward node of b's line, up to the place, that is or reads v. */
static aot_node_id reader(const way *w, aot_node_id v, on_line at)
{
    const aot_graph *g = w->g;
    uint32_t lo = g->user_off[v], hi = g->user_off[v + 1], first = lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->user[mid] <= w->place) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    for (uint32_t k = lo, steps = 0; k > first && steps < MAX_STEPS; k--, steps++) {
        if (same_line(line_of(g, g->user[k - 1]), at)) {
            return g->user[k - 1];
        }
    }
    bool made = aot_node_at(g, v)->kind != AOT_PLACEHOLDER;
    return made && v <= w->place && same_line(line_of(g, v), at) ? v : AOT_NO_NODE;
}

/* The forward node that b is the backward of, as far as can be told. */
static aot_node_id step_back(way *w, aot_node_id b)
{
    const aot_graph *g = w->g;
    on_line at = line_of(g, b);
    aot_node_id best = AOT_NO_NODE;
    for (uint32_t k = g->in_off[b]; k < g->in_off[b + 1]; k++) {
        aot_node_id v = g->in[k], r = v < w->border ? reader(w, v, at) : AOT_NO_NODE;
        best = r < best ? r : best; // it reads all of them: no later than any's last reader
    }
    // what has no line (a pass of Inductor's made it) may be from anywhere
    if (best == AOT_NO_NODE && at.file != 0 && !same_line(line_of(g, w->place), at)) {
        at.node = w->place;
        best = before(w, at);
    }
    w->place = best != AOT_NO_NODE ? best : w->place;
    return w->place;
}

static void follow_backward(const aot_graph *g, const char **own, uint32_t border)
{
    way w = {.g = g, .border = border, .place = AOT_NO_NODE};
    w.lines = aot_xcalloc(border + 1, sizeof *w.lines);
    for (uint32_t i = 0; i < border; i++) {
        if (aot_node_at(g, i)->kind != AOT_PLACEHOLDER) {
            w.lines[w.n_lines++] = line_of(g, i);
            w.place = i;
        }
    }
    qsort(w.lines, w.n_lines, sizeof *w.lines, by_line);
    for (uint32_t i = border; i < g->nodes.n && w.place != AOT_NO_NODE; i++) {
        const aot_node *x = aot_node_at(g, i);
        bool written = part_target_is(g, x, "torch.ops.aten.copy_.default");
        if (x->kind != AOT_OUTPUT && !written) {
            aot_node_id of = step_back(&w, i);
            own[i] = own[i] == NULL ? own[of] : own[i];
        }
    }
    free(w.lines);
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Fills on_tangent, and own of what reads parameters; the first node that reads a tangent. */
static uint32_t read_parameters(const aot_graph *g, const char *const *param_paths, uint32_t n,
                                const char **own, uint8_t *of_params, uint8_t *on_tangent,
                                aot_arena *a)
{
    uint32_t primal = 0, n_nodes = (uint32_t)g->nodes.n, border = n_nodes;
    for (uint32_t i = 0; i < n_nodes; i++) {
        const aot_node *x = aot_node_at(g, i);
        bool fed = g->in_off[i] != g->in_off[i + 1], all = fed;
        on_tangent[i] = part_is_tangent(g, x);
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            on_tangent[i] |= on_tangent[g->in[k]];
            all = all && of_params[g->in[k]];
        }
        border = on_tangent[i] && fed && x->kind != AOT_OUTPUT && border == n_nodes ? i : border;
        if (part_is_primal(g, x)) {
            const char *path = primal < n ? param_paths[primal] : NULL;
            own[i] = path != NULL ? module_of(path, a) : NULL;
            of_params[i] = own[i] != NULL;
            primal++;
        } else if (!on_tangent[i] && x->kind != AOT_OUTPUT) {
            of_params[i] = all;
            own[i] = aot_is_getitem(g, x) && fed ? own[g->in[g->in_off[i]]]
                                                 : read_module(g, i, own, of_params);
        }
    }
    return border;
}

/* What stands between two forward nodes that read parameters is in the module that holds both. */
static void fill_between(const aot_graph *g, const char **own, const uint8_t *of_params,
                         const uint8_t *on_tangent, uint32_t border, aot_arena *a)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < border; i++) {
        if (own[i] == NULL || of_params[i]) {
            continue;
        }
        for (uint32_t k = last + 1; last != 0 && k < i; k++) {
            if (own[k] == NULL && !on_tangent[k] && aot_node_at(g, k)->kind != AOT_PLACEHOLDER) {
                own[k] = aot_arena_strndup(a, own[i], common_path(own[last], own[i]));
            }
        }
        last = i;
    }
}

const char *const *aot_select_modules(const aot_graph *g, const char *const *param_paths,
                                      uint32_t n, aot_arena *a)
{
    uint32_t n_nodes = (uint32_t)g->nodes.n;
    const char **own = AOT_NEW_ARRAY(a, const char *, n_nodes + 1);
    uint8_t *of_params = aot_xcalloc(n_nodes + 1, 1), *on_tangent = aot_xcalloc(n_nodes + 1, 1);
    aot_graph_link_once(g);
    uint32_t border = read_parameters(g, param_paths, n, own, of_params, on_tangent, a);
    fill_between(g, own, of_params, on_tangent, border, a);
    follow_views(g, own, on_tangent, border);
    follow_backward(g, own, border);
    free(of_params);
    free(on_tangent);
    return own;
}
