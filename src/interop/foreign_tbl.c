/* TBL as a dataset: the fields `image`, `format` and, where the file has any, `metadata`. tbl.h reads the bytes. */
#include <stdio.h>
#include <string.h>

#include "field/image_type.h"
#include "interop/open_any.h"
#include "interop/tbl.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { FIELD_IMAGE, FIELD_FORMAT, FIELD_METADATA };

static void tbl_close(void *state) {
    mldfi_tbl_close(state);
}

/* A decoded sample is in a buffer of its own, because scratch may already hold other values. */
static mldf_status get_image(struct tbl *tbl, uint64_t sample, bool verify, mldf_buffer *scratch, mldf_value *out,
                             mldf_error *err) {
    struct tbl_entry entry;
    mldf_buffer decoded = MLDF_BUFFER_INIT;
    const uint8_t *data;
    uint64_t bytes;
    uint8_t record[IMAGE_RECORD];
    mldf_status status = mldfi_tbl_entry(tbl, sample, &entry, err);
    if (status >= 0)
        status = mldfi_tbl_payload(tbl, sample, verify, &decoded, &data, &bytes, err);
    if (status >= 0) {
        if (entry.format == TBL_RAW_U8 && (uint64_t)entry.width * entry.height * 3 == bytes)
            mldfi_image_record_raw(record, entry.offset, bytes, entry.width, entry.height, 3);
        else
            mldfi_image_keep(record, entry.offset, data, bytes);
        mldfi_image_record_sides(record, entry.width, entry.height);
        if (bytes == 0)
            mldfi_store_u64(record, 0);
        status =
            mldfi_foreign_value(scratch, record, sizeof record, data, bytes, (entry.flags & TBL_LZ4) != 0, out, err);
    }
    mldf_buffer_free(&decoded);
    return status;
}

static mldf_status tbl_get(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch,
                           mldf_value *out, mldf_error *err) {
    struct tbl *tbl = state;
    struct tbl_entry entry;
    struct tbl_metadata metadata;
    uint8_t record[16] = {0};
    mldf_status status;
    switch (field) {
    case FIELD_IMAGE:
        return get_image(tbl, sample, verify, scratch, out, err);
    case FIELD_FORMAT:
        if ((status = mldfi_tbl_entry(tbl, sample, &entry, err)) < 0)
            return status;
        mldfi_store_u64(record, entry.format);
        return mldfi_foreign_value(scratch, record, 8, NULL, 0, false, out, err);
    default:
        if ((status = mldfi_tbl_find_metadata(tbl, sample, &metadata, err)) < 0)
            return status;
        if (status == MLDF_END) {
            memset(out, 0, sizeof *out);
            return MLDF_OK;
        }
        mldfi_store_u64(record + 8, metadata.bytes);
        return mldfi_foreign_value(scratch, record, sizeof record, metadata.data, metadata.bytes, false, out, err);
    }
}

static mldf_status tbl_verify(void *state, bool (*report)(void *, const mldf_error *), void *user, mldf_error *err) {
    uint64_t problems;
    return mldfi_tbl_verify(state, report, user, &problems, err);
}

static mldf_status tbl_payload_bytes(void *state, uint64_t *out, mldf_error *err) {
    const struct tbl_info *info = mldfi_tbl_info(state);
    struct tbl_entry entry;
    mldf_status status = MLDF_OK;
    *out = 0;
    for (uint64_t i = 0; i < info->count && status >= 0; i++) {
        status = mldfi_tbl_entry(state, i, &entry, err);
        *out += status >= 0 ? entry.stored : 0;
    }
    return status;
}

static bool tbl_range(void *state, uint64_t sample, size_t field, uint64_t *offset, uint64_t *bytes) {
    struct tbl_entry entry;
    if (field != FIELD_IMAGE || mldfi_tbl_entry(state, sample, &entry, NULL) < 0)
        return false;
    *offset = entry.offset;
    *bytes = entry.stored;
    return true;
}

static bool tbl_claims_image(void *state, uint64_t sample, size_t field) {
    struct tbl_entry entry;
    return field == FIELD_IMAGE && mldfi_tbl_entry(state, sample, &entry, NULL) >= 0 && entry.format >= TBL_JPEG &&
           entry.format <= TBL_TIFF;
}

static const struct foreign_ops ops1 = {"tbl1", tbl_close, tbl_get,          NULL, NULL, tbl_verify, tbl_payload_bytes,
                                        false,  tbl_range, tbl_claims_image, NULL};
static const struct foreign_ops ops2 = {"tbl2", tbl_close, tbl_get,          NULL, NULL, tbl_verify, tbl_payload_bytes,
                                        true,   tbl_range, tbl_claims_image, NULL};

/* JSON when every block says so and holds some; otherwise plain bytes. */
static mldf_status metadata_type(struct tbl *tbl, uint64_t count, uint16_t *type, mldf_error *err) {
    *type = MLDF_JSON;
    for (uint64_t i = 0; i < count && *type == MLDF_JSON; i++) {
        struct tbl_metadata block;
        mldf_status status = mldfi_tbl_find_metadata(tbl, i, &block, err);
        if (status < 0)
            return status;
        if (status == MLDF_OK && (block.type != TBL_META_JSON || block.bytes == 0))
            *type = MLDF_BYTES;
    }
    return MLDF_OK;
}

static mldf_status make_card(mldf_reader *reader, const struct tbl_info *info, mldf_error *err) {
    char text[128];
    if (info->dataset_version == 0 && info->created == 0 && info->custom_flags == 0)
        return MLDF_OK;
    int used = snprintf(text, sizeof text, "{\"created\":%llu,\"dataset_version\":%u",
                        (unsigned long long)info->created, info->dataset_version);
    if (info->custom_flags)
        used += snprintf(text + used, sizeof text - (size_t)used, ",\"custom_flags\":%u", info->custom_flags);
    snprintf(text + used, sizeof text - (size_t)used, "}");
    reader->foreign.card = mldfi_copy_text(text, strlen(text), err);
    return reader->foreign.card ? MLDF_OK : MLDF_E_MEMORY;
}

mldf_status mldfi_foreign_open_tbl(mldf_reader *reader, mldf_error *err) {
    struct tbl *tbl;
    uint16_t type = 0;
    TRY(mldfi_tbl_open(&tbl, reader->map.data, reader->map.bytes, err));
    mldfi_tbl_limit(tbl, reader->max_decoded);
    const struct tbl_info *info = mldfi_tbl_info(tbl);
    reader->foreign.ops = info->version == 1 ? &ops1 : &ops2;
    reader->foreign.state = tbl;
    reader->foreign.version = (uint16_t)info->version;
    reader->header.num_samples = info->count;
    mldf_status status = mldf_schema_new(reader->context, &reader->schema, err);
    if (status >= 0)
        status = mldf_schema_add(reader->schema, "image", MLDF_IMAGE, NULL, 0, err);
    if (status >= 0)
        status = mldf_schema_add(reader->schema, "format", MLDF_INT, "{\"dtype\":\"|u1\"}", 0, err);
    if (status >= 0 && info->metadata_bytes) {
        status = metadata_type(tbl, info->count, &type, err);
        if (status >= 0)
            status = mldf_schema_add(reader->schema, "metadata", type, NULL, MLDF_FIELD_NULLABLE, err);
    }
    return status < 0 ? status : make_card(reader, info, err);
}
