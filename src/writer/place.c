/* Placing: the one step that decides where bytes go, in sample order, one job at a time.
 *
 * A file whose data fit into 16 MiB gets 4 KiB pages, any other 2 MiB pages (unless the user gave a size). So the first samples
 * are laid out with small pages into memory, the "prelude"; a file gets them as they come, a stream at the end. When the prelude outgrows
 * 16 MiB or 262,144 payloads, the file is emptied, and they are laid out again with large pages and written; the rows that were made meanwhile keep the old pointers until finish_file.c copies them, because there may be
 * many (a row costs nothing in the data region). At most 262,144 payloads fit into a prelude, so its memory is bounded.
 * Read schedule.c next. */
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

static void take_layout(mldf_writer *writer, uint64_t page_size) {
    writer->page_size = page_size;
    writer->data_ptr = mldfi_align_up(
        FORMAT_DESCRIPTOR_OFFSET + (uint64_t)FORMAT_DESCRIPTOR_BYTES * writer->schema->field_count, page_size);
    writer->cursor = writer->data_ptr;
    writer->tables.page_size = page_size;
    writer->tables.data_ptr = writer->data_ptr;
}

void mldfi_place_begin(mldf_writer *writer, uint64_t page_size) {
    writer->prelude.active = page_size == 0;
    take_layout(writer, page_size ? page_size : FORMAT_AUTO_SMALL_PAGE);
}

/* ---- Prelude --------------------------------------------------------------------------------------------------------- */

static mldf_status too_large(mldf_error *err) {
    return mldfi_fail(err, MLDF_E_LIMIT, "the file would be larger than 2^63 bytes");
}

/* The payloads' bytes go to memory, at the place that the small layout gives them. */
static mldf_status prelude_keep(struct worker *worker, struct job *job, size_t s, size_t count, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    struct prelude *prelude = &writer->prelude;
    const mldf_schema *schema = writer->schema;
    size_t taken = 0;
    for (size_t f = 0; f < schema->field_count && taken < count; f++) {
        size_t p = schema->fields[f].payload_index;
        struct job_payload *payload = p == SIZE_MAX ? NULL : &job->payloads[s * schema->payload_count + p];
        if (!payload || payload->file_bytes == 0)
            continue;
        const uint8_t *data;
        mldf_status status = mldfi_emit_prepare(worker, job, payload, writer->tables.samples, (uint16_t)f, &data, err);
        if (status >= 0)
            status = mldfi_array_reserve(&prelude->entries, &prelude->capacity, prelude->count + 1,
                                         sizeof *prelude->entries, err);
        if (status < 0)
            return status;
        prelude->entries[prelude->count++] =
            (struct prelude_entry){writer->tables.samples, worker->placements[taken++], 0};
        size_t at = (size_t)(payload->ptr - writer->data_ptr), had = prelude->bytes.size;
        /* Room for all at once: growing would copy, and touch new memory each time. What is not used is never touched. */
        if ((status = mldf_buffer_reserve(&prelude->bytes, FORMAT_AUTO_HOLD, err)) < 0 ||
            (status = mldfi_buffer_resize(&prelude->bytes, at + (size_t)payload->file_bytes, err)) < 0)
            return status;
        memset(prelude->bytes.data + had, 0, at - had);
        memcpy(prelude->bytes.data + at, data, (size_t)payload->file_bytes);
    }
    return MLDF_OK;
}

/* Bytes of the prelude that the file does not have yet. Written while the other threads encode, they cost no time at the end. */
static mldf_status prelude_write(mldf_writer *writer, size_t at_least, mldf_error *err) {
    struct prelude *prelude = &writer->prelude;
    size_t bytes = prelude->bytes.size - prelude->written;
    if (bytes == 0 || bytes < at_least)
        return MLDF_OK;
    size_t from = prelude->written;
    prelude->written = prelude->bytes.size;
    return mldfi_sink_write(writer, writer->data_ptr + from, prelude->bytes.data + from, bytes, err);
}

static mldf_status prelude_record(mldf_writer *writer, mldf_error *err) {
    struct prelude *prelude = &writer->prelude;
    for (size_t i = 0; i < prelude->count; i++) {
        const struct prelude_entry *e = &prelude->entries[i];
        TRY(mldfi_tables_add_allocation(&writer->tables, prelude->moved ? e->moved_ptr : e->at.ptr, e->at.bytes,
                                        e->sample, err));
    }
    return MLDF_OK;
}

