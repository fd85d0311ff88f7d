/* What the files of the image types share: their state and the record. image_type.c is the type, image_encode.c makes payloads,
 * image_arguments.c reads arguments, image_value.c decodes values, image_bounds.c tells what is known of all of them, image_files.c is files
 * in and out. */
#ifndef MLDF_FIELD_IMAGE_TYPE_H
#define MLDF_FIELD_IMAGE_TYPE_H

#include <stdatomic.h>

#include "codec/image.h"
#include "field/type.h"

/* Places in a record of 24 bytes: ptr u64, size u32, then these. */
enum {
    IMAGE_SIZE = 8,
    IMAGE_HEIGHT = 12,
    IMAGE_WIDTH = 14,
    IMAGE_CHANNELS = 16,
    IMAGE_MODE = 17,
    IMAGE_BITS = 18,
    IMAGE_COLOR = 19,
    IMAGE_ORIENTATION = 20,
    IMAGE_RECORD = 24
};

enum image_encode {
    ENCODE_KEEP,
    ENCODE_JPEG,
    ENCODE_RAW,
    ENCODE_SMART,
    ENCODE_PROPORTION,
    ENCODE_YUV420,
    ENCODE_FAST_JPEG
};

enum image_icc { ICC_KEEP, ICC_DROP, ICC_CARD /* not in the image: whoever writes the card has it */ };

struct image_state {
    uint16_t id;
    enum image_encode encode;
    int quality;
    mldf_image_subsampling subsampling;
    uint32_t max_resolution, min_resolution; /* 0: none */
    uint64_t smart_threshold;                /* MLDF_NONE: none, everything raw */
    double probability;
    enum image_icc icc;
    bool baseline, apply_orientation;
    bool quality_given;
    double fast_limit;         /* of a fast JPEG's size, in parts of the JPEG's */
    struct image_tally *tally; /* fast-jpeg: what became of the JPEG files; NULL otherwise */
};
/* Counted by all threads of a writer; by enum fast_reason. */
struct image_tally {
    _Atomic(uint64_t) files[16];
};

extern const char *const mldfi_image_argument_names[];
mldf_status mldfi_image_arguments(const struct json *json, struct image_state *state, mldf_error *err);
mldf_status mldfi_image_canonical(const struct json *json, mldf_buffer *out, mldf_error *err);

mldf_status mldfi_image_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err);
/* What a thread keeps from image to image. Begins as {0}; image_media.c ends it. */
struct image_worker {
    mldf_image_decoder decoder; /* first: src/pipeline takes the worker as one */
    void *jpeg;                 /* mldfi_jpeg_encode's */
    mldf_buffer pixels, resized, work, icc;
};
void mldfi_image_worker_end(struct image_worker *worker);
mldf_status mldfi_image_encode_with(void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err);
/* A value of an image field whose record says JPEG, PNG, WebP, BMP or TIFF over bytes that are none of these. */
bool mldfi_image_of_no_format(const struct schema_field *field, const uint8_t *record, const void *payload,
                              uint64_t bytes);
/* Are the profiles of this field's images kept in the card? False for fields of other types. */
bool mldfi_image_icc_in_card(const struct schema_field *field);
/* image_files.c: the traits of field.h about files. */
extern const struct field_files mldfi_image_files;
void mldfi_image_keep(uint8_t *record, uint64_t ptr, const void *data, uint64_t bytes);
mldf_status mldfi_image_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err);
mldf_status mldfi_image_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err);
bool mldfi_image_same(const mldf_value *x, const mldf_value *y);
/* The ending of a file of this mode: jpg, png, webp, bmp, tif; bin for what is no file of a known format. */
const char *mldfi_image_ending(mldf_image_mode mode);
/* Decodes into `pixels`; channels and bits 0: as stored. */
mldf_status mldfi_image_pixels(struct media_kit *kit, const mldf_value *value, int channels, int bits,
                               mldf_buffer *pixels, mldf_image_pixels *out, mldf_error *err);
/* The image as a PNG file in room->file. */
mldf_status mldfi_image_png(struct media_kit *kit, const mldf_value *value, struct export_room *room, mldf_error *err);
/* image_bounds.c: the traits of field.h. */
mldf_status mldfi_image_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                            struct survey *survey, mldf_error *err);
void mldfi_image_see_value(const struct schema_field *field, const mldf_value *value, struct survey *survey);
mldf_status mldfi_image_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err);
/* The record as a description; bits 0 of a 1.0 file read as 8. */
/* mldf_image_record without the rule of struct_bytes. */
mldf_status mldfi_image_value_info(const mldf_value *value, mldf_image_info *out, mldf_error *err);
void mldfi_image_record_info(const uint8_t *record, mldf_image_info *out);
/* Bytes that a raw or YUV payload of this description has. */
uint64_t mldfi_image_raw_bytes(const mldf_image_info *info);

#endif
