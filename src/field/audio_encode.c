/* Values of audio fields from what a user has: the bytes of an audio file, found by its first bytes, or an array.
 *
 *     WAV, array ── PCM ──┬──────────────► AUDIO_WAVEFORM, AUDIO_COMPRESSED with encode "keep"
 *                         └─ encoder ─┐
 *     FLAC, MP3 … ─────────────────── packets ──► AUDIO_COMPRESSED
 *                                     └─ decoder ─ PCM ──► AUDIO_WAVEFORM
 *
 * Packets are decoded once on the way, so that the number of samples is what decoding gives. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/audio_type.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct made { /* what will be stored */
    mldf_audio_info info;
    const void *payload;
    uint64_t bytes;
};

/* ---- PCM -------------------------------------------------------------------------------------------------------------------------------- */

static mldf_status check_fixed(const struct audio_state *s, const mldf_audio_info *info, mldf_error *err) {
    if (s->rate && info->rate != s->rate)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "a recording of %" PRIu32 " samples a second, and the field's rate is %" PRIu32, info->rate,
                          s->rate);
    if (s->channels && info->channels != s->channels)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "a recording of %" PRIu32 " channels, and the field's recordings have %" PRIu32,
                          info->channels, s->channels);
    if (s->mask && info->mask && info->mask != s->mask)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "a recording with channel mask 0x%" PRIx32 ", and the field's is 0x%" PRIx32, info->mask,
                          s->mask);
    return MLDF_OK;
}

static mldf_status from_wav(const mldf_value *value, mldf_buffer *scratch, struct made *out, mldf_error *err) {
    struct pcm_file file;
    const mldf_wav *wav = &file.wav;
    TRY(mldfi_audio_parse(value->data, (size_t)value->bytes, &file, err));
    *out = (struct made){wav->info, (const uint8_t *)value->data + wav->data_offset, wav->data_bytes};
    unsigned bytes = wav->info.bits / 8;
    if (!file.signed_bytes && (!wav->big_endian || bytes == 1))
        return MLDF_OK;
    TRY(mldfi_buffer_resize(scratch, (size_t)wav->data_bytes, err));
    if (file.signed_bytes)
        for (uint64_t i = 0; i < wav->data_bytes; i++)
            scratch->data[i] = ((const uint8_t *)out->payload)[i] ^ 0x80;
    else
        mldfi_pcm_swap(bytes, out->payload, (size_t)(wav->data_bytes / bytes), scratch->data);
    out->payload = scratch->data;
    return MLDF_OK;
}

static mldf_status from_array(const struct audio_state *s, const mldf_value *value, struct made *out, mldf_error *err) {
    mldf_audio_info *info = &out->info;
    uint64_t wanted, channels = value->ndim == 2 ? value->dims[1] : 1;
    bool real = value->dtype == MLDF_F32 || value->dtype == MLDF_F64;
    if (!s->rate)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "an array says nothing of its rate: the field needs the argument \"rate\"");
    if (value->dtype != MLDF_U8 && value->dtype != MLDF_I16 && value->dtype != MLDF_I32 && !real)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s; audio is |u1, <i2, <i4, <f4 or <f8",
                          value->dtype ? mldf_dtype_name(value->dtype) : "no dtype");
    if (value->ndim != 1 && value->ndim != 2)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %" PRIu32 " dimensions; audio is (t) or (t, channels)",
                          value->ndim);
    if (channels < 1 || channels > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "an array (t, channels) of %" PRIu64 " channels; 1 to 65535 can be stored%s", channels,
                          channels > 1 ? ". Is it (channels, t)?" : "");
    *info = (mldf_audio_info){sizeof *info,
                              value->dims[0],
                              s->rate,
                              (uint32_t)channels,
                              (uint32_t)(8 * mldf_dtype_bytes(value->dtype)),
                              real ? MLDF_AUDIO_FLOAT : MLDF_AUDIO_PCM,
                              0};
    if (!mldfi_mul_u64(value->dims[0], channels * (info->bits / 8), &wanted) || wanted != value->bytes)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "%" PRIu64 " bytes, and an array of %" PRIu64 " x %" PRIu64 " needs others", value->bytes,
                          value->dims[0], channels);
    out->payload = value->data;
    out->bytes = value->bytes;
    return MLDF_OK;
}

/* ---- Packets ------------------------------------------------------------------------------------------------------------------------------ */

/* The byte of the file, not of ours: into the message. */
static mldf_status in_file(mldf_status status, mldf_error *err) {
    if (status < 0 && err && err->offset != MLDF_NONE) {
        mldfi_error_prefix(err, "byte %" PRIu64, err->offset);
        err->offset = MLDF_NONE;
    }
    return status;
}

/* A compressed file as a payload, appended to `to`. */
static mldf_status pack_file(struct audio_worker *w, const struct audio_state *s, const void *file, size_t bytes,
                             mldf_buffer *to, struct made *out, mldf_error *err) {
    const struct audio_container *container = mldfi_audio_container(file, bytes);
    struct audio_parts parts = {0};
    size_t start = to->size;
    mldf_status status = in_file(container->demux(file, bytes, &parts, err), err);
    if (status == MLDF_OK)
        status = mldfi_packets_build(&parts, 0, file, bytes, s->keep_file, to, err);
    *out = (struct made){parts.info, NULL, to->size - start};
    mldfi_audio_parts_free(&parts);
    if (status < 0)
        return status;
    out->payload = to->data + start;
    return s->undecoded ? MLDF_OK : mldfi_audio_check_packets(w, &out->info, out->payload, out->bytes, true, err);
}

