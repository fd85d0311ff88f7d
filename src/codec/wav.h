/* WAV files in memory: wav.c reads their headers, wav_write.c makes them. The public face is mldf/audio.h. */
#ifndef MLDF_CODEC_WAV_H
#define MLDF_CODEC_WAV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/audio.h"

/* Format tags of a fmt chunk. */
enum { WAV_PCM = 1, WAV_FLOAT = 3, WAV_ALAW = 6, WAV_MULAW = 7, WAV_EXTENSIBLE = 0xFFFE };
enum { WAV_SUBFORMAT_BYTES = 16 };
/* What follows the tag in the sub-format of WAVE_FORMAT_EXTENSIBLE. */
extern const uint8_t mldfi_wav_subformat_tail[WAV_SUBFORMAT_BYTES - 2];

/* Does it begin as a WAV file does? A look at 12 bytes (Wave64: 40). */
bool mldfi_wav_is(const void *data, size_t bytes);

#endif
