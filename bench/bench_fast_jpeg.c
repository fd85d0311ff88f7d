/* Decoding photos as JPEG (mode 1) and as fast JPEG (mode 7), in turn, on one thread: bench_fast_jpeg FILE.jpg... Every result is compared first.
 * CPU time, the median of rounds; whole images as RGB, and the boxes of random resized crops at the scale that 224 pixels need. Sizes and packing too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "kernel/finish.h"
#include "kernel/resize.h"
#include "util/bytes.h"

enum { ROUNDS = 9, SIDE = 224, MOST = 4096 };

struct photo {
    uint8_t *jpeg;
    size_t jpeg_bytes;
    mldf_buffer fast;
    uint8_t record[2][IMAGE_RECORD];
    mldf_image_info info;
};
static struct photo photos[MOST];
static size_t count;
static mldf_image_decoder *decoder;
static struct resize_work *work;
static float *result[2];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t state;
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) / 16777216.0;
}

static void crop(const mldf_image_info *i, uint32_t *x, uint32_t *y, uint32_t *w, uint32_t *h) {
    for (int n = 0; n < 10; n++) {
        double area = (double)i->width * i->height * (0.08 + 0.92 * draw());
        double ratio = exp(log(0.75) + draw() * (log(4.0 / 3) - log(0.75)));
        uint32_t ww = (uint32_t)lround(sqrt(area * ratio)), hh = (uint32_t)lround(sqrt(area / ratio));
        if (ww > 0 && ww <= i->width && hh > 0 && hh <= i->height) {
            *x = (uint32_t)(draw() * (i->width - ww + 1));
            *y = (uint32_t)(draw() * (i->height - hh + 1));
            *w = ww;
            *h = hh;
            return;
        }
    }
    *x = *y = 0;
    *w = i->width;
    *h = i->height;
}

static mldf_value value_of(const struct photo *p, int fast) {
    return (mldf_value){.kind = MLDF_KIND_BYTES,
                        .data = fast ? p->fast.data : p->jpeg,
                        .bytes = fast ? p->fast.size : p->jpeg_bytes,
                        .record = p->record[fast],
                        .record_bytes = IMAGE_RECORD};
}

static void fail(const char *what, const mldf_error *err) {
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

/* One sample: box >= 0: a crop, resized to 224 and normalised. */
static void decode(const struct photo *p, int fast, bool box, float *out) {
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_value value = value_of(p, fast);
    struct raster image;
    mldf_error err;
    o.channels = 3;
    uint32_t x = 0, y = 0, w = 0, h = 0;
    if (box) {
        crop(&p->info, &x, &y, &w, &h);
        for (uint32_t s = 2; s <= 8 && w / s >= SIDE && h / s >= SIDE; s *= 2)
            o.scale = (int)s;
        uint32_t s = (uint32_t)o.scale;
        o.region = true;
        o.x = x / s;
        o.y = y / s;
        o.width = (x + w + s - 1) / s - o.x;
        o.height = (y + h + s - 1) / s - o.y;
    }
    if (mldfi_image_value_view(decoder, &value, &o, &image, &err) < 0)
        fail("decode", &err);
    if (!box)
        return;
    struct resize_spec spec = mldfi_resize_whole(&image, SIDE, SIDE, RESIZE_BILINEAR);
    struct finish finish = {.dtype = MLDF_F32, .planar = true, .affine = true, .scale = {1, 1, 1}, .shift = {0, 0, 0}};
    if (mldfi_resize(mldfi_kernels_best(), &image, &spec, &finish, work, out, &err) < 0)
        fail("resize", &err);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const char *name, bool box) {
    double ratio[ROUNDS], times[2][ROUNDS];
    size_t differ = 0;
    state = 7;
    for (size_t i = 0; box && i < count; i++) {
        uint64_t before = state;
        decode(&photos[i], 0, box, result[0]);
        state = before;
        decode(&photos[i], 1, box, result[1]);
        differ += memcmp(result[0], result[1], sizeof(float) * 3 * SIDE * SIDE) != 0;
    }
    for (int r = 0; r < ROUNDS; r++) {
        for (int fast = 0; fast < 2; fast++) {
            state = 7 + (uint64_t)r;
            double start = now();
            for (size_t i = 0; i < count; i++)
                decode(&photos[i], fast, box, result[fast]);
            times[fast][r] = (now() - start) / (double)count * 1e3;
        }
        ratio[r] = times[0][r] / times[1][r];
    }
    for (int fast = 0; fast < 2; fast++)
        qsort(times[fast], ROUNDS, sizeof(double), by_value);
    qsort(ratio, ROUNDS, sizeof(double), by_value);
    printf("%-24s jpeg %.3f ms, fast jpeg %.3f ms, ratio %.2f (%.2f to %.2f), %zu results differ\n", name,
           times[0][ROUNDS / 2], times[1][ROUNDS / 2], ratio[ROUNDS / 2], ratio[0], ratio[ROUNDS - 1], differ);
}

