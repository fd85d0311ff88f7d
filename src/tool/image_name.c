/* An image's name and its bytes against each other. Nothing is decoded: `mldf pack --check` does that. See image_name.h. */
#include "tool/image_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/bytes.h"
#include "util/error.h"

static const struct {
    const char *ending;
    mldf_image_mode mode; /* OTHER: an image that image fields do not take */
} endings[] = {
    {"jpg", MLDF_IMAGE_MODE_JPEG},   {"jpeg", MLDF_IMAGE_MODE_JPEG},  {"jpe", MLDF_IMAGE_MODE_JPEG},
    {"jfif", MLDF_IMAGE_MODE_JPEG},  {"png", MLDF_IMAGE_MODE_PNG},    {"apng", MLDF_IMAGE_MODE_PNG},
    {"webp", MLDF_IMAGE_MODE_WEBP},  {"bmp", MLDF_IMAGE_MODE_BMP},    {"dib", MLDF_IMAGE_MODE_BMP},
    {"tif", MLDF_IMAGE_MODE_TIFF},   {"tiff", MLDF_IMAGE_MODE_TIFF},  {"gif", MLDF_IMAGE_MODE_OTHER},
    {"ppm", MLDF_IMAGE_MODE_OTHER},  {"pgm", MLDF_IMAGE_MODE_OTHER},  {"pbm", MLDF_IMAGE_MODE_OTHER},
    {"heic", MLDF_IMAGE_MODE_OTHER}, {"heif", MLDF_IMAGE_MODE_OTHER}, {"avif", MLDF_IMAGE_MODE_OTHER},
    {"jp2", MLDF_IMAGE_MODE_OTHER},  {"jxl", MLDF_IMAGE_MODE_OTHER},  {"ico", MLDF_IMAGE_MODE_OTHER},
};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

static const char *ending_of(const char *name) {
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    return dot ? dot + 1 : "";
}

static size_t find_ending(const char *name) {
    const char *ending = ending_of(name);
    size_t i = 0;
    while (i < ENDINGS && strcasecmp(ending, endings[i].ending) != 0)
        i++;
    return i;
}

bool mldfi_image_name(const char *name) {
    return find_ending(name) < ENDINGS;
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

mldf_status mldfi_image_look(const char *name, const void *data, size_t bytes, image_warning_fn warn, void *user,
                             mldf_error *err) {
    mldf_image_info info;
    char message[160];
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
    mldf_status status = mldf_image_probe(data, bytes, &info, err);
    if (status < 0) {
        if (err)
            err->offset = MLDF_NONE; /* of the image, not of a file of ours; the message has it */
        return status;
    }
    const char *format = mldf_image_mode_name(info.mode);
    size_t ending = find_ending(name);
    if (ending < ENDINGS && endings[ending].mode != info.mode) {
        snprintf(message, sizeof message, "the name ends in .%.16s, and the bytes are %s", ending_of(name), format);
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
