/* From the stored bytes of a payload to the bytes of its value: checksum (A4), decryption (A5), decompression (A6).
 *
 *     file ──view──► stored ──decrypt──► [prefix | frame] ──decompress──► value
 *
 * Steps that a field does not need cost nothing: a raw payload in a mapping is a pointer. What is made on the way is placed
 * in the caller's scratch buffer, which may move when it grows, so places in it are kept as offsets. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <zstd.h>

#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

/* Without a limit of the caller's: what every payload may become, and how many times its own size a larger one. zstd shrinks zeros 32,000
 * times; what people store, if it is large, rarely 256 times. */
#define ALWAYS_ALLOWED (UINT64_C(1) << 30)
enum { TIMES_ALLOWED = 256 };
/* No option allows more. */
#define RAW_LIMIT (UINT64_C(1) << 40)
/* No zstd block of four bytes (the smallest that yields anything) yields more than this. */
enum { ZSTD_BLOCK = 128 << 10 };

/* ---- Idle decompressors ---------------------------------------------------------------------------------------------- */

static mldf_status take_decompressor(const mldf_reader *reader, struct zstd_decompressor **out, mldf_error *err) {
    for (size_t i = 0; i < READER_IDLE_DECOMPRESSORS; i++) {
        if (!atomic_load_explicit(&reader->decompressors[i], memory_order_relaxed))
            continue;
        *out = atomic_exchange_explicit(&reader->decompressors[i], NULL, memory_order_acquire);
        if (*out)
            return MLDF_OK;
    }
    return mldfi_zstd_decompressor_new(out, err);
}

