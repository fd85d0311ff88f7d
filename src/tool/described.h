/* What the type of a field says of a value (mldf_value_describe: an image's height and width, a recording's rate), as a tree to look members up
 * in. Without `hash` the payload is not looked at, so that a million images cost their records alone. */
#ifndef MLDF_TOOL_DESCRIBED_H
#define MLDF_TOOL_DESCRIBED_H

#include "mldf/reader.h"
#include "util/json.h"

struct described {
    mldf_buffer text;
    struct json json;
};

/* Do records of this field say what a value is, whatever the field's arguments: images, recordings? */
bool mldfi_is_self_describing(const mldf_schema *schema, size_t field);
/* MLDF_ABSENT when the type has nothing to say of the value. The tree is valid until the next call. */
mldf_status mldfi_describe(struct described *d, const mldf_schema *schema, size_t field, const mldf_value *value,
                           bool hash, mldf_error *err);
void mldfi_described_free(struct described *d);

#endif
