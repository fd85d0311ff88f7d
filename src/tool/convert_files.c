/* mldf_convert: samples of files of any format into one new file of any format. sources.c makes one row of samples of the sources, a sink
 * (src/interop/sink.h) takes them. convert.c beside this file is about cells of text and has nothing to do with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "field/field.h"
#include "interop/sink.h"
#include "mldf/tool.h"
#include "os/target.h"
#include "tool/copy.h"
#include "tool/input.h"
#include "tool/pack.h"
#include "tool/sources.h"
#include "util/buffer.h"
#include "util/error.h"

struct convert {
    const mldf_convert_options *options;
    struct sources sources;
    size_t *chosen;      /* fields of the common schema, in order */
    mldf_schema *schema; /* of those */
    size_t count;
    size_t *from; /* field of the present source for each */
    mldf_value *values;
    mldf_buffer *scratch;
    mldf_buffer key;
    struct sample_sink *sink;
    uint64_t skipped;
    struct input_watch watch;
};

/* ---- What is wanted ------------------------------------------------------------------------------------------------------ */

static mldf_status choose_format(const char *out, const char *asked, const char **format, mldf_error *err) {
    static const char *const endings[][2] = {{".mldf", "mldf"},       {".tbl", "tbl2"},      {".beton", "beton"},
                                             {".tar", "tar"},         {".tar.gz", "tar.gz"}, {".tgz", "tar.gz"},
                                             {".tar.zst", "tar.zst"}, {".tzst", "tar.zst"}};
    size_t bytes = strlen(out);
    if (asked) {
        *format = strcmp(asked, "tbl") == 0 ? "tbl2" : asked;
        return MLDF_OK;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i][0]);
        if (bytes > ending && strcasecmp(out + bytes - ending, endings[i][0]) == 0) {
            *format = endings[i][1];
            return MLDF_OK;
        }
    }
    return mldfi_fail(
        err, MLDF_E_ARGUMENT,
        "%s: the name does not say which format to write (.mldf, .tbl, .beton, .tar, .tar.gz or .tar.zst); --to does",
        out);
}

static mldf_status choose_fields(struct convert *c, mldf_error *err) {
    const mldf_convert_options *o = c->options;
    mldf_status status = MLDF_OK;
    c->count = o->fields ? o->field_count : c->sources.schema->field_count;
    c->chosen = mldfi_alloc_zero(c->count + 1, sizeof *c->chosen, err);
    if (!c->chosen)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < c->count && status >= 0; i++) {
        c->chosen[i] = i;
        if (o->fields)
            status = mldf_schema_find(c->sources.schema, o->fields[i], &c->chosen[i], err);
    }
    if (status >= 0 && c->count == 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "no field was chosen");
    return status;
}

/* The chosen fields as they are in the common schema, in the chosen order. */
static mldf_status make_schema(struct convert *c, mldf_error *err) {
    mldf_status status = mldf_schema_new(c->options->writer.context, &c->schema, err);
    for (size_t i = 0; i < c->count && status >= 0; i++)
        status = mldfi_schema_take(c->sources.schema, c->chosen[i], c->schema, err);
    return status < 0 ? status
                      : mldfi_apply_compress(c->schema, c->options->compress_fields, c->options->compress_count, err);
}

static mldf_status make_room(struct convert *c, mldf_error *err) {
    c->from = mldfi_alloc_zero(c->count + 1, sizeof *c->from, err);
    c->values = mldfi_alloc_zero(c->count + 1, sizeof *c->values, err);
    c->scratch = mldfi_alloc_zero(c->count + 1, sizeof *c->scratch, err);
    return c->from && c->values && c->scratch ? MLDF_OK : MLDF_E_MEMORY;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------------- */

static mldf_status get_value(struct convert *c, const mldf_reader *reader, uint64_t sample, size_t i, mldf_error *err) {
    mldf_value *value = &c->values[i];
    if (c->from[i] == SIZE_MAX) {
        memset(value, 0, sizeof *value);
        return MLDF_OK;
    }
    /* A type that is not known here can only be copied; a sink that leaves it out does not look. */
    if (!c->sink->stored && mldf_schema_field(c->schema, i)->known)
        return mldf_reader_get(reader, sample, c->from[i], &c->scratch[i], value, err);
    mldf_status status = mldf_reader_get_stored(reader, sample, c->from[i], &c->scratch[i], value, err);
    /* JSON of no bytes is how a 1.0 file says that there is no value. */
    if (status == MLDF_OK && value->bytes == 0 && mldf_schema_field(c->schema, i)->type_id == MLDF_JSON)
        value->kind = MLDF_KIND_NULL;
    return status;
}

/* A sample that the sink left out. */
static void skip(struct convert *c, const char *path, uint64_t sample, const char *key, size_t key_bytes) {
    char source[600];
    mldf_skip skipped = {source, "nothing in it has a place in this format"};
    c->skipped++;
    if (key)
        snprintf(source, sizeof source, "%.300s: %.*s", path, (int)(key_bytes < 200 ? key_bytes : 200), key);
    else
        snprintf(source, sizeof source, "%.300s: sample %" PRIu64, path, sample);
    if (c->options->skip)
        c->options->skip(c->options->skip_user, &skipped);
}

static mldf_status take_sample(struct convert *c, const mldf_reader *reader, const char *path, uint64_t sample,
                               mldf_error *err) {
    const char *key = NULL;
    size_t key_bytes = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < c->count; i++) {
        status = get_value(c, reader, sample, i, err);
        if (status == MLDF_OK)
            c->watch.now.bytes_done += c->values[i].bytes;
    }
    if (status == MLDF_OK && c->sources.keys)
        status = mldf_reader_key(reader, sample, &c->key, &key, &key_bytes, err);
    if (status < 0)
        return status;
    status = c->sink->ops->append(c->sink, c->values, key, key_bytes, err);
    if (status == MLDF_END)
        skip(c, path, sample, key, key_bytes);
    if (status < 0 && err && err->sample == MLDF_NONE) {
        char field[MLDF_NAME_MAX + 1];
        memcpy(field, err->field, sizeof field);
        mldfi_error_prefix(err, "sample %" PRIu64 "%s%s", sample, field[0] ? ", field " : "", field);
        mldfi_error_place(err, sample, NULL);
    }
    return status;
}

