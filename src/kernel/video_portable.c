/* The loops of video_loops.h in plain C. */
#define VIDEO_NAME(x) x##_portable
#include "kernel/video_loops.h"
