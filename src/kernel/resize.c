/* Resizing a window: for each output row the rows that it needs, then `finish` into its place; no image in between. Tables of the
 * last geometries are kept by the worker, because validation and fixed crops ask for the same one again and again.
 *
 *     bilinear, 8 bits   down (int16 row) → across (8-bit row) → finish
 *     nearest            picked pixels (row) → finish
 *     others             across, kept in a ring of rows → down (row) → finish
 */
#include "kernel/resize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/resample.h"
#include "kernel/resize_tables.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_status mldfi_resize_work_new(struct resize_work **out, mldf_error *err) {
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_resize_work_free(struct resize_work *work) {
    if (!work)
        return;
    mldfi_resize_tables_free(&work->tables);
    mldf_buffer_free(&work->sums);
    mldf_buffer_free(&work->row);
    free(work);
}

/* What the three ways share. */
struct run {
    const struct kernels *k;
    const struct raster *in;
    const struct resize_spec *spec;
    const uint8_t (*table)[256];
    struct finish_row finish;
    struct axis x, y;
    void *dst;
};

static void put(const struct run *r, const uint8_t *row, uint32_t y) {
    mldfi_finish_row(r->k, &r->finish, r->table, row, r->spec->out_width, r->dst, (size_t)y * r->spec->out_width);
}

/* ---- Bilinear, 8 bits ------------------------------------------------------------------------------------------------- */

static mldf_status run_bilinear(struct run *r, struct resize_work *work, const struct column_taps *y, mldf_error *err) {
    const struct row_taps *x;
    const struct raster *in = r->in;
    TRY(mldfi_row_taps(&work->tables, &r->x, in->channels, &x, err));
    size_t values = (size_t)x->pixels * in->channels;
    mldf_status status = mldfi_buffer_resize(&work->sums, values * sizeof(int16_t) + ROW_SLACK, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->row, x->table.stride * in->channels + ROW_SLACK, err);
    if (status < 0)
        return status;
    int16_t *sums = (int16_t *)(void *)work->sums.data;
    memset(sums + values, 0, ROW_SLACK); /* taps without weight read it */
    const uint8_t *left = in->data + (size_t)x->first * in->channels;
    for (uint32_t i = 0; i < r->spec->out_height; i++) {
        r->k->down(left + y->first[i] * in->stride, in->stride, y->weights + (size_t)i * y->taps, y->used[i], values,
                   sums);
        r->k->across(&x->table, in->channels, sums, work->row.data);
        put(r, work->row.data, i);
    }
    return MLDF_OK;
}

void mldfi_finish_channels(const struct finish_row *all, uint32_t channels, struct finish_row out[4]) {
    for (uint32_t c = 0; c < channels; c++) {
        out[c] = *all;
        out[c].channels = 1;
        out[c].planar = false;
        out[c].scale[0] = all->scale[c];
        out[c].shift[0] = all->shift[c];
    }
}

/* The same with the channels apart from the first pass on, each finished as an image of one channel. */
static mldf_status run_planes(struct run *r, struct resize_work *work, const struct row_taps *x,
                              const struct column_taps *y, mldf_error *err) {
    const struct raster *in = r->in;
    const uint32_t planes = in->channels, width = r->spec->out_width;
    size_t plane = (size_t)mldfi_align_up(x->pixels, 32), bytes = planes * plane * sizeof(int16_t);
    struct finish_row finish[4];
    mldf_status status = mldfi_buffer_resize(&work->sums, bytes + PLANE_SLACK, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->row, x->table.stride * planes + ROW_SLACK, err);
    if (status < 0)
        return status;
    int16_t *sums = (int16_t *)(void *)work->sums.data;
    memset(work->sums.data, 0, bytes + PLANE_SLACK);
    mldfi_finish_channels(&r->finish, planes, finish);
    const uint8_t *left = in->data + (size_t)x->first * planes;
    for (uint32_t i = 0; i < r->spec->out_height; i++) {
        const uint8_t *rows = left + y->first[i] * in->stride;
        const int16_t *weights = y->weights + (size_t)i * y->taps;
        if (planes == 3)
            r->k->down_planes(rows, in->stride, weights, y->used[i], x->pixels, sums, plane);
        else
            r->k->down(rows, in->stride, weights, y->used[i], x->pixels, sums);
        r->k->across_planes(&x->table, planes, sums, plane, work->row.data);
        for (uint32_t c = 0; c < planes; c++)
            mldfi_finish_row(r->k, &finish[c], r->table ? r->table + c : NULL, work->row.data + c * x->table.stride,
                             width, r->dst, c * r->finish.plane + (size_t)i * width);
    }
    return MLDF_OK;
}

