/* What decode_audio is asked for: made by op_decode_audio.c when types are inferred, used by source_audio.c. */
#ifndef MLDF_PIPELINE_DECODE_AUDIO_H
#define MLDF_PIPELINE_DECODE_AUDIO_H

#include "field/audio_media.h"
#include "pipeline/op.h"
#include "pipeline/sinc_set.h"

struct decode_audio_state {
    struct audio_want want;
    uint32_t channels;         /* that come out */
    struct sinc_set *resample; /* to the rate that was asked for; NULL: recordings keep theirs */
};

#endif
