/* The loops of each instruction set; kernels.c puts them into tables. */
#ifndef MLDF_KERNEL_VARIANTS_H
#define MLDF_KERNEL_VARIANTS_H

#include "kernel/kernels.h"

#define KERNEL_VARIANT(ISA) \
    void mldfi_down_##ISA(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t values, \
                          int16_t *out); \
    void mldfi_across_##ISA(const struct tap_table *table, uint32_t channels, const int16_t *row, uint8_t *out); \
    void mldfi_across_words_##ISA(const struct tap_table *table, const int16_t *row, int16_t *out); \
    void mldfi_color_words_##ISA(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t count, uint8_t *r, \
                                 uint8_t *g, uint8_t *b); \
    void mldfi_finish_##ISA(const struct finish_row *f, const uint8_t *in, size_t pixels, void *dst)
#define COLOR_VARIANT(ISA) \
    void mldfi_gray_##ISA(const struct pixels *p, const struct pixels *to); \
    float mldfi_recolor_##ISA(const struct pixels *p, const struct recolor *steps, size_t count, bool mean); \
    void mldfi_sharpen_##ISA(const struct pixels *p, size_t width, double factor, void *rows)
#define FILTER_VARIANT(ISA) \
    void mldfi_blur_across_##ISA(const struct blur_line *l, size_t element); \
    void mldfi_blur_down_##ISA(const struct blur_line *l, size_t element); \
    void mldfi_warp_nearest_##ISA(const struct warp *w); \
    void mldfi_warp_bilinear_##ISA(const struct warp *w)

COLOR_VARIANT(portable);
void mldfi_byte_tables_portable(const struct pixels *p, const uint8_t table[3][256]);
extern const struct fft_kernels mldfi_fft_portable, mldfi_fft_avx2; /* the second on x86-64 only */
extern const struct video_kernels mldfi_video_portable;
FILTER_VARIANT(portable);
bool mldfi_widen_portable(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count);

#if defined(__x86_64__)
KERNEL_VARIANT(sse4);
KERNEL_VARIANT(avx2);
KERNEL_VARIANT(avx512);
COLOR_VARIANT(sse4);
COLOR_VARIANT(avx2);
COLOR_VARIANT(avx512);
FILTER_VARIANT(sse4);
FILTER_VARIANT(avx2);
FILTER_VARIANT(avx512);
void mldfi_byte_tables_avx512vbmi(const struct pixels *p, const uint8_t table[3][256]);
void mldfi_down_planes_avx512(const uint8_t *rows, size_t stride, const int16_t *weights, uint32_t taps, size_t pixels,
                              int16_t *out, size_t plane);
void mldfi_across_planes_avx512(const struct tap_table *table, uint32_t planes, const int16_t *row, size_t plane,
                                uint8_t *out);
void mldfi_wide_across_avx2(const struct resample_table *table, uint32_t channels, const uint8_t *in, uint8_t *out);
void mldfi_wide_down_avx2(const struct resample_rows *rows, const int32_t *weights, uint32_t used, uint8_t *out,
                          size_t samples);
extern const struct video_kernels mldfi_video_sse4, mldfi_video_avx2, mldfi_video_avx512;
bool mldfi_widen_avx2(mldf_dtype from, const void *in, mldf_dtype to, void *out, size_t count);
#elif defined(__aarch64__)
KERNEL_VARIANT(neon);
COLOR_VARIANT(neon);
extern const struct video_kernels mldfi_video_neon;
#endif

#endif
