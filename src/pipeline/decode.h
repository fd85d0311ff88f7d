/* What decode is asked for: made by op_decode.c when types are inferred, used by run_source.c. */
#ifndef MLDF_PIPELINE_DECODE_H
#define MLDF_PIPELINE_DECODE_H

#include "pipeline/op.h"

struct decode_state {
    bool exact, orient;
    bool fused;   /* chroma=fused: planes are resized, and colours made of the result */
    int channels; /* as mldf_image_options: 0 only when all images have two */
    int bits;
    int matrix; /* decode_video: enum frame_matrix */
};

#endif
