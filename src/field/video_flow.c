/* VIDEO_OPTICAL_FLOW (32): for each pixel of each frame how far it moves, (dx, dy) in pixels. Stored in halves, or in bytes times a scale of the
 * value's own; everyone gets float32 (frames, height, width, 2), and NaN where the motion is not known. The record:
 *
 *     ptr u64, size u64, num_frames u32, height u16, width u16, scale f32, keyframe_interval u16 (0), dtype u8 (1 int8, 2 float16), zero u8
 *
 * Values are made from arrays and from the .flo files of Middlebury: 202021.25 as f32, width i32, height i32, then dx, dy of each pixel as f32. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/type.h"
#include "field/video_frames.h"
#include "kernel/cast.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

enum {
    FLOW_RECORD = 32,
    AT_SIZE = 8,
    AT_FRAMES = 16,
    AT_HEIGHT = 20,
    AT_WIDTH = 22,
    AT_SCALE = 24,
    AT_KEYS = 28,
    AT_DTYPE = 30,
    AT_ZERO = 31,
    FLO_HEAD = 12
};
enum { CODE_I8 = 1, CODE_F16 = 2 };
enum { BYTE_MOST = 127, BYTE_UNKNOWN = -128 };
#define FLO_MAGIC UINT32_C(0x48454950) /* 202021.25: "PIEH" */
#define FLO_UNKNOWN 1e9F               /* more than this: not known */
#define FLO_WRITTEN 1e10F              /* what Middlebury's programs write there */
#define HALF_MOST 65504.0F
#define SCALE_LEAST 0x1p-100F /* no product with a byte leaves the range of normal numbers */
#define SCALE_MOST 0x1p100F

struct flow_state {
    uint8_t code;
};

static float load_f32(const void *p) {
    float v;
    memcpy(&v, p, sizeof v);
    return v;
}

static mldf_dtype stored_dtype(const struct flow_state *s) {
    return s->code == CODE_I8 ? MLDF_I8 : MLDF_F16;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------------------------ */

/* {"dtype":"<f2"} */
static mldf_status get_code(const struct json *json, uint8_t *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "dtype");
    *out = at != UINT32_MAX && mldfi_json_is_text(json, at, "|i1") ? CODE_I8 : CODE_F16;
    if (at == UINT32_MAX || (*out == CODE_F16 && !mldfi_json_is_text(json, at, "<f2")))
        return mldfi_fail(err, MLDF_E_SCHEMA, "optical flow needs the argument \"dtype\": \"<f2\" or \"|i1\"");
    return MLDF_OK;
}

/* A file always says the dtype; a caller need not. */
static mldf_status canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    uint8_t code = CODE_F16;
    mldf_status status = json->nodes[0].count ? get_code(json, &code, err) : MLDF_OK;
    return status < 0 ? status : mldfi_buffer_printf(out, err, "{\"dtype\":\"%s\"}", code == CODE_I8 ? "|i1" : "<f2");
}

static mldf_status read_arguments(const struct json *json, void *state, mldf_error *err) {
    return get_code(json, &((struct flow_state *)state)->code, err);
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){FLOW_RECORD, 8, MLDF_FIELD_SIZE64, false};
    return mldfi_arguments_bind(arguments, sizeof(struct flow_state), read_arguments, state, err);
}

static void unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* ---- In ------------------------------------------------------------------------------------------------------------------------- */

/* What a caller gives: float32 at any byte. */
struct flow_in {
    uint64_t frames, height, width, count; /* count: of numbers */
    const uint8_t *data;
    bool file; /* large numbers say that the motion is not known */
};

static float number_at(const struct flow_in *in, uint64_t i) {
    float v = load_f32(in->data + 4 * i);
    return in->file && !(fabsf(v) <= FLO_UNKNOWN) ? NAN : v;
}

static mldf_status parse_flo(const void *data, uint64_t bytes, struct flow_in *out, mldf_error *err) {
    const uint8_t *p = data;
    if (bytes < FLO_HEAD)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "a .flo file of %" PRIu64 " bytes; its head alone has 12", bytes);
    if (mldfi_load_u32(p) != FLO_MAGIC)
        return mldfi_fail(err, MLDF_E_TYPE, "not a .flo file: it does not begin with 202021.25 (\"PIEH\")");
    uint32_t width = mldfi_load_u32(p + 4), height = mldfi_load_u32(p + 8);
    if (width < 1 || width > UINT16_MAX || height < 1 || height > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "byte 4: a .flo file of %" PRId32 " x %" PRId32 " pixels; 1 to 65535 are possible",
                          (int32_t)width, (int32_t)height);
    uint64_t count = (uint64_t)width * height * 2;
    if (bytes != FLO_HEAD + 4 * count)
        return mldfi_fail(err, bytes < FLO_HEAD + 4 * count ? MLDF_E_TRUNCATED : MLDF_E_CORRUPT,
                          "a .flo file of %" PRIu64 " bytes; %" PRIu32 " x %" PRIu32 " pixels need %" PRIu64, bytes,
                          width, height, FLO_HEAD + 4 * count);
    *out = (struct flow_in){1, height, width, count, p + FLO_HEAD, true};
    return MLDF_OK;
}

