/* Decoding the value of an image field whatever its mode: files through their codec, raw and YUV pixels through the same sink, so
 * that region, channels, bits and orientation mean one thing everywhere. */
#include <inttypes.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "field/image_fast.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "kernel/yuv.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

mldf_status mldf_image_record(const mldf_value *value, mldf_image_info *out, mldf_error *err) {
    mldf_image_info info;
    if (!value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_record: %s is NULL", value ? "out" : "value");
    mldf_status status = mldfi_check_result("mldf_image_info", out, err);
    if (status == MLDF_OK && (status = mldfi_image_value_info(value, &info, err)) == MLDF_OK)
        mldfi_give_result(out, &info, sizeof info);
    return status;
}

mldf_status mldfi_image_value_info(const mldf_value *value, mldf_image_info *out, mldf_error *err) {
    if (!value->record || value->record_bytes != IMAGE_RECORD)
        return mldfi_fail(err, MLDF_E_TYPE, "a value without an image record: it was not read from an image field");
    mldfi_image_record_info(value->record, out);
    return MLDF_OK;
}

/* The record's orientation is the one that counts: pixels of a re-encoded image have none of their own. */
static mldf_status begin(const mldf_value *value, const mldf_image_options *given, mldf_image_info *info,
                         mldf_image_options *options, bool *encoded, mldf_error *err) {
    mldf_status status = mldfi_image_value_info(value, info, err);
    if (status == MLDF_OK)
        status = mldfi_image_options(given, options, err);
    if (status < 0)
        return status;
    if (info->orientation > 8)
        return mldfi_fail(err, MLDF_E_CORRUPT, "orientation %u in the record; 0 to 8 are known", info->orientation);
    if (options->orientation == 0)
        options->orientation = info->orientation;
    bool fast = info->mode == MLDF_IMAGE_MODE_FAST_JPEG;
    *encoded = info->mode != MLDF_IMAGE_MODE_RAW && info->mode != MLDF_IMAGE_MODE_YUV420 && !fast;
    if (fast)
        return mldfi_fast_image_info(value->data, (size_t)value->bytes, info, err);
    if (!*encoded && mldfi_image_raw_bytes(info) != value->bytes)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu64 " bytes of pixels, and the record needs %" PRIu64,
                          value->bytes, mldfi_image_raw_bytes(info));
    return MLDF_OK;
}

static mldf_status plan(const mldf_image_info *info, const mldf_image_options *options, struct image_job *job,
                        mldf_image_shape *shape, mldf_error *err) {
    memset(job, 0, sizeof *job);
    if (info->channels < 1 || info->channels > 4 || (info->bits != 8 && info->bits != 16))
        return mldfi_fail(err, MLDF_E_CORRUPT, "raw pixels of %u channels and %u bits", info->channels, info->bits);
    uint32_t channels = info->mode == MLDF_IMAGE_MODE_YUV420 ? 3 : info->channels, bits = info->bits;
    if (info->mode == MLDF_IMAGE_MODE_FAST_JPEG)
        mldfi_codec_jpeg.native(info, options->channels ? (uint32_t)options->channels : channels, &channels, &bits);
    return mldfi_image_plan(info, channels, bits, options, job, shape, err);
}

mldf_status mldf_image_value_shape(const mldf_value *value, const mldf_image_options *options, mldf_image_shape *out,
                                   mldf_error *err) {
    mldf_image_info info;
    mldf_image_options o;
    struct image_job job;
    bool encoded;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_value_shape: out is NULL");
    TRY(begin(value, options, &info, &o, &encoded, err));
    return encoded ? mldf_image_decoded_shape(value->data, (size_t)value->bytes, &o, out, err)
                   : plan(&info, &o, &job, out, err);
}

