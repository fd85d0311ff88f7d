/* mldf/multimodal.h: samples of several parts: interleaved text and images, a question with its image, pages with boxes.
 *
 * A field of type MLDF_MULTIMODAL lists the kinds of parts that a sample may have, each with a role (its name), a type and that type's arguments; a
 * sample is a list of parts in document order, any number of each kind. Each part is read alone.
 *
 *     mldf_schema_add(schema, "doc", MLDF_MULTIMODAL,
 *         "{\"parts\":[{\"role\":\"text\",\"type\":\"text\"},{\"role\":\"image\",\"type\":\"image\"}]}", 0, &err);
 *
 *     mldf_sample_part parts[2] = {{.role = "text", .value = {.kind = MLDF_KIND_TEXT, .data = "a cat", .bytes = 5}},
 *                           {.role = "image", .value = {.kind = MLDF_KIND_BYTES, .data = jpeg, .bytes = jpeg_bytes}}};
 *     mldf_parts_list(schema, field, parts, 2, &list, &err);                       // what a writer takes as the field's value
 *     mldf_value value = {.kind = MLDF_KIND_BYTES, .data = list.data, .bytes = list.size};
 *
 *     mldf_parts_count(schema, field, &read, &count, &err);                        // of a value that was read
 *     mldf_parts_get(schema, field, &read, 0, &scratch, &part, &err);
 *
 * Caveats
 *   - A part's value points into the value that it was read from, or into scratch.
 *   - Bytes are never trusted: a table that contradicts itself or the payload's size is MLDF_E_CORRUPT, and names the part. */
#ifndef MLDF_MULTIMODAL_H
#define MLDF_MULTIMODAL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_sample_part {
    const char *role; /* borrowed from the schema when read */
    uint32_t group;   /* the caller's: parts that belong together; 0 where there are none */
    int64_t begin;    /* the caller's: a time or a character where the part begins */
    mldf_value value; /* kind NULL: the part is missing */
} mldf_sample_part;

/* What the row says of a sample, without its payload. */
typedef struct mldf_parts_info {
    uint32_t parts;
    uint32_t mask; /* bit k: there is a part of the k-th kind that is not null */
    uint32_t tokens, images;
    uint64_t pixels;       /* of all images */
    uint64_t samples;      /* of all recordings, of one channel */
    uint64_t milliseconds; /* of all recordings and videos */
} mldf_parts_info;

/* The kinds of a field as a schema of their own: a field for each kind, whose name is the role. Functions that take (schema, field, value) take a
 * part's value with it. Borrowed; MLDF_E_TYPE: the field is of another type. */
MLDF_API MLDF_NODISCARD mldf_status mldf_parts_schema(const mldf_schema *schema, size_t field, const mldf_schema **out,
                                                      mldf_error *err);
/* A list of parts as the value that a writer takes, appended to out: bytes that are never stored as they are. The values are what a writer would take
 * for a field of that kind, MLDF_KIND_STORED too. */
MLDF_API MLDF_NODISCARD mldf_status mldf_parts_list(const mldf_schema *schema, size_t field,
                                                    const mldf_sample_part *parts, size_t count, mldf_buffer *out,
                                                    mldf_error *err);
/* Of a value that was read from the field. */
MLDF_API MLDF_NODISCARD mldf_status mldf_parts_info_of(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                       mldf_parts_info *out, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_parts_count(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                     uint64_t *count, mldf_error *err);
/* Part `index`, decoded as a reader would: an image as its file, a recording as its samples. *kind (may be NULL): which of mldf_parts_schema's fields
 * it is of. scratch is used where the value cannot point into the sample's. */
MLDF_API MLDF_NODISCARD mldf_status mldf_parts_get(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                   uint64_t index, mldf_buffer *scratch, mldf_sample_part *out,
                                                   size_t *kind, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
