/* Opening a file: which header counts, then the steps of docs/spec/format.md "Reader's duties", in their order and with
 * their numbers. Nothing here costs more than O(fields + sections).
 *
 *     prefix ── O1-O5 ── front header = footer that it leads to? ──yes── O14 ...
 *                                 │ no
 *                        valid footer at the very end? ──yes── its copy of the header ── O14 ...
 *                                 │ no
 *                        unfinished, 1.0, cut or damaged: O8-O13
 *
 * A live file may change under these reads; then everything starts over. open_tables.c comes next. */
#include <inttypes.h>
#include <stdlib.h>

#include "reader/foreign.h"
#include "reader/open.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { OPEN_ATTEMPTS = 5 };

mldf_status mldfi_open_view(struct opening *opening, uint64_t offset, uint64_t bytes, const uint8_t **out) {
    opening->scratch.size = 0;
    return mldfi_reader_view(opening->reader, offset, bytes, &opening->scratch, out, opening->err);
}

/* ---- Prefix and header --------------------------------------------------------------------------------------------- */

static bool all_zero(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* O1-O5, the front header into opening->front. */
static mldf_status read_prefix(struct opening *opening) {
    const mldf_reader *reader = opening->reader;
    uint64_t size = reader->physical_bytes;
    uint8_t prefix[FORMAT_PREFIX_BYTES];
    struct header front;
    mldf_error *err = opening->err;
    size_t have = size < sizeof prefix ? (size_t)size : sizeof prefix;
    size_t magic = have < FORMAT_MAGIC_BYTES ? have : (size_t)FORMAT_MAGIC_BYTES;
    mldf_status status = mldfi_reader_copy(reader, 0, prefix, have, err);
    if (status < 0)
        return status;
    if (memcmp(prefix, mldfi_magic, magic) != 0)
        return mldfi_reader_fail(reader, err, MLDF_E_MAGIC, 0,
                                 "not an MLDF file: its first bytes are not the magic number");
    if (have < sizeof prefix)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends after %" PRIu64
                                 " bytes, inside its %d-byte prefix; nothing in it can be saved",
                                 size, (int)FORMAT_PREFIX_BYTES);
    memcpy(opening->front, prefix + FORMAT_HEADER_OFFSET, FORMAT_HEADER_BYTES);
    opening->front_read = true;
    if (all_zero(opening->front, FORMAT_HEADER_BYTES))
        return MLDF_OK;
    mldfi_header_load(opening->front, &front);
    status = mldfi_header_check_version(&front, FORMAT_HEADER_OFFSET, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : MLDF_OK;
}

struct pointers {
    bool all_zero, all_inside;
    uint64_t largest;
};

static struct pointers look_at_pointers(const struct header *header, uint64_t size) {
    const uint64_t list[5] = {header->field_desc_ptr, header->metadata_ptr, header->data_ptr, header->alloc_table_ptr,
                              header->directory_ptr};
    struct pointers seen = {true, true, 0};
    for (size_t i = 0; i < 5; i++) {
        seen.all_zero = seen.all_zero && list[i] == 0;
        seen.all_inside = seen.all_inside && list[i] < size;
        if (list[i] > seen.largest)
            seen.largest = list[i];
    }
    return seen;
}

/* Is there a valid footer at this byte? 1: yes, 0: no, < 0: the bytes could not be read. */
static int footer_at(struct opening *opening, uint64_t at, struct footer *footer) {
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    if (at < FORMAT_PREFIX_BYTES || !mldfi_range_inside(at, FORMAT_FOOTER_BYTES, opening->reader->physical_bytes))
        return 0;
    mldf_status status = mldfi_reader_copy(opening->reader, at, bytes, sizeof bytes, opening->err);
    if (status < 0)
        return status;
    return mldfi_footer_decode(bytes, footer) && footer->file_size == at + FORMAT_FOOTER_BYTES;
}

/* Where the footer stands that this header leads to. 0: nowhere, and nothing is wrong with reading. */
static mldf_status implied_footer(struct opening *opening, const struct header *header, uint64_t *at) {
    const mldf_reader *reader = opening->reader;
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES];
    uint64_t directory = header->directory_ptr;
    *at = 0;
    if (header->version_minor < 1 || directory < FORMAT_PREFIX_BYTES || directory % 8 != 0 ||
        !mldfi_range_inside(directory, sizeof head, reader->physical_bytes))
        return MLDF_OK;
    mldf_status status = mldfi_reader_copy(reader, directory, head, sizeof head, opening->err);
    if (status < 0)
        return status;
    mldf_error none;
    uint32_t count, crc;
    if (mldfi_directory_head_decode(head, directory, &count, &crc, &none) == MLDF_OK)
        *at = directory + sizeof head + (uint64_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    return MLDF_OK;
}

static void use_header(struct opening *opening, const uint8_t bytes[FORMAT_HEADER_BYTES], uint64_t header_at,
                       uint64_t end, const struct footer *footer) {
    mldf_reader *reader = opening->reader;
    memcpy(opening->header_bytes, bytes, FORMAT_HEADER_BYTES);
    mldfi_header_load(bytes, &reader->header);
    opening->header_at = header_at;
    reader->end = end;
    if (footer) {
        reader->footer_ptr = end - FORMAT_FOOTER_BYTES;
        reader->generation = footer->generation;
    }
}

/* O11-O13: the front header leads nowhere; say why. */
static mldf_status explain_front(struct opening *opening, const struct header *front) {
    const mldf_reader *reader = opening->reader;
    mldf_error *err = opening->err;
    uint64_t size = reader->physical_bytes, directory = front->directory_ptr, at;
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    struct footer footer;
    if (directory < FORMAT_PREFIX_BYTES || directory % 8 != 0)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + 56,
                                 "the header says that the directory is at byte %" PRIu64 ", which cannot be",
                                 directory);
    if (!mldfi_range_inside(directory, FORMAT_DIRECTORY_HEAD_BYTES, size))
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends at byte %" PRIu64 ", inside its directory; `mldf repair -o OUT` saves "
                                 "the samples that are whole",
                                 size);
    mldf_status status = mldfi_reader_copy(reader, directory, bytes, FORMAT_DIRECTORY_HEAD_BYTES, err);
    if (status < 0)
        return status;
    if (memcmp(bytes, mldfi_directory_magic, FORMAT_DIRECTORY_MAGIC_BYTES) != 0)
        return mldfi_reader_fail(
            reader, err, MLDF_E_CORRUPT, directory,
            "no directory at byte %" PRIu64 ", where the header says it is; `mldf repair` may help", directory);
    uint32_t count = mldfi_load_u32(bytes + 8);
    if (count > FORMAT_MAX_SECTIONS)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, directory + 8, "a directory of %" PRIu32 " sections",
                                 count);
    at = directory + FORMAT_DIRECTORY_HEAD_BYTES + (uint64_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    if (!mldfi_range_inside(at, FORMAT_FOOTER_BYTES, size))
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends at byte %" PRIu64
                                 ", before its footer does; `mldf repair` puts the footer back "
                                 "if the directory is whole",
                                 size);
    if ((status = mldfi_reader_copy(reader, at, bytes, sizeof bytes, err)) < 0)
        return status;
    if (memcmp(bytes + 80, mldfi_magic, FORMAT_MAGIC_BYTES) != 0 || !all_zero(bytes + 89, 7))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 80,
                                 "no footer at byte %" PRIu64 ", behind the directory; `mldf repair` puts it back", at);
    if (!mldfi_footer_decode(bytes, &footer))
        return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, at + 76,
                                 "the footer at byte %" PRIu64 " is damaged; `mldf repair` puts it back", at);
    if (footer.file_size != at + FORMAT_FOOTER_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 64,
                                 "the footer at byte %" PRIu64 " says that the file has %" PRIu64 " bytes", at,
                                 footer.file_size);
    size_t i = 0;
    while (i < FORMAT_HEADER_BYTES - 1 && footer.header[i] == opening->front[i])
        i++;
    return mldfi_reader_fail(
        reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + i,
        "the header differs from its copy in the footer at byte %" PRIu64 "; `mldf repair` puts it back", at);
}

