/* zstd payloads: round trips, the prefix, dictionaries, and frames that lie. */
#include <zstd.h>

#include "check.h"
#include "codec/zstd.h"

struct codec {
    struct zstd_compressor *compressor;
    struct zstd_decompressor *decompressor;
    struct zstd_dictionary *dictionary;
};

static bool codec_new(struct codec *codec, const void *dictionary, size_t bytes) {
    mldf_error err;
    memset(codec, 0, sizeof *codec);
    return (!dictionary || mldfi_zstd_dictionary_new(&codec->dictionary, dictionary, bytes, &err) == MLDF_OK) &&
           mldfi_zstd_compressor_new(&codec->compressor, codec->dictionary, &err) == MLDF_OK &&
           mldfi_zstd_decompressor_new(&codec->decompressor, &err) == MLDF_OK;
}

static void codec_free(struct codec *codec) {
    mldfi_zstd_compressor_free(codec->compressor);
    mldfi_zstd_decompressor_free(codec->decompressor);
    mldfi_zstd_dictionary_free(codec->dictionary);
}

/* Text that compresses: words by chance. */
static void random_text(uint64_t *state, uint8_t *out, size_t bytes) {
    static const char words[] = "sample field image label page cursor offset payload table check ";
    for (size_t i = 0; i < bytes;) {
        size_t from = check_rand_below(state, sizeof words - 9);
        for (size_t k = 0; k < 8 && i < bytes; k++, i++)
            out[i] = (uint8_t)words[from + k];
    }
}

static void prefix_is_seven_bytes_of_size_and_one_of_codec(void) {
    static const uint8_t want[8] = {0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x01};
    uint8_t got[8];
    uint64_t raw = 0;
    uint8_t codec = 9;
    mldfi_prefix_encode(got, UINT64_C(0x01020304050607), MLDFI_CODEC_ZSTD);
    CHECK_MEM_EQ(want, got, 8);
    mldfi_prefix_decode(want, &raw, &codec);
    CHECK_EQ_U64(UINT64_C(0x01020304050607), raw);
    CHECK_EQ_INT(MLDFI_CODEC_ZSTD, codec);
    mldfi_prefix_encode(got, MLDFI_PREFIX_MAX_RAW, 255);
    mldfi_prefix_decode(got, &raw, &codec);
    CHECK_EQ_U64(MLDFI_PREFIX_MAX_RAW, raw);
    CHECK_EQ_INT(255, codec);
}

static void compressed_payloads_come_back_at_every_level(void) {
    enum { BYTES = 100000 };
    uint8_t *raw = malloc(BYTES), *back = malloc(BYTES);
    uint64_t state = check_seed();
    mldf_buffer out = MLDF_BUFFER_INIT;
    struct codec codec;
    mldf_error err;
    REQUIRE(raw && back && codec_new(&codec, NULL, 0));
    random_text(&state, raw, BYTES);
    for (int level = 0; level <= 22; level++) {
        uint64_t raw_bytes;
        uint8_t kind;
        size_t bytes = 1000 + check_rand_below(&state, BYTES - 1000);
        out.size = 0;
        REQUIRE_OK(mldf_buffer_append(&out, "before", 6, &err), &err);
        REQUIRE_OK(mldfi_zstd_compress(codec.compressor, level, raw, bytes, &out, &err), &err);
        CHECK_MEM_EQ("before", out.data, 6);
        mldfi_prefix_decode(out.data + 6, &raw_bytes, &kind);
        CHECK_EQ_U64(bytes, raw_bytes);
        REQUIRE_EQ_INT(MLDFI_CODEC_ZSTD, kind);
        CHECK(out.size < bytes);
        CHECK_EQ_U64(bytes, ZSTD_getFrameContentSize(out.data + 14, out.size - 14));
        CHECK_OK(mldfi_zstd_decompress(codec.decompressor, NULL, out.data + 14, out.size - 14, back, bytes, &err),
                 &err);
        CHECK_MEM_EQ(raw, back, bytes);
    }
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_zstd_compress(codec.compressor, 23, raw, 10, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_zstd_compress(codec.compressor, -1, raw, 10, &out, &err), &err);
    codec_free(&codec);
    mldf_buffer_free(&out);
    free(raw);
    free(back);
}

