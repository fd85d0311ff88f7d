/* Eight frames in eight lanes: spectra against a transform in double, and every instruction set against the portable loops by memcmp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel/fft.h"
#include "kernel/kernels.h"
#include "util/random.h"

enum { MOST = 2048 };
static const uint32_t sizes[] = {1,   2,   3,   4,   5,   6,   8,   9,    10,   12,   15,  16,
                                 20,  24,  25,  27,  30,  32,  48,  60,   75,   125,  160, 200,
                                 240, 256, 375, 400, 480, 512, 600, 1000, 1024, 1200, 2048};
enum { SIZES = sizeof sizes / sizeof *sizes };

static float frames[FFT_LANES][MOST];

static void make_frames(uint64_t seed) {
    struct rng rng;
    mldfi_rng_begin(&rng, seed, 0, 0, 1);
    for (int k = 0; k < FFT_LANES; k++)
        for (int i = 0; i < MOST; i++)
            frames[k][i] = (float)mldfi_rng_normal(&rng);
}

static void transform(const struct fft_kernels *k, const struct fft *fft, float *spectrum) {
    static float x[MOST * 8], work[MOST * 4 * 8];
    const float *rows[FFT_LANES];
    for (int i = 0; i < FFT_LANES; i++)
        rows[i] = frames[i];
    REQUIRE(mldfi_fft_work(fft) <= sizeof work / sizeof *work);
    k->load(rows, fft->n, NULL, x);
    k->real(fft, x, work, spectrum);
}

static void spectra_are_those_of_a_transform_in_double(void) {
    static float out[(MOST / 2 + 1) * 16];
    make_frames(7);
    for (size_t s = 0; s < SIZES; s++) {
        struct fft fft;
        uint32_t n = sizes[s];
        double worst = 0, most = 0;
        REQUIRE(mldfi_fft_new(n, &fft, NULL) == MLDF_OK);
        transform(mldfi_kernels(ISA_PORTABLE)->fft, &fft, out);
        for (uint32_t b = 0; b < fft.bins; b++)
            for (int lane = 0; lane < FFT_LANES; lane += 7) {
                double re = 0, im = 0;
                for (uint32_t i = 0; i < n; i++) {
                    double angle = 2 * 3.14159265358979323846 * (double)((uint64_t)b * i % n) / n;
                    re += (double)frames[lane][i] * cos(angle);
                    im -= (double)frames[lane][i] * sin(angle);
                }
                worst = fmax(worst, fmax(fabs(re - (double)out[b * 16 + (uint32_t)lane]),
                                         fabs(im - (double)out[b * 16 + 8 + (uint32_t)lane])));
                most = fmax(most, hypot(re, im));
            }
        if (!(worst <= 1e-6 * most))
            check_fail(__FILE__, __LINE__, "n %u: off by %g of %g", n, worst, most);
        mldfi_fft_free(&fft);
    }
}

static void sizes_with_other_factors_are_refused(void) {
    struct fft fft;
    CHECK(!mldfi_fft_fits(0) && !mldfi_fft_fits(7) && !mldfi_fft_fits(401) && !mldfi_fft_fits(FFT_MAX * 2ULL));
    CHECK(mldfi_fft_fits(FFT_MAX) && mldfi_fft_fits(400) && mldfi_fft_fits(1));
    CHECK(mldfi_fft_new(77, &fft, NULL) == MLDF_E_ARGUMENT);
}

/* Everything in the table on the same input. */
static void run_all(const struct fft_kernels *k, const struct fft *fft, float *out) {
    static float spectrum[(MOST / 2 + 1) * 16], power[(MOST / 2 + 1) * 8], x[MOST * 8];
    static const uint32_t first[] = {0, 1, 0, 0, 0, 1}, count[] = {1, 0, 1, 1, 1, 0}, at[] = {0, 1, 1, 2, 3, 4};
    static const float weights[] = {0.5F, 0.25F, 3, 1.0F / 3, 1};
    struct band_table bands = {6, first, count, at, weights};
    const float *rows[FFT_LANES];
    float *to[FFT_LANES], window[MOST];
    for (int i = 0; i < FFT_LANES; i++) {
        rows[i] = frames[i];
        to[i] = out;
        out += fft->bins;
    }
    for (uint32_t i = 0; i < fft->n; i++)
        window[i] = 1.0F / (float)(i + 3);
    transform(k, fft, spectrum);
    k->power(spectrum, fft->bins, false, power);
    k->store(power, fft->bins, to, FFT_LANES);
    k->power(spectrum, fft->bins, true, out);
    out += fft->bins * 8;
    k->bands(&bands, power, out);
    out += 6 * 8;
    k->log(power, out, fft->bins * 8 - 3, 1e-10F, 0.4342945F);
    out += fft->bins * 8;
    k->load(rows, fft->n, window, x);
    k->clean(x, fft->n, true, 0.97F, window);
    memcpy(out, x, fft->n * 8 * sizeof *out);
}

static void every_set_gives_the_same_bits(void) {
    size_t room = (size_t)MOST * 8 * 6;
    float *want = calloc(room, sizeof *want), *got = calloc(room, sizeof *got);
    REQUIRE(want && got);
    for (size_t s = 0; s < SIZES; s++) {
        struct fft fft;
        REQUIRE(mldfi_fft_new(sizes[s], &fft, NULL) == MLDF_OK);
        make_frames(s);
        memset(want, 0, room * sizeof *want);
        run_all(mldfi_kernels(ISA_PORTABLE)->fft, &fft, want);
        for (int isa = 1; isa < ISA_COUNT; isa++) {
            const struct kernels *k = mldfi_kernels((enum isa)isa);
            if (!k)
                continue;
            memset(got, 0, room * sizeof *got);
            run_all(k->fft, &fft, got);
            if (memcmp(want, got, room * sizeof *got) != 0)
                check_fail(__FILE__, __LINE__, "n %u: %s differs from portable", sizes[s], k->name);
        }
        mldfi_fft_free(&fft);
    }
    free(want);
    free(got);
}

static void logarithms_are_right_to_the_last_places(void) {
    static float in[4099], out[4099];
    struct rng rng;
    double worst = 0;
    mldfi_rng_begin(&rng, 3, 0, 0, 1);
    for (int i = 0; i < 4096; i++)
        in[i] = (float)exp(mldfi_rng_uniform(&rng, -87, 88));
    in[4096] = 0;
    in[4097] = NAN;
    in[4098] = INFINITY;
    mldfi_kernels(ISA_PORTABLE)->fft->log(in, out, 4099, 0x1p-126F, 1);
    for (int i = 0; i < 4096; i++)
        worst = fmax(worst, fabs((double)out[i] - log((double)in[i])) / fmax(1, fabs(log((double)in[i]))));
    CHECK(worst < 3e-7);
    CHECK(fabs((double)out[4096] + 126 * log(2)) < 1e-5);
    CHECK(isnan(out[4097]));
    CHECK(isinf(out[4098]));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(spectra_are_those_of_a_transform_in_double);
    RUN(sizes_with_other_factors_are_refused);
    RUN(every_set_gives_the_same_bits);
    RUN(logarithms_are_right_to_the_last_places);
    return check_end();
}
