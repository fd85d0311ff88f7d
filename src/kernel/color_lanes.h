/* A vector of floats, and pixels of 8-bit RGB into three of them and back: what color_pixels.h is written in, for each instruction set.
 *
 *     VF, VI, VM                floats, 32-bit integers, truth values; LANES of each
 *     + - *  / on VF            the compiler's own
 *     vf_set, vf_of, vi_cut     one float in all lanes; integers to floats; floats to integers, cut off
 *     vf_whole                  floats cut off, still floats
 *     vf_min, vf_max            of numbers
 *     vm_ge, vm_lt, vf_pick     comparisons; m ? a : b
 *     load_rgb, store_rgb       3 * LANES bytes, neither more nor less, to and from three vectors; what is stored is held in 0..255
 *     load_bytes, load_words    LANES of 8 bits, of 16 with signs
 *     store_bytes               LANES of 8 bits; what is stored is held in 0..255
 *     vi_sum                    of all lanes */
#ifndef MLDF_KERNEL_COLOR_LANES_H
#define MLDF_KERNEL_COLOR_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

/* Of four pixels in 12 bytes: colour c as 32-bit numbers; and back, from four bytes of each colour. -1: a zero. */
#define LANE_SPREAD(c) (c), -1, -1, -1, (c) + 3, -1, -1, -1, (c) + 6, -1, -1, -1, (c) + 9, -1, -1, -1
#define LANE_CLOSE 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1

#if defined(__AVX512BW__)

enum { LANES = 16 };
typedef __m512 VF;
typedef __m512i VI;
typedef __mmask16 VM;
#define vf_set _mm512_set1_ps
#define vf_of _mm512_cvtepi32_ps
#define vi_cut _mm512_cvttps_epi32
#define vf_whole(v) _mm512_roundscale_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define vf_min _mm512_min_ps
#define vf_max _mm512_max_ps
#define vm_ge(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ)
#define vm_lt(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define vf_pick(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define vi_add _mm512_add_epi32
#define vi_sum(v) (uint32_t) _mm512_reduce_add_epi32(v)

/* Four pixels in each 128 bits: byte shuffles do not leave them. */
static inline void load_rgb(const uint8_t *in, VI *r, VI *g, VI *b) {
    const __m512i apart = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    __m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)in));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(in + 32)), 2);
    v = _mm512_permutexvar_epi32(apart, v);
    *r = _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(LANE_SPREAD(0))));
    *g = _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(LANE_SPREAD(1))));
    *b = _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(LANE_SPREAD(2))));
}

static inline void store_rgb(uint8_t *out, VI r, VI g, VI b) {
    const __m512i together = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    __m512i v = _mm512_packus_epi16(_mm512_packs_epi32(r, g), _mm512_packs_epi32(b, b));
    v = _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(LANE_CLOSE)));
    v = _mm512_permutexvar_epi32(together, v);
    /* Not a store with a mask: the next load would wait for it. */
    _mm256_storeu_si256((__m256i *)(void *)out, _mm512_castsi512_si256(v));
    _mm_storeu_si128((__m128i *)(void *)(out + 32), _mm512_extracti32x4_epi32(v, 2));
}

static inline VI load_bytes(const uint8_t *in) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)in));
}

static inline VI load_words(const int16_t *in) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)in));
}

static inline void store_bytes(uint8_t *out, VI v) {
    __m128i held = _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512()));
    _mm_storeu_si128((__m128i *)(void *)out, held);
}

#elif defined(__AVX2__)

enum { LANES = 8 };
typedef __m256 VF;
typedef __m256i VI;
typedef __m256 VM;
#define vf_set _mm256_set1_ps
#define vf_of _mm256_cvtepi32_ps
#define vi_cut _mm256_cvttps_epi32
#define vf_whole(v) _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define vf_min _mm256_min_ps
#define vf_max _mm256_max_ps
#define vm_ge(a, b) _mm256_cmp_ps(a, b, _CMP_GE_OQ)
#define vm_lt(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define vf_pick(m, a, b) _mm256_blendv_ps(b, a, m)
#define vi_add _mm256_add_epi32

static inline uint32_t vi_sum(VI v) {
    uint32_t lane[LANES], sum = 0;
    memcpy(lane, &v, sizeof lane);
    for (int i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

static inline void load_rgb(const uint8_t *in, VI *r, VI *g, VI *b) {
    const __m256i apart = _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5);
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)in);
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(in + 16));
    __m256i v = _mm256_permutevar8x32_epi32(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), apart);
    *r = _mm256_shuffle_epi8(v, _mm256_setr_epi8(LANE_SPREAD(0), LANE_SPREAD(0)));
    *g = _mm256_shuffle_epi8(v, _mm256_setr_epi8(LANE_SPREAD(1), LANE_SPREAD(1)));
    *b = _mm256_shuffle_epi8(v, _mm256_setr_epi8(LANE_SPREAD(2), LANE_SPREAD(2)));
}

static inline void store_rgb(uint8_t *out, VI r, VI g, VI b) {
    const __m256i together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    __m256i v = _mm256_packus_epi16(_mm256_packs_epi32(r, g), _mm256_packs_epi32(b, b));
    v = _mm256_shuffle_epi8(v, _mm256_setr_epi8(LANE_CLOSE, LANE_CLOSE));
    v = _mm256_permutevar8x32_epi32(v, together);
    _mm_storeu_si128((__m128i *)(void *)out, _mm256_castsi256_si128(v));
    _mm_storel_epi64((__m128i *)(void *)(out + 16), _mm256_extracti128_si256(v, 1));
}

