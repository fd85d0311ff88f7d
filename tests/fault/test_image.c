/* Every allocation fails once while images are decoded, encoded and resized, ours and those of the codecs' libraries: MLDF_E_MEMORY, or
 * success with the right pixels, and never a word against the image. Some versions of libwebp and libtiff crash: those run in a child. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "codec/image.h"
#include "fault/failing_alloc.h"
#include "mldf/image.h"

static const char *file_name;
static uint8_t *file, *profile;
static size_t file_bytes, profile_bytes;
static bool tolerant, whole;
static uint8_t pixels[1 << 16], expected[1 << 16];

/* ---- What is done ---------------------------------------------------------------------------------------------------------- */

static mldf_status do_decode(mldf_error *err) {
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    o.tolerant = tolerant;
    if (!whole) {
        o.channels = 4;
        o.orient = true;
        o.orientation = 6;
    }
    mldf_status status = mldf_image_decoded_shape(file, file_bytes, &o, &shape, err);
    return status < 0 ? status : mldf_image_decode(NULL, file, file_bytes, &o, pixels, shape.bytes, err);
}

static mldf_status do_profile(mldf_error *err) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_status status = mldf_image_icc(file, file_bytes, &out, err);
    CHECK(status < 0 || status == MLDF_OK); /* MLDF_ABSENT would be: there is none */
    mldf_buffer_free(&out);
    return status;
}

/* Once with a decoder that has kept nothing yet, once with one that has, also after a failure. */
static mldf_status do_check(mldf_error *err) {
    mldf_image_decoder *decoder = NULL;
    mldf_status status = mldf_image_decoder_new(&decoder, err);
    for (int i = 0; i < 2 && status == MLDF_OK; i++)
        status = mldfi_image_check(decoder, file, file_bytes, err);
    if (decoder && status == MLDF_E_MEMORY) { /* it can be used again: no other allocation fails */
        mldf_error why;
        CHECK_OK(mldfi_image_check(decoder, file, file_bytes, &why), &why);
    }
    mldf_image_decoder_free(decoder);
    return status;
}

/* The same of an encoder. */
static mldf_status do_encode_kept(mldf_error *err) {
    mldf_image_pixels p = {expected, 20, 15, 4, 8};
    mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
    mldf_buffer want = MLDF_BUFFER_INIT, out = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    mldf_error why;
    void *kept = NULL;
    for (int i = 0; i < 4 && status == MLDF_OK; i++) {
        o.optimize = i == 1;
        status = mldfi_jpeg_encode(&kept, &p, &o, &out, err);
    }
    if (status == MLDF_E_MEMORY) {
        o.optimize = false;
        out.size = 0;
        CHECK_OK(mldfi_jpeg_encode(&kept, &p, &o, &out, &why), &why);
        CHECK_OK(mldf_image_encode_jpeg(&p, &o, &want, &why), &why);
        CHECK_EQ_U64(want.size, out.size);
        if (want.size == out.size)
            CHECK_MEM_EQ(want.data, out.data, out.size);
    }
    mldfi_jpeg_encoder_free(kept);
    mldf_buffer_free(&out);
    mldf_buffer_free(&want);
    return status;
}

