/* An image, its mask, boxes and points through whole pipelines: what was marked in one of them before is marked in all of them behind.
 * Every sample has a bright rectangle, a class in the mask, a box around it and a point in its middle. */
#include "check.h"
#include "field/image_type.h"
#include "pipeline/pipeline.h"
#include "util/bytes.h"

enum { SAMPLES = 9, CLASS = 7, SEED = 5, EPOCH = 2, OUTPUTS = 8, POSITIONS = 90 };
enum { FIELD_IMAGE, FIELD_SEG, FIELD_GRID, FIELD_BOX, FIELD_POINT, FIELDS };

struct marked {
    uint32_t width, height;
    uint32_t x0, y0, x1, y1; /* the rectangle */
    uint8_t records[2][IMAGE_RECORD];
    mldf_buffer pixels[2]; /* RGB; mask */
    int32_t box[2][4];
    float point[1][3];
};

struct marks {
    struct marked samples[SAMPLES];
    mldf_schema *schema;
    struct value_bounds bounds[FIELDS];
    bool other_size; /* the masks lack their last row */
};

static bool make_sample(struct marked *m, uint32_t i) {
    static const uint32_t sizes[SAMPLES][2] = {{64, 64},   {100, 75}, {75, 99}, {128, 90}, {91, 131},
                                               {160, 160}, {67, 150}, {97, 61}, {80, 81}};
    m->width = sizes[i][0], m->height = sizes[i][1];
    m->x0 = m->width / 4 + i, m->x1 = m->width / 2 + 2 + i % 3;
    m->y0 = m->height / 3 + i % 4, m->y1 = m->height * 2 / 3 - i % 2;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t channels = k ? 1 : 3;
        size_t bytes = (size_t)m->width * m->height * channels;
        if (mldf_buffer_reserve(&m->pixels[k], bytes, NULL) < 0)
            return false;
        m->pixels[k].size = bytes;
        for (size_t p = 0; p < bytes; p++) {
            uint32_t x = (uint32_t)(p / channels % m->width), y = (uint32_t)(p / channels / m->width);
            bool in = x >= m->x0 && x < m->x1 && y >= m->y0 && y < m->y1;
            m->pixels[k].data[p] = k ? (in ? CLASS : 0) : (in ? 240 : 10);
        }
        uint8_t *r = m->records[k];
        mldfi_store_u32(r + IMAGE_SIZE, (uint32_t)bytes);
        mldfi_store_u16(r + IMAGE_HEIGHT, (uint16_t)m->height);
        mldfi_store_u16(r + IMAGE_WIDTH, (uint16_t)m->width);
        r[IMAGE_CHANNELS] = (uint8_t)channels;
        r[IMAGE_MODE] = MLDF_IMAGE_MODE_RAW;
        r[IMAGE_BITS] = 8;
    }
    int32_t box[4] = {(int32_t)m->x0, (int32_t)m->y0, (int32_t)m->x1, (int32_t)m->y1};
    memcpy(m->box[0], box, sizeof box);
    memcpy(m->box[1], (int32_t[]){0, 0, (int32_t)m->width, (int32_t)m->height}, sizeof box);
    m->point[0][0] = (float)(m->x0 + m->x1) / 2;
    m->point[0][1] = (float)(m->y0 + m->y1) / 2;
    m->point[0][2] = 2.5f; /* visible, say */
    return true;
}

static bool marks_begin(struct marks *all) {
    static const char *const names[FIELDS] = {"image", "seg", "grid", "box", "point"};
    static const char *const shapes[FIELDS] = {NULL, NULL, "{\"dtype\":\"|u1\",\"shape\":[null,null]}",
                                               "{\"dtype\":\"<i4\",\"shape\":[2,4]}",
                                               "{\"dtype\":\"<f4\",\"shape\":[1,3]}"};
    memset(all, 0, sizeof *all);
    if (mldf_schema_new(NULL, &all->schema, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < SAMPLES; i++)
        if (!make_sample(&all->samples[i], i))
            return false;
    for (size_t f = 0; f < FIELDS; f++) {
        if (mldf_schema_add(all->schema, names[f], shapes[f] ? MLDF_NDARRAY : MLDF_IMAGE, shapes[f], 0, NULL) < 0)
            return false;
        uint32_t channels = f == FIELD_IMAGE ? 3 : 1;
        if (f <= FIELD_GRID)
            all->bounds[f] = (struct value_bounds){.known = true,
                                                   .ndim = f == FIELD_GRID ? 2 : 3,
                                                   .least = {61, 64, channels},
                                                   .most = {160, 160, channels},
                                                   .image = {8, true, false}};
    }
    return true;
}

static void marks_end(struct marks *all) {
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t k = 0; k < 2; k++)
            mldf_buffer_free(&all->samples[i].pixels[k]);
    mldf_schema_free(all->schema);
}

