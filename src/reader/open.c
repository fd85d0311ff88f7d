/* Opening a file: the steps of docs/spec/format.md "Reader's duties", in their order and with their numbers. Nothing here costs more than
 * O(fields + sections). A live file may change under these reads; then everything starts over. open_header.c comes next. */
#include <inttypes.h>
#include <stdlib.h>

#include "reader/foreign.h"
#include "reader/open.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

enum { OPEN_ATTEMPTS = 5 };

mldf_status mldfi_open_view(struct opening *opening, uint64_t offset, uint64_t bytes, const uint8_t **out) {
    opening->scratch.size = 0;
    return mldfi_reader_view(opening->reader, offset, bytes, &opening->scratch, out, opening->err);
}

/* ---- The whole sequence -------------------------------------------------------------------------------------------- */

/* Every step from the directory on. */
static mldf_status read_structure(struct opening *opening) {
    static mldf_status (*const steps[])(struct opening *) = {
        mldfi_open_check,    mldfi_open_directory, mldfi_open_tables,    mldfi_open_descriptors,
        mldfi_open_sections, mldfi_open_arguments, mldfi_open_encryption};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        TRY(steps[i](opening));
    }
    return MLDF_OK;
}

static mldf_status allocate_verification(mldf_reader *reader, mldf_error *err) {
    uint64_t blocks = mldfi_crc_blocks(reader->tables.metadata.bytes);
    if (!reader->verify || !(reader->header.flags & FORMAT_FLAG_CHECKSUMMED) || reader->draft || reader->salvage)
        return MLDF_OK;
    reader->verified_blocks = mldfi_alloc_zero((size_t)(blocks / 64 + 1), sizeof *reader->verified_blocks, err);
    return reader->verified_blocks ? MLDF_OK : MLDF_E_MEMORY;
}

/* One attempt on bytes that are in place: reader->physical_bytes, map or file. */
static mldf_status open_source(struct opening *opening, const struct salvage *salvage) {
    mldf_reader *reader = opening->reader;
    mldf_status status;
    reader->end = reader->physical_bytes;
    if (salvage) {
        opening->lenient = true;
        opening->trust_descriptors = salvage->trust_descriptors;
        opening->rowless = salvage->rowless;
        status = mldfi_open_salvage(opening, salvage);
        if (status >= 0)
            status = salvage->bare ? mldfi_open_bare(opening) : read_structure(opening);
    } else {
        status = mldfi_open_envelope(opening);
        if (status >= 0)
            status = mldfi_open_prefix(opening);
        if (status >= 0)
            status = mldfi_open_choose(opening);
        if (status >= 0)
            status = reader->draft ? mldfi_open_draft(opening) : read_structure(opening);
    }
    reader->promised_samples = reader->promised_samples ? reader->promised_samples : reader->header.num_samples;
    if (status >= 0)
        status = allocate_verification(reader, opening->err);
    reader->plain = reader->mapped && !reader->verify && !reader->encrypted && !reader->draft && !salvage;
    free(opening->descriptors);
    mldf_buffer_free(&opening->scratch);
    return status < 0 ? status : MLDF_OK;
}

/* Did the file change while it was read? Bytes that an appender adds behind the logical end are none of our business. */
static bool changed_meanwhile(const struct opening *opening, mldf_status status) {
    const mldf_reader *reader = opening->reader;
    uint8_t now[FORMAT_HEADER_BYTES];
    uint64_t size;
    if (reader->sealed_bytes) /* a private view; every piece of it has authenticated */
        return false;
    if (mldfi_file_size(&reader->file, &size, NULL) < 0)
        return false;
    if (opening->front_read && (size < FORMAT_PREFIX_BYTES ||
                                mldfi_file_read(&reader->file, FORMAT_HEADER_OFFSET, now, sizeof now, NULL) < 0 ||
                                memcmp(now, opening->front, sizeof now) != 0))
        return true;
    if (size == reader->physical_bytes)
        return false;
    return status < 0 || reader->draft || reader->header_recovered || size < reader->end;
}

static void give_warnings(const mldf_reader *reader) {
    if (reader->header.version_minor > 1)
        mldfi_warn(reader->context, "%s: format version 1.%u is newer than 1.1; what it adds is not read", reader->path,
                   reader->header.version_minor);
    if (reader->header_recovered && !reader->streamed)
        mldfi_warn(reader->context, "%s: the front header is not the state of the file; the footer's copy is used",
                   reader->path);
    if (reader->physical_bytes > reader->end)
        mldfi_warn(reader->context,
                   "%s: %" PRIu64 " bytes after the logical end at %" PRIu64
                   " are ignored: an append that did not finish; `mldf repair` removes them",
                   reader->path, reader->physical_bytes - reader->end, reader->end);
}

/* ---- Public --------------------------------------------------------------------------------------------------------- */

static mldf_status take_options(const mldf_reader_options *given, mldf_reader_options *out, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    TRY(mldfi_take_options(&options, sizeof options, "mldf_reader_options", given, err));
    *out = options;
    if ((unsigned)options.tar_index > MLDF_TAR_INDEX_IGNORE)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "reader options: no such use of an index: %d", (int)options.tar_index);
    if (options.backend != MLDF_BACKEND_MAP && options.backend != MLDF_BACKEND_READ)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "reader options: no such back end: %d", (int)options.backend);
    return MLDF_OK;
}

