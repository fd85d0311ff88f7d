/* Decoded video to RGB: for each matrix, range, place of chroma, sampling and number of bits, the portable loops are within one of the definition in doubles, and every
 * instruction set gives their bytes. Planes end with their last sample, so that a sanitizer sees what is read too far. */
#include <math.h>

#include "kernel/kernels.h"
#include "kernel/video_rgb.h"

#include "check.h"

static uint64_t seed;

static uint32_t below(uint32_t n) {
    return (uint32_t)check_rand_below(&seed, n);
}

static void *get(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(3);
    return memory;
}

static const uint32_t matrices[] = {1, 4, 5, 6, 7, 9, 10};
static const double weights[][2] = {{0.2126, 0.0722}, {0.30, 0.11},     {0.299, 0.114},  {0.299, 0.114},
                                    {0.212, 0.087},   {0.2627, 0.0593}, {0.2627, 0.0593}};
enum { MATRICES = sizeof matrices / sizeof matrices[0], KINDS = MATRICES * 2 * 4 * 3 };
static const uint32_t depths[] = {8, 10, 12, 9, 16};

/* One of KINDS: a matrix, a range, places of chroma, a sampling. Numbers are any that the bits hold, beyond the range too. */
static struct video_planes make(uint32_t kind, uint32_t bits, uint32_t width, uint32_t height) {
    struct video_planes p = {.width = width, .height = height, .planes = 3, .bits = bits};
    p.matrix = matrices[kind % MATRICES], kind /= MATRICES;
    p.full = kind % 2, kind /= 2;
    p.between_x = kind % 2, kind /= 2;
    p.between_y = kind % 2, kind /= 2;
    p.shift_x = kind < 2, p.shift_y = kind < 1;
    for (int c = 0; c < 3; c++) {
        uint32_t w = c && p.shift_x ? (width + 1) / 2 : width, h = c && p.shift_y ? (height + 1) / 2 : height;
        size_t sample = bits > 8 ? 2 : 1, stride = (w + below(3)) * sample, bytes = stride * (h - 1) + w * sample;
        uint8_t *data = get(bytes);
        for (size_t i = 0; i + sample <= bytes; i += sample) {
            uint32_t most = (UINT32_C(1) << bits) - 1,
                     number = below(8) == 0 ? (below(2) ? most : 0) : (uint32_t)check_rand(&seed) & most;
            data[i] = (uint8_t)number;
            if (sample == 2)
                data[i + 1] = (uint8_t)(number >> 8);
        }
        p.plane[c] = data;
        p.stride[c] = (ptrdiff_t)stride;
    }
    return p;
}

static void free_planes(struct video_planes *p) {
    for (int c = 0; c < 3; c++)
        free((void *)(uintptr_t)p->plane[c]);
}

static double sample_at(const struct video_planes *p, int c, int64_t x, int64_t y) {
    int64_t w = c && p->shift_x ? (p->width + 1) / 2 : p->width, h = c && p->shift_y ? (p->height + 1) / 2 : p->height;
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    const uint8_t *at = p->plane[c] + y * p->stride[c] + x * (p->bits > 8 ? 2 : 1);
    return p->bits > 8 ? at[0] + 256 * at[1] : at[0];
}

/* Linear between the centres of samples. */
static double chroma_at(const struct video_planes *p, int c, uint32_t x, uint32_t y) {
    double at_x = p->shift_x ? (x - (p->between_x ? 0.5 : 0.0)) / 2 : x;
    double at_y = p->shift_y ? (y - (p->between_y ? 0.5 : 0.0)) / 2 : y;
    int64_t ix = (int64_t)floor(at_x), iy = (int64_t)floor(at_y);
    double fx = at_x - (double)ix, fy = at_y - (double)iy;
    return (1 - fy) * ((1 - fx) * sample_at(p, c, ix, iy) + fx * sample_at(p, c, ix + 1, iy)) +
           fy * ((1 - fx) * sample_at(p, c, ix, iy + 1) + fx * sample_at(p, c, ix + 1, iy + 1));
}

static void reference(const struct video_planes *p, uint32_t x, uint32_t y, double most, double rgb[3]) {
    double kr = 0, kb = 0, one = (double)(UINT32_C(1) << (p->bits - 8));
    for (int i = 0; i < MATRICES; i++)
        if (matrices[i] == p->matrix)
            kr = weights[i][0], kb = weights[i][1];
    double span = p->full ? 256 * one - 1 : 219 * one, colour = p->full ? 256 * one - 1 : 224 * one;
    double l = (sample_at(p, 0, x, y) - (p->full ? 0 : 16 * one)) / span;
    double cb = (chroma_at(p, 1, x, y) - 128 * one) / colour, cr = (chroma_at(p, 2, x, y) - 128 * one) / colour;
    rgb[0] = l + 2 * (1 - kr) * cr;
    rgb[2] = l + 2 * (1 - kb) * cb;
    rgb[1] = (l - kr * rgb[0] - kb * rgb[2]) / (1 - kr - kb);
    for (int c = 0; c < 3; c++)
        rgb[c] = fmin(fmax(rgb[c] * most, 0), most);
}

