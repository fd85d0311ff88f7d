/* From a caller's parts to the payload and record of a multimodal sample. Each part goes the way of a field of its kind: the same encoders, the same
 * refusals, which then name the part.
 *
 * The list that a writer is given, which is never stored: "mldfmms1" · count u32 · 0 u32 · item[count], 128 bytes each · what they point to, on 64
 *     item   0 kind u32 · 4 group u32 · 8 begin i64 · 16 kind of value u32 · 20 dtype u32 · 24 number u64 · 32 offset u64 · 40 bytes u64 · 48 ndim u32 ·
 *            52 record_bytes u32 · 56 dims u64[8] · 120 record_offset u64 */
#include <inttypes.h>
#include <string.h>

#include "field/multimodal.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum {
    LIST_HEAD = 16,
    ITEM_BYTES = 128,
    ITEM_GROUP = 4,
    ITEM_BEGIN = 8,
    ITEM_VALUE = 16,
    ITEM_DTYPE = 20,
    ITEM_NUMBER = 24,
    ITEM_OFFSET = 32,
    ITEM_SIZE = 40,
    ITEM_NDIM = 48,
    ITEM_RECORD_BYTES = 52,
    ITEM_DIMS = 56,
    ITEM_RECORD = 120
};
static const char list_magic[] = "mldfmms1";

/* ---- Making a list --------------------------------------------------------------------------------------------------------------- */

static mldf_status add_bytes(mldf_buffer *out, size_t base, const void *data, uint64_t bytes, uint64_t *offset,
                             mldf_error *err) {
    size_t pad = (size_t)mldfi_align_up(out->size - base, PARTS_ALIGN) - (out->size - base);
    uint8_t *at;
    *offset = out->size - base + pad;
    if (bytes > SIZE_MAX / 4)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu64 " bytes in one part", bytes);
    TRY(mldfi_buffer_extend(out, pad + (size_t)bytes, &at, err));
    memset(at, 0, pad);
    if (bytes)
        memcpy(at + pad, data, (size_t)bytes);
    return MLDF_OK;
}

static mldf_status add_item(const mldf_schema *kinds, const mldf_sample_part *part, size_t index, mldf_buffer *out,
                            size_t base, mldf_error *err) {
    const mldf_value *v = &part->value;
    size_t at = base + LIST_HEAD + index * ITEM_BYTES, kind;
    uint64_t offset = 0, record = 0;
    mldf_status status = part->role ? mldf_schema_find(kinds, part->role, &kind, NULL) : MLDF_E_NO_FIELD;
    if (status < 0) {
        struct suggestion near = {part->role ? part->role : "", NULL, 0};
        for (size_t i = 0; i < kinds->field_count; i++)
            mldfi_suggest(&near, kinds->fields[i].name);
        return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no kind of parts with the role \"%.63s\"; %s \"%s\"",
                          part->role ? part->role : "", near.best ? "did you mean" : "the first is",
                          near.best ? near.best : kinds->fields[0].name);
    }
    bool bytes = v->kind == MLDF_KIND_BYTES || v->kind == MLDF_KIND_TEXT || v->kind == MLDF_KIND_ARRAY ||
                 v->kind == MLDF_KIND_STORED;
    if (bytes && (status = mldfi_check_data(v, err)) < 0)
        return status;
    if (bytes)
        status = add_bytes(out, base, v->data, v->bytes, &offset, err);
    if (status == MLDF_OK && v->kind == MLDF_KIND_STORED)
        status = add_bytes(out, base, v->record, v->record_bytes, &record, err);
    if (status < 0)
        return status;
    uint8_t *item = out->data + at;
    mldfi_store_u32(item, (uint32_t)kind);
    mldfi_store_u32(item + ITEM_GROUP, part->group);
    mldfi_store_u64(item + ITEM_BEGIN, (uint64_t)part->begin);
    mldfi_store_u32(item + ITEM_VALUE, (uint32_t)v->kind);
    mldfi_store_u32(item + ITEM_DTYPE, (uint32_t)v->dtype);
    mldfi_store_u64(item + ITEM_NUMBER, v->as.u);
    mldfi_store_u64(item + ITEM_OFFSET, offset);
    mldfi_store_u64(item + ITEM_SIZE, bytes ? v->bytes : 0);
    mldfi_store_u32(item + ITEM_NDIM, v->kind == MLDF_KIND_ARRAY ? v->ndim : 0);
    mldfi_store_u32(item + ITEM_RECORD_BYTES, v->kind == MLDF_KIND_STORED ? v->record_bytes : 0);
    for (size_t i = 0; i < MLDF_MAX_DIMS && v->kind == MLDF_KIND_ARRAY && i < v->ndim; i++)
        mldfi_store_u64(item + ITEM_DIMS + 8 * i, v->dims[i]);
    mldfi_store_u64(item + ITEM_RECORD, record);
    return MLDF_OK;
}

