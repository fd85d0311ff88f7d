/* Resizing planes: every instruction set gives the bytes of the portable loops, and these are near a reference in doubles that upsamples, resizes, makes
 * colours and holds them to 0..255 last. Sources end with their last sample, so that a sanitizer sees what is read too far. */
#include <math.h>

#include "kernel/resize_planes.h"

#include "check.h"

static uint64_t seed;

static uint32_t below(uint32_t n) {
    return (uint32_t)check_rand_below(&seed, n);
}

static void *get(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(3);
    return memory;
}

struct image {
    uint32_t width, height;
    uint32_t sides[3][2];
    uint8_t *samples[3];
    struct planes planes;
};

static void free_image(struct image *p) {
    for (int c = 0; c < 3; c++)
        free(p->samples[c]);
}

/* smooth: neighbours are alike, as in photos, so that what is beyond 0..255 stays a little. */
static struct image make_image(uint32_t width, uint32_t height, enum axis_spread across, enum axis_spread down,
                               bool smooth) {
    struct image p = {.width = width, .height = height};
    struct planes *out = &p.planes;
    for (int c = 0; c < 3; c++) {
        uint32_t w = p.sides[c][0] = c && across ? (width + 1) / 2 : width;
        uint32_t h = p.sides[c][1] = c && down ? (height + 1) / 2 : height;
        uint32_t from = below(200), dx = below(5), dy = below(5);
        p.samples[c] = get((size_t)w * h);
        for (uint32_t y = 0; y < h; y++)
            for (uint32_t x = 0; x < w; x++)
                p.samples[c][(size_t)y * w + x] =
                    (uint8_t)(smooth ? 28 + (from + x * dx + y * dy) % 200 : check_rand(&seed));
        out->part[c] = (struct plane_view){p.samples[c], w, 0, 0};
    }
    out->x = below(width);
    out->y = below(height);
    out->width = 1 + below(width - out->x);
    out->height = 1 + below(height - out->y);
    if (below(3) == 0)
        out->x = out->y = 0, out->width = width, out->height = height;
    out->across = across;
    out->down = down;
    out->chroma_width = (width + 1) / 2;
    out->chroma_height = (height + 1) / 2;
    return p;
}

static struct resize_spec random_spec(const struct planes *in, uint32_t most) {
    struct resize_spec s;
    s.box_width = below(2) ? 8 * in->width : 1 + below(in->width * 8);
    s.box_height = below(2) ? 8 * in->height : 1 + below(in->height * 8);
    s.box_x = below(in->width * 8 - s.box_width + 1);
    s.box_y = below(in->height * 8 - s.box_height + 1);
    s.width = 1 + below(most);
    s.height = 1 + below(most);
    s.out_width = below(2) ? s.width : 1 + below(s.width);
    s.out_height = below(2) ? s.height : 1 + below(s.height);
    s.x = below(s.width - s.out_width + 1);
    s.y = below(s.height - s.out_height + 1);
    s.mirror_x = below(2);
    s.mirror_y = below(2);
    s.filter = RESIZE_BILINEAR;
    s.antialias = below(4) != 0;
    return s;
}

static const mldf_dtype types[] = {MLDF_U8, MLDF_F32, MLDF_F16, MLDF_BF16};

static bool same_once(struct resize_work *work, const struct image *p, uint32_t most, const uint8_t (*table)[256]) {
    struct resize_spec spec = random_spec(&p->planes, most);
    struct finish f = {.planar = below(2), .affine = true, .dtype = types[below(4)], .table = below(3) ? NULL : table};
    uint32_t channels = below(4) ? 3 : 4;
    bool good = true;
    mldf_error err;
    for (int c = 0; c < 4; c++) {
        f.scale[c] = (float)(1 + c) / 64.0f;
        f.shift[c] = (float)c;
    }
    size_t bytes = (size_t)spec.out_width * spec.out_height * channels * mldf_dtype_bytes(f.dtype);
    uint8_t *want = get(bytes), *got = get(bytes);
    CHECK_OK(mldfi_resize_planes(mldfi_kernels(ISA_PORTABLE), &p->planes, channels, &spec, &f, work, want, &err), &err);
    for (int isa = 1; isa < ISA_COUNT && good; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(got, 0x5a, bytes);
        CHECK_OK(mldfi_resize_planes(k, &p->planes, channels, &spec, &f, work, got, &err), &err);
        good = memcmp(want, got, bytes) == 0;
        if (!good)
            check_fail(__FILE__, __LINE__, "%s differs from portable: %u x %u at (%u, %u) of %u x %u to %u x %u",
                       k->name, p->planes.width, p->planes.height, p->planes.x, p->planes.y, p->width, p->height,
                       spec.width, spec.height);
    }
    free(want);
    free(got);
    return good;
}

static void every_set_gives_the_same(void) {
    struct resize_work *work = NULL;
    uint8_t table[4][256];
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    check_rand_bytes(&seed, table, sizeof table);
    bool good = true;
    for (int round = 0; good && round < 2500; round++) {
        bool large = round % 8 == 0;
        struct image p = make_image(1 + below(large ? 400 : 40), 1 + below(large ? 100 : 40),
                                    (enum axis_spread)below(3), (enum axis_spread)below(3), false);
        good = same_once(work, &p, large ? 260 : 40, (const uint8_t(*)[256])(void *)table);
        free_image(&p);
    }
    mldfi_resize_work_free(work);
}

