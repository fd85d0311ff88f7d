/* Field descriptors of version 1.1, 208 bytes each, and the row that follows from them:
 *
 *     0 name char[64] · 64 type_id u16 · 66 flags u16 · 68 metadata_size u32 · 72 row_offset u32 · 76 arguments u8[128]
 *     204 row_align u16 · 206 arguments_bytes u16
 *
 * The checks stand in the order of the specification (O26 to O32). draft.c reads the descriptors of version 1.0. */
#include <inttypes.h>

#include "format/format.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

enum { FIELD_FLAGS_KNOWN = 15 | FORMAT_FIELD_CHUNKED };

const char *mldfi_name_problem(const char *name, size_t bytes) {
    if (bytes == 0)
        return "is empty";
    if (bytes > MLDF_NAME_MAX)
        return "is longer than 63 bytes";
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return "holds a control character";
    if (mldfi_utf8_valid_prefix(name, bytes) != bytes)
        return "is not UTF-8";
    return NULL;
}

void mldfi_descriptor_encode(const struct descriptor *descriptor, uint8_t out[FORMAT_DESCRIPTOR_BYTES]) {
    memset(out, 0, FORMAT_DESCRIPTOR_BYTES);
    memcpy(out, descriptor->name, strnlen(descriptor->name, MLDF_NAME_MAX));
    mldfi_store_u16(out + 64, descriptor->type_id);
    mldfi_store_u16(out + 66, descriptor->flags);
    mldfi_store_u32(out + 68, descriptor->metadata_size);
    mldfi_store_u32(out + 72, descriptor->row_offset);
    if (descriptor->arguments_bytes <= FORMAT_ARGUMENT_BYTES)
        memcpy(out + 76, descriptor->arguments, descriptor->arguments_bytes);
    mldfi_store_u16(out + 204, descriptor->row_align);
    mldfi_store_u16(out + 206, descriptor->arguments_bytes);
}

const char *mldfi_stored_name_problem(const uint8_t in[64]) {
    const char *name = (const char *)in;
    size_t bytes = strnlen(name, 64);
    if (bytes == 64)
        return "is not terminated";
    for (size_t i = bytes; i < 64; i++)
        if (name[i] != 0)
            return "is followed by bytes that are not zero";
    return mldfi_name_problem(name, bytes);
}

static mldf_status check_flags(const struct descriptor *d, uint64_t offset, mldf_error *err) {
    uint16_t payload = d->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    if (d->flags & ~FIELD_FLAGS_KNOWN)
        return mldfi_fail_at(err, MLDF_E_FEATURE, offset + 66,
                             "field %s: flags 0x%x have bits that this reader must not ignore", d->name, d->flags);
    if (payload == (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 66, "field %s: flags 0x%x give the payload two forms",
                             d->name, d->flags);
    if ((d->flags & MLDF_FIELD_COMPRESSED) && !payload)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 66, "field %s: flags 0x%x: compressed, but without payload",
                             d->name, d->flags);
    if ((d->flags & FORMAT_FIELD_CHUNKED) && (!payload || (d->flags & MLDF_FIELD_COMPRESSED)))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 66, "field %s: flags 0x%x: sealed in chunks, but %s",
                             d->name, d->flags, payload ? "compressed" : "without payload");
    return MLDF_OK;
}

static mldf_status check_record(const struct descriptor *d, uint64_t offset, mldf_error *err) {
    bool payload = (d->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)) != 0;
    if (d->metadata_size < mldfi_smallest_record(d->flags) || d->metadata_size > FORMAT_MAX_RECORD)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 68,
                             "field %s: a record of %" PRIu32 " bytes, not %" PRIu32 " to %d", d->name,
                             d->metadata_size, mldfi_smallest_record(d->flags), FORMAT_MAX_RECORD);
    if (!mldfi_is_power_of_two(d->row_align) || d->row_align > 64 || (payload && d->row_align != 8))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 204, "field %s: row_align %u is not %s", d->name,
                             d->row_align, payload ? "8" : "1, 2, 4, 8, 16, 32 or 64");
    if (d->row_offset % d->row_align != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 72,
                             "field %s: row_offset %" PRIu32 " is not a multiple of %u", d->name, d->row_offset,
                             d->row_align);
    if (!mldfi_range_inside(d->row_offset, d->metadata_size, FORMAT_MAX_ROW))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 72,
                             "field %s: record [%" PRIu32 ", +%" PRIu32 ") passes the largest row, 16 MiB", d->name,
                             d->row_offset, d->metadata_size);
    return MLDF_OK;
}

mldf_status mldfi_descriptor_decode(const uint8_t in[FORMAT_DESCRIPTOR_BYTES], uint64_t offset, struct descriptor *out,
                                    mldf_error *err) {
    const char *problem = mldfi_stored_name_problem(in);
    mldf_status status;
    if (problem)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset, "field descriptor: the name %s", problem);
    memcpy(out->name, in, sizeof out->name);
    out->type_id = mldfi_load_u16(in + 64);
    out->flags = mldfi_load_u16(in + 66);
    out->metadata_size = mldfi_load_u32(in + 68);
    out->row_offset = mldfi_load_u32(in + 72);
    memcpy(out->arguments, in + 76, FORMAT_ARGUMENT_BYTES);
    out->row_align = mldfi_load_u16(in + 204);
    out->arguments_bytes = mldfi_load_u16(in + 206);
    out->arguments_offset = offset + 76;
    if (out->type_id == 0)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 64, "field %s: type_id is 0", out->name);
    else if ((status = check_flags(out, offset, err)) == MLDF_OK)
        status = check_record(out, offset, err);
    if (status == MLDF_OK && out->arguments_bytes > FORMAT_ARGUMENT_BYTES &&
        out->arguments_bytes != FORMAT_LONG_ARGUMENTS)
        status =
            mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 206, "field %s: arguments_bytes %u is neither <= 128 nor 65535",
                          out->name, out->arguments_bytes);
    if (status < 0)
        mldfi_error_place(err, MLDF_NONE, out->name);
    return status;
}

mldf_status mldfi_row_add(struct row_cursor *row, const struct descriptor *descriptor, uint64_t offset,
                          mldf_error *err) {
    if (descriptor->row_offset < row->end) {
        mldf_status status =
            mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 72,
                          "field %s: row_offset %" PRIu32 " lies before the end of the previous record, %" PRIu32,
                          descriptor->name, descriptor->row_offset, row->end);
        mldfi_error_place(err, MLDF_NONE, descriptor->name);
        return status;
    }
    row->end = descriptor->row_offset + descriptor->metadata_size;
    if (descriptor->row_align > row->align)
        row->align = descriptor->row_align;
    return MLDF_OK;
}
