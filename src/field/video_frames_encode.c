/* From a caller's frames to the payload and record of VIDEO_FRAMES. A value is a list of image files (mldf_video_list made it) or an array
 * [frames, height, width(, channels)]. Each frame goes the way of an image field's value, so files stay as they are unless the arguments ask for more.
 *
 * The list, which is never stored: "mldfvfr1" · count u32 · flags u32 (1: pts) · fps_num u32 · fps_den u32 · ends u64[count] · pts i64[count] · frames */
#include <inttypes.h>
#include <string.h>

#include "field/video_frames.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { LIST_HEAD = 24, LIST_PTS = 1 };
static const char list_magic[] = "mldfvfr1";

mldf_status mldf_video_list(const mldf_frame *frames, size_t count, uint32_t fps_num, uint32_t fps_den,
                            const int64_t *pts, mldf_buffer *out, mldf_error *err) {
    uint64_t end = 0, table = LIST_HEAD + 8 * (uint64_t)count * (pts ? 2 : 1);
    uint8_t *at;
    if ((!frames && count) || !out || count > UINT32_MAX || fps_num == 0 || fps_den == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a list of frames needs up to 2^32 - 1 of them, frames a second above 0 and a buffer");
    for (size_t i = 0; i < count; i++)
        if ((!frames[i].data && frames[i].bytes) || !mldfi_add_u64(end, frames[i].bytes, &end) || end > SIZE_MAX / 4)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "frame %zu: %zu bytes", i, frames[i].bytes);
    TRY(mldfi_buffer_extend(out, (size_t)(table + end), &at, err));
    memcpy(at, list_magic, 8);
    mldfi_store_u32(at + 8, (uint32_t)count);
    mldfi_store_u32(at + 12, pts ? LIST_PTS : 0);
    mldfi_store_u32(at + 16, fps_num);
    mldfi_store_u32(at + 20, fps_den);
    uint8_t *to = at + table;
    end = 0;
    for (size_t i = 0; i < count; i++) {
        if (frames[i].bytes)
            memcpy(to + end, frames[i].data, frames[i].bytes);
        end += frames[i].bytes;
        mldfi_store_u64(at + LIST_HEAD + 8 * i, end);
        if (pts)
            mldfi_store_u64(at + LIST_HEAD + 8 * (count + i), (uint64_t)pts[i]);
    }
    return MLDF_OK;
}

/* ---- What is given -------------------------------------------------------------------------------------------------------------- */

struct frames_input {
    const struct video_frames_state *s;
    uint64_t count;
    uint32_t fps_num, fps_den;
    const uint8_t *ends, *pts, *frames; /* of a list; pts may be NULL */
    const mldf_value *array;            /* or this */
    uint64_t step;                      /* bytes of one of its frames */
};

static mldf_status take_list(struct frames_input *in, const mldf_value *v, mldf_error *err) {
    const uint8_t *data = v->data;
    if (v->bytes < LIST_HEAD || memcmp(data, list_magic, 8) != 0)
        return mldfi_fail(err, MLDF_E_TYPE, "%" PRIu64 " bytes that are no list of frames (mldf_video_list makes one)",
                          v->bytes);
    in->count = mldfi_load_u32(data + 8);
    bool pts = mldfi_load_u32(data + 12) & LIST_PTS;
    in->fps_num = mldfi_load_u32(data + 16);
    in->fps_den = mldfi_load_u32(data + 20);
    uint64_t table = LIST_HEAD + 8 * in->count * (pts ? 2 : 1), rest = v->bytes - table, last = 0;
    if (v->bytes < table || in->fps_num == 0 || in->fps_den == 0)
        return mldfi_fail(err, MLDF_E_TYPE, "a list of %" PRIu64 " frames that is cut short", in->count);
    in->ends = data + LIST_HEAD;
    in->pts = pts ? in->ends + 8 * in->count : NULL;
    in->frames = data + table;
    for (uint64_t i = 0; i < in->count; i++) {
        uint64_t end = mldfi_load_u64(in->ends + 8 * i);
        if (end < last || end > rest)
            return mldfi_fail(err, MLDF_E_TYPE, "frame %" PRIu64 " of the list ends at byte %" PRIu64 " of %" PRIu64, i,
                              end, rest);
        last = end;
    }
    return MLDF_OK;
}

