/* mldf_repair in place: the front header from the footer, the footer from header and directory, bytes behind the logical end
 * cut off. It never drops a sample, and every write is followed by a look whether the file now opens; if not, the bytes that
 * stood there are put back. repair_salvage.c writes a new file from one that cannot be put right. */
#include "tool/repair.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/target.h"
#include "reader/foreign.h"
#include "tool/derive.h"
#include "tool/pack_source.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "util/options.h"

static const uint8_t directory_magic[8] = {'M', 'L', 'D', 'F', 'D', 'I', 'R', 0};

struct repair {
    const char *path;
    const mldf_repair_options *options;
    mldf_repair_result *result;
    struct os_file file;
    uint64_t size;
    bool sealed; /* nothing can be seen without the key */
};

/* ---- Looking around --------------------------------------------------------------------------------------------------- */

mldf_reader_options mldfi_repair_reader_options(const mldf_repair_options *options) {
    mldf_reader_options reader = MLDF_READER_OPTIONS_INIT;
    reader.backend = MLDF_BACKEND_READ;
    reader.without_key = true;
    reader.secret = options->secret;
    reader.max_decoded_bytes = options->context ? options->context->max_decoded : 0;
    return reader;
}

mldf_status mldfi_repair_footer(const struct os_file *file, uint64_t size, uint64_t at, struct footer *footer,
                                bool *valid, mldf_error *err) {
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    *valid = false;
    if (at < FORMAT_PREFIX_BYTES || !mldfi_range_inside(at, sizeof bytes, size))
        return MLDF_OK;
    mldf_status status = mldfi_file_read(file, at, bytes, sizeof bytes, err);
    if (status >= 0)
        *valid = mldfi_footer_decode(bytes, footer) && footer->file_size == at + sizeof bytes;
    return status;
}

mldf_status mldfi_repair_implied_footer(const struct os_file *file, uint64_t size,
                                        const uint8_t bytes[FORMAT_HEADER_BYTES], uint64_t *at, mldf_error *err) {
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES];
    struct header header;
    *at = 0;
    mldfi_header_load(bytes, &header);
    if (header.version_minor == 0 || header.directory_ptr < FORMAT_PREFIX_BYTES || header.directory_ptr % 8 != 0 ||
        !mldfi_range_inside(header.directory_ptr, sizeof head, size))
        return MLDF_OK;
    mldf_status status = mldfi_file_read(file, header.directory_ptr, head, sizeof head, err);
    if (status < 0 || memcmp(head, directory_magic, sizeof directory_magic) != 0 ||
        mldfi_load_u32(head + 8) > FORMAT_MAX_SECTIONS)
        return status;
    *at = header.directory_ptr + sizeof head + (uint64_t)mldfi_load_u32(head + 8) * FORMAT_DIRECTORY_ENTRY_BYTES;
    return MLDF_OK;
}