static void what_does_not_shrink_is_stored(void) {
    uint8_t raw[500];
    uint64_t state = check_seed(), raw_bytes;
    mldf_buffer out = MLDF_BUFFER_INIT;
    struct codec codec;
    mldf_error err;
    uint8_t kind;
    REQUIRE(codec_new(&codec, NULL, 0));
    check_rand_bytes(&state, raw, sizeof raw);
    for (size_t bytes = 0; bytes <= sizeof raw; bytes += bytes < 20 ? 1 : 97) {
        out.size = 0;
        REQUIRE_OK(mldfi_zstd_compress(codec.compressor, 3, raw, bytes, &out, &err), &err);
        REQUIRE_EQ_U64(8 + bytes, out.size);
        mldfi_prefix_decode(out.data, &raw_bytes, &kind);
        CHECK_EQ_U64(bytes, raw_bytes);
        CHECK_EQ_INT(MLDFI_CODEC_STORED, kind);
        CHECK_MEM_EQ(raw, out.data + 8, bytes);
    }
    codec_free(&codec);
    mldf_buffer_free(&out);
}

static void a_frame_depends_on_its_input_alone(void) {
    enum { BYTES = 50000 };
    uint8_t *raw = malloc(BYTES);
    uint64_t state = check_seed();
    mldf_buffer fresh = MLDF_BUFFER_INIT, used = MLDF_BUFFER_INIT;
    struct codec veteran;
    mldf_error err;
    REQUIRE(raw && codec_new(&veteran, NULL, 0));
    for (int round = 0; round < 100; round++) {
        struct codec novice;
        size_t bytes = check_rand_below(&state, BYTES);
        int level = 1 + (int)check_rand_below(&state, 12);
        random_text(&state, raw, bytes);
        REQUIRE(codec_new(&novice, NULL, 0));
        fresh.size = used.size = 0;
        REQUIRE_OK(mldfi_zstd_compress(novice.compressor, level, raw, bytes, &fresh, &err), &err);
        REQUIRE_OK(mldfi_zstd_compress(veteran.compressor, level, raw, bytes, &used, &err), &err);
        CHECK_BYTES_EQ(fresh.data, fresh.size, used.data, used.size);
        codec_free(&novice);
    }
    codec_free(&veteran);
    mldf_buffer_free(&fresh);
    mldf_buffer_free(&used);
    free(raw);
}

static void frames_that_lie_are_corrupt(void) {
    enum { BYTES = 5000 };
    static uint8_t raw[BYTES], back[2 * BYTES];
    uint64_t state = check_seed();
    mldf_buffer out = MLDF_BUFFER_INIT;
    struct codec codec;
    mldf_error err;
    REQUIRE(codec_new(&codec, NULL, 0));
    random_text(&state, raw, BYTES);
    REQUIRE_OK(mldfi_zstd_compress(codec.compressor, 3, raw, BYTES, &out, &err), &err);
    const uint8_t *frame = out.data + 8;
    size_t bytes = out.size - 8;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, frame, bytes, back, BYTES - 1, &err),
                 &err);
    CHECK_EQ_U64(0, err.offset);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, frame, bytes, back, BYTES + 1, &err),
                 &err);
    for (size_t cut = 0; cut < bytes; cut++)
        CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, frame, cut, back, BYTES, &err),
                     &err);
    REQUIRE_OK(mldf_buffer_append(&out, "x", 1, &err), &err);
    frame = out.data + 8;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, frame, bytes + 1, back, BYTES, &err),
                 &err);
    CHECK_CONTAINS("1 bytes follow", TEXT(err));
    /* Two frames are one too many, even when together they give the right size. */
    uint8_t two[200];
    size_t one = ZSTD_compress(two, 100, "abc", 3, 1), both = one + ZSTD_compress(two + one, 100, "def", 3, 1);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, two, both, back, 6, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, two, both, back, 3, &err), &err);
    CHECK_OK(mldfi_zstd_decompress(codec.decompressor, NULL, two, one, back, 3, &err), &err);
    /* A skippable frame decodes to nothing and is no payload. */
    static const uint8_t skippable[] = {0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 'x'};
    CHECK_STATUS(MLDF_E_CORRUPT,
                 mldfi_zstd_decompress(codec.decompressor, NULL, skippable, sizeof skippable, back, 0, &err), &err);
    /* A frame without its size. */
    ZSTD_CCtx *context = ZSTD_createCCtx();
    REQUIRE(context != NULL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    one = ZSTD_compress2(context, two, sizeof two, "abc", 3);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_decompress(codec.decompressor, NULL, two, one, back, 3, &err), &err);
    CHECK_CONTAINS("content size", TEXT(err));
    ZSTD_freeCCtx(context);
    codec_free(&codec);
    mldf_buffer_free(&out);
}

