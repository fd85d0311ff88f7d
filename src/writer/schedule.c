/* Who works on which job when. Jobs form one list in submission order; four pointers walk along it:
 *
 *     retire_next ≤ emit_next ≤ place_next ≤ encode_next ≤ tail
 *
 * Encode and emit run on any number of jobs at once; place and retire on one at a time, in order, by whichever thread finds the
 * next one ready (`placing` and `retiring` keep others out). The lock is held only to move pointers. A stream is emitted in retire,
 * because its bytes must go out in order. Read job.c, place.c and emit.c for the steps themselves. */
#include <stdlib.h>
#include <string.h>

#include "os/thread.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

/* With the lock held. The first failure stays. */
static void fail_locked(mldf_writer *writer, const mldf_error *err) {
    if (!writer->failed)
        writer->failure = *err;
    writer->failed = true;
    pthread_cond_broadcast(&writer->work);
    pthread_cond_broadcast(&writer->room);
}

/* ---- Retire ------------------------------------------------------------------------------------------------------------ */

/* With the lock held. The table streams belong to place's turn, so the checks wait here until the next job is placed. */
static mldf_status add_checks_locked(mldf_writer *writer, const struct job *job, mldf_error *err) {
    size_t words = job->samples * writer->schema->payload_count;
    uint8_t *where;
    mldf_status status = mldfi_buffer_extend(&writer->pending_checks, words * 4, &where, err);
    for (size_t i = 0; i < words && status >= 0; i++)
        mldfi_store_u32(where + 4 * i, job->payloads[i].crc);
    return status;
}

/* In place's turn, without the lock. */
static mldf_status take_checks(mldf_writer *writer, mldf_error *err) {
    pthread_mutex_lock(&writer->lock);
    mldf_buffer taken = writer->pending_checks;
    writer->pending_checks = writer->taken_checks;
    pthread_mutex_unlock(&writer->lock);
    mldf_status status = mldfi_stream_push(&writer->tables.checks, taken.data, taken.size, err);
    taken.size = 0;
    writer->taken_checks = taken;
    return status;
}

static mldf_status retire_job(struct worker *worker, struct job *job, mldf_error *err) {
    mldf_writer *writer = worker->writer;
    mldf_status status = MLDF_OK;
    if (writer->stream_fd >= 0)
        status = mldfi_emit_job(worker, job, err);
    if (status >= 0 && writer->stream_fd < 0 && job->end > writer->writeback_from + WRITEBACK_BYTES) {
        mldfi_file_start_writeback(&writer->file, writer->writeback_from, job->end - writer->writeback_from);
        writer->writeback_from = job->end;
    }
    return status;
}

static void unlink_locked(mldf_writer *writer, struct job *job) {
    mldfi_job_reset(job);
    job->next = writer->unused;
    writer->unused = job;
    writer->in_flight--;
    pthread_cond_broadcast(&writer->room);
}

/* With the lock held: the skipped samples wait for the caller's thread; the job is free again. */
static mldf_status recycle_locked(mldf_writer *writer, struct job *job, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!writer->options.no_checksums && writer->schema->payload_count)
        status = add_checks_locked(writer, job, err);
    if (status >= 0 && job->bad_count)
        status = mldfi_array_reserve(&writer->skipped, &writer->skipped_capacity,
                                     writer->skipped_count + job->bad_count, sizeof *writer->skipped, err);
    if (status >= 0 && job->bad_count) {
        memcpy(writer->skipped + writer->skipped_count, job->bad, job->bad_count * sizeof *job->bad);
        writer->skipped_count += job->bad_count;
    }
    writer->skipped_total += job->bad_count;
    writer->samples_done += job->samples;
    writer->bytes_written = job->end;
    unlink_locked(writer, job);
    return status;
}

/* ---- One step, with the lock held on entry and exit --------------------------------------------------------------------- */

static bool step_retire(struct worker *worker) {
    mldf_writer *writer = worker->writer;
    struct job *job = writer->retire_next;
    if (writer->retiring || !job || job->state != JOB_WRITTEN)
        return false;
    writer->retiring = true;
    pthread_mutex_unlock(&writer->lock);
    mldf_error err;
    mldf_status status = retire_job(worker, job, &err);
    pthread_mutex_lock(&writer->lock);
    writer->retiring = false;
    writer->retire_next = job->next;
    if (writer->tail == job)
        writer->tail = NULL;
    if (status >= 0)
        status = recycle_locked(writer, job, &err);
    else
        unlink_locked(writer, job);
    if (status < 0)
        fail_locked(writer, &err);
    return true;
}

