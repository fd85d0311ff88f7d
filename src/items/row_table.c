/* The cumulative table of a view: how many items (or steps) stand in front of each row. It is made once, by one pass over the rows' records; no payload
 * is read. While all rows are alike there is no table but one number.
 *
 *   first   0   3   3   7 ...     row 1 has no item        top[k]: the row of count k << shift, about one entry a row
 *
 * An item's row is then between top[k] and top[k + 1]: mostly the same row or the next one, so finding it takes constant time; where lengths
 * differ wildly, the logarithm of the rows that share an entry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/type.h"
#include "items/items.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

#define COUNT_MAX ((uint64_t)1 << 62)

void mldfi_row_table_free(struct row_table *table) {
    free(table->first);
    free(table->steps);
    free(table->rates);
    free(table->top);
    memset(table, 0, sizeof *table);
}

/* ---- Looking --------------------------------------------------------------------------------------------------------------- */

struct row_steps mldfi_row_table_steps(const struct row_table *table, uint64_t row) {
    if (!table->first)
        return table->same;
    return (struct row_steps){table->steps[row], table->rates ? table->rates[row] : table->same.rate};
}

uint64_t mldfi_row_table_first(const struct row_table *table, uint64_t row) {
    return table->first ? table->first[row] : row * table->same_count;
}

uint64_t mldfi_row_table_end(const struct row_table *table, uint64_t row) {
    return row + 1 < table->rows ? mldfi_row_table_first(table, row + 1) : table->count;
}

