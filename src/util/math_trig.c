/* Sine, cosine, tangent and the angle of a point. Read math.c first. */
#include <math.h>

#include "util/math.h"
#include "util/math_inner.h"

/* x = k pi/2 + r, |r| <= pi/4, for |x| < 2^20. pi/2 is cut into 33 + 33 + 53 bits and k has 20, so the products with the first two are
 * exact, and so is the first difference; what cancels there is made good by the rest. Returns k mod 4, or -1 out of range. */
static int reduce(double x, struct pair *r) {
    if (!(fabs(x) < 0x1p20))
        return -1;
    double k = rint(x * 0x1.45f306dc9c883p-1);
    double first = x - k * 0x1.921fb544p+0;
    struct pair a = mldfi_sum(first, -(k * 0x1.0b4611a6p-34));
    struct pair b = mldfi_sum(a.hi, -(k * 0x1.3198a2e037073p-69));
    *r = mldfi_sum_ordered(b.hi, b.lo + a.lo);
    return (int)((int64_t)k & 3);
}

/* To r^17 / 17!: 2^-62 is left out. */
static struct pair sine(struct pair r) {
    static const double c[] = {-1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800.0,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 355687428096000.0};
    double z = r.hi * r.hi;
    double cubic = r.hi * z * mldfi_polynomial(z, c, 8);
    return mldfi_sum_ordered(r.hi, cubic + r.lo * (1.0 - 0.5 * z));
}

/* To r^18 / 18!; 1 - z/2 is kept with its rounding error. */
static struct pair cosine(struct pair r) {
    static const double c[] = {1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600.0,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 6402373705728000.0};
    double z = r.hi * r.hi;
    struct pair a = mldfi_sum_ordered(1.0, -0.5 * z);
    return mldfi_sum_ordered(a.hi, a.lo + (z * z * mldfi_polynomial(z, c, 8) - r.hi * r.lo));
}

double mldfi_sin(double x) {
    struct pair r;
    if (fabs(x) < 0x1p-27)
        return x;
    int k = reduce(x, &r);
    if (k < 0)
        return (double)NAN;
    double value = (k & 1 ? cosine(r) : sine(r)).hi;
    return k & 2 ? -value : value;
}

double mldfi_cos(double x) {
    struct pair r;
    int k = reduce(x, &r);
    if (k < 0)
        return (double)NAN;
    double value = (k & 1 ? sine(r) : cosine(r)).hi;
    return k == 1 || k == 2 ? -value : value;
}

double mldfi_tan(double x) {
    struct pair r;
    if (fabs(x) < 0x1p-27)
        return x;
    int k = reduce(x, &r);
    if (k < 0)
        return (double)NAN;
    return k & 1 ? -mldfi_quotient(cosine(r), sine(r)) : mldfi_quotient(sine(r), cosine(r));
}

/* atan(n / d) for 0 < n <= d with n / d > 2^-60, d in [1, 2): the nearest multiple of 1/8, c, has a known angle, and the rest has the
 * tangent (t - c) / (1 + t c), at most 1/16. */
static struct pair angle(double n, double d) {
    static const struct pair eighths[] = {{0.0, 0.0},
                                          {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                          {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                          {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                          {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                          {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                          {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                          {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                          {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};
    static const double series[] = {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15};
    struct pair t = {n / d, 0.0};
    struct pair back = mldfi_product(t.hi, d);
    t.lo = ((n - back.hi) - back.lo) / d;
    int i = (int)rint(t.hi * 8.0);
    double c = i * 0.125;
    double above = t.hi - c; /* exact */
    double u = i == 0 ? t.hi : (above + t.lo) / (1.0 + t.hi * c);
    double z = u * u;
    double tail = u * z * mldfi_polynomial(z, series, 7) + (i == 0 ? t.lo : 0.0);
    struct pair sum = mldfi_sum(eighths[i].hi, u);
    return mldfi_sum_ordered(sum.hi, sum.lo + (tail + eighths[i].lo));
}

static int exponent(double x) {
    return (int)(mldfi_bits(x) >> 52 & 0x7ff);
}

/* x and y are finite and not 0. The angle in the first eighth, then mirrored at the diagonal, at the vertical and at the horizontal. */
static double angle_of_point(double ay, double ax, bool left) {
    static const struct pair half = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    static const struct pair full = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
    bool steep = ay > ax;
    double n = steep ? ax : ay, d = steep ? ay : ax;
    if (d < 0x1p-900) { /* out of the subnormal numbers */
        n *= 0x1p600;
        d *= 0x1p600;
    }
    struct pair a = {0.0, 0.0};
    if (exponent(d) - exponent(n) < 60) {
        double to_one = mldfi_two_to(1023 - exponent(d) < -1022 ? -1022 : 1023 - exponent(d));
        a = angle(n * to_one, d * to_one);
    } else if (!steep && !left) {
        return n / d;
    }
    struct pair from = steep ? half : full;
    if (!steep && !left)
        return a.hi + a.lo;
    /* steep: pi/2 - a on the right, pi/2 + a on the left; flat: pi - a on the left. */
    if (!(steep && left))
        a = (struct pair){-a.hi, -a.lo};
    struct pair sum = mldfi_sum_ordered(from.hi, a.hi);
    return sum.hi + (sum.lo + (from.lo + a.lo));
}

double mldfi_atan2(double y, double x) {
    double ay = fabs(y), ax = fabs(x), value;
    bool left = mldfi_bits(x) >> 63 != 0;
    if (x != x || y != y)
        return x + y;
    bool y_infinite = ay > 0x1.fffffffffffffp+1023, x_infinite = ax > 0x1.fffffffffffffp+1023;
    if (y_infinite || x_infinite) { /* C99, F.9.1.4 */
        if (y_infinite && x_infinite)
            value = left ? 0x1.2d97c7f3321d2p+1 : 0x1.921fb54442d18p-1; /* 3 pi / 4, pi / 4 */
        else
            value = y_infinite ? 0x1.921fb54442d18p+0 : left ? 0x1.921fb54442d18p+1 : 0.0;
    } else if (!(ay > 0.0)) {
        value = left ? 0x1.921fb54442d18p+1 : 0.0;
    } else if (!(ax > 0.0)) {
        value = 0x1.921fb54442d18p+0;
    } else {
        value = angle_of_point(ay, ax, left);
    }
    return mldfi_bits(y) >> 63 ? -value : value;
}
