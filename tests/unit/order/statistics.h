/* tests/unit/order/statistics.h: thresholds for statistical tests. Every one has a false-alarm probability of 1e-6 on each side (z = 4.7534),
 * if the numbers are what they claim to be. Seeds are fixed, so a test that passes passes for ever; the probability says how likely it is
 * that a good generator would have been refused when the seed was chosen. */
#ifndef MLDF_TESTS_STATISTICS_H
#define MLDF_TESTS_STATISTICS_H

#include <math.h>

#include "check.h"

#define STAT_Z 4.7534

/* The chi-square statistic with d degrees of freedom is between its 1e-6 and 1 - 1e-6 quantile (by Wilson and Hilferty's cube root).
 * Too small is as wrong as too large: it means that the numbers are more even than chance. */
#define CHECK_CHI2(statistic, d) check_chi2_((statistic), (d), __FILE__, __LINE__, #statistic)
CHECK_UNUSED static void check_chi2_(double statistic, double d, const char *file, int line, const char *text) {
    double a = 2.0 / (9.0 * d);
    double high = d * pow(1.0 - a + STAT_Z * sqrt(a), 3), low = d * pow(fmax(0.0, 1.0 - a - STAT_Z * sqrt(a)), 3);
    if (!(statistic <= high && statistic >= low))
        check_fail(file, line, "%s: chi-square %.4g with %.0f degrees of freedom is outside [%.4g, %.4g]", text,
                   statistic, d, low, high);
}

/* A sum of many, so normal, with this mean and variance. */
#define CHECK_NORMAL(value, mean, variance) check_normal_((value), (mean), (variance), __FILE__, __LINE__, #value)
CHECK_UNUSED static void check_normal_(double value, double mean, double variance, const char *file, int line,
                                       const char *text) {
    double z = (value - mean) / sqrt(variance);
    if (!(fabs(z) <= STAT_Z))
        check_fail(file, line, "%s: %.6g is %.2f standard deviations from %.6g", text, value, z, mean);
}

/* Sum of (observed - expected)^2 / expected over cells that expect the same. */
static inline double stat_even(const uint32_t *cells, size_t count, double expected) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (cells[i] - expected) * (cells[i] - expected) / expected;
    return sum;
}

#endif
