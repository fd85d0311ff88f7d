/* Writing a TBL file as a stream. Samples pass through an ordered pool (CRC-16, LZ4) and are then placed, one after the other:
 * payload, index entry and metadata block each go to a stage (staging.h). With the number of samples known, payloads and index go
 * straight to their place; otherwise aside, and finish puts them together. The file appears under its name in one step.
 * tbl_read.c reads it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "interop/crc16.h"
#include "interop/staging.h"
#include "interop/tbl_inner.h"
#include "os/ordered_pool.h"
#include "os/target.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum {
    SLOTS_PER_THREAD = 4,
    THREADS_MAX = 256,
    UNDER_WAY = 64 << 20, /* bytes that may wait in the pool before the oldest is placed */
    SLOT_KEEP = 8 << 20   /* a larger buffer goes back after use */
};

struct job {
    struct tbl_sample sample; /* data points to the caller's memory (no threads) or to copy */
    bool compress;
    mldf_buffer copy, metadata, packed;
    struct tbl_metadata block; /* data in `metadata` */
    uint16_t crc;
    size_t packed_bytes; /* 0: stored as it is */
    mldf_status status;
    mldf_error err;
};

struct tbl_writer {
    struct tbl_write_options options;
    char *path;
    struct os_file file;
    uint32_t header_bytes, entry_bytes;
    struct stage payload, index, metadata;
    uint64_t base; /* of the payloads; set when the first is placed */
    bool based, aligned, failed, finished;
    struct job *jobs;
    struct pool *pool;
    size_t job_count;
    uint64_t under_way; /* bytes in the pool */
    uint64_t added;
    struct tbl_totals totals;
};

/* ---- One sample, on any thread -------------------------------------------------------------------------------------- */

static void run_job(void *worker, void *slot) {
    (void)worker;
    struct job *job = slot;
    job->status = MLDF_OK;
    job->packed_bytes = 0;
    job->crc = mldfi_crc16(CRC16_START, job->sample.data, (size_t)job->sample.bytes);
    size_t room = job->compress ? mldfi_tbl_lz4_bound(job->sample.bytes) : 0;
    if (room == 0)
        return;
    job->status = mldfi_buffer_resize(&job->packed, room, &job->err);
    if (job->status < 0)
        return;
    size_t packed = mldfi_tbl_lz4_encode(job->sample.data, job->sample.bytes, job->packed.data, room);
    if (packed > 0 && packed < job->sample.bytes)
        job->packed_bytes = packed;
}

static void trim(mldf_buffer *buffer) {
    if (buffer->capacity > SLOT_KEEP)
        mldf_buffer_free(buffer);
}

/* ---- Placing -------------------------------------------------------------------------------------------------------- */

static uint64_t payload_base(const struct tbl_writer *w, uint64_t count) {
    uint64_t end = w->header_bytes + count * w->entry_bytes;
    return w->aligned ? mldfi_align_up(end, TBL_RAW_ALIGN) : end;
}

/* The first sample decides whether payloads begin on a page. */
static void set_base(struct tbl_writer *w, uint8_t format) {
    w->based = true;
    w->aligned = format == TBL_RAW_U8;
    if (w->options.count == MLDF_NONE) {
        mldfi_stage_beside(&w->payload, w->path);
        mldfi_stage_beside(&w->index, w->path);
    } else {
        w->base = payload_base(w, w->options.count);
        mldfi_stage_into(&w->payload, &w->file, w->base);
        mldfi_stage_into(&w->index, &w->file, w->header_bytes);
    }
}

static mldf_status push_block(struct tbl_writer *w, uint64_t sample, const struct tbl_metadata *block,
                              mldf_error *err) {
    uint8_t header[TBL_BLOCK_HEADER] = {0};
    mldfi_store_u64(header, sample);
    mldfi_store_u32(header + 8, block->bytes);
    mldfi_store_u16(header + 12, block->type);
    mldf_status status = mldfi_stage_push(&w->metadata, header, sizeof header, err);
    return status < 0 ? status : mldfi_stage_push(&w->metadata, block->data, block->bytes, err);
}

static mldf_status push_entry(struct tbl_writer *w, const struct job *job, uint64_t offset, uint32_t stored,
                              mldf_error *err) {
    uint8_t p[TBL_V2_ENTRY] = {0};
    mldfi_store_u64(p, offset);
    mldfi_store_u32(p + 8, stored);
    if (w->options.version == 1) {
        p[12] = job->sample.format;
        return mldfi_stage_push(&w->index, p, TBL_V1_ENTRY, err);
    }
    mldfi_store_u32(p + 12, (uint32_t)job->sample.bytes);
    mldfi_store_u16(p + 16, (uint16_t)job->sample.width);
    mldfi_store_u16(p + 18, (uint16_t)job->sample.height);
    p[20] = job->sample.format;
    p[21] = (uint8_t)((job->packed_bytes ? TBL_LZ4 : 0) | (job->sample.metadata ? TBL_METADATA : 0));
    mldfi_store_u16(p + 22, job->crc);
    return mldfi_stage_push(&w->index, p, TBL_V2_ENTRY, err);
}

