/* Frames that are stored one by one, as the pipeline reads them (video_source.h): of the table only the entries of the wanted frames, of the payload only
 * these frames. Neighbouring frames are one read. Each frame is decoded as an image of its own. */
#include <inttypes.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "field/image_view.h"
#include "field/video_frames.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* Entries of the table, or bytes of frames, that are skipped rather than read apart: less than a page. */
enum { GAP_ENTRIES = 256, GAP_BYTES = 4096, RUN_BYTES = 8 << 20 };

static mldf_status extent(const void *state, const mldf_value *value, const void *head, uint64_t head_bytes, bool times,
                          struct video_info *out, uint64_t *wanted, mldf_error *err) {
    const struct video_frames_state *s = state;
    mldf_video_info info;
    uint64_t table;
    /* The second call has no record: what it needs is known since the first. */
    if (!head) {
        if (!value->record || value->record_bytes != FRAMES_RECORD)
            return mldfi_fail(err, MLDF_E_TYPE, "the value is not a video of stored frames");
        mldf_status status = mldfi_frames_check_record(s, value->record, value->bytes, err);
        if (status < 0) {
            if (err)
                err->offset = MLDF_NONE;
            return status;
        }
        mldfi_frames_record_info(s, value->record, &info);
        *out = (struct video_info){.width = info.width,
                                   .height = info.height,
                                   .channels = info.channels,
                                   .bits = info.bits,
                                   .times = {.count = info.frames, .tick = {info.tick_num, info.tick_den}},
                                   .reducible = s->jpeg};
    }
    table = mldfi_frames_table(s, out->times.count);
    if (!times || !s->pts)
        return MLDF_OK;
    if (!head && !value->data) {
        *wanted = table;
        return MLDF_END;
    }
    if (head && head_bytes < table)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the table of %" PRIu64 " frames is cut short", out->times.count);
    out->times.pts = (const uint8_t *)(head ? head : value->data) + 8 * (out->times.count + 1);
    out->times.stride = 8;
    return MLDF_OK;
}

static void guess(const void *state, const mldf_value *value, const struct video_info *info, uint64_t first,
                  uint64_t last, uint64_t *offset, uint64_t *bytes) {
    const struct video_frames_state *s = state;
    uint64_t n = info->times.count, table = mldfi_frames_table(s, n), rest = value->bytes - table;
    double each = (double)rest / (double)(n ? n : 1);
    *offset = table + (uint64_t)(each * (double)first);
    *bytes = (uint64_t)(each * (double)(last - first + 1));
    if (*offset > value->bytes || *bytes > value->bytes - *offset)
        *bytes = 0;
}

/* ---- Table ---------------------------------------------------------------------------------------------------------------------- */

/* Where wanted frame k begins and ends. */
struct frame_place {
    uint64_t begin, end;
};

static mldf_status check_place(uint64_t number, struct frame_place place, uint64_t table, uint64_t total,
                               mldf_error *err) {
    if (place.begin >= table && place.begin <= place.end && place.end <= total)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CORRUPT,
                      "frame %" PRIu64 ": bytes %" PRIu64 " to %" PRIu64 " are not between the table's end at %" PRIu64
                      " and the end at %" PRIu64,
                      number, place.begin, place.end, table, total);
}

/* Of raw frames the places follow from their size: they end where the payload does. */
static void place_raw(const struct video_frames_state *s, const struct video_info *info, uint64_t total,
                      const uint64_t *numbers, size_t count, struct frame_place *out) {
    uint64_t each = mldfi_frames_raw_bytes(s, info->width, info->height);
    for (size_t k = 0; k < count; k++) {
        out[k].begin = total - (info->times.count - numbers[k]) * each;
        out[k].end = out[k].begin + each;
    }
}

