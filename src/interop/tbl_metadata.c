/* The metadata blocks of a TBL file: one after the other, in the order in which they were added, with no index. The first
 * question makes one: (sample, place), sorted, so that the first block of a sample is found by binary search. A block takes at
 * least as many bytes in the file as its entry takes in memory. */
#include <stdlib.h>

#include "interop/tbl_inner.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

mldf_status mldfi_tbl_block_at(const struct tbl *tbl, uint64_t offset, uint64_t *sample, struct tbl_metadata *out,
                               uint64_t *next, mldf_error *err) {
    uint64_t end = tbl->info.metadata_offset + tbl->info.metadata_bytes;
    if (!mldfi_range_inside(offset, TBL_BLOCK_HEADER, end))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset,
                             "a metadata block's header passes the end of the metadata at %llu", ULL(end));
    const uint8_t *p = tbl->data + offset;
    *sample = mldfi_load_u64(p);
    *out = (struct tbl_metadata){
        .type = mldfi_load_u16(p + 12), .data = p + TBL_BLOCK_HEADER, .bytes = mldfi_load_u32(p + 8)};
    if (!mldfi_range_inside(offset + TBL_BLOCK_HEADER, out->bytes, end))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 8,
                             "a metadata block of %u bytes passes the end of the metadata at %llu", out->bytes,
                             ULL(end));
    *next = offset + TBL_BLOCK_HEADER + out->bytes;
    return MLDF_OK;
}

static int by_sample(const void *a, const void *b) {
    const struct tbl_block *x = a, *y = b;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Under the lock. */
static mldf_status collect(struct tbl *tbl, mldf_error *err) {
    uint64_t at = tbl->info.metadata_offset, end = at + tbl->info.metadata_bytes, next;
    size_t capacity = 0, count = 0;
    bool sorted = true;
    struct tbl_block *blocks = NULL;
    mldf_status status = MLDF_OK;
    for (; status >= 0 && at < end; at = next) {
        struct tbl_metadata ignored;
        uint64_t sample;
        status = mldfi_tbl_block_at(tbl, at, &sample, &ignored, &next, err);
        if (status >= 0)
            status = mldfi_array_reserve(&blocks, &capacity, count + 1, sizeof *blocks, err);
        if (status < 0)
            break;
        sorted = sorted && (count == 0 || blocks[count - 1].sample <= sample);
        blocks[count++] = (struct tbl_block){.sample = sample, .offset = at};
    }
    if (status < 0) {
        free(blocks);
        return status;
    }
    if (!sorted)
        qsort(blocks, count, sizeof *blocks, by_sample);
    tbl->blocks = blocks;
    tbl->block_count = count;
    return MLDF_OK;
}

static mldf_status ready(struct tbl *tbl, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (atomic_load_explicit(&tbl->blocks_ready, memory_order_acquire))
        return MLDF_OK;
    pthread_mutex_lock(&tbl->lock);
    if (!atomic_load_explicit(&tbl->blocks_ready, memory_order_relaxed)) {
        status = collect(tbl, err);
        if (status >= 0)
            atomic_store_explicit(&tbl->blocks_ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&tbl->lock);
    return status;
}

mldf_status mldfi_tbl_find_metadata(struct tbl *tbl, uint64_t sample, struct tbl_metadata *out, mldf_error *err) {
    *out = (struct tbl_metadata){0};
    if (sample >= tbl->info.count)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "sample %llu of %llu", ULL(sample), ULL(tbl->info.count));
    TRY(ready(tbl, err));
    size_t low = 0, high = tbl->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tbl->blocks[middle].sample < sample)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == tbl->block_count || tbl->blocks[low].sample != sample)
        return MLDF_END;
    uint64_t ignored, next;
    return mldfi_tbl_block_at(tbl, tbl->blocks[low].offset, &ignored, out, &next, err);
}
