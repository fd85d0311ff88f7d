/* The loops of warp.h in plain C. */
#define WARP_NAME(x) x##_portable
#include "kernel/warp_loops.h"
