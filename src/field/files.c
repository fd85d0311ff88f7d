/* Values and files, whatever the type: which type takes a file of some name, a value as a file, what is shown of a value. A type whose values
 * are made from files has a line in the table here; the rest it says itself (struct field_files and the traits of field.h). */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "field/type.h"
#include "util/base64.h"
#include "util/buffer.h"
#include "util/error.h"

/* A folder whose names say nothing is of the first. */
static const struct field_type *const types[] = {&mldfi_type_image, &mldfi_type_audio_waveform,
                                                 &mldfi_type_video_compressed, &mldfi_type_video_optical_flow};

const char *mldfi_name_ending(const char *name) {
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    return dot ? dot + 1 : "";
}

const struct file_ending *mldfi_file_ending(const struct field_files *files, const char *name) {
    const char *ending = mldfi_name_ending(name);
    for (const struct file_ending *e = files->endings; e->ending; e++)
        if (strcasecmp(e->ending, ending) == 0)
            return e;
    return NULL;
}

const struct field_type *mldfi_type_of_file(const char *name, const struct file_ending **ending) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const struct file_ending *found = mldfi_file_ending(types[i]->files, name);
        if (!found)
            continue;
        if (ending)
            *ending = found;
        return types[i];
    }
    return NULL;
}

const struct field_type *mldfi_type_for_file(const char *name) {
    const struct file_ending *ending = NULL;
    const struct field_type *type = mldfi_type_of_file(name, &ending);
    return ending && ending->type ? ending->type : type;
}

const struct field_type *mldfi_type_of_kind(const struct field_files *files) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i]->files == files)
            return types[i];
    return NULL;
}

const struct field_type *mldfi_type_with_files(size_t index) {
    return index < sizeof types / sizeof types[0] ? types[index] : NULL;
}

/* ---- Values as files ---------------------------------------------------------------------------------------------------------- */

void mldfi_export_room_free(struct export_room *room) {
    mldf_buffer_free(&room->work);
    mldf_buffer_free(&room->file);
}

mldf_status mldfi_field_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    *out = (struct exported){.ending = "bin", .data = value->data, .bytes = value->bytes};
    if (field->type && field->type->ending && *field->type->ending)
        out->ending = field->type->ending;
    if (field->type && field->type->export)
        return field->type->export(field, value, kit, room, out, err);
    return value->kind == MLDF_KIND_ARRAY ? mldfi_npy_export(value, room, out, err) : MLDF_OK;
}

/* NumPy's file: magic, version 1.0, the length of a header whose end is a multiple of 64, the elements. bfloat16, which NumPy does not have, is
 * two raw bytes. */
mldf_status mldfi_npy_export(const mldf_value *value, struct export_room *room, struct exported *out, mldf_error *err) {
    enum { FRONT = 10 };
    mldf_buffer *head = &room->file;
    const char *descr = value->dtype == MLDF_BF16 ? "|V2" : mldf_dtype_name(value->dtype);
    head->size = 0;
    mldf_status status = mldf_buffer_append(head, "\x93NUMPY\x01\x00\x00\x00", FRONT, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(head, err, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; status == MLDF_OK && i < value->ndim; i++)
        status = mldfi_buffer_printf(head, err, i ? ", %" PRIu64 : "%" PRIu64, value->dims[i]);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(head, value->ndim == 1 ? ",), }" : "), }", err);
    while (status == MLDF_OK && head->size % 64 != 63)
        status = mldfi_buffer_append_text(head, " ", err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(head, "\n", err);
    if (status < 0)
        return status;
    head->data[8] = (uint8_t)(head->size - FRONT);
    head->data[9] = (uint8_t)((head->size - FRONT) >> 8);
    out->head = head->data;
    out->head_bytes = head->size;
    out->data = value->data;
    out->bytes = value->bytes;
    return MLDF_OK;
}

/* ---- What is shown ------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_payload_json_begin(const mldf_value *value, mldf_buffer *out, mldf_error *err) {
    uint8_t digest[32];
    mldf_sha256(value->data, (size_t)value->bytes, digest);
    mldf_status status = mldfi_buffer_printf(out, err, "{\"bytes\":%" PRIu64 ",\"sha256\":\"", value->bytes);
    for (size_t i = 0; status == MLDF_OK && i < sizeof digest; i++)
        status = mldfi_buffer_printf(out, err, "%02x", digest[i]);
    return status < 0 ? status : mldfi_buffer_append_text(out, "\"", err);
}

mldf_status mldfi_payload_json_end(const mldf_value *value, bool full, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (full) {
        status = mldfi_buffer_append_text(out, ",\"base64\":\"", err);
        if (status == MLDF_OK)
            status = mldfi_base64_encode(value->data, (size_t)value->bytes, out, err);
        if (status == MLDF_OK)
            status = mldfi_buffer_append_text(out, "\"", err);
    }
    return status < 0 ? status : mldfi_buffer_append_text(out, "}", err);
}

mldf_status mldf_value_describe(const mldf_schema *schema, size_t field, const mldf_value *value, bool full,
                                mldf_buffer *out, mldf_error *err) {
    if (!schema || field >= schema->field_count || !value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "mldf_value_describe: a field of the schema, a value and out are needed");
    const struct schema_field *f = &schema->fields[field];
    bool all = full && value->kind == MLDF_KIND_ARRAY; /* the elements themselves */
    if (!f->type || !f->type->value_json || value->kind == MLDF_KIND_NULL || value->kind == MLDF_KIND_STORED || all)
        return MLDF_ABSENT;
    mldf_status status = f->type->value_json(f, value, full, out, err);
    return status == MLDF_END ? MLDF_ABSENT : status;
}
