/* The pack plans of a file, for those who copy or use them. */
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
