/* The view pow2 from the inside: its items by length, for those who make batches of one length (view_pow2.c). */
#ifndef MLDF_ITEMS_POW2_H
#define MLDF_ITEMS_POW2_H

#include "items/packed.h"

enum { POW2_CLASSES = 31 };

struct pow2 {
    struct packed documents;          /* lengths, first_of_row and starts alone */
    uint64_t count;                   /* of documents */
    uint32_t least, most;             /* logarithms of the lengths */
    uint32_t classes;                 /* most - least + 1 */
    uint64_t first[POW2_CLASSES + 1]; /* items of 2^(least + k) tokens are [first[k], first[k + 1]) */
    uint32_t *owner;                  /* by item: its document */
};
/* Which k an item is of. */
uint32_t mldfi_pow2_class(const struct pow2 *pow2, uint64_t item);

#endif
