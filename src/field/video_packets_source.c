/* Videos of packets, as the pipeline reads them (video_source.h): of the tables the entries of the wanted frames, then the packets from the nearest key on.
 * The decoded planes become RGB here, upright, the window alone. */
#include <inttypes.h>
#include <string.h>

#include "field/video_decode.h"
#include "field/video_source.h"
#include "field/video_type.h"
#include "kernel/kernels.h"
#include "kernel/video_rgb.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* The payload's first bytes as they were fetched. */
struct first_bytes {
    const uint8_t *data;
    uint64_t bytes;
};

static mldf_status get_first(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    const struct first_bytes *f = user;
    if (!mldfi_range_inside(offset, bytes, f->bytes))
        return mldfi_fail(err, MLDF_E_TRUNCATED, "bytes %" PRIu64 " to %" PRIu64, offset, offset + bytes);
    *data = f->data + offset;
    return MLDF_OK;
}

/* The table of times, which lies behind the stream table. */
static mldf_status find_times(const mldf_value *value, const void *head, uint64_t head_bytes, struct video_info *out,
                              uint64_t *wanted, mldf_error *err) {
    struct first_bytes first = {head, head_bytes};
    struct audio_bytes in = {get_first, &first, value->bytes};
    struct video_head h;
    if (!head) {
        *wanted = VIDEO_FIRST_LOOK;
        return MLDF_END;
    }
    if (head_bytes < VIDEO_HEAD)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a value of %" PRIu64 " bytes has no video's table", head_bytes);
    uint64_t table = mldfi_load_u64((const uint8_t *)head + 8);
    uint64_t need = table + out->times.count * VIDEO_FRAME;
    if (table > VIDEO_TABLE_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT, "byte 8 of the value: a stream table that ends at byte %" PRIu64, table);
    if (head_bytes < need && head_bytes < value->bytes) {
        *wanted = need;
        return MLDF_END;
    }
    TRY(mldfi_video_open(NULL, &in, &h, err));
    if (h.video.frames != out->times.count ||
        !mldfi_range_inside(h.video.frames_at, out->times.count * VIDEO_FRAME, head_bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT, "the table of %" PRIu64 " frames does not follow the stream table",
                          out->times.count);
    out->times.tick = h.video.tick;
    out->times.pts = (const uint8_t *)head + h.video.frames_at;
    out->times.stride = VIDEO_FRAME;
    const int64_t lasts = h.video.end - h.video.first, most = INT64_C(1) << 58;
    out->times.end = lasts < most ? lasts : most;
    return MLDF_OK;
}

static mldf_status extent(const void *state, const mldf_value *value, const void *head, uint64_t head_bytes, bool times,
                          struct video_info *out, uint64_t *wanted, mldf_error *err) {
    const uint8_t *r = value->record;
    (void)state;
    if (!head) { /* the record is there at the first call alone */
        if (!r || value->record_bytes != VIDEO_RECORD)
            return mldfi_fail(err, MLDF_E_TYPE, "the value is not a video of packets");
        mldf_status status = mldfi_video_check_record(r, value->bytes, err);
        if (status < 0) {
            if (err)
                err->offset = MLDF_NONE;
            return status;
        }
        uint32_t num = mldfi_load_u32(r + VIDEO_FPS_NUM), den = mldfi_load_u32(r + VIDEO_FPS_DEN);
        *out = (struct video_info){
            .width = mldfi_load_u16(r + VIDEO_WIDTH),
            .height = mldfi_load_u16(r + VIDEO_HEIGHT),
            .channels = 3,
            .bits = 8,
            .times = {.count = mldfi_load_u32(r + VIDEO_FRAMES), .tick = {num ? den : 1, num ? num : 1}}};
        head = value->data;
        head_bytes = value->bytes;
    }
    return times ? find_times(value, head, head_bytes, out, wanted, err) : MLDF_OK;
}

static void guess(const void *state, const mldf_value *value, const struct video_info *info, uint64_t first,
                  uint64_t last, uint64_t *offset, uint64_t *bytes) {
    double each = (double)value->bytes / (double)(info->times.count ? info->times.count : 1);
    double back = (double)(first < 16 ? first : 16); /* about where the key is */
    (void)state;
    *offset = (uint64_t)(each * ((double)first - back));
    *bytes = (uint64_t)(each * ((double)(last - first) + back + 2));
    if (*offset > value->bytes)
        *bytes = 0;
    else if (*bytes > value->bytes - *offset)
        *bytes = value->bytes - *offset;
}

/* ---- Planes to pixels ---------------------------------------------------------------------------------------------------------------------- */

struct delivery {
    struct video_worker *w;
    const struct video_stream *stream;
    const struct frame_wish *wish;
    const uint64_t *numbers;
    size_t count;
    frame_taker take;
    void *user;
};

/* What the frame says, else what its container says, else what is usual. */
static mldf_status planes_of(const struct video_stream *v, const struct av_image *i, int unsaid,
                             struct video_planes *out, mldf_error *err) {
    uint32_t matrix = i->matrix != 2 ? i->matrix : v->matrix;
    uint32_t site = i->site ? i->site : v->site;
    bool full = i->full || (v->range == 2);
    if (site == 0)
        site = full && v->codec == AV_VIDEO_MJPEG ? 2 : 1;
    if (matrix == 2 || matrix == 0 || matrix == 3)
        matrix = unsaid == FRAME_BT709 || (unsaid == FRAME_BY_LINES && i->height >= FRAME_HD_LINES) ? 1 : 5;
    if (!i->rgb && i->planes == 3 && !mldfi_video_matrix_known(matrix))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "matrix %" PRIu32 " of ITU-T H.273 is not one that mldf knows",
                          matrix);
    *out = (struct video_planes){.width = i->width,
                                 .height = i->height,
                                 .planes = i->planes,
                                 .bits = i->bits,
                                 .shift_x = i->shift_x,
                                 .shift_y = i->shift_y,
                                 .full = full || i->rgb,
                                 .rgb = i->rgb,
                                 .matrix = matrix,
                                 .between_x = site == 2 || site == 4 || site == 6,
                                 .between_y = site == 1 || site == 2};
    for (int c = 0; c < 3; c++) {
        out->plane[c] = i->plane[c];
        out->stride[c] = i->stride[c];
    }
    return MLDF_OK;
}