static mldf_status decode_raw(struct image_job *job, const mldf_value *value, mldf_error *err) {
    const mldf_image_info *info = job->info;
    const uint8_t *data = value->data;
    size_t pixel = (size_t)info->channels * (info->bits / 8);
    uint8_t *row = NULL;
    bool yuv = info->mode == MLDF_IMAGE_MODE_YUV420, aligned = (uintptr_t)data % 2 == 0 || info->bits == 8;
    if (info->mode == MLDF_IMAGE_MODE_FAST_JPEG) {
        job->data = data;
        job->bytes = (size_t)value->bytes;
        return mldfi_fast_image_decode(job, err);
    }
    if (!yuv && job->sink.direct && !job->sink.discard && job->width == info->width) { /* rows as they stand there */
        size_t line = job->width * pixel;
        memcpy(job->sink.pixels, data + job->y * line, job->height * line);
        return MLDF_OK;
    }
    mldf_status status = mldfi_image_work(job, (uint64_t)job->width * 8, &row, err);
    for (uint32_t y = 0; status == MLDF_OK && y < job->height; y++) {
        const uint8_t *from = row;
        if (yuv) {
            mldfi_yuv420_row(data, info->width, info->height, job->y + y, job->x, job->width, row);
        } else {
            from = data + ((size_t)(job->y + y) * info->width + job->x) * pixel;
            if (!aligned)
                from = memcpy(row, from, job->width * pixel);
        }
        mldfi_sink_row(&job->sink, y, from);
    }
    return status;
}

/* The fast DCT is libjpeg's alone: the file is made for it. */
static mldf_status decode_restored(mldf_image_decoder *decoder, const mldf_value *value, const mldf_image_options *o,
                                   void *pixels, size_t pixels_bytes, mldf_error *err) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_fast_restore(value->data, (size_t)value->bytes, o->max_bytes, &jpeg, err);
    if (status == MLDF_OK)
        status = mldf_image_decode(decoder, jpeg.data, jpeg.size, o, pixels, pixels_bytes, err);
    mldf_buffer_free(&jpeg);
    return status;
}

mldf_status mldf_image_value_decode(mldf_image_decoder *decoder, const mldf_value *value,
                                    const mldf_image_options *options, void *pixels, size_t pixels_bytes,
                                    mldf_error *err) {
    mldf_image_info info;
    mldf_image_options o;
    mldf_image_shape shape;
    struct image_job job;
    mldf_image_decoder *own = NULL;
    bool encoded;
    if (!pixels)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_value_decode: pixels is NULL");
    mldf_status status = begin(value, options, &info, &o, &encoded, err);
    if (status == MLDF_OK && encoded)
        return mldf_image_decode(decoder, value->data, (size_t)value->bytes, &o, pixels, pixels_bytes, err);
    if (status == MLDF_OK && info.mode == MLDF_IMAGE_MODE_FAST_JPEG && o.fast_dct)
        return decode_restored(decoder, value, &o, pixels, pixels_bytes, err);
    if (status == MLDF_OK)
        status = plan(&info, &o, &job, &shape, err);
    if (status == MLDF_OK && shape.bytes != pixels_bytes)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "%zu bytes for pixels that need %" PRIu64, pixels_bytes, shape.bytes);
    if (status == MLDF_OK && !decoder)
        status = mldf_image_decoder_new(&own, err);
    if (status < 0)
        return status;
    job.decoder = decoder ? decoder : own;
    status = mldfi_sink_begin(&job, pixels, err);
    if (status == MLDF_OK)
        status = decode_raw(&job, value, err);
    mldf_image_decoder_free(own);
    return status;
}

/* Raw pixels as they stand in the file. */
static void show_raw(const struct image_job *job, const uint8_t *data, struct image_view *out) {
    const mldf_image_info *info = job->info;
    size_t pixel = (size_t)info->channels * (info->bits / 8);
    out->stride = info->width * pixel;
    out->pixels = data + job->y * out->stride + job->x * pixel;
}

/* Rows with room behind them, which the loops like. */
static mldf_status view_fast(struct image_job *job, const mldf_value *value, struct image_view *out, mldf_error *err) {
    enum { BEHIND = 64 };
    mldf_buffer *memory = &job->decoder->view;
    out->stride = (size_t)mldfi_align_up((uint64_t)job->width * job->sink.channels, BEHIND);
    TRY(mldfi_buffer_resize(memory, out->stride * job->height + BEHIND, err));
    job->view = true;
    job->view_stride = out->stride;
    out->pixels = memory->data;
    return decode_raw(job, value, err);
}

