/* Values of VIDEO_COMPRESSED that are packed already: frames [first, first + count) of one as a value of their own, and the bytes in which a writer takes such
 * values. Nothing is decoded: the packets from the key that the first frame needs up to the last one that a frame needs are copied, and tables are made for
 * them. Packets whose image is not shown are marked. The sound is left out.
 *
 *     "mldfvpk1" · record 72 · payload */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/media.h"
#include "field/video_type.h"
#include "mldf/video.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const char magic[8] = "mldfvpk1";
enum { PACKED_HEAD = 8 + VIDEO_RECORD };

bool mldfi_video_is_packed(const mldf_value *value) {
    return value->bytes >= PACKED_HEAD && memcmp(value->data, magic, sizeof magic) == 0;
}

mldf_status mldfi_video_take_packed(const struct video_state *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err) {
    const uint8_t *from = value->data;
    uint8_t given[VIDEO_RECORD];
    struct audio_memory memory = {from + PACKED_HEAD};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes - PACKED_HEAD};
    struct video_head head;
    memcpy(given, from + 8, VIDEO_RECORD);
    memset(given, 0, VIDEO_FRAMES); /* ptr and size are the writer's */
    mldfi_store_u64(given + VIDEO_SIZE, in.total);
    mldf_status status = mldfi_video_check_record(given, in.total, err);
    if (status == MLDF_OK)
        status = mldfi_video_open(given, &in, &head, err);
    if (status == MLDF_OK)
        status = mldfi_video_check_tables(&head, &in, err);
    if (status < 0) {
        if (err)
            err->offset = MLDF_NONE;
        return status;
    }
    if (head.sound.there && state && state->silent) {
        scratch->size = 0;
        status = mldfi_video_cut(given, &head, &in, 0, head.video.frames, record, scratch, err);
        *payload = scratch->data;
        *payload_bytes = scratch->size;
        return status;
    }
    if (head.sound.there) {
        struct media_kit kit = {0};
        status = mldfi_video_check_sound(&head, &kit, memory.data, err);
        mldfi_kit_free(&kit);
        if (status < 0 && err)
            err->offset = MLDF_NONE;
        if (status < 0)
            return status;
    }
    memcpy(record, given, VIDEO_RECORD);
    *payload = memory.data;
    *payload_bytes = in.total;
    return MLDF_OK;
}

/* ---- Cut ------------------------------------------------------------------------------------------------------------------------------- */

struct cutting {
    const struct video_head *head;
    const struct audio_bytes *in;
    struct video_parts parts;
    uint32_t start, last; /* packets */
};

/* Times ascend, from the first frame that is taken to the one after the last; nothing else of the table is looked at, so that cutting a long video into many
 * pieces takes no longer than one. */
static mldf_status check_time(const struct video_stream *v, uint32_t frame, int64_t before, int64_t pts,
                              mldf_error *err) {
    if (pts >= before && pts <= v->end - v->first)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CORRUPT,
                      "frame %" PRIu32 " is shown from tick %" PRIi64 " on, the one before from %" PRIi64
                      " on, and the video lasts %" PRIi64,
                      frame, pts, before, v->end - v->first);
}

static mldf_status take_frames(struct cutting *c, uint32_t first, uint32_t count, mldf_error *err) {
    const struct video_stream *v = &c->head->video;
    struct video_parts *p = &c->parts;
    struct video_frame next;
    mldf_status status = mldfi_array_reserve(&p->frames, &p->frame_capacity, count, sizeof *p->frames, err);
    if (status == MLDF_OK)
        status = mldfi_video_frames(c->head, c->in, first, count, p->frames, err);
    if (status < 0)
        return status;
    p->frame_count = count;
    c->start = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        TRY(check_time(v, first + i, i ? p->frames[i - 1].pts : 0, p->frames[i].pts, err));
        c->start = p->frames[i].start < c->start ? p->frames[i].start : c->start;
        c->last = p->frames[i].packet > c->last ? p->frames[i].packet : c->last;
    }
    const int64_t zero = p->frames[0].pts;
    p->video.first = v->first + zero;
    p->video.end = v->end;
    if ((uint64_t)first + count < v->frames) {
        TRY(mldfi_video_frames(c->head, c->in, first + count, 1, &next, err));
        TRY(check_time(v, first + count, p->frames[count - 1].pts, next.pts, err));
        p->video.end = v->first + next.pts;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct video_frame *f = &p->frames[i];
        f->pts -= zero;
        f->packet -= c->start;
        f->start -= c->start;
    }
    return status;
}

static mldf_status take_packets(struct cutting *c, mldf_error *err) {
    struct video_parts *p = &c->parts;
    const uint32_t count = c->last - c->start + 1;
    const void *data = NULL;
    uint64_t end = 0;
    mldf_status status = mldfi_array_reserve(&p->packets, &p->packet_capacity, count, sizeof *p->packets, err);
    if (status == MLDF_OK)
        status = mldfi_video_packets(c->head, c->in, c->start, count, &end, p->packets, err);
    if (status < 0)
        return status;
    p->packet_count = count;
    const uint64_t begin = p->packets[0].offset;
    if (end > begin)
        status = c->in->get(c->in->user, begin, end - begin, &data, err);
    if (status == MLDF_OK && end > begin)
        status = mldf_buffer_append(&p->data, data, (size_t)(end - begin), err);
    for (uint32_t i = 0; i < count; i++) {
        p->packets[i].offset -= begin;
        p->packets[i].flags |= PACKET_DISCARD;
    }
    for (size_t i = 0; i < p->frame_count; i++)
        p->packets[p->frames[i].packet - p->frames[i].back].flags &= (uint16_t)~PACKET_DISCARD;
    return status;
}

