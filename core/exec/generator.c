/* mt19937 as PyTorch seeds, draws and serialises it; Philox 4x32-10.
 *
 * Mirrors: ATen/core/MT19937RNGEngine.h, ATen/CPUGeneratorImpl.cpp (legacy state layout),
 * ATen/core/DistributionsHelper.h, ATen/core/PhiloxRNGEngine.h. */
#include "exec/generator.h"

#include <math.h>
#include <string.h>

enum { MT_M = 397 };

void aot_generator_seed(aot_generator *g, uint64_t seed)
{
    memset(g, 0, sizeof *g);
    g->seed = seed;
    g->mt[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < AOT_MT_N; i++) {
        g->mt[i] = 1812433253u * (g->mt[i - 1] ^ g->mt[i - 1] >> 30) + i;
    }
    g->left = 1;
    g->seeded = true;
}

static uint32_t mixed(uint32_t u, uint32_t v)
{
    return ((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1 ^ ((v & 1) != 0 ? 0x9908b0dfu : 0);
}

static void renew(aot_generator *g)
{
    uint32_t *p = g->mt;
    g->left = AOT_MT_N;
    g->next = 0;
    for (int i = 0; i < AOT_MT_N; i++) {
        p[i] = p[(i + MT_M) % AOT_MT_N] ^ mixed(p[i], p[(i + 1) % AOT_MT_N]);
    }
}

uint32_t aot_generator_u32(aot_generator *g)
{
    if (!g->seeded) {
        aot_generator_seed(g, 67280421310721u); /* PyTorch's default seed */
    }
    if (--g->left == 0) {
        renew(g);
    }
    uint32_t y = g->mt[g->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

uint64_t aot_generator_u64(aot_generator *g)
{
    uint64_t high = aot_generator_u32(g);
    return high << 32 | aot_generator_u32(g);
}

float aot_uniform_f32(aot_generator *g)
{
    return (float)(aot_generator_u32(g) & 0xffffff) * 0x1p-24f;
}

double aot_uniform_f64(aot_generator *g)
{
    return (double)(aot_generator_u64(g) & 0x1fffffffffffff) * 0x1p-53;
}

/* Pairs by Box and Muller; the second one is kept for the next call. */
double aot_normal_f64(aot_generator *g)
{
    if (g->has_normal_f64) {
        g->has_normal_f64 = false;
        return g->normal_f64;
    }
    double u1 = aot_uniform_f64(g), u2 = aot_uniform_f64(g);
    double r = sqrt(-2.0 * log1p(-u2)), theta = 2.0 * M_PI * u1;
    g->normal_f64 = r * sin(theta);
    g->has_normal_f64 = true;
    return r * cos(theta);
}

/* ---- the state as bytes ---------------------------------------------------------------------- */

/* The layout that PyTorch keeps for compatibility: seed, left, seeded, next, 624 words of 64 bits,
 * the cached normal of torch.float64, and behind it that of torch.float32. */
enum {
    AT_SEED = 0,
    AT_LEFT = 8,
    AT_SEEDED = 12,
    AT_NEXT = 16,
    AT_WORDS = 24,
    AT_NORMAL_X = AT_WORDS + 8 * AOT_MT_N,
    AT_NORMAL_Y = AT_NORMAL_X + 8,
    AT_NORMAL_RHO = AT_NORMAL_X + 16,
    AT_HAS_F64 = AT_NORMAL_X + 24,
    AT_F32 = AT_NORMAL_X + 32,
    AT_HAS_F32 = AT_F32 + 4
};
_Static_assert(AT_HAS_F32 + 4 == AOT_GENERATOR_STATE_BYTES, "the layout of PyTorch's legacy state");

static void put64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

void aot_generator_get_state(const aot_generator *g, uint8_t state[AOT_GENERATOR_STATE_BYTES])
{
    uint32_t left = (uint32_t)g->left, seeded = g->seeded, has64 = g->has_normal_f64;
    memset(state, 0, AOT_GENERATOR_STATE_BYTES);
    put64(state + AT_SEED, g->seed);
    memcpy(state + AT_LEFT, &left, 4);
    memcpy(state + AT_SEEDED, &seeded, 4);
    put64(state + AT_NEXT, g->next);
    for (int i = 0; i < AOT_MT_N; i++) {
        put64(state + AT_WORDS + 8 * i, g->mt[i]);
    }
    if (g->has_normal_f64) {
        memcpy(state + AT_NORMAL_Y, &g->normal_f64, 8);
    }
    memcpy(state + AT_HAS_F64, &has64, 4);
    if (g->has_normal_f32) {
        memcpy(state + AT_F32, &g->normal_f32, 4);
        state[AT_HAS_F32] = 1;
    }
}

bool aot_generator_set_state(aot_generator *g, const uint8_t state[AOT_GENERATOR_STATE_BYTES])
{
    aot_generator n = {0};
    uint32_t left, seeded, has64;
    uint64_t next, word;
    memcpy(&n.seed, state + AT_SEED, 8);
    memcpy(&left, state + AT_LEFT, 4);
    memcpy(&seeded, state + AT_SEEDED, 4);
    memcpy(&next, state + AT_NEXT, 8);
    memcpy(&has64, state + AT_HAS_F64, 4);
    for (int i = 0; i < AOT_MT_N; i++) {
        memcpy(&word, state + AT_WORDS + 8 * i, 8);
        n.mt[i] = (uint32_t)word;
    }
    if (left == 0 || left > AOT_MT_N || next > AOT_MT_N) {
        return false;
    }
    n.left = (int)left;
    n.next = (uint32_t)next;
    n.seeded = seeded != 0;
    n.has_normal_f64 = has64 != 0;
    memcpy(&n.normal_f64, state + AT_NORMAL_Y, 8);
    memcpy(&n.normal_f32, state + AT_F32, 4);
    n.has_normal_f32 = state[AT_HAS_F32] != 0;
    *g = n;
    return true;
}

/* ---- Philox ---------------------------------------------------------------------------------- */

void aot_philox(uint32_t out[4], uint64_t seed, uint64_t offset)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {(uint32_t)offset, (uint32_t)(offset >> 32), 0, 0};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
    memcpy(out, c, sizeof c);
}

/* 31 bits, scaled so that the largest does not round to 1. */
static float philox_real(uint32_t x)
{
    return (float)(x & 0x7fffffff) * 4.6566127342e-10f;
}

static void philox_of_element(uint32_t v[4], uint64_t seed, uint64_t i)
{
    aot_philox(v, (uint32_t)seed, (uint32_t)i);
}

float aot_philox_uniform(uint64_t seed, uint64_t i)
{
    uint32_t v[4];
    philox_of_element(v, seed, i);
    return philox_real(v[0]);
}

float aot_philox_normal(uint64_t seed, uint64_t i)
{
    uint32_t v[4];
    philox_of_element(v, seed, i);
    float u = 1 - philox_real(v[0]), w = 1 - philox_real(v[1]);
    return (float)(sqrt(-2.0 * (double)logf(u)) * cos(2.0 * M_PI * w));
}

int64_t aot_philox_int(uint64_t seed, uint64_t i, int64_t low, int64_t high)
{
    uint32_t v[4];
    philox_of_element(v, seed, i);
    uint64_t whole = v[0] | (uint64_t)v[1] << 32, range = (uint64_t)high - (uint64_t)low;
    return (int64_t)((uint64_t)low + (range == 0 ? 0 : whole % range));
}
