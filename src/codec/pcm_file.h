/* Files of plain samples: WAV (wav.c), and AIFF, CAF and NIST SPHERE (pcm_file.c). They are recognised by their bytes, and their headers describe samples in the same terms. */
#ifndef MLDF_CODEC_PCM_FILE_H
#define MLDF_CODEC_PCM_FILE_H

#include "mldf/audio.h"

struct pcm_file {
    mldf_wav wav; /* data_offset and data_bytes, and what the samples are: as of a WAV file */
    /* Numbers of 8 bits have a sign; a field stores them as WAV files do, from 0 to 255. */
    bool signed_bytes;
    const char *name; /* "WAV", "AIFF" …, in messages */
};

/* Errors name the byte of the file in err->offset. A file that lacks samples is not an error: wav.missing_bytes. */
mldf_status mldfi_pcm_file_parse(const void *data, size_t bytes, struct pcm_file *out, mldf_error *err);

#endif
