/* Samples from one MLDF file into a writer, undecoded: so fields of unknown type copy too. append.c, repack.c and convert_files.c copy whole files,
 * merge.c, select.c and split.c what they choose. */
#ifndef MLDF_TOOL_COPY_SAMPLES_H
#define MLDF_TOOL_COPY_SAMPLES_H

#include "mldf/reader.h"
#include "mldf/writer.h"
#include "tool/input.h"

struct copier {
    const mldf_reader *reader;
    mldf_writer *writer;
    bool keys;
    const char *encode; /* recode.h; NULL: values are copied */
    size_t count;
    size_t *from; /* the reader's field for each of the writer's; SIZE_MAX: null */
    bool *is_json;
    mldf_value *values;
    mldf_buffer *scratch; /* one for each field */
    mldf_buffer key_scratch;
    const char *key; /* of the sample that was loaded last */
    size_t key_bytes;
};

/* Has `source` this field, with the same type and arguments? MLDF_E_SCHEMA names what differs. */
mldf_status mldfi_match_field(const mldf_schema *source, const mldf_field *wanted, size_t *out, mldf_error *err);
/* Is every field of `source` one of the target's? MLDF_E_SCHEMA names one that is not. */
mldf_status mldfi_match_no_other(const mldf_schema *source, const mldf_schema *target, mldf_error *err);

/* Fields are matched by name: each field of the target must be there with the same type and arguments. keys: they go along. */
mldf_status mldfi_copier_begin(struct copier *copier, const mldf_reader *reader, const mldf_schema *target, bool keys,
                               mldf_error *err);
/* The same for a file that lacks nullable fields of the target, which are then null; it must have no field besides. */
mldf_status mldfi_copier_begin_partial(struct copier *copier, const mldf_reader *reader, const mldf_schema *target,
                                       bool keys, mldf_error *err);
/* One sample into copier->values and key; *bytes is what it takes in the file that it comes from: row, payloads and key. */
mldf_status mldfi_copier_load(struct copier *copier, uint64_t sample, uint64_t *bytes, mldf_error *err);
/* What was loaded goes into copier->writer. */
mldf_status mldfi_copier_store(struct copier *copier, mldf_error *err);
void mldfi_copier_end(struct copier *copier);

/* What a file is written again as. The writer's schema is then that of recode.h, `schema` the one it was made from. */
struct recoding {
    const char *encode; /* NULL: values are copied */
    const mldf_schema *schema;
};
/* The next function with values made again. */
mldf_status mldfi_copy_samples_as(const mldf_reader *reader, mldf_writer *writer, bool keys,
                                  const struct recoding *recoding, struct input_watch *watch, mldf_error *err);
/* Every sample of the reader, in order; the reader must have no field that the writer has not (MLDF_E_SCHEMA). */
mldf_status mldfi_copy_samples(const mldf_reader *reader, mldf_writer *writer, bool keys, struct input_watch *watch,
                               mldf_error *err);

/* Adds a field of the reader to a schema, unknown types too, with `flags` (MLDF_FIELD_NULLABLE) besides its own. A field of a 1.0 file
 * comes under the rules of 1.1: missing JSON makes it nullable, and a private type needs a name. copy_schema.c */
mldf_status mldfi_copy_field(const mldf_reader *reader, size_t index, uint16_t flags, mldf_schema *schema,
                             mldf_error *err);
/* The same from a schema of our own. */
mldf_status mldfi_schema_take(const mldf_schema *from, size_t index, mldf_schema *schema, mldf_error *err);
/* The same with other arguments. */
mldf_status mldfi_schema_take_with(const mldf_schema *from, size_t index, const char *arguments, mldf_schema *schema,
                                   mldf_error *err);

#endif
