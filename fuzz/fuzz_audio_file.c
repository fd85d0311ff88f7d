/* The input is an audio file: it is taken apart, packed and decoded as pack does it; what is accepted is read as a whole and by a window, and becomes
 * a file again. */
#include <stdlib.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/audio_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *user, const char *message) {
    (void)user, (void)message;
}

static void use(const mldf_value *value, const struct schema_field *field, struct media_kit *kit) {
    enum { WINDOW = 1000 };
    struct export_room room = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    struct exported made = {0};
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_error err;
    if (mldf_audio_record(value, &info, &err) < 0)
        abort();
    uint64_t count = info.samples < WINDOW ? info.samples : WINDOW;
    float *out = malloc((size_t)count * info.channels * sizeof *out + 1);
    if (out && mldf_audio_value_read(value, info.samples - count, count, out, &err) < 0 &&
        err.status == MLDF_E_ARGUMENT)
        abort();
    free(out);
    (void)field->type->export(field, value, kit, &room, &made, &err);
    mldfi_export_room_free(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    struct media_kit kit = {0};
    uint8_t record[AUDIO_RECORD] = {0};
    const void *payload;
    uint64_t bytes;
    mldf_value given = {.kind = MLDF_KIND_BYTES, .data = data, .bytes = size}, value;
    if (size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    (void)mldfi_audio_files.look("input.flac", data, size, ignore, NULL, &err);
    if (mldf_schema_add(schema, "a", MLDF_AUDIO_COMPRESSED, "{\"keep_file\":true}", 0, &err) == MLDF_OK &&
        mldfi_field_encode(&schema->fields[0], &kit, false, &given, record, &scratch, &payload, &bytes, &err) ==
            MLDF_OK) {
        if (mldfi_field_decode(&schema->fields[0], record, 0, payload, bytes, 0, NULL, &value, &err) < 0)
            abort(); /* what was written must be read */
        use(&value, &schema->fields[0], &kit);
    }
    mldfi_kit_free(&kit);
    mldf_buffer_free(&scratch);
    mldf_schema_free(schema);
    return 0;
}
