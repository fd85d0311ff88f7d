/* RGB to YUV 4:2:0 and back, in 16-bit fixed point. The constants are those of JFIF 1.02, as libjpeg rounds them. */
#include "kernel/yuv.h"

#include <inttypes.h>

#include "util/buffer.h"
#include "util/error.h"

struct rgb {
    uint32_t r, g, b;
};

static struct rgb pixel_at(const mldf_image_pixels *p, uint32_t x, uint32_t y) {
    const uint8_t *at = (const uint8_t *)p->data + ((size_t)y * p->width + x) * p->channels;
    if (p->channels < 3)
        return (struct rgb){at[0], at[0], at[0]};
    return (struct rgb){at[0], at[1], at[2]};
}

static void put_luma(const mldf_image_pixels *p, uint8_t *out) {
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            struct rgb v = pixel_at(p, x, y);
            *out++ = (uint8_t)((v.r * 19595 + v.g * 38470 + v.b * 7471 + 32768) >> 16);
        }
}

/* Sums of four pixels, so the shift is 18; the last row and column stand for those beyond the edge. */
static void put_chroma(const mldf_image_pixels *p, uint8_t *cb, uint8_t *cr) {
    for (uint32_t y = 0; y < p->height; y += 2)
        for (uint32_t x = 0; x < p->width; x += 2) {
            uint32_t right = x + 1 < p->width ? x + 1 : x, below = y + 1 < p->height ? y + 1 : y;
            struct rgb v[4] = {pixel_at(p, x, y), pixel_at(p, right, y), pixel_at(p, x, below),
                               pixel_at(p, right, below)};
            int32_t r = 0, g = 0, b = 0, half = (128 << 18) + (1 << 17) - 1;
            for (int i = 0; i < 4; i++) {
                r += (int32_t)v[i].r;
                g += (int32_t)v[i].g;
                b += (int32_t)v[i].b;
            }
            *cb++ = (uint8_t)((-11059 * r - 21709 * g + 32768 * b + half) >> 18);
            *cr++ = (uint8_t)((32768 * r - 27439 * g - 5329 * b + half) >> 18);
        }
}

mldf_status mldf_image_encode_yuv420(const mldf_image_pixels *pixels, mldf_buffer *out, mldf_error *err) {
    uint8_t *planes;
    if (!pixels || !pixels->data || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_encode_yuv420: pixels or out is NULL");
    if (pixels->bits != 8 || pixels->channels < 1 || pixels->channels > 4 || pixels->width == 0 ||
        pixels->height == 0 || pixels->width > 1 << 20 || pixels->height > 1 << 20)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "mldf_image_encode_yuv420: %" PRIu32 " x %" PRIu32 " pixels of %" PRIu32
                          " channels and %" PRIu32 " bits; 1 to 4 channels of 8 bits are known",
                          pixels->width, pixels->height, pixels->channels, pixels->bits);
    size_t area = (size_t)pixels->width * pixels->height;
    size_t quarter = ((size_t)pixels->width + 1) / 2 * (((size_t)pixels->height + 1) / 2);
    TRY(mldfi_buffer_extend(out, area + 2 * quarter, &planes, err));
    put_luma(pixels, planes);
    put_chroma(pixels, planes + area, planes + area + quarter);
    return MLDF_OK;
}

static inline uint8_t clip(int32_t v) {
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void mldfi_yuv420_row(const uint8_t *planes, uint32_t width, uint32_t height, uint32_t y, uint32_t x, uint32_t pixels,
                      uint8_t *rgb) {
    size_t area = (size_t)width * height, half = ((size_t)width + 1) / 2, quarter = half * (((size_t)height + 1) / 2);
    const uint8_t *luma = planes + (size_t)y * width, *cb = planes + area + y / 2 * half, *cr = cb + quarter;
    for (uint32_t i = x; i < x + pixels; i++, rgb += 3) {
        int32_t l = luma[i], b = cb[i / 2] - 128, r = cr[i / 2] - 128;
        rgb[0] = clip(l + ((91881 * r + 32768) >> 16));
        rgb[1] = clip(l + ((-22554 * b - 46802 * r + 32768) >> 16));
        rgb[2] = clip(l + ((116130 * b + 32768) >> 16));
    }
}