/* (height, width, 2) or (frames, height, width, 2) */
static mldf_status parse_array(const mldf_value *value, struct flow_in *out, mldf_error *err) {
    uint64_t bytes;
    if (value->dtype != MLDF_F32 || value->ndim < 3 || value->ndim > 4 || value->dims[value->ndim - 1] != 2)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "an array of %s and %" PRIu32 " dimensions; optical flow is <f4 ([frames, ]height, width, 2)",
                          mldf_dtype_name(value->dtype), value->ndim);
    const uint64_t *d = value->dims + (value->ndim - 3);
    *out = (struct flow_in){value->ndim == 4 ? value->dims[0] : 1, d[0], d[1], value->bytes / 4, value->data, false};
    if (out->frames > UINT32_MAX || out->height > UINT16_MAX || out->width > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "%" PRIu64 " frames of %" PRIu64 " x %" PRIu64 " pixels, more than a record holds",
                          out->frames, out->width, out->height);
    if (out->frames && !(out->height && out->width))
        return mldfi_fail(err, MLDF_E_RANGE, "frames of %" PRIu64 " x %" PRIu64 " pixels", out->width, out->height);
    if (!mldfi_array_bytes(value->dims, value->ndim, MLDF_F32, &bytes) || bytes != value->bytes)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes are not those of the array's shape", value->bytes);
    return mldfi_check_data(value, err);
}

/* MLDF_OK, or the first number that passes what the field holds. */
static mldf_status find_largest(const struct flow_in *in, float most, float *out, mldf_error *err) {
    *out = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        float v = fabsf(number_at(in, i));
        if (v > most)
            return mldfi_fail(err, MLDF_E_RANGE,
                              "frame %" PRIu64 ", row %" PRIu64 ", column %" PRIu64
                              ": %g pixels, and the field holds up to %g",
                              i / (2 * in->height * in->width), i / (2 * in->width) % in->height, i / 2 % in->width,
                              (double)number_at(in, i), (double)most);
        *out = v > *out ? v : *out; /* NaN is not larger */
    }
    return MLDF_OK;
}

static void put_bytes(const struct flow_in *in, float scale, int8_t *out) {
    for (uint64_t i = 0; i < in->count; i++) {
        float v = number_at(in, i);
        out[i] = (int8_t)(isnan(v) ? BYTE_UNKNOWN : rintf(v / scale));
    }
}

static void put_halves(const struct flow_in *in, uint8_t *out) {
    for (uint64_t i = 0; i < in->count; i++) {
        float v = number_at(in, i);
        uint16_t half;
        mldfi_convert_elements(MLDF_F32, &v, MLDF_F16, &half, 1);
        mldfi_store_u16(out + 2 * i, half);
    }
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct flow_state *s = state;
    struct flow_in in;
    float largest, scale = 1;
    bool bytes = s->code == CODE_I8;
    (void)user;
    *payload = NULL;
    *payload_bytes = 0;
    mldf_status status = value->kind == MLDF_KIND_BYTES   ? mldfi_check_data(value, err)
                         : value->kind == MLDF_KIND_ARRAY ? MLDF_OK
                                                          : mldfi_wrong_kind(value, "an array or a .flo file", err);
    if (status >= 0)
        status = value->kind == MLDF_KIND_BYTES ? parse_flo(value->data, value->bytes, &in, err)
                                                : parse_array(value, &in, err);
    if (status >= 0)
        status = find_largest(&in, bytes ? BYTE_MOST * SCALE_MOST : HALF_MOST, &largest, err);
    if (status >= 0)
        status = mldfi_buffer_resize(scratch, (size_t)(in.count ? in.count * (bytes ? 1 : 2) : 1), err);
    if (status < 0)
        return status;
    if (bytes && largest > 0)
        scale = largest / BYTE_MOST > SCALE_LEAST ? largest / BYTE_MOST : SCALE_LEAST;
    if (bytes)
        put_bytes(&in, scale, (int8_t *)scratch->data);
    else
        put_halves(&in, scratch->data);
    mldfi_store_u32(record + AT_FRAMES, (uint32_t)in.frames);
    mldfi_store_u16(record + AT_HEIGHT, (uint16_t)in.height);
    mldfi_store_u16(record + AT_WIDTH, (uint16_t)in.width);
    memcpy(record + AT_SCALE, &scale, sizeof scale);
    mldfi_store_u16(record + AT_KEYS, 0);
    record[AT_DTYPE] = s->code;
    record[AT_ZERO] = 0;
    *payload = in.count ? scratch->data : NULL;
    *payload_bytes = in.count * (bytes ? 1 : 2);
    return MLDF_OK;
}

