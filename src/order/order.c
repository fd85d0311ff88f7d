/* Orders: making them, and asking them (mldf/order.h). This file has ranges and subsets; blocks.c the quasi-random kind, weights.c and
 * mixture.c the other two forms, perm.c the permutation under all of them. docs/order.md states what each position holds. */
#include "order/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

static const char *const kind_names[] = {"sequential", "random", "quasi-random"};

const char *mldf_order_kind_name(mldf_order_kind kind) {
    return (unsigned)kind < 3 ? kind_names[kind] : "unknown";
}

mldf_status mldf_order_kind_parse(const char *text, mldf_order_kind *out, mldf_error *err) {
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, kind_names[i]) == 0) {
            *out = (mldf_order_kind)i;
            return MLDF_OK;
        }
    if (text && strcmp(text, "quasi_random") == 0) {
        *out = MLDF_ORDER_QUASI_RANDOM;
        return MLDF_OK;
    }
    return mldfi_fail(err, MLDF_E_ARGUMENT, "\"%.40s\" is not an order; there are sequential, random and quasi-random",
                      text ? text : "");
}

/* ---- Making ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_order_begin(enum order_form form, const mldf_order_options *options, mldf_order **out,
                              mldf_order_options *taken, mldf_error *err) {
    *out = NULL;
    *taken = (mldf_order_options)MLDF_ORDER_OPTIONS_INIT;
    TRY(mldfi_take_options(taken, sizeof *taken, "mldf_order_options", options, err));
    if ((unsigned)taken->kind > MLDF_ORDER_QUASI_RANDOM)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d is not a kind of order", (int)taken->kind);
    mldf_order *order = mldfi_alloc_zero(1, sizeof *order, err);
    if (!order)
        return MLDF_E_MEMORY;
    order->form = form;
    order->kind = form == ORDER_RANGE || form == ORDER_SUBSET ? taken->kind : MLDF_ORDER_RANDOM;
    order->seed = taken->seed;
    atomic_init(&order->owners, 1);
    *out = order;
    return MLDF_OK;
}

void mldf_order_free(mldf_order *order) {
    if (!order || atomic_fetch_sub_explicit(&order->owners, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < order->part_count; i++)
        mldf_order_free(order->parts[i].order);
    free(order->parts);
    free(order->list);
    free(order->sums);
    free(order);
}

/* Each entry larger than the one before. */
static bool is_ascending(const uint64_t *list, uint64_t count) {
    for (uint64_t i = 1; i < count; i++)
        if (list[i] <= list[i - 1])
            return false;
    return true;
}

static mldf_status range_or_subset(enum order_form form, const uint64_t *list, uint64_t count,
                                   const mldf_order_options *options, mldf_order **out, mldf_error *err) {
    mldf_order_options taken;
    mldf_order *order;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no place for the order");
    *out = NULL;
    if (count > ORDER_COUNT_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu64 " samples are more than 2^63", count);
    TRY(mldfi_order_begin(form, options, &order, &taken, err));
    order->count = count;
    if (order->kind == MLDF_ORDER_RANDOM)
        order->all = mldfi_perm_shape(count);
    else if (order->kind == MLDF_ORDER_QUASI_RANDOM)
        mldfi_blocks_choose(order, &taken);
    if (form == ORDER_SUBSET && count > 0) {
        /* mldf_order_new_subset has seen that the bytes of the list can be counted. */
        order->list = mldfi_alloc((size_t)count * sizeof *list, err);
        if (!order->list) {
            mldf_order_free(order);
            return MLDF_E_MEMORY;
        }
        memcpy(order->list, list, (size_t)count * sizeof *list);
        order->mixed = !is_ascending(list, count);
    }
    mldfi_order_digest(order);
    *out = order;
    return MLDF_OK;
}

mldf_status mldf_order_new(uint64_t samples, const mldf_order_options *options, mldf_order **out, mldf_error *err) {
    return range_or_subset(ORDER_RANGE, NULL, samples, options, out, err);
}

