/* The loops over colours, compiled for NEON. */
#if defined(__aarch64__)
#define COLOR_LANES 1
#define COLOR_NAME(x) x##_neon
#include "kernel/color_loops.h"
#include "kernel/color_sharpen.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
