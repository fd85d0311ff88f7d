/* The input is a WAV file: its header is read, its samples become a value of a field, floats, and a WAV file again, which must hold the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "field/audio_type.h"
#include "field/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *user, const char *message) {
    (void)user, (void)message;
}

static void require(int good) {
    if (!good)
        abort();
}

/* Encodes and decodes; false when the file is refused. The value points into data or scratch. */
static bool round_trip(const struct schema_field *field, const void *data, size_t size, mldf_buffer *scratch,
                       uint8_t record[AUDIO_RECORD], mldf_value *out) {
    mldf_value given;
    mldf_error err;
    const void *payload;
    uint64_t payload_bytes;
    memset(&given, 0, sizeof given);
    given.kind = MLDF_KIND_BYTES;
    given.data = data;
    given.bytes = size;
    memset(record, 0, AUDIO_RECORD);
    if (field->type->type.encode(NULL, field->state, &given, record, scratch, &payload, &payload_bytes, &err) < 0)
        return false;
    require(mldfi_field_decode(field, record, 0, payload, payload_bytes, 0, NULL, out, &err) == MLDF_OK);
    return true;
}

static void read_floats(const mldf_value *value, const mldf_audio_info *info) {
    float *floats = malloc((size_t)(info->samples * info->channels * sizeof *floats) + 1);
    mldf_error err;
    if (floats)
        require(mldf_audio_value_read(value, 0, info->samples, floats, &err) == MLDF_OK);
    free(floats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_schema *schema;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT, file = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    uint8_t record[AUDIO_RECORD], second[AUDIO_RECORD];
    mldf_value value, copy;
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    struct export_room room = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    struct media_kit kit = {0};
    struct exported made = {0};
    if (size > 1 << 16 || mldf_schema_new(NULL, &schema, &err) < 0)
        return 0;
    (void)mldfi_audio_files.look("input.wav", data, size, ignore, NULL, &err);
    if (mldf_schema_add(schema, "a", MLDF_AUDIO_WAVEFORM, NULL, 0, &err) == MLDF_OK &&
        round_trip(&schema->fields[0], data, size, &scratch, record, &value)) {
        require(mldf_audio_record(&value, &info, &err) == MLDF_OK);
        read_floats(&value, &info);
        /* A block of more than 65535 bytes has no place in a WAV header. */
        if (mldfi_audio_export(NULL, &value, &kit, &room, &made, &err) == MLDF_OK) {
            require(mldf_buffer_append(&file, made.head, (size_t)made.head_bytes, &err) == MLDF_OK);
            require(mldf_buffer_append(&file, made.data, (size_t)made.bytes, &err) == MLDF_OK);
            require(mldf_buffer_append(&file, "", made.pad_bytes, &err) == MLDF_OK);
            require(round_trip(&schema->fields[0], file.data, file.size, &again, second, &copy));
            require(memcmp(record, second, AUDIO_RECORD) == 0 && value.bytes == copy.bytes);
            require(value.bytes == 0 || memcmp(value.data, copy.data, (size_t)value.bytes) == 0);
        }
    }
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&file);
    mldfi_export_room_free(&room);
    mldf_buffer_free(&again);
    mldf_schema_free(schema);
    return 0;
}
