/* Pack plans when files are copied. */
#ifndef MLDF_TOOL_PLAN_TOKENS_H
#define MLDF_TOOL_PLAN_TOKENS_H

#include "mldf/reader.h"
#include "mldf/writer.h"

/* The tokens of every row of a token field into out, as plans count them: a null, or a row that cannot be, is 2^64 - 1. */
mldf_status mldfi_plan_lengths(const mldf_reader *reader, size_t field, uint64_t *out, mldf_error *err);
/* The plans of a file whose samples all go into another, in order: those of fields that the other has too go along. */
mldf_status mldfi_keep_plans(const mldf_reader *reader, mldf_writer *writer, mldf_error *err);
/* The same where samples are chosen or mixed: a plan is of all samples in their order. Warns when there are plans. */
void mldfi_drop_plans(const mldf_reader *reader, const mldf_context *context);

#endif