static mldf_status opens(const struct repair *repair, mldf_error *err) {
    mldf_reader_options options = mldfi_repair_reader_options(repair->options);
    mldf_reader *reader;
    options.secret = (mldf_secret){0};
    mldf_status status = mldfi_reader_open_native(repair->path, &options, &reader, err);
    mldf_reader_close(reader);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------------------------------------- */

static mldf_status put(const struct repair *repair, uint64_t at, const void *bytes, size_t count, mldf_error *err) {
    mldf_status status = mldfi_file_write(&repair->file, at, bytes, count, err);
    return status < 0 ? status : mldfi_file_sync(&repair->file, err);
}

static mldf_status cut(struct repair *repair, uint64_t end, mldf_error *err) {
    if (repair->size <= end)
        return MLDF_OK;
    mldf_status status = mldfi_file_truncate(&repair->file, end, err);
    return status < 0 ? status : mldfi_file_sync(&repair->file, err);
}

/* Writes `count` bytes at `at` and keeps them if the file opens then. */
static mldf_status try_bytes(struct repair *repair, uint64_t at, const void *bytes, size_t count, bool *kept,
                             mldf_error *err) {
    uint8_t before[FORMAT_FOOTER_BYTES];
    uint64_t have = at < repair->size ? repair->size - at : 0;
    size_t saved = have < count ? (size_t)have : count;
    *kept = false;
    mldf_status status = mldfi_file_read(&repair->file, at, before, saved, err);
    if (status < 0 || (status = put(repair, at, bytes, count, err)) < 0)
        return status;
    if (opens(repair, NULL) >= 0) {
        *kept = true;
        return MLDF_OK;
    }
    if ((status = mldfi_file_write(&repair->file, at, before, saved, err)) < 0)
        return status;
    if (at + count > repair->size && (status = mldfi_file_truncate(&repair->file, repair->size, err)) < 0)
        return status;
    return mldfi_file_sync(&repair->file, err);
}

static void say(struct repair *repair, const char *action) {
    snprintf(repair->result->action, sizeof repair->result->action, "%s", action);
    repair->result->changed = true;
}

/* ---- The cases ---------------------------------------------------------------------------------------------------------------- */

/* The file opens: put the header back, cut what an append left behind. */
static mldf_status tidy(struct repair *repair, const mldf_reader *reader, mldf_error *err) {
    uint8_t prefix[FORMAT_PREFIX_BYTES];
    uint64_t ignored = reader->physical_bytes - reader->end;
    mldf_status status = MLDF_OK;
    if (reader->header_recovered) {
        memcpy(prefix, mldfi_magic, FORMAT_MAGIC_BYTES);
        status = mldfi_reader_copy(reader, reader->footer_ptr, prefix + FORMAT_HEADER_OFFSET, FORMAT_HEADER_BYTES, err);
        if (status >= 0)
            status = put(repair, 0, prefix, sizeof prefix, err);
        if (status >= 0)
            say(repair, "put the header back from the footer");
    }
    if (status >= 0 && ignored) {
        status = cut(repair, reader->end, err);
        if (status >= 0)
            say(repair, "cut off what an unfinished append had left");
    }
    if (status >= 0 && !repair->result->changed)
        snprintf(repair->result->action, sizeof repair->result->action, "nothing was wrong");
    repair->result->samples_saved = reader->header.num_samples;
    repair->result->bytes = reader->end;
    return status;
}

/* A valid footer at this byte whose file opens: magic and header come from it. */
static mldf_status from_footer(struct repair *repair, uint64_t at, bool *done, mldf_error *err) {
    struct footer footer;
    uint8_t prefix[FORMAT_PREFIX_BYTES];
    bool valid;
    mldf_status status = mldfi_repair_footer(&repair->file, repair->size, at, &footer, &valid, err);
    if (status < 0 || !valid)
        return status;
    memcpy(prefix, mldfi_magic, FORMAT_MAGIC_BYTES);
    memcpy(prefix + FORMAT_HEADER_OFFSET, footer.header, FORMAT_HEADER_BYTES);
    status = try_bytes(repair, 0, prefix, sizeof prefix, done, err);
    if (status >= 0 && *done) {
        say(repair, "put the header back from the footer");
        status = cut(repair, at + FORMAT_FOOTER_BYTES, err);
    }
    return status;
}

/* The generation is that of the last append in the history. */
static mldf_status last_generation(const struct repair *repair, const uint8_t *entries, uint32_t count, uint32_t *out,
                                   mldf_error *err) {
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct section section;
        uint8_t word[4];
        if (mldfi_section_decode(entries + (size_t)i * FORMAT_DIRECTORY_ENTRY_BYTES, 0, repair->size, &section, NULL) <
                0 ||
            section.kind != SECTION_HISTORY || section.size < FORMAT_HISTORY_BYTES)
            continue;
        mldf_status status =
            mldfi_file_read(&repair->file, section.ptr + section.size - FORMAT_HISTORY_BYTES, word, sizeof word, err);
        if (status < 0)
            return status;
        *out = mldfi_load_u32(word);
    }
    return MLDF_OK;
}

