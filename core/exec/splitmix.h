/* Numbers for values that are made up: splitmix64, in no relation to PyTorch's streams. */
#ifndef AOT_EXEC_SPLITMIX_H
#define AOT_EXEC_SPLITMIX_H

#include <math.h>
#include <stdint.h>

static inline uint64_t aot_splitmix_u64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline double aot_splitmix_uniform(uint64_t *state) /* 0 < x < 1 */
{
    return ((double)(aot_splitmix_u64(state) >> 11) + 0.5) * 0x1p-53;
}

static inline double aot_splitmix_normal(uint64_t *state)
{
    double u = aot_splitmix_uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * aot_splitmix_uniform(state));
}

#endif
