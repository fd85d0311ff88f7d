/* Files that become images, and images that become files: names and first bytes compared, nothing decoded (`mldf pack --check` does that);
 * records of files that lie in another format's file; pixels as PNG. Traits of field.h. */
#include <stdio.h>
#include <string.h>

#include "field/image_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const struct file_ending endings[] = {
    {"jpg", "jpg", ARCHIVE_READ, NULL},
    {"jpeg", "jpg", ARCHIVE_READ, NULL},
    {"jpe", "jpg", ARCHIVE_BYTES, NULL},
    {"jfif", "jpg", ARCHIVE_BYTES, NULL},
    {"png", "png", ARCHIVE_READ, NULL},
    {"apng", "png", ARCHIVE_BYTES, NULL},
    {"webp", "webp", ARCHIVE_READ, NULL},
    {"bmp", "bmp", ARCHIVE_READ, NULL},
    {"dib", "bmp", ARCHIVE_BYTES, NULL},
    {"tif", "tif", ARCHIVE_READ, NULL},
    {"tiff", "tif", ARCHIVE_READ, NULL},
    /* Images that image fields do not take; those that WebDataset decodes are kept as they are. */
    {"gif", NULL, ARCHIVE_KEPT, NULL},
    {"ppm", NULL, ARCHIVE_KEPT, NULL},
    {"pgm", NULL, ARCHIVE_KEPT, NULL},
    {"pbm", NULL, ARCHIVE_BYTES, NULL},
    {"heic", NULL, ARCHIVE_BYTES, NULL},
    {"heif", NULL, ARCHIVE_BYTES, NULL},
    {"avif", NULL, ARCHIVE_BYTES, NULL},
    {"jp2", NULL, ARCHIVE_BYTES, NULL},
    {"jxl", NULL, ARCHIVE_BYTES, NULL},
    {"ico", NULL, ARCHIVE_BYTES, NULL},
    {NULL, NULL, ARCHIVE_BYTES, NULL},
};

const char *mldfi_image_ending(mldf_image_mode mode) {
    static const char *const names[] = {"bin", "jpg", "png", "webp", "bmp", "tif"}; /* by mode */
    return (unsigned)mode < sizeof names / sizeof names[0] ? names[mode] : "bin";
}

/* ---- The end of a file ------------------------------------------------------------------------------------------------- */

/* Offset of the entropy-coded data, or 0 when the markers do not lead there. */
static size_t jpeg_scan(const uint8_t *data, size_t bytes) {
    size_t at = 2;
    while (at + 4 <= bytes && data[at] == 0xff) {
        uint8_t marker = data[at + 1];
        if (marker == 0xff) {
            at++;
            continue;
        }
        if (marker == 0xda)
            return at;
        at += 2 + ((size_t)data[at + 2] << 8 | data[at + 3]);
    }
    return 0;
}

/* Cameras append previews and films, so the end mark may stand anywhere behind the first scan. */
static bool jpeg_ends(const uint8_t *data, size_t bytes) {
    size_t scan = jpeg_scan(data, bytes);
    for (size_t at = bytes; scan && at >= scan + 2; at--)
        if (data[at - 2] == 0xff && data[at - 1] == 0xd9)
            return true;
    return scan == 0;
}

static bool png_ends(const uint8_t *data, size_t bytes) {
    size_t from = bytes > 65536 ? bytes - 65536 : 0;
    for (size_t at = bytes; at >= from + 4; at--)
        if (memcmp(data + at - 4, "IEND", 4) == 0)
            return true;
    return false;
}

static bool is_whole(mldf_image_mode mode, const uint8_t *data, size_t bytes) {
    if (mode == MLDF_IMAGE_MODE_JPEG)
        return jpeg_ends(data, bytes);
    if (mode == MLDF_IMAGE_MODE_PNG)
        return png_ends(data, bytes);
    if (mode == MLDF_IMAGE_MODE_WEBP && bytes >= 8)
        return (uint64_t)mldfi_load_u32(data + 4) + 8 <= bytes;
    return true;
}

static mldf_status image_look(const char *name, const void *data, size_t bytes, file_warning_fn warn, void *user,
                              mldf_error *err) {
    mldf_image_info info;
    char message[160];
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
    mldf_status status = mldfi_image_probe(data, bytes, &info, err);
    if (status < 0) {
        if (err)
            err->offset = MLDF_NONE; /* of the image, not of a file of ours; the message has it */
        return status;
    }
    if (!warn)
        return MLDF_OK;
    const char *format = mldf_image_mode_name(info.mode);
    const struct file_ending *ending = mldfi_file_ending(&mldfi_image_files, name);
    if (ending && (!ending->written || strcmp(ending->written, mldfi_image_ending(info.mode)) != 0)) {
        snprintf(message, sizeof message, "the name ends in .%.16s, and the bytes are %s", mldfi_name_ending(name),
                 format);
        warn(user, message);
    }
    if (info.frames > 1) {
        snprintf(message, sizeof message, "more than one frame or page: decoding gives the first");
        warn(user, message);
    }
    if (!is_whole(info.mode, data, bytes)) {
        snprintf(message, sizeof message, "the %s data has no end mark: the file may be cut short", format);
        warn(user, message);
    }
    return MLDF_OK;
}

