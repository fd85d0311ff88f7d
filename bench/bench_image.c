/* Decoding and resizing images: milliseconds of this thread for one image, median of rounds. Without arguments an image of
 * 500 x 375 is painted; arguments are JPEG files to use instead.
 *
 *     build/release/bench/bench_image [FILE.jpg ...]
 */
#define MLDF_NODISCARD /* what comes out is not looked at, only the time it takes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { WIDTH = 500, HEIGHT = 375, ROUNDS = 15, FILES_MAX = 64 };

struct work {
    mldf_buffer files[FILES_MAX];
    size_t count;
    mldf_image_decoder *decoder;
    mldf_buffer pixels, scratch;
    size_t decoded; /* bytes, in the last round */
};

static void paint(mldf_buffer *out, bool progressive) {
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    struct bench_random random = {7};
    mldf_image_pixels p = {pixels, WIDTH, HEIGHT, 3, 8};
    mldf_jpeg_options o = MLDF_JPEG_OPTIONS_INIT;
    mldf_error err;
    for (size_t i = 0; i < sizeof pixels; i++) {
        size_t x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        unsigned shade = (unsigned)((x / 3 + y / 2 + i % 3 * 40) % 160) + ((x / 60 + y / 50) % 2 ? 70 : 0);
        pixels[i] = (uint8_t)(shade + bench_below(&random, 24));
    }
    o.progressive = progressive;
    bench_check(mldf_image_encode_jpeg(&p, &o, out, &err), &err, "painting");
}

static void load(struct work *w, const char *path) {
    FILE *f = fopen(path, "rb");
    char chunk[65536];
    size_t n;
    mldf_error err;
    if (!f)
        bench_die("%s does not open", path);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        bench_check(mldf_buffer_append(&w->files[w->count], chunk, n, &err), &err, path);
    fclose(f);
    w->count++;
}

static void decode(struct work *w, const mldf_buffer *file, const mldf_image_options *o) {
    mldf_image_shape shape;
    mldf_error err;
    bench_check(mldf_image_decoded_shape(file->data, file->size, o, &shape, &err), &err, "shape");
    bench_check(mldf_buffer_reserve(&w->pixels, shape.bytes, &err), &err, "memory");
    bench_check(mldf_image_decode(w->decoder, file->data, file->size, o, w->pixels.data, shape.bytes, &err), &err,
                "decode");
    w->decoded += shape.bytes;
}

/* side 0: the whole image; else a centred square of that side, at the scale. */
static void measure(struct work *w, const char *name, int scale, uint32_t side, bool fast) {
    double ms[ROUNDS];
    int repeat = w->count < 8 ? 64 : 8;
    for (int round = 0; round < ROUNDS; round++) {
        w->decoded = 0;
        double begin = bench_cpu();
        for (int k = 0; k < repeat; k++)
            for (size_t i = 0; i < w->count; i++) {
                mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
                mldf_image_info info = MLDF_IMAGE_INFO_INIT;
                mldf_error err;
                bench_check(mldf_image_probe(w->files[i].data, w->files[i].size, &info, &err), &err, "probe");
                uint32_t width = info.width / (uint32_t)scale, height = info.height / (uint32_t)scale;
                o.channels = 3;
                o.scale = scale;
                o.fast_dct = fast;
                if (side && width > side && height > side) {
                    o.region = true;
                    o.width = o.height = side;
                    o.x = (width - side) / 2;
                    o.y = (height - side) / 2;
                }
                decode(w, &w->files[i], &o);
            }
        ms[round] = (bench_cpu() - begin) * 1e3 / (double)(w->count * (size_t)repeat);
    }
    double mean_bytes = (double)w->decoded / (double)(w->count * (size_t)repeat);
    double median = bench_median(ms, ROUNDS);
    printf("%-34s %7.3f ms  %7.0f MB/s of pixels\n", name, median, mean_bytes / median / 1e3);
}

static void measure_probe(struct work *w) {
    double ns[ROUNDS];
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = bench_cpu();
        for (int k = 0; k < 20000; k++)
            (void)mldf_image_probe(w->files[0].data, w->files[0].size, &info, NULL);
        ns[round] = (bench_cpu() - begin) * 1e9 / 20000;
    }
    printf("%-34s %7.0f ns\n", "probe", bench_median(ns, ROUNDS));
}

static void measure_resize(struct work *w) {
    static const char *const names[] = {"box", "bilinear", "bicubic", "lanczos", "area"};
    static uint8_t out[224 * 224 * 3];
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    mldf_error err;
    o.channels = 3;
    decode(w, &w->files[0], &o);
    bench_check(mldf_image_decoded_shape(w->files[0].data, w->files[0].size, &o, &shape, &err), &err, "shape");
    mldf_image_pixels p = {w->pixels.data, shape.width, shape.height, 3, 8};
    for (int filter = 0; filter <= MLDF_IMAGE_AREA; filter++) {
        double ms[ROUNDS];
        char name[64];
        for (int round = 0; round < ROUNDS; round++) {
            double begin = bench_cpu();
            for (int k = 0; k < 50; k++)
                bench_check(
                    mldf_image_resize(&p, 224, 224, (mldf_image_filter)filter, &w->scratch, out, sizeof out, &err),
                    &err, "resize");
            ms[round] = (bench_cpu() - begin) * 1e3 / 50;
        }
        snprintf(name, sizeof name, "resize to 224 x 224, %s", names[filter]);
        printf("%-34s %7.3f ms\n", name, bench_median(ms, ROUNDS));
    }
}

int main(int argc, char **argv) {
    static struct work w;
    mldf_error err;
    for (int i = 1; i < argc && w.count < FILES_MAX; i++)
        load(&w, argv[i]);
    if (w.count == 0)
        paint(&w.files[w.count++], false);
    bench_check(mldf_image_decoder_new(&w.decoder, &err), &err, "decoder");
    printf("%zu JPEG, the first of %zu bytes\n", w.count, w.files[0].size);
    measure_probe(&w);
    measure(&w, "whole", 1, 0, false);
    measure(&w, "whole, fast DCT", 1, 0, true);
    measure(&w, "224 x 224 of the middle", 1, 224, false);
    measure(&w, "whole at 1/2", 2, 0, false);
    measure(&w, "whole at 1/8", 8, 0, false);
    if (argc == 1) {
        w.files[0].size = 0;
        paint(&w.files[0], true);
        measure(&w, "whole, progressive", 1, 0, false);
        mldf_buffer baseline = MLDF_BUFFER_INIT;
        bench_check(mldf_image_to_baseline(w.files[0].data, w.files[0].size, 0, &baseline, &err), &err, "baseline");
        mldf_buffer_free(&w.files[0]);
        w.files[0] = baseline;
        measure(&w, "the same made baseline", 1, 0, false);
    }
    measure_resize(&w);
    for (size_t i = 0; i < w.count; i++)
        mldf_buffer_free(&w.files[i]);
    mldf_buffer_free(&w.pixels);
    mldf_buffer_free(&w.scratch);
    mldf_image_decoder_free(w.decoder);
    return 0;
}
