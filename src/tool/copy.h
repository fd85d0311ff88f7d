/* Samples from one MLDF file into a writer, undecoded: so fields of unknown type copy too. Used by append.c and repack.c. */
#ifndef MLDF_TOOL_COPY_H
#define MLDF_TOOL_COPY_H

#include "mldf/reader.h"
#include "mldf/writer.h"
#include "tool/input.h"

/* Every sample of the reader, in order. Fields are matched by name: each field of the writer must be there with the same type and
 * arguments, and the reader must have no other (MLDF_E_SCHEMA). Keys go along when `keys` is set. */
mldf_status mldfi_copy_samples(const mldf_reader *reader, mldf_writer *writer, bool keys, struct input_watch *watch,
                               mldf_error *err);

#endif
