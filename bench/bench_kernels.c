/* The kernels one by one, for every instruction set of this processor: nanoseconds of this thread, the best of many rounds.
 *
 *     build/release/bench/bench_kernels [--only NAME] [--case TEXT]
 *
 * NAME: portable, sse4, avx2, avx512, neon. TEXT: a part of the heading. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernel/blur.h"
#include "kernel/color.h"
#include "kernel/resize.h"
#include "kernel/warp.h"

enum { ROUNDS = 60, REPEAT = 20, POOL = 8 };

struct bench {
    const struct kernels *k;
    struct raster in;
    struct resize_spec spec;
    struct finish finish;
    struct resize_work *work;
    uint8_t *out; /* POOL results in turn, as a batch has them */
    size_t out_bytes;
    bool vary, mirror;
    struct bench_random random;
    struct blur_weights weights;
    struct warp_map map;
    void *scratch;
};

static const float scale[4] = {0.0171f, 0.0175f, 0.0174f, 0.0039f}, shift[4] = {-2.1f, -2.0f, -1.8f, 0.0f};

static double best_of(void (*run)(struct bench *, unsigned), struct bench *b) {
    double best = 1e30;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double begin = bench_cpu();
        for (unsigned i = 0; i < REPEAT; i++)
            run(b, i);
        double took = (bench_cpu() - begin) / REPEAT;
        best = took < best ? took : best;
    }
    return best * 1e9;
}

static void run_copy(struct bench *b, unsigned turn) {
    memcpy(b->out + turn % POOL * b->out_bytes, b->out + (turn + POOL / 2) % POOL * b->out_bytes, b->out_bytes);
}

static void run_finish(struct bench *b, unsigned turn) {
    mldfi_finish(b->k, &b->in, b->mirror, false, &b->finish, b->out + turn % POOL * b->out_bytes);
}

static void run_resize(struct bench *b, unsigned turn) {
    mldf_error err;
    struct resize_spec s = b->spec;
    if (b->vary) { /* another box every time, so that no table serves twice */
        s.box_x = (uint32_t)bench_below(&b->random, 64);
        s.box_y = (uint32_t)bench_below(&b->random, 64);
        s.box_width -= 64 + (uint32_t)bench_below(&b->random, 64);
        s.box_height -= 64 + (uint32_t)bench_below(&b->random, 64);
    }
    bench_check(mldfi_resize(b->k, &b->in, &s, &b->finish, b->work, b->out + turn % POOL * b->out_bytes, &err), &err,
                "resize");
}

static struct bench begin(uint32_t width, uint32_t height, uint32_t channels, size_t out_pixels, mldf_dtype dtype,
                          bool planar) {
    struct bench b = {.in = {NULL, width, height, channels, 8, (size_t)width * channels}, .random = {5}};
    mldf_error err;
    b.in.data = data_alloc((size_t)width * height * channels);
    data_fill_random(b.in.data, (size_t)width * height * channels, 3);
    b.finish.affine = true;
    b.finish.dtype = dtype;
    b.finish.planar = planar;
    memcpy(b.finish.scale, scale, sizeof scale);
    memcpy(b.finish.shift, shift, sizeof shift);
    b.out_bytes = out_pixels * channels * mldf_dtype_bytes(dtype);
    b.out = data_alloc(b.out_bytes * POOL);
    memset(b.out, 1, b.out_bytes * POOL);
    bench_check(mldfi_resize_work_new(&b.work, &err), &err, "memory");
    return b;
}

static void end(struct bench *b) {
    mldfi_resize_work_free(b->work);
    free(b->scratch);
    free(b->in.data);
    free(b->out);
}

struct choice {
    const char *only, *part;
};

static void each(struct bench *b, void (*run)(struct bench *, unsigned), const char *text,
                 const struct choice *choice) {
    if (choice->part && !strstr(text, choice->part))
        return;
    double copy = best_of(run_copy, b);
    printf("%s\n    %-10s %9.0f ns\n", text, "memcpy", copy);
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        b->k = mldfi_kernels((enum isa)isa);
        if (!b->k || (choice->only && strcmp(choice->only, b->k->name) != 0))
            continue;
        double took = best_of(run, b);
        printf("    %-10s %9.0f ns   %.2f of memcpy's speed, in bytes written\n", b->k->name, took, copy / took);
    }
}