static mldf_status choose_bilinear(struct run *r, struct resize_work *work, mldf_error *err) {
    const struct row_taps *x;
    const struct column_taps *y;
    bool planes = r->k->across_planes && (r->in->channels == 1 || (r->in->channels == 3 && r->finish.planar));
    mldf_status status = mldfi_column_taps(&work->tables, &r->y, &y, err);
    if (status == MLDF_OK && planes)
        status = mldfi_row_taps(&work->tables, &r->x, 1, &x, err);
    if (status < 0)
        return status;
    if (planes && x->table.span <= PLANE_SPAN && x->pixels >= PLANE_LEAST)
        return run_planes(r, work, x, y, err);
    return run_bilinear(r, work, y, err);
}

/* ---- Nearest ------------------------------------------------------------------------------------------------------------ */

#define PICK(N) \
    for (uint32_t i = 0; i < count; i++, out += N) \
    memcpy(out, in + (size_t)at[i] * N, N)

static void pick(const uint8_t *in, const uint32_t *at, uint32_t count, size_t pixel, uint8_t *out) {
    switch (pixel) {
    case 1:
        PICK(1);
        break;
    case 2:
        PICK(2);
        break;
    case 3:
        PICK(3);
        break;
    case 4:
        PICK(4);
        break;
    default:
        for (uint32_t i = 0; i < count; i++, out += pixel)
            memcpy(out, in + at[i] * pixel, pixel);
    }
}

static mldf_status run_nearest(struct run *r, struct resize_work *work, mldf_error *err) {
    const struct raster *in = r->in;
    size_t pixel = (size_t)in->channels * (in->bits / 8);
    uint32_t width = r->spec->out_width, last = UINT32_MAX;
    mldf_status status = mldfi_buffer_resize(&work->sums, (size_t)width * sizeof(uint32_t), err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->row, width * pixel + ROW_SLACK, err);
    if (status < 0)
        return status;
    uint32_t *at = (uint32_t *)(void *)work->sums.data;
    for (uint32_t i = 0; i < width; i++)
        at[i] = mldfi_axis_nearest(&r->x, i);
    for (uint32_t i = 0; i < r->spec->out_height; i++) {
        uint32_t y = mldfi_axis_nearest(&r->y, i);
        if (y != last)
            pick(in->data + y * in->stride, at, width, pixel, work->row.data);
        last = y;
        put(r, work->row.data, i);
    }
    return MLDF_OK;
}

/* ---- The others --------------------------------------------------------------------------------------------------------- */

/* One source row into the ring. 8-bit rows go through memory with slack behind it; 16-bit loops read no byte too far. */
static void filter_row(const struct run *r, const struct resample_table *x, uint32_t row, uint8_t *copy, uint8_t *out) {
    const struct raster *in = r->in;
    const uint8_t *from = in->data + row * in->stride;
    if (in->bits == 16) {
        mldfi_resample_across(x, in->channels, 16, from, out);
        return;
    }
    memcpy(copy, from, (size_t)in->width * in->channels);
    r->k->wide_across(x, in->channels, copy, out);
}

/* The ring of rows, and a copy of a source row behind it. */
static mldf_status wide_memory(struct run *r, struct resize_work *work, const struct resample_table *y, size_t stride,
                               uint8_t **copy, mldf_error *err) {
    size_t source = (size_t)r->in->width * r->in->channels + ROW_SLACK;
    uint64_t ring;
    if (!mldfi_mul_u64(stride, y->taps, &ring) || ring > SIZE_MAX / 2 - source)
        return mldfi_fail(err, MLDF_E_LIMIT, "resizing: %" PRIu32 " rows of %zu bytes at once", y->taps, stride);
    mldf_status status = mldfi_buffer_resize(&work->sums, (size_t)ring + source, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->row, stride, err);
    if (status < 0)
        return status;
    *copy = work->sums.data + (size_t)ring;
    memset(*copy + source - ROW_SLACK, 0, ROW_SLACK);
    return MLDF_OK;
}

