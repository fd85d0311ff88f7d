/* Mixtures and weights. */
#include "unit/order/orders.h"
#include "unit/order/statistics.h"

/* Each run has the ratios; each part's draws, through all epochs, are its own orders one after the other. */
static void parts_come_in_their_ratios_and_their_order(void) {
    static const uint64_t list[] = {100, 200, 300, 400};
    mldf_order *parts[3] = {range_of(10, MLDF_ORDER_RANDOM, 1, 0, 0), subset_of(list, 4, MLDF_ORDER_RANDOM, 2),
                            range_of(30, MLDF_ORDER_QUASI_RANDOM, 3, 4, 2)};
    const uint64_t ratios[3] = {3, 2, 20};
    mldf_order_part named[3] = {{parts[0], 3}, {parts[1], 2}, {parts[2], 20}};
    static const uint64_t counts[] = {0, 25, 30, 7, 101};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        mldf_order *mixed = mixture_of(named, 3, counts[c], 9);
        uint64_t count = mldf_order_count(mixed), g = 0, drawn[3] = {0, 0, 0};
        uint64_t members[3][20]; /* positions of a part's order that one run has drawn: the run permutes them */
        CHECK_EQ_U64(counts[c] ? counts[c] : 4 * 25, count); /* 10 / 3 rounded up is 4 runs */
        for (uint64_t epoch = 0; epoch < 12; epoch++) {
            mldf_place *places = epoch_of(mixed, epoch);
            for (uint64_t p = 0; p < count; p++, g++) {
                uint32_t part = places[p].part;
                REQUIRE(part < 3);
                /* The sample must be one of this run's draws that is still open. */
                uint64_t run = g / 25;
                if (g % 25 == 0) {
                    for (int j = 0; j < 3; j++) {
                        CHECK_EQ_U64(run * ratios[j], drawn[j]); /* the run before was complete */
                        for (uint64_t i = 0; i < ratios[j]; i++) {
                            uint64_t k = run * ratios[j] + i, m = mldf_order_count(parts[j]);
                            members[j][i] = sample_at(parts[j], k / m, k % m);
                        }
                    }
                }
                bool found = false;
                for (uint64_t i = 0; i < ratios[part] && !found; i++)
                    if (members[part][i] == places[p].sample) {
                        members[part][i] = MLDF_NONE;
                        found = true;
                    }
                CHECK(found);
                drawn[part]++;
            }
            free(places);
        }
        mldf_order_free(mixed);
    }
    for (int i = 0; i < 3; i++)
        mldf_order_free(parts[i]);
}

/* find gives the first position of the place, or END, exactly as a search of the epoch does. */
static void find_is_what_a_search_finds(void) {
    mldf_order *a = range_of(3, MLDF_ORDER_RANDOM, 1, 0, 0), *b = range_of(50, MLDF_ORDER_RANDOM, 2, 0, 0);
    static const uint64_t ratios[][2] = {{1, 1}, {7, 2}, {2, 30}, {1, 9}, {100, 1}};
    static const uint64_t counts[] = {0, 10, 33, 1, 4};
    for (size_t r = 0; r < 5; r++)
        for (size_t c = 0; c < 5; c++) {
            mldf_order *mixed = mixture_of((mldf_order_part[]){{a, ratios[r][0]}, {b, ratios[r][1]}}, 2, counts[c], 3);
            CHECK(mldf_order_is_invertible(mixed));
            for (uint64_t e = 0; e < 6; e++) {
                uint64_t epoch = e < 5 ? e : UINT64_MAX;
                mldf_place *places = epoch_of(mixed, epoch);
                for (uint64_t sample = 0; sample < 52; sample++)
                    for (uint32_t part = 0; part < 3; part++) {
                        mldf_place place = {sample, part};
                        uint64_t want = MLDF_NONE, got = MLDF_NONE;
                        for (uint64_t p = mldf_order_count(mixed); p-- > 0;)
                            if (places[p].sample == sample && places[p].part == part)
                                want = p;
                        mldf_status st = mldf_order_find(mixed, epoch, &place, &got, NULL);
                        CHECK_EQ_INT(want == MLDF_NONE ? MLDF_ABSENT : MLDF_OK, st);
                        CHECK_EQ_U64(want, got);
                    }
                free(places);
            }
            mldf_order_free(mixed);
        }
    mldf_order_free(a);
    mldf_order_free(b);
}