/* ---- Against the definition in doubles --------------------------------------------------------------------------------------- */

/* Component c at pixel (x, y): upsampled, not rounded. */
static double sample_at(const struct image *p, int c, uint32_t x, uint32_t y) {
    const enum axis_spread spread[2] = {c ? p->planes.across : SPREAD_NONE, c ? p->planes.down : SPREAD_NONE};
    const uint32_t at[2] = {x, y};
    uint32_t near[2], far[2];
    double part[2];
    for (int a = 0; a < 2; a++) {
        near[a] = spread[a] ? at[a] / 2 : at[a];
        far[a] = spread[a] != SPREAD_FANCY ? near[a]
                 : at[a] % 2               ? (near[a] + 1 < p->sides[c][a] ? near[a] + 1 : near[a])
                 : near[a] > 0             ? near[a] - 1
                                           : 0;
        part[a] = 0.75;
    }
    const uint8_t *s = p->samples[c];
    const size_t w = p->sides[c][0];
    double n = part[0] * s[near[1] * w + near[0]] + (1 - part[0]) * s[near[1] * w + far[0]];
    double f = part[0] * s[far[1] * w + near[0]] + (1 - part[0]) * s[far[1] * w + far[0]];
    return part[1] * n + (1 - part[1]) * f;
}

/* Weights of output i of an axis over the window's pixels. */
static void weigh(uint32_t size, uint32_t box_from, uint32_t box_size, uint32_t target, uint32_t i, bool antialias,
                  double *out) {
    double scale = (double)box_size / 8 / target, centre = (double)box_from / 8 + (i + 0.5) * scale;
    double wide = antialias && scale > 1 ? scale : 1, sum = 0;
    for (uint32_t p = 0; p < size; p++) {
        double w = 1 - fabs(p + 0.5 - centre) / wide;
        out[p] = w > 0 ? w : 0;
        sum += out[p];
    }
    for (uint32_t p = 0; p < size; p++)
        out[p] /= sum;
}

static void near_the_definition(void) {
    struct resize_work *work = NULL;
    mldf_error err;
    int worst = 0;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    for (int round = 0; round < 400; round++) {
        struct image p =
            make_image(1 + below(30), 1 + below(30), (enum axis_spread)below(3), (enum axis_spread)below(3), round % 2);
        const struct planes *in = &p.planes;
        struct resize_spec spec = random_spec(in, 12);
        struct finish f = {.dtype = MLDF_U8};
        uint8_t *got = get((size_t)spec.out_width * spec.out_height * 3);
        double wx[30], wy[30];
        REQUIRE_OK(mldfi_resize_planes(mldfi_kernels_best(), in, 3, &spec, &f, work, got, &err), &err);
        for (uint32_t y = 0; y < spec.out_height; y++)
            for (uint32_t x = 0; x < spec.out_width; x++) {
                uint32_t at_x = spec.x + (spec.mirror_x ? spec.out_width - 1 - x : x);
                uint32_t at_y = spec.y + (spec.mirror_y ? spec.out_height - 1 - y : y);
                double v[3] = {0};
                weigh(in->width, spec.box_x, spec.box_width, spec.width, at_x, spec.antialias, wx);
                weigh(in->height, spec.box_y, spec.box_height, spec.height, at_y, spec.antialias, wy);
                for (uint32_t j = 0; j < in->height; j++)
                    for (uint32_t i = 0; i < in->width; i++)
                        for (int c = 0; c < 3; c++)
                            if (wx[i] > 0 && wy[j] > 0)
                                v[c] += wx[i] * wy[j] * sample_at(&p, c, in->x + i, in->y + j);
                double u = v[1] - 128, w = v[2] - 128;
                double rgb[3] = {v[0] + 1.402 * w, v[0] - 0.344136 * u - 0.714136 * w, v[0] + 1.772 * u};
                for (int c = 0; c < 3; c++) {
                    double held = rgb[c] < 0 ? 0 : rgb[c] > 255 ? 255 : rgb[c];
                    int apart = abs((int)lround(held) - got[((size_t)y * spec.out_width + x) * 3 + (size_t)c]);
                    worst = apart > worst ? apart : worst;
                }
            }
        free(got);
        free_image(&p);
    }
    if (worst > 1)
        check_fail(__FILE__, __LINE__, "%d levels from the reference, at most 1 is expected", worst);
    mldfi_resize_work_free(work);
}

static void others_are_refused(void) {
    struct resize_work *work = NULL;
    struct image p = make_image(8, 8, SPREAD_FANCY, SPREAD_FANCY, true);
    struct resize_spec spec = random_spec(&p.planes, 4);
    struct finish f = {.dtype = MLDF_U8};
    uint8_t out[64];
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    spec.filter = RESIZE_BICUBIC;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_resize_planes(mldfi_kernels_best(), &p.planes, 3, &spec, &f, work, out, &err),
                 &err);
    spec.filter = RESIZE_BILINEAR;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_resize_planes(mldfi_kernels_best(), &p.planes, 1, &spec, &f, work, out, &err),
                 &err);
    mldfi_resize_work_free(work);
    free_image(&p);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(every_set_gives_the_same);
    RUN(near_the_definition);
    RUN(others_are_refused);
    return check_end();
}
