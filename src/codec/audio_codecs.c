/* The table of codecs: which containers this build takes apart, and which decoders it has. See audio_stream.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/audio_stream.h"
#include "codec/av.h"
#include "util/buffer.h"
#include "util/error.h"

static const struct audio_container *const containers[] = {
    &mldfi_container_flac, &mldfi_container_ogg, &mldfi_container_mp4, &mldfi_container_adts, &mldfi_container_mp3,
};

const struct audio_container *mldfi_audio_container(const void *data, size_t bytes) {
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++)
        if (containers[i]->is(data, bytes))
            return containers[i];
    return NULL;
}

#if defined(MLDF_HAVE_FLAC)
#define FLAC_DECODER &mldfi_decoder_flac
#else
#define FLAC_DECODER NULL
#endif
#if defined(MLDF_HAVE_MPG123)
#define MP3_DECODER &mldfi_decoder_mp3
#else
#define MP3_DECODER NULL
#endif
#if defined(MLDF_HAVE_OPUS)
#define OPUS_DECODER &mldfi_decoder_opus
#else
#define OPUS_DECODER NULL
#endif
#if defined(MLDF_HAVE_VORBIS)
#define VORBIS_DECODER &mldfi_decoder_vorbis
#else
#define VORBIS_DECODER NULL
#endif

static const struct {
    mldf_audio_codec codec;
    const struct audio_decoder *decoder; /* NULL: built without */
    const char *library, *package;
} decoders[] = {
    {MLDF_AUDIO_FLAC, FLAC_DECODER, "libFLAC", "libflac-dev"},
    {MLDF_AUDIO_MP3, MP3_DECODER, "libmpg123", "libmpg123-dev"},
    {MLDF_AUDIO_OPUS, OPUS_DECODER, "libopus", "libopus-dev"},
    {MLDF_AUDIO_VORBIS, VORBIS_DECODER, "libvorbis", "libvorbis-dev"},
    {MLDF_AUDIO_AAC, &mldfi_decoder_av, "FFmpeg", "libavcodec-dev"}, /* whose module may be missing: open says it */
    {MLDF_AUDIO_ALAC, &mldfi_decoder_av, "FFmpeg", "libavcodec-dev"},
    {MLDF_AUDIO_AC3, &mldfi_decoder_av, "FFmpeg", "libavcodec-dev"},
    {MLDF_AUDIO_EAC3, &mldfi_decoder_av, "FFmpeg", "libavcodec-dev"},
};

mldf_status mldfi_audio_decoder(mldf_audio_codec codec, const struct audio_choice *choice,
                                const struct audio_decoder **out, mldf_error *err) {
    if (codec == MLDF_AUDIO_OPUS && choice && choice->ffmpeg_opus) {
        *out = &mldfi_decoder_av;
        return MLDF_OK;
    }
    for (size_t i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
        if (decoders[i].codec != codec)
            continue;
        *out = decoders[i].decoder;
        if (*out)
            return MLDF_OK;
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "this mldf was built without %s, which decodes %s: install %s and build again",
                          decoders[i].library, mldf_audio_codec_name(codec), decoders[i].package);
    }
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this version of mldf has no decoder for audio codec %u (%s)",
                      (unsigned)codec, mldf_audio_codec_name(codec));
}

bool mldfi_audio_decodes(mldf_audio_codec codec) {
    const struct audio_decoder *decoder;
    const struct av_decode_module *module;
    return mldfi_audio_decoder(codec, NULL, &decoder, NULL) == MLDF_OK &&
           (decoder != &mldfi_decoder_av || mldfi_av_decode_module(&module, NULL) == MLDF_OK);
}

bool mldfi_audio_decoder_name(mldf_audio_codec codec, const struct audio_choice *choice, char *out, size_t room) {
    const struct audio_decoder *decoder;
    const char *version = NULL;
    if (codec == MLDF_AUDIO_ALAC) /* without loss, whoever decodes it */
        return false;
    if (mldfi_audio_decoder(codec, choice, &decoder, NULL) == MLDF_OK && decoder->version)
        version = decoder->version();
    if (version)
        (void)snprintf(out, room, "%s%s", version, choice && choice->portable ? ", portable" : "");
    return version != NULL;
}

void mldfi_audio_parts_free(struct audio_parts *parts) {
    mldf_buffer_free(&parts->extra);
    mldf_buffer_free(&parts->made);
    free(parts->packets);
    *parts = (struct audio_parts){0};
}

mldf_status mldfi_audio_long_packet(size_t packet, uint64_t offset, uint64_t bytes, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_LIMIT, offset,
                         "packet %zu of the stream has %" PRIu64 " bytes, and %d are the most", packet, bytes,
                         AUDIO_PACKET_BYTES);
}

mldf_status mldfi_audio_parts_add(struct audio_parts *parts, struct audio_packet packet, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&parts->packets, &parts->capacity, parts->count + 1, sizeof *parts->packets, err);
    if (status == MLDF_OK)
        parts->packets[parts->count++] = packet;
    return status;
}
