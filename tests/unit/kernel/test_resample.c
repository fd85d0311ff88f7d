/* Resizing: constant images stay constant, weights sum to one, absurd sizes are refused. Pillow's pixels are the oracle in
 * tests/python/test_images.py. */
#include "check.h"
#include "kernel/resample.h"
#include "kernel/yuv.h"

static void a_flat_image_stays_flat(void) {
    static uint16_t in[40 * 30 * 4], out[100 * 90 * 4];
    static const uint32_t sizes[][2] = {{1, 1}, {7, 90}, {100, 3}, {39, 29}, {40, 10}, {13, 30}, {80, 60}};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    for (uint32_t i = 0; i < 40 * 30 * 4; i++)
        in[i] = 0xfefe;
    for (uint32_t channels = 1; channels <= 4; channels++)
        for (uint32_t bits = 8; bits <= 16; bits += 8)
            for (int filter = 0; filter <= MLDF_IMAGE_AREA; filter++)
                for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                    mldf_image_pixels p = {in, 40, 30, channels, bits};
                    size_t bytes = (size_t)sizes[k][0] * sizes[k][1] * channels * (bits / 8);
                    memset(out, 0, bytes);
                    CHECK_OK(mldf_image_resize(&p, sizes[k][0], sizes[k][1], (mldf_image_filter)filter, &scratch, out,
                                               bytes, &err),
                             &err);
                    for (size_t i = 0; i < bytes; i++)
                        if (((uint8_t *)out)[i] != 0xfe) {
                            check_fail(__FILE__, __LINE__, "filter %d, %u channels, %u bits, %u x %u: byte %zu is %u",
                                       filter, channels, bits, sizes[k][0], sizes[k][1], i, ((uint8_t *)out)[i]);
                            break;
                        }
                }
    mldf_buffer_free(&scratch);
}

static void weights_sum_to_one(void) {
    static const uint32_t pairs[][2] = {{1, 1},     {1, 50},    {50, 1},    {500, 224},
                                        {224, 500}, {65535, 3}, {3, 65535}, {7, 6}};
    for (int filter = 0; filter <= MLDF_IMAGE_AREA; filter++)
        for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
            struct resample_table t;
            struct axis a = {.size = pairs[k][0],
                             .box_size = pairs[k][0] * 8,
                             .target = pairs[k][1],
                             .count = pairs[k][1],
                             .antialias = true,
                             .filter = (mldf_image_filter)filter};
            void *memory = malloc(mldfi_resample_table_bytes(&a));
            REQUIRE(memory);
            mldfi_resample_table(&t, memory, &a);
            for (uint32_t i = 0; i < t.count; i++) {
                int64_t sum = 0;
                for (uint32_t j = 0; j < t.used[i]; j++)
                    sum += t.weights[(size_t)i * t.taps + j];
                CHECK(t.used[i] > 0 && t.used[i] <= t.taps && t.first[i] + t.used[i] <= pairs[k][0]);
                CHECK(llabs(sum - (1 << MLDFI_RESAMPLE_BITS)) <= t.used[i]);
            }
            free(memory);
        }
}

static void wrong_arguments_are_refused(void) {
    uint8_t in[12] = {0}, out[12];
    mldf_image_pixels p = {in, 2, 2, 3, 8};
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_resize(&p, 0, 1, MLDF_IMAGE_BOX, NULL, out, 0, NULL), NULL);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_resize(&p, 1, 1, MLDF_IMAGE_BOX, NULL, out, 4, NULL), NULL);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_resize(&p, 1, 1, (mldf_image_filter)5, NULL, out, 3, NULL), NULL);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_image_resize(NULL, 1, 1, MLDF_IMAGE_BOX, NULL, out, 3, NULL), NULL);
    CHECK_OK(mldf_image_resize(&p, 1, 1, MLDF_IMAGE_BOX, NULL, out, 3, NULL), NULL);
}

static void yuv_of_gray_is_gray(void) {
    uint8_t in[5 * 3 * 3], rgb[15];
    mldf_buffer planes = MLDF_BUFFER_INIT;
    mldf_image_pixels p = {in, 5, 3, 3, 8};
    mldf_error err;
    for (unsigned v = 0; v < 256; v++) {
        memset(in, (int)v, sizeof in);
        planes.size = 0;
        REQUIRE_OK(mldf_image_encode_yuv420(&p, &planes, &err), &err);
        CHECK_EQ_U64(mldfi_yuv420_bytes(5, 3), planes.size);
        for (uint32_t y = 0; y < 3; y++) {
            mldfi_yuv420_row(planes.data, 5, 3, y, 0, 5, rgb);
            CHECK_MEM_EQ(in, rgb, 15);
        }
    }
    mldf_buffer_free(&planes);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_flat_image_stays_flat);
    RUN(weights_sum_to_one);
    RUN(wrong_arguments_are_refused);
    RUN(yuv_of_gray_is_gray);
    return check_end();
}
