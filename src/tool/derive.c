/* See derive.h. */
#include "tool/derive.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "field/field.h"
#include "os/target.h"
#include "tool/copy_sample.h"
#include "util/error.h"
#include "util/options.h"

/* ---- The schema ---------------------------------------------------------------------------------------------------- */

mldf_status mldfi_derive_schema(const mldf_reader *reader, const mldf_context *context, const size_t *fields,
                                size_t field_count, mldf_schema **out, mldf_error *err) {
    size_t count = fields ? field_count : mldf_schema_field_count(mldf_reader_schema(reader));
    mldf_status status = mldf_schema_new(context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = mldfi_copy_field(reader, fields ? fields[i] : i, 0, *out, err);
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
    if (compressed && (has_section(reader, "dictionary") || has_section(reader, "encrypted_dictionary")))
        writer->dictionary = true;
    if (writer->card)
        return MLDF_OK;
    mldf_status status = mldf_reader_card(reader, card, err);
    if (status == MLDF_OK) {
        writer->card = (const char *)card->data;
        writer->card_bytes = card->size;
    }
    return status == MLDF_ABSENT ? MLDF_OK : status;
}

/* ---- The output ---------------------------------------------------------------------------------------------------- */

const char *mldfi_format_of_name(const char *name) {
    static const char *const endings[][2] = {
        {".mldf", "mldf"},  {".tbl", "tbl2"},        {".beton", "beton"},  {".tar", "tar"},      {".tar.gz", "tar.gz"},
        {".tgz", "tar.gz"}, {".tar.zst", "tar.zst"}, {".tzst", "tar.zst"}, {".idx", "megatron"}, {".ds", "datatrove"}};
    size_t bytes = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i][0]);
        if (bytes > ending && strcasecmp(name + bytes - ending, endings[i][0]) == 0)
            return endings[i][1];
    }
    return NULL;
}

mldf_status mldfi_check_mldf_name(const char *out, mldf_error *err) {
    const char *format = mldfi_format_of_name(out);
    if (!format || strcmp(format, "mldf") == 0)
        return MLDF_OK;
    return mldfi_fail_file(err, MLDF_E_ARGUMENT, out,
                           "the name says %s, but an MLDF file would be written: give it a name in .mldf; convert then "
                           "makes %s of it",
                           format, format);
}

mldf_status mldfi_take_writer(mldf_writer_options *own, const mldf_writer_options **writer,
                              const mldf_pack_result *result, mldf_error *err) {
    mldf_status status = mldfi_take_options(own, sizeof *own, "mldf_writer_options", *writer, err);
    *writer = own;
    return status < 0 ? status : mldfi_check_result("mldf_pack_result", result, err);
}

mldf_status mldfi_check_output(const char *out, bool overwrite, mldf_error *err) {
    mldf_status status = mldfi_check_mldf_name(out, err);
    if (status == MLDF_OK && strcmp(out, "-") != 0)
        status = mldfi_target_check(out, overwrite, err);
    return status;
}

mldf_status mldfi_open_output(const char *out, const mldf_schema *schema, const mldf_writer_options *options,
                              mldf_writer **writer, mldf_error *err) {
    if (strcmp(out, "-") == 0)
        return mldf_writer_open_stream(STDOUT_FILENO, schema, options, writer, err);
    return mldf_writer_open(out, schema, options, writer, err);
}

mldf_status mldfi_end_output(mldf_writer *writer, mldf_status status, mldf_pack_result *result, mldf_error *err) {
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
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