static void convert(const struct kernels *k, const struct video_planes *p, uint32_t bits, uint32_t x, uint32_t y,
                    uint32_t count, void *out) {
    struct video_rgb v;
    uint16_t *room = get(mldfi_video_rgb_room(count) * sizeof *room);
    mldfi_video_rgb_begin(&v, p, bits);
    mldfi_video_rgb_row(k, &v, x, y, count, room, out);
    free(room);
}

static void portable_is_within_one_of_the_definition(void) {
    bool good = true;
    for (uint32_t kind = 0; kind < KINDS && good; kind++)
        for (size_t d = 0; d < sizeof depths / sizeof depths[0] && good; d++) {
            const uint32_t width = 1 + below(21), height = 1 + below(6), bits = below(4) ? 8 : 16;
            struct video_planes p = make(kind, depths[d], width, height);
            uint16_t *out = get((size_t)width * 6);
            for (uint32_t y = 0; y < height; y++) {
                convert(mldfi_kernels(ISA_PORTABLE), &p, bits, 0, y, width, out);
                for (uint32_t i = 0; i < 3 * width && good; i++) {
                    double want[3], got = bits == 16 ? out[i] : ((uint8_t *)out)[i];
                    /* Half a level, and what the rounding of constants to 2^-14 adds: the more, the smaller they are. */
                    double room = 0.5 + 3 * ldexp(1.0, (int)p.bits - 15) + (bits == 16 ? 1 : 0);
                    reference(&p, i / 3, y, bits == 16 ? 65535 : 255, want);
                    good = fabs(want[i % 3] - got) <= room;
                    if (!good)
                        check_fail(__FILE__, __LINE__,
                                   "%u bits to %u, matrix %u, full %d, shifts %u %u, between %d %d, "
                                   "pixel %u of %u, row %u of %u, colour %u: %g and not %g",
                                   p.bits, bits, p.matrix, p.full, p.shift_x, p.shift_y, p.between_x, p.between_y,
                                   i / 3, width, y, height, i % 3, got, want[i % 3]);
                }
            }
            free(out);
            free_planes(&p);
        }
}

static bool same_once(uint32_t kind, uint32_t bits, uint32_t width) {
    struct video_planes p = make(kind, bits, width, 1 + below(5));
    const uint32_t x = below(width), count = 1 + below(width - x), y = below(p.height);
    const size_t bytes = (size_t)3 * count;
    uint8_t *want = get(bytes), *got = get(bytes);
    bool good = true;
    convert(mldfi_kernels(ISA_PORTABLE), &p, 8, x, y, count, want);
    for (int isa = 1; isa < ISA_COUNT && good; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(got, 0x5a, bytes);
        convert(k, &p, 8, x, y, count, got);
        good = memcmp(want, got, bytes) == 0;
        if (!good)
            check_fail(
                __FILE__, __LINE__,
                "%s differs from portable: %u bits, matrix %u, full %d, shifts %u %u, between %d %d, pixels %u to %u of %u",
                k->name, bits, p.matrix, p.full, p.shift_x, p.shift_y, p.between_x, p.between_y, x, x + count, width);
    }
    free(want);
    free(got);
    free_planes(&p);
    return good;
}

static void every_set_gives_the_same(void) {
    bool good = true;
    for (uint32_t kind = 0; kind < KINDS && good; kind++)
        for (size_t d = 0; d < 4 && good; d++)
            for (int round = 0; round < 8 && good; round++)
                good = same_once(kind, depths[d], 1 + below(round == 0 ? 300 : 90));
}

/* What the sums reach at most, and where rounding is: all numbers of luma beside the extremes of chroma. */
static void extremes_are_the_same(void) {
    uint8_t luma[256], chroma[2][256], want[768], got[768];
    for (int i = 0; i < 256; i++)
        luma[i] = (uint8_t)i;
    for (uint32_t kind = 0; kind < KINDS; kind++)
        for (int which = 0; which < 4; which++) {
            struct video_planes p = make(kind, 8, 1, 1);
            free_planes(&p);
            p.width = 256, p.shift_x = p.shift_y = 0;
            memset(chroma[0], which & 1 ? 255 : 0, 256);
            memset(chroma[1], which & 2 ? 255 : 0, 256);
            p.plane[0] = luma, p.plane[1] = chroma[0], p.plane[2] = chroma[1];
            convert(mldfi_kernels(ISA_PORTABLE), &p, 8, 0, 0, 256, want);
            for (uint32_t i = 0; i < 768; i++) {
                double rgb[3];
                reference(&p, i / 3, 0, 255, rgb);
                CHECK(fabs(rgb[i % 3] - want[i]) <= 0.6);
            }
            for (int isa = 1; isa < ISA_COUNT; isa++)
                if (mldfi_kernels((enum isa)isa)) {
                    convert(mldfi_kernels((enum isa)isa), &p, 8, 0, 0, 256, got);
                    CHECK_MEM_EQ(want, got, sizeof got);
                }
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(portable_is_within_one_of_the_definition);
    RUN(every_set_gives_the_same);
    RUN(extremes_are_the_same);
    return check_end();
}
