/* Rewriting changes nothing: every pipeline gives the same bytes from the fused plan on every instruction set and from the reference plan,
 * which runs each step by itself on portable kernels and decodes whole images. */
#include "kernel/kernels.h"
#include "pipeline/pipeline.h"
#include "pipeline_images.h"

/* Pixels come out alike whatever the image's size, so each fits all twelve. */
static const char *const pipelines[] = {
    "image: resize([20, 30])",
    "image: resize([20, 30]) | chw",
    "image: random_resized_crop(24)",
    "image: random_resized_crop(24) | hflip",
    "image: random_resized_crop(24) | hflip | vflip | normalize(imagenet) | chw",
    "image: random_resized_crop([17, 31]) | hflip(p=1) | normalize(half) | chw(f16)",
    "image: random_resized_crop(16, filter=bicubic) | vflip(p=1) | to_float | chw(bf16)",
    "image: random_resized_crop(40, filter=nearest) | center_crop(20) | hflip | chw(f32)",
    "image: random_resized_crop(40) | random_crop(20) | hflip | random_crop([11, 9]) | normalize(imagenet)",
    "image: hflip(p=1) | resize([12, 13])",
    "image: hflip | random_resized_crop(12) | vflip",
    "image: center_crop(32)",
    "image: center_crop(32, fill=7) | hflip | normalize(imagenet) | chw",
    "image: random_crop(24, padding=4, pad_if_needed=true) | hflip",
    "image: random_crop(24, padding=[1, 2, 3, 4], pad_if_needed=true, fill=200) | hflip(p=1) | chw(f32)",
    "image: center_resized_crop(28) | normalize(imagenet) | chw",
    "image: center_resized_crop(28, filter=area) | resize([9, 8]) | hflip",
    "image: decode(exact=true) | random_resized_crop(8) | normalize(imagenet) | chw(f32)",
    "image: random_resized_crop(8) | normalize(imagenet) | chw(f32)",
    "image: random_resized_crop(8, scale=[0.9, 1]) | to_float | normalize(half) | chw",
    "image: decode(channels=1) | random_resized_crop(24) | hflip | to_float",
    "image: decode(bits=16) | random_resized_crop(24) | hflip | normalize(half) | chw",
    "image: resize(10, max_size=12) | center_crop(10)",
    /* Random point-wise steps: tables of bytes inside of the pass. */
    "image: random_resized_crop(24) | hflip | solarize(100) | normalize(imagenet) | chw",
    "image: random_resized_crop([17, 31], filter=bicubic) | random_invert | posterize(3) | to_float | chw(f16)",
    "image: center_crop(32) | vflip | random_invert | solarize | chw",
    "image: hflip | posterize(2) | solarize(90) | center_crop(20) | solarize(60) | random_invert",
    "image: decode(channels=4) | random_resized_crop(24) | hflip | solarize(77) | posterize(4) | to_float | chw(bf16)",
    "image: decode(channels=1) | resize([20, 30]) | random_invert | posterize(5) | to_float",
    "image: decode(chroma=fused) | resize([20, 30]) | solarize(99) | random_invert | normalize(half)",
    "a = image: random_resized_crop(24) | hflip\nb = image: random_resized_crop(24) | normalize(half) | chw(f32)",
};

/* With a sample's partner. */
static const char *const paired[] = {
    "image: random_resized_crop(24) | mixup(0.4)\nlabel: drop",
    "image: random_resized_crop(24) | hflip | normalize(imagenet) | chw\nlabel: one_hot(10)\nimage, label: mixup(0.4)",
    "image: random_resized_crop(24)\nimage, label: label_mixup(0.3)\nimage: normalize(half) | chw(f16)",
    "image: random_resized_crop(24)\nlabel: one_hot(10)\nimage, label: cutmix(1.0)\nimage: hflip | to_float | chw",
};

struct outcome {
    mldf_buffer bytes;
    char message[200];
};

