/* Features of recordings, stored: AUDIO_SPECTROGRAM (22), numbers for each frame and band, and AUDIO_CODEC_TOKENS (23), the ids that a neural codec made of
 * a recording. Both are arrays of two dimensions, viewable in place, with one record:
 *
 *     ptr u64, size u64, frames u32, across u16 (bins, codebooks), kind u8 (element code, width), zero u8
 *
 * The arguments say what the numbers mean: rate, hop and the pipeline that made them; rate and vocabulary. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

enum { GRID_RECORD = 24, AT_SIZE = 8, AT_FRAMES = 16, AT_ACROSS = 20, AT_KIND = 22, AT_ZERO = 23 };

struct grid_state {
    bool tokens;
    bool time_first; /* (frames, bins); otherwise (bins, frames), and tokens (codebooks, frames) */
    mldf_dtype dtype;
    uint32_t across;     /* of every value; 0: they differ */
    uint64_t vocabulary; /* tokens */
    struct ratio rate;   /* frames a second; den 0: not said */
};

static uint8_t kind_of(const struct grid_state *s) {
    return s->tokens ? (uint8_t)mldf_dtype_bytes(s->dtype) : s->dtype == MLDF_F16 ? 1 : 2;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------------------------ */

static mldf_status whole(const struct json *json, const char *name, uint64_t most, uint64_t *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_u64(json, at, out) || *out == 0 || *out > most)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not a number from 1 to %" PRIu64, name, most);
    return MLDF_OK;
}

/* {"bins":80,"dtype":"<f2","hop":160,"layout":"tf","pipeline":"…","rate":16000} */
static mldf_status parse_spectrogram(const struct json *json, void *state, mldf_error *err) {
    struct grid_state *s = state;
    uint32_t dtype = mldfi_json_find(json, 0, "dtype"), layout = mldfi_json_find(json, 0, "layout"),
             text = mldfi_json_find(json, 0, "pipeline");
    uint64_t bins = 0, rate = 0, hop = 0;
    s->dtype = dtype != UINT32_MAX && mldfi_json_is_text(json, dtype, "<f2") ? MLDF_F16 : MLDF_F32;
    s->time_first = layout == UINT32_MAX || mldfi_json_is_text(json, layout, "tf");
    if (dtype == UINT32_MAX || (s->dtype == MLDF_F32 && !mldfi_json_is_text(json, dtype, "<f4")))
        return mldfi_fail(err, MLDF_E_SCHEMA, "a spectrogram needs the argument \"dtype\": \"<f2\" or \"<f4\"");
    if (!s->time_first && !mldfi_json_is_text(json, layout, "ft"))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"layout\" is neither \"tf\" nor \"ft\"");
    if (text != UINT32_MAX && json->nodes[text].kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"pipeline\" is not a text");
    mldf_status status = whole(json, "bins", UINT16_MAX, &bins, err);
    if (status >= 0)
        status = whole(json, "rate", UINT32_MAX, &rate, err);
    if (status >= 0)
        status = whole(json, "hop", UINT32_MAX, &hop, err);
    s->across = (uint32_t)bins;
    if (rate && hop)
        s->rate = (struct ratio){rate, hop};
    return status;
}

/* {"codebooks":8,"rate":[75,1],"vocabulary":1024} */
static mldf_status parse_tokens(const struct json *json, void *state, mldf_error *err) {
    struct grid_state *s = state;
    uint32_t rate = mldfi_json_find(json, 0, "rate");
    uint64_t codebooks = 0;
    s->tokens = true;
    mldf_status status = whole(json, "vocabulary", (uint64_t)1 << 31, &s->vocabulary, err);
    if (status >= 0 && s->vocabulary == 0)
        status =
            mldfi_fail(err, MLDF_E_SCHEMA, "codec tokens need the argument \"vocabulary\": how many ids there are");
    if (status >= 0)
        status = whole(json, "codebooks", UINT16_MAX, &codebooks, err);
    s->across = (uint32_t)codebooks;
    s->dtype = s->vocabulary <= 256 ? MLDF_U8 : s->vocabulary <= 65536 ? MLDF_U16 : MLDF_I32;
    if (status < 0 || rate == UINT32_MAX)
        return status;
    if (json->nodes[rate].kind != MLDFI_JSON_ARRAY || json->nodes[rate].count != 2 ||
        !mldfi_json_u64(json, rate + 1, &s->rate.num) || !mldfi_json_u64(json, rate + 2, &s->rate.den) ||
        s->rate.num == 0 || s->rate.den == 0 || s->rate.num > UINT32_MAX || s->rate.den > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"rate\" is not [n, d]: n / d frames a second");
    return MLDF_OK;
}

