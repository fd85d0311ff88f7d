/* Writing JPEG: from pixels, and from the coefficients of another JPEG without loss. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/image.h"
#include "codec/jpeg_error.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

/* ---- A destination that is an mldf_buffer ------------------------------------------------------------------------------ */

enum { CHUNK = 1 << 16 };

struct jpeg_sink {
    struct jpeg_destination_mgr manager;
    mldf_buffer *out;
};

static void sink_grow(j_compress_ptr cinfo) {
    struct jpeg_sink *sink = (struct jpeg_sink *)(void *)cinfo->dest;
    uint8_t *where;
    size_t room = sink->out->size / 2 + CHUNK;
    if (mldfi_buffer_extend(sink->out, room, &where, NULL) < 0)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_MEMORY, "no memory for the compressed image");
    sink->manager.next_output_byte = where;
    sink->manager.free_in_buffer = room;
}

static boolean sink_full(j_compress_ptr cinfo) {
    sink_grow(cinfo); /* the whole room counts as used, whatever free_in_buffer says here */
    return TRUE;
}

static void sink_end(j_compress_ptr cinfo) {
    struct jpeg_sink *sink = (struct jpeg_sink *)(void *)cinfo->dest;
    sink->out->size -= sink->manager.free_in_buffer;
}

static void sink_begin(j_compress_ptr cinfo, struct jpeg_sink *sink, mldf_buffer *out) {
    sink->out = out;
    sink->manager.init_destination = sink_grow;
    sink->manager.empty_output_buffer = sink_full;
    sink->manager.term_destination = sink_end;
    cinfo->dest = &sink->manager;
}

/* ---- From pixels ------------------------------------------------------------------------------------------------------ */

struct jpeg_writer {
    struct jpeg_compress_struct cinfo;
    struct jpeg_trap trap;
    struct jpeg_sink sink;
    bool created;    /* cinfo */
    mldf_buffer row; /* one row as libjpeg takes it, when the pixels are others */
};

static void set_subsampling(j_compress_ptr cinfo, mldf_image_subsampling subsampling) {
    if (cinfo->num_components != 3)
        return;
    cinfo->comp_info[0].h_samp_factor = subsampling == MLDF_IMAGE_444 ? 1 : 2;
    cinfo->comp_info[0].v_samp_factor = subsampling == MLDF_IMAGE_420 ? 2 : 1;
}

/* One row as 8-bit gray or RGB. */
static const uint8_t *narrow_row(const mldf_image_pixels *p, const uint8_t *row, uint32_t channels, uint8_t *out) {
    size_t sample = p->bits / 8;
    if (p->bits == 8 && p->channels == channels)
        return row;
    for (size_t x = 0; x < p->width; x++)
        for (size_t c = 0; c < channels; c++)
            out[x * channels + c] = row[(x * p->channels + c) * sample + (sample - 1)]; /* the upper byte */
    return out;
}

/* Rows that are what libjpeg takes, several at once; others one by one through the row. */
static void write_rows(struct jpeg_writer *w, const mldf_image_pixels *p, uint32_t channels) {
    enum { AT_ONCE = 16 };
    size_t row_bytes = (size_t)p->width * p->channels * (p->bits / 8);
    bool as_it_is = p->bits == 8 && p->channels == channels;
    for (uint32_t y = 0, n; y < p->height; y += n) {
        union {
            const uint8_t *in[AT_ONCE];
            JSAMPROW out[AT_ONCE];
        } rows; /* libjpeg reads them only */
        n = !as_it_is ? 1 : p->height - y < AT_ONCE ? p->height - y : AT_ONCE;
        for (uint32_t i = 0; i < n; i++)
            rows.in[i] = narrow_row(p, (const uint8_t *)p->data + (y + i) * row_bytes, channels, w->row.data);
        jpeg_write_scanlines(&w->cinfo, rows.out, n);
    }
}