/* ---- Out ------------------------------------------------------------------------------------------------------------------------ */

static void get_dims(const uint8_t *record, uint64_t dims[4]) {
    dims[0] = mldfi_load_u32(record + AT_FRAMES);
    dims[1] = mldfi_load_u16(record + AT_HEIGHT);
    dims[2] = mldfi_load_u16(record + AT_WIDTH);
    dims[3] = 2;
}

static mldf_status check_record(const struct flow_state *s, const uint8_t *record, uint64_t payload_bytes,
                                uint64_t dims[4], mldf_error *err) {
    float scale = load_f32(record + AT_SCALE);
    uint64_t wanted;
    get_dims(record, dims);
    if (record[AT_DTYPE] != s->code)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_DTYPE, "element code %u, and the field's is %u", record[AT_DTYPE],
                             s->code);
    if (record[AT_ZERO])
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_ZERO, "a byte that must be 0 is %u", record[AT_ZERO]);
    if (mldfi_load_u16(record + AT_KEYS))
        return mldfi_fail_at(err, MLDF_E_FEATURE, AT_KEYS, "key frames between those of optical flow are not known");
    if (s->code == CODE_I8 ? !(scale >= SCALE_LEAST && scale <= SCALE_MOST) : !(scale == 1))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_SCALE, "a scale of %g", (double)scale);
    if (dims[0] && !(dims[1] && dims[2]))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_HEIGHT, "frames of %" PRIu64 " x %" PRIu64 " pixels", dims[2],
                             dims[1]);
    if (!mldfi_array_bytes(dims, 4, stored_dtype(s), &wanted) || wanted != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, AT_SIZE,
                             "%" PRIu64 " bytes for %" PRIu64 " frames of %" PRIu64 " x %" PRIu64 " pixels",
                             payload_bytes, dims[0], dims[2], dims[1]);
    return MLDF_OK;
}

static void get_floats(const struct flow_state *s, const uint8_t *record, const uint8_t *payload,
                       uint64_t payload_bytes, float *out) {
    float table[256], scale = load_f32(record + AT_SCALE);
    if (s->code == CODE_F16 && (uintptr_t)payload % 2 == 0) {
        mldfi_convert_elements(MLDF_F16, payload, MLDF_F32, out, (size_t)(payload_bytes / 2));
        return;
    }
    for (uint64_t i = 0; s->code == CODE_F16 && i < payload_bytes / 2; i++)
        out[i] = mldfi_f16_to_f32(mldfi_load_u16(payload + 2 * i));
    for (int i = 0; i < 256; i++)
        table[i] = i == 128 ? NAN : (float)(i < 128 ? i : i - 256) * scale;
    for (uint64_t i = 0; s->code == CODE_I8 && i < payload_bytes; i++)
        out[i] = table[payload[i]];
}

static mldf_status check_room(const struct flow_state *s, uint64_t payload_bytes, uint64_t most, uint64_t *out,
                              mldf_error *err) {
    *out = payload_bytes / (s->code == CODE_I8 ? 1 : 2) * 4; /* a payload is part of a file: below 2^62 */
    if (*out > most)
        return mldfi_fail(err, MLDF_E_LIMIT, "optical flow of %" PRIu64 " bytes as float32, and the limit is %" PRIu64,
                          *out, most);
    return MLDF_OK;
}

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    uint64_t bytes = 0;
    (void)user;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = MLDF_F32;
    out->ndim = 4;
    mldf_status status = check_record(state, record, payload_bytes, out->dims, err);
    if (status >= 0)
        status = check_room(state, payload_bytes, UINT64_MAX, &bytes, err);
    if (status >= 0)
        status = mldfi_buffer_resize(scratch, bytes ? (size_t)bytes : 4, err);
    if (status < 0)
        return status;
    get_floats(state, record, payload, payload_bytes, (float *)(void *)scratch->data);
    out->data = scratch->data;
    out->bytes = bytes;
    return MLDF_OK;
}

