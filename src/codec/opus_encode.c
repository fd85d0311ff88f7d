/* Opus packets made by libopus out of float PCM: frames of 20 ms, an OpusHead with the encoder's delay as pre-skip. */
#include "codec/audio_stream.h"
#include "util/error.h"

#if defined(MLDF_HAVE_OPUS)

#include <inttypes.h>
#include <opus.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"

enum { FRAMES_A_SECOND = 50, PACKET_MOST = 4000, DECODED = 960 };

static mldf_status fail(int code, mldf_error *err) {
    return mldfi_fail(err, code == OPUS_ALLOC_FAIL ? MLDF_E_MEMORY : MLDF_E_UNSUPPORTED, "libopus: %s",
                      opus_strerror(code));
}

static mldf_status encode_all(OpusEncoder *encoder, const mldf_audio_info *info, const float *pcm, uint64_t wanted,
                              struct audio_parts *out, mldf_error *err) {
    float frame[2 * 960];
    uint32_t step = info->rate / FRAMES_A_SECOND;
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; status == MLDF_OK && (uint64_t)out->count * DECODED < wanted; at += step) {
        uint64_t left = at < info->samples ? info->samples - at : 0, now = left < step ? left : step;
        struct audio_packet packet = {out->made.size, 0, DECODED, 0};
        memset(frame, 0, sizeof frame);
        if (now)
            memcpy(frame, pcm + at * info->channels, (size_t)now * info->channels * sizeof *frame);
        status = mldf_buffer_reserve(&out->made, out->made.size + PACKET_MOST, err);
        if (status < 0)
            return status;
        opus_int32 got = opus_encode_float(encoder, frame, (int)step, out->made.data + out->made.size, PACKET_MOST);
        if (got < 0)
            return fail(got, err);
        out->made.size += (size_t)got;
        packet.bytes = (uint32_t)got;
        status = mldfi_audio_parts_add(out, packet, err);
    }
    return status;
}

mldf_status mldfi_opus_encode(const mldf_audio_info *info, const float *pcm, uint32_t bitrate, struct audio_parts *out,
                              mldf_error *err) {
    uint8_t head[19] = "OpusHead\x01";
    opus_int32 delay = 0;
    int code = 0;
    uint32_t rate = info->rate;
    if ((rate != 8000 && rate != 12000 && rate != 16000 && rate != 24000 && rate != 48000) || info->channels > 2)
        return mldfi_fail(
            err, MLDF_E_UNSUPPORTED,
            "Opus is made from 1 or 2 channels at 8000, 12000, 16000, 24000 or 48000 Hz, and this is %" PRIu32
            " channels at %" PRIu32 " Hz; resample it first",
            info->channels, rate);
    OpusEncoder *encoder = opus_encoder_create((opus_int32)rate, (int)info->channels, OPUS_APPLICATION_AUDIO, &code);
    if (!encoder)
        return fail(code, err);
    if (bitrate)
        opus_encoder_ctl(encoder, OPUS_SET_BITRATE((opus_int32)bitrate));
    opus_encoder_ctl(encoder, OPUS_GET_LOOKAHEAD(&delay));
    uint64_t scale = 48000 / rate, samples = info->samples * scale;
    out->skip = (uint64_t)delay * scale;
    mldf_status status = encode_all(encoder, info, pcm, samples + out->skip, out, err);
    opus_encoder_destroy(encoder);
    head[9] = (uint8_t)info->channels;
    mldfi_store_u16(head + 10, (uint16_t)out->skip);
    mldfi_store_u32(head + 12, rate);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&out->extra, head, sizeof head, err);
    out->info =
        (mldf_audio_info){.samples = samples, .rate = 48000, .channels = info->channels, .codec = MLDF_AUDIO_OPUS};
    out->trim = (uint64_t)out->count * DECODED - out->skip - samples;
    out->data = out->made.data;
    return status;
}

#else

mldf_status mldfi_opus_encode(const mldf_audio_info *info, const float *pcm, uint32_t bitrate, struct audio_parts *out,
                              mldf_error *err) {
    (void)info, (void)pcm, (void)bitrate, (void)out;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                      "this mldf was built without libopus, which encodes Opus: install libopus-dev and build again");
}

#endif
