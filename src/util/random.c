/* Random numbers by counter (random.h). Nothing here may ever give other numbers: orders and augmentations of old runs are repeated
 * from their seeds. docs/order.md states the parts that an order needs; src/util/math.c has the logarithm and the cosine. */
#include "util/random.h"

#include <math.h>

#include "util/math.h"

__extension__ typedef unsigned __int128 u128;

/* One round: two products of 32 by 32 bits, the halves crossed over. */
static inline void philox_round(uint32_t c[4], uint32_t k0, uint32_t k1) {
    uint64_t a = (uint64_t)0xd2511f53u * c[0];
    uint64_t b = (uint64_t)0xcd9e8d57u * c[2];
    uint32_t x = (uint32_t)(b >> 32) ^ c[1] ^ k0;
    uint32_t z = (uint32_t)(a >> 32) ^ c[3] ^ k1;
    c[0] = x;
    c[1] = (uint32_t)b;
    c[2] = z;
    c[3] = (uint32_t)a;
}

void mldfi_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        philox_round(c, k0, k1);
        k0 += 0x9e3779b9u; /* golden ratio */
        k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

/* The finaliser of splitmix64: a bijection, every bit of the input reaches every bit of the output. */
uint64_t mldfi_mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t mldfi_rng_key(uint64_t seed, uint64_t epoch) {
    return mldfi_mix64(mldfi_mix64(seed + 0x9e3779b97f4a7c15u) + epoch);
}

void mldfi_rng_begin(struct rng *rng, uint64_t seed, uint64_t epoch, uint64_t position, uint32_t stream) {
    uint64_t key = mldfi_rng_key(seed, epoch);
    rng->key[0] = (uint32_t)key;
    rng->key[1] = (uint32_t)(key >> 32);
    rng->counter[0] = 0;
    rng->counter[1] = stream;
    rng->counter[2] = (uint32_t)position;
    rng->counter[3] = (uint32_t)(position >> 32);
    rng->left = 0;
}

uint32_t mldfi_rng_stream(const char *text, size_t bytes) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return (uint32_t)(mldfi_mix64(hash) >> 32);
}

/* The numbers of a block leave it first to last. */
uint32_t mldfi_rng_u32(struct rng *rng) {
    if (rng->left == 0) {
        mldfi_philox(rng->key, rng->counter, rng->block);
        rng->counter[0]++;
        rng->left = 4;
    }
    return rng->block[4 - rng->left--];
}

uint64_t mldfi_rng_u64(struct rng *rng) {
    uint64_t low = mldfi_rng_u32(rng);
    return low | (uint64_t)mldfi_rng_u32(rng) << 32;
}

/* Lemire's way: the high half of a product with n is in [0, n); the few low halves that would make some results more likely
 * than others are drawn again. Up to 2^32 one 32-bit number is enough. */
uint64_t mldfi_rng_below(struct rng *rng, uint64_t n) {
    if (n <= UINT32_MAX) {
        uint32_t small = (uint32_t)n;
        uint64_t product = (uint64_t)mldfi_rng_u32(rng) * small;
        if ((uint32_t)product < small) {
            uint32_t unfair = (0u - small) % small; /* 2^32 mod n */
            while ((uint32_t)product < unfair)
                product = (uint64_t)mldfi_rng_u32(rng) * small;
        }
        return product >> 32;
    }
    u128 product = (u128)mldfi_rng_u64(rng) * n;
    if ((uint64_t)product < n) {
        uint64_t unfair = (0u - n) % n; /* 2^64 mod n */
        while ((uint64_t)product < unfair)
            product = (u128)mldfi_rng_u64(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

double mldfi_rng_unit(struct rng *rng) {
    return (double)(mldfi_rng_u64(rng) >> 11) * 0x1p-53;
}

double mldfi_rng_uniform(struct rng *rng, double low, double high) {
    double value = low + (high - low) * mldfi_rng_unit(rng);
    return value < high ? value : low; /* the sum may round up to high */
}

bool mldfi_rng_chance(struct rng *rng, double probability) {
    return mldfi_rng_unit(rng) < probability;
}

/* (0, 1]: its logarithm exists. */
static double unit_above_zero(struct rng *rng) {
    return 1.0 - mldfi_rng_unit(rng);
}

/* Box and Muller; the second number of the pair is not kept, so that a draw is always two units. */
double mldfi_rng_normal(struct rng *rng) {
    double radius = sqrt(-2.0 * mldfi_log(unit_above_zero(rng)));
    return radius * mldfi_cos(0x1.921fb54442d18p+2 * mldfi_rng_unit(rng)); /* 2 pi */
}

/* Marsaglia and Tsang (2000), for shapes of 1 and more. The result is above 0. */
static double gamma_large(struct rng *rng, double shape) {
    double d = shape - 1.0 / 3.0;
    double c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = mldfi_rng_normal(rng);
        double v = 1.0 + c * x;
        if (v <= 0.0)
            continue;
        v = v * v * v;
        double u = unit_above_zero(rng);
        if (mldfi_log(u) < 0.5 * x * x + d * (1.0 - v + mldfi_log(v)))
            return d * v;
    }
}

/* The logarithm of a gamma variate. Below shape 1: that of shape + 1 times u^(1 / shape), which may be far too small for a double. */
static double log_gamma(struct rng *rng, double shape) {
    if (shape >= 1.0)
        return mldfi_log(gamma_large(rng, shape));
    double value = mldfi_log(gamma_large(rng, shape + 1.0));
    return value + mldfi_log(unit_above_zero(rng)) / shape;
}

double mldfi_rng_gamma(struct rng *rng, double shape) {
    if (!(shape > 0.0))
        return 0.0;
    return shape >= 1.0 ? gamma_large(rng, shape) : mldfi_exp(log_gamma(rng, shape));
}

/* x / (x + y) of two gamma variates, by their logarithms: both may be smaller than any double. */
double mldfi_rng_beta(struct rng *rng, double a, double b) {
    if (!(a > 0.0) || !(b > 0.0))
        return 0.0;
    double x = log_gamma(rng, a);
    double y = log_gamma(rng, b);
    return 1.0 / (1.0 + mldfi_exp(y - x));
}
