/* fbank: Kaldi's log mel features, as kaldi-native-fbank, torchaudio.compliance.kaldi and lhotse compute them: frames of 25 ms every 10 ms without
 * their mean, pre-emphasis, Povey's window, the next power of 2, triangles in mel, ln of at least 2^-23. No dither: the same recording gives the
 * same features. */
#include <inttypes.h>
#include <stdlib.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"

enum { PRESET, BANDS, LOW, HIGH, FRAME, SHIFT, PREEMPHASIS, SNIP, RATE };
enum { KALDI, LHOTSE };
enum { SNIP_PRESET, SNIP_YES, SNIP_NO };
enum { BANDS_MAX = 4096 };
static const char *const presets[] = {"kaldi", "lhotse", NULL};
static const char *const snips[] = {"preset", "yes", "no", NULL};
static const struct op_param params[] = {
    {"preset", PARAM_CHOICE, "kaldi", 0, 0, presets, 0, 0,
     "kaldi: numbers as 16-bit integers (x 32768), only frames inside the recording, bands up to half the rate; "
     "lhotse: numbers as they are, n / shift frames, bands up to half the rate - 400 Hz"},
    {"bins", PARAM_INT, "80", 1, BANDS_MAX, NULL, 0, 0, "mel bands (Kaldi's own default is 23)"},
    {"low", PARAM_FLOAT, "20", 0, 1e9, NULL, 0, 0, "Hz: the lower end of the lowest band"},
    {"high", PARAM_FLOAT, "0", -1e9, 1e9, NULL, 0, 0,
     "Hz: the upper end of the highest band; negative: below half the rate; 0: the preset's"},
    {"frame", PARAM_FLOAT, "25", 0.01, 1e6, NULL, 0, 0, "milliseconds of a frame"},
    {"shift", PARAM_FLOAT, "10", 0.01, 1e6, NULL, 0, 0, "milliseconds from one frame to the next"},
    {"preemphasis", PARAM_FLOAT, "0.97", 0, 1, NULL, 0, 0, "x[i] - preemphasis * x[i - 1]"},
    {"snip", PARAM_CHOICE, "preset", 0, 0, snips, 0, 0,
     "yes: only frames inside the recording; no: one for every shift, the ends mirrored"},
    {"rate", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0, "samples a second of a value that has no rate; does not resample"},
    OP_END_OF_PARAMS,
};

static mldf_status make(struct spectrum *s, const struct arg *a, uint32_t rate, mldf_error *err) {
    bool kaldi = a[PRESET].i == KALDI;
    double half = rate / 2.0, high = a[HIGH].f, length = rate * 0.001 * a[FRAME].f, shift = rate * 0.001 * a[SHIFT].f;
    if (length < 2 || length > FFT_MAX || shift < 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "frames of %g samples, one every %g", length, shift);
    TRY(mldfi_spectrum_povey(s, (uint32_t)length, (uint32_t)shift, kaldi ? 32768 : 1, err));
    bool snip = a[SNIP].i == SNIP_YES || (a[SNIP].i == SNIP_PRESET && kaldi);
    s->pad = snip ? FRAME_SNIP : FRAME_MIRROR;
    s->offset = snip || s->length <= s->hop ? 0 : s->length / 2 - s->hop / 2;
    s->dc = true;
    s->preemphasis = (float)a[PREEMPHASIS].f;
    if (!a[HIGH].given || high == 0)
        high = kaldi ? 0 : -400;
    return mldfi_mel_bank(s, MEL_KALDI, (uint32_t)a[BANDS].i, rate, a[LOW].f, high > 0 ? high : half + high, err);
}

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    uint32_t rate;
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    TRY(mldfi_wave_rate(in, &op->args[RATE], &rate, err));
    struct spectrum *s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    mldf_status status = make(s, op->args, rate, err);
    if (status == MLDF_OK)
        mldfi_spectrum_edge(s, in, SPECTRUM_TF, out);
    return status;
}

static mldf_status run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    (void)draw;
    mldf_status status = mldfi_spectrum_all(op->state, in, out, work, err);
    if (status == MLDF_OK)
        work->kernels->fft->log(out->data, out->data, (size_t)mldfi_tensor_count(out), 0x1p-23F, 1);
    return status;
}

static const struct op_type op_fbank = {
    .name = "fbank",
    .help = "Kaldi's log mel features of a recording: (frames, bands)",
    .params = params,
    .infer = infer,
    .free_state = mldfi_spectrum_end,
    .shape = mldfi_spectrum_op_shape,
    .run = run,
};

const struct op_type *const mldfi_ops_fbank[] = {&op_fbank, NULL};
