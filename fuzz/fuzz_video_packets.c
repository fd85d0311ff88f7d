/* The input is a record without ptr and size (56 bytes) and the payload of a video of packets, whose CRC is made right: it is checked, its times are read,
 * some of its frames decoded, it is exported and cut. Nothing may crash, whatever tables and packets say. */
#include <stdlib.h>
#include <string.h>

#include "field/video_source.h"
#include "field/video_type.h"
#include "mldf/video.h"
#include "util/bytes.h"
#include "util/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mldf_status look(void *user, size_t k, const struct raster *pixels, mldf_error *err) {
    uint64_t *sum = user;
    (void)k, (void)err;
    *sum += pixels->data[0] + pixels->data[(size_t)(pixels->height - 1) * pixels->stride + pixels->width - 1];
    return MLDF_OK;
}

/* A part of it, which then must be right. */
static void cut(const mldf_schema *schema, const mldf_value *value) {
    mldf_buffer made = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    uint8_t record[VIDEO_RECORD];
    const uint64_t frames = mldfi_load_u32((const uint8_t *)value->record + VIDEO_FRAMES);
    const void *payload;
    uint64_t bytes;
    mldf_error err;
    if (mldf_video_cut(schema, 0, value, frames / 3, frames - frames / 2, &made, &err) == MLDF_OK) {
        const mldf_value packed = {.kind = MLDF_KIND_BYTES, .data = made.data, .bytes = made.size};
        if (mldfi_video_take_packed(NULL, &packed, record, &scratch, &payload, &bytes, &err) < 0)
            abort();
    }
    mldf_buffer_free(&made);
    mldf_buffer_free(&scratch);
}

static void read_frames(struct media_kit *kit, const mldf_value *value) {
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct video_info info;
    uint64_t wanted, sum = 0, numbers[3];
    mldf_error err;
    const struct frame_source *source = &mldfi_video_packets_source;
    if (source->extent(NULL, value, NULL, 0, true, &info, &wanted, &err) != MLDF_OK || info.times.count == 0 ||
        (uint64_t)info.width * info.height > 1 << 16)
        return;
    numbers[0] = 0;
    numbers[1] = info.times.count / 2;
    numbers[2] = info.times.count - 1;
    struct frame_wish wish = {.width = info.width, .height = info.height, .scale = 1, .channels = 3, .bits = 8};
    for (size_t i = 0; i < 3; i++)
        (void)source->decode(kit, NULL, value, &info, &in, numbers + i, 1, &wish, look, &sum, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    struct media_kit kit = {0};
    struct export_room room = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    struct exported made = {0};
    uint8_t record[VIDEO_RECORD] = {0}, *payload;
    mldf_value value;
    enum { REST = VIDEO_RECORD - VIDEO_FRAMES };
    if (size < REST + VIDEO_HEAD || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    size_t bytes = size - REST;
    payload = malloc(bytes);
    memcpy(record + VIDEO_FRAMES, data, REST);
    memcpy(payload, data + REST, bytes);
    uint64_t table = mldfi_load_u64(payload + 8);
    if (table >= VIDEO_HEAD && table <= bytes)
        mldfi_store_u32(payload + 56,
                        mldfi_crc32c(mldfi_crc32c(0, payload, 56), payload + VIDEO_HEAD, (size_t)table - VIDEO_HEAD));
    if (mldf_schema_add(schema, "v", MLDF_VIDEO_COMPRESSED, NULL, 0, &err) == MLDF_OK &&
        mldfi_field_decode(&schema->fields[0], record, 0, payload, bytes, 0, NULL, &value, &err) == MLDF_OK) {
        read_frames(&kit, &value);
        if (mldfi_load_u32(record + VIDEO_FRAMES) < 1000)
            (void)mldfi_field_check_deep(&schema->fields[0], &kit, record, 0, payload, bytes, 0, &err);
        (void)schema->fields[0].type->export(&schema->fields[0], &value, &kit, &room, &made, &err);
        cut(schema, &value);
    }
    mldfi_export_room_free(&room);
    mldfi_kit_free(&kit);
    free(payload);
    mldf_schema_free(schema);
    return 0;
}