static void flipped_bits_never_pass_the_end_of_the_destination(void) {
    enum { BYTES = 3000 };
    static uint8_t raw[BYTES];
    uint64_t state = check_seed();
    mldf_buffer out = MLDF_BUFFER_INIT;
    struct codec codec;
    mldf_error err;
    uint8_t *back = malloc(BYTES);
    REQUIRE(back && codec_new(&codec, NULL, 0));
    random_text(&state, raw, BYTES);
    REQUIRE_OK(mldfi_zstd_compress(codec.compressor, 3, raw, BYTES, &out, &err), &err);
    for (size_t bit = 0; bit < (out.size - 8) * 8; bit++) {
        out.data[8 + bit / 8] ^= (uint8_t)(1 << bit % 8);
        mldf_status status =
            mldfi_zstd_decompress(codec.decompressor, NULL, out.data + 8, out.size - 8, back, BYTES, &err);
        CHECK(status == MLDF_OK || status == MLDF_E_CORRUPT);
        out.data[8 + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_OK(mldfi_zstd_decompress(codec.decompressor, NULL, out.data + 8, out.size - 8, back, BYTES, &err), &err);
    codec_free(&codec);
    mldf_buffer_free(&out);
    free(back);
}

/* `count` texts of 50 to 250 bytes in a row. */
static size_t make_samples(uint64_t *state, uint8_t *out, size_t *sizes, size_t count) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        char text[256];
        int n = snprintf(text, sizeof text,
                         "{\"index\":%zu,\"label\":\"class_%d\",\"path\":\"images/train/%08x.jpg\",\"score\":0.%u}", i,
                         (int)check_rand_below(state, 10), (unsigned)check_rand(state),
                         (unsigned)check_rand_below(state, 1000));
        memcpy(out + total, text, (size_t)n);
        sizes[i] = (size_t)n;
        total += (size_t)n;
    }
    return total;
}

static void a_trained_dictionary_helps_small_payloads(void) {
    enum { COUNT = 3000 };
    uint8_t *samples = malloc(COUNT * 256), back[256];
    size_t *sizes = malloc(COUNT * sizeof *sizes);
    uint64_t state = check_seed();
    mldf_buffer first = MLDF_BUFFER_INIT, second = MLDF_BUFFER_INIT, out = MLDF_BUFFER_INIT, plain = MLDF_BUFFER_INIT;
    struct codec with, without;
    mldf_error err;
    REQUIRE(samples && sizes);
    make_samples(&state, samples, sizes, COUNT);
    REQUIRE_OK(mldfi_zstd_train(samples, sizes, COUNT, &first, &err), &err);
    REQUIRE_OK(mldfi_zstd_train(samples, sizes, COUNT, &second, &err), &err);
    CHECK_BYTES_EQ(first.data, first.size, second.data, second.size);
    CHECK(first.size > 0 && first.size <= 110 * 1024);
    REQUIRE(codec_new(&with, first.data, first.size) && codec_new(&without, NULL, 0));
    memset(first.data, 0, first.size); /* the dictionary has its own copy */
    for (int level = 1; level <= 19; level += 3) {
        out.size = plain.size = 0;
        REQUIRE_OK(mldfi_zstd_compress(with.compressor, level, samples, sizes[0], &out, &err), &err);
        REQUIRE_OK(mldfi_zstd_compress(without.compressor, level, samples, sizes[0], &plain, &err), &err);
        CHECK(out.size < plain.size);
        CHECK_OK(
            mldfi_zstd_decompress(with.decompressor, with.dictionary, out.data + 8, out.size - 8, back, sizes[0], &err),
            &err);
        CHECK_MEM_EQ(samples, back, sizes[0]);
    }
    CHECK_STATUS(MLDF_E_CORRUPT,
                 mldfi_zstd_decompress(without.decompressor, NULL, out.data + 8, out.size - 8, back, sizes[0], &err),
                 &err);
    CHECK_CONTAINS("dictionary", TEXT(err));
    codec_free(&with);
    codec_free(&without);
    mldf_buffer_free(&first);
    mldf_buffer_free(&second);
    mldf_buffer_free(&out);
    mldf_buffer_free(&plain);
    free(samples);
    free(sizes);
}

