/* Conversions of elements: every f16, ends of types, layouts. NumPy is the oracle of the rest (tests/python/test_ops_reference.py). */
#include <math.h>

#include "check.h"
#include "kernel/cast.h"
#include "kernel/kernels.h"

static void every_f16_comes_back(void) {
    for (uint32_t v = 0; v < 65536; v++) {
        float wide = mldfi_f16_to_f32((uint16_t)v);
        if (isnan(wide))
            CHECK(isnan(mldfi_f16_to_f32(mldfi_f32_to_f16(wide))));
        else
            CHECK_EQ_U64(v, mldfi_f32_to_f16(wide));
    }
    CHECK_EQ_F64(65504.0, mldfi_f16_to_f32(0x7bff));
    CHECK_EQ_F64(0x1p-24, mldfi_f16_to_f32(1));
    CHECK_EQ_F64(-2.0, mldfi_f16_to_f32(0xc000));
}

static void floats_stop_at_the_ends_of_integers(void) {
    static const double in[] = {-1e30, -128.5, -0.5, 0.5, 1.5, 2.5, 127.5, 255.5, 1e30, NAN, INFINITY, -INFINITY};
    static const int8_t i8[] = {-128, -128, 0, 0, 2, 2, 127, 127, 127, 0, 127, -128};
    static const uint8_t u8[] = {0, 0, 0, 0, 2, 2, 128, 255, 255, 0, 255, 0};
    int8_t as_i8[12];
    uint8_t as_u8[12], as_bool[12];
    int64_t as_i64[12];
    uint64_t as_u64[12];
    mldfi_convert_elements(MLDF_F64, in, MLDF_I8, as_i8, 12);
    mldfi_convert_elements(MLDF_F64, in, MLDF_U8, as_u8, 12);
    mldfi_convert_elements(MLDF_F64, in, MLDF_I64, as_i64, 12);
    mldfi_convert_elements(MLDF_F64, in, MLDF_U64, as_u64, 12);
    mldfi_convert_elements(MLDF_F64, in, MLDF_BOOL, as_bool, 12);
    CHECK_MEM_EQ(i8, as_i8, 12);
    CHECK_MEM_EQ(u8, as_u8, 12);
    CHECK_EQ_INT(INT64_MIN, as_i64[0]);
    CHECK_EQ_INT(INT64_MAX, as_i64[8]);
    CHECK_EQ_INT(0, as_i64[9]);
    CHECK_EQ_U64(0, as_u64[0]);
    CHECK_EQ_U64(UINT64_MAX, as_u64[10]);
    for (int i = 0; i < 12; i++)
        CHECK_EQ_U64(1, as_bool[i]);
}

static void large_integers_are_rounded_once(void) {
    /* By way of a double the last bit is lost, what is left lies half way, and the even neighbour below would be taken. */
    uint64_t u[] = {(1ull << 63) + (1ull << 39) + 1, UINT64_MAX};
    int64_t i[] = {(1ll << 54) + (1ll << 30) + 1, -((1ll << 54) + (1ll << 30) + 1)};
    float f[2];
    mldfi_convert_elements(MLDF_U64, u, MLDF_F32, f, 2);
    CHECK_EQ_F64(0x1p63 + 0x1p40, f[0]);
    CHECK_EQ_F64(0x1p64, f[1]);
    mldfi_convert_elements(MLDF_I64, i, MLDF_F32, f, 2);
    CHECK_EQ_F64(0x1p54 + 0x1p31, f[0]);
    CHECK_EQ_F64(-(0x1p54 + 0x1p31), f[1]);
    CHECK_EQ_F64(0x1p64, mldfi_element_f64(MLDF_U64, u, 1));
}

static void complex_numbers_stay_complex(void) {
    float in[] = {1.5f, -2};
    double out[2];
    CHECK(mldfi_convertible(MLDF_C64, MLDF_C128));
    CHECK(!mldfi_convertible(MLDF_C64, MLDF_F64));
    CHECK(!mldfi_convertible(MLDF_F64, MLDF_C64));
    CHECK(!mldfi_convertible(MLDF_DTYPE_NONE, MLDF_F64));
    mldfi_convert_elements(MLDF_C64, in, MLDF_C128, out, 1);
    CHECK_EQ_F64(1.5, out[0]);
    CHECK_EQ_F64(-2, out[1]);
}

static void layouts_turn_and_turn_back(void) {
    uint64_t state = 7;
    static const size_t elements[] = {1, 2, 4, 8, 16};
    uint8_t in[16 * 4 * 35], planar[sizeof in], back[sizeof in];
    for (size_t e = 0; e < 5; e++)
        for (size_t channels = 1; channels <= 4; channels++) {
            size_t bytes = elements[e] * channels * 35;
            check_rand_bytes(&state, in, bytes);
            mldfi_to_planar(in, 35, channels, elements[e], planar);
            mldfi_to_interleaved(planar, 35, channels, elements[e], back);
            CHECK_MEM_EQ(in, back, bytes);
            for (size_t c = 0; c < channels; c++)
                CHECK_MEM_EQ(in + (11 * channels + c) * elements[e], planar + (c * 35 + 11) * elements[e], elements[e]);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_f16_comes_back);
    RUN(floats_stop_at_the_ends_of_integers);
    RUN(large_integers_are_rounded_once);
    RUN(complex_numbers_stay_complex);
    RUN(layouts_turn_and_turn_back);
    return check_end();
}
