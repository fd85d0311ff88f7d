/* fill: nulls become constants, the steps behind it work on them, and every plan gives the same bits. */
#include <math.h>

#include "check.h"
#include "field/image_type.h"
#include "mldf/loader.h"
#include "pipeline/plan.h"
#include "util/bytes.h"

enum { IMAGE, MASK, LABEL, FEAT, TOKENS, TEXT, FIELDS };
enum { SAMPLES = 4, WIDTH = 12, HEIGHT = 10, OUTPUTS = 8, ROOM = 4096 };

static struct {
    mldf_schema *schema;
    struct value_bounds bounds[FIELDS];
    uint8_t records[2][IMAGE_RECORD];
    uint8_t pixels[2][WIDTH * HEIGHT * 3];
    float feat[3];
    uint16_t tokens[SAMPLES];
    bool null[FIELDS]; /* of the samples 1 and 3 */
} all;

static void begin(void) {
    static const char text[] =
        "{\"fields\":[{\"name\":\"image\",\"type\":\"image_raw\",\"nullable\":true},"
        "{\"name\":\"mask\",\"type\":\"image_raw\",\"nullable\":true},{\"name\":\"label\",\"type\":\"int\",\"nullable\":true},"
        "{\"name\":\"feat\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[3],\"nullable\":true},"
        "{\"name\":\"tokens\",\"type\":\"ndarray\",\"dtype\":\"<u2\",\"shape\":[null],\"nullable\":true},"
        "{\"name\":\"text\",\"type\":\"text\",\"nullable\":true}]}";
    mldf_error err;
    REQUIRE_OK(mldf_schema_parse(NULL, text, sizeof text - 1, &all.schema, &err), &err);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t channels = k ? 1 : 3;
        uint8_t *r = all.records[k];
        for (size_t i = 0; i < sizeof all.pixels[k]; i++)
            all.pixels[k][i] = (uint8_t)(i * 7 + k);
        mldfi_store_u32(r + IMAGE_SIZE, WIDTH * HEIGHT * channels);
        mldfi_store_u16(r + IMAGE_HEIGHT, HEIGHT);
        mldfi_store_u16(r + IMAGE_WIDTH, WIDTH);
        r[IMAGE_CHANNELS] = (uint8_t)channels;
        r[IMAGE_MODE] = MLDF_IMAGE_MODE_RAW;
        r[IMAGE_BITS] = 8;
        all.bounds[k] = (struct value_bounds){.known = true,
                                              .ndim = 3,
                                              .least = {HEIGHT, WIDTH, channels},
                                              .most = {HEIGHT, WIDTH + 1, channels},
                                              .image = {8, true, false}};
    }
    for (int i = 0; i < 3; i++)
        all.feat[i] = (float)i + 0.5f;
    for (int i = 0; i < SAMPLES; i++)
        all.tokens[i] = (uint16_t)(i + 7);
}

static mldf_status get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err) {
    (void)user, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    if (position % 2 == 1 && all.null[field]) {
        out->kind = MLDF_KIND_NULL;
    } else if (field <= MASK) {
        *out = (mldf_value){.kind = MLDF_KIND_BYTES,
                            .data = all.pixels[field],
                            .bytes = WIDTH * HEIGHT * (field ? 1 : 3),
                            .record = all.records[field],
                            .record_bytes = IMAGE_RECORD};
    } else if (field == LABEL) {
        *out = (mldf_value){.kind = MLDF_KIND_INT, .dtype = MLDF_I64, .as.i = (int64_t)position};
    } else if (field == FEAT) {
        *out = (mldf_value){
            .kind = MLDF_KIND_ARRAY, .dtype = MLDF_F32, .ndim = 1, .dims = {3}, .data = all.feat, .bytes = 12};
    } else if (field == TOKENS) {
        *out = (mldf_value){.kind = MLDF_KIND_ARRAY,
                            .dtype = MLDF_U16,
                            .ndim = 1,
                            .dims = {position},
                            .data = all.tokens,
                            .bytes = 2 * position};
    } else {
        *out = (mldf_value){.kind = MLDF_KIND_TEXT, .data = "abcd", .bytes = position};
    }
    return MLDF_OK;
}

/* What came out of all samples. */
struct result {
    uint8_t bytes[SAMPLES][OUTPUTS][ROOM];
    struct plan_length lengths[SAMPLES][OUTPUTS];
    bool filled[SAMPLES][OUTPUTS];
    size_t outputs;
};