static bool step_emit(struct worker *worker) {
    mldf_writer *writer = worker->writer;
    struct job *job = writer->emit_next;
    if (!job || job->state != JOB_PLACED)
        return false;
    writer->emit_next = job->next;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (writer->stream_fd < 0) {
        pthread_mutex_unlock(&writer->lock);
        status = mldfi_emit_job(worker, job, &err);
        pthread_mutex_lock(&writer->lock);
    }
    job->state = JOB_WRITTEN;
    if (status < 0)
        fail_locked(writer, &err);
    pthread_cond_signal(&writer->work);
    return true;
}

static bool step_place(struct worker *worker) {
    mldf_writer *writer = worker->writer;
    struct job *job = writer->place_next;
    if (writer->placing || !job || job->state != JOB_ENCODED)
        return false;
    writer->placing = true;
    pthread_mutex_unlock(&writer->lock);
    mldf_error err;
    mldf_status status = take_checks(writer, &err);
    if (status >= 0)
        status = mldfi_place_job(worker, job, &err);
    pthread_mutex_lock(&writer->lock);
    writer->placing = false;
    writer->place_next = job->next;
    job->state = JOB_PLACED;
    if (status < 0)
        fail_locked(writer, &err);
    pthread_cond_signal(&writer->work);
    return true;
}

static bool step_encode(struct worker *worker) {
    mldf_writer *writer = worker->writer;
    struct job *job = writer->encode_next;
    if (!job)
        return false;
    writer->encode_next = job->next;
    pthread_mutex_unlock(&writer->lock);
    mldf_error err;
    mldf_status status = mldfi_job_encode(worker, job, &err);
    pthread_mutex_lock(&writer->lock);
    job->state = JOB_ENCODED;
    if (status < 0)
        fail_locked(writer, &err);
    pthread_cond_signal(&writer->work);
    return true;
}

/* Later stages first: they free memory. */
static bool step(struct worker *worker) {
    return step_retire(worker) || step_place(worker) || step_emit(worker) || step_encode(worker);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    mldf_writer *writer = worker->writer;
    pthread_mutex_lock(&writer->lock);
    while (!writer->stop && !writer->failed)
        if (!step(worker))
            pthread_cond_wait(&writer->work, &writer->lock);
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* What a worker's encoder asks. */
static bool is_wanted(void *user, uint64_t more) {
    mldf_writer *writer = user;
    if (more)
        atomic_fetch_add_explicit(&writer->frames_done, more, memory_order_relaxed);
    return !atomic_load(&writer->cancelled);
}

/* On the caller's own thread the progress hook is asked, too. */
static bool ask_hook(void *user, uint64_t more) {
    mldf_writer *writer = user;
    return is_wanted(writer, more) && mldfi_tick(writer, "write", writer->bytes_written, MLDF_NONE, NULL) >= 0;
}

/* ---- Start and stop ------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_schedule_start(mldf_writer *writer, mldf_error *err) {
    int wanted = writer->options.threads < 0 ? mldfi_cpu_count() : writer->options.threads;
    if (wanted > 1024)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d threads; at most 1024 are possible", wanted);
    size_t payloads = writer->schema->payload_count;
    if (payloads == 0)
        wanted = 0; /* records are encoded by the caller as they come: there is nothing to hand on */
    writer->workers = mldfi_alloc_zero((size_t)wanted + 1, sizeof *writer->workers, err);
    if (!writer->workers)
        return MLDF_E_MEMORY;
    for (int i = 0; i <= wanted; i++) {
        struct worker *worker = &writer->workers[i];
        worker->writer = writer;
        worker->watch = (struct work_watch){i ? is_wanted : ask_hook, writer};
        worker->kit.watch = &worker->watch;
        worker->kit.max_bytes = writer->context ? writer->context->max_decoded : 0;
        worker->placements = mldfi_alloc_zero(payloads + 1, sizeof *worker->placements, err);
        worker->notes = mldfi_alloc_zero(payloads + 1, sizeof *worker->notes, err);
        mldf_status status = worker->placements && worker->notes ? MLDF_OK : MLDF_E_MEMORY;
        if (status >= 0 && i > 0)
            status = mldfi_thread_start(&worker->thread, worker_main, worker, err);
        if (status < 0) {
            free(worker->placements);
            free(worker->notes);
            writer->thread_count = i - 1;
            return status;
        }
        writer->thread_count = i;
    }
    writer->max_in_flight = 2 * (size_t)wanted + 2;
    return MLDF_OK;
}

