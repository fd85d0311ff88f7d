/* Changes of colour: every instruction set gives the bytes of the portable loops, for every type, layout and number of channels; and what their
 * arithmetic relies on. */
#include <math.h>

#include "check.h"
#include "kernel/color.h"
#include "kernel/color_block.h"
#include "kernel/kernels.h"

enum { PIXELS_MOST = 1000, CHANNELS_MOST = 4 };
static uint64_t seed;

struct image_case {
    mldf_dtype dtype;
    size_t count, channels;
    bool planar;
};

static size_t element(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 1 : dtype == MLDF_U16 ? 2 : 4;
}

static struct pixels pixels_of(const struct image_case *c, void *data) {
    return (struct pixels){
        data, c->dtype, c->count, c->channels, c->planar ? 1 : c->channels, c->planar ? c->count : 1};
}

/* Colours of all kinds: gray, pure, and for floats some beyond 0..1 and some that are no numbers. */
static void fill(const struct image_case *c, void *data) {
    uint64_t state = seed + c->count * 31 + c->channels;
    for (size_t i = 0; i < c->count * c->channels; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint32_t v = (uint32_t)(state >> 40);
        if (i % 17 == 0)
            v = 0;
        if (i % 19 == 0)
            v = 0xffff;
        if (c->dtype == MLDF_U8)
            ((uint8_t *)data)[i] = (uint8_t)v;
        else if (c->dtype == MLDF_U16)
            ((uint16_t *)data)[i] = (uint16_t)v;
        else
            ((float *)data)[i] = i % 97 == 5 ? NAN : i % 89 == 7 ? INFINITY : (float)(v & 0xffff) / 50000.0f - 0.1f;
    }
}

/* All changes, one after the other; NaNs differ in their bits. */
static void change(const struct kernels *k, const struct pixels *p, double value, float *mean) {
    *mean = mldfi_recolor(k, p, NULL, 0, true);
    struct recolor steps[] = {{RECOLOR_BLEND, (float)value, *mean * (float)(1.0 - value)},
                              mldfi_saturation(value),
                              {RECOLOR_HUE, (float)(value > 2 ? 0.5 : value * 0.25), 0},
                              {RECOLOR_GRAY, 0, 0}};
    (void)mldfi_recolor(k, p, steps, 1, false);
    (void)mldfi_recolor(k, p, steps + 1, value > 1 ? 3 : 2, false);
}

static void same_floats(const float *want, const float *got, size_t count, const char *isa) {
    for (size_t i = 0; i < count; i++)
        if (!(isnan(want[i]) && isnan(got[i])) && memcmp(&want[i], &got[i], 4) != 0) {
            check_fail(__FILE__, __LINE__, "%s: value %zu is %a, expected %a", isa, i, (double)got[i], (double)want[i]);
            return;
        }
}

static void check_case(const struct image_case *c, double value) {
    static _Alignas(64) uint8_t want[PIXELS_MOST * CHANNELS_MOST * 4], got[sizeof want];
    float mean, wanted;
    size_t bytes = c->count * c->channels * element(c->dtype);
    struct pixels p = pixels_of(c, want), q = pixels_of(c, got);
    fill(c, want);
    change(mldfi_kernels(ISA_PORTABLE), &p, value, &wanted);
    for (int isa = ISA_PORTABLE + 1; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(got, 0xA5, sizeof got);
        fill(c, got);
        change(k, &q, value, &mean);
        same_floats(&wanted, &mean, 1, k->name);
        if (c->dtype == MLDF_F32)
            same_floats((const float *)(const void *)want, (const float *)(const void *)got, c->count * c->channels,
                        k->name);
        else if (memcmp(want, got, bytes) != 0)
            check_fail(__FILE__, __LINE__, "%s: %zu pixels of %zu channels, type %d, planar %d, by %g differ", k->name,
                       c->count, c->channels, (int)c->dtype, c->planar, value);
        if (bytes < sizeof got)
            CHECK_EQ_INT(0xA5, got[bytes]); /* nothing behind the image is touched */
    }
}

