/* All operations there are, family by family. An author of a new family adds one line to `families`. */
#include "pipeline/op_registry.h"

#include <string.h>

const struct op_type mldfi_op_drop = {
    .name = "drop",
    .help = "no output; what it was may still be an input of others",
};
const struct op_type *const mldfi_ops_statement[] = {&mldfi_op_drop, NULL};

/* One a line, so that families that are added at the same time do not collide. */
/* clang-format off */
static const struct op_type *const *const families[] = {
    mldfi_ops_statement,
    mldfi_ops_decode,
    mldfi_ops_decode_audio,
    mldfi_ops_decode_video,
    mldfi_ops_window,
    mldfi_ops_clip,
    mldfi_ops_resample,
    mldfi_ops_wave,
    mldfi_ops_trim,
    mldfi_ops_mix_wave,
    mldfi_ops_spectrum,
    mldfi_ops_fbank,
    mldfi_ops_log,
    mldfi_ops_spec_augment,
    mldfi_ops_axis,
    mldfi_ops_point,
    mldfi_ops_any,
    mldfi_ops_pair,
    mldfi_ops_collate,
    mldfi_ops_null,
    mldfi_ops_warp,
    mldfi_ops_code,
};
/* clang-format on */

const struct op_type *mldfi_op_at(size_t index) {
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op_type *const *type = families[f]; *type; type++)
            if (index-- == 0)
                return *type;
    return NULL;
}

const struct op_type *mldfi_op_find(const char *name, size_t bytes) {
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op_type *const *type = families[f]; *type; type++)
            if (strlen((*type)->name) == bytes && memcmp((*type)->name, name, bytes) == 0)
                return *type;
    return NULL;
}

const struct op_type *mldfi_op_decoder(media_family family) {
    const struct op_type *type;
    for (size_t i = 0; (type = mldfi_op_at(i)) != NULL; i++)
        if (type->decodes == family)
            return type;
    return NULL;
}
