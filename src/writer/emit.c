/* Bytes into the file: encryption, checksums and positional writes. Small payloads are gathered into runs of about 1 MiB; large
 * ones are written from where they lie. Padding is never written: what lies between is a hole, and reads as zeros. A stream (a pipe)
 * gets the same bytes in order, zeros included. Read schedule.c for who calls this when. */
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "writer/writer.h"

static mldf_status stream_write(mldf_writer *writer, uint64_t offset, const void *data, size_t bytes, mldf_error *err) {
    static const uint8_t zeros[4096] = {0};
    while (writer->stream_position < offset) {
        uint64_t gap = offset - writer->stream_position;
        size_t part = gap < sizeof zeros ? (size_t)gap : sizeof zeros;
        TRY(mldfi_fd_write_all(writer->stream_fd, zeros, part, err));
        writer->stream_position += part;
    }
    writer->stream_position += bytes;
    return mldfi_fd_write_all(writer->stream_fd, data, bytes, err);
}

mldf_status mldfi_sink_write(mldf_writer *writer, uint64_t offset, const void *data, size_t bytes, mldf_error *err) {
    if (writer->stream_fd >= 0)
        return stream_write(writer, offset, data, bytes, err);
    return mldfi_file_write(&writer->file, offset, data, bytes, err);
}

mldf_status mldfi_run_flush(struct worker *worker, mldf_error *err) {
    if (worker->run.size == 0)
        return MLDF_OK;
    mldf_status status = mldfi_sink_write(worker->writer, worker->run_offset, worker->run.data, worker->run.size, err);
    worker->run.size = 0;
    return status;
}

mldf_status mldfi_run_add(struct worker *worker, uint64_t offset, const uint8_t *data, uint64_t bytes,
                          mldf_error *err) {
    mldf_buffer *run = &worker->run;
    uint64_t run_end = worker->run_offset + run->size;
    mldf_status status = MLDF_OK;
    bool fits = run->size && offset >= run_end && offset - run_end <= 4096 && bytes < DIRECT_BYTES &&
                run->size + (offset - run_end) + bytes <= RUN_BYTES;
    if (!fits && (status = mldfi_run_flush(worker, err)) < 0)
        return status;
    if (bytes >= DIRECT_BYTES)
        return mldfi_sink_write(worker->writer, offset, data, (size_t)bytes, err);
    if (run->size == 0)
        run_end = worker->run_offset = offset;
    uint8_t *where;
    size_t gap = (size_t)(offset - run_end);
    if ((status = mldfi_buffer_extend(run, gap + (size_t)bytes, &where, err)) < 0)
        return status;
    memset(where, 0, gap);
    memcpy(where + gap, data, (size_t)bytes);
    return MLDF_OK;
}

mldf_status mldfi_emit_prepare(struct worker *worker, struct job *job, struct job_payload *payload, uint64_t sample,
                               uint16_t field, const uint8_t **data, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    *data = mldfi_payload_data(job, payload);
    if (writer->crypt) {
        worker->sealed.size = 0;
        mldf_status status = mldf_buffer_reserve(&worker->sealed, (size_t)payload->file_bytes, err);
        bool chunked = writer->schema->fields[field - writer->first_field].chunked;
        if (status >= 0)
            status = (chunked ? mldfi_crypt_seal_chunks : mldfi_crypt_seal)(
                writer->crypt, sample, field, *data, (size_t)payload->bytes, worker->sealed.data, err);
        if (status < 0)
            return status;
        *data = worker->sealed.data;
    }
    if (!writer->options.no_checksums)
        payload->crc = mldfi_crc32c(0, *data, (size_t)payload->file_bytes);
    return MLDF_OK;
}

mldf_status mldfi_emit_job(struct worker *worker, struct job *job, mldf_error *err) {
    const mldf_schema *schema = worker->writer->schema;
    uint64_t sample = job->first_sample;
    size_t first_field = worker->writer->first_field;
    mldf_status status = MLDF_OK;
    for (size_t s = job->emit_from; s < job->samples; s++, sample++) {
        for (size_t f = 0; f < schema->field_count; f++) {
            size_t p = schema->fields[f].payload_index;
            if (p == SIZE_MAX)
                continue;
            struct job_payload *payload = &job->payloads[s * schema->payload_count + p];
            if (payload->file_bytes == 0)
                continue;
            const uint8_t *data;
            if ((status = mldfi_emit_prepare(worker, job, payload, sample, (uint16_t)(first_field + f), &data, err)) <
                    0 ||
                (status = mldfi_run_add(worker, payload->ptr, data, payload->file_bytes, err)) < 0) {
                mldfi_error_place(err, sample, schema->fields[f].info.name);
                return status;
            }
        }
    }
    return mldfi_run_flush(worker, err);
}
