/* Where an image file ends, from its own bytes: repair finds images with it in a file that has lost its rows. Nothing is decoded.
 *
 *     JPEG  segments by their lengths, scans up to the next marker, to the end-of-image marker
 *     PNG   chunks by their lengths, to IEND        WebP, BMP  the size that the header states
 *
 * A TIFF file does not say where it ends. */
#include <string.h>

#include "codec/image.h"
#include "util/bytes.h"

enum { JPEG_EOI = 0xd9, JPEG_SOS = 0xda, PNG_SIGNATURE = 8, PNG_AROUND = 12 }; /* length, type and CRC of a chunk */

/* The next marker at or after `at` inside a scan: FF 00 is data, FF D0 to FF D7 are restarts. */
static size_t after_scan(const uint8_t *data, size_t bytes, size_t at) {
    while (at + 1 < bytes) {
        const uint8_t *found = memchr(data + at, 0xff, bytes - 1 - at);
        if (!found)
            return bytes;
        at = (size_t)(found - data);
        uint8_t marker = data[at + 1];
        if (marker != 0 && marker != 0xff && !(marker >= 0xd0 && marker <= 0xd7))
            return at;
        at += marker == 0xff ? 1 : 2;
    }
    return bytes;
}

static uint64_t jpeg_length(const uint8_t *data, size_t bytes) {
    size_t at = 2;
    while (at + 1 < bytes) {
        struct jpeg_segment segment;
        if (data[at] == 0xff && data[at + 1] == JPEG_EOI)
            return at + 2;
        mldf_status status = mldfi_jpeg_next(data, bytes, &at, &segment, NULL);
        if (status < 0)
            return 0;
        if (status == MLDF_END)
            at = after_scan(data, bytes, at);
    }
    return 0;
}

static uint64_t png_length(const uint8_t *data, size_t bytes) {
    for (size_t at = PNG_SIGNATURE; bytes - at >= PNG_AROUND;) {
        uint64_t chunk = (uint64_t)mldfi_be32(data + at) + PNG_AROUND;
        if (chunk > bytes - at)
            return 0;
        if (memcmp(data + at + 4, "IEND", 4) == 0)
            return at + chunk;
        at += (size_t)chunk;
    }
    return 0;
}

uint64_t mldfi_image_length(const uint8_t *data, size_t bytes) {
    const struct image_codec *codec = mldfi_image_detect(data, bytes);
    uint64_t length = 0;
    if (codec == &mldfi_codec_jpeg)
        length = jpeg_length(data, bytes);
    else if (codec == &mldfi_codec_png)
        length = png_length(data, bytes);
    else if (codec == &mldfi_codec_webp)
        length = (uint64_t)mldfi_load_u32(data + 4) + 8;
    else if (codec == &mldfi_codec_bmp)
        length = mldfi_load_u32(data + 2);
    return length <= bytes ? length : 0;
}
