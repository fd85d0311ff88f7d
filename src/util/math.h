/* Elementary functions with the same bits on every machine: polynomials of our own in IEEE double arithmetic, without fused
 * multiply-add; of libm only what IEEE 754 defines exactly (sqrt, floor, ceil, rint, fabs). tools/check_libm.sh looks with nm that
 * nothing else of it is linked. Errors are below 2 units in the last place over the stated ranges; special values as C99 has them. */
#ifndef MLDF_UTIL_MATH_H
#define MLDF_UTIL_MATH_H

double mldfi_exp(double x);
double mldfi_log(double x);
double mldfi_log2(double x);
double mldfi_log10(double x);
double mldfi_pow(double x, double y); /* x >= 0, or y whole */
double mldfi_sin(double x);           /* these three: |x| < 2^20; NaN beyond */
double mldfi_cos(double x);
double mldfi_tan(double x);
double mldfi_atan2(double y, double x);
double mldfi_tanh(double x);

#endif
