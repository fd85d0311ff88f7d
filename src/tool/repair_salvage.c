/* mldf_repair into a new file: every sample that is whole. The damaged file is opened in the best way there is,
 *
 *     as any file  >  by a footer that still stands, damaged sections left out  >  by descriptors and rows alone
 *
 * where more samples win over more sections; then samples are copied undecoded, each checked by what checksums are left. */
#include "tool/repair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/foreign.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { SCAN_CHUNK = 1 << 20, FIELD_DESC_PTR_AT = 24 /* in the header, and so in the footer */ };

struct rescue {
    const mldf_repair_options *options;
    mldf_repair_result *result;
    mldf_reader *reader;
    mldf_writer *writer;
    bool damaged; /* the file did not open as it should */
    bool descriptors_damaged;
    bool keys;
    bool unchecked; /* checksums of the file are themselves damaged */
    uint64_t *lost; /* samples that were not submitted to the writer, ascending */
    size_t lost_count, lost_capacity;
    double last_report;
};

static bool is_damage(mldf_status status) {
    return status <= MLDF_E_MAGIC || status == MLDF_E_LIMIT;
}

/* ---- Ways in ---------------------------------------------------------------------------------------------------------- */

/* Keeps the opening that shows more samples. *refused: where and why it did not open. */
static mldf_status try_way(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                           const struct salvage *way, mldf_error *refused, mldf_error *err) {
    mldf_reader *reader = NULL;
    mldf_error why = {.status = MLDF_OK};
    mldf_status status = mldfi_reader_open_salvage(path, options, way, &reader, &why);
    if (status < 0 && !is_damage(status)) {
        if (err)
            *err = why;
        return status;
    }
    if (status >= 0 && (!rescue->reader || reader->header.num_samples > rescue->reader->header.num_samples)) {
        mldf_reader_close(rescue->reader);
        rescue->reader = reader;
    } else {
        mldf_reader_close(reader);
    }
    if (refused)
        *refused = why;
    return MLDF_OK;
}

/* Rows are worth nothing without the descriptors that say what they mean: where those are known to be damaged, another way in would
 * give wrong data. */
static mldf_status try_footer(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                              const struct os_file *file, uint64_t at, mldf_error *err) {
    const struct salvage whole = {at, false}, bare = {at, true};
    mldf_error refused;
    uint8_t descriptors[8];
    mldf_status status = try_way(rescue, path, options, &whole, &refused, err);
    if (status >= 0)
        status = mldfi_file_read(file, at + FIELD_DESC_PTR_AT, descriptors, sizeof descriptors, err);
    if (status < 0)
        return status;
    if (refused.status == MLDF_E_CHECKSUM && refused.offset == mldfi_load_u64(descriptors)) {
        rescue->descriptors_damaged = true;
        return MLDF_OK;
    }
    return try_way(rescue, path, options, &bare, NULL, err);
}

/* Looking for a footer may take as long as reading the file does. */
static mldf_status report_scan(struct rescue *rescue, uint64_t done, uint64_t size, mldf_error *err) {
    double now = mldfi_time();
    mldf_progress progress = {"repair: looking for a footer", 0, MLDF_NONE, done, size};
    if (!rescue->options->progress || now - rescue->last_report < 0.05)
        return MLDF_OK;
    rescue->last_report = now;
    if (rescue->options->progress(rescue->options->progress_user, &progress))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
}