mldf_status mldf_parts_list(const mldf_schema *schema, size_t field, const mldf_sample_part *parts, size_t count,
                            mldf_buffer *out, mldf_error *err) {
    const mldf_schema *kinds;
    uint8_t *at;
    if ((!parts && count) || !out || count > UINT32_MAX / ENTRY_BYTES)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a list of parts needs a buffer and fewer than 2^26 parts");
    mldf_status status = mldf_parts_schema(schema, field, &kinds, err);
    size_t base = out->size, table = LIST_HEAD + count * ITEM_BYTES;
    if (status == MLDF_OK)
        status = mldfi_buffer_extend(out, table, &at, err);
    if (status < 0)
        return status;
    memset(at, 0, table);
    memcpy(at, list_magic, 8);
    mldfi_store_u32(at + 8, (uint32_t)count);
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        status = add_item(kinds, &parts[i], i, out, base, err);
        if (status < 0)
            mldfi_error_prefix(err, "part %zu", i);
    }
    return status;
}

/* ---- Reading it ------------------------------------------------------------------------------------------------------------------- */

/* Also from a caller in C, who may have made it himself: nothing is trusted. */
static mldf_status take_item(const mldf_value *list, const mldf_schema *kinds, uint64_t index, mldf_sample_part *out,
                             size_t *kind, mldf_error *err) {
    const uint8_t *data = list->data, *item = data + LIST_HEAD + index * ITEM_BYTES;
    mldf_value *v = &out->value;
    uint64_t offset = mldfi_load_u64(item + ITEM_OFFSET), record = mldfi_load_u64(item + ITEM_RECORD);
    uint32_t value_kind = mldfi_load_u32(item + ITEM_VALUE), dtype = mldfi_load_u32(item + ITEM_DTYPE);
    memset(out, 0, sizeof *out);
    *kind = mldfi_load_u32(item);
    v->bytes = mldfi_load_u64(item + ITEM_SIZE);
    v->ndim = mldfi_load_u32(item + ITEM_NDIM);
    v->record_bytes = mldfi_load_u32(item + ITEM_RECORD_BYTES);
    if (*kind >= kinds->field_count || value_kind > MLDF_KIND_STORED || value_kind == MLDF_KIND_STRUCT ||
        dtype > MLDF_C128 || v->ndim > MLDF_MAX_DIMS || !mldfi_range_inside(offset, v->bytes, list->bytes) ||
        !mldfi_range_inside(record, v->record_bytes, list->bytes))
        return mldfi_fail(err, MLDF_E_TYPE, "part %" PRIu64 " of the list is not one that mldf_parts_list made", index);
    out->group = mldfi_load_u32(item + ITEM_GROUP);
    out->begin = (int64_t)mldfi_load_u64(item + ITEM_BEGIN);
    v->kind = (mldf_kind)value_kind;
    v->dtype = (mldf_dtype)dtype;
    v->as.u = mldfi_load_u64(item + ITEM_NUMBER);
    v->data = v->bytes ? data + offset : NULL;
    v->record = v->record_bytes ? data + record : NULL;
    for (uint32_t i = 0; i < v->ndim; i++)
        v->dims[i] = mldfi_load_u64(item + ITEM_DIMS + 8 * (size_t)i);
    return MLDF_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------------------------ */

/* The record of one part in `record`, with the bytes of its payload at *data. */
static mldf_status encode_part(const struct schema_field *of, struct media_kit *kit, const mldf_value *value,
                               uint8_t *record, mldf_buffer *aside, const void **data, uint64_t *bytes,
                               mldf_error *err) {
    *data = NULL;
    *bytes = 0;
    if (value->kind != MLDF_KIND_STORED)
        return mldfi_field_encode(of, kit, false, value, record, aside, data, bytes, err);
    TRY(mldfi_field_check_stored(of, value, err));
    memcpy(record, value->record, of->info.record_bytes);
    *data = value->data;
    *bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status add_part(const struct multimodal_state *s, struct media_kit *kit, const mldf_sample_part *part,
                            size_t kind, uint64_t index, mldf_buffer *aside, struct parts_totals *totals,
                            mldf_buffer *out, mldf_error *err) {
    struct parts_entry e = {.kind = (uint16_t)kind, .of = &s->kinds->fields[kind]};
    const void *data;
    uint8_t *at;
    e.null = part->value.kind == MLDF_KIND_NULL;
    mldf_status status = e.null ? MLDF_OK : encode_part(e.of, kit, &part->value, e.record, aside, &data, &e.bytes, err);
    if (status < 0)
        return status;
    if (!e.null && mldfi_field_has_payload(e.of)) {
        bool view = e.of->layout.viewable && (!e.of->type->is_viewable || e.of->type->is_viewable(e.record));
        size_t pad = (size_t)mldfi_align_up(out->size, view ? PARTS_ALIGN : 8) - out->size;
        if ((e.of->info.flags & MLDF_FIELD_SIZE32) && e.bytes > UINT32_MAX)
            return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes; payloads of %s must be smaller than 4 GiB",
                              e.bytes, e.of->info.type_name);
        if (e.bytes) {
            status = mldfi_buffer_extend(out, pad + (size_t)e.bytes, &at, err);
            if (status < 0)
                return status;
            memset(at, 0, pad);
            memcpy(at + pad, data, (size_t)e.bytes);
            e.offset = out->size - e.bytes;
        }
        mldfi_record_set_payload(e.of, e.record, e.offset, e.bytes);
    }
    at = out->data + index * s->entry_bytes;
    mldfi_store_u16(at, (uint16_t)kind);
    mldfi_store_u16(at + ENTRY_FLAGS, e.null ? ENTRY_NULL : 0);
    mldfi_store_u32(at + ENTRY_GROUP, part->group);
    mldfi_store_u64(at + ENTRY_BEGIN, (uint64_t)part->begin);
    memcpy(at + ENTRY_RECORD, e.record, s->entry_bytes - ENTRY_RECORD);
    return mldfi_parts_add(totals, &e, err);
}

static mldf_status add_parts(const struct multimodal_state *s, struct media_kit *kit, const mldf_value *list,
                             uint64_t count, struct parts_totals *totals, mldf_buffer *out, mldf_error *err) {
    mldf_buffer aside = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < count && status == MLDF_OK; i++) {
        mldf_sample_part part;
        size_t kind;
        status = take_item(list, s->kinds, i, &part, &kind, err);
        if (status < 0)
            break;
        status = add_part(s, kit, &part, kind, i, &aside, totals, out, err);
        if (status < 0)
            mldfi_error_prefix(err, "part %" PRIu64 " (%s)", i, s->kinds->fields[kind].name);
    }
    mldf_buffer_free(&aside);
    return status;
}

