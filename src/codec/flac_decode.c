/* FLAC frames decoded, and files made, by libFLAC. A decoder is opened with STREAMINFO and gets one frame at a time; frames do not depend on each
 * other, so a run may begin anywhere. */
#include "codec/audio_stream.h"

#if defined(MLDF_HAVE_FLAC)

#include <FLAC/stream_decoder.h>
#include <FLAC/stream_encoder.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

enum { FRONT = 8 + FLAC_STREAMINFO }; /* "fLaC", the head of a last block, STREAMINFO */

struct flac {
    FLAC__StreamDecoder *decoder;
    uint8_t front[FRONT];
    const uint8_t *data; /* what the read callback hands out: */
    size_t bytes, at;
    uint32_t channels, bits;
    mldf_buffer block; /* [channels][samples] */
    uint32_t samples;
    uint64_t total; /* of all blocks, where `counting` */
    bool counting, lost, changed, no_memory;
};

static FLAC__StreamDecoderReadStatus on_read(const FLAC__StreamDecoder *decoder, FLAC__byte *out, size_t *bytes,
                                             void *user) {
    struct flac *f = user;
    size_t left = f->bytes - f->at;
    (void)decoder;
    *bytes = left < *bytes ? left : *bytes;
    if (*bytes == 0)
        return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    memcpy(out, f->data + f->at, *bytes);
    f->at += *bytes;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

static FLAC__StreamDecoderWriteStatus on_write(const FLAC__StreamDecoder *decoder, const FLAC__Frame *frame,
                                               const FLAC__int32 *const buffer[], void *user) {
    struct flac *f = user;
    uint32_t n = frame->header.blocksize;
    (void)decoder;
    f->changed =
        frame->header.channels != f->channels || frame->header.bits_per_sample != f->bits || n > AUDIO_PACKET_SAMPLES;
    if (f->changed)
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    f->total += n;
    if (f->counting)
        return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
    if (mldfi_buffer_resize(&f->block, (size_t)n * f->channels * sizeof(float), NULL) < 0) {
        f->no_memory = true;
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    float *out = (float *)(void *)f->block.data, scale = 1.0f / (float)(UINT32_C(1) << (f->bits - 1));
    for (uint32_t c = 0; c < f->channels; c++, out += n)
        for (uint32_t i = 0; i < n; i++)
            out[i] = (float)buffer[c][i] * scale; /* one rounding, of 25 bits and more; the scale is a power of two */
    f->samples = n;
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void on_error(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus error, void *user) {
    (void)decoder, (void)error;
    ((struct flac *)user)->lost = true;
}

static void close_decoder(void *decoder) {
    struct flac *f = decoder;
    if (f->decoder)
        FLAC__stream_decoder_delete(f->decoder);
    mldf_buffer_free(&f->block);
    free(f);
}

/* STREAMINFO without what is the file's own, so that one decoder serves all recordings of a kind: sizes of frames, the number of samples (from which on
 * libFLAC would not decode) and the MD5. Left are block sizes, rate, channels, bits. */
static void hide_file(uint8_t *info) {
    memset(info + 4, 0, 6);
    info[13] &= 0xF0;
    memset(info + 14, 0, FLAC_STREAMINFO - 14);
}

static bool same(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes) {
    return a_bytes == FLAC_STREAMINFO && b_bytes == FLAC_STREAMINFO && memcmp(a, b, 4) == 0 &&
           memcmp(a + 10, b + 10, 3) == 0 && (a[13] & 0xF0) == (b[13] & 0xF0);
}

static mldf_status start(const struct audio_setup *setup, bool counting, struct flac **out, mldf_error *err) {
    struct flac *f;
    if (setup->extra_bytes != FLAC_STREAMINFO || setup->info.bits < 4 || setup->info.bits > 32 ||
        setup->info.channels < 1 || setup->info.channels > 8)
        return mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: %zu bytes of STREAMINFO, %" PRIu32 " bits, %" PRIu32 " channels",
                          setup->extra_bytes, setup->info.bits, setup->info.channels);
    if (!(f = mldfi_alloc_zero(1, sizeof *f, err)))
        return MLDF_E_MEMORY;
    memcpy(f->front, "fLaC\x80\0\0\x22", 8);
    memcpy(f->front + 8, setup->extra, FLAC_STREAMINFO);
    if (!counting)
        hide_file(f->front + 8);
    f->channels = setup->info.channels;
    f->bits = setup->info.bits;
    f->counting = counting;
    f->data = f->front;
    f->bytes = FRONT;
    f->decoder = FLAC__stream_decoder_new();
    if (f->decoder && counting)
        FLAC__stream_decoder_set_md5_checking(f->decoder, true);
    if (!f->decoder || FLAC__stream_decoder_init_stream(f->decoder, on_read, NULL, NULL, NULL, NULL, on_write, NULL,
                                                        on_error, f) != FLAC__STREAM_DECODER_INIT_STATUS_OK) {
        close_decoder(f);
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a FLAC decoder");
    }
    if (!FLAC__stream_decoder_process_until_end_of_metadata(f->decoder) || f->lost) {
        close_decoder(f);
        return mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: libFLAC refuses its STREAMINFO");
    }
    *out = f;
    return MLDF_OK;
}

static mldf_status open_decoder(const struct audio_setup *setup, void **out, mldf_error *err) {
    struct flac *f = NULL;
    mldf_status status = start(setup, false, &f, err);
    *out = f;
    return status;
}

static mldf_status begin(void *decoder, mldf_error *err) {
    struct flac *f = decoder;
    f->bytes = f->at = 0;
    f->lost = f->changed = f->no_memory = false;
    return FLAC__stream_decoder_flush(f->decoder) ? MLDF_OK : mldfi_fail(err, MLDF_E_MEMORY, "no memory for FLAC");
}

static mldf_status decode(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out,
                          mldf_error *err) {
    struct flac *f = decoder;
    f->data = packet;
    f->bytes = bytes;
    f->at = 0;
    f->samples = 0;
    bool fine = FLAC__stream_decoder_process_single(f->decoder);
    if (f->no_memory || FLAC__stream_decoder_get_state(f->decoder) == FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode FLAC");
    if (f->changed)
        return mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: a frame of other channels or bits than the recording's");
    if (!fine || f->lost || f->samples == 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: the frame is damaged");
    *out = (struct audio_block){(const float *)(const void *)f->block.data, f->samples, 1, f->samples};
    return MLDF_OK;
}

/* The whole stream once, with its MD5. */
static mldf_status check(const struct audio_setup *setup, const uint8_t *data, uint64_t bytes, uint64_t samples,
                         mldf_error *err) {
    static const uint8_t none[16];
    struct flac *f;
    mldf_status status = start(setup, true, &f, err);
    if (status < 0)
        return status;
    f->data = data;
    f->bytes = (size_t)bytes;
    f->at = 0;
    bool fine = FLAC__stream_decoder_process_until_end_of_stream(f->decoder) && !f->lost && !f->changed;
    if (!fine)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: the frame after sample %" PRIu64 " is damaged", f->total);
    else if (f->total != samples)
        status =
            mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: %" PRIu64 " samples, and frames of %" PRIu64, samples, f->total);
    else if (!FLAC__stream_decoder_finish(f->decoder) && memcmp(setup->extra + FLAC_STREAMINFO - 16, none, 16) != 0)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "FLAC: the MD5 of the decoded samples is not the one in STREAMINFO");
    close_decoder(f);
    return status;
}

const struct audio_decoder mldfi_decoder_flac = {
    .name = "libFLAC",
    .open = open_decoder,
    .begin = begin,
    .decode = decode,
    .close = close_decoder,
    .check = check,
    .same = same,
};

/* ---- Writing ------------------------------------------------------------------------------------------------------------------------- */

struct flac_file {
    mldf_buffer *out;
    size_t start, at;
    mldf_status status;
};

static FLAC__StreamEncoderWriteStatus on_encoded(const FLAC__StreamEncoder *encoder, const FLAC__byte *data,
                                                 size_t bytes, uint32_t samples, uint32_t frame, void *user) {
    struct flac_file *file = user;
    (void)encoder, (void)samples, (void)frame;
    size_t end = file->start + file->at + bytes;
    if (end > file->out->size)
        file->status = mldfi_buffer_resize(file->out, end, NULL);
    if (file->status < 0)
        return FLAC__STREAM_ENCODER_WRITE_STATUS_FATAL_ERROR;
    memcpy(file->out->data + file->start + file->at, data, bytes);
    file->at += bytes;
    return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

/* The encoder goes back to STREAMINFO when it knows the MD5. */
static FLAC__StreamEncoderSeekStatus on_seek(const FLAC__StreamEncoder *encoder, FLAC__uint64 offset, void *user) {
    (void)encoder;
    ((struct flac_file *)user)->at = (size_t)offset;
    return FLAC__STREAM_ENCODER_SEEK_STATUS_OK;
}

static FLAC__StreamEncoderTellStatus on_tell(const FLAC__StreamEncoder *encoder, FLAC__uint64 *offset, void *user) {
    (void)encoder;
    *offset = ((struct flac_file *)user)->at;
    return FLAC__STREAM_ENCODER_TELL_STATUS_OK;
}

static int32_t number(const uint8_t *p, unsigned bytes) {
    switch (bytes) {
    case 1:
        return (int32_t)p[0] - 128;
    case 2:
        return (int16_t)(p[0] | p[1] << 8);
    case 3:
        return (int32_t)((uint32_t)p[0] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 24) >> 8;
    default:
        return (int32_t)(p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    }
}

mldf_status mldfi_flac_encode(const mldf_audio_info *info, const void *pcm, mldf_buffer *out, mldf_error *err) {
    enum { BLOCK = 4096 };
    struct flac_file file = {out, out->size, 0, MLDF_OK};
    const uint8_t *from = pcm;
    unsigned bytes = info->bits / 8;
    if (info->codec != MLDF_AUDIO_PCM || info->channels > 8 || info->rate > 655350 || info->bits > 24)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "FLAC holds integers of up to 24 bits, 8 channels and 655350 Hz, and this is %s of %" PRIu32
                          " bits, %" PRIu32 " channels, %" PRIu32 " Hz",
                          mldf_audio_codec_name(info->codec), info->bits, info->channels, info->rate);
    FLAC__StreamEncoder *encoder = FLAC__stream_encoder_new();
    int32_t *block = mldfi_alloc((size_t)BLOCK * info->channels * sizeof *block, err);
    if (!encoder || !block) {
        if (encoder)
            FLAC__stream_encoder_delete(encoder);
        free(block);
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a FLAC encoder");
    }
    FLAC__stream_encoder_set_channels(encoder, info->channels);
    FLAC__stream_encoder_set_bits_per_sample(encoder, info->bits);
    FLAC__stream_encoder_set_sample_rate(encoder, info->rate);
    FLAC__stream_encoder_set_compression_level(encoder, 5);
    FLAC__stream_encoder_set_streamable_subset(encoder, false);
    FLAC__stream_encoder_set_total_samples_estimate(encoder, info->samples);
    bool fine = FLAC__stream_encoder_init_stream(encoder, on_encoded, on_seek, on_tell, NULL, &file) ==
                FLAC__STREAM_ENCODER_INIT_STATUS_OK;
    for (uint64_t done = 0; fine && done < info->samples;) {
        uint32_t now = info->samples - done < BLOCK ? (uint32_t)(info->samples - done) : BLOCK;
        for (size_t i = 0; i < (size_t)now * info->channels; i++, from += bytes)
            block[i] = number(from, bytes);
        fine = FLAC__stream_encoder_process_interleaved(encoder, block, now);
        done += now;
    }
    fine = FLAC__stream_encoder_finish(encoder) && fine;
    FLAC__stream_encoder_delete(encoder);
    free(block);
    if (file.status < 0)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a FLAC file");
    return fine ? MLDF_OK : mldfi_fail(err, MLDF_E_UNSUPPORTED, "libFLAC cannot encode this recording");
}

#else

#include "util/error.h"

mldf_status mldfi_flac_encode(const mldf_audio_info *info, const void *pcm, mldf_buffer *out, mldf_error *err) {
    (void)info, (void)pcm, (void)out;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                      "this mldf was built without libFLAC, which encodes FLAC: install libflac-dev and build again");
}

#endif
