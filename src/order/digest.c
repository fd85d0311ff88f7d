/* What defines an order, as bytes, and 128 bits of them: two chains of XXH64, begun with the seeds 0 and 1, in which the hash of a piece is the
 * seed of the next one's. The bytes are stated in docs/order.md and stay. */
#include <string.h>
#include <xxhash.h>

#include "order/order.h"
#include "util/bytes.h"

struct chain {
    uint64_t hash[2];
};

static void absorb(struct chain *chain, const void *data, size_t bytes) {
    for (int i = 0; i < 2; i++)
        chain->hash[i] = XXH64(data, bytes, chain->hash[i]);
}

void mldfi_order_digest(mldf_order *order) {
    struct chain chain = {{0, 1}};
    uint8_t head[64];
    const uint64_t words[7] = {MLDF_ORDER_ALGORITHM, (uint64_t)order->form, (uint64_t)order->kind, order->seed,
                               order->count,         order->block,          order->window};
    memcpy(head, "mldf-ord", 8);
    for (size_t i = 0; i < 7; i++)
        mldfi_store_u64(head + 8 + 8 * i, words[i]);
    absorb(&chain, head, sizeof head);
    /* The machine is little-endian (the configure step sees to it), so the lists are their bytes. */
    if (order->list)
        absorb(&chain, order->list, (size_t)order->count * sizeof *order->list);
    if (order->sums)
        absorb(&chain, order->sums, (size_t)order->sum_count * sizeof *order->sums);
    for (size_t i = 0; i < order->part_count; i++) {
        uint8_t part[24];
        memcpy(part, order->parts[i].order->digest, 16);
        mldfi_store_u64(part + 16, order->parts[i].ratio);
        absorb(&chain, part, sizeof part);
    }
    for (int i = 0; i < 2; i++)
        mldfi_store_u64(order->digest + 8 * i, chain.hash[i]);
}
