/* Pairs through a whole plan: images and labels of a group are mixed by the same number, which depends on the position alone; and chains of
 * colours and arrays give the same bytes fused and step by step. */
#include "pipeline/pipeline.h"
#include "pipeline_images.h"

enum { SEED = 11, EPOCH = 3, ROOM = 4096 };

struct machine {
    mldf_pipeline *pipeline;
    struct plan *plan;
    struct plan_worker *worker;
};

static bool machine_begin(struct machine *m, struct images *all, const char *text, bool reference) {
    struct plan_options options = {.reference = reference, .seed = SEED};
    mldf_error err = {0};
    memset(m, 0, sizeof *m);
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &m->pipeline, &err);
    if (status == MLDF_OK)
        status = mldfi_plan_new(m->pipeline, all->schema, all->bounds, &options, &m->plan, &err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(m->plan, &m->worker, &err);
    if (status < 0)
        check_fail(__FILE__, __LINE__, "%s: %s", text, err.message);
    return status == MLDF_OK;
}

static void machine_end(struct machine *m) {
    mldfi_worker_free(m->worker);
    mldfi_plan_free(m->plan);
    mldf_pipeline_free(m->pipeline);
}

/* image and label of one sample. */
struct pair_output {
    _Alignas(64) uint8_t image[ROOM];
    _Alignas(64) float label[16];
};

static struct plan_target *targets_of(struct machine *m, struct pair_output *o, struct plan_target *targets) {
    for (size_t i = 0; i < mldfi_plan_output_count(m->plan); i++) {
        bool image = strcmp(mldfi_plan_output(m->plan, i)->name, "image") == 0;
        targets[i] = (struct plan_target){image ? (void *)o->image : (void *)o->label, {{0}}};
    }
    return targets;
}

static void run_both(struct machine *m, struct images *all, uint64_t even, bool alone, struct pair_output *a,
                     struct pair_output *b) {
    struct plan_feed feed = {.user = all, .get = images_get};
    struct plan_target ta[2], tb[2];
    mldf_error err = {0};
    CHECK_OK(mldfi_plan_run_pair(m->plan, m->worker, &feed, EPOCH, even, alone, targets_of(m, a, ta),
                                 alone ? NULL : targets_of(m, b, tb), &err),
             &err);
}

static void run_plain(struct machine *m, struct images *all, uint64_t position, struct pair_output *o) {
    struct plan_feed feed = {.user = all, .get = images_get};
    struct plan_target t[2];
    mldf_error err = {0};
    CHECK_OK(mldfi_plan_run(m->plan, m->worker, &feed, EPOCH, position, targets_of(m, o, t), &err), &err);
}

static double lambda_of(const char *stream, uint64_t position, double alpha) {
    struct rng rng;
    mldfi_rng_begin(&rng, SEED, EPOCH, position, mldfi_rng_stream(stream, strlen(stream)));
    return mldfi_rng_beta(&rng, alpha, alpha);
}

/* Nearest, ties to even, of what lies in 0..255. */
static uint8_t nearest(float v) {
    uint32_t whole = (uint32_t)v;
    float rest = v - (float)whole;
    return (uint8_t)(whole + (rest > 0.5f || (rest >= 0.5f && (whole & 1))));
}

