/* See sinc.h. */
#include "kernel/sinc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

#define PI 3.14159265358979323846
#define ROLLOFF 0.99
enum { CROSSINGS = 6, PHASES_LEAST = 32 };

__extension__ typedef unsigned __int128 wide;

static uint32_t common_factor(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Where tap k of a phase is, in zero crossings. torchaudio rounds the phase to a float, and so it is here. */
static double place(const struct sinc *s, uint32_t phase, int64_t k) {
    double base = (double)(s->orig < s->new ? s->orig : s->new) * ROLLOFF;
    return (-(double)((float)phase / (float)s->new) + (double)(k - (int64_t)s->width) / s->orig) * base;
}

static double tap(const struct sinc *s, double t) {
    double base = (double)(s->orig < s->new ? s->orig : s->new) * ROLLOFF;
    double window = mldfi_cos(t * PI / CROSSINGS / 2);
    double value = t == 0 ? 1 : mldfi_sin(t * PI) / (t * PI);
    return value * window * window * base / s->orig;
}

/* The taps of the first blocks' phases, one behind the other. */
static mldf_status make_taps(struct sinc *s, uint32_t most, mldf_error *err) {
    uint32_t repeats = s->phases / s->new, used = 0;
    uint32_t *memory = s->memory = mldfi_alloc_zero(3 * (size_t)s->phases + (size_t)s->new *most, sizeof *memory, err);
    if (!memory)
        return MLDF_E_MEMORY;
    uint32_t *first = memory, *count = first + s->phases, *at = count + s->phases;
    float *weights = (float *)(void *)(at + s->phases);
    double base = (double)(s->orig < s->new ? s->orig : s->new) * ROLLOFF;
    for (uint32_t p = 0; p < s->new; p++) {
        double middle = (double)p * s->orig / s->new + s->width, reach = CROSSINGS * s->orig / base;
        int64_t begin = (int64_t)(middle - reach), end = (int64_t)(middle + reach) + 2;
        int64_t last = 2 * (int64_t)s->width + s->orig;
        at[p] = used;
        for (int64_t k = begin < 0 ? 0 : begin; k < end && k < last; k++) {
            double t = place(s, p, k);
            if (fabs(t) >= CROSSINGS || used - at[p] == most)
                continue;
            if (count[p]++ == 0)
                first[p] = (uint32_t)k;
            weights[used++] = (float)tap(s, t);
        }
    }
    for (uint32_t r = 1; r < repeats; r++)
        for (uint32_t p = 0; p < s->new; p++) {
            first[r * s->new + p] = first[p] + r * s->orig;
            count[r * s->new + p] = count[p];
            at[r * s->new + p] = at[p];
        }
    s->taps = (struct band_table){s->phases, first, count, at, weights};
    return MLDF_OK;
}

mldf_status mldfi_sinc_new(uint32_t from, uint32_t to, struct sinc *out, mldf_error *err) {
    *out = (struct sinc){0};
    if (from == 0 || to == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "from %" PRIu32 " to %" PRIu32 " samples a second", from, to);
    uint32_t factor = common_factor(from, to);
    out->orig = from / factor;
    out->new = to / factor;
    double base = (double)(out->orig < out->new ? out->orig : out->new) * ROLLOFF;
    double width = ceil((double)CROSSINGS * out->orig / base), taps = 2 * width + 1;
    if (taps * out->new > SINC_TAPS_MAX || width + out->orig > SINC_TAPS_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "from %" PRIu32 " to %" PRIu32 " samples a second is %" PRIu32 " : %" PRIu32
                          ", a filter of %.0f taps; at most %d are made",
                          from, to, out->orig, out->new, taps * out->new, SINC_TAPS_MAX);
    uint32_t repeats = (PHASES_LEAST + out->new - 1) / out->new;
    while (repeats > 1 && (uint64_t)out->orig * repeats > 4096)
        repeats--;
    out->width = (uint32_t)width;
    out->step = out->orig * repeats;
    out->phases = out->new *repeats;
    return make_taps(out, (uint32_t)taps, err);
}

void mldfi_sinc_free(struct sinc *s) {
    free(s->memory);
    s->memory = NULL;
}

uint64_t mldfi_sinc_length(const struct sinc *s, uint64_t n) {
    wide length = ((wide)n * s->new + s->orig - 1) / s->orig;
    return length > UINT64_MAX ? UINT64_MAX : (uint64_t)length;
}

void mldfi_sinc_inputs(const struct sinc *s, uint64_t n, uint64_t first, uint64_t outputs, uint64_t *from,
                       uint64_t *count) {
    /* Output j is around input j · orig / new. */
    wide middle = (wide)first * s->orig / s->new, last = (wide)(first + outputs) * s->orig / s->new + s->width + 2;
    wide begin = middle > (wide)s->width + 1 ? middle - s->width - 1 : 0, end = last < n ? last : n;
    *from = 0;
    *count = 0;
    if (outputs && begin < end) {
        *from = (uint64_t)begin;
        *count = (uint64_t)(end - begin);
    }
}

/* Inputs of a block with what lies around it. */
static size_t row_length(const struct sinc *s) {
    return (size_t)s->step + 2 * (size_t)s->width;
}

size_t mldfi_sinc_work(const struct sinc *s) {
    return (2 * row_length(s) + 2 * (size_t)s->phases) * FFT_LANES;
}

/* Block b with what lies around it: in the input where all of it is there, or put together in `room`. */
static const float *block_at(const struct sinc *s, const float *in, uint64_t from, uint64_t count, uint64_t b,
                             float *room) {
    int64_t begin = (int64_t)(b * s->step) - (int64_t)s->width - (int64_t)from, length = (int64_t)row_length(s);
    if (begin >= 0 && begin + length <= (int64_t)count)
        return in + begin;
    int64_t low = begin < 0 ? -begin : 0, high = (int64_t)count - begin;
    low = low > length ? length : low;
    high = high < low ? low : high > length ? length : high;
    memset(room, 0, (size_t)low * sizeof *room);
    if (high > low)
        memcpy(room + low, in + begin + low, (size_t)(high - low) * sizeof *room);
    memset(room + high, 0, (size_t)(length - high) * sizeof *room);
    return room;
}

void mldfi_sinc_run(const struct sinc *s, const struct fft_kernels *k, const float *in, uint64_t from, uint64_t count,
                    uint64_t first, uint64_t outputs, float *out, float *work) {
    size_t length = row_length(s);
    float *panel = work, *ends = panel + length * FFT_LANES, *sums = ends + length * FFT_LANES;
    float *rest = sums + (size_t)s->phases * FFT_LANES;
    uint64_t end = first + outputs;
    for (uint64_t b = first / s->phases; b * s->phases < end; b += FFT_LANES) {
        const float *rows[FFT_LANES];
        float *to[FFT_LANES];
        bool whole = b * s->phases >= first && (b + FFT_LANES) * s->phases <= end;
        for (unsigned i = 0; i < FFT_LANES; i++) {
            bool used = (b + i) * s->phases < end;
            rows[i] = used ? block_at(s, in, from, count, b + i, ends + i * length) : rows[0];
            to[i] = whole ? out + ((b + i) * s->phases - first) : rest + (size_t)i * s->phases;
        }
        k->load(rows, length, NULL, panel);
        k->bands(&s->taps, panel, sums);
        k->store(sums, s->phases, to, FFT_LANES);
        for (unsigned i = 0; i < FFT_LANES && !whole; i++) {
            uint64_t begin = (b + i) * s->phases, stop = begin + s->phases;
            uint64_t low = begin < first ? first : begin, high = stop < end ? stop : end;
            if (low < high)
                memcpy(out + (low - first), to[i] + (low - begin), (size_t)(high - low) * sizeof *out);
        }
    }
}
