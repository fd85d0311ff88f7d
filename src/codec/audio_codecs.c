/* The table of codecs: which containers this build takes apart, and which decoders it has. See audio_stream.h. */
#include <stdlib.h>

#include "codec/audio_stream.h"
#include "util/buffer.h"
#include "util/error.h"

static const struct audio_container *const containers[] = {&mldfi_container_flac};

const struct audio_container *mldfi_audio_container(const void *data, size_t bytes) {
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++)
        if (containers[i]->is(data, bytes))
            return containers[i];
    return NULL;
}

static const struct {
    mldf_audio_codec codec;
    const struct audio_decoder *decoder; /* NULL: built without */
    const char *library, *package;
} decoders[] = {
#if defined(MLDF_HAVE_FLAC)
    {MLDF_AUDIO_FLAC, &mldfi_decoder_flac, "libFLAC", "libflac-dev"},
#else
    {MLDF_AUDIO_FLAC, NULL, "libFLAC", "libflac-dev"},
#endif
};

mldf_status mldfi_audio_decoder(mldf_audio_codec codec, const struct audio_decoder **out, mldf_error *err) {
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

void mldfi_audio_parts_free(struct audio_parts *parts) {
    mldf_buffer_free(&parts->extra);
    mldf_buffer_free(&parts->made);
    free(parts->packets);
    *parts = (struct audio_parts){0};
}

mldf_status mldfi_audio_parts_add(struct audio_parts *parts, struct audio_packet packet, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&parts->packets, &parts->capacity, parts->count + 1, sizeof *parts->packets, err);
    if (status == MLDF_OK)
        parts->packets[parts->count++] = packet;
    return status;
}