/* Footers that appends left behind, the last one first: each is a state that the file once had. Stops at the first that opens. */
static mldf_status scan_footers(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                                const struct os_file *file, uint64_t size, mldf_error *err) {
    uint8_t *chunk = mldfi_alloc(SCAN_CHUNK + FORMAT_FOOTER_BYTES, err);
    mldf_status status = chunk ? MLDF_OK : MLDF_E_MEMORY;
    uint64_t begin = size / SCAN_CHUNK * SCAN_CHUNK;
    for (; status >= 0 && !rescue->reader; begin -= SCAN_CHUNK) {
        uint64_t left = size - begin;
        size_t bytes =
            left < SCAN_CHUNK + FORMAT_FOOTER_BYTES ? (size_t)left : (size_t)(SCAN_CHUNK + FORMAT_FOOTER_BYTES);
        if ((status = mldfi_file_read(file, begin, chunk, bytes, err)) < 0)
            break;
        size_t at = bytes >= FORMAT_FOOTER_BYTES ? (bytes - FORMAT_FOOTER_BYTES) / 8 * 8 + 8 : 0;
        while (at >= 8 && status >= 0 && !rescue->reader) {
            struct footer footer;
            at -= 8;
            if (begin + at < FORMAT_PREFIX_BYTES || memcmp(chunk + at + 80, mldfi_magic, FORMAT_MAGIC_BYTES) != 0 ||
                !mldfi_footer_decode(chunk + at, &footer) || footer.file_size != begin + at + FORMAT_FOOTER_BYTES)
                continue;
            status = try_footer(rescue, path, options, file, begin + at, err);
        }
        if (status >= 0)
            status = report_scan(rescue, size - begin, size, err);
        if (begin == 0)
            break;
    }
    free(chunk);
    return status;
}

static mldf_status find_way_in(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                               mldf_error *err) {
    const struct salvage bare = {0, true};
    struct os_file file = OS_FILE_NONE;
    uint64_t size = 0, at = 0;
    uint8_t header[FORMAT_HEADER_BYTES];
    mldf_status status = mldfi_file_open(&file, path, OS_OPEN_READ, err);
    if (status >= 0)
        status = mldfi_file_size(&file, &size, err);
    if (status >= 0 && size >= FORMAT_PREFIX_BYTES) {
        status = mldfi_file_read(&file, FORMAT_HEADER_OFFSET, header, sizeof header, err);
        if (status >= 0)
            status = mldfi_repair_implied_footer(&file, size, header, &at, err);
        if (status >= 0 && at)
            status = try_footer(rescue, path, options, &file, at, err);
        if (status >= 0 && !rescue->reader)
            status = scan_footers(rescue, path, options, &file, size, err);
        if (status >= 0 && !rescue->descriptors_damaged)
            status = try_way(rescue, path, options, &bare, NULL, err);
    }
    mldfi_file_close(&file);
    return status;
}

static mldf_status open_damaged(struct rescue *rescue, const char *path, mldf_error *err) {
    mldf_reader_options options = mldfi_repair_reader_options(rescue->options);
    mldf_error why;
    options.context = rescue->options->context;
    options.verify = true;
    options.without_key = false; /* payloads are needed */
    mldf_status first = mldfi_reader_open_native(path, &options, &rescue->reader, &why);
    if (first >= 0)
        return MLDF_OK;
    rescue->damaged = true;
    mldf_status status = MLDF_OK;
    if (is_damage(first) && first != MLDF_E_TAMPERED)
        status = find_way_in(rescue, path, &options, err);
    if (status >= 0 && !rescue->reader) {
        if (err)
            *err = why;
        if (is_damage(first))
            mldfi_error_prefix(err, "nothing can be saved");
        status = first;
    }
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------------ */

static mldf_status lose(struct rescue *rescue, uint64_t sample, const mldf_error *why, mldf_error *err) {
    mldf_error copy = *why;
    mldf_status status =
        mldfi_array_reserve(&rescue->lost, &rescue->lost_capacity, rescue->lost_count + 1, sizeof *rescue->lost, err);
    if (status < 0)
        return status;
    rescue->lost[rescue->lost_count++] = sample;
    rescue->result->samples_lost++;
    copy.sample = sample;
    if (rescue->options->lost)
        rescue->options->lost(rescue->options->lost_user, &copy);
    return MLDF_OK;
}

/* The writer's hook: it counts what it was given, we count what the file has. */
static void writer_skipped(void *user, uint64_t submitted, const mldf_error *why) {
    struct rescue *rescue = user;
    mldf_error copy = *why;
    copy.sample = submitted;
    for (size_t i = 0; i < rescue->lost_count && rescue->lost[i] <= copy.sample; i++)
        copy.sample++;
    rescue->result->samples_lost++;
    if (rescue->options->lost)
        rescue->options->lost(rescue->options->lost_user, &copy);
}

/* All values of a sample, each in its own scratch buffer. The error says what is not whole. */
static mldf_status load_sample(const struct rescue *rescue, uint64_t sample, mldf_value *values, mldf_buffer *scratch,
                               const char **key, size_t *key_bytes, mldf_error *why) {
    const mldf_reader *reader = rescue->reader;
    size_t fields = reader->schema->field_count;
    for (size_t f = 0; f < fields; f++) {
        mldf_status status = mldf_reader_get_stored(reader, sample, f, &scratch[f], &values[f], why);
        if (status < 0)
            return status;
        /* The draft has no nulls; a JSON value that its writer left out is the JSON null. */
        if (reader->draft && reader->schema->fields[f].info.type_id == MLDF_JSON && values[f].bytes == 0)
            values[f] = (mldf_value){.kind = MLDF_KIND_TEXT, .data = "null", .bytes = 4};
    }
    *key = NULL;
    *key_bytes = 0;
    return rescue->keys ? mldf_reader_key(reader, sample, &scratch[fields], key, key_bytes, why) : MLDF_OK;
}

static mldf_status tick(struct rescue *rescue, uint64_t done, mldf_error *err) {
    double now = mldfi_time();
    mldf_progress progress = {"repair", done, rescue->reader->header.num_samples, 0, MLDF_NONE};
    if (!rescue->options->progress || now - rescue->last_report < 0.05)
        return MLDF_OK;
    rescue->last_report = now;
    if (rescue->options->progress(rescue->options->progress_user, &progress))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CANCELLED, "repair was cancelled");
}

