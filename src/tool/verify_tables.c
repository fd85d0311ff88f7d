/* verify, the whole-file part: CRCs of sections and table blocks (V1, V2), order of the allocation table (V3), padding of the
 * validity bitmaps (V4), keys (V5), page map (V6), history (V7). Tables are read in pieces of 1 MiB. verify_samples.c does
 * the rows and payloads. */
#include <inttypes.h>
#include <stdlib.h>

#include "tool/verify.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "util/utf8.h"

enum { KEYS_AT_ONCE = 8192 };
/* Pages of the page map that are computed in one walk over the rows. */
#define PAGES_AT_ONCE (UINT64_C(4) << 20)

/* Calls `use` with pieces of a range; pieces are whole multiples of 64 KiB but the last. */
typedef mldf_status (*piece_fn)(struct verify *verify, void *user, uint64_t offset, const uint8_t *data, size_t bytes,
                                mldf_error *err);
static mldf_status walk(struct verify *verify, uint64_t at, uint64_t bytes, piece_fn use, void *user, mldf_error *err) {
    mldf_status status = MLDF_OK;
    uint8_t *piece = mldfi_alloc(VERIFY_CHUNK, err);
    if (!piece)
        return MLDF_E_MEMORY;
    for (uint64_t done = 0; done < bytes && status >= 0;) {
        size_t now = bytes - done < VERIFY_CHUNK ? (size_t)(bytes - done) : (size_t)VERIFY_CHUNK;
        status = mldfi_reader_copy(verify->reader, at + done, piece, now, err);
        if (status >= 0)
            status = use(verify, user, done, piece, now, err);
        atomic_fetch_add_explicit(&verify->bytes_done, now, memory_order_relaxed);
        if (status >= 0)
            status = mldfi_verify_tick(verify, err);
        done += now;
    }
    free(piece);
    return status;
}

/* ---- V1: sections --------------------------------------------------------------------------------------------------------- */

static mldf_status add_to_crc(struct verify *verify, void *user, uint64_t offset, const uint8_t *data, size_t bytes,
                              mldf_error *err) {
    uint32_t *crc = user;
    (void)verify, (void)offset, (void)err;
    *crc = mldfi_crc32c(*crc, data, bytes);
    return MLDF_OK;
}

mldf_status mldfi_verify_sections(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    for (size_t i = 0; i < reader->section_count; i++) {
        const struct section *s = &reader->sections[i];
        uint32_t crc = 0;
        TRY(walk(verify, s->ptr, s->size, add_to_crc, &crc, err));
        if (crc == s->crc)
            continue;
        if (s->kind < 32)
            verify->bad_sections |= UINT32_C(1) << s->kind;
        mldfi_verify_problem(verify, MLDF_E_CHECKSUM, s->ptr, MLDF_NONE,
                             "section %" PRIu32 " (%s), %" PRIu64 " bytes at %" PRIu64 ", has CRC %08" PRIx32
                             ", not %08" PRIx32,
                             s->kind, mldfi_section_name(s->kind), s->size, s->ptr, crc, s->crc);
    }
    return MLDF_OK;
}

/* ---- V2: blocks of tables ---------------------------------------------------------------------------------------------------- */

struct block_walk {
    uint64_t table_at, table_bytes;
    uint64_t first_crc; /* ordinal in section 1 */
    bool rows;
};

static void report_block(struct verify *verify, const struct block_walk *w, uint64_t offset, size_t bytes) {
    uint64_t row_bytes = verify->reader->row_bytes;
    if (!w->rows) {
        mldfi_verify_problem(
            verify, MLDF_E_CHECKSUM, w->table_at + offset, MLDF_NONE,
            "the block of the allocation table at byte %" PRIu64 " (entries %" PRIu64 " to %" PRIu64 ") is damaged",
            w->table_at + offset, offset / FORMAT_ALLOCATION_BYTES, (offset + bytes - 1) / FORMAT_ALLOCATION_BYTES);
        return;
    }
    verify->bad_blocks[offset / FORMAT_CRC_BLOCK] = 1;
    verify->bad_rows = true;
    mldfi_verify_problem(verify, MLDF_E_CHECKSUM, w->table_at + offset, offset / row_bytes,
                         "rows %" PRIu64 " to %" PRIu64 ": their block of the metadata table at byte %" PRIu64
                         " is damaged",
                         offset / row_bytes, (offset + bytes - 1) / row_bytes, w->table_at + offset);
}

