/* One field of one sample: rules A1-A7 of the specification, in their order. The path of a raw payload in a mapping takes
 * no lock, no allocation and no copy: two bounds checks, a look at the row, and the type's decode. many.c does the same for
 * many samples; payload.c has the steps that compressed, encrypted and checked payloads take. */
#include <inttypes.h>

#include "field/image_type.h"
#include "field/type.h"
#include "reader/foreign.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

/* ---- Validity (A2) ---------------------------------------------------------------------------------------------------- */

mldf_status mldfi_reader_check_section(const mldf_reader *reader, const struct section *s, uint32_t good,
                                       const char *name, mldf_error *err) {
    uint32_t crc;
    if (!reader->verify || (atomic_load_explicit(reader->verified_sections, memory_order_acquire) & good))
        return MLDF_OK;
    TRY(mldfi_reader_crc(reader, s->ptr, s->size, &crc, err));
    if (crc != s->crc)
        return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, s->ptr, "section %s at byte %" PRIu64 " is damaged",
                                 name, s->ptr);
    atomic_fetch_or_explicit(reader->verified_sections, good, memory_order_release);
    return MLDF_OK;
}

/* repair's look at a file whose section 5 is lost or damaged: a null is stored as zeros. */
static mldf_status is_not_zero(const mldf_reader *reader, uint64_t sample, const struct schema_field *field, bool *out,
                               mldf_error *err) {
    uint8_t piece[64];
    uint64_t at = mldfi_record_at(reader, sample, field);
    *out = false;
    for (uint32_t done = 0; done < field->info.record_bytes && !*out; done += (uint32_t)sizeof piece) {
        uint32_t left = field->info.record_bytes - done, now = left < sizeof piece ? left : (uint32_t)sizeof piece;
        TRY(mldfi_reader_copy(reader, at + done, piece, now, err));
        for (uint32_t i = 0; i < now; i++)
            *out = *out || piece[i];
    }
    return MLDF_OK;
}

/* Byte of the file that holds the bit. The file has section 5. */
static inline uint64_t validity_byte(const mldf_reader *reader, uint64_t sample, const struct schema_field *f) {
    uint64_t n = reader->header.num_samples, bitmap = 8 * (n / 64 + (n % 64 != 0));
    return reader->validity->ptr + f->nullable_index * bitmap + sample / 8;
}

mldf_status mldfi_reader_is_valid(const mldf_reader *reader, uint64_t sample, size_t field, bool *out,
                                  mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint8_t byte;
    *out = true;
    if (!(f->info.flags & MLDF_FIELD_NULLABLE))
        return MLDF_OK;
    if (!reader->validity || (reader->doubted && reader->doubted[field]))
        return is_not_zero(reader, sample, f, out, err);
    mldf_status status =
        mldfi_reader_check_section(reader, reader->validity, READER_GOOD_VALIDITY, "5 (validity)", err);
    if (status >= 0)
        status = mldfi_reader_copy(reader, validity_byte(reader, sample, f), &byte, 1, err);
    if (status < 0)
        return status;
    *out = byte >> (sample % 8) & 1;
    return MLDF_OK;
}

/* ---- Rows --------------------------------------------------------------------------------------------------------------- */

static mldf_status check_block(const mldf_reader *reader, uint64_t block, mldf_error *err) {
    const struct table_ref *rows = &reader->tables.metadata;
    uint64_t offset = block * FORMAT_CRC_BLOCK, left = rows->bytes - offset;
    uint64_t index = mldfi_crc_blocks(reader->tables.descriptors.bytes) + block;
    uint8_t want[4];
    uint32_t got;
    _Atomic(uint64_t) *word = &reader->verified_blocks[block / 64];
    if (atomic_load_explicit(word, memory_order_relaxed) >> (block % 64) & 1)
        return MLDF_OK;
    mldf_status status = mldfi_reader_copy(reader, reader->tables_section->ptr + FORMAT_TABLES_BYTES + 4 * index, want,
                                           sizeof want, err);
    if (status >= 0)
        status =
            mldfi_reader_crc(reader, rows->ptr + offset, left < FORMAT_CRC_BLOCK ? left : FORMAT_CRC_BLOCK, &got, err);
    if (status < 0)
        return status;
    if (got != mldfi_load_u32(want))
        return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, rows->ptr + offset,
                                 "rows %" PRIu64 " to %" PRIu64 ": their block of the metadata table at byte %" PRIu64
                                 " has CRC %08" PRIx32 ", not %08" PRIx32,
                                 offset / reader->row_bytes,
                                 (offset + (left < FORMAT_CRC_BLOCK ? left : FORMAT_CRC_BLOCK) - 1) / reader->row_bytes,
                                 rows->ptr + offset, got, mldfi_load_u32(want));
    atomic_fetch_or_explicit(word, UINT64_C(1) << (block % 64), memory_order_relaxed);
    return MLDF_OK;
}

