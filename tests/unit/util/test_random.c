/* Philox against its published vectors, and the distributions that are made of it. */
#include <math.h>

#include "check.h"
#include "unit/order/statistics.h"
#include "util/random.h"

/* From the known answers that come with Random123, philox4x32 with 10 rounds. */
static void philox_gives_the_published_answers(void) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } table[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint32_t out[4];
        mldfi_philox(table[i].key, table[i].counter, out);
        CHECK_MEM_EQ(table[i].out, out, sizeof out);
        memcpy(out, table[i].counter, sizeof out); /* in place */
        mldfi_philox(table[i].key, out, out);
        CHECK_MEM_EQ(table[i].out, out, sizeof out);
    }
}

static void a_stream_is_the_blocks_of_its_counter(void) {
    struct rng rng;
    uint64_t key = mldfi_rng_key(11, 22);
    const uint32_t halves[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    mldfi_rng_begin(&rng, 11, 22, 0x123456789abcdef0u, 77);
    for (uint32_t block = 0; block < 3; block++) {
        const uint32_t counter[4] = {block, 77, 0x9abcdef0u, 0x12345678u};
        uint32_t out[4];
        mldfi_philox(halves, counter, out);
        for (int i = 0; i < 4; i++)
            CHECK_EQ_U64(out[i], mldfi_rng_u32(&rng));
    }
    /* The key itself: computed by the Python of tests/python/test_order_reference.py, epoch_key(11, 22). */
    CHECK_EQ_U64(0x4d4f2b340733a51du, key);
    CHECK_EQ_U64(0xca07f508u, mldfi_rng_stream("hflip", 5));
}

static void seeds_epochs_positions_and_streams_give_other_numbers(void) {
    struct rng a, b;
    const uint64_t other[4][4] = {{2, 5, 9, 3}, {1, 6, 9, 3}, {1, 5, 10, 3}, {1, 5, 9, 4}};
    mldfi_rng_begin(&a, 1, 5, 9, 3);
    uint64_t first = mldfi_rng_u64(&a);
    for (int i = 0; i < 4; i++) {
        mldfi_rng_begin(&b, other[i][0], other[i][1], other[i][2], (uint32_t)other[i][3]);
        CHECK(mldfi_rng_u64(&b) != first);
    }
    CHECK(mldfi_rng_key(0, 1) != mldfi_rng_key(1, 0));
}

/* Neighbouring positions, epochs and seeds: each bit differs in half of the cases. */
static void neighbours_share_no_bits(void) {
    enum { N = 20000 };
    uint32_t differ[3][32] = {{0}};
    for (uint64_t i = 0; i < N; i++) {
        struct rng a, b;
        for (int what = 0; what < 3; what++) {
            mldfi_rng_begin(&a, i, 2, 3, 4);
            if (what == 0)
                mldfi_rng_begin(&b, i + 1, 2, 3, 4);
            else
                mldfi_rng_begin(&b, i, what == 1 ? 3 : 2, what == 2 ? 4 : 3, 4);
            uint32_t x = mldfi_rng_u32(&a) ^ mldfi_rng_u32(&b);
            for (int bit = 0; bit < 32; bit++)
                differ[what][bit] += x >> bit & 1;
        }
    }
    for (int what = 0; what < 3; what++)
        for (int bit = 0; bit < 32; bit++)
            CHECK_NORMAL(differ[what][bit], N / 2.0, N / 4.0);
}

static void below_is_even_and_below(void) {
    static const uint64_t bounds[] = {1, 2, 3, 7, 100, 1000};
    struct rng rng;
    mldfi_rng_begin(&rng, 1, 2, 3, 4);
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t cells[1000] = {0};
        for (int i = 0; i < 200000; i++) {
            uint64_t v = mldfi_rng_below(&rng, bounds[b]);
            REQUIRE(v < bounds[b]);
            cells[v]++;
        }
        if (bounds[b] > 1)
            CHECK_CHI2(stat_even(cells, bounds[b], 200000.0 / (double)bounds[b]), (double)bounds[b] - 1);
    }
    /* 3 * 2^62 and 3 * 2^30: without the second draw the first third would come twice as often as the others. */
    for (int wide = 0; wide < 2; wide++) {
        uint64_t n = (uint64_t)3 << (wide ? 62 : 30);
        uint32_t cells[3] = {0};
        for (int i = 0; i < 60000; i++)
            cells[mldfi_rng_below(&rng, n) / (n / 3)]++;
        CHECK_CHI2(stat_even(cells, 3, 20000.0), 2);
    }
    for (int i = 0; i < 1000; i++)
        CHECK(mldfi_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

static void unit_and_uniform_stay_in_range(void) {
    struct rng rng;
    double sum = 0.0;
    enum { N = 100000 };
    mldfi_rng_begin(&rng, 5, 6, 7, 8);
    for (int i = 0; i < N; i++) {
        double u = mldfi_rng_unit(&rng);
        REQUIRE(u >= 0.0 && u < 1.0);
        sum += u;
        double v = mldfi_rng_uniform(&rng, 1.0, 1.0 + 0x1p-52); /* half of the draws would round up to high */
        REQUIRE(v >= 1.0 && v < 1.0 + 0x1p-52);
    }
    CHECK_NORMAL(sum, N / 2.0, N / 12.0);
    CHECK_EQ_F64(2.5, mldfi_rng_uniform(&rng, 2.5, 2.5));
    int hits = 0;
    for (int i = 0; i < N; i++) {
        hits += mldfi_rng_chance(&rng, 0.3);
        REQUIRE(!mldfi_rng_chance(&rng, 0.0) && mldfi_rng_chance(&rng, 1.0));
    }
    CHECK_NORMAL(hits, N * 0.3, N * 0.21);
}

/* Sum and sum of squares of N draws against the moments of the distribution. */
static void moments(double (*draw)(struct rng *, double, double), double a, double b, double mean, double variance,
                    double fourth) {
    enum { N = 100000 };
    struct rng rng;
    double sum = 0.0, squares = 0.0;
    mldfi_rng_begin(&rng, 9, 9, 9, 9);
    for (int i = 0; i < N; i++) {
        double d = draw(&rng, a, b) - mean;
        sum += d;
        squares += d * d;
    }
    CHECK_NORMAL(sum, 0.0, N * variance);
    CHECK_NORMAL(squares, N * variance, N * (fourth - variance * variance));
}

static double draw_normal(struct rng *rng, double a, double b) {
    (void)a, (void)b;
    return mldfi_rng_normal(rng);
}
static double draw_gamma(struct rng *rng, double a, double b) {
    (void)b;
    return mldfi_rng_gamma(rng, a);
}

/* Fourth central moments: 3 for the normal, 3 k^2 + 6 k for gamma; beta by its excess kurtosis. */
static void distributions_have_their_moments(void) {
    static const double shapes[] = {0.3, 0.8, 1.0, 2.5, 40.0};
    static const double betas[][2] = {{0.2, 0.2}, {1.0, 1.0}, {2.0, 5.0}, {0.4, 3.0}};
    moments(draw_normal, 0, 0, 0.0, 1.0, 3.0);
    for (size_t i = 0; i < 5; i++)
        moments(draw_gamma, shapes[i], 0, shapes[i], shapes[i], 3 * shapes[i] * shapes[i] + 6 * shapes[i]);
    for (size_t i = 0; i < 4; i++) {
        double a = betas[i][0], b = betas[i][1], s = a + b;
        double variance = a * b / (s * s * (s + 1));
        double excess = 6 * ((a - b) * (a - b) * (s + 1) - a * b * (s + 2)) / (a * b * (s + 2) * (s + 3));
        moments(mldfi_rng_beta, a, b, a / s, variance, (excess + 3) * variance * variance);
    }
}

/* Of 100,000 normal numbers, in 20 cells of equal probability (bounds from the error function of libm, by bisection). */
static void normal_has_its_shape(void) {
    enum { N = 100000, CELLS = 20 };
    uint32_t cells[CELLS] = {0};
    struct rng rng;
    mldfi_rng_begin(&rng, 4, 3, 2, 1);
    for (int i = 0; i < N; i++) {
        double p = 0.5 * erfc(-mldfi_rng_normal(&rng) / sqrt(2.0));
        int cell = (int)(p * CELLS);
        cells[cell < CELLS ? cell : CELLS - 1]++;
    }
    CHECK_CHI2(stat_even(cells, CELLS, (double)N / CELLS), CELLS - 1);
}

static void tiny_shapes_end_and_stay_in_range(void) {
    struct rng rng;
    mldfi_rng_begin(&rng, 1, 1, 1, 1);
    int ends[2] = {0, 0};
    for (int i = 0; i < 2000; i++) {
        double b = mldfi_rng_beta(&rng, 1e-4, 1e-4); /* both gammas are below every double */
        REQUIRE(b >= 0.0 && b <= 1.0);
        ends[b > 0.5]++;
        REQUIRE(mldfi_rng_gamma(&rng, 1e-300) >= 0.0);
    }
    CHECK_NORMAL(ends[1], 1000.0, 500.0);
    CHECK_EQ_F64(0.0, mldfi_rng_gamma(&rng, 0.0));
    CHECK_EQ_F64(0.0, mldfi_rng_gamma(&rng, (double)NAN));
    CHECK_EQ_F64(0.0, mldfi_rng_beta(&rng, -1.0, 1.0));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(philox_gives_the_published_answers);
    RUN(a_stream_is_the_blocks_of_its_counter);
    RUN(seeds_epochs_positions_and_streams_give_other_numbers);
    RUN(neighbours_share_no_bits);
    RUN(below_is_even_and_below);
    RUN(unit_and_uniform_stay_in_range);
    RUN(distributions_have_their_moments);
    RUN(normal_has_its_shape);
    RUN(tiny_shapes_end_and_stay_in_range);
    return check_end();
}
