/* Maps of the plane: every instruction set gives the bytes of the definition in kernel/warp.h, worked out here pixel by pixel. See
 * kernel_images.h. */
#include "kernel/warp.h"

#include <math.h>

#include "kernel_images.h"

static double between(double a, double b) {
    return a + (b - a) * (double)images_below(1u << 20) / (double)(1u << 20);
}

/* ---- The definition -------------------------------------------------------------------------------------------------------------- */

static bool place_of(const struct warp_map *map, size_t x, size_t y, double *u, double *v) {
    const double *m = map->m;
    double px = (double)x + 0.5, py = (double)y + 0.5, w;
    *u = m[0] * px + (m[1] * py + m[2]);
    *v = m[3] * px + (m[4] * py + m[5]);
    if (!map->perspective)
        return true;
    w = m[6] * px + (m[7] * py + m[8]);
    *u /= w;
    *v /= w;
    return w > 0;
}

static const uint8_t *element_of(const struct warp *w, const struct warp_side *side, size_t x, size_t y, size_t c) {
    return (const uint8_t *)side->data + ((y * side->width + x) * side->step + c * side->plane) * w->element;
}

static float tap(const struct warp *w, double x, double y, size_t c) {
    float v;
    uint16_t v16;
    if (!(x >= 0 && x < (double)w->in->width && y >= 0 && y < (double)w->in->height))
        return ((const float *)w->fill)[c];
    const uint8_t *p = element_of(w, w->in, (size_t)x, (size_t)y, c);
    memcpy(&v, p, w->element == 4 ? 4 : 0);
    memcpy(&v16, p, w->element == 2 ? 2 : 0);
    return w->element == 4 ? v : w->element == 2 ? (float)v16 : (float)*p;
}

static void bilinear_at(const struct warp *w, double u, double v, size_t c, uint8_t *out) {
    double x = floor(u), y = floor(v);
    float fx = (float)(u - x), fy = (float)(v - y);
    float a = tap(w, x, y, c), b = tap(w, x + 1, y, c), d = tap(w, x, y + 1, c), e = tap(w, x + 1, y + 1, c);
    float above = a + (b - a) * fx, under = d + (e - d) * fx, value = above + (under - above) * fy;
    uint8_t v8 = w->element == 1 ? (uint8_t)rintf(value) : 0;
    uint16_t v16 = w->element == 2 ? (uint16_t)rintf(value) : 0;
    memcpy(out, w->element == 1 ? (void *)&v8 : w->element == 2 ? (void *)&v16 : (void *)&value, w->element);
}

static void expected(const struct warp *w, bool bilinear) {
    for (size_t i = 0; i < w->out->width * w->out->height * w->channels; i++) {
        size_t c = i % w->channels, x = i / w->channels % w->out->width, y = i / w->channels / w->out->width;
        uint8_t *to =
            (uint8_t *)w->out->data + ((y * w->out->width + x) * w->out->step + c * w->out->plane) * w->element;
        double u, v;
        bool ahead = place_of(w->map, x, y, &u, &v);
        if (bilinear) {
            bool near =
                ahead && u > -0.5 && u < (double)w->in->width + 0.5 && v > -0.5 && v < (double)w->in->height + 0.5;
            bilinear_at(w, near ? u - 0.5 : -9, near ? v - 0.5 : -9, c, to);
            continue;
        }
        bool inside = ahead && u >= 0 && u < (double)w->in->width && v >= 0 && v < (double)w->in->height;
        memcpy(to, inside ? element_of(w, w->in, (size_t)u, (size_t)v, c) : (const uint8_t *)w->fill + c * w->element,
               w->element);
    }
}

/* ---- Cases ------------------------------------------------------------------------------------------------------------------------ */

static struct warp_map turned(double angle, double scale, double x, double y) {
    double c = cos(angle) * scale, s = sin(angle) * scale;
    return (struct warp_map){{c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1}, false};
}

