/* Resizing of windows: against mldf_image_resize, against itself in parts, and at the edges of what a spec may say.
 * test_variants.c compares the instruction sets; tests/python states the definitions in NumPy. */
#include "kernel/resize.h"

#include "check.h"

static uint64_t seed;

struct source {
    struct raster image;
    uint8_t *memory;
};

/* Rows with a gap between them, and memory that ends with the last pixel: a sanitizer sees every byte too far. */
static struct source make(uint32_t width, uint32_t height, uint32_t channels, uint32_t bits, size_t gap) {
    size_t row = (size_t)width * channels * (bits / 8), stride = row + gap, bytes = stride * (height - 1) + row;
    struct source s = {{NULL, width, height, channels, bits, stride}, malloc(bytes)};
    if (!s.memory)
        exit(3);
    check_rand_bytes(&seed, s.memory, bytes);
    s.image.data = s.memory;
    return s;
}

static const struct finish as_is_8 = {.dtype = MLDF_U8}, as_is_16 = {.dtype = MLDF_U16};

static uint32_t below(uint32_t n) {
    return (uint32_t)check_rand_below(&seed, n);
}

static void whole_images_equal_the_public_function(void) {
    struct resize_work *work = NULL;
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    for (int round = 0; round < 400; round++) {
        uint32_t channels = 1 + below(4), bits = below(2) ? 16 : 8, width = 1 + below(50), height = 1 + below(50);
        enum resize_filter filter = (enum resize_filter)below(5);
        struct source s = make(1 + below(60), 1 + below(60), channels, bits, 0);
        mldf_image_pixels pixels = {s.memory, s.image.width, s.image.height, channels, bits};
        size_t bytes = (size_t)width * height * channels * (bits / 8);
        uint8_t *want = malloc(bytes), *got = malloc(bytes);
        REQUIRE(want && got);
        struct resize_spec spec = mldfi_resize_whole(&s.image, width, height, filter);
        REQUIRE_OK(mldf_image_resize(&pixels, width, height, (mldf_image_filter)filter, NULL, want, bytes, &err), &err);
        REQUIRE_OK(
            mldfi_resize(mldfi_kernels_best(), &s.image, &spec, bits == 8 ? &as_is_8 : &as_is_16, work, got, &err),
            &err);
        if (filter == RESIZE_BILINEAR && bits == 8) {
            for (size_t i = 0; i < bytes; i++)
                if (abs(want[i] - got[i]) > 1) {
                    check_fail(__FILE__, __LINE__, "%u x %u to %u x %u: byte %zu: %u and %u", s.image.width,
                               s.image.height, width, height, i, want[i], got[i]);
                    break;
                }
        } else {
            CHECK_MEM_EQ(want, got, bytes);
        }
        free(want);
        free(got);
        free(s.memory);
    }
    mldfi_resize_work_free(work);
}

/* A spec that makes sense, of any kind. */
static struct resize_spec random_spec(const struct raster *in) {
    struct resize_spec s;
    s.box_width = 1 + below(in->width * 8);
    s.box_height = 1 + below(in->height * 8);
    s.box_x = below(in->width * 8 - s.box_width + 1);
    s.box_y = below(in->height * 8 - s.box_height + 1);
    s.width = 1 + below(60);
    s.height = 1 + below(60);
    s.out_width = 1 + below(s.width);
    s.out_height = 1 + below(s.height);
    s.x = below(s.width - s.out_width + 1);
    s.y = below(s.height - s.out_height + 1);
    s.mirror_x = below(2);
    s.mirror_y = below(2);
    s.filter = (enum resize_filter)below(6);
    s.antialias = below(4) != 0;
    return s;
}

static void parts_and_mirrors_are_those_of_the_whole(void) {
    struct resize_work *work = NULL;
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    for (int round = 0; round < 600; round++) {
        uint32_t channels = 1 + below(4), bits = below(3) ? 8 : 16;
        struct source s = make(1 + below(60), 1 + below(60), channels, bits, below(2) * 5);
        struct resize_spec part = random_spec(&s.image), all = part;
        size_t pixel = channels * (bits / 8), bytes = (size_t)part.width * part.height * pixel;
        uint8_t *whole = malloc(bytes), *got = malloc(bytes);
        const struct finish *finish = bits == 8 ? &as_is_8 : &as_is_16;
        REQUIRE(whole && got);
        all.x = all.y = 0;
        all.out_width = all.width;
        all.out_height = all.height;
        all.mirror_x = all.mirror_y = false;
        REQUIRE_OK(mldfi_resize(mldfi_kernels_best(), &s.image, &all, finish, work, whole, &err), &err);
        REQUIRE_OK(mldfi_resize(mldfi_kernels_best(), &s.image, &part, finish, work, got, &err), &err);
        for (uint32_t y = 0; y < part.out_height; y++)
            for (uint32_t x = 0; x < part.out_width; x++) {
                size_t sx = part.x + (part.mirror_x ? part.out_width - 1 - x : x);
                size_t sy = part.y + (part.mirror_y ? part.out_height - 1 - y : y);
                REQUIRE_MEM_EQ(whole + (sy * part.width + sx) * pixel, got + (y * part.out_width + x) * pixel, pixel);
            }
        free(whole);
        free(got);
        free(s.memory);
    }
    mldfi_resize_work_free(work);
}

