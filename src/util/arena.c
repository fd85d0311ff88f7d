/* A list of blocks, one for each piece. See arena.h. */
#include "util/arena.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct arena_block {
    struct arena_block *next;
    max_align_t data[];
};

void *mldfi_arena_alloc(struct arena *arena, size_t count, size_t bytes, mldf_error *err) {
    uint64_t room, all;
    if (!mldfi_mul_u64(count, bytes, &room) || !mldfi_add_u64(room, sizeof(struct arena_block), &all) ||
        all > PTRDIFF_MAX) {
        (void)mldfi_fail_memory(err, SIZE_MAX);
        return NULL;
    }
    struct arena_block *block = mldfi_alloc_zero(1, (size_t)all, err);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

char *mldfi_arena_copy(struct arena *arena, const char *text, size_t bytes, mldf_error *err) {
    char *copy = mldfi_arena_alloc(arena, bytes + 1, 1, err);
    if (copy && bytes)
        memcpy(copy, text, bytes);
    return copy;
}

mldf_status mldfi_arena_push(struct arena *arena, void *array, size_t count, size_t item_bytes, mldf_error *err) {
    void *old;
    if (count & (count - 1))
        return MLDF_OK; /* room for the next power of two was made before */
    memcpy(&old, array, sizeof old);
    void *items = mldfi_arena_alloc(arena, count ? count * 2 : 1, item_bytes, err);
    if (!items)
        return MLDF_E_MEMORY;
    if (count)
        memcpy(items, old, count * item_bytes);
    memcpy(array, &items, sizeof items);
    return MLDF_OK;
}

void mldfi_arena_free(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