static void every_instruction_set_gives_the_same_colours(void) {
    static const mldf_dtype dtypes[] = {MLDF_U8, MLDF_U16, MLDF_F32};
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 200, 271, PIXELS_MOST};
    static const double values[] = {0, 0.3, 0.99, 1.0, 1.7, 40};
    for (size_t d = 0; d < 3; d++)
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
            for (size_t channels = 1; channels <= CHANNELS_MOST; channels++)
                for (int planar = 0; planar < 2; planar++)
                    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
                        check_case(&(struct image_case){dtypes[d], counts[n], channels, planar}, values[v]);
}

/* Several steps in one pass give what a pass for each gives, also their mean, also where an image ends inside a group; every colour of 8 bits with
 * five bits each is among them. */
static void steps_together_are_steps_in_turn(void) {
    enum { COLOURS = 32 * 32 * 32 };
    static uint8_t one[COLOURS * 3], all[COLOURS * 3];
    static const size_t cut[] = {0, 1, 7, 13};
    struct recolor steps[] = {{RECOLOR_BLEND, 1.3f, -20}, mldfi_saturation(1.6), {RECOLOR_HUE, -0.37f, 0},
                              mldfi_saturation(0.4),      {RECOLOR_GRAY, 0, 0},  {RECOLOR_BLEND, 0.7f, 30}};
    enum { STEPS = sizeof steps / sizeof steps[0] };
    for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        for (size_t i = 0; k && i < STEPS * 4; i++) {
            size_t from = i / 4, count = COLOURS - cut[i % 4];
            for (size_t c = 0; c < COLOURS; c++)
                for (size_t j = 0; j < 3; j++)
                    one[3 * c + j] = (uint8_t)((c >> 5 * j & 31) * 255 / 31);
            memcpy(all, one, sizeof all);
            struct pixels p = {one, MLDF_U8, count, 3, 3, 1}, q = {all, MLDF_U8, count, 3, 3, 1};
            for (size_t s = from; s < STEPS; s++)
                (void)mldfi_recolor(mldfi_kernels(ISA_PORTABLE), &p, steps + s, 1, false);
            float mean = mldfi_recolor(k, &q, steps + from, STEPS - from, true);
            float want = mldfi_recolor(mldfi_kernels(ISA_PORTABLE), &p, NULL, 0, true);
            CHECK(memcmp(one, all, sizeof all) == 0);
            same_floats(&want, &mean, 1, k->name);
        }
    }
}

/* Tables of 8 bits: every instruction set, layout and rest of a group; alpha and what lies behind stay. */
static void tables_give_each_colour_its_own(void) {
    static uint8_t in[PIXELS_MOST * CHANNELS_MOST + 1], got[sizeof in], table[3][256];
    static const size_t counts[] = {0, 1, 21, 22, 64, 65, 127, 341, 342, PIXELS_MOST};
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)check_rand_below(&seed, 256);
    for (int alike = 0; alike < 2; alike++) {
        for (size_t i = 0; i < 3 * 256; i++)
            table[i / 256][i % 256] = alike ? (uint8_t)(i % 256 * 7) : (uint8_t)check_rand_below(&seed, 256);
        for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++)
            for (size_t n = 0; mldfi_kernels((enum isa)isa) && n < sizeof counts / sizeof counts[0]; n++)
                for (size_t layout = 0; layout < 2 * CHANNELS_MOST; layout++) {
                    struct image_case c = {MLDF_U8, counts[n], layout / 2 + 1, layout % 2};
                    struct pixels p = pixels_of(&c, got);
                    size_t colors = mldfi_colors(&p), wrong = 0;
                    memcpy(got, in, sizeof in);
                    mldfi_kernels((enum isa)isa)->byte_tables(&p, (const uint8_t(*)[256])table);
                    for (size_t i = 0; i < sizeof in; i++) {
                        size_t of = c.planar ? (c.count ? i / c.count : c.channels) : i % c.channels;
                        bool mapped = i < c.count * c.channels && of < colors;
                        wrong += got[i] != (mapped ? table[of][in[i]] : in[i]);
                    }
                    CHECK_EQ_U64(0, wrong);
                }
    }
}

