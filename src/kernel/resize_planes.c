/* Resizing planes: for each output row, down and across in each component, colours, then `finish` into its place. resize_planes.h has the
 * definition; resize.c does the same for pixels. */
#include "kernel/resize_planes.h"

#include <string.h>

#include "kernel/jpeg.h"
#include "kernel/resize_tables.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* One component: its weights, its first sample with weight, memory for its rows. */
struct part {
    const struct row_taps *x;
    const struct column_taps *y;
    const uint8_t *data; /* its view, from the first column with weight on */
    size_t stride;
    ptrdiff_t shift; /* from what y->first counts to rows of the view */
    int16_t *sums, *words;
};

struct run {
    const struct kernels *k;
    const struct resize_spec *spec;
    const uint8_t (*table)[256];
    struct finish_row finish;
    struct finish_row channel[4];
    struct part part[3];
    uint32_t channels;
    size_t stride;     /* of rows of words and bytes */
    uint8_t *color[3]; /* a row of red, green, blue */
    uint8_t *pixels;   /* the same, interleaved */
    void *dst;
};

static void put(const struct run *r, uint32_t y) {
    const uint32_t width = r->spec->out_width;
    const size_t at = (size_t)y * width;
    if (r->channels == 3 && r->finish.planar) {
        for (uint32_t c = 0; c < 3; c++)
            mldfi_finish_row(r->k, &r->channel[c], r->table ? r->table + c : NULL, r->color[c], width, r->dst,
                             c * r->finish.plane + at);
        return;
    }
    r->k->jpeg->join(r->color[0], r->color[1], r->color[2], width, r->channels, r->pixels);
    mldfi_finish_row(r->k, &r->finish, r->table, r->pixels, width, r->dst, at);
}

static void run_rows(struct run *r) {
    for (uint32_t i = 0; i < r->spec->out_height; i++) {
        for (unsigned c = 0; c < 3; c++) {
            const struct part *p = &r->part[c];
            const uint8_t *rows = p->data + (size_t)((ptrdiff_t)p->y->first[i] + p->shift) * p->stride;
            r->k->down(rows, p->stride, p->y->weights + (size_t)i * p->y->taps, p->y->used[i], p->x->pixels, p->sums);
            r->k->across_words(&p->x->table, p->sums, p->words);
        }
        r->k->color_words(r->part[0].words, r->part[1].words, r->part[2].words, r->stride, r->color[0], r->color[1],
                          r->color[2]);
        put(r, i);
    }
}

/* Weights of luma, or of both other components. */
static mldf_status get_tables(struct run *r, const struct planes *in, bool chroma, struct axis x, struct axis y,
                              struct resize_work *work, mldf_error *err) {
    struct part *p = &r->part[chroma];
    if (chroma) {
        x.spread = in->across;
        x.spread_at = in->across == SPREAD_NONE ? 0 : in->x;
        x.spread_size = in->across == SPREAD_NONE ? 0 : in->chroma_width;
        y.spread = in->down;
        y.spread_at = in->down == SPREAD_NONE ? 0 : in->y;
        y.spread_size = in->down == SPREAD_NONE ? 0 : in->chroma_height;
    }
    mldf_status status = mldfi_row_taps(&work->tables, &x, 1, &p->x, err);
    if (status == MLDF_OK)
        status = mldfi_column_taps(&work->tables, &y, &p->y, err);
    return status;
}

/* Taps count from the window's first pixel, or from the component's first sample where it is spread. */
static void place_part(struct part *p, const struct plane_view *view, const struct planes *in, bool chroma) {
    const bool wide = chroma && in->across != SPREAD_NONE, high = chroma && in->down != SPREAD_NONE;
    p->data = view->data + (p->x->first + (wide ? 0 : in->x) - view->x);
    p->stride = view->stride;
    p->shift = (ptrdiff_t)(high ? 0 : in->y) - (ptrdiff_t)view->y;
}

static mldf_status get_memory(struct run *r, struct resize_work *work, mldf_error *err) {
    size_t room[3], values = 0, bytes;
    r->stride = r->part[0].x->table.stride;
    for (unsigned c = 0; c < 3; c++) {
        room[c] = (size_t)mldfi_align_up(r->part[c].x->pixels, 32) + PLANE_SLACK;
        values += room[c] + r->stride;
    }
    mldf_status status = mldfi_buffer_resize(&work->sums, values * sizeof(int16_t), err);
    bytes = 3 * r->stride + (size_t)r->channels * r->stride + ROW_SLACK;
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->row, bytes, err);
    if (status < 0)
        return status;
    memset(work->sums.data, 0, values * sizeof(int16_t)); /* taps without weight read it */
    int16_t *at = (int16_t *)(void *)work->sums.data;
    for (unsigned c = 0; c < 3; c++) {
        r->part[c].sums = at;
        r->part[c].words = at + room[c];
        at += room[c] + r->stride;
        r->color[c] = work->row.data + c * r->stride;
    }
    r->pixels = work->row.data + 3 * r->stride;
    return MLDF_OK;
}

mldf_status mldfi_resize_planes(const struct kernels *k, const struct planes *in, uint32_t channels,
                                const struct resize_spec *s, const struct finish *finish, struct resize_work *work,
                                void *dst, mldf_error *err) {
    struct run r = {.spec = s, .table = finish->table, .channels = channels, .dst = dst};
    const struct raster as_pixels = {NULL, in->width, in->height, channels, 8, 0};
    struct axis x, y;
    r.k = mldfi_finish_pick(k, finish);
    mldfi_resize_axes(s, in->width, in->height, MLDF_IMAGE_BILINEAR, &x, &y);
    mldf_status status = mldfi_resize_check(s, &as_pixels, &x, &y, finish, err);
    if (status == MLDF_OK && (s->filter != RESIZE_BILINEAR || channels < 3))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "planes are resized to colours, by the bilinear filter");
    if (status == MLDF_OK)
        status = get_tables(&r, in, false, x, y, work, err);
    if (status == MLDF_OK)
        status = get_tables(&r, in, true, x, y, work, err);
    r.part[2] = r.part[1];
    if (status == MLDF_OK)
        status = get_memory(&r, work, err);
    if (status < 0)
        return status;
    for (unsigned c = 0; c < 3; c++)
        place_part(&r.part[c], &in->part[c], in, c > 0);
    mldfi_finish_begin(&r.finish, finish, channels, 8, false, (size_t)s->out_width * s->out_height);
    mldfi_finish_channels(&r.finish, 3, r.channel);
    run_rows(&r);
    return MLDF_OK;
}
