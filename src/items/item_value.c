/* The cut field of an item: a place in the file's mapping where it is one piece that is all there, else a copy. Of a payload that is stored as it is
 * only the piece is read; what is compressed, encrypted or checked is read whole, by the reader. */
#include <inttypes.h>
#include <string.h>

#include "field/type.h"
#include "items/packed.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PREFETCH_BYTES = 8192 };

void mldfi_item_cache_free(struct item_cache *cache) {
    mldf_buffer_free(&cache->aside);
    mldfi_packed_item_free(cache->packed);
    cache->packed = NULL;
}

static mldf_status fail_row(const mldf_reader *reader, uint64_t row, const char *field, mldf_error *err) {
    mldfi_error_place(err, row, field);
    return mldfi_reader_name_error(reader, err, err ? err->status : MLDF_E_CORRUPT);
}

bool mldfi_item_is_mapped(const mldf_reader *reader, const void *data) {
    uintptr_t at = (uintptr_t)data, base = (uintptr_t)reader->map.data;
    return reader->mapped && data && at >= base && at - base < reader->physical_bytes;
}

mldf_status mldfi_item_row(const mldf_reader *reader, uint64_t row, size_t field, struct item_cache *cache,
                           mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    size_t slot = (size_t)(row % ITEM_CACHE);
    if (cache->rows[slot].reader == reader && cache->rows[slot].row == row) {
        *out = cache->rows[slot].value;
        return MLDF_OK;
    }
    mldf_status status = mldfi_reader_record(reader, row, field, scratch, out, err);
    bool mapped = status >= 0 && mldfi_item_is_mapped(reader, out->data);
    /* Of a file that is read the record says it all; its bytes are the scratch buffer's, so they are not kept. */
    if (status >= 0 && out->kind == MLDF_KIND_ARRAY && (mapped || (!out->data && !reader->mapped))) {
        cache->rows[slot].reader = reader;
        cache->rows[slot].row = row;
        cache->rows[slot].value = *out;
        if (!mapped) {
            cache->rows[slot].value.record = NULL;
            cache->rows[slot].value.record_bytes = 0;
        }
    }
    return status;
}

void mldfi_item_prefetch(const mldf_reader *const *readers, const struct item_place *place,
                         const struct item_cache *cache) {
    size_t slot = (size_t)(place->row % ITEM_CACHE);
    const mldf_value *v = &cache->rows[slot].value;
    if (cache->rows[slot].reader != readers[place->reader] || cache->rows[slot].row != place->row || place->odd ||
        v->kind != MLDF_KIND_ARRAY || !v->data || v->dims[0] == 0 || place->from + place->have > v->dims[0])
        return;
    size_t step = (size_t)(v->bytes / v->dims[0]), bytes = (size_t)place->have * step;
    const uint8_t *from = (const uint8_t *)v->data + place->from * step;
    const uint8_t *end = from + (bytes < PREFETCH_BYTES ? bytes : PREFETCH_BYTES);
    for (; from < end; from += 64)
        __builtin_prefetch(from, 0,
                           2); /* into the second cache: the first one has room for fewer at a time, and would wait */
}

/* Steps of the value, and bytes of one. */
static mldf_status measure(const mldf_view *view, const mldf_reader *reader, const mldf_piece *piece,
                           const struct schema_field *f, const mldf_value *v, size_t *step, mldf_error *err) {
    struct field_steps found = {v->kind == MLDF_KIND_ARRAY && v->ndim ? v->dims[0] : 0, 0};
    if (v->record && !reader->foreign.ops)
        (void)f->type->steps(f, v->record, &found);
    *step = found.steps ? (size_t)(v->bytes / found.steps) : 0;
    if (piece->from + piece->length <= found.steps)
        return MLDF_OK;
    mldfi_fail(err, MLDF_E_CORRUPT,
               "it has %" PRIu64 " elements, and the view has a piece from %" PRIu64 " to %" PRIu64 " of it",
               found.steps, piece->from, piece->from + piece->length);
    return fail_row(reader, piece->row, view->field, err);
}

