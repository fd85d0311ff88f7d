/* color.h: what needs no instruction set of its own. color_loops.h has what looks at the colours of a pixel together. */
#include <string.h>

#include "kernel/color_block.h"
#include "kernel/kernels.h"

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

/* Steps that treat every 8-bit value for itself are one table. */
static bool by_table(const struct kernels *k, const struct pixels *p, const struct recolor *steps, size_t count) {
    if (p->dtype != MLDF_U8 || count == 0 || !k->tables_first)
        return false;
    for (size_t i = 0; i < count; i++)
        if (steps[i].kind != RECOLOR_BLEND)
            return false;
    return true;
}

float mldfi_recolor(const struct kernels *k, const struct pixels *p, const struct recolor *steps, size_t count,
                    bool mean) {
    uint8_t table[3][256];
    if (!by_table(k, p, steps, count))
        return k->recolor(p, steps, count, mean);
    for (size_t v = 0; v < 256; v++)
        table[0][v] = (uint8_t)v;
    for (size_t i = 0; i < count; i++)
        for (size_t v = 0; v < 256; v++)
            table[0][v] = (uint8_t)(int32_t)mldfi_held((float)table[0][v] * steps[i].a + steps[i].b, 255.0f);
    memcpy(table[1], table[0], 256);
    memcpy(table[2], table[0], 256);
    k->byte_tables(p, (const uint8_t(*)[256])table);
    return mean ? k->recolor(p, NULL, 0, true) : 0;
}
