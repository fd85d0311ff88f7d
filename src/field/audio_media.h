/* Recordings as media: any window of the numbers that are stored, as float. */
#ifndef MLDF_FIELD_AUDIO_MEDIA_H
#define MLDF_FIELD_AUDIO_MEDIA_H

#include "field/media.h"
#include "mldf/audio.h"

/* The bytes of a value that hold samples [from, from + count), which the recording has. */
void mldfi_audio_range(const mldf_audio_info *info, uint64_t from, uint64_t count, uint64_t *offset, uint64_t *bytes);
/* Those bytes as float, channel by channel, each `stride` numbers behind the one before it; mono: the mean of the channels. worker: of the
 * kit's FAMILY_AUDIO. */
mldf_status mldfi_audio_read(void *worker, const mldf_audio_info *info, const void *data, uint64_t count, bool mono,
                             float *out, size_t stride, mldf_error *err);

#endif
