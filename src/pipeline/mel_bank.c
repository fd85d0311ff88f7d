/* Mel bands as librosa, torchaudio and Kaldi have them: librosa's and Kaldi's computed in double and rounded once, torchaudio's in float as it does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

/* Slaney's scale: 3 mel for 200 Hz up to 1 kHz, which is 15 mel; then 27 mel for a factor of 6.4. */
#define SLANEY_STEP (200.0 / 3)
#define SLANEY_BREAK 1000.0
#define SLANEY_LOG (1.8562979903656263 / 27) /* ln 6.4 / 27 */

static double to_mel(enum mel_scale scale, double hz) {
    if (scale == MEL_SLANEY)
        return hz < SLANEY_BREAK ? hz / SLANEY_STEP : 15 + mldfi_log(hz / SLANEY_BREAK) / SLANEY_LOG;
    return (scale == MEL_HTK ? 2595 / 2.302585092994045684 : 1127) * mldfi_log(1 + hz / 700);
}

static double to_hz(enum mel_scale scale, double mel) {
    if (scale == MEL_SLANEY)
        return mel < 15 ? mel * SLANEY_STEP : SLANEY_BREAK * mldfi_exp((mel - 15) * SLANEY_LOG);
    return 700 * (mldfi_exp(mel / (scale == MEL_HTK ? 2595 / 2.302585092994045684 : 1127)) - 1);
}

/* The triangle over [left, right] with its tip at `middle`. */
static double triangle(double x, double left, double middle, double right) {
    double up = (x - left) / (middle - left), down = (right - x) / (right - middle), least = up < down ? up : down;
    return least > 0 ? least : 0;
}

struct bank {
    enum mel_scale scale;
    double rate, low, high; /* ends in mel */
    uint32_t n_fft, bands;
    double left, middle, right; /* of a band: in Hz, Kaldi's in mel */
};

/* torch.linspace in floats: from both ends to the middle. */
static float linspace(float from, float to, uint32_t steps, uint32_t i) {
    float step = (to - from) / (float)(steps - 1);
    return i < steps / 2 ? from + step * (float)i : to - step * (float)(steps - 1 - i);
}

/* End i of the bands; band b is between b and b + 2. torchaudio computes with floats, and narrow bands show it: so it is here. */
static double band_end(const struct bank *bank, uint32_t i) {
    double mel = bank->low + i * ((bank->high - bank->low) / (bank->bands + 1));
    if (bank->scale == MEL_KALDI)
        return mel;
    if (bank->scale == MEL_SLANEY)
        return to_hz(bank->scale, mel);
    float at = linspace((float)bank->low, (float)bank->high, bank->bands + 2, i) / 2595.0F;
    float power = (float)mldfi_exp((double)at * 2.302585092994045684);
    return (double)(700.0F * (power - 1.0F));
}

static float weight(const struct bank *bank, uint32_t bin) {
    double hz = bank->rate * bin / bank->n_fft;
    if (bank->scale == MEL_KALDI)
        return bin < bank->n_fft / 2 ? (float)triangle(to_mel(bank->scale, hz), bank->left, bank->middle, bank->right)
                                     : 0;
    if (bank->scale == MEL_SLANEY)
        return (float)(triangle(hz, bank->left, bank->middle, bank->right) * 2 / (bank->right - bank->left));
    /* torchaudio spreads its bins over the whole part of half the rate */
    float x = linspace(0, (float)((uint32_t)bank->rate / 2), bank->n_fft / 2 + 1, bin);
    float left = (float)bank->left, middle = (float)bank->middle, right = (float)bank->right;
    float up = (x - left) / (middle - left), down = (right - x) / (right - middle), least = up < down ? up : down;
    return least > 0 ? least : 0;
}

mldf_status mldfi_mel_bank(struct spectrum *s, enum mel_scale scale, uint32_t bands, double rate, double low,
                           double high, mldf_error *err) {
    struct bank bank = {.scale = scale, .rate = rate, .n_fft = s->fft.n, .bands = bands};
    uint32_t bins = s->fft.bins, used = 0;
    if (!(low < high) || high > rate / 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "bands from %g to %g Hz at a rate of %g", low, high, rate);
    bank.low = to_mel(scale, low);
    bank.high = to_mel(scale, high);
    /* Each bin lies in at most two triangles; one more of each for the ends' rounding. */
    size_t most = 2 * (size_t)bins + 2 * (size_t)bands;
    uint32_t *memory = s->band_memory = mldfi_alloc_zero(3 * (size_t)bands + most, sizeof *memory, err);
    if (!memory)
        return MLDF_E_MEMORY;
    uint32_t *first = memory, *count = first + bands, *at = count + bands;
    float *weights = (float *)(void *)(at + bands);
    for (uint32_t b = 0; b < bands; b++) {
        at[b] = used;
        bank.left = band_end(&bank, b);
        bank.middle = band_end(&bank, b + 1);
        bank.right = band_end(&bank, b + 2);
        for (uint32_t i = 0; i < bins; i++) {
            float w = weight(&bank, i);
            if (!(w > 0) || used == most)
                continue;
            if (count[b]++ == 0)
                first[b] = i;
            weights[used++] = w;
        }
    }
    s->bands = (struct band_table){bands, first, count, at, weights};
    return MLDF_OK;
}
