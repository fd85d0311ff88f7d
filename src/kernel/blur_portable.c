/* The rows of blur.h in plain C. */
#define BLUR_NAME(x) x##_portable
#define BLUR_VECTOR 16
#include "kernel/blur_loops.h"
