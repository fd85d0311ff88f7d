/* mldf/order.h: in which order samples are visited, and which of them belong to which batch of which rank.
 *
 * An order is a function, not a list: position p of epoch e is computed when it is asked for, in constant time and memory, and (but for
 * weights) so is its inverse. So its state is a few integers, and stopping and resuming is arithmetic.
 *
 *     mldf_order_options o = MLDF_ORDER_OPTIONS_INIT;
 *     mldf_order *order;
 *     o.kind = MLDF_ORDER_RANDOM;
 *     o.seed = 7;
 *     if (mldf_order_new(50000, &o, &order, &err) < 0) ...
 *     mldf_place place;
 *     mldf_order_at(order, 3, 0, &place, &err);     // epoch 3 begins with sample place.sample
 *     mldf_order_free(order);
 *
 * The algorithms are numbered (MLDF_ORDER_ALGORITHM, in every digest and state), stated in docs/order.md, and stay as they are for ever. An order is immutable and
 * shared by threads.
 *
 * Stability: stable.
 */
#ifndef MLDF_ORDER_H
#define MLDF_ORDER_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLDF_ORDER_ALGORITHM = 1 };

typedef enum mldf_order_kind {
    MLDF_ORDER_SEQUENTIAL = 0,
    MLDF_ORDER_RANDOM = 1, /* over all samples */
    MLDF_ORDER_QUASI_RANDOM =
        2 /* blocks of consecutive samples are permuted, and the samples inside windows of blocks */
} mldf_order_kind;
/* "sequential", "random", "quasi-random". */
MLDF_API const char *mldf_order_kind_name(mldf_order_kind kind);
/* MLDF_E_ARGUMENT names the three when it is none of them ("quasi_random" is taken too). */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_kind_parse(const char *text, mldf_order_kind *out, mldf_error *err);

typedef struct mldf_order_options {
    size_t struct_bytes;
    mldf_order_kind kind;
    uint64_t seed;
    uint64_t block;        /* quasi-random: samples of a block; 0: max(1, 2 MiB / max(1, sample_bytes)) */
    uint64_t window;       /* quasi-random: blocks of a window; 0: 128 MiB of blocks */
    uint64_t sample_bytes; /* mean bytes of a sample, for the two defaults only; 0: not known, taken as 64 KiB */
} mldf_order_options;
#define MLDF_ORDER_OPTIONS_INIT \
    { sizeof(mldf_order_options), MLDF_ORDER_SEQUENTIAL, 0, 0, 0, 0 }

typedef struct mldf_order mldf_order;

/* Over the samples [0, samples); 2^63 at most. None is fine: an order of no positions. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_new(uint64_t samples, const mldf_order_options *options,
                                                   mldf_order **out, mldf_error *err);
/* Over the given samples, in the order of the list and as often as they stand there; copied. Blocks are blocks of the list. Only a list that is
 * ascending and without repetition has an inverse. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_new_subset(const uint64_t *samples, uint64_t count,
                                                          const mldf_order_options *options, mldf_order **out,
                                                          mldf_error *err);
/* `draws` draws with replacement for each epoch, sample i with probability weights[i] / sum. Weights are finite and >= 0; they are
 * rounded to whole numbers once (of a sum of 2^61), and position p's draw depends on (seed, epoch, p) alone. kind is ignored. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_new_weighted(const double *weights, uint64_t count, uint64_t draws,
                                                            const mldf_order_options *options, mldf_order **out,
                                                            mldf_error *err);

/* One part of a mixture. Each run of sum(ratios) positions holds `ratio` draws from each part; a part's k-th draw is position
 * k mod its count of its own order at epoch k div its count. */
typedef struct mldf_order_part {
    const mldf_order
        *order;     /* no mixture, not empty; copied. Parts of the same kind, count and seed visit the same ranks */
    uint64_t ratio; /* > 0; the sum is at most 2^20 */
} mldf_order_part;
/* `count` positions for each epoch; 0: as many as let the longest part (relative to its ratio) come once, rounded up to a whole run.
 * Parts go on from epoch to epoch. Of options only the seed counts. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_new_mixture(const mldf_order_part *parts, size_t part_count,
                                                           uint64_t count, const mldf_order_options *options,
                                                           mldf_order **out, mldf_error *err);
MLDF_API void mldf_order_free(mldf_order *order);

typedef struct mldf_place {
    uint64_t sample;
    uint32_t part; /* of a mixture, else 0 */
} mldf_place;

/* Positions of one epoch. */
MLDF_API uint64_t mldf_order_count(const mldf_order *order);
MLDF_API bool mldf_order_is_invertible(const mldf_order *order);
MLDF_API MLDF_NODISCARD mldf_status mldf_order_at(const mldf_order *order, uint64_t epoch, uint64_t position,
                                                  mldf_place *out, mldf_error *err);
