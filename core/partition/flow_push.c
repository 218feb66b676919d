/* Maximum flow of one piece by push-relabel, made for networks that are long and thin.
 * The source fills all its arcs; excess is pushed along arcs that lead one label down, a label
 * being a lower bound of the distance to the sink in the residual network. The highest label is
 * served first, so excess moves to the sink as one wave however many paths of different lengths
 * there are; first within a window of near numbers, then elsewhere, so the wave stays in the cache.
 * Labels that are too low let excess wander between a few vertices. Each block of vertices counts
 * the work done in it and, when it is too much, gets exact labels for the labels around it; blocks
 * lie in larger blocks up to the whole piece, so the cost follows the size of the trouble. A part
 * that has no way out any more is found in the same way (dead). Excess on dead vertices is sent
 * back to the source at the end. No recursion; memory is allocated once for all pieces. */
#include "partition/flow_net.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Many arcs of up to AOT_FLOW_CLAMP can enter one vertex. */
__extension__ typedef unsigned __int128 wide;

#define RELABEL_WORK 12 /* of one relabelling, in arcs looked at */
#define BLOCK_WORK 4    /* for each vertex and arc of a block, before its labels are made exact */
#define BLOCK_BITS 6    /* vertices of the smallest block */
#define LEVEL_BITS 2    /* blocks in the next larger one */
#define N_LEVELS 13     /* of blocks: up to 2^30 vertices */
#define WINDOW 4096     /* vertices; fits into a near cache with their arcs */
#define N_DEPTH 6       /* 64^6 labels */
#define NONE UINT32_MAX

typedef struct vertex {
    wide excess;
    uint32_t label, cur; /* cur: arc to try next */
} vertex;

typedef struct aot_flow_scratch {
    vertex *vs;
    uint32_t *waiting, *top;   /* by window: first active vertex, highest label (0: none waits) */
    uint32_t *bucket;          /* by label: first vertex in the queue of the window being served */
    uint32_t *next;            /* next vertex of the same list, of either kind */
    uint64_t *labels[N_DEPTH]; /* set of labels in the queue, of its words, and so on up to one */
    uint32_t depth;
    uint64_t *work[N_LEVELS];  /* by block: since its labels were exact */
    uint32_t *queue, *old;
    uint64_t *seeds;
} scratch;

/* A piece, and towards which end excess is pushed. */
typedef struct piece {
    aot_flow_net *net;
    scratch *w;
    uint32_t lo, hi;
    int64_t *end;  /* residual of the arc from each vertex to that end */
    uint32_t dead; /* label of vertices that cannot reach the end; above all others */
    uint32_t here; /* window that is being served, or NONE */
    uint32_t work; /* arcs looked at in the last discharge */
} piece;

scratch *aot_flow_scratch_new(uint32_t n)
{
    scratch *w = aot_xcalloc(1, sizeof *w);
    w->vs = aot_xcalloc((size_t)n + 1, sizeof *w->vs);
    w->waiting = aot_xmalloc((size_t)(n / WINDOW + 1) * sizeof *w->waiting);
    memset(w->waiting, 0xff, (size_t)(n / WINDOW + 1) * sizeof *w->waiting);
    w->top = aot_xcalloc((size_t)(n / WINDOW) + 1, sizeof *w->top);
    w->bucket = aot_xmalloc(((size_t)n + 3) * sizeof *w->bucket);
    memset(w->bucket, 0xff, ((size_t)n + 3) * sizeof *w->bucket);
    w->next = aot_xmalloc(((size_t)n + 1) * sizeof *w->next);
    uint64_t size = (uint64_t)n + 2; /* highest label n + 1 */
    do {
        size = size / 64 + 1;
        w->labels[w->depth++] = aot_xcalloc(size, sizeof **w->labels);
    } while (size > 1);
    w->queue = aot_xmalloc(((size_t)n + 1) * sizeof *w->queue);
    w->old = aot_xmalloc(((size_t)n + 1) * sizeof *w->old);
    w->seeds = aot_xmalloc(((size_t)n + 1) * sizeof *w->seeds);
    for (uint32_t level = 0; level < N_LEVELS; level++) {
        uint64_t blocks = ((uint64_t)n >> (BLOCK_BITS + LEVEL_BITS * level)) + 1;
        w->work[level] = aot_xcalloc(blocks, sizeof *w->work[level]);
    }
    return w;
}

