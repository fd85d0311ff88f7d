/* Operations that move, paint and blur: properties over types, layouts and sizes, and how their random numbers are spread. Values are
 * compared with NumPy and Pillow in tests/python/test_ops_geometry.py. */
#include "kernel/blur.h"
#include "ops.h"
#include "pipeline/geometry.h"
#include "pipeline/warp_map.h"
#include "util/math.h"

static const char *const texts[] = {
    "rotate(50)",
    "rotate(50, filter=bilinear, fill=1)",
    "rotate([20, 70], expand=true)",
    "affine(20, translate=[0.2, 0.3], scale=[0.4, 1.8], shear=[-20, 20, -10, 10])",
    "affine(20, translate=0.2, filter=bilinear)",
    "perspective(p=1)",
    "perspective(1, p=1, filter=bilinear)",
    "random_translate(4, fill=1)",
    "random_translate(300)",
    "cutout(4)",
    "cutout(40, fill=1)",
    "erasing(p=1)",
    "erasing(p=1, value=random)",
    "gaussian_blur(5)",
    "gaussian_blur([9, 3], sigma=4)",
    "hflip(p=1)",
    "vflip(p=1)",
    "center_crop([5, 40], fill=1)",
    "random_crop([6, 7], padding=3, pad_if_needed=true)",
};
enum { TEXTS = sizeof texts / sizeof texts[0] };
static const int64_t sizes[][2] = {{1, 1}, {1, 9}, {7, 1}, {2, 3}, {8, 8}, {17, 23}, {30, 12}, {3, 200}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static const mldf_dtype dtypes[] = {MLDF_U8, MLDF_U16, MLDF_F32};

static void planar_is_as_interleaved(void) {
    for (size_t t = 0; t < TEXTS; t++)
        for (size_t d = 0; d < 3; d++)
            for (size_t s = 0; s < SIZES; s++)
                for (int64_t channels = 1; channels <= 4; channels++) {
                    struct value in, turned, planar_out, out, back;
                    mldf_error err;
                    REQUIRE(image_make(&in, dtypes[d], sizes[s][0], sizes[s][1], channels, t * 100 + s));
                    REQUIRE_OK(run_text("chw", &in, 0, &turned, &err), &err);
                    CHECK_OK(run_text(texts[t], &turned, s, &planar_out, &err), &err);
                    CHECK_OK(run_text(texts[t], &in, s, &out, &err), &err);
                    CHECK_OK(run_text("hwc", &planar_out, 0, &back, &err), &err);
                    check_same(&out, &back, texts[t]);
                    value_free(&in);
                    value_free(&turned);
                    value_free(&planar_out);
                    value_free(&out);
                    value_free(&back);
                }
}

static void painting_in_place_is_as_elsewhere(void) {
    for (size_t t = 0; t < TEXTS; t++)
        for (size_t d = 0; d < 3; d++) {
            struct step_run s;
            struct value in, out;
            mldf_error err;
            REQUIRE(image_make(&in, dtypes[d], 19, 26, 3, t));
            REQUIRE_OK(step_begin(&s, texts[t], &in, 5, &err), &err);
            bool paints = strncmp(texts[t], "cutout", 6) == 0 || strncmp(texts[t], "erasing", 7) == 0;
            CHECK_EQ_INT(paints, (s.op.type->flags & OP_IN_PLACE) != 0);
            if (paints) {
                CHECK_OK(step_run(&s, &in, &out, &err), &err);
                CHECK(memcmp(in.tensor.data, out.tensor.data, mldfi_tensor_bytes(&out.tensor)) != 0);
                CHECK_OK(s.op.type->run(&s.op, s.draw, &in.tensor, &in.tensor, &s.work, &err), &err);
                check_same(&out, &in, texts[t]);
                value_free(&out);
            }
            value_free(&in);
            step_end(&s);
        }
}

/* A quarter against the clock: what was on the right is above. */
static void quarter_turns_only_move_pixels(void) {
    for (size_t s = 0; s < SIZES; s++) {
        struct value in, out;
        mldf_error err;
        size_t h = (size_t)sizes[s][0], w = (size_t)sizes[s][1], wrong = 0;
        REQUIRE(image_make(&in, MLDF_U16, sizes[s][0], sizes[s][1], 3, s));
        REQUIRE_OK(run_text("rotate([90, 90], expand=true, filter=bilinear)", &in, 0, &out, &err), &err);
        CHECK_EQ_U64(w, out.tensor.dims[0]);
        CHECK_EQ_U64(h, out.tensor.dims[1]);
        for (size_t y = 0; y < w; y++)
            for (size_t x = 0; x < h; x++)
                wrong += memcmp((uint16_t *)out.tensor.data + 3 * (y * h + x),
                                (uint16_t *)in.tensor.data + 3 * (x * w + w - 1 - y), 6) != 0;
        CHECK_EQ_U64(0, wrong);
        value_free(&in);
        value_free(&out);
    }
}

static bool near(double want, double got, double slack) {
    return got >= want - slack && got <= want + slack;
}

static void a_map_and_its_way_back_meet(void) {
    struct warp_map tilt = {{0.9, 0.2, 3, -0.1, 1.1, -2, 0.001, 0.002, 1}, true}, back, none = {{0}, false};
    float points[6] = {3, 4, 100, 7, 20, 55}, moved[6];
    REQUIRE(mldfi_warp_invert(&tilt, &back));
    memcpy(moved, points, sizeof points);
    mldfi_warp_points(&tilt, moved, 3, 2);
    CHECK(near((0.9 * 3 + 0.2 * 4 + 3) / (0.003 + 0.008 + 1), (double)moved[0], 1e-5));
    mldfi_warp_points(&back, moved, 3, 2);
    for (int i = 0; i < 6; i++)
        CHECK(near((double)points[i], (double)moved[i], 1e-3));
    CHECK(!mldfi_warp_invert(&none, &back));
}

static void blur_weights_are_whole(void) {
    for (uint32_t radius = 0; radius <= BLUR_MAX_RADIUS; radius++)
        for (double sigma = 0.001; sigma < 2000; sigma *= 3) {
            struct blur_weights w;
            uint64_t sum;
            mldfi_blur_weights(radius, sigma, &w);
            sum = w.whole[0];
            for (uint32_t k = 1; k <= radius; k++) {
                sum += 2 * (uint64_t)w.whole[k];
                CHECK(w.whole[k] <= w.whole[k - 1] || k == 1);
                CHECK(w.real[k] <= w.real[k - 1]);
            }
            CHECK_EQ_U64(65536, sum);
            CHECK(w.whole[0] <= 65536);
        }
}

/* An array that serves as an image may be empty: refused, or nothing happens. */
static void images_without_pixels(void) {
    static const char *const refused[] = {"resize(5)", "resize([5, 6])", "random_resized_crop(5)",
                                          "center_resized_crop(5)"};
    struct value in, out;
    mldf_error err;
    for (int64_t k = 0; k < 3; k++) {
        REQUIRE(image_make(&in, MLDF_U8, k == 1 ? 0 : 4 * (k / 2), k == 2 ? 0 : 4 * k, 3, 1));
        for (size_t t = 0; t < 4; t++)
            CHECK_STATUS(MLDF_E_RANGE, run_text(refused[t], &in, 0, &out, &err), &err);
        for (size_t t = 0; t < TEXTS; t++) {
            CHECK_OK(run_text(texts[t], &in, t, &out, &err), &err);
            value_free(&out);
        }
        value_free(&in);
    }
}

/* ---- Types ------------------------------------------------------------------------------------------------------------------------------ */

static void types_and_refusals(void) {
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"rotate", "must be given"},
        {"rotate([3, 2])", "smaller comes first"},
        {"rotate(5, filter=cubic)", "filter"},
        {"rotate(5, fill=[1, 2])", "3 channels"},
        {"rotate(5, mask_fill=1, fill=-1)", "0 to 255"},
        {"affine(1, translate=2)", "translate"},
        {"affine(1, scale=0)", "scale"},
        {"affine(1, shear=90)", "shear"},
        {"perspective(1.5)", "distortion_scale"},
        {"random_translate(-1)", "padding"},
        {"cutout(0)", "size"},
        {"cutout(3, fill=1.5)", "whole numbers"},
        {"erasing(value=noise)", "value"},
        {"gaussian_blur(6)", "even"},
        {"gaussian_blur(257)", "kernel_size"},
        {"gaussian_blur(3, sigma=0)", "sigma"},
    };
    struct value in;
    struct op op;
    mldf_error err;
    REQUIRE(image_make(&in, MLDF_U8, 10, 20, 3, 1));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(mldfi_op_from_text(bad[i].text, &in.edge, &op, &err) < 0);
        CHECK_CONTAINS(bad[i].message, TEXT(err));
    }
    REQUIRE_OK(mldfi_op_from_text("rotate(9, expand=true)", &in.edge, &op, &err), &err);
    CHECK_EQ_INT(DIM_VARIES, op.out.dims[0]);
    CHECK_EQ_INT(DIM_VARIES, op.out.dims[1]);
    CHECK_EQ_U64(25, op.out.most[0]); /* the diagonal is 22.4 */
    mldfi_op_free(&op);
    in.edge.dims[2] = 5;
    CHECK_STATUS(MLDF_E_TYPE, mldfi_op_from_text("rotate(9)", &in.edge, &op, &err), &err);
    CHECK_STATUS(MLDF_E_TYPE, mldfi_op_from_text("cutout(9)", &in.edge, &op, &err), &err);
    CHECK_STATUS(MLDF_E_TYPE, mldfi_op_from_text("center_crop(9)", &in.edge, &op, &err), &err);
    value_free(&in);
}