static mldf_status copy_samples(struct rescue *rescue, mldf_value *values, mldf_buffer *scratch, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < reader->header.num_samples && status >= 0; i++) {
        mldf_error why;
        const char *key;
        size_t key_bytes;
        status = load_sample(rescue, i, values, scratch, &key, &key_bytes, &why);
        if (status >= 0) {
            status = mldf_writer_append(rescue->writer, values, reader->schema->field_count, key, key_bytes, err);
        } else if (is_damage(status) && status != MLDF_E_LIMIT) { /* beyond a limit is whole: never lost for that */
            status = lose(rescue, i, &why, err);
        } else if (err) {
            *err = why;
        }
        if (status >= 0)
            status = tick(rescue, i, err);
    }
    return status;
}

/* Rows that the file no longer holds: one report for all of them. */
static void report_cut_rows(struct rescue *rescue) {
    const mldf_reader *reader = rescue->reader;
    uint64_t have = reader->header.num_samples, promised = reader->promised_samples;
    mldf_error why;
    if (promised <= have)
        return;
    rescue->result->samples_lost += promised - have;
    mldfi_reader_fail(reader, &why, MLDF_E_TRUNCATED, reader->physical_bytes,
                      "rows %" PRIu64 " to %" PRIu64 " lie behind the end of the file at %" PRIu64, have, promised - 1,
                      reader->physical_bytes);
    mldfi_error_place(&why, have, NULL);
    if (rescue->options->lost)
        rescue->options->lost(rescue->options->lost_user, &why);
}

/* ---- The new file --------------------------------------------------------------------------------------------------------- */

/* Checksums that are damaged themselves speak against no sample: they are not asked, as in verify. */
static mldf_status look_at_checksums(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    const struct section *tables = reader->tables_section;
    uint32_t crc;
    mldf_status status;
    if (reader->checks) {
        if ((status = mldfi_reader_crc(reader, reader->checks->ptr, reader->checks->size, &crc, err)) < 0)
            return status;
        if (crc != reader->checks->crc) {
            reader->checks = NULL;
            rescue->unchecked = true;
        }
    }
    if (tables && reader->verified_blocks) {
        if ((status = mldfi_reader_crc(reader, tables->ptr, tables->size, &crc, err)) < 0)
            return status;
        if (crc != tables->crc) {
            free(reader->verified_blocks);
            reader->verified_blocks = NULL;
            rescue->unchecked = true;
        }
    }
    rescue->damaged = rescue->damaged || rescue->unchecked;
    return MLDF_OK;
}

