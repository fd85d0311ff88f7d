/* color.h: what happens to each value by itself. For u8 it is worked out for the 256 values and then looked up. */
#include <math.h>

#include "kernel/color_block.h"
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

static void look_up(const struct pixels *p, size_t channel, const uint8_t table[256]) {
    uint8_t *d = (uint8_t *)p->data + channel * p->plane;
    for (size_t k = 0; k < p->count; k++)
        d[k * p->step] = table[d[k * p->step]];
}

static void tone_u8(const struct pixels *p, const struct tone *tones, bool each) {
    uint8_t table[256];
    for (size_t c = 0; c < mldfi_colors(p); c++) {
        if (c == 0 || each)
            for (int v = 0; v < 256; v++)
                table[v] = (uint8_t)tone_value(&tones[c], MLDF_U8, (float)v);
        if (!each && mldfi_colors(p) == p->channels) { /* no alpha, one table: the layout does not matter */
            uint8_t *d = p->data;
            for (size_t k = 0; k < p->count * p->channels; k++)
                d[k] = table[d[k]];
            return;
        }
        look_up(p, c, table);
    }
}

void mldfi_tone(const struct pixels *p, const struct tone *tones, bool each) {
    float v[COLOR_BLOCK];
    if (p->dtype == MLDF_U8) {
        tone_u8(p, tones, each);
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

/* ---- Whole pictures ---------------------------------------------------------------------------------------------------------- */

void mldfi_autocontrast(const struct pixels *p) {
    struct tone tones[3];
    float v[COLOR_BLOCK], per_white = (float)(1.0 / (double)mldfi_white(p->dtype));
    if (p->count == 0)
        return;
    for (size_t c = 0; c < mldfi_colors(p); c++) {
        float least, most;
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
        tones[c].kind = TONE_STRETCH;
        tones[c].a = most > least ? least : 0.0f;
        tones[c].b = most > least ? (most - least) * per_white : 1.0f;
    }
    mldfi_tone(p, tones, true);
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
    for (int v = 0; v < 256; v++) {
        uint64_t to = (below + step / 2) / step;
        table[v] = (uint8_t)(to > 255 ? 255 : to);
        below += count[v];
    }
    return true;
}

void mldfi_equalize(const struct pixels *p) {
    float v[COLOR_BLOCK];
    uint8_t table[256];
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
        if (p->dtype == MLDF_U8) {
            look_up(p, c, table);
            continue;
        }
        for (size_t at = 0; at < p->count; at += COLOR_BLOCK) {
            size_t n = mldfi_block_size(p, at);
            mldfi_block_load(p, c, at, n, v);
            for (size_t k = 0; k < n; k++) {
                float to = (float)table[byte_of(v[k], p->dtype)];
                v[k] = p->dtype == MLDF_U16 ? to * 257.0f : to / 255.0f;
            }
            mldfi_block_store(p, c, at, n, v);
        }
    }
}
