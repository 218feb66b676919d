/* One box for each module, or source line where no module is known: what a picture shows when it
 * has too many boxes even after folding. Neighbours in program order of one module become one box
 * with the operators they hold; inputs and saved values that only one box uses or makes join into
 * one too. Of the ways to group, the finest is taken that the picture has room for: boxes of many
 * values are divided, and modules are nested less deep.
 *     add, var_mean, sub, mul  (b1)   ->   4 values, b1 model.py:12: add, var_mean, sub, mul */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/picture.h"

enum { MAX_NAMES = 40, MAX_DEPTH = 8 };

typedef struct group {
    uint32_t n, n_again; /* values; of them, what the backward computes again */
    int64_t bytes;
    bool lines; /* of several source lines */
} group;

// Second line of a label: the operator, without the namespace.
static void add_op(aot_sb *b, const aot_pic_node *x)
{
    const char *line = strchr(x->label, '\n');
    if (!line) {
        return;
    }
    line++;
    const char *dot = strncmp(line, "aten.", 5) == 0 ? line + 5 : line;
    size_t len = strcspn(dot, "\n.");
    aot_sb op = {0};
    aot_sb_add(&op, dot, len);
    if (op.n > 0 && !strstr(aot_sb_text(b), aot_sb_text(&op))) {
        aot_sb_addf(b, "%s%s", b->n ? ", " : "", aot_sb_text(&op));
    }
    aot_sb_free(&op);
}

/* How coarse: by how many levels of the module, 0 by source line alone; values in a box at most, 0
 * any number. */
typedef struct grain {
    int depth;
    uint32_t cap;
} grain;

// Length of the first levels of "layers.0.attn.q": layers.0, attn, q; a number alone says nothing.
static size_t levels(const char *module, int depth)
{
    size_t n = 0;
    while (module[n]) {
        size_t next = n + (n > 0);
        bool number = isdigit((unsigned char)module[next]);
        if (!number && depth-- == 0) {
            break;
        }
        n = next + strcspn(module + next, ".");
    }
    return n;
}

static int depth_of(const char *module)
{
    int depth = 0;
    while (depth < MAX_DEPTH && module[levels(module, depth)]) {
        depth++;
    }
    return depth;
}

static bool same_group(const aot_pic_node *a, const aot_pic_node *b, grain by)
{
    if (a->zone != b->zone || a->block != b->block || a->cls == AOT_CLASS_OUTPUT ||
        b->cls == AOT_CLASS_OUTPUT) {
        return false;
    }
    if (by.depth == 0 || !(*a->module || *b->module)) {
        return *a->source && strcmp(a->source, b->source) == 0;
    }
    size_t n = levels(a->module, by.depth);
    return n == levels(b->module, by.depth) && strncmp(a->module, b->module, n) == 0;
}

// What stands between two values of one module on one source line is taken for that module's too:
// the middle of a batch norm reads no parameter.
static void fill_modules(aot_picture *pic)
{
    uint32_t known = UINT32_MAX, first = 0; // the last node with a module; the first without since
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        aot_pic_node *x = &pic->nodes.d[i];
        if (x->leaf || x->cls == AOT_CLASS_OUTPUT) {
            continue;
        }
        const aot_pic_node *k = known != UINT32_MAX ? &pic->nodes.d[known] : NULL;
        if (k && (k->zone != x->zone || strcmp(k->source, x->source) != 0)) {
            known = UINT32_MAX;
        } else if (k && strcmp(k->module, x->module) == 0) {
            for (uint32_t j = first; j < i; j++) {
                aot_pic_node *gap = &pic->nodes.d[j];
                bool own = gap->leaf || gap->cls == AOT_CLASS_OUTPUT;
                gap->module = own ? gap->module : k->module;
            }
        }
        if (*x->module) {
            known = i;
            first = i + 1;
        }
    }
}

