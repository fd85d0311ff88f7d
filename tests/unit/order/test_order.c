/* Orders: each is a bijection with the inverse it claims, for every size; parts, subsets and weights keep their promises. */
#include "unit/order/orders.h"

/* Every position once, found again, and the same through `at` and through `many` in pieces. */
static void check_bijection(const mldf_order *order, uint64_t epoch, const uint64_t *list) {
    mldf_error err = {0};
    size_t n = (size_t)mldf_order_count(order);
    mldf_place *places = epoch_of(order, epoch);
    uint8_t *seen = must(calloc(n + 1, 1), NULL);
    for (size_t p = 0; p < n; p++) {
        uint64_t found = MLDF_NONE, rank = places[p].sample;
        if (list) {
            rank = 0;
            while (rank < n && list[rank] != places[p].sample)
                rank++;
        }
        REQUIRE(rank < n && places[p].part == 0);
        CHECK(!seen[rank]);
        seen[rank] = 1;
        CHECK_OK(mldf_order_find(order, epoch, &places[p], &found, &err), &err);
        CHECK_EQ_U64(p, found);
        CHECK_EQ_U64(places[p].sample, sample_at(order, epoch, p));
    }
    for (size_t first = 0, piece = 1; first < n; first += piece, piece = piece % 13 + 1) {
        mldf_place some[13];
        size_t count = n - first < piece ? n - first : piece;
        CHECK_OK(mldf_order_many(order, epoch, first, count, some, &err), &err);
        for (size_t i = 0; i < count; i++)
            CHECK_EQ_U64(places[first + i].sample, some[i].sample);
    }
    free(seen);
    free(places);
}

static void random_is_a_bijection_for_every_small_size(void) {
    for (uint64_t n = 0; n <= 300; n++) {
        mldf_order *order = range_of(n, MLDF_ORDER_RANDOM, n * 31 + 1, 0, 0);
        CHECK_EQ_U64(n, mldf_order_count(order));
        check_bijection(order, n % 5, NULL);
        mldf_order_free(order);
    }
}

static void quasi_random_is_a_bijection_for_every_small_size(void) {
    static const uint64_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {4, 3}, {10, 10}, {64, 2}, {1000, 1000}};
    for (uint64_t n = 0; n <= 300; n += n < 50 ? 1 : 7)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            mldf_order *order = range_of(n, MLDF_ORDER_QUASI_RANDOM, n + s, shapes[s][0], shapes[s][1]);
            check_bijection(order, s, NULL);
            mldf_order_free(order);
        }
}

static void sizes_around_powers_and_primes_are_bijections(void) {
    static const uint64_t sizes[] = {511,  512,  513,   1023,  1024,  1025,  2047,  2049,  4095,
                                     4097, 6561, 10007, 16383, 16385, 19937, 32767, 32769, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 3; kind++) {
            mldf_order *order = range_of(sizes[i], (mldf_order_kind)kind, i, 37, 11);
            check_bijection(order, 1, NULL);
            mldf_order_free(order);
        }
}

/* Inverse of value and value of inverse, at 2,000 positions each. An injective map into [0, n) is a bijection. */
static void large_sizes_are_inverted_where_they_are_looked_at(void) {
    static const uint64_t sizes[] = {
        1000000,           ((uint64_t)1 << 32) - 1, (uint64_t)1 << 32,        ((uint64_t)1 << 40) + 1,
        (uint64_t)1 << 40, ((uint64_t)1 << 53) + 1, ((uint64_t)1 << 62) - 57, ((uint64_t)1 << 63) - 1,
        (uint64_t)1 << 63};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int shape = 0; shape < 4; shape++) {
            const uint64_t n = sizes[i], blocks[4] = {0, 0, 1000, n / 3 + 1}, windows[4] = {0, 0, 64, 2};
            uint64_t state = n ^ (uint64_t)shape;
            mldf_order *order =
                range_of(n, shape ? MLDF_ORDER_QUASI_RANDOM : MLDF_ORDER_RANDOM, i, blocks[shape], windows[shape]);
            for (int k = 0; k < 500; k++) {
                uint64_t p = k == 0 ? 0 : k == 1 ? n - 1 : check_rand_below(&state, n), found = 0;
                mldf_place place = {sample_at(order, 3, p), 0};
                REQUIRE(place.sample < n);
                CHECK_OK(mldf_order_find(order, 3, &place, &found, NULL), NULL);
                CHECK_EQ_U64(p, found);
                place.sample = p;
                CHECK_OK(mldf_order_find(order, 3, &place, &found, NULL), NULL);
                CHECK_EQ_U64(p, sample_at(order, 3, found));
            }
            mldf_order_free(order);
        }
}