/* Shifts, shears, turns and tilts, some far out or without end. */
static struct warp_map some_map(double width, double height) {
    struct warp_map map = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, false};
    switch (images_below(8)) {
    case 0:
        map.m[2] = (double)images_below(30) - 15;
        map.m[5] = (double)images_below(30) - 15;
        break;
    case 1:
        map.m[1] = between(-1, 1);
        break;
    case 2:
        map.m[3] = between(-1, 1);
        break;
    case 3:
        map.m[2] = between(-4, 4);
        break;
    case 4:
    case 5:
        map = turned(between(-4, 4), between(0.2, 3), width / 2, height / 2);
        break;
    default:
        map = turned(between(-4, 4), between(0.2, 3), width / 2, height / 2);
        map.perspective = true;
        map.m[6] = between(-0.02, 0.02);
        map.m[7] = between(-0.02, 0.02);
        break;
    }
    if (images_below(40) == 0)
        map.m[images_below(6)] *= 1e300;
    return map;
}

struct warp_run {
    const struct warp *warp;
    bool bilinear;
};

static void run_warp(const struct kernels *k, void *user) {
    const struct warp_run *run = user;
    (run->bilinear ? k->warp_bilinear : k->warp_nearest)(run->warp);
}

static void check_warp(const struct warp *w, bool bilinear) {
    struct warp_side out = *w->out;
    struct warp warp = *w;
    struct warp_run run = {&warp, bilinear};
    struct images p;
    char what[160];
    REQUIRE(images_begin(&p, out.width * out.height * w->channels * w->element));
    warp.out = &out;
    out.data = p.want;
    expected(&warp, bilinear);
    out.data = p.got;
    snprintf(what, sizeof what, "%zu x %zu to %zu x %zu, %zu channels of %zu bytes, %s", w->in->width, w->in->height,
             out.width, out.height, w->channels, w->element, bilinear ? "bilinear" : "nearest");
    images_compare(&p, run_warp, &run, what);
    images_end(&p);
}

static void every_instruction_set_warps_by_the_definition(void) {
    static const float fill_f32[4] = {0, 100, 7, 1};
    uint64_t fill_any[4];
    for (int round = 0; round < 2500; round++) {
        bool bilinear = round % 2, planar = images_below(3) == 0;
        size_t w = 1 + images_below(round % 3 ? 30 : 280), h = 1 + images_below(round % 5 ? 8 : 40),
               channels = 1 + images_below(4);
        size_t to_w = images_below(2) ? w : 1 + images_below(280), to_h = images_below(2) ? h : 1 + images_below(20);
        size_t element = (size_t)1 << images_below(bilinear ? 3 : 4);
        void *data = malloc(w * h * channels * element);
        struct warp_side in = {data, w, h, planar ? 1 : channels, planar ? w * h : 1};
        struct warp_side out = {NULL, to_w, to_h, planar ? 1 : channels, planar ? to_w * to_h : 1};
        struct warp_map map = some_map((double)w, (double)h);
        REQUIRE(data);
        images_fill(data, w * h * channels, element);
        images_fill(fill_any, 4, 8);
        check_warp(&(struct warp){&in, &out, &map, channels, element, bilinear ? (const void *)fill_f32 : fill_any},
                   bilinear);
        free(data);
    }
}

/* The last pixels of an image have neighbours that end with it. */
static void corners_of_small_images(void) {
    static const float none[4] = {0};
    for (size_t w = 1; w <= 9; w++)
        for (size_t h = 1; h <= 4; h++)
            for (size_t channels = 1; channels <= 4; channels++) {
                uint8_t *data = malloc(w * h * channels);
                REQUIRE(data);
                images_fill(data, w * h * channels, 1);
                for (int part = 0; part <= 9; part++) {
                    bool planar = part >= 5;
                    double by = part % 5 * 0.25;
                    struct warp_side in = {data, w, h, planar ? 1 : channels, planar ? w * h : 1}, out = in;
                    struct warp_map map = {{1, 0, by, 0, 1, by, 0, 0, 1}, false};
                    struct warp warp = {&in, &out, &map, channels, 1, none};
                    check_warp(&warp, true);
                    check_warp(&warp, false);
                }
                free(data);
            }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    images_seed = check_seed();
    RUN(every_instruction_set_warps_by_the_definition);
    RUN(corners_of_small_images);
    return check_end();
}