static void give_back_decompressor(const mldf_reader *reader, struct zstd_decompressor *decompressor) {
    for (size_t i = 0; i < READER_IDLE_DECOMPRESSORS; i++) {
        struct zstd_decompressor *empty = NULL;
        if (atomic_compare_exchange_strong_explicit(&reader->decompressors[i], &empty, decompressor,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    mldfi_zstd_decompressor_free(decompressor);
}

void mldfi_reader_free_pool(mldf_reader *reader) {
    for (size_t i = 0; reader->decompressors && i < READER_IDLE_DECOMPRESSORS; i++)
        mldfi_zstd_decompressor_free(atomic_exchange(&reader->decompressors[i], NULL));
}

/* ---- Checks ---------------------------------------------------------------------------------------------------------- */

__attribute__((cold, format(printf, 6, 7))) static mldf_status fail_payload(const mldf_reader *reader,
                                                                            const struct payload *p, mldf_error *err,
                                                                            mldf_status status, uint64_t offset,
                                                                            const char *format, ...) {
    const struct schema_field *field = &reader->schema->fields[p->field];
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    mldfi_reader_fail(reader, err, status, offset, "%s", why);
    mldfi_error_place(err, p->sample, field->info.name);
    return status;
}

/* Writers of the 1.0 draft disagreed on what a record's size counts: bytes, samples, frames or tokens. So where the type does not say it, the entry
 * of the allocation table for that ptr does; the table is sorted. */
static mldf_status find_size(const mldf_reader *reader, const struct payload *p, uint64_t *size, mldf_error *err) {
    const struct table_ref *table = &reader->tables.allocation;
    uint64_t low = 0, high = table->entries;
    while (low < high) {
        uint8_t entry[FORMAT_ALLOCATION_BYTES];
        uint64_t middle = low + (high - low) / 2;
        mldf_status status =
            mldfi_reader_copy(reader, table->ptr + middle * FORMAT_ALLOCATION_BYTES, entry, sizeof entry, err);
        if (status < 0)
            return status;
        uint64_t ptr = mldfi_load_u64(entry);
        if (ptr == p->ptr) {
            *size = mldfi_load_u64(entry + 8);
            return MLDF_OK;
        }
        if (ptr < p->ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->record_at,
                        "the allocation table has no entry for ptr %" PRIu64
                        ", and in a 1.0 file the record's size, %" PRIu64 ", may count something else than bytes",
                        p->ptr, p->bytes);
}

mldf_status mldfi_reader_check_payload(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                                       uint64_t record_at, uint64_t ptr, uint64_t *size, mldf_error *err) {
    struct payload p = {sample, (size_t)(field - reader->schema->fields), record_at, ptr, *size};
    if (*size && mldfi_reader_may_count(reader, field)) {
        TRY(find_size(reader, &p, size, err));
        p.bytes = *size;
    }
    uint64_t bytes = *size;
    if (bytes == 0) {
        if (ptr == 0 || reader->draft)
            return MLDF_OK;
        return fail_payload(reader, &p, err, MLDF_E_CORRUPT, record_at, "ptr %" PRIu64 " of an empty value", ptr);
    }
    if (ptr >= reader->header.data_ptr && mldfi_range_inside(ptr, bytes, reader->end))
        return MLDF_OK;
    if (ptr < reader->header.data_ptr)
        return fail_payload(reader, &p, err, MLDF_E_CORRUPT, record_at,
                            "ptr %" PRIu64 " lies before the data region, which begins at %" PRIu64, ptr,
                            reader->header.data_ptr);
    return fail_payload(reader, &p, err, MLDF_E_CORRUPT, record_at,
                        "ptr %" PRIu64 " + size %" PRIu64 " passes the end of the file at %" PRIu64, ptr, bytes,
                        reader->end);
}

bool mldfi_reader_can_hold(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                           const uint8_t *record, uint64_t units) {
    uint64_t ptr, bytes;
    if (units == 0)
        return true;
    mldfi_record_payload(field, record, &ptr, &bytes);
    return mldfi_reader_check_payload(reader, sample, field, 0, ptr, &bytes, NULL) >= 0 &&
           units <= mldfi_reader_most_bytes(reader, field, bytes);
}

mldf_status mldfi_reader_stored_crc(const mldf_reader *reader, uint64_t sample, size_t payload_index, uint32_t *crc,
                                    mldf_error *err) {
    uint8_t word[4];
    uint64_t at = reader->checks->ptr + 4 * (sample * reader->schema->payload_count + payload_index);
    mldf_status status = mldfi_reader_copy(reader, at, word, sizeof word, err);
    *crc = status < 0 ? 0 : mldfi_load_u32(word);
    return status;
}

static mldf_status check_crc(const mldf_reader *reader, const struct payload *p, const uint8_t *stored,
                             mldf_error *err) {
    uint32_t want, got = mldfi_crc32c(0, stored, (size_t)p->bytes);
    mldf_status status =
        mldfi_reader_stored_crc(reader, p->sample, reader->schema->fields[p->field].payload_index, &want, err);
    if (status < 0)
        return status;
    if (got != want)
        return fail_payload(reader, p, err, MLDF_E_CHECKSUM, p->ptr,
                            "the %" PRIu64 " bytes at %" PRIu64 " have CRC %08" PRIx32 ", not %08" PRIx32, p->bytes,
                            p->ptr, got, want);
    return MLDF_OK;
}

/* ---- Decryption and decompression -------------------------------------------------------------------------------------- */

/* Offset of a pointer in scratch, or SIZE_MAX when it points elsewhere. */
static size_t offset_in(const mldf_buffer *scratch, const uint8_t *p) {
    uintptr_t base = scratch ? (uintptr_t)scratch->data : 0, at = (uintptr_t)p;
    return base && at >= base && at - base < scratch->size ? (size_t)(at - base) : SIZE_MAX;
}

mldf_status mldfi_reader_check_sealed(const mldf_reader *reader, const struct payload *p, mldf_error *err) {
    if (!reader->crypt)
        return fail_payload(reader, p, err, MLDF_E_KEY_MISSING, p->ptr,
                            "the payload is encrypted and no key was given");
    if (mldfi_crypt_value_bytes(p->bytes, reader->schema->fields[p->field].chunked) == 0)
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->record_at + 8, "%" PRIu64 " bytes are %s", p->bytes,
                            p->bytes > MLDFI_CRYPT_OVERHEAD ? "not an encrypted payload: its last chunk is empty"
                                                            : "too few for an encrypted payload");
    return MLDF_OK;
}

/* Chunks [first, first + count) of a payload into `plain`; stored: their bytes. */
static mldf_status open_chunks(const mldf_reader *reader, const struct payload *p, uint64_t first, uint64_t count,
                               const uint8_t *nonce, const uint8_t *stored, size_t stored_bytes, uint8_t *plain,
                               mldf_error *err) {
    struct crypt_chunks which = {p->sample, (uint16_t)p->field, first, count, mldfi_crypt_chunk_count(p->bytes)};
    mldf_error why;
    mldf_status status = mldfi_crypt_open_chunks(reader->crypt, &which, nonce, stored, stored_bytes, plain, &why);
    if (status == MLDF_E_TAMPERED) {
        uint64_t at = p->ptr + MLDFI_CRYPT_NONCE + why.offset * MLDFI_CRYPT_CHUNK_STORED;
        return fail_payload(reader, p, err, MLDF_E_TAMPERED, at,
                            "chunk %" PRIu64 " of %" PRIu64 " of the payload, at byte %" PRIu64
                            ", does not authenticate: edited, exchanged or damaged",
                            why.offset, which.total, at);
    }
    if (status < 0 && err)
        *err = why;
    return status;
}

static mldf_status decrypt(const mldf_reader *reader, const struct payload *p, size_t lead, mldf_buffer *scratch,
                           const uint8_t **data, uint64_t *bytes, mldf_error *err) {
    bool chunked = reader->schema->fields[p->field].chunked;
    size_t place = offset_in(scratch, *data);
    uint64_t plain_bytes = mldfi_crypt_value_bytes(p->bytes, chunked);
    uint8_t *plain;
    mldf_status status = mldfi_reader_check_sealed(reader, p, err);
    if (status < 0)
        return status;
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an encrypted field needs a scratch buffer");
    if ((status = mldfi_scratch_place(scratch, (size_t)plain_bytes, lead, &plain, err)) < 0)
        return status;
    const uint8_t *stored = place == SIZE_MAX ? *data : scratch->data + place;
    if (chunked)
        status = open_chunks(reader, p, 0, mldfi_crypt_chunk_count(p->bytes), stored, stored + MLDFI_CRYPT_NONCE,
                             (size_t)p->bytes - MLDFI_CRYPT_NONCE, plain, err);
    else
        status =
            mldfi_crypt_open_payload(reader->crypt, p->sample, (uint16_t)p->field, stored, (size_t)*bytes, plain, err);
    if (status == MLDF_E_TAMPERED && !chunked)
        return fail_payload(reader, p, err, MLDF_E_TAMPERED, p->ptr,
                            "the payload at %" PRIu64 " does not authenticate: edited, exchanged or damaged", p->ptr);
    *data = plain;
    *bytes = plain_bytes;
    return status;
}

void mldfi_reader_stored_part(const struct schema_field *f, uint64_t stored, uint64_t *offset, uint64_t *bytes) {
    if (!f->chunked || *bytes == 0)
        return;
    uint64_t first = *offset / MLDFI_CRYPT_CHUNK, last = (*offset + *bytes - 1) / MLDFI_CRYPT_CHUNK;
    uint64_t from = MLDFI_CRYPT_NONCE + first * MLDFI_CRYPT_CHUNK_STORED,
             to = MLDFI_CRYPT_NONCE + (last + 1) * MLDFI_CRYPT_CHUNK_STORED;
    *offset = from;
    *bytes = (to < stored ? to : stored) - from;
}

/* In scratch, one behind the other: the nonce, the chunks as they are stored, what they hold. The first chunk is read together with the nonce. */
mldf_status mldfi_reader_open_part(const mldf_reader *reader, const struct payload *p, uint64_t offset, uint64_t bytes,
                                   mldf_buffer *scratch, const uint8_t **data, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[p->field];
    uint64_t from = offset, length = bytes, first = offset / MLDFI_CRYPT_CHUNK;
    uint64_t count = (offset + bytes - 1) / MLDFI_CRYPT_CHUNK - first + 1;
    uint8_t nonce[MLDFI_CRYPT_NONCE], *plain;
    const uint8_t *stored;
    mldfi_reader_stored_part(f, p->bytes, &from, &length);
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "an encrypted field needs a scratch buffer");
    uint64_t lead = first ? 0 : MLDFI_CRYPT_NONCE;
    mldf_status status = mldfi_reader_view(reader, p->ptr + from - lead, length + lead, scratch, &stored, err);
    if (status >= 0 && first)
        status = mldfi_reader_copy(reader, p->ptr, nonce, sizeof nonce, err);
    if (status < 0)
        return status;
    size_t place = offset_in(scratch, stored);
    size_t room = (size_t)(length - 16 * count);
    if ((status = mldfi_scratch_place(scratch, room, 0, &plain, err)) < 0)
        return status;
    if (place != SIZE_MAX)
        stored = scratch->data + place;
    status = open_chunks(reader, p, first, count, first ? nonce : stored, stored + lead, (size_t)length, plain, err);
    *data = plain + offset % MLDFI_CRYPT_CHUNK;
    return status;
}

uint64_t mldfi_decoded_limit(uint64_t max_decoded, uint64_t stored) {
    uint64_t most = max_decoded;
    if (most == 0) {
        most = stored > RAW_LIMIT / TIMES_ALLOWED ? RAW_LIMIT : stored * TIMES_ALLOWED;
        most = most < ALWAYS_ALLOWED ? ALWAYS_ALLOWED : most;
    }
    return most < RAW_LIMIT ? most : RAW_LIMIT;
}

uint64_t mldfi_reader_most_bytes(const mldf_reader *reader, const struct schema_field *field, uint64_t stored) {
    uint64_t limit = mldfi_decoded_limit(reader->max_decoded, stored), blocks = stored / 4 + 2;
    if (!(field->info.flags & MLDF_FIELD_COMPRESSED))
        return stored;
    return blocks > limit / ZSTD_BLOCK ? limit : blocks * ZSTD_BLOCK;
}

/* The frame's own word for its content must agree with the prefix before memory is taken. */
static mldf_status check_frame(const mldf_reader *reader, const struct payload *p, const uint8_t *frame,
                               uint64_t frame_bytes, uint64_t raw, mldf_error *err) {
    unsigned long long content = ZSTD_getFrameContentSize(frame, (size_t)frame_bytes);
    if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN || content != raw)
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->ptr,
                            "not a zstd frame of the %" PRIu64 " bytes that its prefix says", raw);
    uint64_t most = mldfi_decoded_limit(reader->max_decoded, frame_bytes);
    if (raw > most)
        return fail_payload(reader, p, err, MLDF_E_LIMIT, p->ptr,
                            "%" PRIu64 " stored bytes become %" PRIu64 ", and the limit is %" PRIu64
                            ": " DECODED_LIMIT_ADVICE,
                            frame_bytes, raw, most);
    if (raw / ZSTD_BLOCK > frame_bytes / 4 + 1 ||
        ZSTD_findFrameCompressedSize(frame, (size_t)frame_bytes) != frame_bytes)
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->ptr,
                            "%" PRIu64 " bytes are not one zstd frame of %" PRIu64, frame_bytes, raw);
    return MLDF_OK;
}

