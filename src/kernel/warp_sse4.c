/* The loops of warp.h, compiled for SSE4. */
#if defined(__SSE4_1__)
#include "kernel/color_x86.h"
#define WARP_NAME(x) x##_sse4
#include "kernel/warp_loops.h"
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