mldf_status mldfi_reader_check_blocks(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_error *err) {
    if (!reader->verified_blocks || bytes == 0)
        return MLDF_OK;
    for (uint64_t block = offset / FORMAT_CRC_BLOCK; block <= (offset + bytes - 1) / FORMAT_CRC_BLOCK; block++) {
        TRY(check_block(reader, block, err));
    }
    return MLDF_OK;
}

mldf_status mldfi_reader_row(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch, const uint8_t **out,
                             mldf_error *err) {
    uint64_t offset = sample * reader->row_bytes;
    mldf_status status = mldfi_reader_check_blocks(reader, offset, reader->row_bytes, err);
    if (status >= 0)
        status = mldfi_reader_view(reader, reader->tables.metadata.ptr + offset, reader->row_bytes, scratch, out, err);
    if (status < 0)
        mldfi_error_place(err, sample, NULL);
    return status;
}

/* ---- One value ------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_reader_no_sample(const mldf_reader *reader, uint64_t sample, mldf_error *err) {
    mldfi_fail(err, MLDF_E_NO_SAMPLE, "no such sample: the file has %" PRIu64, reader->header.num_samples);
    mldfi_error_place(err, sample, NULL);
    return mldfi_reader_name_error(reader, err, MLDF_E_NO_SAMPLE);
}

mldf_status mldfi_reader_no_field(const mldf_reader *reader, size_t field, mldf_error *err) {
    mldfi_fail(err, MLDF_E_NO_FIELD, "no field %zu: the file has %zu", field, reader->schema->field_count);
    return mldfi_reader_name_error(reader, err, MLDF_E_NO_FIELD);
}

static void set_null(mldf_value *out) {
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_NULL;
}

__attribute__((cold)) static mldf_status place(const mldf_reader *reader, uint64_t sample,
                                               const struct schema_field *field, mldf_error *err, mldf_status status) {
    if (err) {
        mldfi_reader_name_error(reader, err, status);
        mldfi_error_place(err, sample, field->info.name);
    }
    return status;
}

/* The record and the value bytes of a present value; record and data may lie in scratch, behind what it holds already. Without the payload
 * its bytes are counted alone. */
static mldf_status load_stored(const mldf_reader *reader, uint64_t sample, size_t field, bool payload,
                               mldf_buffer *scratch, mldf_value *out, uint64_t *payload_ptr, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    struct payload p = {sample, field, mldfi_record_at(reader, sample, f), 0, 0};
    const uint8_t *record, *data = NULL;
    uint64_t bytes = 0;
    mldf_status status = mldfi_reader_view(reader, p.record_at, f->info.record_bytes, scratch, &record, err);
    if (status < 0) {
        mldfi_error_place(err, sample, f->info.name);
        return status;
    }
    size_t record_place = reader->mapped ? 0 : (size_t)(record - scratch->data);
    if (mldfi_field_has_payload(f)) {
        mldfi_record_payload(f, record, &p.ptr, &p.bytes);
        if ((status = mldfi_reader_check_payload(reader, sample, f, p.record_at, p.ptr, &p.bytes, err)) < 0)
            return status;
    }
    if (reader->verified_blocks &&
        (status = mldfi_reader_check_blocks(reader, p.record_at - reader->tables.metadata.ptr, f->info.record_bytes,
                                            err)) < 0) {
        mldfi_error_place(err, sample, f->info.name);
        return status;
    }
    if (!payload && p.bytes && f->chunked && (status = mldfi_reader_check_sealed(reader, &p, err)) < 0)
        return status;
    if (!payload)
        bytes = mldfi_reader_value_bytes(f, p.bytes);
    else if (p.bytes && (status = mldfi_reader_load_payload(reader, &p, scratch, &data, &bytes, err)) < 0) {
        mldfi_error_place(err, sample, f->info.name);
        return status;
    }
    out->record = reader->mapped ? record : scratch->data + record_place;
    out->data = data;
    out->bytes = bytes;
    *payload_ptr = p.ptr;
    return MLDF_OK;
}

static mldf_status decode(const mldf_reader *reader, uint64_t sample, const struct schema_field *f,
                          uint64_t payload_ptr, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const uint8_t *record = out->record;
    mldf_status status = mldfi_field_decode(f, record, mldfi_record_at(reader, sample, f), out->data, out->bytes,
                                            payload_ptr, scratch, out, err);
    return status < 0 ? place(reader, sample, f, err, status) : MLDF_OK;
}

