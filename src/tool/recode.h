/* JPEGs of a file that is written again: as fast JPEGs, or as the JPEGs they were. Both ways keep every byte of them; images of other kinds are copied. repack.c
 * and convert_files.c use it. */
#ifndef MLDF_TOOL_RECODE_H
#define MLDF_TOOL_RECODE_H

#include "mldf/reader.h"

/* encode: NULL (all values are copied), "fast-jpeg" or "jpeg-original". Others are MLDF_E_ARGUMENT, and so is a limit without "fast-jpeg". */
mldf_status mldfi_recode_check(const char *encode, double fast_limit, mldf_error *err);
/* The schema `from` with the arguments that make `encode` of the fields that may hold JPEGs: encode, the limit unless it is 0, and where colour profiles are.
 * What else the arguments said is left out, so that no file is resized or turned on the way. */
mldf_status mldfi_recode_schema(const mldf_schema *from, const mldf_context *context, const char *encode,
                                double fast_limit, mldf_schema **out, mldf_error *err);
/* A value as mldf_reader_get_stored gave it; what is to be made again becomes the JPEG's bytes, which may lie in scratch. */
mldf_status mldfi_recode_value(const char *encode, const mldf_reader *reader, uint64_t sample, size_t field,
                               mldf_buffer *scratch, mldf_value *value, mldf_error *err);

#endif