static void finish_part(const struct choice *choice) {
    static const struct {
        mldf_dtype type;
        bool planar, mirror;
        const char *text;
    } cases[] = {
        {MLDF_F32, true, false, "finish 160 x 160 x 3 to float32 CHW"},
        {MLDF_F32, true, true, "finish 160 x 160 x 3 to float32 CHW, mirrored"},
        {MLDF_F32, false, false, "finish 160 x 160 x 3 to float32 HWC"},
        {MLDF_F16, true, false, "finish 160 x 160 x 3 to float16 CHW"},
        {MLDF_BF16, true, false, "finish 160 x 160 x 3 to bfloat16 CHW"},
        {MLDF_U8, true, false, "finish 160 x 160 x 3 to uint8 CHW"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench b = begin(160, 160, 3, 160 * 160, cases[i].type, cases[i].planar);
        b.mirror = cases[i].mirror;
        each(&b, run_finish, cases[i].text, choice);
        end(&b);
    }
}

static void resize_part(const struct choice *choice) {
    static const struct {
        uint32_t width, height, channels;
        mldf_dtype type;
        enum resize_filter filter;
        bool vary;
        const char *text;
    } cases[] = {
        {300, 300, 3, MLDF_F32, RESIZE_BILINEAR, false, "bilinear 300 x 300 x 3 to 224 x 224, float32 CHW"},
        {300, 300, 3, MLDF_F32, RESIZE_BILINEAR, true, "the same, another box every time"},
        {500, 375, 3, MLDF_F32, RESIZE_BILINEAR, true, "bilinear 500 x 375 x 3, another box every time"},
        {160, 160, 3, MLDF_F32, RESIZE_BILINEAR, true, "bilinear 160 x 160 x 3, another box every time"},
        {300, 300, 3, MLDF_BF16, RESIZE_BILINEAR, false, "bilinear 300 x 300 x 3, bfloat16 CHW"},
        {300, 300, 1, MLDF_F32, RESIZE_BILINEAR, false, "bilinear 300 x 300 x 1"},
        {300, 300, 4, MLDF_F32, RESIZE_BILINEAR, false, "bilinear 300 x 300 x 4"},
        {300, 300, 3, MLDF_F32, RESIZE_BICUBIC, false, "bicubic 300 x 300 x 3"},
        {300, 300, 3, MLDF_F32, RESIZE_NEAREST, false, "nearest 300 x 300 x 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench b =
            begin(cases[i].width, cases[i].height, cases[i].channels, (size_t)224 * 224, cases[i].type, true);
        b.spec = mldfi_resize_whole(&b.in, 224, 224, cases[i].filter);
        b.vary = cases[i].vary;
        each(&b, run_resize, cases[i].text, choice);
        end(&b);
    }
}

/* ---- Changes of whole images -------------------------------------------------------------------------------------------- */

/* The result in its turn as the image to be changed where it lies; what it holds is not looked at. */
static struct pixels pixels_of(const struct bench *b, unsigned turn) {
    return (struct pixels){b->out + turn % POOL * b->out_bytes,
                           MLDF_U8,
                           (size_t)b->in.width * b->in.height,
                           b->in.channels,
                           b->in.channels,
                           1};
}

static void run_blur(struct bench *b, unsigned turn) {
    struct blur blur = {&b->weights, &b->weights,  b->in.data,     b->out + turn % POOL * b->out_bytes,
                        b->in.width, b->in.height, b->in.channels, 1};
    if (!b->scratch)
        b->scratch = data_alloc(mldfi_blur_scratch(&blur));
    mldfi_blur(b->k, &blur, b->scratch);
}

static void warp(struct bench *b, unsigned turn, bool bilinear) {
    static const float none[4] = {0};
    struct warp_side in = {b->in.data, b->in.width, b->in.height, b->in.channels, 1}, out = in;
    struct warp w = {&in, &out, &b->map, b->in.channels, 1, none};
    out.data = b->out + turn % POOL * b->out_bytes;
    (bilinear ? b->k->warp_bilinear : b->k->warp_nearest)(&w);
}

static void run_nearest(struct bench *b, unsigned turn) {
    warp(b, turn, false);
}

static void run_bilinear(struct bench *b, unsigned turn) {
    warp(b, turn, true);
}

static void run_sharpen(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    if (!b->scratch)
        b->scratch = data_alloc(2 * b->in.stride);
    b->k->sharpen(&p, b->in.width, 1.5, b->scratch);
}

static void run_gray(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    b->k->gray(&p, &p);
}

static void run_contrast(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    float mean = mldfi_recolor(b->k, &p, NULL, 0, true);
    (void)mldfi_recolor(b->k, &p, &(struct recolor){RECOLOR_BLEND, 1.2f, mean * -0.2f}, 1, false);
}

static void run_brightness(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    (void)mldfi_recolor(b->k, &p, &(struct recolor){RECOLOR_BLEND, 1.2f, 0}, 1, false);
}

/* Brightness, contrast, saturation and hue, as color_jitter does them. */
static void run_jitter(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    struct recolor first = {RECOLOR_BLEND, 1.2f, 0};
    float mean = mldfi_recolor(b->k, &p, &first, 1, true);
    struct recolor steps[] = {{RECOLOR_BLEND, 0.9f, mean * 0.1f}, mldfi_saturation(1.2), {RECOLOR_HUE, 0.05f, 0}};
    (void)mldfi_recolor(b->k, &p, steps, 3, false);
}

static void run_saturate(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    struct recolor step = mldfi_saturation(1.2);
    (void)mldfi_recolor(b->k, &p, &step, 1, false);
}

static void run_hue(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    (void)mldfi_recolor(b->k, &p, &(struct recolor){RECOLOR_HUE, 0.05f, 0}, 1, false);
}

static void run_solarize(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    mldfi_tone(b->k, &p, &(struct tone){TONE_SOLARIZE, 128, 0}, false);
}

static void run_autocontrast(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    mldfi_autocontrast(b->k, &p);
}

static void run_equalize(struct bench *b, unsigned turn) {
    struct pixels p = pixels_of(b, turn);
    mldfi_equalize(b->k, &p);
}

/* Around the middle of 224 x 224, by 0.3 radians. */
static struct warp_map turned(bool tilted) {
    double c = cos(0.3), s = sin(0.3), x = 112 - c * 112 + s * 112, y = 112 - s * 112 - c * 112;
    return (struct warp_map){{c, -s, x, s, c, y, tilted ? 1e-3 : 0, tilted ? 5e-4 : 0, 1}, tilted};
}

static void image_part(const struct choice *choice) {
    static const struct {
        void (*run)(struct bench *, unsigned);
        uint32_t radius;
        double sigma;
        bool tilted;
        const char *text;
    } cases[] = {
        {run_blur, 4, 2, false, "gaussian_blur 9 x 9, sigma 2, 224 x 224 x 3, uint8"},
        {run_blur, 11, 1, false, "gaussian_blur 23 x 23, sigma 1, 224 x 224 x 3, uint8"},
        {run_blur, 11, 2, false, "gaussian_blur 23 x 23, sigma 2, 224 x 224 x 3, uint8"},
        {run_nearest, 0, 1, false, "rotate, nearest, 224 x 224 x 3, uint8"},
        {run_bilinear, 0, 1, false, "rotate, bilinear, 224 x 224 x 3, uint8"},
        {run_nearest, 0, 1, true, "perspective, nearest, 224 x 224 x 3, uint8"},
        {run_bilinear, 0, 1, true, "perspective, bilinear, 224 x 224 x 3, uint8"},
        {run_sharpen, 0, 1, false, "sharpness, 224 x 224 x 3, uint8"},
        {run_gray, 0, 1, false, "grayscale, 224 x 224 x 3, uint8"},
        {run_jitter, 0, 1, false, "color_jitter, 224 x 224 x 3, uint8"},
        {run_brightness, 0, 1, false, "brightness, 224 x 224 x 3, uint8"},
        {run_contrast, 0, 1, false, "contrast, 224 x 224 x 3, uint8"},
        {run_saturate, 0, 1, false, "saturation, 224 x 224 x 3, uint8"},
        {run_hue, 0, 1, false, "hue, 224 x 224 x 3, uint8"},
        {run_solarize, 0, 1, false, "solarize, 224 x 224 x 3, uint8"},
        {run_autocontrast, 0, 1, false, "autocontrast, 224 x 224 x 3, uint8"},
        {run_equalize, 0, 1, false, "equalize, 224 x 224 x 3, uint8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench b = begin(224, 224, 3, (size_t)224 * 224, MLDF_U8, false);
        mldfi_blur_weights(cases[i].radius, cases[i].sigma, &b.weights);
        b.map = turned(cases[i].tilted);
        data_fill_random(b.out, b.out_bytes * POOL, 7);
        each(&b, cases[i].run, cases[i].text, choice);
        end(&b);
    }
}

int main(int argc, char **argv) {
    struct choice choice = {NULL, NULL};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--only") == 0)
            choice.only = argv[i + 1];
        else if (i + 1 < argc && strcmp(argv[i], "--case") == 0)
            choice.part = argv[i + 1];
        else
            bench_die("usage: bench_kernels [--only NAME] [--case TEXT]");
    }
    finish_part(&choice);
    resize_part(&choice);
    image_part(&choice);
    return 0;
}
