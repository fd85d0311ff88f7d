/* JPEGs of a file that is written again. See recode.h. */
#include "tool/recode.h"

#include <string.h>

#include "field/field.h"
#include "field/image_type.h"
#include "tool/copy_sample.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

static bool is_fast(const char *encode) {
    return strcmp(encode, "fast-jpeg") == 0;
}

mldf_status mldfi_recode_check(const char *encode, double fast_limit, mldf_error *err) {
    if (encode && !is_fast(encode) && strcmp(encode, "jpeg-original") != 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "encode: '%s' is neither fast-jpeg nor jpeg-original", encode);
    if (!(fast_limit >= 0 && fast_limit <= 100))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "fast_limit: %g is not a number above 0, up to 100", fast_limit);
    if (fast_limit > 0 && !(encode && is_fast(encode)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "fast_limit is for encode fast-jpeg");
    return MLDF_OK;
}

static bool may_hold_jpeg(const mldf_field *field) {
    return field->known && (field->type_id == MLDF_IMAGE || field->type_id == MLDF_IMAGE_JPEG);
}

/* In canonical form, with its end. */
static mldf_status make_arguments(const char *old, const char *encode, double fast_limit, mldf_buffer *out,
                                  mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct json json;
    memset(&json, 0, sizeof json);
    mldf_status status = mldfi_json_parse(&json, old, strlen(old), err);
    uint32_t icc = status == MLDF_OK ? mldfi_json_find(&json, 0, "icc") : UINT32_MAX;
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(&text, err, "{\"encode\":\"%s\"", is_fast(encode) ? encode : "keep");
    if (status == MLDF_OK && fast_limit > 0)
        status = mldfi_buffer_printf(&text, err, ",\"fast_limit\":%.15g", fast_limit);
    if (status == MLDF_OK && icc != UINT32_MAX) {
        status = mldfi_buffer_append_text(&text, ",\"icc\":", err);
        if (status == MLDF_OK)
            status = mldfi_json_canonical(&json, icc, &text, err);
    }
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&text, "}", err);
    mldfi_json_free(&json);
    memset(&json, 0, sizeof json);
    if (status == MLDF_OK)
        status = mldfi_json_parse(&json, (const char *)text.data, text.size, err);
    if (status == MLDF_OK)
        status = mldfi_image_canonical(&json, out, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, "", 1, err);
    mldfi_json_free(&json);
    mldf_buffer_free(&text);
    return status;
}

mldf_status mldfi_recode_schema(const mldf_schema *from, const mldf_context *context, const char *encode,
                                double fast_limit, mldf_schema **out, mldf_error *err) {
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    mldf_status status = mldf_schema_new(context, out, err);
    for (size_t i = 0; status >= 0 && i < from->field_count; i++) {
        const mldf_field *field = &from->fields[i].info;
        arguments.size = 0;
        if (may_hold_jpeg(field))
            status = make_arguments(field->arguments, encode, fast_limit, &arguments, err);
        if (status >= 0)
            status = mldfi_schema_take_with(from, i, arguments.size ? (const char *)arguments.data : field->arguments,
                                            *out, err);
    }
    mldf_buffer_free(&arguments);
    if (status < 0) {
        mldf_schema_free(*out);
        *out = NULL;
    }
    return status;
}

/* Is the record what the file itself would give? A JPEG that was made when packing has its orientation in the record alone. */
static bool says_the_same(const mldf_value *file, const mldf_image_info *record) {
    mldf_image_info found;
    if (mldfi_image_probe(file->data, (size_t)file->bytes, &found, NULL) < 0)
        return false;
    return (found.orientation > 1 ? found.orientation : 1) == (record->orientation > 1 ? record->orientation : 1);
}

mldf_status mldfi_recode_value(const char *encode, const mldf_reader *reader, uint64_t sample, size_t field,
                               mldf_buffer *scratch, mldf_value *value, mldf_error *err) {
    mldf_image_mode wanted = is_fast(encode) ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_FAST_JPEG;
    mldf_image_info info;
    if (value->kind != MLDF_KIND_STORED || !may_hold_jpeg(mldf_schema_field(mldf_reader_schema(reader), field)))
        return MLDF_OK;
    mldfi_image_record_info(value->record, &info);
    if (info.mode != wanted)
        return MLDF_OK;
    mldf_status status = MLDF_OK;
    if (!is_fast(encode)) /* which makes the JPEG again */
        status = mldf_reader_get(reader, sample, field, scratch, value, err);
    if (status < 0)
        return status;
    if (!says_the_same(value, &info)) /* a new record would lose what only the old one knows: it stays as it is */
        return is_fast(encode) ? MLDF_OK : mldf_reader_get_stored(reader, sample, field, scratch, value, err);
    value->kind = MLDF_KIND_BYTES;
    value->record = NULL;
    value->record_bytes = 0;
    return MLDF_OK;
}
