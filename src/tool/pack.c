/* mldf_pack: tables, folders or archives into one new file. The steps are in mldf_pack at the end of the file; feed.c does the rows,
 * folder_pack.c the folders, pack_tar.c the archives. */
#include "tool/pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "field/field.h"
#include "os/file.h"
#include "tool/corpus.h"
#include "tool/derive.h"
#include "tool/pack_source.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"
#include "util/options.h"

static mldf_status compress_one(mldf_schema *schema, const char *text, mldf_error *err) {
    char name[MLDF_NAME_MAX + 1];
    size_t field;
    int64_t level = 3;
    /* A name may hold '=' itself, so the whole text is tried first. */
    if (mldf_schema_find(schema, text, &field, NULL) != MLDF_OK) {
        const char *equals = strrchr(text, '=');
        size_t bytes = equals ? (size_t)(equals - text) : strlen(text);
        if (bytes > MLDF_NAME_MAX)
            return mldfi_fail(err, MLDF_E_NO_FIELD, "no field is named '%.80s'", text);
        memcpy(name, text, bytes);
        name[bytes] = 0;
        if (equals && (!mldfi_parse_i64(equals + 1, strlen(equals + 1), &level) || level < 1 || level > 22))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "'%.80s': a compression level is a number from 1 to 22", text);
        mldf_status status = mldf_schema_find(schema, name, &field, err);
        if (status < 0)
            return status;
    }
    mldf_status status = mldf_schema_compress(schema, field, (int)level, err);
    if (status != MLDF_E_SCHEMA)
        return status;
    return mldfi_fail(err, MLDF_E_ARGUMENT, "field \"%s\": type %s has no payload to compress",
                      mldf_schema_field(schema, field)->name, mldf_schema_field(schema, field)->type_name);
}

/* What is compressed already gains nothing by zstd, and takes time. */
static void warn_of_compressed(const mldf_context *context, const mldf_schema *schema) {
    for (size_t i = 0; context && i < schema->field_count; i++) {
        const struct schema_field *f = &schema->fields[i];
        bool asks = (f->info.flags & MLDF_FIELD_COMPRESSED) && f->type && f->type->compressed_already;
        const char *what = asks ? f->type->compressed_already(f) : NULL;
        if (what)
            mldfi_warn(context,
                       "field %s: zstd does not make %s smaller; --compress is for raw pixels, arrays and text",
                       f->info.name, what);
    }
}

mldf_status mldfi_apply_compress(const mldf_context *context, mldf_schema *schema, const char *const *fields,
                                 size_t count, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = compress_one(schema, fields[i], err);
    if (status == MLDF_OK && count)
        warn_of_compressed(context, schema);
    return status;
}

/* Known only when every source is a regular file. */
static uint64_t total_bytes(const char *const *sources, size_t count) {
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat st;
        if (strcmp(sources[i], "-") == 0 || stat(sources[i], &st) != 0 || !S_ISREG(st.st_mode))
            return MLDF_NONE;
        total += (uint64_t)st.st_size;
    }
    return total;
}

/* A name that is taken is better said before thousands of rows are looked at. */
static mldf_status check_target(const char *out, bool overwrite, mldf_error *err) {
    bool exists;
    mldf_status status = mldfi_check_mldf_name(out, err);
    if (status < 0 || overwrite || strcmp(out, "-") == 0)
        return status;
    status = mldfi_file_exists(out, &exists, err);
    if (status == MLDF_OK && exists)
        status = mldfi_fail_exists(err, out);
    return status;
}

