/* Looking types up by id and name, and what is done with a value whatever its type: decode, check, copy. The types
 * themselves are in scalar.c, bytes.c, ndarray.c, inline.c, image_type.c, audio_waveform.c, audio_compressed.c and tokens_type.c. */
#include <inttypes.h>
#include <string.h>

#include "field/type.h"
#include "field/user_type.h"
#include "util/bytes.h"
#include "util/error.h"

const struct field_type *mldfi_builtin_type(uint16_t id) {
    switch (id) {
    case MLDF_INT:
        return &mldfi_type_int;
    case MLDF_FLOAT:
        return &mldfi_type_float;
    case MLDF_BYTES:
        return &mldfi_type_bytes;
    case MLDF_NDARRAY:
        return &mldfi_type_ndarray;
    case MLDF_JSON:
        return &mldfi_type_json;
    case MLDF_INLINE:
        return &mldfi_type_inline;
    case MLDF_IMAGE_RAW:
        return &mldfi_type_image_raw;
    case MLDF_IMAGE_JPEG:
        return &mldfi_type_image_jpeg;
    case MLDF_IMAGE_PNG:
        return &mldfi_type_image_png;
    case MLDF_IMAGE:
        return &mldfi_type_image;
    case MLDF_AUDIO_WAVEFORM:
        return &mldfi_type_audio_waveform;
    case MLDF_AUDIO_COMPRESSED:
        return &mldfi_type_audio_compressed;
    case MLDF_AUDIO_SPECTROGRAM:
        return &mldfi_type_audio_spectrogram;
    case MLDF_AUDIO_CODEC_TOKENS:
        return &mldfi_type_audio_codec_tokens;
    case MLDF_VIDEO_FRAMES:
        return &mldfi_type_video_frames;
    case MLDF_VIDEO_COMPRESSED:
        return &mldfi_type_video_compressed;
    case MLDF_VIDEO_OPTICAL_FLOW:
        return &mldfi_type_video_optical_flow;
    case MLDF_TEXT:
        return &mldfi_type_text;
    case MLDF_TEXT_TOKENIZED:
        return &mldfi_type_text_tokenized;
    case MLDF_TEXT_PACKED:
        return &mldfi_type_text_packed;
    case MLDF_TEXT_HIERARCHICAL:
        return &mldfi_type_text_hierarchical;
    case MLDF_TOKEN_STREAM:
        return &mldfi_type_token_stream;
    case MLDF_MULTIMODAL:
        return &mldfi_type_multimodal;
    default:
        return NULL;
    }
}

const struct field_type *mldfi_context_type(const mldf_context *context, uint16_t id) {
    for (size_t i = 0; context && i < context->type_count; i++)
        if (context->types[i]->type.id == id)
            return &context->types[i]->wrapped;
    return NULL;
}

mldf_status mldf_type_id(const mldf_context *context, const char *type_name, uint16_t *out, mldf_error *err) {
    if (!type_name || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_type_id: %s is NULL", type_name ? "out" : "type_name");
    struct suggestion near = {type_name, NULL, 0};
    const char *name;
    *out = mldfi_type_by_name(type_name, strlen(type_name));
    if (*out)
        return MLDF_OK;
    for (size_t i = 0; context && i < context->type_count; i++) {
        if (strcmp(context->types[i]->name, type_name) == 0) {
            *out = context->types[i]->type.id;
            return MLDF_OK;
        }
        mldfi_suggest(&near, context->types[i]->name);
    }
    for (size_t i = 0; (name = mldfi_type_name_at(i)) != NULL; i++)
        mldfi_suggest(&near, name);
    if (near.best)
        return mldfi_fail(err, MLDF_E_SCHEMA, "there is no type \"%.100s\"; did you mean \"%s\"?", type_name,
                          near.best);
    return mldfi_fail(err, MLDF_E_SCHEMA, "there is no type \"%.100s\"", type_name);
}

/* ---- Refusals --------------------------------------------------------------------------------------------------- */

const char *mldfi_kind_name(mldf_kind kind) {
    static const char *const names[] = {"null",     "an integer", "an unsigned integer", "a float", "bytes", "text",
                                        "an array", "a struct",   "a stored value"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "a value of no known kind";
}

mldf_status mldfi_wrong_kind(const mldf_value *value, const char *wanted, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_TYPE, "the value is %s, not %s", mldfi_kind_name(value->kind), wanted);
}

mldf_status mldfi_check_data(const mldf_value *value, mldf_error *err) {
    if (!value->data && value->bytes > 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a value of %" PRIu64 " bytes whose data is NULL", value->bytes);
    return MLDF_OK;
}

/* ---- Binding ---------------------------------------------------------------------------------------------------- */

static mldf_status check_layout(const mldf_record_layout *layout, mldf_error *err) {
    bool payload = layout->payload_flag != 0;
    if (payload && layout->payload_flag != MLDF_FIELD_SIZE32 && layout->payload_flag != MLDF_FIELD_SIZE64)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the type gives its payload the flag 0x%x, which is neither 4 nor 8",
                          layout->payload_flag);
    if (!mldfi_is_power_of_two(layout->record_align) || layout->record_align > 64 ||
        (payload && layout->record_align != 8))
        return mldfi_fail(err, MLDF_E_SCHEMA, "the type aligns its records to %" PRIu32 ", not to %s",
                          layout->record_align, payload ? "8" : "a power of two up to 64");
    if (layout->record_bytes < mldfi_smallest_record(layout->payload_flag) ||
        layout->record_bytes > FORMAT_MAX_RECORD || layout->record_bytes % layout->record_align != 0)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "the type's records have %" PRIu32 " bytes; a multiple of their alignment, %" PRIu32
                          " to %d, is needed",
                          layout->record_bytes, mldfi_smallest_record(layout->payload_flag), FORMAT_MAX_RECORD);
    return MLDF_OK;
}

