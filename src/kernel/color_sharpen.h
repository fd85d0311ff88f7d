/* Sharpness (color.h), as text: the file of each instruction set includes it behind color_loops.h. A row needs its neighbours as they were, and the
 * one below is not changed yet: so copies of two rows are all that is kept. */

enum { SHARPEN_BLOCK = 256, SHARPEN_STEP = 4 }; /* elements at a time; the most channels of a pixel */

/* n elements of a row: neighbours are `step` apart. up, row: as they were; down: as it is. They begin a pixel to the left of the first element. */
struct sharpen {
    const void *up, *row, *down;
    void *out;
    size_t step, n;
    float keep, white;
};

/* round(sum / 13) of nine 8-bit pixels, one of them five times: tests/unit/kernel/test_color.c tries all sums. */
#define THIRTEENTH(sum) (uint16_t)((uint32_t)(uint16_t)((sum) + 6) * SHARPEN_13 >> 16)

static void sharpen_u8(const struct sharpen *s) {
    size_t step = s->step;
    float keep = s->keep, white = s->white;
    for (size_t at = 0; at < s->n; at += SHARPEN_BLOCK) {
        const uint8_t *u = (const uint8_t *)s->up + at, *l = (const uint8_t *)s->row + at;
        const uint8_t *d = (const uint8_t *)s->down + at;
        uint8_t *out = (uint8_t *)s->out + at;
        size_t n = s->n - at < SHARPEN_BLOCK ? s->n - at : SHARPEN_BLOCK;
        uint16_t column[SHARPEN_BLOCK + 2 * SHARPEN_STEP];
        int16_t more[SHARPEN_BLOCK];
        for (size_t i = 0; i < n + 2 * step; i++)
            column[i] = (uint16_t)(u[i] + l[i] + d[i]);
        for (size_t i = 0; i < n; i++) {
            uint16_t v = l[i + step], sum = (uint16_t)(column[i] + column[i + step] + column[i + 2 * step] + 4 * v);
            more[i] = (int16_t)(THIRTEENTH(sum) - v);
        }
        size_t k = 0;
#ifdef COLOR_LANES
        for (; k + LANES <= n; k += LANES)
            store_bytes(out + k, vi_cut(vf_of(load_bytes(l + step + k)) + vf_of(load_words(more + k)) * vf_set(keep)));
#endif
        for (; k < n; k++)
            out[k] = (uint8_t)(int32_t)mldfi_held((float)l[k + step] + (float)more[k] * keep, white);
    }
}

#define A13 ((float)(1.0 / 13.0))
#define B13 ((float)(5.0 / 13.0))
/* The sum is exact, and a thirteenth of it is at least 1/26 away from where rounding turns: far more than the product's error. */
static void sharpen_u16(const struct sharpen *s) {
    const uint16_t *u = s->up, *l = s->row, *d = s->down;
    uint16_t *restrict out = s->out;
    size_t step = s->step, two = 2 * s->step;
    float keep = s->keep, white = s->white;
    for (size_t k = 0; k < s->n; k++) {
        int32_t sum =
            u[k] + u[k + step] + u[k + two] + l[k] + 5 * l[k + step] + l[k + two] + d[k] + d[k + step] + d[k + two];
        float v = (float)l[k + step], smooth = (float)(int32_t)((float)sum * A13 + 0.5f);
        out[k] = (uint16_t)(int32_t)mldfi_held(v + (smooth - v) * keep, white);
    }
}

static void sharpen_f32(const struct sharpen *s) {
    const float *u = s->up, *l = s->row, *d = s->down;
    float *restrict out = s->out;
    size_t step = s->step, two = 2 * s->step;
    float keep = s->keep, white = s->white;
    for (size_t k = 0; k < s->n; k++) {
        float v = l[k + step];
        float smooth = u[k] * A13 + u[k + step] * A13 + u[k + two] * A13 + l[k] * A13 + v * B13 + l[k + two] * A13 +
                       d[k] * A13 + d[k + step] * A13 + d[k + two] * A13;
        out[k] = mldfi_held(v + (smooth - v) * keep, white);
    }
}

/* Interleaved channels go together, alpha too, which is put back. */
static void keep_alpha(const struct pixels *p, size_t width, const uint8_t *row, uint8_t *out) {
    size_t bytes = mldf_dtype_bytes(p->dtype), at = (p->channels - 1) * bytes;
    for (size_t x = 0; x < width; x++, at += p->step * bytes)
        memcpy(out + at, row + at, bytes);
}

void COLOR_NAME(mldfi_sharpen)(const struct pixels *p, size_t width, double factor, void *rows) {
    size_t height = width ? p->count / width : 0, bytes = mldf_dtype_bytes(p->dtype), row = width * p->step * bytes;
    size_t planes = p->plane == 1 ? 1 : mldfi_colors(p);
    uint8_t *up = rows, *middle = up + row;
    if (height <= 2 || width <= 2 || p->channels == 0)
        return;
    for (size_t c = 0; c < planes; c++) {
        uint8_t *data = (uint8_t *)p->data + c * p->plane * bytes;
        memcpy(up, data, row);
        for (size_t y = 1; y + 1 < height; y++) {
            uint8_t *at = data + y * row, *was = up;
            struct sharpen s = {up,
                                middle,
                                at + row,
                                at + p->step * bytes,
                                p->step,
                                (width - 2) * p->step,
                                (float)(1.0 - factor),
                                mldfi_white(p->dtype)};
            memcpy(middle, at, row);
            if (p->dtype == MLDF_U8)
                sharpen_u8(&s);
            else if (p->dtype == MLDF_U16)
                sharpen_u16(&s);
            else
                sharpen_f32(&s);
            if (p->plane == 1 && p->channels % 2 == 0)
                keep_alpha(p, width, middle, at);
            up = middle;
            middle = was;
        }
    }
}