void mldfi_schedule_stop(mldf_writer *writer) {
    if (!writer->workers)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_cond_broadcast(&writer->work);
    pthread_mutex_unlock(&writer->lock);
    for (int i = 1; i <= writer->thread_count; i++)
        pthread_join(writer->workers[i].thread, NULL);
    for (int i = 0; i <= writer->thread_count; i++) {
        struct worker *worker = &writer->workers[i];
        mldfi_zstd_compressor_free(worker->compressor);
        mldfi_kit_free(&worker->kit);
        mldf_buffer_free(&worker->scratch);
        mldf_buffer_free(&worker->sealed);
        mldf_buffer_free(&worker->run);
        free(worker->placements);
        free(worker->notes);
    }
    free(writer->workers);
    writer->workers = NULL;
}

/* ---- The caller's side ---------------------------------------------------------------------------------------------------- */

static void tell_skipped(mldf_writer *writer) {
    pthread_mutex_lock(&writer->lock);
    struct job_bad *list = writer->skipped;
    size_t count = writer->skipped_count;
    writer->skipped = NULL;
    writer->skipped_count = writer->skipped_capacity = 0;
    pthread_mutex_unlock(&writer->lock);
    for (size_t i = 0; i < count && writer->options.skipped; i++)
        writer->options.skipped(writer->options.skipped_user, list[i].sample, &list[i].error);
    free(list);
}

mldf_status mldfi_check(mldf_writer *writer, mldf_error *err) {
    pthread_mutex_lock(&writer->lock);
    if (atomic_load(&writer->cancelled) && !writer->failed) {
        mldf_error cancelled;
        mldfi_fail(&cancelled, MLDF_E_CANCELLED, "cancelled");
        fail_locked(writer, &cancelled);
    }
    mldf_status status = writer->failed ? writer->failure.status : MLDF_OK;
    if (status < 0 && err)
        *err = writer->failure;
    bool skipped = writer->skipped_count > 0;
    pthread_mutex_unlock(&writer->lock);
    if (skipped)
        tell_skipped(writer);
    return status;
}

mldf_status mldfi_tick(mldf_writer *writer, const char *phase, uint64_t done, uint64_t total, mldf_error *err) {
    if (atomic_load(&writer->cancelled))
        return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
    double now = mldfi_time();
    if (!writer->options.progress || now - writer->last_progress < 0.05)
        return MLDF_OK;
    writer->last_progress = now;
    mldf_progress progress = {phase,     writer->samples_done,
                              MLDF_NONE, done,
                              total,     atomic_load_explicit(&writer->frames_done, memory_order_relaxed)};
    if (writer->options.progress(writer->options.progress_user, &progress))
        return MLDF_OK;
    mldf_writer_cancel(writer);
    return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
}

/* Waits, with the lock held, for one retirement or a while; without threads it does the work itself. */
static mldf_status wait_locked(mldf_writer *writer, mldf_error *err) {
    if (writer->thread_count == 0) {
        step(&writer->workers[0]);
    } else {
        mldfi_cond_wait_ms(&writer->room, &writer->lock, 50);
    }
    uint64_t bytes = writer->bytes_written;
    pthread_mutex_unlock(&writer->lock);
    mldf_status status = mldfi_tick(writer, "write", bytes, MLDF_NONE, err);
    if (status >= 0)
        status = mldfi_check(writer, err);
    pthread_mutex_lock(&writer->lock);
    return status;
}

static mldf_status enqueue(mldf_writer *writer, struct job *job, mldf_error *err) {
    mldf_status status = MLDF_OK;
    pthread_mutex_lock(&writer->lock);
    while (writer->in_flight >= writer->max_in_flight && status >= 0)
        status = wait_locked(writer, err);
    if (status >= 0) {
        job->state = JOB_QUEUED;
        job->next = NULL;
        if (writer->tail)
            writer->tail->next = job;
        writer->tail = job;
        struct job **const stages[] = {&writer->encode_next, &writer->place_next, &writer->emit_next,
                                       &writer->retire_next};
        for (size_t i = 0; i < 4; i++)
            if (!*stages[i])
                *stages[i] = job;
        writer->in_flight++;
        pthread_cond_signal(&writer->work);
    }
    pthread_mutex_unlock(&writer->lock);
    if (status < 0)
        mldfi_job_free(job);
    return status;
}

