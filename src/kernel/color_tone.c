/* color.h: what happens to each value by itself. For u8 it is worked out for the 256 values and then looked up. */
#include <math.h>

#include "kernel/color_block.h"
#include "kernel/kernels.h"
#include "util/bytes.h"
#include "util/math.h"

static float gamma_value(const struct tone *t, mldf_dtype dtype, float v) {
    float white = mldfi_white(dtype), power = (float)mldfi_pow((double)(v / white), (double)t->a);
    if (t->b < 1 || t->b > 1)
        power = mldfi_held(power * t->b, 1.0f);
    return dtype == MLDF_F32 ? power : mldfi_held(power * (float)((double)white + 1.0 - 1e-3), white);
}

/* ---- One value ------------------------------------------------------------------------------------------------------------ */

static float tone_value(const struct tone *t, mldf_dtype dtype, float v) {
    float white = mldfi_white(dtype), levels;
    uint32_t bits, of;
    switch (t->kind) {
    case TONE_BLEND:
        return mldfi_held(v * t->a + t->b, white);
    case TONE_STRETCH:
        return mldfi_held((v - t->a) / t->b, white);
    case TONE_SOLARIZE:
        return v >= t->a ? white - v : v;
    case TONE_GAMMA:
        return gamma_value(t, dtype, v);
    case TONE_POSTERIZE:
    default:
        bits = (uint32_t)t->a;
        if (dtype == MLDF_F32) {
            levels = (float)(1u << bits);
            return mldfi_held(floorf(v * levels), levels - 1.0f) * (1.0f / levels);
        }
        of = dtype == MLDF_U8 ? 8 : 16;
        return bits >= of ? v : (float)((uint32_t)v >> (of - bits) << (of - bits));
    }
}

/* ---- Tables ------------------------------------------------------------------------------------------------------------------ */

/* True when every value is alike, whatever its colour, and no table is needed. */
static bool plain_u8(const struct pixels *p, const struct tone *t) {
    uint8_t *d = p->data, mask;
    size_t n = p->count * p->channels;
    uint32_t least = 0;
    if (t->kind == TONE_SOLARIZE) {
        while (least < 256 && !((float)least >= t->a))
            least++;
        for (size_t k = 0; least < 256 && k < n; k++)
            d[k] = d[k] >= (uint8_t)least ? (uint8_t)(255 - d[k]) : d[k];
        return true;
    }
    if (t->kind != TONE_POSTERIZE)
        return false;
    mask = t->a >= 8 ? 0xff : (uint8_t)(0xff00u >> (uint32_t)t->a);
    for (size_t k = 0; k < n; k++)
        d[k] &= mask;
    return true;
}

static void tone_u8(const struct kernels *kernels, const struct pixels *p, const struct tone *tones, bool each) {
    size_t colors = mldfi_colors(p);
    uint8_t table[3][256] = {{0}};
    if (!each && colors == p->channels && plain_u8(p, &tones[0])) /* no alpha: the layout does not matter */
        return;
    for (size_t c = 0; c < colors; c++)
        for (int v = 0; v < 256; v++)
            table[c][v] = c == 0 || each ? (uint8_t)tone_value(&tones[c], MLDF_U8, (float)v) : table[0][v];
    kernels->byte_tables(p, (const uint8_t(*)[256])table);
}

void mldfi_tone(const struct kernels *kernels, const struct pixels *p, const struct tone *tones, bool each) {
    float v[COLOR_BLOCK];
    if (p->dtype == MLDF_U8) {
        tone_u8(kernels, p, tones, each);
        return;
    }
    for (size_t c = 0; c < mldfi_colors(p); c++)
        for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
            size_t n = mldfi_block_size(p, at);
            mldfi_block_load(p, c, at, n, v);
            for (size_t k = 0; k < n; k++)
                v[k] = tone_value(&tones[each ? c : 0], p->dtype, v[k]);
            mldfi_block_store(p, c, at, n, v);
        }
}

/* ---- Whole images ---------------------------------------------------------------------------------------------------------- */

/* Of gray and RGB in 8 bits: the ends of 48 values in turn are found beside each other, which are those of a colour when it comes back every
 * third time. False for other images. */
static bool ends_u8(const struct pixels *p, float least[3], float most[3]) {
    enum { TURN = 48 };
    const uint8_t *d = p->data;
    uint8_t low[TURN], high[TURN];
    size_t n = p->count * p->channels, k = 0, colors = mldfi_colors(p);
    if (p->dtype != MLDF_U8 || p->step != colors || p->channels != colors)
        return false;
    for (size_t j = 0; j < TURN; j++)
        low[j] = high[j] = d[j % colors];
    for (; k + TURN <= n; k += TURN)
        for (size_t j = 0; j < TURN; j++) {
            low[j] = d[k + j] < low[j] ? d[k + j] : low[j];
            high[j] = d[k + j] > high[j] ? d[k + j] : high[j];
        }
    for (size_t j = 0; k + j < n; j++) {
        low[j] = d[k + j] < low[j] ? d[k + j] : low[j];
        high[j] = d[k + j] > high[j] ? d[k + j] : high[j];
    }
    for (size_t j = colors; j < TURN; j++) {
        low[j % colors] = low[j] < low[j % colors] ? low[j] : low[j % colors];
        high[j % colors] = high[j] > high[j % colors] ? high[j] : high[j % colors];
    }
    for (size_t c = 0; c < colors; c++) {
        least[c] = (float)low[c];
        most[c] = (float)high[c];
    }
    return true;
}