static inline VI load_bytes(const uint8_t *in) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)in));
}

static inline VI load_words(const int16_t *in) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)in));
}

static inline void store_bytes(uint8_t *out, VI v) {
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(words, words));
}

#elif defined(__SSE4_1__)

enum { LANES = 4 };
typedef __m128 VF;
typedef __m128i VI;
typedef __m128 VM;
#define vf_set _mm_set1_ps
#define vf_of _mm_cvtepi32_ps
#define vi_cut _mm_cvttps_epi32
#define vf_whole(v) _mm_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define vf_min _mm_min_ps
#define vf_max _mm_max_ps
#define vm_ge _mm_cmpge_ps
#define vm_lt _mm_cmplt_ps
#define vf_pick(m, a, b) _mm_blendv_ps(b, a, m)
#define vi_add _mm_add_epi32

static inline uint32_t vi_sum(VI v) {
    uint32_t lane[LANES];
    memcpy(lane, &v, sizeof lane);
    return lane[0] + lane[1] + lane[2] + lane[3];
}

static inline void load_rgb(const uint8_t *in, VI *r, VI *g, VI *b) {
    int32_t last;
    memcpy(&last, in + 8, sizeof last);
    __m128i v = _mm_insert_epi32(_mm_loadl_epi64((const __m128i *)(const void *)in), last, 2);
    *r = _mm_shuffle_epi8(v, _mm_setr_epi8(LANE_SPREAD(0)));
    *g = _mm_shuffle_epi8(v, _mm_setr_epi8(LANE_SPREAD(1)));
    *b = _mm_shuffle_epi8(v, _mm_setr_epi8(LANE_SPREAD(2)));
}

static inline void store_rgb(uint8_t *out, VI r, VI g, VI b) {
    __m128i v = _mm_packus_epi16(_mm_packs_epi32(r, g), _mm_packs_epi32(b, b));
    v = _mm_shuffle_epi8(v, _mm_setr_epi8(LANE_CLOSE));
    int32_t last = _mm_extract_epi32(v, 2);
    _mm_storel_epi64((__m128i *)(void *)out, v);
    memcpy(out + 8, &last, sizeof last);
}

static inline VI load_bytes(const uint8_t *in) {
    int32_t four;
    memcpy(&four, in, sizeof four);
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}

static inline VI load_words(const int16_t *in) {
    return _mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)in));
}

static inline void store_bytes(uint8_t *out, VI v) {
    __m128i words = _mm_packs_epi32(v, v);
    int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    memcpy(out, &four, sizeof four);
}

#elif defined(__aarch64__)

enum { LANES = 4 };
typedef float32x4_t VF;
typedef int32x4_t VI;
typedef uint32x4_t VM;
#define vf_set vdupq_n_f32
#define vf_of vcvtq_f32_s32
#define vi_cut vcvtq_s32_f32
#define vf_whole vrndq_f32
#define vf_min vminq_f32
#define vf_max vmaxq_f32
#define vm_ge vcgeq_f32
#define vm_lt vcltq_f32
#define vf_pick vbslq_f32
#define vi_add vaddq_s32
#define vi_sum(v) (uint32_t) vaddvq_s32(v)

static inline uint8x16_t shuffled(uint8x16_t v, const int8_t order[16]) {
    return vqtbl1q_u8(v, vreinterpretq_u8_s8(vld1q_s8(order)));
}

static inline void load_rgb(const uint8_t *in, VI *r, VI *g, VI *b) {
    static const int8_t order[3][16] = {{LANE_SPREAD(0)}, {LANE_SPREAD(1)}, {LANE_SPREAD(2)}};
    uint8_t part[16] = {0};
    memcpy(part, in, 12);
    uint8x16_t v = vld1q_u8(part);
    *r = vreinterpretq_s32_u8(shuffled(v, order[0]));
    *g = vreinterpretq_s32_u8(shuffled(v, order[1]));
    *b = vreinterpretq_s32_u8(shuffled(v, order[2]));
}

static inline void store_rgb(uint8_t *out, VI r, VI g, VI b) {
    static const int8_t order[16] = {LANE_CLOSE};
    uint8x8_t rg = vqmovun_s16(vcombine_s16(vqmovn_s32(r), vqmovn_s32(g)));
    uint8x8_t bb = vqmovun_s16(vcombine_s16(vqmovn_s32(b), vqmovn_s32(b)));
    uint8x16_t close = shuffled(vcombine_u8(rg, bb), order);
    memcpy(out, &close, 12);
}

static inline VI load_bytes(const uint8_t *in) {
    uint8_t part[8] = {in[0], in[1], in[2], in[3]};
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vld1_u8(part)))));
}

static inline VI load_words(const int16_t *in) {
    return vmovl_s16(vld1_s16(in));
}

static inline void store_bytes(uint8_t *out, VI v) {
    uint8x8_t bytes = vqmovun_s16(vcombine_s16(vqmovn_s32(v), vqmovn_s32(v)));
    memcpy(out, &bytes, 4);
}

#endif
#endif