void mldfi_image_decoder_use(mldf_image_decoder *decoder, const struct kernels *kernels) {
    decoder->kernels = kernels;
}

static mldf_status view_raw(mldf_image_decoder *decoder, const mldf_value *value, const mldf_image_info *info,
                            const mldf_image_options *o, struct image_view *out, mldf_error *err) {
    struct image_job job;
    mldf_image_shape shape;
    TRY(plan(info, o, &job, &shape, err));
    const struct image_sink *sink = &job.sink;
    job.decoder = decoder;
    out->shape = shape;
    if (info->mode == MLDF_IMAGE_MODE_RAW && sink->orientation == 1 && sink->channels == sink->out_channels &&
        sink->bits == sink->out_bits) {
        show_raw(&job, value->data, out);
        return MLDF_OK;
    }
    bool same = sink->orientation == 1 && sink->channels == sink->out_channels && sink->bits == sink->out_bits;
    if (info->mode == MLDF_IMAGE_MODE_FAST_JPEG && same && !o->fast_dct)
        return view_fast(&job, value, out, err);
    mldf_status status = mldfi_view_begin(&job, &shape, out, err);
    if (status == MLDF_OK && info->mode == MLDF_IMAGE_MODE_FAST_JPEG && o->fast_dct) {
        uint8_t *pixels = decoder->view.data;
        return decode_restored(decoder, value, o, pixels, (size_t)shape.bytes, err);
    }
    return status < 0 ? status : decode_raw(&job, value, err);
}

mldf_status mldfi_image_value_view(mldf_image_decoder *decoder, const mldf_value *value,
                                   const mldf_image_options *options, struct raster *out, mldf_error *err) {
    mldf_image_info info;
    mldf_image_options o;
    struct image_view view = {0};
    bool encoded;
    mldf_status status = begin(value, options, &info, &o, &encoded, err);
    if (status == MLDF_OK)
        status = encoded ? mldfi_image_view(decoder, value->data, (size_t)value->bytes, &o, &view, err)
                         : view_raw(decoder, value, &info, &o, &view, err);
    if (status < 0)
        return status;
    memcpy(&out->data, &view.pixels, sizeof out->data); /* kernels only read it */
    out->width = view.shape.width;
    out->height = view.shape.height;
    out->channels = view.shape.channels;
    out->bits = view.shape.bits;
    out->stride = view.stride;
    return MLDF_OK;
}

mldf_status mldfi_image_value_planes(mldf_image_decoder *decoder, const mldf_value *value,
                                     const mldf_image_options *options, struct planes *out, mldf_error *err) {
    mldf_image_info info;
    mldf_image_options o;
    mldf_image_shape shape;
    struct image_job job;
    bool encoded;
    TRY(begin(value, options, &info, &o, &encoded, err));
    if (encoded && info.mode != MLDF_IMAGE_MODE_JPEG)
        return MLDF_END;
    TRY(encoded ? mldfi_image_plan_bytes(value->data, (size_t)value->bytes, &o, &info, &job, &shape, err)
                : plan(&info, &o, &job, &shape, err));
    job.data = value->data;
    job.bytes = (size_t)value->bytes;
    job.decoder = decoder;
    if (job.sink.orientation != 1)
        return MLDF_END;
    if (info.mode == MLDF_IMAGE_MODE_YUV420) {
        mldfi_yuv_image_planes(&job, value->data, out);
        return MLDF_OK;
    }
    return info.mode == MLDF_IMAGE_MODE_FAST_JPEG ? mldfi_fast_image_planes(&job, out, err)
           : info.mode == MLDF_IMAGE_MODE_JPEG    ? mldfi_jpeg_image_planes(&job, out, err)
                                                  : MLDF_END;
}
