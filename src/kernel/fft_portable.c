/* The loops of fft.h in plain C. */
#define FFT_NAME(x) x##_portable
#include "kernel/fft_loops.h"
