/* VIDEO_COMPRESSED: a video as the packets of its codec, with its sound, and tables of packets and frames (video_packets.h). The record:
 *
 *     0 ptr u64 · 8 size u64 · 16 frames u32 · 20 keys u32 · 24 width u16 · 26 height u16 · 28 fps u32/u32 · 36 codec u8 · 37 streams u8 · 38 zero u16
 *     40 microseconds u64 · sound: 48 samples u64 · 56 bytes u64 · 64 rate u32 · 68 channels u16 · 70 bits u8 · 71 codec u8
 *
 * Parts: FIELD.video, the images, as FIELD itself; FIELD.audio, the sound, as a recording. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/audio_type.h"
#include "field/edge.h"
#include "field/video_source.h"
#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const char *const argument_names[] = {"audio", NULL};

static mldf_status read_arguments(const struct json *json, void *state, mldf_error *err) {
    struct video_state *s = state;
    uint32_t audio = mldfi_json_find(json, 0, "audio");
    if (audio == UINT32_MAX)
        return MLDF_OK;
    s->silent = json->nodes[audio].kind == MLDFI_JSON_FALSE;
    if (!s->silent && json->nodes[audio].kind != MLDFI_JSON_TRUE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"audio\" is neither true nor false");
    return MLDF_OK;
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){VIDEO_RECORD, 8, MLDF_FIELD_SIZE64, false};
    return mldfi_arguments_bind(arguments, sizeof(struct video_state), read_arguments, state, err);
}

static void unbind(void *user, void *state) {
    (void)user;
    free(state);
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    struct schema_field field = {.state = (void *)(uintptr_t)state};
    void *worker;
    (void)user;
    TRY(mldfi_media_video.open(&worker, err));
    mldf_status status = mldfi_video_encode_worker(&field, worker, value, record, scratch, payload, payload_bytes, err);
    mldfi_media_video.close(worker);
    return status;
}

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)scratch;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    return mldfi_video_check_record(record, payload_bytes, err);
}

/* Dimensions: frames, height, width. */
static void observe(const void *state, const uint8_t *record, struct observation *out) {
    (void)state;
    memset(out, 0, sizeof *out);
    out->ndim = 3;
    out->dims[0] = mldfi_load_u32(record + VIDEO_FRAMES);
    out->dims[1] = mldfi_load_u16(record + VIDEO_HEIGHT);
    out->dims[2] = mldfi_load_u16(record + VIDEO_WIDTH);
}

static mldf_status ignore_image(void *user, uint64_t number, const struct av_image *image, mldf_error *err) {
    (void)user, (void)number, (void)image, (void)err;
    return MLDF_OK;
}

mldf_status mldfi_video_check_sound(const struct video_head *head, struct media_kit *kit, const uint8_t *payload,
                                    mldf_error *err) {
    void *audio;
    if (!head->sound.there)
        return MLDF_OK;
    TRY(mldfi_kit_worker(kit, FAMILY_AUDIO, &audio, err));
    mldf_status status = mldfi_audio_is_packets(head->sound.info.codec)
                             ? mldfi_audio_check_packets(audio, &head->sound.info, payload + head->sound.at,
                                                         head->sound.bytes, true, err)
                             : mldfi_audio_check_bytes(&head->sound.info, head->sound.bytes, err);
    if (status < 0)
        mldfi_error_prefix(err, "sound");
    return status;
}

/* Every frame and the whole sound, decoded. */
static mldf_status decode_whole(const struct video_head *head, const struct audio_bytes *in, const uint8_t *payload,
                                mldf_error *err) {
    struct media_kit kit = {0};
    void *video;
    mldf_status status = mldfi_kit_worker(&kit, FAMILY_VIDEO, &video, err);
    uint64_t *numbers =
        status == MLDF_OK ? mldfi_alloc_zero((size_t)head->video.frames + 1, sizeof *numbers, err) : NULL;
    if (status == MLDF_OK && !numbers)
        status = MLDF_E_MEMORY;
    for (uint32_t i = 0; status == MLDF_OK && i < head->video.frames; i++)
        numbers[i] = i;
    if (status == MLDF_OK)
        status = mldfi_video_decode(video, head, in, numbers, head->video.frames, ignore_image, NULL, err);
    free(numbers);
    if (status == MLDF_OK)
        status = mldfi_video_check_sound(head, &kit, payload, err);
    mldfi_kit_free(&kit);
    return status;
}

