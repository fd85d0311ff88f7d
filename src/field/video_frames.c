/* VIDEO_FRAMES: the frames of a video one by one, as image files or pixels, so that any of them is read alone:
 *
 *     0 ptr u64 · 8 size u64 · 16 num_frames u32 · 20 height u16 · 22 width u16 · 24 fps_num u32 · 28 fps_den u32
 *     payload: offsets u64[n + 1] · pts i64[n], if the arguments say so · frames
 *
 * A tick lasts fps_den / fps_num seconds. Reading gives the payload as bytes; mldf/video.h and pipelines give frames. */
#include "field/video_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Arguments ------------------------------------------------------------------------------------------------------------------ */

static const char *const argument_names[] = {"bits", "channels", "encode", "fps", "mode", "pts", "quality", NULL};

static mldf_status get_number(const struct json *json, const char *name, uint64_t least, uint64_t most, uint32_t *out,
                              mldf_error *err) {
    uint64_t number;
    uint32_t at = mldfi_json_find(json, 0, name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_u64(json, at, &number) || number < least || number > most)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not an integer from %" PRIu64 " to %" PRIu64, name,
                          least, most);
    *out = (uint32_t)number;
    return MLDF_OK;
}

static mldf_status get_flags(const struct json *json, struct video_frames_state *s, mldf_error *err) {
    uint32_t mode = mldfi_json_find(json, 0, "mode"), pts = mldfi_json_find(json, 0, "pts");
    s->raw = mode != UINT32_MAX && mldfi_json_is_text(json, mode, "raw");
    bool image = mode != UINT32_MAX && mldfi_json_is_text(json, mode, "image");
    s->jpeg = !image && !s->raw;
    if (mode != UINT32_MAX && s->jpeg && !mldfi_json_is_text(json, mode, "jpeg"))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"mode\" is not \"jpeg\", \"image\" or \"raw\"");
    s->pts = pts != UINT32_MAX && json->nodes[pts].kind == MLDFI_JSON_TRUE;
    if (pts != UINT32_MAX && !s->pts && json->nodes[pts].kind != MLDFI_JSON_FALSE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"pts\" is neither true nor false");
    return MLDF_OK;
}

/* A number, or [num, den]. */
static mldf_status get_fps(const struct json *json, struct video_frames_state *s, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "fps");
    uint64_t num = 0, den = 1;
    s->fps_num = s->fps_den = 1;
    if (at == UINT32_MAX)
        return MLDF_OK;
    bool good = mldfi_json_u64(json, at, &num);
    if (json->nodes[at].kind == MLDFI_JSON_ARRAY && json->nodes[at].count == 2)
        good = mldfi_json_u64(json, at + 1, &num) && mldfi_json_u64(json, at + 2, &den);
    if (!good || num < 1 || num > UINT32_MAX || den < 1 || den > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"fps\" is neither an integer nor [num, den], each from 1 to 2^32 - 1");
    s->fps_num = (uint32_t)num;
    s->fps_den = (uint32_t)den;
    return MLDF_OK;
}

static mldf_status get_encode(const struct json *json, struct video_frames_state *s, mldf_error *err) {
    static const struct {
        const char *word;
        enum image_encode encode;
    } words[] = {{"keep", ENCODE_KEEP}, {"jpeg", ENCODE_JPEG}, {"fast-jpeg", ENCODE_FAST_JPEG}};
    uint32_t at = mldfi_json_find(json, 0, "encode"), quality = 90;
    struct image_state *image = &s->image;
    *image = (struct image_state){.id = MLDF_IMAGE, .smart_threshold = MLDF_NONE, .fast_limit = 1.03};
    image->encode = s->raw ? ENCODE_RAW : ENCODE_KEEP;
    bool found = at == UINT32_MAX;
    for (size_t i = 0; i < 3 && !found && !s->raw; i++) {
        found = mldfi_json_is_text(json, at, words[i].word);
        if (found)
            image->encode = words[i].encode;
    }
    if (!found)
        return mldfi_fail(
            err, MLDF_E_SCHEMA,
            "argument \"encode\" is not \"keep\", \"jpeg\" or \"fast-jpeg\", and none of these for mode raw");
    mldf_status status = get_number(json, "quality", 1, 100, &quality, err);
    image->quality = (int)quality;
    image->quality_given = mldfi_json_find(json, 0, "quality") != UINT32_MAX;
    return status;
}

