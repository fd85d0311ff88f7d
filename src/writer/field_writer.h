/* Adding one field to the samples of an existing file. */
#ifndef MLDF_WRITER_FIELD_WRITER_H
#define MLDF_WRITER_FIELD_WRITER_H

#include "mldf/writer.h"

/* `field` is a schema of one field, which the file must not have. The writer then takes one value for each sample of the file, in
 * order: mldf_writer_append with one value and no key, as often as there are samples. Options, lock and what a failure leaves are as with
 * mldf_writer_open_append. */
mldf_status mldfi_writer_open_add_field(const char *path, const mldf_schema *field, const mldf_writer_options *options,
                                        mldf_writer **out, mldf_error *err);

/* Between writer.c and field_writer.c. */
mldf_status mldfi_added_field_begin(mldf_writer *writer, const char *path, const mldf_schema *field,
                                    const mldf_writer_options *options, mldf_error *err);
/* Tokens of a sample of the file in the token field `name`. Threads may call it at the same time. */
struct added_field;
mldf_status mldfi_added_field_tokens(const struct added_field *added, const char *name, uint64_t sample,
                                     mldf_buffer *scratch, uint64_t *out, mldf_error *err);

#endif
