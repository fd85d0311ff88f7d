/* The quasi-random order: blocks of consecutive samples are permuted, then the samples inside windows of blocks. So a window's bytes are a
 * few long ranges of the file, and the samples of a batch come from all of them.
 *
 *     slots    | 7 | 2 | 9 | 4 | 0 |11 | ...     slot s holds block b(s); the short last block stands in some slot, later ones shift
 *     windows  |     0     |     1     | ...     window w is slots w W .. w W + W - 1, and its samples are permuted by its own key
 */
#include "order/order.h"

enum { TABLE = 256 }; /* blocks of a window that one call looks up at once */

#define BLOCK_BYTES ((uint64_t)2 << 20)
#define WINDOW_BYTES ((uint64_t)128 << 20)

void mldfi_blocks_choose(mldf_order *order, const mldf_order_options *options) {
    uint64_t bytes = options->sample_bytes ? options->sample_bytes : 65536;
    uint64_t block = options->block, window = options->window, all = order->count ? order->count : 1;
    if (block == 0)
        block = BLOCK_BYTES / bytes ? BLOCK_BYTES / bytes : 1;
    if (window == 0) {
        window = block > WINDOW_BYTES / bytes ? 1 : WINDOW_BYTES / (block * bytes);
    }
    /* Larger ones are the same order. */
    order->block = block < all ? block : all;
    uint64_t blocks = all / order->block + (all % order->block != 0);
    order->window = window < blocks ? window : blocks;
    if (order->count == 0)
        return;
    order->blocks = mldfi_perm_shape(blocks);
    order->full_window = mldfi_perm_shape(order->window * order->block < all ? order->window * order->block : all);
}

/* One epoch of it. */
struct layout {
    const mldf_order *order;
    uint64_t epoch, blocks;
    uint64_t missing;    /* samples that the last block lacks */
    uint64_t short_slot; /* where it stands; `blocks` when it lacks none */
    struct perm block_of;
};

static void begin(struct layout *layout, const mldf_order *order, uint64_t epoch) {
    layout->order = order;
    layout->epoch = epoch;
    layout->blocks = order->blocks.n;
    layout->missing = layout->blocks * order->block - order->count;
    mldfi_perm_begin(&layout->block_of, &order->blocks, mldfi_perm_key(order->seed, epoch, PERM_BLOCKS, 0));
    layout->short_slot = layout->missing ? mldfi_perm_find(&layout->block_of, layout->blocks - 1) : layout->blocks;
}

/* The first place of a slot; slot <= blocks. */
static uint64_t slot_start(const struct layout *layout, uint64_t slot) {
    return slot * layout->order->block - (slot > layout->short_slot ? layout->missing : 0);
}

/* The slot of a place, and the place in the slot. */
static inline uint64_t slot_at(const struct layout *layout, uint64_t place, uint64_t *offset) {
    uint64_t block = layout->order->block, slot = place / block;
    if (slot < layout->short_slot) {
        *offset = place - slot * block;
        return slot;
    }
    uint64_t start = layout->short_slot * block; /* of the short block; there is one */
    if (place - start < block - layout->missing) {
        *offset = place - start;
        return layout->short_slot;
    }
    place += layout->missing;
    slot = place / block;
    *offset = place - slot * block;
    return slot;
}

struct window {
    uint64_t first_slot, end_slot; /* slots */
    uint64_t start, end;           /* places */
    struct perm perm;
};

static void begin_window(struct window *window, const struct layout *layout, uint64_t slot) {
    const mldf_order *order = layout->order;
    uint64_t index = slot / order->window;
    window->first_slot = index * order->window;
    window->end_slot =
        layout->blocks - window->first_slot < order->window ? layout->blocks : window->first_slot + order->window;
    window->start = slot_start(layout, window->first_slot);
    window->end = slot_start(layout, window->end_slot);
    uint64_t samples = window->end - window->start;
    struct perm_shape shape = samples == order->full_window.n ? order->full_window : mldfi_perm_shape(samples);
    mldfi_perm_begin(&window->perm, &shape, mldfi_perm_key(order->seed, layout->epoch, PERM_WINDOW, index));
}

void mldfi_blocks_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out) {
    struct layout layout;
    struct window window;
    uint64_t offset, table[TABLE];
    begin(&layout, order, epoch);
    while (count > 0) {
        begin_window(&window, &layout, slot_at(&layout, first, &offset));
        size_t here = count < window.end - first ? count : (size_t)(window.end - first);
        uint64_t slots = window.end_slot - window.first_slot;
        bool tabled = slots <= TABLE && slots <= here;
        for (uint64_t s = 0; tabled && s < slots; s++)
            table[s] = mldfi_perm_at(&layout.block_of, window.first_slot + s);
        mldfi_perm_many(&window.perm, first - window.start, here, out);
        for (size_t i = 0; i < here; i++) {
            uint64_t slot = slot_at(&layout, window.start + out[i].sample, &offset);
            uint64_t block = tabled ? table[slot - window.first_slot] : mldfi_perm_at(&layout.block_of, slot);
            out[i].sample = block * order->block + offset;
        }
        first += here;
        count -= here;
        out += here;
    }
}

uint64_t mldfi_blocks_find(const mldf_order *order, uint64_t epoch, uint64_t rank) {
    struct layout layout;
    struct window window;
    begin(&layout, order, epoch);
    uint64_t slot = mldfi_perm_find(&layout.block_of, rank / order->block);
    begin_window(&window, &layout, slot);
    uint64_t place = slot_start(&layout, slot) + rank % order->block;
    return window.start + mldfi_perm_find(&window.perm, place - window.start);
}