/* Positions first .. first + count - 1, all inside the epoch (MLDF_E_ARGUMENT else); one call instead of many, and much faster. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_many(const mldf_order *order, uint64_t epoch, uint64_t first,
                                                    size_t count, mldf_place *out, mldf_error *err);
/* The position of a place in an epoch; MLDF_ABSENT when it does not occur there (another sample, or a mixture that does not come to it);
 * MLDF_E_STATE for weights and for subsets that are not ascending. In a mixture a place may occur more than once: the first. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_find(const mldf_order *order, uint64_t epoch, const mldf_place *place,
                                                    uint64_t *position, mldf_error *err);
/* All positions of a place in an epoch, ascending: `room` of them into positions, their number into *count. None: *count is 0. Subsets in any order have
 * an inverse here, found by a look at the whole list; MLDF_E_STATE for weights. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_find_all(const mldf_order *order, uint64_t epoch,
                                                        const mldf_place *place, uint64_t *positions, size_t room,
                                                        size_t *count, mldf_error *err);
/* 128 bits over everything that defines the order: algorithm, kind, seed, block, window, counts, subset, weights, parts. It tells orders
 * apart that differ by mistake; it is not a cryptographic hash. */
MLDF_API void mldf_order_digest(const mldf_order *order, uint8_t digest[16]);
/* The block and window in use (0, 0 unless quasi-random). */
MLDF_API void mldf_order_blocks(const mldf_order *order, uint64_t *block, uint64_t *window);

/* ---- Batches and ranks ------------------------------------------------------------------------------------------------ */

/* What happens to the end of an epoch that does not fill a global batch. */
typedef enum mldf_last {
    MLDF_LAST_KEEP =
        0, /* a smaller batch; ranks differ by at most one sample. A rank that would get none repeats one, not valid */
    MLDF_LAST_DROP = 1,
    MLDF_LAST_PAD = 2 /* filled up by repeats from the epoch's beginning, not valid */
} mldf_last;

typedef struct mldf_share_options {
    size_t struct_bytes;
    uint64_t count;             /* positions of the epoch */
    uint64_t from;              /* consumed already: the first batch begins here */
    uint64_t batch_size;        /* of one rank */
    uint64_t global_batch_size; /* instead: of all ranks; at least world_size */
    uint32_t rank, world_size;  /* 0, 1 */
    mldf_last last;
} mldf_share_options;
#define MLDF_SHARE_OPTIONS_INIT \
    { sizeof(mldf_share_options), 0, 0, 0, 0, 0, 1, MLDF_LAST_KEEP }

/* A batch of one rank: positions [first, first + count) of the epoch's order, of which the first `valid` count. With LAST_PAD the
 * positions wrap: position q >= options.count means q - count (again and again for tiny epochs). */
typedef struct mldf_share {
    uint64_t first;
    uint64_t count, valid;
    uint64_t global_first,
        global_end; /* consumed position before and after the global batch (never above the epoch's count) */
} mldf_share;

/* Global batches that are left of the epoch: equal on all ranks. */
MLDF_API MLDF_NODISCARD mldf_status mldf_share_batch_count(const mldf_share_options *options, uint64_t *out,
                                                           mldf_error *err);
/* Batch `index` (0: the first after `from`) for this rank; MLDF_END past the last. */
MLDF_API MLDF_NODISCARD mldf_status mldf_share_batch(const mldf_share_options *options, uint64_t index, mldf_share *out,
                                                     mldf_error *err);

/* ---- State ------------------------------------------------------------------------------------------------------------- */

/* Where a run is: what was consumed, and of which order. The JSON form is below 1 kB and equal on all ranks. */
typedef struct mldf_order_state {
    uint64_t epoch;
    uint64_t consumed; /* positions of the epoch's global order */
    uint64_t count;    /* positions of an epoch */
    uint32_t algorithm;
    uint8_t digest[16];
} mldf_order_state;
/* Appended to out: {"algorithm":1,"consumed":..,"count":..,"digest":"hex","epoch":..}. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_state_write(const mldf_order_state *state, mldf_buffer *out,
                                                           mldf_error *err);
/* MLDF_E_SYNTAX with the place in the text. Members that it does not know are left alone. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_state_parse(const char *json, size_t json_bytes, mldf_order_state *out,
                                                           mldf_error *err);
/* MLDF_E_STATE with the reason when the state is not of this order: other algorithm, other count, other definition. */
MLDF_API MLDF_NODISCARD mldf_status mldf_order_state_check(const mldf_order *order, const mldf_order_state *state,
                                                           mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
