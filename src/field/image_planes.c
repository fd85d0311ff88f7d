/* Images as planes Y, Cb, Cr, for kernel/resize_planes.h: the samples of a region as the file has them, before upsampling and colour.
 *
 *     mode 7    its own streams          image_fast.c
 *     mode 1    libjpeg's coefficients, the same transforms: the same bits for the same JPEG
 *     mode 6    planes already
 *
 * Below full size, a block that becomes less than eight samples on a side is transformed without its high band: libjpeg's reduced transform
 * with zeros there. */
#include "field/image_fast.h"
#include "field/image_fast_run.h"
#include "field/image_view.h"
#include "field/media.h"
#include "kernel/resize_planes.h"
#include "kernel/yuv.h"

/* 4:4:0 and 4:1:1 have no planes: they are decoded to pixels, from both modes. */
static bool is_fused(enum fast_sampling s) {
    return s == FAST_444 || s == FAST_422 || s == FAST_420;
}

static void place_window(const struct image_job *j, struct planes *out) {
    out->x = j->x;
    out->y = j->y;
    out->width = j->width;
    out->height = j->height;
}

static void show(const struct fast_run *r, struct planes *out) {
    const struct image_job *j = r->job;
    const bool across = mldfi_fast_up_across(r), down = mldfi_fast_up_down(r);
    const enum axis_spread spread = mldfi_fast_repeats(r) ? SPREAD_REPEAT : SPREAD_FANCY;
    place_window(j, out);
    for (unsigned c = 0; c < 3; c++) {
        const struct plane *p = &r->plane[c];
        out->part[c] = (struct plane_view){p->samples, p->stride, r->left * p->across << p->side_log2,
                                           r->top * p->down << p->side_log2};
    }
    out->across = across ? spread : SPREAD_NONE;
    out->down = down ? spread : SPREAD_NONE;
    out->chroma_width = (j->full_width + 1) / 2;
    out->chroma_height = (j->full_height + 1) / 2;
}

mldf_status mldfi_fast_image_planes(struct image_job *job, struct planes *out, mldf_error *err) {
    struct fast_run r = {.job = job, .low_band = true};
    struct fast_layout layout;
    mldfi_fast_image_trim(job->decoder, MEDIA_KEEP_BYTES);
    mldf_status status = mldfi_fast_parse(job->data, job->bytes, &layout, err);
    if (status < 0 || layout.colour != FAST_YCBCR || !is_fused(layout.grid.sampling))
        return status < 0 ? status : MLDF_END;
    status = mldfi_fast_samples(&r, err);
    if (status == MLDF_OK)
        show(&r, out);
    return status;
}

/* ---- JPEG files ------------------------------------------------------------------------------------------------------------ */

struct jpeg_planes {
    struct fast_run run;
    struct planes *out;
};

static enum fast_sampling sampling_of(const struct jpeg_frame *f) {
    bool coarse = f->components == 3 && f->h[1] == 1 && f->v[1] == 1 && f->h[2] == 1 && f->v[2] == 1;
    return f->ycbcr && coarse ? mldfi_fast_sampling(f->h[0], f->v[0]) : FAST_SAMPLINGS;
}

static bool want(void *user, const struct jpeg_frame *frame) {
    (void)user;
    return is_fused(sampling_of(frame));
}

static mldf_status use(void *user, const struct jpeg_frame *frame, mldf_error *err) {
    struct jpeg_planes *p = user;
    mldf_status status = mldfi_fast_samples_of(&p->run, frame, sampling_of(frame), err);
    if (status == MLDF_OK)
        show(&p->run, p->out);
    return status;
}

mldf_status mldfi_jpeg_image_planes(struct image_job *job, struct planes *out, mldf_error *err) {
    struct jpeg_planes p = {{.job = job, .low_band = true}, out};
    const struct jpeg_user user = {want, use, &p};
    mldfi_fast_image_trim(job->decoder, MEDIA_KEEP_BYTES);
    return mldfi_jpeg_coefficients(job, &user, err);
}

/* ---- Raw planes ------------------------------------------------------------------------------------------------------------ */

void mldfi_yuv_image_planes(const struct image_job *job, const uint8_t *data, struct planes *out) {
    const uint32_t width = job->info->width, height = job->info->height;
    const size_t half = ((size_t)width + 1) / 2, area = (size_t)width * height;
    place_window(job, out);
    out->part[0] = (struct plane_view){data, width, 0, 0};
    out->part[1] = (struct plane_view){data + area, half, 0, 0};
    out->part[2] = (struct plane_view){data + area + half * (((size_t)height + 1) / 2), half, 0, 0};
    out->across = out->down = SPREAD_REPEAT; /* as mldfi_yuv420_row */
    out->chroma_width = (width + 1) / 2;
    out->chroma_height = (height + 1) / 2;
}