static mldf_status take_configs(struct cutting *c, mldf_error *err) {
    struct video_parts *p = &c->parts;
    const uint32_t count = c->head->video.configs;
    mldf_status status = mldfi_array_reserve(&p->configs, &p->config_capacity, count, sizeof *p->configs, err);
    for (uint32_t i = 0; i < count && status == MLDF_OK; i++) {
        const uint8_t *data;
        uint32_t bytes;
        status = mldfi_video_config(c->head, c->in, i, &data, &bytes, err);
        if (status < 0)
            break;
        p->configs[p->config_count++] = (struct video_config){p->extra.size, bytes};
        if (p->extra.size + bytes > VIDEO_TABLE_MAX)
            return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu32 " configurations of more than %zu bytes", count,
                              p->extra.size);
        if (bytes)
            status = mldf_buffer_append(&p->extra, data, bytes, err);
    }
    return status;
}

mldf_status mldfi_video_cut(const uint8_t *whole, const struct video_head *head, const struct audio_bytes *in,
                            uint32_t first, uint32_t count, uint8_t *record, mldf_buffer *out, mldf_error *err) {
    struct cutting c = {.head = head, .in = in};
    if (count == 0 || !mldfi_range_inside(first, count, head->video.frames))
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu32 " frames from %" PRIu32 " on, and the video has %" PRIu32,
                          count, first, head->video.frames);
    c.parts.video = head->video;
    c.parts.fps_num = mldfi_load_u32(whole + VIDEO_FPS_NUM);
    c.parts.fps_den = mldfi_load_u32(whole + VIDEO_FPS_DEN);
    mldf_status status = take_frames(&c, first, count, err);
    if (status == MLDF_OK)
        status = take_packets(&c, err);
    if (status == MLDF_OK)
        status = take_configs(&c, err);
    memset(record, 0, VIDEO_RECORD);
    if (status == MLDF_OK)
        status = mldfi_video_build(&c.parts, record, out, err);
    mldfi_video_parts_free(&c.parts);
    return status;
}

/* ---- mldf/video.h -------------------------------------------------------------------------------------------------------------------------- */

/* Room for what stands in front of the payload. */
static mldf_status begin_packed(mldf_buffer *out, mldf_error *err) {
    uint8_t *to;
    mldf_status status = mldfi_buffer_extend(out, PACKED_HEAD, &to, err);
    if (status == MLDF_OK) {
        memset(to, 0, PACKED_HEAD);
        memcpy(to, magic, sizeof magic);
    }
    return status;
}

/* On failure nothing was appended. */
static mldf_status end_packed(mldf_status status, mldf_buffer *out, size_t at, uint8_t *record) {
    if (status < 0) {
        out->size = at;
        return status;
    }
    mldfi_store_u64(record + VIDEO_SIZE, out->size - at - PACKED_HEAD);
    memcpy(out->data + at + 8, record, VIDEO_RECORD);
    return MLDF_OK;
}

static mldf_status check_field(const mldf_schema *schema, size_t field, mldf_error *err) {
    if (!schema || field >= schema->field_count || schema->fields[field].type != &mldfi_type_video_compressed)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a field of type video_compressed is needed");
    return MLDF_OK;
}

mldf_status mldf_video_pack(const mldf_schema *schema, size_t field, const void *file, size_t bytes, mldf_buffer *out,
                            mldf_error *err) {
    uint8_t record[VIDEO_RECORD] = {0};
    const mldf_value value = {.kind = MLDF_KIND_BYTES, .data = file, .bytes = bytes};
    mldf_buffer made = MLDF_BUFFER_INIT;
    const void *payload;
    uint64_t payload_bytes;
    void *worker = NULL;
    if (!out || !file)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_video_pack: file or out is NULL");
    const size_t at = out->size;
    mldf_status status = check_field(schema, field, err);
    if (status == MLDF_OK)
        status = mldfi_media_video.open(&worker, err);
    if (status < 0)
        return status;
    status =
        mldfi_video_encode_worker(&schema->fields[field], worker, &value, record, &made, &payload, &payload_bytes, err);
    mldfi_media_video.close(worker);
    if (status == MLDF_OK)
        status = begin_packed(out, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, payload, (size_t)payload_bytes, err);
    mldf_buffer_free(&made);
    return end_packed(status, out, at, record);
}

mldf_status mldf_video_cut(const mldf_schema *schema, size_t field, const mldf_value *value, uint64_t first,
                           uint64_t count, mldf_buffer *out, mldf_error *err) {
    uint8_t record[VIDEO_RECORD] = {0};
    struct video_head head;
    if (!out || !value || !value->data || !value->record || value->record_bytes != VIDEO_RECORD)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_video_cut: a stored video and a buffer are needed");
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    const size_t at = out->size;
    mldf_status status = check_field(schema, field, err);
    if (status == MLDF_OK)
        status = mldfi_video_check_record(value->record, value->bytes, err);
    if (status == MLDF_OK)
        status = mldfi_video_open(value->record, &in, &head, err);
    if (status == MLDF_OK && (first > UINT32_MAX || count > UINT32_MAX))
        status = mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " frames from %" PRIu64 " on, and the video has %" PRIu32,
                            count, first, head.video.frames);
    if (status == MLDF_OK)
        status = begin_packed(out, err);
    if (status == MLDF_OK)
        status = mldfi_video_cut(value->record, &head, &in, (uint32_t)first, (uint32_t)count, record, out, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    return end_packed(status, out, at, record);
}