/* One piece: *data in the mapping or in scratch. value: the row's whole one. *step: bytes of a step. */
static mldf_status get_piece(const mldf_view *view, const mldf_reader *reader, const mldf_piece *piece, bool record,
                             struct item_cache *cache, mldf_buffer *scratch, mldf_value *value, const uint8_t **data,
                             size_t *step, mldf_error *err) {
    size_t field = view->fields[piece->reader];
    const struct schema_field *f = &reader->schema->fields[field];
    *data = NULL;
    mldf_status status = mldfi_item_row(reader, piece->row, field, cache, scratch, value, err);
    if (status < 0 || value->kind == MLDF_KIND_NULL)
        return status;
    status = measure(view, reader, piece, f, value, step, err);
    uint64_t offset = piece->from * *step, bytes = piece->length * *step;
    if (status < 0 || record || bytes == 0)
        return status;
    if (value->data) {
        *data = (const uint8_t *)value->data + offset;
        return MLDF_OK;
    }
    mldf_value part;
    status = mldf_reader_get_range(reader, piece->row, field, offset, bytes, scratch, &part, err);
    *data = part.data;
    return status;
}

/* The value as the item has it. An array's record speaks of the row's whole one, and of tables after its elements: a piece has none, wherever it is cut. */
static void set_steps(mldf_value *value, uint64_t steps, size_t step, const void *data) {
    if (value->kind == MLDF_KIND_ARRAY) {
        value->dims[0] = steps;
        value->record = NULL;
        value->record_bytes = 0;
    }
    value->bytes = steps * step;
    value->data = value->bytes ? data : NULL;
}

/* A later piece goes on with the first one's elements. */
static mldf_status check_same(const mldf_view *view, const mldf_reader *reader, const mldf_piece *piece,
                              const mldf_value *first, const mldf_value *v, mldf_error *err) {
    bool same = v->kind == first->kind && v->dtype == first->dtype && v->ndim == first->ndim;
    for (uint32_t i = 1; same && i < v->ndim; i++)
        same = v->dims[i] == first->dims[i];
    if (same)
        return MLDF_OK;
    mldfi_fail(err, MLDF_E_RANGE, "its elements are not those of the row that the item begins in");
    return fail_row(reader, piece->row, view->field, err);
}

/* Copies the first piece, which `data` has, and those that follow; zeros behind them. */
static mldf_status gather(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                          struct item_cache *cache, mldf_buffer *scratch, const uint8_t *data, size_t step,
                          mldf_value *out, mldf_error *err) {
    uint64_t bytes, done = place->have;
    if (!mldfi_mul_u64(place->steps, step, &bytes) || bytes > SIZE_MAX / 2)
        return mldfi_fail_memory(err, SIZE_MAX);
    mldf_status status = mldfi_buffer_resize(scratch, bytes ? (size_t)bytes : 1, err);
    if (status < 0)
        return status;
    if (data)
        memcpy(scratch->data, data, (size_t)place->have * step);
    mldf_piece piece;
    for (size_t i = 1; place->several && view->map->piece(view, place, i, &piece); i++) {
        const mldf_reader *reader = readers[piece.reader];
        mldf_value value;
        size_t its;
        status = get_piece(view, reader, &piece, false, cache, &cache->aside, &value, &data, &its, err);
        if (status < 0)
            return status;
        if (value.kind == MLDF_KIND_NULL) {
            *out = value;
            return MLDF_OK;
        }
        if ((status = check_same(view, reader, &piece, out, &value, err)) < 0)
            return status;
        if (data && its == step)
            memcpy(scratch->data + done * step, data, (size_t)piece.length * step);
        done += piece.length;
    }
    memset(scratch->data + done * step, 0, (size_t)(place->steps - done) * step);
    set_steps(out, place->steps, step, scratch->data);
    return MLDF_OK;
}

mldf_status mldfi_item_value(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                             bool record, struct item_cache *cache, mldf_buffer *scratch, mldf_value *out,
                             mldf_error *err) {
    const mldf_reader *reader = readers[place->reader];
    mldf_piece piece = {place->reader, place->row, place->from, place->have};
    bool whole = place->have == place->steps && !place->several;
    const uint8_t *data;
    size_t step = 0;
    mldf_status status = get_piece(view, reader, &piece, record, cache, whole || record ? scratch : &cache->aside, out,
                                   &data, &step, err);
    if (status < 0 || out->kind == MLDF_KIND_NULL)
        return status;
    if (place->odd) {
        mldfi_fail(err, MLDF_E_CORRUPT, "it could not be measured when the view was made");
        return fail_row(reader, place->row, view->field, err);
    }
    if (whole || record) {
        set_steps(out, place->steps, step, data);
        return MLDF_OK;
    }
    return gather(view, readers, place, cache, scratch, data, step, out, err);
}
