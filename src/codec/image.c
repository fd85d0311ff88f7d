/* Decoding an image whatever its format: options become a job, the codec of the format does it. The one idea: everything that an
 * image claims is checked here, against the limits, before any memory or codec is touched. image_sink.c is next. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/image.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

static const struct image_codec *const codecs[] = {&mldfi_codec_jpeg, &mldfi_codec_png, &mldfi_codec_webp,
                                                   &mldfi_codec_bmp, &mldfi_codec_tiff};
enum { CODEC_COUNT = sizeof codecs / sizeof codecs[0] };

const struct image_codec *mldfi_image_codec(mldf_image_mode mode) {
    for (size_t i = 0; i < CODEC_COUNT; i++)
        if (codecs[i]->mode == mode)
            return codecs[i];
    return NULL;
}

const struct image_codec *mldfi_image_detect(const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < CODEC_COUNT; i++)
        if (codecs[i]->match(data, bytes))
            return codecs[i];
    return NULL;
}

/* ---- Options --------------------------------------------------------------------------------------------------------- */

static bool options_make_sense(const mldf_image_options *o) {
    return (o->channels == 0 || o->channels == 1 || o->channels == 3 || o->channels == 4) &&
           (o->bits == 0 || o->bits == 8 || o->bits == 16) &&
           (o->scale == 1 || o->scale == 2 || o->scale == 4 || o->scale == 8) && o->orientation <= 8 &&
           o->eighths >= 0 && o->eighths <= 16 && (o->eighths == 0 || o->scale == 1);
}

mldf_status mldfi_image_options(const mldf_image_options *given, mldf_image_options *out, mldf_error *err) {
    static const mldf_image_options defaults = MLDF_IMAGE_OPTIONS_INIT;
    *out = defaults;
    TRY(mldfi_take_options(out, sizeof *out, "mldf_image_options", given, err));
    if (!options_make_sense(out))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "image options: channels %d (0, 1, 3, 4), bits %d (0, 8, 16), scale %d (1, 2, 4, 8), "
                          "orientation %u (0 to 8), eighths %d (0 to 16, with scale 1)",
                          out->channels, out->bits, out->scale, out->orientation, out->eighths);
    if (out->eighths > 0 && 8 % out->eighths == 0) {
        out->scale = 8 / out->eighths;
        out->eighths = 0;
    }
    if (out->max_pixels == 0)
        out->max_pixels = UINT64_C(1) << 28;
    if (out->max_bytes == 0)
        out->max_bytes = MLDF_IMAGE_MAX_BYTES;
    if (out->max_chunk == 0)
        out->max_chunk = UINT64_C(1) << 26;
    if (out->max_scans == 0)
        out->max_scans = 100;
    return MLDF_OK;
}

/* ---- Planning -------------------------------------------------------------------------------------------------------- */

/* The region is given in the oriented image; codecs work in the stored one. */
static void unorient_region(struct image_job *job, const mldf_image_options *o, unsigned orientation) {
    uint32_t W = job->full_width, H = job->full_height;
    bool swapped = orientation >= 5;
    uint32_t x = swapped ? o->y : o->x, y = swapped ? o->x : o->y;
    job->width = swapped ? o->height : o->width;
    job->height = swapped ? o->width : o->height;
    /* Which stored axis runs backwards: see the table in image_sink.c. */
    bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    job->x = mirror_x ? W - x - job->width : x;
    job->y = mirror_y ? H - y - job->height : y;
}

static mldf_status check_limits(const mldf_image_info *info, const mldf_image_options *o, mldf_error *err) {
    if (info->width == 0 || info->height == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "an image of %" PRIu32 " x %" PRIu32 " pixels", info->width,
                             info->height);
    if ((uint64_t)info->width * info->height > o->max_pixels)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "an image of %" PRIu32 " x %" PRIu32 " pixels, more than the limit of %" PRIu64 " pixels",
                          info->width, info->height, o->max_pixels);
    return MLDF_OK;
}

