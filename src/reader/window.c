/* A window of a recording, straight from the file: mldf_reader_get_window. The record is asked for, then the bytes that the window needs, with
 * mldf_reader_get_range, so two seconds of an hour cost two seconds. Loaders do the same with decoders that stay open (pipeline/source_audio.c). */
#include <inttypes.h>

#include "field/audio_media.h"
#include "field/audio_packets.h"
#include "field/audio_type.h"
#include "reader/reader.h"
#include "util/bytes.h"
#include "util/error.h"

struct from_file {
    const mldf_reader *reader;
    uint64_t sample;
    size_t field;
    mldf_buffer scratch;
};

static mldf_status get_bytes(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    struct from_file *f = user;
    mldf_value part;
    mldf_status status = mldf_reader_get_range(f->reader, f->sample, f->field, offset, bytes, &f->scratch, &part, err);
    *data = status >= 0 ? part.data : NULL;
    return status;
}

/* What the record says, and that the value can be it. */
static mldf_status look(const struct from_file *f, const mldf_value *value, uint64_t from, uint64_t count,
                        mldf_audio_info *info, mldf_error *err) {
    const struct schema_field *field = &f->reader->schema->fields[f->field];
    mldfi_audio_record_info(value->record, info);
    mldf_status status = mldfi_audio_check_record(field->state, info, value->as.u, err);
    if (status == MLDF_OK)
        status = mldfi_audio_check_bytes(info, value->as.u, err);
    if (status == MLDF_OK && !mldfi_range_inside(from, count, info->samples))
        status = mldfi_fail(err, MLDF_E_RANGE, "samples %" PRIu64 " + %" PRIu64 " of a recording of %" PRIu64, from,
                            count, info->samples);
    return status;
}

mldf_status mldf_reader_get_window(const mldf_reader *reader, uint64_t sample, size_t field, uint64_t from,
                                   uint64_t count, float *out, mldf_error *err) {
    struct from_file f = {reader, sample, field, MLDF_BUFFER_INIT};
    struct audio_bytes in = {get_bytes, &f, 0};
    struct audio_memory whole = {0};
    mldf_audio_info info;
    mldf_value value;
    void *worker = NULL;
    if (!reader || (!out && count))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_reader_get_window: %s is NULL", reader ? "out" : "reader");
    if (field >= reader->schema->field_count)
        return mldfi_reader_no_field(reader, field, err);
    const struct schema_field *of = &reader->schema->fields[field];
    mldf_status status = MLDF_OK;
    if (!of->info.known || of->type->self_describing != FAMILY_AUDIO)
        status = mldfi_fail(err, MLDF_E_TYPE, "type %s: only recordings have windows", of->info.type_name);
    if (status == MLDF_OK)
        status = mldf_reader_get_range(reader, sample, field, 0, 0, &f.scratch, &value, err);
    if (status >= 0 && value.kind == MLDF_KIND_STORED && (reader->foreign.ops || value.as.u == MLDF_NONE)) {
        /* What is stored is not the value: each range would make all of it again. */
        status = mldf_reader_get_stored(reader, sample, field, &f.scratch, &value, err);
        value.as.u = value.bytes;
        whole.data = value.data;
        in.get = mldfi_audio_from_memory;
        in.user = &whole;
    }
    if (status >= 0 && value.kind == MLDF_KIND_NULL)
        status = mldfi_fail(err, MLDF_E_RANGE, "the value is null, and has no samples");
    if (status >= 0)
        status = look(&f, &value, from, count, &info, err);
    in.total = status >= 0 ? value.as.u : 0;
    if (status >= 0)
        status = mldfi_media_audio.open(&worker, err);
    if (status >= 0)
        status = mldfi_audio_window(worker, &info, &in, from, count, NULL, out, (size_t)count, err);
    if (worker)
        mldfi_media_audio.close(worker);
    mldf_buffer_free(&f.scratch);
    if (status < 0 && err && err->sample == MLDF_NONE) {
        err->offset = MLDF_NONE;
        mldfi_error_place(err, sample, of->info.name);
        return mldfi_reader_name_error(reader, err, status);
    }
    return status;
}