static mldf_status decode_into(const struct schema_field *field, void *worker, const uint8_t *record,
                               const void *payload, uint64_t payload_bytes, uint64_t most, void *dst, uint64_t *dims,
                               mldf_error *err) {
    uint64_t bytes;
    (void)worker;
    mldf_status status = check_record(field->state, record, payload_bytes, dims, err);
    if (status >= 0)
        status = check_room(field->state, payload_bytes, most, &bytes, err);
    if (status >= 0 && dst)
        get_floats(field->state, record, payload, payload_bytes, dst);
    return status;
}

static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    const struct flow_state *s = state;
    const uint8_t *p = payload;
    uint64_t dims[4];
    get_dims(record, dims);
    for (uint64_t i = 0; s->code == CODE_F16 && i < payload_bytes / 2; i++)
        if ((mldfi_load_u16(p + 2 * i) & 0x7FFF) == 0x7C00)
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "frame %" PRIu64 ", row %" PRIu64 ", column %" PRIu64 ": an infinite motion",
                              i / (2 * dims[1] * dims[2]), i / (2 * dims[2]) % dims[1], i / 2 % dims[2]);
    return MLDF_OK;
}

/* ---- What others ask -------------------------------------------------------------------------------------------------------------- */

static void observe(const void *state, const uint8_t *record, struct observation *out) {
    uint64_t dims[4];
    (void)state;
    memset(out, 0, sizeof *out);
    out->ndim = 4;
    get_dims(record, dims);
    for (uint32_t i = 0; i < 4; i++)
        out->dims[i] = (uint32_t)dims[i];
}

static void describe(const void *state, mldf_field *info) {
    (void)state;
    info->dtype = MLDF_F32;
    info->ndim = 4;
    info->dims[0] = info->dims[1] = info->dims[2] = -1;
    info->dims[3] = 2;
}

/* ---- Files ------------------------------------------------------------------------------------------------------------------------ */

static const struct file_ending endings[] = {{"flo", "flo", ARCHIVE_BYTES, NULL}, {NULL, NULL, ARCHIVE_BYTES, NULL}};

static mldf_status look(const char *name, const void *data, size_t bytes, file_warning_fn warn, void *user,
                        mldf_error *err) {
    struct flow_in in;
    (void)name, (void)warn, (void)user;
    return bytes ? parse_flo(data, bytes, &in, err) : mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
}

static const struct field_files files = {
    .field = "flow",
    .noun = "optical flow",
    .plural = "files of optical flow",
    .endings = endings,
    .most_bytes = FLO_HEAD + UINT64_C(8) * UINT16_MAX * UINT16_MAX,
    .look = look,
};

/* One frame is a .flo file; any other number an NPY file of float32. */
static mldf_status export_file(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    (void)field, (void)kit;
    out->converted = true;
    out->ending = "npy";
    if (value->kind != MLDF_KIND_ARRAY || value->ndim != 4 || value->dims[0] != 1)
        return mldfi_npy_export(value, room, out, err);
    TRY(mldfi_buffer_resize(&room->file, (size_t)(FLO_HEAD + value->bytes), err));
    uint8_t *p = room->file.data;
    mldfi_store_u32(p, FLO_MAGIC);
    mldfi_store_u32(p + 4, (uint32_t)value->dims[2]);
    mldfi_store_u32(p + 8, (uint32_t)value->dims[1]);
    for (uint64_t i = 0; i < value->bytes; i += 4) {
        float v = load_f32((const uint8_t *)value->data + i);
        v = isnan(v) ? FLO_WRITTEN : v;
        memcpy(p + FLO_HEAD + i, &v, sizeof v);
    }
    *out = (struct exported){.ending = "flo", .data = p, .bytes = room->file.size, .converted = true};
    return MLDF_OK;
}

static const char *const argument_names[] = {"dtype", NULL};

const struct field_type mldfi_type_video_optical_flow = {
    .type = {sizeof(mldf_type), MLDF_VIDEO_OPTICAL_FLOW, "video_optical_flow", NULL, bind, unbind, encode, decode},
    .name = "video_optical_flow",
    .draft_differs = true,
    .observe = observe,
    .in_chunks = true,
    .describe = describe,
    .argument_names = argument_names,
    .canonical = canonical,
    .check_deep = check_deep,
    .edge = mldfi_array_edge,
    .see = mldfi_frames_see, /* the members are where those of VIDEO_FRAMES are */
    .see_value = mldfi_frames_see_value,
    .files = &files,
    .ending = "npy",
    .export = export_file,
    .letter = 'a',
    .decode_into = decode_into,
};