static mldf_status plan_region(struct image_job *job, const mldf_image_options *o, unsigned orientation,
                               mldf_error *err) {
    uint32_t W = orientation >= 5 ? job->full_height : job->full_width;
    uint32_t H = orientation >= 5 ? job->full_width : job->full_height;
    mldf_image_options whole = *o;
    if (!o->region) {
        whole.x = whole.y = 0;
        whole.width = W;
        whole.height = H;
    } else if (o->width == 0 || o->height == 0 || !mldfi_range_inside(o->x, o->width, W) ||
               !mldfi_range_inside(o->y, o->height, H)) {
        return mldfi_fail(err, MLDF_E_RANGE,
                          "the region %" PRIu32 " x %" PRIu32 " at (%" PRIu32 ", %" PRIu32
                          ") is not inside the image of %" PRIu32 " x %" PRIu32 " pixels",
                          o->width, o->height, o->x, o->y, W, H);
    }
    unorient_region(job, &whole, orientation);
    return MLDF_OK;
}

static uint32_t scaled(uint32_t side, const mldf_image_options *options) {
    uint64_t times = options->eighths ? (uint64_t)options->eighths : 1;
    uint64_t by = options->eighths ? 8 : (uint64_t)options->scale;
    return (uint32_t)((side * times + by - 1) / by);
}

mldf_status mldfi_image_plan(const mldf_image_info *info, uint32_t channels, uint32_t bits,
                             const mldf_image_options *options, struct image_job *job, mldf_image_shape *shape,
                             mldf_error *err) {
    uint32_t scale = (uint32_t)options->scale;
    unsigned orientation = options->orientation ? options->orientation : info->orientation;
    if (!options->orient || orientation == 0)
        orientation = 1;
    TRY(check_limits(info, options, err));
    if (scale != 1 && info->mode != MLDF_IMAGE_MODE_JPEG && info->mode != MLDF_IMAGE_MODE_FAST_JPEG)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "scale 1/%" PRIu32 " of a %s image; only JPEG decodes at a scale",
                          scale, mldf_image_mode_name(info->mode));
    if (options->eighths && info->mode != MLDF_IMAGE_MODE_JPEG)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d/8 of a %s image; only JPEG decodes at such a scale",
                          options->eighths, mldf_image_mode_name(info->mode));
    job->info = info;
    job->options = *options;
    job->full_width = scaled(info->width, options);
    job->full_height = scaled(info->height, options);
    TRY(plan_region(job, options, orientation, err));
    struct image_sink *sink = &job->sink;
    sink->width = job->width;
    sink->height = job->height;
    sink->channels = channels;
    sink->bits = bits;
    sink->out_channels = options->channels ? (uint32_t)options->channels : channels;
    sink->out_bits = options->bits ? (uint32_t)options->bits : bits;
    sink->orientation = orientation;
    sink->pixel_bytes = sink->out_channels * (sink->out_bits / 8);
    shape->width = orientation >= 5 ? job->height : job->width;
    shape->height = orientation >= 5 ? job->width : job->height;
    shape->channels = sink->out_channels;
    shape->bits = sink->out_bits;
    shape->bytes = (uint64_t)shape->width * shape->height * sink->pixel_bytes;
    sink->row_bytes = shape->width * sink->pixel_bytes;
    if (shape->bytes > options->max_bytes || shape->bytes > SIZE_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " bytes of pixels, more than the limit of %" PRIu64,
                          shape->bytes, options->max_bytes);
    return MLDF_OK;
}