static mldf_status make(const char *text, const struct plan_options *options, struct plan **plan, mldf_error *err) {
    mldf_pipeline *pipeline;
    *plan = NULL;
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, err);
    if (status < 0)
        return status;
    status = mldfi_plan_new(pipeline, all.schema, all.bounds, options, plan, err);
    mldf_pipeline_free(pipeline);
    return status;
}

static mldf_status run(const char *text, const struct plan_options *options, struct result *out, mldf_error *err) {
    static _Alignas(64) uint8_t room[2][OUTPUTS][ROOM];
    struct plan_feed feed = {.get = get};
    struct plan *plan;
    struct plan_worker *worker = NULL;
    memset(out, 0, sizeof *out);
    mldf_status status = make(text, options, &plan, err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(plan, &worker, err);
    out->outputs = status == MLDF_OK ? mldfi_plan_output_count(plan) : 0;
    for (uint64_t p = 0; p < SAMPLES && status == MLDF_OK; p++) {
        struct plan_target targets[2][OUTPUTS];
        bool pairs = mldfi_plan_pairs(plan);
        unsigned side = pairs ? p % 2 : 0;
        memset(room, 0xA5, sizeof room);
        status = mldfi_plan_prepare(plan, worker, &feed, 1, p, out->lengths[p], NULL, err);
        for (size_t o = 0; o < out->outputs; o++)
            for (int k = 0; k < 2; k++)
                targets[k][o] = (struct plan_target){room[k][o], {{8}}};
        if (status == MLDF_OK)
            status = pairs ? mldfi_plan_run_pair(plan, worker, &feed, 1, p & ~1ULL, false, targets[0], targets[1], err)
                           : mldfi_plan_run(plan, worker, &feed, 1, p, targets[0], err);
        for (size_t o = 0; o < out->outputs && status == MLDF_OK; o++) {
            memcpy(out->bytes[p][o], room[side][o], ROOM);
            out->filled[p][o] = mldfi_worker_filled(worker, side, o);
        }
    }
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    return status;
}

static struct result want, got;

/* The plan with all passes, with the reference in `want`; the number of samples whose first output was null. */
static int run_both(const char *text, const mldf_context *context) {
    struct plan_options fused = {.context = context,
                                 .seed = 5,
                                 .codegen = context ? MLDF_CODEGEN_WAIT : MLDF_CODEGEN_OFF},
                        reference = {.reference = true, .seed = 5, .codegen = MLDF_CODEGEN_OFF};
    mldf_error err;
    int filled = 0;
    CHECK_OK(run(text, &reference, &want, &err), &err);
    CHECK_OK(run(text, &fused, &got, &err), &err);
    CHECK(want.outputs > 0);
    if (memcmp(&want, &got, sizeof want) != 0)
        check_fail(__FILE__, __LINE__, "%s: the plans differ", text);
    for (int p = 0; p < SAMPLES; p++)
        filled += want.filled[p][0];
    return filled;
}

static void numbers_become_the_constant(void) {
    all.null[LABEL] = all.null[FEAT] = true;
    CHECK_EQ_INT(2, run_both("label: fill(-3)\nfeat: fill(nan) | cast(f64)\nimage: drop\nmask: drop", NULL));
    for (int64_t p = 0; p < SAMPLES; p++) {
        int64_t label;
        double feat[3];
        memcpy(&label, want.bytes[p][0], 8);
        memcpy(feat, want.bytes[p][1], 24);
        CHECK_EQ_INT(p % 2 ? -3 : p, label);
        CHECK_EQ_INT(p % 2, want.filled[p][0]);
        for (int i = 0; i < 3; i++)
            CHECK(p % 2 ? isnan(feat[i]) : feat[i] == (double)i + 0.5);
    }
}

static void steps_in_front_are_left_out(void) {
    float vector[4];
    all.null[LABEL] = true;
    /* one_hot would refuse -1 */
    CHECK_EQ_INT(2, run_both("label: one_hot(4) | fill(0.25) | cast(f32)\nfeat: drop", NULL));
    for (int p = 0; p < SAMPLES; p++) {
        memcpy(vector, want.bytes[p][0], sizeof vector);
        for (int i = 0; i < 4; i++)
            CHECK(vector[i] == (p % 2 ? 0.25f : i == p ? 1.0f : 0.0f));
    }
    CHECK_EQ_INT(2, run_both("label: fill(1) | one_hot(4)\nfeat: drop", NULL));
    memcpy(vector, want.bytes[3][0], sizeof vector);
    CHECK(vector[0] == 0 && vector[1] == 1 && vector[2] == 0);
}

static void images_become_one_colour(void) {
    all.null[IMAGE] = true;
    CHECK_EQ_INT(2, run_both("image: resize([4, 5]) | fill([10, 20, 30])\nlabel: drop\nfeat: drop", NULL));
    for (size_t i = 0; i < 4 * 5 * 3; i++)
        CHECK_EQ_INT((int)(i % 3 + 1) * 10, want.bytes[1][0][i]);
    CHECK_EQ_INT(0, memcmp(want.bytes[1][0], want.bytes[3][0], ROOM));
    /* the steps behind it see the constant, in the fused pass of others too */
    CHECK_EQ_INT(2, run_both("image: resize([4, 5]) | fill(255) | normalize(mean=[0.5, 0.25, 0], std=1) | chw(f32)\n"
                             "label: drop\nfeat: drop",
                             NULL));
    for (int c = 0; c < 3; c++) {
        static const float means[] = {0.5f, 0.25f, 0.0f};
        float v;
        memcpy(&v, want.bytes[3][0] + c * 20 * 4, 4);
        CHECK(fabsf(v - (1.0f - means[c])) < 1e-6f);
    }
}

static void lists_become_empty(void) {
    all.null[TOKENS] = all.null[TEXT] = true;
    CHECK_EQ_INT(2, run_both("tokens: fill | pad(8, value=9)\ntext: truncate(2) | fill(valid=true) | ragged\n"
                             "label: drop\nfeat: drop",
                             NULL));
    static const uint64_t lengths[SAMPLES] = {0, 0, 2, 0};
    for (int p = 0; p < SAMPLES; p++) {
        CHECK_EQ_U64(lengths[p], want.lengths[p][0].n[0]);
        CHECK_EQ_U64(lengths[p], want.lengths[p][1].n[0]);
        for (size_t i = 0; i < 8; i++)
            CHECK_EQ_INT(i < lengths[p] ? (int)i + 7 : 9, want.bytes[p][0][2 * i] | want.bytes[p][0][2 * i + 1] << 8);
    }
}

/* Draws, groups, pairs, chains of chains, generated C: all plans agree, and say the same of nulls. */
static void every_plan_gives_the_same_bits(void) {
    static const struct {
        const char *text;
        int filled;
    } cases[] = {
        {"image: random_resized_crop(8) | hflip | fill(3) | color_jitter(0.4, 0.4, 0.4) | normalize(imagenet) | "
         "chw(f16)",
         2},
        {"image: random_resized_crop(8) | fill([1, 2, 3]) | vflip(0.5) | random_crop(5) | to_float | chw", 2},
        {"image: center_crop(6) | chw | fill(200, valid=true) | expr(\"x * 2 + c\") | cast(f16) | cast(f32)", 2},
        {"image: fill(9) | cast(f32)", -1},
        {"feat: expr(\"x * 3\") | fill(0.5) | expr(\"x + 1\") | cast(f16) | expr(\"x * x\") | cast(f32)", 2},
        {"k = mask as mask: resize([8, 8]) | fill(255)\nm = k: hflip(0.5)", 2},
        {"image, mask as mask: random_resized_crop(8) | hflip\nmask: fill(255)\nimage: drop", 2},
        {"image: resize([8, 8]) | fill(7) | mixup(0.3)\nlabel: fill(2) | one_hot(4)", 2},
        {"l = label: fill(2, valid=true) | one_hot(4)\ntwo = l: cast(f64)\nl: cast(f16)", 2},
        {"both = [feat, feat]: stack\nfeat: drop", 0},
    };
    mldf_context *context;
    mldf_error err;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    CHECK_OK(mldf_context_set_compiler(context, check_tmp("cache"), "cc", &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        memset(all.null, cases[i].filled != 0, sizeof all.null);
        if (strstr(cases[i].text, "image, mask")) /* the leader of a group is there */
            all.null[IMAGE] = false;
        bool feat = strstr(cases[i].text, "feat"), label = strstr(cases[i].text, "label");
        snprintf(text, sizeof text, "%s%s%s", cases[i].text, feat ? "" : "\nfeat: drop", label ? "" : "\nlabel: drop");
        if (cases[i].filled < 0) {
            struct plan_options plain = {.seed = 5};
            CHECK_STATUS(MLDF_E_TYPE, run(text, &plain, &got, &err), &err);
            CHECK(strstr(TEXT(err), "its size differs") || strstr(TEXT(err), "resize([h, w])"));
            continue;
        }
        CHECK_EQ_INT(cases[i].filled, run_both(text, context));
    }
    mldf_context_free(context);
}

static void mistakes_are_told_when_types_are_known(void) {
    static const struct {
        const char *text, *says;
        mldf_status status;
    } cases[] = {
        {"label: fill(0.5)", "value 0.5 does not fit the element type i64", MLDF_E_ARGUMENT},
        {"label: fill(nan)", "does not fit the element type i64", MLDF_E_ARGUMENT},
        {"label: fill([1, 2])", "value has 2 numbers; one is enough", MLDF_E_ARGUMENT},
        {"image: resize([4, 4]) | fill(256)", "value 256 does not fit the element type u8", MLDF_E_ARGUMENT},
        {"image: resize([4, 4]) | fill([1, 2])", "or one for each channel", MLDF_E_ARGUMENT},
        {"image: fill(0) | resize([4, 4])", "a null has none", MLDF_E_TYPE},
        {"text: fill(3) | pad", "leave the number out", MLDF_E_ARGUMENT},
        {"label: fill(3) | fill(4)", "filled already", MLDF_E_ARGUMENT},
        {"x = [label, label]: stack | fill(3)", "nulls come from fields", MLDF_E_ARGUMENT},
        {"y = label: cast(f32)\nz = y: fill(3)", "nulls come from fields", MLDF_E_ARGUMENT},
        {"label: one_hot(4) | mixup(0.3) | fill(3)", "mixed already", MLDF_E_ARGUMENT},
        {"image, mask as mask: random_resized_crop(8) | fill(0)", "share the draws", MLDF_E_ARGUMENT},
        {"label: fill(3, valid=true)\nlabel_valid = feat: cast(f64)", "makes an output of this name", MLDF_E_ARGUMENT},
    };
    struct plan_options options = {.seed = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan;
        mldf_error err;
        CHECK_STATUS(cases[i].status, make(cases[i].text, &options, &plan, &err), &err);
        if (!strstr(TEXT(err), cases[i].says))
            check_fail(__FILE__, __LINE__, "%s: \"%s\" does not say \"%s\"", cases[i].text, err.message, cases[i].says);
        mldfi_plan_free(plan);
    }
}

static void nulls_without_it_are_errors_as_before(void) {
    struct plan_options options = {.seed = 1};
    mldf_error err;
    memset(all.null, 1, sizeof all.null);
    CHECK_STATUS(MLDF_E_NULL, run("feat: drop", &options, &got, &err), &err);
    CHECK(strstr(TEXT(err), "the value is null; the step fill makes a constant of it"));
    CHECK_EQ_STR("label", err.field);
    CHECK_STATUS(MLDF_E_NULL, run("image: resize([2, 2])\nlabel: drop\nfeat: drop", &options, &got, &err), &err);
    CHECK_EQ_STR("image", err.field);
}

static void explain_shows_where_it_stands(void) {
    struct plan_options options = {.seed = 1};
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct plan *plan;
    mldf_error err;
    REQUIRE_OK(
        make("image: resize([4, 4]) | fill(1) | to_float | chw\nlabel: fill(2)\nfeat: drop", &options, &plan, &err),
        &err);
    CHECK_OK(mldfi_plan_explain(plan, &text, &err), &err);
    CHECK_OK(mldf_buffer_append(&text, "", 1, &err), &err);
    CHECK(strstr((char *)text.data, "image: decode | resize | fill | to_float | chw\n"));
    CHECK(strstr((char *)text.data, "image: [decode + resize + fill + to_float + chw] -> the batch"));
    CHECK(strstr((char *)text.data, "label: fill -> the batch"));
    CHECK(strstr((char *)text.data, "| fill                   u8 4x4x3 image"));
    mldf_buffer_free(&text);
    mldfi_plan_free(plan);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    begin();
    RUN(numbers_become_the_constant);
    RUN(steps_in_front_are_left_out);
    RUN(images_become_one_colour);
    RUN(lists_become_empty);
    RUN(every_plan_gives_the_same_bits);
    RUN(mistakes_are_told_when_types_are_known);
    RUN(nulls_without_it_are_errors_as_before);
    RUN(explain_shows_where_it_stands);
    mldf_schema_free(all.schema);
    return check_end();
}
