/* mldf/video.h: frames of one value, for callers who have it in memory. Pipelines read less: src/pipeline/source_video.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/video_frames.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

struct opened {
    struct edge edge;
    struct video_info info;
};

static mldf_status open_value(const mldf_schema *schema, size_t field, const mldf_value *value, bool times,
                              struct opened *out, mldf_error *err) {
    uint64_t wanted = 0;
    memset(out, 0, sizeof *out);
    if (!schema || field >= schema->field_count || !value)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a schema, a field of it and a value are needed");
    const struct schema_field *f = &schema->fields[field];
    mldf_status status = f->type && f->type->edge ? f->type->edge(f, NULL, &out->edge, err) : MLDF_OK;
    if (status >= 0 && (!out->edge.video || !value->record || !value->data))
        status = mldfi_fail(err, MLDF_E_TYPE, "field %s: the value is not a stored video", f->name);
    if (status >= 0)
        status = out->edge.video->extent(out->edge.video_state, value, NULL, 0, times, &out->info, &wanted, err);
    if (status == MLDF_END)
        status = out->edge.video->extent(out->edge.video_state, value, value->data, value->bytes, times, &out->info,
                                         &wanted, err);
    if (status == MLDF_END)
        status =
            mldfi_fail(err, MLDF_E_CORRUPT, "the table of the video is not in its %" PRIu64 " bytes", value->bytes);
    return status;
}

mldf_status mldf_video_info_of(const mldf_schema *schema, size_t field, const mldf_value *value, mldf_video_info *out,
                               mldf_error *err) {
    struct opened o;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_video_info_of: out is NULL");
    mldf_status status = mldfi_check_result("mldf_video_info", out, err);
    if (status >= 0)
        status = open_value(schema, field, value, true, &o, err);
    if (status < 0)
        return status;
    const mldf_video_info info = {.frames = o.info.times.count,
                                  .width = o.info.width,
                                  .height = o.info.height,
                                  .channels = o.info.channels,
                                  .bits = o.info.bits,
                                  .tick_num = (uint32_t)o.info.times.tick.num,
                                  .tick_den = (uint32_t)o.info.times.tick.den,
                                  .pts = o.info.times.pts != NULL,
                                  .frame_bytes =
                                      (uint64_t)o.info.width * o.info.height * o.info.channels * (o.info.bits / 8)};
    mldfi_give_result(out, &info, sizeof info);
    return MLDF_OK;
}

mldf_status mldf_video_times(const mldf_schema *schema, size_t field, const mldf_value *value, int64_t *pts,
                             size_t count, mldf_error *err) {
    struct opened o;
    mldf_status status = open_value(schema, field, value, true, &o, err);
    if (status == MLDF_OK && (count != o.info.times.count || (!pts && count)))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "room for %zu times, and the video has %" PRIu64 " frames", count,
                            o.info.times.count);
    for (size_t i = 0; i < count && status == MLDF_OK; i++)
        pts[i] = (int64_t)mldfi_frame_pts(&o.info.times, i);
    return status;
}

mldf_status mldf_video_find(const mldf_schema *schema, size_t field, const mldf_value *value, double seconds,
                            uint64_t *number, mldf_error *err) {
    struct opened o;
    TRY(number ? open_value(schema, field, value, true, &o, err)
               : mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_video_find: number is NULL"));
    if (o.info.times.count == 0)
        return mldfi_fail(err, MLDF_E_RANGE, "the video has no frames");
    *number = mldfi_frame_at_seconds(&o.info.times, seconds);
    if (*number == MLDF_NONE)
        *number = 0;
    return MLDF_OK;
}

/* ---- Pixels --------------------------------------------------------------------------------------------------------------------- */

struct order {
    uint64_t number;
    size_t k;
};