mldf_status mldfi_image_plan_bytes(const void *data, size_t bytes, const mldf_image_options *given,
                                   mldf_image_info *info, struct image_job *job, mldf_image_shape *shape,
                                   mldf_error *err) {
    mldf_image_options options;
    uint32_t channels, bits;
    memset(job, 0, sizeof *job);
    mldf_status status = mldfi_image_options(given, &options, err);
    if (status == MLDF_OK)
        status = mldfi_image_probe(data, bytes, info, err);
    if (status < 0)
        return status;
    const struct image_codec *codec = mldfi_image_codec(info->mode);
    bool inks = info->color == MLDF_IMAGE_CMYK || info->color == MLDF_IMAGE_YCCK;
    channels = inks ? 3 : info->channels;
    bits = info->bits;
    if (codec->native)
        codec->native(info, options.channels ? (uint32_t)options.channels : channels, &channels, &bits);
    job->data = data;
    job->bytes = bytes;
    return mldfi_image_plan(info, channels, bits, &options, job, shape, err);
}

/* ---- Public ---------------------------------------------------------------------------------------------------------- */

mldf_status mldf_image_decoded_shape(const void *data, size_t bytes, const mldf_image_options *options,
                                     mldf_image_shape *out, mldf_error *err) {
    mldf_image_info info;
    struct image_job job;
    if (!out || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_decoded_shape: %s is NULL", out ? "data" : "out");
    return mldfi_image_plan_bytes(data, bytes, options, &info, &job, out, err);
}

mldf_status mldf_image_decode(mldf_image_decoder *decoder, const void *data, size_t bytes,
                              const mldf_image_options *options, void *pixels, size_t pixels_bytes, mldf_error *err) {
    mldf_image_info info;
    mldf_image_shape shape;
    struct image_job job;
    mldf_image_decoder own = {.jpeg = NULL};
    if (!pixels || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_decode: %s is NULL", pixels ? "data" : "pixels");
    TRY(mldfi_image_plan_bytes(data, bytes, options, &info, &job, &shape, err));
    if (pixels_bytes != shape.bytes)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu bytes for pixels that need %" PRIu64, pixels_bytes, shape.bytes);
    job.decoder = decoder ? decoder : &own;
    mldf_status status = mldfi_sink_begin(&job, pixels, err);
    if (status == MLDF_OK)
        status = mldfi_image_codec(info.mode)->decode(&job, err);
    if (!decoder)
        mldfi_image_decoder_end(&own);
    return status;
}

mldf_status mldfi_image_decode_to(mldf_image_decoder *decoder, const void *data, size_t bytes,
                                  const mldf_image_options *options, mldf_buffer *memory, mldf_image_pixels *out,
                                  mldf_error *err) {
    mldf_image_info info;
    mldf_image_shape shape;
    struct image_job job;
    TRY(mldfi_image_plan_bytes(data, bytes, options, &info, &job, &shape, err));
    job.decoder = decoder;
    memory->size = 0;
    mldf_status status = mldfi_buffer_resize(memory, (size_t)shape.bytes + PIXELS_BESIDE, err);
    if (status == MLDF_OK)
        status = mldfi_sink_begin(&job, memory->data + PIXELS_BESIDE, err);
    if (status == MLDF_OK)
        status = mldfi_image_codec(info.mode)->decode(&job, err);
    if (status == MLDF_OK)
        *out = (mldf_image_pixels){job.sink.pixels, shape.width, shape.height, shape.channels, shape.bits};
    return status;
}

/* At 1/8 libjpeg decodes and checks the same codes in the same order, and leaves out the arithmetic between them and the pixels. */
mldf_status mldfi_image_check(mldf_image_decoder *decoder, const void *data, size_t bytes, mldf_error *err) {
    mldf_image_options options = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_info info;
    mldf_image_shape shape;
    struct image_job job;
    if (mldfi_codec_jpeg.match(data, bytes))
        options.scale = 8;
    TRY(mldfi_image_plan_bytes(data, bytes, &options, &info, &job, &shape, err));
    job.decoder = decoder;
    job.sink.discard = true;
    return mldfi_image_codec(info.mode)->decode(&job, err);
}

mldf_status mldfi_view_begin(struct image_job *job, const mldf_image_shape *shape, struct image_view *out,
                             mldf_error *err) {
    mldf_buffer *memory = &job->decoder->view;
    mldf_status status = mldfi_buffer_resize(memory, (size_t)shape->bytes, err);
    if (status == MLDF_OK)
        status = mldfi_sink_begin(job, memory->data, err);
    out->pixels = memory->data;
    out->stride = job->sink.row_bytes;
    out->shape = *shape;
    return status;
}

mldf_status mldfi_image_view(mldf_image_decoder *decoder, const void *data, size_t bytes,
                             const mldf_image_options *options, struct image_view *out, mldf_error *err) {
    mldf_image_info info;
    struct image_job job;
    mldf_status status = mldfi_image_plan_bytes(data, bytes, options, &info, &job, &out->shape, err);
    if (status < 0)
        return status;
    const struct image_sink *sink = &job.sink;
    job.decoder = decoder;
    job.view = info.mode == MLDF_IMAGE_MODE_JPEG && sink->orientation == 1 && sink->channels == sink->out_channels &&
               sink->bits == sink->out_bits;
    if (!job.view) {
        const mldf_image_shape shape = out->shape;
        status = mldfi_view_begin(&job, &shape, out, err);
    }
    if (status == MLDF_OK)
        status = mldfi_image_codec(info.mode)->decode(&job, err);
    if (status == MLDF_OK && job.view) {
        out->pixels = decoder->view.data + job.view_offset;
        out->stride = job.view_stride;
    }
    return status;
}

mldf_status mldf_image_decoder_new(mldf_image_decoder **out, mldf_error *err) {
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_decoder_new: out is NULL");
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_image_decoder_end(mldf_image_decoder *decoder) {
    mldfi_jpeg_decoder_free(decoder->jpeg);
    decoder->jpeg = NULL;
    if (decoder->fast)
        decoder->free_fast(decoder->fast);
    decoder->fast = NULL;
    mldf_buffer_free(&decoder->row);
    mldf_buffer_free(&decoder->work);
    mldf_buffer_free(&decoder->view);
}

void mldfi_image_decoder_trim(mldf_image_decoder *decoder, size_t most) {
    mldfi_buffer_trim(&decoder->row, most);
    mldfi_buffer_trim(&decoder->work, most);
    mldfi_buffer_trim(&decoder->view, most);
}

void mldf_image_decoder_free(mldf_image_decoder *decoder) {
    if (decoder)
        mldfi_image_decoder_end(decoder);
    free(decoder);
}

mldf_status mldfi_image_work(struct image_job *job, uint64_t bytes, uint8_t **out, mldf_error *err) {
    if (bytes > job->options.max_bytes || bytes > SIZE_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "decoding needs %" PRIu64 " bytes, more than the limit of %" PRIu64, bytes,
                          job->options.max_bytes);
    mldf_status status = mldfi_buffer_resize(&job->decoder->work, (size_t)bytes, err);
    *out = job->decoder->work.data;
    return status;
}

/* Pixels that a caller wants encoded or resized. */
mldf_status mldfi_pixels_check(const mldf_image_pixels *pixels, const char *who, uint64_t *row_bytes, mldf_error *err) {
    uint64_t all;
    if (!pixels || !pixels->data)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: %s is NULL", who, pixels ? "the pixels' data" : "pixels");
    if (pixels->width == 0 || pixels->height == 0 || pixels->channels < 1 || pixels->channels > 4 ||
        (pixels->bits != 8 && pixels->bits != 16))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "%s: %" PRIu32 " x %" PRIu32 " pixels of %" PRIu32 " channels and %" PRIu32
                          " bits; 1 to 4 channels and 8 or 16 bits are known",
                          who, pixels->width, pixels->height, pixels->channels, pixels->bits);
    *row_bytes = (uint64_t)pixels->width * pixels->channels * (pixels->bits / 8);
    if (!mldfi_mul_u64(*row_bytes, pixels->height, &all) || all > SIZE_MAX / 2)
        return mldfi_fail(err, MLDF_E_LIMIT, "%s: %" PRIu32 " x %" PRIu32 " pixels are too many", who, pixels->width,
                          pixels->height);
    return MLDF_OK;
}
