/* tests/unit/order/orders.h: making orders in one line, and reading a whole epoch. Every failure ends the test program. */
#ifndef MLDF_TESTS_ORDERS_H
#define MLDF_TESTS_ORDERS_H

#include "check.h"
#include "mldf/order.h"

static inline void *must(void *made, const mldf_error *err) {
    if (!made) {
        fprintf(stderr, "no order: %s\n", err ? err->message : "no memory");
        exit(3);
    }
    return made;
}

static inline mldf_order_options options_of(mldf_order_kind kind, uint64_t seed, uint64_t block, uint64_t window) {
    mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
    o.kind = kind;
    o.seed = seed;
    o.block = block;
    o.window = window;
    return o;
}

static inline mldf_order *range_of(uint64_t n, mldf_order_kind kind, uint64_t seed, uint64_t block, uint64_t window) {
    mldf_order_options o = options_of(kind, seed, block, window);
    mldf_order *order = NULL;
    mldf_error err = {0};
    CHECK_OK(mldf_order_new(n, &o, &order, &err), &err);
    return must(order, &err);
}

static inline mldf_order *subset_of(const uint64_t *list, uint64_t n, mldf_order_kind kind, uint64_t seed) {
    mldf_order_options o = options_of(kind, seed, 5, 3);
    mldf_order *order = NULL;
    mldf_error err = {0};
    CHECK_OK(mldf_order_new_subset(list, n, &o, &order, &err), &err);
    return must(order, &err);
}

static inline mldf_order *mixture_of(const mldf_order_part *parts, size_t part_count, uint64_t count, uint64_t seed) {
    mldf_order_options o = options_of(MLDF_ORDER_RANDOM, seed, 0, 0);
    mldf_order *order = NULL;
    mldf_error err = {0};
    CHECK_OK(mldf_order_new_mixture(parts, part_count, count, &o, &order, &err), &err);
    return must(order, &err);
}

/* All places of an epoch; the caller frees them. */
static inline mldf_place *epoch_of(const mldf_order *order, uint64_t epoch) {
    mldf_error err = {0};
    size_t n = (size_t)mldf_order_count(order);
    mldf_place *out = must(calloc(n + 1, sizeof *out), NULL);
    if (mldf_order_many(order, epoch, 0, n, out, &err) != MLDF_OK)
        must(NULL, &err);
    return out;
}

static inline uint64_t sample_at(const mldf_order *order, uint64_t epoch, uint64_t position) {
    mldf_place place = {MLDF_NONE, 0};
    mldf_error err = {0};
    CHECK_OK(mldf_order_at(order, epoch, position, &place, &err), &err);
    return place.sample;
}

#endif