/* O6-O13. */
static mldf_status choose_header(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint64_t size = reader->physical_bytes, at;
    struct header front;
    struct footer footer;
    mldfi_header_load(opening->front, &front);
    mldf_status status = implied_footer(opening, &front, &at);
    if (status < 0)
        return status;
    int found = at ? footer_at(opening, at, &footer) : 0;
    if (found < 0)
        return (mldf_status)found;
    if (found && memcmp(footer.header, opening->front, FORMAT_HEADER_BYTES) == 0) {
        use_header(opening, opening->front, FORMAT_HEADER_OFFSET, at + FORMAT_FOOTER_BYTES, &footer);
        return MLDF_OK;
    }
    struct pointers seen = look_at_pointers(&front, size);
    at = size >= FORMAT_FOOTER_BYTES ? size - FORMAT_FOOTER_BYTES : 0;
    if ((found = footer_at(opening, at, &footer)) < 0)
        return (mldf_status)found;
    if (found && (seen.all_zero || seen.all_inside)) {
        use_header(opening, footer.header, at, size, &footer);
        reader->header_recovered = true;
        reader->streamed = seen.all_zero;
        return MLDF_OK;
    }
    if (seen.all_zero)
        return mldfi_reader_fail(
            reader, opening->err, MLDF_E_UNFINISHED, FORMAT_HEADER_OFFSET + 24,
            "writing this file was never finished: its header points nowhere and no footer ends it; "
            "write it again");
    if (front.version_minor == 0 && front.directory_ptr == 0 && !found) {
        use_header(opening, opening->front, FORMAT_HEADER_OFFSET, size, NULL);
        reader->draft = true;
        return MLDF_OK;
    }
    if (!seen.all_inside)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, size,
                                 "the file has %" PRIu64 " bytes, but its header points to byte %" PRIu64
                                 ": it was cut; `mldf repair -o OUT` saves the samples that are whole",
                                 size, seen.largest);
    return explain_front(opening, &front);
}

