/* Many samples in one call: get_many, whose values share one scratch buffer, gather, which copies items of fixed size into the
 * caller's array, and valid, which tells nulls from values. All are loops over access.c; where rows are mapped and need no checks, gather is a loop of
 * copies that asks for rows ahead of their use. */
#include <inttypes.h>

#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PREFETCH_AHEAD = 8 };

/* ---- get_many --------------------------------------------------------------------------------------------------------------- */

/* Scratch grew and moved: values made before point to where it was. */
static void move_values(mldf_value *values, size_t count, uintptr_t from, size_t bytes, const uint8_t *to) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t data = (uintptr_t)values[i].data, record = (uintptr_t)values[i].record;
        if (data >= from && data - from < bytes)
            values[i].data = to + (data - from);
        if (record >= from && record - from < bytes)
            values[i].record = to + (record - from);
    }
}

static mldf_status check_call(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                              const void *out, mldf_error *err) {
    if (!reader || (count && (!samples || !out)))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "reading many samples needs a reader, their numbers and a place for them");
    if (field >= reader->schema->field_count)
        return mldfi_reader_no_field(reader, field, err);
    return MLDF_OK;
}

mldf_status mldf_reader_get_many(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                                 mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    mldf_status status = check_call(reader, samples, count, field, out, err);
    if (status < 0)
        return status;
    if (scratch)
        scratch->size = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t before = scratch ? (uintptr_t)scratch->data : 0;
        size_t bytes = scratch ? scratch->size : 0;
        if (samples[i] >= reader->header.num_samples)
            return mldfi_reader_no_sample(reader, samples[i], err);
        status = mldfi_reader_get_appended(reader, samples[i], field, false, scratch, &out[i], err);
        if (status >= 0)
            status = mldfi_reader_unpack(reader, samples[i], field, scratch, &out[i], err);
        if (status < 0)
            return status;
        if (scratch && before && (uintptr_t)scratch->data != before)
            move_values(out, i, before, bytes, scratch->data);
    }
    return MLDF_OK;
}

/* ---- gather ------------------------------------------------------------------------------------------------------------------ */

/* Bytes of every item of a field of fixed size, or MLDF_NONE. */
static uint64_t fixed_item_bytes(const struct schema_field *f) {
    uint64_t bytes = mldf_dtype_bytes(f->info.dtype);
    if (!f->type)
        return MLDF_NONE;
    if (f->info.type_id == MLDF_INT)
        return 8; /* in a 1.0 file the record may be shorter */
    if (f->info.type_id == MLDF_FLOAT || f->info.type_id == MLDF_INLINE)
        return f->info.record_bytes;
    if (f->info.type_id != MLDF_NDARRAY)
        return MLDF_NONE;
    for (uint32_t i = 0; i < f->info.ndim; i++)
        if (f->info.dims[i] < 0 || !mldfi_mul_u64(bytes, (uint64_t)f->info.dims[i], &bytes))
            return MLDF_NONE;
    return bytes;
}

/* Is a record of this field, as it lies in the mapping, already the item? An INT of few bits has values that it refuses. */
static bool records_are_items(const mldf_reader *reader, const struct schema_field *f) {
    bool any_record = f->info.type_id == MLDF_FLOAT || f->info.type_id == MLDF_INLINE ||
                      (f->info.type_id == MLDF_INT && (f->info.dtype == MLDF_I64 || f->info.dtype == MLDF_U64));
    return any_record && reader->mapped && !reader->foreign.ops && !reader->verified_blocks &&
           !(f->info.flags & MLDF_FIELD_NULLABLE);
}

static mldf_status gather_records(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                                  uint8_t *dst, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    const uint8_t *rows = reader->map.data + reader->tables.metadata.ptr + f->info.row_offset;
    uint64_t n = reader->header.num_samples, row_bytes = reader->row_bytes;
    size_t bytes = f->info.record_bytes;
    for (size_t i = 0; i < count; i++) {
        if (samples[i] >= n)
            return mldfi_reader_no_sample(reader, samples[i], err);
        if (i + PREFETCH_AHEAD < count && samples[i + PREFETCH_AHEAD] < n)
            __builtin_prefetch(rows + samples[i + PREFETCH_AHEAD] * row_bytes);
        if (bytes == 8)
            memcpy(dst + i * 8, rows + samples[i] * row_bytes, 8);
        else
            memcpy(dst + i * bytes, rows + samples[i] * row_bytes, bytes);
    }
    return MLDF_OK;
}

static mldf_status gather_values(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                                 uint8_t *dst, size_t item_bytes, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    bool in_record = !mldfi_field_has_payload(f), number = f->info.type_id == MLDF_INT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status >= 0; i++, dst += item_bytes) {
        mldf_value value;
        status = mldf_reader_get(reader, samples[i], field, &scratch, &value, err);
        if (status < 0)
            break;
        if (value.kind == MLDF_KIND_NULL)
            memset(dst, 0, item_bytes);
        else if (item_bytes)
            memcpy(dst, number ? &value.as : in_record ? value.record : value.data, item_bytes);
    }
    mldf_buffer_free(&scratch);
    return status;
}

mldf_status mldf_reader_gather(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                               void *dst, size_t item_bytes, mldf_error *err) {
    TRY(check_call(reader, samples, count, field, dst, err));
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t want = fixed_item_bytes(f);
    if (want != item_bytes) {
        if (want == MLDF_NONE)
            mldfi_fail(err, MLDF_E_TYPE, "field %s is not of fixed size: %s", f->info.name, f->info.type_name);
        else
            mldfi_fail(err, MLDF_E_ARGUMENT, "field %s has items of %" PRIu64 " bytes, not %zu", f->info.name, want,
                       item_bytes);
        mldfi_error_place(err, MLDF_NONE, f->info.name);
        return want == MLDF_NONE ? MLDF_E_TYPE : MLDF_E_ARGUMENT;
    }
    if (records_are_items(reader, f))
        return gather_records(reader, samples, count, field, dst, err);
    return gather_values(reader, samples, count, field, dst, item_bytes, err);
}

/* ---- valid ------------------------------------------------------------------------------------------------------------------- */

mldf_status mldf_reader_valid(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                              uint8_t *out, mldf_error *err) {
    mldf_status status = check_call(reader, samples, count, field, out, err);
    if (status < 0)
        return status;
    const struct schema_field *f = &reader->schema->fields[field];
    bool asks_payload = reader->foreign.ops && (f->info.flags & MLDF_FIELD_NULLABLE);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    for (size_t i = 0; i < count && status >= 0; i++) {
        bool valid = true;
        if (samples[i] >= reader->header.num_samples) {
            status = mldfi_reader_no_sample(reader, samples[i], err);
        } else if (asks_payload) {
            mldf_value value;
            status = mldf_reader_get_stored(reader, samples[i], field, &scratch, &value, err);
            valid = status >= 0 && value.kind != MLDF_KIND_NULL;
        } else if (!reader->foreign.ops) {
            status = mldfi_reader_is_valid(reader, samples[i], field, &valid, err);
        }
        out[i] = valid;
    }
    mldf_buffer_free(&scratch);
    return status;
}
