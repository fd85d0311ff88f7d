/* Which kernels this processor can run. The question is a load and a test; no answer is kept. */
#include "kernel/kernels.h"

#include <string.h>

static const struct kernels portable = {ISA_PORTABLE, "portable", mldfi_down_portable, mldfi_across_portable,
                                        mldfi_finish_portable};

const struct kernels *mldfi_kernels(enum isa isa) {
    switch (isa) {
    case ISA_PORTABLE:
        return &portable;
    default:
        return NULL;
    }
}

const struct kernels *mldfi_kernels_best(void) {
    for (int isa = ISA_COUNT - 1; isa > ISA_PORTABLE; isa--) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (k)
            return k;
    }
    return &portable;
}

const struct kernels *mldfi_kernels_named(const char *name) {
    for (int isa = ISA_COUNT - 1; isa >= ISA_PORTABLE; isa--) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (k && strcmp(k->name, name) == 0)
            return k;
    }
    return NULL;
}