static void another_dictionary_is_refused(void) {
    enum { COUNT = 2000 };
    uint8_t *samples = malloc(COUNT * 256), back[256];
    size_t *sizes = malloc(COUNT * sizeof *sizes);
    uint64_t state = check_seed();
    mldf_buffer one = MLDF_BUFFER_INIT, two = MLDF_BUFFER_INIT, out = MLDF_BUFFER_INIT;
    struct codec a, b;
    mldf_error err;
    REQUIRE(samples && sizes);
    make_samples(&state, samples, sizes, COUNT);
    REQUIRE_OK(mldfi_zstd_train(samples, sizes, COUNT, &one, &err), &err);
    make_samples(&state, samples, sizes, COUNT);
    REQUIRE_OK(mldfi_zstd_train(samples, sizes, COUNT, &two, &err), &err);
    REQUIRE(codec_new(&a, one.data, one.size) && codec_new(&b, two.data, two.size));
    REQUIRE_OK(mldfi_zstd_compress(a.compressor, 3, samples, sizes[0], &out, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT,
                 mldfi_zstd_decompress(b.decompressor, b.dictionary, out.data + 8, out.size - 8, back, sizes[0], &err),
                 &err);
    codec_free(&a);
    codec_free(&b);
    mldf_buffer_free(&one);
    mldf_buffer_free(&two);
    mldf_buffer_free(&out);
    free(samples);
    free(sizes);
}

static void training_on_too_little_says_end(void) {
    static const size_t sizes[] = {3, 3, 3};
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_END, mldfi_zstd_train("abcdefghi", sizes, 3, &out, &err), &err);
    CHECK_STATUS(MLDF_END, mldfi_zstd_train(NULL, NULL, 0, &out, &err), &err);
    CHECK_EQ_U64(0, out.size);
    mldf_buffer_free(&out);
}

static void damaged_dictionaries_are_corrupt(void) {
    struct zstd_dictionary *dictionary;
    mldf_error err;
    static const uint8_t bad[64] = {0x37, 0xA4, 0x30, 0xEC, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF};
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_dictionary_new(&dictionary, bad, sizeof bad, &err), &err);
    CHECK(dictionary == NULL);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_zstd_dictionary_new(&dictionary, bad, 0, &err), &err);
    mldfi_zstd_dictionary_free(NULL);
    mldfi_zstd_compressor_free(NULL);
    mldfi_zstd_decompressor_free(NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(prefix_is_seven_bytes_of_size_and_one_of_codec);
    RUN(compressed_payloads_come_back_at_every_level);
    RUN(what_does_not_shrink_is_stored);
    RUN(a_frame_depends_on_its_input_alone);
    RUN(frames_that_lie_are_corrupt);
    RUN(flipped_bits_never_pass_the_end_of_the_destination);
    RUN(a_trained_dictionary_helps_small_payloads);
    RUN(another_dictionary_is_refused);
    RUN(training_on_too_little_says_end);
    RUN(damaged_dictionaries_are_corrupt);
    return check_end();
}