static mldf_status place(struct tbl_writer *w, struct job *job, mldf_error *err) {
    if (job->status < 0) {
        if (err)
            *err = job->err;
        return job->status;
    }
    if (!w->based)
        set_base(w, job->sample.format);
    const void *data = job->packed_bytes ? job->packed.data : job->sample.data;
    uint64_t stored = job->packed_bytes ? job->packed_bytes : job->sample.bytes;
    mldf_status status = push_entry(w, job, w->base + mldfi_stage_bytes(&w->payload), (uint32_t)stored, err);
    if (status >= 0)
        status = mldfi_stage_push(&w->payload, data, stored, err);
    if (status >= 0 && job->sample.metadata)
        status = push_block(w, w->totals.samples, job->sample.metadata, err);
    w->totals.samples++;
    w->totals.compressed += job->packed_bytes > 0;
    w->totals.payload_bytes += job->sample.bytes;
    w->totals.stored_bytes += stored;
    return status;
}

/* Places the oldest until at most `bytes` are under way and, if asked, a slot is free. */
static mldf_status drain(struct tbl_writer *w, uint64_t bytes, bool all, mldf_error *err) {
    mldf_status status = MLDF_OK;
    while (status >= 0 && (all || w->under_way > bytes || !mldfi_pool_slot(w->pool))) {
        struct job *job = mldfi_pool_oldest(w->pool);
        if (!job)
            break;
        status = place(w, job, err);
        w->under_way -= job->sample.bytes;
        trim(&job->copy);
        trim(&job->packed);
        mldfi_pool_release(w->pool);
    }
    return status;
}

/* ---- The caller's side ------------------------------------------------------------------------------------------------ */