static void load(const char *path, size_t reasons[FAST_REASONS], double *packing) {
    struct photo *p = &photos[count];
    enum fast_reason reason = FAST_TAKEN;
    mldf_error err;
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    fseek(f, 0, SEEK_END);
    p->jpeg_bytes = (size_t)ftell(f);
    rewind(f);
    p->jpeg = malloc(p->jpeg_bytes);
    if (fread(p->jpeg, 1, p->jpeg_bytes, f) != p->jpeg_bytes)
        exit(1);
    fclose(f);
    if (mldf_image_probe(p->jpeg, p->jpeg_bytes, &p->info, &err) < 0)
        return;
    double start = now();
    if (mldfi_fast_pack(p->jpeg, p->jpeg_bytes, 0, 100.0, &p->fast, &reason, &err) < 0)
        fail(path, &err);
    *packing += now() - start;
    reasons[reason]++;
    if (reason != FAST_TAKEN)
        return;
    for (int fast = 0; fast < 2; fast++) {
        uint8_t *r = p->record[fast];
        mldfi_store_u16(r + IMAGE_HEIGHT, (uint16_t)p->info.height);
        mldfi_store_u16(r + IMAGE_WIDTH, (uint16_t)p->info.width);
        r[IMAGE_CHANNELS] = p->info.channels;
        r[IMAGE_MODE] = fast ? MLDF_IMAGE_MODE_FAST_JPEG : MLDF_IMAGE_MODE_JPEG;
        r[IMAGE_BITS] = 8;
    }
    count++;
}

static void report_sizes(void) {
    double ratios[MOST], sum = 0;
    size_t jpeg = 0, fast = 0, larger = 0;
    for (size_t i = 0; i < count; i++) {
        jpeg += photos[i].jpeg_bytes;
        fast += photos[i].fast.size;
        ratios[i] = (double)photos[i].fast.size / (double)photos[i].jpeg_bytes;
        sum += ratios[i];
        larger += ratios[i] > 1.03;
    }
    qsort(ratios, count, sizeof *ratios, by_value);
    printf(
        "size: %zu → %zu bytes, %.4f of all; mean ratio %.4f, median %.4f, 5 %% %.4f, 95 %% %.4f; %zu of %zu above 1.03\n",
        jpeg, fast, (double)fast / (double)jpeg, sum / (double)count, ratios[count / 2], ratios[count / 20],
        ratios[count * 19 / 20], larger, count);
}

int main(int argc, char **argv) {
    size_t reasons[FAST_REASONS] = {0};
    double packing = 0;
    mldf_error err;
    if (argc < 2) {
        printf("usage: bench_fast_jpeg FILE.jpg...\n");
        return 0;
    }
    if (mldf_image_decoder_new(&decoder, &err) < 0 || mldfi_resize_work_new(&work, &err) < 0)
        fail("start", &err);
    result[0] = malloc(sizeof(float) * 3 * SIDE * SIDE);
    result[1] = malloc(sizeof(float) * 3 * SIDE * SIDE);
    for (int i = 1; i < argc && count < MOST; i++)
        load(argv[i], reasons, &packing);
    for (int i = 0; i < FAST_REASONS; i++)
        if (reasons[i])
            printf("%s: %zu\n", mldfi_fast_reason_name((enum fast_reason)i), reasons[i]);
    if (count == 0)
        return 0;
    report_sizes();
    printf("packing: %.3f ms a file\n", packing / (argc - 1) * 1e3);
    measure("whole, RGB", false);
    measure("crop, 224, f32", true);
    return 0;
}