static void subsets_hold_their_samples_and_no_others(void) {
    uint64_t list[200];
    for (uint64_t n = 0; n <= 200; n += n < 30 ? 1 : 17) {
        for (uint64_t i = 0; i < n; i++)
            list[i] = i * i + 3;
        if (n > 0)
            list[n - 1] = UINT64_MAX;
        for (int kind = 0; kind < 3; kind++) {
            mldf_order *order = subset_of(list, n, (mldf_order_kind)kind, n);
            uint64_t position;
            check_bijection(order, 2, list);
            CHECK_STATUS(MLDF_ABSENT, mldf_order_find(order, 2, &(mldf_place){2, 0}, &position, NULL), NULL);
            CHECK_STATUS(MLDF_ABSENT, mldf_order_find(order, 2, &(mldf_place){3, 1}, &position, NULL), NULL);
            mldf_order_free(order);
        }
    }
}

static void epochs_and_seeds_differ(void) {
    mldf_order *a = range_of(1000, MLDF_ORDER_RANDOM, 1, 0, 0), *b = range_of(1000, MLDF_ORDER_RANDOM, 2, 0, 0);
    mldf_place *a0 = epoch_of(a, 0), *a1 = epoch_of(a, 1), *b0 = epoch_of(b, 0), *again = epoch_of(a, 0);
    CHECK_MEM_EQ(a0, again, 1000 * sizeof *a0);
    CHECK(memcmp(a0, a1, 1000 * sizeof *a0) != 0);
    CHECK(memcmp(a0, b0, 1000 * sizeof *a0) != 0);
    CHECK(memcmp(a1, b0, 1000 * sizeof *a0) != 0);
    free(a0), free(a1), free(b0), free(again);
    mldf_order_free(a), mldf_order_free(b);
}

static void blocks_have_their_defaults(void) {
    static const struct {
        uint64_t n, block, window, bytes, want_block, want_window;
    } table[] = {
        {1000000, 0, 0, 0, 32, 64},
        {1000000, 0, 0, 1, 1000000, 1},
        {1000000, 0, 0, 2097152, 1, 64},
        {1000000, 0, 0, 2097153, 1, 63},
        {1000000, 0, 0, UINT64_MAX, 1, 1},
        {1000000, 0, 0, 1000, 2097, 64},
        {1000000, 10, 0, 1048576, 10, 12},
        {1000000, 1000, 0, 1048576, 1000, 1},
        {1000000, 7, 9, 5, 7, 9},
        {50, 1000, 1000, 1, 50, 1},
        {0, 10, 10, 1, 1, 1},
        {1000000, UINT64_MAX, 0, 9, 1000000, 1},
        {1000, 10, UINT64_MAX, 0, 10, 100},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mldf_order_options o = options_of(MLDF_ORDER_QUASI_RANDOM, 1, table[i].block, table[i].window);
        mldf_order *order;
        uint64_t block, window;
        o.sample_bytes = table[i].bytes;
        REQUIRE_OK(mldf_order_new(table[i].n, &o, &order, NULL), NULL);
        mldf_order_blocks(order, &block, &window);
        CHECK_EQ_U64(table[i].want_block, block);
        CHECK_EQ_U64(table[i].want_window, window);
        mldf_order_free(order);
    }
}