/* Copies to the end of scratch what a value points to in a buffer that is about to go. */
static mldf_status keep(const mldf_buffer *from, mldf_buffer *scratch, const void **data, uint64_t bytes,
                        mldf_error *err) {
    uintptr_t base = (uintptr_t)from->data, at = (uintptr_t)*data;
    uint8_t *copy;
    if (!base || bytes == 0 || at < base || at - base >= from->capacity)
        return MLDF_OK;
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "this field needs a scratch buffer");
    TRY(mldfi_scratch_place(scratch, (size_t)bytes, 0, &copy, err));
    memcpy(copy, *data, (size_t)bytes);
    *data = copy;
    return MLDF_OK;
}

/* A type that makes its values may fill the scratch buffer that it is given from its first byte, so record and payload stay out of it:
 * they and the result get buffers of their own, and what the value needs is copied behind what scratch holds. */
static mldf_status get_made(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                            mldf_value *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    mldf_buffer stored = MLDF_BUFFER_INIT, made = MLDF_BUFFER_INIT;
    uint64_t payload_ptr = 0;
    mldf_status status = load_stored(reader, sample, field, true, &stored, out, &payload_ptr, err);
    if (status >= 0)
        status = decode(reader, sample, f, payload_ptr, &made, out, err);
    if (status >= 0) {
        /* The second copy may move scratch, so the first place is kept as an offset. */
        const void *data = out->data, *record = out->record;
        const mldf_buffer *sources[2] = {&stored, &made};
        for (size_t i = 0; i < 2 && status >= 0; i++)
            status = keep(sources[i], scratch, &data, out->bytes, err);
        size_t data_place = data != out->data && scratch ? (size_t)((const uint8_t *)data - scratch->data) : SIZE_MAX;
        if (status >= 0)
            status = keep(&stored, scratch, &record, out->record_bytes, err);
        out->data = data_place == SIZE_MAX || status < 0 ? data : scratch->data + data_place;
        out->record = record;
    }
    mldf_buffer_free(&stored);
    mldf_buffer_free(&made);
    return status;
}

/* A 1.0 file may call any bytes a JPEG. Where they are copied, and become a value of a newer file, they are bytes of another format. */
static mldf_status settle_image(const mldf_reader *reader, const struct schema_field *f, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err) {
    uint8_t *record;
    if (!scratch || !mldfi_image_of_no_format(f, out->record, out->data, out->bytes))
        return MLDF_OK;
    if (!reader->mapped) { /* the record is in scratch already */
        record = scratch->data + ((const uint8_t *)out->record - scratch->data);
    } else {
        TRY(mldfi_scratch_place(scratch, IMAGE_RECORD, 0, &record, err));
        memcpy(record, out->record, IMAGE_RECORD);
        out->record = record;
    }
    record[IMAGE_MODE] = MLDF_IMAGE_MODE_OTHER;
    return MLDF_OK;
}

mldf_status mldfi_reader_get_appended(const mldf_reader *reader, uint64_t sample, size_t field, bool stored,
                                      mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t payload_ptr = 0;
    mldf_status status;
    if (reader->foreign.ops)
        return mldfi_foreign_get(reader, sample, field, stored, scratch, out, err);
    if (f->info.flags & MLDF_FIELD_NULLABLE) {
        bool valid;
        if ((status = mldfi_reader_is_valid(reader, sample, field, &valid, err)) < 0) {
            mldfi_error_place(err, sample, f->info.name);
            return status;
        }
        if (!valid) {
            set_null(out);
            return MLDF_OK;
        }
    }
    if (!stored && !f->type)
        return place(reader, sample, f, err,
                     mldfi_fail(err, MLDF_E_UNSUPPORTED, "type %u is not known here; its stored bytes can be had",
                                f->info.type_id));
    if (!stored && mldfi_field_is_made(f))
        return get_made(reader, sample, field, scratch, out, err);
    if ((status = load_stored(reader, sample, field, true, scratch, out, &payload_ptr, err)) < 0)
        return status;
    if (!stored && reader->draft && f->info.type_id == MLDF_JSON && out->bytes == 0) {
        set_null(out); /* the draft's writer leaves the record of a missing value zero, and no JSON text is empty */
        return MLDF_OK;
    }
    /* A number in a record that no newer file has is its own stored form. */
    if (!stored || f->type == &mldfi_type_draft_int)
        return decode(reader, sample, f, payload_ptr, scratch, out, err);
    if (reader->draft && (status = settle_image(reader, f, scratch, out, err)) < 0)
        return status;
    out->kind = MLDF_KIND_STORED;
    out->dtype = MLDF_DTYPE_NONE;
    out->as.u = 0;
    out->record_bytes = f->info.record_bytes;
    out->ndim = 0;
    return MLDF_OK;
}

