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

/* Do two values say the same of rate, channels and coding? Their numbers are the caller's to compare. Nulls, and values that were
 * copied undecoded, have nothing to say. */
bool mldfi_audio_same(const mldf_value *a, const mldf_value *b);

/* Is this file one that the type takes? Warns of what is odd or gets lost. MLDF_E_TYPE, MLDF_E_UNSUPPORTED ... when it is not. */
typedef void (*audio_warning_fn)(void *user, const char *message);
mldf_status mldfi_audio_look(const char *name, const void *data, size_t bytes, audio_warning_fn warn, void *user,
                             mldf_error *err);
/* A value as a file: its bytes (in scratch) and the ending of its name, without a dot. state: of the field; NULL: no arguments. */
mldf_status mldfi_audio_export(const void *state, const mldf_value *value, mldf_buffer *scratch, const void **data,
                               uint64_t *bytes, const char **ending, mldf_error *err);

#endif
