/* .beton as a dataset: each of FFCV's fields becomes ours of the same kind. What has no counterpart (a tensor is an array, a custom
 * field bytes) is noted in the card (beton_note.h), so that a way back exists. beton.h reads the bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/image_type.h"
#include "interop/beton_inner.h"
#include "interop/beton_note.h"
#include "interop/open_any.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

static void beton_close(void *state) {
    mldfi_beton_close(state);
}

/* A custom field whose record has more than a ptr, and for whose rest the name is free. */
static bool has_rest(const struct beton *beton, uint32_t field) {
    const struct beton_field *f = mldfi_beton_field(beton, field);
    char name[BETON_NAME + 16];
    if (f->type != BETON_CUSTOM || !f->has_blob || mldfi_custom_rest(f->bytes) == 0 || f->bytes > BETON_RECORD_MAX)
        return false;
    mldfi_custom_rest_name(f->name, name, sizeof name);
    for (uint32_t i = 0; i < mldfi_beton_info(beton)->field_count; i++)
        if (strcmp(mldfi_beton_field(beton, i)->name, name) == 0)
            return false;
    return true;
}

static bool nth_rest(const struct beton *beton, size_t n, uint32_t *field) {
    for (uint32_t i = 0; i < mldfi_beton_info(beton)->field_count; i++) {
        if (!has_rest(beton, i) || n-- > 0)
            continue;
        *field = i;
        return true;
    }
    return false;
}

/* The record without its ptr. */
static mldf_status get_rest(const struct beton *beton, uint64_t sample, size_t n, mldf_buffer *scratch, mldf_value *out,
                            mldf_error *err) {
    uint8_t rest[BETON_RECORD_MAX];
    struct beton_value value;
    uint32_t field = 0;
    if (!nth_rest(beton, n, &field))
        return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no such field");
    const struct beton_field *f = mldfi_beton_field(beton, field);
    TRY(mldfi_beton_value(beton, sample, field, &value, err));
    memcpy(rest, value.record, f->ptr_at);
    memcpy(rest + f->ptr_at, value.record + f->ptr_at + 8, f->bytes - f->ptr_at - 8);
    return mldfi_foreign_value(scratch, rest, mldfi_custom_rest(f->bytes), NULL, 0, false, out, err);
}

static mldf_status beton_get(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch,
                             mldf_value *out, mldf_error *err) {
    uint32_t count = mldfi_beton_info(state)->field_count;
    struct beton_value value;
    uint8_t record[IMAGE_RECORD] = {0};
    (void)verify; /* the format has no checksums */
    if (field >= count)
        return get_rest(state, sample, field - count, scratch, out, err);
    const struct beton_field *f = mldfi_beton_field(state, (uint32_t)field);
    TRY(mldfi_beton_value(state, sample, (uint32_t)field, &value, err));
    uint64_t ptr = value.bytes ? value.ptr : 0;
    switch (f->type) {
    case BETON_INT:
        mldfi_store_u64(record, (uint64_t)value.integer);
        return mldfi_foreign_value(scratch, record, 8, NULL, 0, false, out, err);
    case BETON_FLOAT:
        mldfi_store_f64(record, value.real);
        return mldfi_foreign_value(scratch, record, 8, NULL, 0, false, out, err);
    case BETON_IMAGE:
        if (value.mode == BETON_IMAGE_RAW)
            mldfi_image_record_raw(record, ptr, value.bytes, value.width, value.height, 3);
        else
            mldfi_image_keep(record, ptr, value.data, value.bytes);
        return mldfi_foreign_value(scratch, record, sizeof record, value.data, value.bytes, false, out, err);
    default:
        mldfi_store_u64(record, ptr);
        mldfi_store_u64(record + 8, value.bytes);
        return mldfi_foreign_value(scratch, record, 16, value.data, value.bytes, false, out, err);
    }
}

static mldf_status beton_verify(void *state, bool (*report)(void *, const mldf_error *), void *user, mldf_error *err) {
    uint64_t problems;
    return mldfi_beton_verify(state, report, user, &problems, err);
}

static mldf_status beton_payload_bytes(void *state, uint64_t *out, mldf_error *err) {
    const struct beton *beton = state;
    (void)err;
    *out = 0;
    for (uint64_t i = 0; i < beton->info.entry_count; i++)
        if (!mldfi_add_u64(*out, mldfi_beton_entry(beton, i).size, out))
            *out = UINT64_MAX - 1;
    return MLDF_OK;
}

static bool beton_range(void *state, uint64_t sample, size_t field, uint64_t *offset, uint64_t *bytes) {
    struct beton_value value;
    if (mldfi_beton_value(state, sample, (uint32_t)field, &value, NULL) < 0 || value.bytes == 0)
        return false;
    *offset = value.ptr;
    *bytes = value.bytes;
    return true;
}

/* Pixels, or a JPEG: the format has nothing else. */
static bool beton_claims_image(void *state, uint64_t sample, size_t field) {
    (void)sample;
    return field < mldfi_beton_info(state)->field_count &&
           mldfi_beton_field(state, (uint32_t)field)->type == BETON_IMAGE;
}

