/* A part of a value's bytes: two seconds of an hour's recording cost two seconds of bytes. Where the payload is stored as it is, only
 * those bytes are read; where it is sealed in chunks, those that hold them; where it is compressed, sealed as one or checked, the whole of it
 * must be, and is sliced. Of a range of no bytes nothing but the row is touched. access.c gives whole values. */
#include <inttypes.h>
#include <string.h>

#include "reader/reader.h"
#include "util/bytes.h"
#include "util/error.h"

static mldf_status refuse(const mldf_reader *reader, uint64_t sample, const struct schema_field *f, uint64_t offset,
                          uint64_t bytes, uint64_t have, mldf_error *err) {
    mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes from byte %" PRIu64 " on pass the end of a value of %" PRIu64,
               bytes, offset, have);
    mldfi_error_place(err, sample, f->info.name);
    return mldfi_reader_name_error(reader, err, MLDF_E_RANGE);
}

static mldf_status slice_whole(const mldf_reader *reader, uint64_t sample, size_t field, uint64_t offset,
                               uint64_t bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    mldf_status status = mldf_reader_get_stored(reader, sample, field, scratch, out, err);
    if (status < 0 || out->kind == MLDF_KIND_NULL)
        return status;
    if (!mldfi_range_inside(offset, bytes, out->bytes))
        return refuse(reader, sample, f, offset, bytes, out->bytes, err);
    out->as.u = out->bytes;
    out->data = bytes ? (const uint8_t *)out->data + offset : NULL;
    out->bytes = bytes;
    return MLDF_OK;
}

/* The record, and of the payload what is asked for. */
static mldf_status read_part(const mldf_reader *reader, uint64_t sample, const struct schema_field *f, uint64_t offset,
                             uint64_t bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    uint64_t at = mldfi_record_at(reader, sample, f), ptr = 0, have = 0;
    const uint8_t *record, *data = NULL;
    mldf_status status = mldfi_reader_check_blocks(reader, at - reader->tables.metadata.ptr, f->info.record_bytes, err);
    if (status >= 0)
        status = mldfi_reader_view(reader, at, f->info.record_bytes, scratch, &record, err);
    if (status < 0)
        return status;
    size_t place = reader->mapped ? 0 : (size_t)(record - scratch->data);
    if (mldfi_field_has_payload(f)) {
        mldfi_record_payload(f, record, &ptr, &have);
        if ((status = mldfi_reader_check_payload(reader, sample, f, at, ptr, &have, err)) < 0)
            return status;
    }
    bool chunked = mldfi_reader_is_chunked(reader, f);
    /* Otherwise what is stored is not the value, and nothing of it is asked for. */
    bool whole = chunked || mldfi_reader_is_plain(reader, f);
    struct payload p = {sample, (size_t)(f - reader->schema->fields), at, ptr, have};
    if (chunked && have) {
        if ((status = mldfi_reader_check_sealed(reader, &p, err)) < 0)
            return status;
        have = mldfi_reader_value_bytes(f, have);
    }
    if (whole && !mldfi_range_inside(offset, bytes, have))
        return refuse(reader, sample, f, offset, bytes, have, err);
    if (bytes && chunked)
        status = mldfi_reader_open_part(reader, &p, offset, bytes, scratch, &data, err);
    else if (bytes)
        status = mldfi_reader_view(reader, ptr + offset, bytes, scratch, &data, err);
    if (status < 0)
        return status;
    *out = (mldf_value){.kind = MLDF_KIND_STORED, .data = data, .bytes = bytes, .record_bytes = f->info.record_bytes};
    out->record = reader->mapped ? record : scratch->data + place;
    out->as.u = whole ? have : MLDF_NONE;
    return MLDF_OK;
}

mldf_status mldf_reader_get_range(const mldf_reader *reader, uint64_t sample, size_t field, uint64_t offset,
                                  uint64_t bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    bool valid;
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "getting a value needs a reader and a place for the value");
    if (sample >= reader->header.num_samples)
        return mldfi_reader_no_sample(reader, sample, err);
    if (field >= reader->schema->field_count)
        return mldfi_reader_no_field(reader, field, err);
    const struct schema_field *f = &reader->schema->fields[field];
    if (reader->foreign.ops || (bytes && !mldfi_reader_is_plain(reader, f) && !mldfi_reader_is_chunked(reader, f)))
        return slice_whole(reader, sample, field, offset, bytes, scratch, out, err);
    if (!reader->mapped && !scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a file that is read needs a scratch buffer");
    if (scratch)
        scratch->size = 0;
    mldf_status status = mldfi_reader_is_valid(reader, sample, field, &valid, err);
    if (status >= 0 && !valid) {
        *out = (mldf_value){.kind = MLDF_KIND_NULL};
        return MLDF_OK;
    }
    if (status >= 0)
        status = read_part(reader, sample, f, offset, bytes, scratch, out, err);
    if (status < 0)
        mldfi_error_place(err, sample, f->info.name);
    return status;
}
