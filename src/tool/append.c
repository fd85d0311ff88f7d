/* mldf_append: rows of tables, images of folders, samples of tar archives and of dataset files, added to an existing file under its schema. What a
 * source is, it says itself; kinds may be mixed, and samples come in the order of the sources. Everything goes through the feed of
 * pack.h, which knows the place of each sample; feed.c does rows, folder_pack.c images, pack_tar.c archives, this file the rest. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "tool/copy_sample.h"
#include "tool/derive.h"
#include "tool/pack.h"
#include "tool/pack_source.h"
#include "util/error.h"
#include "util/options.h"
#include "writer/settle.h"

/* ---- Dataset files ------------------------------------------------------------------------------------------------------------ */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A dataset file in hand. */
struct file_copy {
    const mldf_reader *reader;
    const char *path;
    struct copy_fields fields;
    struct copy_sample sample;
};

static mldf_status copy_sample(struct feed *feed, struct file_copy *c, uint64_t number, mldf_error *err) {
    char place[512];
    mldf_error why;
    const struct copy_sample *s = &c->sample;
    snprintf(place, sizeof place, "%.400s: sample %" PRIu64, c->path, number);
    mldf_status status = mldfi_sample_load(&c->sample, &c->fields, c->reader, number, &why);
    feed->watch.now.bytes_done += s->bytes;
    if (status < 0)
        return mldfi_feed_refuse(feed, place, &why, err);
    memcpy(feed->values, s->values, feed->field_count * sizeof *feed->values);
    if (c->fields.keys || !feed->options->number_keys || !feed->keyed)
        return mldfi_feed_submit_as_is(feed, place, s->key, s->key_bytes, err);
    char key[512];
    int n = snprintf(key, sizeof key, "%.480s/%" PRIu64, base_name(c->path), number);
    return mldfi_feed_submit_as_is(feed, place, key, (size_t)n, err);
}

/* The file's samples have keys and the source's have none: nothing that was meant that way. */
static mldf_status check_keys(const struct feed *feed, const mldf_reader *reader, const char *path, mldf_error *err) {
    if (!feed->keyed || feed->options->number_keys || mldf_reader_has_keys(reader) ||
        mldf_reader_sample_count(reader) == 0)
        return MLDF_OK;
    return mldfi_fail(
        err, MLDF_E_KEY,
        "its samples have no keys, but those of the file have; with number-keys they get \"%.100s/0\" and so on",
        base_name(path));
}

static mldf_status copy_samples(struct feed *feed, const mldf_reader *reader, const char *path, mldf_error *err) {
    const mldf_schema *schema = mldf_writer_schema(feed->writer);
    struct file_copy c = {.reader = reader, .path = path};
    c.fields.stored = true;
    c.fields.keys = mldf_reader_has_keys(reader) && !feed->keyless; /* as for folders and archives */
    mldf_status status = check_keys(feed, reader, path, err);
    if (status == MLDF_OK)
        status = mldfi_feed_make_values(feed, schema, err);
    if (status == MLDF_OK)
        status = mldfi_fields_begin(&c.fields, schema, err);
    if (status == MLDF_OK)
        status = mldfi_fields_match_partial(&c.fields, mldf_reader_schema(reader), err);
    if (status == MLDF_OK)
        status = mldfi_sample_begin(&c.sample, c.fields.count, err);
    if (status < 0)
        mldfi_error_path(err, path);
    for (uint64_t i = 0; status == MLDF_OK && i < mldf_reader_sample_count(reader); i++) {
        status = copy_sample(feed, &c, i, err);
        feed->watch.now.samples_done++;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(&feed->watch, false, err);
    }
    mldfi_sample_end(&c.sample, c.fields.count);
    mldfi_fields_end(&c.fields);
    return status;
}

/* The profiles of a file's card belong to its samples. */
static mldf_status take_profiles(struct feed *feed, const mldf_reader *reader, const char *path, mldf_error *err) {
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_status status = mldf_reader_card(reader, &card, err);
    if (status == MLDF_OK)
        status = mldfi_icc_take_card(&feed->icc, (const char *)card.data, card.size, err);
    if (status < 0)
        mldfi_error_path(err, path);
    mldf_buffer_free(&card);
    return status < 0 ? status : MLDF_OK;
}

static mldf_status append_file(struct feed *feed, const char *path, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    options.context = feed->options->writer->context;
    options.secret = feed->options->writer->secret;
    options.verify = true;
    TRY(mldf_reader_open(path, &options, &reader, err));
    mldf_status status = take_profiles(feed, reader, path, err);
    if (status == MLDF_OK)
        status = copy_samples(feed, reader, path, err);
    mldf_reader_close(reader);
    return status;
}

/* ---- All of them -------------------------------------------------------------------------------------------------------------- */

