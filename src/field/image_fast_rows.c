/* Samples of a fast JPEG's components as pixels: upsampling and colour, row by row, as libjpeg-turbo does it. */
#include <string.h>

#include "field/image_fast_run.h"
#include "util/buffer.h"

static void repeat(const uint8_t *from, size_t count, uint32_t times, uint8_t *out) {
    if (times == 2)
        for (size_t i = 0; i < count; i++)
            out[2 * i] = out[2 * i + 1] = from[i];
    else
        for (size_t i = 0; i < count; i++) {
            const uint32_t four = from[i] * UINT32_C(0x01010101);
            memcpy(out + 4 * i, &four, 4);
        }
}

/* Samples of a component at full width, from sample (x, y) on: in its plane or in `room`. */
static const uint8_t *chroma_row(const struct fast_run *r, unsigned c, uint32_t y, uint8_t *room) {
    const struct image_job *j = r->job;
    const struct plane *p = &r->plane[c];
    const uint32_t side = UINT32_C(1) << p->side_log2;
    const bool across = mldfi_fast_up_across(r), down = mldfi_fast_up_down(r);
    const uint32_t times = across ? r->layout.grid.h : 1, x0 = j->x / times;
    const uint8_t *origin = p->samples + (x0 - (size_t)r->left * side);
    const uint32_t near = down ? y / 2 : y;
    const uint8_t *row = origin + (near - (size_t)r->top * side) * p->stride;
    const bool repeats = mldfi_fast_repeats(r);
    if (!across && (!down || repeats))
        return row;
    const uint32_t width = (j->full_width + times - 1) / times, height = (j->full_height + 1) / 2;
    const uint32_t end = (j->x + j->width + times - 1) / times;
    struct jpeg_up u = {row, row, end - x0, x0 == 0, end == width, room};
    if (down) {
        uint32_t far = y % 2 ? near + 1 : near > 0 ? near - 1 : 0;
        far = far >= height ? height - 1 : far;
        u.far = origin + (far - (size_t)r->top * side) * p->stride;
    }
    if (repeats)
        repeat(row, u.count, times, room);
    else if (!across)
        r->k->up_down(&u, y % 2 ? 2 : 1);
    else if (down)
        r->k->up_both(&u);
    else
        r->k->up_across(&u);
    return room + j->x % times;
}

/* Row y of the image into `out`, with 64 bytes behind it. */
static void pixel_row(const struct fast_run *r, uint32_t y, uint8_t *out) {
    const struct image_job *j = r->job;
    const struct plane *p = &r->plane[0];
    const unsigned channels = j->sink.channels;
    const uint8_t *luma =
        p->samples + (y - (size_t)r->top * r->mcu_height) * p->stride + (j->x - (size_t)r->left * r->mcu_width);
    if (r->layout.grid.components == 1) {
        if (channels == 1)
            memcpy(out, luma, j->width);
        else
            r->k->join(luma, luma, luma, j->width, channels, out);
        return;
    }
    uint8_t *room = r->worker->rows.data;
    const uint8_t *cb = chroma_row(r, 1, y, room);
    const uint8_t *cr = chroma_row(r, 2, y, room + r->worker->rows.size / 3);
    if (r->layout.colour == FAST_RGB)
        r->k->join(luma, cb, cr, j->width, channels, out);
    else
        r->k->color(luma, cb, cr, j->width, channels, out);
}

mldf_status mldfi_fast_rows(const struct fast_run *r, mldf_error *err) {
    const struct image_job *j = r->job;
    enum { BEHIND = 64 };
    const size_t part = (size_t)j->width * 4 + 4 * BEHIND, row_bytes = (size_t)j->width * j->sink.channels;
    mldf_status status = mldfi_buffer_resize(&r->worker->rows, 3 * part, err);
    uint8_t *row = r->worker->rows.data + 2 * part;
    for (uint32_t y = 0; status == MLDF_OK && y < j->height; y++) {
        if (j->view) {
            pixel_row(r, j->y + y, j->decoder->view.data + y * j->view_stride);
            continue;
        }
        uint8_t *place = mldfi_sink_place(&j->sink, y);
        bool inside = place && (size_t)(j->height - y - 1) * j->sink.row_bytes >= BEHIND;
        pixel_row(r, j->y + y, inside ? place : row);
        if (!place)
            mldfi_sink_row(&j->sink, y, row);
        else if (!inside)
            memcpy(place, row, row_bytes);
    }
    return status;
}