static mldf_status bind_spectrogram(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                                    mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){GRID_RECORD, 8, MLDF_FIELD_SIZE64, true};
    return mldfi_arguments_bind(arguments, sizeof(struct grid_state), parse_spectrogram, state, err);
}

static mldf_status bind_tokens(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){GRID_RECORD, 8, MLDF_FIELD_SIZE64, true};
    return mldfi_arguments_bind(arguments, sizeof(struct grid_state), parse_tokens, state, err);
}

static void unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* ---- Values --------------------------------------------------------------------------------------------------------------------- */

static uint64_t token_at(mldf_dtype dtype, const uint8_t *data, uint64_t i) {
    if (dtype == MLDF_U8)
        return data[i];
    return dtype == MLDF_U16 ? mldfi_load_u16(data + 2 * i) : mldfi_load_u32(data + 4 * i); /* below 0: above 2^31 */
}

static mldf_status check_tokens(const struct grid_state *s, const uint8_t *data, uint64_t count, uint64_t frames,
                                mldf_status bad, mldf_error *err) {
    for (uint64_t i = 0; s->tokens && i < count; i++)
        if (token_at(s->dtype, data, i) >= s->vocabulary)
            return mldfi_fail(
                err, bad, "codebook %" PRIu64 ", frame %" PRIu64 ": token %" PRIu64 ", and the vocabulary has %" PRIu64,
                i / frames, i % frames, token_at(s->dtype, data, i), s->vocabulary);
    return MLDF_OK;
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct grid_state *s = state;
    uint64_t bytes;
    (void)user, (void)scratch;
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind != MLDF_KIND_ARRAY)
        return mldfi_wrong_kind(value, "an array of two dimensions", err);
    if (value->dtype != s->dtype || value->ndim != 2)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s and %" PRIu32 " dimensions, and the field holds %s of 2",
                          mldf_dtype_name(value->dtype), value->ndim, mldf_dtype_name(s->dtype));
    uint64_t frames = value->dims[s->time_first ? 0 : 1], across = value->dims[s->time_first ? 1 : 0];
    const char *what = s->tokens ? "codebooks" : "bins";
    if (s->across && across != s->across)
        return mldfi_fail(err, MLDF_E_TYPE, "%" PRIu64 " %s, and the field has %" PRIu32, across, what, s->across);
    if (frames > UINT32_MAX || across > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " frames of %" PRIu64 " %s, more than a record holds", frames,
                          across, what);
    mldf_status status = mldfi_check_data(value, err);
    if (status >= 0 && (!mldfi_array_bytes(value->dims, 2, s->dtype, &bytes) || bytes != value->bytes))
        status = mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes for %" PRIu64 " frames of %" PRIu64 " %s",
                            value->bytes, frames, across, what);
    if (status >= 0)
        status = check_tokens(s, value->data, frames * across, frames, MLDF_E_RANGE, err);
    if (status < 0)
        return status;
    mldfi_store_u32(record + AT_FRAMES, (uint32_t)frames);
    mldfi_store_u16(record + AT_ACROSS, (uint16_t)across);
    record[AT_KIND] = kind_of(s);
    record[AT_ZERO] = 0;
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct grid_state *s = state;
    uint32_t frames = mldfi_load_u32(record + AT_FRAMES), across = mldfi_load_u16(record + AT_ACROSS);
    uint64_t wanted;
    (void)user, (void)scratch;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = s->dtype;
    out->data = payload;
    out->bytes = payload_bytes;
    out->ndim = 2;
    out->dims[s->time_first ? 0 : 1] = frames;
    out->dims[s->time_first ? 1 : 0] = across;
    if (record[AT_KIND] != kind_of(s))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_KIND, "element code %u, and the field's is %u", record[AT_KIND],
                             kind_of(s));
    if (record[AT_ZERO])
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_ZERO, "a byte that must be 0 is %u", record[AT_ZERO]);
    if (s->across && across != s->across)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_ACROSS,
                             "%" PRIu32 " %s in the record and %" PRIu32 " in the field's arguments", across,
                             s->tokens ? "codebooks" : "bins", s->across);
    if (!mldfi_array_bytes(out->dims, 2, s->dtype, &wanted) || wanted != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_SIZE, "%" PRIu64 " bytes for %" PRIu32 " frames of %" PRIu32,
                             payload_bytes, frames, across);
    return MLDF_OK;
}

