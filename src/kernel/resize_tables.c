/* Makes tables of weights and remembers the last few. The weights themselves come from resize_axis.c (bilinear) and
 * resample_table.c. */
#include "kernel/resize_tables.h"

#include <inttypes.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static bool same_axis(const struct axis *a, const struct axis *b) {
    return a->size == b->size && a->box_from == b->box_from && a->box_size == b->box_size && a->target == b->target &&
           a->from == b->from && a->count == b->count && a->mirror == b->mirror && a->antialias == b->antialias &&
           a->filter == b->filter;
}

/* The kept table when there is one, else an empty place for it. */
static struct kept_table *look(struct table_set *set, const struct axis *axis, uint32_t channels, bool *found) {
    for (uint32_t i = 0; i < KEPT_TABLES; i++) {
        struct kept_table *t = &set->kept[i];
        *found = t->axis.count != 0 && t->channels == channels && same_axis(&t->axis, axis);
        if (*found)
            return t;
    }
    struct kept_table *t = &set->kept[set->next];
    set->next = (set->next + 1) % KEPT_TABLES;
    t->axis.count = 0; /* until it is made */
    return t;
}

static mldf_status too_large(const struct axis *axis, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_LIMIT, "resizing %" PRIu32 " pixels to %" PRIu32 " needs too many weights",
                      axis->size, axis->target);
}

static void keep(struct kept_table *t, const struct axis *axis, uint32_t channels) {
    t->axis = *axis;
    t->channels = channels;
}

/* ---- Rows --------------------------------------------------------------------------------------------------------------- */

/* Weights of 2^-14 in memory: offset[stride], then pairs of weights [pairs][stride], then one pixel's while it is made. */
static mldf_status row_memory(struct kept_table *t, const struct axis *axis, uint32_t *pairs, mldf_error *err) {
    uint64_t taps = mldfi_axis_taps(axis), stride = mldfi_align_up(axis->count, TAP_BLOCK), most = UINT64_C(1) << 31;
    *pairs = (uint32_t)((taps + 1) / 2);
    if (*pairs > most / 4 / stride)
        return too_large(axis, err);
    mldf_status status = mldfi_buffer_resize(&t->memory, (size_t)(4 * stride * (1 + *pairs) + 2 * taps), err);
    if (status < 0)
        return status;
    memset(t->memory.data, 0, t->memory.size);
    t->as.row.table.count = axis->count;
    t->as.row.table.stride = (size_t)stride;
    return MLDF_OK;
}

/* A pixel's taps all lie in the row even where some have no weight: a window that would pass the row's end is moved back. */
static void place_row(struct row_taps *r, uint32_t *offset, int16_t *weights, int16_t *scratch, const struct axis *axis,
                      uint32_t channels) {
    uint32_t begin = UINT32_MAX, end = 0, most = 0, n, first;
    for (uint32_t i = 0; i < axis->count; i++) {
        n = mldfi_axis_bilinear(axis, i, &first, scratch);
        begin = first < begin ? first : begin;
        end = first + n > end ? first + n : end;
        most = n > most ? n : most;
        offset[i] = first;
    }
    r->first = begin;
    r->pixels = end - begin;
    r->table.pairs = (most + 1) / 2;
    uint32_t window = 2 * r->table.pairs;
    uint32_t last = r->pixels > window ? r->pixels - window : 0;
    for (uint32_t i = 0; i < axis->count; i++) {
        n = mldfi_axis_bilinear(axis, i, &first, scratch);
        uint32_t at = first - begin, from = at > last ? last : at;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t tap = at - from + k;
            weights[(tap / 2 * r->table.stride + i) * 2 + tap % 2] = scratch[k];
        }
        offset[i] = from * channels;
    }
}

mldf_status mldfi_row_taps(struct resize_tables *tables, const struct axis *axis, uint32_t channels,
                           const struct row_taps **out, mldf_error *err) {
    bool found;
    uint32_t pairs;
    struct kept_table *t = look(&tables->row, axis, channels, &found);
    *out = &t->as.row;
    if (found)
        return MLDF_OK;
    mldf_status status = row_memory(t, axis, &pairs, err);
    if (status < 0)
        return status;
    struct tap_table *table = &t->as.row.table;
    uint32_t *offset = (uint32_t *)(void *)t->memory.data;
    int16_t *weights = (int16_t *)(void *)(offset + table->stride);
    table->offset = offset;
    table->weights = weights;
    place_row(&t->as.row, offset, weights, weights + 2 * table->stride * pairs, axis, channels);
    keep(t, axis, channels);
    return MLDF_OK;
}

/* ---- Columns ------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_column_taps(struct resize_tables *tables, const struct axis *axis, const struct column_taps **out,
                              mldf_error *err) {
    bool found;
    struct kept_table *t = look(&tables->column, axis, 0, &found);
    struct column_taps *c = &t->as.column;
    *out = c;
    if (found)
        return MLDF_OK;
    uint64_t taps = mldfi_axis_taps(axis), most = UINT64_C(1) << 31;
    if (taps + 4 > most / 2 / axis->count)
        return too_large(axis, err);
    mldf_status status = mldfi_buffer_resize(&t->memory, (size_t)((8 + 2 * taps) * axis->count), err);
    if (status < 0)
        return status;
    uint32_t *first = (uint32_t *)(void *)t->memory.data, *used = first + axis->count;
    int16_t *weights = (int16_t *)(void *)(used + axis->count);
    c->first = first;
    c->used = used;
    c->weights = weights;
    c->taps = (uint32_t)taps;
    for (uint32_t i = 0; i < axis->count; i++)
        used[i] = mldfi_axis_bilinear(axis, i, &first[i], weights + i * (size_t)taps);
    keep(t, axis, 0);
    return MLDF_OK;
}

/* ---- The other filters --------------------------------------------------------------------------------------------------- */

mldf_status mldfi_wide_taps(struct resize_tables *tables, const struct axis *axis, bool columns,
                            const struct resample_table **out, mldf_error *err) {
    bool found;
    struct kept_table *t = look(columns ? &tables->wide_column : &tables->wide_row, axis, 0, &found);
    *out = &t->as.wide;
    if (found)
        return MLDF_OK;
    size_t bytes = mldfi_resample_table_bytes(axis);
    if (bytes == 0 || bytes > (size_t)1 << 31)
        return too_large(axis, err);
    mldf_status status = mldfi_buffer_resize(&t->memory, bytes, err);
    if (status < 0)
        return status;
    mldfi_resample_table(&t->as.wide, t->memory.data, axis);
    keep(t, axis, 0);
    return MLDF_OK;
}

static void free_set(struct table_set *set) {
    for (uint32_t i = 0; i < KEPT_TABLES; i++)
        mldf_buffer_free(&set->kept[i].memory);
}

void mldfi_resize_tables_free(struct resize_tables *tables) {
    free_set(&tables->row);
    free_set(&tables->column);
    free_set(&tables->wide_row);
    free_set(&tables->wide_column);
}
