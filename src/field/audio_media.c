/* See audio_media.h. Numbers are converted a block at a time, so that they are still in the cache when they are put in their places. */
#include <inttypes.h>
#include <stdlib.h>

#include "field/audio_media.h"
#include "field/audio_type.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { BLOCK_NUMBERS = 1 << 14 }; /* 64 KiB of floats; at least one sample, which may have 65535 channels */

static mldf_status open_worker(void **worker, mldf_error *err) {
    *worker = mldfi_alloc_zero(1, sizeof(struct audio_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *worker) {
    struct audio_worker *w = worker;
    mldfi_audio_drop_decoders(w);
    mldf_buffer_free(&w->block);
    mldf_buffer_free(&w->pcm);
    mldf_buffer_free(&w->file);
    free(w);
}

static void trim_worker(void *worker) {
    struct audio_worker *w = worker;
    mldfi_buffer_trim(&w->pcm, MEDIA_KEEP_BYTES);
    mldfi_buffer_trim(&w->file, MEDIA_KEEP_BYTES);
}

static mldf_status check(void *worker, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                         mldf_error *err) {
    mldf_audio_info info;
    mldfi_audio_record_info(record, &info);
    if (mldfi_pcm_bytes(info.codec, info.bits) || payload_bytes == 0)
        return MLDF_OK;
    mldf_status status = mldfi_audio_check_packets(worker, &info, payload, payload_bytes, true, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE; /* of the value; the message has it */
    return status;
}

static void limit_worker(void *worker, uint64_t max_bytes) {
    ((struct audio_worker *)worker)->max_bytes = max_bytes;
}

const struct media mldfi_media_audio = {
    .open = open_worker,
    .close = close_worker,
    .limit = limit_worker,
    .trim = trim_worker,
    .encode = mldfi_audio_encode_with,
    .check = check,
};

mldf_status mldfi_audio_check_bytes(const mldf_audio_info *info, uint64_t bytes, mldf_error *err) {
    uint64_t wanted, sample = (uint64_t)info->channels * mldfi_pcm_bytes(info->codec, info->bits);
    if (mldfi_audio_is_packets(info->codec) && info->samples / AUDIO_PACKET_SAMPLES > bytes)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "the value has %" PRIu64 " bytes, and its record describes %" PRIu64 " samples", bytes,
                          info->samples);
    if (!mldfi_audio_is_packets(info->codec) &&
        (!sample || !mldfi_mul_u64(info->samples, sample, &wanted) || wanted != bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "the value has %" PRIu64 " bytes, and its record describes %" PRIu64 " samples of %" PRIu64
                          " bytes",
                          bytes, info->samples, sample);
    return MLDF_OK;
}

void mldfi_audio_range(const mldf_audio_info *info, uint64_t from, uint64_t count, uint64_t *offset, uint64_t *bytes) {
    uint64_t sample = (uint64_t)info->channels * mldfi_pcm_bytes(info->codec, info->bits);
    *offset = from * sample;
    *bytes = count * sample;
}

/* The mean: added in the order of the channels, divided once. */
static void mix(const float *in, size_t count, uint32_t channels, float *out) {
    for (size_t i = 0; i < count; i++, in += channels) {
        float sum = in[0];
        for (uint32_t c = 1; c < channels; c++)
            sum += in[c];
        out[i] = sum / (float)channels;
    }
}

static void separate(const float *in, size_t count, uint32_t channels, float *out, size_t stride) {
    for (uint32_t c = 0; c < channels; c++)
        for (size_t i = 0; i < count; i++)
            out[c * stride + i] = in[i * channels + c];
}

mldf_status mldfi_audio_read(void *worker, const mldf_audio_info *info, const void *data, uint64_t count, bool mono,
                             float *out, size_t stride, mldf_error *err) {
    struct audio_worker *w = worker;
    uint32_t channels = info->channels;
    size_t sample = (size_t)channels * mldfi_pcm_bytes(info->codec, info->bits);
    size_t most = channels < BLOCK_NUMBERS ? BLOCK_NUMBERS / channels : 1;
    if (channels == 1) {
        mldfi_pcm_to_f32(info->codec, info->bits, data, (size_t)count, out);
        return MLDF_OK;
    }
    TRY(mldfi_buffer_resize(&w->block, most * channels * sizeof(float), err));
    float *numbers = (float *)(void *)w->block.data;
    const uint8_t *from = data;
    for (uint64_t done = 0; done < count; done += most, from += most * sample, out += most) {
        size_t now = count - done < most ? (size_t)(count - done) : most;
        mldfi_pcm_to_f32(info->codec, info->bits, from, now * channels, numbers);
        if (mono)
            mix(numbers, now, channels, out);
        else
            separate(numbers, now, channels, out, stride);
    }
    return MLDF_OK;
}
