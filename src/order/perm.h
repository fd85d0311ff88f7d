/* A keyed permutation of [0, n) as a function: no table, constant time, invertible. Order number 1 of docs/order.md, kept for ever.
 *
 * Up to 20 a number in [0, n!) names the permutation. Above, the numbers stand in a rectangle of rows x columns >= n, and a Feistel network
 * moves them: each round turns the row by a keyed function of the column, or the column by one of the row. A number that lands
 * outside [0, n), which is rare (fewer than `rows` cells of the rectangle), goes on until it lands inside. */
#ifndef MLDF_ORDER_PERM_H
#define MLDF_ORDER_PERM_H

#include "mldf/order.h"

enum { PERM_SMALL = 20, PERM_ROUNDS_MAX = 40 };

/* What depends on n alone. */
struct perm_shape {
    uint64_t n;
    uint64_t rows, columns; /* rows is even: were both odd, only even permutations would occur */
    uint32_t rounds;        /* even; 0: small */
};

struct perm {
    struct perm_shape shape;
    uint64_t keys[PERM_ROUNDS_MAX];
    uint8_t small[PERM_SMALL];
};

/* What a permutation is for; part of its key. */
enum perm_use {
    PERM_SAMPLES = 1,
    PERM_BLOCKS = 2,
    PERM_WINDOW = 3,
    PERM_SLOTS = 4,
    PERM_TIES = 5,
    PERM_LENGTH = 6,
    PERM_BATCHES = 7
};

/* n <= 2^63. */
struct perm_shape mldfi_perm_shape(uint64_t n);
uint64_t mldfi_perm_key(uint64_t seed, uint64_t epoch, enum perm_use use, uint64_t index);
void mldfi_perm_begin(struct perm *perm, const struct perm_shape *shape, uint64_t key);

/* x < n. */
uint64_t mldfi_perm_at(const struct perm *perm, uint64_t x);
/* The x that has this y < n. */
uint64_t mldfi_perm_find(const struct perm *perm, uint64_t y);
/* out[i].sample = at(first + i), out[i].part = 0; first + count <= n. */
void mldfi_perm_many(const struct perm *perm, uint64_t first, size_t count, mldf_place *out);

#endif
