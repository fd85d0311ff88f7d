/* mldf_repack: the samples of a file written again. In place it holds the file's lock, so that no append is lost between reading and
 * replacing. See copy.h for the copying. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "field/field.h"
#include "os/file.h"
#include "os/target.h"
#include "reader/reader.h"
#include "tool/copy.h"
#include "tool/derive.h"
#include "tool/pack.h"
#include "tool/plan_tokens.h"
#include "tool/recode.h"
#include "util/error.h"
#include "util/options.h"

/* The schema of the result: the source's, with compression as asked for. */
static mldf_status make_schema(const mldf_reader *reader, const mldf_repack_options *options, mldf_schema **out,
                               mldf_error *err) {
    mldf_file_info info;
    mldfi_reader_info(reader, &info);
    TRY(info.version_minor == 0 ? mldfi_derive_schema(reader, options->writer->context, NULL, 0, out, err)
                                : mldfi_schema_copy(mldf_reader_schema(reader), out, err));
    for (size_t i = 0; options->decompress && i < (*out)->field_count; i++) {
        mldf_field *field = &(*out)->fields[i].info;
        field->flags = (uint16_t)(field->flags & ~MLDF_FIELD_COMPRESSED);
        field->compress_level = 0;
    }
    return mldfi_apply_compress(options->writer->context, *out, options->compress_fields, options->compress_count, err);
}

/* The page size of a 1.1 file stays, unless the caller gives another. */
static void keep_page_size(const mldf_reader *reader, mldf_writer_options *writer) {
    mldf_file_info info;
    mldfi_reader_info(reader, &info);
    bool usable =
        info.page_size >= 4096 && info.page_size <= UINT64_C(1) << 31 && (info.page_size & (info.page_size - 1)) == 0;
    if (writer->page_size == 0 && info.version_minor >= 1 && usable)
        writer->page_size = info.page_size;
}

/* What a repack writes: the schema of the values, and of the file where images are encoded otherwise (recode.h). */
struct repacking {
    const mldf_reader *reader;
    const mldf_schema *schema, *written;
    const char *encode;
    mldf_writer_options writing;
    const struct os_file *lock; /* the file that is to be replaced, or none */
};

static mldf_status copy_all(const struct repacking *r, mldf_writer *writer, mldf_error *err) {
    struct writer_sink sink;
    struct input_watch watch;
    mldfi_sink_over(&sink, writer);
    mldfi_watch_begin(&watch, &r->writing, "repack", mldf_reader_sample_count(r->reader));
    struct copy c = {.sink = &sink.base, .fields.encode = r->encode};
    mldf_status status = mldfi_copy_begin_one(&c, r->reader, r->schema, &watch, err);
    if (status == MLDF_OK)
        status = mldfi_match_no_other(mldf_reader_schema(r->reader), r->schema, err);
    if (status == MLDF_OK)
        status = mldfi_copy_all(&c, err);
    mldfi_copy_end(&c);
    return status;
}

static mldf_status write_all(const struct repacking *r, const char *out, mldf_pack_result *result, mldf_error *err) {
    mldf_writer *writer;
    TRY(mldf_writer_open(out, r->written, &r->writing, &writer, err));
    mldf_status status = copy_all(r, writer, err);
    if (status >= 0 && !r->writing.skip_bad_samples)
        status = mldfi_keep_plans(r->reader, writer, err);
    else if (status >= 0)
        mldfi_drop_plans(r->reader, r->writing.context);
    if (status >= 0 && r->lock->fd >= 0)
        status = mldfi_file_check_name(r->lock, out, "it stays as it is", err);
    return mldfi_end_output(writer, status, result, err);
}

/* A section that this build does not know may speak of places in the old file: it cannot go along. */
static void tell_left_out(const mldf_reader *reader, const char *path, const mldf_context *context) {
    mldf_section section;
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++)
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK && !mldfi_section_known(section.kind))
            mldfi_warn(context, "%s: the %s section of kind %u (%llu bytes) is left out of the result", path,
                       section.name, section.kind, (unsigned long long)section.bytes);
}

static mldf_status repack_open(const char *path, const char *out, const struct os_file *lock,
                               const mldf_repack_options *options, mldf_pack_result *result, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_writer_options writing = *options->writer;
    mldf_reader *reader;
    mldf_schema *schema = NULL, *recoded = NULL;
    mldf_buffer card = MLDF_BUFFER_INIT;
    reading.context = writing.context;
    reading.secret = options->source_secret;
    reading.verify = true;
    mldf_status status = mldf_reader_open(path, &reading, &reader, err);
    if (status < 0)
        return status;
    if (!out && strcmp(mldf_reader_format(reader), "mldf") != 0)
        status = mldfi_fail_file(err, MLDF_E_ARGUMENT, path,
                                 "is a %s file: only an MLDF file is repacked in place; name another "
                                 "for the result (-o)",
                                 mldf_reader_format(reader));
    if (!out)
        writing.overwrite = true;
    keep_page_size(reader, &writing);
    if (status == MLDF_OK)
        status = make_schema(reader, options, &schema, err);
    if (status == MLDF_OK)
        status = mldfi_derive_options(reader, schema, &writing, &card, err);
    if (status == MLDF_OK && options->encode)
        status = mldfi_recode_schema(schema, writing.context, options->encode, options->fast_limit, &recoded, err);
    if (status == MLDF_OK) {
        struct repacking r = {reader, schema, recoded ? recoded : schema, options->encode, writing, lock};
        status = write_all(&r, out ? out : path, result, err);
    }
    if (status >= 0)
        tell_left_out(reader, path, writing.context);
    mldf_schema_free(schema);
    mldf_schema_free(recoded);
    mldf_buffer_free(&card);
    mldf_reader_close(reader);
    return status;
}

mldf_status mldf_repack(const char *path, const char *out, const mldf_repack_options *given, mldf_pack_result *result,
                        mldf_error *err) {
    mldf_repack_options own = MLDF_REPACK_OPTIONS_INIT;
    const mldf_repack_options *options = &own;
    struct os_file lock = OS_FILE_NONE;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    if (!path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "repack needs a path");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_repack_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    if ((status = mldfi_recode_check(options->encode, options->fast_limit, err)) < 0 ||
        (out && (status = mldfi_check_mldf_name(out, err)) < 0))
        return status;
    char *real = NULL;
    if (!out) {
        status = mldfi_file_open(&lock, path, OS_OPEN_READ_WRITE, err);
        if (status == MLDF_OK)
            status = mldfi_file_lock(&lock, err);
        /* The file itself is replaced, not a symbolic link to it. */
        struct stat link;
        if (status == MLDF_OK && lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && !(real = realpath(path, NULL)))
            status = mldfi_fail_file_errno(err, errno, path, "cannot be resolved");
    }
    if (status == MLDF_OK)
        status = repack_open(real ? real : path, out, &lock, options, &done, err);
    free(real);
    mldfi_file_close(&lock);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
