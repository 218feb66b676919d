/* Special functions: series where they converge fast, asymptotic ones far out, Newton's method for
 * inverses, and the trapezoidal rule for integrals whose integrand dies double-exponentially. */
#include "exec/special.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- error function -------------------------------------------------------------------------- */

double sf_erfcx(double x)
{
    if (x < 25) {
        return exp(x * x) * erfc(x);
    }
    double y = 1 / (2 * x * x);
    return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * sqrt(M_PI));
}

/* Halley's steps on erfc, from Winitzki's approximation. */
double sf_erfinv(double x)
{
    if (!(fabs(x) < 1)) {
        return fabs(x) == 1 ? copysign(INFINITY, x) : NAN;
    }
    double l = log1p(-x * x), t = 2 / (M_PI * 0.147) + l / 2;
    double y = copysign(sqrt(sqrt(t * t - l / 0.147) - t), x);
    for (int i = 0; i < 4; i++) {
        double e = (x < 0 ? erfc(-y) - (1 + x) : (1 - x) - erfc(y));
        double d = 2 / sqrt(M_PI) * exp(-y * y), step = e / d;
        y -= step / (1 + y * step);
    }
    return x == 0 ? x : y;
}

double sf_ndtri(double p)
{
    if (!(p > 0 && p < 1)) {
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    }
    double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * log(tail));
    /* upper quantile of tail */
    double x = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
    for (int i = 0; i < 4; i++) {
        double e = 0.5 * erfc(x / M_SQRT2) - tail, d = exp(-x * x / 2) / sqrt(2 * M_PI),
               step = e / d;
        x += step / (1 - x * step / 2);
    }
    return p < 0.5 ? -x : x;
}

/* ---- gamma and zeta -------------------------------------------------------------------------- */