// Runs of one place map to their first node; longer ones than the cap are divided evenly, where the
// source line changes if they can be.
static void group_runs(const aot_picture *pic, grain by, uint32_t *map)
{
    size_t n = pic->nodes.n;
    uint32_t *length = aot_xcalloc(n + 1, sizeof *length), before = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        map[i] = i;
        if (x->leaf) {
            continue;
        }
        if (before != UINT32_MAX && same_group(&pic->nodes.d[before], x, by)) {
            map[i] = map[before];
        }
        length[map[i]]++;
        // a result stands right after what it returns and ends no run
        before = x->cls == AOT_CLASS_OUTPUT ? before : i;
    }
    uint32_t run = UINT32_MAX, part = 0, last = 0, size = 0;
    for (uint32_t i = 0; i < n && by.cap > 0; i++) {
        if (pic->nodes.d[i].leaf || length[map[i]] <= by.cap) {
            continue;
        }
        uint32_t most = 1 + (length[map[i]] - 1) / (1 + (length[map[i]] - 1) / by.cap);
        bool line = strcmp(pic->nodes.d[i].source, pic->nodes.d[last].source) != 0;
        if (map[i] != run || size >= most || (line && 2 * size >= most)) {
            run = map[i];
            part = i;
            size = 0;
        }
        map[i] = part;
        last = i;
        size++;
    }
    free(length);
}

// What a leaf hangs on: the maker of a saved value or of a result, the only user of an input; NONE
// if there are several.
static uint32_t *find_anchors(const aot_picture *pic, const uint32_t *map)
{
    size_t n = pic->nodes.n;
    uint32_t *anchor = aot_xmalloc((n + 1) * sizeof *anchor);
    memset(anchor, 0xff, (n + 1) * sizeof *anchor);
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        const aot_pic_node *from = &pic->nodes.d[e->from], *to = &pic->nodes.d[e->to];
        if (to->zone == AOT_ZONE_BOUNDARY || to->cls == AOT_CLASS_OUTPUT) {
            anchor[e->to] = e->from;
        } else if (from->leaf && from->zone != AOT_ZONE_BOUNDARY) {
            bool other = anchor[e->from] != UINT32_MAX && anchor[e->from] != map[e->to];
            anchor[e->from] = other ? (uint32_t)n : map[e->to];
        }
    }
    return anchor;
}

// Leaves of one class that hang on one box map to the first of them: first the inputs, then what
// may hang on an input.
static void group_leaves(const aot_picture *pic, uint32_t *map)
{
    size_t n = pic->nodes.n;
    uint32_t *anchor = find_anchors(pic, map);
    uint32_t *first = aot_xmalloc((n + 1) * AOT_N_CLASSES * 2 * sizeof *first);
    memset(first, 0xff, (n + 1) * AOT_N_CLASSES * 2 * sizeof *first);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < n; i++) {
            const aot_pic_node *x = &pic->nodes.d[i];
            bool hangs = x->zone == AOT_ZONE_BOUNDARY || x->cls == AOT_CLASS_OUTPUT;
            if (!(x->leaf || hangs) || hangs != (round == 1) || anchor[i] >= n) {
                continue;
            }
            uint32_t at = map[anchor[i]];
            uint32_t *f = &first[(size_t)at * AOT_N_CLASSES * 2 + x->cls * 2u + (unsigned)round];
            *f = *f == UINT32_MAX ? i : *f;
            map[i] = *f;
        }
    }
    free(anchor);
    free(first);
}

static const char *keep(aot_picture *pic, aot_sb *b)
{
    const char *s = aot_arena_strndup(pic->arena, aot_sb_text(b), b->n);
    aot_sb_free(b);
    return s;
}

// "R  20 values, 12 recomputed", the place, the operators, the bytes.
static void box_of_group(aot_picture *pic, aot_pic_node *x, const group *g, const char *ops,
                         int depth)
{
    char size[32];
    aot_sb b = {0};
    bool own = x->leaf || x->cls == AOT_CLASS_OUTPUT, back = x->zone == AOT_ZONE_BACKWARD;
    uint32_t n_again = own || pic->plain ? 0 : g->n_again;
    bool most = n_again > 0 && 2 * n_again >= g->n;
    if (own) {
        aot_sb_addf(&b, "%s  %u values\n%s ...", aot_class_get(x->cls)->letter, g->n, x->name);
    } else {
        int n_module = (int)levels(x->module, depth);
        bool apart = n_module > 0 && *x->source && !g->lines;
        aot_sb_addf(&b, "%s  %u values", most ? "R" : back ? "B" : "F", g->n);
        aot_sb_addz(&b, n_again > 0 && n_again == g->n ? ", recomputed" : "");
        if (n_again > 0 && n_again < g->n) {
            aot_sb_addf(&b, ", %u recomputed", n_again);
        }
        aot_sb_addf(&b, "\n%.*s%s%s\n%s", n_module, x->module, apart ? "  " : "",
                    n_module > 0 && !apart ? "" : x->source, ops);
        x->css = n_again > 0 && !most ? "group recomputed" : "group";
        x->policy = AOT_POLICY_NONE;
        x->cls = most ? AOT_CLASS_RECOMPUTED : back ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
        x->n_again = n_again;
    }
    if (g->bytes > 0) {
        aot_sb_addf(&b, "\n%s", aot_format_bytes(size, sizeof size, g->bytes));
    }
    x->label = keep(pic, &b);
    x->bytes = g->bytes;
}

