/* A model of PyTorch's caching allocator for CUDA, replayed over births and deaths of storages.
 * Mirrors: c10/cuda/CUDACachingAllocator.cpp. */
#include "exec/allocator.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 512, N_POOLS = 2 };
static const int64_t SMALL_REQUEST = 1 << 20, SMALL_SEGMENT = 2 << 20, LARGE_SEGMENT = 20 << 20;
static const int64_t LARGE_REQUEST = 10 << 20, SEGMENT_UNIT = 2 << 20;
#define NONE UINT32_MAX

typedef struct chunk {
    int64_t address, bytes;
    uint32_t prev, next; /* neighbours in the segment; NONE */
    uint8_t pool;
    bool free;
} chunk;

typedef struct cache {
    AOT_VEC(chunk) chunks;
    AOT_VEC(uint32_t) free[N_POOLS];
    AOT_VEC(uint32_t) unused; /* chunks that were joined away */
    uint32_t *of_storage;     /* chunk of each living storage; NONE */
    int64_t next_address, allocated, reserved;
    uint32_t n_segments;
    aot_reserved *out;
} cache;

int64_t aot_allocator_round(int64_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static uint32_t new_chunk(cache *c, chunk x)
{
    if (c->unused.n != 0) {
        uint32_t id = c->unused.d[--c->unused.n];
        c->chunks.d[id] = x;
        return id;
    }
    aot_vec_push(&c->chunks, x);
    return (uint32_t)c->chunks.n - 1;
}

static void drop_from_free(cache *c, uint32_t id)
{
    uint8_t pool = c->chunks.d[id].pool;
    for (size_t i = 0; i < c->free[pool].n; i++) {
        if (c->free[pool].d[i] == id) {
            c->free[pool].d[i] = c->free[pool].d[--c->free[pool].n];
            return;
        }
    }
}

static uint32_t best_fit(const cache *c, uint8_t pool, int64_t bytes)
{
    uint32_t best = NONE;
    for (size_t i = 0; i < c->free[pool].n; i++) {
        const chunk *x = &c->chunks.d[c->free[pool].d[i]],
                    *b = best != NONE ? &c->chunks.d[best] : NULL;
        if (x->bytes >= bytes && (b == NULL || x->bytes < b->bytes ||
                                  (x->bytes == b->bytes && x->address < b->address))) {
            best = c->free[pool].d[i];
        }
    }
    return best;
}

static uint32_t new_segment(cache *c, uint8_t pool, int64_t bytes)
{
    int64_t size = pool == 0 ? SMALL_SEGMENT
                   : bytes < LARGE_REQUEST
                       ? LARGE_SEGMENT
                       : (bytes + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
    uint32_t id = new_chunk(c, (chunk){c->next_address, size, NONE, NONE, pool, true});
    aot_vec_push(&c->free[pool], id);
    c->next_address += size;
    c->reserved += size;
    c->n_segments++;
    c->out->reserved_peak =
        c->reserved > c->out->reserved_peak ? c->reserved : c->out->reserved_peak;
    return id;
}

/* What is left over stays free, if the pool keeps pieces of that size. */
static void split(cache *c, uint32_t id, int64_t bytes)
{
    chunk x = c->chunks.d[id];
    int64_t left = x.bytes - bytes;
    if (left < UNIT || (x.pool == 1 && left <= SMALL_REQUEST)) {
        return;
    }
    uint32_t rest = new_chunk(c, (chunk){x.address + bytes, left, id, x.next, x.pool, true});
    if (x.next != NONE) {
        c->chunks.d[x.next].prev = rest;
    }
    c->chunks.d[id].bytes = bytes;
    c->chunks.d[id].next = rest;
    aot_vec_push(&c->free[x.pool], rest);
}

static void allocate(cache *c, uint32_t storage, int64_t bytes)
{
    bytes = aot_allocator_round(bytes);
    uint8_t pool = bytes > SMALL_REQUEST;
    uint32_t id = best_fit(c, pool, bytes);
    id = id != NONE ? id : new_segment(c, pool, bytes);
    drop_from_free(c, id);
    c->chunks.d[id].free = false;
    split(c, id, bytes);
    c->of_storage[storage] = id;
    c->allocated += c->chunks.d[id].bytes;
    c->out->allocated_peak =
        c->allocated > c->out->allocated_peak ? c->allocated : c->out->allocated_peak;
}

/* Joins a free chunk with its right neighbour, if that is free; the right one goes away. */
static void join(cache *c, uint32_t left)
{
    uint32_t right = left != NONE ? c->chunks.d[left].next : NONE;
    if (right == NONE || !c->chunks.d[left].free || !c->chunks.d[right].free) {
        return;
    }
    drop_from_free(c, right);
    c->chunks.d[left].bytes += c->chunks.d[right].bytes;
    c->chunks.d[left].next = c->chunks.d[right].next;
    if (c->chunks.d[left].next != NONE) {
        c->chunks.d[c->chunks.d[left].next].prev = left;
    }
    aot_vec_push(&c->unused, right);
}

static void release(cache *c, uint32_t storage)
{
    uint32_t id = c->of_storage[storage];
    if (id == NONE) {
        return;
    }
    c->of_storage[storage] = NONE;
    c->allocated -= c->chunks.d[id].bytes;
    c->chunks.d[id].free = true;
    aot_vec_push(&c->free[c->chunks.d[id].pool], id);
    join(c, id);
    join(c, c->chunks.d[id].prev);
}

static void begin_side(cache *c, aot_reserved *out)
{
    c->out = out;
    *out = (aot_reserved){.allocated_peak = c->allocated, .reserved_peak = c->reserved};
}

/* Rows in order: what is born, then what dies after it. */
static void replay_side(cache *c, const aot_memory_side *s)
{
    uint32_t *dying = aot_xmalloc((s->live.n + 1) * sizeof *dying),
             *next = aot_xmalloc((s->blocks.n + 1) * sizeof *next);
    size_t at = 0;
    memset(dying, 0xff, (s->live.n + 1) * sizeof *dying);
    for (size_t i = s->blocks.n; i-- > 0;) {
        uint32_t died = s->blocks.d[i].died;
        if (died < s->live.n) {
            next[i] = dying[died];
            dying[died] = (uint32_t)i;
        }
    }
    for (uint32_t row = 0; row < s->live.n || row == 0; row++) {
        for (; at < s->blocks.n && s->blocks.d[at].born <= row; at++) {
            const aot_mem_block *b = &s->blocks.d[at];
            if (b->bytes > 0 && c->of_storage[b->storage] == NONE) {
                allocate(c, b->storage, b->bytes);
            }
        }
        for (uint32_t i = row < s->live.n ? dying[row] : NONE; i != NONE; i = next[i]) {
            release(c, s->blocks.d[i].storage);
        }
    }
    c->out->reserved_end = c->reserved;
    c->out->n_segments = c->n_segments;
    free(dying);
    free(next);
}

/* What the forward leaves and the backward is not handed (user outputs) is given back between
 * them. */
static void drop_outputs(cache *c, const aot_memory *m, uint32_t n_storages)
{
    uint8_t *kept = aot_xcalloc(n_storages + 1, 1);
    for (size_t i = 0; i < m->backward.blocks.n && m->backward.blocks.d[i].born == 0; i++) {
        kept[m->backward.blocks.d[i].storage] = 1;
    }
    for (uint32_t i = 0; i < n_storages; i++) {
        if (!kept[i]) {
            release(c, i);
        }
    }
    free(kept);
}

static uint32_t most_storages(const aot_memory_side *s, uint32_t n)
{
    for (size_t i = 0; i < s->blocks.n; i++) {
        n = s->blocks.d[i].storage >= n ? s->blocks.d[i].storage + 1 : n;
    }
    return n;
}

void aot_allocator_replay(aot_reserved *forward, aot_reserved *backward, const aot_memory *m)
{
    cache c = {0};
    uint32_t n = most_storages(&m->backward, most_storages(&m->forward, 0));
    c.of_storage = aot_xmalloc((n + 1) * sizeof *c.of_storage);
    memset(c.of_storage, 0xff, (n + 1) * sizeof *c.of_storage);
    begin_side(&c, forward);
    replay_side(&c, &m->forward);
    drop_outputs(&c, m, n);
    begin_side(&c, backward);
    replay_side(&c, &m->backward);
    free(c.of_storage);
    aot_vec_free(&c.chunks);
    aot_vec_free(&c.free[0]);
    aot_vec_free(&c.free[1]);
    aot_vec_free(&c.unused);
}
