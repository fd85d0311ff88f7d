/* Decoding JPEG with libjpeg-turbo: whole or a region, at 1/1 to 1/8.
 *
 * A region skips rows above it, stops after its last row, and decodes only the blocks that its columns touch. At the edge of such a
 * strip the upsampling of the chroma planes lacks its neighbours, so two pixels more on each side are asked for and discarded:
 * then every pixel equals that of the whole image (tests/unit/codec/test_image_jpeg.c tries every region). */
#include <stdlib.h>
#include <string.h>

#include "codec/image.h"
#include "codec/jpeg_error.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { MARGIN = 2 }; /* pixels; fancy upsampling looks one chroma sample to each side */

struct jpeg_reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_trap trap;
    struct jpeg_memory source;
    struct jpeg_progress_mgr progress;
    uint32_t max_scans;
    void *(*alloc_small)(j_common_ptr cinfo, int pool, size_t bytes); /* libjpeg's own */
};

void mldfi_jpeg_decoder_free(void *jpeg) {
    struct jpeg_reader *reader = jpeg;
    if (!reader)
        return;
    jpeg_destroy_decompress(&reader->cinfo);
    free(reader);
}

/* The tables of a file live as long as it does. libjpeg would keep them for files that come without tables of their own, and what such a file
 * is would depend on the one before it. */
static void *alloc_for_image(j_common_ptr common, int pool, size_t bytes) {
    const struct jpeg_reader *reader =
        (const struct jpeg_reader *)(const void *)((const char *)common - offsetof(struct jpeg_reader, cinfo));
    (void)pool;
    return reader->alloc_small(common, JPOOL_IMAGE, bytes);
}

/* Those of the last file went with it. */
static void forget_tables(j_decompress_ptr cinfo) {
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        cinfo->quant_tbl_ptrs[i] = NULL;
    for (int i = 0; i < NUM_HUFF_TBLS; i++)
        cinfo->dc_huff_tbl_ptrs[i] = cinfo->ac_huff_tbl_ptrs[i] = NULL;
}

/* Apart, so that nothing changes between setjmp and longjmp. */
static bool create(struct jpeg_reader *reader) {
    reader->cinfo.err = mldfi_jpeg_trap(&reader->trap, false);
    if (setjmp(reader->trap.back)) {
        jpeg_destroy_decompress(&reader->cinfo);
        return false;
    }
    jpeg_create_decompress(&reader->cinfo);
    reader->alloc_small = reader->cinfo.mem->alloc_small;
    reader->cinfo.mem->alloc_small = alloc_for_image;
    return true;
}

static mldf_status get_reader(mldf_image_decoder *decoder, struct jpeg_reader **out, mldf_error *err) {
    if (!decoder->jpeg) {
        struct jpeg_reader *reader = mldfi_alloc_zero(1, sizeof *reader, err);
        if (!reader)
            return MLDF_E_MEMORY;
        if (!create(reader)) {
            free(reader);
            return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a JPEG decoder");
        }
        decoder->jpeg = reader;
    }
    *out = decoder->jpeg;
    return MLDF_OK;
}

/* A progressive file may repeat scans for ever; each costs a pass over the image. */
static void watch_scans(j_common_ptr common) {
    j_decompress_ptr cinfo = (j_decompress_ptr)common;
    const struct jpeg_reader *reader =
        (const struct jpeg_reader *)(const void *)((const char *)cinfo - offsetof(struct jpeg_reader, cinfo));
    if (cinfo->input_scan_number > (int)reader->max_scans)
        mldfi_jpeg_throw(common, MLDF_E_LIMIT, "more scans than the limit allows");
}

static J_COLOR_SPACE output_space(const struct image_job *job) {
    if (job->info->channels == 4)
        return JCS_CMYK;
    return job->sink.channels == 1 ? JCS_GRAYSCALE : job->sink.channels == 4 ? JCS_EXT_RGBA : JCS_RGB;
}

/* Up to the first scan. Runs under the trap. */
static void read_header(struct jpeg_reader *reader, const struct image_job *job) {
    j_decompress_ptr cinfo = &reader->cinfo;
    mldfi_jpeg_source(cinfo, &reader->source, job->data, job->bytes, job->options.tolerant);
    forget_tables(cinfo);
    reader->progress.progress_monitor = watch_scans;
    cinfo->progress = &reader->progress;
    reader->max_scans = job->options.max_scans;
    jpeg_read_header(cinfo, TRUE);
    if (cinfo->image_width != job->info->width || cinfo->image_height != job->info->height ||
        cinfo->num_components != job->info->channels)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_CORRUPT, "its headers contradict each other");
    cinfo->mem->max_memory_to_use =
        (long)(job->options.max_bytes > INT64_MAX / 2 ? INT64_MAX / 2 : job->options.max_bytes);
}

