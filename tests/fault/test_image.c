/* Every allocation of ours fails once while images are decoded, encoded and resized: MLDF_E_MEMORY or success, no leak. The
 * codecs' own libraries are shared and keep their malloc. */
#include <errno.h>

#include "check.h"
#include "fault/failing_alloc.h"
#include "mldf/image.h"

static uint8_t *file;
static size_t file_bytes;
static uint8_t pixels[1 << 16];

static mldf_status do_decode(mldf_error *err) {
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    o.channels = 4;
    o.orient = true;
    o.orientation = 6;
    mldf_status status = mldf_image_decoded_shape(file, file_bytes, &o, &shape, err);
    return status < 0 ? status : mldf_image_decode(NULL, file, file_bytes, &o, pixels, shape.bytes, err);
}

static mldf_status do_encode(mldf_error *err) {
    mldf_image_pixels p = {pixels, 20, 15, 4, 8};
    mldf_buffer out = MLDF_BUFFER_INIT;
    uint8_t small[7 * 5 * 4];
    mldf_status status = mldf_image_encode_jpeg(&p, NULL, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_to_baseline(out.data, out.size, 0, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_encode_png(&p, -1, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_encode_yuv420(&p, &out, err);
    if (status == MLDF_OK)
        status = mldf_image_resize(&p, 7, 5, MLDF_IMAGE_LANCZOS, NULL, small, sizeof small, err);
    mldf_buffer_free(&out);
    return status;
}

static void every_allocation_fails_once(mldf_status (*work)(mldf_error *err)) {
    mldf_error err;
    long n = 1;
    REQUIRE_OK(work(&err), &err);
    for (; n < 10000; n++) {
        countdown = n;
        mldf_status status = work(&err);
        bool reached = countdown == 0;
        countdown = 0;
        if (status != MLDF_OK && status != MLDF_E_MEMORY)
            check_fail(__FILE__, __LINE__, "allocation %ld: %s: %s", n, mldf_status_name(status), err.message);
        if (!reached)
            break;
    }
    CHECK(n > 1 && n < 10000);
    CHECK_OK(work(&err), &err);
}

static void decoding_survives_no_memory(void) {
    static const char *const names[] = {
        "fuzz/corpus/image_jpeg/base420",   "fuzz/corpus/image_png/pal",
        "fuzz/corpus/image_png/interlaced", "fuzz/corpus/image_bmp/rle8",
#ifdef MLDF_HAVE_WEBP
        "fuzz/corpus/image_webp/anim",
#endif
#ifdef MLDF_HAVE_TIFF
        "fuzz/corpus/image_tiff/11",
#endif
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        file = check_read_file(check_source(names[i]), &file_bytes);
        REQUIRE(file);
        every_allocation_fails_once(do_decode);
        free(file);
    }
}

static void encoding_survives_no_memory(void) {
    every_allocation_fails_once(do_encode);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(decoding_survives_no_memory);
    RUN(encoding_survives_no_memory);
    return check_end();
}
