/* Field descriptors of the draft, version 1.0. Its text says 208 bytes and its sum of parts 204, and both were written,
 * so the stride is found by trying: 208 counts when every descriptor read so makes sense (rule Z3).
 *
 *     0 name char[64] · 64 type_id u16 · 66 flags u16 · 68 metadata_size u32 · 72 padding u32 · 76 arguments u8[128]
 *     [204 padding u32]
 *
 * Only name, type_id and metadata_size count; the rest of a descriptor follows from the type's registered form. */
#include <inttypes.h>

#include "format/format.h"
#include "format/names.h"
#include "util/bytes.h"
#include "util/error.h"

struct table_208 {
    const uint8_t *bytes;
};

static const char *name_in_table(const void *owner, size_t ordinal) {
    const struct table_208 *table = owner;
    return (const char *)table->bytes + ordinal * FORMAT_DESCRIPTOR_BYTES;
}

static mldf_status makes_sense(const uint8_t *bytes, size_t count, bool *out, mldf_error *err) {
    struct table_208 table = {bytes};
    struct name_index names = {NULL, 0, 0};
    mldf_status status = MLDF_OK;
    *out = true;
    for (size_t i = 0; i < count && *out && status == MLDF_OK; i++) {
        const uint8_t *in = bytes + i * FORMAT_DESCRIPTOR_BYTES;
        uint16_t type_id = mldfi_load_u16(in + 64);
        if (mldfi_stored_name_problem(in) || (type_id < MLDF_PRIVATE && !mldfi_type_name(type_id)) ||
            mldfi_names_find(&names, (const char *)in, name_in_table, &table) != SIZE_MAX)
            *out = false;
        else
            status = mldfi_names_add(&names, (const char *)in, name_in_table, &table, err);
    }
    mldfi_names_free(&names);
    return status;
}

mldf_status mldfi_draft_stride(const uint8_t *table, uint64_t available, size_t count, uint64_t offset, size_t *stride,
                               mldf_error *err) {
    *stride = 0;
    if (count <= available / FORMAT_DESCRIPTOR_BYTES) {
        bool good;
        TRY(makes_sense(table, count, &good, err));
        if (good) {
            *stride = FORMAT_DESCRIPTOR_BYTES;
            return MLDF_OK;
        }
    }
    if (count > available / FORMAT_DESCRIPTOR_BYTES_DRAFT)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, offset + available,
                             "%zu field descriptors at byte %" PRIu64 " pass the end of the file at %" PRIu64, count,
                             offset, offset + available);
    *stride = FORMAT_DESCRIPTOR_BYTES_DRAFT;
    return MLDF_OK;
}

/* Rule Z5: what the draft's writer, NumPy with align=True, gives a record. */
static uint16_t natural_align(const struct descriptor *d) {
    if (d->flags != 0 || d->type_id == MLDF_FLOAT)
        return 8;
    for (uint16_t align = 8; align > 1; align /= 2)
        if (d->metadata_size % align == 0)
            return align;
    return 1;
}

mldf_status mldfi_draft_descriptor_decode(const uint8_t *in, size_t stride, uint64_t offset, struct descriptor *out,
                                          mldf_error *err) {
    (void)stride; /* what follows byte 204 does not count */
    const char *problem = mldfi_stored_name_problem(in);
    memset(out, 0, sizeof *out);
    if (problem)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset, "field descriptor: the name %s", problem);
    memcpy(out->name, in, 64);
    out->type_id = mldfi_load_u16(in + 64);
    out->metadata_size = mldfi_load_u32(in + 68);
    out->arguments_offset = offset + 76;
    out->flags = mldfi_type_payload_flag(out->type_id);
    uint32_t least = mldfi_smallest_record(out->flags);
    mldf_status status = MLDF_OK;
    if (out->type_id == 0)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 64, "field %s: type_id is 0", out->name);
    else if (out->metadata_size < least || out->metadata_size > FORMAT_MAX_RECORD)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 68,
                               "field %s: a record of %" PRIu32 " bytes, not %" PRIu32 " to %d", out->name,
                               out->metadata_size, least, FORMAT_MAX_RECORD);
    if (status < 0)
        mldfi_error_place(err, MLDF_NONE, out->name);
    else
        out->row_align = natural_align(out);
    return status;
}
