/* Decoding photos as JPEG (mode 1) and as fast JPEG (mode 7), with exact and with fused chroma, in turn, on one thread: bench_fast_jpeg [-i ISA] [-s] FILE.jpg...
 * CPU time: the least of each image's rounds, summed, so that other work on the machine matters little; whole images as RGB, and the boxes of random resized
 * crops at the scale that 224 pixels need. Exact results are compared, fused ones measured in dB against them. Sizes and packing too; with -s nothing else. */
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
#include "kernel/resize_planes.h"
#include "util/bytes.h"

enum { ROUNDS = 9, PACKS = 5, SIDE = 224, MOST = 4096 };

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
static const struct kernels *kernels;

/* The ways of one sample; JPEG with exact chroma is what the others are compared with. */
enum way { JPEG_EXACT, JPEG_FUSED, FAST_EXACT, FAST_FUSED, WAYS };
static const char *const way_names[WAYS] = {"jpeg", "jpeg, fused", "fast jpeg", "fast jpeg, fused"};

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
    fprintf(stderr, "%s: %s\n", what, MLDF_ERROR_TEXT(err));
    exit(1);
}

/* One sample. box: a crop, resized to 224 and normalised. */
static void decode(const struct photo *p, enum way way, bool box, float *out) {
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_value value = value_of(p, way >= FAST_EXACT);
    struct finish finish = {.dtype = MLDF_F32, .planar = true, .affine = true, .scale = {1, 1, 1}, .shift = {0, 0, 0}};
    struct raster image;
    struct planes planes;
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
    mldfi_image_decoder_use(decoder, kernels);
    if (box && way % 2) {
        mldf_status status = mldfi_image_value_planes(decoder, &value, &o, &planes, &err);
        if (status < 0)
            fail("decode", &err);
        if (status == MLDF_OK) {
            struct raster window = {.width = planes.width, .height = planes.height};
            struct resize_spec spec = mldfi_resize_whole(&window, SIDE, SIDE, RESIZE_BILINEAR);
            if (mldfi_resize_planes(kernels, &planes, 3, &spec, &finish, work, out, &err) < 0)
                fail("resize", &err);
            return;
        }
    }
    if (mldfi_image_value_view(decoder, &value, &o, &image, &err) < 0)
        fail("decode", &err);
    if (!box)
        return;
    struct resize_spec spec = mldfi_resize_whole(&image, SIDE, SIDE, RESIZE_BILINEAR);
    if (mldfi_resize(kernels, &image, &spec, &finish, work, out, &err) < 0)
        fail("resize", &err);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Results: exact ones are the same to the last bit; fused ones in dB. */
static void judge(bool box) {
    size_t differ = 0, fused_differ = 0;
    double sum = 0, least = 1000, worst = 0;
    for (size_t i = 0; box && i < count; i++) {
        const size_t values = (size_t)3 * SIDE * SIDE;
        const uint64_t before = state;
        double squares = 0;
        decode(&photos[i], JPEG_EXACT, box, result[0]);
        state = before;
        decode(&photos[i], FAST_EXACT, box, result[1]);
        differ += memcmp(result[0], result[1], sizeof(float) * values) != 0;
        state = before;
        decode(&photos[i], FAST_FUSED, box, result[1]);
        for (size_t k = 0; k < values; k++) {
            double apart = fabs((double)result[0][k] - (double)result[1][k]);
            squares += apart * apart;
            worst = apart > worst ? apart : worst;
        }
        double db = squares > 0 ? 10 * log10(255.0 * 255.0 * (double)values / squares) : 99;
        sum += db;
        least = db < least ? db : least;
        state = before;
        decode(&photos[i], JPEG_FUSED, box, result[0]);
        fused_differ += memcmp(result[0], result[1], sizeof(float) * values) != 0;
    }
    if (box)
        printf(
            "exact: %zu results differ between modes; fused: %zu; fused against exact: %.1f dB on average, least %.1f, at most %.0f levels\n",
            differ, fused_differ, sum / (double)count, least, worst);
}

static void measure(const char *name, bool box) {
    static double least[WAYS][MOST];
    double sums[WAYS] = {0};
    state = 7;
    judge(box);
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < count; i++)
            least[way][i] = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        state = 7;
        for (size_t i = 0; i < count; i++) {
            const uint64_t before = state;
            for (int way = 0; way < WAYS; way++) {
                if (!box && way % 2)
                    continue;
                state = before;
                double start = now();
                decode(&photos[i], (enum way)way, box, result[way % 2]);
                double took = now() - start;
                least[way][i] = took < least[way][i] ? took : least[way][i];
            }
        }
    }
    for (int way = 0; way < WAYS; way++) {
        for (size_t i = 0; i < count; i++)
            sums[way] += least[way][i] / (double)count * 1e3;
        if (box || way % 2 == 0)
            printf("%-16s %-18s %.4f ms, ratio %.2f\n", name, way_names[way], sums[way], sums[JPEG_EXACT] / sums[way]);
    }
}

static void load(const char *path, size_t reasons[FAST_REASONS], int packs, double *packing) {
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
    p->info = (mldf_image_info)MLDF_IMAGE_INFO_INIT;
    if (mldf_image_probe(p->jpeg, p->jpeg_bytes, &p->info, &err) < 0)
        return;
    double least = 1e9;
    for (int r = 0; r < packs; r++) {
        double start = now();
        p->fast.size = 0;
        if (mldfi_fast_pack(p->jpeg, p->jpeg_bytes, 0, 100.0, &p->fast, &reason, &err) < 0)
            fail(path, &err);
        double took = now() - start;
        least = took < least ? took : least;
    }
    *packing += least;
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
        printf("usage: bench_fast_jpeg [-i ISA] [-s] FILE.jpg...\n");
        return 0;
    }
    int first = 1;
    kernels = mldfi_kernels_best();
    if (argc > 2 && strcmp(argv[1], "-i") == 0) {
        kernels = mldfi_kernels_named(argv[2]);
        first = 3;
    }
    bool sizes_only = argc > first + 1 && strcmp(argv[first], "-s") == 0;
    first += sizes_only;
    if (!kernels) {
        fprintf(stderr, "%s: unknown, or not supported by this CPU\n", argv[2]);
        return 1;
    }
    if (mldf_image_decoder_new(&decoder, &err) < 0 || mldfi_resize_work_new(&work, &err) < 0)
        fail("start", &err);
    result[0] = malloc(sizeof(float) * 3 * SIDE * SIDE);
    result[1] = malloc(sizeof(float) * 3 * SIDE * SIDE);
    for (int i = first; i < argc && count < MOST; i++)
        load(argv[i], reasons, sizes_only ? 1 : PACKS, &packing);
    for (int i = 0; i < FAST_REASONS; i++)
        if (reasons[i])
            printf("%s: %zu\n", mldfi_fast_reason_name((enum fast_reason)i), reasons[i]);
    if (count == 0)
        return 0;
    report_sizes();
    printf("packing: %.3f ms a file\n", packing / (argc - first) * 1e3);
    if (sizes_only)
        return 0;
    measure("whole, RGB", false);
    measure("crop, 224, f32", true);
    return 0;
}