/* O14-O17. */
static mldf_status check_header(struct opening *opening) {
    const mldf_reader *reader = opening->reader;
    const struct header *header = &reader->header;
    mldf_status status = mldfi_header_check(header, opening->header_at, opening->err);
    if (status < 0)
        return mldfi_reader_name_error(reader, opening->err, status);
    if (header->data_ptr < FORMAT_PREFIX_BYTES || header->data_ptr > reader->end)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, opening->header_at + 40,
                                 "the data region begins at byte %" PRIu64 " of a file of %" PRIu64 " bytes",
                                 header->data_ptr, reader->end);
    return MLDF_OK;
}

/* ---- The whole sequence -------------------------------------------------------------------------------------------- */

/* Every step from the directory on. */
static mldf_status read_structure(struct opening *opening) {
    static mldf_status (*const steps[])(struct opening *) = {
        check_header,        mldfi_open_directory, mldfi_open_tables,    mldfi_open_descriptors,
        mldfi_open_sections, mldfi_open_arguments, mldfi_open_encryption};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        mldf_status status = steps[i](opening);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

/* repair's ways in: a footer that the search found, or the front header without a directory. */
static mldf_status choose_salvage(struct opening *opening, const struct salvage *salvage) {
    mldf_reader *reader = opening->reader;
    struct footer footer;
    uint8_t front[FORMAT_PREFIX_BYTES];
    mldf_status status;
    if (salvage->footer_at) {
        int found = footer_at(opening, salvage->footer_at, &footer);
        if (found < 0)
            return (mldf_status)found;
        if (!found)
            return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, salvage->footer_at,
                                     "no valid footer at byte %" PRIu64, salvage->footer_at);
        use_header(opening, footer.header, salvage->footer_at, salvage->footer_at + FORMAT_FOOTER_BYTES, &footer);
        reader->header_recovered = true;
        return MLDF_OK;
    }
    if ((status = mldfi_reader_copy(reader, 0, front, sizeof front, opening->err)) < 0)
        return status;
    use_header(opening, front + FORMAT_HEADER_OFFSET, FORMAT_HEADER_OFFSET, reader->physical_bytes, NULL);
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
        status = choose_salvage(opening, salvage);
        if (status >= 0)
            status = salvage->bare ? mldfi_open_bare(opening) : read_structure(opening);
    } else {
        status = read_prefix(opening);
        if (status >= 0)
            status = choose_header(opening);
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
    if (given) {
        if (given->struct_bytes == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "reader options without struct_bytes: use MLDF_READER_OPTIONS_INIT");
        memcpy(&options, given, given->struct_bytes < sizeof options ? given->struct_bytes : sizeof options);
    }
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
                             mldf_reader **out, mldf_error *err) {
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
        struct opening opening = {
            .reader = reader, .secret = &options.secret, .without_key = options.without_key, .err = err};
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
    return mldfi_fail(err, MLDF_E_CHANGED, "%s: the file keeps changing while it is opened", path);
}

mldf_status mldfi_reader_open_native(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                     mldf_error *err) {
    return open_path(path, options, NULL, out, err);
}

mldf_status mldfi_reader_map(const char *path, const mldf_reader_options *given, mldf_reader **out, mldf_error *err) {
    mldf_reader_options options;
    *out = NULL;
    mldf_status status = take_options(given, &options, err);
    if (status < 0)
        return status;
    options.backend = MLDF_BACKEND_MAP;
    mldf_reader *reader = new_reader(&options, path, err);
    if (!reader)
        return MLDF_E_MEMORY;
    status = attach_file(reader, path, err);
    reader->end = reader->physical_bytes;
    if (status < 0)
        mldf_reader_close(reader);
    else
        *out = reader;
    return status;
}

mldf_status mldfi_reader_open_salvage(const char *path, const mldf_reader_options *options,
                                      const struct salvage *salvage, mldf_reader **out, mldf_error *err) {
    return open_path(path, options, salvage, out, err);
}

mldf_status mldf_reader_open_memory(const void *data, size_t bytes, const mldf_reader_options *given, mldf_reader **out,
                                    mldf_error *err) {
    mldf_reader_options options;
    if (!out || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "opening memory needs its bytes and a place for the reader");
    *out = NULL;
    mldf_status status = take_options(given, &options, err);
    if (status < 0)
        return status;
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
    status = open_source(&opening, NULL);
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
