/* Which of FFmpeg's codecs our numbers mean. */
#ifndef MLDF_AV_CODECS_H
#define MLDF_AV_CODECS_H

#include <libavcodec/avcodec.h>

#include "codec/av_module.h"

static const struct {
    int kind, codec;
    enum AVCodecID id;
} av_codecs[] = {
    {AV_KIND_VIDEO, AV_VIDEO_H264, AV_CODEC_ID_H264},
    {AV_KIND_VIDEO, AV_VIDEO_HEVC, AV_CODEC_ID_HEVC},
    {AV_KIND_VIDEO, AV_VIDEO_VP8, AV_CODEC_ID_VP8},
    {AV_KIND_VIDEO, AV_VIDEO_VP9, AV_CODEC_ID_VP9},
    {AV_KIND_VIDEO, AV_VIDEO_AV1, AV_CODEC_ID_AV1},
    {AV_KIND_VIDEO, AV_VIDEO_MPEG4, AV_CODEC_ID_MPEG4},
    {AV_KIND_VIDEO, AV_VIDEO_MPEG2, AV_CODEC_ID_MPEG2VIDEO},
    {AV_KIND_VIDEO, AV_VIDEO_MJPEG, AV_CODEC_ID_MJPEG},
    {AV_KIND_VIDEO, AV_VIDEO_FFV1, AV_CODEC_ID_FFV1},
    {AV_KIND_AUDIO, 1, AV_CODEC_ID_FLAC},
    {AV_KIND_AUDIO, 2, AV_CODEC_ID_AAC},
    {AV_KIND_AUDIO, 3, AV_CODEC_ID_MP3},
    {AV_KIND_AUDIO, 4, AV_CODEC_ID_OPUS},
    {AV_KIND_AUDIO, 5, AV_CODEC_ID_VORBIS},
    {AV_KIND_AUDIO, 6, AV_CODEC_ID_ALAC},
    {AV_KIND_AUDIO, 8, AV_CODEC_ID_AC3},
    {AV_KIND_AUDIO, 9, AV_CODEC_ID_EAC3},
};
enum { AV_CODEC_COUNT = sizeof av_codecs / sizeof av_codecs[0] };

/* Raw sound: codec is mldf_audio_codec's. */
static const struct {
    int codec;
    enum AVCodecID id;
    enum av_pcm pcm;
} av_raw[] = {
    {0, AV_CODEC_ID_PCM_U8, AV_PCM_U8},        {0, AV_CODEC_ID_PCM_S8, AV_PCM_S8},
    {0, AV_CODEC_ID_PCM_S16LE, AV_PCM_S16LE},  {0, AV_CODEC_ID_PCM_S16BE, AV_PCM_S16BE},
    {0, AV_CODEC_ID_PCM_S24LE, AV_PCM_S24LE},  {0, AV_CODEC_ID_PCM_S24BE, AV_PCM_S24BE},
    {0, AV_CODEC_ID_PCM_S32LE, AV_PCM_S32LE},  {0, AV_CODEC_ID_PCM_S32BE, AV_PCM_S32BE},
    {16, AV_CODEC_ID_PCM_F32LE, AV_PCM_F32LE}, {16, AV_CODEC_ID_PCM_F32BE, AV_PCM_F32BE},
    {16, AV_CODEC_ID_PCM_F64LE, AV_PCM_F64LE}, {16, AV_CODEC_ID_PCM_F64BE, AV_PCM_F64BE},
    {17, AV_CODEC_ID_PCM_ALAW, AV_PCM_ALAW},   {18, AV_CODEC_ID_PCM_MULAW, AV_PCM_MULAW},
};
enum { AV_RAW_COUNT = sizeof av_raw / sizeof av_raw[0] };

static inline enum av_pcm av_pcm_of(enum AVCodecID id) {
    for (int i = 0; i < AV_RAW_COUNT; i++)
        if (av_raw[i].id == id)
            return av_raw[i].pcm;
    return AV_PCM_NONE;
}

static inline enum AVCodecID av_pcm_id(int pcm) {
    for (int i = 0; i < AV_RAW_COUNT; i++)
        if ((int)av_raw[i].pcm == pcm)
            return av_raw[i].id;
    return AV_CODEC_ID_NONE;
}

static inline enum AVCodecID av_codec_id(int kind, int codec) {
    for (int i = 0; i < AV_CODEC_COUNT; i++)
        if (av_codecs[i].kind == kind && av_codecs[i].codec == codec)
            return av_codecs[i].id;
    return AV_CODEC_ID_NONE;
}

static inline int av_codec_number(int kind, enum AVCodecID id) {
    for (int i = 0; i < AV_CODEC_COUNT; i++)
        if (av_codecs[i].kind == kind && av_codecs[i].id == id)
            return av_codecs[i].codec;
    for (int i = 0; i < AV_RAW_COUNT && kind == AV_KIND_AUDIO; i++)
        if (av_raw[i].id == id)
            return av_raw[i].codec;
    return kind == AV_KIND_AUDIO ? AV_AUDIO_OTHER : AV_VIDEO_OTHER;
}

#endif
