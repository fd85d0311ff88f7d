/* Rows of u8 for blur_loops.h by the products of pairs that all x86 sets have: two signed 16-bit values by two weights, added up in 32 bits.
 * The way to fit, with the sums as they are in 2^32:
 *     the middle weight, up to 65536 and even, is halved and taken twice; 65536 itself, then alone, has a loop of its own
 *     the others are at most a third of it all
 *     between the passes stands v - 2^15; since the weights add up to 2^16, the sum down lacks 2^31
 * Before the include, with V being 16-bit lanes: BLUR_V its type, BLUR_V_BYTES, and BLUR_OP(x) the intrinsic of that width. */
#include <immintrin.h>
#include <string.h>

#include "kernel/blur.h"

#define BLUR_PAIRS 1

enum { V_LANES = BLUR_V_BYTES / 2, V_PARTS = 2, V_BLOCK = V_LANES * V_PARTS };
_Static_assert(V_BLOCK * 2 <= BLUR_SLACK, "a block that begins in the row ends in its slack");

static inline BLUR_V load_v(const void *p) {
    BLUR_V v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The weight of tap k < radius + 1 when both its places are added up. */
static inline uint32_t pair_weight(const struct blur_line *l, size_t k) {
    return k ? l->weights->whole[k] : l->weights->whole[0] / 2;
}

static void across_alone(const struct blur_line *l) {
    const uint8_t *in = l->wide;
    uint16_t *out = l->out;
    for (size_t i = 0; i < l->values; i++)
        out[i] = (uint16_t)((in[i] << 8) ^ 0x8000);
    memset(out + l->values, 0, V_BLOCK * 2); /* read as part of a block */
}

static void across_u8(const struct blur_line *l) {
    if (l->radius == 0) {
        across_alone(l);
        return;
    }
    for (size_t i = 0; i < l->values; i += V_BLOCK) {
        const uint8_t *middle = (const uint8_t *)l->wide + i;
        BLUR_V low[V_PARTS], high[V_PARTS];
        for (size_t j = 0; j < V_PARTS; j++)
            low[j] = high[j] = BLUR_OP(set1_epi32)(1 << 7);
        for (size_t k = 0; k <= l->radius; k += 2) {
            size_t next = k < l->radius ? k + 1 : k; /* a last one alone has a neighbour of weight 0 */
            uint32_t weights = pair_weight(l, k) | (k < l->radius ? pair_weight(l, next) << 16 : 0);
            BLUR_V w = BLUR_OP(set1_epi32)((int)weights);
            const uint8_t *a = middle - k * l->channels, *b = middle + k * l->channels;
            const uint8_t *c = middle - next * l->channels, *d = middle + next * l->channels;
            for (size_t j = 0; j < V_PARTS; j++) {
                BLUR_V one = BLUR_OP(add_epi16)(load_bytes(a + j * V_LANES), load_bytes(b + j * V_LANES));
                BLUR_V two = BLUR_OP(add_epi16)(load_bytes(c + j * V_LANES), load_bytes(d + j * V_LANES));
                low[j] = BLUR_OP(add_epi32)(low[j], BLUR_OP(madd_epi16)(BLUR_OP(unpacklo_epi16)(one, two), w));
                high[j] = BLUR_OP(add_epi32)(high[j], BLUR_OP(madd_epi16)(BLUR_OP(unpackhi_epi16)(one, two), w));
            }
        }
        for (size_t j = 0; j < V_PARTS; j++) {
            BLUR_V v = BLUR_OP(packus_epi32)(BLUR_OP(srli_epi32)(low[j], 8), BLUR_OP(srli_epi32)(high[j], 8));
            v = BLUR_OP(add_epi16)(v, BLUR_OP(set1_epi16)(-0x8000));
            memcpy((uint16_t *)l->out + i + j * V_LANES, &v, sizeof v);
        }
    }
}

static void down_alone(const struct blur_line *l) {
    const uint16_t *in = l->above[0];
    uint8_t *out = l->out;
    for (size_t i = 0; i < l->values; i++)
        out[i] = (uint8_t)((uint32_t)((in[i] ^ 0x8000) + (1 << 7)) >> 8);
}

static void down_u8(const struct blur_line *l) {
    if (l->radius == 0) {
        down_alone(l);
        return;
    }
    for (size_t i = 0; i < l->values; i += V_BLOCK) {
        BLUR_V low[V_PARTS], high[V_PARTS];
        uint8_t out[V_BLOCK];
        for (size_t j = 0; j < V_PARTS; j++)
            low[j] = high[j] = BLUR_OP(set1_epi32)((int)(0x80000000u + (1u << 23)));
        for (size_t k = 0; k <= l->radius; k++) {
            const uint16_t *a = (const uint16_t *)l->above[k] + i, *b = (const uint16_t *)l->below[k] + i;
            BLUR_V w = BLUR_OP(set1_epi16)((short)pair_weight(l, k));
            for (size_t j = 0; j < V_PARTS; j++) {
                BLUR_V one = load_v(a + j * V_LANES), two = load_v(b + j * V_LANES);
                low[j] = BLUR_OP(add_epi32)(low[j], BLUR_OP(madd_epi16)(BLUR_OP(unpacklo_epi16)(one, two), w));
                high[j] = BLUR_OP(add_epi32)(high[j], BLUR_OP(madd_epi16)(BLUR_OP(unpackhi_epi16)(one, two), w));
            }
        }
        size_t n = l->values - i;
        uint8_t *to = n < V_BLOCK ? out : (uint8_t *)l->out + i;
        for (size_t j = 0; j < V_PARTS; j++)
            store_bytes(to + j * V_LANES,
                        BLUR_OP(packus_epi32)(BLUR_OP(srli_epi32)(low[j], 24), BLUR_OP(srli_epi32)(high[j], 24)));
        if (n < V_BLOCK)
            memcpy((uint8_t *)l->out + i, out, n);
    }
}
