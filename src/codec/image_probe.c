/* What are these bytes? The names of formats, those we decode and those we only recognise; dimensions come from the codec's own
 * probe. Never from the file's name. */
#include <stdio.h>
#include <string.h>

#include "codec/image.h"
#include "util/error.h"
#include "util/options.h"

const char *mldf_image_mode_name(mldf_image_mode mode) {
    switch (mode) {
    case MLDF_IMAGE_MODE_RAW:
        return "raw";
    case MLDF_IMAGE_MODE_YUV420:
        return "yuv420";
    case MLDF_IMAGE_MODE_JPEG:
        return "jpeg";
    case MLDF_IMAGE_MODE_FAST_JPEG:
        return "fast-jpeg";
    case MLDF_IMAGE_MODE_PNG:
        return "png";
    case MLDF_IMAGE_MODE_WEBP:
        return "webp";
    case MLDF_IMAGE_MODE_BMP:
        return "bmp";
    case MLDF_IMAGE_MODE_TIFF:
        return "tiff";
    default:
        return "other";
    }
}

/* Formats that people put into image folders and that are not decoded here. */
static const struct stranger {
    unsigned at, bytes;
    const char *magic, *name;
} strangers[] = {
    {0, 6, "GIF87a", "a GIF file"},
    {0, 6, "GIF89a", "a GIF file"},
    {4, 8, "ftypavif", "an AVIF file"},
    {4, 8, "ftypavis", "an AVIF file"},
    {4, 8, "ftypheic", "a HEIC file"},
    {4, 8, "ftypheix", "a HEIC file"},
    {4, 8, "ftypmif1", "a HEIF file"},
    {4, 4, "ftyp", "an MP4 or other ISO media file"},
    {0, 12, "\0\0\0\14JXL \r\n\x87\n", "a JPEG XL file"},
    {0, 2, "\xff\x0a", "a JPEG XL stream"},
    {0, 12, "\0\0\0\14jP  \r\n\x87\n", "a JPEG 2000 file"},
    {0, 4, "\xff\x4f\xff\x51", "a JPEG 2000 stream"},
    {0, 4, "8BPS", "a Photoshop file"},
    {0, 4, "\0\0\1\0", "an ICO file"},
    {0, 4, "%PDF", "a PDF file"},
    {0, 5, "<?xml", "XML, perhaps SVG,"},
    {0, 4, "<svg", "an SVG file"},
    {0, 2, "P4", "a PBM file"},
    {0, 2, "P5", "a PGM file"},
    {0, 2, "P6", "a PPM file"},
    {0, 4, "\x76\x2f\x31\x01", "an OpenEXR file"},
    {0, 2, "PK", "a ZIP archive"},
    {0, 2, "\x1f\x8b", "gzip data"},
    {0, 4, "\x28\xb5\x2f\xfd", "zstd data"},
};

static mldf_status not_ours(const uint8_t *data, size_t bytes, mldf_error *err) {
    static const char known[] = "JPEG, PNG, WebP, BMP and TIFF are read here";
    if (bytes == 0)
        return mldfi_fail_at(err, MLDF_E_TYPE, 0, "no bytes at all, and so no image");
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        const struct stranger *s = &strangers[i];
        if (bytes >= s->at + s->bytes && memcmp(data + s->at, s->magic, s->bytes) == 0)
            return mldfi_fail_at(err, MLDF_E_TYPE, 0, "%s is not an image that can be read; %s", s->name, known);
    }
    char first[16] = "";
    for (size_t i = 0; i < bytes && i < 4; i++)
        (void)snprintf(first + 3 * i, sizeof first - 3 * i, " %02x", data[i]);
    return mldfi_fail_at(err, MLDF_E_TYPE, 0, "not an image: its %zu byte%s%s; %s", bytes,
                         bytes > 4    ? "s begin with"
                         : bytes == 1 ? " is"
                                      : "s are",
                         first, known);
}

mldf_status mldf_image_probe(const void *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    mldf_image_info info;
    if (!out || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_probe: %s is NULL", out ? "data" : "out");
    TRY(mldfi_check_result("mldf_image_info", out, err));
    mldf_status status = mldfi_image_probe(data, bytes, &info, err);
    mldfi_give_result(out, &info, sizeof info);
    return status;
}

mldf_status mldfi_image_probe(const void *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    out->exif_offset = out->icc_offset = MLDF_NONE;
    out->frames = 1;
    out->bits = 8;
    const struct image_codec *codec = mldfi_image_detect(data, bytes);
    if (!codec) {
        out->mode = MLDF_IMAGE_MODE_OTHER;
        return not_ours(data, bytes, err);
    }
    out->mode = codec->mode;
    mldf_status status = codec->probe(data, bytes, out, err);
    if (status == MLDF_OK && (out->width == 0 || out->height == 0))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "a %s image of %u x %u pixels", codec->name, out->width,
                             out->height);
    return status;
}