static void relabel(aot_picture *pic, const uint32_t *map, const group *g, int depth)
{
    size_t n = pic->nodes.n;
    aot_sb *ops = aot_xcalloc(n + 1, sizeof *ops), *names = aot_xcalloc(n + 1, sizeof *names);
    uint32_t *seen = aot_xcalloc(n + 1, sizeof *seen);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t f = map[i];
        if (g[f].n < 2) {
            continue;
        }
        if (ops[f].n < 60) {
            add_op(&ops[f], &pic->nodes.d[i]);
        }
        if (seen[f]++ < MAX_NAMES) {
            aot_sb_addf(&names[f], "%s%s", names[f].n ? "\n" : "", pic->nodes.d[i].name);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        aot_pic_node *x = &pic->nodes.d[i];
        if (map[i] == i && g[i].n > 1) {
            box_of_group(pic, x, &g[i], aot_sb_text(&ops[i]), depth);
            aot_sb_addf(&names[i], "%s", seen[i] > MAX_NAMES ? "\n..." : "");
            x->tooltip = aot_arena_strndup(pic->arena, aot_sb_text(&names[i]), names[i].n);
        }
        aot_sb_free(&ops[i]);
        aot_sb_free(&names[i]);
    }
    free(ops);
    free(names);
    free(seen);
}

// Groups into map; returns how many boxes are left.
static uint32_t boxes_of(const aot_picture *pic, grain by, uint32_t *map)
{
    uint32_t n = 0;
    group_runs(pic, by, map);
    group_leaves(pic, map);
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        n += map[i] == i;
    }
    return n;
}

// The finest grouping of at most limit boxes; if there is none, that of the fewest boxes. Returns
// how deep its modules are.
static int group_to(aot_picture *pic, int depth, uint32_t limit, uint32_t *map)
{
    static const uint32_t caps[] = {32, 64, 0};
    grain best = {0};
    uint32_t fewest = UINT32_MAX;
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        for (int d = depth; d >= (depth > 0 && caps[c] > 0); d--) {
            grain by = {d, caps[c]};
            uint32_t n = boxes_of(pic, by, map);
            if (n <= limit) {
                return d;
            }
            best = n < fewest ? by : best;
            fewest = n < fewest ? n : fewest;
        }
    }
    boxes_of(pic, best, map);
    return best.depth;
}

static bool is_recomputed(const aot_pic_node *x)
{
    return strcmp(x->css, aot_verdict_name(AOT_V_RECOMPUTED)) == 0;
}

uint32_t aot_picture_group(aot_picture *pic, uint32_t limit)
{
    size_t n = pic->nodes.n;
    uint32_t *map = aot_xcalloc(n + 1, sizeof *map);
    group *g = aot_xcalloc(n + 1, sizeof *g);
    bool *stay = aot_xcalloc(n + 1, sizeof *stay);
    int depth = 0;
    fill_modules(pic);
    for (size_t i = 0; i < n; i++) {
        int d = depth_of(pic->nodes.d[i].module);
        depth = d > depth ? d : depth;
    }
    depth = group_to(pic, depth, limit, map);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        group *of = &g[map[i]];
        of->n++;
        of->n_again += is_recomputed(x);
        of->lines |= strcmp(x->source, pic->nodes.d[map[i]].source) != 0;
        of->bytes += x->bytes;
        stay[i] = map[i] == i;
        gone += !stay[i];
    }
    if (gone > 0) {
        relabel(pic, map, g, depth);
        aot_picture_merge(pic, map);
        aot_picture_keep(pic, stay);
        aot_picture_notice(pic, "one box stands for each %s (--max-nodes N for more)",
                           depth > 0 ? "module or source line" : "source line");
    }
    free(map);
    free(g);
    free(stay);
    return gone;
}