/* A window of the upright image as one of the image as it is decoded. */
struct window {
    uint32_t x, y, width, height;
};

static struct window turn_back(const struct video_stream *v, const struct frame_wish *w) {
    struct window o = {w->x, w->y, w->width, w->height};
    const uint32_t W = v->width, H = v->height;
    switch (v->turn) {
    case 1: /* upright (x, y) is decoded (y, H - 1 - x) */
        o = (struct window){w->y, H - w->x - w->width, w->height, w->width};
        break;
    case 2:
        o = (struct window){W - w->x - w->width, H - w->y - w->height, w->width, w->height};
        break;
    case 3: /* upright (x, y) is decoded (W - 1 - y, x) */
        o = (struct window){W - w->y - w->height, w->x, w->height, w->width};
        break;
    default:
        break;
    }
    if (v->mirror)
        o.x = W - o.x - o.width;
    return o;
}

/* Pixels of `bytes` bytes each, from the decoded window into upright order. */
static void turn(const struct video_stream *v, const uint8_t *in, struct window o, size_t bytes, uint32_t width,
                 uint32_t height, uint8_t *out) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t fx = x, fy = y;
            if (v->turn == 1)
                fx = y, fy = o.height - 1 - x;
            else if (v->turn == 2)
                fx = o.width - 1 - x, fy = o.height - 1 - y;
            else if (v->turn == 3)
                fx = o.width - 1 - y, fy = x;
            if (v->mirror)
                fx = o.width - 1 - fx;
            memcpy(out, in + ((size_t)fy * o.width + fx) * bytes, bytes);
            out += bytes;
        }
}

/* RGB to as many channels as are wanted, in place: 1 as libjpeg makes grey, 4 with an alpha of the largest number. */
static void set_channels(uint8_t *pixels, size_t count, int channels, uint32_t bits, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        if (bits == 8 && channels == 1) {
            const uint8_t *p = pixels + 3 * i;
            out[i] = (uint8_t)((19595U * p[0] + 38470U * p[1] + 7471U * p[2] + 32768U) >> 16);
        } else if (bits == 8) {
            memcpy(out + 4 * i, pixels + 3 * i, 3);
            out[4 * i + 3] = 255;
        } else {
            uint16_t p[4];
            memcpy(p, pixels + 6 * i, 6);
            p[3] = 65535;
            if (channels == 1)
                p[0] =
                    (uint16_t)((19595U * (uint64_t)p[0] + 38470U * (uint64_t)p[1] + 7471U * (uint64_t)p[2] + 32768U) >>
                               16);
            memcpy(out + 2 * (size_t)channels * i, p, 2 * (size_t)channels);
        }
    }
}