static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    struct audio_memory memory = {payload};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, payload_bytes};
    const struct av_decode_module *module;
    struct video_head head;
    (void)state;
    mldf_status status = mldfi_video_open(record, &in, &head, err);
    if (status == MLDF_OK)
        status = mldfi_video_check_tables(&head, &in, err);
    if (status == MLDF_OK &&
        mldfi_av_decode_module(&module, NULL) == MLDF_OK) /* else fine, as far as this build can tell */
        status = decode_whole(&head, &in, payload, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    return status;
}

/* ---- In pipelines --------------------------------------------------------------------------------------------------------------------------- */

static bool steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    (void)field;
    *out = (struct field_steps){mldfi_load_u32(record + VIDEO_FRAMES), 0};
    return true;
}

enum { FRAMES, HEIGHT, WIDTH, SAMPLES, CHANNELS, BOUNDS };

static void see_video(struct survey *s, const uint8_t *r) {
    struct value_bounds *b = s->bounds;
    bool first = s->seen++ == 0;
    uint32_t rate = mldfi_load_u32(r + VIDEO_SOUND_RATE);
    mldfi_bounds_see(b, FRAMES, mldfi_load_u32(r + VIDEO_FRAMES), first);
    mldfi_bounds_see(b, HEIGHT, mldfi_load_u16(r + VIDEO_HEIGHT), first);
    mldfi_bounds_see(b, WIDTH, mldfi_load_u16(r + VIDEO_WIDTH), first);
    mldfi_bounds_see(b, SAMPLES, mldfi_load_u64(r + VIDEO_SOUND_SAMPLES), first);
    if (first)
        b->audio.rates = (struct rates){0, 0};
    if (rate) { /* what has no sound does not say how sound is */
        bool none = b->audio.rates.most == 0;
        mldfi_bounds_see(b, CHANNELS, mldfi_load_u16(r + VIDEO_SOUND_CHANNELS), none);
        b->audio.rates.least = none || rate < b->audio.rates.least ? rate : b->audio.rates.least;
        b->audio.rates.most = rate > b->audio.rates.most ? rate : b->audio.rates.most;
    }
    b->ndim = BOUNDS;
    b->known = true;
}

static mldf_status see(const struct schema_field *field, const struct record_block *block, size_t *at, struct survey *s,
                       mldf_error *err) {
    (void)field;
    for (; *at < block->count; ++*at) {
        bool present = true;
        TRY(block->is_present ? block->is_present(block->owner, *at, &present, err) : MLDF_OK);
        if (present)
            see_video(s, block->records + *at * block->stride);
    }
    return MLDF_OK;
}

static void see_value(const struct schema_field *field, const mldf_value *value, struct survey *s) {
    (void)field;
    if (value->record && value->record_bytes == VIDEO_RECORD)
        see_video(s, value->record);
}

