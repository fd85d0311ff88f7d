/* The last pass over an image: cuts it into runs of pixels for the kernels. An image without gaps between its rows and without
 * mirroring is one run. finish_portable.c and its neighbours do the runs. */
#include "kernel/finish.h"

#include <string.h>

#include "kernel/color.h"

enum { STRIP = 512 }; /* pixels that go through a table at once */

static bool finite32(float v) {
    return v - v == 0.0f;
}

const struct kernels *mldfi_finish_pick(const struct kernels *k, const struct finish *finish) {
    /* With finite numbers no NaN can arise, and the fast loops need not know what becomes of one. */
    for (int c = 0; finish->affine && c < 4; c++)
        if (!finite32(finish->scale[c]) || !finite32(finish->shift[c]))
            return mldfi_kernels(ISA_PORTABLE);
    return k;
}

void mldfi_finish_begin(struct finish_row *row, const struct finish *finish, uint32_t channels, uint32_t bits,
                        bool mirror, size_t plane) {
    row->channels = channels;
    row->bits = bits;
    row->dtype = finish->dtype;
    row->planar = finish->planar && channels > 1;
    row->mirror = mirror;
    row->plane = plane;
    for (int c = 0; c < 4; c++) {
        row->scale[c] = finish->affine ? finish->scale[c] : 1.0f;
        row->shift[c] = finish->affine ? finish->shift[c] : 0.0f;
    }
}

static void *place(const struct finish_row *row, void *dst, size_t at) {
    size_t elements = row->planar ? at : at * row->channels;
    size_t bytes = row->dtype == MLDF_U8 ? 1 : row->dtype == MLDF_F32 ? 4 : 2;
    return (uint8_t *)dst + elements * bytes;
}

static void through_table(const struct kernels *k, const uint8_t (*table)[256], uint32_t channels, const uint8_t *in,
                          size_t pixels, uint8_t *out) {
    if (k->tables_first && (channels == 3 || channels == 1)) {
        const struct pixels p = {out, MLDF_U8, pixels, channels, channels, 1};
        memcpy(out, in, pixels * channels);
        k->byte_tables(&p, table);
        return;
    }
    if (channels == 3) {
        for (size_t i = 0; i < pixels; i++, in += 3, out += 3) {
            out[0] = table[0][in[0]];
            out[1] = table[1][in[1]];
            out[2] = table[2][in[2]];
        }
        return;
    }
    if (channels == 1) {
        for (size_t i = 0; i < pixels; i++)
            out[i] = table[0][in[i]];
        return;
    }
    for (size_t i = 0; i < pixels; i++)
        for (uint32_t c = 0; c < channels; c++)
            *out++ = table[c][*in++];
}

void mldfi_finish_row(const struct kernels *k, const struct finish_row *row, const uint8_t (*table)[256],
                      const uint8_t *in, size_t pixels, void *dst, size_t at) {
    uint8_t strip[STRIP * 4];
    if (!table || row->bits != 8) {
        k->finish(row, in, pixels, place(row, dst, at));
        return;
    }
    for (size_t from = 0; from < pixels; from += STRIP) {
        size_t n = pixels - from < STRIP ? pixels - from : STRIP;
        through_table(k, table, row->channels, in + from * row->channels, n, strip);
        k->finish(row, strip, n, place(row, dst, row->mirror ? at + pixels - from - n : at + from));
    }
}

void mldfi_finish(const struct kernels *k, const struct raster *in, bool mirror_x, bool mirror_y,
                  const struct finish *finish, void *dst) {
    struct finish_row row;
    size_t width = in->width, height = in->height, all = width * height;
    size_t pixel = (size_t)in->channels * (in->bits / 8);
    k = mldfi_finish_pick(k, finish);
    mldfi_finish_begin(&row, finish, in->channels, in->bits, mirror_x, all);
    if (in->stride == width * pixel && mirror_x == mirror_y) {
        /* one run; mirrored both ways, it is the run backwards */
        mldfi_finish_row(k, &row, finish->table, in->data, all, dst, 0);
        return;
    }
    for (size_t y = 0; y < height; y++)
        mldfi_finish_row(k, &row, finish->table, in->data + y * in->stride, width, dst,
                         (mirror_y ? height - 1 - y : y) * width);
}
