/* Is the shuffle one? Statistics of the random and the quasi-random order against what uniform permutations give; statistics.h has the
 * thresholds (1e-6 on each side of each test). */
#include "order/perm.h"
#include "unit/order/orders.h"
#include "unit/order/statistics.h"

static void begin(struct perm *perm, uint64_t n, uint64_t seed, uint64_t epoch) {
    struct perm_shape shape = mldfi_perm_shape(n);
    mldfi_perm_begin(perm, &shape, mldfi_perm_key(seed, epoch, PERM_SAMPLES, 0));
}

/* n! cells, 60 seeds for each; also over epochs of one seed. */
static void all_permutations_of_few_samples_are_equally_likely(void) {
    uint64_t factorial = 1;
    uint32_t *cells = must(calloc(5040, sizeof *cells), NULL);
    for (uint64_t n = 2; n <= 7; n++) {
        factorial *= n;
        for (int over_epochs = 0; over_epochs < 2; over_epochs++) {
            memset(cells, 0, 5040 * sizeof *cells);
            for (uint64_t i = 0; i < 60 * factorial; i++) {
                struct perm perm;
                uint64_t index = 0;
                begin(&perm, n, over_epochs ? 77 : i, over_epochs ? i : 0);
                for (uint64_t a = 0; a < n; a++) { /* its number: digits of the factorial base */
                    uint64_t smaller = 0;
                    for (uint64_t b = a + 1; b < n; b++)
                        smaller += mldfi_perm_at(&perm, b) < mldfi_perm_at(&perm, a);
                    index = index * (n - a) + smaller;
                }
                cells[index]++;
            }
            CHECK_CHI2(stat_even(cells, factorial, 60.0), (double)factorial - 1);
        }
    }
    free(cells);
}

/* Table of position x sample over S seeds. A sum of S permutation matrices has (n - 1) / S * sum (observed - S / n)^2 ~ chi-square with
 * (n - 1)^2 degrees of freedom: an entry of the matrix has the variance (n - 1) / n^2. */
static void every_sample_is_at_every_position_equally_often(void) {
    static const uint64_t sizes[] = {5, 13, 20, 21, 22, 24, 25, 30, 36, 37, 64, 100};
    uint32_t *cells = must(calloc(100 * 100, sizeof *cells), NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint64_t n = sizes[s], seeds = 4000;
        memset(cells, 0, 100 * 100 * sizeof *cells);
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct perm perm;
            mldf_place out[100];
            begin(&perm, n, seed, s);
            mldfi_perm_many(&perm, 0, n, out);
            for (uint64_t p = 0; p < n; p++)
                cells[p * n + out[p].sample]++;
        }
        double expected = (double)seeds / (double)n, freedom = (double)((n - 1) * (n - 1));
        CHECK_CHI2(stat_even(cells, n * n, expected) * (double)(n - 1) / (double)n, freedom);
    }
    free(cells);
}

/* The ordered pair at positions (p, q), one pair for each seed, so independent: n (n - 1) cells, 40 expected in each. Same row, same
 * column and neither, before and after the border of 20. */
static void pairs_are_independent(void) {
    static const uint64_t table[][3] = {{20, 0, 1}, {21, 0, 1}, {21, 3, 4},   {24, 0, 4},
                                        {25, 0, 1}, {25, 0, 5}, {25, 23, 24}, {36, 7, 13}};
    uint32_t *cells = must(calloc(36 * 36, sizeof *cells), NULL);
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        const uint64_t n = table[t][0], pairs = n * (n - 1);
        memset(cells, 0, 36 * 36 * sizeof *cells);
        for (uint64_t seed = 0; seed < 40 * pairs; seed++) {
            struct perm perm;
            begin(&perm, n, seed, 0);
            uint64_t a = mldfi_perm_at(&perm, table[t][1]), b = mldfi_perm_at(&perm, table[t][2]);
            cells[a * (n - 1) + b - (b > a)]++;
        }
        CHECK_CHI2(stat_even(cells, pairs, 40.0), (double)pairs - 1);
    }
    free(cells);
}

/* In one large permutation the steps to the next sample, modulo n, are even over 250 cells. (The steps are not quite independent, to
 * 1 / n.) n = 999,983 is prime, 10^6 = 1000 x 1000 fills its rectangle, 2^20 has no remainder anywhere. */
