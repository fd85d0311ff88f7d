/* Operations that a user registered with the context: the one place where the compiler looks for them. */
#include "pipeline/pipeline.h"

const struct user_operation *mldfi_context_operation(const mldf_context *context, const char *name, size_t bytes) {
    (void)context, (void)name, (void)bytes;
    return NULL;
}
