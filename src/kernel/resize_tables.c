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
           a->filter == b->filter && a->spread == b->spread && a->spread_at == b->spread_at &&
           a->spread_size == b->spread_size;
}

/* The kept table when there is one, else an empty place for it. */
static struct kept_table *look(struct table_set *set, const struct axis *axis, uint32_t channels, bool *found) {
    for (uint32_t i = 0; i < KEPT_TABLES; i++) {
        struct kept_table *t = &set->kept[i];
        *found = t->axis.count != 0 && t->channels == channels && same_axis(&t->axis, axis);
        if (*found) {
            if (i == set->next) /* in use: another one goes first */
                set->next = (set->next + 1) % KEPT_TABLES;
            return t;
        }
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

/* In memory: offset[stride], pairs of weights [pairs][stride]; behind them, while the table is made, used[count] and the weights as
 * they come, [count][taps]. */
struct row_memory {
    uint32_t *offset, *used;
    int16_t *weights, *raw;
    uint32_t taps;
};

static mldf_status row_memory(struct kept_table *t, const struct axis *axis, uint32_t steps, struct row_memory *out,
                              mldf_error *err) {
    uint64_t taps = (uint64_t)steps + 1, stride = mldfi_align_up(axis->count, TAP_BLOCK), most = UINT64_C(1) << 31;
    uint64_t pairs = (taps + 1) / 2;
    if (pairs > most / 8 / stride)
        return too_large(axis, err);
    TRY(mldfi_buffer_resize(&t->memory, (size_t)(4 * stride * (2 + 2 * pairs)), err));
    out->offset = (uint32_t *)(void *)t->memory.data;
    out->weights = (int16_t *)(void *)(out->offset + stride);
    out->used = out->offset + stride * (1 + pairs);
    out->raw = (int16_t *)(void *)(out->used + stride);
    out->taps = (uint32_t)taps;
    t->as.row.table.count = axis->count;
    t->as.row.table.stride = (size_t)stride;
    t->as.row.table.offset = out->offset;
    t->as.row.table.weights = out->weights;
    return MLDF_OK;
}

static void weigh_row(struct row_taps *r, const struct row_memory *m, const struct axis *axis,
                      const struct axis_plan *plan) {
    uint32_t begin = UINT32_MAX, end = 0, most = 0;
    for (uint32_t i = 0; i < axis->count; i++) {
        uint32_t first, n = mldfi_axis_bilinear(axis, plan, i, &first, m->raw + (size_t)i * m->taps);
        begin = first < begin ? first : begin;
        end = first + n > end ? first + n : end;
        most = n > most ? n : most;
        m->offset[i] = first;
        m->used[i] = n;
    }
    r->first = begin;
    r->pixels = end - begin;
    r->table.pairs = (most + 1) / 2;
}

/* A pixel's taps all lie in the row even where some have no weight: a window that would pass the row's end is moved back. */
static void place_row(struct row_taps *r, const struct row_memory *m, uint32_t channels) {
    const size_t stride = r->table.stride;
    uint32_t window = 2 * r->table.pairs, last = r->pixels > window ? r->pixels - window : 0;
    memset(m->weights, 0, 4 * stride * r->table.pairs);
    for (uint32_t i = 0; i < r->table.count; i++) {
        uint32_t at = m->offset[i] - r->first, from = at > last ? last : at, tap = at - from;
        const int16_t *raw = m->raw + (size_t)i * m->taps;
        for (uint32_t k = 0; k < m->used[i]; k++, tap++)
            m->weights[(tap / 2 * stride + i) * 2 + tap % 2] = raw[k];
        m->offset[i] = from * channels;
    }
    for (size_t i = r->table.count; i < stride; i++) /* pixels without weight, beside the last one */
        m->offset[i] = m->offset[r->table.count - 1];
    r->table.span = 0;
    for (size_t i = 0; i < stride; i += TAP_BLOCK) { /* offsets rise, or fall when mirrored */
        uint32_t a = m->offset[i], b = m->offset[i + TAP_BLOCK - 1], apart = (a < b ? b - a : a - b) / channels;
        r->table.span = apart + window > r->table.span ? apart + window : r->table.span;
    }
}

mldf_status mldfi_row_taps(struct resize_tables *tables, const struct axis *axis, uint32_t channels,
                           const struct row_taps **out, mldf_error *err) {
    bool found;
    struct row_memory memory = {0};
    struct kept_table *t = look(&tables->row, axis, channels, &found);
    *out = &t->as.row;
    if (found)
        return MLDF_OK;
    struct axis_plan plan;
    mldfi_axis_begin(axis, &plan);
    TRY(row_memory(t, axis, plan.steps, &memory, err));
    weigh_row(&t->as.row, &memory, axis, &plan);
    place_row(&t->as.row, &memory, channels);
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
    struct axis_plan plan;
    mldfi_axis_begin(axis, &plan);
    uint64_t taps = (uint64_t)plan.steps + 1, most = UINT64_C(1) << 31;
    if (taps + 4 > most / 2 / axis->count)
        return too_large(axis, err);
    TRY(mldfi_buffer_resize(&t->memory, (size_t)((8 + 2 * taps) * axis->count), err));
    uint32_t *first = (uint32_t *)(void *)t->memory.data, *used = first + axis->count;
    int16_t *weights = (int16_t *)(void *)(used + axis->count);
    c->first = first;
    c->used = used;
    c->weights = weights;
    c->taps = (uint32_t)taps;
    for (uint32_t i = 0; i < axis->count; i++)
        used[i] = mldfi_axis_bilinear(axis, &plan, i, &first[i], weights + i * (size_t)taps);
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
    TRY(mldfi_buffer_resize(&t->memory, bytes, err));
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