/* Window w of the order holds the samples of blocks and of nothing else; the short block is one of them. */
static void quasi_random_windows_hold_whole_blocks(void) {
    enum { N = 1003, BLOCK = 10, WINDOW = 7 };
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        mldf_order *order = range_of(N, MLDF_ORDER_QUASI_RANDOM, 5, BLOCK, WINDOW);
        mldf_place *places = epoch_of(order, epoch);
        uint64_t start = 0;
        int short_windows = 0;
        while (start < N) {
            uint32_t count[N / BLOCK + 1] = {0}, blocks = 0;
            uint64_t end = start;
            /* The window ends when it has WINDOW blocks and all of them are whole. */
            for (bool whole = false; !whole && end < N;) {
                blocks += count[places[end++].sample / BLOCK]++ == 0;
                whole = blocks == WINDOW;
                for (uint64_t b = 0; b <= N / BLOCK; b++)
                    whole = whole && (count[b] == 0 || count[b] == (b == N / BLOCK ? N % BLOCK : BLOCK));
            }
            CHECK(blocks <= WINDOW);
            short_windows += count[N / BLOCK] > 0;
            start = end;
        }
        CHECK_EQ_INT(1, short_windows);
        free(places);
        mldf_order_free(order);
    }
}

/* As torch's Subset has them: any order, repetitions too. */
static void subsets_keep_the_order_of_their_list(void) {
    static const uint64_t list[] = {5, 3, 9, 3, 0}, sorted[] = {0, 3, 5, 9};
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_order *order = NULL, *ascending = NULL;
    uint8_t digests[2][16];
    uint64_t position;
    mldf_error err;
    REQUIRE_OK(mldf_order_new_subset(list, 5, &o, &order, &err), &err);
    for (uint64_t p = 0; p < 5; p++)
        CHECK_EQ_U64(list[p], sample_at(order, 7, p));
    CHECK(!mldf_order_is_invertible(order));
    CHECK_STATUS(MLDF_E_STATE, mldf_order_find(order, 0, &(mldf_place){5, 0}, &position, &err), &err);
    CHECK_CONTAINS("not ascending", TEXT(err));
    REQUIRE_OK(mldf_order_new_subset(sorted, 4, &o, &ascending, &err), &err);
    CHECK(mldf_order_is_invertible(ascending));
    CHECK_OK(mldf_order_find(ascending, 0, &(mldf_place){5, 0}, &position, &err), &err);
    CHECK_EQ_U64(2, position);
    mldf_order_digest(order, digests[0]);
    mldf_order_free(order);
    mldf_order_free(ascending);
    /* shuffled: each entry of the list once, wherever it came from */
    o.kind = MLDF_ORDER_RANDOM;
    REQUIRE_OK(mldf_order_new_subset(list, 5, &o, &order, &err), &err);
    int seen[10] = {0};
    for (uint64_t p = 0; p < 5; p++)
        seen[sample_at(order, 1, p)]++;
    CHECK(seen[0] == 1 && seen[3] == 2 && seen[5] == 1 && seen[9] == 1);
    mldf_order_digest(order, digests[1]);
    CHECK(memcmp(digests[0], digests[1], 16) != 0);
    mldf_order_free(order);
}

static void wrong_arguments_are_refused(void) {
    mldf_order *order = NULL;
    mldf_error err;
    mldf_place place;
    uint64_t list[3] = {1, 1, 2}, position;
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_order_kind kind;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new(((uint64_t)1 << 63) + 1, &o, &order, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_subset(NULL, 3, &o, &order, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_subset(list, UINT64_MAX, &o, &order, &err), &err);
    o.kind = (mldf_order_kind)3;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new(3, &o, &order, &err), &err);
    o = (mldf_order_options)MLDF_ORDER_OPTIONS_INIT;
    o.struct_bytes = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new(3, &o, &order, &err), &err);
    CHECK(order == NULL);
    REQUIRE_OK(mldf_order_new(3, NULL, &order, &err), &err);
    CHECK_EQ_U64(2, sample_at(order, 0, 2));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_at(order, 0, 3, &place, &err), &err);
    CHECK_CONTAINS("3 positions", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_at(order, 0, UINT64_MAX, &place, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_many(order, 0, 1, 3, &place, &err), &err);
    CHECK_OK(mldf_order_many(order, 0, 3, 0, NULL, &err), &err);
    CHECK_STATUS(MLDF_ABSENT, mldf_order_find(order, 0, &(mldf_place){3, 0}, &position, &err), &err);
    mldf_order_free(order);
    mldf_order_free(NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(mldf_order_kind_parse(mldf_order_kind_name((mldf_order_kind)i), &kind, &err), &err);
        CHECK_EQ_INT(i, kind);
    }
    CHECK_OK(mldf_order_kind_parse("quasi_random", &kind, &err), &err);
    CHECK_EQ_INT(MLDF_ORDER_QUASI_RANDOM, kind);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_kind_parse("shuffled", &kind, &err), &err);
    CHECK_CONTAINS("sequential, random and quasi-random", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_kind_parse(NULL, &kind, NULL), NULL);
}

