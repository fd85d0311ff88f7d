/* Memory of what is parsed: many small pieces, freed at once. Begins as {0}. */
#ifndef MLDF_UTIL_ARENA_H
#define MLDF_UTIL_ARENA_H

#include "mldf/base.h"

struct arena_block;
struct arena {
    struct arena_block *blocks;
};

/* Zeroed. */
void *mldfi_arena_alloc(struct arena *arena, size_t count, size_t bytes, mldf_error *err);
/* With a 0 behind it. */
char *mldfi_arena_copy(struct arena *arena, const char *text, size_t bytes, mldf_error *err);
/* Room for one more item behind `count`; moves the items when needed. Grows at 1, 2, 4, 8 ... */
mldf_status mldfi_arena_push(struct arena *arena, void *array, size_t count, size_t item_bytes, mldf_error *err);
void mldfi_arena_free(struct arena *arena);

#endif
