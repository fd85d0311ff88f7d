/* Tables under construction (see row_tables.h). Everything here runs on one thread at a time and in sample order, so the same
 * samples give the same bytes. Read place.c for the caller, finish_file.c for what becomes of the streams. */
#include "writer/row_tables.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

enum { STREAMS = 7 };

static struct spill_stream *stream_at(struct table_builder *tables, size_t i) {
    struct spill_stream *const streams[STREAMS] = {&tables->rows,      &tables->allocations, &tables->checks,
                                                   &tables->page_map,  &tables->key_bytes,   &tables->key_ends,
                                                   &tables->key_hashes};
    return streams[i];
}

mldf_status mldfi_tables_init(struct table_builder *tables, const mldf_schema *schema, const char *target,
                              mldf_error *err) {
    *tables = (struct table_builder){.schema = schema};
    TRY(mldfi_spill_init(&tables->spill, target, err));
    for (size_t i = 0; i < STREAMS; i++)
        mldfi_stream_init(stream_at(tables, i), &tables->spill);
    size_t nullable = schema->nullable_count;
    tables->validity = mldfi_alloc_zero(nullable + 1, sizeof *tables->validity, err);
    tables->validity_byte = mldfi_alloc_zero(nullable + 1, 1, err);
    tables->stats = mldfi_alloc_zero(schema->field_count, sizeof *tables->stats, err);
    if (!tables->validity || !tables->validity_byte || !tables->stats) {
        mldfi_tables_free(tables);
        return MLDF_E_MEMORY;
    }
    for (size_t i = 0; i < nullable; i++)
        mldfi_stream_init(&tables->validity[i], &tables->spill);
    for (size_t i = 0; i < schema->field_count; i++)
        mldfi_stats_begin(&tables->stats[i]);
    return MLDF_OK;
}

void mldfi_tables_free(struct table_builder *tables) {
    mldfi_spill_free(&tables->spill);
    free(tables->validity);
    free(tables->validity_byte);
    free(tables->stats);
    tables->validity = NULL;
    tables->validity_byte = NULL;
    tables->stats = NULL;
}

void mldfi_tables_move(struct table_builder *to, struct table_builder *from) {
    *to = *from;
    to->spill.first = NULL;
    for (size_t i = 0; i < STREAMS + to->schema->nullable_count; i++) {
        struct spill_stream *stream = i < STREAMS ? stream_at(to, i) : &to->validity[i - STREAMS];
        stream->spill = &to->spill;
        stream->next = to->spill.first;
        to->spill.first = stream;
    }
    *from = (struct table_builder){.spill = {.file = OS_FILE_NONE}};
}

mldf_status mldfi_tables_add_rows(struct table_builder *tables, const uint8_t *rows, size_t count, mldf_error *err) {
    return mldfi_stream_push(&tables->rows, rows, count * tables->schema->row_bytes, err);
}

static mldf_status add_key(struct table_builder *tables, const char *key, size_t key_bytes, mldf_error *err) {
    if (tables->keys == KEYS_UNDECIDED)
        tables->keys = key ? KEYS_ALL : KEYS_NONE;
    if ((tables->keys == KEYS_ALL) != (key != NULL))
        return mldfi_fail(err, MLDF_E_KEY,
                          key ? "has a key, but the samples before it have none"
                              : "has no key, but the samples before it have one");
    if (!key)
        return MLDF_OK;
    if (key_bytes == 0 || key_bytes > FORMAT_MAX_KEY)
        return mldfi_fail(err, MLDF_E_KEY, "a key of %zu bytes; keys have 1 to %d", key_bytes, FORMAT_MAX_KEY);
    if (memchr(key, 0, key_bytes) || mldfi_utf8_valid_prefix(key, key_bytes) != key_bytes)
        return mldfi_fail(err, MLDF_E_KEY, "the key is not UTF-8 text without NUL");
    uint8_t word[8];
    mldf_status status = mldfi_stream_push(&tables->key_bytes, key, key_bytes, err);
    if (status < 0)
        return status;
    mldfi_store_u64(word, mldfi_stream_bytes(&tables->key_bytes));
    if ((status = mldfi_stream_push(&tables->key_ends, word, sizeof word, err)) < 0)
        return status;
    mldfi_store_u64(word, mldfi_key_hash(key, key_bytes));
    return mldfi_stream_push(&tables->key_hashes, word, sizeof word, err);
}

mldf_status mldfi_key_read(const struct table_builder *tables, uint64_t index, mldf_buffer *out, mldf_error *err) {
    uint8_t ends[16] = {0};
    TRY(index == 0 ? mldfi_stream_read(&tables->key_ends, 0, ends + 8, 8, err)
                   : mldfi_stream_read(&tables->key_ends, 8 * (index - 1), ends, 16, err));
    uint64_t begin = mldfi_load_u64(ends), end = mldfi_load_u64(ends + 8);
    mldf_status status = mldfi_buffer_resize(out, (size_t)(end - begin), err);
    return status < 0 ? status : mldfi_stream_read(&tables->key_bytes, begin, out->data, out->size, err);
}

