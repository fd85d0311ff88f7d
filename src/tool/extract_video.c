/* See extract_video.h. Frames of packets are decoded in one pass, whatever is chosen of them. */
#include "tool/extract_video.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/type.h"
#include "field/video_packets.h"
#include "field/video_source.h"
#include "mldf/audio.h"
#include "mldf/image.h"
#include "mldf/video.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_extract_video mldfi_extract_how(const struct schema_field *field, const mldf_extract_options *options) {
    if (field->type == &mldfi_type_video_frames)
        return MLDF_EXTRACT_FRAMES;
    return field->type == &mldfi_type_video_compressed ? options->video : MLDF_EXTRACT_FILE;
}

/* ---- Frames ----------------------------------------------------------------------------------------------------------------------------- */

/* Frames first, first + step ... below end. */
static mldf_status choose(const mldf_extract_options *o, uint64_t frames, uint64_t *first, uint64_t *end,
                          uint64_t *step, mldf_error *err) {
    *first = o->first;
    *end = o->end ? o->end : frames;
    *step = o->step ? o->step : 1;
    if (*first >= *end && frames)
        return mldfi_fail(err, MLDF_E_RANGE, "frames %" PRIu64 " to %" PRIu64 " of a video that has %" PRIu64, *first,
                          *end, frames);
    if (*end > frames)
        return mldfi_fail(err, MLDF_E_RANGE, "frames %" PRIu64 " to %" PRIu64 " of a video that has %" PRIu64, *first,
                          *end, frames);
    return MLDF_OK;
}

struct writing {
    const uint64_t *numbers;
    struct export_room *room;
    frame_writer put;
    void *user;
    uint64_t written;
};

/* Pixels as PNG. */
static mldf_status put_pixels(void *user, size_t k, const struct raster *image, mldf_error *err) {
    struct writing *w = user;
    const size_t row = (size_t)image->width * image->channels * (image->bits / 8);
    const mldf_image_pixels pixels = {image->data, image->width, image->height, image->channels, image->bits};
    mldf_buffer packed = MLDF_BUFFER_INIT;
    mldf_image_pixels plain = pixels;
    mldf_status status = MLDF_OK;
    if (image->stride != row) {
        status = mldfi_buffer_resize(&packed, row * image->height + 1, err);
        for (uint32_t y = 0; y < image->height && status == MLDF_OK; y++)
            memcpy(packed.data + y * row, image->data + y * image->stride, row);
        plain.data = packed.data;
    }
    w->room->file.size = 0;
    if (status == MLDF_OK)
        status = mldf_image_encode_png(&plain, 1, &w->room->file, err);
    mldf_buffer_free(&packed);
    if (status < 0)
        return status;
    const struct exported file = {.ending = "png", .data = w->room->file.data, .bytes = w->room->file.size};
    w->written++;
    return w->put(w->user, w->numbers[k], &file, err);
}

/* Stored files as they are. MLDF_END: they are pixels. */
static mldf_status put_files(const mldf_schema *schema, size_t field, const mldf_value *value, struct writing *w,
                             size_t count, mldf_error *err) {
    static const char *const endings[] = {[MLDF_IMAGE_MODE_JPEG] = "jpg",
                                          [MLDF_IMAGE_MODE_PNG] = "png",
                                          [MLDF_IMAGE_MODE_WEBP] = "webp",
                                          [MLDF_IMAGE_MODE_BMP] = "bmp",
                                          [MLDF_IMAGE_MODE_TIFF] = "tif"};
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        mldf_image_info info = MLDF_IMAGE_INFO_INIT;
        const void *data;
        size_t bytes;
        status = mldf_video_frame(schema, field, value, w->numbers[i], &w->room->work, &data, &bytes, err);
        if (status < 0)
            break;
        if (mldf_image_probe(data, bytes, &info, NULL) < 0 || (size_t)info.mode >= sizeof endings / sizeof *endings ||
            !endings[info.mode])
            return i ? mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 " is not an image file", w->numbers[i])
                     : MLDF_END;
        const struct exported file = {.ending = endings[info.mode], .data = data, .bytes = bytes};
        w->written++;
        status = w->put(w->user, w->numbers[i], &file, err);
    }
    return status;
}

static mldf_status decode_frames(const mldf_schema *schema, size_t field, const mldf_value *value,
                                 struct media_kit *kit, struct writing *w, size_t count, mldf_error *err) {
    const struct schema_field *f = &schema->fields[field];
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct edge edge = {0};
    struct video_info info = {0};
    uint64_t wanted = 0;
    mldf_status status = f->type->edge(f, NULL, &edge, err);
    if (status >= 0)
        status = edge.video->extent(edge.video_state, value, NULL, 0, false, &info, &wanted, err);
    if (status == MLDF_END)
        status = edge.video->extent(edge.video_state, value, value->data, value->bytes, false, &info, &wanted, err);
    if (status != MLDF_OK)
        return status < 0 ? status : mldfi_fail(err, MLDF_E_CORRUPT, "the video has no table of frames");
    const struct frame_wish wish = {
        .width = info.width, .height = info.height, .scale = 1, .channels = (int)info.channels, .bits = (int)info.bits};
    return edge.video->decode(kit, edge.video_state, value, &info, &in, w->numbers, count, &wish, put_pixels, w, err);
}