static mldf_status get_unchecked(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                 mldf_value *out, mldf_error *err);

/* Does the row say what the value is, and does reading it spare a read of the payload? The decode of a type that makes its values wants the payload, unless the type
 * finds its parts by the record. */
static bool row_suffices(const mldf_reader *reader, const struct schema_field *f) {
    return !reader->draft && f->type && (!mldfi_field_is_made(f) || f->type->locate) && mldfi_field_has_payload(f) &&
           (mldfi_reader_is_plain(reader, f) || mldfi_reader_is_chunked(reader, f));
}

mldf_status mldfi_reader_record(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err) {
    uint64_t payload_ptr = 0;
    bool valid;
    if (sample >= reader->header.num_samples || field >= reader->schema->field_count ||
        (reader->mapped && !mldfi_reader_is_chunked(reader, &reader->schema->fields[field])) ||
        !row_suffices(reader, &reader->schema->fields[field]))
        return get_unchecked(reader, sample, field, scratch, out, err);
    const struct schema_field *f = &reader->schema->fields[field];
    scratch->size = 0;
    mldf_status status = mldfi_reader_is_valid(reader, sample, field, &valid, err);
    if (status < 0)
        mldfi_error_place(err, sample, f->info.name);
    if (status >= 0 && !valid)
        set_null(out);
    else if (status >= 0)
        status = load_stored(reader, sample, field, false, scratch, out, &payload_ptr, err);
    return status >= 0 && valid ? decode(reader, sample, f, payload_ptr, scratch, out, err) : status;
}

static inline mldf_status get(const mldf_reader *reader, uint64_t sample, size_t field, bool stored,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "getting a value needs a reader and a place for the value");
    if (sample >= reader->header.num_samples)
        return mldfi_reader_no_sample(reader, sample, err);
    if (field >= reader->schema->field_count)
        return mldfi_reader_no_field(reader, field, err);
    if (scratch)
        scratch->size = 0;
    return mldfi_reader_get_appended(reader, sample, field, stored, scratch, out, err);
}

/* The short way: a built-in type, raw in the mapping. Rows and validity bits were found inside the file at open. */
static inline bool takes_short_way(const mldf_reader *reader, const struct schema_field *f) {
    return reader->plain && f->type && !mldfi_field_is_made(f) && !(f->info.flags & MLDF_FIELD_COMPRESSED);
}

static inline bool bit_is_set(const mldf_reader *reader, uint64_t sample, const struct schema_field *f) {
    return reader->map.data[validity_byte(reader, sample, f)] >> (sample % 8) & 1;
}

static inline mldf_status get_short(const mldf_reader *reader, uint64_t sample, const struct schema_field *f,
                                    mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const uint8_t *record = reader->map.data + mldfi_record_at(reader, sample, f), *data = NULL;
    uint64_t ptr = 0, bytes = 0;
    if ((f->info.flags & MLDF_FIELD_NULLABLE) && !bit_is_set(reader, sample, f)) {
        set_null(out);
        return MLDF_OK;
    }
    if (mldfi_field_has_payload(f)) {
        mldfi_record_payload(f, record, &ptr, &bytes);
        if (bytes == 0 ? ptr != 0 : ptr < reader->header.data_ptr || !mldfi_range_inside(ptr, bytes, reader->end))
            return mldfi_reader_check_payload(reader, sample, f, mldfi_record_at(reader, sample, f), ptr, &bytes, err);
        data = bytes ? reader->map.data + ptr : NULL;
    }
    out->record = record;
    out->data = data;
    out->bytes = bytes;
    return decode(reader, sample, f, ptr, scratch, out, err);
}

static mldf_status get_unchecked(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                 mldf_value *out, mldf_error *err) {
    if (!reader || !out || sample >= reader->header.num_samples || field >= reader->schema->field_count)
        return get(reader, sample, field, false, scratch, out, err);
    const struct schema_field *f = &reader->schema->fields[field];
    return takes_short_way(reader, f) ? get_short(reader, sample, f, scratch, out, err)
                                      : get(reader, sample, field, false, scratch, out, err);
}

