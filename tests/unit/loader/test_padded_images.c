/* Images of different sizes as one array: filled up at the right and below to the largest of the batch, to a multiple, to a fixed size; masks go
 * along, boxes stay right. The plain pixels of every sample are compared one by one, on both layouts, on any number of threads. */
#include "loader_files.h"

enum { SAMPLES = 40 };
static mldf_reader *reader;

/* As files_sample has them where no width is given. */
static uint32_t width_of(uint64_t sample) {
    return 20 + (uint32_t)(sample * 13 % 40);
}

static uint32_t height_of(uint64_t sample) {
    return 18 + (uint32_t)(sample * 29 % 42);
}

static uint64_t up(uint64_t n, uint64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* The sides that the batch's images should have been filled up to. */
static void largest(const mldf_batch *batch, uint64_t multiple, uint64_t sides[2]) {
    sides[0] = sides[1] = 0;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        uint64_t sample = files_index(batch, i);
        sides[0] = height_of(sample) > sides[0] ? height_of(sample) : sides[0];
        sides[1] = width_of(sample) > sides[1] ? width_of(sample) : sides[1];
    }
    sides[0] = up(sides[0], multiple);
    sides[1] = up(sides[1], multiple);
}

/* One image of a batch, whose value at (y, x, c) is at data[y * ys + x * xs + c * cs]. */
static void check_image(const uint8_t *data, const uint64_t sides[2], const size_t steps[3], uint64_t sample,
                        uint8_t fill) {
    static uint8_t pixels[64 * 64 * 3];
    uint32_t width = width_of(sample), height = height_of(sample);
    size_t wrong = 0;
    files_image(sample, width, height, pixels);
    for (size_t y = 0; y < sides[0]; y++)
        for (size_t x = 0; x < sides[1]; x++)
            for (size_t c = 0; c < 3; c++) {
                uint8_t want = y < height && x < width ? pixels[(y * width + x) * 3 + c] : fill;
                wrong += want != data[y * steps[0] + x * steps[1] + c * steps[2]];
            }
    CHECK_EQ_U64(0, wrong);
}

struct padding {
    const char *text;
    uint64_t multiple;
    uint8_t fill;
};

static void check_batch(const mldf_batch *batch, const void *user) {
    const struct padding *padding = user;
    mldf_array plain = files_array(batch, "image"), planar = files_array(batch, "planes");
    mldf_array length = files_array(batch, "image_length"), mask = files_array(batch, "image_mask");
    uint64_t sides[2];
    largest(batch, padding->multiple, sides);
    CHECK_EQ_U64(4, plain.ndim);
    CHECK_EQ_U64(sides[0], plain.dims[1]);
    CHECK_EQ_U64(sides[1], plain.dims[2]);
    CHECK_EQ_U64(3, plain.dims[3]);
    CHECK_EQ_U64(3, planar.dims[1]);
    CHECK_EQ_U64(sides[0], planar.dims[2]);
    CHECK_EQ_U64(sides[1], planar.dims[3]);
    REQUIRE(length.ndim == 2 && length.dims[1] == 2 && mask.ndim == 3);
    REQUIRE(mask.dims[1] == sides[0] && mask.dims[2] == sides[1]);
    size_t area = (size_t)(sides[0] * sides[1]);
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        uint64_t sample = files_index(batch, i), outside = 0;
        CHECK_EQ_U64(height_of(sample), ((uint64_t *)length.data)[2 * i]);
        CHECK_EQ_U64(width_of(sample), ((uint64_t *)length.data)[2 * i + 1]);
        check_image((uint8_t *)plain.data + i * area * 3, sides, (size_t[]){(size_t)sides[1] * 3, 3, 1}, sample,
                    padding->fill);
        check_image((uint8_t *)planar.data + i * area * 3, sides, (size_t[]){(size_t)sides[1], 1, area}, sample,
                    padding->fill);
        for (size_t k = 0; k < area; k++) {
            bool want = k / sides[1] < height_of(sample) && k % sides[1] < width_of(sample);
            outside += ((bool *)mask.data)[i * area + k] != want;
        }
        CHECK_EQ_U64(0, outside);
    }
}

static void they_are_filled_up_to_a_multiple(void) {
    static const struct padding cases[] = {
        {"image: pad(mask=true)\nplanes = image: chw(u8) | pad", 1, 0},
        {"image: pad(value=9, mask=true, multiple=32)\nplanes = image: chw(u8) | pad(multiple=32, value=9)", 32, 9},
        {"image: pad(value=255, mask=true, multiple=16)\nplanes = image: chw(u8) | pad(value=255, multiple=16)", 16,
         255},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int threads = 0; threads < 4; threads += 3) {
            mldf_loader_options o = files_options(cases[c].text, 7, threads);
            files_each(reader, &o, SAMPLES, 0, check_batch, &cases[c]);
        }
}