/* Rows come in the order of the source, so the ring needs as many as one output row has taps. */
static mldf_status run_wide(struct run *r, struct resize_work *work, mldf_error *err) {
    const struct resample_table *x, *y;
    const struct raster *in = r->in;
    bool mirror_y = r->y.mirror;
    uint8_t *copy = NULL;
    r->y.mirror = false;
    mldf_status status = mldfi_wide_taps(&work->tables, &r->x, false, &x, err);
    if (status == MLDF_OK)
        status = mldfi_wide_taps(&work->tables, &r->y, true, &y, err);
    if (status < 0)
        return status;
    size_t samples = (size_t)r->spec->out_width * in->channels, stride = samples * (in->bits / 8) + ROW_SLACK;
    TRY(wide_memory(r, work, y, stride, &copy, err));
    uint32_t next = 0; /* source row that is not in the ring yet */
    for (uint32_t i = 0; i < y->count; i++) {
        uint32_t first = y->first[i], end = first + y->used[i];
        for (next = next < first ? first : next; next < end; next++)
            filter_row(r, x, next, copy, work->sums.data + next % y->taps * stride);
        struct resample_rows rows = {work->sums.data, stride, first % y->taps, y->taps};
        const int32_t *weights = y->weights + (size_t)i * y->taps;
        if (in->bits == 16)
            mldfi_resample_down(&rows, 16, weights, y->used[i], work->row.data, samples);
        else
            r->k->wide_down(&rows, weights, y->used[i], work->row.data, samples);
        put(r, work->row.data, mirror_y ? y->count - 1 - i : i);
    }
    return MLDF_OK;
}

/* ---- Entry ---------------------------------------------------------------------------------------------------------------- */

void mldfi_resize_axes(const struct resize_spec *s, uint32_t width, uint32_t height, mldf_image_filter filter,
                       struct axis *x, struct axis *y) {
    *x = (struct axis){.size = width,
                       .box_from = s->box_x,
                       .box_size = s->box_width,
                       .target = s->width,
                       .from = s->x,
                       .count = s->out_width,
                       .mirror = s->mirror_x,
                       .antialias = s->antialias,
                       .filter = filter};
    *y = (struct axis){.size = height,
                       .box_from = s->box_y,
                       .box_size = s->box_height,
                       .target = s->height,
                       .from = s->y,
                       .count = s->out_height,
                       .mirror = s->mirror_y,
                       .antialias = s->antialias,
                       .filter = filter};
}

static bool axis_makes_sense(const struct axis *a) {
    return a->size > 0 && a->size <= RESIZE_MAX_SIDE && a->box_size > 0 && a->target > 0 &&
           a->target <= RESIZE_MAX_SIDE && a->count > 0 &&
           mldfi_range_inside(a->box_from, a->box_size, (uint64_t)a->size * 8) &&
           mldfi_range_inside(a->from, a->count, a->target);
}

mldf_status mldfi_resize_check(const struct resize_spec *s, const struct raster *in, const struct axis *x,
                               const struct axis *y, const struct finish *finish, mldf_error *err) {
    if (!axis_makes_sense(x) || !axis_makes_sense(y) || (unsigned)s->filter > RESIZE_NEAREST)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "resizing %" PRIu32 " x %" PRIu32 " pixels: the box (%" PRIu32 ", %" PRIu32 ", %" PRIu32
                          " x %" PRIu32 " eighths), %" PRIu32 " x %" PRIu32 " and its part (%" PRIu32 ", %" PRIu32
                          ", %" PRIu32 " x %" PRIu32 ") with filter %d",
                          in->width, in->height, s->box_x, s->box_y, s->box_width, s->box_height, s->width, s->height,
                          s->x, s->y, s->out_width, s->out_height, (int)s->filter);
    bool same = finish->dtype == MLDF_U8 || finish->dtype == MLDF_U16;
    if (in->channels < 1 || in->channels > 4 || (in->bits != 8 && in->bits != 16) ||
        (same ? finish->dtype != (in->bits == 8 ? MLDF_U8 : MLDF_U16)
              : finish->dtype != MLDF_F32 && finish->dtype != MLDF_F16 && finish->dtype != MLDF_BF16))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "resizing pixels of %" PRIu32 " channels and %" PRIu32 " bits to elements of type \"%s\"",
                          in->channels, in->bits, mldf_dtype_name(finish->dtype));
    return MLDF_OK;
}

mldf_status mldfi_resize(const struct kernels *k, const struct raster *in, const struct resize_spec *s,
                         const struct finish *finish, struct resize_work *work, void *dst, mldf_error *err) {
    struct run r = {.in = in, .spec = s, .table = finish->table, .dst = dst};
    mldf_image_filter filter = s->filter == RESIZE_NEAREST ? MLDF_IMAGE_BOX : (mldf_image_filter)s->filter;
    r.k = mldfi_finish_pick(k, finish);
    mldfi_resize_axes(s, in->width, in->height, filter, &r.x, &r.y);
    TRY(mldfi_resize_check(s, in, &r.x, &r.y, finish, err));
    mldfi_finish_begin(&r.finish, finish, in->channels, in->bits, false, (size_t)s->out_width * s->out_height);
    if (s->filter == RESIZE_NEAREST)
        return run_nearest(&r, work, err);
    return s->filter == RESIZE_BILINEAR && in->bits == 8 ? choose_bilinear(&r, work, err) : run_wide(&r, work, err);
}
