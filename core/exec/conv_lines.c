/* Lines of an image under the taps of a convolution: gathered into columns, scattered back, or
 * multiplied where they lie. */
#include <string.h>

#include "exec/conv.h"
#include "exec/vector.h"

static int64_t clipped(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* A line of places as a tap of the kernel reads it: places from lo to below hi read pixels from
 * `first` on, `step` apart; the others read padding. */
typedef struct run {
    int64_t lo, hi, first, step;
} run;

/* One tap, line after line. */
typedef struct cursor {
    int64_t lo, hi, shift, d0, d1; /* d0, d1: of the pixel's coordinates to those of the place */
    int64_t l0, l1;                /* the line */
} cursor;

static cursor cursor_at(const geometry *g, int64_t tap, int64_t line)
{
    int64_t t2 = tap % g->kernel[2], t1 = tap / g->kernel[2] % g->kernel[1],
            t0 = tap / g->kernel[2] / g->kernel[1];
    int64_t s = g->stride[2], shift = t2 * g->dilation[2] - g->padding[2];
    int64_t lo = shift < 0 ? (-shift + s - 1) / s : 0,
            hi = g->big[2] > shift ? (g->big[2] - shift + s - 1) / s : 0;
    lo = clipped(lo, g->small[2]);
    hi = clipped(hi, g->small[2]);
    return (cursor){lo, hi < lo ? lo : hi, shift + lo * s, t0 * g->dilation[0] - g->padding[0],
                    t1 * g->dilation[1] - g->padding[1], line / g->small[1], line % g->small[1]};
}

static inline run next_run(const geometry *g, cursor *c)
{
    int64_t y0 = c->l0 * g->stride[0] + c->d0, y1 = c->l1 * g->stride[1] + c->d1;
    if (++c->l1 == g->small[1]) {
        c->l1 = 0;
        c->l0++;
    }
    if (y0 < 0 || y0 >= g->big[0] || y1 < 0 || y1 >= g->big[1] || c->lo == c->hi) {
        return (run){0};
    }
    return (run){c->lo, c->hi, (y0 * g->big[1] + y1) * g->big[2] + c->shift, g->stride[2]};
}

/* Elements of 4, 8 or 16 bytes; the step is a constant in the usual cases, so that the loop becomes
 * vectors. */
#define SPREAD(name, type, assign)                                                                 \
    static void name(type *columns, type *big, const run *r)                                       \
    {                                                                                              \
        int64_t n = r->hi - r->lo;                                                                 \
        columns += r->lo;                                                                          \
        for (int64_t i = 0; i < n && r->step == 1; i++) {                                          \
            type *a = &columns[i], *b = &big[i];                                                   \
            assign;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n && r->step == 2; i++) {                                          \
            type *a = &columns[i], *b = &big[2 * i];                                               \
            assign;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n && r->step > 2; i++) {                                           \
            type *a = &columns[i], *b = &big[i * r->step];                                         \
            assign;                                                                                \
        }                                                                                          \
    }
SPREAD(read_f32, float, *a = *b)
SPREAD(read_f64, double, *a = *b)
SPREAD(read_c128, aot_complex, *a = *b)
SPREAD(add_f32, float, *b += *a)
SPREAD(add_f64, double, *b += *a)
SPREAD(add_c64, float _Complex, *b += *a)
SPREAD(add_c128, aot_complex, *b += *a)

/* Calls the spread for each line of each channel and tap, in the order of columns; padding is
 * zeroed before a read. */
#define WALK(name, spread, type, zeroes)                                                           \
    static void name(const geometry *g, void *image, void *columns, int64_t line, int64_t n)       \
    {                                                                                              \
        type *big = image, *to = columns;                                                          \
        for (int64_t c = 0; c < g->c; c++, big += g->pixels) {                                     \
            for (int64_t tap = 0; tap < g->taps; tap++) {                                          \
                cursor at = cursor_at(g, tap, line);                                               \
                for (int64_t i = 0; i < n; i++, to += g->small[2]) {                               \
                    run r = next_run(g, &at);                                                      \
                    for (int64_t j = 0; zeroes && j < r.lo; j++) {                                 \
                        to[j] = 0;                                                                 \
                    }                                                                              \
                    for (int64_t j = r.hi; zeroes && j < g->small[2]; j++) {                       \
                        to[j] = 0;                                                                 \
                    }                                                                              \
                    spread(to, big + r.first, &r);                                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
WALK(gather_4, read_f32, float, true)
WALK(gather_8, read_f64, double, true)
WALK(gather_16, read_c128, aot_complex, true)
WALK(scatter_f32, add_f32, float, false)
WALK(scatter_f64, add_f64, double, false)
WALK(scatter_c64, add_c64, float _Complex, false)
WALK(scatter_c128, add_c128, aot_complex, false)

typedef void walk_fn(const geometry *g, void *image, void *columns, int64_t line, int64_t n);

void conv_gather(const geometry *g, const aot_array *image, aot_array *columns, int64_t line,
                 int64_t n)
{
    int bytes = aot_dtype_get(g->d)->bytes;
    walk_fn *fn = bytes == 4 ? gather_4 : bytes == 8 ? gather_8 : gather_16;
    fn(g, aot_array_data(image), aot_array_data(columns), line, n);
}

void conv_scatter(const geometry *g, const aot_array *columns, aot_array *image, int64_t line,
                  int64_t n)
{
    walk_fn *fn = g->d == AOT_F32   ? scatter_f32
                  : g->d == AOT_F64 ? scatter_f64
                  : g->d == AOT_C64 ? scatter_c64
                                    : scatter_c128;
    fn(g, aot_array_data(image), aot_array_data(columns), line, n);
}

/* ---- one channel a group --------------------------------------------------------------------- */

/* The image with its padding, plane behind plane: with steps of 1 a tap is one product of the whole
 * with a number, shifted; what falls on the padding of a line is computed and not used. */
enum { PADDED_MORE = 32, MOST_TAPS = 343 }; /* elements behind it that a last vector may read */
typedef struct padded {
    int64_t size[3], n; /* n: elements up to the last place */
} padded;

static bool is_stepless(const geometry *g)
{
    return g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1 && g->taps <= MOST_TAPS;
}

static padded padded_of(const geometry *g)
{
    padded p;
    for (unsigned i = 0; i < 3; i++) {
        p.size[i] = g->big[i] + 2 * g->padding[i];
    }
    p.n = ((g->small[0] - 1) * p.size[1] + g->small[1] - 1) * p.size[2] + g->small[2];
    return p;
}

/* From a place to what each tap reads there. */
static void tap_shifts(const geometry *g, const padded *p, int64_t *at)
{
    for (int64_t tap = 0; tap < g->taps; tap++) {
        int64_t t2 = tap % g->kernel[2], t1 = tap / g->kernel[2] % g->kernel[1],
                t0 = tap / g->kernel[2] / g->kernel[1];
        int64_t line = t0 * g->dilation[0] * p->size[1] + t1 * g->dilation[1];
        at[tap] = line * p->size[2] + t2 * g->dilation[2];
    }
}

int64_t conv_depthwise_room(const geometry *g)
{
    padded p = padded_of(g);
    return is_stepless(g) ? p.size[0] * p.size[1] * p.size[2] + PADDED_MORE + p.n : 0;
}

bool conv_is_depthwise(const geometry *g)
{
    return g->c == 1 && g->m <= 4 && (g->d == AOT_F32 || g->d == AOT_F64);
}

/* For each line of places and tap: a product with the tap's weight, added up tap by tap; of the
 * gradient of a weight, the sum of products in double. */
#define DEPTHWISE(t, type)                                                                         \
    AOT_CLONES static void add_scaled_##t(type *to, const type *from, type w, const run *r)        \
    {                                                                                              \
        int64_t n = r->hi - r->lo;                                                                 \
        for (int64_t i = 0; i < n && r->step == 1; i++) {                                          \
            to[i] += w * from[i];                                                                  \
        }                                                                                          \
        for (int64_t i = 0; i < n && r->step != 1; i++) {                                          \
            to[i] += w * from[i * r->step];                                                        \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void spread_scaled_##t(type *to, const type *from, type w, const run *r)     \
    {                                                                                              \
        int64_t n = r->hi - r->lo;                                                                 \
        for (int64_t i = 0; i < n && r->step == 1; i++) {                                          \
            to[i] += w * from[i];                                                                  \
        }                                                                                          \
        for (int64_t i = 0; i < n && r->step != 1; i++) {                                          \
            to[i * r->step] += w * from[i];                                                        \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static double dot_##t(const type *a, const type *b, const run *r)                   \
    {                                                                                              \
        enum { LANES = 8 };                                                                        \
        double s[LANES] = {0}, sum = 0;                                                            \
        int64_t n = r->hi - r->lo, i = 0;                                                          \
        for (; i + LANES <= n && r->step == 1; i += LANES) {                                       \
            for (int l = 0; l < LANES; l++) {                                                      \
                s[l] += (double)a[i + l] * (double)b[i + l];                                       \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            sum += (double)a[i] * (double)b[i * r->step];                                          \
        }                                                                                          \
        for (int l = 0; l < LANES; l++) {                                                          \
            sum += s[l];                                                                           \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void pad_##t(const geometry *g, const padded *p, const type *big, type *to)             \
    {                                                                                              \
        for (int64_t i = 0; i < g->big[0]; i++) {                                                  \
            for (int64_t j = 0; j < g->big[1]; j++, big += g->big[2]) {                            \
                int64_t line = (i + g->padding[0]) * p->size[1] + j + g->padding[1];               \
                memcpy(to + line * p->size[2] + g->padding[2], big,                                \
                       (size_t)g->big[2] * sizeof *to);                                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* Vectors that stay in registers while all taps are added to them, in their order. */         \
    AOT_CLONES static void add_taps_##t(const geometry *g, const padded *p, type *sum,             \
                                        const type *from, const type *w, const int64_t *at)        \
    {                                                                                              \
        typedef type lanes __attribute__((vector_size(32)));                                       \
        enum { WIDE = sizeof(lanes) / sizeof(type), BLOCK = 4 * WIDE };                            \
        for (int64_t i = 0; i < p->n; i += BLOCK) {                                                \
            lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                          \
            int64_t n = p->n - i < BLOCK ? p->n - i : BLOCK;                                       \
            for (int64_t tap = 0; tap < g->taps; tap++) {                                          \
                const near_##t *x = (const near_##t *)(const void *)(from + i + at[tap]);          \
                s0 += w[tap] * x[0];                                                               \
                s1 += w[tap] * x[1];                                                               \
                s2 += w[tap] * x[2];                                                               \
                s3 += w[tap] * x[3];                                                               \
            }                                                                                      \
            lanes s[4] = {s0, s1, s2, s3};                                                         \
            memcpy(sum + i, s, (size_t)n * sizeof *sum);                                           \
        }                                                                                          \
    }                                                                                              \
    /* room: zeros, conv_depthwise_room elements; its first part stays zero where padding is. */   \
    static void stepless_##t(const geometry *g, type *room, const type *big, const type *w,        \
                             type *small)                                                          \
    {                                                                                              \
        padded p = padded_of(g);                                                                   \
        int64_t at[MOST_TAPS];                                                                     \
        type *sum = room + p.size[0] * p.size[1] * p.size[2] + PADDED_MORE;                        \
        pad_##t(g, &p, big, room);                                                                 \
        tap_shifts(g, &p, at);                                                                     \
        for (int64_t m = 0; m < g->m; m++, w += g->taps) {                                         \
            add_taps_##t(g, &p, sum, room, w, at);                                                 \
            for (int64_t i = 0; i < g->lines; i++, small += g->small[2]) {                         \
                int64_t line = i / g->small[1] * p.size[1] + i % g->small[1];                      \
                memcpy(small, sum + line * p.size[2], (size_t)g->small[2] * sizeof *sum);          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void to_small_##t(const geometry *g, const type *big, const type *w, type *small)       \
    {                                                                                              \
        for (int64_t m = 0; m < g->m; m++, w += g->taps, small += g->places) {                     \
            for (int64_t tap = 0; tap < g->taps; tap++) {                                          \
                cursor at = cursor_at(g, tap, 0);                                                  \
                for (int64_t i = 0; i < g->lines; i++) {                                           \
                    run r = next_run(g, &at);                                                      \
                    add_scaled_##t(small + i * g->small[2] + r.lo, big + r.first, w[tap], &r);     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void to_big_##t(const geometry *g, const type *small, const type *w, type *big)         \
    {                                                                                              \
        for (int64_t m = 0; m < g->m; m++, w += g->taps, small += g->places) {                     \
            for (int64_t tap = 0; tap < g->taps; tap++) {                                          \
                cursor at = cursor_at(g, tap, 0);                                                  \
                for (int64_t i = 0; i < g->lines; i++) {                                           \
                    run r = next_run(g, &at);                                                      \
                    spread_scaled_##t(big + r.first, small + i * g->small[2] + r.lo, w[tap], &r);  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void to_weight_##t(const geometry *g, const type *small, const type *big, type *grad)   \
    {                                                                                              \
        for (int64_t m = 0; m < g->m; m++, small += g->places, grad += g->taps) {                  \
            for (int64_t tap = 0; tap < g->taps; tap++) {                                          \
                double s = 0;                                                                      \
                cursor at = cursor_at(g, tap, 0);                                                  \
                for (int64_t i = 0; i < g->lines; i++) {                                           \
                    run r = next_run(g, &at);                                                      \
                    s += dot_##t(small + i * g->small[2] + r.lo, big + r.first, &r);               \
                }                                                                                  \
                grad[tap] += (type)s;                                                              \
            }                                                                                      \
        }                                                                                          \
    }
typedef float near_f32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double near_f64 __attribute__((vector_size(32), aligned(8), may_alias));
DEPTHWISE(f32, float)
DEPTHWISE(f64, double)

#define BY_DTYPE(name)                                                                             \
    do {                                                                                           \
        void *a = aot_array_data(x), *b = aot_array_data(y), *c = aot_array_data(to);              \
        if (g->d == AOT_F64) {                                                                     \
            name##_f64(g, a, b, c);                                                                \
        } else {                                                                                   \
            name##_f32(g, a, b, c);                                                                \
        }                                                                                          \
    } while (0)

void conv_depthwise_to_small(const geometry *g, void *room, const aot_array *x, const aot_array *y,
                             aot_array *to)
{
    if (!is_stepless(g) || g->places == 0) {
        BY_DTYPE(to_small);
    } else if (g->d == AOT_F64) {
        stepless_f64(g, room, (void *)aot_array_data(x), (void *)aot_array_data(y),
                     (void *)aot_array_data(to));
    } else {
        stepless_f32(g, room, (void *)aot_array_data(x), (void *)aot_array_data(y),
                     (void *)aot_array_data(to));
    }
}

void conv_depthwise_to_big(const geometry *g, const aot_array *x, const aot_array *y, aot_array *to)
{
    BY_DTYPE(to_big);
}

void conv_depthwise_to_weight(const geometry *g, const aot_array *x, const aot_array *y,
                              aot_array *to)
{
    BY_DTYPE(to_weight);
}
