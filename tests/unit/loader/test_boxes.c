/* Boxes whose number differs from sample to sample move with their image, and their lengths are known before the batch is made: padded and
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
    files_image(i, width_of(i), height_of(i), pixels);
    values[0] = files_pixels(pixels, width_of(i), height_of(i));
    values[1] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = MLDF_F32,
                             .data = boxes,
                             .bytes = box_count(i) * 16,
                             .ndim = 2,
                             .dims = {box_count(i), 4}};
}

static void check_batch(const mldf_batch *batch, const void *user) {
    mldf_array boxes = files_array(batch, "boxes");
    (void)user;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        uint64_t sample = files_index(batch, i);
        CHECK_EQ_U64(box_count(sample), ((uint64_t *)files_array(batch, "boxes_length").data)[i]);
        for (uint64_t k = 0; k < boxes.dims[1] * 4; k++) {
            float scale = k % 2 ? (float)HEIGHT / (float)height_of(sample) : (float)WIDTH / (float)width_of(sample);
            float want = k / 4 < box_count(sample) ? (float)(k % 4 + 1) * scale : -1.0f;
            CHECK(fabsf(((float *)boxes.data)[i * boxes.dims[1] * 4 + k] - want) < 1e-4f);
        }
    }
}

static void they_are_scaled_with_their_image(void) {
    mldf_loader_options o = files_options("image, boxes as boxes: resize([16, 24])\nboxes: pad(value=-1)", 7, 2);
    files_each(reader, &o, SAMPLES, 0, check_batch, NULL);
}

static void plans_threads_and_buckets_agree(void) {
    static const char *const texts[] = {
        "image, boxes as boxes: random_resized_crop([16, 24]) | hflip\nboxes: pad",
        "image, boxes as boxes: random_resized_crop([16, 24]) | hflip\nboxes: ragged",
    };
    for (size_t t = 0; t < 2; t++)
        for (int bucket = 0; bucket < 2; bucket++) {
            mldf_loader_options o = files_options(texts[t], 7, 0);
            o.bucket_window = bucket ? 16 : 0;
            o.bucket_output = bucket ? "boxes" : NULL;
            files_check_plans(reader, &o, SAMPLES);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    files_make(check_tmp("boxes.mldf"), fields, SAMPLES, make_sample, NULL);
    reader = files_open(check_tmp("boxes.mldf"), MLDF_BACKEND_MAP);
    RUN(they_are_scaled_with_their_image);
    RUN(plans_threads_and_buckets_agree);
    mldf_reader_close(reader);
    return check_end();
}
