/* Samples into an MLDF file: fields, keys and card as they are, nothing decoded. See sink.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interop/sink.h"
#include "util/buffer.h"
#include "writer/settle.h"

static mldf_status append(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err) {
    struct writer_sink *s = (struct writer_sink *)sink;
    (void)kit;
    return mldf_writer_append(s->writer, values, s->count, key, key_bytes, err);
}

static mldf_status settle(struct sample_sink *sink, mldf_error *err) {
    return mldfi_writer_settle(((struct writer_sink *)sink)->writer, err);
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct writer_sink *s = (struct writer_sink *)sink;
    mldf_write_result written = MLDF_WRITE_RESULT_INIT;
    mldf_status status = mldf_writer_finish(s->writer, &written, err);
    *result = (struct sink_result){written.samples, written.file_bytes};
    free(s);
    return status;
}

static void give_up(struct sample_sink *sink) {
    struct writer_sink *s = (struct writer_sink *)sink;
    mldf_writer_abort(s->writer);
    free(s);
}

static const struct sink_ops ops = {NULL, append, settle, finish, give_up};

void mldfi_sink_over(struct writer_sink *sink, mldf_writer *writer) {
    *sink = (struct writer_sink){{&ops, true}, writer, mldf_schema_field_count(mldf_writer_schema(writer))};
}

mldf_status mldfi_sink_open_mldf(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    mldf_writer_options writer = *options->writer;
    struct writer_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    if (!writer.card) {
        writer.card = options->card;
        writer.card_bytes = options->card_bytes;
    }
    mldf_status status = strcmp(options->path, "-") == 0
                             ? mldf_writer_open_stream(STDOUT_FILENO, options->schema, &writer, &s->writer, err)
                             : mldf_writer_open(options->path, options->schema, &writer, &s->writer, err);
    if (status < 0) {
        free(s);
        return status;
    }
    mldfi_sink_over(s, s->writer);
    *out = &s->base;
    return MLDF_OK;
}
