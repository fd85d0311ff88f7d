/* The loops over colours in plain C. */
#define COLOR_NAME(x) x##_portable
#include "kernel/color_loops.h"
#include "kernel/color_sharpen.h"
