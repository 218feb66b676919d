/* Folding repeats: layers that look the same are drawn once with "× 12".
 *
 * Each node has a signature (operator, constants, types, verdict). In a zone the nodes that compute
 * something form a sequence; a repeat is a stretch where sig[i] = sig[i + L], that is
 *     a [b c d] [b c d] [b c d] e   ->   a (b c d) × 3 e       L = 3
 * repeats.c finds the stretch that folds most nodes away; it is taken, and again in what is left.
 * Signatures that occur once are left out of the sequence: what only the first layer computes (a
 * mask) does not hide a repeat. Copies are then mapped to the first one, argument by argument;
 * inputs and saved values that only a copy uses follow it. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "viewers/picture.h"
#include "viewers/repeats.h"
#include "viewers/slots.h"

enum { MAX_ROUNDS = 24 };

typedef aot_repeat run;

/* ---- mapping copies to the first one --------------------------------------------------------- */

typedef struct folding {
    aot_picture *pic;
    uint32_t *map;              /* node -> the node that stands for it */
    uint32_t *in_off, *in_edge; /* edges into a node, in order */
    uint32_t *out_off, *out_edge;
} folding;

static void index_edges(folding *f)
{
    size_t n = f->pic->nodes.n, m = f->pic->edges.n;
    f->in_off = aot_xcalloc(n + 2, sizeof *f->in_off);
    f->out_off = aot_xcalloc(n + 2, sizeof *f->out_off);
    f->in_edge = aot_xcalloc(m + 1, sizeof *f->in_edge);
    f->out_edge = aot_xcalloc(m + 1, sizeof *f->out_edge);
    for (size_t i = 0; i < m; i++) {
        f->in_off[f->pic->edges.d[i].to + 2]++;
        f->out_off[f->pic->edges.d[i].from + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        f->in_off[i] += f->in_off[i - 1];
        f->out_off[i] += f->out_off[i - 1];
    }
    for (size_t i = 0; i < m; i++) {
        f->in_edge[f->in_off[f->pic->edges.d[i].to + 1]++] = (uint32_t)i;
        f->out_edge[f->out_off[f->pic->edges.d[i].from + 1]++] = (uint32_t)i;
    }
}

// A leaf whose every line ends at a node that was folded away may follow it.
static bool only_for_copies(const folding *f, uint32_t leaf)
{
    const aot_pic_edge *e = f->pic->edges.d;
    for (uint32_t k = f->out_off[leaf]; k < f->out_off[leaf + 1]; k++) {
        uint32_t user = e[f->out_edge[k]].to;
        if (f->map[user] == user && !f->pic->nodes.d[user].leaf) {
            return false;
        }
    }
    return true;
}

// Leaves that feed copy x follow those that feed the first one, argument by argument.
static void fold_inputs(folding *f, uint32_t x, uint32_t first)
{
    const aot_pic_edge *e = f->pic->edges.d;
    const aot_pic_node *node = f->pic->nodes.d;
    uint32_t n = f->in_off[x + 1] - f->in_off[x];
    if (n != f->in_off[first + 1] - f->in_off[first]) {
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = e[f->in_edge[f->in_off[x] + k]].from;
        uint32_t b = e[f->in_edge[f->in_off[first] + k]].from;
        if (a != b && node[a].leaf && node[b].leaf && f->map[a] == a && f->map[b] == b &&
            node[a].zone == node[b].zone && node[a].sig == node[b].sig && only_for_copies(f, a)) {
            f->map[a] = b;
        }
    }
}

// Saved values of a copy (or of a leaf that followed one) go with those of the first.
static void fold_saved(folding *f, uint32_t x, uint32_t first)
{
    const aot_pic_edge *e = f->pic->edges.d;
    const aot_pic_node *node = f->pic->nodes.d;
    for (uint32_t k = f->out_off[x]; k < f->out_off[x + 1]; k++) {
        uint32_t a = e[f->out_edge[k]].to;
        if (node[a].zone != AOT_ZONE_BOUNDARY || f->map[a] != a) {
            continue;
        }
        for (uint32_t j = f->out_off[first]; j < f->out_off[first + 1]; j++) {
            uint32_t b = e[f->out_edge[j]].to;
            if (node[b].zone == AOT_ZONE_BOUNDARY && b != a && f->map[b] == b) {
                f->map[a] = b;
                break;
            }
        }
    }
}

static void apply_run(folding *f, const uint32_t *seq, run r)
{
    aot_picture *pic = f->pic;
    const aot_pic_node *head = &pic->nodes.d[seq[r.start]];
    aot_pic_block b = {.times = r.times, .zone = head->zone};
    b.label = aot_arena_printf(pic->arena, "× %u%s%s", r.times, *head->source ? "   " : "",
                               head->source);
    int32_t block = (int32_t)pic->blocks.n;
    aot_vec_push(&pic->blocks, b);
    for (uint32_t i = 0; i < r.length; i++) {
        uint32_t first = seq[r.start + i];
        pic->nodes.d[first].block = block;
        for (uint32_t t = 1; t < r.times; t++) {
            f->map[seq[r.start + t * r.length + i]] = first;
        }
    }
}

// The nodes of a zone that compute something and whose signature occurs again; returns their
// number.
static uint32_t sequence(const aot_picture *pic, uint8_t zone, uint32_t *seq, uint64_t *sig)
{
    uint32_t n = 0;
    size_t mask = table_mask(pic->nodes.n);
    slot *count = aot_xcalloc(mask + 1, sizeof *count);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < pic->nodes.n; i++) {
            const aot_pic_node *x = &pic->nodes.d[i];
            if (x->zone != zone || x->leaf) {
                continue;
            }
            slot *s = find_slot(count, mask, x->sig);
            if (round == 0) {
                s->value++; // from UINT32_MAX: 0 after the first
            } else if (s->value > 0) {
                sig[n] = x->sig;
                seq[n++] = i;
            }
        }
    }
    free(count);
    return n;
}

