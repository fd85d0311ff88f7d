/* The keyed permutation (perm.h has the idea, docs/order.md the definition and its vectors). */
#include "order/perm.h"

#include <math.h>

#include "util/random.h"

__extension__ typedef unsigned __int128 u128;

#define GOLDEN 0x9e3779b97f4a7c15u

/* ---- The parts that n and the key decide ------------------------------------------------------------------------------- */

/* The smallest r with r * r >= n. */
static uint64_t root_up(uint64_t n) {
    uint64_t r = (uint64_t)sqrt((double)n);
    while (r * r < n)
        r++;
    while (r > 0 && (r - 1) * (r - 1) >= n)
        r--;
    return r;
}

/* Two rounds fail to part a pair of numbers with probability 1 / columns or so; enough of them make that 2^-40. */
static uint32_t rounds_for(uint64_t columns) {
    uint32_t bits = 63u - (uint32_t)__builtin_clzll(columns);
    uint32_t rounds = 2 * ((40 + bits - 1) / bits);
    return rounds < 8 ? 8 : rounds;
}

struct perm_shape mldfi_perm_shape(uint64_t n) {
    struct perm_shape shape = {n, 0, 0, 0};
    if (n <= PERM_SMALL)
        return shape;
    uint64_t root = root_up(n);
    shape.rows = root + (root & 1);
    shape.columns = n / shape.rows + (n % shape.rows != 0);
    shape.rounds = rounds_for(shape.columns);
    return shape;
}

uint64_t mldfi_perm_key(uint64_t seed, uint64_t epoch, enum perm_use use, uint64_t index) {
    uint64_t key = mldfi_mix64(mldfi_rng_key(seed, epoch) + (uint64_t)use * GOLDEN);
    return mldfi_mix64(key + index);
}

/* A number in [0, n!) from 128 keyed bits (as even as 2^-64 allows), and its digits in the factorial base as the exchanges of a shuffle. */
static void begin_small(uint8_t small[PERM_SMALL], uint64_t n, uint64_t key) {
    uint64_t factorial = 1;
    for (uint64_t i = 0; i < n; i++) {
        factorial *= i + 1;
        small[i] = (uint8_t)i;
    }
    uint64_t high = mldfi_mix64(key + GOLDEN), low = mldfi_mix64(key + 2 * GOLDEN);
    uint64_t carry = (uint64_t)((u128)low * factorial >> 64);
    uint64_t rank = (uint64_t)(((u128)high * factorial + carry) >> 64);
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rank % i;
        rank /= i;
        uint8_t other = small[j];
        small[j] = small[i - 1];
        small[i - 1] = other;
    }
}

void mldfi_perm_begin(struct perm *perm, const struct perm_shape *shape, uint64_t key) {
    perm->shape = *shape;
    if (shape->rounds == 0) {
        begin_small(perm->small, shape->n, key);
        return;
    }
    for (uint32_t i = 0; i < shape->rounds; i++)
        perm->keys[i] = mldfi_mix64(key + (i + 1) * GOLDEN);
}

/* ---- The network --------------------------------------------------------------------------------------------------------- */

/* By how much a row of `side` is turned: [0, side). The same as mldfi_mix64, here so that it is inlined. */
static inline uint64_t turn(uint64_t key, uint64_t x, uint64_t side) {
    x += key;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (uint64_t)((u128)x * side >> 64);
}

static inline uint64_t add(uint64_t a, uint64_t b, uint64_t side) {
    uint64_t sum = a + b;
    return sum >= side ? sum - side : sum;
}

static inline uint64_t subtract(uint64_t a, uint64_t b, uint64_t side) {
    return a >= b ? a - b : a + side - b;
}

/* From (row, column) on until the number is below n. */
static uint64_t forward(const struct perm *perm, uint64_t row, uint64_t column) {
    const uint64_t rows = perm->shape.rows, columns = perm->shape.columns;
    uint64_t x;
    do {
        for (uint32_t i = 0; i < perm->shape.rounds; i += 2) {
            row = add(row, turn(perm->keys[i], column, rows), rows);
            column = add(column, turn(perm->keys[i + 1], row, columns), columns);
        }
        x = row * columns + column;
    } while (x >= perm->shape.n);
    return x;
}

uint64_t mldfi_perm_at(const struct perm *perm, uint64_t x) {
    if (perm->shape.rounds == 0)
        return perm->small[x];
    return forward(perm, x / perm->shape.columns, x % perm->shape.columns);
}

uint64_t mldfi_perm_find(const struct perm *perm, uint64_t y) {
    const uint64_t rows = perm->shape.rows, columns = perm->shape.columns;
    if (perm->shape.rounds == 0) {
        uint64_t x = 0;
        while (x + 1 < perm->shape.n && perm->small[x] != y)
            x++;
        return x;
    }
    uint64_t row = y / columns, column = y % columns;
    do {
        for (uint32_t i = perm->shape.rounds; i > 0; i -= 2) {
            column = subtract(column, turn(perm->keys[i - 1], row, columns), columns);
            row = subtract(row, turn(perm->keys[i - 2], column, rows), rows);
        }
        y = row * columns + column;
    } while (y >= perm->shape.n);
    return y;
}

/* Four numbers at once: a round waits for the one before it, but not for its neighbours. */
static void forward_four(const struct perm *perm, uint64_t row[4], uint64_t column[4]) {
    const uint64_t rows = perm->shape.rows, columns = perm->shape.columns;
    uint64_t r0 = row[0], r1 = row[1], r2 = row[2], r3 = row[3];
    uint64_t c0 = column[0], c1 = column[1], c2 = column[2], c3 = column[3];
    for (uint32_t i = 0; i < perm->shape.rounds; i += 2) {
        uint64_t key = perm->keys[i];
        r0 = add(r0, turn(key, c0, rows), rows);
        r1 = add(r1, turn(key, c1, rows), rows);
        r2 = add(r2, turn(key, c2, rows), rows);
        r3 = add(r3, turn(key, c3, rows), rows);
        key = perm->keys[i + 1];
        c0 = add(c0, turn(key, r0, columns), columns);
        c1 = add(c1, turn(key, r1, columns), columns);
        c2 = add(c2, turn(key, r2, columns), columns);
        c3 = add(c3, turn(key, r3, columns), columns);
    }
    row[0] = r0, row[1] = r1, row[2] = r2, row[3] = r3;
    column[0] = c0, column[1] = c1, column[2] = c2, column[3] = c3;
}

void mldfi_perm_many(const struct perm *perm, uint64_t first, size_t count, mldf_place *out) {
    const uint64_t n = perm->shape.n, columns = perm->shape.columns;
    size_t i = 0;
    if (perm->shape.rounds == 0) {
        for (; i < count; i++)
            out[i] = (mldf_place){perm->small[first + i], 0};
        return;
    }
    uint64_t row = first / columns, column = first % columns;
    while (count - i >= 4) {
        uint64_t rows4[4], columns4[4];
        for (int lane = 0; lane < 4; lane++) {
            rows4[lane] = row;
            columns4[lane] = column;
            if (++column == columns) {
                column = 0;
                row++;
            }
        }
        forward_four(perm, rows4, columns4);
        for (int lane = 0; lane < 4; lane++, i++) {
            uint64_t x = rows4[lane] * columns + columns4[lane];
            out[i] = (mldf_place){x < n ? x : forward(perm, rows4[lane], columns4[lane]), 0};
        }
    }
    for (; i < count; i++)
        out[i] = (mldf_place){mldfi_perm_at(perm, first + i), 0};
}
