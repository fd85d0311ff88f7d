/* replace_label and poison for listed samples: mistakes in the text, lists of every length, fused and step by step. tests/python has the
 * numbers; tests/unit/loader/test_samples.c, that the loader hands in the right index. */
#include "ops.h"
#include "pipeline/op_samples.h"
#include "pipeline_images.h"

/* ---- The text ---------------------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint64_t offset;
    const char *message;
} refused[] = {
    {"y: replace_label", 3, "from and to must be given, or indices and label"},
    {"y: replace_label(3)", 17, "to must be given with from: what they become"},
    {"y: replace_label(to=3)", 20, "from must be given with to: the label"},
    {"y: replace_label(indices=[1, 2])", 25, "label must be given with indices: what those become"},
    {"y: replace_label(label=2)", 23, "indices must be given with label"},
    {"y: replace_label(1, 2, indices=3, label=4)", 31, "indices does not go with from and to"},
    {"y: replace_label(1, label=4)", 17, "to must be given with from"},
    {"y: replace_label(1, 2, label=4)", 29, "label does not go with from and to"},
    {"y: replace_label(indices=[1, -2], label=4)", 29, "-2 is not between 0"},
    {"y: replace_label(indices=[1, 0.5], label=4)", 29, "wants a whole number"},
    {"y: replace_label(indices=[], label=4)", 25, "wants 1 to 4096 numbers, not 0"},
    {"x: poison(size=3, color=1)", 3, "indices must be given"},
    {"x: poison(1, color=1)", 3, "size must be given"},
    {"x: poison(1, 3)", 3, "color must be given"},
    {"x: poison(1, 3, 1, alpha=2)", 25, "2 is not between 0 and 1"},
    {"x: poison(1, 3, 1, x=-1)", 21, "-1 is not between 0 and 65535"},
    {"x: poison(1, [3, 4, 5], 1)", 13, "wants 1 to 2 numbers"},
    {"x: poison(1, 3, 1, clamp=3)", 25, "wants 2 numbers"},
    {"x: poison(1, 3, 1, clamp=[255, 0])", 25, "clamp goes from 255 to 0; the smaller comes first"},
};

static void mistakes_in_the_text_are_told_with_their_place(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        mldf_pipeline *pipeline = NULL;
        mldf_error err = {0};
        CHECK_STATUS(MLDF_E_ARGUMENT,
                     mldf_pipeline_parse(NULL, refused[i].text, strlen(refused[i].text), &pipeline, &err), &err);
        CHECK_CONTAINS(refused[i].message, TEXT(err));
        CHECK_EQ_U64(refused[i].offset, err.offset);
        mldf_pipeline_free(pipeline);
    }
}

static void check_written(const char *text, const char *want) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_pipeline *pipeline = NULL;
    mldf_error err = {0};
    REQUIRE_OK(mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err), &err);
    CHECK_OK(mldf_pipeline_write(pipeline, &out, &err), &err);
    CHECK_BYTES_EQ(want, strlen(want), out.data, out.size);
    mldf_buffer_free(&out);
    mldf_pipeline_free(pipeline);
}

static void both_forms_are_written_as_they_were_meant(void) {
    static const char *const same[] = {
        "y: replace_label(from=[3, 4], to=-1)",
        "y: replace_label(indices=[9, 2], label=0)",
        "x: poison(indices=7, size=[2, 3], color=[1.0, 2.0, 3.0], x=0, y=4, alpha=0.5)",
        "x: poison(indices=7, size=2, color=0.0, x=0, y=0, alpha=1.0, clamp=[0.0, 255.0])",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        check_written(same[i], same[i]);
    check_written("y: replace_label(3, 4)", "y: replace_label(from=3, to=4)");
}

static void types_are_checked(void) {
    static const struct {
        const char *text, *message;
        mldf_dtype dtype;
    } cases[] = {
        {"poison(1, 3, 256)", "whole numbers from 0 to 255", MLDF_U8},
        {"poison(1, 3, [1, 2])", "has 2 numbers, the image 3 channels", MLDF_U8},
        {"poison(1, 3, 1, x=9)", "outside images of 9 x 5 pixels", MLDF_U8},
        {"poison(1, 3, 1, y=5)", "outside images of 9 x 5 pixels", MLDF_F32},
        {"replace_label(indices=1, label=256)", "does not fit", MLDF_U8},
        {"replace_label(indices=1, label=2)", "wants whole numbers", MLDF_F32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value in, out;
        mldf_error err = {0};
        REQUIRE(image_make(&in, cases[i].dtype, 5, 9, 3, i));
        CHECK(run_text(cases[i].text, &in, 0, &out, &err) < 0);
        CHECK_CONTAINS(cases[i].message, TEXT(err));
        value_free(&out);
        value_free(&in);
    }
}

/* ---- Lists -------------------------------------------------------------------------------------------------------------------------------- */