/* Header and directory are whole, the footer behind them is not. */
static mldf_status rebuild_footer(struct repair *repair, const uint8_t header[FORMAT_HEADER_BYTES], uint64_t at,
                                  bool *done, mldf_error *err) {
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES], bytes[FORMAT_FOOTER_BYTES];
    static uint8_t const nothing[1] = {0};
    struct header loaded;
    struct footer footer = {.file_size = at + FORMAT_FOOTER_BYTES};
    mldf_buffer entries = MLDF_BUFFER_INIT;
    mldfi_header_load(header, &loaded);
    if (at > repair->size)
        return MLDF_OK; /* the directory itself is cut */
    mldf_status status = mldfi_file_read(&repair->file, loaded.directory_ptr, head, sizeof head, err);
    uint32_t count = status < 0 ? 0 : mldfi_load_u32(head + 8);
    size_t entry_bytes = (size_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    if (status >= 0)
        status = mldf_buffer_reserve(&entries, entry_bytes ? entry_bytes : 1, err);
    if (status >= 0)
        status = mldfi_file_read(&repair->file, loaded.directory_ptr + sizeof head, entries.data, entry_bytes, err);
    bool whole =
        status >= 0 && mldfi_crc32c(0, entry_bytes ? entries.data : nothing, entry_bytes) == mldfi_load_u32(head + 12);
    if (whole)
        status = last_generation(repair, entries.data, count, &footer.generation, err);
    mldf_buffer_free(&entries);
    if (status < 0 || !whole)
        return status;
    memcpy(footer.header, header, FORMAT_HEADER_BYTES);
    mldfi_footer_encode(&footer, bytes);
    status = try_bytes(repair, at, bytes, sizeof bytes, done, err);
    if (status >= 0 && *done) {
        say(repair, "wrote the footer again from header and directory");
        status = cut(repair, at + FORMAT_FOOTER_BYTES, err);
    }
    return status;
}

/* The file does not open. *done: now it does. */
static mldf_status mend(struct repair *repair, bool *done, mldf_error *err) {
    uint8_t header[FORMAT_HEADER_BYTES];
    uint64_t at = 0;
    *done = false;
    if (repair->size < FORMAT_PREFIX_BYTES + FORMAT_FOOTER_BYTES)
        return MLDF_OK;
    mldf_status status = from_footer(repair, repair->size - FORMAT_FOOTER_BYTES, done, err);
    if (status < 0 || *done)
        return status;
    status = mldfi_file_read(&repair->file, FORMAT_HEADER_OFFSET, header, sizeof header, err);
    if (status >= 0)
        status = mldfi_repair_implied_footer(&repair->file, repair->size, header, &at, err);
    if (status < 0 || at == 0)
        return status;
    status = from_footer(repair, at, done, err);
    if (status < 0 || *done)
        return status;
    return rebuild_footer(repair, header, at, done, err);
}

/* The file cannot be put right in place: says what -o would do. */
static void advise(const struct repair *repair, const mldf_error *why, mldf_error *err) {
    struct rescue rescue = {.options = repair->options, .result = repair->result};
    if (!err)
        return;
    bool opened = mldfi_repair_open(&rescue, repair->path, NULL) >= 0;
    bool saves = opened && rescue.reader->header.num_samples > 0;
    *err = *why;
    mldfi_error_prefix(err, "cannot be repaired in place");
    if (saves && rescue.rest.total)
        (void)mldfi_error_advise(err, err->status,
                                 "with -o OUT, what is whole of %" PRIu64
                                 " samples goes into a new file; the rows of %" PRIu64
                                 " are cut off: of those, values that show where they end",
                                 rescue.rest.total, rescue.rest.total - rescue.rest.first);
    else if (saves)
        (void)mldfi_error_advise(err, err->status,
                                 "with -o OUT, what is whole of %" PRIu64 " sample%s goes into a new file",
                                 rescue.reader->header.num_samples, rescue.reader->header.num_samples == 1 ? "" : "s");
    else if (opened && rescue.rowless)
        (void)mldfi_error_advise(err, err->status,
                                 "with -o OUT, the values that show where they end go into a new file, without fields "
                                 "that are stored in rows");
    else
        (void)mldfi_error_advise(err, err->status, "no sample can be saved with -o OUT either");
    mldf_reader_close(rescue.reader);
}

