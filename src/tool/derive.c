/* See derive.h. */
#include "tool/derive.h"

#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "os/target.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- The schema ---------------------------------------------------------------------------------------------------- */

/* Does a field of a 1.0 file have values that are missing? Such a file has no nulls; JSON of no bytes stands for them. */
static mldf_status has_missing(const mldf_reader *reader, size_t field, bool *out, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_status status = MLDF_OK;
    *out = false;
    for (uint64_t i = 0; status == MLDF_OK && !*out && i < mldf_reader_sample_count(reader); i++) {
        status = mldf_reader_get_stored(reader, i, field, &scratch, &value, err);
        *out = status == MLDF_OK && value.bytes == 0;
    }
    mldf_buffer_free(&scratch);
    return status;
}

static uint64_t end_of_row(const mldf_schema *schema) {
    if (schema->field_count == 0)
        return 0;
    const mldf_field *last = &schema->fields[schema->field_count - 1].info;
    return (uint64_t)last->row_offset + last->record_bytes;
}

static mldf_status add_field(const mldf_reader *reader, size_t index, bool draft, mldf_schema *schema,
                             mldf_error *err) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(reader), index);
    struct descriptor descriptor;
    const char *arguments = field->arguments;
    bool is_long, missing = false;
    mldf_status status = draft && field->type_id == MLDF_JSON ? has_missing(reader, index, &missing, err) : MLDF_OK;
    if (status < 0)
        return status;
    mldfi_schema_descriptor(mldf_reader_schema(reader), index, &descriptor, &is_long);
    if (missing)
        descriptor.flags |= MLDF_FIELD_NULLABLE;
    descriptor.row_offset = (uint32_t)mldfi_align_up(end_of_row(schema), field->record_align);
    if (field->type_id >= MLDF_PRIVATE && strcmp(arguments, "{}") == 0)
        arguments = "{\"type\":\"unnamed\"}";
    return mldfi_schema_add_descriptor(schema, &descriptor, arguments, strlen(arguments), false, 0, err);
}

mldf_status mldfi_derive_schema(const mldf_reader *reader, const mldf_context *context, const size_t *fields,
                                size_t field_count, mldf_schema **out, mldf_error *err) {
    mldf_file_info info;
    mldf_reader_info(reader, &info);
    size_t count = fields ? field_count : mldf_schema_field_count(mldf_reader_schema(reader));
    mldf_status status = mldf_schema_new(context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = add_field(reader, fields ? fields[i] : i, info.version_minor == 0, *out, err);
    if (status < 0) {
        mldf_schema_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Options ------------------------------------------------------------------------------------------------------- */

static bool has_section(const mldf_reader *reader, const char *name) {
    mldf_section section;
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++)
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK && strcmp(section.name, name) == 0)
            return true;
    return false;
}

mldf_status mldfi_derive_options(const mldf_reader *reader, const mldf_schema *schema, mldf_writer_options *writer,
                                 mldf_buffer *card, mldf_error *err) {
    bool compressed = false;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        compressed |= (mldf_schema_field(schema, i)->flags & MLDF_FIELD_COMPRESSED) != 0;
    if (compressed && has_section(reader, "dictionary"))
        writer->dictionary = true;
    if (writer->card)
        return MLDF_OK;
    mldf_status status = mldf_reader_card(reader, card, err);
    if (status == MLDF_OK) {
        writer->card = (const char *)card->data;
        writer->card_bytes = card->size;
    }
    return status == MLDF_END ? MLDF_OK : status;
}

/* ---- The output ---------------------------------------------------------------------------------------------------- */

mldf_status mldfi_check_output(const char *out, bool overwrite, mldf_error *err) {
    return strcmp(out, "-") == 0 ? MLDF_OK : mldfi_target_check(out, overwrite, err);
}

mldf_status mldfi_open_output(const char *out, const mldf_schema *schema, const mldf_writer_options *options,
                              mldf_writer **writer, mldf_error *err) {
    if (strcmp(out, "-") == 0)
        return mldf_writer_open_stream(STDOUT_FILENO, schema, options, writer, err);
    return mldf_writer_open(out, schema, options, writer, err);
}

mldf_status mldfi_end_output(mldf_writer *writer, mldf_status status, mldf_pack_result *result, mldf_error *err) {
    mldf_write_result written = {0, 0, 0};
    if (status < 0 || !writer) {
        mldf_writer_abort(writer);
        return status;
    }
    status = mldf_writer_finish(writer, &written, err);
    result->written += written.samples;
    result->skipped += written.skipped;
    result->bytes += written.file_bytes;
    return status;
}

void mldfi_watch_begin(struct input_watch *watch, const mldf_writer_options *options, const char *phase,
                       uint64_t samples_total) {
    memset(watch, 0, sizeof *watch);
    watch->progress = options->progress;
    watch->user = options->progress_user;
    watch->now.phase = phase;
    watch->now.samples_total = samples_total;
    watch->now.bytes_total = MLDF_NONE;
}
