/* AUDIO_WAVEFORM: a recording as PCM, channels interleaved, little-endian:
 *
 *     0 ptr u64 · 8 size u64 · 16 num_samples u64 · 24 sample_rate u32 · 28 channels u16 · 30 bit_depth u8 · 31 codec u8
 *
 * Written from the bytes of an audio file or from an array (audio_encode.c). Reading gives an array [num_samples, channels] in place; numbers of
 * 24 bits, A-law and mu-law are bytes. audio_value.c makes floats of any of them, audio_files.c WAV files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/audio_packets.h"
#include "field/audio_type.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Arguments ------------------------------------------------------------------------------------------------------------- */

static const char *const audio_arguments[] = {"channels", "mask", "rate", NULL};

static mldf_status get_number(const struct json *json, const char *name, uint64_t most, uint32_t *out,
                              mldf_error *err) {
    uint64_t number;
    uint32_t at = mldfi_json_find(json, 0, name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_u64(json, at, &number) || number < 1 || number > most)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not an integer from 1 to %" PRIu64, name, most);
    *out = (uint32_t)number;
    return MLDF_OK;
}

mldf_status mldfi_audio_arguments(const struct json *json, void *state, mldf_error *err) {
    struct audio_state *s = state;
    mldf_status status = get_number(json, "rate", UINT32_MAX, &s->rate, err);
    if (status == MLDF_OK)
        status = get_number(json, "channels", UINT16_MAX, &s->channels, err);
    if (status == MLDF_OK)
        status = get_number(json, "mask", UINT32_MAX, &s->mask, err);
    uint32_t named = (uint32_t)__builtin_popcount(s->mask);
    if (status == MLDF_OK && s->mask && s->channels && s->channels != named)
        status =
            mldfi_fail(err, MLDF_E_SCHEMA, "argument \"mask\" names %" PRIu32 " channels, and \"channels\" is %" PRIu32,
                       named, s->channels);
    if (s->mask)
        s->channels = named;
    return status;
}

static mldf_status audio_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                              mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){AUDIO_RECORD, 8, MLDF_FIELD_SIZE64, true};
    return mldfi_arguments_bind(arguments, sizeof(struct audio_state), mldfi_audio_arguments, state, err);
}

void mldfi_audio_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* ---- Reading --------------------------------------------------------------------------------------------------------------- */

void mldfi_audio_record_info(const uint8_t *record, mldf_audio_info *out) {
    *out = (mldf_audio_info){sizeof *out,
                             mldfi_load_u64(record + AUDIO_SAMPLES),
                             mldfi_load_u32(record + AUDIO_RATE),
                             mldfi_load_u16(record + AUDIO_CHANNELS),
                             record[AUDIO_BITS],
                             (mldf_audio_codec)record[AUDIO_CODEC],
                             0};
}

/* Lossless packets say how many bits their numbers have, lossy ones have none. */
static bool bits_are_possible(const mldf_audio_info *info) {
    if (!mldfi_audio_is_packets(info->codec))
        return mldfi_pcm_bytes(info->codec, info->bits) > 0;
    bool lossless = info->codec == MLDF_AUDIO_FLAC || info->codec == MLDF_AUDIO_ALAC;
    return lossless ? info->bits >= 4 && info->bits <= 32 : info->bits == 0;
}

static mldf_status check_coding(const struct audio_state *s, const mldf_audio_info *info, mldf_error *err) {
    bool known = info->codec == MLDF_AUDIO_PCM || (info->codec >= MLDF_AUDIO_FLOAT && info->codec <= MLDF_AUDIO_MULAW);
    if (!known && !(s->compressed && mldfi_audio_is_packets(info->codec)))
        return mldfi_fail_at(err, MLDF_E_FEATURE, AUDIO_CODEC, "audio codec %u is not known; %s0, 16, 17 and 18 are",
                             (unsigned)info->codec, s->compressed ? "1 to 6, 8, 9, " : "");
    if (!bits_are_possible(info))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AUDIO_BITS, "%s of %" PRIu32 " bits",
                             mldf_audio_codec_name(info->codec), info->bits);
    return MLDF_OK;
}