static void write_pixels(struct jpeg_writer *w, const mldf_image_pixels *p, const mldf_jpeg_options *o) {
    j_compress_ptr cinfo = &w->cinfo;
    uint32_t channels = p->channels < 3 ? 1 : 3;
    cinfo->image_width = p->width;
    cinfo->image_height = p->height;
    cinfo->input_components = (int)channels;
    cinfo->in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, o->quality, TRUE);
    set_subsampling(cinfo, o->subsampling);
    cinfo->optimize_coding = o->optimize;
    if (o->progressive)
        jpeg_simple_progression(cinfo);
    jpeg_start_compress(cinfo, TRUE);
    if (o->icc)
        jpeg_write_icc_profile(cinfo, o->icc, (unsigned)o->icc_bytes);
    write_rows(w, p, channels);
    jpeg_finish_compress(cinfo);
}

static void forget_compressor(struct jpeg_writer *w) {
    jpeg_destroy_compress(&w->cinfo);
    w->created = false;
}

static mldf_status run_writer(struct jpeg_writer *w, const mldf_image_pixels *p, const mldf_jpeg_options *o,
                              mldf_buffer *out, mldf_error *err) {
    size_t before = out->size;
    w->cinfo.err = mldfi_jpeg_trap(&w->trap, true);
    if (setjmp(w->trap.back)) {
        forget_compressor(w);
        out->size = before;
        return mldfi_fail(err, w->trap.status, "the image does not encode as JPEG: %s", w->trap.text);
    }
    if (!w->created)
        jpeg_create_compress(&w->cinfo);
    w->created = true;
    sink_begin(&w->cinfo, &w->sink, out);
    write_pixels(w, p, o);
    if (o->optimize ||
        o->progressive) /* Huffman tables of this image, which jpeg_set_defaults would leave to the next */
        forget_compressor(w);
    return MLDF_OK;
}

void mldfi_jpeg_encoder_free(void *kept) {
    struct jpeg_writer *w = kept;
    if (!w)
        return;
    if (w->created)
        jpeg_destroy_compress(&w->cinfo);
    mldf_buffer_free(&w->row);
    free(w);
}

mldf_status mldf_image_encode_jpeg(const mldf_image_pixels *pixels, const mldf_jpeg_options *options, mldf_buffer *out,
                                   mldf_error *err) {
    void *own = NULL;
    mldf_status status = mldfi_jpeg_encode(&own, pixels, options, out, err);
    mldfi_jpeg_encoder_free(own);
    return status;
}

mldf_status mldfi_jpeg_encode(void **kept, const mldf_image_pixels *pixels, const mldf_jpeg_options *options,
                              mldf_buffer *out, mldf_error *err) {
    mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
    uint64_t row_bytes;
    TRY(mldfi_pixels_check(pixels, "mldf_image_encode_jpeg", &row_bytes, err));
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_encode_jpeg: out is NULL");
    TRY(mldfi_take_options(&o, sizeof o, "mldf_jpeg_options", options, err));
    if (o.quality < 1 || o.quality > 100 || (unsigned)o.subsampling > MLDF_IMAGE_422 || o.icc_bytes > UINT32_MAX ||
        (o.icc && o.icc_bytes == 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "JPEG quality %d (1 to 100), subsampling %d (0 to 2), profile of %zu bytes", o.quality,
                          (int)o.subsampling, o.icc_bytes);
    if (pixels->width > JPEG_MAX_DIMENSION || pixels->height > JPEG_MAX_DIMENSION)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu32 " x %" PRIu32 " pixels; a JPEG has at most %ld on a side",
                          pixels->width, pixels->height, JPEG_MAX_DIMENSION);
    if (!*kept)
        *kept = mldfi_alloc_zero(1, sizeof(struct jpeg_writer), err);
    struct jpeg_writer *w = *kept;
    if (!w)
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_buffer_resize(&w->row, (size_t)pixels->width * 3, err);
    return status < 0 ? status : run_writer(w, pixels, &o, out, err);
}

/* ---- From coefficients -------------------------------------------------------------------------------------------------- */

struct jpeg_copy {
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    struct jpeg_trap trap;
    struct jpeg_memory source;
    struct jpeg_sink sink;
    struct jpeg_progress_mgr progress;
};

enum { MAX_SCANS = 100 };

