/* The loops of fft.h, compiled for AVX2. */
#if defined(__AVX2__)
#define FFT_NAME(x) x##_avx2
#include "kernel/fft_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
