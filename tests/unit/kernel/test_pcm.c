/* Stored audio as float: each number against its definition, every value of 8, 16 and 24 bits, and swapped byte orders. The codes of
 * A-law and mu-law are compared with libsndfile in tests/unit/field/test_audio_data.c. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "kernel/pcm.h"
#include "util/bytes.h"

static void pairs(void) {
    for (unsigned codec = 0; codec < 256; codec++)
        for (unsigned bits = 0; bits < 256; bits++) {
            bool law = (codec == 17 || codec == 18) && bits == 8;
            bool pcm = codec == 0 && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
            bool real = codec == 16 && (bits == 32 || bits == 64);
            if (mldfi_pcm_bytes(codec, bits) != (law || pcm || real ? bits / 8 : 0))
                check_fail(__FILE__, __LINE__, "codec %u, %u bits", codec, bits);
        }
}

static void every_value_of_8_and_16_bits(void) {
    static float out[65536];
    static uint8_t in[2 * 65536 + 1];
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t)i;
    mldfi_pcm_to_f32(MLDF_AUDIO_PCM, 8, in, 256, out);
    for (int i = 0; i < 256; i++)
        CHECK_EQ_F64((i - 128) / 128.0, (double)out[i]);
    for (int i = 0; i < 65536; i++)
        mldfi_store_u16(in + 1 + 2 * i, (uint16_t)i); /* not aligned */
    mldfi_pcm_to_f32(MLDF_AUDIO_PCM, 16, in + 1, 65536, out);
    for (int i = 0; i < 65536; i++)
        if ((double)out[i] != (int16_t)i / 32768.0)
            check_fail(__FILE__, __LINE__, "%d gives %g", (int16_t)i, (double)out[i]);
}

static void every_value_of_24_bits(void) {
    enum { COUNT = 1 << 24 };
    uint8_t *in = malloc(3 * (size_t)COUNT);
    float *out = malloc(COUNT * sizeof *out);
    REQUIRE(in && out);
    for (uint32_t i = 0; i < COUNT; i++) {
        in[3 * i] = (uint8_t)i;
        in[3 * i + 1] = (uint8_t)(i >> 8);
        in[3 * i + 2] = (uint8_t)(i >> 16);
    }
    mldfi_pcm_to_f32(MLDF_AUDIO_PCM, 24, in, COUNT, out);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        wrong += (double)out[i] != ((double)i - (i < COUNT / 2 ? 0 : COUNT)) / 8388608.0;
    CHECK_EQ_U64(0, wrong);
    free(in);
    free(out);
}

static void numbers_of_32_and_64_bits_are_rounded_once(void) {
    static const int32_t ints[] = {INT32_MIN, INT32_MAX, 0,       1,          -1,
                                   16777217,  -16777219, 1 << 30, 0x40000041, INT32_MIN + 65};
    float out[10];
    mldfi_pcm_to_f32(MLDF_AUDIO_PCM, 32, ints, 10, out);
    for (size_t i = 0; i < 10; i++) {
        float want = (float)(ints[i] / 2147483648.0); /* exact in double, one rounding */
        CHECK_MEM_EQ(&want, &out[i], 4);
    }
    static const double doubles[] = {0.1, -0.0, 1e300, -1e300, 5e-324, 1.0 + 0x1p-25, 3.5};
    mldfi_pcm_to_f32(MLDF_AUDIO_FLOAT, 64, doubles, 7, out);
    for (size_t i = 0; i < 7; i++) {
        float want = (float)doubles[i];
        CHECK_MEM_EQ(&want, &out[i], 4);
    }
    static const uint32_t floats[] = {0x7f800001, 0x7fc12345, 0x80000000, 0x3f800000}; /* NaNs keep their bits */
    mldfi_pcm_to_f32(MLDF_AUDIO_FLOAT, 32, floats, 4, out);
    CHECK_MEM_EQ(floats, out, sizeof floats);
}

static void few_codes_and_many_agree(void) {
    uint8_t in[600];
    float many[600], one;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)i;
    for (unsigned codec = MLDF_AUDIO_ALAW; codec <= MLDF_AUDIO_MULAW; codec++) {
        mldfi_pcm_to_f32(codec, 8, in, sizeof in, many);
        for (size_t i = 0; i < sizeof in; i++) {
            mldfi_pcm_to_f32(codec, 8, in + i, 1, &one);
            CHECK_MEM_EQ(&many[i], &one, 4);
        }
    }
}

static void bytes_are_swapped(void) {
    static const uint8_t in[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                   12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
    uint8_t out[24];
    for (unsigned bytes = 2; bytes <= 8; bytes = bytes == 2 ? 3 : bytes == 3 ? 4 : bytes * 2) {
        mldfi_pcm_swap(bytes, in, 24 / bytes, out);
        for (unsigned i = 0; i < 24; i++)
            CHECK_EQ_U64(i / bytes * bytes + bytes - 1 - i % bytes, out[i]);
        mldfi_pcm_swap(bytes, out, 24 / bytes, out);
        CHECK_MEM_EQ(in, out, 24);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(pairs);
    RUN(every_value_of_8_and_16_bits);
    RUN(every_value_of_24_bits);
    RUN(numbers_of_32_and_64_bits_are_rounded_once);
    RUN(few_codes_and_many_agree);
    RUN(bytes_are_swapped);
    return check_end();
}
