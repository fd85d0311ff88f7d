/* Resampling: against the sum in double, pieces against the whole by memcmp, every instruction set against the portable loops, exact lengths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel/kernels.h"
#include "kernel/sinc.h"
#include "util/random.h"

enum { COUNT = 3001 };
static const uint32_t rates[][2] = {{44100, 16000}, {16000, 44100}, {48000, 16000}, {16000, 8000}, {8000, 16000},
                                    {22050, 16000}, {16000, 17600}, {7, 5},         {1, 3},        {11025, 48000}};
enum { RATES = sizeof rates / sizeof *rates };

static float in[COUNT];

static void make_input(uint64_t seed) {
    struct rng rng;
    mldfi_rng_begin(&rng, seed, 0, 0, 1);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)mldfi_rng_normal(&rng);
}

static float *take(size_t count) {
    float *memory = malloc((count ? count : 1) * sizeof *memory);
    if (!memory)
        exit(3);
    return memory;
}

/* The piece [first, first + outputs), from the inputs that it says it needs and no others. */
static float *piece(const struct sinc *s, enum isa isa, uint64_t first, uint64_t outputs) {
    uint64_t from, count;
    mldfi_sinc_inputs(s, COUNT, first, outputs, &from, &count);
    float *part = take((size_t)count), *work = take(mldfi_sinc_work(s)), *out = take((size_t)outputs);
    memcpy(part, in + from, (size_t)count * sizeof *part);
    mldfi_sinc_run(s, mldfi_kernels(isa)->fft, part, from, count, first, outputs, out, work);
    free(part);
    free(work);
    return out;
}

/* torchaudio's sum, in double. */
static double exact(const struct sinc *s, uint64_t j) {
    double base = fmin(s->orig, s->new) * 0.99, sum = 0, at = (double)(j % s->new) / s->new;
    int64_t block = (int64_t)(j / s->new) * s->orig;
    for (int64_t k = -(int64_t)s->width; k < (int64_t)s->width + s->orig; k++) {
        double t = ((double)k / s->orig - at) * base;
        if (fabs(t) >= 6 || block + k < 0 || block + k >= COUNT)
            continue;
        double w = cos(t * 3.14159265358979323846 / 12), x = t * 3.14159265358979323846;
        sum += (double)in[block + k] * w * w * (fabs(x) < 1e-12 ? 1 : sin(x) / x) * base / s->orig;
    }
    return sum;
}

static void values_are_the_sums_in_double(void) {
    make_input(1);
    for (size_t r = 0; r < RATES; r++) {
        struct sinc s;
        REQUIRE(mldfi_sinc_new(rates[r][0], rates[r][1], &s, NULL) == MLDF_OK);
        uint64_t n = mldfi_sinc_length(&s, COUNT);
        CHECK_EQ_U64(((uint64_t)COUNT * rates[r][1] + rates[r][0] - 1) / rates[r][0], n);
        float *got = piece(&s, ISA_PORTABLE, 0, n);
        for (uint64_t j = 0; j < n; j += 1 + n / 300)
            if (!(fabs((double)got[j] - exact(&s, j)) < 1e-4)) /* the phase is rounded to a float */
                check_fail(__FILE__, __LINE__, "%u to %u: output %llu is %g, not %g", rates[r][0], rates[r][1],
                           (unsigned long long)j, (double)got[j], exact(&s, j));
        free(got);
        mldfi_sinc_free(&s);
    }
}

static void pieces_have_the_bits_of_the_whole(void) {
    uint64_t seed = check_seed();
    make_input(2);
    for (size_t r = 0; r < RATES; r++) {
        struct sinc s;
        REQUIRE(mldfi_sinc_new(rates[r][0], rates[r][1], &s, NULL) == MLDF_OK);
        uint64_t n = mldfi_sinc_length(&s, COUNT);
        float *whole = piece(&s, ISA_PORTABLE, 0, n);
        for (int k = 0; k < 40; k++) {
            int isa = (int)check_rand_below(&seed, ISA_COUNT);
            uint64_t first = check_rand_below(&seed, n), outputs = check_rand_below(&seed, n - first + 1);
            if (!mldfi_kernels((enum isa)isa))
                continue;
            float *got = piece(&s, (enum isa)isa, first, outputs);
            if (memcmp(got, whole + first, (size_t)outputs * sizeof *got) != 0)
                check_fail(__FILE__, __LINE__, "%u to %u, %d: [%llu, +%llu) differs", rates[r][0], rates[r][1], isa,
                           (unsigned long long)first, (unsigned long long)outputs);
            free(got);
        }
        free(whole);
        mldfi_sinc_free(&s);
    }
}

static void few_inputs_are_read(void) {
    struct sinc s;
    uint64_t from, count;
    REQUIRE(mldfi_sinc_new(44100, 16000, &s, NULL) == MLDF_OK);
    mldfi_sinc_inputs(&s, 1 << 30, 1600000, 16000, &from, &count);
    CHECK(from > 4410000 - 50 && from <= 4410000 - 17 && from + count < 4410000 + 44100 + 50);
    mldfi_sinc_inputs(&s, 100, 1600000, 16000, &from, &count);
    CHECK_EQ_U64(0, count);
    mldfi_sinc_free(&s);
}

static void large_filters_are_refused(void) {
    struct sinc s;
    CHECK(mldfi_sinc_new(1000003, 999983, &s, NULL) == MLDF_E_LIMIT);
    CHECK(mldfi_sinc_new(0, 5, &s, NULL) == MLDF_E_ARGUMENT);
    CHECK(mldfi_sinc_new(UINT32_MAX, 1, &s, NULL) == MLDF_E_LIMIT);
    CHECK(mldfi_sinc_new(1, UINT32_MAX, &s, NULL) == MLDF_E_LIMIT);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(values_are_the_sums_in_double);
    RUN(pieces_have_the_bits_of_the_whole);
    RUN(few_inputs_are_read);
    RUN(large_filters_are_refused);
    return check_end();
}