/* Header, parameters, start. */
static void start(struct jpeg_reader *reader, const struct image_job *job) {
    j_decompress_ptr cinfo = &reader->cinfo;
    read_header(reader, job);
    cinfo->out_color_space = output_space(job);
    cinfo->dct_method = job->options.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    cinfo->scale_num = job->options.eighths ? (unsigned)job->options.eighths : 1;
    cinfo->scale_denom = job->options.eighths ? 8 : (unsigned)job->options.scale;
    jpeg_start_decompress(cinfo);
    if (cinfo->output_width != job->full_width || cinfo->output_height != job->full_height)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_CORRUPT, "its size at this scale is not what it should be");
}

/* At 1/2 and less, libjpeg decodes coarse components (4:1:0, say) at a finer scale than the others, and spreads out what is left to be.
 * jpeg_crop_scanline forgets the scale when it says how many samples those have: the rest of each row would be what was in memory. And
 * where a component would have less than two columns, it chooses another way to spread them, for all components. */
static bool may_narrow(const struct jpeg_decompress_struct *cinfo, JDIMENSION width) {
    if (width < 2 * (JDIMENSION)cinfo->max_h_samp_factor)
        return false;
    for (int i = 0; i < cinfo->num_components; i++) {
        const jpeg_component_info *c = &cinfo->comp_info[i];
#if JPEG_LIB_VERSION >= 70
        int own = c->DCT_h_scaled_size, least = cinfo->min_DCT_h_scaled_size;
#else
        int own = c->DCT_scaled_size, least = cinfo->min_DCT_scaled_size;
#endif
        if (own != least && (c->h_samp_factor * own != cinfo->max_h_samp_factor * least ||
                             c->v_samp_factor * own != cinfo->max_v_samp_factor * least))
            return false;
    }
    return true;
}

/* Narrows the decoder to the region's columns; returns how many pixels of a row come before it. */
static uint32_t narrow(j_decompress_ptr cinfo, const struct image_job *job) {
    JDIMENSION left = job->x < MARGIN ? 0 : job->x - MARGIN;
    JDIMENSION right = job->x + job->width;
    right = job->full_width - right < MARGIN ? job->full_width : right + MARGIN;
    JDIMENSION width = right - left;
    if (width == job->full_width || job->options.eighths || !may_narrow(cinfo, width))
        return job->x;
    jpeg_crop_scanline(cinfo, &left, &width);
    return job->x - left;
}

/* Rows one by one through the row buffer. */
static void read_rows(j_decompress_ptr cinfo, const struct image_job *job, uint8_t *row, uint32_t before) {
    const struct image_sink *sink = &job->sink;
    bool inks = cinfo->out_color_space == JCS_CMYK;
    size_t pixel = inks ? 4 : sink->channels;
    for (uint32_t y = 0; y < job->height; y++) {
        JSAMPROW target = row;
        if (jpeg_read_scanlines(cinfo, &target, 1) != 1)
            mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_CORRUPT, "no more rows");
        const uint8_t *from = row + before * pixel;
        if (inks) {
            mldfi_cmyk_to_rgb(from, row, job->width, true);
            from = row;
        }
        mldfi_sink_row(sink, y, from);
    }
}

/* Rows straight to their places. */
static void read_in_place(j_decompress_ptr cinfo, uint8_t *first, size_t stride, uint32_t height) {
    enum { AT_ONCE = 8 }; /* libjpeg gives what one row of blocks has left */
    JSAMPROW rows[AT_ONCE];
    for (uint32_t y = 0; y < height;) {
        JDIMENSION n = height - y < AT_ONCE ? height - y : AT_ONCE;
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = first + (y + i) * stride;
        JDIMENSION got = jpeg_read_scanlines(cinfo, rows, n);
        if (got == 0)
            mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_CORRUPT, "no more rows");
        y += got;
    }
}

/* Into the decoder's own memory, rows as wide as libjpeg makes them. They begin beside a multiple of 16: to aligned rows libjpeg-turbo
 * writes past the cache, and the pixels are wanted there a moment later. */
enum { BESIDE = PIXELS_BESIDE };
static void read_view(struct jpeg_reader *reader, struct image_job *job, uint32_t before) {
    j_decompress_ptr cinfo = &reader->cinfo;
    bool inks = cinfo->out_color_space == JCS_CMYK;
    size_t pixel = inks ? 4 : job->sink.channels, stride = (size_t)mldfi_align_up(cinfo->output_width * pixel, 64);
    uint64_t bytes = (uint64_t)stride * job->height + BESIDE;
    mldf_buffer *memory = &job->decoder->view;
    if ((uint64_t)cinfo->output_width * pixel * job->height > job->options.max_bytes || bytes > SIZE_MAX)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_LIMIT, "its region needs more memory than the limit allows");
    if (mldfi_buffer_resize(memory, (size_t)bytes, NULL) < 0)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_MEMORY, "no memory for its region");
    uint8_t *rows = memory->data + BESIDE;
    read_in_place(cinfo, rows, stride, job->height);
    for (uint32_t y = 0; inks && y < job->height; y++)
        mldfi_cmyk_to_rgb(rows + y * stride + before * pixel, rows + y * stride, job->width, true);
    job->view_stride = stride;
    job->view_offset = BESIDE + (inks ? 0 : before * pixel);
}

