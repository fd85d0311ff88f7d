/* What a thread keeps from image to image changes nothing: mldfi_image_check says what mldf_image_decode says of good and of damaged files, and
 * a JPEG encoder that stays makes the bytes of a new one, whatever it made before. */
#include <dirent.h>
#include <stdlib.h>

#include "check.h"
#include "codec/image.h"

/* ---- Checking --------------------------------------------------------------------------------------------------------------- */

struct verdicts {
    uint64_t good, bad;
};

static void compare(mldf_image_decoder *kept, const uint8_t *data, size_t bytes, const char *what, size_t at,
                    struct verdicts *seen) {
    uint8_t *copy = malloc(bytes ? bytes : 1); /* exact, so that the sanitizer sees a byte too many */
    mldf_image_shape shape;
    mldf_error want = {0}, got = {0};
    REQUIRE(copy);
    memcpy(copy, data, bytes);
    mldf_status wanted = mldf_image_decoded_shape(copy, bytes, NULL, &shape, &want);
    if (wanted == MLDF_OK &&
        shape.bytes > 1 << 24) { /* of 4000 million pixels after a flip: nothing to compare in a test */
        free(copy);
        return;
    }
    if (wanted == MLDF_OK) {
        void *pixels = malloc((size_t)shape.bytes);
        REQUIRE(pixels);
        wanted = mldf_image_decode(NULL, copy, bytes, NULL, pixels, (size_t)shape.bytes, &want);
        free(pixels);
    }
    mldf_status status = mldfi_image_check(kept, copy, bytes, &got);
    if (status != wanted || (status < 0 && (strcmp(want.message, got.message) != 0 || want.offset != got.offset)))
        check_fail(__FILE__, __LINE__, "%s, %zu: decode says %s: %s; check says %s: %s", what, at,
                   mldf_status_name(wanted), want.message, mldf_status_name(status), got.message);
    seen->good += status == MLDF_OK;
    seen->bad += status < 0;
    free(copy);
}

static void try_file(mldf_image_decoder *kept, const char *path, struct verdicts *seen) {
    enum { FLIPS = 150, CUTS = 40 };
    size_t bytes;
    uint64_t seed = 17;
    uint8_t *file = check_read_file(path, &bytes);
    REQUIRE(file);
    compare(kept, file, bytes, path, 0, seen);
    for (size_t i = 0; i < FLIPS && bytes; i++) {
        size_t at = check_rand(&seed) % bytes;
        uint8_t was = file[at];
        file[at] ^= (uint8_t)(1u << check_rand(&seed) % 8);
        compare(kept, file, bytes, path, at, seen);
        file[at] = was;
    }
    for (size_t i = 0; i < CUTS; i++)
        compare(kept, file, bytes * i / CUTS, path, bytes * i / CUTS, seen);
    compare(kept, file, bytes, path, 0, seen);
    free(file);
}

static void check_says_what_decode_says(const char *folder) {
    mldf_image_decoder *kept;
    mldf_error err;
    char path[512], root[256];
    struct verdicts seen = {0};
    snprintf(root, sizeof root, "%s", check_source(folder));
    DIR *list = opendir(root);
    REQUIRE(list);
    REQUIRE_OK(mldf_image_decoder_new(&kept, &err), &err);
    for (const struct dirent *entry; (entry = readdir(list));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
        try_file(kept, path, &seen);
    }
    closedir(list);
    mldf_image_decoder_free(kept);
    CHECK(seen.good > 10 && seen.bad > 10);
}

static void check_says_what_decode_says_of_jpeg(void) {
    check_says_what_decode_says("fuzz/corpus/image_jpeg");
}
static void check_says_what_decode_says_of_png(void) {
    check_says_what_decode_says("fuzz/corpus/image_png");
}
static void check_says_what_decode_says_of_bmp(void) {
    check_says_what_decode_says("fuzz/corpus/image_bmp");
}
static void check_says_what_decode_says_of_webp(void) {
#ifdef MLDF_HAVE_WEBP
    check_says_what_decode_says("fuzz/corpus/image_webp");
#endif
}
static void check_says_what_decode_says_of_tiff(void) {
#ifdef MLDF_HAVE_TIFF
    check_says_what_decode_says("fuzz/corpus/image_tiff");
#endif
}

/* ---- Decoding --------------------------------------------------------------------------------------------------------------- */

/* Without its Huffman tables a file is decoded with those of the standard (frames of Motion JPEG come so), not with those of the file that the
 * decoder had before. Without its quantization tables it is damaged. */
