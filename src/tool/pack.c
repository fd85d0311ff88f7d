/* mldf_pack: text tables into one new file. The steps are in mldf_pack at the end of the file; feed.c does the rows. */
#include "tool/pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "field/field.h"
#include "os/file.h"
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
    return mldf_schema_compress(schema, field, (int)level, err);
}

mldf_status mldfi_apply_compress(mldf_schema *schema, const char *const *fields, size_t count, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = compress_one(schema, fields[i], err);
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

static mldf_status check_sources(const char *const *sources, size_t count, mldf_error *err) {
    size_t inputs = 0;
    if (count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no source was given");
    for (size_t i = 0; i < count; i++)
        inputs += strcmp(sources[i], "-") == 0;
    if (inputs > 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "standard input was named %zu times", inputs);
    return MLDF_OK;
}

static mldf_status open_writer(struct feed *feed, const char *out, const mldf_schema *schema, mldf_error *err) {
    mldf_writer_options writer = feed->options->writer;
    mldfi_feed_hooks(feed, &writer);
    writer.resume = feed->options->resume;
    if (strcmp(out, "-") == 0)
        return mldf_writer_open_stream(STDOUT_FILENO, schema, &writer, &feed->writer, err);
    return mldf_writer_open(out, schema, &writer, &feed->writer, err);
}

/* A name that is taken is better said before thousands of rows are looked at. */
static mldf_status check_target(const char *out, bool overwrite, mldf_error *err) {
    bool exists;
    if (overwrite || strcmp(out, "-") == 0)
        return MLDF_OK;
    mldf_status status = mldfi_file_exists(out, &exists, err);
    if (status == MLDF_OK && exists)
        status = mldfi_fail(err, MLDF_E_EXISTS, "%s: exists already", out);
    return status;
}

static mldf_status pack_all(struct feed *feed, const char *out, mldf_schema **schema, mldf_pack_result *result,
                            mldf_error *err) {
    const mldf_pack_options *options = feed->options;
    mldf_status status =
        options->schema ? mldfi_schema_copy(options->schema, schema, err) : mldfi_feed_infer(feed, schema, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(*schema, options->compress_fields, options->compress_count, err);
    if (status == MLDF_OK)
        status = mldfi_feed_use_schema(feed, *schema, err);
    if (status == MLDF_OK)
        status = open_writer(feed, out, *schema, err);
    if (status == MLDF_OK)
        status = mldfi_feed_resume(feed, err);
    for (size_t i = feed->start.source; status == MLDF_OK && i < feed->source_count; i++)
        status = mldfi_feed_source(feed, i, err);
    if (!feed->writer)
        return status;
    if (status < 0) {
        mldf_writer_abort(feed->writer);
        return status;
    }
    mldf_write_result written = {0, 0, 0};
    feed->finishing = true;
    status = mldf_writer_finish(feed->writer, &written, err);
    if (status < 0)
        mldfi_feed_place(feed, err);
    result->written = written.samples;
    result->skipped = feed->skipped;
    result->bytes = written.file_bytes;
    return status;
}

mldf_status mldf_pack(const char *const *sources, size_t source_count, const char *out, const mldf_pack_options *given,
                      mldf_pack_result *result, mldf_error *err) {
    mldf_pack_options own = MLDF_PACK_OPTIONS_INIT;
    const mldf_pack_options *options = &own;
    mldf_pack_result ignored;
    mldf_schema *schema = NULL;
    struct feed feed;
    if (!result)
        result = &ignored;
    memset(result, 0, sizeof *result);
    if (!sources || !out || !mldfi_take_options(&own, sizeof own, given))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "pack needs sources, a target, and options from MLDF_PACK_OPTIONS_INIT");
    mldf_status status = check_sources(sources, source_count, err);
    if (status == MLDF_OK && options->resume &&
        (strcmp(out, "-") == 0 || total_bytes(sources, source_count) == MLDF_NONE))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "a run can be resumed only from regular files to a regular file");
    if (status == MLDF_OK)
        status = check_target(out, options->writer.overwrite, err);
    if (status < 0)
        return status;
    status = mldfi_feed_begin(&feed, sources, source_count, options, err);
    if (status == MLDF_OK) {
        feed.watch.now.bytes_total = total_bytes(sources, source_count);
        status = pack_all(&feed, out, &schema, result, err);
    }
    mldfi_feed_free(&feed);
    mldf_schema_free(schema);
    return status;
}
