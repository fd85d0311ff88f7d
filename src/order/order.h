/* An order from the inside. One struct for the four forms: a range, a subset, weights, a mixture; `form` says which members count.
 * Immutable once made, so that threads and mixtures share it; `owners` counts the mixtures and the user. */
#ifndef MLDF_ORDER_ORDER_H
#define MLDF_ORDER_ORDER_H

#include <stdatomic.h>

#include "mldf/order.h"
#include "order/perm.h"

__extension__ typedef unsigned __int128 u128;

#define ORDER_COUNT_MAX ((uint64_t)1 << 63)

/* Numbers that digests hold: they stay. */
enum order_form { ORDER_RANGE = 0, ORDER_SUBSET = 1, ORDER_WEIGHTS = 2, ORDER_MIXTURE = 3 };

struct order_part {
    mldf_order *order;
    uint64_t ratio;
    uint64_t first_slot; /* sum of the ratios before it */
};

struct mldf_order {
    enum order_form form;
    mldf_order_kind kind;
    uint64_t seed;
    uint64_t count; /* positions of an epoch */
    uint8_t digest[16];
    atomic_size_t owners;

    /* A range and a subset. */
    struct perm_shape all;  /* random */
    uint64_t block, window; /* quasi-random */
    struct perm_shape blocks, full_window;
    uint64_t *list; /* subset: the samples */
    bool mixed;     /* they are not ascending, or repeat: no inverse */

    /* Weights: sums[i] is the sum of the whole-number weights 0 .. i. */
    uint64_t *sums;
    uint64_t sum_count;

    /* A mixture. */
    struct order_part *parts;
    size_t part_count;
    uint64_t period;
    struct perm_shape slots;
};

/* A new order with the options taken and checked; its digest is still to come. */
mldf_status mldfi_order_begin(enum order_form form, const mldf_order_options *options, mldf_order **out,
                              mldf_order_options *taken, mldf_error *err);
void mldfi_order_digest(mldf_order *order);

/* Ranks of the quasi-random order (blocks.c). */
void mldfi_blocks_choose(mldf_order *order, const mldf_order_options *options);
void mldfi_blocks_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out);
uint64_t mldfi_blocks_find(const mldf_order *order, uint64_t epoch, uint64_t rank);

/* weights.c, mixture.c; positions are inside the epoch. */
void mldfi_weights_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out);
void mldfi_mixture_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out);
bool mldfi_mixture_find(const mldf_order *order, uint64_t epoch, const mldf_place *place, uint64_t *position);

/* The same as the public ones, for positions that are known to be inside. */
void mldfi_order_many(const mldf_order *order, uint64_t epoch, uint64_t first, size_t count, mldf_place *out);
/* Of a range or subset: where the rank-th of its samples comes. */
uint64_t mldfi_order_position(const mldf_order *order, uint64_t epoch, uint64_t rank);
/* Of a mixture: the place of a part's k-th draw, counted through all epochs. */
u128 mldfi_mixture_place(const mldf_order *order, const struct order_part *part, u128 k);
/* False: the sample is not in it. */
bool mldfi_order_find(const mldf_order *order, uint64_t epoch, uint64_t sample, uint64_t *position);

#endif
