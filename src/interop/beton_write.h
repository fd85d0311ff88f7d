/* Between beton_write.c, which places bytes, and beton_write_field.c, which knows what a field may hold. */
#ifndef MLDF_INTEROP_BETON_WRITE_H
#define MLDF_INTEROP_BETON_WRITE_H

#include "interop/beton_inner.h"

enum { BETON_FIELDS_MAX = 4096 };

/* Checks the fields and fills in what a reader will see of them: `out`, and count descriptors of 1041 bytes (zero before). */
mldf_status mldfi_beton_describe(const struct beton_write_field *fields, uint32_t count, struct beton_field *out,
                                 uint8_t *descriptors, uint32_t *row_bytes, mldf_error *err);
/* Can FFCV hold this value? */
mldf_status mldfi_beton_check_value(const struct beton_field *field, const struct beton_input *value, mldf_error *err);
/* Length of the blob as the table has it: of a JSON text, with its NUL. */
uint64_t mldfi_beton_blob_bytes(const struct beton_field *field, const struct beton_input *value);
void mldfi_beton_fill_record(const struct beton_field *field, const struct beton_input *value, uint64_t ptr,
                             uint8_t *record);

#endif
