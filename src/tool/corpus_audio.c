/* Recordings while packing: parts of them, another rate, one channel. A part keeps its numbers bit for bit; what is resampled or mixed goes through
 * float and back, with the resampler of pipelines (kernel/sinc.h). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "kernel/kernels.h"
#include "kernel/pcm.h"
#include "kernel/sinc.h"
#include "tool/corpus.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

void mldfi_corpus_audio_free(struct corpus_audio *audio) {
    mldf_schema_free(audio->schema);
    mldfi_kit_free(&audio->kit);
    mldf_buffer_free(&audio->pcm);
    mldf_buffer_free(&audio->floats);
    mldf_buffer_free(&audio->made);
    if (audio->sinc)
        mldfi_sinc_free(audio->sinc);
    free(audio->sinc);
    memset(audio, 0, sizeof *audio);
}

mldf_status mldfi_corpus_audio_open(struct corpus_audio *audio, const void *file, size_t bytes, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!audio->schema) {
        status = mldf_schema_new(NULL, &audio->schema, err);
        if (status >= 0)
            status = mldf_schema_add(audio->schema, "audio", MLDF_AUDIO_WAVEFORM, NULL, 0, err);
        if (status < 0)
            return status;
    }
    const struct schema_field *field = &audio->schema->fields[0];
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = file, .bytes = bytes};
    uint8_t record[64] = {0};
    const void *payload;
    uint64_t payload_bytes;
    audio->pcm.size = 0;
    TRY(mldfi_field_encode(field, &audio->kit, false, &value, record, &audio->pcm, &payload, &payload_bytes, err));
    mldf_value stored = {.kind = MLDF_KIND_BYTES, .data = payload, .bytes = payload_bytes, .record = record};
    status = mldfi_field_decode(field, record, 0, payload, payload_bytes, 0, &audio->made, &stored, err);
    if (status >= 0) {
        stored.record = record;
        stored.record_bytes = field->info.record_bytes;
        audio->info = (mldf_audio_info)MLDF_AUDIO_INFO_INIT;
        status = mldf_audio_record(&stored, &audio->info, err);
    }
    audio->data = payload;
    audio->stored = bytes;
    return status;
}

/* ---- Floats --------------------------------------------------------------------------------------------------------------------- */

static mldf_status ready_sinc(struct corpus_audio *audio, uint32_t to, mldf_error *err) {
    if (audio->sinc && audio->sinc_from == audio->info.rate && audio->sinc_to == to)
        return MLDF_OK;
    if (audio->sinc)
        mldfi_sinc_free(audio->sinc);
    else if (!(audio->sinc = mldfi_alloc_zero(1, sizeof *audio->sinc, err)))
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_sinc_new(audio->info.rate, to, audio->sinc, err);
    if (status < 0) {
        free(audio->sinc);
        audio->sinc = NULL;
    }
    audio->sinc_from = audio->info.rate;
    audio->sinc_to = to;
    return status;
}

/* Channel by channel, [channels][count], in audio->floats; mono: the mean, summed in their order. */
static mldf_status to_floats(struct corpus_audio *audio, uint64_t from, uint64_t count, bool mono, mldf_error *err) {
    uint32_t channels = audio->info.channels, planes = mono ? 1 : channels;
    unsigned item = mldfi_pcm_bytes(audio->info.codec, audio->info.bits);
    size_t all = (size_t)count * channels, bytes;
    mldf_status status =
        mldfi_sound_room(audio->kit.max_bytes, audio->stored, count, channels, sizeof(float), &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&audio->floats, (all + (size_t)count * planes) * sizeof(float) + 1, err);
    if (status < 0)
        return status;
    float *wide = (float *)(void *)audio->floats.data, *plane = wide + all;
    mldfi_pcm_to_f32(audio->info.codec, audio->info.bits, audio->data + from * channels * item, all, wide);
    for (uint32_t c = 0; c < planes; c++)
        for (size_t i = 0; i < (size_t)count; i++) {
            float sum = wide[i * channels + c];
            for (uint32_t k = 1; mono && k < channels; k++)
                sum += wide[i * channels + k];
            plane[c * (size_t)count + i] = mono ? sum / (float)channels : sum;
        }
    memmove(wide, plane, (size_t)count * planes * sizeof *plane);
    return MLDF_OK;
}

