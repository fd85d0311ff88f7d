/* Mixtures: runs of P = sum(ratios) positions, each with `ratio` draws of each part, in an order of the run's own. Positions are counted
 * through all epochs (g = epoch * count + position), for a part goes on where the last epoch left it.
 *
 *     g = run * P + q      slot = permutation(run)(q)      part j: first_slot(j) <= slot < first_slot(j) + ratio(j)
 *     k = run * ratio(j) + slot - first_slot(j)            the part's k-th draw: position k mod n of its epoch k div n
 *
 * g and k have up to 127 bits; an epoch of a part is counted modulo 2^64.
 */
#include <inttypes.h>

#include "order/order.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define PERIOD_MAX ((uint64_t)1 << 20)

static mldf_status check_parts(const mldf_order_part *parts, size_t part_count, uint64_t *period, mldf_error *err) {
    *period = 0;
    if (!parts || part_count == 0 || part_count > PERIOD_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a mixture has 1 to 2^20 parts, not %zu", parts ? part_count : 0);
    for (size_t i = 0; i < part_count; i++) {
        if (!parts[i].order || parts[i].order->form == ORDER_MIXTURE)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "part %zu of the mixture is %s", i,
                              parts[i].order ? "a mixture itself" : "NULL");
        if (parts[i].order->count == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "part %zu of the mixture has no samples", i);
        if (parts[i].ratio == 0 || parts[i].ratio > PERIOD_MAX - *period)
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "part %zu of the mixture has ratio %" PRIu64 "; ratios are above 0 and their sum is at "
                              "most 2^20",
                              i, parts[i].ratio);
        *period += parts[i].ratio;
    }
    return MLDF_OK;
}

/* As many whole runs as let every part come once. */
static mldf_status default_count(const mldf_order_part *parts, size_t part_count, uint64_t period, uint64_t *count,
                                 mldf_error *err) {
    uint64_t runs = 0;
    for (size_t i = 0; i < part_count; i++) {
        uint64_t n = parts[i].order->count, ratio = parts[i].ratio;
        uint64_t needed = n / ratio + (n % ratio != 0);
        if (needed > runs)
            runs = needed;
    }
    if (!mldfi_mul_u64(runs, period, count) || *count > ORDER_COUNT_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "%" PRIu64 " runs of %" PRIu64 " positions are more than 2^63: give a count", runs, period);
    return MLDF_OK;
}

mldf_status mldf_order_new_mixture(const mldf_order_part *parts, size_t part_count, uint64_t count,
                                   const mldf_order_options *options, mldf_order **out, mldf_error *err) {
    mldf_order_options taken;
    mldf_order *order;
    uint64_t period;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no place for the order");
    *out = NULL;
    mldf_status status = check_parts(parts, part_count, &period, err);
    if (status >= 0 && count == 0)
        status = default_count(parts, part_count, period, &count, err);
    if (status >= 0 && count > ORDER_COUNT_MAX)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu64 " positions are more than 2^63", count);
    if (status >= 0)
        status = mldfi_order_begin(ORDER_MIXTURE, options, &order, &taken, err);
    if (status < 0)
        return status;
    order->parts = mldfi_alloc_zero(part_count, sizeof *order->parts, err);
    if (!order->parts) {
        mldf_order_free(order);
        return MLDF_E_MEMORY;
    }
    order->count = count;
    order->period = period;
    order->slots = mldfi_perm_shape(period);
    uint64_t slot = 0;
    for (size_t i = 0; i < part_count; i++) {
        /* Orders do not change, so a shared one is as good as a copy; its count of owners is no part of its value. */
        mldf_order *part = (mldf_order *)(uintptr_t)parts[i].order;
        atomic_fetch_add_explicit(&part->owners, 1, memory_order_relaxed);
        order->parts[i] = (struct order_part){part, parts[i].ratio, slot};
        slot += parts[i].ratio;
    }
    order->part_count = part_count;
    mldfi_order_digest(order);
    *out = order;
    return MLDF_OK;
}

static void begin_run(struct perm *perm, const mldf_order *order, uint64_t run) {
    mldfi_perm_begin(perm, &order->slots, mldfi_perm_key(order->seed, 0, PERM_SLOTS, run));
}

/* The last part that begins at the slot or before. */
static size_t part_of(const mldf_order *order, uint64_t slot) {
    size_t low = 0, high = order->part_count - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (order->parts[middle].first_slot <= slot)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void mldfi_mixture_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out) {
    struct perm perm;
    u128 g = (u128)epoch * order->count + first;
    u128 run = g / order->period;
    uint64_t q = (uint64_t)(g % order->period);
    begin_run(&perm, order, (uint64_t)run);
    for (size_t i = 0; i < count; i++) {
        uint64_t slot = mldfi_perm_at(&perm, q);
        size_t index = part_of(order, slot);
        const struct order_part *part = &order->parts[index];
        u128 k = run * part->ratio + (slot - part->first_slot);
        uint64_t n = part->order->count;
        mldfi_order_many(part->order, (uint64_t)(k / n), (uint64_t)(k % n), 1, &out[i]);
        out[i].part = (uint32_t)index;
        if (++q == order->period && i + 1 < count) {
            q = 0;
            run++;
            begin_run(&perm, order, (uint64_t)run);
        }
    }
}

u128 mldfi_mixture_place(const mldf_order *order, const struct order_part *part, u128 k) {
    struct perm perm;
    u128 run = k / part->ratio;
    begin_run(&perm, order, (uint64_t)run);
    return run * order->period + mldfi_perm_find(&perm, part->first_slot + (uint64_t)(k % part->ratio));
}

/* A part visits the sample once in each of its epochs, and its epochs follow one another through the runs. So the first run that has
 * it inside [begin, end) decides; several visits in one run (a part smaller than its ratio) are compared by their places. */
bool mldfi_mixture_find(const mldf_order *order, uint64_t epoch, const mldf_place *place, uint64_t *position) {
    if (place->part >= order->part_count)
        return false;
    const struct order_part *part = &order->parts[place->part];
    uint64_t n = part->order->count, at, period = order->period;
    u128 begin = (u128)epoch * order->count, end = begin + order->count;
    u128 visit = begin / period * part->ratio / n, last_run = (end - 1) / period;
    u128 best = end, best_run = 0;
    for (;; visit++) {
        if (!mldfi_order_find(part->order, (uint64_t)visit, place->sample, &at))
            return false; /* not in this epoch, not in any */
        u128 k = visit * n + at, run = k / part->ratio;
        if (run > last_run || (best < end && run > best_run))
            break;
        u128 g = mldfi_mixture_place(order, part, k);
        if (g >= begin && g < best) {
            best = g;
            best_run = run;
        }
    }
    if (best >= end)
        return false;
    *position = (uint64_t)(best - begin);
    return true;
}
