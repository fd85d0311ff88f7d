/* The loops of the fast JPEG store: every instruction set gives the portable text's bytes, for random coefficients of every size, also such as no
 * encoder writes, and writes no further than it may. */
#include "check.h"
#include "kernel/jpeg.h"
#include "kernel/kernels.h"

enum { PAIRS = 5, ROW = 512, GUARD = JPEG_PLANE_PAD };

static void fill_words(uint64_t *seed, int16_t *out, size_t count, unsigned bits) {
    for (size_t i = 0; i < count; i++) {
        int value = (int)check_rand_below(seed, UINT64_C(1) << bits) - (1 << bits) / 2;
        out[i] = (int16_t)(check_rand_below(seed, 3) ? 0 : value);
    }
}

static void fill_bytes(uint64_t *seed, uint8_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)check_rand_below(seed, 256);
}

static void make_quantisers(uint64_t *seed, struct jpeg_quantisers *q) {
    /* Groups of two tiles of 4 x 2, in the order of the tiles: any order inside a group will do. */
    static const uint8_t tile_at[4][2] = {{0, 16}, {4, 32}, {20, 48}, {36, 52}};
    uint8_t first[64], second[64], straight[64], scan[64];
    for (unsigned i = 0; i < 64; i++) {
        first[i] = (uint8_t)(1 + check_rand_below(seed, 255));
        second[i] = (uint8_t)(1 + check_rand_below(seed, 255));
        straight[i] = (uint8_t)i;
        unsigned in_tile = i % 8;
        scan[i] = (uint8_t)(tile_at[i / 16][i / 8 % 2] + in_tile / 4 * 8 + in_tile % 4);
    }
    mldfi_jpeg_quantisers(first, second, straight, scan, q);
}

static void transforms_agree(void) {
    static int16_t low[2 * PAIRS * JPEG_LOW_STRIDE], high[2 * PAIRS * JPEG_HIGH_STRIDE];
    static uint8_t want[16 * 64], got[16 * 64];
    uint64_t seed = check_seed();
    for (unsigned round = 0; round < 600; round++) {
        struct jpeg_quantisers q;
        unsigned bits = 2 + round % 14, log2 = round % 4;
        make_quantisers(&seed, &q);
        fill_words(&seed, low, 2 * PAIRS * JPEG_LOW_STRIDE, bits);
        fill_words(&seed, high, 2 * PAIRS * JPEG_HIGH_STRIDE, bits);
        struct jpeg_blocks b = {.low = low, .high = high, .pairs = 1 + round % PAIRS, .q = &q, .step = 8, .stride = 64};
        if (log2 < 3 && check_rand_below(&seed, 2))
            b.high = NULL;
        for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++) {
            const struct kernels *kernels = mldfi_kernels((enum isa)isa);
            if (!kernels)
                continue;
            memset(isa ? got : want, 0xaa, sizeof got);
            b.a = isa ? got : want;
            b.b = b.a + 8 * 64;
            kernels->jpeg->transform[log2](&b);
            if (isa)
                CHECK_BYTES_EQ(want, sizeof want, got, sizeof got);
        }
    }
}

static void rows_agree(void) {
    static uint8_t in[3][GUARD + ROW + GUARD], want[GUARD + 4 * ROW + GUARD], got[GUARD + 4 * ROW + GUARD];
    uint64_t seed = check_seed();
    for (unsigned round = 0; round < 400; round++) {
        for (unsigned i = 0; i < 3; i++)
            fill_bytes(&seed, in[i], sizeof in[i]);
        size_t count = 1 + check_rand_below(&seed, ROW / 2);
        unsigned channels = 3 + round % 2, what = round % 5;
        struct jpeg_up u = {.near = in[0] + GUARD, .far = in[1] + GUARD, .count = count};
        u.first = check_rand_below(&seed, 2);
        u.last = check_rand_below(&seed, 2);
        size_t bytes = what < 2 ? 2 * count : what == 4 ? count : channels * count;
        for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++) {
            const struct kernels *kernels = mldfi_kernels((enum isa)isa);
            if (!kernels)
                continue;
            uint8_t *out = isa ? got : want;
            memset(out, 0xaa, sizeof got);
            u.out = out + GUARD;
            if (what < 2)
                (what ? kernels->jpeg->up_both : kernels->jpeg->up_across)(&u);
            else if (what == 4)
                kernels->jpeg->up_down(&u, 1 + (int)(count % 2));
            else
                (what == 2 ? kernels->jpeg->color : kernels->jpeg->join)(in[0] + GUARD, in[1] + GUARD, in[2] + GUARD,
                                                                         count, channels, u.out);
            CHECK_BYTES_EQ(want, GUARD + bytes, out, GUARD + bytes);
            for (size_t i = GUARD + bytes + 64; i < sizeof got; i++)
                CHECK_EQ_INT(0xaa, out[i]);
        }
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(transforms_agree);
    RUN(rows_agree);
    return check_end();
}