/* Header and footer are right now. What else is wrong cannot be put right in place. */
static mldf_status look_at_the_rest(struct repair *repair, mldf_error *err) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result found = MLDF_VERIFY_RESULT_INIT;
    char *action = repair->result->action;
    options.context = repair->options->context;
    options.threads = repair->options->threads;
    if (repair->sealed)
        options.secret = repair->options->secret;
    options.problem = repair->options->lost;
    options.problem_user = repair->options->lost_user;
    options.progress = repair->options->progress;
    options.progress_user = repair->options->progress_user;
    mldf_status status = mldf_verify(repair->path, &options, &found, err);
    if (status < 0 || found.problems == 0)
        return status;
    repair->result->problems = found.problems;
    size_t used = repair->result->changed ? strlen(action) : 0;
    snprintf(action + used, sizeof repair->result->action - used,
             "%s%" PRIu64 " problem%s cannot be repaired in place; with -o OUT, the %" PRIu64 " of %" PRIu64
             " samples that are whole go into a new file",
             used ? "; " : "", found.problems, found.problems == 1 ? "" : "s", found.good_samples, found.num_samples);
    return MLDF_OK;
}

static mldf_status repair_open_file(struct repair *repair, mldf_error *err) {
    mldf_reader_options options = mldfi_repair_reader_options(repair->options);
    mldf_reader *reader = NULL;
    mldf_error why;
    bool done = false;
    options.secret = (mldf_secret){0};
    mldf_status first = mldfi_reader_open_native(repair->path, &options, &reader, &why), status = first;
    if (first == MLDF_E_KEY_MISSING) { /* its tables are encrypted too */
        options.secret = repair->options->secret;
        repair->sealed = true;
        status = first = mldfi_reader_open_native(repair->path, &options, &reader, &why);
    }
    if (first < 0 && first > MLDF_E_MAGIC && first != MLDF_E_LIMIT) {
        if (err)
            *err = why;
        return first;
    }
    if (first < 0) {
        if ((status = mend(repair, &done, err)) < 0)
            return status;
        if (!done && first == MLDF_E_CHECKSUM) {
            status = mldfi_repair_descriptors(repair->path, &repair->file, &options, &done, err);
            if (status < 0)
                return status;
            if (done)
                say(repair, "wrote the field descriptors in the spelling of their checksum");
        }
        if (!done) {
            advise(repair, &why, err);
            return first;
        }
        if ((status = mldfi_reader_open_native(repair->path, &options, &reader, err)) < 0)
            return status;
    }
    status = tidy(repair, reader, err);
    mldf_reader_close(reader);
    return status < 0 ? status : look_at_the_rest(repair, err);
}

static mldf_status repair_in_place(const char *path, const mldf_repair_options *options, mldf_repair_result *result,
                                   mldf_error *err) {
    struct repair repair = {.path = path, .options = options, .result = result, .file = OS_FILE_NONE};
    TRY(mldfi_file_open(&repair.file, path, OS_OPEN_READ_WRITE, err));
    mldf_status status = mldfi_file_lock(&repair.file, err);
    if (status >= 0)
        status = mldfi_file_size(&repair.file, &repair.size, err);
    if (status >= 0)
        status = repair_open_file(&repair, err);
    if (status >= 0)
        status = mldfi_file_check_name(&repair.file, path, "what has the name now was not repaired", err);
    mldfi_file_close(&repair.file);
    return status;
}

mldf_status mldf_repair(const char *path, const char *out, const mldf_repair_options *given, mldf_repair_result *result,
                        mldf_error *err) {
    mldf_repair_options options = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result done = MLDF_REPAIR_RESULT_INIT;
    if (!path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "repair needs a path");
    mldf_status status = mldfi_take_options(&options, sizeof options, "mldf_repair_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_repair_result", result, err);
    if (status == MLDF_OK && out)
        status = mldfi_check_mldf_name(out, err);
    if (status == MLDF_OK && out)
        status = mldfi_source_is_not_target(path, out, err);
    if (status < 0)
        return status;
    status = out ? mldfi_repair_into(path, out, &options, &done, err) : repair_in_place(path, &options, &done, err);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