static void watch_copy(j_common_ptr common) {
    if (((j_decompress_ptr)common)->input_scan_number > MAX_SCANS)
        mldfi_jpeg_throw(common, MLDF_E_LIMIT, "more than 100 scans");
}

/* jpeg_write_coefficients has written what it knows of JFIF and Adobe itself. */
static bool written_already(j_compress_ptr out, const struct jpeg_marker_struct *m) {
    return (out->write_JFIF_header && m->marker == JPEG_APP0 && m->data_length >= 5 &&
            memcmp(m->data, "JFIF\0", 5) == 0) ||
           (out->write_Adobe_marker && m->marker == JPEG_APP0 + 14 && m->data_length >= 5 &&
            memcmp(m->data, "Adobe", 5) == 0);
}

static void copy_coefficients(struct jpeg_copy *c, const void *data, size_t bytes, unsigned drop) {
    mldfi_jpeg_source(&c->in, &c->source, data, bytes, false);
    c->progress.progress_monitor = watch_copy;
    c->in.progress = &c->progress;
    for (int i = 0; i < 16; i++)
        jpeg_save_markers(&c->in, JPEG_APP0 + i, 0xffff);
    jpeg_save_markers(&c->in, JPEG_COM, 0xffff);
    jpeg_read_header(&c->in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&c->in);
    jpeg_copy_critical_parameters(&c->in, &c->out);
    c->out.num_scans = 0; /* one scan: baseline */
    c->out.scan_info = NULL;
    c->out.arith_code = FALSE;
    c->out.optimize_coding = TRUE;
    jpeg_write_coefficients(&c->out, coefficients);
    for (const struct jpeg_marker_struct *m = c->in.marker_list; m; m = m->next)
        if (!written_already(&c->out, m) && !mldfi_jpeg_segment_dropped(m->marker, m->data, m->data_length, drop))
            jpeg_write_marker(&c->out, m->marker, m->data, m->data_length);
    jpeg_finish_compress(&c->out);
}

static mldf_status baseline_begin(struct jpeg_copy *c, const void *data, size_t bytes, unsigned drop, mldf_buffer *out,
                                  mldf_error *err) {
    size_t before = out->size;
    c->in.err = mldfi_jpeg_trap(&c->trap, false);
    c->out.err = c->in.err;
    c->source.bytes = bytes;
    if (setjmp(c->trap.back)) {
        jpeg_destroy_compress(&c->out);
        jpeg_destroy_decompress(&c->in);
        out->size = before;
        return mldfi_jpeg_failed(&c->trap, &c->source, err);
    }
    jpeg_create_decompress(&c->in);
    jpeg_create_compress(&c->out);
    sink_begin(&c->out, &c->sink, out);
    copy_coefficients(c, data, bytes, drop);
    jpeg_destroy_compress(&c->out);
    jpeg_destroy_decompress(&c->in);
    return MLDF_OK;
}

mldf_status mldf_image_to_baseline(const void *data, size_t bytes, unsigned drop, mldf_buffer *out, mldf_error *err) {
    mldf_image_info info;
    mldf_image_options limits;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_to_baseline: out is NULL");
    mldf_status status = mldfi_image_probe(data, bytes, &info, err);
    if (status == MLDF_OK)
        status = mldfi_image_options(NULL, &limits, err);
    if (status < 0)
        return status;
    if (info.mode != MLDF_IMAGE_MODE_JPEG)
        return mldfi_fail(err, MLDF_E_TYPE, "a %s image; only a JPEG can become a baseline JPEG",
                          mldf_image_mode_name(info.mode));
    if ((uint64_t)info.width * info.height > limits.max_pixels)
        return mldfi_fail(err, MLDF_E_LIMIT, "an image of %" PRIu32 " x %" PRIu32 " pixels is too large", info.width,
                          info.height);
    struct jpeg_copy *c = mldfi_alloc_zero(1, sizeof *c, err);
    if (!c)
        return MLDF_E_MEMORY;
    status = baseline_begin(c, data, bytes, drop, out, err);
    free(c);
    return status;
}
