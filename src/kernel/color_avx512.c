/* The loops over colours, compiled for AVX-512. */
#if defined(__AVX512BW__)
#include "kernel/color_x86.h"
#define COLOR_LANES 1
#define COLOR_NAME(x) x##_avx512
#include "kernel/color_loops.h"
#include "kernel/color_sharpen.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