static void array_value(mldf_value *out, mldf_dtype dtype, const void *data, uint64_t a, uint64_t b) {
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = dtype;
    out->ndim = 2;
    out->dims[0] = a;
    out->dims[1] = b;
    out->data = data;
    out->bytes = a * b * mldf_dtype_bytes(dtype);
}

static mldf_status marks_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                             mldf_error *err) {
    struct marks *all = user;
    struct marked *m = &all->samples[position % SAMPLES];
    (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    if (field == FIELD_BOX) {
        array_value(out, MLDF_I32, m->box, 2, 4);
    } else if (field == FIELD_POINT) {
        array_value(out, MLDF_F32, m->point, 1, 3);
    } else if (field == FIELD_GRID) {
        array_value(out, MLDF_U8, m->pixels[1].data, m->height - all->other_size, m->width);
    } else {
        size_t k = field == FIELD_SEG;
        out->kind = MLDF_KIND_BYTES;
        out->data = m->pixels[k].data;
        if (k) {
            uint32_t height = m->height - all->other_size;
            mldfi_store_u16(m->records[1] + IMAGE_HEIGHT, (uint16_t)height);
            mldfi_store_u32(m->records[1] + IMAGE_SIZE, m->width * height);
        }
        out->bytes = mldfi_load_u32(m->records[k] + IMAGE_SIZE);
        out->record = m->records[k];
        out->record_bytes = IMAGE_RECORD;
    }
    return MLDF_OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------------ */

struct machine {
    mldf_pipeline *pipeline;
    struct plan *plan;
    struct plan_worker *worker;
    struct plan_target targets[OUTPUTS];
    size_t bytes[OUTPUTS];
};

static mldf_status machine_begin(struct machine *m, struct marks *all, const char *text, bool reference,
                                 mldf_error *err) {
    struct plan_options options = {.reference = reference, .seed = SEED};
    memset(m, 0, sizeof *m);
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &m->pipeline, err);
    if (status == MLDF_OK)
        status = mldfi_plan_new(m->pipeline, all->schema, all->bounds, &options, &m->plan, err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(m->plan, &m->worker, err);
    for (size_t o = 0; status == MLDF_OK && o < mldfi_plan_output_count(m->plan); o++) {
        const struct edge *e = &mldfi_plan_output(m->plan, o)->edge;
        m->bytes[o] = mldf_dtype_bytes(e->dtype);
        for (uint32_t k = 0; k < e->ndim; k++)
            m->bytes[o] *= (size_t)e->dims[k];
        m->targets[o].data = aligned_alloc(64, (m->bytes[o] + 127) / 64 * 64);
        memset(m->targets[o].data, 0xA5, m->bytes[o]);
    }
    return status;
}

static void machine_end(struct machine *m) {
    for (size_t o = 0; o < OUTPUTS; o++)
        free(m->targets[o].data);
    mldfi_worker_free(m->worker);
    mldfi_plan_free(m->plan);
    mldf_pipeline_free(m->pipeline);
}

static mldf_status machine_run(struct machine *m, struct marks *all, uint64_t position, mldf_error *err) {
    struct plan_feed feed = {.user = all, .get = marks_get};
    return mldfi_plan_run(m->plan, m->worker, &feed, EPOCH, position, m->targets, err);
}

static const void *output(struct machine *m, const char *name, struct edge *edge) {
    for (size_t o = 0; o < mldfi_plan_output_count(m->plan); o++)
        if (strcmp(mldfi_plan_output(m->plan, o)->name, name) == 0) {
            *edge = mldfi_plan_output(m->plan, o)->edge;
            return m->targets[o].data;
        }
    check_fail(__FILE__, __LINE__, "no output %s", name);
    return NULL;
}

/* ---- Agreement ------------------------------------------------------------------------------------------------------------------------------ */

struct extent {
    size_t count;
    double x0, y0, x1, y1, x, y; /* sides; mean of the pixels' centres */
};

static struct extent extent_of(const uint8_t *mask, size_t width, size_t height) {
    struct extent e = {0, 1e9, 1e9, -1e9, -1e9, 0, 0};
    for (size_t i = 0; i < width * height; i++) {
        double x = (double)(i % width), y = (double)(i / width);
        if (mask[i] != CLASS)
            continue;
        e.count++;
        e.x += x + 0.5, e.y += y + 0.5;
        e.x0 = x < e.x0 ? x : e.x0, e.x1 = x + 1 > e.x1 ? x + 1 : e.x1;
        e.y0 = y < e.y0 ? y : e.y0, e.y1 = y + 1 > e.y1 ? y + 1 : e.y1;
    }
    if (e.count)
        e.x /= (double)e.count, e.y /= (double)e.count;
    return e;
}

/* Pixels that are bright in one and unmarked in the other; those at the edge of the mark may be. */
static size_t disagreement(const uint8_t *image, const uint8_t *mask, size_t width, size_t height) {
    size_t wrong = 0;
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t x = 1; x + 1 < width; x++) {
            bool marked = mask[y * width + x] == CLASS, edge = false;
            for (size_t k = 0; k < 9; k++)
                edge |= (mask[(y + k / 3 - 1) * width + x + k % 3 - 1] == CLASS) != marked;
            wrong += !edge && (image[3 * (y * width + x)] > 125) != marked;
        }
    return wrong;
}

static bool apart(double a, double b, double most) {
    return a > b + most || b > a + most;
}

/* Returns whether the whole mark is to be seen. tight: the box is that of the mark, not of a box around it. */
static bool check_sample(struct machine *m, const char *text, uint64_t position, double slack, bool tight) {
    struct edge ie, me, be, pe;
    const uint8_t *image = output(m, "image", &ie), *mask = output(m, "seg", &me);
    const float *box = output(m, "box", &be), *point = output(m, "point", &pe);
    if (!image || !mask || !box || !point)
        return false;
    size_t height = (size_t)ie.dims[0], width = (size_t)ie.dims[1];
    CHECK(me.dims[0] == ie.dims[0] && me.dims[1] == ie.dims[1] && me.dims[2] == 1);
    CHECK(be.dtype == MLDF_F32 && pe.dtype == MLDF_F32);
    CHECK(point[2] >= 2.5f && point[2] <= 2.5f);
    for (size_t i = 0; i < width * height; i++)
        if (mask[i] != 0 && mask[i] != CLASS) {
            check_fail(__FILE__, __LINE__, "%s: class %d appeared", text, mask[i]);
            return false;
        }
    if (disagreement(image, mask, width, height))
        check_fail(__FILE__, __LINE__, "%s at %d: %zu pixels of image and mask differ", text, (int)position,
                   disagreement(image, mask, width, height));
    for (int k = 0; k < 2; k++)
        CHECK(box[4 * k] >= 0 && box[4 * k + 2] <= (float)width && box[4 * k + 1] >= 0 &&
              box[4 * k + 3] <= (float)height && box[4 * k] <= box[4 * k + 2] && box[4 * k + 1] <= box[4 * k + 3]);
    struct extent e = extent_of(mask, width, height);
    if (e.count == 0)
        return false;
    bool held = e.x0 >= (double)box[0] - slack && e.y0 >= (double)box[1] - slack && e.x1 <= (double)box[2] + slack &&
                e.y1 <= (double)box[3] + slack;
    bool whole = e.x0 > 1 && e.y0 > 1 && e.x1 < (double)width - 1 && e.y1 < (double)height - 1;
    if (!held)
        check_fail(__FILE__, __LINE__, "%s at %d: the box does not hold its mark", text, (int)position);
    if (whole && (apart(e.x, (double)point[0], slack) || apart(e.y, (double)point[1], slack)))
        check_fail(__FILE__, __LINE__, "%s at %d: point %g, %g; middle %g, %g", text, (int)position, (double)point[0],
                   (double)point[1], e.x, e.y);
    if (whole && tight &&
        (apart(e.x0, (double)box[0], slack) || apart(e.y0, (double)box[1], slack) ||
         apart(e.x1, (double)box[2], slack) || apart(e.y1, (double)box[3], slack)))
        check_fail(__FILE__, __LINE__, "%s at %d: box %g, %g, %g, %g; mark %g, %g, %g, %g", text, (int)position,
                   (double)box[0], (double)box[1], (double)box[2], (double)box[3], e.x0, e.y0, e.x1, e.y1);
    return whole;
}

#define MEMBERS "image, seg as mask, box as boxes, point as points: "
static const struct {
    const char *text;
    double slack; /* pixels: half for a pixel's side, more after resampling to larger ones */
    bool tight;
} agreeing[] = {
    {MEMBERS "resize([64, 80])", 1.0, true},
    {MEMBERS "random_resized_crop(64, scale=[0.5, 1])", 1.6, true},
    {MEMBERS "random_resized_crop(64, scale=[0.5, 1]) | hflip | rotate(30, filter=bilinear)", 2.0, true},
    {MEMBERS "rotate(30, fill=10) | random_resized_crop(64, scale=[0.3, 1]) | hflip | vflip", 2.4, true},
    {MEMBERS "resize([96, 96]) | hflip | random_crop(80, padding=8, fill=10) | vflip", 1.0, true},
    {MEMBERS "center_crop(120, fill=10)", 0.01, true},
    {MEMBERS "resize([90, 90]) | random_translate(20, fill=10)", 1.0, true},
    {MEMBERS "resize([80, 80]) | affine(25, translate=0.1, scale=[0.7, 1], shear=10, fill=10)", 2.0, true},
    {MEMBERS "resize([80, 80]) | perspective(0.5, p=1, filter=bilinear, fill=10)", 2.4, true},
    {MEMBERS "rotate([20, 60], expand=true, filter=bilinear, fill=10) | resize([100, 100])", 2.4, true},
    {MEMBERS "center_resized_crop(64, ratio=1) | rotate([90, 90]) | vflip(p=1)", 1.6, true},
    {MEMBERS "resize([80, 80]) | rotate(20) | rotate(20)", 12, false}, /* a hull of a hull is larger */
};

static void marks_stay_together(void) {
    struct marks all;
    REQUIRE(marks_begin(&all));
    for (size_t i = 0; i < sizeof agreeing / sizeof agreeing[0]; i++) {
        struct machine m;
        mldf_error err = {0};
        size_t whole = 0;
        REQUIRE_OK(machine_begin(&m, &all, agreeing[i].text, false, &err), &err);
        for (uint64_t p = 0; p < POSITIONS; p++) {
            CHECK_OK(machine_run(&m, &all, p, &err), &err);
            whole += check_sample(&m, agreeing[i].text, p, agreeing[i].slack, agreeing[i].tight);
        }
        if (whole < POSITIONS / 4)
            check_fail(__FILE__, __LINE__, "%s: only %zu samples say something", agreeing[i].text, whole);
        machine_end(&m);
    }
    marks_end(&all);
}

/* ---- Rewriting ---------------------------------------------------------------------------------------------------------------------------------- */

static const char *const rewritten[] = {
    MEMBERS "random_resized_crop(40) | hflip | rotate(30)\nimage: normalize(imagenet) | chw(f16)",
    MEMBERS "random_resized_crop(40) | rotate(30, filter=bilinear) | hflip | cutout(8) | vflip\nimage: to_float | chw",
    MEMBERS "resize([33, 40]) | hflip | random_translate(4) | cutout(16, fill=9)\nimage: normalize(half) | chw(f32)",
    MEMBERS "random_crop(61, padding=2, mask_fill=255) | affine(10, shear=5) | center_crop(50)\nimage: normalize(half)",
    MEMBERS "resize([40, 40]) | perspective(p=0.7) | erasing(p=0.8, value=random) | gaussian_blur(5, p=0.5)",
    MEMBERS
    "resize([40, 40]) | gaussian_blur([3, 7]) | random_crop(32)\nimage: chw(f32) | erasing(value=random) | hflip",
    "image, grid as mask: random_resized_crop(30) | hflip | rotate(10)",
    "grid as mask, image: random_crop(50) | vflip",
    "a = image: resize([40, 40]) | rotate(20)\nb = a: rotate(20) | hflip | random_translate(3)\nimage: drop",
    "grid as image: random_crop(50) | vflip | rotate(30) | gaussian_blur(3)",
};

static void rewriting_keeps_the_bytes(void) {
    struct marks all;
    REQUIRE(marks_begin(&all));
    for (size_t i = 0; i < sizeof rewritten / sizeof rewritten[0]; i++) {
        struct machine fused, plain;
        mldf_error err = {0};
        REQUIRE_OK(machine_begin(&fused, &all, rewritten[i], false, &err), &err);
        REQUIRE_OK(machine_begin(&plain, &all, rewritten[i], true, &err), &err);
        for (uint64_t k = 0; k < POSITIONS; k++) {
            uint64_t p = k * 7 % POSITIONS; /* in any order */
            CHECK_OK(machine_run(&fused, &all, p, &err), &err);
            CHECK_OK(machine_run(&plain, &all, p, &err), &err);
            for (size_t o = 0; o < mldfi_plan_output_count(plain.plan); o++) {
                CHECK_EQ_U64(plain.bytes[o], fused.bytes[o]);
                if (memcmp(plain.targets[o].data, fused.targets[o].data, plain.bytes[o]) != 0)
                    check_fail(__FILE__, __LINE__, "%s: output %zu of position %d differs", rewritten[i], o, (int)p);
            }
        }
        machine_end(&fused);
        machine_end(&plain);
    }
    marks_end(&all);
}

/* A mask that is an array of H x W is the same as one that is an image. */
static void masks_may_be_arrays(void) {
    static const char *const texts[2] = {"image, grid as mask: random_resized_crop(30) | hflip | rotate(10)",
                                         "image, grid = seg as mask: random_resized_crop(30) | hflip | rotate(10)"};
    struct marks all;
    struct machine m[2];
    mldf_error err = {0};
    REQUIRE(marks_begin(&all));
    for (int k = 0; k < 2; k++)
        REQUIRE_OK(machine_begin(&m[k], &all, texts[k], false, &err), &err);
    /* Their random streams have other names, so each is compared with its own image. */
    for (uint64_t p = 0; p < POSITIONS; p++)
        for (int k = 0; k < 2; k++) {
            struct edge ie, ge;
            CHECK_OK(machine_run(&m[k], &all, p, &err), &err);
            const uint8_t *image = output(&m[k], "image", &ie), *grid = output(&m[k], "grid", &ge);
            REQUIRE(image && grid && ge.ndim == 3 && ge.dims[2] == 1);
            CHECK_EQ_U64(0, disagreement(image, grid, 30, 30));
        }
    for (int k = 0; k < 2; k++)
        machine_end(&m[k]);
    marks_end(&all);
}

static void members_of_other_sizes_are_refused(void) {
    static const char *const texts[] = {"image, seg as mask: resize([20, 20])",
                                        "image, seg as mask: hflip(p=1) | resize([20, 20])",
                                        "image, seg as mask: rotate(5) | resize([20, 20])",
                                        "image, grid as mask: resize([20, 20])",
                                        "image, grid as mask: hflip | resize([9, 9])",
                                        "image, grid as mask: rotate(5) | resize([9, 9])",
                                        "image, grid as mask: random_translate(5) | resize([9, 9])"};
    struct marks all;
    REQUIRE(marks_begin(&all));
    all.other_size = true;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int reference = 0; reference < 2; reference++) {
            struct machine m;
            mldf_error err = {0};
            REQUIRE_OK(machine_begin(&m, &all, texts[i], reference, &err), &err);
            CHECK_STATUS(MLDF_E_RANGE, machine_run(&m, &all, 1, &err), &err);
            CHECK_CONTAINS("the image that it moves with has", TEXT(err));
            machine_end(&m);
        }
    marks_end(&all);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(marks_stay_together);
    RUN(rewriting_keeps_the_bytes);
    RUN(masks_may_be_arrays);
    RUN(members_of_other_sizes_are_refused);
    return check_end();
}
