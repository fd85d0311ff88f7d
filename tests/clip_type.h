/* tests/clip_type.h: a type for tests of parts: two recordings of different rates in one payload, `clip.fast` and `clip.slow`.
 *
 *     payload   fast: numbers of s16 · slow: numbers of s16
 *     record    16 fast u32 · 20 slow u32
 *
 * To be written, a value is these bytes, and as.u says how many of the numbers are fast. */
#ifndef MLDF_TESTS_CLIP_TYPE_H
#define MLDF_TESTS_CLIP_TYPE_H

#include "check.h"
#include "field/audio_type.h"
#include "field/edge.h"
#include "field/user_type.h"
#include "util/bytes.h"
#include "util/error.h"

enum { CLIP_TYPE = 0x8777, CLIP_RECORD = 24, CLIP_FAST_RATE = 100, CLIP_SLOW_RATE = 25 };

static mldf_status clip_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                             mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){CLIP_RECORD, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status clip_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)scratch;
    if (value->kind != MLDF_KIND_BYTES || value->as.u > value->bytes / 2)
        return mldfi_fail(err, MLDF_E_TYPE, "not a clip");
    mldfi_store_u32(record + 16, (uint32_t)value->as.u);
    mldfi_store_u32(record + 20, (uint32_t)(value->bytes / 2 - value->as.u));
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status clip_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = payload, .bytes = payload_bytes};
    return MLDF_OK;
}

static mldf_status clip_part(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err) {
    (void)field, (void)err;
    if (index > 1)
        return MLDF_END;
    *out = (struct field_part){.index = index};
    strcpy(out->name, index ? "slow" : "fast");
    return MLDF_OK;
}

static mldf_status clip_part_edge(const struct schema_field *field, const struct field_part *which,
                                  const struct value_bounds *bounds, struct edge *out, mldf_error *err) {
    uint32_t rate = which->index ? CLIP_SLOW_RATE : CLIP_FAST_RATE;
    (void)field, (void)bounds, (void)err;
    out->kind = VALUE_ENCODED;
    out->family = FAMILY_AUDIO;
    mldfi_set_axes(out->axes, "tc");
    out->dtype = MLDF_F32;
    out->ndim = 2;
    mldfi_edge_bound(out, 0, NULL);
    mldfi_edge_fix(out, 1, 1);
    out->rates = (struct rates){rate, rate};
    out->rate = (struct ratio){rate, 1};
    return MLDF_OK;
}

static mldf_status clip_locate(const struct schema_field *field, const struct field_part *which,
                               const mldf_value *value, struct part_place *out, mldf_error *err) {
    const uint8_t *record = value->record;
    uint64_t fast = mldfi_load_u32(record + 16), slow = mldfi_load_u32(record + 20);
    uint64_t samples = which->index ? slow : fast;
    (void)field, (void)err;
    out->offset = which->index ? 2 * fast : 0;
    out->bytes = 2 * samples;
    out->record_bytes = AUDIO_RECORD;
    mldfi_store_u64(out->record + AUDIO_SIZE, out->bytes);
    mldfi_store_u64(out->record + AUDIO_SAMPLES, samples);
    mldfi_store_u32(out->record + AUDIO_RATE, which->index ? CLIP_SLOW_RATE : CLIP_FAST_RATE);
    mldfi_store_u16(out->record + AUDIO_CHANNELS, 1);
    out->record[AUDIO_BITS] = 16;
    out->record[AUDIO_CODEC] = MLDF_AUDIO_PCM;
    return MLDF_OK;
}

/* A context that has it, into *out. */
static void clip_context(mldf_context **out) {
    mldf_type type = MLDF_TYPE_INIT;
    mldf_context *context;
    mldf_error err;
    *out = NULL;
    type.id = CLIP_TYPE;
    type.name = "org.example.clip";
    type.bind = clip_bind;
    type.encode = clip_encode;
    type.decode = clip_decode;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    REQUIRE_OK(mldf_context_register_type(context, &type, &err), &err);
    struct field_type *wrapped = &context->types[0]->wrapped;
    wrapped->type.decode = clip_decode; /* as a type of the library: what a row tells has bytes and no data */
    wrapped->part = clip_part;
    wrapped->part_edge = clip_part_edge;
    wrapped->locate = clip_locate;
    *out = context;
}

#endif