/* Every member that defines an order is in its digest; what does not is not. */
static void digests_tell_orders_apart(void) {
    static const uint64_t list[] = {0, 1, 2, 4}, other[] = {0, 1, 2, 5};
    static const double weights[] = {1, 2}, more[] = {1, 3};
    mldf_order *all[16];
    mldf_order_options o = options_of(MLDF_ORDER_RANDOM, 1, 0, 0);
    uint8_t digests[16][16];
    size_t n = 0;
    all[n++] = range_of(100, MLDF_ORDER_RANDOM, 1, 0, 0);
    all[n++] = range_of(101, MLDF_ORDER_RANDOM, 1, 0, 0);
    all[n++] = range_of(100, MLDF_ORDER_RANDOM, 2, 0, 0);
    all[n++] = range_of(100, MLDF_ORDER_SEQUENTIAL, 1, 0, 0);
    all[n++] = range_of(100, MLDF_ORDER_QUASI_RANDOM, 1, 5, 3);
    all[n++] = range_of(100, MLDF_ORDER_QUASI_RANDOM, 1, 4, 3);
    all[n++] = range_of(100, MLDF_ORDER_QUASI_RANDOM, 1, 5, 4);
    all[n++] = subset_of(list, 4, MLDF_ORDER_RANDOM, 1);
    all[n++] = subset_of(other, 4, MLDF_ORDER_RANDOM, 1);
    REQUIRE_OK(mldf_order_new_weighted(weights, 2, 100, &o, &all[n++], NULL), NULL);
    REQUIRE_OK(mldf_order_new_weighted(more, 2, 100, &o, &all[n++], NULL), NULL);
    all[n++] = mixture_of((mldf_order_part[]){{all[0], 1}, {all[1], 1}}, 2, 100, 1);
    all[n++] = mixture_of((mldf_order_part[]){{all[0], 1}, {all[1], 2}}, 2, 100, 1);
    all[n++] = mixture_of((mldf_order_part[]){{all[1], 1}, {all[0], 1}}, 2, 100, 1);
    all[n++] = mixture_of((mldf_order_part[]){{all[0], 1}, {all[2], 1}}, 2, 100, 1);
    for (size_t i = 0; i < n; i++) {
        mldf_order_digest(all[i], digests[i]);
        for (size_t j = 0; j < i; j++)
            CHECK(memcmp(digests[i], digests[j], 16) != 0);
    }
    /* Block and window count for the quasi-random kind alone. */
    mldf_order *same = range_of(100, MLDF_ORDER_RANDOM, 1, 7, 8);
    mldf_order_digest(same, digests[15]);
    CHECK_MEM_EQ(digests[0], digests[15], 16);
    mldf_order_free(same);
    for (size_t i = 0; i < n; i++)
        mldf_order_free(all[i]);
}

/* The example of mldf/order.h. */
static void the_example_of_the_header_runs(void) {
    mldf_error err;
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_order *order;
    o.kind = MLDF_ORDER_RANDOM;
    o.seed = 7;
    if (mldf_order_new(50000, &o, &order, &err) < 0) {
        check_fail(__FILE__, __LINE__, "%s", err.message);
        return;
    }
    mldf_place place;
    CHECK_OK(mldf_order_at(order, 3, 0, &place, &err), &err);
    CHECK(place.sample < 50000);
    mldf_order_free(order);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(random_is_a_bijection_for_every_small_size);
    RUN(quasi_random_is_a_bijection_for_every_small_size);
    RUN(sizes_around_powers_and_primes_are_bijections);
    RUN(large_sizes_are_inverted_where_they_are_looked_at);
    RUN(subsets_hold_their_samples_and_no_others);
    RUN(epochs_and_seeds_differ);
    RUN(blocks_have_their_defaults);
    RUN(quasi_random_windows_hold_whole_blocks);
    RUN(subsets_keep_the_order_of_their_list);
    RUN(wrong_arguments_are_refused);
    RUN(digests_tell_orders_apart);
    RUN(the_example_of_the_header_runs);
    return check_end();
}
