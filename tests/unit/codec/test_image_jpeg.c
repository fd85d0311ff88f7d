/* JPEG regions: every region of small images equals the whole image cropped, at every scale and subsampling. Pixels against
 * djpeg and Pillow are in tests/python/test_images.py. */
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "check.h"
#include "codec/image.h"

static void paint(uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, uint64_t seed) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++)
                *pixels++ = (uint8_t)((x * (7 + c) + y * (5 - c)) * 3 + (check_rand(&seed) & 63));
}

static void make(uint32_t width, uint32_t height, uint32_t channels, mldf_image_subsampling subsampling,
                 bool progressive, mldf_buffer *out) {
    static uint8_t pixels[64 * 64 * 3];
    mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
    mldf_image_pixels p = {pixels, width, height, channels, 8};
    mldf_error err;
    paint(pixels, width, height, channels, width * 100 + height);
    o.subsampling = subsampling;
    o.progressive = progressive;
    out->size = 0;
    REQUIRE_OK(mldf_image_encode_jpeg(&p, &o, out, &err), &err);
}

/* Files that our encoder does not make: factors h, v of Y, Cb and Cr. */
static void make_sampled(uint32_t width, uint32_t height, const int factors[6], mldf_buffer *out) {
    static uint8_t pixels[64 * 64 * 3];
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr trouble;
    unsigned char *file = NULL;
    unsigned long bytes = 0;
    mldf_error err;
    paint(pixels, width, height, 3, width * 100 + height);
    cinfo.err = jpeg_std_error(&trouble);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &file, &bytes);
    cinfo.image_width = width;
    cinfo.image_height = height;
    cinfo.input_components = 3;
    cinfo.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo);
    for (int i = 0; i < 3; i++) {
        cinfo.comp_info[i].h_samp_factor = factors[2 * i];
        cinfo.comp_info[i].v_samp_factor = factors[2 * i + 1];
    }
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        JSAMPROW row = pixels + (size_t)y * width * 3;
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    out->size = 0;
    REQUIRE_OK(mldf_buffer_append(out, file, bytes, &err), &err);
    free(file);
}

struct scene {
    mldf_image_decoder *decoder;
    mldf_buffer file;
    int scale;
    mldf_image_shape whole;
    uint8_t pixels[64 * 64 * 3];
};

static bool region_is_right(struct scene *s, uint32_t x, uint32_t y, uint32_t w, uint32_t h) {
    static uint8_t got[64 * 64 * 3];
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_error err;
    size_t n = s->whole.channels, row = w * n;
    o.scale = s->scale;
    o.region = true;
    o.x = x, o.y = y, o.width = w, o.height = h;
    if (mldf_image_decode(s->decoder, s->file.data, s->file.size, &o, got, row * h, &err) < 0) {
        check_fail(__FILE__, __LINE__, "%u x %u at (%u, %u): %s", w, h, x, y, err.message);
        return false;
    }
    struct image_view view;
    if (mldfi_image_view(s->decoder, s->file.data, s->file.size, &o, &view, &err) < 0 || view.shape.width != w ||
        view.shape.height != h || view.shape.channels != n || view.stride < row) {
        check_fail(__FILE__, __LINE__, "view of %u x %u at (%u, %u): %s", w, h, x, y, err.message);
        return false;
    }
    for (uint32_t k = 0; k < h; k++)
        if (memcmp(view.pixels + k * view.stride, got + k * row, row) != 0) {
            check_fail(__FILE__, __LINE__, "view of %u x %u at (%u, %u), scale 1/%d: row %u differs", w, h, x, y,
                       s->scale, k);
            return false;
        }
    for (uint32_t k = 0; k < h; k++)
        if (memcmp(got + k * row, s->pixels + ((size_t)(y + k) * s->whole.width + x) * n, row) != 0) {
            check_fail(__FILE__, __LINE__, "%u x %u at (%u, %u) of %u x %u, scale 1/%d: row %u differs", w, h, x, y,
                       s->whole.width, s->whole.height, s->scale, k);
            return false;
        }
    return true;
}

/* All columns with some rows, then all rows with some columns. */
static void try_regions(struct scene *s) {
    uint32_t W = s->whole.width, H = s->whole.height;
    for (uint32_t x = 0; x < W; x++)
        for (uint32_t w = 1; w <= W - x; w++)
            for (uint32_t k = 0; k < 3; k++)
                if (!region_is_right(s, x, k * (H - 1) / 3, w, k == 1 ? 1 : H - k * (H - 1) / 3))
                    return;
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t h = 1; h <= H - y; h++)
            for (uint32_t k = 0; k < 3; k++)
                if (!region_is_right(s, k * (W - 1) / 3, y, k == 1 ? 1 : W - k * (W - 1) / 3, h))
                    return;
}

static void try_scales(struct scene *s, uint32_t width, uint32_t channels) {
    mldf_error err;
    for (s->scale = 1; s->scale <= 8; s->scale *= 2) {
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        o.scale = s->scale;
        CHECK_OK(mldf_image_decoded_shape(s->file.data, s->file.size, &o, &s->whole, &err), &err);
        CHECK_EQ_U64(channels, s->whole.channels);
        CHECK_EQ_U64((width + (unsigned)s->scale - 1) / (unsigned)s->scale, s->whole.width);
        CHECK_OK(mldf_image_decode(NULL, s->file.data, s->file.size, &o, s->pixels, s->whole.bytes, &err), &err);
        try_regions(s);
    }
}

