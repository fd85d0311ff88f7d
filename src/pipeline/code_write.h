/* The text of one function (code_write.c), for code.c. */
#ifndef MLDF_PIPELINE_CODE_WRITE_H
#define MLDF_PIPELINE_CODE_WRITE_H

#include "pipeline/op.h"

/* Appends the function mldf_code_<function> for as many operations as can be written, from the first on; *count 0: nothing. */
mldf_status mldfi_code_write(const struct op *ops, size_t op_count, unsigned function, size_t *count, mldf_buffer *out,
                             mldf_error *err);

#endif