void mldfi_image_keep(uint8_t *record, uint64_t ptr, const void *data, uint64_t bytes) {
    mldf_image_info info;
    memset(record, 0, IMAGE_RECORD);
    mldfi_store_u64(record, ptr);
    mldfi_store_u32(record + IMAGE_SIZE, (uint32_t)bytes);
    record[IMAGE_MODE] = MLDF_IMAGE_MODE_OTHER;
    if (mldfi_image_probe(data, (size_t)bytes, &info, NULL) != MLDF_OK || info.width > UINT16_MAX ||
        info.height > UINT16_MAX)
        return;
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)info.height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)info.width);
    record[IMAGE_CHANNELS] = info.channels;
    record[IMAGE_MODE] = (uint8_t)info.mode;
    record[IMAGE_BITS] = info.bits;
    record[IMAGE_COLOR] = (uint8_t)info.color;
    record[IMAGE_ORIENTATION] = info.orientation;
}

const struct field_files mldfi_image_files = {
    .field = "image",
    .noun = "an image",
    .plural = "images",
    .endings = endings,
    .most_bytes = UINT32_MAX,
    .look = image_look,
    .keep = mldfi_image_keep,
};

/* ---- Out ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_image_pixels(struct media_kit *kit, const mldf_value *value, int channels, int bits,
                               mldf_buffer *pixels, mldf_image_pixels *out, mldf_error *err) {
    mldf_image_options options = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    void *decoder;
    options.channels = channels;
    options.bits = bits;
    mldf_status status = mldfi_kit_worker(kit, FAMILY_IMAGE, &decoder, err);
    if (status >= 0)
        status = mldf_image_value_shape(value, &options, &shape, err);
    if (status >= 0)
        status = mldfi_buffer_resize(pixels, (size_t)shape.bytes, err);
    if (status >= 0)
        status = mldf_image_value_decode(decoder, value, &options, pixels->data, pixels->size, err);
    if (status >= 0)
        *out = (mldf_image_pixels){pixels->data, shape.width, shape.height, shape.channels, shape.bits};
    return status;
}

mldf_status mldfi_image_png(struct media_kit *kit, const mldf_value *value, struct export_room *room, mldf_error *err) {
    mldf_image_pixels pixels;
    mldf_status status = mldfi_image_pixels(kit, value, 0, 0, &room->work, &pixels, err);
    room->file.size = 0;
    return status < 0 ? status : mldf_image_encode_png(&pixels, -1, &room->file, err);
}

mldf_status mldfi_image_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    mldf_image_info info;
    (void)field;
    TRY(mldfi_image_value_info(value, &info, err));
    out->data = value->data;
    out->bytes = value->bytes;
    out->ending = mldfi_image_ending(info.mode);
    bool pixels = info.mode == MLDF_IMAGE_MODE_RAW || info.mode == MLDF_IMAGE_MODE_YUV420;
    if (!pixels || value->bytes == 0)
        return MLDF_OK;
    mldf_status status = mldfi_image_png(kit, value, room, err);
    out->data = room->file.data;
    out->bytes = room->file.size;
    out->ending = "png";
    out->converted = true;
    return status;
}

/* ---- What is shown, and compared ---------------------------------------------------------------------------------------------- */

static const char *color_name(const mldf_image_info *info) {
    static const char *const colors[] = {NULL, "cmyk", "ycck", "palette"}, *const by_channels[] = {NULL, "gray",
                                                                                                   "gray_alpha", "rgb",
                                                                                                   "rgba"};
    if (info->color)
        return (unsigned)info->color < 4 ? colors[info->color] : NULL;
    return info->channels <= 4 ? by_channels[info->channels] : NULL;
}

mldf_status mldfi_image_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err) {
    mldf_image_info info;
    (void)field;
    if (mldfi_image_value_info(value, &info, NULL) < 0)
        return MLDF_END;
    const char *color = color_name(&info), *quote = color ? "\"" : "";
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err,
                                     ",\"height\":%u,\"width\":%u,\"channels\":%u,\"mode\":\"%s\",\"bits\":%u,"
                                     "\"color\":%s%s%s,\"orientation\":%u",
                                     (unsigned)info.height, (unsigned)info.width, (unsigned)info.channels,
                                     mldf_image_mode_name(info.mode), (unsigned)info.bits, quote,
                                     color ? color : "null", quote, (unsigned)info.orientation);
    return status < 0 ? status : mldfi_payload_json_end(value, full, out, err);
}

/* The same bytes may be an image in one file and bytes of no known kind in the other. */
bool mldfi_image_same(const mldf_value *x, const mldf_value *y) {
    mldf_image_info a, b;
    if (mldfi_image_value_info(x, &a, NULL) < 0 || mldfi_image_value_info(y, &b, NULL) < 0 || a.mode == b.mode)
        return true;
    /* A 1.0 file may call any bytes a JPEG; written again they are bytes of another format. */
    return (a.mode == MLDF_IMAGE_MODE_OTHER || b.mode == MLDF_IMAGE_MODE_OTHER) &&
           mldfi_image_probe(x->data, (size_t)x->bytes, &a, NULL) == MLDF_E_TYPE;
}