mldf_status mldf_order_new_subset(const uint64_t *samples, uint64_t count, const mldf_order_options *options,
                                  mldf_order **out, mldf_error *err) {
    if (out)
        *out = NULL;
    if (!samples && count > 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a subset of %" PRIu64 " samples without a list", count);
    if (count > SIZE_MAX / sizeof *samples)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a list of %" PRIu64 " samples does not fit into memory", count);
    return range_or_subset(ORDER_SUBSET, samples, count, options, out, err);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------------------ */

uint64_t mldf_order_count(const mldf_order *order) {
    return order ? order->count : 0;
}

bool mldf_order_is_invertible(const mldf_order *order) {
    if (!order || order->form == ORDER_WEIGHTS || order->mixed)
        return false;
    for (size_t i = 0; i < order->part_count; i++)
        if (!mldf_order_is_invertible(order->parts[i].order))
            return false;
    return true;
}

void mldf_order_blocks(const mldf_order *order, uint64_t *block, uint64_t *window) {
    *block = order->block;
    *window = order->window;
}

void mldf_order_digest(const mldf_order *order, uint8_t digest[16]) {
    memcpy(digest, order->digest, 16);
}

static void ranks(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out) {
    struct perm perm;
    switch (order->kind) {
    case MLDF_ORDER_RANDOM:
        mldfi_perm_begin(&perm, &order->all, mldfi_perm_key(order->seed, epoch, PERM_SAMPLES, 0));
        mldfi_perm_many(&perm, first, count, out);
        return;
    case MLDF_ORDER_QUASI_RANDOM:
        mldfi_blocks_many(order, epoch, first, count, out);
        return;
    case MLDF_ORDER_SEQUENTIAL:
        break;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = (mldf_place){first + i, 0};
}

void mldfi_order_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out) {
    if (count == 0)
        return;
    switch (order->form) {
    case ORDER_WEIGHTS:
        mldfi_weights_many(order, epoch, first, count, out);
        return;
    case ORDER_MIXTURE:
        mldfi_mixture_many(order, epoch, first, count, out);
        return;
    case ORDER_RANGE:
    case ORDER_SUBSET:
        break;
    }
    ranks(order, epoch, first, count, out);
    for (size_t i = 0; order->list && i < count; i++)
        out[i].sample = order->list[out[i].sample];
}

mldf_status mldf_order_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out,
                            mldf_error *err) {
    if (!order || (!out && count > 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no order, or no place for %zu answers", count);
    if (first > order->count || count > order->count - first)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "position %" PRIu64 " and %zu from it: the order has %" PRIu64 " positions", first, count,
                          order->count);
    mldfi_order_many(order, epoch, first, count, out);
    return MLDF_OK;
}

mldf_status mldf_order_at(const mldf_order *order, uint64_t epoch, uint64_t position, mldf_place *out,
                          mldf_error *err) {
    return mldf_order_many(order, epoch, position, 1, out, err);
}

/* ---- The inverse --------------------------------------------------------------------------------------------------------------- */

/* The rank of a sample in the list of a subset, or `count`. */
static uint64_t rank_of(const mldf_order *order, uint64_t sample) {
    uint64_t low = 0, high = order->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (order->list[middle] < sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low < order->count && order->list[low] == sample ? low : order->count;
}

uint64_t mldfi_order_position(const mldf_order *order, uint64_t epoch, uint64_t rank) {
    struct perm perm;
    switch (order->kind) {
    case MLDF_ORDER_RANDOM:
        mldfi_perm_begin(&perm, &order->all, mldfi_perm_key(order->seed, epoch, PERM_SAMPLES, 0));
        return mldfi_perm_find(&perm, rank);
    case MLDF_ORDER_QUASI_RANDOM:
        return mldfi_blocks_find(order, epoch, rank);
    case MLDF_ORDER_SEQUENTIAL:
        break;
    }
    return rank;
}

bool mldfi_order_find(const mldf_order *order, uint64_t epoch, uint64_t sample, uint64_t *position) {
    uint64_t rank = order->form == ORDER_SUBSET ? rank_of(order, sample) : sample;
    if (rank >= order->count)
        return false;
    *position = mldfi_order_position(order, epoch, rank);
    return true;
}

mldf_status mldf_order_find(const mldf_order *order, uint64_t epoch, const mldf_place *place, uint64_t *position,
                            mldf_error *err) {
    if (!order || !place || !position)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no order, no sample or no place for its position");
    if (!mldf_order_is_invertible(order))
        return mldfi_fail(err, MLDF_E_STATE,
                          "draws by weight, and subsets that are not ascending, have no inverse: a sample may come "
                          "often, or never");
    if (order->form == ORDER_MIXTURE)
        return mldfi_mixture_find(order, epoch, place, position) ? MLDF_OK : MLDF_ABSENT;
    if (place->part != 0)
        return MLDF_ABSENT;
    return mldfi_order_find(order, epoch, place->sample, position) ? MLDF_OK : MLDF_ABSENT;
}
