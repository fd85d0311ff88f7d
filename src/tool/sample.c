/* Samples that do not come from rows of text: files of folders, parts of archives. What they share: a place for messages, the error
 * policy, progress and checkpoints. See pack.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/audio_type.h"
#include "field/image_type.h"
#include "tool/pack.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "writer/settle.h"

mldf_status mldfi_feed_open_writer(struct feed *feed, const char *out, const mldf_schema *schema,
                                   const mldf_writer_options *options, mldf_error *err) {
    mldf_writer_options writer = *options;
    mldf_schema *tokens = NULL;
    mldf_status status = MLDF_OK;
    mldfi_feed_hooks(feed, &writer);
    writer.resume = feed->options->resume;
    if (feed->options->tokenize) {
        status = mldfi_text_schema(&feed->text, schema, feed->options->tokenize, &tokens, err);
        schema = tokens;
    }
    if (status == MLDF_OK && strcmp(out, "-") == 0)
        status = mldf_writer_open_stream(STDOUT_FILENO, schema, &writer, &feed->writer, err);
    else if (status == MLDF_OK)
        status = mldf_writer_open(out, schema, &writer, &feed->writer, err);
    if (status == MLDF_OK && feed->options->tokenize) {
        mldf_tokenize_options how = MLDF_TOKENIZE_OPTIONS_INIT;
        status = mldfi_take_options(&how, sizeof how, "mldf_tokenize_options", feed->options->tokenize, err);
        how.field = feed->text.name;
        if (status == MLDF_OK)
            status = mldf_writer_tokenize(feed->writer, &how, err);
    }
    mldf_schema_free(tokens);
    return status;
}

mldf_status mldfi_feed_icc(struct feed *feed, mldf_schema *schema, mldf_error *err) {
    mldf_status status = mldfi_icc_add_fields(&feed->icc, schema, err);
    if (status == MLDF_OK && feed->icc.pair_count && feed->options->resume)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "a run that puts colour profiles into the card cannot be resumed");
    return status;
}

mldf_status mldfi_feed_make_values(struct feed *feed, const mldf_schema *schema, mldf_error *err) {
    free(feed->values);
    feed->schema = schema;
    feed->field_count = mldf_schema_field_count(schema);
    feed->values = mldfi_alloc_zero(feed->field_count + 1, sizeof *feed->values, err);
    return feed->values ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status remember_place(struct feed *feed, const char *place, mldf_error *err) {
    if (!feed->ring_place) {
        feed->ring_place = mldfi_alloc_zero(FEED_RING, sizeof *feed->ring_place, err);
        if (!feed->ring_place)
            return MLDF_E_MEMORY;
    }
    char **slot = &feed->ring_place[feed->submitted % FEED_RING];
    free(*slot);
    *slot = mldfi_copy_text(place, strlen(place), err);
    return *slot ? MLDF_OK : MLDF_E_MEMORY;
}

mldf_status mldfi_feed_submit_as_is(struct feed *feed, const char *place, const char *key, size_t key_bytes,
                                    mldf_error *err) {
    TRY(remember_place(feed, place, err));
    feed->submitted++;
    mldf_status status = mldf_writer_append(feed->writer, feed->values, feed->field_count, key, key_bytes, err);
    if (status < 0)
        mldfi_feed_place(feed, err);
    return status;
}

mldf_status mldfi_feed_submit(struct feed *feed, const char *place, const char *key, size_t key_bytes,
                              mldf_error *err) {
    mldf_status status = mldfi_icc_take(&feed->icc, feed->values, err);
    return status < 0 ? status : mldfi_feed_submit_as_is(feed, place, key, key_bytes, err);
}

mldf_status mldfi_feed_refuse(struct feed *feed, const char *place, const mldf_error *why, mldf_error *err) {
    mldf_skip skip = {place, MLDF_ERROR_TEXT(why)};
    bool ends = why->status == MLDF_E_MEMORY || why->status == MLDF_E_CANCELLED;
    if (feed->options->skip_bad_rows && !ends) {
        feed->skipped++;
        if (feed->options->skip)
            feed->options->skip(feed->options->skip_user, &skip);
        return MLDF_OK;
    }
    if (err) {
        *err = *why;
        if (!ends)
            mldfi_error_outer(err, place);
    }
    return why->status;
}

void mldfi_feed_warn(const struct feed *feed, const char *place, const char *message) {
    mldf_skip warning = {place, message};
    if (feed->options->warn)
        feed->options->warn(feed->options->warn_user, &warning);
}

mldf_status mldfi_feed_step(struct feed *feed, uint64_t next, mldf_error *err) {
    feed->row_end = next;
    feed->watch.now.samples_done = next;
    mldf_status status = mldfi_watch(&feed->watch, false, err);
    if (status == MLDF_OK && feed->interrupted)
        status = mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
    if (status == MLDF_OK && feed->options->resume)
        status = mldfi_feed_checkpoint(feed, 0, false, err);
    if (status == MLDF_E_CANCELLED && feed->options->resume)
        (void)mldfi_feed_checkpoint(feed, 0, true, NULL);
    return status;
}

/* A source failed here while samples before it are still on the writer's threads: the first bad one is the one to name. */
mldf_status mldfi_feed_first_error(struct feed *feed, mldf_status status, mldf_error *err) {
    mldf_error earlier;
    if (status == MLDF_E_MEMORY || status == MLDF_E_CANCELLED)
        return status;
    mldf_status found = mldfi_writer_settle(feed->writer, &earlier);
    if (found >= 0)
        return status;
    mldfi_feed_place(feed, &earlier);
    if (err)
        *err = earlier;
    return found;
}

