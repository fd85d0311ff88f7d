/* The loops of warp.h, compiled for AVX-512. */
#if defined(__AVX512BW__)
#include "kernel/color_x86.h"
#define WARP_PLACES "kernel/warp_places_avx512.h"
#define WARP_NAME(x) x##_avx512
#include "kernel/warp_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
