/* Elementary functions with the same bits everywhere (math.h). The idea is the same for all: reduce the argument, exactly or as a sum of two
 * doubles, to a range so small that a short Taylor series is exact to less than the last bit, and add the largest term last. The
 * coefficients are fractions that the compiler rounds, so there is nothing to take on trust; the other constants are the nearest double
 * of a number (and of what that leaves). math_pow.c has the power, which needs more bits on the way; trigonometry is in math_trig.c. */
#include "util/math.h"

#include <math.h>

#include "util/math_inner.h"

/* ---- exp -------------------------------------------------------------------------------------------------------------- */

static const double ONE_BY_LN2 = 0x1.71547652b82fep+0;

/* Below 2^1024 and above 2^-1075: the only rounding is that of the last product. */
static double scale(double value, int k) {
    if (k > 1023)
        return value * mldfi_two_to(k - 1000) * mldfi_two_to(1000);
    if (k < -1022)
        return value * mldfi_two_to(k + 200) * mldfi_two_to(-200);
    return value * mldfi_two_to(k);
}

/* exp(hi + lo) - 1 for |hi| <= ln(2) / 2 is hi + the result: 1/2! + x/3! + ... to x^14/14!, 2^-60 of it is left out. */
static double exp_tail(double hi, double lo) {
    static const double c[] = {1.0 / 2,
                               1.0 / 6,
                               1.0 / 24,
                               1.0 / 120,
                               1.0 / 720,
                               1.0 / 5040,
                               1.0 / 40320,
                               1.0 / 362880,
                               1.0 / 3628800,
                               1.0 / 39916800,
                               1.0 / 479001600,
                               1.0 / 6227020800.0,
                               1.0 / 87178291200.0};
    double x = hi + lo;
    return x * x * mldfi_polynomial(x, c, 13) + lo;
}

/* x = k ln 2 + hi + lo. k has 11 bits and the first part of ln 2 has 32, so that their product is exact, and the difference too. */
static int exp_reduce(double x, double *hi, double *lo) {
    double k = rint(x * ONE_BY_LN2);
    double a = x - k * LN2_SHORT;
    double b = k * LN2_REST;
    *hi = a - b;
    *lo = (a - *hi) - b;
    return (int)k;
}

double mldfi_exp_sum(double x, double y) {
    double hi, lo;
    if (x > 709.79)
        return INFINITY;
    if (x < -745.14)
        return 0.0;
    int k = exp_reduce(x, &hi, &lo);
    lo += y;
    return scale(1.0 + (hi + exp_tail(hi, lo)), k);
}

double mldfi_exp(double x) {
    return x != x ? x : mldfi_exp_sum(x, 0.0);
}

/* (e - 1) / (e + 1) with e = exp(2 |x|); e - 1 is put together from its parts, so that it keeps its bits near 0. */
double mldfi_tanh(double x) {
    double a = fabs(x), hi, lo;
    if (x != x || a < 0x1p-28)
        return x;
    double result = 1.0;
    if (a < 20.0) {
        int k = exp_reduce(2.0 * a, &hi, &lo);
        double tail = exp_tail(hi, lo), power = mldfi_two_to(k);
        struct pair e = mldfi_sum(power - 1.0, power * hi);
        e = mldfi_sum_ordered(e.hi, e.lo + power * tail);
        struct pair below = mldfi_sum(e.hi, 2.0);
        below.lo += e.lo;
        result = mldfi_quotient(e, below);
    }
    return x < 0 ? -result : result;
}

/* ---- log -------------------------------------------------------------------------------------------------------------- */

int mldfi_log_reduce(double x, double *m) {
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = mldfi_bits(x);
    k += (int)(bits >> 52) - 1023;
    *m = mldfi_double((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
    if (*m > 0x1.6a09e667f3bcdp+0) { /* sqrt(2) */
        *m *= 0.5;
        k++;
    }
    return k;
}

/* log(0), log(-1), log(inf), log(nan); true when x is one of them. */
static bool log_special(double x, double *out) {
    if (x > 0.0 && x <= 0x1.fffffffffffffp+1023)
        return false;
    *out = x > 0.0 || x != x ? x : x < 0.0 ? (double)NAN : -(double)INFINITY;
    return true;
}

/* log(m) = 2 atanh(s) with s = f / (2 + f), f = m - 1; and 2 s = f - s f, in which f is exact. z = s^2 <= 0.0295; 2^-60 is left out. */
double mldfi_log(double x) {
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    double m, special;
    if (log_special(x, &special))
        return special;
    double k = mldfi_log_reduce(x, &m);
    double f = m - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double rest = s * (f - z * mldfi_polynomial(z, c, 11));
    return k * LN2_SHORT + (f - (rest - k * LN2_REST));
}

/* The same with 2^-65 of error: 2 s + (2/3) s^3 in pairs, the series from s^5 on in one double. */
struct pair mldfi_log_pair(double m) {
    static const double c[] = {2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13, 2.0 / 15,
                               2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    static const struct pair two_thirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
    double f = m - 1.0;
    struct pair below = mldfi_sum(2.0, f);
    struct pair s = {f / below.hi, 0.0};
    struct pair back = mldfi_product(s.hi, below.hi);
    s.lo = (((f - back.hi) - back.lo) - s.hi * below.lo) / below.hi;
    s = mldfi_sum_ordered(s.hi, s.lo);
    struct pair z = mldfi_product(s.hi, s.hi);
    z.lo += 2.0 * s.hi * s.lo;
    double tail = z.hi * z.hi * mldfi_polynomial(z.hi, c, 11);
    struct pair inner = mldfi_multiply(z, two_thirds);
    inner = mldfi_sum_ordered(inner.hi, inner.lo + tail);
    struct pair cubic = mldfi_multiply(inner, s);
    struct pair sum = mldfi_sum_ordered(2.0 * s.hi, cubic.hi);
    return mldfi_sum_ordered(sum.hi, sum.lo + (cubic.lo + 2.0 * s.lo));
}

/* k times the logarithm of 2 (exact in its first 32 bits) and the logarithm of m in the other base. */
static double log_base(double x, struct pair per_ln, double two_short, double two_rest) {
    double m, special;
    if (log_special(x, &special))
        return special;
    double k = mldfi_log_reduce(x, &m);
    struct pair part = mldfi_multiply(mldfi_log_pair(m), per_ln);
    struct pair sum = mldfi_sum(k * two_short, part.hi);
    return sum.hi + (sum.lo + (part.lo + k * two_rest));
}

double mldfi_log2(double x) {
    return log_base(x, (struct pair){0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}, 1.0, 0.0);
}

double mldfi_log10(double x) {
    return log_base(x, (struct pair){0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}, 0x1.34413508p-2,
                    0x1.f79fef311f12bp-34);
}
