/* Nanoseconds for each position of an order, asked in one call and one by one: the best of ten rounds.
 *
 *     bench_order [POSITIONS]     of each measurement (default 1,000,000)
 */
#define MLDF_NODISCARD /* what comes out is not looked at, only the time it takes */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mldf/mldf.h"

enum { ROUNDS = 10 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const char *name, mldf_order *order, size_t positions, mldf_place *out) {
    uint64_t count = mldf_order_count(order);
    size_t many = count < positions ? (size_t)count : positions, single = many < 100000 ? many : 100000;
    double best_many = 1e300, best_single = 1e300;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        double start = now();
        mldf_order_many(order, round, 0, many, out, NULL);
        double took = (now() - start) / (double)many;
        best_many = took < best_many ? took : best_many;
        start = now();
        for (size_t i = 0; i < single; i++)
            mldf_order_at(order, round, i, out, NULL);
        took = (now() - start) / (double)single;
        best_single = took < best_single ? took : best_single;
    }
    printf("| %s | %" PRIu64 " | %.1f | %.1f |\n", name, count, best_many, best_single);
    mldf_order_free(order);
}

static mldf_order *range(uint64_t n, mldf_order_kind kind) {
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_order *order = NULL;
    mldf_error err;
    o.kind = kind;
    o.seed = 7;
    if (mldf_order_new(n, &o, &order, &err) < 0) {
        fprintf(stderr, "bench_order: %s\n", MLDF_ERROR_TEXT(&err));
        exit(1);
    }
    return order;
}

int main(int argc, char **argv) {
    size_t positions = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    mldf_place *out = positions ? calloc(positions, sizeof *out) : NULL;
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    mldf_order *order;
    mldf_error err;
    double *weights = calloc(1000000, sizeof *weights);
    if (!out || !weights)
        return 1;
    printf("| order | samples | in one call | one by one |\n|---|---|---|---|\n");
    for (uint64_t n = 1000; n <= 1000000000; n *= n == 1000 ? 1000 : 10)
        measure("random", range(n, MLDF_ORDER_RANDOM), positions, out);
    for (uint64_t n = 1000000; n <= 10000000; n *= 10)
        measure("quasi-random", range(n, MLDF_ORDER_QUASI_RANDOM), positions, out);
    for (int i = 0; i < 1000000; i++)
        weights[i] = i % 10;
    if (mldf_order_new_weighted(weights, 1000000, 1000000, &o, &order, &err) == MLDF_OK)
        measure("weights", order, positions, out);
    mldf_order *parts[2] = {range(1000000, MLDF_ORDER_RANDOM), range(100000, MLDF_ORDER_RANDOM)};
    if (mldf_order_new_mixture((mldf_order_part[]){{parts[0], 7}, {parts[1], 3}}, 2, 0, &o, &order, &err) == MLDF_OK)
        measure("mixture, 7 : 3", order, positions, out);
    mldf_order_free(parts[0]);
    mldf_order_free(parts[1]);
    free(weights);
    free(out);
    return 0;
}
