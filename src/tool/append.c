/* mldf_append: rows of text sources, or samples of other MLDF files, added to an existing file. What a source is, its first bytes say.
 * See pack.h for the rows and copy.h for the files. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/copy.h"
#include "tool/pack.h"
#include "util/error.h"
#include "util/options.h"

static bool is_mldf(const char *path) {
    char magic[9];
    struct stat st;
    bool yes = false;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        yes = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "\x89MLDF\r\n\x1a\n", 9) == 0;
        close(fd);
    }
    return yes;
}

static mldf_status append_file(struct feed *feed, const char *path, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    options.context = feed->options->writer.context;
    options.secret = feed->options->writer.secret;
    options.verify = true;
    mldf_status status = mldf_reader_open(path, &options, &reader, err);
    if (status < 0)
        return status;
    mldf_buffer card = MLDF_BUFFER_INIT;
    status = mldf_reader_card(reader, &card, err);
    if (status == MLDF_OK) /* its profiles belong to its samples */
        status = mldfi_icc_take_card(&feed->icc, (const char *)card.data, card.size, err);
    mldf_buffer_free(&card);
    if (status >= 0)
        status = mldfi_copy_samples(reader, feed->writer, mldf_reader_has_keys(reader), &feed->watch, err);
    mldf_reader_close(reader);
    if (status < 0)
        mldfi_error_prefix(err, "%s", path);
    return status;
}

static mldf_status append_all(struct feed *feed, const char *path, mldf_pack_result *result, mldf_error *err) {
    mldf_writer_options writer = feed->options->writer;
    bool ready = false;
    mldfi_feed_hooks(feed, &writer);
    mldf_status status = mldf_writer_open_append(path, &writer, &feed->writer, err);
    if (status < 0)
        return status;
    uint64_t before = mldf_writer_sample_count(feed->writer);
    for (size_t i = 0; status == MLDF_OK && i < feed->source_count; i++) {
        if (is_mldf(feed->sources[i])) {
            status = append_file(feed, feed->sources[i], err);
            continue;
        }
        if (!ready)
            status = mldfi_feed_use_schema(feed, mldf_writer_schema(feed->writer), err);
        if (status == MLDF_OK && !ready)
            status = mldfi_icc_find_fields(&feed->icc, mldf_writer_schema(feed->writer), err);
        ready = true;
        if (status == MLDF_OK)
            status = mldfi_feed_source(feed, i, err);
    }
    if (status == MLDF_OK)
        status = mldfi_icc_finish(&feed->icc, feed->writer, err);
    result->written = mldf_writer_sample_count(feed->writer) - before;
    if (status < 0) {
        /* The converters look into the writer's schema, but are not used any more. */
        mldf_writer_abort(feed->writer);
        return status;
    }
    mldf_write_result written = {0, 0, 0};
    status = mldf_writer_finish(feed->writer, &written, err);
    result->written = written.samples; /* without the skipped ones */
    result->skipped = feed->skipped;
    result->bytes = written.file_bytes;
    return status;
}

mldf_status mldf_append(const char *path, const char *const *sources, size_t source_count,
                        const mldf_pack_options *given, mldf_pack_result *result, mldf_error *err) {
    mldf_pack_options own = MLDF_PACK_OPTIONS_INIT;
    const mldf_pack_options *options = &own;
    mldf_pack_result ignored;
    struct feed feed;
    if (!result)
        result = &ignored;
    memset(result, 0, sizeof *result);
    if (!path || !mldfi_take_options(&own, sizeof own, given) || (source_count && !sources))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "append needs a path, sources, and options from MLDF_PACK_OPTIONS_INIT");
    if (source_count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no source was given");
    if (options->format > MLDF_SOURCE_JSONL)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "tables and MLDF files can be appended; pack the rest first");
    mldf_status status = mldfi_feed_begin(&feed, sources, source_count, options, err);
    feed.watch.now.phase = "append";
    if (status == MLDF_OK)
        status = append_all(&feed, path, result, err);
    mldfi_feed_free(&feed);
    return status;
}