mldf_status mldfi_audio_check_record(const struct audio_state *s, const mldf_audio_info *info, uint64_t payload_bytes,
                                     mldf_error *err) {
    uint64_t wanted;
    TRY(check_coding(s, info, err));
    if (info->rate == 0 || (s->rate && info->rate != s->rate))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AUDIO_RATE,
                             "the record says %" PRIu32 " samples a second, and the field's rate is %" PRIu32,
                             info->rate, s->rate);
    if (info->channels == 0 || (s->channels && info->channels != s->channels))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AUDIO_CHANNELS,
                             "the record says %" PRIu32 " channels, and the field's recordings have %" PRIu32,
                             info->channels, s->channels);
    if (mldfi_audio_is_packets(info->codec)) {
        if (payload_bytes < PACKETS_HEADER + PACKETS_STREAM)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, AUDIO_SIZE, "%" PRIu64 " bytes, and a table of packets needs %d",
                                 payload_bytes, PACKETS_HEADER + PACKETS_STREAM);
        return MLDF_OK;
    }
    if (!mldfi_mul_u64(info->samples, info->channels * (info->bits / 8), &wanted) || wanted != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AUDIO_SIZE,
                             "%" PRIu64 " bytes, and %" PRIu64 " samples of %" PRIu32 " channels of %" PRIu32
                             " bits need others",
                             payload_bytes, info->samples, info->channels, info->bits);
    return MLDF_OK;
}

static mldf_dtype dtype_of(const mldf_audio_info *info) {
    if (info->codec == MLDF_AUDIO_FLOAT)
        return info->bits == 32 ? MLDF_F32 : MLDF_F64;
    if (info->codec != MLDF_AUDIO_PCM || info->bits == 24)
        return MLDF_DTYPE_NONE;
    return info->bits == 8 ? MLDF_U8 : info->bits == 16 ? MLDF_I16 : MLDF_I32;
}

mldf_status mldfi_audio_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    mldf_audio_info info;
    (void)user, (void)scratch;
    mldfi_audio_record_info(record, &info);
    memset(out, 0, sizeof *out);
    out->dtype = dtype_of(&info);
    out->kind = out->dtype == MLDF_DTYPE_NONE ? MLDF_KIND_BYTES : MLDF_KIND_ARRAY;
    out->data = payload;
    out->bytes = payload_bytes;
    if (out->kind == MLDF_KIND_ARRAY) {
        out->ndim = 2;
        out->dims[0] = info.samples;
        out->dims[1] = info.channels;
    }
    return mldfi_audio_check_record(state, &info, payload_bytes, err);
}

/* Numbers are the rates, dimensions the samples and channels. */
void mldfi_audio_observe(const void *state, const uint8_t *record, struct observation *out) {
    mldf_audio_info info;
    (void)state;
    mldfi_audio_record_info(record, &info);
    memset(out, 0, sizeof *out);
    out->number_kind = 2;
    out->number.u = info.rate;
    out->ndim = 2;
    out->dims[0] = info.samples > UINT32_MAX ? UINT32_MAX : (uint32_t)info.samples;
    out->dims[1] = info.channels;
}

bool mldfi_audio_steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    mldf_audio_info info;
    (void)field;
    mldfi_audio_record_info(record, &info);
    *out = (struct field_steps){info.samples, info.rate};
    return true;
}

const struct field_type mldfi_type_audio_waveform = {
    .type = {sizeof(mldf_type), MLDF_AUDIO_WAVEFORM, "audio_waveform", NULL, audio_bind, mldfi_audio_unbind,
             mldfi_audio_encode, mldfi_audio_decode},
    .name = "audio_waveform",
    .draft_differs = true,
    .observe = mldfi_audio_observe,
    .in_chunks = true,
    .argument_names = audio_arguments,
    .edge = mldfi_audio_edge,
    .steps = mldfi_audio_steps,
    .see = mldfi_audio_see,
    .see_value = mldfi_audio_see_value,
    .self_describing = FAMILY_AUDIO,
    .files = &mldfi_audio_files,
    .ending = "wav",
    .export = mldfi_audio_export,
    .value_json = mldfi_audio_json,
    .same = mldfi_audio_same,
    .letter = 'u', /* states of the first version say so */
};