static mldf_status do_encode(mldf_error *err) {
    mldf_image_pixels p = {expected, 20, 15, 4, 8};
    mldf_jpeg_options progressive = MLDF_JPEG_OPTIONS_INIT;
    mldf_buffer out = MLDF_BUFFER_INIT, plain = MLDF_BUFFER_INIT;
    uint8_t small[7 * 5 * 4];
    progressive.progressive = progressive.optimize = true;
    progressive.icc = profile;
    progressive.icc_bytes = profile_bytes;
    mldf_status status = mldf_image_encode_jpeg(&p, &progressive, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_to_baseline(out.data, out.size, 0, &plain, err);
    if (status == MLDF_OK)
        status = mldf_image_strip(plain.data, plain.size, MLDF_JPEG_DROP_ICC, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_encode_jpeg(&p, NULL, &out, err);
    if (status == MLDF_OK)
        status = mldfi_png_encode(&p, -1, profile, profile_bytes, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_encode_yuv420(&p, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_resize(&p, 7, 5, MLDF_IMAGE_LANCZOS, NULL, small, sizeof small, err);
    mldf_buffer_free(&out);
    mldf_buffer_free(&plain);
    return status;
}

/* ---- Failing ----------------------------------------------------------------------------------------------------------------- */

enum { NOT_REACHED = 100, WRONG_PIXELS = 101, CRASHED = 102 };
typedef mldf_status (*work_fn)(mldf_error *err);

/* With the n-th allocation failing: 0, minus the status, or one of the above. */
static int attempt(work_fn work, long n, mldf_error *err) {
    memset(pixels, 0x5a, sizeof pixels);
    countdown = n;
    mldf_status status = work(err);
    bool reached = countdown == 0;
    countdown = 0;
    if (status == MLDF_OK && work == do_decode && memcmp(pixels, expected, sizeof pixels) != 0)
        return WRONG_PIXELS;
    return status < 0 ? -(int)status : reached ? 0 : NOT_REACHED;
}

static int attempt_in_child(work_fn work, long n, mldf_error *err) {
    int end;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)freopen("/dev/null", "w", stderr); /* glibc's "free(): invalid pointer" */
        _exit(attempt(work, n, err));
    }
    if (child < 0 || waitpid(child, &end, 0) != child)
        return -1;
    snprintf(err->message, sizeof err->message, "in a child");
    return WIFEXITED(end) ? WEXITSTATUS(end) : CRASHED;
}

static void every_allocation_fails_once(work_fn work, bool may_crash) {
    mldf_error err;
    long n = 1;
    int crashes = 0;
    memset(pixels, 0x5a, sizeof pixels);
    REQUIRE_OK(work(&err), &err);
    if (work == do_decode)
        memcpy(expected, pixels, sizeof pixels);
    for (; n < 10000; n++) {
        int end = may_crash && FAILING_ALLOC_EVERYWHERE ? attempt_in_child(work, n, &err) : attempt(work, n, &err);
        if (end == NOT_REACHED)
            break;
        crashes += end == CRASHED;
        if (end != 0 && end != -(int)MLDF_E_MEMORY && end != CRASHED)
            check_fail(__FILE__, __LINE__, "%s, allocation %ld: %s: %s", file_name, n,
                       end == WRONG_PIXELS ? "wrong pixels" : mldf_status_name((mldf_status)-end), err.message);
    }
    CHECK(n > 1 && n < 10000);
    /* One place each in the table decoder of libwebp 1.2.4 and in the predictor of libtiff 4.5.0; do_check comes to it twice. */
    CHECK(crashes <= (work == do_check ? 4 : 2));
    CHECK_OK(work(&err), &err);
}

static void open_file(const char *name) {
    file_name = name;
    file = check_read_file(check_source(name), &file_bytes);
    REQUIRE(file);
}

static void decode_with_failures(const char *name, bool may_crash) {
    open_file(name);
    for (int i = 0; file && i < 4; i++) {
        tolerant = i % 2;
        whole = i / 2;
        every_allocation_fails_once(do_decode, may_crash);
    }
    every_allocation_fails_once(do_check, may_crash);
    free(file);
}

static void decoding_without_memory_is_not_a_bad_image(void) {
    static const char *const names[] = {
        "jpeg/base420", "jpeg/base444",   "jpeg/cmyk", "jpeg/icc", "jpeg/prog_exif",
        "png/exif",     "png/interlaced", "png/la",    "png/pal",  "png/rgb",
        "png/rgba",     "png/wide",       "bmp/masks", "bmp/rgba", "bmp/rle8",
    };
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "fuzz/corpus/image_%s", names[i]);
        decode_with_failures(path, false);
    }
}

static void libraries_that_may_crash_do_not_call_an_image_bad(void) {
    static const char *const names[] = {
#ifdef MLDF_HAVE_WEBP
        "webp/alpha", "webp/anim", "webp/lossless", "webp/lossy",
#endif
#ifdef MLDF_HAVE_TIFF
        "tiff/11",    "tiff/fax",  "tiff/jpeg",     "tiff/lzw_cmyk", "tiff/lzw_one", "tiff/pal", "tiff/wide",
#endif
        NULL,
    };
    char path[128];
    for (size_t i = 0; names[i]; i++) {
        snprintf(path, sizeof path, "fuzz/corpus/image_%s", names[i]);
        decode_with_failures(path, true);
    }
}