static mldf_status deliver(void *user, uint64_t number, const struct av_image *image, mldf_error *err) {
    struct delivery *d = user;
    const struct frame_wish *w = d->wish;
    struct video_planes planes;
    struct video_rgb rgb;
    const struct kernels *kernels = w->kernels ? w->kernels : mldfi_kernels_best();
    const size_t pixel = (size_t)3 * ((unsigned)w->bits / 8), count = (size_t)w->width * w->height;
    TRY(planes_of(d->stream, image, w->matrix, &planes, err));
    struct window o = turn_back(d->stream, w);
    const bool turned = d->stream->turn || d->stream->mirror;
    const size_t wide = (size_t)(w->channels > 3 ? w->channels : 3) * ((unsigned)w->bits / 8);
    mldf_status status = mldfi_buffer_resize(&d->w->pixels, 3 * count * wide + 64, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&d->w->rows, mldfi_video_rgb_room(o.width) * sizeof(uint16_t), err);
    if (status < 0)
        return status;
    uint8_t *made = d->w->pixels.data, *out = made;
    mldfi_video_rgb_begin(&rgb, &planes, (uint32_t)w->bits);
    for (uint32_t y = 0; y < o.height; y++)
        mldfi_video_rgb_row(kernels, &rgb, o.x, o.y + y, o.width, (uint16_t *)(void *)d->w->rows.data,
                            made + (size_t)y * o.width * pixel);
    if (turned) {
        out = made + count * wide;
        turn(d->stream, made, o, pixel, w->width, w->height, out);
    }
    if (w->channels != 3) {
        set_channels(out, count, w->channels, (uint32_t)w->bits, made + 2 * count * wide);
        out = made + 2 * count * wide;
    }
    struct raster pixels = {out,
                            w->width,
                            w->height,
                            (uint32_t)w->channels,
                            (uint32_t)w->bits,
                            (size_t)w->width * (unsigned)w->channels * ((unsigned)w->bits / 8)};
    size_t low = 0, high = d->count; /* numbers ascend */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->numbers[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return d->take(d->user, low, &pixels, err);
}

static mldf_status decode(struct media_kit *kit, const void *state, const mldf_value *value,
                          const struct video_info *info, const struct audio_bytes *in, const uint64_t *numbers,
                          size_t count, const struct frame_wish *wish, frame_taker take, void *user, mldf_error *err) {
    struct video_head head;
    void *worker;
    (void)state, (void)value;
    mldf_status status = mldfi_kit_worker(kit, FAMILY_VIDEO, &worker, err);
    if (status == MLDF_OK)
        status = mldfi_video_open(NULL, in, &head, err);
    if (status < 0)
        return status;
    const struct video_stream *v = &head.video;
    const bool sideways = v->turn & 1;
    if (v->frames != info->times.count || (sideways ? v->height : v->width) != info->width ||
        (sideways ? v->width : v->height) != info->height)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the record's frames or size are not the table's");
    uint64_t bytes = (uint64_t)info->width * info->height * (unsigned)wish->channels * ((unsigned)wish->bits / 8);
    uint64_t most = wish->max_bytes ? wish->max_bytes : MEDIA_MAX_BYTES;
    if (bytes > most)
        return mldfi_fail(err, MLDF_E_LIMIT, "a frame of %" PRIu64 " bytes; %" PRIu64 " are allowed", bytes, most);
    struct delivery d = {worker, v, wish, numbers, count, take, user};
    return mldfi_video_decode(worker, &head, in, numbers, count, deliver, &d, err);
}

static const char *decoder(void) {
    const struct av_decode_module *module;
    return mldfi_av_decode_module(&module, NULL) == MLDF_OK ? module->version : NULL;
}

const struct frame_source mldfi_video_packets_source = {extent, guess, decode, decoder};