static mldf_status decompress(const mldf_reader *reader, const struct payload *p, mldf_buffer *scratch,
                              const uint8_t **data, uint64_t *bytes, mldf_error *err) {
    size_t place = offset_in(scratch, *data);
    struct zstd_decompressor *decompressor;
    uint64_t raw, frame_bytes = *bytes - MLDFI_PREFIX_BYTES;
    uint8_t codec, *out;
    if (*bytes <= MLDFI_PREFIX_BYTES)
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->record_at + 8,
                            "%" PRIu64 " bytes are too few for a payload with a compression prefix", *bytes);
    mldfi_prefix_decode(*data, &raw, &codec);
    if (codec > MLDFI_CODEC_ZSTD)
        return fail_payload(reader, p, err, MLDF_E_FEATURE, p->ptr, "compression codec %u is not known", codec);
    if (raw == 0 || (codec == MLDFI_CODEC_STORED && raw != frame_bytes))
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->ptr,
                            "the prefix says %" PRIu64 " bytes before %" PRIu64 " stored ones", raw, frame_bytes);
    if (codec == MLDFI_CODEC_STORED) {
        *data += MLDFI_PREFIX_BYTES;
        *bytes = raw;
        return MLDF_OK;
    }
    mldf_status status = check_frame(reader, p, *data + MLDFI_PREFIX_BYTES, frame_bytes, raw, err);
    if (status < 0)
        return status;
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a compressed field needs a scratch buffer");
    if ((status = mldfi_scratch_place(scratch, (size_t)raw, 0, &out, err)) < 0 ||
        (status = take_decompressor(reader, &decompressor, err)) < 0)
        return status;
    const uint8_t *frame = (place == SIZE_MAX ? *data : scratch->data + place) + MLDFI_PREFIX_BYTES;
    status = mldfi_zstd_decompress(decompressor, reader->dictionary, frame, (size_t)frame_bytes, out, (size_t)raw, err);
    give_back_decompressor(reader, decompressor);
    if (status < 0 && status != MLDF_E_MEMORY && status != MLDF_E_UNSUPPORTED)
        return fail_payload(reader, p, err, MLDF_E_CORRUPT, p->ptr,
                            "the zstd frame at %" PRIu64 " does not decode to %" PRIu64 " bytes",
                            p->ptr + MLDFI_PREFIX_BYTES, raw);
    *data = out;
    *bytes = raw;
    return status;
}

mldf_status mldfi_reader_load_payload(const mldf_reader *reader, const struct payload *p, mldf_buffer *scratch,
                                      const uint8_t **data, uint64_t *bytes, mldf_error *err) {
    bool prefixed = (reader->schema->fields[p->field].info.flags & MLDF_FIELD_COMPRESSED) != 0;
    size_t lead = prefixed ? MLDFI_PREFIX_BYTES : 0;
    *bytes = p->bytes;
    mldf_status status = mldfi_reader_view_lead(reader, p->ptr, p->bytes, lead, scratch, data, err);
    if (status >= 0 && reader->verify && reader->checks)
        status = check_crc(reader, p, *data, err);
    if (status >= 0 && reader->encrypted)
        status = decrypt(reader, p, lead, scratch, data, bytes, err);
    if (status >= 0 && prefixed)
        status = decompress(reader, p, scratch, data, bytes, err);
    if (status < 0)
        mldfi_error_place(err, p->sample, reader->schema->fields[p->field].info.name);
    return status;
}