static mldf_status check_blocks(struct verify *verify, void *user, uint64_t offset, const uint8_t *data, size_t bytes,
                                mldf_error *err) {
    const struct block_walk *w = user;
    uint64_t crcs = verify->reader->tables_section->ptr + FORMAT_TABLES_BYTES + 4 * w->first_crc;
    for (size_t at = 0; at < bytes; at += FORMAT_CRC_BLOCK) {
        size_t now = bytes - at < FORMAT_CRC_BLOCK ? bytes - at : (size_t)FORMAT_CRC_BLOCK;
        uint8_t want[4];
        mldf_status status =
            mldfi_reader_copy(verify->reader, crcs + 4 * ((offset + at) / FORMAT_CRC_BLOCK), want, sizeof want, err);
        if (status < 0)
            return status;
        if (mldfi_crc32c(0, data + at, now) != mldfi_load_u32(want))
            report_block(verify, w, offset + at, now);
    }
    return MLDF_OK;
}

mldf_status mldfi_verify_blocks(struct verify *verify, mldf_error *err) {
    const struct tables *tables = &verify->reader->tables;
    if (!verify->result->checksummed || !mldfi_verify_usable(verify, verify->reader->tables_section))
        return MLDF_OK;
    uint64_t before = mldfi_crc_blocks(tables->descriptors.bytes);
    struct block_walk rows = {tables->metadata.ptr, tables->metadata.bytes, before, true};
    struct block_walk allocations = {tables->allocation.ptr, tables->allocation.bytes,
                                     before + mldfi_crc_blocks(tables->metadata.bytes), false};
    mldf_status status = walk(verify, rows.table_at, rows.table_bytes, check_blocks, &rows, err);
    if (status >= 0)
        status = walk(verify, allocations.table_at, allocations.table_bytes, check_blocks, &allocations, err);
    return status;
}

/* ---- V3: allocation table ------------------------------------------------------------------------------------------------------- */

static mldf_status check_entries(struct verify *verify, void *user, uint64_t offset, const uint8_t *data, size_t bytes,
                                 mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t *end_before = user;
    (void)err;
    for (size_t at = 0; at + FORMAT_ALLOCATION_BYTES <= bytes; at += FORMAT_ALLOCATION_BYTES) {
        uint64_t ptr = mldfi_load_u64(data + at), size = mldfi_load_u64(data + at + 8);
        uint64_t entry = (offset + at) / FORMAT_ALLOCATION_BYTES;
        bool inside = size != 0 && ptr >= reader->header.data_ptr && mldfi_range_inside(ptr, size, reader->end);
        if (!inside || ptr < *end_before) {
            verify->bad_allocations = true;
            mldfi_verify_problem(
                verify, MLDF_E_CORRUPT, reader->tables.allocation.ptr + offset + at, MLDF_NONE,
                inside ? "allocation entry %" PRIu64 ": %" PRIu64 " + %" PRIu64 " begins before the one before it ends"
                       : "allocation entry %" PRIu64 ": %" PRIu64 " + %" PRIu64 " is not a range of the data region",
                entry, ptr, size);
        }
        *end_before = inside ? ptr + size : 0;
    }
    return MLDF_OK;
}

mldf_status mldfi_verify_allocations(struct verify *verify, mldf_error *err) {
    uint64_t end_before = 0;
    const struct table_ref *table = &verify->reader->tables.allocation;
    return walk(verify, table->ptr, table->bytes, check_entries, &end_before, err);
}

/* ---- V4: validity ---------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_verify_validity(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t n = reader->header.num_samples, bitmap = 8 * (n / 64 + (n % 64 != 0));
    if (!mldfi_verify_usable(verify, reader->validity))
        return MLDF_OK;
    for (uint64_t k = 0; k < reader->schema->nullable_count; k++) {
        for (uint64_t at = n / 8; at < bitmap; at++) {
            uint64_t where = reader->validity->ptr + k * bitmap + at;
            uint8_t byte;
            TRY(mldfi_reader_copy(reader, where, &byte, 1, err));
            if (byte >> (at == n / 8 ? n % 8 : 0))
                mldfi_verify_problem(verify, MLDF_E_CORRUPT, where, MLDF_NONE,
                                     "a padding bit is set in the validity bitmap at byte %" PRIu64, where);
        }
    }
    return MLDF_OK;
}

/* ---- V5: keys ------------------------------------------------------------------------------------------------------------------------ */

