/* Which kernels this processor can run. The question is a load and a test; no answer is kept. */
#include "kernel/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <string.h>

#include "kernel/jpeg.h"
#include "kernel/variants.h"

/* WIDE: whose passes for the other filters, whose widening and transforms of recordings. JPEG: whose loops for JPEG. COLOR: whose loops over colours. FILTER: whose
 * loops for blurring and for maps. TABLES: whose tables of bytes, and whether they come first. The rest: passes in planes, or NULL twice. */
#define TABLE(NAME, ISA, NUMBER, WIDE, JPEG, COLOR, FILTER, TABLES, FIRST, ...) \
    static const struct kernels NAME = {NUMBER, \
                                        #ISA, \
                                        mldfi_down_##ISA, \
                                        mldfi_across_##ISA, \
                                        __VA_ARGS__, \
                                        mldfi_across_words_##ISA, \
                                        mldfi_color_words_##ISA, \
                                        mldfi_wide_across_##WIDE, \
                                        mldfi_wide_down_##WIDE, \
                                        mldfi_finish_##ISA, \
                                        mldfi_gray_##COLOR, \
                                        mldfi_recolor_##COLOR, \
                                        mldfi_byte_tables_##TABLES, \
                                        FIRST, \
                                        mldfi_sharpen_##COLOR, \
                                        mldfi_blur_across_##FILTER, \
                                        mldfi_blur_down_##FILTER, \
                                        mldfi_warp_nearest_##FILTER, \
                                        mldfi_warp_bilinear_##FILTER, \
                                        mldfi_widen_##WIDE, \
                                        &mldfi_fft_##WIDE, \
                                        &mldfi_jpeg_##JPEG, \
                                        &mldfi_video_##ISA}
TABLE(portable, portable, ISA_PORTABLE, portable, portable, portable, portable, portable, true, NULL, NULL);
#if defined(__x86_64__)
TABLE(sse4, sse4, ISA_SSE4, portable, sse4, sse4, sse4, portable, true, NULL, NULL);
TABLE(avx2, avx2, ISA_AVX2, avx2, avx2, avx2, avx2, portable, false, NULL, NULL);
TABLE(avx512, avx512, ISA_AVX512, avx2, avx2, avx512, avx512, portable, false, mldfi_down_planes_avx512,
      mldfi_across_planes_avx512);
/* The same where bytes can be looked up in registers (VBMI), with the same name: it gives the same bytes. */
TABLE(avx512_vbmi, avx512, ISA_AVX512, avx2, avx2, avx512, avx512, avx512vbmi, true, mldfi_down_planes_avx512,
      mldfi_across_planes_avx512);

/* Not every compiler knows "f16c" as a name to ask for. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool has_lzcnt(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1u << 5);
}
#elif defined(__aarch64__)
TABLE(neon, neon, ISA_NEON, portable, neon, neon, portable, portable, true, NULL, NULL);
#endif

const struct kernels *mldfi_kernels(enum isa isa) {
    switch (isa) {
    case ISA_PORTABLE:
        return &portable;
#if defined(__x86_64__)
    case ISA_SSE4:
        return __builtin_cpu_supports("sse4.1") ? &sse4 : NULL;
    case ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && has_f16c() && has_lzcnt() ? &avx2
                                                                                                             : NULL;
    case ISA_AVX512:
        return mldfi_kernels(ISA_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
                   ? (__builtin_cpu_supports("avx512vbmi") ? &avx512_vbmi : &avx512)
                   : NULL;
#elif defined(__aarch64__)
    case ISA_NEON:
        return &neon; /* part of every aarch64 */
#endif
    default:
        return NULL;
    }
}

const struct kernels *mldfi_kernels_best(void) {
    for (int isa = ISA_COUNT - 1; isa > ISA_PORTABLE; isa--) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (k)
            return k;
    }
    return &portable;
}

const struct kernels *mldfi_kernels_named(const char *name) {
    for (int isa = ISA_COUNT - 1; isa >= ISA_PORTABLE; isa--) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (k && strcmp(k->name, name) == 0)
            return k;
    }
    return NULL;
}
