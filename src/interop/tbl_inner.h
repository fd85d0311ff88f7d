/* What the files of the TBL reader share. */
#ifndef MLDF_INTEROP_TBL_INNER_H
#define MLDF_INTEROP_TBL_INNER_H

#include <pthread.h>
#include <stdatomic.h>

#include "interop/tbl.h"

struct tbl_block {
    uint64_t sample, offset; /* of the block's header */
};

struct tbl {
    const uint8_t *data;
    uint64_t bytes;
    struct tbl_info info;
    uint64_t index_end; /* payloads lie behind it */
    uint64_t max_decoded;

    /* Metadata blocks by sample, then by place; made by the first that asks, under the lock. */
    pthread_mutex_t lock;
    atomic_bool blocks_ready;
    struct tbl_block *blocks;
    size_t block_count;
};

/* The block at `offset`, checked against the metadata section; *next is the one after it. */
mldf_status mldfi_tbl_block_at(const struct tbl *tbl, uint64_t offset, uint64_t *sample, struct tbl_metadata *out,
                               uint64_t *next, mldf_error *err);

/* LZ4 by one raw block, or MLDF_E_UNSUPPORTED in a build without liblz4. */
mldf_status mldfi_tbl_lz4_decode(const uint8_t *data, uint32_t bytes, uint8_t *out, uint32_t out_bytes,
                                 mldf_error *err);
/* out has room for mldfi_tbl_lz4_bound(bytes); 0: it cannot be compressed. */
size_t mldfi_tbl_lz4_bound(uint64_t bytes);
size_t mldfi_tbl_lz4_encode(const uint8_t *data, uint64_t bytes, uint8_t *out, size_t room);
bool mldfi_tbl_lz4_here(void);

#endif
