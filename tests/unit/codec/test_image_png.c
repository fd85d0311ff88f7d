/* PNG and the sink: round trips of every channel count and depth, conversions, every orientation against the table. */
#include "check.h"
#include "mldf/image.h"

enum { W = 7, H = 5 };

static void fill(void *pixels, size_t bytes, uint64_t seed) {
    check_rand_bytes(&seed, pixels, bytes);
}

static void every_shape_round_trips(void) {
    static uint16_t in[W * H * 4], out[W * H * 4];
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    for (uint32_t channels = 1; channels <= 4; channels++)
        for (uint32_t bits = 8; bits <= 16; bits += 8) {
            mldf_image_pixels p = {in, W, H, channels, bits};
            size_t bytes = W * H * channels * (bits / 8);
            fill(in, bytes, channels * bits);
            file.size = 0;
            REQUIRE_OK(mldf_image_encode_png(&p, 6, &file, &err), &err);
            REQUIRE_OK(mldf_image_probe(file.data, file.size, &info, &err), &err);
            CHECK_EQ_INT(MLDF_IMAGE_MODE_PNG, info.mode);
            CHECK_EQ_U64(channels, info.channels);
            CHECK_EQ_U64(bits, info.bits);
            CHECK_OK(mldf_image_decode(NULL, file.data, file.size, NULL, out, bytes, &err), &err);
            CHECK_MEM_EQ(in, out, bytes);
        }
    mldf_buffer_free(&file);
}

/* (X, Y) of the output to (x, y) of the stored image; image_sink.c has the same table. */
static void source_of(unsigned orientation, uint32_t X, uint32_t Y, uint32_t *x, uint32_t *y) {
    bool swapped = orientation >= 5;
    *x = swapped ? Y : X;
    *y = swapped ? X : Y;
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        *x = W - 1 - *x;
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        *y = H - 1 - *y;
}

static void every_orientation_and_region_is_right(void) {
    uint8_t in[W * H * 3], out[W * H * 3];
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_image_pixels p = {in, W, H, 3, 8};
    mldf_error err;
    fill(in, sizeof in, 5);
    REQUIRE_OK(mldf_image_encode_png(&p, -1, &file, &err), &err);
    for (uint8_t orientation = 1; orientation <= 8; orientation++) {
        uint32_t ow = orientation >= 5 ? H : W, oh = orientation >= 5 ? W : H;
        for (uint32_t x0 = 0; x0 < ow; x0++)
            for (uint32_t y0 = 0; y0 < oh; y0++) {
                mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
                o.orient = o.region = true;
                o.orientation = orientation;
                o.x = x0, o.y = y0, o.width = ow - x0, o.height = oh - y0;
                CHECK_OK(mldf_image_decode(NULL, file.data, file.size, &o, out, 3u * o.width * o.height, &err), &err);
                for (uint32_t Y = y0; Y < oh; Y++)
                    for (uint32_t X = x0; X < ow; X++) {
                        uint32_t x, y;
                        source_of(orientation, X, Y, &x, &y);
                        CHECK_MEM_EQ(in + (y * W + x) * 3, out + ((Y - y0) * o.width + X - x0) * 3, 3);
                    }
            }
    }
    mldf_buffer_free(&file);
}

static void channels_and_bits_convert(void) {
    static const uint8_t rgba[] = {10, 200, 30, 77};
    uint16_t out[4];
    uint8_t narrow[4];
    mldf_image_pixels p = {rgba, 1, 1, 4, 8};
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_error err;
    REQUIRE_OK(mldf_image_encode_png(&p, -1, &file, &err), &err);
    o.channels = 1;
    CHECK_OK(mldf_image_decode(NULL, file.data, file.size, &o, narrow, 1, &err), &err);
    CHECK_EQ_U64((10 * 19595 + 200 * 38470 + 30 * 7471 + 0x8000) >> 16, narrow[0]);
    o.channels = 3, o.bits = 16;
    CHECK_OK(mldf_image_decode(NULL, file.data, file.size, &o, out, 6, &err), &err);
    CHECK_EQ_U64(200 * 257, out[1]);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_decode(NULL, file.data, file.size, &o, (uint8_t *)out + 1, 6, &err), &err);
    mldf_buffer_free(&file);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_shape_round_trips);
    RUN(every_orientation_and_region_is_right);
    RUN(channels_and_bits_convert);
    return check_end();
}