/* Classes of 500, 50 and 5 samples, as subsets with equal ratios: every run of 3 has one of each, and each class is used up evenly. */
static void class_balance_is_a_mixture_of_subsets(void) {
    enum { N = 555 };
    uint64_t lists[3][500], sizes[3] = {0, 0, 0}, uses[N] = {0};
    mldf_order *classes[3];
    mldf_order_part parts[3];
    uint32_t label[N];
    for (uint64_t i = 0; i < N; i++) {
        label[i] = i % 111 == 7 ? 2 : i % 11 == 3 && sizes[1] < 50 ? 1 : 0;
        lists[label[i]][sizes[label[i]]++] = i;
    }
    for (int c = 0; c < 3; c++) {
        classes[c] = subset_of(lists[c], sizes[c], MLDF_ORDER_RANDOM, (uint64_t)c);
        parts[c] = (mldf_order_part){classes[c], 1};
    }
    mldf_order *balanced = mixture_of(parts, 3, 0, 4);
    for (int c = 0; c < 3; c++)
        mldf_order_free(classes[c]); /* the mixture has its own */
    CHECK_EQ_U64(3 * sizes[0], mldf_order_count(balanced));
    mldf_place *places = epoch_of(balanced, 0);
    for (uint64_t p = 0; p < mldf_order_count(balanced); p++) {
        CHECK_EQ_U64(label[places[p].sample], places[p].part);
        uses[places[p].sample]++;
        if (p % 3 == 2)
            CHECK_EQ_U64(3, places[p].part + places[p - 1].part + places[p - 2].part);
    }
    for (uint64_t i = 0; i < N; i++) { /* floor or ceiling of draws / size */
        uint64_t least = sizes[0] / sizes[label[i]];
        CHECK(uses[i] == least || uses[i] == least + (sizes[0] % sizes[label[i]] != 0));
    }
    free(places);
    mldf_order_free(balanced);
}

static void wrong_mixtures_are_refused(void) {
    mldf_order *a = range_of(3, MLDF_ORDER_RANDOM, 1, 0, 0), *none = range_of(0, MLDF_ORDER_RANDOM, 1, 0, 0);
    mldf_order *huge = range_of((uint64_t)1 << 63, MLDF_ORDER_RANDOM, 1, 0, 0), *out, *mixed;
    mldf_error err;
    mixed = mixture_of((mldf_order_part[]){{a, 1}}, 1, 0, 1);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_mixture(NULL, 0, 0, NULL, &out, &err), &err);
    const mldf_order_part wrong[][2] = {{{a, 1}, {mixed, 1}}, {{a, 1}, {none, 1}},    {{a, 1}, {NULL, 1}},
                                        {{a, 1}, {a, 0}},     {{a, 1}, {a, 1 << 20}}, {{huge, 1}, {a, 3}}};
    static const char *const why[] = {"a mixture itself", "no samples", "NULL", "ratio 0", "ratio 1048576", "2^63"};
    for (size_t i = 0; i < 6; i++) {
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_mixture(wrong[i], 2, 0, NULL, &out, &err), &err);
        CHECK_CONTAINS(why[i], TEXT(err));
        CHECK(out == NULL);
    }
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_mixture(wrong[0], 1, ((uint64_t)1 << 63) + 1, NULL, &out, &err), &err);
    /* The largest numbers there are do not wrap. */
    REQUIRE_OK(mldf_order_new_mixture((mldf_order_part[]){{huge, 1 << 19}, {a, 1 << 19}}, 2, (uint64_t)1 << 63, NULL,
                                      &out, &err),
               &err);
    for (uint64_t i = 0; i < 50; i++) {
        mldf_place place;
        uint64_t position;
        CHECK_OK(mldf_order_at(out, UINT64_MAX, ((uint64_t)1 << 63) - 1 - i, &place, &err), &err);
        CHECK(place.sample < (place.part ? 3 : (uint64_t)1 << 63));
        if (place.part == 0) {
            CHECK_OK(mldf_order_find(out, UINT64_MAX, &place, &position, &err), &err);
            CHECK_EQ_U64(((uint64_t)1 << 63) - 1 - i, position);
        }
    }
    mldf_order_free(out), mldf_order_free(mixed), mldf_order_free(a), mldf_order_free(none), mldf_order_free(huge);
}

static mldf_order *weighted(const double *weights, uint64_t count, uint64_t draws, uint64_t seed) {
    mldf_order_options o = options_of(MLDF_ORDER_SEQUENTIAL, seed, 0, 0);
    mldf_order *order = NULL;
    mldf_error err = {0};
    CHECK_OK(mldf_order_new_weighted(weights, count, draws, &o, &order, &err), &err);
    return must(order, &err);
}