static void fold_zone(folding *f, uint8_t zone)
{
    aot_picture *pic = f->pic;
    uint32_t *seq = aot_xcalloc(pic->nodes.n + 1, sizeof *seq);
    uint64_t *sig = aot_xcalloc(pic->nodes.n + 1, sizeof *sig);
    uint32_t n = sequence(pic, zone, seq, sig);
    for (int round = 0; round < MAX_ROUNDS && n > 0; round++) {
        run r = aot_repeat_best(sig, n);
        if (r.times < 2) {
            break;
        }
        apply_run(f, seq, r);
        for (uint32_t i = 0; i < r.length * r.times; i++) {
            sig[r.start + i] = aot_hash_mix(0x5eed, (uint64_t)round << 32 | i); // never equal again
        }
    }
    free(seq);
    free(sig);
}

// Equal values are counted ("32.0 KiB × 12"), different ones summed.
static void join_edges(aot_picture *pic, aot_pic_edge *old, const aot_pic_edge *e, bool copy)
{
    if (copy && e->line == AOT_LINE_SAVED && e->bytes > 0 && e->bytes != old->bytes) {
        char text[32];
        old->bytes = old->bytes * old->times + e->bytes * e->times;
        old->times = 1;
        aot_format_bytes(text, sizeof text, old->bytes);
        old->label = aot_arena_strndup(pic->arena, text, strlen(text));
        old->tooltip = NULL;
    } else if (copy) {
        old->times += e->times;
    }
}

