/* Resizing in two passes of integer sums: along the rows into an intermediate image of the same depth, then along the columns.
 * Only the rows that the second pass uses are made. resample_table.c has the weights. */
#include <inttypes.h>
#include <string.h>

#include "kernel/kernels.h"
#include "kernel/resample.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { HALF = 1 << (MLDFI_RESAMPLE_BITS - 1) };

static inline uint8_t clip8(int32_t sum) {
    int32_t v = sum >> MLDFI_RESAMPLE_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline uint16_t clip16(int64_t sum) {
    int64_t v = sum >> MLDFI_RESAMPLE_BITS;
    return (uint16_t)(v < 0 ? 0 : v > 65535 ? 65535 : v);
}

static inline uint32_t load_8(const uint8_t *p) {
    return *p;
}

static inline uint32_t load_16(const uint8_t *p) {
    return mldfi_load_u16(p);
}

static inline void store_8(uint8_t *p, uint8_t v) {
    *p = v;
}

static inline void store_16(uint8_t *p, uint16_t v) {
    mldfi_store_u16(p, v);
}

/* One row, N channels known to the compiler, of samples of B bytes. */
#define ACROSS(NAME, LOAD, STORE, B, SUM, CLIP, N) \
    static void NAME(const struct resample_table *t, const uint8_t *in, uint8_t *out) { \
        for (uint32_t i = 0; i < t->count; i++, out += N * B) { \
            const int32_t *w = t->weights + (size_t)i * t->taps; \
            const uint8_t *p = in + (size_t)t->first[i] * N * B; \
            SUM sum[N]; \
            for (int c = 0; c < N; c++) \
                sum[c] = HALF; \
            for (uint32_t k = 0; k < t->used[i]; k++, p += N * B) \
                for (int c = 0; c < N; c++) \
                    sum[c] += (SUM)LOAD(p + c * B) * w[k]; \
            for (int c = 0; c < N; c++) \
                STORE(out + c * B, CLIP(sum[c])); \
        } \
    }
ACROSS(across_8_1, load_8, store_8, 1, int32_t, clip8, 1)
ACROSS(across_8_2, load_8, store_8, 1, int32_t, clip8, 2)
ACROSS(across_8_3, load_8, store_8, 1, int32_t, clip8, 3)
ACROSS(across_8_4, load_8, store_8, 1, int32_t, clip8, 4)
ACROSS(across_16_1, load_16, store_16, 2, int64_t, clip16, 1)
ACROSS(across_16_2, load_16, store_16, 2, int64_t, clip16, 2)
ACROSS(across_16_3, load_16, store_16, 2, int64_t, clip16, 3)
ACROSS(across_16_4, load_16, store_16, 2, int64_t, clip16, 4)

void mldfi_resample_across(const struct resample_table *t, uint32_t channels, uint32_t bits, const uint8_t *in,
                           uint8_t *out) {
    static void (*const loops[2][4])(const struct resample_table *, const uint8_t *, uint8_t *) = {
        {across_8_1, across_8_2, across_8_3, across_8_4}, {across_16_1, across_16_2, across_16_3, across_16_4}};
    loops[bits == 16][channels - 1](t, in, out);
}

/* One target row: sums of whole source rows, kept in a strip that stays in the cache. */
enum { STRIP = 256 };
#define DOWN(NAME, LOAD, STORE, B, SUM, CLIP) \
    static void NAME(const struct resample_rows *r, const int32_t *w, uint32_t used, uint8_t *out, size_t samples) { \
        SUM sum[STRIP]; \
        for (size_t from = 0; from < samples; from += STRIP) { \
            size_t n = samples - from < STRIP ? samples - from : STRIP; \
            uint32_t row = r->start; \
            for (size_t x = 0; x < n; x++) \
                sum[x] = HALF; \
            for (uint32_t k = 0; k < used; k++) { \
                const uint8_t *p = r->data + row * r->stride + from * B; \
                const SUM weight = w[k]; \
                for (size_t x = 0; x < n; x++) \
                    sum[x] += (SUM)LOAD(p + x * B) * weight; \
                row = row + 1 == r->ring ? 0 : row + 1; \
            } \
            for (size_t x = 0; x < n; x++) \
                STORE(out + (from + x) * B, CLIP(sum[x])); \
        } \
    }
DOWN(down_8, load_8, store_8, 1, int32_t, clip8)
DOWN(down_16, load_16, store_16, 2, int64_t, clip16)

void mldfi_resample_down(const struct resample_rows *rows, uint32_t bits, const int32_t *weights, uint32_t used,
                         uint8_t *out, size_t samples) {
    (bits == 16 ? down_16 : down_8)(rows, weights, used, out, samples);
}

void mldfi_wide_across_portable(const struct resample_table *table, uint32_t channels, const uint8_t *in,
                                uint8_t *out) {
    mldfi_resample_across(table, channels, 8, in, out);
}

void mldfi_wide_down_portable(const struct resample_rows *rows, const int32_t *weights, uint32_t used, uint8_t *out,
                              size_t samples) {
    down_8(rows, weights, used, out, samples);
}

struct resize {
    const mldf_image_pixels *source;
    uint32_t width, height;
    struct resample_table x, y;
    uint8_t *middle;
    uint32_t top, rows; /* source rows in `middle` */
};

static void run(const struct resize *r, uint8_t *pixels) {
    const mldf_image_pixels *s = r->source;
    size_t sample = s->bits / 8, samples = (size_t)r->width * s->channels;
    size_t in_row = (size_t)s->width * s->channels * sample, out_row = samples * sample;
    const uint8_t *in = (const uint8_t *)s->data + r->top * in_row;
    bool same_width = r->width == s->width;
    for (uint32_t y = 0; !same_width && y < r->rows; y++)
        mldfi_resample_across(&r->x, s->channels, s->bits, in + y * in_row, r->middle + y * out_row);
    const uint8_t *middle = same_width ? in : r->middle;
    for (uint32_t y = 0; y < r->height; y++) {
        struct resample_rows rows = {middle, out_row, r->y.first[y] - r->top, r->rows};
        mldfi_resample_down(&rows, s->bits, r->y.weights + (size_t)y * r->y.taps, r->y.used[y], pixels + y * out_row,
                            samples);
    }
}

static struct axis whole(uint32_t source, uint32_t target, mldf_image_filter filter) {
    return (struct axis){.size = source,
                         .box_size = (uint64_t)source * 8,
                         .target = target,
                         .count = target,
                         .antialias = true,
                         .filter = filter};
}

static mldf_status prepare(struct resize *r, mldf_image_filter filter, mldf_buffer *scratch, mldf_error *err) {
    const mldf_image_pixels *s = r->source;
    const struct axis across = whole(s->width, r->width, filter), down = whole(s->height, r->height, filter);
    size_t x_bytes = mldfi_resample_table_bytes(&across), y_bytes = mldfi_resample_table_bytes(&down);
    uint64_t row = (uint64_t)r->width * s->channels * (s->bits / 8), middle;
    if (x_bytes == 0 || y_bytes == 0 || !mldfi_mul_u64(row, s->height, &middle) || middle > SIZE_MAX / 4)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "resizing %" PRIu32 " x %" PRIu32 " to %" PRIu32 " x %" PRIu32 " needs too much memory",
                          s->width, s->height, r->width, r->height);
    TRY(mldfi_buffer_resize(scratch, x_bytes + y_bytes, err));
    mldfi_resample_table(&r->y, scratch->data, &down);
    uint32_t last = r->height - 1;
    r->top = r->y.first[0];
    uint32_t end = r->y.first[last] + r->y.used[last];
    r->rows = end - r->top;
    middle = r->width == s->width ? 0 : row * r->rows;
    TRY(mldfi_buffer_resize(scratch, x_bytes + y_bytes + (size_t)middle, err));
    mldfi_resample_table(&r->y, scratch->data, &down); /* the buffer may have moved */
    mldfi_resample_table(&r->x, scratch->data + y_bytes, &across);
    r->middle = scratch->data + y_bytes + x_bytes;
    return MLDF_OK;
}

