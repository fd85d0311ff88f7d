/* Decoded video to RGB: matrix, range, place of the chroma samples, 8 to 16 bits, 4:2:0, 4:2:2, 4:4:4, grey and planes of G, B, R.
 *
 * The definition, the same on every machine: chroma is interpolated linearly between the centres of its samples, in quarters across and down, without rounding;
 * then one sum with constants in 2^-14 and one rounding, half up, held to the range of the result. No transfer function, no primaries.
 *
 * Rows of YUV with up to 12 bits to 8 bits, which is the usual case, have loops for each instruction set (video_loops.h). */
#ifndef MLDF_KERNEL_VIDEO_RGB_H
#define MLDF_KERNEL_VIDEO_RGB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernels; /* kernels.h */

/* Where chroma samples lie among luma's, in halves of a pixel of luma: across 0 (at the left one's centre) or 1 (between two); down likewise. */
struct video_planes {
    const uint8_t *plane[3]; /* 16-bit samples where bits > 8; Y, Cb, Cr, or G, B, R */
    ptrdiff_t stride[3];     /* bytes */
    uint32_t width, height;
    uint32_t planes, bits;
    uint32_t shift_x, shift_y;
    bool full, rgb;
    uint32_t matrix; /* ITU-T H.273: 1 BT.709, 4 FCC, 5 and 6 BT.601, 7 SMPTE 240M, 9 and 10 BT.2020 */
    bool between_x, between_y;
};

/* Is it a matrix that is known? */
bool mldfi_video_matrix_known(uint32_t matrix);

/* Pixels of one conversion; made once a frame. */
struct video_rgb {
    struct video_planes in;
    int64_t luma, red_cr, green_cb, green_cr, blue_cb; /* in 2^-18: of sixteenths of a sample */
    int64_t base[3];                                   /* black, and the half that rounds */
    int32_t most;                                      /* 255 or 65535 */
};
enum { VIDEO_SHIFT = 18 }; /* 2^-14, and sixteenths of chroma */

/* bits: of the result, 8 or 16. */
void mldfi_video_rgb_begin(struct video_rgb *v, const struct video_planes *in, uint32_t bits);
/* Pixels [x, x + count) of row y, three numbers of 1 or 2 bytes each. room: mldfi_video_rgb_room(count) numbers. */
void mldfi_video_rgb_row(const struct kernels *k, const struct video_rgb *v, uint32_t x, uint32_t y, uint32_t count,
                         uint16_t *room, void *out);
static inline size_t mldfi_video_rgb_room(uint32_t count) {
    return (size_t)3 * count + 16;
}

/* The loops, for samples of up to 12 bits; wide: they lie in 16 bits. */
struct video_kernels {
    /* weight_a * a + weight_b * b, of `count` samples. The sum of the weights: 4 or 16. */
    void (*down)(const uint8_t *a, const uint8_t *b, bool wide, uint32_t weight_a, uint32_t weight_b, size_t count,
                 uint16_t *out);
    /* `count` samples of chroma in quarters to 2 * count pixels in sixteenths; between: as between_x above. in[-1] and in[count] are read. */
    void (*across)(const uint16_t *in, bool between, size_t count, uint16_t *out);
    /* Luma, and chroma in sixteenths, to bytes of RGB. Sums have 32 bits. */
    void (*color)(const struct video_rgb *v, const uint8_t *luma, const uint16_t *cb, const uint16_t *cr, size_t count,
                  uint8_t *out);
};

#endif