static void a_constant_stays_constant_at_every_scale(void) {
    static const uint32_t sizes[][2] = {{1, 40}, {40, 1}, {3000, 2}, {65000, 1}, {2, 3000}, {997, 13}};
    struct resize_work *work = NULL;
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    for (int filter = 0; filter <= RESIZE_NEAREST; filter++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (int level = 0; level < 256; level += 255) {
                struct source s = make(sizes[k][0], 7, 3, 8, 0);
                uint8_t *got = malloc((size_t)sizes[k][1] * 5 * 3);
                REQUIRE(got);
                memset(s.memory, level, (size_t)sizes[k][0] * 7 * 3);
                struct resize_spec spec = mldfi_resize_whole(&s.image, sizes[k][1], 5, (enum resize_filter)filter);
                REQUIRE_OK(mldfi_resize(mldfi_kernels_best(), &s.image, &spec, &as_is_8, work, got, &err), &err);
                for (size_t i = 0; i < (size_t)sizes[k][1] * 5 * 3; i++)
                    REQUIRE_EQ_INT(level, got[i]);
                free(got);
                free(s.memory);
            }
    mldfi_resize_work_free(work);
}

static void one_to_one_is_a_copy_and_nearest_takes_the_pixel_at_the_centre(void) {
    struct resize_work *work = NULL;
    mldf_error err;
    uint8_t in[12], out[12];
    struct raster p = {in, 4, 3, 1, 8, 4};
    for (uint8_t i = 0; i < 12; i++)
        in[i] = (uint8_t)(i * 20);
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    struct resize_spec spec = mldfi_resize_whole(&p, 4, 3, RESIZE_BILINEAR);
    CHECK_OK(mldfi_resize(mldfi_kernels_best(), &p, &spec, &as_is_8, work, out, &err), &err);
    CHECK_MEM_EQ(in, out, 12);
    spec = mldfi_resize_whole(&p, 3, 2, RESIZE_NEAREST); /* centres at 0.67, 2, 3.33 and 0.75, 2.25 */
    CHECK_OK(mldfi_resize(mldfi_kernels_best(), &p, &spec, &as_is_8, work, out, &err), &err);
    CHECK_MEM_EQ(((uint8_t[]){0, 40, 60, 160, 200, 220}), out, 6);
    spec.box_x = 12; /* 1.5: centres at 1.75, 2.25, 2.75 */
    spec.box_width = 12;
    CHECK_OK(mldfi_resize(mldfi_kernels_best(), &p, &spec, &as_is_8, work, out, &err), &err);
    CHECK_MEM_EQ(((uint8_t[]){20, 40, 40, 180, 200, 200}), out, 6);
    mldfi_resize_work_free(work);
}

static void specs_that_make_no_sense_are_refused(void) {
    struct resize_work *work = NULL;
    mldf_error err;
    uint8_t in[12] = {0}, out[64];
    struct raster p = {in, 4, 3, 1, 8, 4};
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    const struct resize_spec good = mldfi_resize_whole(&p, 4, 3, RESIZE_BILINEAR);
    struct resize_spec bad[10];
    for (int i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].box_width = 33;
    bad[1].box_x = 1;
    bad[2].box_height = 0;
    bad[3].width = 0;
    bad[4].x = 1;
    bad[5].out_height = 0;
    bad[6].y = UINT32_MAX;
    bad[7].filter = (enum resize_filter)6;
    bad[8].height = RESIZE_MAX_SIDE + 1u;
    bad[9].box_y = UINT32_MAX;
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_resize(mldfi_kernels_best(), &p, &bad[i], &as_is_8, work, out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_resize(mldfi_kernels_best(), &p, &good, &as_is_16, work, out, &err), &err);
    CHECK_OK(mldfi_resize(mldfi_kernels_best(), &p, &good, &as_is_8, work, out, &err), &err);
    mldfi_resize_work_free(work);
    mldfi_resize_work_free(NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(whole_images_equal_the_public_function);
    RUN(parts_and_mirrors_are_those_of_the_whole);
    RUN(a_constant_stays_constant_at_every_scale);
    RUN(one_to_one_is_a_copy_and_nearest_takes_the_pixel_at_the_centre);
    RUN(specs_that_make_no_sense_are_refused);
    return check_end();
}
