/* Regions of JPEG files as the pipeline decodes them, beside a bare loop of libjpeg-turbo over the same regions at the same scales that
 * does nothing else. Microseconds of this thread for one region, the best of many rounds. Without files an image of 500 x 375 is
 * painted. To count instructions instead: valgrind --tool=callgrind bench_jpeg --rounds 1 --ours, and --bare (which has two loops).
 *
 *     build/release/bench/bench_jpeg [--bare | --ours] [--rounds N] [FILE.jpg ...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "bench.h"
#include "codec/image.h"

enum { WIDTH = 500, HEIGHT = 375, REGIONS = 64, FILES_MAX = 64 };

struct region {
    const mldf_buffer *file;
    mldf_image_options options;
};

struct work {
    mldf_buffer files[FILES_MAX];
    size_t count;
    struct region regions[REGIONS];
    mldf_image_decoder *decoder;
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    uint8_t *row;
    int rounds;
    bool forget; /* the bare loop: every row into the same place */
    uint64_t sum;
};

static void paint(mldf_buffer *out) {
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    struct bench_random random = {7};
    mldf_image_pixels p = {pixels, WIDTH, HEIGHT, 3, 8};
    mldf_error err;
    for (size_t i = 0; i < sizeof pixels; i++) {
        size_t x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        unsigned shade = (unsigned)((x / 3 + y / 2 + i % 3 * 40) % 160) + ((x / 60 + y / 50) % 2 ? 70 : 0);
        pixels[i] = (uint8_t)(shade + bench_below(&random, 24));
    }
    bench_check(mldf_image_encode_jpeg(&p, NULL, out, &err), &err, "painting");
}

static void load(mldf_buffer *out, const char *path) {
    char chunk[65536];
    size_t n;
    mldf_error err;
    FILE *f = fopen(path, "rb");
    if (!f)
        bench_die("%s does not open", path);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        bench_check(mldf_buffer_append(out, chunk, n, &err), &err, path);
    fclose(f);
}

/* Boxes as random_resized_crop(224) draws them: 8 to 100 % of the area; at 1/2 where what is left still has 224 pixels. */
static void choose(struct work *w) {
    struct bench_random random = {11};
    for (size_t i = 0; i < REGIONS; i++) {
        struct region *r = &w->regions[i];
        mldf_image_options defaults = MLDF_IMAGE_OPTIONS_INIT;
        mldf_image_info info = MLDF_IMAGE_INFO_INIT;
        mldf_error err;
        r->file = &w->files[i % w->count];
        r->options = defaults;
        bench_check(mldf_image_probe(r->file->data, r->file->size, &info, &err), &err, "probe");
        uint32_t least = 28 + (uint32_t)bench_below(&random, 73); /* percent of a side */
        uint32_t width = info.width * least / 100,
                 height = info.height * (28 + (uint32_t)bench_below(&random, 73)) / 100;
        int scale = width >= 448 && height >= 448 ? 2 : 1;
        r->options.scale = scale;
        r->options.channels = 3;
        r->options.region = true;
        r->options.x = (uint32_t)bench_below(&random, info.width - width + 1) / (uint32_t)scale;
        r->options.y = (uint32_t)bench_below(&random, info.height - height + 1) / (uint32_t)scale;
        r->options.width = width / (uint32_t)scale;
        r->options.height = height / (uint32_t)scale;
    }
}

static void decode_bare(struct work *w, const struct region *r) {
    struct jpeg_decompress_struct *c = &w->cinfo;
    JDIMENSION x = r->options.x, width = r->options.width;
    uint8_t *place = w->row;
    jpeg_mem_src(c, r->file->data, (unsigned long)r->file->size);
    (void)jpeg_read_header(c, TRUE);
    c->out_color_space = JCS_RGB;
    c->scale_num = 1;
    c->scale_denom = (unsigned)r->options.scale;
    (void)jpeg_start_decompress(c);
    jpeg_crop_scanline(c, &x, &width);
    if (r->options.y > 0)
        (void)jpeg_skip_scanlines(c, r->options.y);
    for (uint32_t y = 0; y < r->options.height; y++) {
        JSAMPROW row = place;
        (void)jpeg_read_scanlines(c, &row, 1);
        place += w->forget ? 0 : c->output_width * 3;
    }
    jpeg_abort_decompress(c);
    w->sum += w->row[0];
}

static void decode_ours(struct work *w, const struct region *r) {
    struct image_view view;
    mldf_error err;
    bench_check(mldfi_image_view(w->decoder, r->file->data, r->file->size, &r->options, &view, &err), &err, "decode");
    w->sum += view.pixels[0];
}

static double best_of(struct work *w, void (*decode)(struct work *, const struct region *)) {
    double best = 1e30;
    for (int round = 0; round < w->rounds; round++) {
        double begin = bench_cpu();
        for (size_t i = 0; i < REGIONS; i++)
            decode(w, &w->regions[i]);
        double took = (bench_cpu() - begin) / REGIONS;
        best = took < best ? took : best;
    }
    return best * 1e6;
}

int main(int argc, char **argv) {
    static struct work w;
    mldf_error err;
    bool bare = true, ours = true;
    w.rounds = 40;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bare") == 0)
            ours = false;
        else if (strcmp(argv[i], "--ours") == 0)
            bare = false;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            w.rounds = atoi(argv[++i]);
        else if (w.count < FILES_MAX)
            load(&w.files[w.count++], argv[i]);
    }
    if (w.count == 0)
        paint(&w.files[w.count++]);
    bench_check(mldf_image_decoder_new(&w.decoder, &err), &err, "memory");
    w.cinfo.err = jpeg_std_error(&w.errors);
    jpeg_create_decompress(&w.cinfo);
    w.row = data_alloc((size_t)1 << 26);
    choose(&w);
    double rows = bare ? best_of(&w, decode_bare) : 0;
    w.forget = true;
    double row = bare ? best_of(&w, decode_bare) : 0, view = ours ? best_of(&w, decode_ours) : 0;
    if (bare)
        printf("bare libjpeg-turbo, into an image    %9.1f us for a region\n"
               "bare libjpeg-turbo, one row for all   %9.1f us\n",
               rows, row);
    if (ours)
        printf("mldf                                  %9.1f us\n", view);
    if (bare && ours)
        printf("%.3f and %.3f of the bare loops' speed\n", rows / view, row / view);
    jpeg_destroy_decompress(&w.cinfo);
    mldf_image_decoder_free(w.decoder);
    free(w.row);
    return w.sum == 1; /* so that nothing is left out */
}