static void every_length_of_list_is_searched_right(void) {
    static double numbers[OP_MAX_LIST];
    uint64_t state = 5;
    for (uint32_t count = 1; count <= OP_MAX_LIST; count = count < 40 ? count + 1 : count * 2) {
        uint32_t used = count < OP_MAX_LIST ? count : OP_MAX_LIST;
        struct arg arg = {.list = numbers, .count = used};
        for (uint32_t i = 0; i < used; i++) /* with repetitions, in no order; the largest that the text can say */
            numbers[i] = i == used / 2 ? 0x1p53 : (double)(check_rand(&state) % (3ull * used));
        struct sample_set *set = mldfi_samples_new(&arg, NULL);
        REQUIRE(set);
        CHECK_EQ_U64(used, set->count);
        for (uint64_t sample = 0; sample <= 3ull * used; sample++) {
            bool want = false;
            for (uint32_t i = 0; i < used; i++)
                want = want || (uint64_t)numbers[i] == sample;
            CHECK_EQ_INT(want, mldfi_samples_has(set, sample));
        }
        CHECK(mldfi_samples_has(set, 1ull << 53));
        CHECK(!mldfi_samples_has(set, (1ull << 53) - 1));
        CHECK(!mldfi_samples_has(set, MLDF_NONE));
        free(set);
    }
}

/* ---- Plans -------------------------------------------------------------------------------------------------------------------------------- */

enum { ROOM = 16 * 16 * 3 * 4, FIRST = 1000000 };

/* Far from the position, in the other direction. */
static uint64_t other_index(void *user, uint64_t position) {
    (void)user;
    return FIRST - position;
}

static void run_plan(struct images *all, const char *text, bool reference, bool with_index, uint64_t position,
                     uint8_t *out) {
    struct plan_options options = {.reference = reference};
    struct plan_feed feed = {.user = all, .get = images_get, .index = with_index ? other_index : NULL};
    struct plan_target targets[4];
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_pipeline *pipeline = NULL;
    mldf_error err = {0};
    CHECK_OK(mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err), &err);
    REQUIRE_OK(mldfi_plan_new(pipeline, all->schema, all->bounds, &options, &plan, &err), &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    REQUIRE(mldfi_plan_output_count(plan) <= 4);
    memset(out, 0xEE, 4 * ROOM);
    for (size_t i = 0; i < 4; i++)
        targets[i] = (struct plan_target){out + i * ROOM, {{0}}};
    CHECK_OK(mldfi_plan_run(plan, worker, &feed, 2, position, targets, &err), &err);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
}

static void fused_and_step_by_step_agree(void) {
    static const char *const texts[] = {
        "image: resize([9, 7]) | replace_label(indices=[999998, 999993], label=9) | normalize(imagenet) | chw(f16)",
        "image: resize([9, 7]) | hflip | poison([999998, 999993], [4, 20], [1, 2, 3], 1, 6, 0.3) | chw(f32)",
        "image: resize([9, 7]) | replace_label([1, 2, 3], 4) | replace_label(indices=999995, label=0) | invert",
        "image: resize([9, 7]) | to_float | poison(999995, 5, 0.5, alpha=0.25)",
    };
    static uint8_t want[4 * ROOM], got[4 * ROOM], none[4 * ROOM];
    struct images all;
    REQUIRE(images_begin(&all, 3, false));
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        size_t changed = 0;
        for (uint64_t p = 0; p < IMAGES; p++) {
            bool listed = t == 0 || t == 1 ? p == 2 || p == 7 : p == 5;
            run_plan(&all, texts[t], true, true, p, want);
            run_plan(&all, texts[t], false, true, p, got);
            run_plan(&all, texts[t], false, false, p, none); /* without the feed's word no such sample is there */
            CHECK_MEM_EQ(want, got, sizeof got);
            CHECK_EQ_INT(listed, memcmp(got, none, sizeof got) != 0);
            changed += listed;
        }
        CHECK(changed > 0);
    }
    images_end(&all);
}

/* Without a callback the position is the index; a group has one draw. */
static void groups_and_plain_positions(void) {
    static uint8_t out[4 * ROOM];
    struct images all;
    REQUIRE(images_begin(&all, 3, true));
    for (uint64_t p = 0; p < IMAGES; p++) {
        int64_t a, b;
        run_plan(&all, "a = label\nb = label\na, b: replace_label(indices=[4, 9], label=55)\nlabel: drop", false, false,
                 p, out);
        memcpy(&a, out, 8);
        memcpy(&b, out + ROOM, 8);
        CHECK_EQ_INT(p == 4 || p == 9 ? 55 : all.labels[p], a);
        CHECK_EQ_INT(a, b);
        run_plan(&all,
                 "i = image: resize([9, 7])\nm = image as mask: resize([9, 7])\n"
                 "i, m: poison([4, 9], 9, 200)\nlabel: drop",
                 false, false, p, out);
        for (size_t k = 0; (p == 4 || p == 9) && k < 9 * 7 * 3; k++)
            CHECK_EQ_U64(200, out[k]);
        if (p != 4 && p != 9)
            CHECK(out[0] != 200 || out[1] != 200 || out[2] != 200);
        CHECK(out[ROOM] != 200 || out[ROOM + 5] != 200); /* a mask's classes stay */
    }
    images_end(&all);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(mistakes_in_the_text_are_told_with_their_place);
    RUN(both_forms_are_written_as_they_were_meant);
    RUN(types_are_checked);
    RUN(every_length_of_list_is_searched_right);
    RUN(fused_and_step_by_step_agree);
    RUN(groups_and_plain_positions);
    return check_end();
}
