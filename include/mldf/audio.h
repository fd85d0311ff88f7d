/* mldf/audio.h: recordings: what the record of an audio_waveform or audio_compressed field says, any window of it as float, WAV files in memory.
 *
 * A value of audio_waveform is PCM as the file stores it, channels interleaved; one of audio_compressed is PCM too, or packets of FLAC, MP3 ...
 * with a table of them (docs/spec/fields.md). A window costs that window:
 *
 *     mldf_audio_info info = MLDF_AUDIO_INFO_INIT;                 // value: from mldf_reader_get
 *     mldf_error err;
 *     if (mldf_audio_record(&value, &info, &err) == MLDF_OK && info.samples >= 16000) {
 *         float *window = malloc((size_t)16000 * info.channels * sizeof(float));
 *         mldf_status st = mldf_audio_value_read(&value, info.samples - 16000, 16000, window, &err); // the last 16000
 *     }
 *
 * "Sample" is here one instant of a recording: `channels` numbers. As float a number is i / 2^(bits - 1) for integers (of 8 bits:
 * (u - 128) / 128), rounded once; A-law and mu-law are the 16-bit integers of G.711; floats are themselves, not clipped.
 *
 * Writing: the bytes of a WAV, FLAC, MP3 or Ogg file, or an array (t) or (t, c) of int16, int32, float32, float64 or uint8; for arrays the field
 * has the argument "rate" (docs/guides/audio.md).
 *
 * Stability: experimental.
 */
#ifndef MLDF_AUDIO_H
#define MLDF_AUDIO_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How numbers are stored: the `codec` of an audio record. */
typedef enum mldf_audio_codec {
    MLDF_AUDIO_PCM = 0,  /* integers of 8 (unsigned), 16, 24 (3 bytes) or 32 bits */
    MLDF_AUDIO_FLAC = 1, /* 1 to 9: packets of a compressed stream, in audio_compressed fields */
    MLDF_AUDIO_AAC = 2,
    MLDF_AUDIO_MP3 = 3,
    MLDF_AUDIO_OPUS = 4,
    MLDF_AUDIO_VORBIS = 5,
    MLDF_AUDIO_ALAC = 6,
    MLDF_AUDIO_AC3 = 8, /* in the sound of videos; 7 is not used */
    MLDF_AUDIO_EAC3 = 9,
    MLDF_AUDIO_FLOAT = 16, /* of 32 or 64 bits */
    MLDF_AUDIO_ALAW = 17,  /* G.711, 8 bits */
    MLDF_AUDIO_MULAW = 18
} mldf_audio_codec;

/* "pcm", "float", "alaw", "mulaw", "flac", "aac", "mp3", "opus", "vorbis", "alac", "ac3", "eac3"; "other" for what has no name. */
MLDF_API const char *mldf_audio_codec_name(mldf_audio_codec codec);

typedef struct mldf_audio_info {
    size_t struct_bytes;
    uint64_t samples; /* of each channel */
    uint32_t rate;    /* samples a second */
    uint32_t channels;
    uint32_t bits; /* of one number as stored; of lossy codecs 0 */
    mldf_audio_codec codec;
    uint32_t
        mask; /* which loudspeaker each channel is for, as WAV counts them; 0: not said. Of a file; of a value always 0 */
} mldf_audio_info;
#define MLDF_AUDIO_INFO_INIT \
    { sizeof(mldf_audio_info), 0, 0, 0, 0, MLDF_AUDIO_PCM, 0 }

/* ---- Values of audio fields ---------------------------------------------------------------------------------- */

MLDF_API MLDF_NODISCARD mldf_status mldf_audio_record(const mldf_value *value, mldf_audio_info *out, mldf_error *err);
/* Samples [from, from + count) of a value as float, channels interleaved: count * channels numbers into out. MLDF_E_RANGE past the
 * end. PCM and FLAC: bit-identical on every machine. Of a compressed value the packets that the window needs are decoded, by a decoder that
 * this call opens and closes: loaders keep theirs open. */
MLDF_API MLDF_NODISCARD mldf_status mldf_audio_value_read(const mldf_value *value, uint64_t from, uint64_t count,
                                                          float *out, mldf_error *err);

/* May a recording of `stored` bytes become so many floats? MLDF_E_LIMIT above max_decoded bytes; 0: 2 GiB, or 256 times what is stored where that is
 * more. A program that makes room for whole recordings of files that it does not know asks first, as the library does. */
MLDF_API MLDF_NODISCARD mldf_status mldf_audio_check_room(const mldf_audio_info *info, uint64_t stored,
                                                          uint64_t max_decoded, mldf_error *err);

/* ---- WAV files ---------------------------------------------------------------------------------------------------------- */

typedef struct mldf_wav {
    size_t struct_bytes;
    uint64_t data_offset; /* of the first sample in the file */
    uint64_t data_bytes;  /* whole samples: samples * channels * bits / 8 */
    uint64_t
        missing_bytes; /* the header announces so many more than there are: the file is cut short. 0: none, or the length was
                               left open, as programs do that write into a pipe */
    uint32_t rest_bytes;  /* after the last whole sample, less than one */
    bool big_endian;      /* RIFX: integers and floats must be swapped */
    mldf_audio_info info; /* samples: whole ones that are there. It stays last, because it may grow */
} mldf_wav;
#define MLDF_WAV_INIT \
    { sizeof(mldf_wav), 0, 0, 0, 0, false, MLDF_AUDIO_INFO_INIT }

/* Reads RIFF, RIFX, RF64, BW64 and Wave64 headers. MLDF_E_TYPE: not a WAV file. MLDF_E_UNSUPPORTED: WAV of another coding (ADPCM,
 * MP3 ...). MLDF_E_TRUNCATED, MLDF_E_CORRUPT: offset is the byte of the file. */
MLDF_API MLDF_NODISCARD mldf_status mldf_wav_parse(const void *data, size_t bytes, mldf_wav *out, mldf_error *err);
/* The header of a WAV file that `info` describes, appended to out: plain RIFF where that can say it, WAVE_FORMAT_EXTENSIBLE for a
 * mask, more than 2 channels or more than 16 bits of integers, RF64 from 4 GiB on. Samples follow it, little-endian, and then
 * *pad_bytes (0 or 1) zeros. */
MLDF_API MLDF_NODISCARD mldf_status mldf_wav_header(const mldf_audio_info *info, mldf_buffer *out, unsigned *pad_bytes,
                                                    mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