mldf_status mldfi_extract_frames(const mldf_schema *schema, size_t field, const mldf_value *value,
                                 const mldf_extract_options *options, struct media_kit *kit, struct export_room *room,
                                 frame_writer put, void *user, struct frames_out *out, mldf_error *err) {
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    uint64_t first, end, step;
    *out = (struct frames_out){0};
    mldf_status status = mldf_video_info_of(schema, field, value, &info, err);
    if (status == MLDF_OK)
        status = choose(options, info.frames, &first, &end, &step, err);
    if (status < 0)
        return status;
    const size_t count = info.frames ? (size_t)((end - first - 1) / step + 1) : 0;
    uint64_t *numbers = mldfi_alloc_zero(count + 1, sizeof *numbers, err);
    if (!numbers)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < count; i++)
        numbers[i] = first + i * step;
    struct writing w = {.numbers = numbers, .room = room, .put = put, .user = user};
    status = count == 0                                               ? MLDF_OK
             : schema->fields[field].type == &mldfi_type_video_frames ? put_files(schema, field, value, &w, count, err)
                                                                      : MLDF_END;
    if (status == MLDF_END)
        status = decode_frames(schema, field, value, kit, &w, count, err);
    free(numbers);
    out->written = w.written;
    if (!info.pts) {
        out->rate_num = info.tick_den;
        out->rate_den = info.tick_num;
    }
    return status;
}

/* ---- A clip, and the sound -------------------------------------------------------------------------------------------------------------- */

/* A file shows what its container cannot hide: frames that others are made of. The file is read again, as a player reads it. */
static mldf_status check_clip(const mldf_schema *schema, size_t field, uint64_t wanted, struct export_room *room,
                              const struct exported *made, mldf_error *err) {
    room->work.size = 0;
    TRY(mldf_video_pack(schema, field, made->data, (size_t)made->bytes, &room->work, err));
    const uint64_t shown = mldfi_load_u32(room->work.data + MLDF_VIDEO_PACKED_RECORD + VIDEO_FRAMES);
    if (shown == wanted)
        return MLDF_OK;
    const mldf_status status =
        mldfi_fail(err, MLDF_E_UNSUPPORTED, "a file of these %" PRIu64 " frames would show %" PRIu64, wanted, shown);
    return mldfi_error_advise(err, status, "take them as images (--videos frames), or begin at a key frame");
}

mldf_status mldfi_extract_clip(const mldf_schema *schema, size_t field, const mldf_value *value,
                               const mldf_extract_options *options, struct media_kit *kit, struct export_room *room,
                               struct exported *out, mldf_error *err) {
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    uint64_t first, end, step;
    mldf_status status = mldf_video_info_of(schema, field, value, &info, err);
    if (status == MLDF_OK)
        status = choose(options, info.frames, &first, &end, &step, err);
    if (status == MLDF_OK && step != 1)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "a clip has every frame; a step is for frames as images");
    room->work.size = 0;
    if (status == MLDF_OK)
        status = mldf_video_cut(schema, field, value, first, end - first, &room->work, err);
    if (status < 0)
        return status;
    const mldf_value clip = {.kind = MLDF_KIND_BYTES,
                             .record = room->work.data + MLDF_VIDEO_PACKED_RECORD,
                             .record_bytes = value->record_bytes,
                             .data = room->work.data + MLDF_VIDEO_PACKED_PAYLOAD,
                             .bytes = room->work.size - MLDF_VIDEO_PACKED_PAYLOAD};
    status = mldfi_field_export(&schema->fields[field], &clip, kit, room, out, err);
    return status == MLDF_OK && end - first < info.frames ? check_clip(schema, field, end - first, room, out, err)
                                                          : status;
}

mldf_status mldfi_extract_sound(const mldf_value *value, struct export_room *room, struct exported *out,
                                mldf_error *err) {
    uint8_t record[32];
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_value sound = {.kind = MLDF_KIND_BYTES, .record = record, .record_bytes = sizeof record};
    TRY(mldfi_video_check_record(value->record, value->bytes, err));
    if (!mldfi_video_sound_record(value->record, record))
        return MLDF_ABSENT;
    sound.bytes = mldfi_load_u64((const uint8_t *)value->record + VIDEO_SOUND_BYTES);
    sound.data = (const uint8_t *)value->data + (value->bytes - sound.bytes);
    mldf_status status = mldf_audio_record(&sound, &info, err);
    if (status == MLDF_OK)
        status = mldf_audio_check_room(&info, sound.bytes, 0, err);
    const uint64_t bytes = status == MLDF_OK ? info.samples * info.channels * sizeof(float) : 0;
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&room->work, (size_t)bytes + 1, err);
    if (status == MLDF_OK)
        status = mldf_audio_value_read(&sound, 0, info.samples, (float *)(void *)room->work.data, err);
    info.codec = MLDF_AUDIO_FLOAT;
    info.bits = 32;
    info.mask = 0;
    room->file.size = 0;
    *out = (struct exported){.ending = "wav", .data = room->work.data, .bytes = bytes, .converted = true};
    if (status == MLDF_OK)
        status = mldf_wav_header(&info, &room->file, &out->pad_bytes, err);
    out->head = room->file.data;
    out->head_bytes = room->file.size;
    return status;
}
