/* Table look-up over pixels. Scalar on purpose: a gather of 256-entry tables is no faster, and the table stays in the first-level cache. */
#include "kernel/lookup.h"

#define LOOKUP(NAME, TYPE) \
    static void NAME(const struct raster *in, bool mirror_x, bool mirror_y, const TYPE *table, bool planar, \
                     TYPE *dst) { \
        size_t width = in->width, height = in->height, channels = in->channels; \
        for (size_t y = 0; y < height; y++) { \
            const uint8_t *row = in->data + (mirror_y ? height - 1 - y : y) * in->stride; \
            for (size_t c = 0; c < channels; c++) { \
                const TYPE *t = table + c * 256; \
                const uint8_t *p = row + c + (mirror_x ? (width - 1) * channels : 0); \
                ptrdiff_t step = mirror_x ? -(ptrdiff_t)channels : (ptrdiff_t)channels; \
                TYPE *to = planar ? dst + (c * height + y) * width : dst + y * width * channels + c; \
                size_t apart = planar ? 1 : channels; \
                for (size_t x = 0; x < width; x++, p += step, to += apart) \
                    *to = t[*p]; \
            } \
        } \
    }
LOOKUP(lookup_1, uint8_t)
LOOKUP(lookup_2, uint16_t)
LOOKUP(lookup_4, uint32_t)
LOOKUP(lookup_8, uint64_t)

void mldfi_lookup(const struct raster *in, bool mirror_x, bool mirror_y, const void *table, size_t size, bool planar,
                  void *dst) {
    if (size == 1)
        lookup_1(in, mirror_x, mirror_y, table, planar, dst);
    else if (size == 2)
        lookup_2(in, mirror_x, mirror_y, table, planar, dst);
    else if (size == 4)
        lookup_4(in, mirror_x, mirror_y, table, planar, dst);
    else
        lookup_8(in, mirror_x, mirror_y, table, planar, dst);
}
