/* Samples from one MLDF file into a writer, undecoded: so fields of unknown type copy too. Used by append.c, repack.c and convert_files.c. */
#ifndef MLDF_TOOL_COPY_H
#define MLDF_TOOL_COPY_H

#include "mldf/reader.h"
#include "mldf/writer.h"
#include "tool/input.h"

/* Every sample of the reader, in order. Fields are matched by name: each field of the writer must be there with the same type and
 * arguments, and the reader must have no other (MLDF_E_SCHEMA). Keys go along when `keys` is set. */
mldf_status mldfi_copy_samples(const mldf_reader *reader, mldf_writer *writer, bool keys, struct input_watch *watch,
                               mldf_error *err);

/* Adds a field of the reader to a schema, unknown types too, with `flags` (MLDF_FIELD_NULLABLE) besides its own. A field of a 1.0 file
 * comes under the rules of 1.1: missing JSON makes it nullable, and a private type needs a name. copy_schema.c */
mldf_status mldfi_copy_field(const mldf_reader *reader, size_t index, uint16_t flags, mldf_schema *schema,
                             mldf_error *err);
/* The same from a schema of our own. */
mldf_status mldfi_schema_take(const mldf_schema *from, size_t index, mldf_schema *schema, mldf_error *err);

#endif