static mldf_status take_array(struct frames_input *in, const mldf_value *v, mldf_error *err) {
    uint64_t channels = v->ndim == 4 ? v->dims[3] : 1, wanted;
    if ((v->ndim != 3 && v->ndim != 4) || channels != in->s->channels)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "an array of %" PRIu32 " dimensions%s; frames are [frames, height, width, %" PRIu32 "]%s",
                          v->ndim, v->ndim == 4 ? " and another number of channels" : "", in->s->channels,
                          in->s->channels == 1 ? " or without the last" : "");
    if (v->dtype != (in->s->bits == 16 ? MLDF_U16 : MLDF_U8))
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s, and the field's frames have %" PRIu32 " bits",
                          v->dtype == MLDF_DTYPE_NONE ? "no dtype" : mldf_dtype_name(v->dtype), in->s->bits);
    if (!mldfi_array_bytes(v->dims, v->ndim, v->dtype, &wanted) || wanted != v->bytes || v->dims[0] > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes, which are not those of the shape", v->bytes);
    if (v->dims[0] && (v->dims[1] == 0 || v->dims[2] == 0))
        return mldfi_fail(err, MLDF_E_RANGE, "frames of %" PRIu64 " x %" PRIu64 " pixels", v->dims[2], v->dims[1]);
    in->array = v;
    in->count = v->dims[0];
    in->step = in->count ? v->bytes / in->count : 0;
    in->fps_num = in->s->fps_num;
    in->fps_den = in->s->fps_den;
    return MLDF_OK;
}

static mldf_status take(struct frames_input *in, const mldf_value *v, mldf_error *err) {
    mldf_status status = mldfi_check_data(v, err);
    if (status == MLDF_OK && v->kind == MLDF_KIND_ARRAY)
        status = take_array(in, v, err);
    else if (status == MLDF_OK && v->kind == MLDF_KIND_BYTES)
        status = take_list(in, v, err);
    else if (status == MLDF_OK)
        status = mldfi_wrong_kind(v, "an array or a list of frames", err);
    if (status == MLDF_OK && in->s->pts != (in->pts != NULL) && in->count)
        status = mldfi_fail(err, MLDF_E_TYPE, "%s",
                            in->pts ? "the frames have times of their own, and the field has no \"pts\":true"
                                    : "the field has \"pts\":true, and the frames come without times");
    for (uint64_t i = 1; status == MLDF_OK && in->pts && i < in->count; i++)
        if ((int64_t)mldfi_load_u64(in->pts + 8 * i) <= (int64_t)mldfi_load_u64(in->pts + 8 * (i - 1)))
            status =
                mldfi_fail(err, MLDF_E_RANGE, "frame %" PRIu64 ": its time is not after that of the one before it", i);
    return status;
}

/* ---- Frames ---------------------------------------------------------------------------------------------------------------------- */

static mldf_value frame_value(const struct frames_input *in, uint64_t i) {
    mldf_value out = {.kind = MLDF_KIND_BYTES};
    if (in->array) {
        out.kind = MLDF_KIND_ARRAY;
        out.dtype = in->array->dtype;
        out.ndim = 3;
        out.dims[0] = in->array->dims[1];
        out.dims[1] = in->array->dims[2];
        out.dims[2] = in->s->channels;
        out.data = (const uint8_t *)in->array->data + i * in->step;
        out.bytes = in->step;
        return out;
    }
    uint64_t begin = i ? mldfi_load_u64(in->ends + 8 * (i - 1)) : 0;
    out.data = in->frames + begin;
    out.bytes = mldfi_load_u64(in->ends + 8 * i) - begin;
    return out;
}

