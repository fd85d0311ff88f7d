/* A recording as the WAV file that it is exported as. */
#ifndef MLDF_TESTS_UNIT_FIELD_AUDIO_EXPORT_H
#define MLDF_TESTS_UNIT_FIELD_AUDIO_EXPORT_H

#include "check.h"
#include "field/audio_type.h"

/* An exported value as one run of bytes. */
static void export_whole(const struct schema_field *field, const mldf_value *value, mldf_buffer *out) {
    struct export_room room = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    struct media_kit kit = {0};
    struct exported file = {0};
    mldf_error err;
    CHECK_OK(mldfi_audio_export(field, value, &kit, &room, &file, &err), &err);
    CHECK_EQ_STR("wav", file.ending);
    out->size = 0;
    CHECK_OK(mldf_buffer_append(out, file.head, (size_t)file.head_bytes, &err), &err);
    CHECK_OK(mldf_buffer_append(out, file.data, (size_t)file.bytes, &err), &err);
    CHECK_OK(mldf_buffer_append(out, "\0\0", file.pad_bytes, &err), &err);
    mldfi_export_room_free(&room);
}

#endif
