/* Draws with replacement. The weights become whole numbers once, in arithmetic that IEEE 754 fixes; a draw is a keyed number below their sum
 * and a search in the table of sums, so that position p depends on (seed, epoch, p) alone. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "order/order.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/random.h"

#define STREAM "mldf.order.weights"

static mldf_status check(const double *weights, uint64_t count, double *largest, mldf_error *err) {
    *largest = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        if (!(weights[i] >= 0.0 && weights[i] <= 0x1.fffffffffffffp+1023))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "weight %" PRIu64 " is %g; weights are finite and not negative", i,
                              weights[i]);
        if (weights[i] > *largest)
            *largest = weights[i];
    }
    return MLDF_OK;
}

/* w 2^-e with the largest in [1, 2): neither their sum nor 2^61 / sum can overflow. Two factors, for e may be -1074. */
static double scaled(double weight, double factor) {
    return weight * factor * factor;
}

/* A power of 2 whose square brings the largest weight into [1, 4). */
static double factor_for(double largest) {
    double shift = 1.0;
    if (largest < 0x1p-1022) {
        largest *= 0x1p60;
        shift = 0x1p30;
    }
    uint64_t bits;
    memcpy(&bits, &largest, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    int half = exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2);
    bits = (uint64_t)(1023 - half) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor * shift;
}

/* sums[i] = t(0) + ... + t(i), t(i) = rint(w(i) * (2^61 / sum of w)). What the roundings add is far below 2^61. */
static void tabulate(const double *weights, uint64_t count, double largest, uint64_t *sums) {
    double factor = factor_for(largest), total = 0.0;
    for (uint64_t i = 0; i < count; i++)
        total += scaled(weights[i], factor);
    double each = 0x1p61 / total;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += (uint64_t)rint(scaled(weights[i], factor) * each);
        sums[i] = sum;
    }
}

mldf_status mldf_order_new_weighted(const double *weights, uint64_t count, uint64_t draws,
                                    const mldf_order_options *options, mldf_order **out, mldf_error *err) {
    mldf_order_options taken;
    mldf_order *order;
    double largest;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no place for the order");
    *out = NULL;
    if ((!weights && count > 0) || count > SIZE_MAX / sizeof *weights)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a list of %" PRIu64 " weights that is not there", count);
    if (draws > ORDER_COUNT_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu64 " draws are more than 2^63", draws);
    TRY(check(weights, count, &largest, err));
    if (draws > 0 && !(largest > 0.0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "none of %" PRIu64 " weights is above 0: there is nothing to draw",
                          count);
    TRY(mldfi_order_begin(ORDER_WEIGHTS, options, &order, &taken, err));
    order->count = draws;
    if (largest > 0.0) {
        order->sums = mldfi_alloc((size_t)count * sizeof *order->sums, err);
        if (!order->sums) {
            mldf_order_free(order);
            return MLDF_E_MEMORY;
        }
        order->sum_count = count;
        tabulate(weights, count, largest, order->sums);
    }
    mldfi_order_digest(order);
    *out = order;
    return MLDF_OK;
}

/* The first sample whose sum is above the drawn number: a weight of 0 is never drawn. */
static uint64_t draw(const mldf_order *order, uint64_t number) {
    uint64_t low = 0, high = order->sum_count - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (order->sums[middle] <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void mldfi_weights_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out) {
    uint32_t stream = mldfi_rng_stream(STREAM, sizeof STREAM - 1);
    uint64_t sum = order->sums[order->sum_count - 1];
    for (size_t i = 0; i < count; i++) {
        struct rng rng;
        mldfi_rng_begin(&rng, order->seed, epoch, first + i, stream);
        out[i] = (mldf_place){draw(order, mldfi_rng_below(&rng, sum)), 0};
    }
}
