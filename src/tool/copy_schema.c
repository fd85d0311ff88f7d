/* Fields of one file in the schema of another. See copy_sample.h. */
#include <string.h>

#include "field/field.h"
#include "reader/reader.h"
#include "tool/copy_sample.h"
#include "util/bytes.h"
#include "util/error.h"

/* Does a field of a 1.0 file have values that are missing? Such a file has no nulls; JSON of no bytes stands for them. */
static mldf_status has_missing(const mldf_reader *reader, size_t field, bool *out, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_status status = MLDF_OK;
    *out = false;
    for (uint64_t i = 0; status == MLDF_OK && !*out && i < mldf_reader_sample_count(reader); i++) {
        status = mldf_reader_get_stored(reader, i, field, &scratch, &value, err);
        *out = status == MLDF_OK && value.bytes == 0;
        if (status <= MLDF_E_MAGIC)
            status = MLDF_OK; /* a value that is damaged is the matter of whoever copies it */
    }
    mldf_buffer_free(&scratch);
    return status;
}

static bool is_draft(const mldf_reader *reader) {
    mldf_file_info info;
    mldfi_reader_info(reader, &info);
    return info.version_minor == 0 && strcmp(mldf_reader_format(reader), "mldf") == 0;
}

/* The place of the next record in the schema's row. */
static uint32_t next_offset(const mldf_schema *schema, uint32_t align) {
    if (schema->field_count == 0)
        return 0;
    const mldf_field *last = &schema->fields[schema->field_count - 1].info;
    return (uint32_t)mldfi_align_up((uint64_t)last->row_offset + last->record_bytes, align ? align : 1);
}

static mldf_status add(const mldf_schema *from, size_t index, uint16_t flags, const char *arguments,
                       mldf_schema *schema, mldf_error *err) {
    struct descriptor descriptor;
    bool is_long;
    mldfi_schema_descriptor(from, index, &descriptor, &is_long);
    descriptor.flags |= flags;
    descriptor.row_offset = next_offset(schema, descriptor.row_align);
    mldf_status status = mldfi_schema_add_descriptor(schema, &descriptor, arguments, strlen(arguments), false, 0, err);
    if (status >= 0)
        schema->fields[schema->field_count - 1].info.compress_level = from->fields[index].info.compress_level;
    return status;
}

mldf_status mldfi_schema_take(const mldf_schema *from, size_t index, mldf_schema *schema, mldf_error *err) {
    return add(from, index, 0, mldf_schema_field(from, index)->arguments, schema, err);
}

mldf_status mldfi_schema_take_with(const mldf_schema *from, size_t index, const char *arguments, mldf_schema *schema,
                                   mldf_error *err) {
    return add(from, index, 0, arguments, schema, err);
}

mldf_status mldfi_copy_field(const mldf_reader *reader, size_t index, uint16_t flags, mldf_schema *schema,
                             mldf_error *err) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(reader), index);
    const char *arguments = field->arguments;
    bool missing = false, draft = is_draft(reader);
    TRY(draft && field->type_id == MLDF_JSON ? has_missing(reader, index, &missing, err) : MLDF_OK);
    if (missing)
        flags |= MLDF_FIELD_NULLABLE;
    if (draft && field->type_id >= MLDF_PRIVATE && strcmp(arguments, "{}") == 0)
        arguments = "{\"type\":\"unnamed\"}";
    return add(mldf_reader_schema(reader), index, flags, arguments, schema, err);
}