mldf_status mldfi_field_bind(struct schema_field *field, const struct field_type *type, mldf_error *err) {
    TRY(type->type.bind(type->type.user, field->arguments, &field->layout, &field->state, err));
    field->type = type; /* from here on the state is ours to unbind */
    return check_layout(&field->layout, err);
}

/* ---- Values of any type ----------------------------------------------------------------------------------------- */

/* From "byte of the record, or the payload" to a byte of the file. */
static void place_error(const struct schema_field *field, uint64_t record_offset, uint64_t payload_ptr,
                        mldf_error *err) {
    if (!err)
        return;
    err->offset = err->offset < field->info.record_bytes ? record_offset + err->offset : payload_ptr;
    mldfi_error_place(err, MLDF_NONE, field->name);
}

mldf_status mldfi_field_decode(const struct schema_field *field, const uint8_t *record, uint64_t record_offset,
                               const void *payload, uint64_t payload_bytes, uint64_t payload_ptr, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err) {
    const struct type_core *type = &field->type->type;
    mldf_status status = type->decode(type->user, field->state, record, payload, payload_bytes, scratch, out, err);
    out->record = record;
    out->record_bytes = field->info.record_bytes;
    if (status < 0)
        place_error(field, record_offset, payload_ptr, err);
    return status;
}

/* Decodes the payload to its end, where the type's family can. */
static mldf_status check_payload(const struct field_type *type, struct media_kit *kit, const uint8_t *record,
                                 const void *payload, uint64_t payload_bytes, mldf_error *err) {
    const struct media *media = mldfi_media(type->self_describing);
    void *worker;
    if (!media || !media->check)
        return MLDF_OK;
    mldf_status status = mldfi_kit_worker(kit, type->self_describing, &worker, err);
    return status < 0 ? status : media->check(worker, record, payload, payload_bytes, err);
}

mldf_status mldfi_field_check_deep(const struct schema_field *field, struct media_kit *kit, const uint8_t *record,
                                   uint64_t record_offset, const void *payload, uint64_t payload_bytes,
                                   uint64_t payload_ptr, mldf_error *err) {
    const struct field_type *type = field->type;
    if (!type)
        return MLDF_OK;
    mldf_status status =
        type->check_deep ? type->check_deep(field->state, record, payload, payload_bytes, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = check_payload(type, kit, record, payload, payload_bytes, err);
    if (status < 0)
        place_error(field, record_offset, payload_ptr, err);
    return status < 0 ? status : MLDF_OK;
}

mldf_status mldfi_field_encode(const struct schema_field *field, struct media_kit *kit, bool check,
                               const mldf_value *value, uint8_t *record, mldf_buffer *scratch, const void **payload,
                               uint64_t *payload_bytes, mldf_error *err) {
    const struct field_type *type = field->type;
    const struct media *media = mldfi_media(type->self_describing);
    mldf_status status;
    void *worker;
    if (media && media->encode) {
        status = mldfi_kit_worker(kit, type->self_describing, &worker, err);
        if (status >= 0)
            status = media->encode(worker, field->state, value, record, scratch, payload, payload_bytes, err);
    } else if (type->encode_worker) {
        status = mldfi_kit_type_worker(kit, type, &worker, err);
        if (status >= 0)
            status = type->encode_worker(field, worker, value, record, scratch, payload, payload_bytes, err);
    } else {
        status = type->type.encode(type->type.user, field->state, value, record, scratch, payload, payload_bytes, err);
    }
    return status >= 0 && check ? check_payload(type, kit, record, *payload, *payload_bytes, err) : status;
}

static mldf_status check_stored_shape(const struct schema_field *field, const mldf_value *value, mldf_error *err) {
    if (value->kind != MLDF_KIND_STORED)
        return mldfi_wrong_kind(value, mldfi_kind_name(MLDF_KIND_STORED), err);
    if (!value->record || value->record_bytes != field->info.record_bytes)
        return mldfi_fail(err, MLDF_E_TYPE, "the stored record has %" PRIu32 " bytes, and this field's has %" PRIu32,
                          value->record ? value->record_bytes : 0, field->info.record_bytes);
    if (!mldfi_field_has_payload(field) && value->bytes > 0)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "a stored value with a payload of %" PRIu64 " bytes, and this field has none", value->bytes);
    if ((field->info.flags & MLDF_FIELD_SIZE32) && value->bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "a stored payload of %" PRIu64 " bytes; this field's records hold sizes below 4 GiB",
                          value->bytes);
    return mldfi_check_data(value, err);
}

mldf_status mldfi_field_check_stored(const struct schema_field *field, const mldf_value *value, mldf_error *err) {
    mldf_status status = check_stored_shape(field, value, err);
    if (status == MLDF_OK && field->type) {
        const struct type_core *type = &field->type->type;
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_value decoded;
        memset(&decoded, 0, sizeof decoded);
        status =
            type->decode(type->user, field->state, value->record, value->data, value->bytes, &scratch, &decoded, err);
        if (scratch.data)
            mldf_buffer_free(&scratch);
        if (status < 0 && err)
            err->offset = MLDF_NONE; /* of a record in memory, not of a file */
    }
    if (status < 0)
        mldfi_error_place(err, MLDF_NONE, field->name);
    return status;
}