/* ---- Spread of the draws ------------------------------------------------------------------------------------------------------------------ */

static mldf_status draw_at(const struct op *op, uint64_t position, uint32_t width, uint32_t height, void *draw) {
    struct rng rng;
    struct frame frame = {.width = width, .height = height}, next = frame;
    mldf_error err;
    mldfi_rng_begin(&rng, 7, 1, position, 99);
    return op->type->draw(op, &rng, &frame, draw, &next, &err);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { DRAWS = 20000 };
/* The largest distance of n numbers' distribution from the even one on 0..1 is above 1.95 / sqrt(n) once in a thousand tries
 * (Kolmogorov). The numbers are always the same ones, so this passes or fails for ever. */
static void check_even(const char *what, double *values, size_t n) {
    double worst = 0;
    qsort(values, n, sizeof *values, compare);
    for (size_t i = 0; i < n; i++) {
        double low = values[i] - (double)i / (double)n, high = (double)(i + 1) / (double)n - values[i];
        worst = low > worst ? low : worst;
        worst = high > worst ? high : worst;
    }
    if (worst * worst * (double)n > 1.95 * 1.95)
        check_fail(__FILE__, __LINE__, "%s: %g away from an even spread of %zu", what, worst, n);
}

/* The sum of (seen - expected)^2 / expected over k cells is about k - 1, its deviation sqrt(2 (k - 1)): five of them are allowed. */
static void check_cells(const char *what, const uint32_t *seen, size_t cells, size_t n) {
    double expected = (double)n / (double)cells, sum = 0, spread = 2.0 * (double)(cells - 1);
    for (size_t i = 0; i < cells; i++)
        sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    double over = sum - (double)(cells - 1);
    if (over * over > 25 * spread)
        check_fail(__FILE__, __LINE__, "%s: chi-square %g over %zu cells", what, sum, cells);
}

static void flips_come_as_often_as_asked(void) {
    static const double wanted[] = {0, 0.1, 0.5, 0.9, 1};
    for (size_t k = 0; k < 5; k++) {
        struct value in;
        struct op op;
        struct axis_draw d;
        char text[40];
        mldf_error err;
        double n = DRAWS, seen = 0;
        REQUIRE(image_make(&in, MLDF_U8, 4, 4, 3, 1));
        snprintf(text, sizeof text, "%s(p=%g)", k % 2 ? "vflip" : "hflip", wanted[k]);
        REQUIRE_OK(mldfi_op_from_text(text, &in.edge, &op, &err), &err);
        for (uint64_t p = 0; p < DRAWS; p++) {
            CHECK(draw_at(&op, p, 4, 4, &d) == MLDF_OK);
            CHECK(k % 2 ? !d.mirror_x : !d.mirror_y);
            seen += d.mirror_x || d.mirror_y;
        }
        double away = seen - n * wanted[k];
        CHECK(away * away <= 16 * n * wanted[k] * (1 - wanted[k])); /* four deviations */
        mldfi_op_free(&op);
        value_free(&in);
    }
}

/* An image in which no try is refused shows the plain distributions of torchvision's parameters. */
static void random_resized_crop_is_even_in_area_log_ratio_and_place(void) {
    static double area[DRAWS], ratio[DRAWS], x[DRAWS], y[DRAWS];
    struct value in;
    struct op op;
    struct axis_draw d;
    mldf_error err;
    REQUIRE(image_make(&in, MLDF_U8, 4, 4, 3, 1));
    REQUIRE_OK(mldfi_op_from_text("random_resized_crop(8, scale=[0.1, 0.4], ratio=[0.5, 2])", &in.edge, &op, &err),
               &err);
    for (uint64_t p = 0; p < DRAWS; p++) {
        CHECK(draw_at(&op, p, 4000, 4000, &d) == MLDF_OK);
        CHECK(d.resized && d.to_width == 8 && d.to_height == 8 && !d.padded);
        CHECK(d.x + d.width <= 4000 && d.y + d.height <= 4000);
        area[p] = ((double)d.width * d.height / 16e6 - 0.1) / 0.3;
        ratio[p] = mldfi_log2((double)d.width / d.height) / 2 + 0.5;
        x[p] = (d.x + 0.5) / (4000.0 - d.width + 1);
        y[p] = (d.y + 0.5) / (4000.0 - d.height + 1);
    }
    check_even("area", area, DRAWS);
    check_even("logarithm of the ratio", ratio, DRAWS);
    check_even("x", x, DRAWS);
    check_even("y", y, DRAWS);
    mldfi_op_free(&op);
    value_free(&in);
}

static void random_resized_crop_falls_back_to_the_middle(void) {
    struct value in;
    struct op op;
    struct axis_draw d;
    mldf_error err;
    REQUIRE(image_make(&in, MLDF_U8, 4, 4, 3, 1));
    REQUIRE_OK(mldfi_op_from_text("random_resized_crop(8)", &in.edge, &op, &err), &err);
    for (uint64_t p = 0; p < 100; p++) { /* a window of 0.08 of the area is never as narrow as this */
        CHECK(draw_at(&op, p, 10, 1000, &d) == MLDF_OK);
        CHECK(d.x == 0 && d.width == 10 && d.height == 13 && d.y == 493);
        CHECK(draw_at(&op, p, 1000, 10, &d) == MLDF_OK);
        CHECK(d.y == 0 && d.height == 10 && d.width == 13 && d.x == 493);
    }
    mldfi_op_free(&op);
    value_free(&in);
}

static void random_crop_goes_everywhere(void) {
    uint32_t seen[81] = {0};
    struct value in;
    struct op op;
    struct axis_draw d;
    mldf_error err;
    REQUIRE(image_make(&in, MLDF_U8, 32, 32, 3, 1));
    REQUIRE_OK(mldfi_op_from_text("random_crop(32, padding=4)", &in.edge, &op, &err), &err);
    for (uint64_t p = 0; p < DRAWS; p++) {
        CHECK(draw_at(&op, p, 32, 32, &d) == MLDF_OK);
        REQUIRE(d.x < 9 && d.y < 9);
        seen[d.y * 9 + d.x]++;
    }
    check_cells("random_crop", seen, 81, DRAWS);
    mldfi_op_free(&op);
    value_free(&in);
}

/* Which pixel of a numbered image of side 5 .. 8 has come to `at`, or the first 255. */
static void check_places(const char *text, int64_t side, size_t cells, bool painted) {
    uint32_t *seen = calloc((size_t)(side * side), sizeof *seen);
    struct value in, out;
    struct step_run s;
    mldf_error err;
    REQUIRE(seen && image_make(&in, MLDF_U8, side, side, 1, 1));
    for (int64_t i = 0; i < side * side; i++)
        ((uint8_t *)in.tensor.data)[i] = (uint8_t)i;
    REQUIRE_OK(step_begin(&s, text, &in, 0, &err), &err);
    REQUIRE_OK(step_run(&s, &in, &out, &err), &err);
    const uint8_t *data = out.tensor.data;
    for (uint64_t p = 0; p < DRAWS; p++) {
        CHECK(draw_at(&s.op, p, (uint32_t)side, (uint32_t)side, s.draw) == MLDF_OK);
        CHECK_OK(s.op.type->run(&s.op, s.draw, &in.tensor, &out.tensor, &s.work, &err), &err);
        if (painted) {
            const uint8_t *first = memchr(data, 255, (size_t)(side * side));
            REQUIRE(first);
            seen[first - data]++;
        } else {
            REQUIRE(data[side * side / 2] < side * side);
            seen[data[side * side / 2]]++;
        }
    }
    size_t used = 0;
    for (int64_t i = 0; i < side * side; i++)
        if (seen[i])
            seen[used++] = seen[i];
    CHECK_EQ_U64(cells, used);
    check_cells(text, seen, cells, DRAWS);
    free(seen);
    value_free(&in);
    value_free(&out);
    step_end(&s);
}

static void shifts_and_squares_go_everywhere(void) {
    check_places("random_translate(2, fill=255)", 5, 25, false);
    check_places("random_translate(3, fill=255)", 7, 49, false);
    check_places("cutout(3, fill=255)", 8, 36, true);
    check_places("cutout(8, fill=255)", 8, 1, true);
}

static void erasing_is_even_in_area_and_log_ratio(void) {
    static double area[DRAWS], ratio[DRAWS];
    struct value in, out;
    struct step_run s;
    mldf_error err;
    size_t n = 0, on = 0, tries = 4000;
    enum { SIDE = 100 };
    REQUIRE(image_make(&in, MLDF_U8, SIDE, SIDE, 1, 1));
    memset(in.tensor.data, 0, SIDE * SIDE);
    REQUIRE_OK(step_begin(&s, "erasing(p=0.75, scale=[0.1, 0.3], ratio=[0.5, 2], value=1)", &in, 0, &err), &err);
    REQUIRE_OK(step_run(&s, &in, &out, &err), &err);
    for (uint64_t p = 0; p < tries; p++) {
        const uint8_t *data = out.tensor.data;
        size_t pixels = 0, first = SIDE * SIDE, last = 0;
        CHECK(draw_at(&s.op, p, SIDE, SIDE, s.draw) == MLDF_OK);
        CHECK_OK(s.op.type->run(&s.op, s.draw, &in.tensor, &out.tensor, &s.work, &err), &err);
        for (size_t i = 0; i < SIDE * SIDE; i++)
            if (data[i]) {
                pixels++;
                first = i < first ? i : first;
                last = i;
            }
        if (pixels == 0)
            continue;
        size_t h = last / SIDE - first / SIDE + 1, w = last % SIDE - first % SIDE + 1;
        CHECK_EQ_U64(h * w, pixels);
        area[n] = ((double)pixels / (SIDE * SIDE) - 0.1) / 0.2;
        ratio[n++] = mldfi_log2((double)h / (double)w) / 2 + 0.5;
        on++;
    }
    double away = (double)on - 0.75 * (double)tries;
    CHECK(away * away <= 16 * 0.75 * 0.25 * (double)tries);
    check_even("erased area", area, n);
    check_even("logarithm of the erased ratio", ratio, n);
    value_free(&in);
    value_free(&out);
    step_end(&s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(planar_is_as_interleaved);
    RUN(painting_in_place_is_as_elsewhere);
    RUN(quarter_turns_only_move_pixels);
    RUN(a_map_and_its_way_back_meet);
    RUN(blur_weights_are_whole);
    RUN(images_without_pixels);
    RUN(types_and_refusals);
    RUN(flips_come_as_often_as_asked);
    RUN(random_resized_crop_is_even_in_area_log_ratio_and_place);
    RUN(random_resized_crop_falls_back_to_the_middle);
    RUN(random_crop_goes_everywhere);
    RUN(shifts_and_squares_go_everywhere);
    RUN(erasing_is_even_in_area_and_log_ratio);
    return check_end();
}