void aot_flow_scratch_free(scratch *w)
{
    if (w == NULL) {
        return;
    }
    for (uint32_t level = 0; level < N_LEVELS; level++) {
        free(w->work[level]);
    }
    for (uint32_t level = 0; level < w->depth; level++) {
        free(w->labels[level]);
    }
    free(w->bucket);
    free(w->next);
    free(w->vs);
    free(w->waiting);
    free(w->top);
    free(w->queue);
    free(w->old);
    free(w->seeds);
    free(w);
}

static bool is_here(const piece *p, uint32_t v)
{
    return v / WINDOW == p->here;
}

/* Puts v into the queue of the window that is being served. */
static void enqueue(scratch *w, uint32_t v)
{
    uint32_t label = w->vs[v].label;
    w->next[v] = w->bucket[label];
    w->bucket[label] = v;
    for (uint32_t level = 0; level < w->depth; level++) {
        uint64_t *word = &w->labels[level][label >> 6], before = *word;
        *word |= (uint64_t)1 << (label & 63);
        if (before != 0) {
            break; /* known above */
        }
        label >>= 6;
    }
}

/* Takes out a vertex of the highest label it was queued with; NONE if there is none. */
static uint32_t dequeue(scratch *w)
{
    if (w->labels[w->depth - 1][0] == 0) {
        return NONE;
    }
    uint32_t label = 0;
    for (uint32_t level = w->depth; level-- > 0;) {
        label = label << 6 | (63 - (uint32_t)__builtin_clzll(w->labels[level][label]));
    }
    uint32_t v = w->bucket[label];
    w->bucket[label] = w->next[v];
    if (w->next[v] == NONE) {
        for (uint32_t level = 0; level < w->depth; level++) {
            w->labels[level][label >> 6] &= ~((uint64_t)1 << (label & 63));
            if (w->labels[level][label >> 6] != 0) {
                break;
            }
            label >>= 6;
        }
    }
    return v;
}

/* v got excess where it had none. */
static void activate(piece *p, uint32_t v)
{
    scratch *w = p->w;
    if (is_here(p, v)) {
        enqueue(w, v);
    } else {
        uint32_t window = v / WINDOW, label = w->vs[v].label;
        w->next[v] = w->waiting[window];
        w->waiting[window] = v;
        w->top[window] = w->top[window] > label ? w->top[window] : label;
    }
}

static int compare_seeds(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Vertices of lo .. hi-1 with an arc out of this range: label to be and vertex, lowest first. All
 * labels of the range are put aside in old. */
static uint32_t find_seeds(piece *p, uint32_t lo, uint32_t hi)
{
    aot_flow_net *net = p->net;
    scratch *w = p->w;
    uint32_t n_seeds = 0;
    bool sorted = true; // as those beside the end are
    for (uint32_t v = lo; v < hi; v++) {
        uint32_t best = p->dead;
        w->old[v] = w->vs[v].label;
        if (w->vs[v].label >= p->dead) {
            continue;
        }
        if (p->end[v] > 0) {
            best = 1;
        } else if (lo != p->lo || hi != p->hi) {
            for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
                uint32_t to = net->arcs[a].head;
                if ((to < lo || to >= hi) && net->arcs[a].res > 0 && w->vs[to].label + 1 < best) {
                    best = w->vs[to].label + 1;
                }
            }
        }
        if (best < p->dead) {
            w->seeds[n_seeds++] = (uint64_t)best << 32 | v;
            sorted = sorted && (n_seeds == 1 || w->seeds[n_seeds - 2] < w->seeds[n_seeds - 1]);
        }
    }
    if (!sorted) {
        qsort(w->seeds, n_seeds, sizeof *w->seeds, compare_seeds);
    }
    return n_seeds;
}

/* Exact labels for lo .. hi-1, those of the others given: a search against residual arcs from the
 * arcs that leave the range. Seeds and queue are both in the order of labels. */