static mldf_status check(const mldf_image_pixels *s, uint32_t width, uint32_t height, mldf_image_filter filter,
                         const void *pixels, size_t pixels_bytes, mldf_error *err) {
    if (!s || !s->data || !pixels)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_resize: the source or the pixels are NULL");
    if (s->width == 0 || s->height == 0 || width == 0 || height == 0 || s->channels < 1 || s->channels > 4 ||
        (s->bits != 8 && s->bits != 16) || (unsigned)filter > MLDF_IMAGE_AREA)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "mldf_image_resize: %" PRIu32 " x %" PRIu32 " pixels of %" PRIu32 " channels and %" PRIu32
                          " bits to %" PRIu32 " x %" PRIu32 " with filter %d",
                          s->width, s->height, s->channels, s->bits, width, height, (int)filter);
    uint64_t need = (uint64_t)width * height;
    if (!mldfi_mul_u64(need, s->channels * (s->bits / 8), &need) || need != pixels_bytes)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "%zu bytes for %" PRIu32 " x %" PRIu32 " pixels of %" PRIu32 " channels and %" PRIu32 " bits",
                          pixels_bytes, width, height, s->channels, s->bits);
    if (s->bits == 16 && ((uintptr_t)s->data % 2 || (uintptr_t)pixels % 2))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "16-bit pixels at an odd address");
    return MLDF_OK;
}

mldf_status mldf_image_resize(const mldf_image_pixels *source, uint32_t width, uint32_t height,
                              mldf_image_filter filter, mldf_buffer *scratch, void *pixels, size_t pixels_bytes,
                              mldf_error *err) {
    mldf_buffer own = MLDF_BUFFER_INIT;
    TRY(check(source, width, height, filter, pixels, pixels_bytes, err));
    if (width == source->width && height == source->height) {
        memmove(pixels, source->data, pixels_bytes);
        return MLDF_OK;
    }
    struct resize r = {.source = source, .width = width, .height = height};
    mldf_status status = prepare(&r, filter, scratch ? scratch : &own, err);
    if (status == MLDF_OK)
        run(&r, pixels);
    mldf_buffer_free(&own);
    return status;
}
