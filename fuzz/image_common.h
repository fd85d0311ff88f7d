/* What the image targets share. The input's last byte, when there is one, chooses options; the rest is the image. */
#ifndef MLDF_FUZZ_IMAGE_COMMON_H
#define MLDF_FUZZ_IMAGE_COMMON_H

#include <stdlib.h>
#include <string.h>

#include "mldf/image.h"

static inline void fuzz_decode(const uint8_t *data, size_t size, const mldf_image_options *options) {
    mldf_image_shape shape;
    mldf_error err;
    if (mldf_image_decoded_shape(data, size, options, &shape, &err) != MLDF_OK)
        return;
    uint8_t *pixels = (uint8_t *)malloc(shape.bytes);
    if (!pixels)
        return;
    if (mldf_image_decode(NULL, data, size, options, pixels, shape.bytes, &err) == MLDF_OK) {
        volatile uint8_t sum = 0; /* every pixel was written, or the memory sanitizer complains */
        for (size_t i = 0; i < shape.bytes; i++)
            sum = (uint8_t)(sum + pixels[i]);
    }
    free(pixels);
}

/* Whole, and a region, with what `choice` asks for. Only images of this mode, so that a target stays with its codec. */
static inline void fuzz_image(const uint8_t *data, size_t size, mldf_image_mode mode) {
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    uint8_t choice = size ? data[size - 1] : 0;
    o.max_pixels = 1 << 18;
    o.max_bytes = 1 << 22;
    o.max_chunk = 1 << 18;
    o.max_scans = 8;
    if (mldf_image_probe(data, size, &info, &err) != MLDF_OK || info.mode != mode)
        return;
    static const int channels[] = {0, 1, 3, 4};
    o.channels = channels[choice & 3];
    o.bits = choice & 4 ? 16 : 0;
    o.orient = choice & 8;
    o.tolerant = choice & 16;
    if (mode == MLDF_IMAGE_MODE_JPEG)
        o.scale = choice & 32 ? 4 : 1;
    fuzz_decode(data, size, &o);
    o.region = true;
    o.x = info.width / 3 / (unsigned)o.scale;
    o.y = info.height / 3 / (unsigned)o.scale;
    o.width = info.width / 4 / (unsigned)o.scale + 1;
    o.height = info.height / 4 / (unsigned)o.scale + 1;
    fuzz_decode(data, size, &o);
}

#endif
