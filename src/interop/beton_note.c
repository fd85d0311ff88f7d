/* See beton_note.h. A card may come from anywhere: what makes no sense counts as not there. */
#include "interop/beton_note.h"

#include <stdio.h>
#include <string.h>

#include "interop/beton_inner.h"
#include "util/base64.h"
#include "util/buffer.h"
#include "util/bytes.h"

void mldfi_custom_rest_name(const char *name, char *out, size_t out_bytes) {
    snprintf(out, out_bytes, "%s_record", name);
}

/* ---- Writing -------------------------------------------------------------------------------------------------------------- */

static mldf_status put_custom(const struct beton_field *f, bool first, mldf_buffer *out, mldf_error *err) {
    uint32_t align = f->bytes == 8 ? 8 : 1; /* as FFCV's own of that width have it */
    size_t used = BETON_ARGUMENTS;
    while (used > 0 && f->arguments[used - 1] == 0)
        used--;
    mldf_status status = mldfi_buffer_append_text(out, first ? ",\"custom\":{" : ",", err);
    if (status >= 0)
        status = mldfi_json_append_string(out, f->name, strlen(f->name), err);
    if (status >= 0)
        status = mldfi_buffer_printf(out, err, ":{\"align\":%u,\"ptr_at\":%u,\"record\":%u,\"arguments\":\"", align,
                                     f->ptr_at, f->bytes);
    if (status >= 0)
        status = mldfi_base64_encode(f->arguments, used, out, err);
    return status < 0 ? status : mldfi_buffer_append_text(out, "\"}", err);
}

mldf_status mldfi_beton_note(const struct beton *beton, mldf_buffer *out, mldf_error *err) {
    const struct beton_info *info = mldfi_beton_info(beton);
    bool first = true;
    mldf_status status = mldfi_buffer_append_text(out, "{\"beton\":{\"fields\":{", err);
    for (uint32_t i = 0; i < info->field_count && status >= 0; i++) {
        const struct beton_field *f = mldfi_beton_field(beton, i);
        status = i ? mldf_buffer_append(out, ",", 1, err) : MLDF_OK;
        if (status >= 0)
            status = mldfi_json_append_string(out, f->name, strlen(f->name), err);
        if (status >= 0)
            status = mldfi_buffer_printf(out, err, ":\"%s\"", mldfi_beton_type_name(f->type));
    }
    if (status >= 0)
        status = mldfi_buffer_append_text(out, "}", err);
    for (uint32_t i = 0; i < info->field_count && status >= 0; i++) {
        const struct beton_field *f = mldfi_beton_field(beton, i);
        if (f->type != BETON_CUSTOM || !f->has_blob)
            continue;
        status = put_custom(f, first, out, err);
        first = false;
    }
    return status < 0 ? status
                      : mldfi_buffer_printf(out, err, "%s,\"page_size\":%llu}}", first ? "" : "}",
                                            (unsigned long long)info->page_size);
}

/* ---- Reading -------------------------------------------------------------------------------------------------------------- */

static uint32_t find_object(const struct json *json, uint32_t at, const char *name) {
    uint32_t found = mldfi_json_find(json, at, name);
    return found != UINT32_MAX && json->nodes[found].kind == MLDFI_JSON_OBJECT ? found : UINT32_MAX;
}

uint32_t mldfi_note_find(const struct json *json) {
    return json->nodes[0].kind == MLDFI_JSON_OBJECT ? find_object(json, 0, "beton") : UINT32_MAX;
}

uint32_t mldfi_note_type(const struct json *json, uint32_t note, const char *field) {
    uint32_t fields = note == UINT32_MAX ? UINT32_MAX : find_object(json, note, "fields");
    uint32_t at = fields == UINT32_MAX ? UINT32_MAX : mldfi_json_find(json, fields, field);
    return at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_STRING ? at : UINT32_MAX;
}

bool mldfi_note_page_size(const struct json *json, uint32_t note, uint64_t *out) {
    uint64_t size;
    uint32_t at = note == UINT32_MAX ? UINT32_MAX : mldfi_json_find(json, note, "page_size");
    if (at == UINT32_MAX || !mldfi_json_u64(json, at, &size) || size < BETON_PAGE_MIN || size > BETON_PAGE_MAX ||
        !mldfi_is_power_of_two(size))
        return false;
    *out = size;
    return true;
}

static bool take_number(const struct json *json, uint32_t object, const char *name, uint32_t most, uint32_t *out) {
    uint64_t value;
    uint32_t at = mldfi_json_find(json, object, name);
    if (at == UINT32_MAX || !mldfi_json_u64(json, at, &value) || value > most)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool take_arguments(const struct json *json, uint32_t object, uint8_t out[BETON_ARGUMENTS]) {
    mldf_buffer bytes = MLDF_BUFFER_INIT;
    uint32_t at = mldfi_json_find(json, object, "arguments");
    memset(out, 0, BETON_ARGUMENTS);
    bool good = at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_STRING &&
                mldfi_base64_decode(json->nodes[at].text, (size_t)json->nodes[at].text_bytes, &bytes) &&
                bytes.size <= BETON_ARGUMENTS;
    if (good && bytes.size)
        memcpy(out, bytes.data, bytes.size);
    mldf_buffer_free(&bytes);
    return good;
}

bool mldfi_note_custom(const struct json *json, uint32_t note, const char *field, struct beton_custom *out) {
    uint32_t list = note == UINT32_MAX ? UINT32_MAX : find_object(json, note, "custom");
    uint32_t at = list == UINT32_MAX ? UINT32_MAX : find_object(json, list, field);
    return at != UINT32_MAX && take_number(json, at, "record", BETON_RECORD_MAX, &out->record.bytes) &&
           take_number(json, at, "align", 8, &out->record.align) &&
           take_number(json, at, "ptr_at", BETON_RECORD_MAX, &out->ptr_at) && out->record.bytes >= 8 &&
           mldfi_is_power_of_two(out->record.align) && out->ptr_at <= out->record.bytes - 8 &&
           take_arguments(json, at, out->arguments);
}
