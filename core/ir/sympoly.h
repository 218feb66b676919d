/* Polynomials with integer coefficients in symbols and opaque functions; see symalg.c. All live in
 * the arena that is passed; NULL is what cannot be represented. */
#ifndef AOT_IR_SYMPOLY_H
#define AOT_IR_SYMPOLY_H

#include "base/arena.h"
#include "base/str.h"

typedef struct aot_poly aot_poly;

typedef struct aot_atom {
    const char *name; /* symbol, or function: "s0", "FloorDiv", "Mod", "Max"; "+" a sum */
    unsigned n_args;  /* 0: a symbol */
    const aot_poly **args;
} aot_atom;

typedef struct aot_factor {
    const aot_atom *atom;
    unsigned exp;
} aot_factor;

typedef struct aot_term {
    int64_t coef;
    unsigned n; /* factors, in sympy's order */
    aot_factor *f;
} aot_term;

struct aot_poly { /* terms in sympy's order; 0 has none */
    unsigned n;
    aot_term *t;
};

const aot_poly *aot_poly_int(aot_arena *a, int64_t v);
const aot_poly *aot_poly_atom(aot_arena *a, const char *name, size_t n, const aot_poly **args,
                              unsigned n_args);
bool aot_poly_is_int(const aot_poly *p, int64_t *v);
/* x + k*y */
const aot_poly *aot_poly_add(aot_arena *a, const aot_poly *x, const aot_poly *y, int64_t k);
/* A number is multiplied into a sum; other products of sums are kept as factors, as sympy does. */
const aot_poly *aot_poly_mul(aot_arena *a, const aot_poly *x, const aot_poly *y);
const aot_poly *aot_poly_mul_out(aot_arena *a, const aot_poly *x, const aot_poly *y); /* expanded */
const aot_poly *aot_poly_expand(aot_arena *a, const aot_poly *p); /* one level of sums */
const aot_poly *aot_poly_factor(aot_arena *a, const aot_poly *p); /* a sum as one atom */
const aot_poly *aot_poly_unwrap(aot_arena *a, const aot_poly *p); /* terms that are a sum alone */
const aot_poly *aot_poly_floordiv(aot_arena *a, const aot_poly *x, const aot_poly *y);
const aot_poly *aot_poly_mod(aot_arena *a, const aot_poly *x, const aot_poly *y);
const aot_poly *aot_poly_extreme(aot_arena *a, const aot_poly *x, const aot_poly *y, bool max);
int aot_poly_compare(const aot_poly *x, const aot_poly *y);
const aot_poly *aot_poly_parse(aot_arena *a, const char *text, size_t n);
void aot_poly_print(aot_sb *out, const aot_poly *p);

#endif