void aot_picture_merge(aot_picture *pic, const uint32_t *map)
{
    size_t mask = table_mask(pic->edges.n), m = 0;
    slot *seen = aot_xcalloc(mask + 1, sizeof *seen);
    for (size_t i = 0; i < pic->edges.n; i++) {
        aot_pic_edge e = pic->edges.d[i];
        bool copy = map[e.from] != e.from || map[e.to] != e.to;
        bool inside = map[e.from] == map[e.to];
        e.from = map[e.from];
        e.to = map[e.to];
        bool same_zone = pic->nodes.d[e.from].zone == pic->nodes.d[e.to].zone;
        if (copy && same_zone && e.from >= e.to) {
            e.line = AOT_LINE_NEXT;
        }
        slot *s = find_slot(seen, mask, ((uint64_t)e.from << 32 | e.to) * AOT_N_LINES + e.line + 1);
        if (s->value != UINT32_MAX) {
            join_edges(pic, &pic->edges.d[s->value], &e, copy);
            continue;
        }
        if (!inside || pic->nodes.d[e.from].block >= 0) {
            s->value = (uint32_t)m;
            pic->edges.d[m++] = e;
        }
    }
    pic->edges.n = m;
    free(seen);
}

// A block that is no chain (twelve transposed weights in a row) gets no frame, but its count in the
// labels: a frame would tear its nodes away from what they belong to.
static void drop_loose_blocks(aot_picture *pic)
{
    uint32_t *inner = aot_xcalloc(pic->blocks.n + 1, sizeof *inner);
    uint32_t *size = aot_xcalloc(pic->blocks.n + 1, sizeof *size);
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        int32_t a = pic->nodes.d[e->from].block, b = pic->nodes.d[e->to].block;
        if (a >= 0 && a == b && e->line != AOT_LINE_NEXT) {
            inner[a]++;
        }
    }
    for (size_t i = 0; i < pic->nodes.n; i++) {
        if (pic->nodes.d[i].block >= 0) {
            size[pic->nodes.d[i].block]++;
        }
    }
    for (size_t i = 0; i < pic->nodes.n; i++) {
        aot_pic_node *x = &pic->nodes.d[i];
        if (x->block < 0 || 2 * inner[x->block] >= size[x->block]) {
            continue;
        }
        int head = (int)strcspn(x->label, "\n");
        x->label = aot_arena_printf(pic->arena, "%.*s  × %u%s", head, x->label,
                                    pic->blocks.d[x->block].times, x->label + head);
        x->block = -1;
    }
    free(inner);
    free(size);
}

uint32_t aot_picture_fold(aot_picture *pic)
{
    uint32_t n = (uint32_t)pic->nodes.n;
    folding f = {.pic = pic, .map = aot_xcalloc((size_t)n + 1, sizeof *f.map)};
    for (uint32_t i = 0; i < n; i++) {
        f.map[i] = i;
    }
    index_edges(&f);
    fold_zone(&f, AOT_ZONE_NONE);
    fold_zone(&f, AOT_ZONE_FORWARD);
    fold_zone(&f, AOT_ZONE_BACKWARD);
    for (uint32_t i = 0; i < n; i++) {
        if (f.map[i] != i && !pic->nodes.d[i].leaf) {
            fold_inputs(&f, i, f.map[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (f.map[i] != i) {
            fold_saved(&f, i, f.map[i]);
        }
    }
    uint32_t gone = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (f.map[f.map[i]] != f.map[i]) { // what it follows may follow another
            f.map[i] = f.map[f.map[i]];
        }
    }
    bool *keep = aot_xcalloc((size_t)n + 1, sizeof *keep);
    for (uint32_t i = 0; i < n; i++) {
        keep[i] = f.map[i] == i;
        gone += !keep[i];
    }
    if (gone > 0) {
        aot_picture_merge(pic, f.map);
        aot_picture_keep(pic, keep);
        drop_loose_blocks(pic);
        aot_picture_notice(pic, "%zu folded repeat%s for %u more boxes (--no-fold shows all)",
                           pic->blocks.n, pic->blocks.n == 1 ? " stands" : "s stand", gone);
    }
    free(keep);
    free(f.map);
    free(f.in_off);
    free(f.in_edge);
    free(f.out_off);
    free(f.out_edge);
    return gone;
}
