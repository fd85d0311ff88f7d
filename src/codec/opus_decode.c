/* Opus packets decoded by libopus, at 48000 Hz, to float; channels in the order of WAV files. */
#include "codec/ogg.h"

#if defined(MLDF_HAVE_OPUS)

#include <inttypes.h>
#include <opus_multistream.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { HEAD = 19, MOST = 5760 };

struct opus {
    OpusMSDecoder *decoder;
    uint32_t channels;
    float pcm[]; /* MOST samples */
};

static void close_decoder(void *decoder) {
    struct opus *o = decoder;
    if (o->decoder)
        opus_multistream_decoder_destroy(o->decoder);
    free(o);
}

static mldf_status open_decoder(const struct audio_setup *setup, void **out, mldf_error *err) {
    static const uint8_t plain[2] = {0, 1};
    const uint8_t *head = setup->extra;
    uint32_t channels = setup->info.channels;
    int code = 0;
    bool family = setup->extra_bytes >= HEAD && head[18];
    if (setup->extra_bytes < HEAD || memcmp(head, "OpusHead", 8) != 0 || head[9] != channels || channels == 0 ||
        (!family && channels > 2) || (family && setup->extra_bytes < HEAD + 2 + channels))
        return mldfi_fail(err, MLDF_E_CORRUPT, "Opus: a head of %zu bytes for %" PRIu32 " channels", setup->extra_bytes,
                          channels);
    uint8_t mapping[255];
    const uint8_t *order = family && head[18] == 1 ? mldfi_vorbis_order(channels) : NULL;
    const uint8_t *from = family ? head + HEAD + 2 : plain;
    for (uint32_t c = 0; c < channels; c++)
        mapping[c] = from[order ? order[c] : c];
    struct opus *o = mldfi_alloc_zero(1, sizeof *o + (size_t)MOST * channels * sizeof(float), err);
    if (!o)
        return MLDF_E_MEMORY;
    o->channels = channels;
    o->decoder = opus_multistream_decoder_create(48000, (int)channels, family ? head[HEAD] : 1,
                                                 family ? head[HEAD + 1] : (int)channels - 1, mapping, &code);
    if (!o->decoder) {
        close_decoder(o);
        return mldfi_fail(err, code == OPUS_ALLOC_FAIL ? MLDF_E_MEMORY : MLDF_E_CORRUPT, "Opus: %s",
                          opus_strerror(code));
    }
    opus_multistream_decoder_ctl(o->decoder, OPUS_SET_GAIN((opus_int32)(int16_t)mldfi_load_u16(head + 16)));
    *out = o;
    return MLDF_OK;
}

static mldf_status begin(void *decoder, mldf_error *err) {
    struct opus *o = decoder;
    int code = opus_multistream_decoder_ctl(o->decoder, OPUS_RESET_STATE);
    return code == OPUS_OK ? MLDF_OK : mldfi_fail(err, MLDF_E_STATE, "Opus: %s", opus_strerror(code));
}

static mldf_status decode(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out,
                          mldf_error *err) {
    struct opus *o = decoder;
    if (bytes == 0 || bytes > INT32_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT, "Opus: a packet of %zu bytes", bytes);
    int got = opus_multistream_decode_float(o->decoder, packet, (opus_int32)bytes, o->pcm, MOST, 0);
    if (got <= 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "Opus: %s", got ? opus_strerror(got) : "an empty packet");
    *out = (struct audio_block){o->pcm, 1, o->channels, (uint32_t)got};
    return MLDF_OK;
}

static const char *version(void) {
    return opus_get_version_string(); /* "libopus 1.3.1" */
}

const struct audio_decoder mldfi_decoder_opus = {
    .name = "libopus",
    .open = open_decoder,
    .begin = begin,
    .decode = decode,
    .close = close_decoder,
    .version = version,
};

#else

extern const int mldfi_without_opus;
const int mldfi_without_opus = 1;

#endif
