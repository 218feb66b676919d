/* One box for each source line: what a picture shows when it has too many boxes even after folding.
 * Neighbours in program order that come from the same line of the user's program become one box
 * with the operators they hold; inputs and saved values that only one box uses or makes join into
 * one too.
 *     conv, bn, relu  (model.py:12)   ->   model.py:12, 3 values: convolution, native_batch_norm,
 * relu */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/picture.h"

enum { MAX_OPS = 4, MAX_NAMES = 40 };

typedef struct group {
    uint32_t first, n;
    int64_t bytes;
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

static bool same_group(const aot_pic_node *a, const aot_pic_node *b)
{
    return a->zone == b->zone && a->block == b->block && strcmp(a->source, b->source) == 0 &&
           *a->source && a->cls != AOT_CLASS_OUTPUT && b->cls != AOT_CLASS_OUTPUT;
}

// Runs of one source line map to their first node.
static void group_lines(const aot_picture *pic, uint32_t *map)
{
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        map[i] = i;
        if (x->leaf) {
            continue;
        }
        if (before != UINT32_MAX && same_group(&pic->nodes.d[before], x)) {
            map[i] = map[before];
        }
        // a result stands right after what it returns and ends no run
        before = x->cls == AOT_CLASS_OUTPUT ? before : i;
    }
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

static void relabel(aot_picture *pic, const uint32_t *map, const group *g)
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
            char size[32];
            aot_sb b = {0};
            const char *letter = aot_class_get(x->cls)->letter;
            bool own = x->leaf || x->cls == AOT_CLASS_OUTPUT;
            aot_sb_addf(&b, "%s  %u values\n", own || x->cls == AOT_CLASS_SAVED ? letter
                            : x->zone == AOT_ZONE_BACKWARD ? "B" : "F", g[i].n);
            if (own) {
                aot_sb_addf(&b, "%s ...", x->name);
            } else {
                aot_sb_addf(&b, "%s\n%s", x->source, aot_sb_text(&ops[i]));
            }
            if (g[i].bytes > 0) {
                aot_sb_addf(&b, "\n%s", aot_format_bytes(size, sizeof size, g[i].bytes));
            }
            x->label = keep(pic, &b);
            aot_sb_addf(&names[i], "%s", seen[i] > MAX_NAMES ? "\n..." : "");
            x->tooltip = aot_arena_strndup(pic->arena, aot_sb_text(&names[i]), names[i].n);
            x->css = own ? x->css : "group";
            x->policy = own ? x->policy : AOT_POLICY_NONE;
            if (!own) {
                x->cls = x->zone == AOT_ZONE_BACKWARD ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
            }
            x->bytes = g[i].bytes;
        }
        aot_sb_free(&ops[i]);
        aot_sb_free(&names[i]);
    }
    free(ops);
    free(names);
    free(seen);
}

uint32_t aot_picture_group(aot_picture *pic)
{
    size_t n = pic->nodes.n;
    uint32_t *map = aot_xcalloc(n + 1, sizeof *map);
    group *g = aot_xcalloc(n + 1, sizeof *g);
    bool *stay = aot_xcalloc(n + 1, sizeof *stay);
    group_lines(pic, map);
    group_leaves(pic, map);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < n; i++) {
        g[map[i]].n++;
        g[map[i]].bytes += pic->nodes.d[i].bytes;
        stay[i] = map[i] == i;
        gone += !stay[i];
    }
    if (gone > 0) {
        relabel(pic, map, g);
        aot_picture_merge(pic, map);
        aot_picture_keep(pic, stay);
        aot_picture_notice(pic, "one box stands for each source line (--max-nodes N for more)");
    }
    free(map);
    free(g);
    free(stay);
    return gone;
}