static void a_kept_decoder_forgets_the_tables_of_other_files(void) {
    static uint8_t pixels[40 * 33 * 3], want[40 * 33 * 3], got[40 * 33 * 3];
    static const uint8_t dropped[] = {0xc4, 0xdb};
    mldf_image_pixels p = {pixels, 40, 33, 3, 8};
    mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
    mldf_buffer plain = MLDF_BUFFER_INIT, other = MLDF_BUFFER_INIT, bare = MLDF_BUFFER_INIT;
    mldf_image_decoder *kept;
    mldf_error err;
    uint64_t seed = 9;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i / 5 + (check_rand(&seed) & 31));
    REQUIRE_OK(mldf_image_encode_jpeg(&p, &o, &plain, &err), &err);
    o.optimize = true;
    o.quality = 20;
    REQUIRE_OK(mldf_image_encode_jpeg(&p, &o, &other, &err), &err);
    CHECK_OK(mldf_image_decode(NULL, plain.data, plain.size, NULL, want, sizeof want, &err), &err);
    REQUIRE_OK(mldf_image_decoder_new(&kept, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct jpeg_segment s;
        size_t at = 0;
        bare.size = 0;
        REQUIRE_OK(mldf_buffer_append(&bare, "\xff\xd8", 2, &err), &err);
        while (mldfi_jpeg_next(plain.data, plain.size, &at, &s, &err) == MLDF_OK)
            if (s.marker != dropped[i] && s.marker != 0xd8)
                REQUIRE_OK(mldf_buffer_append(&bare, plain.data + s.offset, s.bytes, &err), &err);
        REQUIRE_OK(mldf_buffer_append(&bare, plain.data + s.offset, plain.size - s.offset, &err), &err);
        CHECK(bare.size < plain.size);
        CHECK_OK(mldf_image_decode(kept, other.data, other.size, NULL, got, sizeof got, &err), &err);
        mldf_status status = mldf_image_decode(kept, bare.data, bare.size, NULL, got, sizeof got, &err);
        if (i == 0) {
            CHECK_OK(status, &err);
            CHECK_MEM_EQ(want, got, sizeof want);
        } else {
            CHECK_STATUS(MLDF_E_CORRUPT, status, &err);
        }
    }
    mldf_image_decoder_free(kept);
    mldf_buffer_free(&plain);
    mldf_buffer_free(&other);
    mldf_buffer_free(&bare);
}

/* ---- Encoding --------------------------------------------------------------------------------------------------------------- */

static void a_kept_encoder_makes_the_bytes_of_a_new_one(void) {
    static uint8_t pixels[40 * 33 * 4 * 2];
    static const uint8_t icc[200] = {1, 2, 3};
    mldf_buffer want = MLDF_BUFFER_INIT, got = MLDF_BUFFER_INIT;
    mldf_error err;
    void *kept = NULL;
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i / 7 + (check_rand(&seed) & 31));
    for (int i = 0; i < 400; i++) {
        uint32_t side = 1 + (uint32_t)(check_rand(&seed) % 33);
        mldf_image_pixels p = {pixels, 40, side, 1 + (uint32_t)(check_rand(&seed) % 4), check_rand(&seed) % 2 ? 8 : 16};
        mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
        o.quality = 1 + (int)(check_rand(&seed) % 100);
        o.subsampling = (mldf_image_subsampling)(check_rand(&seed) % 3);
        o.optimize = check_rand(&seed) % 4 == 0;
        o.progressive = check_rand(&seed) % 4 == 0;
        if (check_rand(&seed) % 3 == 0) {
            o.icc = icc;
            o.icc_bytes = sizeof icc;
        }
        want.size = got.size = 0;
        REQUIRE_OK(mldf_image_encode_jpeg(&p, &o, &want, &err), &err);
        REQUIRE_OK(mldfi_jpeg_encode(&kept, &p, &o, &got, &err), &err);
        CHECK_EQ_U64(want.size, got.size);
        if (want.size == got.size)
            CHECK_MEM_EQ(want.data, got.data, want.size);
        o.quality = 101; /* refused: the encoder goes on */
        CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_jpeg_encode(&kept, &p, &o, &got, &err), &err);
    }
    mldfi_jpeg_encoder_free(kept);
    mldf_buffer_free(&want);
    mldf_buffer_free(&got);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(check_says_what_decode_says_of_jpeg);
    RUN(check_says_what_decode_says_of_png);
    RUN(check_says_what_decode_says_of_bmp);
    RUN(check_says_what_decode_says_of_webp);
    RUN(check_says_what_decode_says_of_tiff);
    RUN(a_kept_decoder_forgets_the_tables_of_other_files);
    RUN(a_kept_encoder_makes_the_bytes_of_a_new_one);
    return check_end();
}
