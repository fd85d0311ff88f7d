/* Random numbers by counter: Philox 4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A stream is
 * named, not advanced: the same (seed, epoch, position, stream) gives the same numbers on every thread, rank and machine. */
#ifndef MLDF_UTIL_RANDOM_H
#define MLDF_UTIL_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint32_t key[2];     /* of seed and epoch */
    uint32_t counter[4]; /* block, stream, position */
    uint32_t block[4];   /* what is left of the last block */
    uint32_t left;
};

/* The bijection itself: out may be the counter. */
void mldfi_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* A bijection of 64 bits whose every output bit depends on every input bit. */
uint64_t mldfi_mix64(uint64_t x);
/* The key of a seed and an epoch: for one seed all epochs differ, for one epoch all seeds. */
uint64_t mldfi_rng_key(uint64_t seed, uint64_t epoch);

/* stream: which consumer of random numbers (mldfi_rng_stream of its name); position: which sample of the epoch's global order. */
void mldfi_rng_begin(struct rng *rng, uint64_t seed, uint64_t epoch, uint64_t position, uint32_t stream);
/* A stream's number from a text (FNV-1a and a final mix); never changes. */
uint32_t mldfi_rng_stream(const char *text, size_t bytes);

uint32_t mldfi_rng_u32(struct rng *rng);
uint64_t mldfi_rng_u64(struct rng *rng);
/* [0, n) without bias; n > 0. */
uint64_t mldfi_rng_below(struct rng *rng, uint64_t n);
/* [0, 1), 53 bits. */
double mldfi_rng_unit(struct rng *rng);
/* [low, high); low when they are equal. Their difference must be finite. */
double mldfi_rng_uniform(struct rng *rng, double low, double high);
bool mldfi_rng_chance(struct rng *rng, double probability);
double mldfi_rng_normal(struct rng *rng);
/* Shapes > 0 (0 otherwise). */
double mldfi_rng_gamma(struct rng *rng, double shape);
double mldfi_rng_beta(struct rng *rng, double a, double b);

#endif
