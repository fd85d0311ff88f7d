/* Sums of two doubles, and the parts that math.c, math_pow.c and math_trig.c share. A pair is hi + lo with |lo| at most half a unit in the
 * last place of hi: twice the precision, by Dekker's and Knuth's error-free sums and products, which need no fused multiply-add. */
#ifndef MLDF_UTIL_MATH_INNER_H
#define MLDF_UTIL_MATH_INNER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct pair {
    double hi, lo;
};

/* ln 2: 32 bits, what that leaves, and what that leaves. */
#define LN2_SHORT 0x1.62e42feep-1
#define LN2_REST 0x1.a39ef35793c76p-33
#define LN2_LAST 0x1.cc01f97b57a08p-87

static inline uint64_t mldfi_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double mldfi_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/* 2^k, -1022 <= k <= 1023. */
static inline double mldfi_two_to(int k) {
    return mldfi_double((uint64_t)(k + 1023) << 52);
}

/* a + b without error; in the second |a| >= |b|. */
static inline struct pair mldfi_sum(double a, double b) {
    struct pair s = {a + b, 0.0};
    double rounded_b = s.hi - a;
    s.lo = (a - (s.hi - rounded_b)) + (b - rounded_b);
    return s;
}
static inline struct pair mldfi_sum_ordered(double a, double b) {
    struct pair s = {a + b, 0.0};
    s.lo = b - (s.hi - a);
    return s;
}
/* a b without error, for |a|, |b| < 2^990 whose product is above 2^-960. */
static inline struct pair mldfi_product(double a, double b) {
    double ta = a * 0x1.0000002p+27, tb = b * 0x1.0000002p+27; /* 2^27 + 1 */
    double ah = ta - (ta - a), bh = tb - (tb - b);
    double al = a - ah, bl = b - bh;
    struct pair p = {a * b, 0.0};
    p.lo = ((ah * bh - p.hi) + ah * bl + al * bh) + al * bl;
    return p;
}
static inline struct pair mldfi_multiply(struct pair a, struct pair b) {
    struct pair p = mldfi_product(a.hi, b.hi);
    return mldfi_sum_ordered(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* a / b, rounded once. */
static inline double mldfi_quotient(struct pair a, struct pair b) {
    double q = a.hi / b.hi;
    struct pair back = mldfi_product(q, b.hi);
    return q + ((((a.hi - back.hi) - back.lo) + a.lo) - q * b.lo) / b.hi;
}

/* c[0] + c[1] x + ... by Horner's rule. */
static inline double mldfi_polynomial(double x, const double *c, int count) {
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* exp(x + y) for |y| <= an ulp of x or so; x is no NaN. */
double mldfi_exp_sum(double x, double y);
/* x = 2^k m with m in (sqrt(1/2), sqrt(2)]; x > 0, finite. Returns k. */
int mldfi_log_reduce(double x, double *m);
/* log(m) for such an m, with a relative error of 2^-64. */
struct pair mldfi_log_pair(double m);

#endif