static mldf_status add_validity(struct table_builder *tables, const uint8_t *valid, mldf_error *err) {
    unsigned bit = (unsigned)(tables->samples & 7);
    for (size_t i = 0; i < tables->schema->nullable_count; i++) {
        tables->validity_byte[i] = (uint8_t)(tables->validity_byte[i] | (valid[i] != 0) << bit);
        if (bit != 7)
            continue;
        TRY(mldfi_stream_push(&tables->validity[i], &tables->validity_byte[i], 1, err));
        tables->validity_byte[i] = 0;
    }
    return MLDF_OK;
}

static void add_stats(struct table_builder *tables, const uint8_t *row, const uint8_t *valid,
                      const struct value_note *notes) {
    const mldf_schema *schema = tables->schema;
    for (size_t f = 0; f < schema->field_count; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (field->nullable_index != SIZE_MAX && !valid[field->nullable_index]) {
            mldfi_stats_null(&tables->stats[f]);
            continue;
        }
        const uint8_t *record = row + field->info.row_offset;
        struct observation seen;
        seen.number_kind = 0;
        seen.ndim = 0;
        seen.has_units = false;
        if (field->type && field->type->observe)
            field->type->observe(field->state, record, &seen);
        const struct value_note *note = NULL;
        uint64_t ptr, stored = 0;
        if (mldfi_field_has_payload(field)) {
            mldfi_record_payload(field, record, &ptr, &stored);
            note = &notes[field->payload_index];
        }
        mldfi_stats_add(&tables->stats[f], &seen, stored, note ? note->bytes : 0);
        if (note && note->ranged)
            mldfi_stats_range(&tables->stats[f], note->least, note->most);
    }
}

mldf_status mldfi_tables_add_sample(struct table_builder *tables, const uint8_t *row, const uint8_t *valid,
                                    const struct value_note *notes, const char *key, size_t key_bytes,
                                    mldf_error *err) {
    mldf_status status = add_key(tables, key, key_bytes, err);
    if (status >= 0 && tables->schema->nullable_count)
        status = add_validity(tables, valid, err);
    if (status < 0) {
        mldfi_error_place(err, tables->samples, NULL);
        return status;
    }
    add_stats(tables, row, valid, notes);
    tables->samples++;
    return MLDF_OK;
}

mldf_status mldfi_tables_fill_pages(struct table_builder *tables, uint64_t page, mldf_error *err) {
    const uint64_t none = UINT64_MAX;
    mldf_status status = MLDF_OK;
    while (tables->pages < page && status >= 0) {
        status = mldfi_stream_push(&tables->page_map, &none, sizeof none, err);
        tables->pages++;
    }
    return status;
}

mldf_status mldfi_tables_add_allocation(struct table_builder *tables, uint64_t ptr, uint64_t bytes, uint64_t sample,
                                        mldf_error *err) {
    uint8_t entry[FORMAT_ALLOCATION_BYTES];
    mldfi_store_u64(entry, ptr);
    mldfi_store_u64(entry + 8, bytes);
    mldf_status status = mldfi_stream_push(&tables->allocations, entry, sizeof entry, err);
    if (status < 0)
        return status;
    uint64_t last = (ptr + bytes - 1 - tables->data_ptr) / tables->page_size;
    if (last < tables->pages)
        return MLDF_OK;
    uint64_t first = (ptr - tables->data_ptr) / tables->page_size;
    if ((status = mldfi_tables_fill_pages(tables, first, err)) < 0)
        return status;
    uint8_t word[8];
    mldfi_store_u64(word, sample);
    while (tables->pages <= last && status >= 0) {
        status = mldfi_stream_push(&tables->page_map, word, sizeof word, err);
        tables->pages++;
    }
    return status;
}

mldf_status mldfi_tables_end(struct table_builder *tables, mldf_error *err) {
    static const uint8_t zeros[8] = {0};
    for (size_t i = 0; i < tables->schema->nullable_count; i++) {
        mldf_status status = MLDF_OK;
        if (tables->samples & 7)
            status = mldfi_stream_push(&tables->validity[i], &tables->validity_byte[i], 1, err);
        size_t over = mldfi_stream_bytes(&tables->validity[i]) & 7;
        if (status >= 0 && over)
            status = mldfi_stream_push(&tables->validity[i], zeros, 8 - over, err);
        if (status < 0)
            return status;
    }
    for (size_t f = 0; f < tables->schema->field_count; f++)
        mldfi_stats_end(&tables->stats[f]);
    return MLDF_OK;
}
