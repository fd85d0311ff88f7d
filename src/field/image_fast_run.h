/* From coefficients to the samples of the components: what image_fast.c does for image_fast_rows.c, which makes pixels of them, and image_planes.c, which
 * leaves them as they are. */
#ifndef MLDF_FIELD_IMAGE_FAST_RUN_H
#define MLDF_FIELD_IMAGE_FAST_RUN_H

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "kernel/jpeg.h"

/* What a thread keeps. Window tables are made when they are first needed. */
struct fast_worker {
    struct jpeg_window *ac[FAST_AC_KINDS][FAST_CODES];
    struct jpeg_dc_window *dc[2][FAST_CODES];
    mldf_buffer positions, low, high, dcs, jobs, planes, rows;
};

/* The samples of one component that the region needs: whole MCUs. */
struct plane {
    uint8_t *samples;
    size_t stride;
    unsigned side_log2;    /* of a block: 2^0 to 2^3 samples */
    unsigned across, down; /* blocks in an MCU */
};

struct fast_run {
    const struct image_job *job;
    struct fast_layout layout;
    struct fast_worker *worker;
    const struct jpeg_kernels *k;
    uint32_t left, right, top, bottom; /* MCUs of the region */
    uint32_t mcu_width, mcu_height;    /* in pixels of the job's scale */
    uint32_t strip;                    /* rows of MCUs decoded together */
    uint32_t first_segment, segments;  /* of the region in each row */
    struct plane plane[3];
    struct jpeg_quantisers q[2];
    bool low_band;                  /* blocks that become less than 8 samples on a side have no high band */
    const struct jpeg_frame *frame; /* coefficients of a JPEG file instead of a record's; or NULL */
};

/* r->job and the flags are set. Of the record in the job's bytes: */
mldf_status mldfi_fast_samples(struct fast_run *r, mldf_error *err);
/* Of a JPEG file's coefficients; sampling is one of fast_jpeg.h's. MLDF_END: its quantisers pass 8 bits. */
mldf_status mldfi_fast_samples_of(struct fast_run *r, const struct jpeg_frame *frame, enum fast_sampling sampling,
                                  mldf_error *err);
/* The samples as pixels, into the job's sink or view. */
mldf_status mldfi_fast_rows(const struct fast_run *r, mldf_error *err);
/* Components are upsampled: libjpeg's rule, from what a block of chroma becomes and what an MCU has. */
static inline bool mldfi_fast_up_across(const struct fast_run *r) {
    return r->layout.grid.h > 1 && (UINT32_C(1) << r->plane[1].side_log2) != r->mcu_width;
}
static inline bool mldfi_fast_up_down(const struct fast_run *r) {
    return r->layout.grid.v == 2 && (UINT32_C(1) << r->plane[1].side_log2) != r->mcu_height;
}
/* ... by repeating samples instead of the fancy way, which is for twice as many. */
static inline bool mldfi_fast_repeats(const struct fast_run *r) {
    const unsigned h = r->layout.grid.h;
    return h > 2 || (h == 2 && (r->job->full_width + 1) / 2 <= 2) || r->plane[1].side_log2 == 0;
}

#endif
