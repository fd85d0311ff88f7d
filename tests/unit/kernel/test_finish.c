/* The last pass over pixels, by hand-made values: layout, mirrors, table, affine map, narrow floats. */
#include "kernel/finish.h"

#include "check.h"

/* 2 x 3 pixels of three channels: 0 1 2 | 10 11 12 | ... */
static const uint8_t small[] = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32, 40, 41, 42, 50, 51, 52};

static struct raster image_of(uint8_t copy[sizeof small]) {
    memcpy(copy, small, sizeof small);
    struct raster p = {copy, 2, 3, 3, 8, 6};
    return p;
}

static void for_each_kernel(void (*test)(const struct kernels *)) {
    for (int isa = 0; isa < ISA_COUNT; isa++)
        if (mldfi_kernels((enum isa)isa))
            test(mldfi_kernels((enum isa)isa));
}

static void check_layouts(const struct kernels *k) {
    uint8_t copy[sizeof small], out[sizeof small];
    struct raster p = image_of(copy);
    struct finish f = {.dtype = MLDF_U8};
    mldfi_finish(k, &p, false, false, &f, out);
    CHECK_MEM_EQ(small, out, sizeof small);
    mldfi_finish(k, &p, true, false, &f, out);
    CHECK_MEM_EQ(((uint8_t[]){10, 11, 12, 0, 1, 2, 30, 31, 32, 20, 21, 22, 50, 51, 52, 40, 41, 42}), out, 18);
    mldfi_finish(k, &p, false, true, &f, out);
    CHECK_MEM_EQ(((uint8_t[]){40, 41, 42, 50, 51, 52, 20, 21, 22, 30, 31, 32, 0, 1, 2, 10, 11, 12}), out, 18);
    f.planar = true;
    mldfi_finish(k, &p, false, false, &f, out);
    CHECK_MEM_EQ(((uint8_t[]){0, 10, 20, 30, 40, 50, 1, 11, 21, 31, 41, 51, 2, 12, 22, 32, 42, 52}), out, 18);
    mldfi_finish(k, &p, true, true, &f, out);
    CHECK_MEM_EQ(((uint8_t[]){50, 40, 30, 20, 10, 0, 51, 41, 31, 21, 11, 1, 52, 42, 32, 22, 12, 2}), out, 18);
}

static void layouts_and_mirrors(void) {
    for_each_kernel(check_layouts);
}

static void check_map(const struct kernels *k) {
    uint8_t copy[sizeof small], table[3][256];
    float out[18];
    struct raster p = image_of(copy);
    struct finish f = {.dtype = MLDF_F32,
                       .planar = true,
                       .affine = true,
                       .table = (void *)table,
                       .scale = {0.1f, 0.2f, 0.3f},
                       .shift = {-0.7f, 0.0f, 3.0f}};
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            table[c][v] = (uint8_t)(255 - v + c);
    mldfi_finish(k, &p, false, false, &f, out);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 6; i++) {
            volatile float product = (float)table[c][small[3 * i + c]] * f.scale[c];
            float want = product + f.shift[c];
            CHECK_MEM_EQ(&want, &out[6 * c + i], sizeof want);
        }
}

static void the_table_comes_first_and_the_map_rounds_twice(void) {
    for_each_kernel(check_map);
}

static void narrow_floats(void) {
    static const struct {
        float value;
        uint16_t f16, bf16;
    } cases[] = {{0.0f, 0, 0},
                 {1.0f, 0x3c00, 0x3f80},
                 {-2.0f, 0xc000, 0xc000},
                 {65504.0f, 0x7bff, 0x4780},
                 {65519.996f, 0x7bff, 0x4780},
                 {65520.0f, 0x7c00, 0x4780},
                 {1.0f + 1.0f / 2048, 0x3c00, 0x3f80},
                 {1.0f + 3.0f / 2048, 0x3c02, 0x3f80},
                 {1.0f + 1.0f / 256, 0x3c04, 0x3f80},
                 {1.0f + 3.0f / 256, 0x3c0c, 0x3f82},
                 {5.9604645e-8f, 1, 0x3380},
                 {2.9802322e-8f, 0, 0x3300},
                 {2.9802326e-8f, 1, 0x3300},
                 {6.1035156e-5f, 0x0400, 0x3880},
                 {6.0975552e-5f, 0x03ff, 0x3880},
                 {3.4e38f, 0x7c00, 0x7f80}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ_U64(cases[i].f16, mldfi_f32_to_f16(cases[i].value));
        CHECK_EQ_U64(cases[i].bf16, mldfi_f32_to_bf16(cases[i].value));
    }
}

static void check_strange(const struct kernels *k) {
    uint8_t in[64];
    float out[64], want[64];
    struct raster p = {in, 64, 1, 1, 8, 64};
    float infinity = 1e38f;
    infinity *= 10;
    struct finish f = {.dtype = MLDF_F32, .affine = true, .scale = {1.0f}, .shift = {infinity}};
    memset(in, 7, sizeof in);
    for (int i = 0; i < 64; i++)
        want[i] = infinity;
    mldfi_finish(k, &p, false, false, &f, out);
    CHECK_MEM_EQ(want, out, sizeof want);
    f.dtype = MLDF_BF16;
    f.shift[0] = infinity - infinity;
    uint16_t narrow[64];
    mldfi_finish(k, &p, false, false, &f, narrow);
    CHECK((narrow[9] & 0x7f80) == 0x7f80 && (narrow[9] & 0x7f));
}

static void numbers_that_are_not_finite_stay_so(void) {
    for_each_kernel(check_strange);
}

static void wide_images_at_odd_addresses(void) {
    uint8_t memory[1 + 12];
    uint16_t out[6], values[6] = {1, 300, 65535, 4, 5, 60000};
    memcpy(memory + 1, values, sizeof values);
    struct raster p = {memory + 1, 3, 1, 2, 16, 12};
    struct finish f = {.dtype = MLDF_U16, .planar = true};
    mldfi_finish(mldfi_kernels_best(), &p, false, false, &f, out);
    CHECK_MEM_EQ(((uint16_t[]){1, 65535, 5, 300, 4, 60000}), out, 12);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(layouts_and_mirrors);
    RUN(the_table_comes_first_and_the_map_rounds_twice);
    RUN(narrow_floats);
    RUN(numbers_that_are_not_finite_stay_so);
    RUN(wide_images_at_odd_addresses);
    return check_end();
}
