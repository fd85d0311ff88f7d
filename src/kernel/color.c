/* color.h: what needs no instruction set of its own. color_loops.h has what looks at the colours of a pixel together. */
#include "kernel/color_block.h"

float mldfi_white(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 255.0f : dtype == MLDF_U16 ? 65535.0f : 1.0f;
}

void mldfi_copy_channel(const struct pixels *from, size_t channel, const struct pixels *to, size_t to_channel) {
    float v[COLOR_BLOCK];
    for (size_t at = 0; at < from->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(from, at);
        mldfi_block_load(from, channel, at, n, v);
        mldfi_block_store(to, to_channel, at, n, v);
    }
}
