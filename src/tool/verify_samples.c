/* verify, sample by sample (V8, V9, V11): records of nulls, places of payloads, their CRCs, their entries in the allocation
 * table, and, when deep, every value decoded. Runs on any thread; rows, checks and validity bits of a range are read in
 * batches, payloads through a window that reads ahead while they follow each other in the file. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "field/along.h"
#include "field/image_type.h"
#include "field/tokens.h"
#include "tool/verify.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

enum { SAMPLES_AT_ONCE = 4096, PROBLEMS_AT_ONCE = 16384, SMALL_PAYLOAD = 64 << 10 };

/* A batch of samples: the bytes that belong to them in rows, section 2 and section 5. */
struct batch {
    uint64_t first, count;
    uint64_t bits_first; /* sample of the first bit of each bitmap piece: a multiple of 8 */
    size_t bits_bytes;   /* of each bitmap piece */
    bool has_checks, has_validity;
};

static mldf_status fetch(const mldf_reader *reader, mldf_buffer *to, uint64_t at, size_t bytes, mldf_error *err) {
    to->size = 0;
    mldf_status status = mldfi_buffer_resize(to, bytes, err);
    return status < 0 ? status : mldfi_reader_copy(reader, at, to->data, bytes, err);
}

static mldf_status fetch_validity(struct verify_worker *w, struct batch *b, mldf_error *err) {
    const mldf_reader *reader = w->verify->reader;
    uint64_t n = reader->header.num_samples, bitmap = 8 * (n / 64 + (n % 64 != 0));
    b->bits_first = b->first / 8 * 8;
    b->bits_bytes = (size_t)((b->first + b->count - b->bits_first + 7) / 8);
    w->validity.size = 0;
    for (size_t k = 0; k < reader->schema->nullable_count; k++) {
        uint8_t *where;
        mldf_status status = mldfi_buffer_extend(&w->validity, b->bits_bytes, &where, err);
        if (status >= 0)
            status = mldfi_reader_copy(reader, reader->validity->ptr + k * bitmap + b->bits_first / 8, where,
                                       b->bits_bytes, err);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

static mldf_status fetch_batch(struct verify_worker *w, struct batch *b, mldf_error *err) {
    const mldf_reader *reader = w->verify->reader;
    uint64_t columns = reader->schema->payload_count;
    b->has_checks = w->verify->result->checksummed && mldfi_verify_usable(w->verify, reader->checks);
    b->has_validity = mldfi_verify_usable(w->verify, reader->validity);
    mldf_status status = fetch(reader, &w->rows, reader->tables.metadata.ptr + b->first * reader->row_bytes,
                               (size_t)(b->count * reader->row_bytes), err);
    if (status >= 0 && b->has_checks)
        status = fetch(reader, &w->checks, reader->checks->ptr + 4 * columns * b->first,
                       (size_t)(4 * columns * b->count), err);
    if (status >= 0 && b->has_validity)
        status = fetch_validity(w, b, err);
    return status;
}

static bool is_null(const struct verify_worker *w, const struct batch *b, uint64_t sample,
                    const struct schema_field *f) {
    if (!(f->info.flags & MLDF_FIELD_NULLABLE) || !b->has_validity)
        return false;
    uint64_t bit = sample - b->bits_first;
    return !(w->validity.data[f->nullable_index * b->bits_bytes + bit / 8] >> (bit % 8) & 1);
}

/* ---- CRC of a payload ------------------------------------------------------------------------------------------------------- */

/* A payload that lies in the window, or small enough to be read with what follows it. */
static mldf_status small_payload(struct verify_worker *w, uint64_t ptr, size_t bytes, const uint8_t **out,
                                 mldf_error *err) {
    const mldf_reader *reader = w->verify->reader;
    uint64_t end = w->chunk_at + w->chunk.size;
    if (w->chunk.size && ptr >= w->chunk_at && ptr + bytes <= end) {
        *out = w->chunk.data + (ptr - w->chunk_at);
        return MLDF_OK;
    }
    bool follows = w->chunk.size == 0 || (ptr >= w->chunk_at && (ptr < end || ptr - end < VERIFY_CHUNK));
    uint64_t left = reader->end - ptr, wanted = follows && VERIFY_CHUNK > bytes ? VERIFY_CHUNK : bytes;
    mldf_status status = fetch(reader, &w->chunk, ptr, (size_t)(wanted < left ? wanted : left), err);
    w->chunk_at = ptr;
    if (status < 0)
        w->chunk.size = 0;
    *out = w->chunk.data;
    return status;
}

/* The CRC and the first bytes (the compression prefix, where there is one). */
static mldf_status payload_crc(struct verify_worker *w, uint64_t ptr, uint64_t bytes, uint32_t *crc, uint8_t head[8],
                               mldf_error *err) {
    const uint8_t *data;
    mldf_status status;
    *crc = 0;
    atomic_fetch_add_explicit(&w->verify->bytes_done, bytes, memory_order_relaxed);
    if (bytes <= SMALL_PAYLOAD) {
        if ((status = small_payload(w, ptr, (size_t)bytes, &data, err)) < 0)
            return status;
        memcpy(head, data, bytes < 8 ? (size_t)bytes : 8);
        *crc = mldfi_crc32c(0, data, (size_t)bytes);
        return MLDF_OK;
    }
    for (uint64_t done = 0; done < bytes;) {
        size_t now = bytes - done < VERIFY_CHUNK ? (size_t)(bytes - done) : (size_t)VERIFY_CHUNK;
        if ((status = fetch(w->verify->reader, &w->chunk, ptr + done, now, err)) < 0)
            return status;
        if (done == 0)
            memcpy(head, w->chunk.data, 8);
        *crc = mldfi_crc32c(*crc, w->chunk.data, now);
        w->chunk_at = ptr + done;
        done += now;
        if ((status = mldfi_verify_pulse(w, err)) < 0)
            return status;
    }
    return MLDF_OK;
}

/* ---- Entries of the allocation table ------------------------------------------------------------------------------------------ */

/* The first entry whose ptr is above the one given, found among the windows' first entries. */
static mldf_status find_window(const mldf_reader *reader, uint64_t ptr, uint64_t *first, mldf_error *err) {
    uint64_t low = 0, high = reader->tables.allocation.entries / VERIFY_WINDOW_ENTRIES + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2, at, bytes;
        if (middle * VERIFY_WINDOW_ENTRIES >= reader->tables.allocation.entries) {
            high = middle;
            continue;
        }
        TRY(mldfi_reader_allocation(reader, middle * VERIFY_WINDOW_ENTRIES, &at, &bytes, err));
        if (at <= ptr)
            low = middle;
        else
            high = middle;
    }
    *first = low * VERIFY_WINDOW_ENTRIES;
    return MLDF_OK;
}

static bool window_covers(const struct allocation_window *window, uint64_t ptr) {
    return window->count && mldfi_load_u64(window->entries) <= ptr &&
           mldfi_load_u64(window->entries + (window->count - 1) * FORMAT_ALLOCATION_BYTES) >= ptr;
}

static mldf_status load_window(struct verify_worker *w, uint64_t ptr, struct allocation_window **out, mldf_error *err) {
    const mldf_reader *reader = w->verify->reader;
    struct allocation_window *oldest = &w->windows[0];
    for (size_t i = 1; i < VERIFY_WINDOWS; i++)
        if (w->windows[i].used < oldest->used)
            oldest = &w->windows[i];
    if (!oldest->entries)
        oldest->entries = mldfi_alloc((size_t)VERIFY_WINDOW_ENTRIES * FORMAT_ALLOCATION_BYTES, err);
    if (!oldest->entries)
        return MLDF_E_MEMORY;
    oldest->count = 0;
    TRY(find_window(reader, ptr, &oldest->first, err));
    uint64_t left = reader->tables.allocation.entries - oldest->first;
    size_t count = left < VERIFY_WINDOW_ENTRIES ? (size_t)left : (size_t)VERIFY_WINDOW_ENTRIES;
    mldf_status status =
        mldfi_reader_copy(reader, reader->tables.allocation.ptr + oldest->first * FORMAT_ALLOCATION_BYTES,
                          oldest->entries, count * FORMAT_ALLOCATION_BYTES, err);
    if (status >= 0)
        oldest->count = count;
    *out = oldest;
    return status;
}

static mldf_status has_allocation(struct verify_worker *w, uint64_t ptr, uint64_t bytes, bool *out, mldf_error *err) {
    struct allocation_window *window = NULL;
    *out = false;
    if (w->verify->reader->tables.allocation.entries == 0)
        return MLDF_OK;
    for (size_t i = 0; i < VERIFY_WINDOWS && !window; i++)
        if (window_covers(&w->windows[i], ptr))
            window = &w->windows[i];
    TRY(window ? MLDF_OK : load_window(w, ptr, &window, err));
    window->used = ++w->clock;
    size_t low = 0, high = window->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint8_t *entry = window->entries + middle * FORMAT_ALLOCATION_BYTES;
        uint64_t at = mldfi_load_u64(entry);
        if (at == ptr) {
            *out = mldfi_load_u64(entry + 8) == bytes;
            return MLDF_OK;
        }
        if (at < ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return MLDF_OK;
}

/* ---- One value -------------------------------------------------------------------------------------------------------------------- */

struct value_check {
    uint64_t sample, record_at;
    const struct schema_field *field;
    const uint8_t *record;
    uint64_t ptr, bytes;
    bool in_place; /* row and payload passed V8; what is found then is wrong with the value alone */
    bool unlisted; /* past the last entry of a 1.0 file's allocation table */
};

/* One line for all of them at the end: see mldfi_verify_samples. */
static void note_unlisted(struct verify *verify, struct value_check *c) {
    uint64_t first = atomic_load(&verify->unlisted_first);
    c->unlisted = true;
    atomic_fetch_add(&verify->unlisted, 1);
    while (c->sample < first && !atomic_compare_exchange_weak(&verify->unlisted_first, &first, c->sample))
        continue;
}

__attribute__((format(printf, 6, 7))) static mldf_status fault(const struct verify_worker *w,
                                                               const struct value_check *c, mldf_status status,
                                                               uint64_t offset, mldf_error *problem, const char *format,
                                                               ...) {
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    mldfi_reader_fail(w->verify->reader, problem, status, offset, "%s", why);
    mldfi_error_place(problem, c->sample, c->field->info.name);
    return status;
}

static void note_maxima(struct verify_worker *w, const struct value_check *c, const uint8_t head[8], bool head_known) {
    const mldf_reader *reader = w->verify->reader;
    mldf_field_stats *most = &w->maxima[c->field - reader->schema->fields];
    uint64_t value = c->bytes;
    uint8_t codec;
    if ((c->field->info.flags & MLDF_FIELD_COMPRESSED) && c->bytes) {
        value = 0;
        if (head_known && !reader->encrypted && c->bytes >= MLDFI_PREFIX_BYTES)
            mldfi_prefix_decode(head, &value, &codec);
    } else if (reader->encrypted) {
        value = mldfi_crypt_value_bytes(c->bytes, c->field->chunked);
    }
    if (c->bytes > most->stored_bytes_max)
        most->stored_bytes_max = c->bytes;
    if (value > most->value_bytes_max)
        most->value_bytes_max = value;
}

static void note_dims(struct verify_worker *w, const struct value_check *c) {
    mldf_field_stats *most = &w->maxima[c->field - w->verify->reader->schema->fields];
    struct observation seen = {0};
    if (!c->field->type || !c->field->type->observe)
        return;
    c->field->type->observe(c->field->state, c->record, &seen);
    for (uint32_t d = 0; d < seen.ndim && d < MLDF_MAX_DIMS; d++)
        if (seen.dims[d] > most->dims_max[d])
            most->dims_max[d] = seen.dims[d];
    if (seen.has_units && seen.units > most->units_max)
        most->units_max = seen.units;
}

/* V8 of a payload: its place, its CRC, its allocation. */
static mldf_status check_payload(struct verify_worker *w, struct value_check *c, const uint8_t *want_crc,
                                 mldf_error *problem) {
    const mldf_reader *reader = w->verify->reader;
    uint8_t head[8] = {0};
    uint32_t crc = 0;
    bool found = true;
    mldfi_record_payload(c->field, c->record, &c->ptr, &c->bytes);
    if (c->bytes && mldfi_reader_may_count(reader, c->field) && c->ptr > w->verify->last_allocation) {
        note_unlisted(w->verify, c); /* its size went with the end of the table */
        return MLDF_OK;
    }
    mldf_status status =
        mldfi_reader_check_payload(reader, c->sample, c->field, c->record_at, c->ptr, &c->bytes, problem);
    if (status < 0)
        return status;
    w->payloads += c->bytes != 0;
    if (c->bytes && want_crc && (status = payload_crc(w, c->ptr, c->bytes, &crc, head, problem)) < 0)
        return status;
    if (want_crc && crc != mldfi_load_u32(want_crc))
        return fault(w, c, MLDF_E_CHECKSUM, c->bytes ? c->ptr : c->record_at, problem,
                     "its %" PRIu64 " bytes at %" PRIu64 " have CRC %08" PRIx32 ", not %08" PRIx32, c->bytes, c->ptr,
                     crc, mldfi_load_u32(want_crc));
    note_maxima(w, c, head, want_crc != NULL);
    if (c->bytes && !w->verify->bad_allocations && (status = has_allocation(w, c->ptr, c->bytes, &found, problem)) < 0)
        return status;
    if (!found && c->ptr > w->verify->last_allocation)
        note_unlisted(w->verify, c);
    else if (!found)
        return fault(w, c, MLDF_E_CORRUPT, c->record_at, problem,
                     "the allocation table has no entry for its %" PRIu64 " bytes at %" PRIu64, c->bytes, c->ptr);
    return MLDF_OK;
}

/* V14: a side column and its tokens, or segments. */
static mldf_status check_along(struct verify_worker *w, const struct value_check *c, const mldf_value *value,
                               mldf_error *problem) {
    const mldf_reader *reader = w->verify->reader;
    size_t at = mldfi_schema_lookup(reader->schema, mldfi_along_name(c->field));
    const struct schema_field *tokens = at == SIZE_MAX ? NULL : &reader->schema->fields[at];
    uint64_t count = 0;
    bool present = false;
    if (!tokens || !mldfi_is_along_target(tokens))
        return MLDF_OK; /* nothing says how long it must be */
    mldf_status status = mldfi_reader_is_valid(reader, c->sample, at, &present, problem);
    if (status >= 0 && present)
        count = mldfi_along_count(tokens, c->record - c->field->info.row_offset + tokens->info.row_offset);
    if (status >= 0)
        status = mldfi_along_check(c->field, c->record, value->data, value->bytes, count, problem);
    if (status < 0 && problem)
        problem->offset = problem->offset < c->field->info.record_bytes ? c->record_at + problem->offset : c->ptr;
    mldfi_error_place(status < 0 ? problem : NULL, c->sample, c->field->info.name);
    return status;
}

/* V11. */
static mldf_status check_deep(struct verify_worker *w, const struct value_check *c, mldf_error *problem) {
    const mldf_reader *reader = w->verify->reader;
    size_t field = (size_t)(c->field - reader->schema->fields);
    mldf_value value;
    if (reader->encrypted && !reader->crypt && mldfi_field_has_payload(c->field))
        return MLDF_OK;
    if (!c->field->type)
        return mldf_reader_get_stored(reader, c->sample, field, &w->scratch, &value, problem);
    mldf_status status = mldfi_reader_get_packed(reader, c->sample, field, &w->scratch, &value, problem);
    if (status < 0 || value.kind == MLDF_KIND_NULL)
        return status;
    if (c->field->type->check_deep && mldfi_field_is_made(c->field)) /* what was decoded is not what is stored */
        status = mldf_reader_get_stored(reader, c->sample, field, &w->scratch, &value, problem);
    if (status < 0)
        return status;
    if (reader->draft && mldfi_image_of_no_format(c->field, value.record, value.data, value.bytes))
        return MLDF_OK;
    status =
        mldfi_field_check_deep(c->field, &w->kit, value.record, c->record_at, value.data, value.bytes, c->ptr, problem);
    mldfi_kit_trim(&w->kit);
    if (status >= 0 && mldfi_along_name(c->field))
        status = check_along(w, c, &value, problem);
    if (status < 0)
        mldfi_error_path(problem, reader->path);
    if (status < 0)
        mldfi_error_place(problem, c->sample, c->field->info.name);
    return status;
}

static mldf_status check_value(struct verify_worker *w, const struct batch *b, struct value_check *c,
                               mldf_error *problem) {
    const struct schema_field *f = c->field;
    const uint8_t *crc = NULL;
    mldf_status status;
    if (is_null(w, b, c->sample, f)) {
        for (uint32_t i = 0; i < f->info.record_bytes; i++)
            if (c->record[i])
                return fault(w, c, MLDF_E_CORRUPT, c->record_at, problem, "the record of a null is not zero");
        return MLDF_OK;
    }
    if (b->has_checks && mldfi_field_has_payload(f))
        crc = w->checks.data +
              4 * ((size_t)(c->sample - b->first) * w->verify->reader->schema->payload_count + f->payload_index);
    if (mldfi_field_has_payload(f) && (status = check_payload(w, c, crc, problem)) < 0)
        return status;
    note_dims(w, c);
    c->in_place = true;
    return w->verify->options.deep ? check_deep(w, c, problem) : MLDF_OK;
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------------------------- */

static bool in_bad_block(const struct verify *verify, uint64_t sample) {
    uint64_t row_bytes = verify->reader->row_bytes, from = sample * row_bytes / FORMAT_CRC_BLOCK;
    uint64_t to = (sample * row_bytes + row_bytes - 1) / FORMAT_CRC_BLOCK;
    while (from <= to)
        if (verify->bad_blocks[from++])
            return true;
    return false;
}

static mldf_status check_sample(struct verify_worker *w, struct verify_job *job, const struct batch *b, uint64_t sample,
                                mldf_error *err) {
    const mldf_reader *reader = w->verify->reader;
    const uint8_t *row = w->rows.data + (sample - b->first) * reader->row_bytes;
    bool good = !in_bad_block(w->verify, sample);
    for (size_t i = 0; i < reader->schema->field_count; i++) {
        const struct schema_field *f = &reader->schema->fields[i];
        struct value_check c = {sample, mldfi_record_at(reader, sample, f), f, row + f->info.row_offset, 0, 0, false,
                                false};
        mldf_error problem;
        mldf_status status = check_value(w, b, &c, &problem);
        good = good && !c.unlisted;
        if (status >= 0)
            continue;
        if (!mldfi_is_problem(status)) {
            *err = problem;
            return status;
        }
        good = false;
        job->bad_rows = job->bad_rows || (!c.in_place && problem.offset == c.record_at);
        mldfi_error_place(&problem, sample, f->info.name);
        if ((status = mldfi_verify_add(job, &problem, err)) < 0)
            return status;
    }
    job->good += good;
    return MLDF_OK;
}

static mldf_status check_range(struct verify_worker *w, struct verify_job *job, mldf_error *err) {
    uint64_t row_bytes = w->verify->reader->row_bytes, at_once = VERIFY_CHUNK / row_bytes;
    uint64_t end = job->first + job->count;
    if (at_once == 0)
        at_once = 1;
    for (uint64_t first = job->first; first < end; first += at_once) {
        struct batch b = {.first = first, .count = end - first < at_once ? end - first : at_once};
        mldf_status status = fetch_batch(w, &b, err);
        for (uint64_t i = 0; i < b.count && status >= 0; i++) {
            status = check_sample(w, job, &b, first + i, err);
            atomic_fetch_add_explicit(&w->verify->samples_done, 1, memory_order_relaxed);
            if (status >= 0 && (i % 16 == 0 || w->verify->options.deep))
                status = mldfi_verify_pulse(w, err);
        }
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

static mldf_status find_last_allocation(struct verify *verify, mldf_error *err) {
    const struct table_ref *table = &verify->reader->tables.allocation;
    uint64_t bytes;
    verify->unlisted_first = verify->last_allocation = MLDF_NONE;
    if (!verify->reader->draft || verify->bad_allocations)
        return MLDF_OK;
    if (table->entries)
        return mldfi_reader_allocation(verify->reader, table->entries - 1, &verify->last_allocation, &bytes, err);
    verify->last_allocation = 0;
    return MLDF_OK;
}

static void report_unlisted(struct verify *verify) {
    const mldf_reader *reader = verify->reader;
    uint64_t count = verify->unlisted, first = verify->unlisted_first;
    if (count)
        mldfi_verify_problem(verify, MLDF_E_TRUNCATED, reader->physical_bytes, first,
                             "the allocation table ends with the file, after %" PRIu64 " entries, and %" PRIu64
                             " value%s from row %" PRIu64 " on %s missing in it: the file was cut",
                             reader->tables.allocation.entries, count, count == 1 ? "" : "s", first,
                             count == 1 ? "is" : "are");
}

mldf_status mldfi_verify_samples(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t n = reader->header.num_samples, step = PROBLEMS_AT_ONCE / reader->schema->field_count;
    int threads = verify->options.threads < 0 ? mldfi_cpu_count() : verify->options.threads;
    uint64_t share = threads > 0 ? n / ((uint64_t)threads * 8) : n;
    if (step > SAMPLES_AT_ONCE)
        step = SAMPLES_AT_ONCE;
    if (step > share)
        step = share;
    mldf_status status = find_last_allocation(verify, err);
    if (status >= 0)
        status = mldfi_verify_ranges(verify, check_range, step ? step : 1, err);
    if (status >= 0)
        report_unlisted(verify);
    if (status < 0 || reader->draft || verify->bad_rows || verify->payloads == reader->tables.allocation.entries)
        return status;
    mldfi_verify_problem(verify, MLDF_E_CORRUPT, reader->tables.allocation.ptr, MLDF_NONE,
                         "%" PRIu64 " entries in the allocation table for %" PRIu64 " payloads",
                         reader->tables.allocation.entries, verify->payloads);
    verify->bad_allocations = true; /* the page map cannot be trusted to be linear in time any more */
    return MLDF_OK;
}

/* Statistics are hints, but a loader sizes its buffers by their maxima. */
mldf_status mldfi_verify_stats(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    const struct section *s = mldfi_reader_find_section(reader, SECTION_STATS);
    (void)err;
    if (!reader->stats || !mldfi_verify_usable(verify, s) || verify->bad_rows)
        return MLDF_OK;
    for (size_t i = 0; i < reader->schema->field_count; i++) {
        const mldf_field_stats *said = &reader->stats[i], *seen = &verify->maxima[i];
        bool good = said->stored_bytes_max >= seen->stored_bytes_max &&
                    said->value_bytes_max >= seen->value_bytes_max && said->units_max >= seen->units_max;
        for (uint32_t d = 0; d < said->ndim && d < MLDF_MAX_DIMS; d++)
            good = good && said->dims_max[d] >= seen->dims_max[d];
        if (!good)
            mldfi_verify_problem(verify, MLDF_E_CORRUPT, s->ptr + i * FORMAT_STATS_BYTES, MLDF_NONE,
                                 "statistics of field %s: a largest size or dimension is exceeded by a sample",
                                 reader->schema->fields[i].info.name);
    }
    return MLDF_OK;
}