/* 200,000 draws: chi-square with 5 degrees of freedom; samples of weight 0 never come. */
static void draws_follow_their_weights(void) {
    static const double weights[] = {0, 1, 2.5, 0, 0.25, 4, 7, 1.25, 0};
    enum { N = 200000, COUNT = sizeof weights / sizeof *weights };
    for (int scale = -1; scale < 2; scale++) {
        double scaled[COUNT], statistic = 0;
        uint32_t cells[COUNT] = {0};
        for (int i = 0; i < COUNT; i++)
            scaled[i] = weights[i] * (scale < 0 ? 0x1p-1072 : scale ? 0x1p1020 : 1.0);
        mldf_order *order = weighted(scaled, COUNT, N, 3);
        mldf_place *places = epoch_of(order, 1);
        for (int i = 0; i < N; i++)
            cells[places[i].sample]++;
        for (int i = 0; i < COUNT; i++) {
            double expected = N * weights[i] / 16.0;
            if (expected > 0)
                statistic += (cells[i] - expected) * (cells[i] - expected) / expected;
            else
                CHECK_EQ_U64(0, cells[i]);
        }
        CHECK_CHI2(statistic, 5);
        free(places);
        mldf_order_free(order);
    }
}

static void weights_do_not_depend_on_their_scale_or_on_other_positions(void) {
    static const double weights[] = {0.1, 0.2, 0.3, 1e-3, 5}, twice[] = {0.2, 0.4, 0.6, 2e-3, 10};
    mldf_order *a = weighted(weights, 5, 1000, 1), *b = weighted(twice, 5, 1000, 1),
               *longer = weighted(weights, 5, 5000, 1);
    mldf_place *of_a = epoch_of(a, 0), *of_b = epoch_of(b, 0), *of_longer = epoch_of(longer, 0);
    CHECK_MEM_EQ(of_a, of_b, 1000 * sizeof *of_a);
    CHECK_MEM_EQ(of_a, of_longer, 1000 * sizeof *of_a);
    uint64_t position;
    mldf_error err;
    CHECK(!mldf_order_is_invertible(a));
    CHECK_STATUS(MLDF_E_STATE, mldf_order_find(a, 0, &of_a[0], &position, &err), &err);
    mldf_order *mixed = mixture_of((mldf_order_part[]){{a, 1}}, 1, 0, 1);
    CHECK(!mldf_order_is_invertible(mixed));
    CHECK_STATUS(MLDF_E_STATE, mldf_order_find(mixed, 0, &of_a[0], &position, &err), &err);
    free(of_a), free(of_b), free(of_longer);
    mldf_order_free(a), mldf_order_free(b), mldf_order_free(longer), mldf_order_free(mixed);
}

static void wrong_weights_are_refused(void) {
    static const double bad[][2] = {{1, -1}, {1, (double)NAN}, {(double)INFINITY, 1}, {0, 0}};
    mldf_order *out;
    mldf_error err;
    for (size_t i = 0; i < 4; i++)
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_weighted(bad[i], 2, 5, NULL, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_weighted(NULL, 2, 5, NULL, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_weighted(bad[0], UINT64_MAX, 5, NULL, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_weighted(NULL, 0, 5, NULL, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_new_weighted(bad[0], 1, UINT64_MAX, NULL, &out, &err), &err);
    CHECK_OK(mldf_order_new_weighted(NULL, 0, 0, NULL, &out, &err), &err);
    CHECK_EQ_U64(0, mldf_order_count(out));
    mldf_order_free(out);
    /* The ends of the range of a double; the tiny ones are never drawn. */
    const double ends[] = {1.7976931348623157e308, 4.9e-324, 1.7976931348623157e308};
    CHECK_OK(mldf_order_new_weighted(ends, 3, 1000, NULL, &out, &err), &err);
    mldf_place *places = epoch_of(out, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(places[i].sample != 1);
    free(places);
    mldf_order_free(out);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(parts_come_in_their_ratios_and_their_order);
    RUN(find_is_what_a_search_finds);
    RUN(class_balance_is_a_mixture_of_subsets);
    RUN(wrong_mixtures_are_refused);
    RUN(draws_follow_their_weights);
    RUN(weights_do_not_depend_on_their_scale_or_on_other_positions);
    RUN(wrong_weights_are_refused);
    return check_end();
}
