/* The inverse of an order where a sample may come more than once: mixtures whose parts come round again, and subsets that name a sample twice.
 * docs/order.md has the arithmetic, mixture.c the words. */
#include <stdlib.h>

#include "order/order.h"
#include "util/buffer.h"
#include "util/error.h"

/* Where the sample stands in a range or subset: ranks, ascending. */
struct ranks {
    uint64_t *at;
    size_t count, capacity;
};

static mldf_status find_ranks(const mldf_order *order, uint64_t sample, struct ranks *out, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&out->at, &out->capacity, 1, sizeof *out->at, err);
    if (status < 0 || order->form != ORDER_SUBSET) {
        if (status >= 0 && sample < order->count)
            out->at[out->count++] = sample;
        return status;
    }
    for (uint64_t i = 0; i < order->count && status >= 0; i++) {
        if (order->list[i] != sample)
            continue;
        status = mldfi_array_reserve(&out->at, &out->capacity, out->count + 1, sizeof *out->at, err);
        if (status >= 0)
            out->at[out->count++] = i;
    }
    return status;
}

struct found {
    uint64_t *positions;
    size_t room, count;
};

static void add(struct found *found, uint64_t position) {
    if (found->count < found->room)
        found->positions[found->count] = position;
    found->count++;
}

/* Every visit of the part that reaches into the epoch: mixture.c, mldfi_mixture_find. */
static void find_in_mixture(const mldf_order *order, uint64_t epoch, const struct order_part *part,
                            const struct ranks *ranks, struct found *found) {
    uint64_t n = part->order->count, period = order->period;
    u128 begin = (u128)epoch * order->count, end = begin + order->count;
    u128 last = ((end - 1) / period + 1) * part->ratio; /* draws of the part up to the epoch's last run */
    for (u128 visit = begin / period * part->ratio / n; visit * n < last; visit++)
        for (size_t i = 0; i < ranks->count; i++) {
            u128 k = visit * n + mldfi_order_position(part->order, (uint64_t)visit, ranks->at[i]);
            u128 g = mldfi_mixture_place(order, part, k);
            if (g >= begin && g < end)
                add(found, (uint64_t)(g - begin));
        }
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

mldf_status mldf_order_find_all(const mldf_order *order, uint64_t epoch, const mldf_place *place, uint64_t *positions,
                                size_t room, size_t *count, mldf_error *err) {
    struct ranks ranks = {0};
    struct found found = {positions, room, 0};
    if (!order || !place || !count || (!positions && room))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no order, no sample or no place for its positions");
    *count = 0;
    bool mixture = order->form == ORDER_MIXTURE;
    if (mixture ? place->part >= order->part_count : place->part != 0)
        return MLDF_OK;
    const mldf_order *of = mixture ? order->parts[place->part].order : order;
    if (of->form == ORDER_WEIGHTS)
        return mldfi_fail(err, MLDF_E_STATE, "draws by weight have no inverse: a sample may come often, or never");
    mldf_status status = find_ranks(of, place->sample, &ranks, err);
    if (status >= 0 && mixture && order->count && ranks.count)
        find_in_mixture(order, epoch, &order->parts[place->part], &ranks, &found);
    for (size_t i = 0; i < ranks.count && status >= 0 && !mixture; i++)
        add(&found, mldfi_order_position(of, epoch, ranks.at[i]));
    if (status >= 0 && room)
        qsort(positions, found.count < room ? found.count : room, sizeof *positions, by_number);
    *count = found.count;
    free(ranks.at);
    return status < 0 ? status : MLDF_OK;
}