static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    const struct grid_state *s = state;
    uint64_t frames = mldfi_load_u32(record + AT_FRAMES);
    return check_tokens(s, payload, payload_bytes / mldf_dtype_bytes(s->dtype), frames ? frames : 1, MLDF_E_CORRUPT,
                        err);
}

/* ---- What others ask -------------------------------------------------------------------------------------------------------------- */

static void observe(const void *state, const uint8_t *record, struct observation *out) {
    const struct grid_state *s = state;
    memset(out, 0, sizeof *out);
    out->ndim = 2;
    out->dims[s->time_first ? 0 : 1] = mldfi_load_u32(record + AT_FRAMES);
    out->dims[s->time_first ? 1 : 0] = mldfi_load_u16(record + AT_ACROSS);
}

static void describe(const void *state, mldf_field *info) {
    const struct grid_state *s = state;
    info->dtype = s->dtype;
    info->ndim = 2;
    info->dims[s->time_first ? 0 : 1] = -1;
    info->dims[s->time_first ? 1 : 0] = s->across ? (int64_t)s->across : -1;
}

static mldf_status edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                        mldf_error *err) {
    const struct grid_state *s = field->state;
    mldf_status status = mldfi_array_edge(field, bounds, out, err);
    mldfi_set_axes(out->axes, s->time_first ? "tf" : s->tokens ? "ct" : "ft");
    out->rate = s->rate;
    return status;
}

/* Views cut the first dimension: of spectrograms with time in front. */
static bool steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    const struct grid_state *s = field->state;
    *out = (struct field_steps){mldfi_load_u32(record + AT_FRAMES), 0};
    if (!s->time_first)
        out->steps = mldfi_load_u16(record + AT_ACROSS);
    return true;
}

static const char *const spectrogram_arguments[] = {"bins", "dtype", "hop", "layout", "pipeline", "rate", NULL};
const struct field_type mldfi_type_audio_spectrogram = {
    .type = {sizeof(mldf_type), MLDF_AUDIO_SPECTROGRAM, "audio_spectrogram", NULL, bind_spectrogram, unbind, encode,
             decode},
    .name = "audio_spectrogram",
    .draft_differs = true,
    .ending = "npy",
    .observe = observe,
    .describe = describe,
    .argument_names = spectrogram_arguments,
    .edge = edge,
    .steps = steps,
    .sizes = SIZES_DIMS,
    .letter = 'a',
};

static const char *const token_arguments[] = {"codebooks", "rate", "vocabulary", NULL};
const struct field_type mldfi_type_audio_codec_tokens = {
    .type = {sizeof(mldf_type), MLDF_AUDIO_CODEC_TOKENS, "audio_codec_tokens", NULL, bind_tokens, unbind, encode,
             decode},
    .name = "audio_codec_tokens",
    .draft_differs = true,
    .ending = "npy",
    .observe = observe,
    .describe = describe,
    .check_deep = check_deep,
    .argument_names = token_arguments,
    .edge = edge,
    .steps = steps,
    .sizes = SIZES_DIMS,
    .letter = 'a',
};