/* ---- The dictionary: the first 64 MiB wait for it ------------------------------------------------------------------------- */

/* The values of the compressed fields, sample by sample, until there are enough. */
static mldf_status gather_training(mldf_writer *writer, mldf_buffer *text, mldf_buffer *sizes, mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    mldf_status status = MLDF_OK;
    for (struct job *job = writer->held; job && status >= 0; job = job->next)
        for (size_t i = 0;
             i < job->samples * schema->field_count && text->size < DICTIONARY_SAMPLE_BYTES && status >= 0; i++) {
            const struct schema_field *field = &schema->fields[i % schema->field_count];
            if (!(field->info.flags & MLDF_FIELD_COMPRESSED))
                continue;
            const struct job_payload *p =
                &job->payloads[i / schema->field_count * schema->payload_count + field->payload_index];
            size_t bytes = p->kind == MLDF_KIND_NULL ? 0 : (size_t)p->bytes;
            if (bytes == 0)
                continue;
            if (bytes > DICTIONARY_SAMPLE_BYTES - text->size)
                bytes = DICTIONARY_SAMPLE_BYTES - text->size;
            status = mldf_buffer_append(text, job->arena.data + p->offset, bytes, err);
            if (status >= 0)
                status = mldf_buffer_append(sizes, &bytes, sizeof bytes, err);
        }
    return status;
}

static mldf_status train_dictionary(mldf_writer *writer, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT, sizes = MLDF_BUFFER_INIT;
    mldf_status status = gather_training(writer, &text, &sizes, err);
    if (status >= 0)
        status = mldfi_zstd_train(text.data, (const size_t *)(const void *)sizes.data, sizes.size / sizeof(size_t),
                                  &writer->dictionary_bytes, err);
    size_t values = sizes.size / sizeof(size_t), bytes = text.size;
    mldf_buffer_free(&text);
    mldf_buffer_free(&sizes);
    if (status == MLDF_END) {
        writer->dictionary_bytes.size = 0;
        mldfi_warn(writer->context,
                   "%zu values of %zu bytes in all are too few to train a zstd dictionary: the file has none", values,
                   bytes);
        return MLDF_OK;
    }
    return status < 0 ? status
                      : mldfi_zstd_dictionary_new(&writer->dictionary, writer->dictionary_bytes.data,
                                                  writer->dictionary_bytes.size, err);
}

static mldf_status release_held(mldf_writer *writer, mldf_error *err) {
    writer->dictionary_pending = false;
    mldf_status status = train_dictionary(writer, err);
    while (writer->held && status >= 0) {
        struct job *job = writer->held;
        writer->held = job->next;
        status = enqueue(writer, job, err);
    }
    return status;
}

static mldf_status hold(mldf_writer *writer, struct job *job, mldf_error *err) {
    job->next = NULL;
    if (writer->held)
        writer->held_tail->next = job;
    else
        writer->held = job;
    writer->held_tail = job;
    writer->held_bytes += job->arena.size + job->rows.size;
    return writer->held_bytes < DICTIONARY_SAMPLE_BYTES ? MLDF_OK : release_held(writer, err);
}

/* ---- Submit and drain ------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_submit(mldf_writer *writer, mldf_error *err) {
    struct job *job = writer->filling;
    writer->filling = NULL;
    if (!job)
        return MLDF_OK;
    mldf_status status = mldfi_check(writer, err);
    if (status < 0 || job->samples == 0) {
        mldfi_job_free(job);
        return status;
    }
    return writer->dictionary_pending ? hold(writer, job, err) : enqueue(writer, job, err);
}

mldf_status mldfi_drain(mldf_writer *writer, mldf_error *err) {
    mldf_status status = mldfi_submit(writer, err);
    if (status >= 0 && writer->dictionary_pending)
        status = release_held(writer, err);
    pthread_mutex_lock(&writer->lock);
    while (writer->in_flight > 0 && status >= 0)
        status = wait_locked(writer, err);
    pthread_mutex_unlock(&writer->lock);
    if (status >= 0)
        status = mldfi_check(writer, err);
    return status < 0 ? status : take_checks(writer, err);
}