/* One key: in its place, text, and found where it is. The error is the problem. */
static mldf_status check_key(struct verify_worker *worker, uint64_t sample, mldf_error *problem) {
    const mldf_reader *reader = worker->verify->reader;
    uint64_t at, found = MLDF_NONE;
    size_t bytes;
    mldf_status status = mldfi_reader_key_range(reader, sample, &at, &bytes, problem);
    if (status < 0)
        return status;
    worker->scratch.size = 0;
    if ((status = mldfi_buffer_resize(&worker->scratch, bytes, problem)) < 0 ||
        (status = mldfi_reader_copy(reader, at, worker->scratch.data, bytes, problem)) < 0)
        return status;
    const char *key = (const char *)worker->scratch.data;
    if (memchr(key, 0, bytes) || mldfi_utf8_valid_prefix(key, bytes) != bytes)
        return mldfi_reader_fail(reader, problem, MLDF_E_CORRUPT, at, "its key is not text");
    status = mldf_reader_find_key(reader, key, bytes, &found, problem);
    if (status == MLDF_E_CORRUPT && problem->sample != MLDF_NONE && problem->sample != sample)
        return MLDF_OK; /* the search met a key that is bad itself, which is told as that sample's */
    if (status < 0 && status != MLDF_E_NO_SAMPLE)
        return status;
    if (found != sample)
        return mldfi_reader_fail(reader, problem, MLDF_E_CORRUPT, reader->keys->ptr + 8 * sample, "%s",
                                 status < 0 ? "its key is not found by looking it up"
                                            : "its key leads to another sample");
    return MLDF_OK;
}

static mldf_status check_keys(struct verify_worker *worker, struct verify_job *job, mldf_error *err) {
    for (uint64_t i = job->first; i < job->first + job->count; i++) {
        mldf_error problem;
        mldf_status status = check_key(worker, i, &problem);
        if (status < 0 && !mldfi_is_problem(status)) {
            *err = problem;
            return status;
        }
        if (status < 0) {
            mldfi_error_place(&problem, i, NULL);
            if ((status = mldfi_verify_add(job, &problem, err)) < 0)
                return status;
        }
        if (i % 64 == 0 && (status = mldfi_verify_pulse(worker, err)) < 0)
            return status;
    }
    return MLDF_OK;
}

static mldf_status count_slots(struct verify *verify, void *user, uint64_t offset, const uint8_t *data, size_t bytes,
                               mldf_error *err) {
    uint64_t *used = user;
    (void)verify, (void)offset, (void)err;
    for (size_t at = 0; at + 8 <= bytes; at += 8)
        *used += mldfi_load_u64(data + at) != 0;
    return MLDF_OK;
}

mldf_status mldfi_verify_keys(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t used = 0;
    if (!mldfi_verify_usable(verify, reader->keys))
        return MLDF_OK;
    TRY(mldfi_verify_ranges(verify, check_keys, KEYS_AT_ONCE, err));
    uint64_t slots_at = reader->keys->ptr + reader->keys_bytes_end;
    mldf_status status = walk(verify, slots_at, UINT64_C(8) << reader->keys->param, count_slots, &used, err);
    if (status >= 0 && used != reader->header.num_samples)
        mldfi_verify_problem(verify, MLDF_E_CORRUPT, slots_at, MLDF_NONE,
                             "%" PRIu64 " key slots are used for %" PRIu64 " samples", used,
                             reader->header.num_samples);
    return status;
}

/* ---- V6: page map ---------------------------------------------------------------------------------------------------------------------- */

struct page_walk {
    uint64_t first, count; /* pages of this walk */
    uint64_t *lowest;
};

static void note_payload(const struct verify *verify, struct page_walk *w, uint64_t sample, uint64_t ptr,
                         uint64_t bytes) {
    const struct header *header = &verify->reader->header;
    uint64_t from = (ptr - header->data_ptr) / header->page_size;
    uint64_t to = (ptr + bytes - 1 - header->data_ptr) / header->page_size;
    if (from < w->first)
        from = w->first;
    if (to >= w->first + w->count)
        to = w->first + w->count - 1;
    for (uint64_t page = from; page <= to && page - w->first < w->count; page++)
        if (sample < w->lowest[page - w->first])
            w->lowest[page - w->first] = sample;
}