static const struct foreign_ops ops = {"beton",      beton_close,         beton_get, NULL,        NULL,
                                       beton_verify, beton_payload_bytes, false,     beton_range, beton_claims_image,
                                       NULL};

/* The dtype of `[["", "<f4"]]`; NONE for structs and what we do not store. */
static mldf_dtype simple_dtype(const struct beton_field *f) {
    struct json json = {0};
    mldf_dtype dtype = MLDF_DTYPE_NONE;
    if (mldfi_json_parse(&json, f->descr, f->descr_bytes, NULL) == MLDF_OK && json.nodes[0].kind == MLDFI_JSON_ARRAY &&
        json.nodes[0].count == 1 && json.nodes[1].kind == MLDFI_JSON_ARRAY && json.nodes[1].count == 2 &&
        json.nodes[2].text_bytes == 0 && json.nodes[3].kind == MLDFI_JSON_STRING)
        dtype = mldf_dtype_parse(json.nodes[3].text, (size_t)json.nodes[3].text_bytes);
    mldfi_json_free(&json);
    return dtype;
}

/* Arrays of a plain type and at most 8 dimensions stay arrays; others are their bytes. */
static mldf_status array_arguments(const struct beton_field *f, mldf_buffer *out, mldf_error *err) {
    mldf_dtype dtype = simple_dtype(f);
    out->size = 0;
    if (dtype == MLDF_DTYPE_NONE || f->ndim > MLDF_MAX_DIMS)
        return MLDF_END;
    mldf_status status = mldfi_buffer_printf(out, err, "{\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(dtype));
    for (uint32_t i = 0; i < f->ndim && status >= 0; i++) {
        if (f->shape[i] > UINT32_MAX)
            return MLDF_END;
        status = mldfi_buffer_printf(out, err, "%s%llu", i ? "," : "", (unsigned long long)f->shape[i]);
    }
    return status < 0 ? status : mldf_buffer_append(out, "]}", 3, err);
}

static mldf_status add_field(mldf_reader *reader, const struct beton_field *f, mldf_error *err) {
    static const uint16_t types[] = {MLDF_FLOAT,   MLDF_INT,  MLDF_IMAGE,  MLDF_BYTES,
                                     MLDF_NDARRAY, MLDF_JSON, MLDF_NDARRAY};
    uint16_t type = f->type < sizeof types / sizeof *types ? types[f->type] : MLDF_BYTES;
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (type == MLDF_NDARRAY) {
        status = array_arguments(f, &arguments, err);
        if (status == MLDF_END)
            type = MLDF_BYTES;
    }
    if (status >= 0)
        status = mldf_schema_add(reader->schema, f->name, type,
                                 type == MLDF_NDARRAY ? (const char *)arguments.data : NULL, 0, err);
    mldf_buffer_free(&arguments);
    return status;
}

/* The bytes of custom records besides their ptr: one field more for each that has some, behind all others. */
static mldf_status add_rest_fields(mldf_reader *reader, const struct beton *beton, mldf_error *err) {
    mldf_status status = MLDF_OK;
    uint32_t field;
    for (size_t i = 0; status >= 0 && nth_rest(beton, i, &field); i++) {
        const struct beton_field *f = mldfi_beton_field(beton, field);
        char name[BETON_NAME + 16], arguments[64];
        mldfi_custom_rest_name(f->name, name, sizeof name);
        snprintf(arguments, sizeof arguments, "{\"descr\":[[\"\",\"|u1\",[%u]]]}", mldfi_custom_rest(f->bytes));
        status = mldf_schema_add(reader->schema, name, MLDF_INLINE, arguments, 0, err);
    }
    return status;
}

static mldf_status make_card(mldf_reader *reader, const struct beton *beton, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_beton_note(beton, &text, err);
    if (status >= 0 && !(reader->foreign.card = mldfi_copy_text((const char *)text.data, text.size, err)))
        status = MLDF_E_MEMORY;
    mldf_buffer_free(&text);
    return status;
}

mldf_status mldfi_foreign_open_beton(mldf_reader *reader, mldf_error *err) {
    struct beton *beton;
    TRY(mldfi_beton_open(&beton, reader->map.data, reader->map.bytes, NULL, err));
    const struct beton_info *info = mldfi_beton_info(beton);
    reader->foreign.ops = &ops;
    reader->foreign.state = beton;
    reader->foreign.version = 2;
    reader->foreign.page_size = info->page_size;
    reader->header.num_samples = info->count;
    mldf_status status = mldf_schema_new(reader->context, &reader->schema, err);
    for (uint32_t i = 0; i < info->field_count && status >= 0; i++)
        status = add_field(reader, mldfi_beton_field(beton, i), err);
    if (status >= 0)
        status = add_rest_fields(reader, beton, err);
    return status < 0 ? status : make_card(reader, beton, err);
}