/* Sections that are damaged but of use: keys are dropped, validity bits are doubted. */
static mldf_status look_at_sections(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    uint32_t crc;
    mldf_status status = look_at_checksums(rescue, err);
    if (status < 0)
        return status;
    rescue->keys = reader->keys != NULL;
    if (reader->keys) {
        if ((status = mldfi_reader_crc(reader, reader->keys->ptr, reader->keys->size, &crc, err)) < 0)
            return status;
        rescue->keys = crc == reader->keys->crc;
        rescue->damaged = rescue->damaged || !rescue->keys;
    }
    if (reader->validity) {
        if ((status = mldfi_reader_crc(reader, reader->validity->ptr, reader->validity->size, &crc, err)) < 0)
            return status;
        reader->doubt_validity = crc != reader->validity->crc;
        rescue->damaged = rescue->damaged || reader->doubt_validity;
        if (reader->doubt_validity)
            atomic_fetch_or(reader->verified_sections, READER_GOOD_VALIDITY);
    }
    return MLDF_OK;
}

static mldf_status open_writer(struct rescue *rescue, const char *out, mldf_buffer *card, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.context = rescue->options->context;
    options.threads = rescue->options->threads;
    options.overwrite = rescue->options->overwrite;
    options.dictionary = reader->dictionary != NULL;
    options.skip_bad_samples = true;
    options.skipped = writer_skipped;
    options.skipped_user = rescue;
    options.progress = rescue->options->progress;
    options.progress_user = rescue->options->progress_user;
    if (!reader->draft && mldfi_is_power_of_two(reader->header.page_size) &&
        reader->header.page_size >= FORMAT_MIN_PAGE)
        options.page_size = reader->header.page_size;
    if (reader->encrypted)
        options.secret = rescue->options->secret;
    if (mldf_reader_card(reader, card, NULL) == MLDF_OK) {
        options.card = (const char *)card->data;
        options.card_bytes = card->size;
    }
    return mldf_writer_open(out, reader->schema, &options, &rescue->writer, err);
}

static void describe(const struct rescue *rescue) {
    mldf_repair_result *result = rescue->result;
    const char *how = !rescue->damaged ? "copied the samples that are whole"
                      : rescue->reader->salvage
                          ? "saved samples by rows alone: keys, card, nulls and checksums are gone"
                      : rescue->unchecked ? "saved samples past damaged checksums: what those covered is unchecked"
                                          : "saved samples past damaged sections";
    if (!rescue->damaged && result->samples_lost == 0)
        how = "nothing was wrong; copied every sample";
    result->changed = rescue->damaged || result->samples_lost > 0;
    result->unchecked = rescue->reader->salvage || rescue->unchecked;
    snprintf(result->action, sizeof result->action, "%s", how);
}

static mldf_status rescue_samples(struct rescue *rescue, const char *out, mldf_error *err) {
    size_t fields = rescue->reader->schema->field_count;
    mldf_value *values = mldfi_alloc_zero(fields, sizeof *values, err);
    mldf_buffer *scratch = mldfi_alloc_zero(fields + 1, sizeof *scratch, err), card = MLDF_BUFFER_INIT;
    mldf_write_result written = {0};
    mldf_status status = values && scratch ? look_at_sections(rescue, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = open_writer(rescue, out, &card, err);
    if (status >= 0)
        status = copy_samples(rescue, values, scratch, err);
    if (status >= 0) {
        report_cut_rows(rescue);
        status = mldf_writer_finish(rescue->writer, &written, err);
    } else {
        mldf_writer_abort(rescue->writer);
    }
    rescue->result->samples_saved = written.samples;
    rescue->result->bytes = written.file_bytes;
    describe(rescue);
    for (size_t i = 0; scratch && i <= fields; i++)
        mldf_buffer_free(&scratch[i]);
    mldf_buffer_free(&card);
    free(scratch);
    free(values);
    return status < 0 ? status : MLDF_OK;
}

mldf_status mldfi_repair_into(const char *path, const char *out, const mldf_repair_options *options,
                              mldf_repair_result *result, mldf_error *err) {
    struct rescue rescue = {.options = options, .result = result};
    mldf_status status = open_damaged(&rescue, path, err);
    if (status >= 0)
        status = rescue_samples(&rescue, out, err);
    mldf_reader_close(rescue.reader);
    free(rescue.lost);
    return status;
}