/* What a frame became must be what the field holds, and as large as the first. */
static mldf_status check_frame(const struct video_frames_state *s, const uint8_t *image, const uint8_t *first,
                               mldf_error *err) {
    mldf_image_info info;
    mldfi_image_record_info(image, &info);
    bool jpeg = info.mode == MLDF_IMAGE_MODE_JPEG || info.mode == MLDF_IMAGE_MODE_FAST_JPEG;
    if (s->jpeg && !jpeg)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "a %s file, and the field's frames are JPEG; use \"mode\":\"image\" or \"encode\":\"jpeg\"",
                          mldf_image_mode_name(info.mode));
    if (s->raw && (info.channels != s->channels || info.bits != s->bits))
        return mldfi_fail(err, MLDF_E_TYPE,
                          "%u channels of %u bits, and the field's frames have %" PRIu32 " of %" PRIu32, info.channels,
                          info.bits, s->channels, s->bits);
    if (memcmp(image + IMAGE_HEIGHT, first + IMAGE_HEIGHT, 4) == 0)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_TYPE, "%" PRIu32 " x %" PRIu32 " pixels, and the first frame has %u x %u", info.width,
                      info.height, mldfi_load_u16(first + IMAGE_WIDTH), mldfi_load_u16(first + IMAGE_HEIGHT));
}

/* Arrays that are kept, and not as pixels, become PNG: nothing is lost. */
static struct image_state treatment(const struct frames_input *in) {
    struct image_state state = in->s->image;
    if (in->array && state.encode == ENCODE_KEEP)
        state.id = in->s->jpeg ? MLDF_IMAGE_JPEG : MLDF_IMAGE_PNG;
    if (in->array && state.encode == ENCODE_FAST_JPEG)
        state.quality_given = true;
    return state;
}

static mldf_status add_frames(const struct frames_input *in, struct image_worker *worker, uint8_t *first,
                              mldf_buffer *out, mldf_error *err) {
    const struct image_state state = treatment(in);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < in->count && status == MLDF_OK; i++) {
        mldf_value frame = frame_value(in, i);
        uint8_t image[IMAGE_RECORD] = {0};
        const void *data;
        uint64_t bytes;
        status = mldfi_image_encode_with(worker, &state, &frame, image, &scratch, &data, &bytes, err);
        if (status == MLDF_OK && i == 0)
            memcpy(first, image, IMAGE_RECORD);
        if (status == MLDF_OK)
            status = check_frame(in->s, image, first, err);
        if (status < 0)
            mldfi_error_prefix(err, "frame %" PRIu64, i);
        else
            status = mldf_buffer_append(out, data, (size_t)bytes, err);
        mldfi_store_u64(out->data + 8 * (i + 1), out->size);
    }
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status encode_with(const struct video_frames_state *s, struct image_worker *worker, const mldf_value *value,
                               uint8_t *record, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                               mldf_error *err) {
    struct frames_input in = {.s = s};
    uint8_t first[IMAGE_RECORD] = {0};
    mldf_status status = take(&in, value, err);
    scratch->size = 0;
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(scratch, (size_t)mldfi_frames_table(s, in.count), err);
    if (status < 0)
        return status;
    if (in.pts && in.count)
        memcpy(scratch->data + 8 * (in.count + 1), in.pts, 8 * (size_t)in.count);
    mldfi_store_u64(scratch->data, scratch->size);
    TRY(add_frames(&in, worker, first, scratch, err));
    mldfi_store_u32(record + FRAMES_COUNT, (uint32_t)in.count);
    memcpy(record + FRAMES_HEIGHT, first + IMAGE_HEIGHT, 4);
    mldfi_store_u32(record + FRAMES_FPS_NUM, in.fps_num);
    mldfi_store_u32(record + FRAMES_FPS_DEN, in.fps_den);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    return MLDF_OK;
}
_Static_assert(IMAGE_WIDTH == IMAGE_HEIGHT + 2 && FRAMES_WIDTH == FRAMES_HEIGHT + 2, "both are copied as one");

mldf_status mldfi_frames_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    struct image_worker own;
    (void)user;
    memset(&own, 0, sizeof own);
    mldf_status status = encode_with(state, &own, value, record, scratch, payload, payload_bytes, err);
    mldfi_image_worker_end(&own);
    return status;
}

mldf_status mldfi_frames_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                       uint8_t *record, mldf_buffer *scratch, const void **payload,
                                       uint64_t *payload_bytes, mldf_error *err) {
    return encode_with(field->state, worker, value, record, scratch, payload, payload_bytes, err);
}
