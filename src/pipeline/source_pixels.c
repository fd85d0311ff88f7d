/* The second half of every source of pixels (source_image.c, source_video.c): a window of decoded pixels, or of planes, becomes what the composed crops,
 * resize and mirrors make of it, in one pass that also finishes it. */
#include "kernel/resize_planes.h"
#include "pipeline/geometry.h"
#include "pipeline/source.h"
#include "util/buffer.h"

struct pixel_window mldfi_pixel_window(const struct geometry *g, unsigned scale, uint32_t width, uint32_t height) {
    uint32_t full_width = (width + scale - 1) / scale, full_height = (height + scale - 1) / scale;
    uint32_t x = g->x / scale, y = g->y / scale;
    uint32_t right = (g->x + g->width + scale - 1) / scale, bottom = (g->y + g->height + scale - 1) / scale;
    right = right > full_width ? full_width : right;
    bottom = bottom > full_height ? full_height : bottom;
    return (struct pixel_window){x, y, right - x, bottom - y};
}

/* planes: or NULL for the pixels of image. */
static mldf_status resample(const struct source_run *s, const struct geometry *g, unsigned scale,
                            struct pixel_window window, const struct raster *image, const struct planes *planes,
                            const struct finish *finish, void *dst, mldf_error *err) {
    struct resize_spec spec = {
        .box_x = g->x * 8 / scale - window.x * 8,
        .box_y = g->y * 8 / scale - window.y * 8,
        .box_width = g->width * 8 / scale,
        .box_height = g->height * 8 / scale,
        .width = g->to_width,
        .height = g->to_height,
        .x = g->part_x,
        .y = g->part_y,
        .out_width = g->part_width,
        .out_height = g->part_height,
        .mirror_x = g->mirror_x,
        .mirror_y = g->mirror_y,
        .filter = (enum resize_filter)g->filter,
        .antialias = g->antialias,
    };
    struct op_work *work = &s->run->worker->work;
    if (planes)
        return mldfi_resize_planes(work->kernels, planes, image->channels, &spec, finish, work->resize, dst, err);
    return mldfi_resize(work->kernels, image, &spec, finish, work->resize, dst, err);
}

mldf_status mldfi_pixels_deliver(const struct source_run *s, const struct geometry *g, unsigned scale,
                                 struct pixel_window window, const struct raster *image, const struct planes *planes,
                                 bool finished, void *dst, mldf_error *err) {
    const struct finish_plan *f = &s->stage->finish;
    const struct finish none = {.dtype = image->bits == 8 ? MLDF_U8 : MLDF_U16};
    struct op_work *work = &s->run->worker->work;
    if (g->resized && finished && mldfi_finish_is_kernel(f)) {
        struct finish finish;
        mldf_status status = mldfi_finish_of(s->run, s->side, s->chain, f, &finish, err);
        return status < 0 ? status : resample(s, g, scale, window, image, planes, &finish, dst, err);
    }
    if (g->resized && !finished)
        return resample(s, g, scale, window, image, planes, &none, dst, err);
    if (g->resized) {
        size_t row = (size_t)g->part_width * image->channels;
        mldf_status status = mldfi_buffer_resize(&work->scratch[2], row * g->part_height, err);
        struct raster small = {work->scratch[2].data, g->part_width, g->part_height, image->channels, 8, row};
        if (status == MLDF_OK)
            status = resample(s, g, scale, window, image, planes, &none, small.data, err);
        if (status == MLDF_OK)
            status = mldfi_run_finish(s->run, s->side, s->chain, f, &small, false, false, dst, err);
        return status;
    }
    if (finished)
        return mldfi_run_finish(s->run, s->side, s->chain, f, image, g->mirror_x, g->mirror_y, dst, err);
    mldfi_finish(work->kernels, image, g->mirror_x, g->mirror_y, &none, dst);
    return MLDF_OK;
}