static mldf_status take_source(struct convert *c, size_t index, mldf_error *err) {
    mldf_reader *reader;
    mldf_status status = mldfi_sources_reader(&c->sources, index, &reader, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < c->count; i++)
        c->from[i] = mldfi_sources_field(&c->sources, reader, c->chosen[i]);
    uint64_t samples = mldf_reader_sample_count(reader);
    for (uint64_t i = 0; i < samples && status >= 0; i++) {
        status = take_sample(c, reader, c->sources.list[index].path, i, err);
        c->watch.now.samples_done++;
        if (status >= 0 && i % 16 == 0)
            status = mldfi_watch(&c->watch, false, err);
    }
    if (status < 0 && c->sources.count > 1 && err && !strstr(err->message, c->sources.list[index].path))
        mldfi_error_prefix(err, "%s", c->sources.list[index].path);
    mldfi_sources_done(&c->sources, index);
    return status;
}

static mldf_status open_sink(struct convert *c, const char *format, const char *out, mldf_error *err) {
    const mldf_convert_options *o = c->options;
    struct sink_options sink = {
        .format = format,
        .path = out,
        .schema = c->schema,
        .count = c->sources.samples,
        .writer = &o->writer,
        .card = c->sources.has_card ? (const char *)c->sources.card.data : NULL,
        .card_bytes = c->sources.card.size,
        .keys = c->sources.keys && c->sources.samples > 0,
        .drop_fields = o->drop_fields,
        .lz4 = o->lz4,
        .dataset_version = o->dataset_version,
        .created = o->created,
    };
    return mldfi_sink_open(&c->sink, &sink, err);
}

static mldf_status run(struct convert *c, mldf_pack_result *result, mldf_error *err) {
    struct sink_result written = {0, 0};
    mldf_status status = MLDF_OK;
    c->watch.now.bytes_done = 0;
    c->watch.now.samples_total = c->sources.samples;
    for (size_t i = 0; i < c->sources.count && status >= 0; i++)
        status = take_source(c, i, err);
    if (status >= 0)
        status = mldfi_watch(&c->watch, true, err);
    if (status < 0) {
        c->sink->ops->abort(c->sink);
        return status;
    }
    status = c->sink->ops->finish(c->sink, &written, err);
    result->written = written.samples;
    result->bytes = written.bytes;
    result->skipped = c->skipped;
    return status;
}

static void free_convert(struct convert *c) {
    for (size_t i = 0; c->scratch && i < c->count; i++)
        mldf_buffer_free(&c->scratch[i]);
    mldf_buffer_free(&c->key);
    free(c->chosen);
    free(c->from);
    free(c->values);
    free(c->scratch);
    mldf_schema_free(c->schema);
    mldfi_sources_close(&c->sources);
}

mldf_status mldf_convert(const char *const *sources, size_t source_count, const char *out,
                         const mldf_convert_options *options, mldf_pack_result *result, mldf_error *err) {
    static const mldf_convert_options defaults = MLDF_CONVERT_OPTIONS_INIT;
    struct convert c;
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_pack_result ignored;
    const char *format = NULL;
    memset(&c, 0, sizeof c);
    c.sources.spool = (struct os_file)OS_FILE_NONE;
    c.options = options ? options : &defaults;
    result = result ? result : &ignored;
    memset(result, 0, sizeof *result);
    reading.context = c.options->writer.context;
    reading.secret = c.options->source_secret;
    reading.verify = true;
    c.watch.progress = c.options->writer.progress;
    c.watch.user = c.options->writer.progress_user;
    c.watch.now = (mldf_progress){"convert", 0, MLDF_NONE, 0, MLDF_NONE};
    mldf_status status = choose_format(out, c.options->format, &format, err);
    if (status >= 0 && strcmp(out, "-") != 0)
        status = mldfi_target_check(out, c.options->writer.overwrite, err);
    if (status >= 0)
        status = mldfi_sources_open(&c.sources, sources, source_count, out, &reading, &c.watch, err);
    if (status >= 0)
        status = choose_fields(&c, err);
    if (status >= 0)
        status = make_schema(&c, err);
    if (status >= 0)
        status = make_room(&c, err);
    if (status >= 0)
        status = open_sink(&c, format, out, err);
    if (status >= 0)
        status = run(&c, result, err);
    free_convert(&c);
    return status;
}