static size_t output_bytes(const struct plan *plan, size_t output) {
    const struct edge *e = &mldfi_plan_output(plan, output)->edge;
    size_t bytes = mldf_dtype_bytes(e->dtype);
    for (uint32_t k = 0; k < e->ndim; k++)
        bytes *= (size_t)e->dims[k];
    return bytes;
}

/* Every sample through the pipeline; outputs one behind the other. */
static void run_all(struct images *all, const char *text, bool reference, const char *isa, struct outcome *out) {
    struct plan_options options = {.reference = reference, .isa = isa, .seed = 11};
    struct plan_feed feed = {.user = all, .get = images_get};
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_error err = {0};
    out->bytes.size = 0;
    out->message[0] = 0;
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err);
    if (status == MLDF_OK)
        status = mldfi_plan_new(pipeline, all->schema, all->bounds, &options, &plan, &err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(plan, &worker, &err);
    for (uint64_t p = 0; status == MLDF_OK && p < 2 * IMAGES; p++) {
        struct plan_target targets[8];
        size_t count = mldfi_plan_output_count(plan);
        for (size_t o = 0; o < count; o++) {
            size_t bytes = output_bytes(plan, o);
            targets[o].data = aligned_alloc(64, (bytes + 127) / 64 * 64);
            targets[o].room = (struct plan_length){{0}};
            memset(targets[o].data, 0xA5, bytes);
        }
        status = mldfi_plan_run(plan, worker, &feed, 3, p, targets, &err);
        for (size_t o = 0; o < count; o++) {
            size_t bytes = output_bytes(plan, o);
            if (status == MLDF_OK)
                CHECK(mldf_buffer_append(&out->bytes, targets[o].data, bytes, NULL) == MLDF_OK);
            free(targets[o].data);
        }
    }
    if (status < 0)
        snprintf(out->message, sizeof out->message, "%s", err.message);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
}

/* How the two samples of a pair are asked for. */
enum { BOTH, ONE_BY_ONE };

/* Twelve pairs and a last sample without partner, each sample's outputs in order. */
static void run_pairs(struct images *all, const char *text, bool reference, int how, struct outcome *out) {
    struct plan_options options = {.reference = reference, .seed = 5};
    struct plan_feed feed = {.user = all, .get = images_get};
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_error err = {0};
    out->bytes.size = 0;
    out->message[0] = 0;
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err);
    if (status == MLDF_OK)
        status = mldfi_plan_new(pipeline, all->schema, all->bounds, &options, &plan, &err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(plan, &worker, &err);
    CHECK(status < 0 || mldfi_plan_pairs(plan));
    for (uint64_t p = 0; status == MLDF_OK && p < 25; p += 2) {
        struct plan_target targets[2][4];
        size_t count = mldfi_plan_output_count(plan), bytes[4];
        bool alone = p == 24;
        for (size_t o = 0; o < count; o++) {
            bytes[o] = output_bytes(plan, o);
            for (int side = 0; side < 2; side++)
                targets[side][o] = (struct plan_target){aligned_alloc(64, (bytes[o] + 127) / 64 * 64), {{0}}};
        }
        if (how == BOTH || alone) {
            status = mldfi_plan_run_pair(plan, worker, &feed, 1, p, alone, targets[0], alone ? NULL : targets[1], &err);
        } else {
            status = mldfi_plan_run_pair(plan, worker, &feed, 1, p, false, NULL, targets[1], &err);
            if (status == MLDF_OK)
                status = mldfi_plan_run_pair(plan, worker, &feed, 1, p, false, targets[0], NULL, &err);
        }
        for (int side = 0; side < 2; side++)
            for (size_t o = 0; o < count; o++) {
                if (status == MLDF_OK && !(alone && side))
                    CHECK(mldf_buffer_append(&out->bytes, targets[side][o].data, bytes[o], NULL) == MLDF_OK);
                free(targets[side][o].data);
            }
    }
    if (status < 0)
        snprintf(out->message, sizeof out->message, "%s", err.message);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
}