static mldf_status edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                        mldf_error *err) {
    (void)err;
    out->kind = VALUE_ENCODED;
    out->family = FAMILY_VIDEO;
    out->role = ROLE_IMAGE;
    out->video = &mldfi_video_packets_source;
    out->video_state = field->state;
    out->timed = true;
    mldfi_set_axes(out->axes, "thwc");
    out->dtype = MLDF_U8;
    out->ndim = 4;
    for (uint32_t i = 0; i < 3; i++)
        mldfi_edge_bound(out, i, bounds);
    mldfi_edge_fix(out, 3, 3);
    return MLDF_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------------------------------------- */

enum { PART_VIDEO, PART_AUDIO, PARTS };

static mldf_status part(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err) {
    (void)field, (void)err;
    if (index >= PARTS)
        return MLDF_END;
    memset(out, 0, sizeof *out);
    strcpy(out->name, index == PART_VIDEO ? "video" : "audio");
    out->index = index;
    return MLDF_OK;
}

/* As audio_bounds.c's, from what was seen of the videos' sound. */
static mldf_status part_edge(const struct schema_field *field, const struct field_part *p,
                             const struct value_bounds *bounds, struct edge *out, mldf_error *err) {
    struct value_bounds sound = {.ndim = 2};
    if (p->index == PART_VIDEO)
        return edge(field, bounds, out, err);
    if (bounds && bounds->known) {
        sound.known = true;
        sound.least[0] = bounds->least[SAMPLES], sound.most[0] = bounds->most[SAMPLES];
        sound.least[1] = bounds->least[CHANNELS], sound.most[1] = bounds->most[CHANNELS];
        sound.audio = bounds->audio;
    }
    struct audio_state open = {0};
    struct schema_field as_audio = *field;
    as_audio.state = &open;
    return mldfi_audio_edge(&as_audio, bounds ? &sound : NULL, out, err);
}

static mldf_status locate(const struct schema_field *field, const struct field_part *p, const mldf_value *value,
                          struct part_place *out, mldf_error *err) {
    (void)field;
    if (!value->record || value->record_bytes != VIDEO_RECORD)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the value is not a video of packets");
    mldf_status status = mldfi_video_check_record(value->record, value->bytes, err);
    if (status < 0) {
        if (err)
            err->offset = MLDF_NONE;
        return status;
    }
    if (p->index == PART_VIDEO) {
        *out = (struct part_place){.bytes = value->bytes, .record_bytes = VIDEO_RECORD};
        memcpy(out->record, value->record, VIDEO_RECORD);
        return MLDF_OK;
    }
    out->absent = !mldfi_video_sound_record(value->record, out->record);
    out->bytes = mldfi_load_u64((const uint8_t *)value->record + VIDEO_SOUND_BYTES);
    out->offset = value->bytes - out->bytes;
    out->record_bytes = AUDIO_RECORD;
    return MLDF_OK;
}

static mldf_status part_start(const struct schema_field *field, const struct field_part *p,
                              const struct audio_bytes *in, struct start *out, mldf_error *err) {
    struct video_head head;
    (void)field;
    *out = (struct start){0, 1};
    if (p->index != PART_AUDIO)
        return MLDF_OK;
    mldf_status status = mldfi_video_open(NULL, in, &head, err);
    if (status == MLDF_OK)
        *out = (struct start){head.sound.start_num, head.sound.start_den};
    return status;
}

static bool same(const mldf_value *a, const mldf_value *b) {
    const uint8_t *x = a->record, *y = b->record;
    return x && y && a->record_bytes == VIDEO_RECORD && b->record_bytes == VIDEO_RECORD &&
           memcmp(x + VIDEO_FRAMES, y + VIDEO_FRAMES, VIDEO_RECORD - VIDEO_FRAMES) == 0;
}

static mldf_status open_worker(void *user, void **worker, mldf_error *err) {
    (void)user;
    return mldfi_media_video.open(worker, err);
}

static void close_worker(void *user, void *worker) {
    (void)user;
    mldfi_media_video.close(worker);
}

static void watch_worker(void *worker, const struct work_watch *watch) {
    ((struct video_worker *)worker)->watch = watch;
}

const struct field_type mldfi_type_video_compressed = {
    .type = {sizeof(mldf_type), MLDF_VIDEO_COMPRESSED, "video_compressed", NULL, bind, unbind, encode, decode},
    .name = "video_compressed",
    .draft_differs = true,
    .observe = observe,
    .never_compressed = true,
    .in_chunks = true,
    .argument_names = argument_names,
    .check_deep = check_deep,
    .edge = edge,
    .part = part,
    .part_edge = part_edge,
    .locate = locate,
    .part_start = part_start,
    .steps = steps,
    .see = see,
    .see_value = see_value,
    .files = &mldfi_video_files,
    .ending = "mkv",
    .export = mldfi_video_export,
    .value_json = mldfi_video_json,
    .same = same,
    .letter = 'u',
    .open_worker = open_worker,
    .close_worker = close_worker,
    .watch_worker = watch_worker,
    .encode_worker = mldfi_video_encode_worker,
};
