/* Gaussian blur: every instruction set gives the bytes of the definition in kernel/blur.h, worked out here value by value. See kernel_images.h. */
#include "kernel/blur.h"

#include "kernel_images.h"

static size_t mirror(ptrdiff_t i, size_t n) {
    while (n > 1 && (i < 0 || i >= (ptrdiff_t)n))
        i = i < 0 ? -i : 2 * ((ptrdiff_t)n - 1) - i;
    return n > 1 ? (size_t)i : 0;
}

/* One pass over an image of whole numbers or of floats, `shift` bits being rounded off. */
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

struct blur_run {
    const struct blur *blur;
    void *scratch;
    size_t scratch_bytes;
};

static void run_blur(const struct kernels *k, void *user) {
    const struct blur_run *run = user;
    memset(run->scratch, 0xA5, run->scratch_bytes);
    mldfi_blur(k, run->blur, run->scratch);
}

static void check_blur(const struct blur *shape, const struct blur_weights *across, const struct blur_weights *down) {
    struct blur b = *shape;
    struct images p;
    char what[160];
    size_t count = b.width * b.height * b.channels;
    b.across = across;
    b.down = down;
    struct blur_run run = {&b, NULL, mldfi_blur_scratch(&b)};
    void *in = malloc(count * b.element);
    run.scratch = malloc(run.scratch_bytes);
    REQUIRE(images_begin(&p, count * b.element) && in && run.scratch);
    images_fill(in, count, b.element);
    b.in = in;
    b.out = p.got;
    expected(&b, p.want);
    snprintf(what, sizeof what, "%zu x %zu x %zu of %zu bytes, radius %u and %u", b.width, b.height, b.channels,
             b.element, across->radius, down->radius);
    images_compare(&p, run_blur, &run, what);
    images_end(&p);
    free(in);
    free(run.scratch);
}

static void every_instruction_set_blurs_by_the_definition(void) {
    static const double sigmas[] = {0.05, 0.1, 0.3, 0.5, 1, 2, 5, 1000};
    for (int round = 0; round < 600; round++) {
        struct blur_weights across, down;
        struct blur b = {.width = 1 + images_below(round % 5 ? 50 : 300),
                         .height = 1 + images_below(round % 3 ? 8 : 40),
                         .channels = 1 + images_below(4),
                         .element = (size_t)1 << images_below(3)};
        double sigma = sigmas[images_below(8)];
        mldfi_blur_weights(images_below(round % 7 ? 12 : BLUR_MAX_RADIUS + 1), sigma, &across);
        mldfi_blur_weights(images_below(round % 11 ? 12 : BLUR_MAX_RADIUS + 1), sigma, &down);
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
    images_seed = check_seed();
    RUN(every_instruction_set_blurs_by_the_definition);
    RUN(rows_of_every_length);
    RUN(sizes_beyond_memory_are_refused);
    return check_end();
}