static void a_fixed_size_is_the_same_in_every_batch(void) {
    mldf_loader_options o = files_options("image: pad([64, 96], multiple=32, mask=true)", 7, 2);
    mldf_loader *loader = files_loader(reader, &o);
    mldf_output shown;
    mldf_batch *batch;
    mldf_error err;
    REQUIRE(loader);
    REQUIRE(mldf_loader_output(loader, 0, &shown) == MLDF_OK);
    CHECK_EQ_STR("image", shown.name);
    CHECK(shown.ndim == 3 && shown.dims[0] == 64 && shown.dims[1] == 96 && shown.dims[2] == 3);
    REQUIRE(mldf_loader_output(loader, 1, &shown) == MLDF_OK);
    CHECK_EQ_STR("image_length", shown.name);
    CHECK(shown.ndim == 1 && shown.dims[0] == 2);
    REQUIRE(mldf_loader_output(loader, 2, &shown) == MLDF_OK);
    CHECK(shown.ndim == 2 && shown.dims[0] == 64 && shown.dims[1] == 96);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array image = files_array(batch, "image");
        CHECK(image.dims[1] == 64 && image.dims[2] == 96);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(0, mldf_loader_bad_count(loader));
    mldf_loader_free(loader);
}

static void what_is_larger_than_a_fixed_size_is_bad(void) {
    mldf_loader_options o = files_options("image: pad([64, 48])", 7, 2);
    mldf_batch *batch;
    mldf_error err = {0};
    o.bad = MLDF_BAD_SKIP;
    mldf_loader *loader = files_loader(reader, &o);
    uint64_t wide = 0, seen = 0;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    for (uint64_t i = 0; i < SAMPLES; i++)
        wide += width_of(i) > 48;
    REQUIRE(loader);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        seen += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(SAMPLES - wide, seen);
    CHECK_EQ_U64(wide, mldf_loader_bad_count(loader));
    REQUIRE(mldf_loader_bad_sample(loader, 0, &bad, &err) == MLDF_OK);
    CHECK_CONTAINS("is larger than pad's 64 x 48", TEXT(bad.error));
    mldf_loader_free(loader);
}

static void a_side_that_is_known_needs_no_look_at_the_samples(void) {
    mldf_loader_options o = files_options("image: resize([30, 50]) | pad(multiple=32)", 7, 0);
    mldf_loader *loader = files_loader(reader, &o);
    mldf_output shown;
    REQUIRE(loader);
    REQUIRE(mldf_loader_output(loader, 0, &shown) == MLDF_OK);
    CHECK(shown.dims[0] == 32 && shown.dims[1] == 64);
    mldf_loader_free(loader);
}

/* Draws are made when an image is measured, and again when it is run: they must be the same. */
static void plans_threads_and_buckets_agree(void) {
    static const char *const texts[] = {
        "image: resize(24, max_size=40) | hflip | pad(multiple=8, mask=true)",
        "image: random_resized_crop([20, 30]) | rotate(30, expand=true) | chw(f32) | pad(multiple=32)",
        "a = image: resize(24)\nb = a: hflip | normalize(half) | pad(value=0.5)\na: pad(multiple=4)",
        "image, m = image as mask: resize(24) | vflip\nimage: brightness(0.4) | pad\nm: pad(value=255)",
    };
    for (size_t t = 0; t < 4; t++)
        for (int bucket = 0; bucket < 3; bucket++) {
            mldf_loader_options o = files_options(texts[t], 7, 0);
            o.bucket_window = bucket ? 16 : 0;
            o.budget = bucket == 2 ? (uint64_t)5 * 40 * 40 * 3 : 0;
            files_check_plans(reader, &o, SAMPLES);
        }
}

/* H x W of its own for each sample, without channels: what is made of it is an image where the text says so. */
static void make_rows(const void *user, uint64_t sample, mldf_value *values) {
    static int32_t rows[8 * 8];
    uint64_t height = 3 + sample % 4, width = 2 + sample * 3 % 5;
    (void)user;
    for (uint64_t i = 0; i < height * width; i++)
        rows[i] = (int32_t)(sample * 9 + i);
    values[0] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = MLDF_I32,
                             .data = rows,
                             .bytes = height * width * sizeof *rows,
                             .ndim = 2,
                             .dims = {height, width}};
}