/* What is written: integers and floats as they were; what has no such numbers as 16 bits. */
static void store(const mldf_audio_info *info, float value, uint8_t *at) {
    if (info->codec == MLDF_AUDIO_FLOAT) {
        double wide = value;
        memcpy(at, info->bits == 64 ? (const void *)&wide : (const void *)&value, info->bits / 8);
        return;
    }
    double scale = (double)(UINT64_C(1) << (info->bits - 1)), rounded = rint((double)value * scale);
    rounded = rounded < -scale ? -scale : rounded > scale - 1 ? scale - 1 : rounded;
    int64_t whole = (int64_t)rounded + (info->bits == 8 ? 128 : 0);
    for (uint32_t i = 0; i < info->bits / 8; i++)
        at[i] = (uint8_t)((uint64_t)whole >> (8 * i));
}

static mldf_status resampled(struct corpus_audio *audio, uint64_t count, uint32_t planes, uint32_t rate, uint64_t *out,
                             mldf_error *err) {
    TRY(ready_sinc(audio, rate, err));
    *out = mldfi_sinc_length(audio->sinc, count);
    size_t work = mldfi_sinc_work(audio->sinc);
    size_t bytes;
    mldf_status status =
        mldfi_sound_room(audio->kit.max_bytes, audio->stored, *out, planes, sizeof(float), &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&audio->made, ((size_t)*out * planes + work) * sizeof(float) + 1, err);
    if (status < 0)
        return status;
    float *made = (float *)(void *)audio->made.data;
    const float *in = (const float *)(const void *)audio->floats.data;
    for (uint32_t c = 0; c < planes; c++)
        mldfi_sinc_run(audio->sinc, mldfi_kernels_best()->fft, in + c * (size_t)count, 0, count, 0, *out,
                       made + c * (size_t)*out, made + (size_t)*out * planes);
    return MLDF_OK;
}

mldf_status mldfi_corpus_audio_wav(struct corpus_audio *audio, uint64_t from, uint64_t to, uint32_t rate, bool mono,
                                   mldf_buffer *out, mldf_error *err) {
    mldf_audio_info info = audio->info;
    unsigned item = mldfi_pcm_bytes(info.codec, info.bits), pad = 0;
    uint64_t count = to - from;
    bool change = (rate && rate != info.rate) || (mono && info.channels > 1);
    uint32_t planes = mono ? 1 : info.channels;
    mldf_status status = MLDF_OK;
    if (change) {
        info.channels = planes;
        info.mask = mono ? 0 : info.mask;
        status = to_floats(audio, from, count, mono, err);
        if (status >= 0 && rate && rate != info.rate) {
            status = resampled(audio, count, planes, rate, &count, err);
            info.rate = rate;
        } else {
            audio->made.size = 0;
        }
        if (info.codec != MLDF_AUDIO_FLOAT && info.codec != MLDF_AUDIO_PCM) {
            info.codec = MLDF_AUDIO_PCM;
            info.bits = 16;
        }
        item = info.bits / 8;
    }
    info.samples = count;
    out->size = 0;
    if (status >= 0)
        status = mldf_wav_header(&info, out, &pad, err);
    if (status >= 0 && !change)
        status = mldf_buffer_append(out, audio->data + from * info.channels * item,
                                    (size_t)(count * info.channels * item), err);
    if (status >= 0 && change) {
        size_t head = out->size;
        const float *values = (const float *)(const void *)(audio->made.size ? audio->made.data : audio->floats.data);
        status = mldfi_buffer_resize(out, head + (size_t)count * planes * item, err);
        for (size_t i = 0; i < (size_t)count && status >= 0; i++)
            for (uint32_t c = 0; c < planes; c++)
                store(&info, values[c * (size_t)count + i], out->data + head + (i * planes + c) * item);
    }
    return status < 0 ? status : mldf_buffer_append(out, "", pad, err);
}
