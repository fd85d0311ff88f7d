/* What the files of AUDIO_WAVEFORM share: the record and the bound arguments (audio_waveform.c), files in and out (audio_files.c), what is
 * known of all of them (audio_bounds.c). */
#ifndef MLDF_FIELD_AUDIO_TYPE_H
#define MLDF_FIELD_AUDIO_TYPE_H

#include "field/type.h"
#include "mldf/audio.h"

enum { /* places in a record */
       AUDIO_SIZE = 8,
       AUDIO_SAMPLES = 16,
       AUDIO_RATE = 24,
       AUDIO_CHANNELS = 28,
       AUDIO_BITS = 30,
       AUDIO_CODEC = 31,
       AUDIO_RECORD = 32
};

/* The arguments; 0: not given. */
struct audio_state {
    uint32_t rate, channels, mask; /* channels: the mask's number of bits where only that is given */
};

/* audio_bounds.c: the traits of field.h. */
mldf_status mldfi_audio_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                            struct survey *survey, mldf_error *err);
void mldfi_audio_see_value(const struct schema_field *field, const mldf_value *value, struct survey *survey);
mldf_status mldfi_audio_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err);

void mldfi_audio_record_info(const uint8_t *record, mldf_audio_info *out);

/* Reads the header of a WAV file of which nothing may be missing. Errors name the byte of the file in their message. */
mldf_status mldfi_audio_parse(const void *data, size_t bytes, mldf_wav *out, mldf_error *err);

/* audio_files.c: the traits of field.h about files. */
extern const struct field_files mldfi_audio_files;
mldf_status mldfi_audio_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err);
mldf_status mldfi_audio_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err);
/* Do two values say the same of rate, channels and coding? Values that were copied undecoded have nothing to say. */
bool mldfi_audio_same(const mldf_value *a, const mldf_value *b);

#endif
