/* The input is a choice of arguments (1 byte), a record without ptr and size (16 bytes) and the payload of a video that is stored frame by frame: its times are
 * read and searched, frames decoded in any order and whole, the value checked and written again. Nothing may crash, whatever tables and frames say. */
#include <stdlib.h>
#include <string.h>

#include "field/video_frames.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const arguments[] = {"{}",
                                        "{\"mode\":\"image\",\"pts\":true}",
                                        "{\"mode\":\"raw\"}",
                                        "{\"bits\":16,\"channels\":1,\"mode\":\"raw\",\"pts\":true}",
                                        "{\"channels\":1,\"mode\":\"image\"}",
                                        "{\"channels\":4,\"mode\":\"image\"}"};

static void look(const mldf_schema *schema, const mldf_value *value) {
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const void *frame;
    size_t bytes;
    if (mldf_video_info_of(schema, 0, value, &info, &err) < 0 || info.frames == 0 || info.frames > 4096)
        return;
    int64_t *pts = malloc((size_t)info.frames * 8);
    uint64_t numbers[4] = {info.frames - 1, 0, info.frames / 2, 0}, found = 0;
    mldf_status ignored = mldf_video_times(schema, 0, value, pts, (size_t)info.frames, &err);
    for (int i = -3; i < 4; i++)
        if (mldf_video_find(schema, 0, value, i * 1e3 + 0.1, &found, &err) == MLDF_OK && found >= info.frames)
            abort();
    if (info.frame_bytes <= 1 << 20) {
        size_t all = 4 * (size_t)info.frame_bytes;
        void *pixels = malloc(all ? all : 1);
        ignored = mldf_video_decode(schema, 0, value, numbers, 4, pixels, all, &err);
        free(pixels);
    }
    ignored = mldf_video_frame(schema, 0, value, info.frames - 1, &scratch, &frame, &bytes, &err);
    (void)ignored;
    mldf_buffer_free(&scratch);
    free(pts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    struct media_kit kit = {0};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint8_t record[FRAMES_RECORD] = {0};
    mldf_value value, list = {.kind = MLDF_KIND_BYTES};
    const void *made;
    uint64_t made_bytes;
    if (size < 17 || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    size_t bytes = size - 17, choice = data[0] % (sizeof arguments / sizeof arguments[0]);
    uint8_t *payload = malloc(bytes ? bytes : 1);
    memcpy(record + FRAMES_COUNT, data + 1, 16);
    memcpy(payload, data + 17, bytes);
    mldfi_store_u64(record + FRAMES_SIZE, bytes);
    if (mldf_schema_add(schema, "v", MLDF_VIDEO_FRAMES, arguments[choice], 0, &err) == MLDF_OK &&
        mldfi_field_decode(&schema->fields[0], record, 0, payload, bytes, 0, NULL, &value, &err) == MLDF_OK) {
        look(schema, &value);
        if ((uint64_t)mldfi_load_u16(record + FRAMES_HEIGHT) * mldfi_load_u16(record + FRAMES_WIDTH) < 1 << 18)
            (void)mldfi_field_check_deep(&schema->fields[0], &kit, record, 0, payload, bytes, 0, &err);
    }
    /* The same bytes as a list of frames from a caller. */
    list.data = payload;
    list.bytes = bytes;
    if (schema->field_count)
        (void)mldfi_field_encode(&schema->fields[0], &kit, false, &list, record, &scratch, &made, &made_bytes, &err);
    mldf_buffer_free(&scratch);
    mldfi_kit_free(&kit);
    free(payload);
    mldf_schema_free(schema);
    return 0;
}