static void every_region_of_unusual_samplings_equals_the_crop(void) {
    static const int factors[][6] = {
        {4, 2, 1, 1, 1, 1}, {2, 4, 1, 1, 1, 1}, {4, 1, 1, 1, 1, 1}, {1, 4, 1, 1, 1, 1}, {1, 2, 1, 1, 1, 1},
        {3, 1, 1, 1, 1, 1}, {2, 2, 2, 1, 1, 2}, {2, 2, 1, 1, 2, 2}, {4, 1, 2, 1, 1, 1}, {1, 1, 2, 2, 1, 1},
    };
    static const uint32_t sizes[][2] = {{17, 33}, {60, 41}};
    struct scene *s = calloc(1, sizeof *s);
    mldf_error err;
    REQUIRE(s);
    REQUIRE_OK(mldf_image_decoder_new(&s->decoder, &err), &err);
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            make_sampled(sizes[i][0], sizes[i][1], factors[f], &s->file);
            try_scales(s, sizes[i][0], 3);
        }
    mldf_buffer_free(&s->file);
    mldf_image_decoder_free(s->decoder);
    free(s);
}

static void try_sizes(uint32_t channels, mldf_image_subsampling subsampling, bool progressive) {
    static const uint32_t sizes[][2] = {{1, 1}, {3, 2}, {16, 16}, {17, 33}, {35, 19}, {50, 41}};
    struct scene *s = calloc(1, sizeof *s);
    mldf_error err;
    REQUIRE(s);
    REQUIRE_OK(mldf_image_decoder_new(&s->decoder, &err), &err);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        make(sizes[i][0], sizes[i][1], channels, subsampling, progressive, &s->file);
        try_scales(s, sizes[i][0], channels);
    }
    mldf_buffer_free(&s->file);
    mldf_image_decoder_free(s->decoder);
    free(s);
}

static void every_region_of_420_equals_the_crop(void) {
    try_sizes(3, MLDF_IMAGE_420, false);
}
static void every_region_of_422_equals_the_crop(void) {
    try_sizes(3, MLDF_IMAGE_422, false);
}
static void every_region_of_444_equals_the_crop(void) {
    try_sizes(3, MLDF_IMAGE_444, false);
}
static void every_region_of_gray_equals_the_crop(void) {
    try_sizes(1, MLDF_IMAGE_420, false);
}
static void every_region_of_a_progressive_file_equals_the_crop(void) {
    try_sizes(3, MLDF_IMAGE_420, true);
}

static void a_file_cut_anywhere_is_an_error_and_the_decoder_lives_on(void) {
    static uint8_t pixels[50 * 41 * 3], again[50 * 41 * 3];
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_image_decoder *decoder;
    mldf_error err;
    make(50, 41, 3, MLDF_IMAGE_420, false, &file);
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    CHECK_OK(mldf_image_decode(decoder, file.data, file.size, NULL, pixels, sizeof pixels, &err), &err);
    for (size_t cut = 0; cut + 2 < file.size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* exact, so that the sanitizer sees a byte too many */
        REQUIRE(copy);
        memcpy(copy, file.data, cut);
        mldf_status status = mldf_image_decode(decoder, copy, cut, NULL, again, sizeof again, &err);
        if (status != MLDF_E_TRUNCATED && status != MLDF_E_TYPE)
            check_fail(__FILE__, __LINE__, "cut at %zu of %zu: %s", cut, file.size, mldf_status_name(status));
        free(copy);
    }
    CHECK_OK(mldf_image_decode(decoder, file.data, file.size, NULL, again, sizeof again, &err), &err);
    CHECK_MEM_EQ(pixels, again, sizeof pixels);
    mldf_image_decoder_free(decoder);
    mldf_buffer_free(&file);
}

static void options_that_make_no_sense_are_refused(void) {
    uint8_t pixels[3];
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_error err;
    make(1, 1, 3, MLDF_IMAGE_420, false, &file);
    for (int i = 0; i < 7; i++) {
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        mldf_status want = MLDF_E_ARGUMENT;
        size_t bytes = 3;
        if (i == 0)
            o.channels = 2;
        else if (i == 1)
            o.bits = 12;
        else if (i == 2)
            o.scale = 3;
        else if (i == 3)
            bytes = 2;
        else if (i == 4)
            o.orientation = 9;
        else if (i == 5)
            o.struct_bytes = 1;
        else
            o.region = true, o.width = 2, o.height = 1, want = MLDF_E_RANGE;
        CHECK_STATUS(want, mldf_image_decode(NULL, file.data, file.size, &o, pixels, bytes, &err), &err);
    }
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_decode(NULL, NULL, 4, NULL, pixels, 3, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_decode(NULL, file.data, file.size, NULL, NULL, 3, NULL), NULL);
    mldf_buffer_free(&file);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_region_of_420_equals_the_crop);
    RUN(every_region_of_422_equals_the_crop);
    RUN(every_region_of_444_equals_the_crop);
    RUN(every_region_of_gray_equals_the_crop);
    RUN(every_region_of_unusual_samplings_equals_the_crop);
    RUN(every_region_of_a_progressive_file_equals_the_crop);
    RUN(a_file_cut_anywhere_is_an_error_and_the_decoder_lives_on);
    RUN(options_that_make_no_sense_are_refused);
    return check_end();
}
