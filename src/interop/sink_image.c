/* Images in the form that a format can hold (see sink.h). Files stay what they are wherever the format takes files; pixels that have no place
 * become a PNG file, and for .beton, which knows JPEG and raw RGB alone, what is neither is decoded. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interop/sink.h"
#include "util/buffer.h"
#include "util/error.h"

void mldfi_image_maker_free(struct image_maker *maker) {
    mldf_buffer_free(&maker->pixels);
    mldf_buffer_free(&maker->file);
    memset(maker, 0, sizeof *maker);
}

static bool is_rgb8(const mldf_image_info *info) {
    return info->mode == MLDF_IMAGE_MODE_RAW && info->channels == 3 && info->bits == 8;
}

/* Decodes into maker->pixels; channels and bits 0: as stored. */
static mldf_status decode(struct image_maker *maker, struct media_kit *media, const mldf_value *value, int channels,
                          int bits, mldf_image_pixels *out, mldf_error *err) {
    mldf_image_options options = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    options.channels = channels;
    options.bits = bits;
    void *worker; /* begins with an mldf_image_decoder */
    mldf_status status = mldfi_kit_worker(media, FAMILY_IMAGE, &worker, err);
    if (status >= 0)
        status = mldf_image_value_shape(value, &options, &shape, err);
    if (status >= 0)
        status = mldfi_buffer_resize(&maker->pixels, (size_t)shape.bytes, err);
    if (status >= 0)
        status = mldf_image_value_decode(worker, value, &options, maker->pixels.data, maker->pixels.size, err);
    if (status >= 0)
        *out = (mldf_image_pixels){maker->pixels.data, shape.width, shape.height, shape.channels, shape.bits};
    return status;
}

static mldf_status make_rgb(struct image_maker *maker, struct media_kit *media, const mldf_value *value,
                            struct sink_image *out, mldf_error *err) {
    mldf_image_pixels pixels;
    mldf_status status = decode(maker, media, value, 3, 8, &pixels, err);
    if (status < 0)
        return status;
    out->data = maker->pixels.data;
    out->bytes = maker->pixels.size;
    out->info.mode = MLDF_IMAGE_MODE_RAW;
    out->info.width = pixels.width;
    out->info.height = pixels.height;
    out->info.channels = 3;
    out->info.bits = 8;
    out->made = true;
    return MLDF_OK;
}

static mldf_status make_png(struct image_maker *maker, struct media_kit *media, const mldf_value *value,
                            struct sink_image *out, mldf_error *err) {
    mldf_image_pixels pixels;
    mldf_status status = decode(maker, media, value, 0, 0, &pixels, err);
    maker->file.size = 0;
    if (status >= 0)
        status = mldf_image_encode_png(&pixels, -1, &maker->file, err);
    out->data = maker->file.data;
    out->bytes = maker->file.size;
    out->info.mode = MLDF_IMAGE_MODE_PNG;
    out->made = true;
    return status;
}

static mldf_status describe(const mldf_field *field, const mldf_value *value, mldf_image_info *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    if (mldfi_is_image_type(field->type_id))
        return mldf_image_record(value, out, err);
    if (mldf_image_probe(value->data, (size_t)value->bytes, out, NULL) < 0) {
        memset(out, 0, sizeof *out);
        out->mode = MLDF_IMAGE_MODE_OTHER;
    }
    return MLDF_OK;
}

/* JPEG of CMYK is none that FFCV decodes. */
static bool beton_takes(const mldf_image_info *info) {
    return is_rgb8(info) || (info->mode == MLDF_IMAGE_MODE_JPEG && info->color == MLDF_IMAGE_BY_CHANNELS);
}

mldf_status mldfi_image_make(struct image_maker *maker, struct media_kit *media, const mldf_field *field,
                             const mldf_value *value, enum image_form form, struct sink_image *out, mldf_error *err) {
    mldf_status status = describe(field, value, &out->info, err);
    if (status < 0)
        return status;
    out->data = value->data;
    out->bytes = value->bytes;
    out->made = false;
    bool raw = out->info.mode == MLDF_IMAGE_MODE_RAW, yuv = out->info.mode == MLDF_IMAGE_MODE_YUV420;
    if (form == IMAGE_BETON && !beton_takes(&out->info)) {
        if (out->info.mode == MLDF_IMAGE_MODE_OTHER)
            return mldfi_fail(err, MLDF_E_TYPE,
                              "%" PRIu64 " bytes that are no image known here; .beton holds JPEG "
                              "and raw RGB",
                              value->bytes);
        return make_rgb(maker, media, value, out, err);
    }
    if (form == IMAGE_BETON || (!raw && !yuv) || value->bytes == 0)
        return MLDF_OK;
    if (form == IMAGE_TBL2 && is_rgb8(&out->info))
        return MLDF_OK;
    return form == IMAGE_TBL2 && yuv ? make_rgb(maker, media, value, out, err)
                                     : make_png(maker, media, value, out, err);
}

/* ---- Kits --------------------------------------------------------------------------------------------------------------- */

enum { KIT_KEEP = 4 << 20 }; /* a larger buffer goes back after use */

mldf_status mldfi_sink_kit_begin(struct sink_kit *kit, size_t count, mldf_error *err) {
    kit->count = count;
    kit->makers = mldfi_alloc_zero(count + 1, sizeof *kit->makers, err);
    kit->images = mldfi_alloc_zero(count + 1, sizeof *kit->images, err);
    return kit->makers && kit->images ? MLDF_OK : MLDF_E_MEMORY;
}

static void trim(mldf_buffer *buffer) {
    if (buffer->capacity > KIT_KEEP)
        mldf_buffer_free(buffer);
}

void mldfi_sink_kit_trim(struct sink_kit *kit) {
    for (size_t i = 0; i < kit->count; i++) {
        trim(&kit->makers[i].pixels);
        trim(&kit->makers[i].file);
    }
}

void mldfi_sink_kit_end(struct sink_kit *kit) {
    for (size_t i = 0; kit->makers && i < kit->count; i++)
        mldfi_image_maker_free(&kit->makers[i]);
    free(kit->makers);
    free(kit->images);
    memset(kit, 0, sizeof *kit);
}

const char *mldfi_image_ending(const struct sink_image *image) {
    static const char *const endings[] = {"bin", "jpg", "png", "webp", "bmp", "tif"}; /* by mode */
    unsigned mode = image->info.mode;
    return mode < sizeof endings / sizeof endings[0] ? endings[mode] : "bin";
}
