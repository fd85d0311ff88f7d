/* The header of a WAV file: plain where that can say it, so that every program reads it; WAVE_FORMAT_EXTENSIBLE where the standard
 * asks for it; RF64 where 32 bits do not hold the size. A chunk "fact" goes with everything but plain PCM. */
#include "codec/wav.h"

#include <inttypes.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

const char *mldf_audio_codec_name(mldf_audio_codec codec) {
    switch (codec) {
    case MLDF_AUDIO_PCM:
        return "pcm";
    case MLDF_AUDIO_FLOAT:
        return "float";
    case MLDF_AUDIO_ALAW:
        return "alaw";
    case MLDF_AUDIO_MULAW:
        return "mulaw";
    case MLDF_AUDIO_FLAC:
        return "flac";
    case MLDF_AUDIO_AAC:
        return "aac";
    case MLDF_AUDIO_MP3:
        return "mp3";
    case MLDF_AUDIO_OPUS:
        return "opus";
    case MLDF_AUDIO_VORBIS:
        return "vorbis";
    case MLDF_AUDIO_ALAC:
        return "alac";
    case MLDF_AUDIO_AC3:
        return "ac3";
    case MLDF_AUDIO_EAC3:
        return "eac3";
    default:
        return "other";
    }
}

static uint16_t tag_of(mldf_audio_codec codec) {
    return codec == MLDF_AUDIO_PCM     ? WAV_PCM
           : codec == MLDF_AUDIO_FLOAT ? WAV_FLOAT
           : codec == MLDF_AUDIO_ALAW  ? WAV_ALAW
                                       : WAV_MULAW;
}

static bool good_pair(mldf_audio_codec codec, uint32_t bits) {
    if (codec == MLDF_AUDIO_PCM)
        return bits == 8 || bits == 16 || bits == 24 || bits == 32;
    if (codec == MLDF_AUDIO_FLOAT)
        return bits == 32 || bits == 64;
    return (codec == MLDF_AUDIO_ALAW || codec == MLDF_AUDIO_MULAW) && bits == 8;
}

static mldf_status check(const mldf_audio_info *info, uint64_t *bytes, mldf_error *err) {
    if (!good_pair(info->codec, info->bits))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no WAV file holds %s of %" PRIu32 " bits",
                          mldf_audio_codec_name(info->codec), info->bits);
    uint64_t block = (uint64_t)info->channels * (info->bits / 8);
    if (info->channels == 0 || block > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "a WAV file of %" PRIu32 " channels of %" PRIu32 " bits", info->channels,
                          info->bits);
    if (info->rate == 0)
        return mldfi_fail(err, MLDF_E_RANGE, "a WAV file whose rate is 0");
    if (!mldfi_mul_u64(info->samples, block, bytes) || *bytes > INT64_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "a WAV file of %" PRIu64 " samples", info->samples);
    return MLDF_OK;
}

static uint8_t *put_id(uint8_t *to, const char *id, uint64_t bytes) {
    memcpy(to, id, 4);
    mldfi_store_u32(to + 4, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes);
    return to + 8;
}

static uint8_t *put_format(uint8_t *to, const mldf_audio_info *info, bool extensible, uint32_t format_bytes) {
    uint32_t block = info->channels * (info->bits / 8);
    uint64_t rate = (uint64_t)info->rate * block;
    to = put_id(to, "fmt ", format_bytes);
    memset(to, 0, format_bytes);
    mldfi_store_u16(to, extensible ? WAV_EXTENSIBLE : tag_of(info->codec));
    mldfi_store_u16(to + 2, (uint16_t)info->channels);
    mldfi_store_u32(to + 4, info->rate);
    mldfi_store_u32(to + 8, rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate);
    mldfi_store_u16(to + 12, (uint16_t)block);
    mldfi_store_u16(to + 14, (uint16_t)info->bits);
    if (extensible) {
        mldfi_store_u16(to + 16, 22);
        mldfi_store_u16(to + 18, (uint16_t)info->bits);
        mldfi_store_u32(to + 20, info->mask);
        mldfi_store_u16(to + 24, tag_of(info->codec));
        memcpy(to + 26, mldfi_wav_subformat_tail, sizeof mldfi_wav_subformat_tail);
    }
    return to + format_bytes;
}

mldf_status mldf_wav_header(const mldf_audio_info *given, mldf_buffer *out, unsigned *pad_bytes, mldf_error *err) {
    uint64_t bytes;
    uint8_t header[160], *to = header;
    mldf_audio_info own = MLDF_AUDIO_INFO_INIT;
    const mldf_audio_info *info = &own;
    if (!given || !out || !pad_bytes)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_wav_header: %s is NULL",
                          !given ? "info"
                          : out  ? "pad_bytes"
                                 : "out");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_audio_info", given, err));
    TRY(check(info, &bytes, err));
    bool integer = info->codec == MLDF_AUDIO_PCM;
    bool extensible = info->mask != 0 || info->channels > 2 || (integer && info->bits > 16);
    bool fact = !integer || extensible;
    uint32_t format_bytes = extensible ? 40 : integer ? 16 : 18;
    *pad_bytes = bytes % 2;
    uint64_t outer = 4 + 8 + format_bytes + (fact ? 12 : 0) + 8 + bytes + *pad_bytes;
    bool rf64 = outer >= UINT32_MAX;
    outer += rf64 ? 36 : 0;
    to = put_id(to, rf64 ? "RF64" : "RIFF", outer);
    memcpy(to, "WAVE", 4);
    to += 4;
    if (rf64) {
        to = put_id(to, "ds64", 28);
        mldfi_store_u64(to, outer);
        mldfi_store_u64(to + 8, bytes);
        mldfi_store_u64(to + 16, info->samples);
        mldfi_store_u32(to + 24, 0);
        to += 28;
    }
    to = put_format(to, info, extensible, format_bytes);
    if (fact) {
        to = put_id(to, "fact", 4);
        mldfi_store_u32(to, info->samples > UINT32_MAX ? UINT32_MAX : (uint32_t)info->samples);
        to += 4;
    }
    to = put_id(to, "data", rf64 ? UINT32_MAX : bytes);
    return mldf_buffer_append(out, header, (size_t)(to - header), err);
}
