/* The tables of a Fourier transform (fft.h): which passes it takes, and the factors between them. */
#include "kernel/fft.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

#define TAU 6.28318530717958647692

bool mldfi_fft_fits(uint64_t n) {
    if (n == 0 || n > FFT_MAX)
        return false;
    for (unsigned f = 2; f <= 5; f++)
        while (f != 4 && n % f == 0)
            n /= f;
    return n == 1;
}

/* cos and sin of 2πk / n, rounded once. */
static void put_turn(float *out, uint64_t k, uint64_t n) {
    double angle = TAU * (double)(k % n) / (double)n;
    out[0] = (float)mldfi_cos(angle);
    out[1] = (float)mldfi_sin(angle);
}

/* Radix 4 first: its inner loops are the shortest there, and its factors the fewest. */
static uint32_t next_radix(uint32_t left) {
    return left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : 5;
}

mldf_status mldfi_fft_new(uint32_t n, struct fft *out, mldf_error *err) {
    size_t used = 0;
    *out = (struct fft){.n = n, .bins = n / 2 + 1, .points = n % 2 ? n : n / 2};
    if (!mldfi_fft_fits(n))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "n_fft %" PRIu32 "; sizes are products of 2, 3 and 5 up to %d, such as 400, 480, 512", n,
                          FFT_MAX);
    out->tables =
        mldfi_alloc_zero((size_t)n * 4 + 16, sizeof *out->tables, err); /* Σ 2(r - 1)(m - 1) <= 2n, and the turn */
    if (!out->tables)
        return MLDF_E_MEMORY;
    for (uint32_t left = out->points, stride = 1; left > 1;) {
        uint32_t radix = next_radix(left);
        struct fft_pass *p = &out->passes[out->pass_count++];
        *p = (struct fft_pass){radix, left / radix, stride, used};
        for (uint32_t i = 1; i < p->count; i++)
            for (uint32_t k = 1; k < radix; k++, used += 2)
                put_turn(out->tables + used, (uint64_t)i * k, left);
        left /= radix;
        stride *= radix;
    }
    out->turn = used;
    for (uint32_t k = 0; n % 2 == 0 && k <= out->points / 2; k++, used += 2)
        put_turn(out->tables + used, k, n);
    return MLDF_OK;
}

void mldfi_fft_free(struct fft *fft) {
    free(fft->tables);
    fft->tables = NULL;
}
