/* Images in the form that a format can hold (see sink.h). Files stay what they are wherever the format takes files; pixels that have no place
 * become a PNG file, and for .beton, which knows JPEG and raw RGB alone, what is neither is decoded. */
#include <inttypes.h>
#include <string.h>

#include "field/image_type.h"
#include "interop/sink.h"
#include "util/error.h"

bool mldfi_is_image_type(uint16_t type_id) {
    return type_id >= MLDF_IMAGE_RAW && type_id <= MLDF_IMAGE;
}

static bool is_rgb8(const mldf_image_info *info) {
    return info->mode == MLDF_IMAGE_MODE_RAW && info->channels == 3 && info->bits == 8;
}

static mldf_status make_rgb(struct export_room *room, struct media_kit *media, const mldf_value *value,
                            struct sink_image *out, mldf_error *err) {
    mldf_image_pixels pixels;
    TRY(mldfi_image_pixels(media, value, 3, 8, &room->work, &pixels, err));
    out->data = room->work.data;
    out->bytes = room->work.size;
    out->info.mode = MLDF_IMAGE_MODE_RAW;
    out->info.width = pixels.width;
    out->info.height = pixels.height;
    out->info.channels = 3;
    out->info.bits = 8;
    out->made = true;
    return MLDF_OK;
}

static mldf_status make_png(struct export_room *room, struct media_kit *media, const mldf_value *value,
                            struct sink_image *out, mldf_error *err) {
    mldf_status status = mldfi_image_png(media, value, room, err);
    out->data = room->file.data;
    out->bytes = room->file.size;
    out->info.mode = MLDF_IMAGE_MODE_PNG;
    out->made = true;
    return status;
}

static mldf_status describe(const mldf_field *field, const mldf_value *value, mldf_image_info *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    if (mldfi_is_image_type(field->type_id))
        return mldfi_image_value_info(value, out, err);
    if (mldfi_image_probe(value->data, (size_t)value->bytes, out, NULL) < 0) {
        memset(out, 0, sizeof *out);
        out->mode = MLDF_IMAGE_MODE_OTHER;
    }
    return MLDF_OK;
}

/* JPEG of CMYK is none that FFCV decodes. */
static bool beton_takes(const mldf_image_info *info) {
    return is_rgb8(info) || (info->mode == MLDF_IMAGE_MODE_JPEG && info->color == MLDF_IMAGE_BY_CHANNELS);
}

mldf_status mldfi_image_make(struct export_room *room, struct media_kit *media, const mldf_field *field,
                             const mldf_value *value, enum image_form form, struct sink_image *out, mldf_error *err) {
    TRY(describe(field, value, &out->info, err));
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
        return make_rgb(room, media, value, out, err);
    }
    if (form == IMAGE_BETON || (!raw && !yuv) || value->bytes == 0)
        return MLDF_OK;
    if (form == IMAGE_TBL2 && is_rgb8(&out->info))
        return MLDF_OK;
    return form == IMAGE_TBL2 && yuv ? make_rgb(room, media, value, out, err) : make_png(room, media, value, out, err);
}
