/* Side columns: an NDARRAY with the argument "along" has one entry for each token of a token field in the same sample (form "dense"), or spans
 * [begin, end) of its tokens (form "spans"). Along a field of segments (int64 of shape [null, 2]: begin and end of each) it has one entry for
 * each of them, and so has a JSON field, whose values are arrays then. */
#ifndef MLDF_FIELD_ALONG_H
#define MLDF_FIELD_ALONG_H

#include "field/field.h"

/* Every side column goes along a token field of the schema, or along segments. MLDF_E_SCHEMA names the one that does not. */
mldf_status mldfi_along_check_schema(const mldf_schema *schema, mldf_error *err);
/* The field that this one goes along, or NULL. */
const char *mldfi_along_name(const struct schema_field *field);
/* Tokens that a record of a token field says. A null has none. */
uint64_t mldfi_tokens_count(const struct schema_field *field, const uint8_t *record);
/* Segments: an NDARRAY of int64 and shape [null, 2]. */
bool mldfi_is_segments(const struct schema_field *field);
/* Is it a field that others may go along? Then how many entries they have for this record: tokens, or segments. */
bool mldfi_is_along_target(const struct schema_field *field);
uint64_t mldfi_along_count(const struct schema_field *field, const uint8_t *record);
/* Does a value of a side column fit its tokens, or segments? err->offset as decode has it. */
mldf_status mldfi_along_check(const struct schema_field *field, const uint8_t *record, const void *data, uint64_t bytes,
                              uint64_t count, mldf_error *err);

#endif
