/* Gaussian blur: every instruction set gives the bytes of the definition in kernel/blur.h, worked out here value by value. Pictures stand in memory
 * of their own size, so that the sanitizers see what is read or written beside them. */
#include <stdlib.h>

#include "check.h"
#include "kernel/blur.h"

static uint64_t seed;

static uint32_t below(uint32_t limit) {
    return (uint32_t)check_rand_below(&seed, limit);
}

static void fill(void *data, size_t count, size_t element) {
    for (size_t i = 0; i < count; i++) {
        uint32_t v = below(8) == 0 ? 65535 : below(65536);
        if (element == 1)
            ((uint8_t *)data)[i] = (uint8_t)v;
        else if (element == 2)
            ((uint16_t *)data)[i] = (uint16_t)v;
        else
            ((float *)data)[i] = (float)v / 50000.0f - 0.1f;
    }
}

static size_t mirror(ptrdiff_t i, size_t n) {
    while (n > 1 && (i < 0 || i >= (ptrdiff_t)n))
        i = i < 0 ? -i : 2 * ((ptrdiff_t)n - 1) - i;
    return n > 1 ? (size_t)i : 0;
}

/* One pass over a picture of whole numbers or of floats, `shift` bits being rounded off. */
struct pass {
    const struct blur_weights *weights;
    size_t width, height, channels;
    bool down;
};

static size_t neighbour(const struct pass *p, size_t x, size_t y, size_t c, ptrdiff_t by) {
    size_t to_x = p->down ? x : mirror((ptrdiff_t)x + by, p->width);
    size_t to_y = p->down ? mirror((ptrdiff_t)y + by, p->height) : y;
    return (to_y * p->width + to_x) * p->channels + c;
}

static void pass_whole(const struct pass *p, const uint64_t *in, unsigned shift, uint64_t *out) {
    for (size_t i = 0; i < p->width * p->height * p->channels; i++) {
        size_t c = i % p->channels, x = i / p->channels % p->width, y = i / p->channels / p->width;
        uint64_t sum = shift ? UINT64_C(1) << (shift - 1) : 0;
        ptrdiff_t radius = (ptrdiff_t)p->weights->radius;
        for (ptrdiff_t k = -radius; k <= radius; k++)
            sum += p->weights->whole[k < 0 ? -k : k] * in[neighbour(p, x, y, c, k)];
        out[i] = sum >> shift;
    }
}

static void pass_real(const struct pass *p, const float *in, float *out) {
    for (size_t i = 0; i < p->width * p->height * p->channels; i++) {
        size_t c = i % p->channels, x = i / p->channels % p->width, y = i / p->channels / p->width;
        float sum = p->weights->real[0] * in[i];
        for (ptrdiff_t k = 1; k <= (ptrdiff_t)p->weights->radius; k++)
            sum += p->weights->real[k] * (in[neighbour(p, x, y, c, -k)] + in[neighbour(p, x, y, c, k)]);
        out[i] = sum;
    }
}

static void expected(const struct blur *b, void *out) {
    size_t count = b->width * b->height * b->channels;
    struct pass across = {b->across, b->width, b->height, b->channels, false}, down = across;
    uint64_t *one = calloc(count, 8), *two = calloc(count, 8);
    down.weights = b->down;
    down.down = true;
    if (one && two && b->element == 4) {
        pass_real(&across, b->in, (float *)(void *)one);
        pass_real(&down, (const float *)(const void *)one, out);
    } else if (one && two) {
        for (size_t i = 0; i < count; i++)
            one[i] = b->element == 1 ? ((const uint8_t *)b->in)[i] : ((const uint16_t *)b->in)[i];
        pass_whole(&across, one, b->element == 1 ? 8 : 0, two);
        pass_whole(&down, two, b->element == 1 ? 24 : 32, one);
        for (size_t i = 0; i < count; i++) {
            if (b->element == 1)
                ((uint8_t *)out)[i] = (uint8_t)one[i];
            else
                ((uint16_t *)out)[i] = (uint16_t)one[i];
        }
    }
    CHECK(one && two);
    free(one);
    free(two);
}

static void check_blur(const struct blur *shape, const struct blur_weights *across, const struct blur_weights *down) {
    struct blur b = *shape;
    size_t count = b.width * b.height * b.channels, bytes = count * b.element;
    b.across = across;
    b.down = down;
    size_t scratch_bytes = mldfi_blur_scratch(&b);
    void *in = malloc(bytes), *want = malloc(bytes), *got = malloc(bytes), *scratch = malloc(scratch_bytes);
    REQUIRE(in && want && got && scratch);
    fill(in, count, b.element);
    b.in = in;
    b.out = got;
    expected(&b, want);
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(got, 0x5A, bytes);
        memset(scratch, 0xA5, scratch_bytes);
        mldfi_blur(k, &b, scratch);
        if (memcmp(want, got, bytes) != 0)
            check_fail(__FILE__, __LINE__, "%s: %zu x %zu x %zu of %zu bytes, radius %u and %u, differ", k->name,
                       b.width, b.height, b.channels, b.element, across->radius, down->radius);
    }
    free(in);
    free(want);
    free(got);
    free(scratch);
}

static void every_instruction_set_blurs_by_the_definition(void) {
    static const double sigmas[] = {0.05, 0.1, 0.3, 0.5, 1, 2, 5, 1000};
    for (int round = 0; round < 600; round++) {
        struct blur_weights across, down;
        struct blur b = {.width = 1 + below(round % 5 ? 50 : 300),
                         .height = 1 + below(round % 3 ? 8 : 40),
                         .channels = 1 + below(4),
                         .element = (size_t)1 << below(3)};
        double sigma = sigmas[below(8)];
        mldfi_blur_weights(below(round % 7 ? 12 : BLUR_MAX_RADIUS + 1), sigma, &across);
        mldfi_blur_weights(below(round % 11 ? 12 : BLUR_MAX_RADIUS + 1), sigma, &down);
        check_blur(&b, &across, &down);
    }
}

/* Rows that end just before, at and behind the ends of vectors of every length. */
static void rows_of_every_length(void) {
    struct blur_weights w;
    mldfi_blur_weights(3, 1, &w);
    for (size_t width = 1; width <= 140; width++)
        for (size_t element = 1; element <= 4; element *= 2)
            check_blur(&(struct blur){.width = width, .height = 3, .channels = 1, .element = element}, &w, &w);
}

static void sizes_beyond_memory_are_refused(void) {
    struct blur_weights w;
    mldfi_blur_weights(3, 1, &w);
    struct blur b = {.across = &w, .down = &w, .width = SIZE_MAX / 8, .height = 2, .channels = 4, .element = 4};
    CHECK_EQ_U64(SIZE_MAX, mldfi_blur_scratch(&b));
    b.width = 224;
    CHECK(mldfi_blur_scratch(&b) < 1 << 20);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(every_instruction_set_blurs_by_the_definition);
    RUN(rows_of_every_length);
    RUN(sizes_beyond_memory_are_refused);
    return check_end();
}
