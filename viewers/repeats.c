/* Finding repeats in a sequence of signatures. Candidate lengths are voted for by the distances
 * between equal windows of WINDOW signatures; of the stretches where sig[i] = sig[i + length], the
 * one that folds most away is taken. */
#include "viewers/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "viewers/format.h"
#include "viewers/slots.h"

enum { WINDOW = 4, MIN_GAIN = 8, MAX_CANDIDATES = 12, MAX_ROUNDS = 24 };

typedef struct vote {
    uint32_t distance, count;
} vote;

static int by_count(const void *a, const void *b)
{
    const vote *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->distance < y->distance ? -1 : 1;
}

// The distances between equal windows that occur most, at most MAX_CANDIDATES.
static uint32_t candidates(const uint64_t *sig, uint32_t n, vote out[MAX_CANDIDATES])
{
    size_t mask = table_mask(n);
    slot *last = aot_xcalloc(mask + 1, sizeof *last);
    uint32_t *count = aot_xcalloc((size_t)n + 1, sizeof *count);
    for (uint32_t i = 0; i + WINDOW <= n; i++) {
        uint64_t h = 0;
        for (uint32_t k = 0; k < WINDOW; k++) {
            h = aot_hash_mix(h, sig[i + k]);
        }
        slot *s = find_slot(last, mask, h);
        if (s->value != UINT32_MAX) {
            count[i - s->value]++;
        }
        s->value = i;
    }
    vote *votes = aot_xcalloc((size_t)n + 1, sizeof *votes);
    uint32_t m = 0;
    for (uint32_t d = 1; d <= n; d++) {
        if (count[d] > 0) {
            votes[m++] = (vote){d, count[d]};
        }
    }
    qsort(votes, m, sizeof *votes, by_count);
    m = m < MAX_CANDIDATES ? m : MAX_CANDIDATES;
    memcpy(out, votes, m * sizeof *votes);
    free(votes);
    free(count);
    free(last);
    return m;
}

aot_repeat aot_repeat_best(const uint64_t *sig, uint32_t n)
{
    aot_repeat best = {0, 0, 0};
    uint32_t best_gain = MIN_GAIN - 1;
    vote v[MAX_CANDIDATES];
    uint32_t m = candidates(sig, n, v);
    for (uint32_t c = 0; c < m; c++) {
        uint32_t length = v[c].distance, same = 0;
        for (uint32_t i = 0; i + length <= n; i++) {
            bool equal = i + length < n && sig[i] == sig[i + length];
            if (equal) {
                same++;
                continue;
            }
            uint32_t times = same / length + 1, gain = length * (times - 1);
            if (gain > best_gain) {
                best_gain = gain;
                best = (aot_repeat){i - same, length, times};
            }
            same = 0;
        }
    }
    return best;
}

/* What makes two nodes the same: operator, type, number of arguments, verdict. */
static uint64_t signature(const aot_graph *g, aot_node_id id, const aot_partition *p,
                          aot_node_id cut)
{
    const aot_node *n = aot_node_at(g, id);
    const char *op = aot_node_target(g, id);
    char type[256];
    aot_format_type(type, sizeof type, g->ctx, n->meta);
    uint64_t h = aot_hash_mix(aot_hash64(op, strlen(op)), aot_hash64(type, strlen(type)));
    uint64_t verdict = p && cut != AOT_NO_NODE ? p->nodes[cut].verdict : 0;
    return aot_hash_mix(h, (uint64_t)n->n_args << 8 | verdict);
}

/* Nodes that compute something and whose signature occurs again. */
static uint32_t sequence(const aot_graph *g, const aot_partition *p, const aot_node_id *cut,
                         aot_node_id *seq, uint64_t *sig)
{
    uint32_t n = 0;
    size_t mask = table_mask(g->nodes.n);
    slot *count = aot_xcalloc(mask + 1, sizeof *count);
    uint64_t *all = aot_xcalloc(g->nodes.n + 1, sizeof *all);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            aot_node_kind kind = (aot_node_kind)aot_node_at(g, i)->kind;
            if (kind == AOT_PLACEHOLDER || kind == AOT_OUTPUT) {
                continue;
            }
            all[i] = round == 0 ? signature(g, i, p, cut ? cut[i] : AOT_NO_NODE) : all[i];
            slot *s = find_slot(count, mask, all[i]);
            if (round == 0) {
                s->value++; // from UINT32_MAX: 0 after the first
            } else if (s->value > 0) {
                sig[n] = all[i];
                seq[n++] = i;
            }
        }
    }
    free(all);
    free(count);
    return n;
}

uint32_t aot_repeats_find(aot_repeats *out, const aot_graph *g, const aot_partition *p)
{
    aot_node_id *cut = aot_view_map(g, p);
    aot_node_id *seq = aot_xcalloc(g->nodes.n + 1, sizeof *seq);
    uint64_t *sig = aot_xcalloc(g->nodes.n + 1, sizeof *sig);
    uint32_t n = sequence(g, p, cut, seq, sig), folded = 0;
    *out = (aot_repeats){.of = aot_xcalloc(g->nodes.n + 1, sizeof *out->of)};
    for (uint64_t round = 0; round < MAX_ROUNDS && n > 0; round++) {
        aot_repeat r = aot_repeat_best(sig, n);
        if (r.times < 2) {
            break;
        }
        aot_fold f = {.first = seq[r.start],
                      .last = seq[r.start + r.length - 1],
                      .length = r.length,
                      .times = r.times};
        aot_vec_push(&out->folds, f);
        for (uint32_t i = 0; i < r.length * r.times; i++) {
            int32_t k = (int32_t)out->folds.n;
            out->of[seq[r.start + i]] = i < r.length ? k : -k;
            sig[r.start + i] = aot_hash_mix(0x5eed, round << 32 | i); // never equal again
        }
        folded += r.length * (r.times - 1);
    }
    free(cut);
    free(seq);
    free(sig);
    return folded;
}

void aot_repeats_free(aot_repeats *r)
{
    aot_vec_free(&r->folds);
    free(r->of);
    *r = (aot_repeats){0};
}
