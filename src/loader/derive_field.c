/* A field made from another one by a pipeline: the second half of hybrid audio, a mel spectrogram beside the wave that it is computed from. The samples go
 * through a loader of batches of one, in the file's order, and what comes out goes into the file as mldf_add_field puts a column there. The field's
 * arguments keep the pipeline's canonical text, so that it can be computed again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "mldf/tool.h"
#include "pipeline/lex.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/options.h"
#include "writer/field_writer.h"

struct derivation {
    const char *path, *name, *from, *steps;
    const mldf_add_field_options *options;
    mldf_reader *reader;
    mldf_loader *loader;
    mldf_schema *schema; /* of the new field */
    mldf_buffer text;
};

/* "FROM: STEPS" in its canonical form; *at: where the steps begin. */
static mldf_status canonical(struct derivation *d, mldf_buffer *out, size_t *at, mldf_error *err) {
    mldf_pipeline *parsed = NULL;
    mldf_status status = mldfi_buffer_printf(&d->text, err, "x: %s", d->steps);
    if (status >= 0)
        status = mldf_pipeline_parse(d->options->context, (const char *)d->text.data, d->text.size, &parsed, err);
    if (status >= 0)
        status = mldf_pipeline_write(parsed, out, err);
    while (status >= 0 && out->size && out->data[out->size - 1] == '\n')
        out->size--;
    *at = 3;
    if (status >= 0 && (out->size <= 3 || memcmp(out->data, "x: ", 3) != 0 || memchr(out->data, '\n', out->size)))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "steps joined by | are needed, not statements: %.100s", d->steps);
    mldf_pipeline_free(parsed);
    d->text.size = 0;
    return status;
}

/* "BEGINNING FIELD: STEPS"; the field's name may hold anything. */
static mldf_status statement(struct derivation *d, const char *beginning, const char *field, const char *steps,
                             mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(&d->text, beginning, err);
    if (status >= 0)
        status = mldfi_pipeline_write_name(field, &d->text, err);
    return status < 0 ? status : mldfi_buffer_printf(&d->text, err, ": %s", steps);
}

static mldf_status open_loader(struct derivation *d, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    const mldf_reader *readers[1];
    size_t field;
    reading.context = d->options->context;
    reading.secret = d->options->secret;
    mldf_status status = mldf_reader_open(d->path, &reading, &d->reader, err);
    if (status >= 0)
        status = mldf_schema_find(mldf_reader_schema(d->reader), d->from, &field, err);
    /* Every other field is left out: its statement drops it. */
    for (size_t i = 0; status >= 0 && i < mldf_schema_field_count(mldf_reader_schema(d->reader)); i++) {
        const mldf_field *info = mldf_schema_field(mldf_reader_schema(d->reader), i);
        bool fixed = info->ndim == 0 || info->dims[0] >= 0;
        if (i != field && fixed && info->dtype != MLDF_DTYPE_NONE)
            status = statement(d, "", info->name, "drop\n", err);
    }
    if (status >= 0)
        status = statement(d, "derived = ", d->from, d->steps, err);
    if (status >= 0)
        status = mldfi_buffer_append_text(&d->text, "\n| pad", err);
    if (status >= 0)
        status = mldf_buffer_append(&d->text, "", 1, err);
    if (status < 0)
        return status;
    o.context = d->options->context;
    o.pipeline = (const char *)d->text.data;
    o.batch_size = 1;
    o.threads = d->options->threads;
    o.in_flight = 16;
    readers[0] = d->reader;
    return mldf_loader_new(readers, 1, &o, &d->loader, err);
}

static const struct plan_output *output_of(const struct derivation *d, size_t *array) {
    for (size_t i = 0; i < d->loader->pool->array_count; i++)
        if (strcmp(d->loader->pool->arrays[i].name, "derived") == 0) {
            *array = i;
            return d->loader->pool->arrays[i].of;
        }
    return NULL;
}