static mldf_reader *new_reader(const mldf_reader_options *options, const char *path, mldf_error *err) {
    mldf_reader *reader = mldfi_alloc_zero(1, sizeof *reader, err);
    if (!reader)
        return NULL;
    reader->file.fd = -1;
    reader->context = options->context;
    reader->backend = options->backend;
    reader->verify = options->verify;
    reader->tar_index = options->tar_index;
    reader->max_decoded = options->max_decoded_bytes;
    if (reader->max_decoded == 0 && options->context)
        reader->max_decoded = options->context->max_decoded;
    reader->sequential = options->sequential;
    reader->path = mldfi_copy_text(path, strlen(path), err);
    reader->verified_sections = mldfi_alloc_zero(1, sizeof *reader->verified_sections, err);
    reader->decompressors = mldfi_alloc_zero(READER_IDLE_DECOMPRESSORS, sizeof *reader->decompressors, err);
    if (!reader->path || !reader->verified_sections || !reader->decompressors) {
        mldf_reader_close(reader);
        return NULL;
    }
    return reader;
}

static mldf_status attach_file(mldf_reader *reader, const char *path, mldf_error *err) {
    mldf_status status = mldfi_file_open(&reader->file, path, OS_OPEN_READ, err);
    if (status >= 0)
        status = mldfi_file_size(&reader->file, &reader->physical_bytes, err);
    if (status < 0 || reader->backend != MLDF_BACKEND_MAP)
        return status;
    reader->owns_map = true;
    reader->mapped = true;
    return mldfi_map_open(&reader->map, &reader->file, reader->physical_bytes, err);
}

static mldf_status open_path(const char *path, const mldf_reader_options *given, const struct salvage *salvage,
                             bool any_descriptors, mldf_reader **out, mldf_error *err) {
    mldf_reader_options options;
    if (!path || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "opening a file needs a path and a place for the reader");
    *out = NULL;
    mldf_status status = take_options(given, &options, err);
    if (status < 0)
        return status;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        mldf_reader *reader = new_reader(&options, path, err);
        if (!reader)
            return MLDF_E_MEMORY;
        struct opening opening = {.reader = reader,
                                  .secret = &options.secret,
                                  .without_key = options.without_key,
                                  .any_descriptors = any_descriptors,
                                  .err = err};
        status = attach_file(reader, path, err);
        if (status < 0) {
            mldf_reader_close(reader);
            return status;
        }
        status = open_source(&opening, salvage);
        if (!changed_meanwhile(&opening, status)) {
            if (status < 0) {
                mldf_reader_close(reader);
                return status;
            }
            if (!salvage)
                give_warnings(reader);
            *out = reader;
            return MLDF_OK;
        }
        mldf_reader_close(reader);
    }
    return mldfi_fail_file(err, MLDF_E_CHANGED, path, "the file keeps changing while it is opened");
}

mldf_status mldfi_reader_open_native(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                     mldf_error *err) {
    return open_path(path, options, NULL, false, out, err);
}

mldf_status mldfi_reader_open_respelled(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                        mldf_error *err) {
    return open_path(path, options, NULL, true, out, err);
}

mldf_status mldfi_reader_map(const char *path, const mldf_reader_options *given, mldf_reader **out, mldf_error *err) {
    mldf_reader_options options;
    *out = NULL;
    TRY(take_options(given, &options, err));
    options.backend = MLDF_BACKEND_MAP;
    mldf_reader *reader = new_reader(&options, path, err);
    if (!reader)
        return MLDF_E_MEMORY;
    mldf_status status = attach_file(reader, path, err);
    reader->end = reader->physical_bytes;
    if (status < 0)
        mldf_reader_close(reader);
    else
        *out = reader;
    return status;
}

mldf_status mldfi_reader_open_salvage(const char *path, const mldf_reader_options *options,
                                      const struct salvage *salvage, mldf_reader **out, mldf_error *err) {
    return open_path(path, options, salvage, false, out, err);
}

mldf_status mldf_reader_open_memory(const void *data, size_t bytes, const mldf_reader_options *given, mldf_reader **out,
                                    mldf_error *err) {
    mldf_reader_options options;
    if (!out || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "opening memory needs its bytes and a place for the reader");
    *out = NULL;
    TRY(take_options(given, &options, err));
    mldf_reader *reader = new_reader(&options, "", err);
    if (!reader)
        return MLDF_E_MEMORY;
    reader->map.data = data;
    reader->map.bytes = bytes;
    reader->mapped = true;
    reader->backend = MLDF_BACKEND_MAP;
    reader->physical_bytes = bytes;
    struct opening opening = {
        .reader = reader, .secret = &options.secret, .without_key = options.without_key, .err = err};
    mldf_status status = open_source(&opening, NULL);
    if (status < 0) {
        mldf_reader_close(reader);
        return status;
    }
    give_warnings(reader);
    *out = reader;
    return MLDF_OK;
}

void mldf_reader_close(mldf_reader *reader) {
    if (!reader)
        return;
    if (reader->foreign.ops)
        reader->foreign.ops->close(reader->foreign.state);
    free(reader->foreign.card);
    mldfi_reader_free_pool(reader);
    mldfi_zstd_dictionary_free(reader->dictionary);
    mldfi_crypt_free(reader->crypt);
    mldf_schema_free(reader->schema);
    if (reader->owns_map)
        mldfi_map_close(&reader->map);
    mldfi_file_close(&reader->file);
    free(reader->verified_sections);
    free(reader->verified_blocks);
    free(reader->decompressors);
    free(reader->sections);
    free(reader->stats);
    free(reader->path);
    free(reader);
}