static void steps_are_even(void) {
    static const uint64_t sizes[] = {999983, 1000000, 1 << 20};
    enum { CELLS = 250 };
    for (int s = 0; s < 3; s++)
        for (uint64_t lag = 1; lag <= 1000; lag *= 1000) { /* the neighbour, and one row on */
            const uint64_t n = sizes[s];
            uint32_t cells[CELLS] = {0};
            mldf_order *order = range_of(n, MLDF_ORDER_RANDOM, 5, 0, 0);
            mldf_place *places = epoch_of(order, lag);
            for (uint64_t p = 0; p + lag < n; p++) {
                uint64_t step = (places[p + lag].sample + n - places[p].sample) % n;
                cells[step * CELLS / n]++;
            }
            CHECK_CHI2(stat_even(cells, CELLS, (double)(n - lag) / CELLS), CELLS - 1);
            free(places);
            mldf_order_free(order);
        }
}

/* Pearson's correlation of two columns of 0 .. n - 1 that hold each number once: mean 0, variance 1 / (n - 1) for random ones. */
static double correlation(const mldf_place *a, const mldf_place *b, uint64_t n) {
    double mean = (double)(n - 1) / 2, sum = 0;
    for (uint64_t p = 0; p < n; p++)
        sum += ((double)a[p].sample - mean) * ((double)(b ? b[p].sample : p) - mean);
    return sum / ((double)n * ((double)n * (double)n - 1) / 12);
}

/* 16 x 16 table of where the same position goes in both: margins are fixed, so 15^2 degrees of freedom. */
static void check_unrelated(const mldf_place *a, const mldf_place *b, uint64_t n) {
    uint32_t cells[256] = {0};
    CHECK_NORMAL(correlation(a, b, n), 0.0, 1.0 / (double)(n - 1));
    for (uint64_t p = 0; p < n; p++)
        cells[a[p].sample * 16 / n * 16 + b[p].sample * 16 / n]++;
    CHECK_CHI2(stat_even(cells, 256, (double)n / 256) * (double)(n - 1) / (double)n, 225);
}

static void epochs_and_seeds_are_unrelated(void) {
    enum { N = 16 * 2000 };
    for (uint64_t i = 0; i < 20; i++) {
        mldf_order *order = range_of(N, MLDF_ORDER_RANDOM, i, 0, 0),
                   *next = range_of(N, MLDF_ORDER_RANDOM, i + 1, 0, 0);
        mldf_place *a = epoch_of(order, i), *b = epoch_of(order, i + 1), *c = epoch_of(next, i);
        mldf_place *d = epoch_of(order, i + ((uint64_t)1 << (3 * i)));
        check_unrelated(a, b, N);
        check_unrelated(a, c, N);
        check_unrelated(b, c, N); /* seed + 1 is not epoch + 1 */
        check_unrelated(a, d, N);
        CHECK_NORMAL(correlation(a, NULL, N), 0.0, 1.0 / (N - 1));
        free(a), free(b), free(c), free(d);
        mldf_order_free(order), mldf_order_free(next);
    }
}

/* The number of fixed points, and of positions that two epochs share, is Poisson with mean 1: cells 0 .. 4 and more. */
static void fixed_points_are_poisson(void) {
    static const double e = 2.718281828459045, probability[6] = {1, 1, 1 / 2.0, 1 / 6.0, 1 / 24.0, 1 / 24.0};
    static const uint64_t sizes[] = {50, 400, 1000};
    enum { SEEDS = 6000 };
    for (int s = 0; s < 3; s++) {
        uint32_t fixed[6] = {0}, shared[6] = {0};
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct perm a, b;
            mldf_place of_a[1000], of_b[1000];
            uint32_t f = 0, g = 0;
            begin(&a, sizes[s], seed, 1), begin(&b, sizes[s], seed, 2);
            mldfi_perm_many(&a, 0, sizes[s], of_a), mldfi_perm_many(&b, 0, sizes[s], of_b);
            for (uint64_t p = 0; p < sizes[s]; p++) {
                f += of_a[p].sample == p;
                g += of_a[p].sample == of_b[p].sample;
            }
            fixed[f < 5 ? f : 5]++;
            shared[g < 5 ? g : 5]++;
        }
        double first = 0, second = 0, left = SEEDS;
        for (int k = 0; k < 6; k++) {
            double expected = k < 5 ? SEEDS * probability[k] / e : left;
            left -= expected;
            first += (fixed[k] - expected) * (fixed[k] - expected) / expected;
            second += (shared[k] - expected) * (shared[k] - expected) / expected;
        }
        CHECK_CHI2(first, 5);
        CHECK_CHI2(second, 5);
    }
}

/* Were both sides of the rectangle odd, a permutation that fills it would always be even. */
static void odd_permutations_are_as_likely_as_even_ones(void) {
    static const uint64_t sizes[] = {20, 21, 25, 35, 36, 49, 63, 81, 100, 121};
    enum { SEEDS = 4000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t odd = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct perm perm;
            mldf_place out[121];
            bool seen[121] = {false};
            begin(&perm, sizes[s], seed, 9);
            mldfi_perm_many(&perm, 0, sizes[s], out);
            uint64_t cycles = 0;
            for (uint64_t p = 0; p < sizes[s]; p++) {
                cycles += !seen[p];
                for (uint64_t q = p; !seen[q]; q = out[q].sample)
                    seen[q] = true;
            }
            odd += (sizes[s] - cycles) & 1;
        }
        CHECK_NORMAL(odd, SEEDS / 2.0, SEEDS / 4.0);
    }
}

