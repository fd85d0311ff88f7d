/* The input is a record without ptr and size (16 bytes) and the payload of a compressed recording, whose CRC is made right: it is checked, decoded, read by a
 * window and exported. Nothing may crash, whatever table and packets say. */
#include <stdlib.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/audio_type.h"
#include "util/bytes.h"
#include "util/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_window(struct media_kit *kit, const mldf_value *value, const mldf_audio_info *info) {
    enum { WINDOW = 3000 };
    static float out[2][WINDOW];
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    mldf_error err;
    void *worker;
    if (mldfi_kit_worker(kit, FAMILY_AUDIO, &worker, &err) < 0 || info->channels > 2)
        return;
    for (int i = 0; i < 3; i++) {
        uint64_t count = info->samples < WINDOW ? info->samples : WINDOW, last = info->samples - count;
        uint64_t from = i == 0 ? last : i == 1 ? last / 2 : 0;
        const struct audio_want want = {.mono = i == 2, .choice = {.portable = i == 1, .ffmpeg_opus = i == 1}};
        (void)mldfi_audio_window(worker, info, &in, from, count, &want, out[0], WINDOW, &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    struct media_kit kit = {0};
    struct export_room room = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    struct exported made = {0};
    uint8_t record[AUDIO_RECORD] = {0}, *payload;
    mldf_value value;
    mldf_audio_info info;
    if (size < 16 + PACKETS_HEADER || size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    size_t bytes = size - 16;
    payload = malloc(bytes);
    memcpy(record + AUDIO_SAMPLES, data, 16);
    memcpy(payload, data + 16, bytes);
    uint32_t stream = mldfi_load_u32(payload + 20);
    if (stream <= bytes - PACKETS_HEADER)
        mldfi_store_u32(payload + 56, mldfi_crc32c(mldfi_crc32c(0, payload, 56), payload + PACKETS_HEADER, stream));
    if (mldf_schema_add(schema, "a", MLDF_AUDIO_COMPRESSED, NULL, 0, &err) == MLDF_OK &&
        mldfi_field_decode(&schema->fields[0], record, 0, payload, bytes, 0, NULL, &value, &err) == MLDF_OK) {
        mldfi_audio_record_info(record, &info);
        if (mldfi_audio_check_bytes(&info, bytes, &err) == MLDF_OK && info.samples < 1 << 24) {
            read_window(&kit, &value, &info);
            (void)mldfi_field_check_deep(&schema->fields[0], &kit, record, 0, payload, bytes, 0, &err);
        }
        (void)schema->fields[0].type->export(&schema->fields[0], &value, &kit, &room, &made, &err);
    }
    mldfi_export_room_free(&room);
    mldfi_kit_free(&kit);
    free(payload);
    mldf_schema_free(schema);
    return 0;
}