static mldf_status pack_rows(struct feed *feed, const char *out, mldf_schema **schema, mldf_pack_result *result,
                             mldf_error *err) {
    const mldf_pack_options *options = feed->options;
    mldf_status status =
        options->schema ? mldfi_schema_copy(options->schema, schema, err) : mldfi_feed_infer(feed, schema, err);
    if (status == MLDF_OK)
        status = mldfi_feed_icc(feed, *schema, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(options->writer->context, *schema, options->compress_fields,
                                      options->compress_count, err);
    if (status == MLDF_OK)
        status = mldfi_feed_use_schema(feed, *schema, err);
    if (status == MLDF_OK)
        status = mldfi_feed_open_writer(feed, out, *schema, options->writer, err);
    if (status == MLDF_OK)
        status = mldfi_feed_resume(feed, err);
    for (size_t i = feed->start.source; status == MLDF_OK && i < feed->source_count; i++)
        status = mldfi_feed_source(feed, i, err);
    return mldfi_feed_end(feed, status, result, err);
}

/* Options that mean nothing for a kind of source are refused rather than ignored. */
static mldf_status check_options(const struct source_list *list, const mldf_pack_options *options, const char *out,
                                 corpus_kind corpus, mldf_error *err) {
    bool rows = list->kind == SOURCE_ROWS, folders = list->kind == SOURCE_FOLDERS;
    const char *name = list->paths[0];
    if (options->cut && !corpus)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name,
                               "only the utterances of a corpus can be cut out of recordings");
    if ((options->audio_rate || options->audio_mono) && !folders && !corpus)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name,
                               "another rate, or one channel, is for folders of recordings and corpora");
    if (folders && options->schema)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name,
                               "the fields of a folder follow from its files and class folders: no schema");
    if (!rows && options->key_column)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "a key column is for tables; here names are the keys");
    if (!rows && !corpus && (options->file_column_count || options->file_root || options->allow_outside))
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "columns that name files are for tables");
    if (!rows && options->delimiter)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "a delimiter is for CSV tables");
    if (options->delimiter && ((unsigned char)options->delimiter >= 0x80 || strchr("\"\r\n", options->delimiter)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a delimiter is one ASCII character, not a quote or a line end");
    if (!folders && options->layout != MLDF_LAYOUT_AUTO)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "a layout is for folders");
    if (options->fps_num && options->layout != MLDF_LAYOUT_FRAMES)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "frames a second are for folders of frames: layout frames");
    if (options->fps_num && !options->fps_den)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%" PRIu32 " / 0 frames a second", options->fps_num);
    if (options->image_arguments && options->schema)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "with a schema, its image fields say how images are stored");
    if (options->image_arguments && rows && !options->file_column_count)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name,
                               "there is no image field that the image options could be for");
    if (!options->text_field != !options->tokenize)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "text and a tokenizer are given together");
    if (options->format == MLDF_SOURCE_TEXT && !options->text_field)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, name, "files of text are packed with a tokenizer");
    if (options->resume && (strcmp(out, "-") == 0 || (!folders && total_bytes(list->paths, list->count) == MLDF_NONE)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a run can be resumed only from regular files to a regular file");
    return MLDF_OK;
}

static mldf_status pack_sources(const struct source_list *list, const char *out, const mldf_pack_options *options,
                                corpus_kind corpus, mldf_pack_result *result, mldf_error *err) {
    mldf_schema *schema = NULL;
    struct feed feed;
    mldf_status status = mldfi_feed_begin(&feed, list->paths, list->count, options, err);
    if (status == MLDF_OK)
        status = mldfi_feed_guard(&feed, out, err);
    if (status == MLDF_OK) {
        feed.watch.now.bytes_total = total_bytes(list->paths, list->count);
        if (corpus)
            status = mldfi_pack_corpus(&feed, corpus, out, result, err);
        else if (list->kind == SOURCE_FOLDERS)
            status = mldfi_pack_folders(&feed, out, result, err);
        else if (list->kind == SOURCE_ARCHIVES)
            status = mldfi_pack_tars(&feed, out, result, err);
        else
            status = pack_rows(&feed, out, &schema, result, err);
    }
    mldfi_feed_free(&feed);
    mldf_schema_free(schema);
    return status;
}

/* All sources are one kind of corpus, or none is one. */
static mldf_status find_corpus(const struct source_list *list, const mldf_pack_options *options, corpus_kind *out,
                               mldf_error *err) {
    for (size_t i = 0; i < list->count; i++) {
        corpus_kind kind = mldfi_corpus_recognise(list->paths[i], options);
        if (i && kind != *out)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "%s and %s are not corpora of one kind", list->paths[0],
                              list->paths[i]);
        *out = kind;
    }
    return MLDF_OK;
}

mldf_status mldf_pack(const char *const *sources, size_t source_count, const char *out, const mldf_pack_options *given,
                      mldf_pack_result *result, mldf_error *err) {
    mldf_pack_options own = MLDF_PACK_OPTIONS_INIT;
    const mldf_pack_options *options = &own;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    struct source_list list;
    if (!sources || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "pack needs sources and a target");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_pack_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    status = mldfi_sources_begin(&list, sources, source_count, options->text_field != NULL, options->format, err);
    if (status == MLDF_OK)
        status = mldfi_sources_are_not_target(list.paths, list.count, out, err);
    corpus_kind corpus = CORPUS_NONE;
    if (status == MLDF_OK)
        status = find_corpus(&list, options, &corpus, err);
    if (status == MLDF_OK)
        status = check_options(&list, options, out, corpus, err);
    if (status == MLDF_OK)
        status = check_target(out, options->writer->overwrite, err);
    if (status == MLDF_OK)
        status = pack_sources(&list, out, options, corpus, &done, err);
    if (status == MLDF_OK && done.written == 0 && options->warn)
        options->warn(options->warn_user, &(mldf_skip){out, done.skipped ? "has no samples: all were skipped"
                                                                         : "has no samples: the sources hold none"});
    mldfi_sources_free(&list);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