/* A spectrogram, or an array as it comes. */
static mldf_status make_schema(struct derivation *d, const struct plan_output *output, mldf_error *err) {
    const struct edge *e = &output->edge;
    mldf_buffer text = MLDF_BUFFER_INIT, arguments = MLDF_BUFFER_INIT;
    bool tf = strcmp(e->axes, "tf") == 0,
         grid = (tf || strcmp(e->axes, "ft") == 0) && (e->dtype == MLDF_F32 || e->dtype == MLDF_F16);
    size_t at = 0;
    mldf_status status = canonical(d, &text, &at, err);
    if (status >= 0 && grid) {
        status = mldfi_buffer_printf(&arguments, err, "{\"bins\":%" PRId64 ",\"dtype\":\"%s\",\"layout\":\"%s\"",
                                     e->dims[tf ? 1 : 0], e->dtype == MLDF_F16 ? "<f2" : "<f4", e->axes);
        if (status >= 0 && e->rate.den && e->rate.num <= UINT32_MAX && e->rate.den <= UINT32_MAX)
            status = mldfi_buffer_printf(&arguments, err, ",\"hop\":%" PRIu64 ",\"rate\":%" PRIu64, e->rate.den,
                                         e->rate.num);
        if (status >= 0)
            status = mldfi_buffer_append_text(&arguments, ",\"pipeline\":", err);
        if (status >= 0)
            status = mldfi_json_append_string(&arguments, (const char *)text.data + at, text.size - at, err);
        if (status >= 0)
            status = mldfi_buffer_append_text(&arguments, "}", err);
    } else if (status >= 0) {
        status = mldfi_buffer_printf(&arguments, err, "{\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(e->dtype));
        for (uint32_t i = 0; i < e->ndim && status >= 0; i++) {
            bool length = mldfi_length_at(output, i) < PLAN_LENGTHS || e->dims[i] < 0;
            status = length ? mldfi_buffer_printf(&arguments, err, "%snull", i ? "," : "")
                            : mldfi_buffer_printf(&arguments, err, "%s%" PRId64, i ? "," : "", e->dims[i]);
        }
        if (status >= 0)
            status = mldfi_buffer_append_text(&arguments, "]}", err);
    }
    if (status >= 0)
        status = mldf_buffer_append(&arguments, "", 1, err);
    if (status >= 0)
        status = mldf_schema_new(d->options->context, &d->schema, err);
    if (status >= 0)
        status = mldf_schema_add(d->schema, d->name, grid ? MLDF_AUDIO_SPECTROGRAM : MLDF_NDARRAY,
                                 (const char *)arguments.data, 0, err);
    if (status >= 0 && d->options->compress_level)
        status = mldf_schema_compress(d->schema, 0, d->options->compress_level, err);
    mldf_buffer_free(&text);
    mldf_buffer_free(&arguments);
    return status;
}

/* One value for each sample. */
static mldf_status feed_all(struct derivation *d, mldf_writer *writer, size_t array, mldf_error *err) {
    mldf_status status;
    mldf_batch *batch;
    while ((status = mldf_loader_next(d->loader, -1, &batch, err)) == MLDF_OK) {
        mldf_array found;
        mldf_value value = {.kind = MLDF_KIND_ARRAY};
        status = mldf_batch_array(batch, array, &found);
        value.dtype = found.dtype;
        value.ndim = found.ndim - 1;
        memcpy(value.dims, found.dims + 1, value.ndim * sizeof *value.dims);
        value.data = found.data;
        value.bytes = found.bytes;
        if (status >= 0)
            status = mldf_writer_append(writer, &value, 1, NULL, 0, err);
        mldf_batch_release(batch);
        if (status < 0)
            break;
    }
    return status == MLDF_END ? MLDF_OK : status;
}

static mldf_status derive(struct derivation *d, mldf_pack_result *result, mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
    mldf_writer *writer;
    size_t array = 0;
    TRY(open_loader(d, err));
    d->text.size = 0;
    TRY(make_schema(d, output_of(d, &array), err));
    writing.context = d->options->context;
    writing.threads = d->options->threads;
    writing.secret = d->options->secret;
    writing.progress = d->options->progress;
    writing.progress_user = d->options->progress_user;
    TRY(mldfi_writer_open_add_field(d->path, d->schema, &writing, &writer, err));
    mldf_status status = feed_all(d, writer, array, err);
    if (status < 0) {
        mldf_writer_abort(writer);
        return status;
    }
    status = mldf_writer_finish(writer, &written, err);
    result->written = written.samples;
    result->bytes = written.file_bytes;
    return status;
}

mldf_status mldf_derive_field(const char *path, const char *name, const char *from, const char *steps,
                              const mldf_add_field_options *given, mldf_pack_result *result, mldf_error *err) {
    mldf_add_field_options own = MLDF_ADD_FIELD_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    if (!path || !name || !from || !steps)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a derived field needs a file, a name, a field and steps");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_add_field_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_pack_result", result, err);
    if (status < 0)
        return status;
    struct derivation d = {.path = path, .name = name, .from = from, .steps = steps, .options = &own};
    status = derive(&d, &done, err);
    mldf_loader_free(d.loader);
    mldf_reader_close(d.reader);
    mldf_schema_free(d.schema);
    mldf_buffer_free(&d.text);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
