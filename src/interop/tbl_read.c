/* Opening a TBL file and getting at its samples. The file is not trusted: no sum of what it says is used before it was
 * computed without wrapping. tbl_metadata.c finds the blocks of a sample, tbl_verify.c looks at everything. */
#include <stdlib.h>
#include <zlib.h>

#include "interop/crc16.h"
#include "interop/tbl_inner.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

const char *mldfi_tbl_format_name(uint8_t format) {
    static const char *const names[] = {"unknown", "jpeg", "png", "webp", "bmp", "tiff", "mp4", "avi", "raw_u8"};
    return names[format < sizeof names / sizeof names[0] ? format : 0];
}

bool mldfi_tbl_is(const void *data, uint64_t bytes) {
    const uint8_t *p = data;
    return bytes >= 4 && p[0] == 'T' && p[1] == 'B' && p[2] == 'L' && (p[3] == 1 || p[3] == 2);
}

/* The year 2001: no header_size of a file below 62 million samples is that large. */
#define GUIDE_STAMP_LEAST UINT64_C(1000000000)

/* Sets index_end; the index must be inside the file. */
static mldf_status check_index(struct tbl *tbl, uint64_t header, uint64_t entry, mldf_error *err) {
    uint64_t index, count = tbl->info.count;
    if (!mldfi_mul_u64(count, entry, &index) || !mldfi_add_u64(header, index, &tbl->index_end))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 8,
                             "%llu samples cannot be: their index would be larger than any file", ULL(count));
    if (tbl->index_end > tbl->bytes)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, tbl->bytes,
                             "the index of %llu samples ends at byte %llu, the file at %llu", ULL(count),
                             ULL(tbl->index_end), ULL(tbl->bytes));
    return MLDF_OK;
}

static mldf_status open_v1(struct tbl *tbl, mldf_error *err) {
    const uint8_t *p = tbl->data;
    TRY(check_index(tbl, TBL_V1_HEADER, TBL_V1_ENTRY, err));
    uint32_t header_size = mldfi_load_u32(p + 16);
    uint64_t stamp = mldfi_load_u64(p + 16);
    /* A writer that follows the guide puts a time where the real program has header_size. */
    if (header_size != tbl->index_end && (header_size == 0 || stamp >= GUIDE_STAMP_LEAST)) {
        tbl->info.created = stamp >= GUIDE_STAMP_LEAST ? stamp : 0;
        tbl->info.dataset_version = mldfi_load_u32(p + 24);
        tbl->info.custom_flags = mldfi_load_u32(p + 28);
        return MLDF_OK;
    }
    if (header_size != tbl->index_end)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 16, "header_size is %u; for %llu samples it is %llu or 0",
                             header_size, ULL(tbl->info.count), ULL(tbl->index_end));
    tbl->info.dataset_version = mldfi_load_u32(p + 20);
    tbl->info.created = mldfi_load_u64(p + 24);
    return MLDF_OK;
}

static uint32_t header_crc(const uint8_t *header) {
    static const uint8_t zeros[4];
    uLong crc = crc32(0, header, 44);
    crc = crc32(crc, zeros, sizeof zeros);
    return (uint32_t)crc32(crc, header + 48, TBL_V2_HEADER - 48);
}

static mldf_status open_v2(struct tbl *tbl, mldf_error *err) {
    const uint8_t *p = tbl->data;
    if (tbl->bytes < TBL_V2_HEADER)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, tbl->bytes, "the header is %d bytes, the file ends at %llu",
                             TBL_V2_HEADER, ULL(tbl->bytes));
    uint32_t stored = mldfi_load_u32(p + 44), computed = header_crc(p);
    if (stored != computed)
        return mldfi_fail_at(err, MLDF_E_CHECKSUM, 44, "the header's CRC-32 is %08x, stored is %08x", computed, stored);
    TRY(check_index(tbl, TBL_V2_HEADER, TBL_V2_ENTRY, err));
    tbl->info.flags = mldfi_load_u32(p + 40);
    tbl->info.created = mldfi_load_u64(p + 48);
    tbl->info.dataset_version = mldfi_load_u32(p + 56);
    tbl->info.custom_flags = mldfi_load_u32(p + 60);
    if (!(tbl->info.flags & TBL_FILE_METADATA))
        return MLDF_OK;
    uint64_t offset = mldfi_load_u64(p + 24), bytes = mldfi_load_u64(p + 32);
    if (!mldfi_range_inside(offset, bytes, tbl->bytes))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 24,
                             "the metadata, %llu bytes from byte %llu on, passes the end of the file at %llu",
                             ULL(bytes), ULL(offset), ULL(tbl->bytes));
    if (bytes > 0 && offset < tbl->index_end)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 24,
                             "the metadata at byte %llu begins inside the index, which ends at %llu", ULL(offset),
                             ULL(tbl->index_end));
    tbl->info.metadata_offset = offset;
    tbl->info.metadata_bytes = bytes;
    return MLDF_OK;
}

static mldf_status open_header(struct tbl *tbl, mldf_error *err) {
    const uint8_t *p = tbl->data;
    if (!mldfi_tbl_is(p, tbl->bytes))
        return mldfi_fail_at(err, MLDF_E_MAGIC, 0, "not a TBL file: it does not begin with 'TBL' and 1 or 2");
    if (tbl->bytes < TBL_V1_HEADER)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, tbl->bytes,
                             "the header is at least %d bytes, the file ends at %llu", TBL_V1_HEADER, ULL(tbl->bytes));
    tbl->info.version = mldfi_load_u32(p + 4);
    tbl->info.count = mldfi_load_u64(p + 8);
    if (tbl->info.version != p[3])
        return mldfi_fail_at(err, MLDF_E_VERSION, 4, "version is %u, the magic number says %u", tbl->info.version,
                             p[3]);
    return p[3] == 1 ? open_v1(tbl, err) : open_v2(tbl, err);
}