static mldf_status encode_with(const struct multimodal_state *s, struct media_kit *kit, const mldf_value *value,
                               uint8_t *record, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                               mldf_error *err) {
    struct parts_totals totals = {0};
    mldf_status status =
        value->kind == MLDF_KIND_BYTES ? mldfi_check_data(value, err) : mldfi_wrong_kind(value, "a list of parts", err);
    if (status < 0)
        return status;
    const uint8_t *data = value->data;
    if (value->bytes < LIST_HEAD || memcmp(data, list_magic, 8) != 0)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "%" PRIu64 " bytes that are not a list of parts (mldf_parts_list makes one)", value->bytes);
    uint64_t count = mldfi_load_u32(data + 8);
    if (count > (value->bytes - LIST_HEAD) / ITEM_BYTES)
        return mldfi_fail(err, MLDF_E_TYPE, "a list of %" PRIu64 " parts that is cut short", count);
    scratch->size = 0;
    TRY(mldfi_buffer_resize(scratch, (size_t)count * s->entry_bytes, err));
    if (count)
        memset(scratch->data, 0, (size_t)count * s->entry_bytes);
    TRY(add_parts(s, kit, value, count, &totals, scratch, err));
    mldfi_store_u32(record + PARTS_MASK, totals.mask);
    mldfi_store_u32(record + PARTS_COUNT, (uint32_t)count);
    mldfi_store_u32(record + PARTS_TOKENS, totals.tokens);
    mldfi_store_u32(record + PARTS_IMAGES, totals.images);
    mldfi_store_u64(record + PARTS_PIXELS, totals.pixels);
    mldfi_store_u64(record + PARTS_SAMPLES, totals.samples);
    mldfi_store_u64(record + PARTS_MILLISECONDS, totals.milliseconds);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    return MLDF_OK;
}

mldf_status mldfi_multimodal_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err) {
    struct media_kit kit = {0};
    (void)user;
    mldf_status status = encode_with(state, &kit, value, record, scratch, payload, payload_bytes, err);
    mldfi_kit_free(&kit);
    return status;
}

mldf_status mldfi_multimodal_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                           uint8_t *record, mldf_buffer *scratch, const void **payload,
                                           uint64_t *payload_bytes, mldf_error *err) {
    mldf_status status = encode_with(field->state, worker, value, record, scratch, payload, payload_bytes, err);
    mldfi_kit_trim(worker);
    return status;
}