/* PCM as FLAC. */
static mldf_status to_flac(struct audio_worker *w, const struct audio_state *s, mldf_buffer *scratch, struct made *out,
                           mldf_error *err) {
    w->file.size = 0;
    mldf_status status = mldfi_flac_encode(&out->info, out->payload, &w->file, err);
    if (status == MLDF_OK && out->payload == scratch->data)
        scratch->size = 0; /* PCM that was swapped there */
    return status < 0 ? status : pack_file(w, s, w->file.data, w->file.size, scratch, out, err);
}

/* PCM of any kind as Opus. */
static mldf_status to_opus(struct audio_worker *w, const struct audio_state *s, mldf_buffer *scratch, struct made *out,
                           mldf_error *err) {
    struct audio_parts parts = {0};
    uint64_t count = out->bytes / mldfi_pcm_bytes(out->info.codec, out->info.bits);
    size_t bytes;
    mldf_status status =
        mldfi_sound_room(w->max_bytes, out->bytes, out->info.samples, out->info.channels, 4, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->pcm, bytes + 1, err);
    if (status < 0)
        return status;
    float *numbers = (float *)(void *)w->pcm.data;
    if (count)
        mldfi_pcm_to_f32(out->info.codec, out->info.bits, out->payload, (size_t)count, numbers);
    status = mldfi_opus_encode(&out->info, numbers, s->bitrate, &parts, err);
    scratch->size = 0;
    if (status == MLDF_OK)
        status = mldfi_packets_build(&parts, 0, NULL, 0, false, scratch, err);
    *out = (struct made){parts.info, scratch->data, scratch->size};
    mldfi_audio_parts_free(&parts);
    return status;
}

/* A compressed file as PCM: integers of FLAC in 1 to 3 bytes, everything else as float. */
static mldf_status unpack_file(struct audio_worker *w, const struct audio_state *s, const mldf_value *value,
                               mldf_buffer *scratch, struct made *out, mldf_error *err) {
    struct audio_memory memory;
    size_t bytes;
    struct audio_state plain = *s;
    plain.undecoded = true; /* it is decoded below */
    w->file.size = 0;
    TRY(pack_file(w, &plain, value->data, (size_t)value->bytes, &w->file, out, err));
    bool whole = out->info.bits > 0 && out->info.bits <= 24;
    unsigned width = whole ? (out->info.bits + 7) / 8 : 4;
    mldf_status status =
        mldfi_sound_room(w->max_bytes, value->bytes, out->info.samples, out->info.channels, width, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(scratch, bytes, err);
    memory.data = out->payload;
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, out->bytes};
    if (status == MLDF_OK)
        status = mldfi_audio_unpack(w, &out->info, &in, whole, width, scratch->data, err);
    if (status < 0)
        return status;
    out->info.bits = 8 * width;
    out->info.codec = whole ? MLDF_AUDIO_PCM : MLDF_AUDIO_FLOAT;
    out->payload = scratch->data;
    out->bytes = scratch->size;
    return MLDF_OK;
}

/* ---- All of it ------------------------------------------------------------------------------------------------------------------------------ */

static mldf_status make(struct audio_worker *w, const struct audio_state *s, const mldf_value *value,
                        mldf_buffer *scratch, struct made *out, mldf_error *err) {
    bool file = value->kind == MLDF_KIND_BYTES;
    if (file && mldfi_audio_container(value->data, (size_t)value->bytes)) {
        if (!s->compressed)
            return unpack_file(w, s, value, scratch, out, err);
        mldf_status status = pack_file(w, s, value->data, (size_t)value->bytes, scratch, out, err);
        if (status < 0 || s->store != STORE_OPUS || out->info.codec == MLDF_AUDIO_OPUS)
            return status;
        scratch->size = 0;
        status = unpack_file(w, s, value, scratch, out, err);
        return status < 0 ? status : to_opus(w, s, scratch, out, err);
    }
    mldf_status status = file ? from_wav(value, scratch, out, err) : from_array(s, value, out, err);
    if (status == MLDF_OK && s->store == STORE_FLAC && out->info.codec == MLDF_AUDIO_PCM)
        status = to_flac(w, s, scratch, out, err);
    else if (status == MLDF_OK && s->store == STORE_OPUS)
        status = to_opus(w, s, scratch, out, err);
    return status;
}

mldf_status mldfi_audio_encode_with(void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err) {
    struct made made = {0};
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind != MLDF_KIND_BYTES && value->kind != MLDF_KIND_ARRAY)
        return mldfi_wrong_kind(value, "an array, or the bytes of an audio file", err);
    mldf_status status = mldfi_check_data(value, err);
    if (status == MLDF_OK)
        status = make(worker, state, value, scratch, &made, err);
    if (status == MLDF_OK)
        status = check_fixed(state, &made.info, err);
    if (status < 0)
        return status;
    mldfi_store_u64(record + AUDIO_SAMPLES, made.info.samples);
    mldfi_store_u32(record + AUDIO_RATE, made.info.rate);
    mldfi_store_u16(record + AUDIO_CHANNELS, (uint16_t)made.info.channels);
    record[AUDIO_BITS] = (uint8_t)made.info.bits;
    record[AUDIO_CODEC] = (uint8_t)made.info.codec;
    *payload = made.payload;
    *payload_bytes = made.bytes;
    return MLDF_OK;
}

mldf_status mldfi_audio_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    void *worker;
    (void)user;
    TRY(mldfi_media_audio.open(&worker, err));
    mldf_status status = mldfi_audio_encode_with(worker, state, value, record, scratch, payload, payload_bytes, err);
    mldfi_media_audio.close(worker);
    return status;
}