double sf_digamma(double x)
{
    if (x == 0) {
        return copysign(INFINITY, -x);
    }
    if (x < 0) {
        double whole;
        return modf(x, &whole) == 0 ? NAN : sf_digamma(1 - x) - M_PI / tan(M_PI * modf(x, &whole));
    }
    double s = 0;
    for (; x < 12; x++) {
        s -= 1 / x;
    }
    double y = 1 / (x * x);
    return s + log(x) - 0.5 / x -
           y * (1.0 / 12 -
                y * (1.0 / 120 -
                     y * (1.0 / 252 -
                          y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
}

/* Euler and Maclaurin. */
double sf_zeta(double s, double q)
{
    static const double b[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                               5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    if (s == 1) {
        return INFINITY;
    }
    if (s < 1 || q != q || s != s) {
        return NAN;
    }
    if (q <= 0 && (q == floor(q) || s != floor(s))) {
        return q == floor(q) ? INFINITY : NAN;
    }
    double sum = 0, a = q;
    for (; a < 12; a++) {
        sum += pow(a, -s);
        if (a - q > 1e6) {
            break;
        }
    }
    double p = pow(a, -s), factor = s / 2, y = 1 / (a * a);
    sum += a * p / (s - 1) + p / 2;
    p /= a;
    for (int k = 0; k < 8; k++) { // B_2k / (2k)! s (s+1) ... a^(1-s-2k)
        sum += b[k] * factor * p;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / ((2 * k + 3) * (2 * k + 4));
        p *= y;
    }
    return sum;
}

float sf_trigamma_f32(float x)
{
    const float pi = (float)M_PI;
    float sign = 1, result = 0;
    if (x < 0.5f) {
        float s = sinf(pi * x);
        sign = -1;
        result -= pi * pi / (s * s);
        x = 1 - x;
    }
    for (int i = 0; i < 6; i++, x += 1) {
        result += 1 / (x * x);
    }
    float y = 1 / (x * x);
    result += (1 + 1 / (2 * x) + y * (1.0f / 6 - y * (1.0f / 30 - y * (1.0f / 42)))) / x;
    return sign * result;
}

double sf_polygamma(int n, double x)
{
    return n == 0 ? sf_digamma(x) : ((n & 1) != 0 ? 1 : -1) * tgamma(n + 1.0) * sf_zeta(n + 1, x);
}

static double gamma_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int i = 1; i < 10000 && fabs(term) > fabs(sum) * 1e-17; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* Lentz's continued fraction. */
static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
        c = b + an / c;
        c = fabs(c) < 1e-300 ? 1e-300 : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) {
            break;
        }
    }
    return exp(a * log(x) - x - lgamma(a)) * h;
}

double sf_gamma_p(double a, double x)
{
    if (x < 0 || a < 0 || x != x || a != a) {
        return NAN;
    }
    if (a == 0) {
        return x > 0 ? 1 : NAN;
    }
    if (x == 0) {
        return 0;
    }
    if (isinf(a)) {
        return isinf(x) ? NAN : 0;
    }
    return isinf(x) ? 1 : x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double sf_gamma_q(double a, double x)
{
    if (x < 0 || a < 0 || x != x || a != a) {
        return NAN;
    }
    if (a == 0) {
        return x > 0 ? 0 : NAN;
    }
    if (x == 0) {
        return 1;
    }
    if (isinf(a)) {
        return isinf(x) ? NAN : 1;
    }
    return isinf(x) ? 0 : x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* ---- Bessel functions ------------------------------------------------------------------------ */

/* exp(-x) I_order(x), x >= 0: all terms of the series are positive. */
static double scaled_i(int order, double x)
{
    if (x > 40) {
        double mu = 4.0 * order * order, term = 1, sum = 1;
        for (int k = 1; k < 30; k++) {
            double next = -term * (mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
            if (fabs(next) >= fabs(term)) {
                break;
            }
            term = next;
            sum += term;
        }
        return sum / sqrt(2 * M_PI * x);
    }
    double y = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term;
    for (int k = 1; k < 500 && term > sum * 1e-18; k++) {
        term *= y / (k * (double)(k + order));
        sum += term;
    }
    return sum * exp(-x);
}

double sf_i0e(double x)
{
    return x != x ? x : scaled_i(0, fabs(x));
}

double sf_i1e(double x)
{
    return x != x ? x : x < 0 ? -scaled_i(1, -x) : scaled_i(1, fabs(x)); // +0 of -0
}

double sf_i0(double x)
{
    return sf_i0e(x) * exp(fabs(x));
}

double sf_i1(double x)
{
    return sf_i1e(x) * exp(fabs(x));
}

/* exp(x) K_order(x) as the integral of exp(-x (cosh t - 1)) cosh(order t). */
static double scaled_k(double order, double x)
{
    if (!(x > 0)) {
        return x == 0 ? INFINITY : NAN;
    }
    if (isinf(x)) {
        return 0;
    }
    const double h = 1.0 / 32;
    double sum = 0.5;
    for (int i = 1; i < 32 * 400; i++) {
        double t = i * h, f = exp(-x * (cosh(t) - 1)) * cosh(order * t);
        sum += f;
        if (f < sum * 1e-18) {
            break;
        }
    }
    return sum * h;
}

double sf_k0e(double x)
{
    return scaled_k(0, x);
}

double sf_k1e(double x)
{
    return scaled_k(1, x);
}

double sf_k0(double x)
{
    return scaled_k(0, x) * exp(-x);
}

double sf_k1(double x)
{
    return scaled_k(1, x) * exp(-x);
}

double sf_spherical_j0(double x)
{
    return isinf(x) ? 0 : x == 0 ? 1 : sin(x) / x;
}

/* Ai: by K of order 1/3, by the Maclaurin series, by the asymptotic one. */
double sf_airy(double x)
{
    double a = fabs(x), zeta = 2.0 / 3 * a * sqrt(a);
    if (x > 1) {
        return sqrt(x / 3) / M_PI * scaled_k(1.0 / 3, zeta) * exp(-zeta);
    }
    if (x > -9) {
        double f = 1, g = x, tf = 1, tg = x, cube = x * x * x;
        for (int k = 1; k < 200; k++) {
            tf *= cube / ((3.0 * k - 1) * (3.0 * k));
            tg *= cube / ((3.0 * k) * (3.0 * k + 1));
            f += tf;
            g += tg;
        }
        return 0.355028053887817239 * f - 0.258819403792806798 * g;
    }
    double u = 1, p = 1, q = 0;
    for (int k = 1; k < 12; k++) {
        u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1)) / zeta;
        if ((k & 1) != 0) {
            q += (k & 2) != 0 ? -u : u;
        } else {
            p += (k & 2) != 0 ? -u : u;
        }
    }
    return (sin(zeta + M_PI / 4) * p - cos(zeta + M_PI / 4) * q) / (sqrt(M_PI) * pow(a, 0.25));
}

/* ---- polynomials by their recurrences -------------------------------------------------------- */

/* p0 = 1, p1 given, next = (a x + b) p1 - c p0 with coefficients by degree. */
#define POLYNOMIAL(name, first, next)                                                              \
    double name(double x, double n)                                                                \
    {                                                                                              \
        int64_t degree = n != n ? -1 : n > 1e6 ? 1000000 : (int64_t)n;                             \
        double p0 = 1, p1 = first;                                                                 \
        if (degree <= 0) {                                                                         \
            return degree < 0 ? 0 : 1;                                                             \
        }                                                                                          \
        for (int64_t i = 1; i < degree && p1 == p1; i++) {                                         \
            double k = (double)i, p2 = next;                                                       \
            (void)k;                                                                               \
            p0 = p1;                                                                               \
            p1 = p2;                                                                               \
        }                                                                                          \
        return p1;                                                                                 \
    }
POLYNOMIAL(sf_chebyshev_t, x, 2 * x * p1 - p0)
POLYNOMIAL(sf_chebyshev_u, 2 * x, 2 * x * p1 - p0)
POLYNOMIAL(sf_chebyshev_v, 2 * x - 1, 2 * x * p1 - p0)
POLYNOMIAL(sf_chebyshev_w, 2 * x + 1, 2 * x * p1 - p0)
POLYNOMIAL(sf_hermite_h, 2 * x, 2 * x * p1 - 2 * k * p0)
POLYNOMIAL(sf_hermite_he, x, x *p1 - k * p0)
POLYNOMIAL(sf_laguerre, 1 - x, ((2 * k + 1 - x) * p1 - k * p0) / (k + 1))
POLYNOMIAL(sf_legendre, x, ((2 * k + 1) * x * p1 - k * p0) / (k + 1))
