/* See audio_media.h. Numbers are converted a block at a time, so that they are still in the cache when they are put in their places. */
#include <stdlib.h>

#include "field/audio_media.h"
#include "kernel/pcm.h"
#include "util/buffer.h"

enum { BLOCK_NUMBERS = 1 << 14 }; /* 64 KiB of floats; at least one sample, which may have 65535 channels */

struct audio_worker {
    mldf_buffer block;
};

static mldf_status open_worker(void **worker, mldf_error *err) {
    *worker = mldfi_alloc_zero(1, sizeof(struct audio_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *worker) {
    struct audio_worker *w = worker;
    mldf_buffer_free(&w->block);
    free(w);
}

const struct media mldfi_media_audio = {.open = open_worker, .close = close_worker};

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
    mldf_status status = mldfi_buffer_resize(&w->block, most * channels * sizeof(float), err);
    if (status < 0)
        return status;
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