static mldf_status append_rows(struct feed *feed, size_t source, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (feed->keyed && !feed->options->key_column) {
        const char *path = feed->sources[source];
        bool there = true;
        if (strcmp(path, "-") != 0)
            status = mldfi_file_exists(path, &there, err);
        if (status < 0 || !there)
            return status < 0 ? status : mldfi_fail_open(path, ENOENT, err);
        return mldfi_fail_file(err, MLDF_E_KEY, strcmp(path, "-") == 0 ? "(standard input)" : path,
                               "its rows have no keys, but the samples of the file have: a key column is needed");
    }
    if (!feed->converters)
        status = mldfi_feed_use_schema(feed, feed->texts ? feed->texts : mldf_writer_schema(feed->writer), err);
    return status == MLDF_OK ? mldfi_feed_source(feed, source, err) : status;
}

static mldf_status append_sources(struct feed *feed, mldf_error *err) {
    mldf_status status = MLDF_OK;
    mldf_source_format format = feed->options->format;
    bool profiles = false; /* the fields that name them are found */
    for (size_t i = 0, next; status == MLDF_OK && i < feed->source_count; i = next) {
        source_kind kind = mldfi_source_kind(feed->sources[i], format, true);
        for (next = i + 1; next < feed->source_count; next++)
            if (mldfi_source_kind(feed->sources[next], format, true) != kind)
                break;
        if (kind != SOURCE_ROWS && feed->options->tokenize)
            return mldfi_fail_file(err, MLDF_E_ARGUMENT, feed->sources[i],
                                   "text is appended from tables: pack this with the tokenizer, and append that file");
        if (kind != SOURCE_ROWS && feed->options->key_column)
            return mldfi_fail_file(err, MLDF_E_ARGUMENT, feed->sources[i],
                                   "a key column is for tables; here names are the keys");
        if (kind != SOURCE_FILES && !profiles) {
            status = mldfi_icc_find_fields(&feed->icc, mldf_writer_schema(feed->writer), err);
            profiles = true;
        }
        if (status < 0)
            return status;
        if (kind == SOURCE_FOLDERS)
            status = mldfi_append_folders(feed, i, next - i, err);
        else if (kind == SOURCE_ARCHIVES)
            status = mldfi_append_tars(feed, i, next - i, err);
        for (; status == MLDF_OK && i < next && (kind == SOURCE_ROWS || kind == SOURCE_FILES); i++)
            status = kind == SOURCE_ROWS ? append_rows(feed, i, err) : append_file(feed, feed->sources[i], err);
    }
    return status;
}

/* Text of the sources becomes tokens, made as those of the file. */
static mldf_status begin_tokens(struct feed *feed, mldf_error *err) {
    mldf_tokenize_options how = MLDF_TOKENIZE_OPTIONS_INIT;
    mldf_status status =
        mldfi_text_sources(&feed->text, mldf_writer_schema(feed->writer), feed->options->tokenize, &feed->texts, err);
    if (status >= 0)
        status = mldfi_take_options(&how, sizeof how, "mldf_tokenize_options", feed->options->tokenize, err);
    how.field = feed->text.name;
    return status < 0 ? status : mldf_writer_tokenize(feed->writer, &how, err);
}

static mldf_status append_all(struct feed *feed, const char *path, mldf_pack_result *result, mldf_error *err) {
    mldf_writer_options writer = *feed->options->writer;
    mldfi_feed_hooks(feed, &writer);
    mldf_status status = mldf_writer_open_append(path, &writer, &feed->writer, err);
    if (status < 0)
        return status;
    struct writer_origin origin = mldfi_writer_origin(feed->writer);
    feed->first_sample = origin.samples;
    feed->keyed = origin.has_keys;
    feed->keyless = origin.without_keys;
    if (feed->options->tokenize)
        status = begin_tokens(feed, err);
    if (status < 0)
        return mldfi_feed_end(feed, status, result, err);
    /* The converters look into the writer's schema, but are not used once it is gone. */
    return mldfi_feed_end(feed, append_sources(feed, err), result, err);
}

static mldf_status check_options(const mldf_pack_options *options, mldf_error *err) {
    if (options->schema || options->image_arguments || options->compress_count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "fields, and how they are stored, are those of the file");
    if (!options->text_field != !options->tokenize)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "text and a tokenizer are given together");
    if (options->resume)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "an append cannot be resumed: the file is as it was until it has finished");
    return MLDF_OK;
}

mldf_status mldf_append(const char *path, const char *const *sources, size_t source_count,
                        const mldf_pack_options *given, mldf_pack_result *result, mldf_error *err) {
    mldf_pack_options own = MLDF_PACK_OPTIONS_INIT;
    const mldf_pack_options *options = &own;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    struct source_list list;
    struct feed feed;
    if (!path || (source_count && !sources))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "append needs a path and sources");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_pack_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    TRY(check_options(options, err));
    status = mldfi_sources_expand(&list, sources, source_count, err);
    if (status == MLDF_OK) {
        status = mldfi_feed_begin(&feed, list.paths, list.count, options, err);
        feed.watch.now.phase = "append";
        if (status == MLDF_OK)
            status = append_all(&feed, path, &done, err);
        mldfi_feed_free(&feed);
    }
    mldfi_sources_free(&list);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
