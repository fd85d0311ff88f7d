/* Nullable fields in batches: fill gives nulls a value in every order, on any number of threads, on ranks and in pairs; NAME_valid tells. */
#include "loader_files.h"

enum { SAMPLES = 101, SIDE = 6 };
static mldf_reader *reader;

/* Each field has its own nulls; they overlap. */
static bool is_null(uint64_t sample, int field) {
    static const uint64_t every[] = {3, 4, 5, 7};
    return sample % every[field] == 1;
}
enum { IMAGE, AGE, FEAT, TEXT };

static const struct files_field fields[] = {
    {"image", MLDF_IMAGE, NULL, MLDF_FIELD_NULLABLE},
    {"age", MLDF_INT, NULL, MLDF_FIELD_NULLABLE},
    {"feat", MLDF_NDARRAY, "{\"dtype\":\"<f4\",\"shape\":[2]}", MLDF_FIELD_NULLABLE},
    {"text", MLDF_TEXT, NULL, MLDF_FIELD_NULLABLE},
    {NULL, 0, NULL, 0}};

static void make_sample(const void *user, uint64_t i, mldf_value *values) {
    static uint8_t pixels[30 * 30 * 3];
    static float feat[2];
    uint32_t width = 10 + (uint32_t)(i % 17), height = 8 + (uint32_t)(i % 13);
    (void)user;
    feat[0] = (float)i;
    feat[1] = (float)i / 2;
    files_image(i, width, height, pixels);
    values[IMAGE] = files_pixels(pixels, width, height);
    values[AGE] = (mldf_value){.kind = MLDF_KIND_INT, .as.i = (int64_t)i};
    values[FEAT] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_F32, .data = feat, .bytes = sizeof feat, .ndim = 1, .dims = {2}};
    values[TEXT] = (mldf_value){.kind = MLDF_KIND_TEXT, .data = "abcdefghij", .bytes = 1 + i % 10};
    for (int f = IMAGE; f <= TEXT; f++)
        if (is_null(i, f))
            values[f] = (mldf_value){.kind = MLDF_KIND_NULL};
}

static const char pipeline[] = "image: random_resized_crop(6) | hflip | fill(77, valid=true)\n"
                               "age: fill(-1, valid=true) | cast(i32)\n"
                               "feat: fill(0.5)\n"
                               "text: fill(valid=true) | pad(value=46)";

static void check_sample(const mldf_batch *batch, size_t i) {
    uint64_t s = files_index(batch, i);
    mldf_array text = files_array(batch, "text");
    const uint8_t *image = (uint8_t *)files_array(batch, "image").data + i * SIDE * SIDE * 3;
    const float *feat = (float *)files_array(batch, "feat").data + 2 * i;
    size_t constant = 0;
    for (size_t k = 0; k < SIDE * SIDE * 3; k++)
        constant += image[k] == 77;
    CHECK_EQ_INT(is_null(s, IMAGE), constant == SIDE * SIDE * 3);
    CHECK_EQ_INT(!is_null(s, IMAGE), ((bool *)files_array(batch, "image_valid").data)[i]);
    CHECK_EQ_INT(is_null(s, AGE) ? -1 : (int)s, ((int32_t *)files_array(batch, "age").data)[i]);
    CHECK_EQ_INT(!is_null(s, AGE), ((bool *)files_array(batch, "age_valid").data)[i]);
    CHECK(feat[0] == (is_null(s, FEAT) ? 0.5f : (float)s));
    uint64_t length = is_null(s, TEXT) ? 0 : 1 + s % 10;
    CHECK_EQ_U64(length, ((uint64_t *)files_array(batch, "text_length").data)[i]);
    CHECK_EQ_INT(!is_null(s, TEXT), ((bool *)files_array(batch, "text_valid").data)[i]);
    for (uint64_t k = 0; k < text.dims[1]; k++)
        CHECK_EQ_INT(k < length ? "abcdefghij"[k] : '.', ((char *)text.data)[i * text.dims[1] + k]);
}

static void check_batch(const mldf_batch *batch, const void *user) {
    (void)user;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++)
        check_sample(batch, i);
}

static void every_sample_comes_and_nulls_are_the_constant(void) {
    for (int order = 0; order < 3; order++)
        for (int threads = 0; threads < 4; threads += 3) {
            mldf_loader_options o = files_options(pipeline, 8, threads);
            o.order = (mldf_order_kind)order;
            files_each(reader, &o, SAMPLES, 0, check_batch, NULL);
        }
}

static void plans_threads_and_buckets_agree(void) {
    static const char *const texts[] = {
        pipeline,
        "image: random_resized_crop(6) | fill([1, 2, 3]) | color_jitter(0.4, 0.4, 0.4) | normalize(imagenet) | "
        "chw(f16)\nage: fill(5)\nfeat: expr(\"x * 3\") | fill(1, valid=true) | expr(\"x + 1\") | cast(f16)\ntext: fill | "
        "ragged",
        "image: resize([6, 6]) | fill(9, valid=true) | mixup(0.4)\nage: fill(3, valid=true) | cast(f32) | mixup(0.4)\n"
        "feat: fill(0)",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int bucket = 0; bucket < 2 && (t < 2 || !bucket); bucket++) {
            mldf_loader_options o = files_options(texts[t], 8, 0);
            if (bucket) {
                o.bucket_window = 32;
                o.bucket_output = "text";
            }
            files_check_plans(reader, &o, SAMPLES);
        }
}

/* A rank that has one side of a pair alone: 3 ranks of batches of 3 cut the pairs, and the last sample has no partner. */
static void ranks_see_the_nulls_of_their_own_samples(void) {
    size_t seen = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        mldf_loader_options o = files_options("age: fill(500, valid=true) | cast(f64) | mixup(0.4)\nfeat: drop", 3, 2);
        o.rank = rank;
        o.world_size = 3;
        mldf_loader *loader = files_loader(reader, &o);
        mldf_batch *batch;
        mldf_error err;
        REQUIRE(loader);
        while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
            for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
                uint64_t s = files_index(batch, i);
                CHECK_EQ_INT(!is_null(s, AGE), ((bool *)files_array(batch, "age_valid").data)[i]);
                seen++;
            }
            mldf_batch_release(batch);
        }
        mldf_loader_free(loader);
    }
    CHECK(seen >= SAMPLES);
}

static void check_whole(const mldf_batch *batch, const void *user) {
    (void)user;
    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
        uint64_t s = files_index(batch, i);
        CHECK(!is_null(s, FEAT));
        CHECK_EQ_INT(!is_null(s, AGE), ((bool *)files_array(batch, "age_valid").data)[i]);
    }
}

/* What is skipped takes its row of NAME_valid with it. */
static void skipped_samples_leave_no_row(void) {
    mldf_loader_options o = files_options("image: drop\nage: fill(-1, valid=true)\nfeat", 8, 2);
    o.bad = MLDF_BAD_SKIP;
    files_each(reader, &o, SAMPLES - 20, 20, check_whole, NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    files_make(check_tmp("nulls.mldf"), fields, SAMPLES, make_sample, NULL);
    reader = files_open(check_tmp("nulls.mldf"), MLDF_BACKEND_MAP);
    RUN(every_sample_comes_and_nulls_are_the_constant);
    RUN(plans_threads_and_buckets_agree);
    RUN(ranks_see_the_nulls_of_their_own_samples);
    RUN(skipped_samples_leave_no_row);
    mldf_reader_close(reader);
    return check_end();
}