static mldf_status check_options(const struct tbl_write_options *o, mldf_error *err) {
    if (o->version != 1 && o->version != 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "TBL version %u: there are 1 and 2", o->version);
    if (o->version == 1 && o->compress)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "TBL version 1 has no compression");
    if (o->version == 1 && o->custom_flags)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "custom flags have room in TBL version 2 only");
    if (o->version == 1 && o->count != MLDF_NONE && o->count > TBL_V1_COUNT_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%llu samples: TBL version 1 ends at %d", ULL(o->count), TBL_V1_COUNT_MAX);
    if (o->count != MLDF_NONE && o->count > UINT64_MAX / 64)
        return mldfi_fail(err, MLDF_E_LIMIT, "%llu samples: their index would be larger than any file", ULL(o->count));
    if (o->compress && !mldfi_tbl_lz4_here())
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this build has no liblz4: TBL files cannot be compressed");
    if (o->threads > THREADS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%u threads: at most %d", o->threads, THREADS_MAX);
    return MLDF_OK;
}

static mldf_status open_parts(struct tbl_writer *w, mldf_error *err) {
    /* Without compression a sample costs less to check than to hand over. */
    unsigned threads = w->options.compress ? w->options.threads : 0;
    w->job_count = threads ? (size_t)threads * SLOTS_PER_THREAD : 1;
    w->jobs = mldfi_alloc_zero(w->job_count, sizeof *w->jobs, err);
    if (!w->jobs)
        return MLDF_E_MEMORY;
    struct pool_work work = {
        .run = run_job, .slots = w->jobs, .slot_count = w->job_count, .slot_bytes = sizeof *w->jobs};
    mldf_status status = mldfi_pool_new(&w->pool, threads, &work, err);
    w->options.threads = threads;
    if (status >= 0)
        status = mldfi_file_create_beside(&w->file, w->path, err);
    return status;
}

mldf_status mldfi_tbl_writer_open(struct tbl_writer **out, const char *path, const struct tbl_write_options *options,
                                  mldf_error *err) {
    *out = NULL;
    mldf_status status = check_options(options, err);
    if (status >= 0)
        status = mldfi_target_check(path, options->overwrite, err);
    if (status < 0)
        return status;
    struct tbl_writer *w = mldfi_alloc_zero(1, sizeof *w, err);
    if (!w)
        return MLDF_E_MEMORY;
    w->options = *options;
    w->file = (struct os_file)OS_FILE_NONE;
    w->payload = w->index = (struct stage)STAGE_NONE;
    w->header_bytes = options->version == 1 ? TBL_V1_HEADER : TBL_V2_HEADER;
    w->entry_bytes = options->version == 1 ? TBL_V1_ENTRY : TBL_V2_ENTRY;
    w->path = mldfi_copy_text(path, strlen(path), err);
    mldfi_stage_beside(&w->metadata, w->path);
    status = w->path ? open_parts(w, err) : MLDF_E_MEMORY;
    if (status < 0) {
        mldfi_tbl_writer_free(w);
        return status;
    }
    *out = w;
    return MLDF_OK;
}

void mldfi_tbl_writer_free(struct tbl_writer *w) {
    if (!w)
        return;
    mldfi_pool_free(w->pool);
    for (size_t i = 0; w->jobs && i < w->job_count; i++) {
        mldf_buffer_free(&w->jobs[i].copy);
        mldf_buffer_free(&w->jobs[i].metadata);
        mldf_buffer_free(&w->jobs[i].packed);
    }
    free(w->jobs);
    mldfi_stage_free(&w->payload);
    mldfi_stage_free(&w->index);
    mldfi_stage_free(&w->metadata);
    mldfi_file_discard(&w->file);
    free(w->path);
    free(w);
}

static mldf_status check_sample(const struct tbl_writer *w, const struct tbl_sample *s, mldf_error *err) {
    bool first = w->options.version == 1;
    if (w->options.count != MLDF_NONE && w->added >= w->options.count)
        return mldfi_fail(err, MLDF_E_STATE, "%llu samples were announced, and there is one more",
                          ULL(w->options.count));
    if (first && w->added >= TBL_V1_COUNT_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "TBL version 1 ends at %d samples", TBL_V1_COUNT_MAX);
    if (s->bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%llu bytes: a sample of a TBL file is smaller than 4 GiB", ULL(s->bytes));
    if (s->width > UINT16_MAX || s->height > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%u x %u: a side in a TBL file is at most 65535", s->width, s->height);
    if (s->format > (first ? TBL_TIFF : TBL_RAW_U8))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "format %u is not one of TBL version %u", s->format,
                          w->options.version);
    if (s->format == TBL_RAW_U8 && s->bytes != (uint64_t)s->width * s->height * 3)
        return mldfi_fail(err, MLDF_E_RANGE, "RAW_U8 of %u x %u is %llu bytes, not %llu", s->width, s->height,
                          ULL((uint64_t)s->width * s->height * 3), ULL(s->bytes));
    if (first && s->metadata)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "TBL version 1 has no metadata");
    return MLDF_OK;
}

static mldf_status fill_job(struct tbl_writer *w, struct job *job, const struct tbl_sample *s, mldf_error *err) {
    mldf_status status = MLDF_OK;
    job->sample = *s;
    job->compress = w->options.compress;
    if (w->options.threads == 0)
        return MLDF_OK;
    job->copy.size = job->metadata.size = 0;
    status = mldf_buffer_append(&job->copy, s->data, (size_t)s->bytes, err);
    job->sample.data = job->copy.data;
    if (status >= 0 && s->metadata) {
        status = mldf_buffer_append(&job->metadata, s->metadata->data, s->metadata->bytes, err);
        job->block = (struct tbl_metadata){s->metadata->type, job->metadata.data, s->metadata->bytes};
        job->sample.metadata = &job->block;
    }
    return status;
}

static mldf_status add(struct tbl_writer *w, const struct tbl_sample *s, mldf_error *err) {
    mldf_status status = drain(w, UNDER_WAY, false, err);
    struct job *job = status >= 0 ? mldfi_pool_slot(w->pool) : NULL;
    if (job)
        status = fill_job(w, job, s, err);
    if (status < 0)
        return status;
    mldfi_pool_submit(w->pool);
    w->under_way += s->bytes;
    w->added++;
    /* Borrowed memory is used before this returns. */
    return w->options.threads == 0 ? drain(w, 0, true, err) : MLDF_OK;
}

mldf_status mldfi_tbl_writer_add(struct tbl_writer *w, const struct tbl_sample *s, mldf_error *err) {
    TRY(mldfi_stage_check_state(w->failed, w->finished, err));
    uint64_t number = w->added;
    mldf_status status = check_sample(w, s, err);
    if (status >= 0) {
        status = add(w, s, err);
        w->failed = status < 0;
    }
    if (status < 0)
        mldfi_error_place(err, number, NULL);
    return status;
}

static mldf_status add_block(struct tbl_writer *w, uint64_t sample, const struct tbl_metadata *block, mldf_error *err) {
    uint8_t flags;
    uint64_t at = sample * TBL_V2_ENTRY + 21;
    if (w->options.version == 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "TBL version 1 has no metadata");
    if (sample >= w->added)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "metadata for sample %llu of %llu", ULL(sample), ULL(w->added));
    mldf_status status = drain(w, 0, true, err);
    if (status >= 0)
        status = mldfi_stage_read(&w->index, at, &flags, 1, err);
    if (status < 0)
        return status;
    flags |= TBL_METADATA;
    status = mldfi_stage_patch(&w->index, at, &flags, 1, err);
    return status < 0 ? status : push_block(w, sample, block, err);
}

