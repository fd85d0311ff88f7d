/* Any window of a recording as float. */
#include <inttypes.h>

#include "field/audio_media.h"
#include "field/audio_type.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

mldf_status mldf_audio_record(const mldf_value *value, mldf_audio_info *out, mldf_error *err) {
    if (!value || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_audio_record: %s is NULL", value ? "out" : "value");
    TRY(mldfi_check_result("mldf_audio_info", out, err));
    if (!value->record || value->record_bytes != AUDIO_RECORD)
        return mldfi_fail(err, MLDF_E_TYPE, "a value without an audio record: it was not read from an audio field");
    mldf_audio_info info;
    mldfi_audio_record_info(value->record, &info);
    mldfi_give_result(out, &info, sizeof info);
    return MLDF_OK;
}

bool mldfi_audio_same(const mldf_value *a, const mldf_value *b) {
    mldf_audio_info x = MLDF_AUDIO_INFO_INIT, y = MLDF_AUDIO_INFO_INIT;
    if (mldf_audio_record(a, &x, NULL) < 0 || mldf_audio_record(b, &y, NULL) < 0)
        return true;
    return x.samples == y.samples && x.rate == y.rate && x.channels == y.channels && x.bits == y.bits &&
           x.codec == y.codec;
}

/* Decoded channel by channel, then interleaved. */
static mldf_status read_packets(const mldf_value *value, const mldf_audio_info *info, uint64_t from, uint64_t count,
                                float *out, mldf_error *err) {
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    mldf_buffer planar = MLDF_BUFFER_INIT;
    void *worker;
    mldf_status status = mldfi_media_audio.open(&worker, err);
    if (status < 0)
        return status;
    if (info->channels == 1) {
        status = mldfi_audio_window(worker, info, &in, from, count, NULL, out, (size_t)count, err);
    } else if ((status = mldfi_buffer_resize(&planar, (size_t)count * info->channels * sizeof *out, err)) == MLDF_OK) {
        float *numbers = (float *)(void *)planar.data;
        status = mldfi_audio_window(worker, info, &in, from, count, NULL, numbers, (size_t)count, err);
        for (uint32_t c = 0; c < info->channels && status == MLDF_OK; c++)
            for (uint64_t i = 0; i < count; i++)
                out[i * info->channels + c] = numbers[c * count + i];
    }
    mldf_buffer_free(&planar);
    mldfi_media_audio.close(worker);
    return status;
}

mldf_status mldf_audio_check_room(const mldf_audio_info *info, uint64_t stored, uint64_t max_decoded, mldf_error *err) {
    size_t bytes;
    mldf_audio_info own = MLDF_AUDIO_INFO_INIT;
    if (!info)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_audio_check_room: info is NULL");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_audio_info", info, err));
    return mldfi_sound_room(max_decoded, stored, own.samples, own.channels, sizeof(float), &bytes, err);
}

mldf_status mldf_audio_value_read(const mldf_value *value, uint64_t from, uint64_t count, float *out, mldf_error *err) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_status status = mldf_audio_record(value, &info, err);
    if (status < 0)
        return status;
    if (!out && count > 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_audio_value_read: out is NULL");
    if ((status = mldfi_audio_check_bytes(&info, value->bytes, err)) < 0)
        return status;
    if (!mldfi_range_inside(from, count, info.samples))
        return mldfi_fail(err, MLDF_E_RANGE, "samples %" PRIu64 " + %" PRIu64 " of a recording of %" PRIu64, from,
                          count, info.samples);
    if (count > 0 && mldfi_audio_is_packets(info.codec))
        return read_packets(value, &info, from, count, out, err);
    uint64_t block = (uint64_t)info.channels * mldfi_pcm_bytes(info.codec, info.bits);
    if (count > 0)
        mldfi_pcm_to_f32(info.codec, info.bits, (const uint8_t *)value->data + from * block,
                         (size_t)(count * info.channels), out);
    return MLDF_OK;
}
