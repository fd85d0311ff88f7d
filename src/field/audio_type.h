/* What the files of AUDIO_WAVEFORM and AUDIO_COMPRESSED share: the record and the bound arguments (audio_waveform.c, audio_compressed.c), values
 * from files and arrays (audio_encode.c), files in and out (audio_files.c), what is known of all of them (audio_bounds.c). */
#ifndef MLDF_FIELD_AUDIO_TYPE_H
#define MLDF_FIELD_AUDIO_TYPE_H

#include "codec/pcm_file.h"
#include "field/audio_packets.h"
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

/* How AUDIO_COMPRESSED stores what it is given. */
typedef enum audio_store {
    STORE_KEEP, /* as it is */
    STORE_FLAC, /* PCM becomes FLAC; what is compressed stays */
    STORE_OPUS  /* what is not Opus becomes Opus */
} audio_store;

/* The arguments; 0: not given. */
struct audio_state {
    uint32_t rate, channels, mask; /* channels: the mask's number of bits where only that is given */
    bool compressed;               /* AUDIO_COMPRESSED; the rest is its own: */
    audio_store store;
    uint32_t bitrate; /* of Opus, in bits a second; 0: the encoder's choice */
    bool undecoded,
        keep_file; /* not decoded when packing; files go along that cannot be made again from their packets */
};
/* rate, channels and mask out of JSON. */
mldf_status mldfi_audio_arguments(const struct json *json, void *state, mldf_error *err); /* a struct audio_state */

/* What a record says against the arguments and the payload's size; offsets count from the record's first byte. */
mldf_status mldfi_audio_check_record(const struct audio_state *s, const mldf_audio_info *info, uint64_t payload_bytes,
                                     mldf_error *err);
/* Decode, observe and steps of both types. */
mldf_status mldfi_audio_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err);
void mldfi_audio_observe(const void *state, const uint8_t *record, struct observation *out);
bool mldfi_audio_steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out);
void mldfi_audio_unbind(void *user, void *state);

/* audio_encode.c: a value into record and payload, with the worker of a kit; and without, which opens one. */
mldf_status mldfi_audio_encode_with(void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err);
mldf_status mldfi_audio_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err);

/* audio_bounds.c: the traits of field.h. */
mldf_status mldfi_audio_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                            struct survey *survey, mldf_error *err);
void mldfi_audio_see_value(const struct schema_field *field, const mldf_value *value, struct survey *survey);
mldf_status mldfi_audio_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err);

void mldfi_audio_record_info(const uint8_t *record, mldf_audio_info *out);

/* Reads the header of a file of plain samples (WAV, AIFF, CAF, SPHERE) of which nothing may be missing. Errors name the byte of the file in their message. */
mldf_status mldfi_audio_parse(const void *data, size_t bytes, struct pcm_file *out, mldf_error *err);

/* audio_files.c: the traits of field.h about files. */
extern const struct field_files mldfi_audio_files;
mldf_status mldfi_audio_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err);
mldf_status mldfi_audio_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err);
/* Do two values say the same of rate, channels and coding? Values that were copied undecoded have nothing to say. */
bool mldfi_audio_same(const mldf_value *a, const mldf_value *b);

#endif