mldf_status mldfi_tbl_writer_metadata(struct tbl_writer *w, uint64_t sample, const struct tbl_metadata *block,
                                      mldf_error *err) {
    TRY(mldfi_stage_check_state(w->failed, w->finished, err));
    mldf_status status = add_block(w, sample, block, err);
    if (status < 0)
        w->failed = true;
    return status;
}

/* ---- Finishing -------------------------------------------------------------------------------------------------------- */

static mldf_status write_header(struct tbl_writer *w, uint64_t data_end, mldf_error *err) {
    uint8_t p[TBL_V2_HEADER] = {'T', 'B', 'L', (uint8_t)w->options.version};
    uint64_t count = w->totals.samples, metadata = mldfi_stage_bytes(&w->metadata);
    mldfi_store_u32(p + 4, w->options.version);
    mldfi_store_u64(p + 8, count);
    mldfi_store_u32(p + 16, (uint32_t)(w->header_bytes + count * w->entry_bytes));
    if (w->options.version == 1) {
        mldfi_store_u32(p + 20, w->options.dataset_version);
        mldfi_store_u64(p + 24, w->options.created);
    } else {
        mldfi_store_u64(p + 24, metadata ? data_end : 0);
        mldfi_store_u64(p + 32, metadata);
        mldfi_store_u32(p + 40, (w->options.compress ? TBL_FILE_COMPRESSED : 0u) | (metadata ? TBL_FILE_METADATA : 0u) |
                                    TBL_FILE_CHECKSUMS);
        mldfi_store_u64(p + 48, w->options.created);
        mldfi_store_u32(p + 56, w->options.dataset_version);
        mldfi_store_u32(p + 60, w->options.custom_flags);
        mldfi_store_u32(p + 44, (uint32_t)crc32(0, p, TBL_V2_HEADER));
    }
    return mldfi_file_write(&w->file, 0, p, w->header_bytes, err);
}

/* The index that was kept aside has offsets from the first payload on: now its place is known. */
static void shift_entry(const void *user, uint8_t *entry) {
    mldfi_store_u64(entry, mldfi_load_u64(entry) + ((const struct tbl_writer *)user)->base);
}

static mldf_status put_together(struct tbl_writer *w, uint64_t data_end, mldf_error *err) {
    mldf_status status;
    if (w->options.count == MLDF_NONE) {
        status = mldfi_stage_move(&w->index, &w->file, w->header_bytes, w->entry_bytes, shift_entry, w, err);
        if (status >= 0)
            status = mldfi_stage_copy(&w->payload, &w->file, w->base, err);
    } else {
        status = mldfi_stage_flush(&w->index, err);
        if (status >= 0)
            status = mldfi_stage_flush(&w->payload, err);
    }
    if (status >= 0)
        status = mldfi_stage_copy(&w->metadata, &w->file, data_end, err);
    return status < 0 ? status : write_header(w, data_end, err);
}

static mldf_status finish(struct tbl_writer *w, mldf_error *err) {
    mldf_status status = drain(w, 0, true, err);
    if (status >= 0)
        status = mldfi_stage_check_count(w->options.count, w->added, err);
    if (status < 0)
        return status;
    if (!w->based)
        set_base(w, TBL_UNKNOWN);
    w->base = payload_base(w, w->totals.samples);
    uint64_t data_end = w->base + mldfi_stage_bytes(&w->payload);
    w->totals.file_bytes = data_end + mldfi_stage_bytes(&w->metadata);
    status = put_together(w, data_end, err);
    /* An aligned file of empty samples ends before its first payload: its length is set. */
    return status < 0 ? status
                      : mldfi_stage_publish(&w->file, w->totals.file_bytes, w->path, w->options.overwrite, err);
}

mldf_status mldfi_tbl_writer_finish(struct tbl_writer *w, struct tbl_totals *totals, mldf_error *err) {
    TRY(mldfi_stage_check_state(w->failed, w->finished, err));
    mldf_status status = finish(w, err);
    w->failed = status < 0;
    w->finished = status >= 0;
    if (status >= 0 && totals)
        *totals = w->totals;
    return status;
}