/* More than 16 MiB, or many payloads: lay everything out again with large pages. */
static mldf_status prelude_to_large(struct worker *worker, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    struct prelude *prelude = &writer->prelude;
    uint64_t small_data_ptr = writer->data_ptr;
    take_layout(writer, FORMAT_AUTO_PAGE);
    prelude->active = false;
    prelude->moved = true;
    prelude->samples = writer->tables.samples;
    /* The small layout must not show where the large one has holes. */
    mldf_status status = prelude->written ? mldfi_file_truncate(&writer->file, 0, err) : MLDF_OK;
    if (status >= 0)
        status = mldfi_write_front(writer, err);
    for (size_t i = 0; i < prelude->count && status >= 0;) {
        size_t count = 0;
        while (i + count < prelude->count && prelude->entries[i + count].sample == prelude->entries[i].sample) {
            worker->placements[count] = prelude->entries[i + count].at;
            count++;
        }
        if (!mldfi_place_sample(worker->placements, count, writer->page_size, &writer->cursor))
            return too_large(err);
        for (size_t k = 0; k < count && status >= 0; k++, i++) {
            struct prelude_entry *e = &prelude->entries[i];
            e->moved_ptr = worker->placements[k].ptr;
            status = mldfi_run_add(worker, e->moved_ptr, prelude->bytes.data + (e->at.ptr - small_data_ptr),
                                   e->at.bytes, err);
        }
    }
    if (status >= 0)
        status = mldfi_run_flush(worker, err);
    mldf_buffer_free(&prelude->bytes);
    return status < 0 ? status : prelude_record(writer, err);
}

mldf_status mldfi_place_end(struct worker *worker, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    struct prelude *prelude = &writer->prelude;
    if (!prelude->active)
        return MLDF_OK;
    prelude->active = false;
    mldf_status status = mldfi_write_front(writer, err);
    if (status >= 0)
        status = prelude_write(writer, 0, err);
    mldf_buffer_free(&prelude->bytes);
    return status < 0 ? status : prelude_record(writer, err);
}

/* ---- One sample ------------------------------------------------------------------------------------------------------- */

/* Fills worker->placements from the sample's payloads; returns their number. */
static size_t collect(struct worker *worker, const struct job *job, size_t s) {
    const mldf_writer *writer = worker->writer;
    const mldf_schema *schema = writer->schema;
    size_t count = 0;
    for (size_t f = 0; f < schema->field_count; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (field->payload_index == SIZE_MAX)
            continue;
        struct job_payload *payload = &job->payloads[s * schema->payload_count + field->payload_index];
        payload->file_bytes = 0;
        payload->ptr = 0;
        payload->crc = 0;
        if (payload->kind == MLDF_KIND_NULL || payload->bytes == 0)
            continue;
        payload->file_bytes = writer->crypt ? mldfi_crypt_sealed_bytes(payload->bytes, field->chunked) : payload->bytes;
        worker->placements[count++] = (struct placement){
            .bytes = payload->file_bytes,
            .lead = (field->info.flags & MLDF_FIELD_COMPRESSED) && payload->viewable ? MLDFI_PREFIX_BYTES : 0,
            .align = payload->viewable ? 64 : 8};
    }
    return count;
}

/* Pointers and sizes into the payloads and the row. */
static void assign(struct worker *worker, struct job *job, size_t s, struct value_note *notes) {
    const mldf_schema *schema = worker->writer->schema;
    size_t next = 0;
    for (size_t f = 0; f < schema->field_count; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (field->payload_index == SIZE_MAX)
            continue;
        struct job_payload *payload = &job->payloads[s * schema->payload_count + field->payload_index];
        notes[field->payload_index] = payload->kind == MLDF_KIND_NULL ? (struct value_note){0} : payload->note;
        if (payload->file_bytes)
            payload->ptr = worker->placements[next++].ptr;
        mldfi_record_set_payload(field, job->rows.data + s * schema->row_bytes + field->info.row_offset, payload->ptr,
                                 payload->file_bytes);
    }
}

