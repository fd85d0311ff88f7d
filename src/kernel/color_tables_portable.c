/* color.h: values of 8 bits by tables, in plain C. */
#include "kernel/color.h"
#include "kernel/variants.h"

static void look_up(const struct pixels *p, size_t channel, const uint8_t table[256]) {
    uint8_t *d = (uint8_t *)p->data + channel * p->plane;
    for (size_t k = 0; k < p->count; k++)
        d[k * p->step] = table[d[k * p->step]];
}

void mldfi_byte_tables_portable(const struct pixels *p, const uint8_t table[3][256]) {
    uint8_t *d = p->data;
    if (p->channels != 3 || p->step != 3) {
        for (size_t c = 0; c < mldfi_colors(p); c++)
            look_up(p, c, table[c]);
        return;
    }
    for (size_t k = 0; k < p->count; k++, d += 3) {
        uint8_t r = table[0][d[0]], g = table[1][d[1]], b = table[2][d[2]];
        d[0] = r;
        d[1] = g;
        d[2] = b;
    }
}