static mldf_status place_frames(const struct video_frames_state *s, const struct video_info *info,
                                const struct audio_bytes *in, const uint64_t *numbers, size_t count,
                                struct frame_place *out, mldf_error *err) {
    uint64_t table = mldfi_frames_table(s, info->times.count);
    for (size_t k = 0; k < count;) {
        size_t end = k + 1;
        while (end < count && numbers[end] - numbers[end - 1] <= GAP_ENTRIES && numbers[end] - numbers[k] < (1 << 17))
            end++;
        const void *data;
        uint64_t first = numbers[k], entries = numbers[end - 1] - first + 2;
        mldf_status status = in->get(in->user, 8 * first, 8 * entries, &data, err);
        for (; status == MLDF_OK && k < end; k++) {
            const uint8_t *at = (const uint8_t *)data + 8 * (numbers[k] - first);
            out[k] = (struct frame_place){mldfi_load_u64(at), mldfi_load_u64(at + 8)};
            status = check_place(numbers[k], out[k], table, in->total, err);
        }
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

/* ---- Frames --------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_frames_image(const struct video_frames_state *s, const mldf_video_info *info, const void *data,
                               uint64_t bytes, uint8_t record[IMAGE_RECORD], mldf_value *out, mldf_error *err) {
    const uint8_t *first = data;
    memset(record, 0, IMAGE_RECORD);
    memset(out, 0, sizeof *out);
    mldf_image_mode mode = MLDF_IMAGE_MODE_RAW;
    if (!s->raw) {
        const struct image_codec *codec = bytes ? mldfi_image_detect(data, (size_t)bytes) : NULL;
        mode = codec ? codec->mode : MLDF_IMAGE_MODE_FAST_JPEG;
        if (!codec && (bytes < 48 || first[0] != 1))
            return mldfi_fail(err, MLDF_E_CORRUPT, "its %" PRIu64 " bytes are no image that is known", bytes);
        if (s->jpeg && mode != MLDF_IMAGE_MODE_JPEG && mode != MLDF_IMAGE_MODE_FAST_JPEG)
            return mldfi_fail(err, MLDF_E_CORRUPT, "it is %s, and the field's frames are JPEG",
                              mldf_image_mode_name(mode));
    }
    if (bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a frame of %" PRIu64 " bytes", bytes);
    mldfi_store_u32(record + IMAGE_SIZE, (uint32_t)bytes);
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)info->height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)info->width);
    record[IMAGE_CHANNELS] = (uint8_t)info->channels;
    record[IMAGE_MODE] = (uint8_t)mode;
    record[IMAGE_BITS] = (uint8_t)info->bits;
    if (mode == MLDF_IMAGE_MODE_FAST_JPEG) /* the payload says its own */
        record[IMAGE_CHANNELS] = first[2] == 0 ? 1 : 3;
    out->kind = s->raw ? MLDF_KIND_ARRAY : MLDF_KIND_BYTES;
    out->data = data;
    out->bytes = bytes;
    out->record = record;
    out->record_bytes = IMAGE_RECORD;
    return MLDF_OK;
}

/* The frame's own header against the record: decoders believe the record. */
static mldf_status check_size(const mldf_value *image, const mldf_video_info *info, mldf_error *err) {
    mldf_image_info found = MLDF_IMAGE_INFO_INIT;
    mldf_status status = MLDF_OK;
    uint32_t width = info->width, height = info->height;
    uint8_t mode = ((const uint8_t *)image->record)[IMAGE_MODE];
    if (mode == MLDF_IMAGE_MODE_FAST_JPEG) {
        width = mldfi_load_u16((const uint8_t *)image->data + 18);
        height = mldfi_load_u16((const uint8_t *)image->data + 20);
    } else if (mode != MLDF_IMAGE_MODE_RAW) {
        status = mldf_image_probe(image->data, (size_t)image->bytes, &found, err);
        width = found.width;
        height = found.height;
    }
    if (status == MLDF_OK && (width != info->width || height != info->height))
        status = mldfi_fail(err, MLDF_E_CORRUPT,
                            "%" PRIu32 " x %" PRIu32 " pixels, and the record says %" PRIu32 " x %" PRIu32, width,
                            height, info->width, info->height);
    return status;
}

static mldf_status name_frame(uint64_t number, mldf_status status, mldf_error *err) {
    if (status < 0 && err) {
        mldfi_error_prefix(err, "frame %" PRIu64, number);
        err->offset = MLDF_NONE;
    }
    return status;
}

static mldf_status decode_one(mldf_image_decoder *decoder, const struct video_frames_state *s,
                              const mldf_video_info *info, const void *data, uint64_t bytes,
                              const struct frame_wish *wish, struct raster *out, mldf_error *err) {
    uint8_t record[IMAGE_RECORD];
    mldf_value image;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_status status = mldfi_frames_image(s, info, data, bytes, record, &image, err);
    if (status == MLDF_OK)
        status = check_size(&image, info, err);
    if (status < 0)
        return status;
    o.channels = wish->channels;
    o.bits = wish->bits;
    o.scale = (int)wish->scale;
    o.max_bytes = wish->max_bytes;
    o.region = true;
    o.x = wish->x, o.y = wish->y, o.width = wish->width, o.height = wish->height;
    status = mldfi_image_value_view(decoder, &image, &o, out, err);
    if (status == MLDF_OK && (out->width != wish->width || out->height != wish->height ||
                              out->channels != (uint32_t)wish->channels || out->bits != (uint32_t)wish->bits))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu32 " channels of %" PRIu32 " bits, and not those of the field",
                            out->channels, out->bits);
    return status;
}