static int by_number(const void *a, const void *b) {
    const struct order *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct copying {
    const struct order *order;
    size_t count, *first; /* of each different number: its place in order */
    uint8_t *pixels;
    size_t frame_bytes;
};

static mldf_status take_frame(void *user, size_t j, const struct raster *image, mldf_error *err) {
    const struct copying *c = user;
    const struct order *o = c->order + c->first[j];
    uint8_t *to = c->pixels + o->k * c->frame_bytes;
    size_t row = (size_t)image->width * image->channels * (image->bits / 8);
    (void)err;
    for (uint32_t y = 0; y < image->height; y++)
        memcpy(to + y * row, image->data + y * image->stride, row);
    for (const struct order *next = o + 1; next < c->order + c->count && next->number == o->number; next++)
        memcpy(c->pixels + next->k * c->frame_bytes, to, c->frame_bytes);
    return MLDF_OK;
}

static mldf_status decode_sorted(const struct opened *o, const mldf_value *value, struct copying *c, uint64_t *unique,
                                 mldf_error *err) {
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct media_kit kit = {0};
    struct frame_wish wish = {.width = o->info.width,
                              .height = o->info.height,
                              .scale = 1,
                              .channels = (int)o->info.channels,
                              .bits = (int)o->info.bits};
    size_t used = 0;
    for (size_t i = 0; i < c->count; i++)
        if (i == 0 || c->order[i].number != c->order[i - 1].number) {
            c->first[used] = i;
            unique[used++] = c->order[i].number;
        }
    mldf_status status = used ? o->edge.video->decode(&kit, o->edge.video_state, value, &o->info, &in, unique, used,
                                                      &wish, take_frame, c, err)
                              : MLDF_OK;
    mldfi_kit_free(&kit);
    return status;
}

mldf_status mldf_video_decode(const mldf_schema *schema, size_t field, const mldf_value *value, const uint64_t *numbers,
                              size_t count, void *pixels, size_t pixels_bytes, mldf_error *err) {
    struct opened o;
    TRY(open_value(schema, field, value, false, &o, err));
    uint64_t each = (uint64_t)o.info.width * o.info.height * o.info.channels * (o.info.bits / 8), all;
    if (!mldfi_mul_u64(each, count, &all) || all != pixels_bytes || (count && (!numbers || !pixels)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%zu bytes for %zu frames of %" PRIu64, pixels_bytes, count, each);
    struct order *order = mldfi_alloc_zero(count + 1, sizeof *order, err);
    uint64_t *unique = mldfi_alloc_zero(count + 1, sizeof *unique, err);
    size_t *first = mldfi_alloc_zero(count + 1, sizeof *first, err);
    mldf_status status = order && unique && first ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        if (numbers[i] >= o.info.times.count)
            status = mldfi_fail(err, MLDF_E_RANGE, "no frame %" PRIu64 ": the video has %" PRIu64, numbers[i],
                                o.info.times.count);
        order[i] = (struct order){numbers[i], i};
    }
    if (status == MLDF_OK) {
        struct copying c = {order, count, first, pixels, (size_t)each};
        qsort(order, count, sizeof *order, by_number);
        status = decode_sorted(&o, value, &c, unique, err);
    }
    free(order);
    free(unique);
    free(first);
    return status;
}

mldf_status mldf_video_frame(const mldf_schema *schema, size_t field, const mldf_value *value, uint64_t number,
                             mldf_buffer *scratch, const void **data, size_t *bytes, mldf_error *err) {
    struct opened o;
    mldf_status status = open_value(schema, field, value, false, &o, err);
    if (status == MLDF_OK && (o.edge.video != &mldfi_video_frames_source || !data || !bytes || !scratch))
        status = mldfi_fail(err, MLDF_E_TYPE, "the video is not stored frame by frame");
    if (status == MLDF_OK && number >= o.info.times.count)
        status =
            mldfi_fail(err, MLDF_E_RANGE, "no frame %" PRIu64 ": the video has %" PRIu64, number, o.info.times.count);
    if (status < 0)
        return status;
    return mldfi_frames_bytes(o.edge.video_state, &o.info, value, number, scratch, data, bytes, err);
}
