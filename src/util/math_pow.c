/* x^y = exp(y log x) with the logarithm as a pair: y log x may be 745, so that an ulp of the result is 2^-63 of it. Read math.c first. */
#include <math.h>

#include "util/math.h"
#include "util/math_inner.h"

static bool is_whole(double y) {
    return rint(y) <= y && rint(y) >= y;
}
static bool is_odd(double y) {
    return fabs(y) < 0x1p53 && is_whole(y) && !is_whole(0.5 * y);
}
static bool is_infinite(double y) {
    return fabs(y) > 0x1.fffffffffffffp+1023;
}

/* 0 < x, finite, x != 1. */
static double power(double x, double y) {
    double m;
    if (fabs(y) > 0x1p65) /* the logarithm is at least 2^-53 */
        return (x > 1.0) == (y > 0.0) ? (double)INFINITY : 0.0;
    double k = mldfi_log_reduce(x, &m);
    struct pair small = mldfi_log_pair(m);
    struct pair log = mldfi_sum(k * LN2_SHORT, small.hi);
    struct pair rest = mldfi_product(k, LN2_REST);
    struct pair more = mldfi_sum(log.lo, rest.hi);
    log = mldfi_sum(log.hi, more.hi);
    log.lo += more.lo + (rest.lo + small.lo) + k * LN2_LAST;
    struct pair product = mldfi_product(y, log.hi);
    product.lo += y * log.lo;
    if (fabs(product.hi) < 0x1p-900) /* a product of pairs needs room below */
        return 1.0 + product.hi;
    product = mldfi_sum_ordered(product.hi, product.lo);
    return mldfi_exp_sum(product.hi, product.lo);
}

/* The cases of C99, F.9.4.4. */
static double power_of_zero(double x, double y) {
    bool odd = is_odd(y), minus = mldfi_bits(x) >> 63 != 0;
    double magnitude = y > 0.0 ? 0.0 : (double)INFINITY;
    return odd && minus ? -magnitude : magnitude;
}

double mldfi_pow(double x, double y) {
    double a = fabs(x);
    if (!(y < 0.0 || y > 0.0)) /* 0, or NaN */
        return y != y && !(x <= 1.0 && x >= 1.0) ? y : 1.0;
    if (x != x || (x <= 1.0 && x >= 1.0))
        return x;
    if (is_infinite(y)) {
        if (a <= 1.0 && a >= 1.0)
            return 1.0;
        return (a > 1.0) == (y > 0.0) ? (double)INFINITY : 0.0;
    }
    if (!(a > 0.0))
        return power_of_zero(x, y);
    bool minus = x < 0.0 && is_odd(y);
    if (x < 0.0 && !is_infinite(x) && !is_whole(y))
        return (double)NAN;
    double result;
    if (is_infinite(a))
        result = y > 0.0 ? (double)INFINITY : 0.0;
    else
        result = a <= 1.0 && a >= 1.0 ? 1.0 : power(a, y);
    return minus ? -result : result;
}
