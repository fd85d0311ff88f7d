/* One sample of a file on its way into another. Values are copied undecoded where the target takes them so: then fields of unknown type copy too.
 * copy.h carries many of them; append.c has a loop of its own, because its samples go through the feed of pack.h. */
#ifndef MLDF_TOOL_COPY_SAMPLE_H
#define MLDF_TOOL_COPY_SAMPLE_H

#include "mldf/reader.h"
#include "mldf/writer.h"

/* ---- Which field becomes which ---------------------------------------------------------------------------------------- */

/* Has `source` this field, with the same type and arguments? MLDF_E_SCHEMA names what differs. */
mldf_status mldfi_match_field(const mldf_schema *source, const mldf_field *wanted, size_t *out, mldf_error *err);
/* Is every field of `source` one of the target's? MLDF_E_SCHEMA names one that is not. */
mldf_status mldfi_match_no_other(const mldf_schema *source, const mldf_schema *target, mldf_error *err);

struct copy_field {
    size_t from;            /* the reader's field; SIZE_MAX: null */
    const mldf_field *have; /* that one */
    bool stored, is_json;
};

struct copy_fields {
    const mldf_schema *schema; /* of the values */
    size_t count;
    struct copy_field *list;
    bool stored;        /* undecoded; types that are not known here always are */
    bool keys;          /* they go along */
    const char *encode; /* recode.h, with stored; NULL: values are copied */
};

/* Room, with no field matched yet; `fields` is zero but for stored, keys and encode. */
mldf_status mldfi_fields_begin(struct copy_fields *fields, const mldf_schema *schema, mldf_error *err);
/* Where each field comes from. */
void mldfi_fields_set(struct copy_fields *fields, size_t field, const mldf_schema *source, size_t from);
/* By name: each field of the schema must be there with the same type and arguments. */
mldf_status mldfi_fields_match(struct copy_fields *fields, const mldf_schema *source, mldf_error *err);
/* The same for a file that lacks nullable fields of the schema, which are then null; it must have no field besides. */
mldf_status mldfi_fields_match_partial(struct copy_fields *fields, const mldf_schema *source, mldf_error *err);
void mldfi_fields_end(struct copy_fields *fields);

/* ---- One sample --------------------------------------------------------------------------------------------------------- */

struct copy_sample {
    mldf_value *values;
    mldf_buffer *scratch; /* one for each field */
    mldf_buffer key_scratch;
    const char *key;
    size_t key_bytes;
    uint64_t bytes;  /* what it takes in the file that it comes from: row, payloads and key */
    uint64_t memory; /* bytes of the values as they are now */
};

mldf_status mldfi_sample_begin(struct copy_sample *sample, size_t fields, mldf_error *err);
/* Reads sample `number`; its values are good until the next call, and as long as the reader. The key comes first, so that a sample with a
 * value that cannot be read has its name. */
mldf_status mldfi_sample_load(struct copy_sample *sample, const struct copy_fields *fields, const mldf_reader *reader,
                              uint64_t number, mldf_error *err);
/* Gives back buffers that one large sample needed. */
void mldfi_sample_trim(struct copy_sample *sample, size_t fields);
void mldfi_sample_end(struct copy_sample *sample, size_t fields);

/* ---- Fields of one file in the schema of another (copy_schema.c) ----------------------------------------------------------- */

/* Adds a field of the reader to a schema, unknown types too, with `flags` (MLDF_FIELD_NULLABLE) besides its own. A field of a 1.0 file
 * comes under the rules of 1.1: missing JSON makes it nullable, and a private type needs a name. */
mldf_status mldfi_copy_field(const mldf_reader *reader, size_t index, uint16_t flags, mldf_schema *schema,
                             mldf_error *err);
/* The same from a schema of our own. */
mldf_status mldfi_schema_take(const mldf_schema *from, size_t index, mldf_schema *schema, mldf_error *err);
/* The same with other arguments. */
mldf_status mldfi_schema_take_with(const mldf_schema *from, size_t index, const char *arguments, mldf_schema *schema,
                                   mldf_error *err);

#endif