/* From an image of three channels into one of one, and alpha stays what it was. */
static void gray_goes_into_images_of_other_channels(void) {
    uint8_t rgba[40 * 4], gray[40 * 2];
    for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        for (size_t i = 0; i < sizeof rgba; i++)
            rgba[i] = (uint8_t)(i * 7);
        memset(gray, 9, sizeof gray);
        struct pixels from = {rgba, MLDF_U8, 40, 4, 4, 1}, to = {gray, MLDF_U8, 40, 2, 2, 1};
        k->gray(&from, &to);
        for (size_t i = 0; i < 40; i++) {
            float v = (float)rgba[4 * i] * 0.2989f + (float)rgba[4 * i + 1] * 0.587f + (float)rgba[4 * i + 2] * 0.114f;
            CHECK_EQ_INT((int)v, gray[2 * i]);
            CHECK_EQ_INT(9, gray[2 * i + 1]);
        }
    }
}

static void a_whole_number_over_white_is_two_products(void) {
    for (uint32_t v = 0; v < 65536; v++) {
        float x = (float)v;
        if (v < 256)
            CHECK(x * COLOR_HI_8 + x * COLOR_LO_8 == x / 255.0f);
        CHECK(x * COLOR_HI_16 + x * COLOR_LO_16 == x / 65535.0f);
    }
}

static void a_thirteenth_of_bytes_is_a_product(void) {
    for (uint32_t sum = 0; sum <= 13 * 255; sum++)
        CHECK_EQ_U64((sum + 6) / 13, (sum + 6) * SHARPEN_13 >> 16);
}

/* ---- Sharpness ------------------------------------------------------------------------------------------------------------------------- */

static float value_at(const struct pixels *p, size_t i) {
    return p->dtype == MLDF_U8    ? (float)((const uint8_t *)p->data)[i]
           : p->dtype == MLDF_U16 ? (float)((const uint16_t *)p->data)[i]
                                  : ((const float *)p->data)[i];
}

static void sharpen_plainly(const struct pixels *from, size_t width, double factor, const struct pixels *to) {
    const float a = (float)(1.0 / 13.0), b = (float)(5.0 / 13.0), keep = (float)(1.0 - factor);
    size_t colors = mldfi_colors(from), height = from->count / width;
    for (size_t i = 0; i < from->count * colors; i++) {
        size_t c = i % colors, x = i / colors % width, y = i / colors / width;
        size_t at = (y * width + x) * from->step + c * from->plane;
        if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height)
            continue;
        float real = 0, v = value_at(from, at), result;
        double whole = 0;
        for (size_t k = 0; k < 9; k++) {
            float tap = value_at(from, ((y + k / 3 - 1) * width + x + k % 3 - 1) * from->step + c * from->plane);
            real = k ? real + tap * (k == 4 ? b : a) : tap * a;
            whole += (double)tap * (k == 4 ? 5 : 1);
        }
        result = mldfi_held(v + ((from->dtype == MLDF_F32 ? real : (float)floor(whole / 13 + 0.5)) - v) * keep,
                            mldfi_white(from->dtype));
        if (from->dtype == MLDF_U8)
            ((uint8_t *)to->data)[at] = (uint8_t)result;
        else if (from->dtype == MLDF_U16)
            ((uint16_t *)to->data)[at] = (uint16_t)result;
        else
            ((float *)to->data)[at] = result;
    }
}