static void relabel_block(piece *p, uint32_t lo, uint32_t hi)
{
    aot_flow_net *net = p->net;
    scratch *w = p->w;
    uint32_t n_seeds = find_seeds(p, lo, hi), seed = 0;
    uint32_t n_queue = 0, at = 0;
    for (uint32_t v = lo; v < hi; v++) {
        w->vs[v].label = p->dead;
    }
    while (seed < n_seeds || at < n_queue) {
        uint32_t v;
        if (at == n_queue ||
            (seed < n_seeds && w->seeds[seed] >> 32 <= w->vs[w->queue[at]].label)) {
            v = (uint32_t)w->seeds[seed];
            uint32_t label = (uint32_t)(w->seeds[seed++] >> 32);
            if (w->vs[v].label <= label) {
                continue;
            }
            w->vs[v].label = label;
        } else {
            v = w->queue[at++];
        }
        uint32_t label = w->vs[v].label + 1;
        for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
            uint32_t from = net->arcs[a].head;
            if (from >= lo && from < hi && w->vs[from].label > label && w->old[from] < p->dead &&
                net->arcs[net->arcs[a].rev].res > 0) {
                w->vs[from].label = label;
                w->queue[n_queue++] = from;
            }
        }
    }
    for (uint32_t v = lo; v < hi; v++) {
        w->vs[v].cur = net->first[v];
    }
}

/* Counts work done at v in its blocks; the largest one that has had enough gets exact labels. */
static void charge(piece *p, uint32_t v)
{
    const uint32_t *first = p->net->first;
    uint64_t amount = p->work;
    uint32_t lo = 0, hi = 0;
    for (uint32_t level = 0; level < N_LEVELS; level++) {
        uint32_t bits = BLOCK_BITS + LEVEL_BITS * level;
        uint64_t from = (uint64_t)(v >> bits) << bits, to = from + ((uint64_t)1 << bits);
        from = from > p->lo ? from : p->lo;
        to = to < p->hi ? to : p->hi;
        uint64_t *work = &p->w->work[level][v >> bits];
        *work += amount;
        if (*work < BLOCK_WORK * (uint64_t)(to - from + first[to] - first[from])) {
            break;
        }
        amount = *work;
        *work = 0;
        lo = (uint32_t)from;
        hi = (uint32_t)to;
        if (lo == p->lo && hi == p->hi) {
            break;
        }
    }
    if (hi != 0) {
        relabel_block(p, lo, hi);
    }
}

/* Raises the label of v as its neighbours allow; dead if it has no way out. */
static void relabel(piece *p, uint32_t v)
{
    aot_flow_net *net = p->net;
    scratch *w = p->w;
    uint32_t least = p->dead - 1, at = net->first[v];
    for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
        if (net->arcs[a].res > 0 && w->vs[net->arcs[a].head].label < least) {
            least = w->vs[net->arcs[a].head].label;
            at = a;
        }
    }
    p->work += RELABEL_WORK + net->first[v + 1] - net->first[v];
    w->vs[v].label = least + 1;
    w->vs[v].cur = at;
}

/* As much of the excess of v as fits in an arc that has room for res. */
static int64_t part_of(const vertex *v, int64_t res)
{
    return v->excess < (wide)res ? (int64_t)v->excess : res;
}

/* Pushes the excess of v down until there is none or v has no way out. */
static void discharge(piece *p, uint32_t v)
{
    aot_flow_net *net = p->net;
    vertex *from = &p->w->vs[v];
    uint32_t stop = net->first[v + 1];
    p->work = 0;
    while (from->excess != 0 && from->label < p->dead) {
        if (p->end[v] > 0) { /* then its label is 1 */
            int64_t part = part_of(from, p->end[v]);
            p->end[v] -= part;
            from->excess -= (wide)part;
        }
        uint32_t a = from->cur;
        for (; a < stop && from->excess != 0; a++) {
            aot_flow_arc *arc = &net->arcs[a];
            vertex *to = &p->w->vs[arc->head];
            if (arc->res == 0 || to->label + 1 != from->label) {
                continue;
            }
            int64_t part = part_of(from, arc->res);
            arc->res -= part;
            net->arcs[arc->rev].res += part;
            if (to->excess == 0) {
                activate(p, arc->head);
            }
            to->excess += (wide)part;
            from->excess -= (wide)part;
            if (arc->res > 0) {
                break; /* v is empty and this arc has room left */
            }
        }
        p->work += a - from->cur + 1;
        from->cur = a;
        if (from->excess != 0) {
            relabel(p, v);
        }
    }
}

/* Serves the active vertices of one window until there are none. */
static void push_window(piece *p, uint32_t window)
{
    scratch *w = p->w;
    uint32_t v = w->waiting[window];
    p->here = window;
    w->waiting[window] = NONE;
    w->top[window] = 0;
    while (v != NONE) {
        uint32_t next = w->next[v];
        if (w->vs[v].label < p->dead) {
            enqueue(w, v);
        }
        v = next;
    }
    for (v = dequeue(w); v != NONE; v = dequeue(w)) {
        discharge(p, v);
        charge(p, v);
    }
    p->here = NONE;
}