static void a_sample_is_mixed_the_same_with_and_without_its_partner_at_hand(void) {
    struct images all;
    REQUIRE(images_begin(&all, 3, false));
    for (size_t i = 0; i < sizeof paired / sizeof *paired; i++) {
        struct outcome both = {0}, one = {0}, plain = {0};
        run_pairs(&all, paired[i], false, BOTH, &both);
        run_pairs(&all, paired[i], false, ONE_BY_ONE, &one);
        run_pairs(&all, paired[i], true, BOTH, &plain);
        CHECK_EQ_STR("", both.message);
        CHECK(both.bytes.size > 0);
        CHECK_BYTES_EQ(both.bytes.data, both.bytes.size, one.bytes.data, one.bytes.size);
        CHECK_BYTES_EQ(both.bytes.data, both.bytes.size, plain.bytes.data, plain.bytes.size);
        mldf_buffer_free(&both.bytes);
        mldf_buffer_free(&one.bytes);
        mldf_buffer_free(&plain.bytes);
    }
    images_end(&all);
}

static void compare_all(uint32_t channels, bool raw_only) {
    static const char *const isas[] = {"portable", "sse4", "avx2", "avx512", "neon", NULL};
    struct images all;
    REQUIRE(images_begin(&all, channels, raw_only));
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        struct outcome want = {0}, got = {0};
        if (channels == 1 && strstr(pipelines[i], "imagenet"))
            continue;
        run_all(&all, pipelines[i], true, NULL, &want);
        CHECK_EQ_STR("", want.message);
        CHECK(want.bytes.size > 0);
        for (size_t k = 0; isas[k]; k++) {
            if (!mldfi_kernels_named(isas[k]))
                continue;
            run_all(&all, pipelines[i], false, isas[k], &got);
            bool same =
                got.bytes.size == want.bytes.size && memcmp(got.bytes.data, want.bytes.data, want.bytes.size) == 0;
            if (!same)
                check_fail(__FILE__, __LINE__, "%s: the fused plan on %s differs: %s", pipelines[i], isas[k],
                           got.message);
        }
        mldf_buffer_free(&want.bytes);
        mldf_buffer_free(&got.bytes);
    }
    images_end(&all);
}

static void rewriting_keeps_the_bytes_of_rgb_jpeg_and_raw(void) {
    compare_all(3, false);
}

static void rewriting_keeps_the_bytes_of_raw_rgb(void) {
    compare_all(3, true);
}

static void rewriting_keeps_the_bytes_of_gray(void) {
    compare_all(1, false);
}

/* A JPEG four times as large as wanted is decoded at 1/4; exact decoding differs, but not much. */
static void reduced_decoding_is_close_to_exact_decoding(void) {
    struct images all;
    struct outcome fast = {0}, exact = {0};
    REQUIRE(images_begin(&all, 3, false));
    run_all(&all, "image: resize([24, 24])", false, NULL, &fast);
    run_all(&all, "image: decode(exact=true) | resize([24, 24])", false, NULL, &exact);
    CHECK_EQ_U64(fast.bytes.size, exact.bytes.size);
    CHECK(memcmp(fast.bytes.data, exact.bytes.data, exact.bytes.size) != 0);
    double sum = 0;
    for (size_t i = 0; i < exact.bytes.size; i++) {
        double d = (double)fast.bytes.data[i] - exact.bytes.data[i];
        sum += d * d;
    }
    CHECK(sum / (double)exact.bytes.size < 255.0 * 255.0 / 1000.0); /* PSNR above 30 dB on this harsh texture */
    mldf_buffer_free(&fast.bytes);
    mldf_buffer_free(&exact.bytes);
    images_end(&all);
}