static void read_region(struct jpeg_reader *reader, struct image_job *job, uint8_t *row) {
    j_decompress_ptr cinfo = &reader->cinfo;
    const struct image_sink *sink = &job->sink;
    uint32_t before = narrow(cinfo, job);
    if (job->y > 0)
        (void)jpeg_skip_scanlines(cinfo, job->y);
    if (job->view)
        read_view(reader, job, before);
    else if (sink->direct && cinfo->out_color_space != JCS_CMYK && before == 0 && cinfo->output_width == job->width)
        read_in_place(cinfo, mldfi_sink_place(sink, 0), sink->row_bytes, job->height);
    else
        read_rows(cinfo, job, row, before);
}

static mldf_status run(struct jpeg_reader *reader, struct image_job *job, uint8_t *row, mldf_error *err) {
    reader->cinfo.err = mldfi_jpeg_trap(&reader->trap, job->options.tolerant);
    if (setjmp(reader->trap.back)) {
        jpeg_abort_decompress(&reader->cinfo);
        return mldfi_jpeg_failed(&reader->trap, &reader->source, err);
    }
    start(reader, job);
    read_region(reader, job, row);
    jpeg_abort_decompress(&reader->cinfo); /* what follows the last row is of no interest */
    return MLDF_OK;
}

mldf_status mldfi_jpeg_decode(struct image_job *job, mldf_error *err) {
    struct jpeg_reader *reader = NULL;
    uint8_t *row;
    /* The strip may be wider than the region by its margins and by what is left of a block. */
    mldf_status status = mldfi_image_work(job, (uint64_t)job->full_width * 4, &row, err);
    if (status == MLDF_OK)
        status = get_reader(job->decoder, &reader, err);
    return status < 0 ? status : run(reader, job, row, err);
}

/* ---- Coefficients ---------------------------------------------------------------------------------------------------------- */

const int16_t (*mldfi_jpeg_blocks(const struct jpeg_frame *frame, unsigned component, uint32_t row))[64] {
    struct jpeg_reader *reader = frame->reader;
    jvirt_barray_ptr *arrays = frame->arrays;
    JBLOCKARRAY rows =
        reader->cinfo.mem->access_virt_barray((j_common_ptr)&reader->cinfo, arrays[component], row, 1, FALSE);
    return (const int16_t(*)[64])rows[0];
}

static void describe(struct jpeg_reader *reader, struct jpeg_frame *frame) {
    const struct jpeg_decompress_struct *c = &reader->cinfo;
    frame->reader = reader;
    frame->components = (unsigned)c->num_components;
    frame->ycbcr = c->jpeg_color_space == JCS_YCbCr;
    for (int i = 0; i < c->num_components && i < 4; i++) {
        frame->h[i] = (uint8_t)c->comp_info[i].h_samp_factor;
        frame->v[i] = (uint8_t)c->comp_info[i].v_samp_factor;
        frame->quantiser[i] = c->comp_info[i].quant_table ? c->comp_info[i].quant_table->quantval : NULL;
    }
}

static mldf_status run_coefficients(struct jpeg_reader *reader, const struct image_job *job,
                                    const struct jpeg_user *user, mldf_error *err) {
    struct jpeg_frame frame = {0};
    reader->cinfo.err = mldfi_jpeg_trap(&reader->trap, job->options.tolerant);
    if (setjmp(reader->trap.back)) {
        jpeg_abort_decompress(&reader->cinfo);
        return mldfi_jpeg_failed(&reader->trap, &reader->source, err);
    }
    read_header(reader, job);
    describe(reader, &frame);
    mldf_status status = MLDF_END;
    if (user->want(user->user, &frame)) {
        frame.arrays = jpeg_read_coefficients(&reader->cinfo);
        describe(reader, &frame); /* quantisers are known now */
        status = user->use(user->user, &frame, err);
    }
    jpeg_abort_decompress(&reader->cinfo);
    return status;
}

mldf_status mldfi_jpeg_coefficients(struct image_job *job, const struct jpeg_user *user, mldf_error *err) {
    struct jpeg_reader *reader = NULL;
    mldf_status status = get_reader(job->decoder, &reader, err);
    return status < 0 ? status : run_coefficients(reader, job, user, err);
}
