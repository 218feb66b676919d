/* Numbers that a person typed, and sums that stay within their type. */
#ifndef AOT_BASE_NUMBER_H
#define AOT_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* The whole text is one number within [least, most], in decimal, without blanks; out is untouched
 * otherwise. An empty text is none, nor is NULL. Reals are finite. */
bool aot_int_read(int64_t *out, const char *text, int64_t least, int64_t most);
bool aot_real_read(double *out, const char *text, double least, double most);
/* What torch.manual_seed takes: -2^63 to 2^64 - 1, negative ones from 2^64 down; also 0x1f. */
bool aot_seed_read(uint64_t *out, const char *text);

/* a + b; where that has no 64 bits the nearest that has. */
int64_t aot_sum(int64_t a, int64_t b);
/* The nearest integer of 64 bits; 0 for NaN. */
int64_t aot_int_of_real(double v);

#endif