mldf_status mldfi_tbl_open(struct tbl **out, const void *data, uint64_t bytes, mldf_error *err) {
    *out = NULL;
    struct tbl *tbl = mldfi_alloc_zero(1, sizeof *tbl, err);
    if (!tbl)
        return MLDF_E_MEMORY;
    tbl->data = data;
    tbl->bytes = bytes;
    pthread_mutex_init(&tbl->lock, NULL);
    mldf_status status = open_header(tbl, err);
    if (status < 0) {
        mldfi_tbl_close(tbl);
        return status;
    }
    *out = tbl;
    return MLDF_OK;
}

void mldfi_tbl_close(struct tbl *tbl) {
    if (!tbl)
        return;
    pthread_mutex_destroy(&tbl->lock);
    free(tbl->blocks);
    free(tbl);
}

void mldfi_tbl_limit(struct tbl *tbl, uint64_t max_decoded) {
    tbl->max_decoded = max_decoded;
}

const struct tbl_info *mldfi_tbl_info(const struct tbl *tbl) {
    return &tbl->info;
}

/* What an entry says must fit the file and itself. `at` is the entry's own place. */
static mldf_status check_entry(const struct tbl *tbl, const struct tbl_entry *e, uint64_t at, mldf_error *err) {
    if (!mldfi_range_inside(e->offset, e->stored, tbl->bytes))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "offset %llu + size %u passes the end of the file at %llu",
                             ULL(e->offset), e->stored, ULL(tbl->bytes));
    if (e->stored > 0 && e->offset < tbl->index_end)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at,
                             "offset %llu lies inside the header or the index, which end at %llu", ULL(e->offset),
                             ULL(tbl->index_end));
    if (!(e->flags & TBL_LZ4) && e->stored != e->size)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 12, "%u bytes are stored without compression for a sample of %u",
                             e->stored, e->size);
    /* A byte of LZ4 makes at most 255: what is beyond that is no LZ4 block, and its size is not to be believed. */
    if ((e->flags & TBL_LZ4) && e->size / 255 > e->stored)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 12, "%u bytes cannot come out of an LZ4 block of %u", e->size,
                             e->stored);
    return MLDF_OK;
}

mldf_status mldfi_tbl_entry(const struct tbl *tbl, uint64_t sample, struct tbl_entry *out, mldf_error *err) {
    if (sample >= tbl->info.count)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "sample %llu of %llu", ULL(sample), ULL(tbl->info.count));
    uint64_t at;
    if (tbl->info.version == 1) {
        at = TBL_V1_HEADER + sample * TBL_V1_ENTRY;
        const uint8_t *p = tbl->data + at;
        *out = (struct tbl_entry){.offset = mldfi_load_u64(p), .stored = mldfi_load_u32(p + 8), .format = p[12]};
        out->size = out->stored;
    } else {
        at = TBL_V2_HEADER + sample * TBL_V2_ENTRY;
        const uint8_t *p = tbl->data + at;
        *out = (struct tbl_entry){.offset = mldfi_load_u64(p),
                                  .stored = mldfi_load_u32(p + 8),
                                  .size = mldfi_load_u32(p + 12),
                                  .width = mldfi_load_u16(p + 16),
                                  .height = mldfi_load_u16(p + 18),
                                  .format = p[20],
                                  .flags = p[21],
                                  .checksum = mldfi_load_u16(p + 22)};
    }
    mldf_status status = check_entry(tbl, out, at, err);
    if (status < 0)
        mldfi_error_place(err, sample, NULL);
    return status;
}

static mldf_status decode(const struct tbl *tbl, const struct tbl_entry *e, mldf_buffer *scratch, const uint8_t **data,
                          mldf_error *err) {
    *data = tbl->data + e->offset;
    if (!(e->flags & TBL_LZ4))
        return MLDF_OK;
    uint64_t most = mldfi_decoded_limit(tbl->max_decoded, e->stored);
    if (e->size > most)
        return mldfi_fail_at(err, MLDF_E_LIMIT, e->offset,
                             "%u stored bytes become %u, and the limit is %llu: " DECODED_LIMIT_ADVICE, e->stored,
                             e->size, ULL(most));
    mldf_status status = mldfi_buffer_resize(scratch, e->size > 0 ? e->size : 1, err);
    if (status >= 0)
        status = mldfi_tbl_lz4_decode(*data, e->stored, scratch->data, e->size, err);
    if (status < 0) {
        if (err && err->offset == MLDF_NONE)
            err->offset = e->offset;
        return status;
    }
    scratch->size = e->size;
    *data = scratch->data;
    return MLDF_OK;
}

mldf_status mldfi_tbl_payload(const struct tbl *tbl, uint64_t sample, bool verify, mldf_buffer *scratch,
                              const uint8_t **data, uint64_t *bytes, mldf_error *err) {
    struct tbl_entry e;
    TRY(mldfi_tbl_entry(tbl, sample, &e, err));
    mldf_status status = decode(tbl, &e, scratch, data, err);
    if (status >= 0 && verify && (tbl->info.flags & TBL_FILE_CHECKSUMS)) {
        uint16_t crc = mldfi_crc16(CRC16_START, *data, e.size);
        if (crc != e.checksum)
            status = mldfi_fail_at(err, MLDF_E_CHECKSUM, e.offset, "the sample's CRC-16 is %04x, stored is %04x", crc,
                                   e.checksum);
    }
    if (status < 0) {
        mldfi_error_place(err, sample, NULL);
        return status;
    }
    *bytes = e.size;
    return MLDF_OK;
}