static mldf_status decode(struct media_kit *kit, const void *state, const mldf_value *value,
                          const struct video_info *video, const struct audio_bytes *in, const uint64_t *numbers,
                          size_t count, const struct frame_wish *wish, frame_taker take, void *user, mldf_error *err) {
    const struct video_frames_state *s = state;
    mldf_video_info info = {.frames = video->times.count,
                            .width = video->width,
                            .height = video->height,
                            .channels = video->channels,
                            .bits = video->bits};
    void *worker;
    (void)value;
    TRY(mldfi_kit_worker(kit, FAMILY_IMAGE, &worker, err));
    struct image_worker *w = worker;
    mldfi_image_decoder_use(&w->decoder, wish->kernels);
    mldf_status status = mldfi_buffer_resize(&w->work, count * sizeof(struct frame_place), err);
    struct frame_place *places = (struct frame_place *)(void *)w->work.data;
    if (status == MLDF_OK && s->raw)
        place_raw(s, video, in->total, numbers, count, places);
    else if (status == MLDF_OK)
        status = place_frames(s, video, in, numbers, count, places, err);
    for (size_t k = 0; k < count && status == MLDF_OK;) {
        const void *data;
        uint64_t begin = places[k].begin;
        size_t end = k + 1; /* one read, as long as there is little between them */
        while (end < count && places[end].begin >= places[end - 1].end &&
               places[end].begin - places[end - 1].end <= GAP_BYTES && places[end].end - begin <= RUN_BYTES)
            end++;
        status = in->get(in->user, begin, places[end - 1].end - begin, &data, err);
        for (; k < end && status == MLDF_OK; k++) {
            struct raster pixels;
            const uint8_t *at = data ? (const uint8_t *)data + (places[k].begin - begin) : NULL;
            status = decode_one(&w->decoder, s, &info, at, places[k].end - places[k].begin, wish, &pixels, err);
            if (status == MLDF_OK)
                status = take(user, k, &pixels, err);
            else
                status = name_frame(numbers[k], status, err);
        }
    }
    return status;
}

const struct frame_source mldfi_video_frames_source = {.extent = extent, .guess = guess, .decode = decode};

mldf_status mldfi_frames_bytes(const struct video_frames_state *s, const struct video_info *info,
                               const mldf_value *value, uint64_t number, mldf_buffer *scratch, const void **data,
                               size_t *bytes, mldf_error *err) {
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct frame_place place;
    mldf_status status = MLDF_OK;
    if (s->raw)
        place_raw(s, info, value->bytes, &number, 1, &place);
    else
        status = place_frames(s, info, &in, &number, 1, &place, err);
    if (status < 0)
        return status;
    *data = memory.data + place.begin;
    *bytes = (size_t)(place.end - place.begin);
    if (s->raw || (*bytes && mldfi_image_detect(*data, *bytes)))
        return MLDF_OK;
    scratch->size = 0;
    status = name_frame(number, mldfi_fast_restore(*data, *bytes, MLDF_IMAGE_MAX_BYTES, scratch, err), err);
    *data = scratch->data;
    *bytes = scratch->size;
    return status;
}

/* ---- Deep ----------------------------------------------------------------------------------------------------------------------- */

static mldf_status check_times(const uint8_t *pts, uint64_t count, mldf_error *err) {
    for (uint64_t i = 1; i < count; i++)
        if ((int64_t)mldfi_load_u64(pts + 8 * i) <= (int64_t)mldfi_load_u64(pts + 8 * (i - 1)))
            return mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 ": its time is not after that of the one before it",
                              i);
    return MLDF_OK;
}

mldf_status mldfi_frames_check(const struct video_frames_state *s, const uint8_t *record, const uint8_t *payload,
                               uint64_t bytes, mldf_error *err) {
    mldf_video_info info;
    mldfi_frames_record_info(s, record, &info);
    uint64_t table = mldfi_frames_table(s, info.frames), last = table;
    mldf_image_decoder *decoder = NULL;
    mldf_status status = s->pts ? check_times(payload + 8 * (info.frames + 1), info.frames, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldf_image_decoder_new(&decoder, err);
    struct frame_wish wish = {
        .width = info.width, .height = info.height, .scale = 1, .channels = (int)info.channels, .bits = (int)info.bits};
    for (uint64_t i = 0; i < info.frames && status == MLDF_OK; i++) {
        struct frame_place place = {mldfi_load_u64(payload + 8 * i), mldfi_load_u64(payload + 8 * i + 8)};
        struct raster pixels;
        status = check_place(i, place, table, bytes, err);
        if (status == MLDF_OK && i && place.begin != last)
            status =
                mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 " does not begin where the one before it ends", i);
        if (status == MLDF_OK && s->raw && place.end - place.begin != info.frame_bytes)
            status =
                mldfi_fail(err, MLDF_E_CORRUPT, "frame %" PRIu64 ": %" PRIu64 " bytes, and its pixels are %" PRIu64, i,
                           place.end - place.begin, info.frame_bytes);
        if (status == MLDF_OK)
            status = name_frame(
                i, decode_one(decoder, s, &info, payload + place.begin, place.end - place.begin, &wish, &pixels, err),
                err);
        last = place.end;
    }
    uint64_t end = info.frames ? last : mldfi_load_u64(payload);
    if (status == MLDF_OK && end != bytes)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "the last frame ends at byte %" PRIu64 " of %" PRIu64, end, bytes);
    mldf_image_decoder_free(decoder);
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    return status;
}
