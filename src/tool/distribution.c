/* See distribution.h. */
#include "tool/distribution.h"

#include <math.h>
#include <stdlib.h>

#include "util/buffer.h"

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Below n, evenly enough: the bias is n / 2^64. */
static uint64_t random_below(uint64_t *state, uint64_t n) {
    return (uint64_t)((double)(next_random(state) >> 11) * 0x1p-53 * (double)n);
}

mldf_status mldfi_gather_add(struct gather *g, double x, mldf_error *err) {
    mldf_distribution *d = &g->out;
    if (d->count == 0 || x < d->min)
        d->min = x;
    if (d->count == 0 || x > d->max)
        d->max = x;
    d->count++;
    double off = x - d->mean;
    d->mean += off / (double)d->count;
    g->m2 += off * (x - d->mean);
    if (g->kept_count == MLDF_SUMMARY_KEPT) {
        uint64_t at = random_below(&g->random, d->count);
        if (at < MLDF_SUMMARY_KEPT)
            g->kept[at] = x;
        return MLDF_OK;
    }
    mldf_status status = mldfi_array_reserve(&g->kept, &g->kept_capacity, g->kept_count + 1, sizeof *g->kept, err);
    if (status == MLDF_OK)
        g->kept[g->kept_count++] = x;
    return status;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct gather *g, double p) {
    double at = p * (double)(g->kept_count - 1);
    size_t below = (size_t)at, above = below + 1 < g->kept_count ? below + 1 : below;
    return g->kept[below] + (g->kept[above] - g->kept[below]) * (at - (double)below);
}

/* Whole numbers in a small range get a bin each. */
static void make_bins(struct gather *g) {
    mldf_distribution *d = &g->out;
    double span = d->max - d->min;
    bool whole = floor(d->min) >= d->min && floor(d->max) >= d->max && span < MLDF_SUMMARY_BINS;
    for (size_t i = 0; whole && i < g->kept_count; i++)
        whole = floor(g->kept[i]) >= g->kept[i];
    d->bin_count = !(span > 0) ? 1 : whole ? (size_t)span + 1 : MLDF_SUMMARY_BINS;
    double width = !(span > 0) ? 0 : whole ? 1 : span / (double)d->bin_count;
    for (size_t i = 0; i < d->bin_count; i++) {
        d->bins[i].low = d->min + width * (double)i;
        d->bins[i].high = whole || i + 1 < d->bin_count ? d->min + width * (double)(i + 1) : d->max;
    }
    for (size_t i = 0; i < g->kept_count; i++) {
        double at = width > 0 ? (g->kept[i] - d->min) / width : 0;
        size_t bin = at >= (double)d->bin_count ? d->bin_count - 1 : (size_t)at;
        d->bins[bin].count++;
    }
    for (size_t i = 0; !d->exact && i < d->bin_count; i++)
        d->bins[i].count = (uint64_t)((double)d->bins[i].count * ((double)d->count / (double)g->kept_count) + 0.5);
}

void mldfi_gather_end(struct gather *g) {
    mldf_distribution *d = &g->out;
    d->exact = d->count == g->kept_count;
    if (d->count == 0)
        return;
    qsort(g->kept, g->kept_count, sizeof *g->kept, by_value);
    d->std = sqrt(g->m2 > 0 ? g->m2 / (double)d->count : 0);
    d->p50 = percentile(g, 0.5);
    d->p90 = percentile(g, 0.9);
    d->p99 = percentile(g, 0.99);
    make_bins(g);
    free(g->kept);
    g->kept = NULL;
}

void mldfi_gather_free(struct gather *g) {
    free(g->kept);
    g->kept = NULL;
}