static mldf_status read_arguments(const struct json *json, void *state, mldf_error *err) {
    struct video_frames_state *s = state;
    s->channels = 3;
    s->bits = 8;
    mldf_status status = get_flags(json, s, err);
    if (status == MLDF_OK)
        status = get_number(json, "channels", 1, 4, &s->channels, err);
    if (status == MLDF_OK && s->channels == 2)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"channels\" is 2; frames have 1, 3 or 4");
    if (status == MLDF_OK)
        status = get_number(json, "bits", 8, 16, &s->bits, err);
    if (status == MLDF_OK && s->bits != 8 && s->bits != 16)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"bits\" is neither 8 nor 16");
    if (status == MLDF_OK)
        status = get_fps(json, s, err);
    return status == MLDF_OK ? get_encode(json, s, err) : status;
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){FRAMES_RECORD, 8, MLDF_FIELD_SIZE64, false};
    return mldfi_arguments_bind(arguments, sizeof(struct video_frames_state), read_arguments, state, err);
}

static void unbind(void *user, void *state) {
    (void)user;
    free(state);
}

/* ---- Reading -------------------------------------------------------------------------------------------------------------------- */

void mldfi_frames_record_info(const struct video_frames_state *s, const uint8_t *record, mldf_video_info *out) {
    *out = (mldf_video_info){.frames = mldfi_load_u32(record + FRAMES_COUNT),
                             .width = mldfi_load_u16(record + FRAMES_WIDTH),
                             .height = mldfi_load_u16(record + FRAMES_HEIGHT),
                             .channels = s->channels,
                             .bits = s->bits,
                             .tick_num = mldfi_load_u32(record + FRAMES_FPS_DEN),
                             .tick_den = mldfi_load_u32(record + FRAMES_FPS_NUM),
                             .pts = s->pts};
    out->frame_bytes = mldfi_frames_raw_bytes(s, out->width, out->height);
}

mldf_status mldfi_frames_check_record(const struct video_frames_state *s, const uint8_t *record, uint64_t payload_bytes,
                                      mldf_error *err) {
    mldf_video_info info;
    mldfi_frames_record_info(s, record, &info);
    if (info.tick_den == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FRAMES_FPS_NUM, "0 / %" PRIu32 " frames a second", info.tick_num);
    if (info.tick_num == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FRAMES_FPS_DEN, "%" PRIu32 " / 0 frames a second", info.tick_den);
    if (info.frames && (info.width == 0 || info.height == 0))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FRAMES_HEIGHT, "frames of %" PRIu32 " x %" PRIu32 " pixels",
                             info.width, info.height);
    /* At most 2^32 frames of 2^35 bytes: no sum or product here passes 2^64 without passing the payload, which is compared by quotients. */
    uint64_t table = mldfi_frames_table(s, info.frames), rest = payload_bytes - table;
    bool fits = payload_bytes >= table && (!s->raw || info.frames == 0 || rest / info.frames >= info.frame_bytes);
    if (!fits)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FRAMES_SIZE,
                             "%" PRIu64 " bytes, and %" PRIu64 " frames with their table need more", payload_bytes,
                             info.frames);
    return MLDF_OK;
}

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)scratch;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    return mldfi_frames_check_record(state, record, payload_bytes, err);
}

/* Dimensions: frames, height, width. */
static void observe(const void *state, const uint8_t *record, struct observation *out) {
    (void)state;
    memset(out, 0, sizeof *out);
    out->ndim = 3;
    out->dims[0] = mldfi_load_u32(record + FRAMES_COUNT);
    out->dims[1] = mldfi_load_u16(record + FRAMES_HEIGHT);
    out->dims[2] = mldfi_load_u16(record + FRAMES_WIDTH);
}

static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    return mldfi_frames_check(state, record, payload, payload_bytes, err);
}

/* ---- In pipelines --------------------------------------------------------------------------------------------------------------- */

static bool steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    (void)field;
    *out = (struct field_steps){mldfi_load_u32(record + FRAMES_COUNT), 0};
    return true;
}

