/* Special functions that the C library lacks, in double. Mirrors aten/src/ATen/native/Math.h. */
#ifndef AOT_EXEC_SPECIAL_H
#define AOT_EXEC_SPECIAL_H

double sf_erfinv(double x);
double sf_erfcx(double x); /* exp(x^2) erfc(x) */
double sf_ndtri(double p); /* quantile of the normal distribution */
double sf_digamma(double x);
double sf_polygamma(int n, double x);
/* As PyTorch computes it in f32, whose reflection loses digits at negative x. */
float sf_trigamma_f32(float x);
double sf_zeta(double s, double q); /* Hurwitz */
double sf_gamma_p(double a, double x); /* regularised lower incomplete gamma */
double sf_gamma_q(double a, double x);
/* Modified Bessel functions; e: times exp(-|x|), for k times exp(x). */
double sf_i0(double x);
double sf_i1(double x);
double sf_i0e(double x);
double sf_i1e(double x);
double sf_k0(double x);
double sf_k1(double x);
double sf_k0e(double x);
double sf_k1e(double x);
double sf_spherical_j0(double x);
double sf_airy(double x);
/* Orthogonal polynomials of degree n, which is truncated; 0 below degree 0. */
double sf_chebyshev_t(double x, double n);
double sf_chebyshev_u(double x, double n);
double sf_chebyshev_v(double x, double n);
double sf_chebyshev_w(double x, double n);
double sf_hermite_h(double x, double n);
double sf_hermite_he(double x, double n);
double sf_laguerre(double x, double n);
double sf_legendre(double x, double n);

#endif
