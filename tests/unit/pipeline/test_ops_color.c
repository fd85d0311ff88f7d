/* Properties of every operation on colours, over types, layouts and sizes: in place is as elsewhere, planar is as interleaved, alpha stays, and
 * what says that it works value by value does. tests/python/test_ops_reference.py has the definitions. */
#include "ops.h"
#include "pipeline/op_affine.h"

static const char *const texts[] = {
    "brightness(1.4)",
    "gamma(0.7)",
    "contrast(0.6)",
    "saturation(1.8)",
    "hue(0.2)",
    "sharpness(2, p=1)",
    "autocontrast(p=1)",
    "equalize(p=1)",
    "invert",
    "random_invert(p=1)",
    "solarize(p=1)",
    "posterize(3, p=1)",
    "random_grayscale(p=1)",
    "color_jitter(0.5, 0.5, 0.5, 0.2)",
    "randaugment(3, 12)",
    "trivialaugment",
    "autoaugment",
    "autoaugment(svhn, interpolation=bilinear)",
    "randaugment(2, 20, interpolation=bilinear)",
};
enum { TEXTS = sizeof texts / sizeof texts[0] };
static const int64_t sizes[][2] = {{1, 1}, {1, 9}, {2, 3}, {8, 8}, {17, 23}, {30, 12}, {3, 200}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static const mldf_dtype dtypes[] = {MLDF_U8, MLDF_U16, MLDF_F32};

static void each_case(void (*check)(const char *text, const struct value *in, uint64_t seed)) {
    for (size_t t = 0; t < TEXTS; t++)
        for (size_t d = 0; d < 3; d++)
            for (size_t s = 0; s < SIZES; s++)
                for (int64_t channels = 1; channels <= 4; channels++) {
                    struct value in;
                    REQUIRE(image_make(&in, dtypes[d], sizes[s][0], sizes[s][1], channels, t * 100 + s));
                    check(texts[t], &in, t * 31 + s);
                    value_free(&in);
                }
}

static void check_in_place(const char *text, const struct value *in, uint64_t seed) {
    struct step_run s;
    struct value out, copy = *in;
    mldf_error err;
    REQUIRE_OK(step_begin(&s, text, in, seed, &err), &err);
    CHECK_OK(step_run(&s, in, &out, &err), &err);
    CHECK(s.op.type->flags & OP_IN_PLACE);
    copy.data = (mldf_buffer)MLDF_BUFFER_INIT;
    REQUIRE(value_room(&copy));
    memcpy(copy.tensor.data, in->tensor.data, mldfi_tensor_bytes(&in->tensor));
    CHECK_OK(s.op.type->run(&s.op, s.draw, &copy.tensor, &copy.tensor, &s.work, &err), &err);
    check_same(&out, &copy, text);
    value_free(&out);
    value_free(&copy);
    step_end(&s);
}

static void in_place_is_as_elsewhere(void) {
    each_case(check_in_place);
}

static void check_planar(const char *text, const struct value *in, uint64_t seed) {
    struct value turned, planar_out, out, back;
    mldf_error err;
    REQUIRE_OK(run_text("chw", in, 0, &turned, &err), &err);
    CHECK(mldfi_planar(turned.tensor.axes) && mldfi_planar(turned.edge.axes));
    CHECK_OK(run_text(text, &turned, seed, &planar_out, &err), &err);
    CHECK_OK(run_text(text, in, seed, &out, &err), &err);
    CHECK_OK(run_text("hwc", &planar_out, 0, &back, &err), &err);
    check_same(&out, &back, text);
    value_free(&turned);
    value_free(&planar_out);
    value_free(&out);
    value_free(&back);
}

static void planar_is_as_interleaved(void) {
    each_case(check_planar);
}

/* Moves carry alpha with the pixel; everything else must leave it. */
static void check_alpha(const char *text, const struct value *in, uint64_t seed) {
    size_t channels = (size_t)mldfi_tensor_channels(&in->tensor), element = mldf_dtype_bytes(in->tensor.dtype);
    struct value out;
    mldf_error err;
    if (channels % 2 || strstr(text, "augment"))
        return;
    REQUIRE_OK(run_text(text, in, seed, &out, &err), &err);
    for (size_t i = channels - 1; i < mldfi_tensor_count(&in->tensor); i += channels)
        if (memcmp((uint8_t *)in->tensor.data + i * element, (uint8_t *)out.tensor.data + i * element, element) != 0) {
            check_fail(__FILE__, __LINE__, "%s, %zu channels: alpha of pixel %zu changed", text, channels,
                       i / channels);
            break;
        }
    value_free(&out);
}

static void alpha_stays(void) {
    each_case(check_alpha);
}

/* The planner makes a table of what comes out for 256 values: that must be what the operation does to an image. */
static void point_operations_are_tables(void) {
    static const char *const point[] = {"brightness(0.7)",     "gamma(2.2)",        "invert",
                                        "random_invert(p=1)",  "solarize(77, p=1)", "posterize(2, p=1)",
                                        "replace_label(7, 9)", "to_float",          "normalize(imagenet)",
                                        "scale(0.5, 3)",       "cast(f16)"};
    for (size_t t = 0; t < sizeof point / sizeof point[0]; t++) {
        struct value table, in, table_out, out;
        mldf_error err;
        REQUIRE(image_make(&table, MLDF_U8, 256, 1, 3, 1));
        for (int v = 0; v < 256; v++)
            memset((uint8_t *)table.tensor.data + 3 * v, v, 3);
        REQUIRE(image_make(&in, MLDF_U8, 19, 33, 3, 2));
        CHECK_OK(run_text(point[t], &table, 1, &table_out, &err), &err);
        CHECK_OK(run_text(point[t], &in, 1, &out, &err), &err);
        CHECK(mldfi_op_find(point[t], strcspn(point[t], "("))->flags & OP_POINT);
        size_t element = mldf_dtype_bytes(out.tensor.dtype);
        for (size_t i = 0; i < 19 * 33 * 3; i++) {
            size_t at = (size_t)((uint8_t *)in.tensor.data)[i] * 3 + i % 3;
            if (memcmp((uint8_t *)table_out.tensor.data + at * element, (uint8_t *)out.tensor.data + i * element,
                       element)) {
                check_fail(__FILE__, __LINE__, "%s: value %zu is not the table's", point[t], i);
                break;
            }
        }
        value_free(&table);
        value_free(&in);
        value_free(&table_out);
        value_free(&out);
    }
}

static void the_planner_sees_the_same_affine_map(void) {
    static const char *const affine[] = {"normalize(imagenet)", "normalize([1, 2, 3], [4, 5, 6], unit=255)", "to_float",
                                         "scale(0.1, 7)", "cast(f32)"};
    for (size_t t = 0; t < sizeof affine / sizeof affine[0]; t++)
        for (int wide = 0; wide < 2; wide++) {
            struct step_run s;
            struct value in, out;
            mldf_error err;
            float scale[4], shift[4];
            REQUIRE(image_make(&in, wide ? MLDF_U16 : MLDF_U8, 6, 7, 3, 3));
            REQUIRE_OK(step_begin(&s, affine[t], &in, 0, &err), &err);
            REQUIRE(mldfi_op_affine(&s.op, scale, shift));
            CHECK_OK(step_run(&s, &in, &out, &err), &err);
            for (size_t i = 0; i < 6 * 7 * 3; i++) {
                float v = wide ? (float)((uint16_t *)in.tensor.data)[i] : (float)((uint8_t *)in.tensor.data)[i];
                float scaled = v * scale[i % 3];
                CHECK_EQ_F64(scaled + shift[i % 3], ((float *)out.tensor.data)[i]);
            }
            step_end(&s);
            value_free(&in);
            value_free(&out);
        }
    struct value real;
    struct step_run s;
    mldf_error err;
    float four[4];
    REQUIRE(image_make(&real, MLDF_F32, 2, 2, 3, 0));
    REQUIRE_OK(step_begin(&s, "normalize(imagenet)", &real, 0, &err), &err);
    CHECK(!mldfi_op_affine(&s.op, four, four));
    step_end(&s);
    value_free(&real);
    REQUIRE(image_make(&real, MLDF_U8, 2, 2, 3, 0));
    REQUIRE_OK(step_begin(&s, "cast(f16)", &real, 0, &err), &err);
    CHECK(!mldfi_op_affine(&s.op, four, four));
    step_end(&s);
    value_free(&real);
}

/* Half of the draws of p = 0.5, and the same draw for the same seed. */
static void probabilities_are_kept(void) {
    struct value in, out, again;
    mldf_error err;
    unsigned changed = 0;
    REQUIRE(image_make(&in, MLDF_U8, 2, 2, 3, 5));
    for (uint64_t seed = 0; seed < 400; seed++) {
        CHECK_OK(run_text("random_invert", &in, seed, &out, &err), &err);
        CHECK_OK(run_text("random_invert", &in, seed, &again, &err), &err);
        check_same(&out, &again, "random_invert");
        changed += memcmp(in.tensor.data, out.tensor.data, 12) != 0;
        value_free(&out);
        value_free(&again);
    }
    CHECK(changed > 150 && changed < 250);
    value_free(&in);
}

/* Floats come from arrays too and may be anything: nothing may crash, and integers must come out of nothing. */
static void floats_may_be_anything(void) {
    static const float odd[] = {0, -1, 2, 1e30f, -1e30f, 1e-40f};
    for (size_t t = 0; t < TEXTS; t++) {
        struct value in, out;
        mldf_error err;
        REQUIRE(image_make(&in, MLDF_F32, 9, 8, 3, t));
        for (size_t i = 0; i < 9 * 8 * 3; i++) {
            float v = odd[i % 6];
            uint32_t special = i % 7 == 0 ? 0x7f800000 : 0x7fc00000; /* infinite, not a number */
            if (i % 5 == 0)
                memcpy(&v, &special, sizeof v);
            ((float *)in.tensor.data)[i] = v;
        }
        CHECK_OK(run_text(texts[t], &in, t, &out, &err), &err);
        value_free(&in);
        value_free(&out);
    }
}

static void types_that_have_no_colour_are_refused(void) {
    struct value in, out;
    mldf_error err;
    REQUIRE(image_make(&in, MLDF_F16, 2, 2, 3, 0));
    CHECK_STATUS(MLDF_E_TYPE, run_text("hue(0.1)", &in, 0, &out, &err), &err);
    CHECK_CONTAINS("u8, u16 or f32", TEXT(err));
    value_free(&in);
    REQUIRE(image_make(&in, MLDF_U8, 2, 2, 5, 0));
    CHECK_STATUS(MLDF_E_TYPE, run_text("invert", &in, 0, &out, &err), &err);
    value_free(&in);
    REQUIRE(value_make(&in, VALUE_ARRAY, MLDF_U8, false, (int64_t[]){4, -1}, 0));
    CHECK_STATUS(MLDF_E_TYPE, run_text("equalize", &in, 0, &out, &err), &err);
    value_free(&in);
    REQUIRE(image_make(&in, MLDF_U8, 2, 2, 3, 0));
    CHECK_STATUS(MLDF_E_ARGUMENT, run_text("solarize(256)", &in, 0, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, run_text("color_jitter([1.2, 0.8])", &in, 0, &out, &err), &err);
    CHECK_CONTAINS("backwards", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, run_text("color_jitter(hue=0.6)", &in, 0, &out, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, run_text("grayscale(2)", &in, 0, &out, &err), &err);
    value_free(&in);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(in_place_is_as_elsewhere);
    RUN(planar_is_as_interleaved);
    RUN(alpha_stays);
    RUN(point_operations_are_tables);
    RUN(the_planner_sees_the_same_affine_map);
    RUN(probabilities_are_kept);
    RUN(floats_may_be_anything);
    RUN(types_that_have_no_colour_are_refused);
    return check_end();
}