static void mixup_mixes_image_and_label_by_one_number(void) {
    struct images all;
    struct machine plain, mixed;
    static struct pair_output p[2], q[2];
    REQUIRE(images_begin(&all, 3, false));
    REQUIRE(machine_begin(&plain, &all, "image: resize([7, 9])\nlabel: one_hot(10)", false));
    REQUIRE(machine_begin(&mixed, &all, "image: resize([7, 9])\nlabel: one_hot(10)\nimage, label: mixup(0.4)", false));
    CHECK(!mldfi_plan_pairs(plain.plan));
    CHECK(mldfi_plan_pairs(mixed.plan));
    for (uint64_t even = 0; even < IMAGES; even += 2) {
        run_plain(&plain, &all, even, &p[0]);
        run_plain(&plain, &all, even + 1, &p[1]);
        run_both(&mixed, &all, even, false, &q[0], &q[1]);
        for (uint64_t side = 0; side < 2; side++) {
            double lambda = lambda_of("image,label/mixup/0/0", even + side, 0.4);
            float mine = (float)lambda, other = (float)(1 - lambda);
            for (size_t i = 0; i < 7 * 9 * 3; i++) {
                float x = (float)p[side].image[i] * mine, y = (float)p[side ^ 1].image[i] * other;
                CHECK_EQ_U64(nearest(x + y), q[side].image[i]);
            }
            for (size_t i = 0; i < 10; i++) {
                float x = p[side].label[i] * mine, y = p[side ^ 1].label[i] * other;
                CHECK_EQ_F64(x + y, q[side].label[i]);
            }
        }
    }
    machine_end(&plain);
    machine_end(&mixed);
    images_end(&all);
}

static void label_mixup_makes_triples(void) {
    struct images all;
    struct machine m;
    static struct pair_output q[2];
    REQUIRE(images_begin(&all, 3, true));
    REQUIRE(machine_begin(&m, &all, "image: resize([4, 4])\nimage, label: label_mixup(0.4)", false));
    for (uint64_t even = 0; even < IMAGES; even += 2) {
        run_both(&m, &all, even, false, &q[0], &q[1]);
        for (uint64_t side = 0; side < 2; side++) {
            CHECK_EQ_F64((double)all.labels[even + side], q[side].label[0]);
            CHECK_EQ_F64((double)all.labels[even + (side ^ 1)], q[side].label[1]);
            CHECK_EQ_F64((float)lambda_of("image,label/label_mixup/0/0", even + side, 0.4), q[side].label[2]);
        }
    }
    machine_end(&m);
    images_end(&all);
}

static void cutmix_gives_a_label_what_the_box_leaves(void) {
    struct images all;
    struct machine plain, cut;
    static struct pair_output p[2], q[2];
    unsigned boxes = 0;
    REQUIRE(images_begin(&all, 3, false));
    REQUIRE(machine_begin(&plain, &all, "image: resize([16, 16])\nlabel: one_hot(10)", false));
    REQUIRE(machine_begin(&cut, &all, "image: resize([16, 16])\nlabel: one_hot(10)\nimage, label: cutmix(1)", false));
    for (uint64_t even = 0; even < IMAGES; even += 2) {
        run_plain(&plain, &all, even, &p[0]);
        run_plain(&plain, &all, even + 1, &p[1]);
        run_both(&cut, &all, even, false, &q[0], &q[1]);
        for (int side = 0; side < 2; side++) {
            unsigned foreign = 0, same = 0;
            for (size_t i = 0; i < 256; i++) {
                bool mine = memcmp(&p[side].image[3 * i], &q[side].image[3 * i], 3) == 0;
                bool other = memcmp(&p[side ^ 1].image[3 * i], &q[side].image[3 * i], 3) == 0;
                CHECK(mine || other);
                foreign += !mine;
                same += mine && other;
            }
            size_t own = (size_t)all.labels[even + (uint64_t)side];
            double lambda = q[side].label[own];
            CHECK((1 - lambda) * 256 + 0.01 >= foreign);
            CHECK((1 - lambda) * 256 - 0.01 <= foreign + same);
            CHECK_EQ_F64(1, q[side].label[own] + q[side].label[(size_t)all.labels[even + (uint64_t)(side ^ 1)]]);
            boxes += foreign > 0;
        }
    }
    CHECK(boxes > IMAGES / 2);
    machine_end(&plain);
    machine_end(&cut);
    images_end(&all);
}