mldf_status mldfi_feed_end(struct feed *feed, mldf_status status, mldf_pack_result *result, mldf_error *err) {
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
    if (!feed->writer)
        return status;
    if (status < 0) {
        status = mldfi_feed_first_error(feed, status, err);
        mldf_writer_abort(feed->writer);
        return status;
    }
    feed->finishing = true;
    if ((status = mldfi_icc_finish(&feed->icc, feed->writer, err)) < 0) {
        mldf_writer_abort(feed->writer);
        return status;
    }
    status = mldf_writer_finish(feed->writer, &written, err);
    if (status < 0)
        mldfi_feed_place(feed, err);
    result->written = written.samples;
    result->skipped = feed->skipped;
    result->bytes = written.file_bytes;
    return status;
}

/* The options that say how values made from files are stored, by what files they are. */
static const struct {
    const struct field_files *files;
    size_t at; /* in mldf_pack_options */
} file_options[] = {{&mldfi_image_files, offsetof(mldf_pack_options, image_arguments)},
                    {&mldfi_audio_files, offsetof(mldf_pack_options, audio_arguments)}};
enum { FILE_OPTIONS = sizeof file_options / sizeof file_options[0] };

static const char *file_option(const mldf_pack_options *options, size_t i) {
    return *(const char *const *)(const void *)((const char *)options + file_options[i].at);
}

mldf_status mldfi_check_file_options(const mldf_pack_options *options, const struct field_files *files,
                                     mldf_error *err) {
    for (size_t i = 0; i < FILE_OPTIONS; i++)
        if (file_option(options, i) && file_options[i].files != files)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "there is no %s field that the %s options could be for",
                              file_options[i].files->field, file_options[i].files->field);
    return MLDF_OK;
}

mldf_status mldfi_add_file_field(mldf_schema *schema, const char *name, const struct field_type *type,
                                 const mldf_pack_options *options, uint16_t flags, mldf_error *err) {
    const char *arguments = NULL;
    for (size_t i = 0; i < FILE_OPTIONS; i++)
        if (file_options[i].files == type->files)
            arguments = file_option(options, i);
    const char *given = arguments;
    mldf_status status = given && type->files->choose ? type->files->choose(&type, &arguments, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldf_schema_add(schema, name, type->type.id, arguments, flags, err);
    if (!given || (status != MLDF_E_SCHEMA && status != MLDF_E_SYNTAX))
        return status;
    if (err)
        err->status = MLDF_E_ARGUMENT; /* the caller's options, not a file */
    return MLDF_E_ARGUMENT;
}
