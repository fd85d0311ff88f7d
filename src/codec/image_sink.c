/* Rows of native pixels become the caller's: gray from RGB, alpha dropped or added, 8 and 16 bits, turned as EXIF says.
 *
 * EXIF orientation o: output pixel (X, Y) comes from stored (x, y); W, H are the stored sides.
 *     1  x = X          y = Y              5  x = Y          y = X
 *     2  x = W-1-X      y = Y              6  x = Y          y = H-1-X
 *     3  x = W-1-X      y = H-1-Y          7  x = W-1-Y      y = H-1-X
 *     4  x = X          y = H-1-Y          8  x = W-1-Y      y = X
 */
#include <inttypes.h>
#include <string.h>

#include "codec/image.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_status mldfi_sink_begin(struct image_job *job, void *pixels, mldf_error *err) {
    struct image_sink *s = &job->sink;
    s->pixels = pixels;
    s->direct = s->orientation == 1 && s->channels == s->out_channels && s->bits == s->out_bits;
    s->row = NULL;
    if (s->out_bits == 16 && (uintptr_t)pixels % 2 != 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "16-bit pixels at an odd address");
    if (s->direct)
        return MLDF_OK;
    mldf_status status = mldfi_buffer_resize(&job->decoder->row, (size_t)s->width * s->pixel_bytes, err);
    s->row = job->decoder->row.data;
    return status;
}

/* ITU-R 601 luma in 16-bit fixed point, the constants that Pillow uses. */
static inline uint32_t luma(uint32_t r, uint32_t g, uint32_t b) {
    return (r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16;
}

/* Any channels to any channels, in one depth. PIXEL is uint8_t or uint16_t, FULL its opaque value. */
#define CONVERT_ROW(NAME, PIXEL, FULL) \
    static void NAME(const PIXEL *in, uint32_t from, PIXEL *out, uint32_t to, uint32_t width) { \
        for (uint32_t i = 0; i < width; i++, in += from, out += to) { \
            if (to == 1) { \
                out[0] = from < 3 ? in[0] : (PIXEL)luma(in[0], in[1], in[2]); \
                continue; \
            } \
            out[0] = in[0]; \
            out[1] = from < 3 ? in[0] : in[1]; \
            out[2] = from < 3 ? in[0] : in[2]; \
            if (to == 4) \
                out[3] = from == 2 ? in[1] : from == 4 ? in[3] : (PIXEL)(FULL); \
        } \
    }
CONVERT_ROW(convert_row_8, uint8_t, 0xff)
CONVERT_ROW(convert_row_16, uint16_t, 0xffff)

/* The bits change first, in a pixel of the native channels: so 16-bit gray to 8-bit gray is the upper byte of 16-bit luma. */
static void convert(const struct image_sink *s, const void *row, uint8_t *out) {
    size_t samples = (size_t)s->width * s->out_channels;
    if (s->bits == 8) {
        if (s->channels == s->out_channels)
            memcpy(out, row, samples);
        else
            convert_row_8(row, s->channels, out, s->out_channels, s->width);
        if (s->out_bits == 16)
            for (size_t i = samples; i-- > 0;)
                mldfi_store_u16(out + 2 * i, (uint16_t)(out[i] * 257u));
        return;
    }
    const uint16_t *wide = row;
    if (s->out_bits == 16) {
        if (s->channels == s->out_channels)
            memcpy(out, row, 2 * samples);
        else
            convert_row_16(wide, s->channels, (uint16_t *)(void *)out, s->out_channels, s->width);
        return;
    }
    for (uint32_t i = 0; i < s->width; i++) {
        uint16_t pixel[4];
        if (s->channels == s->out_channels)
            memcpy(pixel, wide + (size_t)i * s->channels, 2 * (size_t)s->channels);
        else
            convert_row_16(wide + (size_t)i * s->channels, s->channels, pixel, s->out_channels, 1);
        for (uint32_t c = 0; c < s->out_channels; c++)
            out[(size_t)i * s->out_channels + c] = (uint8_t)(pixel[c] >> 8);
    }
}

/* Start and step in the output, in bytes, of stored row y. */
static void locate(const struct image_sink *s, uint32_t y, uint8_t **start, ptrdiff_t *step) {
    size_t p = s->pixel_bytes, row = s->row_bytes;
    size_t last_x = s->width - 1, back_y = s->height - 1 - y;
    bool swapped = s->orientation >= 5;
    bool mirror_x = s->orientation == 2 || s->orientation == 3 || s->orientation == 7 || s->orientation == 8;
    bool mirror_y = s->orientation == 3 || s->orientation == 4 || s->orientation == 6 || s->orientation == 7;
    size_t line = mirror_y ? back_y : y;
    size_t along = swapped ? row : p, across = swapped ? p : row;
    *start = s->pixels + line * across + (mirror_x ? last_x * along : 0);
    *step = mirror_x ? -(ptrdiff_t)along : (ptrdiff_t)along;
}

static void scatter(const struct image_sink *s, const uint8_t *from, uint8_t *to, ptrdiff_t step) {
    size_t p = s->pixel_bytes;
    for (uint32_t i = 0; i < s->width; i++, from += p, to += i < s->width ? step : 0)
        for (size_t k = 0; k < p; k++)
            to[k] = from[k];
}

void mldfi_sink_row(const struct image_sink *s, uint32_t y, const void *row) {
    if (s->discard)
        return;
    uint8_t *start;
    ptrdiff_t step;
    if (s->direct) {
        uint8_t *place = s->pixels + (size_t)y * s->row_bytes;
        if (place != row)
            memcpy(place, row, s->row_bytes);
        return;
    }
    locate(s, y, &start, &step);
    if (s->orientation == 1) {
        convert(s, row, start);
        return;
    }
    bool same = s->channels == s->out_channels && s->bits == s->out_bits;
    if (!same)
        convert(s, row, s->row);
    scatter(s, same ? row : s->row, start, step);
}

void mldfi_cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, uint32_t pixels, bool invert) {
    uint8_t flip = invert ? 0xff : 0;
    for (uint32_t i = 0; i < pixels; i++, cmyk += 4, rgb += 3) {
        uint32_t light = 255u - (cmyk[3] ^ flip);
        uint8_t out[3];
        for (int c = 0; c < 3; c++) {
            /* light * ink / 255, rounded */
            uint32_t t = (uint32_t)(uint8_t)(cmyk[c] ^ flip) * light + 128;
            t = ((t >> 8) + t) >> 8;
            out[c] = (uint8_t)(t > light ? 0 : light - t);
        }
        memcpy(rgb, out, 3);
    }
}