/* ---- Quasi-random ---------------------------------------------------------------------------------------------------------- */

/* 2 MiB blocks of 32 samples of 64 KiB, windows of 64 blocks: the defaults, for 100,000 samples. What counts as one independent draw is a
 * block, of which there are 3,125, so that the variances of means over samples are those of means over blocks.
 *   displacement |sample - position| / n: mean 1/3 and variance 1/18, as of two independent numbers;
 *   correlation with the position: 1 / (blocks - 1);
 *   neighbours that stay neighbours (sample + 1 right after sample): in a window of m samples W (B - 1) pairs, each with probability 1 / m,
 *   so (B - 1) / B for each window, Poisson. */
static void quasi_random_is_random_enough(void) {
    enum { N = 100000, BLOCK = 32, WINDOW = 64, BLOCKS = N / BLOCK };
    for (uint64_t seed = 0; seed < 5; seed++) {
        mldf_order *order = range_of(N, MLDF_ORDER_QUASI_RANDOM, seed, 0, 0);
        mldf_place *places = epoch_of(order, 1);
        uint64_t block, window, neighbours = 0;
        double displacement = 0;
        mldf_order_blocks(order, &block, &window);
        CHECK_EQ_U64(BLOCK, block);
        CHECK_EQ_U64(WINDOW, window);
        for (uint64_t p = 0; p < N; p++) {
            displacement += fabs((double)places[p].sample - (double)p) / N;
            neighbours += p > 0 && places[p].sample == places[p - 1].sample + 1;
        }
        CHECK_NORMAL(displacement / N, 1 / 3.0, 1 / 18.0 / BLOCKS);
        CHECK_NORMAL(correlation(places, NULL, N), 0.0, 1.0 / (BLOCKS - 1));
        double expected = (double)(BLOCK - 1) / BLOCK * BLOCKS / WINDOW;
        CHECK_NORMAL((double)neighbours, expected, expected);
        free(places);
        mldf_order_free(order);
    }
}

/* How many of the 2 MiB blocks a window's worth of positions (2,048) touches, which is what has to be read for it. Quasi-random: 64, each
 * block in one window alone, so the whole epoch reads every block once. Random: B (1 - (1 - 1/B)^m) of B blocks, its variance below
 * its mean; the epoch reads it all about 20 times over, if memory holds a window. */
static void quasi_random_saves_reads(void) {
    enum { BLOCK = 32, WINDOW = 64, PIECE = BLOCK * WINDOW, PIECES = 40, N = PIECE * PIECES, BLOCKS = N / BLOCK };
    uint64_t reads[2] = {0, 0};
    for (int quasi = 0; quasi < 2; quasi++) {
        mldf_order *order = range_of(N, quasi ? MLDF_ORDER_QUASI_RANDOM : MLDF_ORDER_RANDOM, 3, BLOCK, WINDOW);
        mldf_place *places = epoch_of(order, 0);
        for (uint64_t piece = 0; piece < PIECES; piece++) {
            uint8_t touched[BLOCKS] = {0};
            uint64_t count = 0;
            for (uint64_t p = piece * PIECE; p < (piece + 1) * PIECE; p++)
                count += !touched[places[p].sample / BLOCK]++;
            reads[quasi] += count;
            if (quasi) {
                CHECK_EQ_U64(WINDOW, count);
            } else {
                double expected = BLOCKS * (1 - pow(1 - 1.0 / BLOCKS, PIECE));
                CHECK_NORMAL((double)count, expected, expected);
            }
        }
        free(places);
        mldf_order_free(order);
    }
    CHECK_EQ_U64(BLOCKS, reads[1]);
    CHECK(reads[0] > 20 * reads[1]);
    printf("blocks read for an epoch of %d: random %" PRIu64 ", quasi-random %" PRIu64 "\n", BLOCKS, reads[0],
           reads[1]);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(all_permutations_of_few_samples_are_equally_likely);
    RUN(every_sample_is_at_every_position_equally_often);
    RUN(pairs_are_independent);
    RUN(steps_are_even);
    RUN(epochs_and_seeds_are_unrelated);
    RUN(fixed_points_are_poisson);
    RUN(odd_permutations_are_as_likely_as_even_ones);
    RUN(quasi_random_is_random_enough);
    RUN(quasi_random_saves_reads);
    return check_end();
}