static bool is_packed(const struct schema_field *f, const mldf_value *value) {
    if (!f->type || value->kind == MLDF_KIND_NULL)
        return false;
    return f->type->is_packed ? f->type->is_packed(value->record)
                              : f->type->holds_packed && f->type->holds_packed(f, value);
}

/* The codes of a packed value have no invalid words, so that damage would look like another value: its CRC is always looked at. (With `verify` it
 * was already.) */
static mldf_status check_packed(const mldf_reader *reader, uint64_t sample, const struct schema_field *f,
                                const mldf_value *value, mldf_error *err) {
    uint32_t want, got;
    if (reader->verify || !reader->checks || reader->encrypted || reader->foreign.ops ||
        (f->info.flags & MLDF_FIELD_COMPRESSED) || !is_packed(f, value))
        return MLDF_OK;
    TRY(mldfi_reader_stored_crc(reader, sample, f->payload_index, &want, err));
    got = mldfi_crc32c(0, value->data, (size_t)value->bytes);
    if (got == want)
        return MLDF_OK;
    return place(reader, sample, f, err,
                 mldfi_fail_at(err, MLDF_E_CHECKSUM, mldfi_load_u64(value->record),
                               "its payload of %" PRIu64 " bytes at byte %" PRIu64 " has CRC %08" PRIx32
                               ", not %08" PRIx32,
                               value->bytes, mldfi_load_u64(value->record), got, want));
}

enum { PREFETCH_BYTES = 4096, CACHE_LINE = 64 };

void mldfi_reader_prefetch(const mldf_reader *reader, uint64_t sample, size_t field, bool payload) {
    uint64_t ptr, bytes;
    if (sample >= reader->header.num_samples || field >= reader->schema->field_count)
        return;
    const struct schema_field *f = &reader->schema->fields[field];
    if (!takes_short_way(reader, f))
        return;
    const uint8_t *record = reader->map.data + mldfi_record_at(reader, sample, f);
    if (!payload) {
        __builtin_prefetch(record);
        return;
    }
    if (!mldfi_field_has_payload(f))
        return;
    mldfi_record_payload(f, record, &ptr, &bytes);
    if (!mldfi_range_inside(ptr, bytes, reader->end))
        return;
    bytes = bytes < PREFETCH_BYTES ? bytes : PREFETCH_BYTES;
    for (uint64_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch(reader->map.data + ptr + i);
}

bool mldfi_reader_is_direct(const mldf_reader *reader, size_t field) {
    const struct schema_field *f = &reader->schema->fields[field];
    return takes_short_way(reader, f) && !f->type->is_packed && !f->type->holds_packed;
}

mldf_status mldfi_reader_get_direct(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                                    mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    return get_short(reader, sample, field, scratch, out, err);
}

mldf_status mldfi_reader_get_packed(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                    mldf_value *out, mldf_error *err) {
    mldf_status status = get_unchecked(reader, sample, field, scratch, out, err);
    return status < 0 ? status : check_packed(reader, sample, &reader->schema->fields[field], out, err);
}

mldf_status mldfi_reader_unpack(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    mldf_buffer made = MLDF_BUFFER_INIT;
    uint8_t record[64], *place_of_it;
    if (!f->type || !f->type->is_packed || out->kind == MLDF_KIND_NULL || out->record_bytes > sizeof record ||
        !f->type->is_packed(out->record))
        return MLDF_OK;
    if (!scratch)
        return place(reader, sample, f, err, mldfi_fail(err, MLDF_E_ARGUMENT, "this field needs a scratch buffer"));
    uint64_t most = mldfi_decoded_limit(reader->max_decoded, out->bytes);
    mldf_status status = f->type->unpack(out->record, out->data, out->bytes, most, record, &made, err);
    if (status >= 0)
        status = mldfi_scratch_place(scratch, made.size + out->record_bytes, 0, &place_of_it, err);
    if (status >= 0) {
        memcpy(place_of_it, made.data, made.size);
        memcpy(place_of_it + made.size, record, out->record_bytes);
        out->data = place_of_it;
        out->bytes = made.size;
        out->record = place_of_it + made.size;
    }
    mldf_buffer_free(&made);
    return status < 0 ? place(reader, sample, f, err, status) : MLDF_OK;
}

mldf_status mldf_reader_get(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                            mldf_value *out, mldf_error *err) {
    mldf_status status = mldfi_reader_get_packed(reader, sample, field, scratch, out, err);
    return status < 0 ? status : mldfi_reader_unpack(reader, sample, field, scratch, out, err);
}

mldf_status mldf_reader_get_stored(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                   mldf_value *out, mldf_error *err) {
    return get(reader, sample, field, true, scratch, out, err);
}
