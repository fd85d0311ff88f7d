/* mldf_repair into a new file: every sample that is whole, opened by repair_open.c, past the sections that repair_sections.c has judged.
 * Samples are copied as they are stored, each checked by what checksums are left, and each value decoded: a sample with a value that does
 * not decode, or whose key is damaged, is not whole. */
#include "tool/repair.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tool/derive.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

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
        TRY(mldf_reader_get_stored(reader, sample, f, &scratch[f], &values[f], why));
        /* JSON of no bytes is how a 1.0 file says that there is no value. */
        if (reader->draft && reader->schema->fields[f].info.type_id == MLDF_JSON && values[f].bytes == 0)
            values[f].kind = MLDF_KIND_NULL;
    }
    *key = NULL;
    *key_bytes = 0;
    if (rescue->keys && rescue->bad_keys && rescue->bad_keys[sample / 8] >> (sample % 8) & 1)
        return mldfi_reader_fail(reader, why, MLDF_E_CORRUPT, reader->keys->ptr + 8 * sample,
                                 "key of sample %" PRIu64 " is damaged", sample);
    return rescue->keys ? mldf_reader_key(reader, sample, &scratch[fields], key, key_bytes, why) : MLDF_OK;
}

mldf_status mldfi_repair_tick(struct rescue *rescue, uint64_t done, mldf_error *err) {
    double now = mldfi_time();
    const mldf_reader *reader = rescue->reader;
    uint64_t total = rescue->rowless      ? reader->promised_samples
                     : rescue->rest.total ? rescue->rest.total
                                          : reader->header.num_samples;
    mldf_progress progress = {"repair", done, total, 0, MLDF_NONE, 0};
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
            for (size_t f = 0; rescue->doubted && f < reader->schema->field_count; f++)
                rescue->result->lost.values += rescue->doubted[f] && values[f].kind == MLDF_KIND_NULL;
            status = mldf_writer_append(rescue->writer, values, reader->schema->field_count, key, key_bytes, err);
        } else if (mldfi_is_damage(status) &&
                   status != MLDF_E_LIMIT) { /* beyond a limit is whole: never lost for that */
            status = lose(rescue, i, &why, err);
        } else if (err) {
            *err = why;
        }
        if (status >= 0)
            status = mldfi_repair_tick(rescue, i, err);
    }
    return status;
}

void mldfi_repair_lost_range(struct rescue *rescue, uint64_t from, uint64_t to, mldf_error *why) {
    rescue->result->samples_lost += to - from;
    mldfi_error_place(why, from, NULL);
    if (rescue->options->lost)
        rescue->options->lost(rescue->options->lost_user, why);
}

/* Rows that the file no longer holds, and samples of a later state that does not open: one report for all of them. */
static void report_cut_rows(struct rescue *rescue) {
    const mldf_reader *reader = rescue->reader;
    uint64_t have = reader->header.num_samples, promised = reader->promised_samples;
    mldf_error why;
    if (rescue->rest.total > have)
        have = rescue->rest.total; /* of those, repair_carve.c has reported what is lost */
    if (promised > have) {
        mldfi_reader_fail(reader, &why, MLDF_E_TRUNCATED, reader->physical_bytes,
                          "rows %" PRIu64 " to %" PRIu64 " lie after the end of the file at %" PRIu64, have,
                          promised - 1, reader->physical_bytes);
        mldfi_repair_lost_range(rescue, have, promised, &why);
        have = promised;
    }
    if (rescue->later_samples > have) {
        why = rescue->why_later;
        mldfi_error_prefix(&why,
                           "samples %" PRIu64 " to %" PRIu64 " are of a later state of the file, which does not open",
                           have, rescue->later_samples - 1);
        mldfi_repair_lost_range(rescue, have, rescue->later_samples, &why);
    }
}

/* ---- The new file --------------------------------------------------------------------------------------------------------- */

/* The file's own fields; those of a 1.0 file get what it says without words: JSON that may be missing. */
static mldf_status make_schema(struct rescue *rescue, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    if (rescue->rowless || rescue->rest.total)
        return mldfi_repair_carved_schema(rescue, err);
    return reader->draft ? mldfi_derive_schema(reader, rescue->options->context, NULL, 0, &rescue->schema, err)
                         : mldfi_schema_copy(reader->schema, &rescue->schema, err);
}

static mldf_status open_writer(struct rescue *rescue, const char *out, mldf_buffer *card, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.context = rescue->options->context;
    options.threads = rescue->options->threads;
    options.overwrite = rescue->options->overwrite;
    options.dictionary = reader->dictionary != NULL;
    options.skip_bad_samples = true;
    options.check_values = true;
    options.skipped = writer_skipped;
    options.skipped_user = rescue;
    options.progress = rescue->options->progress;
    options.progress_user = rescue->options->progress_user;
    if (!reader->draft && mldfi_is_power_of_two(reader->header.page_size) &&
        reader->header.page_size >= FORMAT_MIN_PAGE)
        options.page_size = reader->header.page_size;
    if (reader->encrypted) {
        options.secret = rescue->options->secret;
        options.encrypt_all = reader->sealed_bytes != 0;
    }
    if (mldf_reader_card(reader, card, NULL) == MLDF_OK) {
        options.card = (const char *)card->data;
        options.card_bytes = card->size;
    }
    return mldf_writer_open(out, rescue->schema, &options, &rescue->writer, err);
}

static mldf_status rescue_samples(struct rescue *rescue, const char *out, mldf_error *err) {
    size_t fields = rescue->reader->schema->field_count;
    mldf_value *values = mldfi_alloc_zero(fields, sizeof *values, err);
    mldf_buffer *scratch = mldfi_alloc_zero(fields + 1, sizeof *scratch, err), card = MLDF_BUFFER_INIT;
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
    mldf_status status = values && scratch ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_repair_sections(rescue, err);
    if (status >= 0)
        status = make_schema(rescue, err);
    if (status >= 0)
        status = open_writer(rescue, out, &card, err);
    if (status >= 0)
        status = rescue->rowless ? mldfi_repair_carve(rescue, err) : copy_samples(rescue, values, scratch, err);
    if (status >= 0 && rescue->rest.total)
        status = mldfi_repair_carve_rest(rescue, err);
    if (status >= 0) {
        if (!rescue->rowless)
            report_cut_rows(rescue);
        status = mldf_writer_finish(rescue->writer, &written, err);
    } else {
        mldf_writer_abort(rescue->writer);
    }
    rescue->result->samples_saved = written.samples;
    rescue->result->bytes = written.file_bytes;
    if (status >= 0)
        mldfi_repair_describe(rescue);
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
    mldf_status status = mldfi_repair_open(&rescue, path, err);
    if (status >= 0)
        status = rescue_samples(&rescue, out, err);
    mldf_reader_close(rescue.reader);
    mldf_schema_free(rescue.schema);
    free(rescue.bad_keys);
    free(rescue.doubted);
    free(rescue.lost);
    return status;
}