static void explain_shows_the_plan_before_and_after_each_pass(void) {
    static const char text[] = "image: random_resized_crop(24) | hflip | normalize(imagenet) | chw";
    struct plan_options options = {.seed = 1};
    struct images all;
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    mldf_error err = {0};
    mldf_buffer out = MLDF_BUFFER_INIT;
    REQUIRE(images_begin(&all, 3, false));
    REQUIRE_OK(mldf_pipeline_parse(NULL, text, sizeof text - 1, &pipeline, &err), &err);
    REQUIRE_OK(mldfi_plan_new(pipeline, all.schema, all.bounds, &options, &plan, &err), &err);
    REQUIRE_OK(mldfi_plan_explain(plan, &out, &err), &err);
    REQUIRE(mldf_buffer_append(&out, "", 1, NULL) == MLDF_OK);
    const char *explained = (const char *)out.data;
    CHECK_CONTAINS("as written\n    image: decode | random_resized_crop | hflip | normalize | chw\n", explained);
    CHECK_CONTAINS("after source\n    image: [decode + random_resized_crop + hflip] | normalize | chw\n", explained);
    CHECK_CONTAINS("after finish\n    image: [decode + random_resized_crop + hflip + normalize + chw]\n", explained);
    CHECK_CONTAINS("[decode + random_resized_crop + hflip + normalize + chw] -> the batch\n", explained);
    mldf_buffer_free(&out);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
    images_end(&all);
}

/* Which operations of each step could be done when packing, "step=names;" for those that have some. */
static void check_once(const struct images *all, const char *text, const char *want) {
    struct plan_options options = {.seed = 11};
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    mldf_error err = {0};
    char got[512] = "", names[64];
    CHECK_OK(mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err), &err);
    CHECK_OK(mldfi_plan_new(pipeline, all->schema, all->bounds, &options, &plan, &err), &err);
    for (size_t i = 0; i < mldfi_plan_step_count(plan); i++) {
        mldfi_plan_step_once(plan, i, names, sizeof names);
        size_t at = strlen(got);
        if (names[0])
            snprintf(got + at, sizeof got - at, "%s=%s;", mldfi_plan_step_name(plan, i), names);
    }
    CHECK_EQ_STR(want, got);
    mldfi_plan_step_once(plan, 1, names, 4); /* no room for a name */
    CHECK_EQ_STR("", names);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
}

static void what_could_be_done_when_packing_ends_at_the_first_random_step(void) {
    struct images all;
    REQUIRE(images_begin(&all, 3, false));
    check_once(&all, "image: random_resized_crop(24) | hflip | resize([8, 8])", "image: decode=decode;");
    check_once(&all, "image: resize([20, 30]) | normalize(half) | chw",
               "image: decode=decode;image: resize + normalize + chw=resize;");
    check_once(&all, "image: center_resized_crop(28) | resize([9, 8]) | random_crop(4) | grayscale",
               "image: decode=decode;image: center_resized_crop + resize + random_crop=center_resized_crop + resize;");
    check_once(&all, "image: resize([20, 30]) | grayscale(3) | solarize(100) | invert",
               "image: decode=decode;image: resize=resize;image: grayscale=grayscale;");
    /* Of chains that are made of others: as far as all of those go. */
    check_once(
        &all,
        "a = image: resize([8, 8])\nb = image: random_crop(8, pad_if_needed=true)\nc = [a, a]: stack\nd = [a, b]: stack",
        "a: decode=decode;a: resize=resize;b: decode=decode;c: stack=stack;");
    images_end(&all);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(rewriting_keeps_the_bytes_of_rgb_jpeg_and_raw);
    RUN(rewriting_keeps_the_bytes_of_raw_rgb);
    RUN(rewriting_keeps_the_bytes_of_gray);
    RUN(a_sample_is_mixed_the_same_with_and_without_its_partner_at_hand);
    RUN(reduced_decoding_is_close_to_exact_decoding);
    RUN(explain_shows_the_plan_before_and_after_each_pass);
    RUN(what_could_be_done_when_packing_ends_at_the_first_random_step);
    return check_end();
}
