/* The pack plans that a file holds: which documents of a token field make which sequence (format/packing.h), stored so that no training run computes
 * them again. tool/plan_tokens.c makes and copies them, src/items uses them. */
#ifndef MLDF_READER_PLANS_H
#define MLDF_READER_PLANS_H

#include "format/packing.h"
#include "mldf/tokens.h"

/* Views of the file's plans (room for PACKING_PLANS), in the mapping or in scratch; none: *count is 0. */
mldf_status mldfi_reader_plans(const mldf_reader *reader, mldf_buffer *scratch, struct packing *out, size_t *count,
                               mldf_error *err);
/* "best-fit", "cut" … */
const char *mldfi_packing_name(uint8_t algorithm);
const char *mldfi_packing_long_name(uint8_t rule);
void mldfi_packing_describe(const mldf_schema *schema, const struct packing *packing, mldf_token_plan *out);

#endif