/* Value (y, x) of a sample, in a batch of these sides. */
static uint8_t mirrored(uint64_t sample, uint64_t y, uint64_t x) {
    uint64_t height = 3 + sample % 4, width = 2 + sample * 3 % 5;
    return y < height && x < width ? (uint8_t)(sample * 9 + y * width + width - 1 - x) : 7;
}

static void views_of_arrays_are_measured_as_the_images_they_are(void) {
    const struct files_field fields[] = {{"rows", MLDF_NDARRAY, "{\"dtype\":\"<i4\",\"shape\":[null,null]}", 0},
                                         {NULL, 0, NULL, 0}};
    mldf_loader_options o =
        files_options("t = rows: cast(u8)\nm = t as mask: hflip(1) | pad(value=7)\nt, rows: drop", 7, 2);
    files_make(check_tmp("rows.mldf"), fields, 20, make_rows, NULL);
    mldf_reader *rows = files_open(check_tmp("rows.mldf"), MLDF_BACKEND_MAP);
    mldf_loader *loader = files_loader(rows, &o);
    mldf_batch *batch;
    mldf_error err = {0};
    size_t seen = 0, wrong = 0;
    REQUIRE(loader);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array m = files_array(batch, "m"), index = files_array(batch, "index");
        REQUIRE(m.ndim == 4 && m.dims[3] == 1);
        const uint8_t *at = m.data;
        for (uint64_t i = 0; i < m.dims[0]; i++, seen++)
            for (uint64_t y = 0; y < m.dims[1]; y++)
                for (uint64_t x = 0; x < m.dims[2]; x++)
                    wrong += *at++ != mirrored(((uint64_t *)index.data)[i], y, x);
        mldf_batch_release(batch);
    }
    CHECK_EQ_STR("", err.message);
    CHECK_EQ_U64(20, seen);
    CHECK_EQ_U64(0, wrong);
    mldf_loader_free(loader);
    mldf_reader_close(rows);
}

/* An image that is measured and then read counts once. */
static void what_is_measured_is_not_read_twice(void) {
    static const char *const texts[] = {"image: pad(64)", "image: pad"};
    for (size_t t = 0; t < 2; t++) {
        mldf_loader_options o = files_options(texts[t], 7, 2);
        mldf_loader *loader = files_loader(reader, &o);
        mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
        struct hashes hashes;
        mldf_error err;
        uint64_t bytes = 0;
        REQUIRE(loader);
        for (uint64_t i = 0; i < SAMPLES; i++)
            bytes += (uint64_t)width_of(i) * height_of(i) * 3;
        files_run(loader, &hashes);
        CHECK_EQ_U64(SAMPLES, hashes.samples);
        CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
        CHECK_EQ_U64(bytes, stats.bytes_read);
        mldf_loader_free(loader);
    }
}

static void a_budget_counts_what_is_filled_up(void) {
    mldf_loader_options o = files_options("image: pad(multiple=32)", 7, 2);
    mldf_batch *batch;
    mldf_error err;
    size_t seen = 0, larger = 0;
    o.bucket_window = SAMPLES;
    o.budget = (uint64_t)4 * 64 * 64 * 3;
    mldf_loader *loader = files_loader(reader, &o);
    REQUIRE(loader);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        CHECK(files_array(batch, "image").bytes <= o.budget);
        larger += mldf_batch_sample_count(batch) > 4;
        seen += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(SAMPLES, seen);
    CHECK(larger > 0); /* small ones go together */
    mldf_loader_free(loader);
}

int main(int argc, char **argv) {
    struct files_shape shape = {.samples = SAMPLES};
    check_begin(argc, argv);
    files_write(check_tmp("images.mldf"), &shape);
    reader = files_open(check_tmp("images.mldf"), MLDF_BACKEND_MAP);
    RUN(they_are_filled_up_to_a_multiple);
    RUN(a_fixed_size_is_the_same_in_every_batch);
    RUN(what_is_larger_than_a_fixed_size_is_bad);
    RUN(a_side_that_is_known_needs_no_look_at_the_samples);
    RUN(plans_threads_and_buckets_agree);
    RUN(views_of_arrays_are_measured_as_the_images_they_are);
    RUN(what_is_measured_is_not_read_twice);
    RUN(a_budget_counts_what_is_filled_up);
    mldf_reader_close(reader);
    return check_end();
}
