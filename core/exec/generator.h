/* PyTorch's generators of random numbers on the CPU: mt19937 for the eager stream, Philox 4x32-10
 * for Inductor's numbers by seed. */
#ifndef AOT_EXEC_GENERATOR_H
#define AOT_EXEC_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

enum { AOT_GENERATOR_STATE_BYTES = 5056, AOT_MT_N = 624 };

/* Mirrors ATen/core/MT19937RNGEngine.h and ATen/CPUGeneratorImpl.cpp. */
typedef struct aot_generator {
    uint64_t seed;
    uint32_t mt[AOT_MT_N];
    int left;      /* numbers until the state is renewed */
    uint32_t next;
    bool seeded;
    bool has_normal_f32, has_normal_f64; /* the second number of a pair, kept for the next draw */
    float normal_f32;
    double normal_f64;
} aot_generator;

void aot_generator_seed(aot_generator *g, uint64_t seed); /* torch.manual_seed */
uint32_t aot_generator_u32(aot_generator *g);
uint64_t aot_generator_u64(aot_generator *g);
/* torch.get_rng_state(), byte for byte, and the way back; set gives false if it is no such
 * state. */
void aot_generator_get_state(const aot_generator *g, uint8_t state[AOT_GENERATOR_STATE_BYTES]);
bool aot_generator_set_state(aot_generator *g, const uint8_t state[AOT_GENERATOR_STATE_BYTES]);

/* One uniform or normal number as at::uniform_real_distribution and normal_distribution draw it. */
float aot_uniform_f32(aot_generator *g);  /* [0, 1), 24 bits */
double aot_uniform_f64(aot_generator *g); /* [0, 1), 53 bits */
double aot_normal_f64(aot_generator *g);
/* n >= 16 of them, as PyTorch fills a contiguous tensor. f32: bit-equal with its AVX2 kernels. */
void aot_normal_fill_f32(aot_generator *g, float *v, int64_t n, float mean, float std);
void aot_normal_fill_f64(aot_generator *g, double *v, int64_t n, double mean, double std);

/* Philox 4x32-10: the four words at an offset of a seed. Mirrors at::Philox4_32 and Triton's
 * philox. */
void aot_philox(uint32_t out[4], uint64_t seed, uint64_t offset);
/* Element `i` of the numbers of a seed, as Inductor's CPU code makes them: uniform in [0, 1),
 * normal, and from low to below high. Seed and place count by their low 32 bits, as there.
 * Mirrors normalized_rand_cpu, randn_cpu, randint64_cpu of torch/csrc/inductor/cpp_prefix.h. */
float aot_philox_uniform(uint64_t seed, uint64_t i);
float aot_philox_normal(uint64_t seed, uint64_t i);
int64_t aot_philox_int(uint64_t seed, uint64_t i, int64_t low, int64_t high);

#endif