uint64_t mldfi_row_table_find(const struct row_table *table, uint64_t at, uint64_t *within) {
    if (!table->first) {
        *within = at % table->same_count;
        return at / table->same_count;
    }
    uint64_t low = table->top[at >> table->shift], high = (uint64_t)table->top[(at >> table->shift) + 1] + 1;
    while (high - low > 1) { /* first[low] <= at < first[high] */
        uint64_t middle = low + (high - low) / 2;
        if (table->first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *within = at - table->first[low];
    return low;
}

/* ---- Making ---------------------------------------------------------------------------------------------------------------- */

struct making {
    mldf_view *view;
    uint64_t (*count)(const mldf_view *view, struct row_steps row);
    XXH3_state_t *hash;
    struct row_steps last; /* and how many rows in a row were like it */
    uint64_t run;
};

/* What a digest sees of the rows: runs of equal ones, however they are divided into files. */
static void end_run(struct making *m) {
    uint8_t bytes[24];
    mldfi_store_u64(bytes, m->last.steps);
    mldfi_store_u64(bytes + 8, m->last.rate);
    mldfi_store_u64(bytes + 16, m->run);
    if (m->run)
        (void)XXH3_128bits_update(m->hash, bytes, sizeof bytes);
    m->run = 0;
}

static mldf_status reserve(struct row_table *t, uint64_t rows, mldf_error *err) {
    if (rows < t->capacity)
        return MLDF_OK;
    uint64_t capacity = t->capacity * 2 > rows + 1 ? t->capacity * 2 : rows + 1;
    if (rows >= UINT32_MAX || capacity > SIZE_MAX / 16)
        return mldfi_fail(err, MLDF_E_LIMIT, "a view of %" PRIu64 " rows of different lengths; 2^32 - 2 are the most",
                          rows);
    uint64_t *first = realloc(t->first, (size_t)capacity * sizeof *first);
    t->first = first ? first : t->first;
    uint64_t *steps = first ? realloc(t->steps, (size_t)capacity * sizeof *steps) : NULL;
    t->steps = steps ? steps : t->steps;
    uint32_t *rates = steps && t->rates ? realloc(t->rates, (size_t)capacity * sizeof *rates) : NULL;
    if (!first || !steps || (t->rates && !rates))
        return mldfi_fail_memory(err, (size_t)capacity * sizeof *first);
    t->rates = rates;
    t->capacity = capacity;
    return MLDF_OK;
}

/* The rows so far were alike, and the next one is not. */
static mldf_status begin_table(struct row_table *t, uint64_t expected, mldf_error *err) {
    mldf_status status = reserve(t, expected > t->rows ? expected : t->rows + 1, err);
    for (uint64_t i = 0; i < t->rows && status >= 0; i++) {
        t->first[i] = i * t->same_count;
        t->steps[i] = t->same.steps;
    }
    return status;
}

static mldf_status begin_rates(struct row_table *t, mldf_error *err) {
    t->rates = mldfi_alloc_zero((size_t)t->capacity, sizeof *t->rates, err);
    for (uint64_t i = 0; i < t->rows && t->rates; i++)
        t->rates[i] = t->same.rate;
    return t->rates ? MLDF_OK : MLDF_E_MEMORY;
}

/* `rows` more, all of them like this. */
static mldf_status add_rows(struct making *m, struct row_steps row, uint64_t rows, mldf_error *err) {
    mldf_view *view = m->view;
    struct row_table *t = &view->table;
    bool odd = row.steps == MLDF_NONE;
    uint64_t each = m->count(view, row), all;
    mldf_status status = MLDF_OK;
    if (m->run && (row.steps != m->last.steps || row.rate != m->last.rate))
        end_run(m);
    m->last = row;
    m->run += rows;
    view->empty_rows += !odd && each == 0 ? rows : 0;
    view->odd_rows += odd ? rows : 0;
    if (!mldfi_mul_u64(each, rows, &all) || !mldfi_add_u64(t->count, all, &all) || all > COUNT_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a view of more than 2^62 items or elements");
    if (t->rows == 0) {
        t->same = row;
        t->same_count = each;
    }
    bool same = row.steps == t->same.steps && row.rate == t->same.rate;
    if (!t->first && !same)
        status = begin_table(t, view->first_row[view->reader_count], err);
    if (status >= 0 && t->first && !t->rates && row.rate != t->same.rate)
        status = begin_rates(t, err);
    for (uint64_t i = 0; i < rows && t->first && status >= 0; i++) {
        status = reserve(t, t->rows + i + 1, err);
        if (status < 0)
            break;
        t->first[t->rows + i] = t->count + i * each;
        t->steps[t->rows + i] = row.steps;
        if (t->rates)
            t->rates[t->rows + i] = row.rate;
    }
    t->rows += rows;
    t->count = all;
    return status;
}

static mldf_status make_top(struct row_table *t, mldf_error *err) {
    if (!t->first)
        return MLDF_OK;
    t->first[t->rows] = t->count;
    while ((t->count >> t->shift) > 2 * t->rows + 16)
        t->shift++;
    uint64_t entries = (t->count >> t->shift) + 2, row = 0;
    t->top = mldfi_alloc_zero((size_t)entries, sizeof *t->top, err);
    for (uint64_t k = 0; t->top && k < entries; k++) {
        while (row + 1 < t->rows && t->first[row + 1] <= k << t->shift)
            row++;
        t->top[k] = (uint32_t)row;
    }
    return t->top ? MLDF_OK : MLDF_E_MEMORY;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------------------- */

/* Does this status speak of the row's bytes? Otherwise of the machine, and the view is not made. */
static bool is_of_the_row(mldf_status status) {
    return status <= MLDF_E_MAGIC || status == MLDF_E_LIMIT || status == MLDF_E_UNSUPPORTED;
}

/* The steps that a payload which is compressed or encrypted can have: a byte is at most so many as the type says. */
static uint64_t most_steps(const mldf_reader *reader, const struct schema_field *f, uint64_t stored) {
    uint64_t bytes = mldfi_reader_most_bytes(reader, f, stored);
    unsigned shift = f->type->steps_shift;
    return bytes > COUNT_MAX >> shift ? COUNT_MAX : bytes << shift;
}

/* What the record says of itself against its payload's size. *most: the steps that there can be. */
static mldf_status check_record(const mldf_reader *reader, const struct schema_field *f, uint64_t row,
                                const uint8_t *record, mldf_buffer *scratch, uint64_t *most, mldf_error *err) {
    uint64_t ptr = 0, bytes = 0;
    mldf_value value;
    mldfi_record_payload(f, record, &ptr, &bytes);
    mldf_status status = mldfi_reader_check_payload(reader, row, f, 0, ptr, &bytes, err);
    bool hidden = bytes && ((f->info.flags & MLDF_FIELD_COMPRESSED) || (reader->encrypted && !f->chunked));
    bytes = mldfi_reader_value_bytes(f, bytes);
    *most = hidden ? most_steps(reader, f, bytes) : COUNT_MAX;
    if (status < 0 || hidden)
        return status;
    return mldfi_field_decode(f, record, 0, NULL, bytes, 0, scratch, &value, err);
}

/* Of one record. A null, or a record that contradicts itself or claims more steps than can be, has no length: its item tells why when it is read. */
static mldf_status look(const mldf_reader *reader, const struct schema_field *f, size_t field, uint64_t row,
                        const uint8_t *record, mldf_buffer *scratch, struct row_steps *out, mldf_error *err) {
    struct field_steps found = {0, 0};
    uint64_t most = 0;
    mldf_status status = MLDF_OK;
    bool valid = true;
    *out = (struct row_steps){MLDF_NONE, 0};
    if (f->info.flags & MLDF_FIELD_NULLABLE)
        status = mldfi_reader_is_valid(reader, row, field, &valid, err);
    if (status >= 0 && valid)
        status = check_record(reader, f, row, record, scratch, &most, err);
    if (status >= 0 && valid && f->type->steps(f, record, &found) && found.steps <= most)
        *out = (struct row_steps){found.steps, found.rate};
    return status < 0 && is_of_the_row(status) ? MLDF_OK : status;
}

static mldf_status scan_rows(struct making *m, const mldf_reader *reader, size_t field, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t rows = mldf_reader_sample_count(reader);
    mldf_buffer piece = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0, end; at < rows && status >= 0; at = end) {
        const uint8_t *block;
        status = mldfi_reader_rows(reader, at, &piece, &block, &end, err);
        for (uint64_t i = at; i < end && status >= 0; i++) {
            const uint8_t *record = block + (i - at) * reader->row_bytes + f->info.row_offset;
            struct row_steps row;
            scratch.size = 0;
            status = look(reader, f, field, i, record, &scratch, &row, err);
            if (status >= 0)
                status = add_rows(m, row, 1, err);
        }
    }
    mldf_buffer_free(&piece);
    mldf_buffer_free(&scratch);
    return status;
}

/* Formats without rows of their own: from the values. */
static mldf_status scan_values(struct making *m, const mldf_reader *reader, size_t field, mldf_error *err) {
    uint64_t rows = mldf_reader_sample_count(reader);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < rows && status >= 0; i++) {
        mldf_value value;
        struct row_steps row = {MLDF_NONE, 0};
        status = mldf_reader_get(reader, i, field, &scratch, &value, err);
        if (status >= 0 && value.kind == MLDF_KIND_ARRAY && value.ndim)
            row.steps = value.dims[0];
        if (status >= 0 || is_of_the_row(status))
            status = add_rows(m, row, 1, err);
    }
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status scan_reader(struct making *m, size_t index, mldf_error *err) {
    const mldf_reader *reader = m->view->readers[index];
    size_t field = m->view->fields[index];
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t rows = mldf_reader_sample_count(reader);
    bool fixed = f->info.ndim && f->info.dims[0] >= 0 && !(f->info.flags & MLDF_FIELD_NULLABLE);
    if (rows == 0)
        return MLDF_OK;
    if (fixed)
        return add_rows(m, (struct row_steps){(uint64_t)f->info.dims[0], 0}, rows, err);
    return reader->foreign.ops || reader->row_bytes == 0 ? scan_values(m, reader, field, err)
                                                         : scan_rows(m, reader, field, err);
}

mldf_status mldfi_row_table_make(mldf_view *view, uint64_t (*count)(const mldf_view *view, struct row_steps row),
                                 mldf_error *err) {
    struct making m = {view, count, XXH3_createState(), {0, 0}, 0};
    mldf_status status = m.hash ? MLDF_OK : mldfi_fail_memory(err, 576);
    if (m.hash)
        (void)XXH3_128bits_reset(m.hash);
    for (size_t i = 0; i < view->reader_count && status >= 0; i++)
        status = scan_reader(&m, i, err);
    if (status >= 0)
        status = make_top(&view->table, err);
    if (status >= 0) {
        end_run(&m);
        XXH128_canonical_t digest;
        XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(m.hash));
        memcpy(view->digest, digest.digest, sizeof view->digest); /* view.c goes on with it */
    }
    XXH3_freeState(m.hash);
    return status;
}