static void the_last_sample_of_an_odd_epoch_stays_itself(void) {
    static const char *const steps[] = {"mixup(0.4)", "cutmix(1)"};
    struct images all;
    static struct pair_output p, q;
    REQUIRE(images_begin(&all, 3, true));
    for (int k = 0; k < 2; k++) {
        struct machine plain, pair;
        char text[128];
        snprintf(text, sizeof text, "image: resize([7, 9])\nlabel: one_hot(10)\nimage, label: %s", steps[k]);
        REQUIRE(machine_begin(&plain, &all, "image: resize([7, 9])\nlabel: one_hot(10)", false));
        REQUIRE(machine_begin(&pair, &all, text, false));
        run_plain(&plain, &all, 6, &p);
        run_both(&pair, &all, 6, true, &q, NULL);
        CHECK_MEM_EQ(p.image, q.image, 7 * 9 * 3);
        for (int i = 0; i < 10; i++) /* lambda and 1 - lambda, each rounded */
            CHECK(q.label[i] - p.label[i] < 1e-6f && p.label[i] - q.label[i] < 1e-6f);
        machine_end(&plain);
        machine_end(&pair);
    }
    images_end(&all);
}

static void whole_numbers_are_not_mixed(void) {
    struct images all;
    struct plan_options options = {.seed = SEED};
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    mldf_error err = {0};
    static const char text[] = "image: resize([4, 4])\nimage, label: mixup(0.4)";
    REQUIRE(images_begin(&all, 3, true));
    REQUIRE_OK(mldf_pipeline_parse(NULL, text, sizeof text - 1, &pipeline, &err), &err);
    CHECK_STATUS(MLDF_E_TYPE, mldfi_plan_new(pipeline, all.schema, all.bounds, &options, &plan, &err), &err);
    CHECK_CONTAINS("one_hot", TEXT(err));
    CHECK_CONTAINS("label_mixup", TEXT(err));
    mldf_pipeline_free(pipeline);
    images_end(&all);
}

/* The fused plan, and the one that takes each step by itself. */
static void colours_are_the_same_fused_or_not(void) {
    static const char *const steps[] = {
        "brightness(1.3) | invert | normalize(imagenet) | chw",
        "solarize | posterize(3) | random_invert | chw(f16)",
        "color_jitter(0.4, 0.4, 0.4, 0.1) | normalize(imagenet) | chw(bf16)",
        "grayscale | to_float",
        "grayscale(3) | brightness(0.5) | chw",
        "random_grayscale(p=0.5) | scale(0.5, 1) | chw",
        "randaugment | normalize(imagenet) | chw",
        "trivialaugment(interpolation=bilinear) | cast(f32)",
        "equalize | autocontrast | sharpness(2) | cast(i16)",
        "chw | solarize(p=1) | brightness(2) | hwc | normalize(half)",
        "solarize(10) | solarize(200) | cast(f16) | chw",
        "cast(u16) | brightness(1.5) | cast(u8) | invert | chw(f32)",
        "flatten | cast(f32)",
        "chw | reshape([-1, 9]) | gather([0, 3])",
    };
    struct images all;
    static struct pair_output fused, plain;
    REQUIRE(images_begin(&all, 3, false));
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        struct machine m[2];
        char text[256];
        snprintf(text, sizeof text, "image: decode(exact=true) | resize([8, 9]) | %s\nlabel: drop", steps[k]);
        bool good = machine_begin(&m[0], &all, text, false);
        good = machine_begin(&m[1], &all, text, true) && good;
        for (uint64_t p = 0; good && p < 2 * IMAGES; p++) {
            memset(&fused, 1, sizeof fused);
            memset(&plain, 1, sizeof plain);
            run_plain(&m[0], &all, p, &fused);
            run_plain(&m[1], &all, p, &plain);
            if (memcmp(fused.image, plain.image, ROOM) != 0)
                check_fail(__FILE__, __LINE__, "%s: sample %u differs", steps[k], (unsigned)p);
        }
        machine_end(&m[0]);
        machine_end(&m[1]);
    }
    images_end(&all);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(mixup_mixes_image_and_label_by_one_number);
    RUN(label_mixup_makes_triples);
    RUN(cutmix_gives_a_label_what_the_box_leaves);
    RUN(the_last_sample_of_an_odd_epoch_stays_itself);
    RUN(whole_numbers_are_not_mixed);
    RUN(colours_are_the_same_fused_or_not);
    return check_end();
}