static void check_sharpen(const struct image_case *c, size_t width, double factor) {
    static _Alignas(64) uint8_t in[PIXELS_MOST * CHANNELS_MOST * 4], want[sizeof in], got[sizeof in], rows[sizeof in];
    size_t bytes = c->count * c->channels * element(c->dtype);
    struct pixels from = pixels_of(c, in), p = pixels_of(c, want), q = pixels_of(c, got);
    fill(c, in);
    memcpy(want, in, bytes);
    sharpen_plainly(&from, width, factor, &p);
    for (int isa = ISA_PORTABLE; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(got, 0xA5, sizeof got);
        memcpy(got, in, bytes);
        k->sharpen(&q, width, factor, rows);
        if (c->dtype == MLDF_F32)
            same_floats((const float *)(const void *)want, (const float *)(const void *)got, c->count * c->channels,
                        k->name);
        else if (memcmp(want, got, bytes) != 0)
            check_fail(__FILE__, __LINE__, "%s: %zu pixels, %zu a row, %zu channels, type %d, planar %d, by %g differ",
                       k->name, c->count, width, c->channels, (int)c->dtype, c->planar, factor);
        if (bytes < sizeof got)
            CHECK_EQ_INT(0xA5, got[bytes]);
    }
}

static void every_instruction_set_sharpens_by_the_definition(void) {
    static const mldf_dtype dtypes[] = {MLDF_U8, MLDF_U16, MLDF_F32};
    static const size_t widths[] = {1, 2, 3, 5, 16, 18, 43, 44, 131, 200};
    for (size_t d = 0; d < 3; d++)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
            for (size_t height = 1; height <= 5; height++)
                for (size_t channels = 1; channels <= CHANNELS_MOST; channels++)
                    for (int planar = 0; planar < 2; planar++)
                        for (int part = 0; part <= 4; part++)
                            check_sharpen(&(struct image_case){dtypes[d], widths[w] * height, channels, planar != 0},
                                          widths[w], part * 0.47);
}

/* ---- Values for themselves, in 8 bits -------------------------------------------------------------------------------------------------- */

/* What has a short cut for images without alpha gives the same colours as with one beside them. */
static void short_cuts_change_nothing(void) {
    enum { COUNT = 331 };
    static uint8_t rgb[COUNT * 3], rgba[COUNT * 4];
    static const float marks[] = {-1, 0, 0.5f, 1, 7.5f, 128, 254.5f, 255, 256};
    for (int kind = 0; kind < 4; kind++)
        for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
            struct tone tone = {kind == 0 ? TONE_SOLARIZE : TONE_POSTERIZE, kind == 0 ? marks[m] : (float)m, 0};
            struct pixels p = {rgb, MLDF_U8, COUNT, 3, 3, 1}, q = {rgba, MLDF_U8, COUNT, 4, 4, 1};
            size_t wrong = 0;
            for (size_t i = 0; i < COUNT; i++)
                for (size_t c = 0; c < 4; c++) {
                    uint8_t v = (uint8_t)(check_rand_below(&seed, 200) + 10 * c);
                    rgba[4 * i + c] = v;
                    rgb[3 * i + (c < 3 ? c : 2)] = c < 3 ? v : rgb[3 * i + 2];
                }
            for (int side = 0; side < 2; side++) {
                const struct pixels *s = side ? &q : &p;
                if (kind == 2)
                    mldfi_autocontrast(mldfi_kernels_best(), s);
                else if (kind == 3)
                    mldfi_equalize(mldfi_kernels_best(), s);
                else
                    mldfi_tone(mldfi_kernels_best(), s, &tone, false);
            }
            for (size_t i = 0; i < COUNT * 3; i++)
                wrong += rgb[i] != rgba[i / 3 * 4 + i % 3];
            CHECK_EQ_U64(0, wrong);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(every_instruction_set_gives_the_same_colours);
    RUN(steps_together_are_steps_in_turn);
    RUN(tables_give_each_colour_its_own);
    RUN(gray_goes_into_images_of_other_channels);
    RUN(a_whole_number_over_white_is_two_products);
    RUN(a_thirteenth_of_bytes_is_a_product);
    RUN(every_instruction_set_sharpens_by_the_definition);
    RUN(short_cuts_change_nothing);
    return check_end();
}
