/* The kernels one by one, for every instruction set of this processor: nanoseconds of this thread, the best of many rounds.
 *
 *     build/release/bench/bench_kernels [--only NAME] [--case TEXT]
 *
 * NAME: portable, sse4, avx2, avx512, neon. TEXT: a part of the heading. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernel/resize.h"

enum { ROUNDS = 60, REPEAT = 20, POOL = 8 };

struct bench {
    const struct kernels *k;
    struct picture in;
    struct resize_spec spec;
    struct finish finish;
    struct resize_work *work;
    uint8_t *out; /* POOL results in turn, as a batch has them */
    size_t out_bytes;
    bool vary, mirror;
    struct bench_random random;
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
    return 0;
}