static void see_video(struct survey *s, const uint8_t *record) {
    struct value_bounds *b = s->bounds;
    bool first = s->seen++ == 0;
    mldfi_bounds_see(b, 0, mldfi_load_u32(record + FRAMES_COUNT), first);
    mldfi_bounds_see(b, 1, mldfi_load_u16(record + FRAMES_HEIGHT), first);
    mldfi_bounds_see(b, 2, mldfi_load_u16(record + FRAMES_WIDTH), first);
    b->ndim = 3;
    b->known = true;
}

/* Nothing that is still open can turn out alike. */
static bool is_settled(const struct value_bounds *b) {
    return b->known && b->least[0] != b->most[0] && b->least[1] != b->most[1] && b->least[2] != b->most[2];
}

mldf_status mldfi_frames_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                             struct survey *s, mldf_error *err) {
    bool may_end = s->stats && s->stats->ndim >= 3;
    (void)field;
    for (; *at < block->count; ++*at) {
        bool present = true;
        TRY(block->is_present ? block->is_present(block->owner, *at, &present, err) : MLDF_OK);
        if (present)
            see_video(s, block->records + *at * block->stride);
        if (!may_end || !is_settled(s->bounds))
            continue;
        for (uint32_t i = 0; i < 3; i++)
            mldfi_bounds_see(s->bounds, i, s->stats->dims_max[i], false);
        return MLDF_END;
    }
    return MLDF_OK;
}

void mldfi_frames_see_value(const struct schema_field *field, const mldf_value *value, struct survey *s) {
    (void)field;
    if (value->record && value->record_bytes == FRAMES_RECORD)
        see_video(s, value->record);
}

static mldf_status edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                        mldf_error *err) {
    const struct video_frames_state *s = field->state;
    (void)err;
    out->kind = VALUE_ENCODED;
    out->family = FAMILY_VIDEO;
    out->role = ROLE_IMAGE;
    out->video = &mldfi_video_frames_source;
    out->video_state = s;
    out->timed = true;
    mldfi_set_axes(out->axes, "thwc");
    out->dtype = s->bits == 16 ? MLDF_U16 : MLDF_U8;
    out->ndim = 4;
    for (uint32_t i = 0; i < 3; i++)
        mldfi_edge_bound(out, i, bounds);
    mldfi_edge_fix(out, 3, s->channels);
    return MLDF_OK;
}

/* ---- As a file, as text ----------------------------------------------------------------------------------------------------------- */

static mldf_status value_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                              mldf_error *err) {
    mldf_video_info info;
    if (!value->record || value->record_bytes != FRAMES_RECORD)
        return MLDF_END;
    mldfi_frames_record_info(field->state, value->record, &info);
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err,
                                     ",\"frames\":%" PRIu64 ",\"height\":%" PRIu32 ",\"width\":%" PRIu32
                                     ",\"channels\":%" PRIu32 ",\"fps\":[%" PRIu32 ",%" PRIu32 "]",
                                     info.frames, info.height, info.width, info.channels, info.tick_den, info.tick_num);
    return status < 0 ? status : mldfi_payload_json_end(value, full, out, err);
}

static bool same(const mldf_value *a, const mldf_value *b) {
    const uint8_t *x = a->record, *y = b->record;
    return x && y && a->record_bytes == FRAMES_RECORD && b->record_bytes == FRAMES_RECORD &&
           memcmp(x + FRAMES_COUNT, y + FRAMES_COUNT, FRAMES_RECORD - FRAMES_COUNT) == 0;
}

static mldf_status open_worker(void *user, void **worker, mldf_error *err) {
    (void)user;
    *worker = mldfi_alloc_zero(1, sizeof(struct image_worker), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *user, void *worker) {
    (void)user;
    mldfi_image_worker_end(worker);
    free(worker);
}

const struct field_type mldfi_type_video_frames = {
    .type = {sizeof(mldf_type), MLDF_VIDEO_FRAMES, "video_frames", NULL, bind, unbind, mldfi_frames_encode, decode},
    .name = "video_frames",
    .draft_differs = true,
    .observe = observe,
    .never_compressed = true,
    .in_chunks = true,
    .by_arguments = true,
    .argument_names = argument_names,
    .check_deep = check_deep,
    .edge = edge,
    .steps = steps,
    .see = mldfi_frames_see,
    .see_value = mldfi_frames_see_value,
    .value_json = value_json,
    .same = same,
    .letter = 'u',
    .open_worker = open_worker,
    .close_worker = close_worker,
    .encode_worker = mldfi_frames_encode_worker,
};
