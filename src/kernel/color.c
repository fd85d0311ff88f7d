/* color.h: sharpness, and what needs no instruction set of its own. color_loops.h has what looks at the colours of a pixel together. */
#include <string.h>

#include "kernel/color_block.h"

float mldfi_white(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 255.0f : dtype == MLDF_U16 ? 65535.0f : 1.0f;
}

void mldfi_copy_channel(const struct pixels *from, size_t channel, const struct pixels *to, size_t to_channel) {
    float v[COLOR_BLOCK];
    for (size_t at = 0; at < from->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(from, at);
        mldfi_block_load(from, channel, at, n, v);
        mldfi_block_store(to, to_channel, at, n, v);
    }
}

/* ---- Sharpness --------------------------------------------------------------------------------------------------------------- */

/* A run of elements of one row: neighbours are `step` apart along the row and `row` between rows. */
#define SHARPEN(NAME, TYPE, SMOOTH) \
    static void NAME(const TYPE *restrict m, size_t row, size_t step, size_t n, float keep, float white, \
                     TYPE *restrict out) { \
        const TYPE *l = m - step, *u = l - row, *d = l + row; /* indices stay above 0 */ \
        for (size_t k = 0; k < n; k++) { \
            float v = (float)m[k], smooth = SMOOTH; \
            out[k] = (TYPE)mldfi_held(v + (smooth - v) * keep, white); \
        } \
    }
#define A13 ((float)(1.0 / 13.0))
#define B13 ((float)(5.0 / 13.0))
#define MORE (k + 2 * step)
#define SUM (u[k] + u[k + step] + u[MORE] + l[k] + 5 * l[k + step] + l[MORE] + d[k] + d[k + step] + d[MORE])
/* The sum is exact, and a thirteenth of it is at least 1/26 away from where rounding turns: far more than the product's error. */
#define WHOLE (float)(int32_t)((float)SUM * A13 + 0.5f)
#define REAL \
    (u[k] * A13 + u[k + step] * A13 + u[MORE] * A13 + l[k] * A13 + l[k + step] * B13 + l[MORE] * A13 + d[k] * A13 + \
     d[k + step] * A13 + d[MORE] * A13)
SHARPEN(sharpen_u8, uint8_t, WHOLE)
SHARPEN(sharpen_u16, uint16_t, WHOLE)
SHARPEN(sharpen_f32, float, REAL)

static void sharpen_run(const struct pixels *from, size_t at, size_t row, size_t step, size_t n, float keep,
                        const struct pixels *to) {
    float white = mldfi_white(from->dtype);
    if (from->dtype == MLDF_U8)
        sharpen_u8((const uint8_t *)from->data + at, row, step, n, keep, white, (uint8_t *)to->data + at);
    else if (from->dtype == MLDF_U16)
        sharpen_u16((const uint16_t *)from->data + at, row, step, n, keep, white, (uint16_t *)to->data + at);
    else
        sharpen_f32((const float *)from->data + at, row, step, n, keep, white, (float *)to->data + at);
}

/* Interleaved channels go together, alpha too, which is put back in the end. */
void mldfi_sharpen(const struct pixels *from, size_t width, double factor, const struct pixels *to) {
    size_t height = width ? from->count / width : 0, step = from->step, row = width * step;
    size_t planes = from->plane == 1 ? 1 : mldfi_colors(from);
    float keep = (float)(1.0 - factor);
    memcpy(to->data, from->data, from->count * from->channels * mldf_dtype_bytes(from->dtype));
    if (height <= 2 || width <= 2)
        return;
    for (size_t c = 0; c < planes; c++)
        for (size_t y = 1; y + 1 < height; y++)
            sharpen_run(from, c * from->plane + y * row + step, row, step, row - 2 * step, keep, to);
    if (from->channels % 2 == 0)
        mldfi_copy_channel(from, from->channels - 1, to, from->channels - 1);
}
