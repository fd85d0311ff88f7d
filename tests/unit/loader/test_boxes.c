/* Boxes whose number differs from sample to sample move with their picture, and their lengths are known before the batch is made: padded and
 * ragged, on any number of threads, and sorted by length. */
#include <math.h>

#include "loader_files.h"

enum { SAMPLES = 40, WIDTH = 24, HEIGHT = 16 };
static mldf_reader *reader;

static uint64_t box_count(uint64_t sample) {
    return 1 + sample % 3;
}

static uint32_t width_of(uint64_t sample) {
    return 10 + (uint32_t)(sample % 17);
}

static uint32_t height_of(uint64_t sample) {
    return 8 + (uint32_t)(sample % 13);
}

static const struct files_field fields[] = {{"image", MLDF_IMAGE, NULL, 0},
                                            {"boxes", MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[null,4]}", 0},
                                            {NULL, 0, NULL, 0}};

static void make_sample(const void *user, uint64_t i, mldf_value *values) {
    static uint8_t pixels[30 * 30 * 3];
    static float boxes[12];
    (void)user;
    for (size_t k = 0; k < 12; k++)
        boxes[k] = (float)(k % 4 + 1);
    files_picture(i, width_of(i), height_of(i), pixels);
    values[0] = files_pixels(pixels, width_of(i), height_of(i));
    values[1] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = MLDF_F32,
                             .data = boxes,
                             .bytes = box_count(i) * 16,
                             .ndim = 2,
                             .dims = {box_count(i), 4}};
}

static mldf_loader_options options(const char *text, int threads) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = text;
    o.order = MLDF_ORDER_RANDOM;
    o.batch_size = 7;
    o.threads = threads;
    o.want_index = true;
    return o;
}

static void they_are_scaled_with_their_picture(void) {
    mldf_loader_options o = options("image, boxes as boxes: resize([16, 24])\nboxes: pad(value=-1)", 2);
    mldf_loader *loader = files_loader(reader, &o);
    mldf_batch *batch;
    mldf_error err;
    size_t seen = 0;
    REQUIRE(loader);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array boxes = files_array(batch, "boxes");
        for (size_t i = 0; i < mldf_batch_sample_count(batch); i++, seen++) {
            uint64_t sample = ((uint64_t *)files_array(batch, "index").data)[i];
            CHECK_EQ_U64(box_count(sample), ((uint64_t *)files_array(batch, "boxes_length").data)[i]);
            for (uint64_t k = 0; k < boxes.dims[1] * 4; k++) {
                float scale = k % 2 ? (float)HEIGHT / (float)height_of(sample) : (float)WIDTH / (float)width_of(sample);
                float want = k / 4 < box_count(sample) ? (float)(k % 4 + 1) * scale : -1.0f;
                CHECK(fabsf(((float *)boxes.data)[i * boxes.dims[1] * 4 + k] - want) < 1e-4f);
            }
        }
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(SAMPLES, seen);
    CHECK_EQ_U64(0, mldf_loader_bad_count(loader));
    mldf_loader_free(loader);
}

static void plans_threads_and_buckets_agree(void) {
    static const char *const texts[] = {
        "image, boxes as boxes: random_resized_crop([16, 24]) | hflip\nboxes: pad",
        "image, boxes as boxes: random_resized_crop([16, 24]) | hflip\nboxes: ragged",
    };
    for (size_t t = 0; t < 2; t++)
        for (int bucket = 0; bucket < 2; bucket++) {
            struct hashes want, got;
            mldf_loader_options o = options(texts[t], 0);
            o.bucket_window = bucket ? 16 : 0;
            o.bucket_output = bucket ? "boxes" : NULL;
            o.reference = true;
            files_epoch(reader, &o, 1, &want);
            CHECK_EQ_U64(SAMPLES, want.samples);
            CHECK_EQ_U64(0, want.errors);
            o.reference = false;
            for (o.threads = 0; o.threads < 5; o.threads += 2) {
                files_epoch(reader, &o, 1, &got);
                files_check_same(&want, &got, texts[t]);
            }
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    files_make(check_tmp("boxes.mldf"), fields, SAMPLES, make_sample, NULL);
    reader = files_open(check_tmp("boxes.mldf"), MLDF_BACKEND_MAP);
    RUN(they_are_scaled_with_their_picture);
    RUN(plans_threads_and_buckets_agree);
    mldf_reader_close(reader);
    return check_end();
}