static mldf_status place_payloads(struct worker *worker, struct job *job, size_t s, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    size_t count = collect(worker, job, s);
    uint64_t cursor = writer->cursor;
    if (count && !mldfi_place_sample(worker->placements, count, writer->page_size, &cursor))
        return too_large(err);
    if (writer->prelude.active &&
        mldfi_wants_large_pages(cursor - writer->data_ptr, writer->prelude.count + (uint64_t)count)) {
        mldf_status status = prelude_to_large(worker, err);
        if (status < 0)
            return status;
        job->emit_from = s;
        job->first_sample = writer->tables.samples;
        cursor = writer->cursor;
        collect(worker, job, s);
        if (!mldfi_place_sample(worker->placements, count, writer->page_size, &cursor))
            return too_large(err);
    }
    writer->cursor = cursor;
    assign(worker, job, s, worker->notes);
    if (writer->prelude.active) {
        job->emit_from = s + 1;
        return prelude_keep(worker, job, s, count, err);
    }
    for (size_t i = 0; i < count; i++) {
        mldf_status status = mldfi_tables_add_allocation(&writer->tables, worker->placements[i].ptr,
                                                         worker->placements[i].bytes, writer->tables.samples, err);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

/* ---- One job ------------------------------------------------------------------------------------------------------------ */

static void copy_sample_down(const mldf_schema *schema, struct job *job, size_t to, size_t from) {
    memmove(job->rows.data + to * schema->row_bytes, job->rows.data + from * schema->row_bytes, schema->row_bytes);
    memmove(job->payloads + to * schema->payload_count, job->payloads + from * schema->payload_count,
            schema->payload_count * sizeof *job->payloads);
    memmove(job->valid + to * schema->nullable_count, job->valid + from * schema->nullable_count,
            schema->nullable_count);
    job->key_bytes[to] = job->key_bytes[from];
}

/* Takes the bad samples out, or fails with the first of them. */
static mldf_status drop_bad(mldf_writer *writer, struct job *job, mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    if (job->bad_count == 0)
        return MLDF_OK;
    if (!writer->options.skip_bad_samples) {
        *err = job->bad[0].error;
        if (err->sample == MLDF_NONE)
            err->sample = writer->tables.samples + job->bad[0].sample;
        return err->status;
    }
    size_t kept = 0, next_bad = 0, key_from = 0, key_to = 0;
    for (size_t s = 0; s < job->samples; s++) {
        size_t key = job->key_bytes[s];
        if (next_bad < job->bad_count && job->bad[next_bad].sample == s) {
            job->bad[next_bad++].sample = (size_t)(job->first_submitted + s); /* from here on: the submitted index */
            key_from += key;
            continue;
        }
        if (key)
            memmove(job->keys.data + key_to, job->keys.data + key_from, key);
        key_from += key;
        key_to += key;
        if (kept != s)
            copy_sample_down(schema, job, kept, s);
        kept++;
    }
    job->samples = kept;
    job->rows.size = kept * schema->row_bytes;
    return MLDF_OK;
}

mldf_status mldfi_place_job(struct worker *worker, struct job *job, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    const mldf_schema *schema = writer->schema;
    mldf_status status = mldfi_keyset_check(&writer->seen, &writer->tables, job, writer->options.skip_bad_samples, err);
    if (status >= 0)
        status = drop_bad(writer, job, err);
    if (status < 0)
        return status;
    size_t key_at = 0;
    job->first_sample = writer->tables.samples;
    for (size_t s = 0; s < job->samples; s++) {
        if (schema->payload_count && (status = place_payloads(worker, job, s, err)) < 0)
            return status;
        const char *key = job->key_bytes[s] ? (const char *)job->keys.data + key_at : NULL;
        status = mldfi_tables_add_sample(&writer->tables, job->rows.data + s * schema->row_bytes,
                                         job->valid + s * schema->nullable_count, worker->notes, key, job->key_bytes[s],
                                         err);
        if (status < 0)
            return status;
        key_at += job->key_bytes[s];
    }
    if (writer->prelude.active && writer->stream_fd < 0 && (status = prelude_write(writer, RUN_BYTES, err)) < 0)
        return status;
    job->end = writer->prelude.active ? 0 : writer->cursor;
    return mldfi_tables_add_rows(&writer->tables, job->rows.data, job->samples, err);
}
