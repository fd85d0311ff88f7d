/* mldf_repack: the samples of a file written anew. In place it holds the file's lock, so that no append is lost between reading and
 * replacing. See copy.h for the loop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "field/field.h"
#include "os/file.h"
#include "tool/copy.h"
#include "tool/pack.h"
#include "util/error.h"
#include "util/options.h"

static mldf_status draft_schema(const mldf_reader *reader, const mldf_context *context, mldf_schema **out,
                                mldf_error *err) {
    mldf_status status = mldf_schema_new(context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(mldf_reader_schema(reader)); i++)
        status = mldfi_copy_field(reader, i, 0, *out, err);
    return status;
}

/* The schema of the result: the source's, with compression as asked for. */
static mldf_status make_schema(const mldf_reader *reader, const mldf_repack_options *options, mldf_schema **out,
                               mldf_error *err) {
    mldf_file_info info;
    mldf_reader_info(reader, &info);
    mldf_status status = info.version_minor == 0 ? draft_schema(reader, options->writer.context, out, err)
                                                 : mldfi_schema_copy(mldf_reader_schema(reader), out, err);
    if (status < 0)
        return status;
    for (size_t i = 0; options->decompress && i < (*out)->field_count; i++) {
        mldf_field *field = &(*out)->fields[i].info;
        field->flags = (uint16_t)(field->flags & ~MLDF_FIELD_COMPRESSED);
        field->compress_level = 0;
    }
    return mldfi_apply_compress(*out, options->compress_fields, options->compress_count, err);
}

static bool has_section(const mldf_reader *reader, const char *name) {
    mldf_section section;
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++)
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK && strcmp(section.name, name) == 0)
            return true;
    return false;
}

/* What the caller left open is as in the source: page size, dictionary, card. */
static mldf_status fill_options(const mldf_reader *reader, const mldf_repack_options *options,
                                mldf_writer_options *writer, mldf_buffer *card, mldf_error *err) {
    mldf_file_info info;
    mldf_reader_info(reader, &info);
    bool usable =
        info.page_size >= 4096 && info.page_size <= UINT64_C(1) << 31 && (info.page_size & (info.page_size - 1)) == 0;
    if (writer->page_size == 0 && info.version_minor >= 1 && usable)
        writer->page_size = info.page_size;
    if (!options->decompress && has_section(reader, "dictionary"))
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

static mldf_status write_all(const mldf_reader *reader, const char *out, const mldf_schema *schema,
                             const mldf_writer_options *options, mldf_pack_result *result, mldf_error *err) {
    mldf_writer *writer;
    mldf_write_result written = {0, 0, 0};
    struct input_watch watch;
    memset(&watch, 0, sizeof watch);
    watch.progress = options->progress;
    watch.user = options->progress_user;
    watch.now.phase = "repack";
    watch.now.samples_total = mldf_reader_sample_count(reader);
    watch.now.bytes_total = MLDF_NONE;
    mldf_status status = mldf_writer_open(out, schema, options, &writer, err);
    if (status < 0)
        return status;
    status = mldfi_copy_samples(reader, writer, mldf_reader_has_keys(reader), &watch, err);
    if (status < 0) {
        mldf_writer_abort(writer);
        return status;
    }
    status = mldf_writer_finish(writer, &written, err);
    result->written = written.samples;
    result->skipped = written.skipped;
    result->bytes = written.file_bytes;
    return status;
}

static mldf_status repack_open(const char *path, const char *out, const mldf_repack_options *options,
                               mldf_pack_result *result, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_writer_options writing = options->writer;
    mldf_reader *reader;
    mldf_schema *schema = NULL;
    mldf_buffer card = MLDF_BUFFER_INIT;
    reading.context = writing.context;
    reading.secret = options->source_secret;
    reading.verify = true;
    mldf_status status = mldf_reader_open(path, &reading, &reader, err);
    if (status < 0)
        return status;
    if (!out && strcmp(mldf_reader_format(reader), "mldf") != 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT,
                            "%s is a %s file: only an MLDF file is repacked in place; name another "
                            "for the result (-o)",
                            path, mldf_reader_format(reader));
    if (!out)
        writing.overwrite = true;
    if (status == MLDF_OK)
        status = make_schema(reader, options, &schema, err);
    if (status == MLDF_OK)
        status = fill_options(reader, options, &writing, &card, err);
    if (status == MLDF_OK)
        status = write_all(reader, out ? out : path, schema, &writing, result, err);
    mldf_schema_free(schema);
    mldf_buffer_free(&card);
    mldf_reader_close(reader);
    return status;
}

mldf_status mldf_repack(const char *path, const char *out, const mldf_repack_options *given, mldf_pack_result *result,
                        mldf_error *err) {
    mldf_repack_options own = MLDF_REPACK_OPTIONS_INIT;
    const mldf_repack_options *options = &own;
    struct os_file lock = OS_FILE_NONE;
    mldf_pack_result ignored;
    mldf_status status = MLDF_OK;
    if (!result)
        result = &ignored;
    memset(result, 0, sizeof *result);
    if (!path || !mldfi_take_options(&own, sizeof own, given))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "repack needs a path, and options from MLDF_REPACK_OPTIONS_INIT");
    char *real = NULL;
    if (!out) {
        status = mldfi_file_open(&lock, path, OS_OPEN_READ_WRITE, err);
        if (status == MLDF_OK)
            status = mldfi_file_lock(&lock, err);
        /* The file itself is replaced, not a symbolic link to it. */
        struct stat link;
        if (status == MLDF_OK && lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && !(real = realpath(path, NULL)))
            status = mldfi_fail_errno(err, errno, "%s", path);
    }
    if (status == MLDF_OK)
        status = repack_open(real ? real : path, out, options, result, err);
    free(real);
    mldfi_file_close(&lock);
    return status;
}