static void encoding_without_memory_is_not_a_bad_image(void) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    open_file("fuzz/corpus/image_jpeg/icc");
    REQUIRE_OK(mldf_image_icc(file, file_bytes, &out, &err), &err);
    profile = out.data;
    profile_bytes = out.size;
    every_allocation_fails_once(do_encode, false);
    every_allocation_fails_once(do_encode_kept, false);
    free(file);
    mldf_buffer_free(&out);
}

/* The profile of a PNG is inflated: no memory for that is not "no profile". */
static void a_profile_without_memory_is_not_a_missing_one(void) {
    mldf_image_pixels p = {expected, 20, 15, 3, 8};
    mldf_buffer icc = MLDF_BUFFER_INIT, png = MLDF_BUFFER_INIT;
    mldf_error err;
    open_file("fuzz/corpus/image_jpeg/icc");
    every_allocation_fails_once(do_profile, false);
    REQUIRE_OK(mldf_image_icc(file, file_bytes, &icc, &err), &err);
    free(file);
    REQUIRE_OK(mldfi_png_encode(&p, -1, icc.data, icc.size, &png, &err), &err);
    file_name = "a PNG with a profile";
    file = png.data;
    file_bytes = png.size;
    every_allocation_fails_once(do_profile, false);
    mldf_buffer_free(&icc);
    mldf_buffer_free(&png);
}

/* ---- Memory that is truly short ---------------------------------------------------------------------------------------------- */

/* All memory is taken but for `left` bytes in one piece. Those blocks are never freed: the process ends. */
static void use_up_memory(size_t left) {
    struct rlimit limit = {0, 0};
    void *room = malloc(left + 64), *volatile block;
    (void)setrlimit(RLIMIT_AS, &limit); /* nothing more than there is */
    for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
        do
            block = malloc(bytes);
        while (block);
    free(room);
}

static int decode_in_little_memory(size_t left) {
    int end;
    pid_t child = fork();
    if (child == 0) {
        mldf_error err;
        use_up_memory(left);
        mldf_status status = do_decode(&err);
        _exit(-(int)status);
    }
    return child < 0 || waitpid(child, &end, 0) != child ? -1 : WIFEXITED(end) ? WEXITSTATUS(end) : CRASHED;
}

static void memory_that_is_short_is_found_before_a_library_crashes(void) {
    static const char *const names[] = {"webp/lossless", "webp/alpha", "tiff/lzw_l",
                                        "tiff/jpeg",     "png/rgb",    "jpeg/base420"};
    char path[128];
    if (!FAILING_ALLOC_EVERYWHERE)
        return; /* a sanitizer needs address space */
    tolerant = false;
    whole = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool decoded = false, refused = false;
        mldf_error err;
        snprintf(path, sizeof path, "fuzz/corpus/image_%s", names[i]);
        open_file(path);
        if (do_decode(&err) == MLDF_E_UNSUPPORTED) {
            free(file);
            continue;
        }
        for (size_t left = 0; left < (1 << 20); left += left < (32 << 10) ? 128 : left / 8) {
            int end = decode_in_little_memory(left);
            decoded = decoded || end == 0;
            refused = refused || end == -(int)MLDF_E_MEMORY;
            if (end != 0 && end != -(int)MLDF_E_MEMORY)
                check_fail(__FILE__, __LINE__, "%s with %zu bytes: %s", names[i], left,
                           end == CRASHED ? "crashed" : mldf_status_name((mldf_status)-end));
        }
        CHECK(decoded && refused);
        free(file);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(decoding_without_memory_is_not_a_bad_image);
    RUN(libraries_that_may_crash_do_not_call_an_image_bad);
    RUN(encoding_without_memory_is_not_a_bad_image);
    RUN(a_profile_without_memory_is_not_a_missing_one);
    RUN(memory_that_is_short_is_found_before_a_library_crashes);
    return check_end();
}