/* Sends as much excess as possible to the end. */
static void push_all(piece *p)
{
    scratch *w = p->w;
    uint32_t first = p->lo / WINDOW, last = (p->hi - 1) / WINDOW;
    p->dead = p->hi - p->lo + 1;
    p->here = NONE;
    for (uint32_t v = p->lo; v < p->hi; v++) {
        w->vs[v].label = 1;
    }
    relabel_block(p, p->lo, p->hi);
    for (uint32_t v = p->lo; v < p->hi; v++) {
        if (w->vs[v].excess != 0) {
            activate(p, v);
        }
    }
    for (;;) {
        uint32_t best = first; /* the window with the highest label known to wait */
        for (uint32_t i = first; i <= last; i++) {
            best = w->top[i] > w->top[best] ? i : best;
        }
        if (w->top[best] == 0) {
            break;
        }
        push_window(p, best);
    }
}

/* Sends what did not reach the sink back against the flow, each vertex after all that it feeds.
 * False if flow runs in circles above some excess. */
static bool return_excess(piece *p)
{
    aot_flow_net *net = p->net;
    scratch *w = p->w;
    uint32_t n_stack = 0, n_done = 0, *feeds = w->old;
    for (uint32_t v = p->lo; v < p->hi; v++) {
        feeds[v] = 0;
        for (uint32_t a = net->first[v]; a < net->mid[v]; a++) {
            feeds[v] += net->arcs[net->arcs[a].rev].res > 0;
        }
        if (feeds[v] == 0) {
            w->queue[n_stack++] = v;
        }
    }
    for (; n_stack != 0; n_done++) {
        uint32_t v = w->queue[--n_stack];
        vertex *from = &w->vs[v];
        for (uint32_t a = net->mid[v]; a < net->first[v + 1]; a++) {
            aot_flow_arc *arc = &net->arcs[a];
            if (arc->res == 0) {
                continue;
            }
            int64_t part = part_of(from, arc->res);
            arc->res -= part;
            net->arcs[arc->rev].res += part;
            from->excess -= (wide)part;
            w->vs[arc->head].excess += (wide)part;
            if (--feeds[arc->head] == 0) {
                w->queue[n_stack++] = arc->head;
            }
        }
        int64_t part = part_of(from, net->s_flow[v]);
        net->s_flow[v] -= part;
        from->excess -= (wide)part;
    }
    return n_done == p->hi - p->lo;
}

/* Takes from each arc what could never get on from its head, so that less has to be sent back: a
 * bound for each vertex, from the highest number down; arcs to lower numbers stay as they are. */
static void tighten(piece *p)
{
    aot_flow_net *net = p->net;
    for (uint32_t v = p->hi; v-- > p->lo;) {
        wide bound = (wide)p->end[v];
        for (uint32_t a = net->first[v]; a < net->mid[v]; a++) {
            aot_flow_arc *arc = &net->arcs[a];
            wide after = p->w->vs[arc->head].excess; /* the bound of a vertex that is done */
            if (arc->head > v && (wide)arc->res > after) {
                arc->res = (int64_t)after;
            }
            bound += (wide)arc->res;
        }
        p->w->vs[v].excess = bound;
    }
    for (uint32_t v = p->lo; v < p->hi; v++) {
        vertex *from = &p->w->vs[v];
        net->s_flow[v] = part_of(from, net->from_s[v]);
        from->excess = (wide)net->s_flow[v];
    }
}

int64_t aot_flow_solve(aot_flow_net *net, uint32_t lo, uint32_t hi, scratch *w)
{
    piece p = {.net = net, .w = w, .lo = lo, .hi = hi, .end = net->to_t};
    memcpy(net->t_flow + lo, net->to_t + lo, (hi - lo) * sizeof *net->to_t);
    tighten(&p);
    push_all(&p);
    wide value = 0, left = 0;
    for (uint32_t v = lo; v < hi; v++) {
        net->t_flow[v] -= net->to_t[v];
        value += (wide)net->t_flow[v];
        left += w->vs[v].excess;
    }
    if (left != 0 && !return_excess(&p)) {
        p.end = net->s_flow; /* the way back as a flow of its own */
        push_all(&p);
    }
    return value < (wide)AOT_FLOW_CLAMP ? (int64_t)value : AOT_FLOW_CLAMP;
}