/* Rows in pieces of 1 MiB do not begin at rows: `walk` is given whole rows by its caller. */
static mldf_status note_rows(struct verify *verify, struct page_walk *w, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t n = reader->header.num_samples, at_once = VERIFY_CHUNK / reader->row_bytes;
    mldf_buffer rows = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (at_once == 0)
        at_once = 1;
    for (uint64_t first = 0; first < n && status >= 0; first += at_once) {
        uint64_t count = n - first < at_once ? n - first : at_once;
        size_t bytes = (size_t)(count * reader->row_bytes);
        rows.size = 0;
        if ((status = mldfi_buffer_resize(&rows, bytes, err)) < 0 ||
            (status = mldfi_reader_copy(reader, reader->tables.metadata.ptr + first * reader->row_bytes, rows.data,
                                        bytes, err)) < 0)
            break;
        for (uint64_t i = 0; i < count; i++)
            for (size_t f = 0; f < reader->schema->field_count; f++) {
                const struct schema_field *field = &reader->schema->fields[f];
                uint64_t ptr, size;
                if (!mldfi_field_has_payload(field))
                    continue;
                mldfi_record_payload(field, rows.data + i * reader->row_bytes + field->info.row_offset, &ptr, &size);
                if (size && ptr >= reader->header.data_ptr && mldfi_range_inside(ptr, size, reader->end))
                    note_payload(verify, w, first + i, ptr, size);
            }
        status = mldfi_verify_tick(verify, err);
    }
    mldf_buffer_free(&rows);
    return status;
}

static mldf_status compare_pages(struct verify *verify, const struct page_walk *w, mldf_error *err) {
    const struct section *map = verify->reader->page_map;
    for (uint64_t i = 0; i < w->count; i++) {
        uint64_t at = map->ptr + 8 * (w->first + i);
        uint8_t word[8];
        TRY(mldfi_reader_copy(verify->reader, at, word, sizeof word, err));
        if (mldfi_load_u64(word) != w->lowest[i])
            mldfi_verify_problem(verify, MLDF_E_CORRUPT, at, MLDF_NONE,
                                 "page map, page %" PRIu64 ": sample %" PRId64 " instead of %" PRId64 " (-1: none)",
                                 w->first + i, (int64_t)mldfi_load_u64(word), (int64_t)w->lowest[i]);
    }
    return MLDF_OK;
}

mldf_status mldfi_verify_page_map(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    mldf_status status = MLDF_OK;
    if (!mldfi_verify_usable(verify, reader->page_map) || verify->bad_rows || verify->bad_allocations)
        return MLDF_OK;
    uint64_t pages = reader->page_map->size / 8, at_once = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
    struct page_walk w = {0, 0, NULL};
    if (pages == 0)
        return MLDF_OK;
    w.lowest = mldfi_alloc((size_t)(8 * at_once), err);
    if (!w.lowest)
        return MLDF_E_MEMORY;
    for (w.first = 0; w.first < pages && status >= 0; w.first += w.count) {
        w.count = pages - w.first < at_once ? pages - w.first : at_once;
        memset(w.lowest, 0xff, (size_t)(8 * w.count));
        status = note_rows(verify, &w, err);
        if (status >= 0)
            status = compare_pages(verify, &w, err);
    }
    free(w.lowest);
    return status;
}

/* ---- V7: history ------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_verify_history(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    const struct section *s = mldfi_reader_find_section(reader, SECTION_HISTORY);
    uint32_t before = 0;
    if (!mldfi_verify_usable(verify, s))
        return MLDF_OK;
    for (uint64_t at = 0; at < s->size; at += FORMAT_HISTORY_BYTES) {
        uint8_t record[FORMAT_HISTORY_BYTES];
        TRY(mldfi_reader_copy(reader, s->ptr + at, record, sizeof record, err));
        uint32_t generation = mldfi_load_u32(record);
        uint64_t first = mldfi_load_u64(record + 8), count = mldfi_load_u64(record + 16);
        if (generation <= before || generation > reader->generation ||
            !mldfi_range_inside(first, count, reader->header.num_samples))
            mldfi_verify_problem(verify, MLDF_E_CORRUPT, s->ptr + at, MLDF_NONE,
                                 "history: generation %" PRIu32 " with samples %" PRIu64 " + %" PRIu64, generation,
                                 first, count);
        before = generation;
    }
    return MLDF_OK;
}