static void ends_of(const struct pixels *p, size_t c, float *low, float *high) {
    float v[COLOR_BLOCK], least, most;
    mldfi_block_load(p, c, 0, 1, v);
    least = most = v[0];
    for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
        size_t n = mldfi_block_size(p, at);
        mldfi_block_load(p, c, at, n, v);
        for (size_t k = 0; k < n; k++) {
            least = v[k] < least ? v[k] : least;
            most = v[k] > most ? v[k] : most;
        }
    }
    *low = least;
    *high = most;
}

void mldfi_autocontrast(const struct kernels *kernels, const struct pixels *p) {
    struct tone tones[3];
    float least[3], most[3], per_white = (float)(1.0 / (double)mldfi_white(p->dtype));
    if (p->count == 0)
        return;
    bool found = ends_u8(p, least, most);
    for (size_t c = 0; c < mldfi_colors(p); c++) {
        if (!found)
            ends_of(p, c, &least[c], &most[c]);
        tones[c].kind = TONE_STRETCH;
        tones[c].a = most[c] > least[c] ? least[c] : 0.0f;
        tones[c].b = most[c] > least[c] ? (most[c] - least[c]) * per_white : 1.0f;
    }
    mldfi_tone(kernels, p, tones, true);
}

/* The 8-bit value that stands for one of another type. */
static inline uint8_t byte_of(float v, mldf_dtype dtype) {
    float x = dtype == MLDF_U8 ? v : dtype == MLDF_U16 ? v * (1.0f / 256.0f) : mldfi_held(v * 255.999f, 255.0f);
    return x >= 0 ? (uint8_t)(int32_t)x : 0;
}

/* False when the colour has too few pixels beside its lightest value to be spread. */
static bool equal_table(const uint64_t count[256], uint64_t pixels, uint8_t table[256]) {
    uint64_t below = 0, step;
    int lightest = 255;
    while (lightest > 0 && count[lightest] == 0)
        lightest--;
    step = (pixels - count[lightest]) / 255;
    if (step == 0)
        return false;
    for (int v = 0; v < 256; v++) { /* divisions of 32 bits take half of the time */
        uint64_t sum = below + step / 2, to = pixels <= UINT32_MAX / 2 ? (uint32_t)sum / (uint32_t)step : sum / step;
        table[v] = (uint8_t)(to > 255 ? 255 : to);
        below += count[v];
    }
    return true;
}

/* Of one colour: four counts in turn, so that a value that comes again does not wait for itself. */
enum { COUNTS = 4 };
static void count_u8(const struct pixels *p, size_t c, uint32_t count[COUNTS][256]) {
    const uint8_t *d = (const uint8_t *)p->data + c * p->plane;
    size_t k = 0, step = p->step;
    for (; k + COUNTS <= p->count; k += COUNTS, d += COUNTS * step)
        for (size_t j = 0; j < COUNTS; j++)
            count[j][d[j * step]]++;
    for (; k < p->count; k++, d += step)
        count[0][d[0]]++;
}

/* Of RGB: eight pixels are three words, whose bytes belong to twelve counts, twice. */
static void count_rgb8(const struct pixels *p, uint32_t count[3 * COUNTS][256]) {
    const uint8_t *d = p->data;
    size_t k = 0;
    for (; k + 8 <= p->count; k += 8, d += 24) {
        uint64_t v[3] = {mldfi_load_u64(d), mldfi_load_u64(d + 8), mldfi_load_u64(d + 16)};
        /* Written out, so that it stays a number of additions. */
#pragma GCC unroll 24
        for (size_t j = 0; j < 24; j++)
            count[j % (3 * COUNTS)][v[j / 8] >> 8 * (j % 8) & 255]++;
    }
    for (; k < p->count; k++, d += 3)
        for (size_t c = 0; c < 3; c++)
            count[c][d[c]]++;
}

/* The counts of colour c are apart by the number of colours. */
static void equalize_u8(const struct kernels *kernels, const struct pixels *p) {
    uint8_t table[3][256] = {{0}};
    uint32_t part[3 * COUNTS][256] = {{0}};
    bool together = p->channels == 3 && p->step == 3;
    size_t apart = together ? 3 : 1;
    if (together)
        count_rgb8(p, part);
    for (size_t c = 0; c < mldfi_colors(p); c++) {
        uint64_t count[256];
        uint32_t(*of)[256] = together ? part + c : part + c * COUNTS;
        if (!together)
            count_u8(p, c, of);
        for (int v = 0; v < 256; v++)
            count[v] = (uint64_t)of[0][v] + of[apart][v] + of[2 * apart][v] + of[3 * apart][v];
        if (!equal_table(count, p->count, table[c]))
            for (int v = 0; v < 256; v++)
                table[c][v] = (uint8_t)v;
    }
    kernels->byte_tables(p, (const uint8_t(*)[256])table);
}

void mldfi_equalize(const struct kernels *kernels, const struct pixels *p) {
    float v[COLOR_BLOCK];
    uint8_t table[256];
    if (p->dtype == MLDF_U8 && p->count <= UINT32_MAX) {
        equalize_u8(kernels, p);
        return;
    }
    for (size_t c = 0; c < mldfi_colors(p); c++) {
        uint64_t count[256] = {0};
        for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
            size_t n = mldfi_block_size(p, at);
            mldfi_block_load(p, c, at, n, v);
            for (size_t k = 0; k < n; k++)
                count[byte_of(v[k], p->dtype)]++;
        }
        if (!equal_table(count, p->count, table))
            continue;
        for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
            size_t n = mldfi_block_size(p, at);
            mldfi_block_load(p, c, at, n, v);
            for (size_t k = 0; k < n; k++) {
                float to = (float)table[byte_of(v[k], p->dtype)];
                v[k] = p->dtype == MLDF_U8 ? to : p->dtype == MLDF_U16 ? to * 257.0f : to / 255.0f;
            }
            mldfi_block_store(p, c, at, n, v);
        }
    }
}
