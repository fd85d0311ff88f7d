/* MP3 frames decoded by libmpg123, to float. A run begins with a decoder that was fed nothing before, so the same run gives the same bits. */
#include "codec/audio_stream.h"

#if defined(MLDF_HAVE_MPG123)

#include <inttypes.h>
#include <mpg123.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

struct mp3 {
    mpg123_handle *handle;
    uint32_t rate, channels;
};

static void close_decoder(void *decoder) {
    struct mp3 *m = decoder;
    if (m->handle)
        mpg123_delete(m->handle);
    free(m);
}

static mldf_status open_decoder(const struct audio_setup *setup, void **out, mldf_error *err) {
    int code = MPG123_OK;
    struct mp3 *m = mldfi_alloc_zero(1, sizeof *m, err);
    if (!m)
        return MLDF_E_MEMORY;
    m->rate = setup->info.rate;
    m->channels = setup->info.channels;
    mpg123_init(); /* nothing since 1.27; before, tables that every call makes alike */
    m->handle = mpg123_new(setup->choice.portable ? "generic" : NULL, &code);
    bool fine =
        m->handle && m->channels >= 1 && m->channels <= 2 &&
        mpg123_param(m->handle, MPG123_REMOVE_FLAGS, MPG123_GAPLESS, 0) == MPG123_OK &&
        mpg123_param(m->handle, MPG123_ADD_FLAGS,
                     MPG123_FORCE_FLOAT | MPG123_QUIET | MPG123_IGNORE_INFOFRAME | MPG123_NO_READAHEAD |
                         MPG123_NO_RESYNC | MPG123_SKIP_ID3V2,
                     0) == MPG123_OK &&
        mpg123_param(m->handle, MPG123_PREFRAMES, 0, 0) == MPG123_OK && mpg123_format_none(m->handle) == MPG123_OK &&
        mpg123_format(m->handle, (long)m->rate, m->channels == 1 ? MPG123_MONO : MPG123_STEREO, MPG123_ENC_FLOAT_32) ==
            MPG123_OK;
    if (!fine) {
        close_decoder(m);
        return mldfi_fail(err, code == MPG123_OUT_OF_MEM ? MLDF_E_MEMORY : MLDF_E_CORRUPT,
                          "MP3: libmpg123 has no decoder for %" PRIu32 " Hz and %" PRIu32 " channels", setup->info.rate,
                          setup->info.channels);
    }
    *out = m;
    return MLDF_OK;
}

static mldf_status begin(void *decoder, mldf_error *err) {
    struct mp3 *m = decoder;
    mpg123_close(m->handle);
    return mpg123_open_feed(m->handle) == MPG123_OK ? MLDF_OK : mldfi_fail(err, MLDF_E_MEMORY, "no memory for MP3");
}

/* Frames before the reservoir is full give silence in libmpg123, which counts; a frame that it cannot decode is an error. */
static mldf_status decode(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out,
                          mldf_error *err) {
    struct mp3 *m = decoder;
    unsigned char *audio = NULL;
    size_t got = 0;
    off_t at = 0;
    size_t frame = mldfi_mp3_frame_bytes(packet, bytes); /* what follows it in the packet is no sound */
    if (frame == 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "MP3: the frame has no header");
    if (mpg123_feed(m->handle, packet, frame) != MPG123_OK)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode MP3");
    int code = mpg123_decode_frame(m->handle, &at, &audio, &got);
    if (code == MPG123_NEW_FORMAT)
        code = mpg123_decode_frame(m->handle, &at, &audio, &got);
    if (code != MPG123_OK && !(code == MPG123_NEED_MORE && got))
        return mldfi_fail(err, MLDF_E_CORRUPT, "MP3: the frame is damaged: %s",
                          code == MPG123_ERR ? mpg123_strerror(m->handle) : mpg123_plain_strerror(code));
    out->data = (const float *)(const void *)audio;
    out->samples = (uint32_t)(got / sizeof(float) / m->channels);
    out->channel_step = 1;
    out->sample_step = m->channels;
    return MLDF_OK;
}

#if !defined(MLDF_MPG123_VERSION)
#define MLDF_MPG123_VERSION "of unknown version"
#endif

/* Before API 48 there is no call for the version: the one that was compiled against. */
static const char *version(void) {
#if MPG123_API_VERSION >= 48
    static _Thread_local char text[64];
    (void)snprintf(text, sizeof text, "libmpg123 %s", mpg123_distversion(NULL, NULL, NULL));
    return text;
#else
    return "libmpg123 " MLDF_MPG123_VERSION;
#endif
}

const struct audio_decoder mldfi_decoder_mp3 = {
    .name = "libmpg123",
    .open = open_decoder,
    .begin = begin,
    .decode = decode,
    .close = close_decoder,
    .version = version,
};

#else

extern const int mldfi_without_mpg123;
const int mldfi_without_mpg123 = 1;

#endif
